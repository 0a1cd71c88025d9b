//! The checks, one property per module; the SQL they run is in `checks/`, one property per file.
//!
//! Every check takes what it needs and gives one [`CheckReport`](crate::report::CheckReport). None knows another.

pub(crate) mod conservation;
pub(crate) mod fifo;
pub(crate) mod flows;
pub(crate) mod identity;
pub(crate) mod import;
pub(crate) mod imported;
pub(crate) mod manifest;
pub(crate) mod order;
pub(crate) mod own;
pub(crate) mod reference;
pub(crate) mod runqueue;
pub(crate) mod structure;
pub(crate) mod time;
pub(crate) mod tracks;
