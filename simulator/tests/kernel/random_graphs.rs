//! Random graphs of random units: the simulator equals the naive interpreter in everything that can be
//! observed, whatever the order of creation and the lengths of run calls.

use std::path::Path;

use clockweave_simulator::{
    Connection, Event, Fifo, FifoIn, FifoOut, In, Out, Packet, RecordingOptions, Simulation, Tick,
    TickResult, Unit,
};
use proptest::prelude::*;

use crate::clocks::Clock;
use crate::interpreter::{FifoPlan, Interpreter, LinkPlan, Plan, UnitPlan};
use crate::node::{Drowsiness, Edge, Node, Ports};
use crate::traffic::mix;

/// A node in the simulator.
struct NodeUnit {
    node: Node,
    handles: Handles,
}

struct Handles {
    outs: Vec<Out<u64>>,
    inputs: Vec<In<u64>>,
    writes: Vec<FifoOut<u64>>,
    reads: Vec<FifoIn<u64>>,
    note: Event,
}

struct Here<'a, 'b> {
    cx: &'a mut Tick<'b>,
    handles: &'a Handles,
}

impl Edge for Here<'_, '_> {
    fn cycle(&self) -> u64 {
        self.cx.cycle()
    }
    fn room(&self, out: usize) -> u64 {
        self.cx.room(&self.handles.outs[out])
    }
    fn send(&mut self, out: usize, value: u64) -> bool {
        self.cx.send(&self.handles.outs[out], value).is_ok()
    }
    fn has_message(&self, input: usize) -> bool {
        self.cx.has_message(&self.handles.inputs[input])
    }
    fn receive(&mut self, input: usize) -> Option<u64> {
        self.cx.receive(&self.handles.inputs[input])
    }
    fn can_write(&self, fifo: usize) -> bool {
        self.cx.can_write(&self.handles.writes[fifo])
    }
    fn write(&mut self, fifo: usize, id: u64) -> bool {
        self.cx.write(&self.handles.writes[fifo], Packet::new(id, mix(id))).is_ok()
    }
    fn has_packet(&self, fifo: usize) -> bool {
        self.cx.has_packet(&self.handles.reads[fifo])
    }
    fn take(&mut self, fifo: usize) -> Option<u64> {
        let packet = self.cx.take(&self.handles.reads[fifo])?;
        assert_eq!(packet.data, mix(packet.transaction_id), "the payload belongs to the packet");
        Some(packet.transaction_id)
    }
    fn request(&mut self, fifo: usize) -> bool {
        self.cx.request(&self.handles.reads[fifo])
    }
    fn note(&mut self, transaction: u64, value: u64) {
        self.cx.event(self.handles.note, transaction, value);
    }
    fn sleep(&mut self, until: Option<u64>) {
        match until {
            Some(edge) => self.cx.sleep_until(edge),
            None => self.cx.sleep(),
        }
    }
}

impl Unit for NodeUnit {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        self.node.tick(&mut Here { cx, handles: &self.handles });
        Ok(())
    }
}

/// A source of choices.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = mix(self.0);
        usize::try_from(self.0 % end as u64).unwrap()
    }

    fn shuffled(&mut self, len: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..len).collect();
        for at in (1..len).rev() {
            order.swap(at, self.below(at + 1));
        }
        order
    }

    /// Periods within a factor of 64 of each other; some repeat, some have denominators that share
    /// no lattice.
    fn clock(&mut self, earlier: &[Clock]) -> Clock {
        if !earlier.is_empty() && self.below(4) == 0 {
            let clock = earlier[self.below(earlier.len())];
            return if self.below(2) == 0 { clock } else { clock.late_ps(self.below(5000) as u64) };
        }
        let (num, den) = (5 + self.below(36) as u64, 5 + self.below(36) as u64);
        let odd = if self.below(3) == 0 { self.below(100_000_000) as u64 } else { 0 };
        let clock = Clock { period: (num, den * 1_000_000_000 + odd), phase: (0, 1) };
        match self.below(3) {
            0 => clock,
            1 => clock.late_ps(self.below(20) as u64 * 500),
            _ => clock.late_fs(self.below(10_000_000) as u64),
        }
    }
}

fn plan(seed: u64, units: usize, domains: usize, drowsiness: Drowsiness) -> Plan {
    let mut random = Random(seed);
    let mut clocks: Vec<Clock> = Vec::new();
    for _ in 0..domains {
        let clock = random.clock(&clocks);
        clocks.push(clock);
    }
    let names = random.shuffled(units);
    let mut plan = Plan { clocks, units: Vec::new(), links: Vec::new(), fifos: Vec::new() };
    for name in names {
        let (domain, seed) = (random.below(domains), mix(random.0));
        let name = format!("u{name}");
        plan.units.push(UnitPlan { name, domain, seed, drowsiness, ports: Ports::default() });
    }
    for _ in 0..random.below(2 * units) {
        add_links(&mut plan, &mut random);
    }
    for at in 0..random.below(2 * units) {
        let (writer, reader) = (random.below(units), random.below(units));
        let writer = (writer, take_port(&mut plan.units[writer].ports.writes));
        let reader = (reader, take_port(&mut plan.units[reader].ports.reads));
        let id = u32::try_from(at).unwrap() * 5 + 2;
        let (depth, stages) = ([2, 2, 4, 16][random.below(4)], [2, 2, 3, 5][random.below(4)]);
        plan.fifos.push(FifoPlan { id, writer, reader, depth, stages });
    }
    plan
}

