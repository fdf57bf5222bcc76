//! The keys of queues and their disciplines.

use super::cake::CakeTable;
use crate::quantity::{Duration, Packets, Quantity, QueueLimit, Rate, Size};
use airqueue_core::keys::Table;
use airqueue_qdisc::{Behaviour, DropFrom, KeptApart, RdqmWeight};
use schemars::JsonSchema;
use serde::Deserialize;

/// A queue of packets that wait for the MAC, which holds one more. A key that is left out of a station's
/// table is taken from the table of all stations.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct QueueTable {
    /// What decides what is dropped and what leaves next. The default is droptail. The table of the same
    /// name has its parameters.
    pub(crate) discipline: Option<DisciplineName>,
    /// The most that waits in the queue, in packets or in bytes of IP packets; with drr of each flow or link. The
    /// default is `50 packets` for droptail, drr and rdqm, `10240 packets` for fq_codel, `8192 packets` for mac80211, `127 packets` for
    /// sfq, that of its memory for cake, and `1000 packets` for the others.
    pub(crate) limit: Option<Quantity<QueueLimit>>,
    /// What a full queue of droptail or drr drops. The default is the arriving packet: tail.
    pub(crate) drop_from: Option<DropFromName>,
    /// Packets of a driver ring between the queue and the MAC. The default is `0 packets`, there is
    /// none; behind codel, fq_codel, red, pie, sfq, cake and adaptive it is `64 packets` where the MAC aggregates: what it finds packets for
    /// one receiver in.
    pub(crate) ring: Option<Quantity<Packets>>,
    /// What counts on top of each IP packet wherever the queue counts bytes. The default is `0 B`; Linux
    /// counts the 14 B of an Ethernet header.
    pub(crate) link_layer: Option<Quantity<Size>>,
    /// The parameters of CoDel.
    pub(crate) codel: Option<Table<CodelTable>>,
    /// The parameters of FQ-CoDel.
    pub(crate) fq_codel: Option<Table<FqCodelTable>>,
    /// The parameters of RED.
    pub(crate) red: Option<Table<RedTable>>,
    /// The parameters of PIE.
    pub(crate) pie: Option<Table<PieTable>>,
    /// The parameters of SFQ.
    pub(crate) sfq: Option<Table<SfqTable>>,
    /// The parameters of CAKE.
    pub(crate) cake: Option<Table<CakeTable>>,
    /// The parameters of deficit round robin.
    pub(crate) drr: Option<Table<DrrTable>>,
    /// The parameters of the adaptive limit.
    pub(crate) adaptive: Option<Table<AdaptiveTable>>,
    /// The parameters of RDQM.
    pub(crate) rdqm: Option<Table<RdqmTable>>,
    /// The parameters of the queues of mac80211.
    pub(crate) mac80211: Option<Table<Mac80211Table>>,
}

/// A queue discipline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DisciplineName {
    /// First come, first served, up to the limit.
    #[default]
    #[serde(rename = "droptail")]
    DropTail,
    /// CoDel (RFC 8289): drops at the head while the delay stays above a target.
    Codel,
    /// FQ-CoDel (RFC 8290): a queue under CoDel for each flow, new flows first.
    FqCodel,
    /// RED (Floyd and Jacobson, 1993): drops arrivals by the average length of the queue.
    Red,
    /// PIE (RFC 8033): drops arrivals so that the delay stays at a target.
    Pie,
    /// SFQ (McKenney, 1990), as in Linux: flows hashed to queues that take turns, and drops from the longest.
    Sfq,
    /// CAKE (Høiland-Jørgensen and others, 2018), as in Linux: a shaper, classes by DSCP, fairness among hosts and flows, and COBALT.
    Cake,
    /// A queue for each flow, or for each link, served by deficit round robin (Shreedhar and Varghese, 1995).
    Drr,
    /// Drop-tail with a limit of rate · RTT / √n for the n flows that are active.
    Adaptive,
    /// RDQM (Kliazovich and others, 2011): the limit is divided among flows by what their receivers report.
    Rdqm,
    /// The queues of Linux's mac80211: FQ-CoDel for each station, stations take turns by airtime, and the
    /// airtime handed to the MAC is limited.
    Mac80211,
}

/// What a full queue drops.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DropFromName {
    /// The packet that arrives.
    Tail,
    /// The oldest packets.
    Head,
}

