//! Length-limited Huffman codes, as deflate numbers them.

/// Code lengths for `frequencies`, none above `limit`; unused symbols have 0. At least two symbols
/// get a code, because some readers refuse an incomplete one.
pub(crate) fn code_lengths(frequencies: &[u32], limit: usize, lengths: &mut [u8]) {
    lengths.fill(0);
    let mut used: Vec<(u64, usize)> =
        (0..frequencies.len()).filter(|s| frequencies[*s] > 0).map(|s| (frequencies[s].into(), s)).collect();
    let mut unused = (0..frequencies.len()).filter(|s| frequencies[*s] == 0);
    while used.len() < 2 {
        used.extend(unused.next().map(|symbol| (0, symbol)));
    }
    used.sort_unstable();
    let mut counts = limited(&depths(&used), limit);
    // The rarest symbols get the longest codes.
    let mut length = limit;
    for (_, symbol) in used {
        while counts[length] == 0 {
            length -= 1;
        }
        counts[length] -= 1;
        lengths[symbol] = length as u8;
    }
}

/// How many symbols have each depth in a Huffman tree; `leaves` are sorted by weight.
fn depths(leaves: &[(u64, usize)]) -> Vec<usize> {
    // Two queues: leaves, and inner nodes, whose weights come out sorted.
    let count = leaves.len();
    let mut weights: Vec<u64> = Vec::with_capacity(count - 1);
    let mut parents = vec![0usize; 2 * count - 1];
    let (mut leaf, mut inner) = (0, 0);
    for node in count..2 * count - 1 {
        let mut weight = 0;
        for _ in 0..2 {
            let take_leaf = leaf < count && (inner == weights.len() || leaves[leaf].0 <= weights[inner]);
            let child = if take_leaf { leaf } else { count + inner };
            weight += if take_leaf { leaves[leaf].0 } else { weights[inner] };
            if take_leaf {
                leaf += 1;
            } else {
                inner += 1;
            }
            parents[child] = node;
        }
        weights.push(weight);
    }
    let mut depth = vec![0usize; 2 * count - 1];
    let mut histogram = vec![0usize; count];
    for node in (0..2 * count - 2).rev() {
        depth[node] = depth[parents[node]] + 1;
        if node < count {
            histogram[depth[node]] += 1;
        }
    }
    histogram
}

/// The same number of symbols with no depth above `limit`: too deep ones move up to `limit`, and for
/// the code space they then take too much, shallower ones move down.
fn limited(histogram: &[usize], limit: usize) -> Vec<usize> {
    let mut counts = vec![0usize; limit + 1];
    for (depth, count) in histogram.iter().enumerate() {
        counts[depth.min(limit)] += count;
    }
    let space = 1usize << limit;
    let mut taken: usize = (1..=limit).map(|depth| counts[depth] << (limit - depth)).sum();
    while taken > space {
        // One leaf of the deepest level above the limit becomes the parent of itself and of one of
        // the leaves at the limit.
        let depth =
            (1..limit).rev().find(|depth| counts[*depth] > 0).expect("a code that overflows has such a leaf");
        counts[depth] -= 1;
        counts[depth + 1] += 2;
        counts[limit] -= 1;
        taken -= 1;
    }
    counts
}

/// The codes that belong to `lengths`, bits in the order they are written.
pub(crate) fn codes(lengths: &[u8]) -> Vec<u16> {
    let mut next = [0u16; 16];
    for &length in lengths.iter().filter(|length| **length > 0) {
        next[usize::from(length)] += 1;
    }
    let mut code = 0;
    for count in &mut next {
        let used = *count;
        *count = code;
        code = (code + used) << 1;
    }
    lengths
        .iter()
        .map(|&length| {
            let slot = &mut next[usize::from(length)];
            let code = *slot;
            *slot += u16::from(length > 0);
            if length == 0 { 0 } else { code.reverse_bits() >> (16 - length) }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lengths(frequencies: &[u32], limit: usize) -> Vec<u8> {
        let mut lengths = vec![0; frequencies.len()];
        code_lengths(frequencies, limit, &mut lengths);
        lengths
    }

    fn space(lengths: &[u8], limit: usize) -> usize {
        lengths.iter().filter(|l| **l > 0).map(|l| 1usize << (limit - usize::from(*l))).sum()
    }

    #[test]
    fn a_known_tree() {
        // 45 13 12 16 9 5: the textbook example.
        assert_eq!(lengths(&[45, 13, 12, 16, 9, 5], 15), [1, 3, 3, 3, 4, 4]);
        assert_eq!(lengths(&[0, 7, 0], 15), [1, 1, 0]);
        assert_eq!(lengths(&[0, 0, 0], 15), [1, 1, 0]);
    }

    #[test]
    fn codes_of_the_standards_example() {
        // RFC 1951, 3.2.2: lengths (3, 3, 3, 3, 3, 2, 4, 4).
        let expected = [0b010, 0b011, 0b100, 0b101, 0b110, 0b00, 0b1110, 0b1111u16];
        let lengths = [3, 3, 3, 3, 3, 2, 4, 4];
        let reversed: Vec<u16> =
            expected.iter().zip(lengths).map(|(code, length)| code.reverse_bits() >> (16 - length)).collect();
        assert_eq!(codes(&lengths.map(|l| l as u8)), reversed);
    }

    #[test]
    fn fibonacci_weights_meet_the_limit() {
        let mut weights = vec![1u32, 1];
        while weights.len() < 30 {
            weights.push(weights[weights.len() - 1] + weights[weights.len() - 2]);
        }
        for limit in [5, 7, 15] {
            let lengths = lengths(&weights, limit);
            assert!(lengths.iter().all(|l| (1..=limit).contains(&usize::from(*l))));
            assert_eq!(space(&lengths, limit), 1 << limit, "the code is complete");
        }
    }

    proptest! {
        #[test]
        fn codes_are_complete_and_limited(weights in prop::collection::vec(0u32..10_000, 2..286), small: bool) {
            let limit = if small && weights.len() <= 19 { 7 } else { 15 };
            let lengths = lengths(&weights, limit);
            prop_assert!(lengths.iter().all(|l| usize::from(*l) <= limit));
            prop_assert_eq!(space(&lengths, limit), 1 << limit);
            prop_assert!(weights.iter().zip(&lengths).all(|(w, l)| *w == 0 || *l > 0));
        }
    }
}
