//! Frame errors: limits, closed forms, and CCK against a detector of the standard's code words.

use airqueue_core::{DataRate, RandomStream, Seed};
use airqueue_wifi::medium::{
    CodeRate, FrameErrors, Level, Link, Mapping, MediumError, Modulation, Reach, StationId,
    thermal_noise_w,
};
use airqueue_wifi::phy::{Format, GuardInterval, Mcs, Width};
use proptest::prelude::*;
use std::f64::consts::{LN_2, PI};

/// By rising rate within 802.11b and within OFDM.
const DSSS_BPS: [u64; 4] = [1_000_000, 2_000_000, 5_500_000, 11_000_000];
const OFDM_BPS: [u64; 8] =
    [6_000_000, 9_000_000, 12_000_000, 18_000_000, 24_000_000, 36_000_000, 48_000_000, 54_000_000];

fn at(bps: u64) -> Modulation {
    Modulation::at(DataRate::from_bps(bps).expect("positive")).expect("a rate of 802.11")
}

/// One stream of HE, of which HT and VHT have the first 8 and 10.
fn schemes() -> [Modulation; 12] {
    std::array::from_fn(|index| {
        let (format, width, guard) = (Format::He, Width::MHZ_20, GuardInterval::Ns800);
        Mcs { format, index: index as u8, streams: 1, width, guard }.modulation()
    })
}

fn all() -> impl Iterator<Item = Modulation> {
    DSSS_BPS.into_iter().chain(OFDM_BPS).map(at).chain(schemes())
}

fn db(value: f64) -> f64 {
    10f64.powf(value / 10.0)
}

/// The SNR in dB at which a frame of 1500 bytes is lost with probability 0.1.
fn needed_db(modulation: Modulation) -> f64 {
    10.0 * modulation.snr_at_loss(0.1, 1500).log10()
}

#[test]
fn the_snr_of_a_loss_has_that_loss() {
    for modulation in all() {
        for (loss, bytes) in [(0.1, 1500), (0.5, 40), (1e-3, 4000)] {
            let snr = modulation.snr_at_loss(loss, bytes);
            let found = FrameErrors::BySnr.loss(modulation, snr, bytes);
            assert!((found / loss - 1.0).abs() < 1e-6, "{modulation:?}: {found} for {loss}");
        }
    }
}

#[test]
fn rates_are_those_of_b_a_and_g() {
    assert_eq!(at(54_000_000), Modulation::Ofdm(Mapping::Qam(6), CodeRate::ThreeQuarters));
    assert_eq!(at(48_000_000), Modulation::Ofdm(Mapping::Qam(6), CodeRate::TwoThirds));
    for bps in [1, 7_000_000, 22_000_000, 65_000_000] {
        assert_eq!(Modulation::at(DataRate::from_bps(bps).expect("positive")), None);
    }
    // 48 subcarriers every 4 µs.
    for bps in OFDM_BPS {
        let Modulation::Ofdm(mapping, code) = at(bps) else { panic!("{bps} is OFDM") };
        let bits = match mapping {
            Mapping::Bpsk => 1.0,
            Mapping::Qpsk => 2.0,
            Mapping::Qam(4) => 4.0,
            Mapping::Qam(6) => 6.0,
            later => panic!("{later:?} in 802.11a"),
        };
        let share = match code {
            CodeRate::Half => 1.0 / 2.0,
            CodeRate::TwoThirds => 2.0 / 3.0,
            CodeRate::ThreeQuarters => 3.0 / 4.0,
            CodeRate::FiveSixths => panic!("5/6 in 802.11a"),
        };
        assert_eq!((48.0f64 * bits * share / 4e-6).round() as u64, bps);
    }
}

#[test]
fn without_signal_a_bit_is_a_guess_and_without_noise_it_is_sure() {
    for modulation in all() {
        for nothing in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
            let hazard = modulation.bit_hazard(nothing);
            assert!((hazard - LN_2).abs() < 1e-6, "{modulation:?}: {hazard}");
        }
        for much in [1e6, f64::MAX, f64::INFINITY] {
            assert_eq!(modulation.bit_hazard(much), 0.0, "{modulation:?}");
        }
    }
}

