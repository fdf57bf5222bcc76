//! Which rates are worth trying one after the other.

use crate::phy::{Phy, RateIndex};
use airqueue_core::DataRate;

/// The frame, and its loss, at which rates are compared: those of the standard's receiver sensitivity for
/// OFDM (IEEE 802.11-2016, 17.3.10.2).
const BYTES: u32 = 1_000;
const LOSS: f64 = 0.1;

/// Of these rates, from slow to fast, the ones that are worth having where a slower rate is to be the more
/// robust one: any that needs as much signal as a faster one is left out, as 2 Mb/s beside 5.5 Mb/s.
pub fn ladder(phy: &Phy, rates: &[RateIndex]) -> Vec<RateIndex> {
    let known = |&rate: &RateIndex| (phy.rate(rate), phy.needed_snr(rate, LOSS, BYTES), rate);
    let mut all: Vec<(DataRate, f64, RateIndex)> = rates.iter().map(known).collect();
    // The fastest first; of equally fast ones the most robust.
    all.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
    let mut steps = Vec::with_capacity(all.len());
    let mut least = f64::INFINITY;
    for (_, snr, rate) in all {
        if snr < least {
            least = snr;
            steps.push(rate);
        }
    }
    steps.reverse();
    steps
}
