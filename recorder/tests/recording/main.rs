//! Runs recorded through the public interface and read back with independent means.

mod checkpoints;
mod conformance;
mod determinism;
mod embedding;
mod encoder;
mod encoder_oracle;
mod failures;
mod guide;
mod reading;
mod rotation;
mod run_directory;
mod scheduling;
mod schemas;
mod stored_sample;
mod total_order;
mod trace_packets;
mod two_clocks;
