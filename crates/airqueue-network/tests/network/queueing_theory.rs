//! The device against queueing theory.

use crate::common::{Arrival, Bench, link};
use airqueue_core::{Limit, Seed, Span, Time};

/// Number of batches, and the two-sided 99.9 % quantile of Student's t with one degree of freedom less.
const BATCHES: usize = 50;
const T_999: f64 = 3.500;

/// The mean, and the half-width of its 99.9 % confidence interval by batch means.
fn batch_means(samples: &[f64]) -> (f64, f64) {
    let size = samples.len() / BATCHES;
    let means: Vec<f64> =
        samples.chunks_exact(size).map(|b| b.iter().sum::<f64>() / size as f64).collect();
    let n = means.len() as f64;
    let mean = means.iter().sum::<f64>() / n;
    let variance = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, T_999 * (variance / n).sqrt())
}

/// Waiting times in units of the service time, in the order of delivery, at load `rho`.
fn waits(rho: f64, seed: u64, packets: usize) -> Vec<f64> {
    let mut bench = Bench::new(link(Limit::Packets(u32::MAX)));
    let mut rng = Seed(seed).stream("arrivals");
    let gap = Span::from_secs_f64(1e-3 / rho);
    let mut at = Time::ZERO;
    let mut waits = Vec::with_capacity(packets);
    for _ in 0..packets {
        at += rng.exponential(gap);
        bench.arrive(Arrival { at, flow: 0, size: 1000 });
        for fate in bench.fates.drain(..) {
            let packet = fate.delivered().expect("an endless queue loses nothing");
            waits.push((fate.at - packet.created).as_secs_f64() * 1e3 - 1.0);
        }
    }
    waits
}

/// Pollaczek-Khinchine for constant service s: mean wait = rho s / (2 (1 - rho)).
#[test]
fn md1_waits_as_pollaczek_and_khinchine_say() {
    for (rho, packets) in [(0.3, 400_000), (0.6, 400_000), (0.8, 1_000_000)] {
        let expected = rho / (2.0 * (1.0 - rho));
        // The first tenth is the warm-up.
        let samples = waits(rho, 42, packets);
        let (mean, half) = batch_means(&samples[packets / 10..]);
        assert!(half < 0.04 * expected, "interval too wide to say anything: {mean} ± {half}");
        assert!((mean - expected).abs() <= half, "rho {rho}: {mean} ± {half}, not {expected}");
    }
}

/// P(wait = 0) = 1 - rho, since Poisson arrivals see time averages.
#[test]
fn md1_finds_the_server_idle_as_often_as_it_is() {
    let samples = waits(0.6, 43, 400_000);
    let free: Vec<f64> = samples.iter().map(|w| f64::from(u8::from(*w < 1e-9))).collect();
    let (mean, half) = batch_means(&free[40_000..]);
    assert!(half < 0.02, "interval too wide: {half}");
    assert!((mean - 0.4).abs() <= half, "{mean} ± {half}");
}
