//! cfg80211 by generic netlink: numbers of `linux/nl80211.h`, requests, and the messages of answers.

use crate::netlink::attributes::{self, Attributes, Writer};
use crate::netlink::{GENERIC, Message, Netlink, NetlinkError};
use nix::errno::Errno;
use serde::Serialize;

/// Length of `struct genlmsghdr`.
const HEADER: usize = 4;
/// `GENL_ID_CTRL`, which knows the numbers of families.
const CONTROLLER: u16 = 16;
/// `NLMSG_MIN_TYPE`: smaller numbers are no families.
#[cfg(test)]
const GENERIC_FIRST: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

/// Commands (`enum nl80211_commands`).
#[allow(missing_docs)]
pub mod command {
    pub const GET_WIPHY: u8 = 1;
    pub const SET_WIPHY: u8 = 2;
    pub const NEW_WIPHY: u8 = 3;
    pub const GET_INTERFACE: u8 = 5;
    pub const NEW_INTERFACE: u8 = 7;
    pub const GET_STATION: u8 = 17;
    pub const SET_STATION: u8 = 18;
    pub const NEW_STATION: u8 = 19;
    pub const GET_MPATH: u8 = 21;
    pub const NEW_MPATH: u8 = 23;
    pub const GET_SURVEY: u8 = 50;
    pub const NEW_SURVEY_RESULTS: u8 = 51;
}

/// Attributes (`enum nl80211_attrs`).
#[allow(missing_docs)]
pub mod attribute {
    pub const WIPHY: u16 = 1;
    pub const WIPHY_NAME: u16 = 2;
    pub const IFINDEX: u16 = 3;
    pub const IFNAME: u16 = 4;
    pub const IFTYPE: u16 = 5;
    pub const MAC: u16 = 6;
    pub const STA_INFO: u16 = 21;
    pub const WIPHY_BANDS: u16 = 22;
    pub const MPATH_NEXT_HOP: u16 = 26;
    pub const MPATH_INFO: u16 = 27;
    pub const WIPHY_TXQ_PARAMS: u16 = 37;
    pub const WIPHY_FREQ: u16 = 38;
    pub const SURVEY_INFO: u16 = 84;
    pub const CHANNEL_WIDTH: u16 = 159;
    pub const CENTER_FREQ1: u16 = 160;
    pub const SPLIT_WIPHY_DUMP: u16 = 174;
    pub const EXT_FEATURES: u16 = 217;
    pub const TXQ_STATS: u16 = 265;
    pub const TXQ_LIMIT: u16 = 266;
    pub const TXQ_MEMORY_LIMIT: u16 = 267;
    pub const TXQ_QUANTUM: u16 = 268;
    pub const AIRTIME_WEIGHT: u16 = 274;
}

/// A request to cfg80211.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// One of [`command`].
    pub command: u8,
    /// Attributes as bytes.
    pub attributes: Vec<u8>,
}

impl Request {
    /// Lists something of an interface.
    pub fn of_interface(command: u8, interface: u32) -> Self {
        let attributes = Writer::default().u32(attribute::IFINDEX, interface).finish();
        Self { command, attributes }
    }

    /// The message that a family of generic netlink takes.
    fn to(&self, family: u16) -> crate::netlink::Request {
        let mut body = vec![self.command, 0, 0, 0];
        body.extend_from_slice(&self.attributes);
        crate::netlink::Request { kind: family, flags: 0, body }
    }
}

/// The attributes of every message of a command in an answer.
pub fn messages<'a>(
    command: u8,
    bodies: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<Attributes<'a>>, NetlinkError> {
    let mut found = Vec::new();
    for body in bodies {
        let Some((header, rest)) = body.split_at_checked(HEADER) else {
            return Err(unreadable(format!("a message of {} bytes has no header", body.len())));
        };
        if header[0] == command {
            found.push(attributes::read(rest)?);
        }
    }
    Ok(found)
}

/// An attribute without which a message says nothing.
pub fn needed<T>(found: Option<T>, name: &str) -> Result<T, NetlinkError> {
    found.ok_or_else(|| unreadable(format!("{name} is missing")))
}

fn unreadable(what: String) -> NetlinkError {
    NetlinkError::Unreadable(what)
}

/// A connection to cfg80211 in the network namespace in which it was opened.
pub struct Nl80211 {
    netlink: Netlink,
    family: u16,
}

impl Nl80211 {
    /// Connects; `None` if this kernel has no cfg80211, or it is not loaded.
    pub fn open() -> Result<Option<Self>, NetlinkError> {
        let mut netlink = match Netlink::open(GENERIC) {
            // A kernel without generic netlink.
            Err(NetlinkError::System { source, .. })
                if source.raw_os_error() == Some(Errno::EPROTONOSUPPORT as i32) =>
            {
                return Ok(None);
            }
            netlink => netlink?,
        };
        let attributes = Writer::default().text(FAMILY_NAME, "nl80211").finish();
        let question = Request { command: GET_FAMILY, attributes }.to(CONTROLLER);
        let answer = match netlink.ask(&question) {
            Err(error) if error.errno() == Some(Errno::ENOENT) => return Ok(None),
            answer => answer?,
        };
        Ok(Some(Self { netlink, family: family(&answer)? }))
    }

    /// A connection to what answers in the place of cfg80211; the family has any number.
    #[cfg(test)]
    pub(crate) fn beside(netlink: Netlink) -> Self {
        Self { netlink, family: GENERIC_FIRST }
    }

    /// Everything that a request lists: the bodies of messages.
    pub fn list(&mut self, request: &Request) -> Result<Vec<Message>, NetlinkError> {
        self.netlink.dump(&request.to(self.family))
    }

    /// Has cfg80211 do something.
    pub fn act(&mut self, request: &Request) -> Result<(), NetlinkError> {
        self.netlink.act(&request.to(self.family))
    }
}

/// The number of the family in an answer of the controller.
fn family(answer: &[Message]) -> Result<u16, NetlinkError> {
    let told = answer.iter().filter_map(|message| message.body.get(HEADER..));
    for bytes in told {
        if let Some(id) = attributes::read(bytes)?.number(FAMILY_ID) {
            return u16::try_from(id).map_err(|_| unreadable(format!("{id} is no family")));
        }
    }
    Err(unreadable("the number of the family nl80211 is missing".to_owned()))
}

/// The bodies of messages, as parsers take them.
pub fn bodies(messages: &[Message]) -> impl Iterator<Item = &[u8]> {
    messages.iter().map(|message| message.body.as_slice())
}

/// Numbers of the widths that cfg80211 has.
pub trait Numbers {
    /// A number of four bytes.
    fn u32(&self, kind: u16) -> Option<u32>;
    /// A signed number of one byte.
    fn i8(&self, kind: u16) -> Option<i8>;
    /// A MAC address.
    fn mac(&self, kind: u16) -> Option<MacAddress>;
}

impl Numbers for Attributes<'_> {
    fn u32(&self, kind: u16) -> Option<u32> {
        self.number(kind)?.try_into().ok()
    }

    fn i8(&self, kind: u16) -> Option<i8> {
        self.find(kind)?.try_into().ok().map(i8::from_ne_bytes)
    }

    fn mac(&self, kind: u16) -> Option<MacAddress> {
        self.find(kind)?.try_into().ok().map(MacAddress)
    }
}

/// The address of a station.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl std::fmt::Display for MacAddress {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [a, b, c, d, e, f] = self.0;
        write!(out, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
    }
}

impl std::fmt::Debug for MacAddress {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{self}")
    }
}

impl Serialize for MacAddress {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}
