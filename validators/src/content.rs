//! What a trace holds once it is imported, all its files together, and the checks of its meaning.

use crate::checks::imported::Imported;
use crate::checks::manifest::DomainTracks;
use crate::checks::order::ExactOrder;
use crate::checks::reference::Reference;
use crate::checks::tracks::{self, Tracks};
use crate::checks::{conservation, fifo, flows, identity, import, manifest, reference, runqueue, time};
use crate::engine::{EngineError, Session, Width};
use crate::exact::EdgeTimes;
use crate::report::{Check, CheckReport};
use crate::run::{InputError, RunDir};
use crate::validate::Options;

/// Why most checks of a trace alone are left out.
const ALONE: &str = "no run directory";

/// Everything the checks need of the engine.
pub(crate) struct Content {
    /// A file needed the wide engine.
    pub(crate) wide: bool,
    pub(crate) events: Imported,
    counts: conservation::EngineCounts,
    tracks: Tracks,
    domain_tracks: DomainTracks,
    pub(crate) edges: Vec<flows::Edge>,
    /// Slice rows at which files begin, and the events of each.
    starts: Vec<u32>,
    events_of_files: Vec<u64>,
}

impl Content {
    /// Reads it all, and checks what can be seen on the way.
    pub(crate) fn read(
        session: &mut Session,
        width: Width,
        run: Option<&RunDir>,
        declared_loss: Option<u64>,
        options: &Options,
        checks: &mut Vec<CheckReport>,
    ) -> Result<Self, EngineError> {
        let limit = options.max_findings;
        import::probe(session)?;
        checks.push(import::check(session, declared_loss, limit)?);
        // What a killed run left need not be whole.
        if !options.prefix {
            checks.extend(runqueue::check(session, limit)?);
        }
        let counts = conservation::engine_counts(session)?;
        let tracks = Tracks::read(session)?;
        let (stated, domain_tracks) = match run {
            Some(run) => manifest::check(session, &run.manifest, &tracks, options.prefix, limit)?,
            None => (Check::new("manifest", "statements", limit).skip(ALONE), DomainTracks::new()),
        };
        checks.push(stated);
        let (events, arguments) = Imported::read(session, run.map(|run| &run.manifest), limit)?;
        checks.push(arguments);
        let edges = flows::imported_edges(session)?;
        let (starts, events_of_files) = (vec![0], vec![events.len() as u64]);
        let wide = width == Width::Wide;
        Ok(Self { wide, events, counts, tracks, domain_tracks, edges, starts, events_of_files })
    }

    /// Adds the next file of the trace: its rows are counted on from those before.
    pub(crate) fn append(&mut self, next: Self) {
        let ends = self.edges.iter().flat_map(|(from, to)| [*from, *to]);
        let last = self.events.slice.iter().copied().chain(ends).max();
        let slices = last.map_or(0, |last| last.saturating_add(1));
        let tracks = self.tracks.end();
        self.wide |= next.wide;
        self.starts.push(slices);
        self.events_of_files.extend(next.events_of_files);
        self.events.append(next.events, slices, tracks);
        for (name, (count, lasting)) in next.counts {
            let counts = self.counts.entry(name).or_default();
            *counts = (counts.0 + count, counts.1 + lasting);
        }
        let domains = next.domain_tracks.into_iter();
        self.domain_tracks.extend(domains.map(|(track, domain)| (track.saturating_add(tracks), domain)));
        self.tracks.append(next.tracks, tracks);
        let edges = next.edges.iter();
        self.edges.extend(edges.map(|(from, to)| (from.saturating_add(slices), to.saturating_add(slices))));
    }

    /// Runs every check of meaning that the run's files allow.
    pub(crate) fn check(
        &self,
        run: Option<&RunDir>,
        expected: Option<&Reference>,
        options: &Options,
        checks: &mut Vec<CheckReport>,
    ) -> Result<(), InputError> {
        let limit = options.max_findings;
        let stats = run.and_then(|run| run.stats.as_ref()).filter(|_| !options.prefix);
        let totals = match (run, stats) {
            (None, _) => conservation::Totals::NotAsked(ALONE),
            (Some(_), _) if options.prefix => conservation::Totals::NotAsked("a killed run has no totals"),
            (Some(_), Some(stats)) => conservation::Totals::Of(stats),
            (Some(_), None) => conservation::Totals::Missing,
        };
        checks.push(conservation::check(&self.events, (&self.counts, &self.events_of_files), totals, limit));
        checks.extend(identity::check(&self.events, run, options.prefix, limit)?);
        let Some(run) = run else {
            for (name, unit) in
                [("tracks", "events"), ("time", "events"), ("flows", "edges"), ("fifo", "events")]
            {
                checks.push(Check::new(name, unit, limit).skip(ALONE));
            }
            return Ok(());
        };
        let manifest = &run.manifest;
        let times: Vec<EdgeTimes> = manifest.domains.iter().map(EdgeTimes::new).collect();
        checks.push(tracks::check(&self.events, manifest, &self.tracks, &self.domain_tracks, limit));
        checks.push(time::check(&self.events, manifest, &times, limit));
        let order = ExactOrder { events: &self.events, manifest, times: &times };
        let declared = stats.and_then(|stats| stats.flow_edges);
        checks.push(flows::check(&order, (&self.edges, &self.starts), declared, limit));
        let filtered =
            stats.and_then(|stats| stats.totals.as_ref()).is_some_and(|totals| totals.filtered > 0);
        checks.push(fifo::check(&order, filtered, limit));
        if let Some(expected) = expected {
            checks.push(reference::check(&self.events, expected, stats, options.prefix, limit));
        }
        Ok(())
    }
}
