//! The asynchronous FIFO's registers and their commit.
//!
//! # Invariants
//!
//! * A RAM entry is 0 iff it holds no unread packet; writing over an unread entry, reading an empty
//!   one, and more than `depth` unread entries are asserted against.
//! * `exposed` is the write pointer up to which entries were reported visible; it trails the tail of
//!   the write pointer's synchronizer by one read edge and never passes the write pointer. It stays 0
//!   where nobody observes commits; a circuit is observed always or never.
//! * At rest, a commit on any edge changes nothing; the scheduler may leave it out.

use super::gray::{from_gray, to_gray};
use super::synchronizer::{STAGES, Synchronizer};

/// Commits without a write or a read after which a FIFO may be at rest; fewer would only look in vain.
const CALM_COMMITS: u32 = 8;

const DEPTHS: std::ops::RangeInclusive<u32> = 2..=1 << 30;

/// Why a FIFO cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CircuitError {
    /// The depth is no power of two in range.
    #[error("depth {depth}: expected a power of two from 2 to 2^30")]
    Depth {
        /// The depth given.
        depth: u64,
    },
    /// The number of synchronizer stages is out of range.
    #[error("{stages} synchronizer stages: expected 2 to 64")]
    Stages {
        /// The stages given.
        stages: u64,
    },
    /// The host has no memory for the RAM.
    #[error("depth {depth}: the host has no memory for that many entries")]
    Memory {
        /// The depth given.
        depth: u64,
    },
}

/// Receives what a commit did, in the order in which it is recorded.
pub trait CommitEvents {
    /// Whether anything looks at the events; entries newly exposed are told apart only then.
    const OBSERVED: bool = true;
    /// A write of transaction `id` was accepted.
    fn write(&mut self, id: u64);
    /// The old synchronizer tail newly exposes the entry of transaction `id`.
    fn visible(&mut self, id: u64);
    /// A read of transaction `id` was accepted.
    fn read(&mut self, id: u64);
    /// The output register was loaded with transaction `id`.
    fn output(&mut self, id: u64);
    /// `full` changed to `flag`.
    fn full(&mut self, flag: bool);
    /// `empty` changed to `flag`.
    fn empty(&mut self, flag: bool);
}

/// Looks at no event.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ignore;

impl CommitEvents for Ignore {
    const OBSERVED: bool = false;
    #[inline]
    fn write(&mut self, _: u64) {}
    #[inline]
    fn visible(&mut self, _: u64) {}
    #[inline]
    fn read(&mut self, _: u64) {}
    #[inline]
    fn output(&mut self, _: u64) {}
    #[inline]
    fn full(&mut self, _: bool) {}
    #[inline]
    fn empty(&mut self, _: bool) {}
}

/// What a commit means for the units at the FIFO's ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// A read was done or `empty` fell: the reader has reason to look.
    pub wakes_reader: bool,
    /// `full` fell: the writer has reason to try.
    pub wakes_writer: bool,
}

impl Commit {
    /// Whether either unit has.
    #[inline]
    pub fn wakes(self) -> bool {
        self.wakes_reader || self.wakes_writer
    }
}

/// The state of a FIFO between batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FifoState {
    /// Entries of the RAM.
    pub depth: u32,
    /// Registers of each synchronizer.
    pub stages: u32,
    /// Write pointer with its wrap bit.
    pub write_pointer: u32,
    /// Read pointer with its wrap bit.
    pub read_pointer: u32,
    /// Gray code of the write pointer.
    pub write_gray: u32,
    /// Gray code of the read pointer.
    pub read_gray: u32,
    /// Tail, in the read domain, of the write pointer's synchronizer.
    pub write_tail: u32,
    /// Tail, in the write domain, of the read pointer's synchronizer.
    pub read_tail: u32,
    /// The write domain's `full` flag.
    pub full: bool,
    /// The read domain's `empty` flag.
    pub empty: bool,
    /// Transaction in the output register.
    pub output: Option<u64>,
    /// Unread entries of the RAM.
    pub occupancy: u32,
    /// Writes accepted and committed.
    pub writes: u64,
    /// Reads accepted and committed.
    pub reads: u64,
    /// Whether nothing is left to move, see [`AsyncFifo::drained`].
    pub drained: bool,
}

