//! What a queue discipline declares about itself, so that code that describes, checks or builds queues knows no
//! discipline by name.

use crate::droptail::DropFrom;
use crate::per_flow::QueuePer;
use airqueue_core::keys::{Layers, Result};
use airqueue_core::quantity::{Quantity, Size};
use airqueue_core::{BoxedQueue, Limit, RandomStream};
use schemars::JsonSchema;
use serde::Deserialize;

/// The parameters of a discipline. `Default` gives the parameters of a queue whose description sets none of them.
pub trait Parameters: Copy + Default {
    /// The keys of the discipline's table in a scenario, all of them optional; [`NoKeys`] if there is no table.
    type Table;
    /// The discipline's name in a sentence.
    const NAME: &'static str;
    /// A description of the discipline, in the words of the schema.
    const ABOUT: &'static str;
    /// Names in the short text form, besides the discipline's word, for some variants of the discipline.
    const SHORT: &'static [Short] = &[];

    /// The parameters that the discipline's tables describe.
    ///
    /// # Errors
    ///
    /// The key that is wrong, and why.
    fn check(tables: &Layers<'_, Self::Table>, around: &Around) -> Result<Self>;

    /// What other code may rely on.
    fn facts(&self) -> Facts;

    /// An empty queue.
    fn make(&self, place: Place) -> BoxedQueue;
}

/// The table of a discipline that has no keys of its own.
pub enum NoKeys {}

/// What a queue's description says besides the table of the discipline.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// The limit, if the description sets one.
    pub limit: Option<Limit>,
    /// What a full queue drops, for disciplines that leave this choice.
    pub drop_from: DropFrom,
    /// The link that the queue sends through.
    pub link: Link,
}

/// The link that a queue sends through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// The air.
    Air {
        /// The MAC aggregates several packets for a station.
        aggregates: bool,
    },
    /// A wired link, to one other node.
    Wire,
    /// A token bucket, to one other node.
    TokenBucket,
}

/// What a queue receives from its place in a network.
#[derive(Debug)]
pub struct Place {
    /// The hard limit; with a discipline that separates flows or links, the limit of each of them.
    pub limit: Limit,
    /// Bytes that the queue counts on top of each IP packet.
    pub link_layer: u32,
    /// The source of all random numbers of the queue: random decisions, and the keys of its hash.
    pub rng: RandomStream,
}

/// Whom a discipline follows where Linux departs from the RFC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Behaviour {
    /// The RFC.
    #[default]
    Rfc,
    /// Linux 6.1.
    Linux,
}

/// What other code may rely on, for a discipline with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The maximum that waits if the scenario sets no limit.
    pub limit: Limit,
    /// A second limit: the queue always has room for this much, whatever the discipline decides at run time. `None`:
    /// only the limit above applies.
    pub room: Option<Limit>,
    /// The number of queues that the discipline allocates, and the key in its table that sets this number.
    pub queues: Option<(&'static str, u32)>,
    /// The discipline has one queue per flow or per link, each with a limit of its own, which
    /// [`set_limit_of`](airqueue_core::LinkFeedback::set_limit_of) can change.
    pub apart: Option<QueuePer>,
    /// [`Around::drop_from`] sets what a full queue drops.
    pub drops_from: bool,
    /// Packets leave in the order of their arrival, and only the limit and [`Around::drop_from`] decide what is dropped.
    pub fifo: bool,
    /// The queue finds packets for a neighbour at any position, so that a MAC that aggregates needs no ring to search
    /// in.
    pub searched: bool,
    /// The discipline shares airtime, and holds packets back until the link reports how much airtime other packets
    /// took.
    pub shares_airtime: bool,
    /// The discipline holds packets back for a neighbour that sleeps
    /// ([`set_asleep`](airqueue_core::LinkFeedback::set_asleep)).
    pub holds_for_sleepers: bool,
    /// The discipline holds packets back by a rate of its own, even if the link would take them.
    pub shapes: bool,
    /// The queue may refuse a packet however often the packet is offered.
    pub refuses_for_ever: bool,
    /// The queue may drop packets that it has accepted: to make room, or at dequeue.
    pub drops_waiting: bool,
    /// The queue may be full below the limit.
    pub full_below_limit: bool,
}

impl Default for Facts {
    /// A queue with a limit of 1000 packets and none of the properties above.
    fn default() -> Facts {
        Facts {
            limit: Limit::Packets(1000),
            room: None,
            queues: None,
            apart: None,
            drops_from: false,
            fifo: false,
            searched: false,
            shares_airtime: false,
            holds_for_sleepers: false,
            shapes: false,
            refuses_for_ever: false,
            drops_waiting: false,
            full_below_limit: false,
        }
    }
}

/// A name in the short text form that says more than the name of the discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short {
    /// The name as written.
    pub word: &'static str,
    /// What the limit counts.
    pub counts: Counted,
    /// What a full queue drops.
    pub drop_from: DropFrom,
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
}

/// A key that several disciplines share: a limit in bytes, beside a limit in packets.
pub(crate) fn memory_limit(
    around: &Around,
) -> impl Fn(&Quantity<Size>) -> std::result::Result<u64, String> {
    let in_bytes = matches!(around.limit, Some(Limit::Bytes(_)));
    move |given| {
        if in_bytes {
            Err("limit is in bytes, and says the same; leave one of them out".to_owned())
        } else {
            Ok(u64::from(given.value))
        }
    }
}

/// Work done at intervals is caught up interval by interval after an idle time; shorter intervals would make this slow.
pub(crate) const LEAST_INTERVAL: airqueue_core::Span = airqueue_core::Span::from_millis(1);
/// With fewer bytes per turn most turns would pass without a packet, and each round of turns takes time.
pub(crate) const LEAST_QUANTUM: u32 = 64;
/// The maximum number of queues to which flows are hashed, as in Linux.
pub(crate) const MOST_FLOW_QUEUES: u32 = 65_536;
