//! Machines with run queues: what exploration finds, and what it does not.

mod exploring;
mod unit;
