//! The signal that a rate needs.

use super::{Phy, RateIndex};

impl Phy {
    /// Received power (of all streams together) relative to the noise in 20 MHz, in 22 MHz for DSSS, at which a PSDU
    /// of `bytes` bytes at this rate is lost with probability `loss`: see [`Mcs::stream_snr`] and
    /// [`Modulation::snr_at_loss`].
    ///
    /// [`Mcs::stream_snr`]: super::Mcs::stream_snr
    /// [`Modulation::snr_at_loss`]: crate::medium::Modulation::snr_at_loss
    pub fn needed_snr(&self, index: RateIndex, loss: f64, bytes: u32) -> f64 {
        let snr = self.modulation(index).snr_at_loss(loss, bytes);
        // The SNR of a stream is proportional to the power.
        let of_one = self.mcs(index).map_or(1.0, |mcs| mcs.stream_snr(1.0, 1.0, 0.0));
        snr / of_one
    }
}
