//! `Scenario`: a network of 802.11 stations, simulated.

use crate::convert;
use crate::dicts::{Column, FlowSeriesDict, Named, OpportunitiesDict, QueueSeriesDict, SeriesDict};
use airqueue_core::{Seed, Time};
use airqueue_host::pcap_file::{self, PcapFile};
use airqueue_network::FlowId;
use airqueue_network::network::Opportunities;
use airqueue_network::network::series::{FlowSeries, QueueSeries};
use airqueue_network::wlan::pcap::{HEADERS_SNAP_BYTES, Pcap, PcapError};
use airqueue_scenario::{LiveChanges, Monitor, RenamedKey, Run, Scenario, ScenarioError};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// A scenario is the user's input: an error in a scenario is a `ValueError`.
pub(crate) fn wrong(problem: ScenarioError) -> PyErr {
    PyValueError::new_err(problem.to_string())
}

/// The operating system's error on a file, as a Python exception: an errno selects FileNotFoundError or the like.
pub(crate) fn refused(py: Python<'_>, path: &Path, error: &io::Error) -> PyErr {
    let words = |code| -> PyResult<String> {
        py.import("os")?.call_method1("strerror", (code,))?.extract()
    };
    match error.raw_os_error().map(|code| (code, words(code))) {
        Some((code, Ok(words))) => PyOSError::new_err((code, words, path.as_os_str().to_owned())),
        Some((_, Err(error))) => error,
        None => PyOSError::new_err(format!("cannot write {}: {error}", path.display())),
    }
}

/// The JSON Schema of scenario files.
#[pyfunction]
pub(crate) fn scenario_schema() -> String {
    airqueue_scenario::schema()
}

/// The devices that stations can be like, as JSON.
#[pyfunction]
pub(crate) fn devices() -> String {
    airqueue_scenario::devices()
}

/// All errors of a scenario: the key of each, with indices, and the problem; none for a valid scenario.
#[pyfunction]
#[pyo3(signature = (json, *, others_real=false))]
pub(crate) fn scenario_problems(
    py: Python<'_>,
    json: &str,
    others_real: bool,
) -> Vec<(String, String)> {
    let found = py.detach(|| airqueue_scenario::problems(json, others_real));
    found.into_iter().map(|error| (error.key, error.problem)).collect()
}

/// The lines, from 1, on which keys stand in the text of a TOML file, or on which what is around them begins.
#[pyfunction]
pub(crate) fn toml_lines(text: &str, keys: Vec<String>) -> Vec<Option<usize>> {
    airqueue_scenario::toml_lines(text, &keys)
}

/// The old keys of a scenario: the keys and indices that lead to each old key, its new name, and a sentence.
#[pyfunction]
pub(crate) fn renamed_keys(json: &str) -> PyResult<Vec<(Vec<String>, &'static str, String)>> {
    let found = airqueue_scenario::renamed_keys(json).map_err(wrong)?;
    let of_each = |key: RenamedKey| {
        let sentence = key.to_string();
        let path = key.table.into_iter().chain([key.old.to_owned()]).collect();
        (path, key.new, sentence)
    };
    Ok(found.into_iter().map(of_each).collect())
}

/// A checked scenario.
#[pyclass(name = "Scenario", module = "airqueue._native", frozen)]
pub(crate) struct PyScenario(Scenario);

#[pymethods]
impl PyScenario {
    /// `others_real`: nodes are real that the file does not mark.
    #[new]
    #[pyo3(signature = (json, *, others_real=false))]
    fn new(py: Python<'_>, json: &str, others_real: bool) -> PyResult<Self> {
        py.detach(|| Scenario::with_real(json, others_real)).map(PyScenario).map_err(wrong)
    }

