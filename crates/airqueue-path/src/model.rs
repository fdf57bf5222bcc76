//! The path as a model for the event loop: two hosts, the lines between them, and the device.

use crate::check::CheckedPath;
use crate::clock::HostClock;
use crate::device::{Device, PathDirection};
use crate::host::{Host, ReceiveLimit, Rest, SendLimit};
use crate::store::{Datagram, DatagramStore, Side};
use crate::truth::Truth;
use airqueue_core::{Ecn, FlowKey, Packet, Span, Time};
use airqueue_network::delay_line::DelayLine;
use airqueue_network::event::{EventQueue, Phase};
use airqueue_network::outcome::Outcome;
use airqueue_network::run_loop::Model;
use airqueue_network::timer::Timer;
use airqueue_probe::client::Direction;
use airqueue_probe::endpoint::{Endpoint, Transmit};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// IPv4 and UDP headers, in bytes.
const HEADERS: usize = 28;
/// Documentation addresses (RFC 5737): these hosts do not exist.
pub const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 5000);
const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));
/// Port of the client's first flow; flow `i` uses the `i`-th port after it.
const CLIENT_PORT: u16 = 40_000;

/// When an endpoint that is overdue but sends nothing is polled again.
const LATE_AGAIN: Span = Span::from_millis(1);

/// The events of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEvent {
    /// The device's deadline.
    Device,
    /// A packet arrives at the device.
    Ingress,
    /// A packet arrives at the receiver of the loaded direction.
    Egress,
    /// A packet arrives at the sender of the loaded direction.
    Reverse,
    /// The slow reader takes a datagram.
    Reader,
    /// A host's endpoint must be polled.
    Wake(Side),
}

/// The path. Packets of the opposite direction cross the device as well, and then a delay.
#[derive(Debug)]
pub struct PathModel<C, S> {
    pub client: Host<C>,
    pub server: Host<S>,
    loaded: Direction,
    send_limit: SendLimit,
    receive_limit: ReceiveLimit,
    receiver_rest: Rest,
    skew_ppb: i64,
    ingress: DelayLine,
    device: Box<dyn Device>,
    egress: DelayLine,
    reverse: DelayLine,
    store: DatagramStore,
    next_id: u64,
    pub truth: Truth,
    record_series: bool,
    timers: Timers,
}

#[derive(Debug)]
struct Timers {
    device: Timer<PathEvent>,
    ingress: Timer<PathEvent>,
    egress: Timer<PathEvent>,
    reverse: Timer<PathEvent>,
    reader: Timer<PathEvent>,
    client: Timer<PathEvent>,
    server: Timer<PathEvent>,
}

impl Timers {
    /// Order within an instant: departures make room, packets arrive, hosts receive, read, and send.
    fn new() -> Timers {
        Timers {
            device: Timer::new(PathEvent::Device, Phase(0)),
            ingress: Timer::new(PathEvent::Ingress, Phase(1)),
            egress: Timer::new(PathEvent::Egress, Phase(2)),
            reverse: Timer::new(PathEvent::Reverse, Phase(2)),
            reader: Timer::new(PathEvent::Reader, Phase(3)),
            client: Timer::new(PathEvent::Wake(Side::Client), Phase(4)),
            server: Timer::new(PathEvent::Wake(Side::Server), Phase(4)),
        }
    }
}

/// The receiver of a direction.
fn receiver(direction: Direction) -> Side {
    match direction {
        Direction::Down => Side::Client,
        Direction::Up => Side::Server,
    }
}

/// Clocks of client and server of a path that is loaded in the given direction from `now` on. The receiver's clock has
/// the configured errors.
fn clocks(path: &CheckedPath, loaded: Direction, now: Time) -> (HostClock, HostClock) {
    let clock = |side| {
        if side == receiver(loaded) {
            HostClock::new(now, path.clock_offset, path.skew_ppb)
        } else {
            HostClock::new(now, Span::ZERO, 0)
        }
    };
    (clock(Side::Client), clock(Side::Server))
}

