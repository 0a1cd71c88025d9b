//! Any bytes as a trace: what is kept is a prefix of them, or whole and not to be improved; nothing panics.
#![no_main]

use std::io::Read;

use clockweave::inspect::inspect;
use clockweave::recover::{Extent, RecoverReport, recover, salvage};
use clockweave::trace::FileCodec;
use libfuzzer_sys::fuzz_target;

/// Gives a few bytes at a time, so that packets are met in pieces.
struct Drip<'a>(&'a [u8], usize);

impl Read for Drip<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let take = self.1.min(self.0.len()).min(out.len());
        out[..take].copy_from_slice(&self.0[..take]);
        self.0 = &self.0[take..];
        Ok(take)
    }
}

fn kept(bytes: &[u8], extent: Extent) -> Option<(RecoverReport, Vec<u8>)> {
    let mut out = Vec::new();
    let report = recover(bytes, extent, &mut out, &mut ()).ok();
    assert!(report.is_some() || out.is_empty(), "nothing is written before a packet was seen");
    report.map(|report| (report, out))
}

fuzz_target!(|bytes: &[u8]| {
    let prefix = kept(bytes, Extent::Prefix);
    if let Some((report, out)) = &prefix {
        assert_eq!(report.kept_bytes, out.len() as u64);
        if report.file_codec == FileCodec::None {
            assert!(bytes.starts_with(out));
            assert_eq!(report.kept_bytes + report.dropped_bytes, bytes.len() as u64);
        }
        let (again, same) = kept(out, Extent::Prefix).expect("a prefix has packets");
        assert!(again.is_complete() && same == *out);
    }
    let step = 1 + bytes.len() % 7;
    let mut slow = Vec::new();
    let dripped = recover(Drip(bytes, step), Extent::Prefix, &mut slow, &mut ()).ok();
    assert!(dripped == prefix.as_ref().map(|(report, _)| report.clone()));
    assert!(prefix.is_none_or(|(_, out)| out == slow));

    if let Some((report, out)) = kept(bytes, Extent::Unwrap) {
        assert_eq!(report.kept_bytes + report.unwrapped_bytes, out.len() as u64);
        assert!(kept(&out, Extent::Prefix).is_some_and(|(report, _)| report.is_complete()));
    }
    let mut out = Vec::new();
    if let Ok(report) = salvage(bytes, &mut out, &mut ()) {
        assert_eq!(report.written_bytes, out.len() as u64);
        let mut same = Vec::new();
        let again = salvage(&out[..], &mut same, &mut ()).expect("what was salvaged has packets");
        assert!(again.is_complete() && same == out);
    }
    let _ = inspect(bytes, Some(5), &mut ());
});
