//! One line of a text log as numbers, and why it is none.
//!
//! Reading and explaining are two passes: [`parse`] says only yes or no and is fast, [`explain`]
//! goes over a refused line again. Invariant: `explain` finds a fault exactly where `parse` refuses.

use super::fault::{Fault, excerpt};

/// The columns in order.
pub(crate) const COLUMNS: [&str; 8] =
    ["local_cycle", "unit_id", "event", "phase", "transaction_id", "fifo_id", "value", "ordinal"];

/// Digits of `u64::MAX`.
const MAX_DIGITS: usize = 20;

/// The numbers of one line, and where its other parts lie in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) cycle: u64,
    pub(crate) unit_id: u64,
    pub(crate) phase: u8,
    pub(crate) transaction: u64,
    pub(crate) fifo: u64,
    pub(crate) value: u64,
    pub(crate) ordinal: u64,
    /// Some number has leading zeros, so that the line's text is not how it is written.
    pub(crate) padded: bool,
    /// End of the cycle's text, which begins the line.
    pub(crate) cycle_end: usize,
    /// Begin of the event's name; from here on the line is what merging writes.
    pub(crate) event: usize,
    pub(crate) event_end: usize,
}

/// Reads a decimal of at most [`MAX_DIGITS`] digits and `u64::MAX` from `at` on, leaving `at` after it.
#[inline]
fn decimal(line: &[u8], at: &mut usize, padded: &mut bool) -> Option<u64> {
    let text = line.get(*at..)?;
    let mut value = 0u64;
    let mut length = 0;
    while let Some(digit) = text.get(length).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        // Wraps only beyond 19 digits, which are read anew below.
        value = value.wrapping_mul(10).wrapping_add(digit.into());
        length += 1;
    }
    *at += length;
    *padded |= length > 1 && text[0] == b'0';
    match length {
        0 => None,
        1..=19 => Some(value),
        MAX_DIGITS => str::from_utf8(&text[..MAX_DIGITS]).ok()?.parse().ok(),
        _ => None,
    }
}

#[inline]
fn tab(line: &[u8], at: &mut usize) -> Option<()> {
    let found = line.get(*at) == Some(&b'\t');
    *at += 1;
    found.then_some(())
}

/// The fields of a line of eight well-formed columns.
#[inline]
pub(crate) fn parse(line: &[u8]) -> Option<Fields> {
    let mut fields = Fields::default();
    let (mut at, mut padded) = (0, false);
    fields.cycle = decimal(line, &mut at, &mut padded)?;
    fields.cycle_end = at;
    tab(line, &mut at)?;
    fields.unit_id = decimal(line, &mut at, &mut padded)?;
    tab(line, &mut at)?;
    fields.event = at;
    while *line.get(at)? != b'\t' {
        at += 1;
    }
    fields.event_end = at;
    tab(line, &mut at)?;
    fields.phase = match decimal(line, &mut at, &mut padded)? {
        0 => 0,
        1 => 1,
        _ => return None,
    };
    tab(line, &mut at)?;
    for column in [&mut fields.transaction, &mut fields.fifo, &mut fields.value] {
        *column = decimal(line, &mut at, &mut padded)?;
        tab(line, &mut at)?;
    }
    fields.ordinal = decimal(line, &mut at, &mut padded)?;
    fields.padded = padded;
    (at == line.len() && fields.event_end > fields.event).then_some(fields)
}

/// Why `line` is refused, if it is.
#[cold]
pub(crate) fn explain(line: &[u8]) -> Option<Fault> {
    if let Err(error) = str::from_utf8(line) {
        return Some(Fault::NotUtf8 { at: error.valid_up_to() });
    }
    if line.is_empty() {
        return Some(Fault::Empty);
    }
    if line.ends_with(b"\r") {
        return Some(Fault::CarriageReturn);
    }
    let found = line.split(|byte| *byte == b'\t').count();
    if found != COLUMNS.len() {
        return Some(Fault::Columns { found });
    }
    COLUMNS
        .iter()
        .zip(line.split(|byte| *byte == b'\t'))
        .find_map(|(column, text)| explain_column(column, text))
}

fn explain_column(column: &'static str, text: &[u8]) -> Option<Fault> {
    if column == "event" {
        return text
            .is_empty()
            .then(|| Fault::UnknownEvent { found: String::new(), hint: ": the name is empty".to_owned() });
    }
    let digits = text.iter().all(u8::is_ascii_digit) && !text.is_empty();
    if !digits {
        return Some(Fault::Number { column, found: excerpt(text) });
    }
    let limit = if column == "phase" { 1 } else { u64::MAX };
    let value = str::from_utf8(text).ok().and_then(|digits| digits.parse::<u64>().ok());
    match value.filter(|_| text.len() <= MAX_DIGITS) {
        Some(value) if value <= limit => None,
        _ => Some(Fault::Range { column, found: excerpt(text), limit }),
    }
}

/// A gap comment: events of one unit that a lossy run dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GapText<'a> {
    /// The unit's id or name, as written.
    pub(crate) unit: &'a str,
    pub(crate) ordinal: u64,
    pub(crate) count: u64,
    pub(crate) cycle: u64,
    pub(crate) phase: u8,
}

