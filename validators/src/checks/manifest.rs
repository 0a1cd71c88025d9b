//! manifest: what the trace itself says of its run, its clocks and their tracks is what the manifest says.
//!
//! A trace of ours states every clock's exact period and phase on the clock's track, and the run's name on the root. A
//! manifest that was changed so little that no nanosecond moves is told apart by that alone. Traces that state nothing
//! are other recorders', which is no finding. Deliberately does not look at events: `tracks` and `time` do.

use std::collections::BTreeMap;

use num_bigint::BigUint;

use super::runqueue::FACTS;
use super::tracks::Tracks;
use crate::engine::{Cell, EngineError, Row, Session};
use crate::report::{Check, CheckReport, Finding};
use crate::run::{Domain, Machine, Manifest};

const STATEMENTS: &str = include_str!("../../checks/manifest.sql");
const HINT: &str = "manifest and trace were not written by the same run, or one of them was changed";
/// Arguments of the two statements.
const NUMBERS: [&str; 5] =
    ["debug.id", "debug.period_num", "debug.period_den", "debug.phase_num", "debug.phase_den"];
const RUN_ID: &str = "debug.run_id";

/// What is stated of a thread, in the names of the facts.
const THREAD_FACTS: [&str; 8] = ["weight", "mask", "r", "q", "latency", "patience", "section", "steady"];

/// The threads of machines, in order: the CPUs of a machine follow those of the one before.
fn expected_threads(machines: &[Machine]) -> Vec<(String, [i64; 8])> {
    let int = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let (mut threads, mut first) = (Vec::new(), 0u32);
    for machine in machines {
        for thread in &machine.threads {
            let bit = |cpu: &u32| cpu.checked_add(first).and_then(|cpu| 1i64.checked_shl(cpu)).unwrap_or(0);
            let mask = thread.cpus.iter().fold(0, |mask, cpu| mask | bit(cpu));
            let weight = machine.jobs.get(thread.job).map_or(0, |job| int(job.weight));
            let times = [
                machine.slice_ns,
                machine.quantum_ns,
                machine.latency_ns,
                machine.patience_ns,
                machine.section_ns,
            ];
            let [slice, quantum, latency, patience, section] = times.map(int);
            let facts = [weight, mask, slice, quantum, latency, patience, section, machine.steady.into()];
            threads.push((thread.name.clone(), facts));
        }
        first = first.saturating_add(machine.cpus);
    }
    threads
}

/// The tracks that a trace says are its clocks'.
pub(crate) type DomainTracks = BTreeMap<u32, usize>;

/// One instant of category `meta`.
#[derive(Debug, Default)]
struct Statement {
    slice: u32,
    track: u32,
    is_domain: bool,
    numbers: [Option<BigUint>; 5],
    run_id: Option<String>,
}

/// What is being compared.
struct Comparison<'a> {
    manifest: &'a Manifest,
    tracks: &'a Tracks,
    check: Check,
    domain_of_id: BTreeMap<u64, usize>,
    domains: DomainTracks,
    root: Option<u32>,
}

/// Holds one file's statements against the manifest; also gives the tracks of its clocks.
pub(crate) fn check(
    session: &mut Session,
    manifest: &Manifest,
    tracks: &Tracks,
    prefix: bool,
    limit: usize,
) -> Result<(CheckReport, DomainTracks), EngineError> {
    let check = Check::new("manifest", "statements", limit);
    let domain_of_id = (0..).zip(&manifest.domains).map(|(at, domain)| (domain.id, at)).collect();
    let domains = DomainTracks::new();
    let mut comparison = Comparison { manifest, tracks, check, domain_of_id, domains, root: None };
    let mut current: Option<Statement> = None;
    session.query("manifest", STATEMENTS, |row| -> Result<(), EngineError> {
        let slice = row.int(0)? as u32;
        if current.as_ref().is_none_or(|statement| statement.slice != slice) {
            if let Some(statement) = current.take() {
                comparison.statement(&statement);
            }
            let is_domain = row.text(2)? == "clock.domain";
            current = Some(Statement { slice, track: row.int(1)? as u32, is_domain, ..Statement::default() });
        }
        if let Some(statement) = &mut current {
            statement.argument(row)?;
        }
        Ok(())
    })?;
    if let Some(statement) = current {
        comparison.statement(&statement);
    }
    if comparison.check.rows == 0 {
        return Ok((comparison.check.skip("the trace does not state its clocks"), DomainTracks::new()));
    }
    comparison.tree();
    comparison.machines(session)?;
    if !prefix {
        comparison.completeness();
    }
    Ok((comparison.check.finish(), comparison.domains))
}

