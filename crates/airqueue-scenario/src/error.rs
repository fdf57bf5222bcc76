//! Errors in a scenario, and their place.

pub use airqueue_core::keys::KeyError as ScenarioError;
pub(super) use airqueue_core::keys::{Result, error, wrong};

/// Checks a probability.
pub(super) fn probability(key: impl std::fmt::Display, p: f64) -> Result<f64> {
    if (0.0..=1.0).contains(&p) {
        return Ok(p);
    }
    wrong(key, format_args!("found {p}, expected a probability from 0 to 1"))
}

/// serde's terms and the terms of the file: serde calls keys fields.
const WORDS: [(&str, &str); 4] = [
    ("unknown field", "unknown key"),
    ("missing field", "missing key"),
    ("unknown variant", "unknown word"),
    ("invalid type: map", "invalid type: a table"),
];

/// An error that serde finds in a file.
pub(super) fn unreadable(found: serde_path_to_error::Error<serde_json::Error>) -> ScenarioError {
    let key = found.path().to_string();
    let mut problem = found.into_inner().to_string();
    for (serde, ours) in WORDS {
        if let Some(rest) = problem.strip_prefix(serde) {
            problem = format!("{ours}{rest}");
        }
    }
    // `u32` is the only type of whole number in a scenario.
    if let Some(rest) = problem.strip_suffix("expected u32") {
        problem = format!("{rest}expected a whole number, at least 0");
    }
    ScenarioError { key: if key == "." { String::new() } else { key }, problem }
}
