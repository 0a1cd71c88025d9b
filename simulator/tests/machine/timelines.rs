//! Timelines derived by hand. Threads are there a message after the start, at 1,000 ns; one on its way to waiting has left
//! its CPU 1,000 ns later.

use clockweave_simulator::machine::{
    Choices, Class, CpuMask, Device, Happening, Machine, Op, Variant, Workload,
};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// Takes a machine to its end; gives it back with its steps.
fn ran(work: Workload) -> (Machine, usize) {
    let mut machine = Machine::new(work, Variant::Sound).unwrap();
    machine.observe();
    let mut choices = Choices::first();
    let steps = std::iter::from_fn(|| machine.step(&mut choices).then_some(())).count();
    (machine, steps)
}

/// A device of this CPU or another posts at 2 ms, when CPU 0 is in a section until 5.002 ms: it switches then, and not
/// before.
#[test]
fn a_section_is_not_interrupted() {
    for device in [0, 1] {
        let mut work = Workload::new(2, 6 * MS);
        let (job, channel) = (work.job("job"), work.channel());
        let waits = [Op::Block { channel, patience: None }, Op::Run(MS)];
        work.thread("waits", job, 0, &waits).class = Class::RealTime;
        work.thread("holds", job, 0, &[Op::Section(5 * MS)]);
        work.threads.iter_mut().for_each(|thread| thread.mask = CpuMask::of([0]));
        work.devices.push(Device { channel, cpu: device, first: 2 * MS, period: SECOND, count: 1 });
        let (mut machine, _) = ran(work);
        let switches: Vec<(u64, Option<usize>)> = machine
            .take_log()
            .into_iter()
            .filter_map(|happened| match happened.what {
                Happening::Switch { to, .. } if happened.cpu == 0 => {
                    Some((happened.ns, to.map(|(thread, _)| thread)))
                }
                _ => None,
            })
            .collect();
        let expected = [(0, None), (1_000, Some(0)), (2_000, Some(1)), (5_002_000, Some(0))];
        assert_eq!(switches, expected, "{device}");
    }
}

/// Waking everyone leaves no post behind for who comes later.
#[test]
fn a_post_to_all_is_for_those_who_wait() {
    let mut work = Workload::new(1, 20 * MS);
    let (job, channel) = (work.job("job"), work.channel());
    let block = Op::Block { channel, patience: None };
    for name in ["first", "second"] {
        work.thread(name, job, 0, &[block, Op::Sleep(SECOND)]);
    }
    work.thread("wakes", job, 0, &[Op::Run(MS), Op::Wake { channel, all: true }, Op::Sleep(SECOND)]);
    work.thread("late", job, 0, &[Op::Sleep(5 * MS), block, Op::Run(MS)]);
    let (machine, _) = ran(work);
    // Each leaves its CPU twice; the last does not come to its run.
    assert_eq!([0, 1, 3].map(|thread| machine.service(thread)), [2_000; 3]);
}

/// Who is ended while it waits takes no post from those who wait behind it.
#[test]
fn the_dead_do_not_wait() {
    let mut work = Workload::new(1, 40 * MS);
    let (ended, job, channel) = (work.job("ended"), work.job("job"), work.channel());
    let block = Op::Block { channel, patience: None };
    work.thread("dies", ended, 0, &[block]);
    let script = [
        Op::Run(MS),
        Op::Teardown(ended),
        Op::Run(10 * MS),
        Op::Wake { channel, all: false },
        Op::Sleep(SECOND),
    ];
    work.thread("kills", job, 0, &script);
    work.thread("waits", job, 0, &[Op::Sleep(2 * MS), block, Op::Run(MS / 2)]).rounds = 1;
    let (machine, _) = ran(work);
    assert_eq!(machine.service(2), 2 * 1_000 + MS / 2);
}

/// An idle CPU that was refused asks again when a quantum is over, so ten times in 10 ms at most: a timer, a question and
/// an answer. CPUs 0 and 2 look at their queues as often; five messages bring the threads.
#[test]
fn who_is_refused_waits_a_quantum() {
    let mut work = Workload::new(3, 10 * MS);
    let job = work.job("job");
    // One that waits may move, but not to the idle CPU.
    for (cpu, cpus) in [(0, &[0][..]), (0, &[0, 2]), (2, &[2]), (2, &[2])] {
        work.thread("runs", job, cpu, &[Op::Run(SECOND)]).mask = CpuMask::of(cpus.iter().copied());
    }
    // One that has nothing to do any more looks for work.
    work.thread("ends", job, 1, &[Op::Run(1)]).rounds = 1;
    let (_, steps) = ran(work);
    assert!((30..=60).contains(&steps), "{steps}");
}

/// Leaving the CPU takes 1 ms, and the sleep 10 us: whoever sleeps is woken at the time that it has left, never before, and
/// runs for 5 us. From 1 us on, when the thread is there.
#[test]
fn a_sleep_shorter_than_leaving_ends_when_it_has_left() {
    let mut work = Workload::new(1, 4 * MS);
    work.park = MS;
    let job = work.job("job");
    work.thread("sleeper", job, 0, &[Op::Sleep(10_000), Op::Run(5_000)]);
    let (mut machine, _) = ran(work);
    let log = machine.take_log();
    let wakes: Vec<u64> = log
        .iter()
        .filter(|happened| matches!(happened.what, Happening::Waking { .. }))
        .map(|happened| happened.ns)
        .collect();
    assert_eq!(wakes, [1_001_000, 2_006_000, 3_011_000]);
    assert!(log.is_sorted_by_key(|happened| happened.ns), "time does not go back");
}

/// Two posts before anybody asks are two that are taken without waiting: the thread asks at 101 us and again at 111 us, and
/// waits only the third time, from 121 us on, until 1 us later it has left the CPU.
#[test]
fn posts_are_kept_one_by_one() {
    let mut work = Workload::new(1, MS);
    let job = work.job("job");
    let channel = work.channel();
    let asker = [Op::Block { channel, patience: None }, Op::Run(10_000)];
    let poster = [Op::Wake { channel, all: false }, Op::Wake { channel, all: false }, Op::Run(100_000)];
    // Real time goes first, so the posts are there when the other one begins.
    let spec = work.thread("poster", job, 0, &poster);
    (spec.rounds, spec.class) = (1, Class::RealTime);
    work.thread("asker", job, 0, &asker);
    let (mut machine, _) = ran(work);
    let idle: Vec<u64> = machine
        .take_log()
        .iter()
        .filter(|happened| matches!(happened.what, Happening::Switch { from: Some(_), to: None }))
        .map(|happened| happened.ns)
        .collect();
    assert_eq!(idle, [122_000]);
}
