//! The circuit alone, driven at random, equals the reference after every transition.

use clockweave_simulator::circuit::{AsyncFifo, CommitEvents};

use crate::reference::{Effect, Reference};
use crate::traffic::mix;

#[derive(Default)]
struct Log(Vec<Effect>);

impl CommitEvents for Log {
    fn write(&mut self, id: u64) {
        self.0.push(Effect::Write(id));
    }
    fn visible(&mut self, id: u64) {
        self.0.push(Effect::Visible(id));
    }
    fn read(&mut self, id: u64) {
        self.0.push(Effect::Read(id));
    }
    fn output(&mut self, id: u64) {
        self.0.push(Effect::Output(id));
    }
    fn full(&mut self, flag: bool) {
        self.0.push(Effect::Full(flag));
    }
    fn empty(&mut self, flag: bool) {
        self.0.push(Effect::Empty(flag));
    }
}

fn gray(pointer: u64) -> u64 {
    pointer ^ (pointer / 2)
}

fn assert_equal(circuit: &AsyncFifo, reference: &Reference, step: u64) {
    let state = circuit.state();
    let (write_tail, read_tail) = reference.tails();
    let found = [
        state.write_pointer,
        state.read_pointer,
        state.write_gray,
        state.read_gray,
        state.write_tail,
        state.read_tail,
        state.occupancy,
    ];
    let (write, read) = (reference.pointer(reference.written), reference.pointer(reference.read));
    let expected = [
        write,
        read,
        gray(write),
        gray(read),
        gray(reference.pointer(write_tail)),
        gray(reference.pointer(read_tail)),
        reference.occupancy(),
    ];
    assert_eq!(found.map(u64::from), expected, "step {step}");
    let found = (state.full, state.empty, state.output, state.writes, state.reads, state.drained);
    let expected = (
        reference.full,
        reference.empty,
        reference.output,
        reference.written,
        reference.read,
        reference.drained(),
    );
    assert_eq!(found, expected, "step {step}");
}

/// At rest, no edge changes anything.
fn assert_at_rest(circuit: &AsyncFifo, step: u64) {
    for (write_edge, read_edge) in [(true, false), (false, true), (true, true)] {
        let mut later = circuit.clone();
        let mut log = Log::default();
        let commit = later.commit(write_edge, read_edge, &mut log);
        assert_eq!(later.state(), circuit.state(), "step {step}");
        assert!(log.0.is_empty() && !commit.wakes_reader && !commit.wakes_writer, "step {step}");
    }
}

/// Each step offers up to two writes and interleaves a take with up to two requests.
fn random_transitions(depth: u32, stages: u32, steps: u64) {
    let mut circuit = AsyncFifo::new(depth, stages).unwrap();
    let mut reference = Reference::new(depth.into(), stages as usize);
    let (mut id, mut rests, mut fulls) = (1, 0, 0);
    for step in 0..steps {
        let random = mix(step ^ u64::from(depth) << 40 ^ u64::from(stages) << 50);
        // Long phases in which one side is scarce visit full, empty and rest.
        let (write_bias, read_bias) = match step / 512 % 4 {
            0 => (7, 3),
            1 => (3, 7),
            2 => (1, 1),
            _ => (6, 6),
        };
        let (write_edge, read_edge) = (random & 1 != 0, random & 2 != 0);
        if write_edge {
            let offers = if random >> 8 & 7 < write_bias { 1 + (random >> 12 & 1) } else { 0 };
            for _ in 0..offers {
                let accepted = circuit.write(id);
                assert_eq!(accepted, reference.write(id), "step {step}");
                id += u64::from(accepted);
            }
        }
        if read_edge && random >> 16 & 7 < read_bias {
            let takes_at = random >> 20 & 3;
            for turn in 0..3 {
                if turn == takes_at {
                    assert_eq!(circuit.take(), reference.take(), "step {step}");
                }
                if random >> (24 + turn) & 1 != 0 {
                    assert_eq!(circuit.request(), reference.request(), "step {step}");
                }
            }
        }
        let (full, empty) = (reference.full, reference.empty);
        let mut log = Log::default();
        let commit = circuit.commit(write_edge, read_edge, &mut log);
        let effects = reference.commit(write_edge, read_edge);
        assert_eq!(log.0, effects, "step {step}");
        let read = effects.iter().any(|effect| matches!(effect, Effect::Read(_)));
        assert_eq!(commit.wakes_reader, read || (empty && !reference.empty), "step {step}");
        assert_eq!(commit.wakes_writer, full && !reference.full, "step {step}");
        assert_equal(&circuit, &reference, step);
        assert_eq!(circuit.at_rest::<Log>(), reference.at_rest(), "step {step}");
        if circuit.at_rest::<Log>() {
            rests += 1;
            assert_at_rest(&circuit, step);
        }
        fulls += u64::from(reference.full && !full);
    }
    assert!(reference.read > steps / 100 && rests > 0, "{depth} {stages}: {} {rests}", reference.read);
    assert!(fulls > 0, "{depth} {stages}");
}

#[test]
fn random_transitions_of_shallow_circuits_equal_the_reference() {
    for depth in [2, 4] {
        for stages in [2, 3, 5] {
            random_transitions(depth, stages, 100_000);
        }
    }
}

#[test]
fn random_transitions_of_deep_circuits_equal_the_reference() {
    for depth in [16, 64] {
        for stages in [2, 3, 5] {
            random_transitions(depth, stages, 100_000);
        }
    }
}
