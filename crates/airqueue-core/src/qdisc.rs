//! The queue discipline traits.
//!
//! A discipline is a [`QueueDisc`]. Two more traits are for links with more functions: [`ByNeighbour`] for a link that
//! sends several packets to one neighbour together, [`LinkFeedback`] for a link that reports the fate of packets. Every
//! discipline implements both, most of them with the defaults; all three together are a [`LinkQueue`].

use crate::{
    AirRate, DataRate, Device, Ecn, FlowKey, Hosts, NeighbourId, Packet, Span, TcpHeader, Time,
};
use auto_impl::auto_impl;

/// Decides which packets wait, in which order they leave, and which are dropped.
///
/// A discipline is a sans-IO state machine: the caller passes the time, and the discipline schedules nothing. The
/// interface suits all the usual kinds:
///
/// * *Dropping at arrival* (drop-tail, RED, PIE): `enqueue` puts the arriving packet, or one that
///   was waiting (drop from the head, FQ-CoDel's largest flow), into `drops`.
/// * *Dropping at departure* (CoDel): `dequeue` puts the packets that it drops before the
///   packet it returns into `drops`.
/// * *Reordering* (DRR, airtime fairness): `dequeue` chooses among flows ([`Packet::flow`]).
/// * *Shaping*: `dequeue` returns `None` although packets wait, and [`next_wakeup`] gives the time of the next call.
///
/// Every discipline accounts for every packet: an offered packet waits in the discipline, was returned by `dequeue`, or
/// was named in `drops`, exactly once. A discipline changes only the stamp of a packet, and the ECN field through
/// [`Drops::mark`].
///
/// [`next_wakeup`]: QueueDisc::next_wakeup
#[auto_impl(Box)]
pub trait QueueDisc {
    /// Offers a packet at `now`. Packets dropped because of this arrival, the arriving packet or others, are added to
    /// `drops`. An accepted packet is stamped: `enqueued` becomes `now`.
    fn enqueue(&mut self, packet: Packet, now: Time, drops: &mut Drops);

    /// Removes and returns the packet that leaves at `now`.
    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Packet>;

    /// The packet that `dequeue(now)` would return, which stays in the queue. A discipline that decides when a
    /// packet leaves decides here, and the next `dequeue` returns this packet: a shaper in front must know
    /// the size of the packet that it waits for.
    fn peek(&mut self, now: Time, drops: &mut Drops) -> Option<&Packet>;

    /// Number of packets waiting.
    fn len_packets(&self) -> usize;

    /// Bytes waiting, counted as for the discipline's limit (with link-layer overhead if the limit includes it).
    fn len_bytes(&self) -> u64;

    /// Whether no packet waits.
    fn is_empty(&self) -> bool {
        self.len_packets() == 0
    }

    /// When `dequeue` may next return a packet if it now returns `None`. `None`: not before
    /// the next `enqueue`, which holds for every work-conserving discipline.
    fn next_wakeup(&self, _now: Time) -> Option<Time> {
        None
    }

    /// Changes the hard limit, as an operator would. Packets that exceed it stay until they leave;
    /// arrivals are judged by the new limit. A discipline with several queues, each with the limit, gives it to all
    /// of them, whatever [`LinkFeedback::set_limit_of`] said before.
    fn set_limit(&mut self, limit: Limit);
}

/// For a link that sends several packets to one neighbour together (A-MPDUs), and takes turns among neighbours.
///
/// By default only the packet whose turn it is can be returned.
#[auto_impl(Box)]
pub trait ByNeighbour: QueueDisc {
    /// The packet that `dequeue_for_neighbour(neighbour, now)` would return, which stays in the queue.
    fn peek_for_neighbour(
        &mut self,
        neighbour: NeighbourId,
        now: Time,
        drops: &mut Drops,
    ) -> Option<&Packet> {
        self.peek(now, drops).filter(|packet| packet.neighbour == neighbour)
    }

    /// Removes and returns a packet for a neighbour that is to share a frame (an A-MPDU) with the packet for this neighbour
    /// that `dequeue` returned at this instant. A discipline that knows which packets wait for which neighbour may return one out of
    /// turn.
    fn dequeue_for_neighbour(
        &mut self,
        neighbour: NeighbourId,
        now: Time,
        drops: &mut Drops,
    ) -> Option<Packet> {
        self.peek_for_neighbour(neighbour, now, drops)?;
        self.dequeue(now, drops)
    }

