//! The server: proves addresses, keeps sessions, carries out its half of the runs.

mod admission;
mod attendance;
mod load;
mod run;
mod session;
mod turns;

use crate::auth::TagKey;
use crate::endpoint::{Endpoint, Received, SendOutcome, Ticket, Transmit};
use crate::limits::Limits;
use crate::plan::PlannedPacket;
use crate::wire::{Message, Packet, Reason, WireError, decode, encode};
use admission::owner;
use airqueue_core::{Span, Time};
use run::ServerPhase;
use session::{Outbox, Session};
use std::net::{IpAddr, SocketAddr};
use turns::Turns;

/// Largest number of replies stored for the driver, which takes them after every datagram.
const MAX_OUTBOX: usize = 1024;
/// Records kept for all sessions together, in runs of the longest kind.
const MAX_FULL_RUNS: u64 = 4;

/// The configuration of a server.
#[derive(Clone)]
pub struct ServerConfig {
    /// Shared key that clients must prove to know; `None`: anyone may measure.
    pub key: Option<Vec<u8>>,
    /// The server's limits.
    pub limits: Limits,
    /// Fresh random bytes: cookies and session ids come from them.
    pub secret: [u8; 32],
    /// Other servers in whose sessions clients may make this endpoint take part, as one station among several: each of these
    /// servers may then flood this host.
    pub attends: Vec<IpAddr>,
}

impl std::fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let keyed = self.key.is_some();
        let mut out = f.debug_struct("ServerConfig");
        out.field("keyed", &keyed).field("limits", &self.limits);
        out.field("attends", &self.attends).finish()
    }
}

/// Counters since the server began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerStats {
    /// Sessions open now.
    pub sessions: u32,
    /// Sessions opened in all.
    pub sessions_opened: u64,
    /// Requests to open, to join or to run a plan that were refused with a reason.
    pub refused: u64,
    /// Datagrams that were malformed or belonged to no session.
    pub ignored: u64,
    /// Runs begun.
    pub runs: u64,
}

/// The server's state machine; it has one socket, index 0.
#[derive(Debug)]
pub struct Server {
    config: ServerConfig,
    opening_key: TagKey,
    sessions: Vec<Session>,
    turns: Turns,
    outbox: Outbox,
    stats: ServerStats,
    program_timestamps: bool,
    /// Number of attendances so far.
    attendances: u64,
}

impl Server {
    /// A server without sessions.
    pub fn new(config: ServerConfig) -> Server {
        Server {
            opening_key: TagKey::opening(config.key.as_deref()),
            config,
            sessions: Vec::new(),
            turns: Turns::new(),
            outbox: Outbox::new(),
            stats: ServerStats::default(),
            program_timestamps: false,
            attendances: 0,
        }
    }

    /// Counters.
    pub fn stats(&self) -> ServerStats {
        ServerStats { sessions: self.sessions.len() as u32, ..self.stats }
    }

    /// An untagged reply to an address that need not be proven: never longer than the request.
    fn reply(&mut self, to: SocketAddr, flow: u8, message: &Message<'_>) {
        let mut bytes = Vec::new();
        encode(flow, message, &mut bytes);
        self.outbox.push_back((to, bytes));
    }

    fn refuse(&mut self, to: SocketAddr, flow: u8, echo: u64, reason: Reason, detail: u64) {
        self.stats.refused += 1;
        self.reply(to, flow, &Message::Refused { echo, reason, detail });
    }

    /// Handles a tagged message of a session.
    fn on_session_message(&mut self, now: Time, rx: Received<'_>, packet: Packet<'_>) {
        let Some(id) = session_of(&packet.message) else {
            self.stats.ignored += 1;
            return;
        };
        let Some(i) = self.sessions.iter().position(|s| s.id == id) else {
            return self.refuse(rx.from, packet.flow, id, Reason::UnknownSession, 0);
        };
        let known = self.sessions[i].flows.get(usize::from(packet.flow)).copied().flatten();
        if known != Some(rx.from) || !self.sessions[i].verify(rx.payload) {
            self.stats.ignored += 1;
            return;
        }
        if !matches!(packet.message, Message::KeepAlive { .. }) {
            self.sessions[i].answers_on = packet.flow;
        }
        self.obey(now, i, packet.flow, packet.message);
    }

