//! Machines with run queues: what exploration finds, what happens when, and what units record.

mod exploring;
mod timelines;
mod unit;
