//! Why a client gave up, in one sentence each.

use crate::check::PlanError;
use crate::wire::Reason;
use airqueue_core::Span;
use std::net::SocketAddr;
use thiserror::Error;

/// Why a client gave up or would not start a run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClientError {
    /// No reply at all.
    #[error(
        "no reply from {server}: check the address, that `airqueue server` runs there, and that \
         UDP passes in both directions"
    )]
    Silent {
        /// The server's address.
        server: SocketAddr,
    },
    /// The server speaks another version.
    #[error(
        "the server speaks version {theirs} of the protocol and this program version {ours}: \
         install the same release of airqueue on both"
    )]
    Version {
        /// The server's version.
        theirs: u8,
        /// This program's version.
        ours: u8,
    },
    /// The server wants a key.
    #[error("the server wants a key: ask whoever runs it and give it with --key-file")]
    KeyMissing,
    /// The key is not the server's.
    #[error("the key is not the server's: give both ends the same key")]
    KeyWrong,
    /// The server has no key.
    #[error("a key was given but the server runs without one: leave it out, or give it to both")]
    KeyUnused,
    /// No room for a further session.
    #[error("the server is full ({limit} sessions): try again later")]
    ServerFull {
        /// The server's limit.
        limit: u64,
    },
    /// No room for a further session from this address.
    #[error(
        "the server has {limit} sessions from this address already, which is its limit: end one"
    )]
    AddressFull {
        /// The server's limit.
        limit: u64,
    },
    /// The server no longer knows the session.
    #[error(
        "the server no longer knows this session: it was restarted, or received nothing from here \
         for half a minute; connect again"
    )]
    SessionLost,
    /// A session has at least one flow and not more than the server allows.
    #[error("a session of {asked} flows was asked for: it can have 1 to {limit}")]
    Flows {
        /// The requested number of flows.
        asked: u8,
        /// Most flows.
        limit: u64,
    },
    /// One flow cannot reach the server, or the server cannot reach the flow.
    #[error(
        "the server's reply to flow {flow} never came although flow 0 works: something on the \
         path blocks that UDP port, check firewalls and address translators"
    )]
    FlowUnreachable {
        /// The flow.
        flow: u8,
    },
    /// The server is gone.
    #[error(
        "{server} has stopped replying: the server or the path to it has failed, run again when \
         it is back"
    )]
    Vanished {
        /// The server's address.
        server: SocketAddr,
    },
    /// Other clients measure, for longer than the user wants to wait.
    #[error(
        "{runs} run{} of other clients with {server} come first, which takes about {} s, and the wait was to be \
         {} s at most: try later, or wait longer (--max-wait)",
        if *runs == 1 { "" } else { "s" }, seconds(*left), seconds(*most)
    )]
    Busy {
        /// The server's address.
        server: SocketAddr,
        /// Number of runs.
        runs: u16,
        /// The server's estimate.
        left: Span,
        /// Longest wait.
        most: Span,
    },
    /// The run's packets arrived, and the server's messages after them do not.
    #[error(
        "{received} packets of the run arrived, but no message between here and {server} got through for long after \
         it: the path has failed, or a device on it goes on to refuse packets after a flood, as a slow RED and SFB do"
    )]
    Starved {
        /// The server's address.
        server: SocketAddr,
        /// Packets of the run that arrived.
        received: u64,
    },
    /// The server takes no part in sessions with that other server.
    #[error(
        "{station} may not be measured together with others by {server}: on that station start the server with \
         --attend {}", server.ip()
    )]
    NotAttending {
        /// The station's server.
        station: SocketAddr,
        /// The server that would flood it.
        server: SocketAddr,
    },
    /// The server did not manage to join the session with the other one.
    #[error(
        "{station} could not join the session with {server}: check that the station reaches that address and UDP port, \
         that all ends have the same key or none, and the same release of airqueue"
    )]
    NotJoined {
        /// The station's server.
        station: SocketAddr,
        /// The other server.
        server: SocketAddr,
    },
    /// The plan is over a limit.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The client is not ready to start a run.
    #[error("a run can only start in an open session with no other run in progress")]
    NotReady,
    /// The server's records are not valid.
    #[error("the server's records of the run are damaged: check that both ends run one release")]
    BadLog,
}

/// Whole seconds, rounded up.
fn seconds(span: Span) -> i64 {
    span.as_nanos().max(0).div_euclid(1_000_000_000)
        + i64::from(span.as_nanos() % 1_000_000_000 > 0)
}

impl ClientError {
    /// The error behind a refusal; `None` for a refusal after which the client retries.
    pub(crate) fn from_refusal(reason: Reason, detail: u64, flows: u8) -> Option<Self> {
        Some(match reason {
            Reason::CookieExpired => return None,
            Reason::KeyMissing => ClientError::KeyMissing,
            Reason::KeyWrong => ClientError::KeyWrong,
            Reason::KeyUnused => ClientError::KeyUnused,
            Reason::ServerFull => ClientError::ServerFull { limit: detail },
            Reason::AddressFull => ClientError::AddressFull { limit: detail },
            // Of one that attends the client knows to which server, and says so.
            Reason::UnknownSession | Reason::NotAttending => ClientError::SessionLost,
            Reason::TooManyFlows => ClientError::Flows { asked: flows, limit: detail },
        })
    }
}
