//! What is explored: small workloads whose times coincide, so that there is much to choose.

use clockweave_runqueue::{Class, CpuMask};

use super::workload::{Device, Op, Workload};

/// A microsecond; most times are multiples, so that events fall together.
const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// Differences of service, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Between jobs.
    pub jobs: u64,
    /// Between threads of a job.
    pub threads: u64,
}

/// A workload to be explored.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    /// What it is about, in one line.
    pub summary: &'static str,
    /// Makes its workload.
    pub build: fn() -> Workload,
    /// Where every thread computes all the time, on one CPU or alike on each, so that service can be compared: the widest
    /// differences that the sound machine showed, a recorded sample within what the rules allow.
    pub shares: Option<Spread>,
    /// Whether it ends, with every thread done.
    pub finishes: bool,
}

/// Every scenario.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "lost-wake",
        summary: "a thread asks a channel just as another posts to it",
        build: lost_wake,
        shares: None,
        finishes: true,
    },
    Scenario {
        name: "lost-wake-patience",
        summary: "the same with a deadline that may come first, and a device that posts, too",
        build: lost_wake_patience,
        shares: None,
        finishes: true,
    },
    Scenario {
        name: "idle-race",
        summary: "CPUs run dry and ask each other for threads, one of which may not go everywhere",
        build: idle_race,
        shares: None,
        finishes: true,
    },
    Scenario {
        name: "mask-race",
        summary: "a CPU runs dry beside threads that may not go there",
        build: mask_race,
        shares: None,
        finishes: true,
    },
    Scenario {
        name: "teardown",
        summary: "a job is ended while its threads are being moved",
        build: teardown,
        shares: None,
        finishes: true,
    },
    Scenario {
        name: "real-time-latency",
        summary: "a device wakes a real-time thread among threads with sections",
        build: real_time_latency,
        shares: None,
        finishes: false,
    },
    Scenario {
        name: "fork-storm",
        summary: "a thread starts many short ones on one CPU, and others take them",
        build: fork_storm,
        shares: None,
        finishes: true,
    },
    Scenario {
        name: "fairness",
        summary: "two jobs with one and three threads compute on one CPU",
        build: fairness,
        shares: Some(Spread { jobs: 3 * MS, threads: 3 * MS }),
        finishes: false,
    },
    Scenario {
        name: "fairness-two",
        summary: "the same on each of two CPUs, from which no thread moves",
        build: fairness_two,
        shares: Some(Spread { jobs: 6 * MS, threads: 3 * MS }),
        finishes: false,
    },
    Scenario {
        name: "interactive",
        summary: "a thread that sleeps and runs briefly among threads that compute",
        build: interactive,
        shares: None,
        finishes: false,
    },
    Scenario {
        name: "park-race",
        summary: "a device posts while the thread that asks is still on its CPU",
        build: park_race,
        shares: None,
        finishes: false,
    },
    Scenario {
        name: "short-waits",
        summary: "threads that wait for less than leaving the CPU takes",
        build: short_waits,
        shares: None,
        finishes: true,
    },
    Scenario {
        name: "lend-then-block",
        summary: "a thread lends its rank to the one it then waits for, among threads that compute",
        build: lend_then_block,
        shares: None,
        finishes: false,
    },
    Scenario {
        name: "wakeup-storm",
        summary: "one post wakes all, again and again",
        build: wakeup_storm,
        shares: None,
        finishes: true,
    },
];

fn lost_wake() -> Workload {
    let mut work = Workload::new(2, 20 * MS);
    let job = work.job("pipe");
    let channel = work.channel();
    let pinned = |cpu| CpuMask::of([cpu]);
    let block = Op::Block { channel, patience: None };
    let reader = work.thread("reader", job, 0, &[Op::Run(2 * US), block]);
    (reader.rounds, reader.mask) = (20, pinned(0));
    let writer = work.thread("writer", job, 1, &[Op::Run(3 * US), Op::Wake { channel, all: false }]);
    (writer.rounds, writer.mask) = (20, pinned(1));
    work
}

