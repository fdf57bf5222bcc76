//! The tables and keys of a scenario file.
//!
//! The comments on the keys are the reference: the schema carries them to editors.

mod absences;
mod association;
mod buffers;
mod changes;
mod dscp;
mod mac;
mod medium;
mod mesh;
mod neighbours;
mod phy;
mod power;
mod signals;
mod traffic;

pub(super) use absences::*;
pub(super) use association::*;
pub(super) use buffers::*;
pub(super) use changes::*;
use dscp::Dscp;
pub(super) use mac::*;
pub(super) use medium::*;
pub(super) use mesh::*;
pub(super) use neighbours::*;
pub(super) use phy::*;
pub(super) use power::*;
pub(super) use signals::*;
pub(super) use traffic::*;

use super::devices::DeviceName;
use super::quantity::{
    Bytes, Duration, FrameRate, Length, PacketRate, Packets, Power, Quantity, Rate, Size,
};
use airqueue_core::keys::Table;
use airqueue_qdisc::QueueGiven;
use airqueue_transport::traffic::{
    FramesTable, JitterName, PageTable, PingTable, SourceName, VideoTable, VoiceTable, WebTable,
};
use airqueue_wifi::phy::AccessCategory;
use airqueue_wifi::rate_control::RateControlName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A network of 802.11 stations, its traffic, and the duration of the simulation.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "airqueue scenario")]
pub(super) struct File {
    /// The behaviour of stations where the standard leaves a choice or simulators differ.
    #[serde(default)]
    pub(super) behaviour: BehaviourName,
    /// Duration of counting, after the warm-up. What happens at the end of the warm-up counts, what happens at the very end does not.
    #[serde(default = "duration")]
    pub(super) duration: Quantity<Duration>,
    /// Duration of the warm-up, before counting begins.
    #[serde(default = "warm_up")]
    pub(super) warm_up: Quantity<Duration>,
    /// The physical layer of all stations.
    pub(super) phy: Table<PhyTable>,
    /// Channel access of every station, unless `stations.mac` overrides a key.
    #[serde(default)]
    pub(super) mac: Table<MacTable>,
    /// Which stations hear each other. By default every station decodes every other.
    #[serde(default)]
    pub(super) medium: Table<MediumTable>,
    /// Every queue of every station, unless `stations.queue` overrides a key.
    #[serde(default)]
    pub(super) queue: QueueGiven,
    /// The stations, or groups of them.
    #[schemars(length(min = 1))]
    pub(super) stations: Vec<Table<StationTable>>,
    /// The access points that send beacons. By default none does.
    #[serde(default)]
    pub(super) beacons: Vec<Table<BeaconsTable>>,
    /// Settings of the links between stations.
    #[serde(default)]
    pub(super) links: Vec<Table<RadioLinkTable>>,
    /// Sources of energy that is no frame: microwave ovens, hopping radios, a channel that others keep busy.
    #[serde(default)]
    pub(super) interference: Vec<Table<InterferenceTable>>,
    /// Other cells on the channel, with traffic of their own.
    #[serde(default)]
    pub(super) neighbours: Vec<Table<NeighboursTable>>,
    /// Computes the routes of flows over the air. By default stations send to each other directly, or by the relays of
    /// `flows.via`.
    pub(super) routing: Option<Table<RoutingTable>>,
    /// Hosts without a radio, at the ends of wired links.
    #[serde(default)]
    pub(super) hosts: Vec<Table<HostTable>>,
    /// The limits of stations' queues are set while the network runs: the nodes of a collision domain share a buffer.
    pub(super) buffers: Option<Table<BuffersTable>>,
    /// TCP of every TCP flow, unless `flows.tcp` overrides a key.
    #[serde(default)]
    pub(super) tcp: Table<TcpTable>,
    /// The traffic.
    #[serde(default)]
    pub(super) flows: Vec<Table<FlowTable>>,
    /// Changes during the run. Of several changes at the same time the last one in the file applies.
    #[serde(default)]
    pub(super) changes: Vec<Table<ChangeTable>>,
    /// Whether nodes are real that the file does not mark: an emulation names them.
    #[serde(skip)]
    pub(super) others_real: bool,
}

fn duration() -> Quantity<Duration> {
    Quantity::of("30 s")
}

fn warm_up() -> Quantity<Duration> {
    Quantity::of("1 s")
}

