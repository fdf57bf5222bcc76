//! 802.11n, ac and ax: every worked number of the tables in `tests/models/data`, ns-3's durations, the standard's
//! formulas counted bit by bit, and schemes that do not exist.

use crate::layers::{Later, NAMES, at, ghz_2_4, made, mbps, mhz, print, standard, us};
use airqueue_core::Span;
use airqueue_wifi::phy::frames::{BLOCK_ACK_256_BYTES, BLOCK_ACK_BYTES, BLOCK_ACK_REQUEST_BYTES};
use airqueue_wifi::phy::{
    AccessCategory, Band, Capability, Conventions, EdcaEdition, EdcaRole, Format, GuardInterval,
    Mcs, ModulationClass, Phy, RateIndex, Response, Slot, Width, edca_defaults, he, ht, ofdm, vht,
};
use proptest::prelude::*;
use std::collections::HashMap;

const AIRTIME: &str = include_str!("../../../../tests/models/data/airtime.csv");
const CONSTANTS: &str = include_str!("../../../../tests/models/data/phy_constants.csv");
const RATES: &str = include_str!("../../../../tests/models/data/rates.csv");
const EDCA: &str = include_str!("../../../../tests/models/data/edca_defaults.csv");
const NS3: &str = include_str!("../data/ns3_durations.csv");

const ALL: Capability = Capability { width: Width::MHZ_160, streams: 8 };

fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let rows = table.lines().filter(|line| !line.starts_with('#')).skip(1);
    rows.map(|row| row.split(',').collect())
}

/// Exactly the published rates.
#[test]
fn published_rates() {
    let mut seen = 0;
    for row in rows(RATES) {
        let Some(layer) = Later::named(row[0], Conventions::STANDARD) else { continue };
        let rates = layer.schemes().into_iter().map(|index| print(layer.phy.rate(index)));
        assert_eq!(rates.collect::<Vec<_>>().join(" "), row[1], "{}", row[0]);
        seen += 1;
    }
    assert_eq!(seen, rows(RATES).filter(|row| !NAMES.contains(&row[0])).count());
}

#[test]
fn durations() {
    let mut seen = 0;
    for row in rows(AIRTIME) {
        let Some(layer) = Later::named(row[0], Conventions::STANDARD) else { continue };
        let bytes = row[2].parse().unwrap();
        let index = if row[1] == "data" { layer.at(row[3]) } else { at(&layer.phy, row[3]) };
        assert_eq!(layer.phy.airtime(index, bytes), us(row[4].parse().unwrap()), "{row:?}");
        seen += 1;
    }
    assert_eq!(seen, rows(AIRTIME).filter(|row| !NAMES.contains(&row[0])).count());
}

#[test]
fn constants() {
    let mut seen = 0;
    for row in rows(CONSTANTS) {
        let Some(Later { phy, shape }) = Later::named(row[0], Conventions::STANDARD) else {
            continue;
        };
        let cell = |at: usize| us(row[at].parse().unwrap());
        assert_eq!((phy.slot(), phy.sifs(), phy.difs()), (cell(1), cell(2), cell(3)));
        let windows = (phy.w_min().to_string(), phy.w_max().to_string());
        assert_eq!((windows.0.as_str(), windows.1.as_str()), (row[4], row[5]));
        let index = phy.mcs_index(shape).unwrap();
        let around = phy.preamble(index) + phy.signal_extension(index);
        let expected = (row[6].parse::<f64>().unwrap() * 1e3).round() as i64;
        assert_eq!(around, Span::from_nanos(expected), "{row:?}");
        seen += 1;
    }
    assert_eq!(seen, rows(CONSTANTS).filter(|row| !NAMES.contains(&row[0])).count());
}

#[test]
fn edca() {
    let layer = Later::named("ax", Conventions::STANDARD).unwrap();
    let found = edca_defaults(&layer.phy, EdcaEdition::Ieee2016, EdcaRole::Station);
    let mut seen = 0;
    for row in rows(EDCA).filter(|row| row[0] == "ax") {
        let place = ["BK", "BE", "VI", "VO"].iter().position(|name| *name == row[2]).unwrap();
        let found = found[AccessCategory::ALL[place].index()];
        let cell = |at: usize| row[at].parse::<u32>().unwrap();
        let windows = (found.w_min - 1, found.w_max - 1);
        assert_eq!((found.aifsn, windows), (cell(3), (cell(5), cell(6))), "{row:?}");
        let txop_us = (row[7].parse::<f64>().unwrap() * 1e3).round() as i64;
        assert_eq!(found.txop, us(txop_us), "{row:?}");
        seen += 1;
    }
    assert_eq!(seen, 4);
}

