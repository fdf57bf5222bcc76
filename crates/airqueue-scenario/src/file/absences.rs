//! The keys of stations that scan, and of stations that go out of reach.

use crate::quantity::{Duration, Quantity};
use schemars::JsonSchema;
use serde::Deserialize;

/// The station looks for other access points now and then, on other channels. There it neither hears nor sends.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScansTable {
    /// From one scan to the next.
    pub(crate) period: Quantity<Duration>,
    /// Number of other channels. The default is 12: the others of the 13 channels at 2.4 GHz.
    #[schemars(range(min = 1, max = 1000))]
    pub(crate) channels: Option<u32>,
    /// How long the station stays on each of these channels. The default is `60 ms`, that of Linux's mac80211 with probe requests.
    pub(crate) dwell: Option<Quantity<Duration>>,
    /// How many channels the station visits before it is back on its own. The default is 2: as many of 60 ms as Linux's
    /// mac80211 visits within 125 ms.
    #[schemars(range(min = 1))]
    pub(crate) at_once: Option<u32>,
    /// How long the station is back on its own channel before it leaves for the next ones. The default is `200 ms`, that of
    /// Linux's mac80211.
    pub(crate) home: Option<Quantity<Duration>>,
    /// When the first scan is due. The default is drawn from the first period, for each station and replication.
    pub(crate) first: Option<Quantity<Duration>>,
    /// Largest random delay of each scan. Delays do not add up. The default is `0 s`.
    pub(crate) jitter: Option<Quantity<Duration>>,
    /// Whether the station tells its access point by null frames that it leaves and that it is back, so that the access
    /// point keeps its packets. The default is true; access points tell nobody.
    pub(crate) tells: Option<bool>,
    /// The access point that the station tells. The default is that of `power_save`, or the only one that sends beacons.
    pub(crate) access_point: Option<String>,
}

/// The station goes out of reach of all others now and then, without telling its access point.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeparturesTable {
    /// From one departure to the next.
    pub(crate) period: Quantity<Duration>,
    /// How long the station is out of reach.
    pub(crate) lasts: Quantity<Duration>,
    /// When the first departure is due. The default is drawn from the first period, for each station and replication.
    pub(crate) first: Option<Quantity<Duration>>,
    /// Largest random delay of each departure. Delays do not add up. The default is `0 s`.
    pub(crate) jitter: Option<Quantity<Duration>>,
}
