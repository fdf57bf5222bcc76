//! The network at work.

use super::air::Airings;
use super::cohorts::Cohorts;
use super::errors::BitErrors;
use super::flow::Flow;
use super::grants::Grants;
use super::hearing::{Alone, Ears, Hearing, OnAirNow};
use super::interface::{Hops, Interface};
use super::meaning::Meanings;
use super::rates::{Control, Controls};
use super::record::StationTally;
use super::results::Baseline;
use super::spec::{WlanError, WlanSpec};
use super::tap::{SegmentSent, Socket, Tap};
use crate::alarm::Alarm;
use crate::event::{EventQueue, Phase};
use crate::outcome::Outcome;
use crate::run_loop::{Model, Simulation};
use airqueue_core::{Packet, Seed, Sent, Time};
use airqueue_transport::traffic::Source;
use airqueue_wifi::mac::{Fate, Finished, Mac, Msdu, Network};
use airqueue_wifi::medium::{Reception, StationId};

/// Frames end.
pub(super) const END: Phase = Phase(0);
/// Timers go off, packets arrive.
const INPUT: Phase = Phase(1);
/// What was counted before the end of the warm-up is forgotten.
const COUNTING: Phase = Phase(2);

/// What happens in a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A frame ends.
    End(u32),
    /// A station's timer goes off.
    Timer(u32),
    /// A source makes a packet.
    Arrival(u32),
    /// A saturated source begins.
    Start(u32),
    /// A queue wants to be asked again.
    Wakeup(u32),
    /// Backoffs end: the closing event of an instant.
    Grant,
    /// Counting begins anew.
    WarmedUp,
}

/// A network of stations (see the [module](super)).
#[derive(Debug)]
pub struct Wlan {
    pub(super) net: Network,
    pub(super) ears: Ears,
    pub(super) hearing: Hearing,
    pub(super) macs: Vec<Mac>,
    pub(super) cohorts: Cohorts,
    pub(super) errors: BitErrors,
    /// The queues of all stations, one station's after the other's.
    pub(super) interfaces: Vec<Interface>,
    /// Each station's first queue, and the end.
    pub(super) first_queue: Vec<usize>,
    pub(super) flows: Vec<Flow>,
    pub(super) controls: Vec<Control>,
    pub(super) airings: Airings,
    /// Of the stations, then of the crowds.
    pub(super) grants: Grants,
    timers: Vec<Alarm<Event>>,
    pub(super) wakeups: Vec<Alarm<Event>>,
    /// Whose frames begin when nothing else is left to happen at this instant.
    beginning: Vec<u32>,
    /// Stations in which a frame that ended has changed more than their view of the medium.
    pub(super) touched: Vec<u32>,
    /// For the stations that leave a crowd together, and for what a frame means to its members.
    pub(super) called: Vec<u32>,
    /// For those of the packets that a MAC has in hand.
    pub(super) hops: Vec<u16>,
    pub(super) meanings: Meanings,
    /// What became of packets of collected flows.
    pub(super) outcomes: Vec<Outcome>,
    pub(super) tap: Socket,
    pub(super) stations: Vec<StationTally>,
    pub(super) next_packet: u64,
    pub(super) warm: Baseline,
}

impl Wlan {
    /// A silent network at time zero, and its first events. Its streams of chance are those of the
    /// MACs (`wifi/backoff/STATION`), of the receivers (`wifi/errors/STATION`), of the queues
    /// (`queue/STATION/CATEGORY`), of rate controls (`rate/FROM/TO`), and `traffic/FLOW`.
    pub fn new(spec: &WlanSpec, seed: Seed) -> Result<Simulation<Wlan>, WlanError> {
        spec.check()?;
        let net = spec.network.clone();
        let (mut macs, mut interfaces, mut first_queue) = (Vec::new(), Vec::new(), vec![0]);
        for (id, station) in spec.stations.iter().enumerate() {
            let mac = Mac::new(StationId(id as u32), station.mac.clone(), &net, seed);
            let wrong = |error| WlanError::Mac { station: station.name.clone(), error };
            macs.push(mac.map_err(wrong)?);
            let categories = 0..station.queues.len();
            interfaces.extend(categories.map(|at| Interface::new(station, id, at, seed)));
            first_queue.push(interfaces.len());
        }
        let (stations, queues) = (macs.len(), interfaces.len());
        let receptions = match spec.capture {
            Some(capture) => spec.reach.receptions(capture)?,
            // One by one: a clone would have no room for its first frames.
            None => (0..stations)
                .map(|_| Reception::new(net.rules.capture))
                .collect::<Result<Vec<_>, _>>()?,
        };
        let errors = spec.reach.frame_errors(spec.errors)?;
        let alone = Alone::of_links(&spec.reach, &receptions);
        let cohorts = Cohorts::new(spec, &alone, &macs);
        let crowds = cohorts.crowds.len();
        let timer = |at| Alarm::new(Event::Timer(at as u32), INPUT);
        let wakeup = |at| Alarm::new(Event::Wakeup(at as u32), INPUT);
        let mut wlan = Wlan {
            errors: BitErrors::new(errors, spec.noise_w, &net.phy, stations, seed),
            ears: Ears::new(spec.reach.clone(), &alone, &cohorts, &spec.takes_part()),
            hearing: Hearing::new(receptions, crowds),
            cohorts,
            wakeups: (0..queues).map(wakeup).collect(),
            interfaces,
            first_queue,
            flows: Vec::with_capacity(spec.flows.len()),
            controls: Vec::new(),
            airings: Airings::default(),
            grants: Grants::new(stations + crowds),
            timers: (0..stations).map(timer).collect(),
            beginning: Vec::new(),
            touched: Vec::with_capacity(stations),
            called: Vec::with_capacity(queues + crowds),
            hops: Vec::new(),
            meanings: Vec::with_capacity(stations),
            outcomes: Vec::new(),
            tap: Socket::default(),
            stations: vec![StationTally::default(); stations],
            next_packet: 0,
            warm: Baseline::new(stations, queues, spec.flows.len()),
            macs,
            net,
        };
        let mut queue = EventQueue::new();
        if spec.warm_up > Time::ZERO {
            queue.schedule(spec.warm_up, COUNTING, Event::WarmedUp);
        }
        wlan.add_flows(spec, seed, &mut queue)?;
        Ok(Simulation::new(wlan, queue))
    }

