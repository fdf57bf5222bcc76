//! The network at work.

use super::changes::TimedChange;
use super::connection::{Connection, Way};
use super::legs::{End, Legs, Step};
use super::spec::{Hop, NetworkError, NetworkSpec, Traffic};
use super::store::{Store, Stored};
use super::wire::Wire;
use crate::alarm::Alarm;
use crate::event::{EventQueue, Phase};
use crate::line::Line;
use crate::outcome::Outcome;
use crate::run_loop::Simulation;
use crate::wlan::Wlan;
use crate::wlan::tap::SegmentSent;
use airqueue_core::{Dropped, Ecn, Packet, Payload, Seed, Span, Time};
use airqueue_transport::traffic::Source;

/// What happens outside the radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A wire may have serialised a packet.
    Served(u32),
    /// A packet is at the end of a wire.
    Arrived(u32),
    /// A packet has come from inside a station to its queue.
    Queued,
    /// A source makes a packet.
    Made(u32),
    /// A timer of a TCP connection goes off.
    Connection(u32),
    /// Something changes, as described.
    Changed(u32),
    /// Counting begins anew.
    WarmedUp,
}

/// A network (see the [module](super)).
#[derive(Debug)]
pub struct Network {
    pub(super) radio: Simulation<Wlan>,
    queue: EventQueue<Event>,
    pub(super) legs: Legs,
    /// The first leg of each flow.
    pub(super) flows: Vec<u32>,
    pub(super) wires: Vec<Wire>,
    /// Inside the stations, on the way to their queues; none where packets take no time there.
    inside: Option<Line>,
    queued: Alarm<Event>,
    /// Sources, each with its leg.
    sources: Vec<(u32, Source)>,
    pub(super) connections: Vec<Connection>,
    /// The legs of each: of data, and of acknowledgements.
    pub(super) ways: Vec<[u32; 2]>,
    changes: Vec<TimedChange>,
    store: Store,
    /// What became of packets on the air, while it is looked at.
    inbox: Vec<Outcome>,
    /// What a wire's queue has dropped, while it is looked at.
    drops: Vec<Dropped>,
    /// What became of packets from outside, with the flow in the place of the step.
    outcomes: Vec<Outcome>,
    next_packet: u64,
}

impl Network {
    /// A silent network at time zero. Its streams of chance are those of [`Wlan::new`], `wire/WIRE`,
    /// `source/FLOW`, `files/CONNECTION` and `start/FLOW`.
    pub fn new(spec: &NetworkSpec, seed: Seed) -> Result<Network, NetworkError> {
        spec.check()?;
        let spec = &*spec.begun(seed);
        let legs = Legs::new(spec)?;
        let wires = spec.wires.iter().enumerate();
        let mut network = Network {
            radio: Wlan::new(&spec.wlan, seed)?,
            queue: EventQueue::new(),
            legs,
            flows: Vec::with_capacity(spec.flows.len()),
            wires: wires.map(|(at, wire)| Wire::new(wire, at as u32, seed)).collect(),
            inside: (spec.station_delay > Span::ZERO).then(|| Line::new(None, spec.station_delay)),
            queued: Alarm::new(Event::Queued, Phase(0)),
            sources: Vec::new(),
            connections: Vec::new(),
            ways: Vec::new(),
            changes: spec.changes.clone(),
            store: Store::default(),
            inbox: Vec::new(),
            drops: Vec::new(),
            outcomes: Vec::new(),
            next_packet: 0,
        };
        for (at, change) in (0..).zip(&spec.changes) {
            network.queue.schedule(change.at, Phase(0), Event::Changed(at));
        }
        if spec.wlan.warm_up > Time::ZERO {
            network.queue.schedule(spec.wlan.warm_up, Phase(0), Event::WarmedUp);
        }
        network.add_flows(spec, seed)?;
        network.leave_delays_on_the_way();
        Ok(network)
    }