impl Statement {
    fn argument(&mut self, row: &Row<'_>) -> Result<(), EngineError> {
        let key = row.text(3)?;
        let cells = row.cells();
        if key == RUN_ID {
            self.run_id = Some(row.text(5)?.into_owned());
        } else if let Some(at) = NUMBERS.iter().position(|known| *known == key) {
            self.numbers[at] = match (cells.get(4), cells.get(5)) {
                (Some(Cell::Int(value)), _) => Some(BigUint::from(*value as u64)),
                (_, Some(Cell::Text(digits))) if digits.len() <= 1000 => BigUint::parse_bytes(digits, 10),
                _ => None,
            };
        }
        Ok(())
    }
}

impl Comparison<'_> {
    fn statement(&mut self, statement: &Statement) {
        self.check.rows += 1;
        if statement.is_domain {
            self.domain(statement);
        } else {
            self.root.get_or_insert(statement.track);
            let expected = &self.manifest.run_id;
            if statement.run_id.as_ref() != Some(expected) {
                let found = statement.run_id.as_deref().unwrap_or("no run_id");
                self.differs(statement.slice, format!("found run {found}, expected {expected}"));
            }
        }
    }

    fn domain(&mut self, statement: &Statement) {
        let [Some(id), Some(period_num), Some(period_den), Some(phase_num), Some(phase_den)] =
            &statement.numbers
        else {
            let keys = NUMBERS.map(|key| key.trim_start_matches("debug.")).join(", ");
            return self.differs(statement.slice, format!("found a clock.domain without all of {keys}"));
        };
        let known = u64::try_from(id).ok().and_then(|id| self.domain_of_id.get(&id).copied());
        let Some(at) = known else {
            return self
                .differs(statement.slice, format!("found domain {id}, which the manifest does not list"));
        };
        self.domains.insert(statement.track, at);
        let domain = &self.manifest.domains[at];
        let stated = [
            ("period", (period_num, period_den), &domain.period),
            ("phase", (phase_num, phase_den), &domain.phase),
        ];
        for (what, (num, den), (expected_num, expected_den)) in stated {
            if num * expected_den != expected_num * den {
                let name = &domain.name;
                let message = format!(
                    "domain {name}: found {what} {num}/{den} s in the trace, expected {expected_num}/{expected_den} s of the manifest"
                );
                self.differs(statement.slice, message);
            }
        }
    }

    fn differs(&mut self, slice: u32, message: String) {
        self.check.find(|| Finding::new(message).hint(HINT).at_slice(slice));
    }

    /// The root is named as the run, and below it is a track for each clock, with its frequency.
    fn tree(&mut self) {
        let Self { manifest, tracks, check, domains, root, .. } = self;
        if let Some(root) = root {
            let found = tracks.name(*root);
            if found != manifest.run_id {
                check.find(|| {
                    let expected = &manifest.run_id;
                    Finding::new(format!("found the run's track named {found:?}, expected {expected:?}"))
                        .hint(HINT)
                });
            }
        }
        for (track, at) in &*domains {
            let domain = &manifest.domains[*at];
            let name = tracks.name(*track);
            if !is_label(name, domain) {
                check.find(|| {
                    let expected = &domain.name;
                    Finding::new(format!(
                        "domain {expected}: found its track named {name:?}, expected \"{expected} (…)\" with its frequency"
                    ))
                    .hint(HINT)
                });
            }
            if root.is_some() && tracks.parent(*track) != *root {
                check.find(|| {
                    let parent = tracks.parent(*track).map_or("nothing", |parent| tracks.name(parent));
                    Finding::new(format!(
                        "domain {}: found its track below {parent:?}, expected the run's",
                        domain.name
                    ))
                    .hint(HINT)
                });
            }
        }
    }

    /// The trace states the threads of the manifest's machines, in their order, with the numbers that the laws rest on.
    fn machines(&mut self, session: &mut Session) -> Result<(), EngineError> {
        let mut expected = expected_threads(&self.manifest.machines).into_iter();
        let Self { check, .. } = self;
        // A thread that ended and begins again is two to the importer.
        let query = format!(
            "{FACTS} SELECT MIN(name), {} FROM cfg GROUP BY tid ORDER BY tid",
            THREAD_FACTS.join(", ")
        );
        session.query("manifest machines", &query, |row| -> Result<(), EngineError> {
            check.rows += 1;
            let found = (row.text(0)?.into_owned(), THREAD_FACTS.iter().zip(1..).map(|(_, at)| row.int(at)));
            let (name, facts) = (found.0, found.1.collect::<Result<Vec<i64>, _>>()?);
            let Some((known, numbers)) = expected.next() else {
                check.find(|| Finding::new(format!("found thread {name:?}, which the manifest does not list")).hint(HINT));
                return Ok(());
            };
            if name != known {
                check.find(|| Finding::new(format!("found thread {name:?}, expected {known:?} of the manifest")).hint(HINT));
            }
            let stated = THREAD_FACTS.iter().zip(facts.iter().zip(&numbers));
            for (what, (found, expected)) in stated.filter(|(_, (found, expected))| found != expected) {
                check.find(|| {
                    Finding::new(format!("thread {known}: found {what} {found} in the trace, expected {expected} of the manifest"))
                        .hint(HINT)
                });
            }
            Ok(())
        })?;
        for (name, _) in expected {
            check.find(|| Finding::new(format!("thread {name}: the trace does not state it")).hint(HINT));
        }
        Ok(())
    }

    /// Every clock of the manifest is stated.
    fn completeness(&mut self) {
        let mut stated = vec![false; self.manifest.domains.len()];
        self.domains.values().for_each(|at| stated[*at] = true);
        for (domain, _) in self.manifest.domains.iter().zip(&stated).filter(|(_, stated)| !**stated) {
            self.check.find(|| {
                Finding::new(format!("domain {}: found no clock.domain of it, expected one", domain.name))
                    .hint(HINT)
            });
        }
    }
}

