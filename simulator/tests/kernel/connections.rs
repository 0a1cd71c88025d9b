//! Ordinary connections: when a message is visible, when its room comes back, in which order messages
//! and units come, and what a refusal leaves behind.

use clockweave_simulator::{Connection, ConnectionState, Pipeline, Simulation, Tick};

use crate::scripted::{Log, add, one_clock};

/// Both ways in which the names of a producer and its consumer can sort.
const NAMES: [(&str, &str); 2] = [("a", "b"), ("b", "a")];

/// What a stream did: (edge, room before) of every send, (edge, message) of every receipt.
type Stream = (Simulation, Log<(u64, u64)>, Log<(u64, u64)>);

/// A producer that sends its local cycle on every edge, and a consumer that receives on the edges
/// that `receives` names, everything that is visible.
fn stream((producer, consumer): (&str, &str), connection: Connection, receives: fn(u64) -> bool) -> Stream {
    let (sent, received) = (Log::new(), Log::new());
    let mut sim = one_clock();
    let log = received.clone();
    add(&mut sim, "clk", consumer, |p| {
        let input = p.input::<u64>("in");
        move |cx: &mut Tick<'_>| {
            while receives(cx.cycle()) && cx.has_message(&input) {
                log.push((cx.cycle(), cx.receive(&input).unwrap()));
            }
            Ok(())
        }
    });
    let log = sent.clone();
    add(&mut sim, "clk", producer, |p| {
        let out = p.out::<u64>("out");
        move |cx: &mut Tick<'_>| {
            let room = cx.room(&out);
            match cx.send(&out, cx.cycle()) {
                Ok(()) => log.push((cx.cycle(), room)),
                Err(value) => assert_eq!((value, room), (cx.cycle(), 0)),
            }
            Ok(())
        }
    });
    sim.connect(connection, &format!("{producer}.out"), &format!("{consumer}.in")).unwrap();
    (sim, sent, received)
}

fn edges(log: &Log<(u64, u64)>) -> Vec<u64> {
    log.take().into_iter().map(|(edge, _)| edge).collect()
}

#[test]
fn a_message_is_visible_after_its_delay() {
    for names in NAMES {
        for delay in [0, 1, 2, 5, 40] {
            let (mut sim, sent, received) = stream(names, Connection::delayed(delay).capacity(100), |_| true);
            sim.run_batches(60).unwrap();
            assert_eq!(edges(&sent), (0..60).collect::<Vec<_>>());
            let expected: Vec<_> = (delay..60).map(|edge| (edge, edge - delay)).collect();
            assert_eq!(received.take(), expected, "{names:?} {delay}");
        }
    }
}

