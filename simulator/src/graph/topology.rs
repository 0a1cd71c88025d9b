//! The graph before start: what was added, and its checks.
//!
//! Everything is collected by name and in any order; [`Topology::assemble`] ranks domains, units and
//! FIFOs canonically, so that nothing after it depends on the order of creation.

use std::collections::{BTreeMap, BTreeSet};

use clockweave_model::{
    ClockDomain, ClockDomains, Frequency, IMPLICIT_DOMAIN, IMPLICIT_NAME, KindTable, MachineEntry,
    check_printable,
};

use super::fabric::{Binding, Fabric, FifoSlot, Group, UnitSlot};
use super::link::{Connection, Link, MAX_CAPACITY};
use super::order::canonical_order;
use super::ports::{Declarations, Direction, Port, Ports};
use super::tick::Tick;
use super::topology_error::TopologyError;
use super::unit::Unit;
use crate::circuit::AsyncFifo;

const MAX_NAME: usize = 128;

/// A clock-crossing FIFO to be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fifo {
    id: u32,
    name: Option<String>,
    depth: u32,
    stages: u32,
}

impl Fifo {
    /// FIFO `id` of 16 entries and two synchronizer stages, named `fifo` and its id.
    pub fn new(id: u32) -> Self {
        Self { id, name: None, depth: 16, stages: 2 }
    }

    /// Sets the depth: a power of two from 2 to 2^30.
    #[must_use]
    pub fn depth(mut self, entries: u32) -> Self {
        self.depth = entries;
        self
    }

    /// Sets the registers of each synchronizer: 2 to 64.
    #[must_use]
    pub fn stages(mut self, stages: u32) -> Self {
        self.stages = stages;
        self
    }

    /// Sets the name shown in traces.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }
}

struct PlannedUnit {
    name: String,
    domain: u32,
    may_stop: bool,
    body: Box<dyn Unit>,
}

struct PlannedFifo {
    fifo: Fifo,
    from: u32,
    to: u32,
}

struct PlannedLink {
    connection: Connection,
    from: u32,
    to: u32,
}

/// A FIFO as recordings describe it.
pub(crate) struct FifoFacts {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) depth: u32,
    pub(crate) stages: u32,
    pub(crate) writer: u32,
    pub(crate) reader: u32,
}

/// A started graph: everything in canonical order.
pub(crate) struct Assembly {
    pub(crate) domains: Vec<ClockDomain>,
    /// The units of each domain.
    pub(crate) groups: Vec<Group>,
    pub(crate) cx: Tick<'static>,
    pub(crate) kinds: KindTable,
    pub(crate) fifos: Vec<FifoFacts>,
    pub(crate) machines: Vec<MachineEntry>,
}

/// The graph before start.
#[derive(Default)]
pub(crate) struct Topology {
    domains: ClockDomains,
    implicit: Option<Frequency>,
    units: Vec<PlannedUnit>,
    unit_names: BTreeMap<String, u32>,
    declarations: Declarations,
    port_names: BTreeMap<(u32, String), u32>,
    fifos: Vec<PlannedFifo>,
    fifo_ids: BTreeSet<u32>,
    links: Vec<PlannedLink>,
    joined: BTreeSet<u32>,
}

impl Topology {
    pub(crate) fn add_domain(&mut self, domain: ClockDomain) -> Result<(), TopologyError> {
        Ok(self.domains.insert(domain)?)
    }

    pub(crate) fn implicit_frequency(&mut self, frequency: Frequency) {
        self.implicit = Some(frequency);
    }

    /// The id of a domain by name; the implicit domain exists where none was declared.
    fn domain_id(&self, unit: &str, name: &str) -> Result<u32, TopologyError> {
        if self.domains.is_empty() && name.eq_ignore_ascii_case(IMPLICIT_NAME) {
            return Ok(IMPLICIT_DOMAIN);
        }
        let unknown = || TopologyError::UnknownDomain { unit: unit.to_owned(), domain: name.to_owned() };
        self.domains.by_name(name).map(ClockDomain::id).ok_or_else(unknown)
    }

