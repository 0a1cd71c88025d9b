//! `park_wake`: one thread that parks and is woken, on the head and on the reference.
//!
//! Prints nanoseconds and divisions per park and wake, in four shapes, reference and head
//! alternating. Every reading is printed; the last lines are medians, spreads and ratios. An operation
//! is: charge 20 µs, block, pick another thread if there is one, insert with the standing,
//! put back, pick. The arguments are a number of operations and shapes, all four if none is named.
//!
//! ```text
//! cargo run --release -p clockweave-runqueue --features count-divisions --example park_wake [-- N [SHAPE...]]
//! ```

// The reference is test code and has more than is needed here.
#![allow(dead_code)]
// It measures host time.
#![allow(clippy::disallowed_types)]

#[path = "../tests/differential/reference/mod.rs"]
mod reference;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use clockweave_runqueue::{Affinity, Class, CpuMask, Job, RunQueue, Task, UNIT_WEIGHT, division};

const SLICE: u64 = 3_000_000;
const CPUS: usize = 4;
/// The thread that parks.
const PARKS: u64 = 1;

/// Jobs and keys of the threads on this CPU beside the one that parks, and threads of its job elsewhere.
struct Shape {
    name: &'static str,
    others: fn() -> Vec<(u64, u64)>,
    elsewhere: u64,
}

const SHAPES: [Shape; 4] = [
    Shape { name: "lone", others: Vec::new, elsewhere: 0 },
    Shape { name: "two_jobs", others: || vec![(2, 2)], elsewhere: 0 },
    // Two of three runnable threads are here: the group's weight is no power of two.
    Shape { name: "split_job", others: || vec![(1, 2)], elsewhere: 1 },
    Shape { name: "64_jobs", others: || (2..65).map(|job| (job, job)).collect(), elsewhere: 0 },
];

const ROUNDS: usize = 7;
const OPERATIONS: usize = 200_000;

struct Reading {
    ns: u128,
    divisions: u64,
    /// What was decided, which must not depend on who decided.
    picks: u64,
}

#[inline(never)]
fn head(shape: &Shape, operations: usize) -> Reading {
    let machine = CpuMask::first(CPUS);
    let anywhere = Affinity::new(&Arc::new(machine), &machine);
    let jobs: Vec<Arc<Job>> = (0..65).map(|key| Arc::new(Job::new(key, UNIT_WEIGHT))).collect();
    let task = |job: u64, key| Task::new(key, Arc::clone(&jobs[job as usize]), Class::Fair, anywhere.clone());
    let mut elsewhere = RunQueue::new(SLICE);
    (0..shape.elsewhere).for_each(|n| elsewhere.insert(task(1, 1000 + n), None));
    let mut queue = RunQueue::new(SLICE);
    queue.insert(task(1, PARKS), None);
    (shape.others)().into_iter().for_each(|(job, key)| queue.insert(task(job, key), None));
    let before = division::divisions();
    let (begin, mut picks) = (Instant::now(), 0u64);
    queue.pick();
    for _ in 0..operations {
        queue.charge(20_000);
        let (parked, standing) = queue.block().expect("a thread runs");
        queue.pick();
        queue.insert(parked, standing.as_ref());
        queue.put_back();
        let picked = queue.pick().expect("a thread is ready").key();
        picks = picks.wrapping_mul(31).wrapping_add(picked);
    }
    let ns = begin.elapsed().as_nanos();
    Reading { ns, divisions: division::divisions() - before, picks }
}

#[inline(never)]
fn plain(shape: &Shape, operations: usize) -> Reading {
    let machine = CpuMask::first(CPUS);
    let mask = Arc::new(machine);
    let job = |key| Rc::new(reference::Job { key, weight: UNIT_WEIGHT, runnable: Cell::new(0) });
    let jobs: Vec<Rc<reference::Job>> = (0..65).map(job).collect();
    let task = |job: u64, key| reference::Task {
        key,
        job: Rc::clone(&jobs[job as usize]),
        real_time: false,
        mask: Arc::clone(&mask),
    };
    let mut elsewhere = reference::RunQueue::new(SLICE, machine);
    (0..shape.elsewhere).for_each(|n| elsewhere.insert(task(1, 1000 + n), None));
    let mut queue = reference::RunQueue::new(SLICE, machine);
    queue.insert(task(1, PARKS), None);
    (shape.others)().into_iter().for_each(|(job, key)| queue.insert(task(job, key), None));
    let before = reference::eevdf::divisions();
    let (begin, mut picks) = (Instant::now(), 0u64);
    queue.pick();
    for _ in 0..operations {
        queue.charge(20_000);
        let (parked, standing) = queue.block().expect("a thread runs");
        queue.pick();
        queue.insert(parked, standing);
        queue.end_turn(false);
        let picked = queue.pick().expect("a thread is ready");
        picks = picks.wrapping_mul(31).wrapping_add(picked);
    }
    let ns = begin.elapsed().as_nanos();
    Reading { ns, divisions: reference::eevdf::divisions() - before, picks }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let operations = arguments.first().map_or(OPERATIONS, |n| n.parse().expect("a number of operations"));
    let chosen = |shape: &&Shape| arguments.len() < 2 || arguments[1..].iter().any(|name| name == shape.name);
    println!("shape\tround\tarm\tns/op\tdivisions/op");
    let mut summary = Vec::new();
    for shape in SHAPES.iter().filter(chosen) {
        let mut ns = [Vec::new(), Vec::new()];
        let mut divisions = [0, 0];
        let mut picks = [0, 0];
        for round in 0..ROUNDS {
            // reference head, head reference, …: a drift of the host falls on both.
            for arm in [round % 2, 1 - round % 2] {
                let reading = if arm == 0 { plain(shape, operations) } else { head(shape, operations) };
                let per_op = |n: u128| (n * 1000 / operations as u128) as u64;
                let name = ["reference", "head"][arm];
                divisions[arm] = per_op(reading.divisions.into());
                println!(
                    "{}\t{round}\t{name}\t{}\t{}",
                    shape.name,
                    decimal(per_op(reading.ns)),
                    decimal(divisions[arm])
                );
                ns[arm].push(per_op(reading.ns));
                picks[arm] = reading.picks;
            }
        }
        assert_eq!(picks[0], picks[1], "head and reference chose otherwise in {}", shape.name);
        ns.iter_mut().for_each(|arm| arm.sort_unstable());
        summary.push((shape.name, ns, divisions));
    }
    println!("\nshape\treference ns/op (least, most)\thead ns/op (least, most)\tratio\tdivisions/op");
    for (name, [reference, head], divisions) in summary {
        let median = |arm: &[u64]| arm[arm.len() / 2];
        let show = |arm: &[u64]| {
            format!("{} ({}, {})", decimal(median(arm)), decimal(arm[0]), decimal(arm[arm.len() - 1]))
        };
        println!(
            "{name}\t{}\t{}\t{}\t{} -> {}",
            show(&reference),
            show(&head),
            decimal(median(&reference) * 1000 / median(&head).max(1)),
            decimal(divisions[0]),
            decimal(divisions[1])
        );
    }
}

/// Thousandths, shown with two digits behind the point.
fn decimal(thousandths: u64) -> String {
    format!("{}.{:02}", thousandths / 1000, thousandths % 1000 / 10)
}
