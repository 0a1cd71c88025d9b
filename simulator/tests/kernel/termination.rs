//! Stops: which request wins, where the run settles, what is on record, and that going on afterwards
//! equals never having stopped.

use clockweave_model::EXTERNAL_DOMAIN;
use clockweave_simulator::{
    Connection, RunError, RunReport, RunStatus, Simulation, StopReason, Termination, TerminationReason, Tick,
};

use crate::clocks::{Exact, exact};
use crate::scripted::{Log, add, one_clock};

/// A unit that notes its edges as (name, edge) and requests a stop, with its name, on one of them.
fn stopper(sim: &mut Simulation, domain: &str, name: &'static str, at: u64, log: &Log<(&'static str, u64)>) {
    let log = log.clone();
    add(sim, domain, name, |p| {
        p.may_stop();
        move |cx: &mut Tick<'_>| {
            log.push((name, cx.cycle()));
            if cx.cycle() == at {
                cx.request_stop(StopReason::Completed, name)?;
            }
            Ok(())
        }
    });
}

const NEVER: u64 = u64::MAX;

fn report(batches: u64, status: RunStatus) -> (u128, RunStatus) {
    (batches.into(), status)
}

fn brief(report: RunReport) -> (u128, RunStatus) {
    (report.batches, report.status)
}

/// (domain id, unit, cycle, requested at, settled at, message)
type Record<'a> = (u32, Option<&'a str>, u64, Exact, Exact, &'a str);

fn record(termination: &Termination) -> Record<'_> {
    (
        termination.domain_id,
        termination.unit.as_deref(),
        termination.cycle,
        termination.requested_at.to_ratio(),
        termination.settled_at.to_ratio(),
        termination.message.as_str(),
    )
}

/// 1 GHz and 500 MHz: every other batch has edges of both.
fn two_clocks() -> Simulation {
    let mut sim = Simulation::new();
    sim.add_clock(1, "fast", "1GHz").unwrap();
    sim.add_clock(2, "slow", "500MHz").unwrap();
    sim
}

fn ns(ns: u64) -> Exact {
    exact(ns, 1_000_000_000)
}

#[test]
fn without_a_margin_the_coincident_batch_is_the_last() {
    let log = Log::new();
    let mut sim = two_clocks();
    stopper(&mut sim, "fast", "stops", 4, &log);
    stopper(&mut sim, "fast", "z", NEVER, &log);
    stopper(&mut sim, "slow", "s", NEVER, &log);
    assert_eq!(brief(sim.run_batches(3).unwrap()), report(3, RunStatus::Finished));
    assert!(sim.termination().is_none());
    log.take();
    assert_eq!(brief(sim.run_batches(100).unwrap()), report(2, RunStatus::Stopped));
    // Edge 4 of the fast clock is edge 2 of the slow one, at 4 ns; all its units have ticked.
    assert_eq!(log.take(), [("stops", 3), ("z", 3), ("stops", 4), ("z", 4), ("s", 2)]);
    let stop = sim.termination().unwrap();
    assert_eq!(record(stop), (1, Some("stops"), 4, ns(4), ns(4), "stops"));
    assert_eq!(stop.reason, TerminationReason::Unit(StopReason::Completed));

    // Whatever is asked for now advances nothing.
    let stopped = report(0, RunStatus::Stopped);
    assert_eq!(brief(sim.run_batches(5).unwrap()), stopped);
    assert_eq!(brief(sim.run_domain_cycles("slow", 2).unwrap()), stopped);
    assert_eq!(brief(sim.run_until(|_| true, 7).unwrap()), stopped);
    assert_eq!(brief(sim.drain_cdc(7).unwrap()), stopped);
    assert_eq!(brief(sim.run_until_time(crate::stretches::time(1, 1)).unwrap()), stopped);
    assert_eq!(sim.inspect().unwrap().batches(), 5);
    assert!(log.take().is_empty());
}

#[test]
fn a_margin_of_32_batches_is_counted_from_the_request() {
    let log = Log::new();
    let mut sim = two_clocks();
    sim.set_stop_margin(32);
    stopper(&mut sim, "slow", "s", 5, &log);
    stopper(&mut sim, "fast", "f", NEVER, &log);
    // Edge 5 of the slow clock is in batch 10; batch 42 is the last.
    assert_eq!(brief(sim.run_batches(1000).unwrap()), report(43, RunStatus::Stopped));
    assert_eq!(record(sim.termination().unwrap()), (2, Some("s"), 5, ns(10), ns(42), "s"));
    assert_eq!(log.take().last(), Some(&("s", 21)));
}

