//! Which flow goes into which class: filters at a shaper of ours (tc-u32).
//!
//! u32 is the classifier that every kernel of routers has. The filters are the shaper's: they end with it, so that nothing
//! is left of them when its place is given back. IPv4 packets with options or in fragments, and IPv6 packets with extension
//! headers, match no flow.

use super::message::{DELETE_FILTER, FILTER_INFO as INFO, NEW_FILTER, filter_request};
use crate::netlink::attributes::Writer;
use crate::netlink::{Message, Request};
use airqueue_control::flows::{FlowKey, Protocol};
use netlink_packet_core::NLM_F_CREATE;
use std::net::IpAddr;

/// `TCA_U32_CLASSID` and `TCA_U32_SEL`.
const CLASS: u16 = 1;
const SELECTOR: u16 = 5;
/// `TC_U32_TERMINAL`: what matches is decided.
const TERMINAL: u8 = 1;
/// `TC_U32_NODE`: the part of a filter's number that we choose.
const NODE: u32 = 0xfff;

/// One 32-bit word of a packet, from the IP header on: its place, the bits that count, and their value.
type Word = (i32, u32, u32);

/// Puts packets of a download into a class of the shaper `handle`; the class has no other filter.
pub(super) fn assigned(index: u32, handle: u16, class: u16, flow: &FlowKey) -> Option<Request> {
    let root = u32::from(handle) << 16;
    let options = Writer::default()
        .u32(CLASS, root | u32::from(class))
        .bytes(SELECTOR, &selector(&words(flow)?));
    let number = u32::from(class);
    Some(filter_request(NEW_FILTER, NLM_F_CREATE, (index, number, root), Some(options.finish())))
}

/// Takes a filter away, by the number that the kernel has given it.
pub(super) fn released(index: u32, handle: u16, filter: u32) -> Request {
    filter_request(DELETE_FILTER, 0, (index, filter, u32::from(handle) << 16), None)
}

/// The classes that have filters of ours, with the filters' numbers, of all filters that the kernel tells. The table, which is
/// the number's upper part, depends on whose filters came first.
pub(super) fn ours(told: &[Message]) -> impl Iterator<Item = (u16, u32)> {
    told.iter().filter_map(|message| {
        let word = |at: usize| {
            let bytes = message.body.get(at..at + 4)?;
            Some(u32::from_ne_bytes(bytes.try_into().ok()?))
        };
        let (filter, info) = (word(8)?, word(16)?);
        let class = u16::try_from(filter & NODE).ok()?;
        (info == INFO && class != 0).then_some((class, filter))
    })
}

/// What packets to the station have. None for ends of two versions of IP.
fn words(flow: &FlowKey) -> Option<Vec<Word>> {
    let protocol = match flow.protocol {
        Protocol::Tcp => 6,
        Protocol::Udp => 17,
    };
    let ports = u32::from(flow.far.port) << 16 | u32::from(flow.station.port);
    match (flow.far.address, flow.station.address) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => Some(vec![
            // Version 4, and a header of five words: the ports are where they are looked for.
            (0, 0xff00_0000, 0x4500_0000),
            // No fragment.
            (4, 0x0000_3fff, 0),
            (8, 0x00ff_0000, protocol << 16),
            (12, u32::MAX, source.into()),
            (16, u32::MAX, destination.into()),
            (20, u32::MAX, ports),
        ]),
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let mut words = vec![(0, 0xf000_0000, 0x6000_0000), (4, 0x0000_ff00, protocol << 8)];
            for (begin, address) in [(8, source), (24, destination)] {
                let parts = address.octets();
                let word = |(place, part): (i32, &[u8])| {
                    let value = part.iter().fold(0, |value, byte| value << 8 | u32::from(*byte));
                    (begin + 4 * place, u32::MAX, value)
                };
                words.extend((0..).zip(parts.chunks(4)).map(word));
            }
            words.push((40, u32::MAX, ports));
            Some(words)
        }
        _ => None,
    }
}

/// `struct tc_u32_sel` with its keys; masks and values are in the network's order.
fn selector(words: &[Word]) -> Vec<u8> {
    let mut bytes = vec![TERMINAL, 0, words.len() as u8, 0];
    bytes.extend_from_slice(&[0; 12]);
    for (place, mask, value) in words {
        bytes.extend_from_slice(&mask.to_be_bytes());
        bytes.extend_from_slice(&value.to_be_bytes());
        bytes.extend_from_slice(&place.to_ne_bytes());
        bytes.extend_from_slice(&[0; 4]);
    }
    bytes
}