/// The behaviour of stations.
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
    /// The station's name: letters, digits, `_` and `-`. The members of a group have a number after the name, from 1.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-]{1,64}$"))]
    pub(super) name: String,
    /// The station has the queue, the aggregation and the rate control of this device, where its own tables do not say
    /// otherwise. The default is no device.
    #[expect(dead_code, reason = "devices::expand has read it from the tree")]
    pub(super) like: Option<DeviceName>,
    /// Makes the station a group of this many members.
    #[schemars(range(min = 1, max = 100_000))]
    pub(super) count: Option<u32>,
    /// Rate of data frames to and from the station. The default is `phy.rate`; between two stations that both have a
    /// rate, the lower one applies.
    pub(super) rate: Option<FrameRate>,
    /// Rate control of the data frames that the station sends. The default is the rate control of `phy`, or fixed where
    /// one of the two stations has a `rate`.
    pub(super) rate_control: Option<RateControlName>,
    /// The station's airtime at other stations' queues with the discipline `mac80211`, relative to that of their other
    /// receivers that packets wait for, as hostapd's `airtime_sta_weight`. The default is 256.
    #[schemars(range(min = 50, max = 65_535))]
    pub(super) airtime_weight: Option<u32>,
    /// Position of the station, with `medium.ranges` or `medium.path_loss`; for a group the centre of its circle or
    /// disc, the corner of its rectangle, or the first member. The default is `["0 m", "0 m"]` if one of the four keys
    /// below is given.
    pub(super) position: Option<[Quantity<Length>; 2]>,
    /// Places the members of a group evenly on a circle of this radius around the position.
    pub(super) circle: Option<Quantity<Length>>,
    /// Places the members of a group in a line, each at this distance from the previous one.
    pub(super) step: Option<[Quantity<Length>; 2]>,
    /// Places the members of a group in rows and columns.
    pub(super) grid: Option<Table<GridTable>>,
    /// Places the members of a group at random in a disc or a rectangle.
    pub(super) random: Option<Table<RandomTable>>,
    /// Transmit power, for `medium.path_loss`. The default is ns-2's, `0.28183815 W`; with the path loss
    /// ns3 it is ns-3's, `16.0206 dBm`.
    pub(super) power: Option<Quantity<Power>>,
    /// Channel access of the station, where it differs from `mac`.
    #[serde(default)]
    pub(super) mac: Table<MacTable>,
    /// Queues of the station, where they differ from `queue`.
    #[serde(default)]
    pub(super) queue: QueueGiven,
    /// The station sleeps while it has no traffic. By default it is always awake.
    pub(super) power_save: Option<Table<PowerSaveTable>>,
    /// The station associates with an access point, and may roam. By default all stations are associated from the beginning.
    pub(super) association: Option<Table<AssociationTable>>,
    /// The station scans other channels now and then. By default it never does.
    pub(super) scans: Option<Table<ScansTable>>,
    /// The station goes out of reach now and then, and tells nobody. By default it never does.
    pub(super) departures: Option<Table<DeparturesTable>>,
    /// Most packets per second that the station sends on, to the air or into wired links, whatever their sizes; the others
    /// wait. Frames that the MAC repeats, and packets that end at the station, do not count. The default is no limit.
    pub(super) processing_rate: Option<Quantity<PacketRate>>,
    /// Packets that wait for `processing_rate`, or are processed; a packet that finds no room is dropped. The default is
    /// `1000 packets`.
    pub(super) processing_room: Option<Quantity<Packets>>,
    /// Real programs run at the station under `airqueue emulate`. A simulation ignores the key. The default is false.
    #[serde(default)]
    pub(super) real: bool,
}

/// Rows and columns.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GridTable {
    /// Number of stations of a row, which runs along the first coordinate.
    #[schemars(range(min = 1))]
    pub(super) columns: u32,
    /// Distance from each station to the next, along both coordinates.
    pub(super) spacing: Quantity<Length>,
}

/// Random positions, uniform over a disc or a rectangle. All replications have the same positions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RandomTable {
    /// Radius of the disc around the position.
    pub(super) radius: Option<Quantity<Length>>,
    /// Width and height of the rectangle, whose corner with the lowest coordinates is the position.
    pub(super) area: Option<[Quantity<Length>; 2]>,
    /// The least distance between two members. The default is `0 m`.
    pub(super) min_distance: Option<Quantity<Length>>,
    /// Seed of the positions.
    #[serde(default)]
    pub(super) seed: u32,
}