fn lost_wake_patience() -> Workload {
    let mut work = lost_wake();
    for thread in &mut work.threads {
        for op in &mut thread.script {
            if let Op::Block { patience, .. } = op {
                *patience = Some(4 * US);
            }
        }
    }
    work.devices.push(Device { channel: 0, cpu: 1, first: 6 * US, period: 9 * US, count: 5 });
    work
}

fn idle_race() -> Workload {
    let mut work = Workload::new(3, 40 * MS);
    work.quantum = 5 * US;
    work.slice = 5 * US;
    let job = work.job("work");
    for number in 0..4u64 {
        let script = [Op::Run((4 + number) * US), Op::Yield, Op::Run(3 * US), Op::Sleep(2 * US)];
        work.thread(&format!("worker-{number}"), job, 0, &script).rounds = 6;
    }
    let other = work.job("bound");
    let bound = work.thread("bound", other, 0, &[Op::Run(7 * US), Op::Yield]);
    (bound.mask, bound.rounds) = (CpuMask::of([0, 1]), 12);
    work
}

fn mask_race() -> Workload {
    let mut work = Workload::new(3, 40 * MS);
    (work.quantum, work.slice) = (5 * US, 5 * US);
    let (free, bound) = (work.job("free"), work.job("bound"));
    for number in 0..2u64 {
        let script = [Op::Run((4 + number) * US), Op::Sleep((2 + number) * US)];
        work.thread(&format!("free-{number}"), free, 2, &script).rounds = 20;
    }
    for number in 0..3u64 {
        let script = [Op::Run((5 + 2 * number) * US), Op::Yield, Op::Run(3 * US), Op::Sleep(US)];
        let thread = work.thread(&format!("bound-{number}"), bound, 0, &script);
        (thread.mask, thread.rounds) = (CpuMask::of([0, 1]), 10);
    }
    work
}

fn teardown() -> Workload {
    let mut work = Workload::new(3, 40 * MS);
    work.quantum = 5 * US;
    work.slice = 5 * US;
    let reaper = work.job("reaper");
    let channel = work.channel();
    let mut script = Vec::new();
    // Jobs of threads that come and go on one CPU, so that the others keep asking for some.
    for number in 0..4u64 {
        let victims = work.job(&format!("victims-{number}"));
        for victim in 0..3u64 {
            let ops = [Op::Run((3 + victim % 2) * US), Op::Sleep((1 + number) * US)];
            work.thread(&format!("victim-{number}-{victim}"), victims, 0, &ops);
        }
        work.thread(&format!("waiter-{number}"), victims, 1, &[Op::Block { channel, patience: None }]);
        script.extend([Op::Run((7 + number) * US), Op::Teardown(victims)]);
    }
    script.push(Op::Run(US));
    work.thread("reaper", reaper, 1, &script).rounds = 1;
    work
}

fn real_time_latency() -> Workload {
    let mut work = Workload::new(2, 20 * MS);
    let (audio, hogs) = (work.job("audio"), work.job("hogs"));
    let channel = work.channel();
    let script = [Op::Block { channel, patience: None }, Op::Run(20 * US)];
    work.thread("audio", audio, 0, &script).class = Class::RealTime;
    for cpu in 0..2 {
        let script = [Op::Run(150 * US), Op::Section(50 * US)];
        work.thread(&format!("hog-{cpu}"), hogs, cpu, &script);
    }
    work.devices.push(Device { channel, cpu: 1, first: 100 * US, period: 250 * US, count: 60 });
    work
}

fn fork_storm() -> Workload {
    let mut work = Workload::new(3, 60 * MS);
    work.quantum = 20 * US;
    work.slice = 60 * US;
    let job = work.job("storm");
    let children = 12;
    let mut script = Vec::new();
    for child in 0..children {
        script.extend([Op::Run(2 * US), Op::Spawn(child + 1)]);
    }
    work.thread("parent", job, 0, &script).rounds = 1;
    for child in 0..children {
        let spec = work.thread(&format!("child-{child}"), job, 0, &[Op::Run(30 * US)]);
        (spec.rounds, spec.started) = (1, false);
    }
    work
}

fn fairness() -> Workload {
    one_against_three(1)
}

fn fairness_two() -> Workload {
    one_against_three(2)
}