    /// Warnings on a scenario that can be simulated, one sentence each.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings()
    }

    /// The length of the counted time, after the warm-up.
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
        self.0.wlan().stations.iter().map(|station| station.name.as_str()).collect()
    }

    #[getter]
    fn flows(&self) -> Vec<&str> {
        self.0.spec().flows.iter().map(|flow| flow.name.as_str()).collect()
    }

    /// The stations and hosts that each flow passes, by its name.
    #[getter]
    fn routes(&self) -> BTreeMap<&str, Vec<&str>> {
        let flows = self.0.spec().flows.iter().enumerate();
        flows.map(|(at, flow)| (flow.name.as_str(), self.0.route(FlowId::at(at)))).collect()
    }

    /// How the limits of queues are set during the run, as JSON, if the scenario asks for this.
    #[getter]
    fn buffers(&self) -> Option<String> {
        self.0.buffers()
    }

    /// The settings of the queues that have figures, as JSON.
    fn queues_in_force(&self) -> String {
        self.0.queues_in_force()
    }

    /// What a manager of the network observes and sets.
    fn monitor(&self, py: Python<'_>) -> PyMonitor {
        PyMonitor(py.detach(|| self.0.monitor()))
    }

    /// A replication at time zero, with recorders: time series, and a capture of the air or at a station.
    #[pyo3(signature = (
        seed, *, series_interval_s=None, pcap=None, pcap_station=None, pcap_bytes=HEADERS_SNAP_BYTES
    ))]
    fn start(
        &self,
        py: Python<'_>,
        seed: u64,
        series_interval_s: Option<f64>,
        pcap: Option<PathBuf>,
        pcap_station: Option<&str>,
        pcap_bytes: u32,
    ) -> PyResult<PyRun> {
        let mut run = py.detach(|| self.0.start(Seed(seed))).map_err(wrong)?;
        if let Some(seconds) = series_interval_s {
            let interval = convert::span("series_interval_s", seconds)?;
            run.record_series(interval)
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
        }
        if let Some(path) = &pcap {
            // Opening a pipe waits for the pipe's reader.
            let capture = py.detach(|| self.capture(path, pcap_station, pcap_bytes));
            run.plug(Box::new(capture.map_err(|error| match error {
                PcapError::Io(error) => refused(py, path, &error),
                error => PyValueError::new_err(error.to_string()),
            })?));
        }
        Ok(PyRun { run: Box::new(run), pcap })
    }

    /// Has a replication keep the delivery opportunities of a link such as `ap:phone`.
    fn watch(&self, run: &mut PyRun, link: &str) -> PyResult<()> {
        self.0.watch(&mut run.run, link).map_err(wrong)
    }
}

impl PyScenario {
    fn capture(
        &self,
        path: &Path,
        station: Option<&str>,
        bytes: u32,
    ) -> Result<Pcap<PcapFile>, PcapError> {
        // If the capture cannot be written, no file is created and no other file is lost.
        self.0.pcap(station, bytes, io::sink())?;
        self.0.pcap(station, bytes, pcap_file::create(path)?)
    }
}

/// What can be observed and set in replications of a scenario.
#[pyclass(name = "Watch", module = "airqueue._native", frozen)]
pub(crate) struct PyMonitor(Monitor);

#[pymethods]
impl PyMonitor {
    /// The stations, the pairs that decode each other, and the routes of flows, as JSON.
    fn map(&self) -> String {
        self.0.map()
    }

    /// The present observations, as JSON.
    fn snapshot(&self, run: &PyRun) -> String {
        self.0.snapshot(&run.run)
    }

    /// Sets the limit of a station's queue, or of a flow's own part of this queue.
    #[pyo3(signature = (run, station, flow, packets))]
    fn set_limit(
        &self,
        run: &mut PyRun,
        station: &str,
        flow: Option<&str>,
        packets: Option<u32>,
    ) -> PyResult<()> {
        self.0.set_limit(&mut run.run, station, flow, packets).map_err(wrong)
    }

    /// Sends a message between two stations, by their places in the map; whether they exchange messages.
    fn send(&self, run: &mut PyRun, from: u32, to: u32, size_bytes: u32, number: u32) -> bool {
        self.0.send(&mut run.run, (from, to), size_bytes, number)
    }

    /// The numbers of messages that have arrived, or were lost, since the last call.
    fn finished(&self, run: &mut PyRun) -> Vec<(u32, bool)> {
        self.0.finished(&mut run.run)
    }
}

/// Changes of a replication that its file does not have.
#[pyclass(name = "LiveChanges", module = "airqueue._native", frozen)]
pub(crate) struct PyLiveChanges(LiveChanges);

