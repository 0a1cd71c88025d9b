//! How many ready fair threads there are, by reach.

use crate::affinity::Reach;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) pinned: usize,
    pub(super) several: usize,
    pub(super) unrestricted: usize,
}

impl Counts {
    fn of(&mut self, reach: Reach) -> &mut usize {
        match reach {
            Reach::Pinned => &mut self.pinned,
            Reach::Several => &mut self.several,
            Reach::Unrestricted => &mut self.unrestricted,
        }
    }

    pub(super) fn add(&mut self, reach: Reach) {
        *self.of(reach) += 1;
    }

    pub(super) fn remove(&mut self, reach: Reach) {
        let count = self.of(reach);
        *count = count.checked_sub(1).expect("a thread is counted out by the reach it was counted in by");
    }

    pub(super) fn all(&self) -> usize {
        self.pinned + self.several + self.unrestricted
    }
}
