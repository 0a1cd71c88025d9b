//! A log line by line, each checked against the manifest and the unit's own order.

use std::io;

use super::catalog::{Catalog, Unit};
use super::fault::{Fault, LineError, excerpt};
use super::lines::{Lines, MAX_LINE, Step};
use super::record::{self, COLUMNS, Fields};
use super::selection::Selection;

/// Something that gives lines one after the other.
pub(crate) trait LineSource {
    /// Finds the next line.
    fn advance(&mut self) -> io::Result<Step>;
    /// The line found last, without its line feed.
    fn line(&self) -> &[u8];
    /// Its number, from 1.
    fn number(&self) -> u64;
    /// Offset in the source of its first byte.
    fn begin(&self) -> u64;
    /// Offset in the source of the byte after it.
    fn offset(&self) -> u64;
}

impl<R: io::Read> LineSource for Lines<R> {
    #[inline]
    fn advance(&mut self) -> io::Result<Step> {
        Self::advance(self)
    }

    #[inline]
    fn line(&self) -> &[u8] {
        Self::line(self)
    }

    fn number(&self) -> u64 {
        Self::number(self)
    }

    fn begin(&self) -> u64 {
        Self::begin(self)
    }

    fn offset(&self) -> u64 {
        Self::offset(self)
    }
}

/// A last line without its line feed: the mark of a killed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TornLine {
    /// Line number, from 1.
    pub line: u64,
    /// Offset of its first byte.
    pub offset: u64,
    /// Its bytes; 0 for a file that is empty.
    pub bytes: u64,
}

/// What was accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) fields: Fields,
    /// Index in [`Catalog::units`].
    pub(crate) unit: u32,
    /// Index in [`Catalog::event_names`]; of a gap, that of nothing.
    pub(crate) event: u32,
    /// Events lost, for a gap comment; 0 for an event.
    pub(crate) lost: u64,
}

/// What [`LogReader::advance`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// An event or a gap; [`LogReader::entry`] has it.
    Entry,
    /// Bytes without a line feed at the end; nothing follows.
    Torn(TornLine),
    /// The end.
    End,
}

/// Why a log could not be read on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Io(#[from] io::Error),
    /// One line was refused; reading may go on after it.
    #[error(transparent)]
    Line(#[from] LineError),
}

/// What a reader may take for granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checks {
    /// A log as found.
    All,
    /// Lines accepted before and sorted: no header, and a unit's ordinals need not increase.
    Sorted,
}

#[derive(Debug)]
pub(crate) struct LogReader<'c, S> {
    lines: S,
    catalog: &'c Catalog,
    domain: u32,
    file: &'c str,
    checks: Checks,
    selection: &'c Selection,
    /// Events accepted and not selected.
    filtered: u64,
    /// Some unit's ordinals do not begin with 0 or skip some.
    holes: bool,
    /// Last accepted (cycle, ordinal) by unit index.
    last: Vec<Option<(u64, u64)>>,
    max_edge: u64,
    entry: Entry,
    /// An empty file was reported.
    ended: bool,
}

impl<'c, S: LineSource> LogReader<'c, S> {
    /// Reads the log of the domain with index `domain`, called `file` in messages; gives what is selected.
    pub(crate) fn new(
        lines: S,
        catalog: &'c Catalog,
        domain: u32,
        file: &'c str,
        checks: Checks,
        selection: &'c Selection,
    ) -> Self {
        let tracked = if checks == Checks::All { catalog.units().len() } else { 0 };
        let max_edge = catalog.domains()[domain as usize].max_edge();
        Self {
            lines,
            catalog,
            domain,
            file,
            checks,
            selection,
            filtered: 0,
            holes: false,
            last: vec![None; tracked],
            max_edge,
            entry: Entry::default(),
            ended: false,
        }
    }

    /// The entry found last.
    #[inline]
    pub(crate) fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The line of the entry found last.
    #[inline]
    pub(crate) fn line(&self) -> &[u8] {
        self.lines.line()
    }