#[test]
fn fixed_probabilities() {
    let any = Modulation::Dbpsk1;
    // The references are powers of 1 - p, whose rounding adds up to 8000 · 2⁻⁵³.
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-11 * b.abs(), "{a} and {b}");
    assert_eq!(FrameErrors::None.loss(any, 0.0, 1500), 0.0);
    assert_eq!(FrameErrors::PerFrame(0.25).loss(any, 1e9, 0), 0.25);
    close(FrameErrors::PerBit(0.5).loss(any, 1e9, 1), 1.0 - 0.5f64.powi(8));
    close(FrameErrors::PerBit(1e-5).loss(any, 1e9, 1000), 1.0 - (1.0 - 1e-5f64).powi(8000));
    // A small loss is N p, which 1 - (1 - p)^N in floating point would miss.
    close(FrameErrors::PerBit(1e-20).loss(any, 1e9, 1000), 8000e-20);
    assert_eq!(FrameErrors::PerBit(1.0).loss(any, 1e9, 1), 1.0);
    assert_eq!(FrameErrors::PerBit(1.0).loss(any, 1e9, 0), 0.0);
    assert_eq!(FrameErrors::PerBit(0.0).loss(any, 0.0, u32::MAX), 0.0);
}

#[test]
fn what_cannot_be_is_refused() {
    let link = |power_w| {
        let (from, to) = (StationId(0), StationId(1));
        let links = [Link { from, to, level: Level::Decodable, power_w }];
        Reach::from_links(2, &links).expect("valid")
    };
    let (bare, powered) = (link(None), link(Some(1e-9)));
    for bad in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        for errors in [FrameErrors::PerFrame(bad), FrameErrors::PerBit(bad)] {
            assert!(matches!(bare.frame_errors(errors), Err(MediumError::Probability { .. })));
        }
    }
    assert!(matches!(bare.frame_errors(FrameErrors::BySnr), Err(MediumError::NoPowers(_))));
    assert_eq!(powered.frame_errors(FrameErrors::BySnr), Ok(FrameErrors::BySnr));
    assert_eq!(bare.frame_errors(FrameErrors::PerBit(0.0)), Ok(FrameErrors::PerBit(0.0)));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(thermal_noise_w(bad, 7.0).is_err());
    }
    assert!(thermal_noise_w(20e6, f64::NAN).is_err());
    assert!(thermal_noise_w(20e6, 1e9).is_err());
}

/// -174 dBm/Hz at 290 K (rounded): -101 dBm in 20 MHz, and 7 dB more with such a receiver.
#[test]
fn thermal_noise() {
    let dbm =
        |noise_figure| 10.0 * (1e3 * thermal_noise_w(20e6, noise_figure).expect("ok")).log10();
    assert!((dbm(0.0) + 100.965).abs() < 0.001, "{}", dbm(0.0));
    assert!((dbm(7.0) - dbm(0.0) - 7.0).abs() < 1e-9);
}

/// ½ e^(-E_b/N₀) with E_b/N₀ = 22 SNR.
#[test]
fn dbpsk() {
    let error = |snr: f64| -(-Modulation::Dbpsk1.bit_hazard(snr)).exp_m1();
    for snr in [0.01, 0.1, 0.5] {
        let closed = 0.5 * f64::exp(-22.0 * snr);
        assert!((error(snr) / closed - 1.0).abs() < 1e-9, "{snr}");
    }
}

