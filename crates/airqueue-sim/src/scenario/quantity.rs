//! Numbers with their units, as a scenario writes them: `"11 Mb/s"`, `"120 ms"`, `"50 packets"`.

use airqueue_core::{DataRate, Limit, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A unit's name, and what so many of it are; the error says what would be possible.
type Unit<V> = (&'static str, fn(f64) -> Result<V, &'static str>);

/// A kind of quantity.
pub(super) trait Dimension: Clone {
    /// What a number of its units is.
    type Value: Copy + fmt::Debug + 'static;
    /// What it is called, with its article.
    const WHAT: &'static str;
    /// Its name in the schema.
    const NAME: &'static str;
    /// How one is written.
    const EXAMPLE: &'static str;
    /// Whether it can be below zero.
    const SIGNED: bool = false;
    /// Its units.
    const UNITS: &'static [Unit<Self::Value>];
}

/// A number with its unit.
#[derive(Clone)]
pub(super) struct Quantity<D: Dimension> {
    pub(super) value: D::Value,
    /// As it was written.
    pub(super) text: String,
}

impl<D: Dimension> Quantity<D> {
    /// What `text` says.
    pub(super) fn parse(text: &str) -> Result<Quantity<D>, String> {
        let (number, unit) = split(text);
        let example = D::EXAMPLE;
        let Some(number) = number.filter(|n| D::SIGNED || !n.is_sign_negative()) else {
            return Err(format!("{text:?} is not {}, such as {example:?}", D::WHAT));
        };
        let Some((_, make)) = D::UNITS.iter().find(|(name, _)| *name == unit) else {
            let problem = match unit {
                "" => "has no unit".to_owned(),
                unit => format!("has the unit {unit:?}"),
            };
            let units = units::<D>();
            return Err(format!(
                "{text:?} {problem}; {} has {units}, such as {example:?}",
                D::WHAT
            ));
        };
        match make(number) {
            Ok(value) => Ok(Quantity { value, text: text.to_owned() }),
            Err(expected) => Err(format!("found {text:?}, expected {expected}")),
        }
    }

    /// A quantity of the program's own.
    ///
    /// # Panics
    ///
    /// If it is none.
    pub(super) fn of(text: &str) -> Quantity<D> {
        Quantity::parse(text).expect("a default that can be parsed")
    }
}

/// All units of a kind, for a sentence.
fn units<D: Dimension>() -> String {
    let mut names: Vec<&str> = D::UNITS.iter().map(|(name, _)| *name).collect();
    let last = names.pop().unwrap_or_default();
    if names.is_empty() {
        format!("the unit {last}")
    } else {
        format!("the units {} or {last}", names.join(", "))
    }
}

/// The number at the beginning, and what follows it and any spaces.
fn split(text: &str) -> (Option<f64>, &str) {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let sign = |at: usize| usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
    let mut end = sign(0);
    end += digits(end);
    if bytes.get(end) == Some(&b'.') {
        end += 1;
        end += digits(end);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let mantissa = end + 1 + sign(end + 1);
        if digits(mantissa) > 0 {
            end = mantissa + digits(mantissa);
        }
    }
    // Digits are missing in ".", "-" and the like, which no number is.
    (text[..end].parse().ok(), text[end..].trim_start_matches(' '))
}

impl<D: Dimension> fmt::Debug for Quantity<D> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}

impl<D: Dimension> Serialize for Quantity<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

struct QuantityVisitor<D>(PhantomData<D>);

impl<D: Dimension> QuantityVisitor<D> {
    fn bare<E: serde::de::Error>(number: impl fmt::Display) -> Result<Quantity<D>, E> {
        let (units, example) = (units::<D>(), D::EXAMPLE);
        let what = D::WHAT;
        Err(E::custom(format!("{number} has no unit; {what} has {units}, such as {example:?}")))
    }
}

impl<D: Dimension> Visitor<'_> for QuantityVisitor<D> {
    type Value = Quantity<D>;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}, such as {:?}", D::WHAT, D::EXAMPLE)
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Quantity<D>, E> {
        Quantity::parse(text).map_err(E::custom)
    }
    fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<Quantity<D>, E> {
        Self::bare(n)
    }
    fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<Quantity<D>, E> {
        Self::bare(n)
    }
    fn visit_f64<E: serde::de::Error>(self, n: f64) -> Result<Quantity<D>, E> {
        Self::bare(n)
    }
}

impl<'de, D: Dimension> Deserialize<'de> for Quantity<D> {
    fn deserialize<De: Deserializer<'de>>(deserializer: De) -> Result<Quantity<D>, De::Error> {
        deserializer.deserialize_any(QuantityVisitor(PhantomData))
    }
}

impl<D: Dimension> JsonSchema for Quantity<D> {
    fn schema_name() -> Cow<'static, str> {
        D::NAME.into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let sign = if D::SIGNED { "[+-]?" } else { "[+]?" };
        let names: Vec<&str> = D::UNITS.iter().map(|(name, _)| *name).collect();
        let number = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?";
        json_schema!({
            "type": "string",
            "description": format!("{}{}, with its unit", D::WHAT[..1].to_uppercase(), &D::WHAT[1..]),
            "pattern": format!("^{sign}{number} *({})$", names.join("|")),
            "examples": [D::EXAMPLE],
        })
    }
}