/// One asynchronous FIFO without its payload.
#[derive(Clone, Debug)]
pub struct AsyncFifo {
    /// Twice the depth, less one.
    wrap: u32,
    /// Writes and reads committed; modulo twice the depth they are the pointers.
    writes: u64,
    reads: u64,
    write_gray: u32,
    read_gray: u32,
    exposed: u32,
    full: bool,
    empty: bool,
    read_requested: bool,
    /// Transaction accepted on this write edge, or 0.
    pending: u64,
    /// Transaction in the output register, or 0, and the read pointer that loaded it.
    output: u64,
    output_pointer: u32,
    into_read: Synchronizer,
    into_write: Synchronizer,
    ram: Box<[u64]>,
    /// Commits of either side since something was written or read.
    calm: u32,
}

impl AsyncFifo {
    /// Checks a depth and a number of stages.
    ///
    /// # Errors
    /// A depth that is no power of two in `[2, 2^30]`, stages outside `[2, 64]`.
    pub fn check(depth: u32, stages: u32) -> Result<(), CircuitError> {
        if !depth.is_power_of_two() || !DEPTHS.contains(&depth) {
            return Err(CircuitError::Depth { depth: depth.into() });
        }
        if !STAGES.contains(&stages) {
            return Err(CircuitError::Stages { stages: stages.into() });
        }
        Ok(())
    }

    /// An empty FIFO of `depth` entries and `stages` synchronizer registers each way.
    ///
    /// # Errors
    /// As [`AsyncFifo::check`], and no memory.
    pub fn new(depth: u32, stages: u32) -> Result<Self, CircuitError> {
        Self::check(depth, stages)?;
        let mut ram = Vec::new();
        ram.try_reserve_exact(depth as usize).map_err(|_| CircuitError::Memory { depth: depth.into() })?;
        ram.resize(depth as usize, 0u64);
        Ok(Self {
            wrap: 2 * depth - 1,
            writes: 0,
            reads: 0,
            write_gray: 0,
            read_gray: 0,
            exposed: 0,
            full: false,
            empty: true,
            read_requested: false,
            pending: 0,
            output: 0,
            output_pointer: 0,
            into_read: Synchronizer::new(stages),
            into_write: Synchronizer::new(stages),
            ram: ram.into(),
            calm: 0,
        })
    }

    /// Whether a write would be accepted now: not full, and none accepted on this edge.
    #[inline]
    pub fn can_write(&self) -> bool {
        !self.full && self.pending == 0
    }

    /// Offers transaction `id` on a write edge; says whether it was accepted.
    ///
    /// # Panics
    /// If `id` is 0: a packet has an id, which the port checks.
    #[inline]
    pub fn write(&mut self, id: u64) -> bool {
        assert!(id != 0, "a packet's transaction id is not 0");
        let accepted = self.can_write();
        if accepted {
            self.pending = id;
        }
        accepted
    }

    /// The pointer, with its wrap bit, at which the next accepted write is stored.
    #[inline]
    pub fn write_pointer(&self) -> u32 {
        self.writes as u32 & self.wrap
    }

    fn read_pointer(&self) -> u32 {
        self.reads as u32 & self.wrap
    }

    fn depth(&self) -> u32 {
        self.wrap / 2 + 1
    }

    /// The pointer, with its wrap bit, from which the output register was last loaded.
    #[inline]
    pub fn output_pointer(&self) -> u32 {
        self.output_pointer
    }

    /// The transaction in the output register, if any.
    #[inline]
    pub fn output(&self) -> Option<u64> {
        (self.output != 0).then_some(self.output)
    }

    /// Takes the output register's packet on a read edge.
    #[inline]
    pub fn take(&mut self) -> Option<u64> {
        let id = std::mem::take(&mut self.output);
        (id != 0).then_some(id)
    }

