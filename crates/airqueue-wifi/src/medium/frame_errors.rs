//! The probability that a frame that no other frame destroyed is lost to bit errors.
//!
//! The SNR formulas are the textbook ones for an AWGN channel; [`Modulation`] names them. They model no fading, no
//! interleaver, no preamble (the engine may ask for the PLCP header as a separate frame), and no hard limit of a radio
//! at high SNR; bits fail independently. Real receivers decide softly, so that the union bound of OFDM with hard
//! decisions, the bound of ns-3's NIST model, needs about 2 dB more than real receivers. CCK is detected coherently,
//! DBPSK and DQPSK differentially, as the rates are defined, so that 5.5 Mb/s needs slightly less signal than 2 Mb/s, and 3
//! dB less than in ns-3 (see [`Modulation::Cck11`]).

use super::error::positive;
use super::{MediumError, from_db};
use airqueue_core::DataRate;
use std::f64::consts::{PI, SQRT_2};

/// The cause of bit errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FrameErrors {
    /// No frame is lost to bit errors.
    None,
    /// Every frame is lost with this probability, whatever its length.
    PerFrame(f64),
    /// Every bit is wrong with this probability, independently; one wrong bit loses the frame.
    PerBit(f64),
    /// By modulation and signal-to-noise ratio ([`Modulation::bit_hazard`]).
    BySnr,
}

impl FrameErrors {
    /// Checks that the probability is between 0 and 1.
    pub(super) fn checked(self) -> Result<FrameErrors, MediumError> {
        let (name, value) = match self {
            FrameErrors::None | FrameErrors::BySnr => return Ok(self),
            FrameErrors::PerFrame(p) => ("the error probability of a frame", p),
            FrameErrors::PerBit(p) => ("the error probability of a bit", p),
        };
        if (0.0..=1.0).contains(&value) {
            Ok(self)
        } else {
            Err(MediumError::Probability { name, value })
        }
    }

    /// The probability that a frame of `bytes` bytes is lost. `snr` is a linear ratio of powers, with the noise over
    /// the whole channel and any interference; only [`Self::BySnr`] uses `snr` and `modulation`. The hazard depends
    /// only on power and rate, not on the length: where this function is called often, keep [`Modulation::bit_hazard`]
    /// and call [`Self::loss_of`].
    pub fn loss(self, modulation: Modulation, snr: f64, bytes: u32) -> f64 {
        match self {
            FrameErrors::None => 0.0,
            FrameErrors::PerFrame(p) => p,
            FrameErrors::PerBit(p) => Self::loss_of(-libm::log1p(-p), bytes),
            FrameErrors::BySnr => Self::loss_of(modulation.bit_hazard(snr), bytes),
        }
    }

    /// 1 - exp(-8 · `bytes` · `bit_hazard`): the probability that at least one bit is wrong.
    pub fn loss_of(bit_hazard: f64, bytes: u32) -> f64 {
        // A hazard may be infinite, and infinity times zero bytes is NaN.
        if bytes == 0 { 0.0 } else { -libm::expm1(-8.0 * f64::from(bytes) * bit_hazard) }
    }
}

/// Thermal noise in watts: k · 290 K · `bandwidth_hz`, raised by the receiver's noise figure. The bandwidth is 22 MHz
/// for the [`Modulation`]s of 802.11b and 20 MHz for OFDM.
pub fn thermal_noise_w(bandwidth_hz: f64, noise_figure_db: f64) -> Result<f64, MediumError> {
    const BOLTZMANN_J_K: f64 = 1.380_649e-23;
    let bandwidth_hz = positive("the bandwidth in Hz", bandwidth_hz)?;
    if !noise_figure_db.is_finite() {
        let name = "the noise figure in dB";
        return Err(MediumError::NotFinite { name, value: noise_figure_db });
    }
    positive("the noise in W", BOLTZMANN_J_K * 290.0 * bandwidth_hz * from_db(noise_figure_db))
}

