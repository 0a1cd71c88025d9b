//! Messages and progress on stderr, reports on stdout.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use clockweave::logs::LineError;
use clockweave::progress::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use super::failure::Failure;

/// Work shorter than this shows no progress.
const PATIENCE: Duration = Duration::from_secs(1);
/// Refused lines kept for reports and, unless all are wanted, told; more are counted.
const LISTED: usize = 100;

const RED: &str = "\x1b[1;31m";
const YELLOW: &str = "\x1b[1;33m";
const RESET: &str = "\x1b[0m";

/// Where a command talks to its user.
#[derive(Debug)]
pub(crate) struct Console {
    quiet: bool,
}

/// Writes to stderr; a stderr that is gone takes nothing with it.
fn to_stderr(text: &dyn Display) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// A report as JSON.
pub(crate) fn json(report: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(report)
        .map_err(|error| Failure::environment(format!("the report is no JSON: {error}")))
}

impl Console {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Says how it went, unless told to be quiet.
    pub(crate) fn note(&self, text: impl Display) {
        if !self.quiet {
            to_stderr(&text);
        }
    }

    pub(crate) fn warn(&self, text: impl Display) {
        to_stderr(&format_args!("{YELLOW}warning:{RESET} {text}"));
    }

    pub(crate) fn error(&self, text: impl Display) {
        to_stderr(&format_args!("{RED}error:{RESET} {text}"));
    }

    /// Says something to the machine that runs this and reads stderr too.
    pub(crate) fn command(&self, text: impl Display) {
        let _ = write!(io::stderr(), "{text}");
    }

    /// Writes data to stdout.
    pub(crate) fn print(&self, text: impl Display) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        let written = write!(out, "{text}").and_then(|()| out.flush());
        written.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::environment(format!("stdout: {error}")),
        })
    }

    /// Writes a report in words to stdout, unless told to be quiet.
    pub(crate) fn report(&self, text: impl Display) -> Result<(), Failure> {
        if self.quiet { Ok(()) } else { self.print(text) }
    }

    /// Writes a report as JSON to stdout.
    pub(crate) fn print_json(&self, report: &impl Serialize) -> Result<(), Failure> {
        self.print(format_args!("{}\n", json(report)?))
    }

    /// Progress of work that begins now.
    pub(crate) fn progress(&self) -> Bar<'_> {
        Bar {
            console: self,
            shown: !self.quiet && io::stderr().is_terminal(),
            since: Instant::now(),
            what: String::new(),
            total: 0,
            done: 0,
            bar: None,
            refused: Vec::new(),
            unlisted: 0,
            tells_all: false,
        }
    }
}

/// A refused line, for a report.
#[derive(Debug, Serialize)]
pub(crate) struct RefusedLine {
    file: String,
    line: u64,
    reason: String,
}

/// A progress bar that appears only if the work takes long enough.
#[derive(Debug)]
pub(crate) struct Bar<'a> {
    console: &'a Console,
    shown: bool,
    since: Instant,
    what: String,
    total: u64,
    done: u64,
    bar: Option<ProgressBar>,
    refused: Vec<RefusedLine>,
    unlisted: usize,
    tells_all: bool,
}

impl Bar<'_> {
    /// Tells every refused line, however many there are.
    pub(crate) fn tell_all(&mut self) {
        self.tells_all = true;
    }

    /// The lines refused so far, at most a hundred, and how many more there were.
    pub(crate) fn into_refused(mut self) -> (Vec<RefusedLine>, usize) {
        self.clear();
        (std::mem::take(&mut self.refused), self.unlisted)
    }

    /// Lets `tell` write without the bar in the way.
    pub(crate) fn aside<T>(&self, tell: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(tell),
            None => tell(),
        }
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn draw(&mut self) {
        if self.bar.is_none() && self.since.elapsed() >= PATIENCE {
            let bar = ProgressBar::with_draw_target(Some(self.total), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{msg:10} {wide_bar} {percent:>3}% {eta}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_message(self.what.clone());
            self.bar = Some(bar);
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        }
    }
}

impl Progress for Bar<'_> {
    fn stage(&mut self, what: &str, total: u64) {
        self.clear();
        (self.what, self.total, self.done) = (what.to_owned(), total, 0);
    }

    fn advance(&mut self, steps: u64) {
        self.done += steps;
        if self.shown {
            self.draw();
        }
    }

    fn refused(&mut self, error: &LineError) {
        let kept = self.refused.len() < LISTED;
        if !kept && !self.tells_all {
            self.unlisted += 1;
            return;
        }
        self.aside(|| self.console.warn(error));
        if !kept {
            return;
        }
        self.refused.push(RefusedLine {
            file: error.file.clone(),
            line: error.line,
            reason: error.fault.to_string(),
        });
    }
}

impl Drop for Bar<'_> {
    fn drop(&mut self) {
        self.clear();
        if self.unlisted > 0 {
            self.console.warn(format_args!("{} more refused lines are not listed", self.unlisted));
        }
    }
}

/// A number with commas between groups of three digits.
pub(crate) fn grouped(number: impl ToString) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `number` of something, in words.
pub(crate) fn counted(number: u64, one: &str) -> String {
    format!("{} {one}{}", grouped(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(counted(1, "event"), "1 event");
        assert_eq!(counted(2000, "event"), "2,000 events");
    }
}
