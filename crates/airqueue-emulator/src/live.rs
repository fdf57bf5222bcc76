//! The counters of an emulation at a moment: the differences of two moments are the figures of the time between.

use crate::figures::{Lateness, PairCounters, Refusal};
use airqueue_core::PacketCount;
use airqueue_network::histogram::FineHistogram;
use airqueue_scenario::live::{QueueNow, StationNow};

/// All counters at a moment, since real packets began to flow.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The pairs of real nodes, in the order of [`Emulation::pairs`](crate::Emulation::pairs).
    pub pairs: Vec<PairCounters>,
    /// The stations of the scenario.
    pub stations: Vec<StationNow>,
    /// The queues of the scenario.
    pub queues: Vec<QueueNow>,
    /// Packets that were not carried to their destination, by reason, and how many of them a router has answered with an error.
    pub refused: Vec<(Refusal, PacketCount, u64)>,
    /// Packets of real nodes in the network.
    pub held: u64,
}

/// What a pair's packets met between two moments.
#[derive(Clone, Debug)]
pub struct PairInterval {
    /// Packets offered to the network.
    pub offered: PacketCount,
    /// Packets delivered by the network.
    pub delivered: PacketCount,
    /// Packets dropped by a queue.
    pub dropped: PacketCount,
    /// Packets lost on the air or in a wire.
    pub lost: PacketCount,
    /// Delivered packets that a queue of the network marked.
    pub marked: u64,
    /// Delays of delivered packets in the network.
    pub delays: FineHistogram,
}

impl PairCounters {
    /// The counts since an earlier moment.
    pub fn since(&self, before: &PairCounters) -> PairInterval {
        PairInterval {
            offered: self.offered.since(&before.offered),
            delivered: self.delivered.since(&before.delivered),
            dropped: self.dropped.since(&before.dropped),
            lost: self.lost.since(&before.lost),
            marked: self.marked - before.marked,
            delays: self.delays.since(&before.delays),
        }
    }
}

impl Lateness {
    /// A quantile of the lateness since an earlier moment, in seconds; `None` without packets.
    pub fn quantile_since_s(&self, before: &Lateness, q: f64) -> Option<f64> {
        self.histogram.since(&before.histogram).quantile_s(q)
    }
}
