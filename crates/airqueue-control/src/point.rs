//! What can be set on a machine: one trait for all kinds of settings.

use crate::plan::Set;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What something is set to, as it is kept in the journal until it is put back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// In words, for people: "a FIFO of 100 packets".
    pub words: String,
    /// All that is needed to put the value back, in a form of the control point's own.
    pub raw: serde_json::Value,
}

/// The value that a plan asks for on this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Aim {
    /// The value to be set.
    pub value: Value,
    /// What happens to others when it is set: what is dropped, who loses the connection.
    pub interrupts: Option<String>,
}

/// Why a control point did not do what was asked. The text says what was wrong, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PointError {
    /// The thing does not exist, or no longer: an interface that was unplugged took its settings along.
    #[error("{0}")]
    Gone(String),
    /// The machine does not accept it, or it could not be put back.
    #[error("{0}")]
    Refused(String),
    /// A right is missing.
    #[error("{0}")]
    Denied(String),
}

/// A kind of setting of this machine. The caller holds the lock and writes the journal; a control point acts on
/// the machine alone.
pub trait ControlPoint {
    /// What is set now. `earlier` is a value read since the last start of the machine: the same thing is meant, even
    /// if another thing has its name now.
    fn read(&mut self, set: &Set, earlier: Option<&Value>) -> Result<Value, PointError>;

    /// The value that `set` asks for. Refuses what this machine does not have or cannot hold, and what could not be
    /// put back: `now`, which the machine has at present, and `original`, which it had before any plan.
    fn aim(&mut self, set: &Set, now: &Value, original: &Value) -> Result<Aim, PointError>;

    /// Sets `to`. If the machine refuses, or the process dies here, the thing may be left with neither value; calling
    /// `put` again with either must then succeed.
    fn put(&mut self, set: &Set, to: &Value) -> Result<(), PointError>;

    /// Whether `now`, which was read, is `wanted`, in everything that the machine reports.
    fn same(&self, now: &Value, wanted: &Value) -> bool;

    /// Whether the setting of a confirmed plan, which is `now`, would be made otherwise today: because something has
    /// changed on which it depends, as the MTU of an interface.
    fn is_outdated(&mut self, _set: &Set, _now: &Value) -> Result<bool, PointError> {
        Ok(false)
    }

    /// Whether the machine tells what is set. If not, `read` states where its answer comes from.
    fn tells(&self) -> bool {
        true
    }
}
