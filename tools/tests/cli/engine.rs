//! `clockweave engine`, without and with an engine.

use std::fs;
use std::path::Path;

use crate::command::{Ran, clockweave, names};

fn engine(folder: &Path, args: &[&str]) -> Ran {
    let mut command = clockweave();
    command.arg("engine").args(args).env("CLOCKWEAVE_ENGINE_DIR", folder);
    command.output().unwrap().into()
}

#[test]
fn a_missing_engine_is_the_environments_fault_and_says_what_to_do() {
    let place = tempfile::tempdir().unwrap();
    let hint = ["run `clockweave engine install`"];
    let ran = engine(place.path(), &["status"]).expect(3, &hint);
    assert!(ran.text().contains("state     not usable"));
    let report = engine(place.path(), &["status", "--json"]).expect(3, &hint).json();
    assert_eq!((&report["report"], &report["version"]), (&"engine status".into(), &1.into()));
    assert_eq!(report["usable"], false);
    assert_eq!(engine(place.path(), &["path"]).expect(3, &hint).text(), "");
    let mut validate = clockweave();
    validate.args(["validate", "any.pftrace"]).env("CLOCKWEAVE_ENGINE_DIR", place.path());
    Ran::from(validate.output().unwrap()).expect(3, &hint);
}

#[test]
fn a_file_that_is_no_package_installs_nothing() {
    let place = tempfile::tempdir().unwrap();
    let (folder, wheel) = (place.path().join("engine"), place.path().join("a.whl"));
    fs::write(&wheel, "no archive").unwrap();
    engine(&folder, &["install", "--from", wheel.to_str().unwrap()]).expect(2, &["a.whl"]);
    engine(&folder, &["install", "--from", "/nowhere/b.whl"]).expect(2, &["/nowhere/b.whl"]);
    assert_eq!(names(&folder), Vec::<String>::new());
}

#[test]
fn the_installed_engine_is_shown_and_located() {
    let status = Ran::from(clockweave().args(["engine", "status"]).output().unwrap()).expect(0, &[]);
    assert!(status.text().contains("state     usable"), "{}", status.text());
    let path = Ran::from(clockweave().args(["engine", "path"]).output().unwrap()).expect(0, &[]);
    assert!(Path::new(path.text().trim_end()).is_dir());
    assert!(status.text().contains(path.text().trim_end()));
    // What is there is not fetched again.
    let again =
        Ran::from(clockweave().args(["engine", "install", "--json"]).output().unwrap()).expect(0, &[]);
    assert_eq!(again.json()["changed"], false);
}

#[cfg(unix)]
#[test]
fn status_shows_the_native_engine_too() {
    let place = tempfile::tempdir().unwrap();
    let program = crate::validate_many::shell(place.path(), "");
    let status = |args: &[&str], named: &Path, package: Option<&Path>| {
        let mut command = clockweave();
        command.args(["engine", "status"]).args(args).env("CLOCKWEAVE_TRACE_PROCESSOR", named);
        if let Some(package) = package {
            command.env("CLOCKWEAVE_ENGINE_DIR", package);
        }
        Ran::from(command.output().unwrap())
    };
    let shown = status(&[], &program, None).expect(0, &[]);
    let lines = format!("native    {}\nversion   ", program.display());
    assert!(shown.text().contains(&lines) && shown.text().contains("v52.0"), "{}", shown.text());
    let report = status(&["--json"], &program, None).expect(0, &[]).json();
    assert_eq!(report["native"]["program"], program.to_str().unwrap());
    assert_eq!((&report["native"]["usable"], &report["usable"]), (&true.into(), &true.into()));
    assert!(report["native"]["version"].as_str().unwrap().contains("v52.0"));
    // The one in use decides.
    let missing = place.path().join("nothing");
    let broken = status(&["--json"], &missing, None).expect(3, &["nothing: No such file"]).json();
    assert_eq!((&broken["native"]["usable"], &broken["usable"]), (&false.into(), &true.into()));
    status(&["--trace-processor", missing.to_str().unwrap()], &program, None).expect(3, &["nothing"]);
    assert_eq!(
        status(&["--json"], Path::new(""), None).expect(0, &[]).json()["native"],
        serde_json::Value::Null
    );
    // It speaks for itself, without the package.
    let own = place.path().join("own");
    fs::write(&own, "#!/bin/sh\necho no\n").unwrap();
    let alone = status(&["--json"], &own, Some(place.path())).expect(3, &[]).json();
    assert_eq!((&alone["native"]["usable"], &alone["usable"]), (&false.into(), &false.into()));
}
