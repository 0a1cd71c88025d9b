//! Each model against traffic worked out by hand. Edges of the implicit domain are batches, so after
//! `n` batches the edges 0 to n - 1 have passed.

use clockweave_simulator::models::{
    Arbiter, Compute, Forwarder, Memory, Replay, Router, Sink, Source, Stages,
};
use clockweave_simulator::scenario::Scenario;
use clockweave_simulator::{Packet, Simulation};

use super::{between, build};

/// The edges on which a sink took packets, among the next `edges` from 0.
fn takes(sim: &mut Simulation, sink: &str, edges: u64) -> Vec<(u64, Packet<u64>)> {
    let mut taken = Vec::new();
    let mut before = 0;
    for edge in 0..edges {
        sim.run_batches(1).unwrap();
        let sink = sim.inspect().unwrap().unit::<Sink>(sink).unwrap().clone();
        assert!(sink.received() - before <= 1);
        if sink.received() > before {
            taken.push((edge, sink.last().unwrap()));
        }
        before = sink.received();
    }
    taken
}

fn edges(taken: &[(u64, Packet<u64>)]) -> Vec<u64> {
    taken.iter().map(|(edge, _)| *edge).collect()
}

fn values(taken: &[(u64, Packet<u64>)]) -> Vec<u64> {
    taken.iter().map(|(_, packet)| packet.data).collect()
}

/// What a sink's checksum is after these payloads.
fn checksum(payloads: &[u64]) -> u64 {
    payloads.iter().fold(0, |sum, payload| (sum ^ payload).wrapping_mul(1_099_511_628_211))
}

#[test]
fn a_forwarder_takes_and_sends_on_one_edge() {
    let mut sim = between(3, "model = \"forwarder\"", "");
    // Sent on edges 0, 1, 2; an edge later passed on; another later taken.
    let taken = takes(&mut sim, "sink", 10);
    assert_eq!((edges(&taken), values(&taken)), (vec![2, 3, 4], vec![1, 2, 3]));
    assert_eq!(sim.inspect().unwrap().unit::<Forwarder>("m").unwrap().forwarded(), 3);
}

#[test]
fn a_forwarder_that_acts_every_third_edge_halves_nothing_but_its_own_edges() {
    let mut sim = between(3, "model = \"forwarder\"\nevery = 3", "");
    assert_eq!(edges(&takes(&mut sim, "sink", 20)), [4, 7, 10]);
}

#[test]
fn a_packet_spends_an_edge_in_each_stage() {
    let mut sim = between(5, "model = \"pipeline\"\nstages = 3", "");
    // Taken on edges 1 to 5, offered three edges later, taken by the sink one later again.
    let taken = takes(&mut sim, "sink", 20);
    assert_eq!((edges(&taken), values(&taken)), (vec![5, 6, 7, 8, 9], vec![1, 2, 3, 4, 5]));
    assert_eq!(taken[4].1.transaction_id, 5);
}

#[test]
fn a_pipeline_holds_while_its_end_is_refused() {
    let mut sim = build(
        r#"
        [units.source]
        model = "source"
        packets = 5
        [units.m]
        model = "pipeline"
        stages = 3
        [units.sink]
        model = "sink"
        every = 2
        [[connections]]
        from = "source.out"
        to = "m.in"
        [[connections]]
        from = "m.out"
        to = "sink.in"
        capacity = 1
        "#,
    );
    // Offered on 4 and accepted; taken on 6, so there is room from 7 on; taken on 8, room on 9; …
    let taken = takes(&mut sim, "sink", 20);
    assert_eq!((edges(&taken), values(&taken)), (vec![6, 8, 10, 12, 14], vec![1, 2, 3, 4, 5]));
    let state = sim.inspect().unwrap();
    let pipeline = state.unit::<Stages>("m").unwrap();
    // Refused on 5, 6, 8, 10, 12.
    assert_eq!((pipeline.passed(), pipeline.held_edges()), (5, 5));
}

#[test]
fn a_memory_answers_after_its_latency_and_takes_no_more_than_it_can() {
    let mut sim = between(3, "model = \"memory\"\nlatency = 4\noutstanding = 2", "");
    // Requests taken on 1 and 2; the third when the first is answered on 5. Answers on 5, 6, 9.
    let taken = takes(&mut sim, "sink", 20);
    assert_eq!((edges(&taken), values(&taken)), (vec![6, 7, 10], vec![1, 2, 3]));
    let state = sim.inspect().unwrap();
    let memory = state.unit::<Memory>("m").unwrap();
    assert_eq!((memory.answered(), memory.most_outstanding()), (3, 2));
}

