//! The engine of a network: its state, its events, and how each event is handled.

use super::assembly::Assembly;
use super::browsers::Loading;
use super::changes::TimedChange;
use super::connection::{Connection, Direction};
use super::hops::{End, Path, RouteHop};
use super::opportunities::Opportunities;
use super::processor::Processors;
use super::segments::Batch;
use super::spec::{Answers, Hop, NetworkSpec};
use super::store::SegmentStore;
use super::trace::Traced;
use super::upper::Upper;
use super::wire::Wire;
use crate::delay_line::DelayLine;
use crate::event::{EventQueue, Phase};
use crate::outcome::Outcome;
use crate::run_loop::Model;
use crate::timer::Timer;
use crate::wlan::{self, Wlan};
use crate::{
    BrowserId, ConnectionId, FlowId, HopId, InterfaceId, MessagesId, PathId, SourceId, WireId,
};
use airqueue_core::{Dropped, Ecn, FlowKey, Packet, Payload, Seed, Time};
use airqueue_wifi::medium::StationId;

/// Events outside the radio come before the radio's events of the same instant.
pub(super) const OUTSIDE: Phase = Phase(0);

/// The events of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An event on the air, or at a station's queue.
    Wlan(wlan::Event),
    /// A wire may have serialised a packet.
    Served(WireId),
    /// A packet has reached the end of a wire.
    Arrived(WireId),
    /// A packet has passed through a station to its queue.
    Queued,
    /// A source creates a packet.
    Made(SourceId),
    /// The processor of a station may be done with a packet, by its number.
    Processed(u32),
    /// A saturated source of this queue begins.
    Saturates(InterfaceId),
    /// A timer of a TCP connection expires.
    Connection(ConnectionId),
    /// A browser may have something to request.
    Browser(BrowserId),
    /// A change takes effect, by its number.
    Changed(u32),
    /// Counting restarts, before all other events of the instant.
    WarmedUp,
}

// The event queue moves events in memory.
const _: () = assert!(size_of::<Event>() == 8);

impl From<wlan::Event> for Event {
    #[inline]
    fn from(event: wlan::Event) -> Event {
        Event::Wlan(event)
    }
}

/// A network (see the [module](super)).
#[derive(Debug)]
pub struct Network {
    pub(super) wlan: Wlan<Upper>,
    /// The first path of each flow.
    pub(super) flows: Vec<PathId>,
    pub(super) wires: Vec<Wire>,
    /// Packets inside the stations, in transit to their queues; `None` where stations add no delay.
    pub(super) inside: Option<DelayLine>,
    pub(super) queued: Timer<Event>,
    pub(super) connections: Vec<Connection>,
    /// The browsers of flows of pages.
    pub(super) browsers: Vec<Loading>,
    /// The messages of flows that have any: pictures, and answers to requests.
    pub(super) messages: Vec<Assembly>,
    /// For each of them: the answers that the last node sends, and their path.
    pub(super) answers: Vec<Option<(Answers, PathId)>>,
    pub(super) processors: Processors,
    /// The paths of each connection: data, then acknowledgements.
    pub(super) paths: Vec<[PathId; 2]>,
    /// The hops whose packets wait in each queue of the wireless LAN, and in front of each wire.
    pub(super) queue_hops: QueueHops,
    pub(super) changes: Vec<TimedChange>,
    pub(super) seed: Seed,
    pub(super) store: SegmentStore,
    /// Outcomes of packets on the air, while they are processed.
    pub(super) inbox: Vec<Outcome>,
    /// Drops of a wire's queue, while they are processed.
    pub(super) drops: Vec<Dropped>,
    /// Outcomes of packets from outside; each outcome names the flow instead of the hop.
    pub(super) outcomes: Vec<Outcome>,
    /// Packets that their first station no longer has, while they are processed.
    pub(super) left: Vec<Packet>,
    /// Those of them that came from outside.
    pub(super) released: Vec<Payload>,
    pub(super) batch: Batch,
}

