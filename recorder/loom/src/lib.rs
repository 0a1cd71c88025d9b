//! Models of the recorder's [ring] and [frontier], run by loom through every interleaving of their threads and every
//! value that the memory model lets a load see. The sources are the recorder's own, compiled with loom's primitives.
//!
//! Each model is also run over mutants of the same sources, with one ordering or one wake-up taken away, and has to
//! fail there. What loom cannot show: a relaxed load that sees a store which comes later in its own thread's order.
//! So the orderings of the ring's `tail`, which forbid just that, have no mutant; their argument stands in the ring.
//!
//!     cargo test --manifest-path recorder/loom/Cargo.toml
#![cfg(test)]

#[allow(dead_code, reason = "the models use a part")]
#[path = "../../src/frontier.rs"]
mod frontier;
#[allow(dead_code, reason = "the models use a part")]
#[path = "../../src/ring.rs"]
mod ring;
#[path = "../../src/sync.rs"]
mod sync;

/// The recorder's sources with one thing weakened each; see `build.rs`.
mod mutants {
    macro_rules! mutants {
        ($($name:ident)*) => {
            $(
                #[allow(dead_code, unused, clippy::all, reason = "made from the recorder's source")]
                pub(super) mod $name {
                    include!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".rs"));
                }
            )*
        };
    }
    mutants! {
        head_stored_relaxed
        head_loaded_relaxed
        failure_wakes_nobody
        room_looked_for_only_before_the_lock
        promises_wake_nobody
        failure_leaves_flushes_waiting
        answers_wake_nobody
        an_end_wakes_nobody
    }
}

use loom::sync::Arc;
use loom::thread;

/// Set in the process that runs a model that has to fail.
const MUTANT: &str = "CLOCKWEAVE_LOOM_MUTANT";

/// Runs `model`, of the test named `test`, in a process of its own, because some failures end it: it has to fail with
/// `expected`.
fn assert_found(test: &str, expected: &str, model: impl FnOnce()) {
    if std::env::var_os(MUTANT).is_some() {
        return model();
    }
    let exe = std::env::current_exe().unwrap();
    let mut command = std::process::Command::new(exe);
    let output = command.args(["--exact", test, "--nocapture"]).env(MUTANT, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains(expected), "the mutant was not found: {said}");
}

/// A record whose words all tell which it is.
fn words(n: u64) -> [u64; 5] {
    std::array::from_fn(|word| 10 * (n + 1) + word as u64)
}

/// Two records through a ring: each comes out whole, once, in order.
macro_rules! ring_model {
    ($ring:path) => {
        loom::model(|| {
            use $ring as ring;
            let (mut producer, mut consumer) = ring::ring(2);
            let recording = thread::spawn(move || {
                for n in 0..2 {
                    if producer.is_at_limit() {
                        assert_ne!(producer.look(), ring::Fill::Full, "there is room for both");
                    }
                    producer.push(words(n));
                }
            });
            let mut taken = 0;
            let mut drain = || {
                consumer.look();
                while let Some(record) = consumer.take() {
                    assert_eq!(record, words(taken), "a record comes out as it went in");
                    taken += 1;
                }
                consumer.give_back();
            };
            drain();
            recording.join().unwrap();
            drain();
            assert_eq!(taken, 2);
        });
    };
}

#[test]
fn records_come_out_whole() {
    ring_model!(crate::ring);
}

#[test]
fn a_relaxed_store_of_the_head_is_found() {
    assert_found("a_relaxed_store_of_the_head_is_found", "a record comes out as it went in", || {
        ring_model!(crate::mutants::head_stored_relaxed);
    });
}

#[test]
fn a_relaxed_load_of_the_head_is_found() {
    assert_found("a_relaxed_load_of_the_head_is_found", "a record comes out as it went in", || {
        ring_model!(crate::mutants::head_loaded_relaxed);
    });
}

