//! The workloads, and their outcomes computed without any simulator.
//!
//! FIFOs are modelled by unwrapped counters and queues, time by whole numbers of a unit that divides
//! all periods and phases, the next instant by a search over all domains.

use std::collections::VecDeque;

use crate::outcome::{MULTIPLIER, Outcome, fold};

/// Entries of every FIFO.
pub const DEPTH: u64 = 16;
/// Registers of every synchronizer.
pub const STAGES: usize = 2;

/// The clocks of `fifo` in MHz, and the phase of the second in ps.
pub const WRITE_MHZ: u64 = 914;
/// See [`WRITE_MHZ`].
pub const READ_MHZ: u64 = 1326;
/// See [`WRITE_MHZ`].
pub const READ_PHASE_PS: u64 = 137;

/// What is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// One FIFO from 914 MHz to 1326 MHz + 137 ps; both sides busy on every edge.
    Fifo,
    /// The two clocks of `fifo` with one busy unit each.
    Calendar,
    /// Two busy units in one domain.
    Single,
    /// As many domains, and half as many FIFOs between neighbours: domain i at 250 MHz * 2^(i mod 4),
    /// phase 37 ps * i.
    Pairs(u32),
}

/// A clock in whole units of time: edge n is at `phase + n * period`.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    /// Units between edges.
    pub period: u64,
    /// Time of edge 0.
    pub phase: u64,
}

/// The clocks of `fifo` in units of 1 / (914 MHz * 1326 MHz), about 0.8 as.
pub const FIFO_TICKS: [Ticks; 2] = [
    Ticks { period: READ_MHZ * 1_000_000, phase: 0 },
    Ticks { period: WRITE_MHZ * 1_000_000, phase: READ_PHASE_PS * WRITE_MHZ * READ_MHZ },
];

impl Workload {
    /// Every workload.
    pub const ALL: [Self; 6] =
        [Self::Fifo, Self::Calendar, Self::Single, Self::Pairs(8), Self::Pairs(32), Self::Pairs(64)];

    /// Its name on command lines and in tables.
    pub fn name(self) -> String {
        match self {
            Self::Fifo => "fifo".to_owned(),
            Self::Calendar => "calendar".to_owned(),
            Self::Single => "single".to_owned(),
            Self::Pairs(domains) => format!("p{}-d{domains}-w0-s1", domains / 2),
        }
    }

    /// Finds a workload by name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|workload| workload.name() == name)
    }

    /// What its readings are divided by.
    pub fn per(self, batches: u64) -> (u64, &'static str) {
        match self {
            Self::Single => (2 * batches, "unit tick"),
            Self::Calendar => (batches, "unit tick"),
            Self::Fifo | Self::Pairs(_) => (batches, "batch"),
        }
    }

    /// The outcome of `batches` batches.
    pub fn expected(self, batches: u64) -> Outcome {
        match self {
            Self::Fifo => crossing(&FIFO_TICKS, &[(0, 1)], batches),
            Self::Pairs(domains) => {
                let clock = |i: u64| Ticks { period: 4000 >> (i % 4), phase: 37 * i };
                let clocks: Vec<Ticks> = (0..u64::from(domains)).map(clock).collect();
                let pairs: Vec<_> = (0..domains as usize / 2).map(|pair| (2 * pair, 2 * pair + 1)).collect();
                crossing(&clocks, &pairs, batches)
            }
            Self::Single => busy(&[batches; 2]),
            Self::Calendar => {
                let mut cycles = [0, 0];
                order(&FIFO_TICKS, batches, |due| due.iter().for_each(|&domain| cycles[domain] += 1));
                busy(&cycles)
            }
        }
    }
}

/// Calls `batch` with the domains due at each of the first `batches` instants.
pub fn order(clocks: &[Ticks], batches: u64, mut batch: impl FnMut(&[usize])) {
    let mut next: Vec<u64> = clocks.iter().map(|clock| clock.phase).collect();
    let mut due = Vec::new();
    for _ in 0..batches {
        let now = *next.iter().min().expect("there are clocks");
        due.clear();
        due.extend((0..clocks.len()).filter(|&domain| next[domain] == now));
        batch(&due);
        due.iter().for_each(|&domain| next[domain] += clocks[domain].period);
    }
}

/// Units whose state becomes `state * MULTIPLIER + 1` with each tick, by jumping ahead.
fn busy(ticks: &[u64]) -> Outcome {
    let mut outcome = Outcome::default();
    for &ticks in ticks {
        // `x -> mul * x + add`, squared for each binary digit of the number of ticks.
        let (mut mul, mut add) = (MULTIPLIER, 1u64);
        let (mut state, mut left) = (0u64, ticks);
        while left > 0 {
            if left & 1 == 1 {
                state = state.wrapping_mul(mul).wrapping_add(add);
            }
            add = add.wrapping_mul(mul.wrapping_add(1));
            mul = mul.wrapping_mul(mul);
            left >>= 1;
        }
        outcome.add(Outcome { sent: 0, received: ticks, checksum: state });
    }
    outcome
}

/// A FIFO by unwrapped counters.
struct Counted {
    written: u64,
    read: u64,
    seen_by_reader: VecDeque<u64>,
    seen_by_writer: VecDeque<u64>,
    full: bool,
    empty: bool,
    output: Option<u64>,
    read_cycle: u64,
    outcome: Outcome,
}

impl Counted {
    fn new() -> Self {
        let zeros = VecDeque::from([0; STAGES]);
        Self {
            written: 0,
            read: 0,
            seen_by_reader: zeros.clone(),
            seen_by_writer: zeros,
            full: false,
            empty: true,
            output: None,
            read_cycle: 0,
            outcome: Outcome::default(),
        }
    }

    fn edges(&mut self, write: bool, read: bool) {
        let (written, read_before) = (self.written, self.read);
        if read {
            if let Some(value) = self.output.take() {
                self.outcome.received += 1;
                self.outcome.checksum = fold(self.outcome.checksum, value, self.read_cycle);
            }
            self.read_cycle += 1;
            if !self.empty {
                // The n-th packet carries n.
                self.read += 1;
                self.output = Some(self.read);
            }
            let tail = self.seen_by_reader.pop_back().expect("a register for each stage");
            self.empty = self.read == tail;
            self.seen_by_reader.push_front(written);
        }
        if write {
            self.written += u64::from(!self.full);
            let tail = self.seen_by_writer.pop_back().expect("a register for each stage");
            self.full = self.written - tail == DEPTH;
            self.seen_by_writer.push_front(read_before);
        }
        self.outcome.sent = self.written;
    }
}

/// FIFOs between `(writing, reading)` domains.
fn crossing(clocks: &[Ticks], pairs: &[(usize, usize)], batches: u64) -> Outcome {
    let mut fifos: Vec<Counted> = pairs.iter().map(|_| Counted::new()).collect();
    let mut pair_of = vec![0; clocks.len()];
    for (index, &(writer, reader)) in pairs.iter().enumerate() {
        (pair_of[writer], pair_of[reader]) = (index, index);
    }
    order(clocks, batches, |due| {
        let mut touched: Vec<usize> = due.iter().map(|&domain| pair_of[domain]).collect();
        touched.dedup();
        for index in touched {
            let (writer, reader) = pairs[index];
            fifos[index].edges(due.contains(&writer), due.contains(&reader));
        }
    });
    let mut outcome = Outcome::default();
    fifos.iter().for_each(|fifo| outcome.add(fifo.outcome));
    outcome
}
