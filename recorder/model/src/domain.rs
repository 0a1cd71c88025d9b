//! Clock domains: edge `n` of domain `d` is at `phase_d + n * period_d`, exactly.
//!
//! # Invariants
//!
//! * `edge`, `edge_at_or_after` and `edge_after` agree with rational arithmetic for every `u64`
//!   period, phase and cycle, or return an error; none of them walks edges.
//! * `max_edge` is the last edge whose time fits signed 64-bit nanoseconds and whose number fits 64
//!   bits.
//!
//! A domain does not know which edges a simulation executes, nor any other domain.

use std::collections::BTreeMap;

use num_bigint::BigUint;
use num_integer::Integer;
use num_rational::Ratio;
use num_traits::ToPrimitive;

use crate::quantity::{Frequency, QuantityError, Seconds};
use crate::time::{ExactTime, TimeError};

/// Id of the implicit domain of a simulation that declares none.
pub const IMPLICIT_DOMAIN: u32 = 0;
/// Name of the implicit domain.
pub const IMPLICIT_NAME: &str = "default";
/// Stands for a request from outside the hardware; no domain has this id.
pub const EXTERNAL_DOMAIN: u32 = u32::MAX;

const NS_PER_S: u64 = 1_000_000_000;

/// Why a clock domain was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DomainError {
    /// Period or frequency or phase refused.
    #[error("domain `{name}`: {error}")]
    Quantity {
        /// Name of the domain.
        name: String,
        /// What was wrong with it.
        error: QuantityError,
    },
    /// The phase is beyond signed 64-bit nanoseconds.
    #[error("domain `{name}`: the phase {phase} does not fit signed 64-bit nanoseconds")]
    PhaseOutOfRange {
        /// Name of the domain.
        name: String,
        /// The phase given.
        phase: String,
    },
    /// A name that cannot be part of a file name.
    #[error(
        "`{name}` is no domain name: expected 1 to 128 ASCII letters, digits, `.`, `_` or `-`, and neither `.` nor `..`"
    )]
    BadName {
        /// The name given, cut to 64 characters.
        name: String,
    },
    /// An id that has a meaning of its own.
    #[error(
        "domain id {id} is reserved: 0 is the implicit domain, 4294967295 a request from outside the hardware"
    )]
    ReservedId {
        /// The id given.
        id: u32,
    },
    /// The implicit domain's name.
    #[error("the domain name `{name}` is reserved for the implicit domain")]
    ReservedName {
        /// The name given.
        name: String,
    },
    /// Two domains with one id.
    #[error("domain id {id} is used twice, by `{first}` and `{second}`")]
    DuplicateId {
        /// The id.
        id: u32,
        /// The domain that had it first.
        first: String,
        /// The domain refused.
        second: String,
    },
    /// Two domains with one name, ignoring ASCII case.
    #[error(
        "the domain name `{name}` is used twice (names differ by more than case), by id {first} and id {second}"
    )]
    DuplicateName {
        /// The name refused.
        name: String,
        /// Id of the domain that had it first.
        first: u32,
        /// Id of the domain refused.
        second: u32,
    },
}

/// Checks a domain name: 1 to 128 ASCII letters, digits, `.`, `_`, `-`; neither `.` nor `..`.
///
/// # Errors
/// [`DomainError::BadName`].
pub fn check_name(name: &str) -> Result<(), DomainError> {
    let legal = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
    if legal && (1..=128).contains(&name.len()) && name != "." && name != ".." {
        Ok(())
    } else {
        Err(DomainError::BadName { name: name.chars().take(64).collect() })
    }
}

/// A clock domain: id, name, exact period and exact phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockDomain {
    id: u32,
    name: String,
    period: Seconds,
    phase: Seconds,
    /// Times of this domain are multiples of `1 / den` ns.
    den: u128,
    /// Period in seconds over the reduced nanosecond denominator: `r * scale / period_den` ns for a
    /// remainder of `r / period.denom` seconds.
    period_scale: u64,
    period_den: u64,
    phase_ns: u64,
    phase_num: u64,
    phase_den: u64,
    max_edge: u64,
}

impl ClockDomain {
    /// A domain of frequency `frequency` whose edge 0 is at `phase`.
    ///
    /// # Errors
    /// A bad or reserved name, a reserved id, a phase beyond 64-bit nanoseconds.
    pub fn new(id: u32, name: &str, frequency: Frequency, phase: Seconds) -> Result<Self, DomainError> {
        Self::with_period(id, name, frequency.period(), phase)
    }

    /// A domain of period `period` whose edge 0 is at `phase`.
    ///
    /// # Errors
    /// As [`ClockDomain::new`], and a period of zero.
    pub fn with_period(id: u32, name: &str, period: Seconds, phase: Seconds) -> Result<Self, DomainError> {
        check_name(name)?;
        if id == IMPLICIT_DOMAIN || id == EXTERNAL_DOMAIN {
            return Err(DomainError::ReservedId { id });
        }
        if name.eq_ignore_ascii_case(IMPLICIT_NAME) {
            return Err(DomainError::ReservedName { name: name.to_owned() });
        }
        Self::build(id, name, period, phase)
    }

