//! Stored choices: a run to be replayed, with what it must show.
//!
//! Text: `# scenario: NAME`, `# expect: fail` with the rules it breaks or `# expect: pass`, `# variant: NAME`
//! where the machine is a broken one, notes and comments behind `#`; then the choices, 32 a line.
//! Choices behind the last are 0.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::explore::explore;
use super::laws::Law;
use super::scenarios::{SCENARIOS, Scenario};
use super::variant::Variant;
use super::{Choices, Outcome};

const PER_LINE: usize = 32;
/// More choices than any run makes.
const MOST_DECISIONS: usize = 1_000_000;
/// Characters of a header that are looked at: more than the names of all rules have.
const MOST_VALUE: usize = 1000;
/// Characters of a word that an error shows.
const MOST_SHOWN: usize = 64;

/// What a replay must show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// No broken rule.
    Pass,
    /// Exactly these broken rules.
    Fail(BTreeSet<Law>),
}

/// A stored run.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// The scenario.
    pub scenario: &'static Scenario,
    /// The machine.
    pub variant: Variant,
    /// What it must show.
    pub expect: Expectation,
    /// The choices.
    pub decisions: Vec<u32>,
}

/// What is wrong with a corpus file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct CorpusError {
    /// The line, from 1; the last one where something is missing.
    pub line: usize,
    /// What was found and expected.
    pub problem: String,
}

impl Corpus {
    /// Reads a corpus file.
    ///
    /// # Errors
    /// An unknown scenario, variant or rule, no expectation, something that is no number.
    pub fn parse(text: &str) -> Result<Self, CorpusError> {
        let (mut scenario, mut variant, mut expect) = (None, Variant::Sound, None);
        let mut decisions = Vec::new();
        let mut last = 1;
        for (line, text) in (1..).zip(text.lines()) {
            last = line;
            let bad = |problem: String| CorpusError { line, problem };
            let Some(header) = text.strip_prefix('#') else {
                for word in text.split_whitespace() {
                    let shown: String = word.chars().take(MOST_SHOWN).collect();
                    let number = word.parse();
                    let number = number.map_err(|_| bad(format!("found {shown:?}, expected a choice")))?;
                    if decisions.len() == MOST_DECISIONS {
                        return Err(bad(format!("found more than {MOST_DECISIONS} choices")));
                    }
                    decisions.push(number);
                }
                continue;
            };
            let Some((key, value)) = header.split_once(':') else { continue };
            let value: String = value.trim().chars().take(MOST_VALUE).collect();
            let value = value.as_str();
            match key.trim() {
                "scenario" => {
                    let known = SCENARIOS.iter().find(|scenario| scenario.name == value);
                    scenario = Some(known.ok_or_else(|| bad(format!("found no scenario {value:?}")))?);
                }
                "variant" => {
                    let known = Variant::named(value);
                    variant = known.ok_or_else(|| bad(format!("found no variant {value:?}")))?;
                }
                "expect" => expect = Some(expectation(value).map_err(bad)?),
                _ => {}
            }
        }
        let missing =
            |what: &str| CorpusError { line: last, problem: format!("found no line `# {what}: …`") };
        let scenario = scenario.ok_or_else(|| missing("scenario"))?;
        let expect = expect.ok_or_else(|| missing("expect"))?;
        Ok(Self { scenario, variant, expect, decisions })
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let mut text = format!("# scenario: {}\n", self.scenario.name);
        if self.variant != Variant::Sound {
            let _ = writeln!(text, "# variant: {}", self.variant.name());
        }
        match &self.expect {
            Expectation::Pass => text.push_str("# expect: pass\n"),
            Expectation::Fail(laws) => {
                let names: Vec<&str> = laws.iter().map(|law| law.name()).collect();
                let _ = writeln!(text, "# expect: fail {}", names.join(" "));
            }
        }
        for line in self.decisions.chunks(PER_LINE) {
            let words: Vec<String> = line.iter().map(u32::to_string).collect();
            let _ = writeln!(text, "{}", words.join(" "));
        }
        text
    }

    /// Runs it again.
    pub fn replay(&self) -> Outcome {
        explore(self.scenario, self.variant, Choices::replay(self.decisions.clone()))
    }

    /// Whether a replay shows what it must.
    pub fn holds(&self, outcome: &Outcome) -> bool {
        match &self.expect {
            Expectation::Pass => outcome.violations.is_empty(),
            Expectation::Fail(laws) => outcome.laws() == *laws,
        }
    }
}

fn expectation(value: &str) -> Result<Expectation, String> {
    let mut words = value.split_whitespace();
    match words.next() {
        Some("pass") => Ok(Expectation::Pass),
        Some("fail") => {
            let laws = words.map(|word| Law::named(word).ok_or_else(|| format!("found no rule {word:?}")));
            let laws: BTreeSet<Law> = laws.collect::<Result<_, _>>()?;
            if laws.is_empty() {
                return Err("found `fail` alone, expected the rules it breaks".to_owned());
            }
            Ok(Expectation::Fail(laws))
        }
        _ => Err(format!("found {value:?}, expected `pass` or `fail` and the rules")),
    }
}
