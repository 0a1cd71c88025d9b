//! How far recording has come: what each stream promised, what is therefore safe to write, who waits for what.
//!
//! # Invariants
//!
//! * A stream's *progress* is a display nanosecond below which it records nothing any more. It never falls.
//! * The *watermark* is the least progress of all streams; where one thread coordinates all of them it is what that
//!   thread says. Every event below it is in its ring already when it is read here, because a producer appends before
//!   it promises and both sides pass through the one lock. So the backend reads the watermark *before* it looks at ring
//!   heads; the other way round it could write a nanosecond whose events it has not seen.
//! * The stream with the least progress never waits for the watermark, so among streams that only wait for each other
//!   one can always go on.
//! * The first failure is kept and wakes everyone; nobody waits after it.
//! * Room in a ring is given back before the lock is taken, and looked for again under the lock before waiting, so no
//!   waiting producer misses it.
//!
//! One lock guards all of it: it is taken once per batch of records, never per record. What a record is, and what
//! failures mean, is not known here.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use crate::sync::{AtomicU64, Condvar, Mutex, MutexGuard, Ordering, spin_loop, yield_now};

/// Progress of a stream that has ended.
pub(crate) const ENDED: u64 = u64::MAX;
/// Looks at the watermark before a producer's thread is given up: spinning, then yielding.
const SPINS: u32 = 64;
const YIELDS: u32 = 4;

/// Host-side figures of waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waits {
    pub(crate) count: u64,
    pub(crate) ns: u64,
}

impl Waits {
    fn add(&mut self, since: Instant) {
        self.count += 1;
        self.ns += u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
    }
}

/// The least of many numbers, kept while they rise.
struct Tournament {
    /// A binary tree by index: the children of `n` are `2n` and `2n + 1`, the leaves are the last half.
    tree: Box<[u64]>,
    leaves: usize,
}

impl Tournament {
    fn new(count: usize) -> Self {
        let leaves = count.next_power_of_two();
        let mut tree = vec![0; 2 * leaves].into_boxed_slice();
        tree[leaves + count..].fill(ENDED);
        for node in (1..leaves).rev() {
            tree[node] = tree[2 * node].min(tree[2 * node + 1]);
        }
        Self { tree, leaves }
    }

    fn least(&self) -> u64 {
        self.tree[1]
    }

    fn get(&self, at: usize) -> u64 {
        self.tree[self.leaves + at]
    }

    /// A place that has the least number.
    fn place(&self) -> usize {
        let mut node = 1;
        while node < self.leaves {
            node = 2 * node + usize::from(self.tree[2 * node] > self.tree[2 * node + 1]);
        }
        node - self.leaves
    }

    fn raise(&mut self, at: usize, to: u64) {
        let mut node = self.leaves + at;
        if to <= self.tree[node] {
            return;
        }
        self.tree[node] = to;
        while node > 1 {
            node /= 2;
            let least = self.tree[2 * node].min(self.tree[2 * node + 1]);
            if std::mem::replace(&mut self.tree[node], least) == least {
                return;
            }
        }
    }
}

struct State<E> {
    progress: Tournament,
    /// Streams that wait for the watermark, the least target first.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
    /// Streams that wait for room in their rings.
    crowded: Vec<usize>,
    failure: Option<E>,
    /// Records announced since the backend last took up work.
    announced: u64,
    nudged: bool,
    asleep: bool,
    closing: bool,
    /// The backend has ended: what is in the rings stays there.
    ended: bool,
    flushes_asked: u64,
    flushes_done: u64,
    room_waits: Waits,
    progress_waits: Waits,
}

/// The state that producers, coordinator and backend share.
pub(crate) struct Frontier<E> {
    state: Mutex<State<E>>,
    /// The watermark, for those who may wait: a hint, looked at again under the lock.
    hint: AtomicU64,
    /// The backend waits here.
    work: Condvar,
    /// Callers of `flush` wait here.
    flushed: Condvar,
    /// Each stream's producer waits at its own.
    streams: Box<[Condvar]>,
    /// Announced records for which the backend is woken.
    batch: u64,
    coordinated: bool,
}

