//! What a scenario is made of, as the user writes it.
//!
//! The comments on the keys are the reference: the schema carries them to editors.

mod buffers;
mod changes;
mod dscp;
mod mac;
mod medium;
mod mesh;
mod phy;
mod traffic;

pub(super) use buffers::*;
pub(super) use changes::*;
use dscp::Dscp;
pub(super) use mac::*;
pub(super) use medium::*;
pub(super) use mesh::*;
pub(super) use phy::*;
pub(super) use traffic::*;

use super::quantity::{
    Bytes, Duration, FrameRate, Length, PacketRate, Power, Quantity, Rate, Size,
};
use airqueue_core::keys::Table;
use airqueue_qdisc::QueueGiven;
use airqueue_transport::traffic::{SourceName, VoiceTable, WebTable};
use airqueue_wifi::phy::AccessCategory;
use airqueue_wifi::rate_control::RateControlName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A network of 802.11 stations, the traffic in it, and how long it is simulated.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "airqueue scenario")]
pub(super) struct File {
    /// Where the standard and simulators differ in what a station does: whom it follows.
    #[serde(default)]
    pub(super) behaviour: BehaviourName,
    /// How long is counted, after the warm-up.
    #[serde(default = "duration")]
    pub(super) duration: Quantity<Duration>,
    /// How long the network runs before counting begins.
    #[serde(default = "warm_up")]
    pub(super) warm_up: Quantity<Duration>,
    /// The physical layer of all stations.
    pub(super) phy: Table<PhyTable>,
    /// Channel access of every station, as far as `stations.mac` does not say otherwise.
    #[serde(default)]
    pub(super) mac: Table<MacTable>,
    /// Who hears whom. Without it everyone decodes everyone.
    #[serde(default)]
    pub(super) medium: Table<MediumTable>,
    /// Every queue of every station, as far as `stations.queue` does not say otherwise.
    #[serde(default)]
    pub(super) queue: QueueGiven,
    /// The stations, or groups of them.
    #[schemars(length(min = 1))]
    pub(super) stations: Vec<Table<StationTable>>,
    /// What is special about links between stations.
    #[serde(default)]
    pub(super) links: Vec<Table<RadioLinkTable>>,
    /// Lets flows find their routes over the air. Without it stations send to each other directly, or as `flows.via` says.
    pub(super) routing: Option<Table<RoutingTable>>,
    /// Hosts without a radio, at the ends of wired links.
    #[serde(default)]
    pub(super) hosts: Vec<Table<HostTable>>,
    /// The limits of stations' queues are set while the network runs: the nodes of a collision domain share a buffer.
    pub(super) buffers: Option<Table<BuffersTable>>,
    /// TCP of every flow that it governs, as far as `flows.tcp` does not say otherwise.
    #[serde(default)]
    pub(super) tcp: Table<TcpTable>,
    /// The traffic.
    #[serde(default)]
    pub(super) flows: Vec<Table<FlowTable>>,
    /// What changes during the run. Of changes at the same time the last one in the file holds.
    #[serde(default)]
    pub(super) changes: Vec<Table<ChangeTable>>,
}

fn duration() -> Quantity<Duration> {
    Quantity::of("30 s")
}

fn warm_up() -> Quantity<Duration> {
    Quantity::of("1 s")
}

/// Whose behaviour stations have.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum BehaviourName {
    /// IEEE 802.11-2016.
    #[default]
    Standard,
    /// ns-3, release 3.44.
    Ns3,
    /// ns-2, release 2.35: DCF of 802.11b with the long preamble.
    Ns2,
}

/// A station, or with `count` a group of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StationTable {
    /// What it is called: letters, digits, `_` and `-`. The members of a group have a number behind it,
    /// from 1.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-]{1,64}$"))]
    pub(super) name: String,
    /// Makes it a group of so many.
    #[schemars(range(min = 1, max = 100_000))]
    pub(super) count: Option<u32>,
    /// Rate of data frames to and from it. The default is `phy.rate`; of two stations that both have one,
    /// the lower one holds.
    pub(super) rate: Option<FrameRate>,
    /// How it finds the rate of the data frames that it sends. The default is that of `phy`, or fixed where it or the
    /// other station has a `rate`.
    pub(super) rate_control: Option<RateControlName>,
    /// Where it stands, where `medium.ranges` or `medium.path_loss` say who hears whom; of a group the
    /// centre of its circle or disc, the corner of its rectangle, or the first member. `["0 m", "0 m"]` if one of the four
    /// keys below is given.
    pub(super) position: Option<[Quantity<Length>; 2]>,
    /// The members of a group stand around its position at this distance, evenly spread.
    pub(super) circle: Option<Quantity<Length>>,
    /// The members of a group stand in a line, each so far from the one before.
    pub(super) step: Option<[Quantity<Length>; 2]>,
    /// The members of a group stand in rows and columns.
    pub(super) grid: Option<Table<GridTable>>,
    /// The members of a group stand anywhere in a disc or a rectangle.
    pub(super) random: Option<Table<RandomTable>>,
    /// Its transmit power, for `medium.path_loss`. The default is ns-2's, `0.28183815 W`.
    pub(super) power: Option<Quantity<Power>>,
    /// Its channel access, where it differs from `mac`.
    #[serde(default)]
    pub(super) mac: Table<MacTable>,
    /// Its queues, where they differ from `queue`.
    #[serde(default)]
    pub(super) queue: QueueGiven,
    /// Real programs run at the station under `airqueue emulate`. A simulation ignores the key. The default is false.
    #[serde(default)]
    pub(super) real: bool,
}

