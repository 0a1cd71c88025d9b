//! Negative controls of the run queue's differential test: each mutation is applied to a copy of the
//! sources, and the test must turn red, or for the equivalent one stay green.
//!
//! The copy is a package of its own without dependencies, built by the cargo that is there. A
//! mutation whose text is no longer in the sources is an error, never a pass.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use clockweave_validators::open_regular;
use serde::Serialize;

use crate::scratch::TempFolder;

/// What the differential test must say of a mutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Expected {
    /// Head and reference differ.
    Red,
    /// Every decision is the same; the division's own test must be red instead.
    Equivalent,
}

/// A change of one place of the sources.
#[derive(Clone, Copy, Debug)]
pub struct Mutation {
    /// Its number.
    pub number: u32,
    /// What it breaks.
    pub what: &'static str,
    /// What the test must say.
    pub expected: Expected,
    /// The file below the crate's folder.
    file: &'static str,
    /// A text that is there once, and its replacement.
    change: (&'static str, &'static str),
}

/// Every mutation.
pub const MUTATIONS: [Mutation; 8] = [
    Mutation {
        number: 1,
        what: "the remainder of a general division is halved",
        expected: Expected::Red,
        file: "src/division.rs",
        change: (
            "    floor(n, d)\n",
            "    let (quotient, remainder) = floor(n, d);\n    (quotient, remainder / 2)\n",
        ),
    },
    Mutation {
        number: 2,
        what: "a lone exit's unfinished request is one unit short",
        expected: Expected::Red,
        file: "src/eevdf/mod.rs",
        change: ("Left { lag: 0, request_left }", "Left { lag: 0, request_left: request_left - 1 }"),
    },
    Mutation {
        number: 3,
        what: "a new group is stored out of job order",
        expected: Expected::Red,
        file: "src/queue/groups.rs",
        change: ("self.sorted.insert(at, (key, slot));", "self.sorted.insert(at / 2, (key, slot));"),
    },
    Mutation {
        number: 4,
        what: "a mask of two CPUs is counted as unrestricted",
        expected: Expected::Red,
        file: "src/affinity.rs",
        change: ("1 => Reach::Pinned,", "1 => Reach::Pinned,\n            2 => Reach::Unrestricted,"),
    },
    Mutation {
        number: 5,
        what: "the whole weight is given while one thread is elsewhere",
        expected: Expected::Red,
        file: "src/queue/groups.rs",
        change: ("if here == all {", "if here + 1 >= all {"),
    },
    Mutation {
        number: 6,
        what: "the reach is not refreshed together with the mask",
        expected: Expected::Red,
        file: "src/affinity.rs",
        change: (
            "*self = Self::new(mask, machine);",
            "let _ = machine;\n        self.mask = Arc::clone(mask);",
        ),
    },
    Mutation {
        number: 7,
        what: "a division by a power of two rounds towards zero",
        expected: Expected::Red,
        file: "src/division.rs",
        change: (
            "return n >> d.trailing_zeros();\n    }\n    floor(n, d).0",
            "return n / i128::from(d);\n    }\n    floor(n, d).0",
        ),
    },
    Mutation {
        number: 8,
        what: "the remainder of a division by a power of two is halved",
        expected: Expected::Equivalent,
        file: "src/division.rs",
        change: ("let remainder = n as u64 & (d - 1);", "let remainder = (n as u64 & (d - 1)) / 2;"),
    },
];

/// Where head and reference part first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FirstRed {
    /// The schedule.
    pub schedule: u64,
    /// The step in it.
    pub step: u64,
    /// What differs.
    pub what: String,
}

/// What became of a mutation.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// Its number.
    pub number: u32,
    /// What it breaks.
    pub what: &'static str,
    /// What the test must say.
    pub expected: Expected,
    /// Where the differential test is red; `None` if it is green.
    pub first_red: Option<FirstRed>,
    /// Whether the division's own test is red; asked where the mutation is equivalent.
    pub division_red: Option<bool>,
}

impl Verdict {
    /// Whether the tests say what they must.
    pub fn caught(&self) -> bool {
        match self.expected {
            Expected::Red => self.first_red.is_some(),
            Expected::Equivalent => self.first_red.is_none() && self.division_red == Some(true),
        }
    }
}