/// A record at 5 ns, a promise of 6 ns: whoever reads that promise finds the record. `Before` reads the watermark
/// before it looks into the ring, as the recorder's ordering thread does.
fn watermark_model(read_watermark_first: bool) {
    loom::model(move || {
        let frontier = Arc::new(frontier::Frontier::<()>::new(1, false, 1));
        let (mut producer, mut consumer) = ring::ring(2);
        let promises = Arc::clone(&frontier);
        let recording = thread::spawn(move || {
            producer.push(words(5));
            promises.promise(0, 6, 1).unwrap();
        });
        if !read_watermark_first {
            consumer.look();
        }
        let watermark = frontier.wait_for_work(None).watermark;
        if read_watermark_first {
            consumer.look();
        }
        assert_eq!(watermark, 6);
        assert_eq!(consumer.take(), Some(words(5)), "a watermark never overtakes a record");
        recording.join().unwrap();
    });
}

#[test]
fn a_watermark_never_overtakes_a_record() {
    watermark_model(true);
}

#[test]
fn ring_heads_read_before_the_watermark_are_found() {
    assert_found(
        "ring_heads_read_before_the_watermark_are_found",
        "a watermark never overtakes a record",
        || {
            watermark_model(false);
        },
    );
}

/// Two streams that wait for each other's promises, and one that ends.
macro_rules! promises_model {
    ($frontier:path) => {
        loom::model(|| {
            use $frontier as frontier;
            let frontier = Arc::new(frontier::Frontier::<()>::new(2, false, 100));
            let other = Arc::clone(&frontier);
            let second = thread::spawn(move || {
                other.promise(1, 3, 0).unwrap();
                other.wait_for_watermark(1, 3).unwrap();
                other.end(1, 0).unwrap();
            });
            frontier.promise(0, 5, 0).unwrap();
            frontier.wait_for_watermark(0, 5).unwrap();
            second.join().unwrap();
            assert_eq!(frontier.infer(|_| None), 5);
        });
    };
}

#[test]
fn promises_let_the_others_go_on() {
    promises_model!(crate::frontier);
}

#[test]
fn promises_that_wake_nobody_are_found() {
    assert_found("promises_that_wake_nobody_are_found", "deadlock", || {
        promises_model!(crate::mutants::promises_wake_nobody);
    });
}

/// Three records through a ring of two: the producer waits for room and gets it. `served_last` gives the room back
/// before it looks who waits for it.
macro_rules! room_model {
    ($frontier:path, $served_last:expr) => {
        loom::model(|| {
            use $frontier as frontier;
            let frontier = Arc::new(frontier::Frontier::<()>::new(1, false, 1));
            let (mut producer, mut consumer) = ring::ring(2);
            let other = Arc::clone(&frontier);
            let recording = thread::spawn(move || {
                for n in 0..3 {
                    while producer.is_at_limit() && producer.look() == ring::Fill::Full {
                        other.wait_for_room(0, || producer.has_room()).unwrap();
                        assert!(producer.has_room(), "room that was waited for is there");
                    }
                    producer.push(words(n));
                }
                other.end(0, 1).unwrap();
            });
            let mut taken = 0;
            while taken < 3 {
                frontier.wait_for_work(None);
                consumer.look();
                while let Some(record) = consumer.take() {
                    assert_eq!(record, words(taken));
                    taken += 1;
                }
                if $served_last {
                    consumer.give_back();
                }
                frontier.serve(|_| consumer.has_room());
                consumer.give_back();
            }
            recording.join().unwrap();
        });
    };
}

#[test]
fn room_is_never_missed() {
    room_model!(crate::frontier, true);
}

#[test]
fn room_given_back_after_the_look_at_who_waits_is_found() {
    assert_found("room_given_back_after_the_look_at_who_waits_is_found", "deadlock", || {
        room_model!(crate::frontier, false);
    });
}

#[test]
fn room_that_is_not_looked_for_under_the_lock_is_found() {
    assert_found("room_that_is_not_looked_for_under_the_lock_is_found", "panicked", || {
        room_model!(crate::mutants::room_looked_for_only_before_the_lock, true);
    });
}

