//! The client: opens a session with a server, carries out runs, collects their records.

use crate::endpoint::{Endpoint, Received, SendOutcome, Ticket, Transmit};
use crate::error::ClientError;
use crate::limits::Limits;
use crate::plan::Plan;
use crate::records::Run;
use airqueue_core::{Span, Time};
use std::net::SocketAddr;

/// Who sends the packets of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The server sends to the client.
    Down,
    /// The client sends to the server.
    Up,
}

/// What a client needs to know.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// The server's address.
    pub server: SocketAddr,
    /// Shared key, if the server wants one.
    pub key: Option<Vec<u8>>,
    /// Number of flows, each on its own socket: flow `i` uses socket `i`. 1 to 16.
    pub flows: u8,
    /// Fresh random bytes: nonces and session secrets come from them.
    pub entropy: [u8; 32],
}

/// Where a client stands.
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

/// A glimpse of a run under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Time since the run began.
    pub elapsed: Span,
    /// Planned length of the run.
    pub planned: Span,
    /// Packets received; 0 while the receiver is remote.
    pub received: u64,
    /// Packets that later ones overtook; 0 while the receiver is remote.
    pub lost: u64,
    /// Recent one-way delay above the least seen in this run; `None` until known.
    pub delay: Option<Span>,
}

/// The client's state machine.
#[derive(Debug)]
pub struct Client {
    state: ClientState,
}

impl Client {
    /// Begins to connect at `now`.
    pub fn new(_config: ClientConfig, _now: Time) -> Client {
        Client { state: ClientState::Connecting }
    }

    /// Where the client stands.
    pub fn state(&self) -> &ClientState {
        &self.state
    }

    /// The server's limits, once announced.
    pub fn limits(&self) -> Option<&Limits> {
        None
    }

    /// Begins a run; the client must be ready.
    pub fn start(
        &mut self,
        _now: Time,
        _plan: &Plan,
        _direction: Direction,
    ) -> Result<(), ClientError> {
        Ok(())
    }

    /// Stops the run at both ends, then collects what there is.
    pub fn cancel(&mut self, _now: Time) {}

    /// How the run under way is doing.
    pub fn progress(&self, _now: Time) -> Progress {
        Progress { elapsed: Span::ZERO, planned: Span::ZERO, received: 0, lost: 0, delay: None }
    }

    /// The finished run, once, when collecting is done.
    pub fn take_run(&mut self) -> Option<Run> {
        None
    }

    /// Leaves the session.
    pub fn close(&mut self, _now: Time) {
        self.state = ClientState::Closed;
    }
}

impl Endpoint for Client {
    fn on_datagram(&mut self, _now: Time, _rx: Received<'_>) {}
    fn poll_transmit(&mut self, _now: Time, _buf: &mut Vec<u8>) -> Option<Transmit> {
        None
    }
    fn next_deadline(&self) -> Option<Time> {
        None
    }
    fn on_send_outcome(&mut self, _ticket: Ticket, _outcome: SendOutcome) {}
    fn on_receive_overflow(&mut self, _count: u64) {}
    fn on_clock_step(&mut self) {}
}
