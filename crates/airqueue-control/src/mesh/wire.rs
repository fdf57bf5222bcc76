//! Messages on the wire, version 1; integers are big-endian, "var" is LEB128.
//!
//! ```text
//! version u8 | sender u32 | boot u32 | sequence u32 | digest u64 | n u8 | n statements | list u8 | list? | tag 16 bytes
//! statement: router u32 | boot var | version var | age var (s) | busy u8 (bit 7: full)
//!            heard u8 | others u8 | links u8 | flows u8
//!            neighbour: u32                  those that are heard, then the others
//!            link:      index u8 | rate var | round trip var | channel u8
//!            flow:      u32 | previous u8 | next u8 | demand var? | other delay var?
//! list:      first u32 | last u32 | n u8 | n x (router u32 | boot var | version var)
//! ```
//!
//! Routers of links and flows are indices of the statement's neighbours, 63 for none; bit 6 of `previous` says that a
//! demand follows, bit 7 that a delay does. The list has the stamps of all statements that the sender knows, of the
//! routers from first to last, so that its receivers see what the sender lacks.

use super::key::{MeshKey, TAG_LEN};
use super::statement::{
    BusyClaim, FlowNumber, Hop, LinkFacts, Neighbour, RouterId, Stamp, Statement,
};
use airqueue_core::bytes::{Reader, Truncated, put_varint};

/// The version of the format.
pub const VERSION: u8 = 1;
/// The longest message in bytes: with the headers of IPv6 and UDP one packet, also where tunnels shorten packets.
pub const MOST_BYTES: usize = 1_200;
/// The most entries of a list.
pub const MOST_LISTED: usize = 64;
/// Bytes of a message before its statements, of a list's beginning, and of the tag.
const FRAME_BYTES: usize = 22 + 1 + 9 + TAG_LEN;
const NOBODY: u8 = 63;
const HAS_DEMAND: u8 = 1 << 6;
const HAS_DELAY: u8 = 1 << 7;
const FULL: u8 = 1 << 7;

/// Stamps of statements that the sender knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// The list has all routers from this one that the sender knows,
    pub first: RouterId,
    /// to this one.
    pub last: RouterId,
    /// Ascending by router.
    pub stamps: Vec<(RouterId, Stamp)>,
}

/// A statement on its way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Whose it is.
    pub router: RouterId,
    /// Which of that router's.
    pub stamp: Stamp,
    /// Seconds since that router made it, rounded up: those that others have kept it.
    pub age_s: u32,
    /// What it says.
    pub statement: Statement,
}

/// One message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Its sender.
    pub sender: RouterId,
    /// Which start of the sender.
    pub boot: u32,
    /// Counts the sender's messages since then.
    pub sequence: u32,
    /// Digest of the statements that the sender acts on.
    pub digest: u64,
    /// Statements of the sender or of others.
    pub statements: Vec<Told>,
    /// What the sender knows, where it suspects a difference.
    pub list: Option<List>,
}

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Another version.
    #[error("the message has version {0}; this router reads version {VERSION}")]
    Version(u8),
    /// The message ends early, or a number does not fit.
    #[error("the message ends early, or a number in it does not fit")]
    Truncated,
    /// A value out of range or of order.
    #[error("the message has {0}")]
    Value(&'static str),
    /// Too long.
    #[error("the message has more than {MOST_BYTES} bytes")]
    TooLong,
    /// The tag is not that of the message under the mesh's key.
    #[error("the tag does not fit; the sender has another key, or the message was changed")]
    Tag,
}

impl From<Truncated> for Malformed {
    fn from(_: Truncated) -> Malformed {
        Malformed::Truncated
    }
}

/// The bytes of a message, with their tag.
pub fn encode(message: &Message, key: &MeshKey) -> Vec<u8> {
    let mut out = vec![VERSION];
    for number in [message.sender.0, message.boot, message.sequence] {
        out.extend(number.to_be_bytes());
    }
    out.extend(message.digest.to_be_bytes());
    out.push(message.statements.len() as u8);
    message.statements.iter().for_each(|told| put_statement(&mut out, told));
    out.push(u8::from(message.list.is_some()));
    if let Some(list) = &message.list {
        out.extend(list.first.0.to_be_bytes());
        out.extend(list.last.0.to_be_bytes());
        out.push(list.stamps.len() as u8);
        list.stamps.iter().for_each(|&(router, stamp)| put_stamp(&mut out, router, stamp));
    }
    key.seal(&mut out);
    out
}

