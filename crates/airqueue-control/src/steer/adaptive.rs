//! APQ's adaptive queue: a FIFO whose limit follows the number of flows and their round trip (APQ section V).

use crate::pace::{Next, Pace, Paced};
use airqueue_core::buffers::bytes_of_flows;
use airqueue_core::{DataRate, Span, Time};

/// How a limit follows flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptivePolicy {
    /// The link's rate.
    pub rate: DataRate,
    /// The round trip while none is measured.
    pub rtt: Span,
    /// Bytes of a packet, link layer included.
    pub packet_bytes: u32,
    /// The least limit: less than about ten packets do not keep a link busy (Enachescu et al., INFOCOM 2006).
    pub least_packets: u32,
    /// The largest limit.
    pub most_packets: u32,
    /// Shortest time between two changes.
    pub least_interval: Span,
}

/// A limit that follows.
#[derive(Clone, Copy, Debug)]
pub struct AdaptiveLoop {
    policy: AdaptivePolicy,
    limit: Paced,
}

/// Greatest factor of one change.
const FACTOR: f64 = 2.0;

impl AdaptivePolicy {
    /// The limit for so many flows with a round trip, in packets.
    pub fn limit(&self, flows: u32, rtt: Option<Span>) -> u32 {
        let rtt = rtt.unwrap_or(self.rtt);
        let bytes = bytes_of_flows(self.rate.as_bps() as f64, rtt, f64::from(flows.max(1)));
        let packets = (bytes / f64::from(self.packet_bytes.max(1))).ceil();
        (packets as u32).clamp(self.least_packets, self.most_packets.max(self.least_packets))
    }
}

impl AdaptiveLoop {
    /// A loop that begins with a limit.
    pub fn new(policy: AdaptivePolicy, limit_packets: u32) -> AdaptiveLoop {
        let pace = Pace { least_interval: policy.least_interval, greatest_factor: FACTOR };
        AdaptiveLoop { policy, limit: Paced::new(pace, limit_packets.into()) }
    }

    /// Takes the number of active flows and their round trip without this queue, if it is known. Returns the limit in packets
    /// if it is to change now.
    pub fn on_flows(&mut self, flows: u32, rtt: Option<Span>, now: Time) -> Option<u32> {
        if flows == 0 {
            // Without flows there is nothing to follow.
            return None;
        }
        match self.limit.on_wanted(self.policy.limit(flows, rtt).into(), now) {
            Next::Set(packets) => u32::try_from(packets).ok(),
            Next::Stay | Next::Wait(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn policy() -> AdaptivePolicy {
        AdaptivePolicy {
            rate: DataRate::from_bps(18_168_000).unwrap(),
            rtt: Span::from_millis(200),
            packet_bytes: 1514,
            least_packets: 10,
            most_packets: 1000,
            least_interval: Span::from_secs(10),
        }
    }

    #[test]
    fn the_limit_is_rate_times_round_trip_by_the_root_of_flows() {
        // 18.168 Mb/s · 0.2 s = 300 packets of 1514 bytes.
        let limit =
            |flows, rtt_ms: Option<i64>| policy().limit(flows, rtt_ms.map(Span::from_millis));
        assert_eq!([limit(1, None), limit(4, None), limit(9, None)], [300, 150, 100]);
        assert_eq!([limit(1, Some(40)), limit(10_000, None), limit(0, None)], [60, 10, 300]);
        assert_eq!(limit(1, Some(60_000)), 1000);
    }

    #[test]
    fn it_goes_there_in_steps() {
        let mut adaptive = AdaptiveLoop::new(policy(), 100);
        let at = |second| Time::ZERO + Span::from_secs(second);
        assert_eq!(adaptive.on_flows(0, None, at(0)), None);
        assert_eq!(adaptive.on_flows(1, None, at(0)), Some(200));
        assert_eq!(adaptive.on_flows(1, None, at(5)), None);
        assert_eq!(adaptive.on_flows(1, None, at(10)), Some(300));
        assert_eq!(adaptive.on_flows(1, None, at(20)), None);
        assert_eq!(adaptive.on_flows(900, None, at(20)), Some(150));
    }

    proptest! {
        #[test]
        fn more_flows_never_need_more(flows in 1u32..10_000, more in 0u32..10_000, rtt_ms in 0i64..100_000) {
            let rtt = Some(Span::from_millis(rtt_ms));
            let (few, many) = (policy().limit(flows, rtt), policy().limit(flows + more, rtt));
            prop_assert!(many <= few && (10..=1000).contains(&few));
        }
    }
}
