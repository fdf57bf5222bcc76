//! The arithmetic by which buffers are divided and sized, for queues of simulations and of real machines alike.

use crate::{DataRate, Span};

/// Larger than the weight of a flow on any link; products of such weights and of counts stay in range.
pub const MOST_RDQM_WEIGHT: u64 = 1 << 44;

/// The weight of a flow's share in RDQM, its bandwidth-delay product in bits (Algorithm 3); at least 1, so that each flow
/// has a share.
pub fn rdqm_weight(rtt: Span, rate: DataRate) -> u64 {
    let bits = rate.work_in(rtt) / 1_000_000_000;
    u64::try_from(bits).map_or(MOST_RDQM_WEIGHT, |bits| bits.clamp(1, MOST_RDQM_WEIGHT))
}

/// The flows that divide a buffer by RDQM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RdqmFlows {
    /// N: all of them.
    pub flows: u64,
    /// N_R: those whose receivers report.
    pub reporting: u64,
    /// Sum of their weights.
    pub weights: u128,
}

impl RdqmFlows {
    /// A flow's share of a room of so many packets or bytes, as a fraction: w · Q · N_R / (Σw · N) for a flow that reports a
    /// weight, else Q / N (RDQM, Algorithm 3).
    pub fn share(&self, room: u64, weight: Option<u64>) -> (u128, u128) {
        let (room, flows) = (u128::from(room), u128::from(self.flows));
        match weight {
            None => (room, flows),
            Some(weight) => (
                u128::from(weight) * room * u128::from(self.reporting),
                self.weights.saturating_mul(flows),
            ),
        }
    }
}

/// Bytes that keep a link busy whose n flows are not in step: rate · RTT / √n (Appenzeller, Keslassy and McKeown, SIGCOMM
/// 2004).
pub fn bytes_of_flows(rate_bps: f64, rtt: Span, flows: f64) -> f64 {
    rate_bps * rtt.as_secs_f64() / flows.sqrt() / 8.0
}
