//! TCP connections that load a path during a run: the request that begins each of them, and who may have one.
//!
//! The load belongs to a run over UDP, whose session has proven its addresses and holds the server's turn. Whoever
//! drives the sockets gets a [`LoadTurn`] from the server and a [`LoadGrant`] from the client.

use crate::auth::{Role, TagKey};
use crate::bytes::{Reader, Truncated};
use crate::client::Direction;
use airqueue_core::Time;
use std::net::IpAddr;
use thiserror::Error;

/// First bytes of every connection. The magic of datagrams differs, so that no tag of theirs fits here.
pub const MAGIC: [u8; 4] = *b"AQLD";
/// Version of the request.
pub const VERSION: u8 = 1;
/// Length of a request in bytes.
pub const REQUEST_LEN: usize = 36;
/// Most connections in one run, over all its time.
pub const MAX_CONNECTIONS: u8 = 32;
/// The server's answer to a request that it admits; then the load begins.
pub const ADMITTED: u8 = 0;

/// The request that begins a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadRequest {
    /// Who sends: down the server, up the client.
    pub direction: Direction,
    /// Number of the connection within the run.
    pub index: u8,
    /// Session.
    pub session: u64,
    /// Run within the session.
    pub run: u32,
}

impl LoadRequest {
    /// Decodes a request. The tag is cut off, not verified. `None` if this is no request of this version.
    pub fn decode(bytes: &[u8; REQUEST_LEN]) -> Option<LoadRequest> {
        Self::read(Reader::new(bytes)).ok().flatten()
    }

    fn read(mut r: Reader<'_>) -> Result<Option<LoadRequest>, Truncated> {
        if r.array::<4>()? != MAGIC {
            return Ok(None);
        }
        let [version, direction, index, reserved] = r.array::<4>()?;
        let direction = match direction {
            0 => Direction::Down,
            1 => Direction::Up,
            _ => return Ok(None),
        };
        let (session, run) = (r.u64()?, r.u32()?);
        let known = version == VERSION && reserved == 0;
        Ok(known.then_some(LoadRequest { direction, index, session, run }))
    }

    /// The request with its tag.
    pub fn seal(&self, key: &TagKey) -> Vec<u8> {
        let mut out = Vec::with_capacity(REQUEST_LEN);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[VERSION, u8::from(self.direction == Direction::Up), self.index, 0]);
        out.extend_from_slice(&self.session.to_be_bytes());
        out.extend_from_slice(&self.run.to_be_bytes());
        key.seal(Role::Client, &mut out);
        out
    }
}

/// Why a server refuses a connection of a client that it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[repr(u8)]
pub enum LoadRefusal {
    /// Not the run whose turn it is.
    #[error("that run is not in progress")]
    OtherRun = 1,
    /// The index was used in this run, perhaps by a replay.
    #[error("a connection of this number was there before")]
    Repeated = 2,
    /// The index is too high.
    #[error("a run may have at most {MAX_CONNECTIONS} connections")]
    TooMany = 3,
    /// The run's own packets have all of the permitted rate.
    #[error("the run's packets need all of the rate that the server permits")]
    NoRate = 4,
    /// Segments are so small that headers would be most of the traffic.
    #[error("the path's segments are too small")]
    SmallSegments = 5,
}

impl LoadRefusal {
    /// The refusal with this number on the wire.
    pub fn from_wire(code: u8) -> Option<Self> {
        use LoadRefusal::*;
        let all = [OtherRun, Repeated, TooMany, NoRate, SmallSegments];
        all.into_iter().find(|&r| r as u8 == code)
    }
}

/// Why a connection gets nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadFault {
    /// Not from the client whose turn it is, as far as one can tell: the connection is reset without an answer.
    Stranger,
    /// From this client, and refused: it is told why.
    Refused(LoadRefusal),
}

/// A run in progress on the server, as those who admit its connections see it.
#[derive(Clone, Debug)]
pub struct LoadTurn {
    /// Session.
    pub(crate) session: u64,
    /// Run within the session.
    pub(crate) run: u32,
    /// The key of the session.
    pub(crate) key: TagKey,
    /// The addresses that the session has proven, canonical.
    pub(crate) addresses: Vec<IpAddr>,
    /// Bits per second that the run's packets leave, downwards and upwards.
    pub(crate) bits_per_s: [u64; 2],
    /// The load ends at the latest then.
    pub(crate) until: Time,
    /// The indices that were used: a replayed request finds its own taken.
    pub(crate) used: u64,
}

impl LoadTurn {
    /// Session and run.
    pub fn id(&self) -> (u64, u32) {
        (self.session, self.run)
    }

    /// Bits per second that all connections of a direction may have together, headers included.
    pub fn bits_per_s(&self, direction: Direction) -> u64 {
        self.bits_per_s[usize::from(direction == Direction::Up)]
    }

    /// When the load ends, if the run has not ended before.
    pub fn until(&self) -> Time {
        self.until
    }

    /// Whether a peer has an address of the run's session: TCP's handshake has proven that the peer receives there.
    pub fn is_peer(&self, peer: IpAddr) -> bool {
        self.addresses.contains(&peer.to_canonical())
    }

    /// Admits the connection of a request, or not.
    pub fn admit(
        &mut self,
        now: Time,
        peer: IpAddr,
        bytes: &[u8; REQUEST_LEN],
    ) -> Result<LoadRequest, LoadFault> {
        let request = LoadRequest::decode(bytes).ok_or(LoadFault::Stranger)?;
        let known = self.is_peer(peer) && request.session == self.session;
        if !known || !self.key.verify(Role::Client, bytes) {
            return Err(LoadFault::Stranger);
        }
        self.judge(now, &request).map_err(LoadFault::Refused)?;
        self.used |= 1 << request.index;
        Ok(request)
    }

    fn judge(&self, now: Time, request: &LoadRequest) -> Result<(), LoadRefusal> {
        if request.run != self.run || now >= self.until {
            return Err(LoadRefusal::OtherRun);
        }
        if request.index >= MAX_CONNECTIONS {
            return Err(LoadRefusal::TooMany);
        }
        if self.used & (1 << request.index) != 0 {
            return Err(LoadRefusal::Repeated);
        }
        if self.bits_per_s(request.direction) == 0 {
            return Err(LoadRefusal::NoRate);
        }
        Ok(())
    }
}

/// What a client needs for the connections of its run.
#[derive(Clone, Debug)]
pub struct LoadGrant {
    pub(crate) session: u64,
    pub(crate) run: u32,
    pub(crate) key: TagKey,
    pub(crate) ends: Time,
}

impl LoadGrant {
    /// Run within the session.
    pub fn run(&self) -> u32 {
        self.run
    }

    /// The planned end of the run, on the client's clock.
    pub fn ends(&self) -> Time {
        self.ends
    }

    /// The first bytes of a connection.
    pub fn request(&self, direction: Direction, index: u8) -> Vec<u8> {
        let (session, run) = (self.session, self.run);
        LoadRequest { direction, index, session, run }.seal(&self.key)
    }
}
