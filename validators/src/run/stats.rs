//! `clock-stats.json`: what the recorder says it wrote.
//!
//! Only counts are read. Keys of other recorders are enough for the totals; ours add each unit's.

use std::collections::BTreeMap;

use serde::Deserialize;

/// One unit's counts.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct StreamTotals {
    pub(crate) unit_id: u64,
    pub(crate) produced: u64,
    pub(crate) retained: u64,
    pub(crate) dropped: u64,
    /// Retained events by kind name; absent where the recorder did not count them.
    pub(crate) kinds: Option<BTreeMap<String, u64>>,
}

/// A run's counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stats {
    pub(crate) events: u64,
    pub(crate) dropped: u64,
    pub(crate) totals: Option<Totals>,
    pub(crate) streams: Vec<StreamTotals>,
    pub(crate) flow_edges: Option<u64>,
    /// The files of the trace, where the recorder tells.
    pub(crate) segments: Vec<SegmentTotals>,
}

/// What one file of the trace holds.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct SegmentTotals {
    pub(crate) file: String,
    pub(crate) events: u64,
    pub(crate) dropped: u64,
}

/// The run's totals as clockweave adds them.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Totals {
    pub(crate) produced: u64,
    pub(crate) retained: u64,
    pub(crate) dropped: u64,
    /// Left out on purpose, before they were counted as produced.
    #[serde(default)]
    pub(crate) filtered: u64,
}

#[derive(Deserialize)]
struct File {
    events: u64,
    dropped_events: u64,
    clockweave: Option<Extension>,
}

#[derive(Default, Deserialize)]
struct Extension {
    events: Option<Totals>,
    #[serde(default)]
    streams: Vec<StreamTotals>,
    flow_edges: Option<u64>,
    #[serde(default)]
    segments: Vec<SegmentTotals>,
}

impl Stats {
    /// Parses the statistics' text; the error says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let extension = file.clockweave.unwrap_or_default();
        Ok(Self {
            events: file.events,
            dropped: file.dropped_events,
            totals: extension.events,
            streams: extension.streams,
            flow_edges: extension.flow_edges,
            segments: extension.segments,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_the_shared_keys_and_ours_are_read() {
        let shared = Stats::parse(r#"{"events":5,"dropped_events":2,"producer_stalls":0}"#).unwrap();
        assert_eq!((shared.events, shared.dropped, shared.streams.len()), (5, 2, 0));
        let ours = r#"{"events":5,"dropped_events":2,"clockweave":{"events":{"produced":7,"retained":5,"dropped":2,
            "filtered":0},"streams":[{"unit_id":1,"unit":"a","produced":7,"retained":5,"dropped":2,
            "kinds":{"user":5}}],"flow_edges":null,"gaps":1}}"#;
        let ours = Stats::parse(ours).unwrap();
        assert_eq!(ours.totals.unwrap().produced, 7);
        assert_eq!(ours.streams[0].kinds.as_ref().unwrap()["user"], 5);
        assert_eq!(ours.flow_edges, None);
        assert!(Stats::parse(r#"{"events":5}"#).unwrap_err().contains("dropped_events"));
    }
}
