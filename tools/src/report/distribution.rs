//! What is told of many samples: ends, mean, quantiles, histogram.
//!
//! The q-quantile of n samples is by nearest rank: the ⌈q·n⌉-th smallest, so it is always one of the samples.
//! A histogram has bins of one width, which is the least of 1, 2, 5, 10, 20, 50, … femtoseconds (or edges) that makes
//! [`BINS`] or fewer; bin k holds the samples from k widths on, up to but without k + 1 widths.

use num_bigint::BigUint;
use num_integer::Integer;
use num_rational::Ratio;
use serde::Serialize;

use super::exact::{Figure, Ticks, Unit, wide};
use super::tally::Extent;

/// Most bins of a histogram.
pub const BINS: usize = 20;
const FS_PER_S: u64 = 1_000_000_000_000_000;

/// Samples in a range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bin {
    /// Where it begins.
    pub from: Figure,
    /// Where it ends; that itself is in the next bin.
    pub to: Figure,
    /// Samples in it.
    pub count: u64,
}

/// What is told of many samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Distribution {
    /// Samples.
    pub count: u64,
    /// The least.
    pub min: Figure,
    /// Their sum over their number.
    pub mean: Figure,
    /// The 1/2-quantile.
    pub median: Figure,
    /// The 9/10-quantile.
    pub p90: Figure,
    /// The 99/100-quantile.
    pub p99: Figure,
    /// The greatest.
    pub max: Figure,
    /// From the first bin with a sample to the last one.
    pub histogram: Vec<Bin>,
}

impl Distribution {
    /// The figures by name.
    pub fn figures(&self) -> [(&'static str, &Figure); 6] {
        [
            ("min", &self.min),
            ("mean", &self.mean),
            ("median", &self.median),
            ("p90", &self.p90),
            ("p99", &self.p99),
            ("max", &self.max),
        ]
    }

    /// Edges as the time that they take, of a clock of this period.
    pub(crate) fn of_period(&self, period: Ratio<u64>) -> Self {
        let period = wide(period);
        let time = |figure: &Figure| Figure::new(Unit::Seconds, &figure.value * &period);
        let bin = |bin: &Bin| Bin { from: time(&bin.from), to: time(&bin.to), count: bin.count };
        Self {
            count: self.count,
            min: time(&self.min),
            mean: time(&self.mean),
            median: time(&self.median),
            p90: time(&self.p90),
            p99: time(&self.p99),
            max: time(&self.max),
            histogram: self.histogram.iter().map(bin).collect(),
        }
    }
}

/// Makes a [`Distribution`] of its distinct values, taken in ascending order.
#[derive(Debug)]
pub(crate) struct Summary {
    unit: Unit,
    /// Ticks per second, or 1 for edges.
    scale: BigUint,
    extent: Extent,
    seen: u64,
    sum: BigUint,
    /// Rank and value of each quantile.
    quantiles: [(u64, Ticks); 3],
    /// Width of a bin in finest bins, per [`Unit::Seconds`] femtoseconds and else edges.
    width: BigUint,
    /// Number of the first bin.
    first: BigUint,
    bins: Vec<u64>,
}

/// ⌈count · num / den⌉, at least 1.
fn rank(count: u64, num: u64, den: u64) -> u64 {
    let rank = (u128::from(count) * u128::from(num)).div_ceil(den.into());
    u64::try_from(rank).expect("a rank is at most the number of samples").max(1)
}

impl Summary {
    /// `unit` is seconds, in ticks of which `scale` make one, or edges.
    pub(crate) fn new(unit: Unit, scale: &BigUint, extent: Extent) -> Self {
        let ranks = [(1, 2), (9, 10), (99, 100)].map(|(num, den)| rank(extent.count, num, den));
        let mut summary = Self {
            unit,
            scale: scale.clone(),
            extent,
            seen: 0,
            sum: BigUint::ZERO,
            quantiles: ranks.map(|rank| (rank, Ticks::default())),
            width: BigUint::from(1u32),
            first: BigUint::ZERO,
            bins: Vec::new(),
        };
        let count = summary.widen();
        summary.bins = vec![0; count];
        summary
    }

    /// Chooses width and first bin; returns the number of bins.
    fn widen(&mut self) -> usize {
        let mut power = BigUint::from(1u32);
        loop {
            for step in [1u32, 2, 5] {
                self.width = &power * step;
                self.first = self.bin(self.extent.min);
                let count = self.bin(self.extent.max) - &self.first + 1u32;
                if let Some(count) = usize::try_from(count).ok().filter(|count| *count <= BINS) {
                    return count;
                }
            }
            power *= 10u32;
        }
    }

    fn finest(&self) -> u64 {
        if self.unit == Unit::Seconds { FS_PER_S } else { 1 }
    }

    fn bin(&self, value: Ticks) -> BigUint {
        (value.to_big() * self.finest()).div_floor(&(&self.scale * &self.width))
    }

