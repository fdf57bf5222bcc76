//! A histogram of delays, from which quantiles are read.

use airqueue_core::Span;
use std::iter;

/// Of the histograms of simulations: the middle of a bucket is within 1 part in 64 of each value in the bucket.
const COARSE: u32 = 5;
/// All spans below 2^10 ns share the first bucket.
const LOWEST: u32 = 10;
/// All spans from 2^42 ns (73 minutes) on share the last bucket.
const HIGHEST: u32 = 42;

/// Counts of spans by their length, at the same relative resolution for all lengths: an octave has 2^`BITS` buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram<const BITS: u32 = COARSE> {
    counts: Vec<u64>,
    total: u64,
}

/// A histogram for delays that are compared to a percent: the middle of a bucket is within 1 part in 512 of each value in
/// the bucket. Buckets take memory up to the octave of the longest span.
pub type FineHistogram = Histogram<8>;

impl<const BITS: u32> Default for Histogram<BITS> {
    fn default() -> Histogram<BITS> {
        // Simulations, whose histograms are coarse, allocate nothing while they run.
        let counts = if Self::GROWS { Vec::new() } else { vec![0; Self::BUCKETS] };
        Histogram { counts, total: 0 }
    }
}

impl Histogram {
    /// A histogram that only counts spans, without their lengths, and takes no memory for buckets.
    pub(crate) fn without_buckets() -> Histogram {
        Histogram { counts: Vec::new(), total: 0 }
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.total += other.total;
    }
}

impl<const BITS: u32> Histogram<BITS> {
    const BUCKETS: usize = ((HIGHEST - LOWEST) as usize) << BITS;
    const GROWS: bool = BITS > COARSE;

    fn bucket(span: Span) -> usize {
        let ns = (span.as_nanos().max(0) as u64).clamp(1 << LOWEST, (1 << HIGHEST) - 1);
        let octave = ns.ilog2();
        let within = (ns >> (octave - BITS)) as usize & ((1 << BITS) - 1);
        ((octave - LOWEST) as usize) << BITS | within
    }

    /// Middle of a bucket, in nanoseconds.
    fn middle(bucket: usize) -> f64 {
        Self::place(bucket, 0.5)
    }

    /// Upper end of a bucket.
    fn end(bucket: usize) -> f64 {
        Self::place(bucket, 1.0)
    }

    /// A position inside a bucket; `share` 0 is the lower end.
    fn place(bucket: usize, share: f64) -> f64 {
        let octave = (bucket >> BITS) as u32 + LOWEST;
        let within = (bucket & ((1 << BITS) - 1)) as f64;
        libm::exp2(f64::from(octave)) * (1.0 + (within + share) / f64::from(1u32 << BITS))
    }

    /// Counts a span.
    #[inline]
    pub fn add(&mut self, span: Span) {
        self.add_alike(span, 1);
    }

