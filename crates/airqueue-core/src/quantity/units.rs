//! The kinds of quantities, and their units.

use super::{Case, Dimension, Scale, Unit};
use crate::{DataRate, Limit, Span};

/// The longest valid time: thirty years.
const LONGEST_S: f64 = 1e9;
/// Largest distance of a position from the origin, along either axis.
pub const FARTHEST_M: f64 = 1e9;

const fn unit<V>(
    names: &'static [&'static str],
    power: i32,
    make: fn(f64) -> Result<V, &'static str>,
) -> Unit<V> {
    Unit { names, scale: Scale::Ten(power), make }
}

const fn times<V>(
    names: &'static [&'static str],
    count: u32,
    make: fn(f64) -> Result<V, &'static str>,
) -> Unit<V> {
    Unit { names, scale: Scale::Times(count), make }
}

/// A length of time.
#[derive(Clone)]
pub struct Duration;

/// A time, if it is valid.
pub fn span(seconds: f64) -> Result<Span, &'static str> {
    if seconds > LONGEST_S { Err("at most 1e9 s") } else { Ok(Span::from_secs_f64(seconds)) }
}

impl Dimension for Duration {
    type Value = Span;
    const WHAT: &'static str = "a length of time";
    const NAME: &'static str = "Duration";
    const EXAMPLES: [&'static str; 2] = ["30 s", "100ms"];
    const CASE: Case = Case::Any;
    const UNITS: &'static [Unit<Span>] = &[
        unit(&["ns"], -9, span),
        unit(&["us", "µs"], -6, span),
        unit(&["ms"], -3, span),
        unit(&["s"], 0, span),
        times(&["min"], 60, span),
        times(&["h"], 3600, span),
    ];
}

/// A data rate.
#[derive(Clone)]
pub struct Rate;

fn data_rate(bps: f64) -> Result<DataRate, &'static str> {
    let whole = if bps <= 1e12 { bps.round() as u64 } else { 0 };
    DataRate::from_bps(whole).ok_or("a rate from 1 b/s to 1000 Gb/s")
}

impl Dimension for Rate {
    type Value = DataRate;
    const WHAT: &'static str = "a rate";
    const NAME: &'static str = "Rate";
    const EXAMPLES: [&'static str; 2] = ["11 Mb/s", "54mbit"];
    const CASE: Case = Case::Bits;
    const UNITS: &'static [Unit<DataRate>] = &[
        unit(&["b/s", "bit/s", "bit", "b"], 0, data_rate),
        unit(&["kb/s", "kbit/s", "kbit", "kb"], 3, data_rate),
        unit(&["Mb/s", "Mbit/s", "mbit", "mb"], 6, data_rate),
        unit(&["Gb/s", "Gbit/s", "gbit", "gb"], 9, data_rate),
    ];
}

/// Packets per second.
#[derive(Clone)]
pub struct PacketRate;

fn packet_rate(pps: f64) -> Result<f64, &'static str> {
    if (1e-3..=1e9).contains(&pps) { Ok(pps) } else { Err("from 0.001 to 1e9 packets/s") }
}

impl Dimension for PacketRate {
    type Value = f64;
    const WHAT: &'static str = "a rate of packets";
    const NAME: &'static str = "PacketRate";
    const EXAMPLES: [&'static str; 2] = ["50 packets/s", "50p/s"];
    const CASE: Case = Case::Any;
    const UNITS: &'static [Unit<f64>] = &[unit(&["packets/s", "packet/s", "p/s"], 0, packet_rate)];
}

/// A number of bytes.
#[derive(Clone)]
pub struct Size;

fn bytes(n: f64) -> Result<u32, &'static str> {
    let whole = n.fract() == 0.0 && n <= f64::from(u32::MAX);
    if whole { Ok(n as u32) } else { Err("a whole number of bytes, at most 4294967295") }
}

impl Dimension for Size {
    type Value = u32;
    const WHAT: &'static str = "a size";
    const NAME: &'static str = "Size";
    const EXAMPLES: [&'static str; 2] = ["1500 B", "64kB"];
    const WHOLE: bool = true;
    const CASE: Case = Case::Any;
    const UNITS: &'static [Unit<u32>] = &[
        unit(&["B"], 0, bytes),
        unit(&["kB"], 3, bytes),
        unit(&["MB"], 6, bytes),
        unit(&["GB"], 9, bytes),
        times(&["KiB"], 1 << 10, bytes),
        times(&["MiB"], 1 << 20, bytes),
        times(&["GiB"], 1 << 30, bytes),
    ];
}

/// A large number of bytes.
#[derive(Clone)]
pub struct Bytes;

fn many_bytes(n: f64) -> Result<u64, &'static str> {
    let whole = n.fract() == 0.0 && (1.0..=1e15).contains(&n);
    if whole { Ok(n as u64) } else { Err("a whole number of bytes, 1 to 1e15") }
}

