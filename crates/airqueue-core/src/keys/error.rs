//! Errors in the keys of files.

use std::fmt;

/// A key with an invalid value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError {
    /// The key, with indices; empty for the whole file.
    pub key: String,
    /// What was found there, and what was expected.
    pub problem: String,
}

/// A value, or the key that is wrong.
pub type Result<T> = std::result::Result<T, KeyError>;

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key[..] {
            "" => f.write_str(&self.problem),
            key => write!(f, "{key}: {}", self.problem),
        }
    }
}

impl std::error::Error for KeyError {}

/// A problem with a key, as the result of a check.
///
/// # Errors
///
/// Always: the problem.
pub fn wrong<T>(key: impl fmt::Display, problem: impl fmt::Display) -> Result<T> {
    Err(error(key, problem))
}

/// A problem with a key.
pub fn error(key: impl fmt::Display, problem: impl fmt::Display) -> KeyError {
    KeyError { key: key.to_string(), problem: problem.to_string() }
}
