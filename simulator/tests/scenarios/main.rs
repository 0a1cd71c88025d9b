//! Scenario files: what they build, what they refuse, and that runs are reproducible.

mod builtins;
