//! `Load`: TCP connections that load the path of a client's run.

use crate::dicts::Column;
use crate::load_dicts::{LoadDict, LoadSeriesDict};
use airqueue_host::LoadHandle;
use airqueue_host::load::{LoadRow, LoadSeries};
use pyo3::prelude::*;

/// TCP connections beside a run; they end with the run, or when stopped.
#[pyclass(name = "Load", frozen, module = "airqueue._native")]
pub(crate) struct PyLoad(pub(crate) LoadHandle);

#[pymethods]
impl PyLoad {
    /// The load so far.
    fn poll(&self, py: Python<'_>) -> LoadDict {
        let progress = py.detach(|| self.0.poll());
        LoadDict {
            elapsed_s: progress.elapsed.as_secs_f64(),
            down_bytes: progress.down_bytes,
            up_bytes: progress.up_bytes,
            opening: progress.opening,
            alive: progress.alive,
            ended: progress.ended,
            failed: progress.failed,
        }
    }

    /// Ends the load and returns its records.
    fn stop<'py>(&self, py: Python<'py>) -> LoadSeriesDict<'py> {
        let series = py.detach(|| self.0.stop());
        series_to_dict(py, &series)
    }
}

fn series_to_dict<'py>(py: Python<'py>, series: &LoadSeries) -> LoadSeriesDict<'py> {
    let whole = |value: &dyn Fn(&LoadRow) -> i64| {
        Column::new(py, series.rows.iter().map(value).collect::<Vec<i64>>())
    };
    let count = |value: &dyn Fn(&LoadRow) -> u64| {
        Column::new(py, series.rows.iter().map(value).collect::<Vec<u64>>())
    };
    LoadSeriesDict {
        from_ns: series.from.as_nanos(),
        at_ns: whole(&|r| r.at.as_nanos()),
        down_bytes: count(&|r| r.down_bytes),
        up_bytes: count(&|r| r.up_bytes),
        down_rtt_least_ns: whole(&|r| r.down_rtt_ns[0]),
        down_rtt_median_ns: whole(&|r| r.down_rtt_ns[1]),
        up_rtt_least_ns: whole(&|r| r.up_rtt_ns[0]),
        up_rtt_median_ns: whole(&|r| r.up_rtt_ns[1]),
        alive: count(&|r| u64::from(r.alive)),
        retransmitted: series.retransmitted,
        died: series.died.clone(),
    }
}
