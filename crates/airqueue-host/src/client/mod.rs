//! The client as a blocking handle: a thread drives `airqueue_probe::client::Client` over sockets.

mod session;
mod view;

use crate::clock;
use crate::driver::{Driver, DriverStats};
use crate::error::{HostError, words};
use crate::load::{LoadHandle, LoadPlan};
use crate::netns;
use crate::socket::UdpPort;
use crate::wait::Waker;
use airqueue_core::Span;
use airqueue_probe::client::{
    Client, ClientConfig, ClientState, Direction, Identity, Progress, RunTimes,
};
use airqueue_probe::limits::Limits;
use airqueue_probe::plan::Plan;
use airqueue_probe::records::Run;
use airqueue_probe::wire::ForeignFlow;
use session::{Command, Session};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use view::{Shared, View};

pub(crate) use view::Shared as ClientView;

/// Most addresses of a name that are tried.
const ADDRESSES: usize = 4;

/// The options of a client.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Name or IP address of the server's host.
    pub host: String,
    /// Its UDP port.
    pub port: u16,
    /// Shared key.
    pub key: Option<Vec<u8>>,
    /// Number of flows, each from a port of its own.
    pub flows: u8,
    /// How many of the flows, the last ones, are those of other stations.
    pub others: u8,
    /// Local ports of the flows in order; 0, or none given for a flow: any free one.
    pub local_ports: Vec<u16>,
    /// Network namespace to open the sockets in.
    pub namespace: Option<PathBuf>,
    /// How long to wait for the server's first reply.
    pub timeout: Duration,
    /// Longest wait for the first turn, where other clients measure with the server.
    pub max_wait: Duration,
}

/// The state of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunState {
    /// Being agreed on, or in progress.
    Running,
    /// Over; the records are being fetched.
    Collecting,
    /// The records are here.
    Done,
    /// Given up, and why.
    Failed(String),
}

