//! The simulation as its users hold it: build, start, run, inspect, finish.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use clockweave_model::{ClockDomain, ExactTime, Frequency, Seconds};

use super::error::RunError;
use super::serial::{Bounds, Engine, Walked};
use super::termination::{StopHandle, Termination};
use crate::circuit::FifoState;
use crate::graph::{Connection, ConnectionState, Fifo, Ports, Topology, TopologyError, Unit};
use crate::observe::{self, RecordingOptions, RunTotals, Stats};

/// How a run call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunStatus {
    /// What the call asked for was reached.
    Finished,
    /// The most batches allowed passed before the condition held.
    LimitReached,
    /// A stop is requested; later calls continue to its settled batch.
    Settling,
    /// A stop has settled; calls advance nothing until [`Simulation::reset_termination`].
    Stopped,
}

/// What a run call did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunReport {
    /// Batches completed by this call.
    pub batches: u128,
    /// How it ended.
    pub status: RunStatus,
}

enum State {
    Building(Box<Topology>),
    Started(Box<Engine>),
    Refused(TopologyError),
}

/// A multi-clock simulation.
///
/// Domains, units, FIFOs and connections are added in any order; the first run call, or
/// [`Simulation::start`], checks and fixes the graph.
pub struct Simulation {
    state: State,
    stop: StopHandle,
    margin: u64,
    poll: u64,
    recording: Option<RecordingOptions>,
    failed: Option<String>,
}

impl Default for Simulation {
    fn default() -> Self {
        Self::new()
    }
}

impl Simulation {
    /// An empty simulation.
    pub fn new() -> Self {
        Self {
            state: State::Building(Box::default()),
            stop: StopHandle::default(),
            margin: 0,
            poll: 64,
            recording: None,
            failed: None,
        }
    }

    fn topology(&mut self, what: impl FnOnce() -> String) -> Result<&mut Topology, TopologyError> {
        match &mut self.state {
            State::Building(topology) => Ok(topology),
            State::Started(_) => Err(TopologyError::Fixed { what: what() }),
            State::Refused(error) => Err(error.clone()),
        }
    }

    /// Adds a clock domain.
    ///
    /// # Errors
    /// Its id or name is taken; the simulation has started.
    pub fn add_domain(&mut self, domain: ClockDomain) -> Result<(), TopologyError> {
        self.topology(|| format!("domain `{}` was added", domain.name()))?.add_domain(domain)
    }

    /// Adds a clock domain of a frequency as text (`914MHz`) and phase 0.
    ///
    /// # Errors
    /// As [`Simulation::add_domain`], and text that is no frequency, a bad or reserved name or id.
    pub fn add_clock(&mut self, id: u32, name: &str, frequency: &str) -> Result<(), TopologyError> {
        self.add_clock_with_phase(id, name, frequency, "0")
    }

    /// Adds a clock domain of a frequency and a phase as text (`1326MHz`, `137ps`).
    ///
    /// # Errors
    /// As [`Simulation::add_clock`], and text that is no time.
    pub fn add_clock_with_phase(
        &mut self,
        id: u32,
        name: &str,
        frequency: &str,
        phase: &str,
    ) -> Result<(), TopologyError> {
        let refused = |error| clockweave_model::DomainError::Quantity { name: name.to_owned(), error };
        let frequency: Frequency = frequency.parse().map_err(refused)?;
        let phase: Seconds = phase.parse().map_err(refused)?;
        self.add_domain(ClockDomain::new(id, name, frequency, phase)?)
    }

    /// Sets the frequency of the implicit domain `default`, which a simulation without domains of its
    /// own may use; 1 GHz unless set.
    ///
    /// # Errors
    /// The simulation has started.
    pub fn set_default_frequency(&mut self, frequency: Frequency) -> Result<(), TopologyError> {
        self.topology(|| "the default frequency was set".to_owned())?.implicit_frequency(frequency);
        Ok(())
    }

