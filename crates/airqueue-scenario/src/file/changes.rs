//! The keys of changes during a run.

use crate::quantity::{Duration, FrameRate, Quantity, QueueLimit};
use schemars::JsonSchema;
use serde::Deserialize;

/// A change at a given time: of the rate of a link, of the limit of queues, or of the route of a flow.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeTable {
    /// Time of the change, from the beginning of the warm-up.
    pub(crate) at: Quantity<Duration>,
    /// Two stations that send to each other: the rate of the data frames between them changes, in both directions and
    /// for every flow over the hop.
    pub(crate) link: Option<[String; 2]>,
    /// The new rate.
    pub(crate) rate: Option<FrameRate>,
    /// A station, or the members of a group: the limit of their queues changes.
    pub(crate) station: Option<String>,
    /// The new limit. Packets already in the queue stay, even above the limit.
    pub(crate) queue_limit: Option<Quantity<QueueLimit>>,
    /// With `station`: only the queue of this flow changes, where drr keeps flows or links apart. For TCP: the queue of
    /// the data. With `via`: the flow takes another route.
    pub(crate) flow: Option<String>,
    /// The stations that relay the flow's packets from now on, in order; acknowledgements take the reverse route. An
    /// empty list: directly to the other end.
    pub(crate) via: Option<Vec<String>>,
}
