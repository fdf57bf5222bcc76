//! The kinds of quantities, and their units.

use super::{Dimension, Unit};
use airqueue_core::{DataRate, Limit, Span};
use airqueue_wifi::mac::{CategoryConfig, Txop};
use airqueue_wifi::medium::Reach;

/// The longest time that a scenario may name: thirty years.
const LONGEST_S: f64 = 1e9;

/// A length of time.
#[derive(Clone)]
pub(in crate::scenario) struct Duration;

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
pub(in crate::scenario) struct Rate;

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
pub(in crate::scenario) struct PacketRate;

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
pub(in crate::scenario) struct Size;

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

/// A large number of bytes.
#[derive(Clone)]
pub(in crate::scenario) struct Bytes;

fn many_bytes(n: f64) -> Result<u64, &'static str> {
    let whole = n.fract() == 0.0 && (1.0..=1e15).contains(&n);
    if whole { Ok(n as u64) } else { Err("a whole number of bytes, 1 to 1e15") }
}

impl Dimension for Bytes {
    type Value = u64;
    const WHAT: &'static str = "a number of bytes";
    const NAME: &'static str = "Bytes";
    const EXAMPLE: &'static str = "30 kB";
    const UNITS: &'static [Unit<u64>] = &[
        ("B", many_bytes),
        ("kB", |x| many_bytes(x * 1e3)),
        ("MB", |x| many_bytes(x * 1e6)),
        ("GB", |x| many_bytes(x * 1e9)),
    ];
}

/// A queue's limit: packets or bytes.
#[derive(Clone)]
pub(in crate::scenario) struct QueueLimit;

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
pub(in crate::scenario) struct Packets;

impl Dimension for Packets {
    type Value = u32;
    const WHAT: &'static str = "a number of packets";
    const NAME: &'static str = "Packets";
    const EXAMPLE: &'static str = "2 packets";
    const UNITS: &'static [Unit<u32>] = &[("packets", packets), ("packet", packets)];
}

/// A transmission opportunity: a time, packets, or one of each flow. No time at all means one frame exchange, as in the
/// EDCA Parameter Set (IEEE 802.11-2016, 9.4.2.29).
#[derive(Clone)]
pub(in crate::scenario) struct TxopLimit;

fn txop_time(seconds: f64) -> Result<Txop, &'static str> {
    match span(seconds)? {
        Span::ZERO => Ok(Txop::One),
        limit if limit <= CategoryConfig::LONGEST_TXOP => Ok(Txop::Time(limit)),
        _ => Err("at most 2097120 us"),
    }
}

fn txop_packets(n: f64) -> Result<Txop, &'static str> {
    match packets(n)? {
        0 => Err("at least 1 packet"),
        n => Ok(Txop::Packets(n)),
    }
}

impl Dimension for TxopLimit {
    type Value = Txop;
    const WHAT: &'static str = "a TXOP limit";
    const NAME: &'static str = "TxopLimit";
    const EXAMPLE: &'static str = "3.008 ms";
    const UNITS: &'static [Unit<Txop>] = &[
        ("us", |x| txop_time(x * 1e-6)),
        ("µs", |x| txop_time(x * 1e-6)),
        ("ms", |x| txop_time(x * 1e-3)),
        ("packets", txop_packets),
        ("packet", txop_packets),
    ];
    const WORDS: &'static [(&'static str, Txop)] = &[("flows", Txop::Flows)];
}

/// A length, or a coordinate.
#[derive(Clone)]
pub(in crate::scenario) struct Length;

/// Up to the farthest position that the medium knows.
fn metres(x: f64) -> Result<f64, &'static str> {
    if x.abs() <= Reach::FARTHEST_M { Ok(x) } else { Err("at most 1e9 m either way") }
}

impl Dimension for Length {
    type Value = f64;
    const WHAT: &'static str = "a length";
    const NAME: &'static str = "Length";
    const EXAMPLE: &'static str = "10 m";
    const SIGNED: bool = true;
    const UNITS: &'static [Unit<f64>] =
        &[("m", metres), ("cm", |x| metres(x * 1e-2)), ("km", |x| metres(x * 1e3))];
}

/// A power, in watts.
#[derive(Clone)]
pub(in crate::scenario) struct Power;

fn watts(w: f64) -> Result<f64, &'static str> {
    if (1e-23..=1e7).contains(&w) { Ok(w) } else { Err("a power from -200 to 100 dBm") }
}

impl Dimension for Power {
    type Value = f64;
    const WHAT: &'static str = "a power";
    const NAME: &'static str = "Power";
    const EXAMPLE: &'static str = "20 dBm";
    const SIGNED: bool = true;
    const UNITS: &'static [Unit<f64>] = &[
        ("dBm", |x| watts(libm::pow(10.0, (x - 30.0) / 10.0))),
        ("mW", |x| watts(x * 1e-3)),
        ("W", watts),
    ];
}

/// A ratio of powers, in decibels.
#[derive(Clone)]
pub(in crate::scenario) struct Decibels;

impl Dimension for Decibels {
    type Value = f64;
    const WHAT: &'static str = "a ratio in decibels";
    const NAME: &'static str = "Decibels";
    const EXAMPLE: &'static str = "10 dB";
    const SIGNED: bool = true;
    const UNITS: &'static [Unit<f64>] =
        &[("dB", |x| if x.abs() <= 300.0 { Ok(x) } else { Err("from -300 to 300 dB") })];
}

/// A frequency, in hertz.
#[derive(Clone)]
pub(in crate::scenario) struct Frequency;

fn hertz(hz: f64) -> Result<f64, &'static str> {
    if (1e3..=1e12).contains(&hz) { Ok(hz) } else { Err("a frequency from 1 kHz to 1000 GHz") }
}

impl Dimension for Frequency {
    type Value = f64;
    const WHAT: &'static str = "a frequency";
    const NAME: &'static str = "Frequency";
    const EXAMPLE: &'static str = "2.437 GHz";
    const UNITS: &'static [Unit<f64>] = &[
        ("Hz", hertz),
        ("kHz", |x| hertz(x * 1e3)),
        ("MHz", |x| hertz(x * 1e6)),
        ("GHz", |x| hertz(x * 1e9)),
    ];
}
