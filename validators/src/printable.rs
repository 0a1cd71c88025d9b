//! Text from traces, logs and paths, made safe to show.
//!
//! A name may hold anything: escape sequences that rewrite a terminal, line ends that forge a line of a report,
//! direction marks that reorder it. Invariants: what comes out is one line of printable characters, of bounded length;
//! printable text comes out as it is. Deliberately does not quote.

use std::fmt::Write as _;

/// Most bytes of one text in a report.
const LONGEST: usize = 4096;

/// `text` with every character that is not printable written as its escape, cut where it is too long.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(LONGEST));
    for (at, character) in text.char_indices() {
        if shown.len() >= LONGEST {
            let _ = write!(shown, "… ({} more bytes)", text.len() - at);
            break;
        }
        match character {
            // Printable, but `escape_debug` would mark them.
            '"' | '\'' | '\\' => shown.push(character),
            _ => shown.extend(character.escape_debug()),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printable_text_stays_and_everything_else_is_escaped() {
        for plain in ["", "unit a.b #3 (fifo.write, cycle 7)", "\"quoted\" 'and' C:\\path", "Größe 取引 🦀"]
        {
            assert_eq!(printable(plain), plain);
        }
        assert_eq!(printable("\x1b[2J\x1b]0;t\x07"), "\\u{1b}[2J\\u{1b}]0;t\\u{7}");
        assert_eq!(printable("a\nb\r\tc\0"), "a\\nb\\r\\tc\\0");
        // C1 control, right-to-left override, zero width space, byte order mark, line separator.
        let hidden = "\u{9b}\u{202e}\u{200b}\u{feff}\u{2028}";
        assert_eq!(printable(hidden), "\\u{9b}\\u{202e}\\u{200b}\\u{feff}\\u{2028}");
    }

    #[test]
    fn long_text_is_cut_and_says_so() {
        let long = "ä".repeat(1 << 20);
        let shown = printable(&long);
        assert!(shown.ends_with("… (2093056 more bytes)"), "{}", &shown[4080..]);
        assert_eq!(shown.trim_end_matches("… (2093056 more bytes)").len(), 4096);
    }
}
