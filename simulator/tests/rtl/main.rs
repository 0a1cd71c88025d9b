//! The clock-crossing FIFO against the same circuit as ordinary SystemVerilog, run by Verilator: the
//! same accepted writes and reads, taken values and flags on every instant, and the same instants.
//!
//! The two share nothing but the definition of the traffic: the RTL is a textbook FIFO of always
//! blocks, and its testbench orders the edges by 128-bit integers of its own. Faults put into the RTL
//! must show.

mod model;
mod simulated;

use model::{Instance, Model};

/// Who is active when: the traffic patterns of scenarios, where an active sink takes and then requests,
/// and one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    Continuous,
    Burst,
    Random,
    /// The source of `Random`, and a sink that takes and requests independently of each other, so that
    /// requests also find the output register occupied.
    Apart,
}

const PATTERNS: [Pattern; 4] = [Pattern::Continuous, Pattern::Burst, Pattern::Random, Pattern::Apart];

/// Two clocks and a traffic pattern for all FIFOs of a model.
#[derive(Clone, Copy, Debug)]
struct Case {
    write_mhz: u32,
    read_mhz: u32,
    read_phase_ps: u32,
    pattern: Pattern,
    batches: usize,
}

/// What can be seen of one FIFO at one instant; the flags are those after the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    written: bool,
    read: bool,
    taken: Option<u64>,
    full: bool,
    empty: bool,
    valid: bool,
}

/// One instant with an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Instant {
    write_edge: bool,
    read_edge: bool,
    fifos: Vec<Seen>,
}

/// Write and read clock in MHz: equal, whole multiples, small ratios, nearly equal and incommensurable,
/// with the faster clock on either side.
const CLOCKS: [(u32, u32); 9] = [
    (1000, 1000),
    (2000, 500),
    (500, 2000),
    (1500, 1000),
    (1000, 1500),
    (1000, 600),
    (1000, 1001),
    (914, 1326),
    (1326, 914),
];

/// The first instant at which `rtl` differs from `simulated` in FIFO `index`, described.
fn difference(
    case: &Case,
    index: usize,
    instance: &Instance,
    ours: &[Instant],
    rtl: &[Instant],
) -> Option<String> {
    const BEFORE: usize = 8;
    let view = |instant: &Instant| (instant.write_edge, instant.read_edge, instant.fifos[index]);
    let at = (0..ours.len().max(rtl.len())).find(|&at| ours.get(at).map(view) != rtl.get(at).map(view))?;
    let mut text = format!("{case:?}, {instance:?}, instant {at}; write edge, read edge, state:\n");
    for at in at.saturating_sub(BEFORE)..=at {
        for (who, instants) in [("simulator", ours), ("RTL", rtl)] {
            text += &format!("{at:>6} {who:>9} {:?}\n", instants.get(at).map(view));
        }
    }
    Some(text)
}

#[test]
fn the_rtl_agrees_edge_by_edge() {
    let instances: Vec<Instance> =
        (1..=6).flat_map(|log| (2..=5).map(move |stages| Instance::faultless(1 << log, stages))).collect();
    let model = Model::build("twins", &instances, &[]);
    let (mut filled, mut emptied) = (vec![false; instances.len()], vec![false; instances.len()]);
    for (write_mhz, read_mhz) in CLOCKS {
        for read_phase_ps in [0, 1, 137, 500] {
            for pattern in PATTERNS {
                let case = Case { write_mhz, read_mhz, read_phase_ps, pattern, batches: 3000 };
                let (ours, rtl) = (simulated::run(&case, &instances), model.run(&case));
                assert_eq!(ours.len(), case.batches);
                for (index, instance) in instances.iter().enumerate() {
                    if let Some(text) = difference(&case, index, instance, &ours, &rtl) {
                        panic!("the RTL differs: {text}");
                    }
                }
                for index in 0..instances.len() {
                    let begun = ours.iter().position(|instant| instant.fifos[index].taken == Some(50));
                    let rest = &ours[begun.unwrap_or_else(|| panic!("too little traffic: {case:?}"))..];
                    filled[index] |= rest.iter().any(|instant| instant.fifos[index].full);
                    emptied[index] |= rest.iter().any(|instant| instant.fifos[index].empty);
                }
            }
        }
    }
    assert!(filled.iter().chain(&emptied).all(|&seen| seen), "{filled:?}, {emptied:?}");
}

