//! The kernel's estimate of airtime, and what follows: the throughput of a rate, and the number of tries.

use crate::phy::{Phy, RateIndex};
use airqueue_core::Span;

/// Bytes of the packet for which airtime is estimated, whatever is sent (`AVG_PKT_SIZE`), and of a FCS.
const PACKET_BYTES: u32 = 1200;
const FCS_BYTES: u32 = 4;
/// Below this share a rate counts as without throughput, and a larger share counts as this one: differences beyond are
/// put down to collisions (`minstrel_ht_get_tp_avg`).
const HOPELESS: f64 = 0.1;
const MOST: f64 = 0.9;
/// Tries at one rate: 2 if less than this share arrives, else as many as fit into 6 ms, between 2 and the standard's
/// limit of retries (`minstrel_calc_retransmit`).
const POOR: f64 = 0.2;
const FEWEST_TRIES: u32 = 2;
const MOST_TRIES: u32 = 7;
const SEGMENT_NS: f64 = 6e6;
/// The windows and slots that the kernel assumes between the tries.
const W_MIN: u32 = 15;
const W_MAX: u32 = 1023;
const SLOT_NS: f64 = 9e3;

/// Time of a PPDU beside its MPDUs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overhead {
    ns: f64,
    /// RTS and CTS, which precede the tries at all rates but the first.
    protection_ns: f64,
}

impl Overhead {
    /// The kernel's overhead for rates like this one, at the rate of the responses to the slowest of them: with
    /// aggregation a frame without contents and an ACK; otherwise an ACK, as the time of a packet has the rest.
    pub(super) fn new(phy: &Phy, slowest: RateIndex) -> Overhead {
        let control = phy.response_rate(slowest);
        let ack = phy.sifs() + phy.ack(control);
        let empty = match phy.mcs(slowest) {
            Some(_) => phy.sifs() + phy.airtime(control, FCS_BYTES),
            None => Span::ZERO,
        };
        let ns = (empty + ack).as_nanos() as f64;
        Overhead { ns, protection_ns: 2.0 * ack.as_nanos() as f64 }
    }

    /// MPDUs per second if a share arrives, each of which takes `packet_ns` in PPDUs of `mpdus` MPDUs.
    pub(super) fn throughput(&self, packet_ns: f64, share: f64, mpdus: f64) -> f64 {
        if share < HOPELESS { 0.0 } else { 1e9 * share.min(MOST) / (self.ns / mpdus + packet_ns) }
    }

    /// Number of tries at a rate before the next rate.
    pub(super) fn tries(&self, packet_ns: f64, share: f64, mpdus: f64, protected: bool) -> u32 {
        if share < POOR {
            return FEWEST_TRIES;
        }
        let protection_ns = if protected { self.protection_ns } else { 0.0 };
        let ppdu_ns = self.ns + protection_ns + mpdus * packet_ns;
        let (mut time_ns, mut window, mut tries) = (0.0, W_MIN, 0);
        while tries < MOST_TRIES {
            time_ns += SLOT_NS * f64::from(window) / 2.0 + ppdu_ns;
            if tries >= FEWEST_TRIES && time_ns >= SEGMENT_NS {
                break;
            }
            window = (2 * window + 1).min(W_MAX);
            tries += 1;
        }
        tries
    }
}

/// Time that a packet takes at a rate, in ns: within an A-MPDU that of its bits, otherwise that of its frame with SIFS.
pub(super) fn packet_ns(phy: &Phy, rate: RateIndex) -> f64 {
    if phy.mcs(rate).is_some() {
        return 8e9 * f64::from(PACKET_BYTES) / phy.rate(rate).as_bps() as f64;
    }
    (phy.sifs() + phy.airtime(rate, PACKET_BYTES + FCS_BYTES)).as_nanos() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_count_between_a_tenth_and_nine_tenths() {
        let overhead = Overhead { ns: 1e5, protection_ns: 0.0 };
        let throughput = |share| overhead.throughput(1e5, share, 1.0);
        assert_eq!(throughput(0.09), 0.0);
        assert!(throughput(0.5) < throughput(0.9));
        assert_eq!(throughput(0.9), throughput(1.0));
    }
}
