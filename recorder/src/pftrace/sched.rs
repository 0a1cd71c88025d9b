//! Scheduling as Perfetto knows it: `sched_switch`, `sched_waking` and their kin in per-CPU bundles, beside counters,
//! instants and slices for what those cannot say; all of it follows from the events of machines' units.
//!
//! # Invariants
//!
//! * Times of bundles are nanoseconds of the boot clock, which the snapshots state: without it importers drop every
//!   scheduling event in silence.
//! * Each CPU begins with a switch from idle to idle at time 0 and ends with one to idle at the end of the run, so that
//!   slices fill its time.
//! * What follows from an event stands behind it, at its time; bundles come later, and are cut by the number of their
//!   events alone. Memory is bounded by [`PER_BUNDLE`] events per CPU.
//! * Events that name no CPU, job or thread of their machine, as logs of others may, show nothing.
//!
//! The CPUs of all machines are numbered in one row, jobs and threads likewise: jobs from [`FIRST_PID`], threads behind
//! the last job. How a machine decides is not known here.

mod plan;
mod wire;

use clockweave_model::{KindTable, Left, SchedKind, SchedRecord};

use crate::pftrace::framing::Framing;
use crate::pftrace::schema::{EventType, TrackDescriptor};
use crate::sink::Event;

use plan::Machine;
pub(crate) use plan::SchedPlan;
use wire::{
    Annotation, Bundle, Exit, Free, FtraceEvent, Migrate, NewTask, Packet, PlainEvent, Switch, Waking,
};

/// Events of one CPU that go into one packet.
const PER_BUNDLE: usize = 128;
/// The number of the first job as a process.
const FIRST_PID: usize = 1000;
/// Fair and real-time: priorities below 100 are real-time.
const PRIORITIES: [i32; 2] = [120, 50];
/// `sched_switch.prev_state` from Linux 4.14 on.
const PREEMPTED: i64 = 0x100;
/// `task_newtask.clone_flags` of a thread of its process: `CLONE_THREAD`.
const CLONE_THREAD: u64 = 0x1_0000;
const CATEGORY: &str = "sched";

/// Shows the machines of a run.
pub(crate) struct Scheduling {
    machines: Vec<Machine>,
    /// Machine by unit.
    of_unit: Vec<Option<usize>>,
    /// By kind, in the kind table's order.
    kinds: Vec<Option<SchedKind>>,
}

impl Scheduling {
    /// Opens the machines' part of a trace.
    pub(crate) fn open(plan: SchedPlan, kinds: &KindTable, framing: &mut Framing) -> Self {
        let SchedPlan { machines, of_unit } = plan;
        let kinds = kinds.iter().map(|(_, name)| SchedKind::named(name)).collect();
        framing.append(&Packet::system().entry());
        for machine in &machines {
            machine.introduce(framing);
        }
        let mut scheduling = Self { machines, of_unit, kinds };
        for machine in &mut scheduling.machines {
            for cpu in 0..machine.running.len() {
                machine.switch(framing, (0, cpu), None, 0, None);
            }
        }
        scheduling
    }

    /// Shows what follows from an event that was just written.
    pub(crate) fn show(&mut self, framing: &mut Framing, ns: i64, event: &Event<'_>) {
        let machine = self.of_unit[event.unit].and_then(|at| self.machines.get_mut(at));
        let (Some(machine), Some(kind)) = (machine, self.kinds[event.kind]) else { return };
        let record = SchedRecord::unpack(kind, event.record.value);
        if machine.knows(&record) {
            machine.show(framing, ns.unsigned_abs(), record);
        }
    }

    /// Ends every CPU's time, and what is open, at `ns`.
    pub(crate) fn end(&mut self, framing: &mut Framing, ns: i64) {
        let mut delta = framing.pass_to(ns);
        for machine in &mut self.machines {
            for group in 0..machine.groups.len() {
                if machine.groups[group].open {
                    for _ in 0..2 {
                        machine.slice(framing, std::mem::take(&mut delta), group, None);
                    }
                }
            }
            for cpu in 0..machine.running.len() {
                let (from, at) = (machine.running[cpu], (ns.unsigned_abs(), cpu));
                machine.switch(framing, at, from, if from.is_some() { PREEMPTED } else { 0 }, None);
                machine.close_bundle(framing, cpu);
            }
        }
    }
}

