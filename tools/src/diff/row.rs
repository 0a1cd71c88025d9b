//! One row of a merged log as what it says.

use std::cmp::Ordering;

use num_bigint::BigUint;
use serde::Serialize;

/// An event of a merged log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiffRow {
    /// Numerator of the exact time in seconds.
    pub time_num: String,
    /// Denominator of the exact time in seconds.
    pub time_den: String,
    /// Its floor in ns.
    pub ts: u64,
    /// Domain id.
    pub domain_id: u32,
    /// Unit name.
    pub unit: String,
    /// Edge of the unit's domain.
    pub local_cycle: u64,
    /// Event name.
    pub event: String,
    /// 0 or 1.
    pub phase: u8,
    /// Transaction, 0 for none.
    pub transaction_id: u64,
    /// FIFO, 0 for none.
    pub fifo_id: u64,
    /// Value.
    pub value: u64,
    /// Number within the unit.
    pub ordinal: u64,
}

/// A row that still lies in its line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parsed<'a> {
    time: (&'a str, &'a str),
    unit: &'a str,
    event: &'a str,
    ts: u64,
    domain_id: u32,
    local_cycle: u64,
    phase: u8,
    transaction_id: u64,
    fifo_id: u64,
    value: u64,
    ordinal: u64,
}

fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn digits(text: &str) -> Option<&str> {
    (!text.is_empty() && text.len() <= 100 && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

impl<'a> Parsed<'a> {
    /// The row in a line of twelve well-formed columns.
    pub(super) fn read(line: &'a str) -> Option<Self> {
        let mut columns = line.split('\t');
        let mut next = || columns.next();
        let row = Self {
            time: (digits(next()?)?, digits(next()?)?),
            ts: number(next()?)?,
            domain_id: number(next()?)?,
            unit: next()?,
            local_cycle: number(next()?)?,
            event: next()?,
            phase: number(next()?).filter(|phase| *phase <= 1)?,
            transaction_id: number(next()?)?,
            fifo_id: number(next()?)?,
            value: number(next()?)?,
            ordinal: number(next()?)?,
        };
        columns.next().is_none().then_some(row)
    }

    /// The order of merged logs.
    pub(super) fn place_cmp(&self, other: &Self) -> Ordering {
        let place = |row: &Self| (row.phase, row.domain_id);
        self.time_cmp(other)
            .then_with(|| place(self).cmp(&place(other)))
            .then_with(|| self.unit.cmp(other.unit))
            .then_with(|| self.ordinal.cmp(&other.ordinal))
    }

    fn time_cmp(&self, other: &Self) -> Ordering {
        if self.time == other.time {
            return Ordering::Equal;
        }
        self.ts.cmp(&other.ts).then_with(|| {
            let big = |text: &str| text.parse::<BigUint>().unwrap_or_default();
            let (left, right) = (self.time, other.time);
            (big(left.0) * big(right.1)).cmp(&(big(right.0) * big(left.1)))
        })
    }

    /// The columns in which two rows of one place differ.
    pub(super) fn differences(&self, other: &Self) -> Vec<&'static str> {
        let pairs = [
            ("local_cycle", self.local_cycle == other.local_cycle),
            ("event", self.event == other.event),
            ("transaction_id", self.transaction_id == other.transaction_id),
            ("fifo_id", self.fifo_id == other.fifo_id),
            ("value", self.value == other.value),
        ];
        pairs.iter().filter(|(_, same)| !same).map(|(column, _)| *column).collect()
    }

    pub(super) fn to_row(self) -> DiffRow {
        DiffRow {
            time_num: self.time.0.to_owned(),
            time_den: self.time.1.to_owned(),
            ts: self.ts,
            domain_id: self.domain_id,
            unit: self.unit.to_owned(),
            local_cycle: self.local_cycle,
            event: self.event.to_owned(),
            phase: self.phase,
            transaction_id: self.transaction_id,
            fifo_id: self.fifo_id,
            value: self.value,
            ordinal: self.ordinal,
        }
    }
}

impl DiffRow {
    pub(super) fn read(line: &str) -> Option<Self> {
        Parsed::read(line).map(Parsed::to_row)
    }
}
