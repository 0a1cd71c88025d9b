//! One level of scheduling: entities with weights, earliest eligible virtual deadline first.
//!
//! After I. Stoica and H. Abdel-Wahab, *Earliest Eligible Virtual Deadline First*, Old Dominion
//! University, 1995.
//!
//! # Invariants
//!
//! * `sum` is Σ w·(v − base) and `total` is Σ w over the entities, exactly. Entering, charging, leaving
//!   and moving the base keep it; a new request or slice changes no `v`.
//! * The entities' lags sum to zero up to rounding, so a queue that is not empty has an eligible one.
//! * `rem` of a charge is below the entity's weight, and 0 where the weight is a power of two: every
//!   such weight up to 2^40 divides the fine units of a whole nanosecond, and a weight can change
//!   only by leaving and entering, which zeroes `rem`.
//! * An emptied queue keeps its mean and its count of sequence numbers.
//!
//! It knows nothing of CPUs, masks, jobs or real time.

mod tree;

use crate::division::{div, div_rem};
use tree::{Tree, key_before};

/// A nanosecond of service has `2^48` fine units.
pub const FINE_BITS: u32 = 48;
/// The weight of a thread, and of a job by default.
pub const UNIT_WEIGHT: u64 = 1 << 16;
/// The largest weight of an entity.
pub const MAX_WEIGHT: u64 = 1 << 40;

/// An entity of an [`Eevdf`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entity(u32);

impl Entity {
    /// Below the number of entities that the queue ever had at once; free again when it has left.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What an entity takes away when it leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Service owed to it (positive) or by it, in fine units.
    pub lag: i128,
    /// What is left of its request, in fine units.
    pub request_left: i128,
}

/// A queue of entities.
#[derive(Clone, Debug, Default)]
pub struct Eevdf {
    /// Origin of virtual time; the floor of the mean after a rebase.
    base: i128,
    sum: i128,
    total: u64,
    /// The next sequence number.
    seq: u64,
    tree: Tree,
}

/// Service of `ns` nanoseconds in fine units.
#[inline]
fn fine(ns: u64) -> i128 {
    i128::from(ns) << FINE_BITS
}

/// The short way is the usual one: no product of 64 bits by 64 overflows.
#[inline]
fn mul(weight: u64, value: i128) -> i128 {
    if let Ok(value) = i64::try_from(value) {
        return i128::from(weight) * i128::from(value);
    }
    i128::from(weight).checked_mul(value).expect("weight times virtual time fits 128 bits")
}

#[inline]
fn add(a: i128, b: i128) -> i128 {
    a.checked_add(b).expect("a sum of virtual times fits 128 bits")
}

#[inline]
fn sub(a: i128, b: i128) -> i128 {
    a.checked_sub(b).expect("a difference of virtual times fits 128 bits")
}

/// The nanoseconds that so many fine units take, rounded up.
#[inline]
fn ceil_ns(fine: i128) -> u64 {
    let ns = add(fine, (1 << FINE_BITS) - 1) >> FINE_BITS;
    u64::try_from(ns).unwrap_or(if ns < 0 { 0 } else { u64::MAX })
}

impl Eevdf {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes it as if new.
    ///
    /// # Panics
    /// If it is not empty.
    pub(crate) fn reset(&mut self) {
        assert!(self.is_empty(), "only an empty queue begins anew");
        (self.base, self.seq) = (0, 0);
        self.tree.forget();
    }

    /// Whether it has no entity.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    /// The number of entities.
    #[inline]
    pub fn len(&self) -> usize {
        self.tree.len()
    }

    /// The sum of the weights.
    #[inline]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The origin of virtual time, which an emptied queue keeps.
    pub fn base(&self) -> i128 {
        self.base
    }

    /// Moves the base to the floor of the mean. Only the quotient is used: the new sum is `sum - quotient · total`.
    fn rebase(&mut self) {
        let settled = self.sum >= 0 && self.sum < i128::from(self.total);
        if self.total > 0 && !settled {
            let quotient = div(self.sum, self.total);
            self.base = add(self.base, quotient);
            self.sum = sub(self.sum, mul(self.total, quotient));
        }
    }

    fn next_seq(&mut self) -> u64 {
        let seq = self.seq;
        self.seq += 1;
        seq
    }

    /// The deadline of a request that begins at `v`.
    #[inline]
    fn deadline(v: i128, slice: u64, weight: u64) -> i128 {
        add(v, div(fine(slice), weight))
    }

