//! Cost of computing the duration of a frame, with and without a division, and the length of an A-MPDU.
//!
//! `cargo bench -p airqueue-wifi --bench phy`; the items are frames.

use airqueue_wifi::phy::{
    Band, Capability, Conventions, Phy, Preamble, RateIndex, Slot, Width, dsss, erp, he,
};
use divan::counter::ItemsCount;
use std::hint::black_box;

fn main() {
    divan::main();
}

/// Rates and sizes without a pattern that a branch predictor could learn.
fn frames(phy: &Phy) -> Vec<(RateIndex, u32)> {
    let rates: Vec<RateIndex> = phy.rates().map(|(index, _)| index).collect();
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize
    };
    (0..10_000).map(|_| (rates[next() % rates.len()], 40 + (next() % 1_500) as u32)).collect()
}

const LAYERS: [&str; 4] = ["b", "b as ns-2", "g", "ax"];

fn layer(name: &str) -> Phy {
    match name {
        "b" => dsss(Preamble::Long, Conventions::STANDARD),
        "b as ns-2" => dsss(Preamble::Long, Conventions::NS2),
        "g" => erp(Slot::Short, Preamble::Short, Conventions::STANDARD),
        _ => ax(),
    }
}

fn ax() -> Phy {
    let most = Capability { width: Width::MHZ_80, streams: 2 };
    he(Band::Ghz5, most, Conventions::STANDARD).expect("a layer")
}

/// MPDUs of packets of 1500 bytes, at the last rate, which is fast enough for any number of MPDUs.
#[divan::bench(args = [1, 16, 64, 256])]
fn fill(bencher: divan::Bencher, mpdus: u32) {
    let phy = ax();
    let (rate, _) = phy.rates().last().expect("rates");
    let limits = phy.ampdu_limits(rate).expect("of 802.11ax").window(mpdus);
    let lengths = vec![1_538; 256];
    bencher.bench_local(|| {
        let ampdu = phy.fill(black_box(rate), &limits, black_box(&lengths).iter().copied());
        assert_eq!(ampdu.mpdus(), mpdus);
        ampdu
    });
}

#[divan::bench(args = LAYERS)]
fn airtime(bencher: divan::Bencher, name: &str) {
    let phy = layer(name);
    let frames = frames(&phy);
    bencher.counter(ItemsCount::new(frames.len())).bench_local(|| {
        let durations = frames.iter().map(|&(rate, bytes)| phy.airtime(rate, bytes).as_nanos());
        black_box(durations.fold(0, |sum, ns| black_box(sum + ns)))
    });
}

/// Bits over rate alone, which is less than a frame's duration, with a division.
#[divan::bench(args = LAYERS)]
fn bits_over_rate(bencher: divan::Bencher, name: &str) {
    let phy = layer(name);
    let frames = frames(&phy);
    bencher.counter(ItemsCount::new(frames.len())).bench_local(|| {
        let durations =
            frames.iter().map(|&(rate, bytes)| phy.rate(rate).time_for(bytes).as_nanos());
        black_box(durations.fold(0, |sum, ns| black_box(sum + ns)))
    });
}
