//! Numbers with units: `54mbit`, `11 Mb/s`, `120 ms`, `1500 B`, `50 packets`.
//!
//! This is the only grammar of quantities, for scenario files, command lines and Python. A quantity is a number (`5`,
//! `5.5`, `.5`, `5.4e7`), optional spaces, and a unit; a number alone is refused. Each unit has the spellings of its
//! table, in upper or lower case where that is unambiguous:
//!
//! | kind | units | also written |
//! |---|---|---|
//! | rate | `b/s` `kb/s` `Mb/s` `Gb/s` | `bit/s` `kbit/s` ..., `bit` `kbit` `mbit` `gbit`, `b` `kb` `mb` `gb` |
//! | length of time | `ns` `us` `ms` `s` `min` `h` | `µs` |
//! | size, number of bytes | `B` `kB` `MB` `GB` (1000 each), `KiB` `MiB` `GiB` (1024 each) | |
//! | number of packets | `packets` | `packet`, `p` |
//! | rate of packets | `packets/s` | `packet/s`, `p/s` |
//! | length | `m` `cm` `km` | |
//! | power | `dBm` `mW` `W` | |
//! | ratio in decibels | `dB` | |
//! | frequency | `Hz` `kHz` `MHz` `GHz` | |
//!
//! The case matters in lengths, powers, ratios and frequencies (`mW` is not a megawatt), and in the `b` of a rate:
//! `MB/s` would be bytes per second. `bps` is refused, which tc reads as bytes per second and most people as bits.

mod any;
mod decimal;
mod glue;
mod spelling;
mod units;

pub use any::{Kind, Measure};
pub use decimal::Decimal;
pub use glue::Quantity;
pub use spelling::Case;
pub use units::{
    Bytes, Decibels, Duration, FARTHEST_M, Frequency, Length, PacketRate, Packets, Power,
    QueueLimit, Rate, Size, packets, span,
};

use std::fmt;

/// A unit in base units of its kind.
#[derive(Clone, Copy, Debug)]
pub enum Scale {
    /// Ten to the power of this.
    Ten(i32),
    /// This many base units.
    Times(u32),
    /// Decibels above a milliwatt, in watts.
    Dbm,
}

impl Scale {
    /// The nearest number of base units.
    pub fn apply(self, number: Decimal) -> f64 {
        match self {
            Scale::Ten(power) => number.shifted(power).to_f64(),
            Scale::Times(count) => number.times(Decimal::from(count)).to_f64(),
            Scale::Dbm => libm::pow(10.0, (number.to_f64() - 30.0) / 10.0),
        }
    }
}

/// A unit of quantities that stand for a `V`.
#[derive(Clone, Copy, Debug)]
pub struct Unit<V> {
    /// The unit's name in messages and files, followed by other accepted spellings.
    pub names: &'static [&'static str],
    /// The unit in base units.
    pub scale: Scale,
    /// The value of a number of base units; the error says what is valid.
    pub make: fn(f64) -> Result<V, &'static str>,
}

impl<V> Unit<V> {
    /// The unit's name.
    pub fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }
}

/// A kind of quantity.
pub trait Dimension: Clone {
    /// The type of a value.
    type Value: Copy + fmt::Debug + 'static;
    /// The name of the kind, with its article.
    const WHAT: &'static str;
    /// The kind's name in the schema.
    const NAME: &'static str;
    /// Examples, as written in files and on command lines.
    const EXAMPLES: [&'static str; 2];
    /// Whether values can be below zero.
    const SIGNED: bool = false;
    /// Whether only whole numbers of the base unit are valid.
    const WHOLE: bool = false;
    /// Which letters of the units may be in the other case.
    const CASE: Case;
    /// The units of the kind.
    const UNITS: &'static [Unit<Self::Value>];
    /// Words that are accepted in place of a number.
    const WORDS: &'static [(&'static str, Self::Value)] = &[];
}

/// The value of `text`; the error is one sentence.
pub fn parse<D: Dimension>(text: &str) -> Result<D::Value, String> {
    let text = text.trim_matches(BLANKS);
    if let Some(&(_, value)) = D::WORDS.iter().find(|(word, _)| *word == text) {
        return Ok(value);
    }
    let (number, unit) = split::<D>(text)?;
    (unit.make)(unit.scale.apply(number))
        .map_err(|expected| format!("found {}, expected {expected}", shown(text)))
}

/// A regular expression for all texts that [`parse`] reads as a number with a unit, or as a word.
pub fn pattern<D: Dimension>() -> String {
    let sign = if D::SIGNED { "[+-]?" } else { "[+]?" };
    let names = D::UNITS.iter().flat_map(|unit| unit.names);
    let names: Vec<String> = names.map(|name| D::CASE.pattern(name)).collect();
    let number = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?";
    let words: String = D::WORDS.iter().map(|(word, _)| format!("{word}|")).collect();
    let blank = r"[ \t]*";
    format!("^{blank}({words}{sign}{number}{blank}({})){blank}$", names.join("|"))
}

/// Characters allowed around a quantity, and between its number and its unit.
const BLANKS: [char; 2] = [' ', '\t'];

/// Number of characters of a text that a message repeats.
const SHOWN: usize = 40;

/// A text in quotes, shortened if long, for messages.
pub fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}...", &text[..end]),
    }
}

/// The number and the unit of `text`, before the check of the value.
fn split<D: Dimension>(text: &str) -> Result<(Decimal, &'static Unit<D::Value>), String> {
    let found = Decimal::split(text).filter(|_| D::SIGNED || !text.starts_with('-'));
    let Some((number, rest)) = found else {
        return Err(format!("{} is not {}, {}", shown(text), D::WHAT, examples::<D>()));
    };
    let written = rest.trim_start_matches(BLANKS);
    match D::UNITS.iter().find(|unit| unit.names.iter().any(|name| D::CASE.same(written, name))) {
        Some(unit) => Ok((number, unit)),
        None if written.is_empty() => Err(bare::<D>(&shown(text))),
        None => Err(format!(
            "{} has the unit {}; {}",
            shown(text),
            shown(written),
            expected::<D>(D::WHAT)
        )),
    }
}

/// The message about a number without a unit.
pub fn bare<D: Dimension>(number: &str) -> String {
    format!("{number} has no unit; {}", expected::<D>(D::WHAT))
}

/// Examples of quantities of a kind, for a message.
pub fn examples<D: Dimension>() -> String {
    let words = D::WORDS.iter().map(|(word, _)| *word);
    format!(
        "such as {}",
        listed(D::EXAMPLES.into_iter().chain(words).map(|text| format!("{text:?}")))
    )
}

/// `a, b or c`.
fn listed(texts: impl IntoIterator<Item = String>) -> String {
    let mut texts: Vec<String> = texts.into_iter().collect();
    let last = texts.pop().unwrap_or_default();
    if texts.is_empty() { last } else { format!("{} or {last}", texts.join(", ")) }
}

/// All units of a kind, for a message.
fn expected<D: Dimension>(what: &str) -> String {
    let names = listed(D::UNITS.iter().map(|unit| unit.name().to_owned()));
    let units = if D::UNITS.len() == 1 { "the unit" } else { "the units" };
    format!("{what} has {units} {names}, {}", examples::<D>())
}

#[cfg(test)]
mod tests;
