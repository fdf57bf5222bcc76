//! The keys of changes during a run.

use super::CategoryName;
use crate::quantity::{Duration, FrameRate, Length, Quantity, QueueLimit, Rate, TxopLimit};
use airqueue_qdisc::QueueGiven;
use schemars::JsonSchema;
use serde::Deserialize;

/// A change at a given time: of a link, of stations, of the wired links of hosts, or of the route of a flow.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeTable {
    /// Time of the change, from the beginning of the warm-up.
    pub(crate) at: Quantity<Duration>,
    /// Two stations that send to each other: the rate of the data frames between them changes, in both directions and
    /// for every flow over the hop.
    pub(crate) link: Option<[String; 2]>,
    /// The new rate: of the data frames of a link, of the data frames to and from a station, or of the wired link of a
    /// host, in both directions.
    pub(crate) rate: Option<FrameRate>,
    /// With `host`: the new rate of the wired link towards the host. The default is `rate`, if given.
    pub(crate) rate_to_host: Option<Quantity<Rate>>,
    /// A station, or the members of a group: the rate of their data frames changes, or the limit of their queues, or
    /// they go out of reach, or a station moves.
    pub(crate) station: Option<String>,
    /// The new limit. Packets already in the queue stay, even above the limit.
    pub(crate) queue_limit: Option<Quantity<QueueLimit>>,
    /// The new queues of the station, by themselves: a key that is left out has its default. Packets that wait leave
    /// first, by the old discipline.
    pub(crate) queue: Option<QueueGiven>,
    /// The new limit of the station's TXOPs, from its next TXOP on: a time or packets, not `flows`.
    pub(crate) txop: Option<Quantity<TxopLimit>>,
    /// The new AIFSN of the station, from its next backoff on, or the next packet that needs none.
    #[schemars(range(min = 1))]
    pub(crate) aifsn: Option<u32>,
    /// With `cw_max`: the largest value of the station's first backoff, from its next backoff on.
    pub(crate) cw_min: Option<u32>,
    /// With `cw_min`: the largest value of any of the station's backoffs, from its next backoff on.
    pub(crate) cw_max: Option<u32>,
    /// With `txop`, `aifsn` or `cw_min`: the access category. The default is be.
    pub(crate) category: Option<CategoryName>,
    /// Whether the station is out of reach of all others from now on. Its packets wait in its queues; packets for the
    /// station are repeated and given up.
    pub(crate) away: Option<bool>,
    /// The new position of the station: who hears and senses whom changes, and the powers. Routes and rates stay.
    pub(crate) position: Option<[Quantity<Length>; 2]>,
    /// A host, or the members of a group: their wired links change, in both directions.
    pub(crate) host: Option<String>,
    /// The new delay of a wired link, for packets that are serialised from now on. Packets stay in order.
    pub(crate) delay: Option<Quantity<Duration>>,
    /// The new probability that a packet is lost in a wired link.
    #[schemars(range(min = 0, max = 1))]
    pub(crate) loss: Option<f64>,
    /// With `station`: only the queue of this flow changes, where drr keeps flows or links apart. For TCP: the queue of
    /// the data. With `via`: the flow takes another route.
    pub(crate) flow: Option<String>,
    /// The stations that relay the flow's packets from now on, in order; acknowledgements take the reverse route. An
    /// empty list: directly to the other end.
    pub(crate) via: Option<Vec<String>>,
}