    /// Counts a number of equal spans.
    #[inline]
    pub fn add_alike(&mut self, span: Span, number: u64) {
        let bucket = Self::bucket(span);
        if Self::GROWS && bucket >= self.counts.len() {
            self.counts.resize(((bucket >> BITS) + 1) << BITS, 0);
        }
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += number;
        }
        self.total += number;
    }

    /// The spans that were counted after an earlier moment.
    pub fn since(&self, before: &Histogram<BITS>) -> Histogram<BITS> {
        let then = before.counts.iter().copied().chain(iter::repeat(0));
        let counts = self.counts.iter().zip(then).map(|(now, then)| now - then);
        Histogram { counts: counts.collect(), total: self.total - before.total }
    }

    /// For each power of two of nanoseconds from 2^`from` to 2^`to`, both within the buckets: the power in seconds, and
    /// how many spans are shorter.
    pub fn below_powers(&self, from: u32, to: u32) -> impl Iterator<Item = (f64, u64)> {
        (from.max(LOWEST)..=to.min(HIGHEST)).map(|power| {
            let end = ((power - LOWEST) as usize) << BITS;
            let below = self.counts.iter().take(end).sum();
            (libm::exp2(f64::from(power)) * 1e-9, below)
        })
    }

    /// Clears all counts.
    pub fn clear(&mut self) {
        // Networks clear the histograms of all their queues and hops at the end of the warm-up; most are empty, in memory that
        // nothing has touched yet.
        if self.total > 0 {
            self.counts.fill(0);
            self.total = 0;
        }
    }

    /// The buckets that are not empty, lowest first: upper end in seconds, and count.
    pub fn steps(&self) -> impl Iterator<Item = (f64, u64)> {
        let steps = self.counts.iter().enumerate().filter(|&(_, &count)| count > 0);
        steps.map(|(bucket, &count)| (Self::end(bucket) * 1e-9, count))
    }

    /// Number of spans counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The span, in seconds, that a share `q` of all spans does not exceed; `None` if the histogram is empty. Accurate
    /// to 1.6 %, or 0.2 % if the histogram is fine; spans below 1 µs count as 1 µs.
    pub fn quantile_s(&self, q: f64) -> Option<f64> {
        let rank = (q.clamp(0.0, 1.0) * self.total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let at = self.counts.iter().position(|&count| {
            seen += count;
            self.total > 0 && seen >= rank
        })?;
        Some(Self::middle(at) * 1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quantiles_are_within_a_64th_or_a_512th(mut ns in prop::collection::vec(2_000i64..4_000_000_000_000, 1..60), q in 0.0f64..=1.0) {
            let (mut histogram, mut fine) = (Histogram::<COARSE>::default(), FineHistogram::default());
            for &ns in &ns {
                histogram.add(Span::from_nanos(ns));
                fine.add(Span::from_nanos(ns));
            }
            ns.sort_unstable();
            let rank = ((q * ns.len() as f64).ceil() as usize).max(1);
            let exact = ns[rank - 1] as f64 * 1e-9;
            let got = histogram.quantile_s(q).unwrap();
            prop_assert!((got / exact - 1.0).abs() <= 1.0 / 64.0 + 1e-12, "{got} for {exact}");
            let got = fine.quantile_s(q).unwrap();
            prop_assert!((got / exact - 1.0).abs() <= 1.0 / 512.0 + 1e-12, "{got} for {exact}");
        }
    }

    #[test]
    fn steps_count_all_and_end_behind_them() {
        let mut histogram = Histogram::<COARSE>::default();
        for ms in [7, 7, 300] {
            histogram.add(Span::from_millis(ms));
        }
        let steps: Vec<_> = histogram.steps().collect();
        assert_eq!(steps.iter().map(|&(_, count)| count).collect::<Vec<_>>(), [2, 1]);
        for (&(end_s, _), s) in steps.iter().zip([0.007, 0.3]) {
            assert!(end_s > s && end_s < s * 33.0 / 32.0 + 1e-9, "{end_s} for {s}");
        }
    }

    #[test]
    fn a_difference_has_the_later_spans_alone() {
        let mut histogram = Histogram::<COARSE>::default();
        histogram.add(Span::from_millis(7));
        let before = histogram.clone();
        histogram.add(Span::from_millis(300));
        let mut only = Histogram::<COARSE>::default();
        only.add(Span::from_millis(300));
        assert_eq!(histogram.since(&before), only);
        assert_eq!(before.since(&before), Histogram::default());
    }

    #[test]
    fn a_fine_difference_spans_octaves_that_are_new() {
        let mut histogram = FineHistogram::default();
        let empty = histogram.clone();
        histogram.add(Span::from_millis(300));
        assert_eq!(histogram.since(&empty), histogram);
        let before = histogram.clone();
        histogram.add(Span::from_millis(7));
        histogram.add(Span::from_secs(3));
        let ends: Vec<_> = histogram.since(&before).steps().map(|(end_s, _)| end_s).collect();
        assert!((ends[0] / 0.007 - 1.0).abs() < 1.0 / 256.0, "{ends:?}");
        assert!((ends[1] / 3.0 - 1.0).abs() < 1.0 / 256.0 && ends.len() == 2, "{ends:?}");
    }

    #[test]
    fn counts_below_powers_of_two_are_exact() {
        let mut histogram = Histogram::<COARSE>::default();
        for ns in [1, 1 << 20, (1 << 20) - 1, 1 << 21, i64::MAX] {
            histogram.add(Span::from_nanos(ns));
        }
        let below: Vec<_> = histogram.below_powers(19, 22).collect();
        let powers = [19, 20, 21, 22].map(|power| (f64::from(1 << power)) * 1e-9);
        assert_eq!(below, powers.into_iter().zip([1, 2, 3, 4]).collect::<Vec<_>>());
    }

    #[test]
    fn extremes_are_counted_too() {
        let mut histogram = Histogram::<COARSE>::default();
        assert_eq!(histogram.quantile_s(0.5), None);
        histogram.add(Span::ZERO);
        histogram.add(Span::from_nanos(i64::MAX));
        assert_eq!(histogram.total(), 2);
        assert!(histogram.quantile_s(0.0).unwrap() < 2e-6);
        assert!(histogram.quantile_s(1.0).unwrap() > 4000.0);
    }
}