/// A fault in one line of the RTL.
struct Fault {
    name: &'static str,
    right: &'static str,
    wrong: &'static str,
}

const FAULTS: [Fault; 10] = [
    Fault {
        name: "full compares without inverting the top two bits",
        right: "wgray_next == (rgray_in_w ^ TOP_TWO)",
        wrong: "wgray_next == rgray_in_w",
    },
    Fault {
        name: "full compares the pointer before the write",
        right: "wgray_next == (rgray_in_w ^ TOP_TWO)",
        wrong: "wgray == (rgray_in_w ^ TOP_TWO)",
    },
    Fault {
        name: "empty compares the pointer before the read",
        right: "rgray_next == wgray_in_r",
        wrong: "rgray == wgray_in_r",
    },
    Fault {
        name: "empty compares the pointer of the other domain, unsynchronized",
        right: "rgray_next == wgray_in_r",
        wrong: "rgray_next == wgray",
    },
    Fault {
        name: "one synchronizer stage fewer",
        right: "q = chain[STAGES-1]",
        wrong: "q = chain[STAGES-2]",
    },
    Fault {
        name: "the write pointer crosses before its register",
        right: ".d(wgray)",
        wrong: ".d(wgray_next)",
    },
    Fault {
        name: "the read pointer crosses before its register",
        right: ".d(rgray)",
        wrong: ".d(rgray_next)",
    },
    Fault { name: "the read pointer crosses in binary", right: ".d(rgray)", wrong: ".d(rbin)" },
    Fault { name: "a read waits for an empty output register", right: "(!valid || take)", wrong: "!valid" },
    Fault { name: "a read overwrites the output register", right: "(!valid || take)", wrong: "1'b1" },
];

#[test]
fn a_fault_in_the_rtl_shows() {
    let shapes = [(2, 2), (8, 3)];
    let mut instances = Vec::new();
    for fault in [None].into_iter().chain((0..FAULTS.len()).map(Some)) {
        instances.extend(shapes.map(|(depth, stages)| Instance { depth, stages, fault }));
    }
    let model = Model::build("faults", &instances, &FAULTS);
    let mut shown = [false; FAULTS.len()];
    for (write_mhz, read_mhz, read_phase_ps) in [(914, 1326, 137), (1326, 914, 137), (1500, 1000, 0)] {
        for pattern in PATTERNS {
            let case = Case { write_mhz, read_mhz, read_phase_ps, pattern, batches: 1000 };
            let (ours, rtl) = (simulated::run(&case, &instances), model.run(&case));
            for (index, instance) in instances.iter().enumerate() {
                let difference = difference(&case, index, instance, &ours, &rtl);
                match (instance.fault, difference) {
                    (None, Some(text)) => panic!("the faultless RTL differs: {text}"),
                    (Some(fault), Some(_)) => shown[fault] = true,
                    (_, None) => {}
                }
            }
        }
    }
    let hidden: Vec<&str> =
        FAULTS.iter().zip(shown).filter(|(_, shown)| !shown).map(|(fault, _)| fault.name).collect();
    assert!(hidden.is_empty(), "faults that did not show: {hidden:?}");
}

#[test]
fn a_missing_verilator_names_its_package() {
    let error = model::version_of("no-such-verilator").unwrap_err();
    assert!(error.contains("no-such-verilator") && error.contains("apt-get install -y verilator"), "{error}");
}
