//! The server's thread of TCP connections that load a path: sockets only. Who may have one is decided by the
//! [`LoadTurn`] that comes from the thread of measured packets.

use super::bucket::Bucket;
use super::connection::{Active, CHUNK, Pending};
use super::tcp;
use crate::clock;
use crate::error::HostError;
use crate::netns;
use crate::wait::Waker;
use airqueue_core::{Span, Time};
use airqueue_probe::client::Direction;
use airqueue_probe::load::{ADMITTED, LoadFault, LoadRefusal, LoadTurn, REQUEST_LEN};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// A connection must have sent its request by then.
const REQUEST_BY: Span = Span::from_secs(2);
/// Connections without a whole request: twice as many as a run may have. A newcomer takes the place of the oldest, which
/// has had the longest time to send its request. Only peers at addresses of the run get this far.
const MAX_PENDING: usize = 64;
/// Connections accepted before others are served again.
const ACCEPTS: usize = 64;
/// Pause after the kernel could not accept (no file descriptors, no memory): the socket stays readable.
const ACCEPT_PAUSE: Span = Span::from_millis(100);

const LISTENER: u64 = 0;
const WAKE: u64 = 1;

/// Counters of the thread of a server's load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadStats {
    /// Connections admitted.
    pub admitted: u64,
    /// Connections reset or refused.
    pub refused: u64,
    /// Connections open now, without or with a request.
    pub open: u64,
}

#[derive(Debug, Default)]
struct Counters {
    admitted: AtomicU64,
    refused: AtomicU64,
    open: AtomicU64,
}

/// How the news of runs reaches the thread.
pub(crate) type News = (Sender<Option<LoadTurn>>, Arc<Waker>);

/// The thread of a server's load; it ends when its news end.
#[derive(Debug)]
pub(crate) struct LoadServer {
    counters: Arc<Counters>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl LoadServer {
    /// Listens at the address of the UDP socket.
    pub(crate) fn start(
        address: SocketAddr,
        namespace: Option<&Path>,
    ) -> Result<(LoadServer, News), HostError> {
        let listener = netns::within(namespace, || tcp::listener(address))?;
        let waker = Arc::new(
            Waker::new().map_err(|errno| HostError::system("make an event")(errno.into()))?,
        );
        let (sender, news) = channel();
        let counters = Arc::new(Counters::default());
        let thread = Loop::new(listener, Arc::clone(&waker), news, Arc::clone(&counters))
            .map_err(|errno| HostError::system("make an event loop")(errno.into()))?;
        let thread = std::thread::Builder::new()
            .name("airqueue-load".into())
            .spawn(move || thread.run())
            .map_err(HostError::system("start a thread"))?;
        Ok((LoadServer { counters, thread: Mutex::new(Some(thread)) }, (sender, waker)))
    }

    pub(crate) fn stats(&self) -> LoadStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let c = &self.counters;
        LoadStats { admitted: read(&c.admitted), refused: read(&c.refused), open: read(&c.open) }
    }

