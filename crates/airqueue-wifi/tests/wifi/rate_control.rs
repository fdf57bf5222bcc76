//! Rate control on synthetic channels.

use crate::rate_channels::{Channel, Shares, by_snr, rates, span_db};
use airqueue_core::{Seed, Span, Time};
use airqueue_wifi::phy::{
    Band, Capability, Conventions, Phy, Preamble, RateIndex, Slot, Width, dsss, erp, he, ht, ofdm,
};
use airqueue_wifi::rate_control::{Arf, ArfRules, Minstrel, RateControl, ladder};
use proptest::prelude::*;

const STANDARD: Conventions = Conventions::STANDARD;

fn arf(phy: &Phy, rules: ArfRules) -> RateControl {
    RateControl::Arf(Arf::new(rules, ladder(phy, &rates(phy))))
}

fn minstrel(phy: &Phy, seed: u64) -> RateControl {
    let rng = Seed(seed).stream("rate_control");
    RateControl::Minstrel(Box::new(Minstrel::new(phy, &rates(phy), rng)))
}

fn n(streams: u8) -> Phy {
    ht(Band::Ghz5, Capability { width: Width::MHZ_20, streams }, STANDARD).unwrap()
}

fn send(control: &mut RateControl, results: &[bool]) {
    for &success in results {
        let rate = control.choose(0);
        control.report(rate, 1, u32::from(success), Time::ZERO);
    }
}

fn mbps(phy: &Phy, rate: RateIndex) -> u64 {
    phy.rate(rate).as_bps() / 1_000_000
}

#[test]
fn arf_climbs_after_ten_successes_and_falls_after_two_failures() {
    let phy = ofdm(STANDARD);
    let mut control = arf(&phy, ArfRules::ARF);
    assert_eq!(mbps(&phy, control.rate()), 6);
    send(&mut control, &[true; 9]);
    assert_eq!(mbps(&phy, control.rate()), 6);
    send(&mut control, &[true]);
    assert_eq!(mbps(&phy, control.rate()), 9);
    send(&mut control, &[true, false]);
    assert_eq!(mbps(&phy, control.rate()), 9);
    send(&mut control, &[false]);
    assert_eq!(mbps(&phy, control.rate()), 6);
    send(&mut control, &[false; 10]);
    assert_eq!(mbps(&phy, control.rate()), 6, "there is nothing below");
}

#[test]
fn arf_climbs_at_the_latest_after_fifteen_transmissions() {
    let phy = ofdm(STANDARD);
    let mut control = arf(&phy, ArfRules::ARF);
    send(&mut control, &[true, true, true, true, true, true, true, false].repeat(2)[..14]);
    assert_eq!(mbps(&phy, control.rate()), 6);
    send(&mut control, &[true]);
    assert_eq!(mbps(&phy, control.rate()), 9);
}

#[test]
fn a_step_up_whose_first_frame_is_lost_is_taken_back() {
    let phy = ofdm(STANDARD);
    let thresholds = |rules| {
        let mut control = arf(&phy, rules);
        let threshold = |control: &RateControl| match control {
            RateControl::Arf(arf) => arf.threshold(),
            other => panic!("{other:?} is ARF"),
        };
        let mut seen = Vec::new();
        for _ in 0..4 {
            let needed = threshold(&control) as usize;
            seen.push(needed);
            send(&mut control, &vec![true; needed]);
            assert_eq!(mbps(&phy, control.rate()), 9);
            send(&mut control, &[false]);
            assert_eq!(mbps(&phy, control.rate()), 6);
        }
        send(&mut control, &[false, false]);
        seen.push(threshold(&control) as usize);
        seen
    };
    assert_eq!(thresholds(ArfRules::ARF), [10, 10, 10, 10, 10]);
    assert_eq!(thresholds(ArfRules::AARF), [10, 20, 40, 50, 10]);
}

