//! Admission: proof of address, shared key, limits.

use super::Server;
use super::session::{Presence, Session};
use crate::auth::{Role, TagKey, cookie, cookie_fits, unguessable};
use crate::endpoint::Received;
use crate::wire::{MAX_FLOWS, Message, Packet, Reason};
use airqueue_core::Time;
use std::net::{IpAddr, SocketAddr};

/// Lifetime of a cookie in seconds.
const COOKIE_LIFE_S: u32 = 10;

/// The server's clock in whole seconds; wraps after 136 years.
fn stamp(now: Time) -> u32 {
    now.as_nanos().div_euclid(1_000_000_000) as u32
}

/// The unit of limits per address: an IPv4 address, or a /64 prefix of IPv6, which one host may own.
pub(super) fn owner(address: SocketAddr) -> IpAddr {
    match address.ip().to_canonical() {
        IpAddr::V6(ip) => {
            let prefix = u128::from(ip) & !u128::from(u64::MAX);
            IpAddr::V6(prefix.into())
        }
        v4 => v4,
    }
}

impl Server {
    /// HELLO: replies with a challenge and keeps no state.
    pub(super) fn on_hello(&mut self, now: Time, from: SocketAddr, flow: u8, nonce: u64) {
        let stamp = stamp(now);
        let cookie = cookie(&self.config.secret, from, nonce, stamp);
        self.reply(from, flow, &Message::Challenge { nonce, stamp, cookie });
    }

    /// OPEN or JOIN.
    pub(super) fn on_request(&mut self, now: Time, rx: Received<'_>, packet: Packet<'_>) {
        let (nonce, given, cookie) = match packet.message {
            Message::Open { nonce, stamp, cookie, .. }
            | Message::Join { nonce, stamp, cookie, .. } => (nonce, stamp, cookie),
            _ => return,
        };
        let fresh = stamp(now).wrapping_sub(given) <= COOKIE_LIFE_S;
        if !fresh || !cookie_fits(&self.config.secret, rx.from, nonce, given, &cookie) {
            return self.refuse(rx.from, packet.flow, nonce, Reason::CookieExpired, 0);
        }
        match packet.message {
            Message::Open { flows, keyed, .. } => self.on_open(now, rx, nonce, flows, keyed),
            Message::Join { session, .. } => self.on_join(now, rx, packet.flow, nonce, session),
            _ => {}
        }
    }

    fn on_open(&mut self, now: Time, rx: Received<'_>, nonce: u64, flows: u8, keyed: bool) {
        match self.admit(now, rx, nonce, flows, keyed) {
            Err(Some((reason, detail))) => return self.refuse(rx.from, 0, nonce, reason, detail),
            // The client asks again.
            Err(None) => return,
            Ok(()) => {}
        }
        let of_nonce = |s: &&Session| s.nonce == nonce && s.main_address() == Some(rx.from);
        if let Some(session) = self.sessions.iter().find(of_nonce) {
            let limits = self.config.limits;
            let accept = Message::Accept { nonce, session: session.id, limits };
            session.say(0, &accept, &mut self.outbox);
        }
    }

    /// Makes the session of an OPEN unless the session exists. `None`: not known yet.
    fn admit(
        &mut self,
        now: Time,
        rx: Received<'_>,
        nonce: u64,
        flows: u8,
        keyed: bool,
    ) -> Result<(), Option<(Reason, u64)>> {
        match (keyed, self.config.key.is_some()) {
            (false, true) => return Err(Some((Reason::KeyMissing, 0))),
            (true, false) => return Err(Some((Reason::KeyUnused, 0))),
            _ => {}
        }
        if !self.opening_key.verify(Role::Client, rx.payload) {
            return Err(Some((Reason::KeyWrong, 0)));
        }
        if flows == 0 || flows > MAX_FLOWS {
            return Err(Some((Reason::TooManyFlows, u64::from(MAX_FLOWS))));
        }
        let same_client = |s: &Session| s.nonce == nonce && s.main_address() == Some(rx.from);
        if self.sessions.iter().any(same_client) {
            return Ok(());
        }
        self.find_room(now, owner(rx.from))?;
        self.stats.sessions_opened += 1;
        let id = unguessable(&self.config.secret, "session", self.stats.sessions_opened);
        let key = TagKey::session(self.config.key.as_deref(), nonce, id);
        self.sessions.push(Session::new(id, nonce, key, rx.from, flows, now));
        Ok(())
    }

    /// Whether there is room for a further session of an owner; a session whose client is dead makes room. While
    /// clients are being asked the answer is not known (`None`), and the newcomer's next OPEN asks again.
    fn find_room(&mut self, now: Time, newcomer: IpAddr) -> Result<(), Option<(Reason, u64)>> {
        let limits = self.config.limits;
        let of_owner = |s: &Session| s.main_address().map(owner) == Some(newcomer);
        let count = self.sessions.iter().filter(|s| of_owner(s)).count();
        let full = count >= limits.max_sessions_per_address as usize;
        let refusal = if full {
            (Reason::AddressFull, u64::from(limits.max_sessions_per_address))
        } else if self.sessions.len() >= limits.max_sessions as usize {
            (Reason::ServerFull, u64::from(limits.max_sessions))
        } else {
            return Ok(());
        };
        let mut unknown = false;
        for i in 0..self.sessions.len() {
            if full && !of_owner(&self.sessions[i]) {
                continue;
            }
            match self.sessions[i].presence(now, &mut self.outbox) {
                Presence::Dead => {
                    self.remove(now, i);
                    return Ok(());
                }
                Presence::Unknown => unknown = true,
                Presence::Alive => {}
            }
        }
        Err(if unknown { None } else { Some(refusal) })
    }

    fn on_join(&mut self, now: Time, rx: Received<'_>, flow: u8, nonce: u64, id: u64) {
        let Some(session) = self.sessions.iter_mut().find(|s| s.id == id) else {
            return self.refuse(rx.from, flow, nonce, Reason::UnknownSession, 0);
        };
        if flow == 0 || usize::from(flow) >= session.flows.len() || !session.verify(rx.payload) {
            self.stats.ignored += 1;
            return;
        }
        session.on_received(now);
        session.join(flow, rx.from, &mut self.outbox);
    }
}
