//! A look at the queues of all stations of this network namespace.

use crate::netlink::NetlinkError;
use crate::radio::error::RadioError;
use crate::radio::facts::Radios;
use crate::radio::nl80211::Nl80211;
use crate::radio::read;
use crate::radio::station::{Station, Tid};
use crate::radio::wiphy::WirelessInterface;
use airqueue_control::plan::Category;
use airqueue_control::watch::{Look, PhyLook, QueueLook, StationLook};
use airqueue_core::Time;
use nix::errno::Errno;

/// Looks at all phys and their stations. An interface that goes away meanwhile is left out.
pub fn look(nl80211: &mut Nl80211, at: Time) -> Result<Look, RadioError> {
    let radios = Radios::read_by(nl80211)?;
    look_with(&radios, at, |interface| read::stations(nl80211, interface))
}

/// As [`look`], with the radios and with what lists the stations of an interface by its number.
pub fn look_with(
    radios: &Radios,
    at: Time,
    mut stations_of: impl FnMut(u32) -> Result<Vec<Station>, NetlinkError>,
) -> Result<Look, RadioError> {
    let mut phys = Vec::new();
    for phy in &radios.phys {
        let mut stations = Vec::new();
        for interface in radios.interfaces.iter().filter(|each| each.wiphy == phy.index) {
            let known = match stations_of(interface.index) {
                // It went away meanwhile, or its driver lists no stations.
                Err(error) if matches!(error.errno(), Some(Errno::ENODEV | Errno::EOPNOTSUPP)) => {
                    continue;
                }
                known => known?,
            };
            stations.extend(known.iter().map(|station| station_look(interface, station)));
        }
        phys.push(PhyLook {
            phy: phy.name.clone(),
            limit_packets: phy.txq_limits.map(|limits| limits.limit_packets),
            backlog_packets: phy.txq.and_then(|counters| counters.backlog_packets),
            stations,
        });
    }
    Ok(Look { at, phys })
}

/// A station as [`airqueue_control::watch`] takes it.
pub fn station_look(interface: &WirelessInterface, station: &Station) -> StationLook {
    let airtime_us = station.tx_duration_us.zip(station.rx_duration_us);
    StationLook {
        interface: interface.name.clone(),
        station: station.address.to_string(),
        // A driver that counts no airtime leaves zeros.
        airtime_us: airtime_us.map(|(tx, rx)| tx.saturating_add(rx)).filter(|&sum| sum > 0),
        queues: queues(&station.tids),
    }
}

/// The queues of a station by access category; each has those of two TIDs, and of their traffic streams (TIDs from 8 on).
fn queues(tids: &[Tid]) -> Vec<QueueLook> {
    let mut found: Vec<QueueLook> = Vec::new();
    for (tid, counters) in tids.iter().filter_map(|each| Some((each.tid?, each.txq?))) {
        let category = category(tid);
        let number = |count: Option<u32>| count.unwrap_or(0);
        let queue = QueueLook {
            category,
            backlog_packets: number(counters.backlog_packets),
            backlog_bytes: number(counters.backlog_bytes),
            sent_packets: number(counters.tx_packets),
            dropped_packets: number(counters.drops),
            overflows: number(counters.overlimit),
        };
        match found.iter_mut().find(|each| each.category == category) {
            Some(sum) => add(sum, &queue),
            None => found.push(queue),
        }
    }
    found
}

/// Backlogs add up; counters wrap.
fn add(sum: &mut QueueLook, queue: &QueueLook) {
    sum.backlog_packets = sum.backlog_packets.saturating_add(queue.backlog_packets);
    sum.backlog_bytes = sum.backlog_bytes.saturating_add(queue.backlog_bytes);
    sum.sent_packets = sum.sent_packets.wrapping_add(queue.sent_packets);
    sum.dropped_packets = sum.dropped_packets.wrapping_add(queue.dropped_packets);
    sum.overflows = sum.overflows.wrapping_add(queue.overflows);
}

/// The access category of a TID (802.11-2016, table 10-1).
fn category(tid: u8) -> Category {
    match tid & 7 {
        1 | 2 => Category::Background,
        0 | 3 => Category::BestEffort,
        4 | 5 => Category::Video,
        _ => Category::Voice,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::radio::txq::TxqStatistics;

    fn tid(tid: Option<u8>, backlog: u32, sent: u32) -> Tid {
        let txq = TxqStatistics {
            backlog_packets: Some(backlog),
            tx_packets: Some(sent),
            ..TxqStatistics::default()
        };
        Tid { tid, tx_msdu: None, tx_msdu_retries: None, tx_msdu_failed: None, txq: Some(txq) }
    }

    #[test]
    fn tids_of_a_category_are_one_queue() {
        let all = [
            tid(Some(0), 3, 10),
            tid(Some(3), 4, 20),
            tid(Some(8), 5, u32::MAX),
            tid(Some(6), 1, 1),
            tid(None, 9, 9),
        ];
        let found = queues(&all);
        let told = |queue: &QueueLook| (queue.category, queue.backlog_packets, queue.sent_packets);
        let found: Vec<_> = found.iter().map(told).collect();
        assert_eq!(found, [(Category::BestEffort, 12, 29), (Category::Voice, 1, 1)]);
    }

    #[test]
    fn categories_are_those_of_the_standard() {
        let categories: Vec<_> = (0..8).map(category).collect();
        use Category::{Background, BestEffort, Video, Voice};
        let expected = [BestEffort, Background, Background, BestEffort, Video, Video, Voice, Voice];
        assert_eq!(categories, expected);
    }
}
