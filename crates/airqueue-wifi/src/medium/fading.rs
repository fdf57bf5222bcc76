//! Fading: how the gain of a link between two stations changes with time, beside the loss of distance.
//!
//! The gain at a time is a function of the link's key and the time alone: it does not depend on which frames are sent,
//! so that two runs that differ in their traffic have the same channel. Both directions of a link have one gain.
//!
//! * Shadowing: the gain in dB is a Gauss-Markov process with mean 0 and the autocorrelation exp(-τ / coherence)
//!   (Gudmundson, Electronics Letters 27(23), 1991, over time in place of distance), in steps of a tenth of the
//!   coherence time.
//! * Fast fading: within blocks as long as the coherence time the gain is constant; gains of blocks are independent, the
//!   squared magnitude of a complex Gaussian with a line of sight that has K times the power of the rest (Rice; K = 0:
//!   Rayleigh, where the gain is exponential). The mean gain is 1.

use super::from_db;
use airqueue_core::{Span, Time};
use std::f64::consts::TAU;

const SPEED_OF_LIGHT_M_S: f64 = 299_792_458.0;
/// Steps of shadowing in a coherence time.
const STEPS: i64 = 10;
/// After so many steps, forty coherence times, nothing is left of the past: exp(-40).
const MEMORY: i64 = 40 * STEPS;

/// Slow fading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shadowing {
    /// Standard deviation of the gain in dB.
    pub deviation_db: f64,
    /// After which time the autocorrelation is 1/e; at least 10 ns.
    pub coherence: Span,
}

/// Fast fading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FastFading {
    /// Length of the blocks in which the gain is constant.
    pub coherence: Span,
    /// Power of the line of sight over the power of all other paths, as a ratio; 0: Rayleigh fading.
    pub k: f64,
}

/// Fading of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fading {
    /// Slow fading.
    pub shadowing: Option<Shadowing>,
    /// Fast fading.
    pub fast: Option<FastFading>,
}

/// The state of a fading link.
#[derive(Clone, Copy, Debug)]
pub struct FadingLink {
    key: u64,
    /// The step of shadowing that was asked for last, and the gain there in standard deviations.
    step: i64,
    shadow: f64,
}

/// The coherence time 0.423 c / (v f) of a channel whose paths change at a speed (Rappaport, Wireless Communications,
/// 5.4.2, from Clarke's spectrum with the largest Doppler shift v f / c).
pub fn coherence_of_speed(speed_m_s: f64, frequency_hz: f64) -> Span {
    Span::from_secs_f64(0.423 * SPEED_OF_LIGHT_M_S / (speed_m_s * frequency_hz))
}

