//! The engine of the link layer: its state, its events, and how each event is handled.

use super::absence::Absences;
use super::association::Associations;
use super::hop::Hop;
use super::interface::{Interface, Neighbours};
use super::listeners::{Ending, Listeners};
use super::power::Power;
use super::rates::{Control, Controls};
use super::record::StationCounters;
use super::results::Baseline;
use super::signals::Interferers;
use super::spec::{WlanError, WlanSpec};
use super::tap::{SegmentSent, Socket, Tap, TracedMpdu};
use super::upper::UpperLayer;
use crate::InterfaceId;
use crate::event::{EventQueue, Phase};
use crate::timer::Timer;
use airqueue_core::{Device, NeighbourId, Seed, Span, Time};
use airqueue_wifi::mac::{Delivery, Frame, FrameKind};
use airqueue_wifi::medium::{Air, StationId};
use airqueue_wifi::phy::AccessCategory;

/// Frames end. Phase 0 is reserved for events outside the radio, which come first in an instant.
pub(super) const END: Phase = Phase(1);
/// Timers expire, packets arrive.
pub const INPUT: Phase = Phase(2);
/// The beginnings of frames reach their listeners.
pub(super) const REACH: Phase = Phase(3);

/// The events on the air, and at the queues in front of the MACs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A frame ends.
    End(u32),
    /// A frame that takes time to its listeners ends at its sender.
    Sent(u32),
    /// The beginning of such a frame reaches its next listeners.
    Reach(u32),
    /// The end of such a frame reaches its next listeners.
    Leave(u32),
    /// A station's timer expires.
    Timer(StationId),
    /// A queue that holds packets back asked to be polled again.
    Wakeup(InterfaceId),
    /// The packets that a station passed up within an A-MPDU, which ends now, have been dealt with.
    PassedUp(StationId),
    /// A beacon of an access point is due, by its place among the access points.
    Beacon(u32),
    /// The timer of a station that sleeps expires, by its place among these stations.
    Sleeper(u32),
    /// A station is to leave or to come back, by its place among the stations with absences.
    Absence(u32),
    /// The timer of a station that associates expires, by its place among these stations.
    Association(u32),
    /// An interferer begins a burst, ends one, or may begin one, by its place among the interferers.
    Interferer(u32),
    /// Backoffs end: the closing event of an instant.
    Grant,
}

/// An 802.11 link layer between stations (see the [module](super)), and the layer above it.
#[derive(Debug)]
pub struct Wlan<U: UpperLayer> {
    /// The upper layer.
    pub upper: U,
    pub(super) listeners: Listeners,
    /// The queues of all stations, station by station.
    pub(super) interfaces: Vec<Interface>,
    /// Each station's first queue, then the end of the list.
    pub(super) first: Vec<InterfaceId>,
    pub(super) hops: Vec<Hop>,
    pub(super) controls: Vec<Control>,
    pub(super) timers: Vec<Timer<U::Event>>,
    pub(super) wakeups: Vec<Timer<U::Event>>,
    /// Stations whose frames begin after all other events of this instant.
    beginning: Vec<StationId>,
    /// Scratch list: the numbers of these frames.
    begun: Vec<u32>,
    /// Scratch list: stations whose backoff ends at an instant.
    actors: Vec<u32>,
    /// Scratch list: neighbours of the packets that a MAC has in hand.
    pub(super) neighbours: Vec<NeighbourId>,
    pub(super) tap: Socket,
    pub(super) stations: Vec<StationCounters>,
    pub(super) warm: Baseline,
    /// Whether the receiver of any hop reports (RDQM).
    pub(super) reports: bool,
    /// Beacons, and stations that sleep.
    pub(super) power: Power<U::Event>,
    /// Stations that scan, or go out of reach now and then.
    pub(super) absences: Absences<U::Event>,
    /// Stations that associate.
    pub(super) associations: Associations<U::Event>,
    /// Whether signals change or there are interferers.
    pub(super) examines_signals: bool,
    /// Sources of energy that is no frame.
    pub(super) interferers: Interferers<U::Event>,
}