impl<C: Endpoint, S: Endpoint> PathModel<C, S> {
    /// A path over an idle device at time zero, loaded in the given direction. `make` creates the client and the server
    /// from the time on the client's clock.
    pub fn new(
        path: &CheckedPath,
        mut device: Box<dyn Device>,
        loaded: Direction,
        make: impl FnOnce(Time) -> (C, S),
    ) -> PathModel<C, S> {
        let (client_clock, server_clock) = clocks(path, loaded, Time::ZERO);
        let (client, server) = make(client_clock.read(Time::ZERO));
        device.load(loaded);
        PathModel {
            client: Host { endpoint: client, clock: client_clock },
            server: Host { endpoint: server, clock: server_clock },
            loaded,
            send_limit: SendLimit::new(path),
            receive_limit: ReceiveLimit::new(path),
            receiver_rest: Rest::new(path.receiver_wakeup, path.rests_after),
            skew_ppb: path.skew_ppb,
            ingress: DelayLine::new(path.ingress_rate, path.ingress_delay),
            device,
            egress: DelayLine::new(None, path.base_delay),
            reverse: DelayLine::new(None, path.reverse_delay),
            store: DatagramStore::default(),
            next_id: 0,
            truth: Truth::default(),
            record_series: path.record_series,
            timers: Timers::new(),
        }
    }

    /// Creates new endpoints that begin at `now`, with the given direction loaded.
    pub fn connect(
        &mut self,
        path: &CheckedPath,
        loaded: Direction,
        now: Time,
        make: impl FnOnce(Time) -> (C, S),
    ) {
        (self.client.clock, self.server.clock) = clocks(path, loaded, now);
        (self.client.endpoint, self.server.endpoint) = make(self.client.clock.read(now));
        self.turn(loaded);
    }

    /// Starts everything that runs without the endpoints.
    pub fn power_on(&mut self, queue: &mut EventQueue<PathEvent>) {
        self.set_timers(queue);
    }

    /// Makes `direction` the loaded direction: the receiver's imperfections move to the new receiver at `now`. Packets
    /// in transit keep their destination.
    pub fn load(&mut self, direction: Direction, now: Time) {
        if direction == self.loaded {
            return;
        }
        self.turn(direction);
        let side = receiver(direction);
        let skew = |of| if of == side { self.skew_ppb } else { 0 };
        self.client.clock.run_at(skew(Side::Client), now);
        self.server.clock.run_at(skew(Side::Server), now);
        self.receive_limit.clear(&mut self.store);
    }

    fn turn(&mut self, loaded: Direction) {
        self.loaded = loaded;
        self.device.load(loaded);
    }

    /// Clears the record of the previous run.
    pub fn restart_truth(&mut self, now: Time) {
        self.truth.restart();
        self.truth.note(now, self.device.waiting(), self.record_series);
    }

    /// Lets both endpoints send what is due now and sets all timers, after any change to the endpoints from outside.
    pub fn poll_all(&mut self, queue: &mut EventQueue<PathEvent>) {
        self.poll_host(Side::Client, queue);
        self.poll_host(Side::Server, queue);
        self.set_timers(queue);
    }

    /// Sends all that a host's endpoint has to send now.
    fn poll_host(&mut self, side: Side, queue: &mut EventQueue<PathEvent>) {
        let now = queue.now();
        let loaded = side != receiver(self.loaded);
        let mut buffer = self.store.buffer();
        loop {
            let limit = loaded.then_some(&mut self.send_limit);
            let transmit = match side {
                Side::Client => self.client.poll(now, &mut buffer, limit),
                Side::Server => self.server.poll(now, &mut buffer, limit),
            };
            let Some((transmit, leaves)) = transmit else { break };
            let bytes = std::mem::replace(&mut buffer, self.store.buffer());
            self.send(side, transmit, bytes, leaves);
        }
        self.store.recycle(buffer);
        let (wakes_at, timer) = match side {
            Side::Client => (self.client.wakes_at(), &mut self.timers.client),
            Side::Server => (self.server.wakes_at(), &mut self.timers.server),
        };
        // Everything due has been sent. An endpoint that is still overdue is faulty; polled again at once, the endpoint
        // would keep time from advancing, and the fault would never surface.
        timer.set(wakes_at.map(|at| if at > now { at } else { now + LATE_AGAIN }), queue);
    }

    fn send(&mut self, side: Side, transmit: Transmit, bytes: Vec<u8>, now: Time) {
        let flow_of = |port: u16| usize::from(port.wrapping_sub(CLIENT_PORT));
        let (to, flow, socket, from) = match side {
            Side::Client => {
                let from = SocketAddr::new(CLIENT, CLIENT_PORT + transmit.socket as u16);
                (Side::Server, transmit.socket, 0, from)
            }
            Side::Server => {
                let flow = flow_of(transmit.to.port());
                (Side::Client, flow, flow, SERVER)
            }
        };
        let size = (bytes.len() + HEADERS) as u32;
        let mut packet = Packet::new(self.next_id, FlowKey(flow as u32), size, now);
        self.next_id += 1;
        let traffic_class = transmit.traffic_class;
        (packet.dscp, packet.ecn) = (traffic_class >> 2, Ecn::of(traffic_class));
        packet.payload = self.store.put(Datagram { to, socket, from, traffic_class, bytes });
        if to == receiver(self.loaded) {
            self.ingress.send(packet, now);
        } else {
            self.device.enqueue(packet, PathDirection::Reverse, now);
            self.collect_outcomes(now);
        }
    }