/// The message in bytes from a network; never panics.
pub fn decode(bytes: &[u8], key: &MeshKey) -> Result<Message, Malformed> {
    if bytes.len() > MOST_BYTES {
        return Err(Malformed::TooLong);
    }
    match bytes.first() {
        Some(&VERSION) => decode_body(key.open(bytes).ok_or(Malformed::Tag)?),
        Some(&other) => Err(Malformed::Version(other)),
        None => Err(Malformed::Truncated),
    }
}

/// Whom bytes name as their sender, which only [`decode`] tells to be true; so that those from afar cost no more than this.
pub fn claimed_sender(bytes: &[u8]) -> Option<RouterId> {
    let number = bytes.get(1..5)?.try_into().ok()?;
    Some(RouterId(u32::from_be_bytes(number)))
}

/// The message in bytes whose tag has been taken off.
pub fn decode_body(bytes: &[u8]) -> Result<Message, Malformed> {
    let mut reader = Reader::new(bytes);
    let version = reader.u8()?;
    if version != VERSION {
        return Err(Malformed::Version(version));
    }
    let mut message = Message {
        sender: RouterId(reader.u32()?),
        boot: reader.u32()?,
        sequence: reader.u32()?,
        digest: reader.u64()?,
        ..Message::default()
    };
    for _ in 0..reader.u8()? {
        message.statements.push(statement(&mut reader)?);
    }
    message.list = match reader.u8()? {
        0 => None,
        1 => Some(list(&mut reader)?),
        _ => return Err(Malformed::Value("a list that is neither there nor absent")),
    };
    if reader.rest().is_empty() {
        Ok(message)
    } else {
        Err(Malformed::Value("bytes behind its end"))
    }
}

/// How many bytes of statements and list entries fit into one message.
pub(super) const fn room() -> usize {
    MOST_BYTES - FRAME_BYTES
}

/// Bytes of a statement in a message.
pub(super) fn told_bytes(told: &Told) -> usize {
    let mut out = Vec::new();
    put_statement(&mut out, told);
    out.len()
}

fn put_stamp(out: &mut Vec<u8>, router: RouterId, stamp: Stamp) {
    out.extend(router.0.to_be_bytes());
    put_varint(out, u64::from(stamp.boot));
    put_varint(out, u64::from(stamp.version));
}

fn put_statement(out: &mut Vec<u8>, told: &Told) {
    let statement = &told.statement;
    put_stamp(out, told.router, told.stamp);
    put_varint(out, u64::from(told.age_s));
    out.push(statement.busy.percent | if statement.busy.full { FULL } else { 0 });
    let (heard, others): (Vec<Neighbour>, Vec<Neighbour>) =
        statement.neighbours.iter().partition(|of| of.heard);
    let counts = [heard.len(), others.len(), statement.links.len(), statement.flows.len()];
    out.extend(counts.map(|count| count as u8));
    let order: Vec<RouterId> = heard.iter().chain(&others).map(|of| of.id).collect();
    order.iter().for_each(|id| out.extend(id.0.to_be_bytes()));
    let index = |id: RouterId| order.iter().position(|&at| at == id).map_or(NOBODY, |i| i as u8);
    for (to, link) in &statement.links {
        out.push(index(*to));
        put_varint(out, link.rate_bps);
        put_varint(out, u64::from(link.round_trip_ns));
        out.push(link.channel);
    }
    for (number, hop) in &statement.flows {
        out.extend(number.0.to_be_bytes());
        let mut previous = hop.previous.map_or(NOBODY, index);
        if hop.demand_bps.is_some() {
            previous |= HAS_DEMAND;
        }
        if hop.other_delay_us > 0 {
            previous |= HAS_DELAY;
        }
        out.extend([previous, hop.next.map_or(NOBODY, index)]);
        if let Some(demand) = hop.demand_bps {
            put_varint(out, demand);
        }
        if hop.other_delay_us > 0 {
            put_varint(out, u64::from(hop.other_delay_us));
        }
    }
}

fn stamp(reader: &mut Reader) -> Result<(RouterId, Stamp), Malformed> {
    let router = RouterId(reader.u32()?);
    Ok((router, Stamp { boot: reader.varint_u32()?, version: reader.varint_u32()? }))
}

