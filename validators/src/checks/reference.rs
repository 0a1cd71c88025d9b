//! reference: the trace has exactly the events of a file that somebody else wrote down.
//!
//! The file has tab-separated columns named by its first line: `ts unit local_cycle event phase transaction_id fifo_id
//! value ordinal`, the unit by name, times in whole nanoseconds. Its rows may come in any order. Events of it that are
//! not in the trace must be as many, unit by unit, as the run says it lost. The report gives the SHA-256 of the rows
//! in order of unit name and ordinal, each column as decimal digits or name, so that two references can be compared.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::imported::Imported;
use crate::regular::open_regular;
use crate::report::{Check, CheckReport, Finding};
use crate::run::{InputError, Manifest, Stats};

const HEADER: &str = "ts\tunit\tlocal_cycle\tevent\tphase\ttransaction_id\tfifo_id\tvalue\tordinal";
/// Longest line that can be a row: seven numbers and two names of 1,024 bytes.
const MAX_LINE: u64 = 4096;

/// An expected event. Units and kinds are indexes that start with the manifest's.
struct Expected {
    line: usize,
    unit: u32,
    ordinal: u64,
    kind: u32,
    ts: u64,
    cycle: u64,
    phase: u64,
    transaction: u64,
    fifo: u64,
    value: u64,
}

/// An independent expectation of a run.
pub(crate) struct Reference {
    /// By unit name and ordinal.
    rows: Vec<Expected>,
    units: Vec<String>,
    /// How many of them are the manifest's, which have the same index in the trace.
    listed: usize,
    kinds: Vec<String>,
    digest: String,
}

impl Reference {
    pub(crate) fn read(path: &Path, manifest: &Manifest) -> Result<Self, InputError> {
        let file = open_regular(path).map_err(|error| InputError::io(path, &error))?;
        let mut source = BufReader::with_capacity(1 << 18, file);
        let mut units = Names::new(manifest.units.iter().map(|unit| &unit.name));
        let mut kinds = Names::new(manifest.kinds.iter());
        let (mut rows, mut line) = (Vec::new(), 0);
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            let length = std::io::Read::take(&mut source, MAX_LINE)
                .read_until(b'\n', &mut buffer)
                .map_err(|error| InputError::io(path, &error))?;
            if length == 0 {
                break;
            }
            line += 1;
            let bad = |problem: String| InputError { line: Some(line), ..InputError::new(path, problem) };
            let Some(text) = buffer.strip_suffix(b"\n").and_then(|text| str::from_utf8(text).ok()) else {
                return Err(bad(format!("found no line of UTF-8 that ends within {MAX_LINE} bytes")));
            };
            if line == 1 {
                if text != HEADER {
                    let shown: String = text.chars().take(200).collect();
                    return Err(bad(format!("found {shown:?}, expected the columns {HEADER:?}")));
                }
                continue;
            }
            rows.push(row(text, line, &mut units, &mut kinds).map_err(bad)?);
        }
        if line == 0 {
            return Err(InputError::new(
                path,
                format!("found an empty file, expected the columns {HEADER:?}"),
            ));
        }
        let (units, kinds) = (units.list, kinds.list);
        let key = |row: &Expected| (row.unit, row.ordinal);
        if units.len() > manifest.units.len() {
            // The manifest's units are in order of name; with others between them, names decide.
            rows.sort_by(|a, b| {
                (&units[a.unit as usize], a.ordinal).cmp(&(&units[b.unit as usize], b.ordinal))
            });
        } else {
            rows.sort_by_key(key);
        }
        if let Some(pair) = rows.windows(2).find(|pair| key(&pair[0]) == key(&pair[1])) {
            let (first, row) = (pair[0].line, &pair[1]);
            let problem = format!(
                "found ordinal {} of {} again, expected it in line {first} only",
                row.ordinal, units[row.unit as usize]
            );
            return Err(InputError { line: Some(row.line), ..InputError::new(path, problem) });
        }
        let digest = digest(&rows, &units, &kinds);
        Ok(Self { rows, units, listed: manifest.units.len(), kinds, digest })
    }
}

/// Names by index, known ones first.
struct Names {
    list: Vec<String>,
    index: BTreeMap<String, u32>,
}

impl Names {
    fn new<'a>(known: impl Iterator<Item = &'a String>) -> Self {
        let list: Vec<String> = known.cloned().collect();
        let index = list.iter().cloned().zip(0..).collect();
        Self { list, index }
    }

    fn get(&mut self, name: &str) -> u32 {
        if let Some(known) = self.index.get(name) {
            return *known;
        }
        let next = self.list.len() as u32;
        self.list.push(name.to_owned());
        self.index.insert(name.to_owned(), next);
        next
    }
}

fn row(text: &str, line: usize, units: &mut Names, kinds: &mut Names) -> Result<Expected, String> {
    let columns: Vec<&str> = text.split('\t').collect();
    let names = HEADER.split('\t');
    let [ts, unit, cycle, kind, phase, transaction, fifo, value, ordinal] = columns[..] else {
        return Err(format!("found {} columns, expected 9", columns.len()));
    };
    let mut numbers = [0; 7];
    let numeric = names.filter(|name| !["unit", "event"].contains(name));
    let texts = [ts, cycle, phase, transaction, fifo, value, ordinal];
    for ((slot, text), name) in numbers.iter_mut().zip(texts).zip(numeric) {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        *slot = text.parse().ok().filter(|_| digits).ok_or_else(|| {
            let shown: String = text.chars().take(64).collect();
            format!("found {shown:?} in column {name}, expected an unsigned decimal below 2^64")
        })?;
    }
    let [ts, cycle, phase, transaction, fifo, value, ordinal] = numbers;
    let (unit, kind) = (units.get(unit), kinds.get(kind));
    Ok(Expected { line, unit, ordinal, kind, ts, cycle, phase, transaction, fifo, value })
}

