//! Packets into blocks, blocks to the writing thread, a checkpoint now and then.
//!
//! # Invariants
//!
//! * A block never passes [`BLOCK_LIMIT`]: a packet that would pass it opens the next one.
//! * A checkpoint comes before the event that is one too many, so none ends a file. It closes the
//!   block; marker, descriptor and tracks follow outside any compressed packet.
//!
//! * A segment ends at a checkpoint, and the next one opens as any file does.
//!
//! What an event looks like is not known here.

use crate::cursor::ROOM;
use crate::directory::segment_name;
use crate::pftrace::checkpoint::{gap_packet, loss_packet};
use crate::pftrace::deflate::{Hint, SLACK};
use crate::pftrace::schema::TrackDescriptor;
use crate::pftrace::{BLOCK_LIMIT, Preamble};
use crate::sink::{Gap, SegmentTotals};
use crate::writer::{Block, FileId, Form, Outlet};

/// Bytes of a block's buffer.
pub(crate) const BLOCK_BYTES: usize = BLOCK_LIMIT + if ROOM > SLACK { ROOM } else { SLACK };

/// Blocks of packets on their way to the file.
pub(crate) struct Blocks {
    outlet: Outlet,
    file: FileId,
    form: Form,
    open: Block,
}

impl Blocks {
    pub(crate) fn new(mut outlet: Outlet, file: FileId, compressed: bool) -> Self {
        let form = if compressed { Form::Wrapped } else { Form::Plain };
        let open = outlet.block();
        Self { outlet, file, form, open }
    }

    /// The way to the writing thread.
    pub(crate) fn outlet(&self) -> &Outlet {
        &self.outlet
    }

