//! What a queue knows of the device behind it: how long packets are expected to take there, and how long those of all its
//! queues take together.

use crate::{DataRate, Span};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// A rate of frames, as far as the expected airtime of packets depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AirRate {
    /// A rate of DSSS or OFDM.
    Legacy {
        /// The data rate.
        rate: DataRate,
        /// Preamble, PHY header and SIFS, in microseconds.
        overhead_us: u32,
    },
    /// A scheme of 802.11n or later.
    Scheme {
        /// The time of 1024 bytes, in 1/1024 µs.
        kilobyte: u32,
        /// Number of spatial streams.
        streams: u8,
        /// 802.11ax or later, whose A-MPDUs may be longer.
        is_he: bool,
    },
}

/// The bytes that Linux adds to a packet's frame: preamble, addresses and checksum of Ethernet.
const ADDED_BYTES: u32 = 38;
/// The header of a frame that the driver gets as Ethernet's.
const HEADER_BYTES: u32 = 14;
/// The bytes in whose time rates are expressed.
const KILOBYTE: u64 = 1024;

impl AirRate {
    /// Preamble and SIFS of OFDM frames, in microseconds.
    pub const OFDM_OVERHEAD_US: u32 = 36;

    /// The airtime that Linux expects for an IP packet of so many bytes, in microseconds
    /// (`ieee80211_calc_expected_tx_airtime`). `aggregated`: in an A-MPDU, whose length is assumed by the rate.
    pub fn expected_us(self, ip_bytes: u32, aggregated: bool) -> u32 {
        let bytes = u64::from(ip_bytes) + u64::from(HEADER_BYTES + ADDED_BYTES);
        let us = match self {
            AirRate::Legacy { rate, overhead_us } => {
                let time = bytes * 8 * 10 / (rate.as_bps() / 100_000).max(1);
                u64::from(overhead_us) + time
            }
            AirRate::Scheme { kilobyte, streams, .. } => {
                let time = u64::from(kilobyte) * bytes / KILOBYTE / 1024;
                let overhead = 36 + 4 * u64::from(streams);
                if aggregated {
                    (time + (overhead >> self.assumed_packets_log2())).max(4)
                } else {
                    time + overhead
                }
            }
        };
        u32::try_from(us).unwrap_or(u32::MAX)
    }

    /// The binary logarithm of the number of packets that Linux assumes in an A-MPDU: slow ones are short.
    fn assumed_packets_log2(self) -> u32 {
        let AirRate::Scheme { kilobyte, is_he, .. } = self else { return 0 };
        // A rate at which 1024 bytes take more than so many microseconds has 2, 4, 8, 16 packets in an A-MPDU.
        let slower = [400, 250, 150, 70].iter().position(|us| kilobyte > us * 1024);
        match slower {
            Some(place) => place as u32 + 1,
            None if !is_he || kilobyte > 20 * 1024 => 5,
            None => 6,
        }
    }
}

/// What a queue knows of the device behind it.
#[derive(Clone, Debug)]
pub struct Device {
    /// The expected airtime of the packets in the device.
    pub airtime: DeviceAirtime,
    /// The rate that is expected before the first report on a station, and for packets to all stations.
    pub slowest: AirRate,
    /// Whether the queue's packets are assumed to be aggregated.
    pub aggregates: bool,
}

impl Default for Device {
    /// A device of its own, whose slowest rate is 6 Mb/s, and which aggregates.
    fn default() -> Device {
        let rate = const { DataRate::from_bps(6_000_000).unwrap() };
        let slowest = AirRate::Legacy { rate, overhead_us: AirRate::OFDM_OVERHEAD_US };
        Device { airtime: DeviceAirtime::default(), slowest, aggregates: true }
    }
}

/// The expected airtime of the packets in a device, which all its queues change: one queue's handle.
///
/// What a queue has added leaves with the handle. A clone belongs to a device of its own, with as much airtime.
#[derive(Debug, Default)]
pub struct DeviceAirtime {
    /// Nanoseconds of all queues.
    all: Arc<AtomicI64>,
    /// The part of this queue.
    own: Span,
}

impl DeviceAirtime {
    /// A handle for another queue of the same device.
    pub fn share(&self) -> DeviceAirtime {
        DeviceAirtime { all: Arc::clone(&self.all), own: Span::ZERO }
    }

    /// The airtime of this queue changes by so much.
    pub fn add(&mut self, change: Span) {
        self.own = self.own + change;
        self.all.fetch_add(change.as_nanos(), Ordering::Relaxed);
    }

    /// The airtime of this queue.
    pub fn own(&self) -> Span {
        self.own
    }

    /// The airtime of all queues of the device.
    pub fn of_all(&self) -> Span {
        Span::from_nanos(self.all.load(Ordering::Relaxed))
    }
}

impl Clone for DeviceAirtime {
    fn clone(&self) -> DeviceAirtime {
        DeviceAirtime { all: Arc::new(AtomicI64::new(self.of_all().as_nanos())), own: self.own }
    }
}

impl Drop for DeviceAirtime {
    fn drop(&mut self) {
        self.add(Span::ZERO - self.own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_queue_has_added_leaves_with_it() {
        let mut one = DeviceAirtime::default();
        let mut other = one.share();
        one.add(Span::from_millis(3));
        other.add(Span::from_millis(5));
        assert_eq!((one.own(), one.of_all()), (Span::from_millis(3), Span::from_millis(8)));
        let mut copy = one.clone();
        copy.add(Span::from_millis(1));
        assert_eq!((one.of_all(), copy.of_all()), (Span::from_millis(8), Span::from_millis(9)));
        drop(other);
        assert_eq!(one.of_all(), Span::from_millis(3));
    }
}
