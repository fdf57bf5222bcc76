//! What the queues of stations do over time, and which of them do not drain.
//!
//! A look is what the kernel tells at a moment. From two looks follow rates, sojourn times by Little's law, and shares of
//! airtime. A queue that has packets and sends none is stuck: after some time that is an alarm, with the
//! station, since when, and who waits at the same phy meanwhile.

mod events;

use crate::plan::Category;
use airqueue_core::{Span, Time};
use serde::Serialize;
use std::collections::BTreeMap;

pub use events::{Ended, Event, Events};

/// Everything at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Look {
    /// When, since the machine started.
    pub at: Time,
    /// The phys.
    pub phys: Vec<PhyLook>,
}

/// A phy at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PhyLook {
    /// Its name.
    pub phy: String,
    /// Packets that may wait for all its stations, where it has TXQs.
    pub limit_packets: Option<u32>,
    /// Packets that wait for all of them.
    pub backlog_packets: Option<u32>,
    /// Stations of its interfaces.
    pub stations: Vec<StationLook>,
}

/// A station at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StationLook {
    /// The interface that knows it.
    pub interface: String,
    /// Its address.
    pub station: String,
    /// Airtime of its frames in both directions, in microseconds since it connected; absent where the driver counts none.
    pub airtime_us: Option<u64>,
    /// Its queues, where there are TXQs.
    pub queues: Vec<QueueLook>,
}

/// A station's queue of an access category at a moment; counters have 32 bits and wrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLook {
    /// The access category.
    pub category: Category,
    /// Packets that wait.
    pub backlog_packets: u32,
    /// Bytes that wait.
    pub backlog_bytes: u32,
    /// Packets that have left.
    pub sent_packets: u32,
    /// Packets that CoDel dropped.
    pub dropped_packets: u32,
    /// How often the phy's limit was exceeded and this queue was the fattest.
    pub overflows: u32,
}

/// What is known about a queue between two looks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The phy.
    pub phy: String,
    /// The interface.
    pub interface: String,
    /// The station.
    pub station: String,
    /// The access category.
    pub category: Category,
    /// Packets that wait.
    pub backlog_packets: u32,
    /// Bytes that wait.
    pub backlog_bytes: u32,
    /// Packets that left, per second; absent at the first look.
    pub sent_pps: Option<f64>,
    /// How long a packet that arrives now will wait: what waits, by the rate at which packets leave (Little's law). Absent
    /// if none left.
    pub sojourn_s: Option<f64>,
    /// Packets that CoDel dropped between the looks.
    pub dropped_packets: u32,
    /// Overflows of the phy's limit between the looks that this queue paid for.
    pub overflows: u32,
    /// The station's share of the time between the looks; absent where the driver counts no airtime.
    pub airtime_share: Option<f64>,
    /// For how long the queue has had packets and sent none; absent if it has sent some since the last look.
    pub stuck_s: Option<f64>,
}

/// A queue that does not drain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alarm {
    /// The phy.
    pub phy: String,
    /// The interface.
    pub interface: String,
    /// The station whose queue it is.
    pub station: String,
    /// The access category.
    pub category: Category,
    /// For how long.
    pub stuck_s: f64,
    /// When the last packet left, or was first seen to wait, in seconds since the machine started.
    pub since_s: f64,
    /// Packets that wait there.
    pub backlog_packets: u32,
    /// Their share of all that may wait at the phy.
    pub share_of_limit: Option<f64>,
    /// Other stations of the phy that have had packets waiting at every look since.
    pub others_wait: Vec<String>,
}

/// A report of a look.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// When, in seconds since the machine started.
    pub at_s: f64,
    /// All queues that have sent something or have packets.
    pub queues: Vec<Row>,
    /// The queues that do not drain.
    pub alarms: Vec<Alarm>,
}

/// Which queue.
type Key = (String, String, String, Category);

/// What is kept of a queue from one look to the next.
#[derive(Debug, Clone)]
struct Kept {
    at: Time,
    look: QueueLook,
    airtime_us: Option<u64>,
    /// Since when it has had packets and sent none.
    stuck: Option<Time>,
    /// Since when it has had packets at every look.
    waits: Option<Time>,
}

/// Watches the queues of stations.
#[derive(Debug, Clone)]
pub struct Watch {
    stuck_after: Span,
    queues: BTreeMap<Key, Kept>,
}

impl Watch {
    /// Queues are stuck that have sent nothing for so long.
    pub fn new(stuck_after: Span) -> Self {
        Self { stuck_after, queues: BTreeMap::new() }
    }