    /// The implicit domain, phase 0.
    pub fn implicit(frequency: Frequency) -> Self {
        Self::build(IMPLICIT_DOMAIN, IMPLICIT_NAME, frequency.period(), Seconds::ZERO)
            .expect("the implicit domain has a legal name, a period above zero and no phase")
    }

    /// A domain as a file describes it: reserved ids and names are taken as they are.
    ///
    /// # Errors
    /// A bad name, a period of zero, a phase beyond 64-bit nanoseconds.
    pub fn recorded(id: u32, name: &str, period: Seconds, phase: Seconds) -> Result<Self, DomainError> {
        check_name(name)?;
        Self::build(id, name, period, phase)
    }

    fn build(id: u32, name: &str, period: Seconds, phase: Seconds) -> Result<Self, DomainError> {
        if period.is_zero() {
            let error = QuantityError::Zero { what: "the period" };
            return Err(DomainError::Quantity { name: name.to_owned(), error });
        }
        let (phase_ns, phase_num, phase_den) = match ExactTime::from_seconds(phase) {
            Ok(at) => {
                let (num, den) = at.fraction_ns();
                let reduced = Ratio::new(num, den);
                let word = |x: &u128| x.to_u64().expect("a divisor of the phase's denominator fits 64 bits");
                (at.floor_ns().unsigned_abs(), word(reduced.numer()), word(reduced.denom()))
            }
            Err(_) => {
                return Err(DomainError::PhaseOutOfRange { name: name.to_owned(), phase: phase.to_string() });
            }
        };
        let period_den = *period.ratio().denom();
        let shared = period_den.gcd(&NS_PER_S);
        let (period_scale, period_den) = (NS_PER_S / shared, period_den / shared);
        let common = period_den.gcd(&phase_den);
        let mut domain = Self {
            id,
            name: name.to_owned(),
            period,
            phase,
            den: u128::from(period_den / common) * u128::from(phase_den),
            period_scale,
            period_den,
            phase_ns,
            phase_num,
            phase_den,
            max_edge: 0,
        };
        // E(n) < 2^63 ns, in units of 1/den ns.
        let end = (BigUint::from(1u32) << 63u32) * domain.den - 1u32;
        domain.max_edge = ((end - domain.phase_units()) / domain.period_units()).to_u64().unwrap_or(u64::MAX);
        Ok(domain)
    }

    /// The caller-chosen id.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Exact period in seconds.
    pub fn period(&self) -> Seconds {
        self.period
    }

    /// Exact time of edge 0 in seconds.
    pub fn phase(&self) -> Seconds {
        self.phase
    }

    /// Exact frequency in hertz.
    pub fn frequency(&self) -> Frequency {
        Frequency::from_ratio(*self.period.ratio().denom(), *self.period.ratio().numer())
            .expect("a period above zero has a frequency above zero")
    }

    /// Times of this domain's edges are whole multiples of `1 / denominator_ns()` nanoseconds.
    pub fn denominator_ns(&self) -> u128 {
        self.den
    }

    /// The horizon: the last edge whose time fits signed 64-bit nanoseconds and whose number fits
    /// 64 bits. An edge is executed only if its successor is representable, so the last executed
    /// one is the edge before.
    pub fn max_edge(&self) -> u64 {
        self.max_edge
    }

    /// Exact time of edge `cycle`.
    ///
    /// # Errors
    /// The edge is beyond [`ClockDomain::max_edge`].
    pub fn edge(&self, cycle: u64) -> Result<ExactTime, TimeError> {
        if cycle > self.max_edge {
            return Err(TimeError::EdgeOutOfRange {
                domain: self.name.clone(),
                cycle,
                max_edge: self.max_edge,
            });
        }
        let (num, den) = (*self.period.ratio().numer(), *self.period.ratio().denom());
        let product = u128::from(cycle) * u128::from(num);
        let (seconds, rest) = (product / u128::from(den), product % u128::from(den));
        let scaled = rest * u128::from(self.period_scale);
        let below = scaled % u128::from(self.period_den);
        let mut ns =
            seconds * u128::from(NS_PER_S) + scaled / u128::from(self.period_den) + u128::from(self.phase_ns);
        let a = below * (self.den / u128::from(self.period_den));
        let b = u128::from(self.phase_num) * (self.den / u128::from(self.phase_den));
        // Both are below `den`; their sum may not fit 128 bits.
        let fraction = if a >= self.den - b {
            ns += 1;
            a - (self.den - b)
        } else {
            a + b
        };
        let ns = u64::try_from(ns).expect("an edge within max_edge fits signed 64-bit nanoseconds");
        Ok(ExactTime::from_parts(ns, fraction, self.den))
    }

