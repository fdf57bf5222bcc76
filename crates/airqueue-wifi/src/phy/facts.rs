//! A layer's numbers as they are, for formulas that are not of the engine: those of the models.

use super::layer::Control;
use super::{Phy, RateIndex};
use airqueue_core::{DataRate, Span};
use std::slice;

/// How the bytes of a PSDU become time on the air, `8 L` bits of them:
///
/// ```text
/// symbols = ceil((extra_bits + 8 L) / bits)
/// on air  = ceil(symbols · duration / boundary) · boundary
/// ```
///
/// DSSS has no symbols here: its "symbol" is the time to which its frames are rounded up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Symbols {
    /// SERVICE field in front and tail of the code behind; none in DSSS.
    pub extra_bits: f64,
    /// Data bits of a symbol (N_DBPS).
    pub bits: f64,
    /// Guard interval included.
    pub duration: Span,
    /// What the end of a frame is rounded up to.
    pub boundary: Span,
}

impl Phy {
    /// The same layer with other channel access timing: aSlotTime, aSIFSTime, and the numbers of values
    /// of the smallest and the largest contention window. The control rates stay.
    pub fn with_access(mut self, slot: Span, sifs: Span, w_min: u32, w_max: u32) -> Phy {
        self.layer.slot = slot;
        self.layer.sifs = sifs;
        self.layer.w_min = w_min;
        self.layer.w_max = w_max;
        Phy::derived(self.layer, self.control)
    }

    /// The rates of the responses: BSSBasicRateSet, or the one of [`Phy::with_control_rate`].
    pub fn basic_rates(&self) -> &[DataRate] {
        match &self.control {
            Control::Basic(rates) => rates,
            Control::Fixed(rate) => slice::from_ref(rate),
        }
    }

    /// Whether control frames may be sent at a rate: at those of DSSS and OFDM.
    pub fn is_control(&self, index: RateIndex) -> bool {
        self.mode(index).control
    }

    /// A rate as near as a float can be: from 802.11n on it is no whole number of bits per second.
    pub fn bits_per_second(&self, index: RateIndex) -> f64 {
        self.mode(index).bits_per_second()
    }

    /// The symbols of a rate.
    pub fn symbols(&self, index: RateIndex) -> Symbols {
        let coding = self.mode(index).coding;
        let units_per_bit = f64::from(coding.units_per_byte) / 8.0;
        Symbols {
            extra_bits: f64::from(coding.fixed_units) / units_per_bit,
            bits: f64::from(coding.units_per_symbol) / units_per_bit,
            duration: coding.symbol,
            boundary: coding.boundary,
        }
    }

    /// [`Phy::airtime`] of a PSDU whose bytes need not be a whole number, as a mean is: a bit that is
    /// begun counts. From 0 to 2^32 bytes; what lies outside counts as the nearer end.
    pub fn airtime_of_fraction(&self, index: RateIndex, psdu_bytes: f64) -> Span {
        self.timing(index).airtime.of_fraction(psdu_bytes)
    }
}
