//! What a client's thread shows to its handle.

use super::RunState;
use crate::driver::DriverStats;
use crate::error::{HostError, words};
use airqueue_core::Span;
use airqueue_probe::client::{ClientState, Progress, RunTimes};
use airqueue_probe::limits::Limits;
use airqueue_probe::load::MAX_CONNECTIONS;
use airqueue_probe::records::Run;
use nix::libc;
use std::io;
use std::net::SocketAddr;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The thread's state, as the handle sees it.
#[derive(Debug)]
pub(super) struct View {
    pub(super) state: ClientState,
    pub(super) progress: Progress,
    pub(super) times: Option<RunTimes>,
    pub(super) run: Option<Run>,
    pub(super) transport: DriverStats,
    pub(super) limits: Option<Limits>,
    /// Whether the server has joined the session with another server that it was to join.
    pub(super) attends: bool,
    /// Why the thread ended, if it has ended.
    pub(super) ended: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(super) view: Mutex<View>,
    pub(super) changed: Condvar,
    /// Connections of loads that a run has had.
    pub(super) loads: Mutex<(u32, u8)>,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes numbers for `count` more connections of a run's load; the first of them, `None` if the run has none left.
    pub(crate) fn reserve(&self, run: u32, count: u8) -> Option<u8> {
        let mut loads = self.loads.lock().unwrap_or_else(PoisonError::into_inner);
        if loads.0 != run {
            *loads = (run, 0);
        }
        let first = loads.1;
        loads.1 = first.checked_add(count).filter(|&end| end <= MAX_CONNECTIONS)?;
        Some(first)
    }

    /// Whether a run is in progress.
    pub(crate) fn is_active(&self, run: u32) -> bool {
        let view = self.lock();
        view.ended.is_none() && view.times.is_some_and(|t| t.active && t.number == run)
    }
}

impl View {
    pub(super) fn new() -> View {
        let nothing = Span::ZERO;
        View {
            state: ClientState::Connecting,
            progress: Progress {
                elapsed: nothing,
                planned: nothing,
                received: 0,
                lost: 0,
                delay: None,
                waiting: None,
            },
            times: None,
            run: None,
            transport: DriverStats::default(),
            limits: None,
            attends: false,
            ended: None,
        }
    }

    pub(super) fn run_state(&self) -> RunState {
        if self.run.is_some() {
            return RunState::Done;
        }
        if let Some(reason) = &self.ended {
            return RunState::Failed(reason.clone());
        }
        match &self.state {
            ClientState::Failed(error) => RunState::Failed(error.to_string()),
            ClientState::Closed => RunState::Failed(HostError::Closed.to_string()),
            ClientState::Collecting => RunState::Collecting,
            _ => RunState::Running,
        }
    }

    /// The error about the server from ICMP or the local routing table, if any.
    pub(super) fn unreachable(&self, server: SocketAddr) -> Option<HostError> {
        let unreachable = self.transport.unreachable.filter(|(address, _)| *address == server);
        let errno = unreachable.map(|(_, errno)| errno).or(self.transport.send_error)?;
        if errno == libc::ECONNREFUSED {
            return Some(HostError::Refused { server });
        }
        let reason = words(&io::Error::from_raw_os_error(errno));
        Some(HostError::Unreachable { server, reason })
    }
}