    /// Whether a read request would be accepted now: not empty, the output register empty, and none
    /// accepted on this edge.
    #[inline]
    pub fn can_request(&self) -> bool {
        !self.empty && self.output == 0 && !self.read_requested
    }

    /// Requests a read on a read edge; says whether it was accepted.
    #[inline]
    pub fn request(&mut self) -> bool {
        let accepted = self.can_request();
        self.read_requested |= accepted;
        accepted
    }

    /// The RAM entry a pointer addresses: the pointer without its wrap bit.
    #[inline]
    fn entry(&self, pointer: u32) -> usize {
        (pointer & (self.wrap >> 1)) as usize
    }

    /// Ends an instant: registers of each domain that has an edge take their new values.
    ///
    /// # Panics
    /// On a breach of the circuit's invariants: overwriting an unread entry, reading an invalid one,
    /// or a write or read accepted outside its domain's edge.
    #[inline]
    pub fn commit<E: CommitEvents>(&mut self, write_edge: bool, read_edge: bool, events: &mut E) -> Commit {
        match (write_edge, read_edge) {
            (true, true) => self.commit_both(events),
            (true, false) => self.commit_write_edge(events),
            (false, true) => self.commit_read_edge(events),
            (false, false) => Commit::default(),
        }
    }

    /// [`AsyncFifo::commit`] of an instant at which both domains have an edge.
    #[inline]
    pub(crate) fn commit_both<E: CommitEvents>(&mut self, events: &mut E) -> Commit {
        let (write_sample, read_sample, empty_before) = (self.write_gray, self.read_gray, self.empty);
        if self.pending != 0 {
            events.write(self.pending);
        }
        let wakes_reader = self.commit_read(write_sample, events);
        let wakes_writer = self.commit_write(read_sample, events);
        if self.empty != empty_before {
            events.empty(self.empty);
        }
        Commit { wakes_reader, wakes_writer }
    }

    /// [`AsyncFifo::commit`] of an instant at which the write domain alone has an edge.
    #[inline(always)]
    pub(crate) fn commit_write_edge<E: CommitEvents>(&mut self, events: &mut E) -> Commit {
        assert!(!self.read_requested, "a read was accepted outside a read edge");
        if self.pending != 0 {
            events.write(self.pending);
        }
        Commit { wakes_reader: false, wakes_writer: self.commit_write(self.read_gray, events) }
    }

    /// [`AsyncFifo::commit`] of an instant at which the read domain alone has an edge.
    #[inline(always)]
    pub(crate) fn commit_read_edge<E: CommitEvents>(&mut self, events: &mut E) -> Commit {
        assert!(self.pending == 0, "a write was accepted outside a write edge");
        let empty_before = self.empty;
        let wakes_reader = self.commit_read(self.write_gray, events);
        if self.empty != empty_before {
            events.empty(self.empty);
        }
        Commit { wakes_reader, wakes_writer: false }
    }

    #[inline(always)]
    fn commit_read<E: CommitEvents>(&mut self, write_sample: u32, events: &mut E) -> bool {
        let tail = self.into_read.shift(write_sample);
        if E::OBSERVED {
            let visible = from_gray(tail);
            while self.exposed != visible {
                events.visible(self.ram[self.entry(self.exposed)]);
                self.exposed = (self.exposed + 1) & self.wrap;
            }
        }
        let read = self.read_requested;
        if read {
            self.read_requested = false;
            self.calm = 0;
            let pointer = self.read_pointer();
            let entry = self.entry(pointer);
            let id = std::mem::take(&mut self.ram[entry]);
            assert!(id != 0, "a read of an invalid RAM entry");
            self.output = id;
            self.output_pointer = pointer;
            self.reads += 1;
            self.read_gray = to_gray(self.read_pointer());
            events.read(id);
            events.output(id);
        } else {
            self.calm = self.calm.wrapping_add(1);
        }
        let was_empty = std::mem::replace(&mut self.empty, self.read_gray == tail);
        read || (was_empty && !self.empty)
    }

