//! Run calls: their limits, that calls of any size make one run, and what is left after an error.

use clockweave_simulator::{
    Connection, Fifo, FifoIn, Packet, RunError, RunReport, RunStatus, Simulation, StopReason, Tick,
    TickResult, WriteError,
};

use crate::clocks::{Clock, exact};
use crate::pair::Pair;
use crate::scripted::{Log, add, one_clock};
use crate::stretches::time;
use crate::traffic::{Traffic, mix};

/// What units of [`machine`] note: name, edge, what happened.
pub(crate) type Notes = Log<(&'static str, u64, u64)>;

/// Three clocks, two FIFOs in a chain, an ordinary connection, naps of random length, and a unit that
/// requests a stop at its first tick from each of some edges on.
pub(crate) fn machine(log: &Notes, stops: &'static [u64]) -> Simulation {
    let mut sim = Simulation::new();
    sim.add_clock(1, "sm", "914MHz").unwrap();
    sim.add_clock_with_phase(2, "lts", "1326MHz", "137ps").unwrap();
    sim.add_clock_with_phase(3, "dram", "457MHz", "0").unwrap();
    let notes = log.clone();
    add(&mut sim, "sm", "source", |p| {
        p.may_stop();
        let out = p.fifo_out::<u64>("out");
        let sent = p.event("sent");
        let (mut next, mut stops) = (1, stops.iter().peekable());
        move |cx: &mut Tick<'_>| {
            let cycle = cx.cycle();
            if cx.write(&out, Packet::new(next, next * 3)).is_ok() {
                notes.push(("source", cycle, next));
                cx.event(sent, next, cycle);
                next += 1;
            }
            if stops.next_if(|&&stop| stop <= cycle).is_some() {
                cx.request_stop(StopReason::Completed, "a stop")?;
            }
            if mix(cycle).is_multiple_of(9) {
                cx.sleep_until(cycle + mix(cycle + 1) % 40);
            }
            Ok(())
        }
    });
    let notes = log.clone();
    add(&mut sim, "lts", "forward", |p| {
        let (input, out) = (p.fifo_in::<u64>("in"), p.fifo_out::<u64>("out"));
        let side = p.out::<u64>("side");
        let held_count = p.counter("held");
        let mut held: Option<Packet<u64>> = None;
        move |cx: &mut Tick<'_>| {
            let cycle = cx.cycle();
            if let Some(packet) = held.take() {
                let data = packet.data;
                match cx.write(&out, packet) {
                    Ok(()) if cx.send(&side, data).is_err() => notes.push(("forward refused", cycle, data)),
                    Ok(()) => {}
                    Err(refused) => held = Some(refused.into_packet()),
                }
            }
            if held.is_none() {
                held = cx.take(&input);
                cx.request(&input);
            }
            cx.counter(held_count, held.is_some().into());
            if held.is_none() {
                cx.sleep();
            }
            Ok(())
        }
    });
    let notes = log.clone();
    add(&mut sim, "lts", "side", |p| {
        let input = p.input::<u64>("in");
        let busy = p.span("busy");
        move |cx: &mut Tick<'_>| {
            while let Some(value) = cx.receive(&input) {
                notes.push(("side", cx.cycle(), value));
                cx.begin(busy, value);
                cx.end(busy);
            }
            cx.sleep_until(cx.cycle() + 90);
            Ok(())
        }
    });
    let notes = log.clone();
    add(&mut sim, "dram", "sink", |p| {
        let input: FifoIn<u64> = p.fifo_in("in");
        move |cx: &mut Tick<'_>| {
            if let Some(packet) = cx.take(&input) {
                notes.push(("sink", cx.cycle(), packet.data));
            }
            if !cx.cycle().is_multiple_of(5) {
                cx.request(&input);
            }
            Ok(())
        }
    });
    sim.add_fifo(Fifo::new(1).depth(8), "source.out", "forward.in").unwrap();
    sim.add_fifo(Fifo::new(2).depth(4).stages(3), "forward.out", "sink.in").unwrap();
    sim.connect(Connection::delayed(3).capacity(2), "forward.side", "side.in").unwrap();
    sim
}

