//! A simulated host: an endpoint, its clock, and the limits of its sockets.

use crate::check::{CheckedPath, SenderCap};
use crate::clock::{ClockSteps, HostClock};
use crate::store::{Datagram, DatagramStore};
use airqueue_core::rate::work_for;
use airqueue_core::{Payload, Span, Time};
use airqueue_network::bottleneck::bucket::TokenBucket;
use airqueue_probe::endpoint::{Endpoint, Received, SendOutcome, Transmit};
use std::collections::VecDeque;

/// The size of a packet for a cap in micro-packets per second: a million bits, one bit per micro-packet.
const PACKET_BYTES: u32 = 125_000;

/// An endpoint and its host.
#[derive(Debug)]
pub struct Host<E> {
    /// The endpoint.
    pub endpoint: E,
    /// The host's clock, from which the endpoint reads the time.
    pub clock: HostClock,
}

/// The limits of the host that sends in the loaded direction.
#[derive(Debug)]
pub struct SendLimit {
    cap: Option<TokenBucket>,
    rest: Rest,
}

/// A machine that rests when it has nothing to do, and wakes up for a packet.
#[derive(Debug)]
pub struct Rest {
    wakeup: Span,
    after: Span,
    /// When the machine has dealt with the last packet.
    busy_until: Time,
}

/// The imperfections of the receiver in the loaded direction: stamps that jump, a socket buffer that overflows, a slow
/// reader.
#[derive(Debug)]
pub struct ReceiveLimit {
    steps: ClockSteps,
    buffer: Option<usize>,
    interval: Option<Span>,
    inbox: VecDeque<(Payload, Time)>,
    /// When the reader takes the oldest datagram.
    reads_at: Option<Time>,
}

impl<E: Endpoint> Host<E> {
    /// Writes the endpoint's next datagram into `buffer`, if the host sends one; with the moment when it leaves.
    pub fn poll(
        &mut self,
        now: Time,
        buffer: &mut Vec<u8>,
        limit: Option<&mut SendLimit>,
    ) -> Option<(Transmit, Time)> {
        let local = self.clock.read(now);
        let mut limit = limit;
        loop {
            let transmit = self.endpoint.poll_transmit(local, buffer)?;
            let Some(ticket) = transmit.ticket else { return Some((transmit, now)) };
            if limit.as_mut().is_none_or(|limit| limit.lets_out(now)) {
                let leaves = limit.as_mut().map_or(now, |limit| limit.rest.ready(now));
                if ticket.timestamp {
                    let stamp = SendOutcome::KernelSent(self.clock.read(leaves));
                    self.endpoint.on_send_outcome(ticket, stamp);
                }
                return Some((transmit, leaves));
            }
            self.endpoint.on_send_outcome(ticket, SendOutcome::Blocked);
        }
    }

    /// Hands an arrived datagram with the stamp `at` to the endpoint.
    pub fn receive(&mut self, now: Time, at: Time, datagram: &Datagram) {
        let &Datagram { socket, from, traffic_class, ref bytes, .. } = datagram;
        let received = Received { socket, from, at, traffic_class, payload: bytes };
        self.endpoint.on_datagram(self.clock.read(now), received);
    }

    /// When the endpoint must be polled, in the path's time.
    pub fn wakes_at(&self) -> Option<Time> {
        self.endpoint.next_deadline().map(|at| self.clock.when(at))
    }
}

impl Rest {
    /// A machine that wakes up in `wakeup` when it has had nothing to do for longer than `after`.
    pub fn new(wakeup: Span, after: Span) -> Rest {
        Rest { wakeup, after, busy_until: Time::ZERO }
    }

    /// When the machine has dealt with a packet that comes at `now`: at once if it is awake.
    pub fn ready(&mut self, now: Time) -> Time {
        let rested = now > self.busy_until.saturating_add(self.after);
        let awake = if rested { now.saturating_add(self.wakeup) } else { now };
        self.busy_until = awake.max(self.busy_until);
        self.busy_until
    }
}

impl SendLimit {
    /// The limits of the configuration.
    pub fn new(path: &CheckedPath) -> SendLimit {
        let bucket = |cap: SenderCap| {
            let depth = work_for(PACKET_BYTES) * u128::from(cap.burst_packets);
            TokenBucket::new(cap.micro_packets, depth)
        };
        SendLimit {
            cap: path.sender_cap.map(bucket),
            rest: Rest::new(path.sender_wakeup, path.rests_after),
        }
    }

    fn lets_out(&mut self, now: Time) -> bool {
        self.cap.as_mut().is_none_or(|bucket| bucket.try_take(work_for(PACKET_BYTES), now))
    }
}

impl ReceiveLimit {
    /// The limits of the configuration.
    pub fn new(path: &CheckedPath) -> ReceiveLimit {
        ReceiveLimit {
            steps: ClockSteps::new(path.clock_steps.clone()),
            buffer: path.receive_buffer,
            interval: path.read_interval,
            inbox: VecDeque::new(),
            reads_at: None,
        }
    }

    /// The stamp of an arrival at a host whose clock shows `local`.
    pub fn stamp(&mut self, now: Time, local: Time) -> Time {
        local + self.steps.by(now)
    }

    /// Whether datagrams wait for the slow reader.
    pub fn holds(&self) -> bool {
        self.interval.is_some()
    }

    /// A datagram arrives for the slow reader; false if the buffer is full.
    pub fn push(&mut self, payload: Payload, stamp: Time, now: Time) -> bool {
        if self.buffer.is_some_and(|most| self.inbox.len() >= most) {
            return false;
        }
        self.inbox.push_back((payload, stamp));
        if self.reads_at.is_none() {
            self.reads_at = self.interval.map(|interval| now + interval);
        }
        true
    }

    /// When the reader takes the next datagram.
    pub fn reads_at(&self) -> Option<Time> {
        self.reads_at
    }

    /// The reader takes a datagram.
    pub fn read(&mut self, now: Time) -> Option<(Payload, Time)> {
        let taken = self.inbox.pop_front();
        let next = self.interval.filter(|_| !self.inbox.is_empty());
        self.reads_at = next.map(|interval| now + interval);
        taken
    }

    /// Discards all waiting datagrams.
    pub fn clear(&mut self, store: &mut DatagramStore) {
        for (payload, _) in self.inbox.drain(..) {
            store.discard(payload);
        }
        self.reads_at = None;
    }
}
