//! TCP connections of a flow, one after the other, and what they carry.

use super::engine::{Event, OUTSIDE};
use super::spec::{NetworkError, RttKind, TcpFlowSpec, Work};
use crate::ConnectionId;
use crate::counters::Durations;
use crate::event::EventQueue;
use crate::histogram::Histogram;
use crate::timer::Timer;
use airqueue_core::{DataRate, Seed, Span, Time};
use airqueue_transport::tcp::{Receiver, Segment, Sender};
use airqueue_transport::traffic::Files;

/// Both ends of the flow's present connection.
#[derive(Debug)]
pub(super) struct Connection {
    spec: TcpFlowSpec,
    sender: Sender,
    receiver: Receiver,
    /// Which of the flow's connections it is: segments of others mean nothing to it.
    number: u32,
    state: State,
    /// Ends to which something has happened since they had nothing to send.
    stirred: Stirred,
    files: Option<Files>,
    timer: Timer<Event>,
    /// When the alarm is set to go off.
    armed: Time,
    counters: TcpCounters,
    /// What the present connection had counted when counting began.
    before: EndCounters,
}

/// What it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It begins then.
    Waiting(Time),
    /// It has begun then.
    Open(Time),
    /// Nothing any more.
    Over,
}

/// Which ends may have something to send.
#[derive(Clone, Copy, Debug)]
struct Stirred {
    sender: bool,
    receiver: bool,
}

/// Which path a segment takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Data,
    Acks,
}

/// What both ends count.
#[derive(Clone, Copy, Debug, Default)]
struct EndCounters {
    delivered_bytes: u64,
    segments: u64,
    retransmitted: u64,
    fast_recoveries: u64,
    timeouts: u64,
    round_trips: u64,
    round_trip_time: Span,
}

/// What the connections of a flow did since counting began.
#[derive(Clone, Debug, Default)]
pub struct TcpCounters {
    /// Bytes that reached the application, in order.
    pub delivered_bytes: u64,
    /// Segments with data or FIN, each as often as it was sent.
    pub segments: u64,
    /// Those that had been sent before.
    pub retransmitted: u64,
    /// Times that fast recovery began.
    pub fast_recoveries: u64,
    /// Times that the retransmission timer ran out.
    pub timeouts: u64,
    /// Acknowledgements of new data whose newest segment was sent once.
    pub round_trips: u64,
    /// Sum of the times since those segments were sent.
    pub round_trip_time: Span,
    /// Transfers that ended.
    pub sessions: SessionCounters,
}

/// Transfers that ended: from the first SYN, or without one the first segment, to the acknowledgement of the last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionCounters {
    /// How long they took.
    pub took: Durations,
    /// The same, for quantiles.
    pub times: Histogram,
}

impl SessionCounters {
    /// Adds one.
    fn add(&mut self, took: Span) {
        self.took.add(took);
        self.times.add(took);
    }

    /// Adds those of another flow.
    pub fn merge(&mut self, other: &SessionCounters) {
        self.took.merge(&other.took);
        self.times.merge(&other.times);
    }
}

impl TcpCounters {
    fn add(&mut self, after: &EndCounters, before: &EndCounters) {
        self.delivered_bytes += after.delivered_bytes - before.delivered_bytes;
        self.segments += after.segments - before.segments;
        self.retransmitted += after.retransmitted - before.retransmitted;
        self.fast_recoveries += after.fast_recoveries - before.fast_recoveries;
        self.timeouts += after.timeouts - before.timeouts;
        self.round_trips += after.round_trips - before.round_trips;
        self.round_trip_time =
            self.round_trip_time + (after.round_trip_time - before.round_trip_time);
    }
}

impl Connection {
    /// Those of the flow of this name. Files come from the stream `files/NUMBER`, what
    /// congestion control decides at random from `tcp/NUMBER`.
    pub(super) fn new(
        name: &str,
        id: ConnectionId,
        spec: &TcpFlowSpec,
        seed: Seed,
    ) -> Result<Connection, NetworkError> {
        let wrong = |error| NetworkError::Tcp { flow: name.to_owned(), error };
        let draws = seed.stream(&format!("tcp/{}", id.0));
        let files = match spec.work {
            Work::Transfer(_) => None,
            Work::Files(files) => {
                let files = Files::new(files, seed.stream(&format!("files/{}", id.0)));
                let wrong = |error| NetworkError::Files { flow: name.to_owned(), error };
                Some(files.map_err(wrong)?)
            }
        };
        let mut connection = Connection {
            sender: Sender::with_draws(&spec.tcp, draws).map_err(wrong)?,
            receiver: Receiver::new(&spec.tcp).map_err(wrong)?,
            spec: spec.clone(),
            number: 0,
            state: State::Waiting(spec.start),
            stirred: Stirred { sender: true, receiver: true },
            files,
            timer: Timer::new(Event::Connection(id), OUTSIDE),
            armed: Time::MAX,
            counters: TcpCounters::default(),
            before: EndCounters::default(),
        };
        connection.pause(spec.start);
        Ok(connection)
    }