    /// Takes a look into account. Queues that are not in it any more are forgotten.
    pub fn on_look(&mut self, look: &Look) -> Report {
        let mut before = std::mem::take(&mut self.queues);
        let mut rows = Vec::new();
        for phy in &look.phys {
            for station in &phy.stations {
                for queue in &station.queues {
                    let key = (
                        phy.phy.clone(),
                        station.interface.clone(),
                        station.station.clone(),
                        queue.category,
                    );
                    let last = before.remove(&key).filter(|last| is_same(&last.look, queue));
                    let kept = kept(look.at, station.airtime_us, *queue, last.as_ref());
                    if queue.backlog_packets > 0 || queue.sent_packets > 0 {
                        rows.push(row(&key, &kept, last.as_ref()));
                    }
                    self.queues.insert(key, kept);
                }
            }
        }
        let alarms = self.alarms(look);
        Report { at_s: look.at.as_secs_f64(), queues: rows, alarms }
    }

    fn alarms(&self, look: &Look) -> Vec<Alarm> {
        let is_late = |since: Time| look.at - since >= self.stuck_after;
        let stuck = self.queues.iter().filter_map(|(key, kept)| Some((key, kept, kept.stuck?)));
        stuck
            .filter(|(_, _, since)| is_late(*since))
            .map(|((phy, interface, station, category), kept, since)| Alarm {
                phy: phy.clone(),
                interface: interface.clone(),
                station: station.clone(),
                category: *category,
                stuck_s: (look.at - since).as_secs_f64(),
                since_s: since.as_secs_f64(),
                backlog_packets: kept.look.backlog_packets,
                share_of_limit: share(look, phy, kept.look.backlog_packets),
                others_wait: self.others(phy, station, since),
            })
            .collect()
    }

    /// Other stations of a phy that have had packets waiting since.
    fn others(&self, phy: &str, station: &str, since: Time) -> Vec<String> {
        let waiting = self.queues.iter().filter(|((at, _, other, _), kept)| {
            at == phy && other != station && kept.waits.is_some_and(|waits| waits <= since)
        });
        let mut names: Vec<String> = waiting.map(|((_, _, other, _), _)| other.clone()).collect();
        names.dedup();
        names
    }
}

/// Whether counters went on: those of a station that has connected anew begin at zero. A counter that wraps has advanced
/// by less than half of its range.
fn is_same(last: &QueueLook, now: &QueueLook) -> bool {
    now.sent_packets.wrapping_sub(last.sent_packets) < 1 << 31
}

fn kept(at: Time, airtime_us: Option<u64>, look: QueueLook, last: Option<&Kept>) -> Kept {
    let has_packets = look.backlog_packets > 0;
    let has_sent = last.is_none_or(|last| last.look.sent_packets != look.sent_packets);
    let begun = |since: Option<Time>| has_packets.then(|| since.unwrap_or(at));
    Kept {
        at,
        look,
        airtime_us,
        stuck: begun(last.and_then(|last| last.stuck).filter(|_| !has_sent)),
        waits: begun(last.and_then(|last| last.waits)),
    }
}

fn row(key: &Key, kept: &Kept, last: Option<&Kept>) -> Row {
    let Kept { at, look, .. } = kept;
    let elapsed_s = last.map(|last| (*at - last.at).as_secs_f64()).filter(|&elapsed| elapsed > 0.0);
    let since =
        |of: fn(&QueueLook) -> u32| last.map_or(0, |last| of(look).wrapping_sub(of(&last.look)));
    let sent_pps = elapsed_s.map(|elapsed| f64::from(since(|look| look.sent_packets)) / elapsed);
    let airtime_us = last
        .and_then(|last| last.airtime_us)
        .zip(kept.airtime_us)
        .and_then(|(before, now)| now.checked_sub(before));
    let (phy, interface, station, category) = key.clone();
    Row {
        phy,
        interface,
        station,
        category,
        backlog_packets: look.backlog_packets,
        backlog_bytes: look.backlog_bytes,
        sent_pps,
        sojourn_s: sent_pps
            .filter(|&pps| pps > 0.0)
            .map(|pps| f64::from(look.backlog_packets) / pps),
        dropped_packets: since(|look| look.dropped_packets),
        overflows: since(|look| look.overflows),
        airtime_share: airtime_us.zip(elapsed_s).map(|(us, elapsed)| us as f64 / 1e6 / elapsed),
        stuck_s: kept.stuck.filter(|since| since < at).map(|since| (*at - since).as_secs_f64()),
    }
}

fn share(look: &Look, phy: &str, backlog_packets: u32) -> Option<f64> {
    let phy = look.phys.iter().find(|each| each.phy == phy)?;
    let limit = phy.limit_packets.filter(|&limit| limit > 0)?;
    Some(f64::from(backlog_packets) / f64::from(limit))
}

#[cfg(test)]
mod tests;