#[test]
fn a_memory_without_an_output_ends_its_requests() {
    let mut sim = build(
        r#"
        [units.source]
        model = "source"
        packets = 3
        [units.m]
        model = "memory"
        latency = 5
        [[connections]]
        from = "source.out"
        to = "m.in"
        "#,
    );
    for (batches, answered) in [(6, 0), (1, 1), (1, 2), (1, 3), (9, 3)] {
        sim.run_batches(batches).unwrap();
        assert_eq!(sim.inspect().unwrap().unit::<Memory>("m").unwrap().answered(), answered);
    }
}

fn routed(by: &str) -> (Vec<u64>, [u64; 3]) {
    let mut sim = build(&format!(
        r#"
        [units.source]
        model = "source"
        packets = 6
        [units.m]
        model = "router"
        by = "{by}"
        [units.sink0]
        model = "sink"
        [units.sink1]
        model = "sink"
        [units.sink2]
        model = "sink"
        [[connections]]
        from = "source.out"
        to = "m.in"
        [[connections]]
        from = "m.out2"
        to = "sink2.in"
        [[connections]]
        from = "m.out0"
        to = "sink0.in"
        [[connections]]
        from = "m.out1"
        to = "sink1.in"
        "#
    ));
    sim.run_batches(20).unwrap();
    let state = sim.inspect().unwrap();
    let sums = ["sink0", "sink1", "sink2"].map(|sink| state.unit::<Sink>(sink).unwrap().checksum());
    (state.unit::<Router>("m").unwrap().routed().to_vec(), sums)
}

#[test]
fn a_router_sends_by_turn_or_by_value() {
    let sums = |sinks: [&[u64]; 3]| sinks.map(checksum);
    assert_eq!(routed("round-robin"), (vec![2, 2, 2], sums([&[1, 4], &[2, 5], &[3, 6]])));
    // 3 and 6 leave no rest. The first series numbers its transactions like its payloads.
    for by in ["payload", "transaction"] {
        assert_eq!(routed(by), (vec![2, 2, 2], sums([&[3, 6], &[1, 4], &[2, 5]])));
    }
}

fn arbitrated(policy: &str) -> (Vec<u64>, u64) {
    let source = |name: &str, port: &str| {
        format!(
            r#"
            [units.{name}]
            model = "source"
            packets = 2
            [[connections]]
            from = "{name}.out"
            to = "m.{port}"
            "#
        )
    };
    let mut sim = build(&format!(
        r#"
        [units.m]
        model = "arbiter"
        policy = "{policy}"
        [units.sink]
        model = "sink"
        [[connections]]
        from = "m.out"
        to = "sink.in"
        {}{}{}
        "#,
        source("a", "in0"),
        source("b", "in1"),
        source("c", "in2"),
    ));
    let taken = takes(&mut sim, "sink", 20);
    // One packet on an edge, from the first arrival on edge 1.
    assert_eq!(edges(&taken), [2, 3, 4, 5, 6, 7]);
    let ids = taken.iter().map(|(_, packet)| packet.transaction_id >> 40).collect();
    (ids, sim.inspect().unwrap().unit::<Sink>("sink").unwrap().checksum())
}

#[test]
fn an_arbiter_serves_its_inputs_in_turn_or_by_number() {
    assert_eq!(arbitrated("round-robin"), (vec![0, 1, 2, 0, 1, 2], checksum(&[1, 1, 1, 2, 2, 2])));
    assert_eq!(arbitrated("priority"), (vec![0, 0, 1, 1, 2, 2], checksum(&[1, 2, 1, 2, 1, 2])));
}

#[test]
fn an_arbiter_over_fifos_loses_nothing() {
    let mut sim = build(
        r#"
        [domains.a]
        id = 1
        frequency = "914MHz"
        [domains.b]
        id = 2
        frequency = "1326MHz"
        [units.source]
        model = "source"
        domain = "a"
        packets = 50
        [units.m]
        model = "arbiter"
        domain = "b"
        [units.sink]
        model = "sink"
        domain = "a"
        [fifos.1]
        from = "source.out0"
        to = "m.in0"
        [fifos.2]
        from = "source.out1"
        to = "m.in1"
        [fifos.3]
        from = "m.out"
        to = "sink.in"
        depth = 2
        "#,
    );
    sim.run_batches(5000).unwrap();
    let state = sim.inspect().unwrap();
    assert_eq!(state.unit::<Arbiter>("m").unwrap().granted(), [50, 50]);
    assert_eq!(state.unit::<Sink>("sink").unwrap().received(), 100);
}

