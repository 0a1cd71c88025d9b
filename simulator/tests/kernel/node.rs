//! A unit of random behaviour, written once against an abstract edge, so that the simulator and the
//! interpreter drive the same thing.
//!
//! Everything a node sees goes into its digest, which decides what it does next: a single difference
//! in what an edge offers changes the rest of its log.

use crate::traffic::mix;

/// What a node can do on an edge; ports are numbered within the node.
pub(crate) trait Edge {
    fn cycle(&self) -> u64;
    fn room(&self, out: usize) -> u64;
    fn send(&mut self, out: usize, value: u64) -> bool;
    fn has_message(&self, input: usize) -> bool;
    fn receive(&mut self, input: usize) -> Option<u64>;
    fn can_write(&self, fifo: usize) -> bool;
    fn write(&mut self, fifo: usize, id: u64) -> bool;
    fn has_packet(&self, fifo: usize) -> bool;
    fn take(&mut self, fifo: usize) -> Option<u64>;
    fn request(&mut self, fifo: usize) -> bool;
    fn note(&mut self, transaction: u64, value: u64);
    /// Sleeps until an edge, or until woken.
    fn sleep(&mut self, until: Option<u64>);
}

/// Ports of a node by kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ports {
    pub(crate) outs: usize,
    pub(crate) inputs: usize,
    pub(crate) writes: usize,
    pub(crate) reads: usize,
}

/// How often a node sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drowsiness {
    Never,
    Sometimes,
    Mostly,
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    seed: u64,
    ports: Ports,
    drowsiness: Drowsiness,
    digest: u64,
    packets: u64,
    /// Edge and digest after each tick.
    pub(crate) log: Vec<(u64, u64)>,
}

impl Node {
    /// `index` tells its packets from those of other nodes.
    pub(crate) fn new(index: usize, seed: u64, ports: Ports, drowsiness: Drowsiness) -> Self {
        Self { seed, ports, drowsiness, digest: 0, packets: (index as u64 + 1) << 32, log: Vec::new() }
    }

    fn see(&mut self, what: u64) {
        self.digest = mix(self.digest ^ what);
    }

    pub(crate) fn tick(&mut self, edge: &mut dyn Edge) {
        let cycle = edge.cycle();
        self.see(cycle);
        let mut random = mix(self.seed ^ self.digest);
        // Four rounds over everything, in an order that changes from edge to edge.
        let sleeps_in = random >> 60 & 3;
        for round in 0..4 {
            random = mix(random);
            match (random ^ round) & 3 {
                0 => self.receive(edge, random >> 2),
                1 => self.send(edge, random >> 2),
                2 => self.read(edge, random >> 2),
                _ => self.write(edge, random >> 2),
            }
            if round == sleeps_in {
                self.sleep(edge, mix(random));
            }
        }
        self.log.push((cycle, self.digest));
    }

    fn receive(&mut self, edge: &mut dyn Edge, random: u64) {
        for input in 0..self.ports.inputs {
            for _ in 0..random >> (2 * (input % 20)) & 3 {
                self.see(edge.has_message(input).into());
                let message = edge.receive(input);
                self.see(message.map_or(1, |message| message ^ 2));
            }
        }
    }

    fn send(&mut self, edge: &mut dyn Edge, random: u64) {
        for out in 0..self.ports.outs {
            self.see(edge.room(out));
            for number in 0..random >> (2 * (out % 20)) & 3 {
                let accepted = edge.send(out, self.digest ^ number);
                self.see(accepted.into());
            }
        }
    }

    fn read(&mut self, edge: &mut dyn Edge, random: u64) {
        for fifo in 0..self.ports.reads {
            let choice = random >> (3 * (fifo % 16)) & 7;
            self.see(edge.has_packet(fifo).into());
            if choice & 1 != 0 {
                self.see(edge.request(fifo).into());
            }
            if choice & 6 != 0 {
                let packet = edge.take(fifo);
                self.see(packet.map_or(3, |id| id ^ 4));
                self.see(edge.request(fifo).into());
            }
        }
        if random >> 50 & 3 == 0 {
            edge.note(noted_transaction(self.digest), self.digest);
        }
    }

    fn write(&mut self, edge: &mut dyn Edge, random: u64) {
        for fifo in 0..self.ports.writes {
            self.see(edge.can_write(fifo).into());
            for _ in 0..random >> (2 * (fifo % 20)) & 3 {
                let accepted = edge.write(fifo, self.packets + 1);
                self.packets += u64::from(accepted);
                self.see(accepted.into());
            }
        }
    }

    fn sleep(&mut self, edge: &mut dyn Edge, random: u64) {
        let drowsy = match self.drowsiness {
            Drowsiness::Never => false,
            Drowsiness::Sometimes => random & 7 == 0,
            Drowsiness::Mostly => random & 7 != 0,
        };
        if drowsy {
            let cycle = edge.cycle();
            edge.sleep(match random >> 8 & 15 {
                0 => None,
                1 => Some(cycle),
                2..8 => Some(cycle + (random >> 16 & 3)),
                8..14 => Some(cycle + (random >> 16 & 63)),
                _ => Some(cycle + (random >> 16 & 1023)),
            });
        }
    }
}

/// Notes carry no transaction of their own, or one of a few.
fn noted_transaction(digest: u64) -> u64 {
    digest >> 62
}
