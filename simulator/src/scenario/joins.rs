//! FIFOs and connections of a scenario, and what they say of the units' ports.

use std::collections::{BTreeMap, BTreeSet};

use clockweave_model::check_printable;

use super::error::{Fault, cut};
use super::fields::{Fields, in_order};
use super::model::{Model, closest_port};
use super::parts::UnitPlan;
use super::tree::{At, Located, Node, Table, Value};
use crate::circuit::AsyncFifo;
use crate::graph::{Connection, Fifo, TopologyError, canonical_order};
use crate::models::Joint;

/// An end, as written and where.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub(super) path: String,
    pub(super) at: At,
}

impl End {
    fn split(&self) -> (&str, &str) {
        self.path.rsplit_once('.').expect("an end is read as UNIT.PORT")
    }
}

#[derive(Clone, Debug)]
pub(super) struct FifoPlan {
    pub(super) fifo: Fifo,
    pub(super) from: End,
    pub(super) to: End,
    pub(super) at: At,
}

#[derive(Clone, Debug)]
pub(super) struct LinkPlan {
    pub(super) connection: Connection,
    pub(super) delay: u64,
    pub(super) from: End,
    pub(super) to: End,
    pub(super) at: At,
}

/// What a port of a unit is joined by, and where that was written.
pub(super) struct Joined {
    pub(super) joint: Joint,
    pub(super) sends: bool,
    pub(super) at: At,
}

const END: &str = "UNIT.PORT, as in \"producer.out\"";

fn read_end(fields: &Fields<'_>, key: &str) -> Result<End, Located> {
    let path = fields.need_text(key, END)?;
    match path.rsplit_once('.') {
        Some((unit, port)) if !unit.is_empty() && !port.is_empty() => {
            Ok(End { path: path.to_owned(), at: fields.at_key(key) })
        }
        _ => Err(fields.bad(key, END)),
    }
}

pub(super) fn read_fifos(fields: &Fields<'_>) -> Result<Vec<FifoPlan>, Located> {
    let Some(node) = fields.get("fifos") else { return Ok(Vec::new()) };
    let mut fifos = Vec::new();
    for (key, entry) in in_order(Fields::table(node, "`fifos`")?) {
        // `01` would be a second name of FIFO 1.
        let Some(id) = key.parse::<u32>().ok().filter(|id| *id > 0 && id.to_string() == key) else {
            let (what, found) = ("a FIFO's id".to_owned(), format!("`{}`", cut(key)));
            let expected = "a number from 1 to 4294967295, as in [fifos.1]".to_owned();
            return Err(Located::new(entry.key_at, Fault::Value { what, found, expected }));
        };
        let owner = format!("FIFO {id}");
        let table = Fields::table(&entry.node, &owner)?;
        let fields = Fields::new(table, entry.key_at, &owner, &["name", "depth", "stages", "from", "to"])?;
        let (depth, stages) = read_circuit(&fields)?;
        let mut fifo = Fifo::new(id).depth(depth).stages(stages);
        let expected = "a name of 1 to 128 printable ASCII characters";
        if let Some(name) = fields.text("name", expected)? {
            if !check_printable(name, 128) {
                return Err(fields.bad("name", expected));
            }
            fifo = fifo.name(name);
        }
        let (from, to) = (read_end(&fields, "from")?, read_end(&fields, "to")?);
        fifos.push(FifoPlan { fifo, from, to, at: entry.key_at });
    }
    Ok(fifos)
}

/// Depth and stages of a FIFO.
pub(super) fn read_circuit(fields: &Fields<'_>) -> Result<(u32, u32), Located> {
    let depth = fields.integer("depth", 0..=u64::from(u32::MAX))?.unwrap_or(16) as u32;
    let stages = fields.integer("stages", 0..=u64::from(u32::MAX))?.unwrap_or(2) as u32;
    AsyncFifo::check(depth, 2).map_err(|_| fields.bad("depth", "a power of two from 2 to 1073741824"))?;
    AsyncFifo::check(2, stages).map_err(|_| fields.bad("stages", "a whole number from 2 to 64"))?;
    Ok((depth, stages))
}

pub(super) fn read_links(fields: &Fields<'_>) -> Result<Vec<LinkPlan>, Located> {
    let items = match fields.get("connections") {
        None => return Ok(Vec::new()),
        Some(Node { value: Value::List(items), .. }) => items,
        Some(_) => return Err(fields.bad("connections", "a list, as in [[connections]]")),
    };
    let read = |(index, node): (usize, &Node)| {
        let owner = format!("connection {index}");
        let table = Fields::table(node, &owner)?;
        let fields = Fields::new(table, node.at, &owner, &["from", "to", "delay", "capacity"])?;
        let delay = fields.integer("delay", 0..=u64::MAX)?.unwrap_or(1);
        let mut connection = Connection::delayed(delay);
        if let Some(capacity) = fields.integer("capacity", 1..=1 << 32)? {
            connection = connection.capacity(capacity);
        }
        let (from, to) = (read_end(&fields, "from")?, read_end(&fields, "to")?);
        Ok(LinkPlan { connection, delay, from, to, at: node.at })
    };
    items.iter().enumerate().map(read).collect()
}

