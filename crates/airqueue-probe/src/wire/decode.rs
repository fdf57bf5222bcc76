//! Reading messages: total over all bytes.

use super::{
    CHUNK_LEN, DataHeader, ForeignFlow, Glimpse, MAGIC, Message, Packet, REQUEST_LEN, Reason,
    SEGMENTS_PER_PART, Summary, VERSION, Way, kind,
};
use crate::auth::TAG_LEN;
use crate::bytes::{Reader, Truncated};
use crate::check::{PlanError, PlanFault};
use crate::limits::Limits;
use crate::plan::Segment;
use crate::records::RunEnd;
use airqueue_core::Span;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Why a datagram is not a message of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireError {
    /// Another protocol, or damaged.
    Malformed,
    /// HELLO of another version: that header and the nonce are the same in all versions.
    OtherVersion {
        /// The client's version.
        version: u8,
        /// The client's nonce.
        nonce: u64,
    },
}

impl From<Truncated> for WireError {
    fn from(_: Truncated) -> Self {
        WireError::Malformed
    }
}

type Result<T> = std::result::Result<T, WireError>;

fn ensure(ok: bool) -> Result<()> {
    if ok { Ok(()) } else { Err(WireError::Malformed) }
}

/// Decodes a datagram. Tags are cut off, not verified.
pub fn decode(datagram: &[u8]) -> Result<Packet<'_>> {
    let mut r = Reader::new(datagram);
    ensure(r.array::<4>()? == MAGIC)?;
    let [version, kind, flow, _] = r.array::<4>()?;
    if kind == kind::VERSION {
        let message = Message::Version { nonce: r.u64()?, version };
        ensure(r.rest().is_empty())?;
        return Ok(Packet { flow, message });
    }
    if version != VERSION {
        ensure(kind == kind::HELLO && datagram.len() >= REQUEST_LEN)?;
        return Err(WireError::OtherVersion { version, nonce: r.u64()? });
    }
    let message = match kind {
        kind::HELLO..=kind::JOINED => handshake(kind, datagram.len(), r)?,
        kind::PLAN..=kind::CLOSE | kind::WAIT => session(kind, untagged(r)?)?,
        kind::ATTEND => {
            // The padding prevents amplification by the server.
            ensure(datagram.len() == REQUEST_LEN)?;
            attend(untagged(r)?)?
        }
        kind::ATTENDING => {
            let mut r = untagged(r)?;
            let message = Message::Attending { session: r.u64()? };
            ensure(r.rest().is_empty())?;
            message
        }
        kind::DATA => {
            let (session, run, seq, sent_ns) = (r.u64()?, r.u32()?, r.u32()?, r.i64()?);
            Message::Data(DataHeader { session, run, seq, sent_ns })
        }
        _ => return Err(WireError::Malformed),
    };
    Ok(Packet { flow, message })
}

