//! What a stand-alone trace refuses. A refused call leaves the trace as it was; only a failed output ends it.

use crate::error::RecordError;

/// Why a track, a name or an event was refused, or the output failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// An event before the watermark.
    #[error(
        "an event at {ns} ns came after the watermark had passed {watermark} ns; advance only when every earlier event \
         was written"
    )]
    Late {
        /// Time of the event.
        ns: u64,
        /// The watermark.
        watermark: u64,
    },
    /// A watermark below an earlier one.
    #[error("the watermark went from {last} ns back to {ns} ns; watermarks do not fall")]
    WatermarkFell {
        /// The watermark given.
        ns: u64,
        /// The one before.
        last: u64,
    },
    /// A time that Perfetto cannot hold.
    #[error("{ns} ns is beyond the last time of a trace, 9223372036854775807 ns")]
    TimeRange {
        /// The time given.
        ns: u64,
    },
    /// One event takes too many bytes.
    #[error("an event at {ns} ns takes {bytes} bytes, more than {limit}; shorten its texts or split it")]
    EventTooLarge {
        /// Time of the event.
        ns: u64,
        /// Bytes it would take, names that it is the first to use included.
        bytes: usize,
        /// The most there may be.
        limit: usize,
    },
    /// A name of a track or an event that is too long.
    #[error("a name has {bytes} bytes, more than {limit}; long texts are values, not names")]
    NameTooLong {
        /// Its length.
        bytes: usize,
        /// The most there may be.
        limit: usize,
    },
    /// Names and tracks do not fit their budget.
    #[error(
        "names and tracks take more than the {what} of {budget}; raise metadata_bytes, or write changing texts as \
         `Value::Text`"
    )]
    MetadataBudget {
        /// Which budget.
        what: &'static str,
        /// The budget.
        budget: usize,
    },
    /// A handle of another trace.
    #[error("{what} {number} was not handed out by this trace")]
    Unknown {
        /// `track` or `name`.
        what: &'static str,
        /// Its number.
        number: u32,
    },
    /// A counter value on a track of slices, or anything else on a counter's.
    #[error("track `{track}`: {found} does not belong on it; it is {expected}")]
    WrongTrack {
        /// Name of the track.
        track: String,
        /// What was to be written.
        found: &'static str,
        /// What the track is.
        expected: &'static str,
    },
    /// The end of a slice where none is open.
    #[error("track `{track}`: a slice ends at {ns} ns, and none is open")]
    NothingOpen {
        /// Name of the track.
        track: String,
        /// Time of the end.
        ns: u64,
    },
    /// Slices within slices beyond what importers take.
    #[error("track `{track}`: a slice at {ns} ns would be within {limit} others; importers take no more")]
    TooDeep {
        /// Name of the track.
        track: String,
        /// Time of the beginning.
        ns: u64,
        /// The most there may be.
        limit: u32,
    },
    /// Begin or end of a slice before the track's last one.
    #[error(
        "track `{track}`: a slice begins or ends at {ns} ns, after one at {last} ns; slices of one track are written in \
         order, because importers pair them in that order"
    )]
    SliceRegressed {
        /// Name of the track.
        track: String,
        /// The time given.
        ns: u64,
        /// Time of the track's last begin or end.
        last: u64,
    },
    /// An option out of range, or the output failed.
    #[error(transparent)]
    Output(#[from] RecordError),
}
