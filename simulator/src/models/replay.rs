//! Traffic from a file.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::port::{Outlet, Wiring};
use crate::graph::{Packet, Ports, Series, Tick, TickResult, Unit};

/// One packet of recorded traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrafficRow {
    /// Local cycle from which on it is offered.
    pub cycle: u64,
    /// The payload.
    pub payload: u64,
}

/// Why a traffic file was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrafficError {
    /// The operating system refused, or the file is not one.
    #[error("{path}: {message}; expected a readable file")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        message: String,
    },
    /// A line that cannot be.
    #[error("{path}:{line}: {found}; expected {expected}")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What was found.
        found: String,
        /// What would have been read.
        expected: &'static str,
    },
}

const HEADER: &str = "the heading `cycle,payload`";
const ROW: &str = "two whole numbers, cycle and payload";

/// Reads a CSV file with the heading `cycle,payload` and ascending cycles; empty lines and
/// those that begin with `#` are passed over.
///
/// # Errors
/// The first line that is no such thing.
pub fn read_traffic(path: &Path) -> Result<Vec<TrafficRow>, TrafficError> {
    let io = |message: String| TrafficError::Io { path: path.to_owned(), message };
    // Opening a pipe would wait for its writer.
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(io("not a regular file".to_owned()));
    }
    let file = File::open(path).map_err(|error| io(error.to_string()))?;
    let bad = |line: u64, found: String, expected| TrafficError::Line {
        path: path.to_owned(),
        line,
        found,
        expected,
    };
    let (mut rows, mut headed) = (Vec::<TrafficRow>::new(), false);
    for (number, line) in (1..).zip(BufReader::new(file).lines()) {
        let line = line.map_err(|error| io(error.to_string()))?;
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let found = || format!("`{}`", text.chars().take(64).collect::<String>());
        let fields = text.split_once(',').map(|(cycle, payload)| (cycle.trim(), payload.trim()));
        if !headed {
            if fields != Some(("cycle", "payload")) {
                return Err(bad(number, found(), HEADER));
            }
            headed = true;
            continue;
        }
        let row = fields.and_then(|(cycle, payload)| {
            Some(TrafficRow { cycle: cycle.parse().ok()?, payload: payload.parse().ok()? })
        });
        let row = row.ok_or_else(|| bad(number, found(), ROW))?;
        if let Some(last) = rows.last().filter(|last| last.cycle > row.cycle) {
            let found = format!("cycle {} after cycle {}", row.cycle, last.cycle);
            return Err(bad(number, found, "cycles that do not decrease"));
        }
        rows.push(row);
    }
    if headed { Ok(rows) } else { Err(bad(1, "nothing".to_owned(), HEADER)) }
}

/// Sends recorded traffic to `out`: each row from its cycle on, in order, as soon as it is accepted.
/// It sleeps where there is nothing to send.
#[derive(Debug)]
pub struct Replay {
    outlet: Outlet,
    series: Series,
    rows: Arc<[TrafficRow]>,
    sent: usize,
}

impl Replay {
    /// A replay of `rows`, whose cycles do not decrease.
    ///
    /// # Panics
    /// If `wiring` has not exactly `out`.
    pub fn new(ports: &mut Ports<'_>, wiring: &Wiring, rows: Arc<[TrafficRow]>) -> Self {
        Self { outlet: wiring.only_outlet(ports), series: ports.series(), rows, sent: 0 }
    }

    /// Packets accepted so far.
    pub fn sent(&self) -> usize {
        self.sent
    }
}

impl Unit for Replay {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        if let Some(row) = self.rows.get(self.sent)
            && row.cycle <= cx.cycle()
        {
            let packet = Packet::new(cx.in_series(self.series, self.sent as u64 + 1), row.payload);
            if self.outlet.send(cx, packet).is_ok() {
                self.sent += 1;
            }
        }
        cx.sleep_until(self.rows.get(self.sent).map_or(u64::MAX, |row| row.cycle));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<TrafficRow>, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.csv");
        std::fs::write(&path, text).unwrap();
        let shown = format!("{}", path.display());
        read_traffic(&path).map_err(|error| error.to_string().replace(&shown, "t.csv"))
    }

    #[test]
    fn rows_are_read_in_order() {
        let row = |cycle, payload| TrafficRow { cycle, payload };
        assert_eq!(
            read("# recorded\ncycle,payload\n0,7\n0, 8\r\n5,18446744073709551615\n").unwrap(),
            [row(0, 7), row(0, 8), row(5, u64::MAX)]
        );
        assert_eq!(read("cycle,payload\n").unwrap(), []);
    }

    #[test]
    fn refusals_name_the_line() {
        let refused = |text: &str| read(text).unwrap_err();
        assert_eq!(refused(""), "t.csv:1: nothing; expected the heading `cycle,payload`");
        assert_eq!(
            refused("time,payload\n"),
            "t.csv:1: `time,payload`; expected the heading `cycle,payload`"
        );
        let row = "expected two whole numbers, cycle and payload";
        assert_eq!(refused("cycle,payload\n1,2\n3\n"), format!("t.csv:3: `3`; {row}"));
        assert_eq!(refused("cycle,payload\n1,2,3\n"), format!("t.csv:2: `1,2,3`; {row}"));
        assert_eq!(refused("cycle,payload\n\n1,-2\n"), format!("t.csv:3: `1,-2`; {row}"));
        assert_eq!(refused("cycle,payload\n1.5,2\n"), format!("t.csv:2: `1.5,2`; {row}"));
        assert_eq!(
            refused("cycle,payload\n4,1\n3,1\n"),
            "t.csv:3: cycle 3 after cycle 4; expected cycles that do not decrease"
        );
        let folder = read_traffic(Path::new(".")).unwrap_err();
        assert!(matches!(folder, TrafficError::Io { .. }), "{folder}");
    }
}