type Ports<'a> = BTreeMap<&'a str, Joined>;

/// The joined ports of every unit.
pub(super) fn ports_by_unit<'a>(
    units: &Table,
    fifos: &'a [FifoPlan],
    links: &'a [LinkPlan],
) -> Result<BTreeMap<&'a str, Ports<'a>>, Located> {
    let fifos = fifos.iter().map(|fifo| (&fifo.from, &fifo.to, Joint::Fifo));
    let links = links.iter().map(|link| (&link.from, &link.to, Joint::Connection));
    let pairs = fifos.chain(links);
    let mut ends: Vec<_> =
        pairs.flat_map(|(from, to, joint)| [(from, true, joint), (to, false, joint)]).collect();
    // What was written first is right, so that a contradiction is reported at the later place.
    ends.sort_by_key(|(end, _, _)| end.at);
    let mut ports: BTreeMap<&str, Ports<'_>> = BTreeMap::new();
    for (end, sends, joint) in ends {
        let (unit, port) = end.split();
        if !units.contains_key(unit) {
            let known = units.keys().map(String::as_str);
            return Err(Located::new(end.at, Fault::unknown_name("unit", unit, known)));
        }
        let joined = Joined { joint, sends, at: end.at };
        let taken = ports.entry(unit).or_default().insert(port, joined);
        let hint = match taken.map(|taken| taken.joint) {
            None => continue,
            Some(Joint::Connection) if joint == Joint::Connection => continue,
            Some(Joint::Fifo) if joint == Joint::Fifo => "a FIFO end belongs to one FIFO",
            Some(_) => "a port is joined by FIFOs or by connections, not by both",
        };
        let port = cut(&end.path);
        return Err(Located::new(end.at, TopologyError::AlreadyJoined { port, hint }));
    }
    Ok(ports)
}

/// Checks that a unit's joined ports are ports of its model.
pub(super) fn check_ports(unit: &str, model: &Model, ports: &Ports<'_>) -> Result<(), Located> {
    for (port, joined) in ports {
        if !model.has_port(port, joined.sends) {
            let direction = if joined.sends { "sending" } else { "receiving" };
            let fault = Fault::UnknownName {
                what: format!("{direction} port of unit `{}` (model `{}`)", cut(unit), model.name),
                name: cut(port),
                suggestion: closest_port(port, model, joined.sends),
                expected: model.port_names(joined.sends).into_iter().map(str::to_owned).collect(),
            };
            return Err(Located::new(joined.at, fault));
        }
    }
    Ok(())
}

/// Checks that every port that a unit's model needs is joined.
pub(super) fn check_needs(unit: &str, model: &Model, ports: &Ports<'_>, at: At) -> Result<(), Located> {
    match model.missing_port(ports.keys().copied()) {
        None => Ok(()),
        Some(port) => {
            let direction = if port == "in" { "a receiving end" } else { "a sending end" };
            Err(Located::new(at, TopologyError::Unbound { port: format!("{unit}.{port}"), direction }))
        }
    }
}

/// Checks that connections stay within a domain and that those without delay form no cycle.
pub(super) fn check(units: &[UnitPlan], links: &[LinkPlan]) -> Result<(), Located> {
    let domains: BTreeMap<&str, (usize, &str)> =
        units.iter().enumerate().map(|(at, unit)| (unit.name.as_str(), (at, unit.domain.as_str()))).collect();
    let mut direct = Vec::new();
    for link in links {
        let (from, to) = (domains[link.from.split().0], domains[link.to.split().0]);
        if from.1 != to.1 {
            let fault = TopologyError::CrossDomain {
                from: link.from.path.clone(),
                from_domain: from.1.to_owned(),
                to: link.to.path.clone(),
                to_domain: to.1.to_owned(),
            };
            return Err(Located::new(link.at, fault));
        }
        if link.delay == 0 {
            direct.push((from.0, to.0));
        }
    }
    let names: Vec<&str> = units.iter().map(|unit| unit.name.as_str()).collect();
    let Err(cycle) = canonical_order(&names, &direct) else { return Ok(()) };
    let members: BTreeSet<&str> = cycle.iter().map(|&at| names[at]).collect();
    let within = |link: &&LinkPlan| {
        link.delay == 0 && [&link.from, &link.to].iter().all(|end| members.contains(end.split().0))
    };
    let at = links.iter().find(within).expect("a cycle is made of connections").at;
    let units = cycle.into_iter().map(|at| names[at].to_owned()).collect();
    Err(Located::new(at, TopologyError::ZeroDelayCycle { units }))
}
