//! A machine as a unit of a simulation, in a clock domain of 1 GHz: a local cycle is a nanosecond.
//!
//! # Invariants
//!
//! * On its edge of a nanosecond the unit does everything that is due then, and sleeps until the next that is. What is
//!   told for the nanosecond after is recorded on that one's edge, before what happens there.
//! * Every happening is one or more events of kinds of [`SchedKind`], without a transaction: a log of them says all that
//!   the trace shows. Counters are recorded when they change.

use std::collections::{BTreeMap, VecDeque};

use clockweave_model::{Left, MachineEntry, MachineJob, MachineThread, SchedKind, SchedRecord};

use super::choice::Choices;
use super::events::{Machine, Observed};
use super::happening::{Happening, Why};
use super::workload::Workload;
use crate::graph::{Event, Ports, Tick, TickResult, Unit};
use clockweave_runqueue::Class;

/// A modelled machine that runs beside other units.
#[derive(Debug)]
pub struct MachineUnit {
    machine: Machine,
    choices: Choices,
    kinds: [Event; SchedKind::ALL.len()],
    /// What was told for a nanosecond that is still to come.
    ahead: VecDeque<Observed>,
    /// Counters as they were recorded last, by kind and whose they are.
    counters: BTreeMap<(SchedKind, u32, u32), u64>,
    begun: bool,
}

impl MachineUnit {
    /// A unit of a machine that has not begun; `choices` decide the order of what is due at one time. It has no end of
    /// its own: the run's is its end.
    pub fn new(ports: &mut Ports<'_>, mut machine: Machine, choices: Choices) -> Self {
        ports.machine(machine.workload().entry());
        machine.work.until = u64::MAX;
        Self {
            machine,
            choices,
            kinds: SchedKind::ALL.map(|kind| ports.event(kind.name())),
            ahead: VecDeque::new(),
            counters: BTreeMap::new(),
            begun: false,
        }
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    fn record(&mut self, cx: &mut Tick<'_>, record: SchedRecord) {
        let (kind, value) = record.pack();
        let key = match record {
            SchedRecord::Lag { thread, .. } => Some((kind, thread, 0)),
            SchedRecord::GroupLag { cpu, job, .. } => Some((kind, cpu, job)),
            SchedRecord::Weight { cpu, .. }
            | SchedRecord::Ready { cpu, .. }
            | SchedRecord::Decision { cpu, .. } => Some((kind, cpu, 0)),
            _ => None,
        };
        if key.is_none_or(|key| self.counters.insert(key, value) != Some(value)) {
            cx.event(self.kinds[kind as usize], 0, value);
        }
    }

    /// Records what was told for `now`, and keeps what is for later.
    fn tell(&mut self, cx: &mut Tick<'_>, now: u64) {
        while self.ahead.front().is_some_and(|first| first.ns <= now) {
            let told = self.ahead.pop_front().expect("there is a first");
            self.record_happening(cx, &told);
        }
        for told in self.machine.take_log() {
            if told.ns <= now {
                self.record_happening(cx, &told);
            } else {
                self.ahead.push_back(told);
            }
        }
    }

    fn record_happening(&mut self, cx: &mut Tick<'_>, told: &Observed) {
        // Numbers of threads, jobs, channels and CPUs are checked to fit.
        let id = |number: usize| number as u32;
        let cpu = id(told.cpu);
        let mut put = |record: SchedRecord| self.record(cx, record);
        match told.what {
            // How every CPU begins is known.
            Happening::Switch { from: None, to: None } => {}
            Happening::Switch { from, to } => {
                let left = match from.map(|(_, why)| why) {
                    None | Some(Why::Yielded) => Left::Yielded,
                    Some(Why::Preempted) => Left::Preempted,
                    Some(Why::Blocked) => Left::Waiting,
                    Some(Why::Ended) => Left::Ended,
                };
                let real_time = to.is_some_and(|(_, class)| class == Class::RealTime);
                let (from, to) = (from.map(|(thread, _)| id(thread)), to.map(|(thread, _)| id(thread)));
                put(SchedRecord::Switch { cpu, from, left, to, real_time });
            }
            Happening::Waking { thread, by, target } => {
                put(SchedRecord::Waking { cpu, thread: id(thread), by: by.map(id), target: id(target) });
            }
            Happening::Spawned { thread, by, target } => {
                put(SchedRecord::Start { cpu, thread: id(thread), by: by.map(id), target: id(target) });
            }
            Happening::Migrated { thread, to, .. } => {
                put(SchedRecord::Migrate { cpu, thread: id(thread), target: id(to) });
            }
            Happening::Freed { thread } => put(SchedRecord::Free { cpu, thread: id(thread) }),
            Happening::Posted { channel, by } => {
                put(SchedRecord::Post { cpu, channel: id(channel), by: by.map(id) });
            }
            Happening::Picked { thread, deadline, seq, eligible } => {
                // Whole nanoseconds of virtual time at the unit weight.
                put(SchedRecord::Deadline { ns: i64::try_from(deadline >> 32).unwrap_or(i64::MAX) });
                put(SchedRecord::Sequence { number: seq });
                put(SchedRecord::Pick { cpu, thread: id(thread), eligible: id(eligible) });
            }
            Happening::Lag { thread, ns } => put(SchedRecord::Lag { thread: id(thread), ns }),
            Happening::GroupLag { job, ns } => put(SchedRecord::GroupLag { cpu, job: id(job), ns }),
            Happening::Queue { weight, ready, decision } => {
                put(SchedRecord::Weight { cpu, weight });
                put(SchedRecord::Ready { cpu, threads: ready as u64 });
                put(SchedRecord::Decision { cpu, ns: decision });
            }
            Happening::GroupFormed { job, weight, here, all } => {
                let count = |threads: u64| u32::try_from(threads).unwrap_or(u32::MAX);
                put(SchedRecord::Share { cpu, weight });
                put(SchedRecord::Group { cpu, job: id(job), here: count(here), all: count(all) });
            }
            Happening::GroupDissolved { job } => put(SchedRecord::Dissolve { cpu, job: id(job) }),
        }
    }
}

impl Unit for MachineUnit {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        if !std::mem::replace(&mut self.begun, true) && cx.is_recorded() {
            self.machine.observe();
        }
        let now = cx.cycle();
        self.tell(cx, now);
        while self.machine.next_time().is_some_and(|at| at <= now) {
            self.machine.step(&mut self.choices);
            self.tell(cx, now);
        }
        self.choices.forget();
        let told = self.ahead.front().map(|first| first.ns);
        match self.machine.next_time().into_iter().chain(told).min() {
            Some(next) => cx.sleep_until(next),
            None => cx.sleep(),
        }
        Ok(())
    }
}

impl Workload {
    /// The workload as manifests describe it.
    fn entry(&self) -> MachineEntry {
        let cpus = |mask: &clockweave_runqueue::CpuMask| mask.iter().map(|cpu| cpu as u32).collect();
        MachineEntry {
            unit: String::new(),
            cpus: self.cpus as u32,
            slice_ns: self.slice,
            quantum_ns: self.quantum,
            latency_ns: self.latency,
            section_ns: self.longest_section(),
            patience_ns: self.patience(),
            steady: self.is_steady(),
            jobs: self
                .jobs
                .iter()
                .map(|job| MachineJob { name: job.name.clone(), weight: job.weight })
                .collect(),
            threads: self
                .threads
                .iter()
                .map(|thread| MachineThread {
                    name: thread.name.clone(),
                    job: thread.job as u32,
                    cpus: cpus(&thread.mask),
                })
                .collect(),
        }
    }
}