/// The scheme and the band of a row of ns-3's table.
fn ns3_scheme(row: &[&str]) -> (Mcs, Band) {
    let mut formats = Format::ALL.iter().copied();
    let format = formats.find(|format| format.to_string() == row[0]).unwrap();
    let mut guards = GuardInterval::ALL.into_iter();
    let guard_ns: i64 = row[5].parse().unwrap();
    let mcs = Mcs {
        format,
        index: row[2].parse().unwrap(),
        streams: row[3].parse().unwrap(),
        width: mhz(row[4]),
        guard: guards.find(|guard| guard.duration().as_nanos() == guard_ns).unwrap(),
    };
    (mcs, if row[1] == "5" { Band::Ghz5 } else { ghz_2_4(Slot::Short) })
}

/// Under ns-3's conventions durations equal those of ns-3, to the nanosecond: at the size of a packet of 1500 bytes,
/// and on both sides of the size at which a frame begins another symbol.
#[test]
fn durations_of_ns3() {
    let mut layers: HashMap<(Format, bool), Phy> = HashMap::new();
    let mut seen = 0;
    for row in rows(NS3) {
        let (mcs, band) = ns3_scheme(&row);
        let phy = layers.entry((mcs.format, band == Band::Ghz5)).or_insert_with(|| {
            let (width, streams) = (mcs.format.widest(), mcs.format.most_streams());
            let width = if band == Band::Ghz5 { width } else { Width::MHZ_40 };
            made(Mcs { width, streams, ..mcs }, band, Conventions::NS3)
        });
        let index = phy.mcs_index(mcs).unwrap();
        let ns = |bytes| phy.airtime(index, bytes).as_nanos().to_string();
        let step: u32 = row[7].parse().unwrap();
        assert_eq!([ns(1538), ns(step - 1), ns(step)], [row[6], row[8], row[9]], "{row:?}");
        seen += 1;
    }
    assert!(seen > 900, "{seen}");
}

/// The differences of the standard's durations: the end of a long symbol, VHT-SIG-B and HE's training fields. The
/// number of symbols is equal, except where an HE symbol does not have a whole number of bits, which the standard
/// rounds down.
#[test]
fn the_standard_beside_ns3() {
    let mut longer = 0;
    for row in rows(NS3) {
        let (mcs, band) = ns3_scheme(&row);
        let (ours, ns3) =
            [Conventions::STANDARD, Conventions::NS3].map(|c| made(mcs, band, c)).into();
        let (at, at_ns3) = (ours.mcs_index(mcs).unwrap(), ns3.mcs_index(mcs).unwrap());
        let sig_b = us(if mcs.format == Format::Vht { 4 } else { 0 });
        let fields = [1, 2, 4, 4, 6, 6, 8, 8][usize::from(mcs.streams) - 1];
        let training = match (mcs.format, mcs.guard) {
            (Format::He, GuardInterval::Ns800) => -800 * fields,
            (Format::He, GuardInterval::Ns3200) => 8_000 * fields,
            _ => 0,
        };
        let preamble = ours.preamble(at) - ns3.preamble(at_ns3);
        assert_eq!(preamble, sig_b + Span::from_nanos(training), "{row:?}");
        let step: u32 = row[7].parse().unwrap();
        for bytes in [1538, step - 1, step] {
            let data = (ours.airtime(at, bytes) - ours.preamble(at)).as_nanos();
            let data_ns3 = (ns3.airtime(at_ns3, bytes) - ns3.preamble(at_ns3)).as_nanos();
            let more = data - data_ns3;
            if mcs.guard == GuardInterval::Ns400 {
                assert!((0..4_000).contains(&more), "{row:?}");
                assert_eq!((data - ours.signal_extension(at).as_nanos()) % 4_000, 0, "{row:?}");
            } else if more > 0 {
                assert_eq!(
                    (more, mcs.format),
                    (12_800 + mcs.guard.duration().as_nanos(), Format::He)
                );
                let (_, coded) = bits(mcs);
                assert_ne!(coded * 5 % 6, 0, "{row:?}");
                longer += 1;
            } else {
                assert_eq!(more, 0, "{row:?}");
            }
        }
    }
    assert!(longer > 0, "a lost fraction of a bit shows somewhere");
}

