//! Settings of radios: mac80211's queues, channel access, airtime, rings.

use super::check::{At, PlanError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kernel's directory of hostapd's control sockets.
pub const HOSTAPD_CONTROL: &str = "/var/run/hostapd";
/// Longest TXOP of 802.11, whose field has 16 bits in units of 32 µs.
const LONGEST_TXOP_US: u32 = 65_535 * 32;

/// The queues of mac80211 for stations, all those of one phy together (nl80211: NL80211_ATTR_TXQ_LIMIT). What is left
/// out stays as it is; at least one is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Txq {
    /// Name of the phy, as `phy0`.
    pub phy: String,
    /// Packets that wait for all stations together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub limit_packets: Option<u32>,
    /// Bytes of memory of these packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1518, max = 1_000_000_000))]
    pub memory_limit_bytes: Option<u32>,
    /// Bytes that a flow sends in its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 256, max = 1_048_576))]
    pub quantum_bytes: Option<u32>,
}

/// An access category (802.11-2016, 10.2.4.2).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// AC_BE.
    BestEffort,
    /// AC_BK.
    Background,
    /// AC_VI.
    Video,
    /// AC_VO.
    Voice,
}

impl Category {
    /// The name in sentences.
    pub fn words(self) -> &'static str {
        match self {
            Category::BestEffort => "best effort",
            Category::Background => "background",
            Category::Video => "video",
            Category::Voice => "voice",
        }
    }
}

/// Channel access that an access point announces in its beacons and that stations follow (hostapd: `wmm_ac_*`). What
/// is left out stays as it is; at least one is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Edca {
    /// Interface of the access point, as `wlan0`.
    pub interface: String,
    /// Directory of hostapd's control sockets. Default: `/var/run/hostapd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<String>,
    /// The access category.
    pub access_category: Category,
    /// AIFSN: slots after a SIFS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2, max = 15))]
    pub aifsn: Option<u32>,
    /// CWmin: 2^n - 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 32_767))]
    pub cw_min: Option<u32>,
    /// CWmax: 2^n - 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 32_767))]
    pub cw_max: Option<u32>,
    /// TXOP limit, µs, a multiple of 32. 0 is one frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2_097_120))]
    pub txop_us: Option<u32>,
}

/// Channel access of this machine's own queues (nl80211: NL80211_ATTR_WIPHY_TXQ_PARAMS). The kernel takes all four
/// values together and tells none: what was before comes from hostapd's configuration or from the standard.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnEdca {
    /// The interface, as `wlan0`.
    pub interface: String,
    /// The access category.
    pub access_category: Category,
    /// AIFSN: slots after a SIFS.
    #[schemars(range(min = 1, max = 15))]
    pub aifsn: u32,
    /// CWmin: 2^n - 1.
    #[schemars(range(min = 0, max = 32_767))]
    pub cw_min: u32,
    /// CWmax: 2^n - 1.
    #[schemars(range(min = 0, max = 32_767))]
    pub cw_max: u32,
    /// TXOP limit, µs, a multiple of 32. 0 is one frame.
    #[schemars(range(min = 0, max = 2_097_120))]
    pub txop_us: u32,
}

/// The share of the air that a station gets (nl80211: NL80211_ATTR_AIRTIME_WEIGHT).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AirtimeWeight {
    /// The interface, as `wlan0`.
    pub interface: String,
    /// MAC address of the station, as `02:00:00:00:01:00`.
    pub station: String,
    /// The weight; 256 is that of a station without a setting.
    #[schemars(range(min = 1, max = 65_535))]
    pub weight: u32,
}

/// Airtime queue limits of a phy (debugfs: `aql_txq_limit`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Aql {
    /// Name of the phy, as `phy0`.
    pub phy: String,
    /// The access category.
    pub access_category: Category,
    /// Airtime that one station may have in the driver while all stations have much there, µs.
    #[schemars(range(min = 500, max = 1_000_000))]
    pub limit_low_us: u32,
    /// Airtime that one station may have in the driver otherwise, µs.
    #[schemars(range(min = 500, max = 1_000_000))]
    pub limit_high_us: u32,
}

/// The transmit ring between kernel and driver (Linux: `ethtool -G tx`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ring {
    /// The interface, as `eth0`.
    pub interface: String,
    /// Packets that the ring holds. Links of 802.11s break below 3.
    #[schemars(range(min = 3, max = 65_536))]
    pub packets: u32,
}

