//! Ctrl-C, and being told to end.

use std::sync::{Mutex, PoisonError};

use clockweave::scratch;
use clockweave_simulator::StopHandle;

use super::failure::Failure;

/// Exit code of an interrupted command.
pub(super) const INTERRUPTED: u8 = 130;

/// A run that the next signal stops in good order.
static RUNNING: Mutex<Option<StopHandle>> = Mutex::new(None);

fn running() -> Option<StopHandle> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// The next signal stops this run, which then ends by itself; one more ends the process.
pub(crate) fn stop_first(run: StopHandle) {
    *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = Some(run);
}

/// From now on Ctrl-C, SIGTERM and SIGHUP remove what is unfinished and end the process.
pub(crate) fn install() -> Result<(), Failure> {
    ctrlc::set_handler(|| {
        if let Some(run) = running() {
            run.request("interrupted");
            return;
        }
        scratch::abandon();
        std::process::exit(INTERRUPTED.into());
    })
    .map_err(|error| Failure::environment(format!("no handler for Ctrl-C: {error}")))
}
