//! The event loop: one thread, one sans-IO endpoint, any number of sockets.

use crate::clock::{self, ClockSample, StampMapper};
use crate::error::HostError;
use crate::mmsg::{
    MAX_PAYLOAD, Outgoing, QueuedError, RECEIVE_BATCH, ReceiveBatch, SendBatch, StampRequest,
};
use crate::polling::Polling;
use crate::socket::UdpPort;
use crate::sources::Sources;
use crate::wait::{Ready, Waiter, Waker};
use airqueue_core::{Span, Time};
use airqueue_probe::endpoint::{Endpoint, Received, SendOutcome, Transmit};
use nix::libc;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;

/// Batches read from one socket before the next socket is read.
const RECEIVE_BATCHES: usize = 8;
/// Datagrams sent before arrivals are read again.
const TRANSMIT_BUDGET: usize = 128;
/// Control messages kept for another attempt while the socket is full.
const DEFERRED: usize = 64;
/// Interval at which deferred control messages are sent again.
const RETRY: Span = Span::from_millis(1);
const RETRIES: u32 = 100;
/// Attempts for a datagram at which pending ICMP errors about earlier ones surface.
const ATTEMPTS: u32 = 4;
/// The kernel needs a moment after the first socket asked for stamps until all packets have them
/// (a static key, switched by a work queue).
const STAMPING_STARTS: Span = Span::from_millis(100);
/// The next call of an endpoint that asked to be called and then had nothing to do.
const IDLE_TURN: Span = Span::from_millis(1);

/// A driver's counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct DriverStats {
    /// Datagrams received.
    pub received: u64,
    /// Datagrams that the kernel took.
    pub sent: u64,
    /// Datagrams that the kernel refused.
    pub refused: u64,
    /// Transmit stamps that were matched to their packet.
    pub transmit_stamps: u64,
    /// Number of wakeups of the loop.
    pub turns: u64,
    /// The last peer that ICMP reported as unreachable, with the errno.
    pub unreachable: Option<(SocketAddr, i32)>,
    /// Errno of the last packet that could not be sent for a reason other than a full buffer.
    pub send_error: Option<i32>,
}

/// A control message that waits for room in the socket.
struct Deferred {
    transmit: Transmit,
    bytes: Vec<u8>,
    attempts: u32,
}

/// Drives an endpoint over sockets on the wall clock.
pub struct Driver<E> {
    endpoint: E,
    ports: Vec<UdpPort>,
    waiter: Waiter,
    arrivals: ReceiveBatch,
    errors: ReceiveBatch,
    departures: SendBatch,
    mapper: StampMapper,
    sources: Sources,
    deferred: VecDeque<Deferred>,
    retry_at: Option<Time>,
    stats: DriverStats,
    /// The loop need not run again before this time, unless something arrives.
    not_before: Time,
    polling: Polling,
}

impl<E: Endpoint> Driver<E> {
    /// Takes the sockets; the endpoint's socket `i` is `ports[i]`.
    pub fn new(endpoint: E, ports: Vec<UdpPort>) -> Result<Driver<E>, HostError> {
        let waiter = Waiter::new(&ports)?;
        Ok(Driver {
            endpoint,
            ports,
            waiter,
            arrivals: ReceiveBatch::new(RECEIVE_BATCH, MAX_PAYLOAD),
            errors: ReceiveBatch::new(RECEIVE_BATCH, 256),
            departures: SendBatch::default(),
            mapper: StampMapper::new(ClockSample::take()),
            sources: Sources::default(),
            deferred: VecDeque::new(),
            retry_at: None,
            stats: DriverStats::default(),
            not_before: Time::ZERO,
            polling: Polling::default(),
        })
    }

    /// Ends the wait of `turn` from another thread.
    pub fn waker(&self) -> Arc<Waker> {
        self.waiter.waker()
    }

    /// The endpoint.
    pub fn endpoint(&mut self) -> &mut E {
        &mut self.endpoint
    }

    /// The counters so far.
    pub fn stats(&self) -> DriverStats {
        self.stats
    }

    /// The sockets.
    pub fn ports(&self) -> &[UdpPort] {
        &self.ports
    }

