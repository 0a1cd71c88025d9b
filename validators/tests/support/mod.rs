//! What the tests of this crate share.

#![allow(dead_code, unreachable_pub, missing_docs)]

pub mod engine;
pub mod mutate;
pub mod run;
pub mod wire;
