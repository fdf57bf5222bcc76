//! Capture files.

use crate::convert;
use crate::dicts::RunDict;
use crate::error;
use airqueue_host::capture_file::{self, CaptureWriter};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Mutex;

/// A capture file to which whole runs are appended.
#[pyclass(name = "CaptureWriter", frozen, module = "airqueue._native")]
pub(crate) struct PyCaptureWriter(Mutex<Option<CaptureWriter>>);

impl PyCaptureWriter {
    fn with<T>(&self, work: impl FnOnce(&mut Option<CaptureWriter>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

#[pymethods]
impl PyCaptureWriter {
    /// A new file with this header; with `append`, an existing file keeps its header.
    #[new]
    #[pyo3(signature = (path, header_json, append=false))]
    fn new(py: Python<'_>, path: PathBuf, header_json: &str, append: bool) -> PyResult<Self> {
        let open = || match append {
            true => CaptureWriter::append(&path),
            false => CaptureWriter::create(&path, header_json),
        };
        let writer = py.detach(open).map_err(error)?;
        Ok(PyCaptureWriter(Mutex::new(Some(writer))))
    }

    /// Appends a run and syncs the file to disk.
    fn append(&self, py: Python<'_>, meta_json: &str, run: &Bound<'_, PyDict>) -> PyResult<()> {
        let run = convert::run_from_dict(run)?;
        py.detach(|| {
            self.with(|writer| match writer {
                Some(writer) => writer.append_run(meta_json, &run).map_err(|e| e.to_string()),
                None => Err("the capture is closed".to_owned()),
            })
        })
        .map_err(error)
    }

    /// Closes the file.
    fn close(&self) {
        self.with(Option::take);
    }
}

/// What `read_capture` returns: the header, the runs with their metas, and whether a torn tail was dropped.
type Read<'py> = (String, Vec<(String, RunDict<'py>)>, bool);

/// Reads a capture file.
#[pyfunction]
pub(crate) fn read_capture(py: Python<'_>, path: PathBuf) -> PyResult<Read<'_>> {
    let capture = py.detach(|| capture_file::read(&path)).map_err(error)?;
    let runs =
        capture.runs.into_iter().map(|(meta, run)| (meta, convert::run_to_dict(py, run))).collect();
    Ok((capture.header, runs, capture.torn))
}
