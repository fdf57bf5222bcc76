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
    /// The host's name, as `stations.name`. The members of a group have a number after the name, from 1.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-]{1,64}$"))]
    pub(crate) name: String,
    /// Makes the host a group of this many members.
    #[schemars(range(min = 1, max = 100_000))]
    pub(crate) count: Option<u32>,
    /// The station, or an earlier host in the file, at the other end of the wired link. Each member of a group has a
    /// wired link of its own.
    pub(crate) link: String,
    /// Rate of the wired link, in each direction. The default is unlimited.
    pub(crate) rate: Option<Quantity<Rate>>,
    /// Rate of the wired link towards the host, if another one: that of uploads to a server behind an asymmetric line. The
    /// default is `rate`.
    pub(crate) rate_to_host: Option<Quantity<Rate>>,
    /// One-way delay of the wired link, after serialisation: one for all members, or a list with one delay for each
    /// member. The default is `0 s`.
    pub(crate) delay: Option<Delays>,
    /// Probability that a packet is lost in the wired link, in each direction.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub(crate) loss: f64,
    /// The queue before the wired link, at both ends, if the link has a rate. The default is an unlimited queue.
    pub(crate) queue: Option<QueueGiven>,
    /// The largest IP packets that the wired link carries, 1280 to 1500 B. A simulated flow with larger packets is an error;
    /// larger packets of real programs are answered by the router before the link. The default is no limit for simulated
    /// flows, and 1500 B for packets of real programs.
    pub(crate) mtu: Option<Quantity<Size>>,
    /// Real programs run at the host under `airqueue emulate`. A simulation ignores the key. The default is false.
    #[serde(default)]
    pub(crate) real: bool,
}

/// A length of time, or one for each member of a group.
#[derive(Clone, Debug, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Delays {
    /// One for all members.
    All(Quantity<Duration>),
    /// One for each member, in order.
    Each(Vec<Quantity<Duration>>),
}

struct DelaysVisitor;

/// Unlike derived code, errors say what is wrong with a delay.
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
    /// TCP stack of both ends, whose settings the other keys override. The default is standard; ns2 with `behaviour =
    /// "ns2"`.
    pub(crate) stack: Option<TcpName>,
    /// Bytes of data in a full segment. The default fits packets of `size`; for TCP like ns2's 1000 B.
    pub(crate) mss: Option<Quantity<Size>>,
    /// The congestion controller. The default is newreno; for TCP like Linux's, cubic.
    pub(crate) congestion: Option<CongestionName>,
    /// The receiver's window, W*, in segments, which limits outstanding data. The default is no limit; 20 packets for
    /// TCP like ns2's.
    pub(crate) window: Option<Quantity<Packets>>,
    /// The largest receive buffer, half of which is for data (`tcp_rmem`). The receiver's window grows with the data, as in
    /// Linux, and limits outstanding data. The default is no limit; 6 MiB for TCP like Linux's.
    pub(crate) receive_buffer: Option<Quantity<Size>>,
    /// The initial congestion window, in segments. The default is ten segments (RFC 6928), 2 for TCP like ns2's.
    pub(crate) initial_window: Option<Quantity<Packets>>,
    /// Number of segments per acknowledgement: a number, or `"dynamic"` for one to four, increasing during the
    /// connection (Altman and Jimenez, 2003). The default is 2; for TCP like ns2's, 1.
    pub(crate) ack_every: Option<AckEveryValue>,
    /// Longest delay of an acknowledgement. The default is 200 ms; for TCP like Linux's 40 ms, like ns2's 100 ms.
    pub(crate) ack_delay: Option<Quantity<Duration>>,
    /// The timer of delayed acknowledgements. The default is segment.
    pub(crate) ack_timer: Option<AckTimerName>,
    /// Segments that arrive at one instant, as those of an A-MPDU do, are merged (GRO) and acknowledged together. The
    /// default is false; true for TCP like Linux's.
    pub(crate) ack_batches: Option<bool>,
    /// Whether connections begin with SYN and end with FIN. The default is true; false for TCP like ns2's.
    pub(crate) handshake: Option<bool>,
    /// Selective acknowledgements (RFC 2018, RFC 6675). The default is true; false for TCP like ns2's.
    pub(crate) sack: Option<bool>,
    /// Timestamps (RFC 7323). The default is true; false for TCP like ns2's.
    pub(crate) timestamps: Option<bool>,
    /// New segments for the first two duplicate acknowledgements (RFC 3042). The default is true.
    pub(crate) limited_transmit: Option<bool>,
    /// A small segment waits while anything is outstanding (RFC 896). The default is true; false for TCP like ns2's, and for films.
    pub(crate) nagle: Option<bool>,
    /// The shortest retransmission timeout. The default is 1 s (RFC 6298); for TCP like Linux's and ns2's, 200 ms.
    pub(crate) min_rto: Option<Quantity<Duration>>,
    /// The sender hands over several segments at once: what the pacing rate sends in 1/1024 s, two at least if there are as
    /// many, and marks the last one with PSH (segmentation offload). The default is false; true for TCP like Linux's.
    pub(crate) segmentation_offload: Option<bool>,
    /// A station that sends data of its own keeps little of the data in its queue (TCP small queues): what this much time
    /// at the pacing rate takes; true: 1/128 s, as above Linux's mac80211. The default is false; true for TCP like Linux's.
    pub(crate) small_queue: Option<SmallQueueValue>,
    /// Pacing: with true at twice the window per round-trip time in slow start and 1.2 times afterwards, as Linux does,
    /// or by the scheme of this name. The default is false.
    pub(crate) pacing: Option<PacingValue>,
}

/// A TCP stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TcpName {
    /// TCP of the RFCs.
    Standard,
    /// TCP of Linux with its defaults, as closely as the engine models them.
    Linux,
    /// The one-way TCP of ns-2 with its defaults.
    Ns2,
}

/// The timer of delayed acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AckTimerName {
    /// A timer that starts with the first unacknowledged segment.
    Segment,
    /// A free-running clock: delayed acknowledgements are sent at its next tick.
    Ticks,
}

/// Number of segments per acknowledgement.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a whole number, at least 1, or \"dynamic\"")]
pub(crate) enum AckEveryValue {
    /// A fixed number.
    Fixed(#[schemars(range(min = 1))] u32),
    /// By the scheme of this name.
    Named(AckScheme),
}

/// A scheme of acknowledgements.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AckScheme {
    /// One segment at first, then two, three and four.
    Dynamic,
}

/// The share of a connection in the queue of its own station.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected true, false or a duration")]
pub(crate) enum SmallQueueValue {
    /// As above Linux's mac80211, or without limit.
    Flag(bool),
    /// What this much time at the pacing rate takes.
    Time(Quantity<Duration>),
}

/// Pacing of segments.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected true, false, \"tcp-ap\" or \"tcp-ap-code\"")]
pub(crate) enum PacingValue {
    /// Pacing as in Linux, or none.
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
    /// TCP-AP as in its authors' code for ns-2, which takes the mean absolute deviation of delays instead of the
    /// standard deviation.
    TcpApCode,
}

impl HostTable {
    /// Number of members.
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