/// The `n`-th number of the SplitMix64 generator with this seed (Steele, Lea and Flood, OOPSLA 2014), without the ones
/// before.
fn draw(seed: u64, n: u64) -> u64 {
    let z = seed.wrapping_add(n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Uniform on [0, 1).
fn unit(seed: u64, n: u64) -> f64 {
    (draw(seed, n) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// The `n`-th pair of independent standard normal variates (Box and Muller, 1958).
fn normals(seed: u64, n: u64) -> (f64, f64) {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - unit(seed, 2 * n)));
    let angle = TAU * unit(seed, 2 * n + 1);
    (radius * libm::cos(angle), radius * libm::sin(angle))
}

impl FadingLink {
    /// A link; `key` names its random numbers.
    pub fn new(key: u64) -> FadingLink {
        FadingLink { key: draw(key, 0), step: i64::MIN, shadow: 0.0 }
    }

    /// The gain at a time, as a ratio of powers. Times may come in any order; rising ones are fast.
    pub fn gain(&mut self, fading: &Fading, now: Time) -> f64 {
        let slow = fading.shadowing.map_or(1.0, |of| from_db(self.shadow_db(&of, now)));
        let fast = fading.fast.map_or(1.0, |of| self.fast_gain(&of, now));
        slow * fast
    }

    fn shadow_db(&mut self, of: &Shadowing, now: Time) -> f64 {
        let step = now.as_nanos() / (of.coherence.as_nanos() / STEPS);
        let seed = self.key ^ 0x7368_6164_6f77;
        let new = |step: i64| normals(seed, step as u64).0;
        if step < self.step || step - MEMORY > self.step {
            self.step = (step - MEMORY).max(0);
            self.shadow = new(self.step);
        }
        let stays = libm::exp(-1.0 / STEPS as f64);
        let comes = libm::sqrt(1.0 - stays * stays);
        while self.step < step {
            self.step += 1;
            self.shadow = stays * self.shadow + comes * new(self.step);
        }
        of.deviation_db * self.shadow
    }

    fn fast_gain(&self, of: &FastFading, now: Time) -> f64 {
        // Links do not change all at once.
        let begins = (self.key % of.coherence.as_nanos() as u64) as i64;
        let block = (now.as_nanos().saturating_add(begins)) / of.coherence.as_nanos();
        let (x, y) = normals(self.key, block as u64);
        let (sight, rest) = (libm::sqrt(of.k / (of.k + 1.0)), libm::sqrt(0.5 / (of.k + 1.0)));
        let (x, y) = (sight + rest * x, rest * y);
        x * x + y * y
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINKS: u64 = 4000;

    fn at(micros: i64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    /// The gains of many links at one time.
    fn gains(fading: Fading, micros: i64) -> Vec<f64> {
        (0..LINKS).map(|key| FadingLink::new(key).gain(&fading, at(micros))).collect()
    }

    fn mean(of: impl Iterator<Item = f64>) -> f64 {
        of.sum::<f64>() / LINKS as f64
    }

    fn fast(k: f64) -> Fading {
        let fast = FastFading { coherence: Span::from_millis(10), k };
        Fading { fast: Some(fast), shadowing: None }
    }

    fn slow(deviation_db: f64) -> Fading {
        let shadowing = Shadowing { deviation_db, coherence: Span::from_millis(500) };
        Fading { fast: None, shadowing: Some(shadowing) }
    }

    /// Mean 1 and variance (2K + 1)/(K + 1)²; bounds of five standard errors, for the variance from the fourth moment
    /// of the exponential, the heaviest of these laws.
    #[test]
    fn fast_fading_has_the_moments_of_rice() {
        for k in [0.0, 1.0, 10.0] {
            let gains = gains(fast(k), 77_000);
            let variance = (2.0 * k + 1.0) / (k + 1.0) / (k + 1.0);
            let found = mean(gains.iter().copied());
            assert!((found - 1.0).abs() < 5.0 * (variance / LINKS as f64).sqrt(), "{k}: {found}");
            let spread = mean(gains.iter().map(|gain| (gain - 1.0) * (gain - 1.0)));
            let error = variance * (8.0 / LINKS as f64).sqrt();
            assert!((spread - variance).abs() < 5.0 * error, "{k}: {spread} for {variance}");
        }
    }

    /// P(gain > x) = e^-x.
    #[test]
    fn rayleigh_fading_is_exponential() {
        let gains = gains(fast(0.0), 5_000);
        for x in [0.01f64, 0.1, 1.0, 3.0] {
            let (above, p) = (mean(gains.iter().map(|&g| f64::from(g > x))), (-x).exp());
            let error = (p * (1.0 - p) / LINKS as f64).sqrt();
            assert!((above - p).abs() < 5.0 * error, "{x}: {above} for {p}");
        }
    }

    /// Half a block apart the gain is the same in half of the links; two blocks apart it is independent.
    #[test]
    fn a_block_lasts_for_the_coherence_time() {
        let (first, soon, later) =
            (gains(fast(0.0), 50_000), gains(fast(0.0), 55_000), gains(fast(0.0), 70_000));
        let same = mean(first.iter().zip(&soon).map(|(one, other)| f64::from(one == other)));
        assert!((same - 0.5).abs() < 5.0 * (0.25 / LINKS as f64).sqrt(), "{same}");
        let product =
            mean(first.iter().zip(&later).map(|(one, other)| (one - 1.0) * (other - 1.0)));
        assert!(product.abs() < 5.0 / (LINKS as f64).sqrt(), "{product}");
    }

    /// exp(-τ / coherence), within five standard errors of a correlation.
    #[test]
    fn shadowing_has_its_autocorrelation() {
        let decibels = |micros| {
            gains(slow(6.0), micros).into_iter().map(|g| 10.0 * g.log10()).collect::<Vec<_>>()
        };
        let first = decibels(1_000_000);
        let variance = mean(first.iter().map(|x| x * x));
        assert!((variance / 36.0 - 1.0).abs() < 5.0 * (2.0 / LINKS as f64).sqrt(), "{variance}");
        for (lag_micros, expected) in
            [(50_000, -0.1f64), (250_000, -0.5), (500_000, -1.0), (1_500_000, -3.0)]
        {
            let later = decibels(1_000_000 + lag_micros);
            let found = mean(first.iter().zip(&later).map(|(x, y)| x * y)) / 36.0;
            let error = 5.0 * (2.0 / LINKS as f64).sqrt();
            assert!((found - expected.exp()).abs() < error, "{lag_micros}: {found}");
        }
    }

    /// A link that was asked at other times before has the same gain, but for what 40 coherence times leave.
    #[test]
    fn the_gain_does_not_depend_on_who_asks() {
        let fading = Fading { fast: fast(2.0).fast, shadowing: slow(8.0).shadowing };
        let mut often = FadingLink::new(9);
        for micros in (0..40_000_000).step_by(7_001) {
            let now = often.gain(&fading, at(micros));
            if micros % 700_100 == 0 {
                let alone = FadingLink::new(9).gain(&fading, at(micros));
                assert!((now / alone - 1.0).abs() < 1e-9, "{micros}: {now} and {alone}");
            }
        }
    }

    #[test]
    fn the_coherence_time_of_a_walk() {
        // 0.423 · 299792458 / (1 · 5e9) s.
        assert_eq!(coherence_of_speed(1.0, 5e9), Span::from_nanos(25_362_442));
    }
}
