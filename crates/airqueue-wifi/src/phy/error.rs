//! Why a physical layer refuses a parameter.

use super::band::BandName;
use super::mcs::Mcs;
use super::{Format, alternatives};
use airqueue_core::{DataRate, Span};
use thiserror::Error;

/// An invalid rate, scheme or setting, and the valid ones.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[expect(missing_docs)] // the messages say it
pub enum PhyError {
    #[error("{layer} has no rate of {} Mb/s; it must be one of {rates} Mb/s", mbps(*rate))]
    UnknownRate { layer: &'static str, rate: DataRate, rates: String },
    #[error("{layer} sends no control frames at {} Mb/s; it must be one of {rates} Mb/s", mbps(*rate))]
    ControlRate { layer: &'static str, rate: DataRate, rates: String },
    #[error("there is no basic rate; name at least one of the rates of {layer}: {rates} Mb/s")]
    NoBasicRate { layer: &'static str, rates: String },
    #[error("{layer} is at {alone} alone")]
    Band { layer: &'static str, alone: BandName },
    #[error("{layer} has from 1 to {most} spatial streams; found {streams}")]
    Streams { layer: &'static str, streams: u8, most: u8 },
    #[error("the channels of {layer} are at most {most} MHz wide here; found {mhz} MHz")]
    Width { layer: &'static str, mhz: u32, most: u32 },
    #[error("there is no {mcs}; there are {}", mcs.format.schemes_text())]
    NoMcs { mcs: Mcs },
    #[error(
        "the standard leaves out {mcs}, whose bits its encoders cannot share out; take the MCS below it, or \
         another number of streams"
    )]
    LeftOut { mcs: Mcs },
    #[error(
        "an {format}-LTF lasts {} us without its guard interval; found {} us",
        any_us(format.ltfs()),
        us(*ltf)
    )]
    Ltf { format: Format, ltf: Span },
    #[error(
        "a packet extension lasts {} us; found {} us",
        any_us(format.packet_extensions()),
        us(*extension)
    )]
    PacketExtension { format: Format, extension: Span },
    #[error("{layer} as it is set up here has no {mcs}; its fastest mode is {fastest}")]
    UnknownMcs { layer: &'static str, mcs: Mcs, fastest: String },
}

/// Rates for a message, in rising order.
pub(super) fn rates_text(rates: impl Iterator<Item = DataRate>) -> String {
    let mut rates: Vec<DataRate> = rates.collect();
    rates.sort_unstable();
    rates.iter().map(|rate| mbps(*rate).to_string()).collect::<Vec<_>>().join(", ")
}

fn any_us(spans: &[Span]) -> String {
    alternatives(spans.iter().copied().map(us))
}

fn us(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e3
}

pub(super) fn mbps(rate: DataRate) -> f64 {
    rate.as_bps() as f64 / 1e6
}
