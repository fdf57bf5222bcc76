//! Paths of an 802.11s mesh, as a mesh station knows them.

use crate::netlink::NetlinkError;
use crate::netlink::attributes::Attributes;
use crate::radio::nl80211::{MacAddress, Numbers, Request, attribute, command, messages, needed};
use serde::Serialize;

/// A path to a mesh station (802.11-2016, 14.10.8.4, forwarding information).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MeshPath {
    /// The path's end.
    pub destination: MacAddress,
    /// The neighbour on the path; absent while the path is not known.
    pub next_hop: Option<MacAddress>,
    /// Metric of the path (airtime link metric, 14.9).
    pub metric: Option<u32>,
    /// Time until the path expires, in milliseconds.
    pub expires_ms: Option<u32>,
    /// Frames that wait for the path.
    pub waiting_frames: Option<u32>,
    /// Number of hops, where the kernel tells it (Linux 5.2 and later).
    pub hops: Option<u8>,
    /// `enum nl80211_mpath_flags`.
    pub flags: Option<u8>,
}

/// The request that lists the paths of a mesh interface.
pub fn list(interface: u32) -> Request {
    Request::of_interface(command::GET_MPATH, interface)
}

/// The paths of a list.
pub fn read_all<'a>(
    bodies: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<MeshPath>, NetlinkError> {
    let read = |from: Attributes<'a>| {
        let info = from.inside(attribute::MPATH_INFO)?;
        let byte = |kind| info.number(kind).and_then(|number| number.try_into().ok());
        Ok(MeshPath {
            destination: needed(from.mac(attribute::MAC), "the destination of a path")?,
            // An unresolved path has zeros there (`mpath_set_pinfo`).
            next_hop: from.mac(attribute::MPATH_NEXT_HOP).filter(|hop| hop.0 != [0; 6]),
            waiting_frames: info.u32(1),
            metric: info.u32(3),
            expires_ms: info.u32(4),
            flags: byte(5),
            hops: byte(8),
        })
    };
    messages(command::NEW_MPATH, bodies)?.into_iter().map(read).collect()
}
