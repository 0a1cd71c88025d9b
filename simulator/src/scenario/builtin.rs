//! Scenarios that come with the crate.

use std::borrow::Cow;

use super::error::closest;

/// A built-in scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// What it shows, in one line.
    pub summary: &'static str,
    text: &'static str,
}

macro_rules! builtins {
    ($($name:literal: $summary:literal),* $(,)?) => {
        &[$(Builtin { name: $name, summary: $summary, text: include_str!(concat!("builtin/", $name, ".toml")) }),*]
    };
}

const BUILTINS: &[Builtin] = builtins! {
    "fifo": "a source at 914 MHz writes to a sink at 1326 MHz, as fast as both can",
    "fifo-swapped": "the same with the clocks exchanged: the FIFO fills up",
    "three-clocks": "100 packets through three clock domains and two FIFOs, then the run stops",
};

/// The built-in scenarios.
pub fn builtins() -> &'static [Builtin] {
    BUILTINS
}

/// The text of a built-in scenario.
pub fn builtin(name: &str) -> Option<Cow<'static, str>> {
    BUILTINS.iter().find(|builtin| builtin.name == name).map(|builtin| Cow::Borrowed(builtin.text))
}

/// The built-in scenario whose name is most like `name`, if one is.
pub fn closest_builtin(name: &str) -> Option<&'static str> {
    closest(name, BUILTINS.iter().map(|builtin| builtin.name))
}
