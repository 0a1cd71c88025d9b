//! FIFO laws on a whole run: trace, logs and statistics agree with each other, and only the laws are broken.

use clockweave_validators::report::Status;

use crate::support::mutate::Fixture;
use crate::support::run::{self, Event};
use crate::{holds, only, report};

/// The good run of thirty transactions with the events of one of them changed.
fn changed(transaction: u64, mut change: impl FnMut(&mut Event)) -> Fixture {
    let mut events = run::events(30);
    events.iter_mut().filter(|event| event.transaction == transaction).for_each(&mut change);
    Fixture::of(run::number(events))
}

#[test]
fn an_entry_visible_before_its_synchronizer_is_noticed() {
    // Two stages: the made-up run makes entries visible at the earliest edge.
    let fixture = changed(9, |event| event.cycle -= u64::from(event.kind == 2));
    let message = only(&report(&fixture), "fifo", 1);
    assert!(message.starts_with("FIFO ab: transaction 9: consumer #"), "{message}");
    assert!(message.contains("expected at least 2 edges after the first read edge that follows producer #8"));
}

#[test]
fn entries_that_overtake_each_other_are_noticed() {
    let mut events = run::events(30);
    for event in events.iter_mut().filter(|event| event.kind >= 3) {
        event.transaction = match event.transaction {
            4 => 5,
            5 => 4,
            other => other,
        };
    }
    let message = only(&report(&Fixture::of(run::number(events))), "fifo", 1);
    assert!(
        message.contains("found it after the fifo.read of transaction 5, expected it before"),
        "{message}"
    );
}

#[test]
fn more_entries_than_the_memory_has_are_noticed() {
    let fixture = Fixture::good(30);
    let with_depth = |depth: &str| {
        fixture.edit_text("clock-manifest.json", |text| {
            *text = text.replace("\"depth\":16", &format!("\"depth\":{depth}"));
        });
    };
    holds(&report(&fixture));
    with_depth("4");
    // A write every edge of 914 MHz, a way of at least five edges of 1326 MHz and two of 914 MHz.
    let report = report(&fixture);
    assert_eq!(crate::failed(&report), ["fifo"]);
    assert!(report.check("fifo").unwrap().found > 20);
}

#[test]
fn without_a_table_the_order_is_held_and_the_report_says_so() {
    let fixture = Fixture::good(30);
    fixture.edit_text("clock-manifest.json", |text| {
        let table = text.find(",\n\"clockweave\"").unwrap();
        text.truncate(table);
        text.push('}');
    });
    let report = report(&fixture);
    holds(&report);
    let check = report.check("fifo").unwrap();
    assert_eq!((check.status, check.rows), (Status::Passed, 150));
    assert_eq!(check.note.as_deref(), Some("1 without a row in the manifest's table: only their order"));
}
