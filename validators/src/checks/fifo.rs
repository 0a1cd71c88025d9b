//! fifo: what clock-crossing FIFOs do is what such a circuit can do.
//!
//! An entry is written, becomes visible to the reader through a synchronizer of N registers, is read into the output
//! register and is consumed. With k the first read edge after the write, it is visible at edge k + N at the earliest,
//! read one edge later, consumed two edges later. A write into a full memory of `depth` entries must wait until the
//! read that made room has come back through the other synchronizer: with k the first write edge after that read, it
//! is at edge k + N + 1 at the earliest.
//!
//! Depth, N and the units at both ends come from the manifest's table; of a FIFO that is not in it only the order is
//! held. Where a unit has lost events, what is missing is no finding and occupancy is not counted. Deliberately knows
//! nothing of flags.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::order::ExactOrder;
use crate::report::{Check, CheckReport, Finding};
use crate::run::Fifo;

/// The kinds that make up an entry's way, in order.
const STAGES: [&str; 5] = ["fifo.write", "fifo.visible", "fifo.read", "fifo.output", "fifo.consume"];
const WRITE: usize = 0;
const READ: usize = 2;
const OUTPUT: usize = 3;
/// Read edges after the edge at which the write has come through the synchronizer.
const AFTER_VISIBLE: [u64; 5] = [0, 0, 1, 1, 2];

const EARLY: &str = "the reader cannot know of the write yet";
const OVERTAKEN: &str = "a FIFO gives its entries out in the order it took them in";

/// The events of one FIFO by stage, each in exact order.
#[derive(Debug, Default)]
struct Lanes([Vec<u32>; 5]);

/// One FIFO being checked.
struct Subject<'a> {
    order: &'a ExactOrder<'a>,
    name: String,
    /// Its row of the manifest's table.
    entry: Option<&'a Fifo>,
    /// Some of its events are not in the trace.
    lossy: bool,
}

/// `filtered`: events were left out of the trace on purpose.
pub(crate) fn check(order: &ExactOrder<'_>, filtered: bool, limit: usize) -> CheckReport {
    let mut check = Check::new("fifo", "events", limit);
    let holes = units_with_holes(order);
    let (mut unlisted, mut partial) = (0_u64, 0_u64);
    for (id, mut lanes) in lanes(order, &mut check) {
        for lane in &mut lanes.0 {
            sort(order, lane);
            check.rows += lane.len() as u64;
        }
        let entry = order.manifest.fifos.get(&id);
        let mut events = lanes.0.iter().flatten();
        let lossy = filtered || events.any(|event| holes[order.events.unit[*event as usize] as usize]);
        unlisted += u64::from(entry.is_none());
        partial += u64::from(lossy && entry.is_some());
        let name = entry.map_or_else(|| format!("FIFO {id}"), |fifo| format!("FIFO {}", fifo.name));
        Subject { order, name, entry, lossy }.check(&lanes, &mut check);
    }
    let mut notes = Vec::new();
    if unlisted > 0 {
        notes.push(format!("{unlisted} without a row in the manifest's table: only their order"));
    }
    if partial > 0 {
        notes.push(format!("{partial} with events left out or lost: no occupancy"));
    }
    if !notes.is_empty() {
        check.note(notes.join("; "));
    }
    check.finish()
}

/// By unit of the manifest, whether ordinals are missing.
fn units_with_holes(order: &ExactOrder<'_>) -> Vec<bool> {
    let mut seen = vec![(0_u64, 0_u64); order.manifest.units.len()];
    for event in order.events.complete().filter(|event| order.knows(*event)) {
        let (count, last) = &mut seen[order.events.unit[event] as usize];
        *count += 1;
        *last = (*last).max(order.events.ordinal[event]);
    }
    seen.iter().map(|(count, last)| *count > 0 && *last > *count - 1).collect()
}

