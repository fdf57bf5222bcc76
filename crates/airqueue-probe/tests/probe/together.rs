//! Several stations in one session, in virtual time: a measuring server, a client, and a server on another station.

use crate::common;
use crate::common::{client_config, segment, server_config};
use airqueue_core::{Span, Time};
use airqueue_probe::ClientError;
use airqueue_probe::auth::{Role, TagKey};
use airqueue_probe::client::{Client, ClientConfig, ClientState, Direction};
use airqueue_probe::endpoint::{Endpoint, Received};
use airqueue_probe::plan::Plan;
use airqueue_probe::records::{MISSING, Run, RunEnd};
use airqueue_probe::server::{Server, ServerConfig};
use airqueue_probe::wire::{ForeignFlow, Message, REQUEST_LEN, decode, encode};
use std::net::SocketAddr;

/// One way through the network.
const DELAY: Span = Span::from_millis(5);
pub const HOST: &str = "198.51.100.1:4000";
pub const STATION: &str = "192.0.2.2:4000";
/// Flows of the client: two of its own, and that of the other station.
pub const OWN: u8 = 2;
pub const OTHER: u8 = 2;

pub fn at(address: &str) -> SocketAddr {
    address.parse().unwrap()
}

/// A datagram under way.
struct Flight {
    arrives: Time,
    from: SocketAddr,
    to: SocketAddr,
    bytes: Vec<u8>,
}

/// The four endpoints and the network between them.
pub struct World {
    pub now: Time,
    pub host: Server,
    pub station: Server,
    station_alive: bool,
    /// The client of the host, on this station.
    pub client: Client,
    /// The client of the other station's server, on this station too.
    pub orders: Client,
    flights: Vec<Flight>,
    /// Everything that was sent: when, from, to, its length, and whether it was a measured packet.
    pub sent: Vec<(Time, SocketAddr, SocketAddr, usize, bool)>,
}

pub fn client_address(of_host: bool, flow: usize) -> SocketAddr {
    SocketAddr::new([192, 0, 2, 1].into(), if of_host { 5000 } else { 6000 } + flow as u16)
}

impl World {
    pub fn new(station: ServerConfig) -> World {
        let now = Time::from_nanos(1_000_000_000);
        let client = ClientConfig { server: at(HOST), others: 1, ..client_config(OWN + 1) };
        let orders = ClientConfig { server: at(STATION), entropy: [3; 32], ..client_config(1) };
        let mut world = World {
            now,
            host: Server::new(server_config()),
            station: Server::new(station),
            station_alive: true,
            client: Client::new(client, now),
            orders: Client::new(orders, now),
            flights: Vec::new(),
            sent: Vec::new(),
        };
        world.until(5, |w| {
            w.client.state() == &ClientState::Ready && w.orders.state() == &ClientState::Ready
        });
        world
    }

    pub fn willing() -> World {
        World::new(ServerConfig {
            attends: vec![at(HOST).ip()],
            secret: [8; 32],
            ..server_config()
        })
    }

    pub fn of(&mut self) -> ForeignFlow {
        let identity = self.client.identity().unwrap();
        let (session, nonce) = (identity.session, identity.nonce);
        ForeignFlow { server: at(HOST), session, nonce, flow: OTHER }
    }

    /// Sends what the endpoints have to send.
    pub fn poll(&mut self) {
        let now = self.now;
        let mut buf = Vec::new();
        let mut launch = |from, to, bytes: &Vec<u8>, measured| {
            self.sent.push((now, from, to, bytes.len(), measured));
            self.flights.push(Flight { arrives: now + DELAY, from, to, bytes: bytes.clone() });
        };
        while let Some(t) = self.host.poll_transmit(now, &mut buf) {
            launch(at(HOST), t.to, &buf, t.ticket.is_some());
        }
        while self.station_alive
            && let Some(t) = self.station.poll_transmit(now, &mut buf)
        {
            launch(at(STATION), t.to, &buf, t.ticket.is_some());
        }
        for (client, of_host) in [(&mut self.client, true), (&mut self.orders, false)] {
            while let Some(t) = client.poll_transmit(now, &mut buf) {
                launch(client_address(of_host, t.socket), t.to, &buf, t.ticket.is_some());
            }
        }
    }

