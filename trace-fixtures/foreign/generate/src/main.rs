//! Writes one small trace per Rust producer into a folder: `foreign-traces FOLDER`.
//!
//! Each does the same: two nested spans or slices, instants, and counters and flows where the producer has them. One
//! process per producer, since most of them keep global state: `foreign-traces FOLDER NAME` writes one.

mod sdk;

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::{env, thread};

use tracing_subscriber::prelude::*;

type Fallible = Result<(), Box<dyn std::error::Error>>;
type Producer = (&'static str, fn(&Path) -> Fallible);

const PRODUCERS: [Producer; 5] = [
    ("perfetto-sdk", sdk::write),
    ("perfetto-recorder", perfetto_recorder),
    ("perfetto-writer", perfetto_writer),
    ("tracing-perfetto", tracing_perfetto),
    ("tracing-perfetto-file", tracing_perfetto_file),
];

fn main() -> Fallible {
    let mut arguments = env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("expected a folder")?);
    match arguments.next() {
        Some(name) => {
            let (_, write) = PRODUCERS.iter().find(|(known, _)| *known == name).ok_or("no such producer")?;
            write(&folder.join(format!("{name}.pftrace")))
        }
        None => {
            for (name, _) in PRODUCERS {
                // Producers record the command line: it says nothing of the machine.
                let mut command = Command::new(env::current_exe()?);
                let status =
                    command.arg0("foreign-traces").args([".", name]).current_dir(&folder).status()?;
                if !status.success() {
                    return Err(format!("{name}: {status}").into());
                }
            }
            Ok(())
        }
    }
}

fn perfetto_recorder(path: &Path) -> Fallible {
    use perfetto_recorder::{CounterUnit, ThreadTraceData, TraceBuilder, scope, start_span};

    perfetto_recorder::start()?;
    let mut trace = TraceBuilder::new()?;
    let mut depth = trace.create_counter_track("depth", CounterUnit::Count, 1, false);
    for step in 0..4_i64 {
        depth.record_i64(perfetto_recorder::time(), step);
        scope!("outer", step = step);
        scope!("inner");
    }
    let other = thread::spawn(|| {
        drop(start_span!("elsewhere"));
        ThreadTraceData::take_current_thread()
    });
    let other = other.join().map_err(|_| "the thread failed")?;
    trace.process_thread_data(&ThreadTraceData::take_current_thread());
    trace.process_thread_data(&other);
    trace.write_to_file(path)?;
    Ok(())
}

fn perfetto_writer(path: &Path) -> Fallible {
    let mut trace = perfetto_writer::Context::new(File::create(path)?);
    let track = trace.current_thread_track();
    let counter = trace.track().name("depth").counter().build();
    for step in 0..4_i64 {
        let us = 1_000 + 10 * step;
        let begin = trace.event().with_timestamp_us(us).with_begin().with_track_uuid(track);
        begin.with_name("outer").with_category("app").with_debug_int("step", step).build();
        let instant = trace.event().with_timestamp_us(us + 2).with_instant().with_track_uuid(track);
        instant.with_name("here").with_category("app").with_flow_id(7).build();
        let sample = trace.event().with_timestamp_us(us + 3).with_counter().with_track_uuid(counter);
        sample.with_counter_value(step).build();
        trace.event().with_timestamp_us(us + 5).with_end().with_track_uuid(track).build();
    }
    trace.flush()?;
    Ok(())
}

/// What both `tracing` layers are given to record.
fn spans() -> Fallible {
    for step in 0..4_u64 {
        tracing::info_span!("outer", step).in_scope(|| {
            tracing::info!(step, "here");
            tracing::info_span!("inner").in_scope(|| {});
        });
    }
    let other = thread::Builder::new().name("other".into());
    let other = other.spawn(|| tracing::info_span!("elsewhere").in_scope(|| {}))?;
    other.join().map_err(|_| "the thread failed")?;
    Ok(())
}

fn tracing_perfetto(path: &Path) -> Fallible {
    let layer = tracing_perfetto::PerfettoLayer::new(Mutex::new(File::create(path)?));
    tracing_subscriber::registry().with(layer.with_debug_annotations(true)).init();
    spans()
}

fn tracing_perfetto_file(path: &Path) -> Fallible {
    let layer = tracing_perfetto_file::PerfettoLayer::builder(File::create(path)?);
    let (layer, guard) = layer.with_debug_annotations().with_counters().build();
    tracing_subscriber::registry().with(layer).init();
    spans()?;
    guard.flush()?;
    Ok(())
}
