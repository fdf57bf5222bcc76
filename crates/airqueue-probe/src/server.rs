//! The server: proves addresses, keeps sessions, carries out its half of the runs.

use crate::endpoint::{Endpoint, Received, SendOutcome, Ticket, Transmit};
use crate::limits::Limits;
use airqueue_core::Time;

/// What a server needs to know.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Shared key that clients must prove to know; `None`: anyone may measure.
    pub key: Option<Vec<u8>>,
    /// What the server agrees to do.
    pub limits: Limits,
    /// Fresh random bytes: cookies and session ids come from them.
    pub secret: [u8; 32],
}

/// Counters since the server began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerStats {
    /// Sessions open now.
    pub sessions: u32,
    /// Sessions opened in all.
    pub sessions_opened: u64,
    /// Requests refused with a reason.
    pub refused: u64,
    /// Datagrams that were not understood or belonged to nobody.
    pub ignored: u64,
    /// Runs begun.
    pub runs: u64,
}

/// The server's state machine; it has one socket, index 0.
#[derive(Debug)]
pub struct Server {
    stats: ServerStats,
}

impl Server {
    /// A server without sessions.
    pub fn new(_config: ServerConfig) -> Server {
        Server { stats: ServerStats::default() }
    }

    /// Counters.
    pub fn stats(&self) -> ServerStats {
        self.stats
    }
}

impl Endpoint for Server {
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
