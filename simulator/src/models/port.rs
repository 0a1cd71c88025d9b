//! Ports of models: the same model works over FIFOs and over ordinary connections.

use crate::graph::{FifoIn, FifoOut, In, Out, Packet, Ports, Tick};

/// How a port is joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joint {
    /// By a clock-crossing FIFO.
    Fifo,
    /// By ordinary connections.
    Connection,
}

/// The ports of one unit and how each is joined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wiring {
    /// Kept by number: `in` or `out` first, then `in0`, `in1`, …
    ports: Vec<(String, Joint)>,
}

/// The number at the end of a port's name; nothing sorts before 0.
fn number(name: &str) -> Option<u64> {
    name.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().ok()
}

impl Wiring {
    /// Ports by name, in any order: those that begin with `in` receive, the others send.
    pub fn new<'a>(ports: impl IntoIterator<Item = (&'a str, Joint)>) -> Self {
        let mut ports: Vec<_> = ports.into_iter().map(|(name, joint)| (name.to_owned(), joint)).collect();
        ports.sort_by(|(a, _), (b, _)| (number(a), a).cmp(&(number(b), b)));
        Self { ports }
    }

    fn is_input(name: &str) -> bool {
        name.starts_with("in")
    }

    /// Declares the receiving ports, by number.
    pub fn inlets(&self, ports: &mut Ports<'_>) -> Vec<Inlet> {
        let names = self.ports.iter().filter(|(name, _)| Self::is_input(name));
        names.map(|(name, joint)| Inlet::new(ports, name, *joint)).collect()
    }

    /// Declares the sending ports, by number.
    pub fn outlets(&self, ports: &mut Ports<'_>) -> Vec<Outlet> {
        let names = self.ports.iter().filter(|(name, _)| !Self::is_input(name));
        names.map(|(name, joint)| Outlet::new(ports, name, *joint)).collect()
    }

    /// Declares the one receiving port.
    ///
    /// # Panics
    /// If there is not exactly one.
    pub fn only_inlet(&self, ports: &mut Ports<'_>) -> Inlet {
        self.optional_inlet(ports).expect("the model has a receiving port, `in`")
    }

    /// Declares the one sending port.
    ///
    /// # Panics
    /// If there is not exactly one.
    pub fn only_outlet(&self, ports: &mut Ports<'_>) -> Outlet {
        self.optional_outlet(ports).expect("the model has a sending port, `out`")
    }

    /// Declares the receiving port, if there is one.
    ///
    /// # Panics
    /// If there are several.
    pub fn optional_inlet(&self, ports: &mut Ports<'_>) -> Option<Inlet> {
        let inlets = self.inlets(ports);
        assert!(inlets.len() <= 1, "the model has one receiving port, `in`");
        inlets.first().copied()
    }

    /// Declares the sending port, if there is one.
    ///
    /// # Panics
    /// If there are several.
    pub fn optional_outlet(&self, ports: &mut Ports<'_>) -> Option<Outlet> {
        let outlets = self.outlets(ports);
        assert!(outlets.len() <= 1, "the model has one sending port, `out`");
        outlets.first().copied()
    }
}

/// A receiving port.
#[derive(Clone, Copy, Debug)]
pub enum Inlet {
    /// The reading end of a FIFO.
    Fifo(FifoIn<u64>),
    /// The receiving end of connections.
    Connection(In<Packet<u64>>),
}

impl Inlet {
    /// Declares the port.
    pub fn new(ports: &mut Ports<'_>, name: &str, joint: Joint) -> Self {
        match joint {
            Joint::Fifo => Self::Fifo(ports.fifo_in(name)),
            Joint::Connection => Self::Connection(ports.input(name)),
        }
    }

    /// Takes what has arrived: the packet in a FIFO's output register, or the next message.
    #[inline]
    pub fn take(&self, cx: &mut Tick<'_>) -> Option<Packet<u64>> {
        match self {
            Self::Fifo(port) => cx.take(port),
            Self::Connection(port) => cx.receive(port),
        }
    }

    /// Requests a read of a FIFO; messages come unasked. Says whether a read was accepted.
    #[inline]
    pub fn request(&self, cx: &mut Tick<'_>) -> bool {
        match self {
            Self::Fifo(port) => cx.request(port),
            Self::Connection(_) => false,
        }
    }
}

/// A sending port; over connections it may fan out.
#[derive(Clone, Copy, Debug)]
pub enum Outlet {
    /// The writing end of a FIFO.
    Fifo(FifoOut<u64>),
    /// The sending end of connections.
    Connection(Out<Packet<u64>>),
}

impl Outlet {
    /// Declares the port.
    pub fn new(ports: &mut Ports<'_>, name: &str, joint: Joint) -> Self {
        match joint {
            Joint::Fifo => Self::Fifo(ports.fifo_out(name)),
            Joint::Connection => Self::Connection(ports.fan_out(name)),
        }
    }

    /// Sends a packet.
    ///
    /// # Errors
    /// The packet, if it was refused.
    #[inline]
    pub fn send(&self, cx: &mut Tick<'_>, packet: Packet<u64>) -> Result<(), Packet<u64>> {
        match self {
            Self::Fifo(port) => cx.write(port, packet).map_err(crate::graph::WriteError::into_packet),
            Self::Connection(port) => cx.send(port, packet),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_ordered_by_number() {
        let names = ["out10", "in1", "out2", "out", "in0", "out0"];
        let wiring = Wiring::new(names.map(|name| (name, Joint::Fifo)));
        let order: Vec<&str> = wiring.ports.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(order, ["out", "in0", "out0", "in1", "out2", "out10"]);
    }
}
