//! Many pieces of work on a few threads, with results in the order of the work.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

/// Runs `work` for every item on at most `jobs` threads and hands every result to `take`, in the order of the items
/// whatever finishes first. Once `take` has failed, no further item is begun.
///
/// # Errors
/// What `take` gives.
///
/// # Panics
/// When `work` does.
pub fn in_order<T: Sync, R: Send, E>(
    items: &[T],
    jobs: usize,
    work: impl Fn(&T) -> R + Sync,
    mut take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (results, finished) = channel();
        for _ in 0..jobs.clamp(1, items.len().max(1)) {
            let (results, next, work) = (results.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { return };
                    // Whoever listened has failed.
                    if results.send((index, work(item))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(results);
        let (mut waiting, mut due) = (BTreeMap::new(), 0);
        for (index, result) in finished {
            waiting.insert(index, result);
            while let Some(result) = waiting.remove(&due) {
                due += 1;
                if let Err(error) = take(result) {
                    next.store(items.len(), Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn results_come_in_order_although_the_first_finishes_last() {
        // Every item but the first is done before the first is.
        let (items, others): (Vec<usize>, _) = ((0..9).collect(), AtomicUsize::new(0));
        let work = |item: &usize| {
            while *item == 0 && others.load(Ordering::Acquire) < 8 {
                std::thread::yield_now();
            }
            if *item > 0 {
                others.fetch_add(1, Ordering::Release);
            }
            *item
        };
        let mut taken = Vec::new();
        in_order(&items, 2, work, |item| {
            taken.push(item);
            Ok::<_, ()>(())
        })
        .unwrap();
        assert_eq!(taken, items);
    }

    #[test]
    fn as_many_as_asked_for_run_at_once() {
        // Passes only if three are inside together.
        let meeting = Barrier::new(3);
        let met = in_order(&[(); 3], 3, |()| meeting.wait().is_leader(), |_| Ok::<_, ()>(()));
        assert_eq!(met, Ok(()));
    }

    #[test]
    fn a_failure_of_the_taker_ends_the_work() {
        assert_eq!(in_order(&[(); 1000], 2, |()| (), |()| Err("enough")), Err("enough"));
        assert_eq!(in_order(&[] as &[()], 4, |()| (), |()| Err(())), Ok(()));
    }
}
