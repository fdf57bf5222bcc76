//! Quantities whose kind is named while the program runs, as plain numbers of the kind's base unit.

use super::{
    Decibels, Decimal, Dimension, Duration, Frequency, Length, PacketRate, Packets, Power, Rate,
    Scale, Size, bare, split,
};
use crate::quantity::shown;

/// Above this, `f64` does not distinguish adjacent whole numbers.
const LARGEST_WHOLE: f64 = 9_007_199_254_740_992.0;
/// A shorter number of a larger unit is written with that unit.
const SHORT_DIGITS: u32 = 6;

/// A kind of quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// In bits per second.
    Rate,
    /// In packets per second.
    PacketRate,
    /// In seconds.
    Duration,
    /// In bytes.
    Size,
    /// In packets.
    Packets,
    /// In metres.
    Length,
    /// In watts.
    Power,
    /// In decibels.
    Ratio,
    /// In hertz.
    Frequency,
}

/// A number and a unit, as written.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// The number before the unit.
    pub number: Decimal,
    /// The unit's name.
    pub unit: &'static str,
    /// The unit in base units.
    pub scale: Scale,
    /// What the unit measures.
    pub kind: Kind,
}

/// Calls `$call` with the dimension of a kind.
macro_rules! for_kind {
    ($kind:expr, $D:ident => $call:expr) => {
        match $kind {
            Kind::Rate => {
                type $D = Rate;
                $call
            }
            Kind::PacketRate => {
                type $D = PacketRate;
                $call
            }
            Kind::Duration => {
                type $D = Duration;
                $call
            }
            Kind::Size => {
                type $D = Size;
                $call
            }
            Kind::Packets => {
                type $D = Packets;
                $call
            }
            Kind::Length => {
                type $D = Length;
                $call
            }
            Kind::Power => {
                type $D = Power;
                $call
            }
            Kind::Ratio => {
                type $D = Decibels;
                $call
            }
            Kind::Frequency => {
                type $D = Frequency;
                $call
            }
        }
    };
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 9] = [
        Kind::Rate,
        Kind::PacketRate,
        Kind::Duration,
        Kind::Size,
        Kind::Packets,
        Kind::Length,
        Kind::Power,
        Kind::Ratio,
        Kind::Frequency,
    ];

    /// The name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Rate => "rate",
            Kind::PacketRate => "packet_rate",
            Kind::Duration => "duration",
            Kind::Size => "size",
            Kind::Packets => "packets",
            Kind::Length => "length",
            Kind::Power => "power",
            Kind::Ratio => "ratio",
            Kind::Frequency => "frequency",
        }
    }

    /// The kind with this name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The base unit, as a suffix of figure names.
    pub fn suffix(self) -> &'static str {
        match self {
            Kind::Rate => "bps",
            Kind::PacketRate => "pps",
            Kind::Duration => "s",
            Kind::Size => "bytes",
            Kind::Packets => "packets",
            Kind::Length => "m",
            Kind::Power => "w",
            Kind::Ratio => "db",
            Kind::Frequency => "hz",
        }
    }

    /// Whether only whole numbers of the base unit are valid.
    pub fn whole(self) -> bool {
        for_kind!(self, D => D::WHOLE)
    }

    /// The message about a number without a unit.
    pub fn bare(self, number: &str) -> String {
        for_kind!(self, D => bare::<D>(number))
    }

    /// The number and the unit that `text` consists of; the error is one sentence.
    pub fn measure(self, text: &str) -> Result<Measure, String> {
        let text = text.trim_matches(super::BLANKS);
        for_kind!(self, D => split::<D>(text).map(|(number, unit)| Measure {
            number,
            unit: unit.name(),
            scale: unit.scale,
            kind: self,
        }))
    }

    /// Reads `text`, in the base unit; the error is one sentence.
    pub fn parse(self, text: &str) -> Result<f64, String> {
        let measure = self.measure(text)?;
        let value = measure.base();
        if !value.is_finite() {
            return Err(format!("{} is too large", shown(text)));
        }
        if self.whole() && value.fract() != 0.0 {
            return Err(format!("{} is not a whole number of {}", shown(text), self.suffix()));
        }
        if self.whole() && value > LARGEST_WHOLE {
            return Err(format!(
                "{} is too large: expected at most 2^53 {}",
                shown(text),
                self.suffix()
            ));
        }
        Ok(value)
    }

    /// A number of the base unit as it could be typed, without spaces or slashes: `5.5mbit`, `20ms`, `1500B`. [`Kind::parse`] reads
    /// this text as an equal number.
    pub fn written(self, value: f64) -> String {
        let units: &[(&str, i32)] = match self {
            Kind::Rate => &[("gbit", 9), ("mbit", 6), ("kbit", 3), ("bit", 0)],
            Kind::PacketRate => &[("p/s", 0)],
            Kind::Duration => &[("s", 0), ("ms", -3), ("us", -6), ("ns", -9), ("s", 0)],
            Kind::Size => &[("GB", 9), ("MB", 6), ("kB", 3), ("B", 0)],
            Kind::Packets => &[("p", 0)],
            Kind::Length => &[("km", 3), ("m", 0)],
            Kind::Power => &[("W", 0), ("mW", -3), ("W", 0)],
            Kind::Ratio => &[("dB", 0)],
            Kind::Frequency => &[("GHz", 9), ("MHz", 6), ("kHz", 3), ("Hz", 0)],
        };
        let exact = Decimal::of(value);
        let (least, most) = (Decimal::ONE, Decimal::from(1000));
        for &(unit, power) in units {
            let count = exact.shifted(-power);
            let size = count.abs();
            let short = count.digits() <= SHORT_DIGITS && (count.is_whole() || !self.whole());
            if size >= least && size < most && short {
                return format!("{count}{unit}");
            }
        }
        let (base, _) = units[units.len() - 1];
        format!("{exact}{base}")
    }
}

impl Measure {
    /// Reads `text` as a quantity of any kind; `None` if two kinds are possible.
    pub fn of_any_kind(text: &str) -> Option<Measure> {
        let found: Vec<Measure> =
            Kind::ALL.into_iter().filter_map(|kind| kind.measure(text).ok()).collect();
        // Units as files write them are unambiguous; "64kb" may be bits or bytes.
        let exact = found.iter().find(|measure| text.trim_end().ends_with(measure.unit));
        match found[..] {
            [only] => Some(only),
            _ => exact.copied(),
        }
    }

    /// The value in base units, to the nearest `f64`.
    pub fn base(&self) -> f64 {
        self.scale.apply(self.number)
    }

    /// The number, and its unit as a suffix of figure names; a level in dBm stays in dBm.
    pub fn figure(&self) -> (f64, &'static str) {
        match self.scale {
            Scale::Dbm => (self.number.to_f64(), "dbm"),
            _ => (self.base(), self.kind.suffix()),
        }
    }
}
