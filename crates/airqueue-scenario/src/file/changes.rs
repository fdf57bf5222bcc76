//! The keys of what changes during a run.

use crate::quantity::{Duration, FrameRate, Quantity, QueueLimit};
use schemars::JsonSchema;
use serde::Deserialize;

/// A change at a given time: of the rate of a link, of the limit of queues, or of the route of a flow.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeTable {
    /// When, counted from the beginning of the warm-up.
    pub(crate) at: Quantity<Duration>,
    /// Two stations that send to each other: the rate of the data frames between them changes, in both directions and of
    /// every flow that takes the hop.
    pub(crate) link: Option<[String; 2]>,
    /// To what the rate changes.
    pub(crate) rate: Option<FrameRate>,
    /// A station, or the members of a group: the limit of their queues changes.
    pub(crate) station: Option<String>,
    /// To what the limit changes. Packets that wait stay, also beyond it.
    pub(crate) queue_limit: Option<Quantity<QueueLimit>>,
    /// With `station`: only the queue of this flow changes, where drr keeps flows or links apart. Of TCP it is that of the data.
    /// With `via`: the flow takes another way.
    pub(crate) flow: Option<String>,
    /// The stations that pass on what the flow sends from now on, in their order; acknowledgements go back the same way. None of
    /// them: straight to the other end.
    pub(crate) via: Option<Vec<String>>,
}
