//! The loop: sends what is due, and reads what has arrived.

use super::connecting::{Connecting, Outcome};
use super::sockets::Port;
use super::{Common, Shared, lock};
use crate::clock::{self, ClockSample, StampMapper};
use crate::error::words;
use crate::mmsg::{Datagram, ReceiveBatch};
use crate::wait::Waker;
use airqueue_core::Time;
use airqueue_probe::echo::Method;
use airqueue_probe::echo::message::after_ipv4_header;
use airqueue_probe::echo::prober::{IcmpError, Probe, Prober};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::{TimeSpec, TimeValLike};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Datagrams read by one system call, and their size: an answer repeats a probe, an ICMP error quotes it.
const BATCH: (usize, usize) = (32, 512);
/// Batches read from one socket before the next one is read.
const BATCHES: usize = 4;
/// Probes sent before arrivals are read again.
const MOST_AT_ONCE: usize = 16;

/// How a target is reached.
#[derive(Debug)]
pub(super) enum Channel {
    Socket(Port),
    Connections(Connecting),
}

impl Channel {
    /// Opens what a method needs.
    pub(super) fn open(method: Method, to: SocketAddr, id: u16) -> Result<Channel, String> {
        let port = Port::open(method, to, id)?;
        // Of TCP only the route was to be seen: each probe has a socket of its own.
        Ok(match method {
            Method::Tcp(_) => Channel::Connections(Connecting::default()),
            _ => Channel::Socket(port),
        })
    }

    /// The identifier of its ICMP echo requests.
    pub(super) fn id(&self) -> u16 {
        if let Channel::Socket(port) = self { port.id } else { 0 }
    }

    fn descriptors<'a>(&'a self, out: &mut Vec<PollFd<'a>>) -> usize {
        let before = out.len();
        match self {
            Channel::Socket(port) => out.push(PollFd::new(port.as_fd(), PollFlags::POLLIN)),
            Channel::Connections(all) => {
                out.extend(all.descriptors().map(|fd| PollFd::new(fd, PollFlags::POLLOUT)));
            }
        }
        out.len() - before
    }
}

/// Probes over sockets on the wall clock.
pub(super) struct Loop {
    common: Common,
    channels: Vec<Channel>,
    waker: Arc<Waker>,
    batch: ReceiveBatch,
    mapper: StampMapper,
    bytes: Vec<u8>,
}

impl Loop {
    /// The prober's target `i` is reached by `channels[i]`.
    pub(super) fn new(prober: Prober, channels: Vec<Channel>, waker: Arc<Waker>) -> Loop {
        let refusals = vec![None; channels.len()];
        let (count, size) = BATCH;
        Loop {
            common: Arc::new(Mutex::new(Shared { prober, refusals, ended: None })),
            channels,
            waker,
            batch: ReceiveBatch::new(count, size),
            mapper: StampMapper::new(ClockSample::take()),
            bytes: Vec::new(),
        }
    }

    /// What the loop shares with its handle.
    pub(super) fn common(&self) -> Common {
        Arc::clone(&self.common)
    }

