//! Frames lost to bit errors.

use airqueue_core::{Seed, Stream};
use airqueue_wifi::mac::Frame;
use airqueue_wifi::medium::{End, FrameErrors, Modulation, Signal};
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
    chance: Vec<Stream>,
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
            chance: (0..drawing).map(|at| seed.stream(&format!("wifi/errors/{at}"))).collect(),
        }
    }

    /// Whether there are any.
    #[inline]
    pub(super) fn happen(&self) -> bool {
        self.errors != FrameErrors::None
    }

    /// True if the frame, which no other destroyed where a station hears it, is lost all the same.
    #[inline]
    pub(super) fn lose(
        &mut self,
        frame: &Frame,
        station: usize,
        end: &End,
        signal: impl FnOnce() -> Signal,
    ) -> bool {
        if !self.happen() {
            return false;
        }
        let loss = self.loss(frame, signal(), end);
        self.chance[station].chance(loss)
    }

    fn loss(&mut self, frame: &Frame, signal: Signal, end: &End) -> f64 {
        let rate = frame.rate.as_usize();
        let (modulation, mcs) = self.modulations[rate];
        if self.errors != FrameErrors::BySnr {
            return self.errors.loss(modulation, 0.0, frame.bytes);
        }
        let (power_w, interference_w) = (signal.power_w, end.interference_w);
        let snr = match mcs {
            Some(mcs) => mcs.stream_snr(power_w, self.noise_w, interference_w),
            None => power_w / (self.noise_w + interference_w),
        };
        let place = (snr.to_bits() ^ (rate as u64) << 52).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let known = &mut self.known[(place >> 52) as usize];
        if known.snr != snr || known.rate != rate {
            *known = Known { snr, rate, hazard: modulation.bit_hazard(snr) };
        }
        FrameErrors::loss_of(known.hazard, frame.bytes)
    }
}
