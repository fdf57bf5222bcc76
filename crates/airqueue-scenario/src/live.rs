//! The counters of stations and queues of a network at work.

use super::{Run, Scenario};
use airqueue_core::Span;
use airqueue_network::counters::QueueCounters;
use airqueue_wifi::medium::StationId;

/// A station; the times are since counting began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationNow {
    /// Time in which the station sent frames.
    pub sent: Span,
    /// Time in which the station sensed the medium busy, or sent.
    pub busy: Span,
    /// Whether the station is out of reach of all others.
    pub away: bool,
}

/// A queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueNow {
    /// Packets that wait.
    pub packets: u64,
    /// Their bytes, link layer included.
    pub bytes: u64,
    /// The counters since counting began.
    pub counters: QueueCounters,
}

impl Scenario {
    /// The stations' names, in the order of [`Run::stations_now`].
    pub fn station_names(&self) -> &[String] {
        &self.names.stations
    }

    /// The queues' names, in the order of [`Run::queues_now`]: queues that flows feed, and queues before wired links.
    pub fn queue_names(&self) -> impl Iterator<Item = &str> {
        self.names.queues.iter().map(|(_, name)| &**name)
    }
}

impl Run {
    /// The stations at this moment.
    pub fn stations_now(&self) -> Vec<StationNow> {
        let (wlan, now) = (self.network.model.wlan(), self.now());
        let of = |id: StationId| StationNow {
            sent: wlan.station_at(id, now).sent.iter().fold(Span::ZERO, |sum, air| sum + air.time),
            busy: wlan.busy(id, now),
            away: wlan.is_away(id),
        };
        (0..self.names.stations.len() as u32).map(StationId).map(of).collect()
    }

    /// The queues at this moment.
    pub fn queues_now(&mut self) -> Vec<QueueNow> {
        let (now, names) = (self.now(), self.names.clone());
        let network = &mut self.network.model;
        let mut of = |queue| {
            let (packets, bytes) = network.waiting(queue);
            QueueNow { packets, bytes, counters: network.queue(queue, now) }
        };
        names.queues.iter().map(|&(queue, _)| of(queue)).collect()
    }
}