    /// Dequeues the next packet for a neighbour if the packet is admitted to the frame; otherwise the packet stays in the
    /// queue, as after [`Self::peek_for_neighbour`]. A discipline that searches its packets finds the packet once.
    fn dequeue_admitted(
        &mut self,
        neighbour: NeighbourId,
        now: Time,
        drops: &mut Drops,
        admits: &mut dyn FnMut(&Packet) -> bool,
    ) -> Option<Packet> {
        self.peek_for_neighbour(neighbour, now, drops).filter(|packet| admits(packet))?;
        self.dequeue_for_neighbour(neighbour, now, drops)
    }

    /// A neighbour with waiting packets that is not among those to whom packets are already being sent.
    fn other_neighbour(
        &mut self,
        neighbours: &[NeighbourId],
        now: Time,
        drops: &mut Drops,
    ) -> Option<NeighbourId> {
        self.peek(now, drops)
            .map(|packet| packet.neighbour)
            .filter(|neighbour| !neighbours.contains(neighbour))
    }
}

/// For a link that reports the fate of packets, and for an operator who sets limits of single flows, names their hosts and
/// shows the headers of their packets.
///
/// By default reports and headers are ignored, and no flow has a limit of its own.
#[auto_impl(Box)]
pub trait LinkFeedback {
    /// The link is done with a packet that `dequeue` returned. A link that reports at all reports each packet
    /// once, and calls `dequeue` again afterwards: the report may release packets that were held back.
    fn on_sent(&mut self, _sent: &Sent, _now: Time) {}

    /// Whether the discipline reads these reports: a discipline with an [`Self::on_sent`] of its own does. The answer does
    /// not change, so that nobody makes reports that a discipline does not read.
    fn reads_reports(&self) -> bool {
        false
    }

    /// The link keeps a packet that `dequeue` returned, for a receiver that sleeps: until [`Self::on_taken_up`] the packet is
    /// not in the device.
    fn on_put_aside(&mut self, _packet: &Packet) {}

    /// The link takes such a packet up again, to send it, or to report it.
    fn on_taken_up(&mut self, _packet: &Packet) {}

    /// A neighbour sleeps, or is awake again. A discipline that can hold packets back for one neighbour alone does so while
    /// the neighbour sleeps, and gives them to [`ByNeighbour::dequeue_for_neighbour`] alone.
    fn set_asleep(&mut self, _neighbour: NeighbourId, _asleep: bool) {}

    /// Number of packets that the discipline holds back for a neighbour that sleeps.
    fn held_for(&self, _neighbour: NeighbourId) -> usize {
        0
    }

    /// Says what the link knows of a neighbour, before the neighbour's first packet. A discipline that does not share
    /// airtime ignores it.
    fn set_neighbour(&mut self, _neighbour: NeighbourId, _facts: NeighbourFacts) {}

    /// Says what is known of the device, before the first packet. A discipline that does not limit the airtime in the device
    /// ignores it.
    fn set_device(&mut self, _device: &Device) {}

    /// The expected airtime of a neighbour's packets in the device; zero with a discipline that does not limit it.
    fn expected_airtime(&self, _neighbour: NeighbourId) -> Span {
        Span::ZERO
    }

    /// Sets the ends of a flow, before its first packet or later. A discipline that does not distinguish hosts ignores them.
    fn set_flow_hosts(&mut self, _flow: FlowKey, _hosts: Hosts) {}

    /// Whether the discipline reads TCP headers. The answer does not change, so that nobody looks for the headers that
    /// a discipline does not read.
    fn reads_tcp_headers(&self) -> bool {
        false
    }

    /// Sets the TCP header of the packet with this id, which is the next packet that is enqueued. A packet without a
    /// header counts as a packet of another protocol.
    fn set_tcp_header(&mut self, _packet: u64, _header: &TcpHeader) {}

    /// Changes the limit of one queue only, by the rule of [`QueueDisc::set_limit`]: that in which packets of this flow
    /// for this neighbour wait, now or later. False: nothing changed, since this discipline has no limit per queue.
    fn set_limit_of(&mut self, _flow: FlowKey, _neighbour: NeighbourId, _limit: Limit) -> bool {
        false
    }
}

/// A queue discipline with all functions that a link may use.
pub trait LinkQueue: ByNeighbour + LinkFeedback {}

impl<Q: ByNeighbour + LinkFeedback + ?Sized> LinkQueue for Q {}

/// Any queue discipline; the box can move between threads with its simulation.
pub type BoxedQueue = Box<dyn LinkQueue + Send + Sync>;

