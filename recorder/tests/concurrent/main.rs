//! Runs recorded by several threads, read back with independent means.

mod budgets;
mod disabled;
mod failures;
mod identical;
mod loss;
mod progress;
#[allow(dead_code, reason = "shared with the tests of serial recording, which use all of it")]
#[path = "../recording/reading.rs"]
mod reading;
mod workload;
