//! Conditions on figures, for CI: `fifo.1.p99 <= 20ns`.

use std::fmt;
use std::str::FromStr;

use clockweave_model::{Frequency, Seconds};
use glob::Pattern;
use num_bigint::BigUint;
use num_rational::Ratio;
use serde::Serialize;

use super::exact::{Unit, decimal, wide};
use super::figures::{self, Entry};
use super::{FifoReport, RunReport, UnitReport};

/// Reasons told of one condition.
const REASONS: usize = 20;

/// Why a condition cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AssertionError {
    /// No comparison in it.
    #[error(
        "`{text}`: found no comparison, expected FIGURE OP VALUE as in `fifo.1.p99 <= 20ns` (OP: < <= > >= == !=)"
    )]
    Shape {
        /// The text.
        text: String,
    },
    /// A figure that there is not.
    #[error("`{name}`: found no such figure; expected {expected}")]
    Figure {
        /// The name.
        name: String,
        /// What there is.
        expected: String,
    },
    /// A value that does not fit the figure.
    #[error("`{value}`: {why}")]
    Value {
        /// The value.
        value: String,
        /// What was expected.
        why: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

impl Relation {
    /// The longer ones first.
    const ALL: [(&'static str, Self); 7] = [
        ("<=", Self::LessOrEqual),
        (">=", Self::GreaterOrEqual),
        ("==", Self::Equal),
        ("!=", Self::NotEqual),
        ("<", Self::Less),
        (">", Self::Greater),
        ("=", Self::Equal),
    ];

    fn holds(self, left: &Ratio<BigUint>, right: &Ratio<BigUint>) -> bool {
        match self {
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
            Self::Equal => left == right,
            Self::NotEqual => left != right,
        }
    }
}

#[derive(Clone, Debug)]
enum Subject {
    Run,
    /// One FIFO, or every one.
    Fifo(Option<u64>),
    Unit(Pattern),
}

/// A condition on figures of a report.
#[derive(Clone, Debug)]
pub struct Assertion {
    text: String,
    subject: Subject,
    /// The figure's name after that of its subject.
    figure: String,
    relation: Relation,
    value: Ratio<BigUint>,
    /// Relation and value as written.
    expected: String,
}

/// Whether a condition holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The condition as written.
    pub assertion: String,
    /// Whether it holds.
    pub holds: bool,
    /// Why it does not, the first twenty reasons.
    pub reasons: Vec<String>,
}

/// The figures' names after that of their subject, and what they count.
fn names(subject: &Subject) -> Vec<(String, Unit)> {
    let mut found = Vec::new();
    let mut take = |skip: usize, entry: &Entry<'_>| found.push((entry.name[skip..].to_owned(), entry.unit));
    match subject {
        Subject::Run => figures::of_run(&RunReport::default(), &mut |entry| take(4, entry)),
        Subject::Fifo(_) => figures::of_fifo(&FifoReport::default(), &mut |entry| take(7, entry)),
        Subject::Unit(_) => figures::of_unit(&UnitReport::default(), &mut |entry| take(6, entry)),
    }
    found
}

/// Splits a name into its subject and the rest.
fn subject(name: &str) -> Option<(Subject, &str)> {
    if let Some(figure) = name.strip_prefix("run.") {
        return Some((Subject::Run, figure));
    }
    if let Some(rest) = name.strip_prefix("fifo.") {
        let (id, figure) = rest.split_once('.')?;
        let id = if id == "*" { None } else { Some(id.parse().ok()?) };
        return Some((Subject::Fifo(id), figure));
    }
    // Names of units have dots too; those of their figures have none.
    let (unit, figure) = name.strip_prefix("unit.")?.rsplit_once('.')?;
    Some((Subject::Unit(crate::pattern::pattern(unit)), figure))
}

fn number(text: &str) -> Option<Ratio<BigUint>> {
    let digits = |text: &str| -> Option<BigUint> {
        let plain = !text.is_empty() && text.len() <= 40 && text.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| text.parse().ok()).flatten()
    };
    if let Some((num, den)) = text.split_once('/') {
        let (num, den) = (digits(num.trim())?, digits(den.trim())?);
        return (den != BigUint::ZERO).then(|| Ratio::new(num, den));
    }
    match text.split_once('.') {
        None => Some(Ratio::from_integer(digits(text)?)),
        Some((before, after)) => {
            let scale = BigUint::from(10u32).pow(u32::try_from(after.len()).ok()?);
            Some(Ratio::new(digits(before)? * &scale + digits(after)?, scale))
        }
    }
}