    /// Adds a unit to a domain; `build` declares its ports and makes it.
    ///
    /// # Errors
    /// No such domain, a bad or taken name, bad or duplicate ports; the simulation has started.
    pub fn add_unit<U: Unit>(
        &mut self,
        domain: &str,
        name: &str,
        build: impl FnOnce(&mut Ports<'_>) -> U,
    ) -> Result<(), TopologyError> {
        self.topology(|| format!("unit `{name}` was added"))?.add_unit(domain, name, build)
    }

    /// Moves a unit to another domain.
    ///
    /// # Errors
    /// No such unit or domain; the simulation has started.
    pub fn move_unit(&mut self, name: &str, domain: &str) -> Result<(), TopologyError> {
        self.topology(|| format!("unit `{name}` was moved to domain `{domain}`"))?.move_unit(name, domain)
    }

    /// Joins two ports, given as `unit.port`, by a clock-crossing FIFO.
    ///
    /// # Errors
    /// Id 0 or taken, a bad depth or number of stages, unknown, unfit or taken ports; the simulation
    /// has started.
    pub fn add_fifo(&mut self, fifo: Fifo, from: &str, to: &str) -> Result<(), TopologyError> {
        self.topology(|| format!("a FIFO from `{from}` was added"))?.add_fifo(fifo, from, to)
    }

    /// Joins two ports of one domain, given as `unit.port`, by an ordinary connection.
    ///
    /// # Errors
    /// A capacity of zero, unknown, unfit or taken ports; the simulation has started. That both are in
    /// one domain is checked at start.
    pub fn connect(&mut self, connection: Connection, from: &str, to: &str) -> Result<(), TopologyError> {
        self.topology(|| format!("a connection from `{from}` was added"))?.connect(connection, from, to)
    }

    /// Sets the batches that a run goes on after a unit's stop request; 0 unless set.
    pub fn set_stop_margin(&mut self, batches: u64) {
        self.margin = batches;
        if let State::Started(engine) = &mut self.state {
            engine.margin = batches;
        }
    }

    /// Sets how many batches apart [`Simulation::run_until`] looks at its predicate; 64 unless set.
    ///
    /// # Panics
    /// If it is 0.
    pub fn set_poll(&mut self, batches: u64) {
        assert!(batches > 0, "a predicate is looked at every 1 batch or more");
        self.poll = batches;
    }

    /// Records the run.
    ///
    /// # Errors
    /// The simulation has started.
    pub fn record(&mut self, options: RecordingOptions) -> Result<(), TopologyError> {
        self.topology(|| "recording was asked for".to_owned())?;
        self.recording = Some(options);
        Ok(())
    }

    /// A handle that stops the run from another thread.
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// Checks and fixes the graph, and opens the recording. Run calls do so by themselves.
    ///
    /// # Errors
    /// The graph is refused; the recording cannot be opened.
    pub fn start(&mut self) -> Result<(), RunError> {
        self.engine().map(|_| ())
    }

    fn engine(&mut self) -> Result<&mut Engine, RunError> {
        if let Some(first) = &self.failed {
            return Err(RunError::Ended { first: first.clone() });
        }
        if let State::Building(topology) = &mut self.state {
            match std::mem::take(topology.as_mut()).assemble() {
                Ok(mut assembly) => {
                    let opened = self.recording.take().map_or(Ok(()), |o| observe::open(o, &mut assembly));
                    self.state =
                        State::Started(Box::new(Engine::new(assembly, self.margin, self.stop.clone())));
                    if let Err(error) = opened {
                        self.failed = Some(error.to_string());
                        return Err(error.into());
                    }
                }
                Err(error) => self.state = State::Refused(error),
            }
        }
        match &mut self.state {
            State::Started(engine) => Ok(engine),
            State::Refused(error) => Err(error.clone().into()),
            State::Building(_) => unreachable!("a graph is either assembled or refused"),
        }
    }

    fn walk(
        &mut self,
        bounds: &Bounds,
        mut condition: impl FnMut(&Engine) -> bool,
        at_bounds: RunStatus,
    ) -> Result<RunReport, RunError> {
        let engine = self.engine()?;
        let looking = Cell::new(false);
        let watched = |engine: &Engine| {
            looking.set(true);
            let holds = condition(engine);
            looking.set(false);
            holds
        };
        let before = engine.batches();
        // A unit's panic ends the run: the engine is only looked at afterwards, for the report. The
        // condition is the caller's, changes nothing, and so is its panic.
        let walked =
            catch_unwind(AssertUnwindSafe(|| engine.walk(bounds, watched))).unwrap_or_else(|panic| {
                if looking.get() {
                    resume_unwind(panic);
                }
                Err(engine.describe_panic(panic.as_ref()))
            });
        let batches = engine.batches() - before;
        let settling = engine.pending.is_some();
        match walked {
            Ok(Walked::Stopped) => Ok(RunReport { batches, status: RunStatus::Stopped }),
            Ok(_) if settling => Ok(RunReport { batches, status: RunStatus::Settling }),
            Ok(Walked::Condition) => Ok(RunReport { batches, status: RunStatus::Finished }),
            Ok(Walked::Bounds) => Ok(RunReport { batches, status: at_bounds }),
            Err(error) => {
                self.failed = Some(error.to_string());
                Err(error)
            }
        }
    }

    /// Runs `batches` more batches.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn run_batches(&mut self, batches: u64) -> Result<RunReport, RunError> {
        let end = self.engine()?.batches() + u128::from(batches);
        self.walk(&Bounds { batches: end, ..Bounds::none() }, |_| false, RunStatus::Finished)
    }

