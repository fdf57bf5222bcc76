//! The airtime link metric of IEEE 802.11 (14.9, from 802.11s).

use super::Cost;
use crate::mac::MacConfig;
use crate::phy::{AccessCategory, Phy, RateIndex};
use airqueue_core::Span;

/// The metric's test frame, B_t: 8192 bits.
pub const TEST_FRAME_BYTES: u32 = 1024;

/// O + B_t / r, the time that a station takes for the test frame: AIFS or DIFS, what precedes the frame for its
/// protection, the frame itself, and its acknowledgement. The overhead O is that of the layer and of the station's own
/// settings, where the standard leaves it open; `ac` is one of its access categories, and `overhead_bytes` what
/// an MPDU adds to the test frame. Backoff counts nothing, as in the standard, and nothing is aggregated.
///
/// # Panics
///
/// If the station has no such access category.
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

/// The airtime cost c_a = (O + B_t / r) / (1 - e_f) in ns, of a link whose frames take `exchange` and are lost with
/// the probability `loss`. `None`: it would take more than 4.29 s, and is no link.
pub fn airtime_cost(exchange: Span, loss: f64) -> Option<Cost> {
    let cost = (exchange.as_nanos() as f64 / (1.0 - loss)).round();
    // Not a number is in no range.
    (1.0..=f64::from(u32::MAX)).contains(&cost).then(|| Cost::new(cost as u32)).flatten()
}