/// Room freed at edge m counts from m + 1 on, whichever of the two ticks first.
#[test]
fn freed_room_counts_from_the_next_edge() {
    let cases: [(u64, u64, &[u64]); 8] = [
        (0, 1, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        (1, 1, &[0, 2, 4, 6, 8]),
        (1, 2, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        (2, 1, &[0, 3, 6, 9]),
        (2, 2, &[0, 1, 3, 4, 6, 7, 9]),
        (3, 1, &[0, 4, 8]),
        (3, 3, &[0, 1, 2, 4, 5, 6, 8, 9]),
        (3, 4, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ];
    for names in NAMES {
        for (delay, capacity, expected) in cases {
            let (mut sim, sent, _) = stream(names, Connection::delayed(delay).capacity(capacity), |_| true);
            sim.run_batches(10).unwrap();
            assert_eq!(edges(&sent), expected, "{names:?} delay {delay} capacity {capacity}");
        }
    }
}

/// Nothing is received before edge 10, which then frees all three places at once.
#[test]
fn a_slow_consumer_gives_all_room_back_at_the_next_edge() {
    for names in NAMES {
        for delay in [0, 1, 4] {
            let connection = Connection::delayed(delay).capacity(3);
            let (mut sim, sent, received) = stream(names, connection, |edge| edge == 10);
            sim.run_batches(14).unwrap();
            let sends = sent.take();
            assert_eq!(sends, [(0, 3), (1, 2), (2, 1), (11, 3), (12, 2), (13, 1)], "{names:?} {delay}");
            assert_eq!(received.take(), [(10, 0), (10, 1), (10, 2)]);
            let state = &sim.inspect().unwrap().connections()[0];
            let expected = ConnectionState {
                from: format!("{}.out", names.0),
                to: format!("{}.in", names.1),
                held: 3,
                sends: 6,
                refusals: 8,
                receives: 3,
            };
            assert_eq!(*state, expected);
        }
    }
}

/// What the constructor promises: one send an edge never waits for the wire itself.
#[test]
fn the_default_capacity_sustains_one_message_an_edge() {
    for names in NAMES {
        for delay in [0, 1, 2, 7] {
            let (mut sim, sent, _) = stream(names, Connection::delayed(delay), |_| true);
            sim.run_batches(50).unwrap();
            assert_eq!(sent.take().len(), 50, "{names:?} {delay}");
            // And no more than that: a second send on an edge finds no room once the wire is full.
            assert_eq!(sim.inspect().unwrap().connections()[0].held, delay);
        }
    }
}

#[test]
fn an_edge_takes_as_many_sends_as_there_is_room() {
    let sent = Log::new();
    let mut sim = one_clock();
    let log = sent.clone();
    add(&mut sim, "clk", "p", |p| {
        let out = p.out::<Box<u64>>("out");
        move |cx: &mut Tick<'_>| {
            for number in 0..5 {
                let message = Box::new(number);
                match cx.send(&out, message) {
                    Ok(()) => log.push((cx.cycle(), number)),
                    Err(back) => assert_eq!(*back, number, "the refused message stays with the caller"),
                }
            }
            Ok(())
        }
    });
    let received = Log::new();
    let log = received.clone();
    add(&mut sim, "clk", "q", |p| {
        let input = p.input::<Box<u64>>("in");
        move |cx: &mut Tick<'_>| {
            // One an edge.
            if let Some(message) = cx.receive(&input) {
                log.push((cx.cycle(), *message));
            }
            Ok(())
        }
    });
    sim.connect(Connection::delayed(1).capacity(3), "p.out", "q.in").unwrap();
    sim.run_batches(4).unwrap();
    assert_eq!(sent.take(), [(0, 0), (0, 1), (0, 2), (2, 0), (3, 0)]);
    assert_eq!(received.take(), [(1, 0), (2, 1), (3, 2)]);
}

/// The chain runs against the order of names and of creation, all on one edge.
#[test]
fn zero_delay_decides_the_order_of_ticks() {
    let received = Log::new();
    let mut sim = one_clock();
    let log = received.clone();
    add(&mut sim, "clk", "a", |p| {
        let input = p.input::<u64>("in");
        move |cx: &mut Tick<'_>| {
            log.push((cx.cycle(), cx.receive(&input)));
            Ok(())
        }
    });
    add(&mut sim, "clk", "m", |p| {
        let (input, out) = (p.input::<u64>("in"), p.out::<u64>("out"));
        move |cx: &mut Tick<'_>| {
            let value = cx.receive(&input).expect("the producer ticked before");
            cx.send(&out, value + 1).map_err(|_| "refused")?;
            Ok(())
        }
    });
    add(&mut sim, "clk", "z", |p| {
        let out = p.out::<u64>("out");
        move |cx: &mut Tick<'_>| {
            cx.send(&out, 10 * cx.cycle()).map_err(|_| "refused")?;
            Ok(())
        }
    });
    sim.connect(Connection::delayed(0), "m.out", "a.in").unwrap();
    sim.connect(Connection::delayed(0), "z.out", "m.in").unwrap();
    sim.run_batches(3).unwrap();
    assert_eq!(received.take(), [(0, Some(1)), (1, Some(11)), (2, Some(21))]);
    assert_eq!(sim.inspect().unwrap().units().collect::<Vec<_>>(), ["z", "m", "a"]);
}

/// A unit that notes its name on every tick, with zero-delay inputs and outputs as named.
fn noting(
    sim: &mut Simulation,
    domain: &str,
    name: &'static str,
    log: &Log<&'static str>,
    ports: (u32, u32),
) {
    let log = log.clone();
    add(sim, domain, name, |p| {
        for at in 0..ports.0 {
            p.input::<u64>(&format!("in{at}"));
        }
        for at in 0..ports.1 {
            p.out::<u64>(&format!("out{at}"));
        }
        move |_: &mut Tick<'_>| {
            log.push(name);
            Ok(())
        }
    });
}