    fn add_flows(&mut self, spec: &NetworkSpec, seed: Seed) -> Result<(), NetworkError> {
        let mut leg = 0;
        for (at, flow) in spec.flows.iter().enumerate() {
            self.flows.push(leg);
            match &flow.traffic {
                Traffic::Source { source, .. } => {
                    let chance = seed.stream(&format!("source/{at}"));
                    let wrong = |error| NetworkError::Source { flow: flow.name.clone(), error };
                    let source = Source::new(*source, chance).map_err(wrong)?;
                    if let Some(first) = source.next_emission() {
                        let made = Event::Made(self.sources.len() as u32);
                        self.queue.schedule(first, Phase(0), made);
                    }
                    self.sources.push((leg, source));
                }
                Traffic::Tcp(tcp) => {
                    let number = self.connections.len() as u32;
                    let mut connection = Connection::new(&flow.name, number, tcp, seed)?;
                    connection.arm(&mut self.queue);
                    self.connections.push(connection);
                    self.ways.push([leg, leg + 1]);
                    leg += 1;
                }
                Traffic::Radio | Traffic::External { .. } => {}
            }
            leg += 1;
        }
        Ok(())
    }

    /// Delays are those of packets that have arrived.
    fn leave_delays_on_the_way(&mut self) {
        for step in self.legs.steps.iter().filter(|step| !step.last) {
            if let Hop::Radio(radio) = step.hop {
                self.radio.model.leave_delays_of(radio);
            }
        }
    }

    /// The present.
    pub fn now(&self) -> Time {
        self.queue.now().max(self.radio.now())
    }

    /// How many events have happened on the air.
    pub fn radio_events(&self) -> u64 {
        self.radio.events()
    }

    /// The radio.
    pub fn wlan(&self) -> &Wlan {
        &self.radio.model
    }

    /// The same, to read books that are kept up to the present, or to plug in a tap.
    pub fn wlan_mut(&mut self) -> &mut Wlan {
        &mut self.radio.model
    }

    /// When the next event is due.
    pub fn next_at(&self) -> Option<Time> {
        [self.queue.next_at(), self.radio.queue.next_at()].into_iter().flatten().min()
    }

    /// Lets everything happen that is due at or before `until`, which then is the present.
    pub fn run_until(&mut self, until: Time) {
        loop {
            let own = self.queue.next_at().unwrap_or(Time::MAX);
            // By itself up to there, or until something has become of a packet.
            let limit = until.min(own - Span::from_nanos(1));
            if self.radio.run_while(limit, Wlan::has_no_outcomes) {
                self.pass_on(self.radio.now());
            } else if own > until {
                break;
            } else if let Some((now, event)) = self.queue.pop() {
                self.radio.queue.advance_to(now);
                self.on_event(event, now);
                self.pass_on(now);
            }
        }
        self.radio.run_until(until);
        self.queue.advance_to(until);
    }

    /// Offers a packet from outside to a flow, now.
    ///
    /// # Panics
    ///
    /// If the flow's packets do not come from outside.
    pub fn offer(&mut self, flow: usize, size: u32, payload: Payload) {
        let now = self.now();
        self.radio.queue.advance_to(now);
        self.queue.advance_to(now);
        let leg = self.flows[flow];
        assert!(self.legs.all[leg as usize].end == End::Outside, "the flow has packets of its own");
        self.set_out(leg, size, payload, now);
        self.pass_on(now);
    }