    /// Takes the next greater value, which occurred `count` times.
    pub(crate) fn push(&mut self, value: Ticks, count: u64) {
        self.sum += value.to_big() * count;
        let before = self.seen;
        self.seen += count;
        for (rank, quantile) in &mut self.quantiles {
            if *rank > before && *rank <= self.seen {
                *quantile = value;
            }
        }
        let bin = usize::try_from(self.bin(value) - &self.first).unwrap_or(usize::MAX);
        if let Some(bin) = self.bins.get_mut(bin) {
            *bin += count;
        }
    }

    /// The distribution, if there was any sample.
    pub(crate) fn finish(self) -> Option<Distribution> {
        if self.seen == 0 {
            return None;
        }
        let figure = |value: BigUint| Figure::new(self.unit, Ratio::new(value, self.scale.clone()));
        let [median, p90, p99] = self.quantiles.map(|(_, value)| figure(value.to_big()));
        let edge = |bin: &BigUint| {
            let value = Ratio::new(bin * &self.width, BigUint::from(self.finest()));
            Figure::new(self.unit, value)
        };
        let mut histogram = Vec::with_capacity(self.bins.len());
        for (at, count) in self.bins.iter().enumerate() {
            let bin = &self.first + at;
            histogram.push(Bin { from: edge(&bin), to: edge(&(bin + 1u32)), count: *count });
        }
        Some(Distribution {
            count: self.seen,
            min: figure(self.extent.min.to_big()),
            mean: Figure::new(self.unit, Ratio::new(self.sum.clone(), &self.scale * self.seen)),
            median,
            p90,
            p99,
            max: figure(self.extent.max.to_big()),
            histogram,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(unit: Unit, scale: u64, values: &[u64]) -> Distribution {
        let extent = Extent {
            count: values.len() as u64,
            min: values[0].into(),
            max: values[values.len() - 1].into(),
        };
        let mut summary = Summary::new(unit, &scale.into(), extent);
        values.chunk_by(|a, b| a == b).for_each(|same| summary.push(same[0].into(), same.len() as u64));
        summary.finish().unwrap()
    }

    fn values(found: &Distribution) -> Vec<String> {
        found.figures().iter().map(|(_, figure)| figure.value.to_string()).collect()
    }

    #[test]
    fn quantiles_are_by_nearest_rank() {
        let one = of(Unit::Edges, 1, &[7]);
        assert_eq!(values(&one), ["7", "7", "7", "7", "7", "7"]);
        // Ranks 2, 4 and 4 of four samples; sum 22.
        assert_eq!(values(&of(Unit::Edges, 1, &[1, 2, 9, 10])), ["1", "11/2", "2", "10", "10", "10"]);
        // Ranks 50, 90 and 99 of a hundred samples.
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!(values(&of(Unit::Edges, 1, &hundred)), ["1", "101/2", "50", "90", "99", "100"]);
        // Rank 100 of 101, the last but one.
        let more: Vec<u64> = (1..=101).collect();
        assert_eq!(values(&of(Unit::Edges, 1, &more))[4], "100");
    }

    #[test]
    fn bins_are_of_the_least_width_that_suffices() {
        let bins = |found: &Distribution| -> Vec<(String, u64)> {
            found.histogram.iter().map(|bin| (bin.from.value.to_string(), bin.count)).collect()
        };
        let narrow = of(Unit::Edges, 1, &[5, 5, 6, 8]);
        let expected = [("5", 2), ("6", 1), ("7", 0), ("8", 1)].map(|(from, count)| (from.to_owned(), count));
        assert_eq!(bins(&narrow), expected);
        assert_eq!(narrow.histogram[3].to.value.to_string(), "9");
        // From 5 to 24 there are twenty of width 1, from 5 to 25 eleven of width 2, from 4 on.
        assert_eq!(of(Unit::Edges, 1, &[5, 24]).histogram.len(), 20);
        let wider = of(Unit::Edges, 1, &[5, 25]);
        assert_eq!((wider.histogram.len(), wider.histogram[0].from.value.to_string()), (11, "4".to_owned()));
        // A third of a nanosecond is 333,333 1/3 fs; two of them are alone in bins of 20 ps, 17 apart.
        let time = of(Unit::Seconds, 3_000_000_000, &[1, 2]);
        assert_eq!(time.histogram.len(), 18);
        assert_eq!(time.histogram[0].from.value.to_string(), "1/3125000000");
        assert_eq!(time.histogram[0].from.decimal(12), "0.000000000320");
        assert_eq!(time.histogram.iter().map(|bin| bin.count).collect::<Vec<_>>()[17], 1);
    }

    #[test]
    fn edges_become_times_by_the_period() {
        let edges = of(Unit::Edges, 1, &[1, 3]);
        let time = edges.of_period(Ratio::new(1, 4));
        assert_eq!(values(&time), ["1/4", "1/2", "1/4", "3/4", "3/4", "3/4"]);
        assert_eq!((time.max.unit, time.histogram.len()), (Unit::Seconds, 3));
    }
}
