//! What the kernel tells a router of a mesh: neighbours with rates, paths, how busy the channel is.

use crate::netlink::NetlinkError;
use crate::radio::nl80211::{Nl80211, bodies};
use crate::radio::survey::{ChannelSurvey, busy_fraction};
use crate::radio::wiphy::{self, InterfaceType, WirelessInterface};
use crate::radio::{read, station::Station};
use airqueue_control::flows::Mac;
use airqueue_control::mesh::{Known, Sight};
use nix::ifaddrs::getifaddrs;

/// `NL80211_PLINK_ESTAB`: a link of a mesh that carries frames.
const ESTABLISHED: u8 = 4;
/// `NL80211_MPATH_FLAG_ACTIVE`: a path that is in use.
const ACTIVE: u8 = 1;

/// What looks at one interface.
pub(super) struct Eyes {
    interface: String,
    nl80211: Option<Nl80211>,
    survey: Option<ChannelSurvey>,
    /// Rates that the configuration gives.
    given: Vec<(Mac, u64)>,
}

impl Eyes {
    pub(super) fn new(interface: &str, given: Vec<(Mac, u64)>) -> Eyes {
        // Without cfg80211 there are given rates alone.
        let nl80211 = Nl80211::open().ok().flatten();
        Eyes { interface: interface.to_owned(), nl80211, survey: None, given }
    }

    /// Whether the interface is a mesh point of 802.11s.
    pub(super) fn is_mesh_point(&mut self) -> Result<bool, String> {
        let wireless = self.wireless().map_err(|error| error.to_string())?;
        Ok(wireless.is_some_and(|interface| interface.kind == InterfaceType::MeshPoint))
    }

    /// Looks. The error says in words what cannot be seen.
    pub(super) fn look(&mut self) -> Result<Sight, String> {
        let found = self.wireless().and_then(|wireless| match wireless {
            Some(interface) => self.look_at(&interface),
            None => Ok(Sight::default()),
        });
        let mut sight = found.map_err(|error| {
            format!("the radio of {} does not tell what it knows: {error}", self.interface)
        })?;
        for &(address, rate_bps) in &self.given {
            let known = Known { address, rate_bps: Some(rate_bps) };
            match sight.neighbours.iter_mut().find(|neighbour| neighbour.address == address) {
                Some(neighbour) => *neighbour = known,
                // A mesh point knows itself whether there is a link.
                None if sight.floods => {}
                None => sight.neighbours.push(known),
            }
        }
        Ok(sight)
    }

    fn wireless(&mut self) -> Result<Option<WirelessInterface>, NetlinkError> {
        let Some(nl80211) = &mut self.nl80211 else { return Ok(None) };
        let listed = nl80211.list(&wiphy::list_interfaces())?;
        let interfaces = wiphy::read_interfaces(bodies(&listed))?;
        Ok(interfaces.into_iter().find(|each| each.name == self.interface))
    }

    fn look_at(&mut self, interface: &WirelessInterface) -> Result<Sight, NetlinkError> {
        let Some(nl80211) = &mut self.nl80211 else { return Ok(Sight::default()) };
        let floods = interface.kind == InterfaceType::MeshPoint;
        let stations = read::stations(nl80211, interface.index)?;
        let linked = |station: &Station| !floods || station.plink_state == Some(ESTABLISHED);
        let known = |station: &Station| Known {
            address: station.address.0,
            rate_bps: station.tx_rate_bps.filter(|&rate| rate > 0),
        };
        let neighbours = stations.iter().filter(|station| linked(station)).map(known).collect();
        let paths = if floods { read::mesh_paths(nl80211, interface.index)? } else { Vec::new() };
        let active = |flags: Option<u8>| flags.is_none_or(|flags| flags & ACTIVE != 0);
        let paths = paths.iter().filter(|path| active(path.flags));
        let paths = paths.filter_map(|path| Some((path.destination.0, path.next_hop?.0))).collect();
        // A driver that counts nothing says so by an error, or by an empty list.
        let channels = read::channels(nl80211, interface.index).unwrap_or_default();
        let now = channels.into_iter().find(|channel| channel.in_use);
        let before = std::mem::replace(&mut self.survey, now);
        let busy = before.zip(now).and_then(|(before, now)| busy_fraction(&before, &now));
        let channel = interface.frequency_mhz.map_or(0, channel);
        Ok(Sight { neighbours, paths, channel, busy, floods })
    }
}

/// The number of a channel by its centre (802.11-2020, 17.3.8.4.2 and 15.4.4.3); at 6 GHz from 5950 MHz on (802.11ax, 27.3.23.2).
fn channel(frequency_mhz: u32) -> u8 {
    let number = match frequency_mhz {
        2484 => 14,
        2400..2484 => (frequency_mhz - 2400) / 5 - 1,
        5000..5950 => (frequency_mhz - 5000) / 5,
        5950.. => (frequency_mhz - 5950) / 5,
        _ => 0,
    };
    u8::try_from(number).unwrap_or(0)
}

/// The address of an interface.
pub(super) fn address(interface: &str) -> Option<Mac> {
    let mut all = getifaddrs().ok()?.filter(|each| each.interface_name == interface);
    all.find_map(|each| each.address?.as_link_addr()?.addr())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_have_their_numbers() {
        let numbers = [2412, 2472, 2484, 5180, 5825, 5955, 7115, 900].map(channel);
        assert_eq!(numbers, [1, 13, 14, 36, 165, 1, 233, 0]);
    }
}
