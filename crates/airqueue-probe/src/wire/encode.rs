//! Writing messages.

use super::{
    DATA_HEADER_LEN, DataHeader, ForeignFlow, Glimpse, MAGIC, Message, REQUEST_LEN, Summary,
    VERSION, kind,
};
use crate::auth::{TAG_LEN, address_octets};
use crate::limits::Limits;
use crate::plan::Segment;
use crate::records::RunEnd;

/// Writes a message into `out` (cleared first); tagged messages still lack their tag.
pub fn encode(flow: u8, message: &Message<'_>, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&[VERSION, kind_of(message), flow, 0]);
    match message {
        Message::Hello { .. }
        | Message::Challenge { .. }
        | Message::Version { .. }
        | Message::Refused { .. }
        | Message::Open { .. }
        | Message::Join { .. }
        | Message::Accept { .. }
        | Message::Joined { .. } => handshake(message, out),
        _ => session(message, out),
    }
}

fn kind_of(message: &Message<'_>) -> u8 {
    match message {
        Message::Hello { .. } => kind::HELLO,
        Message::Challenge { .. } => kind::CHALLENGE,
        Message::Version { .. } => kind::VERSION,
        Message::Refused { .. } => kind::REFUSED,
        Message::Open { .. } => kind::OPEN,
        Message::Join { .. } => kind::JOIN,
        Message::Accept { .. } => kind::ACCEPT,
        Message::Joined { .. } => kind::JOINED,
        Message::Plan { .. } => kind::PLAN,
        Message::PlanAck { .. } => kind::PLAN_ACK,
        Message::PlanRefused { .. } => kind::PLAN_REFUSED,
        Message::Start { .. } => kind::START,
        Message::Started { .. } => kind::STARTED,
        Message::KeepAlive { .. } => kind::KEEP_ALIVE,
        Message::Stop { .. } => kind::STOP,
        Message::Stopped { .. } => kind::STOPPED,
        Message::Fetch { .. } => kind::FETCH,
        Message::Chunk { .. } => kind::CHUNK,
        Message::Close { .. } => kind::CLOSE,
        Message::Data(_) => kind::DATA,
        Message::Wait { .. } => kind::WAIT,
        Message::Attend { .. } => kind::ATTEND,
        Message::Attending { .. } => kind::ATTENDING,
    }
}

fn u16(out: &mut Vec<u8>, v: u16) {
    out.extend_from_slice(&v.to_be_bytes());
}

fn u32(out: &mut Vec<u8>, v: u32) {
    out.extend_from_slice(&v.to_be_bytes());
}

fn u64(out: &mut Vec<u8>, v: u64) {
    out.extend_from_slice(&v.to_be_bytes());
}

fn handshake(message: &Message<'_>, out: &mut Vec<u8>) {
    match *message {
        Message::Hello { nonce } => {
            u64(out, nonce);
            out.resize(REQUEST_LEN, 0);
        }
        Message::Challenge { nonce, stamp, cookie } => {
            u64(out, nonce);
            u32(out, stamp);
            out.extend_from_slice(&cookie);
        }
        Message::Version { nonce, version } => {
            out[4] = version;
            u64(out, nonce);
        }
        Message::Refused { echo, reason, detail } => {
            u64(out, echo);
            out.push(reason as u8);
            u64(out, detail);
        }
        Message::Open { nonce, stamp, cookie, flows, keyed } => {
            u64(out, nonce);
            u32(out, stamp);
            out.extend_from_slice(&cookie);
            out.extend_from_slice(&[flows, u8::from(keyed)]);
            out.resize(REQUEST_LEN - TAG_LEN, 0);
        }
        Message::Join { nonce, stamp, cookie, session } => {
            u64(out, nonce);
            u32(out, stamp);
            out.extend_from_slice(&cookie);
            u64(out, session);
            out.resize(REQUEST_LEN - TAG_LEN, 0);
        }
        Message::Accept { nonce, session, ref limits } => {
            u64(out, nonce);
            u64(out, session);
            put_limits(out, limits);
        }
        Message::Joined { session } => u64(out, session),
        _ => {}
    }
}

fn put_limits(out: &mut Vec<u8>, limits: &Limits) {
    u64(out, limits.max_bits_per_s);
    u64(out, limits.max_packets_per_s);
    u64(out, limits.max_run.as_nanos().max(0) as u64);
    u32(out, limits.max_packets);
    u32(out, limits.max_sessions);
    u32(out, limits.max_sessions_per_address);
}

