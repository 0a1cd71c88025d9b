//! Scheduling as Perfetto knows it: `sched_switch`, `sched_waking` and their kin in per-CPU bundles,
//! beside counters and instants for what those cannot say.
//!
//! # Invariants
//!
//! * All times are nanoseconds of the boot clock, stated in a snapshot: without it importers drop
//!   every scheduling event in silence.
//! * Each CPU begins with a switch from idle to idle at time 0, so that its idle time has a slice.
//! * Within a bundle events are in order of time; equal times keep the order they came in.
//! * Memory is bounded by [`PER_BUNDLE`] events per CPU.
//!
//! Field numbers are those of Perfetto's public `ftrace_event_bundle.proto`, `sched.proto`, `task.proto`,
//! `process_tree.proto` and `system_info.proto`. Who schedules, and why, is not known here.

use std::io::{self, Write};

use prost::Message;

/// Events of one CPU that go into one packet.
const PER_BUNDLE: usize = 512;
/// The sequence every packet is on.
const SEQUENCE: u32 = 2;
/// Perfetto's boot clock and the clock of the file.
const CLOCKS: [u32; 2] = [6, 11];
/// Priorities below this are real-time.
const PRIORITIES: [i32; 2] = [120, 50];

/// A process of a [`SchedTrace`]; its number is above 0, and its name has no spaces.
#[derive(Clone, Debug)]
pub struct SchedProcess {
    /// Its number.
    pub pid: i32,
    /// Its name.
    pub name: String,
}

/// A thread of a [`SchedTrace`]; its number is above 0.
#[derive(Clone, Debug)]
pub struct SchedThread {
    /// Its number.
    pub tid: i32,
    /// Its process.
    pub pid: i32,
    /// Its name.
    pub name: String,
}

/// A thread as a scheduling event names it: an index of the threads given, and whether it is real-time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedTask {
    /// Index of the thread; `None` is the idle one.
    pub thread: Option<usize>,
    /// Whether it is real-time.
    pub real_time: bool,
}

impl SchedTask {
    /// The idle thread.
    pub const IDLE: Self = Self { thread: None, real_time: false };
}

/// How a thread was left that stopped running; the numbers are those of Linux 4.14 and later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrevState {
    /// Ready, by its own will.
    Runnable = 0,
    /// Waiting.
    Sleeping = 1,
    /// Ended.
    Ended = 0x20,
    /// Ready, against its will.
    Preempted = 0x100,
}

/// A scheduling event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedEvent {
    /// Another thread runs.
    Switch {
        /// Who ran.
        prev: SchedTask,
        /// How it was left.
        state: PrevState,
        /// Who runs now.
        next: SchedTask,
    },
    /// A thread is woken into the queue of CPU `target`, by `by` or by a device.
    Waking {
        /// The thread.
        task: SchedTask,
        /// Who did it.
        by: SchedTask,
        /// The CPU.
        target: usize,
    },
    /// A thread is started into the queue of CPU `target`.
    Started {
        /// The thread.
        task: SchedTask,
        /// Who did it.
        by: SchedTask,
        /// The CPU.
        target: usize,
    },
    /// A waiting thread goes from one CPU's queue to another's.
    Migrated {
        /// The thread.
        task: SchedTask,
        /// Who runs where this happens.
        by: SchedTask,
        /// The CPU it leaves.
        from: usize,
        /// The CPU it goes to.
        to: usize,
    },
}