    fn add_flows(
        &mut self,
        spec: &WlanSpec,
        seed: Seed,
        queue: &mut EventQueue<Event>,
    ) -> Result<(), WlanError> {
        let (mut hops, mut controls) = (Hops::default(), Controls::default());
        for (id, flow) in spec.flows.iter().enumerate() {
            let chance = seed.stream(&format!("traffic/{id}"));
            let wrong = |error| WlanError::Source { flow: flow.name.clone(), error };
            let source = Source::new(flow.source, chance).map_err(wrong)?;
            let interface = self.first_queue[flow.from.index()] + flow.queue;
            if let Some(first) = source.next_emission() {
                queue.schedule(first, INPUT, Event::Arrival(id as u32));
            } else if source.is_saturated(source.start()) {
                self.interfaces[interface].saturated.push(id as u32);
                queue.schedule(source.start(), INPUT, Event::Start(interface as u32));
            }
            let hop = hops.number(interface, flow.to);
            let hop = hop.ok_or_else(|| spec.too_many_neighbours(flow.from))?;
            let control = controls.number(flow, &self.net.phy, seed);
            self.flows.push(Flow::new(source, flow, interface, hop, control));
        }
        self.controls = controls.all;
        Ok(())
    }

    /// From now on `tap` is told of every frame that ends, in the place of any other. It wants to know what all
    /// stations hear: those that take no part, because no flow leads from or to them, have not noticed what a frame met
    /// that is on the air by now.
    pub fn plug(&mut self, tap: Box<dyn Tap>) {
        self.tap.plug(tap);
        let watched = |wlan: &Wlan, place| wlan.ears.watchers(wlan.airings.at(place).from);
        let on_air = self.airings.all().into_iter();
        let heard: Vec<_> = on_air.map(|place| (place, watched(self, place))).collect();
        if self.ears.let_all_listen() {
            let on = OnAirNow { ears: &self.ears, airings: &self.airings };
            for (place, watchers) in heard {
                for ear in watchers.map(|at| self.ears.at(at)) {
                    self.hearing.begin(ear.to(), place, self.airings.at(place).air.begins, &on);
                }
            }
        }
    }

    /// Takes the tap out again, if there is one of this type.
    pub fn unplug<T: Tap>(&mut self) -> Option<T> {
        self.tap.unplug()
    }

    /// Tells the tap, if there is one, of a segment that sets out somewhere in the network around the radio.
    #[inline]
    pub fn tell_segment(&mut self, sent: impl FnOnce() -> SegmentSent) {
        self.tap.tell_segment(sent);
    }

    #[inline(always)]
    pub(super) fn settle(&mut self, station: usize, now: Time) {
        if self.macs[station].is_settled() {
            self.grants.set(station, Time::MAX);
        } else {
            self.settle_counters(station, now);
        }
    }

    #[inline(always)]
    fn settle_counters(&mut self, station: usize, now: Time) {
        let mac = &mut self.macs[station];
        mac.settle(now, &self.net);
        self.grants.set(station, mac.next_grant());
    }

    /// Follows up on whatever changed a station's own state.
    pub(super) fn follow_up(&mut self, station: usize, now: Time, queue: &mut EventQueue<Event>) {
        self.report_rate(station, now);
        if self.macs[station].is_done() {
            self.go_on(station, now, queue);
        }
        self.settle(station, now);
        let at = self.macs[station].next_timer();
        self.timers[station].set(Some(at), queue);
    }

