//! What a simulation refuses, each time with a text that names the thing and what was expected.

use std::collections::BTreeSet;

use clockweave_model::{ClockDomain, Frequency, Seconds};
use clockweave_simulator::{
    Connection, Fifo, Ports, RunError, Simulation, Tick, TickResult, TopologyError, Unit,
};

/// Has whatever ports its test declares, and does nothing.
struct Idle;

impl Unit for Idle {
    fn tick(&mut self, _: &mut Tick<'_>) -> TickResult {
        Ok(())
    }
}

fn add(
    sim: &mut Simulation,
    domain: &str,
    name: &str,
    ports: impl FnOnce(&mut Ports<'_>),
) -> Result<(), TopologyError> {
    sim.add_unit(domain, name, |p| {
        ports(p);
        Idle
    })
}

/// Two domains with identical clocks, and units that have every kind of port.
fn base() -> Simulation {
    let mut sim = Simulation::new();
    sim.add_clock(1, "one", "1GHz").unwrap();
    sim.add_clock(2, "two", "1GHz").unwrap();
    let all = |p: &mut Ports<'_>| {
        p.fifo_out::<u64>("fifo_out");
        p.fifo_in::<u64>("fifo_in");
        p.out::<u64>("out");
        p.input::<u64>("in");
    };
    add(&mut sim, "one", "a", all).unwrap();
    add(&mut sim, "two", "b", all).unwrap();
    sim
}

#[track_caller]
fn refused<T: std::fmt::Debug, E: std::fmt::Display>(result: Result<T, E>, text: &str) {
    assert_eq!(result.err().map(|error| error.to_string()).as_deref(), Some(text));
}

#[test]
fn domains() {
    let mut sim = base();
    refused(sim.add_clock(1, "other", "1GHz"), "domain id 1 is used twice, by `one` and `other`");
    refused(
        sim.add_clock(3, "ONE", "1GHz"),
        "the domain name `ONE` is used twice (names differ by more than case), by id 1 and id 3",
    );
    let reserved = |id| {
        format!(
            "domain id {id} is reserved: 0 is the implicit domain, 4294967295 a request from outside the hardware"
        )
    };
    refused(sim.add_clock(0, "zero", "1GHz"), &reserved(0));
    refused(sim.add_clock(u32::MAX, "last", "1GHz"), &reserved(u32::MAX));
    refused(
        sim.add_clock(3, "Default", "1GHz"),
        "the domain name `Default` is reserved for the implicit domain",
    );
    for name in ["", ".", "..", "a/b", "a b", "ä"] {
        refused(
            sim.add_clock(3, name, "1GHz"),
            &format!(
                "`{name}` is no domain name: expected 1 to 128 ASCII letters, digits, `.`, `_` or `-`, and \
                 neither `.` nor `..`"
            ),
        );
    }
    assert!(sim.add_clock(3, &"x".repeat(129), "1GHz").is_err());
    assert!(sim.add_clock(3, &"x".repeat(128), "1GHz").is_ok());
}

#[test]
fn rates() {
    let mut sim = base();
    for (frequency, phase) in [
        ("0Hz", "0"),
        ("-1GHz", "0"),
        ("1/0 Hz", "0"),
        ("fast", "0"),
        ("1GHz", "-1ps"),
        ("1GHz", "soon"),
        ("", "0"),
    ] {
        let error = sim.add_clock_with_phase(3, "c", frequency, phase).unwrap_err().to_string();
        assert!(error.starts_with("domain `c`: "), "{error}");
    }
    assert!(Seconds::from_ratio(1, 0).is_err() && Frequency::from_ratio(1, 0).is_err());
    refused(
        ClockDomain::with_period(3, "c", Seconds::ZERO, Seconds::ZERO),
        "domain `c`: the period is zero; expected more than zero",
    );
}

