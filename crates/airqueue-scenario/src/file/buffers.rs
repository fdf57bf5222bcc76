//! The keys of buffers that the nodes of a collision domain hold together.

use crate::quantity::{Duration, Packets, Quantity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the limits of queues are set while a network of several hops runs (Jamshaid and others, 2015): B packets for the collision
/// domain that limits a flow, divided among the nodes of the flow in it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BuffersTable {
    /// Which collision domain limits a flow. The default is two-hop.
    pub(crate) domains: DomainsName,
    /// What a flow can reach, for B = round-trip time · rate. The default is link-rates.
    pub(crate) carrying: CarryingName,
    /// How B is divided among the nodes. The default is ratio.
    pub(crate) allocation: AllocationName,
    /// How buffers become whole packets. The default is nearest.
    pub(crate) rounding: RoundingName,
    /// Whose limits are set. The default is node.
    pub(crate) limit_per: LimitedName,
    /// What the source of a flow has. The default is first.
    pub(crate) source: SourceQueueName,
    /// How often nodes look whether rates, flows or the use of the medium have changed. The default is `100 ms`.
    pub(crate) sample_interval: Quantity<Duration>,
    /// After what time limits are computed anew although nothing has changed. The default is `10 s`.
    pub(crate) refresh_interval: Quantity<Duration>,
    /// New limits are set if one of them differs by so much. The default is `1 packets`.
    pub(crate) min_change: Quantity<Packets>,
    /// For how long a limit that was raised is not set back. The default is `30 s`.
    pub(crate) hold_time: Quantity<Duration>,
}

impl Default for BuffersTable {
    fn default() -> BuffersTable {
        BuffersTable {
            domains: DomainsName::default(),
            carrying: CarryingName::default(),
            allocation: AllocationName::default(),
            rounding: RoundingName::default(),
            limit_per: LimitedName::default(),
            source: SourceQueueName::default(),
            sample_interval: Quantity::of("100 ms"),
            refresh_interval: Quantity::of("10 s"),
            min_change: Quantity::of("1 packets"),
            hold_time: Quantity::of("30 s"),
        }
    }
}

/// How the collision domain that limits a flow is found.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DomainsName {
    /// By the rates of links that have an end within reach of another's: the one that max-min fair rates fill.
    #[default]
    TwoHop,
    /// The one at whose nodes the medium is busy for 90 % of the time.
    Busy,
}

/// What the rate in B is.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CarryingName {
    /// That of the slowest link in the domain: what no flow exceeds.
    #[default]
    LinkRates,
    /// What flows are seen to carry.
    FlowRates,
}

/// A rule that divides B among nodes.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AllocationName {
    /// As the roots of the hops from the source: Eq. (16).
    #[default]
    Ratio,
    /// The least cost of drops.
    Optimum,
    /// Eq. (15) as it is printed.
    Printed,
    /// The same for all.
    Equal,
    /// The least at the first node, where drops cost least.
    FirstHop,
    /// The least cost of drops that weigh as hops times the link's airtime.
    Airtime,
    /// The least cost of drops that weigh as the airtime of the way so far.
    AirtimePath,
}

/// How buffers become whole packets.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RoundingName {
    /// To the nearest; the sum may change.
    #[default]
    Nearest,
    /// Those with the largest remainders upwards, so that the sum stays.
    LargestRemainder,
    /// The whole packets of least cost, for the rules that minimise one.
    Best,
}

/// Whose limits are set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LimitedName {
    /// Every station's queue.
    #[default]
    Node,
    /// Every flow's at each station, where the discipline keeps flows apart.
    Flow,
}

/// What the source of a flow has.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SourceQueueName {
    /// The first of the buffers.
    #[default]
    First,
    /// Its own limit; the buffers are those of the nodes behind it.
    Separate,
}