/// Why there is no verdict.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MutantsError {
    /// The folder does not hold the crate.
    #[error("{}: found no {file}, expected the folder of the run queue's crate, simulator/runqueue", folder.display())]
    NoSources {
        /// The folder.
        folder: PathBuf,
        /// What it lacks.
        file: &'static str,
    },
    /// A text to be replaced is not there exactly once.
    #[error(
        "{file}: found the text of mutation {number} {found} times, expected once: {text:?}; the mutation has to follow the sources"
    )]
    Stale {
        /// The mutation.
        number: u32,
        /// The file.
        file: &'static str,
        /// Its text.
        text: &'static str,
        /// How often it is there.
        found: usize,
    },
    /// Nothing is red before anything is changed.
    #[error("the unchanged sources are red already, in schedule {} at step {}: {}", first.schedule, first.step, first.what)]
    RedAlready {
        /// Where.
        first: FirstRed,
    },
    /// A copy does not compile, or its test ends in no known way.
    #[error("{subject}: {problem}\n{output}")]
    Build {
        /// The mutation.
        subject: String,
        /// What happened.
        problem: &'static str,
        /// The end of cargo's output.
        output: String,
    },
    /// A file or a program cannot be had.
    #[error("{}: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

const MANIFEST: &str = "\
[package]
name = \"clockweave-runqueue\"
version = \"0.0.0\"
edition = \"2024\"

[features]
count-divisions = []

[workspace]

[profile.dev]
opt-level = 1
debug = false
";

/// A copy of the crate's sources.
struct Workbench {
    root: PathBuf,
    cargo: OsString,
}

/// Runs the mutations of these numbers (all if there are none) on copies of `sources`; `judged` gets each verdict.
///
/// # Errors
/// The sources are not there or have moved away from a mutation; the unchanged ones are red; cargo cannot be had.
pub fn run(
    sources: &Path,
    only: &[u32],
    mut judged: impl FnMut(&Verdict),
) -> Result<Vec<Verdict>, MutantsError> {
    let chosen: Vec<&Mutation> =
        MUTATIONS.iter().filter(|mutation| only.is_empty() || only.contains(&mutation.number)).collect();
    for mutation in &chosen {
        mutated(sources, mutation)?;
    }
    let mut folder = TempFolder::new_in(&std::env::temp_dir());
    let copy = Workbench::new(sources, &mut folder)?;
    if let Some(first) = copy.differential("the unchanged sources")? {
        return Err(MutantsError::RedAlready { first });
    }
    let mut verdicts = Vec::new();
    for mutation in chosen {
        let path = copy.root.join(mutation.file);
        write(&path, &mutated(sources, mutation)?)?;
        let subject = format!("mutation {}", mutation.number);
        let first_red = copy.differential(&subject)?;
        let division_red = match mutation.expected {
            Expected::Red => None,
            Expected::Equivalent => Some(copy.division_is_red(&subject)?),
        };
        let (number, what, expected) = (mutation.number, mutation.what, mutation.expected);
        let verdict = Verdict { number, what, expected, first_red, division_red };
        judged(&verdict);
        verdicts.push(verdict);
        write(&path, &read(&sources.join(mutation.file))?)?;
    }
    Ok(verdicts)
}

/// The text of a mutation's file, changed.
fn mutated(sources: &Path, mutation: &Mutation) -> Result<String, MutantsError> {
    let (from, to) = mutation.change;
    let text = match fs::read_to_string(sources.join(mutation.file)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(MutantsError::NoSources { folder: sources.to_owned(), file: mutation.file });
        }
        Err(source) => return Err(MutantsError::Io { path: sources.join(mutation.file), source }),
    };
    let found = text.matches(from).count();
    if found != 1 {
        let (number, file) = (mutation.number, mutation.file);
        return Err(MutantsError::Stale { number, file, text: from, found });
    }
    Ok(text.replacen(from, to, 1))
}

fn read(path: &Path) -> Result<String, MutantsError> {
    fs::read_to_string(path).map_err(|source| MutantsError::Io { path: path.to_owned(), source })
}

fn write(path: &Path, text: &str) -> Result<(), MutantsError> {
    fs::write(path, text).map_err(|source| MutantsError::Io { path: path.to_owned(), source })
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), MutantsError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| MutantsError::Io { path, source }
    };
    fs::create_dir_all(to).map_err(failed(to))?;
    for entry in fs::read_dir(from).map_err(failed(from))? {
        let entry = entry.map_err(failed(from))?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        // Links to folders could go round in circles, and pipes would be waited for.
        if entry.file_type().map_err(failed(&path))?.is_dir() {
            copy_folder(&path, &target)?;
        } else {
            let mut file = open_regular(&path).map_err(failed(&path))?;
            let mut copy = fs::File::create(&target).map_err(failed(&target))?;
            io::copy(&mut file, &mut copy).map_err(failed(&path))?;
        }
    }
    Ok(())
}

