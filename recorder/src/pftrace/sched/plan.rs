//! The machines of a run before it starts: their tracks, numbers and fixed facts.

use clockweave_model::{MachineEntry, MachineJob};

use crate::error::RecordError;
use crate::pftrace::framing::Framing;
use crate::pftrace::schema::{ChildOrdering, SiblingMerge, TrackDescriptor};
use crate::pftrace::tracks::TrackPlan;
use crate::roster::Roster;

use super::wire::{FtraceEvent, Packet, ProcessTree, TreeProcess, TreeThread};
use super::{EventType, FIRST_PID, named_event};

/// The most CPUs of all machines: those of a thread are bits of one number.
const MOST_CPUS: u64 = 62;

/// What there is before the trace.
#[derive(Default)]
pub(crate) struct SchedPlan {
    pub(super) machines: Vec<Machine>,
    /// Machine by unit.
    pub(super) of_unit: Vec<Option<usize>>,
}

/// A machine while it is shown.
pub(super) struct Machine {
    pub(super) first_cpu: u32,
    pub(super) first_pid: i32,
    pub(super) first_tid: i32,
    pub(super) jobs: Vec<MachineJob>,
    pub(super) threads: Vec<Thread>,
    facts_track: u64,
    pub(super) posts: u64,
    pub(super) group_lags: u64,
    pub(super) cpu_tracks: Vec<CpuTracks>,
    /// By CPU, then job.
    pub(super) groups: Vec<Group>,
    /// Who runs, by CPU.
    pub(super) running: Vec<Option<u32>>,
    /// Events that no packet holds yet, by CPU.
    pub(super) bundles: Vec<Vec<FtraceEvent>>,
    // What was said of the pick, and of the group, that follow.
    pub(super) deadline: i64,
    pub(super) sequence: u64,
    pub(super) share: u64,
}

pub(super) struct Thread {
    pub(super) name: String,
    pub(super) job: u32,
    pub(super) real_time: bool,
    /// The track of its lag.
    pub(super) lag: u64,
    facts: [(&'static str, i64); 9],
}

pub(super) struct CpuTracks {
    pub(super) decisions: u64,
    pub(super) weight: u64,
    pub(super) ready: u64,
    pub(super) decision: u64,
    pub(super) groups: u64,
}

pub(super) struct Group {
    pub(super) slice_track: u64,
    pub(super) lag_track: u64,
    pub(super) declared: bool,
    /// Its slices have begun.
    pub(super) open: bool,
}

/// A track below `parent`; one with a unit is a counter.
pub(super) fn track(uuid: u64, parent: u64, name: &str, unit: Option<&str>) -> TrackDescriptor {
    let mut track = crate::pftrace::checkpoint::counter_track(uuid, parent, name, unit, 0);
    track.sibling_order_rank = None;
    if unit.is_none() {
        track.counter = None;
    }
    track
}

/// Makes tracks of one machine.
struct Tracks<'a> {
    plan: &'a mut TrackPlan,
    path: String,
}

impl Tracks<'_> {
    fn uuid(&mut self, path: &str) -> u64 {
        self.plan.uuids.assign(&format!("{}/{path}", self.path))
    }

    /// Declares what holds the machine's tracks: before the clock domains, because the events of a unit take much room.
    fn add_root(&mut self, unit: &str, rank: i32) -> u64 {
        let (uuid, name) = (self.uuid("scheduling"), format!("scheduling of {unit}"));
        let track = TrackDescriptor {
            sibling_order_rank: Some(rank),
            child_ordering: Some(ChildOrdering::Explicit.into()),
            ..track(uuid, self.plan.root, &name, None)
        };
        self.plan.descriptors.push(track);
        uuid
    }