/// Whom a discipline follows where Linux departs from the RFC.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum QueueBehaviour {
    /// The RFC.
    Rfc,
    /// Linux 6.1.
    Linux,
}

/// CoDel, as `tc qdisc add ... codel` has it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CodelTable {
    /// The acceptable standing delay. The default is `5 ms`.
    pub(crate) target: Option<Quantity<Duration>>,
    /// How long the delay must have been above the target. The default is `100 ms`.
    pub(crate) interval: Option<Quantity<Duration>>,
    /// A backlog of so much is never too long. The default is `1514 B`.
    pub(crate) mtu: Option<Quantity<Size>>,
    /// Marks ECN-capable packets and does not drop them. The default is false.
    pub(crate) ecn: Option<bool>,
    /// Also marks every ECN-capable packet that has waited longer than this. The default is never.
    pub(crate) ce_threshold: Option<Quantity<Duration>>,
    /// How the rate of drops is computed: as the RFC has it or as Linux does. The default is rfc.
    pub(crate) behaviour: Option<QueueBehaviour>,
}

/// FQ-CoDel, as `tc qdisc add ... fq_codel` has it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FqCodelTable {
    /// The acceptable standing delay of a flow. The default is `5 ms`.
    pub(crate) target: Option<Quantity<Duration>>,
    /// How long the delay must have been above the target. The default is `100 ms`.
    pub(crate) interval: Option<Quantity<Duration>>,
    /// A backlog of so much, of all flows, is never too long. The default is `1514 B`.
    pub(crate) mtu: Option<Quantity<Size>>,
    /// Marks ECN-capable packets and does not drop them. The default is true.
    pub(crate) ecn: Option<bool>,
    /// Also marks every ECN-capable packet that has waited longer than this. The default is never.
    pub(crate) ce_threshold: Option<Quantity<Duration>>,
    /// How the rate of drops is computed: as the RFC has it or as Linux does. The default is rfc.
    pub(crate) behaviour: Option<QueueBehaviour>,
    /// Number of queues to which flows are hashed. The default is 1024.
    #[schemars(range(min = 1, max = 65_536))]
    pub(crate) flows: Option<u32>,
    /// What a queue sends in one turn. The default is `1514 B`.
    pub(crate) quantum: Option<Quantity<Size>>,
    /// The most that all queues hold, beside a limit in packets. The default is `33554432 B`.
    pub(crate) memory_limit: Option<Quantity<Size>>,
    /// The most that is dropped at once when they are full. The default is `64 packets`.
    pub(crate) drop_batch: Option<Quantity<Packets>>,
}

/// RED.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RedTable {
    /// The average length below which nothing is dropped, in packets or bytes. The default is `5 packets`.
    pub(crate) min: Option<Quantity<QueueLimit>>,
    /// The average length from which everything is, in the same unit. The default is three times min.
    pub(crate) max: Option<Quantity<QueueLimit>>,
    /// The probability as the average comes to max. The default is 0.02.
    #[schemars(range(min = 0, max = 1))]
    pub(crate) probability: Option<f64>,
    /// The weight of the present length in the average. The default is 0.002.
    #[schemars(range(max = 1))]
    pub(crate) weight: Option<f64>,
    /// Instead of weight: the weight for which tc lets a burst of so much pass.
    pub(crate) burst: Option<Quantity<Packets>>,
    /// Between max and its double the probability grows to 1. The default is false.
    pub(crate) gentle: Option<bool>,
    /// Marks ECN-capable packets and does not drop them. The default is false.
    pub(crate) ecn: Option<bool>,
    /// Drops also these where everything is dropped. The default is false.
    pub(crate) hard_drop: Option<bool>,
    /// The probability is in proportion to a packet's size. The default is false.
    pub(crate) by_size: Option<bool>,
    /// The mean size of packets. The default is `1000 B`.
    pub(crate) mean_packet: Option<Quantity<Size>>,
    /// The rate of the link, for idle times. The default is `10 Mb/s`.
    pub(crate) rate: Option<Quantity<Rate>>,
}

