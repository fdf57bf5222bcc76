//! What a queue discipline says of itself, so that whoever describes, checks or builds queues needs to know none by name.

use crate::droptail::DropFrom;
use crate::per_flow::QueuePer;
use airqueue_core::keys::{Layers, Result};
use airqueue_core::quantity::{Quantity, Size};
use airqueue_core::{BoxedQueue, Limit, RandomStream};
use schemars::JsonSchema;
use serde::Deserialize;

/// The parameters of a discipline. `Default` are those of a queue of which nothing else is said.
pub trait Parameters: Copy + Default {
    /// The keys of its table in a scenario, every one of which may be left out; [`NoKeys`] if there is no table.
    type Table;
    /// What it is called in a sentence.
    const NAME: &'static str;
    /// What it is, in the words of the schema.
    const ABOUT: &'static str;
    /// Names of its own for some forms of it in the short text form, besides its word.
    const SHORT: &'static [Short] = &[];

    /// The parameters that tables of it stand for.
    ///
    /// # Errors
    ///
    /// What is wrong with a key.
    fn check(tables: &Layers<'_, Self::Table>, around: &Around) -> Result<Self>;

    /// What others may rely on.
    fn facts(&self) -> Facts;

    /// An empty queue.
    fn make(&self, place: Place) -> BoxedQueue;
}

/// The table of a discipline that has no keys of its own.
pub enum NoKeys {}

/// What a queue is told besides the table of its discipline.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// The limit, if one is given.
    pub limit: Option<Limit>,
    /// What it drops when it is full, for disciplines that leave a choice.
    pub drop_from: DropFrom,
    /// What it sends through.
    pub link: Link,
}

/// What a queue sends through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// The air.
    Air {
        /// The MAC puts several packets for a station into one frame.
        aggregates: bool,
    },
    /// A wired link, to one other node.
    Cable,
    /// A token bucket, to one other node.
    TokenBucket,
}

/// What a queue is given at its place in a network.
#[derive(Debug)]
pub struct Place {
    /// The hard limit; of a discipline that keeps flows or links apart, that of each.
    pub limit: Limit,
    /// Bytes that it counts on top of each IP packet.
    pub link_layer: u32,
    /// All its chance: lots, and the keys of its hash.
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

/// What others may rely on of a discipline with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The most that waits where no limit is given.
    pub limit: Limit,
    /// Another limit beside that: there is always room for so much, whatever it decides while it works. `None`: the limit alone.
    pub room: Option<Limit>,
    /// For how many queues memory is set aside, and the key in the queue's table that says so.
    pub queues: Option<(&'static str, u32)>,
    /// Queues that it keeps apart, each with the limit for itself, which [`set_limit_of`](airqueue_core::LinkFeedback::set_limit_of)
    /// can change.
    pub apart: Option<QueuePer>,
    /// What it drops when it is full is told by [`Around::drop_from`].
    pub drops_from: bool,
    /// It finds packets for one neighbour wherever they wait, so that a MAC that aggregates needs no ring to look in.
    pub searched: bool,
    /// It shares airtime, and holds packets back until the link reports how much others took.
    pub shares_airtime: bool,
    /// It holds packets back by a rate of its own, although the link would take them.
    pub shapes: bool,
    /// It may refuse a packet however often the packet is offered.
    pub refuses_for_ever: bool,
    /// It may drop what it has taken in: for room, or as packets leave.
    pub drops_waiting: bool,
    /// It may be full before the limit is reached.
    pub full_below_limit: bool,
}

impl Default for Facts {
    /// A queue with a limit of 1000 packets, and nothing special.
    fn default() -> Facts {
        Facts {
            limit: Limit::Packets(1000),
            room: None,
            queues: None,
            apart: None,
            drops_from: false,
            searched: false,
            shares_airtime: false,
            shapes: false,
            refuses_for_ever: false,
            drops_waiting: false,
            full_below_limit: false,
        }
    }
}

/// A name in the short text form that says more than the discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short {
    /// As it is written.
    pub word: &'static str,
    /// What its limit counts.
    pub counts: Counted,
    /// What it drops when it is full.
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

/// A key of several disciplines: a limit in bytes, which stands beside a limit in packets only.
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

/// What is done at intervals is made up for one by one when a queue has rested.
pub(crate) const LEAST_INTERVAL: airqueue_core::Span = airqueue_core::Span::from_millis(1);
/// A turn of fewer bytes would pass mostly without a packet, and rounds of turns take time.
pub(crate) const LEAST_QUANTUM: u32 = 64;
/// The most queues that flows are hashed to, as in Linux.
pub(crate) const MOST_FLOW_QUEUES: u32 = 65_536;
