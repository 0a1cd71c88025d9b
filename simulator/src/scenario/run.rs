//! From a scenario to a simulation, and through its run.

use clockweave_model::ExactTime;

use super::error::ScenarioError;
use super::plan::Scenario;
use super::settings::Limit;
use super::tree::{At, Located};
use crate::graph::TopologyError;
use crate::observe::RecordingOptions;
use crate::sched::{RunError, RunReport, RunStatus, Simulation, Termination, TerminationReason};

/// Batches between two reports of progress, at least.
const REPORT_BATCHES: u64 = 1 << 16;
/// Reports of progress in a run, about.
const REPORTS: u64 = 256;

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Completed batches.
    pub batches: u128,
    /// Exact time of the last completed batch.
    pub time: ExactTime,
    /// Batches, nanoseconds or cycles done: what the limit counts.
    pub done: u64,
    /// The limit in that unit.
    pub total: u64,
}

/// What a run was.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunSummary {
    /// Completed batches.
    pub batches: u128,
    /// Exact time of the last completed batch; zero if there is none.
    pub time: ExactTime,
    /// How the run ended, before any draining.
    pub status: RunStatus,
    /// The stop that ended it, if one did.
    pub termination: Option<Termination>,
    /// Whether the FIFOs were drained; `None` if that was not asked for or not tried.
    pub drained: Option<bool>,
}

impl Scenario {
    /// Makes the simulation, recorded if `recording` is given.
    ///
    /// # Errors
    /// What does not fit together, with its place.
    pub fn build(&self, recording: Option<RecordingOptions>) -> Result<Simulation, ScenarioError> {
        self.assemble(recording, &mut |_| {}).map_err(|located| self.sources.locate(located))
    }

    /// Adds everything, each list in the order that `shuffle` gives it.
    fn assemble(
        &self,
        recording: Option<RecordingOptions>,
        shuffle: &mut dyn FnMut(&mut [usize]),
    ) -> Result<Simulation, Located> {
        let mut sim = Simulation::new();
        let mut order = |count: usize| {
            let mut order: Vec<usize> = (0..count).collect();
            shuffle(&mut order);
            order
        };
        let at = |at: At| move |error: TopologyError| Located::new(at, error);
        let start = super::tree::Sources::START;
        if let Some(frequency) = self.graph.default_frequency {
            sim.set_default_frequency(frequency).map_err(at(start))?;
        }
        let domains: Vec<_> = self.graph.domains.iter().collect();
        for index in order(domains.len()) {
            sim.add_domain(domains[index].clone()).map_err(at(start))?;
        }
        for index in order(self.graph.units.len()) {
            let unit = &self.graph.units[index];
            unit.settings.add(&mut sim, &unit.domain, &unit.name, &unit.wiring).map_err(at(unit.at))?;
        }
        for index in order(self.graph.fifos.len()) {
            let plan = &self.graph.fifos[index];
            sim.add_fifo(plan.fifo.clone(), &plan.from.path, &plan.to.path).map_err(at(plan.at))?;
        }
        for index in order(self.graph.links.len()) {
            let plan = &self.graph.links[index];
            sim.connect(plan.connection, &plan.from.path, &plan.to.path).map_err(at(plan.at))?;
        }
        sim.set_stop_margin(self.run.stop_margin);
        if let Some(options) = recording {
            sim.record(options).map_err(at(start))?;
        }
        Ok(sim)
    }

