//! Round-trip times to several targets at once: a thread of its own, which sends probes and reads answers until it is
//! stopped. docs/echo.md describes the methods.

mod connecting;
mod hops;
mod run;
mod sockets;

pub use hops::{Hop, first_hops};

use crate::client::{random, resolve};
use crate::clock;
use crate::error::{HostError, words};
use crate::netns;
use crate::wait::{Waker, prefer_this_thread};
use airqueue_core::Span;
use airqueue_probe::echo::pace::Pace;
use airqueue_probe::echo::prober::{Prober, Target};
use airqueue_probe::echo::series::Series;
use airqueue_probe::echo::{MOST_PROBES, MOST_TARGETS, Method};
use run::{Channel, Loop};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The shortest and the longest interval between probes of a target.
const INTERVALS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(60));

/// A target as the user names it.
#[derive(Clone, Debug)]
pub struct EchoTarget {
    /// What the target is called in results.
    pub name: String,
    /// Name or IP address.
    pub host: String,
    /// How it is probed.
    pub method: Method,
}

/// What to probe.
#[derive(Clone, Debug)]
pub struct EchoOptions {
    /// The targets; their names differ.
    pub targets: Vec<EchoTarget>,
    /// Time between the probes of a target, where its method allows this pace.
    pub interval: Duration,
    /// Network namespace to probe from.
    pub namespace: Option<PathBuf>,
}

/// The state of a target.
#[derive(Clone, Debug)]
pub struct EchoState {
    /// The target.
    pub target: EchoTarget,
    /// The address that is probed; `None` if it is not known.
    pub address: Option<IpAddr>,
    /// Probes sent.
    pub sent: u64,
    /// Probes answered.
    pub answered: u64,
    /// The round trip of the last answer.
    pub last_round_trip: Option<Span>,
    /// Who answered last.
    pub answered_by: Option<IpAddr>,
    /// Whether the host itself has answered, and not only a router.
    pub from_host: bool,
    /// Probes that the kernel did not take.
    pub refused: u64,
    /// The kernel's words about the last of them.
    pub refusal: Option<String>,
    /// Times at which a probe was due and none was sent.
    pub skipped: u64,
    /// Why the target is not probed, or no longer.
    pub failed: Option<String>,
}

/// What the loop and the handle share.
#[derive(Debug)]
struct Shared {
    prober: Prober,
    /// For each target of the prober why the kernel did not take a probe.
    refusals: Vec<Option<String>>,
    /// Why the loop has ended by itself.
    ended: Option<String>,
}

type Common = Arc<Mutex<Shared>>;

fn lock(common: &Common) -> MutexGuard<'_, Shared> {
    common.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Probes targets until it is stopped or dropped.
#[derive(Debug)]
pub struct EchoesHandle {
    targets: Vec<(EchoTarget, Opened)>,
    common: Common,
    stop: Arc<AtomicBool>,
    waker: Arc<Waker>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What became of a target at the start: its place in the prober, or why it is not there.
type Opened = Result<usize, String>;

/// What the thread reports once all targets are open.
type Start = (Vec<Opened>, Common);

impl EchoesHandle {
    /// Opens the targets and starts probing; fails if no target can be probed.
    pub fn start(options: &EchoOptions) -> Result<EchoesHandle, HostError> {
        check(options)?;
        let waker = Waker::new().map_err(|e| HostError::system("make an event loop")(e.into()))?;
        let (waker, stop) = (Arc::new(waker), Arc::new(AtomicBool::new(false)));
        let (theirs, stopped) = (Arc::clone(&waker), Arc::clone(&stop));
        let (tell, told) = sync_channel::<Result<Start, HostError>>(1);
        let asked = options.clone();
        let work = move || {
            let done = netns::within(asked.namespace.as_deref(), || {
                let (opened, mut driver) = open(&asked, theirs)?;
                let _ = tell.send(Ok((opened, driver.common())));
                prefer_this_thread();
                driver.run(&stopped);
                Ok(())
            });
            if let Err(error) = done {
                let _ = tell.send(Err(error));
            }
        };
        let thread = std::thread::Builder::new()
            .name("airqueue-echo".into())
            .spawn(work)
            .map_err(HostError::system("start a thread"))?;
        let (opened, common) = told.recv().map_err(|_| HostError::Closed)??;
        let targets = options.targets.iter().cloned().zip(opened).collect();
        Ok(EchoesHandle { targets, common, stop, waker, thread: Mutex::new(Some(thread)) })
    }

    /// The state of each target, in the order of the options.
    pub fn poll(&self) -> Vec<EchoState> {
        let shared = lock(&self.common);
        self.targets.iter().map(|(target, opened)| state(&shared, target, opened)).collect()
    }

