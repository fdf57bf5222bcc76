//! The client: opens a session with a server, carries out runs, collects their records.

mod collect;
mod connect;
mod load;
mod run;
mod together;

use crate::auth::{Role, TagKey, unguessable};
use crate::check::{check, min_size};
use crate::endpoint::{Endpoint, Received, SendOutcome, Ticket, Transmit};
use crate::error::ClientError;
use crate::limits::Limits;
use crate::plan::{Plan, PlannedPacket};
use crate::records::Run;
use crate::wire::{MAX_FLOWS, Message, Way, decode, encode};
use airqueue_core::{Span, Time};
use connect::FlowHandshake;
pub use load::RunTimes;
use run::{ClientRun, Half};
use std::collections::VecDeque;
use std::net::SocketAddr;
use together::Attending;
pub use together::Identity;

/// Interval of an idle client's keepalives on every flow, which also keep its bindings in address
/// translators (RFC 4787, REQ-5: these last at least two minutes, in practice thirty seconds).
const IDLE_EVERY: Span = Span::from_secs(5);

/// The direction of the packets of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The server sends to the client.
    Down,
    /// The client sends to the server.
    Up,
}

/// The configuration of a client.
#[derive(Clone)]
pub struct ClientConfig {
    /// The server's address.
    pub server: SocketAddr,
    /// Shared key, if the server wants one.
    pub key: Option<Vec<u8>>,
    /// Number of flows, each on its own socket: flow `i` uses socket `i`. 1 to 16.
    pub flows: u8,
    /// How many of the flows, the last ones, are those of other stations, which join by themselves. Less than `flows`.
    pub others: u8,
    /// Fresh random bytes: nonces come from them.
    pub entropy: [u8; 32],
    /// Longest wait for the first turn, where other clients measure with the server; zero: none.
    pub max_wait: Span,
}

impl std::fmt::Debug for ClientConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("ClientConfig");
        out.field("server", &self.server).field("keyed", &self.key.is_some());
        out.field("flows", &self.flows).finish()
    }
}

/// The state of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientState {
    /// Proving addresses and opening the session.
    Connecting,
    /// A run can begin.
    Ready,
    /// A run is being agreed on or carried out.
    Running,
    /// The run is over and the server's half of the records is being fetched.
    Collecting,
    /// Given up.
    Failed(ClientError),
    /// Closed by `close`.
    Closed,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Time since the run began.
    pub elapsed: Span,
    /// Planned length of the run.
    pub planned: Span,
    /// Packets received; upwards, as the server last reported.
    pub received: u64,
    /// Packets that later ones overtook; upwards, as the server last reported.
    pub lost: u64,
    /// Recent one-way delay above the least seen in this run; `None` until known.
    pub delay: Option<Span>,
    /// Set while the run waits for its turn.
    pub waiting: Option<Waiting>,
}

/// The wait of a run for its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The server's estimate of the time that is left.
    pub left: Span,
    /// Number of other clients' runs that come first.
    pub ahead: u16,
}

/// ICMP refusals in a row after which a silent server is taken for gone: a single refusal may be a
/// late one, from before the server was restarted.
const REFUSALS: u32 = 2;

/// The content of ACCEPT.
#[derive(Debug)]
struct OpenSession {
    id: u64,
    key: TagKey,
    limits: Limits,
}

/// The client's state machine.
#[derive(Debug)]
pub struct Client {
    config: ClientConfig,
    state: ClientState,
    handshakes: Vec<FlowHandshake>,
    session: Option<OpenSession>,
    run: Option<ClientRun>,
    last_run: u32,
    /// The number that the next run has at least.
    next_run: u32,
    finished: Option<Run>,
    /// The times of the run before.
    last_times: Option<RunTimes>,
    outbox: VecDeque<(usize, Vec<u8>)>,
    born: Time,
    now: Time,
    last_received: Time,
    /// ICMP refusals since the last message from the server, and the time of this message.
    refusals: (Time, u32),
    next_idle: Time,
    next_counter: u32,
    last_counter: Option<u32>,
    program_timestamps: bool,
    /// A run of this session has begun.
    had_turn: bool,
    /// What the server was asked to take part in.
    attending: Option<Attending>,
}

impl Client {
    /// Begins to connect at `now`.
    pub fn new(config: ClientConfig, now: Time) -> Client {
        let flows = config.flows.min(MAX_FLOWS);
        let nonce = |flow| unguessable(&config.entropy, "nonce", u64::from(flow));
        let own = flows.saturating_sub(config.others);
        let handshakes = (0..own).map(|flow| FlowHandshake::new(nonce(flow), now)).collect();
        let state = if own > 0 && config.flows <= MAX_FLOWS {
            ClientState::Connecting
        } else {
            let (asked, limit) = (config.flows, u64::from(MAX_FLOWS));
            ClientState::Failed(ClientError::Flows { asked, limit })
        };
        Client {
            config,
            state,
            handshakes,
            session: None,
            run: None,
            last_run: 0,
            next_run: 0,
            finished: None,
            last_times: None,
            outbox: VecDeque::new(),
            born: now,
            now,
            last_received: now,
            refusals: (now, 0),
            next_idle: now,
            next_counter: 0,
            last_counter: None,
            program_timestamps: false,
            had_turn: false,
            attending: None,
        }
    }

