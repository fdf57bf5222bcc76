//! Checks of values, with the key in each error.

use std::fmt::Display;
use std::ops::RangeInclusive;
use thiserror::Error;

/// Why a plan cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// The text is no JSON.
    #[error("line {line}, column {column}: {what}")]
    NotJson {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// The parser's words.
        what: String,
    },
    /// The text has nothing but white space.
    #[error("the plan is empty: a plan begins with {{\"plan\": 1, ...}}")]
    Empty,
    /// Another version of the format.
    #[error(
        "the plan's version is {found}; this program reads version {}: take the program that wrote the plan, or write the plan again",
        super::VERSION
    )]
    Version {
        /// The version of the file.
        found: u64,
    },
    /// A key that is unknown, missing or of another type, or a value out of its range.
    #[error("{path}: {what}")]
    Key {
        /// The key, as `settings[0].set.txq.limit_packets`.
        path: String,
        /// What is wrong, and what is possible.
        what: String,
    },
}

impl PlanError {
    pub(super) fn not_json(error: serde_json::Error) -> PlanError {
        let (line, column) = (error.line(), error.column());
        PlanError::NotJson { line, column, what: words(&error) }
    }

    pub(super) fn unreadable(error: serde_path_to_error::Error<serde_json::Error>) -> PlanError {
        let path = error.path().to_string();
        let (line, what) = (error.inner().line(), words(error.inner()));
        PlanError::Key { path, what: format!("{what} (line {line})") }
    }
}

/// The parser's words without the place, which is stated apart.
fn words(error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "the text ends too early".to_owned();
    }
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

pub(super) fn wrong(path: impl Into<String>, what: impl Into<String>) -> PlanError {
    PlanError::Key { path: path.into(), what: what.into() }
}

/// The key of a table.
pub(super) struct At(String);

impl At {
    pub(super) fn root() -> At {
        At(String::new())
    }

    pub(super) fn key(&self, key: &str) -> At {
        At(self.path(key))
    }

    pub(super) fn item(&self, key: &str, index: usize) -> At {
        At(format!("{}[{index}]", self.path(key)))
    }

    pub(super) fn wrong(&self, key: &str, what: impl Into<String>) -> PlanError {
        wrong(self.path(key), what)
    }

    /// Of the table itself.
    pub(super) fn wrong_here(&self, what: impl Into<String>) -> PlanError {
        wrong(&self.0, what)
    }

    fn path(&self, key: &str) -> String {
        if self.0.is_empty() { key.to_owned() } else { format!("{}.{key}", self.0) }
    }

    /// A value within its range.
    pub(super) fn within<T: PartialOrd + Display>(
        &self,
        key: &str,
        value: T,
        range: RangeInclusive<T>,
    ) -> Result<(), PlanError> {
        if range.contains(&value) {
            return Ok(());
        }
        let (least, most) = range.into_inner();
        Err(self.wrong(key, format!("{value} is not possible; give {least} to {most}")))
    }

    /// A value within its range, if there is one.
    pub(super) fn maybe_within<T: PartialOrd + Display>(
        &self,
        key: &str,
        value: Option<T>,
        range: RangeInclusive<T>,
    ) -> Result<(), PlanError> {
        value.map_or(Ok(()), |value| self.within(key, value, range))
    }

    /// The name of an interface or a phy, as the kernel's dev_valid_name() wants it.
    pub(super) fn name(&self, key: &str, name: &str) -> Result<(), PlanError> {
        let printable = |c: char| c.is_ascii_graphic() && c != '/' && c != ':';
        let special = name == "." || name == "..";
        if (1..=15).contains(&name.len()) && name.chars().all(printable) && !special {
            return Ok(());
        }
        Err(self.wrong(
            key,
            format!("{name:?} is no name of an interface; give 1 to 15 letters, as wlan0"),
        ))
    }
}

/// Text that people read: some, of bounded length, without control characters.
pub(super) fn text(at: &At, key: &str, value: &str, longest: usize) -> Result<(), PlanError> {
    if value.trim().is_empty() {
        return Err(at.wrong(key, "is empty; give a sentence"));
    }
    if value.len() > longest {
        return Err(at.wrong(key, format!("has {} bytes; give at most {longest}", value.len())));
    }
    if value.chars().any(char::is_control) {
        return Err(at.wrong(key, "has control characters; give one line of text"));
    }
    Ok(())
}
