//! Random runs, filters and memories against an independent sort by big rationals.

use std::cmp::Ordering;

use clockweave_model::Seconds;
use glob::Pattern;
use num_bigint::BigUint;
use num_rational::Ratio;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

/// The time in seconds.
type Time = Ratio<BigUint>;

#[derive(Clone, Debug)]
struct Event {
    unit: usize,
    cycle: u64,
    phase: u8,
    name: &'static str,
    rest: (u64, u64, u64),
    ordinal: u64,
    /// Events lost: then it is no event but a gap.
    lost: Option<u64>,
}

#[derive(Clone, Debug)]
struct Recorded {
    name: &'static str,
    clocks: Vec<Clock>,
    units: Vec<Unit>,
    /// Of each domain, in file order.
    events: Vec<Vec<Event>>,
}

fn ratio((num, den): (u64, u64)) -> Time {
    Ratio::new(num.into(), den.into())
}

impl Recorded {
    fn clock(&self, event: &Event) -> &Clock {
        &self.clocks[self.units[event.unit].2]
    }

    fn time(&self, event: &Event) -> Time {
        let (_, period, phase) = *self.clock(event);
        ratio(phase) + ratio(period) * BigUint::from(event.cycle)
    }

    fn line(&self, event: &Event) -> String {
        let Event { cycle, phase, name, rest: (transaction, fifo, value), ordinal, .. } = event;
        let (id, unit, _) = &self.units[event.unit];
        match event.lost {
            // A gap names its unit by id or by name.
            Some(lost) if cycle % 2 == 0 => {
                format!("# gap unit={id} ordinal={ordinal} count={lost} cycle={cycle} phase={phase}\n")
            }
            Some(lost) => {
                format!("# gap unit={unit} ordinal={ordinal} count={lost} cycle={cycle} phase={phase}\n")
            }
            None => format!("{cycle}\t{id}\t{name}\t{phase}\t{transaction}\t{fifo}\t{value}\t{ordinal}\n"),
        }
    }

    fn run(&self) -> Run {
        let logs = self.clocks.iter().zip(&self.events).map(|((id, ..), events)| {
            let lines: String = events.iter().map(|event| self.line(event)).collect();
            header_of(self.name, &format!("clk{id}")) + &lines
        });
        named_run(self.name, &self.clocks, &self.units, logs.collect())
    }

    /// The row of the merged log, without the run's column.
    fn row(&self, event: &Event) -> String {
        let time = self.time(event);
        let ns = (&time * BigUint::from(1_000_000_000u32)).floor().to_integer();
        let Event { cycle, phase, name, rest: (transaction, fifo, value), ordinal, .. } = event;
        let (domain, unit) = (self.clock(event).0, &self.units[event.unit].1);
        format!(
            "{}\t{}\t{ns}\t{domain}\t{unit}\t{cycle}\t{name}\t{phase}\t{transaction}\t{fifo}\t{value}\t{ordinal}\n",
            time.numer(),
            time.denom(),
        )
    }
}

