//! import: the importer took every packet and lost nothing.
//!
//! The importer reports trouble only in its `stats` table, much of it below the severity of an error, so the names
//! that mean loss for a trace of ours are listed here. Tables and columns are probed first: an engine that renamed
//! something is an environment error, not a finding.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::{EngineError, Session};
use crate::report::{Check, CheckReport, Finding};

const SCHEMA: &str = include_str!("../../checks/import_schema.sql");
const STATS: &str = include_str!("../../checks/import_stats.sql");

/// What the queries of all checks use.
const COLUMNS: [(&str, &[&str]); 5] = [
    ("slice", &["id", "ts", "dur", "track_id", "category", "name", "arg_set_id"]),
    ("args", &["id", "arg_set_id", "flat_key", "int_value", "string_value"]),
    ("flow", &["slice_out", "slice_in"]),
    ("track", &["id", "name", "parent_id", "source_arg_set_id"]),
    ("stats", &["name", "idx", "severity", "value"]),
];

/// The statistic by which a lossy trace declares its own losses.
const DECLARED_LOSS: &str = "traced_buf_trace_writer_packet_loss";

/// Statistics that are no errors to the importer but mean that something of a trace is missing or misread.
const MUST_BE_ZERO: [&str; 15] = [
    "packet_skipped_seq_needs_incremental_state_invalid",
    "interned_data_skipped_incremental_state_invalid",
    "tokenizer_skipped_packets",
    "track_event_tokenizer_errors",
    "track_event_parser_errors",
    "flow_step_without_start",
    "flow_end_without_start",
    "track_hierarchy_missing_uuid",
    "clock_sync_failure",
    "clock_sync_failure_no_path",
    "invalid_clock_snapshots",
    "interned_data_tokenizer_errors",
    "unknown_extension_fields",
    "sorter_push_event_out_of_order",
    "trace_sorter_negative_timestamp_dropped",
];

/// Fails unless the engine has every table and column that the checks query.
pub(crate) fn probe(session: &mut Session) -> Result<(), EngineError> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    session.query("import_schema", SCHEMA, |row| -> Result<(), EngineError> {
        found.entry(row.text(0)?.into_owned()).or_default().insert(row.text(1)?.into_owned());
        Ok(())
    })?;
    for (table, columns) in COLUMNS {
        for column in columns {
            if !found.get(table).is_some_and(|found| found.contains(*column)) {
                let detail = format!("found no column {table}.{column}, expected Perfetto's public tables");
                return Err(EngineError::Incompatible { detail });
            }
        }
    }
    Ok(())
}

/// The statistics check. `declared_loss` is what the run says it dropped, if it says so.
pub(crate) fn check(
    session: &mut Session,
    declared_loss: Option<u64>,
    limit: usize,
) -> Result<CheckReport, EngineError> {
    let mut check = Check::new("import", "statistics", limit);
    let mut loss = 0_i64;
    session.query("import_stats", STATS, |row| -> Result<(), EngineError> {
        let (name, severity, value) = (row.text(0)?, row.text(1)?, row.int(2)?);
        check.rows += 1;
        if name == DECLARED_LOSS {
            loss += value;
        } else if matches!(&*severity, "error" | "data_loss") || MUST_BE_ZERO.contains(&&*name) {
            check.find(|| {
                Finding::new(format!("found {name} = {value} ({severity}), expected 0")).hint(hint(&name))
            });
        }
        Ok(())
    })?;
    if let Some(declared_loss) = declared_loss.filter(|declared| u64::try_from(loss) != Ok(*declared)) {
        check.find(|| {
            Finding::new(format!(
                "found {DECLARED_LOSS} = {loss}, expected the {declared_loss} events declared lost"
            ))
            .hint("the trace and the run's statistics disagree about losses")
        });
    }
    Ok(check.finish())
}

fn hint(name: &str) -> &'static str {
    match name {
        "clock_sync_failure" | "clock_sync_failure_no_path" | "invalid_clock_snapshots" => {
            "a clock snapshot is missing, goes back or names other clocks"
        }
        "packet_skipped_seq_needs_incremental_state_invalid"
        | "interned_data_skipped_incremental_state_invalid"
        | "tokenizer_skipped_packets" => "events come before their sequence's cleared state or after a loss",
        "track_hierarchy_missing_uuid" => "a track names a parent that the trace does not describe",
        "unknown_extension_fields" => "the extension descriptor is missing or does not match the events",
        _ => "the importer dropped or misread part of the trace; `inspect --lint` may say where",
    }
}
