//! Means with their standard errors, and the agreement of two of them.

/// A mean over independent runs and its standard error.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    pub mean: f64,
    pub error: f64,
}

/// An exact value.
pub fn exactly(mean: f64) -> Estimate {
    Estimate { mean, error: 0.0 }
}

/// The estimate from one sample of each run.
pub fn of(samples: &[f64]) -> Estimate {
    let n = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / n;
    let variance = samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Estimate { mean, error: (variance / n).sqrt() }
}

/// Runs until the standard error is half of `tolerance`, at least five times.
pub fn to_within(tolerance: f64, mut run: impl FnMut(u64) -> f64) -> Estimate {
    let mut samples: Vec<f64> = (0..5).map(&mut run).collect();
    loop {
        let estimate = of(&samples);
        if estimate.error <= tolerance / 2.0 * estimate.mean.abs() || samples.len() == 200 {
            return estimate;
        }
        samples.push(run(samples.len() as u64));
    }
}

/// A quantile is the middle of its bucket, within a 64th of each duration in the bucket.
pub const RESOLUTION: f64 = 1.0 / 64.0;

/// Checks figures against mean, standard deviation, median, 95th and 99th percentile, and maximum in seconds: the
/// quantiles to the resolution of their buckets, mean and standard deviation to `tolerance`, the maximum to a nanosecond.
#[track_caller]
pub fn agree_on_all(what: &str, found: [Option<f64>; 6], expected: [f64; 6], tolerance: f64) {
    let names = ["mean", "sd", "p50", "p95", "p99", "max"];
    for (place, (name, exact)) in names.into_iter().zip(expected).enumerate() {
        let Some(got) = found[place] else { panic!("{what}: no {name}") };
        let allowed = match name {
            "max" => 1e-9,
            "mean" | "sd" => 1e-9 + tolerance * exact,
            // The rank that is the quantile lies between two samples of the law.
            _ => 1e-9 + (RESOLUTION + tolerance) * exact,
        };
        assert!((got - exact).abs() <= allowed, "{what}: {name} {got}, not {exact}");
    }
}

/// Mean, standard deviation, quantiles and maximum of some durations in seconds, each quantile the least duration that
/// as large a share does not exceed.
pub fn figures_of(mut durations_s: Vec<f64>) -> [f64; 6] {
    durations_s.sort_unstable_by(f64::total_cmp);
    let n = durations_s.len();
    let mean = durations_s.iter().sum::<f64>() / n as f64;
    let variance = durations_s.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
    let quantile = |q: f64| durations_s[((q * n as f64).ceil() as usize).max(1) - 1];
    [mean, variance.sqrt(), quantile(0.5), quantile(0.95), quantile(0.99), durations_s[n - 1]]
}

/// Checks that |difference| <= `tolerance` of the expected value + two combined standard errors. The standard errors
/// must not exceed this tolerance: otherwise agreement would say nothing.
#[track_caller]
pub fn agree(what: &str, found: Estimate, expected: Estimate, tolerance: f64) {
    let allowed = tolerance * expected.mean.abs();
    let error = found.error.hypot(expected.error);
    let difference = (found.mean - expected.mean).abs();
    assert!(error <= allowed, "{what}: {found:?} and {expected:?} are too coarse for {tolerance}");
    assert!(
        difference <= allowed + 2.0 * error,
        "{what}: {found:?} is not {expected:?}, by {:.2} %",
        100.0 * difference / expected.mean.abs()
    );
}
