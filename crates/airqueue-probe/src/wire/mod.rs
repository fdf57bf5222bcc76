//! The UDP wire format, version 4: docs/wire-format.md describes it byte by byte.

mod decode;
mod encode;

pub(crate) use decode::end_from_code;
pub use decode::{WireError, decode};
pub(crate) use encode::end_code;
pub use encode::{data_header, encode};

use crate::auth::TAG_LEN;
use crate::check::PlanError;
use crate::client::Direction;
use crate::limits::Limits;
use crate::plan::Segment;
use crate::records::RunEnd;
use std::net::SocketAddr;

/// First bytes of every datagram.
pub const MAGIC: [u8; 4] = *b"AQPB";
/// Version of the format.
pub const VERSION: u8 = 4;
/// Length of HELLO, OPEN, JOIN and ATTEND in bytes: nothing that goes to an unproven address because of one is longer.
pub const REQUEST_LEN: usize = 96;
/// Length of the data header in bytes, the smallest UDP payload of a measured packet.
pub const DATA_HEADER_LEN: usize = 32;
/// Most segments in one PLAN message.
pub const SEGMENTS_PER_PART: usize = 40;
/// Most log bytes in one CHUNK message.
pub const CHUNK_LEN: usize = 1100;
/// Most flows in a session.
pub const MAX_FLOWS: u8 = 16;

/// Message types.
pub(crate) mod kind {
    pub const HELLO: u8 = 1;
    pub const CHALLENGE: u8 = 2;
    pub const VERSION: u8 = 3;
    pub const REFUSED: u8 = 4;
    pub const OPEN: u8 = 5;
    pub const JOIN: u8 = 6;
    pub const ACCEPT: u8 = 7;
    pub const JOINED: u8 = 8;
    pub const PLAN: u8 = 9;
    pub const PLAN_ACK: u8 = 10;
    pub const PLAN_REFUSED: u8 = 11;
    pub const START: u8 = 12;
    pub const STARTED: u8 = 13;
    pub const KEEP_ALIVE: u8 = 14;
    pub const STOP: u8 = 15;
    pub const STOPPED: u8 = 16;
    pub const FETCH: u8 = 17;
    pub const CHUNK: u8 = 18;
    pub const CLOSE: u8 = 19;
    pub const DATA: u8 = 20;
    pub const WAIT: u8 = 21;
    pub const ATTEND: u8 = 22;
    pub const ATTENDING: u8 = 23;
}

/// Which hosts send the packets of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Way {
    /// The server sends.
    Down = 0,
    /// The client sends.
    Up = 1,
    /// The client and other stations send to the server, each the packets of its own flows.
    UpFromAll = 2,
}

impl Way {
    fn from_wire(code: u8) -> Option<Self> {
        [Way::Down, Way::Up, Way::UpFromAll].into_iter().find(|&w| w as u8 == code)
    }

    /// The direction of the packets at the server that measures.
    pub fn direction(self) -> Direction {
        match self {
            Way::Down => Direction::Down,
            Way::Up | Way::UpFromAll => Direction::Up,
        }
    }
}

/// Why a server refuses a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    /// The proof of the address is too old or missing.
    CookieExpired = 1,
    /// The server wants a key, the client gave none.
    KeyMissing = 2,
    /// The client's key is not the server's.
    KeyWrong = 3,
    /// The client gave a key, the server has none.
    KeyUnused = 4,
    /// No room for a further session; the detail is the limit.
    ServerFull = 5,
    /// No room for a further session from this address; the detail is the limit.
    AddressFull = 6,
    /// The server does not know this session (any more).
    UnknownSession = 7,
    /// More flows than a session may have; the detail is the limit.
    TooManyFlows = 8,
    /// The server takes no part in sessions with that other server.
    NotAttending = 9,
}

impl Reason {
    fn from_wire(code: u8) -> Option<Self> {
        use Reason::*;
        let all = [
            CookieExpired,
            KeyMissing,
            KeyWrong,
            KeyUnused,
            ServerFull,
            AddressFull,
            UnknownSession,
            TooManyFlows,
            NotAttending,
        ];
        all.into_iter().find(|&r| r as u8 == code)
    }
}

