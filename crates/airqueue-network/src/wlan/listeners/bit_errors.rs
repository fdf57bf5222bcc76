//! Frames lost to bit errors.

use airqueue_core::{RandomStream, Seed};
use airqueue_wifi::RateIndex;
use airqueue_wifi::medium::{FrameErrors, Modulation, Signal, StationId};
use airqueue_wifi::phy::{Mcs, Phy};

/// Decides for each decoded frame whether noise destroyed it. Each receiver has its own random stream: what others hear
/// does not change its draws.
#[derive(Clone, Debug)]
pub(super) struct BitErrors {
    errors: FrameErrors,
    noise_w: f64,
    /// The modulation of each rate, and the MCS of rates of 802.11n and later.
    modulations: Vec<(Modulation, Option<Mcs>)>,
    /// Cache of bit error hazards: without motion the same power ratios recur.
    known: Vec<Known>,
    rng: Vec<RandomStream>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    snr: f64,
    rate: usize,
    hazard: f64,
}

/// Number of entries in the cache.
const KNOWN: usize = 1 << 12;

impl BitErrors {
    pub(super) fn new(
        errors: FrameErrors,
        noise_w: f64,
        phy: &Phy,
        stations: usize,
        seed: Seed,
    ) -> BitErrors {
        let by_snr = errors == FrameErrors::BySnr;
        let nothing = Known { snr: f64::NAN, rate: 0, hazard: 0.0 };
        let drawing = if errors == FrameErrors::None { 0 } else { stations };
        BitErrors {
            errors,
            noise_w,
            modulations: phy
                .rates()
                .map(|(rate, _)| (phy.modulation(rate), phy.mcs(rate)))
                .collect(),
            known: if by_snr { vec![nothing; KNOWN] } else { Vec::new() },
            rng: (0..drawing).map(|at| seed.stream(&format!("wifi/errors/{at}"))).collect(),
        }
    }

    /// Whether frames can be lost to bit errors.
    #[inline]
    pub(super) fn happen(&self) -> bool {
        self.errors != FrameErrors::None
    }

    /// Probability that noise alone destroys a frame of `bytes` bytes that a station hears.
    #[inline]
    pub(super) fn loss(&mut self, rate: RateIndex, bytes: u32, signal: Signal) -> f64 {
        if self.errors != FrameErrors::BySnr {
            let (modulation, _) = self.modulations[rate.as_usize()];
            return self.errors.loss(modulation, 0.0, bytes);
        }
        FrameErrors::loss_of(self.hazard(rate, 0.0, signal.power_w), bytes)
    }

    /// Whether losses depend on the signal-to-noise ratio.
    pub(super) fn are_by_snr(&self) -> bool {
        self.errors == FrameErrors::BySnr
    }

    /// The hazard of a bit ([`Modulation::bit_hazard`]) at a received power, where errors are by signal-to-noise ratio.
    #[inline]
    pub(super) fn hazard(&mut self, rate: RateIndex, interference_w: f64, power_w: f64) -> f64 {
        let rate = rate.as_usize();
        let (modulation, mcs) = self.modulations[rate];
        let snr = snr(mcs, power_w, self.noise_w, interference_w);
        let place = (snr.to_bits() ^ (rate as u64) << 52).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let known = &mut self.known[(place >> 52) as usize];
        if known.snr != snr || known.rate != rate {
            *known = Known { snr, rate, hazard: modulation.bit_hazard(snr) };
        }
        known.hazard
    }

    /// Draws whether a loss of this probability happens at a station's reception.
    #[inline]
    pub(super) fn strikes(&mut self, station: StationId, probability: f64) -> bool {
        self.rng[station.index()].bernoulli(probability)
    }
}

/// The signal-to-noise ratio for [`FrameErrors`], for a scheme of 802.11n and later or for an older rate.
#[inline]
pub fn snr(mcs: Option<Mcs>, power_w: f64, noise_w: f64, interference_w: f64) -> f64 {
    match mcs {
        Some(mcs) => mcs.stream_snr(power_w, noise_w, interference_w),
        None => power_w / (noise_w + interference_w),
    }
}