/// Buckets the events by FIFO and stage.
fn lanes(order: &ExactOrder<'_>, check: &mut Check) -> BTreeMap<u64, Lanes> {
    let events = order.events;
    let stage_of_kind: Vec<Option<usize>> =
        events.kinds.iter().map(|kind| STAGES.iter().position(|stage| stage == kind)).collect();
    let mut lanes: BTreeMap<u64, Lanes> = BTreeMap::new();
    for event in events.complete().filter(|event| order.knows(*event)) {
        let Some(stage) = stage_of_kind[usize::from(events.kind[event])] else { continue };
        if events.transaction[event] == 0 {
            check.find(|| {
                Finding::new(format!("{}: found transaction 0, expected an id", events.label(event)))
                    .hint("every entry of a FIFO has an id other than 0")
                    .at_slice(events.slice[event])
            });
            continue;
        }
        lanes.entry(events.fifo[event]).or_default().0[stage].push(event as u32);
    }
    lanes
}

/// Exact order, each event once: doubled ones are another check's matter.
fn sort(order: &ExactOrder<'_>, lane: &mut Vec<u32>) {
    let compare = |left: &u32, right: &u32| order.compare(*left as usize, *right as usize);
    if !lane.is_sorted_by(|left, right| compare(left, right) == Ordering::Less) {
        lane.sort_by(compare);
        lane.dedup_by(|next, kept| compare(next, kept) == Ordering::Equal);
    }
}

