//! One rate of a layer, and the closed formula for the duration of a frame at this rate.

use super::Format;
use super::error::mbps;
use super::frames::DELIMITER_BYTES;
use super::mcs::Mcs;
use airqueue_core::{AirRate, DataRate, Span};

/// Families of modulation (IEEE 802.11-2016, table 10-9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModulationClass {
    /// DSSS and HR/DSSS: 1, 2, 5.5, 11 Mb/s.
    Dsss,
    /// OFDM and ERP-OFDM: 6 to 54 Mb/s.
    Ofdm,
    /// A format of 802.11n or later.
    Format(Format),
}

impl ModulationClass {
    /// The class of the response to a frame (10.7.6.5.2): a response never switches between DSSS and OFDM, and all
    /// stations of a later class support OFDM.
    pub fn of_response(self) -> ModulationClass {
        match self {
            ModulationClass::Dsss => ModulationClass::Dsss,
            _ => ModulationClass::Ofdm,
        }
    }

    /// Whether the class belongs to 802.11n or later, so that its frames may be A-MPDUs.
    pub fn is_ht_or_later(self) -> bool {
        !matches!(self, ModulationClass::Dsss | ModulationClass::Ofdm)
    }
}

/// The definition of one rate of a layer.
#[derive(Clone, Debug)]
pub(super) struct Mode {
    pub(super) rate: DataRate,
    pub(super) class: ModulationClass,
    /// Upper limit of the response's rate: the rate itself, or from 802.11n on the non-HT reference rate with equal
    /// modulation and coding (table 10-8).
    pub(super) reference: DataRate,
    /// Whether control frames may use the rate: not in the formats of 802.11n and later.
    pub(super) control: bool,
    /// Whether every station of the layer supports the rate.
    pub(super) mandatory: bool,
    /// Preamble and PHY header, after which a receiver has detected the frame.
    pub(super) preamble: Span,
    /// Silence after the last symbol, as part of the frame.
    pub(super) extension: Span,
    /// The parameters of a scheme of 802.11n or later.
    pub(super) scheme: Option<OfScheme>,
    pub(super) coding: Coding,
}

/// The additional parameters of the mode of a scheme.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfScheme {
    pub(super) mcs: Mcs,
    /// Largest number of MPDUs of an A-MPDU.
    pub(super) window: u32,
    /// The longest A-MPDU.
    pub(super) max_ampdu_bytes: u32,
    /// Delimiter before a single MPDU.
    pub(super) single_delimiter_bytes: u32,
}

/// How bytes become airtime:
///
/// ```text
/// symbols = ceil((fixed_units + units_per_byte · L) / units_per_symbol)
/// on air  = ceil(symbols · symbol / boundary) · boundary
/// ```
///
/// A unit is a bit, or a fraction of a bit where a symbol does not have a whole number of bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coding {
    pub(super) fixed_units: u32,
    pub(super) units_per_byte: u32,
    /// At least 2.
    pub(super) units_per_symbol: u32,
    pub(super) symbol: Span,
    /// The unit to which the end of a frame is rounded up: 4 µs with short guard intervals; `symbol` for others.
    pub(super) boundary: Span,
}

/// The formula of a [`Mode`], prepared for the inner loop: two multiplications and no division, except where a
/// boundary is longer than a symbol.
#[derive(Clone, Copy, Debug)]
pub(super) struct Airtime {
    around: i64,
    /// The fixed units plus units_per_symbol - 1, so that rounding down rounds up.
    fixed: u64,
    per_byte: u64,
    reciprocal: u64,
    symbol: u64,
    boundary: u64,
}

impl OfScheme {
    pub(super) fn new(mcs: Mcs, max_ampdu_bytes: u32) -> OfScheme {
        let facts = mcs.format.facts();
        OfScheme {
            mcs,
            window: facts.window,
            max_ampdu_bytes,
            single_delimiter_bytes: if facts.single_has_delimiter { DELIMITER_BYTES } else { 0 },
        }
    }
}

impl Mode {
    pub(super) fn mcs(&self) -> Option<Mcs> {
        self.scheme.map(|scheme| scheme.mcs)
    }

    /// The name for a message.
    pub(super) fn name(&self) -> String {
        let rate = || format!("{} Mb/s", mbps(self.rate));
        self.mcs().map_or_else(rate, |mcs| mcs.to_string())
    }

    /// The largest PSDU that lasts at most `limit`; `None` if even an empty PSDU lasts longer.
    pub(super) fn most_bytes(&self, limit: Span) -> Option<u32> {
        self.coding.most_bytes(limit - self.preamble - self.extension)
    }

