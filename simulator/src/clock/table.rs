//! The order of a lattice's edges over one hyperperiod, batch by batch.
//!
//! # Invariants
//!
//! * An entry is the one domain of its batch, or [`TIE`] and where the list of its domains begins, a
//!   list being its length and then the domains, ascending.
//! * There is at least one entry, and `at` is the next batch's.
//!
//! The table knows neither times nor cycles.

use std::ops::ControlFlow;

const TIE: u32 = 1 << 31;
/// Entries below which the hyperperiod is repeated: the end of the table costs more than an entry.
const WORTH_A_TURN: usize = 256;

/// The domains due at one instant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Batch<'a> {
    /// One domain.
    One(u32),
    /// Several, ascending.
    Several(&'a [u32]),
}

/// The batches of one or more whole hyperperiods.
#[derive(Clone, Debug)]
pub(super) struct Table {
    entries: Vec<u32>,
    lists: Vec<u32>,
    at: usize,
}

impl Table {
    pub(super) fn with_capacity(edges: usize) -> Self {
        Self { entries: Vec::with_capacity(edges), lists: Vec::new(), at: 0 }
    }

    /// Appends a batch.
    pub(super) fn push(&mut self, due: &[u32]) {
        match *due {
            [domain] => self.entries.push(domain),
            _ => {
                self.entries.push(TIE | self.lists.len() as u32);
                self.lists.push(due.len() as u32);
                self.lists.extend_from_slice(due);
            }
        }
    }

    /// Ends construction.
    pub(super) fn finish(&mut self) {
        let turns = WORTH_A_TURN.div_ceil(self.entries.len());
        self.entries = self.entries.repeat(turns);
    }

    #[inline(always)]
    fn batch(lists: &[u32], entry: u32) -> Batch<'_> {
        if entry & TIE == 0 { Batch::One(entry) } else { Self::several(lists, entry) }
    }

    #[inline(never)]
    fn several(lists: &[u32], entry: u32) -> Batch<'_> {
        let (length, list) =
            lists[(entry & !TIE) as usize..].split_first().expect("a tie's entry says where its list begins");
        Batch::Several(&list[..*length as usize])
    }

    /// The next batch.
    #[inline(always)]
    pub(super) fn next(&self) -> Batch<'_> {
        Self::batch(&self.lists, self.entries[self.at])
    }

    /// Moves on to the batch after the next.
    #[inline(always)]
    pub(super) fn step(&mut self) {
        self.at += 1;
        if self.at == self.entries.len() {
            self.at = 0;
        }
    }

    /// Runs at most `most` batches, until `run` breaks; a batch for which it breaks with
    /// `completed` false comes again.
    #[inline(always)]
    pub(super) fn follow<B>(
        &mut self,
        most: u64,
        completed: impl Fn(&B) -> bool,
        mut run: impl FnMut(Batch<'_>) -> ControlFlow<B>,
    ) -> Option<B> {
        let mut left = most;
        while left > 0 {
            let ahead = &self.entries[self.at..];
            let ahead = &ahead[..usize::try_from(left).unwrap_or(usize::MAX).min(ahead.len())];
            for (index, &entry) in ahead.iter().enumerate() {
                if let ControlFlow::Break(answer) = run(Self::batch(&self.lists, entry)) {
                    self.at += index;
                    if completed(&answer) {
                        self.step();
                    }
                    return Some(answer);
                }
            }
            left -= ahead.len() as u64;
            self.at += ahead.len();
            if self.at == self.entries.len() {
                self.at = 0;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three batches: domain 0, domains 0 and 2 together, domain 1.
    fn table() -> Table {
        let mut table = Table::with_capacity(4);
        [&[0][..], &[0, 2], &[1]].into_iter().for_each(|due| table.push(due));
        table.finish();
        table
    }

    fn domains(batch: Batch<'_>) -> Vec<u32> {
        match batch {
            Batch::One(domain) => vec![domain],
            Batch::Several(due) => due.to_vec(),
        }
    }

    #[test]
    fn batches_come_round() {
        let expected: Vec<Vec<u32>> = [vec![0], vec![0, 2], vec![1]].into_iter().cycle().take(1000).collect();
        let mut stepped = table();
        let one_by_one: Vec<_> = (0..1000)
            .map(|_| {
                let due = domains(stepped.next());
                stepped.step();
                due
            })
            .collect();
        assert_eq!(one_by_one, expected);

        let (mut followed, mut table) = (Vec::new(), table());
        for most in [0, 1, 600, 399] {
            let ended: Option<()> = table.follow(
                most,
                |()| true,
                |batch| {
                    followed.push(domains(batch));
                    ControlFlow::Continue(())
                },
            );
            assert_eq!(ended, None);
        }
        assert_eq!(followed, expected);
    }

    #[test]
    fn a_batch_that_was_not_completed_comes_again() {
        let mut table = table();
        let mut seen = Vec::new();
        for completed in [true, false, true] {
            let mut run = 0;
            let ended = table.follow(
                10,
                |done| *done,
                |batch| {
                    run += 1;
                    seen.push(domains(batch));
                    if run == 2 { ControlFlow::Break(completed) } else { ControlFlow::Continue(()) }
                },
            );
            assert_eq!(ended, Some(completed));
        }
        let expected = [&[0][..], &[0, 2], &[1], &[0], &[0], &[0, 2]];
        assert_eq!(seen, expected);
    }
}
