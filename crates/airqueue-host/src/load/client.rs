//! The client's load: a thread that opens connections beside a run, keeps them full, and records what they carry.

use super::flow::Flow;
use super::series::{LoadRow, LoadSeries, least_and_median};
use super::tcp;
use crate::client::ClientView;
use crate::clock;
use crate::error::HostError;
use crate::netns;
use crate::wait::Waker;
use airqueue_core::{Span, Time};
use airqueue_probe::client::Direction;
use airqueue_probe::load::{LoadGrant, MAX_CONNECTIONS};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// The interval of the records.
const INTERVAL: Span = Span::from_millis(100);
/// Time in which a connection must be admitted; TCP sends a lost SYN again after 1 s and 3 s (RFC 6298, section 2).
const OPEN_WITHIN: Span = Span::from_secs(5);
/// Connections that end this short before the last planned packet, or later, end with the run: the server closes them
/// when it has sent this packet.
const CLOSE_TO_END: Span = Span::from_millis(300);
/// Bytes moved in one call.
const BUFFER: usize = 256 << 10;

const WAKE: u64 = u64::MAX;

/// What a load is made from.
#[derive(Debug)]
pub(crate) struct LoadPlan {
    pub(crate) server: SocketAddr,
    pub(crate) grant: LoadGrant,
    pub(crate) down: u8,
    pub(crate) up: u8,
    pub(crate) view: Arc<ClientView>,
}

/// A load so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadProgress {
    /// Time since the load began.
    pub elapsed: Span,
    /// Bytes that arrived so far, without headers; at most one interval old.
    pub down_bytes: u64,
    /// Bytes acknowledged by the server so far, selectively too, without headers.
    pub up_bytes: u64,
    /// Connections that the server has not answered yet.
    pub opening: u8,
    /// Connections that carry the load.
    pub alive: u8,
    /// Whether the load has ended.
    pub ended: bool,
    /// Why the load ended before its run, unless it was stopped: what the last connection died of.
    pub failed: Option<String>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    progress: Mutex<LoadProgress>,
    series: Mutex<LoadSeries>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// TCP connections that load the path during a run. They end with the run, or when stopped or dropped.
#[derive(Debug)]
pub struct LoadHandle {
    shared: Arc<Shared>,
    waker: Arc<Waker>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl LoadHandle {
    pub(crate) fn start(plan: LoadPlan, namespace: Option<&Path>) -> Result<LoadHandle, HostError> {
        let count = u16::from(plan.down) + u16::from(plan.up);
        if !(1..=u16::from(MAX_CONNECTIONS)).contains(&count) {
            return Err(HostError::Request(format!(
                "a load of {count} connections: give 1 to {MAX_CONNECTIONS}, both directions together"
            )));
        }
        let refused = |errno: Errno| HostError::system("make an event loop")(errno.into());
        let waker = Arc::new(Waker::new().map_err(refused)?);
        let from = clock::monotonic();
        let flows = netns::within(namespace, || connect(&plan))?;
        let shared = Arc::new(Shared::default());
        let work = Loop::new(plan, from, flows, &waker, &shared).map_err(refused)?;
        let thread = std::thread::Builder::new()
            .name("airqueue-load".into())
            .spawn(move || work.run())
            .map_err(HostError::system("start a thread"))?;
        Ok(LoadHandle { shared, waker, thread: Mutex::new(Some(thread)) })
    }

    /// The load so far, at most 100 ms old.
    pub fn poll(&self) -> LoadProgress {
        lock(&self.shared.progress).clone()
    }

    /// Ends the load if it has not ended, and returns its records; again the same when called again.
    pub fn stop(&self) -> LoadSeries {
        self.shared.stop.store(true, Ordering::Release);
        self.waker.wake();
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
        lock(&self.shared.series).clone()
    }
}

impl Drop for LoadHandle {
    fn drop(&mut self) {
        self.stop();
    }
}

fn connect(plan: &LoadPlan) -> Result<Vec<Flow>, HostError> {
    let downs = (0..plan.down).map(|_| Direction::Down);
    let all = downs.chain((0..plan.up).map(|_| Direction::Up));
    // Indices are used once in a run; a second load of the same run begins at others.
    let first = plan.view.reserve(plan.grant.run(), plan.down + plan.up).ok_or_else(|| {
        HostError::Request(format!(
            "the loads of one run may have {MAX_CONNECTIONS} connections in all: begin another run"
        ))
    })?;
    all.zip(first..)
        .map(|(direction, index)| {
            let request = plan.grant.request(direction, index);
            Ok(Flow::new(tcp::begin_connect(plan.server)?, direction, index, request))
        })
        .collect()
}

struct Loop {
    plan: LoadPlan,
    flows: Vec<Flow>,
    epoll: Epoll,
    waker: Arc<Waker>,
    shared: Arc<Shared>,
    series: LoadSeries,
    /// What the last connection died of, if it died too early.
    failed: Option<String>,
    next_row: Time,
    /// Bytes so far, down and up.
    totals: [u64; 2],
    buffer: Vec<u8>,
}

impl Loop {
    fn new(
        plan: LoadPlan,
        from: Time,
        flows: Vec<Flow>,
        waker: &Arc<Waker>,
        shared: &Arc<Shared>,
    ) -> Result<Loop, Errno> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(&**waker, EpollEvent::new(EpollFlags::EPOLLIN, WAKE))?;
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLET;
        for (i, flow) in flows.iter().enumerate() {
            epoll.add(flow.stream(), EpollEvent::new(flags, i as u64))?;
        }
        let series = LoadSeries { from, ..LoadSeries::default() };
        lock(&shared.progress).opening = flows.len() as u8;
        Ok(Loop {
            plan,
            flows,
            epoll,
            waker: Arc::clone(waker),
            shared: Arc::clone(shared),
            series,
            failed: None,
            next_row: from + INTERVAL,
            totals: [0; 2],
            buffer: vec![0; BUFFER],
        })
    }

