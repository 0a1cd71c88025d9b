//! The JSON schemas in the documentation and the files written agree, key by key.

use std::path::Path;

use clockweave_model::{ExactTime, FifoEntry, KindId, MachineEntry, MachineJob, MachineThread, Phase};
use clockweave_recorder::{MANIFEST_FILE, RunTotals, STATS_FILE};
use serde_json::Value;

use crate::two_clocks;

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn schema(name: &str) -> Value {
    json(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schemas").join(name))
}

/// Checks `value` against the part of JSON Schema that the two files use.
fn check(root: &Value, schema: &Value, value: &Value, at: &str) {
    if let Some(reference) = schema["$ref"].as_str() {
        return check(root, root.pointer(&reference[1..]).unwrap(), value, at);
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().map(|name| name.as_str().unwrap()).collect(),
        _ => vec![],
    };
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if !number.is_f64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    assert!(types.is_empty() || types.contains(&found), "{at}: {found}");
    if let Some(expected) = schema.get("const") {
        assert_eq!(value, expected, "{at}");
    }
    if let Some(expected) = schema["enum"].as_array() {
        assert!(expected.contains(value), "{at}");
    }
    if let (Some(least), Some(value)) = (schema["minimum"].as_u64(), value.as_u64()) {
        assert!(value >= least, "{at}");
    }
    for (at_item, item) in value.as_array().into_iter().flatten().enumerate() {
        check(root, &schema["items"], item, &format!("{at}[{at_item}]"));
    }
    for key in schema["required"].as_array().into_iter().flatten().filter(|_| value.is_object()) {
        assert!(value.get(key.as_str().unwrap()).is_some(), "{at}: {key} is missing");
    }
    for (key, member) in value.as_object().into_iter().flatten() {
        let described = schema["properties"].get(key).or(schema.get("additionalProperties"));
        let described = described.unwrap_or_else(|| panic!("{at}: `{key}` is not described"));
        check(root, described, member, &format!("{at}.{key}"));
    }
}

#[test]
fn written_files_are_as_the_schemas_describe() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = two_clocks::builder(dir.path());
    builder.configure("batches", "3");
    builder.fifo(FifoEntry {
        id: 1,
        name: "f".into(),
        depth: 2,
        stages: 2,
        writer: "u".into(),
        reader: "v".into(),
    });
    builder.machine(MachineEntry {
        unit: "u".into(),
        cpus: 1,
        slice_ns: 3,
        quantum_ns: 1,
        latency_ns: 2,
        section_ns: 0,
        patience_ns: 9,
        steady: true,
        jobs: vec![MachineJob { name: "j".into(), weight: 1 }],
        threads: vec![MachineThread { name: "t".into(), job: 0, cpus: vec![0] }],
    });
    let unit = builder.add_stream(1, 1, "u").unwrap();
    builder.add_stream(2, 2, "v").unwrap();
    let mut recorder = builder.start_serial().unwrap();
    recorder.record(unit, 0, KindId::FIFO_WRITE, 1, 0, 1, Phase::Commit);
    recorder.end_instant(0).unwrap();
    let last_committed = Some(ExactTime::from_ns(3).unwrap());
    recorder.close(RunTotals { batches: 3, last_committed, ..RunTotals::default() }).unwrap();
    for (name, file) in
        [("clock-manifest.schema.json", MANIFEST_FILE), ("clock-stats.schema.json", STATS_FILE)]
    {
        let schema = schema(name);
        check(&schema, &schema, &json(&dir.path().join(file)), file);
    }
}
