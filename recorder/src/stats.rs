//! What a run was: totals, per-unit counts, memory and host figures; `clock-stats.json`.

use std::collections::BTreeMap;

use clockweave_model::ExactTime;
use serde::Serialize;
use serde_json::value::RawValue;

/// What only the simulator knows about the run; given to `close`.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunTotals {
    /// Completed batches; more than 64 bits count where several clocks near the horizon.
    pub batches: u128,
    /// Exact time of the last completed batch; `None` before the first.
    pub last_committed: Option<ExactTime>,
    /// Sends that were refused.
    pub refusals: u64,
    /// Events that the run's filters left out before they were recorded.
    pub filtered: u64,
}

/// Events by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EventTotals {
    /// Recorded by producers.
    pub produced: u64,
    /// In the outputs.
    pub retained: u64,
    /// Lost to a full ring of a lossy run.
    pub dropped: u64,
    /// Left out by the run's filters, on purpose.
    pub filtered: u64,
}

/// Events of one unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StreamStats {
    /// Unit id.
    pub unit_id: u64,
    /// Unit name.
    pub unit: String,
    /// Recorded by its producers.
    pub produced: u64,
    /// In the outputs.
    pub retained: u64,
    /// Lost.
    pub dropped: u64,
    /// Retained events by kind; kinds without any are absent.
    pub kinds: BTreeMap<String, u64>,
}

/// One file of the trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SegmentStats {
    /// Its name.
    pub file: String,
    /// Events in it.
    pub events: u64,
    /// Events lost within it.
    pub dropped: u64,
    /// Its size.
    pub bytes: u64,
}

/// An exact time as a reduced ratio of seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExactSeconds {
    /// Numerator, in decimal; a number of any length in JSON.
    #[serde(serialize_with = "integer")]
    pub time_num: String,
    /// Denominator, likewise.
    #[serde(serialize_with = "integer")]
    pub time_den: String,
}

/// Writes decimal digits as a JSON number, past 128 bits too.
fn integer<S: serde::Serializer>(digits: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let raw = RawValue::from_string(digits.to_owned()).map_err(serde::ser::Error::custom)?;
    raw.serialize(serializer)
}

/// What clockweave adds to the convention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StatsExtension {
    /// Totals.
    pub events: EventTotals,
    /// By unit, in canonical order.
    pub streams: Vec<StreamStats>,
    /// Edges of all flows: per transaction, its events less one. `None` where the transaction ids
    /// of the run are too scattered to be told apart in bounded memory.
    pub flow_edges: Option<u64>,
    /// Gaps of a lossy run.
    pub gaps: u64,
    /// Completed batches; more than 64 bits count where several clocks near the horizon.
    pub batches: u128,
    /// Exact time of the last completed batch.
    pub last_committed: Option<ExactSeconds>,
    /// Sends that were refused.
    pub refusals: u64,
    /// Trace files, in order.
    pub segments: Vec<SegmentStats>,
    /// Largest resident size of the process; `None` where the system does not tell.
    pub peak_rss_bytes: Option<u64>,
}

/// Statistics of a closed run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Events in the outputs.
    pub events: u64,
    /// Events lost.
    pub dropped_events: u64,
    /// Times the producing thread waited for the writing one.
    pub producer_stalls: u64,
    /// How long, in nanoseconds of host time.
    pub producer_stall_ns: u64,
    /// Batches whose admission had to be tried again.
    pub admission_retries: u64,
    /// Times a producer waited for another's progress.
    pub progress_stalls: u64,
    /// How long, in nanoseconds of host time.
    pub progress_stall_ns: u64,
    /// Bytes of producer rings; a serial run has none.
    pub allocated_ingress_bytes: u64,
    /// Sum over streams of the most bytes their rings held.
    pub peak_ingress_bytes_upper_bound: u64,
    /// Bytes of blocks between encoders and the writing thread.
    pub allocated_staging_bytes: u64,
    /// Most records of one open bucket.
    pub peak_staging_records: u64,
    /// Bytes of the open bucket at its fullest.
    pub native_buffer_peak_bytes: u64,
    /// Records of the open bucket at its fullest.
    pub native_buffer_peak_records: u64,
    /// Host time from opening the recorder to its first output, in nanoseconds.
    pub first_output_ns: u64,
    /// Bytes of all outputs but this file.
    pub file_bytes: u64,
    /// Additions.
    pub clockweave: StatsExtension,
}

impl Stats {
    /// The file's text.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self)
            .expect("statistics have only strings, integers, lists and maps with string keys");
        text.push('\n');
        text
    }
}

impl From<&ExactTime> for ExactSeconds {
    fn from(time: &ExactTime) -> Self {
        let ratio = time.to_ratio();
        Self { time_num: ratio.numer().to_string(), time_den: ratio.denom().to_string() }
    }
}

/// The process's peak resident size, from the system's own account.
pub(crate) fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_times_are_integers_of_any_length() {
        let time = ExactSeconds { time_num: "5".repeat(60), time_den: "1".to_owned() };
        let text = serde_json::to_string(&time).unwrap();
        assert_eq!(text, format!("{{\"time_num\":{},\"time_den\":1}}", "5".repeat(60)));
        let half = ExactSeconds::from(&ExactTime::from_ns(500_000_000).unwrap());
        assert_eq!((half.time_num.as_str(), half.time_den.as_str()), ("1", "2"));
    }
}
