//! A-MPDUs: against subframes laid end to end in a list of bytes, the limits one by one, and the
//! throughput of a single station from the tables in `tests/models/data`.

use crate::layers::{Later, ghz_2_4, us};
use airqueue_core::Span;
use airqueue_wifi::phy::{
    Ampdu, AmpduLimits, Band, Capability, Conventions, Format, GuardInterval, Mcs, Phy, RateIndex,
    Response, Slot, Width, he, vht,
};
use proptest::prelude::*;
use std::iter::{repeat, repeat_n};

const SINGLE: &str = include_str!("../../../../tests/models/data/single_station.csv");

/// Length of a PSDU, counted word by word: delimiters and MPDUs in words of 4 bytes.
fn written(mpdus: &[u32], apart_bytes: usize) -> usize {
    let mut psdu = Vec::new();
    let mut last = None;
    for &mpdu in mpdus {
        while psdu.len() % 4 != 0 {
            psdu.push(0);
        }
        while last.is_some_and(|last| psdu.len() < last + apart_bytes) {
            psdu.extend([0; 4]);
        }
        last = Some(psdu.len());
        psdu.extend([1; 4]);
        psdu.extend(repeat_n(2, mpdu as usize));
    }
    psdu.len()
}

fn ac() -> (Phy, RateIndex) {
    let most = Capability { width: Width::MHZ_80, streams: 2 };
    let phy = vht(most, Conventions::STANDARD).unwrap();
    let guard = GuardInterval::Ns400;
    let mcs = Mcs { format: Format::Vht, index: 9, streams: 2, width: Width::MHZ_80, guard };
    let index = phy.mcs_index(mcs).unwrap();
    (phy, index)
}

proptest! {
    #[test]
    fn lengths(mpdus in prop::collection::vec(1u32..4_000, 1..40), apart in 0u32..3_000) {
        let mut ampdu = Ampdu::default();
        for (at, &mpdu) in mpdus.iter().enumerate() {
            ampdu = ampdu.with(mpdu, apart).unwrap();
            prop_assert_eq!(ampdu.bytes() as usize, written(&mpdus[..=at], apart as usize));
            prop_assert_eq!(ampdu.mpdus() as usize, at + 1);
        }
    }

    /// The A-MPDU keeps all limits, and one more MPDU would exceed one.
    #[test]
    fn as_many_as_fit(
        mpdus in prop::collection::vec(30u32..11_454, 0..100),
        window in 0u32..80,
        bytes in 0u32..1_048_575,
        us_limit in 0i64..6_000,
        spacing_us in prop::sample::select(vec![0, 1, 4, 16]),
    ) {
        let (phy, index) = ac();
        let limits = AmpduLimits {
            mpdus: window,
            bytes,
            duration: us(us_limit),
            start_spacing: us(spacing_us),
        };
        // 866.7 Mb/s, rounded up to whole bytes.
        let apart = (spacing_us as f64 * 866_666_667.0 / 8e6).ceil() as usize;
        let found = phy.fill(index, &limits, mpdus.iter().copied());
        let allowed = |count: usize| {
            let length = written(&mpdus[..count], apart) as u32;
            count as u32 <= window
                && length <= bytes
                && phy.airtime(index, length) <= limits.duration
        };
        let count = found.mpdus() as usize;
        if count > 0 {
            prop_assert!(allowed(count));
            prop_assert_eq!(found.bytes() as usize, written(&mpdus[..count], apart));
        } else {
            prop_assert_eq!(found, Ampdu::default());
        }
        prop_assert!(count == mpdus.len() || !allowed(count + 1));
    }
}

