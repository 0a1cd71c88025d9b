//! The address of the page: which trace it loads, and what it selects and shows.
//!
//! All of it are parameters that the UI itself knows: `url`, `table` and `ts` (of which it makes the condition of a
//! query), `visStart` and `visEnd` in ns, and commands to run at the start. So the page is Perfetto's own, unchanged.

use std::fmt::Write as _;

/// What the page selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The first event of this transaction.
    Transaction(u64),
    /// The last event at or before this time, in ns.
    At(i64),
}

/// What the page selects and which part of the time it shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The selected event.
    pub selection: Option<Selection>,
    /// The first and the last ns shown.
    pub window: Option<(i64, i64)>,
}

impl Selection {
    /// A condition that only the selected slice meets.
    fn condition(self) -> String {
        match self {
            // Above i64::MAX the importer has its two's complement.
            Self::Transaction(id) => format!(
                "ts AND id = (SELECT slice.id FROM slice JOIN args USING (arg_set_id) WHERE slice.category = 'clock' \
                 AND args.flat_key = 'debug.transaction_id' AND args.int_value = {} ORDER BY slice.ts, slice.id LIMIT 1)",
                id.cast_signed()
            ),
            Self::At(ns) => format!(
                "ts AND id = (SELECT id FROM slice WHERE ts <= {ns} AND (category IS NULL OR category != 'meta') \
                 ORDER BY ts DESC, id DESC LIMIT 1)"
            ),
        }
    }
}

/// Percent-encodes what may not stand in a parameter.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 3 / 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Strings take what they are given.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// The address of the page at `origin` that loads the trace at `trace`.
pub fn page(origin: &str, trace: &str, view: &View) -> String {
    let mut page = format!("{origin}/#!/?url={}", encoded(trace));
    let expand = r#"[{"id":"dev.perfetto.ExpandTracksByRegex","args":[".*"]}]"#;
    let mut parameter = |name: &str, value: &str| {
        let _ = write!(page, "&{name}={}", encoded(value));
    };
    parameter("startupCommands", expand);
    if let Some(selection) = view.selection {
        parameter("table", "slice");
        parameter("ts", &selection.condition());
    }
    if let Some((first, last)) = view.window {
        parameter("visStart", &first.to_string());
        parameter("visEnd", &last.to_string());
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_what_is_selected_and_shown() {
        let plain = page("http://127.0.0.1:9", "http://127.0.0.1:9/trace/a b", &View::default());
        assert!(
            plain
                .starts_with("http://127.0.0.1:9/#!/?url=http://127.0.0.1:9/trace/a%20b&startupCommands=%5B")
        );
        assert!(!plain.contains("&ts="));
        let view = View { selection: Some(Selection::Transaction(u64::MAX)), window: Some((3, 44)) };
        let page = page("http://127.0.0.1:9", "t", &view);
        assert!(page.contains("&table=slice&ts=ts%20AND%20id%20%3D%20%28SELECT"), "{page}");
        assert!(
            page.contains("args.int_value%20%3D%20-1%20ORDER") && page.ends_with("&visStart=3&visEnd=44")
        );
        assert!(page.is_ascii() && !page.contains(['\'', '"', ' ', '(', '<']), "{page}");
    }
}
