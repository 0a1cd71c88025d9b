//! Sets `loom` for this package alone, and makes the mutants: the recorder's own sources with one thing weakened each.

use std::path::Path;
use std::{env, fs};

/// Name of a mutant, its source, what is replaced and by what.
const MUTANTS: [(&str, &str, &str, &str); 8] = [
    (
        "head_stored_relaxed",
        "ring",
        "self.ring.head.0.store(self.head, Ordering::Release);",
        "self.ring.head.0.store(self.head, Ordering::Relaxed);",
    ),
    (
        "head_loaded_relaxed",
        "ring",
        "self.head = self.ring.head.0.load(Ordering::Acquire);",
        "self.head = self.ring.head.0.load(Ordering::Relaxed);",
    ),
    ("failure_wakes_nobody", "frontier", "self.streams.iter().for_each(Condvar::notify_one);", ""),
    (
        "room_looked_for_only_before_the_lock",
        "frontier",
        "while !has_room() && state.failure.is_none() {",
        "if state.failure.is_none() {",
    ),
    (
        "promises_wake_nobody",
        "frontier",
        "            state.waiting.pop();\n            self.streams[stream].notify_one();",
        "            state.waiting.pop();",
    ),
    (
        "failure_leaves_flushes_waiting",
        "frontier",
        "        self.flushed.notify_all();\n        self.rouse(&mut state);",
        "        self.rouse(&mut state);",
    ),
    (
        "answers_wake_nobody",
        "frontier",
        "        self.lock().flushes_done = flushes;\n        self.flushed.notify_all();",
        "        self.lock().flushes_done = flushes;",
    ),
    (
        "an_end_wakes_nobody",
        "frontier",
        "        self.lock().ended = true;\n        self.flushed.notify_all();",
        "        self.lock().ended = true;",
    ),
];

fn main() {
    println!("cargo::rustc-cfg=loom");
    println!("cargo::rerun-if-changed=build.rs");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    for (name, source, from, to) in MUTANTS {
        let path = format!("../src/{source}.rs");
        println!("cargo::rerun-if-changed={path}");
        let text = fs::read_to_string(&path).expect("the recorder's source");
        assert_eq!(text.matches(from).count(), 1, "mutant {name} has its one place in {path}");
        // Inner documentation may not stand in an included file.
        let text = text.replace(from, to);
        let lines = text.lines().filter(|line| !line.starts_with("//!"));
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        fs::write(Path::new(&out).join(format!("{name}.rs")), text).expect("the build's own folder");
    }
}