/// A link's report on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The packet, as `dequeue` returned it.
    pub packet: Packet,
    /// Whether the next station acknowledged the packet; otherwise the MAC gave the packet up.
    pub acknowledged: bool,
    /// The time that all its transmissions took, with their responses and the gaps before these; of
    /// transmissions together with others its share by bytes.
    pub airtime: Span,
    /// The rate of its frame, if the packet had one.
    pub rate: Option<AirRate>,
    /// What the receiver reported in the acknowledgement, if anything.
    pub feedback: Option<Feedback>,
}

/// What a link knows of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighbourFacts {
    /// The neighbour's airtime relative to that of the others that packets wait for.
    pub airtime_weight: u16,
    /// The packets are for all stations in range: the neighbour is no station.
    pub is_group: bool,
}

impl NeighbourFacts {
    /// The weight of a station that has no other (`IEEE80211_DEFAULT_AIRTIME_WEIGHT`).
    pub const USUAL_WEIGHT: u16 = 256;
}

impl Default for NeighbourFacts {
    /// A station of the usual weight.
    fn default() -> NeighbourFacts {
        NeighbourFacts { airtime_weight: NeighbourFacts::USUAL_WEIGHT, is_group: false }
    }
}

/// What a receiver reports about a flow in a link-layer acknowledgement (RDQM).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// The flow's round-trip time.
    pub rtt: Span,
    /// The rate of the last data frame.
    pub rate: DataRate,
}

/// The hard limit of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most this many packets wait.
    Packets(u32),
    /// At most this many bytes wait: a packet is accepted if it fits into the rest, so that the backlog never exceeds
    /// the limit (the rule of Linux's bfifo).
    Bytes(u64),
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// The queue was full: the arriving packet was dropped.
    Tail,
    /// The queue was full: a waiting packet was dropped to make room.
    Head,
    /// The packet is too large ever to pass.
    Oversize,
    /// The packet exceeds the rate of a policer.
    Policed,
    /// Active queue management signals congestion, although there was room.
    Aqm,
    /// A later acknowledgement of the same connection makes this acknowledgement redundant (CAKE's ACK filter).
    AckFilter,
    /// The processor of the station in front of the queue was busy, and had no room for the packet.
    Overrun,
}

/// A packet that a queue dropped, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The packet.
    pub packet: Packet,
    /// The reason.
    pub reason: DropReason,
}

/// Collects drops and counts marks. The caller keeps one and empties it after each call, so that
/// nothing is allocated per packet.
#[derive(Clone, Debug, Default)]
pub struct Drops {
    dropped: Vec<Dropped>,
    marks: u64,
}

impl Drops {
    /// An empty collection.
    pub fn new() -> Drops {
        Drops::default()
    }

    /// Adds a drop.
    pub fn push(&mut self, packet: Packet, reason: DropReason) {
        self.dropped.push(Dropped { packet, reason });
    }

    /// Marks a packet in place of dropping it, and returns whether the packet now carries a mark: a
    /// packet that is not ECN-capable cannot (RFC 3168, section 5). A packet that had a mark keeps
    /// the mark and is not counted again.
    pub fn mark(&mut self, packet: &mut Packet) -> bool {
        if packet.ecn == Ecn::Ect {
            packet.ecn = Ecn::Ce;
            self.marks += 1;
        }
        packet.ecn.is_capable()
    }

    /// Packets marked since the beginning; `clear` and `drain` do not reset this count.
    pub fn marks(&self) -> u64 {
        self.marks
    }

    /// Packets dropped since the last `clear` or `drain`, oldest first.
    pub fn as_slice(&self) -> &[Dropped] {
        &self.dropped
    }

    /// Takes all drops out, oldest first.
    pub fn drain(&mut self) -> impl Iterator<Item = Dropped> + '_ {
        self.dropped.drain(..)
    }

    /// Forgets all drops.
    pub fn clear(&mut self) {
        self.dropped.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_capable_packets_are_marked_and_each_is_counted_once() {
        let mut drops = Drops::new();
        let mut mark = |ecn| {
            let mut packet = Packet { ecn, ..Packet::new(0, FlowKey(0), 100, Time::ZERO) };
            let carries = drops.mark(&mut packet);
            (carries, packet.ecn, drops.marks())
        };
        assert_eq!(mark(Ecn::NotEct), (false, Ecn::NotEct, 0));
        assert_eq!(mark(Ecn::Ect), (true, Ecn::Ce, 1));
        assert_eq!(mark(Ecn::Ce), (true, Ecn::Ce, 1));
    }
}
