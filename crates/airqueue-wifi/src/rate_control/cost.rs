//! The airtime cost of a transmission at a rate, and the throughput that follows.

use crate::phy::{Phy, RateIndex};

/// The most tries at one rate: the standard's limit of retries.
const MOST_TRIES: usize = 7;
/// Time for the tries at one rate (`segment_size` of the kernel's `minstrel_ht_alloc`).
const SEGMENT_NS: f64 = 6e6;
/// Below this probability a rate gets one try (`minstrel_calc_retransmit`).
const HOPELESS: f64 = 0.1;

/// Time spent waiting for the medium without contention.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waits {
    /// Mean time before the first try of a frame, the second and so on, in ns.
    before_try: [f64; MOST_TRIES],
}

/// Time of a PPDU and its response at a rate, in ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    /// With one MPDU.
    one: f64,
    /// The time that each further MPDU adds.
    more: f64,
}

impl Waits {
    /// DIFS, plus half of a window that doubles at each try.
    pub(super) fn new(phy: &Phy) -> Waits {
        let (difs, slot) = (phy.difs().as_nanos() as f64, phy.slot().as_nanos() as f64);
        let before_try = std::array::from_fn(|attempt| {
            let window = (u64::from(phy.w_min()) << attempt).min(phy.w_max().into());
            difs + slot * (window - 1) as f64 / 2.0
        });
        Waits { before_try }
    }

    /// MPDUs delivered per second if each MPDU arrives with probability `p` and a PPDU has `mpdus` MPDUs on average.
    /// As `minstrel_ht_get_tp_avg` of the kernel, except for two points. The window doubles after a PPDU of which no
    /// MPDU arrived, which costs a rate with many losses more than its airtime. And `p` is not capped: collisions
    /// lower `p` at all rates alike, and a cap would make unequal rates look equal.
    pub(super) fn throughput(&self, cost: &Cost, p: f64, mpdus: f64) -> f64 {
        let all_lost = libm::pow(1.0 - p, mpdus);
        let ppdu = cost.of(mpdus);
        let (mut share, mut sent, mut time) = (1.0, 0.0, 0.0);
        for wait in self.before_try {
            sent += share;
            time += share * (wait + ppdu);
            share *= all_lost;
        }
        1e9 * mpdus * p * sent / time
    }

    /// Number of tries at a rate before the next rate: at least two, and as many as fit into 6 ms.
    pub(super) fn tries(&self, cost: &Cost, p: f64, mpdus: f64) -> u32 {
        if p < HOPELESS {
            return 1;
        }
        let ppdu = cost.of(mpdus);
        let mut time = 0.0;
        let fits = self.before_try.iter().take_while(|&wait| {
            time += wait + ppdu;
            time < SEGMENT_NS
        });
        (fits.count() as u32).max(2)
    }
}

impl Cost {
    /// For MPDUs of `mpdu_bytes` bytes.
    pub(super) fn new(phy: &Phy, rate: RateIndex, mpdu_bytes: u32) -> Cost {
        let psdu_bytes = phy.single_psdu_bytes(rate, mpdu_bytes);
        let response = phy.ack(phy.response_rate(rate));
        let one = phy.airtime(rate, psdu_bytes) + phy.sifs() + response;
        let more = 8e9 * f64::from(mpdu_bytes) / phy.rate(rate).as_bps() as f64;
        Cost { one: one.as_nanos() as f64, more }
    }

    pub(super) fn of(&self, mpdus: f64) -> f64 {
        self.one + (mpdus - 1.0) * self.more
    }
}