/// A pattern and what it means.
type Meaning = (&'static str, fn(&str) -> bool);

const UNITS: [Meaning; 4] = [
    ("*", |_| true),
    ("u[0-3]", |name| matches!(name, "u0" | "u1" | "u2" | "u3")),
    ("u5", |name| name == "u5"),
    ("v*", |name| name.starts_with('v')),
];
const DOMAINS: [Meaning; 3] = [
    ("clk9?", |name| name.len() == 5 && name.starts_with("clk9")),
    ("*3", |name| name.ends_with('3')),
    ("clk*", |name| name.starts_with("clk")),
];
const EVENTS: [Meaning; 3] = [
    ("user", |name| name == "user"),
    ("fifo.*", |name| name.starts_with("fifo.")),
    ("?????", |name| name.len() == 5),
];

/// A filter as its meaning: of patterns the indices.
#[derive(Clone, Debug)]
struct Asked {
    from: Option<(u64, u64)>,
    to: Option<(u64, u64)>,
    units: Vec<usize>,
    domains: Vec<usize>,
    events: Vec<usize>,
    transaction: Option<u64>,
}

impl Asked {
    fn filter(&self) -> Filter {
        let time = |time: Option<(u64, u64)>| time.map(|(num, den)| Seconds::from_ratio(num, den).unwrap());
        let patterns = |of: &[Meaning], chosen: &[usize]| -> Vec<Pattern> {
            chosen.iter().map(|at| Pattern::new(of[*at].0).unwrap()).collect()
        };
        Filter {
            from: time(self.from),
            to: time(self.to),
            domains: patterns(&DOMAINS, &self.domains),
            units: patterns(&UNITS, &self.units),
            events: patterns(&EVENTS, &self.events),
            transaction: self.transaction,
        }
    }

    fn takes(&self, run: &Recorded, event: &Event) -> bool {
        let any = |of: &[Meaning], chosen: &[usize], name: &str| {
            chosen.is_empty() || chosen.iter().any(|at| (of[*at].1)(name))
        };
        let time = run.time(event);
        let (_, unit, domain) = &run.units[event.unit];
        self.from.is_none_or(|from| time >= ratio(from))
            && self.to.is_none_or(|to| time < ratio(to))
            && any(&UNITS, &self.units, unit)
            && any(&DOMAINS, &self.domains, &format!("clk{}", run.clocks[*domain].0))
            // What was lost may have been any event.
            && (event.lost.is_some()
                || any(&EVENTS, &self.events, event.name)
                    && self.transaction.is_none_or(|wanted| wanted == event.rest.0))
    }
}

/// The merged log by the definition.
fn expected(runs: &[Recorded], asked: &Asked) -> String {
    let of = |run| move |event| (run, event);
    let mut taken: Vec<(&Recorded, &Event)> = runs
        .iter()
        .flat_map(|run| run.events.iter().flatten().map(of(run)))
        .filter(|(run, event)| asked.takes(run, event))
        .collect();
    taken.sort_by(|(run, a), (other, b)| -> Ordering {
        let rest = |run: &Recorded, e: &Event| {
            (run.name, e.phase, run.clock(e).0, run.units[e.unit].1.clone(), e.ordinal)
        };
        run.time(a).cmp(&other.time(b)).then_with(|| rest(run, a).cmp(&rest(other, b)))
    });
    let several = runs.len() > 1;
    let mut text = "time_num\ttime_den\tts\tdomain_id\tunit\tlocal_cycle\tevent\tphase\ttransaction_id\t\
                    fifo_id\tvalue\tordinal\n"
        .to_owned();
    if several {
        text.insert_str(0, "run\t");
    }
    for (run, event) in taken {
        if let Some(lost) = event.lost {
            // With the unit's name, and the run's where there are several.
            let Event { cycle, phase, ordinal, .. } = event;
            let run_id = if several { format!("run={} ", run.name) } else { String::new() };
            let unit = &run.units[event.unit].1;
            text += &format!(
                "# gap {run_id}unit={unit} ordinal={ordinal} count={lost} cycle={cycle} phase={phase}\n"
            );
        } else {
            if several {
                text += run.name;
                text.push('\t');
            }
            text += &run.row(event);
        }
    }
    text
}

/// Events of each unit in its own order, units interleaved by `turns`.
fn interleave(mut queues: Vec<Vec<Event>>, turns: &[usize]) -> Vec<Event> {
    queues.iter_mut().for_each(|queue| queue.reverse());
    let mut out = Vec::new();
    let mut turn = turns.iter().cycle();
    while queues.iter().any(|queue| !queue.is_empty()) {
        let at = turn.next().copied().unwrap_or(0) % queues.len();
        let at = (at..queues.len()).chain(0..at).find(|at| !queues[*at].is_empty()).unwrap();
        out.extend(queues[at].pop());
    }
    out
}

fn any_clock() -> impl Strategy<Value = ((u64, u64), (u64, u64))> {
    let span = prop_oneof![
        Just((1, 4_000_000_000)),
        Just((1, 1_000_000_000)),
        Just((1, 914_000_000)),
        (1u64..5000, 1u64..5_000_000_000),
        // Denominators whose common multiple fits neither 64 bits nor a lattice.
        (1u64..5000, any::<u64>().prop_map(|x| x | 1 << 63)),
    ];
    let phase = prop_oneof![Just((0, 1)), Just((137, 1_000_000_000_000)), (0u64..1000, 1_000_000_000u64..)];
    (span, phase)
}

/// The queue of each unit: what it does, in its own order.
fn queues(shapes: &[(Index, usize)], seed: u64) -> Vec<Vec<Event>> {
    let mut state = seed;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut queues: Vec<Vec<Event>> = Vec::new();
    for (unit, (_, count)) in shapes.iter().enumerate() {
        let (mut cycle, mut ordinal) = (random(3), random(2));
        let queue = (0..*count).map(|_| {
            let event = Event {
                unit,
                cycle,
                phase: random(2) as u8,
                name: if random(2) == 0 { "user" } else { "fifo.write" },
                rest: (random(4) * random(5_000_000_000) * random(5_000_000_000), random(9), random(2)),
                ordinal,
                lost: (random(9) == 0).then(|| 1 + random(5)),
            };
            cycle += random(3);
            ordinal += 1 + random(2);
            event
        });
        queues.push(queue.collect());
    }
    queues
}

fn any_run(name: &'static str) -> impl Strategy<Value = Recorded> {
    let clocks = proptest::collection::vec(any_clock(), 1..4);
    let shapes = proptest::collection::vec((any::<Index>(), 0usize..40), 1..7);
    (clocks, shapes, any::<u64>(), proptest::collection::vec(0usize..8, 1..40), any::<bool>()).prop_map(
        move |(clocks, shapes, seed, turns, sort)| {
            // Ids fall while indices rise, and names rank otherwise than ids.
            let clocks: Vec<Clock> =
                clocks.into_iter().enumerate().map(|(i, (p, q))| (97 - 7 * i as u32, p, q)).collect();
            let units: Vec<Unit> = shapes
                .iter()
                .enumerate()
                .map(|(i, (at, _))| (i as u64 + 1, format!("u{}", (i * 5) % 7), at.index(clocks.len())))
                .collect();
            let queues = queues(&shapes, seed);
            let events = (0..clocks.len()).map(|domain| {
                let own =
                    queues.iter().filter(|queue| queue.first().is_some_and(|e| units[e.unit].2 == domain));
                let mut events = interleave(own.cloned().collect(), &turns);
                if sort {
                    events.sort_by_key(|e| (e.cycle, e.phase, units[e.unit].1.clone(), e.ordinal));
                }
                // A unit whose phases fall within a cycle cannot be sorted without breaking its own order.
                keep_ordinals_rising(events, units.len())
            });
            let events = events.collect();
            Recorded { name, clocks, units, events }
        },
    )
}

fn keep_ordinals_rising(events: Vec<Event>, units: usize) -> Vec<Event> {
    let mut last = vec![None; units];
    let rises = |event: &Event, last: &mut Vec<Option<u64>>| {
        let rises = last[event.unit].is_none_or(|last| event.ordinal > last);
        if rises {
            last[event.unit] = Some(event.ordinal);
        }
        rises
    };
    events.into_iter().filter(|event| rises(event, &mut last)).collect()
}

/// One to three runs, whose names rank otherwise than their places.
fn any_runs() -> impl Strategy<Value = Vec<Recorded>> {
    let three = (any_run("run b"), any_run("run c"), any_run("run a"), 1usize..4);
    three.prop_map(|(b, c, a, count)| [b, c, a].into_iter().take(count).collect())
}

/// Runs and what of them is wanted: bounds at an edge of the first run or anywhere, patterns, a transaction.
fn any_job() -> impl Strategy<Value = (Vec<Recorded>, Asked)> {
    let time = || proptest::option::weighted(0.3, (0u64..60, 1u64..4_000_000_000));
    let some = |count: usize| proptest::collection::vec(0..count, 0..3);
    let chosen = (some(UNITS.len()), some(DOMAINS.len()), some(EVENTS.len()));
    let transaction = proptest::option::weighted(0.2, any::<Index>());
    (any_runs(), time(), time(), chosen, transaction, any::<[bool; 3]>()).prop_map(
        |(runs, from, to, (units, domains, events), transaction, narrow)| {
            // An exact edge where the numbers are small enough for one.
            let bound = |(cycle, other): (u64, u64)| {
                let (_, period, phase) = runs[0].clocks[0];
                let edge = ratio(phase) + ratio(period) * BigUint::from(cycle);
                let parts = (u64::try_from(edge.numer()), u64::try_from(edge.denom()));
                if let (Ok(num), Ok(den)) = parts { (num, den) } else { (cycle, other) }
            };
            let of = |on: bool, chosen: Vec<usize>| if on { chosen } else { Vec::new() };
            let all: Vec<&Event> = runs.iter().flat_map(|run| run.events.iter().flatten()).collect();
            let asked = Asked {
                from: from.map(bound),
                to: to.map(bound),
                units: of(narrow[0], units),
                domains: of(narrow[1], domains),
                events: of(narrow[2], events),
                transaction: transaction.filter(|_| !all.is_empty()).map(|at| at.get(&all).rest.0),
            };
            (runs, asked)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn the_merge_is_an_independent_sort_by_big_rationals(
        (runs, asked) in any_job(),
        memory in prop_oneof![8 => Just(256u64 << 20), 3 => Just(4096), 1 => Just(1)],
    ) {
        let opened: Vec<Run> = runs.iter().map(Recorded::run).collect();
        let options = MergeOptions { memory, filter: asked.filter(), ..MergeOptions::default() };
        let mut out = Vec::new();
        let report = merge(&opened, &options, TextFormat::Tsv, &mut out, &mut ()).unwrap();
        prop_assert_eq!(String::from_utf8(out).unwrap(), expected(&runs, &asked));
        let all = runs.iter().flat_map(|run| run.events.iter().flatten().map(move |event| (run, event)));
        let events: Vec<bool> =
            all.filter(|(_, event)| event.lost.is_none()).map(|(run, event)| asked.takes(run, event)).collect();
        let taken = events.iter().filter(|taken| **taken).count();
        prop_assert_eq!(report.events, taken as u64);
        prop_assert_eq!(report.filtered_events, (events.len() - taken) as u64);
    }
}
