//! The server as a blocking handle: a thread drives `airqueue_probe::server::Server` over a socket.

use crate::client::random;
use crate::clock;
use crate::driver::{Driver, DriverStats};
use crate::error::HostError;
use crate::load::{LoadServer, LoadStats, News, Offering};
use crate::socket::UdpPort;
use crate::wait::{Waker, prefer_this_thread};
use airqueue_core::{Span, Time};
use airqueue_probe::limits::Limits;
use airqueue_probe::server::{Server, ServerConfig, ServerStats};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// How often the handle's counters are updated.
const SHOW_EVERY: Span = Span::from_millis(50);
/// Free ports that are tried for both UDP and TCP.
const PORTS: usize = 8;

/// The options of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Address to listen on; `None`: every address, IPv6 and IPv4.
    pub bind: Option<IpAddr>,
    /// UDP port; 0: any free one.
    pub port: u16,
    /// Shared key that clients must know.
    pub key: Option<Vec<u8>>,
    /// The server's limits.
    pub limits: Limits,
    /// Network namespace to open the sockets in.
    pub namespace: Option<PathBuf>,
    /// Whether clients may load the path by TCP connections to the same port.
    pub tcp: bool,
    /// Other servers in whose sessions clients may make this host take part; each may then flood it.
    pub attends: Vec<IpAddr>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    shown: Mutex<Shown>,
}

#[derive(Clone, Debug, Default)]
struct Shown {
    server: ServerStats,
    transport: DriverStats,
    failed: Option<String>,
}

/// A server that runs until it is stopped or dropped.
#[derive(Debug)]
pub struct ServerHandle {
    local: SocketAddr,
    shared: Arc<Shared>,
    waker: Arc<Waker>,
    thread: Mutex<Option<JoinHandle<()>>>,
    load: Option<LoadServer>,
    no_tcp: Option<String>,
}

impl ServerHandle {
    /// Opens the socket and starts serving.
    pub fn start(options: &ServerOptions) -> Result<ServerHandle, HostError> {
        let Opened { port, load, no_tcp } = open(options)?;
        let local = port.local_address();
        let (load, news) = load.unzip();
        let config = ServerConfig {
            key: options.key.clone(),
            limits: options.limits,
            secret: random()?,
            attends: options.attends.iter().map(IpAddr::to_canonical).collect(),
        };
        let driver = Driver::new(Offering::new(Server::new(config), news), vec![port])?;
        let waker = driver.waker();
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("airqueue-server".into())
            .spawn(move || serve(driver, &theirs))
            .map_err(HostError::system("start a thread"))?;
        let thread = Mutex::new(Some(thread));
        Ok(ServerHandle { local, shared, waker, thread, load, no_tcp })
    }

    /// The address that the server listens on.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// The server's counters, at most 50 ms old once something moves.
    pub fn stats(&self) -> ServerStats {
        self.shown().server
    }

    /// The event loop's counters.
    pub fn transport(&self) -> DriverStats {
        self.shown().transport
    }

    /// Why the server offers no TCP load although it was asked to, if so. Everything else works.
    pub fn no_tcp(&self) -> Option<&str> {
        self.no_tcp.as_deref()
    }

    /// Counters of the TCP load; zeros where there is none.
    pub fn load_stats(&self) -> LoadStats {
        self.load.as_ref().map(LoadServer::stats).unwrap_or_default()
    }

    /// Why the server stopped by itself, if it has.
    pub fn failure(&self) -> Option<String> {
        self.shown().failed
    }

    fn shown(&self) -> Shown {
        self.shared.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the server; clients notice the silence.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Release);
        self.waker.wake();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
        // Its news ended with that thread.
        if let Some(load) = &self.load {
            load.join();
        }
    }
}

impl Drop for ServerHandle {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The sockets of a server.
struct Opened {
    port: UdpPort,
    load: Option<(LoadServer, News)>,
    no_tcp: Option<String>,
}

/// Opens the UDP port, and the TCP port of the same number if that is possible.
fn open(options: &ServerOptions) -> Result<Opened, HostError> {
    let namespace = options.namespace.as_deref();
    // Any free UDP port may be one whose TCP port is taken.
    let attempts = if options.port == 0 { PORTS } else { 1 };
    let mut last = None;
    for _ in 0..attempts {
        let port = match options.bind {
            Some(ip) => UdpPort::open(SocketAddr::new(ip, options.port), namespace)?,
            None => UdpPort::open_any(options.port, namespace)?,
        };
        if !options.tcp {
            return Ok(Opened { port, load: None, no_tcp: None });
        }
        match LoadServer::start(port.local_address(), namespace) {
            Ok(load) => return Ok(Opened { port, load: Some(load), no_tcp: None }),
            Err(error) => last = Some(Opened { port, load: None, no_tcp: Some(error.to_string()) }),
        }
    }
    last.ok_or(HostError::Closed)
}

fn serve(mut driver: Driver<Offering>, shared: &Shared) {
    prefer_this_thread();
    let mut shown_at = Time::ZERO;
    while !shared.stop.load(Ordering::Acquire) {
        let result = driver.turn();
        let now = clock::monotonic();
        let idle = driver.endpoint().server().stats().sessions == 0;
        if now >= shown_at + SHOW_EVERY || idle || result.is_err() {
            shown_at = now;
            let server = driver.endpoint().server().stats();
            let transport = driver.stats();
            let mut shown = shared.shown.lock().unwrap_or_else(PoisonError::into_inner);
            *shown =
                Shown { server, transport, failed: result.as_ref().err().map(ToString::to_string) };
        }
        if result.is_err() {
            return;
        }
    }
}