fn take_port(ports: &mut usize) -> usize {
    *ports += 1;
    *ports - 1
}

/// A sending port of some unit with up to three branches to units of its domain. A path without delay
/// leads to a unit further down the list, which keeps cycles out.
fn add_links(plan: &mut Plan, random: &mut Random) {
    let from = random.below(plan.units.len());
    let peers: Vec<usize> =
        (0..plan.units.len()).filter(|&unit| plan.units[unit].domain == plan.units[from].domain).collect();
    let out = take_port(&mut plan.units[from].ports.outs);
    for _ in 0..=random.below(3) {
        let to = peers[random.below(peers.len())];
        let delay = [0, 1, 1, 2, 5, 40][random.below(6)];
        let delay = if to > from { delay } else { delay.max(1) };
        let inputs = &mut plan.units[to].ports.inputs;
        // A port of its own, or one that is there already.
        let input =
            if *inputs > 0 && random.below(2) == 0 { random.below(*inputs) } else { take_port(inputs) };
        let capacity = 1 + random.below(4) as u64 * random.below(4) as u64;
        plan.links.push(LinkPlan { from: (from, out), to: (to, input), delay, capacity });
    }
}

/// Builds the plan's simulation; everything is created in a shuffled order.
fn simulation(plan: &Plan, random: &mut Random) -> Simulation {
    let mut sim = Simulation::new();
    for at in random.shuffled(plan.clocks.len()) {
        sim.add_domain(plan.clocks[at].domain(3 * at as u32 + 1, &format!("d{at}"))).unwrap();
    }
    for at in random.shuffled(plan.units.len()) {
        let unit = &plan.units[at];
        let branches = |out| plan.links.iter().filter(|link| link.from == (at, out)).count();
        sim.add_unit(&format!("d{}", unit.domain), &unit.name, |p| {
            let out = |p: &mut clockweave_simulator::Ports<'_>, out: usize| {
                let name = format!("out{out}");
                if branches(out) > 1 { p.fan_out(&name) } else { p.out(&name) }
            };
            let handles = Handles {
                outs: (0..unit.ports.outs).map(|at| out(p, at)).collect(),
                inputs: (0..unit.ports.inputs).map(|at| p.input(&format!("in{at}"))).collect(),
                writes: (0..unit.ports.writes).map(|at| p.fifo_out(&format!("write{at}"))).collect(),
                reads: (0..unit.ports.reads).map(|at| p.fifo_in(&format!("read{at}"))).collect(),
                note: p.event("note"),
            };
            NodeUnit { node: Node::new(at, unit.seed, unit.ports, unit.drowsiness), handles }
        })
        .unwrap();
    }
    let name = |unit: usize| &plan.units[unit].name;
    for at in random.shuffled(plan.links.len()) {
        let LinkPlan { from, to, delay, capacity } = plan.links[at];
        let (from, to) = (format!("{}.out{}", name(from.0), from.1), format!("{}.in{}", name(to.0), to.1));
        sim.connect(Connection::delayed(delay).capacity(capacity), &from, &to).unwrap();
    }
    for at in random.shuffled(plan.fifos.len()) {
        let FifoPlan { id, writer, reader, depth, stages } = plan.fifos[at];
        let from = format!("{}.write{}", name(writer.0), writer.1);
        let to = format!("{}.read{}", name(reader.0), reader.1);
        sim.add_fifo(Fifo::new(id).depth(depth).stages(stages), &from, &to).unwrap();
    }
    sim
}

