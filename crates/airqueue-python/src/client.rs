//! `Client`: a session with a server over real sockets.

use crate::convert::{self, NativeSegment};
use crate::dicts::{LimitsDict, PollDict, RunDict};
use crate::error;
use crate::load::PyLoad;
use airqueue_core::Time;
use airqueue_host::client::RunState;
use airqueue_host::{ClientHandle, ClientOptions};
use airqueue_probe::client::Identity;
use airqueue_probe::wire::ForeignFlow;
use pyo3::prelude::*;
use std::path::PathBuf;

/// A session with a server; the constructor connects.
#[pyclass(name = "Client", frozen, module = "airqueue._native")]
pub(crate) struct PyClient(ClientHandle);

#[pymethods]
impl PyClient {
    #[new]
    #[pyo3(signature = (host, port=5860, *, key=None, flows=2, others=0, local_ports=None, netns=None, timeout_s=5.0, max_wait_s=600.0))]
    #[expect(clippy::too_many_arguments)] // they are Python's keywords
    fn new(
        py: Python<'_>,
        host: String,
        port: u16,
        key: Option<Vec<u8>>,
        flows: u8,
        others: u8,
        local_ports: Option<Vec<u16>>,
        netns: Option<PathBuf>,
        timeout_s: f64,
        max_wait_s: f64,
    ) -> PyResult<PyClient> {
        let options = ClientOptions {
            host,
            port,
            key,
            flows,
            others,
            local_ports: local_ports.unwrap_or_default(),
            namespace: netns,
            timeout: convert::seconds("timeout_s", timeout_s)?,
            max_wait: convert::seconds("max_wait_s", max_wait_s)?,
        };
        py.detach(|| ClientHandle::connect(&options)).map(PyClient).map_err(error)
    }

    /// Begins a run.
    fn start(&self, py: Python<'_>, segments: Vec<NativeSegment>, direction: &str) -> PyResult<()> {
        let (plan, direction) = (convert::plan(segments), convert::direction(direction)?);
        py.detach(|| self.0.start(&plan, direction)).map_err(error)
    }

    /// Who this client is to servers on other stations: the server's address, session, nonce, and a number for the next run.
    fn identity(&self, py: Python<'_>) -> PyResult<(String, u64, u64, u32)> {
        let identity = py.detach(|| self.0.identity()).map_err(error)?;
        let Identity { session, nonce, next_run } =
            identity.ok_or_else(|| error("the session is over: connect again"))?;
        Ok((self.0.server().to_string(), session, nonce, next_run))
    }

    /// Has the server join a flow of a session with another server, whose client has this identity.
    fn attend(
        &self,
        py: Python<'_>,
        server: &str,
        session: u64,
        nonce: u64,
        flow: u8,
    ) -> PyResult<()> {
        let wrong = |_| error(format!("{server:?} is not an address with a port"));
        let of = ForeignFlow { server: server.parse().map_err(wrong)?, session, nonce, flow };
        py.detach(|| self.0.attend(of)).map_err(error)
    }

    /// Has the server record a run, of this number, of the server whose session it attends.
    fn watch(&self, py: Python<'_>, segments: Vec<NativeSegment>, number: u32) -> PyResult<()> {
        let plan = convert::plan(segments);
        py.detach(|| self.0.watch(&plan, number)).map_err(error)
    }

    /// Has the server send the packets of its flow in a run, of this number, of the server whose session it attends.
    fn upload(&self, py: Python<'_>, segments: Vec<NativeSegment>, number: u32) -> PyResult<()> {
        let plan = convert::plan(segments);
        py.detach(|| self.0.upload(&plan, number)).map_err(error)
    }

    /// The run in which the server takes part is over: `finish` returns its records.
    fn conclude(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.conclude()).map_err(error)
    }

    /// The state and the progress of the run.
    fn poll(&self, py: Python<'_>) -> PollDict {
        let ((state, progress), times) = py.detach(|| (self.0.poll(), self.0.times()));
        let (state, reason) = match state {
            RunState::Running => ("running", None),
            RunState::Collecting => ("collecting", None),
            RunState::Done => ("done", None),
            RunState::Failed(reason) => ("failed", Some(reason)),
        };
        PollDict {
            state,
            reason,
            elapsed_s: progress.elapsed.as_secs_f64(),
            planned_s: progress.planned.as_secs_f64(),
            received: progress.received,
            lost: progress.lost,
            delay_s: progress.delay.map(|delay| delay.as_secs_f64()),
            waits_s: progress.waiting.map(|waiting| waiting.left.as_secs_f64()),
            runs_ahead: progress.waiting.map_or(0, |waiting| waiting.ahead),
            epoch_ns: times.and_then(|t| t.epoch).map(Time::as_nanos),
            started_ns: times.and_then(|t| t.started).map(Time::as_nanos),
        }
    }

    /// Opens TCP connections beside the run in progress: `down` in which the server sends, `up` in which this end does.
    fn load(&self, py: Python<'_>, down: u8, up: u8) -> PyResult<PyLoad> {
        py.detach(|| self.0.load(down, up)).map(PyLoad).map_err(error)
    }

    /// Stops the run at both ends.
    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.cancel()).map_err(error)
    }

    /// Waits for the end of the run and returns its records.
    fn finish<'py>(&self, py: Python<'py>, timeout_s: f64) -> PyResult<RunDict<'py>> {
        let timeout = convert::seconds("timeout_s", timeout_s)?;
        let run = py.detach(|| self.0.finish(timeout)).map_err(error)?;
        Ok(convert::run_to_dict(py, run))
    }

    /// The server's limits.
    fn limits(&self) -> LimitsDict {
        convert::limits_to_dict(self.0.limits())
    }

    /// Leaves the session.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }
}
