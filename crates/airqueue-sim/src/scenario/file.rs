//! What a scenario is made of, as the user writes it.
//!
//! The comments on the keys are the reference: the schema carries them to editors.

use super::quantity::{Duration, PacketRate, Packets, Quantity, QueueLimit, Rate, Size};
use super::table::Table;
use airqueue_qdisc::DropFrom;
use airqueue_wifi::mac::Behaviour;
use airqueue_wifi::phy::{Preamble, Protection, Slot};
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
    /// Every queue of every station, as far as `stations.queue` does not say otherwise.
    #[serde(default)]
    pub(super) queue: Table<QueueTable>,
    /// The stations, or groups of them.
    pub(super) stations: Vec<Table<StationTable>>,
    /// The traffic.
    #[serde(default)]
    pub(super) flows: Vec<Table<FlowTable>>,
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

/// A physical layer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PhyTable {
    /// Which layer.
    pub(super) standard: Standard,
    /// Preamble of DSSS frames; 802.11b and 802.11g. The default is long.
    pub(super) preamble: Option<PreambleName>,
    /// Slot time; 802.11g. The default is short (9 µs); long (20 µs) where 802.11b stations are present.
    pub(super) slot: Option<SlotName>,
    /// Rate of data frames, unless a station or a flow says otherwise. The default is the layer's highest.
    pub(super) rate: Option<Quantity<Rate>>,
    /// Rate of every RTS, CTS and ACK. Without it they follow `basic_rates`.
    pub(super) control_rate: Option<Quantity<Rate>>,
    /// A frame is answered at the highest of these rates that does not exceed its own. The default is 1 and
    /// 2 Mb/s for 802.11b; 6, 12 and 24 Mb/s for 802.11a and 802.11g.
    pub(super) basic_rates: Option<Vec<Quantity<Rate>>>,
}

/// A physical layer's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub(super) enum Standard {
    /// OFDM at 5 GHz: 6 to 54 Mb/s, slot 9 µs, SIFS 16 µs.
    #[serde(rename = "802.11a")]
    A,
    /// DSSS and CCK: 1 to 11 Mb/s, slot 20 µs, SIFS 10 µs.
    #[serde(rename = "802.11b")]
    B,
    /// ERP-OFDM at 2.4 GHz: 6 to 54 Mb/s and the rates of 802.11b, SIFS 10 µs.
    #[serde(rename = "802.11g")]
    G,
}

/// PHY preamble and header of DSSS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum PreambleName {
    /// 192 µs.
    Long,
    /// 96 µs; frames at 1 Mb/s have the long one all the same.
    Short,
}

/// Slot time of 802.11g.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum SlotName {
    /// 9 µs.
    Short,
    /// 20 µs.
    Long,
}

/// Channel access. A key that is left out of a station's table is taken from the table of all stations.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct MacTable {
    /// RTS and CTS precede data frames whose PSDU (IP packet, LLC, MAC header, FCS) has more bytes than
    /// this. The default is never; `0 B` is always.
    pub(super) rts_threshold: Option<Quantity<Size>>,
    /// Most transmissions of an RTS, or of a data frame without RTS. The default is 7.
    #[schemars(range(min = 1))]
    pub(super) short_retry_limit: Option<u32>,
    /// Most transmissions of a data frame behind RTS and CTS. The default is 4.
    #[schemars(range(min = 1))]
    pub(super) long_retry_limit: Option<u32>,
    /// What precedes the data frames that have no RTS. The default is none.
    pub(super) protection: Option<ProtectionName>,
    /// Rate of RTS, and of CTS to oneself. The default is that of the response to the data frame.
    pub(super) protection_rate: Option<Quantity<Rate>>,
}

/// Frames in front of a data frame that make others keep away from it.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ProtectionName {
    /// No frame.
    None,
    /// A CTS to oneself.
    CtsToSelf,
    /// RTS and CTS.
    RtsCts,
}

