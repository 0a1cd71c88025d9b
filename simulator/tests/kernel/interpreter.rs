//! A naive interpreter of a whole graph: every rule of a batch spelled out over plain lists, with a
//! calendar of big rationals. It shares nothing with the simulator but the nodes' behaviour.

use std::collections::VecDeque;

use crate::clocks::{Batches, Clock, Exact, exact};
use crate::node::{Drowsiness, Edge, Node, Ports};
use crate::reference::{Effect, Reference};

/// A graph of nodes. Domains ascend by id, as listed; FIFOs too.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) clocks: Vec<Clock>,
    pub(crate) units: Vec<UnitPlan>,
    pub(crate) links: Vec<LinkPlan>,
    pub(crate) fifos: Vec<FifoPlan>,
}

#[derive(Clone, Debug)]
pub(crate) struct UnitPlan {
    pub(crate) name: String,
    pub(crate) domain: usize,
    pub(crate) seed: u64,
    pub(crate) drowsiness: Drowsiness,
    pub(crate) ports: Ports,
}

/// A connection between a sending and a receiving port: (unit, port within the unit).
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkPlan {
    pub(crate) from: (usize, usize),
    pub(crate) to: (usize, usize),
    pub(crate) delay: u64,
    pub(crate) capacity: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct FifoPlan {
    pub(crate) id: u32,
    pub(crate) writer: (usize, usize),
    pub(crate) reader: (usize, usize),
    pub(crate) depth: u32,
    pub(crate) stages: u32,
}

#[derive(Clone, Debug, Default)]
struct Link {
    /// Visible edge, number within the producer, value.
    messages: VecDeque<(u64, u64, u64)>,
    sends: u64,
    refusals: u64,
    receives: u64,
    /// The last edge with receives and their number, whose room is not free yet.
    emptied: (u64, u64),
}

#[derive(Clone, Debug)]
struct Sleep {
    asleep: bool,
    until: Option<u64>,
}

/// An event as a text log has it, less its ordinal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) cycle: u64,
    pub(crate) unit: usize,
    pub(crate) kind: &'static str,
    pub(crate) phase: u8,
    pub(crate) transaction: u64,
    pub(crate) fifo: u32,
    pub(crate) value: u64,
}

pub(crate) struct Interpreter {
    plan: Plan,
    pub(crate) nodes: Vec<Node>,
    /// Units in canonical order, by domain.
    pub(crate) order: Vec<Vec<usize>>,
    calendar: Batches,
    /// Domains with units, as the calendar numbers them.
    used: Vec<usize>,
    state: State,
    pub(crate) batches: u64,
    pub(crate) last: Exact,
}

/// What ticks act on.
struct State {
    links: Vec<Link>,
    fifos: Vec<(Reference, u64)>,
    sleep: Vec<Sleep>,
    numbers: Vec<u64>,
    /// Events of the batch, then of the run, by domain.
    events: Vec<Event>,
    log: Vec<Vec<Event>>,
}

/// One tick of one unit.
struct Now<'a> {
    plan: &'a Plan,
    state: &'a mut State,
    unit: usize,
    rank: &'a [usize],
    cycle: u64,
}

impl Now<'_> {
    fn outgoing(&self, out: usize) -> Vec<usize> {
        (0..self.plan.links.len()).filter(|&at| self.plan.links[at].from == (self.unit, out)).collect()
    }

    fn link_room(&self, link: usize) -> u64 {
        let state = &self.state.links[link];
        let (edge, receives) = state.emptied;
        let unfreed = if edge == self.cycle { receives } else { 0 };
        self.plan.links[link].capacity - (state.messages.len() as u64 + unfreed)
    }

    /// The link of a port whose first message comes next.
    fn next(&self, input: usize) -> Option<usize> {
        let links = (0..self.plan.links.len()).filter(|&at| self.plan.links[at].to == (self.unit, input));
        let visible = links.filter_map(|at| {
            let &(visible, number, _) = self.state.links[at].messages.front()?;
            let producer = self.rank[self.plan.links[at].from.0];
            // Two connections of the same ports carry the same message; the narrower one gives first.
            let capacity = self.plan.links[at].capacity;
            (visible <= self.cycle).then_some(((visible, producer, number, capacity), at))
        });
        visible.min().map(|(_, at)| at)
    }

    fn fifo(&self, writes: bool, port: usize) -> usize {
        let end = |fifo: &FifoPlan| if writes { fifo.writer } else { fifo.reader };
        self.plan.fifos.iter().position(|fifo| end(fifo) == (self.unit, port)).unwrap()
    }

    fn record(&mut self, kind: &'static str, transaction: u64, fifo: u32, value: u64) {
        let (cycle, unit) = (self.cycle, self.unit);
        self.state.events.push(Event { cycle, unit, kind, phase: 0, transaction, fifo, value });
    }
}

