//! A tiny network in virtual time between one server and some clients: each direction is a
//! drop-tail queue with a fixed rate, then a constant delay, with loss, duplication, reordering and
//! stalls on request.

use airqueue_core::{Span, Time};
use airqueue_probe::client::{Client, ClientConfig, ClientState, Direction};
use airqueue_probe::endpoint::{Endpoint, Received, SendOutcome, Ticket, Transmit};
use airqueue_probe::limits::Limits;
use airqueue_probe::plan::{Plan, Segment};
use airqueue_probe::records::Run;
use airqueue_probe::server::{Server, ServerConfig};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;

/// One direction of the network.
#[derive(Clone, Debug)]
pub struct Path {
    pub delay: Span,
    /// Largest random delay of each datagram.
    pub jitter: Span,
    pub loss: f64,
    pub duplicate: f64,
    /// Bytes per second of the bottleneck; 0: none.
    pub rate: i64,
    /// Limit of the queue in datagrams.
    pub queue: usize,
    /// Nothing passes the bottleneck in these intervals.
    pub stalls: Vec<(Time, Time)>,
    /// Traffic classes that the path changes, and to what.
    pub remark: Vec<(u8, u8)>,
    /// Datagrams from or to these client ports vanish.
    pub blocked_ports: Vec<u16>,
    /// Departure times of the datagrams in the queue.
    departures: Vec<Time>,
}

impl Default for Path {
    fn default() -> Self {
        Path {
            delay: Span::from_millis(5),
            jitter: Span::ZERO,
            loss: 0.0,
            duplicate: 0.0,
            rate: 0,
            queue: 100,
            stalls: Vec::new(),
            remark: Vec::new(),
            blocked_ports: Vec::new(),
            departures: Vec::new(),
        }
    }
}

impl Path {
    /// When a datagram that enters now comes out, `None` if it is dropped.
    fn pass(&mut self, now: Time, bytes: usize) -> Option<Time> {
        let mut out = now;
        if self.rate > 0 {
            self.departures.retain(|&t| t > now);
            if self.departures.len() >= self.queue {
                return None;
            }
            let begin = self.departures.last().copied().unwrap_or(now).max(now);
            out = begin + Span::from_nanos((bytes as i64 + 28) * 1_000_000_000 / self.rate);
        }
        if let Some(&(_, to)) = self.stalls.iter().find(|&&(from, to)| from <= out && out < to) {
            out = to;
        }
        if self.rate > 0 {
            self.departures.push(out);
        }
        Some(out + self.delay)
    }
}

type Flight = Reverse<(Time, u64, bool, SocketAddr, u8, Vec<u8>)>;

pub struct Net {
    pub now: Time,
    pub server: Server,
    pub server_alive: bool,
    pub clients: Vec<(Client, bool)>,
    pub down: Path,
    pub up: Path,
    flights: BinaryHeap<Flight>,
    counter: u64,
    random: u64,
    /// Datagrams that the server sent, with their time: destination, payload length, measured.
    pub from_server: Vec<(Time, SocketAddr, usize, Option<Ticket>)>,
    pub from_clients: Vec<(Time, usize, Option<Ticket>)>,
    /// The messages of client 0 without measured packets, as an eavesdropper records them.
    pub tape: Vec<(SocketAddr, Vec<u8>)>,
    /// Sequence numbers that the sending host refuses.
    pub refuse: Vec<u32>,
    /// Prefix of all addresses: documentation prefixes of IPv4 or IPv6.
    v6: bool,
}

pub fn server_address() -> SocketAddr {
    "198.51.100.1:4000".parse().unwrap()
}

pub fn client_address(client: usize, flow: usize) -> SocketAddr {
    SocketAddr::new([192, 0, 2, 1].into(), (5000 + 100 * client + flow) as u16)
}

pub fn server_config() -> ServerConfig {
    ServerConfig { key: None, limits: Limits::default(), secret: [7; 32], attends: Vec::new() }
}

pub fn client_config(flows: u8) -> ClientConfig {
    ClientConfig {
        server: server_address(),
        key: None,
        flows,
        others: 0,
        entropy: [9; 32],
        max_wait: Span::from_secs(600),
    }
}

