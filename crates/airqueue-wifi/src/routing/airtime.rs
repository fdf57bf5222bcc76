//! The airtime link metric of IEEE 802.11 (14.9, from 802.11s).

use super::Cost;
use crate::mac::MacConfig;
use crate::phy::{AccessCategory, Phy, RateIndex};
use airqueue_core::Span;

/// The metric's test frame, B_t: 8192 bits.
pub const TEST_FRAME_BYTES: u32 = 1024;

/// O + B_t / r, the duration of an exchange of the test frame: AIFS or DIFS, protection, the frame, and its
/// acknowledgement. The standard leaves the overhead O open; here O follows from the physical layer and the station's
/// settings. `ac` is one of the station's access categories, and `overhead_bytes` is what an MPDU adds to the test
/// frame. As in the standard, backoff is not included and nothing is aggregated.
///
/// # Panics
///
/// If the station does not have this access category.
pub fn test_exchange(
    phy: &Phy,
    mac: &MacConfig,
    ac: AccessCategory,
    rate: RateIndex,
    overhead_bytes: u32,
) -> Span {
    let psdu_bytes = phy.single_psdu_bytes(rate, TEST_FRAME_BYTES + overhead_bytes);
    mac.exchange(ac, rate, psdu_bytes, phy)
}

/// The airtime cost c_a = (O + B_t / r) / (1 - e_f) in ns of a link whose exchanges take `exchange` and whose frames
/// are lost with probability `loss`. `None`: the cost would exceed 4.29 s, which is no usable link.
pub fn airtime_cost(exchange: Span, loss: f64) -> Option<Cost> {
    let cost = (exchange.as_nanos() as f64 / (1.0 - loss)).round();
    // The range does not contain NaN.
    (1.0..=f64::from(u32::MAX)).contains(&cost).then(|| Cost::new(cost as u32)).flatten()
}