/// Against the form with Marcum's Q, e^(-2γ) (½ I₀(√2 γ) + Σ (√2 - 1)^k I_k(√2 γ)), by series, and
/// the form by Ferrari and Corazza, which is exact in the limit.
#[test]
fn dqpsk() {
    let bessel = |order: i32, x: f64| {
        let mut term = (1..=order).fold(1.0, |t, k| t * x / 2.0 / f64::from(k));
        let mut sum = term;
        for k in 1..200 {
            term *= x * x / 4.0 / (f64::from(k) * f64::from(k + order));
            sum += term;
        }
        sum
    };
    let root2 = 2f64.sqrt();
    let error = |gamma: f64| -(-Modulation::Dqpsk2.bit_hazard(gamma / 11.0)).exp_m1();
    for gamma in [0.1, 1.0, 3.0, 8.0, 20.0] {
        let tail: f64 = (1..60).map(|k| (root2 - 1.0).powi(k) * bessel(k, root2 * gamma)).sum();
        let exact = (-2.0 * gamma).exp() * (0.5 * bessel(0, root2 * gamma) + tail);
        assert!((error(gamma) / exact - 1.0).abs() < 1e-9, "{gamma}: {}", error(gamma));
    }
    // The error of the asymptotic form falls as 1/γ.
    for gamma in [40.0, 160.0, 640.0] {
        let limit = (root2 + 1.0) / (8.0 * PI * root2).sqrt() / f64::sqrt(gamma)
            * (-(2.0 - root2) * gamma).exp();
        let off = error(gamma) / limit - 1.0;
        assert!(off.abs() < 1.0 / gamma, "{gamma}: {off}");
    }
}

/// At a high SNR errors go to the 14 nearest code words: 14 Q(√(E_s/N₀)) with Q(x) near
/// φ(x)/x (1 - 1/x²), and twice that for the two halves of 11 Mb/s.
#[test]
fn cck_at_high_snr() {
    let bound = |esn0: f64| {
        let q = (-esn0 / 2.0).exp() / (2.0 * PI * esn0).sqrt() * (1.0 - 1.0 / esn0);
        14.0 * q
    };
    for esn0 in [40.0, 80.0, 400.0] {
        let slow = 4.0 * Modulation::Cck5_5.bit_hazard(esn0 / 16.0);
        let fast = 8.0 * Modulation::Cck11.bit_hazard(esn0 / 8.0);
        assert!((slow / bound(esn0) - 1.0).abs() < 0.01, "{esn0}: {slow}");
        assert!((fast / (2.0 * bound(esn0)) - 1.0).abs() < 0.01, "{esn0}: {fast}");
    }
}

/// The code words of IEEE 802.11-2020, 16.3.6.6.2: eight chips of phases φ1 to φ4 in quarter turns.
fn code_word([p1, p2, p3, p4]: [u32; 4]) -> [(f64, f64); 8] {
    let turn =
        |quarters: u32| [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)][quarters as usize % 4];
    [
        p1 + p2 + p3 + p4,
        p1 + p3 + p4,
        p1 + p2 + p4,
        p1 + p4 + 2,
        p1 + p2 + p3,
        p1 + p3,
        p1 + p2 + 2,
        p1,
    ]
    .map(turn)
}

/// All words of 11 Mb/s (φ2 to φ4 any), or of 5.5 Mb/s (16.3.6.6.3: φ2 = π/2 or 3π/2, φ3 = 0,
/// φ4 = 0 or π).
fn code_book(full: bool) -> Vec<[(f64, f64); 8]> {
    let mut book = Vec::new();
    for p1 in 0..4 {
        for p2 in 0..4 {
            for p3 in 0..4 {
                for p4 in 0..4 {
                    if full || (p2 % 2 == 1 && p3 == 0 && p4 % 2 == 0) {
                        book.push(code_word([p1, p2, p3, p4]));
                    }
                }
            }
        }
    }
    book
}

fn gaussian(rng: &mut RandomStream) -> f64 {
    let (radius, angle) = ((-2.0 * (1.0 - rng.unit()).ln()).sqrt(), 2.0 * PI * rng.unit());
    radius * angle.cos()
}

