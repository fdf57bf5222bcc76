//! Several stations in one session: this client's flows, and flows that servers on other stations join for it.
//!
//! The client of the session with the measuring server says who it is ([`Client::identity`]). A second client, of a session with
//! the server on another station, has that server join a flow ([`Client::attend`]), and then has it record the packets of each run
//! that come to the station ([`Client::watch`]), or send those that are the station's ([`Client::upload`]).

use super::run::{ClientPhase, ClientRun, Half};
use super::{Client, ClientState};
use crate::check::{check, min_size};
use crate::error::ClientError;
use crate::plan::Plan;
use crate::retry::Retry;
use crate::wire::{ForeignFlow, MAX_FLOWS, Message, Reason, Way};
use airqueue_core::{Span, Time};

/// Time in which a server joins the session with another one, or never does.
const JOINING: Span = Span::from_secs(5);
/// How long before the other server begins a run it is recorded at the latest: the other server may have to agree on the plan with
/// its client over a path that loses packets.
const AHEAD: Span = Span::from_secs(8);
/// How long after the planned end, at the latest, a recorded run ends here.
const LONGEST_DRAIN: Span = Span::from_secs(90);

/// Who a client is to other stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The session.
    pub session: u64,
    /// The nonce that opened it.
    pub nonce: u64,
    /// The number that the next run will have.
    pub next_run: u32,
}

/// A part in a session with another server, which the server is to take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attending {
    of: ForeignFlow,
    retry: Retry,
    until: Time,
    joined: bool,
}

impl Attending {
    /// The flow of the other session that is the server's.
    pub(super) fn flow(&self) -> u8 {
        self.of.flow
    }
}

impl ClientRun {
    /// Delay that START asks for.
    pub(super) fn start_delay(&self) -> Span {
        match self.half {
            Half::Watching(_) => AHEAD,
            _ => super::run::START_DELAY,
        }
    }

    /// When a run that is recorded ends here by itself; `None` for other runs, and before it is in progress.
    pub(super) fn watched_until(&self) -> Option<Time> {
        match self.half {
            Half::Watching(since) => since.map(|at| at + AHEAD + self.plan.end() + LONGEST_DRAIN),
            _ => None,
        }
    }
}

impl Client {
    /// Who this client is, once it has a session. Each call gives the next run another number: servers on other stations take
    /// a number once, also for a run that then does not begin.
    pub fn identity(&mut self) -> Option<Identity> {
        let (session, link) = (self.session.as_ref()?, self.handshakes.first()?);
        let (session, nonce) = (session.id, link.nonce());
        self.next_run = self.next_run.max(self.last_run).saturating_add(1);
        Some(Identity { session, nonce, next_run: self.next_run })
    }

    /// Has the server join a flow of a session with another server; the client must be ready. [`Self::attends`] tells when it has
    /// joined.
    pub fn attend(&mut self, now: Time, of: ForeignFlow) -> Result<(), ClientError> {
        self.now = now;
        if let ClientState::Failed(error) = &self.state {
            return Err(error.clone());
        }
        if self.state != ClientState::Ready {
            return Err(ClientError::NotReady);
        }
        let (retry, until) = (Retry::new(now), now + JOINING);
        self.attending = Some(Attending { of, retry, until, joined: false });
        Ok(())
    }

    /// Whether the server has joined the flow of [`Self::attend`].
    pub fn attends(&self) -> bool {
        self.attending.is_some_and(|a| a.joined)
    }

    /// Has the server record the packets of a run of the other server, with this number there, until [`Self::conclude`]. The other
    /// server must begin within eight seconds of the time at which the run is in progress here.
    pub fn watch(&mut self, now: Time, plan: &Plan, number: u32) -> Result<(), ClientError> {
        self.take_part(now, plan, number, Way::Up)
    }

    /// Has the server send the packets of its flow in a run of the other server, with this number there, until [`Self::conclude`]. The
    /// server begins when it hears from the other one that this run is in progress, which must be within eight seconds of the time
    /// at which the run is in progress here.
    pub fn upload(&mut self, now: Time, plan: &Plan, number: u32) -> Result<(), ClientError> {
        self.take_part(now, plan, number, Way::UpFromAll)
    }

    fn take_part(
        &mut self,
        now: Time,
        plan: &Plan,
        number: u32,
        way: Way,
    ) -> Result<(), ClientError> {
        self.now = now;
        if let ClientState::Failed(error) = &self.state {
            return Err(error.clone());
        }
        let ready = self.state == ClientState::Ready && self.attends() && number > self.last_run;
        let Some(session) = self.session.as_ref().filter(|_| ready) else {
            return Err(ClientError::NotReady);
        };
        check(plan, &session.limits, MAX_FLOWS, min_size(self.config.server))?;
        self.begin(ClientRun::new(number, way, plan, Half::Watching(None), now));
        Ok(())
    }

    /// Whether the server takes its part in a run of the other server now.
    pub fn is_watching(&self) -> bool {
        self.run.as_ref().is_some_and(|r| matches!(r.half, Half::Watching(Some(_))))
    }

    /// The other server's run is over: fetches the server's records. Without a part in a run nothing happens.
    pub fn conclude(&mut self, now: Time) {
        self.now = now;
        let Some(run) = &mut self.run else { return };
        if !matches!((&run.half, &run.phase), (Half::Watching(_), ClientPhase::Active)) {
            return;
        }
        run.enter(now, ClientPhase::Stopping);
        self.state = ClientState::Collecting;
    }

    pub(super) fn attending_deadline(&self) -> Time {
        let waiting = self.attending.filter(|a| !a.joined);
        waiting.map_or(Time::MAX, |a| a.retry.next().min(a.until))
    }

    pub(super) fn advance_attending(&mut self, now: Time) {
        let Some(attending) = self.attending.as_mut().filter(|a| !a.joined) else { return };
        let of = attending.of;
        if now >= attending.until {
            let (station, server) = (self.config.server, of.server);
            return self.fail(ClientError::NotJoined { station, server });
        }
        if attending.retry.due(now)
            && let Some(session) = self.session.as_ref().map(|s| s.id)
        {
            self.say(0, &Message::Attend { session, of });
        }
    }

    pub(super) fn on_attending(&mut self) {
        if let Some(attending) = &mut self.attending {
            attending.joined = true;
        }
    }

    /// Why the server refused something of the session.
    pub(super) fn refusal(&self, reason: Reason, detail: u64) -> Option<ClientError> {
        match (reason, self.attending) {
            (Reason::NotAttending, Some(attending)) => Some(ClientError::NotAttending {
                station: self.config.server,
                server: attending.of.server,
            }),
            _ => ClientError::from_refusal(reason, detail, self.config.flows),
        }
    }
}
