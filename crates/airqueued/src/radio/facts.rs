//! Facts about the interfaces of this network namespace, from which the place of each queue follows.

use crate::netlink::{Netlink, ROUTE};
use crate::qdisc::rates;
use crate::radio::error::RadioError;
use crate::radio::ethtool::{self, TxRing};
use crate::radio::links::{self, Link};
use crate::radio::nl80211::{Nl80211, bodies};
use crate::radio::wiphy::{self, InterfaceType, Wiphy, WirelessInterface};
use airqueue_control::places::{Facts, Wireless};

/// An interface with what is known about it.
#[derive(Debug, Clone)]
pub struct Known {
    /// What the place of the queue follows from.
    pub facts: Facts,
    /// The phy of a wireless interface.
    pub phy: Option<Wiphy>,
    /// The driver's ring.
    pub ring: Option<TxRing>,
}

/// All that cfg80211 lists: phys and interfaces; empty where there is no cfg80211.
#[derive(Debug, Clone, Default)]
pub struct Radios {
    /// The phys.
    pub phys: Vec<Wiphy>,
    /// Their interfaces.
    pub interfaces: Vec<WirelessInterface>,
}

impl Radios {
    /// Asks cfg80211.
    pub fn read() -> Result<Self, RadioError> {
        let Some(mut nl80211) = Nl80211::open()? else { return Ok(Self::default()) };
        Self::read_by(&mut nl80211)
    }

    /// Asks cfg80211 by an open connection.
    pub fn read_by(nl80211: &mut Nl80211) -> Result<Self, RadioError> {
        let phys = wiphy::read_all(bodies(&nl80211.list(&wiphy::list())?))?;
        let interfaces = wiphy::read_interfaces(bodies(&nl80211.list(&wiphy::list_interfaces())?))?;
        Ok(Self { phys, interfaces })
    }

    /// The phy of an interface.
    pub fn phy_of(&self, interface: &WirelessInterface) -> Option<&Wiphy> {
        self.phys.iter().find(|phy| phy.index == interface.wiphy)
    }
}

/// The interfaces of this network namespace, without the loopback.
pub fn read() -> Result<Vec<Known>, RadioError> {
    let mut netlink = Netlink::open(ROUTE)?;
    let messages = netlink.dump(&links::list())?;
    let rates = rates::at_roots(&netlink.dump(&rates::list())?)?;
    let radios = Radios::read()?;
    let kernel = kernel();
    let links = links::read_all(&messages)?;
    let mut found = Vec::new();
    for link in &links {
        let shaped_bps = rates.get(&link.index).copied();
        match known(link, &radios, shaped_bps, kernel) {
            // It went away meanwhile.
            Err(RadioError::Absent { .. }) => {}
            known => found.push(known?),
        }
    }
    Ok(found)
}

/// What the place of an interface's queue follows from; `None` if there is no such interface.
pub fn of(interface: &str) -> Result<Option<Facts>, RadioError> {
    Ok(read()?.into_iter().map(|known| known.facts).find(|facts| facts.interface == interface))
}

fn known(
    link: &Link,
    radios: &Radios,
    shaped_bps: Option<u64>,
    kernel: (u32, u32),
) -> Result<Known, RadioError> {
    let wireless = radios.interfaces.iter().find(|each| each.index == link.index);
    let phy = wireless.and_then(|interface| radios.phy_of(interface));
    let ring = told(ethtool::read_tx_ring(&link.name))?;
    let facts = Facts {
        interface: link.name.clone(),
        driver: told(ethtool::driver(&link.name))?,
        qdisc: link.qdisc.clone(),
        // Shapers with classes have a rate for each class.
        shaped_bps,
        ring_packets: ring.map(|ring| ring.packets),
        kernel,
        wireless: wireless.map(|interface| Wireless {
            phy: phy.map(|phy| phy.name.clone()).unwrap_or_default(),
            has_txqs: phy.is_some_and(|phy| phy.has_txqs),
            has_aql: phy.is_some_and(|phy| phy.has_aql),
            is_mesh: interface.kind == InterfaceType::MeshPoint,
        }),
    };
    Ok(Known { facts, phy: phy.cloned(), ring })
}

/// What ethtool tells; a driver that answers with an error tells nothing.
fn told<T>(read: Result<Option<T>, RadioError>) -> Result<Option<T>, RadioError> {
    match read {
        Err(RadioError::Call { .. }) => Ok(None),
        read => read,
    }
}

/// Major and minor number of the kernel; zeros if it does not tell, which no driver's list goes by.
fn kernel() -> (u32, u32) {
    let Ok(told) = nix::sys::utsname::uname() else { return (0, 0) };
    version(&told.release().to_string_lossy())
}

fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|char: char| !char.is_ascii_digit()).map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor),
        _ => (0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_begin_with_two_numbers() {
        for (release, expected) in [
            ("6.1.0-37-amd64", (6, 1)),
            ("6.12.95+deb12-amd64", (6, 12)),
            ("5.15.167", (5, 15)),
            ("7.0-rc1", (7, 0)),
            ("", (0, 0)),
            ("next", (0, 0)),
            ("99999999999.1", (0, 0)),
        ] {
            assert_eq!(version(release), expected, "{release}");
        }
    }
}
