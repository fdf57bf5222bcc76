//! The half of a run that receives: the client's when it measures downwards, the server's upwards.

use crate::log::{Arrival, ArrivalLog};
use crate::plan::Plan;
use crate::records::RunEnd;
use crate::schedule::{due_windows, last_of_each_flow};
use crate::sender::SILENCE;
use crate::wire::{DataHeader, Glimpse};
use airqueue_core::{Span, Time};
use std::ops::Range;

/// Interval of a receiver's keepalives.
pub const KEEP_ALIVE_EVERY: Span = Span::from_millis(200);
/// Largest delay of the first packet beyond the agreed start.
const FIRST_PACKET: Span = Span::from_secs(2);
/// Silence after the planned end that ends a run with packets missing: the queue is empty then.
const QUIET: Span = Span::from_secs(1);
/// The silence that ends a run once the last packet of every flow has arrived: packets still missing
/// could only have been overtaken. Longer than the 100 ms for which a receiver's reorder buffer may hold packets.
const QUIET_AFTER_LAST: Span = Span::from_millis(250);
/// A run ends at the latest this long after its planned end.
const LONGEST_DRAIN: Span = Span::from_secs(60);

/// The receiving half of one run.
#[derive(Debug)]
pub struct Receiver {
    /// The session's zero of receive times.
    zero: Time,
    log: ArrivalLog,
    /// Total number of packets that the sender will send here.
    expected: u32,
    /// The same to all hosts.
    rows: u32,
    /// Other packets of the plan go to other hosts.
    part: bool,
    duplicates: u64,
    overflow: u64,
    clock_steps: u32,
    program_timestamps: bool,
    /// The last packets of flows that have not arrived.
    last_missing: Vec<u32>,
    due: Vec<(Span, Span)>,
    first_at: Span,
    plan_end: Span,
    /// Latest arrival of the first packet.
    first_by: Time,
    /// When the sender's start of the run would have arrived here without queueing: the least of
    /// arrival minus send time.
    start: Option<Time>,
    last_arrival: Time,
    /// When the sender reported that it stopped before the plan's end.
    stopped_early: Option<Time>,
    /// When the silence becomes too long; stored, since it changes only with arrivals.
    ends_at: Time,
    next_keep_alive: Time,
    recent_delay: Span,
    end: Option<RunEnd>,
}

impl Receiver {
    /// Expects `plan`, checked before, to begin `delay` after `now`. Receive times count from `zero`.
    pub fn new(plan: &Plan, zero: Time, now: Time, delay: Span) -> Self {
        Receiver::of_flows(plan, 0..u8::MAX, zero, now, delay)
    }

    /// Expects the packets of some flows of a plan; those of others go to other hosts.
    pub fn of_flows(plan: &Plan, flows: Range<u8>, zero: Time, now: Time, delay: Span) -> Self {
        let here = plan.segments.iter().filter(|s| flows.contains(&s.flow)).copied().collect();
        let here = Plan { segments: here };
        let count = |plan: &Plan| u32::try_from(plan.packet_count()).unwrap_or(u32::MAX);
        let (rows, expected) = (count(plan), count(&here));
        let due = due_windows(&here);
        let first_at = due.first().map_or(Span::ZERO, |w| w.0);
        let mut receiver = Receiver {
            zero,
            log: ArrivalLog::new(rows),
            expected,
            rows,
            part: here.segments.len() < plan.segments.len(),
            duplicates: 0,
            overflow: 0,
            clock_steps: 0,
            program_timestamps: false,
            last_missing: last_of_each_flow(plan, flows),
            due,
            first_at,
            plan_end: plan.end(),
            first_by: now,
            start: None,
            last_arrival: now,
            stopped_early: None,
            ends_at: now,
            next_keep_alive: now,
            recent_delay: Span::ZERO,
            end: None,
        };
        receiver.expect_start(now, delay);
        receiver
    }

    /// The sender was asked to begin `delay` after `now`, or confirmed this.
    pub fn expect_start(&mut self, now: Time, delay: Span) {
        if self.start.is_none() {
            self.first_by = now + delay + self.first_at + FIRST_PACKET;
            self.reckon_end();
        }
    }

    /// The session's zero of receive times.
    pub fn zero(&self) -> Time {
        self.zero
    }

    /// How the run ended, once it has. Packets are still recorded until the log is taken: packets held by a stalled
    /// device are not lost.
    pub fn end(&self) -> Option<RunEnd> {
        self.end
    }

    /// The arrivals.
    pub fn log(&self) -> &ArrivalLog {
        &self.log
    }

    /// Second and later copies.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Datagrams for which the receive buffer had no room.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }

    /// Number of wall-clock steps.
    pub fn clock_steps(&self) -> u32 {
        self.clock_steps
    }

    /// Whether all receive times are the kernel's.
    pub fn kernel_timestamps(&self) -> bool {
        !self.program_timestamps
    }

    /// When the run began, as seen from here; `None` until the first packet.
    pub fn start(&self) -> Option<Time> {
        self.start
    }