/// A datagram of class 0 as it arrives.
pub fn received(socket: usize, from: SocketAddr, at: Time, payload: &[u8]) -> Received<'_> {
    Received { socket, from, at, traffic_class: 0, payload }
}

impl Net {
    pub fn new(server: ServerConfig) -> Net {
        Net {
            now: Time::from_nanos(1_000_000_000),
            server: Server::new(server),
            server_alive: true,
            clients: Vec::new(),
            down: Path::default(),
            up: Path::default(),
            flights: BinaryHeap::new(),
            counter: 0,
            random: 1,
            from_server: Vec::new(),
            from_clients: Vec::new(),
            tape: Vec::new(),
            refuse: Vec::new(),
            v6: false,
        }
    }

    /// A network with one client of `flows` flows.
    pub fn pair(flows: u8) -> Net {
        let mut net = Net::new(server_config());
        net.add(client_config(flows));
        net
    }

    pub fn add(&mut self, mut config: ClientConfig) -> usize {
        config.entropy[0] = self.clients.len() as u8;
        self.clients.push((Client::new(config, self.now), true));
        self.clients.len() - 1
    }

    /// From now on all hosts have IPv6 addresses.
    pub fn ipv6(&mut self) {
        self.v6 = true;
        let mut config = client_config(1);
        config.server = self.server_address();
        self.clients[0].0 = Client::new(config, self.now);
    }

    fn server_address(&self) -> SocketAddr {
        if self.v6 { "[2001:db8::1]:4000".parse().unwrap() } else { server_address() }
    }

    fn client_address(&self, client: usize, flow: usize) -> SocketAddr {
        let v4 = client_address(client, flow);
        let v6 = "2001:db8::2".parse().unwrap();
        if self.v6 { SocketAddr::new(v6, v4.port()) } else { v4 }
    }