fn value(text: &str, unit: Unit) -> Result<Ratio<BigUint>, AssertionError> {
    let bad = |why: String| AssertionError::Value { value: text.to_owned(), why };
    match unit {
        Unit::Seconds => {
            Seconds::from_str(text).map(|time| wide(time.ratio())).map_err(|error| bad(error.to_string()))
        }
        Unit::PerSecond if text.ends_with("Hz") => {
            Frequency::from_str(text).map(|rate| wide(rate.ratio())).map_err(|error| bad(error.to_string()))
        }
        Unit::Share => {
            let (digits, scale) = match text.strip_suffix('%') {
                Some(digits) => (digits.trim_end(), 100u32),
                None => (text, 1),
            };
            number(digits)
                .map(|share| share / BigUint::from(scale))
                .ok_or_else(|| bad("expected a share as in `90%`, `0.9` or `9/10`".to_owned()))
        }
        Unit::PerSecond => number(text)
            .ok_or_else(|| bad("expected packets per second as in `900MHz` or `900000000`".to_owned())),
        _ => {
            let digits = text.strip_suffix(unit.name()).unwrap_or(text).trim_end();
            number(digits).ok_or_else(|| bad(format!("expected a number of {}", unit.name())))
        }
    }
}

impl FromStr for Assertion {
    type Err = AssertionError;

    fn from_str(text: &str) -> Result<Self, AssertionError> {
        let shape = || AssertionError::Shape { text: text.to_owned() };
        // From the end, since names of units may hold such signs.
        let end = text.rfind(['<', '>', '=', '!']).ok_or_else(shape)? + 1;
        let found = Relation::ALL.into_iter().find(|(sign, _)| text[..end].ends_with(sign));
        let (sign, relation) = found.ok_or_else(shape)?;
        let (name, bound) = (text[..end - sign.len()].trim(), text[end..].trim());
        let unknown = |expected: String| AssertionError::Figure { name: name.to_owned(), expected };
        let (subject, figure) = subject(name).ok_or_else(|| {
            unknown("`run.FIGURE`, `fifo.ID.FIGURE`, `fifo.*.FIGURE` or `unit.GLOB.FIGURE`".to_owned())
        })?;
        let known = names(&subject);
        // The one name of `median` that people write more often.
        let figure = match figure.strip_suffix("p50") {
            Some(before) if before.is_empty() || before.ends_with('.') => format!("{before}median"),
            _ => figure.to_owned(),
        };
        let Some((_, unit)) = known.iter().find(|(name, _)| *name == figure) else {
            let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
            return Err(unknown(format!("one of {}", names.join(", "))));
        };
        let value = value(bound, *unit)?;
        let expected = format!("{sign} {bound}");
        Ok(Self { text: text.trim().to_owned(), subject, figure, relation, value, expected })
    }
}

/// A figure's value in words: times in ns, shares in percent, both rounded; the exact value in brackets.
struct Words<'a>(Unit, &'a Ratio<BigUint>);

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(unit, value) = self;
        let scaled = |scale: u32| *value * BigUint::from(scale);
        match unit {
            Unit::Seconds => write!(f, "{} ns ({value} s)", decimal(&scaled(1_000_000_000), 3)),
            Unit::Share => write!(f, "{}% ({value})", decimal(&scaled(100), 2)),
            _ if value.is_integer() => write!(f, "{value}"),
            _ => write!(f, "{} ({value})", decimal(value, 3)),
        }
    }
}

