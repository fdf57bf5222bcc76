//! Keys of files that people write: tables of them, several tables of which the first that has a key decides, words, checks, and
//! errors that name the key.
//!
//! What a file may say of a thing stands with the thing: a struct that derives [`serde::Deserialize`] and [`schemars::JsonSchema`],
//! each field an [`Option`] whose comment the schema shows, and a function that makes checked parameters of [`Layers`] of it. So
//! whoever adds a thing adds its keys, and whoever reads files needs to know no thing by name.

pub mod check;
mod error;
mod layers;
mod table;
mod words;

pub use error::{KeyError, Result, error, wrong};
pub use layers::{Given, Layers};
pub use table::Table;
pub use words::Word;

/// What [`crate::words`] expands to.
#[doc(hidden)]
pub mod expanded {
    pub use super::words::{read, schema};
    pub use schemars;
    pub use serde;
}