    pub(crate) fn add_unit<U: Unit>(
        &mut self,
        domain: &str,
        name: &str,
        build: impl FnOnce(&mut Ports<'_>) -> U,
    ) -> Result<(), TopologyError> {
        if !check_printable(name, MAX_NAME) {
            return Err(TopologyError::UnitName { name: cut(name) });
        }
        if self.unit_names.contains_key(name) {
            return Err(TopologyError::DuplicateUnit { name: name.to_owned() });
        }
        let domain = self.domain_id(name, domain)?;
        let unit = self.units.len() as u32;
        let (first, series) = (self.declarations.ports.len(), self.declarations.series.len());
        let mut ports = Ports::new(&mut self.declarations, unit);
        let body = Box::new(build(&mut ports));
        let may_stop = ports.stops();
        if let Err(error) = check_ports(name, &self.declarations.ports[first..]) {
            self.declarations.ports.truncate(first);
            self.declarations.series.truncate(series);
            return Err(error);
        }
        let declared = self.declarations.ports[first..].iter().zip(first as u32..);
        self.port_names.extend(declared.map(|(port, index)| ((unit, port.name.clone()), index)));
        self.unit_names.insert(name.to_owned(), unit);
        self.units.push(PlannedUnit { name: name.to_owned(), domain, may_stop, body });
        Ok(())
    }

    pub(crate) fn move_unit(&mut self, name: &str, domain: &str) -> Result<(), TopologyError> {
        let domain = self.domain_id(name, domain)?;
        let unknown = || TopologyError::UnknownUnit { name: name.to_owned() };
        let unit = *self.unit_names.get(name).ok_or_else(unknown)?;
        self.units[unit as usize].domain = domain;
        Ok(())
    }

    pub(crate) fn add_fifo(&mut self, fifo: Fifo, from: &str, to: &str) -> Result<(), TopologyError> {
        if fifo.id == 0 {
            return Err(TopologyError::ReservedFifo);
        }
        if self.fifo_ids.contains(&fifo.id) {
            return Err(TopologyError::DuplicateFifo { id: fifo.id });
        }
        if let Some(name) = fifo.name.as_deref().filter(|name| !check_printable(name, MAX_NAME)) {
            return Err(TopologyError::FifoName { id: fifo.id, name: cut(name) });
        }
        // The circuit's own check, without its RAM.
        AsyncFifo::check(fifo.depth, fifo.stages)
            .map_err(|error| TopologyError::Circuit { id: fifo.id, error })?;
        let (from, to) = self.ends((from, Direction::FifoOut), (to, Direction::FifoIn))?;
        for port in [from, to] {
            if self.joined.contains(&port) {
                let hint = "a FIFO end belongs to one FIFO";
                return Err(TopologyError::AlreadyJoined { port: self.port_path(port), hint });
            }
        }
        self.joined.extend([from, to]);
        self.fifo_ids.insert(fifo.id);
        self.fifos.push(PlannedFifo { fifo, from, to });
        Ok(())
    }

    pub(crate) fn connect(
        &mut self,
        connection: Connection,
        from: &str,
        to: &str,
    ) -> Result<(), TopologyError> {
        if !(1..=MAX_CAPACITY).contains(&connection.capacity) {
            let (from, to, capacity) = (from.to_owned(), to.to_owned(), connection.capacity);
            return Err(TopologyError::Capacity { from, to, capacity });
        }
        let (from, to) = self.ends((from, Direction::Out), (to, Direction::In))?;
        if self.joined.contains(&from) && !self.declarations.ports[from as usize].fans_out {
            let hint = "several connections need a port declared by `Ports::fan_out`";
            return Err(TopologyError::AlreadyJoined { port: self.port_path(from), hint });
        }
        self.joined.extend([from, to]);
        self.links.push(PlannedLink { connection, from, to });
        Ok(())
    }

    fn port(&self, index: u32) -> &Port {
        &self.declarations.ports[index as usize]
    }

    fn port_path(&self, index: u32) -> String {
        let port = self.port(index);
        format!("{}.{}", self.units[port.unit as usize].name, port.name)
    }

    fn find_port(&self, path: &str) -> Result<u32, TopologyError> {
        let unknown =
            |hint: String| TopologyError::UnknownPort { port: path.chars().take(300).collect(), hint };
        let named = path.rsplit_once('.').and_then(|(unit, port)| Some((*self.unit_names.get(unit)?, port)));
        let Some((unit, port)) = named else {
            return Err(unknown("the name of a unit that was added".to_owned()));
        };
        if let Some(&index) = self.port_names.get(&(unit, port.to_owned())) {
            return Ok(index);
        }
        let name = &self.units[unit as usize].name;
        let ports: Vec<&str> = self
            .port_names
            .range((unit, String::new())..(unit + 1, String::new()))
            .map(|((_, port), _)| port.as_str())
            .collect();
        Err(unknown(match ports.as_slice() {
            [] => format!("a port, but unit `{name}` has none"),
            ports => format!("one of the ports of `{name}`: {}", ports.join(", ")),
        }))
    }

    fn ends(
        &self,
        (from, from_direction): (&str, Direction),
        (to, to_direction): (&str, Direction),
    ) -> Result<(u32, u32), TopologyError> {
        let (sender, receiver) = (self.find_port(from)?, self.find_port(to)?);
        for (path, index, expected) in [(from, sender, from_direction), (to, receiver, to_direction)] {
            let found = self.port(index).direction;
            if found != expected {
                let (found, expected) = (found.name(), expected.name());
                return Err(TopologyError::WrongDirection { port: path.to_owned(), found, expected });
            }
        }
        let (sent, received) = (self.port(sender).carries, self.port(receiver).carries);
        if sent.0 != received.0 {
            return Err(TopologyError::TypeMismatch {
                from: from.to_owned(),
                from_type: sent.1,
                to: to.to_owned(),
                to_type: received.1,
            });
        }
        Ok((sender, receiver))
    }

    /// Makes the implicit domain, if units are in it; no other may have been declared then.
    fn settle_implicit(&mut self) -> Result<(), TopologyError> {
        let Some(unit) = self.units.iter().find(|unit| unit.domain == IMPLICIT_DOMAIN) else { return Ok(()) };
        if let Some(declared) = self.domains.iter().next() {
            let (unit, declared) = (unit.name.clone(), declared.name().to_owned());
            return Err(TopologyError::NotImplicit { unit, declared });
        }
        let ghz = || Frequency::from_hz(1_000_000_000).expect("1 GHz is a frequency");
        Ok(self.domains.insert(ClockDomain::implicit(self.implicit.unwrap_or_else(ghz)))?)
    }

    /// Checks the whole graph and ranks it.
    pub(crate) fn assemble(mut self) -> Result<Assembly, TopologyError> {
        self.settle_implicit()?;
        self.check_joins()?;
        let kinds = self.kind_table()?;
        let machines = self.place_machines()?;
        let order = self.unit_order()?;
        let mut ranks = vec![0u32; order.len()];
        for (rank, &unit) in order.iter().enumerate() {
            ranks[unit as usize] = rank as u32;
        }
        let used: BTreeSet<u32> = self.units.iter().map(|unit| unit.domain).collect();
        let domains: Vec<ClockDomain> =
            self.domains.iter().filter(|domain| used.contains(&domain.id())).cloned().collect();
        let index: BTreeMap<u32, u32> = used.iter().zip(0..).map(|(&id, index)| (id, index)).collect();

        let mut planned: Vec<Option<PlannedUnit>> = self.units.drain(..).map(Some).collect();
        let mut groups: Vec<Group> =
            (0..domains.len()).map(|_| Group { first: u32::MAX, bodies: Vec::new() }).collect();
        let mut slots = Vec::with_capacity(order.len());
        for &unit in &order {
            let unit = planned[unit as usize].take().expect("the order names each unit once");
            let domain = index[&unit.domain];
            let group = &mut groups[domain as usize];
            group.first = group.first.min(slots.len() as u32);
            group.bodies.push(unit.body);
            slots.push(unit_slot(unit.name, domain, unit.may_stop));
        }
        let mut fabric = Fabric::new(slots, domains.len());
        let mut targets: Vec<Vec<u32>> = vec![Vec::new(); self.declarations.ports.len()];
        let fifos = self.place_fifos(&mut fabric, &ranks, &mut targets)?;
        self.place_links(&mut fabric, &ranks, &mut targets);
        for (port, targets) in self.declarations.ports.iter().zip(targets) {
            let (unit, first) = (ranks[port.unit as usize], fabric.targets.len() as u32);
            let target = targets[0];
            fabric.bindings.push(Binding { unit, target, first, count: targets.len() as u32 });
            fabric.targets.extend(targets);
        }
        fabric.kinds = self
            .declarations
            .kinds
            .iter()
            .map(|(name, shape)| (kinds.id(name).expect("declared kinds are in the table"), *shape))
            .collect();
        fabric.series = series_bases(&self.declarations.series, &ranks);
        Ok(Assembly { domains, groups, cx: Tick::new(fabric), kinds, fifos, machines })
    }

    fn check_joins(&self) -> Result<(), TopologyError> {
        if self.units.is_empty() {
            return Err(TopologyError::Empty);
        }
        for (index, port) in self.declarations.ports.iter().enumerate() {
            if !self.joined.contains(&(index as u32)) {
                let direction = port.direction.name();
                return Err(TopologyError::Unbound { port: self.port_path(index as u32), direction });
            }
        }
        for link in &self.links {
            let (from, to) = (self.port(link.from), self.port(link.to));
            let domain = |port: &Port| self.units[port.unit as usize].domain;
            if domain(from) != domain(to) {
                let name = |id| self.domains.get(id).map_or_else(String::new, |d| d.name().to_owned());
                return Err(TopologyError::CrossDomain {
                    from: self.port_path(link.from),
                    from_domain: name(domain(from)),
                    to: self.port_path(link.to),
                    to_domain: name(domain(to)),
                });
            }
        }
        Ok(())
    }

    fn kind_table(&self) -> Result<KindTable, TopologyError> {
        let mut shapes = BTreeMap::new();
        for (name, shape) in &self.declarations.kinds {
            let first = *shapes.entry(name.as_str()).or_insert(*shape);
            if first != *shape {
                let (first, second) = (first.name(), shape.name());
                return Err(TopologyError::KindShape { name: name.clone(), first, second });
            }
        }
        let mut kinds = KindTable::new(shapes.keys().copied())?;
        for (name, shape) in shapes {
            let id = kinds.id(name).expect("the table was made of these names");
            kinds.set_shape(id, shape.of_kind());
        }
        Ok(kinds)
    }

    /// The machines by unit name, each in a domain whose cycles are nanoseconds.
    fn place_machines(&mut self) -> Result<Vec<MachineEntry>, TopologyError> {
        let mut machines = Vec::new();
        for (unit, machine) in std::mem::take(&mut self.declarations.machines) {
            let unit = &self.units[unit as usize];
            let domain = self.domains.get(unit.domain).filter(|domain| !counts_nanoseconds(domain));
            if let Some(domain) = domain {
                let (unit, domain) = (unit.name.clone(), domain.name().to_owned());
                return Err(TopologyError::MachineClock { unit, domain });
            }
            machines.push(MachineEntry { unit: unit.name.clone(), ..machine });
        }
        machines.sort_by(|a, b| a.unit.cmp(&b.unit));
        Ok(machines)
    }

    /// All units by (domain id, canonical order within the domain).
    fn unit_order(&self) -> Result<Vec<u32>, TopologyError> {
        let mut by_domain: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut local = vec![0usize; self.units.len()];
        for (unit, planned) in self.units.iter().enumerate() {
            let units = by_domain.entry(planned.domain).or_default();
            local[unit] = units.len();
            units.push(unit as u32);
        }
        let mut edges: BTreeMap<u32, Vec<(usize, usize)>> = BTreeMap::new();
        for link in self.links.iter().filter(|link| link.connection.delay == 0) {
            let (from, to) = (self.port(link.from).unit as usize, self.port(link.to).unit as usize);
            edges.entry(self.units[from].domain).or_default().push((local[from], local[to]));
        }
        let mut order = Vec::with_capacity(self.units.len());
        for (domain, units) in &by_domain {
            let names: Vec<&str> = units.iter().map(|&u| self.units[u as usize].name.as_str()).collect();
            let none = Vec::new();
            match canonical_order(&names, edges.get(domain).unwrap_or(&none)) {
                Ok(ranked) => order.extend(ranked.into_iter().map(|at| units[at])),
                Err(cycle) => {
                    let units = cycle.into_iter().map(|at| names[at].to_owned()).collect();
                    return Err(TopologyError::ZeroDelayCycle { units });
                }
            }
        }
        Ok(order)
    }

    fn place_fifos(
        &mut self,
        fabric: &mut Fabric,
        ranks: &[u32],
        targets: &mut [Vec<u32>],
    ) -> Result<Vec<FifoFacts>, TopologyError> {
        self.fifos.sort_by_key(|planned| planned.fifo.id);
        let mut facts = Vec::with_capacity(self.fifos.len());
        for planned in &self.fifos {
            let Fifo { id, depth, stages, .. } = planned.fifo;
            let name = planned.fifo.name.clone().unwrap_or_else(|| format!("fifo{id}"));
            let rank = |port: u32| ranks[self.declarations.ports[port as usize].unit as usize];
            let (writer, reader) = (rank(planned.from), rank(planned.to));
            let circuit =
                AsyncFifo::new(depth, stages).map_err(|error| TopologyError::Circuit { id, error })?;
            for port in [planned.from, planned.to] {
                targets[port as usize].push(fabric.fifos.len() as u32);
            }
            let payload = (self.declarations.ports[planned.from as usize].payloads)();
            fabric.fifos.push(FifoSlot::new(circuit, payload, id, (writer, reader)));
            facts.push(FifoFacts { id, name, depth, stages, writer, reader });
        }
        fabric.wire_fifos();
        Ok(facts)
    }

    fn place_links(&mut self, fabric: &mut Fabric, ranks: &[u32], targets: &mut [Vec<u32>]) {
        // By the producer's rank and port, the consumer's, then what the connection is: an order that
        // creation cannot change.
        let mut links: Vec<&PlannedLink> = self.links.iter().collect();
        links.sort_by_key(|link| {
            let key = |port: &Port| (ranks[port.unit as usize], port.name.clone());
            (
                key(&self.declarations.ports[link.from as usize]),
                key(&self.declarations.ports[link.to as usize]),
                (link.connection.delay, link.connection.capacity),
            )
        });
        for link in links {
            let [from, to] = [link.from, link.to].map(|port| &self.declarations.ports[port as usize]);
            let [producer, consumer] = [from, to].map(|port| ranks[port.unit as usize]);
            let index = fabric.links.len() as u32;
            targets[link.from as usize].push(index);
            targets[link.to as usize].push(index);
            fabric.links.push(Link::new(link.connection, producer, consumer));
            fabric.units[consumer as usize].incoming.push(index);
            let path = |rank: u32, port: &Port| format!("{}.{}", fabric.unit_name(rank), port.name);
            let names = (path(producer, from), path(consumer, to));
            fabric.link_names.push(names);
            fabric.queues.push((from.messages)());
        }
    }
}

/// Whether a domain's cycles are whole nanoseconds.
pub(crate) fn counts_nanoseconds(domain: &ClockDomain) -> bool {
    let period = domain.period().ratio();
    (*period.numer(), *period.denom()) == (1, 1_000_000_000)
}

/// A name as errors quote it.
fn cut(name: &str) -> String {
    name.chars().take(64).collect()
}

fn check_ports(unit: &str, ports: &[Port]) -> Result<(), TopologyError> {
    let mut names = BTreeSet::new();
    for port in ports {
        if !check_printable(&port.name, MAX_NAME) || port.name.contains('.') {
            return Err(TopologyError::PortName { unit: unit.to_owned(), port: cut(&port.name) });
        }
        if !names.insert(port.name.as_str()) {
            return Err(TopologyError::DuplicatePort { unit: unit.to_owned(), port: port.name.clone() });
        }
    }
    Ok(())
}

fn unit_slot(name: String, domain: u32, may_stop: bool) -> UnitSlot {
    UnitSlot {
        name,
        domain,
        local: 0,
        may_stop,
        asleep: false,
        wake_at: u64::MAX,
        transactions: 0,
        messages: 0,
        spans: Vec::new(),
        incoming: Vec::new(),
    }
}

/// First id of each series less one: `k * 2^40` for the `k`-th by canonical order of its unit.
fn series_bases(series: &[u32], ranks: &[u32]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..series.len()).collect();
    order.sort_by_key(|&at| (ranks[series[at] as usize], at));
    let mut bases = vec![0; series.len()];
    for (k, at) in (0u64..).zip(order) {
        bases[at] = k << 40;
    }
    bases
}
