//! Named random streams.
//!
//! Every random decision has a stream of its own, named after the decision. A new decision, or one
//! that draws more often, leaves the draws of all other streams unchanged: two runs that differ in
//! one setting differ in nothing else ("common random numbers").

use crate::Span;
use rand_core::{Rng as _, SeedableRng};
use rand_pcg::Pcg64Dxsm;
use sha2::{Digest, Sha256};

/// The seed of a whole simulation: the root of its named streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

/// One stream of random numbers, equal on every machine.
///
/// The generator is PCG64-DXSM. State and sequence come from the first 32 bytes of
/// SHA-256(seed as 8 little-endian bytes, then the name), so that streams of related names or of
/// neighbouring seeds are independent. Only integer arithmetic, IEEE basic operations and
/// the portable `libm` stand between the generator and a value.
#[derive(Clone, Debug)]
pub struct RandomStream(Pcg64Dxsm);

impl Seed {
    /// The stream called `name`, from its beginning.
    pub fn stream(self, name: &str) -> RandomStream {
        let digest = Sha256::new().chain_update(self.0.to_le_bytes()).chain_update(name).finalize();
        RandomStream(Pcg64Dxsm::from_seed(digest.into()))
    }

    /// 32 bytes derived from `name`, for callers that need a key and not a stream.
    pub fn bytes(self, name: &str) -> [u8; 32] {
        let mut bytes = [0; 32];
        self.stream(name).0.fill_bytes(&mut bytes);
        bytes
    }
}

impl RandomStream {
    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform on [0, 1), in steps of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform on the integers 0 to `n` - 1; 0 if `n` is 0. Unbiased: Lemire's multiplication
    /// method with rejection (ACM TOMACS 29(1), 2019).
    pub fn below(&mut self, n: u64) -> u64 {
        let mut product = u128::from(self.next_u64()) * u128::from(n);
        if (product as u64) < n {
            let threshold = n.wrapping_neg() % n;
            while (product as u64) < threshold {
                product = u128::from(self.next_u64()) * u128::from(n);
            }
        }
        (product >> 64) as u64
    }

    /// True with probability `p`. Draws once whatever `p` is.
    pub fn bernoulli(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Uniform on [0, `limit`), in whole nanoseconds; zero if `limit` is not positive.
    pub fn span_below(&mut self, limit: Span) -> Span {
        Span::from_nanos(self.below(limit.as_nanos().max(0) as u64) as i64)
    }

    /// Exponentially distributed with the given mean, to the nearest nanosecond.
    pub fn exponential(&mut self, mean: Span) -> Span {
        // 1 - unit() lies in (0, 1]: the logarithm is finite.
        Span::from_secs_f64(-libm::log(1.0 - self.unit()) * mean.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn streams_are_reproducible_and_apart() {
        let draw = |seed: u64, name: &str| {
            let mut s = Seed(seed).stream(name);
            [s.next_u64(), s.next_u64()]
        };
        assert_eq!(draw(1, "loss"), draw(1, "loss"));
        assert_ne!(draw(1, "loss"), draw(2, "loss"));
        assert_ne!(draw(1, "loss"), draw(1, "jitter"));
        assert_ne!(Seed(1).bytes("a"), Seed(1).bytes("b"));
    }

    /// Chi-squared over 16 cells, 15 degrees of freedom: P(X² > 44.26) = 1e-4.
    #[test]
    fn below_is_uniform() {
        let mut s = Seed(7).stream("uniform");
        let mut cells = [0f64; 16];
        let n = 160_000;
        for _ in 0..n {
            cells[s.below(16) as usize] += 1.0;
        }
        let expected = f64::from(n) / 16.0;
        let chi2: f64 = cells.iter().map(|c| (c - expected).powi(2) / expected).sum();
        assert!(chi2 < 44.26, "chi-squared {chi2}");
    }

    /// Mean and variance of Exp(m) are m and m²; both within five standard errors
    /// (of the variance: sqrt(8/n) m², from the fourth central moment 9 m⁴).
    #[test]
    fn exponential_has_its_moments() {
        let mut s = Seed(7).stream("exponential");
        let n = 100_000;
        let x: Vec<f64> = (0..n).map(|_| s.exponential(Span::from_secs(1)).as_secs_f64()).collect();
        let mean = x.iter().sum::<f64>() / f64::from(n);
        let variance = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / f64::from(n);
        assert!((mean - 1.0).abs() < 5.0 / f64::from(n).sqrt(), "mean {mean}");
        assert!((variance - 1.0).abs() < 5.0 * (8.0 / f64::from(n)).sqrt(), "variance {variance}");
    }

    proptest! {
        #[test]
        fn draws_stay_in_range(seed: u64, n in 1u64.., ns in 1i64..) {
            let mut s = Seed(seed).stream("range");
            prop_assert!(s.below(n) < n);
            prop_assert!((0.0..1.0).contains(&s.unit()));
            let span = s.span_below(Span::from_nanos(ns));
            prop_assert!(span >= Span::ZERO && span < Span::from_nanos(ns));
            prop_assert!(s.exponential(Span::from_nanos(ns)) >= Span::ZERO);
            prop_assert!(!s.bernoulli(0.0));
            prop_assert!(s.bernoulli(1.0));
        }
    }

    #[test]
    fn below_nothing_is_nothing() {
        assert_eq!(Seed(1).stream("zero").below(0), 0);
    }
}
