//! Exact quantities as people write them: frequencies and spans of time.
//!
//! Both are reduced rationals of `u64`. Text is parsed digit by digit; nothing passes through
//! floating point. This module does not know what a quantity is used for.

use std::fmt;
use std::str::FromStr;

use num_rational::Ratio;

/// Why a quantity was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuantityError {
    /// A frequency, or a period, of zero.
    #[error("{what} is zero; expected more than zero")]
    Zero {
        /// The quantity meant.
        what: &'static str,
    },
    /// A ratio with denominator zero.
    #[error("the denominator is zero; expected a ratio a/b with b > 0")]
    ZeroDenominator,
    /// A quantity below zero.
    #[error("`{text}` is negative; expected zero or more")]
    Negative {
        /// The text as given.
        text: String,
    },
    /// Text that is not a quantity.
    #[error("{} is not {expected}", quoted(text))]
    Unparsable {
        /// The text as given, cut to 64 characters.
        text: String,
        /// What would have been read.
        expected: &'static str,
    },
    /// The reduced numerator or denominator does not fit 64 bits.
    #[error("{what} is out of range: numerator and denominator must fit 64 bits after reduction")]
    OutOfRange {
        /// The quantity meant.
        what: &'static str,
    },
}

fn quoted(text: &str) -> String {
    if text.is_empty() { "an empty text".to_owned() } else { format!("`{text}`") }
}

/// An exact frequency in hertz, greater than zero.
///
/// Text forms: `914MHz`, `1.326GHz` (kept exact), `5/3 Hz`. Units: `Hz`, `kHz`, `MHz`, `GHz`, `THz`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frequency(Ratio<u64>);

/// An exact span of time in seconds, zero or more.
///
/// Text forms: `137ps`, `1.5ns`, `1/2000000000 s`, `0`. Units: `fs`, `ps`, `ns`, `us`, `ms`, `s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seconds(Ratio<u64>);

fn reduced(num: u128, den: u128, what: &'static str) -> Result<Ratio<u64>, QuantityError> {
    if den == 0 {
        return Err(QuantityError::ZeroDenominator);
    }
    let ratio = Ratio::new(num, den);
    match (u64::try_from(*ratio.numer()), u64::try_from(*ratio.denom())) {
        (Ok(num), Ok(den)) => Ok(Ratio::new_raw(num, den)),
        _ => Err(QuantityError::OutOfRange { what }),
    }
}