/// Number of data subcarriers by width.
fn carriers(mcs: Mcs) -> u64 {
    let all = match mcs.format {
        Format::He => [234, 468, 980, 1960],
        _ => [52, 108, 234, 468],
    };
    all[usize::from(mcs.width.doublings())]
}

/// Data bits and coded bits of a symbol.
fn bits(mcs: Mcs) -> (u64, u64) {
    let schemes: [(u64, u64, u64); 12] = [
        (1, 1, 2),
        (2, 1, 2),
        (2, 3, 4),
        (4, 1, 2),
        (4, 3, 4),
        (6, 2, 3),
        (6, 3, 4),
        (6, 5, 6),
        (8, 3, 4),
        (8, 5, 6),
        (10, 3, 4),
        (10, 5, 6),
    ];
    let (carried, up, down) = schemes[usize::from(mcs.index)];
    let coded = carriers(mcs) * carried * u64::from(mcs.streams);
    (coded * up / down, coded)
}

/// TXTIME of the standard, in ns, by filling symbols with bits until none is left.
fn by_hand(mcs: Mcs, extension: i64, bytes: u64) -> i64 {
    let (capacity, _) = bits(mcs);
    // Tables 19-27 to 19-38: two encoders above 300 Mb/s at the long guard interval. Those of VHT beyond
    // two streams are compared with ns-3 alone.
    let encoders = match mcs.format {
        Format::Ht => 1 + u64::from(capacity * 10 > 3_000 * 4),
        Format::Vht => capacity.div_ceil(540 * 4),
        _ => 1,
    };
    let mut left = 16 + 8 * bytes + 6 * encoders;
    let mut symbols = 0;
    while left > 0 {
        left = left.saturating_sub(capacity);
        symbols += 1;
    }
    let training = [1, 2, 4, 4, 6, 6, 8, 8][usize::from(mcs.streams) - 1];
    let guard = mcs.guard.duration().as_nanos();
    let legacy = 8_000 + 8_000 + 4_000;
    let (head, mut data) = match mcs.format {
        Format::Ht => (legacy + 8_000 + 4_000 + 4_000 * training, symbols * (3_200 + guard)),
        Format::Vht => {
            (legacy + 8_000 + 4_000 + 4_000 * training + 4_000, symbols * (3_200 + guard))
        }
        _ => {
            let field = if guard == 3_200 { 12_800 } else { 6_400 } + guard;
            (legacy + 4_000 + 8_000 + 4_000 + field * training, symbols * (12_800 + guard))
        }
    };
    while mcs.format != Format::He && data % 4_000 != 0 {
        data += 400;
    }
    head + data + extension
}

fn any_mcs() -> impl Strategy<Value = Mcs> {
    let formats = prop::sample::select(vec![Format::Ht, Format::Vht, Format::He]);
    (formats, 0u8..12, 1u8..=8, 0usize..4, 0usize..3).prop_map(
        |(format, index, streams, width, guard)| Mcs {
            format,
            index: index % (format.highest_index() + 1),
            streams: 1 + (streams - 1) % format.most_streams(),
            width: Width::ALL[width].min(format.widest()),
            guard: format.guards()[guard % format.guards().len()],
        },
    )
}

proptest! {
    #[test]
    fn durations_by_hand(mcs in any_mcs(), at_2_4: bool, bytes in 1u32..70_000) {
        prop_assume!(mcs.check().is_ok());
        prop_assume!(mcs.format != Format::Vht || (mcs.streams <= 2 && !at_2_4));
        prop_assume!(!at_2_4 || mcs.width <= Width::MHZ_40);
        let band = if at_2_4 { ghz_2_4(Slot::Short) } else { Band::Ghz5 };
        let phy = made(mcs, band, Conventions::STANDARD);
        let index = phy.mcs_index(mcs).unwrap();
        let extension = if at_2_4 { 6_000 } else { 0 };
        prop_assert_eq!(phy.airtime(index, bytes).as_nanos(), by_hand(mcs, extension, bytes.into()));
    }

    /// `most_bytes` is the largest number of bytes that lasts no longer than a time.
    #[test]
    fn most_bytes_is_the_inverse(mcs in any_mcs(), ns in 0i64..12_000_000, ns3: bool) {
        prop_assume!(mcs.check().is_ok());
        let conventions = if ns3 { Conventions::NS3 } else { Conventions::STANDARD };
        let phy = made(mcs, Band::Ghz5, conventions);
        let (index, limit) = (phy.mcs_index(mcs).unwrap(), Span::from_nanos(ns));
        match phy.most_bytes(index, limit) {
            None => prop_assert!(phy.airtime(index, 0) > limit),
            Some(most) => {
                prop_assert!(phy.airtime(index, most) <= limit);
                prop_assert!(phy.airtime(index, most + 1) > limit);
            }
        }
    }
}

