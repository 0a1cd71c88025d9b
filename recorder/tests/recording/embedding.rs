//! A crate outside the workspace takes the recorder and the simulator by path, compiles and runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder that this test was compiled into: `TARGET/PROFILE/deps/THIS`.
fn target() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(3).unwrap().to_owned()
}

/// Copies the crate to `to`, with the workspace's own lock file and profiles: so it is built from the very
/// dependencies that are compiled already.
fn copy(to: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let embed = root.join("recorder/tests/embed");
    let manifest = fs::read_to_string(embed.join("Cargo.toml")).unwrap();
    let absolute = manifest.replace("path = \"", &format!("path = \"{}/", embed.display()));
    assert_ne!(absolute, manifest, "the crate names its dependencies by path");
    let workspace = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let profiles = &workspace[workspace.find("[profile.dev]").unwrap()..];
    // A profile may only name packages that there are.
    let profiles: String = profiles
        .split_inclusive("\n\n")
        .filter(|section| !section.contains("[profile.dev.package.perfetto_protos]"))
        .collect();
    // The crates by path are compiled anew, so as fast as can be.
    let quick: String = ["model", "recorder", "runqueue", "simulator"]
        .map(|name| format!("\n[profile.dev.package.clockweave-{name}]\nopt-level = 0\n"))
        .concat();
    fs::create_dir(to.join("src")).unwrap();
    fs::write(to.join("Cargo.toml"), format!("{absolute}\n{profiles}{quick}")).unwrap();
    fs::copy(embed.join("src/main.rs"), to.join("src/main.rs")).unwrap();
    fs::copy(root.join("Cargo.lock"), to.join("Cargo.lock")).unwrap();
}

#[test]
fn a_crate_outside_the_workspace_embeds_recorder_and_simulator() {
    let root = tempfile::tempdir().unwrap();
    let package = root.path().join("embed");
    fs::create_dir(&package).unwrap();
    copy(&package);
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline", "--manifest-path"])
        .arg(package.join("Cargo.toml"))
        .arg("--")
        .arg(root.path().join("out"))
        .env("CARGO_TARGET_DIR", target())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // 50 * 51 * 101 / 6.
    assert_eq!(String::from_utf8_lossy(&output.stdout), "sum 42925\nbeats 100\n");
    let beats = fs::read_to_string(root.path().join("out/heartbeat/text-domain-heart.log")).unwrap();
    assert_eq!(beats.lines().count(), 102);
    for file in ["text-domain-fast.log", "text-domain-slow.log", "timeline.pftrace", "clock-stats.json"] {
        assert!(root.path().join("out/simulation").join(file).exists(), "{file}");
    }
}
