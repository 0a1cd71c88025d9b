//! A machine with run queues, run and recorded as Perfetto's own scheduling.
//!
//! Beside the switches and wakes the trace has what they cannot say: the fixed facts of each thread, an
//! instant per decision and per post, and counters of lags and queues. The output is a function of
//! the workload alone.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use clockweave_recorder::TRACE_FILE;
use clockweave_recorder::{
    PrevState, SchedEvent, SchedProcess, SchedTask, SchedThread, SchedTrace, SchedTrack,
};
use clockweave_simulator::machine::{
    Choices, Class, Happening, Machine, Observed, Op, Recorded, Variant, Why, Workload,
};

use crate::output::{Output, OutputError};
use crate::record::{Place, RecordFailure, take_directory};

/// Why a machine was not recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchedulingError {
    /// The workload does not fit together.
    #[error("{0}")]
    Workload(String),
    /// The output failed.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// The trace cannot be had.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// No directory can be had.
    #[error(transparent)]
    Place(#[from] RecordFailure),
    /// The directory cannot be made or read.
    #[error("{}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The directory holds something.
    #[error("{}: found a directory with files, expected a new or empty one (--force)", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
}

/// A workload recorded into a directory.
#[derive(Debug)]
pub struct RecordedMachine {
    /// The directory.
    pub directory: PathBuf,
    /// The trace in it.
    pub trace: PathBuf,
    /// What was recorded.
    pub done: Scheduled,
}

/// Runs a workload on a sound machine and records it at `place`.
///
/// # Errors
/// The directory cannot be had or is not empty, or the trace cannot be written.
pub fn record_at(workload: &Recorded, place: &Place) -> Result<RecordedMachine, SchedulingError> {
    let (directory, _) = take_directory(workload.name, place, None)?;
    let directory =
        directory.ok_or_else(|| SchedulingError::Workload("nothing is to be recorded".to_owned()))?;
    let failed = |source| SchedulingError::Directory { path: directory.clone(), source };
    std::fs::create_dir_all(&directory).map_err(failed)?;
    let force = matches!(place, Place::Directory { force: true, .. });
    if !force && std::fs::read_dir(&directory).map_err(failed)?.next().is_some() {
        return Err(SchedulingError::NotEmpty { path: directory });
    }
    let trace = directory.join(TRACE_FILE);
    let output = Output::create(&trace, force, &[])?;
    let (done, output) = record((workload.build)(), Variant::Sound, output)?;
    output.commit()?;
    Ok(RecordedMachine { directory, trace, done })
}

/// What was recorded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scheduled {
    /// Simulated time in nanoseconds.
    pub ns: u64,
    /// Switches from one thread to another.
    pub switches: u64,
    /// Threads woken.
    pub wakes: u64,
    /// Threads that moved to another CPU's queue.
    pub migrations: u64,
}

struct Show<W> {
    trace: SchedTrace<W>,
    real_time: Vec<bool>,
    running: Vec<Option<usize>>,
    posts: SchedTrack,
    /// Per CPU: decisions, weight, ready, decision instant.
    cpus: Vec<[SchedTrack; 4]>,
    lags: Vec<SchedTrack>,
    /// Samples as they were written last, by track.
    samples: BTreeMap<(usize, usize), i64>,
    done: Scheduled,
}

/// Process and thread numbers: thread `n` of job `j` is `1000 (j + 1) + n + 1`.
fn pid(job: usize) -> i32 {
    i32::try_from(1000 * (job + 1)).unwrap_or(i32::MAX)
}

fn int(value: impl TryInto<i64>) -> i64 {
    value.try_into().unwrap_or(i64::MAX)
}

