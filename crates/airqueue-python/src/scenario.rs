//! `Scenario`: a network of 802.11 stations, simulated.

use crate::convert;
use airqueue_core::{Seed, Span};
use airqueue_sim::scenario::{self, Run, Scenario, ScenarioError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A scenario is what the user wrote: what is wrong with it is a value's error.
fn wrong(problem: ScenarioError) -> PyErr {
    PyValueError::new_err(problem.to_string())
}

/// The JSON Schema of scenario files.
#[pyfunction]
pub(crate) fn scenario_schema() -> String {
    scenario::schema()
}

/// A checked scenario.
#[pyclass(name = "Scenario", module = "airqueue._native", frozen)]
pub(crate) struct PyScenario(Scenario);

#[pymethods]
impl PyScenario {
    #[new]
    fn new(py: Python<'_>, json: &str) -> PyResult<Self> {
        py.detach(|| Scenario::from_json(json)).map(PyScenario).map_err(wrong)
    }

    /// How long is counted, after the warm-up.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.0.duration().as_secs_f64()
    }

    #[getter]
    fn warm_up_s(&self) -> f64 {
        self.0.warm_up().as_secs_f64()
    }

    #[getter]
    fn stations(&self) -> Vec<&str> {
        self.0.spec().stations.iter().map(|station| station.name.as_str()).collect()
    }

    #[getter]
    fn flows(&self) -> Vec<&str> {
        self.0.spec().flows.iter().map(|flow| flow.name.as_str()).collect()
    }

    /// A replication, at time zero.
    fn start(&self, py: Python<'_>, seed: u64) -> PyResult<PyRun> {
        py.detach(|| self.0.start(Seed(seed))).map(PyRun).map_err(wrong)
    }
}

/// A replication.
#[pyclass(name = "Run", module = "airqueue._native")]
pub(crate) struct PyRun(Run);

#[pymethods]
impl PyRun {
    /// Lets so much simulated time pass, at most to the end.
    fn advance(&mut self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        let span = Span::from_secs_f64(convert::seconds("seconds", seconds)?.as_secs_f64());
        let run = &mut self.0;
        py.detach(|| run.advance(span));
        Ok(())
    }

    /// The simulated time, warm-up included.
    #[getter]
    fn now_s(&self) -> f64 {
        self.0.now().as_secs_f64()
    }

    /// When it ends.
    #[getter]
    fn end_s(&self) -> f64 {
        self.0.end().as_secs_f64()
    }

    /// Whether it has ended.
    #[getter]
    fn done(&self) -> bool {
        self.0.now() >= self.0.end()
    }

    /// The figures of the time since counting began, as JSON.
    fn results(&mut self, py: Python<'_>) -> String {
        let run = &mut self.0;
        py.detach(|| run.results())
    }
}