/// What a gap comment begins with.
pub(crate) const GAP: &str = "# gap ";

/// Reads a gap comment; unit names may hold spaces, so the numbers are taken from the end.
pub(crate) fn parse_gap(line: &[u8]) -> Option<GapText<'_>> {
    let mut rest = str::from_utf8(line).ok()?.strip_prefix(GAP)?.strip_prefix("unit=")?;
    let mut last = |key: &str| {
        let (before, text) = rest.rsplit_once(key)?;
        rest = before;
        let mut at = 0;
        decimal(text.as_bytes(), &mut at, &mut false).filter(|_| at == text.len())
    };
    let phase = u8::try_from(last(" phase=")?).ok().filter(|phase| *phase <= 1)?;
    let cycle = last(" cycle=")?;
    let count = last(" count=")?;
    let ordinal = last(" ordinal=")?;
    Some(GapText { unit: rest, ordinal, count, cycle, phase })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str = "12\t3\tfifo.write\t1\t18446744073709551615\t7\t0\t42";

    #[test]
    fn a_good_line_gives_its_fields() {
        let fields = parse(GOOD.as_bytes()).unwrap();
        assert_eq!((fields.cycle, fields.unit_id, fields.phase, fields.ordinal), (12, 3, 1, 42));
        assert_eq!((fields.transaction, fields.fifo, fields.value), (u64::MAX, 7, 0));
        assert_eq!(&GOOD[..fields.cycle_end], "12");
        assert_eq!(&GOOD[fields.event..fields.event_end], "fifo.write");
        assert_eq!(explain(GOOD.as_bytes()), None);
        assert!(!fields.padded);
        assert!(parse(b"0012\t3\tuser\t1\t0\t0\t0\t0").unwrap().padded);
    }

    fn fault(column: usize, text: &str) -> Fault {
        let mut columns: Vec<&str> = GOOD.split('\t').collect();
        columns[column] = text;
        let line = columns.join("\t");
        assert_eq!(parse(line.as_bytes()), None, "{line}");
        explain(line.as_bytes()).unwrap()
    }

    #[test]
    fn every_bad_column_is_named() {
        for (at, name) in COLUMNS.iter().enumerate().filter(|(_, name)| **name != "event") {
            for text in ["", "-1", "+1", " 1", "1 ", "1.0", "0x1", "x", "1_0", "٣"] {
                let found = fault(at, text);
                assert!(matches!(&found, Fault::Number { column, .. } if column == name), "{text}: {found}");
            }
            let wide = fault(at, "18446744073709551616");
            assert!(matches!(&wide, Fault::Range { column, .. } if column == name));
            assert!(matches!(fault(at, &"9".repeat(40)), Fault::Range { .. }));
            assert!(matches!(fault(at, &"0".repeat(21)), Fault::Range { .. }));
        }
        assert_eq!(fault(3, "2"), Fault::Range { column: "phase", found: "2".to_owned(), limit: 1 });
        assert!(matches!(fault(2, ""), Fault::UnknownEvent { .. }));
    }

    #[test]
    fn whole_line_faults() {
        let of = |line: &[u8]| explain(line).unwrap();
        assert_eq!(of(b""), Fault::Empty);
        assert_eq!(of(format!("{GOOD}\r").as_bytes()), Fault::CarriageReturn);
        assert_eq!(of(b"\r"), Fault::CarriageReturn);
        assert_eq!(of(b"1\t2\xff"), Fault::NotUtf8 { at: 3 });
        assert_eq!(of(b"1\t2\t3"), Fault::Columns { found: 3 });
        assert_eq!(of(format!("{GOOD}\t0").as_bytes()), Fault::Columns { found: 9 });
        assert_eq!(of(GOOD.replace('\t', " ").as_bytes()), Fault::Columns { found: 1 });
    }

    #[test]
    fn gaps_are_read_from_the_end() {
        let gap = parse_gap(b"# gap unit=a count=1 b ordinal=5 count=3 cycle=9 phase=1").unwrap();
        assert_eq!(gap, GapText { unit: "a count=1 b", ordinal: 5, count: 3, cycle: 9, phase: 1 });
        for bad in [
            "# gap unit=a ordinal=5 count=3 cycle=9",
            "# gap unit=a ordinal=5 count=3 cycle=9 phase=2",
            "# gap unit=a ordinal=5 count=x cycle=9 phase=0",
            "# gap ordinal=5 count=3 cycle=9 phase=0",
        ] {
            assert_eq!(parse_gap(bad.as_bytes()), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn explain_finds_a_fault_exactly_where_parse_refuses(
            mut line in proptest::sample::select(vec![GOOD.to_owned(), "0\t1\tu\t0\t0\t0\t0\t0".to_owned()]),
            edits in proptest::collection::vec((0usize..64, proptest::sample::select(b"0129\t\r- xz".to_vec())), 0..3),
        ) {
            for (at, byte) in edits {
                if at < line.len() {
                    line.replace_range(at..=at, &char::from(byte).to_string());
                }
            }
            prop_assert_eq!(parse(line.as_bytes()).is_none(), explain(line.as_bytes()).is_some(), "{:?}", line);
        }
    }
}