/// One producer waits for its peer, another for room; the outputs fail. Both go on with that failure.
macro_rules! failure_model {
    ($frontier:path) => {
        loom::model(|| {
            use $frontier as frontier;
            let frontier = Arc::new(frontier::Frontier::<&str>::new(2, false, 100));
            let (first, second) = (Arc::clone(&frontier), Arc::clone(&frontier));
            let waiting = thread::spawn(move || first.wait_for_watermark(0, 5));
            let crowded = thread::spawn(move || second.wait_for_room(1, || false));
            assert_eq!(frontier.fail("full disk"), "full disk");
            assert_eq!(frontier.fail("later"), "full disk");
            assert_eq!(waiting.join().unwrap(), Err("full disk"));
            assert_eq!(crowded.join().unwrap(), Err("full disk"));
        });
    };
}

#[test]
fn a_failure_wakes_everyone() {
    failure_model!(crate::frontier);
}

#[test]
fn a_failure_that_wakes_nobody_is_found() {
    assert_found("a_failure_that_wakes_nobody_is_found", "deadlock", || {
        failure_model!(crate::mutants::failure_wakes_nobody);
    });
}

/// A caller waits for a flush, and another thread does `$other`: `$result` comes of the wait. A model of its own, as a third
/// thread that waits multiplies the orders of [`failure_model`].
macro_rules! flush_model {
    ($frontier:path, $result:pat, |$shared:ident| $other:block) => {
        loom::model(|| {
            use $frontier as frontier;
            let $shared = Arc::new(frontier::Frontier::<&str>::new(1, false, 100));
            let caller = Arc::clone(&$shared);
            let flushing = thread::spawn(move || caller.flush());
            $other
            assert!(matches!(flushing.join().unwrap(), $result));
        });
    };
}

/// A caller waits for a flush while the outputs fail: it goes on with that failure.
macro_rules! failed_flush_model {
    ($frontier:path) => {
        flush_model!($frontier, Err("full disk"), |frontier| {
            assert_eq!(frontier.fail("full disk"), "full disk");
        })
    };
}

#[test]
fn a_failure_ends_a_flush() {
    failed_flush_model!(crate::frontier);
}

#[test]
fn a_failure_that_leaves_flushes_waiting_is_found() {
    assert_found("a_failure_that_leaves_flushes_waiting_is_found", "deadlock", || {
        failed_flush_model!(crate::mutants::failure_leaves_flushes_waiting);
    });
}

/// A caller waits for a flush, the backend answers it: the answer is never missed.
macro_rules! answered_flush_model {
    ($frontier:path) => {
        flush_model!($frontier, Ok(()), |frontier| {
            loop {
                let work = frontier.wait_for_work(None);
                if work.flush {
                    frontier.answer(work.flushes);
                    break;
                }
            }
        })
    };
}

#[test]
fn an_answer_to_a_flush_is_never_missed() {
    answered_flush_model!(crate::frontier);
}

#[test]
fn answers_that_wake_nobody_are_found() {
    assert_found("answers_that_wake_nobody_are_found", "deadlock", || {
        answered_flush_model!(crate::mutants::answers_wake_nobody);
    });
}

/// A producer ends its stream while the run is being closed: it waits for the backend's end, and never for ever.
macro_rules! end_model {
    ($frontier:path) => {
        loom::model(|| {
            use $frontier as frontier;
            let frontier = Arc::new(frontier::Frontier::<&str>::new(1, false, 100));
            let other = Arc::clone(&frontier);
            frontier.close();
            let ending = thread::spawn(move || other.wait_for_end());
            assert!(frontier.wait_for_work(None).closing);
            frontier.leave();
            assert!(ending.join().unwrap());
        })
    };
}

#[test]
fn an_end_is_never_missed() {
    end_model!(crate::frontier);
}

#[test]
fn an_end_that_wakes_nobody_is_found() {
    assert_found("an_end_that_wakes_nobody_is_found", "deadlock", || {
        end_model!(crate::mutants::an_end_wakes_nobody);
    });
}
