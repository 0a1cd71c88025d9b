//! The tree keeps its shape: which crate may depend on which, where `unsafe` may stand, and how long
//! a file may grow. These read the sources, so they hold for every crate of the workspace.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    let model = Path::new(env!("CARGO_MANIFEST_DIR"));
    model.ancestors().nth(2).expect("the model crate is two folders below the root").to_owned()
}

/// Normal dependencies that one crate of the workspace may have on others.
fn allowed() -> BTreeMap<&'static str, Vec<&'static str>> {
    BTreeMap::from([
        ("clockweave-model", vec![]),
        ("clockweave-recorder", vec!["clockweave-model"]),
        ("clockweave-runqueue", vec![]),
        ("clockweave-simulator", vec!["clockweave-model", "clockweave-recorder", "clockweave-runqueue"]),
        ("clockweave-validators", vec![]),
        (
            "clockweave",
            vec!["clockweave-model", "clockweave-recorder", "clockweave-simulator", "clockweave-validators"],
        ),
    ])
}

/// The sibling crates named in a manifest's `[dependencies]` and `[build-dependencies]`.
fn siblings(manifest: &str) -> Vec<String> {
    let mut section = "";
    let mut found = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if matches!(section, "[dependencies]" | "[build-dependencies]") {
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            if name.starts_with("clockweave") {
                found.push(name.to_owned());
            }
        }
    }
    found
}

fn package_name(manifest: &str) -> &str {
    let line = manifest.lines().find(|line| line.starts_with("name = ")).expect("a package has a name");
    line.trim_start_matches("name = ").trim_matches('"')
}

fn members() -> Vec<PathBuf> {
    let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let line = workspace.lines().find(|line| line.starts_with("members = ")).expect("members on one line");
    line.split('"').skip(1).step_by(2).map(|member| root().join(member)).collect()
}

/// Every Rust source below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn all_sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for crate_folder in ["recorder", "simulator", "tools", "validators"] {
        sources(&root().join(crate_folder), &mut found);
    }
    found.sort();
    found
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string()
}

#[test]
fn crates_depend_only_on_those_below_them() {
    let allowed = allowed();
    for member in members() {
        let manifest = fs::read_to_string(member.join("Cargo.toml")).unwrap();
        let name = package_name(&manifest);
        let allowed = allowed.get(name).unwrap_or_else(|| panic!("{name} is not in the list of crates"));
        for sibling in siblings(&manifest) {
            assert!(allowed.contains(&sibling.as_str()), "{name} must not depend on {sibling}");
        }
    }
}

#[test]
fn one_file_of_the_simulator_names_the_recorder() {
    let naming: Vec<String> = all_sources()
        .iter()
        .filter(|path| shown(path).starts_with("simulator/src/"))
        .filter(|path| fs::read_to_string(path).unwrap().contains("clockweave_recorder"))
        .map(|path| shown(path))
        .collect();
    assert_eq!(naming, ["simulator/src/observe.rs"]);
}

#[test]
fn unsafe_stands_in_the_two_named_modules_only() {
    // Opening a memory map, and loading a cached engine artifact.
    let named = ["tools/src/mapped.rs", "validators/src/engine/artifact.rs"];
    // Built from parts, so that this file does not match.
    let (word, allow) = (format!("{}safe ", "un"), format!("allow({}safe_code", "un"));
    for path in all_sources() {
        let name = shown(&path);
        if named.contains(&name.as_str()) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let mut found = code.filter(|line| {
            line.contains(&format!("{word}{{"))
                || line.contains(&format!("{word}fn"))
                || line.contains(&allow)
        });
        assert_eq!(found.next(), None, "{name}");
    }
}

#[test]
fn files_stay_readable_and_are_named_for_what_they_own() {
    for path in all_sources() {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= 800, "{} has {lines} lines; split it", shown(&path));
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(!["utils", "util", "common", "helpers", "helper", "manager"].contains(&stem.as_str()));
    }
}

#[test]
fn the_check_of_dependencies_sees_an_arrow() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\nclockweave-model.workspace = true\n\
                    [dev-dependencies]\nclockweave-validators.workspace = true\n";
    assert_eq!(siblings(manifest), ["clockweave-model"]);
}
