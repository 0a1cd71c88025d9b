//! Ctrl-C, being told to end, and files that may not grow.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use clockweave::scratch;

use super::failure::{Failure, INTERRUPTED};

type Gentle = Box<dyn FnOnce() + Send>;

/// What the first signal does, for a command that ends by itself when asked.
static GENTLE: Mutex<Option<Gentle>> = Mutex::new(None);
static HAPPENED: AtomicBool = AtomicBool::new(false);

fn gentle(next: Option<Gentle>) -> Option<Gentle> {
    std::mem::replace(&mut *GENTLE.lock().unwrap_or_else(PoisonError::into_inner), next)
}

/// From now on Ctrl-C, SIGTERM and SIGHUP remove what is unfinished and end the process, and a file-size limit is an
/// error of whoever writes, not the end of the process.
pub(crate) fn install() -> Result<(), Failure> {
    #[cfg(unix)]
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default())
        .map_err(|error| Failure::environment(format!("no handler for SIGXFSZ: {error}")))?;
    ctrlc::set_handler(|| {
        HAPPENED.store(true, Ordering::SeqCst);
        match gentle(None) {
            Some(ask) => ask(),
            None => {
                scratch::abandon();
                std::process::exit(INTERRUPTED.into());
            }
        }
    })
    .map_err(|error| Failure::environment(format!("no handler for Ctrl-C: {error}")))
}

/// The first signal calls `ask` and leaves the command to end by itself; a second one is as hard as ever.
pub(crate) fn soften(ask: impl FnOnce() + Send + 'static) {
    gentle(Some(Box::new(ask)));
}

/// Signals end the process again. Whether one was caught meanwhile.
pub(crate) fn harden() -> bool {
    gentle(None);
    HAPPENED.load(Ordering::SeqCst)
}
