//! What a network is made of, and what is checked before it runs.

use airqueue_core::{Ecn, Limit, QueueDisc, Span, Stream, Time};
use airqueue_qdisc::{
    Adaptive, AdaptiveParams, Codel, CodelParams, DropFrom, DropTail, FqCodel, FqCodelParams,
    KeptApart, Mac80211, Mac80211Params, PerFlow, Pie, PieParams, Rdqm, RdqmParams, Red, RedParams,
};
use airqueue_transport::traffic::{SourceError, SourceSpec};
use airqueue_wifi::RateIndex;
use airqueue_wifi::mac::{MacConfig, MacError, Network};
use airqueue_wifi::medium::{Capture, FrameErrors, MediumError, Reach, StationId};
use thiserror::Error;

use super::rates::RateControlSpec;
use crate::stages::BoxedQueue;

/// How a queue decides what to drop and what leaves next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Discipline {
    /// First come, first served; when it is full it drops what this says.
    DropTail(DropFrom),
    /// [`Codel`].
    Codel(CodelParams),
    /// [`FqCodel`]; the limit stands in the place of that of the parameters which is in the same unit.
    FqCodel(FqCodelParams),
    /// [`Red`].
    Red(RedParams),
    /// [`Pie`].
    Pie(PieParams),
    /// Drop-tail queues that flows or links have for themselves, each with the limit; they take turns of so many IP
    /// bytes.
    DeficitRoundRobin {
        /// Whose queue each is.
        by: KeptApart,
        /// Bytes of a turn.
        quantum: u32,
        /// What a full one drops.
        drop_from: DropFrom,
    },
    /// [`Adaptive`], with the limit as its ceiling.
    Adaptive(AdaptiveParams),
    /// [`Rdqm`], which divides the limit.
    Rdqm(RdqmParams),
    /// [`Mac80211`]; the limit stands in the place of that of the parameters which is in the same unit.
    Mac80211(Mac80211Params),
}

/// An interface of a station: the queue of one access category.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueSpec {
    /// How it works.
    pub discipline: Discipline,
    /// The hard limit.
    pub limit: Limit,
    /// Bytes that it counts on top of each IP packet, wherever it counts bytes.
    pub link_layer_bytes: u32,
    /// Packets of the driver ring behind it; 0: none. The packet that the MAC is busy with is in neither.
    pub ring_packets: usize,
}

/// A station.
#[derive(Clone, Debug)]
pub struct StationSpec {
    /// What it is called.
    pub name: String,
    /// Its channel access.
    pub mac: MacConfig,
    /// The interface of each of the MAC's queues.
    pub queues: Vec<QueueSpec>,
}

/// What a receiver says of a flow in its link-layer acknowledgements, beside the rate of the data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttReport {
    /// The flow's round-trip time without what its packets wait and take in this network.
    pub base: Span,
    /// Not that, but the smoothed round-trip time of its packets, with what they wait and take here.
    pub smoothed: bool,
}

/// A flow of packets from one station to another that hears it.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// What it is called.
    pub name: String,
    /// Where packets come from.
    pub from: StationId,
    /// Where they go.
    pub to: StationId,
    /// Which of the sender's queues they take.
    pub queue: usize,
    /// The rate of their frames, if no rate control looks for it.
    pub rate: RateIndex,
    /// What looks for it.
    pub rate_control: Option<RateControlSpec>,
    /// What an MPDU adds to an IP packet: LLC/SNAP, MAC header, FCS.
    pub overhead_bytes: u32,
    /// How packets are made.
    pub source: SourceSpec,
    /// Whether a queue may mark them instead of dropping them.
    pub ecn: Ecn,
    /// What its receiver reports (RDQM); `None`: nothing.
    pub report: Option<RttReport>,
    /// Whoever runs the network wants to know what becomes of each packet ([`super::Wlan::exchange_outcomes`]).
    pub collected: bool,
}

/// A network.
#[derive(Clone, Debug)]
pub struct WlanSpec {
    /// The layer and the stations' behaviour.
    pub network: Network,
    /// Who hears whom.
    pub reach: Reach,
    /// What happens to frames that overlap; `None`: what the behaviour says.
    pub capture: Option<Capture>,
    /// What else loses frames.
    pub errors: FrameErrors,
    /// Noise for [`FrameErrors::BySnr`], in watts.
    pub noise_w: f64,
    /// The stations, in the order of their ids.
    pub stations: Vec<StationSpec>,
    /// The flows.
    pub flows: Vec<FlowSpec>,
    /// When counting begins.
    pub warm_up: Time,
    /// From so many on stations that hear and count alike are simulated together: how fast that is depends on it, and nothing
    /// else. [`Self::TOGETHER`] is a good choice.
    pub together: usize,
}

/// What no network can be.
#[derive(Clone, Debug, Error, PartialEq)]
#[expect(missing_docs)] // the messages say it
pub enum WlanError {
    #[error("station {station}: {error}")]
    Mac { station: String, error: MacError },
    #[error("{0}")]
    Medium(#[from] MediumError),
    #[error("flow {flow}: {error}")]
    Source { flow: String, error: SourceError },
    #[error("there are {described} stations, but the medium has {known}")]
    Count { described: usize, known: usize },
    #[error("station {station} has {queues} queues, but its MAC has {categories}")]
    Queues { station: String, queues: usize, categories: usize },
    #[error("flow {flow}: there is no station {id}")]
    NoStation { flow: String, id: u32 },
    #[error("flow {flow}: from and to are the same station, {station}")]
    ToItself { flow: String, station: String },
    #[error("flow {flow}: {from} and {to} cannot decode each other's frames")]
    OutOfReach { flow: String, from: String, to: String },
    #[error("a queue of station {station} has flows to more than 65536 stations")]
    Neighbours { station: String },
    #[error("flow {flow}: its rate control has no rates")]
    NoRate { flow: String },
    #[error("flow {flow}: station {station} has no queue {queue}")]
    NoQueue { flow: String, station: String, queue: usize },
    #[error(
        "flow {flow}: {bytes} bytes are too many for a frame; the longest at its rate has {most}"
    )]
    TooLong { flow: String, bytes: u32, most: u32 },
}

