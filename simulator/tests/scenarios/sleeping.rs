//! Sleep saves ticks and changes nothing else: the records of a run with it are those without.

use std::collections::BTreeMap;
use std::path::Path;

use clockweave_simulator::models::{Sink, Source};
use clockweave_simulator::scenario::Scenario;

/// The text logs of a run, and the ticks of source and sink.
fn records(dir: &Path, source: &str, sink: &str, sleep: bool) -> (BTreeMap<String, Vec<u8>>, (u64, u64)) {
    let text = format!(
        r#"
        run_id = "sleep"
        [domains.sm]
        id = 1
        frequency = "914MHz"
        [domains.lts]
        id = 2
        frequency = "1326MHz"
        phase = "137ps"
        [units.source]
        model = "source"
        domain = "sm"
        sleep = {sleep}
        {source}
        [units.sink]
        model = "sink"
        domain = "lts"
        sleep = {sleep}
        {sink}
        [fifos.1]
        from = "source.out"
        to = "sink.in"
        depth = 4
        [run]
        batches = 4000
        [record]
        perfetto = false
        "#
    );
    let scenario = Scenario::parse(&text, "sleep.toml").unwrap();
    let mut sim = scenario.build(Some(scenario.record().options(dir, scenario.run_id()))).unwrap();
    scenario.run(&mut sim, |_| {}).unwrap();
    sim.finish().unwrap().unwrap();
    let state = sim.inspect().unwrap();
    let ticks =
        (state.unit::<Source>("source").unwrap().ticks(), state.unit::<Sink>("sink").unwrap().ticks());
    let logs = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let logs = logs.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
    let read = |path: std::path::PathBuf| {
        (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap())
    };
    (logs.map(read).collect(), ticks)
}

#[test]
fn sleep_changes_no_record() {
    for (source, sink, sleeps) in [
        ("packets = 50", "", (true, true)),
        ("every = 16", "every = 3", (true, true)),
        ("pattern = \"burst\"\nevery = 2", "pattern = \"random\"", (true, false)),
        ("packets = 100", "pattern = \"burst\"\nevery = 5", (true, true)),
        ("packets = 0", "", (true, true)),
        ("every = 7", "", (true, true)),
    ] {
        let root = tempfile::tempdir().unwrap();
        let (awake, awake_ticks) = records(&root.path().join("awake"), source, sink, false);
        let (asleep, ticks) = records(&root.path().join("asleep"), source, sink, true);
        assert_eq!(awake.len(), 2);
        assert!(awake == asleep, "{source} / {sink}");
        assert_eq!(awake_ticks.0 + awake_ticks.1, 4000);
        assert_eq!((ticks.0 < awake_ticks.0, ticks.1 < awake_ticks.1), sleeps, "{source} / {sink}");
    }
}
