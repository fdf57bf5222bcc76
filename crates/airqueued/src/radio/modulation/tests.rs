use super::*;
use crate::netlink::attributes::{self, Writer};
use proptest::prelude::*;

/// MESH's segment of 1460 bytes and a TCP acknowledgement, with headers of 74 bytes.
const FRAMES: [u32; 2] = [1_534, 74];
const AT_5_GHZ: Cell = Cell { frequency_mhz: 5180, short_slot: false, short_preamble: false };
const AT_2_4_GHZ: Cell = Cell { frequency_mhz: 2412, short_slot: false, short_preamble: false };

fn read(of: Writer) -> Option<Modulation> {
    Modulation::read(&attributes::read(&of.finish()).unwrap())
}

fn scheme(index: u8, streams: u8, width_mhz: u16, guard_ns: u16) -> Scheme {
    Scheme { index, streams, width_mhz, guard_ns }
}

/// Microseconds of both frames less those of their bits, from microseconds of a slot, SIFS, the acknowledgement and both frames.
fn expected_us(slot: f64, sifs: f64, ack: f64, frames: [f64; 2], rate_mbps: f64) -> f64 {
    let access = 7.5 * slot + sifs + 2.0 * slot + sifs + ack;
    2.0 * access + frames[0] + frames[1] - f64::from(FRAMES[0] + FRAMES[1]) * 8.0 / rate_mbps
}

#[test]
fn attributes_say_how_a_frame_was_sent() {
    let flag = |writer: Writer, kind| writer.bytes(kind, &[]);
    let byte = |writer: Writer, kind, value| writer.bytes(kind, &[value]);
    let rate = || Writer::default().u32(5, 540);
    assert_eq!(read(rate()), Some(Modulation::Legacy));
    assert_eq!(read(Writer::default()), None);
    let ht = flag(flag(byte(rate(), 2, 15), 3), 4);
    assert_eq!(read(ht), Some(Modulation::Ht(scheme(7, 2, 40, 400))));
    let vht = flag(byte(byte(rate(), 6, 9), 7, 3), 8);
    assert_eq!(read(vht), Some(Modulation::Vht(scheme(9, 3, 80, 800))));
    let he = flag(byte(byte(byte(rate(), 13, 11), 14, 2), 15, 1), 10);
    assert_eq!(read(he.clone()), Some(Modulation::He(scheme(11, 2, 160, 1_600))));
    // EHT, half a channel, 320 MHz; streams or guard interval missing, a guard interval that there is not.
    for kind in [19, 11, 18] {
        assert_eq!(read(flag(he.clone(), kind)), None, "{kind}");
    }
    assert_eq!(read(byte(rate(), 6, 9)), None);
    assert_eq!(read(byte(byte(rate(), 13, 11), 14, 2)), None);
    assert_eq!(read(byte(byte(byte(rate(), 13, 11), 14, 2), 15, 3)), None);
}