#[test]
fn settling_goes_on_over_segments_of_every_size() {
    for size in 1..=60 {
        let log = Log::new();
        let mut sim = two_clocks();
        sim.set_stop_margin(32);
        stopper(&mut sim, "slow", "s", 5, &log);
        stopper(&mut sim, "fast", "f", NEVER, &log);
        let mut done = 0;
        loop {
            let (batches, status) = brief(sim.run_batches(size).unwrap());
            done += batches;
            let settled = done == 43;
            // The request is made in batch 10, the eleventh.
            let expected = match done {
                43 => RunStatus::Stopped,
                11.. => RunStatus::Settling,
                _ => RunStatus::Finished,
            };
            assert_eq!(status, expected, "{size} {done}");
            assert_eq!(sim.termination().is_some(), settled, "{size} {done}");
            if settled {
                break;
            }
            assert_eq!(batches, u128::from(size));
        }
        assert_eq!(record(sim.termination().unwrap()), (2, Some("s"), 5, ns(10), ns(42), "s"));
        assert_eq!(brief(sim.run_batches(size).unwrap()), report(0, RunStatus::Stopped));
    }
}

/// The other run calls report settling too.
#[test]
fn every_run_call_reports_settling() {
    let log = Log::new();
    let mut sim = two_clocks();
    sim.set_stop_margin(1000);
    sim.set_poll(4);
    stopper(&mut sim, "fast", "f", 2, &log);
    assert_eq!(
        brief(sim.run_until_time(crate::stretches::time(1, 100_000_000)).unwrap()),
        report(10, RunStatus::Settling)
    );
    assert_eq!(brief(sim.run_domain_cycles("fast", 5).unwrap()), report(5, RunStatus::Settling));
    assert_eq!(
        brief(sim.run_until(|seen| seen.batches() >= 20, 100).unwrap()),
        report(5, RunStatus::Settling)
    );
    assert_eq!(brief(sim.run_until(|_| false, 6).unwrap()), report(6, RunStatus::Settling));
    assert_eq!(brief(sim.run_batches(0).unwrap()), report(0, RunStatus::Settling));
    assert_eq!(brief(sim.run_batches(u64::MAX).unwrap()), report(1003 - 26, RunStatus::Stopped));
}

/// At one instant the lowest domain id wins, then canonical order, which zero delay sets against names.
#[test]
fn the_winner_of_a_shared_instant() {
    for order in [[0, 1, 2], [2, 1, 0]] {
        let log = Log::new();
        let mut sim = Simulation::new();
        sim.add_clock(9, "first-created", "500MHz").unwrap();
        sim.add_clock(4, "lower-id", "1GHz").unwrap();
        for unit in order {
            match unit {
                0 => stopper(&mut sim, "first-created", "a", 3, &log),
                1 => add(&mut sim, "lower-id", "b", |p| {
                    p.may_stop();
                    let input = p.input::<u64>("in");
                    move |cx: &mut Tick<'_>| {
                        cx.receive(&input);
                        if cx.cycle() == 6 {
                            cx.request_stop(StopReason::User(7), "second")?;
                        }
                        Ok(())
                    }
                }),
                _ => add(&mut sim, "lower-id", "c", |p| {
                    p.may_stop();
                    let out = p.out::<u64>("out");
                    move |cx: &mut Tick<'_>| {
                        cx.send(&out, 1).map_err(|_| "refused")?;
                        if cx.cycle() == 6 {
                            cx.request_stop(StopReason::Checkpoint, "winner")?;
                            // A second request of the same tick is not the first.
                            cx.request_stop(StopReason::Error, "again")?;
                        }
                        Ok(())
                    }
                }),
            }
        }
        sim.connect(Connection::delayed(0), "c.out", "b.in").unwrap();
        assert_eq!(brief(sim.run_batches(50).unwrap()), report(7, RunStatus::Stopped));
        let stop = sim.termination().unwrap();
        assert_eq!(record(stop), (4, Some("c"), 6, ns(6), ns(6), "winner"));
        assert_eq!(stop.reason, TerminationReason::Unit(StopReason::Checkpoint));
        assert_eq!(stop.reason.to_string(), "checkpoint");
    }
}

