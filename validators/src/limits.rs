//! How much of a trace is taken in before it is refused.
//!
//! A few bytes of a compressed stream can stand for gigabytes, so what comes out is bounded, per wrapper and in all.
//! With these bounds and those of [`crate::lint::MOST`] the bytes of a trace are looked at in bounded memory: one
//! packet, one wrapper's content, and what is told apart. Deliberately says nothing of the engine, whose memory has
//! limits of its own.

/// Bounds on one trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of one packet as it is in the file.
    pub packet_bytes: usize,
    /// Most bytes of one wrapper's content.
    pub wrapper_bytes: usize,
    /// Most bytes of all packets with their wrappers opened.
    pub content_bytes: u64,
}

impl Default for Limits {
    /// 64 MiB for a packet and for a wrapper's content, 256 times what any known writer puts into one; 1 GiB in all, in
    /// which there is room for twenty million events.
    fn default() -> Self {
        Self { packet_bytes: 64 << 20, wrapper_bytes: 64 << 20, content_bytes: 1 << 30 }
    }
}
