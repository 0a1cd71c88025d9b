//! One level.

use clockweave_runqueue::{Eevdf, Entity, FINE_BITS, Left, MAX_WEIGHT, UNIT_WEIGHT};

use crate::random::Random;

const MS: u64 = 1_000_000;

fn fine(ns: i128) -> i128 {
    ns << FINE_BITS
}

/// Virtual time of `ns` nanoseconds at the unit weight.
fn virt(ns: u64) -> i128 {
    i128::from(ns) << 32
}

#[test]
fn equal_threads_take_turns_by_deadline() {
    let mut queue = Eevdf::new();
    let a = queue.enter(UNIT_WEIGHT, 3 * MS, None);
    let b = queue.enter(UNIT_WEIGHT, MS, None);
    // Deadlines 3 and 1 ms; b's requests are shorter, so it gets its share in smaller pieces.
    let mut turns = Vec::new();
    let mut running = None;
    for _ in 0..8 {
        let current = queue.pick(running).unwrap();
        let ns = queue.decision(current);
        let ended = queue.charge(current, ns);
        running = (!ended).then_some(current);
        turns.push((if current == a { 'a' } else { 'b' }, ns / MS));
    }
    // b to 1 (mean 0.5, so b waits), a (0 to 3, deadline 3) until b turns eligible with deadline 2
    // at mean 1, i.e. after 1 ms of a; b to 2 (mean 1.5); then a's deadline 3 against b's 3: a came
    // first and runs its request out; b (2, mean 2.5) to 3; and so on.
    let expected = [('b', 1), ('a', 1), ('b', 1), ('a', 2), ('b', 1), ('b', 1), ('a', 1), ('b', 1)];
    assert_eq!(turns, expected);
    assert_eq!(queue.times_of(a).0 + queue.times_of(b).0, virt(9 * MS));
}

#[test]
fn a_joiner_keeps_part_of_its_lag_and_a_leaver_moves_the_mean() {
    let mut queue = Eevdf::new();
    let stays = queue.enter(UNIT_WEIGHT, 3 * MS, None);
    queue.charge(stays, 10 * MS);
    let left = Left { lag: fine(2_000_000), request_left: fine(1_000_000) };
    let joins = queue.enter(UNIT_WEIGHT, 3 * MS, Some(&left));
    // It enters 2 ms behind the mean of 10 ms; with half of the weight the mean then is 9 ms.
    assert_eq!(queue.times_of(joins), (virt(8 * MS), virt(9 * MS)));
    assert_eq!((queue.lag_of(joins), queue.lag_of(stays)), (fine(1_000_000), fine(-1_000_000)));
    assert!(queue.is_eligible(joins) && !queue.is_eligible(stays));
    assert_eq!(queue.exit(joins), Left { lag: fine(1_000_000), request_left: fine(1_000_000) });
    // The mean is the other's again: 9 ms + 1 ms of lag over the remaining weight.
    assert_eq!((queue.lag_of(stays), queue.total()), (0, UNIT_WEIGHT));
    assert_eq!(queue.exit(stays).lag, 0);
    assert_eq!(queue.base(), virt(10 * MS));
}

#[test]
fn a_lone_entity_comes_back_as_it_left() {
    let mut random = Random::new(7);
    for _ in 0..1000 {
        let weight = 1 + random.word() % MAX_WEIGHT;
        let mut queue = Eevdf::new();
        let entity = queue.enter(weight, 1 + random.word() % (10 * MS), None);
        queue.charge(entity, random.word() % (20 * MS));
        let left = queue.exit(entity);
        let base = queue.base();
        assert_eq!(left.lag, 0);
        let entity = queue.enter(weight, 5, Some(&left));
        assert_eq!(queue.exit(entity), left);
        assert_eq!(queue.base(), base);
    }
}