impl Machine {
    /// Whether there is everything that an event names.
    fn knows(&self, record: &SchedRecord) -> bool {
        let cpu = |cpu: u32| (cpu as usize) < self.running.len();
        let thread = |thread: u32| (thread as usize) < self.threads.len();
        let job = |job: u32| (job as usize) < self.jobs.len();
        match *record {
            SchedRecord::Switch { cpu: on, from, to, .. } => {
                cpu(on) && from.is_none_or(thread) && to.is_none_or(thread)
            }
            SchedRecord::Waking { cpu: on, thread: it, by, target }
            | SchedRecord::Start { cpu: on, thread: it, by, target } => {
                cpu(on) && thread(it) && by.is_none_or(thread) && cpu(target)
            }
            SchedRecord::Migrate { cpu: on, thread: it, target } => cpu(on) && thread(it) && cpu(target),
            SchedRecord::Free { cpu: on, thread: it } | SchedRecord::Pick { cpu: on, thread: it, .. } => {
                cpu(on) && thread(it)
            }
            SchedRecord::Lag { thread: it, .. } => thread(it),
            SchedRecord::GroupLag { cpu: on, job: it, .. }
            | SchedRecord::Group { cpu: on, job: it, .. }
            | SchedRecord::Dissolve { cpu: on, job: it } => cpu(on) && job(it),
            SchedRecord::Post { cpu: on, .. }
            | SchedRecord::Weight { cpu: on, .. }
            | SchedRecord::Ready { cpu: on, .. }
            | SchedRecord::Decision { cpu: on, .. }
            | SchedRecord::Share { cpu: on, .. } => cpu(on),
            SchedRecord::Deadline { .. } | SchedRecord::Sequence { .. } => true,
        }
    }

    fn show(&mut self, framing: &mut Framing, ns: u64, record: SchedRecord) {
        match record {
            SchedRecord::Switch { cpu, from, left, to, real_time } => {
                if let Some(to) = to {
                    self.threads[to as usize].real_time = real_time;
                }
                let state = match left {
                    Left::Yielded => 0,
                    Left::Waiting => 1,
                    Left::Ended => 0x20,
                    Left::Preempted => PREEMPTED,
                };
                let state = if from.is_some() { state } else { 0 };
                self.switch(framing, (ns, cpu as usize), from, state, to);
            }
            SchedRecord::Waking { cpu, thread, by, target } => {
                let event =
                    FtraceEvent { sched_waking: Some(self.waking(thread, target)), ..self.by(ns, by) };
                self.push(framing, cpu as usize, event);
            }
            SchedRecord::Start { cpu, thread, by, target } => {
                self.start(framing, (ns, cpu), thread, by, target);
            }
            SchedRecord::Migrate { cpu, thread, target } => {
                let (comm, pid, prio) = self.named(Some(thread));
                let [orig_cpu, dest_cpu] = [cpu, target].map(|cpu| Some(self.cpu(cpu).cast_signed()));
                let moved = Migrate { comm, pid, prio, orig_cpu, dest_cpu };
                let base = self.by(ns, self.running[cpu as usize]);
                let event = FtraceEvent { sched_migrate_task: Some(moved), ..base };
                self.push(framing, cpu as usize, event);
            }
            SchedRecord::Free { cpu, thread } => {
                let (comm, pid, prio) = self.named(Some(thread));
                let base = self.by(ns, self.running[cpu as usize]);
                let sched_process_free = Some(Free { comm, pid, prio });
                let event = FtraceEvent { sched_process_free, ..base };
                self.push(framing, cpu as usize, event);
            }
            SchedRecord::Deadline { ns } => self.deadline = ns,
            SchedRecord::Sequence { number } => self.sequence = number,
            SchedRecord::Share { weight, .. } => self.share = weight,
            _ => self.show_more(framing, record),
        }
    }

