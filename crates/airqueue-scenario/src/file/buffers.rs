//! The keys of buffers shared by the nodes of a collision domain.

use crate::quantity::{Duration, Packets, Quantity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Buffers shared by the nodes of a collision domain, whose limits are set during the run (Jamshaid and others, 2015):
/// B packets for the collision domain that limits a flow, divided among the nodes of the flow in it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BuffersTable {
    /// Who computes the limits. The default is observer.
    pub(crate) decided_by: DeciderName,
    /// The collision domain that limits a flow. The default is two-hop.
    pub(crate) domains: DomainsName,
    /// The rate in B = round-trip time · rate. The default is link-rates.
    pub(crate) carrying: CarryingName,
    /// How B is divided among the nodes. The default is ratio.
    pub(crate) allocation: AllocationName,
    /// How buffers are rounded to whole packets. The default is nearest.
    pub(crate) rounding: RoundingName,
    /// The queues whose limits are set. The default is node.
    pub(crate) limit_per: LimitedName,
    /// The limit at the source of a flow. The default is first.
    pub(crate) source: SourceQueueName,
    /// Time between two samples of rates, flows and the use of the medium. The default is `100 ms`.
    pub(crate) sample_interval: Quantity<Duration>,
    /// Longest time between two computations of the limits. The default is `10 s`.
    pub(crate) refresh_interval: Quantity<Duration>,
    /// Least change of any limit for which the limits are set anew. The default is `1 packets`.
    pub(crate) min_change: Quantity<Packets>,
    /// How long a raised limit is kept. The default is `30 s`.
    pub(crate) hold_time: Quantity<Duration>,
}

impl Default for BuffersTable {
    fn default() -> BuffersTable {
        BuffersTable {
            decided_by: DeciderName::default(),
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

/// Who computes limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DeciderName {
    /// An observer, who sees the whole network at once.
    #[default]
    Observer,
    /// Every station by itself, from messages of its neighbours that take airtime.
    Routers,
}

/// How the collision domain that limits a flow is found.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DomainsName {
    /// By the rates of links, where links with ends in range of each other share a domain: the domain that max-min fair
    /// rates saturate.
    #[default]
    TwoHop,
    /// The domain at whose nodes the medium is busy for 90 % of the time.
    Busy,
}

/// The rate in B.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CarryingName {
    /// The rate of the slowest link in the domain, which no flow exceeds.
    #[default]
    LinkRates,
    /// The measured throughput of the flows.
    FlowRates,
}

/// A rule that divides B among nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AllocationName {
    /// In proportion to the square roots of the hops from the source: Eq. (16).
    #[default]
    Ratio,
    /// The least cost of drops.
    Optimum,
    /// Eq. (15) as it is printed.
    Printed,
    /// Equal shares.
    Equal,
    /// The smallest share at the first node, where drops cost least.
    FirstHop,
    /// The least cost of drops, weighted by hops times the link's airtime.
    Airtime,
    /// The least cost of drops, weighted by the airtime of the route up to the drop.
    AirtimePath,
}

/// How buffers are rounded to whole packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RoundingName {
    /// To the nearest; the sum may change.
    #[default]
    Nearest,
    /// Up for the largest remainders and down for the others, so that the sum stays.
    LargestRemainder,
    /// The whole packets of least cost, for the rules that minimise a cost.
    Best,
}

/// The queues whose limits are set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LimitedName {
    /// Every station's queue.
    #[default]
    Node,
    /// Every flow's queue at each station, where the discipline keeps flows apart.
    Flow,
}

/// The limit at the source of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SourceQueueName {
    /// The first of the buffers.
    #[default]
    First,
    /// The source keeps its own limit; the buffers are those of the nodes behind the source.
    Separate,
}
