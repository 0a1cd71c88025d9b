//! The machine as a unit: beside others it does what it does alone.

use clockweave_simulator::machine::{Choices, Machine, MachineUnit, RECORDED, SCENARIOS, Variant, Workload};
use clockweave_simulator::models::{Joint, Sink, SinkOptions, Source, SourceOptions, Wiring};
use clockweave_simulator::{ExactTime, Fifo, RunError, Simulation, TopologyError};

const MS: u64 = 1_000_000;

fn machine(work: &Workload) -> Machine {
    Machine::new(work.clone(), Variant::Sound).unwrap()
}

fn simulation(work: &Workload, clock: &str) -> Simulation {
    let mut sim = Simulation::new();
    sim.add_clock(1, "ns", clock).unwrap();
    sim.add_clock(2, "io", "3MHz").unwrap();
    let (out, input) = (Wiring::new([("out", Joint::Fifo)]), Wiring::new([("in", Joint::Fifo)]));
    sim.add_unit("ns", "a-sink", |p| {
        Sink::new(p, &input, SinkOptions { sleep: true, ..SinkOptions::default() })
    })
    .unwrap();
    let options = SourceOptions { packets: Some(40), sleep: true, ..SourceOptions::default() };
    sim.add_unit("io", "source", |p| Source::new(p, &out, options)).unwrap();
    sim.add_fifo(Fifo::new(1), "source.out", "a-sink.in").unwrap();
    sim.add_unit("ns", "machine", |p| MachineUnit::new(p, machine(work), Choices::random(5))).unwrap();
    sim
}

/// What every thread got of a bare machine until `until`.
fn alone(mut work: Workload, until: u64) -> Vec<u64> {
    work.until = until;
    let mut machine = machine(&work);
    let mut choices = Choices::random(5);
    while machine.step(&mut choices) {}
    (0..work.threads.len()).map(|thread| machine.service(thread)).collect()
}

fn beside_others(sim: &Simulation, threads: usize) -> Vec<u64> {
    let state = sim.inspect().unwrap();
    assert_eq!(state.unit::<Sink>("a-sink").unwrap().received(), 40);
    let unit = state.unit::<MachineUnit>("machine").unwrap();
    (0..threads).map(|thread| unit.machine().service(thread)).collect()
}

#[test]
fn a_machine_among_units_does_what_it_does_alone_however_the_run_is_cut() {
    let builds = RECORDED.iter().map(|known| known.build).chain(SCENARIOS.iter().map(|known| known.build));
    for build in builds {
        let (work, until) = (build(), 20 * MS);
        let expected = alone(work.clone(), until);
        assert!(expected.iter().sum::<u64>() > 0);
        for cuts in [&[until][..], &[1, 1_000, 1_001, 7 * MS + 3, until]] {
            let mut sim = simulation(&work, "1GHz");
            for cut in cuts {
                sim.run_until_time(ExactTime::from_ns(*cut).unwrap()).unwrap();
            }
            assert_eq!(beside_others(&sim, expected.len()), expected);
        }
    }
}

#[test]
fn a_machine_needs_a_clock_that_counts_nanoseconds() {
    let mut sim = simulation(&(RECORDED[0].build)(), "500MHz");
    let Err(RunError::Topology(TopologyError::MachineClock { unit, domain })) = sim.start() else {
        panic!("a machine whose cycles are 2 ns was taken");
    };
    assert_eq!((unit.as_str(), domain.as_str()), ("machine", "ns"));
}

#[test]
fn workloads_that_do_not_fit_together_are_refused() {
    let refused = |change: &dyn Fn(&mut Workload)| {
        let mut work = (RECORDED[0].build)();
        change(&mut work);
        Machine::new(work, Variant::Sound).unwrap_err()
    };
    assert!(refused(&|work| work.latency = 1).contains("latency below 2 ns"));
    assert!(refused(&|work| work.quantum = u64::MAX).contains("a time of 18446744073709551615 ns"));
    assert!(refused(&|work| work.threads[0].job = 9).contains("job 9 of 3"));
    assert!(refused(&|work| work.threads[1].name = "two words".to_owned()).contains("without spaces"));
    assert!(refused(&|work| work.channels = 0).contains("channel 0 of 0"));
    assert!(refused(&|work| work.devices[0].cpu = 4).contains("CPU 4 of 4"));
}
