//! Many domains and many units: what is held and what is done grows with the graph, no faster.

use clockweave_simulator::{Connection, Fifo, Packet, Simulation, Tick};

use crate::clocks::{Batches, Clock};
use crate::scripted::{Log, add};

const DOMAINS: usize = 64;

fn clocks() -> Vec<Clock> {
    (0..DOMAINS as u64).map(|at| Clock::mhz(500 + 17 * at).late_ps(31 * at)).collect()
}

/// `units` units over 64 domains in a ring: most pass a token on within their domain, the last of each
/// domain sends it to the next domain over a FIFO.
fn ring(units: usize, ticks: &Log<()>) -> Simulation {
    let mut sim = Simulation::new();
    for (at, clock) in clocks().iter().enumerate() {
        sim.add_domain(clock.domain(at as u32 + 1, &format!("d{at}"))).unwrap();
    }
    let domain = |unit: usize| unit * DOMAINS / units;
    let crosses = |unit: usize| domain(unit) != domain((unit + 1) % units);
    for unit in 0..units {
        let log = ticks.clone();
        add(&mut sim, &format!("d{}", domain(unit)), &format!("u{unit}"), |p| {
            let crossed = crosses((unit + units - 1) % units);
            let (fifo_in, input) = if crossed {
                (Some(p.fifo_in::<u64>("in")), None)
            } else {
                (None, Some(p.input::<u64>("in")))
            };
            let (fifo_out, out) = if crosses(unit) {
                (Some(p.fifo_out::<u64>("out")), None)
            } else {
                (None, Some(p.out("out")))
            };
            let mut token = (unit == 0).then_some(1u64);
            move |cx: &mut Tick<'_>| {
                log.push(());
                if let Some(input) = &input {
                    token = token.or_else(|| cx.receive(input));
                }
                if let Some(input) = &fifo_in {
                    token = token.or_else(|| cx.take(input).map(|packet| packet.data));
                    cx.request(input);
                }
                if let Some(value) = token.take() {
                    if let Some(out) = &out {
                        cx.send(out, value + 1).map_err(|_| "refused")?;
                    }
                    if let Some(out) = &fifo_out {
                        cx.write(out, Packet::new(value, value + 1)).map_err(|_| "refused")?;
                    }
                }
                cx.sleep();
                Ok(())
            }
        });
    }
    for unit in 0..units {
        let next = (unit + 1) % units;
        let (from, to) = (format!("u{unit}.out"), format!("u{next}.in"));
        if crosses(unit) {
            sim.add_fifo(Fifo::new(domain(unit) as u32 + 1).depth(2), &from, &to).unwrap();
        } else {
            sim.connect(Connection::delayed(1), &from, &to).unwrap();
        }
    }
    sim
}

#[test]
fn sixty_four_domains_and_ten_thousand_units_run() {
    let ticks = Log::new();
    let mut sim = ring(10_000, &ticks);
    sim.start().unwrap();
    let mut calendar = Batches::new(&clocks());
    for _ in 0..3000 {
        sim.run_batches(1).unwrap();
        calendar.advance();
    }
    let seen = sim.inspect().unwrap();
    for (at, &cycles) in calendar.cycles.iter().enumerate() {
        assert_eq!(seen.domain_cycles(&format!("d{at}")), Some(cycles));
    }
    assert_eq!(seen.units().len(), 10_000);
    assert_eq!(seen.connections().len() + DOMAINS, 10_000);
    // Each unit's first tick, and beyond it only those of the token: asleep, 10,000 units cost nothing.
    let first = ticks.take().len();
    assert!((10_000..10_400).contains(&first), "{first}");
}

/// The token visits every unit once a round and costs the same number of ticks, whatever the size.
#[test]
fn work_follows_the_token_not_the_number_of_units() {
    for units in [640, 6400] {
        let ticks = Log::new();
        let mut sim = ring(units, &ticks);
        // Two rounds.
        let report = sim
            .run_until(|seen| seen.fifo(DOMAINS as u32).is_some_and(|fifo| fifo.reads == 2), 10_000_000)
            .unwrap();
        assert_eq!(report.status, clockweave_simulator::RunStatus::Finished);
        let seen = sim.inspect().unwrap();
        assert!((1..=DOMAINS as u32).all(|id| seen.fifo(id).unwrap().writes >= 2));
        // One tick a unit at the start, then a tick a message and three a packet (`empty` falls, the
        // read, the take), for two rounds and what the last poll interval adds.
        let found = ticks.take().len();
        let least = units + 2 * (units - DOMAINS);
        assert!((least..least + 2 * 4 * DOMAINS + 64).contains(&found), "{units}: {found}");
    }
}

/// Names the size of the graph that a process of its own builds, for its memory to be measured.
#[cfg(target_os = "linux")]
const FOOTPRINT: &str = "KERNEL_FOOTPRINT_UNITS";

/// Peak resident kB of a fresh process that assembles a ring of `units` units.
#[cfg(target_os = "linux")]
fn footprint(units: usize) -> u64 {
    let this = std::env::current_exe().unwrap();
    let test = ["--exact", "--nocapture", "--test-threads=1", "scale::memory_grows_with_the_number_of_units"];
    let output =
        std::process::Command::new(this).args(test).env(FOOTPRINT, units.to_string()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let peak = text.lines().find_map(|line| line.split("VmHWM:").nth(1)).unwrap();
    peak.trim().trim_end_matches("kB").trim().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn memory_grows_with_the_number_of_units() {
    if let Ok(units) = std::env::var(FOOTPRINT) {
        let mut sim = ring(units.parse().unwrap(), &Log::new());
        sim.run_batches(1).unwrap();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        println!("{}", status.lines().find(|line| line.starts_with("VmHWM:")).unwrap());
        return;
    }
    let sizes = [640, 16_000, 32_000, 64_000];
    let [base, small, middle, large] = sizes.map(footprint);
    let (small, middle, large) = (small - base, middle - base, large - base);
    // Twice the units take twice the memory, give or take what vectors grow by.
    assert!(middle < 3 * small && large < 3 * middle, "{base} {small} {middle} {large}");
    assert!(large < 64_000 * 4, "less than 4 kB a unit: {large} kB");
}
