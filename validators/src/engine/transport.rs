//! The byte pipe to a Trace Processor, whatever runs it.
//!
//! A transport carries requests in order and gives back the reply bytes in order, in pieces of any size. It does not
//! know what they mean.

use std::time::Duration;

use super::error::EngineError;

/// A piece of what an engine says.
#[derive(Debug)]
pub(crate) enum Reply {
    /// Bytes of the reply stream.
    Bytes(Vec<u8>),
    /// The engine has said all it will say about the first so many requests. Not every transport can tell.
    Served(u64),
}

/// A pipe to one running engine.
pub(crate) trait Transport: Send {
    /// Sends one request of the request stream, or any piece of it where nobody asks what was served.
    fn send(&mut self, request: Vec<u8>) -> Result<(), EngineError>;

    /// Waits for the next piece of the reply stream, at most so long; after that the engine is given up.
    fn receive(&mut self, limit: Duration) -> Result<Reply, EngineError>;
}
