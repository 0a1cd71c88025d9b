//! One level, naively: a vector of entities without order, every question a scan, every division a
//! division.

use std::cell::Cell;

thread_local! {
    static DIVISIONS: Cell<u64> = const { Cell::new(0) };
}

/// Divisions of this thread so far.
#[allow(dead_code, reason = "for the benchmark")]
pub(crate) fn divisions() -> u64 {
    DIVISIONS.get()
}

pub(crate) fn count_division() {
    DIVISIONS.set(DIVISIONS.get() + 1);
}

fn floor_div(n: i128, d: i128) -> i128 {
    count_division();
    n.div_euclid(d)
}

fn fine(ns: u64) -> i128 {
    i128::from(ns) * (1 << 48)
}

fn ceil_ns(fine: i128) -> u64 {
    let ns = (fine + (1 << 48) - 1).div_euclid(1 << 48);
    if ns < 0 { 0 } else { ns as u64 }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) lag: i128,
    pub(crate) request_left: i128,
}

#[derive(Clone, Debug)]
struct Entity {
    id: u64,
    w: i128,
    v: i128,
    vd: i128,
    slice: u64,
    rem: i128,
    seq: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Eevdf {
    base: i128,
    sum: i128,
    total: i128,
    seq: u64,
    entities: Vec<Entity>,
    ids: u64,
}

impl Eevdf {
    fn at(&self, id: u64) -> &Entity {
        self.entities.iter().find(|entity| entity.id == id).expect("an entity of the queue")
    }

    pub(crate) fn len(&self) -> usize {
        self.entities.len()
    }

    pub(crate) fn total(&self) -> u64 {
        self.total as u64
    }

    pub(crate) fn weight_of(&self, id: u64) -> u64 {
        self.at(id).w as u64
    }

    fn rebase(&mut self) {
        if self.total > 0 {
            let q = floor_div(self.sum, self.total);
            self.base += q;
            self.sum -= q * self.total;
        }
    }

    pub(crate) fn enter(&mut self, weight: u64, slice: u64, standing: Option<Left>) -> u64 {
        self.rebase();
        let (w, seq) = (i128::from(weight), self.seq);
        self.seq += 1;
        let lag = standing.map_or(0, |left| left.lag);
        let v = self.base - floor_div(lag, w);
        let issued = v + floor_div(fine(slice), w);
        let mut vd = issued;
        if let Some(left) = standing
            && left.request_left > 0
        {
            vd = v + floor_div(left.request_left, w);
        }
        if vd <= v {
            vd = issued;
        }
        self.sum += w * (v - self.base);
        self.total += w;
        let id = self.ids;
        self.ids += 1;
        self.entities.push(Entity { id, w, v, vd, slice, rem: 0, seq });
        id
    }

    pub(crate) fn lag_of(&self, id: u64) -> i128 {
        if self.total == 0 {
            return 0;
        }
        let entity = self.at(id);
        floor_div(entity.w * (self.sum - self.total * (entity.v - self.base)), self.total)
    }

    fn eligible(&self, entity: &Entity) -> bool {
        self.total * (entity.v - self.base) <= self.sum
    }

    pub(crate) fn charge(&mut self, id: u64, ns: u64) -> bool {
        let entity = self.entities.iter_mut().find(|entity| entity.id == id).expect("an entity of the queue");
        let service = fine(ns) + entity.rem;
        count_division();
        let (q, r) = (service.div_euclid(entity.w), service.rem_euclid(entity.w));
        entity.v += q;
        entity.rem = r;
        self.sum += entity.w * q;
        let ended = entity.v >= entity.vd;
        if ended {
            entity.vd = entity.v + floor_div(fine(entity.slice), entity.w);
        }
        ended
    }

    pub(crate) fn exit(&mut self, id: u64) -> Left {
        self.rebase();
        let lag = self.lag_of(id);
        let at = self.entities.iter().position(|entity| entity.id == id).expect("an entity of the queue");
        let entity = self.entities.remove(at);
        self.sum -= entity.w * (entity.v - self.base);
        self.total -= entity.w;
        if self.entities.is_empty() {
            self.sum = 0;
        }
        Left { lag, request_left: (entity.vd - entity.v) * entity.w }
    }

    pub(crate) fn fresh(&mut self, id: u64) {
        let seq = self.seq;
        self.seq += 1;
        let entity = self.entities.iter_mut().find(|entity| entity.id == id).expect("an entity of the queue");
        entity.seq = seq;
        entity.vd = entity.v + floor_div(fine(entity.slice), entity.w);
    }

    pub(crate) fn pick(&self, running: Option<u64>) -> u64 {
        let may = |entity: &&Entity| self.eligible(entity) || Some(entity.id) == running;
        let best = self.entities.iter().filter(may).min_by_key(|entity| (entity.vd, entity.seq));
        best.expect("an eligible entity").id
    }

    pub(crate) fn beats(&self, id: u64, other: u64) -> bool {
        let (entity, other) = (self.at(id), self.at(other));
        self.eligible(entity) && (entity.vd, entity.seq) < (other.vd, other.seq)
    }

    pub(crate) fn decision(&self, current: u64) -> u64 {
        let current = self.at(current);
        let request = ceil_ns((current.vd - current.v) * current.w);
        let earlier = |entity: &&Entity| (entity.vd, entity.seq) < (current.vd, current.seq);
        let overtaking = self.entities.iter().filter(earlier).filter(|entity| !self.eligible(entity));
        overtaking
            .map(|entity| ceil_ns(self.total * (entity.v - self.base) - self.sum))
            .fold(request, u64::min)
    }

    /// Ids in ascending order of deadline.
    pub(crate) fn order(&self) -> Vec<u64> {
        let mut order: Vec<&Entity> = self.entities.iter().collect();
        order.sort_by_key(|entity| (entity.vd, entity.seq));
        order.into_iter().map(|entity| entity.id).collect()
    }
}