    /// Runs every batch before `time`.
    ///
    /// # Errors
    /// A batch at or after `time` ran already; see [`RunError`].
    pub fn run_until_time(&mut self, time: ExactTime) -> Result<RunReport, RunError> {
        let engine = self.engine()?;
        if engine.batches() > 0 && engine.last_committed() >= time {
            let next = engine.calendar.next_time();
            return Err(RunError::TimePassed { limit: time, next });
        }
        let bounds = Bounds { time: Some(time), ..Bounds::none() };
        self.walk(&bounds, |_| false, RunStatus::Finished)
    }

    /// Runs `cycles` more edges of a domain, with all coincident work of the last one.
    ///
    /// # Errors
    /// No such domain with units; see [`RunError`].
    pub fn run_domain_cycles(&mut self, domain: &str, cycles: u64) -> Result<RunReport, RunError> {
        let engine = self.engine()?;
        let found = engine.calendar.domains().iter().position(|d| d.name().eq_ignore_ascii_case(domain));
        let index = found.ok_or_else(|| RunError::UnknownDomain { name: domain.to_owned() })?;
        let end = engine.calendar.cycle(index as u32).saturating_add(cycles);
        let bounds = Bounds { cycles: Some((index, end)), ..Bounds::none() };
        self.walk(&bounds, |_| false, RunStatus::Finished)
    }

    /// Runs until `predicate` holds, looking whenever the number of completed batches is a multiple of
    /// the poll interval, or until `max_batches` more batches are complete.
    ///
    /// # Errors
    /// See [`RunError`].
    ///
    /// # Panics
    /// If `predicate` does; the run is none the worse for it.
    pub fn run_until(
        &mut self,
        mut predicate: impl FnMut(&Inspection<'_>) -> bool,
        max_batches: u64,
    ) -> Result<RunReport, RunError> {
        let poll = self.poll;
        let end = self.engine()?.batches() + u128::from(max_batches);
        let bounds = Bounds { batches: end, poll, ..Bounds::none() };
        self.walk(&bounds, |engine| predicate(&Inspection { engine }), RunStatus::LimitReached)
    }

    /// Runs until every FIFO is drained, or until `max_batches` more batches are complete. It stops no
    /// producer, and empties no queue inside a model.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn drain_cdc(&mut self, max_batches: u64) -> Result<RunReport, RunError> {
        let end = self.engine()?.batches() + u128::from(max_batches);
        let bounds = Bounds { batches: end, poll: 1, ..Bounds::none() };
        let mut hint = 0;
        self.walk(&bounds, |engine| engine.cx.fabric.drained(&mut hint), RunStatus::LimitReached)
    }