/// What the backend is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    /// Everything strictly below is in the rings.
    pub(crate) watermark: u64,
    /// Flushes asked for.
    pub(crate) flushes: u64,
    /// Whether a flush is owed.
    pub(crate) flush: bool,
    pub(crate) closing: bool,
    pub(crate) failed: bool,
}

impl<E: Clone> Frontier<E> {
    /// `batch` announced records wake the backend. Where streams are coordinated, there is one progress for all.
    pub(crate) fn new(streams: usize, coordinated: bool, batch: u64) -> Self {
        let state = State {
            progress: Tournament::new(if coordinated { 1 } else { streams.max(1) }),
            waiting: BinaryHeap::with_capacity(streams),
            crowded: Vec::with_capacity(streams),
            failure: None,
            announced: 0,
            nudged: false,
            asleep: false,
            closing: false,
            ended: false,
            flushes_asked: 0,
            flushes_done: 0,
            room_waits: Waits::default(),
            progress_waits: Waits::default(),
        };
        Self {
            state: Mutex::new(state),
            hint: AtomicU64::new(0),
            work: Condvar::new(),
            flushed: Condvar::new(),
            streams: (0..streams).map(|_| Condvar::new()).collect(),
            batch,
            coordinated,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<E>> {
        // A panic elsewhere leaves the state whole: every change below is complete before anything can panic.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn wait<'a>(&self, at: &Condvar, state: MutexGuard<'a, State<E>>) -> MutexGuard<'a, State<E>> {
        at.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Raises the progress of `stream`, whose producer announces `records` more.
    pub(crate) fn promise(&self, stream: usize, ns: u64, records: u64) -> Result<(), E> {
        let mut state = self.lock();
        self.check(&state)?;
        state.announced += records;
        state.progress.raise(stream, ns);
        self.after_rise(&mut state);
        Ok(())
    }

    /// Ends `stream`: nobody waits for it any more. A coordinator's word stands all the same.
    pub(crate) fn end(&self, stream: usize, records: u64) -> Result<(), E> {
        let mut state = self.lock();
        state.announced += records;
        if !self.coordinated {
            state.progress.raise(stream, ENDED);
        }
        self.after_rise(&mut state);
        self.check(&state)
    }

    /// Raises the progress of every stream: one thread speaks for all of them. It announces nothing; a batch is due.
    pub(crate) fn coordinate(&self, ns: u64) -> Result<(), E> {
        let mut state = self.lock();
        self.check(&state)?;
        state.progress.raise(0, ns);
        state.announced += self.batch;
        self.after_rise(&mut state);
        Ok(())
    }

    fn check(&self, state: &State<E>) -> Result<(), E> {
        state.failure.clone().map_or(Ok(()), Err)
    }

    /// Lets those go on whom the watermark has reached, and the backend, if enough is there for it.
    fn after_rise(&self, state: &mut State<E>) {
        let watermark = state.progress.least();
        self.hint.store(watermark, Ordering::Relaxed);
        while let Some(&Reverse((target, stream))) = state.waiting.peek() {
            if target > watermark {
                break;
            }
            state.waiting.pop();
            self.streams[stream].notify_one();
        }
        if state.announced >= self.batch || !state.crowded.is_empty() {
            self.rouse(state);
        }
    }

    fn rouse(&self, state: &mut State<E>) {
        state.nudged = true;
        if state.asleep {
            self.work.notify_one();
        }
    }

    /// Waits until the watermark is at `ns`, as `stream`, which has promised at least that.
    pub(crate) fn wait_for_watermark(&self, stream: usize, ns: u64) -> Result<(), E> {
        let reached = || self.hint.load(Ordering::Relaxed) >= ns;
        if reached() {
            return Ok(());
        }
        let since = Instant::now();
        if !self.soon(reached) {
            let mut state = self.lock();
            if state.progress.least() < ns && state.failure.is_none() {
                state.waiting.push(Reverse((ns, stream)));
            }
            while state.progress.least() < ns && state.failure.is_none() {
                state = self.wait(&self.streams[stream], state);
            }
            state.progress_waits.add(since);
            self.check(&state)?;
        }
        Ok(())
    }

    /// Waits until `has_room`, as `stream`.
    pub(crate) fn wait_for_room(&self, stream: usize, has_room: impl Fn() -> bool) -> Result<(), E> {
        let since = Instant::now();
        let mut state = self.lock();
        self.rouse(&mut state);
        drop(state);
        if self.soon(&has_room) {
            return Ok(());
        }
        state = self.lock();
        if !has_room() && state.failure.is_none() {
            state.crowded.push(stream);
            self.rouse(&mut state);
        }
        while !has_room() && state.failure.is_none() {
            state = self.wait(&self.streams[stream], state);
        }
        state.crowded.retain(|&crowded| crowded != stream);
        state.room_waits.add(since);
        self.check(&state)
    }

    fn soon(&self, happened: impl Fn() -> bool) -> bool {
        if cfg!(loom) {
            return false;
        }
        for round in 0..SPINS + YIELDS {
            if happened() {
                return true;
            }
            if round < SPINS {
                spin_loop();
            } else {
                yield_now();
            }
        }
        false
    }

    /// Tells the backend that a ring is filling.
    pub(crate) fn nudge(&self) {
        let mut state = self.lock();
        self.rouse(&mut state);
    }

    /// Keeps the first failure, wakes everyone, gives the first one back.
    pub(crate) fn fail(&self, failure: E) -> E {
        let mut state = self.lock();
        let first = state.failure.get_or_insert(failure).clone();
        state.waiting.clear();
        state.crowded.clear();
        self.streams.iter().for_each(Condvar::notify_one);
        self.flushed.notify_all();
        self.rouse(&mut state);
        first
    }

    /// The first failure.
    pub(crate) fn failure(&self) -> Option<E> {
        self.lock().failure.clone()
    }

    /// Asks the backend to make everything below the watermark reach the files, and waits for it.
    pub(crate) fn flush(&self) -> Result<(), E> {
        let mut state = self.lock();
        state.flushes_asked += 1;
        let mine = state.flushes_asked;
        self.rouse(&mut state);
        while state.flushes_done < mine && state.failure.is_none() {
            state = self.wait(&self.flushed, state);
        }
        if state.flushes_done >= mine { Ok(()) } else { self.check(&state) }
    }

    /// Asks the backend to take what is in the rings, whatever was promised, and to end.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closing = true;
        self.rouse(&mut state);
    }

    /// Says that the backend has ended, whatever ended it.
    pub(crate) fn leave(&self) {
        self.lock().ended = true;
        self.flushed.notify_all();
    }

    /// Once the run is being closed, waits until the backend has ended, and what it left in the rings is lost. Whether
    /// it is.
    pub(crate) fn wait_for_end(&self) -> bool {
        let mut state = self.lock();
        while state.closing && !state.ended {
            state = self.wait(&self.flushed, state);
        }
        state.closing
    }

    /// How long was waited for room, and for the watermark.
    pub(crate) fn waits(&self) -> (Waits, Waits) {
        let state = self.lock();
        (state.room_waits, state.progress_waits)
    }

    /// How many streams wait for the watermark, and for room.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn waiting(&self) -> (usize, usize) {
        let state = self.lock();
        (state.waiting.len(), state.crowded.len())
    }

    /// Waits until there is work, at most `patience`, and takes it up.
    pub(crate) fn wait_for_work(&self, patience: Option<Duration>) -> Work {
        let mut state = self.lock();
        if !state.nudged {
            state.asleep = true;
            state = match patience {
                None => self.wait(&self.work, state),
                Some(patience) => {
                    let waited = self.work.wait_timeout(state, patience);
                    waited.unwrap_or_else(std::sync::PoisonError::into_inner).0
                }
            };
            state.asleep = false;
        }
        state.nudged = false;
        state.announced = 0;
        self.work(&state)
    }

    fn work(&self, state: &State<E>) -> Work {
        Work {
            watermark: state.progress.least(),
            flushes: state.flushes_asked,
            flush: state.flushes_done < state.flushes_asked,
            closing: state.closing,
            failed: state.failure.is_some(),
        }
    }

    /// Raises progress by what the backend knows of streams that did not promise: while the stream that is furthest
    /// behind has a record later than its progress, it can have none before that one. `latest` gives the display
    /// nanosecond of a stream's last record, as far as it was seen.
    pub(crate) fn infer(&self, mut latest: impl FnMut(usize) -> Option<u64>) -> u64 {
        let mut state = self.lock();
        let before = state.progress.least();
        loop {
            let stream = state.progress.place();
            match latest(stream) {
                Some(ns) if ns > state.progress.get(stream) => state.progress.raise(stream, ns),
                _ => break,
            }
        }
        if state.progress.least() > before {
            self.after_rise(&mut state);
        }
        state.progress.least()
    }

    /// Wakes the producers that wait for room and, by `has_room`, have it. Whether others go on waiting.
    pub(crate) fn serve(&self, has_room: impl Fn(usize) -> bool) -> bool {
        let mut state = self.lock();
        state.crowded.retain(|&stream| {
            let room = has_room(stream);
            if room {
                self.streams[stream].notify_one();
            }
            !room
        });
        !state.crowded.is_empty()
    }

    /// Answers the flushes that were asked for up to `flushes`.
    pub(crate) fn answer(&self, flushes: u64) {
        self.lock().flushes_done = flushes;
        self.flushed.notify_all();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_tournament_has_the_least() {
        for count in [1, 2, 3, 5, 8] {
            let mut numbers = vec![0u64; count];
            let mut tournament = Tournament::new(count);
            let mut x = 1u64;
            for _ in 0..200 {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = (x >> 33) as usize % count;
                numbers[at] += x >> 60;
                tournament.raise(at, numbers[at]);
                let least = *numbers.iter().min().unwrap();
                assert_eq!(tournament.least(), least);
                assert_eq!(tournament.get(tournament.place()), least);
            }
        }
    }

    #[test]
    fn the_watermark_is_the_least_promise() {
        let frontier: Frontier<&str> = Frontier::new(3, false, 100);
        let watermark = || frontier.infer(|_| None);
        frontier.promise(0, 10, 1).unwrap();
        frontier.promise(1, 7, 1).unwrap();
        assert_eq!(watermark(), 0);
        frontier.promise(2, 9, 1).unwrap();
        assert_eq!(watermark(), 7);
        frontier.wait_for_watermark(1, 7).unwrap();
        frontier.end(1, 0).unwrap();
        assert_eq!(watermark(), 9);
        // Stream 2 has a record at 15, so what stream 0 promised is the least.
        assert_eq!(frontier.infer(|stream| (stream == 2).then_some(15)), 10);
        // A promise below what was inferred changes nothing.
        frontier.promise(2, 11, 1).unwrap();
        frontier.end(0, 0).unwrap();
        assert_eq!(watermark(), 15);
    }

    #[test]
    fn a_failure_ends_all_waiting() {
        let frontier: Frontier<&str> = Frontier::new(2, false, 100);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| frontier.wait_for_watermark(0, 5));
            let crowded = scope.spawn(|| frontier.wait_for_room(1, || false));
            let flushing = scope.spawn(|| frontier.flush());
            assert_eq!(frontier.fail("first"), "first");
            assert_eq!(frontier.fail("second"), "first");
            for thread in [waiting, crowded, flushing] {
                assert_eq!(thread.join().unwrap(), Err("first"));
            }
        });
        assert_eq!(frontier.promise(0, 9, 0), Err("first"));
        assert_eq!(frontier.failure(), Some("first"));
    }
}
