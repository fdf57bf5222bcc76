//! The keys of channel access.

use crate::quantity::{Duration, Quantity, Rate, Size, TxopLimit};
use airqueue_core::keys::Table;
use airqueue_wifi::contention::CountdownRule;
use airqueue_wifi::phy::{EdcaEdition, EdcaRole, Protection};
use schemars::JsonSchema;
use serde::Deserialize;

/// Channel access. A key that is left out of a station's table is taken from the table of all stations.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MacTable {
    /// One queue, or one for each access category. The default is dcf; from 802.11n on, whose stations all
    /// have QoS, it is edca.
    pub(crate) access: Option<AccessName>,
    /// RTS and CTS precede data frames whose PSDU (IP packet, LLC, MAC header, FCS) has more bytes than
    /// this. The default is never; `0 B` is always.
    pub(crate) rts_threshold: Option<Quantity<Size>>,
    /// Largest number of transmissions of an RTS, or of a data frame without RTS. The default is 7.
    #[schemars(range(min = 1))]
    pub(crate) short_retry_limit: Option<u32>,
    /// Largest number of transmissions of a data frame after RTS and CTS. The default is 4.
    #[schemars(range(min = 1))]
    pub(crate) long_retry_limit: Option<u32>,
    /// Protection of data frames without RTS. The default is none.
    pub(crate) protection: Option<ProtectionName>,
    /// Rate of RTS, and of CTS to oneself. The default is the rate of the response to the data frame. Stations that know DSSS alone
    /// cannot decode a response rate of OFDM: to protect from these stations give `"11 Mb/s"`, which `airqueue model` assumes.
    pub(crate) protection_rate: Option<Quantity<Rate>>,
    /// Several packets in one frame, from 802.11n on.
    pub(crate) aggregation: Option<Table<AggregationTable>>,
    /// Lifetime of a packet in a frame that may have several packets, from the moment when the MAC took the packet;
    /// such packets have no retry limit. The default is 512 ms.
    pub(crate) lifetime: Option<Quantity<Duration>>,
    /// Allows settings outside the standard: AIFSN above 15, any contention window, the other countdown rule.
    pub(crate) experimental: Option<bool>,
    /// The parameters of DCF.
    pub(crate) dcf: Option<Table<DcfTable>>,
    /// The parameters of EDCA.
    pub(crate) edca: Option<Table<EdcaTable>>,
}

/// A channel access function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AccessName {
    /// Distributed coordination function: one queue.
    Dcf,
    /// Enhanced distributed channel access: four queues, one for each access category.
    Edca,
}

/// A-MPDUs with block ack, as a station sends them.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AggregationTable {
    /// Whether the station sends A-MPDUs. The default is true.
    pub(crate) enabled: Option<bool>,
    /// Size of the largest A-MPDU. The default is the largest that the standard allows: 65535 B for 802.11n, 1048575 B
    /// for ac, 6500631 B for ax (524287 B at 2.4 GHz). No frame lasts longer than 5.484 ms.
    pub(crate) max_size: Option<Quantity<Size>>,
    /// Largest number of packets without a block ack. The default is the standard's: 64, and 256 for ax.
    #[schemars(range(min = 1, max = 256))]
    pub(crate) window: Option<u32>,
}

/// Channel access of a station without QoS.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DcfTable {
    /// Slots that a station waits after SIFS. The default is 2: DIFS.
    #[schemars(range(min = 1))]
    pub(crate) aifsn: Option<u32>,
    /// The largest value of the first backoff, CWmin: one less than a power of two, such as 15 or 31. The
    /// default is the layer's.
    pub(crate) cw_min: Option<u32>,
    /// The largest value of any backoff, CWmax. The default is the layer's, 1023.
    pub(crate) cw_max: Option<u32>,
    /// When a backoff counter above zero counts down. The default is freeze.
    pub(crate) countdown: Option<CountdownName>,
}

/// Channel access of a station with QoS.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EdcaTable {
    /// Edition of the standard from which the default TXOP limits are. The default is 2005.
    pub(crate) edition: Option<EditionName>,
    /// The role whose default parameters apply. The default is station.
    pub(crate) role: Option<RoleName>,
    /// Background.
    pub(crate) bk: Option<Table<CategoryTable>>,
    /// Best effort.
    pub(crate) be: Option<Table<CategoryTable>>,
    /// Video.
    pub(crate) vi: Option<Table<CategoryTable>>,
    /// Voice.
    pub(crate) vo: Option<Table<CategoryTable>>,
}

/// Channel access of an access category. Keys left out have the defaults of the edition and the role.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CategoryTable {
    /// AIFSN: AIFS is SIFS and this number of slots.
    #[schemars(range(min = 1))]
    pub(crate) aifsn: Option<u32>,
    /// The largest value of the first backoff, CWmin: one less than a power of two, such as 15 or 31.
    pub(crate) cw_min: Option<u32>,
    /// The largest value of any backoff, CWmax.
    pub(crate) cw_max: Option<u32>,
    /// How long the queue may hold the medium after a grant: a time, or a number of packets. `0 us` is one frame
    /// exchange; `flows` is as many packets as there are flows with packets in the queue at the time.
    pub(crate) txop: Option<Quantity<TxopLimit>>,
    /// When a backoff counter above zero counts down. The default is edca.
    pub(crate) countdown: Option<CountdownName>,
}

/// When a backoff counter above zero counts down.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CountdownName {
    /// At every slot boundary after AIFS, also at the one where another station begins to transmit.
    Edca,
    /// Only when the slot has passed idle.
    Freeze,
}

/// An edition of IEEE 802.11.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub(crate) enum EditionName {
    /// The limits of 802.11e: none for BK and BE.
    #[serde(rename = "2005")]
    Ieee2005,
    /// Longer for OFDM, and limits for BK and BE too.
    #[serde(rename = "2016")]
    Ieee2016,
}

/// A role with EDCA parameters.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RoleName {
    /// The parameters that an access point announces to its stations.
    Station,
    /// The parameters that many access points use themselves: AIFSN 1 for VI and VO.
    AccessPoint,
}

/// Frames before a data frame that set the NAV of other stations.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ProtectionName {
    /// No frame.
    None,
    /// A CTS to oneself.
    CtsToSelf,
    /// RTS and CTS.
    RtsCts,
}

impl From<ProtectionName> for Protection {
    fn from(name: ProtectionName) -> Protection {
        match name {
            ProtectionName::None => Protection::None,
            ProtectionName::CtsToSelf => Protection::CtsToSelf,
            ProtectionName::RtsCts => Protection::RtsCts,
        }
    }
}

impl From<CountdownName> for CountdownRule {
    fn from(name: CountdownName) -> CountdownRule {
        match name {
            CountdownName::Edca => CountdownRule::Edca,
            CountdownName::Freeze => CountdownRule::Freeze,
        }
    }
}

impl From<EditionName> for EdcaEdition {
    fn from(name: EditionName) -> EdcaEdition {
        match name {
            EditionName::Ieee2005 => EdcaEdition::Ieee2005,
            EditionName::Ieee2016 => EdcaEdition::Ieee2016,
        }
    }
}

impl From<RoleName> for EdcaRole {
    fn from(name: RoleName) -> EdcaRole {
        match name {
            RoleName::Station => EdcaRole::Station,
            RoleName::AccessPoint => EdcaRole::AccessPoint,
        }
    }
}