/// Where 24 Mb/s always arrives and 36 Mb/s never does, ARF loses a frame in eleven, AARF one in 51.
#[test]
fn aarf_tries_less_often_what_does_not_work() {
    let phy = ofdm(STANDARD);
    let lost = |rules| {
        let mut control = arf(&phy, rules);
        let mut lost = 0;
        for _ in 0..5100 {
            let rate = control.choose(0);
            let success = mbps(&phy, rate) <= 24;
            lost += u32::from(!success);
            control.report(rate, 1, u32::from(success), Time::ZERO);
        }
        f64::from(lost)
    };
    let (arf, aarf) = (lost(ArfRules::ARF), lost(ArfRules::AARF));
    assert!((arf - 5100.0 / 11.0).abs() < 0.01 * arf + 5.0, "ARF lost {arf}");
    assert!((aarf - 5100.0 / 51.0).abs() < 0.01 * aarf + 5.0, "AARF lost {aarf}");
}

#[test]
fn an_ampdu_is_a_success_if_half_of_it_arrives() {
    let phy = n(1);
    let mut control = arf(&phy, ArfRules::ARF);
    let lowest = control.rate();
    for acknowledged in [16; 10] {
        let rate = control.choose(0);
        control.report(rate, 32, acknowledged, Time::ZERO);
    }
    let second = control.rate();
    assert!(phy.rate(second) > phy.rate(lowest));
    control.report(second, 32, 15, Time::ZERO);
    assert_eq!(control.rate(), lowest);
}

#[test]
fn each_step_of_a_ladder_is_faster_and_needs_more_signal() {
    let long = Slot::Long;
    let phys = [
        dsss(Preamble::Long, STANDARD),
        ofdm(STANDARD),
        erp(long, Preamble::Long, STANDARD),
        n(4),
        he(Band::Ghz5, Capability { width: Width::MHZ_80, streams: 4 }, STANDARD).unwrap(),
    ];
    for phy in phys {
        let all = rates(&phy);
        let steps = ladder(&phy, &all);
        let snr = |rate| phy.needed_snr(rate, 0.1, 1000);
        for pair in steps.windows(2) {
            assert!(phy.rate(pair[0]) < phy.rate(pair[1]));
            assert!(snr(pair[0]) < snr(pair[1]));
        }
        // Each omitted rate has a better rate on the ladder.
        for rate in all {
            let better =
                |&step: &RateIndex| phy.rate(step) >= phy.rate(rate) && snr(step) <= snr(rate);
            assert!(steps.iter().any(better));
        }
    }
}

#[test]
fn a_fixed_rate_stays() {
    let phy = ofdm(STANDARD);
    let rate = rates(&phy)[3];
    let mut control = RateControl::Fixed(rate);
    send(&mut control, &[false; 50]);
    assert_eq!((control.choose(6), control.rate()), (rate, rate));
}

/// What Minstrel carries of the best rate's throughput, apart from the frames that sample. Its estimate takes shares above
/// 90 % for 90 %, leaves out backoffs, and fluctuates with the few frames of an interval.
const CARRIED: f64 = 0.8;

/// For SNRs from below the slowest rate's to beyond the fastest rate's: after one second the throughput of the next
/// second is nearly the best.
#[test]
fn minstrel_finds_the_best_rate_within_a_second() {
    for phy in [dsss(Preamble::Long, STANDARD), ofdm(STANDARD), n(2)] {
        let (low_db, high_db) = span_db(&phy);
        for step in 0..6u32 {
            let snr_db = low_db + (high_db + 2.0 - low_db) * f64::from(step) / 5.0;
            let mut channel = Channel::new(phy.clone(), by_snr(&phy, snr_db), 1, step.into());
            let mut control = minstrel(&phy, step.into());
            channel.run(&mut control, Span::from_secs(1));
            let found = channel.run_plain(&mut control, Span::from_secs(1));
            let (best, rate) = channel.best();
            assert!(found > CARRIED * best, "{rate:?} at {snr_db} dB: {found} of {best}");
        }
    }
}

/// Within one second after the signal has become weaker, and two seconds after it has become stronger: Minstrel must
/// return to rates that had long failed.
#[test]
fn minstrel_follows_a_change() {
    let phy = ofdm(STANDARD);
    let (low_db, high_db) = span_db(&phy);
    let (weak, strong) = (by_snr(&phy, low_db + 4.0), by_snr(&phy, high_db + 2.0));
    for seed in 0..5 {
        let mut channel = Channel::new(phy.clone(), strong.clone(), 1, seed);
        let mut control = minstrel(&phy, seed);
        channel.run(&mut control, Span::from_secs(10));
        for (shares, seconds) in [(&weak, 1), (&strong, 2), (&weak, 1), (&strong, 2)] {
            channel.shares = shares.clone();
            channel.run(&mut control, Span::from_secs(seconds));
            let found = channel.run(&mut control, Span::from_secs(1));
            let (best, rate) = channel.best();
            assert!(found > 0.9 * best, "seed {seed}, {rate:?}: {found} of {best}");
            channel.run(&mut control, Span::from_secs(6));
        }
    }
}