/// Modulation and coding of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Modulation {
    /// 1 Mb/s. Differential BPSK: ½ exp(-E_b/N₀) (Proakis, Digital Communications, 4th edition,
    /// 5.2-69).
    Dbpsk1,
    /// 2 Mb/s. Differential QPSK with Gray mapping: the exact error probability as a finite integral (Pawula; Simon
    /// and Alouini, Digital Communication over Fading Channels), equivalent to Proakis's 5.2-70 with Marcum's Q.
    Dqpsk2,
    /// 5.5 Mb/s. The 16 code words of CCK are a biorthogonal set with the whole symbol energy (Pursley and Royster,
    /// IEEE Trans. Commun. 57(2), 2009), detected coherently as a whole.
    Cck5_5,
    /// 11 Mb/s. The 256 code words are the product of two such sets, each with half the energy
    /// (ibid.). ns-3 takes half of that energy again for both rates.
    Cck11,
    /// 6 to 54 Mb/s, and one stream of 802.11n and later: coherent detection of Gray-mapped symbols, hard decisions,
    /// and the union bound over the distances of the convolutional code (ns-3's NIST model). The SNR counts as the SNR
    /// of a subcarrier: the gain of the 12 empty subcarriers of 64 equals the loss in the guard interval within 1.5 %.
    /// LDPC, which needs 1 to 2 dB less, counts as the convolutional code.
    Ofdm(Mapping, CodeRate),
}

/// Bits per symbol of a subcarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mapping {
    /// 1 bit.
    Bpsk,
    /// 2 bits.
    Qpsk,
    /// Square QAM, with an even number of bits: 4 and 6 in 802.11a, 8 in 802.11ac, 10 in 802.11ax.
    Qam(u8),
}

/// Code rate of the convolutional code (133, 171) of constraint length 7, punctured as in IEEE 802.11-2020, 17.3.5.6
/// and 19.3.11.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodeRate {
    /// 1/2, not punctured.
    Half,
    /// 2/3.
    TwoThirds,
    /// 3/4.
    ThreeQuarters,
    /// 5/6: since 802.11n.
    FiveSixths,
}

impl Modulation {
    /// The modulation of a rate of 802.11b, or of 802.11a and g in 20 MHz; `None` if they do not have this rate.
    pub fn at(rate: DataRate) -> Option<Modulation> {
        use CodeRate::*;
        use Mapping::*;
        Some(match rate.as_bps() {
            1_000_000 => Modulation::Dbpsk1,
            2_000_000 => Modulation::Dqpsk2,
            5_500_000 => Modulation::Cck5_5,
            11_000_000 => Modulation::Cck11,
            6_000_000 => Modulation::Ofdm(Bpsk, Half),
            9_000_000 => Modulation::Ofdm(Bpsk, ThreeQuarters),
            12_000_000 => Modulation::Ofdm(Qpsk, Half),
            18_000_000 => Modulation::Ofdm(Qpsk, ThreeQuarters),
            24_000_000 => Modulation::Ofdm(Qam(4), Half),
            36_000_000 => Modulation::Ofdm(Qam(4), ThreeQuarters),
            48_000_000 => Modulation::Ofdm(Qam(6), TwoThirds),
            54_000_000 => Modulation::Ofdm(Qam(6), ThreeQuarters),
            _ => return None,
        })
    }

    /// -ln(probability that a bit is correct) at an SNR given as a ratio of powers over 22 MHz for 802.11b and 20 MHz
    /// for OFDM; between 0 and ln 2, the value of a random guess. An invalid SNR (negative, NaN) counts as 0.
    /// Decreases with the SNR.
    pub fn bit_hazard(self, snr: f64) -> f64 {
        let snr = snr.max(0.0);
        // E_b/N₀ of 802.11b is the SNR times 22 MHz over the rate.
        match self {
            Modulation::Dbpsk1 => -libm::log1p(-0.5 * libm::exp(-22.0 * snr)),
            Modulation::Dqpsk2 => -libm::log1p(-dqpsk_error(11.0 * snr)),
            // A symbol of 1/1.375 µs has E_s/N₀ = 16 SNR. It carries 4 bits in one set, or 8 in two.
            Modulation::Cck5_5 => -libm::log1p(-biorthogonal_error(16.0 * snr)) / 4.0,
            Modulation::Cck11 => -libm::log1p(-biorthogonal_error(8.0 * snr)) / 4.0,
            Modulation::Ofdm(mapping, code) => {
                -libm::log1p(-code.bit_error(mapping.bit_error(snr)))
            }
        }
    }

