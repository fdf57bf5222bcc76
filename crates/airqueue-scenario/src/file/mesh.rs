//! The keys of meshes.

use super::{FadingTable, RateTraceTable, ShadowingTable, SnrTraceTable};
use crate::quantity::{Decibels, FrameRate, Quantity};
use airqueue_core::keys::Table;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How routes over the air are computed, for flows without `via`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RoutingTable {
    /// The metric that the best route minimises.
    #[serde(default)]
    pub(crate) metric: MetricName,
    /// Whether there must be a route between all stations. Otherwise only flows need routes, and the network may be in
    /// parts. The default is true.
    #[serde(default = "yes")]
    pub(crate) connected: bool,
}

fn yes() -> bool {
    true
}

/// The metric that the best route minimises. Among equal routes the one with the fewest hops is best; among these the
/// one whose stations come first in the file, compared from the sender on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MetricName {
    /// Hops.
    #[default]
    Hops,
    /// The airtime link metric of IEEE 802.11 (14.9): for each hop the airtime of a frame of 8192 bits with all
    /// overhead, divided by the probability that the frame arrives.
    Airtime,
}

/// Settings of the links between stations.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RadioLinkTable {
    /// Two stations that hear each other. A group stands for each member that the other end hears; a group named twice
    /// stands for all links within the group. The last table about a link applies.
    pub(crate) between: [String; 2],
    /// Rate of the data frames between them, in both directions; it overrides the rates of the stations.
    pub(crate) rate: Option<FrameRate>,
    /// The recorded rate of the data frames between them, in both directions. Packets that the MAC holds keep the rate with
    /// which they were dequeued.
    pub(crate) rate_trace: Option<Table<RateTraceTable>>,
    /// The signal-to-noise ratio in both directions: the received power over `medium.noise`, which is that of 20 MHz. The
    /// default follows from the medium.
    pub(crate) snr: Option<Quantity<Decibels>>,
    /// The recorded signal-to-noise ratio, instead.
    pub(crate) snr_trace: Option<Table<SnrTraceTable>>,
    /// Slow fading. The default is that of the medium.
    pub(crate) shadowing: Option<Table<ShadowingTable>>,
    /// Fast fading. The default is that of the medium.
    pub(crate) fading: Option<Table<FadingTable>>,
}