    /// The stop that has settled, if one has.
    pub fn termination(&self) -> Option<&Termination> {
        match &self.state {
            State::Started(engine) => engine.termination.as_ref(),
            _ => None,
        }
    }

    /// The stop that is requested and has not settled, if there is one; its settled time is not final.
    pub fn requested_stop(&self) -> Option<&Termination> {
        match &self.state {
            State::Started(engine) => engine.pending.as_ref().map(|(termination, _)| termination),
            _ => None,
        }
    }

    /// Forgets a stop, requested or settled; the run resumes exactly where it is.
    pub fn reset_termination(&mut self) {
        self.stop.clear();
        if let State::Started(engine) = &mut self.state {
            engine.termination = None;
            engine.pending = None;
        }
    }

    /// The state between batches; `None` before the start.
    pub fn inspect(&self) -> Option<Inspection<'_>> {
        match &self.state {
            State::Started(engine) => Some(Inspection { engine }),
            _ => None,
        }
    }

    /// Ends the recording, if there is one: what was recorded is on disk when this returns. It may be
    /// called after an error too, and then keeps everything up to the last completed batch.
    ///
    /// # Errors
    /// The first error of the recording.
    pub fn finish(&mut self) -> Result<Option<Stats>, RunError> {
        let State::Started(engine) = &mut self.state else { return Ok(None) };
        let Some(recording) = engine.cx.fabric.take_recording() else { return Ok(None) };
        let totals = RunTotals {
            batches: engine.batches(),
            last_committed: (engine.batches() > 0).then(|| engine.last_committed()),
            refusals: engine.cx.fabric.refusals(),
            ..RunTotals::default()
        };
        Ok(Some(recording.close(totals)?))
    }
}

/// A simulation looked at between batches.
pub struct Inspection<'a> {
    engine: &'a Engine,
}

impl Inspection<'_> {
    /// Completed batches.
    pub fn batches(&self) -> u128 {
        self.engine.batches()
    }

    /// Exact time of the last completed batch; zero before the first.
    pub fn last_committed(&self) -> ExactTime {
        self.engine.last_committed()
    }

    /// Completed edges of a domain with units.
    pub fn domain_cycles(&self, domain: &str) -> Option<u64> {
        let domains = self.engine.calendar.domains();
        let index = domains.iter().position(|d| d.name().eq_ignore_ascii_case(domain))?;
        Some(self.engine.calendar.cycle(index as u32))
    }

    /// The registers and totals of a FIFO.
    pub fn fifo(&self, id: u32) -> Option<FifoState> {
        self.engine.cx.fabric.fifo_state(id).map(|(state, _)| state)
    }

    /// Writes that a FIFO refused.
    pub fn fifo_refusals(&self, id: u32) -> Option<u64> {
        self.engine.cx.fabric.fifo_state(id).map(|(_, refusals)| refusals)
    }

    /// Counters of every ordinary connection, by sending unit.
    pub fn connections(&self) -> Vec<ConnectionState> {
        self.engine.cx.fabric.connections()
    }

    /// A unit by its path name, if it is of type `U`.
    pub fn unit<U: Unit>(&self, name: &str) -> Option<&U> {
        let index = self.engine.cx.fabric.find_unit(name)?;
        let (domain, local) =
            (self.engine.cx.fabric.unit_domain(index), self.engine.cx.fabric.unit_local(index));
        let body: &dyn Any = self.engine.groups[domain as usize].bodies[local as usize].as_ref();
        body.downcast_ref()
    }

    /// Path names of all units in canonical order; a unit's id in recordings is its place, from 1.
    pub fn units(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.engine.cx.fabric.unit_count()).map(|unit| self.engine.cx.fabric.unit_name(unit))
    }
}
