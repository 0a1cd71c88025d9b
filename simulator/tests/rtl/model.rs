//! Builds a Verilated model of many FIFOs and runs it.
//!
//! Build products stay in cargo's folder for test files. Verilator and make rebuild what changed,
//! so sources are written only where their text differs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::{Case, Fault, Instant, Pattern, Seen};

const FIFO: &str = include_str!("async_fifo.sv");
const SYNCHRONIZER: &str = include_str!("synchronizer.sv");
const TWINS: &str = include_str!("twins.sv");
const TESTBENCH: &str = include_str!("testbench.cpp");

/// One FIFO of a model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instance {
    pub(crate) depth: u32,
    pub(crate) stages: u32,
    /// Index of the fault in its RTL.
    pub(crate) fault: Option<usize>,
}

impl Instance {
    pub(crate) fn faultless(depth: u32, stages: u32) -> Self {
        Self { depth, stages, fault: None }
    }
}

/// A built model.
pub(crate) struct Model {
    program: PathBuf,
    fifos: usize,
}

/// What Verilator at `program` says of itself.
pub(crate) fn version_of(program: &str) -> Result<String, String> {
    let missing = |error| {
        format!(
            "cannot run `{program}`: {error}; the RTL twin needs Verilator 5 (Debian package `verilator`, \
             with g++ and make: apt-get install -y verilator g++ make)"
        )
    };
    let output = Command::new(program).arg("--version").output().map_err(missing)?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The text of `output`, if the command succeeded.
fn checked(what: &str, output: Output) -> Vec<u8> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{what} failed, {}:\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    output.stdout
}

fn write_if_changed(path: &Path, text: &str) {
    if fs::read(path).ok().as_deref() != Some(text.as_bytes()) {
        fs::write(path, text).expect("the folder for build products can be written");
    }
}

/// Both modules with a fault, under names of their own.
fn with_fault(index: usize, fault: &Fault) -> String {
    let right = format!("{FIFO}\n{SYNCHRONIZER}");
    let places = right.matches(fault.right).count();
    assert!(places == 1, "`{}`: `{}` is in the RTL {places} times, expected once", fault.name, fault.right);
    right
        .replace(fault.right, fault.wrong)
        .replace("async_fifo", &format!("async_fifo_{index}"))
        .replace("synchronizer", &format!("synchronizer_{index}"))
}

impl Model {
    /// Builds a model of `instances`, or finds it built.
    pub(crate) fn build(name: &str, instances: &[Instance], faults: &[Fault]) -> Self {
        version_of("verilator").unwrap_or_else(|error| panic!("{error}"));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rtl").join(name);
        fs::create_dir_all(&folder).expect("the folder for build products can be made");
        // Other processes that build the same model wait here.
        let lock = fs::File::create(folder.join("lock")).expect("the lock can be made");
        lock.lock().expect("the folder can be locked");

        let mut sources =
            vec![("async_fifo.sv", FIFO.to_owned()), ("synchronizer.sv", SYNCHRONIZER.to_owned())];
        if !faults.is_empty() {
            let text = faults.iter().enumerate().map(|(index, fault)| with_fault(index, fault)).collect();
            sources.push(("faults.sv", text));
        }
        sources.extend([("twins.sv", TWINS.to_owned()), ("testbench.cpp", TESTBENCH.to_owned())]);
        for (file, text) in &sources {
            write_if_changed(&folder.join(file), text);
        }
        let lines = instances.iter().enumerate().map(|(index, Instance { depth, stages, fault })| {
            let module = fault.map_or("async_fifo".to_owned(), |fault| format!("async_fifo_{fault}"));
            format!("`FIFO({index}, {module}, {depth}, {stages})\n")
        });
        write_if_changed(&folder.join("instances.svh"), &lines.collect::<String>());

        let mut verilator = Command::new("verilator");
        verilator.args(["--cc", "--exe", "--build", "-j", "2"]);
        // The circuit itself is free of warnings; what its faults leave unused is no matter.
        verilator.arg(if faults.is_empty() { "-Wall" } else { "-Wno-lint" });
        verilator.args(["--top-module", "twins", &format!("-GN={}", instances.len())]);
        verilator.args(["-CFLAGS", "-std=c++17"]);
        verilator.args(["-MAKEFLAGS", "OPT_GLOBAL=-O0 OPT_SLOW=-O0 OPT_FAST=-O1"]);
        verilator.arg("--Mdir").arg(&folder).arg(format!("-I{}", folder.display()));
        verilator.args(sources.iter().map(|(file, _)| folder.join(file)));
        let output = verilator.output().expect("verilator ran before");
        checked("verilator", output);
        Self { program: folder.join("Vtwins"), fifos: instances.len() }
    }

    /// Runs all FIFOs of the model.
    pub(crate) fn run(&self, case: &Case) -> Vec<Instant> {
        let mut command = Command::new(&self.program);
        command.arg(format!("{}000000", case.write_mhz)).arg(format!("{}000000", case.read_mhz));
        command.arg(format!("{}000", case.read_phase_ps));
        command.arg(match case.pattern {
            Pattern::Continuous => "continuous",
            Pattern::Burst => "burst",
            Pattern::Random => "random",
            Pattern::Apart => "apart",
        });
        let output = command.arg(case.batches.to_string()).output().expect("the built model can be run");
        let bytes = checked("the model", output);
        let instants = bytes.chunks_exact(1 + 9 * self.fifos);
        assert!(instants.remainder().is_empty(), "the model's output ends within an instant");
        instants.map(instant).collect()
    }
}

/// One instant as the testbench writes it.
fn instant(bytes: &[u8]) -> Instant {
    let fifos = bytes[1..].chunks_exact(9).map(|fifo| {
        let bit = |at: u8| fifo[0] >> at & 1 == 1;
        let taken = u64::from_le_bytes(fifo[1..].try_into().expect("nine bytes less one"));
        Seen {
            written: bit(0),
            read: bit(1),
            taken: (taken != 0).then_some(taken),
            full: bit(2),
            empty: bit(3),
            valid: bit(4),
        }
    });
    Instant { write_edge: bytes[0] & 1 != 0, read_edge: bytes[0] & 2 != 0, fifos: fifos.collect() }
}
