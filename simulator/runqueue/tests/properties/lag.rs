//! Lags of clients under random requests, weights and quanta: what Theorem 1 of Stoica and
//! Abdel-Wahab bounds, and what lies outside it.

use clockweave_runqueue::{Eevdf, Entity, FINE_BITS, Left, UNIT_WEIGHT};

use crate::random::Random;

const REQUESTS: [u64; 3] = [1_000_000, 3_000_000, 10_000_000];
pub(crate) const QUANTUM: u64 = 1_000_000;

/// What clients do beside running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Situation {
    /// Nobody joins or leaves, and requests end exactly.
    Steady,
    /// A client may run up to one quantum past its request.
    Overrun,
    /// Clients that are owed service, or none, leave; they join with no lag.
    Forgotten,
    /// They join with the lag they had.
    Carried,
    /// Clients that owe service leave, too, and join with that lag.
    AnyLeaver,
}

/// The extremes of lag that a run saw, as thousandths: of the client's longest request below zero,
/// of the longer of that and the quantum above.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extremes {
    pub(crate) least: i128,
    pub(crate) most: i128,
    /// Whether a lag passed either bound of the theorem, one nanosecond beyond them allowed.
    pub(crate) below: bool,
    pub(crate) above: bool,
}

struct Client {
    weight: u64,
    /// The longest request so far.
    longest: u64,
    entity: Option<Entity>,
    left: Left,
}

/// `decisions` turns of clients in one queue, from `seed`. `weights` gives each client's.
pub(crate) fn run(
    seed: u64,
    decisions: usize,
    situation: Situation,
    weights: impl Fn(&mut Random) -> u64,
) -> Extremes {
    let mut random = Random::new(seed);
    let mut queue = Eevdf::new();
    let mut clients: Vec<Client> = (0..2 + random.below(9))
        .map(|_| {
            let (weight, longest) = (weights(&mut random), REQUESTS[random.below(3)]);
            let entity = Some(queue.enter(weight, longest, None));
            Client { weight, longest, entity, left: Left::default() }
        })
        .collect();
    let mut extremes = Extremes::default();
    let mut running: Option<Entity> = None;
    for _ in 0..decisions {
        let Some(current) = queue.pick(running) else { break };
        let mut ns = queue.decision(current).min(QUANTUM);
        if situation == Situation::Overrun {
            ns += random.word() % QUANTUM;
        }
        let ended = queue.charge(current, ns.max(1));
        running = (!ended).then_some(current);
        if ended {
            let client = clients.iter_mut().find(|client| client.entity == Some(current)).unwrap();
            let next = REQUESTS[random.below(3)];
            // The request that just began keeps its length; this is the one behind it.
            queue.set_slice(current, next);
            client.longest = client.longest.max(next);
        }
        if matches!(situation, Situation::Carried | Situation::Forgotten | Situation::AnyLeaver)
            && random.one_in(3)
        {
            move_one(&mut random, &mut queue, &mut clients, situation, &mut running);
        }
        observe(&queue, &clients, &mut extremes);
    }
    extremes
}

/// One client leaves, or one that is away joins.
fn move_one(
    random: &mut Random,
    queue: &mut Eevdf,
    clients: &mut [Client],
    situation: Situation,
    running: &mut Option<Entity>,
) {
    let at = random.below(clients.len());
    let client = &mut clients[at];
    match client.entity.take() {
        Some(entity)
            if queue.len() > 1 && (situation == Situation::AnyLeaver || queue.is_eligible(entity)) =>
        {
            if *running == Some(entity) {
                *running = None;
            }
            client.left = queue.exit(entity);
        }
        Some(entity) => client.entity = Some(entity),
        None => {
            let left = (situation != Situation::Forgotten).then_some(client.left);
            let request = REQUESTS[random.below(3)];
            client.longest = client.longest.max(request);
            client.entity = Some(queue.enter(client.weight, request, left.as_ref()));
        }
    }
}

fn observe(queue: &Eevdf, clients: &[Client], extremes: &mut Extremes) {
    let mut sum = 0;
    for client in clients {
        let Some(entity) = client.entity else { continue };
        let lag = queue.lag_of(entity);
        sum += lag;
        let longest = i128::from(client.longest) << FINE_BITS;
        let upper = i128::from(client.longest.max(QUANTUM)) << FINE_BITS;
        let slack = 1 << FINE_BITS;
        extremes.least = extremes.least.min(lag * 1000 / longest);
        extremes.most = extremes.most.max(lag * 1000 / upper);
        extremes.below |= lag < -longest - slack;
        extremes.above |= lag > upper + slack;
    }
    let n = queue.len() as i128;
    assert!((-n..=0).contains(&sum), "lags sum to {sum} in a queue of {n}, where each is rounded down");
    assert!(queue.eligible_count() > 0, "someone is eligible");
    assert!(queue.is_consistent());
}

pub(crate) fn equal(_: &mut Random) -> u64 {
    UNIT_WEIGHT
}

/// Mostly no powers of two, over several orders of magnitude.
pub(crate) fn mixed(random: &mut Random) -> u64 {
    UNIT_WEIGHT / 16 + random.word() % (UNIT_WEIGHT * 16)
}
