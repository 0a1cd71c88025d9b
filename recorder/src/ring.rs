//! A bounded queue from one thread to one other: records of five plain words in atomics.
//!
//! # Layout and ownership
//!
//! Positions count records and never wrap in practice (64 bits). Position `p` lives in slot `p mod capacity`, a power
//! of two. The producer owns the slots from `head` to `tail + capacity`, the consumer those from `tail` to `head`. Each
//! side keeps its own position in a plain field and the last one it saw of the other's; the shared words `head` and
//! `tail` have cache lines of their own.
//!
//! # Orderings
//!
//! * Words are written and read with `Relaxed`; what makes them whole is the ownership above.
//! * `head` is stored with `Release` after the words of a record, and loaded with `Acquire` before they are read.
//! * `tail` is stored with `Release` after a record was copied out, and loaded with `Acquire` before its slot is
//!   written again.
//!
//! Who waits when the ring is full or empty, and what the words mean, is not known here.

use crate::sync::{Arc, AtomicU64, Ordering};

/// Words of one record.
pub(crate) const WORDS: usize = 5;
/// One record.
pub(crate) type Words = [u64; WORDS];

/// Two cache lines, since they are fetched in pairs.
#[repr(align(128))]
struct Padded(AtomicU64);

struct Ring {
    slots: Box<[[AtomicU64; WORDS]]>,
    head: Padded,
    tail: Padded,
}

/// The end that appends.
pub(crate) struct RingProducer {
    ring: Arc<Ring>,
    head: u64,
    /// Last seen; the true one may be greater.
    tail: u64,
    /// Where the next look at the true tail is due.
    limit: u64,
}

/// The end that takes.
pub(crate) struct RingConsumer {
    ring: Arc<Ring>,
    tail: u64,
    /// What the producer may know of `tail`.
    published: u64,
    /// Last seen; the true one may be greater.
    head: u64,
}

/// How full a ring was when its producer looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// Below half.
    Low,
    /// Half or more: the consumer should be told.
    High,
    /// There is no room.
    Full,
}

/// Makes a ring of `capacity` records, a power of two from 2 on.
pub(crate) fn ring(capacity: usize) -> (RingProducer, RingConsumer) {
    assert!(capacity >= 2 && capacity.is_power_of_two(), "a ring's capacity is a power of two");
    let ring = Arc::new(Ring {
        slots: (0..capacity).map(|_| std::array::from_fn(|_| AtomicU64::new(0))).collect(),
        head: Padded(AtomicU64::new(0)),
        tail: Padded(AtomicU64::new(0)),
    });
    let half = capacity as u64 / 2;
    let producer = RingProducer { ring: Arc::clone(&ring), head: 0, tail: 0, limit: half };
    (producer, RingConsumer { ring, tail: 0, published: 0, head: 0 })
}

impl Ring {
    #[inline]
    fn capacity(&self) -> u64 {
        self.slots.len() as u64
    }

    #[inline]
    fn slot(&self, position: u64) -> &[AtomicU64; WORDS] {
        &self.slots[position as usize & (self.slots.len() - 1)]
    }
}

impl RingProducer {
    /// Whether [`RingProducer::look`] is due before the next record.
    #[inline]
    pub(crate) fn is_at_limit(&self) -> bool {
        self.head == self.limit
    }

    /// Appends a record and publishes it. Only before the limit.
    #[inline]
    pub(crate) fn push(&mut self, words: Words) {
        debug_assert!(
            self.head < self.tail + self.ring.capacity(),
            "a record needs a slot of the producer's"
        );
        let slot = self.ring.slot(self.head);
        for (word, value) in slot.iter().zip(words) {
            word.store(value, Ordering::Relaxed);
        }
        self.head += 1;
        self.ring.head.0.store(self.head, Ordering::Release);
    }

    /// Looks how far the consumer is and sets the next limit: half full, or, from there on, full.
    pub(crate) fn look(&mut self) -> Fill {
        self.tail = self.ring.tail.0.load(Ordering::Acquire);
        let (used, capacity) = (self.head - self.tail, self.ring.capacity());
        self.limit = self.tail + if used < capacity / 2 { capacity / 2 } else { capacity };
        match used {
            _ if used == capacity => Fill::Full,
            _ if used >= capacity / 2 => Fill::High,
            _ => Fill::Low,
        }
    }

    /// Makes a look due before the next record.
    pub(crate) fn stop(&mut self) {
        self.limit = self.head;
    }

    /// Whether a record would fit now.
    pub(crate) fn has_room(&self) -> bool {
        self.head - self.ring.tail.0.load(Ordering::Acquire) < self.ring.capacity()
    }

    /// Records appended so far.
    pub(crate) fn appended(&self) -> u64 {
        self.head
    }

