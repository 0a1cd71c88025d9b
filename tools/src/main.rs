//! The `clockweave` command.
//!
//! Command lines, words and exit codes live here; what a command does is a function of the library.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