/// Whether a track's name is `NAME (914 MHz)` with the name and the frequency of a domain. The frequency is a decimal or
/// a ratio of whole numbers.
fn is_label(found: &str, domain: &Domain) -> bool {
    let rest = found.strip_prefix(&*domain.name).and_then(|rest| rest.strip_prefix(" ("));
    let Some((number, unit)) =
        rest.and_then(|rest| rest.strip_suffix(')')).and_then(|rest| rest.split_once(' '))
    else {
        return false;
    };
    let scale: u64 = match unit {
        "Hz" => 1,
        "kHz" => 1_000,
        "MHz" => 1_000_000,
        "GHz" => 1_000_000_000,
        _ => return false,
    };
    let natural = |digits: &str| {
        let plain =
            !digits.is_empty() && digits.len() <= 1000 && digits.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| BigUint::parse_bytes(digits.as_bytes(), 10)).flatten()
    };
    let ratio = match (number.split_once('/'), number.split_once('.')) {
        (Some((num, den)), _) => natural(num).zip(natural(den)),
        (None, Some((whole, part))) => {
            let den = BigUint::from(10_u8).pow(part.len().min(1000) as u32);
            natural(&format!("{whole}{part}")).map(|num| (num, den))
        }
        (None, None) => natural(number).map(|num| (num, BigUint::from(1_u8))),
    };
    // Frequency times period is one.
    ratio.is_some_and(|(num, den)| num * scale * &domain.period.0 == den * &domain.period.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_name_and_exact_frequency() {
        let domain = |num: u64, den: u64| Domain {
            id: 1,
            name: "sm".into(),
            period: (num.into(), den.into()),
            phase: (0_u8.into(), 1_u8.into()),
        };
        let mhz = domain(2, 1_828_000_000);
        for good in ["sm (914 MHz)", "sm (0.914 GHz)", "sm (914000 kHz)", "sm (1828000000/2 Hz)"] {
            assert!(is_label(good, &mhz), "{good}");
        }
        for bad in [
            "sm",
            "sm (915 MHz)",
            "lts (914 MHz)",
            "sm (914 MHz",
            "sm (914)",
            "sm (914 mHz)",
            "sm (.914. GHz)",
            "",
        ] {
            assert!(!is_label(bad, &mhz), "{bad}");
        }
        assert!(is_label("sm (1/3 Hz)", &domain(3, 1)));
        assert!(!is_label("sm (0.333333333 Hz)", &domain(3, 1)));
    }
}
