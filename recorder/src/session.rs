//! A started run: its outputs, its accounts, its first error, and its end.
//!
//! # Invariants
//!
//! * The first error is kept; nothing is encoded after it, and every later call returns it.
//! * Closing again gives the same answer again.

use std::path::{Path, PathBuf};

use clockweave_model::KindTable;

use crate::bucket::OpenBucket;
use crate::directory::{self, Claim, STATS_FILE, TRACE_FILE, segment_name};
use crate::error::RecordError;
use crate::frontier::Waits;
use crate::ledger::Ledger;
use crate::pftrace::{Annotations, DebugFields, FullSink, ScheduledSink, TraceSink};
use crate::roster::Roster;
use crate::sink::{SegmentTotals, Sink};
use crate::stats::{
    EventTotals, ExactSeconds, RunTotals, SegmentStats, Stats, StatsExtension, StreamStats, peak_rss_bytes,
};
use crate::text::TextSink;
use crate::writer::{Outlet, Writer, Written};

/// The outputs of a run, one type per combination.
pub(crate) enum Outputs {
    Counts(()),
    Text(TextSink),
    Debug(TraceSink<DebugFields<false>>),
    Hinted(TraceSink<DebugFields<true>>),
    Annotations(TraceSink<Annotations>),
    Full(Box<FullSink>),
    Scheduled(Box<ScheduledSink>),
    DebugAndText((TraceSink<DebugFields<false>>, TextSink)),
    HintedAndText((TraceSink<DebugFields<true>>, TextSink)),
    AnnotationsAndText((TraceSink<Annotations>, TextSink)),
    FullAndText((Box<FullSink>, TextSink)),
    ScheduledAndText((Box<ScheduledSink>, TextSink)),
}

/// Runs an expression with the one sink there is.
macro_rules! with_sink {
    ($outputs:expr, $sink:ident => $body:expr) => {
        match $outputs {
            Outputs::Counts($sink) => $body,
            Outputs::Text($sink) => $body,
            Outputs::Debug($sink) => $body,
            Outputs::Hinted($sink) => $body,
            Outputs::Annotations($sink) => $body,
            Outputs::Full($sink) => $body,
            Outputs::Scheduled($sink) => $body,
            Outputs::DebugAndText($sink) => $body,
            Outputs::HintedAndText($sink) => $body,
            Outputs::AnnotationsAndText($sink) => $body,
            Outputs::FullAndText($sink) => $body,
            Outputs::ScheduledAndText($sink) => $body,
        }
    };
}

impl Outputs {
    pub(crate) fn without_trace(text: Option<TextSink>) -> Self {
        text.map_or(Self::Counts(()), Self::Text)
    }

    pub(crate) fn with_debug(trace: TraceSink<DebugFields<false>>, text: Option<TextSink>) -> Self {
        match text {
            None => Self::Debug(trace),
            Some(text) => Self::DebugAndText((trace, text)),
        }
    }

    pub(crate) fn with_hinted(trace: TraceSink<DebugFields<true>>, text: Option<TextSink>) -> Self {
        match text {
            None => Self::Hinted(trace),
            Some(text) => Self::HintedAndText((trace, text)),
        }
    }

    pub(crate) fn with_annotations(trace: TraceSink<Annotations>, text: Option<TextSink>) -> Self {
        match text {
            None => Self::Annotations(trace),
            Some(text) => Self::AnnotationsAndText((trace, text)),
        }
    }

    pub(crate) fn with_full(trace: FullSink, text: Option<TextSink>) -> Self {
        let trace = Box::new(trace);
        match text {
            None => Self::Full(trace),
            Some(text) => Self::FullAndText((trace, text)),
        }
    }

    pub(crate) fn with_scheduling(trace: ScheduledSink, text: Option<TextSink>) -> Self {
        let trace = Box::new(trace);
        match text {
            None => Self::Scheduled(trace),
            Some(text) => Self::ScheduledAndText((trace, text)),
        }
    }
}

/// What a run with rings adds to the statistics; a serial one has none of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ingress {
    pub(crate) allocated_bytes: u64,
    pub(crate) peak_bytes: u64,
    /// Of the backlog.
    pub(crate) staging_bytes: u64,
    /// The most the backlog held.
    pub(crate) backlog_records: u64,
    /// Waiting for room in a ring.
    pub(crate) room: Waits,
    /// Waiting for other streams.
    pub(crate) progress: Waits,
}

struct Running {
    outputs: Outputs,
    writer: Writer,
}

/// A started run.
pub(crate) struct Session {
    dir: PathBuf,
    /// Until everything is written.
    claim: Option<Claim>,
    roster: Roster,
    kinds: KindTable,
    ledger: Ledger,
    running: Option<Running>,
    failure: Option<RecordError>,
    manifest_bytes: u64,
    /// Whether the trace is in several files.
    rotated: bool,
    /// Nothing is recorded.
    disabled: bool,
    pub(crate) ingress: Ingress,
    closed: Option<Result<Stats, RecordError>>,
}