    #[inline(always)]
    fn commit_write<E: CommitEvents>(&mut self, read_sample: u32, events: &mut E) -> bool {
        let tail = self.into_write.shift(read_sample);
        let id = self.pending;
        if id != 0 {
            self.pending = 0;
            self.calm = 0;
            let entry = self.entry(self.write_pointer());
            let old = std::mem::replace(&mut self.ram[entry], id);
            assert!(old == 0, "a write over an unread RAM entry");
            self.writes += 1;
            self.write_gray = to_gray(self.write_pointer());
            assert!(self.occupancy() <= self.depth(), "more unread entries than the RAM has");
        } else {
            self.calm = self.calm.wrapping_add(1);
        }
        let full = self.write_gray == self.full_code(tail);
        let was_full = std::mem::replace(&mut self.full, full);
        if full != was_full {
            events.full(full);
        }
        was_full && !full
    }

    /// Unread entries of the RAM.
    #[inline]
    pub fn occupancy(&self) -> u32 {
        (self.writes - self.reads) as u32
    }

    /// The write pointer's Gray code that means full, given the read pointer's: the top two bits
    /// inverted.
    #[inline]
    fn full_code(&self, read_gray: u32) -> u32 {
        read_gray ^ self.wrap ^ self.wrap >> 2
    }

    /// Whether enough commits passed without a write or a read that a look at [`AsyncFifo::at_rest`]
    /// is worth it.
    #[inline]
    pub fn is_calm(&self) -> bool {
        self.calm >= CALM_COMMITS
    }

    /// Whether a commit on any edge would change nothing, as long as nothing is written, taken or
    /// requested: all registers hold their source pointers, the flags what follows from them, and
    /// every entry was reported visible to `E`, if it looks.
    pub fn at_rest<E: CommitEvents>(&self) -> bool {
        (self.exposed == self.write_pointer() || !E::OBSERVED)
            && self.into_read.holds(self.write_gray)
            && self.into_write.holds(self.read_gray)
            && self.empty == (self.read_gray == self.write_gray)
            && self.full == (self.write_gray == self.full_code(self.read_gray))
            && self.pending == 0
            && !self.read_requested
    }

    /// RAM and output empty, no pending write, flags at rest (`!full`, `empty`), and both
    /// synchronizer tails equal to their source pointers.
    #[inline]
    pub fn drained(&self) -> bool {
        self.writes == self.reads
            && self.output == 0
            && self.pending == 0
            && !self.full
            && self.empty
            && self.into_read.tail() == self.write_gray
            && self.into_write.tail() == self.read_gray
    }