macro_rules! message {
    ($name:ident { $($(#[$prost:meta])* $field:ident: $type:ty),* $(,)? }) => {
        #[derive(Clone, PartialEq, Message)]
        struct $name { $($(#[$prost])* $field: $type),* }
    };
}

message!(Packet {
    #[prost(message, optional, tag = "1")] ftrace_events: Option<Bundle>,
    #[prost(message, optional, tag = "2")] process_tree: Option<ProcessTree>,
    #[prost(message, optional, tag = "6")] clock_snapshot: Option<Snapshot>,
    #[prost(uint64, optional, tag = "8")] timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")] trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")] track_event: Option<TrackEvent>,
    #[prost(uint32, optional, tag = "13")] sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "45")] system_info: Option<SystemInfo>,
    #[prost(message, optional, tag = "60")] track_descriptor: Option<TrackDescriptor>,
    #[prost(bool, optional, tag = "87")] first_packet_on_sequence: Option<bool>,
});
message!(Bundle {
    #[prost(uint32, optional, tag = "1")] cpu: Option<u32>,
    #[prost(message, repeated, tag = "2")] event: Vec<FtraceEvent>,
});
message!(FtraceEvent {
    #[prost(uint64, optional, tag = "1")] timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "2")] pid: Option<u32>,
    #[prost(message, optional, tag = "4")] sched_switch: Option<Switch>,
    #[prost(message, optional, tag = "20")] sched_waking: Option<Waking>,
    #[prost(message, optional, tag = "114")] sched_wakeup_new: Option<Waking>,
    #[prost(message, optional, tag = "235")] task_newtask: Option<NewTask>,
    #[prost(message, optional, tag = "238")] sched_process_exit: Option<Exit>,
    #[prost(message, optional, tag = "491")] sched_migrate_task: Option<Migrate>,
});
message!(Switch {
    #[prost(string, optional, tag = "1")] prev_comm: Option<String>,
    #[prost(int32, optional, tag = "2")] prev_pid: Option<i32>,
    #[prost(int32, optional, tag = "3")] prev_prio: Option<i32>,
    #[prost(int64, optional, tag = "4")] prev_state: Option<i64>,
    #[prost(string, optional, tag = "5")] next_comm: Option<String>,
    #[prost(int32, optional, tag = "6")] next_pid: Option<i32>,
    #[prost(int32, optional, tag = "7")] next_prio: Option<i32>,
});
message!(Waking {
    #[prost(string, optional, tag = "1")] comm: Option<String>,
    #[prost(int32, optional, tag = "2")] pid: Option<i32>,
    #[prost(int32, optional, tag = "3")] prio: Option<i32>,
    #[prost(int32, optional, tag = "4")] success: Option<i32>,
    #[prost(int32, optional, tag = "5")] target_cpu: Option<i32>,
});
message!(NewTask {
    #[prost(int32, optional, tag = "1")] pid: Option<i32>,
    #[prost(string, optional, tag = "2")] comm: Option<String>,
    #[prost(uint64, optional, tag = "3")] clone_flags: Option<u64>,
});
message!(Exit {
    #[prost(string, optional, tag = "1")] comm: Option<String>,
    #[prost(int32, optional, tag = "2")] pid: Option<i32>,
    #[prost(int32, optional, tag = "3")] tgid: Option<i32>,
    #[prost(int32, optional, tag = "4")] prio: Option<i32>,
});
message!(Migrate {
    #[prost(string, optional, tag = "1")] comm: Option<String>,
    #[prost(int32, optional, tag = "2")] pid: Option<i32>,
    #[prost(int32, optional, tag = "3")] prio: Option<i32>,
    #[prost(int32, optional, tag = "4")] orig_cpu: Option<i32>,
    #[prost(int32, optional, tag = "5")] dest_cpu: Option<i32>,
});
message!(ProcessTree {
    #[prost(message, repeated, tag = "1")] processes: Vec<TreeProcess>,
    #[prost(message, repeated, tag = "2")] threads: Vec<TreeThread>,
});
message!(TreeProcess {
    #[prost(int32, optional, tag = "1")] pid: Option<i32>,
    #[prost(int32, optional, tag = "2")] ppid: Option<i32>,
    #[prost(string, repeated, tag = "3")] cmdline: Vec<String>,
});
message!(TreeThread {
    #[prost(int32, optional, tag = "1")] tid: Option<i32>,
    #[prost(string, optional, tag = "2")] name: Option<String>,
    #[prost(int32, optional, tag = "3")] tgid: Option<i32>,
});
message!(SystemInfo {
    #[prost(message, optional, tag = "1")] utsname: Option<Utsname>,
});
message!(Utsname {
    #[prost(string, optional, tag = "1")] sysname: Option<String>,
    #[prost(string, optional, tag = "2")] version: Option<String>,
    #[prost(string, optional, tag = "3")] release: Option<String>,
    #[prost(string, optional, tag = "4")] machine: Option<String>,
});
message!(Snapshot {
    #[prost(message, repeated, tag = "1")] clocks: Vec<Clock>,
    #[prost(uint32, optional, tag = "2")] primary_trace_clock: Option<u32>,
});
message!(Clock {
    #[prost(uint32, optional, tag = "1")] clock_id: Option<u32>,
    #[prost(uint64, optional, tag = "2")] timestamp: Option<u64>,
});
message!(TrackDescriptor {
    #[prost(uint64, optional, tag = "1")] uuid: Option<u64>,
    #[prost(string, optional, tag = "2")] name: Option<String>,
    #[prost(uint64, optional, tag = "5")] parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")] counter: Option<CounterDescriptor>,
    #[prost(int32, optional, tag = "15")] sibling_merge_behavior: Option<i32>,
});
message!(CounterDescriptor {
    #[prost(string, optional, tag = "6")] unit_name: Option<String>,
});
message!(TrackEvent {
    #[prost(message, repeated, tag = "4")] debug_annotations: Vec<Annotation>,
    #[prost(int32, optional, tag = "9")] r#type: Option<i32>,
    #[prost(uint64, optional, tag = "11")] track_uuid: Option<u64>,
    #[prost(string, repeated, tag = "22")] categories: Vec<String>,
    #[prost(string, optional, tag = "23")] name: Option<String>,
    #[prost(int64, optional, tag = "30")] counter_value: Option<i64>,
});
message!(Annotation {
    #[prost(int64, optional, tag = "4")] int_value: Option<i64>,
    #[prost(string, optional, tag = "10")] name: Option<String>,
});

/// A track of a [`SchedTrace`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedTrack(u64);

/// Writes a trace of scheduling.
#[derive(Debug)]
pub struct SchedTrace<W> {
    out: W,
    threads: Vec<SchedThread>,
    /// Events of each CPU that no packet holds yet.
    open: Vec<Vec<FtraceEvent>>,
    next_track: u64,
}

fn counter_type(counter: bool) -> i32 {
    // `TrackEvent.Type`: instant, counter.
    if counter { 4 } else { 3 }
}

impl<W: Write> SchedTrace<W> {
    /// Begins a trace of a machine with `cpus` CPUs.
    ///
    /// # Errors
    /// `out` fails.
    pub fn new(
        out: W,
        cpus: usize,
        processes: &[SchedProcess],
        threads: Vec<SchedThread>,
    ) -> io::Result<Self> {
        let open = (0..cpus).map(|_| Vec::new()).collect();
        let mut trace = Self { out, threads, open, next_track: 1 };
        let clock = |id| Clock { clock_id: Some(id), timestamp: Some(0) };
        trace.write(Packet {
            clock_snapshot: Some(Snapshot {
                clocks: CLOCKS.map(clock).to_vec(),
                primary_trace_clock: Some(CLOCKS[0]),
            }),
            // Incremental state cleared.
            sequence_flags: Some(1),
            first_packet_on_sequence: Some(true),
            ..Packet::default()
        })?;
        let text = |text: &str| Some(text.to_owned());
        // From 4.14 on the states of `sched_switch` mean what `PrevState` says.
        let utsname = Utsname {
            sysname: text("Linux"),
            version: text("clockweave"),
            release: text("6.6.0"),
            machine: text("x86_64"),
        };
        trace.write(Packet {
            system_info: Some(SystemInfo { utsname: Some(utsname) }),
            ..Packet::default()
        })?;
        let processes = processes.iter().map(|process| TreeProcess {
            pid: Some(process.pid),
            ppid: Some(0),
            cmdline: vec![process.name.clone()],
        });
        let members = trace.threads.iter().map(|thread| TreeThread {
            tid: Some(thread.tid),
            name: Some(thread.name.clone()),
            tgid: Some(thread.pid),
        });
        let tree = ProcessTree { processes: processes.collect(), threads: members.collect() };
        trace.write(Packet { process_tree: Some(tree), timestamp: Some(0), ..Packet::default() })?;
        for cpu in 0..cpus {
            let (prev, next) = (SchedTask::IDLE, SchedTask::IDLE);
            trace.event(0, cpu, SchedEvent::Switch { prev, state: PrevState::Runnable, next })?;
        }
        Ok(trace)
    }

    fn write(&mut self, packet: Packet) -> io::Result<()> {
        let packet = Packet { trusted_packet_sequence_id: Some(SEQUENCE), ..packet };
        let mut entry = Vec::with_capacity(packet.encoded_len() + 8);
        prost::encoding::encode_key(1, prost::encoding::WireType::LengthDelimited, &mut entry);
        prost::encoding::encode_varint(packet.encoded_len() as u64, &mut entry);
        packet.encode(&mut entry).expect("a vector takes any message");
        self.out.write_all(&entry)
    }

    fn named(&self, task: SchedTask) -> (Option<String>, Option<i32>, Option<i32>) {
        let thread = task.thread.map(|at| &self.threads[at]);
        let name = thread.map_or("swapper", |thread| thread.name.as_str());
        let tid = thread.map_or(0, |thread| thread.tid);
        (Some(name.to_owned()), Some(tid), Some(PRIORITIES[usize::from(task.real_time)]))
    }

    /// Adds an event of `cpu` at `ns` nanoseconds.
    ///
    /// # Errors
    /// The output fails.
    ///
    /// # Panics
    /// If there is no such CPU or thread.
    pub fn event(&mut self, ns: u64, cpu: usize, event: SchedEvent) -> io::Result<()> {
        let base = |by: Option<i32>| FtraceEvent {
            timestamp: Some(ns),
            pid: by.map(i32::unsigned_abs),
            ..FtraceEvent::default()
        };
        let waking = |(comm, pid, prio): (Option<String>, Option<i32>, Option<i32>), target: usize| Waking {
            comm,
            pid,
            prio,
            success: Some(1),
            target_cpu: i32::try_from(target).ok(),
        };
        match event {
            SchedEvent::Switch { prev, state, next } => {
                let (prev_comm, prev_pid, prev_prio) = self.named(prev);
                let (next_comm, next_pid, next_prio) = self.named(next);
                if state == PrevState::Ended {
                    let tgid = prev.thread.map(|at| self.threads[at].pid);
                    let (comm, pid, prio) = (prev_comm.clone(), prev_pid, prev_prio);
                    let exit = Some(Exit { comm, pid, tgid, prio });
                    self.open[cpu].push(FtraceEvent { sched_process_exit: exit, ..base(prev_pid) });
                }
                let prev_state = Some(state as i64);
                let switch =
                    Switch { prev_comm, prev_pid, prev_prio, prev_state, next_comm, next_pid, next_prio };
                self.open[cpu].push(FtraceEvent { sched_switch: Some(switch), ..base(prev_pid) });
            }
            SchedEvent::Waking { task, by, target } => {
                let woken = Some(waking(self.named(task), target));
                let by = self.named(by).1;
                self.open[cpu].push(FtraceEvent { sched_waking: woken, ..base(by) });
            }
            SchedEvent::Started { task, by, target } => {
                let (comm, pid, prio) = self.named(task);
                let by = self.named(by).1;
                // CLONE_THREAD: a thread of its process, not a process of its own.
                let new = NewTask { pid, comm: comm.clone(), clone_flags: Some(0x1_0000) };
                let woken = Some(waking((comm, pid, prio), target));
                // Importers hold a thread for ready from its creation on, or from its first wake; to
                // have both would be a wake of a thread that does not wait.
                if by == Some(0) {
                    self.open[cpu].push(FtraceEvent { sched_waking: woken.clone(), ..base(by) });
                } else {
                    self.open[cpu].push(FtraceEvent { task_newtask: Some(new), ..base(by) });
                }
                self.open[cpu].push(FtraceEvent { sched_wakeup_new: woken, ..base(by) });
            }
            SchedEvent::Migrated { task, by, from, to } => {
                let (comm, pid, prio) = self.named(task);
                let [orig_cpu, dest_cpu] = [from, to].map(|cpu| i32::try_from(cpu).ok());
                let moved = Some(Migrate { comm, pid, prio, orig_cpu, dest_cpu });
                let by = self.named(by).1;
                self.open[cpu].push(FtraceEvent { sched_migrate_task: moved, ..base(by) });
            }
        }
        if self.open[cpu].len() >= PER_BUNDLE { self.close_bundle(cpu) } else { Ok(()) }
    }

    fn close_bundle(&mut self, cpu: usize) -> io::Result<()> {
        let mut event = std::mem::take(&mut self.open[cpu]);
        if event.is_empty() {
            return Ok(());
        }
        event.sort_by_key(|event| event.timestamp);
        let cpu = u32::try_from(cpu).ok();
        self.write(Packet { ftrace_events: Some(Bundle { cpu, event }), ..Packet::default() })
    }

    /// Adds a track below `parent`; one with a unit is a counter.
    ///
    /// # Errors
    /// The output fails.
    pub fn track(
        &mut self,
        name: &str,
        parent: Option<SchedTrack>,
        unit: Option<&str>,
    ) -> io::Result<SchedTrack> {
        let uuid = self.next_track;
        self.next_track += 1;
        let descriptor = TrackDescriptor {
            uuid: Some(uuid),
            name: Some(name.to_owned()),
            parent_uuid: parent.map(|parent| parent.0),
            counter: unit.map(|unit| CounterDescriptor { unit_name: Some(unit.to_owned()) }),
            // Equal names stay apart.
            sibling_merge_behavior: Some(2),
        };
        self.write(Packet { track_descriptor: Some(descriptor), ..Packet::default() })?;
        Ok(SchedTrack(uuid))
    }

    fn track_event(&mut self, ns: u64, event: TrackEvent) -> io::Result<()> {
        // Needs incremental state.
        self.write(Packet {
            timestamp: Some(ns),
            track_event: Some(event),
            sequence_flags: Some(2),
            ..Packet::default()
        })
    }

    /// Adds a sample of a counter track.
    ///
    /// # Errors
    /// The output fails.
    pub fn sample(&mut self, ns: u64, track: SchedTrack, value: i64) -> io::Result<()> {
        let r#type = Some(counter_type(true));
        let event = TrackEvent {
            r#type,
            track_uuid: Some(track.0),
            counter_value: Some(value),
            ..TrackEvent::default()
        };
        self.track_event(ns, event)
    }

    /// Adds an instant with arguments.
    ///
    /// # Errors
    /// The output fails.
    pub fn instant(
        &mut self,
        ns: u64,
        track: SchedTrack,
        name: &str,
        arguments: &[(&str, i64)],
    ) -> io::Result<()> {
        let annotation = |(name, value): &(&str, i64)| Annotation {
            name: Some((*name).to_owned()),
            int_value: Some(*value),
        };
        let event = TrackEvent {
            debug_annotations: arguments.iter().map(annotation).collect(),
            r#type: Some(counter_type(false)),
            track_uuid: Some(track.0),
            categories: vec!["sched".to_owned()],
            name: Some(name.to_owned()),
            counter_value: None,
        };
        self.track_event(ns, event)
    }

    /// Writes what is left, and gives the output back.
    ///
    /// # Errors
    /// The output fails.
    pub fn finish(mut self) -> io::Result<W> {
        for cpu in 0..self.open.len() {
            self.close_bundle(cpu)?;
        }
        self.out.flush()?;
        Ok(self.out)
    }
}