/// Host-side figures of the outputs.
#[derive(Default)]
struct Figures {
    written: Written,
    staging_bytes: u64,
    stalls: u64,
    stall_ns: u64,
    segments: Vec<SegmentTotals>,
}

impl Session {
    pub(crate) fn new(
        (dir, claim): (PathBuf, Claim),
        roster: Roster,
        kinds: KindTable,
        ledger: Ledger,
        outputs: Outputs,
        writer: Writer,
        (manifest_bytes, rotated): (u64, bool),
    ) -> Self {
        let running = Some(Running { outputs, writer });
        Self {
            rotated,
            disabled: false,
            dir,
            claim: Some(claim),
            roster,
            kinds,
            ledger,
            running,
            failure: None,
            manifest_bytes,
            ingress: Ingress::default(),
            closed: None,
        }
    }

    /// A run that leaves nothing behind: it has no outputs.
    pub(crate) fn disabled(dir: PathBuf, roster: Roster, kinds: KindTable, ledger: Ledger) -> Self {
        Self {
            rotated: false,
            disabled: true,
            dir,
            claim: None,
            roster,
            kinds,
            ledger,
            running: None,
            failure: None,
            manifest_bytes: 0,
            ingress: Ingress::default(),
            closed: None,
        }
    }

    pub(crate) fn is_disabled(&self) -> bool {
        self.disabled
    }

    /// Takes gaps among the records.
    pub(crate) fn expect_gaps(&mut self) {
        self.ledger.expect_gaps();
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn roster(&self) -> &Roster {
        &self.roster
    }

    /// Passes a closed instant to the outputs. Errors are boxed on this path only, so that the
    /// answer of every instant is one word.
    #[inline]
    pub(crate) fn pass(&mut self, ns: i64, bucket: &OpenBucket) -> Result<(), Box<RecordError>> {
        let (None, Some(Running { outputs, writer })) = (&self.failure, &mut self.running) else {
            return Err(self.stopped());
        };
        let (ledger, roster) = (&mut self.ledger, &self.roster);
        let passed = with_sink!(outputs, sink => ledger.pass(sink, ns, bucket, roster));
        match passed {
            Ok(()) if !writer.wants_attention() => Ok(()),
            Ok(()) => self.attend(),
            Err(error) => Err(Box::new(self.fail(*error))),
        }
    }

    /// Passes a gap to the outputs, as a ring's gap record does.
    #[cfg(test)]
    pub(crate) fn gap(
        &mut self,
        ns: i64,
        unit: usize,
        count: u64,
        cycle: u64,
        phase: clockweave_model::Phase,
    ) -> Result<(), Box<RecordError>> {
        let (None, Some(Running { outputs, .. })) = (&self.failure, &mut self.running) else {
            return Err(self.stopped());
        };
        with_sink!(outputs, sink => self.ledger.gap(sink, ns, unit, count, cycle, phase));
        Ok(())
    }

    #[cold]
    fn stopped(&self) -> Box<RecordError> {
        Box::new(self.failure.clone().unwrap_or(RecordError::Closed))
    }

    /// Does what the writing thread asks for while no event passes.
    pub(crate) fn attend_idle(&mut self) -> Result<(), RecordError> {
        match &self.running {
            Some(running) if running.writer.wants_attention() => self.attend().map_err(|error| *error),
            _ => Ok(()),
        }
    }

    /// Does what the writing thread asks for: gives its failure, or flushes without waiting.
    #[cold]
    fn attend(&mut self) -> Result<(), Box<RecordError>> {
        let Some(Running { outputs, writer }) = &mut self.running else { return Err(self.stopped()) };
        match writer.attend() {
            Ok(true) => with_sink!(outputs, sink => sink.flush()),
            Ok(false) => {}
            Err(error) => return Err(Box::new(self.fail(error))),
        }
        Ok(())
    }

    /// Keeps the first error; gives it back.
    #[cold]
    pub(crate) fn fail(&mut self, error: RecordError) -> RecordError {
        self.failure.get_or_insert(error).clone()
    }

    /// Writes everything that was passed on.
    pub(crate) fn flush(&mut self) -> Result<(), RecordError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        if self.disabled {
            return Ok(());
        }
        let Some(Running { outputs, writer }) = &mut self.running else { return Err(RecordError::Closed) };
        with_sink!(outputs, sink => sink.flush());
        writer.flush().map_err(|error| self.fail(error))
    }

    /// Whether [`Session::close`] or [`Session::abandon`] was called.
    pub(crate) fn is_closed(&self) -> bool {
        self.running.is_none()
    }

