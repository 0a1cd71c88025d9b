//! A trace in Perfetto's own UI, without a network: the UI's files come from the engine package.
//!
//! The parts: which file is shown and how it has to be re-encoded for the UI (`prepare`), what is selected (`moments`,
//! `link`), a server for this machine's browser (`server`), and a browser without a window that takes a picture
//! (`browser`). Invariants: the given trace is never written to; what was made for the UI is a temporary file.

mod browser;
mod link;
mod moments;
mod prepare;
mod server;

pub use browser::{Browser, BrowserError, Stopper, find_browser};
pub use link::{Selection, View, page};
pub use moments::{ViewError, view};
pub use prepare::{OpenError, Prepared, prepare};
pub use server::{ServedTrace, Server, Site};
