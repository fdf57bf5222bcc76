//! The sources of flows without TCP.

use super::hops::Hops;
use super::spec::{FlowSpec, Hop, NetworkError, NetworkSpec};
use crate::{FlowId, HopId, InterfaceId, MessagesId, PathId, SourceId};
use airqueue_core::{Ecn, Packet, Seed, Time};
use airqueue_transport::traffic::{Source, SourceSpec};

/// The source of a flow.
#[derive(Debug)]
pub(super) struct FlowSource {
    source: Source,
    /// The path that the packets take.
    pub(super) path: PathId,
    /// Whether packets are created in the sending station, and enter its queue at once.
    pub(super) at_station: bool,
    /// The messages that its packets belong to, or ask for.
    messages: Option<MessagesId>,
    /// Number of packets of each answer, if its packets are requests.
    answer_packets: u32,
    /// Number of the next request.
    next_request: u32,
    ecn: Ecn,
    dscp: u8,
}

/// All sources, and the packet numbers.
#[derive(Debug, Default)]
pub(super) struct Sources {
    all: Vec<FlowSource>,
    /// The saturated sources of each queue of the wireless LAN, each with the first hop of its packets.
    saturated: Vec<Vec<(SourceId, HopId)>>,
    packets: u64,
}

impl Sources {
    /// No sources yet, for a wireless LAN with `interfaces` queues.
    pub(super) fn new(interfaces: usize) -> Sources {
        Sources { saturated: vec![Vec::new(); interfaces], ..Sources::default() }
    }

    /// Adds the source of a flow, and returns its id.
    pub(super) fn add(&mut self, source: FlowSource) -> SourceId {
        self.all.push(source);
        SourceId::at(self.all.len() - 1)
    }

    /// Lets a saturated source, whose packets all begin with `hop`, fill a queue.
    pub(super) fn saturate(&mut self, source: SourceId, hop: HopId, interface: InterfaceId) {
        self.saturated[interface.index()].push((source, hop));
    }

    pub(super) fn at(&self, source: SourceId) -> &FlowSource {
        &self.all[source.index()]
    }

    /// A new packet at the start of its path.
    #[inline]
    pub(super) fn new_packet(&mut self, first_hop: HopId, size: u32, now: Time) -> Packet {
        self.packets += 1;
        Packet::new(self.packets, first_hop.flow(), size, now)
    }

    /// The packet that a source creates now.
    pub(super) fn make(&mut self, source: SourceId, hops: &Hops, now: Time) -> Packet {
        self.packets += 1;
        let source = self.at(source);
        source.packet(self.packets, hops.paths[source.path.index()].first, now)
    }

    /// The message of the packet that a source creates now, if it belongs to one: which, its number, and how many packets
    /// it has.
    #[inline]
    pub(super) fn message(&mut self, source: SourceId) -> Option<(MessagesId, u32, u32)> {
        let of = &mut self.all[source.index()];
        let id = of.messages?;
        if let Some(part) = of.source.part() {
            return Some((id, part.frame, part.packets));
        }
        let number = of.next_request;
        of.next_request = number.wrapping_add(1);
        Some((id, number, of.answer_packets))
    }

    /// A source has created its packet: when the next packet comes.
    pub(super) fn on_made(&mut self, source: SourceId) -> Option<Time> {
        let source = &mut self.all[source.index()].source;
        source.on_emission();
        source.next_emission()
    }

    /// Number of saturated sources of a queue. The sources take turns as the first: a queue without room for a packet
    /// of each is shared equally.
    #[inline(always)]
    pub(super) fn begin_top_up(&mut self, interface: InterfaceId) -> usize {
        let sources = &mut self.saturated[interface.index()];
        if sources.len() > 1 {
            sources.rotate_left(1);
        }
        sources.len()
    }

    /// The packet that a saturated source without a waiting packet offers to the queue.
    #[inline(always)]
    pub(super) fn top_up(
        &mut self,
        interface: InterfaceId,
        turn: usize,
        now: Time,
        hops: &mut Hops,
    ) -> Option<Packet> {
        let (source, first) = self.saturated[interface.index()][turn];
        let (source, state) = (&self.all[source.index()], &mut hops.states[first.index()]);
        if state.waiting > 0 || !source.source.is_saturated(now) {
            return None;
        }
        self.packets += 1;
        let packet = source.packet(self.packets, first, now);
        state.on_offered(&packet);
        hops.watch_come(&packet, now);
        Some(packet)
    }
}

impl FlowSource {
    /// The source of `flow`. Its random stream is `traffic/HOP` if packets are created in a station and keep
    /// to one route, which begins with hop HOP; otherwise `source/FLOW`.
    pub(super) fn new(
        spec: SourceSpec,
        ecn: Ecn,
        flow: &FlowSpec,
        at: FlowId,
        path: PathId,
        seed: Seed,
    ) -> Result<FlowSource, NetworkError> {
        let own_hop = flow.own_hop();
        let stream = match own_hop {
            Some(hop) => format!("traffic/{}", hop.0),
            None => format!("source/{}", at.0),
        };
        let wrong = |error| NetworkError::Source { flow: flow.name.clone(), error };
        let source = Source::new(spec, seed.stream(&stream)).map_err(wrong)?;
        let at_station = own_hop.is_some();
        Ok(FlowSource {
            source,
            path,
            at_station,
            messages: None,
            answer_packets: 0,
            next_request: 0,
            ecn,
            dscp: flow.dscp,
        })
    }

    /// The packet that the source creates now, with its number.
    #[inline]
    fn packet(&self, number: u64, first: HopId, now: Time) -> Packet {
        let &FlowSource { ecn, dscp, ref source, .. } = self;
        Packet { ecn, dscp, ..Packet::new(number, first.flow(), source.size_bytes(), now) }
    }

    /// This source, whose packets belong to messages; `answer_packets`: or are requests for answers of so many packets.
    pub(super) fn of_messages(self, messages: MessagesId, answer_packets: u32) -> FlowSource {
        FlowSource { messages: Some(messages), answer_packets, ..self }
    }

    /// When the first packet comes, if this time is known.
    pub(super) fn first(&self) -> Option<Time> {
        self.source.next_emission()
    }

    /// When a saturated source begins.
    pub(super) fn saturates_from(&self) -> Option<Time> {
        let start = self.source.start();
        self.source.is_saturated(start).then_some(start)
    }
}

impl FlowSpec {
    /// The hop over the air with which the flow's only route begins: the source is in the station that sends on this
    /// hop.
    pub(super) fn own_hop(&self) -> Option<HopId> {
        match self.route.first() {
            Some(&Hop::Air(hop)) if self.others.is_empty() => Some(hop),
            _ => None,
        }
    }
}

impl NetworkSpec {
    /// Checks that saturated sources have a queue to fill.
    pub(super) fn check_saturated(&self, flow: &FlowSpec) -> Result<(), NetworkError> {
        match flow.own_hop() {
            Some(hop) if hop.index() < self.wlan.hops.len() => Ok(()),
            _ => Err(NetworkError::Saturated { flow: flow.name.clone() }),
        }
    }
}