    /// Records in the ring, at most.
    pub(crate) fn used(&self) -> u64 {
        self.head - self.tail
    }

    /// The records that were never taken, from the front on.
    pub(crate) fn left(&self) -> impl Iterator<Item = Words> {
        (self.ring.tail.0.load(Ordering::Acquire)..self.head).map(|position| {
            let slot = self.ring.slot(position);
            std::array::from_fn(|word| slot[word].load(Ordering::Relaxed))
        })
    }
}

impl RingConsumer {
    /// Looks how far the producer is.
    #[inline]
    pub(crate) fn look(&mut self) {
        self.head = self.ring.head.0.load(Ordering::Acquire);
    }

    /// Records seen and not taken.
    #[inline]
    pub(crate) fn available(&self) -> u64 {
        self.head - self.tail
    }

    /// A word of the record at `ahead` from the front, of those seen.
    #[inline]
    pub(crate) fn peek(&self, ahead: u64, word: usize) -> Option<u64> {
        (ahead < self.available()).then(|| self.ring.slot(self.tail + ahead)[word].load(Ordering::Relaxed))
    }

    /// Takes the front record of those seen. Its slot is not given back yet.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Words> {
        if self.tail == self.head {
            return None;
        }
        let slot = self.ring.slot(self.tail);
        self.tail += 1;
        Some(std::array::from_fn(|word| slot[word].load(Ordering::Relaxed)))
    }

    /// Gives the slots of all taken records back.
    #[inline]
    pub(crate) fn give_back(&mut self) {
        if self.published != self.tail {
            self.published = self.tail;
            self.ring.tail.0.store(self.tail, Ordering::Release);
        }
    }

    /// Records taken whose slots were not given back.
    #[inline]
    pub(crate) fn owed(&self) -> u64 {
        self.tail - self.published
    }

    /// Whether the producer has room, by what was given back.
    pub(crate) fn has_room(&self) -> bool {
        self.ring.head.0.load(Ordering::Acquire) - self.published < self.ring.capacity()
    }

    /// Records the ring holds.
    pub(crate) fn capacity(&self) -> u64 {
        self.ring.capacity()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn words(n: u64) -> Words {
        std::array::from_fn(|word| n * 10 + word as u64)
    }

    #[test]
    fn records_come_out_as_they_went_in_across_the_end_of_the_slots() {
        let (mut producer, mut consumer) = ring(4);
        for n in 0..10 {
            if producer.is_at_limit() {
                producer.look();
            }
            producer.push(words(n));
            assert_eq!(consumer.take(), None, "nothing is taken that was not looked for");
            consumer.look();
            assert_eq!((consumer.available(), consumer.peek(0, 3)), (1, Some(n * 10 + 3)));
            assert_eq!(consumer.peek(1, 0), None);
            assert_eq!(consumer.take(), Some(words(n)));
            consumer.give_back();
        }
        assert_eq!((producer.appended(), producer.left().count()), (10, 0));
        producer.look();
        (10..12).for_each(|n| producer.push(words(n)));
        assert_eq!(producer.left().collect::<Vec<_>>(), [words(10), words(11)]);
    }

    #[test]
    fn the_producer_looks_at_half_and_stops_when_full() {
        let (mut producer, mut consumer) = ring(4);
        producer.push(words(0));
        assert!(!producer.is_at_limit());
        producer.push(words(1));
        assert!(producer.is_at_limit());
        assert_eq!((producer.look(), producer.is_at_limit()), (Fill::High, false));
        producer.push(words(2));
        producer.push(words(3));
        assert!(producer.is_at_limit());
        assert_eq!((producer.look(), producer.is_at_limit(), producer.has_room()), (Fill::Full, true, false));
        consumer.look();
        consumer.take();
        assert!(!producer.has_room() && !consumer.has_room(), "a slot has to be given back");
        assert_eq!(consumer.owed(), 1);
        consumer.give_back();
        assert!(producer.has_room() && consumer.has_room());
        assert_eq!((producer.look(), producer.used()), (Fill::High, 3));
        consumer.take();
        consumer.take();
        consumer.give_back();
        assert_eq!(producer.look(), Fill::Low);
        producer.stop();
        assert!(producer.is_at_limit());
    }

    #[test]
    fn two_threads_pass_every_record_in_order() {
        let (mut producer, mut consumer) = ring(8);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for n in 0..20_000 {
                    while producer.is_at_limit() && producer.look() == Fill::Full {
                        std::thread::yield_now();
                    }
                    producer.push(words(n));
                }
            });
            let mut expected = 0;
            while expected < 20_000 {
                consumer.look();
                while let Some(record) = consumer.take() {
                    assert_eq!(record, words(expected));
                    expected += 1;
                }
                consumer.give_back();
                std::thread::yield_now();
            }
        });
    }
}