impl Edge for Now<'_> {
    fn cycle(&self) -> u64 {
        self.cycle
    }

    fn room(&self, out: usize) -> u64 {
        self.outgoing(out).into_iter().map(|link| self.link_room(link)).min().unwrap()
    }

    fn send(&mut self, out: usize, value: u64) -> bool {
        let links = self.outgoing(out);
        let full: Vec<usize> = links.iter().copied().filter(|&link| self.link_room(link) == 0).collect();
        for &link in &full {
            self.state.links[link].refusals += 1;
        }
        if !full.is_empty() {
            return false;
        }
        let number = self.state.numbers[self.unit];
        self.state.numbers[self.unit] += 1;
        for link in links {
            let visible = self.cycle + self.plan.links[link].delay;
            self.state.links[link].messages.push_back((visible, number, value));
            self.state.links[link].sends += 1;
        }
        true
    }

    fn has_message(&self, input: usize) -> bool {
        self.next(input).is_some()
    }

    fn receive(&mut self, input: usize) -> Option<u64> {
        let next = self.next(input)?;
        let link = &mut self.state.links[next];
        let (edge, receives) = link.emptied;
        link.emptied = (self.cycle, if edge == self.cycle { receives + 1 } else { 1 });
        link.receives += 1;
        link.messages.pop_front().map(|(_, _, value)| value)
    }

    fn can_write(&self, fifo: usize) -> bool {
        self.state.fifos[self.fifo(true, fifo)].0.clone().write(1)
    }

    fn write(&mut self, fifo: usize, id: u64) -> bool {
        let at = self.fifo(true, fifo);
        let (circuit, refusals) = &mut self.state.fifos[at];
        let accepted = circuit.write(id);
        *refusals += u64::from(!accepted);
        accepted
    }

    fn has_packet(&self, fifo: usize) -> bool {
        self.state.fifos[self.fifo(false, fifo)].0.output.is_some()
    }

    fn take(&mut self, fifo: usize) -> Option<u64> {
        let at = self.fifo(false, fifo);
        let id = self.state.fifos[at].0.take()?;
        self.record("fifo.consume", id, self.plan.fifos[at].id, 0);
        Some(id)
    }

    fn request(&mut self, fifo: usize) -> bool {
        let at = self.fifo(false, fifo);
        self.state.fifos[at].0.request()
    }

    fn note(&mut self, transaction: u64, value: u64) {
        self.record("note", transaction, 0, value);
    }

    fn sleep(&mut self, until: Option<u64>) {
        let sleep = &mut self.state.sleep[self.unit];
        // An edge that is not ahead, or is the next one, is no sleep.
        sleep.asleep = until.is_none_or(|until| until > self.cycle + 1);
        sleep.until = until;
    }
}

/// Always the ready unit with the smallest name.
fn canonical(plan: &Plan, domain: usize) -> Vec<usize> {
    let mut left: Vec<usize> =
        (0..plan.units.len()).filter(|&unit| plan.units[unit].domain == domain).collect();
    let mut order = Vec::new();
    while !left.is_empty() {
        let waits = |unit: usize| {
            plan.links.iter().any(|link| link.delay == 0 && link.to.0 == unit && left.contains(&link.from.0))
        };
        let ready = left.iter().copied().filter(|&unit| !waits(unit));
        let next = ready.min_by_key(|&unit| &plan.units[unit].name).expect("zero delays have no cycle");
        left.retain(|&unit| unit != next);
        order.push(next);
    }
    order
}

impl Interpreter {
    pub(crate) fn new(plan: &Plan) -> Self {
        let order: Vec<Vec<usize>> = (0..plan.clocks.len()).map(|domain| canonical(plan, domain)).collect();
        let used: Vec<usize> = (0..plan.clocks.len()).filter(|&domain| !order[domain].is_empty()).collect();
        let clocks: Vec<Clock> = used.iter().map(|&domain| plan.clocks[domain]).collect();
        let nodes = plan.units.iter().enumerate();
        let fifo = |fifo: &FifoPlan| (Reference::new(fifo.depth.into(), fifo.stages as usize), 0);
        Self {
            nodes: nodes
                .map(|(index, unit)| Node::new(index, unit.seed, unit.ports, unit.drowsiness))
                .collect(),
            order,
            calendar: Batches::new(&clocks),
            used,
            state: State {
                links: vec![Link::default(); plan.links.len()],
                fifos: plan.fifos.iter().map(fifo).collect(),
                sleep: vec![Sleep { asleep: false, until: None }; plan.units.len()],
                numbers: vec![0; plan.units.len()],
                events: Vec::new(),
                log: vec![Vec::new(); plan.clocks.len()],
            },
            batches: 0,
            last: exact(0, 1),
            plan: plan.clone(),
        }
    }

