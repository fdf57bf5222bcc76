//! Dictionaries of TCP loads passed to Python; `dicts.rs` has the rules.

use crate::dicts::Column;
use pyo3::prelude::*;
use schemars::JsonSchema;

/// A load of TCP connections so far.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct LoadDict {
    /// Time since the load began.
    pub(crate) elapsed_s: f64,
    /// Bytes that arrived here, without headers.
    pub(crate) down_bytes: u64,
    /// Bytes that the server acknowledged, selectively too, without headers.
    pub(crate) up_bytes: u64,
    /// Connections that the server has not answered yet.
    pub(crate) opening: u8,
    /// Connections that carry the load.
    pub(crate) alive: u8,
    /// Whether the load has ended.
    pub(crate) ended: bool,
    /// Why the load ended before its run, unless it was stopped.
    pub(crate) failed: Option<String>,
}

/// The records of a load: columns of equal length, one row per interval of about 100 ms. Times are on `CLOCK_MONOTONIC`; the
/// smallest int64 stands for a time that is not known.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct LoadSeriesDict<'py> {
    /// The beginning of the first interval.
    pub(crate) from_ns: i64,
    /// End of the interval, which is the beginning of the next one.
    pub(crate) at_ns: Column<'py, i64>,
    /// Bytes that arrived in the interval, in whatever order, without headers.
    pub(crate) down_bytes: Column<'py, u64>,
    /// Bytes that the server acknowledged in the interval, selectively too, without headers.
    pub(crate) up_bytes: Column<'py, u64>,
    /// Least round-trip time of connections that download, as the receiving kernel sees it.
    pub(crate) down_rtt_least_ns: Column<'py, i64>,
    /// Median of the round-trip times of connections that download.
    pub(crate) down_rtt_median_ns: Column<'py, i64>,
    /// Least smoothed round-trip time of connections that upload.
    pub(crate) up_rtt_least_ns: Column<'py, i64>,
    /// Median of the smoothed round-trip times of connections that upload.
    pub(crate) up_rtt_median_ns: Column<'py, i64>,
    /// Connections that carried the load at the end of the interval.
    pub(crate) alive: Column<'py, u64>,
    /// Segments that connections that upload sent again.
    pub(crate) retransmitted: u64,
    /// Connections that died before the run ended or were never there, a sentence each.
    pub(crate) died: Vec<String>,
}
