//! Which rates are worth trying in sequence.

use crate::phy::{Phy, RateIndex};
use airqueue_core::DataRate;

/// Frame length and loss at which rates are compared: those of the standard's receiver sensitivity for OFDM (IEEE
/// 802.11-2016, 17.3.10.2).
const BYTES: u32 = 1_000;
const LOSS: f64 = 0.1;

/// The useful rates of `rates`, from slow to fast, if a slower rate is to be more robust: a rate that needs as much
/// signal as a faster rate is left out, for example 2 Mb/s beside 5.5 Mb/s.
pub fn ladder(phy: &Phy, rates: &[RateIndex]) -> Vec<RateIndex> {
    let known = |&rate: &RateIndex| (phy.rate(rate), phy.needed_snr(rate, LOSS, BYTES), rate);
    let mut all: Vec<(DataRate, f64, RateIndex)> = rates.iter().map(known).collect();
    // The fastest first; of equally fast rates the most robust first.
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