    /// State and probes of each target from the start on; of one that was never probed no probes.
    pub fn take(&self) -> Vec<(EchoState, Series)> {
        let shared = lock(&self.common);
        let one = |(target, opened): &(EchoTarget, Opened)| {
            let series = opened.as_ref().map(|&i| shared.prober.series(i).clone());
            (state(&shared, target, opened), series.unwrap_or_default())
        };
        self.targets.iter().map(one).collect()
    }

    /// Ends the probing; what is known stays.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.waker.wake();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for EchoesHandle {
    fn drop(&mut self) {
        self.stop();
    }
}

fn state(shared: &Shared, target: &EchoTarget, opened: &Opened) -> EchoState {
    let none = Series::default();
    let place = opened.as_ref().ok().copied();
    let series = place.map_or(&none, |i| shared.prober.series(i));
    let full = series.is_full().then(|| {
        format!("{MOST_PROBES} probes were sent, the most that are kept: start again for more")
    });
    EchoState {
        target: target.clone(),
        address: place.and_then(|i| Some(shared.prober.targets().nth(i)?.address.ip())),
        sent: series.sent_ns().len() as u64,
        answered: series.answered(),
        last_round_trip: series.last_round_trip(),
        answered_by: series.answered_by,
        from_host: series.from_host,
        refused: place.map_or(0, |i| shared.prober.refused(i)),
        refusal: place.and_then(|i| shared.refusals[i].clone()),
        skipped: place.map_or(0, |i| shared.prober.skipped(i)),
        failed: opened.as_ref().err().cloned().or_else(|| shared.ended.clone()).or(full),
    }
}

fn check(options: &EchoOptions) -> Result<(), HostError> {
    let fault = |text: String| Err(HostError::Request(text));
    let count = options.targets.len();
    if count == 0 || count > MOST_TARGETS {
        return fault(format!("{count} targets were given: give 1 to {MOST_TARGETS}"));
    }
    let (least, most) = INTERVALS;
    if options.interval < least || options.interval > most {
        let (least, most) = (least.as_secs_f64(), most.as_secs());
        let found = options.interval.as_secs_f64();
        return fault(format!("the interval is {found} s: give {least} to {most} s"));
    }
    for (i, target) in options.targets.iter().enumerate() {
        let name = &target.name;
        if options.targets[..i].iter().any(|other| other.name == *name) {
            return fault(format!("two targets are called {name:?}: give each a name of its own"));
        }
        match target.method {
            Method::Hop(0) => return fault(format!("hops of {name:?} is 0: give 1 to 255")),
            Method::Udp(Some(0)) | Method::Tcp(0) | Method::Server(0) => {
                return fault(format!("the port of {name:?} is 0: give 1 to 65535"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Opens all targets that can be opened.
fn open(options: &EchoOptions, waker: Arc<Waker>) -> Result<(Vec<Opened>, Loop), HostError> {
    let seeds = random()?;
    let mut channels = Vec::new();
    let mut opened: Vec<Result<(SocketAddr, Channel), String>> = Vec::new();
    for (i, target) in options.targets.iter().enumerate() {
        let id = u16::from_be_bytes([seeds[2 * i % 32], seeds[(2 * i + 1) % 32]]);
        opened.push(open_target(&target.host, target.method, id));
    }
    if opened.iter().all(Result::is_err) {
        let reasons = options.targets.iter().zip(&opened);
        let reasons =
            reasons.filter_map(|(t, o)| Some(format!("{}: {}", t.name, o.as_ref().err()?)));
        let reasons: Vec<String> = reasons.collect();
        return Err(HostError::Request(format!("no target can be probed: {}", reasons.join("; "))));
    }
    let start = clock::monotonic();
    let count = opened.iter().filter(|o| o.is_ok()).count();
    let wanted = Span::from_nanos(options.interval.as_nanos() as i64);
    let mut targets = Vec::new();
    let mut places = Vec::new();
    for (named, outcome) in options.targets.iter().zip(opened) {
        places.push(outcome.map(|(address, channel)| {
            let method = named.method;
            let pace = Pace::interleaved(start, method.pace(wanted), targets.len(), count);
            targets.push(Target { method, address, id: channel.id(), pace });
            channels.push(channel);
            targets.len() - 1
        }));
    }
    Ok((places, Loop::new(Prober::new(targets, random()?), channels, waker)))
}

/// Opens the first address of a host for which that is possible.
fn open_target(host: &str, method: Method, id: u16) -> Result<(SocketAddr, Channel), String> {
    let addresses = resolve(host, 0, None).map_err(|error| error.to_string())?;
    let mut reason = String::new();
    for address in addresses {
        match Channel::open(method, address, id) {
            Ok(channel) => return Ok((address, channel)),
            Err(error) => reason = error,
        }
    }
    Err(reason)
}

/// Why an address cannot be probed.
fn cannot(address: SocketAddr, error: nix::errno::Errno) -> String {
    let reason = words(&error.into());
    format!("cannot reach {}: {reason}; check the address and this machine's network", address.ip())
}