/// The bits of a symbol are divided among the encoders, and into blocks of the punctured code (IEEE 802.11-2016, 21.5).
/// The schemes missing in the tables are exactly those for which this is impossible.
#[test]
fn what_vht_leaves_out() {
    let mut left_out = Vec::new();
    for &width in Width::ALL.iter().filter(|width| **width <= Format::Vht.widest()) {
        for streams in 1..=8 {
            for index in 0..10 {
                let guard = GuardInterval::Ns800;
                let mcs = Mcs { format: Format::Vht, index, streams, width, guard };
                if let Err(error) = mcs.check() {
                    assert!(error.to_string().contains("leaves out"), "{error}");
                    left_out.push((width.mhz(), index, streams));
                }
            }
        }
    }
    let mcs_9_at_20 = [1, 2, 4, 5, 7, 8].map(|streams| (20, 9, streams));
    let others = [(80, 6, 3), (80, 9, 6), (80, 6, 7), (160, 9, 3)];
    let expected: Vec<_> = mcs_9_at_20.into_iter().chain(others).collect();
    assert_eq!(left_out, expected);
}

#[test]
fn responses() {
    let phy = vht(ALL, Conventions::STANDARD).unwrap();
    let scheme = |format, index| {
        let guard = GuardInterval::Ns800;
        phy.mcs_index(Mcs { format, index, streams: 1, width: Width::MHZ_40, guard }).unwrap()
    };
    // Non-HT reference rates, table 10-8, with the basic rates 6, 12 and 24 Mb/s.
    for (index, mbps) in [(0, 6), (1, 12), (2, 12), (3, 24), (4, 24), (5, 24), (6, 24), (7, 24)] {
        for format in [Format::Ht, Format::Vht] {
            let response = phy.response_rate(scheme(format, index));
            assert_eq!(phy.rate(response).as_bps(), mbps * 1_000_000, "{index}");
            assert_eq!(phy.class(response), ModulationClass::Ofdm);
        }
    }
    assert_eq!(print(phy.rate(phy.response_rate(scheme(Format::Vht, 9)))), "24");
    let fast = scheme(Format::Vht, 9);
    let high = phy.clone().with_basic_rates(&[mbps("6"), mbps("54")]).unwrap();
    assert_eq!(print(high.rate(high.response_rate(fast))), "54");
    assert_eq!(print(high.rate(high.response_rate(scheme(Format::Vht, 5)))), "6");

    assert_eq!((BLOCK_ACK_REQUEST_BYTES, BLOCK_ACK_BYTES, BLOCK_ACK_256_BYTES), (24, 32, 56));
    assert_eq!(
        (Response::to_window(64), Response::to_window(65)),
        (Response::BlockAck, Response::BlockAck256)
    );
    let responses = [Response::Ack, Response::BlockAck, Response::BlockAck256];
    // 24 Mb/s carry 96 bits in 4 us; 22 bits are around the frame.
    let expected = [134usize, 278, 470].map(|bits| us(20 + 4 * bits.div_ceil(96) as i64));
    assert_eq!(responses.map(|response| phy.response(fast, response)), expected);
    assert_eq!(phy.response_nav(fast, Response::BlockAck), us(16 + 32));
    assert_eq!(phy.response_nav(fast, Response::Ack), us(16 + 28));
    assert_eq!(phy.response_timeout(fast), us(16 + 9 + 20));
}

