//! Arguments that several commands share.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use clockweave::output::is_dash;
use clockweave_model::{QuantityError, Seconds};
use glob::Pattern;

use super::failure::Failure;

/// Least memory that work which may spill takes.
const SMALLEST_MEMORY: u64 = 1 << 20;

/// Options of every command.
#[derive(Args)]
pub(crate) struct GlobalArgs {
    /// No progress, no summary: only data, warnings and errors
    #[arg(long, short, global = true, display_order = 900)]
    pub(crate) quiet: bool,
    /// When to colour messages; `auto` heeds the terminal and NO_COLOR
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value = "auto", display_order = 901)]
    pub(crate) color: Color,
}

// What work that may not fit into memory keeps to. A doc comment would become the help of a command.
#[derive(Args)]
pub(crate) struct SpillArgs {
    /// Memory to stay within
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = byte_size)]
    pub(crate) memory: u64,
    /// Where temporary files go [default: the system's place]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) temp_dir: Option<PathBuf>,
}

impl SpillArgs {
    /// An error if the memory is less than what any work needs.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.memory < SMALLEST_MEMORY {
            return Err(Failure::input(format_args!("--memory {}: expected at least 1MiB", self.memory)));
        }
        Ok(())
    }

    /// The folder for temporary files.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.temp_dir.clone().unwrap_or_else(std::env::temp_dir)
    }
}

/// A trace given by path, `-` for stdin, and its length, 0 if unknown.
pub(crate) fn open_trace(path: &Path) -> io::Result<(Box<dyn Read + Send>, u64)> {
    if is_dash(path) {
        return Ok((Box::new(io::stdin()), 0));
    }
    let file = File::open(path)?;
    let found = file.metadata()?;
    if found.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok((Box::new(file), found.len()))
}

/// When messages are coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    /// Makes it so for this process.
    pub(crate) fn apply(self) {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }

    pub(crate) fn for_help(self) -> clap::ColorChoice {
        match self {
            Self::Auto => clap::ColorChoice::Auto,
            Self::Always => clap::ColorChoice::Always,
            Self::Never => clap::ColorChoice::Never,
        }
    }
}

/// The colour choice of a command line that may turn out to be wrong: its error is coloured too.
pub(crate) fn color_of(args: impl Iterator<Item = OsString>) -> Color {
    let mut chosen = Color::Auto;
    let mut expected = false;
    for arg in args.skip(1) {
        let Some(text) = arg.to_str() else { continue };
        let value = if expected { Some(text) } else { text.strip_prefix("--color=") };
        if let Some(color) = value.and_then(|value| Color::from_str(value, false).ok()) {
            chosen = color;
        }
        expected = text == "--color";
    }
    chosen
}

/// A number of bytes with a unit: `64MiB`, `1GiB`, `500MB`.
pub(crate) fn byte_size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 8] = [
        ("", 1),
        ("B", 1),
        ("kB", 1000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ];
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let unit = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit.trim_start()));
    match (digits.parse::<u64>(), unit) {
        (Ok(number), Some((_, scale))) => {
            number.checked_mul(*scale).ok_or_else(|| "the size does not fit 64 bits".to_owned())
        }
        _ => Err("expected a number of bytes, as in 256MiB, 1GiB or 500MB".to_owned()),
    }
}

/// A pattern of names, where `*` is any text and `?` any character.
pub(crate) fn pattern(text: &str) -> Result<Pattern, String> {
    Ok(clockweave::pattern::pattern(text))
}

/// A time as a number with a unit: `10us`, `2.5ns`.
pub(crate) fn seconds(text: &str) -> Result<Seconds, String> {
    text.parse().map_err(|error: QuantityError| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(byte_size("256MiB"), Ok(256 << 20));
        assert_eq!(byte_size("1 gib"), Ok(1 << 30));
        assert_eq!(byte_size("500MB"), Ok(500_000_000));
        assert_eq!(byte_size("42"), Ok(42));
        for bad in ["", "MiB", "-1", "1.5GiB", "1XB", "99999999999GiB"] {
            assert!(byte_size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_colour_choice_is_found_wherever_it_is() {
        let of = |args: &[&str]| color_of(args.iter().map(OsString::from));
        assert_eq!(of(&["clockweave", "merge", "--color", "never", "x"]), Color::Never);
        assert_eq!(of(&["clockweave", "--color=always", "merge"]), Color::Always);
        assert_eq!(of(&["clockweave", "--color", "puce"]), Color::Auto);
    }
}
