//! Serial execution: one batch after another on the calling thread.
//!
//! A batch is: units of the due domains tick, by domain id and canonical order; then FIFOs with an end
//! in the batch commit; then the calendar moves on. FIFOs sample their pre-edge state inside the
//! commit: nothing between the start of a batch and its commits changes a pointer.
//!
//! # Invariants
//!
//! * No part of a batch runs unless the successor of each of its edges is representable.
//! * A skipped stretch contains no batch in which a unit would tick or a register would change, and
//!   its batches are counted exactly.

use std::any::Any;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use clockweave_model::{ClockDomain, ExactTime, TimeError};

use super::error::{RunError, UnitPlace};
use super::termination::{StopHandle, Termination, TerminationReason};
use crate::clock::{AnyClocks, Batch, Calendar, Clocks, Due, Key, count_instants};
use crate::graph::{Assembly, Group, StopRequest, Tick, UnitError};
use crate::observe::RecordError;

/// A quiet stretch shorter than this is walked: counting it costs more.
const WORTH_SKIPPING: u128 = 256;
/// Batches between looks for a stretch between the edges of slow domains whose units are awake; a
/// shorter one is walked.
const LOOK: u128 = 1 << 16;

/// What a run call is held to.
pub(super) struct Bounds {
    /// Completed batches at which the call ends.
    pub(super) batches: u128,
    /// Time before which batches may run.
    pub(super) time: Option<ExactTime>,
    /// A domain and its completed edges at which the call ends.
    pub(super) cycles: Option<(usize, u64)>,
    /// Look at the condition at every multiple of this many batches.
    pub(super) poll: u64,
}

impl Bounds {
    pub(super) fn none() -> Self {
        Self { batches: u128::MAX, time: None, cycles: None, poll: u64::MAX }
    }
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Walked {
    /// The bounds were reached.
    Bounds,
    /// The condition held.
    Condition,
    /// A stop settled.
    Stopped,
}

/// Why a batch could not be completed.
enum Failure {
    Unit(UnitError),
    Horizon { domain: u32 },
    Recording(RecordError),
}

/// A started simulation.
pub(super) struct Engine {
    pub(super) calendar: Calendar,
    pub(super) cx: Tick<'static>,
    pub(super) groups: Vec<Group>,
    /// Completed batches before the inner loop was entered last, which the fabric counts on from there.
    /// They are more than 64 bits count where several clocks near the horizon.
    before: u128,
    pub(super) margin: u64,
    pub(super) stop: StopHandle,
    /// A unit's request and the completed batches at which it settles.
    pub(super) pending: Option<(Termination, u128)>,
    pub(super) termination: Option<Termination>,
    max_edges: Vec<u64>,
    /// Batches before which skipping is not tried again.
    retry_skip: u128,
    /// Batches before which no stretch beside awake units is looked for.
    look_at: u128,
}

impl Engine {
    pub(super) fn new(assembly: Assembly, margin: u64, stop: StopHandle) -> Self {
        Self {
            max_edges: assembly.domains.iter().map(ClockDomain::max_edge).collect(),
            calendar: Calendar::new(assembly.domains),
            cx: assembly.cx,
            groups: assembly.groups,
            before: 0,
            margin,
            stop,
            pending: None,
            termination: None,
            retry_skip: 0,
            look_at: LOOK,
        }
    }

    /// Completed batches.
    pub(super) fn batches(&self) -> u128 {
        self.before + u128::from(self.cx.fabric.walked)
    }

    /// Exact time of the last completed batch; zero before the first.
    pub(super) fn last_committed(&self) -> ExactTime {
        let completed = self.calendar.domains().iter().zip(self.calendar.cycles());
        let last = completed.filter_map(|(domain, cycles): (_, u64)| {
            cycles.checked_sub(1).map(|edge| domain.edge(edge).expect("a completed edge is representable"))
        });
        last.max().unwrap_or(ExactTime::ZERO)
    }

