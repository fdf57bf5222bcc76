//! Settings that a station takes from a table of its own or from that of all stations.

use super::error::{Result, error};
use super::table::Table;
use std::fmt::Display;

/// Tables of one kind with their keys, the one that decides first.
pub(super) struct Layers<'a, T> {
    tables: Vec<(String, &'a T)>,
}

/// A setting, and its key.
pub(super) struct Given<'a, V> {
    pub(super) key: String,
    pub(super) value: &'a V,
}

impl<'a, T> Layers<'a, T> {
    pub(super) fn new(tables: Vec<(String, &'a T)>) -> Layers<'a, T> {
        Layers { tables }
    }

    /// The tables called `name` within these.
    pub(super) fn within<U>(
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
    pub(super) fn find<V>(
        &self,
        name: &str,
        of: impl Fn(&'a T) -> Option<&'a V>,
    ) -> Option<Given<'a, V>> {
        self.tables.iter().find_map(|(table, settings)| {
            of(settings).map(|value| Given { key: format!("{table}.{name}"), value })
        })
    }
}

impl<'a, V> Given<'a, V> {
    /// What it stands for, or what is wrong with it.
    pub(super) fn check<W, E: Display>(
        &self,
        check: impl FnOnce(&'a V) -> std::result::Result<W, E>,
    ) -> Result<W> {
        check(self.value).map_err(|problem| error(&self.key, problem))
    }
}
