//! Interned names: categories, event names, annotation names.
//!
//! The tables are fixed for a run, so ids are constants or follow from the kind table, and a state
//! packet states them all.

use clockweave_model::{KindId, KindTable, MAX_KINDS};

use crate::pftrace::checkpoint::ARGUMENTS;
use crate::pftrace::schema::{InternedData, InternedName};
use crate::pftrace::{ArgsEncoding, View};

/// Category of recorded events.
pub(crate) const CATEGORY_CLOCK: u64 = 1;
/// Category of the trace's own explanations.
pub(crate) const CATEGORY_META: u64 = 2;
/// Category of the slices of FIFOs' transactions.
pub(crate) const CATEGORY_FIFO: u64 = 3;
/// Category of units' spans.
pub(crate) const CATEGORY_UNIT: u64 = 4;

/// Event names of our own; they follow the seven FIFO kinds.
pub(crate) const NAME_CLOCK_DOMAIN: u64 = 8;
pub(crate) const NAME_RUN: u64 = 9;
/// The first id of kinds from 256 on.
const FIRST_OTHER_KIND: u64 = 10;
/// Names that only some runs need come behind those of all kinds.
pub(crate) const NAME_GAP: u64 = FIRST_OTHER_KIND + MAX_KINDS as u64;
pub(crate) const NAME_TRANSACTION: u64 = NAME_GAP + 1;
pub(crate) const NAME_END: u64 = NAME_GAP + 2;

/// Names of annotations that explain the trace: their ids are their positions, from 1.
const EXPLAINING: [&str; 9] = [
    "id",
    "period_num",
    "period_den",
    "phase_num",
    "phase_den",
    "run_id",
    "tool_version",
    "view",
    "lossless",
];
/// Id of the first argument of events, where they are annotations; the others follow.
pub(crate) const FIRST_ARGUMENT: u64 = EXPLAINING.len() as u64 + 1;
/// Names of the annotations of gaps, and the id of the first.
const OF_GAPS: [&str; 4] = ["count", "first_ordinal", "cycle", "phase"];
const FIRST_OF_GAPS: u64 = FIRST_ARGUMENT + ARGUMENTS.len() as u64;

/// Id of an annotation name.
pub(crate) const fn annotation(position: u8) -> u64 {
    position as u64
}

pub(crate) const ID: u64 = annotation(1);
pub(crate) const PERIOD_NUM: u64 = annotation(2);
pub(crate) const PERIOD_DEN: u64 = annotation(3);
pub(crate) const PHASE_NUM: u64 = annotation(4);
pub(crate) const PHASE_DEN: u64 = annotation(5);
pub(crate) const RUN_ID: u64 = annotation(6);
pub(crate) const TOOL_VERSION: u64 = annotation(7);
pub(crate) const VIEW: u64 = annotation(8);
pub(crate) const LOSSLESS: u64 = annotation(9);
pub(crate) const UNIT_ID: u8 = 10;
pub(crate) const FIFO_ID: u8 = 11;
pub(crate) const PHASE: u8 = 12;
pub(crate) const VALUE: u8 = 13;
pub(crate) const ORDINAL: u8 = 14;
pub(crate) const LOCAL_CYCLE: u8 = 15;
pub(crate) const TRANSACTION_ID: u8 = 16;
/// Ids of what gaps say, in order.
pub(crate) const GAP: [u64; 4] = [FIRST_OF_GAPS, FIRST_OF_GAPS + 1, FIRST_OF_GAPS + 2, FIRST_OF_GAPS + 3];

/// Event name ids by kind, in the kind table's order.
pub(crate) fn kind_names(kinds: &KindTable) -> Vec<u64> {
    kinds
        .iter()
        .map(|(kind, _)| {
            if kind < KindId::USER {
                kind.0.into()
            } else {
                FIRST_OTHER_KIND + u64::from(kind.0 - KindId::USER.0)
            }
        })
        .collect()
}

/// The tables as a state packet states them.
pub(crate) fn tables(kinds: &KindTable, args: ArgsEncoding, view: View, lossless: bool) -> InternedData {
    let entry = |(iid, name): (u64, &str)| InternedName { iid: Some(iid), name: Some(name.to_owned()) };
    let mut names: Vec<(u64, &str)> =
        kind_names(kinds).into_iter().zip(kinds.iter().map(|(_, name)| name)).collect();
    names.extend([(NAME_CLOCK_DOMAIN, "clock.domain"), (NAME_RUN, "run")]);
    let mut categories = vec![(CATEGORY_CLOCK, "clock"), (CATEGORY_META, "meta")];
    let mut annotations: Vec<(u64, &str)> = (1..).zip(EXPLAINING).collect();
    if args == ArgsEncoding::Annotations {
        annotations.extend((FIRST_ARGUMENT..).zip(view.arguments().iter().map(|(name, _)| *name)));
    }
    if view == View::Full {
        names.extend([(NAME_TRANSACTION, "transaction"), (NAME_END, "trace.end")]);
        categories.extend([(CATEGORY_FIFO, "fifo"), (CATEGORY_UNIT, "unit")]);
    }
    if !lossless {
        names.push((NAME_GAP, "trace.gap"));
        annotations.extend((FIRST_OF_GAPS..).zip(OF_GAPS));
    }
    names.sort_unstable();
    InternedData {
        event_categories: categories.into_iter().map(entry).collect(),
        event_names: names.into_iter().map(entry).collect(),
        debug_annotation_names: annotations.into_iter().map(entry).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_named() {
        let kinds = KindTable::new(["stall"]).unwrap();
        let tables = tables(&kinds, ArgsEncoding::Annotations, View::Full, false);
        let find = |entries: &[InternedName], iid: u64| {
            let mut of_id = entries.iter().filter(|entry| entry.iid == Some(iid));
            let name = of_id.next().unwrap().name.clone().unwrap();
            assert!(of_id.next().is_none(), "{iid} is one name");
            name
        };
        let name = |iid: u64| find(&tables.event_names, iid);
        assert_eq!(kind_names(&kinds), [1, 2, 3, 4, 5, 6, 7, 10, 11]);
        let listed: Vec<_> = (1..=11).map(name).collect();
        assert_eq!(
            listed,
            [
                "fifo.write",
                "fifo.visible",
                "fifo.read",
                "fifo.output",
                "fifo.consume",
                "fifo.full",
                "fifo.empty",
                "clock.domain",
                "run",
                "user",
                "stall"
            ]
        );
        assert_eq!(
            [NAME_GAP, NAME_TRANSACTION, NAME_END].map(name),
            ["trace.gap", "transaction", "trace.end"]
        );
        let annotation = |iid: u64| find(&tables.debug_annotation_names, iid);
        let ids = [LOSSLESS, UNIT_ID.into(), TRANSACTION_ID.into(), FIRST_ARGUMENT + 9].map(annotation);
        assert_eq!(ids, ["lossless", "unit_id", "transaction_id", "time_den"]);
        assert_eq!(GAP.map(annotation), ["count", "first_ordinal", "cycle", "phase"]);
    }
}
