//! Why a graph was refused.

use clockweave_model::{DomainError, KindError};

use crate::circuit::CircuitError;

/// Why a graph was refused, before anything ran.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// The graph is fixed once the simulation has started.
    #[error("{what} after the simulation started; the topology is fixed from then on")]
    Fixed {
        /// What was attempted.
        what: String,
    },
    /// A clock domain was refused.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// An event kind was refused.
    #[error(transparent)]
    Kind(#[from] KindError),
    /// No domain of that name.
    #[error("unit `{unit}`: there is no clock domain `{domain}`")]
    UnknownDomain {
        /// The unit.
        unit: String,
        /// The domain named.
        domain: String,
    },
    /// A unit in the implicit domain of a simulation that declares domains.
    #[error(
        "unit `{unit}` is in the implicit domain `default`, which exists only where no domain is declared; \
         `{declared}` is"
    )]
    NotImplicit {
        /// The unit.
        unit: String,
        /// A domain that was declared.
        declared: String,
    },
    /// A unit name that cannot be.
    #[error("`{name}` is no unit name: expected 1 to 128 printable ASCII characters")]
    UnitName {
        /// The name given, cut to 64 characters.
        name: String,
    },
    /// Two units of one name.
    #[error("the unit name `{name}` is used twice")]
    DuplicateUnit {
        /// The name.
        name: String,
    },
    /// No unit of that name.
    #[error("there is no unit `{name}`")]
    UnknownUnit {
        /// The name.
        name: String,
    },
    /// Two ports of one unit with one name.
    #[error("unit `{unit}` declares the port `{port}` twice")]
    DuplicatePort {
        /// The unit.
        unit: String,
        /// The port.
        port: String,
    },
    /// A port name that cannot be.
    #[error("unit `{unit}`: `{port}` is no port name: expected printable ASCII characters without `.`")]
    PortName {
        /// The unit.
        unit: String,
        /// The name given, cut to 64 characters.
        port: String,
    },
    /// No such port.
    #[error("there is no port `{port}`; expected UNIT.PORT with {hint}")]
    UnknownPort {
        /// The text given.
        port: String,
        /// The ports or units there are.
        hint: String,
    },
    /// A port of the wrong kind at an end.
    #[error("`{port}` is {found}; expected {expected}")]
    WrongDirection {
        /// The port.
        port: String,
        /// What it is.
        found: &'static str,
        /// What is wanted.
        expected: &'static str,
    },
    /// The two ends carry different types.
    #[error("`{from}` carries {from_type} but `{to}` carries {to_type}")]
    TypeMismatch {
        /// Sending port.
        from: String,
        /// Its type.
        from_type: &'static str,
        /// Receiving port.
        to: String,
        /// Its type.
        to_type: &'static str,
    },
    /// A FIFO end or a plain sending end joined twice.
    #[error("`{port}` is already joined; {hint}")]
    AlreadyJoined {
        /// The port.
        port: String,
        /// What would allow it.
        hint: &'static str,
    },
    /// A port joined to nothing.
    #[error("`{port}` ({direction}) is joined to nothing")]
    Unbound {
        /// The port.
        port: String,
        /// What it is.
        direction: &'static str,
    },
    /// An ordinary connection between two domains.
    #[error(
        "`{from}` is in domain `{from_domain}` and `{to}` in `{to_domain}`: an ordinary connection joins two units of one domain, \
         also where the clocks are identical; crossing needs a FIFO"
    )]
    CrossDomain {
        /// Sending port.
        from: String,
        /// Its domain.
        from_domain: String,
        /// Receiving port.
        to: String,
        /// Its domain.
        to_domain: String,
    },
    /// A capacity of zero or beyond 2^32.
    #[error("connection `{from}` to `{to}`: capacity {capacity}; expected 1 to 2^32 messages")]
    Capacity {
        /// Sending port.
        from: String,
        /// Receiving port.
        to: String,
        /// The capacity given.
        capacity: u64,
    },
    /// The zero-delay connections of a domain form a cycle.
    #[error("the zero-delay connections form a cycle: {}; one of them needs a delay", cycle_text(units))]
    ZeroDelayCycle {
        /// The units, in the order of the cycle.
        units: Vec<String>,
    },
    /// Two FIFOs with one id.
    #[error("FIFO id {id} is used twice")]
    DuplicateFifo {
        /// The id.
        id: u32,
    },
    /// FIFO id 0.
    #[error("FIFO id 0 stands for no FIFO; expected 1 or more")]
    ReservedFifo,
    /// A FIFO name that cannot be.
    #[error("FIFO {id}: `{name}` is no name: expected 1 to 128 printable ASCII characters")]
    FifoName {
        /// The id.
        id: u32,
        /// The name given, cut to 64 characters.
        name: String,
    },
    /// A FIFO whose circuit cannot be.
    #[error("FIFO {id}: {error}")]
    Circuit {
        /// The id.
        id: u32,
        /// What was wrong.
        error: CircuitError,
    },
    /// One observation kind declared with two shapes.
    #[error("the kind `{name}` is declared as {first} and as {second}")]
    KindShape {
        /// The kind.
        name: String,
        /// One shape.
        first: &'static str,
        /// Another shape.
        second: &'static str,
    },
    /// A machine in a domain whose cycles are no nanoseconds.
    #[error(
        "unit `{unit}` is a machine in domain `{domain}`; expected a domain of 1 GHz, whose cycles are nanoseconds"
    )]
    MachineClock {
        /// The unit.
        unit: String,
        /// Its domain.
        domain: String,
    },
    /// No units.
    #[error("the simulation has no units")]
    Empty,
}

fn cycle_text(units: &[String]) -> String {
    let mut path: Vec<&str> = units.iter().map(String::as_str).collect();
    path.extend(units.first().map(String::as_str));
    path.join(" -> ")
}
