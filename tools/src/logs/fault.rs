//! What can be wrong with a line of a text log, in words a person can act on.

/// Why a line was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The file does not begin with the run line.
    #[error("found `{found}`, expected the log's first line `# run={run} domain={domain}`")]
    NoHeader {
        /// Beginning of the line.
        found: String,
        /// The manifest's run id.
        run: String,
        /// The log's domain.
        domain: String,
    },
    /// The log of another run.
    #[error(
        "the log is of run `{found}`, the manifest of run `{expected}`: directories of two runs cannot be mixed"
    )]
    OtherRun {
        /// Run id in the log.
        found: String,
        /// Run id in the manifest.
        expected: String,
    },
    /// The log of another domain.
    #[error(
        "the log is of domain `{found}`, its name says `{expected}`: rename the file or restore the right one"
    )]
    OtherDomain {
        /// Domain in the log.
        found: String,
        /// Domain in the file name.
        expected: String,
    },
    /// The second line does not name the known columns.
    #[error(
        "found columns `{found}`, expected `# local_cycle unit_id event phase transaction_id fifo_id value ordinal`"
    )]
    ColumnNames {
        /// Beginning of the line.
        found: String,
    },
    /// Line ending of another system.
    #[error(
        "found a CR LF line ending, expected LF alone; convert the file, for instance with `tr -d '\\r'`"
    )]
    CarriageReturn,
    /// Nothing on the line.
    #[error("found an empty line, expected eight columns or a comment; remove it")]
    Empty,
    /// Bytes that are no text.
    #[error("byte {at} of the line is not UTF-8; the file is damaged or no log")]
    NotUtf8 {
        /// Offset in the line.
        at: usize,
    },
    /// More bytes than any log line has.
    #[error("the line is longer than {limit} bytes; the file is damaged or no log")]
    TooLong {
        /// The limit.
        limit: usize,
    },
    /// A wrong number of columns.
    #[error(
        "found {found} columns, expected 8 separated by tabs: local_cycle unit_id event phase transaction_id \
         fifo_id value ordinal"
    )]
    Columns {
        /// Columns found.
        found: usize,
    },
    /// A column that is no number.
    #[error("{column} is `{found}`, expected an unsigned decimal without sign or spaces")]
    Number {
        /// Column name.
        column: &'static str,
        /// Its text.
        found: String,
    },
    /// A number too large.
    #[error("{column} is {found}, expected at most {limit}")]
    Range {
        /// Column name.
        column: &'static str,
        /// Its text.
        found: String,
        /// Largest value.
        limit: u64,
    },
    /// A unit that the manifest does not list.
    #[error("unit id {id} is not in the manifest, which lists {known}")]
    UnknownUnit {
        /// The id.
        id: u64,
        /// What there is.
        known: String,
    },
    /// A unit of another domain.
    #[error("unit `{unit}` (id {id}) is of domain `{domain}`, whose events are in text-domain-{domain}.log")]
    ForeignUnit {
        /// Unit name.
        unit: String,
        /// Unit id.
        id: u64,
        /// Its domain.
        domain: String,
    },
    /// An event name that the manifest does not list.
    #[error("event `{found}` is not in the manifest's `events`{hint}")]
    UnknownEvent {
        /// The name.
        found: String,
        /// Empty, or a suggestion.
        hint: String,
    },
    /// An edge whose time does not fit.
    #[error(
        "local_cycle is {found}, expected at most {limit}: later edges of `{domain}` do not fit 64-bit nanoseconds"
    )]
    BeyondHorizon {
        /// The cycle.
        found: u64,
        /// The domain's last edge.
        limit: u64,
        /// The domain.
        domain: String,
    },
    /// A unit's cycles fall.
    #[error("unit `{unit}` goes back to local_cycle {found} after {last}; a unit's cycles do not decrease")]
    CycleFalls {
        /// Unit name.
        unit: String,
        /// The cycle.
        found: u64,
        /// The unit's cycle before.
        last: u64,
    },
    /// A unit's ordinals do not grow.
    #[error("unit `{unit}` has ordinal {found} after {last}; a unit's ordinals increase")]
    OrdinalStalls {
        /// Unit name.
        unit: String,
        /// The ordinal.
        found: u64,
        /// The unit's ordinal before.
        last: u64,
    },
    /// A gap comment that cannot be read.
    #[error(
        "found `{found}`, expected `# gap unit=U ordinal=N count=N cycle=N phase=0|1` with a unit of the manifest"
    )]
    Gap {
        /// Beginning of the line.
        found: String,
    },
}

impl Fault {
    /// Whether the fault is one of the whole file, so that leaving out the line does not help.
    pub fn concerns_file(&self) -> bool {
        matches!(
            self,
            Self::NoHeader { .. }
                | Self::OtherRun { .. }
                | Self::OtherDomain { .. }
                | Self::ColumnNames { .. }
        )
    }
}

/// A [`Fault`] and its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {fault}")]
pub struct LineError {
    /// The log.
    pub file: String,
    /// Line number, from 1.
    pub line: u64,
    /// What is wrong there.
    pub fault: Fault,
}

/// The beginning of `bytes` as text fit for one line of a message.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    const LONGEST: usize = 64;
    let shown = &bytes[..bytes.len().min(LONGEST)];
    let mut text: String = String::from_utf8_lossy(shown).chars().flat_map(char::escape_debug).collect();
    if bytes.len() > LONGEST {
        text.push('…');
    }
    text
}