    /// Runs until the bounds, the condition or a stop; `condition` is looked at when the number of
    /// completed batches is a multiple of `bounds.poll`.
    pub(super) fn walk(
        &mut self,
        bounds: &Bounds,
        mut condition: impl FnMut(&Self) -> bool,
    ) -> Result<Walked, RunError> {
        loop {
            if self.settle() {
                return Ok(Walked::Stopped);
            }
            let polled = bounds.poll != u64::MAX && self.batches().is_multiple_of(bounds.poll.into());
            if polled && condition(self) {
                return Ok(Walked::Condition);
            }
            if self.reached(bounds) {
                return Ok(Walked::Bounds);
            }
            let until = self.pause(bounds);
            if !(self.may_skip() && self.skip(bounds, until)) {
                self.advance(bounds, until).map_err(|failure| self.describe(failure))?;
            }
        }
    }

    fn reached(&self, bounds: &Bounds) -> bool {
        self.batches() >= bounds.batches
            || bounds.time.as_ref().is_some_and(|time| self.calendar.next_time() >= *time)
            || bounds.cycles.is_some_and(|(domain, cycles)| self.calendar.cycle(domain as u32) >= cycles)
    }

    /// The completed batches at which the walk must look up: its end, a settled stop, a poll.
    fn pause(&self, bounds: &Bounds) -> u128 {
        let settles = self.pending.as_ref().map_or(u128::MAX, |(_, at)| *at);
        let polls = match bounds.poll {
            u64::MAX => u128::MAX,
            poll => (self.batches() / u128::from(poll) + 1) * u128::from(poll),
        };
        bounds.batches.min(settles).min(polls)
    }

    /// Completes batches until `until`, the other bounds, a request to stop, or quiet that is worth
    /// a look.
    fn advance(&mut self, bounds: &Bounds, until: u128) -> Result<(), Failure> {
        self.before = self.batches();
        self.cx.fabric.walked = 0;
        let from_here = |at: u128| u64::try_from(at.saturating_sub(self.before)).unwrap_or(u64::MAX);
        if self.look_at <= self.before {
            self.look_at = self.before + LOOK;
        }
        let (until, retry_skip) = (from_here(until.min(self.look_at)), from_here(self.retry_skip));
        let Self { calendar: Calendar { domains, clocks }, cx, groups, stop, .. } = self;
        let done = match clocks {
            AnyClocks::Lattice(clocks) => {
                Walk { clocks, cx, groups, stop, retry_skip }.run(domains, bounds, until)
            }
            AnyClocks::Fixed(clocks) => {
                Walk { clocks, cx, groups, stop, retry_skip }.run(domains, bounds, until)
            }
        };
        if let Some(request) = self.cx.fabric.take_stop()
            && self.pending.is_none()
            && done.is_ok()
        {
            self.keep(request);
        }
        done
    }

    /// Keeps the first request of the batch just completed: ticks run in the order in which requests
    /// win.
    #[cold]
    fn keep(&mut self, request: StopRequest) {
        let place = self.place(request.unit, 1);
        let domain = self.cx.fabric.unit_domain(request.unit);
        let termination = Termination {
            domain_id: self.calendar.domains()[domain as usize].id(),
            unit: Some(place.unit),
            cycle: place.cycle,
            requested_at: place.time,
            settled_at: place.time,
            reason: TerminationReason::Unit(request.reason),
            message: request.message,
        };
        self.pending = Some((termination, self.batches() + u128::from(self.margin)));
    }

    /// Whether a stop has settled here.
    fn settle(&mut self) -> bool {
        if self.termination.is_some() {
            return true;
        }
        if let Some((_, at)) = &self.pending {
            if self.batches() < *at {
                return false;
            }
            let settled_at = self.last_committed();
            self.termination =
                self.pending.take().map(|(termination, _)| Termination { settled_at, ..termination });
            return true;
        }
        if self.stop.is_requested() {
            return self.settle_external();
        }
        false
    }

    #[cold]
    fn settle_external(&mut self) -> bool {
        let Some(message) = self.stop.message() else { return false };
        let now = self.last_committed();
        self.termination = Some(Termination {
            domain_id: clockweave_model::EXTERNAL_DOMAIN,
            unit: None,
            cycle: 0,
            requested_at: now,
            settled_at: now,
            reason: TerminationReason::External,
            message,
        });
        true
    }

