//! The exact edges on which a sleeping unit ticks, and no others.

use clockweave_simulator::{Connection, Fifo, Packet, Simulation, Tick};

use crate::scripted::{Log, add, one_clock};

fn doze(cx: &mut Tick<'_>) {
    cx.sleep();
}

/// A unit that notes its edges and then does as `then` says.
fn sleeper(sim: &mut Simulation, name: &str, then: fn(&mut Tick<'_>)) -> Log<u64> {
    let ticks = Log::new();
    let log = ticks.clone();
    add(sim, "clk", name, |_| {
        move |cx: &mut Tick<'_>| {
            log.push(cx.cycle());
            then(cx);
            Ok(())
        }
    });
    ticks
}

/// A consumer that notes its edges with what it received, at most one message, and then does as
/// `then` says.
fn consumer(sim: &mut Simulation, name: &str, then: fn(&mut Tick<'_>)) -> Log<(u64, Option<u64>)> {
    let ticks = Log::new();
    let log = ticks.clone();
    add(sim, "clk", name, |p| {
        let input = p.input::<u64>("in");
        move |cx: &mut Tick<'_>| {
            log.push((cx.cycle(), cx.receive(&input)));
            then(cx);
            Ok(())
        }
    });
    ticks
}

/// A producer that sends its local cycle on the given edges.
fn producer(sim: &mut Simulation, name: &str, edges: &'static [u64]) {
    add(sim, "clk", name, |p| {
        let out = p.out::<u64>("out");
        move |cx: &mut Tick<'_>| {
            if edges.contains(&cx.cycle()) {
                cx.send(&out, cx.cycle()).map_err(|_| "refused")?;
            }
            Ok(())
        }
    });
}

#[test]
fn a_unit_sleeps_until_its_edge_while_its_cycle_counts_on() {
    let mut sim = one_clock();
    let every = sleeper(&mut sim, "awake", |_| ());
    let tenth = sleeper(&mut sim, "tenth", |cx| cx.sleep_until(cx.cycle() + 10));
    let once = sleeper(&mut sim, "once", doze);
    // An edge that is not ahead, or is the next one, is no sleep.
    let none = sleeper(&mut sim, "none", |cx| cx.sleep_until(cx.cycle() + 1));
    let past = sleeper(&mut sim, "past", |cx| cx.sleep_until(3));
    sim.run_batches(31).unwrap();
    let all: Vec<u64> = (0..31).collect();
    assert_eq!(every.take(), all);
    assert_eq!(tenth.take(), [0, 10, 20, 30]);
    assert_eq!(once.take(), [0]);
    assert_eq!(none.take(), all);
    assert_eq!(past.take(), [vec![0], (3..31).collect()].concat());
}

#[test]
fn a_message_wakes_at_its_visible_edge() {
    for (delay, wakes) in [(0, [3, 8]), (1, [4, 9]), (4, [7, 12])] {
        for name in ["a", "z"] {
            let mut sim = one_clock();
            let ticks = consumer(&mut sim, name, doze);
            producer(&mut sim, "p", &[3, 8]);
            sim.connect(Connection::delayed(delay).capacity(4), "p.out", &format!("{name}.in")).unwrap();
            sim.run_batches(40).unwrap();
            assert_eq!(ticks.take(), [(0, None), (wakes[0], Some(3)), (wakes[1], Some(8))], "{delay}");
        }
    }
}

/// The message that arrives behind one that was left lying wakes all the same, also where it was sent
/// before the consumer fell asleep.
#[test]
fn a_message_behind_an_unreceived_one_wakes() {
    let mut sim = one_clock();
    let ticks = Log::new();
    let log = ticks.clone();
    add(&mut sim, "clk", "c", |p| {
        let input = p.input::<u64>("in");
        move |cx: &mut Tick<'_>| {
            log.push((cx.cycle(), cx.has_message(&input)));
            cx.sleep();
            Ok(())
        }
    });
    producer(&mut sim, "p", &[1, 2, 3, 6, 20]);
    sim.connect(Connection::delayed(5).capacity(8), "p.out", "c.in").unwrap();
    sim.run_batches(40).unwrap();
    assert_eq!(ticks.take(), [(0, false), (6, true), (7, true), (8, true), (11, true), (25, true)]);
}

