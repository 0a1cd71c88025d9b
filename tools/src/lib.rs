//! What the `clockweave` command does, as functions on readers and writers.
pub mod diff;
pub mod inspect;
pub mod logs;
pub mod merge;
pub mod mutants;
pub mod output;
#[cfg(feature = "parquet")]
pub mod output_folder;
pub mod parallel;
pub mod progress;
pub mod record;
pub mod recorded;
pub mod recover;
pub mod report;
pub mod run;
pub mod scratch;
pub mod trace;
