//! When the parts of a frame are on the air.

use airqueue_core::{Span, Time};
use airqueue_wifi::mac::Frame;
use airqueue_wifi::medium::Air;
use airqueue_wifi::phy::Phy;

/// A frame's preamble and the bytes of its PSDU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    begins: Time,
    /// When the first bit of the PSDU is on the air.
    first_bit: Time,
    /// Duration from the first bit to the last.
    lasts: Span,
    psdu_bytes: u32,
}

impl Parts {
    pub(super) fn of(frame: &Frame, begins: Time, ends: Time, phy: &Phy) -> Parts {
        let first_bit = begins + phy.preamble(frame.rate);
        let lasts = ends - first_bit - phy.signal_extension(frame.rate);
        Parts { begins, first_bit, lasts, psdu_bytes: frame.bytes }
    }

    pub(super) fn preamble(&self) -> Air {
        Air { begins: self.begins, ends: self.first_bit }
    }

    /// Airtime of the bytes from `from` up to but excluding `to`.
    pub(super) fn bytes(&self, from: u32, to: u32) -> Air {
        let at = |byte: u32| {
            let (lasts, bytes) = (self.lasts.as_nanos(), i64::from(byte.min(self.psdu_bytes)));
            let all = i64::from(self.psdu_bytes);
            // In 64 bits where they are enough, which is always: 128-bit division is slow.
            let nanos = match lasts.checked_mul(bytes) {
                Some(product) => product / all,
                None => (i128::from(lasts) * i128::from(bytes) / i128::from(all)) as i64,
            };
            self.first_bit + Span::from_nanos(nanos)
        };
        Air { begins: at(from), ends: at(to) }
    }
}