    /// Runs until it is told to stop.
    pub(super) fn run(&mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Acquire) {
            if let Err(errno) = self.turn(None) {
                let reason = words(&errno.into());
                lock(&self.common).ended =
                    Some(format!("the operating system refused to wait for answers: {reason}"));
                return;
            }
        }
    }

    /// Waits until something arrives or is due, or until a time; then reads, then sends.
    pub(super) fn turn(&mut self, until: Option<Time>) -> Result<(), Errno> {
        let ready = self.wait(until)?;
        let mut drained = true;
        let mut next = 0;
        for (i, count) in ready.counts.iter().enumerate() {
            let mine = &ready.descriptors[next..next + count];
            next += count;
            match &mut self.channels[i] {
                Channel::Socket(_) if mine.contains(&true) => drained &= self.read(i),
                Channel::Socket(_) => {}
                Channel::Connections(all) => {
                    let done = all.finish(mine, clock::monotonic());
                    if !done.is_empty() {
                        note_connections(&mut lock(&self.common).prober, i, &done);
                    }
                }
            }
        }
        if drained {
            self.mapper.settle();
        }
        self.transmit();
        Ok(())
    }

    fn wait(&self, until: Option<Time>) -> Result<Ready, Errno> {
        let due = lock(&self.common).prober.next_deadline();
        let given_up = self.channels.iter().filter_map(|channel| match channel {
            Channel::Connections(all) => all.next_deadline(),
            Channel::Socket(_) => None,
        });
        let deadline = given_up.chain(due).chain(until).min();
        let mut polled = vec![PollFd::new(self.waker.as_fd(), PollFlags::POLLIN)];
        let counts: Vec<usize> =
            self.channels.iter().map(|channel| channel.descriptors(&mut polled)).collect();
        let timeout =
            deadline.map(|at| TimeSpec::nanoseconds((at - clock::monotonic()).as_nanos().max(0)));
        match ppoll(&mut polled, timeout, None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
        let ready = |of: &PollFd<'_>| of.any().unwrap_or(false);
        if ready(&polled[0]) {
            self.waker.clear();
        }
        Ok(Ready { counts, descriptors: polled[1..].iter().map(ready).collect() })
    }

    /// Reads one socket, its error queue too; true if the socket was read empty.
    fn read(&mut self, i: usize) -> bool {
        self.read_queue(i, true) & self.read_queue(i, false)
    }

    fn read_queue(&mut self, i: usize, errors: bool) -> bool {
        let Channel::Socket(port) = &mut self.channels[i] else { return true };
        for _ in 0..BATCHES {
            let asked = clock::monotonic();
            let count = match self.batch.receive(port.as_fd(), errors) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                // A pending ICMP error; the call cleared it.
                Err(_) => continue,
            };
            self.mapper.refresh(ClockSample::take());
            let now = clock::monotonic();
            let mut shared = lock(&self.common);
            for datagram in self.batch.datagrams() {
                let stamp = datagram.notes.stamp_ns;
                let at = stamp.and_then(|ns| self.mapper.map(ns, port.drained));
                let arrival = Arrival { target: i, at: at.unwrap_or(now), program: at.is_none() };
                arrival.hand_over(&mut shared.prober, port, &datagram);
            }
            if count < self.batch.capacity() {
                // Two queues of one socket: what arrived in the other one since is read next.
                if !errors {
                    port.drained = asked;
                }
                return true;
            }
        }
        false
    }

    /// Sends what is due.
    fn transmit(&mut self) {
        let mut shared = lock(&self.common);
        for _ in 0..MOST_AT_ONCE {
            let probe = shared.prober.poll_transmit(clock::monotonic(), &mut self.bytes);
            let Some(probe) = probe else { return };
            let sent = match &mut self.channels[probe.target] {
                Channel::Socket(port) => port.send(probe.to, &self.bytes),
                Channel::Connections(all) if all.is_full() => {
                    shared.prober.on_skipped(probe);
                    continue;
                }
                Channel::Connections(all) => all.begin(probe.index, probe.to),
            };
            note_sent(&mut shared, probe, sent);
        }
    }
}

struct Ready {
    /// Descriptors of each channel.
    counts: Vec<usize>,
    /// Whether each of them is ready, in the channels' order.
    descriptors: Vec<bool>,
}

/// Something that arrived for a target.
struct Arrival {
    target: usize,
    at: Time,
    /// Whether the time is the program's.
    program: bool,
}

impl Arrival {
    fn hand_over(&self, prober: &mut Prober, port: &Port, datagram: &Datagram<'_>) {
        let &Arrival { target, at, program } = self;
        let Datagram { from, payload, notes } = datagram;
        if notes.error.is_none() {
            let message =
                if port.with_header { after_ipv4_header(payload) } else { Some(*payload) };
            prober.on_message(target, from.ip(), message.unwrap_or_default(), at, program);
        } else if let Some(error) = notes.icmp {
            // Errors of this machine itself have no sender, and say nothing about the path.
            let error = IcmpError { port: from.port(), ..error };
            prober.on_icmp_error(target, error, payload, at, program);
        }
    }
}

fn note_sent(shared: &mut Shared, probe: Probe, sent: Result<Time, Errno>) {
    match sent {
        Ok(at) => shared.prober.on_sent(probe, at),
        Err(errno) => {
            shared.prober.on_refused(probe);
            shared.refusals[probe.target] = Some(words(&errno.into()));
        }
    }
}

fn note_connections(prober: &mut Prober, target: usize, done: &[(u32, Outcome)]) {
    for &(index, outcome) in done {
        match outcome {
            Outcome::Answered { at, program } => prober.on_connected(target, index, at, program),
            Outcome::Ambiguous => prober.on_connection_failed(target, true),
            Outcome::Unreachable => prober.on_connection_failed(target, false),
            Outcome::Silent => {}
        }
    }
}
