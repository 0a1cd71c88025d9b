//! The head decides as the reference does.
//!
//! `clockweave runqueue mutants` runs these tests on mutated copies of the sources and reads the
//! line that begins with `DIFFERENCE`.

mod driver;
mod random;
mod reference;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use driver::Difference;

const SCHEDULES: u64 = 300;
const STEPS: usize = 2_000;

/// The first schedule that differs, whatever the threads' order: numbers are taken ascending, and all
/// below a failing one are finished.
fn first_difference() -> Option<Difference> {
    let next = AtomicU64::new(0);
    let found = Mutex::new(None::<Difference>);
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let schedule = next.fetch_add(1, Ordering::Relaxed);
                    if schedule >= SCHEDULES || found.lock().unwrap().is_some() {
                        return;
                    }
                    if let Err(difference) = driver::run(schedule, STEPS) {
                        let mut found = found.lock().unwrap();
                        if found.as_ref().is_none_or(|other| other.schedule > schedule) {
                            *found = Some(difference);
                        }
                    }
                }
            });
        }
    });
    found.into_inner().unwrap()
}

#[test]
fn head_and_reference_agree() {
    if let Some(Difference { schedule, step, what }) = first_difference() {
        println!("DIFFERENCE schedule={schedule} step={step} {what}");
        panic!("head and reference differ, first in schedule {schedule} at step {step}: {what}");
    }
}