fn one_against_three(cpus: usize) -> Workload {
    let mut work = Workload::new(cpus, 120 * MS);
    let (one, three) = (work.job("one"), work.job("three"));
    for cpu in 0..cpus {
        work.thread(&format!("a-{cpu}"), one, cpu, &[Op::Run(7 * MS)]).mask = CpuMask::of([cpu]);
        for number in 0..3 {
            work.thread(&format!("b-{cpu}-{number}"), three, cpu, &[Op::Run(5 * MS)]).mask =
                CpuMask::of([cpu]);
        }
    }
    work
}

fn interactive() -> Workload {
    let mut work = Workload::new(2, 60 * MS);
    let (shell, hogs) = (work.job("shell"), work.job("hogs"));
    work.thread("shell", shell, 0, &[Op::Sleep(MS), Op::Run(200 * US)]);
    for number in 0..4 {
        work.thread(&format!("hog-{number}"), hogs, number % 2, &[Op::Run(10 * MS)]);
    }
    work
}

fn park_race() -> Workload {
    let mut work = Workload::new(2, 5 * MS);
    work.park = 100 * US;
    let (audio, hogs) = (work.job("audio"), work.job("hogs"));
    let channel = work.channel();
    let script = [Op::Block { channel, patience: None }, Op::Run(50 * US)];
    work.thread("audio", audio, 0, &script).class = Class::RealTime;
    work.thread("hog", hogs, 0, &[Op::Run(300 * US), Op::Sleep(100 * US)]).mask = CpuMask::of([0]);
    // Once now and then while the thread is on its way to waiting, and at the time it gets there.
    for (first, period) in [(120 * US, 120 * US), (170 * US, 500 * US)] {
        work.devices.push(Device { channel, cpu: 1, first, period, count: 30 });
    }
    work
}

fn short_waits() -> Workload {
    let mut work = Workload::new(2, 20 * MS);
    (work.quantum, work.slice, work.park) = (50 * US, 100 * US, 100 * US);
    let job = work.job("short");
    let channel = work.channel();
    for cpu in 0..2 {
        let block = Op::Block { channel, patience: Some((20 + 10 * cpu as u64) * US) };
        work.thread(&format!("asker-{cpu}"), job, cpu, &[block, Op::Run(10 * US)]).rounds = 20;
        work.thread(&format!("sleeper-{cpu}"), job, cpu, &[Op::Sleep(10 * US), Op::Run(30 * US)]).rounds = 20;
    }
    let script = [Op::Run(50 * US), Op::Wake { channel, all: false }];
    work.thread("poster", job, 0, &script).rounds = 20;
    work
}

fn lend_then_block() -> Workload {
    let mut work = Workload::new(2, 10 * MS);
    (work.quantum, work.slice) = (50 * US, 100 * US);
    let (pair, hogs) = (work.job("pair"), work.job("hogs"));
    let (asked, answered) = (work.channel(), work.channel());
    // More than a quantum now and then.
    let block = Op::Block { channel: asked, patience: None };
    let answer = Op::Wake { channel: answered, all: false };
    let script = [block, Op::Run(20 * US), answer, block, Op::Run(80 * US), answer];
    work.thread("server", pair, 0, &script).mask = CpuMask::of([0]);
    let wait = Op::Block { channel: answered, patience: None };
    work.thread("client", pair, 1, &[Op::Run(10 * US), Op::Lend { channel: asked }, wait]);
    for cpu in 0..2 {
        work.thread(&format!("hog-{cpu}"), hogs, cpu, &[Op::Run(70 * US)]).mask = CpuMask::of([cpu]);
    }
    work
}

fn wakeup_storm() -> Workload {
    let mut work = Workload::new(3, 60 * MS);
    let (storm, waker) = (work.job("storm"), work.job("waker"));
    let channel = work.channel();
    for number in 0..6 {
        let script = [Op::Block { channel, patience: Some(40 * US) }, Op::Run(5 * US)];
        work.thread(&format!("sleeper-{number}"), storm, number % 3, &script).rounds = 10;
    }
    work.thread("waker", waker, 0, &[Op::Run(20 * US), Op::Wake { channel, all: true }]).rounds = 12;
    work
}
