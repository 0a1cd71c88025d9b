//! An independent model of the clock-crossing FIFO: pointers that never wrap, synchronizers and packets
//! in deques. It shares no code and no type with the circuit.

use std::collections::VecDeque;

/// One recorded effect of a commit, in the specified order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Write(u64),
    Visible(u64),
    Read(u64),
    Output(u64),
    Full(bool),
    Empty(bool),
}

#[derive(Clone, Debug)]
pub(crate) struct Reference {
    depth: u64,
    /// Packets written and read since the start.
    pub(crate) written: u64,
    pub(crate) read: u64,
    /// Synchronizers, oldest sample first.
    into_read: VecDeque<u64>,
    into_write: VecDeque<u64>,
    stored: VecDeque<u64>,
    /// Stored packets that no synchronizer tail has shown yet.
    hidden: VecDeque<u64>,
    shown: u64,
    pub(crate) output: Option<u64>,
    offered: Option<u64>,
    requested: bool,
    pub(crate) full: bool,
    pub(crate) empty: bool,
}

impl Reference {
    pub(crate) fn new(depth: u64, stages: usize) -> Self {
        Self {
            depth,
            written: 0,
            read: 0,
            into_read: VecDeque::from(vec![0; stages]),
            into_write: VecDeque::from(vec![0; stages]),
            stored: VecDeque::new(),
            hidden: VecDeque::new(),
            shown: 0,
            output: None,
            offered: None,
            requested: false,
            full: false,
            empty: true,
        }
    }

    pub(crate) fn write(&mut self, id: u64) -> bool {
        if self.full || self.offered.is_some() {
            return false;
        }
        self.offered = Some(id);
        true
    }

    pub(crate) fn take(&mut self) -> Option<u64> {
        self.output.take()
    }

    pub(crate) fn request(&mut self) -> bool {
        if self.empty || self.requested || self.output.is_some() {
            return false;
        }
        self.requested = true;
        true
    }

    /// Both edges sample the pointers as they were before the instant.
    pub(crate) fn commit(&mut self, write_edge: bool, read_edge: bool) -> Vec<Effect> {
        let (written, read) = (self.written, self.read);
        let (full, empty) = (self.full, self.empty);
        let mut effects: Vec<Effect> = self.offered.map(Effect::Write).into_iter().collect();
        if read_edge {
            let tail = self.into_read.pop_front().unwrap();
            self.into_read.push_back(written);
            while self.shown < tail {
                effects.push(Effect::Visible(self.hidden.pop_front().unwrap()));
                self.shown += 1;
            }
            if self.requested {
                let id = self.stored.pop_front().unwrap();
                self.output = Some(id);
                self.read += 1;
                effects.extend([Effect::Read(id), Effect::Output(id)]);
            }
            self.empty = tail == self.read;
        }
        if write_edge {
            let tail = self.into_write.pop_front().unwrap();
            self.into_write.push_back(read);
            if let Some(id) = self.offered {
                self.stored.push_back(id);
                self.hidden.push_back(id);
                self.written += 1;
            }
            self.full = self.written - tail == self.depth;
        }
        (self.offered, self.requested) = (None, false);
        if self.full != full {
            effects.push(Effect::Full(self.full));
        }
        if self.empty != empty {
            effects.push(Effect::Empty(self.empty));
        }
        effects
    }

    pub(crate) fn occupancy(&self) -> u64 {
        self.stored.len() as u64
    }

    /// The next value of each synchronizer's output: write counter in the read domain, read counter in
    /// the write domain.
    pub(crate) fn tails(&self) -> (u64, u64) {
        (self.into_read[0], self.into_write[0])
    }

    pub(crate) fn drained(&self) -> bool {
        self.stored.is_empty()
            && self.output.is_none()
            && self.offered.is_none()
            && !self.full
            && self.empty
            && self.tails() == (self.written, self.read)
    }

    /// Whether no edge changes anything any more, if nothing is written, taken or requested.
    pub(crate) fn at_rest(&self) -> bool {
        self.offered.is_none()
            && !self.requested
            && self.hidden.is_empty()
            && self.into_read.iter().all(|&sample| sample == self.written)
            && self.into_write.iter().all(|&sample| sample == self.read)
            && self.empty == (self.written == self.read)
            && self.full == (self.written - self.read == self.depth)
    }

    /// A counter as a pointer with one wrap bit.
    pub(crate) fn pointer(&self, counter: u64) -> u64 {
        counter % (2 * self.depth)
    }
}