/// At 2.4 GHz a response has the signal extension, and DSSS is answered in DSSS.
#[test]
fn responses_at_2_4_ghz() {
    let most = Capability { width: Width::MHZ_40, streams: 2 };
    let phy = he(ghz_2_4(Slot::Short), most, Conventions::STANDARD).unwrap();
    let g = standard("g");
    for (index, rate) in g.rates() {
        let here = phy.rate_index(rate).unwrap();
        assert_eq!(phy.airtime(here, 1536), g.airtime(index, 1536));
        assert_eq!(phy.rate(phy.response_rate(here)), g.rate(g.response_rate(index)));
    }
    let guard = GuardInterval::Ns800;
    let mcs = Mcs { format: Format::He, index: 4, streams: 2, width: Width::MHZ_40, guard };
    let index = phy.mcs_index(mcs).unwrap();
    assert_eq!(phy.response(index, Response::BlockAck), us(32 + 6));
    assert_eq!(phy.response_nav(index, Response::BlockAck), us(10 + 32 + 6));
    assert!(phy.rates().all(|(index, _)| phy.class(index) != ModulationClass::Format(Format::Vht)));
}

/// A new layer has the old rates at equal indices, and the access timing of the old layer.
#[test]
fn old_rates_are_unchanged() {
    let old = ofdm(Conventions::STANDARD);
    for phy in [
        ht(Band::Ghz5, Capability { width: Width::MHZ_40, streams: 4 }, Conventions::STANDARD),
        vht(ALL, Conventions::STANDARD),
        he(Band::Ghz5, ALL, Conventions::STANDARD),
    ] {
        let phy = phy.unwrap();
        assert_eq!((phy.eifs(), phy.difs(), phy.slot()), (old.eifs(), old.difs(), old.slot()));
        let all: Vec<(RateIndex, _)> = phy.rates().take(8).collect();
        assert_eq!(all, old.rates().collect::<Vec<_>>());
        for (index, _) in all {
            assert_eq!(phy.airtime(index, 1536), old.airtime(index, 1536));
            assert_eq!(phy.response_rate(index), old.response_rate(index));
            assert_eq!((phy.mcs(index), phy.ampdu_limits(index)), (None, None));
            assert!(!phy.class(index).is_ht_or_later());
        }
        assert!(phy.rates().skip(8).all(|(index, _)| phy.class(index).is_ht_or_later()));
        for (index, _) in phy.rates().skip(8) {
            assert_eq!(phy.mcs_index(phy.mcs(index).unwrap()), Ok(index));
        }
    }
    // 8 + (HT: 8 schemes, 4 streams, 2 widths, 2 guard intervals) + VHT without its missing schemes + HE.
    let ax = he(Band::Ghz5, ALL, Conventions::STANDARD).unwrap();
    assert_eq!(ax.rates().len(), 8 + 128 + (640 - 2 * 10) + 1152);
}

#[test]
fn schemes_that_do_not_exist_are_refused() {
    let say = |result: Result<Phy, airqueue_wifi::PhyError>| result.unwrap_err().to_string();
    let width = Width::MHZ_80;
    assert_eq!(
        say(ht(Band::Ghz5, Capability { width, streams: 1 }, Conventions::STANDARD)),
        "the channels of 802.11n are at most 40 MHz wide here; found 80 MHz"
    );
    assert_eq!(
        say(vht(Capability { width, streams: 0 }, Conventions::STANDARD)),
        "802.11ac has from 1 to 8 spatial streams; found 0"
    );
    assert_eq!(
        say(he(ghz_2_4(Slot::Long), Capability { width, streams: 2 }, Conventions::STANDARD)),
        "the channels of 802.11ax are at most 40 MHz wide here; found 80 MHz"
    );
    let phy = vht(Capability { width, streams: 2 }, Conventions::STANDARD).unwrap();
    let guard = GuardInterval::Ns400;
    let mcs = Mcs { format: Format::Vht, index: 9, streams: 3, width, guard };
    assert_eq!(
        phy.mcs_index(mcs).unwrap_err().to_string(),
        "802.11ac as it is set up here has no VHT-MCS9-3SS-80MHz-0.4us; its fastest mode is \
         VHT-MCS9-2SS-80MHz-0.4us"
    );
    for wrong in [
        Mcs { index: 10, ..mcs },
        Mcs { streams: 9, ..mcs },
        Mcs { guard: GuardInterval::Ns1600, ..mcs },
        Mcs { format: Format::Ht, ..mcs },
        Mcs { streams: 0, ..mcs },
    ] {
        assert!(phy.mcs_index(wrong).is_err(), "{wrong:?}");
    }
    let ht15 = Mcs { format: Format::Ht, index: 7, streams: 2, width: Width::MHZ_40, guard };
    assert_eq!((ht15.to_string().as_str(), ht15.number()), ("HT-MCS15-40MHz-0.4us", 15));
}