    /// Adds an entity of `weight` whose requests are `slice` nanoseconds long. It has the lag and the unfinished request
    /// of `left`; others keep their virtual time and the mean moves.
    ///
    /// # Panics
    /// If `weight` is 0 or above [`MAX_WEIGHT`], or `slice` is 0.
    pub fn enter(&mut self, weight: u64, slice: u64, left: Option<&Left>) -> Entity {
        assert!((1..=MAX_WEIGHT).contains(&weight), "weight {weight}, expected 1 to 2^40");
        assert!(slice > 0, "a request of 0 ns never ends");
        self.rebase();
        let seq = self.next_seq();
        let Left { lag, request_left } = left.copied().unwrap_or_default();
        let v = if lag == 0 { self.base } else { sub(self.base, div(lag, weight)) };
        let vd = Self::resumed(v, request_left, slice, weight);
        self.sum = add(self.sum, mul(weight, sub(v, self.base)));
        self.total = self.total.checked_add(weight).expect("the sum of the weights fits 64 bits");
        Entity(self.tree.insert(tree::Node::new(weight, slice, v, vd, seq)))
    }

    /// The deadline of an entity that enters at `v` with an unfinished request; of a new one where nothing is left.
    #[inline]
    fn resumed(v: i128, request_left: i128, slice: u64, weight: u64) -> i128 {
        let vd = if request_left > 0 { add(v, div(request_left, weight)) } else { v };
        if vd > v { vd } else { Self::deadline(v, slice, weight) }
    }

    /// Gives an entity another weight: it leaves, and enters with what it took away.
    ///
    /// # Panics
    /// As [`Eevdf::enter`].
    pub fn reweight(&mut self, entity: Entity, weight: u64, slice: u64) -> Entity {
        if !self.tree.is_lone(entity.0) {
            let left = self.exit(entity);
            return self.enter(weight, slice, Some(&left));
        }
        assert!((1..=MAX_WEIGHT).contains(&weight), "weight {weight}, expected 1 to 2^40");
        assert!(slice > 0, "a request of 0 ns never ends");
        // Leaving, it is the whole sum; entering, it begins at the base it left: v stays.
        let node = self.tree.node(entity.0);
        let (v, request_left) = (node.v, mul(node.weight, sub(node.vd, node.v)));
        let vd = Self::resumed(v, request_left, slice, weight);
        (self.base, self.sum, self.total) = (v, 0, weight);
        let seq = self.next_seq();
        self.tree.replace_lone(entity.0, tree::Node::new(weight, slice, v, vd, seq));
        entity
    }

    /// Removes an entity.
    pub fn exit(&mut self, entity: Entity) -> Left {
        if self.tree.is_lone(entity.0) {
            return self.exit_lone(entity);
        }
        self.rebase();
        let lag = self.lag_of(entity);
        let node = self.tree.remove(entity.0);
        self.sum = sub(self.sum, mul(node.weight, sub(node.v, self.base)));
        self.total -= node.weight;
        Left { lag, request_left: mul(node.weight, sub(node.vd, node.v)) }
    }

    /// The only entity is the whole sum: its lag is 0 and the mean its virtual time.
    fn exit_lone(&mut self, entity: Entity) -> Left {
        let node = self.tree.remove(entity.0);
        (self.base, self.sum, self.total) = (node.v, 0, 0);
        let request_left = mul(node.weight, sub(node.vd, node.v));
        Left { lag: 0, request_left }
    }

    /// Service owed to an entity (positive) or by it, in fine units: its ideal service minus what it received.
    pub fn lag_of(&self, entity: Entity) -> i128 {
        let node = self.tree.node(entity.0);
        let ahead = mul(self.total, sub(node.v, self.base));
        div(mul(node.weight, sub(self.sum, ahead)), self.total)
    }

    #[inline]
    fn eligible_at(&self, v: i128) -> bool {
        mul(self.total, sub(v, self.base)) <= self.sum
    }

    /// Whether an entity is owed service or owes none; exact, without a division.
    #[inline]
    pub fn is_eligible(&self, entity: Entity) -> bool {
        self.eligible_at(self.tree.node(entity.0).v)
    }

