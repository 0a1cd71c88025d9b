//! How long threads were ready before they ran, by why they were.

/// Why a thread was ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// It was woken.
    Woken,
    /// It ran, and others went first.
    Preempted,
    /// It was started.
    Fresh,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Woken, Self::Preempted, Self::Fresh];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Woken => "woken",
            Self::Preempted => "preempted",
            Self::Fresh => "fresh",
        }
    }
}

/// Waits of one cause, in nanoseconds, without a list of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// How many.
    pub count: u64,
    /// All together.
    pub sum: u64,
    /// The longest.
    pub longest: u64,
    /// The longest but one.
    pub second: u64,
}

impl Waits {
    pub(super) fn add(&mut self, ns: u64) {
        self.add_all(&Self { count: 1, sum: ns, longest: ns, second: 0 });
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        let least = self.longest.min(other.longest);
        self.second = least.max(self.second).max(other.second);
        self.longest = self.longest.max(other.longest);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::choice::Choices;
    use super::super::events::Machine;
    use super::super::happening::{Happening, Why};
    use super::super::recorded::RECORDED;
    use super::super::variant::Variant;
    use super::*;

    /// What happened tells the same waits: from being woken, started or made to stop until the next switch to the
    /// thread. One that is picked again at once is told no switch, and waits for nothing.
    #[test]
    fn waits_are_those_of_what_happened() {
        let mut causes = [0; Cause::ALL.len()];
        for recorded in RECORDED {
            let mut machine = Machine::new((recorded.build)(), Variant::Sound).unwrap();
            machine.observe();
            let mut choices = Choices::first();
            while machine.next_time().is_some_and(|at| at < 50_000_000) && machine.step(&mut choices) {}
            let mut ready: BTreeMap<usize, (u64, Cause)> = BTreeMap::new();
            let mut told = [Waits::default(); Cause::ALL.len()];
            for happened in machine.take_log() {
                match happened.what {
                    // What another CPU is told of is shown a nanosecond late.
                    Happening::Waking { thread, target, .. } => {
                        let at = happened.ns - u64::from(target != happened.cpu);
                        ready.insert(thread, (at, Cause::Woken));
                    }
                    Happening::Spawned { thread, .. } => {
                        ready.insert(thread, (happened.ns - 1, Cause::Fresh));
                    }
                    Happening::Switch { from, to } => {
                        if let Some((thread, Why::Preempted | Why::Yielded)) = from {
                            ready.insert(thread, (happened.ns, Cause::Preempted));
                        }
                        if let Some((since, cause)) = to.and_then(|(thread, _)| ready.remove(&thread)) {
                            told[cause as usize].add(happened.ns - since);
                        }
                    }
                    _ => {}
                }
            }
            for (cause, (told, counted)) in told.iter().zip(&machine.waits).enumerate() {
                assert_eq!(
                    (told.sum, told.longest),
                    (counted.sum, counted.longest),
                    "{}: {cause}",
                    recorded.name
                );
                assert!(told.count <= counted.count, "{}: {cause}", recorded.name);
                causes[cause] += told.count;
            }
        }
        assert!(causes.iter().all(|count| *count > 0), "{causes:?}");
    }

    #[test]
    fn the_two_longest_are_known_however_waits_are_gathered() {
        let mut all = Waits::default();
        [5, 9, 3, 9].into_iter().for_each(|ns| all.add(ns));
        assert_eq!(all, Waits { count: 4, sum: 26, longest: 9, second: 9 });
        let (mut some, mut others) = (Waits::default(), Waits::default());
        [5, 2].into_iter().for_each(|ns| some.add(ns));
        [7, 6].into_iter().for_each(|ns| others.add(ns));
        some.add_all(&others);
        assert_eq!(some, Waits { count: 4, sum: 20, longest: 7, second: 6 });
    }
}
