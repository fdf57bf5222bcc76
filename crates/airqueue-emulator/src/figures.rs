//! What the emulator counts: the packets of each pair of real nodes, and how late packets were written.

use airqueue_core::{Ecn, Packet, PacketCount, Span};
use airqueue_network::counters::Durations;
use airqueue_network::histogram::Histogram;
use airqueue_network::outcome::Outcome;

/// A packet that is written later than this is late.
pub const LATE: Span = Span::from_millis(1);

/// The packets of a pair.
#[derive(Clone, Debug, Default)]
pub struct PairCounters {
    /// Packets offered to the network.
    pub offered: PacketCount,
    /// Packets delivered by the network.
    pub delivered: PacketCount,
    /// Packets dropped by a queue.
    pub dropped: PacketCount,
    /// Packets lost on the air, after the last retry.
    pub lost: PacketCount,
    /// Delivered packets that a queue of the network marked.
    pub marked: u64,
    /// Delays of delivered packets in the network.
    pub delay: Durations,
    /// These delays, for quantiles.
    pub delays: Histogram,
}

/// Why a packet of a real program was not offered to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The bytes are not one whole IP packet.
    Malformed,
    /// The packet is larger than the MTU.
    Oversize,
    /// The source address belongs to another node, or to nobody whose packets this node passes on.
    ForeignSource,
    /// The destination is not a single real node, and not behind one: multicast, broadcast, or an unknown address.
    NoSuchNode,
    /// The hop limit does not suffice for the routers on the route.
    HopLimit,
    /// The emulator holds as many packets as it may.
    Full,
}

impl Refusal {
    /// All of them.
    pub const ALL: [Refusal; 6] = [
        Refusal::Malformed,
        Refusal::Oversize,
        Refusal::ForeignSource,
        Refusal::NoSuchNode,
        Refusal::HopLimit,
        Refusal::Full,
    ];

    /// The reason in results.
    pub fn name(self) -> &'static str {
        match self {
            Refusal::Malformed => "malformed",
            Refusal::Oversize => "oversize",
            Refusal::ForeignSource => "foreign_source",
            Refusal::NoSuchNode => "no_such_node",
            Refusal::HopLimit => "hop_limit",
            Refusal::Full => "full",
        }
    }
}

/// How late packets were written: written minus due.
#[derive(Clone, Debug, Default)]
pub struct Lateness {
    /// Count, sum and maximum.
    pub all: Durations,
    /// For quantiles.
    pub histogram: Histogram,
    /// Packets later than [`LATE`].
    pub late: u64,
}

impl Lateness {
    /// A packet was written so much after it was due.
    pub fn add(&mut self, late: Span) {
        let late = late.max(Span::ZERO);
        self.all.add(late);
        self.histogram.add(late);
        self.late += u64::from(late > LATE);
    }

    /// Share of packets later than [`LATE`]; `None` without packets.
    pub fn late_ratio(&self) -> Option<f64> {
        (self.all.count > 0).then(|| self.late as f64 / self.all.count as f64)
    }

    /// A quantile in seconds; `None` without packets.
    pub fn quantile_s(&self, q: f64) -> Option<f64> {
        self.all.quantile_s(&self.histogram, q)
    }
}

impl PairCounters {
    /// The network has delivered a packet that was sent with the ECN field `sent`.
    pub(crate) fn on_delivered(&mut self, packet: &Packet, sent: Ecn, delay: Span) {
        self.delivered.add(packet);
        self.marked += u64::from(sent != Ecn::Ce && packet.ecn == Ecn::Ce);
        self.delay.add(delay);
        self.delays.add(delay);
    }

    /// The network has lost a packet.
    pub(crate) fn on_gone(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Dropped(packet, _) => self.dropped.add(packet),
            Outcome::Lost(packet) => self.lost.add(packet),
            Outcome::Delivered(_) => {}
        }
    }

    /// A quantile of the delay in seconds; `None` without delivered packets.
    pub fn delay_s(&self, q: f64) -> Option<f64> {
        self.delay.quantile_s(&self.delays, q)
    }
}
