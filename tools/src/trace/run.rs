//! A trace as a run: its clocks, units and events as the logs they were recorded from.
//!
//! Invariants: only what the trace itself says is used (the instants `clock.domain` and `run`, the
//! tracks, the events of category `clock`); events go to temporary per-domain logs, so memory does not
//! grow with them. Damage ends the trace, and is told.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clockweave_model::{Manifest, ManifestDomain, ManifestStream};
use clockweave_validators::scan::{Cut, Packet, ReadError, Value};

use super::names::{Annotation, Event, Names, fields};
use super::walk::{Place, Visitor, WalkError, walk};
use crate::logs::{FileLog, LogSource};
use crate::progress::Progress;
use crate::run::{Run, RunError};
use crate::scratch::TempFolder;

/// Why a trace is no run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceRunError {
    /// The trace cannot be read.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// It does not describe its clocks.
    #[error("found no clock of an event's unit, expected a trace of this suite, which names its clocks")]
    NoClock,
    /// An event without what places it.
    #[error(
        "at byte {offset}: an event of category `clock` without {missing}; expected a trace of this suite"
    )]
    Event {
        /// Offset of its top-level packet.
        offset: u64,
        /// What it lacks.
        missing: &'static str,
    },
    /// A unit that two tracks have, or a track that two units have.
    #[error(
        "at byte {offset}: found unit {id} as {found:?} and as {known:?}, expected one unit of a name, on one track"
    )]
    Unit {
        /// Offset of its top-level packet.
        offset: u64,
        /// The unit's id.
        id: u64,
        /// The name of the event's track.
        found: String,
        /// What was known.
        known: String,
    },
    /// A name that a log cannot hold.
    #[error(
        "at byte {offset}: found the {what} {found:?}, expected 1 to {MOST_NAME} bytes without control characters"
    )]
    Name {
        /// Offset of the top-level packet.
        offset: u64,
        /// Whose name it is.
        what: &'static str,
        /// The name's beginning.
        found: String,
    },
    /// The clocks and units contradict each other.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Temporary files could not be written.
    #[error("writing temporary files in {}: {source}", path.display())]
    Scratch {
        /// The folder.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

/// Bytes of the longest name.
const MOST_NAME: usize = 1024;

/// An error for a name that a log cannot hold.
fn check_name(place: Place, what: &'static str, name: &str) -> Result<(), TraceRunError> {
    if (1..=MOST_NAME).contains(&name.len()) && !name.chars().any(char::is_control) {
        return Ok(());
    }
    Err(TraceRunError::Name { offset: place.offset, what, found: name.chars().take(64).collect() })
}

/// A run read from a trace.
pub(crate) struct TraceRun {
    pub(crate) run: Run,
    /// Where the trace is damaged.
    pub(crate) cut: Option<Cut>,
    /// Holds the logs.
    _folder: TempFolder,
}

/// The columns of an event after its name, and its unit.
#[derive(Clone, Copy, Debug, Default)]
struct Columns {
    unit: Option<u64>,
    fifo: u64,
    phase: u64,
    value: u64,
    ordinal: u64,
    cycle: u64,
    transaction: u64,
}

impl Columns {
    /// The extension message's fields, in the trace format's numbering.
    fn of_extension(message: &[u8]) -> Self {
        let mut columns = Self::default();
        for field in fields(message) {
            if let Value::Varint(value) = field.value {
                columns.set(field.number, value);
            }
        }
        columns
    }

    fn set(&mut self, number: u32, value: u64) {
        match number {
            1 => self.unit = Some(value),
            2 => self.fifo = value,
            3 => self.phase = value,
            4 => self.value = value,
            5 => self.ordinal = value,
            6 => self.cycle = value,
            7 => self.transaction = value,
            _ => {}
        }
    }

    fn of_annotations(names: &Names, event: &Event<'_>) -> Self {
        const NAMES: [&str; 7] =
            ["unit_id", "fifo_id", "phase", "value", "ordinal", "local_cycle", "transaction_id"];
        let mut columns = Self::default();
        for (name, value) in names.annotations(event) {
            let number = (1u32..).zip(NAMES).find(|(_, known)| *known == name).map(|(number, _)| number);
            if let (Some(number), Annotation::Number(value)) = (number, value) {
                columns.set(number, value);
            }
        }
        columns
    }
}

struct Track {
    name: String,
    parent: Option<u64>,
}

struct Log {
    path: PathBuf,
    out: BufWriter<File>,
}

struct Reader {
    sequences: BTreeMap<u32, Names>,
    tracks: BTreeMap<u64, Track>,
    run_id: Option<String>,
    /// Domain by its track.
    domains: BTreeMap<u64, ManifestDomain>,
    /// Domain's track, unit's name and own track by unit id.
    units: BTreeMap<u64, (u64, String)>,
    /// Unit by its track, for gaps.
    unit_of_track: BTreeMap<u64, u64>,
    unit_of_name: BTreeMap<String, u64>,
    /// Gaps of units that had no event yet.
    early_gaps: BTreeMap<u64, Vec<String>>,
    kinds: BTreeMap<String, ()>,
    logs: BTreeMap<u64, Log>,
    folder: TempFolder,
}

impl Reader {
    fn domain_track(&self, mut track: u64) -> Option<u64> {
        // Tracks name parents that came before them; a damaged trace may still close a circle.
        for _ in 0..=self.tracks.len() {
            if self.domains.contains_key(&track) {
                return Some(track);
            }
            track = self.tracks.get(&track)?.parent?;
        }
        None
    }

    fn describe_track(&mut self, descriptor: &[u8]) {
        let (mut uuid, mut name, mut parent) = (0, String::new(), None);
        for field in fields(descriptor) {
            match (field.number, field.value) {
                (1, Value::Varint(value)) => uuid = value,
                (2, Value::Bytes(text)) => name = String::from_utf8_lossy(text).into_owned(),
                (5, Value::Varint(value)) => parent = Some(value),
                _ => {}
            }
        }
        self.tracks.entry(uuid).or_insert(Track { name, parent });
    }

    fn meta(&mut self, sequence: u32, bytes: &[u8]) -> Result<(), TraceRunError> {
        let names = &self.sequences[&sequence];
        let event = names.event(bytes);
        let (Some(name), Some(track)) = (event.name, event.track) else { return Ok(()) };
        let number = |key: &str| {
            names.annotations(&event).find(|(name, _)| *name == key).and_then(|(_, value)| match value {
                Annotation::Number(value) => Some(u128::from(value)),
                Annotation::Text(text) => text.parse().ok(),
            })
        };
        match name {
            "run" => {
                let text = names.annotations(&event).find_map(|(name, value)| match value {
                    Annotation::Text(text) if name == "run_id" => Some(text.to_owned()),
                    _ => None,
                });
                self.run_id = self.run_id.take().or(text);
            }
            "clock.domain" => {
                let label = self.tracks.get(&track).map_or("", |track| track.name.as_str());
                let name = label.rsplit_once(" (").map_or(label, |(name, _)| name).to_owned();
                let parts = (number("id"), number("period_num"), number("period_den"));
                let phase = number("phase_num").zip(number("phase_den"));
                if let ((Some(id), Some(period_num), Some(period_den)), Some((phase_num, phase_den))) =
                    (parts, phase)
                {
                    let id = u32::try_from(id).unwrap_or(u32::MAX);
                    let domain = ManifestDomain { id, name, period_num, period_den, phase_num, phase_den };
                    self.domains.entry(track).or_insert(domain);
                }
            }
            "trace.gap" => {
                let gap = ["first_ordinal", "count", "cycle", "phase"].map(|key| number(key).unwrap_or(0));
                let [ordinal, count, cycle, phase] = gap;
                let rest = format!("ordinal={ordinal} count={count} cycle={cycle} phase={phase}\n");
                match self.unit_of_track.get(&track) {
                    Some(&unit) => self.write(unit, &format!("# gap unit={unit} {rest}"))?,
                    None => self.early_gaps.entry(track).or_default().push(rest),
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn write(&mut self, unit: u64, line: &str) -> Result<(), TraceRunError> {
        let domain = self.units[&unit].0;
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| TraceRunError::Scratch { path, source }
        };
        if !self.logs.contains_key(&domain) {
            let (path, file) = self.folder.create().map_err(failed(self.folder.place()))?;
            let mut out = BufWriter::with_capacity(1 << 16, file);
            let run = self.run_id.as_deref().unwrap_or("trace");
            let name = &self.domains[&domain].name;
            let columns = "# local_cycle\tunit_id\tevent\tphase\ttransaction_id\tfifo_id\tvalue\tordinal";
            writeln!(out, "# run={run} domain={name}\n{columns}").map_err(failed(&path))?;
            self.logs.insert(domain, Log { path, out });
        }
        let log = self.logs.get_mut(&domain).expect("it was just put there");
        log.out.write_all(line.as_bytes()).map_err(failed(&log.path))
    }

    fn event(&mut self, place: Place, sequence: u32, bytes: &[u8]) -> Result<(), TraceRunError> {
        let lacks = |missing| TraceRunError::Event { offset: place.offset, missing };
        let names = &self.sequences[&sequence];
        let event = names.event(bytes);
        let name = event.name.ok_or_else(|| lacks("a name"))?;
        let columns = match event.extension {
            Some(message) => Columns::of_extension(message),
            None => Columns::of_annotations(names, &event),
        };
        let unit = columns.unit.ok_or_else(|| lacks("a unit_id"))?;
        let Columns { fifo, phase, value, ordinal, cycle, transaction, .. } = columns;
        let line = format!("{cycle}\t{unit}\t{name}\t{phase}\t{transaction}\t{fifo}\t{value}\t{ordinal}\n");
        if !self.kinds.contains_key(name) {
            check_name(place, "event name", name)?;
            self.kinds.insert(name.to_owned(), ());
        }
        let track = event.track.ok_or_else(|| lacks("a track"))?;
        if self.unit_of_track.get(&track) != Some(&unit) {
            let name = &self.tracks.get(&track).ok_or_else(|| lacks("a described track"))?.name;
            let contradicts = |id: u64, known: &str| TraceRunError::Unit {
                offset: place.offset,
                id,
                found: name.chars().take(64).collect(),
                known: known.chars().take(64).collect(),
            };
            if let Some((_, known)) = self.units.get(&unit) {
                return Err(contradicts(unit, known));
            }
            if let Some(other) = self.unit_of_track.get(&track) {
                return Err(contradicts(unit, &format!("unit {other}")));
            }
            check_name(place, "unit name", name)?;
            if let Some(other) = self.unit_of_name.insert(name.clone(), unit) {
                return Err(contradicts(unit, &format!("unit {other}")));
            }
            let domain = self.domain_track(track).ok_or(TraceRunError::NoClock)?;
            self.units.insert(unit, (domain, name.clone()));
            self.unit_of_track.insert(track, unit);
            for gap in self.early_gaps.remove(&track).unwrap_or_default() {
                self.write(unit, &format!("# gap unit={unit} {gap}"))?;
            }
        }
        self.write(unit, &line)
    }

    fn finish(mut self, cut: Option<Cut>) -> Result<TraceRun, TraceRunError> {
        let mut manifest = Manifest::new(self.run_id.as_deref().unwrap_or("trace"));
        manifest.domains = self.domains.values().cloned().collect();
        manifest.domains.sort_by_key(|domain| domain.id);
        let id_of = |track: &u64| self.domains[track].id;
        manifest.streams = self
            .units
            .iter()
            .map(|(unit_id, (track, unit))| ManifestStream {
                unit_id: *unit_id,
                unit: unit.clone(),
                domain_id: id_of(track),
                sequence: 0,
                track: 0,
                producer_order: 0,
            })
            .collect();
        manifest.events = (1u32..).zip(self.kinds.into_keys()).collect();
        let mut logs: Vec<(u32, Box<dyn LogSource>)> = Vec::new();
        for (track, log) in std::mem::take(&mut self.logs) {
            let path = log.path.clone();
            let failed = |source| TraceRunError::Scratch { path: path.clone(), source };
            log.out.into_inner().map_err(|error| failed(error.into_error()))?;
            let domain = &self.domains[&track];
            logs.push((domain.id, Box::new(FileLog::new(&path).map_err(failed)?)));
        }
        Ok(TraceRun { run: Run::new(manifest, logs)?, cut, _folder: self.folder })
    }
}

impl Visitor for Reader {
    type Error = TraceRunError;

    fn packet(&mut self, place: Place, packet: &Packet<'_>) -> Result<(), TraceRunError> {
        if let Some(descriptor) = packet.track_descriptor {
            self.describe_track(descriptor);
        }
        let sequence = packet.sequence_id.unwrap_or(0);
        let names = self.sequences.entry(sequence).or_default();
        names.apply(packet);
        let Some(bytes) = packet.track_event else { return Ok(()) };
        match names.event(bytes).category {
            Some("clock") => self.event(place, sequence, bytes),
            Some("meta") => self.meta(sequence, bytes),
            _ => Ok(()),
        }
    }
}

impl TraceRun {
    /// Reads the trace that `source` gives, with its logs in a folder below `scratch`.
    pub(crate) fn read(
        source: impl io::Read,
        scratch: &Path,
        progress: &mut dyn Progress,
    ) -> Result<Self, TraceRunError> {
        let mut reader = Reader {
            sequences: BTreeMap::new(),
            tracks: BTreeMap::new(),
            run_id: None,
            domains: BTreeMap::new(),
            units: BTreeMap::new(),
            unit_of_track: BTreeMap::new(),
            unit_of_name: BTreeMap::new(),
            early_gaps: BTreeMap::new(),
            kinds: BTreeMap::new(),
            logs: BTreeMap::new(),
            folder: TempFolder::new_in(scratch),
        };
        match walk(source, &mut reader, progress) {
            Ok(report) => reader.finish(report.cut),
            Err(WalkError::Read(error)) => Err(error.into()),
            Err(WalkError::Visitor(error)) => Err(error),
        }
    }
}