    /// Declares the `rank`-th track below `parent`.
    fn add(&mut self, path: &str, parent: u64, (rank, name): (usize, &str), unit: Option<&str>) -> u64 {
        let uuid = self.uuid(path);
        let track = TrackDescriptor {
            sibling_order_rank: i32::try_from(rank).ok(),
            sibling_merge_behavior: Some(SiblingMerge::None.into()),
            child_ordering: unit.is_none().then_some(ChildOrdering::Explicit.into()),
            ..track(uuid, parent, name, unit)
        };
        self.plan.descriptors.push(track);
        uuid
    }
}

impl SchedPlan {
    /// Adds the machines' tracks to those of the run.
    ///
    /// # Errors
    /// A machine whose unit, jobs or CPUs are not there, and too many CPUs.
    pub(crate) fn new(
        machines: &[MachineEntry],
        roster: &Roster,
        tracks: &mut TrackPlan,
    ) -> Result<Self, RecordError> {
        let cpus: u64 = machines.iter().map(|machine| u64::from(machine.cpus)).sum();
        if cpus > MOST_CPUS {
            let expected = "at most 62 in all machines of a run";
            return Err(RecordError::BadOption { option: "cpus", found: cpus, expected });
        }
        let jobs: usize = machines.iter().map(|machine| machine.jobs.len()).sum();
        let (mut first_cpu, mut first_pid, mut first_tid) = (0, FIRST_PID, FIRST_PID + jobs);
        let mut plan = Self { machines: Vec::new(), of_unit: vec![None; roster.units.len()] };
        for entry in machines {
            let unit = roster.units.iter().position(|unit| unit.name == entry.unit);
            let fits = entry.threads.iter().all(|thread| {
                (thread.job as usize) < entry.jobs.len() && thread.cpus.iter().all(|cpu| *cpu < entry.cpus)
            });
            let Some(unit) = unit.filter(|unit| fits && plan.of_unit[*unit].is_none()) else {
                return Err(RecordError::BadMachine { unit: entry.unit.clone() });
            };
            plan.of_unit[unit] = Some(plan.machines.len());
            let path =
                format!("run/{}/{}/sched", roster.domains[roster.units[unit].domain].name(), entry.unit);
            let mut tracks = Tracks { plan: tracks, path };
            let parent = tracks.add_root(&entry.unit, plan.machines.len() as i32 - machines.len() as i32);
            let firsts = (first_cpu, number(first_pid)?, number(first_tid)?);
            plan.machines.push(Machine::new(entry, parent, tracks, firsts));
            first_cpu += entry.cpus;
            first_pid += entry.jobs.len();
            first_tid += entry.threads.len();
        }
        number(first_tid)?;
        Ok(plan)
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.machines.is_empty()
    }

    /// Bytes of what is kept per group, which is declared later.
    pub(crate) fn group_bytes(&self) -> usize {
        self.machines.iter().map(|machine| machine.groups.len() * size_of::<Group>()).sum()
    }
}

/// A process or thread number.
fn number(number: usize) -> Result<i32, RecordError> {
    i32::try_from(number).map_err(|_| RecordError::BadOption {
        option: "threads",
        found: number as u64,
        expected: "jobs and threads whose numbers fit 31 bits",
    })
}