    /// Waits for the end of the thread, after the end of its news.
    pub(crate) fn join(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

struct Loop {
    listener: TcpListener,
    epoll: Epoll,
    waker: Arc<Waker>,
    news: Receiver<Option<LoadTurn>>,
    counters: Arc<Counters>,
    turn: Option<LoadTurn>,
    /// Of both directions, down and up.
    buckets: [Bucket; 2],
    pending: Vec<Pending>,
    active: Vec<Active>,
    next_id: u64,
    /// Nothing is accepted before.
    paused_until: Option<Time>,
    buffer: Vec<u8>,
}

impl Loop {
    fn new(
        listener: TcpListener,
        waker: Arc<Waker>,
        news: Receiver<Option<LoadTurn>>,
        counters: Arc<Counters>,
    ) -> Result<Loop, Errno> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(&listener, EpollEvent::new(EpollFlags::EPOLLIN, LISTENER))?;
        epoll.add(&*waker, EpollEvent::new(EpollFlags::EPOLLIN, WAKE))?;
        let bucket = Bucket::new(0, clock::monotonic());
        Ok(Loop {
            listener,
            epoll,
            waker,
            news,
            counters,
            turn: None,
            buckets: [bucket; 2],
            pending: Vec::new(),
            active: Vec::new(),
            next_id: WAKE + 1,
            paused_until: None,
            buffer: vec![0; CHUNK],
        })
    }

    /// Serves until the news end. If the kernel refuses to wait, nothing can be served: connections and listener close.
    fn run(mut self) {
        while self.turn().is_ok() {
            let open = self.pending.len() + self.active.len();
            self.counters.open.store(open as u64, Ordering::Relaxed);
        }
    }

    fn turn(&mut self) -> Result<(), ()> {
        let mut events = [EpollEvent::empty(); 64];
        let count = match self.epoll.wait(&mut events, self.timeout(clock::monotonic())) {
            Ok(count) => count,
            Err(Errno::EINTR) => 0,
            Err(_) => return Err(()),
        };
        let now = clock::monotonic();
        let ids: Vec<u64> = events[..count].iter().map(EpollEvent::data).collect();
        if ids.contains(&WAKE) {
            self.waker.clear();
        }
        // Before anything is admitted: a client may be as quick as the news.
        self.hear(now)?;
        if ids.contains(&LISTENER) {
            self.accept(now);
        }
        for id in ids {
            match self.active.iter_mut().find(|c| c.id == id) {
                Some(connection) => connection.ready = true,
                None => self.read_request(now, id),
            }
        }
        self.carry(clock::monotonic());
        self.expire(now);
        Ok(())
    }

    /// Takes the news; an error if there will be none any more.
    fn hear(&mut self, now: Time) -> Result<(), ()> {
        loop {
            match self.news.try_recv() {
                Ok(turn) => self.begin(now, turn),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(()),
            }
        }
    }

    /// Another run, or none: the connections of the last one are reset.
    fn begin(&mut self, now: Time, turn: Option<LoadTurn>) {
        self.active.clear();
        if let Some(turn) = &turn {
            let bucket = |direction| Bucket::new(turn.bits_per_s(direction), now);
            self.buckets = [bucket(Direction::Down), bucket(Direction::Up)];
        }
        self.turn = turn;
    }

    fn timeout(&self, now: Time) -> EpollTimeout {
        let mut next = self.paused_until;
        let mut at = |time: Time| next = Some(next.map_or(time, |n| n.min(time)));
        if let Some(oldest) = self.pending.first() {
            at(oldest.since + REQUEST_BY);
        }
        if let Some(turn) = self.turn.as_ref().filter(|_| !self.active.is_empty()) {
            at(turn.until());
        }
        for connection in self.active.iter().filter(|c| c.ready) {
            let mut bucket = self.buckets[side(connection.direction)];
            at(if bucket.allowance(now) > 0 { now } else { bucket.next() });
        }
        let Some(next) = next else { return EpollTimeout::NONE };
        // Rounded up: a wait that ends early would be a busy loop.
        let ms = (next - now).as_nanos().max(0) as u64;
        EpollTimeout::try_from(ms.div_ceil(1_000_000).min(60_000)).unwrap_or(EpollTimeout::ZERO)
    }

    fn accept(&mut self, now: Time) {
        for _ in 0..ACCEPTS {
            match tcp::accept(&self.listener) {
                Ok((stream, peer)) => self.welcome(now, stream, peer),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                // The peer has gone already.
                Err(e)
                    if matches!(
                        e.kind(),
                        ErrorKind::ConnectionAborted | ErrorKind::Interrupted
                    ) => {}
                Err(_) => return self.pause(now),
            }
        }
    }

    fn pause(&mut self, now: Time) {
        self.paused_until = Some(now + ACCEPT_PAUSE);
        self.listen(false);
    }

    fn listen(&self, on: bool) {
        let wanted = if on { EpollFlags::EPOLLIN } else { EpollFlags::empty() };
        let mut event = EpollEvent::new(wanted, LISTENER);
        // Modifying a known descriptor cannot fail; if it did, the pause would be a busy loop and no worse.
        let _ = self.epoll.modify(&self.listener, &mut event);
    }

    /// A new connection: kept until its request, if its peer is one of the run's.
    fn welcome(&mut self, now: Time, stream: TcpStream, peer: IpAddr) {
        let id = self.next_id;
        let expected = self.turn.as_ref().is_some_and(|turn| turn.is_peer(peer));
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLET;
        if !expected || self.epoll.add(&stream, EpollEvent::new(flags, id)).is_err() {
            return self.refuse();
        }
        self.next_id += 1;
        if self.pending.len() >= MAX_PENDING {
            self.pending.remove(0);
            self.refuse();
        }
        self.pending.push(Pending::new(id, stream, peer, now));
        self.read_request(now, id);
    }

    fn refuse(&self) {
        self.counters.refused.fetch_add(1, Ordering::Relaxed);
    }

    fn read_request(&mut self, now: Time, id: u64) {
        let Some(i) = self.pending.iter().position(|p| p.id == id) else { return };
        match self.pending[i].read() {
            Ok(None) => {}
            Ok(Some(request)) => {
                let pending = self.pending.remove(i);
                self.judge(now, pending, &request);
            }
            Err(_) => {
                self.pending.remove(i);
                self.refuse();
            }
        }
    }

    fn judge(&mut self, now: Time, pending: Pending, request: &[u8; REQUEST_LEN]) {
        let turn = self.turn.as_mut().ok_or(LoadFault::Stranger);
        let verdict = turn.and_then(|turn| turn.admit(now, pending.peer, request));
        let (direction, refusal) = match verdict {
            Err(LoadFault::Stranger) => return self.refuse(),
            Err(LoadFault::Refused(refusal)) => (Direction::Down, Some(refusal)),
            Ok(admitted) => (admitted.direction, None),
        };
        let mut connection = Active::new(pending.id, pending.stream, direction);
        let small = connection.has_small_segments().then_some(LoadRefusal::SmallSegments);
        let refusal = refusal.or(small);
        let answered = connection.answer(refusal.map_or(ADMITTED, |r| r as u8)).is_ok();
        match refusal {
            None if answered => {
                self.counters.admitted.fetch_add(1, Ordering::Relaxed);
                self.active.push(connection);
            }
            _ => {
                self.refuse();
                connection.part();
            }
        }
    }

    /// Every connection that is ready carries some bytes, within the rate of its direction. The first one takes turns,
    /// so that a small allowance does not always go to the same.
    fn carry(&mut self, now: Time) {
        let (buckets, buffer) = (&mut self.buckets, &mut self.buffer);
        self.active.retain_mut(|connection| {
            let bucket = &mut buckets[side(connection.direction)];
            let allowance = bucket.allowance(now);
            !connection.ready
                || allowance == 0
                || connection.carry(bucket, allowance, buffer).is_ok()
        });
        if !self.active.is_empty() {
            self.active.rotate_left(1);
        }
    }

    /// Ends what has lasted long enough.
    fn expire(&mut self, now: Time) {
        if self.turn.as_ref().is_some_and(|turn| now >= turn.until()) {
            self.active.clear();
        }
        let before = self.pending.len();
        self.pending.retain(|p| now < p.since + REQUEST_BY);
        (self.pending.len()..before).for_each(|_| self.refuse());
        if self.paused_until.take_if(|until| now >= *until).is_some() {
            self.listen(true);
        }
    }
}

fn side(direction: Direction) -> usize {
    usize::from(direction == Direction::Up)
}