    /// What switches and wakes cannot say.
    fn show_more(&mut self, framing: &mut Framing, record: SchedRecord) {
        let int = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        match record {
            SchedRecord::Post { channel, by, .. } => {
                let by = by.map_or(0, |by| i64::from(self.tid(by)));
                self.instant(framing, self.posts, "post", &[("channel", channel.into()), ("by", by)]);
            }
            SchedRecord::Pick { cpu, thread, eligible } => {
                let arguments = [
                    ("picked", i64::from(self.tid(thread))),
                    ("deadline_ns", self.deadline),
                    ("seq", int(self.sequence)),
                    ("eligible", eligible.into()),
                ];
                self.instant(framing, self.cpu_tracks[cpu as usize].decisions, "pick", &arguments);
            }
            SchedRecord::Lag { thread, ns } => sample(framing, self.threads[thread as usize].lag, ns),
            SchedRecord::GroupLag { cpu, job, ns } => {
                let group = self.group(framing, cpu, job);
                sample(framing, self.groups[group].lag_track, ns);
            }
            SchedRecord::Weight { cpu, weight } => {
                sample(framing, self.cpu_tracks[cpu as usize].weight, int(weight));
            }
            SchedRecord::Ready { cpu, threads } => {
                sample(framing, self.cpu_tracks[cpu as usize].ready, int(threads));
            }
            SchedRecord::Decision { cpu, ns } => {
                sample(framing, self.cpu_tracks[cpu as usize].decision, int(ns));
            }
            SchedRecord::Group { cpu, job, here, all } => {
                let arguments = [("weight", int(self.share)), ("here", here.into()), ("all", all.into())];
                let group = self.group(framing, cpu, job);
                if std::mem::replace(&mut self.groups[group].open, true) {
                    self.slice(framing, 0, group, None);
                } else {
                    let name = self.jobs[job as usize].name.clone();
                    self.slice(framing, 0, group, Some((&name, &arguments)));
                }
                self.slice(framing, 0, group, Some(("share", &arguments)));
            }
            SchedRecord::Dissolve { cpu, job } => {
                let group = self.group(framing, cpu, job);
                if std::mem::replace(&mut self.groups[group].open, false) {
                    self.slice(framing, 0, group, None);
                    self.slice(framing, 0, group, None);
                }
            }
            _ => {}
        }
    }

    /// The place of a job's group on a CPU, whose tracks are declared before they are used.
    fn group(&mut self, framing: &mut Framing, cpu: u32, job: u32) -> usize {
        let at = cpu as usize * self.jobs.len() + job as usize;
        if !std::mem::replace(&mut self.groups[at].declared, true) {
            let (name, pid) = (&self.jobs[job as usize].name, self.pid(job));
            let label = format!("{name} [{pid}] cpu {}", self.cpu(cpu));
            let (group, parents) = (&self.groups[at], &self.cpu_tracks[cpu as usize]);
            let slices: TrackDescriptor = plan::track(group.slice_track, parents.groups, &label, None);
            framing.add_track(slices);
            framing.add_track(plan::track(group.lag_track, self.group_lags, &label, Some("ns")));
        }
        at
    }

    fn cpu(&self, cpu: u32) -> u32 {
        self.first_cpu + cpu
    }

    fn pid(&self, job: u32) -> i32 {
        self.first_pid.saturating_add_unsigned(job)
    }

    fn tid(&self, thread: u32) -> i32 {
        self.first_tid.saturating_add_unsigned(thread)
    }

    /// Name, number and priority; nobody is the idle thread.
    fn named(&self, thread: Option<u32>) -> (Option<String>, Option<i32>, Option<i32>) {
        let Some(number) = thread else { return (Some("swapper".to_owned()), Some(0), Some(PRIORITIES[0])) };
        let thread = &self.threads[number as usize];
        let priority = PRIORITIES[usize::from(thread.real_time)];
        (Some(thread.name.clone()), Some(self.tid(number)), Some(priority))
    }

    /// An event by a thread, or by an interrupt, whose number is the idle thread's: `common_flags` say nothing to
    /// importers outside the compact form, and v52 takes them for an event without a name.
    fn by(&self, ns: u64, by: Option<u32>) -> FtraceEvent {
        FtraceEvent {
            timestamp: Some(ns),
            pid: self.named(by).1.map(i32::unsigned_abs),
            ..FtraceEvent::default()
        }
    }

    fn waking(&self, thread: u32, target: u32) -> Waking {
        let (comm, pid, prio) = self.named(Some(thread));
        Waking { comm, pid, prio, success: Some(1), target_cpu: Some(self.cpu(target).cast_signed()) }
    }