    /// Ranks of all units: by domain, then canonical order.
    pub(crate) fn ranks(&self) -> Vec<usize> {
        let mut ranks = vec![0; self.plan.units.len()];
        for (rank, &unit) in self.order.iter().flatten().enumerate() {
            ranks[unit] = rank;
        }
        ranks
    }

    /// Completed edges of a domain; `None` without units.
    pub(crate) fn cycles(&self, domain: usize) -> Option<u64> {
        self.used.iter().position(|&used| used == domain).map(|at| self.calendar.cycles[at])
    }

    pub(crate) fn batch(&mut self) {
        let before = self.calendar.cycles.clone();
        let (time, due) = self.calendar.advance();
        let due: Vec<(usize, u64)> = due.into_iter().map(|at| (self.used[at], before[at])).collect();
        let rank = self.ranks();
        for &(domain, cycle) in &due {
            for at in 0..self.order[domain].len() {
                self.tick(self.order[domain][at], cycle, &rank);
            }
        }
        for at in 0..self.plan.fifos.len() {
            self.commit(at, &due);
        }
        // A log lists phases, then unit names; what is left is in order already.
        let mut events = std::mem::take(&mut self.state.events);
        events.sort_by_key(|event| (event.phase, self.plan.units[event.unit].name.clone()));
        for event in events {
            let domain = self.plan.units[event.unit].domain;
            self.state.log[domain].push(event);
        }
        self.batches += 1;
        self.last = time;
    }

    fn tick(&mut self, unit: usize, cycle: u64, rank: &[usize]) {
        let arrives = self.plan.links.iter().zip(&self.state.links).any(|(plan, link)| {
            plan.to.0 == unit && link.messages.iter().any(|&(visible, _, _)| visible == cycle)
        });
        let sleep = &mut self.state.sleep[unit];
        if sleep.asleep && sleep.until != Some(cycle) && !arrives {
            return;
        }
        *sleep = Sleep { asleep: false, until: None };
        let mut now = Now { plan: &self.plan, state: &mut self.state, unit, rank, cycle };
        self.nodes[unit].tick(&mut now);
    }

    fn commit(&mut self, at: usize, due: &[(usize, u64)]) {
        let plan = self.plan.fifos[at];
        let edge = |unit: usize| {
            let domain = self.plan.units[unit].domain;
            due.iter().find(|(at, _)| *at == domain).map(|(_, cycle)| *cycle)
        };
        let (writer, reader) = (plan.writer.0, plan.reader.0);
        let (write_cycle, read_cycle) = (edge(writer), edge(reader));
        if write_cycle.is_none() && read_cycle.is_none() {
            return;
        }
        let effects = self.state.fifos[at].0.commit(write_cycle.is_some(), read_cycle.is_some());
        for effect in effects {
            let (kind, unit, transaction, value) = match effect {
                Effect::Write(id) => ("fifo.write", writer, id, 0),
                Effect::Visible(id) => ("fifo.visible", reader, id, 0),
                Effect::Read(id) => ("fifo.read", reader, id, 0),
                Effect::Output(id) => ("fifo.output", reader, id, 0),
                Effect::Full(flag) => ("fifo.full", writer, 0, flag.into()),
                Effect::Empty(flag) => ("fifo.empty", reader, 0, flag.into()),
            };
            match effect {
                Effect::Read(_) | Effect::Empty(false) => self.state.sleep[reader].asleep = false,
                Effect::Full(false) => self.state.sleep[writer].asleep = false,
                _ => {}
            }
            let cycle = if unit == writer && matches!(effect, Effect::Write(_) | Effect::Full(_)) {
                write_cycle
            } else {
                read_cycle
            };
            let cycle = cycle.unwrap();
            self.state.events.push(Event { cycle, unit, kind, phase: 1, transaction, fifo: plan.id, value });
        }
    }

    /// Events of one domain, in the order of its log.
    pub(crate) fn log(&self, domain: usize) -> &[Event] {
        &self.state.log[domain]
    }

    /// Held, sends, refusals and receives of a link.
    pub(crate) fn link(&self, at: usize) -> [u64; 4] {
        let link = &self.state.links[at];
        [link.messages.len() as u64, link.sends, link.refusals, link.receives]
    }

    /// Circuit and refusals of a FIFO.
    pub(crate) fn fifo(&self, at: usize) -> &(Reference, u64) {
        &self.state.fifos[at]
    }
}
