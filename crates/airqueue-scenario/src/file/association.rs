//! The keys of stations that associate with access points.

use crate::quantity::{Duration, Quantity, Rate};
use schemars::JsonSchema;
use serde::Deserialize;

/// A station that exchanges the frames of an association with an access point before it sends and receives data: when it
/// begins, when it is back after it was out of reach, and when it roams.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AssociationTable {
    /// The first access point. The default is the only one that sends beacons.
    pub(crate) access_point: Option<String>,
    /// When the station begins, from the beginning of the warm-up. The default is `0 s`.
    pub(crate) at: Option<Quantity<Duration>>,
    /// How long the station looks for an access point, on other channels, before each association. The default is `0 s`.
    pub(crate) search: Option<Quantity<Duration>>,
    /// Whether four EAPOL-Key messages follow, by which both ends agree on keys (WPA2). The default is true.
    pub(crate) keys: Option<bool>,
    /// How long the station waits for the next frame of the access point before it begins anew. The default is `200 ms`, that of
    /// Linux's mac80211.
    pub(crate) timeout: Option<Quantity<Duration>>,
    /// Rate of these frames of both ends. The default is the slowest basic rate.
    pub(crate) rate: Option<Quantity<Rate>>,
    /// When the station leaves its access point for another one, by rising time. Flows by way of the one then go by way of the
    /// other: a wired link of any of these access points leads to all of them. By default the station stays.
    pub(crate) roams: Vec<RoamTable>,
}

/// A station leaves its access point for another one.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RoamTable {
    /// When, from the beginning of the warm-up.
    pub(crate) at: Quantity<Duration>,
    /// The other access point, which sends beacons.
    pub(crate) to: String,
}
