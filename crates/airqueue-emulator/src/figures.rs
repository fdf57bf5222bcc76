//! What the emulator counts: the packets of each pair of real nodes, and how late packets were written.

use crate::story::Labels;
use airqueue_core::{DropReason, Ecn, Packet, PacketCount, Span};
use airqueue_network::counters::Durations;
use airqueue_network::histogram::{FineHistogram, Histogram};
use airqueue_network::network::{Hop, Step, Traced};
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
    pub delays: FineHistogram,
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

/// Where a packet was lost, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossPlace {
    over: Hop,
    reason: LossReason,
}

/// Why a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossReason {
    /// A queue was full.
    Full,
    /// Active queue management dropped the packet.
    Early,
    /// A filter of acknowledgements dropped the packet.
    Filtered,
    /// The packet is too large ever to pass a queue.
    Oversize,
    /// The packet was beyond the rate of a policer.
    Policed,
    /// The station gave the packet up after its last attempt on the air.
    GivenUp,
    /// The packet was lost in a wired link.
    Wire,
}

impl LossReason {
    /// The reason in results.
    pub fn name(self) -> &'static str {
        match self {
            LossReason::Full => "full",
            LossReason::Early => "early",
            LossReason::Filtered => "filtered",
            LossReason::Oversize => "oversize",
            LossReason::Policed => "policed",
            LossReason::GivenUp => "given_up",
            LossReason::Wire => "wire",
        }
    }
}

impl From<DropReason> for LossReason {
    fn from(reason: DropReason) -> LossReason {
        match reason {
            // The queue in front of a station's processor, too.
            DropReason::Tail | DropReason::Head | DropReason::Overrun => LossReason::Full,
            DropReason::Aqm => LossReason::Early,
            DropReason::AckFilter => LossReason::Filtered,
            DropReason::Oversize => LossReason::Oversize,
            DropReason::Policed => LossReason::Policed,
        }
    }
}

impl LossPlace {
    /// Where a packet is lost with a step, unless the packet goes on.
    pub(crate) fn after(traced: &Traced) -> Option<LossPlace> {
        let reason = match traced.step {
            Step::Dropped(reason) => reason.into(),
            Step::GivenUp => LossReason::GivenUp,
            Step::LostInWire => LossReason::Wire,
            Step::Taken { .. } | Step::Sent => return None,
        };
        Some(LossPlace { over: traced.over, reason })
    }
}

/// Lost packets by place and reason.
#[derive(Clone, Debug, Default)]
pub struct Losses(Vec<Loss>);

/// Packets lost at one place for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The queue, the station that gave packets up, or the wired link.
    pub place: String,
    /// Why.
    pub reason: LossReason,
    /// How many.
    pub packets: u64,
}

impl Losses {
    /// All of them, in the order in which the first of each kind was lost.
    pub fn all(&self) -> &[Loss] {
        &self.0
    }

    /// A packet has been lost.
    pub(crate) fn add(&mut self, labels: &Labels, at: Option<LossPlace>) {
        let Some(LossPlace { over, reason }) = at else { return };
        let place = match reason {
            LossReason::GivenUp => labels.sender(over),
            _ => labels.queue(over),
        };
        match self.0.iter_mut().find(|loss| loss.reason == reason && loss.place == place) {
            Some(loss) => loss.packets += 1,
            None => self.0.push(Loss { place: place.to_owned(), reason, packets: 1 }),
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