    /// The data rate, which from 802.11n on is not a whole number of bits per second.
    pub(super) fn bits_per_second(&self) -> f64 {
        self.mcs().map_or(self.rate.as_bps() as f64, Mcs::bits_per_second)
    }

    /// The rate, as far as the airtime that a sender expects depends on it.
    pub(super) fn air_rate(&self) -> AirRate {
        if let Some(mcs) = self.mcs() {
            return mcs.air_rate();
        }
        let overhead_us = match self.class {
            // Preamble and PHY header, and what Linux takes for SIFS.
            ModulationClass::Dsss => (self.preamble.as_nanos() / 1000) as u32 + 10,
            _ => AirRate::OFDM_OVERHEAD_US,
        };
        AirRate::Legacy { rate: self.rate, overhead_us }
    }

    pub(super) fn airtime(&self) -> Airtime {
        let Coding { fixed_units, units_per_byte, units_per_symbol, symbol, boundary } =
            self.coding;
        Airtime {
            around: self.preamble.as_nanos() + self.extension.as_nanos(),
            fixed: u64::from(fixed_units) + u64::from(units_per_symbol) - 1,
            per_byte: units_per_byte.into(),
            reciprocal: reciprocal(units_per_symbol),
            symbol: symbol.as_nanos() as u64,
            boundary: boundary.as_nanos() as u64,
        }
    }
}

impl Coding {
    /// The largest number of bytes whose [`Airtime`] is at most `on_air` without preamble and extension; `None` if
    /// even zero bytes last longer.
    fn most_bytes(&self, on_air: Span) -> Option<u32> {
        let [on_air, boundary, symbol] =
            [on_air, self.boundary, self.symbol].map(|span| span.as_nanos());
        let symbols = on_air / boundary * boundary / symbol;
        let units = symbols.checked_mul(self.units_per_symbol.into())?;
        let left = units - i64::from(self.fixed_units);
        let bytes = u64::try_from(left).ok()? / u64::from(self.units_per_byte);
        Some(u32::try_from(bytes).unwrap_or(u32::MAX))
    }
}

impl Airtime {
    /// Duration of a frame with a PSDU of `bytes` bytes, exact for any number.
    #[inline]
    pub(super) fn of(&self, bytes: u32) -> Span {
        self.of_units(self.per_byte * u64::from(bytes))
    }

    /// The duration for a fractional number of bytes, from 0 to 2^32: a part of a unit counts as a unit. Integers are
    /// not rounded, because the product has at most 46 bits.
    pub(super) fn of_fraction(&self, bytes: f64) -> Span {
        let most = f64::from(u32::MAX);
        self.of_units((self.per_byte as f64 * bytes.min(most)).ceil() as u64)
    }

    #[inline]
    fn of_units(&self, units: u64) -> Span {
        let symbols = quotient(self.fixed + units, self.reciprocal);
        let mut on_air = symbols * self.symbol;
        if self.boundary != self.symbol {
            on_air = on_air.next_multiple_of(self.boundary);
        }
        Span::from_nanos(self.around + on_air as i64)
    }
}

/// `2^64 / divisor`, rounded up; for `divisor >= 2`.
const fn reciprocal(divisor: u32) -> u64 {
    debug_assert!(divisor >= 2, "the reciprocal of 1 has 65 bits");
    u64::MAX / divisor as u64 + 1
}

/// `n / divisor`, rounded down. The reciprocal is less than 1 too large, and the product hence less than n too large:
/// not enough to reach the next integer as long as n · divisor < 2^64. This holds: in DSSS n has at most 46 bits (2^32
/// bytes of 16 000 units) and a divisor 5. Otherwise n has at most 37 bits (where ns-3 counts thirds of bits, a byte
/// has 24 units), which leaves 27 for a symbol; a symbol of 802.11ax has 18.
#[inline]
const fn quotient(n: u64, reciprocal: u64) -> u64 {
    ((n as u128 * reciprocal as u128) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn multiplying_by_the_reciprocal_divides(n in 0u64..1 << 46, divisor in 2u32..1 << 18) {
            prop_assert_eq!(quotient(n, reciprocal(divisor)), n / u64::from(divisor));
        }

        /// Errors would show first at multiples of the divisor and next to them.
        #[test]
        fn also_at_the_edges(k in 1u64..1 << 28, divisor in 2u32..1 << 18) {
            let multiple = k * u64::from(divisor);
            for n in [multiple - 1, multiple, multiple + 1] {
                prop_assert_eq!(quotient(n, reciprocal(divisor)), n / u64::from(divisor));
            }
        }
    }
}