    fn run(mut self) {
        let mut now = clock::monotonic();
        while !self.is_over(now) && self.turn().is_ok() {
            now = clock::monotonic();
            if now >= self.next_row {
                self.record(now);
                // A thread that was late makes one long interval, not several empty ones.
                self.next_row = self.next_row.max(now - INTERVAL) + INTERVAL;
            }
        }
        self.finish(clock::monotonic());
    }

    fn is_over(&self, now: Time) -> bool {
        let stopped = self.shared.stop.load(Ordering::Acquire);
        let died = self.flows.iter().all(Flow::is_dead);
        stopped || died || now >= self.plan.grant.ends() || !self.run_goes_on()
    }

    fn run_goes_on(&self) -> bool {
        self.plan.view.is_active(self.plan.grant.run())
    }

    fn turn(&mut self) -> Result<(), Errno> {
        let now = clock::monotonic();
        let busy = self.flows.iter().any(Flow::is_ready);
        let next = if busy { now } else { self.next_row.min(self.plan.grant.ends()) };
        let ms = ((next - now).as_nanos().max(0) as u64).div_ceil(1_000_000);
        let timeout = EpollTimeout::try_from(ms.min(1000)).unwrap_or(EpollTimeout::ZERO);
        let mut events = [EpollEvent::empty(); MAX_CONNECTIONS as usize + 1];
        let count = match self.epoll.wait(&mut events, timeout) {
            Ok(count) => count,
            Err(Errno::EINTR) => 0,
            Err(errno) => return Err(errno),
        };
        for event in &events[..count] {
            match self.flows.get_mut(event.data() as usize) {
                Some(flow) => flow.wake(),
                None => self.waker.clear(),
            }
        }
        let now = clock::monotonic();
        for i in 0..self.flows.len() {
            let flow = &mut self.flows[i];
            let mut died = flow.advance(&mut self.buffer);
            if flow.is_opening() && now >= self.series.from + OPEN_WITHIN {
                died = Some(flow.give_up());
            }
            if let Some(reason) = died {
                self.note_death(now, i, &reason);
            }
        }
        Ok(())
    }

    /// A connection has ended: as planned, or too early.
    fn note_death(&mut self, now: Time, i: usize, reason: &str) {
        self.series.retransmitted += self.flows[i].retransmitted();
        let ended = now + CLOSE_TO_END >= self.plan.grant.ends() || !self.run_goes_on();
        self.failed = None;
        if !ended || !self.flows[i].had_begun() {
            let (index, after) = (self.flows[i].index(), (now - self.series.from).as_secs_f64());
            let name = match self.flows[i].direction() {
                Direction::Down => "download",
                Direction::Up => "upload",
            };
            let text = format!("connection {index} ({name}), after {after:.1} s: {reason}");
            self.failed = Some(text.clone());
            self.series.died.push(text);
        }
    }

    fn record(&mut self, now: Time) {
        let before = lock(&self.shared.progress).clone();
        for flow in &mut self.flows {
            let total = match flow.direction() {
                Direction::Down => &mut self.totals[0],
                Direction::Up => &mut self.totals[1],
            };
            *total += flow.carried();
        }
        let of = |direction| self.flows.iter().filter(move |f| f.direction() == direction);
        let row = LoadRow {
            at: now,
            down_bytes: self.totals[0] - before.down_bytes,
            up_bytes: self.totals[1] - before.up_bytes,
            down_rtt_ns: least_and_median(of(Direction::Down).filter_map(Flow::rtt_us)),
            up_rtt_ns: least_and_median(of(Direction::Up).filter_map(Flow::rtt_us)),
            alive: self.flows.iter().filter(|f| f.is_alive()).count() as u8,
        };
        self.series.rows.push(row);
        *lock(&self.shared.progress) = LoadProgress {
            elapsed: now - self.series.from,
            down_bytes: self.totals[0],
            up_bytes: self.totals[1],
            opening: self.flows.iter().filter(|f| f.is_opening()).count() as u8,
            alive: row.alive,
            ended: false,
            failed: None,
        };
    }

    /// The last, shorter interval; then the connections are reset.
    fn finish(mut self, now: Time) {
        self.record(now);
        let dead = self.flows.iter().all(Flow::is_dead);
        let living = self.flows.iter().filter(|f| !f.is_dead());
        self.series.retransmitted += living.map(Flow::retransmitted).sum::<u64>();
        let failed = self.failed.take().filter(|_| dead);
        self.flows.clear();
        *lock(&self.shared.series) = std::mem::take(&mut self.series);
        let mut progress = lock(&self.shared.progress);
        (progress.ended, progress.failed) = (true, failed);
        (progress.opening, progress.alive) = (0, 0);
    }
}