fn idle(sim: &mut Simulation, domain: &str, name: &str) {
    add(sim, domain, name, |_| |_: &mut Tick<'_>| Ok(()));
}

#[test]
fn segments_of_every_size_make_one_run() {
    let total = 1500;
    let whole = Log::new();
    let mut sim = machine(&whole, &[]);
    sim.run_batches(total).unwrap();
    let whole = whole.take();
    assert!(whole.len() > 400, "{}", whole.len());
    for size in (1..=70).chain([97, 256, 257, 700, 1499]) {
        let log = Log::new();
        let mut sim = machine(&log, &[]);
        for _ in 0..total / size {
            sim.run_batches(size).unwrap();
        }
        sim.run_batches(total % size).unwrap();
        assert_eq!(log.take(), whole, "segments of {size}");
    }
}

/// Calls of every kind, one after another.
#[test]
fn calls_of_all_kinds_make_one_run() {
    let whole = Log::new();
    let mut sim = machine(&whole, &[]);
    sim.run_until_time(time(3, 1_000_000)).unwrap();
    let batches = sim.inspect().unwrap().batches();

    let log = Log::new();
    let mut sim = machine(&log, &[]);
    sim.set_poll(7);
    sim.run_until_time(time(1, 3_000_000)).unwrap();
    sim.run_domain_cycles("lts", 100).unwrap();
    sim.run_batches(0).unwrap();
    sim.run_until(|seen| seen.domain_cycles("dram").unwrap() >= 400, 10_000).unwrap();
    sim.drain_cdc(50).unwrap();
    sim.run_batches(1).unwrap();
    sim.run_until_time(time(3, 1_000_000)).unwrap();
    assert_eq!(sim.inspect().unwrap().batches(), batches);
    assert_eq!(log.take(), whole.take());
}

#[test]
fn a_time_limit_is_exclusive() {
    let mut sim = Simulation::new();
    sim.add_clock(1, "clk", "3GHz").unwrap();
    idle(&mut sim, "clk", "u");
    let finished = |batches: u64| RunReport { batches: batches.into(), status: RunStatus::Finished };
    // Before the first batch no time has passed.
    assert_eq!(sim.run_until_time(time(0, 1)).unwrap(), finished(0));
    // Edge 3 is exactly at 1 ns.
    assert_eq!(sim.run_until_time(time(1, 1_000_000_000)).unwrap(), finished(3));
    assert_eq!(sim.run_until_time(time(1, 1_000_000_000)).unwrap(), finished(0));
    // Just after edge 3, on no edge's grid.
    assert_eq!(sim.run_until_time(time(1_000_000_001, 1_000_000_000_000_000_000)).unwrap(), finished(1));
    // Edge 3, the last one run, is not before 1 ns.
    match sim.run_until_time(time(1, 1_000_000_000)) {
        Err(RunError::TimePassed { limit, next }) => {
            assert_eq!((limit, next.to_ratio()), (time(1, 1_000_000_000), exact(4, 3_000_000_000)));
        }
        other => panic!("{other:?}"),
    }
    let error = sim.run_until_time(time(1, 2_000_000_000)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the run is past 1/2000000000 s already: its next batch is at 1/750000000 s"
    );
    // It is no end of the run.
    assert_eq!(sim.run_batches(2).unwrap(), finished(2));
}

#[test]
fn domain_cycles_include_all_coincident_work() {
    let log = Log::new();
    let mut sim = Simulation::new();
    // 2 ns and 3 ns meet every 6 ns; the domain that is counted ticks first or last.
    sim.add_clock(1, "two", "500MHz").unwrap();
    let three = Clock { period: (3, 1_000_000_000), phase: (0, 1) };
    sim.add_domain(three.domain(2, "three")).unwrap();
    sim.add_clock(3, "unused", "1GHz").unwrap();
    for name in ["two", "three"] {
        let log = log.clone();
        add(&mut sim, name, &format!("{name}.u"), |_| {
            move |cx: &mut Tick<'_>| {
                log.push((name, cx.cycle()));
                Ok(())
            }
        });
    }
    // Edges: 0 both, 2, 3, 4, 6 both, 8, 9, 10, 12 both.
    let finished = |batches: u64| RunReport { batches: batches.into(), status: RunStatus::Finished };
    assert_eq!(sim.run_domain_cycles("two", 4).unwrap(), finished(5));
    assert_eq!(log.take()[5..], [("two", 3), ("three", 2)]);
    assert_eq!(sim.run_domain_cycles("THREE", 2).unwrap(), finished(4));
    assert_eq!(log.take(), [("two", 4), ("three", 3), ("two", 5), ("two", 6), ("three", 4)]);
    assert_eq!(sim.run_domain_cycles("two", 0).unwrap(), finished(0));
    for name in ["unused", "four"] {
        let error = sim.run_domain_cycles(name, 1).unwrap_err();
        assert_eq!(error.to_string(), format!("there is no clock domain `{name}` with units"));
    }
    assert_eq!(sim.run_batches(1).unwrap(), finished(1));
    assert_eq!(sim.inspect().unwrap().domain_cycles("Three"), Some(5));
}

