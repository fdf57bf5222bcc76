//! Proving every flow's address and opening the session.

use super::{Client, ClientState, IDLE_EVERY, OpenSession};
use crate::auth::{Role, TAG_LEN, TagKey};
use crate::endpoint::Received;
use crate::error::ClientError;
use crate::retry::Retry;
use crate::wire::{Message, Reason, VERSION, encode};
use airqueue_core::{Span, Time};

/// Time without a reply after which a flow is given up.
const CONNECT: Span = Span::from_secs(5);

/// The step of a flow in the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Asking for a challenge.
    Greeting,
    /// Has the proof of its address.
    Proven { stamp: u32, cookie: [u8; TAG_LEN] },
    /// Part of the session.
    Joined,
}

/// One flow while connecting.
#[derive(Debug)]
pub(super) struct FlowHandshake {
    nonce: u64,
    step: Step,
    retry: Retry,
    /// When the server last advanced this flow.
    since: Time,
}

impl FlowHandshake {
    pub fn new(nonce: u64, now: Time) -> Self {
        FlowHandshake { nonce, step: Step::Greeting, retry: Retry::new(now), since: now }
    }

    /// What the flow's requests are told by.
    pub fn nonce(&self) -> u64 {
        self.nonce
    }
}

impl Client {
    /// Whether a flow waits for the session, which flow 0 opens.
    fn waits_for_session(&self, flow: usize) -> bool {
        flow > 0
            && self.session.is_none()
            && matches!(self.handshakes[flow].step, Step::Proven { .. })
    }

    fn is_pending(&self, flow: usize) -> bool {
        self.handshakes[flow].step != Step::Joined && !self.waits_for_session(flow)
    }

    pub(super) fn connecting_deadline(&self) -> Option<Time> {
        let pending = (0..self.handshakes.len()).filter(|&f| self.is_pending(f));
        pending
            .map(|f| self.handshakes[f].retry.next().min(self.handshakes[f].since + CONNECT))
            .min()
    }

    pub(super) fn advance_connecting(&mut self, now: Time) {
        for flow in 0..self.handshakes.len() {
            if !self.is_pending(flow) {
                continue;
            }
            if now >= self.handshakes[flow].since + CONNECT {
                let error = match flow {
                    0 => ClientError::Silent { server: self.config.server },
                    _ => ClientError::FlowUnreachable { flow: flow as u8 },
                };
                return self.fail(error);
            }
            if self.handshakes[flow].retry.due(now) {
                self.ask(flow);
            }
        }
    }

    /// Sends the request of the flow's step.
    fn ask(&mut self, flow: usize) {
        let FlowHandshake { nonce, step, .. } = self.handshakes[flow];
        let shared = self.config.key.as_deref();
        let (message, key) = match (step, &self.session) {
            (Step::Greeting, _) => (Message::Hello { nonce }, None),
            (Step::Proven { stamp, cookie }, None) => {
                let (flows, keyed) = (self.config.flows, shared.is_some());
                let open = Message::Open { nonce, stamp, cookie, flows, keyed };
                (open, Some(TagKey::opening(shared)))
            }
            (Step::Proven { stamp, cookie }, Some(open)) => {
                let join = Message::Join { nonce, stamp, cookie, session: open.id };
                (join, Some(open.key.clone()))
            }
            (Step::Joined, _) => return,
        };
        let mut bytes = Vec::new();
        encode(flow as u8, &message, &mut bytes);
        if let Some(key) = key {
            key.seal(Role::Client, &mut bytes);
        }
        self.outbox.push_back((flow, bytes));
    }

    /// Handles a message of the handshake; nobody off the path knows the nonces.
    pub(super) fn on_handshake(&mut self, now: Time, rx: Received<'_>, message: Message<'_>) {
        let Some(link) = self.handshakes.get_mut(rx.socket) else { return };
        let connecting = self.state == ClientState::Connecting;
        match message {
            Message::Challenge { nonce, stamp, cookie }
                if nonce == link.nonce && connecting && link.step == Step::Greeting =>
            {
                (link.step, link.retry) = (Step::Proven { stamp, cookie }, Retry::new(now));
                link.since = now;
            }
            Message::Accept { nonce, session, limits }
                if nonce == link.nonce && connecting && self.session.is_none() =>
            {
                let key = TagKey::session(self.config.key.as_deref(), nonce, session);
                if rx.socket == 0 && key.verify(Role::Server, rx.payload) {
                    self.session = Some(OpenSession { id: session, key, limits });
                    for link in self.handshakes.iter_mut().filter(|l| l.step != Step::Greeting) {
                        (link.retry, link.since) = (Retry::new(now), now);
                    }
                    self.on_joined(now, 0);
                }
            }
            Message::Version { nonce, version }
                if nonce == link.nonce && connecting && version != VERSION =>
            {
                self.fail(ClientError::Version { theirs: version, ours: VERSION });
            }
            Message::Refused { echo, reason, detail } => {
                self.on_refused(now, rx.socket, echo, reason, detail);
            }
            _ => {}
        }
    }

    fn on_refused(&mut self, now: Time, flow: usize, echo: u64, reason: Reason, detail: u64) {
        let link = &self.handshakes[flow];
        let of_link = echo == link.nonce
            && self.state == ClientState::Connecting
            && matches!(link.step, Step::Proven { .. });
        let of_session = self.session.as_ref().is_some_and(|s| s.id == echo)
            && matches!(reason, Reason::UnknownSession | Reason::NotAttending);
        if !of_link && !of_session {
            return;
        }
        match self.refusal(reason, detail) {
            Some(error) => self.fail(error),
            // The proof is too old: ask for another.
            None => {
                let link = &mut self.handshakes[flow];
                (link.step, link.retry) = (Step::Greeting, Retry::new(now));
            }
        }
    }

    /// A flow is part of the session.
    pub(super) fn on_joined(&mut self, now: Time, flow: usize) {
        let Some(link) = self.handshakes.get_mut(flow) else { return };
        link.step = Step::Joined;
        self.last_received = now;
        let all = self.handshakes.iter().all(|l| l.step == Step::Joined);
        if all && self.state == ClientState::Connecting {
            self.state = ClientState::Ready;
            self.next_idle = now + IDLE_EVERY;
        }
    }
}
