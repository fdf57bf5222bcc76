//! `SimulatedPath`: the endpoints over a simulated bottleneck or access point, on a virtual clock.

use crate::convert::{self, NativeSegment};
use crate::dicts::{Column, LimitsDict, RunDict, TruthDict};
use crate::error;
use airqueue_path::{PathConfig, SimulatedPath};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A simulated path, whose true values are known.
#[pyclass(name = "SimulatedPath", module = "airqueue._native")]
pub(crate) struct PySimulatedPath(SimulatedPath);

#[pymethods]
impl PySimulatedPath {
    #[new]
    fn new(config: &Bound<'_, PyDict>, seed: u64) -> PyResult<Self> {
        let json: String =
            config.py().import("json")?.call_method1("dumps", (config,))?.extract()?;
        let config = PathConfig::from_json(&json).map_err(error)?;
        SimulatedPath::new(&config, seed).map(PySimulatedPath).map_err(error)
    }

    /// Carries out a plan and returns its records.
    fn run<'py>(
        &mut self,
        py: Python<'py>,
        segments: Vec<NativeSegment>,
        direction: &str,
    ) -> PyResult<RunDict<'py>> {
        let (plan, direction) = (convert::plan(segments), convert::direction(direction)?);
        let path = &mut self.0;
        let run = py.detach(|| path.run(&plan, direction)).map_err(error)?;
        Ok(convert::run_to_dict(py, run))
    }

    /// The path's time in seconds.
    fn now_s(&self) -> f64 {
        self.0.now().as_secs_f64()
    }

    /// Lets time pass without a run.
    fn wait(&mut self, seconds: f64) -> PyResult<()> {
        self.0.wait(convert::span("seconds", seconds)?);
        Ok(())
    }

    /// The limits of the simulated server.
    fn limits(&self) -> LimitsDict {
        convert::limits_to_dict(self.0.limits())
    }

    /// The true queue length in the device during the last run.
    fn truth<'py>(&self, py: Python<'py>) -> TruthDict<'py> {
        let truth = self.0.truth();
        let samples = || truth.series.iter();
        TruthDict {
            max_waiting_packets: truth.max_waiting_packets,
            max_waiting_bytes: truth.max_waiting_bytes,
            at_ns: Column::new(py, samples().map(|sample| sample.at.as_nanos()).collect()),
            packets: Column::new(py, samples().map(|sample| sample.packets).collect()),
            bytes: Column::new(py, samples().map(|sample| sample.bytes).collect()),
        }
    }
}
