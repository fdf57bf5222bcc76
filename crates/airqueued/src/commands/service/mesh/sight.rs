//! What the kernel tells a router of a mesh: neighbours with rates, paths, how busy the channel is.

use crate::netlink::NetlinkError;
use crate::radio::modulation::{Cell, Modulation};
use crate::radio::nl80211::{Nl80211, bodies};
use crate::radio::survey::{ChannelSurvey, busy_fraction, stands_still};
use crate::radio::wiphy::{self, InterfaceType, WirelessInterface};
use crate::radio::{read, station::Station};
use airqueue_control::flows::Mac;
use airqueue_control::mesh::{Known, Sight};
use airqueue_core::Span;
use nix::ifaddrs::getifaddrs;
use std::collections::BTreeMap;

/// `NL80211_PLINK_ESTAB`: a link of a mesh that carries frames.
const ESTABLISHED: u8 = 4;
/// `NL80211_MPATH_FLAG_ACTIVE`: a path that is in use.
const ACTIVE: u8 = 1;

/// What looks at one interface.
pub(super) struct Eyes {
    interface: String,
    nl80211: Option<Nl80211>,
    /// The counters of the channel when they last went on.
    survey: Option<ChannelSurvey>,
    /// Rates that the configuration gives.
    given: Vec<(Mac, u64)>,
    /// The frames whose overhead a router needs, in bytes.
    frames: [u32; 2],
    /// Overheads that were computed: a physical layer has thousands of rates.
    overheads: BTreeMap<(Modulation, u64, Cell), Option<Span>>,
}

/// A link has some dozen rates; what would need more places is forgotten, and computed again.
const MOST_OVERHEADS: usize = 512;

impl Eyes {
    /// frames: those of which a router needs the overhead, in bytes.
    pub(super) fn new(interface: &str, given: Vec<(Mac, u64)>, frames: [u32; 2]) -> Eyes {
        // Without cfg80211 there are given rates alone.
        let nl80211 = Nl80211::open().ok().flatten();
        let (interface, overheads) = (interface.to_owned(), BTreeMap::new());
        Eyes { interface, nl80211, survey: None, given, frames, overheads }
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
            let known = Known { address, rate_bps: Some(rate_bps), overhead: None };
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
        let paths = if floods { read::mesh_paths(nl80211, interface.index)? } else { Vec::new() };
        let active = |flags: Option<u8>| flags.is_none_or(|flags| flags & ACTIVE != 0);
        let paths = paths.iter().filter(|path| active(path.flags));
        let paths = paths.filter_map(|path| Some((path.destination.0, path.next_hop?.0))).collect();
        // A driver that counts nothing says so by an error, or by an empty list.
        let channels = read::channels(nl80211, interface.index).unwrap_or_default();
        let known = |station: &Station| Known {
            address: station.address.0,
            rate_bps: station.tx_rate_bps.filter(|&rate| rate > 0),
            overhead: self.overhead(station, interface.frequency_mhz),
        };
        let neighbours = stations.iter().filter(|station| linked(station)).map(known).collect();
        let busy = self.busy(channels.into_iter().find(|channel| channel.in_use));
        let channel = interface.frequency_mhz.map_or(0, channel);
        Ok(Sight { neighbours, paths, channel, busy, floods })
    }

    /// What frames to a station cost besides their bits, if the radio tells how they are sent.
    fn overhead(&mut self, station: &Station, frequency_mhz: Option<u32>) -> Option<Span> {
        let (rate_bps, modulation) = (station.tx_rate_bps?, station.tx_modulation?);
        let Station { short_slot, short_preamble, .. } = *station;
        let cell = Cell { frequency_mhz: frequency_mhz?, short_slot, short_preamble };
        if self.overheads.len() >= MOST_OVERHEADS {
            self.overheads.clear();
        }
        let compute = || modulation.overhead(rate_bps, cell, self.frames);
        *self.overheads.entry((modulation, rate_bps, cell)).or_insert_with(compute)
    }

    /// The fraction of the time since the counters last went on, if they have gone on.
    fn busy(&mut self, now: Option<ChannelSurvey>) -> Option<f64> {
        let now = now?;
        let before = self.survey.filter(|before| !stands_still(before, &now));
        if before.is_some() || self.survey.is_none() {
            self.survey = Some(now);
        }
        busy_fraction(&before?, &now)
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
mod tests;
