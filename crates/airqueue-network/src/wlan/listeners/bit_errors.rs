//! Frames lost to bit errors.

use airqueue_core::{RandomStream, Seed};
use airqueue_wifi::RateIndex;
use airqueue_wifi::medium::{FrameErrors, Modulation, Signal, StationId};
use airqueue_wifi::phy::{Mcs, Phy};

/// Decides for each decoded frame whether its bits arrived. Each receiver has a stream of its own: what
/// others hear does not change its luck.
#[derive(Clone, Debug)]
pub(super) struct BitErrors {
    errors: FrameErrors,
    noise_w: f64,
    /// The modulation of each rate, and its scheme from 802.11n on.
    modulations: Vec<(Modulation, Option<Mcs>)>,
    /// Bit hazards that were computed before: in a network without motion the same ratios of power return.
    known: Vec<Known>,
    rng: Vec<RandomStream>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    snr: f64,
    rate: usize,
    hazard: f64,
}

/// Places of the table of known hazards.
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

    /// Whether there are any.
    #[inline]
    pub(super) fn happen(&self) -> bool {
        self.errors != FrameErrors::None
    }

    /// The probability that noise takes so many bytes of a frame that a station hears with `interference_w` beside it.
    #[inline]
    pub(super) fn loss(
        &mut self,
        rate: RateIndex,
        bytes: u32,
        interference_w: f64,
        signal: impl FnOnce() -> Signal,
    ) -> f64 {
        let rate = rate.as_usize();
        let (modulation, mcs) = self.modulations[rate];
        if self.errors != FrameErrors::BySnr {
            return self.errors.loss(modulation, 0.0, bytes);
        }
        let power_w = signal().power_w;
        let snr = snr(mcs, power_w, self.noise_w, interference_w);
        let place = (snr.to_bits() ^ (rate as u64) << 52).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let known = &mut self.known[(place >> 52) as usize];
        if known.snr != snr || known.rate != rate {
            *known = Known { snr, rate, hazard: modulation.bit_hazard(snr) };
        }
        FrameErrors::loss_of(known.hazard, bytes)
    }

    /// Whether what happens to a station's reception with this probability does.
    #[inline]
    pub(super) fn strikes(&mut self, station: StationId, probability: f64) -> bool {
        self.rng[station.index()].bernoulli(probability)
    }
}

/// The signal-to-noise ratio that [`FrameErrors`] ask for, of a scheme of 802.11n and later or of an older rate.
#[inline]
pub fn snr(mcs: Option<Mcs>, power_w: f64, noise_w: f64, interference_w: f64) -> f64 {
    match mcs {
        Some(mcs) => mcs.stream_snr(power_w, noise_w, interference_w),
        None => power_w / (noise_w + interference_w),
    }
}