    /// The SNR, as a ratio of powers, at which a frame of `bytes` bytes is lost with probability `loss`. Accurate to
    /// 1e-9 dB, between -30 and 60 dB.
    pub fn snr_at_loss(self, loss: f64, bytes: u32) -> f64 {
        let (mut low_db, mut high_db) = (-30.0, 60.0);
        while high_db - low_db > 1e-9 {
            let middle_db = 0.5 * (low_db + high_db);
            let hazard = self.bit_hazard(from_db(middle_db));
            let lost_more = FrameErrors::loss_of(hazard, bytes) > loss;
            if lost_more { low_db = middle_db } else { high_db = middle_db }
        }
        from_db(high_db)
    }
}

impl Mapping {
    /// Bits per symbol.
    pub const fn bits(self) -> u32 {
        match self {
            Mapping::Bpsk => 1,
            Mapping::Qpsk => 2,
            Mapping::Qam(bits) => bits as u32,
        }
    }

    /// Error probability of a coded bit at symbol energy over noise density `snr` (for square QAM the error to nearest
    /// neighbours; Proakis, 5.2.9).
    pub fn bit_error(self, snr: f64) -> f64 {
        match self {
            Mapping::Bpsk => 0.5 * libm::erfc(snr.sqrt()),
            Mapping::Qpsk => 0.5 * libm::erfc((snr / 2.0).sqrt()),
            Mapping::Qam(bits) => {
                // Levels per axis.
                let levels = f64::from(1_u32 << (bits / 2));
                let share = 2.0 * (levels - 1.0) / (levels * f64::from(bits));
                let spread = 2.0 * (levels * levels - 1.0) / 3.0;
                share * libm::erfc((snr / spread).sqrt())
            }
        }
    }
}

impl CodeRate {
    /// Data bits and coded bits of a puncturing period.
    pub const fn ratio(self) -> (u32, u32) {
        match self {
            CodeRate::Half => (1, 2),
            CodeRate::TwoThirds => (2, 3),
            CodeRate::ThreeQuarters => (3, 4),
            CodeRate::FiveSixths => (5, 6),
        }
    }

    /// The smallest distance, the step from one distance to the next, and the number of wrong data bits on all paths
    /// of each distance that begin within a puncturing period. Haccoun and Bégin, IEEE Trans. Commun. 37(11), 1989;
    /// Frenger et al., Multi-rate convolutional codes, 1998.
    fn spectrum(self) -> (u32, u32, &'static [u64]) {
        const HALF: [u64; 9] = [36, 211, 1404, 11633, 77433, 502690, 3322763, 21292910, 134365911];
        const TWO_THIRDS: [u64; 10] =
            [3, 70, 285, 1276, 6160, 27128, 117019, 498860, 2103891, 8784123];
        const THREE_QUARTERS: [u64; 10] =
            [42, 201, 1492, 10469, 62935, 379644, 2253373, 13073811, 75152755, 428005675];
        const FIVE_SIXTHS: [u64; 10] =
            [92, 528, 8694, 79453, 792114, 7375573, 67884974, 610875423, 5427275376, 47664215639];
        match self {
            CodeRate::Half => (10, 2, &HALF),
            CodeRate::TwoThirds => (6, 1, &TWO_THIRDS),
            CodeRate::ThreeQuarters => (5, 1, &THREE_QUARTERS),
            CodeRate::FiveSixths => (4, 1, &FIVE_SIXTHS),
        }
    }

    /// Union bound on the error probability of a data bit where coded bits are wrong with probability `coded`, limited
    /// to the ½ of a random guess: Σ c_d D^d / 2k with the Bhattacharyya bound D = 2 √(p (1 - p)).
    pub fn bit_error(self, coded: f64) -> f64 {
        let (least, step, weights) = self.spectrum();
        let (period, _) = self.ratio();
        let d = 2.0 * (coded * (1.0 - coded)).sqrt();
        let mut power = libm::pow(d, f64::from(least));
        let factor = libm::pow(d, f64::from(step));
        let mut sum = 0.0;
        for &weight in weights {
            sum += weight as f64 * power;
            power *= factor;
        }
        (sum / f64::from(2 * period)).min(0.5)
    }
}

