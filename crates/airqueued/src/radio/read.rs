//! What an interface knows, read by an open connection to cfg80211.

use crate::netlink::NetlinkError;
use crate::radio::mesh_path::{self, MeshPath};
use crate::radio::nl80211::{Nl80211, bodies};
use crate::radio::station::{self, Station};
use crate::radio::survey::{self, ChannelSurvey};

/// The stations of an interface, by its number.
pub fn stations(nl80211: &mut Nl80211, interface: u32) -> Result<Vec<Station>, NetlinkError> {
    station::read_all(bodies(&nl80211.list(&station::list(interface))?))
}

/// What the radio of an interface has counted on channels.
pub fn channels(nl80211: &mut Nl80211, interface: u32) -> Result<Vec<ChannelSurvey>, NetlinkError> {
    survey::read_all(bodies(&nl80211.list(&survey::list(interface))?))
}

/// The paths of a mesh interface.
pub fn mesh_paths(nl80211: &mut Nl80211, interface: u32) -> Result<Vec<MeshPath>, NetlinkError> {
    mesh_path::read_all(bodies(&nl80211.list(&mesh_path::list(interface))?))
}