    /// Passes on the packets that left the device, and discards those that were lost.
    fn collect_outcomes(&mut self, now: Time) {
        while let Some((direction, outcome)) = self.device.poll_outcome() {
            match outcome {
                Outcome::Delivered(packet) => match direction {
                    PathDirection::Forward => {
                        // As far behind the device as the receiver is, everything comes as far apart.
                        let ready = self.receiver_rest.ready(now);
                        self.egress.send(packet, ready);
                    }
                    PathDirection::Reverse => self.reverse.send(packet, now),
                },
                Outcome::Dropped(packet, _) | Outcome::Lost(packet) => {
                    self.store.discard(packet.payload);
                }
            }
        }
        self.truth.note(now, self.device.waiting(), self.record_series);
    }

    /// A packet arrives at a host.
    fn deliver(&mut self, packet: &Packet, queue: &mut EventQueue<PathEvent>) {
        let now = queue.now();
        let Some(mut datagram) = self.store.take(packet.payload) else { return };
        datagram.traffic_class = datagram.class_on_arrival(packet);
        let side = datagram.to;
        let mut stamp = self.clock(side).read(now);
        if side == receiver(self.loaded) {
            stamp = self.receive_limit.stamp(now, stamp);
            if self.receive_limit.holds() {
                let payload = self.store.put(datagram);
                if !self.receive_limit.push(payload, stamp, now) {
                    self.store.discard(payload);
                    self.endpoint(side).on_receive_overflow(1);
                }
                return;
            }
        }
        self.hand_over(now, stamp, datagram, queue);
    }

    /// Hands a datagram to an endpoint.
    fn hand_over(
        &mut self,
        now: Time,
        stamp: Time,
        datagram: Datagram,
        queue: &mut EventQueue<PathEvent>,
    ) {
        match datagram.to {
            Side::Client => self.client.receive(now, stamp, &datagram),
            Side::Server => self.server.receive(now, stamp, &datagram),
        }
        let side = datagram.to;
        self.store.recycle(datagram.bytes);
        self.poll_host(side, queue);
    }

    fn clock(&self, side: Side) -> &HostClock {
        match side {
            Side::Client => &self.client.clock,
            Side::Server => &self.server.clock,
        }
    }

    fn endpoint(&mut self, side: Side) -> &mut dyn Endpoint {
        match side {
            Side::Client => &mut self.client.endpoint,
            Side::Server => &mut self.server.endpoint,
        }
    }

    fn set_timers(&mut self, queue: &mut EventQueue<PathEvent>) {
        self.timers.device.set(self.device.next_deadline(), queue);
        self.timers.ingress.set(self.ingress.next_at(), queue);
        self.timers.egress.set(self.egress.next_at(), queue);
        self.timers.reverse.set(self.reverse.next_at(), queue);
        self.timers.reader.set(self.receive_limit.reads_at(), queue);
    }
}

impl<C: Endpoint, S: Endpoint> Model for PathModel<C, S> {
    type Event = PathEvent;

    fn handle(&mut self, event: PathEvent, queue: &mut EventQueue<PathEvent>) {
        let now = queue.now();
        match event {
            PathEvent::Device => {
                self.device.on_deadline(now);
                self.collect_outcomes(now);
            }
            PathEvent::Ingress => {
                while let Some(packet) = self.ingress.take_due(now) {
                    self.device.enqueue(packet, PathDirection::Forward, now);
                    self.collect_outcomes(now);
                }
            }
            PathEvent::Egress => {
                while let Some(packet) = self.egress.take_due(now) {
                    self.deliver(&packet, queue);
                }
            }
            PathEvent::Reverse => {
                while let Some(packet) = self.reverse.take_due(now) {
                    self.deliver(&packet, queue);
                }
            }
            PathEvent::Reader => {
                if let Some((payload, stamp)) = self.receive_limit.read(now)
                    && let Some(datagram) = self.store.take(payload)
                {
                    self.hand_over(now, stamp, datagram, queue);
                }
            }
            PathEvent::Wake(side) => self.poll_host(side, queue),
        }
        self.set_timers(queue);
    }
}
