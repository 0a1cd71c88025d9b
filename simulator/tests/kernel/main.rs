//! The simulator's kernel held against independent evidence: a reference FIFO, big rationals, a naive
//! interpreter of whole graphs, and timelines derived by hand.
//!
//! Nothing here uses the crate's models or scenario files; units are the tests' own.

mod circuit;
mod clocks;
mod connections;
mod fifo_combinations;
mod horizon;
mod interpreter;
mod node;
mod pair;
mod random_graphs;
mod recording;
mod reference;
mod rejections;
mod runs;
mod scale;
mod scripted;
mod sleeping;
mod stretches;
mod termination;
mod timelines;
mod traffic;
