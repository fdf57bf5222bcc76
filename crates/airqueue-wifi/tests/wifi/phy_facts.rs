//! The parameters of a layer for formulas outside the engine, against the engine's durations.

use crate::layers::{ghz_2_4, mbps, standard, us};
use airqueue_core::Span;
use airqueue_wifi::phy::{
    Ampdu, Band, Capability, Conventions, Format, FrameChoices, Phy, PhyError, Preamble, RateIndex,
    Slot, Width, dsss, equal_mpdus_bytes, he, he_with,
};
use proptest::prelude::*;
use std::sync::LazyLock;

const MOST: Capability = Capability { width: Width::MHZ_160, streams: 8 };

/// All modes of all layers.
static ALL: LazyLock<Vec<Phy>> = LazyLock::new(|| {
    let narrow = Capability { width: Width::MHZ_40, ..MOST };
    vec![
        dsss(Preamble::Short, Conventions::STANDARD),
        dsss(Preamble::Long, Conventions::NS2),
        he(Band::Ghz5, MOST, Conventions::STANDARD).unwrap(),
        he(ghz_2_4(Slot::Short), narrow, Conventions::STANDARD).unwrap(),
    ]
});

/// The formula in the comment of `Symbols`, in fractions of a bit of which each symbol has a whole number: ns-2's
/// nanosecond at 5.5 Mb/s has 11/2000 bits, which no float represents.
fn by_formula(phy: &Phy, index: RateIndex, bytes: f64) -> Span {
    let symbols = phy.symbols(index);
    let parts = 2_000.0;
    let of_symbol = (parts * symbols.bits).round();
    let count = (parts * (symbols.extra_bits + 8.0 * bytes) / of_symbol).ceil();
    let [symbol, boundary] =
        [symbols.duration, symbols.boundary].map(|span| span.as_nanos() as f64);
    let on_air = (count * symbol / boundary).ceil() * boundary;
    phy.preamble(index) + phy.signal_extension(index) + Span::from_nanos(on_air as i64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn symbols_are_those_of_the_durations(bytes in 1u32..100_000, eighths in 0u32..8) {
        for phy in ALL.iter() {
            for (index, rate) in phy.rates() {
                let whole = phy.airtime(index, bytes);
                prop_assert_eq!(whole, by_formula(phy, index, bytes.into()), "{}", rate);
                prop_assert_eq!(phy.airtime_of_fraction(index, bytes.into()), whole);
                // A fraction of a byte counts as whole bits.
                let part = f64::from(bytes) + f64::from(eighths) / 8.0;
                let found = phy.airtime_of_fraction(index, part);
                prop_assert_eq!(found, by_formula(phy, index, part), "{}", rate);
                prop_assert!(whole <= found && found <= phy.airtime(index, bytes + 1));
            }
        }
    }

    #[test]
    fn equal_mpdus_are_as_long_as_one_after_the_other(mpdus in 1u32..300, bytes in 1u32..12_000) {
        let one_by_one = (0..mpdus).fold(Ampdu::default(), |ampdu, _| ampdu.with(bytes, 0).unwrap());
        let closed = equal_mpdus_bytes(mpdus.into(), bytes.into());
        prop_assert_eq!(closed, u64::from(one_by_one.bytes()));
    }
}

#[test]
fn no_number_of_bytes_is_too_odd() {
    assert_eq!(equal_mpdus_bytes(0, 1_500), 0);
    assert_eq!(equal_mpdus_bytes(u64::MAX, u64::MAX), u64::MAX);
    let phy = standard("b-long");
    let (slowest, _) = phy.rates().next().unwrap();
    let of = |bytes| phy.airtime_of_fraction(slowest, bytes);
    assert_eq!([of(-1.0), of(0.0), of(1e-9)], [us(192), us(192), us(193)]);
    assert_eq!(of(1e300), phy.airtime(slowest, u32::MAX));
    assert_eq!(of(f64::NAN), of(1e300));
}

#[test]
fn rates_are_those_of_the_table_to_the_bit() {
    for phy in ALL.iter() {
        for (index, rate) in phy.rates() {
            let difference = phy.bits_per_second(index) - rate.as_bps() as f64;
            assert!(difference.abs() <= 0.5, "{rate}");
            // Where a symbol has a whole number of bits, bits over duration is the rate.
            let symbols = phy.symbols(index);
            let of_symbols = symbols.bits / symbols.duration.as_secs_f64();
            assert!(of_symbols <= phy.bits_per_second(index) * (1.0 + 1e-12), "{rate}");
            assert_eq!(phy.is_control(index), phy.mcs(index).is_none());
        }
    }
}

#[test]
fn other_access_timing() {
    let basic = [mbps("1")];
    let phy = standard("b-long").with_basic_rates(&basic).unwrap();
    let slower = phy.clone().with_access(us(50), us(28), 8, 64);
    assert_eq!((slower.slot(), slower.sifs(), slower.difs()), (us(50), us(28), us(128)));
    assert_eq!((slower.w_min(), slower.w_max()), (8, 64));
    // EIFS is SIFS, ACK and DIFS.
    assert_eq!(slower.eifs() - phy.eifs(), us(28 - 10 + 128 - 50));
    assert_eq!(slower.basic_rates(), basic);
    let fastest = slower.rate_index(mbps("11")).unwrap();
    assert_eq!(slower.rate(slower.response_rate(fastest)), mbps("1"));
    assert_eq!(slower.response_timeout(fastest), us(28 + 50 + 192));
    let fixed = standard("a").with_control_rate(mbps("24")).unwrap();
    assert_eq!(fixed.with_access(us(9), us(16), 16, 1024).basic_rates(), [mbps("24")]);
}

#[test]
fn training_and_extensions_of_he() {
    let of = |format| he_with(format, Band::Ghz5, MOST, Conventions::STANDARD);
    let plain = of(FrameChoices::default()).unwrap();
    let quadruple = Format::He.ltfs()[1];
    for &extension in Format::He.packet_extensions() {
        let format = FrameChoices { ltf: Some(quadruple), packet_extension: extension };
        let longer = of(format).unwrap();
        for (index, _) in plain.rates() {
            let Some(mcs) = plain.mcs(index).filter(|mcs| mcs.format == Format::He) else {
                assert_eq!(longer.airtime(index, 1_500), plain.airtime(index, 1_500));
                continue;
            };
            // 6.4 µs more for each training field, unless 12.8 µs are mandatory.
            let fields = [1, 2, 4, 4, 6, 6, 8, 8][usize::from(mcs.streams) - 1];
            let more = if mcs.guard.duration() == Span::from_nanos(3_200) { 0 } else { 6_400 };
            let expected = Span::from_nanos(fields * more) + extension;
            assert_eq!(longer.airtime(index, 1_500) - plain.airtime(index, 1_500), expected);
        }
    }
    let ltf = us(3);
    let refused = of(FrameChoices { ltf: Some(ltf), ..FrameChoices::default() });
    assert_eq!(refused.unwrap_err(), PhyError::Ltf { format: Format::He, ltf });
    let extension = us(5);
    let refused = of(FrameChoices { packet_extension: extension, ..FrameChoices::default() });
    let refused = refused.unwrap_err();
    assert_eq!(refused, PhyError::PacketExtension { format: Format::He, extension });
    assert_eq!(refused.to_string(), "a packet extension lasts 0, 4, 8, 12 or 16 us; found 5 us");
}

#[test]
fn the_widest_channels_of_a_band() {
    let at_2_4 = ghz_2_4(Slot::Short);
    let both = |format| (Band::Ghz5.widest(format), at_2_4.widest(format));
    assert_eq!(both(Format::Ht), (Some(Width::MHZ_40), Some(Width::MHZ_40)));
    assert_eq!(both(Format::Vht), (Some(Width::MHZ_160), None));
    assert_eq!(both(Format::He), (Some(Width::MHZ_160), Some(Width::MHZ_40)));
}

#[test]
fn basic_rates_are_those_of_the_standard_or_the_network() {
    let rates = |phy: &Phy| phy.basic_rates().iter().map(|rate| rate.as_bps()).collect::<Vec<_>>();
    assert_eq!(rates(&standard("b-short")), [1_000_000, 2_000_000]);
    assert_eq!(rates(&standard("g")), [6_000_000, 12_000_000, 24_000_000]);
}
