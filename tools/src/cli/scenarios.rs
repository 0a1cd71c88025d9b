//! `clockweave scenarios`, and scenarios by name.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use clockweave::output::is_dash;
use clockweave_simulator::scenario::{Scenario, builtin, builtins, closest_builtin};
use serde::Serialize;

use super::console::Console;
use super::failure::{Failure, Outcome};

/// Most bytes of a scenario.
const LONGEST: u64 = 64 << 20;

const NOTES: &str = "\
A built-in is a starting point for a scenario of one's own:
  clockweave scenarios --print fifo > mine.toml
  clockweave record mine.toml

`record` also knows pP-dD-wW-sS, as in p4-d2-w4000-s1: P pairs of source and
sink over D clock domains, W steps of work per tick, the first pair S times as
many.";

/// List the built-in scenarios, or print one
#[derive(Args)]
#[command(after_help = NOTES)]
pub(crate) struct ScenariosArgs {
    /// Print the TOML of this built-in
    #[arg(long, value_name = "NAME")]
    print: Option<String>,
    /// List as JSON
    #[arg(long, conflicts_with = "print")]
    json: bool,
}

#[derive(Serialize)]
struct JsonReport {
    report: &'static str,
    version: u32,
    scenarios: Vec<Listed>,
}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    summary: &'static str,
}

pub(crate) fn run(args: &ScenariosArgs, console: &Console) -> Result<Outcome, Failure> {
    if let Some(name) = &args.print {
        let text = builtin(name).ok_or_else(|| unknown(name, "no built-in scenario"))?;
        console.print(text)?;
    } else if args.json {
        let scenarios =
            builtins().iter().map(|known| Listed { name: known.name, summary: known.summary }).collect();
        console.print_json(&JsonReport { report: "scenarios", version: 1, scenarios })?;
    } else {
        let width = builtins().iter().map(|known| known.name.len()).max().unwrap_or(0);
        let lines: String =
            builtins().iter().map(|known| format!("{:width$}  {}\n", known.name, known.summary)).collect();
        console.print(lines)?;
    }
    Ok(Outcome::Fine)
}

fn unknown(name: &str, what: &str) -> Failure {
    let near =
        closest_builtin(name).map_or_else(|| ";".to_owned(), |near| format!("; did you mean `{near}`?"));
    Failure::input(format_args!("`{name}` is {what}{near} `clockweave scenarios` lists the built-ins"))
}

/// A scenario's text, what errors call it, and its file.
pub(crate) struct Source {
    pub(crate) text: String,
    pub(crate) name: String,
    pub(crate) file: Option<PathBuf>,
}

impl Source {
    /// The built-in of that name, else the file; `-` is stdin.
    pub(crate) fn find(given: &Path) -> Result<Self, Failure> {
        if let Some(name) = given.to_str()
            && let Some(text) = builtin(name)
        {
            return Ok(Self { text: text.into_owned(), name: format!("built-in `{name}`"), file: None });
        }
        let (read, name, file) = if is_dash(given) {
            (read_limited(std::io::stdin().lock()), "stdin".to_owned(), None)
        } else {
            let read = fs::File::open(given).and_then(read_limited);
            (read, given.display().to_string(), Some(given.to_owned()))
        };
        match read {
            Ok(text) if text.len() as u64 > LONGEST => {
                Err(Failure::input(format_args!("{name}: the scenario is longer than {LONGEST} bytes")))
            }
            Ok(text) => match String::from_utf8(text) {
                Ok(text) => Ok(Self { text, name, file }),
                Err(error) => {
                    let at = error.utf8_error().valid_up_to();
                    Err(Failure::input(format_args!("{name}: byte {at} is not UTF-8, expected a TOML file")))
                }
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(unknown(&name, "neither a file nor a built-in scenario"))
            }
            Err(error) => Err(Failure::opening(given, &error)),
        }
    }

    /// The scenario, with `overrides` as `key=value`.
    pub(crate) fn parse(&self, overrides: &[String]) -> Result<Scenario, Failure> {
        Scenario::with_overrides(&self.text, &self.name, overrides.iter().map(String::as_str))
            .map_err(Failure::input)
    }
}

fn read_limited(source: impl Read) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    source.take(LONGEST + 1).read_to_end(&mut text)?;
    Ok(text)
}