    fn bernoulli(&mut self) -> f64 {
        // splitmix64
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn launch(&mut self, to_server: bool, peer: SocketAddr, class: u8, bytes: Vec<u8>) {
        let path = if to_server { &self.up } else { &self.down };
        let (loss, duplicate, jitter) = (path.loss, path.duplicate, path.jitter);
        let remarked = path.remark.iter().find(|&&(from, _)| from == class);
        let class = remarked.map_or(class, |&(_, to)| to);
        if path.blocked_ports.contains(&peer.port()) || self.bernoulli() < loss {
            return;
        }
        let copies = if self.bernoulli() < duplicate { 2 } else { 1 };
        for _ in 0..copies {
            let extra = Span::from_nanos((self.bernoulli() * jitter.as_nanos() as f64) as i64);
            let path = if to_server { &mut self.up } else { &mut self.down };
            if let Some(at) = path.pass(self.now, bytes.len()) {
                self.counter += 1;
                let flight = (at + extra, self.counter, to_server, peer, class, bytes.clone());
                self.flights.push(Reverse(flight));
            }
        }
    }

    /// Sends a datagram of a stranger to the server.
    pub fn inject(&mut self, from: SocketAddr, bytes: &[u8]) {
        self.launch(true, from, 0, bytes.to_vec());
    }

    fn outcome(&mut self, endpoint: Option<usize>, transmit: &Transmit) -> bool {
        let Some(ticket) = transmit.ticket else { return true };
        let refused = self.refuse.contains(&ticket.seq);
        let outcome = match (refused, ticket.timestamp) {
            (true, _) => SendOutcome::Blocked,
            (false, true) => SendOutcome::KernelSent(self.now + Span::from_micros(3)),
            (false, false) => return true,
        };
        match endpoint {
            None => self.server.on_send_outcome(ticket, outcome),
            Some(i) => self.clients[i].0.on_send_outcome(ticket, outcome),
        }
        !refused
    }

    fn poll(&mut self) {
        let mut buf = Vec::new();
        while self.server_alive
            && let Some(t) = self.server.poll_transmit(self.now, &mut buf)
        {
            assert!(t.ticket.is_some() || t.traffic_class == 0, "control messages have class 0");
            self.from_server.push((self.now, t.to, buf.len(), t.ticket));
            if self.outcome(None, &t) {
                self.launch(false, t.to, t.traffic_class, buf.clone());
            }
        }
        for i in 0..self.clients.len() {
            while self.clients[i].1
                && let Some(t) = self.clients[i].0.poll_transmit(self.now, &mut buf)
            {
                assert_eq!(t.to, self.server_address());
                assert!(t.ticket.is_some() || t.traffic_class == 0);
                self.from_clients.push((self.now, buf.len(), t.ticket));
                if i == 0 && t.ticket.is_none() {
                    self.tape.push((self.client_address(0, t.socket), buf.clone()));
                }
                if self.outcome(Some(i), &t) {
                    let from = self.client_address(i, t.socket);
                    self.launch(true, from, t.traffic_class, buf.clone());
                }
            }
        }
    }

    fn deliver(&mut self, to_server: bool, peer: SocketAddr, class: u8, payload: &[u8]) {
        let (now, at) = (self.now, self.now);
        if to_server {
            if self.server_alive {
                let rx = Received { socket: 0, from: peer, at, traffic_class: class, payload };
                self.server.on_datagram(now, rx);
            }
            return;
        }
        let port = usize::from(peer.port()).wrapping_sub(5000);
        let (client, socket) = (port / 100, port % 100);
        let from = self.server_address();
        if let Some((c, true)) = self.clients.get_mut(client) {
            c.on_datagram(now, Received { socket, from, at, traffic_class: class, payload });
        }
    }

    /// Advances time until `until`, or until `done` is true; returns whether it became true.
    pub fn run(&mut self, until: Time, mut done: impl FnMut(&mut Net) -> bool) -> bool {
        let mut without_progress = 0;
        loop {
            self.poll();
            if done(self) {
                return true;
            }
            let mut deadlines: Vec<Time> = Vec::new();
            deadlines.extend(self.flights.peek().map(|Reverse(f)| f.0));
            if self.server_alive {
                deadlines.extend(self.server.next_deadline());
            }
            deadlines
                .extend(self.clients.iter().filter(|c| c.1).filter_map(|c| c.0.next_deadline()));
            let next = deadlines.into_iter().min().unwrap_or(Time::MAX);
            if next > until {
                self.now = until;
                return false;
            }
            without_progress = if next <= self.now { without_progress + 1 } else { 0 };
            assert!(without_progress < 100_000, "an endpoint wants to be polled for nothing");
            self.now = self.now.max(next);
            while self.flights.peek().is_some_and(|Reverse(f)| f.0 <= self.now) {
                if let Some(Reverse((_, _, to_server, peer, class, bytes))) = self.flights.pop() {
                    self.deliver(to_server, peer, class, &bytes);
                }
            }
        }
    }

    pub fn run_for(&mut self, span: Span) {
        self.run(self.now + span, |_| false);
    }

    /// Runs until client 0 is in `state`; panics after `limit`.
    pub fn until(&mut self, state: ClientState, limit: Span) {
        let reached = self.run(self.now + limit, |net| *net.clients[0].0.state() == state);
        assert!(reached, "wanted {state:?}, is {:?} at {}", self.clients[0].0.state(), self.now);
    }

    /// Runs until client `i` has failed; panics after `limit`.
    pub fn failure(&mut self, i: usize, limit: Span) -> airqueue_probe::ClientError {
        let failed = |net: &mut Net| matches!(net.clients[i].0.state(), ClientState::Failed(_));
        assert!(self.run(self.now + limit, failed), "still {:?}", self.clients[i].0.state());
        match self.clients[i].0.state() {
            ClientState::Failed(error) => error.clone(),
            _ => unreachable!(),
        }
    }

    pub fn connect(&mut self) {
        self.until(ClientState::Ready, Span::from_secs(20));
    }

    /// Carries out a plan with client 0.
    pub fn measure(&mut self, plan: &Plan, direction: Direction) -> Run {
        let now = self.now;
        self.clients[0].0.start(now, plan, direction).unwrap();
        self.until(ClientState::Ready, plan.end() + Span::from_secs(60));
        self.clients[0].0.take_run().unwrap()
    }
}

pub fn segment(flow: u8, start_ms: i64, duration_ms: i64, count: u32, size: u16) -> Segment {
    let (start, duration) = (Span::from_millis(start_ms), Span::from_millis(duration_ms));
    Segment { flow, start, duration, count, size, traffic_class: 0 }
}