/// A flow of packets from one station or host to another, or one for each member of a group.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FlowTable {
    /// The flow's name; the flows of a group have a number after the name, from 1. The default is `from->to`, with the
    /// stations' names.
    #[schemars(length(min = 1, max = 100))]
    pub(super) name: Option<String>,
    /// The station or host that sends the flow's packets. A group: a flow from each of its members.
    pub(super) from: String,
    /// The station or host that receives the flow's packets. A group: a flow to each of its members; if `from` is a
    /// group too, a flow from each of its members to the member with the same number. `*`: all stations in range of the
    /// station `from`, in frames that nobody acknowledges.
    pub(super) to: String,
    /// The relays on the route, in order. The default is the best route with `routing`, and otherwise no relays:
    /// stations send to each other directly, hosts by the stations that their wired links lead to. TCP's
    /// acknowledgements take the reverse route.
    pub(super) via: Option<Vec<String>>,
    /// The access category of the flow's packets at stations with EDCA. The default is be.
    pub(super) category: Option<CategoryName>,
    /// The access category of acknowledgements, of tcp, web, page and video. The default is category.
    pub(super) ack_category: Option<CategoryName>,
    /// The source of packets. The default is saturated.
    #[serde(default)]
    pub(super) source: SourceName,
    /// Mean rate in bits of IP packets, for cbr and poisson.
    pub(super) rate: Option<Quantity<Rate>>,
    /// Mean rate in packets, for cbr and poisson, instead of `rate`. The rate in bits is rounded to whole b/s.
    pub(super) packet_rate: Option<Quantity<PacketRate>>,
    /// Size of the flow's IP packets; with packets from outside, with TCP and with frames the largest size, with ping the size
    /// of requests. The default is `1500 B`, and `84 B` with ping.
    pub(super) size: Option<Quantity<Size>>,
    /// The random delay of each packet of cbr, behind the instant at which the constant rate would have the packet. Packets
    /// keep their order. The default is none.
    pub(super) jitter: Option<JitterName>,
    /// Size of a transfer, for tcp. The default is an endless transfer.
    pub(super) transfer_size: Option<Quantity<Bytes>>,
    /// TCP of the flow, where it differs from the scenario's `tcp`.
    pub(super) tcp: Option<Table<TcpTable>>,
    /// The requests of a user of the web.
    pub(super) web: Option<Table<WebTable>>,
    /// The pages of a user of the web whose browser loads them.
    pub(super) page: Option<Table<PageTable>>,
    /// The segments of a video, and its player.
    pub(super) video: Option<Table<VideoTable>>,
    /// The packets of a call, and its playout.
    pub(super) voice: Option<Table<VoiceTable>>,
    /// The pictures of a game or a video.
    pub(super) frames: Option<Table<FramesTable>>,
    /// Requests, and their answers.
    pub(super) ping: Option<Table<PingTable>>,
    /// Rate of the flow's data frames. The default is the rate of the links, or of their stations; to all stations the
    /// slowest basic rate.
    pub(super) phy_rate: Option<FrameRate>,
    /// Rate control of the flow's data frames. The default is the rate control of the station `from`, or fixed where
    /// `phy_rate` is given.
    pub(super) rate_control: Option<RateControlName>,
    /// Whether the flow's packets are ECN-capable (RFC 3168), so that a queue may mark instead of drop them. The
    /// default is false.
    #[serde(default)]
    pub(super) ecn: bool,
    /// The differentiated services codepoint of the flow's packets and of TCP's acknowledgements, by name (`EF`,
    /// `AF41`, `CS1`) or number. The default is 0. Only cake uses the codepoint.
    pub(super) dscp: Option<Dscp>,
    /// The receiver takes part in RDQM: each acknowledgement reports to the queue the rate of the data frame and this
    /// round-trip time, which excludes the time in the simulated network. The default is a receiver without reports.
    pub(super) rdqm_rtt: Option<Quantity<Duration>>,
    /// Whether the receiver of tcp and web, which must be a station, takes part in RDQM with the round-trip time from
    /// TCP's timestamps. The default is false.
    pub(super) rdqm: Option<bool>,
    /// Which round-trip time the receiver reports. The default is base.
    pub(super) rdqm_rtt_kind: Option<RttName>,
    /// Start of the flow, from the beginning of the warm-up; or a list with a start for each flow of a group. With one start
    /// the cbr, voice, frames and ping flows of a group start one after the other, evenly spread over one interval.
    #[serde(default = "start")]
    pub(super) start: Delays,
    /// Largest random delay of the start, drawn for each flow of a group and each replication, since flows that start
    /// together can stay synchronised. The default is `0 s`.
    pub(super) start_spread: Option<Quantity<Duration>>,
    /// Stop of the flow, from the beginning of the warm-up; connections are aborted. The default is never.
    pub(super) stop: Option<Quantity<Duration>>,
}

fn start() -> Delays {
    Delays::All(Quantity::of("0 s"))
}

/// A round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum RttName {
    /// The smallest round-trip time of the path.
    Base,
    /// The smoothed mean over recent packets, with all delay in the simulated network.
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
