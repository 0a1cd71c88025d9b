//! What the `clockweave` command does, as functions on readers and writers.
pub mod logs;
pub mod merge;
pub mod progress;
pub mod run;
pub mod scratch;
