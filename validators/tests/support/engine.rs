//! The engine of the tests: installed once per user, its compiled module cached beside the build.

use std::path::PathBuf;
use std::sync::OnceLock;

use clockweave_validators::engine::{Engine, EngineDirs};

pub fn dirs() -> EngineDirs {
    let compiled = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("compiled-engine");
    EngineDirs { compiled, ..EngineDirs::from_env().expect("a folder for the engine") }
}

pub fn open() -> Engine {
    Engine::open(&dirs()).unwrap_or_else(|error| {
        panic!("this test needs the Trace Processor; run `cargo run -p clockweave -- engine install` once: {error}")
    })
}

/// One engine for all tests of a binary.
pub fn shared() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(open)
}
