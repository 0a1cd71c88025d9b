//! Which events of a run are wanted, decided from numbers alone.

use super::reader::Entry;

/// The wanted events of one run. A gap is wanted where its unit and time are: what was lost there may
/// have been anything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    /// First cycle and the one after the last, by domain index; empty for all.
    pub(crate) cycles: Vec<(u64, u64)>,
    /// By unit index; empty for all.
    pub(crate) units: Vec<bool>,
    /// By event index; empty for all.
    pub(crate) events: Vec<bool>,
    /// The one transaction, if only one is wanted.
    pub(crate) transaction: Option<u64>,
    /// Something is not wanted.
    pub(crate) narrows: bool,
}

impl Selection {
    /// Whether an event of the domain with index `domain` is wanted.
    #[inline]
    pub(crate) fn takes(&self, domain: u32, entry: &Entry) -> bool {
        !self.narrows || self.takes_narrowly(domain, entry)
    }

    fn takes_narrowly(&self, domain: u32, entry: &Entry) -> bool {
        let cycle = entry.fields.cycle;
        if self.cycles.get(domain as usize).is_some_and(|(first, end)| cycle < *first || cycle >= *end) {
            return false;
        }
        if self.units.get(entry.unit as usize).is_some_and(|wanted| !wanted) {
            return false;
        }
        entry.lost > 0
            || (self.events.get(entry.event as usize).is_none_or(|wanted| *wanted)
                && self.transaction.is_none_or(|wanted| wanted == entry.fields.transaction))
    }
}
