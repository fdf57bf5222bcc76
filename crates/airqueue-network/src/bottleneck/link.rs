//! A server that serialises packets: a link, or a radio with several packets per transmission.

use crate::tx_queue::Framing;
use airqueue_core::rate::work_for;
use airqueue_core::{DataRate, Packet, RandomStream, Span, Time};

/// How a link serves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSpec {
    /// Largest number of packets in a transmission, at least 1.
    pub aggregate: usize,
    /// Fixed time of each transmission.
    pub overhead: Span,
    /// Random time of each transmission, uniform from zero to this value.
    pub jitter: Span,
}

/// Takes up to `aggregate` packets at once, transmits them together and delivers them together. A transmission lasts
/// overhead + jitter + bits / rate; a stall interrupts the transmission, a rate change applies to the rest of it. The
/// ends of back-to-back transmissions do not drift: time added by rounding up to a whole nanosecond is credited to the
/// next transmission.
#[derive(Debug)]
pub struct Link {
    spec: LinkSpec,
    framing: Framing,
    rate: Option<DataRate>,
    rng: RandomStream,
    in_service: Vec<Packet>,
    /// Remaining overhead and jitter.
    pause_left: Span,
    /// Remaining bits, in 10⁻⁹ bit.
    work_left: u128,
    /// Work done beyond the end of the last transmission, which ended at `since`.
    credit: u128,
    /// Time up to which `pause_left` and `work_left` are accounted for.
    since: Time,
}

impl Link {
    /// An idle link.
    pub fn new(spec: LinkSpec, framing: Framing, rate: DataRate, rng: RandomStream) -> Link {
        Link {
            spec,
            framing,
            rate: Some(rate),
            rng,
            in_service: Vec::with_capacity(spec.aggregate),
            pause_left: Span::ZERO,
            work_left: 0,
            credit: 0,
            since: Time::ZERO,
        }
    }

    /// Changes the rate from `now` on; `None`: the link stalls.
    pub fn set_rate(&mut self, rate: Option<DataRate>, now: Time) {
        self.advance(now);
        self.rate = rate;
    }

    /// Packets in service.
    pub fn in_service(&self) -> &[Packet] {
        &self.in_service
    }

    /// Whether a packet that arrives now would be served at once: the link is idle and not stalled.
    pub fn wants_packets(&self) -> bool {
        self.rate.is_some() && self.in_service.is_empty()
    }

    /// When the present transmission ends, at the present rate.
    pub fn ends_at(&self) -> Option<Time> {
        if self.in_service.is_empty() {
            return None;
        }
        if self.is_done() {
            return Some(self.since);
        }
        Some(self.since + self.pause_left + self.rate?.time_for_work(self.work_left))
    }

    /// Advances the present transmission to `now`; hands its packets to `deliver` if the transmission has ended.
    pub fn finish(&mut self, now: Time, deliver: impl FnMut(Packet)) {
        self.advance(now);
        if self.is_done() {
            self.in_service.drain(..).for_each(deliver);
        }
    }

    /// Begins the next transmission if the link is idle and not stalled, and `take` returns a packet.
    pub fn begin(&mut self, now: Time, mut take: impl FnMut() -> Option<Packet>) {
        if !self.wants_packets() {
            return;
        }
        if self.since != now {
            self.credit = 0;
            self.since = now;
        }
        let mut work = 0;
        while self.in_service.len() < self.spec.aggregate
            && let Some(packet) = take()
        {
            work += work_for(self.framing.charged(&packet));
            self.in_service.push(packet);
        }
        if self.in_service.is_empty() {
            return;
        }
        self.work_left = work.saturating_sub(self.credit);
        self.credit = 0;
        self.pause_left = self.spec.overhead;
        if self.spec.jitter > Span::ZERO {
            self.pause_left = self.pause_left + self.rng.span_below(self.spec.jitter);
        }
    }

    fn is_done(&self) -> bool {
        self.pause_left == Span::ZERO && self.work_left == 0
    }

    fn advance(&mut self, now: Time) {
        if self.in_service.is_empty() || now == self.since {
            return;
        }
        let passed = now - self.since;
        self.since = now;
        let Some(rate) = self.rate else { return };
        let paused = passed.min(self.pause_left);
        self.pause_left = self.pause_left - paused;
        let done = rate.work_in(passed - paused);
        self.credit = done.saturating_sub(self.work_left);
        self.work_left = self.work_left.saturating_sub(done);
    }
}
