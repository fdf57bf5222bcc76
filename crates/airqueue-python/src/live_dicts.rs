//! Dictionaries of a running emulation passed to Python, as those of [`crate::dicts`].

use crate::dicts::{Named, RefusedDict};
use pyo3::prelude::*;
use schemars::JsonSchema;

/// The figures of an emulation in the last seconds.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct LiveDict {
    /// How long these seconds are: rates, delays, shares and counts are of this time.
    pub(crate) duration_s: f64,
    /// Wall-clock time since the end of the warm-up.
    pub(crate) elapsed_s: f64,
    /// 99th percentile of the lateness of packets: written minus due.
    pub(crate) late_p99_s: Option<f64>,
    /// 99th percentile of the time that packets may have waited to be read, at most.
    pub(crate) read_late_p99_s: Option<f64>,
    /// Packets that left the network and that a device did not take.
    pub(crate) unwritten_packets: u64,
    /// Packets of real programs in the network at the end of this time.
    pub(crate) held_packets: u64,
    /// CPU time of the emulation's thread, as a share of one processor.
    pub(crate) cpu_ratio: Option<f64>,
    /// The packets from each real node to each other, by `from->to`.
    pub(crate) pairs: Named<LivePairDict>,
    /// The stations, simulated ones too.
    pub(crate) stations: Named<LiveStationDict>,
    /// The queues of stations and of wired links.
    pub(crate) queues: Named<LiveQueueDict>,
}

/// The packets from one real node to another in the last seconds.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct LivePairDict {
    /// Rate of IP packets offered to the network.
    pub(crate) offered_bps: Option<f64>,
    /// Rate of IP packets delivered by the network.
    pub(crate) delivered_bps: Option<f64>,
    /// Packets offered to the network.
    pub(crate) offered_packets: u64,
    /// Packets delivered by the network.
    pub(crate) delivered_packets: u64,
    /// Packets dropped by queues of the network.
    pub(crate) dropped_packets: u64,
    /// Packets given up on the air, after the last retry, or lost in a wired link.
    pub(crate) given_up_packets: u64,
    /// Delivered packets that a queue of the network marked with CE.
    pub(crate) marked_packets: u64,
    /// Median of the delay in the network.
    pub(crate) delay_p50_s: Option<f64>,
    /// 95th percentile of the delay.
    pub(crate) delay_p95_s: Option<f64>,
}

/// A station in the last seconds.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct LiveStationDict {
    /// Share of the time in which the station sent frames.
    pub(crate) airtime_ratio: Option<f64>,
    /// Share of the time in which the station sensed the medium busy, or sent.
    pub(crate) busy_ratio: Option<f64>,
    /// Whether the station is out of reach of all others now.
    pub(crate) away: bool,
}

/// A queue in the last seconds.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct LiveQueueDict {
    /// Packets that wait now, driver ring included.
    pub(crate) packets: u64,
    /// Their bytes, link layer included.
    pub(crate) bytes: u64,
    /// Packets that the queue dropped.
    pub(crate) dropped_packets: u64,
}

/// The counters of an emulation since real time began.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct TotalsDict {
    /// Wall-clock time since the end of the warm-up.
    pub(crate) elapsed_s: f64,
    /// CPU time of the emulation's thread in this time.
    pub(crate) cpu_s: f64,
    /// Packets written to real nodes.
    pub(crate) written_packets: u64,
    /// Sum of their lateness: written minus due.
    pub(crate) late_sum_s: f64,
    /// Those that were late by more than a millisecond.
    pub(crate) late_packets: u64,
    /// Packets that may have waited more than a millisecond to be read.
    pub(crate) read_late_packets: u64,
    /// Packets that left the network and that a device did not take.
    pub(crate) unwritten_packets: u64,
    /// Packets of real programs in the network now.
    pub(crate) held_packets: u64,
    /// The packets from each real node to each other, by `from->to`.
    pub(crate) pairs: Named<TotalPairDict>,
    /// The stations, simulated ones too.
    pub(crate) stations: Named<TotalStationDict>,
    /// The queues of stations and of wired links.
    pub(crate) queues: Named<TotalQueueDict>,
    /// The packets that were not carried to their destination, by reason.
    pub(crate) refused: Named<RefusedDict>,
}

/// The packets from one real node to another.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct TotalPairDict {
    /// Packets offered to the network.
    pub(crate) offered_packets: u64,
    /// Their IP bytes.
    pub(crate) offered_bytes: u64,
    /// Packets delivered by the network.
    pub(crate) delivered_packets: u64,
    /// Their IP bytes.
    pub(crate) delivered_bytes: u64,
    /// Packets dropped by queues of the network.
    pub(crate) dropped_packets: u64,
    /// Packets given up on the air, after the last retry, or lost in a wired link.
    pub(crate) given_up_packets: u64,
    /// Delivered packets that a queue of the network marked with CE.
    pub(crate) marked_packets: u64,
    /// Sum of the delays of delivered packets in the network.
    pub(crate) delay_sum_s: f64,
    /// How many of these delays are shorter than each of some times.
    pub(crate) delays_below: Vec<DelaysBelowDict>,
}

/// Delays shorter than a time.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct DelaysBelowDict {
    /// The time, a power of two of nanoseconds.
    pub(crate) below_s: f64,
    /// How many delays are shorter.
    pub(crate) packets: u64,
}

/// A station.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct TotalStationDict {
    /// Time in which the station sent frames.
    pub(crate) airtime_s: f64,
    /// Time in which the station sensed the medium busy, or sent.
    pub(crate) busy_s: f64,
    /// Whether the station is out of reach of all others now.
    pub(crate) away: bool,
}

/// A queue.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct TotalQueueDict {
    /// Packets that wait now, driver ring included.
    pub(crate) packets: u64,
    /// Their bytes, link layer included.
    pub(crate) bytes: u64,
    /// Packets offered to the queue.
    pub(crate) offered_packets: u64,
    /// Packets that the queue dropped.
    pub(crate) dropped_packets: u64,
    /// Packets that the queue marked with CE.
    pub(crate) marked_packets: u64,
}
