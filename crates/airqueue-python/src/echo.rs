//! `Echoes`: round-trip times to several targets at once, in a thread of its own.

use crate::convert;
use crate::dicts::Column;
use crate::echo_dicts::{EchoIgnoredDict, EchoPollDict, EchoSeriesDict, HopDict};
use crate::error;
use airqueue_core::Span;
use airqueue_host::echo::{self, EchoOptions, EchoState, EchoTarget, EchoesHandle};
use airqueue_probe::echo::Method;
use airqueue_probe::echo::series::Series;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// The port of `airqueue server`.
const SERVER_PORT: u16 = 5860;
/// A target's keys.
const KEYS: [&str; 5] = ["name", "host", "method", "port", "hops"];

/// Probes targets until it is stopped or dropped.
#[pyclass(name = "Echoes", frozen, module = "airqueue._native")]
pub(crate) struct PyEchoes(EchoesHandle);

#[pymethods]
impl PyEchoes {
    #[new]
    #[pyo3(signature = (targets, *, interval_s=0.05, netns=None))]
    fn new(
        py: Python<'_>,
        targets: Vec<Bound<'_, PyDict>>,
        interval_s: f64,
        netns: Option<PathBuf>,
    ) -> PyResult<PyEchoes> {
        let targets = targets.iter().map(target).collect::<PyResult<_>>()?;
        let interval = convert::seconds("interval_s", interval_s)?;
        let options = EchoOptions { targets, interval, namespace: netns };
        py.detach(|| EchoesHandle::start(&options)).map(PyEchoes).map_err(error)
    }

    /// The state of each target.
    fn poll(&self, py: Python<'_>) -> Vec<EchoPollDict> {
        py.detach(|| self.0.poll()).into_iter().map(poll_dict).collect()
    }

    /// All probes of each target since the start.
    fn take<'py>(&self, py: Python<'py>) -> Vec<EchoSeriesDict<'py>> {
        let taken = py.detach(|| self.0.take());
        taken.into_iter().map(|(state, series)| series_dict(py, state, series)).collect()
    }

    /// Ends the probing.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.0.stop());
    }
}

/// The first hops on the way to a host.
#[pyfunction]
#[pyo3(signature = (host, *, most=4, timeout_s=1.0, netns=None))]
pub(crate) fn first_hops(
    py: Python<'_>,
    host: &str,
    most: u8,
    timeout_s: f64,
    netns: Option<PathBuf>,
) -> PyResult<Vec<HopDict>> {
    let timeout = convert::seconds("timeout_s", timeout_s)?;
    let hops = py.detach(|| echo::first_hops(host, most, timeout, netns.as_deref()));
    let dict = |hop: echo::Hop| HopDict {
        hop: hop.hop,
        address: hop.address.map(|address| address.to_string()),
        round_trip_s: hop.round_trip.map(Span::as_secs_f64),
        is_host: hop.is_host,
    };
    Ok(hops.map_err(error)?.into_iter().map(dict).collect())
}

fn target(dict: &Bound<'_, PyDict>) -> PyResult<EchoTarget> {
    for key in dict.keys() {
        let key = key.to_string();
        if !KEYS.contains(&key.as_str()) {
            return Err(error(format!(
                "a target has no {key:?}: its keys are {}",
                KEYS.join(", ")
            )));
        }
    }
    let name: String = needed(dict, "name")?;
    let host: String = needed(dict, "host")?;
    let port: Option<u16> = given(dict, "port", "a port from 1 to 65535")?;
    let hops: Option<u8> = given(dict, "hops", "a number from 1 to 255")?;
    let word: String = needed(dict, "method")?;
    let lacks = |key: &str| error(format!("{name:?} has the method {word:?} and lacks `{key}`"));
    let method = match word.as_str() {
        "icmp" => Method::Icmp,
        "hop" => Method::Hop(hops.ok_or_else(|| lacks("hops"))?),
        "udp" => Method::Udp(port),
        "tcp" => Method::Tcp(port.ok_or_else(|| lacks("port"))?),
        "server" => Method::Server(port.unwrap_or(SERVER_PORT)),
        _ => {
            let text =
                format!("the method of {name:?} is {word:?}: give icmp, hop, udp, tcp or server");
            return Err(error(text));
        }
    };
    Ok(EchoTarget { name, host, method })
}

fn needed(dict: &Bound<'_, PyDict>, key: &str) -> PyResult<String> {
    let found = given(dict, key, "text")?;
    found.ok_or_else(|| error(format!("a target lacks `{key}`")))
}

/// The value of a key, if the key is there and not None.
fn given<T: for<'a, 'py> FromPyObject<'a, 'py>>(
    dict: &Bound<'_, PyDict>,
    key: &str,
    expected: &str,
) -> PyResult<Option<T>> {
    let Some(value) = dict.get_item(key)?.filter(|value| !value.is_none()) else { return Ok(None) };
    let wrong = || error(format!("a target's `{key}` is {value}: give {expected}"));
    value.extract().map(Some).map_err(|_| wrong())
}

fn word(method: Method) -> &'static str {
    match method {
        Method::Icmp => "icmp",
        Method::Hop(_) => "hop",
        Method::Udp(_) => "udp",
        Method::Tcp(_) => "tcp",
        Method::Server(_) => "server",
    }
}

fn poll_dict(state: EchoState) -> EchoPollDict {
    EchoPollDict {
        name: state.target.name,
        method: word(state.target.method),
        address: state.address.map(|address| address.to_string()),
        sent: state.sent,
        answered: state.answered,
        round_trip_s: state.last_round_trip.map(Span::as_secs_f64),
        answered_by: state.answered_by.map(|address| address.to_string()),
        refused: state.refused,
        refusal: state.refusal,
        skipped: state.skipped,
        failed: state.failed,
    }
}

fn series_dict(py: Python<'_>, state: EchoState, series: Series) -> EchoSeriesDict<'_> {
    let ignored = series.ignored;
    let (answered_by, from_host) = (series.answered_by, series.from_host);
    let timed_by_program = series.timed_by_program;
    let (sent_ns, received_ns) = series.into_columns();
    EchoSeriesDict {
        name: state.target.name,
        method: word(state.target.method),
        address: state.address.map(|address| address.to_string()),
        sent_ns: Column::new(py, sent_ns),
        received_ns: Column::new(py, received_ns),
        answered_by: answered_by.map(|address| address.to_string()),
        from_host,
        timed_by_program,
        ignored: EchoIgnoredDict {
            malformed: ignored.malformed,
            foreign: ignored.foreign,
            duplicate: ignored.duplicate,
            late: ignored.late,
            unreachable: ignored.unreachable,
            ambiguous: ignored.ambiguous,
        },
        failed: state.failed,
    }
}
