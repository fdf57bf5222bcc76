//! The keys of wired links and of TCP.

use super::RttName;
use crate::quantity::{Duration, Packets, Quantity, Rate, Size};
use airqueue_qdisc::QueueGiven;
use airqueue_transport::tcp::CongestionName;
use schemars::JsonSchema;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A host without a radio, or with `count` a group of them, and its wired link.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostTable {
    /// What it is called, as `stations.name`. The members of a group have a number behind it, from 1.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-]{1,64}$"))]
    pub(crate) name: String,
    /// Makes it a group of so many.
    #[schemars(range(min = 1, max = 100_000))]
    pub(crate) count: Option<u32>,
    /// The station, or the host before it in the file, that its wired link leads to. Each member of a group has a wired link of its own.
    pub(crate) link: String,
    /// How fast the wired link takes packets, in each direction. The default is at once.
    pub(crate) rate: Option<Quantity<Rate>>,
    /// How long a packet takes through the wired link, one way, once it is serialised: one for all, or a list with one for each
    /// member. The default is `0 s`.
    pub(crate) delay: Option<Delays>,
    /// Where packets wait for the wired link, at both of its ends, where it has a rate. The default is room for as many as come.
    pub(crate) queue: Option<QueueGiven>,
}

/// A delay, or one for each member of a group.
#[derive(Clone, Debug, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Delays {
    /// The same for all.
    All(Quantity<Duration>),
    /// One for each, in their order.
    Each(Vec<Quantity<Duration>>),
}

struct DelaysVisitor;

/// Other than derived code this says what is wrong with a delay.
impl<'de> Visitor<'de> for DelaysVisitor {
    type Value = Delays;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a length of time, such as \"120 ms\", or a list of them")
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Delays, E> {
        Quantity::parse(text).map(Delays::All).map_err(E::custom)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Delays, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Delays::Each)
    }
}

impl<'de> Deserialize<'de> for Delays {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Delays, D::Error> {
        deserializer.deserialize_any(DelaysVisitor)
    }
}

/// A TCP connection, both ends. A key that is left out of a flow's table is taken from the table of all flows.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TcpTable {
    /// Whose TCP stack both ends have where no other key says something. The default is standard; ns2 with `behaviour = "ns2"`.
    pub(crate) stack: Option<TcpName>,
    /// Bytes of data in a full segment. The default is what fits into packets of `size`, or 1000 B for TCP like ns2's.
    pub(crate) mss: Option<Quantity<Size>>,
    /// What governs the congestion window. The default is newreno; for TCP like Linux's, cubic.
    pub(crate) congestion: Option<CongestionName>,
    /// The most that may be outstanding: the receiver's window, W*, in segments. The default is without limit; 20 packets
    /// for TCP like ns2's.
    pub(crate) window: Option<Quantity<Packets>>,
    /// The congestion window that connections begin with, in segments. The default is ten segments (RFC 6928), 2 for TCP like
    /// ns2's.
    pub(crate) initial_window: Option<Quantity<Packets>>,
    /// How many segments an acknowledgement answers: a number, or `"dynamic"` for one to four, growing along the connection
    /// (Altman and Jimenez, 2003). The default is 2; for TCP like ns2's, 1.
    pub(crate) ack_every: Option<AckEveryValue>,
    /// The longest that an acknowledgement waits for more segments. The default is 200 ms; for TCP like Linux's 40 ms, like
    /// ns2's 100 ms.
    pub(crate) ack_delay: Option<Quantity<Duration>>,
    /// What measures that. The default is segment.
    pub(crate) ack_timer: Option<AckTimerName>,
    /// Segments that arrive at one instant, as those of an A-MPDU do, are merged (GRO) and answered together. The default is
    /// false; true for TCP like Linux's.
    pub(crate) ack_batches: Option<bool>,
    /// Connections begin with SYN and end with FIN. The default is true; false for TCP like ns2's.
    pub(crate) handshake: Option<bool>,
    /// Selective acknowledgements (RFC 2018, RFC 6675). The default is true; false for TCP like ns2's.
    pub(crate) sack: Option<bool>,
    /// Timestamps (RFC 7323). The default is true; false for TCP like ns2's.
    pub(crate) timestamps: Option<bool>,
    /// New segments for the first two duplicate acknowledgements (RFC 3042). The default is true.
    pub(crate) limited_transmit: Option<bool>,
    /// A small segment waits while anything is outstanding (RFC 896). The default is true; false for TCP like ns2's.
    pub(crate) nagle: Option<bool>,
    /// The shortest retransmission timeout. The default is 1 s (RFC 6298); for TCP like Linux's and ns2's, 200 ms.
    pub(crate) min_rto: Option<Quantity<Duration>>,
    /// Segments are spread over time: with true at twice the window per round-trip time in slow start and 1.2 times
    /// afterwards, as Linux does, or by the scheme of this name. The default is false.
    pub(crate) pacing: Option<PacingValue>,
}

/// Whose TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TcpName {
    /// What the RFCs ask for.
    Standard,
    /// Linux with its defaults, as near as this comes.
    Linux,
    /// The one-way TCP of ns-2 with its defaults.
    Ns2,
}

/// What measures how long acknowledgements wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AckTimerName {
    /// A timer that starts with the first segment that waits.
    Segment,
    /// A clock that ticks whatever arrives: those that wait go out with its next tick.
    Ticks,
}

/// How many segments an acknowledgement answers.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a whole number, at least 1, or \"dynamic\"")]
pub(crate) enum AckEveryValue {
    /// Always so many.
    Fixed(#[schemars(range(min = 1))] u32),
    /// By the scheme of this name.
    Named(AckScheme),
}

/// A scheme of acknowledgements.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AckScheme {
    /// One for the first segment, then two, three and four.
    Dynamic,
}

/// Whether segments are spread over time.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected true, false, \"tcp-ap\" or \"tcp-ap-code\"")]
pub(crate) enum PacingValue {
    /// As Linux does it, or not at all.
    Flag(bool),
    /// By the scheme of this name.
    Named(PacingName),
}

/// A scheme of pacing.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PacingName {
    /// TCP with adaptive pacing, for several hops over the air (ElRakabawy and others, 2005).
    TcpAp,
    /// The same as in its authors' code for ns-2, which takes the mean absolute deviation of delays in the place of the
    /// standard deviation.
    TcpApCode,
}

impl HostTable {
    /// The members.
    pub(crate) fn members(&self) -> usize {
        self.count.unwrap_or(1) as usize
    }
}

impl From<RttName> for airqueue_network::network::RttKind {
    fn from(name: RttName) -> airqueue_network::network::RttKind {
        match name {
            RttName::Base => airqueue_network::network::RttKind::Base,
            RttName::Smoothed => airqueue_network::network::RttKind::Smoothed,
        }
    }
}