    /// Every register, for inspection between batches.
    pub fn state(&self) -> FifoState {
        FifoState {
            depth: self.depth(),
            stages: self.into_read.stages(),
            write_pointer: self.write_pointer(),
            read_pointer: self.read_pointer(),
            write_gray: self.write_gray,
            read_gray: self.read_gray,
            write_tail: self.into_read.tail(),
            read_tail: self.into_write.tail(),
            full: self.full,
            empty: self.empty,
            output: self.output(),
            occupancy: self.occupancy(),
            writes: self.writes,
            reads: self.reads,
            drained: self.drained(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Log(Vec<String>);

    impl CommitEvents for Log {
        fn write(&mut self, id: u64) {
            self.0.push(format!("write {id}"));
        }
        fn visible(&mut self, id: u64) {
            self.0.push(format!("visible {id}"));
        }
        fn read(&mut self, id: u64) {
            self.0.push(format!("read {id}"));
        }
        fn output(&mut self, id: u64) {
            self.0.push(format!("output {id}"));
        }
        fn full(&mut self, flag: bool) {
            self.0.push(format!("full {flag}"));
        }
        fn empty(&mut self, flag: bool) {
            self.0.push(format!("empty {flag}"));
        }
    }

    /// Both domains on the same edges (1 GHz, phase 0, 2 stages), as the timelines are derived.
    #[test]
    fn one_packet_crosses_on_the_derived_edges() {
        let mut fifo = AsyncFifo::new(16, 2).unwrap();
        let mut timeline = Vec::new();
        for edge in 0..7 {
            if edge == 0 {
                assert!(fifo.write(9));
                assert!(!fifo.write(10), "one packet an edge");
            }
            if let Some(id) = fifo.take() {
                timeline.push((edge, format!("take {id}")));
            }
            fifo.request();
            let mut log = Log::default();
            fifo.commit(true, true, &mut log);
            timeline.extend(log.0.into_iter().map(|event| (edge, event)));
        }
        let expected = [
            (0, "write 9"),
            (3, "visible 9"),
            (3, "empty false"),
            (4, "read 9"),
            (4, "output 9"),
            (4, "empty true"),
            (5, "take 9"),
        ];
        assert_eq!(timeline, expected.map(|(edge, event)| (edge, event.to_owned())));
    }

    #[test]
    fn full_rises_with_the_last_entry_and_falls_after_the_way_back() {
        let mut fifo = AsyncFifo::new(2, 2).unwrap();
        let (mut accepted, mut fulls) = (Vec::new(), Vec::new());
        let mut next = 1;
        for edge in 0..10 {
            if fifo.write(next) {
                accepted.push(edge);
                next += 1;
            }
            if edge == 4 {
                assert!(fifo.request());
            }
            let mut log = Log::default();
            fifo.commit(true, true, &mut log);
            fulls.extend(log.0.into_iter().filter(|e| e.starts_with("full")).map(|e| (edge, e)));
        }
        assert_eq!(accepted, [0, 1, 8]);
        let expected = [(1, "full true"), (7, "full false"), (8, "full true")];
        assert_eq!(fulls, expected.map(|(edge, event)| (edge, event.to_owned())));
    }

    #[test]
    fn drained_and_at_rest() {
        let mut fifo = AsyncFifo::new(4, 3).unwrap();
        assert!(fifo.drained() && fifo.at_rest::<Ignore>());
        fifo.write(1);
        assert!(!fifo.drained() && !fifo.at_rest::<Ignore>());
        for _ in 0..20 {
            fifo.commit(true, true, &mut Ignore);
        }
        assert!(fifo.at_rest::<Ignore>() && !fifo.drained(), "an unread entry rests but is not drained");
        assert!(fifo.request());
        fifo.commit(true, true, &mut Ignore);
        assert_eq!(fifo.take(), Some(1));
        let mut edges = 0;
        while !fifo.drained() {
            fifo.commit(true, true, &mut Ignore);
            edges += 1;
        }
        // The new read pointer needs one edge to be sampled and two more to reach the tail.
        assert_eq!(edges, 3);
        assert!(fifo.at_rest::<Ignore>(), "every register holds the new pointer, and neither flag changes");
    }

    #[test]
    fn an_entry_yet_to_be_reported_visible_is_no_rest_for_who_looks() {
        let mut fifo = AsyncFifo::new(4, 2).unwrap();
        let mut log = Log::default();
        for edge in 0..8 {
            if edge == 0 || edge == 4 {
                fifo.write(edge + 1);
            }
            fifo.commit(true, true, &mut log);
            // Every register holds the pointer after edge 6, where `empty` fell long before.
            assert_eq!(
                (fifo.at_rest::<Ignore>(), fifo.at_rest::<Log>()),
                (edge == 3 || edge >= 6, edge == 3 || edge == 7)
            );
        }
        assert_eq!(log.0, ["write 1", "visible 1", "empty false", "write 5", "visible 5"]);
    }

    #[test]
    fn refusals() {
        for depth in [0, 1, 3, 6, 1 << 31] {
            assert_eq!(AsyncFifo::new(depth, 2).unwrap_err(), CircuitError::Depth { depth: depth.into() });
        }
        for stages in [0, 1, 65] {
            assert_eq!(
                AsyncFifo::new(2, stages).unwrap_err(),
                CircuitError::Stages { stages: stages.into() }
            );
        }
    }

    #[test]
    #[should_panic(expected = "outside a write edge")]
    fn a_write_outside_its_edge_is_a_breach() {
        let mut fifo = AsyncFifo::new(2, 2).unwrap();
        fifo.write(1);
        fifo.commit(false, true, &mut Ignore);
    }
}
