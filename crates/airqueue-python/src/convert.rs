//! Conversions between Rust's and Python's forms of plans, runs and limits.

use crate::dicts::{Column, End, HostDict, LimitsDict, RunDict};
use crate::error;
use airqueue_core::Span;
use airqueue_probe::client::Direction;
use airqueue_probe::limits::Limits;
use airqueue_probe::plan::{Plan, Segment};
use airqueue_probe::records::{Classes, HostReport, Records, Run};
use numpy::{Element, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::time::Duration;

/// (flow, start_ns, duration_ns, count, size, traffic_class)
pub(crate) type NativeSegment = (u8, i64, i64, u32, u16, u8);

pub(crate) fn plan(segments: Vec<NativeSegment>) -> Plan {
    let segment = |(flow, start, duration, count, size, traffic_class)| Segment {
        flow,
        start: Span::from_nanos(start),
        duration: Span::from_nanos(duration),
        count,
        size,
        traffic_class,
    };
    Plan { segments: segments.into_iter().map(segment).collect() }
}

pub(crate) fn direction(name: &str) -> PyResult<Direction> {
    match name {
        "down" => Ok(Direction::Down),
        "up" => Ok(Direction::Up),
        _ => Err(error(format!("direction is {name:?}, expected \"down\" or \"up\""))),
    }
}

pub(crate) fn seconds(name: &str, value: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value)
        .map_err(|_| error(format!("{name} is {value}, expected seconds, 0 or more")))
}

/// A time in seconds as simulated time.
pub(crate) fn span(name: &str, value: f64) -> PyResult<Span> {
    Ok(Span::from_secs_f64(seconds(name, value)?.as_secs_f64()))
}

/// A run as a dict of arrays; the columns are moved, not copied.
pub(crate) fn run_to_dict(py: Python<'_>, run: Run) -> RunDict<'_> {
    let (records, host) = (run.records, run.host);
    let (sent, received) = records.classes.map(|of| (of.sent, of.received)).unzip();
    RunDict {
        scheduled_ns: Column::new(py, records.scheduled_ns),
        sent_ns: Column::new(py, records.sent_ns),
        kernel_tx_ns: Column::new(py, records.kernel_tx_ns),
        received_ns: Column::new(py, records.received_ns),
        flow: Column::new(py, records.flow),
        size_bytes: Column::new(py, records.size_bytes),
        sent_class: sent.map(|class| Column::new(py, class)),
        received_class: received.map(|class| Column::new(py, class)),
        host: HostDict {
            send_blocked: host.send_blocked,
            receive_overflow: host.receive_overflow,
            duplicates: host.duplicates,
            clock_steps: host.clock_steps,
            kernel_receive_timestamps: host.kernel_receive_timestamps,
            shared: host.shared,
        },
        end: End(run.end),
    }
}

/// The reverse of `run_to_dict`.
pub(crate) fn run_from_dict(dict: &Bound<'_, PyDict>) -> PyResult<Run> {
    let records = Records {
        scheduled_ns: column(dict, "scheduled_ns")?,
        sent_ns: column(dict, "sent_ns")?,
        kernel_tx_ns: column(dict, "kernel_tx_ns")?,
        received_ns: column(dict, "received_ns")?,
        flow: column(dict, "flow")?,
        size_bytes: column(dict, "size_bytes")?,
        classes: classes(dict)?,
    };
    let n = records.scheduled_ns.len();
    let of_classes = records.classes.iter().flat_map(|of| [&of.sent, &of.received]);
    let times = [&records.sent_ns, &records.kernel_tx_ns, &records.received_ns];
    if times.iter().any(|c| c.len() != n)
        || records.flow.len() != n
        || records.size_bytes.len() != n
        || of_classes.into_iter().any(|c| c.len() != n)
    {
        return Err(error("the columns of a run differ in length"));
    }
    let host = item(dict, "host")?;
    let host = host.cast::<PyDict>().map_err(|_| error("a run's `host` is no dict"))?;
    let name: String = value(dict, "end")?;
    Ok(Run {
        records,
        host: HostReport {
            send_blocked: value(host, "send_blocked")?,
            receive_overflow: value(host, "receive_overflow")?,
            duplicates: value(host, "duplicates")?,
            clock_steps: value(host, "clock_steps")?,
            kernel_receive_timestamps: value(host, "kernel_receive_timestamps")?,
            shared: value(host, "shared")?,
        },
        end: End::named(&name)
            .ok_or_else(|| error(format!("a run's `end` is {name:?}, which is none")))?,
    })
}

/// The traffic classes of a run, if they were recorded.
fn classes(dict: &Bound<'_, PyDict>) -> PyResult<Option<Classes>> {
    let has = |key| Ok::<_, PyErr>(dict.get_item(key)?.is_some_and(|column| !column.is_none()));
    match (has("sent_class")?, has("received_class")?) {
        (false, false) => Ok(None),
        (true, true) => {
            let (sent, received) = (column(dict, "sent_class")?, column(dict, "received_class")?);
            Ok(Some(Classes { sent, received }))
        }
        _ => Err(error("a run has `sent_class` and `received_class`, or neither")),
    }
}

fn item<'py>(dict: &Bound<'py, PyDict>, key: &str) -> PyResult<Bound<'py, PyAny>> {
    dict.get_item(key)?.ok_or_else(|| error(format!("a run lacks `{key}`")))
}

fn value<T: for<'a, 'py> FromPyObject<'a, 'py>>(
    dict: &Bound<'_, PyDict>,
    key: &str,
) -> PyResult<T> {
    item(dict, key)?.extract().map_err(|_| error(format!("a run's `{key}` has the wrong type")))
}

fn column<T: Element + Copy>(dict: &Bound<'_, PyDict>, key: &str) -> PyResult<Vec<T>> {
    let array: PyReadonlyArray1<'_, T> = item(dict, key)?
        .extract()
        .map_err(|_| error(format!("a run's `{key}` is no array of the right type")))?;
    Ok(array.as_array().to_vec())
}

pub(crate) fn limits_to_dict(limits: &Limits) -> LimitsDict {
    LimitsDict {
        max_bits_per_s: limits.max_bits_per_s,
        max_packets_per_s: limits.max_packets_per_s,
        max_run_s: limits.max_run.as_secs_f64(),
        max_packets: limits.max_packets,
        max_sessions: limits.max_sessions,
        max_sessions_per_address: limits.max_sessions_per_address,
    }
}
