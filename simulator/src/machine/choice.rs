//! The choice stream: the only source of what differs between two runs.
//!
//! Whatever drives it, what was chosen is kept, so that any run can be replayed.

use crate::models::splitmix64;

/// Steps among which the demotions of a PCT run lie.
const PCT_HORIZON: u64 = 192;
const PCT_DEMOTIONS: usize = 3;

#[derive(Clone, Debug)]
enum Driver {
    Random(u64),
    Bytes(Vec<u8>, usize),
    /// Random priorities by CPU; now and then the highest becomes the lowest.
    Pct {
        state: u64,
        priorities: Vec<u64>,
        demotions: [u64; PCT_DEMOTIONS],
        lowest: u64,
    },
    Replay(Vec<u32>, usize),
}

/// Chooses, and remembers.
#[derive(Clone, Debug)]
pub struct Choices {
    driver: Driver,
    made: Vec<u32>,
    /// Choices before those.
    forgotten: u64,
}

impl Choices {
    fn new(driver: Driver) -> Self {
        Self { driver, made: Vec::new(), forgotten: 0 }
    }

    /// Always the first: the order of the CPUs.
    pub fn first() -> Self {
        Self::replay(Vec::new())
    }

    /// Uniform from a seed.
    pub fn random(seed: u64) -> Self {
        Self::new(Driver::Random(splitmix64(seed)))
    }

    /// From bytes, as a fuzzer gives them: one for up to 256 options, else two, the lower one first; 0
    /// behind the last.
    pub fn bytes(bytes: Vec<u8>) -> Self {
        Self::new(Driver::Bytes(bytes, 0))
    }

    /// Probabilistic concurrency testing (Burckhardt and others, 2010): each CPU has a random priority, and
    /// at three random steps the first CPU becomes the last.
    pub fn pct(seed: u64) -> Self {
        let mut state = seed;
        let demotions = std::array::from_fn(|_| {
            state = splitmix64(state);
            state % PCT_HORIZON
        });
        Self::new(Driver::Pct { state, priorities: Vec::new(), demotions, lowest: u64::MAX / 2 })
    }

    /// What was chosen in another run; 0 behind the last.
    pub fn replay(decisions: Vec<u32>) -> Self {
        Self::new(Driver::Replay(decisions, 0))
    }

    /// What was chosen so far.
    pub fn made(&self) -> &[u32] {
        &self.made
    }

    /// Forgets what was chosen so far, as a run does that is not to be replayed.
    pub(super) fn forget(&mut self) {
        self.forgotten += self.made.len() as u64;
        self.made.clear();
    }

    /// One of `n` options; `owner` tells whose each is.
    pub(super) fn choose(&mut self, n: usize, owner: impl Fn(usize) -> usize) -> usize {
        let step = self.forgotten + self.made.len() as u64;
        let chosen = match &mut self.driver {
            Driver::Random(state) => {
                *state = splitmix64(*state);
                (*state % n as u64) as usize
            }
            Driver::Bytes(bytes, at) => {
                let mut next = || {
                    let byte = bytes.get(*at).copied().unwrap_or(0);
                    *at += 1;
                    usize::from(byte)
                };
                let low = next();
                (if n > 256 { low | next() << 8 } else { low }) % n
            }
            Driver::Pct { state, priorities, demotions, lowest } => {
                let owners: Vec<usize> = (0..n).map(owner).collect();
                let most = owners.iter().max().map_or(0, |owner| owner + 1);
                while priorities.len() < most {
                    *state = splitmix64(*state);
                    priorities.push(u64::MAX / 2 + *state % (u64::MAX / 2));
                }
                let top = |priorities: &[u64]| {
                    // The first of the CPU with the highest priority.
                    (0..n).rev().max_by_key(|option| priorities[owners[*option]]).unwrap_or(0)
                };
                if demotions.contains(&step) {
                    *lowest -= 1;
                    let first = owners[top(priorities)];
                    priorities[first] = *lowest;
                }
                top(priorities)
            }
            Driver::Replay(decisions, at) => {
                let decision = decisions.get(*at).copied().unwrap_or(0);
                *at += 1;
                decision as usize % n
            }
        };
        self.made.push(chosen as u32);
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_chosen_replays() {
        for mut choices in [Choices::random(5), Choices::pct(5), Choices::bytes((0..200).collect())] {
            let options = [2, 3, 7, 300, 2, 5, 4];
            let made: Vec<usize> =
                (0..70).map(|i| choices.choose(options[i % 7], |option| option % 4)).collect();
            let mut again = Choices::replay(choices.made().to_vec());
            let replayed: Vec<usize> =
                (0..70).map(|i| again.choose(options[i % 7], |option| option)).collect();
            assert_eq!(made, replayed);
            assert!(made.iter().any(|chosen| *chosen > 0));
        }
    }

    #[test]
    fn bytes_are_decisions() {
        let mut choices = Choices::bytes(vec![5, 1, 2, 9]);
        let chosen = [3, 300, 10, 2].map(|n| choices.choose(n, |_| 0));
        // 5 mod 3, 1 + 2 · 256 mod 300, 9, and nothing left.
        assert_eq!(chosen, [2, 213, 9, 0]);
    }
}
