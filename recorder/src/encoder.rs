//! The trace encoder by itself, for programs that bring their own time and their own tracks.
//!
//! [`PftraceWriter`] writes one Perfetto trace: tracks, instants, slices, counters, flows, typed annotations. It knows
//! no clock domains, units or run directories; those are the recorder's. Times are nanoseconds of whatever the program
//! means by them.
//!
//! # Invariants
//!
//! * At any moment the file is a valid trace up to its last complete packet; with compression too.
//! * The bytes follow from the calls alone, not from flushing or host time.
//! * What would import wrongly without a word is refused instead: a slice that ends where none is open, slices of one
//!   track that go back in time, a counter value on a track that has none.
//! * Memory is bounded: names and tracks by a budget, one event by 64 KiB, blocks by their number.
//!
//! # Example
//!
//! ```
//! use clockweave_recorder::encoder::{Event, Level, PftraceOptions, PftraceWriter, Value};
//!
//! # let root = tempfile::tempdir()?;
//! # let path = root.path().join("own.pftrace");
//! let mut trace = PftraceWriter::create(&path, PftraceOptions::default())?;
//! let cpu = trace.track("cpu 0", None)?;
//! let load = trace.counter_track("load", Some(cpu), Some("percent"))?;
//! let [irq, vector, device] = ["irq", "vector", "device"].map(|name| trace.name(name));
//! let (irq, vector, device) = (irq?, vector?, device?);
//!
//! trace.write(&Event::begin(1000, cpu, irq).args(&[(vector, Value::Uint(3)), (device, Value::Text("eth0"))]))?;
//! trace.write(&Event::counter(1200, load, Level::Int(80)))?;
//! trace.write(&Event::end(1500, cpu))?;
//! // Nothing before 1500 ns comes any more; saying so turns a late event into an error.
//! trace.advance_watermark(1500)?;
//! assert!(trace.write(&Event::instant(1400, cpu, irq)).is_err());
//!
//! let summary = trace.close()?;
//! assert_eq!(summary.events, 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod event;
mod names;
mod packet;
mod tracks;
mod writer;

pub use error::TraceError;
pub use event::{Event, Level, Name, Track, Value};
pub use writer::{PftraceOptions, PftraceWriter, TraceSummary};
