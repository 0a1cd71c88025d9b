//! What is wrong with a scenario, and where.

use std::fmt;

use clockweave_model::{DomainError, QuantityError};

use crate::graph::TopologyError;
use crate::models::TrafficError;

/// Where in a scenario something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// In a file, or a text that was given a name.
    File {
        /// The name.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
    },
    /// In an override.
    Override {
        /// The override as given.
        text: String,
        /// Column in characters, from 1.
        column: usize,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, line, column } => write!(f, "{file}:{line}:{column}"),
            Self::Override { text, column } => write!(f, "override `{text}`, column {column}"),
        }
    }
}

/// Why a scenario was refused, and the place to look at.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {fault}")]
#[non_exhaustive]
pub struct ScenarioError {
    /// The place.
    pub place: Place,
    /// What is wrong there.
    pub fault: Box<Fault>,
}

/// What is wrong with a scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The text is no TOML.
    #[error("{0}")]
    Syntax(String),
    /// A key that nothing reads.
    #[error("unknown key `{key}` in {owner}; {}", hint(suggestion.as_deref(), expected))]
    UnknownKey {
        /// The key.
        key: String,
        /// What it is in.
        owner: String,
        /// A known key like it.
        suggestion: Option<String>,
        /// The known keys.
        expected: Vec<String>,
    },
    /// A name that stands for nothing.
    #[error("there is no {what} `{name}`; {}", hint(suggestion.as_deref(), expected))]
    UnknownName {
        /// What was meant.
        what: String,
        /// The name.
        name: String,
        /// A known name like it.
        suggestion: Option<String>,
        /// The known names, or the first of them.
        expected: Vec<String>,
    },
    /// Something required is not there.
    #[error("{owner} has no `{key}`; expected {expected}")]
    Missing {
        /// Where it is missing.
        owner: String,
        /// The key.
        key: String,
        /// What it would be.
        expected: String,
    },
    /// A value that cannot be.
    #[error("{what} is {found}; expected {expected}")]
    Value {
        /// Which value.
        what: String,
        /// What it is.
        found: String,
        /// What it should be.
        expected: String,
    },
    /// A frequency or time that cannot be.
    #[error("{what}: {error}")]
    Quantity {
        /// Which value.
        what: String,
        /// Why.
        error: QuantityError,
    },
    /// A clock domain that cannot be.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// Units and ports that do not fit together.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// A traffic file that cannot be read.
    #[error("traffic file {0}")]
    Traffic(TrafficError),
}

/// A suggestion, and what would have been understood.
fn hint(suggestion: Option<&str>, expected: &[String]) -> String {
    let guess = suggestion.map(|known| format!("did you mean `{known}`? ")).unwrap_or_default();
    match expected {
        [] => format!("{guess}expected nothing here"),
        [one] => format!("{guess}expected `{one}`"),
        many => format!("{guess}expected one of `{}`", many.join("`, `")),
    }
}

/// Names listed in an error, at most.
const LISTED: usize = 20;

/// The name among `known` that is most like `name`, if one is.
pub(super) fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let far = 1 + name.chars().count() / 3;
    let distances = known.into_iter().map(|known| (strsim::damerau_levenshtein(name, known), known));
    distances.filter(|(distance, _)| *distance <= far).min().map(|(_, known)| known)
}

impl Fault {
    pub(super) fn unknown_name<'a>(
        what: impl Into<String>,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        Self::UnknownName {
            what: what.into(),
            name: cut(name),
            suggestion: closest(name, known.iter().copied()).map(cut),
            expected: known.into_iter().take(LISTED).map(cut).collect(),
        }
    }
}

/// Text as errors quote it: not too long, and without control characters.
pub(super) fn cut(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars().take(64) {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}