/// The timer of an earlier sleep is void once something else woke the unit.
#[test]
fn outdated_timers_wake_nobody() {
    let mut sim = one_clock();
    let ticks = consumer(&mut sim, "c", |cx| cx.sleep_until(if cx.cycle() == 0 { 10 } else { 20 }));
    producer(&mut sim, "p", &[4]);
    sim.connect(Connection::delayed(1), "p.out", "c.in").unwrap();
    sim.run_batches(24).unwrap();
    let expected = [vec![(0, None), (5, Some(4))], (20..24).map(|edge| (edge, None)).collect()].concat();
    assert_eq!(ticks.take(), expected);
}

/// Falling asleep again for the same edge keeps one wake.
#[test]
fn a_renewed_timer_wakes_once() {
    let mut sim = one_clock();
    let ticks = consumer(&mut sim, "c", |cx| {
        if cx.cycle() < 10 {
            cx.sleep_until(10);
        } else {
            cx.sleep();
        }
    });
    producer(&mut sim, "p", &[1, 3, 5]);
    sim.connect(Connection::delayed(1), "p.out", "c.in").unwrap();
    sim.run_batches(30).unwrap();
    assert_eq!(ticks.take(), [(0, None), (2, Some(1)), (4, Some(3)), (6, Some(5)), (10, None)]);
}

/// Messages and timers on one edge are one tick; many outdated timers are dropped on the way.
#[test]
fn many_outdated_timers_change_nothing() {
    let mut sim = one_clock();
    let ticks = consumer(&mut sim, "c", |cx| cx.sleep_until(1000 + cx.cycle()));
    producer(&mut sim, "p", &[0, 1, 2]);
    add(&mut sim, "clk", "q", |p| {
        let out = p.out::<u64>("out");
        move |cx: &mut Tick<'_>| {
            if cx.cycle().is_multiple_of(2) && cx.cycle() < 900 {
                cx.send(&out, cx.cycle()).map_err(|_| "refused")?;
            }
            Ok(())
        }
    });
    sim.connect(Connection::delayed(1), "p.out", "c.in").unwrap();
    sim.connect(Connection::delayed(1).capacity(500), "q.out", "c.in").unwrap();
    sim.run_batches(2500).unwrap();
    let edges: Vec<u64> = ticks.take().into_iter().map(|(edge, _)| edge).collect();
    // Woken at 1, 2, 3 by `p` and at every odd edge to 899 by `q`; then by timers of 1,000 edges.
    let mut expected: Vec<u64> = vec![0, 1, 2, 3];
    expected.extend((5..900).step_by(2));
    expected.push(1899);
    assert_eq!(edges, expected);
}

/// A producer that was refused is not woken by the room that comes back.
#[test]
fn freed_room_wakes_nobody() {
    let mut sim = one_clock();
    let sends = Log::new();
    let log = sends.clone();
    add(&mut sim, "clk", "p", |p| {
        let out = p.out::<u64>("out");
        move |cx: &mut Tick<'_>| {
            let sent = cx.send(&out, cx.cycle()).is_ok();
            log.push((cx.cycle(), sent));
            if !sent {
                cx.sleep_until(12);
            }
            Ok(())
        }
    });
    consumer(&mut sim, "c", |_| ());
    sim.connect(Connection::delayed(2).capacity(1), "p.out", "c.in").unwrap();
    sim.run_batches(15).unwrap();
    assert_eq!(sends.take(), [(0, true), (1, false), (12, true), (13, false), (14, false)]);
}

