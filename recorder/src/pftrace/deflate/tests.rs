//! Every stream is read back by two other implementations.

use std::io::Read;

use proptest::prelude::*;

use super::*;

/// Compresses twice and reads back twice; gives the size.
fn round_trip(bytes: &[u8], hints: &[Hint]) -> usize {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len() + SLACK, 0xa5);
    let mut out = vec![0xee; bound(bytes.len())];
    let mut deflater = PacketDeflater::new();
    let size = deflater.compress(&padded, bytes.len(), hints, &mut out);
    // Neither the block before nor what lies behind this one shows: here its own end again.
    let tail = bytes[bytes.len().saturating_sub(SLACK)..].to_vec();
    padded[bytes.len()..][..tail.len()].copy_from_slice(&tail);
    let mut again = vec![0x11; bound(bytes.len())];
    assert_eq!(deflater.compress(&padded, bytes.len(), hints, &mut again), size);
    assert!(out[..size] == again[..size]);
    let stream = &out[..size];
    let mut back = Vec::new();
    let mut decoder = flate2::read::ZlibDecoder::new(stream);
    decoder.read_to_end(&mut back).unwrap();
    assert_eq!(decoder.total_in() as usize, size);
    assert!(back == bytes);
    let mut back = vec![0; bytes.len()];
    let length = libdeflater::Decompressor::new().zlib_decompress(stream, &mut back).unwrap();
    assert!(length == bytes.len() && back == bytes);
    size
}

#[test]
fn without_hints_everything_is_literals() {
    for length in [0usize, 1, 2, 255, 70_000, 262_144] {
        let same = vec![7u8; length];
        round_trip(&same, &[]);
        let mixed: Vec<u8> = (0..length).map(|i| (i * i / 7) as u8).collect();
        assert!(round_trip(&mixed, &[]) <= bound(length));
    }
}

#[test]
fn a_repeated_packet_costs_a_few_bytes() {
    let packet: Vec<u8> = (0u8..50).map(|i| i * 5).collect();
    let hint = |n: u32| Hint { start: 50 * n, ordinal_at: 20, transaction_at: 30, ..Hint::default() };
    let hints: Vec<Hint> = (0..2000).map(hint).collect();
    // 100,000 bytes are 388 matches of 258, and codes.
    let size = round_trip(&packet.repeat(2000), &hints);
    assert!(size < 600, "{size}");
}

#[test]
fn distances_and_lengths_of_every_size() {
    // Random bytes, repeated at every power of two and around it, each hinted as one packet.
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    let mut bytes: Vec<u8> = (0..32_768).map(|_| random()).collect();
    let mut hints = Vec::new();
    for power in 2..16u32 {
        for near in [-1i64, 0, 1] {
            for length in [3usize, 4, 10, 11, 18, 130, 257, 258, 259] {
                let distance = ((1i64 << power) + near) as usize;
                if distance > 32_768 {
                    continue;
                }
                let key = (hints.len() / 2 % 1024) as u16;
                let (from, unit) = (bytes.len() - distance, key);
                hints.push(Hint {
                    start: from as u32,
                    head: key,
                    unit,
                    transaction: key,
                    ordinal_at: 200,
                    transaction_at: 200,
                });
                hints.push(Hint { start: bytes.len() as u32, ..hints[hints.len() - 1] });
                (0..length).for_each(|n| bytes.push(bytes[from + n]));
                (0..5).for_each(|_| bytes.push(random()));
            }
        }
    }
    hints.sort_by_key(|hint| hint.start);
    round_trip(&bytes, &hints);
}

proptest! {
    #[test]
    fn any_hints_give_the_bytes_back(
        pieces in prop::collection::vec((0usize..6, 1usize..80, any::<u8>()), 0..300),
        hints in prop::collection::vec((0usize..100, 0u16..8, 0u16..1024, any::<u16>(), any::<u8>(), any::<u8>()), 0..300),
    ) {
        let mut bytes = Vec::new();
        for (pattern, length, change) in pieces {
            let start = bytes.len();
            bytes.extend((0..length).map(|i| (i * (pattern + 3)) as u8));
            bytes[start + usize::from(change) % length] = change;
        }
        let mut start = 0;
        let mut list = Vec::new();
        for (gap, head, unit, transaction, ordinal_at, transaction_at) in hints {
            start += gap;
            if start >= bytes.len() {
                break;
            }
            let (ordinal_at, transaction_at) = (ordinal_at.min(transaction_at), ordinal_at.max(transaction_at));
            list.push(Hint { start: start as u32, head, unit, transaction, ordinal_at, transaction_at });
        }
        round_trip(&bytes, &list);
    }

    #[test]
    fn noise_is_stored(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
        prop_assert!(round_trip(&bytes, &[]) <= bound(bytes.len()));
    }
}
