//! What is wrong with a scenario, and where.

use std::fmt::Display;
use thiserror::Error;

/// What no scenario can be.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}{problem}", place(.key))]
pub struct ScenarioError {
    /// The key, with indices; empty for the whole scenario.
    pub key: String,
    /// What was found there, and what was expected.
    pub problem: String,
}

fn place(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!("{key}: ") }
}

pub(super) type Result<T> = std::result::Result<T, ScenarioError>;

/// A problem with a key.
pub(super) fn wrong<T>(key: impl Display, problem: impl Display) -> Result<T> {
    Err(error(key, problem))
}

pub(super) fn error(key: impl Display, problem: impl Display) -> ScenarioError {
    ScenarioError { key: key.to_string(), problem: problem.to_string() }
}

/// What serde says, in the words of the file: its keys are fields to serde.
const WORDS: [(&str, &str); 4] = [
    ("unknown field", "unknown key"),
    ("missing field", "missing key"),
    ("unknown variant", "unknown word"),
    ("invalid type: map", "invalid type: a table"),
];

impl From<serde_path_to_error::Error<serde_json::Error>> for ScenarioError {
    fn from(found: serde_path_to_error::Error<serde_json::Error>) -> ScenarioError {
        let key = found.path().to_string();
        let mut problem = found.into_inner().to_string();
        for (serde, ours) in WORDS {
            if let Some(rest) = problem.strip_prefix(serde) {
                problem = format!("{ours}{rest}");
            }
        }
        // Of all whole numbers these are the only kind that a scenario has.
        if let Some(rest) = problem.strip_suffix("expected u32") {
            problem = format!("{rest}expected a whole number, at least 0");
        }
        ScenarioError { key: if key == "." { String::new() } else { key }, problem }
    }
}
