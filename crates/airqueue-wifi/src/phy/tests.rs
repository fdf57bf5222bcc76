//! The shape of a layer's file carries the formats of 802.11n, ac and ax: their rows of the table of
//! worked numbers, with modes written here.

use super::mode::Coding;
use super::*;

const TABLE: &str = include_str!("../../../../tests/models/data/airtime.csv");

/// What distinguishes these formats; times in ns.
struct Format {
    name: &'static str,
    kbps: u32,
    preamble: i64,
    encoders: u32,
    bits_per_symbol: u32,
    symbol: i64,
    boundary: i64,
}

const FORMATS: [Format; 4] = [
    Format {
        name: "n",
        kbps: 65_000,
        preamble: 36_000,
        encoders: 1,
        bits_per_symbol: 260,
        symbol: 4_000,
        boundary: 4_000,
    },
    // 108 carriers, 6 bits, 5/6, four streams.
    Format {
        name: "n-40mhz-4ss-sgi",
        kbps: 600_000,
        preamble: 48_000,
        encoders: 2,
        bits_per_symbol: 2_160,
        symbol: 3_600,
        boundary: 4_000,
    },
    // 234 carriers, 8 bits, 5/6, two streams.
    Format {
        name: "ac-80mhz-2ss-sgi",
        kbps: 866_700,
        preamble: 44_000,
        encoders: 2,
        bits_per_symbol: 3_120,
        symbol: 3_600,
        boundary: 4_000,
    },
    // 980 carriers, 10 bits, 5/6, two streams, rounded down; training of 6.4 + 0.8 µs.
    Format {
        name: "ax-80mhz-2ss",
        kbps: 1_201_000,
        preamble: 50_400,
        encoders: 1,
        bits_per_symbol: 16_333,
        symbol: 13_600,
        boundary: 13_600,
    },
];

/// 802.11a with one more mode, as such a layer's control frames are those of 802.11a.
fn layer(format: &Format) -> Phy {
    let mut layer = ofdm(Conventions::STANDARD).layer;
    layer.modes.push(Mode {
        rate: rate(format.kbps),
        class: ModulationClass::Ofdm,
        reference: rate(54_000),
        control: false,
        mandatory: false,
        preamble: Span::from_nanos(format.preamble),
        extension: Span::ZERO,
        coding: Coding {
            fixed_units: 16 + 6 * format.encoders,
            units_per_byte: 8,
            units_per_symbol: format.bits_per_symbol,
            symbol: Span::from_nanos(format.symbol),
            boundary: Span::from_nanos(format.boundary),
        },
    });
    Phy::new(layer)
}

#[test]
fn later_formats_are_modes_too() {
    let mut seen = 0;
    for row in TABLE.lines().skip(1) {
        let [name, _, bytes, mbps, us] = row.split(',').collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let Some(format) = FORMATS.iter().find(|format| format.name == name) else { continue };
        let phy = layer(format);
        let kbps = (mbps.parse::<f64>().unwrap() * 1e3).round() as u32;
        let index = phy.rate_index(rate(kbps)).unwrap();
        let us = Span::from_micros(us.parse().unwrap());
        assert_eq!(phy.airtime(index, bytes.parse().unwrap()), us, "{row}");
        seen += 1;
    }
    assert_eq!(seen, 5);
}

/// Ends on a boundary of 4 µs, whatever the symbols make.
#[test]
fn short_guard_intervals_end_on_a_boundary() {
    let format = &FORMATS[1];
    let phy = layer(format);
    let index = phy.rate_index(rate(format.kbps)).unwrap();
    let mut off_boundary = false;
    for bytes in 0..20_000u32 {
        let symbols = (28 + 8 * u64::from(bytes)).div_ceil(2_160);
        let us = 48 + 4 * (symbols * 36).div_ceil(40);
        assert_eq!(phy.airtime(index, bytes), Span::from_micros(us as i64), "{bytes}");
        off_boundary |= symbols * 36 % 40 != 0;
    }
    assert!(off_boundary);
}

#[test]
fn their_responses_are_those_of_the_reference_rate() {
    let phy = layer(&FORMATS[0]);
    let index = phy.rate_index(rate(65_000)).unwrap();
    assert_eq!(phy.rate(phy.response_rate(index)), rate(24_000));
    let error = phy.with_control_rate(rate(65_000)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "802.11a sends no control frames at 65 Mb/s; it must be one of 6, 9, 12, 18, 24, 36, 48, 54 \
         Mb/s"
    );
}