    /// What became of packets from outside since the last call, in the order in which it did; the flow of each is
    /// the one to which it was offered.
    pub fn outcomes(&mut self) -> impl Iterator<Item = Outcome> + '_ {
        self.outcomes.drain(..)
    }

    /// The packets that have come from a step and not yet to the queue of the next. Those that set out are not
    /// among them: no queue has been offered them yet.
    pub(super) fn inside_stations(&self) -> impl Iterator<Item = &Packet> {
        let legs = &self.legs;
        let is_first = move |of: &Packet| legs.steps[of.flow as usize].first;
        self.inside.iter().flat_map(Line::packets).filter(move |of| !is_first(of))
    }

    /// How many segments of TCP are kept for packets that are on their way.
    pub fn segments_kept(&self) -> usize {
        self.store.kept()
    }

    fn on_event(&mut self, event: Event, now: Time) {
        match event {
            Event::Served(wire) => {
                self.wires[wire as usize].on_served(now, &mut self.queue);
                self.collect_drops(wire as usize);
            }
            Event::Arrived(wire) => self.on_arrived(wire as usize, now),
            Event::Queued => self.on_queued(now),
            Event::Made(source) => {
                let (leg, of) = &mut self.sources[source as usize];
                let (leg, size) = (*leg, of.size_bytes());
                of.on_emission();
                if let Some(next) = of.next_emission() {
                    self.queue.schedule(next, Phase(0), event);
                }
                self.set_out(leg, size, Payload::default(), now);
            }
            Event::Connection(number) => {
                self.connections[number as usize].on_alarm(now);
                self.pump(number, now);
            }
            Event::Changed(at) => self.change(self.changes[at as usize].change),
            Event::WarmedUp => self.start_counting(now),
        }
    }

    fn start_counting(&mut self, now: Time) {
        self.legs.start_counting();
        for wire in &mut self.wires {
            wire.start_counting(now);
        }
        for connection in &mut self.connections {
            connection.start_counting();
        }
    }

    /// A new packet sets out on a leg, and says of congestion what all of the leg say.
    fn set_out(&mut self, leg: u32, size: u32, payload: Payload, now: Time) {
        let ecn = self.legs.all[leg as usize].ecn;
        let packet = Packet { payload, ecn, ..self.new_packet(leg, size, now) };
        self.enter(packet, now);
    }

    fn new_packet(&mut self, leg: u32, size: u32, now: Time) -> Packet {
        self.next_packet += 1;
        Packet::new(self.next_packet, self.legs.all[leg as usize].first, size, now)
    }

    /// A packet enters the step that it names as its flow.
    fn enter(&mut self, packet: Packet, now: Time) {
        match (self.legs.steps[packet.flow as usize].hop, &mut self.inside) {
            (Hop::Radio(_), Some(inside)) => {
                inside.send(packet, now);
                self.queued.set(inside.next_at(), &mut self.queue);
            }
            (Hop::Radio(flow), None) => self.offer_to_radio(flow, packet),
            (Hop::Wire(wire), _) => {
                self.legs.on_entered(&packet);
                self.wires[wire].enter(packet, now, &mut self.queue);
                self.collect_drops(wire);
            }
        }
    }

    fn offer_to_radio(&mut self, flow: usize, packet: Packet) {
        self.radio.model.offer(flow as u32, packet, &mut self.radio.queue);
    }

    fn on_queued(&mut self, now: Time) {
        while let Some(packet) = self.inside.as_mut().and_then(|inside| inside.take_due(now)) {
            if let Hop::Radio(flow) = self.legs.steps[packet.flow as usize].hop {
                self.offer_to_radio(flow, packet);
            }
        }
        self.queued.set(self.inside.as_ref().and_then(Line::next_at), &mut self.queue);
    }

    fn on_arrived(&mut self, wire: usize, now: Time) {
        while let Some(packet) = self.wires[wire].take_due(now) {
            self.legs.on_left(&packet, now);
            self.leave(packet, now);
        }
        self.wires[wire].set_alarms(now, &mut self.queue);
    }

    /// Sees to what the queue of a wire has dropped.
    #[inline(always)]
    fn collect_drops(&mut self, wire: usize) {
        let mut drops = std::mem::take(&mut self.drops);
        self.wires[wire].take_drops(&mut drops);
        for Dropped { packet, reason } in drops.drain(..) {
            self.legs.on_dropped(&packet);
            self.lose(packet, |packet| Outcome::Dropped(packet, reason));
        }
        self.drops = drops;
    }

    /// Sees to what has happened to packets on the air, and to what follows from that.
    #[inline]
    pub(super) fn pass_on(&mut self, now: Time) {
        loop {
            self.radio.model.exchange_outcomes(&mut self.inbox);
            if self.inbox.is_empty() {
                return;
            }
            let mut inbox = std::mem::take(&mut self.inbox);
            for outcome in inbox.drain(..) {
                self.on_outcome(outcome, now);
            }
            self.inbox = inbox;
        }
    }

    fn on_outcome(&mut self, outcome: Outcome, now: Time) {
        let step_of =
            |packet: Packet| Packet { flow: self.legs.of_radio[packet.flow as usize], ..packet };
        match outcome {
            Outcome::Delivered(packet) => {
                let packet = step_of(packet);
                self.leave(packet, now);
            }
            Outcome::Dropped(packet, reason) => {
                let packet = step_of(packet);
                self.lose(packet, |packet| Outcome::Dropped(packet, reason));
            }
            Outcome::Lost(packet) => {
                let packet = step_of(packet);
                self.lose(packet, Outcome::Lost);
            }
        }
    }

    /// A packet has come through its step.
    fn leave(&mut self, packet: Packet, now: Time) {
        let Step { leg, last, .. } = self.legs.steps[packet.flow as usize];
        if !last {
            return self.enter(Packet { flow: packet.flow + 1, ..packet }, now);
        }
        match self.legs.all[leg as usize].end {
            End::Sink => {}
            End::Outside => self.tell(leg, packet, Outcome::Delivered),
            End::Receiver(connection) => self.hand_over(connection, Way::Data, &packet, now),
            End::Sender(connection) => self.hand_over(connection, Way::Back, &packet, now),
        }
    }

    /// A packet will not come through its step.
    fn lose(&mut self, packet: Packet, outcome: impl FnOnce(Packet) -> Outcome) {
        let leg = self.legs.steps[packet.flow as usize].leg;
        match self.legs.all[leg as usize].end {
            End::Sink => {}
            End::Outside => self.tell(leg, packet, outcome),
            End::Receiver(_) | End::Sender(_) => drop(self.store.take(packet.payload)),
        }
    }

    fn tell(&mut self, leg: u32, packet: Packet, outcome: impl FnOnce(Packet) -> Outcome) {
        // Legs are numbered in the order of flows.
        let flow = self.flows.partition_point(|&first| first <= leg) as u32 - 1;
        self.outcomes.push(outcome(Packet { flow, ..packet }));
    }

    /// An end of a connection gets what a packet carries.
    #[inline(always)]
    fn hand_over(&mut self, number: u32, way: Way, packet: &Packet, now: Time) {
        let Stored { mut segment, connection } = self.store.take(packet.payload);
        if packet.ecn == Ecn::Ce {
            segment.ecn = Ecn::Ce;
        }
        self.connections[number as usize].on_segment(way, connection, &segment, now);
        self.pump(number, now);
        if way == Way::Data {
            self.report_rtt(number);
        }
    }

    /// Sends what the ends of a connection have to say.
    fn pump(&mut self, number: u32, now: Time) {
        while let Some((way, connection, segment)) =
            self.connections[number as usize].poll_transmit(now)
        {
            self.send(number, way, Stored { segment, connection }, now);
        }
        self.connections[number as usize].arm(&mut self.queue);
    }

    fn send(&mut self, number: u32, way: Way, stored: Stored, now: Time) {
        let leg = self.ways[number as usize][usize::from(way == Way::Back)];
        let Stored { segment, connection } = stored;
        let payload = self.store.put(stored);
        let packet = self.new_packet(leg, segment.size_bytes(), now);
        let packet = Packet { payload, ecn: segment.ecn, ..packet };
        self.radio.model.tell_segment(|| SegmentSent { packet, connection, segment });
        self.enter(packet, now);
    }

    /// What the receiver of a connection tells the queue before it.
    fn report_rtt(&mut self, number: u32) {
        let Some(rtt) = self.connections[number as usize].reported_rtt() else { return };
        let leg = &self.legs.all[self.ways[number as usize][0] as usize];
        let last = leg.first + leg.steps - 1;
        if let Hop::Radio(flow) = self.legs.steps[last as usize].hop {
            self.radio.model.report_rtt(flow as u32, rtt);
        }
    }
}