/// The predicate is looked at on multiples of the absolute batch number, awake or asleep.
#[test]
fn predicates_are_polled_on_absolute_batches() {
    for asleep in [false, true] {
        let mut sim = one_clock();
        add(&mut sim, "clk", "u", |_| {
            move |cx: &mut Tick<'_>| {
                if asleep {
                    cx.sleep();
                }
                Ok(())
            }
        });
        let polls = |sim: &mut Simulation, max: u64, stop: u64| {
            let mut looked = Vec::new();
            let report = sim
                .run_until(
                    |seen| {
                        looked.push(u64::try_from(seen.batches()).unwrap());
                        u64::try_from(seen.batches()).unwrap() >= stop
                    },
                    max,
                )
                .unwrap();
            (looked, u64::try_from(report.batches).unwrap(), report.status)
        };
        // Every 64 batches unless set; batch 0 is one of them.
        assert_eq!(polls(&mut sim, 200, 128), (vec![0, 64, 128], 128, RunStatus::Finished));
        sim.set_poll(10);
        sim.run_batches(7).unwrap();
        assert_eq!(polls(&mut sim, 30, u64::MAX), (vec![140, 150, 160], 30, RunStatus::LimitReached));
        assert_eq!(polls(&mut sim, 1000, 180), (vec![170, 180], 15, RunStatus::Finished));
        // True where the call begins: nothing runs.
        assert_eq!(polls(&mut sim, 1000, 180), (vec![180], 0, RunStatus::Finished));
        assert_eq!(polls(&mut sim, 0, u64::MAX), (vec![180], 0, RunStatus::LimitReached));
        // At the limit of the call it still counts.
        assert_eq!(polls(&mut sim, 10, 190), (vec![180, 190], 10, RunStatus::Finished));
        sim.set_poll(1000);
        assert_eq!(polls(&mut sim, 2000, 2000), (vec![1000, 2000], 1810, RunStatus::Finished));
        assert!(sim.termination().is_none());
    }
}

#[test]
#[should_panic(expected = "every 1 batch or more")]
fn a_poll_interval_of_zero_is_refused() {
    Simulation::new().set_poll(0);
}

/// A source that writes for ever does not drain; one that stops after three packets does.
#[test]
fn draining_waits_for_every_fifo() {
    let traffic = Traffic::Continuous;
    let pair = Pair { write_mhz: 1000, read_mhz: 500, phase_ps: 0, depth: 4, stages: 2, traffic };
    let mut sim = pair.simulation();
    sim.run_batches(100).unwrap();
    let report = sim.drain_cdc(300).unwrap();
    assert_eq!((report.batches, report.status), (300, RunStatus::LimitReached));

    let mut sim = Simulation::new();
    sim.add_clock(1, "w", "1GHz").unwrap();
    sim.add_clock(2, "r", "1GHz").unwrap();
    add(&mut sim, "w", "w", |p| {
        let out = p.fifo_out::<u64>("out");
        move |cx: &mut Tick<'_>| {
            if cx.cycle() < 3 {
                cx.write(&out, Packet::new(cx.cycle() + 1, 0)).map_err(|_| "refused")?;
            }
            Ok(())
        }
    });
    add(&mut sim, "r", "r", |p| {
        let input: FifoIn<u64> = p.fifo_in("in");
        move |cx: &mut Tick<'_>| {
            cx.take(&input);
            cx.request(&input);
            Ok(())
        }
    });
    sim.add_fifo(Fifo::new(1), "w.out", "r.in").unwrap();
    assert_eq!(sim.drain_cdc(100).unwrap().batches, 0, "nothing was written yet");
    sim.run_batches(1).unwrap();
    // Reads at 4, 5, 6, takes until 7; the last read is in the writer's tail with edge 8.
    let report = sim.drain_cdc(100).unwrap();
    assert_eq!((report.batches, report.status), (8, RunStatus::Finished));
    assert!(sim.inspect().unwrap().fifo(1).unwrap().drained);

    // Without FIFOs there is nothing to drain.
    let mut sim = one_clock();
    idle(&mut sim, "clk", "u");
    assert_eq!(sim.drain_cdc(100).unwrap().batches, 0);
}

