//! Patterns of names: `*` is any text, `?` any character, and everything else itself.

use glob::Pattern;

/// The pattern of `text`. Brackets are themselves, as names of units have them: `core[0]`.
pub fn pattern(text: &str) -> Pattern {
    let mut escaped = String::with_capacity(text.len() + 8);
    let mut last = ' ';
    for letter in text.chars() {
        match letter {
            '[' => escaped.push_str("[[]"),
            ']' => escaped.push_str("[]]"),
            // Several are as one.
            '*' if last == '*' => {}
            other => escaped.push(other),
        }
        last = letter;
    }
    Pattern::new(&escaped).expect("stars, question marks and letters make a pattern")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_stars_and_question_marks_stand_for_anything() {
        for (text, name, matches) in [
            ("core[0]", "core[0]", true),
            ("core[0]", "core0", false),
            ("core[*]", "core[12]", true),
            ("core**", "core/x", true),
            ("***", "", true),
            ("a?c", "a]c", true),
            ("a?c", "ac", false),
            ("[!a]", "b", false),
            ("]", "]", true),
            ("x[", "x[", true),
        ] {
            assert_eq!(pattern(text).matches(name), matches, "{text} {name}");
        }
    }
}