/// PIE.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PieTable {
    /// The delay that is aimed at. The default is `15 ms`.
    pub(crate) target: Option<Quantity<Duration>>,
    /// How often the probability is computed. The default is `15 ms`.
    pub(crate) update: Option<Quantity<Duration>>,
    /// Per second, how much the distance from the target moves the probability. The default is 0.125.
    #[schemars(range(min = 0, max = 1000))]
    pub(crate) alpha: Option<f64>,
    /// Per second, how much a change of the delay does. The default is 1.25.
    #[schemars(range(min = 0, max = 1000))]
    pub(crate) beta: Option<f64>,
    /// How long a burst is let through. The default is `150 ms`.
    pub(crate) max_burst: Option<Quantity<Duration>>,
    /// Marks ECN-capable packets and does not drop them. The default is false.
    pub(crate) ecn: Option<bool>,
    /// The probability above which also these are dropped. The default is 0.1.
    #[schemars(range(min = 0, max = 1))]
    pub(crate) mark_up_to: Option<f64>,
    /// The probability is in proportion to a packet's size. The default is false.
    pub(crate) by_size: Option<bool>,
    /// The mean size of packets; twice as much is never too long. The default is `1024 B`.
    pub(crate) mean_packet: Option<Quantity<Size>>,
    /// Spreads the drops evenly. The default is true.
    pub(crate) derandomize: Option<bool>,
    /// Whom it follows where they differ: the RFC or Linux. The default is rfc.
    pub(crate) behaviour: Option<QueueBehaviour>,
}

/// SFQ, as `tc qdisc add ... sfq` has it, without its RED mode.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SfqTable {
    /// What a queue sends in one turn. The default is `1514 B`.
    pub(crate) quantum: Option<Quantity<Size>>,
    /// The most packets of one queue. The default is 127.
    #[schemars(range(min = 1, max = 127))]
    pub(crate) depth: Option<u32>,
    /// The most queues that hold packets at the same time. The default is 128.
    #[schemars(range(min = 1, max = 65_408))]
    pub(crate) flows: Option<u32>,
    /// Number of places of the hash; more flows than places share queues. The default is 1024.
    #[schemars(range(min = 1, max = 65_536))]
    pub(crate) divisor: Option<u32>,
    /// A queue that is too long drops its oldest packet, and not its newest. The default is false.
    pub(crate) headdrop: Option<bool>,
    /// How often the hash changes, so that no two flows share a queue for long. The default is never.
    pub(crate) perturb: Option<Quantity<Duration>>,
}

/// Deficit round robin.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DrrTable {
    /// Whose queues they are: of flows, each with a queue of its own, or of links, one for each station that is sent
    /// to. The default is flow.
    pub(crate) by: Option<KeptApartName>,
    /// IP bytes of a turn. The default is `1500 B`.
    pub(crate) quantum: Option<Quantity<Size>>,
}

/// What has a queue of its own.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum KeptApartName {
    /// Each flow; what TCP acknowledges is another than its data.
    Flow,
    /// Each next station.
    Link,
}

/// The adaptive limit.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AdaptiveTable {
    /// The flows' round-trip time without queues. The default is `200 ms`.
    pub(crate) rtt: Option<Quantity<Duration>>,
    /// The rate of the link. The default is that which is measured.
    pub(crate) rate: Option<Quantity<Rate>>,
    /// The limit is never lower. The default is `15140 B`.
    pub(crate) floor: Option<Quantity<Size>>,
    /// A flow counts for one to two times so long after its last packet. The default is `1 s`.
    pub(crate) window: Option<Quantity<Duration>>,
}

/// RDQM.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RdqmTable {
    /// What the shares of flows that report are in proportion to. The default is bdp.
    pub(crate) weight: Option<WeightName>,
    /// A packet is dropped if those of its flow that wait are more than its share, and not already if they
    /// are as many. The default is true.
    pub(crate) beyond_limit: Option<bool>,
    /// No share is less than a packet. The default is true.
    pub(crate) floor: Option<bool>,
    /// A flow of which nothing waits is forgotten after so long, if `expiry_rtts` is no longer. The default
    /// is `1 s`.
    pub(crate) expiry: Option<Quantity<Duration>>,
    /// The same in round-trip times of its own. The default is 4.
    #[schemars(range(max = 1000))]
    pub(crate) expiry_rtts: Option<u32>,
}