#[test]
fn units() {
    let mut sim = base();
    refused(add(&mut sim, "one", "a", |_| ()), "the unit name `a` is used twice");
    refused(add(&mut sim, "three", "c", |_| ()), "unit `c`: there is no clock domain `three`");
    refused(
        add(&mut sim, "one", "", |_| ()),
        "`` is no unit name: expected 1 to 128 printable ASCII characters",
    );
    refused(
        add(&mut sim, "one", "c\n", |_| ()),
        "`c\n` is no unit name: expected 1 to 128 printable ASCII characters",
    );
    refused(
        add(&mut sim, "one", "c", |p| {
            p.out::<u64>("x");
            p.input::<u64>("x");
        }),
        "unit `c` declares the port `x` twice",
    );
    refused(
        add(&mut sim, "one", "c", |p| {
            p.out::<u64>("x.y");
        }),
        "unit `c`: `x.y` is no port name: expected printable ASCII characters without `.`",
    );
    refused(sim.move_unit("c", "two"), "there is no unit `c`");
    refused(sim.move_unit("a", "three"), "unit `a`: there is no clock domain `three`");
    refused(Simulation::new().start(), "the simulation has no units");
}

#[test]
fn fifos() {
    let mut sim = base();
    let (from, to) = ("a.fifo_out", "b.fifo_in");
    refused(sim.add_fifo(Fifo::new(0), from, to), "FIFO id 0 stands for no FIFO; expected 1 or more");
    for depth in [0, 1, 3, 12, (1 << 30) + 1, 1 << 31, u32::MAX] {
        refused(
            sim.add_fifo(Fifo::new(1).depth(depth), from, to),
            &format!("FIFO 1: depth {depth}: expected a power of two from 2 to 2^30"),
        );
    }
    for stages in [0, 1, 65, u32::MAX] {
        refused(
            sim.add_fifo(Fifo::new(1).stages(stages), from, to),
            &format!("FIFO 1: {stages} synchronizer stages: expected 2 to 64"),
        );
    }
    refused(
        sim.add_fifo(Fifo::new(1).name(""), from, to),
        "FIFO 1: `` is no name: expected 1 to 128 printable ASCII characters",
    );
    // Nothing that was refused took the id or the ports.
    sim.add_fifo(Fifo::new(1).depth(2).stages(64), from, to).unwrap();
    refused(sim.add_fifo(Fifo::new(1), "b.fifo_out", "a.fifo_in"), "FIFO id 1 is used twice");
    refused(
        sim.add_fifo(Fifo::new(2), from, "a.fifo_in"),
        "`a.fifo_out` is already joined; a FIFO end belongs to one FIFO",
    );
    refused(
        sim.add_fifo(Fifo::new(2), "b.fifo_out", to),
        "`b.fifo_in` is already joined; a FIFO end belongs to one FIFO",
    );
}

#[test]
fn ports() {
    let mut sim = base();
    refused(
        sim.add_fifo(Fifo::new(1), "a.out", "b.fifo_in"),
        "`a.out` is the sending end of a connection; expected the writing end of a FIFO",
    );
    refused(
        sim.add_fifo(Fifo::new(1), "b.fifo_in", "a.fifo_out"),
        "`b.fifo_in` is the reading end of a FIFO; expected the writing end of a FIFO",
    );
    refused(
        sim.connect(Connection::delayed(1), "a.out", "a.fifo_in"),
        "`a.fifo_in` is the reading end of a FIFO; expected the receiving end of a connection",
    );
    refused(
        sim.connect(Connection::delayed(1), "a.in", "a.out"),
        "`a.in` is the receiving end of a connection; expected the sending end of a connection",
    );
    refused(
        sim.connect(Connection::delayed(1), "a.uot", "a.in"),
        "there is no port `a.uot`; expected UNIT.PORT with one of the ports of `a`: fifo_in, fifo_out, in, out",
    );
    for path in ["c.out", "out", ""] {
        refused(
            sim.connect(Connection::delayed(1), path, "a.in"),
            &format!("there is no port `{path}`; expected UNIT.PORT with the name of a unit that was added"),
        );
    }
    add(&mut sim, "one", "bare", |_| ()).unwrap();
    refused(
        sim.connect(Connection::delayed(1), "bare.out", "a.in"),
        "there is no port `bare.out`; expected UNIT.PORT with a port, but unit `bare` has none",
    );
    refused(
        sim.connect(Connection::delayed(1).capacity(0), "a.out", "a.in"),
        "connection `a.out` to `a.in`: capacity 0; expected 1 to 2^32 messages",
    );
    refused(
        sim.connect(Connection::delayed(1).capacity((1 << 32) + 1), "a.out", "a.in"),
        "connection `a.out` to `a.in`: capacity 4294967297; expected 1 to 2^32 messages",
    );
    add(&mut sim, "one", "small", |p| {
        p.input::<u8>("in");
        p.fifo_in::<u8>("fifo_in");
    })
    .unwrap();
    refused(
        sim.connect(Connection::delayed(1), "a.out", "small.in"),
        "`a.out` carries u64 but `small.in` carries u8",
    );
    refused(
        sim.add_fifo(Fifo::new(1), "a.fifo_out", "small.fifo_in"),
        "`a.fifo_out` carries u64 but `small.fifo_in` carries u8",
    );
    sim.connect(Connection::delayed(u64::MAX), "a.out", "a.in").unwrap();
    add(&mut sim, "one", "c", |p| {
        p.input::<u64>("in");
    })
    .unwrap();
    refused(
        sim.connect(Connection::delayed(1), "a.out", "c.in"),
        "`a.out` is already joined; several connections need a port declared by `Ports::fan_out`",
    );
}