#[test]
fn limits_of_the_standard() {
    let (phy, index) = ac();
    let ht20 = Mcs {
        format: Format::Ht,
        index: 7,
        streams: 1,
        width: Width::MHZ_20,
        guard: GuardInterval::Ns800,
    };
    let n = phy.ampdu_limits(phy.mcs_index(ht20).unwrap()).unwrap();
    assert_eq!((n.mpdus, n.bytes, n.duration), (64, 65_535, us(5_484)));
    let ac = phy.ampdu_limits(index).unwrap();
    assert_eq!((ac.mpdus, ac.bytes, ac.duration), (64, 1_048_575, us(5_484)));
    assert_eq!(ac.start_spacing, Span::ZERO);
    let most = Capability { width: Width::MHZ_40, streams: 1 };
    let he20 = Mcs { format: Format::He, ..ht20 };
    for (band, bytes) in [(Band::Ghz5, 6_500_631), (ghz_2_4(Slot::Short), 524_287)] {
        let ax = he(band, most, Conventions::STANDARD).unwrap();
        let limits = ax.ampdu_limits(ax.mcs_index(he20).unwrap()).unwrap();
        assert_eq!((limits.mpdus, limits.bytes), (256, bytes));
    }
    assert_eq!(ac.within(us(3_008)).duration, us(3_008));
    assert_eq!(ac.within(us(9_000)).duration, us(5_484));
    assert_eq!((ac.window(16).mpdus, ac.window(256).mpdus), (16, 64));
    // One MPDU: with a delimiter in VHT, without in HT.
    let single = |mcs: Mcs| phy.single_psdu_bytes(phy.mcs_index(mcs).unwrap(), 1538);
    assert_eq!((single(ht20), phy.single_psdu_bytes(index, 1538)), (1538, 1542));
    assert_eq!(phy.single_psdu_bytes(phy.rates().next().unwrap().0, 1536), 1536);
    assert_eq!(phy.max_mpdu_bytes(index), 11_454);
    assert_eq!(phy.max_mpdu_bytes(phy.mcs_index(ht20).unwrap()), 4_095);
}

/// Cases in which each limit decides: duration, bytes, window.
#[test]
fn which_limit_counts() {
    let n = Later::named("n", Conventions::STANDARD).unwrap();
    let fill = |layer: &Later, rate: &str| {
        let index = layer.at(rate);
        layer.phy.fill(index, &layer.phy.ampdu_limits(index).unwrap(), repeat(1538)).mpdus()
    };
    // 5448 us of symbols at 65 Mb/s, 260 bits each, hold 44 262 bytes: 28 MPDUs of 1544.
    assert_eq!(fill(&n, "65"), 28);
    // At 300 Mb/s 65 535 bytes: 42.
    let n = Later::named("n-40mhz-2ss-sgi", Conventions::STANDARD).unwrap();
    assert_eq!(fill(&n, "300"), 42);
    let (phy, index) = ac();
    assert_eq!(phy.fill(index, &phy.ampdu_limits(index).unwrap(), repeat(1538)).mpdus(), 64);
}

#[test]
fn nothing_overflows() {
    let (phy, index) = ac();
    let mut limits = phy.ampdu_limits(index).unwrap();
    assert_eq!(phy.fill(index, &limits, [u32::MAX]), Ampdu::default());
    limits.bytes = u32::MAX;
    limits.duration = Span::from_secs(1_000_000);
    limits.start_spacing = Span::from_secs(1_000_000);
    assert_eq!(phy.fill(index, &limits, [u32::MAX - 4, 1]).mpdus(), 1);
    limits.duration = Span::from_nanos(-1);
    assert_eq!(phy.fill(index, &limits, [1]), Ampdu::default());
}

/// AIFS of best effort, mean backoff, A-MPDU, SIFS, block ack: the throughput of one station, with the table that also
/// tests the models.
#[test]
fn a_single_station() {
    let mut seen = 0;
    for row in SINGLE.lines().skip(1) {
        let row: Vec<&str> = row.split(',').collect();
        let Some(layer) = Later::named(row[0], Conventions::STANDARD) else { continue };
        let (phy, index) = (&layer.phy, layer.at(row[1]));
        let mpdus: u32 = row[5].parse().unwrap();
        let limits = phy.ampdu_limits(index).unwrap().window(mpdus);
        let ampdu = phy.fill(index, &limits, repeat(1538));
        assert_eq!(ampdu.mpdus(), mpdus, "{row:?}");
        let backoff = Span::from_nanos(phy.slot().as_nanos() * i64::from(phy.w_min() - 1) / 2);
        let response = phy.sifs() + phy.response(index, Response::BlockAck);
        let total = phy.aifs(3) + backoff + phy.airtime(index, ampdu.bytes()) + response;
        let throughput_mbps = f64::from(mpdus) * 12e6 / total.as_nanos() as f64;
        let expected: f64 = row[6].parse().unwrap();
        assert!((throughput_mbps - expected).abs() <= 0.05, "{row:?}: {throughput_mbps}");
        seen += 1;
    }
    assert_eq!(seen, 4);
}