impl Txq {
    pub(super) fn check(&self, at: &At) -> Result<(), PlanError> {
        at.name("phy", &self.phy)?;
        let given = [self.limit_packets, self.memory_limit_bytes, self.quantum_bytes];
        if given.iter().all(Option::is_none) {
            return Err(at.wrong_here(
                "sets nothing; give limit_packets, memory_limit_bytes or quantum_bytes",
            ));
        }
        at.maybe_within("limit_packets", self.limit_packets, 1..=1_000_000)?;
        at.maybe_within("memory_limit_bytes", self.memory_limit_bytes, 1518..=1_000_000_000)?;
        at.maybe_within("quantum_bytes", self.quantum_bytes, 256..=1 << 20)
    }
}

impl Edca {
    pub(super) fn check(&self, at: &At) -> Result<(), PlanError> {
        at.name("interface", &self.interface)?;
        if self.control.as_ref().is_some_and(|path| !path.starts_with('/') || path.contains('\0')) {
            return Err(at.wrong("control", "is no absolute path; give one, as /var/run/hostapd"));
        }
        if [self.aifsn, self.cw_min, self.cw_max, self.txop_us].iter().all(Option::is_none) {
            return Err(at.wrong_here("sets nothing; give aifsn, cw_min, cw_max or txop_us"));
        }
        // Stations may not use AIFSN 1 (802.11-2016, 9.4.2.29).
        at.maybe_within("aifsn", self.aifsn, 2..=15)?;
        windows(at, self.cw_min, self.cw_max)?;
        self.txop_us.map_or(Ok(()), |txop| check_txop(at, txop))
    }
}

impl OwnEdca {
    pub(super) fn check(&self, at: &At) -> Result<(), PlanError> {
        at.name("interface", &self.interface)?;
        at.within("aifsn", self.aifsn, 1..=15)?;
        windows(at, Some(self.cw_min), Some(self.cw_max))?;
        check_txop(at, self.txop_us)
    }
}

impl AirtimeWeight {
    pub(super) fn check(&self, at: &At) -> Result<(), PlanError> {
        at.name("interface", &self.interface)?;
        if self.station_address().is_none() {
            return Err(at.wrong(
                "station",
                format!("{:?} is no MAC address; give one, as 02:00:00:00:01:00", self.station),
            ));
        }
        at.within("weight", self.weight, 1..=65_535)
    }

    /// The station's address, if it is one.
    pub fn station_address(&self) -> Option<[u8; 6]> {
        mac_address(&self.station)
    }
}

/// A MAC address in a text such as `02:00:00:00:01:00`.
pub fn mac_address(text: &str) -> Option<[u8; 6]> {
    let mut address = [0; 6];
    let mut parts = text.split(':');
    for byte in &mut address {
        let part = parts.next().filter(|part| part.len() == 2)?;
        // from_str_radix would take a sign.
        let digits = part.bytes().all(|digit| digit.is_ascii_hexdigit());
        *byte = u8::from_str_radix(part, 16).ok().filter(|_| digits)?;
    }
    parts.next().is_none().then_some(address)
}

impl Aql {
    pub(super) fn check(&self, at: &At) -> Result<(), PlanError> {
        at.name("phy", &self.phy)?;
        at.within("limit_low_us", self.limit_low_us, 500..=1_000_000)?;
        at.within("limit_high_us", self.limit_high_us, self.limit_low_us..=1_000_000)
    }
}

impl Ring {
    /// Fewest packets of a ring: with fewer, mesh links of 802.11s break.
    pub const FEWEST: u32 = 3;
    /// Most packets of a ring.
    pub const MOST: u32 = 65_536;

    pub(super) fn check(&self, at: &At) -> Result<(), PlanError> {
        at.name("interface", &self.interface)?;
        at.within("packets", self.packets, Self::FEWEST..=Self::MOST)
    }
}

/// Contention windows are 2^n - 1, and CWmin is at most CWmax.
fn windows(at: &At, cw_min: Option<u32>, cw_max: Option<u32>) -> Result<(), PlanError> {
    for (key, value) in [("cw_min", cw_min), ("cw_max", cw_max)] {
        let Some(cw) = value else { continue };
        if cw > 32_767 || !(cw + 1).is_power_of_two() {
            return Err(at.wrong(
                key,
                format!("{cw} is not possible; give 2^n - 1 up to 32767, as 15 or 1023"),
            ));
        }
    }
    match (cw_min, cw_max) {
        (Some(least), Some(most)) if least > most => {
            Err(at.wrong("cw_min", format!("{least} is above cw_max, {most}; lower it")))
        }
        _ => Ok(()),
    }
}

fn check_txop(at: &At, txop_us: u32) -> Result<(), PlanError> {
    at.within("txop_us", txop_us, 0..=LONGEST_TXOP_US)?;
    if !txop_us.is_multiple_of(32) {
        let near = txop_us / 32 * 32;
        return Err(at.wrong(
            "txop_us",
            format!("{txop_us} is no multiple of 32, the standard's unit; give {near}"),
        ));
    }
    Ok(())
}
