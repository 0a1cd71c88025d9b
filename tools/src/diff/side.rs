//! One side of a comparison: what it is, and its rows.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender};

use super::Losses;
use super::row::Parsed;
use crate::logs::{GAP, Lines, Step, excerpt, parse_gap};
use crate::merge::{self, MergeError, MergeOptions, TextFormat};
use crate::output::is_dash;
use crate::recorded::{Found, Recorded, RecordedError, beginning};

/// Bytes of the buffer that lines are cut from.
const BUFFER: usize = 128 * 1024;

/// Why two runs were not compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiffError {
    /// The file cannot be opened or read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The side.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// It is no recorded run.
    #[error(transparent)]
    Recorded(#[from] RecordedError),
    /// The file is neither a trace nor a merged log.
    #[error("{}: found {found}, expected a run directory, a trace, or a merged log of one run (tsv)", path.display())]
    Kind {
        /// The side.
        path: PathBuf,
        /// What it seems to be.
        found: String,
    },
    /// A line of a merged log.
    #[error("{file}:{line}: found `{found}`, expected {expected}")]
    Line {
        /// The side.
        file: String,
        /// Line number, from 1.
        line: u64,
        /// Beginning of the line.
        found: String,
        /// What was expected.
        expected: &'static str,
    },
    /// The logs of a run cannot be merged.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// Lines of a run's log were cut short.
    #[error(
        "{file}: the last line has no line feed, so the run was killed; compare what `merge` makes of it"
    )]
    Torn {
        /// The log.
        file: String,
    },
}

enum Kind {
    Run(Recorded),
    /// Taken by the thread that reads it.
    Log(Mutex<Option<Box<dyn Read + Send>>>),
}

/// One side.
pub(super) struct Side {
    path: PathBuf,
    kind: Kind,
}

impl Side {
    pub(super) fn open(path: &Path, options: &MergeOptions) -> Result<Self, DiffError> {
        let kind = match Recorded::find(path, &options.scratch, &mut ())? {
            Found::Run(run) => Kind::Run(run),
            Found::Other(head, whole) => match &head[..] {
                b"time" => Kind::Log(Mutex::new(Some(whole))),
                b"run\t" => {
                    let found = "a merged log of several runs".to_owned();
                    return Err(DiffError::Kind { path: path.to_owned(), found });
                }
                other => return Err(DiffError::Kind { path: path.to_owned(), found: beginning(other) }),
            },
        };
        Ok(Self { path: path.to_owned(), kind })
    }

    /// What messages call it.
    pub(super) fn name(&self) -> String {
        if is_dash(&self.path) { "stdin".to_owned() } else { self.path.display().to_string() }
    }