#[test]
fn progress_is_zero_before_the_first_batch() {
    let mut sim = Simulation::new();
    sim.add_clock_with_phase(1, "clk", "1GHz", "5ns").unwrap();
    idle(&mut sim, "clk", "u");
    assert!(sim.inspect().is_none());
    sim.start().unwrap();
    let seen = sim.inspect().unwrap();
    assert!(seen.last_committed().is_zero());
    assert_eq!((seen.batches(), seen.domain_cycles("clk")), (0, Some(0)));
    assert_eq!(seen.domain_cycles("other"), None);
    sim.run_batches(1).unwrap();
    assert_eq!(sim.inspect().unwrap().last_committed().to_ratio(), exact(5, 1_000_000_000));
}

type Fail = fn() -> TickResult;

/// A unit that fails on its edge 4, at 8 ns, beside one whose edge 8 it shares.
fn failing(fail: Fail) -> (Simulation, Log<u64>) {
    let mut sim = Simulation::new();
    sim.add_clock(1, "fast", "1GHz").unwrap();
    sim.add_clock(2, "slow", "500MHz").unwrap();
    add(&mut sim, "slow", "faulty", |_| {
        move |cx: &mut Tick<'_>| if cx.cycle() == 4 { fail() } else { Ok(()) }
    });
    let log = Log::new();
    let ticks = log.clone();
    add(&mut sim, "fast", "healthy", |_| {
        move |cx: &mut Tick<'_>| {
            ticks.push(cx.cycle());
            Ok(())
        }
    });
    (sim, log)
}

const PLACE: &str = "unit `faulty`, domain `slow`, cycle 4, time 1/125000000 s";

fn assert_ended(sim: &mut Simulation, first: &str) {
    assert_eq!(sim.inspect().unwrap().batches(), 8, "the failed batch is not complete");
    assert_eq!(sim.inspect().unwrap().last_committed().to_ratio(), exact(7, 1_000_000_000));
    let errors = [
        sim.run_batches(1).unwrap_err(),
        sim.run_until_time(time(1, 1)).unwrap_err(),
        sim.run_domain_cycles("fast", 1).unwrap_err(),
        sim.run_until(|_| true, 1).unwrap_err(),
        sim.drain_cdc(1).unwrap_err(),
        sim.start().unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.to_string(), format!("the run cannot be resumed after an error: {first}"));
    }
    sim.reset_termination();
    assert!(matches!(sim.run_batches(1), Err(RunError::Ended { .. })));
}

#[test]
fn a_units_error_carries_its_place_and_ends_the_run() {
    let (mut sim, log) = failing(|| Err("out of credits".into()));
    let error = sim.run_batches(20).unwrap_err();
    match &error {
        RunError::Unit { place, message } => {
            assert_eq!((place.unit.as_str(), place.domain.as_str(), place.cycle), ("faulty", "slow", 4));
            assert_eq!(
                (place.time.to_ratio(), message.as_str()),
                (exact(8, 1_000_000_000), "out of credits")
            );
        }
        other => panic!("{other}"),
    }
    assert_eq!(error.to_string(), format!("{PLACE}: out of credits"));
    assert_eq!(log.take(), (0..9).collect::<Vec<_>>());
    assert_ended(&mut sim, &error.to_string());
}

#[test]
fn a_panic_carries_its_place_and_ends_the_run() {
    let cases: [(Fail, &str); 3] = [
        (|| panic!("a literal"), "a literal"),
        (|| panic!("formatted {}", 7), "formatted 7"),
        (|| std::panic::panic_any(7), "without a message"),
    ];
    for (fail, message) in cases {
        let (mut sim, _) = failing(fail);
        let error = sim.run_batches(20).unwrap_err();
        match &error {
            RunError::Panic { place, message: said } => {
                assert_eq!((place.unit.as_str(), place.domain.as_str(), place.cycle), ("faulty", "slow", 4));
                assert_eq!((place.time.to_ratio(), said.as_str()), (exact(8, 1_000_000_000), message));
            }
            other => panic!("{other}"),
        }
        assert_eq!(error.to_string(), format!("{PLACE}: the unit panicked: {message}"));
        assert_ended(&mut sim, &error.to_string());
    }
}

