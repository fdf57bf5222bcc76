//! Laws of positive random quantities with a given mean: pauses, delays of packets, sizes.

use airqueue_core::{RandomStream, Span};
use std::f64::consts::TAU;

/// The law of a positive quantity, apart from its mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Always the mean.
    Constant,
    /// The exponential distribution.
    Exponential,
    /// Uniform between nothing and twice the mean.
    Uniform,
    /// The Pareto distribution with this shape, above 1 since the mean is infinite otherwise; up to 2 the variance is
    /// infinite.
    Pareto(f64),
    /// The lognormal distribution; the logarithm has this standard deviation.
    Lognormal(f64),
}

impl Law {
    /// A span with this mean.
    #[inline]
    pub fn span(self, mean: Span, rng: &mut RandomStream) -> Span {
        match self {
            _ if mean == Span::ZERO => Span::ZERO,
            Law::Constant => mean,
            Law::Exponential => rng.exponential(mean),
            _ => Span::from_secs_f64(self.unit_mean(rng) * mean.as_secs_f64()),
        }
    }

    /// A quantity with the mean 1.
    pub fn unit_mean(self, rng: &mut RandomStream) -> f64 {
        // 1 - unit() lies in (0, 1].
        match self {
            Law::Constant => 1.0,
            Law::Exponential => -libm::log(1.0 - rng.unit()),
            Law::Uniform => 2.0 * rng.unit(),
            Law::Pareto(shape) => (shape - 1.0) / shape * libm::pow(1.0 - rng.unit(), -1.0 / shape),
            // The median is below the mean by half the variance of the logarithm.
            Law::Lognormal(sigma) => libm::exp(sigma * normal(rng) - sigma * sigma / 2.0),
        }
    }

    /// The variance at the mean 1; infinite for Pareto's law with a shape up to 2.
    pub fn unit_variance(self) -> f64 {
        match self {
            Law::Constant => 0.0,
            Law::Exponential => 1.0,
            Law::Uniform => 1.0 / 3.0,
            Law::Pareto(shape) if shape <= 2.0 => f64::INFINITY,
            Law::Pareto(shape) => 1.0 / (shape * (shape - 2.0)),
            Law::Lognormal(sigma) => libm::expm1(sigma * sigma),
        }
    }
}

/// A standard normal variate (Box and Muller, 1958).
fn normal(rng: &mut RandomStream) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - rng.unit()));
    radius * libm::cos(TAU * rng.unit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use airqueue_core::Seed;

    const DRAWS: usize = 100_000;

    fn draws(law: Law) -> Vec<f64> {
        let mut rng = Seed(11).stream("law");
        (0..DRAWS).map(|_| law.unit_mean(&mut rng)).collect()
    }

    /// Five standard errors of the mean; the variance within a tenth, which the fourth moments of these laws allow.
    #[test]
    fn laws_have_their_means_and_variances() {
        let laws =
            [Law::Constant, Law::Exponential, Law::Uniform, Law::Pareto(5.0), Law::Lognormal(0.5)];
        for law in laws {
            let drawn = draws(law);
            let mean = drawn.iter().sum::<f64>() / DRAWS as f64;
            let squares = drawn.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
            let (variance, expected) = (squares / DRAWS as f64, law.unit_variance());
            assert!(
                (mean - 1.0).abs() <= 5.0 * f64::sqrt(expected / DRAWS as f64),
                "{law:?} {mean}"
            );
            assert!((variance - expected).abs() <= 0.1 * expected, "{law:?} {variance}");
        }
    }

    /// The share above the mean: (α/(α - 1))^-α for Pareto's law, Φ(-σ/2) for the lognormal one.
    #[test]
    fn laws_have_their_tails() {
        let pareto = f64::powf(1.5 / 0.5, -1.5);
        // Φ(-0.5) and Φ(-1), to five digits.
        let cases = [
            (Law::Pareto(1.5), pareto),
            (Law::Lognormal(1.0), 0.308_54),
            (Law::Lognormal(2.0), 0.158_66),
        ];
        for (law, expected) in cases {
            let above = draws(law).iter().filter(|&&x| x > 1.0).count() as f64 / DRAWS as f64;
            let error = f64::sqrt(expected * (1.0 - expected) / DRAWS as f64);
            assert!((above - expected).abs() < 5.0 * error, "{law:?} {above} for {expected}");
        }
    }

    #[test]
    fn spans_have_their_mean() {
        let mut rng = Seed(12).stream("law");
        let mean = Span::from_millis(20);
        for law in [Law::Constant, Law::Exponential, Law::Uniform, Law::Lognormal(1.0)] {
            let sum: f64 = (0..DRAWS).map(|_| law.span(mean, &mut rng).as_secs_f64()).sum();
            let error = f64::sqrt(law.unit_variance() / DRAWS as f64);
            assert!((sum / DRAWS as f64 / 0.02 - 1.0).abs() <= 5.0 * error + 1e-7, "{law:?}");
            assert_eq!(law.span(Span::ZERO, &mut rng), Span::ZERO);
        }
    }
}
