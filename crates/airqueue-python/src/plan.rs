//! Plans of settings: checked before they are written.

use airqueue_control::plan::{self, Plan};
use pyo3::prelude::*;

use crate::error;

/// Checks the text of a plan; the error names the key, and what is possible.
#[pyfunction]
pub fn check_plan(text: &str) -> PyResult<()> {
    Plan::read(text).map(drop).map_err(error)
}

/// The JSON Schema (draft 2020-12) of plans.
#[pyfunction]
pub fn plan_schema() -> String {
    plan::schema()
}
