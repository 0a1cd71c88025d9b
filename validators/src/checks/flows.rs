//! flows: the events of each transaction are chained in exact order, each to the next, and nothing else is.
//!
//! Exact order is exact time, then phase, then unit name, then ordinal. The expected edges are computed from the
//! imported events themselves, so events that were dropped shorten their chain and are no matter of this check. No
//! arrow leads from one file of a trace to the next.

use super::order::ExactOrder;
use crate::engine::{EngineError, Session};
use crate::report::{Check, CheckReport, Finding};

const FLOWS: &str = include_str!("../../checks/flows.sql");
const NONE: u32 = u32::MAX;

/// An edge as rows of the slice table: from, to.
pub(crate) type Edge = (u32, u32);

pub(crate) fn imported_edges(session: &mut Session) -> Result<Vec<Edge>, EngineError> {
    let mut edges = Vec::new();
    session.query("flows", FLOWS, |row| -> Result<(), EngineError> {
        let end = |column| row.int(column).map(|id| u32::try_from(id).unwrap_or(NONE));
        edges.push((end(0)?, end(1)?));
        Ok(())
    })?;
    edges.sort_unstable();
    Ok(edges)
}

pub(crate) fn check(
    order: &ExactOrder<'_>,
    (found, starts): (&[Edge], &[u32]),
    declared: Option<u64>,
    limit: usize,
) -> CheckReport {
    let events = order.events;
    let mut check = Check::new("flows", "edges", limit);
    check.rows = found.len() as u64;
    let mut expected = expected_edges(order);
    let all = expected.len();
    let file = |slice: u32| starts.partition_point(|start| *start <= slice);
    expected.retain(|(from, to)| file(*from) == file(*to));
    let across = (all - expected.len()) as u64;
    let missing = difference(&expected, found);
    let extra = difference(found, &expected);
    let name = |slice: u32| match events.slice.binary_search(&slice) {
        Ok(event) => events.label(event),
        Err(_) => format!("slice {slice}, which is no event"),
    };
    for edge in &missing {
        let reversed = extra.binary_search(&(edge.1, edge.0)).is_ok();
        check.find(|| {
            let (from, to) = (name(edge.0), name(edge.1));
            let transaction =
                events.slice.binary_search(&edge.0).map_or(0, |event| events.transaction[event]);
            let (message, hint) = if reversed {
                let message = format!(
                    "transaction {transaction}: found an arrow from {to} to {from}, expected the reverse"
                );
                (message, "events that share a nanosecond must be written in exact order")
            } else {
                let message =
                    format!("transaction {transaction}: found no arrow from {from} to {to}, expected one");
                (message, "the event lacks its flow id, or another event of the transaction came between")
            };
            Finding::new(message).hint(hint).at_slice(edge.0)
        });
    }
    for edge in extra.iter().filter(|edge| missing.binary_search(&(edge.1, edge.0)).is_err()) {
        check.find(|| {
            Finding::new(format!("found an arrow from {} to {}, expected none", name(edge.0), name(edge.1)))
                .hint("a flow id is shared by events of different transactions, or written twice")
                .at_slice(edge.0)
        });
    }
    if let Some(declared) = declared.filter(|declared| *declared != found.len() as u64 + across) {
        check.find(|| {
            let (within, expected) = (found.len(), declared.saturating_sub(across));
            Finding::new(format!("found {within} arrows, expected the {expected} of the statistics"))
                .hint("flow ids were lost or doubled on the way into the importer")
        });
    }
    check.finish()
}

fn expected_edges(exact: &ExactOrder<'_>) -> Vec<Edge> {
    let events = exact.events;
    let known = |event: &usize| events.transaction[*event] != 0 && exact.knows(*event);
    let mut order: Vec<u32> = events.complete().filter(known).map(|event| event as u32).collect();
    // Mostly in order already, which a stable sort makes use of.
    order.sort_by(|left, right| exact.compare(*left as usize, *right as usize));
    let mut chains: Vec<(u64, u32)> = order
        .iter()
        .map(|event| (events.transaction[*event as usize], events.slice[*event as usize]))
        .collect();
    drop(order);
    chains.sort_by_key(|(transaction, _)| *transaction);
    let same_transaction = |pair: &[(u64, u32)]| (pair[0].0 == pair[1].0).then_some((pair[0].1, pair[1].1));
    let mut edges: Vec<Edge> = chains.windows(2).filter_map(same_transaction).collect();
    edges.sort_unstable();
    edges
}

/// What is in `all` more often than in `known`; both ascending.
fn difference(all: &[Edge], known: &[Edge]) -> Vec<Edge> {
    let mut known = known.iter().peekable();
    let mut out = Vec::new();
    for edge in all {
        while known.next_if(|next| *next < edge).is_some() {}
        if known.next_if(|next| *next == edge).is_none() {
            out.push(*edge);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_count_repetitions() {
        let (a, b, c) = ((1, 2), (1, 3), (4, 0));
        assert_eq!(difference(&[a, b, c], &[b]), [a, c]);
        assert_eq!(difference(&[a, a, b], &[a, b]), [a]);
        assert_eq!(difference(&[a], &[a, a, c]), []);
        assert_eq!(difference(&[], &[a]), []);
    }
}