    /// Sends the side's merged log; ends early when nobody takes it.
    pub(super) fn feed(&self, options: &MergeOptions, send: SyncSender<Vec<u8>>) -> Result<(), DiffError> {
        let mut out = Sender(send);
        let run = match &self.kind {
            Kind::Run(run) => run.run(),
            Kind::Log(text) => {
                let text = text.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
                let Some(mut text) = text else { return Ok(()) };
                return match io::copy(&mut text, &mut out) {
                    Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                        Err(DiffError::Io { path: self.path.clone(), source: error })
                    }
                    _ => Ok(()),
                };
            }
        };
        match merge::merge(std::slice::from_ref(run), options, TextFormat::Tsv, out, &mut ()) {
            Ok(report) => match report.logs.into_iter().find(|log| log.torn.is_some()) {
                Some(log) => Err(DiffError::Torn { file: log.file }),
                None => Ok(()),
            },
            Err(MergeError::Write(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Bytes into a channel.
struct Sender(SyncSender<Vec<u8>>);

impl Write for Sender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.send(bytes.to_vec());
        sent.map(|()| bytes.len()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes out of a channel.
struct Blocks {
    receive: Receiver<Vec<u8>>,
    block: Vec<u8>,
    at: usize,
}

impl Read for Blocks {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.block.len() {
            match self.receive.recv() {
                Ok(block) => (self.block, self.at) = (block, 0),
                Err(_) => return Ok(0),
            }
        }
        let rest = &self.block[self.at..];
        let taken = rest.len().min(out.len());
        out[..taken].copy_from_slice(&rest[..taken]);
        self.at += taken;
        Ok(taken)
    }
}

/// The row before the one that a side stands on, of a log that nobody has looked at yet.
#[derive(Default)]
struct Before(String);

/// The rows of one side, standing on one of them.
pub(super) struct Rows {
    name: String,
    lines: Lines<Blocks>,
    /// For a merged log as found, whose rows and their order are checked; the logs of a run are when they are merged.
    found: Option<Before>,
    events: u64,
    losses: Losses,
}

impl Rows {
    pub(super) fn new(side: &Side, receive: Receiver<Vec<u8>>) -> Self {
        let blocks = Blocks { receive, block: Vec::new(), at: 0 };
        let name = side.name();
        let found = matches!(side.kind, Kind::Log(_)).then(Before::default);
        Self { name, found, lines: Lines::new(blocks, BUFFER), events: 0, losses: Losses::default() }
    }

    fn refuse(&self, expected: &'static str) -> DiffError {
        DiffError::Line {
            file: self.name.clone(),
            line: self.lines.number(),
            found: excerpt(self.lines.line()),
            expected,
        }
    }

    /// Goes to the next row; false at the end.
    pub(super) fn advance(&mut self) -> Result<bool, DiffError> {
        loop {
            let step = self.lines.advance();
            match step.map_err(|source| DiffError::Io { path: PathBuf::from(&self.name), source })? {
                Step::Line => {}
                Step::End => return Ok(false),
                Step::Torn => return Err(self.refuse("a line feed at the end of the last line")),
                Step::TooLong => return Err(self.refuse("a line of at most 64 KiB")),
            }
            let line = self.lines.line();
            if str::from_utf8(line).is_err() {
                return Err(self.refuse("UTF-8"));
            }
            if line.starts_with(b"#") {
                self.lose()?;
            } else if self.lines.number() > 1 {
                self.check()?;
                self.events += 1;
                return Ok(true);
            } else if !line.split(|byte| *byte == b'\t').eq(merge::columns(1).map(str::as_bytes)) {
                return Err(self.refuse("the names of the twelve columns of a merged log"));
            }
        }
    }

    /// A row of a log as found is one, and comes after the one before.
    fn check(&mut self) -> Result<(), DiffError> {
        let Some(Before(before)) = &self.found else { return Ok(()) };
        let row = self.parsed()?;
        let falls =
            !before.is_empty() && Parsed::read(before).is_some_and(|before| before.place_cmp(&row).is_ge());
        if falls {
            return Err(self.refuse("a row behind the one before it, in the order of `merge`"));
        }
        let line = str::from_utf8(self.lines.line()).unwrap_or_default();
        if let Some(Before(before)) = &mut self.found {
            before.clear();
            before.push_str(line);
        }
        Ok(())
    }

    /// A comment; a gap tells what was lost.
    fn lose(&mut self) -> Result<(), DiffError> {
        let line = self.lines.line();
        if !line.starts_with(GAP.as_bytes()) {
            return Ok(());
        }
        let Some(gap) = parse_gap(line).filter(|gap| gap.count > 0) else {
            return Err(self.refuse("a gap as `# gap unit=… ordinal=… count=… cycle=… phase=…`"));
        };
        self.losses.gaps += 1;
        self.losses.lost_events = self.losses.lost_events.saturating_add(gap.count);
        let numbers = [gap.ordinal, gap.count, gap.cycle, gap.phase.into()];
        let numbers = numbers.iter().flat_map(|number| number.to_le_bytes());
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let bytes = gap.unit.bytes().chain([0]).chain(numbers);
        self.losses.digest = bytes.fold(self.losses.digest, mix);
        Ok(())
    }

    /// The row's text.
    pub(super) fn line(&self) -> &str {
        str::from_utf8(self.lines.line()).unwrap_or_default()
    }

    pub(super) fn parsed(&self) -> Result<Parsed<'_>, DiffError> {
        Parsed::read(self.line()).ok_or_else(|| self.refuse("the twelve columns of a merged log"))
    }

    pub(super) fn events(&self) -> u64 {
        self.events
    }

    pub(super) fn losses(&self) -> Losses {
        self.losses
    }
}
