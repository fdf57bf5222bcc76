//! The keys of beacons and of stations that sleep.

use super::CategoryName;
use crate::quantity::{Duration, Packets, Quantity, Rate, Size};
use schemars::JsonSchema;
use serde::Deserialize;

/// The beacons of an access point, and what it keeps for stations that sleep (IEEE 802.11-2016, 11.1.3 and 11.2.3).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BeaconsTable {
    /// The access point; a group: each of its members.
    pub(crate) station: String,
    /// Time from one beacon to the next. The default is `102.4 ms`, 100 time units.
    pub(crate) interval: Option<Quantity<Duration>>,
    /// When the first beacon is due. The default is drawn from the first interval, for each access point and replication.
    pub(crate) first: Option<Quantity<Duration>>,
    /// Every so many beacons, a beacon is a DTIM. The default is 2, hostapd's.
    #[schemars(range(min = 1, max = 255))]
    pub(crate) dtim_period: Option<u32>,
    /// Length of a beacon, header and FCS included. The default is `300 B`.
    pub(crate) size: Option<Quantity<Size>>,
    /// Rate of beacons. The default is the slowest basic rate.
    pub(crate) rate: Option<Quantity<Rate>>,
    /// AIFSN of beacons and of the packets to all stations behind a DTIM. The default is that of the access point's
    /// voice, or of its only queue.
    #[schemars(range(min = 1))]
    pub(crate) aifsn: Option<u32>,
    /// Contention window of these frames, which does not grow: nobody acknowledges them. The default is that of
    /// the access point's voice, or of its only queue; with `0` the access point sends at once on an idle medium, as many do.
    pub(crate) cw: Option<u32>,
    /// Packets that the access point keeps for a station that sleeps, in each access category. The oldest is dropped for
    /// one more. The default is `64 packets`, that of Linux's mac80211.
    pub(crate) buffer: Option<Quantity<Packets>>,
    /// Packets to all stations that the access point keeps for the next DTIM; the oldest is dropped for one more. The default is `128 packets`,
    /// that of Linux's mac80211.
    pub(crate) group_buffer: Option<Quantity<Packets>>,
    /// Packets that the access point keeps in all, for stations that sleep and for the next DTIM. For one more, each station loses its
    /// oldest. The default is `512 packets`, that of Linux's mac80211.
    pub(crate) total_buffer: Option<Quantity<Packets>>,
    /// Where a packet for a station that sleeps is kept. The default is before-queue if all queues of the access point are
    /// mac80211, and behind-queue otherwise.
    pub(crate) kept: Option<KeptName>,
}

/// Where an access point keeps a packet for a station that sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum KeptName {
    /// Before the packet enters a queue, as in Linux's mac80211. The discipline mac80211 holds back what it has when the
    /// station falls asleep.
    BeforeQueue,
    /// When the turn of the packet in the queue comes.
    BehindQueue,
}

/// A station that sleeps while it has no traffic (IEEE 802.11-2016, 11.2.3).
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PowerSaveTable {
    /// The station's access point. The default is the only one that sends beacons.
    pub(crate) access_point: Option<String>,
    /// How the station gets what waits for it. The default is null.
    pub(crate) wake_up: Option<WakeUpName>,
    /// With `wake_up = "null"`: how long the station stays awake after its last packet. The default is `100 ms`, that of Linux's
    /// mac80211.
    pub(crate) timeout: Option<Quantity<Duration>>,
    /// Access categories whose packets come by U-APSD: a frame of the station in one of them makes the access point send what
    /// waits in all of them. Packets of the other categories come as `wake_up` says.
    pub(crate) uapsd: Option<Vec<CategoryName>>,
    /// With `uapsd`: the most packets that come after one frame, 2, 4 or 6. The default is all that wait.
    pub(crate) max_service_period: Option<Quantity<Packets>>,
    /// With `uapsd`: the station sends a QoS null frame once it has sent no frame of these categories for so long. By default it sends
    /// none, unless all categories are in `uapsd` and a beacon says that packets wait.
    pub(crate) trigger_interval: Option<Quantity<Duration>>,
    /// An agreement on wake times: all packets come in them, and the station hears no beacons.
    pub(crate) twt: Option<TwtTable>,
    /// The station wakes up for one beacon in this many. The default is 1.
    #[schemars(range(min = 1))]
    pub(crate) listen_interval: Option<u32>,
    /// Whether the station also wakes up for each DTIM and for the packets to all stations behind it. The default is true;
    /// with `twt` it is false.
    pub(crate) dtims: Option<bool>,
    /// How long the station waits for a beacon that is late. The default is `10 ms`.
    pub(crate) beacon_wait: Option<Quantity<Duration>>,
    /// Rate of null frames and PS-Polls. The default is the slowest basic rate.
    pub(crate) rate: Option<Quantity<Rate>>,
}

/// An individual agreement on target wake times (IEEE 802.11ax-2021, 26.8), which holds from the beginning.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TwtTable {
    /// Time from the beginning of one service period to that of the next.
    pub(crate) interval: Quantity<Duration>,
    /// How long the station is awake in each service period.
    pub(crate) duration: Quantity<Duration>,
    /// When the first service period begins. The default is drawn from the first interval, for each station and
    /// replication.
    pub(crate) first: Option<Quantity<Duration>>,
    /// Whether the access point waits in each service period for a frame of the station, which sends a QoS null frame. The default is
    /// false: the access point sends at once.
    pub(crate) announced: Option<bool>,
}

/// How a station that sleeps gets what waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WakeUpName {
    /// Null frames tell the access point when the station wakes up and when it goes to sleep; in between the station stays
    /// awake until it has had no traffic for `timeout`.
    Null,
    /// The station asks for each packet by a PS-Poll, and sleeps again at once.
    PsPoll,
}
