//! The rules for frames that overlap at a receiver, and what becomes of the frames.

use airqueue_core::{Span, Time};

/// A transmission, identified by a number that the engine chooses, unique among the frames on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId(pub u64);

/// When a frame is on the air: from `begins` up to, but not including, `ends`, which is later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Air {
    /// Its first instant.
    pub begins: Time,
    /// The first instant after it.
    pub ends: Time,
}

/// The rule for frames that overlap at a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Capture {
    /// Any overlap destroys all frames in it. Frames below [`super::Level::Sensed`] do not count.
    None,
    /// As ns-2's `Mac/802_11` (`mac/mac-802_11.cc`, functions `recv`, `capture`, `collision`). The receiver locks onto
    /// the first frame that it senses, decodable or not. A later frame is ignored if the first is at least `margin_db`
    /// stronger; otherwise both frames are destroyed, however strong the later frame is. After a collision the
    /// receiver stays with the frame that ends last, and compares later frames with this frame. Interference does not
    /// add up. An ignored frame is forgotten: it does not disturb frames that begin after the first has ended.
    ///
    /// Frames that begin at the same instant are treated as in ns-2 with propagation delays: the strongest frame comes
    /// from the nearest station and is the first.
    Ns2 {
        /// Margin in dB; 10 in ns-2 (`CPThresh_`, a ratio in ns-2).
        margin_db: f64,
    },
    /// The receiver locks onto a decodable frame if at the beginning of the frame its power is at least `threshold_db`
    /// above noise plus the sum of all other frames. The frame is lost if this condition ever fails before its end.
    /// The receiver stays with a frame to the end, lost or not. Of several frames that begin together the receiver
    /// locks onto the strongest. Frames that it does not lock onto leave it free for the next frame.
    Sinr {
        /// Smallest ratio of signal to interference plus noise, in dB.
        threshold_db: f64,
        /// Noise in the receiver's bandwidth, in watts ([`super::thermal_noise_w`]).
        noise_w: f64,
        /// Frames that begin within this time after the first of them count as beginning together: the receiver has
        /// not detected a preamble yet.
        window: Span,
    },
}

impl Capture {
    /// ns-2's defaults.
    pub const NS2: Capture = Capture::Ns2 { margin_db: 10.0 };
}

/// The outcome of a frame at one receiver. Bit errors come after this, for frames that survived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RxOutcome {
    /// Decoded; no frame that counts overlapped it.
    Received,
    /// Decoded although other frames overlapped it.
    Captured,
    /// Lost to frames that overlapped it.
    Collided,
    /// Lost because the receiver was locked onto another frame, which this frame did not harm or which came first.
    Overpowered,
    /// Too weak to be decoded, even alone.
    Undecodable,
    /// Lost because the station itself transmitted during it.
    Deaf,
}

impl RxOutcome {
    /// True if the frame survived.
    pub fn decoded(self) -> bool {
        matches!(self, RxOutcome::Received | RxOutcome::Captured)
    }
}

/// The end of a frame at one receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct End {
    /// The outcome of the frame.
    pub outcome: RxOutcome,
    /// True if the receiver stayed with this frame to the end of the frame: a reception ends here, in an error if the
    /// frame is not [`RxOutcome::decoded`], and EIFS is for such errors. Of frames that collided under
    /// [`Capture::None`] and [`Capture::Ns2`] only the last frame has `engaged` set. False while the station itself
    /// transmits.
    pub engaged: bool,
    /// True if the receiver was with another frame when this frame began and stayed with the other:
    /// [`RxOutcome::Overpowered`], and under [`Capture::Ns2`], where a station that transmits continues its reception,
    /// also [`RxOutcome::Deaf`].
    pub ignored: bool,
    /// Other frames were on the air during a decodable frame that the receiver was with: [`super::Reception::beside`] says
    /// for each part of the frame whether the part survived, [`super::Reception::overlaps`] what added to the noise.
    pub overlapped: bool,
}

impl End {
    /// The end of a frame that came to nothing, because the station transmitted.
    pub const DEAF: End =
        End { outcome: RxOutcome::Deaf, engaged: false, ignored: false, overlapped: false };
}
