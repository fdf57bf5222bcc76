//! PIE's controller, for the test that names the discipline (`airqueue.measure.disciplines.pie`).
//!
//! The controller is written from the RFC and led by delays that were measured. It is not that of `airqueue-qdisc`,
//! which the tests are tried with: a mistake in one of the two shows.

use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Probabilities, and whether arrivals are spared.
type Both<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<bool>>);

/// Gains of PIE, 1/s (RFC 8033, section 4.2).
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
/// Seconds for which a controller at rest spares all arrivals (section 4.4).
const MAX_BURST_S: f64 = 0.15;
/// Divisors of the gains below these probabilities (section 4.2); above all of them it is 1.
const SLOWED: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
/// From this probability on a step is at most so much (section 4.2).
const LARGE: (f64, f64) = (0.1, 0.02);
/// Beyond this delay in seconds a step is so much more (section 4.2).
const LONG: (f64, f64) = (0.25, 0.02);
/// What an idle queue leaves of the probability at each update (section 4.2).
const DECAY: f64 = 0.98;

/// PIE's probability of a drop after each update, and whether the burst allowance spares all then,
/// for controllers led by the same delays (seconds, one for each update); shapes (targets, updates).
/// `begun`: the probability before the first update, for each target.
#[pyfunction]
pub(crate) fn pie_probabilities<'py>(
    py: Python<'py>,
    delays: PyReadonlyArray1<'py, f64>,
    targets: PyReadonlyArray1<'py, f64>,
    begun: PyReadonlyArray1<'py, f64>,
    update: f64,
) -> PyResult<Both<'py>> {
    let (delays, targets, begun) = (delays.as_array(), targets.as_array(), begun.as_array());
    if targets.len() != begun.len() {
        return Err(PyValueError::new_err("targets and begun differ in length"));
    }
    let shape = (targets.len(), delays.len());
    let (mut found, mut spared) = (Array2::zeros(shape), Array2::from_elem(shape, false));
    for (row, (&target, &begun)) in targets.iter().zip(&begun).enumerate() {
        let mut controller = Controller::new(target, begun);
        for (k, &delay) in delays.iter().enumerate() {
            controller.update(delay, update);
            found[(row, k)] = controller.probability;
            spared[(row, k)] = controller.spares;
        }
    }
    Ok((found.into_pyarray(py), spared.into_pyarray(py)))
}

struct Controller {
    target: f64,
    probability: f64,
    allowance: f64,
    spares: bool,
    old: f64,
}

impl Controller {
    fn new(target: f64, begun: f64) -> Self {
        Self {
            target,
            probability: begun,
            // Only a controller at rest spares a burst.
            allowance: if begun > 0.0 { 0.0 } else { MAX_BURST_S },
            spares: false,
            old: 0.0,
        }
    }

    fn update(&mut self, delay: f64, update: f64) {
        let mut step = ALPHA * (delay - self.target) + BETA * (delay - self.old);
        let slowed = SLOWED.iter().find(|(below, _)| self.probability < *below);
        step /= slowed.map_or(1.0, |(_, divisor)| *divisor);
        if self.probability >= LARGE.0 {
            step = step.min(LARGE.1);
        }
        if delay > LONG.0 {
            step += LONG.1;
        }
        self.probability = (self.probability + step).clamp(0.0, 1.0);
        if delay == 0.0 && self.old == 0.0 {
            self.probability *= DECAY;
        }
        self.allowance = (self.allowance - update).max(0.0);
        self.spares = self.allowance > 0.0;
        if self.probability == 0.0 && delay.max(self.old) < self.target / 2.0 {
            self.allowance = MAX_BURST_S;
        }
        self.old = delay;
    }
}