    /// The state of the client.
    pub fn state(&self) -> &ClientState {
        &self.state
    }

    /// The server's limits, once announced.
    pub fn limits(&self) -> Option<&Limits> {
        self.session.as_ref().map(|s| &s.limits)
    }

    /// Begins a run; the client must be ready. A plan over the server's limits is refused here and
    /// the client stays ready. Upwards other stations send the packets of their flows, if the plan has any ([`Self::upload`]).
    pub fn start(
        &mut self,
        now: Time,
        plan: &Plan,
        direction: Direction,
    ) -> Result<(), ClientError> {
        self.now = now;
        if let ClientState::Failed(error) = &self.state {
            return Err(error.clone());
        }
        let Some(session) = self.session.as_ref().filter(|_| self.state == ClientState::Ready)
        else {
            return Err(ClientError::NotReady);
        };
        let own = self.own_flows();
        let way = match direction {
            Direction::Down => Way::Down,
            Direction::Up if plan.segments.iter().any(|s| s.flow >= own) => Way::UpFromAll,
            Direction::Up => Way::Up,
        };
        let flows = if way == Way::Up { own } else { self.config.flows };
        check(plan, &session.limits, flows, min_size(self.config.server))?;
        let half = match direction {
            Direction::Down => Half::receiving(plan, own, self.born, now),
            Direction::Up => Half::Waiting,
        };
        let number = self.next_run.max(self.last_run + 1);
        self.begin(ClientRun::new(number, way, plan, half, now));
        Ok(())
    }

    fn begin(&mut self, mut run: ClientRun) {
        self.last_run = run.number;
        self.finished = None;
        if self.program_timestamps {
            run.note_program_timestamps();
        }
        self.run = Some(run);
        self.state = ClientState::Running;
    }

    /// The number of flows that are this host's.
    fn own_flows(&self) -> u8 {
        self.handshakes.len() as u8
    }

    /// Stops the run at both ends, then collects the records so far. Without a run nothing happens.
    pub fn cancel(&mut self, now: Time) {
        self.now = now;
        if self.state == ClientState::Running {
            self.cancel_run(now);
        }
    }

    /// The progress of the present run; zeros without a run.
    pub fn progress(&self, now: Time) -> Progress {
        match &self.run {
            Some(run) => run.progress(now),
            None => Progress {
                elapsed: Span::ZERO,
                planned: Span::ZERO,
                received: 0,
                lost: 0,
                delay: None,
                waiting: None,
            },
        }
    }

    /// The finished run, once, when collecting is done.
    pub fn take_run(&mut self) -> Option<Run> {
        self.finished.take()
    }

    /// Leaves the session; `poll_transmit` returns the CLOSE.
    pub fn close(&mut self, now: Time) {
        self.now = now;
        if self.state == ClientState::Closed {
            return;
        }
        self.say_goodbye();
        self.state = ClientState::Closed;
    }

    fn fail(&mut self, error: ClientError) {
        if matches!(self.state, ClientState::Failed(_) | ClientState::Closed) {
            return;
        }
        self.say_goodbye();
        self.state = ClientState::Failed(error);
    }

    /// Sends CLOSE to the server, if there is a session. CLOSE is sent twice, because it is not acknowledged.
    fn say_goodbye(&mut self) {
        self.outbox.clear();
        self.run = None;
        if let Some(session) = self.session.as_ref().map(|s| s.id) {
            self.say(0, &Message::Close { session });
            self.say(0, &Message::Close { session });
        }
    }

    /// Queues a message of the session, tagged.
    fn say(&mut self, flow: u8, message: &Message<'_>) {
        let Some(session) = &self.session else { return };
        let mut bytes = Vec::new();
        encode(flow, message, &mut bytes);
        session.key.seal(Role::Client, &mut bytes);
        self.outbox.push_back((usize::from(flow), bytes));
    }

    /// Queues a keepalive for a run (0: none) on a flow.
    fn say_keep_alive(&mut self, flow: u8, run: u32) {
        let Some(session) = self.session.as_ref().map(|s| s.id) else { return };
        let counter = self.next_counter;
        self.next_counter = counter.wrapping_add(1);
        let glimpse = self.run.as_ref().map(ClientRun::glimpse).unwrap_or_default();
        self.say(flow, &Message::KeepAlive { session, run, counter, glimpse });
    }