impl Dimension for Bytes {
    type Value = u64;
    const WHAT: &'static str = "a number of bytes";
    const NAME: &'static str = "Bytes";
    const EXAMPLES: [&'static str; 2] = ["30 kB", "2MB"];
    const WHOLE: bool = true;
    const CASE: Case = Case::Any;
    const UNITS: &'static [Unit<u64>] = &[
        unit(&["B"], 0, many_bytes),
        unit(&["kB"], 3, many_bytes),
        unit(&["MB"], 6, many_bytes),
        unit(&["GB"], 9, many_bytes),
        times(&["KiB"], 1 << 10, many_bytes),
        times(&["MiB"], 1 << 20, many_bytes),
        times(&["GiB"], 1 << 30, many_bytes),
    ];
}

/// A queue's limit: packets or bytes.
#[derive(Clone)]
pub struct QueueLimit;

fn byte_limit(n: f64) -> Result<Limit, &'static str> {
    let whole = n.fract() == 0.0 && (1.0..=1e10).contains(&n);
    if whole { Ok(Limit::Bytes(n as u64)) } else { Err("a whole number of bytes, 1 to 1e10") }
}

/// A number of packets, if it is valid.
pub fn packets(n: f64) -> Result<u32, &'static str> {
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
    const EXAMPLES: [&'static str; 2] = ["50 packets", "150kB"];
    const WHOLE: bool = true;
    const CASE: Case = Case::Any;
    const UNITS: &'static [Unit<Limit>] = &[
        unit(&["packets", "packet", "p"], 0, packet_limit),
        unit(&["B"], 0, byte_limit),
        unit(&["kB"], 3, byte_limit),
        unit(&["MB"], 6, byte_limit),
        unit(&["GB"], 9, byte_limit),
        times(&["KiB"], 1 << 10, byte_limit),
        times(&["MiB"], 1 << 20, byte_limit),
        times(&["GiB"], 1 << 30, byte_limit),
    ];
}

/// A number of packets.
#[derive(Clone)]
pub struct Packets;

impl Dimension for Packets {
    type Value = u32;
    const WHAT: &'static str = "a number of packets";
    const NAME: &'static str = "Packets";
    const EXAMPLES: [&'static str; 2] = ["2 packets", "64p"];
    const WHOLE: bool = true;
    const CASE: Case = Case::Any;
    const UNITS: &'static [Unit<u32>] = &[unit(&["packets", "packet", "p"], 0, packets)];
}

/// A length, or a coordinate.
#[derive(Clone)]
pub struct Length;

fn metres(x: f64) -> Result<f64, &'static str> {
    if x.abs() <= FARTHEST_M { Ok(x) } else { Err("at most 1e9 m in either direction") }
}

impl Dimension for Length {
    type Value = f64;
    const WHAT: &'static str = "a length";
    const NAME: &'static str = "Length";
    const EXAMPLES: [&'static str; 2] = ["10 m", "2.5km"];
    const SIGNED: bool = true;
    const CASE: Case = Case::Exact;
    const UNITS: &'static [Unit<f64>] =
        &[unit(&["m"], 0, metres), unit(&["cm"], -2, metres), unit(&["km"], 3, metres)];
}

/// A power, in watts.
#[derive(Clone)]
pub struct Power;

fn watts(w: f64) -> Result<f64, &'static str> {
    if (1e-23..=1e7).contains(&w) { Ok(w) } else { Err("a power from -200 to 100 dBm") }
}

impl Dimension for Power {
    type Value = f64;
    const WHAT: &'static str = "a power";
    const NAME: &'static str = "Power";
    const EXAMPLES: [&'static str; 2] = ["20 dBm", "100mW"];
    const SIGNED: bool = true;
    const CASE: Case = Case::Exact;
    const UNITS: &'static [Unit<f64>] = &[
        Unit { names: &["dBm"], scale: Scale::Dbm, make: watts },
        unit(&["mW"], -3, watts),
        unit(&["W"], 0, watts),
    ];
}

/// A ratio of powers, in decibels.
#[derive(Clone)]
pub struct Decibels;

fn decibels(x: f64) -> Result<f64, &'static str> {
    if x.abs() <= 300.0 { Ok(x) } else { Err("from -300 to 300 dB") }
}

impl Dimension for Decibels {
    type Value = f64;
    const WHAT: &'static str = "a ratio in decibels";
    const NAME: &'static str = "Decibels";
    const EXAMPLES: [&'static str; 2] = ["10 dB", "-3dB"];
    const SIGNED: bool = true;
    const CASE: Case = Case::Exact;
    const UNITS: &'static [Unit<f64>] = &[unit(&["dB"], 0, decibels)];
}

/// A frequency, in hertz.
#[derive(Clone)]
pub struct Frequency;

fn hertz(hz: f64) -> Result<f64, &'static str> {
    if (1e3..=1e12).contains(&hz) { Ok(hz) } else { Err("a frequency from 1 kHz to 1000 GHz") }
}

impl Dimension for Frequency {
    type Value = f64;
    const WHAT: &'static str = "a frequency";
    const NAME: &'static str = "Frequency";
    const EXAMPLES: [&'static str; 2] = ["2.437 GHz", "20MHz"];
    const CASE: Case = Case::Exact;
    const UNITS: &'static [Unit<f64>] = &[
        unit(&["Hz"], 0, hertz),
        unit(&["kHz"], 3, hertz),
        unit(&["MHz"], 6, hertz),
        unit(&["GHz"], 9, hertz),
    ];
}