    /// The first edge at or after `time`; 0 before the phase.
    ///
    /// # Errors
    /// That edge is beyond [`ClockDomain::max_edge`].
    pub fn edge_at_or_after(&self, time: &ExactTime) -> Result<u64, TimeError> {
        self.first_edge(time, false)
    }

    /// The first edge strictly after `time`; 0 before the phase.
    ///
    /// # Errors
    /// That edge is beyond [`ClockDomain::max_edge`].
    pub fn edge_after(&self, time: &ExactTime) -> Result<u64, TimeError> {
        self.first_edge(time, true)
    }

    fn first_edge(&self, time: &ExactTime, strictly: bool) -> Result<u64, TimeError> {
        let narrow = self.first_edge_narrow(time, strictly);
        let cycle = narrow.unwrap_or_else(|| self.first_edge_wide(time, strictly));
        match cycle {
            Some(cycle) if cycle <= self.max_edge => Ok(cycle),
            _ => Err(TimeError::NoSuchEdge { domain: self.name.clone(), time: time.to_string() }),
        }
    }

    /// In 128-bit arithmetic; the outer `None` means it does not fit, the inner that no 64-bit
    /// cycle does.
    #[allow(clippy::option_option, reason = "the two absences are told apart by every caller")]
    fn first_edge_narrow(&self, time: &ExactTime, strictly: bool) -> Option<Option<u64>> {
        let whole = u128::from(time.floor_ns().unsigned_abs()).checked_mul(self.den)?;
        let (num, den) = time.fraction_ns();
        let part = num.checked_mul(self.den)?;
        let target = whole.checked_add(if strictly { part / den } else { part.div_ceil(den) })?;
        let phase = u128::from(self.phase_ns)
            .checked_mul(self.den)?
            .checked_add(u128::from(self.phase_num) * (self.den / u128::from(self.phase_den)))?;
        let period = u128::from(*self.period.ratio().numer())
            .checked_mul(self.period_scale.into())?
            .checked_mul(self.den / u128::from(self.period_den))?;
        let Some(elapsed) = target.checked_sub(phase) else { return Some(Some(0)) };
        let cycle = if strictly { elapsed / period + 1 } else { elapsed.div_ceil(period) };
        Some(u64::try_from(cycle).ok())
    }

    fn first_edge_wide(&self, time: &ExactTime, strictly: bool) -> Option<u64> {
        let den = BigUint::from(self.den);
        let (num, time_den) = time.fraction_ns();
        let part = BigUint::from(num) * &den;
        let part = if strictly { part / time_den } else { part.div_ceil(&BigUint::from(time_den)) };
        let target = BigUint::from(time.floor_ns().unsigned_abs()) * den + part;
        let phase = self.phase_units();
        if target < phase {
            return Some(0);
        }
        let elapsed = target - phase;
        let period = self.period_units();
        let cycle = if strictly { elapsed / period + 1u32 } else { elapsed.div_ceil(&period) };
        cycle.to_u64()
    }

    /// The phase in units of `1 / den` ns.
    fn phase_units(&self) -> BigUint {
        BigUint::from(self.phase_ns) * self.den
            + u128::from(self.phase_num) * (self.den / u128::from(self.phase_den))
    }

    /// The period in units of `1 / den` ns.
    fn period_units(&self) -> BigUint {
        BigUint::from(*self.period.ratio().numer())
            * self.period_scale
            * (self.den / u128::from(self.period_den))
    }
}

/// The clock domains of one run, by id; ids and names are unique.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockDomains {
    by_id: BTreeMap<u32, ClockDomain>,
    by_name: BTreeMap<String, u32>,
}

impl ClockDomains {
    /// No domains.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a domain.
    ///
    /// # Errors
    /// Its id, or its name ignoring ASCII case, is taken.
    pub fn insert(&mut self, domain: ClockDomain) -> Result<(), DomainError> {
        let key = domain.name().to_ascii_lowercase();
        if let Some(first) = self.by_id.get(&domain.id()) {
            return Err(DomainError::DuplicateId {
                id: domain.id(),
                first: first.name().to_owned(),
                second: domain.name().to_owned(),
            });
        }
        if let Some(&first) = self.by_name.get(&key) {
            return Err(DomainError::DuplicateName {
                name: domain.name().to_owned(),
                first,
                second: domain.id(),
            });
        }
        self.by_name.insert(key, domain.id());
        self.by_id.insert(domain.id(), domain);
        Ok(())
    }

    /// The domain with this id.
    pub fn get(&self, id: u32) -> Option<&ClockDomain> {
        self.by_id.get(&id)
    }

    /// The domain with this name, ignoring ASCII case.
    pub fn by_name(&self, name: &str) -> Option<&ClockDomain> {
        self.by_name.get(&name.to_ascii_lowercase()).and_then(|id| self.by_id.get(id))
    }

    /// All domains by ascending id.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &ClockDomain> {
        self.by_id.values()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }
}

#[cfg(test)]
#[path = "domain_tests.rs"]
mod tests;
