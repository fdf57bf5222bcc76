//! The airtime that Linux expects at a rate, held to the macros of `net/mac80211/airtime.c` (Linux 6.1).

use airqueue_core::{AirRate, DataRate};
use airqueue_wifi::phy::{
    Conventions, Format, GuardInterval, Mcs, Preamble, Slot, Width, dsss, erp,
};

/// An index, and the bits in a symbol.
type Bits = (u8, u64);

/// Bits in a symbol of one stream as the kernel's tables have them: of the slowest scheme, and of schemes by index.
const TABLES: [(Format, Width, u64, &[Bits]); 6] = [
    (Format::Ht, Width::MHZ_20, 26, &[(0, 26), (3, 104), (7, 260)]),
    (Format::Ht, Width::MHZ_40, 54, &[(0, 54), (7, 540)]),
    (Format::Vht, Width::MHZ_20, 26, &[(2, 78), (8, 312), (9, 346)]),
    (Format::Vht, Width::MHZ_40, 54, &[(1, 108), (9, 720)]),
    (Format::Vht, Width::MHZ_80, 117, &[(0, 117), (6, 1053), (9, 1560)]),
    (Format::He, Width::MHZ_80, 489, &[(0, 489), (4, 2937), (11, 8164)]),
];

/// The table's entry: whole symbols of 1/1024 for 8192 bits and their time, shifted to 16 bits and back.
fn of_kernel(format: Format, guard: GuardInterval, bits: u64, slowest: u64) -> u64 {
    let time = |bits: u64| {
        let symbols = (8192_u64 << 10).div_ceil(bits);
        match (format, guard) {
            (Format::He, GuardInterval::Ns800) => symbols * 16 * 17 / 20,
            (Format::He, GuardInterval::Ns1600) => symbols * 16 * 18 / 20,
            (Format::He, _) => symbols * 16,
            (_, GuardInterval::Ns400) => symbols * 4 * 18 / 20,
            _ => symbols * 4,
        }
    };
    let shift = 16_u32.saturating_sub((time(slowest) as u32).leading_zeros());
    time(bits) >> shift << shift
}

/// HT and VHT are equal; the kernel's symbols of HE have up to 2 % more or fewer bits than the standard's.
#[test]
fn the_time_of_1024_bytes_is_that_of_the_kernels_tables() {
    for (format, width, slowest, schemes) in TABLES {
        let guards: &[GuardInterval] = match format {
            Format::He => &[GuardInterval::Ns800, GuardInterval::Ns1600, GuardInterval::Ns3200],
            _ => &[GuardInterval::Ns400, GuardInterval::Ns800],
        };
        let each =
            schemes.iter().flat_map(|&scheme| guards.iter().map(move |&guard| (scheme, guard)));
        for ((index, bits), guard) in each {
            for streams in 1..=4 {
                let mcs = Mcs { format, index, streams, width, guard };
                let AirRate::Scheme { kilobyte, streams: counted, is_he } = mcs.air_rate() else {
                    panic!("{mcs} is a scheme");
                };
                assert_eq!((counted, is_he), (streams, format == Format::He));
                let each = u64::from(streams);
                let expected = of_kernel(format, guard, bits * each, slowest * each) as f64;
                let tolerance = if is_he { 0.02 * expected } else { 0.0 };
                assert!(
                    (f64::from(kilobyte) - expected).abs() <= tolerance,
                    "{mcs}: {kilobyte} {expected}"
                );
            }
        }
    }
}

/// 1500 bytes of IP in 1552: 192, 96 or 20 µs of preamble, 10 or 16 µs of SIFS, and the bits at the rate.
#[test]
fn older_rates_have_their_preamble_and_sifs() {
    let layers = [
        (dsss(Preamble::Long, Conventions::STANDARD), 1, 202 + 12_416),
        (dsss(Preamble::Short, Conventions::STANDARD), 1, 202 + 12_416),
        (dsss(Preamble::Short, Conventions::STANDARD), 11, 106 + 1128),
        (erp(Slot::Short, Preamble::Short, Conventions::STANDARD), 54, 36 + 229),
    ];
    for (phy, mbps, expected) in layers {
        let rate = DataRate::from_bps(mbps * 1_000_000).unwrap();
        let air_rate = phy.air_rate(phy.rate_index(rate).unwrap());
        for aggregated in [false, true] {
            assert_eq!(air_rate.expected_us(1500, aggregated), expected, "{mbps} Mb/s");
        }
    }
}
