//! The tracks of a trace, and which slices are open on them.
//!
//! # Invariants
//!
//! * A uuid is a function of the names on the way from the top, so the tracks of two traces compare. Tracks of one
//!   parent may have equal names; they stay apart.
//! * Begins and ends of one track pair, and do not go back in time.

use crate::encoder::event::Kind;
use crate::encoder::{Event, TraceError, Track};
use crate::pftrace::schema::{ChildOrdering, CounterDescriptor, SiblingMerge, TrackDescriptor};
use crate::pftrace::{Uuids, track_packet};

/// Slices within each other on one track; importers take no more.
const MAX_DEPTH: u32 = 512;

struct State {
    uuid: u64,
    name: String,
    path: String,
    counter: bool,
    children: i32,
    depth: u32,
    /// Time of the last begin or end.
    last: u64,
}

pub(super) struct Tracks {
    states: Vec<State>,
    uuids: Uuids,
    packets: Vec<Vec<u8>>,
    top: i32,
}

impl Tracks {
    pub(super) fn new() -> Self {
        Self { states: Vec::new(), uuids: Uuids::new(), packets: Vec::new(), top: 0 }
    }

    /// Declares a track; `unit` makes it a counter's.
    pub(super) fn add(
        &mut self,
        name: &str,
        parent: Option<Track>,
        counter: Option<Option<&str>>,
    ) -> Result<(Track, &Vec<u8>), TraceError> {
        let (parent_uuid, path, rank) = match parent {
            None => (None, format!("/{name}"), &mut self.top),
            Some(parent) => {
                let state = self.states.get_mut(parent.0 as usize);
                let state = state.ok_or(TraceError::Unknown { what: "track", number: parent.0 })?;
                (Some(state.uuid), format!("{}/{name}", state.path), &mut state.children)
            }
        };
        let uuid = self.uuids.assign(&path);
        let descriptor = TrackDescriptor {
            uuid: Some(uuid),
            name: Some(name.to_owned()),
            parent_uuid,
            child_ordering: counter.is_none().then(|| ChildOrdering::Explicit.into()),
            sibling_order_rank: Some(*rank),
            sibling_merge_behavior: Some(SiblingMerge::None.into()),
            counter: counter.map(|unit| CounterDescriptor { unit_name: unit.map(str::to_owned) }),
        };
        *rank = rank.saturating_add(1);
        let track = Track(self.states.len() as u32);
        let counter = counter.is_some();
        self.states.push(State {
            uuid,
            name: name.to_owned(),
            path,
            counter,
            children: 0,
            depth: 0,
            last: 0,
        });
        self.packets.push(track_packet(descriptor));
        Ok((track, self.packets.last().expect("one was added")))
    }

    /// Bytes of the names on the way to `track`.
    pub(super) fn path_bytes(&self, track: Track) -> usize {
        self.states.get(track.0 as usize).map_or(0, |state| state.path.len())
    }

    /// The packets that declare them, in an order in which parents come first.
    pub(super) fn packets(&self) -> &[Vec<u8>] {
        &self.packets
    }

    /// Whether `event` may be written; gives the uuid of its track.
    pub(super) fn check(&self, event: &Event<'_>) -> Result<u64, TraceError> {
        let Some(state) = self.states.get(event.track.0 as usize) else {
            return Err(TraceError::Unknown { what: "track", number: event.track.0 });
        };
        let (track, ns) = (|| state.name.clone(), event.ns);
        if state.counter != matches!(event.kind, Kind::Counter(_)) {
            let (slices, counter) = ("a track of slices and instants", "a counter");
            let (found, expected) = if state.counter {
                ("a slice or an instant", counter)
            } else {
                ("a counter's value", slices)
            };
            return Err(TraceError::WrongTrack { track: track(), found, expected });
        }
        match event.kind {
            Kind::Begin | Kind::End if ns < state.last => {
                Err(TraceError::SliceRegressed { track: track(), ns, last: state.last })
            }
            Kind::Begin if state.depth == MAX_DEPTH => {
                Err(TraceError::TooDeep { track: track(), ns, limit: MAX_DEPTH })
            }
            Kind::End if state.depth == 0 => Err(TraceError::NothingOpen { track: track(), ns }),
            _ => Ok(state.uuid),
        }
    }

    /// `event` was written.
    pub(super) fn note(&mut self, event: &Event<'_>) {
        let state = &mut self.states[event.track.0 as usize];
        match event.kind {
            Kind::Begin => (state.depth, state.last) = (state.depth + 1, event.ns),
            Kind::End => (state.depth, state.last) = (state.depth - 1, event.ns),
            _ => {}
        }
    }

    /// Slices that are open.
    pub(super) fn open_slices(&self) -> u64 {
        self.states.iter().map(|state| u64::from(state.depth)).sum()
    }
}