/// The longest time that a scenario may name: thirty years.
const LONGEST_S: f64 = 1e9;

/// A length of time.
#[derive(Clone)]
pub(super) struct Duration;

fn span(seconds: f64) -> Result<Span, &'static str> {
    if seconds > LONGEST_S { Err("at most 1e9 s") } else { Ok(Span::from_secs_f64(seconds)) }
}

impl Dimension for Duration {
    type Value = Span;
    const WHAT: &'static str = "a length of time";
    const NAME: &'static str = "Duration";
    const EXAMPLE: &'static str = "30 s";
    const UNITS: &'static [Unit<Span>] = &[
        ("ns", |x| span(x * 1e-9)),
        ("us", |x| span(x * 1e-6)),
        ("µs", |x| span(x * 1e-6)),
        ("ms", |x| span(x * 1e-3)),
        ("s", span),
        ("min", |x| span(x * 60.0)),
        ("h", |x| span(x * 3600.0)),
    ];
}

/// A data rate.
#[derive(Clone)]
pub(super) struct Rate;

fn data_rate(bps: f64) -> Result<DataRate, &'static str> {
    let whole = if bps <= 1e12 { bps.round() as u64 } else { 0 };
    DataRate::from_bps(whole).ok_or("a rate from 1 b/s to 1000 Gb/s")
}

impl Dimension for Rate {
    type Value = DataRate;
    const WHAT: &'static str = "a rate";
    const NAME: &'static str = "Rate";
    const EXAMPLE: &'static str = "11 Mb/s";
    const UNITS: &'static [Unit<DataRate>] = &[
        ("b/s", data_rate),
        ("kb/s", |x| data_rate(x * 1e3)),
        ("Mb/s", |x| data_rate(x * 1e6)),
        ("Gb/s", |x| data_rate(x * 1e9)),
        ("bit/s", data_rate),
        ("kbit/s", |x| data_rate(x * 1e3)),
        ("Mbit/s", |x| data_rate(x * 1e6)),
        ("Gbit/s", |x| data_rate(x * 1e9)),
    ];
}

/// Packets per second.
#[derive(Clone)]
pub(super) struct PacketRate;

impl Dimension for PacketRate {
    type Value = f64;
    const WHAT: &'static str = "a rate of packets";
    const NAME: &'static str = "PacketRate";
    const EXAMPLE: &'static str = "50 packets/s";
    const UNITS: &'static [Unit<f64>] = &[("packets/s", |x| {
        if (1e-3..=1e9).contains(&x) { Ok(x) } else { Err("from 0.001 to 1e9 packets/s") }
    })];
}

/// A number of bytes.
#[derive(Clone)]
pub(super) struct Size;

fn bytes(n: f64) -> Result<u32, &'static str> {
    let whole = n.fract() == 0.0 && n <= f64::from(u32::MAX);
    if whole { Ok(n as u32) } else { Err("a whole number of bytes, at most 4294967295") }
}

impl Dimension for Size {
    type Value = u32;
    const WHAT: &'static str = "a size";
    const NAME: &'static str = "Size";
    const EXAMPLE: &'static str = "1500 B";
    const UNITS: &'static [Unit<u32>] = &[("B", bytes), ("kB", |x| bytes(x * 1e3))];
}

/// A queue's limit: packets or bytes.
#[derive(Clone)]
pub(super) struct QueueLimit;

fn byte_limit(n: f64) -> Result<Limit, &'static str> {
    let whole = n.fract() == 0.0 && (1.0..=1e10).contains(&n);
    if whole { Ok(Limit::Bytes(n as u64)) } else { Err("a whole number of bytes, 1 to 1e10") }
}

fn packets(n: f64) -> Result<u32, &'static str> {
    let whole = n.fract() == 0.0 && n <= 1e7;
    if whole { Ok(n as u32) } else { Err("a whole number of packets, at most 1e7") }
}

fn packet_limit(n: f64) -> Result<Limit, &'static str> {
    match packets(n)? {
        0 => Err("at least 1 packet"),
        n => Ok(Limit::Packets(n)),
    }
}

impl Dimension for QueueLimit {
    type Value = Limit;
    const WHAT: &'static str = "a limit";
    const NAME: &'static str = "QueueLimit";
    const EXAMPLE: &'static str = "50 packets";
    const UNITS: &'static [Unit<Limit>] = &[
        ("packets", packet_limit),
        ("packet", packet_limit),
        ("B", byte_limit),
        ("kB", |x| byte_limit(x * 1e3)),
        ("MB", |x| byte_limit(x * 1e6)),
    ];
}

/// A number of packets.
#[derive(Clone)]
pub(super) struct Packets;

impl Dimension for Packets {
    type Value = u32;
    const WHAT: &'static str = "a number of packets";
    const NAME: &'static str = "Packets";
    const EXAMPLE: &'static str = "2 packets";
    const UNITS: &'static [Unit<u32>] = &[("packets", packets), ("packet", packets)];
}