/// An earlier request of a higher domain id wins over a later one found while settling.
#[test]
fn the_earliest_time_wins_while_settling() {
    let log = Log::new();
    let mut sim = two_clocks();
    sim.set_stop_margin(10);
    stopper(&mut sim, "slow", "early", 3, &log);
    stopper(&mut sim, "fast", "late", 7, &log);
    assert_eq!(brief(sim.run_batches(100).unwrap()), report(17, RunStatus::Stopped));
    assert_eq!(record(sim.termination().unwrap()), (2, Some("early"), 3, ns(6), ns(16), "early"));
}

/// Three runs of a machine with a FIFO and sleep: stopped by units at several margins and resumed,
/// against one that never stops.
#[test]
fn going_on_after_a_stop_equals_an_uninterrupted_run() {
    let run = |stops: &'static [u64], margin: u64| {
        let log = Log::new();
        let mut sim = crate::runs::machine(&log, stops);
        sim.set_stop_margin(margin);
        let mut batches = 0;
        let mut settled = Vec::new();
        while batches < 700 {
            let report = sim.run_batches(700 - batches).unwrap();
            batches += u64::try_from(report.batches).unwrap();
            if report.status == RunStatus::Stopped {
                settled.push(batches);
                sim.reset_termination();
                assert!(sim.termination().is_none());
            }
        }
        (log.take(), settled)
    };
    let (whole, none) = run(&[], 0);
    assert!(none.is_empty() && whole.len() > 200);
    for margin in [0, 1, 32] {
        let (resumed, settled) = run(&[10, 11, 100, 250], margin);
        assert_eq!(resumed, whole, "margin {margin}");
        // With a margin, the request of edge 11 is found while the one of edge 10 settles.
        assert_eq!(settled.len(), if margin == 32 { 3 } else { 4 }, "{settled:?}");
    }
}

/// A reset in the middle of settling forgets the request.
#[test]
fn a_reset_while_settling_forgets_the_request() {
    let log = Log::new();
    let mut sim = one_clock();
    sim.set_stop_margin(10);
    stopper(&mut sim, "clk", "u", 3, &log);
    assert_eq!(brief(sim.run_batches(6).unwrap()), report(6, RunStatus::Settling));
    sim.reset_termination();
    assert_eq!(brief(sim.run_batches(100).unwrap()), report(100, RunStatus::Finished));
    assert_eq!(log.take().len(), 106);
}

#[test]
fn an_external_stop_before_the_run_lets_nothing_happen() {
    let log = Log::new();
    let mut sim = one_clock();
    stopper(&mut sim, "clk", "u", NEVER, &log);
    sim.stop_handle().request("not today");
    assert_eq!(brief(sim.run_batches(10).unwrap()), report(0, RunStatus::Stopped));
    let stop = sim.termination().unwrap();
    assert_eq!(record(stop), (EXTERNAL_DOMAIN, None, 0, ns(0), ns(0), "not today"));
    assert_eq!(stop.reason, TerminationReason::External);
    assert_eq!(stop.reason.to_string(), "external request");
    assert!(log.take().is_empty());
    sim.reset_termination();
    assert_eq!(brief(sim.run_batches(10).unwrap()), report(10, RunStatus::Finished));
}

/// Requested in the middle of batch 6, from the inside of a tick as any thread might at that moment:
/// that batch is the last.
#[test]
fn an_external_stop_during_the_run_settles_at_the_next_retired_batch() {
    for margin in [0, 32] {
        let log = Log::new();
        let mut sim = two_clocks();
        sim.set_stop_margin(margin);
        let handle = sim.stop_handle();
        add(&mut sim, "fast", "a", |_| {
            move |cx: &mut Tick<'_>| {
                if cx.cycle() == 6 {
                    handle.request("enough");
                }
                Ok(())
            }
        });
        stopper(&mut sim, "fast", "f", NEVER, &log);
        stopper(&mut sim, "slow", "s", NEVER, &log);
        assert_eq!(brief(sim.run_batches(1000).unwrap()), report(7, RunStatus::Stopped));
        assert_eq!(record(sim.termination().unwrap()), (EXTERNAL_DOMAIN, None, 0, ns(6), ns(6), "enough"));
        assert_eq!(log.take().split_off(9), [("f", 6), ("s", 3)]);
        // A unit's request would have gone on for the margin; this one does not.
        assert_eq!(brief(sim.run_batches(1000).unwrap()), report(0, RunStatus::Stopped));
        sim.reset_termination();
        assert_eq!(brief(sim.run_batches(3).unwrap()), report(3, RunStatus::Finished));
        assert_eq!(log.take(), [("f", 7), ("f", 8), ("s", 4), ("f", 9)]);
    }
}

