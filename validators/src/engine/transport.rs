//! The byte pipe to a Trace Processor, whatever runs it.
//!
//! A transport carries requests in order and gives back the reply bytes in order, in pieces of any size. It does not
//! know what they mean.

use super::error::EngineError;

/// A piece of what an engine says.
#[derive(Debug)]
pub(crate) enum Reply {
    /// Bytes of the reply stream.
    Bytes(Vec<u8>),
    /// The engine has finished with everything sent so far and said all it will say about it.
    Idle,
}

/// A pipe to one running engine.
pub(crate) trait Transport {
    /// Sends bytes of the request stream.
    fn send(&mut self, request: Vec<u8>) -> Result<(), EngineError>;

    /// Waits for the next piece of the reply stream.
    fn receive(&mut self) -> Result<Reply, EngineError>;
}
