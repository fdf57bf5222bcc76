//! Requests that the receiver answers at once: a ping.

use super::Arrivals;
use super::registry::{Asked, Carried, Kind};
use airqueue_core::Span;
use airqueue_core::keys::{Result, wrong};
use airqueue_core::quantity::{Bytes, Duration, Quantity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Of `ping`: 56 bytes of data, with the headers of ICMP and IPv4.
const PING_BYTES: u32 = 84;
const EVERY: Span = Span::from_secs(1);
/// Longest answer, in bytes of IP packets.
const MOST_BYTES: u64 = 1_000_000_000;
const LEAST_PACKET: u64 = 28;

/// Requests and their answers.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PingTable {
    /// Mean interval between requests. The default is `1 s`.
    pub interval: Option<Quantity<Duration>>,
    /// Distribution of the intervals. The default is constant.
    pub distribution: Option<PingDistributionName>,
    /// Size of the answer: the bytes of its IP packets together, which have at most 1500 B each. The default is the size of
    /// the request.
    pub answer_size: Option<Quantity<Bytes>>,
}

/// A distribution of intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PingDistributionName {
    /// All intervals are equal.
    #[default]
    Constant,
    /// The exponential distribution: requests see what a packet at a random time sees.
    Exponential,
}

pub(super) struct Ping;

impl Kind for Ping {
    const ABOUT: &'static str = "Requests, which the receiver answers at once: round trips of pings, or of requests and responses.";
    const TABLE_OF: &'static str = "requests";

    fn carried(asked: &Asked<'_>) -> Result<Carried> {
        let why = "requests come at intervals; leave the key out, and give ping.interval";
        asked.refuse(&["rate", "packet_rate"], why)?;
        let none = PingTable::default();
        let table = asked.tables.ping.unwrap_or(&none);
        let size_bytes = asked.size.map_or(PING_BYTES, |size| size.value);
        let every = table.interval.as_ref().map_or(EVERY, |every| every.value);
        if every <= Span::from_nanos(1) {
            let problem = "found no time at all, expected more";
            return wrong(format_args!("{}.ping.interval", asked.key), problem);
        }
        let arrivals = match table.distribution.unwrap_or_default() {
            PingDistributionName::Constant => Arrivals::Periodic { every, on_off: None },
            PingDistributionName::Exponential => Arrivals::Random(every),
        };
        let answer_bytes =
            table.answer_size.as_ref().map_or(u64::from(size_bytes), |size| size.value);
        if !(LEAST_PACKET..=MOST_BYTES).contains(&answer_bytes) {
            let problem = format_args!("found {answer_bytes} B, expected {LEAST_PACKET} B to 1 GB");
            return wrong(format_args!("{}.ping.answer_size", asked.key), problem);
        }
        let source = super::SourceSpec { size_bytes, ..asked.packets(arrivals) };
        Ok(Carried::Answered { source, answer_bytes })
    }
}
