//! Machines: what their events may say, and what is refused.

use clockweave_model::{
    ClockDomain, KindTable, MachineEntry, MachineJob, MachineThread, Phase, SchedKind, Seconds,
};
use clockweave_recorder::{
    ArgsEncoding, Compression, RecordError, Recorder, RecorderBuilder, RunTotals, View,
};

fn machine(unit: &str, cpus: u32) -> MachineEntry {
    MachineEntry {
        unit: unit.into(),
        cpus,
        slice_ns: 3,
        quantum_ns: 1,
        latency_ns: 2,
        section_ns: 0,
        patience_ns: 9,
        steady: false,
        jobs: vec![MachineJob { name: "job".into(), weight: 1 }],
        threads: (0..3).map(|_| MachineThread { name: "it".into(), job: 0, cpus: vec![0] }).collect(),
    }
}

fn builder(dir: &std::path::Path) -> RecorderBuilder {
    let mut builder = Recorder::builder(dir);
    let domain = ClockDomain::new(1, "ns", "1GHz".parse().unwrap(), Seconds::ZERO).unwrap();
    builder.domain(&domain).unwrap();
    builder.kinds(KindTable::new(SchedKind::ALL.map(SchedKind::name)).unwrap());
    builder
}

/// Any value of any kind is taken, in every form of the trace: logs of others say what they like.
#[test]
fn whatever_events_say_nothing_breaks() {
    let root = tempfile::tempdir().unwrap();
    for (number, (args, view)) in [
        (ArgsEncoding::Debug, View::Events),
        (ArgsEncoding::Annotations, View::Events),
        (ArgsEncoding::Debug, View::Full),
    ]
    .into_iter()
    .enumerate()
    {
        let mut builder = builder(&root.path().join(number.to_string()));
        builder.args(args).view(view).compression(Compression::None).machine(machine("m", 2));
        let unit = builder.add_stream(1, 1, "m").unwrap();
        let kinds = KindTable::new(SchedKind::ALL.map(SchedKind::name)).unwrap();
        let mut recorder = builder.start_serial().unwrap();
        let mut state = 1_u64;
        for cycle in 0..4000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let kind = SchedKind::ALL[(state >> 33) as usize % SchedKind::ALL.len()];
            // Every other value is small, so that what it names is there now and then.
            let value = if cycle % 2 == 0 { state } else { state >> 33 & 0x1_0000_0c01 };
            recorder.record(unit, cycle, kinds.id(kind.name()).unwrap(), 0, value, 0, Phase::Evaluate);
            recorder.end_instant(cycle as i64).unwrap();
        }
        assert_eq!(recorder.close(RunTotals::default()).unwrap().events, 4000);
    }
}

#[test]
fn machines_that_do_not_fit_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let refused = |change: &dyn Fn(&mut RecorderBuilder)| {
        let mut builder = builder(&root.path().join("run"));
        builder.add_stream(1, 1, "m").unwrap();
        change(&mut builder);
        builder.start_serial().err().unwrap()
    };
    let none = |error: RecordError| assert!(matches!(error, RecordError::BadMachine { .. }), "{error}");
    none(refused(&|builder| {
        builder.machine(machine("nobody", 1));
    }));
    none(refused(&|builder| {
        builder.machine(machine("m", 1)).machine(machine("m", 1));
    }));
    none(refused(&|builder| {
        builder.machine(MachineEntry { jobs: vec![], ..machine("m", 1) });
    }));
    none(refused(&|builder| {
        builder.machine(machine("m", 0));
    }));
    let option = |error: RecordError| match error {
        RecordError::BadOption { option, .. } => option,
        other => panic!("{other}"),
    };
    let many = refused(&|builder| {
        builder.machine(machine("m", 63));
    });
    let cut = refused(&|builder| {
        builder.machine(machine("m", 1)).rotate_events(Some(9));
    });
    let lossy = refused(&|builder| {
        builder.machine(machine("m", 1)).lossy(true);
    });
    assert_eq!([many, cut, lossy].map(option), ["cpus", "rotate_events", "lossy"]);
}