/// Rows and columns.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GridTable {
    /// Stations of a row, which runs along the first coordinate.
    #[schemars(range(min = 1))]
    pub(super) columns: u32,
    /// From each station to the next, along both coordinates.
    pub(super) spacing: Quantity<Length>,
}

/// Places that a seed decides, evenly spread over a disc or a rectangle. Replications do not differ in them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RandomTable {
    /// Of the disc around the position.
    pub(super) radius: Option<Quantity<Length>>,
    /// Width and height of the rectangle, whose corner with the lowest coordinates is the position.
    pub(super) area: Option<[Quantity<Length>; 2]>,
    /// The least distance between two members. The default is `0 m`.
    pub(super) min_distance: Option<Quantity<Length>>,
    /// Another one gives other places.
    #[serde(default)]
    pub(super) seed: u32,
}

/// A flow of packets from one station or host to another, or one for each member of a group.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FlowTable {
    /// What it is called; one that stands for several has a number behind it, from 1. The default is
    /// `from->to`, with the stations' names.
    #[schemars(length(min = 1, max = 100))]
    pub(super) name: Option<String>,
    /// The station or host where its packets come from. A group: a flow from each of its members.
    pub(super) from: String,
    /// The station or host that they go to. A group: a flow to each of its members; if `from` is a group too, one
    /// from each of its members to the member with the same number.
    pub(super) to: String,
    /// The stations that pass its packets on, in their order. The default is the best way where there is `routing`, and
    /// otherwise nobody: stations send to each other directly, hosts by the stations that their wired links lead to. What TCP
    /// acknowledges comes back by the same ones.
    pub(super) via: Option<Vec<String>>,
    /// The access category whose queue they take at stations with EDCA. The default is be.
    pub(super) category: Option<CategoryName>,
    /// The same of the acknowledgements that come back, of tcp and web. The default is category.
    pub(super) ack_category: Option<CategoryName>,
    /// How packets are made. The default is saturated.
    #[serde(default)]
    pub(super) source: SourceName,
    /// Mean rate in bits of IP packets, for cbr and poisson.
    pub(super) rate: Option<Quantity<Rate>>,
    /// Mean rate in packets, for cbr and poisson, instead of `rate`. In bits it is rounded to whole b/s.
    pub(super) packet_rate: Option<Quantity<PacketRate>>,
    /// Size of its IP packets; of those from outside and of TCP's the largest. The default is `1500 B`.
    pub(super) size: Option<Quantity<Size>>,
    /// How much tcp transfers. The default is data without end.
    pub(super) transfer_size: Option<Quantity<Bytes>>,
    /// TCP, where it differs from the scenario's `tcp`.
    pub(super) tcp: Option<Table<TcpTable>>,
    /// What a user of the web asks for.
    pub(super) web: Option<Table<WebTable>>,
    /// What a call sends, and how its receiver plays it.
    pub(super) voice: Option<Table<VoiceTable>>,
    /// Rate of its data frames. The default is that of the links, or of their stations.
    pub(super) phy_rate: Option<FrameRate>,
    /// How that is found. The default is as the station `from` does it, or fixed where `phy_rate` is given.
    pub(super) rate_control: Option<RateControlName>,
    /// Its packets are ECN-capable (RFC 3168): a queue may mark them and need not drop them. The default
    /// is false.
    #[serde(default)]
    pub(super) ecn: bool,
    /// The differentiated services codepoint of its packets and of what TCP acknowledges, by name (`EF`, `AF41`, `CS1`) or number. The
    /// default is 0. Only cake looks at it.
    pub(super) dscp: Option<Dscp>,
    /// Its receiver takes part in RDQM: each acknowledgement tells the queue the rate of the data frame and
    /// the flow's round-trip time, which is this long without what packets wait and take in the simulated
    /// network. The default is a receiver that tells nothing.
    pub(super) rdqm_rtt: Option<Quantity<Duration>>,
    /// The receiver of tcp and web, which must be a station, takes part in RDQM with the round-trip time that it sees in TCP's timestamps.
    /// The default is false.
    pub(super) rdqm: Option<bool>,
    /// Which round-trip time that is. The default is base.
    pub(super) rdqm_rtt_kind: Option<RttName>,
    /// When its first packet comes, counted from the beginning of the warm-up. The cbr and voice flows of a group
    /// begin one after the other, evenly spread over the time between two packets of one of them.
    #[serde(default = "start")]
    pub(super) start: Quantity<Duration>,
    /// It begins up to so much after `start`, at a time that is drawn anew for each flow of a group and each replication: what
    /// begins in step can stay in step. The default is `0 s`.
    pub(super) start_spread: Option<Quantity<Duration>>,
    /// From when on no packet comes, counted as `start`; connections are broken off. The default is never.
    pub(super) stop: Option<Quantity<Duration>>,
}

fn start() -> Quantity<Duration> {
    Quantity::of("0 s")
}

/// A round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum RttName {
    /// As short as the path can be.
    Base,
    /// The mean of the last packets, with what they wait and take in the simulated network.
    Smoothed,
}

/// An access category.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum CategoryName {
    /// Background.
    Bk,
    /// Best effort.
    Be,
    /// Video.
    Vi,
    /// Voice.
    Vo,
}

impl From<CategoryName> for AccessCategory {
    fn from(name: CategoryName) -> AccessCategory {
        match name {
            CategoryName::Bk => AccessCategory::BACKGROUND,
            CategoryName::Be => AccessCategory::BEST_EFFORT,
            CategoryName::Vi => AccessCategory::VIDEO,
            CategoryName::Vo => AccessCategory::VOICE,
        }
    }
}