/// A queue of packets that wait for the MAC, which holds one more. A key that is left out of a station's
/// table is taken from the table of all stations.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct QueueTable {
    /// The most that waits in the queue, in packets or in bytes of IP packets. The default is `50 packets`.
    pub(super) limit: Option<Quantity<QueueLimit>>,
    /// What a full queue drops. The default is the arriving packet: tail.
    pub(super) drop_from: Option<DropFromName>,
    /// Packets of a driver ring between the queue and the MAC. The default is `0 packets`: there is none.
    pub(super) ring: Option<Quantity<Packets>>,
}

/// What a full queue drops.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum DropFromName {
    /// The packet that arrives.
    Tail,
    /// The oldest packets.
    Head,
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
    pub(super) rate: Option<Quantity<Rate>>,
    /// Its channel access, where it differs from `mac`.
    #[serde(default)]
    pub(super) mac: Table<MacTable>,
    /// Its queues, where they differ from `queue`.
    #[serde(default)]
    pub(super) queue: Table<QueueTable>,
}

/// A flow of packets from one station to another, or one for each member of a group.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FlowTable {
    /// What it is called; one that stands for several has a number behind it, from 1. The default is
    /// `from->to`, with the stations' names.
    pub(super) name: Option<String>,
    /// The station where its packets come from. A group: a flow from each of its members.
    pub(super) from: String,
    /// The station that they go to. A group: a flow to each of its members; if `from` is a group too, one
    /// from each of its members to the member with the same number.
    pub(super) to: String,
    /// How packets are made. The default is saturated.
    #[serde(default)]
    pub(super) source: SourceName,
    /// Mean rate in bits of IP packets, for cbr and poisson.
    pub(super) rate: Option<Quantity<Rate>>,
    /// Mean rate in packets, for cbr and poisson, instead of `rate`.
    pub(super) packet_rate: Option<Quantity<PacketRate>>,
    /// Size of its IP packets.
    #[serde(default = "size")]
    pub(super) size: Quantity<Size>,
    /// Rate of its data frames. The default is that of its stations.
    pub(super) phy_rate: Option<Quantity<Rate>>,
    /// When its first packet comes, counted from the beginning of the warm-up. The cbr flows of a group
    /// begin one after the other, evenly spread over the time between two packets of one of them.
    #[serde(default = "start")]
    pub(super) start: Quantity<Duration>,
    /// From when on no packet comes, counted as `start`. The default is never.
    pub(super) stop: Option<Quantity<Duration>>,
}

fn size() -> Quantity<Size> {
    Quantity::of("1500 B")
}

fn start() -> Quantity<Duration> {
    Quantity::of("0 s")
}

/// How packets are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum SourceName {
    /// One always waits.
    #[default]
    Saturated,
    /// At a constant rate.
    Cbr,
    /// At random times that do not depend on each other.
    Poisson,
}

impl From<BehaviourName> for Behaviour {
    fn from(name: BehaviourName) -> Behaviour {
        match name {
            BehaviourName::Standard => Behaviour::Standard,
            BehaviourName::Ns3 => Behaviour::Ns3,
            BehaviourName::Ns2 => Behaviour::Ns2,
        }
    }
}

impl From<PreambleName> for Preamble {
    fn from(name: PreambleName) -> Preamble {
        match name {
            PreambleName::Long => Preamble::Long,
            PreambleName::Short => Preamble::Short,
        }
    }
}

impl From<SlotName> for Slot {
    fn from(name: SlotName) -> Slot {
        match name {
            SlotName::Short => Slot::Short,
            SlotName::Long => Slot::Long,
        }
    }
}

impl From<ProtectionName> for Protection {
    fn from(name: ProtectionName) -> Protection {
        match name {
            ProtectionName::None => Protection::None,
            ProtectionName::CtsToSelf => Protection::CtsToSelf,
            ProtectionName::RtsCts => Protection::RtsCts,
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