/// As above with one clock, whose batches are walked by a loop of their own.
#[test]
fn an_external_stop_during_the_run_of_one_clock_settles_at_the_next_batch() {
    let log = Log::new();
    let mut sim = one_clock();
    let handle = sim.stop_handle();
    add(&mut sim, "clk", "a", |_| {
        move |cx: &mut Tick<'_>| {
            if cx.cycle() == 6 {
                handle.request("enough");
            }
            Ok(())
        }
    });
    stopper(&mut sim, "clk", "u", NEVER, &log);
    assert_eq!(brief(sim.run_batches(1000).unwrap()), report(7, RunStatus::Stopped));
    assert_eq!(record(sim.termination().unwrap()), (EXTERNAL_DOMAIN, None, 0, ns(6), ns(6), "enough"));
    assert_eq!(log.take(), [0, 1, 2, 3, 4, 5, 6].map(|cycle| ("u", cycle)));
}

#[test]
fn an_external_stop_after_the_run_reports_the_committed_time() {
    let log = Log::new();
    let mut sim = one_clock();
    stopper(&mut sim, "clk", "u", NEVER, &log);
    sim.run_batches(8).unwrap();
    sim.stop_handle().request("late");
    assert!(sim.termination().is_none(), "nobody has looked yet");
    assert_eq!(brief(sim.run_batches(0).unwrap()), report(0, RunStatus::Stopped));
    assert_eq!(record(sim.termination().unwrap()), (EXTERNAL_DOMAIN, None, 0, ns(7), ns(7), "late"));
    assert_eq!(sim.inspect().unwrap().batches(), 8);
}

#[test]
fn an_external_stop_from_another_thread_ends_an_endless_run() {
    let log = Log::new();
    let mut sim = one_clock();
    // Idle: whole stretches are skipped while the request arrives.
    add(&mut sim, "clk", "idle", |_| {
        move |cx: &mut Tick<'_>| {
            cx.sleep_until(cx.cycle() + 1000);
            Ok(())
        }
    });
    stopper(&mut sim, "clk", "u", NEVER, &Log::new());
    let handle = sim.stop_handle();
    std::thread::scope(|threads| {
        let log = log.clone();
        threads.spawn(move || handle.request("from outside"));
        log.push(sim.run_batches(u64::MAX));
    });
    let report = log.take().remove(0).unwrap();
    assert_eq!(report.status, RunStatus::Stopped);
    assert_eq!(report.batches, sim.inspect().unwrap().batches());
    assert_eq!(sim.termination().unwrap().message, "from outside");
}

/// The unit asked earlier in simulated time, so its request stays the one on record.
#[test]
fn an_external_stop_does_not_displace_a_settling_one() {
    let log = Log::new();
    let mut sim = one_clock();
    sim.set_stop_margin(10);
    stopper(&mut sim, "clk", "u", 3, &log);
    assert_eq!(brief(sim.run_batches(6).unwrap()), report(6, RunStatus::Settling));
    sim.stop_handle().request("too late");
    assert_eq!(brief(sim.run_batches(100).unwrap()), report(8, RunStatus::Stopped));
    assert_eq!(record(sim.termination().unwrap()), (1, Some("u"), 3, ns(3), ns(13), "u"));
    sim.reset_termination();
    assert_eq!(brief(sim.run_batches(5).unwrap()), report(5, RunStatus::Finished));
}

#[test]
fn an_undeclared_request_is_an_error_that_names_the_declaration() {
    let mut sim = one_clock();
    add(&mut sim, "clk", "sneaky", |_| {
        move |cx: &mut Tick<'_>| {
            if cx.cycle() == 2 {
                cx.request_stop(StopReason::Completed, "done")?;
            }
            Ok(())
        }
    });
    let error = sim.run_batches(5).unwrap_err();
    assert!(matches!(&error, RunError::Unit { place, .. } if place.unit == "sneaky" && place.cycle == 2));
    assert_eq!(
        error.to_string(),
        "unit `sneaky`, domain `clk`, cycle 2, time 1/500000000 s: a stop was requested without the declaration \
         that the unit may stop (`Ports::may_stop`)"
    );
    assert!(sim.termination().is_none());
}

#[test]
fn reasons_say_what_they_are() {
    let texts = [
        (StopReason::Completed, "completed"),
        (StopReason::Error, "error"),
        (StopReason::Checkpoint, "checkpoint"),
        (StopReason::User(42), "user code 42"),
    ];
    for (reason, text) in texts {
        assert_eq!(TerminationReason::Unit(reason).to_string(), text);
    }
}