    /// Delivers what has arrived.
    fn deliver(&mut self) {
        let now = self.now;
        let (due, later) = self.flights.drain(..).partition(|f: &Flight| f.arrives <= now);
        self.flights = later;
        for Flight { from, to, bytes, .. } in due {
            let socket = usize::from(to.port() % 1000);
            let rx = |socket| Received { socket, from, at: now, traffic_class: 0, payload: &bytes };
            match to {
                _ if to == at(HOST) => self.host.on_datagram(now, rx(0)),
                _ if to == at(STATION) && self.station_alive => {
                    self.station.on_datagram(now, rx(0))
                }
                _ if to == client_address(true, socket) => self.client.on_datagram(now, rx(socket)),
                _ if to == client_address(false, socket) => {
                    self.orders.on_datagram(now, rx(socket))
                }
                _ => {}
            }
        }
    }

    /// Lets time pass until something holds; whether it did within so many seconds.
    pub fn until(&mut self, seconds: i64, mut there: impl FnMut(&mut World) -> bool) -> bool {
        let end = self.now + Span::from_secs(seconds);
        loop {
            self.poll();
            if there(self) {
                return true;
            }
            let deadlines = [
                self.host.next_deadline(),
                self.station.next_deadline().filter(|_| self.station_alive),
                self.client.next_deadline(),
                self.orders.next_deadline(),
                self.flights.iter().map(|f| f.arrives).min(),
            ];
            let next = deadlines.into_iter().flatten().min().unwrap_or(end);
            self.now = next.max(self.now + Span::from_nanos(1));
            if self.now > end {
                return false;
            }
            self.deliver();
        }
    }

    pub fn attend(&mut self) {
        let of = self.of();
        self.orders.attend(self.now, of).unwrap();
        assert!(self.until(5, |w| w.orders.attends()), "{:?}", self.orders.state());
    }

    /// Begins a run at both stations.
    pub fn begin(&mut self, plan: &Plan, direction: Direction) {
        self.prepare(plan, direction);
        self.client.start(self.now, plan, direction).unwrap();
    }

    /// Has the other station wait for a run.
    pub fn prepare(&mut self, plan: &Plan, direction: Direction) {
        let number = self.client.identity().unwrap().next_run;
        match direction {
            Direction::Down => self.orders.watch(self.now, plan, number).unwrap(),
            Direction::Up => self.orders.upload(self.now, plan, number).unwrap(),
        }
        assert!(self.until(5, |w| w.orders.times().is_some_and(|t| t.started.is_some())));
    }

    /// The records of both stations.
    pub fn measure(&mut self, plan: &Plan, direction: Direction) -> (Run, Run) {
        self.begin(plan, direction);
        let mut own = None;
        assert!(self.until(60, |w| {
            own = w.client.take_run();
            own.is_some()
        }));
        self.orders.conclude(self.now);
        let mut other = None;
        assert!(self.until(60, |w| {
            other = w.orders.take_run();
            other.is_some()
        }));
        (own.unwrap(), other.unwrap())
    }
}

/// Floods to both stations; the other one's goes on after the last packet to this one.
fn floods() -> Plan {
    Plan {
        segments: vec![
            segment(0, 0, 1000, 500, 1500),
            segment(1, 0, 1000, 20, 100),
            segment(OTHER, 200, 1400, 300, 1500),
        ],
    }
}

