//! Units made of a closure, and the log through which their test sees what they did.

use std::sync::{Arc, Mutex};

use clockweave_simulator::{Ports, Simulation, Tick, TickResult, Unit};

struct Scripted<F>(F);

impl<F: FnMut(&mut Tick<'_>) -> TickResult + Send + 'static> Unit for Scripted<F> {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        (self.0)(cx)
    }
}

/// Adds a unit whose ticks are a closure, which `build` makes from the unit's ports.
pub(crate) fn add<F, B>(sim: &mut Simulation, domain: &str, name: &str, build: B)
where
    F: FnMut(&mut Tick<'_>) -> TickResult + Send + 'static,
    B: FnOnce(&mut Ports<'_>) -> F,
{
    sim.add_unit(domain, name, |p| Scripted(build(p))).unwrap();
}

/// A simulation whose only domain is 1 GHz and named `clk`.
pub(crate) fn one_clock() -> Simulation {
    let mut sim = Simulation::new();
    sim.add_clock(1, "clk", "1GHz").unwrap();
    sim
}

/// What units note, in order.
#[derive(Debug)]
pub(crate) struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Log<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Log<T> {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn push(&self, entry: T) {
        self.0.lock().unwrap().push(entry);
    }

    /// Everything noted since the last call.
    pub(crate) fn take(&self) -> Vec<T> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}