    /// Waits until something arrives, is due, or wakes the driver; then receives, then
    /// sends what is due.
    pub fn turn(&mut self) -> Result<(), HostError> {
        let ready = self.wait()?;
        self.stats.turns += 1;
        let before = self.stats;
        let poll = self.polling.due(clock::monotonic());
        self.receive(if poll { ready.with_all_readable() } else { ready });
        let looked = clock::monotonic();
        if self.polling.note(looked, poll, self.stats.received - before.received) {
            self.waiter.listen(&self.ports, !self.polling.is_on())?;
        }
        self.transmit();
        let after = self.stats;
        let idle = (before.received, before.sent, before.refused)
            == (after.received, after.sent, after.refused);
        // An endpoint whose deadline stays in the past must not make this a busy loop.
        let stuck = idle && self.endpoint.next_deadline().is_some_and(|at| at <= looked);
        self.not_before = if stuck { looked + IDLE_TURN } else { Time::ZERO };
        Ok(())
    }

    fn wait(&mut self) -> Result<Ready, HostError> {
        let wanted = [self.endpoint.next_deadline(), self.retry_at, self.polling.next()];
        let deadline = wanted.into_iter().flatten().min();
        self.waiter.wait(deadline.map(|at| at.max(self.not_before)))
    }

    fn receive(&mut self, ready: Ready) {
        let mut drained = true;
        for i in 0..self.ports.len() {
            if ready.failed(i) {
                self.read_errors(i);
            }
            if ready.readable(i) || ready.failed(i) {
                drained &= self.read_port(i);
            }
        }
        if drained {
            self.mapper.settle();
        }
    }