/// Share of symbols whose most likely word is not the one sent. A chip of energy 1 has E_c/N₀ = 2 SNR, and noise of
/// variance N₀/2 along either axis.
fn wrong_words(book: &[[(f64, f64); 8]], snr: f64, symbols: u32) -> f64 {
    let mut rng = Seed(3).stream("cck");
    let sigma = (0.5 / (2.0 * snr)).sqrt();
    let mut wrong = 0;
    for _ in 0..symbols {
        let sent = rng.below(book.len() as u64) as usize;
        let received = book[sent]
            .map(|(re, im)| (re + sigma * gaussian(&mut rng), im + sigma * gaussian(&mut rng)));
        let likeness = |word: &[(f64, f64); 8]| -> f64 {
            word.iter().zip(&received).map(|(w, h)| w.0 * h.0 + w.1 * h.1).sum()
        };
        let best = likeness(&book[sent]);
        wrong += u32::from(book.iter().any(|word| likeness(word) > best));
    }
    f64::from(wrong) / f64::from(symbols)
}

/// Monte Carlo over the real code words, within four standard errors.
#[test]
fn cck_is_what_a_detector_of_its_code_words_finds() {
    let cases = [
        (Modulation::Cck5_5, false, 4.0, [0.1, 0.3, 0.5], 40_000),
        (Modulation::Cck11, true, 8.0, [0.2, 0.6, 1.0], 10_000),
    ];
    for (modulation, full, bits, snrs, symbols) in cases {
        let book = code_book(full);
        assert_eq!(book.len(), if full { 256 } else { 16 });
        for snr in snrs {
            let expected = -(-bits * modulation.bit_hazard(snr)).exp_m1();
            let found = wrong_words(&book, snr, symbols);
            let error = (expected * (1.0 - expected) / f64::from(symbols)).sqrt();
            assert!(expected > 0.01, "{modulation:?} at {snr}: too rare to be counted");
            assert!(
                (found - expected).abs() < 4.0 * error,
                "{modulation:?} at {snr}: {found}, {expected}"
            );
        }
    }
}

/// ½ erfc(√γ) = Q(√(2γ)) and so on, at points for which tables of Q exist: Q(1) = 0.158655, Q(2) = 0.0227501, Q(3) =
/// 0.00134990.
#[test]
fn mappings() {
    let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-5, "{a} and {b}");
    for (x, q) in [(1.0f64, 0.158_655_25), (2.0, 0.022_750_13), (3.0, 0.001_349_898)] {
        close(Mapping::Bpsk.bit_error(x * x / 2.0), q);
        close(Mapping::Qpsk.bit_error(x * x), q);
        close(Mapping::Qam(4).bit_error(5.0 * x * x), 0.75 * q);
        close(Mapping::Qam(6).bit_error(21.0 * x * x), 7.0 / 12.0 * q);
        // Nearest neighbours of square QAM (Proakis, 5.2.9): 4/b (1 - 1/√M) Q(√(3γ / (M - 1))).
        close(Mapping::Qam(8).bit_error(85.0 * x * x), 4.0 / 8.0 * (15.0 / 16.0) * q);
        close(Mapping::Qam(10).bit_error(341.0 * x * x), 4.0 / 10.0 * (31.0 / 32.0) * q);
    }
}

/// With few errors only the least distance counts: c D^d / 2k with D = 2√p.
#[test]
fn codes_at_few_errors() {
    let cases = [
        (CodeRate::Half, 36.0, 10, 1.0),
        (CodeRate::TwoThirds, 3.0, 6, 2.0),
        (CodeRate::ThreeQuarters, 42.0, 5, 3.0),
        (CodeRate::FiveSixths, 92.0, 4, 5.0),
    ];
    for (code, weight, distance, bits) in cases {
        let p = 1e-12f64;
        let leading = weight * (2.0 * p.sqrt()).powi(distance) / (2.0 * bits);
        assert!((code.bit_error(p) / leading - 1.0).abs() < 1e-4, "{code:?}");
        assert_eq!(code.bit_error(0.0), 0.0);
        assert_eq!(code.bit_error(0.5), 0.5);
    }
}

