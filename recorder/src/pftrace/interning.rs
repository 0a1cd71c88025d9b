//! Interned names: categories, event names, annotation names.
//!
//! The tables are fixed for a run, so ids are constants or follow from the kind table, and a state
//! packet states them all.

use clockweave_model::{KindId, KindTable, MAX_KINDS};

use crate::pftrace::ArgsEncoding;
use crate::pftrace::schema::{InternedData, InternedName};

/// Category of recorded events.
pub(crate) const CATEGORY_CLOCK: u64 = 1;
/// Category of the trace's own explanations.
pub(crate) const CATEGORY_META: u64 = 2;

/// Event names of our own; they follow the seven FIFO kinds.
pub(crate) const NAME_CLOCK_DOMAIN: u64 = 8;
pub(crate) const NAME_RUN: u64 = 9;
/// The first id of kinds from 256 on.
const FIRST_OTHER_KIND: u64 = 10;
/// Names that only some runs need come behind those of all kinds.
pub(crate) const NAME_GAP: u64 = FIRST_OTHER_KIND + MAX_KINDS as u64;

/// Names of annotations: their ids are their positions, from 1.
const ANNOTATIONS: [&str; 19] = [
    "id",
    "period_num",
    "period_den",
    "phase_num",
    "phase_den",
    "run_id",
    "tool_version",
    "view",
    "lossless",
    "unit_id",
    "fifo_id",
    "phase",
    "value",
    "ordinal",
    "local_cycle",
    "transaction_id",
    "count",
    "first_ordinal",
    "cycle",
];
/// The first ones explain the trace; the next are those of events that carry annotations; the last
/// are those of gaps.
const EXPLAINING: usize = 9;
const EXPLAINING_AND_EVENTS: usize = 16;

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
pub(crate) const COUNT: u64 = annotation(17);
pub(crate) const FIRST_ORDINAL: u64 = annotation(18);
pub(crate) const CYCLE: u64 = annotation(19);

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
pub(crate) fn tables(kinds: &KindTable, args: ArgsEncoding, lossless: bool) -> InternedData {
    let entry = |(iid, name): (u64, &str)| InternedName { iid: Some(iid), name: Some(name.to_owned()) };
    let mut names: Vec<(u64, &str)> =
        kind_names(kinds).into_iter().zip(kinds.iter().map(|(_, name)| name)).collect();
    names.extend([(NAME_CLOCK_DOMAIN, "clock.domain"), (NAME_RUN, "run")]);
    if !lossless {
        names.push((NAME_GAP, "trace.gap"));
    }
    names.sort_unstable();
    let annotations = match args {
        _ if !lossless => &ANNOTATIONS[..],
        ArgsEncoding::Debug => &ANNOTATIONS[..EXPLAINING],
        ArgsEncoding::Annotations => &ANNOTATIONS[..EXPLAINING_AND_EVENTS],
    };
    InternedData {
        event_categories: [(CATEGORY_CLOCK, "clock"), (CATEGORY_META, "meta")].map(entry).to_vec(),
        event_names: names.into_iter().map(entry).collect(),
        debug_annotation_names: (1..).zip(annotations.iter().copied()).map(entry).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_named() {
        let kinds = KindTable::new(["stall"]).unwrap();
        let tables = tables(&kinds, ArgsEncoding::Debug, false);
        let name = |iid: u64| {
            tables
                .event_names
                .iter()
                .find(|entry| entry.iid == Some(iid))
                .and_then(|entry| entry.name.clone())
        };
        assert_eq!(kind_names(&kinds), [1, 2, 3, 4, 5, 6, 7, 10, 11]);
        let listed: Vec<_> = (1..=11).map(|iid| name(iid).unwrap()).collect();
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
        let annotation =
            |iid: u64| tables.debug_annotation_names[iid as usize - 1].name.as_deref().unwrap().to_owned();
        let named = [LOSSLESS, UNIT_ID.into(), TRANSACTION_ID.into(), COUNT, CYCLE].map(annotation);
        assert_eq!(named, ["lossless", "unit_id", "transaction_id", "count", "cycle"]);
        assert_eq!(name(NAME_GAP).as_deref(), Some("trace.gap"));
    }
}