#[test]
fn a_new_slice_counts_from_the_next_request_on() {
    let mut queue = Eevdf::new();
    let a = queue.enter(UNIT_WEIGHT, 3 * MS, None);
    queue.set_slice(a, 7 * MS);
    assert_eq!(queue.times_of(a).1, virt(3 * MS));
    assert!(!queue.charge(a, 3 * MS - 1));
    assert!(queue.charge(a, 2));
    // The nanosecond too many is paid for: 3 ms + 1 ns + 7 ms.
    assert_eq!(queue.times_of(a), (virt(3 * MS + 1), virt(10 * MS + 1)));
}

#[test]
fn yielding_forges_no_service_and_waits_behind_equals() {
    let mut queue = Eevdf::new();
    let a = queue.enter(UNIT_WEIGHT, 3 * MS, None);
    let b = queue.enter(UNIT_WEIGHT, 3 * MS, None);
    assert_eq!(queue.pick(None), Some(a));
    queue.fresh(a);
    assert_eq!(queue.times_of(a), (0, virt(3 * MS)));
    assert_eq!(queue.pick(None), Some(b));
}

/// The choice stands until just before the decision instant, and at it a request has ended or another is chosen.
#[test]
fn decision_instants_are_exact() {
    let mut random = Random::new(11);
    let mut overtaken = 0;
    for schedule in 0..200 {
        let mut queue = Eevdf::new();
        // Powers of two: a charge leaves no remainder, so the formulas are exact to the nanosecond.
        let entities: Vec<Entity> = (0..2 + random.below(8))
            .map(|_| queue.enter(1 << (10 + random.below(10)), MS * (1 + random.below(9) as u64), None))
            .collect();
        let mut running = None;
        for turn in 0..200 {
            let current = queue.pick(running).unwrap();
            let at = queue.decision(current);
            assert!(at > 0, "a decision that is due is taken");
            let mut before = queue.clone();
            assert!(!before.charge(current, at - 1), "{schedule}.{turn}");
            assert_eq!(before.pick(Some(current)), Some(current), "{schedule}.{turn}");
            let mut then = queue.clone();
            let ended = then.charge(current, at);
            let next = then.pick(Some(current));
            assert!(ended || next != Some(current), "{schedule}.{turn}");
            overtaken += usize::from(!ended);
            let ns = if random.one_in(3) { 1 + random.word() % at } else { at };
            let ended = queue.charge(current, ns);
            running = (!ended).then_some(current);
            if random.one_in(20) {
                let at = random.below(entities.len());
                queue.fresh(entities[at]);
                running = running.filter(|running| *running != entities[at]);
            }
        }
    }
    assert!(overtaken > 1000, "both kinds of instants occur: {overtaken}");
}

#[test]
fn pick_is_the_least_deadline_among_the_eligible() {
    let mut random = Random::new(13);
    for _ in 0..100 {
        let mut queue = Eevdf::new();
        let mut entities = Vec::new();
        for _ in 0..300 {
            match random.below(4) {
                0 | 1 if entities.len() < 40 => {
                    let left = Left {
                        lag: fine(i128::from(random.word() % (8 * MS)) - 4_000_000),
                        request_left: fine(i128::from(random.word() % (3 * MS))),
                    };
                    let weight = 1 + random.word() % (1 << 20);
                    entities.push(queue.enter(weight, 3 * MS, Some(&left)));
                }
                2 if !entities.is_empty() => {
                    let at = random.below(entities.len());
                    queue.exit(entities.swap_remove(at));
                }
                _ if !entities.is_empty() => {
                    let at = random.below(entities.len());
                    queue.charge(entities[at], random.word() % (5 * MS));
                }
                _ => {}
            }
            assert!(queue.is_consistent());
            let eligible = entities.iter().filter(|entity| queue.is_eligible(**entity));
            let best = eligible.min_by_key(|entity| (queue.times_of(**entity).1, queue.seq_of(**entity)));
            assert_eq!(queue.pick(None), best.copied());
            let mut walked = Vec::new();
            queue.walk(|entity| walked.push((queue.times_of(entity).1, queue.seq_of(entity))));
            assert!(walked.is_sorted() && walked.len() == entities.len());
            let signs = entities.iter().all(|e| queue.is_eligible(*e) == (queue.lag_of(*e) >= 0));
            assert!(signs, "eligible means that the lag, rounded down, is not negative");
        }
    }
}

