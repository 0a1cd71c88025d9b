//! Ctrl-C, and being told to end.

use clockweave::scratch;

use super::failure::Failure;

/// Exit code of an interrupted command.
const INTERRUPTED: i32 = 130;

/// From now on Ctrl-C, SIGTERM and SIGHUP remove what is unfinished and end the process.
pub(crate) fn install() -> Result<(), Failure> {
    ctrlc::set_handler(|| {
        scratch::abandon();
        std::process::exit(INTERRUPTED);
    })
    .map_err(|error| Failure::environment(format!("no handler for Ctrl-C: {error}")))
}
