//! Ports and observation kinds: what a unit declares while it is built.
//!
//! A handle is a plain number with a type; it is meaningful only inside the unit that declared it,
//! and the fabric checks that.

use std::any::{TypeId, type_name};
use std::marker::PhantomData;

use clockweave_model::{KindShape, MachineEntry};

use super::link::{LinkQueue, Messages};
use super::payload::Payloads;

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub struct $name<T> {
            pub(super) port: u32,
            marker: PhantomData<fn() -> T>,
        }

        impl<T> $name<T> {
            fn new(port: u32) -> Self {
                Self { port, marker: PhantomData }
            }
        }

        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $name<T> {}

        impl<T> std::fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.port)
            }
        }
    };
}

handle! {
    /// The writing end of a clock-crossing FIFO that carries `T`.
    FifoOut
}
handle! {
    /// The reading end of a clock-crossing FIFO that carries `T`.
    FifoIn
}
handle! {
    /// The sending end of ordinary connections that carry `T`.
    Out
}
handle! {
    /// The receiving end of ordinary connections that carry `T`.
    In
}

/// A kind of event with a transaction and a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event(pub(super) u32);

/// A kind of event that states a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter(pub(super) u32);

/// A kind of event that begins and ends, strictly nested within its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub(super) u32);

/// A series of transaction ids: `k * 2^40 + 1, + 2, …` for the `k`-th series of the simulation in
/// canonical order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series(pub(super) u32);

/// What an observation kind records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Instant,
    Counter,
    Span,
}

impl Shape {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Instant => "an event",
            Self::Counter => "a counter",
            Self::Span => "a span",
        }
    }

    /// The same, as recordings know it.
    pub(super) fn of_kind(self) -> KindShape {
        match self {
            Self::Instant => KindShape::Instant,
            Self::Counter => KindShape::Counter,
            Self::Span => KindShape::Span,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    FifoOut,
    FifoIn,
    Out,
    In,
}

impl Direction {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::FifoOut => "the writing end of a FIFO",
            Self::FifoIn => "the reading end of a FIFO",
            Self::Out => "the sending end of a connection",
            Self::In => "the receiving end of a connection",
        }
    }
}

/// Storage for the packets of a FIFO, made when it is joined.
type MakePayloads = fn() -> Payloads;
/// Storage for the messages of a connection.
type MakeMessages = fn() -> Box<dyn Messages>;

/// One declared port.
#[derive(Clone)]
pub(crate) struct Port {
    pub(super) unit: u32,
    pub(super) name: String,
    pub(super) direction: Direction,
    pub(super) carries: (TypeId, &'static str),
    pub(super) payloads: MakePayloads,
    pub(super) messages: MakeMessages,
    /// Whether one send may reach several connections.
    pub(super) fans_out: bool,
}

/// Everything units declare, over all units.
#[derive(Default)]
pub(crate) struct Declarations {
    pub(super) ports: Vec<Port>,
    pub(super) kinds: Vec<(String, Shape)>,
    /// Declaring unit of each series, in order of declaration.
    pub(super) series: Vec<u32>,
    /// Units that are machines.
    pub(super) machines: Vec<(u32, MachineEntry)>,
}

/// Collects the ports and kinds of one unit while it is built.
pub struct Ports<'a> {
    declarations: &'a mut Declarations,
    unit: u32,
    may_stop: bool,
}

fn link_messages<T: Send + 'static>() -> Box<dyn Messages> {
    Box::new(LinkQueue::<T>::new(None))
}

fn fan_out_messages<T: Clone + Send + 'static>() -> Box<dyn Messages> {
    Box::new(LinkQueue::<T>::new(Some(T::clone)))
}

impl<'a> Ports<'a> {
    pub(super) fn new(declarations: &'a mut Declarations, unit: u32) -> Self {
        Self { declarations, unit, may_stop: false }
    }

    fn declare<T: Send + 'static>(
        &mut self,
        name: &str,
        direction: Direction,
        messages: MakeMessages,
        fans_out: bool,
    ) -> u32 {
        self.declarations.ports.push(Port {
            unit: self.unit,
            name: name.to_owned(),
            direction,
            carries: (TypeId::of::<T>(), type_name::<T>()),
            payloads: Payloads::of::<T>,
            messages,
            fans_out,
        });
        self.declarations.ports.len() as u32 - 1
    }

    /// The writing end of a FIFO.
    pub fn fifo_out<T: Send + 'static>(&mut self, name: &str) -> FifoOut<T> {
        FifoOut::new(self.declare::<T>(name, Direction::FifoOut, link_messages::<T>, false))
    }

    /// The reading end of a FIFO.
    pub fn fifo_in<T: Send + 'static>(&mut self, name: &str) -> FifoIn<T> {
        FifoIn::new(self.declare::<T>(name, Direction::FifoIn, link_messages::<T>, false))
    }

    /// The sending end of one connection.
    pub fn out<T: Send + 'static>(&mut self, name: &str) -> Out<T> {
        Out::new(self.declare::<T>(name, Direction::Out, link_messages::<T>, false))
    }

    /// The sending end of any number of connections; a send is taken by all of them or by none.
    pub fn fan_out<T: Clone + Send + 'static>(&mut self, name: &str) -> Out<T> {
        Out::new(self.declare::<T>(name, Direction::Out, fan_out_messages::<T>, true))
    }

    /// The receiving end of any number of connections.
    pub fn input<T: Send + 'static>(&mut self, name: &str) -> In<T> {
        In::new(self.declare::<T>(name, Direction::In, link_messages::<T>, false))
    }

    fn kind(&mut self, name: &str, shape: Shape) -> u32 {
        let kinds = &mut self.declarations.kinds;
        let known = kinds.iter().position(|(known, known_shape)| known == name && *known_shape == shape);
        known.unwrap_or_else(|| {
            kinds.push((name.to_owned(), shape));
            kinds.len() - 1
        }) as u32
    }

    /// A kind of event. Units may share kinds by name.
    pub fn event(&mut self, name: &str) -> Event {
        Event(self.kind(name, Shape::Instant))
    }

    /// A kind of counter.
    pub fn counter(&mut self, name: &str) -> Counter {
        Counter(self.kind(name, Shape::Counter))
    }

    /// A kind of span.
    pub fn span(&mut self, name: &str) -> Span {
        Span(self.kind(name, Shape::Span))
    }

    /// A series of transaction ids of this unit's own.
    pub fn series(&mut self) -> Series {
        self.declarations.series.push(self.unit);
        Series(self.declarations.series.len() as u32 - 1)
    }

    /// Declares that the unit's events of [`SchedKind`](clockweave_model::SchedKind)s are those of a machine; the
    /// entry's unit is this one. Its clock domain has a period of 1 ns.
    pub fn machine(&mut self, machine: MachineEntry) {
        self.declarations.machines.push((self.unit, machine));
    }

    /// Declares that the unit may request a stop.
    pub fn may_stop(&mut self) {
        self.may_stop = true;
    }

    pub(super) fn stops(&self) -> bool {
        self.may_stop
    }
}
