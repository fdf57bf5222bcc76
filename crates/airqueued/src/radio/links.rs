//! Network interfaces and their root qdiscs, by rtnetlink.

use crate::netlink::attributes::{self, Writer};
use crate::netlink::{Message, NetlinkError, Request};

/// `RTM_NEWLINK` and `RTM_GETLINK`.
const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
/// Bytes of `struct ifinfomsg`.
const HEADER: usize = 16;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_QDISC: u16 = 6;
const IFLA_TXQLEN: u16 = 13;
/// `ARPHRD_LOOPBACK`.
const LOOPBACK: u16 = 772;

/// An interface that is not the loopback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Its MTU, bytes.
    pub mtu: Option<u32>,
    /// Kind of its root qdisc, as in tc.
    pub qdisc: Option<String>,
    /// Its `txqueuelen`, packets.
    pub queue_length: Option<u32>,
}

/// The request that lists interfaces.
pub fn list() -> Request {
    Request { kind: GET_LINK, flags: 0, body: Writer::after(&[0; HEADER]).finish() }
}

/// The request that makes an interface's `txqueuelen` 0.
pub fn without_length(index: u32) -> Request {
    let mut about = vec![0; HEADER];
    about[4..8].copy_from_slice(&index.to_ne_bytes());
    Request { kind: NEW_LINK, flags: 0, body: Writer::after(&about).u32(IFLA_TXQLEN, 0).finish() }
}

/// The interfaces of a list.
pub fn read_all(messages: &[Message]) -> Result<Vec<Link>, NetlinkError> {
    let mut found = Vec::new();
    for message in messages.iter().filter(|message| message.kind == NEW_LINK) {
        let Some((header, rest)) = message.body.split_at_checked(HEADER) else {
            let length = message.body.len();
            return Err(NetlinkError::Unreadable(format!("an interface in {length} bytes")));
        };
        let told = attributes::read(rest)?;
        if u16::from_ne_bytes([header[2], header[3]]) == LOOPBACK {
            continue;
        }
        found.push(Link {
            index: u32::from_ne_bytes([header[4], header[5], header[6], header[7]]),
            name: told.text(IFLA_IFNAME).unwrap_or_default(),
            mtu: told.number(IFLA_MTU).and_then(|mtu| u32::try_from(mtu).ok()),
            qdisc: told.text(IFLA_QDISC),
            queue_length: told.number(IFLA_TXQLEN).and_then(|length| u32::try_from(length).ok()),
        });
    }
    Ok(found)
}