    /// Whether to look for a stretch in which nothing changes. While units of some domains are awake
    /// there may be one between their edges, which is worth a look now and then.
    fn may_skip(&mut self) -> bool {
        let batches = self.batches();
        if self.cx.fabric.is_quiet() {
            return batches >= self.retry_skip;
        }
        if batches < self.look_at {
            return false;
        }
        self.look_at = batches + LOOK;
        self.max_edges.len() > 1 && self.cx.fabric.fifos_rest()
    }

    /// Skips a stretch in which nothing changes; says whether it did.
    ///
    /// It ends before the first edge at which a unit is awake or woken by a timer, or which is not
    /// executable, and within the bounds.
    fn skip(&mut self, bounds: &Bounds, until: u128) -> bool {
        let budget = until - self.batches();
        let quiet = self.cx.fabric.is_quiet();
        let worth = if quiet { WORTH_SKIPPING } else { LOOK };
        if quiet && budget < worth {
            self.retry_skip = until;
            return false;
        }
        let stretch = if budget < worth { None } else { self.quiet_stretch(bounds, budget, worth) };
        if let Some((to, count)) = stretch {
            self.calendar.seek(&to);
            self.before += count;
            if !quiet {
                // The next stretch may begin behind the edge that ended this one.
                self.look_at = self.batches() + 1;
            }
            return count > 0;
        }
        if quiet {
            self.retry_skip = self.batches() + worth;
        }
        false
    }

    /// The cycles at the end of a quiet stretch of at most `budget` batches, and its batches; `None`
    /// where it has fewer than `worth` edges or cannot be counted.
    fn quiet_stretch(&mut self, bounds: &Bounds, budget: u128, worth: u128) -> Option<(Vec<u64>, u128)> {
        self.cx.fabric.settle_timers();
        let domains = self.calendar.domains();
        let mut end: Option<ExactTime> = bounds.time;
        let mut before = |domain: usize, edge: u64| {
            let time = domains[domain].edge(edge).expect("an edge up to the horizon is representable");
            end = Some(end.map_or(time, |end| end.min(time)));
        };
        for (domain, &max_edge) in self.max_edges.iter().enumerate() {
            let awake = self.cx.fabric.is_awake(domain).then(|| self.calendar.cycle(domain as u32));
            before(domain, awake.or(self.cx.fabric.next_timer(domain)).unwrap_or(max_edge).min(max_edge));
        }
        if let Some((domain, cycles)) = bounds.cycles {
            before(domain, (cycles - 1).min(self.max_edges[domain]));
        }
        let end = end?;
        let (from, to) = (self.calendar.cycles(), self.first_edges(&end)?);
        let edges: u128 = to.iter().zip(&from).map(|(to, from)| u128::from(to - from)).sum();
        if edges < worth {
            return None;
        }
        let count = count_instants(domains, &from, &to)?;
        if count <= budget { Some((to, count)) } else { self.cut_stretch(&end, budget) }
    }

    /// The longest whole-nanosecond stretch of at most `budget` batches.
    fn cut_stretch(&self, end: &ExactTime, budget: u128) -> Option<(Vec<u64>, u128)> {
        let from = self.calendar.cycles();
        let mut low = self.calendar.next_time().floor_ns().unsigned_abs();
        let mut high = end.floor_ns().unsigned_abs();
        let mut best = None;
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            let to = self.first_edges(&ExactTime::from_ns(middle).ok()?)?;
            match count_instants(self.calendar.domains(), &from, &to) {
                Some(count) if count <= budget => {
                    best = Some((to, count));
                    low = middle;
                }
                _ => high = middle - 1,
            }
        }
        best
    }

    /// The first edge of every domain at or after `time`, and not before its current one.
    fn first_edges(&self, time: &ExactTime) -> Option<Vec<u64>> {
        let domains = self.calendar.domains().iter().zip(self.calendar.cycles());
        domains.map(|(domain, cycle)| Some(domain.edge_at_or_after(time).ok()?.max(cycle))).collect()
    }