/// Always the ready unit with the smallest name: `c` frees `a`, which then goes before `d`.
#[test]
fn the_smallest_ready_name_ticks_first() {
    let log = Log::new();
    let mut sim = one_clock();
    for (name, ports) in [("e", (0, 0)), ("d", (0, 1)), ("c", (0, 1)), ("b", (1, 0)), ("a", (1, 0))] {
        noting(&mut sim, "clk", name, &log, ports);
    }
    sim.connect(Connection::delayed(0), "d.out0", "b.in0").unwrap();
    sim.connect(Connection::delayed(0), "c.out0", "a.in0").unwrap();
    sim.run_batches(1).unwrap();
    assert_eq!(log.take(), ["c", "a", "d", "b", "e"]);
}

/// A connection with a delay orders nothing.
#[test]
fn delayed_connections_order_nothing() {
    let log = Log::new();
    let mut sim = one_clock();
    for (name, ports) in [("b", (1, 1)), ("a", (1, 1))] {
        noting(&mut sim, "clk", name, &log, ports);
    }
    sim.connect(Connection::delayed(1), "b.out0", "a.in0").unwrap();
    sim.connect(Connection::delayed(1), "a.out0", "b.in0").unwrap();
    sim.run_batches(2).unwrap();
    assert_eq!(log.take(), ["a", "b", "a", "b"]);
}

#[test]
fn domains_of_one_instant_tick_by_id() {
    let log = Log::new();
    let mut sim = Simulation::new();
    // Created and named against the order of ids; 2 ns meets 1 ns on every other edge.
    sim.add_clock(7, "a-domain", "1GHz").unwrap();
    sim.add_clock(3, "b-domain", "500MHz").unwrap();
    noting(&mut sim, "a-domain", "a", &log, (0, 0));
    noting(&mut sim, "b-domain", "z", &log, (0, 0));
    noting(&mut sim, "b-domain", "y", &log, (0, 0));
    let report = sim.run_batches(3).unwrap();
    assert_eq!(report.batches, 3);
    assert_eq!(log.take(), ["y", "z", "a", "a", "y", "z", "a"]);
    assert_eq!(sim.inspect().unwrap().units().collect::<Vec<_>>(), ["y", "z", "a"]);
}

/// Producers of a fan-in, by what they send: (edge, port, message).
type Sends = &'static [(u64, usize, &'static str)];

/// Units that send over ports `out0` and `out1` of given delays into `sink.in`, all received at edge 6.
fn fan_in(producers: &[(&str, [Option<u64>; 2], Sends)], zero_delay: &[(&str, &str)]) -> Vec<&'static str> {
    let received = Log::new();
    let mut sim = one_clock();
    let log = received.clone();
    add(&mut sim, "clk", "sink", |p| {
        let input = p.input::<&'static str>("in");
        move |cx: &mut Tick<'_>| {
            if cx.cycle() == 6 {
                while let Some(message) = cx.receive(&input) {
                    log.push(message);
                }
            }
            Ok(())
        }
    });
    for (name, delays, sends) in producers.iter().rev() {
        let (name, delays, sends) = (*name, *delays, *sends);
        add(&mut sim, "clk", name, |p| {
            let outs: Vec<_> =
                (0..2).map(|at| delays[at].map(|_| p.out::<&'static str>(&format!("out{at}")))).collect();
            for (from, to) in zero_delay {
                if *from == name {
                    p.out::<u64>("before");
                }
                if *to == name {
                    p.input::<u64>("after");
                }
            }
            move |cx: &mut Tick<'_>| {
                let cycle = cx.cycle();
                for (_, port, message) in sends.iter().filter(|send| send.0 == cycle) {
                    cx.send(&outs[*port].unwrap(), message).map_err(|_| "refused")?;
                }
                Ok(())
            }
        });
        for (at, delay) in delays.iter().enumerate() {
            if let Some(delay) = delay {
                let connection = Connection::delayed(*delay).capacity(8);
                sim.connect(connection, &format!("{name}.out{at}"), "sink.in").unwrap();
            }
        }
    }
    for (from, to) in zero_delay {
        sim.connect(Connection::delayed(0), &format!("{from}.before"), &format!("{to}.after")).unwrap();
    }
    sim.run_batches(7).unwrap();
    received.take()
}