    /// Queues of a station go on with their next packets.
    #[inline(never)]
    fn go_on(&mut self, station: usize, now: Time, queue: &mut EventQueue<Event>) {
        while let Some(category) = self.macs[station].poll_done() {
            let interface = self.first_queue[station] + category;
            self.deliver(station, category, now);
            while let Some(finished) = self.macs[station].poll_finished(category) {
                self.account_finished(&finished, interface, now);
                // What waited at the receiver for one that was given up.
                self.deliver(station, category, now);
            }
            let next = if self.macs[station].is_empty(category) {
                self.take(interface, now, queue)
            } else {
                self.take_turns(interface, now)
            };
            self.choose_rate(station, category);
            self.macs[station].on_next(category, next, now, &self.net);
        }
    }

    fn account_finished(&mut self, finished: &Finished, interface: usize, now: Time) {
        let Finished { msdu: Msdu { packet, rate, .. }, fate, airtime, .. } = *finished;
        let acknowledged = fate == Fate::Acknowledged;
        let flow = &mut self.flows[packet.flow as usize];
        let rate = self.net.phy.rate(rate);
        let feedback = if acknowledged { flow.feedback(&packet, rate, now) } else { None };
        let sent = Sent { packet, acknowledged, airtime, feedback };
        self.interfaces[interface].queue.stages.on_sent(&sent, now);
        self.account_rate(packet.flow, rate, acknowledged);
        let flow = &mut self.flows[packet.flow as usize];
        self.interfaces[interface].backlog.remove(&mut flow.presence);
        if fate == (Fate::GivenUp { received: false }) {
            flow.tally.given_up.add(&packet);
            if flow.collected {
                self.outcomes.push(Outcome::Lost(packet));
            }
        }
    }

    fn on_grants(&mut self, now: Time, queue: &mut EventQueue<Event>) {
        let mut actors = std::mem::take(&mut self.called);
        self.grants.due(now, &mut actors);
        self.call_out(&mut actors, now);
        while let Some(station) = actors.pop() {
            let station = station as usize;
            let category = self.macs[station].on_grant(now, &self.net);
            self.open_txop(station, category);
            self.compose(station, category, now);
            self.macs[station].begin(now, &self.net);
            self.beginning.push(station as u32);
            self.follow_up(station, now, queue);
        }
        self.called = actors;
    }

    fn on_timer(&mut self, station: usize, now: Time, queue: &mut EventQueue<Event>) {
        if let Some(category) = self.macs[station].is_to_compose() {
            self.compose(station, category, now);
        }
        let on = OnAirNow { ears: &self.ears, airings: &self.airings };
        let receiving = self.hearing.receiving(station, now, &on);
        if self.macs[station].on_timer(now, receiving, &self.net) {
            self.beginning.push(station as u32);
        }
        self.follow_up(station, now, queue);
    }

    /// The receiver of a station's queue passes up what it has.
    #[inline]
    pub(super) fn deliver(&mut self, from: usize, category: usize, now: Time) {
        while let Some(packet) = self.macs[from].poll_passed_up(category) {
            self.on_delivered(packet, now);
        }
    }

    #[inline(never)]
    fn on_delivered(&mut self, packet: Packet, now: Time) {
        let flow = &mut self.flows[packet.flow as usize];
        flow.tally.on_delivery(&packet, now);
        if flow.collected {
            self.outcomes.push(Outcome::Delivered(packet));
        }
    }

    /// Closes an event: if nothing is left to happen at this instant its frames begin.
    #[inline]
    pub(super) fn conclude(&mut self, queue: &mut EventQueue<Event>) {
        queue.set_closing(self.grants.first(), Event::Grant);
        let now = queue.now();
        if !self.beginning.is_empty() && queue.next_at() != Some(now) {
            self.begin_all(now, queue);
            queue.set_closing(self.grants.first(), Event::Grant);
        }
    }

    fn begin_all(&mut self, now: Time, queue: &mut EventQueue<Event>) {
        // Nothing that begins makes another begin.
        for at in 0..self.beginning.len() {
            self.begin(self.beginning[at] as usize, now, queue);
        }
        self.beginning.clear();
    }
}

impl Model for Wlan {
    type Event = Event;

    fn handle(&mut self, event: Event, queue: &mut EventQueue<Event>) {
        let now = queue.now();
        match event {
            Event::End(place) if self.tap.is_used() => self.on_end::<true>(place, now, queue),
            Event::End(place) => self.on_end::<false>(place, now, queue),
            Event::Timer(station) => self.on_timer(station as usize, now, queue),
            Event::Grant => self.on_grants(now, queue),
            Event::Arrival(flow) => {
                self.emit(flow, now);
                let flow = &mut self.flows[flow as usize];
                flow.source.on_emission();
                let (interface, next) = (flow.interface, flow.source.next_emission());
                if let Some(next) = next {
                    queue.schedule(next, INPUT, event);
                }
                self.feed(interface, now, queue);
            }
            Event::Start(interface) => {
                self.top_up(interface as usize, now);
                self.feed(interface as usize, now, queue);
            }
            Event::Wakeup(interface) => self.feed(interface as usize, now, queue),
            Event::WarmedUp => self.start_counting(now),
        }
        self.conclude(queue);
    }
}