    /// Where a unit is, `back` edges before its domain's next one.
    fn place(&self, unit: u32, back: u64) -> UnitPlace {
        let index = self.cx.fabric.unit_domain(unit);
        let (domain, cycle) = (&self.calendar.domains()[index as usize], self.calendar.cycle(index) - back);
        UnitPlace {
            unit: self.cx.fabric.unit_name(unit).to_owned(),
            domain: domain.name().to_owned(),
            cycle,
            time: domain.edge(cycle).expect("a scheduled edge is representable"),
        }
    }

    #[cold]
    fn describe(&self, failure: Failure) -> RunError {
        match failure {
            Failure::Unit(error) => RunError::Unit {
                place: Box::new(self.place(self.cx.fabric.current(), 0)),
                message: error.message().to_owned(),
            },
            Failure::Horizon { domain } => {
                let max_edge = self.max_edges[domain as usize];
                let domain = self.calendar.domains()[domain as usize].name().to_owned();
                let error = TimeError::EdgeOutOfRange { domain, cycle: max_edge.saturating_add(1), max_edge };
                RunError::Time { batches: self.batches(), error }
            }
            Failure::Recording(error) => RunError::Recording(error),
        }
    }

    /// The error for a panic that unwound out of [`Engine::walk`].
    pub(super) fn describe_panic(&self, panic: &(dyn Any + Send)) -> RunError {
        let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        let message = text.unwrap_or_else(|| "without a message".to_owned());
        RunError::Panic { place: Box::new(self.place(self.cx.fabric.current(), 0)), message }
    }
}

/// The inner loop and what it works on.
struct Walk<'a, K> {
    clocks: &'a mut Clocks<K>,
    cx: &'a mut Tick<'static>,
    groups: &'a mut [Group],
    stop: &'a StopHandle,
    /// Batches of this walk before which skipping is not tried.
    retry_skip: u64,
}

