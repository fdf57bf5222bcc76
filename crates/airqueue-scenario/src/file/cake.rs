//! The keys of CAKE.

use crate::quantity::{Duration, Quantity, Rate, Size};
use airqueue_qdisc::{Diffserv, Isolation};
use schemars::JsonSchema;
use serde::Deserialize;

/// CAKE, as `tc qdisc add ... cake` has it, without its ACK filter.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CakeTable {
    /// The rate of its own shaper. The default is none: it sends whatever the link takes.
    pub(crate) rate: Option<Quantity<Rate>>,
    /// What counts on top of each IP packet against that rate. The default is `link_layer`.
    pub(crate) overhead: Option<Quantity<Size>>,
    /// What a packet costs the rate at least, overhead included. The default is `0 B`.
    pub(crate) mpu: Option<Quantity<Size>>,
    /// Which packets are served before others, by their DSCP. The default is diffserv3.
    pub(crate) tins: Option<TinsName>,
    /// Between whom it is fair. The default is triple-isolate.
    pub(crate) isolation: Option<IsolationName>,
    /// About the longest round-trip time of the flows. The default is `100 ms`.
    pub(crate) rtt: Option<Quantity<Duration>>,
    /// The largest packet with its link layer. The default is `1514 B`.
    pub(crate) mtu: Option<Quantity<Size>>,
    /// The most that all queues hold. The default is what the rate sends in four times `rtt`, 4 MiB at least.
    pub(crate) memory_limit: Option<Quantity<Size>>,
}

/// The tins of CAKE.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TinsName {
    /// One for all.
    Besteffort,
    /// Bulk, best effort, voice.
    Diffserv3,
    /// Bulk, best effort, video, voice.
    Diffserv4,
    /// Eight, by the classes of RFC 4594.
    Diffserv8,
    /// Eight, by the upper three bits.
    Precedence,
}

/// Between whom CAKE is fair.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum IsolationName {
    /// Nobody: one queue.
    Flowblind,
    /// Source hosts, each with a queue.
    Srchost,
    /// Destination hosts, each with a queue.
    Dsthost,
    /// Pairs of hosts, each with a queue.
    Hosts,
    /// Flows.
    Flows,
    /// Source hosts, and the flows of each.
    DualSrchost,
    /// Destination hosts, and the flows of each.
    DualDsthost,
    /// Flows, each by the busier of its hosts.
    TripleIsolate,
}

impl From<TinsName> for Diffserv {
    fn from(name: TinsName) -> Diffserv {
        match name {
            TinsName::Besteffort => Diffserv::BestEffort,
            TinsName::Diffserv3 => Diffserv::Diffserv3,
            TinsName::Diffserv4 => Diffserv::Diffserv4,
            TinsName::Diffserv8 => Diffserv::Diffserv8,
            TinsName::Precedence => Diffserv::Precedence,
        }
    }
}

impl From<IsolationName> for Isolation {
    fn from(name: IsolationName) -> Isolation {
        match name {
            IsolationName::Flowblind => Isolation::Blind,
            IsolationName::Srchost => Isolation::Source,
            IsolationName::Dsthost => Isolation::Destination,
            IsolationName::Hosts => Isolation::Hosts,
            IsolationName::Flows => Isolation::Flows,
            IsolationName::DualSrchost => Isolation::DualSource,
            IsolationName::DualDsthost => Isolation::DualDestination,
            IsolationName::TripleIsolate => Isolation::Triple,
        }
    }
}
