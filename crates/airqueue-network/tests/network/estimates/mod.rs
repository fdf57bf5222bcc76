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