/// A sleeping reader and an awake writer of one packet, both at 1 GHz, two stages: `empty` falls in the
/// commit of edge 3, so the reader ticks at 4, where its read is done, and at 5, where it takes. The
/// falling of its own `full`-free side wakes nobody.
#[test]
fn a_fifo_wakes_its_reader_on_exact_edges() {
    let mut sim = one_clock();
    let ticks = Log::new();
    let log = ticks.clone();
    add(&mut sim, "clk", "r", |p| {
        let input = p.fifo_in::<u64>("in");
        move |cx: &mut Tick<'_>| {
            let taken = cx.take(&input).map(|packet| packet.transaction_id);
            log.push((cx.cycle(), taken, cx.request(&input)));
            cx.sleep();
            Ok(())
        }
    });
    add(&mut sim, "clk", "w", |p| {
        let out = p.fifo_out::<u64>("out");
        move |cx: &mut Tick<'_>| {
            if [0, 20, 21].contains(&cx.cycle()) {
                cx.write(&out, Packet::new(cx.cycle() + 1, 0)).map_err(|_| "refused")?;
            }
            Ok(())
        }
    });
    sim.add_fifo(Fifo::new(1).depth(8), "w.out", "r.in").unwrap();
    sim.run_batches(60).unwrap();
    let expected = [
        (0, None, false),
        (4, None, true),
        (5, Some(1), false),
        // `empty` falls at 23; the second packet is there when the first is read, so the take at 25
        // requests again, and the read done there wakes for 26.
        (24, None, true),
        (25, Some(21), true),
        (26, Some(22), false),
    ];
    assert_eq!(ticks.take(), expected);
}

/// Depth 2: `full` rises at edge 1, the reads at 4 and 6 let it fall at 7.
#[test]
fn a_fifo_wakes_its_writer_on_exact_edges() {
    let mut sim = one_clock();
    let ticks = Log::new();
    let log = ticks.clone();
    add(&mut sim, "clk", "w", |p| {
        let out = p.fifo_out::<u64>("out");
        move |cx: &mut Tick<'_>| {
            let id = cx.cycle() + 1;
            let accepted = cx.write(&out, Packet::new(id, id)).is_ok();
            log.push((cx.cycle(), accepted));
            if !accepted {
                cx.sleep();
            }
            Ok(())
        }
    });
    add(&mut sim, "clk", "r", |p| {
        let input = p.fifo_in::<u64>("in");
        move |cx: &mut Tick<'_>| {
            // The read edges 4 and 30 alone.
            if [4, 30].contains(&cx.cycle()) {
                assert!(cx.request(&input));
            }
            if [5, 31].contains(&cx.cycle()) {
                assert!(cx.take(&input).is_some());
            }
            Ok(())
        }
    });
    sim.add_fifo(Fifo::new(1).depth(2), "w.out", "r.in").unwrap();
    sim.run_batches(60).unwrap();
    // A read at m is sampled at m+1, in the tail at m+2; `full` falls at m+3 and wakes for m+4.
    let expected = [(0, true), (1, true), (2, false), (8, true), (9, false), (34, true), (35, false)];
    assert_eq!(ticks.take(), expected);
}

/// A reader three times slower than the writer wakes on its own edges, counted in its own cycles.
#[test]
fn a_fifo_wakes_across_clocks() {
    let mut sim = Simulation::new();
    sim.add_clock(1, "fast", "3GHz").unwrap();
    sim.add_clock_with_phase(2, "slow", "1GHz", "100ps").unwrap();
    let ticks = Log::new();
    let log = ticks.clone();
    add(&mut sim, "slow", "r", |p| {
        let input = p.fifo_in::<u64>("in");
        move |cx: &mut Tick<'_>| {
            let taken = cx.take(&input).is_some();
            log.push((cx.cycle(), taken, cx.request(&input)));
            cx.sleep();
            Ok(())
        }
    });
    add(&mut sim, "fast", "w", |p| {
        let out = p.fifo_out::<u64>("out");
        move |cx: &mut Tick<'_>| {
            if cx.cycle() == 31 {
                cx.write(&out, Packet::new(1, 0)).map_err(|_| "refused")?;
            }
            Ok(())
        }
    });
    sim.add_fifo(Fifo::new(1).depth(4).stages(3), "w.out", "r.in").unwrap();
    sim.run_batches(200).unwrap();
    // Write edge 31 is at 10.333 ns; the first read edge after it is 11, at 11.1 ns: `empty` falls at
    // 11 + 3, so the reader ticks at 15 and takes at 16.
    assert_eq!(ticks.take(), [(0, false, false), (15, false, true), (16, true, false)]);
}