    fn advance(&mut self, now: Time) {
        match self.state {
            ClientState::Connecting => self.advance_connecting(now),
            ClientState::Ready if now >= self.next_idle => {
                self.next_idle = now + IDLE_EVERY;
                for flow in 0..self.own_flows() {
                    self.say_keep_alive(flow, 0);
                }
            }
            ClientState::Ready => self.advance_attending(now),
            ClientState::Running | ClientState::Collecting => self.advance_run(now),
            _ => {}
        }
    }

    /// Handles a message with a tag of the session key, or a data packet.
    fn on_session_message(&mut self, now: Time, rx: Received<'_>, message: Message<'_>) {
        let Some(session) = &self.session else { return };
        if !session.key.verify(Role::Server, rx.payload) {
            return;
        }
        let id = session.id;
        let of_this_session = match message {
            Message::PlanAck { session, .. }
            | Message::PlanRefused { session, .. }
            | Message::Started { session, .. }
            | Message::Wait { session, .. }
            | Message::KeepAlive { session, .. }
            | Message::Stopped { session, .. }
            | Message::Chunk { session, .. }
            | Message::Attending { session }
            | Message::Joined { session } => session == id,
            _ => false,
        };
        if !of_this_session {
            return;
        }
        self.last_received = now;
        match message {
            Message::Joined { .. } => self.on_joined(now, rx.socket),
            Message::Attending { .. } => self.on_attending(),
            other => self.on_run_message(now, other),
        }
    }
}

impl Endpoint for Client {
    fn on_datagram(&mut self, now: Time, rx: Received<'_>) {
        self.now = now;
        let over = matches!(self.state, ClientState::Failed(_) | ClientState::Closed);
        if over || !same_address(rx.from, self.config.server) {
            return;
        }
        let Ok(packet) = decode(rx.payload) else { return };
        if usize::from(packet.flow) != rx.socket
            && !matches!(packet.message, Message::Version { .. })
        {
            return;
        }
        match packet.message {
            Message::Data(header) => {
                if self.session.as_ref().is_some_and(|s| s.id == header.session) {
                    self.on_data(now, rx, &header);
                }
            }
            Message::Challenge { .. }
            | Message::Accept { .. }
            | Message::Version { .. }
            | Message::Refused { .. } => self.on_handshake(now, rx, packet.message),
            message => self.on_session_message(now, rx, message),
        }
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.now = now;
        self.advance(now);
        let to = self.config.server;
        if let Some((socket, bytes)) = self.outbox.pop_front() {
            buf.clear();
            buf.extend_from_slice(&bytes);
            return Some(Transmit { socket, to, traffic_class: 0, ticket: None });
        }
        let (PlannedPacket { flow, traffic_class, .. }, ticket) =
            self.run.as_mut()?.poll_data(now, buf)?;
        Some(Transmit { socket: usize::from(flow), to, traffic_class, ticket: Some(ticket) })
    }

    fn next_deadline(&self) -> Option<Time> {
        if !self.outbox.is_empty() {
            return Some(self.now);
        }
        match self.state {
            ClientState::Connecting => self.connecting_deadline(),
            ClientState::Ready => Some(self.next_idle.min(self.attending_deadline())),
            ClientState::Running | ClientState::Collecting => self.run_deadline(),
            ClientState::Failed(_) | ClientState::Closed => None,
        }
    }

    fn on_send_outcome(&mut self, ticket: Ticket, outcome: SendOutcome) {
        let session = self.session.as_ref().is_some_and(|s| s.id == ticket.session);
        if let Some(run) = self.run.as_mut().filter(|r| session && r.number == ticket.run) {
            run.on_outcome(ticket.seq, outcome);
        }
    }

    fn on_receive_overflow(&mut self, count: u64) {
        if let Some(run) = &mut self.run {
            run.note_overflow(count);
        }
    }

    fn on_clock_step(&mut self) {
        if let Some(run) = &mut self.run {
            run.note_clock_step();
        }
    }

    fn on_unreachable(&mut self) {
        if self.refusals.0 != self.last_received {
            self.refusals = (self.last_received, 0);
        }
        self.refusals.1 += 1;
        let waits_for_answer = self.run.as_ref().is_some_and(ClientRun::waits_for_answer);
        if waits_for_answer && self.refusals.1 >= REFUSALS {
            self.fail(ClientError::Vanished { server: self.config.server });
        }
    }

    fn on_program_timestamps(&mut self) {
        self.program_timestamps = true;
        if let Some(run) = &mut self.run {
            run.note_program_timestamps();
        }
    }
}

/// Whether two addresses are one: a dual-stack socket shows IPv4 peers as mapped IPv6.
fn same_address(a: SocketAddr, b: SocketAddr) -> bool {
    a.port() == b.port() && a.ip().to_canonical() == b.ip().to_canonical()
}
