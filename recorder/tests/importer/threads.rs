//! Runs of several threads and of none, in the real importer: order within a nanosecond decides which way flows point.

use std::fs;
use std::path::Path;

use clockweave_model::{ClockDomain, KindId, Phase, Seconds};
use clockweave_recorder::{Compression, Producer, Recorder, RecorderBuilder, RunTotals, TRACE_FILE};
use clockweave_validators::Options;

use crate::{assert_valid, assert_valid_but_for_fifo_laws, rows};

const TRANSACTIONS: u64 = 400;

/// A writer that is named after its reader, both at 4 GHz; the reader's clock is `phase_ps` later.
fn builder(dir: &Path, compression: Compression, phase_ps: u64) -> RecorderBuilder {
    let mut builder = Recorder::builder(dir);
    builder.compression(compression);
    for (id, name, ps) in [(1, "w", 0), (2, "r", phase_ps)] {
        let domain = ClockDomain::new(id, name, "4GHz".parse().unwrap(), Seconds::from_ps(ps)).unwrap();
        builder.domain(&domain).unwrap();
    }
    builder.add_stream(1, 1, "z.writer").unwrap();
    builder.add_stream(2, 2, "a.reader").unwrap();
    builder
}

/// The writer writes transaction n + 1 at its edge n, the reader sees it at its own edge n: later by the phase, or at
/// the same exact time but in a later phase of the edge.
fn write(producer: &mut Producer, n: u64, phase: Phase) {
    producer.record(n, KindId::FIFO_WRITE, n + 1, n, 1, phase).unwrap();
}

fn see(producer: &mut Producer, n: u64) {
    producer.record(n, KindId::FIFO_VISIBLE, n + 1, n, 1, Phase::Commit).unwrap();
}

/// Every flow leaves the writer and enters the reader.
fn assert_directions(dir: &Path) {
    let query = "select o.name || ' ' || i.name || ' ' || count(*) from flow f \
                 join slice so on f.slice_out = so.id join track o on so.track_id = o.id \
                 join slice si on f.slice_in = si.id join track i on si.track_id = i.id group by o.name, i.name";
    let found = rows(&dir.join(TRACE_FILE), &[query]).remove(0);
    assert_eq!(found.len(), 1, "{found:?}");
    let (writer, reader, count) =
        (found[0].find("z.writer"), found[0].find("a.reader"), TRANSACTIONS.to_string());
    assert!(writer < reader && writer.is_some() && found[0].ends_with(&count), "{found:?}");
}

#[test]
fn flows_keep_their_direction_in_every_order_of_appending_and_draining() {
    // 125 ps later: one nanosecond, two instants. The same instant: write in evaluation, visible in commit.
    for (phase_ps, write_phase) in [(125, Phase::Commit), (0, Phase::Evaluate)] {
        for compression in [Compression::None, Compression::default()] {
            let root = tempfile::tempdir().unwrap();
            let mut reference = None;
            for variant in 0..4 {
                let (reader_first, reversed) = (variant & 1 == 1, variant & 2 == 2);
                let dir = root.path().join(format!("{variant}"));
                let mut builder = builder(&dir, compression, phase_ps);
                builder.reversed_drain(reversed);
                let (mut recorder, mut producers) = builder.start_coordinated().unwrap();
                let [writer, reader] = &mut producers[..] else { panic!("two streams") };
                for n in 0..TRANSACTIONS {
                    // Edge n is at n / 4 ns: every fourth time a nanosecond is over, and the backend may drain.
                    recorder.advance((n / 4) as i64).unwrap();
                    if reader_first {
                        see(reader, n);
                        write(writer, n, write_phase);
                    } else {
                        write(writer, n, write_phase);
                        see(reader, n);
                    }
                }
                recorder.close(RunTotals::default()).unwrap();
                let bytes = fs::read(dir.join(TRACE_FILE)).unwrap();
                let first = reference.get_or_insert_with(|| {
                    assert_eq!(assert_valid_but_for_fifo_laws(&dir), 2 * TRANSACTIONS);
                    assert_directions(&dir);
                    bytes.clone()
                });
                assert!(*first == bytes, "variant {variant}");
            }
        }
    }
}

/// The same by two threads that promise at different times.
#[test]
fn two_threads_record_what_one_would() {
    let root = tempfile::tempdir().unwrap();
    let mut traces = Vec::new();
    for (number, chunks) in [(0, [1, 100]), (1, [64, 7])] {
        let dir = root.path().join(format!("{number}"));
        let (mut recorder, producers) =
            builder(&dir, Compression::default(), 125).start_independent().unwrap();
        std::thread::scope(|scope| {
            for ((at, mut producer), chunk) in producers.into_iter().enumerate().zip(chunks) {
                scope.spawn(move || {
                    for n in 0..TRANSACTIONS {
                        if n % chunk == 0 {
                            producer.advance(n).unwrap();
                        }
                        if at == 0 { write(&mut producer, n, Phase::Commit) } else { see(&mut producer, n) }
                    }
                });
            }
        });
        recorder.close(RunTotals::default()).unwrap();
        traces.push(fs::read(dir.join(TRACE_FILE)).unwrap());
    }
    assert!(traces[0] == traces[1]);
    let dir = root.path().join("0");
    assert_eq!(assert_valid(&dir, &Options::default()), 2 * TRANSACTIONS);
    assert_directions(&dir);
}

/// What a lossy run lost is told by the importer itself; everything else about the trace holds.
#[test]
fn the_importer_reports_what_a_lossy_run_lost() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = builder(dir.path(), Compression::default(), 125);
    builder.lossy(true).ring_capacity(Some(2));
    let (mut recorder, producers) = builder.start_independent().unwrap();
    let Ok([mut writer, reader]) = <[Producer; 2]>::try_from(producers) else { panic!("two streams") };
    // Edges 100 to 103 are in nanosecond 25; nothing leaves the ring before the reader's stream has ended.
    for n in 0..10 {
        writer.record(100, KindId::FIFO_WRITE, n + 1, n, 1, Phase::Commit).unwrap();
    }
    drop(reader);
    drop(writer);
    let stats = recorder.close(RunTotals::default()).unwrap();
    assert_eq!((stats.events, stats.dropped_events, stats.clockweave.gaps), (2, 8, 1));
    assert_eq!(assert_valid(dir.path(), &Options::default()), 2);
    let query =
        "select cast(sum(value) as text) from stats where name = 'traced_buf_trace_writer_packet_loss'";
    assert_eq!(rows(&dir.path().join(TRACE_FILE), &[query]), [["8"]]);
}