    /// Gives an entity `ns` nanoseconds of service. Whether that ended its request; then it has a new one, which the
    /// service beyond the end counts towards.
    pub fn charge(&mut self, entity: Entity, ns: u64) -> bool {
        let node = self.tree.node(entity.0);
        let (weight, slice) = (node.weight, node.slice);
        let (quotient, remainder) = div_rem(add(fine(ns), i128::from(node.rem)), weight);
        let v = add(node.v, quotient);
        let ended = v >= node.vd;
        self.sum = add(self.sum, mul(weight, quotient));
        self.tree.advance(entity.0, v, remainder);
        if ended {
            self.tree.reissue(entity.0, Self::deadline(v, slice, weight), None);
        }
        ended
    }

    /// Sets the length of an entity's requests from its next one on.
    ///
    /// # Panics
    /// If `slice` is 0.
    pub fn set_slice(&mut self, entity: Entity, slice: u64) {
        assert!(slice > 0, "a request of 0 ns never ends");
        self.tree.set_slice(entity.0, slice);
    }

    /// Gives an entity a new request behind its equals. Its service stays what it is.
    pub fn fresh(&mut self, entity: Entity) {
        let seq = self.next_seq();
        let node = self.tree.node(entity.0);
        let vd = Self::deadline(node.v, node.slice, node.weight);
        self.tree.reissue(entity.0, vd, Some(seq));
    }

    /// The eligible entity with the earliest deadline; `running` counts as eligible. Among equal deadlines the one that
    /// entered or yielded first.
    pub fn pick(&self, running: Option<Entity>) -> Option<Entity> {
        if let Some(lone) = self.tree.lone() {
            // Its lag is 0.
            return Some(Entity(lone));
        }
        let best = self.tree.first_where(|v| self.eligible_at(v))?;
        match running {
            Some(running) if self.before(running.0, best) => Some(running),
            _ => Some(Entity(best)),
        }
    }

    #[inline]
    fn before(&self, a: u32, b: u32) -> bool {
        key_before(self.tree.node(a), self.tree.node(b))
    }

    /// Whether `entity` is eligible and comes before `other`.
    pub fn beats(&self, entity: Entity, other: Entity) -> bool {
        self.is_eligible(entity) && self.before(entity.0, other.0)
    }

    /// Nanoseconds of service to `current` until the choice can change by itself: its request ends, or an entity with
    /// an earlier deadline becomes eligible.
    pub fn decision(&self, current: Entity) -> u64 {
        let node = self.tree.node(current.0);
        let request = ceil_ns(mul(node.weight, sub(node.vd, node.v)));
        // The mean gains 1/total per unit of service, so the one furthest behind comes first.
        match self.tree.least_v_before(current.0, |v| self.eligible_at(v)) {
            None => request,
            Some(v) => request.min(ceil_ns(sub(mul(self.total, sub(v, self.base)), self.sum))),
        }
    }

    /// The weight of an entity.
    #[inline]
    pub fn weight_of(&self, entity: Entity) -> u64 {
        self.tree.node(entity.0).weight
    }

    /// Virtual time and virtual deadline of an entity.
    pub fn times_of(&self, entity: Entity) -> (i128, i128) {
        let node = self.tree.node(entity.0);
        (node.v, node.vd)
    }

    /// The sequence number of an entity.
    pub fn seq_of(&self, entity: Entity) -> u64 {
        self.tree.node(entity.0).seq
    }

    /// Shows every entity in ascending order of deadline.
    pub fn walk(&self, mut visit: impl FnMut(Entity)) {
        self.tree.walk(&mut |at| visit(Entity(at)));
    }

    /// The entity with the latest deadline among those accepted.
    pub fn last_where(&self, mut accept: impl FnMut(Entity) -> bool) -> Option<Entity> {
        self.tree.last_where(&mut |at| accept(Entity(at))).map(Entity)
    }

    /// The number of eligible entities.
    pub fn eligible_count(&self) -> usize {
        let mut count = 0;
        self.walk(|entity| count += usize::from(self.is_eligible(entity)));
        count
    }

    /// Whether the sums are those of the entities; for tests.
    #[doc(hidden)]
    pub fn is_consistent(&self) -> bool {
        let (mut sum, mut total) = (0, 0);
        self.walk(|entity| {
            let node = self.tree.node(entity.0);
            sum += mul(node.weight, sub(node.v, self.base));
            total += node.weight;
        });
        (sum, total) == (self.sum, self.total) && self.tree.is_consistent()
    }
}
