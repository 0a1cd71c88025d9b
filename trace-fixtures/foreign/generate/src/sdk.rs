//! The C++ SDK through `perfetto-sdk`, which links the vendored C library: an in-process tracing session.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use perfetto_sdk::heap_buffer::HeapBuffer;
use perfetto_sdk::pb_msg::{PbMsg, PbMsgWriter};
use perfetto_sdk::producer::{Backends, Producer, ProducerInitArgsBuilder};
use perfetto_sdk::protos::config::data_source_config::DataSourceConfig;
use perfetto_sdk::protos::config::trace_config::{
    TraceConfig, TraceConfigBufferConfig, TraceConfigDataSource,
};
use perfetto_sdk::protos::config::track_event::track_event_config::TrackEventConfig;
use perfetto_sdk::tracing_session::TracingSession;
use perfetto_sdk::track_event::*;
use perfetto_sdk::{scoped_track_event, track_event_categories, track_event_counter, track_event_instant};

track_event_categories! {
    pub mod categories {
        ("app", "What the application does", []),
    }
}

use categories as perfetto_te_ns;

use crate::Fallible;

pub fn write(path: &Path) -> Fallible {
    Producer::init(ProducerInitArgsBuilder::new().backends(Backends::IN_PROCESS).build());
    TrackEvent::init();
    perfetto_te_ns::register()?;
    let mut session = TracingSession::in_process()?;
    session.setup(&configuration()?);
    session.start_blocking();
    let depth = TrackEventTrack::register_counter_track("depth", TrackEventTrack::process_track_uuid())?;
    for step in 0..4_i64 {
        scoped_track_event!("app", "outer", |context: &mut EventContext| {
            context.add_debug_arg("step", TrackEventDebugArg::Int64(step));
        });
        let flow = TrackEventFlow::process_scoped_flow(7);
        track_event_instant!("app", "here", |context: &mut EventContext| {
            context.set_flow(&flow);
        });
        track_event_counter!("app", |context: &mut EventContext| {
            context.set_track(&depth);
            context.set_counter(TrackEventCounter::Int64(step));
        });
        scoped_track_event!("app", "inner");
    }
    session.stop_blocking();
    let file = Arc::new(Mutex::new(File::create(path)?));
    let out = Arc::clone(&file);
    session.read_trace_blocking(move |data, _| out.lock().unwrap().write_all(data).unwrap());
    file.lock().unwrap().flush()?;
    Ok(())
}

/// A `TraceConfig`: one buffer, the track events of every category.
fn configuration() -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let writer = PbMsgWriter::new();
    let buffer = HeapBuffer::new(writer.stream_writer());
    let mut message = PbMsg::new(&writer)?;
    {
        let mut config = TraceConfig { msg: &mut message };
        config.set_buffers(|buffer: &mut TraceConfigBufferConfig| {
            buffer.set_size_kb(256);
        });
        config.set_data_sources(|sources: &mut TraceConfigDataSource| {
            sources.set_config(|source: &mut DataSourceConfig| {
                source.set_name("track_event");
                source.set_track_event_config(|events: &mut TrackEventConfig| {
                    events.set_enabled_categories("*");
                });
            });
        });
    }
    message.finalize();
    let mut bytes = vec![0; writer.stream_writer().get_written_size()];
    buffer.copy_into(&mut bytes);
    Ok(bytes)
}