impl<U: UpperLayer> Wlan<U> {
    /// An idle wireless LAN. Its random streams are those of the MACs (`wifi/backoff/STATION`), of the receivers
    /// (`wifi/errors/STATION`), of the queues (`queue/STATION/CATEGORY`), of rate controls (`rate/FROM/TO`), and of the
    /// times of beacons (`beacons/STATION`), absences (`absences/STATION`) and interferers (`interference/NAME`), and of
    /// links that fade (`fading`). A network with beacons, absences or interferers is to be [started](Self::start).
    pub fn new(spec: &WlanSpec, upper: U, seed: Seed) -> Result<Wlan<U>, WlanError> {
        spec.check()?;
        let listeners = Listeners::new(spec, seed)?;
        let power = Power::new(spec, listeners.radio.phy.slot(), seed);
        let pifs = listeners.radio.phy.aifs(1);
        let slowest = listeners.radio.phy.air_rate(listeners.radio.phy.slowest_basic());
        let (mut interfaces, mut first) = (Vec::new(), vec![InterfaceId(0)]);
        for (id, station) in (0..).map(StationId).zip(&spec.stations) {
            let categories = AccessCategory::first(station.queues.len());
            let device = Device { slowest, ..Device::default() };
            let interface = |ac| Interface::new(station, (id, ac), &device, seed);
            interfaces.extend(categories.map(interface));
            first.push(InterfaceId::at(interfaces.len()));
        }
        let (stations, queues) = (spec.stations.len(), interfaces.len());
        let timer = |at: usize| Timer::new(Event::Timer(StationId(at as u32)).into(), INPUT);
        let wakeup = |at| Timer::new(Event::Wakeup(InterfaceId::at(at)).into(), INPUT);
        let mut wlan = Wlan {
            upper,
            listeners,
            wakeups: (0..queues).map(wakeup).collect(),
            interfaces,
            first,
            hops: Vec::with_capacity(spec.hops.len()),
            controls: Vec::new(),
            timers: (0..stations).map(timer).collect(),
            beginning: Vec::new(),
            begun: Vec::new(),
            actors: Vec::with_capacity(stations),
            neighbours: Vec::new(),
            tap: Socket::default(),
            stations: vec![StationCounters::default(); stations],
            warm: Baseline::new(stations, queues),
            reports: spec.hops.iter().any(|hop| hop.report.is_some()),
            power,
            absences: Absences::new(spec, seed),
            associations: Associations::new(spec),
            examines_signals: spec.signals.is_used(),
            interferers: Interferers::new(spec, pifs, seed),
        };
        wlan.add_hops(spec, seed)?;
        Ok(wlan)
    }

    fn add_hops(&mut self, spec: &WlanSpec, seed: Seed) -> Result<(), WlanError> {
        let (mut neighbours, mut controls) = (Neighbours::default(), Controls::default());
        for hop in &spec.hops {
            let interface = self.interface_of(hop.from, hop.ac);
            let numbers = neighbours.number(interface, hop.to, &mut self.listeners.macs);
            let (is_new, numbers) = numbers.ok_or_else(|| spec.too_many_neighbours(hop.from))?;
            if is_new {
                let tx_queue = &mut self.interfaces[interface.index()].queue.tx_queue;
                tx_queue.add_neighbour(spec.neighbour_facts(hop));
            }
            let control = controls.number(hop, &self.listeners.radio.phy, seed);
            let receivers = self.power.receivers(hop.from, hop.to);
            self.power.set_neighbour(receivers, hop.ac, numbers.0);
            self.hops.push(Hop::new(hop, interface, numbers, control, receivers));
        }
        self.controls = controls.all;
        Ok(())
    }

    /// Plugs in a tap, in place of any other tap. The tap observes every frame that ends from now on, and its reception
    /// by all stations. Stations without flows have not tracked which other frames overlap a frame now on the air.
    pub fn plug(&mut self, tap: Box<dyn Tap>) {
        self.tap.plug(tap);
        self.listeners.let_all_listen();
    }

    /// Removes the tap and returns it, if its type is `T`.
    pub fn unplug<T: Tap>(&mut self) -> Option<T> {
        self.tap.unplug()
    }

    /// Reports a TCP segment sent anywhere in the network to the tap, if there is one.
    #[inline]
    pub fn report_segment(&mut self, sent: impl FnOnce() -> SegmentSent) {
        self.tap.report_segment(sent);
    }

    pub(super) fn on_grants(&mut self, now: Time, queue: &mut EventQueue<U::Event>) {
        let mut actors = std::mem::take(&mut self.actors);
        self.listeners.due(now, &mut actors);
        while let Some(station) = actors.pop() {
            let station = StationId(station);
            let ac = self.listeners.macs[station.index()].on_grant(now, &self.listeners.radio);
            if self.listeners.macs[station.index()].is_management(ac) {
                self.fill_management(station, ac);
            } else {
                self.open_txop(station, ac);
                self.compose(station, ac, now);
            }
            self.listeners.macs[station.index()].begin(now, &self.listeners.radio);
            self.beginning.push(station);
            self.follow_up(station, now, queue);
        }
        self.actors = actors;
    }

    fn on_timer(&mut self, station: StationId, now: Time, queue: &mut EventQueue<U::Event>) {
        if let Some(ac) = self.listeners.macs[station.index()].is_to_compose() {
            self.compose(station, ac, now);
        }
        let receiving = self.listeners.is_receiving(station, now);
        if self.listeners.macs[station.index()].on_timer(now, receiving, &self.listeners.radio) {
            self.beginning.push(station);
        }
        self.follow_up(station, now, queue);
    }

