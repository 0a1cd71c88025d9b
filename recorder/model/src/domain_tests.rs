use super::*;
use proptest::prelude::*;

fn domain(period: (u64, u64), phase: (u64, u64)) -> ClockDomain {
    let period = Seconds::from_ratio(period.0, period.1).unwrap();
    let phase = Seconds::from_ratio(phase.0, phase.1).unwrap();
    ClockDomain::with_period(1, "d", period, phase).unwrap()
}

/// `phase + n * period` by big rationals, sharing nothing with the code under test.
fn reference(period: (u64, u64), phase: (u64, u64), n: &BigUint) -> Ratio<BigUint> {
    let big = |(num, den): (u64, u64)| Ratio::new(BigUint::from(num), BigUint::from(den));
    big(phase) + big(period) * n
}

fn reference_ns(time: &Ratio<BigUint>) -> BigUint {
    (time * BigUint::from(1_000_000_000u64)).to_integer()
}

fn any_word() -> impl Strategy<Value = u64> {
    prop_oneof![1u64..20, 1u64..5_000_000_000, 1u64.., Just(u64::MAX), Just(1_000_000_000_000_000)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn edges_equal_big_rationals(
        period in (any_word(), any_word()), phase in (any_word(), any_word()), n in prop_oneof![0u64..100, any::<u64>()],
    ) {
        let Ok(domain) = ClockDomain::with_period(
            1, "d", Seconds::from_ratio(period.0, period.1).unwrap(), Seconds::from_ratio(phase.0, phase.1).unwrap(),
        ) else {
            // Refused only because the phase is out of range.
            prop_assert!(reference_ns(&reference(period, phase, &BigUint::ZERO)) >= BigUint::from(1u64 << 63));
            return Ok(());
        };
        let expected = reference(period, phase, &BigUint::from(n));
        match domain.edge(n) {
            Ok(time) => {
                prop_assert_eq!(time.to_ratio(), expected.clone());
                prop_assert_eq!(BigUint::from(time.floor_ns().unsigned_abs()), reference_ns(&expected));
            }
            Err(_) => prop_assert!(reference_ns(&expected) >= BigUint::from(1u64 << 63)),
        }
        // The horizon: max_edge fits, its successor does not.
        let horizon = BigUint::from(1u64 << 63);
        let last = BigUint::from(domain.max_edge());
        prop_assert!(reference_ns(&reference(period, phase, &last)) < horizon);
        prop_assert!(
            domain.max_edge() == u64::MAX || reference_ns(&reference(period, phase, &(last + 1u32))) >= horizon
        );
    }

    #[test]
    fn first_edges_are_first(
        period in (any_word(), any_word()), phase in (any_word(), any_word()),
        other in (any_word(), any_word()), m in 0u64..1000,
    ) {
        let build = |id, name, period: (u64, u64), phase: (u64, u64)| ClockDomain::with_period(
            id, name, Seconds::from_ratio(period.0, period.1).unwrap(), Seconds::from_ratio(phase.0, phase.1).unwrap());
        let (Ok(a), Ok(b)) = (build(1, "a", period, phase), build(2, "b", other, (0, 1))) else { return Ok(()) };
        let Ok(time) = b.edge(m) else { return Ok(()) };
        let exact = time.to_ratio();
        let at = |n: u64| reference(period, phase, &BigUint::from(n));
        match a.edge_at_or_after(&time) {
            Ok(n) => prop_assert!(at(n) >= exact && (n == 0 || at(n - 1) < exact)),
            Err(_) => prop_assert!(at(a.max_edge()) < exact),
        }
        match a.edge_after(&time) {
            Ok(n) => prop_assert!(at(n) > exact && (n == 0 || at(n - 1) <= exact)),
            Err(_) => prop_assert!(at(a.max_edge()) <= exact),
        }
        prop_assert_eq!(a.first_edge_narrow(&time, true).unwrap_or_else(|| a.first_edge_wide(&time, true)),
            a.first_edge_wide(&time, true));
        prop_assert_eq!(a.first_edge_narrow(&time, false).unwrap_or_else(|| a.first_edge_wide(&time, false)),
            a.first_edge_wide(&time, false));
    }
}

#[test]
fn edges_equal_big_integers_at_ten_to_the_twelve() {
    let n = 1_000_000_000_000u64;
    let cases = [
        ((1, 914_000_000), (0, 1)),
        ((1, 1_326_000_000), (137, 1_000_000_000_000)),
        ((1, 1_001_000_000), (311, 1_000_000_000_000)),
        ((3, 5), (1, 3)),
    ];
    for (period, phase) in cases {
        for cycle in [n - 1, n, n + 1] {
            let exact = reference(period, phase, &BigUint::from(cycle));
            match domain(period, phase).edge(cycle) {
                Ok(time) => assert_eq!(time.to_ratio(), exact),
                Err(_) => assert!(reference_ns(&exact) >= BigUint::from(1u64 << 63)),
            }
        }
    }
    // 10^12 / 1326 MHz + 137 ps = 754.147812971478263... s.
    let read = domain((1, 1_326_000_000), (137, 1_000_000_000_000));
    assert_eq!(read.edge(n).unwrap().floor_ns(), 754_147_812_971);
}

#[test]
fn horizons_of_the_specified_clocks() {
    // 1 Hz: the last whole second below 2^63 ns.
    assert_eq!(domain((1, 1), (0, 1)).max_edge(), 9_223_372_036);
    // 1 THz + 1 fs: 2^64 - 1 edges end first, after 213 days.
    let fast = domain((1, 1_000_000_000_000), (1, 1_000_000_000_000_000));
    assert_eq!(fast.max_edge(), u64::MAX);
    assert_eq!(fast.edge(u64::MAX).unwrap().floor_ns(), 18_446_744_073_709_551);
    // 914 MHz ends with 64-bit nanoseconds: floor((2^63 - 1) ns / (500/457 ns)) edges.
    let sm = domain((1, 914_000_000), (0, 1));
    assert_eq!(u128::from(sm.max_edge()), ((1u128 << 63) * 457 - 1) / 500);
    let beyond = sm.edge(sm.max_edge() + 1).unwrap_err();
    assert!(matches!(&beyond, TimeError::EdgeOutOfRange { domain, .. } if domain == "d"));
    assert!(sm.edge_after(&sm.edge(sm.max_edge()).unwrap()).is_err());
}

#[test]
fn queries_before_and_at_the_phase() {
    let d = domain((1, 1_000_000_000), (5, 1_000_000_000));
    let ns = |n| ExactTime::from_ns(n).unwrap();
    assert_eq!((d.edge_at_or_after(&ns(0)).unwrap(), d.edge_after(&ns(4)).unwrap()), (0, 0));
    assert_eq!((d.edge_at_or_after(&ns(5)).unwrap(), d.edge_after(&ns(5)).unwrap()), (0, 1));
    assert_eq!((d.edge_at_or_after(&ns(6)).unwrap(), d.edge_after(&ns(6)).unwrap()), (1, 2));
}

#[test]
fn rejections_have_errors_of_their_own() {
    let ghz: Frequency = "1GHz".parse().unwrap();
    let new = |id, name: &str| ClockDomain::new(id, name, ghz, Seconds::ZERO).unwrap_err();
    assert!(matches!(new(0, "a"), DomainError::ReservedId { id: 0 }));
    assert!(matches!(new(u32::MAX, "a"), DomainError::ReservedId { .. }));
    assert!(matches!(new(1, "Default"), DomainError::ReservedName { .. }));
    for name in ["", ".", "..", "a b", "a/b", "ä", &"x".repeat(129)] {
        assert!(matches!(new(1, name), DomainError::BadName { .. }), "{name}");
    }
    let zero = ClockDomain::with_period(1, "a", Seconds::ZERO, Seconds::ZERO).unwrap_err();
    assert!(matches!(zero, DomainError::Quantity { .. }));
    let late = Seconds::from_ratio(9_223_372_037, 1).unwrap();
    assert!(matches!(ClockDomain::new(1, "a", ghz, late), Err(DomainError::PhaseOutOfRange { .. })));

    let mut domains = ClockDomains::new();
    domains.insert(ClockDomain::new(7, "sm", ghz, Seconds::ZERO).unwrap()).unwrap();
    let twice = domains.insert(ClockDomain::new(7, "other", ghz, Seconds::ZERO).unwrap());
    assert!(matches!(twice, Err(DomainError::DuplicateId { id: 7, .. })));
    let named = domains.insert(ClockDomain::new(8, "SM", ghz, Seconds::ZERO).unwrap());
    assert!(matches!(named, Err(DomainError::DuplicateName { .. })));
    assert_eq!(domains.by_name("Sm").map(ClockDomain::id), Some(7));
}

#[test]
fn the_implicit_domain_and_recorded_ones_may_use_reserved_names() {
    let implicit = ClockDomain::implicit("1GHz".parse().unwrap());
    assert_eq!((implicit.id(), implicit.name()), (0, "default"));
    assert!(ClockDomain::recorded(0, "default", implicit.period(), Seconds::ZERO).is_ok());
}
