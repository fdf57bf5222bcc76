//! Packets divided in proportion, as whole numbers.

/// Whole packets for each share, one at least, whose sum is `total`, by the method of the largest remainder; more than `total`
/// only if there are more shares than packets. Shares are at least 0, and their sum is about `total`.
pub(super) fn whole(shares: &[f64], total: u32) -> Vec<u32> {
    let mut packets: Vec<u32> = shares.iter().map(|share| (*share as u32).max(1)).collect();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    let remainder = |at: &usize| shares[*at] - f64::from(packets[*at]);
    order.sort_by(|a, b| f64::total_cmp(&remainder(b), &remainder(a)));
    let sum: u64 = packets.iter().map(|packets| u64::from(*packets)).sum();
    let left = u64::from(total).saturating_sub(sum);
    for (_, at) in (0..left).zip(order.iter().cycle()) {
        packets[*at] += 1;
    }
    // Those with one packet had less: the largest give.
    for _ in u64::from(total)..sum {
        let Some(largest) = packets.iter_mut().max().filter(|packets| **packets > 1) else { break };
        *largest -= 1;
    }
    packets
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn remainders_go_to_those_that_lost_most() {
        assert_eq!(whole(&[2.5, 2.3, 5.2], 10), [3, 2, 5]);
        assert_eq!(whole(&[0.1, 0.1, 9.8], 10), [1, 1, 8]);
        assert_eq!(whole(&[0.5; 4], 2), [1; 4]);
    }

    proptest! {
        #[test]
        fn the_sum_is_kept_and_nobody_is_locked_out(
            weights in prop::collection::vec(0.1f64..1e6, 1..60), total in 0u32..2000
        ) {
            let sum: f64 = weights.iter().sum();
            let shares: Vec<f64> = weights.iter().map(|w| w / sum * f64::from(total)).collect();
            let packets = whole(&shares, total);
            prop_assert!(packets.iter().all(|packets| *packets >= 1));
            let all: u32 = packets.iter().sum();
            prop_assert_eq!(all, total.max(weights.len() as u32));
            for (packets, share) in packets.iter().zip(&shares) {
                // One more than the share at most, but for those that would have none.
                prop_assert!(f64::from(*packets) <= share.max(0.0) + 1.0);
            }
        }
    }
}