/// Runs `work` on a machine and writes the trace to `out`.
///
/// # Errors
/// The workload does not fit together; `out` fails.
pub fn record<W: Write>(work: Workload, variant: Variant, out: W) -> Result<(Scheduled, W), SchedulingError> {
    let until = work.until;
    let mut machine = Machine::new(work, variant).map_err(SchedulingError::Workload)?;
    machine.observe();
    let mut show = Show::new(machine.workload(), out)?;
    let mut choices = Choices::first();
    while machine.step(&mut choices) {
        for happened in machine.take_log() {
            show.show(&happened)?;
        }
    }
    // The end of every CPU's time, and of the trace.
    for cpu in 0..show.running.len() {
        let prev = show.task(show.running[cpu]);
        let state = if prev.thread.is_some() { PrevState::Preempted } else { PrevState::Runnable };
        show.trace.event(until, cpu, SchedEvent::Switch { prev, state, next: SchedTask::IDLE })?;
    }
    show.done.ns = until;
    Ok((show.done, show.trace.finish()?))
}

/// Whether every thread is a job of its own that computes to the end on one CPU.
fn is_steady(work: &Workload) -> bool {
    let alone =
        |at: usize| work.threads.iter().filter(|other| other.job == work.threads[at].job).count() == 1;
    (0..work.threads.len()).all(|at| {
        let spec = &work.threads[at];
        let computes = matches!(spec.script[..], [Op::Run(ns)] if ns >= work.until);
        alone(at) && computes && spec.mask.count() == 1 && spec.class == Class::Fair
    })
}

impl<W: Write> Show<W> {
    fn new(work: &Workload, out: W) -> io::Result<Self> {
        let jobs = work.jobs.iter().enumerate();
        let processes: Vec<SchedProcess> =
            jobs.map(|(job, spec)| SchedProcess { pid: pid(job), name: spec.name.clone() }).collect();
        let tid = |at: usize, job: usize| pid(job) + i32::try_from(at + 1).unwrap_or(0);
        let threads: Vec<SchedThread> = work
            .threads
            .iter()
            .enumerate()
            .map(|(at, spec)| SchedThread {
                tid: tid(at, spec.job),
                pid: pid(spec.job),
                name: spec.name.clone(),
            })
            .collect();
        let mut trace = SchedTrace::new(out, work.cpus, &processes, threads)?;
        let root = trace.track("run queue", None, None)?;
        let facts = trace.track("facts", Some(root), None)?;
        let posts = trace.track("posts", Some(root), None)?;
        let mut cpus = Vec::new();
        for cpu in 0..work.cpus {
            let below = trace.track(&format!("cpu {cpu}"), Some(root), None)?;
            cpus.push([
                trace.track("decisions", Some(below), None)?,
                trace.track("queue weight", Some(below), Some("weight"))?,
                trace.track("ready", Some(below), Some("threads"))?,
                trace.track("decision_in_ns", Some(below), Some("ns"))?,
            ]);
        }
        let lag_group = trace.track("lag_ns", Some(root), None)?;
        let mut lags = Vec::new();
        let (mut most, mut least) = (1, u64::MAX);
        for job in &work.jobs {
            (most, least) = (most.max(job.weight), least.min(job.weight));
        }
        // Everybody's turn before it, at the least share there is, and one more for the balance.
        let turns = work.threads.len() as u64 + 1;
        let patience = turns * (work.slice + work.quantum + work.longest_section()) * most.div_ceil(least);
        let steady = is_steady(work);
        for (at, spec) in work.threads.iter().enumerate() {
            lags.push(trace.track(&spec.name, Some(lag_group), Some("ns"))?);
            let mask = spec.mask.iter().filter(|cpu| *cpu < 63).fold(0i64, |mask, cpu| mask | 1 << cpu);
            let arguments = [
                ("tid", i64::from(tid(at, spec.job))),
                ("weight", int(work.jobs[spec.job].weight)),
                ("mask", mask),
                ("slice", int(work.slice)),
                ("quantum", int(work.quantum)),
                ("latency", int(work.latency)),
                ("patience", int(patience)),
                ("section", int(work.longest_section())),
                ("steady", i64::from(steady)),
            ];
            trace.instant(0, facts, "runqueue.thread", &arguments)?;
        }
        let real_time = vec![false; work.threads.len()];
        let running = vec![None; work.cpus];
        let (samples, done) = (BTreeMap::new(), Scheduled::default());
        Ok(Self { trace, real_time, running, posts, cpus, lags, samples, done })
    }