/// With equal detection, faster modulations need more signal.
#[test]
fn faster_rates_need_more_signal() {
    let mbps = |rates: &[u64]| -> Vec<f64> {
        rates.iter().map(|rate| needed_db(at(rate * 1_000_000))).collect()
    };
    for needed in [mbps(&[1, 2, 11]), mbps(&[6, 12, 18, 24, 36, 48, 54])] {
        assert!(needed.windows(2).all(|pair| pair[0] < pair[1]), "{needed:?}");
    }
    // The energy of one code word is split between two, each with half of the bits: 3 dB.
    let step = needed_db(Modulation::Cck11) - needed_db(Modulation::Cck5_5);
    assert!((step - 3.0103).abs() < 1e-3, "{step}");
    // Equal codes, and two bits per symbol instead of one: 3 dB.
    let step = needed_db(at(12_000_000)) - needed_db(at(6_000_000));
    assert!((step - 3.0103).abs() < 1e-3, "{step}");
}

/// The schemes of 802.11n and later extend those of 802.11a: the old ones are equal, each new one needs more signal
/// than the one before.
#[test]
fn later_schemes() {
    let a = [6, 12, 18, 24, 36, 48, 54].map(|mbps| at(mbps * 1_000_000));
    assert_eq!(schemes()[..7], a);
    let needed = schemes().map(needed_db);
    assert!(needed.windows(2).all(|pair| pair[0] < pair[1]), "{needed:?}");
    // Data bits of a carrier: 25/3 in a symbol of 13.6 us with 234 carriers at 143.4 Mb/s.
    let data_bits = schemes().map(|scheme| {
        let Modulation::Ofdm(mapping, code) = scheme else { panic!("{scheme:?} is OFDM") };
        let (up, down) = code.ratio();
        f64::from(mapping.bits() * up) / f64::from(down)
    });
    let expected = [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 4.5, 5.0, 6.0, 20.0 / 3.0, 7.5, 25.0 / 3.0];
    assert_eq!(data_bits, expected);
    // Four times as many points at equal distance, with an equal code: 6 dB, less the effect of more nearest
    // neighbours.
    for (low, high) in [(6, 8), (7, 9), (8, 10), (9, 11)] {
        let step = needed[high] - needed[low];
        assert!((5.5..6.1).contains(&step), "{low} to {high}: {step}");
    }
}

/// The documentation has the table of the SNR that each rate needs, in dB with one digit.
#[test]
fn the_page_has_what_rates_need() {
    let page = include_str!("../../../../docs/explanation/radio.md");
    let row = |modulations: &[Modulation]| {
        let cells: Vec<_> = modulations.iter().map(|&m| format!("{:.1}", needed_db(m))).collect();
        format!("| SNR in dB | {} |", cells.join(" | "))
    };
    for rates in [&DSSS_BPS.map(at)[..], &OFDM_BPS.map(at), &schemes()] {
        let row = row(rates);
        assert!(page.contains(&row), "{row}");
    }
}

proptest! {
    #[test]
    fn losses_are_probabilities_and_fall_with_the_snr(
        low in -20.0..40.0f64, more in 0.0..20.0f64, bytes in 0u32..70_000, extra in 0u32..1000,
    ) {
        for modulation in all() {
            let loss = |snr_db: f64, bytes| FrameErrors::BySnr.loss(modulation, db(snr_db), bytes);
            prop_assert!((0.0..=1.0).contains(&loss(low, bytes)));
            // The underlying sums are accurate to about 1e-12.
            prop_assert!(loss(low + more, bytes) <= loss(low, bytes) + 1e-9, "{:?}", modulation);
            prop_assert!(loss(low, bytes + extra) >= loss(low, bytes));
        }
    }

    /// Two frames survive as often as one frame of their total length.
    #[test]
    fn bits_are_independent(snr_db in -10.0..30.0f64, a in 1u32..3000, b in 1u32..3000) {
        for modulation in all() {
            let survives = |bytes| 1.0 - FrameErrors::BySnr.loss(modulation, db(snr_db), bytes);
            prop_assert!((survives(a) * survives(b) - survives(a + b)).abs() < 1e-12);
        }
    }
}
