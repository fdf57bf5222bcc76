//! Settings from several tables: the table of one item overrides the table of all items.

use super::error::{Result, error};
use super::table::Table;
use std::fmt::Display;

/// Tables of one kind with their keys, the table with the highest precedence first.
pub struct Layers<'a, T> {
    tables: Vec<(String, &'a T)>,
}

/// A setting, and its key.
pub struct Given<'a, V> {
    /// The setting's key, with the names of the enclosing tables.
    pub key: String,
    /// The value in the first table that has the key.
    pub value: &'a V,
}

/// Assigns a checked setting to a variable if a table has the key; otherwise the variable keeps its default. The
/// enclosing function returns a [`Result`](crate::keys::Result). The key is the name of the field.
///
/// `take!(params.quantum, tables.quantum, least(LEAST_QUANTUM, "64 B"));`
#[macro_export]
macro_rules! take {
    ($into:expr, $layers:ident.$key:ident, $check:expr) => {
        if let Some(given) = $layers.find(stringify!($key), |table| table.$key.as_ref()) {
            $into = given.check($check)?;
        }
    };
}

impl<'a, T> Layers<'a, T> {
    /// These tables, each with its key.
    pub fn new(tables: Vec<(String, &'a T)>) -> Layers<'a, T> {
        Layers { tables }
    }

    /// The tables called `name` within these.
    pub fn within<U>(
        &self,
        name: &str,
        of: impl Fn(&'a T) -> Option<&'a Table<U>>,
    ) -> Layers<'a, U> {
        let inner = self.tables.iter().filter_map(|(table, settings)| {
            of(settings).map(|inner| (format!("{table}.{name}"), &**inner))
        });
        Layers { tables: inner.collect() }
    }

    /// The setting called `name`.
    pub fn find<V>(&self, name: &str, of: impl Fn(&'a T) -> Option<&'a V>) -> Option<Given<'a, V>> {
        self.tables.iter().find_map(|(table, settings)| {
            of(settings).map(|value| Given { key: format!("{table}.{name}"), value })
        })
    }
}

impl<'a, V> Given<'a, V> {
    /// The checked value of the setting.
    ///
    /// # Errors
    ///
    /// The problem that the check finds, with the key.
    pub fn check<W, E: Display>(
        &self,
        check: impl FnOnce(&'a V) -> std::result::Result<W, E>,
    ) -> Result<W> {
        check(self.value).map_err(|problem| error(&self.key, problem))
    }
}
