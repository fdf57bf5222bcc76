//! What other frames leave of one where it is heard.

use airqueue_core::{Span, Time};
use airqueue_wifi::mac::Frame;
use airqueue_wifi::medium::{End, Hit};
use airqueue_wifi::phy::Phy;

/// All of a frame, none of it, or those MPDUs of an A-MPDU that were on the air before and after it was hit.
#[derive(Clone, Copy, Debug)]
pub(super) enum Spared {
    All,
    Some(Around),
    Nothing,
}

/// An A-MPDU with a hit behind its preamble.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around {
    hit: Hit,
    /// When the first bit of the PSDU is on the air.
    begins: Time,
    /// From then to the last.
    lasts: Span,
    psdu_bytes: u32,
}

impl Spared {
    #[inline]
    pub(super) fn of(frame: &Frame, end: &End, begins: Time, ends: Time, phy: &Phy) -> Spared {
        match end.hit {
            _ if end.outcome.decoded() => Spared::All,
            Some(hit) if frame.mpdus > 1 => Spared::of_hit(frame, hit, begins, ends, phy),
            _ => Spared::Nothing,
        }
    }

    #[cold]
    fn of_hit(frame: &Frame, hit: Hit, begins: Time, ends: Time, phy: &Phy) -> Spared {
        let begins = begins + phy.preamble(frame.rate);
        if hit.from < begins {
            return Spared::Nothing;
        }
        let lasts = ends - begins - phy.signal_extension(frame.rate);
        Spared::Some(Around { hit, begins, lasts, psdu_bytes: frame.bytes })
    }

    /// Whether any MPDU of a frame is spared; those of an A-MPDU count as equally long.
    #[inline]
    pub(super) fn any(&self, frame: &Frame) -> bool {
        match self {
            Spared::All => true,
            Spared::Some(around) => {
                let one = frame.bytes / u32::from(frame.mpdus);
                around.spares(0, one) || around.spares(frame.bytes - one, frame.bytes)
            }
            Spared::Nothing => false,
        }
    }
}

impl Around {
    /// Whether these bytes of the PSDU are spared, up to but without `to`.
    pub(super) fn spares(&self, from: u32, to: u32) -> bool {
        let at = |byte: u32| {
            let nanos = i128::from(self.lasts.as_nanos()) * i128::from(byte);
            self.begins + Span::from_nanos((nanos / i128::from(self.psdu_bytes)) as i64)
        };
        at(to) <= self.hit.from || at(from) >= self.hit.until
    }
}
