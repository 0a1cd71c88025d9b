//! The peers in C++: built with the tools of the system, run as processes of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

const PACKAGES: &str = "needed are the Debian packages g++, make, libsystemc-dev and verilator";

/// Built programs.
pub struct External {
    /// `systemc exact|clock|order BATCHES`, `systemc version`.
    pub systemc: PathBuf,
    /// `Vfifo_bench BATCHES`.
    pub verilator: PathBuf,
    /// What they were built with.
    pub versions: Vec<String>,
}

/// Standard output of a command that succeeds.
pub fn output_of(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run `{program}`; {PACKAGES}"))?;
    ensure!(
        output.status.success(),
        "`{program}` failed, {}; {PACKAGES}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn first_line_of(command: &mut Command) -> Result<String> {
    Ok(output_of(command)?.lines().next().unwrap_or_default().to_owned())
}

impl External {
    /// Builds the programs into `folder`.
    pub fn build(folder: &Path) -> Result<Self> {
        let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
        let rtl = Path::new(env!("CARGO_MANIFEST_DIR")).join("../simulator/tests/rtl");
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let systemc = folder.join("systemc");
        let mut compiler = Command::new("g++");
        compiler.args(["-std=c++17", "-O3", "-Wall", "-Wextra"]);
        compiler.arg(peers.join("systemc.cpp")).arg("-o").arg(&systemc).arg("-lsystemc");
        output_of(&mut compiler)?;

        let mut verilator = Command::new("verilator");
        verilator.args(["--cc", "--exe", "--build", "-j", "2", "-Wall", "-O3", "--x-assign", "fast"]);
        verilator.args(["--x-initial", "fast", "--noassert", "--top-module", "fifo_bench"]);
        verilator.arg("-CFLAGS").arg(format!("-std=c++17 -O3 -I{}", peers.display()));
        verilator.args(["-MAKEFLAGS", "OPT_FAST=-O3 OPT_GLOBAL=-O3"]);
        verilator.arg("--Mdir").arg(folder.join("verilator"));
        verilator.args(["async_fifo.sv", "synchronizer.sv"].map(|file| rtl.join(file)));
        verilator.args(["fifo_bench.sv", "verilator.cpp"].map(|file| peers.join(file)));
        output_of(&mut verilator)?;

        let versions = vec![
            first_line_of(Command::new("g++").arg("--version"))?,
            first_line_of(Command::new("verilator").arg("--version"))?,
            format!("SystemC {}", first_line_of(Command::new(&systemc).arg("version"))?),
        ];
        Ok(Self { systemc, verilator: folder.join("verilator/Vfifo_bench"), versions })
    }

    /// The first batch, from 0, at which the edges of SystemC's clocks are in another order than those
    /// of the exact ones.
    pub fn first_misordered(&self, batches: u64) -> Result<Option<u64>> {
        let text = output_of(Command::new(&self.systemc).arg("order").arg(batches.to_string()))?;
        let mut found = text.bytes();
        let (mut batch, mut first) = (0, None);
        crate::workload::order(&crate::workload::FIFO_TICKS, batches, |due| {
            let exact = match due {
                [0] => b'w',
                [1] => b'r',
                _ => b'b',
            };
            if found.next() != Some(exact) && first.is_none() {
                first = Some(batch);
            }
            batch += 1;
        });
        Ok(first)
    }
}