impl Assertion {
    /// Holds a report against the condition. One on several subjects has to hold for each; one on none does not hold.
    pub fn check(&self, report: &RunReport) -> Verdict {
        let (mut reasons, mut matched, mut failed) = (Vec::new(), 0_u64, 0_u64);
        let mut take = |entry: &Entry<'_>| {
            let (name, figure) = (entry.name, self.figure.as_str());
            let is_it = entry.bin.is_none()
                && name
                    .strip_suffix(figure)
                    .is_some_and(|subject| subject.ends_with('.') && self.is_of(subject));
            if !is_it {
                return;
            }
            matched += 1;
            let reason = match &entry.value {
                Some(value) if self.relation.holds(value, &self.value) => return,
                Some(value) => format!("{name} is {}, expected {}", Words(entry.unit, value), self.expected),
                None => format!("{name} is not known, expected {}", self.expected),
            };
            failed += 1;
            if reasons.len() < REASONS {
                reasons.push(reason);
            }
        };
        match &self.subject {
            Subject::Run => figures::of_run(report, &mut take),
            Subject::Fifo(wanted) => {
                let fifos = report.fifos.iter().filter(|fifo| wanted.is_none_or(|id| id == fifo.id));
                fifos.for_each(|fifo| figures::of_fifo(fifo, &mut take));
            }
            Subject::Unit(pattern) => {
                let units = report.units.iter().filter(|unit| pattern.matches(&unit.name));
                units.for_each(|unit| figures::of_unit(unit, &mut take));
            }
        }
        if failed > REASONS as u64 {
            reasons.push(format!("and {} more", failed - REASONS as u64));
        }
        if matched == 0 {
            reasons.push(self.nothing(report));
        }
        Verdict { assertion: self.text.clone(), holds: reasons.is_empty(), reasons }
    }

    /// Whether a figure of the wanted name is of the subject itself and not of a part of it.
    fn is_of(&self, subject: &str) -> bool {
        match &self.subject {
            Subject::Run | Subject::Unit(_) => true,
            Subject::Fifo(_) => subject.matches('.').count() == 2,
        }
    }

    fn nothing(&self, report: &RunReport) -> String {
        const LISTED: usize = 10;
        let (what, known): (&str, Vec<String>) = match self.subject {
            Subject::Unit(_) => ("unit", report.units.iter().map(|unit| unit.name.clone()).collect()),
            _ => ("FIFO", report.fifos.iter().map(|fifo| fifo.id.to_string()).collect()),
        };
        let more = if known.len() > LISTED { ", …" } else { "" };
        let known = match known.len() {
            0 => "none".to_owned(),
            _ => known[..known.len().min(LISTED)].join(", "),
        };
        format!("the run has no such {what}; it has {known}{more}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        text.parse::<Assertion>().unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_condition_is_refused_with_what_was_expected() {
        assert!(refused("fifo.1.p99").contains("found no comparison"));
        assert!(refused("fifo.1.p99 ! 3").contains("found no comparison"));
        assert!(refused("latency < 3ns").contains("`fifo.ID.FIGURE`"));
        assert!(refused("fifo.x.p99 < 3ns").contains("`fifo.ID.FIGURE`"));
        assert!(refused("fifo.1.p98 < 3ns").contains("p90, p99, max, reader_edges.min"));
        assert!(refused("unit.a.b.usage > 1").contains("busy_edges, edges, utilisation"));
        assert!(refused("fifo.1.p99 < 3").contains("137ps"));
        assert!(refused("fifo.1.reader_edges.p99 < 3ns").contains("expected a number of edges"));
        assert!(refused("unit.*.utilisation > most").contains("90%"));
        assert!(refused("run.events == 1/0").contains("expected a number of events"));
    }

    #[test]
    fn values_are_exact_in_the_figure_s_unit() {
        let of = |text: &str| text.parse::<Assertion>().unwrap().value.to_string();
        assert_eq!(of("fifo.1.p99 <= 20.5ns"), "41/2000000000");
        assert_eq!(of("unit.a.utilisation >= 12.5%"), "1/8");
        assert_eq!(of("fifo.*.throughput.per_second>=900MHz"), "900000000");
        assert_eq!(of("fifo.1.throughput.per_edge > 2/4"), "1/2");
        assert_eq!(of("fifo.7.occupancy.mean < 3.5 entries"), "7/2");
        assert_eq!(of("fifo.7.full.edges = 12"), "12");
    }

    fn report() -> RunReport {
        let unit = |name: &str, busy: u64| UnitReport {
            name: name.to_owned(),
            busy_edges: busy,
            utilisation: Some(super::super::Figure::new(Unit::Share, Ratio::new(busy.into(), 8u32.into()))),
            ..UnitReport::default()
        };
        RunReport {
            fifos: vec![
                FifoReport { id: 1, written: 5, ..FifoReport::default() },
                FifoReport { id: 2, written: 7, ..FifoReport::default() },
            ],
            units: vec![unit("a.x", 3), unit("a.y", 5)],
            ..RunReport::default()
        }
    }

    #[test]
    fn every_subject_has_to_meet_the_condition() {
        let of = |text: &str| text.parse::<Assertion>().unwrap().check(&report());
        assert!(of("fifo.*.written > 4").holds);
        assert_eq!(of("fifo.*.written <= 5").reasons, ["fifo.2.written is 7, expected <= 5"]);
        assert_eq!(of("fifo.1.written != 5").reasons, ["fifo.1.written is 5, expected != 5"]);
        assert!(of("fifo.2.written == 7").holds && of("fifo.2.written >= 7").holds);
        assert!(!of("fifo.2.written < 7").holds);
        let verdict = of("unit.a.?.utilisation>=50%");
        assert_eq!(verdict.reasons, ["unit.a.x.utilisation is 37.50% (3/8), expected >= 50%"]);
    }

    #[test]
    fn what_is_not_there_or_not_known_does_not_hold() {
        let of = |text: &str| text.parse::<Assertion>().unwrap().check(&report()).reasons;
        assert_eq!(of("fifo.3.written >= 0"), ["the run has no such FIFO; it has 1, 2"]);
        assert_eq!(of("unit.b*.events >= 0"), ["the run has no such unit; it has a.x, a.y"]);
        assert_eq!(of("fifo.1.p50 <= 1ns"), ["fifo.1.median is not known, expected <= 1ns"]);
    }
}
