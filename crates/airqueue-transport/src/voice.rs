//! Calls: codecs, and the quality of a conversation with delay and losses, by the E-model (ITU-T G.107).
//!
//! ```text
//! R       = 93.2 - Idd(Ta) - Ie,eff
//! Idd     = 25 [(1 + X⁶)^(1/6) - 3 (1 + (X/3)⁶)^(1/6) + 2],  X = log₂(Ta/100 ms);  0 up to 100 ms
//! Ie,eff  = Ie + (95 - Ie) Ppl/(Ppl/BurstR + Bpl)             Ppl in percent
//! MOS     = 1 + 0.035 R + 7·10⁻⁶ R (R - 60)(100 - R)          1 below R = 0, 4.5 above 100
//! ```
//!
//! All other parameters have the defaults of G.107; the delay sensitivity is sT = 1, mT = 100 ms, and echo is
//! cancelled: Idd is the only term of the delay.

use airqueue_core::Span;

/// R of the full G.107 model at its default values, without delay and loss; G.107 prints 93.2.
const R_DEFAULT: f64 = 93.2062;

/// Bytes of an IPv4, a UDP and an RTP header (RFC 3550).
pub const HEADERS_BYTES: u32 = 20 + 8 + 12;

/// A codec's planning values (ITU-T G.113, appendix I) and durations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Codec {
    /// The name of the codec.
    pub name: &'static str,
    /// Ie: impairment without loss.
    pub ie: f64,
    /// Bpl: robustness against loss, in percent.
    pub bpl: f64,
    /// Speech per frame.
    pub frame: Span,
    /// Speech that the coder needs beyond the frame, or that loss concealment holds back, before it can work.
    pub lookahead: Span,
    /// Usual number of frames per packet.
    pub frames_per_packet: u32,
    /// Bytes of a frame.
    pub frame_bytes: u32,
}

/// G.711 with the concealment of its appendix I (10 ms, 3.75 ms of overlap).
pub const G711_PLC: Codec = Codec {
    name: "g711-plc",
    ie: 0.0,
    bpl: 25.1,
    frame: Span::from_millis(10),
    lookahead: Span::from_micros(3750),
    frames_per_packet: 2,
    frame_bytes: 80,
};

/// G.729.
pub const G729: Codec = Codec {
    name: "g729",
    ie: 10.0,
    bpl: 19.0,
    frame: Span::from_millis(10),
    lookahead: Span::from_millis(5),
    frames_per_packet: 2,
    frame_bytes: 10,
};

/// G.729A with voice activity detection.
pub const G729A_VAD: Codec = Codec { name: "g729a-vad", ie: 11.0, ..G729 };

/// All codecs.
pub const CODECS: [&Codec; 3] = [&G711_PLC, &G729, &G729A_VAD];

impl Codec {
    /// The rate of the codec's frames, in bits per second.
    pub fn rate_bps(&self) -> f64 {
        8.0 * f64::from(self.frame_bytes) / self.frame.as_secs_f64()
    }

    /// Ie,eff: the impairment by losses, in points of R.
    ///
    /// `loss`: share of packets that are lost or arrive too late, 0 to 1; G.107 permits 0.2. `burst_ratio`: BurstR,
    /// mean length of loss runs relative to that of independent losses; above 0.
    pub fn loss_impairment(&self, loss: f64, burst_ratio: f64) -> f64 {
        let percent = 100.0 * loss;
        self.ie + (95.0 - self.ie) * (percent / (percent / burst_ratio + self.bpl))
    }

    /// R at a mouth-to-ear delay, with losses as above; values below 0 are possible and as bad as 0.
    pub fn r_factor(&self, mouth_to_ear_s: f64, loss: f64, burst_ratio: f64) -> f64 {
        R_DEFAULT - (delay_impairment(mouth_to_ear_s) + self.loss_impairment(loss, burst_ratio))
    }
}

/// Delay by coding: `(N + 1) frame + look-ahead` for N frames per packet (ITU-T G.114). The packet is sent when N
/// frames have been spoken, and coding takes up to a frame.
pub fn coding_delay_s(codec: &Codec, frames: f64) -> f64 {
    (frames + 1.0) * codec.frame.as_secs_f64() + codec.lookahead.as_secs_f64()
}

/// Idd of a mouth-to-ear delay of at least 0 s: rises from 0 to 50, continuous with its slope at 100 ms. G.107 permits
/// 0.5 s; longer delays are not covered by listening tests.
pub fn delay_impairment(mouth_to_ear_s: f64) -> f64 {
    let x = libm::log2(mouth_to_ear_s.max(0.1)) - libm::log2(0.1);
    f64::max(0.0, 25.0 * (sixth(x) - 3.0 * sixth(x / 3.0) + 2.0))
}

/// The mean opinion score of an R (G.107, annex B), 1 to 4.5.
pub fn mos(r: f64) -> f64 {
    mos_as_printed(r).max(1.0)
}

/// As printed, with the cubic's dip below 1, to 0.989, between R = 0 and 6.5, although 1 is the lowest score.
pub fn mos_as_printed(r: f64) -> f64 {
    let r = r.clamp(0.0, 100.0);
    1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r)
}

fn sixth(x: f64) -> f64 {
    let square = x * x;
    libm::pow(1.0 + square * square * square, 1.0 / 6.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand from the equations: G.729A with VAD at 200 ms and 3 % of independent losses. X = 1, so that Idd is
    /// 25 (2^(1/6) - 3 (1 + 3⁻⁶)^(1/6) + 2) = 3.044; Ie,eff = 11 + 84 · 3/22.
    #[test]
    fn a_worked_call() {
        assert!((delay_impairment(0.2) - 3.0443).abs() < 5e-4, "{}", delay_impairment(0.2));
        let loss = G729A_VAD.loss_impairment(0.03, 1.0);
        assert!((loss - (11.0 + 84.0 * 3.0 / 22.0)).abs() < 1e-12);
        let r = G729A_VAD.r_factor(0.2, 0.03, 1.0);
        assert!((r - (93.2062 - 3.0443 - 22.4545)).abs() < 1e-3, "{r}");
        // At R = 60 the cubic term is 0.
        assert!((mos(60.0) - 3.1).abs() < 1e-12);
    }

    #[test]
    fn scores_have_ends() {
        assert_eq!(
            [mos(-5.0), mos(0.0), mos(3.0), mos(100.0), mos(120.0)],
            [1.0, 1.0, 1.0, 4.5, 4.5]
        );
        assert!(mos_as_printed(3.0) < 1.0);
        assert_eq!([0.0, 0.05, 0.1].map(delay_impairment), [0.0; 3]);
    }

    #[test]
    fn codecs_have_their_rates_and_delays() {
        let rates = CODECS.map(|codec| (codec.name, codec.rate_bps().round()));
        assert_eq!(rates, [("g711-plc", 64e3), ("g729", 8e3), ("g729a-vad", 8e3)]);
        // G.114: 25 ms for G.729 with a frame in each packet.
        assert!((coding_delay_s(&G729, 1.0) - 0.025).abs() < 1e-12);
    }
}
