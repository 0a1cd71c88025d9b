//! Both levels, on one CPU or several.

use std::collections::BTreeMap;
use std::sync::Arc;

use clockweave_runqueue::{Affinity, Class, CpuMask, FINE_BITS, Job, RunQueue, Task, UNIT_WEIGHT};

use crate::random::Random;

const MS: u64 = 1_000_000;
const SLICE: u64 = 3 * MS;

fn affinity(cpus: &[usize]) -> Affinity {
    Affinity::new(&Arc::new(CpuMask::of(cpus.iter().copied())), &CpuMask::first(2))
}

fn fair(key: u64, job: &Arc<Job>) -> Task {
    Task::new(key, Arc::clone(job), Class::Fair, affinity(&[0, 1]))
}

fn keys(queue: &RunQueue) -> Vec<u64> {
    let mut keys = Vec::new();
    queue.keys(|key| keys.push(key));
    keys
}

/// Runs to the decision instant or a millisecond; gives who ran and for how long.
fn turn(queue: &mut RunQueue) -> (u64, u64) {
    let key = queue.pick().map(Task::key).unwrap();
    let ns = queue.decision().map_or(MS, |at| at.min(MS));
    queue.charge(ns);
    queue.put_back();
    (key, ns)
}

#[test]
fn jobs_share_the_cpu_whatever_their_threads() {
    let jobs = [Arc::new(Job::new(1, UNIT_WEIGHT)), Arc::new(Job::new(2, UNIT_WEIGHT))];
    let mut queue = RunQueue::new(SLICE);
    queue.insert(fair(10, &jobs[0]), None);
    for key in 20..23 {
        queue.insert(fair(key, &jobs[1]), None);
    }
    let mut service: BTreeMap<u64, u64> = BTreeMap::new();
    let mut total = 0;
    while total < 600 * MS {
        let (key, ns) = turn(&mut queue);
        *service.entry(key).or_default() += ns;
        total += ns;
    }
    // Half of 600 ms, and a sixth each, to within one request.
    let near = |found: u64, expected: u64| found.abs_diff(expected * MS) <= SLICE;
    assert!(near(service[&10], 300), "{service:?}");
    assert!((20..23).all(|key| near(service[&key], 100)), "{service:?}");
    assert_eq!(queue.groups().map(|(_, weight)| weight).collect::<Vec<_>>(), [UNIT_WEIGHT; 2]);
}

/// The recorded property of two levels: lags within one request of the hierarchical share.
#[test]
fn two_levels_in_steady_state_stay_within_a_request() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let mut queue = RunQueue::new(SLICE);
        let mut key = 0;
        for job in 0..1 + random.below(5) as u64 {
            let job = Arc::new(Job::new(job, UNIT_WEIGHT));
            for _ in 0..1 + random.below(6) {
                queue.insert(fair(key, &job), None);
                key += 1;
            }
        }
        let bound = i128::from(SLICE) << FINE_BITS;
        for _ in 0..1_000 {
            turn(&mut queue);
            assert!(queue.is_consistent());
            for key in 0..key {
                let view = queue.view(key).unwrap();
                assert!(view.lag.abs() <= bound && view.group_lag.abs() <= bound, "{seed}: {view:?}");
                assert!(view.eligible > 0 && view.eligible_groups > 0);
            }
        }
    }
}

#[test]
fn weights_are_shares_of_the_job_and_go_stale_until_refreshed() {
    let job = Arc::new(Job::new(1, UNIT_WEIGHT));
    let mut queues = [RunQueue::new(SLICE), RunQueue::new(SLICE)];
    let weight = |queue: &RunQueue| queue.groups().map(|(_, weight)| weight).collect::<Vec<_>>();
    queues[0].insert(fair(1, &job), None);
    queues[1].insert(fair(2, &job), None);
    queues[1].insert(fair(3, &job), None);
    // One of one, then one of two; the third thread does not reweight its group.
    assert_eq!((weight(&queues[0]), weight(&queues[1])), (vec![65_536], vec![32_768]));
    queues.iter_mut().for_each(RunQueue::refresh);
    // floor(65,536 / 3) and floor(2 · 65,536 / 3).
    assert_eq!((weight(&queues[0]), weight(&queues[1])), (vec![21_845], vec![43_690]));
    assert_eq!((job.runnable(), queues[1].runnable_here(1)), (3, 2));
}