impl Machine {
    fn new(
        entry: &MachineEntry,
        parent: u64,
        mut tracks: Tracks<'_>,
        (first_cpu, first_pid, first_tid): (u32, i32, i32),
    ) -> Self {
        let cpus = entry.cpus as usize;
        let facts_track = tracks.add("facts", parent, (cpus + 3, "facts"), None);
        let posts = tracks.add("posts", parent, (cpus, "posts"), None);
        let lags = tracks.add("lags", parent, (cpus + 1, "lag_ns"), None);
        let group_lags = tracks.add("group_lags", parent, (cpus + 2, "group lag_ns"), None);
        let cpu_tracks = (0..cpus).map(|cpu| CpuTracks::new(&mut tracks, parent, cpu, first_cpu)).collect();
        let places = (0..cpus).flat_map(|cpu| (0..entry.jobs.len()).map(move |job| (cpu, job)));
        let groups = places
            .map(|(cpu, job)| Group {
                slice_track: tracks.uuid(&format!("cpu{cpu}/job{job}")),
                lag_track: tracks.uuid(&format!("cpu{cpu}/job{job}/lag")),
                declared: false,
                open: false,
            })
            .collect();
        let int = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let threads = entry.threads.iter().enumerate().map(|(at, spec)| {
            let tid = first_tid.saturating_add_unsigned(at as u32);
            let label = format!("{} [{tid}]", spec.name);
            let mask = spec.cpus.iter().fold(0, |mask: i64, cpu| mask | 1 << (cpu + first_cpu));
            Thread {
                name: spec.name.clone(),
                job: spec.job,
                real_time: false,
                lag: tracks.add(&format!("thread{at}/lag"), lags, (at, &label), Some("ns")),
                facts: [
                    ("tid", tid.into()),
                    ("weight", int(entry.jobs[spec.job as usize].weight)),
                    ("mask", mask),
                    ("slice", int(entry.slice_ns)),
                    ("quantum", int(entry.quantum_ns)),
                    ("latency", int(entry.latency_ns)),
                    ("patience", int(entry.patience_ns)),
                    ("section", int(entry.section_ns)),
                    ("steady", entry.steady.into()),
                ],
            }
        });
        let threads = threads.collect();
        Self {
            first_cpu,
            first_pid,
            first_tid,
            jobs: entry.jobs.clone(),
            threads,
            facts_track,
            posts,
            group_lags,
            cpu_tracks,
            groups,
            running: vec![None; cpus],
            bundles: vec![Vec::new(); cpus],
            deadline: 0,
            sequence: 0,
            share: 0,
        }
    }

    /// States processes, threads and their facts.
    pub(super) fn introduce(&self, framing: &mut Framing) {
        // A space would end the name.
        let cmdline = |job: &MachineJob| vec![job.name.replace(' ', "_")];
        let processes = (self.first_pid..).zip(&self.jobs).map(|(pid, job)| TreeProcess {
            pid: Some(pid),
            ppid: Some(0),
            cmdline: cmdline(job),
        });
        let threads = (self.first_tid..).zip(&self.threads).map(|(tid, thread)| TreeThread {
            tid: Some(tid),
            name: Some(thread.name.clone()),
            tgid: Some(self.first_pid.saturating_add_unsigned(thread.job)),
        });
        let (mut processes, mut threads) = (processes.peekable(), threads.peekable());
        // Packets are smaller than blocks.
        while processes.peek().is_some() || threads.peek().is_some() {
            let tree = ProcessTree {
                processes: processes.by_ref().take(PER_TREE).collect(),
                threads: threads.by_ref().take(PER_TREE).collect(),
            };
            let packet = Packet { process_tree: Some(tree), timestamp: Some(0), ..Packet::default() };
            framing.append(&packet.entry());
        }
        for thread in &self.threads {
            let event = named_event(EventType::Instant, self.facts_track, "runqueue.thread", &thread.facts);
            framing.append(&Packet::event(0, event).entry());
        }
    }
}

/// Processes, and threads, of one packet.
const PER_TREE: usize = 512;

impl CpuTracks {
    fn new(tracks: &mut Tracks<'_>, parent: u64, cpu: usize, first_cpu: u32) -> Self {
        let path = format!("cpu{cpu}");
        let name = format!("cpu {}", first_cpu as usize + cpu);
        let below = tracks.add(&path, parent, (cpu, &name), None);
        let mut add = |rank: usize, name: &str, unit: Option<&str>| {
            tracks.add(&format!("{path}/{name}"), below, (rank, name), unit)
        };
        Self {
            decisions: add(0, "decisions", None),
            weight: add(1, "queue weight", Some("weight")),
            ready: add(2, "ready", Some("threads")),
            decision: add(3, "decision_in_ns", Some("ns")),
            groups: add(4, "groups", None),
        }
    }
}