fn digest(rows: &[Expected], units: &[String], kinds: &[String]) -> String {
    let mut hash = Sha256::new();
    for row in rows {
        let Expected { ordinal, ts, cycle, phase, transaction, fifo, value, .. } = row;
        let (unit, kind) = (&units[row.unit as usize], &kinds[row.kind as usize]);
        hash.update(format!(
            "{ts}\t{unit}\t{cycle}\t{kind}\t{phase}\t{transaction}\t{fifo}\t{value}\t{ordinal}\n"
        ));
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `stats`: what the run says it lost; `prefix`: each unit may end early.
pub(crate) fn check(
    events: &Imported,
    reference: &Reference,
    stats: Option<&Stats>,
    prefix: bool,
    limit: usize,
) -> CheckReport {
    let mut check = Check::new("reference", "events", limit);
    check.rows = reference.rows.len() as u64;
    check.note(format!("sha256 of the reference in order of unit and ordinal: {}", reference.digest));
    let mut by_unit: Vec<Vec<u32>> = vec![Vec::new(); events.unit_ids.len()];
    for event in events.complete() {
        by_unit[events.unit[event] as usize].push(event as u32);
    }
    let ordinal = |event: &u32| events.ordinal[*event as usize];
    by_unit
        .iter_mut()
        .filter(|unit| !unit.is_sorted_by_key(ordinal))
        .for_each(|unit| unit.sort_by_key(ordinal));
    // One more than there are, for a run without units.
    let mut next = vec![0; by_unit.len() + 1];
    let mut missing: BTreeMap<u32, (u64, usize)> = BTreeMap::new();
    let unexpected = |check: &mut Check, event: u32| {
        check.find(|| {
            Finding::new(format!(
                "{}: found it in the trace but not in the reference",
                events.label(event as usize)
            ))
            .at_slice(events.slice[event as usize])
        });
    };
    for (at, row) in reference.rows.iter().enumerate() {
        let unit = row.unit as usize;
        let of_unit: &[u32] = if unit < reference.listed { &by_unit[unit] } else { &[] };
        let mut found = None;
        while let Some(event) = of_unit.get(next[unit.min(reference.listed)]) {
            if ordinal(event) > row.ordinal {
                break;
            }
            next[unit] += 1;
            if ordinal(event) == row.ordinal {
                found = Some(*event as usize);
                break;
            }
            unexpected(&mut check, *event);
        }
        match found {
            Some(event) => compare(&mut check, events, reference, row, event),
            None if prefix && unit < reference.listed && next[unit] == of_unit.len() => {}
            None => missing.entry(row.unit).or_insert((0, at)).0 += 1,
        }
    }
    for (unit, next) in by_unit.iter().zip(next) {
        unit[next..].iter().for_each(|event| unexpected(&mut check, *event));
    }
    for (unit, (count, first)) in missing {
        let name = &reference.units[unit as usize];
        let id = events.unit_ids.get(unit as usize);
        let stream = stats.and_then(|stats| stats.streams.iter().find(|stream| Some(&stream.unit_id) == id));
        let declared = stream.map_or(0, |stream| stream.dropped);
        if count != declared {
            let row = &reference.rows[first];
            let kind = &reference.kinds[row.kind as usize];
            check.find(|| {
                Finding::new(format!(
                    "{name}: found {count} events of the reference not in the trace, expected the {declared} that the run says \
                     it lost; the first is {name} #{} ({kind}, cycle {}), line {}",
                    row.ordinal, row.cycle, row.line
                ))
            });
        }
    }
    check.finish()
}

fn compare(check: &mut Check, events: &Imported, reference: &Reference, row: &Expected, event: usize) {
    let kind = u32::from(events.kind[event]);
    let name = |kind: u32, known: &[String]| known.get(kind as usize).cloned().unwrap_or_default();
    // The manifest's kinds have the same index on both sides, others are compared by name.
    let same_kind = kind == row.kind || name(kind, &events.kinds) == name(row.kind, &reference.kinds);
    let pairs = [
        ("ts", events.ts[event] as u64, row.ts),
        ("local_cycle", events.cycle[event], row.cycle),
        ("phase", events.phase[event], row.phase),
        ("transaction_id", events.transaction[event], row.transaction),
        ("fifo_id", events.fifo[event], row.fifo),
        ("value", events.value[event], row.value),
    ];
    if same_kind && pairs.iter().all(|(_, found, expected)| found == expected) {
        return;
    }
    check.find(|| {
        let differing = pairs.iter().filter(|(_, found, expected)| found != expected);
        let mut differences: Vec<String> =
            differing.map(|(name, found, expected)| format!("{name} {found}, expected {expected}")).collect();
        if !same_kind {
            let (found, expected) = (name(kind, &events.kinds), name(row.kind, &reference.kinds));
            differences.push(format!("event {found}, expected {expected}"));
        }
        let label = events.label(event);
        Finding::new(format!(
            "{label}: found {} in line {} of the reference",
            differences.join("; "),
            row.line
        ))
        .at_slice(events.slice[event])
    });
}
