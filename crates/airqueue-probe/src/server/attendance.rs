//! A part in a session with another server: this endpoint is a station among several that are measured together.
//!
//! The client of a session here tells which flow of its session with the other server is this endpoint's. Once the flow has
//! joined there, its packets are those of the runs here.

use super::Server;
use super::session::Outbox;
use crate::auth::{Role, TagKey, unguessable};
use crate::endpoint::Received;
use crate::wire::{ForeignFlow, Glimpse, Message, Packet, Reason, encode};
use airqueue_core::Time;
use std::net::SocketAddr;

/// What a session here is to another server.
#[derive(Debug)]
pub(super) struct Attendance {
    pub of: ForeignFlow,
    key: TagKey,
    /// Of the HELLO to the other server.
    nonce: u64,
    joined: bool,
    next_counter: u32,
    /// Of the other server's keepalives: a replayed one has no effect.
    last_counter: Option<u32>,
}

impl Attendance {
    /// Whether a datagram of the other server that names its session and flow is for this attendance.
    pub fn is_from(&self, from: SocketAddr, session: u64, flow: u8) -> bool {
        self.of.server == from && self.of.session == session && self.of.flow == flow
    }

    /// Whether the flow has joined: the other server has answered at its address.
    pub fn has_joined(&self) -> bool {
        self.joined
    }

    /// Takes a keepalive of the other server: whether it is authentic and new.
    fn hears(&mut self, datagram: &[u8], counter: u32) -> bool {
        let new = self.joined
            && self.last_counter.is_none_or(|last| counter > last)
            && self.key.verify(Role::Server, datagram);
        if new {
            self.last_counter = Some(counter);
        }
        new
    }

    /// Queues a message to the other server, tagged as its client's.
    fn say(&self, message: &Message<'_>, out: &mut Outbox) {
        let mut bytes = Vec::new();
        encode(self.of.flow, message, &mut bytes);
        if !matches!(message, Message::Hello { .. }) {
            self.key.seal(Role::Client, &mut bytes);
        }
        out.push_back((self.of.server, bytes));
    }

    /// Tells the other server that this station still wants the packets of a run.
    pub fn say_keep_alive(&mut self, run: u32, glimpse: Glimpse, out: &mut Outbox) {
        let counter = self.next_counter;
        self.next_counter = counter.wrapping_add(1);
        let session = self.of.session;
        self.say(&Message::KeepAlive { session, run, counter, glimpse }, out);
    }
}

impl Server {
    /// ATTEND: joins the flow, by one HELLO for each such request, or says that it has joined. During a run nothing changes.
    pub(super) fn on_attend(&mut self, i: usize, of: ForeignFlow) {
        let session = &mut self.sessions[i];
        if !self.config.attends.contains(&of.server.ip()) {
            let Some(to) = session.main_address() else { return };
            let id = session.id;
            return self.refuse(to, 0, id, Reason::NotAttending, 0);
        }
        if session.attendance.as_ref().is_none_or(|a| a.of != of) {
            if session.is_busy() {
                return;
            }
            self.attendances += 1;
            let key = TagKey::session(self.config.key.as_deref(), of.nonce, of.session);
            let nonce = unguessable(&self.config.secret, "attendance", self.attendances);
            session.attendance = Some(Attendance {
                of,
                key,
                nonce,
                joined: false,
                next_counter: 0,
                last_counter: None,
            });
        }
        let Some(attendance) = &session.attendance else { return };
        if attendance.joined {
            session.say(0, &Message::Attending { session: session.id }, &mut self.outbox);
        } else {
            attendance.say(&Message::Hello { nonce: attendance.nonce }, &mut self.outbox);
        }
    }

    /// A reply of another server to this endpoint, which wants to join a session there.
    pub(super) fn on_foreign_reply(&mut self, rx: Received<'_>, packet: Packet<'_>) {
        let of_server = self.sessions.iter_mut().filter(|s| {
            let of = s.attendance.as_ref().map(|a| a.of);
            of.is_some_and(|of| of.server == rx.from && of.flow == packet.flow)
        });
        for session in of_server {
            let id = session.id;
            let Some(attendance) = &mut session.attendance else { continue };
            match packet.message {
                Message::Challenge { nonce, stamp, cookie } if nonce == attendance.nonce => {
                    let session = attendance.of.session;
                    let join = Message::Join { nonce, stamp, cookie, session };
                    return attendance.say(&join, &mut self.outbox);
                }
                Message::Joined { session: joined }
                    if joined == attendance.of.session
                        && !attendance.joined
                        && attendance.key.verify(Role::Server, rx.payload) =>
                {
                    attendance.joined = true;
                    return session.say(0, &Message::Attending { session: id }, &mut self.outbox);
                }
                _ => {}
            }
        }
        self.stats.ignored += 1;
    }

    /// A keepalive of another server, which receives what this endpoint sends as a station there. False: another message.
    pub(super) fn on_foreign_keep_alive(
        &mut self,
        now: Time,
        rx: &Received<'_>,
        packet: &Packet<'_>,
    ) -> bool {
        let Message::KeepAlive { session: id, run, counter, .. } = packet.message else {
            return false;
        };
        let mut found = false;
        for session in &mut self.sessions {
            let Some(attendance) = &mut session.attendance else { continue };
            if attendance.is_from(rx.from, id, packet.flow) {
                found = true;
                if attendance.hears(rx.payload, counter) {
                    session.on_wanted(now, run);
                }
            }
        }
        found
    }

    /// The session that gets a measured packet: its own client's, or one of another server's.
    pub(super) fn session_of_data(&self, from: SocketAddr, flow: u8, id: u64) -> Option<usize> {
        self.sessions.iter().position(|s| {
            let own = s.id == id && s.flows.get(usize::from(flow)) == Some(&Some(from));
            own || s.attendance.as_ref().is_some_and(|a| a.is_from(from, id, flow))
        })
    }
}

/// Keepalives of the flows of a session, which may be those of several hosts.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Highest counter of each flow: a replayed keepalive has no effect.
    counters: Vec<Option<u32>>,
    /// When each flow was last heard in the present run.
    at: Vec<Option<Time>>,
}

impl Heard {
    pub fn new(flows: u8) -> Heard {
        let flows = usize::from(flows);
        Heard { counters: vec![None; flows], at: vec![None; flows] }
    }

    /// A keepalive arrived; false if its counter is not higher than the flow's last.
    pub fn is_new(&mut self, flow: u8, counter: u32) -> bool {
        let Some(last) = self.counters.get_mut(usize::from(flow)) else { return false };
        if last.is_some_and(|last| counter <= last) {
            return false;
        }
        *last = Some(counter);
        true
    }

    /// A flow was heard that wants the present run.
    pub fn note(&mut self, flow: u8, now: Time) {
        if let Some(at) = self.at.get_mut(usize::from(flow)) {
            *at = Some(now);
        }
    }

    /// A run begins.
    pub fn restart(&mut self) {
        self.at.fill(None);
    }

    /// When that host of `flows` was heard that has been silent for longest; `None` if one has not been heard at all. A flood
    /// goes on only while all hosts that it goes to want it.
    pub fn by_all(&self, flows: &[u8], addresses: &[Option<SocketAddr>]) -> Option<Time> {
        let owner = |flow: usize| addresses.get(flow).copied().flatten().map(super::owner);
        let last = |&flow: &u8| {
            let host = owner(usize::from(flow));
            let of_host = (0..self.at.len()).filter(|&f| owner(f) == host);
            of_host.filter_map(|f| self.at[f]).max()
        };
        flows.iter().map(last).min().flatten()
    }
}