impl Workbench {
    fn new(sources: &Path, folder: &mut TempFolder) -> Result<Self, MutantsError> {
        // The first file makes the folder.
        let made = folder.create();
        let place = folder.place().to_owned();
        made.map_err(|source| MutantsError::Io { path: place.clone(), source })?;
        let root = place.join("runqueue");
        for part in ["src", "tests/differential"] {
            copy_folder(&sources.join(part), &root.join(part))?;
        }
        write(&root.join("Cargo.toml"), MANIFEST)?;
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Ok(Self { root, cargo })
    }

    fn cargo(&self, arguments: &[&str]) -> Result<Output, MutantsError> {
        let ran = Command::new(&self.cargo)
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", self.root.join("target"))
            .env("CARGO_TERM_COLOR", "never")
            .env_remove("RUSTFLAGS")
            .args(["test", "--offline", "--quiet"])
            .args(arguments)
            .output();
        ran.map_err(|source| MutantsError::Io { path: self.cargo.clone().into(), source })
    }

    fn build(&self, subject: &str, arguments: &[&str]) -> Result<(), MutantsError> {
        let built = self.cargo(&[arguments, &["--no-run"]].concat())?;
        if built.status.success() { Ok(()) } else { Err(failure(subject, "does not compile", &built)) }
    }

    /// Where the differential test is red.
    fn differential(&self, subject: &str) -> Result<Option<FirstRed>, MutantsError> {
        let test = ["--test", "differential"];
        self.build(subject, &test)?;
        let ran = self.cargo(&[&test[..], &["head_and_reference_agree", "--", "--exact"]].concat())?;
        let text = String::from_utf8_lossy(&ran.stdout);
        let first = text.lines().find_map(first_red);
        match (ran.status.success(), first) {
            (true, None) if text.contains("1 passed") => Ok(None),
            (false, Some(first)) => Ok(Some(first)),
            _ => Err(failure(subject, "its test ended in no known way", &ran)),
        }
    }

    fn division_is_red(&self, subject: &str) -> Result<bool, MutantsError> {
        self.build(subject, &["--lib"])?;
        let ran = self.cargo(&["--lib", "both_divisions_are_euclidean"])?;
        let text = String::from_utf8_lossy(&ran.stdout);
        match (text.contains("1 passed"), text.contains("1 failed")) {
            (true, false) => Ok(false),
            (false, true) => Ok(true),
            _ => Err(failure(subject, "the division's test ended in no known way", &ran)),
        }
    }
}

/// Reads the line by which the differential test says where it is red.
fn first_red(line: &str) -> Option<FirstRed> {
    let rest = line.strip_prefix("DIFFERENCE schedule=")?;
    let (schedule, rest) = rest.split_once(" step=")?;
    let (step, what) = rest.split_once(' ')?;
    Some(FirstRed { schedule: schedule.parse().ok()?, step: step.parse().ok()?, what: what.to_owned() })
}

fn failure(subject: &str, problem: &'static str, output: &Output) -> MutantsError {
    let text = [&output.stderr[..], &output.stdout[..]].concat();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let last = lines[lines.len().saturating_sub(20)..].join("\n");
    MutantsError::Build { subject: subject.to_owned(), problem, output: last }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutation_follows_the_sources() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../simulator/runqueue");
        for mutation in &MUTATIONS {
            let changed = mutated(&sources, mutation).unwrap();
            assert_ne!(changed, read(&sources.join(mutation.file)).unwrap(), "{}", mutation.number);
        }
        assert!(MUTATIONS.iter().map(|mutation| mutation.number).eq(1..=8));
    }

    #[test]
    fn an_uncaught_mutation_is_told_from_a_caught_one() {
        let first = first_red("DIFFERENCE schedule=3 step=47 after charge, queue 1: weight").unwrap();
        assert_eq!(
            (first.schedule, first.step, first.what.as_str()),
            (3, 47, "after charge, queue 1: weight")
        );
        let verdict = |expected, first_red: Option<FirstRed>, division_red| {
            Verdict { number: 1, what: "", expected, first_red, division_red }.caught()
        };
        assert!(verdict(Expected::Red, Some(first.clone()), None) && !verdict(Expected::Red, None, None));
        assert!(verdict(Expected::Equivalent, None, Some(true)));
        assert!(!verdict(Expected::Equivalent, None, Some(false)));
        assert!(!verdict(Expected::Equivalent, Some(first), Some(true)));
    }
}