/// A session with a server.
#[derive(Debug)]
pub struct ClientHandle {
    server: SocketAddr,
    limits: Limits,
    namespace: Option<PathBuf>,
    commands: Sender<Command>,
    waker: Arc<Waker>,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl ClientHandle {
    /// Resolves the host and opens a session with the first of its addresses that answers.
    pub fn connect(options: &ClientOptions) -> Result<ClientHandle, HostError> {
        check(options)?;
        let namespace = options.namespace.as_deref();
        let addresses = resolve(&options.host, options.port, namespace)?;
        let end = Instant::now() + options.timeout;
        let mut last = None;
        for (i, server) in addresses.iter().enumerate() {
            let left = end.saturating_duration_since(Instant::now());
            match Self::connect_to(options, *server, left / (addresses.len() - i) as u32) {
                Ok(handle) => return Ok(handle),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or(HostError::Closed))
    }

    fn connect_to(
        options: &ClientOptions,
        server: SocketAddr,
        patience: Duration,
    ) -> Result<ClientHandle, HostError> {
        let config = ClientConfig {
            server,
            key: options.key.clone(),
            flows: options.flows,
            others: options.others,
            entropy: random()?,
            max_wait: span(options.max_wait),
        };
        let ports = open_ports(options, server)?;
        let driver = Driver::new(Client::new(config, clock::monotonic()), ports)?;
        let waker = driver.waker();
        let shared = Arc::new(Shared {
            view: Mutex::new(View::new()),
            changed: Condvar::new(),
            loads: Mutex::default(),
        });
        let (commands, inbox) = channel();
        let session = Session::new(driver, inbox, Arc::clone(&shared));
        let thread = std::thread::Builder::new()
            .name("airqueue-client".into())
            .spawn(move || session.run())
            .map_err(HostError::system("start a thread"))?;
        let limits = Limits::default();
        let thread = Mutex::new(Some(thread));
        let namespace = options.namespace.clone();
        let mut handle =
            ClientHandle { server, limits, namespace, commands, waker, shared, thread };
        handle.limits = handle.await_ready(patience)?;
        Ok(handle)
    }

    fn await_ready(&self, patience: Duration) -> Result<Limits, HostError> {
        let end = Instant::now() + patience;
        let mut view = self.shared.lock();
        loop {
            match &view.state {
                ClientState::Failed(error) => return Err(error.clone().into()),
                ClientState::Closed => return Err(HostError::Closed),
                ClientState::Connecting => {}
                _ => return Ok(view.limits.unwrap_or_default()),
            }
            if let Some(reason) = &view.ended {
                return Err(HostError::Request(reason.clone()));
            }
            if let Some(error) = view.unreachable(self.server) {
                return Err(error);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let seconds = patience.as_secs_f64();
                let seconds = (seconds * 10.0).round() / 10.0;
                return Err(HostError::NoAnswer { server: self.server, seconds });
            }
            let waited = self.shared.changed.wait_timeout(view, left);
            view = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The server's address.
    pub fn server(&self) -> SocketAddr {
        self.server
    }

    /// The server's limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The event loop's counters.
    pub fn transport(&self) -> DriverStats {
        self.shared.lock().transport
    }

    /// Begins a run.
    pub fn start(&self, plan: &Plan, direction: Direction) -> Result<(), HostError> {
        self.view_no_run();
        let (reply, answer) = sync_channel(1);
        self.command(Command::Start(plan.clone(), direction, reply))?;
        Ok(answer.recv().map_err(|_| self.end())??)
    }

    /// Who this client is to servers on other stations; `None` once its session is over.
    pub fn identity(&self) -> Result<Option<Identity>, HostError> {
        let (reply, answer) = sync_channel(1);
        self.command(Command::Identity(reply))?;
        answer.recv().map_err(|_| self.end())
    }

    /// Has the server join a flow of a session with another server, and waits until it has.
    pub fn attend(&self, of: ForeignFlow) -> Result<(), HostError> {
        let (reply, answer) = sync_channel(1);
        self.command(Command::Attend(of, reply))?;
        answer.recv().map_err(|_| self.end())??;
        let mut view = self.shared.lock();
        loop {
            match &view.state {
                ClientState::Failed(error) => return Err(error.clone().into()),
                ClientState::Closed => return Err(HostError::Closed),
                _ if view.attends => return Ok(()),
                _ => {}
            }
            if view.ended.is_some() {
                drop(view);
                return Err(self.end());
            }
            // The client gives up by its own clock.
            view = self.shared.changed.wait(view).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Has the server record a run, of this number, of the server whose session it attends. [`Self::times`] tells when the
    /// record has begun; the other server must begin within eight seconds of that.
    pub fn watch(&self, plan: &Plan, number: u32) -> Result<(), HostError> {
        self.view_no_run();
        let (reply, answer) = sync_channel(1);
        self.command(Command::Watch(plan.clone(), number, reply))?;
        Ok(answer.recv().map_err(|_| self.end())??)
    }

    /// Has the server send the packets of its flow in a run, of this number, of the server whose session it attends; otherwise as
    /// [`Self::watch`].
    pub fn upload(&self, plan: &Plan, number: u32) -> Result<(), HostError> {
        self.view_no_run();
        let (reply, answer) = sync_channel(1);
        self.command(Command::Upload(plan.clone(), number, reply))?;
        Ok(answer.recv().map_err(|_| self.end())??)
    }

    /// The run in which the server takes part is over: `finish` collects its records.
    pub fn conclude(&self) -> Result<(), HostError> {
        self.command(Command::Conclude)
    }

    /// The state and the progress of the run.
    pub fn poll(&self) -> (RunState, Progress) {
        let view = self.shared.lock();
        (view.run_state(), view.progress)
    }

    /// Where the times of the present or last run lie on `CLOCK_MONOTONIC`; `None` before the first run.
    pub fn times(&self) -> Option<RunTimes> {
        self.shared.lock().times
    }

    /// Opens TCP connections beside the run in progress, `down` in which the server sends and `up` in which this end
    /// sends, as fast as TCP can. They end with the run.
    pub fn load(&self, down: u8, up: u8) -> Result<LoadHandle, HostError> {
        let (reply, answer) = sync_channel(1);
        self.command(Command::Load(reply))?;
        let Some(grant) = answer.recv().map_err(|_| self.end())? else {
            let text = "a load needs a run in progress: start one, and wait for its turn";
            return Err(HostError::Request(text.into()));
        };
        let (server, view) = (self.server, Arc::clone(&self.shared));
        let namespace = self.namespace.as_deref();
        LoadHandle::start(LoadPlan { server, grant, down, up, view }, namespace)
    }

    /// Stops the run at both ends; `finish` then collects the records so far.
    pub fn cancel(&self) -> Result<(), HostError> {
        self.command(Command::Cancel)
    }

    /// Waits for the end of the run and takes its records.
    pub fn finish(&self, timeout: Duration) -> Result<Run, HostError> {
        let end = Instant::now() + timeout;
        let mut view = self.shared.lock();
        loop {
            if let Some(run) = view.run.take() {
                return check_sent(run, &view.transport);
            }
            match &view.state {
                ClientState::Failed(error) => return Err(error.clone().into()),
                ClientState::Closed => return Err(HostError::Closed),
                ClientState::Ready => {
                    return Err(HostError::Request("no run was started".into()));
                }
                ClientState::Connecting | ClientState::Running | ClientState::Collecting => {}
            }
            if view.ended.is_some() {
                drop(view);
                return Err(self.end());
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let seconds = timeout.as_secs_f64();
                return Err(HostError::Request(format!(
                    "the run with {} did not end within {seconds} s; give it longer, or cancel it",
                    self.server
                )));
            }
            let waited = self.shared.changed.wait_timeout(view, left);
            view = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Leaves the session and ends the thread.
    pub fn close(&self) {
        // If the thread has ended already, nobody reads commands.
        let _ = self.command(Command::Close);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    /// Until the thread takes the command of a new run, the view must not show an earlier run's end.
    fn view_no_run(&self) {
        self.shared.lock().run = None;
    }

    fn command(&self, command: Command) -> Result<(), HostError> {
        self.commands.send(command).map_err(|_| self.end())?;
        self.waker.wake();
        Ok(())
    }

    fn end(&self) -> HostError {
        match &self.shared.lock().ended {
            Some(reason) if !reason.is_empty() => HostError::Request(reason.clone()),
            _ => HostError::Closed,
        }
    }
}

impl Drop for ClientHandle {
    fn drop(&mut self) {
        self.close();
    }
}

/// A run of which the sender's own host refused every packet is an error.
fn check_sent(run: Run, transport: &DriverStats) -> Result<Run, HostError> {
    let attempted = run.records.sent_ns.len() as u64;
    if attempted == 0 || run.host.send_blocked < attempted {
        return Ok(run);
    }
    let reason = match transport.send_error {
        Some(errno) => words(&io::Error::from_raw_os_error(errno)),
        None => "its kernel refused all of them".into(),
    };
    Err(HostError::Request(format!(
        "the sending host could not send a single packet of the run: {reason}; check its route, and the packet size against its interface's MTU"
    )))
}

fn check(options: &ClientOptions) -> Result<(), HostError> {
    let refuse = |text: String| Err(HostError::Request(text));
    if !(1..=16).contains(&options.flows) {
        return refuse(format!("{} flows: give 1 to 16", options.flows));
    }
    if options.others >= options.flows {
        return refuse(format!(
            "all {} flows are of other stations: one must be of this",
            options.flows
        ));
    }
    if options.local_ports.len() > usize::from(options.flows) {
        let given = options.local_ports.len();
        return refuse(format!("{given} local ports for {} flows: give one each", options.flows));
    }
    Ok(())
}

fn open_ports(options: &ClientOptions, server: SocketAddr) -> Result<Vec<UdpPort>, HostError> {
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let namespace = options.namespace.as_deref();
    (0..usize::from(options.flows - options.others))
        .map(|i| options.local_ports.get(i).copied().unwrap_or(0))
        .map(|port| UdpPort::open(SocketAddr::new(any, port), namespace))
        .collect()
}

/// The addresses of a host, in the resolver's order, as seen from a namespace.
pub(crate) fn resolve(
    host: &str,
    port: u16,
    namespace: Option<&Path>,
) -> Result<Vec<SocketAddr>, HostError> {
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    let failed = |reason: &str| HostError::Resolve { host: host.to_owned(), reason: reason.into() };
    if bare.is_empty() {
        return Err(failed("it is empty"));
    }
    netns::within(namespace, || {
        let found = (bare, port).to_socket_addrs().map_err(|e| {
            let text = words(&e);
            failed(text.rsplit(": ").next().unwrap_or(&text))
        })?;
        let mut addresses: Vec<SocketAddr> = found.take(ADDRESSES).collect();
        addresses.dedup();
        if addresses.is_empty() { Err(failed("it has no address")) } else { Ok(addresses) }
    })
}

/// A duration on the endpoints' clock, which bounds it.
fn span(duration: Duration) -> Span {
    // Far from the ends of the range, so that sums of times do not overflow.
    const LONGEST: Duration = Duration::from_secs(1_000_000);
    Span::from_nanos(duration.min(LONGEST).as_nanos() as i64)
}

/// Fresh random bytes.
pub(crate) fn random() -> Result<[u8; 32], HostError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| HostError::system("give random bytes")(error.into()))?;
    Ok(bytes)
}