    /// Passes up the packets that a recipient of a station has ready.
    #[inline]
    pub(super) fn deliver(&mut self, station: StationId, recipient: u32, now: Time) {
        let mac = &mut self.listeners.macs[station.index()];
        let packets = self.upper.on_delivered(mac.received(recipient), now);
        mac.on_passed_up(recipient, packets);
    }

    /// Passes up the packets of an A-MPDU that a recipient of a station has received: the packets of MPDUs that ended
    /// before the frame first, and the others once the upper layer has dealt with these.
    pub(super) fn deliver_mpdus(
        &mut self,
        station: StationId,
        recipient: u32,
        now: Time,
        queue: &mut EventQueue<U::Event>,
    ) {
        let any = self.deliver_within(station, recipient, now);
        self.deliver_rest(any, station, recipient, now, queue);
    }

    /// Passes up the packets of MPDUs that ended before the frame; true if there were any.
    pub(super) fn deliver_within(&mut self, station: StationId, recipient: u32, now: Time) -> bool {
        let mac = &mut self.listeners.macs[station.index()];
        let packets = self.upper.on_delivered(mac.received_within(recipient), now);
        mac.on_passed_up_within(recipient, packets);
        packets > 0
    }

    /// Passes up the others; `within`: once the upper layer has dealt with packets passed up before.
    pub(super) fn deliver_rest(
        &mut self,
        within: bool,
        station: StationId,
        recipient: u32,
        now: Time,
        queue: &mut EventQueue<U::Event>,
    ) {
        if within {
            queue.schedule(now, END, Event::PassedUp(station).into());
        } else {
            self.deliver(station, recipient, now);
        }
    }

    pub(super) fn on_passed_up(&mut self, station: StationId, now: Time) {
        if let Some(recipient) = self.listeners.macs[station.index()].end_within() {
            self.deliver(station, recipient, now);
        }
    }

    /// Concludes an event: if no event of this instant remains, the frames of this instant begin.
    #[inline]
    pub(super) fn conclude(&mut self, queue: &mut EventQueue<U::Event>) {
        queue.set_closing(self.listeners.next_grant(), Event::Grant.into());
        let now = queue.now();
        if !self.beginning.is_empty() && queue.next_at() != Some(now) {
            self.begin_all(now, queue);
            queue.set_closing(self.listeners.next_grant(), Event::Grant.into());
        }
    }

    /// Concludes an event that the event loop has handed over: as [`Self::conclude`], but a frame that nothing can
    /// interrupt ends, too.
    #[inline]
    fn conclude_event(&mut self, queue: &mut EventQueue<U::Event>) {
        queue.set_closing(self.listeners.next_grant(), Event::Grant.into());
        let now = queue.now();
        if !self.beginning.is_empty() && queue.next_at() != Some(now) {
            if let [from] = self.beginning[..] {
                self.beginning.clear();
                let air = Air { begins: now, ends: now + self.lasts(from) };
                if !self.run_alone(from, air, queue) {
                    let place = self.listeners.transmit(from, air);
                    self.begin(place, now, queue);
                }
            } else {
                self.begin_all(now, queue);
            }
            queue.set_closing(self.listeners.next_grant(), Event::Grant.into());
        }
    }

    fn begin_all(&mut self, now: Time, queue: &mut EventQueue<U::Event>) {
        // A frame that begins never makes another frame begin.
        for &from in &self.beginning {
            let air = Air { begins: now, ends: now + self.lasts(from) };
            self.begun.push(self.listeners.transmit(from, air));
        }
        for at in 0..self.begun.len() {
            self.begin(self.begun[at], now, queue);
        }
        self.beginning.clear();
        self.begun.clear();
    }

    /// A frame that its sender transmits begins at the other stations.
    fn begin(&mut self, place: u32, now: Time, queue: &mut EventQueue<U::Event>) {
        let ends = self.listeners.begin(place, now);
        if self.listeners.are_delayed() {
            self.set_off(place, ends, queue);
        } else {
            queue.schedule(ends, END, Event::End(place).into());
        }
    }

    /// A frame ends. `TAPPED`: the fate of the frame is reported to the tap.
    fn on_end<const TAPPED: bool>(
        &mut self,
        place: u32,
        now: Time,
        queue: &mut EventQueue<U::Event>,
    ) {
        let ending = self.listeners.end::<TAPPED>(place, now, &mut self.tap);
        let Ending { from, kind, .. } = ending;
        self.count_frame(&ending);
        if self.examines_signals {
            self.conclude_signals(&ending, now, queue);
        }
        self.pass_on(&ending, now, queue);
        if TAPPED {
            if ending.to == from {
                self.on_frame_to_all(&ending, now);
            }
            self.report_to_tap(&ending, now);
        }
        if kind == FrameKind::Data && self.upper.watches_frames() {
            let sender = &self.listeners.macs[from.index()];
            sender.sent(sender.frame().ac).for_each(|(_, msdu)| self.upper.on_sent(&msdu.packet));
        }
        if self.power.is_used() {
            return self.conclude_frame(&ending, now, queue);
        }
        self.react(from, now, queue);
    }