    /// Carries out a verified message of session `i`.
    fn obey(&mut self, now: Time, i: usize, flow: u8, message: Message<'_>) {
        let limits = self.config.limits;
        if let Message::Start { run, .. } = message
            && !self.has_turn(now, i, run)
        {
            return self.sessions[i].on_received(now);
        }
        if let Message::Attend { of, .. } = message {
            self.sessions[i].on_received(now);
            return self.on_attend(i, of);
        }
        let (session, out) = (&mut self.sessions[i], &mut self.outbox);
        match message {
            Message::KeepAlive { run, counter, .. } => {
                return session.on_keep_alive(now, flow, run, counter);
            }
            Message::Close { .. } => {
                return self.remove(now, i);
            }
            Message::Plan { run, part, parts, way, segments, .. } => {
                if session.run.as_ref().is_some_and(|r| r.number < run) {
                    self.turns.leave(now, session.id, session.is_drained());
                }
                session.on_plan(now, run, (part, parts), way, segments, &limits, out);
                let refused = |r: &run::ServerRun| matches!(r.phase, ServerPhase::Refused(_));
                self.stats.refused += u64::from(session.run.as_ref().is_some_and(refused));
            }
            Message::Start { run, delay_ms, .. } => {
                let delay = Span::from_millis(i64::from(delay_ms));
                let began = session.on_start(now, run, delay, out);
                self.stats.runs += u64::from(began);
                if began && self.program_timestamps {
                    session.note_program_timestamps();
                }
            }
            Message::Stop { run, attempted, .. } => {
                // A late copy about an earlier run costs no place.
                if session.run.as_ref().is_some_and(|r| r.number == run) {
                    self.turns.forget(session.id);
                }
                session.on_stop(now, run, attempted, out);
            }
            Message::Fetch { run, first, wanted, .. } => session.on_fetch(run, first, wanted),
            _ => {}
        }
        session.on_received(now);
    }

    /// Whether START may begin the run of session `i` now; if not, the client is told how long it waits.
    fn has_turn(&mut self, now: Time, i: usize, run: u32) -> bool {
        let session = &self.sessions[i];
        // Of a run that has begun, or cannot begin, START only asks for an answer.
        let Some(length) = session.length_of(run) else { return true };
        let Some(address) = session.main_address() else { return false };
        match self.turns.ask(now, session.id, owner(address), length) {
            Err(wait) => {
                session.say_wait(wait.left, wait.ahead, &mut self.outbox);
                false
            }
            Ok(()) => {
                let (id, troubled) = (session.id, self.turns.is_troubled(now));
                if let Some(run) = &mut self.sessions[i].run {
                    run.shared = troubled;
                }
                self.make_room(now, id);
                true
            }
        }
    }

    /// Bounds the records that are kept: the oldest sessions that are slow to take theirs are ended.
    fn make_room(&mut self, now: Time, id: u64) {
        let most = u64::from(self.config.limits.max_packets) * (MAX_FULL_RUNS - 1);
        let kept = |s: &Session| s.run.as_ref().map_or(0, run::ServerRun::kept_packets);
        while self.sessions.iter().map(kept).sum::<u64>() > most {
            let others = (0..self.sessions.len())
                .filter(|&i| self.sessions[i].id != id && kept(&self.sessions[i]) > 0);
            let Some(oldest) = others.min_by_key(|&i| self.sessions[i].heard()) else { return };
            self.remove(now, oldest);
        }
    }

    /// Ends a session.
    fn remove(&mut self, now: Time, i: usize) {
        let session = self.sessions.remove(i);
        self.turns.leave(now, session.id, session.is_drained());
    }

    /// Ends the turn if it is over, and offers a free one.
    fn tend_turns(&mut self, now: Time) {
        if let Some(id) = self.turns.holder() {
            let session = self.sessions.iter().find(|s| s.id == id);
            let clean = session.is_none_or(Session::is_drained);
            let over = session.is_none_or(|s| {
                !s.is_busy() && (s.is_finished() || self.turns.is_over(now, s.heard()))
            });
            if over {
                self.turns.leave(now, id, clean);
            }
        }
        if let Some(next) = self.turns.pass_on(now)
            && let Some(session) = self.sessions.iter().find(|s| s.id == next)
        {
            session.say_wait(Span::ZERO, 0, &mut self.outbox);
        }
    }

    /// Packets of a session pass the server: if it is another one's turn, its run is not alone.
    fn note_traffic(&mut self, id: u64) {
        let Some(holder) = self.turns.holder().filter(|&h| h != id) else { return };
        let session = self.sessions.iter_mut().find(|s| s.id == holder);
        if let Some(run) = session.and_then(|s| s.run.as_mut()).filter(|r| r.is_active()) {
            run.shared = true;
        }
    }

