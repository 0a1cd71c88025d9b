//! Merging streams that are each in order.

use super::MergeError;

/// A stream in order, standing on its current item.
pub(crate) trait Ordered {
    /// What is compared.
    type Key: Copy + Ord;
    /// The key of the current item.
    fn key(&self) -> Self::Key;
    /// Goes to the next item; false at the end.
    fn advance(&mut self) -> Result<bool, MergeError>;
    /// The error of a stream that turned out not to be in order.
    fn disorder(&self) -> MergeError;
}

/// Gives `emit` every item of `streams`, each of which stands on its first, smallest key first and
/// equal keys in the order of the streams.
pub(crate) fn merge<S: Ordered>(
    streams: &mut [S],
    mut emit: impl FnMut(&mut S) -> Result<(), MergeError>,
) -> Result<(), MergeError> {
    let mut heap: Vec<(S::Key, usize)> =
        streams.iter().enumerate().map(|(at, stream)| (stream.key(), at)).collect();
    // A sorted array is a heap.
    heap.sort_unstable();
    while let Some(&(key, at)) = heap.first() {
        let stream = &mut streams[at];
        emit(stream)?;
        if stream.advance()? {
            let next = stream.key();
            if next < key {
                return Err(stream.disorder());
            }
            heap[0].0 = next;
        } else {
            heap.swap_remove(0);
        }
        sift_down(&mut heap);
    }
    Ok(())
}

#[inline]
fn sift_down<T: Copy + Ord>(heap: &mut [T]) {
    let Some(&moved) = heap.first() else { return };
    let mut hole = 0;
    loop {
        let left = 2 * hole + 1;
        let Some(&first) = heap.get(left) else { break };
        let (child, least) = match heap.get(left + 1) {
            Some(&second) if second < first => (left + 1, second),
            _ => (left, first),
        };
        if moved <= least {
            break;
        }
        heap[hole] = least;
        hole = child;
    }
    heap[hole] = moved;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug)]
    struct Numbers(Vec<u32>);

    impl Ordered for Numbers {
        type Key = u32;

        fn key(&self) -> u32 {
            self.0[0]
        }

        fn advance(&mut self) -> Result<bool, MergeError> {
            self.0.remove(0);
            Ok(!self.0.is_empty())
        }

        fn disorder(&self) -> MergeError {
            MergeError::Changed { file: String::new() }
        }
    }

    proptest! {
        #[test]
        fn the_union_comes_out_sorted(
            mut lists in proptest::collection::vec(proptest::collection::vec(0u32..50, 1..20), 0..12),
        ) {
            lists.iter_mut().for_each(|list| list.sort_unstable());
            let mut expected: Vec<u32> = lists.concat();
            expected.sort_unstable();
            let mut streams: Vec<Numbers> = lists.into_iter().map(Numbers).collect();
            let mut found = Vec::new();
            merge(&mut streams, |stream| {
                found.push(stream.key());
                Ok(())
            })
            .unwrap();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_stream_out_of_order_is_an_error() {
        let mut streams = [Numbers(vec![1, 5]), Numbers(vec![2, 4, 3])];
        assert!(matches!(merge(&mut streams, |_| Ok(())), Err(MergeError::Changed { .. })));
    }
}