#[test]
fn each_station_records_the_packets_that_come_to_it() {
    let mut world = World::willing();
    world.attend();
    for _ in 0..2 {
        let (own, other) = world.measure(&floods(), Direction::Down);
        assert_eq!((own.end, other.end), (RunEnd::Complete, RunEnd::Complete));
        let rows = own.records.flow.len();
        assert_eq!((rows, other.records.flow.len()), (820, 820));
        for i in 0..rows {
            let here = own.records.flow[i] < OWN;
            assert_eq!(own.records.received_ns[i] != MISSING, here, "{i}");
            assert_eq!(other.records.received_ns[i] != MISSING, !here, "{i}");
        }
        // Each delay is that of the network and an offset of the station's clock.
        for (received, flows) in
            [(&own.records.received_ns, 0..OWN), (&other.records.received_ns, OTHER..OTHER + 1)]
        {
            let delays: Vec<i64> = (0..rows)
                .filter(|&i| flows.contains(&own.records.flow[i]))
                .map(|i| received[i] - own.records.sent_ns[i])
                .collect();
            assert!(delays.iter().all(|d| *d == delays[0]));
        }
    }
}

#[test]
fn only_measured_packets_go_to_stations_during_a_run() {
    let mut world = World::willing();
    world.attend();
    world.sent.clear();
    world.measure(&floods(), Direction::Down);
    let measured = || world.sent.iter().filter(|s| s.4);
    let (first, last) = (measured().next().unwrap().0, measured().next_back().unwrap().0);
    let to_stations = world.sent.iter().filter(|s| s.2 != at(HOST));
    for s in to_stations.filter(|s| s.0 > first && s.0 < last) {
        assert!(s.4, "{s:?}");
    }
}

#[test]
fn a_server_that_was_not_told_to_takes_no_part() {
    let mut world = World::new(ServerConfig { secret: [8; 32], ..server_config() });
    let of = world.of();
    world.orders.attend(world.now, of).unwrap();
    world.until(10, |w| matches!(w.orders.state(), ClientState::Failed(_)));
    let error = ClientError::NotAttending { station: at(STATION), server: at(HOST) };
    assert_eq!(world.orders.state(), &ClientState::Failed(error.clone()));
    assert!(error.to_string().contains("--attend 198.51.100.1"));
    assert!(!world.sent.iter().any(|s| s.1 == at(STATION) && s.2 == at(HOST)));
}

#[test]
fn a_station_with_another_key_never_joins() {
    // The key of the session with the host is none; the station would need it.
    let mut world = World::willing();
    let of = ForeignFlow { nonce: 1, ..world.of() };
    world.orders.attend(world.now, of).unwrap();
    world.until(10, |w| matches!(w.orders.state(), ClientState::Failed(_)));
    let error = ClientError::NotJoined { station: at(STATION), server: at(HOST) };
    assert_eq!(world.orders.state(), &ClientState::Failed(error));
}

/// A plan of 20 s to both.
fn long() -> Plan {
    Plan {
        segments: vec![segment(0, 0, 20_000, 2000, 1500), segment(OTHER, 0, 20_000, 2000, 1500)],
    }
}

#[test]
fn a_flood_ends_when_one_of_its_stations_is_gone() {
    let mut world = World::willing();
    world.attend();
    world.begin(&long(), Direction::Down);
    world.until(3, |_| false);
    world.station_alive = false;
    let gone = world.now;
    let mut own = None;
    assert!(world.until(30, |w| {
        own = w.client.take_run();
        own.is_some()
    }));
    assert_ne!(own.unwrap().end, RunEnd::Complete);
    let last = world.sent.iter().rfind(|s| s.4).unwrap().0;
    assert!(last > gone && last < gone + Span::from_secs(2), "{}", last - gone);
}

#[test]
fn a_flood_ends_when_its_client_is_gone_although_the_other_station_is_there() {
    let mut world = World::willing();
    world.attend();
    world.begin(&long(), Direction::Down);
    world.until(3, |_| false);
    let gone = world.now;
    world.client = Client::new(client_config(0), gone);
    world.until(10, |_| false);
    let last = world.sent.iter().rfind(|s| s.4).unwrap().0;
    assert!(last > gone && last < gone + Span::from_secs(2), "{}", last - gone);
}

/// The session and its key that `orders` has with the station.
pub fn session_of_orders(world: &mut World) -> (u64, TagKey) {
    let identity = world.orders.identity().unwrap();
    (identity.session, TagKey::session(None, identity.nonce, identity.session))
}