fn assert_equal(sim: &Simulation, expected: &Interpreter, plan: &Plan) {
    let seen = sim.inspect().unwrap();
    assert_eq!(seen.batches(), u128::from(expected.batches));
    assert_eq!(seen.last_committed().to_ratio(), expected.last);
    for domain in 0..plan.clocks.len() {
        assert_eq!(seen.domain_cycles(&format!("d{domain}")), expected.cycles(domain));
    }
    let order: Vec<&str> =
        expected.order.iter().flatten().map(|&unit| plan.units[unit].name.as_str()).collect();
    assert_eq!(seen.units().collect::<Vec<_>>(), order);
    for (unit, node) in plan.units.iter().zip(&expected.nodes) {
        let found = &seen.unit::<NodeUnit>(&unit.name).unwrap().node.log;
        let differs = found.iter().zip(&node.log).position(|(found, expected)| found != expected);
        assert_eq!(differs.map(|at| (found[at], node.log[at])), None, "unit {}", unit.name);
        assert_eq!(found.len(), node.log.len(), "unit {}", unit.name);
    }
    let name = |(unit, port): (usize, usize), kind| format!("{}.{kind}{port}", plan.units[unit].name);
    let mut links: Vec<_> = plan
        .links
        .iter()
        .enumerate()
        .map(|(at, link)| (name(link.from, "out"), name(link.to, "in"), expected.link(at)))
        .collect();
    let mut found: Vec<_> = seen
        .connections()
        .into_iter()
        .map(|link| (link.from, link.to, [link.held, link.sends, link.refusals, link.receives]))
        .collect();
    links.sort();
    found.sort();
    assert_eq!(found, links);
    for (at, plan) in plan.fifos.iter().enumerate() {
        let (state, (circuit, refusals)) = (seen.fifo(plan.id).unwrap(), expected.fifo(at));
        let found = (state.writes, state.reads, state.full, state.empty, state.output, state.drained);
        let expected =
            (circuit.written, circuit.read, circuit.full, circuit.empty, circuit.output, circuit.drained());
        assert_eq!(found, expected, "FIFO {}", plan.id);
        assert_eq!(seen.fifo_refusals(plan.id), Some(*refusals), "FIFO {}", plan.id);
    }
}

/// The lines of every domain's text log, comments left out.
fn assert_logs(dir: &Path, expected: &Interpreter, plan: &Plan) {
    let (ranks, mut ordinals) = (expected.ranks(), vec![0u64; plan.units.len()]);
    for domain in 0..plan.clocks.len() {
        let path = dir.join(format!("text-domain-d{domain}.log"));
        if expected.cycles(domain).is_none() {
            assert!(!path.exists(), "a domain without units has no log");
            continue;
        }
        let text = std::fs::read_to_string(path).unwrap();
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        for (at, event) in expected.log(domain).iter().enumerate() {
            let ordinal = ordinals[event.unit];
            ordinals[event.unit] += 1;
            let (id, e) = (ranks[event.unit] + 1, event);
            let line = format!(
                "{}\t{id}\t{}\t{}\t{}\t{}\t{}\t{ordinal}",
                e.cycle, e.kind, e.phase, e.transaction, e.fifo, e.value
            );
            assert_eq!(lines.next(), Some(line.as_str()), "domain d{domain}, event {at}");
        }
        assert_eq!(lines.next(), None, "domain d{domain}");
    }
}

fn check(plan: &Plan, seed: u64, batches: u64) {
    let mut expected = Interpreter::new(plan);
    let domains = 0..plan.clocks.len();
    let after_each: Vec<_> = (0..batches)
        .map(|_| {
            expected.batch();
            let cycles: Vec<Option<u64>> = domains.clone().map(|domain| expected.cycles(domain)).collect();
            (expected.last.clone(), cycles)
        })
        .collect();
    let mut random = Random(seed ^ 0x5a5a);
    // In one call, then in calls of random lengths, recorded.
    let mut sim = simulation(plan, &mut random);
    sim.run_batches(batches).unwrap();
    assert_equal(&sim, &expected, plan);

    let dir = tempfile::tempdir().unwrap();
    let mut sim = simulation(plan, &mut random);
    sim.record(RecordingOptions::new(&dir.path().join("run"), "random").perfetto(false)).unwrap();
    let mut left = batches;
    while left > 0 {
        let most = [2, 30, 700][random.below(3)];
        let size = 1 + random.below(most) as u64;
        sim.run_batches(size.min(left)).unwrap();
        left -= size.min(left);
        let seen = sim.inspect().unwrap();
        let found: Vec<Option<u64>> =
            domains.clone().map(|domain| seen.domain_cycles(&format!("d{domain}"))).collect();
        assert_eq!((seen.last_committed().to_ratio(), found), after_each[(batches - left - 1) as usize]);
    }
    assert_equal(&sim, &expected, plan);
    sim.finish().unwrap();
    assert_logs(&dir.path().join("run"), &expected, plan);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn awake_graphs_equal_the_interpreter(seed: u64, units in 2usize..=40, domains in 1usize..=12) {
        check(&plan(seed, units, domains, Drowsiness::Never), seed, 400);
    }

    #[test]
    fn drowsy_graphs_equal_the_interpreter(seed: u64, units in 2usize..=40, domains in 1usize..=12) {
        check(&plan(seed, units, domains, Drowsiness::Sometimes), seed, 600);
    }

    /// Small graphs that mostly sleep have stretches worth skipping.
    #[test]
    fn sleepy_graphs_equal_the_interpreter(seed: u64, units in 2usize..=6, domains in 1usize..=5) {
        check(&plan(seed, units, domains, Drowsiness::Mostly), seed, 2500);
    }
}
