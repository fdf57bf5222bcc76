//! Phys of cfg80211 and their interfaces.

use crate::netlink::NetlinkError;
use crate::netlink::attributes::{Attributes, Writer};
use crate::radio::nl80211::{MacAddress, Numbers, Request, attribute, command, messages, needed};
use crate::radio::txq::{TxqLimits, TxqStatistics};
use serde::Serialize;
use std::ops::Range;

/// `NL80211_EXT_FEATURE_TXQS`: mac80211 keeps a queue for each station and TID.
const FEATURE_TXQS: u8 = 28;
/// `NL80211_EXT_FEATURE_AIRTIME_FAIRNESS`: stations have weights of airtime.
const FEATURE_AIRTIME_FAIRNESS: u8 = 33;
/// `NL80211_EXT_FEATURE_AQL`: the airtime that waits in the driver is limited.
const FEATURE_AQL: u8 = 40;

/// A phy, as cfg80211 describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Wiphy {
    /// Its number.
    pub index: u32,
    /// Its name, such as `phy0`.
    pub name: String,
    /// Whether mac80211 has a queue for each station and TID.
    pub has_txqs: bool,
    /// Whether stations have weights of airtime.
    pub has_airtime_fairness: bool,
    /// Whether the airtime that waits in the driver is limited.
    pub has_aql: bool,
    /// Limits of the TXQs, where there are TXQs.
    pub txq_limits: Option<TxqLimits>,
    /// Counters of all TXQs of the phy.
    pub txq: Option<TxqStatistics>,
}

/// The request that lists phys: in pieces, since one message has no room for a phy (`nl80211_dump_wiphy`).
pub fn list() -> Request {
    let attributes = Writer::default().bytes(attribute::SPLIT_WIPHY_DUMP, &[]).finish();
    Request { command: command::GET_WIPHY, attributes }
}

/// The phys that the messages of a list describe; several messages describe one phy.
pub fn read_all<'a>(
    bodies: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<Wiphy>, NetlinkError> {
    let mut found: Vec<Wiphy> = Vec::new();
    for message in messages(command::NEW_WIPHY, bodies)? {
        let piece = Wiphy::read(&message)?;
        match found.iter_mut().find(|phy| phy.index == piece.index) {
            Some(phy) => phy.merge(piece),
            None => found.push(piece),
        }
    }
    Ok(found)
}

impl Wiphy {
    fn read(piece: &Attributes<'_>) -> Result<Self, NetlinkError> {
        let features = piece.find(attribute::EXT_FEATURES).unwrap_or_default();
        Ok(Self {
            index: needed(piece.u32(attribute::WIPHY), "the number of a phy")?,
            name: piece.text(attribute::WIPHY_NAME).unwrap_or_default(),
            has_txqs: has(features, FEATURE_TXQS),
            has_airtime_fairness: has(features, FEATURE_AIRTIME_FAIRNESS),
            has_aql: has(features, FEATURE_AQL),
            txq_limits: TxqLimits::read(piece),
            txq: TxqStatistics::inside(piece, attribute::TXQ_STATS)?,
        })
    }

    fn merge(&mut self, piece: Wiphy) {
        if self.name.is_empty() {
            self.name = piece.name;
        }
        self.has_txqs |= piece.has_txqs;
        self.has_airtime_fairness |= piece.has_airtime_fairness;
        self.has_aql |= piece.has_aql;
        self.txq_limits = self.txq_limits.or(piece.txq_limits);
        self.txq = self.txq.or(piece.txq);
    }
}

/// Whether a bit of a mask of features is set; masks of older kernels are shorter.
fn has(features: &[u8], feature: u8) -> bool {
    let byte = features.get(usize::from(feature / 8)).copied().unwrap_or(0);
    byte & (1 << (feature % 8)) != 0
}

/// What an interface is for (`enum nl80211_iftype`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InterfaceType {
    /// A member of an independent BSS.
    AdHoc,
    /// A station of an access point.
    Station,
    /// An access point.
    AccessPoint,
    /// Stations of an access point that are in a VLAN.
    AccessPointVlan,
    /// A monitor.
    Monitor,
    /// A mesh station (802.11s).
    MeshPoint,
    /// Any other.
    Other,
}

impl InterfaceType {
    fn from_number(number: u32) -> Self {
        match number {
            1 => Self::AdHoc,
            2 | 8 => Self::Station,
            3 | 9 => Self::AccessPoint,
            4 => Self::AccessPointVlan,
            6 => Self::Monitor,
            7 => Self::MeshPoint,
            _ => Self::Other,
        }
    }
}

/// A wireless interface with a network device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WirelessInterface {
    /// Number of the network device.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Number of the phy.
    pub wiphy: u32,
    /// Its own address.
    pub address: Option<MacAddress>,
    /// What it is for.
    pub kind: InterfaceType,
    /// Centre of the channel's first 20 MHz, in MHz.
    pub frequency_mhz: Option<u32>,
    /// Centre and width of the whole channel, in MHz, where it is told.
    pub width: Option<(u32, u32)>,
    /// Counters of the TXQ for frames to no single station.
    pub txq: Option<TxqStatistics>,
}

impl WirelessInterface {
    /// The frequencies that its frames take, in MHz.
    pub fn band_mhz(&self) -> Option<Range<u32>> {
        let first = self.frequency_mhz?;
        let (centre, width) = self.width.unwrap_or((first, 20));
        Some(centre.saturating_sub(width / 2)..centre.saturating_add(width / 2))
    }
}

/// `enum nl80211_chan_width`; of a channel in two parts the first one.
fn width_mhz(from: &Attributes<'_>) -> Option<u32> {
    match from.u32(attribute::CHANNEL_WIDTH)? {
        0 | 1 => Some(20),
        2 => Some(40),
        3 | 4 => Some(80),
        5 => Some(160),
        _ => None,
    }
}

/// The request that lists wireless interfaces.
pub fn list_interfaces() -> Request {
    Request { command: command::GET_INTERFACE, attributes: Vec::new() }
}

/// The interfaces of a list; those without a network device, such as P2P devices, have no queue and are left out.
pub fn read_interfaces<'a>(
    bodies: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<WirelessInterface>, NetlinkError> {
    let mut found = Vec::new();
    for from in messages(command::NEW_INTERFACE, bodies)? {
        let Some(index) = from.u32(attribute::IFINDEX) else { continue };
        found.push(WirelessInterface {
            index,
            name: from.text(attribute::IFNAME).unwrap_or_default(),
            wiphy: needed(from.u32(attribute::WIPHY), "the number of an interface's phy")?,
            address: from.mac(attribute::MAC),
            kind: InterfaceType::from_number(from.u32(attribute::IFTYPE).unwrap_or(0)),
            frequency_mhz: from.u32(attribute::WIPHY_FREQ),
            width: from.u32(attribute::CENTER_FREQ1).zip(width_mhz(&from)),
            txq: TxqStatistics::inside(&from, attribute::TXQ_STATS)?,
        });
    }
    Ok(found)
}