impl Subject<'_> {
    fn check(&self, lanes: &Lanes, check: &mut Check) {
        self.check_ends(lanes, check);
        let present: Vec<usize> = (0..STAGES.len()).filter(|stage| !lanes.0[*stage].is_empty()).collect();
        for pair in present.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            for (earlier, later) in self.pairs(&lanes.0[from], (to, &lanes.0[to]), check) {
                self.check_distance((from, earlier as usize), (to, later as usize), check);
            }
        }
        if let Some(fifo) = self.entry.filter(|_| !self.lossy) {
            self.check_occupancy(fifo, lanes, check);
        }
    }

    /// Whether each end belongs to its unit.
    fn check_ends(&self, lanes: &Lanes, check: &mut Check) {
        let Some(fifo) = self.entry else { return };
        let events = self.order.events;
        for (stage, lane) in lanes.0.iter().enumerate() {
            let (end, unit) = if stage == WRITE { ("writer", fifo.writer) } else { ("reader", fifo.reader) };
            for event in lane.iter().map(|event| *event as usize).filter(|event| events.unit[*event] != unit)
            {
                let expected = &self.order.manifest.units[unit as usize].name;
                self.find(check, event, || {
                    (
                        format!("found it by this unit, expected the {end} {expected}"),
                        "another unit's port was used",
                    )
                });
            }
        }
    }

    /// The event of the stage before for every event of a stage, in order of the latter. Entries that overtake each
    /// other, appear from nowhere or vanish among others are findings.
    fn pairs(&self, before: &[u32], (stage, after): (usize, &[u32]), check: &mut Check) -> Vec<(u32, u32)> {
        let events = self.order.events;
        let transaction = |event: u32| events.transaction[event as usize];
        let mut pairs = Vec::with_capacity(after.len());
        let (mut next, mut newest) = (0, None);
        // Positions by transaction, made once they are needed.
        let mut places: Vec<(u64, usize)> = Vec::new();
        let mut overtaken: BTreeMap<u64, u32> = BTreeMap::new();
        for &event in after {
            if before.get(next).is_some_and(|expected| transaction(*expected) == transaction(event)) {
                pairs.push((before[next], event));
                (next, newest) = (next + 1, Some(before[next]));
                continue;
            }
            if let Some(earlier) = overtaken.remove(&transaction(event)) {
                pairs.push((earlier, event));
                self.find(check, event as usize, || {
                    let other = newest.map_or(0, transaction);
                    let name = STAGES[stage];
                    (
                        format!("found it after the {name} of transaction {other}, expected it before"),
                        OVERTAKEN,
                    )
                });
                continue;
            }
            if places.is_empty() {
                places = before.iter().zip(0..).map(|(event, at)| (transaction(*event), at)).collect();
                places.sort_unstable();
            }
            let key = (transaction(event), next);
            match places.get(places.partition_point(|place| *place < key)) {
                Some(&(found, at)) if found == key.0 => {
                    overtaken.extend(before[next..at].iter().map(|event| (transaction(*event), *event)));
                    pairs.push((before[at], event));
                    (next, newest) = (at + 1, Some(before[at]));
                }
                _ if self.lossy => {}
                _ => self.find(check, event as usize, || {
                    let earlier = before.first().map_or("", |first| self.kind(*first));
                    (
                        format!("found no {earlier} of its transaction"),
                        "an entry comes out that did not go in",
                    )
                }),
            }
        }
        if !self.lossy {
            for event in overtaken.into_values() {
                self.find(check, event as usize, || {
                    let name = STAGES[stage];
                    (format!("found no {name} of its transaction, but some of later ones"), OVERTAKEN)
                });
            }
        }
        pairs
    }

    /// Whether a stage comes late enough after the one before.
    fn check_distance(
        &self,
        (from, earlier): (usize, usize),
        (to, later): (usize, usize),
        check: &mut Check,
    ) {
        let (order, events) = (self.order, self.order.events);
        let Some(fifo) = self.entry else {
            let time = order.compare_time(earlier, later);
            let holds = match events.unit[earlier] == events.unit[later] {
                true => order.compare(earlier, later) == Ordering::Less,
                false if from == WRITE => time == Ordering::Less,
                false => time != Ordering::Greater,
            };
            if !holds {
                self.find(check, later, || {
                    (
                        format!("found it no later than {}", events.label(earlier)),
                        "an entry's stages have an order",
                    )
                });
            }
            return;
        };
        let (earlier_cycle, later_cycle) = (events.cycle[earlier], events.cycle[later]);
        let (expected, hint) = if from == WRITE {
            let edges = fifo.stages.saturating_add(AFTER_VISIBLE[to]);
            if self.is_edges_after(later, edges, earlier) {
                return;
            }
            (format!("at least {edges} edges after the first read edge that follows"), EARLY)
        } else if (from, to) == (READ, OUTPUT) {
            if earlier_cycle == later_cycle {
                return;
            }
            ("the same edge as".to_owned(), "a read loads the output register on its own edge")
        } else {
            let edges = AFTER_VISIBLE[to] - AFTER_VISIBLE[from];
            if earlier_cycle.checked_add(edges).is_some_and(|first| first <= later_cycle) {
                return;
            }
            (
                format!("at least {edges} edge{} after", if edges == 1 { "" } else { "s" }),
                "registers take an edge each",
            )
        };
        self.find(check, later, || {
            (format!("found cycle {later_cycle}, expected {expected} {}", events.label(earlier)), hint)
        });
    }

    /// Whether `later` is at least so many edges of its domain after the first one that follows `earlier`.
    fn is_edges_after(&self, later: usize, edges: u64, earlier: usize) -> bool {
        let first = self.order.events.cycle[later].checked_sub(edges);
        first.is_some_and(|first| self.order.compare_edge(later, first, earlier) == Ordering::Greater)
    }

    /// Whether every write found room, and could know of it.
    fn check_occupancy(&self, fifo: &Fifo, lanes: &Lanes, check: &mut Check) {
        let (order, events) = (self.order, self.order.events);
        let (writes, reads) = (&lanes.0[WRITE], &lanes.0[READ]);
        let depth = usize::try_from(fifo.depth).unwrap_or(usize::MAX);
        for (at, write) in writes.iter().map(|write| *write as usize).enumerate().skip(depth) {
            let made_room = reads.get(at - depth).map(|read| *read as usize);
            let made_room = made_room.filter(|read| order.compare_time(*read, write) == Ordering::Less);
            let Some(read) = made_room else {
                self.find(check, write, || {
                    let (found, depth) = (fifo.depth.saturating_add(1), fifo.depth);
                    (format!("found occupancy {found}, expected at most {depth}"), "an entry is overwritten")
                });
                continue;
            };
            let edges = fifo.stages.saturating_add(1);
            if !self.is_edges_after(write, edges, read) {
                self.find(check, write, || {
                    let cycle = events.cycle[write];
                    let read = events.label(read);
                    let expected =
                        format!("at least {edges} edges after the first write edge that follows {read}");
                    (
                        format!("found cycle {cycle}, expected {expected}"),
                        "the writer cannot know of the room yet",
                    )
                });
            }
        }
    }

    fn kind(&self, event: u32) -> &str {
        let events = self.order.events;
        &events.kinds[usize::from(events.kind[event as usize])]
    }

    fn find(&self, check: &mut Check, event: usize, tell: impl FnOnce() -> (String, &'static str)) {
        let events = self.order.events;
        check.find(|| {
            let (problem, hint) = tell();
            let (name, transaction, event_label) =
                (&self.name, events.transaction[event], events.label(event));
            Finding::new(format!("{name}: transaction {transaction}: {event_label}: {problem}"))
                .hint(hint)
                .at_slice(events.slice[event])
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::imported::Imported;
    use crate::exact::EdgeTimes;
    use crate::run::Manifest;

    /// 1 GHz on both sides, depth 2, two stages. Hand-derived: a packet written at edge 0 is visible at 3, read at 4,
    /// taken at 5; writes at 0 and 1 fill the memory; the read at 4 lets the next write in at 8.
    const GOOD: &str =
        "w0:1 w1:2 v3:1 v4:2 r4:1 o4:1 c5:1 r5:2 o5:2 c6:2 w8:3 w9:4 v11:3 v12:4 r12:3 o12:3 c13:3";

    /// Events as `kind cycle : transaction`, numbered per unit in the order given; `kind` alone was lost.
    fn found_in(listed: &str, change: impl FnOnce(String) -> String, filtered: bool) -> CheckReport {
        let manifest = r#"{"version":1,"run_id":"r","domains":[
            {"id":1,"name":"sm","period_num":1,"period_den":1000000000,"phase_num":0,"phase_den":1},
            {"id":2,"name":"lts","period_num":1,"period_den":1000000000,"phase_num":0,"phase_den":1}],
            "streams":[{"unit_id":1,"unit":"p","domain_id":1},{"unit_id":2,"unit":"c","domain_id":2}],
            "events":{"1":"fifo.write","2":"fifo.visible","3":"fifo.read","4":"fifo.output","5":"fifo.consume"},
            "clockweave":{"fifos":[{"id":7,"name":"ab","depth":2,"stages":2,"writer":"p","reader":"c"}]}}"#;
        let manifest = Manifest::parse(&change(manifest.to_owned())).unwrap();
        let (writer, reader) = (manifest.unit(1).unwrap(), manifest.unit(2).unwrap());
        let mut ordinals = [0, 0];
        let rows = listed.split_whitespace().filter_map(|event| {
            let stage = "wvroc".find(&event[..1]).unwrap();
            let unit = if stage == WRITE { writer } else { reader };
            let ordinal = &mut ordinals[unit as usize];
            *ordinal += 1;
            let (place, transaction) = event.split_once(':')?;
            let phase = u64::from(stage != 4);
            let numbers =
                [place[1..].parse().unwrap(), phase, transaction.parse().unwrap(), 7, 0, *ordinal - 1];
            Some((unit, manifest.kind(STAGES[stage].as_bytes()).unwrap(), numbers))
        });
        let events = Imported::of(&manifest, rows);
        let times: Vec<EdgeTimes> = manifest.domains.iter().map(EdgeTimes::new).collect();
        check(&ExactOrder { events: &events, manifest: &manifest, times: &times }, filtered, 20)
    }

    #[track_caller]
    fn problems(listed: &str, expected: &[&str]) {
        let report = found_in(listed, |manifest| manifest, false);
        let messages: Vec<&str> = report.findings.iter().map(|finding| &*finding.message).collect();
        assert_eq!(messages.len(), expected.len(), "{messages:#?}");
        for (message, words) in messages.iter().zip(expected) {
            assert!(message.ends_with(words), "expected {words:?} at the end of {message:?}");
        }
    }

    fn changed(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from), "{from}");
        GOOD.replacen(from, to, 1)
    }

    #[test]
    fn the_earliest_timeline_that_the_circuit_allows_holds() {
        problems(GOOD, &[]);
        assert_eq!(found_in(GOOD, |manifest| manifest, false).rows, 17);
        // In flight at the end, at every stage.
        for length in 0..17 {
            let listed: Vec<&str> = GOOD.split_whitespace().take(length).collect();
            problems(&listed.join(" "), &[]);
        }
    }

    #[test]
    fn one_edge_too_early_is_noticed_at_every_stage() {
        let early = |from: &str, to: &str, words: &str| problems(&changed(from, to), &[words]);
        early(
            "v3:1",
            "v2:1",
            "found cycle 2, expected at least 2 edges after the first read edge that follows p #0 (fifo.write, cycle 0)",
        );
        early(
            "r4:1 o4:1",
            "r3:1 o3:1",
            "found cycle 3, expected at least 1 edge after c #0 (fifo.visible, cycle 3)",
        );
        early("o4:1", "o3:1", "found cycle 3, expected the same edge as c #2 (fifo.read, cycle 4)");
        // Later is as wrong: the register has nothing until then.
        early(
            "o12:3 c13:3",
            "o13:3 c14:3",
            "found cycle 13, expected the same edge as c #10 (fifo.read, cycle 12)",
        );
        early("c5:1", "c4:1", "found cycle 4, expected at least 1 edge after c #3 (fifo.output, cycle 4)");
        early(
            "w8:3",
            "w7:3",
            "found cycle 7, expected at least 3 edges after the first write edge that follows c #2 (fifo.read, cycle 4)",
        );
        early("w8:3", "w3:3", "found occupancy 3, expected at most 2");
    }

    #[test]
    fn the_order_of_entries_is_held() {
        let swapped = changed("r4:1 o4:1 c5:1 r5:2 o5:2 c6:2", "r5:2 o5:2 c6:2 r6:1 o6:1 c7:1");
        // Transaction 1 is late at the first stage only: from then on it is the order.
        let late = "found it after the fifo.read of transaction 2, expected it before";
        let fewer = "w8:3 w9:4 v11:3 v12:4 r12:3 o12:3 c13:3";
        problems(&swapped.replace(fewer, ""), &[late]);
        let (no_write, no_visible) =
            ("found no fifo.write of its transaction", "found no fifo.visible of its transaction");
        problems(&changed("w8:3 w9:4 ", ""), &[no_write, no_write]);
        let lost = changed("r4:1 o4:1 c5:1 ", "").replace(fewer, "");
        problems(&lost, &["found no fifo.read of its transaction, but some of later ones"]);
        let doubled = changed("r5:2 o5:2 c6:2", "r5:1 o5:1 c6:1").replace(fewer, "");
        problems(&doubled, &[no_visible]);
        let zero = changed("v3:1", "v3:0");
        problems(
            &zero,
            &["found transaction 0, expected an id", "transaction, but some of later ones", no_visible],
        );
    }

    #[test]
    fn what_was_left_out_is_no_finding_but_what_is_there_is_held() {
        let same = |manifest| manifest;
        let found = |listed: &str, filtered| found_in(listed, same, filtered).found;
        let lost = changed("r4:1 o4:1 c5:1 ", "");
        assert_eq!((found(&lost, false), found(&lost, true)), (3, 0));
        // A hole in the numbers says so by itself.
        assert_eq!(found(&changed("r4:1 o4:1 c5:1 ", "r o c "), false), 0);
        // Seen from inside a window: the first write and all of visible are not there.
        let window: Vec<&str> =
            GOOD.split_whitespace().filter(|event| !event.starts_with('v') && *event != "w0:1").collect();
        assert_eq!(found(&window.join(" "), true), 0);
        assert_eq!(found(&changed("r5:2 o5:2 c6:2", "r3:2 o3:2 c4:2"), true), 2);
        let report = found_in(&lost, same, true);
        assert_eq!(report.note.as_deref(), Some("1 with events left out or lost: no occupancy"));
    }

    #[test]
    fn without_a_row_in_the_table_only_the_order_is_held() {
        let unlisted = |listed: &str| found_in(listed, |text| text.replace("\"id\":7", "\"id\":8"), false);
        let quick = changed("w8:3 w9:4 v11:3", "w3:3 w9:4 v4:3");
        assert_eq!(unlisted(&quick).found, 0);
        let note = unlisted(&quick).note;
        assert_eq!(note.as_deref(), Some("1 without a row in the manifest's table: only their order"));
        let backwards = changed("w8:3 w9:4 v11:3", "w4:3 w9:4 v4:3");
        assert_eq!(unlisted(&backwards).found, 1);
        let before = unlisted(&changed("r4:1", "r2:1")).findings;
        assert_eq!(before.len(), 1);
        assert!(before[0].message.ends_with("found it no later than c #0 (fifo.visible, cycle 3)"));
    }

    #[test]
    fn a_port_used_by_another_unit_is_noticed() {
        let report = found_in(GOOD, |text| text.replace("\"reader\":\"c\"", "\"reader\":\"p\""), false);
        assert_eq!(report.found, 13);
        assert!(report.findings[0].message.ends_with("found it by this unit, expected the reader p"));
    }
}
