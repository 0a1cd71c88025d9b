//! The canonical order of the units of one domain.
//!
//! Kahn's algorithm over zero-delay connections, always taking the ready unit with the smallest path
//! name: the order depends on names and connections alone, never on the order of creation.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Orders units `0..names.len()` so that each edge `(before, after)` is respected.
///
/// # Errors
/// The units of one cycle, in its order, if there is one.
pub(crate) fn canonical_order(names: &[&str], edges: &[(usize, usize)]) -> Result<Vec<usize>, Vec<usize>> {
    let mut successors = vec![Vec::new(); names.len()];
    let mut waiting = vec![0usize; names.len()];
    for &(before, after) in edges {
        successors[before].push(after);
        waiting[after] += 1;
    }
    let ready = |unit: usize| Reverse((names[unit], unit));
    let mut heap: BinaryHeap<_> = (0..names.len()).filter(|&u| waiting[u] == 0).map(ready).collect();
    let mut order = Vec::with_capacity(names.len());
    while let Some(Reverse((_, unit))) = heap.pop() {
        order.push(unit);
        for &next in &successors[unit] {
            waiting[next] -= 1;
            if waiting[next] == 0 {
                heap.push(ready(next));
            }
        }
    }
    if order.len() == names.len() { Ok(order) } else { Err(cycle(names, &waiting, edges)) }
}

/// Walks back from a unit that never became ready: every such unit waits for another one. Names decide
/// which cycle is found and where it begins.
fn cycle(names: &[&str], waiting: &[usize], edges: &[(usize, usize)]) -> Vec<usize> {
    let mut waits_for = vec![usize::MAX; waiting.len()];
    for &(before, after) in edges {
        let known = waits_for[after];
        if waiting[before] > 0 && (known == usize::MAX || names[before] < names[known]) {
            waits_for[after] = before;
        }
    }
    let stuck = (0..waiting.len()).filter(|&unit| waiting[unit] > 0);
    let mut unit = stuck.min_by_key(|&unit| names[unit]).expect("a cycle leaves a waiting unit");
    let mut seen = vec![false; waiting.len()];
    while !seen[unit] {
        seen[unit] = true;
        unit = waits_for[unit];
    }
    let (start, mut path) = (unit, vec![unit]);
    while waits_for[unit] != start {
        unit = waits_for[unit];
        path.push(unit);
    }
    path.reverse();
    let first = (0..path.len()).min_by_key(|&at| names[path[at]]).unwrap_or(0);
    path.rotate_left(first);
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_ready_name_goes_first() {
        let names = ["d", "c", "b", "a"];
        assert_eq!(canonical_order(&names, &[]), Ok(vec![3, 2, 1, 0]));
        // d before a, though a sorts first.
        assert_eq!(canonical_order(&names, &[(0, 3)]), Ok(vec![2, 1, 0, 3]));
        assert_eq!(canonical_order(&names, &[(0, 3), (3, 2), (3, 1)]), Ok(vec![0, 3, 2, 1]));
    }

    #[test]
    fn a_cycle_is_named_in_its_order() {
        let names = ["a", "b", "c", "tail"];
        assert_eq!(canonical_order(&names, &[(0, 1), (1, 2), (2, 0), (2, 3)]), Err(vec![0, 1, 2]));
        // Of two cycles the same one, whatever the numbers of the units.
        let edges = [(0, 1), (1, 0), (2, 3), (3, 2)];
        assert_eq!(canonical_order(&["a", "b", "c", "d"], &edges), Err(vec![0, 1]));
        assert_eq!(canonical_order(&["d", "c", "b", "a"], &edges), Err(vec![3, 2]));
        assert_eq!(canonical_order(&["a"], &[(0, 0)]), Err(vec![0]));
    }
}