#[test]
fn a_group_weighs_at_least_one() {
    let job = Arc::new(Job::new(1, 1));
    let mut queues = [RunQueue::new(SLICE), RunQueue::new(SLICE)];
    queues[0].insert(fair(1, &job), None);
    queues[1].insert(fair(2, &job), None);
    assert_eq!(queues[1].weight(), 1);
}

#[test]
fn real_time_comes_first_in_its_order_and_carries_no_account() {
    let job = Arc::new(Job::new(1, UNIT_WEIGHT));
    let real_time = |key| Task::new(key, Arc::clone(&job), Class::RealTime, affinity(&[0]));
    let mut queue = RunQueue::new(SLICE);
    queue.insert(fair(1, &job), None);
    queue.pick();
    queue.insert(real_time(8), None);
    queue.insert(real_time(9), None);
    assert!(queue.would_preempt_for(9) && queue.has_rt());
    queue.put_back();
    assert_eq!(keys(&queue), [8, 9, 1]);
    assert_eq!(queue.pick().map(Task::key), Some(8));
    assert!(!queue.would_preempt_for(9) && !queue.would_preempt_for(1));
    assert_eq!((queue.decision(), job.runnable()), (None, 1));
    queue.charge(MS);
    queue.put_back();
    assert_eq!(keys(&queue), [9, 8, 1]);
    assert_eq!(queue.remove(9).unwrap().1, None);
    assert_eq!(queue.pick().map(Task::key), Some(8));
    assert_eq!(queue.block().unwrap().1, None);
}

#[test]
fn a_running_thread_may_change_sides() {
    let job = Arc::new(Job::new(1, UNIT_WEIGHT));
    let mut queue = RunQueue::new(SLICE);
    queue.insert(fair(1, &job), None);
    queue.pick();
    queue.set_current_class(Class::RealTime);
    assert_eq!((queue.decision(), queue.weight(), job.runnable()), (None, UNIT_WEIGHT, 1));
    queue.put_back();
    assert_eq!((queue.has_rt(), queue.fair_len(), queue.weight(), job.runnable()), (true, 0, 0, 0));
    queue.pick();
    queue.set_current_class(Class::Fair);
    queue.put_back();
    assert_eq!((queue.has_rt(), queue.fair_len(), job.runnable()), (false, 1, 1));
}

#[test]
fn surplus_is_the_allowed_thread_whose_turn_is_furthest_away() {
    let jobs = [Arc::new(Job::new(1, UNIT_WEIGHT)), Arc::new(Job::new(2, UNIT_WEIGHT))];
    let mut queue = RunQueue::new(SLICE);
    queue.insert(Task::new(1, Arc::clone(&jobs[0]), Class::Fair, affinity(&[0])), None);
    for key in [21, 22, 23] {
        queue.insert(fair(key, &jobs[1]), None);
    }
    assert_eq!((queue.takers(0), queue.takers(1), queue.holds_movable()), (4, 3, true));
    // The first job's thread is pinned; of the second's, equal deadlines go by entry.
    assert_eq!(queue.pop_surplus(1, Some(23)).unwrap().0.key(), 22);
    assert_eq!(queue.pop_surplus(1, None).unwrap().0.key(), 23);
    queue.pick();
    queue.put_back();
    queue.pick();
    let (last, standing) = queue.pop_surplus(1, None).unwrap();
    assert_eq!((last.key(), standing.group_lag.is_some()), (21, true));
    assert!(queue.pop_surplus(1, None).is_none() && !queue.holds_movable());
    // The current thread is never given away.
    assert_eq!(queue.current().map(Task::key), Some(1));
    assert!(queue.pop_surplus(0, None).is_none());
}

#[test]
fn yielding_waits_behind_equals_and_being_put_back_does_not() {
    let job = Arc::new(Job::new(1, UNIT_WEIGHT));
    let mut queue = RunQueue::new(SLICE);
    queue.insert(fair(1, &job), None);
    queue.insert(fair(2, &job), None);
    queue.pick();
    queue.charge(MS);
    queue.put_back();
    // Its lag is negative, but its request is unfinished and nobody eligible comes before it.
    assert!(queue.view(1).unwrap().lag < 0);
    assert_eq!(queue.pick().map(Task::key), Some(1));
    queue.yield_now();
    assert_eq!(queue.pick().map(Task::key), Some(2));
}