impl Frequency {
    const WHAT: &'static str = "the frequency";
    const EXPECTED: &'static str = "a frequency: expected a number and a unit, as in `914MHz`, `1.326GHz` or `5/3 Hz` \
         (units Hz, kHz, MHz, GHz, THz)";
    const UNITS: [(&'static str, u64, u64); 5] = [
        ("THz", 1_000_000_000_000, 1),
        ("GHz", 1_000_000_000, 1),
        ("MHz", 1_000_000, 1),
        ("kHz", 1_000, 1),
        ("Hz", 1, 1),
    ];

    /// `num / den` hertz.
    ///
    /// # Errors
    /// Zero, a zero denominator.
    pub fn from_ratio(num: u64, den: u64) -> Result<Self, QuantityError> {
        Self::checked(reduced(num.into(), den.into(), Self::WHAT)?)
    }

    /// A whole number of hertz.
    ///
    /// # Errors
    /// Zero.
    pub fn from_hz(hz: u64) -> Result<Self, QuantityError> {
        Self::from_ratio(hz, 1)
    }

    fn checked(ratio: Ratio<u64>) -> Result<Self, QuantityError> {
        if *ratio.numer() == 0 { Err(QuantityError::Zero { what: Self::WHAT }) } else { Ok(Self(ratio)) }
    }

    /// The reduced ratio in hertz.
    pub fn ratio(self) -> Ratio<u64> {
        self.0
    }

    /// One period, `1 / f`.
    pub fn period(self) -> Seconds {
        Seconds(Ratio::new_raw(*self.0.denom(), *self.0.numer()))
    }

    /// The name people use: the largest of GHz, MHz, kHz, Hz that gives an integer, else an exact
    /// decimal of at most nine digits in the largest unit not above the value, else `a/b Hz`.
    pub fn label(self) -> String {
        let (num, den) = (u128::from(*self.0.numer()), u128::from(*self.0.denom()));
        let units = &Self::UNITS[1..];
        for &(unit, scale, _) in units {
            if num.is_multiple_of(den * u128::from(scale)) {
                return format!("{} {unit}", num / (den * u128::from(scale)));
            }
        }
        for &(unit, scale, _) in units {
            let whole = den * u128::from(scale);
            if (num >= whole || scale == 1)
                && let Some(decimal) = exact_decimal(num, whole)
            {
                return format!("{decimal} {unit}");
            }
        }
        format!("{num}/{den} Hz")
    }
}

/// `num / den` as a terminating decimal of at most nine digits, if it is one.
fn exact_decimal(num: u128, den: u128) -> Option<String> {
    let whole = (num / den).to_string();
    let mut rest = num % den;
    let mut digits = String::new();
    while rest != 0 {
        if whole.len() + digits.len() >= 9 {
            return None;
        }
        rest *= 10;
        digits.push(char::from(b'0' + u8::try_from(rest / den).ok()?));
        rest %= den;
    }
    Some(format!("{whole}.{digits}"))
}

impl Seconds {
    /// No time at all.
    pub const ZERO: Self = Self(Ratio::new_raw(0, 1));
    const WHAT: &'static str = "the time";
    const EXPECTED: &'static str = "a time: expected a number and a unit, as in `137ps`, `1.5ns` or `1/2000000000 s` \
         (units fs, ps, ns, us, ms, s)";
    const UNITS: [(&'static str, u64, u64); 6] = [
        ("fs", 1, 1_000_000_000_000_000),
        ("ps", 1, 1_000_000_000_000),
        ("ns", 1, 1_000_000_000),
        ("us", 1, 1_000_000),
        ("ms", 1, 1_000),
        ("s", 1, 1),
    ];

    /// `num / den` seconds.
    ///
    /// # Errors
    /// A zero denominator.
    pub fn from_ratio(num: u64, den: u64) -> Result<Self, QuantityError> {
        Ok(Self(reduced(num.into(), den.into(), Self::WHAT)?))
    }

    /// Femtoseconds.
    pub fn from_fs(fs: u64) -> Self {
        Self(Ratio::new(fs, 1_000_000_000_000_000))
    }

    /// Picoseconds.
    pub fn from_ps(ps: u64) -> Self {
        Self(Ratio::new(ps, 1_000_000_000_000))
    }

    /// Nanoseconds.
    pub fn from_ns(ns: u64) -> Self {
        Self(Ratio::new(ns, 1_000_000_000))
    }

    /// The reduced ratio in seconds.
    pub fn ratio(self) -> Ratio<u64> {
        self.0
    }

    /// Whether this is no time at all.
    pub fn is_zero(self) -> bool {
        *self.0.numer() == 0
    }
}

/// Splits `text` into number and unit, and gives the number as an unreduced ratio.
fn number<'a>(text: &'a str, expected: &'static str) -> Result<(u128, u128, &'a str), QuantityError> {
    let bad = || QuantityError::Unparsable { text: text.chars().take(64).collect(), expected };
    let trimmed = text.trim();
    if let Some(rest) = trimmed.strip_prefix('-')
        && number(rest, expected).is_ok()
    {
        return Err(QuantityError::Negative { text: text.chars().take(64).collect() });
    }
    let split =
        trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '/')).unwrap_or(trimmed.len());
    let (digits, unit) = trimmed.split_at(split);
    let plain = |s: &str| -> Result<u128, QuantityError> {
        if s.is_empty() || !s.bytes().all(|b| b.is_ascii_digit()) {
            return Err(bad());
        }
        s.parse().map_err(|_| bad())
    };
    let (num, den) = if let Some((num, den)) = digits.split_once('/') {
        (plain(num)?, plain(den)?)
    } else if let Some((whole, fraction)) = digits.split_once('.') {
        let fraction_value = plain(fraction)?;
        let scale = u32::try_from(fraction.len()).ok().and_then(|k| 10u128.checked_pow(k)).ok_or_else(bad)?;
        let num =
            plain(whole)?.checked_mul(scale).and_then(|n| n.checked_add(fraction_value)).ok_or_else(bad)?;
        (num, scale)
    } else {
        (plain(digits)?, 1)
    };
    if den == 0 {
        return Err(QuantityError::ZeroDenominator);
    }
    Ok((num, den, unit.trim_start()))
}

fn scaled(
    text: &str,
    units: &[(&str, u64, u64)],
    what: &'static str,
    expected: &'static str,
) -> Result<Ratio<u64>, QuantityError> {
    let (num, den, unit) = number(text, expected)?;
    let scale = match units.iter().find(|(name, _, _)| *name == unit) {
        Some(&(_, up, down)) => (u128::from(up), u128::from(down)),
        None if unit.is_empty() && num == 0 => (1, 1),
        None => return Err(QuantityError::Unparsable { text: text.chars().take(64).collect(), expected }),
    };
    let small = Ratio::new(num, den);
    let scale = Ratio::new(scale.0, scale.1);
    // Cross-reduce before multiplying so that only a result too wide overflows.
    let left = Ratio::new(*small.numer(), *scale.denom());
    let right = Ratio::new(*scale.numer(), *small.denom());
    match (left.numer().checked_mul(*right.numer()), left.denom().checked_mul(*right.denom())) {
        (Some(num), Some(den)) => reduced(num, den, what),
        _ => Err(QuantityError::OutOfRange { what }),
    }
}