#[test]
fn extremes_of_the_range_are_exact() {
    // 16 full entities, one of which is owed 2^58 ns.
    let mut queue = Eevdf::new();
    let owed = queue.enter(UNIT_WEIGHT, MS, Some(&Left { lag: fine(1 << 58), request_left: 0 }));
    for _ in 0..15 {
        queue.enter(UNIT_WEIGHT, MS, None);
    }
    // Each later one enters at the mean, so only the share of the first remains: nothing, it is alone.
    assert_eq!(queue.lag_of(owed), 0);
    let owed = queue.enter(UNIT_WEIGHT, MS, Some(&Left { lag: fine(1 << 58), request_left: 0 }));
    // 2^58 · 16/17, rounded down.
    assert_eq!(queue.lag_of(owed), fine(1 << 58) * 16 / 17);
    // At a total of 2^48 the range is about two seconds.
    let mut heavy = Eevdf::new();
    for _ in 0..255 {
        heavy.enter(MAX_WEIGHT, MS, None);
    }
    let owed = heavy.enter(MAX_WEIGHT, MS, Some(&Left { lag: fine(1 << 30), request_left: 0 }));
    assert_eq!((heavy.total(), heavy.lag_of(owed)), (1 << 48, fine(1 << 30) * 255 / 256));
}

/// Deadlines near the top of 64 bits stay apart, where saturating ones would be equal.
#[test]
fn the_longest_requests_keep_their_order() {
    let mut queue = Eevdf::new();
    let first = queue.enter(1, u64::MAX, None);
    let second = queue.enter(1, u64::MAX - 1, None);
    assert_eq!(queue.pick(None), Some(second));
    assert!(queue.times_of(first).1 > queue.times_of(second).1);
}

#[test]
#[should_panic(expected = "fits 128 bits")]
fn an_overflow_panics() {
    let mut queue = Eevdf::new();
    for _ in 0..16 {
        queue.enter(UNIT_WEIGHT, MS, None);
    }
    let owed = queue.enter(UNIT_WEIGHT, MS, Some(&Left { lag: fine(1 << 60), request_left: 0 }));
    queue.lag_of(owed);
}

#[test]
#[should_panic(expected = "weight 1099511627777")]
fn a_weight_out_of_range_panics() {
    Eevdf::new().enter(MAX_WEIGHT + 1, MS, None);
}

/// Another weight is a departure and a return, alone and among others.
#[test]
fn a_reweighted_entity_left_and_entered() {
    let mut random = Random::new(11);
    for others in 0..4 {
        for _ in 0..200 {
            let mut queue = Eevdf::new();
            for _ in 0..others {
                queue.enter(1 + random.word() % (1 << 20), MS, None);
            }
            let entity = queue.enter(1 + random.word() % (1 << 20), 3 * MS, None);
            queue.charge(entity, random.word() % (5 * MS));
            let (weight, mut apart) = (1 + random.word() % (1 << 20), queue.clone());
            let left = apart.exit(entity);
            let entered = apart.enter(weight, 2 * MS, Some(&left));
            let same = queue.reweight(entity, weight, 2 * MS);
            let seen = |queue: &Eevdf, entity| {
                let (times, seq) = (queue.times_of(entity), queue.seq_of(entity));
                (times, seq, queue.weight_of(entity), queue.lag_of(entity), queue.base(), queue.total())
            };
            assert_eq!(seen(&queue, same), seen(&apart, entered));
            assert!(queue.is_consistent());
        }
    }
}
