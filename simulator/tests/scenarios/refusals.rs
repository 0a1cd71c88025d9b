//! Every refusal names the place, what was found and what is expected.

use clockweave_simulator::scenario::Scenario;

const GOOD: &str = r#"run_id = "good"

[domains.sm]
id = 1
frequency = "914MHz"

[domains.lts]
id = 2
period = "1ns"

[units.producer]
model = "source"
domain = "sm"

[units.mid]
model = "forwarder"
domain = "sm"

[units.consumer]
model = "sink"
domain = "lts"

[[connections]]
from = "producer.out"
to = "mid.in"

[fifos.1]
from = "mid.out"
to = "consumer.in"
depth = 4
stages = 2

[record]
text = false

[run]
batches = 10
"#;

fn refusal(text: &str) -> String {
    match Scenario::parse(text, "s.toml") {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_base_of_these_tests_is_accepted() {
    Scenario::parse(GOOD, "s.toml").unwrap().build(None).unwrap();
}

/// Replaces one line of the good scenario and gives the error.
fn edited(line: &str, replacement: &str) -> String {
    let (line, replacement) = (format!("{line}\n"), format!("{replacement}\n"));
    assert_eq!(GOOD.matches(&line).count(), 1, "{line}");
    refusal(&GOOD.replace(&line, &replacement))
}

macro_rules! refusals {
    ($($name:ident: $line:literal => $replacement:literal, $error:literal;)*) => {
        $(
            #[test]
            fn $name() {
                assert_eq!(edited($line, $replacement), concat!("s.toml:", $error));
            }
        )*
    };
}

refusals! {
    no_toml: "id = 1" => "id 1", "4:4: key with no value, expected `=`";
    a_table_twice: "[domains.lts]" => "[domains.sm]", "7:10: duplicate key";
    unknown_top_key: "[run]" => "[runs]", "36:2: unknown key `runs` in the scenario; did you mean `run`? expected one of `run_id`, `generate`, `default_frequency`, `domains`, `units`, `fifos`, `connections`, `record`, `run`";
    bad_run_id: "run_id = \"good\"" => "run_id = \"a/b\"", "1:10: `run_id` of the scenario is \"a/b\"; expected 1 to 128 ASCII letters, digits, `.`, `_` or `-`, and neither `.` nor `..`";
    no_run_id: "run_id = \"good\"" => "", "1:1: the scenario has no `run_id`; expected a name for the run";
    run_id_of_another_type: "run_id = \"good\"" => "run_id = 5", "1:10: `run_id` of the scenario is 5; expected a name for the run";
    domain_key: "frequency = \"914MHz\"" => "frequncy = \"914MHz\"", "5:1: unknown key `frequncy` in domain `sm`; did you mean `frequency`? expected one of `id`, `frequency`, `period`, `phase`";
    domain_without_clock: "frequency = \"914MHz\"" => "", "3:10: domain `sm` has no `frequency`; expected a frequency, as in \"914MHz\", \"1.326GHz\" or \"5/3 Hz\", or `period`";
    domain_with_two_clocks: "frequency = \"914MHz\"" => "frequency = \"914MHz\"\nperiod = \"1ns\"", "6:10: `period` of domain `sm` is \"1ns\"; expected either `frequency` or `period`, not both";
    domain_id_zero: "id = 1" => "id = 0", "4:6: `id` of domain `sm` is 0; expected a whole number from 1 to 4294967294";
    domain_id_reserved: "id = 1" => "id = 0xFFFFFFFF", "4:6: `id` of domain `sm` is 0xFFFFFFFF; expected a whole number from 1 to 4294967294";
    domain_id_text: "id = 1" => "id = \"1\"", "4:6: `id` of domain `sm` is \"1\"; expected a whole number from 1 to 4294967294";
    domain_id_missing: "id = 1" => "", "3:10: domain `sm` has no `id`; expected a whole number from 1 to 4294967294";
    domain_id_twice: "id = 2" => "id = 1", "7:10: domain id 1 is used twice, by `sm` and `lts`";
    domain_name_twice: "[domains.lts]" => "[domains.SM]", "7:10: the domain name `SM` is used twice (names differ by more than case), by id 1 and id 2";
    domain_name_reserved: "[domains.lts]" => "[domains.Default]", "7:10: the domain name `Default` is reserved for the implicit domain";
    domain_name_bad: "[domains.lts]" => "[domains.\"l/s\"]", "7:10: `l/s` is no domain name: expected 1 to 128 ASCII letters, digits, `.`, `_` or `-`, and neither `.` nor `..`";
    frequency_zero: "frequency = \"914MHz\"" => "frequency = \"0Hz\"", "5:13: `frequency` of domain `sm`: the frequency is zero; expected more than zero";
    frequency_unreadable: "frequency = \"914MHz\"" => "frequency = \"914 mhz\"", "5:13: `frequency` of domain `sm`: `914 mhz` is not a frequency: expected a number and a unit, as in `914MHz`, `1.326GHz` or `5/3 Hz` (units Hz, kHz, MHz, GHz, THz)";
    frequency_number: "frequency = \"914MHz\"" => "frequency = 914.0", "5:13: `frequency` of domain `sm` is the number with a fraction 914.0; expected a frequency, as in \"914MHz\", \"1.326GHz\" or \"5/3 Hz\"";
    period_zero: "period = \"1ns\"" => "period = \"0\"", "7:10: domain `lts`: the period is zero; expected more than zero";
    phase_negative: "period = \"1ns\"" => "period = \"1ns\"\nphase = \"-1ps\"", "10:9: `phase` of domain `lts`: `-1ps` is negative; expected zero or more";
    unit_without_model: "model = \"sink\"" => "", "19:8: unit `consumer` has no `model`; expected the name of a model: one of \"arbiter\", \"compute\", \"forwarder\", \"memory\", \"pipeline\", \"replay\", \"router\", \"runqueue\", \"sink\", \"source\"";
    unit_model_key: "model = \"sink\"" => "mdoel = \"sink\"", "20:1: unknown key `mdoel` in unit `consumer`; did you mean `model`? expected one of `model`, `domain`";
    unit_model_unknown: "model = \"sink\"" => "model = \"snk\"", "20:9: there is no model `snk`; did you mean `sink`? expected one of `arbiter`, `compute`, `forwarder`, `memory`, `pipeline`, `replay`, `router`, `runqueue`, `sink`, `source`";
    unit_model_number: "model = \"sink\"" => "model = 1", "20:9: `model` of unit `consumer` is 1; expected the name of a model: one of \"arbiter\", \"compute\", \"forwarder\", \"memory\", \"pipeline\", \"replay\", \"router\", \"runqueue\", \"sink\", \"source\"";
    unit_parameter: "model = \"forwarder\"" => "model = \"forwarder\"\nevry = 3", "17:1: unknown key `evry` in unit `mid` (model `forwarder`); did you mean `every`? expected one of `model`, `domain`, `every`, `work`";
    unit_parameter_zero: "model = \"forwarder\"" => "model = \"forwarder\"\nevery = 0", "17:9: `every` of unit `mid` (model `forwarder`) is 0; expected a whole number from 1 on";
    unit_parameter_negative: "model = \"forwarder\"" => "model = \"forwarder\"\nevery = -1", "17:9: `every` of unit `mid` (model `forwarder`) is -1; expected a whole number from 1 on";
    unit_parameter_boolean: "model = \"sink\"" => "model = \"sink\"\nsleep = 1", "21:9: `sleep` of unit `consumer` (model `sink`) is 1; expected true or false";
    unit_domain_unknown: "domain = \"lts\"" => "domain = \"ltss\"", "21:10: there is no domain `ltss`; did you mean `lts`? expected one of `sm`, `lts`";
    unit_domain_missing: "domain = \"lts\"" => "", "19:8: unit `consumer` has no `domain`; expected one of \"sm\", \"lts\"";
    unit_domain_number: "domain = \"lts\"" => "domain = 2", "21:10: `domain` of unit `consumer` is 2; expected the name of a domain";
    unit_name_unprintable: "[units.mid]" => "[units.\"\\u0007\"]", "25:6: there is no unit `mid`; expected one of `\\u{7}`, `consumer`, `producer`";
    end_without_port: "from = \"mid.out\"" => "from = \"mid\"", "28:8: `from` of FIFO 1 is \"mid\"; expected UNIT.PORT, as in \"producer.out\"";
    end_missing: "from = \"mid.out\"" => "", "27:8: FIFO 1 has no `from`; expected UNIT.PORT, as in \"producer.out\"";
    end_unit_unknown: "from = \"mid.out\"" => "from = \"midd.out\"", "28:8: there is no unit `midd`; did you mean `mid`? expected one of `consumer`, `mid`, `producer`";
    end_port_unknown: "from = \"mid.out\"" => "from = \"mid.outt\"", "28:8: there is no sending port of unit `mid` (model `forwarder`) `outt`; did you mean `out`? expected `out`";
    end_port_reversed: "to = \"consumer.in\"" => "to = \"producer.out\"", "29:6: `producer.out` is already joined; a port is joined by FIFOs or by connections, not by both";
    end_port_without: "from = \"mid.out\"" => "from = \"consumer.out\"", "28:8: there is no sending port of unit `consumer` (model `sink`) `out`; expected nothing here";
    end_port_numbered: "to = \"consumer.in\"" => "to = \"consumer.in01\"", "29:6: there is no receiving port of unit `consumer` (model `sink`) `in01`; did you mean `in0`? expected one of `in`, `in0`, `in1`, `…`";
    port_unbound: "to = \"mid.in\"" => "to = \"consumer.in0\"", "15:8: `mid.in` (a receiving end) is joined to nothing";
    fifo_id_zero: "[fifos.1]" => "[fifos.0]", "27:8: a FIFO's id is `0`; expected a number from 1 to 4294967295, as in [fifos.1]";
    fifo_id_padded: "[fifos.1]" => "[fifos.01]", "27:8: a FIFO's id is `01`; expected a number from 1 to 4294967295, as in [fifos.1]";
    fifo_id_name: "[fifos.1]" => "[fifos.main]", "27:8: a FIFO's id is `main`; expected a number from 1 to 4294967295, as in [fifos.1]";
    fifo_depth: "depth = 4" => "depth = 6", "30:9: `depth` of FIFO 1 is 6; expected a power of two from 2 to 1073741824";
    fifo_depth_one: "depth = 4" => "depth = 1", "30:9: `depth` of FIFO 1 is 1; expected a power of two from 2 to 1073741824";
    fifo_depth_key: "depth = 4" => "dept = 4", "30:1: unknown key `dept` in FIFO 1; did you mean `depth`? expected one of `name`, `depth`, `stages`, `from`, `to`";
    fifo_stages: "stages = 2" => "stages = 65", "31:10: `stages` of FIFO 1 is 65; expected a whole number from 2 to 64";
    fifo_name: "stages = 2" => "name = \"\"", "31:8: `name` of FIFO 1 is \"\"; expected a name of 1 to 128 printable ASCII characters";
    connections_single: "[[connections]]" => "[connections]", "23:1: `connections` of the scenario is a table; expected a list, as in [[connections]]";
    connection_capacity: "to = \"mid.in\"" => "to = \"mid.in\"\ncapacity = 0", "26:12: `capacity` of connection 0 is 0; expected a whole number from 1 to 4294967296";
    connection_across: "domain = \"sm\"\n\n[units.mid]" => "domain = \"lts\"\n\n[units.mid]", "23:1: `producer.out` is in domain `lts` and `mid.in` in `sm`: an ordinary connection joins two units of one domain, also where the clocks are identical; crossing needs a FIFO";
    record_key: "text = false" => "txt = false", "34:1: unknown key `txt` in `record`; did you mean `text`? expected one of `text`, `perfetto`, `compress`, `args`, `view`, `checkpoint_interval`, `rotate_events`, `flush_interval`, `open_records`, `lossy`, `ring_capacity`";
    record_compression: "text = false" => "compress = \"deflate:13\"", "34:12: `compress` of `record` is \"deflate:13\"; expected `none`, `deflate` or `deflate:LEVEL` with a level from 1 (fast) to 12 (small), `zstd` or `zstd:LEVEL` with a level from 1 to 22";
    record_args: "text = false" => "args = \"annotation\"", "34:8: `args` of `record` is \"annotation\"; expected one of \"debug\", \"annotations\" (did you mean \"annotations\"?)";
    record_flush_unit: "text = false" => "flush_interval = 1", "34:18: `flush_interval` of `record`: `1` is not a time: expected a number and a unit, as in `137ps`, `1.5ns` or `1/2000000000 s` (units fs, ps, ns, us, ms, s)";
    record_flush_short: "text = false" => "flush_interval = \"999us\"", "34:18: `flush_interval` of `record` is \"999us\"; expected a host time from \"1ms\" to \"1000s\", or \"0\" to write whole blocks only";
    record_flush_long: "text = false" => "flush_interval = \"1001s\"", "34:18: `flush_interval` of `record` is \"1001s\"; expected a host time from \"1ms\" to \"1000s\", or \"0\" to write whole blocks only";
    record_ring_without_loss: "text = false" => "ring_capacity = 64", "34:17: `ring_capacity` of `record` is 64; expected nothing without `lossy = true`: other runs have no rings";
    record_interval: "text = false" => "checkpoint_interval = 0", "34:23: `checkpoint_interval` of `record` is 0; expected a whole number from 1 on";
    no_limit: "batches = 10" => "", "36:1: `run` has no `batches`; expected a limit, one of `batches` (a number), `time` (as in \"10us\") and `cycles` (as in { sm = 1000 })";
    two_limits: "batches = 10" => "batches = 10\ntime = \"1us\"", "38:8: `time` of `run` is \"1us\"; expected no second limit, but one of `batches` (a number), `time` (as in \"10us\") and `cycles` (as in { sm = 1000 })";
    limit_negative: "batches = 10" => "batches = -1", "37:11: `batches` of `run` is -1; expected a whole number from 0 on";
    limit_too_large: "batches = 10" => "batches = 18446744073709551616", "37:11: `batches` of `run` is 18446744073709551616; expected a whole number from 0 on";
    limit_time: "batches = 10" => "time = \"10\"", "37:8: `time` of `run`: `10` is not a time: expected a number and a unit, as in `137ps`, `1.5ns` or `1/2000000000 s` (units fs, ps, ns, us, ms, s)";
    limit_time_far: "batches = 10" => "time = \"9223372036854775808ns\"", "37:8: `time` of `run` is \"9223372036854775808ns\"; expected less than 2^63 nanoseconds";
    limit_cycles: "batches = 10" => "cycles = 10", "37:10: `cycles` of `run` is 10; expected one domain and a number of its edges, as in { sm = 1000 }";
    limit_cycles_two: "batches = 10" => "cycles = { sm = 1, lts = 2 }", "37:10: `cycles` of `run` is a table; expected one domain and a number of its edges, as in { sm = 1000 }";
    limit_cycles_domain: "batches = 10" => "cycles = { ms = 1 }", "37:12: there is no domain `ms`; did you mean `sm`? expected one of `sm`, `lts`";
}

#[test]
fn a_unit_name_is_printable_ascii() {
    let text = "run_id = \"a\"\n[units.\"\\u0007é\"]\nmodel = \"compute\"\n[run]\nbatches = 1\n";
    assert_eq!(
        refusal(text),
        "s.toml:2:8: `\\u{7}é` is no unit name: expected 1 to 128 printable ASCII characters"
    );
}

/// Columns count characters, not bytes.
#[test]
fn columns_are_characters() {
    let unit = r#"units = { m = { model = "replay", file = "é", fil = 1 } }"#;
    let text = format!("run_id = \"a\"\n{unit}\n[run]\nbatches = 1\n");
    assert!(
        refusal(&text).starts_with("s.toml:2:47: unknown key `fil` in unit `m` (model `replay`); did you")
    );
}

#[test]
fn nothing_is_missing_but_units() {
    assert_eq!(
        refusal("run_id = \"a\"\n[run]\nbatches = 1\n"),
        "s.toml:1:1: the scenario has no `units`; expected a table per unit, as in [units.producer]"
    );
    assert_eq!(
        refusal("run_id = \"a\"\nunits = {}\n[run]\nbatches = 1\n"),
        "s.toml:2:9: the simulation has no units"
    );
    assert_eq!(
        refusal("run_id = \"a\"\n[units.m]\nmodel = \"compute\"\n"),
        "s.toml:1:1: the scenario has no `run`; expected a table with a limit, one of `batches` (a number), \
         `time` (as in \"10us\") and `cycles` (as in { sm = 1000 })"
    );
}

#[test]
fn connections_without_delay_form_no_cycle() {
    let text = r#"run_id = "loop"
[units.a]
model = "forwarder"
[units.b]
model = "forwarder"
[units.c]
model = "source"
[units.d]
model = "sink"
[[connections]]
from = "c.out"
to = "d.in"
delay = 0
[[connections]]
from = "a.out"
to = "b.in"
delay = 0
[[connections]]
from = "b.out"
to = "a.in"
delay = 0
[run]
batches = 1
"#;
    assert_eq!(
        refusal(text),
        "s.toml:14:1: the zero-delay connections form a cycle: a -> b -> a; one of them needs a delay"
    );
    Scenario::parse(&text.replacen("to = \"a.in\"\ndelay = 0", "to = \"a.in\"", 1), "s.toml").unwrap();
}

#[test]
fn one_fifo_per_end_and_one_kind_of_joint_per_port() {
    let fifo = "[fifos.2]\nfrom = \"mid.out\"\nto = \"consumer.in1\"\n\n[record]";
    assert_eq!(
        refusal(&GOOD.replace("[record]", fifo)),
        "s.toml:34:8: `mid.out` is already joined; a FIFO end belongs to one FIFO"
    );
}

#[test]
fn a_default_frequency_is_for_scenarios_without_domains() {
    assert_eq!(
        edited("run_id = \"good\"", "run_id = \"good\"\ndefault_frequency = \"1GHz\""),
        "s.toml:2:21: `default_frequency` of the scenario is \"1GHz\"; expected no such key beside `domains`, \
         which make it useless"
    );
}

#[test]
fn traffic_files_are_read_with_the_scenario() {
    let text = r#"run_id = "replay"
[units.replay]
model = "replay"
file = "missing.csv"
[units.sink]
model = "sink"
[[connections]]
from = "replay.out"
to = "sink.in"
[run]
batches = 1
"#;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("s.toml");
    let refused = |text: &str| {
        let error = Scenario::parse(text, file.to_str().unwrap()).unwrap_err().to_string();
        error.replace(&format!("{}/", dir.path().display()), "")
    };
    let error = refused(text);
    assert!(error.starts_with("s.toml:4:8: traffic file missing.csv: "), "{error}");
    assert!(error.ends_with("; expected a readable file"), "{error}");
    std::fs::write(dir.path().join("missing.csv"), "cycle,payload\n1\n").unwrap();
    assert_eq!(
        refused(text),
        "s.toml:4:8: traffic file missing.csv:2: `1`; expected two whole numbers, cycle and payload"
    );
    assert_eq!(
        refused(&text.replace("file = \"missing.csv\"", "")),
        "s.toml:2:8: unit `replay` (model `replay`) has no `file`; expected the path of a CSV file"
    );
}

#[test]
fn generated_scenarios_have_the_keys_of_their_shape() {
    let with = |generate: &str| refusal(&format!("run_id = \"g\"\n{generate}\n[run]\nbatches = 1\n"));
    for (generate, expected) in [
        ("[generate]", "2:1: `generate` has no `shape`; expected one of \"pairs\", \"ring\", \"fanin\""),
        (
            "[generate]\nshape = \"rings\"",
            "3:9: `shape` of `generate` is \"rings\"; expected one of \"pairs\", \"ring\", \"fanin\" (did you mean \"ring\"?)",
        ),
        (
            "[generate]\nshape = \"ring\"\npairs = 3",
            "4:1: unknown key `pairs` in `generate` (shape \"ring\"); expected one of `shape`, `domains`, `clocks`, `work`, `activity`, `depth`, `stages`, `nodes`, `tokens`",
        ),
        (
            "[generate]\nshape = \"pairs\"\npairs = 0",
            "4:9: `pairs` of `generate` (shape \"pairs\") is 0; expected a whole number from 1 to 524288",
        ),
        (
            "[generate]\nshape = \"pairs\"\npairs = 1024\nlanes = 1025",
            "5:9: `lanes` of `generate` (shape \"pairs\") is 1025; expected a whole number from 1 to 1024",
        ),
        (
            "[generate]\nshape = \"ring\"\ndepth = 4\ntokens = 5",
            "5:10: `tokens` of `generate` (shape \"ring\") is 5; expected a whole number from 0 to 4",
        ),
        (
            "[generate]\nshape = \"fanin\"\nclocks = \"staggerd\"",
            "4:10: `clocks` of `generate` (shape \"fanin\") is \"staggerd\"; expected one of \"staggered\", \"coincident\", \"coprime\" (did you mean \"staggered\"?)",
        ),
        (
            "units = {}\n[generate]\nshape = \"ring\"",
            "2:9: `units` of the scenario is a table; expected no such key beside `generate`, which makes the whole simulation",
        ),
    ] {
        assert_eq!(with(generate), format!("s.toml:{expected}"));
    }
}
