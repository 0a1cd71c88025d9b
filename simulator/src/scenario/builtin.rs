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
    "fast-slow": "a fast requester and a slow memory with a latency",
    "calendar": "the two clocks of `fifo` without the FIFO",
    "single": "two units that work, in one domain",
    "pairs": "independent pairs of source and sink; also as pP-dD-wW-sS: pairs, domains, work, skew",
    "shared": "pairs joined by several FIFOs each",
    "shared-8": "4 pairs over 2 domains, 8 FIFOs each",
    "shared-coincident": "the same with phases 0, so that edges coincide",
    "segmented-shared": "4 pairs over 4 domains, 8 FIFOs each, run 137 batches at a time",
    "sparse": "many pairs in many domains, with traffic on few cycles",
    "sparse-64": "64 pairs over 64 domains, with traffic on every 16th cycle",
    "ring": "units in a ring of FIFOs, each passing on what it received",
    "feedback": "a ring of 16 units over 8 domains",
    "fanin": "many sources into one sink",
    "fanin-coprime": "16 sources into one sink over 8 domains of unrelated frequencies",
    "runqueue": "run queues: jobs that compute, sleep and talk, on four CPUs",
    "runqueue-fairness": "run queues: jobs of weight 1 to 4 that compute with one to four threads, pinned to one of two CPUs",
    "runqueue-interactive": "run queues: threads that sleep and run briefly among threads that compute",
    "runqueue-fork-storm": "run queues: a thread starts many on one CPU, and the others take them",
    "runqueue-pinned": "run queues: every thread is bound to a CPU",
    "runqueue-real-time": "run queues: a device wakes a real-time thread among threads that compute",
    "runqueue-lopsided": "run queues: all threads begin on the first of four CPUs",
};

/// The built-in scenarios.
pub fn builtins() -> &'static [Builtin] {
    BUILTINS
}

/// The text of a built-in scenario, or of the pairs that a name like `p4-d2-w4000-s1` describes.
pub fn builtin(name: &str) -> Option<Cow<'static, str>> {
    let known = BUILTINS.iter().find(|builtin| builtin.name == name);
    known.map(|builtin| Cow::Borrowed(builtin.text)).or_else(|| pairs(name).map(Cow::Owned))
}

/// The scenario of `pP-dD-wW-sS`: P pairs over D domains, W steps of work per tick, pair 0 S times
/// as many.
fn pairs(name: &str) -> Option<String> {
    let mut parts = name.split('-');
    let [pairs, domains, work, skew] = ['p', 'd', 'w', 's'].map(|letter| {
        let digits = parts.next()?.strip_prefix(letter)?;
        let canonical = digits == "0" || !digits.starts_with('0');
        digits.parse::<u64>().ok().filter(|_| canonical && digits.bytes().all(|b| b.is_ascii_digit()))
    });
    let (pairs, domains, work, skew) = (pairs?, domains?, work?, skew?);
    parts.next().is_none().then(|| {
        format!(
            "# {pairs} pairs of source and sink over {domains} clock domains.\n\n\
             run_id = \"{name}\"\n\n\
             [generate]\n\
             shape = \"pairs\"\n\
             pairs = {pairs}\n\
             domains = {domains}\n\
             lanes = 1\n\
             work = {work}\n\
             skew = {skew}\n\
             activity = 1\n\
             clocks = \"staggered\"\n\n\
             [run]\n\
             batches = 100_000\n"
        )
    })
}

/// The built-in scenario whose name is most like `name`, if one is.
pub fn closest_builtin(name: &str) -> Option<&'static str> {
    closest(name, BUILTINS.iter().map(|builtin| builtin.name))
}
