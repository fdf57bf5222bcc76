//! `Server`: the server of measurements, in a thread of its own.

use crate::convert;
use crate::dicts::ServerStatsDict;
use crate::error;
use airqueue_core::Span;
use airqueue_host::{ServerHandle, ServerOptions};
use airqueue_probe::limits::Limits;
use pyo3::prelude::*;
use std::net::IpAddr;
use std::path::PathBuf;

/// A server that runs until it is stopped or dropped.
#[pyclass(name = "Server", frozen, module = "airqueue._native")]
pub(crate) struct PyServer(ServerHandle);

#[pymethods]
impl PyServer {
    #[new]
    #[pyo3(signature = (bind=None, port=5860, *, key=None, max_bits_per_s=None, max_packets_per_s=None, max_run_s=None, max_sessions=None, max_sessions_per_address=None, netns=None, tcp=true, attend=None))]
    #[expect(clippy::too_many_arguments)] // they are Python's keywords
    fn new(
        py: Python<'_>,
        bind: Option<&str>,
        port: u16,
        key: Option<Vec<u8>>,
        max_bits_per_s: Option<u64>,
        max_packets_per_s: Option<u64>,
        max_run_s: Option<f64>,
        max_sessions: Option<u32>,
        max_sessions_per_address: Option<u32>,
        netns: Option<PathBuf>,
        tcp: bool,
        attend: Option<Vec<String>>,
    ) -> PyResult<PyServer> {
        let address = |what: &str, text: &str| {
            text.parse().map_err(|_| error(format!("cannot {what} {text:?}: give an IP address")))
        };
        let bind = bind.map(|text| address("listen on", text)).transpose()?;
        let attends = attend.unwrap_or_default();
        let attends = attends
            .iter()
            .map(|text| address("attend", text))
            .collect::<PyResult<Vec<IpAddr>>>()?;
        let d = Limits::default();
        let max_run = max_run_s.map(|s| convert::seconds("max_run_s", s)).transpose()?;
        let limits = Limits {
            max_bits_per_s: max_bits_per_s.unwrap_or(d.max_bits_per_s),
            max_packets_per_s: max_packets_per_s.unwrap_or(d.max_packets_per_s),
            max_run: max_run.map_or(d.max_run, |t| Span::from_secs_f64(t.as_secs_f64())),
            max_packets: d.max_packets,
            max_sessions: max_sessions.unwrap_or(d.max_sessions),
            max_sessions_per_address: max_sessions_per_address
                .unwrap_or(d.max_sessions_per_address),
        };
        let options = ServerOptions { bind, port, key, limits, namespace: netns, tcp, attends };
        py.detach(|| ServerHandle::start(&options)).map(PyServer).map_err(error)
    }

    /// UDP port.
    #[getter]
    fn port(&self) -> u16 {
        self.0.local_addr().port()
    }

    /// The address and port that the server listens on.
    #[getter]
    fn address(&self) -> String {
        self.0.local_addr().to_string()
    }

    /// Why the server offers no TCP load although it was to, if so.
    #[getter]
    fn no_tcp(&self) -> Option<&str> {
        self.0.no_tcp()
    }

    /// Why the server stopped by itself, if it did.
    fn failure(&self) -> Option<String> {
        self.0.failure()
    }

    /// Counters since the start of the server.
    fn stats(&self) -> ServerStatsDict {
        let (stats, transport) = (self.0.stats(), self.0.transport());
        ServerStatsDict {
            sessions: stats.sessions,
            sessions_opened: stats.sessions_opened,
            refused: stats.refused,
            ignored: stats.ignored,
            runs: stats.runs,
            datagrams_received: transport.received,
            datagrams_sent: transport.sent,
        }
    }

    /// Stops the server.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.0.stop());
    }
}