    /// Reads one socket; true if the socket was read empty.
    fn read_port(&mut self, i: usize) -> bool {
        for _ in 0..RECEIVE_BATCHES {
            let asked = clock::monotonic();
            let count = match self.arrivals.receive(self.ports[i].as_fd(), false) {
                Ok(count) => count,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    self.ports[i].drained = asked;
                    return true;
                }
                // A pending ICMP error; the read cleared it.
                Err(_) => continue,
            };
            self.refresh_clock();
            self.hand_over(i);
            if count < self.arrivals.capacity() {
                self.ports[i].drained = asked;
                return true;
            }
        }
        false
    }

    fn refresh_clock(&mut self) {
        if self.mapper.refresh(ClockSample::take()) {
            self.endpoint.on_clock_step();
        }
    }

    /// Passes the batch just read to the endpoint.
    fn hand_over(&mut self, i: usize) {
        let port = &mut self.ports[i];
        let now = clock::monotonic();
        let wildcard = port.is_wildcard();
        for d in self.arrivals.datagrams() {
            self.stats.received += 1;
            if let Some(counter) = d.notes.overflow {
                let more = port.overflowed(counter);
                if more > 0 {
                    self.endpoint.on_receive_overflow(more);
                }
            }
            if d.notes.stamp_ns.is_none() && now > port.opened + STAMPING_STARTS {
                self.endpoint.on_program_timestamps();
            }
            if let Some(local) = d.notes.local.filter(|_| wildcard) {
                self.sources.learn(i, d.from, local);
            }
            let stamp = d.notes.stamp_ns.and_then(|ns| self.mapper.map(ns, port.drained));
            let rx = Received {
                socket: i,
                from: d.from,
                at: stamp.unwrap_or(now),
                traffic_class: d.notes.traffic_class,
                payload: d.payload,
            };
            self.endpoint.on_datagram(now, rx);
        }
    }

    /// Reads transmit stamps and ICMP errors.
    fn read_errors(&mut self, i: usize) {
        for _ in 0..RECEIVE_BATCHES {
            let Ok(count) = self.errors.receive(self.ports[i].as_fd(), true) else { return };
            self.refresh_clock();
            let port = &mut self.ports[i];
            for d in self.errors.datagrams() {
                match d.notes.error {
                    Some(QueuedError::Stamp(id)) => {
                        let at = d.notes.stamp_ns.and_then(|ns| self.mapper.map(ns, port.drained));
                        let Some(at) = at else { continue };
                        if let Some(ticket) = port.stamps.claim(id, at) {
                            self.stats.transmit_stamps += 1;
                            self.endpoint.on_send_outcome(ticket, SendOutcome::KernelSent(at));
                        }
                    }
                    Some(QueuedError::Failure(errno)) => {
                        self.stats.unreachable = Some((d.from, errno));
                        if errno == libc::ECONNREFUSED {
                            self.endpoint.on_unreachable();
                        }
                    }
                    None => {}
                }
            }
            if count < self.errors.capacity() {
                return;
            }
        }
    }

    /// Sends what is due.
    fn transmit(&mut self) {
        self.retry_deferred();
        let mut current: Option<usize> = None;
        for _ in 0..TRANSMIT_BUDGET {
            if self.departures.is_full() {
                self.flush(current);
                self.begin(current);
            }
            let now = clock::monotonic();
            let Some(out) = self.endpoint.poll_transmit(now, self.departures.buffer()) else {
                break;
            };
            if out.socket >= self.ports.len() {
                continue;
            }
            // One batch holds one socket's packets, so that packets leave in the order planned.
            if current != Some(out.socket) {
                let written = self.departures.entries().len();
                self.flush(current);
                current = Some(out.socket);
                self.begin(current);
                self.departures.carry_over(written);
            }
            self.push(out, now);
        }
        self.flush(current);
    }

    fn begin(&mut self, port: Option<usize>) {
        if let Some(i) = port {
            self.departures.begin(self.ports[i].is_ipv6());
        }
    }

    fn push(&mut self, out: Transmit, now: Time) {
        let port = &mut self.ports[out.socket];
        let stamp = match out.ticket {
            Some(ticket) if ticket.timestamp => port.request_stamp(now),
            _ => StampRequest::None,
        };
        let source =
            if port.is_wildcard() { self.sources.source(out.socket, out.to) } else { None };
        let Transmit { to, traffic_class, ticket, .. } = out;
        self.departures.push(Outgoing { to, ticket, at: now, traffic_class, source, stamp });
    }

    /// Hands the batch to the kernel, and the refusals to the endpoint.
    fn flush(&mut self, port: Option<usize>) {
        let Some(i) = port else { return };
        let (mut next, mut attempts) = (0, 1);
        while next < self.departures.entries().len() {
            match self.departures.send(self.ports[i].as_fd(), next) {
                Ok(count) => {
                    for out in &self.departures.entries()[next..next + count] {
                        if let Some(ticket) = out.ticket.filter(|_| out.stamp.id().is_some()) {
                            self.ports[i].stamps.sent(out.stamp, ticket, out.at);
                        }
                    }
                    self.stats.sent += count as u64;
                    next += count;
                    attempts = 1;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if attempts < ATTEMPTS && self.mend(i, next, &e) => attempts += 1,
                Err(e) => {
                    self.refuse(i, next, &e);
                    next += 1;
                    attempts = 1;
                }
            }
        }
        self.departures.begin(self.ports[i].is_ipv6());
    }

    /// Whether the datagram that failed deserves another attempt at once.
    fn mend(&mut self, i: usize, which: usize, error: &io::Error) -> bool {
        match error.raw_os_error() {
            Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM | libc::EMSGSIZE) => false,
            // The kernel does not know numbered stamps, or the source address is gone.
            Some(libc::EINVAL) => {
                let out = self.departures.entries()[which];
                if matches!(out.stamp, StampRequest::Named(_)) {
                    self.ports[i].stamps.not_named(out.at);
                }
                if out.source.is_some() {
                    self.sources.forget(i, out.to);
                }
                self.departures.strip(which)
            }
            // An ICMP error about an earlier packet; reporting it cleared it.
            _ => true,
        }
    }

    fn refuse(&mut self, i: usize, which: usize, error: &io::Error) {
        let out = self.departures.entries()[which];
        self.stats.refused += 1;
        let full = matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS));
        if !full {
            self.stats.send_error = error.raw_os_error();
        }
        self.ports[i].stamps.refused(out.stamp, out.at);
        match out.ticket {
            Some(ticket) => self.endpoint.on_send_outcome(ticket, SendOutcome::Blocked),
            None if full && self.deferred.len() < DEFERRED => {
                let Outgoing { to, traffic_class, .. } = out;
                let transmit = Transmit { socket: i, to, traffic_class, ticket: None };
                let bytes = self.departures.payload(which).to_vec();
                self.deferred.push_back(Deferred { transmit, bytes, attempts: 0 });
                self.retry_at.get_or_insert(out.at + RETRY);
            }
            // The session sends important control messages again.
            None => {}
        }
    }

    /// Sends control messages again that found the socket full.
    fn retry_deferred(&mut self) {
        let now = clock::monotonic();
        if self.retry_at.is_none_or(|at| now < at) {
            return;
        }
        self.retry_at = None;
        for _ in 0..self.deferred.len() {
            let Some(mut d) = self.deferred.pop_front() else { return };
            let port = &self.ports[d.transmit.socket];
            let ipv6 = port.is_ipv6();
            self.departures.begin(ipv6);
            self.departures.buffer().clone_from(&d.bytes);
            self.push(d.transmit, now);
            match self.departures.send(self.ports[d.transmit.socket].as_fd(), 0) {
                Ok(_) => self.stats.sent += 1,
                Err(_) if d.attempts < RETRIES => {
                    d.attempts += 1;
                    self.deferred.push_back(d);
                    self.retry_at = Some(now + RETRY);
                }
                Err(_) => self.stats.refused += 1,
            }
        }
        self.departures.begin(false);
    }
}