#[test]
fn fan_in_orders_by_visible_edge_then_producer_then_sending() {
    const A: Sends = &[(0, 0, "a visible at 1"), (1, 0, "a visible at 2")];
    const B: Sends = &[(1, 0, "b first at 2"), (1, 0, "b second at 2")];
    const C: Sends = &[(0, 0, "c visible at 2"), (2, 0, "c visible at 4")];
    let producers = [("a", [Some(1), None], A), ("b", [Some(1), None], B), ("c", [Some(2), None], C)];
    assert_eq!(
        fan_in(&producers, &[]),
        [
            "a visible at 1",
            "a visible at 2",
            "b first at 2",
            "b second at 2",
            "c visible at 2",
            "c visible at 4"
        ]
    );
    // The producers' canonical order counts, not their names: now it is b, c, a.
    assert_eq!(
        fan_in(&producers, &[("c", "a")]),
        [
            "a visible at 1",
            "b first at 2",
            "b second at 2",
            "c visible at 2",
            "a visible at 2",
            "c visible at 4"
        ]
    );
}

/// Over two connections of one producer: by visible edge, then by sending.
#[test]
fn fan_in_keeps_the_order_of_sending_over_several_ports() {
    const SENDS: Sends = &[
        (0, 0, "slow, sent at 0"),
        (1, 1, "fast, sent at 1"),
        (1, 0, "slow, sent at 1"),
        (2, 1, "fast, sent at 2"),
    ];
    assert_eq!(
        fan_in(&[("p", [Some(2), Some(1)], SENDS)], &[]),
        ["slow, sent at 0", "fast, sent at 1", "slow, sent at 1", "fast, sent at 2"]
    );
    const SAME: Sends = &[(3, 1, "out1 first"), (3, 0, "out0 second"), (3, 1, "out1 third")];
    assert_eq!(fan_in(&[("p", [Some(1), Some(1)], SAME)], &[]), ["out1 first", "out0 second", "out1 third"]);
}

/// All branches take a message or none does; the refusal is counted where there was no room.
#[test]
fn fan_out_is_all_or_none() {
    let (sent, fast, slow) = (Log::new(), Log::new(), Log::new());
    let mut sim = one_clock();
    let log = sent.clone();
    add(&mut sim, "clk", "p", |p| {
        let out = p.fan_out::<u64>("out");
        move |cx: &mut Tick<'_>| {
            if cx.send(&out, cx.cycle()).is_ok() {
                log.push(cx.cycle());
            }
            Ok(())
        }
    });
    for (name, log, from) in [("fast", fast.clone(), 0), ("slow", slow.clone(), 9)] {
        add(&mut sim, "clk", name, |p| {
            let input = p.input::<u64>("in");
            move |cx: &mut Tick<'_>| {
                if cx.cycle() >= from
                    && let Some(value) = cx.receive(&input)
                {
                    log.push((cx.cycle(), value));
                }
                Ok(())
            }
        });
    }
    sim.connect(Connection::delayed(1).capacity(8), "p.out", "fast.in").unwrap();
    sim.connect(Connection::delayed(2).capacity(2), "p.out", "slow.in").unwrap();
    sim.run_batches(12).unwrap();
    // The slow branch holds messages 0 and 1 until edge 9, which makes room for edge 10.
    assert_eq!(sent.take(), [0, 1, 10, 11]);
    assert_eq!(fast.take(), [(1, 0), (2, 1), (11, 10)]);
    assert_eq!(slow.take(), [(9, 0), (10, 1)]);
    let states = sim.inspect().unwrap().connections();
    let counts: Vec<_> =
        states.iter().map(|c| (c.to.as_str(), c.sends, c.refusals, c.receives, c.held)).collect();
    assert_eq!(counts, [("fast.in", 4, 0, 3, 1), ("slow.in", 4, 8, 2, 2)]);
}

