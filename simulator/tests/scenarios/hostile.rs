//! Nothing that a scenario file may contain makes it panic.

use clockweave_simulator::scenario::{Scenario, builtin, builtins};
use proptest::prelude::*;

/// Reads, and builds what is small enough to be built often.
fn survive(text: &str, overrides: &[&str]) {
    if let Ok(scenario) = Scenario::with_overrides(text, "s.toml", overrides.iter().copied())
        && scenario.units().len() < 1000
    {
        let _ = scenario.build(None);
    }
}

fn any_builtin() -> impl Strategy<Value = String> {
    (0..builtins().len()).prop_map(|at| builtin(builtins()[at].name).unwrap().into_owned())
}

fn fragment() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "model",
        "= \"sink\"",
        "[units.x]",
        "[[connections]]",
        "[generate]",
        "shape = \"ring\"",
        "from",
        "to",
        ".",
        "\"",
        "'''",
        "{",
        "}",
        "[",
        "]",
        "=",
        "0x",
        "1e400",
        "18446744073709551615",
        "-1",
        "\n",
        "#",
        "1979-05-27",
        "inf",
        "true",
        "\"producer.out\"",
        "\u{0}",
        "é",
        "run.cycles",
        "pairs = 0",
        "depth = 3",
    ];
    prop_oneof![proptest::sample::select(WORDS).prop_map(str::to_owned), any::<char>().prop_map(String::from)]
}

proptest! {
    #[test]
    fn changed_builtins(
        text in any_builtin(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..20usize, fragment()), 1..8),
    ) {
        let mut text: Vec<char> = text.chars().collect();
        for (at, removed, inserted) in edits {
            let at = at.index(text.len() + 1);
            let end = (at + removed).min(text.len());
            text.splice(at..end, inserted.chars());
        }
        survive(&text.into_iter().collect::<String>(), &[]);
    }

    #[test]
    fn strings_of_fragments(parts in prop::collection::vec(fragment(), 0..60)) {
        survive(&parts.concat(), &[]);
        survive(&parts.join(" "), &[]);
    }

    #[test]
    fn overrides(text in any_builtin(), parts in prop::collection::vec(fragment(), 0..8), value in ".{0,20}") {
        survive(&text, &[&parts.concat(), &format!("units.producer.pattern={value}"), &value]);
    }
}

#[test]
fn deep_nesting_is_refused() {
    for text in [
        format!("a = {}1{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("a = {}1{}", "{a=".repeat(100_000), "}".repeat(100_000)),
        format!("a{} = 1", ".a".repeat(100_000)),
        format!("[a{}]", ".a".repeat(100_000)),
    ] {
        assert!(Scenario::parse(&text, "deep.toml").is_err());
    }
}