/// Without the tag at the end.
fn untagged(r: Reader<'_>) -> Result<Reader<'_>> {
    let (body, _) = r.rest().split_last_chunk::<TAG_LEN>().ok_or(WireError::Malformed)?;
    Ok(Reader::new(body))
}

fn handshake(kind: u8, len: usize, mut r: Reader<'_>) -> Result<Message<'static>> {
    if matches!(kind, kind::HELLO | kind::OPEN | kind::JOIN) {
        // The padding prevents amplification by the server.
        ensure(len == REQUEST_LEN)?;
        return request(kind, r);
    }
    let message = match kind {
        kind::CHALLENGE => {
            Message::Challenge { nonce: r.u64()?, stamp: r.u32()?, cookie: r.array()? }
        }
        kind::REFUSED => Message::Refused {
            echo: r.u64()?,
            reason: Reason::from_wire(r.u8()?).ok_or(WireError::Malformed)?,
            detail: r.u64()?,
        },
        kind::ACCEPT => {
            r = untagged(r)?;
            Message::Accept { nonce: r.u64()?, session: r.u64()?, limits: limits(&mut r)? }
        }
        kind::JOINED => {
            r = untagged(r)?;
            Message::Joined { session: r.u64()? }
        }
        _ => return Err(WireError::Malformed),
    };
    ensure(r.rest().is_empty())?;
    Ok(message)
}

fn request(kind: u8, mut r: Reader<'_>) -> Result<Message<'static>> {
    let nonce = r.u64()?;
    if kind == kind::HELLO {
        return Ok(Message::Hello { nonce });
    }
    let (stamp, cookie) = (r.u32()?, r.array()?);
    if kind == kind::JOIN {
        return Ok(Message::Join { nonce, stamp, cookie, session: r.u64()? });
    }
    let [flows, keyed] = r.array::<2>()?;
    ensure(keyed <= 1)?;
    Ok(Message::Open { nonce, stamp, cookie, flows, keyed: keyed == 1 })
}

fn limits(r: &mut Reader<'_>) -> Result<Limits> {
    Ok(Limits {
        max_bits_per_s: r.u64()?,
        max_packets_per_s: r.u64()?,
        max_run: span(r)?,
        max_packets: r.u32()?,
        max_sessions: r.u32()?,
        max_sessions_per_address: r.u32()?,
    })
}

/// A time within a plan, far from the ends of the range of [`Span`].
fn span(r: &mut Reader<'_>) -> Result<Span> {
    let ns = r.u64()?;
    ensure(ns <= i64::MAX as u64 / 16)?;
    Ok(Span::from_nanos(ns as i64))
}

fn session<'a>(kind: u8, mut r: Reader<'a>) -> Result<Message<'a>> {
    let session = r.u64()?;
    if kind == kind::CLOSE {
        ensure(r.rest().is_empty())?;
        return Ok(Message::Close { session });
    }
    let run = r.u32()?;
    let message = match kind {
        kind::PLAN => plan(session, run, &mut r)?,
        kind::PLAN_ACK => Message::PlanAck { session, run, part: r.u16()? },
        kind::PLAN_REFUSED => {
            let fault = PlanFault::from_wire(r.u8()?).ok_or(WireError::Malformed)?;
            let error = PlanError { fault, asked: r.u64()?, limit: r.u64()? };
            Message::PlanRefused { session, run, error }
        }
        kind::START => Message::Start { session, run, delay_ms: r.u32()? },
        kind::STARTED => Message::Started { session, run },
        kind::WAIT => Message::Wait { session, run, left_ms: r.u32()?, ahead: r.u16()? },
        kind::KEEP_ALIVE => {
            let counter = r.u32()?;
            let glimpse = Glimpse { received: r.u32()?, lost: r.u32()?, delay_us: r.u32()? };
            Message::KeepAlive { session, run, counter, glimpse }
        }
        kind::STOP => Message::Stop { session, run, attempted: r.u32()? },
        kind::STOPPED => stopped(session, run, &mut r)?,
        kind::FETCH => Message::Fetch { session, run, first: r.u32()?, wanted: r.u64()? },
        kind::CHUNK => {
            let index = r.u32()?;
            ensure(r.rest().len() <= CHUNK_LEN)?;
            Message::Chunk { session, run, index, bytes: r.take(r.rest().len())? }
        }
        _ => return Err(WireError::Malformed),
    };
    ensure(r.rest().is_empty())?;
    Ok(message)
}

fn attend(mut r: Reader<'_>) -> Result<Message<'static>> {
    let session = r.u64()?;
    let ip = IpAddr::from(Ipv6Addr::from(r.array::<16>()?)).to_canonical();
    let server = SocketAddr::new(ip, r.u16()?);
    let of = ForeignFlow { server, session: r.u64()?, nonce: r.u64()?, flow: r.u8()? };
    Ok(Message::Attend { session, of })
}

fn plan(session: u64, run: u32, r: &mut Reader<'_>) -> Result<Message<'static>> {
    let (part, parts) = (r.u16()?, r.u16()?);
    let way = Way::from_wire(r.u8()?).ok_or(WireError::Malformed)?;
    let count = usize::from(r.u8()?);
    ensure(part < parts && count <= SEGMENTS_PER_PART)?;
    let mut segments = Vec::with_capacity(count);
    for _ in 0..count {
        let flow = r.u8()?;
        let (start, duration) = (span(r)?, span(r)?);
        let (count, size, traffic_class) = (r.u32()?, r.u16()?, r.u8()?);
        segments.push(Segment { flow, start, duration, count, size, traffic_class });
    }
    Ok(Message::Plan { session, run, part, parts, way, segments })
}

fn stopped(session: u64, run: u32, r: &mut Reader<'_>) -> Result<Message<'static>> {
    let end = end_from_code(r.u8()?).ok_or(WireError::Malformed)?;
    let flags = r.u8()?;
    ensure(flags <= 7)?;
    let summary = Summary {
        end,
        attempted: r.u32()?,
        log_len: r.u32()?,
        send_blocked: r.u64()?,
        receive_overflow: r.u64()?,
        duplicates: r.u64()?,
        clock_steps: r.u32()?,
        kernel_receive_timestamps: flags & 2 != 0,
        shared: flags & 4 != 0,
    };
    Ok(Message::Stopped { session, run, ready: flags & 1 != 0, summary })
}

/// The inverse of `end_code`.
pub(crate) fn end_from_code(code: u8) -> Option<RunEnd> {
    match code {
        0 => Some(RunEnd::Complete),
        1 => Some(RunEnd::Cancelled),
        2 => Some(RunEnd::ReceiverSilent),
        3 => Some(RunEnd::SenderSilent),
        _ => None,
    }
}