#[pymethods]
impl PyLiveChanges {
    #[new]
    fn new(py: Python<'_>, json: &str) -> PyResult<Self> {
        py.detach(|| LiveChanges::new(json)).map(PyLiveChanges).map_err(wrong)
    }

    /// Changes the replication now, by the keys of an entry of `changes` without its time.
    fn apply(&self, run: &mut PyRun, json: &str) -> PyResult<()> {
        self.0.apply(&mut run.run, json).map_err(wrong)
    }
}

pub(crate) fn opportunities<'py>(py: Python<'py>, of: &Opportunities) -> OpportunitiesDict<'py> {
    let idle = |of: &Opportunities, end: fn(&(Time, Time)) -> Time| {
        Column::new(py, of.idle.iter().map(|idle| end(idle).as_nanos()).collect())
    };
    OpportunitiesDict {
        at_ns: Column::new(py, of.at.iter().map(|at| at.as_nanos()).collect()),
        idle_from_ns: idle(of, |idle| idle.0),
        idle_to_ns: idle(of, |idle| idle.1),
        from_ns: of.from.as_nanos(),
        until_ns: of.until.as_nanos(),
    }
}

/// A replication.
#[pyclass(name = "Run", module = "airqueue._native")]
pub(crate) struct PyRun {
    run: Box<Run>,
    /// Where the replication's capture goes.
    pcap: Option<PathBuf>,
}

#[pymethods]
impl PyRun {
    /// Simulates this much time, at most to the end of the replication.
    fn advance(&mut self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        let span = convert::span("seconds", seconds)?;
        let run = &mut self.run;
        py.detach(|| run.advance(span));
        Ok(())
    }

    /// The simulated time, warm-up included.
    #[getter]
    fn now_s(&self) -> f64 {
        self.run.now().as_secs_f64()
    }

    /// When the replication ends, in simulated time.
    #[getter]
    fn end_s(&self) -> f64 {
        self.run.end().as_secs_f64()
    }

    /// Whether the replication has ended.
    #[getter]
    fn done(&self) -> bool {
        self.run.now() >= self.run.end()
    }

    /// The figures since counting began, as JSON.
    fn results(&mut self, py: Python<'_>) -> String {
        let run = &mut self.run;
        py.detach(|| run.results())
    }

    /// Ends the capture, if any, and returns whether the capture was written completely.
    fn close_pcap(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(path) = self.pcap.take() else { return Ok(()) };
        let capture = self.run.unplug::<Pcap<PcapFile>>();
        let finished = py.detach(|| capture.map(Pcap::finish).transpose());
        finished.map(drop).map_err(|error| refused(py, &path, &error))
    }

    /// The delivery opportunities so far, if they are kept.
    fn opportunities<'py>(&self, py: Python<'py>) -> Option<OpportunitiesDict<'py>> {
        self.run.opportunities().map(|found| opportunities(py, &found))
    }

    /// The time series so far, as columns.
    fn series<'py>(&self, py: Python<'py>) -> Option<SeriesDict<'py>> {
        let series = self.run.series()?;
        let column = |values: &Vec<f64>| Column::new(py, values.clone());
        let flow = |(name, of): (&str, &FlowSeries)| {
            let throughput_bps = column(&of.throughput_bps);
            let delay_mean_s = column(&of.delay_mean_s);
            let (cwnd_bytes, srtt_s) = (column(&of.cwnd_bytes), column(&of.srtt_s));
            (name.to_owned(), FlowSeriesDict { throughput_bps, delay_mean_s, cwnd_bytes, srtt_s })
        };
        let queue = |(name, of): (&str, &QueueSeries)| {
            let length_mean_packets = column(&of.length_mean_packets);
            let length_packets = column(&of.length_packets);
            (name.to_owned(), QueueSeriesDict { length_mean_packets, length_packets })
        };
        Some(SeriesDict {
            time_s: Column::new(py, series.ends.iter().map(|end| end.as_secs_f64()).collect()),
            flows: Named(series.flows.into_iter().map(flow).collect()),
            queues: Named(series.queues.into_iter().map(queue).collect()),
        })
    }
}
