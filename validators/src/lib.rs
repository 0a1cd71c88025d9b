//! Checks that a trace says exactly what a run did.
//!
//! [`scan`] reads a trace's structure from its bytes. The crate depends on no other part of the suite: a checker
//! that shares code with the writer repeats its mistakes.
//!
//! ```
//! use clockweave_validators::scan;
//!
//! // One whole packet (sequence 2), then one whose last byte is missing.
//! let trace = [0x0a, 0x02, 0x50, 0x02, 0x0a, 0x02, 0x50];
//! let report = scan::prefix(&trace, &scan::PrefixOptions::default());
//! assert_eq!((report.kept_packets, report.kept_bytes), (1, 4));
//! assert_eq!(
//!     report.cut.unwrap().to_string(),
//!     "at byte 4: found 1 bytes of a packet, expected the 2 bytes its header announces"
//! );
//! ```

pub mod scan;