/// A panic that is not a unit's own is not put down to one.
#[test]
fn a_panic_of_the_predicate_is_the_callers() {
    let mut sim = one_clock();
    idle(&mut sim, "clk", "innocent");
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        sim.run_until(|seen| if seen.batches() == 64 { panic!("my predicate") } else { false }, 200)
    }));
    let panic = caught.expect_err("it goes through to the caller");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"my predicate"));
}

#[test]
fn a_port_of_another_unit_is_refused_by_name() {
    let lent = Log::new();
    let mut sim = one_clock();
    let stolen = lent.clone();
    add(&mut sim, "clk", "owner", |p| {
        lent.push(p.fifo_in::<u64>("in"));
        let out = p.fifo_out::<u64>("out");
        move |cx: &mut Tick<'_>| {
            let _ = cx.write(&out, Packet::new(cx.cycle() + 1, 0));
            Ok(())
        }
    });
    add(&mut sim, "clk", "thief", |_| {
        move |cx: &mut Tick<'_>| {
            cx.take(&stolen.take()[0]);
            Ok(())
        }
    });
    sim.add_fifo(Fifo::new(1), "owner.out", "owner.in").unwrap();
    let error = sim.run_batches(1).unwrap_err().to_string();
    assert!(
        error.starts_with("unit `thief`, domain `clk`, cycle 0, time 0/1 s: the unit panicked: "),
        "{error}"
    );
    assert!(error.ends_with("a unit used a port that another unit declared"), "{error}");
}

#[test]
fn a_zero_transaction_is_an_error_at_the_send() {
    let log = Log::new();
    let mut sim = one_clock();
    let results = log.clone();
    add(&mut sim, "clk", "u", |p| {
        let (out, input) = (p.fifo_out::<Box<u64>>("out"), p.fifo_in::<Box<u64>>("in"));
        move |cx: &mut Tick<'_>| {
            cx.request(&input);
            match cx.write(&out, Packet::new(0, Box::new(5))) {
                Err(WriteError::ZeroTransaction(packet)) => results.push(*packet.data),
                other => return Err(format!("{:?}", other.map_err(WriteError::into_packet)).into()),
            }
            if cx.cycle() == 1 {
                cx.write(&out, Packet::new(0, Box::new(6)))?;
            }
            Ok(())
        }
    });
    sim.add_fifo(Fifo::new(1), "u.out", "u.in").unwrap();
    let error = sim.run_batches(2).unwrap_err().to_string();
    assert!(error.ends_with("a packet's transaction id is 0; expected another number"), "{error}");
    assert_eq!(log.take(), [5, 5]);
    let seen = sim.inspect().unwrap();
    assert_eq!((seen.fifo(1).unwrap().writes, seen.fifo_refusals(1)), (0, Some(0)));
}

/// 2^62 + rank * 2^40 + 1, 2, …; series number by canonical order of their units.
#[test]
fn transaction_ids_follow_from_ranks() {
    let log = Log::new();
    let mut sim = one_clock();
    for name in ["b", "a"] {
        let log = log.clone();
        add(&mut sim, "clk", name, |p| {
            let series = [p.series(), p.series()];
            move |cx: &mut Tick<'_>| {
                log.push((
                    cx.unit_name().to_owned(),
                    cx.new_transaction(),
                    series.map(|series| cx.in_series(series, cx.cycle() + 1)),
                ));
                Ok(())
            }
        });
    }
    sim.run_batches(2).unwrap();
    let (base, step) = (1u64 << 62, 1u64 << 40);
    let expected = [
        ("a", base + step + 1, [1, step + 1]),
        ("b", base + 2 * step + 1, [2 * step + 1, 3 * step + 1]),
        ("a", base + step + 2, [2, step + 2]),
        ("b", base + 2 * step + 2, [2 * step + 2, 3 * step + 2]),
    ];
    assert_eq!(log.take(), expected.map(|(name, id, series)| (name.to_owned(), id, series)));
}