    /// Ends the outputs and writes the statistics.
    pub(crate) fn close(&mut self, totals: &RunTotals, bucket: &OpenBucket) -> Result<Stats, RecordError> {
        if let Some(closed) = &self.closed {
            return closed.clone();
        }
        if self.disabled {
            return Ok(self.stats(&RunTotals::default(), bucket, &Figures::default()));
        }
        if let (Some(running), Some(last)) = (&mut self.running, &totals.last_committed) {
            with_sink!(&mut running.outputs, sink => sink.end_at(last.floor_ns()));
        }
        let result = self.abandon().and_then(|figures| {
            let stats = self.stats(totals, bucket, &figures);
            self.claim.as_ref().map_or(Ok(()), |claim| claim.check(&self.dir))?;
            directory::write_file(&self.dir, STATS_FILE, &stats.to_json())?;
            Ok(stats)
        });
        self.claim = None;
        self.closed = Some(result.clone());
        result
    }

    /// Ends the outputs; what is in the files stays, and there are no statistics.
    fn abandon(&mut self) -> Result<Figures, RecordError> {
        let Some(Running { mut outputs, writer }) = self.running.take() else {
            return Err(self.failure.clone().unwrap_or(RecordError::Closed));
        };
        let mut figures = Figures::default();
        with_sink!(&mut outputs, sink => {
            sink.finish();
            sink.outlets().for_each(|outlet| figures.add(outlet));
            figures.segments = sink.segments().to_vec();
        });
        drop(outputs);
        let written = writer.join();
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        figures.written = written.map_err(|error| self.fail(error))?;
        Ok(figures)
    }

    /// Ends a run that nobody closed.
    pub(crate) fn close_unasked(&mut self) {
        if self.is_closed() {
            return;
        }
        let answer = self.abandon().map(|_| ());
        let dir = self.dir.display();
        match answer {
            Ok(()) => eprintln!(
                "clockweave: the recording in {dir} was not closed; its files are complete up to the last \
                 instant, but there is no {STATS_FILE}"
            ),
            Err(error) => eprintln!("clockweave: the recording in {dir} was not closed: {error}"),
        }
    }

    fn stats(&self, totals: &RunTotals, bucket: &OpenBucket, figures: &Figures) -> Stats {
        let streams: Vec<StreamStats> =
            (0..self.roster.units.len()).map(|unit| self.stream_stats(unit)).collect();
        let events = streams.iter().map(|stream| stream.retained).sum();
        let dropped = streams.iter().map(|stream| stream.dropped).sum();
        let ingress = &self.ingress;
        let peak = (bucket.peak_bucket() as u64).max(ingress.backlog_records);
        Stats {
            events,
            dropped_events: dropped,
            producer_stalls: figures.stalls + ingress.room.count,
            producer_stall_ns: figures.stall_ns + ingress.room.ns,
            admission_retries: 0,
            progress_stalls: ingress.progress.count,
            progress_stall_ns: ingress.progress.ns,
            allocated_ingress_bytes: ingress.allocated_bytes,
            peak_ingress_bytes_upper_bound: ingress.peak_bytes,
            allocated_staging_bytes: figures.staging_bytes + bucket.bytes() as u64 + ingress.staging_bytes,
            peak_staging_records: peak,
            native_buffer_peak_bytes: peak * OpenBucket::RECORD_BYTES as u64,
            native_buffer_peak_records: peak,
            first_output_ns: figures.written.first_output_ns,
            file_bytes: figures.written.bytes + self.manifest_bytes,
            clockweave: StatsExtension {
                events: EventTotals {
                    produced: events + dropped,
                    retained: events,
                    dropped,
                    filtered: totals.filtered,
                },
                streams,
                flow_edges: self.ledger.flow_edges(),
                gaps: self.ledger.gaps(),
                batches: totals.batches,
                last_committed: totals.last_committed.as_ref().map(ExactSeconds::from),
                refusals: totals.refusals,
                segments: self.segments(figures),
                peak_rss_bytes: peak_rss_bytes(),
            },
        }
    }

    /// The trace is the first file that was created.
    fn segments(&self, figures: &Figures) -> Vec<SegmentStats> {
        let written = &figures.written;
        let sizes = written.ended.iter().chain(written.last.first());
        let segments = (0..).zip(figures.segments.iter().zip(sizes));
        segments
            .map(|(number, (totals, bytes))| SegmentStats {
                file: if self.rotated { segment_name(number) } else { TRACE_FILE.to_owned() },
                events: totals.events,
                dropped: totals.dropped,
                bytes: *bytes,
            })
            .collect()
    }

    fn stream_stats(&self, unit: usize) -> StreamStats {
        let (retained, dropped) = self.ledger.events(unit);
        let names = self.kinds.iter().map(|(_, name)| name);
        let counted = names.zip(self.ledger.counts(unit)).filter(|(_, count)| **count > 0);
        StreamStats {
            unit_id: self.roster.units[unit].id,
            unit: self.roster.units[unit].name.clone(),
            produced: retained + dropped,
            retained,
            dropped,
            kinds: counted.map(|(name, count)| (name.to_owned(), *count)).collect(),
        }
    }
}

impl Figures {
    fn add(&mut self, outlet: &Outlet) {
        let (stalls, stall_ns) = outlet.stalls();
        self.staging_bytes += outlet.allocated() as u64;
        self.stalls += stalls;
        self.stall_ns += stall_ns;
    }
}