    /// A measured packet of this run arrived at `at` with this traffic class; `now` is the present.
    pub fn on_data(&mut self, now: Time, at: Time, traffic_class: u8, header: &DataHeader) {
        let at_ns = (at - self.zero).as_nanos();
        match self.log.record(header.seq, Arrival { at_ns, traffic_class }) {
            None => return,
            Some(false) => {
                self.duplicates += 1;
                return;
            }
            Some(true) => {}
        }
        self.last_arrival = self.last_arrival.max(now);
        // A hostile sender may claim any send time; a time outside the run is ignored.
        let fits = 0..=self.plan_end.as_nanos().saturating_add(LONGEST_DRAIN.as_nanos());
        if fits.contains(&header.sent_ns) {
            let start = at - Span::from_nanos(header.sent_ns);
            let least = self.start.map_or(start, |s| s.min(start));
            self.start = Some(least);
            self.recent_delay = start - least;
        } else {
            self.start.get_or_insert(at);
        }
        self.last_missing.retain(|&seq| seq != header.seq);
        self.reckon_end();
    }

    /// The sender will send no more than its first `attempted` packets.
    pub fn on_sender_stopped(&mut self, now: Time, attempted: u32) {
        if self.stopped_early.is_none() && attempted < self.rows {
            self.expected = self.expected.min(attempted);
            self.stopped_early = Some(now);
            self.reckon_end();
        }
    }

    /// When `on_time` is due.
    pub fn next_deadline(&self) -> Time {
        match self.end {
            None => self.ends_at.min(self.next_keep_alive),
            Some(_) => self.next_keep_alive,
        }
    }

    /// Ends the run if it is time.
    pub fn on_time(&mut self, now: Time) {
        if self.end.is_none() && now >= self.ends_at {
            self.end = Some(self.verdict());
        }
    }

    /// Whether a keepalive is due; the next one is then due an interval later. A receiver that has given up its sender
    /// sends no more keepalives, which stops a sender that is still alive.
    pub fn keep_alive_due(&mut self, now: Time) -> bool {
        if self.end == Some(RunEnd::SenderSilent) {
            self.next_keep_alive = Time::MAX;
        }
        let due = now >= self.next_keep_alive;
        if due {
            self.next_keep_alive = now + KEEP_ALIVE_EVERY;
        }
        due
    }

    /// When the next keepalive is due.
    pub fn next_keep_alive(&self) -> Time {
        self.next_keep_alive
    }

    /// The progress so far.
    pub fn glimpse(&self) -> Glimpse {
        let delay_us = match self.start {
            None => u32::MAX,
            Some(_) => u32::try_from(self.recent_delay.as_nanos() / 1000).unwrap_or(u32::MAX - 1),
        };
        // Packets of other hosts are missing here too.
        let lost = if self.part { 0 } else { self.log.overtaken() };
        Glimpse { received: self.log.count(), lost, delay_us }
    }

    /// Further datagrams did not fit into the receive buffer.
    pub fn on_overflow(&mut self, count: u64) {
        self.overflow = self.overflow.saturating_add(count);
    }

    /// The wall clock was stepped.
    pub fn on_clock_step(&mut self) {
        self.clock_steps = self.clock_steps.saturating_add(1);
    }

    /// Receive times are the program's.
    pub fn on_program_timestamps(&mut self) {
        self.program_timestamps = true;
    }

    /// The planned end (or the early one), as seen from here.
    fn sending_ends(&self, start: Time) -> Time {
        self.stopped_early.unwrap_or(start + self.plan_end)
    }

    fn verdict(&self) -> RunEnd {
        match self.start {
            Some(start) if self.quiet_end(start) <= self.ends_at || self.all_here() => {
                RunEnd::Complete
            }
            _ if self.stopped_early.is_some() => RunEnd::Complete,
            _ => RunEnd::SenderSilent,
        }
    }

    fn all_here(&self) -> bool {
        self.log.count() >= self.expected
    }

    /// When the run is over because all packets sent have had time to arrive.
    fn quiet_end(&self, start: Time) -> Time {
        let early = self.stopped_early.is_some();
        let quiet = if self.last_missing.is_empty() && !early { QUIET_AFTER_LAST } else { QUIET };
        let last = self.last_arrival.max(self.sending_ends(start)) + quiet;
        last.min(start + self.plan_end + LONGEST_DRAIN)
    }

    fn reckon_end(&mut self) {
        self.ends_at = if self.all_here() {
            // Packets to other hosts may come later than the last one to this host.
            match self.start {
                Some(start) if self.part => self.last_arrival.max(self.sending_ends(start)),
                _ => self.last_arrival,
            }
        } else {
            match self.start {
                None => self.stopped_early.map_or(self.first_by, |t| t + QUIET),
                Some(start) => {
                    let quiet = self.quiet_end(start);
                    self.silence_end(start).map_or(quiet, |silent| silent.min(quiet))
                }
            }
        };
    }

    /// When the sender has been silent for [`SILENCE`] of time in which packets were due.
    fn silence_end(&self, start: Time) -> Option<Time> {
        if self.stopped_early.is_some() {
            return None;
        }
        let mut left = SILENCE;
        for &(from, to) in &self.due {
            let from = (start + from).max(self.last_arrival);
            let length = (start + to) - from;
            if length >= left {
                return Some(from + left);
            }
            left = if length > Span::ZERO { left - length } else { left };
        }
        None
    }
}
