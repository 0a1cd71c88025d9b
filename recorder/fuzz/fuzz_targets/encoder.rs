//! Annotations, texts, times and tracks of any kind through the stand-alone encoder; Perfetto's own schema reads back
//! what was written. The property is the test suite's own.
#![no_main]

#[path = "../../tests/recording/encoder_oracle.rs"]
mod encoder_oracle;
#[allow(dead_code, reason = "shared with tests that use all of it")]
#[path = "../../tests/recording/reading.rs"]
mod reading;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let dir = tempfile::tempdir().expect("a folder for the trace");
    encoder_oracle::check(bytes, &dir.path().join("trace"));
});
