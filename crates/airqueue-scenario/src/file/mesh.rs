//! The keys of meshes.

use crate::quantity::FrameRate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How flows find their routes over the air: those without `via`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RoutingTable {
    /// What the best way has least of.
    #[serde(default)]
    pub(crate) metric: MetricName,
    /// Whether there must be a route between all stations. Otherwise parts may stand alone, and only the flows need ways.
    /// The default is true.
    #[serde(default = "yes")]
    pub(crate) connected: bool,
}

fn yes() -> bool {
    true
}

/// What the best way has least of. Of ways that are equal in it the one with the fewest hops is best, and of these the
/// one whose stations stand first in the file, where the one next to the sender counts first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MetricName {
    /// Hops.
    #[default]
    Hops,
    /// The airtime link metric of IEEE 802.11 (14.9): for each hop what a frame of 8192 bits takes with all that is around
    /// it, divided by the probability that it arrives.
    Airtime,
}

/// What is special about links between stations.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RadioLinkTable {
    /// Two stations that hear each other. A group stands for each of its members that the other hears, and the same group
    /// twice for all links within it. Of several tables for a link the last one holds.
    pub(crate) between: [String; 2],
    /// Rate of the data frames between them, in both directions, whatever the stations' are.
    pub(crate) rate: FrameRate,
}