#[test]
fn a_request_to_attend_sends_no_more_to_the_other_server_than_it_was() {
    let mut world = World::willing();
    let (session, key) = session_of_orders(&mut world);
    world.sent.clear();
    let mut asked = 0;
    for n in 0..200u64 {
        // A host that does not answer: another port of the address that may be attended; hostile flows too.
        let server = SocketAddr::new(at(HOST).ip(), 9);
        let of = ForeignFlow { server, session: n, nonce: n, flow: (n * 37) as u8 };
        let mut bytes = Vec::new();
        encode(0, &Message::Attend { session, of }, &mut bytes);
        key.seal(Role::Client, &mut bytes);
        assert_eq!(bytes.len(), REQUEST_LEN);
        asked += bytes.len();
        world.station.on_datagram(
            world.now,
            common::received(0, client_address(false, 0), world.now, &bytes),
        );
        world.poll();
    }
    let sent: Vec<_> = world.sent.iter().filter(|s| s.2.port() == 9).collect();
    assert_eq!(sent.len(), 200);
    assert!(sent.iter().map(|s| s.3).sum::<usize>() <= asked);
    // By itself the station says nothing more to that address.
    world.sent.clear();
    world.until(20, |_| false);
    assert!(!world.sent.iter().any(|s| s.2.port() == 9));
}

#[test]
fn a_short_request_to_attend_is_not_one() {
    let mut world = World::willing();
    let (session, key) = session_of_orders(&mut world);
    let mut bytes = Vec::new();
    encode(0, &Message::Attend { session, of: world.of() }, &mut bytes);
    bytes.truncate(60);
    key.seal(Role::Client, &mut bytes);
    assert!(decode(&bytes).is_err());
}

#[test]
fn a_client_sends_only_flows_of_its_session() {
    let mut world = World::willing();
    let plan = Plan { segments: vec![segment(OTHER + 1, 0, 100, 10, 1500)] };
    let up = world.client.start(world.now, &plan, Direction::Up);
    assert!(matches!(up, Err(ClientError::Plan(_))), "{up:?}");
    // And none with nobody's flows.
    let config = ClientConfig { others: 3, ..client_config(3) };
    let client = Client::new(config, world.now);
    assert!(matches!(client.state(), ClientState::Failed(ClientError::Flows { .. })));
}

#[test]
fn a_run_is_watched_only_after_joining_and_once() {
    let mut world = World::willing();
    let early = world.orders.watch(world.now, &floods(), 1);
    assert_eq!(early, Err(ClientError::NotReady));
    world.attend();
    world.measure(&floods(), Direction::Down);
    let again = world.orders.watch(world.now, &floods(), 1);
    assert_eq!(again, Err(ClientError::NotReady), "a number is used once");
}

#[test]
fn a_run_that_did_not_begin_does_not_keep_the_next_one_from_being_watched() {
    let mut world = World::willing();
    world.attend();
    let number = world.client.identity().unwrap().next_run;
    world.orders.watch(world.now, &floods(), number).unwrap();
    world.orders.cancel(world.now);
    assert!(world.until(4, |w| w.orders.take_run().is_some()));
    let (own, other) = world.measure(&floods(), Direction::Down);
    assert_eq!((own.end, other.end), (RunEnd::Complete, RunEnd::Complete));
    assert!(other.records.received_ns.iter().any(|&at| at != MISSING));
}

#[test]
fn a_watched_run_that_is_cancelled_ends_soon() {
    let mut world = World::willing();
    world.attend();
    world.orders.watch(world.now, &floods(), 1).unwrap();
    assert!(world.until(5, |w| w.orders.times().is_some_and(|t| t.started.is_some())));
    world.orders.cancel(world.now);
    let mut other = None;
    assert!(world.until(4, |w| {
        other = w.orders.take_run();
        other.is_some()
    }));
    assert_eq!(other.unwrap().end, RunEnd::Cancelled);
}
