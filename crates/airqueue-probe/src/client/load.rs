//! Where a run lies on the client's clock, and the TCP load beside it.

use super::run::{ClientPhase, ClientRun, Half};
use super::{Client, ClientState};
use crate::load::LoadGrant;
use airqueue_core::{Span, Time};

/// Where the times of a run lie on the client's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunTimes {
    /// Run within the session.
    pub number: u32,
    /// Zero of the recorded times that were read on the client's clock: of `received` downwards, of `scheduled`, `sent`
    /// and `kernel_tx` upwards. `None` upwards before the run begins.
    pub epoch: Option<Time>,
    /// When the run began, as seen from the client. Upwards that is the epoch; downwards the least of arrival minus send
    /// time so far, which is later than the server's beginning by the least one-way delay. `None` before.
    pub started: Option<Time>,
    /// Whether the run is in progress here.
    pub active: bool,
}

impl ClientRun {
    pub(super) fn times(&self) -> RunTimes {
        let (epoch, started) = match &self.half {
            Half::Waiting => (None, None),
            Half::Sending(s) => (Some(s.epoch()), Some(s.epoch())),
            Half::Receiving(r) => (Some(r.zero()), r.start()),
            Half::Watching(since) => (None, *since),
        };
        let active = matches!(self.phase, ClientPhase::Active);
        RunTimes { number: self.number, epoch, started, active }
    }
}

impl Client {
    /// The times of the present run, or of the last one; `None` before the first, and in a failed session.
    pub fn times(&self) -> Option<RunTimes> {
        self.run.as_ref().map(ClientRun::times).or(self.last_times)
    }

    /// What TCP connections beside the run need; `None` unless the run is in progress.
    pub fn load_grant(&self, now: Time) -> Option<LoadGrant> {
        let run = self.run.as_ref().filter(|_| self.state == ClientState::Running)?;
        let (session, times) = (self.session.as_ref()?, run.times());
        if !times.active {
            return None;
        }
        // The server's half ends with its last packet, and the load with it. Before the first arrival: about now.
        let packets = run.plan.segments.iter().filter(|s| s.count > 0);
        let last = packets.map(|s| s.packet_at(s.count - 1)).max().unwrap_or(Span::ZERO);
        let ends = times.started.unwrap_or(now) + last;
        Some(LoadGrant { session: session.id, run: run.number, key: session.key.clone(), ends })
    }
}
