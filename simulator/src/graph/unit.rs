//! The unit: a piece of hardware in one clock domain, and the small types its tick deals in.

use std::any::Any;
use std::fmt;

use super::tick::Tick;

/// A unit belongs to one clock domain; [`Unit::tick`] is called once on each of its domain's edges,
/// unless it sleeps.
///
/// Units move between threads but are never shared. What a tick does must follow from the unit's own
/// state and what it reads through `cx`; then runs are reproducible.
pub trait Unit: Any + Send {
    /// One edge of the unit's clock.
    ///
    /// # Errors
    /// An error stops the run; it then carries the unit, domain, cycle and time.
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult;
}

/// What a tick returns.
pub type TickResult = Result<(), UnitError>;

/// Why a unit gave up; any error or text converts into it.
#[allow(clippy::box_collection, reason = "one word, so that a tick returns it in a register")]
pub struct UnitError(Box<String>);

impl UnitError {
    /// The message.
    pub fn message(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<E: fmt::Display> From<E> for UnitError {
    fn from(error: E) -> Self {
        Self(Box::new(error.to_string()))
    }
}

/// What crosses a FIFO: a transaction and its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<T> {
    /// Names the transaction from end to end; not 0, never reused in a recorded run.
    pub transaction_id: u64,
    /// The payload. State shared inside it is outside the contract.
    pub data: T,
}

impl<T> Packet<T> {
    /// A packet of transaction `transaction_id`.
    pub fn new(transaction_id: u64, data: T) -> Self {
        Self { transaction_id, data }
    }
}

/// A write that was not accepted; the packet is handed back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteError<T> {
    /// The FIFO is full, or accepted a packet on this edge already.
    Refused(Packet<T>),
    /// The packet's transaction id is 0.
    ZeroTransaction(Packet<T>),
}

impl<T> WriteError<T> {
    /// The packet.
    pub fn into_packet(self) -> Packet<T> {
        match self {
            Self::Refused(packet) | Self::ZeroTransaction(packet) => packet,
        }
    }
}

impl<T> fmt::Display for WriteError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(packet) => write!(f, "the FIFO refused transaction {}", packet.transaction_id),
            Self::ZeroTransaction(_) => {
                f.write_str("a packet's transaction id is 0; expected another number")
            }
        }
    }
}

/// A two-phase stage register file: all stages of a unit read old values and write new ones, in
/// whatever order they are evaluated.
///
/// The parity is the unit's own local edge: on cycle `c` readers see what was written on cycle
/// `c - 1`, and a stage not written on an edge holds its value.
///
/// ```
/// use clockweave_simulator::Pipeline;
///
/// let mut stages = Pipeline::new(2, 0);
/// for cycle in 0..4 {
///     let edge = stages.edge(cycle);
///     edge.write(0, cycle * 10);
///     edge.write(1, *edge.read(0));
/// }
/// // Stage 1 lags stage 0 by one edge: cycle 3 wrote 30 behind the 20 of cycle 2.
/// let edge = stages.edge(4);
/// assert_eq!((*edge.read(0), *edge.read(1)), (30, 20));
/// ```
#[derive(Clone, Debug)]
pub struct Pipeline<T> {
    /// Both parities of every stage.
    stages: Vec<[T; 2]>,
    /// The edge that last wrote each stage.
    written: Vec<Option<u64>>,
    cycle: u64,
}

impl<T: Clone> Pipeline<T> {
    /// `stages` registers that hold `reset`.
    pub fn new(stages: usize, reset: T) -> Self {
        Self { stages: vec![[reset.clone(), reset]; stages], written: vec![None; stages], cycle: 0 }
    }

    /// The registers on local edge `cycle`; edges do not decrease.
    pub fn edge(&mut self, cycle: u64) -> &mut Self {
        self.cycle = cycle;
        self
    }

    /// The value of `stage` before this edge.
    ///
    /// # Panics
    /// If there is no such stage.
    pub fn read(&self, stage: usize) -> &T {
        &self.stages[stage][self.old(stage)]
    }

    /// Gives `stage` a new value, seen from the next edge on. The last write of an edge counts.
    ///
    /// # Panics
    /// If there is no such stage.
    pub fn write(&mut self, stage: usize, value: T) {
        let parity = (self.cycle & 1) as usize;
        if self.written[stage] != Some(self.cycle) {
            // The old value moves to the other parity where the stage missed edges.
            let old = self.old(stage);
            if old == parity {
                self.stages[stage].swap(0, 1);
            }
            self.written[stage] = Some(self.cycle);
        }
        self.stages[stage][parity] = value;
    }

    /// Index of the value of `stage` that was there before this edge.
    fn old(&self, stage: usize) -> usize {
        let parity = (self.cycle & 1) as usize;
        match self.written[stage] {
            None => 1 - parity,
            Some(at) if at == self.cycle => 1 - parity,
            Some(at) => (at & 1) as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_parities_read_old_values_in_any_order() {
        for start in [0, 1] {
            for reversed in [false, true] {
                let mut stages = Pipeline::new(3, 0);
                let mut seen = Vec::new();
                for cycle in start..start + 5 {
                    let edge = stages.edge(cycle);
                    let input = cycle - start + 1;
                    let mut order = [0, 1, 2];
                    if reversed {
                        order.reverse();
                    }
                    for stage in order {
                        let value = if stage == 0 { input } else { *edge.read(stage - 1) };
                        edge.write(stage, value);
                    }
                    seen.push(*edge.read(2));
                }
                // Input 1 enters stage 0 on edge 0, stage 2 on edge 2, and is read on edge 3.
                assert_eq!(seen, [0, 0, 0, 1, 2]);
            }
        }
    }

    #[test]
    fn a_stage_that_is_not_written_holds() {
        let mut stages = Pipeline::new(1, 7);
        for (cycle, write, before) in
            [(0, Some(8), 7), (1, None, 8), (2, Some(9), 8), (4, Some(1), 9), (5, Some(2), 1)]
        {
            let edge = stages.edge(cycle);
            assert_eq!(*edge.read(0), before, "{cycle}");
            if let Some(value) = write {
                edge.write(0, 100);
                edge.write(0, value);
                assert_eq!(*edge.read(0), before, "{cycle}");
            }
        }
        assert_eq!(*stages.edge(6).read(0), 2);
    }
}
