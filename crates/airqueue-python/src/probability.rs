//! Distributions and exact tests, of statrs, and the recursion of moving averages.

use crate::error;
use numpy::ndarray::{Array1, ArrayView1};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, StudentsT};
use statrs::stats_tests::{Alternative, fisher::fishers_exact};

/// P(T > t) of Student's distribution.
#[pyfunction]
pub(crate) fn student_t_sf(t: f64, freedom: f64) -> PyResult<f64> {
    Ok(StudentsT::new(0.0, 1.0, freedom).map_err(error)?.sf(t))
}

/// P(X > k) successes of n trials.
#[pyfunction]
pub(crate) fn binomial_sf(k: u64, n: u64, p: f64) -> PyResult<f64> {
    Ok(Binomial::new(p, n).map_err(error)?.sf(k))
}

/// Fisher's exact test of a table of two rows: P(the first count is at least what it is).
#[pyfunction]
pub(crate) fn fisher_greater(table: [u64; 4]) -> PyResult<f64> {
    fishers_exact(&table, Alternative::Greater).map_err(error)
}

/// y of y[i] = y[i-1] + weight (x[i] - y[i-1]), with y before the first given.
#[pyfunction]
pub(crate) fn moving_average<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    weight: f64,
    before: f64,
) -> Bound<'py, PyArray1<f64>> {
    averaged(values.as_array(), weight, before).into_pyarray(py)
}

fn averaged(values: ArrayView1<'_, f64>, weight: f64, before: f64) -> Array1<f64> {
    let mut average = before;
    values
        .iter()
        .map(|value| {
            average += weight * (value - average);
            average
        })
        .collect()
}