    /// Nothing happens before the next transfer; a user looks at what there is first.
    fn pause(&mut self, now: Time) {
        let pause = self.files.as_mut().map_or(Span::ZERO, Files::next_pause);
        self.state = State::Waiting(now.saturating_add(pause));
    }

    /// The alarm has gone off.
    pub(super) fn on_timer(&mut self, now: Time) {
        self.armed = Time::MAX;
        self.stirred = Stirred { sender: true, receiver: true };
        match self.state {
            State::Open(_) if now >= self.spec.stop => {
                self.account();
                self.state = State::Over;
            }
            State::Waiting(_) if now >= self.spec.stop => self.state = State::Over,
            State::Waiting(at) if at <= now => self.begin(now),
            State::Open(_) => {
                self.sender.on_timer(now);
                self.receiver.on_timer(now);
            }
            State::Waiting(_) | State::Over => {}
        }
    }

    fn begin(&mut self, now: Time) {
        let size = match (&mut self.files, self.spec.work) {
            (Some(files), _) => Some(files.next_bytes()),
            (None, Work::Transfer(bytes)) => bytes,
            (None, Work::Files(_)) => None,
        };
        self.state = State::Open(now);
        self.receiver.open();
        self.sender.write(size.unwrap_or(u64::MAX / 2));
        if self.spec.closes && size.is_some() {
            self.sender.close();
        }
    }

    /// A segment of one of its connections reaches the receiving or the sending end.
    pub(super) fn on_segment(
        &mut self,
        direction: Direction,
        number: u32,
        segment: &Segment,
        now: Time,
    ) {
        if number != self.number || !matches!(self.state, State::Open(_)) {
            return;
        }
        match direction {
            Direction::Data => {
                self.receiver.on_segment(segment, now);
                self.stirred.receiver = true;
            }
            Direction::Acks => {
                self.sender.on_segment(segment, now);
                self.stirred.sender = true;
            }
        }
    }

    /// The next segment to be sent; `None` for the time being, and a transfer that is complete then ends.
    pub(super) fn poll_transmit(&mut self, now: Time) -> Option<(Direction, u32, Segment)> {
        let State::Open(began) = self.state else { return None };
        if self.stirred.sender {
            if let Some(segment) = self.sender.poll_transmit(now) {
                return Some((Direction::Data, self.number, segment));
            }
            self.stirred.sender = false;
        }
        if self.stirred.receiver {
            if let Some(segment) = self.receiver.poll_transmit(now) {
                return Some((Direction::Acks, self.number, segment));
            }
            self.stirred.receiver = false;
        }
        if self.is_complete() {
            self.counters.sessions.add(now - began);
            self.end(now);
        }
        None
    }

    fn is_complete(&self) -> bool {
        if self.spec.closes { self.sender.is_finished() } else { self.sender.backlog_bytes() == 0 }
    }

    /// The next transfer has a connection of its own.
    fn end(&mut self, now: Time) {
        self.account();
        if self.files.is_none() {
            self.state = State::Over;
            return;
        }
        self.number = self.number.wrapping_add(1);
        self.sender.restart();
        self.receiver.restart();
        self.pause(now);
    }

    /// Adds what the present connection has counted, which then is over.
    fn account(&mut self) {
        self.counters.add(&self.end_counters(), &self.before);
        self.before = EndCounters::default();
    }

    /// Sees to it that the alarm goes off in time.
    pub(super) fn arm(&mut self, queue: &mut EventQueue<Event>) {
        let next = match self.state {
            State::Waiting(at) => at,
            State::Open(_) => self.sender.next_timer().min(self.receiver.next_timer()),
            State::Over => return,
        };
        let next = next.min(self.spec.stop);
        // One that goes off too early costs less than one that is put off with every segment.
        if next < self.armed {
            self.armed = next;
            self.timer.set(Some(next), queue);
        }
    }

    /// Segments take so many hops over the air from now on, the slowest of which sends at `rate`.
    pub(super) fn set_path(&mut self, hops: u32, rate: DataRate) {
        self.sender.set_path(hops, rate);
    }

    /// The round-trip time that the receiver tells of, if it does.
    pub(super) fn reported_rtt(&self) -> Option<Span> {
        match self.spec.reports? {
            RttKind::Base => self.receiver.base_rtt(),
            RttKind::Smoothed => self.receiver.smoothed_rtt(),
        }
    }

    /// Counting begins anew.
    pub(super) fn start_counting(&mut self) {
        self.counters = TcpCounters::default();
        self.before = self.end_counters();
    }

    /// What happened since then.
    pub(super) fn counters(&self) -> TcpCounters {
        let mut counters = self.counters.clone();
        if matches!(self.state, State::Open(_)) {
            counters.add(&self.end_counters(), &self.before);
        }
        counters
    }

    fn end_counters(&self) -> EndCounters {
        let sent = self.sender.counters();
        EndCounters {
            delivered_bytes: self.receiver.delivered_bytes(),
            segments: sent.segments,
            retransmitted: sent.retransmitted,
            fast_recoveries: sent.fast_recoveries,
            timeouts: sent.timeouts,
            round_trips: sent.round_trips,
            round_trip_time: sent.round_trip_time,
        }
    }
}