    /// Passes up what the receiver has decoded of a frame.
    #[inline(always)]
    pub(super) fn pass_on(&mut self, ending: &Ending, now: Time, queue: &mut EventQueue<U::Event>) {
        if !ending.is_received() || ending.kind != FrameKind::Data {
            return;
        }
        let recipient = self.listeners.frame_of(ending).recipient;
        if self.reports {
            self.tell(ending, now);
        }
        if ending.mpdus > 1 && self.listeners.radio.rules.delivery == Delivery::EachMpdu {
            self.deliver_mpdus(ending.to, recipient, now, queue);
        } else {
            self.deliver(ending.to, recipient, now);
        }
    }

    #[inline(always)]
    pub(super) fn count_frame(&mut self, ending: &Ending) {
        let time = self.counted(ending);
        self.stations[ending.from.index()].on_sent(ending.kind, time);
        self.count_outcome(ending);
    }

    /// The part of a frame's airtime that came after counting began.
    #[inline(always)]
    pub(super) fn counted(&self, ending: &Ending) -> Span {
        let &Ending { begins, time, .. } = ending;
        (begins + time - begins.max(self.warm.since)).max(Span::ZERO)
    }

    #[inline(always)]
    pub(super) fn count_outcome(&mut self, ending: &Ending) {
        let time = self.counted(ending);
        let frame = self.listeners.frame_of(ending);
        if let Some((outcome, decoded)) = ending.at_receiver {
            self.stations[ending.from.index()].on_outcome(frame, outcome, !decoded, time);
        }
    }

    /// The stations react to the end of a frame.
    #[inline(always)]
    pub(super) fn react(&mut self, from: StationId, now: Time, queue: &mut EventQueue<U::Event>) {
        self.follow_up(from, now, queue);
        while let Some(station) = self.listeners.poll_touched() {
            self.follow_up(station, now, queue);
        }
        self.listeners.regroup(from, now);
    }

    #[inline(always)]
    fn is_to_all(&self, place: u32) -> bool {
        self.power.is_used() && self.listeners.is_to_all(place)
    }

    fn report_to_tap(&mut self, ending: &Ending, now: Time) {
        let &Ending { from, to, kind, mpdus, begins, .. } = ending;
        let received = ending.is_received() || to == from && self.power.was_heard();
        let receiver = &self.listeners.macs[to.index()];
        let sender = &self.listeners.macs[from.index()];
        let &Frame { ac, recipient, .. } = sender.frame();
        let data = (kind == FrameKind::Data).then_some(sender);
        let sent = data.into_iter().flat_map(|mac| mac.sent(ac)).enumerate();
        let decoded = |place| received && (mpdus == 1 || receiver.has_decoded(recipient, place));
        let carried = sent.map(|(place, (_, msdu))| TracedMpdu {
            packet: msdu.packet,
            mpdu_bytes: msdu.mpdu_bytes,
            decoded: decoded(place),
        });
        let beacon = match kind {
            FrameKind::Beacon if self.tap.is_used() => self.traced_beacon(from),
            _ => None,
        };
        self.tap.report_frame(*sender.frame(), beacon, carried, begins, now);
    }

    /// Handles an event at `queue.now()`.
    #[inline]
    pub fn handle(&mut self, event: Event, queue: &mut EventQueue<U::Event>) {
        let now = queue.now();
        match event {
            // Who decodes a frame to all stations is found out as for a tap.
            Event::End(place) if self.tap.is_used() || self.is_to_all(place) => {
                self.on_end::<true>(place, now, queue);
            }
            Event::End(place) => self.on_end::<false>(place, now, queue),
            Event::Sent(place) => self.on_sent(place, now, queue),
            Event::Reach(place) => self.on_reach(place, now, queue),
            Event::Leave(place) => self.on_leave(place, now, queue),
            Event::Timer(station) => self.on_timer(station, now, queue),
            Event::Beacon(cell) => self.on_beacon_due(cell, queue),
            Event::Interferer(at) => self.on_interferer(at, queue),
            Event::Sleeper(sleeper) => self.on_sleeper_timer(sleeper, queue),
            Event::Absence(absence) => self.on_absence_timer(absence, queue),
            Event::Association(at) => self.on_association_timer(at, queue),
            Event::PassedUp(station) => self.on_passed_up(station, now),
            Event::Grant => self.on_grants(now, queue),
            Event::Wakeup(interface) => self.feed(interface, now, queue),
        }
        self.conclude_event(queue);
    }
}
