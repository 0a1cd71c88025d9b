//! The rules by name, each with what to do about it.

macro_rules! rules {
    ($($variant:ident $name:literal $hint:literal,)*) => {
        /// One structural rule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = $hint] $variant,)*
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its name in reports.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What the fault costs.
            pub fn hint(self) -> &'static str {
                match self { $(Self::$variant => $hint,)* }
            }
        }
    };
}

rules! {
    MalformedMessage "malformed-message" "the importer stops reading the message there, or takes the value for another, without an error",
    SequenceId "sequence-id" "importers before v54 lose events without a sequence id, and those on an incremental clock where it is 2^31 or more",
    EventBeforeState "event-before-state" "the importer skips the event",
    EventInSnapshot "event-in-snapshot" "the importer reads the snapshot and drops the event in silence",
    SnapshotRegress "snapshot-regress" "the importer's clock conversion fails or jumps where a snapshot goes back",
    SnapshotClocks "snapshot-clocks" "clocks that a snapshot leaves out keep their old relation to the others",
    ClockUndeclared "clock-undeclared" "the importer drops packets whose clock it cannot convert",
    TimeRange "time-range" "the importer keeps times as signed 64-bit nanoseconds and drops what does not fit",
    TimeFalls "time-falls" "a time that goes back must name an absolute clock (timestamp_clock_id)",
    InterningUndefined "interning-undefined" "the importer shows the event without the name or value",
    ExtensionUndeclared "extension-undeclared" "without an ExtensionDescriptor the importer ignores the arguments",
    DroppedWithoutClear "dropped-without-clear" "the importer skips the sequence's packets until its state is cleared",
    TrackRedefined "track-redefined" "the first description of a track wins",
    TrackParent "track-parent" "the importer drops the events of a track whose parent does not exist",
    TrackSiblings "track-siblings" "from v52 on the importer folds equal-named siblings into one; say NONE on both, or BY_TRACK_NAME where that is meant",
    SliceBalance "slice-balance" "slices that begin and end unevenly pair with the wrong ends, without an error",
    WrapperSize "wrapper-size" "keep the content of a compressed packet within 256 KiB, as other readers expect it",
    CodecMixed "codec-mixed" "use one codec per file: readers that know only one of them lose the rest",
}