    /// Offset in the log of the byte after it.
    pub(crate) fn offset(&self) -> u64 {
        self.lines.offset()
    }

    /// Events so far that are not selected.
    pub(crate) fn filtered(&self) -> u64 {
        self.filtered
    }

    /// Whether so far some unit's ordinals did not begin with 0 or skipped some.
    pub(crate) fn has_holes(&self) -> bool {
        self.holes
    }

    /// Finds the next selected event or gap.
    pub(crate) fn advance(&mut self) -> Result<Next, ReadError> {
        loop {
            match self.lines.advance()? {
                Step::Line => {}
                Step::TooLong => return Err(self.refuse(Fault::TooLong { limit: MAX_LINE })),
                Step::Torn => return Ok(Next::Torn(self.torn())),
                Step::End if self.checks == Checks::All && self.lines.number() == 0 && !self.ended => {
                    self.ended = true;
                    return Ok(Next::Torn(TornLine { line: 1, offset: 0, bytes: 0 }));
                }
                Step::End => return Ok(Next::End),
            }
            let line = self.lines.line();
            if let Some(fields) = record::parse(line)
                && (self.lines.number() > 2 || self.checks == Checks::Sorted)
            {
                match self.accept(fields) {
                    Ok(()) if self.selection.takes(self.domain, &self.entry) => return Ok(Next::Entry),
                    Ok(()) => self.filtered += 1,
                    Err(fault) => return Err(self.refuse(fault)),
                }
                continue;
            }
            match self.other_line() {
                Ok(true) if self.selection.takes(self.domain, &self.entry) => return Ok(Next::Entry),
                Ok(_) => {}
                Err(fault) => return Err(self.refuse(fault)),
            }
        }
    }

    fn torn(&self) -> TornLine {
        let (begin, end) = (self.lines.begin(), self.lines.offset());
        TornLine { line: self.lines.number(), offset: begin, bytes: end - begin }
    }

    #[cold]
    fn refuse(&self, fault: Fault) -> ReadError {
        LineError { file: self.file.to_owned(), line: self.lines.number(), fault }.into()
    }

    #[inline]
    fn accept(&mut self, fields: Fields) -> Result<(), Fault> {
        let Some(unit) = self.catalog.unit(fields.unit_id) else {
            return Err(self.unknown_unit(fields.unit_id));
        };
        let known = &self.catalog.units()[unit as usize];
        if known.domain != self.domain {
            return Err(self.foreign_unit(known));
        }
        let name = &self.lines.line()[fields.event..fields.event_end];
        let Some(event) = self.catalog.event(name) else { return Err(self.unknown_event(name)) };
        if fields.cycle > self.max_edge {
            return Err(self.beyond_horizon(fields.cycle));
        }
        if let Some(last) = self.last.get_mut(unit as usize) {
            if let Some((cycle, ordinal)) = *last
                && (fields.cycle < cycle || fields.ordinal <= ordinal)
            {
                let unit = known.name.clone();
                return Err(if fields.cycle < cycle {
                    Fault::CycleFalls { unit, found: fields.cycle, last: cycle }
                } else {
                    Fault::OrdinalStalls { unit, found: fields.ordinal, last: ordinal }
                });
            }
            self.holes |= fields.ordinal != last.map_or(0, |(_, ordinal)| ordinal + 1);
            *last = Some((fields.cycle, fields.ordinal));
        }
        self.entry = Entry { fields, unit, event, lost: 0 };
        Ok(())
    }

    #[cold]
    fn unknown_unit(&self, id: u64) -> Fault {
        Fault::UnknownUnit { id, known: self.catalog.unit_ids() }
    }

    #[cold]
    fn foreign_unit(&self, unit: &Unit) -> Fault {
        let domain = self.catalog.domains()[unit.domain as usize].name().to_owned();
        Fault::ForeignUnit { unit: unit.name.clone(), id: unit.id, domain }
    }

