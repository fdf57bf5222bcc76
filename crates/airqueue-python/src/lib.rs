//! PyO3 bindings: convert, release the GIL, map errors. Nothing else lives here.
use pyo3::prelude::*;

#[pymodule]
mod _native {}
