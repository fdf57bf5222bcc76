//! Means over replications with Student's intervals.

use pyo3::exceptions::PyKeyError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The mean of two samples or more, and the ends of mean ± quantile s / √n.
#[pyfunction]
pub(crate) fn t_interval(samples: Vec<f64>, quantile: f64) -> (f64, f64, f64) {
    interval(&samples, quantile)
}

/// Mean and interval of a figure over replications, as of `summaries`.
#[pyfunction]
pub(crate) fn summary<'py>(
    py: Python<'py>,
    values: Vec<Option<f64>>,
    quantile: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let present: Vec<f64> = values.iter().flatten().copied().collect();
    Quantiles::new(quantile).summary(py, &present, values.len())
}

/// Mean and interval of each figure of the first replication over all of them; `quantile` of degrees of freedom.
#[pyfunction]
pub(crate) fn summaries<'py>(
    py: Python<'py>,
    runs: Vec<Bound<'py, PyDict>>,
    quantile: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    let Some(first) = runs.first() else { return Ok(found) };
    let mut quantiles = Quantiles::new(quantile);
    let mut present = Vec::with_capacity(runs.len());
    for figure in first.keys() {
        present.clear();
        for run in &runs {
            let value = run.get_item(&figure)?;
            let value = value.ok_or_else(|| PyKeyError::new_err(figure.clone().unbind()))?;
            present.extend(value.extract::<Option<f64>>()?);
        }
        found.set_item(figure, quantiles.summary(py, &present, runs.len())?)?;
    }
    Ok(found)
}

/// Quantiles of Student's distribution, of a function of Python, which is asked once for each number of samples in a row.
struct Quantiles<'a, 'py> {
    of: &'a Bound<'py, PyAny>,
    last: Option<(usize, f64)>,
}

impl<'a, 'py> Quantiles<'a, 'py> {
    fn new(of: &'a Bound<'py, PyAny>) -> Self {
        Quantiles { of, last: None }
    }

    fn get(&mut self, freedom: usize) -> PyResult<f64> {
        match self.last {
            Some((known, quantile)) if known == freedom => Ok(quantile),
            _ => {
                let quantile = self.of.call1((freedom,))?.extract()?;
                self.last = Some((freedom, quantile));
                Ok(quantile)
            }
        }
    }

    fn summary(
        &mut self,
        py: Python<'py>,
        present: &[f64],
        among: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (mean, ends) = match present {
            [] => (None, None),
            [one] => (Some(*one), None),
            _ => {
                let (mean, low, high) = interval(present, self.get(present.len() - 1)?);
                (Some(mean), Some([low, high]))
            }
        };
        let found = PyDict::new(py);
        found.set_item(intern!(py, "mean"), mean)?;
        found.set_item(intern!(py, "ci95"), ends)?;
        if (1..among).contains(&present.len()) {
            found.set_item(intern!(py, "n"), present.len())?;
        }
        Ok(found)
    }
}

fn interval(samples: &[f64], quantile: f64) -> (f64, f64, f64) {
    let n = samples.len() as f64;
    if samples.iter().any(|sample| !sample.is_finite()) {
        return (samples.iter().sum::<f64>() / n, f64::NAN, f64::NAN);
    }
    let mean = exact_sum(samples.iter().copied()) / n;
    let squares = samples.iter().map(|sample| (sample - mean) * (sample - mean));
    let half = quantile * (exact_sum(squares) / (n - 1.0)).sqrt() / n.sqrt();
    (mean, mean - half, mean + half)
}

/// The sum, rounded once: it does not depend on the order of its terms, and the mean of equal samples is that sample.
///
/// J. R. Shewchuk, Adaptive Precision Floating-Point Arithmetic, Discrete & Computational Geometry 18 (1997): partial sums
/// that do not overlap, with no error.
fn exact_sum(terms: impl Iterator<Item = f64>) -> f64 {
    let mut partials: Vec<f64> = Vec::new();
    for mut term in terms {
        let mut kept = 0;
        for at in 0..partials.len() {
            let mut partial = partials[at];
            if term.abs() < partial.abs() {
                std::mem::swap(&mut term, &mut partial);
            }
            let sum = term + partial;
            let error = partial - (sum - term);
            if error != 0.0 {
                partials[kept] = error;
                kept += 1;
            }
            term = sum;
        }
        partials.truncate(kept);
        partials.push(term);
    }
    rounded(&partials)
}

/// The sum of partial sums that do not overlap, the largest last, to the nearest number, and half-way to the even one.
fn rounded(partials: &[f64]) -> f64 {
    let Some((&last, mut before)) = partials.split_last() else { return 0.0 };
    let mut sum = last;
    while let Some((&next, rest)) = before.split_last() {
        let whole = sum + next;
        let error = next - (whole - sum);
        before = rest;
        sum = whole;
        if error != 0.0 {
            // What is left decides where the error is exactly half of the last place.
            if before.last().is_some_and(|left| (*left < 0.0) == (error < 0.0)) {
                let twice = 2.0 * error;
                if sum + twice - sum == twice {
                    sum += twice;
                }
            }
            break;
        }
    }
    sum
}
