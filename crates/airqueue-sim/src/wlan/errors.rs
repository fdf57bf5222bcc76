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

    /// What noise does to a frame, which no other has destroyed, where a station hears it.
    #[inline]
    pub(super) fn at(
        &mut self,
        frame: &Frame,
        station: usize,
        end: &End,
        signal: impl FnOnce() -> Signal,
    ) -> Noise<'_> {
        let (modulation, mcs) = self.modulations[frame.rate.as_usize()];
        let hazard = match self.errors {
            FrameErrors::BySnr => {
                self.hazard(frame.rate.as_usize(), modulation, mcs, signal(), end)
            }
            _ => 0.0,
        };
        Noise { errors: self.errors, modulation, hazard, chance: self.chance.get_mut(station) }
    }

    fn hazard(
        &mut self,
        rate: usize,
        modulation: Modulation,
        mcs: Option<Mcs>,
        signal: Signal,
        end: &End,
    ) -> f64 {
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
        known.hazard
    }
}

/// Noise around a frame at a receiver.
#[derive(Debug)]
pub(super) struct Noise<'a> {
    errors: FrameErrors,
    modulation: Modulation,
    /// By signal-to-noise ratio.
    hazard: f64,
    /// None: nothing is lost.
    chance: Option<&'a mut Stream>,
}

impl Noise<'_> {
    /// Whether so many bytes of the frame are lost.
    #[inline]
    pub(super) fn takes(&mut self, bytes: u32) -> bool {
        let loss = self.loss(bytes);
        self.chance.as_mut().is_some_and(|chance| chance.chance(loss))
    }

    /// Whether all of the frame is lost: a station for which it is not understands any MPDU of it. Those of an A-MPDU
    /// count as equally long.
    #[inline]
    pub(super) fn takes_all(&mut self, frame: &Frame) -> bool {
        let mpdus = u32::from(frame.mpdus);
        let loss = match mpdus {
            1 => self.loss(frame.bytes),
            _ => libm::pow(self.loss(frame.bytes / mpdus), mpdus.into()),
        };
        self.chance.as_mut().is_some_and(|chance| chance.chance(loss))
    }

    fn loss(&self, bytes: u32) -> f64 {
        match self.errors {
            FrameErrors::BySnr => FrameErrors::loss_of(self.hazard, bytes),
            _ => self.errors.loss(self.modulation, 0.0, bytes),
        }
    }
}