/// A packet from outside, without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferedPacket {
    /// Size of the IP packet in bytes.
    pub size: u32,
    /// Where the packet's bytes are.
    pub payload: Payload,
    /// The ECN field of the packet; `None`: that of the flow.
    pub ecn: Option<Ecn>,
    /// The differentiated services codepoint of the packet; `None`: that of the flow.
    pub dscp: Option<u8>,
}

impl OfferedPacket {
    /// A packet with the ECN field and the DSCP of its flow.
    pub fn new(size: u32, payload: Payload) -> OfferedPacket {
        OfferedPacket { size, payload, ecn: None, dscp: None }
    }
}

/// The hops of each queue.
#[derive(Debug, Default)]
pub(super) struct QueueHops {
    pub(super) wlan: Vec<Vec<HopId>>,
    pub(super) wires: Vec<Vec<HopId>>,
}

impl Network {
    /// The 802.11 link layer.
    pub fn wlan(&self) -> &Wlan<Upper> {
        &self.wlan
    }

    /// The 802.11 link layer, to update its counters to the present or to plug in a tap.
    pub fn wlan_mut(&mut self) -> &mut Wlan<Upper> {
        &mut self.wlan
    }

    /// Packets that have left a hop and not yet reached the queue of the next hop. Packets at the start of a route are
    /// excluded: they have not been offered to any queue yet.
    pub(super) fn inside_stations(&self) -> impl Iterator<Item = &Packet> {
        let hops = &self.wlan.upper.hops;
        let inside = self.inside.iter().flat_map(DelayLine::packets);
        inside.chain(self.processors.packets()).filter(|of| !hops.of(of).first)
    }

    /// Number of TCP segments stored for packets in transit.
    pub fn segments_kept(&self) -> usize {
        self.store.kept()
    }

