//! Keys of files that users write: tables, layers of tables of which the first with a key decides, words, checks, and
//! errors that name the key.
//!
//! The keys of an item are defined in the item's file: a struct that derives [`serde::Deserialize`] and
//! [`schemars::JsonSchema`], where each field is an [`Option`] whose comment the schema shows, and a function that
//! makes checked parameters from [`Layers`] of this struct. A new item brings its keys along, and code that reads files
//! knows no item by name.

pub mod check;
mod error;
mod layers;
mod table;
mod words;

pub use error::{KeyError, Result, error, wrong};
pub use layers::{Given, Layers};
pub use table::Table;
pub use words::Word;

/// Items for the expansion of [`crate::words`].
#[doc(hidden)]
pub mod expanded {
    pub use super::words::{read, schema};
    pub use schemars;
    pub use serde;
}