/// Bit error probability of Gray-mapped differential QPSK at E_b/N₀ = `ebn0`.
fn dqpsk_error(ebn0: f64) -> f64 {
    // ζ = a/b and b²/2 in Proakis's formula. The integrand is smooth and periodic; for such functions the trapezoidal
    // rule converges faster than any power of the number of points.
    const POINTS: u32 = 128;
    let zeta = SQRT_2 - 1.0;
    let half_b2 = ebn0 * (1.0 + 1.0 / SQRT_2);
    let sum: f64 = (0..POINTS)
        .map(|k| {
            let sine = libm::sin(2.0 * PI * f64::from(k) / f64::from(POINTS));
            let shape = 1.0 + 2.0 * zeta * sine + zeta * zeta;
            (1.0 - zeta * zeta) / shape * libm::exp(-half_b2 * shape)
        })
        .sum();
    0.5 * sum / f64::from(POINTS)
}

/// Symbol error probability of 16 biorthogonal signals at energy over noise density `esn0` (Proakis, 5.2.3): the
/// outputs of all 7 other correlators must stay below that of the right correlator in magnitude.
fn biorthogonal_error(esn0: f64) -> f64 {
    const STEP: f64 = 0.125;
    let beta = (2.0 * esn0).sqrt();
    // The bound 14 Q(√(E_s/N₀)) is less than e^-800 here.
    if beta > 57.0 {
        return 0.0;
    }
    // Where the right correlator outputs u, the others exceed it with probability 1 - (1 - t)⁷; below zero the sign of
    // the right correlator is wrong. All derivatives but the seventh are continuous and both tails vanish, so that a
    // plain sum is accurate.
    let steps = ((beta + 18.0) / STEP).ceil() as u32;
    let sum: f64 = (0..=steps)
        .map(|k| {
            let u = -9.0 + STEP * f64::from(k);
            let fails = if u <= 0.0 {
                1.0
            } else {
                -libm::expm1(7.0 * libm::log1p(-libm::erfc(u / SQRT_2)))
            };
            fails * libm::exp(-0.5 * (u - beta) * (u - beta))
        })
        .sum();
    STEP * sum / (2.0 * PI).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Weight of the coded bits -> number of paths, and of data bits set on them.
    type Weights = BTreeMap<u32, (u64, u64)>;

    /// One period of the encoder from all paths of `states`; heavier ones than `most` are dropped.
    fn period(
        mut states: BTreeMap<u32, Weights>,
        kept: &[(u32, u32)],
        most: u32,
    ) -> BTreeMap<u32, Weights> {
        let coded = |register: u32, generator: u32| (register & generator).count_ones() % 2;
        for &(keep_a, keep_b) in kept {
            let mut next: BTreeMap<u32, Weights> = BTreeMap::new();
            for (state, weights) in &states {
                for bit in 0..2 {
                    let register = bit << 6 | state;
                    let added = keep_a * coded(register, 0o133) + keep_b * coded(register, 0o171);
                    let to = next.entry(register >> 1).or_default();
                    for (weight, (paths, bits)) in weights.range(..=most - added) {
                        let sum = to.entry(weight + added).or_default();
                        *sum = (sum.0 + paths, sum.1 + bits + paths * u64::from(bit));
                    }
                }
            }
            states = next;
        }
        states
    }

    /// Walks all paths that leave the state 0 and come back, in whole periods, through the trellis.
    #[test]
    fn spectra_are_those_of_the_code() {
        let codes: [(CodeRate, &[(u32, u32)]); 4] = [
            (CodeRate::Half, &[(1, 1)]),
            (CodeRate::TwoThirds, &[(1, 1), (1, 0)]),
            (CodeRate::ThreeQuarters, &[(1, 1), (1, 0), (0, 1)]),
            (CodeRate::FiveSixths, &[(1, 1), (1, 0), (0, 1), (1, 0), (0, 1)]),
        ];
        for (code, kept) in codes {
            let (least, step, listed) = code.spectrum();
            assert_eq!(code.ratio().0 as usize, kept.len());
            let most = least + step * (listed.len() as u32 - 1);
            let start = BTreeMap::from([(0, Weights::from([(0, (1, 0))]))]);
            let mut states = period(start, kept, most);
            states.get_mut(&0).expect("stays").remove(&0).expect("the path that never leaves");
            let mut found: BTreeMap<u32, u64> = BTreeMap::new();
            while !states.is_empty() {
                for (weight, (_, bits)) in states.remove(&0).unwrap_or_default() {
                    *found.entry(weight).or_default() += bits;
                }
                states = period(states, kept, most);
                states.retain(|_, weights| !weights.is_empty());
            }
            let expected = (0u32..).zip(listed).map(|(k, &w)| (least + step * k, w));
            assert_eq!(found, expected.collect(), "{code:?}");
        }
    }
}
