//! Limits of transmission opportunities.

use airqueue_core::Span;
use airqueue_core::quantity::{Case, Dimension, Scale, Unit, packets, span};
use airqueue_wifi::mac::{CategoryConfig, Txop};

/// A transmission opportunity: a time, packets, or one of each flow. No time at all means one frame exchange, as in the
/// EDCA Parameter Set (IEEE 802.11-2016, 9.4.2.29).
#[derive(Clone)]
pub(crate) struct TxopLimit;

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
    const EXAMPLES: [&'static str; 2] = ["3.008 ms", "2 packets"];
    const CASE: Case = Case::Any;
    const UNITS: &'static [Unit<Txop>] = &[
        Unit { names: &["us", "µs"], scale: Scale::Ten(-6), make: txop_time },
        Unit { names: &["ms"], scale: Scale::Ten(-3), make: txop_time },
        Unit { names: &["packets", "packet", "p"], scale: Scale::Ten(0), make: txop_packets },
    ];
    const WORDS: &'static [(&'static str, Txop)] = &[("flows", Txop::Flows)];
}
