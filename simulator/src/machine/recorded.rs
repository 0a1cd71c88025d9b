//! Workloads to be recorded and looked at; they go on for ever, but for the storm of forks.

use clockweave_runqueue::{Class, CpuMask, UNIT_WEIGHT};

use super::workload::{Device, Op, Workload};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const FOREVER: u64 = u64::MAX;

/// A workload by name.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    /// Its name.
    pub name: &'static str,
    /// What it shows, in one line.
    pub summary: &'static str,
    /// Makes it.
    pub build: fn() -> Workload,
}

/// Every workload to be recorded.
pub const RECORDED: &[Recorded] = &[
    Recorded { name: "mixed", summary: "jobs that compute, sleep and talk, on four CPUs", build: mixed },
    Recorded {
        name: "fairness",
        summary: "jobs of weight 1 to 4 that compute with one to four threads, pinned to one of two CPUs",
        build: fairness,
    },
    Recorded {
        name: "interactive",
        summary: "threads that sleep and run briefly among threads that compute",
        build: interactive,
    },
    Recorded {
        name: "fork-storm",
        summary: "a thread starts many on one CPU, and the others take them",
        build: fork_storm,
    },
    Recorded { name: "pinned", summary: "every thread is bound to a CPU", build: pinned },
    Recorded {
        name: "real-time",
        summary: "a device wakes a real-time thread among threads that compute",
        build: real_time,
    },
    Recorded { name: "lopsided", summary: "all threads begin on the first of four CPUs", build: lopsided },
];

fn mixed() -> Workload {
    let mut work = Workload::new(4, FOREVER);
    let (web, batch, audio) = (work.job("web"), work.job("batch"), work.job("audio"));
    let channel = work.channel();
    for number in 0..4usize {
        let pause = (400 + 130 * number as u64) * US;
        let script = [Op::Run(300 * US), Op::Wake { channel, all: false }, Op::Sleep(pause)];
        work.thread(&format!("web-{number}"), web, number, &script);
    }
    let script = [Op::Block { channel, patience: Some(5 * MS) }, Op::Run(250 * US)];
    work.thread("log", web, 1, &script);
    // All on two CPUs, so that the others have to ask for some.
    for number in 0..5usize {
        work.thread(&format!("batch-{number}"), batch, number % 2, &[Op::Run(7 * MS), Op::Yield]);
    }
    let line = work.channel();
    let script = [Op::Block { channel: line, patience: None }, Op::Run(120 * US)];
    work.thread("audio", audio, 2, &script).class = Class::RealTime;
    work.devices.push(Device { channel: line, cpu: 0, first: MS, period: 5 * MS, count: u64::MAX });
    work
}

fn fairness() -> Workload {
    let mut work = Workload::new(2, FOREVER);
    for cpu in 0..2usize {
        for share in 1..=4u64 {
            let job = work.job(&format!("share-{share}-cpu-{cpu}"));
            work.jobs[job].weight = UNIT_WEIGHT * share;
            for number in 0..share {
                let name = format!("share-{share}-{number}");
                work.thread(&name, job, cpu, &[Op::Run(1_000 * MS)]).mask = CpuMask::of([cpu]);
            }
        }
    }
    work
}

fn interactive() -> Workload {
    let mut work = Workload::new(2, FOREVER);
    let (shell, hogs) = (work.job("shell"), work.job("hogs"));
    for number in 0..2usize {
        let script = [Op::Sleep((3 + number as u64) * MS), Op::Run(400 * US)];
        work.thread(&format!("shell-{number}"), shell, number, &script);
    }
    for number in 0..4usize {
        work.thread(&format!("hog-{number}"), hogs, 0, &[Op::Run(50 * MS)]);
    }
    work
}

fn fork_storm() -> Workload {
    let mut work = Workload::new(4, FOREVER);
    let job = work.job("storm");
    let children = 40;
    let mut script = Vec::new();
    for child in 0..children {
        script.extend([Op::Run(100 * US), Op::Spawn(child + 1)]);
    }
    work.thread("parent", job, 0, &script).rounds = 1;
    for child in 0..children {
        let script = [Op::Run((500 + 20 * child as u64) * US)];
        let spec = work.thread(&format!("child-{child}"), job, 0, &script);
        (spec.rounds, spec.started) = (3, false);
    }
    work
}

fn pinned() -> Workload {
    let mut work = Workload::new(4, FOREVER);
    for number in 0..3usize {
        let job = work.job(&format!("job-{number}"));
        for cpu in 0..4usize {
            let pause = (1 + number as u64) * MS;
            let script = [Op::Run((2 + cpu as u64) * MS), Op::Sleep(pause)];
            let spec = work.thread(&format!("job-{number}-cpu-{cpu}"), job, cpu, &script);
            spec.mask = CpuMask::of([cpu]);
        }
    }
    work
}

fn real_time() -> Workload {
    let mut work = Workload::new(2, FOREVER);
    let (audio, hogs) = (work.job("audio"), work.job("hogs"));
    let channel = work.channel();
    let script = [Op::Block { channel, patience: None }, Op::Run(200 * US)];
    work.thread("audio", audio, 0, &script).class = Class::RealTime;
    for number in 0..3usize {
        let script = [Op::Run(900 * US), Op::Section(50 * US)];
        work.thread(&format!("hog-{number}"), hogs, 0, &script);
    }
    work.devices.push(Device { channel, cpu: 1, first: MS, period: 1_900 * US, count: u64::MAX });
    work
}

fn lopsided() -> Workload {
    let mut work = Workload::new(4, FOREVER);
    for number in 0..2usize {
        let job = work.job(&format!("job-{number}"));
        for thread in 0..4usize {
            let script = [Op::Run((1 + thread as u64) * MS), Op::Sleep(700 * US)];
            let spec = work.thread(&format!("job-{number}-{thread}"), job, 0, &script);
            // The first job's threads stay on half of the machine.
            if number == 0 {
                spec.mask = CpuMask::first(2);
            }
        }
    }
    work
}