impl QueueSpec {
    /// A drop-tail queue without a ring.
    pub fn new(limit: Limit) -> QueueSpec {
        let discipline = Discipline::DropTail(DropFrom::Tail);
        QueueSpec { discipline, limit, link_layer_bytes: 0, ring_packets: 0 }
    }

    /// The queue; its lots, or the keys of its hash, come from `chance`.
    pub(crate) fn make(&self, mut chance: Stream) -> BoxedQueue {
        let QueueSpec { limit, link_layer_bytes: link, .. } = *self;
        let droptail =
            move |drop_from| DropTail::new(limit).dropping_from(drop_from).with_link_layer(link);
        match self.discipline {
            Discipline::DropTail(drop_from) => Box::new(droptail(drop_from)),
            Discipline::Codel(params) => Box::new(Codel::new(params, limit).with_link_layer(link)),
            Discipline::FqCodel(params) => {
                let mut queue = FqCodel::new(params, &mut chance).with_link_layer(link);
                queue.set_limit(limit);
                Box::new(queue)
            }
            Discipline::Red(params) => {
                Box::new(Red::new(params, limit, chance).with_link_layer(link))
            }
            Discipline::Pie(params) => {
                Box::new(Pie::new(params, limit, chance).with_link_layer(link))
            }
            Discipline::DeficitRoundRobin { by, quantum, drop_from } => {
                let queues = PerFlow::new(move |_| droptail(drop_from)).by(by);
                Box::new(queues.with_quantum(quantum))
            }
            Discipline::Mac80211(params) => {
                let mut queue = Mac80211::new(params, &mut chance).with_link_layer(link);
                queue.set_limit(limit);
                Box::new(queue)
            }
            Discipline::Rdqm(params) => Box::new(Rdqm::new(params, limit).with_link_layer(link)),
            Discipline::Adaptive(params) => {
                Box::new(Adaptive::new(params, limit, &mut chance).with_link_layer(link))
            }
        }
    }
}

impl FlowSpec {
    /// The rates that its frames may have.
    pub(crate) fn rates(&self) -> impl Iterator<Item = RateIndex> {
        let own = self.rate_control.is_none().then_some(self.rate);
        own.into_iter()
            .chain(self.rate_control.iter().flat_map(|control| control.rates.iter().copied()))
    }
}

impl WlanSpec {
    /// Of fewer than ten, joining the others and leaving them again costs more than being told of each frame
    /// (`cargo bench -p airqueue-sim --bench wlan alike`).
    pub const TOGETHER: usize = 10;

    /// Finds what cannot be simulated, besides what the parts find when they are built.
    pub(super) fn check(&self) -> Result<(), WlanError> {
        let (described, known) = (self.stations.len(), self.reach.stations());
        if described != known {
            return Err(WlanError::Count { described, known });
        }
        for station in &self.stations {
            let (queues, categories) = (station.queues.len(), station.mac.categories.len());
            if queues != categories {
                let station = station.name.clone();
                return Err(WlanError::Queues { station, queues, categories });
            }
        }
        self.flows.iter().try_for_each(|flow| self.check_flow(flow))
    }

    /// Of each station, whether a flow leads from it or to it. Others never send, and nothing depends on what they hear.
    pub(super) fn takes_part(&self) -> Vec<bool> {
        let mut takes_part = vec![false; self.stations.len()];
        for flow in &self.flows {
            takes_part[flow.from.index()] = true;
            takes_part[flow.to.index()] = true;
        }
        takes_part
    }

    pub(super) fn too_many_neighbours(&self, station: StationId) -> WlanError {
        WlanError::Neighbours { station: self.stations[station.index()].name.clone() }
    }

    fn check_flow(&self, spec: &FlowSpec) -> Result<(), WlanError> {
        let flow = spec.name.clone();
        if let Some(id) = [spec.from, spec.to].iter().find(|id| id.index() >= self.stations.len()) {
            return Err(WlanError::NoStation { flow, id: id.0 });
        }
        let name = |id: StationId| self.stations[id.index()].name.clone();
        if spec.from == spec.to {
            return Err(WlanError::ToItself { flow, station: name(spec.from) });
        }
        let decodes = |from, to| self.reach.signal(from, to).is_some_and(|s| s.decodable());
        if !decodes(spec.from, spec.to) || !decodes(spec.to, spec.from) {
            let (from, to) = (name(spec.from), name(spec.to));
            return Err(WlanError::OutOfReach { flow, from, to });
        }
        if spec.queue >= self.stations[spec.from.index()].queues.len() {
            let station = name(spec.from);
            return Err(WlanError::NoQueue { flow, station, queue: spec.queue });
        }
        let bytes = spec.source.size_bytes.saturating_add(spec.overhead_bytes);
        let most = spec.rates().map(|rate| self.network.phy.max_mpdu_bytes(rate)).min();
        let most = most.ok_or_else(|| WlanError::NoRate { flow: flow.clone() })?;
        if bytes > most {
            return Err(WlanError::TooLong { flow, bytes, most });
        }
        Ok(())
    }
}