impl<K: Key> Walk<'_, K> {
    /// Completes batches until a pause is due; at least one, which is within the bounds, and at most
    /// `until`.
    fn run(&mut self, domains: &[ClockDomain], bounds: &Bounds, until: u64) -> Result<(), Failure> {
        let timed = bounds.time.is_some() || self.cx.fabric.recording().is_some();
        self.clocks.prepare(domains, timed);
        let safe = self.clocks.safe_batches();
        if safe == 0 {
            self.check_horizon()?;
        }
        // Near the horizon every batch is looked at; before a table is made, its making.
        let pause = self.clocks.edges_to_table().unwrap_or(u64::MAX).min(safe.max(1));
        let until = until.min(pause);
        let limit = bounds.time.as_ref().map(|time| self.clocks.ceiling(time));
        match (limit, bounds.cycles) {
            (None, None) if self.clocks.is_followable() && self.cx.fabric.recording().is_none() => {
                let done = if domains.len() == 1 { self.only_domain(until) } else { self.follow(until) };
                done.map_err(Failure::Unit)
            }
            (None, None) => self.batches(until, |_| false),
            (Some(limit), _) => self.batches(until, |clocks| clocks.next_key() >= limit),
            (None, Some((domain, cycles))) => {
                self.batches(until, |clocks| clocks.cycle(domain as u32) >= cycles)
            }
        }
    }

    /// Refuses a batch with an edge whose successor is not representable.
    #[cold]
    fn check_horizon(&mut self) -> Result<(), Failure> {
        let due = self.due();
        let horizon = due.iter().find(|&&domain| self.clocks.cycle(domain) >= self.clocks.max_edge(domain));
        horizon.map_or(Ok(()), |&domain| Err(Failure::Horizon { domain }))
    }

    fn due(&mut self) -> Vec<u32> {
        match self.clocks.due() {
            Due::One(domain) => vec![domain],
            Due::Tied => self.clocks.take_tied(),
        }
    }

    /// Follows the calendar's table, which needs neither times nor searches, without recording.
    #[inline(never)]
    fn follow(&mut self, until: u64) -> Result<(), UnitError> {
        let Self { clocks, cx, groups, stop, retry_skip } = self;
        let (groups, retry_skip, stop) = (&mut **groups, *retry_skip, stop.flag());
        clocks.follow(until, |batch, cycles| {
            let done = match batch {
                Batch::One(domain) => one(cx, groups, domain, cycles),
                Batch::Several(due) => several(cx, groups, due, cycles),
            };
            if let Err(error) = done {
                return ControlFlow::Break(Some(error));
            }
            cx.fabric.walked += 1;
            if cx.fabric.wants_attention(retry_skip) || stop.load(Ordering::Relaxed) {
                return ControlFlow::Break(None);
            }
            ControlFlow::Continue(())
        })
    }

    /// As [`Walk::follow`] where there is one domain: what is the same in all batches stays outside the loop.
    #[inline(never)]
    fn only_domain(&mut self, until: u64) -> Result<(), UnitError> {
        let Self { clocks, cx, groups, stop, retry_skip } = self;
        let (group, stop) = (&mut groups[0], stop.flag());
        let Some(completed) = clocks.only_cycle() else { return Ok(()) };
        let (first, commits) = (*completed, cx.fabric.has_commits(0));
        let (mut cycle, end) = (first, first + until);
        while cycle != end {
            cx.edge(0, cycle, group)?;
            if commits {
                cx.fabric.commit_one_unobserved(0);
            }
            cycle += 1;
            *completed = cycle;
            cx.fabric.walked = cycle - first;
            if cx.fabric.wants_attention(*retry_skip) || stop.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn batches(&mut self, until: u64, reached: impl Fn(&Clocks<K>) -> bool) -> Result<(), Failure> {
        loop {
            match self.clocks.due() {
                Due::One(domain) => self.batch(&[domain])?,
                Due::Tied => self.tied_batch()?,
            }
            self.cx.fabric.walked += 1;
            if self.cx.fabric.walked >= until
                || self.cx.fabric.wants_attention(self.retry_skip)
                || self.stop.is_requested()
                || reached(self.clocks)
            {
                return Ok(());
            }
        }
    }

    #[inline(never)]
    fn tied_batch(&mut self) -> Result<(), Failure> {
        let tied = self.clocks.take_tied();
        let done = self.batch(&tied);
        self.clocks.give_tied(tied);
        done
    }

    #[inline(always)]
    fn batch(&mut self, due: &[u32]) -> Result<(), Failure> {
        for &domain in due {
            let (cycle, group) = (self.clocks.cycle(domain), &mut self.groups[domain as usize]);
            self.cx.edge(domain, cycle, group).map_err(Failure::Unit)?;
        }
        if self.cx.fabric.recording().is_some() {
            self.commit_recorded(due)?;
        } else if let [domain] = *due {
            self.cx.fabric.commit_one_unobserved(domain);
        } else {
            self.cx.fabric.commit_unobserved(due);
        }
        self.clocks.complete(due);
        Ok(())
    }

    #[inline(never)]
    fn commit_recorded(&mut self, due: &[u32]) -> Result<(), Failure> {
        self.cx.fabric.commit_observed(due, |domain| self.clocks.cycle(domain));
        let ns = self.clocks.key(due[0]).ns();
        self.cx
            .fabric
            .recording()
            .map_or(Ok(()), |recording| recording.end_instant(ns))
            .map_err(Failure::Recording)
    }
}

/// A batch of one domain, without recording.
#[inline(always)]
fn one(
    cx: &mut Tick<'static>,
    groups: &mut [Group],
    domain: u32,
    cycles: &mut [u64],
) -> Result<(), UnitError> {
    cx.edge(domain, cycles[domain as usize], &mut groups[domain as usize])?;
    cx.fabric.commit_one_unobserved(domain);
    cycles[domain as usize] += 1;
    Ok(())
}

/// A batch of several domains, without recording.
#[inline(never)]
fn several(
    cx: &mut Tick<'static>,
    groups: &mut [Group],
    due: &[u32],
    cycles: &mut [u64],
) -> Result<(), UnitError> {
    for &domain in due {
        cx.edge(domain, cycles[domain as usize], &mut groups[domain as usize])?;
    }
    cx.fabric.commit_unobserved(due);
    due.iter().for_each(|&domain| cycles[domain as usize] += 1);
    Ok(())
}
