//! The calendar: which domains have an edge next, exactly.

mod calendar;
mod queue;
mod stretch;
mod table;

pub(crate) use calendar::{AnyClocks, Calendar, Clocks, Due, Key};
pub(crate) use stretch::count_instants;
pub(crate) use table::Batch;
