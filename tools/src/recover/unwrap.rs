//! The readable part of a wrapper that is torn at the end of a trace.
//!
//! A deflate stream that ends early gives a prefix of what was written; its checksum is missing, so
//! each packet of the prefix is only known to be well formed. A stream that contradicts itself gives
//! nothing.

use clockweave_validators::scan::{
    Codec, Cut, CutReason, Entries, EntryFault, InflateFault, Inflater, Packet, field, varint,
};

/// Packets out of a torn wrapper, as entries of a trace.
#[derive(Debug, Default)]
pub(super) struct Unwrapped {
    pub(super) packets: u64,
    pub(super) bytes: Vec<u8>,
}

/// What can be read of the wrapper at the beginning of `bytes`, which is where and why `cut` says.
pub(super) fn readable(bytes: &[u8], cut: &Cut) -> Unwrapped {
    let torn = matches!(
        cut.reason,
        CutReason::Entry(EntryFault::TornPayload { .. }) | CutReason::Wrapper(InflateFault::Torn { .. })
    );
    let Some((codec, stream)) = torn.then(|| stream_of(bytes)).flatten() else { return Unwrapped::default() };
    let mut inflater = Inflater::default();
    let whole = match inflater.inflate(codec, stream) {
        Ok(_) | Err(InflateFault::Torn { .. }) => inflater.output(),
        Err(_) => return Unwrapped::default(),
    };
    let (mut packets, mut end) = (0, 0);
    for entry in Entries::new(whole).map_while(Result::ok) {
        match Packet::parse(entry.payload) {
            Ok(packet) if packet.wrapper.is_none() => packets += 1,
            _ => break,
        }
        end = usize::try_from(entry.end()).unwrap_or(end);
    }
    Unwrapped { packets, bytes: whole[..end].to_vec() }
}

/// The compressed stream of an entry whose end may be missing.
fn stream_of(entry: &[u8]) -> Option<(Codec, &[u8])> {
    let (length, mut at) = varint(entry, 1).ok()?;
    let end = at.checked_add(usize::try_from(length).ok()?)?.min(entry.len());
    let packet = &entry[..end];
    loop {
        let (tag, after) = varint(packet, at).ok()?;
        let (value, after) = varint(packet, after).ok()?;
        at = match tag & 7 {
            0 => after,
            2 => {
                let rest = &packet[after..];
                let length = usize::try_from(value).ok()?.min(rest.len());
                let codec = match u32::try_from(tag >> 3).ok()? {
                    field::COMPRESSED_PACKETS => Some(Codec::Deflate),
                    field::ZSTD_COMPRESSED_PACKETS => Some(Codec::Zstd),
                    _ => None,
                };
                if let Some(codec) = codec {
                    return Some((codec, &rest[..length]));
                }
                after + length
            }
            _ => return None,
        };
    }
}
