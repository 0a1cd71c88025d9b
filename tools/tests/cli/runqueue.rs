//! `runqueue`.

use std::fs;
use std::path::Path;

use crate::command::{Ran, clockweave, run};

fn sources() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../simulator/runqueue")
}

#[test]
fn seven_mutants_are_red_and_the_eighth_is_equivalent() {
    let ran =
        clockweave().args(["runqueue", "mutants", "--json", "--sources"]).arg(sources()).output().unwrap();
    let report = Ran::from(ran).expect(0, &[]).json();
    let mutations = report["mutations"].as_array().unwrap();
    assert_eq!((mutations.len(), report["caught"].as_bool()), (8, Some(true)));
    for (number, mutation) in (1..).zip(mutations) {
        assert_eq!(mutation["number"], number);
        if number == 8 {
            assert!(mutation["first_red"].is_null() && mutation["division_red"] == true, "{mutation}");
        } else {
            // A control that needs luck to be red is none.
            assert!(mutation["first_red"]["schedule"].as_u64().unwrap() < 10, "{mutation}");
        }
    }
}

/// A test that says green whatever is done does not pass for a proof.
#[test]
fn a_mutation_that_is_not_caught_fails_the_command() {
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("runqueue");
    for folder in ["src/eevdf", "src/queue", "tests/differential/reference"] {
        fs::create_dir_all(copy.join(folder)).unwrap();
        for entry in fs::read_dir(sources().join(folder)).unwrap().map(Result::unwrap) {
            fs::copy(entry.path(), copy.join(folder).join(entry.file_name())).unwrap();
        }
    }
    for entry in fs::read_dir(sources().join("src")).unwrap().map(Result::unwrap) {
        if entry.path().is_file() {
            fs::copy(entry.path(), copy.join("src").join(entry.file_name())).unwrap();
        }
    }
    fs::write(copy.join("tests/differential/main.rs"), "#[test] fn head_and_reference_agree() {}").unwrap();
    let mutants = |only: &str| {
        let args = ["runqueue", "mutants", "--only", only, "--sources"];
        Ran::from(clockweave().args(args).arg(&copy).output().unwrap())
    };
    mutants("2").expect(1, &["expected red, found green  NOT CAUGHT"]);
    fs::write(copy.join("src/affinity.rs"), "").unwrap();
    mutants("4").expect(2, &["src/affinity.rs: found the text of mutation 4 0 times"]);
    run(["runqueue", "mutants", "--sources", "/nowhere"]).expect(2, &["/nowhere: found no src/"]);
}

#[test]
fn a_failing_run_is_stored_shrunk_and_replayed() {
    let place = tempfile::tempdir().unwrap();
    let (long, short) = (place.path().join("long.txt"), place.path().join("short.txt"));
    let explored = clockweave()
        .args(["runqueue", "explore", "idle-race", "--variant", "old-steal", "--output"])
        .arg(&long)
        .output()
        .unwrap();
    let explored = Ran::from(explored).expect(1, &[]);
    assert!(explored.text().contains("context-saved"), "{}", explored.text());
    let on = |command: &str, file: &Path| {
        Ran::from(clockweave().args(["runqueue", command]).arg(file).output().unwrap())
    };
    let shrunk = on("shrink", &long).expect(0, &["choices"]);
    fs::write(&short, shrunk.text()).unwrap();
    assert!(fs::metadata(&short).unwrap().len() < fs::metadata(&long).unwrap().len());
    assert!(on("replay", &short).expect(0, &[]).text().contains("holds"));
    // The same choices break nothing on a sound machine.
    let sound = shrunk.text().replace("# variant: old-steal\n", "");
    fs::write(&short, &sound).unwrap();
    assert!(on("replay", &short).expect(1, &[]).text().contains("BROKEN"));
    fs::write(&short, sound.replace("fail context-saved", "pass")).unwrap();
    on("replay", &short).expect(0, &[]);
    on("shrink", &short).expect(2, &["nothing to shrink"]);
    fs::write(&short, "# scenario: idle-race\n# expect: pass\n1 two\n").unwrap();
    on("replay", &short).expect(2, &["short.txt: line 3: found \"two\""]);
}

#[test]
fn names_that_are_unknown_are_told_with_those_that_are() {
    run(["runqueue", "explore", "nothing"]).expect(2, &["\"nothing\"; there are lost-wake,"]);
    run(["runqueue", "explore", "fairness", "--variant", "odd"]).expect(2, &["sound, lost-wake"]);
}