    fn task(&self, thread: Option<usize>) -> SchedTask {
        SchedTask { thread, real_time: thread.is_some_and(|thread| self.real_time[thread]) }
    }

    fn sample(&mut self, ns: u64, key: (usize, usize), track: SchedTrack, value: i64) -> io::Result<()> {
        if self.samples.insert(key, value) == Some(value) {
            return Ok(());
        }
        self.trace.sample(ns, track, value)
    }

    fn show(&mut self, happened: &Observed) -> io::Result<()> {
        let Observed { ns, cpu, what } = *happened;
        match what {
            Happening::Switch { from, to } => self.switch(ns, cpu, from, to),
            Happening::Waking { thread, by, target } => {
                self.done.wakes += 1;
                let (task, by) = (self.task(Some(thread)), self.task(by));
                self.trace.event(ns, cpu, SchedEvent::Waking { task, by, target })
            }
            Happening::Spawned { thread, by, target } => {
                let (task, by) = (self.task(Some(thread)), self.task(by));
                self.trace.event(ns, cpu, SchedEvent::Started { task, by, target })
            }
            Happening::Migrated { thread, from, to } => {
                self.done.migrations += 1;
                let (task, by) = (self.task(Some(thread)), self.task(self.running[cpu]));
                self.trace.event(ns, cpu, SchedEvent::Migrated { task, by, from, to })
            }
            Happening::Posted { channel } => {
                self.trace.instant(ns, self.posts, "post", &[("channel", int(channel))])
            }
            Happening::Picked { thread, deadline, seq, eligible } => {
                // Whole nanoseconds of virtual time at the unit weight.
                let arguments = [
                    ("picked", int(thread)),
                    ("deadline_ns", int(deadline >> 32)),
                    ("seq", int(seq)),
                    ("eligible", int(eligible)),
                ];
                self.trace.instant(ns, self.cpus[cpu][0], "pick", &arguments)
            }
            Happening::Lag { thread, ns: lag } => self.sample(ns, (0, thread), self.lags[thread], lag),
            Happening::Queue { weight, ready, decision } => {
                for (at, value) in (1..).zip([int(weight), int(ready), int(decision)]) {
                    self.sample(ns, (at, cpu), self.cpus[cpu][at], value)?;
                }
                Ok(())
            }
            Happening::GroupFormed { job, weight, here, all } => {
                let arguments =
                    [("job", int(job)), ("weight", int(weight)), ("here", int(here)), ("all", int(all))];
                self.trace.instant(ns, self.cpus[cpu][0], "group", &arguments)
            }
            Happening::GroupDissolved { job } => {
                self.trace.instant(ns, self.cpus[cpu][0], "group dissolved", &[("job", int(job))])
            }
        }
    }

    fn switch(
        &mut self,
        ns: u64,
        cpu: usize,
        from: Option<(usize, Why)>,
        to: Option<(usize, Class)>,
    ) -> io::Result<()> {
        if from.is_none() && to.is_none() {
            return Ok(());
        }
        if let Some((thread, class)) = to {
            self.real_time[thread] = class == Class::RealTime;
        }
        let (prev, next) =
            (self.task(from.map(|(thread, _)| thread)), self.task(to.map(|(thread, _)| thread)));
        let state = match from.map(|(_, why)| why) {
            None | Some(Why::Yielded) => PrevState::Runnable,
            Some(Why::Preempted) => PrevState::Preempted,
            Some(Why::Blocked) => PrevState::Sleeping,
            Some(Why::Ended) => PrevState::Ended,
        };
        self.running[cpu] = next.thread;
        self.done.switches += 1;
        self.trace.event(ns, cpu, SchedEvent::Switch { prev, state, next })
    }
}