/// Two connections of the same two ports carry each message twice; which of them gives first, and so
/// which has room again, does not follow from the order of creation.
#[test]
fn connections_of_the_same_ports_are_told_apart_by_what_they_are() {
    let run = |capacities: [u64; 2]| {
        let log = Log::new();
        let mut sim = one_clock();
        let sent = log.clone();
        add(&mut sim, "clk", "p", |p| {
            let out = p.fan_out::<u64>("out");
            move |cx: &mut Tick<'_>| {
                sent.push((cx.cycle(), cx.send(&out, cx.cycle()).is_ok()));
                Ok(())
            }
        });
        add(&mut sim, "clk", "q", |p| {
            let input = p.input::<u64>("in");
            move |cx: &mut Tick<'_>| {
                cx.receive(&input);
                Ok(())
            }
        });
        for capacity in capacities {
            sim.connect(Connection::delayed(1).capacity(capacity), "p.out", "q.in").unwrap();
        }
        sim.run_batches(8).unwrap();
        let states = sim.inspect().unwrap().connections();
        (log.take(), states)
    };
    let (sends, states) = run([1, 3]);
    assert_eq!(run([3, 1]), (sends.clone(), states));
    // The narrow one gives at edges 1, 3, … and has room at 2, 4, …; the wide one gives in between.
    let accepted: Vec<u64> = sends.iter().filter(|(_, accepted)| *accepted).map(|(edge, _)| *edge).collect();
    assert_eq!(accepted, [0, 2, 4, 6]);
}

#[test]
fn a_unit_may_feed_itself_over_a_delay() {
    let received = Log::new();
    let mut sim = one_clock();
    let log = received.clone();
    add(&mut sim, "clk", "u", |p| {
        let (input, out) = (p.input::<u64>("in"), p.out::<u64>("out"));
        move |cx: &mut Tick<'_>| {
            if let Some(value) = cx.receive(&input) {
                log.push((cx.cycle(), value));
            }
            cx.send(&out, cx.cycle()).map_err(|_| "refused")?;
            Ok(())
        }
    });
    sim.connect(Connection::delayed(3).capacity(4), "u.out", "u.in").unwrap();
    sim.run_batches(6).unwrap();
    assert_eq!(received.take(), [(3, 0), (4, 1), (5, 2)]);
}

/// A three-stage pipeline of the local cycle: whatever the order of evaluation and the parity of the
/// first edge that matters, stage s shows on edge c what entered on edge c - s - 1.
#[test]
fn pipeline_registers_hold_over_both_parities() {
    for start in [0, 1] {
        for backwards in [false, true] {
            let seen = Log::new();
            let mut sim = one_clock();
            let log = seen.clone();
            add(&mut sim, "clk", "pipe", |_| {
                let mut stages = Pipeline::new(3, u64::MAX);
                move |cx: &mut Tick<'_>| {
                    let cycle = cx.cycle();
                    let edge = stages.edge(cycle);
                    log.push([0, 1, 2].map(|stage| *edge.read(stage)));
                    let order = if backwards { [2, 1, 0] } else { [0, 1, 2] };
                    for stage in order {
                        let value = if stage == 0 { cycle } else { *edge.read(stage - 1) };
                        if cycle >= start {
                            edge.write(stage, value);
                        }
                    }
                    Ok(())
                }
            });
            sim.run_batches(start + 5).unwrap();
            const R: u64 = u64::MAX;
            let s = start;
            let expected = [[R, R, R], [s, R, R], [s + 1, s, R], [s + 2, s + 1, s], [s + 3, s + 2, s + 1]];
            assert_eq!(seen.take().split_off(start as usize), expected, "{start} {backwards}");
        }
    }
}

/// Registers hold while the unit sleeps over an odd or an even number of edges.
#[test]
fn pipeline_registers_hold_over_sleep() {
    let seen = Log::new();
    let mut sim = one_clock();
    let log = seen.clone();
    add(&mut sim, "clk", "pipe", |_| {
        let mut stages = Pipeline::new(2, 0);
        move |cx: &mut Tick<'_>| {
            let cycle = cx.cycle();
            let edge = stages.edge(cycle);
            log.push((cycle, *edge.read(0), *edge.read(1)));
            edge.write(0, cycle + 100);
            // What stage 0 held before this edge, though it was written on it.
            let held = *edge.read(0);
            edge.write(1, held);
            // Edges 0, 1, 3, 6, 7, 9, 12, …
            cx.sleep_until(match cycle % 6 {
                0 => cycle + 1,
                1 => cycle + 2,
                _ => cycle + 3,
            });
            Ok(())
        }
    });
    sim.run_batches(13).unwrap();
    assert_eq!(
        seen.take(),
        [(0, 0, 0), (1, 100, 0), (3, 101, 100), (6, 103, 101), (7, 106, 103), (9, 107, 106), (12, 109, 107)]
    );
}