    fn poll_data(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let due = |s: &Session| match &s.run {
            Some(run::ServerRun { phase: ServerPhase::Sending(sender), .. }) => sender.next_due(),
            _ => None,
        };
        let (i, _) = (self.sessions.iter().enumerate())
            .filter_map(|(i, s)| due(s).filter(|&t| t <= now).map(|t| (i, t)))
            .min_by_key(|&(_, t)| t)?;
        let session = &mut self.sessions[i];
        let Some(run::ServerRun { phase: ServerPhase::Sending(sender), .. }) = &mut session.run
        else {
            return None;
        };
        let (PlannedPacket { flow, traffic_class, .. }, ticket) = sender.poll(now, buf)?;
        let to = session.destination(flow)?;
        let id = session.id;
        self.note_traffic(id);
        Some(Transmit { socket: 0, to, traffic_class, ticket: Some(ticket) })
    }
}

impl Endpoint for Server {
    fn on_datagram(&mut self, now: Time, rx: Received<'_>) {
        if self.outbox.len() >= MAX_OUTBOX {
            self.stats.ignored += 1;
            return;
        }
        match decode(rx.payload) {
            Ok(Packet { flow, message: Message::Data(header) }) => {
                match self.session_of_data(rx.from, flow, header.session) {
                    Some(i) => {
                        self.sessions[i].on_data(now, rx, &header);
                        self.note_traffic(self.sessions[i].id);
                    }
                    None => self.stats.ignored += 1,
                }
            }
            Ok(Packet { flow, message: Message::Hello { nonce } }) => {
                self.on_hello(now, rx.from, flow, nonce);
            }
            Ok(packet @ Packet { message: Message::Open { .. } | Message::Join { .. }, .. }) => {
                self.on_request(now, rx, packet);
            }
            Ok(packet @ Packet { message: Message::Challenge { .. }, .. })
            | Ok(packet @ Packet { message: Message::Joined { .. }, .. }) => {
                self.on_foreign_reply(rx, packet);
            }
            Ok(packet) if self.on_foreign_keep_alive(now, &rx, &packet) => {}
            Ok(packet) => self.on_session_message(now, rx, packet),
            Err(WireError::OtherVersion { nonce, .. }) => {
                let version = crate::wire::VERSION;
                self.reply(rx.from, 0, &Message::Version { nonce, version });
            }
            Err(WireError::Malformed) => self.stats.ignored += 1,
        }
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let outbox = &mut self.outbox;
        if self.sessions.iter().any(|s| s.next_deadline() <= now) {
            self.sessions.retain_mut(|s| s.on_time(now, outbox));
        }
        self.tend_turns(now);
        let outbox = &mut self.outbox;
        if let Some((to, bytes)) = outbox.pop_front() {
            buf.clear();
            buf.extend_from_slice(&bytes);
            return Some(Transmit { socket: 0, to, traffic_class: 0, ticket: None });
        }
        if let Some(transmit) = self.poll_data(now, buf) {
            return Some(transmit);
        }
        let (id, to) =
            (self.sessions.iter_mut()).find_map(|s| s.poll_chunk(buf).map(|to| (s.id, to)))?;
        self.note_traffic(id);
        Some(Transmit { socket: 0, to, traffic_class: 0, ticket: None })
    }

    fn next_deadline(&self) -> Option<Time> {
        let holder = self.turns.holder();
        let heard = self.sessions.iter().find(|s| Some(s.id) == holder && !s.is_busy());
        let turns = self.turns.next_deadline(heard.map(Session::heard));
        self.sessions.iter().map(Session::next_deadline).chain(turns).min()
    }

    fn on_send_outcome(&mut self, ticket: Ticket, outcome: SendOutcome) {
        let session = self.sessions.iter_mut().find(|s| s.id == ticket.session);
        if let Some(run) = session.and_then(|s| s.run.as_mut())
            && run.number == ticket.run
            && let ServerPhase::Sending(sender) = &mut run.phase
        {
            sender.on_outcome(ticket.seq, outcome);
        }
    }

    fn on_receive_overflow(&mut self, count: u64) {
        self.sessions.iter_mut().for_each(|s| s.note_overflow(count));
    }

    fn on_clock_step(&mut self) {
        self.sessions.iter_mut().for_each(Session::note_clock_step);
    }

    fn on_program_timestamps(&mut self) {
        self.program_timestamps = true;
        self.sessions.iter_mut().for_each(Session::note_program_timestamps);
    }
}

/// The session of a client's tagged message; `None` for messages that a server never receives.
fn session_of(message: &Message<'_>) -> Option<u64> {
    match *message {
        Message::Plan { session, .. }
        | Message::Start { session, .. }
        | Message::KeepAlive { session, .. }
        | Message::Stop { session, .. }
        | Message::Fetch { session, .. }
        | Message::Attend { session, .. }
        | Message::Close { session } => Some(session),
        _ => None,
    }
}