/// The queues of mac80211.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Mac80211Table {
    /// Stations take turns by airtime, and not frame by frame. The default is true.
    pub(crate) airtime_fairness: Option<bool>,
    /// The airtime of a turn. The default is `256 us`.
    pub(crate) turn: Option<Quantity<Duration>>,
    /// What the packets handed to ring and MAC may take on the air is limited (airtime queue limits). The
    /// default is true.
    pub(crate) aql: Option<bool>,
    /// A station always gets another packet while those that it has will take less. The default is `5 ms`.
    pub(crate) aql_low: Option<Quantity<Duration>>,
    /// The same while those of all stations will take less than the threshold. The default is `12 ms`.
    pub(crate) aql_high: Option<Quantity<Duration>>,
    /// The threshold. The default is `24 ms`.
    pub(crate) aql_threshold: Option<Quantity<Duration>>,
    /// The acceptable standing delay of a flow. The default is `20 ms`.
    pub(crate) target: Option<Quantity<Duration>>,
    /// How long the delay must have been above the target. The default is `100 ms`.
    pub(crate) interval: Option<Quantity<Duration>>,
    /// Marks ECN-capable packets and does not drop them. The default is true.
    pub(crate) ecn: Option<bool>,
    /// Number of queues to which flows of all stations are hashed. The default is 4096.
    #[schemars(range(min = 1, max = 65_536))]
    pub(crate) flows: Option<u32>,
    /// What a flow's queue sends in one turn. The default is `300 B`.
    pub(crate) quantum: Option<Quantity<Size>>,
    /// The most that all queues hold, beside a limit in packets. The default is `16777216 B`.
    pub(crate) memory_limit: Option<Quantity<Size>>,
}

/// A weight of flows.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WeightName {
    /// Round-trip time and rate, multiplied.
    Bdp,
    /// The round-trip time alone, as in the authors' version of 2009.
    Rtt,
}

impl From<WeightName> for RdqmWeight {
    fn from(name: WeightName) -> RdqmWeight {
        match name {
            WeightName::Bdp => RdqmWeight::Bdp,
            WeightName::Rtt => RdqmWeight::Rtt,
        }
    }
}

impl From<KeptApartName> for KeptApart {
    fn from(name: KeptApartName) -> KeptApart {
        match name {
            KeptApartName::Flow => KeptApart::Flow,
            KeptApartName::Link => KeptApart::Link,
        }
    }
}

impl From<DropFromName> for DropFrom {
    fn from(name: DropFromName) -> DropFrom {
        match name {
            DropFromName::Tail => DropFrom::Tail,
            DropFromName::Head => DropFrom::Head,
        }
    }
}

impl From<QueueBehaviour> for Behaviour {
    fn from(name: QueueBehaviour) -> Behaviour {
        match name {
            QueueBehaviour::Rfc => Behaviour::Rfc,
            QueueBehaviour::Linux => Behaviour::Linux,
        }
    }
}

impl DisciplineName {
    /// As it is written.
    pub(crate) fn word(self) -> &'static str {
        match self {
            DisciplineName::DropTail => "droptail",
            DisciplineName::Codel => "codel",
            DisciplineName::FqCodel => "fq_codel",
            DisciplineName::Red => "red",
            DisciplineName::Pie => "pie",
            DisciplineName::Sfq => "sfq",
            DisciplineName::Cake => "cake",
            DisciplineName::Drr => "drr",
            DisciplineName::Adaptive => "adaptive",
            DisciplineName::Rdqm => "rdqm",
            DisciplineName::Mac80211 => "mac80211",
        }
    }

    /// Whether `drop_from` means something to it.
    pub(crate) fn drops_from(self) -> bool {
        matches!(self, DisciplineName::DropTail | DisciplineName::Drr)
    }
}

impl QueueTable {
    /// The disciplines for which it has a table.
    pub(crate) fn tables(&self) -> impl Iterator<Item = DisciplineName> {
        let given = [
            (DisciplineName::Codel, self.codel.is_some()),
            (DisciplineName::FqCodel, self.fq_codel.is_some()),
            (DisciplineName::Red, self.red.is_some()),
            (DisciplineName::Pie, self.pie.is_some()),
            (DisciplineName::Sfq, self.sfq.is_some()),
            (DisciplineName::Cake, self.cake.is_some()),
            (DisciplineName::Drr, self.drr.is_some()),
            (DisciplineName::Adaptive, self.adaptive.is_some()),
            (DisciplineName::Rdqm, self.rdqm.is_some()),
            (DisciplineName::Mac80211, self.mac80211.is_some()),
        ];
        given.into_iter().filter_map(|(name, given)| given.then_some(name))
    }
}
