//! Events into blocks, blocks to the writing thread, a checkpoint now and then.
//!
//! # Invariants
//!
//! * A block never passes [`BLOCK_LIMIT`]: a packet that would pass it opens the next one.
//! * A checkpoint comes before the event that is one too many, so none ends a file. It closes the
//!   block; marker, descriptor and tracks follow outside any compressed packet.

use std::marker::PhantomData;

use crate::cursor::ROOM;
use crate::pftrace::checkpoint::{gap_packet, loss_packet};
use crate::pftrace::deflate::{self, Hint, SLACK};
use crate::pftrace::event::{self, Arguments, KindTemplate, UnitTemplate};
use crate::pftrace::{BLOCK_LIMIT, Preamble};
use crate::sink::{Event, Gap, Sink};
use crate::writer::{Block, FileId, Form, Outlet};

/// Bytes of a block's buffer.
pub(crate) const BLOCK_BYTES: usize = BLOCK_LIMIT + if ROOM > SLACK { ROOM } else { SLACK };

/// Blocks of packets on their way to the file.
struct Blocks {
    outlet: Outlet,
    file: FileId,
    form: Form,
    open: Block,
}

impl Blocks {
    /// Appends packets that no compressed packet may hold.
    fn outside<'a>(&mut self, packets: impl IntoIterator<Item = &'a Vec<u8>>) {
        self.send();
        let form = std::mem::replace(&mut self.form, Form::Plain);
        packets.into_iter().for_each(|packet| self.append(packet));
        self.send();
        self.form = form;
    }

    fn append(&mut self, packet: &[u8]) {
        assert!(packet.len() <= BLOCK_LIMIT, "no packet is as large as a block");
        if self.open.len + packet.len() > BLOCK_LIMIT {
            self.send();
        }
        let at = self.open.len;
        self.open.bytes[at..at + packet.len()].copy_from_slice(packet);
        self.open.len = at + packet.len();
    }

    /// Hands the block over, unless it is empty.
    fn send(&mut self) {
        if self.open.len > 0 {
            let full = std::mem::replace(&mut self.open, self.outlet.block());
            self.outlet.send(self.file, self.form, full);
        }
    }

    /// Takes the packet of `size` bytes that was written behind the last one.
    #[inline]
    fn take(&mut self, size: usize) {
        if self.open.len + size > BLOCK_LIMIT {
            self.spill(size);
        } else {
            self.open.len += size;
        }
    }

    /// Moves a packet that would pass the limit to the next block.
    #[cold]
    fn spill(&mut self, size: usize) {
        let mut next = self.outlet.block();
        let at = self.open.len;
        next.bytes[..size].copy_from_slice(&self.open.bytes[at..at + size]);
        next.len = size;
        let full = std::mem::replace(&mut self.open, next);
        self.outlet.send(self.file, self.form, full);
    }

    /// Makes the open block reach the file, to be replaced when it is complete.
    fn flush(&mut self) {
        if self.open.len == 0 {
            return;
        }
        if self.form == Form::Plain {
            return self.send();
        }
        let mut copy = self.outlet.block();
        copy.bytes[..self.open.len].copy_from_slice(self.open.filled());
        copy.len = self.open.len;
        self.outlet.send(self.file, Form::Provisional, copy);
    }
}

/// Writes the trace.
pub(crate) struct TraceSink<A> {
    blocks: Blocks,
    kinds: Box<[KindTemplate]>,
    units: Box<[UnitTemplate]>,
    /// Tracks by unit.
    tracks: Box<[u64]>,
    /// Events that were dropped.
    lost: u64,
    last_ns: i64,
    /// Events per checkpoint, and until the next.
    interval: u64,
    remaining: u64,
    preamble: Preamble,
    arguments: PhantomData<A>,
}

impl<A: Arguments> TraceSink<A> {
    /// Opens the trace. `kinds` are the interned names by kind, `units` pairs of track and unit id.
    pub(crate) fn new(
        mut outlet: Outlet,
        file: FileId,
        compressed: bool,
        mut preamble: Preamble,
        interval: u64,
        kinds: &[u64],
        units: impl Iterator<Item = (u64, u64)>,
    ) -> Self {
        let form = if compressed { Form::Wrapped } else { Form::Plain };
        let open = outlet.block();
        let mut blocks = Blocks { outlet, file, form, open };
        blocks.outside(&preamble.extension);
        preamble.tracks.iter().for_each(|packet| blocks.append(packet));
        blocks.append(&preamble.state(0));
        preamble.explanations.iter().for_each(|packet| blocks.append(packet));
        let units: Vec<(u64, u64)> = units.collect();
        Self {
            blocks,
            kinds: kinds.iter().map(|name| KindTemplate::new(*name)).collect(),
            units: units.iter().map(|(track, id)| A::template(*track, *id)).collect(),
            tracks: units.iter().map(|(track, _)| *track).collect(),
            lost: 0,
            last_ns: 0,
            interval,
            remaining: interval,
            preamble,
            arguments: PhantomData,
        }
    }

    /// Makes room for one more event at `ns`; gives the time since the last one.
    #[inline(always)]
    fn step(&mut self, ns: i64) -> u64 {
        if self.remaining == 0 {
            self.checkpoint();
        }
        self.remaining -= 1;
        let delta = (ns - self.last_ns).unsigned_abs();
        self.last_ns = ns;
        delta
    }

    #[cold]
    fn checkpoint(&mut self) {
        self.remaining = self.interval;
        let Preamble { marker, extension, tracks, .. } = &self.preamble;
        self.blocks.outside(std::iter::once(marker).chain(extension).chain(tracks));
        self.blocks.append(&self.preamble.state(self.last_ns.unsigned_abs()));
    }
}

impl<A: Arguments> Sink for TraceSink<A> {
    #[inline(always)]
    fn event(&mut self, ns: i64, event: &Event<'_>) {
        let delta = self.step(ns);
        let behind = &mut self.blocks.open.bytes[self.blocks.open.len..];
        let slot = behind.first_chunk_mut().expect("a block has room for a packet at its limit");
        let (kind, unit) = (&self.kinds[event.kind], &self.units[event.unit]);
        let (size, marks) = event::put::<A>(slot, delta, kind, unit, event.record, event.ordinal);
        self.blocks.take(size);
        if A::HINTS {
            let head = delta << 48 ^ (event.kind as u64) << 32 ^ event.unit as u64 ^ event.record.value << 16;
            let block = &mut self.blocks.open;
            block.hints.push(Hint {
                start: (block.len - size) as u32,
                head: deflate::key(head),
                unit: deflate::key(event.unit as u64),
                transaction: deflate::key(event.record.transaction),
                ordinal_at: marks.ordinal,
                transaction_at: marks.transaction,
            });
        }
    }

    fn gap(&mut self, ns: i64, gap: &Gap) {
        let delta = self.step(ns);
        self.lost += gap.count;
        self.blocks.append(&gap_packet(delta, self.tracks[gap.unit], gap));
    }

    fn flush(&mut self) {
        self.blocks.flush();
    }

    fn finish(&mut self) {
        if self.lost > 0 {
            self.blocks.append(&loss_packet(self.lost));
        }
        self.blocks.send();
    }

    fn outlets(&self) -> impl Iterator<Item = &Outlet> {
        std::iter::once(&self.blocks.outlet)
    }
}