#[test]
fn compute_works_on_every_tick_and_delays_packets() {
    let mut sim = between(2, "model = \"compute\"\ncycles = 3\nwork = 3", "");
    // Taken on edge 1, done and sent on 4; the second taken on 4, done on 7.
    let taken = takes(&mut sim, "sink", 5);
    assert_eq!(taken, []);
    // 5 ticks of 3 steps each, from an independent computation.
    let work = 0xf7ee_d8e0_bdf4_adce;
    assert_eq!(sim.inspect().unwrap().unit::<Compute>("m").unwrap().work(), work);
    sim.run_batches(1).unwrap();
    let last = sim.inspect().unwrap().unit::<Sink>("sink").unwrap().last();
    assert_eq!(last, Some(Packet::new(1, 1 ^ work)));
    sim.run_batches(2).unwrap();
    assert_eq!(sim.inspect().unwrap().unit::<Sink>("sink").unwrap().received(), 1);
    sim.run_batches(1).unwrap();
    let state = sim.inspect().unwrap();
    assert_eq!(state.unit::<Sink>("sink").unwrap().last().unwrap().transaction_id, 2);
    let compute = state.unit::<Compute>("m").unwrap();
    assert_eq!((compute.received(), compute.sent(), compute.ticks()), (2, 2, 9));
}

#[test]
fn compute_without_ports_only_works() {
    let mut sim = build("[units.m]\nmodel = \"compute\"\nwork = 16");
    sim.run_batches(10).unwrap();
    let state = sim.inspect().unwrap();
    let compute = state.unit::<Compute>("m").unwrap();
    assert_eq!((compute.ticks(), compute.work()), (10, 0xb190_7144_6d0c_a590));
}

#[test]
fn replay_sends_each_row_from_its_cycle_on() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("traffic.csv"), "cycle,payload\n0,70\n0,80\n5,90\n").unwrap();
    let text = r#"
        run_id = "replay"
        [units.replay]
        model = "replay"
        file = "traffic.csv"
        [units.sink]
        model = "sink"
        [[connections]]
        from = "replay.out"
        to = "sink.in"
        [run]
        batches = 10
    "#;
    let file = dir.path().join("scenario.toml");
    let scenario = Scenario::parse(text, file.to_str().unwrap()).unwrap();
    let mut sim = scenario.build(None).unwrap();
    assert_eq!(
        takes(&mut sim, "sink", 10),
        [(1, Packet::new(1, 70)), (2, Packet::new(2, 80)), (6, Packet::new(3, 90))]
    );
    assert_eq!(sim.inspect().unwrap().unit::<Replay>("replay").unwrap().sent(), 3);
}

#[test]
fn a_source_joined_to_several_sinks_reaches_all_or_none() {
    let mut sim = build(
        r#"
        [units.source]
        model = "source"
        packets = 3
        [units.fast]
        model = "sink"
        [units.slow]
        model = "sink"
        every = 4
        [[connections]]
        from = "source.out"
        to = "fast.in"
        [[connections]]
        from = "source.out"
        to = "slow.in"
        capacity = 1
        "#,
    );
    // Sent on 0; the slow sink takes on 4, so there is room again on 5; taken on 8, room on 9.
    assert_eq!(edges(&takes(&mut sim, "fast", 20)), [1, 6, 10]);
    assert_eq!(sim.inspect().unwrap().unit::<Sink>("slow").unwrap().received(), 3);
}

#[test]
fn a_stop_is_requested_at_the_packet_that_was_named() {
    let mut sim = between(9, "model = \"forwarder\"", "stop_after = 4");
    sim.run_batches(100).unwrap();
    // Packets are taken on edges 2, 3, 4, 5.
    let state = sim.inspect().unwrap();
    assert_eq!((state.batches(), state.unit::<Sink>("sink").unwrap().received()), (6, 4));
    assert_eq!(state.unit::<Source>("source").unwrap().sent(), 6);
    assert_eq!(sim.termination().unwrap().cycle, 5);
}
