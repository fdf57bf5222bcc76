//! The parameters of mac80211's queues, and their keys in a scenario.

use super::Mac80211;
use crate::Behaviour;
use crate::codel::CodelParams;
use crate::discipline::{
    Around, Facts, LEAST_INTERVAL, LEAST_QUANTUM, MOST_FLOW_QUEUES, Parameters, Place, memory_limit,
};
use airqueue_core::keys::check::{any, least, one_to, plain};
use airqueue_core::keys::{Layers, Result};
use airqueue_core::quantity::{Duration, Quantity, Size};
use airqueue_core::{BoxedQueue, Limit, QueueDisc, Span, take};
use schemars::JsonSchema;
use serde::Deserialize;

/// The parameters of the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mac80211Params {
    /// CoDel's parameters, for each flow queue.
    pub codel: CodelParams,
    /// Number of flow queues of all stations; 0 counts as 1. Each station has a further queue of its own.
    pub flows: u32,
    /// Bytes, link layer included, that a flow queue may send in one turn; 0 counts as 1.
    pub quantum: u32,
    /// Packets that all queues hold together.
    pub limit: u32,
    /// Bytes that all queues hold together, link layer included. (Linux counts the memory of its buffers.)
    pub memory_limit: u64,
    /// The airtime of a turn of a station of the usual weight; less than [`LEAST_TURN`] counts as [`LEAST_TURN`]. `None`:
    /// stations take turns frame by frame, whatever airtime the frames take.
    pub airtime: Option<Span>,
    /// CoDel is more patient with slow stations, and drops instead of marking.
    pub slow_stations: bool,
    /// Limits on the airtime of packets in the device; `None`: no limits.
    pub aql: Option<AqlParams>,
}

/// The shortest turn: with shorter turns many turns would pass for each packet.
pub const LEAST_TURN: Span = Span::from_micros(50);

/// Airtime queue limits: the expected airtime of packets that were handed out and are not yet reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AqlParams {
    /// A station always gets another packet while the expected airtime of its packets is less than `low`,
    pub low: Span,
    /// or less than `high` while the expected airtime of all packets in the device is less than `threshold`.
    pub high: Span,
    /// The threshold for all stations and access categories together.
    pub threshold: Span,
    /// Further packets for all stations in range wait while the expected airtime of such packets is this much.
    pub multicast: Span,
}

impl Default for AqlParams {
    /// 5, 12, 24 and 50 ms, as in Linux (`IEEE80211_DEFAULT_AQL_TXQ_LIMIT_L`, `..._H`, `IEEE80211_AQL_THRESHOLD`,
    /// `IEEE80211_DEFAULT_AQL_TXQ_LIMIT_MC`).
    fn default() -> AqlParams {
        AqlParams {
            low: Span::from_millis(5),
            high: Span::from_millis(12),
            threshold: Span::from_millis(24),
            multicast: Span::from_millis(50),
        }
    }
}

impl Default for Mac80211Params {
    /// As in Linux (`ieee80211_txq_setup_flows`, `fq_init`, `sta_info_alloc`): CoDel with 20 ms, 100 ms, ECN and no
    /// allowance for an MTU; 4096 flow queues, 300 bytes, 8192 packets, 16 MiB; turns of 256 µs; AQL.
    fn default() -> Mac80211Params {
        Mac80211Params {
            codel: CodelParams {
                target: Span::from_millis(20),
                interval: Span::from_millis(100),
                mtu: 0,
                ecn: true,
                ce_threshold: None,
                behaviour: Behaviour::Linux,
            },
            flows: 4096,
            quantum: 300,
            limit: 8192,
            memory_limit: 16 << 20,
            airtime: Some(Span::from_micros(256)),
            slow_stations: false,
            aql: Some(AqlParams::default()),
        }
    }
}