fn statement(reader: &mut Reader) -> Result<Told, Malformed> {
    let (router, stamp) = stamp(reader)?;
    let age_s = reader.varint_u32()?;
    let busy = reader.u8()?;
    let busy = BusyClaim { percent: busy & !FULL, full: busy & FULL != 0 };
    if busy.percent > 100 {
        return Err(Malformed::Value("a medium busy for more than all of the time"));
    }
    let [heard, others, links, flows] = reader.array::<4>()?.map(usize::from);
    if heard + others > Statement::MOST_NEIGHBOURS
        || links > Statement::MOST_LINKS
        || flows > Statement::MOST_FLOWS
    {
        return Err(Malformed::Value("more neighbours, links or flows than a statement may have"));
    }
    let order = neighbours(reader, router, heard, others)?;
    let links = (0..links).map(|_| link(reader, &order)).collect::<Result<Vec<_>, _>>()?;
    let flows = (0..flows).map(|_| flow(reader, &order)).collect::<Result<Vec<_>, _>>()?;
    let ascending =
        links.windows(2).all(|w| w[0].0 < w[1].0) && flows.windows(2).all(|w| w[0].0 < w[1].0);
    if !ascending {
        return Err(Malformed::Value("links or flows out of order, or twice"));
    }
    let mut neighbours = order;
    neighbours.sort_unstable();
    Ok(Told { router, stamp, age_s, statement: Statement { busy, neighbours, links, flows } })
}

/// The neighbours of a statement in the order of its indices.
fn neighbours(
    reader: &mut Reader,
    of: RouterId,
    heard: usize,
    others: usize,
) -> Result<Vec<Neighbour>, Malformed> {
    let mut order = Vec::with_capacity(heard + others);
    for at in 0..heard + others {
        order.push(Neighbour { id: RouterId(reader.u32()?), heard: at < heard });
    }
    let (first, second) = order.split_at(heard);
    let ascending = |of: &[Neighbour]| of.windows(2).all(|w| w[0].id < w[1].id);
    let twice = second.iter().any(|other| first.binary_search_by_key(&other.id, |n| n.id).is_ok());
    if !ascending(first) || !ascending(second) || twice || order.iter().any(|n| n.id == of) {
        return Err(Malformed::Value("neighbours out of order, or twice"));
    }
    Ok(order)
}

fn neighbour(order: &[Neighbour], index: u8) -> Result<RouterId, Malformed> {
    let of = order
        .get(usize::from(index))
        .ok_or(Malformed::Value("a neighbour that it does not name"))?;
    Ok(of.id)
}

fn link(reader: &mut Reader, order: &[Neighbour]) -> Result<(RouterId, LinkFacts), Malformed> {
    let to = neighbour(order, reader.u8()?)?;
    let (rate_bps, round_trip_ns) = (reader.varint()?, reader.varint_u32()?);
    let link = LinkFacts { rate_bps, round_trip_ns, channel: reader.u8()? };
    if link.in_range() {
        Ok((to, link))
    } else {
        Err(Malformed::Value("a link with impossible numbers"))
    }
}

fn flow(reader: &mut Reader, order: &[Neighbour]) -> Result<(FlowNumber, Hop), Malformed> {
    let number = FlowNumber(reader.u32()?);
    let [previous, next] = reader.array()?;
    let at = |index| if index == NOBODY { Ok(None) } else { neighbour(order, index).map(Some) };
    let hop = Hop {
        previous: at(previous & NOBODY)?,
        next: at(next)?,
        demand_bps: (previous & HAS_DEMAND != 0).then(|| reader.varint()).transpose()?,
        other_delay_us: if previous & HAS_DELAY == 0 { 0 } else { reader.varint_u32()? },
    };
    if hop.in_range() {
        Ok((number, hop))
    } else {
        Err(Malformed::Value("a flow with impossible numbers"))
    }
}

fn list(reader: &mut Reader) -> Result<List, Malformed> {
    let (first, last) = (RouterId(reader.u32()?), RouterId(reader.u32()?));
    let count = usize::from(reader.u8()?);
    if count > MOST_LISTED {
        return Err(Malformed::Value("more in its list than a list may have"));
    }
    let stamps = (0..count).map(|_| stamp(reader)).collect::<Result<Vec<_>, _>>()?;
    let inside = stamps.iter().all(|(router, _)| (first..=last).contains(router));
    if !inside || !stamps.windows(2).all(|w| w[0].0 < w[1].0) {
        return Err(Malformed::Value("a list out of order"));
    }
    Ok(List { first, last, stamps })
}