    /// Runs a simulation that [`Scenario::build`] made, up to the limit or a stop, then drains the
    /// FIFOs if the scenario says so and nobody outside stopped the run. `progress` is called now
    /// and then.
    ///
    /// The recording stays open: call [`Simulation::finish`], after an error too.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn run(
        &self,
        sim: &mut Simulation,
        mut progress: impl FnMut(&Progress),
    ) -> Result<RunSummary, RunError> {
        let mut status = self.run_to_limit(sim, &mut progress)?;
        let mut termination = sim.termination().cloned();
        if let (RunStatus::Settling, Some(requested)) = (status, sim.requested_stop()) {
            // The limit came before the end of the margin, so it is where the stop settles.
            let settled_at = sim.inspect().map_or(ExactTime::ZERO, |state| state.last_committed());
            termination = Some(Termination { settled_at, ..requested.clone() });
            status = RunStatus::Stopped;
        }
        let external = |termination: &Termination| termination.reason == TerminationReason::External;
        let drained = match self.run.drain {
            Some(most) if !termination.as_ref().is_some_and(external) => drain(sim, most)?,
            _ => None,
        };
        let state = sim.inspect().expect("a simulation that ran has a state");
        Ok(RunSummary {
            batches: state.batches(),
            time: state.last_committed(),
            status,
            termination,
            drained,
        })
    }

    fn run_to_limit(
        &self,
        sim: &mut Simulation,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<RunStatus, RunError> {
        let total = match &self.run.limit {
            Limit::Batches(batches) => *batches,
            Limit::Time(time) => time.floor_ns().unsigned_abs(),
            Limit::Cycles { cycles, .. } => *cycles,
        };
        let step = match self.run.segment {
            Some(batches) => batches,
            // Nanoseconds and edges of one domain come about as often as batches.
            None => REPORT_BATCHES.max(total / REPORTS),
        };
        sim.start()?;
        let mut done = 0;
        loop {
            let next = total.min(done + step.min(total - done));
            let report = self.advance(sim, done, next, next == total)?;
            done = next;
            let state = sim.inspect().expect("a started simulation has a state");
            progress(&Progress { batches: state.batches(), time: state.last_committed(), done, total });
            if done == total || report.status == RunStatus::Stopped {
                return Ok(report.status);
            }
        }
    }

    fn advance(&self, sim: &mut Simulation, from: u64, to: u64, last: bool) -> Result<RunReport, RunError> {
        match &self.run.limit {
            Limit::Batches(_) => sim.run_batches(to - from),
            Limit::Cycles { domain, .. } => sim.run_domain_cycles(domain, to - from),
            Limit::Time(time) if last => sim.run_until_time(*time),
            Limit::Time(_) => sim.run_until_time(ExactTime::from_ns(to).expect("less than the limit")),
        }
    }
}

/// Drains the FIFOs within `most` batches; `None` if a stop from outside came in between.
fn drain(sim: &mut Simulation, most: u64) -> Result<Option<bool>, RunError> {
    let mut left = most;
    loop {
        sim.reset_termination();
        let report = sim.drain_cdc(left)?;
        left -= u64::try_from(report.batches).expect("no more batches than were allowed");
        match report.status {
            RunStatus::Finished => return Ok(Some(true)),
            RunStatus::Stopped
                if sim.termination().is_some_and(|t| t.reason != TerminationReason::External) => {}
            RunStatus::Stopped => return Ok(None),
            _ => return Ok(Some(false)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::models::splitmix64;
    use crate::scenario::{builtin, builtins};

    /// Runs a built-in scenario, created in an order that `seed` decides, and gives what it wrote.
    fn files(name: &str, dir: &Path, seed: u64) -> BTreeMap<String, String> {
        // Long enough for full FIFOs and many blocks; three-clocks stops by itself.
        let scenario = Scenario::with_overrides(&builtin(name).unwrap(), name, ["run.batches=3000"]).unwrap();
        let options = scenario.record().options(dir, scenario.run_id());
        let mut state = seed;
        let mut shuffle = |order: &mut [usize]| {
            for last in (1..order.len()).rev().filter(|_| seed > 0) {
                state = splitmix64(state);
                order.swap(last, (state % (last as u64 + 1)) as usize);
            }
        };
        let mut sim = scenario.assemble(Some(options), &mut shuffle).unwrap();
        scenario.run(&mut sim, |_| {}).unwrap();
        assert!(sim.finish().unwrap().unwrap().events > 0 || ["single", "calendar"].contains(&name));
        let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        let read = |path: std::path::PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let bytes = fs::read(&path).unwrap();
            let text = match name.as_str() {
                "clock-stats.json" => without_host_figures(&String::from_utf8(bytes).unwrap()),
                _ => format!("{bytes:?}"),
            };
            (name, text)
        };
        entries.map(read).collect()
    }

    fn without_host_figures(stats: &str) -> String {
        let host = ["_stall", "allocated_staging_bytes", "first_output_ns", "peak_rss_bytes"];
        let kept = stats.lines().filter(|line| !host.iter().any(|figure| line.contains(figure)));
        kept.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn every_builtin_writes_the_same_bytes_whatever_the_order_of_creation() {
        let root = tempfile::tempdir().unwrap();
        for builtin in builtins() {
            let run =
                |seed: u64| files(builtin.name, &root.path().join(format!("{}-{seed}", builtin.name)), seed);
            let expected = run(0);
            assert!(expected.len() >= 4, "{}: {:?}", builtin.name, expected.keys());
            for seed in [0, 1, 2] {
                fs::remove_dir_all(root.path().join(format!("{}-{seed}", builtin.name))).ok();
                let found = run(seed);
                assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
                for (file, text) in &expected {
                    let lines = found[file].lines().zip(text.lines());
                    let differ = lines.clone().find(|(found, expected)| found != expected);
                    assert!(found[file] == *text, "{}, {file}, seed {seed}: {differ:?}", builtin.name);
                }
            }
        }
    }
}