/// The queues of mac80211.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Mac80211Table {
    /// Whether stations take turns by airtime instead of frame by frame. The default is true.
    pub airtime_fairness: Option<bool>,
    /// The airtime of a turn of a station with the usual `airtime_weight`. The default is `256 us`.
    pub airtime_quantum: Option<Quantity<Duration>>,
    /// Whether the airtime of packets in ring and MAC is limited (airtime queue limits). The default is true.
    pub aql: Option<bool>,
    /// A station always gets another packet while the expected airtime of its packets is less than this. The default is
    /// `5 ms`.
    pub aql_low: Option<Quantity<Duration>>,
    /// The limit instead of `aql_low` while the expected airtime of all stations' packets is less than the threshold.
    /// The default is `12 ms`.
    pub aql_high: Option<Quantity<Duration>>,
    /// The threshold for all stations and access categories together. The default is `24 ms`.
    pub aql_threshold: Option<Quantity<Duration>>,
    /// The limit of packets for all stations in range (`to = "*"`), in expected airtime. They count towards no other
    /// limit. The default is `50 ms`.
    pub aql_multicast: Option<Quantity<Duration>>,
    /// Whether CoDel takes 50 ms, 300 ms and no ECN for a station that would have less than 6 Mb/s times the number of
    /// stations if it were alone, as Linux 4.12 to 6.15 do where mac80211 controls the rates. The default is false.
    pub slow_stations: Option<bool>,
    /// The acceptable standing delay of a flow. The default is `20 ms`.
    pub target: Option<Quantity<Duration>>,
    /// Time for which the delay must have been above the target. The default is `100 ms`.
    pub interval: Option<Quantity<Duration>>,
    /// Whether ECN-capable packets are marked instead of dropped. The default is true.
    pub ecn: Option<bool>,
    /// Number of queues to which flows of all stations are hashed. The default is 4096.
    #[schemars(range(min = 1, max = 65_536))]
    pub flows: Option<u32>,
    /// Bytes that a flow's queue sends in one turn. The default is `300 B`.
    pub quantum: Option<Quantity<Size>>,
    /// Limit of all queues together in bytes, besides a limit in packets. The default is `16777216 B`.
    pub memory_limit: Option<Quantity<Size>>,
}

impl Parameters for Mac80211Params {
    type Table = Mac80211Table;
    const NAME: &'static str = "the queues of mac80211";
    const ABOUT: &'static str = "The queues of Linux's mac80211: FQ-CoDel for each station, \
        stations take turns by airtime, and the airtime handed to the \
        MAC is limited.";

    fn check(tables: &Layers<'_, Mac80211Table>, around: &Around) -> Result<Mac80211Params> {
        let mut params = Mac80211Params::default();
        let (mut fair, mut limited) = (true, true);
        take!(fair, tables.airtime_fairness, any);
        take!(params.airtime, tables.airtime_quantum, |turn| {
            least(LEAST_TURN, "50 us")(turn).map(Some)
        });
        params.airtime = params.airtime.filter(|_| fair);
        let mut aql = AqlParams::default();
        take!(limited, tables.aql, any);
        take!(aql.low, tables.aql_low, plain);
        take!(aql.high, tables.aql_high, plain);
        take!(aql.threshold, tables.aql_threshold, plain);
        take!(aql.multicast, tables.aql_multicast, plain);
        params.aql = limited.then_some(aql);
        take!(params.slow_stations, tables.slow_stations, any);
        take!(params.codel.target, tables.target, plain);
        take!(params.codel.interval, tables.interval, least(LEAST_INTERVAL, "1 ms"));
        take!(params.codel.ecn, tables.ecn, any);
        take!(params.flows, tables.flows, one_to(MOST_FLOW_QUEUES));
        take!(params.quantum, tables.quantum, least(LEAST_QUANTUM, "64 B"));
        take!(params.memory_limit, tables.memory_limit, memory_limit(around));
        Ok(params)
    }

    fn facts(&self) -> Facts {
        Facts {
            limit: Limit::Packets(self.limit),
            room: Some(Limit::Bytes(self.memory_limit)),
            queues: Some(("mac80211.flows", self.flows)),
            searched: true,
            shares_airtime: true,
            holds_for_sleepers: true,
            drops_waiting: true,
            ..Facts::default()
        }
    }

    /// The scenario's limit replaces the parameters' limit in the same unit.
    fn make(&self, mut place: Place) -> BoxedQueue {
        let mut queue = Mac80211::new(*self, &mut place.rng).with_link_layer(place.link_layer);
        queue.set_limit(place.limit);
        Box::new(queue)
    }
}
