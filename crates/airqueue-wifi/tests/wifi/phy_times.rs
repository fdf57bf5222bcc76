//! Durations and NAVs against a slow evaluation that counts bits, symbols and microseconds one by one, without the
//! crate's formulas; and invariants.

use crate::layers::{NAMES, at, layer, mbps, standard, us};
use airqueue_core::Span;
use airqueue_wifi::phy::{Conventions, Phy, RateIndex, Response};
use proptest::prelude::*;

const CONVENTIONS: [Conventions; 3] = [Conventions::STANDARD, Conventions::NS3, Conventions::NS2];

/// A fraction of a µs: numerator and denominator.
type Fraction = (u64, u64);

/// Duration of preamble and signal extension in µs, and of the PSDU, counted by hand.
fn by_hand(name: &str, bps: u64, bytes: u64) -> (u64, Fraction) {
    let long = name == "b-long" || name == "g-long-preamble" || bps == 1_000_000;
    match bps {
        1_000_000 | 2_000_000 | 5_500_000 | 11_000_000 => {
            (if long { 192 } else { 96 }, (8 * bytes * 1_000_000, bps))
        }
        _ => {
            let around = if name == "a" { 20 } else { 20 + 6 };
            (around, (symbols(bps, bytes) * 4, 1))
        }
    }
}

/// Fills symbols with bits until none is left.
fn symbols(bps: u64, bytes: u64) -> u64 {
    // 48 carriers with bits of BPSK, QPSK, 16-QAM or 64-QAM, times the code rate.
    let (bits, code) = match bps / 1_000_000 {
        6 => (1, (1, 2)),
        9 => (1, (3, 4)),
        12 => (2, (1, 2)),
        18 => (2, (3, 4)),
        24 => (4, (1, 2)),
        36 => (4, (3, 4)),
        48 => (6, (2, 3)),
        54 => (6, (3, 4)),
        other => panic!("{other} Mb/s"),
    };
    let capacity = 48 * bits * code.0 / code.1;
    let mut left = 16 + 8 * bytes + 6;
    let mut count = 0;
    while left > 0 {
        left = left.saturating_sub(capacity);
        count += 1;
    }
    count
}

/// The least whole number of units, `per_us` of which make 1 µs, that is not less than the fraction. The search starts
/// at `from`, which must not be above the result.
fn rounded_up((numerator, denominator): Fraction, per_us: u64, from: u64) -> u64 {
    let mut units = from;
    while units * denominator < numerator * per_us {
        units += 1;
    }
    units
}

/// All rates and sizes, frames in whole µs.
#[test]
fn every_size_in_whole_microseconds() {
    for name in NAMES {
        let phy = standard(name);
        for (index, rate) in phy.rates() {
            let mut before = 0;
            for bytes in 0..=phy.max_psdu_bytes() {
                let (around, on_air) = by_hand(name, rate.as_bps(), bytes.into());
                before = rounded_up(on_air, 1, before);
                let expected = us((around + before) as i64);
                assert_eq!(phy.airtime(index, bytes), expected, "{name} {rate} {bytes} B");
            }
        }
    }
}

/// All rates and sizes with ns-2's conventions: the exact duration of DSSS frames, rounded up to the next ns.
#[test]
fn every_size_exactly() {
    for name in NAMES {
        let phy = layer(name, Conventions::NS2).unwrap();
        for (index, rate) in phy.rates() {
            let mut before = 0;
            for bytes in 0..=phy.max_psdu_bytes() {
                let (around, on_air) = by_hand(name, rate.as_bps(), bytes.into());
                before = rounded_up(on_air, 1_000, before);
                let expected = Span::from_nanos((1_000 * around + before) as i64);
                assert_eq!(phy.airtime(index, bytes), expected, "{name} {rate} {bytes} B");
            }
        }
    }
}

/// ns-2's frame of a 1500-byte packet, 1534 bytes at 11 Mb/s: 1115.63... µs, and 192 µs of preamble.
#[test]
fn exact_is_not_rounded_to_microseconds() {
    let phy = layer("b-long", Conventions::NS2).unwrap();
    assert_eq!(phy.airtime(at(&phy, "11"), 1534), Span::from_nanos(192_000 + 1_115_637));
    assert_eq!(phy.airtime(at(&phy, "2"), 1534), us(192 + 6136));
    let whole = standard("b-long");
    assert_eq!(whole.airtime(at(&whole, "11"), 1534), us(192 + 1116));
}

/// The rest of an exchange at the end of each of its frames, as a sum of frames.
struct Left {
    rts: Span,
    cts: Span,
    to_self: Span,
    data: Span,
}

fn left(phy: &Phy, rts: RateIndex, data: RateIndex, frame: Span) -> Left {
    let ack = phy.airtime(phy.response_rate(data), 14);
    let cts = phy.airtime(phy.response_rate(rts), 14);
    let sifs = phy.sifs();
    Left {
        rts: sifs + cts + sifs + frame + sifs + ack,
        cts: sifs + frame + sifs + ack,
        to_self: sifs + frame + sifs + ack,
        data: sifs + ack,
    }
}

fn any_index() -> impl Strategy<Value = usize> {
    0usize..12
}

/// The rate at an index, modulo the number of rates.
fn pick(phy: &Phy, place: usize) -> RateIndex {
    let count = phy.rates().len();
    phy.rates().nth(place % count).unwrap().0
}