    #[cold]
    fn unknown_event(&self, event: &[u8]) -> Fault {
        let found = match str::from_utf8(event) {
            Ok(text) => text,
            Err(_) => return Fault::NotUtf8 { at: self.not_utf8_at() },
        };
        let hint = match self.catalog.event_like(found) {
            Some(near) => format!("; did you mean `{near}`?"),
            None => String::new(),
        };
        Fault::UnknownEvent { found: excerpt(event), hint }
    }

    #[cold]
    fn not_utf8_at(&self) -> usize {
        str::from_utf8(self.lines.line()).err().map_or(0, |error| error.valid_up_to())
    }

    #[cold]
    fn beyond_horizon(&self, found: u64) -> Fault {
        let domain = self.catalog.domains()[self.domain as usize].name().to_owned();
        Fault::BeyondHorizon { found, limit: self.max_edge, domain }
    }

    /// A line that is no event: header, comment, gap (true) or a fault.
    #[cold]
    fn other_line(&mut self) -> Result<bool, Fault> {
        let line = self.lines.line();
        if self.checks == Checks::All {
            match self.lines.number() {
                1 => return self.run_line().map(|()| false),
                2 => return column_line(line).map(|()| false),
                _ => {}
            }
        }
        if line.first() == Some(&b'#') {
            if let Err(error) = str::from_utf8(line) {
                return Err(Fault::NotUtf8 { at: error.valid_up_to() });
            }
            if line.ends_with(b"\r") {
                return Err(Fault::CarriageReturn);
            }
            let word = line[1..].trim_ascii_start();
            let is_gap = word
                .strip_prefix(b"gap")
                .is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_whitespace));
            return if is_gap { self.gap().map(|()| true) } else { Ok(false) };
        }
        Err(record::explain(line).expect("a refused line has a fault"))
    }

    fn run_line(&self) -> Result<(), Fault> {
        let line = self.lines.line();
        if line.ends_with(b"\r") {
            return Err(Fault::CarriageReturn);
        }
        let run = self.catalog.run_id();
        let domain = self.catalog.domains()[self.domain as usize].name();
        let no_header =
            || Fault::NoHeader { found: excerpt(line), run: run.to_owned(), domain: domain.to_owned() };
        let text = str::from_utf8(line).map_err(|_| no_header())?;
        let names = text.strip_prefix('#').and_then(|rest| rest.trim_start_matches(' ').strip_prefix("run="));
        let (found_run, found_domain) =
            names.and_then(|names| names.rsplit_once(" domain=")).ok_or_else(no_header)?;
        if found_run != run {
            return Err(Fault::OtherRun { found: found_run.to_owned(), expected: run.to_owned() });
        }
        if found_domain != domain {
            return Err(Fault::OtherDomain { found: found_domain.to_owned(), expected: domain.to_owned() });
        }
        Ok(())
    }

    fn gap(&mut self) -> Result<(), Fault> {
        let line = self.lines.line();
        let bad = || Fault::Gap { found: excerpt(line) };
        let gap = record::parse_gap(line).filter(|gap| gap.count > 0).ok_or_else(bad)?;
        let unit = self.catalog.unit_by_text(gap.unit).ok_or_else(bad)?;
        let known = &self.catalog.units()[unit as usize];
        if known.domain != self.domain {
            return Err(self.foreign_unit(known));
        }
        if gap.cycle > self.max_edge {
            return Err(self.beyond_horizon(gap.cycle));
        }
        let fields = Fields {
            cycle: gap.cycle,
            unit_id: known.id,
            phase: gap.phase,
            ordinal: gap.ordinal,
            ..Fields::default()
        };
        self.entry = Entry { fields, unit, event: u32::MAX, lost: gap.count };
        Ok(())
    }
}

fn column_line(line: &[u8]) -> Result<(), Fault> {
    if line.ends_with(b"\r") {
        return Err(Fault::CarriageReturn);
    }
    let text = str::from_utf8(line).ok().and_then(|text| text.strip_prefix('#'));
    match text {
        Some(text) if text.split_ascii_whitespace().eq(COLUMNS) => Ok(()),
        _ => Err(Fault::ColumnNames { found: excerpt(line) }),
    }
}