#[test]
fn unbound_ports() {
    /// Declares one port that nobody joins.
    type Declare = fn(&mut Ports<'_>);
    let cases: [(Declare, &str); 4] = [
        (|p| _ = p.fifo_out::<u64>("x"), "the writing end of a FIFO"),
        (|p| _ = p.fifo_in::<u64>("x"), "the reading end of a FIFO"),
        (|p| _ = p.fan_out::<u64>("x"), "the sending end of a connection"),
        (|p| _ = p.input::<u64>("x"), "the receiving end of a connection"),
    ];
    for (ports, direction) in cases {
        let mut sim = Simulation::new();
        sim.add_clock(1, "one", "1GHz").unwrap();
        add(&mut sim, "one", "u", ports).unwrap();
        let text = format!("`u.x` ({direction}) is joined to nothing");
        refused(sim.run_batches(1), &text);
        // Refused for good, with the same text.
        refused(sim.start(), &text);
        refused(add(&mut sim, "one", "v", |_| ()), &text);
        assert!(sim.inspect().is_none());
    }
}

/// Units of one domain with zero-delay connections as given, created in the order in which they are named.
fn zero_delay(edges: &[(&str, &str)]) -> Result<(), RunError> {
    let mut sim = Simulation::new();
    sim.add_clock(1, "one", "1GHz").unwrap();
    let mut known = BTreeSet::new();
    let names = edges.iter().flat_map(|(from, to)| [*from, *to]);
    for name in names.filter(|name| known.insert(*name)) {
        add(&mut sim, "one", name, |p| {
            if edges.iter().any(|(from, _)| *from == name) {
                p.fan_out::<u64>("out");
            }
            if edges.iter().any(|(_, to)| *to == name) {
                p.input::<u64>("in");
            }
        })
        .unwrap();
    }
    for (from, to) in edges {
        sim.connect(Connection::delayed(0), &format!("{from}.out"), &format!("{to}.in")).unwrap();
    }
    sim.start()
}

/// The units of the cycle are named in its order from the smallest name on, whatever was created first.
#[test]
fn zero_delay_cycles_are_named() {
    refused(
        zero_delay(&[("a", "a")]),
        "the zero-delay connections form a cycle: a -> a; one of them needs a delay",
    );
    let mut edges = [("in", "x"), ("x", "b"), ("b", "y"), ("y", "x"), ("y", "out")];
    for _ in 0..edges.len() {
        edges.rotate_left(1);
        refused(
            zero_delay(&edges),
            "the zero-delay connections form a cycle: b -> y -> x -> b; one of them needs a delay",
        );
    }
    zero_delay(&[("a", "b"), ("b", "d"), ("a", "c"), ("c", "d")]).unwrap();
}

#[test]
fn a_connection_across_domains_needs_a_fifo_even_between_identical_clocks() {
    let mut sim = Simulation::new();
    sim.add_clock(1, "one", "1GHz").unwrap();
    sim.add_clock(2, "two", "1GHz").unwrap();
    add(&mut sim, "one", "a", |p| {
        p.out::<u64>("out");
    })
    .unwrap();
    add(&mut sim, "two", "b", |p| {
        p.input::<u64>("in");
    })
    .unwrap();
    sim.connect(Connection::delayed(1), "a.out", "b.in").unwrap();
    refused(
        sim.start(),
        "`a.out` is in domain `one` and `b.in` in `two`: an ordinary connection joins two units of one domain, \
         also where the clocks are identical; crossing needs a FIFO",
    );

    // A unit that is moved takes its connections along.
    let mut sim = Simulation::new();
    sim.add_clock(1, "one", "1GHz").unwrap();
    sim.add_clock(2, "two", "1GHz").unwrap();
    for name in ["a", "b"] {
        add(&mut sim, "one", name, |p| {
            p.out::<u64>("out");
            p.input::<u64>("in");
        })
        .unwrap();
    }
    sim.connect(Connection::delayed(1), "a.out", "b.in").unwrap();
    sim.connect(Connection::delayed(1), "b.out", "a.in").unwrap();
    sim.move_unit("b", "two").unwrap();
    sim.move_unit("a", "two").unwrap();
    sim.start().unwrap();
    assert_eq!(
        sim.run_domain_cycles("one", 1).unwrap_err().to_string(),
        "there is no clock domain `one` with units"
    );
}

#[test]
fn nothing_changes_after_the_start() {
    let mut sim = Simulation::new();
    sim.add_clock(1, "one", "1GHz").unwrap();
    add(&mut sim, "one", "a", |_| ()).unwrap();
    sim.run_batches(0).unwrap();
    let fixed =
        |what: &str| format!("{what} after the simulation started; the topology is fixed from then on");
    refused(sim.add_clock(2, "two", "1GHz"), &fixed("domain `two` was added"));
    let domain = ClockDomain::new(2, "two", "1GHz".parse().unwrap(), Seconds::ZERO).unwrap();
    refused(sim.add_domain(domain), &fixed("domain `two` was added"));
    refused(
        sim.set_default_frequency(Frequency::from_hz(5).unwrap()),
        &fixed("the default frequency was set"),
    );
    refused(add(&mut sim, "one", "b", |_| ()), &fixed("unit `b` was added"));
    refused(sim.move_unit("a", "one"), &fixed("unit `a` was moved to domain `one`"));
    refused(sim.add_fifo(Fifo::new(1), "a.x", "a.y"), &fixed("a FIFO from `a.x` was added"));
    refused(sim.connect(Connection::delayed(1), "a.x", "a.y"), &fixed("a connection from `a.x` was added"));
    let options = clockweave_simulator::RecordingOptions::new(std::path::Path::new("nowhere"), "run");
    refused(sim.record(options), &fixed("recording was asked for"));
    assert_eq!(sim.run_batches(3).unwrap().batches, 3);
}

#[test]
fn kinds_have_one_shape() {
    let mut sim = Simulation::new();
    sim.add_clock(1, "one", "1GHz").unwrap();
    add(&mut sim, "one", "a", |p| _ = (p.event("load"), p.event("load"))).unwrap();
    add(&mut sim, "one", "b", |p| _ = p.counter("load")).unwrap();
    refused(sim.start(), "the kind `load` is declared as an event and as a counter");
}

#[test]
fn the_implicit_domain_is_for_simulations_without_domains() {
    let mut sim = Simulation::new();
    add(&mut sim, "DEFAULT", "a", |_| ()).unwrap();
    // Set after the first unit, it still counts.
    sim.set_default_frequency(Frequency::from_ratio(5, 3).unwrap()).unwrap();
    add(&mut sim, "default", "b", |_| ()).unwrap();
    sim.run_batches(4).unwrap();
    let seen = sim.inspect().unwrap();
    assert_eq!(seen.domain_cycles("default"), Some(4));
    assert_eq!(seen.last_committed().to_ratio(), crate::clocks::exact(9, 5));

    let mut sim = Simulation::new();
    add(&mut sim, "default", "a", |_| ()).unwrap();
    sim.run_batches(4).unwrap();
    assert_eq!(sim.inspect().unwrap().last_committed().to_ratio(), crate::clocks::exact(3, 1_000_000_000));

    // Whichever comes first, the two do not mix.
    let mut sim = Simulation::new();
    sim.add_clock(1, "one", "1GHz").unwrap();
    refused(add(&mut sim, "default", "a", |_| ()), "unit `a`: there is no clock domain `default`");
    let mut sim = Simulation::new();
    add(&mut sim, "default", "a", |_| ()).unwrap();
    sim.add_clock(1, "one", "1GHz").unwrap();
    refused(
        sim.start(),
        "unit `a` is in the implicit domain `default`, which exists only where no domain is declared; `one` is",
    );
}