/// The summary of a server's half of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The end of this half.
    pub end: RunEnd,
    /// Sender: packets attempted. Receiver: 0.
    pub attempted: u32,
    /// Length of the log in bytes.
    pub log_len: u32,
    /// Packets that the socket refused to send.
    pub send_blocked: u64,
    /// Datagrams that the receive buffer had no room for.
    pub receive_overflow: u64,
    /// Second and later copies.
    pub duplicates: u64,
    /// Wall-clock steps seen.
    pub clock_steps: u32,
    /// Whether receive times are the kernel's.
    pub kernel_receive_timestamps: bool,
    /// Whether the server carried packets of other sessions during the run.
    pub shared: bool,
}

/// A flow of a session with another server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignFlow {
    /// The other server's address.
    pub server: SocketAddr,
    /// The session with it.
    pub session: u64,
    /// The nonce that opened that session; with the id and the shared key it makes the session's key.
    pub nonce: u64,
    /// The flow.
    pub flow: u8,
}

/// A remote receiver's report during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Glimpse {
    /// Packets received so far.
    pub received: u32,
    /// Packets that later ones overtook.
    pub lost: u32,
    /// Recent delay above the least seen, in microseconds; `u32::MAX` when not known.
    pub delay_us: u32,
}

/// The head of a measured packet; zeros follow up to the planned size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataHeader {
    /// Session.
    pub session: u64,
    /// Run within the session.
    pub run: u32,
    /// Sequence number within the plan.
    pub seq: u32,
    /// Send time, nanoseconds since the sender's start of the run.
    pub sent_ns: i64,
}

/// The content of a datagram without the header, the flow number and the tag.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the fields are those of docs/wire-format.md
pub enum Message<'a> {
    /// Client: let me prove my address.
    Hello { nonce: u64 },
    /// Server: send this cookie back.
    Challenge { nonce: u64, stamp: u32, cookie: [u8; TAG_LEN] },
    /// Server: I use another version.
    Version { nonce: u64, version: u8 },
    /// Server: no. `echo` is the nonce or the session of the request.
    Refused { echo: u64, reason: Reason, detail: u64 },
    /// Client: a new session, please. Tagged with the opening key.
    Open { nonce: u64, stamp: u32, cookie: [u8; TAG_LEN], flows: u8, keyed: bool },
    /// Client: this address is a further flow of the session.
    Join { nonce: u64, stamp: u32, cookie: [u8; TAG_LEN], session: u64 },
    /// Server: the session is open.
    Accept { nonce: u64, session: u64, limits: Limits },
    /// Server: the flow has joined.
    Joined { session: u64 },
    /// Client: part of the plan of a run.
    Plan { session: u64, run: u32, part: u16, parts: u16, way: Way, segments: Vec<Segment> },
    /// Server: got that part.
    PlanAck { session: u64, run: u32, part: u16 },
    /// Server: not this plan.
    PlanRefused { session: u64, run: u32, error: PlanError },
    /// Client: begin this many milliseconds after receipt.
    Start { session: u64, run: u32, delay_ms: u32 },
    /// Server: will begin.
    Started { session: u64, run: u32 },
    /// Server: `ahead` other runs come first, in about this time; 0 ahead: ask now.
    Wait { session: u64, run: u32, left_ms: u32, ahead: u16 },
    /// Receiver of a run (or idle client): keepalive. `counter` never repeats in a session.
    KeepAlive { session: u64, run: u32, counter: u32, glimpse: Glimpse },
    /// Client: the run is over; `attempted` packets of an upward run were sent.
    Stop { session: u64, run: u32, attempted: u32 },
    /// Server: my half; `ready` once its log can be fetched.
    Stopped { session: u64, run: u32, ready: bool, summary: Summary },
    /// Client: chunk `first + i` for every bit `i` of `wanted`; none: all have arrived.
    Fetch { session: u64, run: u32, first: u32, wanted: u64 },
    /// Server: a chunk of the log.
    Chunk { session: u64, run: u32, index: u32, bytes: &'a [u8] },
    /// Client: join this flow of my session with another server; its packets are those of the runs here.
    Attend { session: u64, of: ForeignFlow },
    /// Server: has joined it.
    Attending { session: u64 },
    /// Client: goodbye.
    Close { session: u64 },
    /// A measured packet.
    Data(DataHeader),
}

/// A decoded datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Flow.
    pub flow: u8,
    /// The message.
    pub message: Message<'a>,
}
