//! The numbers of a layer for formulas outside the engine: those of the models.

use super::layer::Control;
use super::{Phy, RateIndex};
use airqueue_core::{DataRate, Span};
use std::slice;

/// How the bytes of a PSDU, `8 L` bits, become airtime:
///
/// ```text
/// symbols = ceil((extra_bits + 8 L) / bits)
/// on air  = ceil(symbols · duration / boundary) · boundary
/// ```
///
/// DSSS has no symbols here: its "symbol" is the unit to which its frames are rounded up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Symbols {
    /// SERVICE field before and tail of the code after the PSDU; 0 in DSSS.
    pub extra_bits: f64,
    /// Data bits per symbol (N_DBPS).
    pub bits: f64,
    /// Duration of a symbol with its guard interval.
    pub duration: Span,
    /// The unit to which the end of a frame is rounded up.
    pub boundary: Span,
}

impl Phy {
    /// This layer with other channel access timing: aSlotTime, aSIFSTime, and the numbers of values in the smallest
    /// and the largest contention window. The control rates stay.
    pub fn with_access(mut self, slot: Span, sifs: Span, w_min: u32, w_max: u32) -> Phy {
        self.layer.slot = slot;
        self.layer.sifs = sifs;
        self.layer.w_min = w_min;
        self.layer.w_max = w_max;
        Phy::derived(self.layer, self.control)
    }

    /// This layer with the slot of a coverage class: aAirPropagationTime, twice the time that a signal takes across the
    /// network, adds 3 µs a class to aSlotTime, and by it to DIFS, AIFS, EIFS and the wait for a response (IEEE 802.11-2016,
    /// 6.5.4 and 17.3.8.7; `set_coverage_class` of mac80211). Classes are 0 to [`Phy::MOST_COVERAGE`].
    pub fn with_coverage_class(mut self, class: u32) -> Phy {
        self.layer.slot = self.layer.slot + Span::from_micros(3 * i64::from(class));
        Phy::derived(self.layer, self.control)
    }

    /// The largest coverage class.
    pub const MOST_COVERAGE: u32 = 31;

    /// The rates of responses: BSSBasicRateSet, or the rate of [`Phy::with_control_rate`].
    pub fn basic_rates(&self) -> &[DataRate] {
        match &self.control {
            Control::Basic(rates) => rates,
            Control::Fixed(rate) => slice::from_ref(rate),
        }
    }

    /// Whether control frames may be sent at a rate: true for DSSS and OFDM.
    pub fn is_control(&self, index: RateIndex) -> bool {
        self.mode(index).control
    }

    /// A rate as the nearest float: from 802.11n on it is not a whole number of bits per second.
    pub fn bits_per_second(&self, index: RateIndex) -> f64 {
        self.mode(index).bits_per_second()
    }

    /// The symbol parameters of a rate.
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

    /// [`Phy::airtime`] of a PSDU with a fractional number of bytes, such as a mean: a part of a bit counts as a bit.
    /// From 0 to 2^32 bytes; values outside are limited to this range.
    pub fn airtime_of_fraction(&self, index: RateIndex, psdu_bytes: f64) -> Span {
        self.timing(index).airtime.of_fraction(psdu_bytes)
    }
}