    /// Outcomes of packets from outside since the last call, in order of time. Each outcome names the flow to which the
    /// packet was offered.
    pub fn outcomes(&mut self) -> impl Iterator<Item = Outcome> + '_ {
        self.outcomes.drain(..)
    }

    /// From now on [`Self::released`] tells which packets from outside the station that sends them no longer has.
    pub fn tell_senders(&mut self) {
        self.wlan.upper.hops.tell_senders();
    }

    /// Packets from outside that the station which sends them has had, and no longer has since the last call: acknowledged,
    /// given up, or dropped by the station's queue. Up to this moment an operating system counts a packet against the
    /// packet's socket. Of each packet whose first hop is over the air this is said once, before or after its outcome.
    pub fn released(&mut self) -> impl Iterator<Item = Payload> + '_ {
        self.released.drain(..)
    }

    /// From now on [`Self::traced`] tells what happens to packets from outside at each hop.
    pub fn start_trace(&mut self) {
        self.wlan.upper.hops.start_trace();
    }

    /// From now on the delivery opportunities from a station, or only those to another station, are kept; those before
    /// `begin` are not. False, and nothing is kept, if no hop leads there.
    pub fn start_watch(
        &mut self,
        spec: &NetworkSpec,
        link: (StationId, Option<StationId>),
        begin: Time,
    ) -> bool {
        self.wlan.upper.hops.start_watch(spec, link, begin)
    }

    /// The delivery opportunities up to `now`, if somebody asked for them.
    pub fn opportunities(&self, now: Time) -> Option<Opportunities> {
        self.wlan.upper.hops.watch.as_ref().map(|watch| watch.until(now))
    }

    /// What has happened to packets from outside since the last call, in order of time; nothing before
    /// [`Self::start_trace`].
    pub fn traced(&mut self) -> impl Iterator<Item = Traced> + '_ {
        self.wlan.upper.hops.trace.iter_mut().flat_map(|trace| trace.drain(..))
    }

    /// Offers a packet from outside to a flow, now. The packet has the DSCP of the flow unless it has one of its own.
    ///
    /// Returns whether the packet's first hop is over the air.
    ///
    /// # Panics
    ///
    /// If the flow's packets do not come from outside.
    pub fn offer(
        &mut self,
        flow: FlowId,
        offered: OfferedPacket,
        queue: &mut EventQueue<Event>,
    ) -> bool {
        let path = self.wlan.upper.hops.paths[self.flows[flow.index()].index()];
        assert!(path.end == End::Outside, "the flow has packets of its own");
        let OfferedPacket { size, payload, ecn, dscp } = offered;
        let packet = self.wlan.upper.sources.new_packet(path.first, size, queue.now());
        let (ecn, dscp) = (ecn.unwrap_or(path.ecn), dscp.unwrap_or(path.dscp));
        let over_air = matches!(self.wlan.upper.hops.of(&packet).over, Hop::Air(_));
        self.enter(Packet { payload, ecn, dscp, ..packet }, queue);
        self.pass_on(queue);
        over_air
    }

    fn on_made(&mut self, source: SourceId, queue: &mut EventQueue<Event>) {
        let now = queue.now();
        let Upper { sources, hops, .. } = &mut self.wlan.upper;
        let mut packet = sources.make(source, hops, now);
        if let Some((id, number, packets)) = sources.message(source) {
            packet.payload = Payload(number);
            self.messages[id.index()].on_sent(number, packets, now);
        }
        let at_station = sources.at(source).at_station;
        if let Some(next) = sources.on_made(source) {
            let phase = if at_station { wlan::INPUT } else { OUTSIDE };
            queue.schedule(next, phase, Event::Made(source));
        }
        if at_station {
            self.offer_to_wlan(packet, queue);
        } else {
            self.enter(packet, queue);
        }
    }

    fn start_counting(&mut self, now: Time) {
        self.wlan.upper.hops.start_counting();
        // A packet's airtime counts when the MAC has finished the packet.
        let in_hand: Vec<_> = self.wlan.airtimes_in_hand(now).collect();
        for (packet, airtime) in in_hand {
            let counters = &mut self.wlan.upper.hops.state(&packet).counters;
            counters.airtime = counters.airtime - airtime;
        }
        self.wlan.start_counting(now);
        for wire in &mut self.wires {
            wire.start_counting(now);
        }
        for connection in &mut self.connections {
            connection.start_counting(now);
        }
        self.browsers.iter_mut().for_each(Loading::start_counting);
        self.messages.iter_mut().for_each(Assembly::start_counting);
        self.processors.start_counting(now);
    }

    /// A packet enters its hop, by way of the station's processor if there is one.
    #[inline]
    pub(super) fn enter(&mut self, packet: Packet, queue: &mut EventQueue<Event>) {
        match self.processors.of(HopId::of(&packet).index()) {
            Some(processor) => self.process(processor, packet, queue),
            None => self.enter_hop(packet, queue),
        }
    }

    /// A packet enters its hop.
    pub(super) fn enter_hop(&mut self, packet: Packet, queue: &mut EventQueue<Event>) {
        match (self.wlan.upper.hops.of(&packet).over, &mut self.inside) {
            (Hop::Air(_), Some(inside)) => {
                inside.send(packet, queue.now());
                self.queued.set(inside.next_at(), queue);
            }
            (Hop::Air(_), None) => self.offer_to_wlan(packet, queue),
            (Hop::Wire(wire), _) => {
                let hops = &mut self.wlan.upper.hops;
                if hops.on_offered(&packet, queue.now()) {
                    let header = self.store.header(packet.payload);
                    self.wires[wire.index()].set_tcp_header(packet.id, &header);
                }
                self.wires[wire.index()].enter(packet, hops, queue);
                self.collect_drops(wire);
            }
        }
    }

    #[inline]
    fn offer_to_wlan(&mut self, packet: Packet, queue: &mut EventQueue<Event>) {
        if self.wlan.upper.hops.on_offered(&packet, queue.now()) {
            let header = self.store.header(packet.payload);
            self.wlan.set_tcp_header(&packet, &header);
        }
        self.wlan.offer(packet, queue);
    }

    fn on_queued(&mut self, queue: &mut EventQueue<Event>) {
        while let Some(packet) = self.inside.as_mut().and_then(|of| of.take_due(queue.now())) {
            self.offer_to_wlan(packet, queue);
        }
        self.queued.set(self.inside.as_ref().and_then(DelayLine::next_at), queue);
    }

    fn on_served(&mut self, wire: WireId, queue: &mut EventQueue<Event>) {
        self.wires[wire.index()].on_served(&mut self.wlan.upper.hops, queue);
        self.collect_drops(wire);
    }

    fn on_arrived(&mut self, wire: WireId, queue: &mut EventQueue<Event>) {
        let now = queue.now();
        while let Some((packet, lost)) = self.wires[wire.index()].take_due(now) {
            if lost {
                self.wlan.upper.hops.on_lost_in_wire(&packet);
                self.lose(packet, Outcome::Lost);
            } else {
                self.wlan.upper.hops.on_left_wire(&packet, now);
                self.leave(packet, queue);
            }
        }
        self.end_batch(queue);
        self.wires[wire.index()].set_timers(queue);
    }

    /// Processes the drops of a wire's queue.
    #[inline(always)]
    fn collect_drops(&mut self, wire: WireId) {
        if self.wires[wire.index()].has_drops() {
            self.process_drops(wire);
        }
    }

    #[inline(never)]
    fn process_drops(&mut self, wire: WireId) {
        let mut drops = std::mem::take(&mut self.drops);
        self.wires[wire.index()].take_drops(&mut drops);
        for dropped in drops.drain(..) {
            self.wlan.upper.hops.on_dropped(&dropped);
            let Dropped { packet, reason } = dropped;
            self.lose(packet, |packet| Outcome::Dropped(packet, reason));
        }
        self.drops = drops;
    }

    /// Processes the outcomes of packets on the air, and their consequences.
    #[inline]
    pub(super) fn pass_on(&mut self, queue: &mut EventQueue<Event>) {
        loop {
            if !self.wlan.upper.released.is_empty() {
                self.release(queue);
            } else if !self.wlan.upper.outcomes.is_empty() {
                self.pass_on_batch(queue);
            } else {
                return;
            }
        }
    }

    /// Tells the senders of packets that their station no longer has the packets.
    #[inline(never)]
    fn release(&mut self, queue: &mut EventQueue<Event>) {
        std::mem::swap(&mut self.wlan.upper.released, &mut self.left);
        let mut left = std::mem::take(&mut self.left);
        for packet in &left {
            let path = self.wlan.upper.hops.of(packet).path;
            match self.wlan.upper.hops.paths[path.index()].end {
                End::Outside => self.released.push(packet.payload),
                End::Receiver(id) => self.connections[id.index()].on_left_station(packet.size),
                End::Sink | End::Sender(_) | End::Viewer(_) | End::Server(_) | End::Client(_) => {}
            }
        }
        let mut last = None;
        for packet in left.drain(..) {
            let path = self.wlan.upper.hops.of(&packet).path;
            if let End::Receiver(id) = self.wlan.upper.hops.paths[path.index()].end
                && last != Some(id)
            {
                self.pump(id, queue);
                last = Some(id);
            }
        }
        self.left = left;
    }

    #[inline(never)]
    fn pass_on_batch(&mut self, queue: &mut EventQueue<Event>) {
        std::mem::swap(&mut self.wlan.upper.outcomes, &mut self.inbox);
        let mut inbox = std::mem::take(&mut self.inbox);
        for outcome in inbox.drain(..) {
            match outcome {
                Outcome::Delivered(packet) => self.leave(packet, queue),
                Outcome::Dropped(packet, reason) => {
                    self.lose(packet, |packet| Outcome::Dropped(packet, reason));
                }
                Outcome::Lost(packet) => self.lose(packet, Outcome::Lost),
            }
        }
        self.inbox = inbox;
        self.end_batch(queue);
    }

    /// A packet has crossed its hop.
    fn leave(&mut self, packet: Packet, queue: &mut EventQueue<Event>) {
        self.count_in_batch(queue);
        let &RouteHop { path, next, .. } = self.wlan.upper.hops.of(&packet);
        if let Some(next) = next {
            return self.enter(Packet { flow: next.flow(), ..packet }, queue);
        }
        match self.wlan.upper.hops.paths[path.index()].end {
            End::Sink => {}
            End::Outside => self.report(path, packet, Outcome::Delivered),
            End::Receiver(connection) => {
                self.hand_over(connection, Direction::Data, &packet, queue)
            }
            End::Sender(connection) => self.hand_over(connection, Direction::Acks, &packet, queue),
            End::Viewer(id) | End::Client(id) => {
                self.messages[id.index()].on_arrived(packet.payload.0, queue.now());
            }
            End::Server(id) => self.answer(id, packet.payload, queue),
        }
    }

    /// A packet is lost on its hop.
    pub(super) fn lose(&mut self, packet: Packet, outcome: impl FnOnce(Packet) -> Outcome) {
        let path = self.wlan.upper.hops.of(&packet).path;
        match self.wlan.upper.hops.paths[path.index()].end {
            End::Sink => {}
            End::Outside => self.report(path, packet, outcome),
            End::Receiver(_) | End::Sender(_) => drop(self.store.take(packet.payload)),
            End::Viewer(id) | End::Client(id) => {
                self.messages[id.index()].on_lost(packet.payload.0);
            }
            End::Server(id) => self.messages[id.index()].on_all_lost(packet.payload.0),
        }
    }

    /// The last node sends the answer to a request.
    fn answer(&mut self, id: MessagesId, request: Payload, queue: &mut EventQueue<Event>) {
        let Some((answers, path)) = self.answers[id.index()] else { return };
        let mut left = answers.bytes;
        while left > 0 {
            let size = left.min(u64::from(answers.packet_bytes)) as u32;
            left -= u64::from(size);
            let Upper { hops, sources, .. } = &mut self.wlan.upper;
            let Path { first, ecn, dscp, .. } = hops.paths[path.index()];
            let packet = sources.new_packet(first, size, queue.now());
            self.enter(Packet { payload: request, ecn, dscp, ..packet }, queue);
        }
    }

    fn report(&mut self, path: PathId, packet: Packet, outcome: impl FnOnce(Packet) -> Outcome) {
        // Paths are numbered in the order of flows.
        let flow = self.flows.partition_point(|&first| first <= path) as u32 - 1;
        self.outcomes.push(outcome(Packet { flow: FlowKey(flow), ..packet }));
    }
}

impl Model for Network {
    type Event = Event;

    #[inline]
    fn handle(&mut self, event: Event, queue: &mut EventQueue<Event>) {
        match event {
            Event::Wlan(event) => self.wlan.handle(event, queue),
            Event::Served(wire) => self.on_served(wire, queue),
            Event::Arrived(wire) => self.on_arrived(wire, queue),
            Event::Queued => self.on_queued(queue),
            Event::Made(source) => self.on_made(source, queue),
            Event::Processed(at) => self.on_processed(at, queue),
            Event::Saturates(interface) => self.wlan.fill(interface, queue),
            Event::Connection(id) => {
                self.connections[id.index()].on_timer(queue.now());
                self.pump(id, queue);
            }
            Event::Browser(id) => self.on_browser(id, queue),
            Event::Changed(at) => self.change(self.changes[at as usize].change, queue),
            Event::WarmedUp => self.start_counting(queue.now()),
        }
        self.pass_on(queue);
    }
}
