//! The first pass: every line of a log checked, and whether it is in merge order already.

use crate::logs::{Catalog, Checks, Entry, Lines, Next, ReadError, TornLine};
use crate::progress::Progress;

use super::part::Part;
use super::{MergeError, MergeOptions, OnError, read_error};

/// Bytes read at once.
pub(super) const BUFFER: usize = 128 * 1024;
/// Events between two reports of progress.
const STRIDE: u64 = 1 << 15;

/// The merge order within one domain, where exact time is the cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LocalKey {
    pub(super) cycle: u64,
    /// Phase, then rank of the unit's name.
    pub(super) place: u64,
    pub(super) ordinal: u64,
}

impl LocalKey {
    #[inline]
    pub(super) fn of(catalog: &Catalog, entry: &Entry) -> Self {
        let rank = catalog.units()[entry.unit as usize].rank;
        Self {
            cycle: entry.fields.cycle,
            place: (u64::from(entry.fields.phase) << 32) | u64::from(rank),
            ordinal: entry.fields.ordinal,
        }
    }
}

/// What a log holds.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) ordered: bool,
    pub(super) events: u64,
    pub(super) gaps: u64,
    pub(super) lost: u64,
    pub(super) filtered: u64,
    /// Some unit's ordinals do not begin with 0 or skip some.
    pub(super) holes: bool,
    pub(super) refused: u64,
    pub(super) torn: Option<TornLine>,
}

/// Reads a log to its end.
pub(super) fn survey(
    part: &Part<'_>,
    options: &MergeOptions,
    progress: &mut dyn Progress,
) -> Result<Survey, MergeError> {
    let Part { catalog, log, .. } = *part;
    let source = log.source().open().map_err(read_error(log))?;
    let buffer = BUFFER.min(usize::try_from(options.memory / 4).unwrap_or(BUFFER));
    let mut reader = part.reader(Lines::new(source, buffer), Checks::All);
    let mut found = Survey { ordered: true, ..Survey::default() };
    let (mut last, mut shown) = (LocalKey::default(), 0);
    loop {
        match reader.advance() {
            Ok(Next::Entry) => {
                let key = LocalKey::of(catalog, reader.entry());
                found.ordered &= key >= last;
                last = key;
                if reader.entry().lost == 0 {
                    found.events += 1;
                } else {
                    found.gaps += 1;
                    found.lost = found.lost.saturating_add(reader.entry().lost);
                }
                if found.events.is_multiple_of(STRIDE) {
                    progress.advance(reader.offset() - shown);
                    shown = reader.offset();
                }
            }
            Ok(Next::Torn(torn)) => found.torn = Some(torn),
            Ok(Next::End) => {
                progress.advance(reader.offset() - shown);
                (found.filtered, found.holes) = (reader.filtered(), reader.has_holes());
                return Ok(found);
            }
            Err(ReadError::Io(error)) => return Err(read_error(log)(error)),
            Err(ReadError::Line(error)) => {
                if options.on_error == OnError::Halt
                    || (options.on_error == OnError::Skip && error.fault.concerns_file())
                {
                    return Err(error.into());
                }
                found.refused += 1;
                progress.refused(&error);
            }
        }
    }
}