fn session(message: &Message<'_>, out: &mut Vec<u8>) {
    match *message {
        Message::Plan { session, run, part, parts, way, ref segments } => {
            u64(out, session);
            u32(out, run);
            u16(out, part);
            u16(out, parts);
            out.extend_from_slice(&[way as u8, segments.len() as u8]);
            segments.iter().for_each(|s| put_segment(out, s));
        }
        Message::PlanAck { session, run, part } => {
            u64(out, session);
            u32(out, run);
            u16(out, part);
        }
        Message::PlanRefused { session, run, error } => {
            u64(out, session);
            u32(out, run);
            out.push(error.fault as u8);
            u64(out, error.asked);
            u64(out, error.limit);
        }
        Message::Start { session, run, delay_ms: v }
        | Message::Stop { session, run, attempted: v } => {
            u64(out, session);
            u32(out, run);
            u32(out, v);
        }
        Message::Started { session, run } => {
            u64(out, session);
            u32(out, run);
        }
        Message::Wait { session, run, left_ms, ahead } => {
            u64(out, session);
            u32(out, run);
            u32(out, left_ms);
            u16(out, ahead);
        }
        Message::KeepAlive { session, run, counter, glimpse } => {
            u64(out, session);
            u32(out, run);
            u32(out, counter);
            put_glimpse(out, glimpse);
        }
        Message::Stopped { session, run, ready, ref summary } => {
            u64(out, session);
            u32(out, run);
            put_summary(out, ready, summary);
        }
        Message::Fetch { session, run, first, wanted } => {
            u64(out, session);
            u32(out, run);
            u32(out, first);
            u64(out, wanted);
        }
        Message::Chunk { session, run, index, bytes } => {
            u64(out, session);
            u32(out, run);
            u32(out, index);
            out.extend_from_slice(bytes);
        }
        Message::Attend { session, ref of } => {
            u64(out, session);
            put_foreign(out, of);
            out.resize(REQUEST_LEN - TAG_LEN, 0);
        }
        Message::Close { session } | Message::Attending { session } => u64(out, session),
        Message::Data(ref header) => out.extend_from_slice(&data_header(0, header)[8..]),
        _ => {}
    }
}

fn put_foreign(out: &mut Vec<u8>, of: &ForeignFlow) {
    out.extend_from_slice(&address_octets(of.server.ip()));
    u16(out, of.server.port());
    u64(out, of.session);
    u64(out, of.nonce);
    out.push(of.flow);
}

fn put_segment(out: &mut Vec<u8>, s: &Segment) {
    out.push(s.flow);
    u64(out, s.start.as_nanos() as u64);
    u64(out, s.duration.as_nanos() as u64);
    u32(out, s.count);
    u16(out, s.size);
    out.push(s.traffic_class);
}

fn put_glimpse(out: &mut Vec<u8>, glimpse: Glimpse) {
    u32(out, glimpse.received);
    u32(out, glimpse.lost);
    u32(out, glimpse.delay_us);
}

fn put_summary(out: &mut Vec<u8>, ready: bool, s: &Summary) {
    let kernel = u8::from(s.kernel_receive_timestamps);
    let flags = u8::from(ready) | kernel << 1 | u8::from(s.shared) << 2;
    out.extend_from_slice(&[end_code(s.end), flags]);
    u32(out, s.attempted);
    u32(out, s.log_len);
    u64(out, s.send_blocked);
    u64(out, s.receive_overflow);
    u64(out, s.duplicates);
    u32(out, s.clock_steps);
}

/// The number of a run's end in messages and captures.
pub(crate) fn end_code(end: RunEnd) -> u8 {
    match end {
        RunEnd::Complete => 0,
        RunEnd::Cancelled => 1,
        RunEnd::ReceiverSilent => 2,
        RunEnd::SenderSilent => 3,
    }
}

/// The head of a measured packet as an array: the data path appends it without further ado.
pub fn data_header(flow: u8, header: &DataHeader) -> [u8; DATA_HEADER_LEN] {
    let mut out = [0; DATA_HEADER_LEN];
    out[..4].copy_from_slice(&MAGIC);
    out[4..8].copy_from_slice(&[VERSION, kind::DATA, flow, 0]);
    out[8..16].copy_from_slice(&header.session.to_be_bytes());
    out[16..20].copy_from_slice(&header.run.to_be_bytes());
    out[20..24].copy_from_slice(&header.seq.to_be_bytes());
    out[24..].copy_from_slice(&header.sent_ns.to_be_bytes());
    out
}
