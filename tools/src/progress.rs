//! What long work tells its caller on the way.

use crate::logs::LineError;

/// Receives the progress of long work.
pub trait Progress {
    /// Work of `total` steps (bytes, or events) begins.
    fn stage(&mut self, what: &str, total: u64);
    /// `steps` more are done.
    fn advance(&mut self, steps: u64);
    /// A line was refused and work goes on.
    fn refused(&mut self, error: &LineError);
}

/// Nobody looks.
impl Progress for () {
    fn stage(&mut self, _what: &str, _total: u64) {}

    fn advance(&mut self, _steps: u64) {}

    fn refused(&mut self, _error: &LineError) {}
}
