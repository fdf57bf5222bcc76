//! Messages of traffic control (`struct tcmsg`).

use crate::netlink::attributes::{self, Attributes, Writer};
use crate::netlink::{Message, NetlinkError, Request};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};

pub(super) const NEW_QDISC: u16 = 36;
pub(super) const DELETE_QDISC: u16 = 37;
pub(super) const GET_QDISC: u16 = 38;
pub(super) const NEW_CLASS: u16 = 40;
pub(super) const GET_CLASS: u16 = 42;
pub(super) const NEW_FILTER: u16 = 44;
pub(super) const DELETE_FILTER: u16 = 45;
pub(super) const GET_FILTER: u16 = 46;

/// `TC_H_ROOT`: what has no parent.
pub(super) const ROOT: u32 = 0xffff_ffff;
/// `TC_H_INGRESS` and `TC_H_CLSACT`: for arriving packets; stays when the root is replaced.
pub(super) const INGRESS: u32 = 0xffff_fff1;

const KIND: u16 = 1;
const OPTIONS: u16 = 2;
const SIZE_TABLE: u16 = 8;
const STATISTICS: u16 = 7;
/// `TCA_STATS_RATE_EST` and `TCA_STATS_RATE_EST64`, which are there if there is an estimator.
const ESTIMATES: [u16; 2] = [2, 5];
const HARDWARE: u16 = 12;
const INGRESS_BLOCK: u16 = 13;
const EGRESS_BLOCK: u16 = 14;
/// Bytes of `struct tcmsg`.
const HEADER: usize = 20;

/// What the kernel tells of a discipline, a class or a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) index: u32,
    pub(super) handle: u32,
    pub(super) parent: u32,
    pub(super) kind: String,
    pub(super) options: Option<Vec<u8>>,
    /// What it has that cannot be put back, in words.
    pub(super) lost: Option<&'static str>,
}

impl Told {
    /// All attributes of a message about a discipline.
    pub(super) fn attributes(message: &Message) -> Result<Attributes<'_>, NetlinkError> {
        attributes::read(message.body.get(HEADER..).unwrap_or_default())
    }

    pub(super) fn read(message: &Message) -> Result<Told, NetlinkError> {
        let body = &message.body;
        if body.len() < HEADER {
            let what = format!("{} bytes about a queue discipline", body.len());
            return Err(NetlinkError::Unreadable(what));
        }
        let word =
            |at: usize| u32::from_ne_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]);
        let attributes = attributes::read(&body[HEADER..])?;
        let statistics = attributes.inside(STATISTICS).unwrap_or_default();
        let has = |kind| attributes.number(kind).is_some_and(|number| number != 0);
        let lost = match () {
            () if attributes.find(SIZE_TABLE).is_some() => Some("a size table (tc stab)"),
            () if ESTIMATES.iter().any(|&kind| statistics.find(kind).is_some()) => {
                Some("a rate estimator (tc estimator)")
            }
            () if has(HARDWARE) => Some("an offload to hardware"),
            () if has(INGRESS_BLOCK) || has(EGRESS_BLOCK) => Some("a shared block of filters"),
            () => None,
        };
        Ok(Told {
            index: word(4),
            handle: word(8),
            parent: word(12),
            kind: attributes.text(KIND).unwrap_or_default(),
            options: attributes.find(OPTIONS).map(<[u8]>::to_vec),
            lost,
        })
    }
}

/// A request about an interface.
pub(super) fn request(kind: u16, flags: u16, index: u32, handle: u32, parent: u32) -> Request {
    Request { kind, flags, body: header(index, handle, parent) }
}

/// A discipline or a class to be made, or changed if it is there.
pub(super) fn made(
    kind: u16,
    (index, handle, parent): (u32, u32, u32),
    name: &str,
    options: Option<&[u8]>,
) -> Request {
    let mut body = Writer::after(&header(index, handle, parent)).text(KIND, name);
    if let Some(options) = options {
        body = body.bytes(OPTIONS, options);
    }
    let replace = if kind == NEW_QDISC { NLM_F_REPLACE } else { 0 };
    Request { kind, flags: NLM_F_CREATE | replace, body: body.finish() }
}

/// `tcm_info` of our filters: their priority among others, 1, and the protocol, `ETH_P_ALL`.
pub(super) const FILTER_INFO: u32 = 1 << 16 | (3_u16.to_be() as u32);

/// A filter (tc-u32) of all protocols at a shaper: index, number and the shaper's.
pub(super) fn filter_request(
    kind: u16,
    flags: u16,
    (index, handle, parent): (u32, u32, u32),
    options: Option<Vec<u8>>,
) -> Request {
    let mut body = Writer::after(&words([0, index, handle, parent, FILTER_INFO])).text(KIND, "u32");
    if let Some(options) = options {
        body = body.bytes(OPTIONS, &options);
    }
    Request { kind, flags, body: body.finish() }
}

fn header(index: u32, handle: u32, parent: u32) -> Vec<u8> {
    words([0, index, handle, parent, 0])
}

fn words(words: [u32; 5]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}
