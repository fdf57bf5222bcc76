//! Assigns flows to one of several places by a hash.

use airqueue_core::{FlowKey, RandomStream};

/// A keyed hash of flows: the key decides which flows collide, so that collisions differ from run to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowHash(u64);

impl FlowHash {
    /// A hash with a random key.
    pub(crate) fn new(rng: &mut RandomStream) -> FlowHash {
        FlowHash(rng.next_u64())
    }

    /// The place of `flow` among `places`: the hash scaled to the range as Linux's reciprocal_scale does.
    pub(crate) fn place(self, flow: FlowKey, places: u32) -> usize {
        ((u64::from(self.hash(flow.0)) * u64::from(places)) >> 32) as usize
    }

    /// A 32-bit hash of a flow, or of anything else that has a number.
    pub(crate) fn hash(self, number: u32) -> u32 {
        // The upper half of the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), which is a bijection with full
        // avalanche.
        let mut x = (u64::from(number) ^ self.0).wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
        (x >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airqueue_core::Seed;

    /// Chi-squared of 16 000 neighbouring flows over 16 places, 15 degrees of freedom:
    /// P(X² > 44.26) = 1e-4.
    #[test]
    fn flows_spread_evenly() {
        let hash = FlowHash::new(&mut Seed(1).stream("hash"));
        let mut counts = [0f64; 16];
        (0..16_000).for_each(|flow| counts[hash.place(FlowKey(flow), 16)] += 1.0);
        let chi: f64 = counts.iter().map(|n| (n - 1000.0) * (n - 1000.0) / 1000.0).sum();
        assert!(chi < 44.26, "{chi}");
    }

    #[test]
    fn keys_differ() {
        let mut rng = Seed(1).stream("hash");
        let (a, b) = (FlowHash::new(&mut rng), FlowHash::new(&mut rng));
        assert!((0..100).any(|flow| a.place(FlowKey(flow), 1024) != b.place(FlowKey(flow), 1024)));
        assert!((0..100).all(|flow| a.place(FlowKey(flow), 1) == 0));
    }
}
