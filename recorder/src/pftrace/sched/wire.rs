//! The packets of scheduling, with just the fields that are used.
//!
//! Field numbers are those of Perfetto's public `trace_packet.proto`, `ftrace_event.proto`, `ftrace_event_bundle.proto`,
//! `sched.proto`, `task.proto`, `process_tree.proto`, `system_info.proto` and `track_event.proto`.

use prost::Message;

use crate::pftrace::SEQUENCE;
use crate::pftrace::schema::NEEDS_STATE;

macro_rules! message {
    ($name:ident { $($(#[$prost:meta])* $field:ident: $type:ty),* $(,)? }) => {
        #[derive(Clone, PartialEq, Message)]
        pub(super) struct $name { $($(#[$prost])* pub(super) $field: $type),* }
    };
}

message!(Packet {
    #[prost(message, optional, tag = "1")] ftrace_events: Option<Bundle>,
    #[prost(message, optional, tag = "2")] process_tree: Option<ProcessTree>,
    #[prost(uint64, optional, tag = "8")] timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")] trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")] track_event: Option<PlainEvent>,
    #[prost(uint32, optional, tag = "13")] sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "45")] system_info: Option<SystemInfo>,
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
    #[prost(message, optional, tag = "240")] sched_process_free: Option<Free>,
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
message!(Free {
    #[prost(string, optional, tag = "1")] comm: Option<String>,
    #[prost(int32, optional, tag = "2")] pid: Option<i32>,
    #[prost(int32, optional, tag = "3")] prio: Option<i32>,
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
// A `TrackEvent` whose names are written out.
message!(PlainEvent {
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

impl Packet {
    /// The entry of `Trace.packet`.
    pub(super) fn entry(self) -> Vec<u8> {
        let packet = Self { trusted_packet_sequence_id: Some(SEQUENCE), ..self };
        let mut entry = Vec::with_capacity(packet.encoded_len() + 8);
        prost::encoding::encode_key(1, prost::encoding::WireType::LengthDelimited, &mut entry);
        prost::encoding::encode_varint(packet.encoded_len() as u64, &mut entry);
        packet.encode(&mut entry).expect("a vector takes any message");
        entry
    }

    /// What the importer takes for a Linux that is new enough: from 4.14 on the states of switches have their numbers.
    pub(super) fn system() -> Self {
        let text = |text: &str| Some(text.to_owned());
        let utsname = Utsname {
            sysname: text("Linux"),
            version: text("clockweave"),
            release: text("6.6.0"),
            machine: text("x86_64"),
        };
        Self { system_info: Some(SystemInfo { utsname: Some(utsname) }), ..Self::default() }
    }

    /// A track event, `delta` nanoseconds after the packet before.
    pub(super) fn event(delta: u64, event: PlainEvent) -> Self {
        Self {
            timestamp: Some(delta),
            sequence_flags: Some(NEEDS_STATE),
            track_event: Some(event),
            ..Self::default()
        }
    }
}