    /// Appends packets that no compressed packet may hold.
    pub(crate) fn outside<'a>(&mut self, packets: impl IntoIterator<Item = &'a Vec<u8>>) {
        self.send();
        let form = std::mem::replace(&mut self.form, Form::Plain);
        packets.into_iter().for_each(|packet| self.append(packet));
        self.send();
        self.form = form;
    }

    /// Appends a packet that was written elsewhere.
    pub(crate) fn append(&mut self, packet: &[u8]) {
        assert!(packet.len() <= BLOCK_LIMIT, "no packet is as large as a block");
        if self.open.len + packet.len() > BLOCK_LIMIT {
            self.send();
        }
        let at = self.open.len;
        self.open.bytes[at..at + packet.len()].copy_from_slice(packet);
        self.open.len = at + packet.len();
    }

    /// Hands the block over, unless it is empty.
    pub(crate) fn send(&mut self) {
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
    pub(crate) fn flush(&mut self) {
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

/// How often something happens, in events.
#[derive(Clone, Copy)]
pub(crate) struct Cadence {
    /// Events per checkpoint.
    pub(crate) checkpoint: u64,
    /// Events per file; `None` for a single one.
    pub(crate) segment: Option<u64>,
}

/// A trace in the making.
pub(crate) struct Framing {
    blocks: Blocks,
    last_ns: i64,
    /// Events and gaps until the next checkpoint.
    remaining: u64,
    cadence: Cadence,
    /// Events and gaps until the segment ends, behind the next checkpoint.
    segment_left: u64,
    preamble: Preamble,
    /// Events and gaps of this segment up to the next checkpoint.
    planned: u64,
    gaps: u64,
    /// Events that were dropped.
    lost: u64,
    /// The segments that have ended.
    ended: Vec<SegmentTotals>,
}

impl Framing {
    /// Opens the trace.
    pub(crate) fn new(
        outlet: Outlet,
        file: FileId,
        compressed: bool,
        preamble: Preamble,
        cadence: Cadence,
    ) -> Self {
        let mut framing = Self {
            blocks: Blocks::new(outlet, file, compressed),
            last_ns: 0,
            remaining: 0,
            cadence,
            segment_left: 0,
            preamble,
            planned: 0,
            gaps: 0,
            lost: 0,
            ended: Vec::new(),
        };
        framing.open_file();
        framing
    }

    fn open_file(&mut self) {
        (self.planned, self.gaps, self.lost) = (0, 0, 0);
        self.segment_left = self.cadence.segment.unwrap_or(u64::MAX);
        self.plan();
        self.blocks.outside(&self.preamble.extension);
        self.preamble.tracks.iter().for_each(|packet| self.blocks.append(packet));
        self.blocks.append(&self.preamble.state(self.last_ns.unsigned_abs()));
        self.preamble.explanations.iter().for_each(|packet| self.blocks.append(packet));
    }

    /// Decides when the next checkpoint is due.
    fn plan(&mut self) {
        self.remaining = self.cadence.checkpoint.min(self.segment_left);
        self.segment_left -= self.remaining;
        self.planned += self.remaining;
    }

    /// Makes room for one more event at `ns`; gives the time since the last one.
    #[inline(always)]
    pub(crate) fn step(&mut self, ns: i64) -> u64 {
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
        if self.ends_segment() {
            return self.rotate();
        }
        self.plan();
        let Preamble { marker, extension, tracks, .. } = &self.preamble;
        self.blocks.outside(std::iter::once(marker).chain(extension).chain(tracks));
        self.blocks.append(&self.preamble.state(self.last_ns.unsigned_abs()));
    }

    /// Whether one more event needs another file.
    #[inline]
    pub(crate) fn ends_segment(&self) -> bool {
        self.remaining == 0 && self.segment_left == 0
    }

    /// Ends the file and opens the next one.
    pub(crate) fn rotate(&mut self) {
        self.end_file();
        let name = segment_name(self.ended.len() as u64);
        self.blocks.outlet.next_file(self.blocks.file, name);
        self.preamble.restart();
        self.open_file();
    }

    fn end_file(&mut self) {
        if self.lost > 0 {
            self.blocks.append(&loss_packet(self.lost));
        }
        self.blocks.send();
        let events = self.planned - self.remaining - self.gaps;
        self.ended.push(SegmentTotals { events, dropped: self.lost });
    }

    /// Goes on to `ns` without an event; gives the time since the last one.
    pub(crate) fn pass_to(&mut self, ns: i64) -> u64 {
        let delta = (ns - self.last_ns).unsigned_abs();
        self.last_ns = ns;
        delta
    }

    /// Where the next packet may be written; [`Framing::take`] then takes it.
    #[inline(always)]
    pub(crate) fn slot(&mut self) -> &mut [u8; ROOM] {
        let behind = &mut self.blocks.open.bytes[self.blocks.open.len..];
        behind.first_chunk_mut().expect("a block has room for a packet at its limit")
    }

    /// Takes the packet of `size` bytes that was written to the slot.
    #[inline(always)]
    pub(crate) fn take(&mut self, size: usize) {
        self.blocks.take(size);
    }

    /// Tells the compressor of the packet taken last, which has `size` bytes.
    #[inline(always)]
    pub(crate) fn hint(&mut self, size: usize, hint: Hint) {
        let block = &mut self.blocks.open;
        block.hints.push(Hint { start: (block.len - size) as u32, ..hint });
    }

    /// Appends a packet that was written elsewhere.
    pub(crate) fn append(&mut self, packet: &[u8]) {
        self.blocks.append(packet);
    }

    /// Declares a track from here on.
    pub(crate) fn add_track(&mut self, track: TrackDescriptor) {
        let packet = self.preamble.add_track(track);
        self.blocks.append(packet);
    }

    /// Writes a gap on `track`.
    pub(crate) fn gap(&mut self, ns: i64, track: u64, gap: &Gap) {
        let delta = self.step(ns);
        self.lost += gap.count;
        self.gaps += 1;
        self.blocks.append(&gap_packet(delta, track, gap));
    }

    pub(crate) fn flush(&mut self) {
        self.blocks.flush();
    }

    pub(crate) fn finish(&mut self) {
        self.end_file();
    }

    /// What the files hold, once the trace is finished.
    pub(crate) fn segments(&self) -> &[SegmentTotals] {
        &self.ended
    }

    pub(crate) fn outlet(&self) -> &Outlet {
        self.blocks.outlet()
    }
}