proptest! {
    /// The standard's NAV never ends before the exchange, and less than 1 µs (for the CTS, which
    /// begins from a rounded value, 2 µs) after it.
    #[test]
    fn nav_covers_the_exchange(
        name in prop::sample::select(&NAMES[..]),
        exact in any::<bool>(),
        rts in any_index(),
        data in any_index(),
        bytes in 0u32..=2_346,
    ) {
        let mut conventions = Conventions::STANDARD;
        if exact {
            conventions.dsss_txtime = Conventions::NS2.dsss_txtime;
        }
        let phy = layer(name, conventions).unwrap();
        let (rts, data) = (pick(&phy, rts), pick(&phy, data));
        let frame = phy.airtime(data, bytes);
        let left = left(&phy, rts, data, frame);
        let rts_nav = phy.rts_nav(rts, data, frame, Response::Ack);
        let cts_nav = phy.cts_nav(phy.response_rate(rts), rts_nav);
        let to_self = phy.cts_to_self_nav(data, frame, Response::Ack);
        for (nav, left, within) in [
            (rts_nav, left.rts, 1_000),
            (cts_nav, left.cts, 2_000),
            (to_self, left.to_self, 1_000),
            (phy.response_nav(data, Response::Ack), left.data, 1_000),
        ] {
            prop_assert_eq!(nav.as_nanos() % 1_000, 0);
            prop_assert!(nav >= left, "{nav} < {left}");
            prop_assert!((nav - left).as_nanos() < within, "{nav} {left}");
            if !exact {
                // All parts are whole microseconds, so that nothing is rounded.
                prop_assert_eq!(nav, left);
            }
        }
    }

    /// ns-2's NAV is at most half a µs too short or too long.
    #[test]
    fn nav_of_ns2_is_the_nearest(rts in any_index(), data in any_index(), bytes in 0u32..=2_346) {
        let phy = layer("b-long", Conventions::NS2).unwrap();
        let (rts, data) = (pick(&phy, rts), pick(&phy, data));
        let frame = phy.airtime(data, bytes);
        let left = left(&phy, rts, data, frame);
        for (nav, left) in [
            (phy.rts_nav(rts, data, frame, Response::Ack), left.rts),
            (phy.cts_to_self_nav(data, frame, Response::Ack), left.to_self),
            (phy.response_nav(data, Response::Ack), left.data),
        ] {
            prop_assert_eq!(nav.as_nanos() % 1_000, 0);
            prop_assert!((nav - left).as_nanos().abs() <= 500);
        }
    }

    /// More bytes never take less time, and eventually another symbol; a higher rate of the class never takes more
    /// time.
    #[test]
    fn durations_rise_with_size_and_fall_with_rate(
        name in prop::sample::select(&NAMES[..]),
        conventions in prop::sample::select(&CONVENTIONS[..]),
        bytes in 0u32..100_000,
        more in 1u32..500,
    ) {
        let phy = layer(name, conventions).unwrap();
        let mut slower: Option<(RateIndex, Span)> = None;
        for (index, rate) in phy.rates() {
            let frame = phy.airtime(index, bytes);
            prop_assert!(phy.airtime(index, bytes + more) >= frame);
            // 54 Mb/s fit 27 bytes into a symbol.
            prop_assert!(phy.airtime(index, bytes + 28) > frame);
            if let Some((below, longer)) = slower && phy.class(below) == phy.class(index) {
                prop_assert!(frame <= longer, "{rate}");
            }
            slower = Some((index, frame));
        }
    }

    /// The formula holds for any size, even beyond the largest frame.
    #[test]
    fn no_size_overflows(name in prop::sample::select(&NAMES[..]), bytes in any::<u32>()) {
        for conventions in CONVENTIONS {
            let phy = layer(name, conventions).unwrap();
            for (index, rate) in phy.rates() {
                let seconds = phy.airtime(index, bytes).as_secs_f64();
                let bits = 8.0 * f64::from(bytes) / rate.as_bps() as f64;
                prop_assert!(seconds >= bits && seconds <= bits + 210e-6, "{rate}: {seconds} {bits}");
            }
        }
    }
}

/// Values that the field cannot hold, and negative values.
#[test]
fn nav_stays_in_its_range() {
    let phy = standard("b-long");
    assert_eq!(phy.nav(Span::from_secs(1)), us(32_767));
    assert_eq!(phy.nav(Span::from_nanos(-1)), Span::ZERO);
    assert_eq!(phy.nav(Span::ZERO), Span::ZERO);
    assert_eq!(phy.nav(Span::from_nanos(1)), us(1));
    assert_eq!(phy.cts_nav(at(&phy, "1"), us(100)), Span::ZERO);
    let ns2 = layer("b-long", Conventions::NS2).unwrap();
    let rounded = [499, 500, 1_499, 1_500].map(|ns| ns2.nav(Span::from_nanos(ns)));
    assert_eq!(rounded, [us(0), us(1), us(1), us(2)]);
}

/// The NAV of an RTS is reset when the announced frame should have been detected.
#[test]
fn nav_timeout() {
    let b = standard("b-long").with_basic_rates(&[mbps("1"), mbps("2")]).unwrap();
    assert_eq!(b.nav_timeout(at(&b, "2")), us(2 * 10 + 248 + 192 + 2 * 20));
    let a = standard("a");
    assert_eq!(a.nav_timeout(at(&a, "24")), us(2 * 16 + 28 + 20 + 2 * 9));
}