/// Each by the standard's equations, by hand; the clauses are those of IEEE 802.11-2016 and 802.11ax-2021.
#[test]
fn the_overhead_is_that_of_the_standards_frames() {
    let ht = |index, streams, width, guard| Modulation::Ht(scheme(index, streams, width, guard));
    let short = Cell { short_slot: true, ..AT_2_4_GHZ };
    for (name, modulation, rate_bps, cell, expected) in [
        // 16.2.2: preamble and header of 192 us, CWmin 31. Frames end on whole microseconds (16.3.4): 1116 and 54 us of bits at
        // 11 Mb/s. The acknowledgement of 14 bytes has 2 Mb/s, the higher of both mandatory rates: 56 us.
        (
            "802.11b",
            Modulation::Legacy,
            11_000_000,
            AT_2_4_GHZ,
            2.0 * (15.5 * 20.0 + 50.0 + 10.0 + 192.0 + 56.0) + 2.0 * 192.0 + 1116.0 + 54.0
                - 1608.0 * 8.0 / 11.0,
        ),
        // 17.4.3: 20 us and symbols of 4 us with 216 bits: 57 for 12272 + 22 bits, 3 for 592 + 22; acknowledgement at 24 Mb/s: 28 us.
        (
            "802.11a",
            Modulation::Legacy,
            54_000_000,
            AT_5_GHZ,
            expected_us(9.0, 16.0, 28.0, [20.0 + 57.0 * 4.0, 20.0 + 3.0 * 4.0], 54.0),
        ),
        // 18.3.2.4: 6 us of silence behind each frame at 2.4 GHz; slots of 20 or 9 us, SIFS of 10 us.
        (
            "802.11g, long slots",
            Modulation::Legacy,
            54_000_000,
            AT_2_4_GHZ,
            expected_us(20.0, 10.0, 34.0, [26.0 + 57.0 * 4.0, 26.0 + 3.0 * 4.0], 54.0),
        ),
        (
            "802.11g, short slots",
            Modulation::Legacy,
            54_000_000,
            short,
            expected_us(9.0, 10.0, 34.0, [26.0 + 57.0 * 4.0, 26.0 + 3.0 * 4.0], 54.0),
        ),
        // 19.3.2, 19.4.3: 32 us and 4 us for each of four training fields; two encoders; symbols of 3.6 us with 2160 bits, ended
        // at a multiple of 4 us: six of 12272 + 28 bits, one of 592 + 28. MESH's 600 Mb/s.
        (
            "802.11n, 600 Mb/s",
            ht(7, 4, 40, 400),
            600_000_000,
            AT_5_GHZ,
            expected_us(9.0, 16.0, 28.0, [48.0 + 24.0, 48.0 + 4.0], 600.0),
        ),
        // One training field; symbols of 4 us with 260 bits: 48 of 12272 + 22 bits, 3 of 592 + 22.
        (
            "802.11n, 65 Mb/s",
            ht(7, 1, 20, 800),
            65_000_000,
            AT_5_GHZ,
            expected_us(9.0, 16.0, 28.0, [36.0 + 48.0 * 4.0, 36.0 + 3.0 * 4.0], 65.0),
        ),
    ] {
        let found = modulation.overhead(rate_bps, cell, FRAMES).unwrap();
        let found_us = found.as_nanos() as f64 / 1e3;
        // Nanoseconds are whole.
        assert!((found_us - expected).abs() < 0.003, "{name}: {found_us} instead of {expected}");
    }
}

#[test]
fn newer_frames_have_longer_preambles() {
    let of = |modulation: Modulation, rate_bps| {
        modulation.overhead(rate_bps, AT_5_GHZ, FRAMES).unwrap().as_nanos()
    };
    let vht = of(Modulation::Vht(scheme(7, 1, 20, 800)), 65_000_000);
    let ht = of(Modulation::Ht(scheme(7, 1, 20, 800)), 65_000_000);
    // 21.3.2: VHT-SIG-B makes each preamble 4 us longer (40 to 36 us); delimiters of 4 bytes (21.3.12) and padding are within symbols.
    assert!((8_000..=16_000).contains(&(vht - ht)), "{vht} {ht}");
    let he = of(Modulation::He(scheme(11, 2, 80, 800)), 1_201_000_000);
    // Two accesses with acknowledgements alone are 291 us; two preambles of HE have 52 us at most (27.3.4).
    assert!((291_000..291_000 + 2 * 52_000 + 2 * 13_600).contains(&he), "{he}");
}

#[test]
fn what_the_standard_does_not_have_has_no_overhead() {
    for (modulation, rate_bps) in [
        (Modulation::Legacy, 7_000_000),
        (Modulation::Legacy, 0),
        (Modulation::Ht(scheme(7, 5, 20, 800)), 65_000_000),
        (Modulation::Ht(scheme(7, 1, 80, 800)), 65_000_000),
        (Modulation::Vht(scheme(13, 1, 80, 800)), 65_000_000),
        (Modulation::He(scheme(0, 1, 20, 400)), 8_600_000),
    ] {
        assert_eq!(modulation.overhead(rate_bps, AT_5_GHZ, FRAMES), None, "{modulation:?}");
    }
}

proptest! {
    #[test]
    fn whatever_a_driver_tells_is_no_panic(
        kinds in prop::collection::vec((0u16..24, prop::collection::vec(any::<u8>(), 0..5)), 0..8),
        rate_bps: u64,
        frequency_mhz in 2000u32..8000,
    ) {
        let of = kinds.iter().fold(Writer::default(), |all, (kind, value)| all.bytes(*kind, value));
        let cell = Cell { frequency_mhz, ..AT_2_4_GHZ };
        if let Some(modulation) = read(of) {
            for rate_bps in [rate_bps, 6_000_000] {
                let overhead = modulation.overhead(rate_bps, cell, FRAMES);
                prop_assert!(overhead.is_none_or(|span| span > Span::ZERO));
            }
        }
    }
}
