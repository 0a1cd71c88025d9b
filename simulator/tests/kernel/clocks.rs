//! Clocks and their batches in big rationals, without any of the crate's arithmetic.

use clockweave_model::{ClockDomain, Seconds};
use num_bigint::BigUint;
use num_rational::Ratio;
use num_traits::ToPrimitive;

/// Seconds.
pub(crate) type Exact = Ratio<BigUint>;

pub(crate) fn exact(num: u64, den: u64) -> Exact {
    Ratio::new(num.into(), den.into())
}

/// Period and phase in seconds, as numerator and denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    pub(crate) period: (u64, u64),
    pub(crate) phase: (u64, u64),
}

impl Clock {
    pub(crate) fn hz(hz: u64) -> Self {
        Self { period: (1, hz), phase: (0, 1) }
    }

    pub(crate) fn mhz(mhz: u64) -> Self {
        Self::hz(mhz * 1_000_000)
    }

    pub(crate) fn late_fs(self, fs: u64) -> Self {
        Self { phase: (fs, 1_000_000_000_000_000), ..self }
    }

    pub(crate) fn late_ps(self, ps: u64) -> Self {
        self.late_fs(1000 * ps)
    }

    pub(crate) fn edge(&self, n: u64) -> Exact {
        exact(self.phase.0, self.phase.1) + exact(self.period.0, self.period.1) * BigUint::from(n)
    }

    /// The first edge strictly after `time`.
    pub(crate) fn first_after(&self, time: &Exact) -> u64 {
        self.elapsed(time).map_or(0, |periods| periods.to_integer().to_u64().unwrap() + 1)
    }

    /// The first edge at or after `time`, which is also the number of edges before it.
    pub(crate) fn edges_before(&self, time: &Exact) -> u64 {
        self.elapsed(time).map_or(0, |periods| periods.ceil().to_integer().to_u64().unwrap())
    }

    /// Periods since edge 0; `None` before it.
    fn elapsed(&self, time: &Exact) -> Option<Exact> {
        let phase = exact(self.phase.0, self.phase.1);
        (*time >= phase).then(|| (time - phase) / exact(self.period.0, self.period.1))
    }

    pub(crate) fn domain(&self, id: u32, name: &str) -> ClockDomain {
        let seconds = |(num, den)| Seconds::from_ratio(num, den).unwrap();
        ClockDomain::with_period(id, name, seconds(self.period), seconds(self.phase)).unwrap()
    }
}

/// Visits batches by comparing the next edges of all clocks.
#[derive(Clone, Debug)]
pub(crate) struct Batches {
    clocks: Vec<Clock>,
    next: Vec<Exact>,
    pub(crate) cycles: Vec<u64>,
}

impl Batches {
    pub(crate) fn new(clocks: &[Clock]) -> Self {
        Self::from(clocks, vec![0; clocks.len()])
    }

    /// With the given edges next.
    pub(crate) fn from(clocks: &[Clock], cycles: Vec<u64>) -> Self {
        let next = clocks.iter().zip(&cycles).map(|(clock, &cycle)| clock.edge(cycle)).collect();
        Self { clocks: clocks.to_vec(), next, cycles }
    }

    pub(crate) fn next_time(&self) -> Exact {
        self.next.iter().min().unwrap().clone()
    }

    /// The time of the next batch and the clocks that have an edge there, which it completes.
    pub(crate) fn advance(&mut self) -> (Exact, Vec<usize>) {
        let time = self.next_time();
        let due: Vec<usize> = (0..self.next.len()).filter(|&at| self.next[at] == time).collect();
        for &at in &due {
            self.cycles[at] += 1;
            self.next[at] = self.clocks[at].edge(self.cycles[at]);
        }
        (time, due)
    }
}