    fn switch(
        &mut self,
        framing: &mut Framing,
        (ns, cpu): (u64, usize),
        from: Option<u32>,
        state: i64,
        to: Option<u32>,
    ) {
        let (prev_comm, prev_pid, prev_prio) = self.named(from);
        let (next_comm, next_pid, next_prio) = self.named(to);
        let base = || FtraceEvent {
            timestamp: Some(ns),
            pid: prev_pid.map(i32::unsigned_abs),
            ..FtraceEvent::default()
        };
        if let (0x20, Some(thread)) = (state, from) {
            let tgid = Some(self.pid(self.threads[thread as usize].job));
            let exit = Exit { comm: prev_comm.clone(), pid: prev_pid, tgid, prio: prev_prio };
            self.push(framing, cpu, FtraceEvent { sched_process_exit: Some(exit), ..base() });
        }
        let prev_state = Some(state);
        let switch = Switch { prev_comm, prev_pid, prev_prio, prev_state, next_comm, next_pid, next_prio };
        self.running[cpu] = to;
        self.push(framing, cpu, FtraceEvent { sched_switch: Some(switch), ..base() });
    }

    fn start(
        &mut self,
        framing: &mut Framing,
        (ns, cpu): (u64, u32),
        thread: u32,
        by: Option<u32>,
        target: u32,
    ) {
        let woken = self.waking(thread, target);
        let base = self.by(ns, by);
        // Importers hold a thread for ready from its creation on, or from its first wake; to have both would be a wake
        // of a thread that does not wait.
        let first = if by.is_none() {
            FtraceEvent { sched_waking: Some(woken.clone()), ..base.clone() }
        } else {
            let new = NewTask { pid: woken.pid, comm: woken.comm.clone(), clone_flags: Some(CLONE_THREAD) };
            FtraceEvent { task_newtask: Some(new), ..base.clone() }
        };
        self.push(framing, cpu as usize, first);
        self.push(framing, cpu as usize, FtraceEvent { sched_wakeup_new: Some(woken), ..base });
    }

    fn push(&mut self, framing: &mut Framing, cpu: usize, event: FtraceEvent) {
        self.bundles[cpu].push(event);
        if self.bundles[cpu].len() >= PER_BUNDLE {
            self.close_bundle(framing, cpu);
        }
    }

    fn close_bundle(&mut self, framing: &mut Framing, cpu: usize) {
        let event = std::mem::take(&mut self.bundles[cpu]);
        if !event.is_empty() {
            let cpu = Some(self.first_cpu + cpu as u32);
            let packet = Packet { ftrace_events: Some(Bundle { cpu, event }), ..Packet::default() };
            framing.append(&packet.entry());
        }
    }

    fn instant(&self, framing: &mut Framing, track: u64, name: &str, arguments: &[(&str, i64)]) {
        let event = named_event(EventType::Instant, track, name, arguments);
        framing.append(&Packet::event(0, event).entry());
    }

    /// Begins a slice of a group, or ends the innermost one.
    fn slice(&self, framing: &mut Framing, delta: u64, group: usize, begins: Option<(&str, &[(&str, i64)])>) {
        let track = self.groups[group].slice_track;
        let event = match begins {
            Some((name, arguments)) => named_event(EventType::SliceBegin, track, name, arguments),
            None => PlainEvent {
                r#type: Some(EventType::SliceEnd.into()),
                track_uuid: Some(track),
                ..PlainEvent::default()
            },
        };
        framing.append(&Packet::event(delta, event).entry());
    }
}

fn sample(framing: &mut Framing, track: u64, value: i64) {
    let event = PlainEvent {
        r#type: Some(EventType::Counter.into()),
        track_uuid: Some(track),
        counter_value: Some(value),
        ..PlainEvent::default()
    };
    framing.append(&Packet::event(0, event).entry());
}

fn named_event(r#type: EventType, track: u64, name: &str, arguments: &[(&str, i64)]) -> PlainEvent {
    let annotation =
        |(name, value): &(&str, i64)| Annotation { name: Some((*name).to_owned()), int_value: Some(*value) };
    PlainEvent {
        debug_annotations: arguments.iter().map(annotation).collect(),
        r#type: Some(r#type.into()),
        track_uuid: Some(track),
        categories: vec![CATEGORY.to_owned()],
        name: Some(name.to_owned()),
        counter_value: None,
    }
}