impl FromStr for Frequency {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        Self::checked(scaled(text, &Self::UNITS, Self::WHAT, Self::EXPECTED)?)
    }
}

impl FromStr for Seconds {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        Ok(Self(scaled(text, &Self::UNITS, Self::WHAT, Self::EXPECTED)?))
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label())
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, up, down) in Self::UNITS.iter().rev() {
            let scale = u128::from(*down) / u128::from(*up);
            let num = u128::from(*self.0.numer()) * scale;
            if num.is_multiple_of(u128::from(*self.0.denom())) {
                return write!(f, "{} {unit}", num / u128::from(*self.0.denom()));
            }
        }
        write!(f, "{}/{} s", self.0.numer(), self.0.denom())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hz(text: &str) -> (u64, u64) {
        let f: Frequency = text.parse().unwrap();
        (*f.ratio().numer(), *f.ratio().denom())
    }

    #[test]
    fn frequencies_parse_exactly() {
        assert_eq!(hz("914MHz"), (914_000_000, 1));
        assert_eq!(hz("1.326GHz"), (1_326_000_000, 1));
        assert_eq!(hz("5/3 Hz"), (5, 3));
        assert_eq!(hz("0.1Hz"), (1, 10));
        assert_eq!(hz("1 THz"), (1_000_000_000_000, 1));
        assert_eq!(hz("18446744073709551615 Hz"), (u64::MAX, 1));
        assert_eq!(hz("18446744073709551615/1000000 MHz"), (u64::MAX, 1));
    }

    #[test]
    fn times_parse_exactly() {
        let time = |t: &str| t.parse::<Seconds>().unwrap().ratio();
        assert_eq!(time("137ps"), Ratio::new(137, 1_000_000_000_000));
        assert_eq!(time("1/2000000000 s"), Ratio::new(1, 2_000_000_000));
        assert_eq!(time("1.5 ns"), Ratio::new(3, 2_000_000_000));
        assert_eq!(time("0"), Ratio::new(0, 1));
        assert_eq!(time("7 fs"), Ratio::new(7, 1_000_000_000_000_000));
    }

    #[test]
    fn refusals_have_errors_of_their_own() {
        let f = |t: &str| t.parse::<Frequency>().unwrap_err();
        assert!(matches!(f("0 Hz"), QuantityError::Zero { .. }));
        assert!(matches!(f("1/0 Hz"), QuantityError::ZeroDenominator));
        assert!(matches!(f("-5MHz"), QuantityError::Negative { .. }));
        for text in
            ["", "MHz", "1", "1.MHz", ".5MHz", "1e9Hz", "914mhz", "9 14MHz", "1/2/3Hz", "٣Hz", "--1Hz"]
        {
            assert!(matches!(f(text), QuantityError::Unparsable { .. }), "{text}");
        }
        assert!(matches!(f("18446744073709551616 Hz"), QuantityError::OutOfRange { .. }));
        assert!(matches!("-1ps".parse::<Seconds>().unwrap_err(), QuantityError::Negative { .. }));
        assert!(matches!("5".parse::<Seconds>().unwrap_err(), QuantityError::Unparsable { .. }));
        assert!("".parse::<Seconds>().unwrap_err().to_string().starts_with("an empty text is not a time: "));
        assert!(f("914mhz").to_string().contains("MHz"));
    }

    #[test]
    fn labels_follow_the_largest_whole_unit() {
        let label = |t: &str| t.parse::<Frequency>().unwrap().label();
        assert_eq!(label("914MHz"), "914 MHz");
        assert_eq!(label("1.326GHz"), "1326 MHz");
        assert_eq!(label("2GHz"), "2 GHz");
        assert_eq!(label("1THz"), "1000 GHz");
        assert_eq!(label("1234.5Hz"), "1.2345 kHz");
        assert_eq!(label("0.5Hz"), "0.5 Hz");
        assert_eq!(label("5/3 Hz"), "5/3 Hz");
        assert_eq!(label("1.0000000001Hz"), "10000000001/10000000000 Hz");
        // Ten digits before the point are too many, whether or not the decimal ends.
        assert_eq!(label("10000000003/10 Hz"), "10000000003/10 Hz");
        assert_eq!(label("10000000000/3 Hz"), "10000000000/3 Hz");
    }

    #[test]
    fn seconds_print_in_the_largest_whole_unit() {
        assert_eq!(Seconds::from_ps(137).to_string(), "137 ps");
        assert_eq!(Seconds::from_ns(1_000_000).to_string(), "1 ms");
        assert_eq!(Seconds::from_ratio(1, 914_000_000).unwrap().to_string(), "1/914000000 s");
    }
}
