//! Sources and sinks: when they are active and how transactions are numbered.

use clockweave_simulator::models::{Sink, Source};

use super::build;

/// Edges among the first `count` on which `number` of a unit grew.
fn grows(parts: &str, count: u64, number: impl Fn(&clockweave_simulator::Inspection<'_>) -> u64) -> Vec<u64> {
    let mut sim = build(parts);
    let mut before = 0;
    (0..count)
        .filter(|_| {
            sim.run_batches(1).unwrap();
            let now = number(&sim.inspect().unwrap());
            std::mem::replace(&mut before, now) < now
        })
        .collect()
}

fn source_edges(source: &str) -> Vec<u64> {
    let parts = format!(
        r#"
        [units.a]
        model = "source"
        {source}
        [units.b]
        model = "sink"
        [[connections]]
        from = "a.out"
        to = "b.in"
        "#
    );
    grows(&parts, 64, |state| state.unit::<Source>("a").unwrap().sent())
}

fn sink_edges(sink: &str) -> Vec<u64> {
    // Three times as much as the sink can take waits before its first edge.
    let parts = format!(
        r#"
        [units.a]
        model = "source"
        [units.b]
        model = "sink"
        {sink}
        [[connections]]
        from = "a.out"
        to = "b.in"
        delay = 0
        capacity = 192
        "#
    );
    grows(&parts, 64, |state| state.unit::<Sink>("b").unwrap().received())
}

#[test]
fn continuous_and_periodic_traffic() {
    assert_eq!(source_edges(""), (0..64).collect::<Vec<_>>());
    assert_eq!(sink_edges(""), (0..64).collect::<Vec<_>>());
    assert_eq!(source_edges("every = 20"), [0, 20, 40, 60]);
    assert_eq!(sink_edges("every = 20"), [0, 20, 40, 60]);
}

#[test]
fn bursts() {
    let source: Vec<u64> = (0..11).chain(29..40).chain(58..64).collect();
    assert_eq!(source_edges("pattern = \"burst\""), source);
    let sink: Vec<u64> = (13..37).chain(50..64).collect();
    assert_eq!(sink_edges("pattern = \"burst\""), sink);
    let changed = "pattern = \"burst\"\nburst_period = 30\nburst_from = 1\nburst_to = 3";
    assert_eq!(source_edges(changed), [1, 2, 31, 32, 61, 62]);
    assert_eq!(sink_edges(changed), [1, 2, 31, 32, 61, 62]);
    // A sink's burst reaches the end of whatever period it has.
    assert_eq!(
        sink_edges("pattern = \"burst\"\nburst_period = 20"),
        [13, 14, 15, 16, 17, 18, 19]
            .map(|edge| [edge, edge + 20, edge + 40])
            .concat()
            .into_iter()
            .filter(|edge| *edge < 64)
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
    );
}

/// The expected edges come from a computation of splitmix64 in another language.
#[test]
fn random_traffic() {
    let all_but = |idle: &[u64]| (0..64).filter(|edge| !idle.contains(edge)).collect::<Vec<u64>>();
    assert_eq!(source_edges("pattern = \"random\""), all_but(&[14, 15, 32, 35]));
    assert_eq!(source_edges("pattern = \"random\"\nseed = 5"), all_but(&[3, 24, 35, 36, 46, 52, 54]));
    assert_eq!(
        sink_edges("pattern = \"random\""),
        [
            0, 1, 3, 6, 7, 9, 10, 11, 12, 13, 14, 15, 20, 23, 25, 26, 29, 30, 32, 35, 38, 39, 42, 44, 50, 52,
            53, 55, 57, 61
        ]
    );
    assert_eq!(sink_edges("pattern = \"random\""), sink_edges("pattern = \"random\"\nseed = 0xC10C09141326"));
}

#[test]
fn a_refused_value_is_kept() {
    let mut sim = build(
        r#"
        [units.a]
        model = "source"
        [units.b]
        model = "sink"
        every = 10
        [[connections]]
        from = "a.out"
        to = "b.in"
        capacity = 1
        "#,
    );
    sim.run_batches(41).unwrap();
    let state = sim.inspect().unwrap();
    // Taken on 10, 20, 30, 40, in order and without a gap.
    let sink = state.unit::<Sink>("b").unwrap();
    assert_eq!((sink.received(), sink.last().unwrap().data), (4, 4));
    assert_eq!(state.connections()[0].refusals, 41 - 4);
}

/// Worked out from the circuit: written on edge 0, visible to the reader's `empty` on 3, read on 4,
/// taken on 5.
#[test]
fn a_packet_crosses_a_fifo_in_five_edges_of_equal_clocks() {
    let parts = r#"
        [domains.a]
        id = 1
        frequency = "1GHz"
        [domains.b]
        id = 2
        frequency = "1GHz"
        [units.a]
        model = "source"
        domain = "a"
        [units.b]
        model = "sink"
        domain = "b"
        [fifos.1]
        from = "a.out"
        to = "b.in"
        "#;
    assert_eq!(grows(parts, 9, |state| state.unit::<Sink>("b").unwrap().received()), [5, 6, 7, 8]);
}

#[test]
fn source_ports_number_their_transactions_in_canonical_order() {
    let mut sim = build(
        r#"
        [domains.second]
        id = 2
        frequency = "1GHz"
        [domains.first]
        id = 1
        frequency = "1GHz"
        [units.a]
        model = "source"
        domain = "second"
        [units.b]
        model = "source"
        domain = "first"
        [units.a0]
        model = "sink"
        domain = "second"
        [units.a1]
        model = "sink"
        domain = "second"
        [units.b0]
        model = "sink"
        domain = "first"
        [[connections]]
        from = "a.out10"
        to = "a1.in"
        [[connections]]
        from = "a.out2"
        to = "a0.in"
        [[connections]]
        from = "b.out"
        to = "b0.in"
        "#,
    );
    sim.run_batches(3).unwrap();
    let state = sim.inspect().unwrap();
    let last = |sink: &str| state.unit::<Sink>(sink).unwrap().last().unwrap();
    let numbers = ["b0", "a0", "a1"].map(|sink| (last(sink).transaction_id, last(sink).data));
    // Unit b is in the domain of the lower id; port 2 comes before port 10.
    assert_eq!(numbers, [(2, 2), ((1 << 40) + 2, 2), ((2 << 40) + 2, 2)]);
}