/// In an interval of 50 ms there is a sample at its beginning, after 20 ms and after 40 ms, if there are rates to try:
/// in any two intervals one rate is the next faster one. An interval may be longer by a frame.
#[test]
fn minstrel_samples_three_times_in_an_interval() {
    const SECONDS: u64 = 10;
    for phy in [ofdm(STANDARD), n(2)] {
        let (low_db, high_db) = span_db(&phy);
        for snr_db in [low_db, 0.5 * (low_db + high_db), high_db + 2.0] {
            let mut channel = Channel::new(phy.clone(), by_snr(&phy, snr_db), 1, 1);
            let mut control = minstrel(&phy, 1);
            channel.run(&mut control, Span::from_secs(2));
            channel.samples = 0;
            channel.run(&mut control, Span::from_secs(SECONDS as i64));
            let samples = channel.samples;
            assert!(samples <= 3 * 20 * SECONDS + 3, "{snr_db} dB: {samples}");
            let fastest = rates(&phy).into_iter().map(|rate| phy.rate(rate)).max();
            let fastest = fastest == Some(phy.rate(control.rate()));
            assert!(fastest || samples > 20 * SECONDS / 3, "{snr_db} dB: {samples}");
        }
    }
}

#[test]
fn minstrel_ignores_rates_that_it_has_not() {
    let phy = ofdm(STANDARD);
    let all = rates(&phy);
    let rng = Seed(1).stream("rate_control");
    let minstrel = Minstrel::new(&phy, &all[..2], rng);
    let mut control = RateControl::Minstrel(Box::new(minstrel));
    for ms in 0..500 {
        let now = Time::ZERO + Span::from_millis(ms);
        control.report(all[7], 1, 1, now);
        let rate = control.choose(0);
        assert!(all[..2].contains(&rate));
        control.report(rate, 1, 1, now);
    }
    assert_eq!(control.rate(), all[1]);
}

/// A layer, and the largest number of MPDUs of an A-MPDU. At the rates of 802.11b an interval has too few frames for an
/// estimate: `minstrel_kernel.rs` has such links.
fn layers() -> impl Strategy<Value = (Phy, u32)> {
    let ax = he(Band::Ghz5, Capability { width: Width::MHZ_40, streams: 2 }, STANDARD).unwrap();
    prop::sample::select(vec![(ofdm(STANDARD), 1), (n(2), 1), (n(2), 64), (ax, 64)])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Collisions lose an equal share at all rates, noise a share by the SNR, and each rate an additional random share.
    /// In the long run Minstrel delivers nearly the best rate's throughput.
    #[test]
    fn minstrel_carries_nearly_as_much_as_the_best_rate(
        (phy, window) in layers(),
        place in 0.0..1.0f64,
        collisions in 0.0..0.3f64,
        seed: u64,
    ) {
        let (low_db, high_db) = span_db(&phy);
        let mut luck = Seed(seed).stream("luck");
        let mut shares: Vec<_> =
            by_snr(&phy, low_db + place * (high_db + 2.0 - low_db)).into_iter().collect();
        shares.sort_by_key(|&(rate, _)| rate);
        let arrives = |(rate, share): (RateIndex, f64)| {
            (rate, share * (1.0 - collisions) * (1.0 - 0.2 * luck.unit()))
        };
        let shares: Shares = shares.into_iter().map(arrives).collect();
        let mut channel = Channel::new(phy.clone(), shares, window, seed);
        let mut control = minstrel(&phy, seed);
        channel.run(&mut control, Span::from_secs(2));
        let found = channel.run_plain(&mut control, Span::from_secs(40));
        let (best, rate) = channel.best();
        prop_assert!(found > CARRIED * best, "{:?}: {} of {}", phy.mcs(rate), found, best);
    }
}
