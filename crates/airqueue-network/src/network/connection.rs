//! The successive TCP connections of a flow, and their data.

use super::engine::{Event, OUTSIDE};
use super::film::Film;
use super::spec::{NetworkError, RttKind, TcpFlowSpec, Work};
use crate::ConnectionId;
use crate::counters::Timings;
use crate::event::EventQueue;
use crate::timer::Timer;
use airqueue_core::{DataRate, Seed, Span, Time};
use airqueue_transport::tcp::{Receiver, Segment, Sender};
use airqueue_transport::traffic::{Files, Player, VideoCounters};

/// Both ends of the flow's present connection.
#[derive(Debug)]
pub(super) struct Connection {
    spec: TcpFlowSpec,
    sender: Sender,
    receiver: Receiver,
    /// Number of the present connection within the flow. Segments of other connections are ignored.
    number: u32,
    /// Number of connections of the flow side by side: the distance to the number of the next connection.
    lanes: u32,
    state: State,
    /// Ends with new input since they last had nothing to send.
    stirred: Stirred,
    files: Option<Files>,
    film: Option<Box<Film>>,
    /// When the player requests its next segment, if none is under way; [`Time::MAX`]: when the browser does.
    request_at: Option<Time>,
    /// Bytes after which the next request of the browser or player may follow: the data of all its requests so far;
    /// [`u64::MAX`] without either.
    answered_from: u64,
    /// What the browser requested has arrived, and the browser does not know yet.
    pub(super) fetched: bool,
    timer: Timer<Event>,
    /// When the timer is set to expire.
    armed: Time,
    counters: TcpCounters,
    /// Counts of the present connection at the time when counting began.
    before: EndCounters,
}

/// The phase of the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The next connection begins at this time.
    Waiting(Time),
    /// The present transfer, of a film its segment, began at this time.
    Open(Time),
    /// The flow sends nothing more.
    Over,
}

/// The ends that may have something to send.
#[derive(Clone, Copy, Debug)]
struct Stirred {
    sender: bool,
    receiver: bool,
}

/// The path of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Data,
    Acks,
}

/// The counters of both ends.
#[derive(Clone, Copy, Debug, Default)]
struct EndCounters {
    arrived_bytes: u64,
    segments: u64,
    retransmitted: u64,
    fast_recoveries: u64,
    timeouts: u64,
    held_up: Span,
}

/// What the connections of a flow did since counting began.
#[derive(Clone, Debug, Default)]
pub struct TcpCounters {
    /// Connections that the flow has at once.
    pub at_once: u32,
    /// Bytes of the application that arrived at the receiver, each counted once. Bytes behind a gap count when they arrive: what
    /// waited for the end of a gap when counting began had come before.
    pub arrived_bytes: u64,
    /// Transmissions of segments with data or FIN, retransmissions included.
    pub segments: u64,
    /// Retransmissions among them.
    pub retransmitted: u64,
    /// Number of entries into fast recovery.
    pub fast_recoveries: u64,
    /// Number of expiries of the retransmission timer.
    pub timeouts: u64,
    /// Time in which the window of the receiver kept data back ([`Sender::held_up`]), summed over the connections.
    pub held_up: Span,
    /// Round-trip times, of each acknowledgement that shows one ([`Sender::on_segment`]).
    pub round_trips: Timings,
    /// Completed transfers, each from its first SYN (without SYN: its first segment) to the acknowledgement of its last
    /// segment.
    pub sessions: Timings,
}

impl TcpCounters {
    /// Adds what other connections did.
    pub fn merge(&mut self, other: &TcpCounters) {
        self.at_once += other.at_once;
        self.arrived_bytes += other.arrived_bytes;
        self.segments += other.segments;
        self.retransmitted += other.retransmitted;
        self.fast_recoveries += other.fast_recoveries;
        self.timeouts += other.timeouts;
        self.held_up = self.held_up + other.held_up;
        self.round_trips.merge(&other.round_trips);
        self.sessions.merge(&other.sessions);
    }

    fn add(&mut self, after: &EndCounters, before: &EndCounters) {
        self.arrived_bytes += after.arrived_bytes - before.arrived_bytes;
        self.segments += after.segments - before.segments;
        self.retransmitted += after.retransmitted - before.retransmitted;
        self.fast_recoveries += after.fast_recoveries - before.fast_recoveries;
        self.timeouts += after.timeouts - before.timeouts;
        self.held_up = self.held_up + (after.held_up - before.held_up);
    }
}

impl Connection {
    /// The connections of flow `name`, on one of its lanes. File sizes come from the random stream `files/NUMBER`, random
    /// decisions of congestion control from `tcp/NUMBER`.
    pub(super) fn new(
        name: &str,
        id: ConnectionId,
        lane: u32,
        spec: &TcpFlowSpec,
        seed: Seed,
    ) -> Result<Connection, NetworkError> {
        let wrong = |error| NetworkError::Tcp { flow: name.to_owned(), error };
        let draws = seed.stream(&format!("tcp/{}", id.0));
        let (mut files, mut film) = (None, None);
        match spec.work {
            Work::Transfer(_) | Work::Pages(_) => {}
            Work::Files(of) => {
                let of = Files::new(of, seed.stream(&format!("files/{}", id.0)));
                let wrong = |error| NetworkError::Files { flow: name.to_owned(), error };
                files = Some(of.map_err(wrong)?);
            }
            Work::Video(video) => {
                let wrong = |error| NetworkError::Video { flow: name.to_owned(), error };
                film = Some(Box::new(Film::new(Player::new(video).map_err(wrong)?)));
            }
        }
        let mut connection = Connection {
            sender: Sender::with_draws(&spec.tcp, draws).map_err(wrong)?,
            receiver: Receiver::new(&spec.tcp).map_err(wrong)?,
            spec: spec.clone(),
            number: lane,
            lanes: spec.lane_count(),
            state: State::Waiting(Time::MAX),
            stirred: Stirred { sender: true, receiver: true },
            files,
            film,
            request_at: None,
            answered_from: u64::MAX,
            fetched: false,
            timer: Timer::new(Event::Connection(id), OUTSIDE),
            armed: Time::MAX,
            counters: TcpCounters::default(),
            before: EndCounters::default(),
        };
        if !connection.is_lane() {
            connection.pause(spec.start);
        }
        Ok(connection)
    }

    /// Whether a browser requests what the connection carries.
    fn is_lane(&self) -> bool {
        matches!(self.spec.work, Work::Pages(_))
    }

    /// Waits before the next transfer: a user first looks at the previous one.
    fn pause(&mut self, now: Time) {
        let pause = self.files.as_mut().map_or(Span::ZERO, Files::next_pause);
        self.state = State::Waiting(now.saturating_add(pause));
    }

    /// The timer has expired.
    pub(super) fn on_timer(&mut self, now: Time) {
        self.armed = Time::MAX;
        self.stirred = Stirred { sender: true, receiver: true };
        match self.state {
            State::Open(_) if now >= self.spec.stop => {
                self.account(now);
                self.over(now);
            }
            State::Waiting(_) if now >= self.spec.stop => self.over(now),
            State::Waiting(at) if at <= now => self.begin(now),
            State::Open(_) => {
                self.sender.on_timer(now);
                self.receiver.on_timer(now);
                if self.request_at.is_some_and(|at| at <= now) {
                    self.request(now);
                }
            }
            State::Waiting(_) | State::Over => {}
        }
    }

    fn over(&mut self, now: Time) {
        self.state = State::Over;
        if let Some(film) = &mut self.film {
            film.end(now);
        }
    }

    /// The player requests its next segment, over the connection that is open.
    fn request(&mut self, now: Time) {
        let Some(film) = &mut self.film else { return };
        let bytes = film.request(now);
        self.request_at = None;
        self.state = State::Open(now);
        self.answered_from += bytes;
        self.sender.write(bytes);
        self.stirred.sender = true;
    }

    /// The browser requests so many bytes over this connection, which is opened if it is not open. The request itself is no
    /// packet: it comes with the acknowledgement of what came before, or with the handshake.
    pub(super) fn fetch(&mut self, bytes: u64, now: Time) {
        if let State::Waiting(_) = self.state {
            self.receiver.open();
            self.answered_from = 0;
        }
        self.state = State::Open(now);
        self.request_at = None;
        self.answered_from += bytes;
        self.sender.write(bytes);
        self.stirred = Stirred { sender: true, receiver: true };
    }

    /// The page has been loaded; its connection is not used again.
    pub(super) fn leave(&mut self, now: Time) {
        if let State::Open(_) = self.state {
            self.account(now);
            self.renew();
            self.state = State::Waiting(Time::MAX);
        }
    }

    /// Whether the receiver sends the next request, or could, since all of the data requested so far have arrived. The
    /// acknowledgement goes with the request, and does not wait for further segments.
    #[inline]
    fn answer(&mut self) {
        // Most connections have neither browser nor player: this is asked first.
        if self.answered_from != u64::MAX && self.receiver.delivered_bytes() >= self.answered_from {
            self.receiver.acknowledge();
        }
    }

    fn begin(&mut self, now: Time) {
        self.receiver.open();
        if self.film.is_some() {
            self.answered_from = 0;
            return self.request(now);
        }
        let size = match (&mut self.files, self.spec.work) {
            (Some(files), _) => Some(files.next_bytes()),
            (None, Work::Transfer(bytes)) => bytes,
            (None, Work::Files(_) | Work::Pages(_) | Work::Video(_)) => None,
        };
        self.state = State::Open(now);
        self.sender.write(size.unwrap_or(u64::MAX / 2));
        if self.spec.closes && size.is_some() {
            self.sender.close();
        }
    }

    /// A segment of one of the flow's connections reaches the receiver or the sender. Segments that reach the receiver at
    /// one instant are a batch, after which [`Connection::end_batch`] follows.
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
                self.receiver.on_batched(segment, now);
                self.stirred.receiver = true;
                self.answer();
            }
            Direction::Acks => {
                if let Some(round_trip) = self.sender.on_segment(segment, now) {
                    self.counters.round_trips.add(round_trip);
                }
                self.stirred.sender = true;
            }
        }
    }

    /// Whether the receiver waits for the end of a batch.
    pub(super) fn in_batch(&self) -> bool {
        self.receiver.in_batch()
    }

    /// No more segments reach the receiver at this instant.
    pub(super) fn end_batch(&mut self, now: Time) {
        self.receiver.end_batch(now);
        self.stirred.receiver = true;
        self.answer();
    }

    /// The next segment to send; `None` if there is none for now. A transfer that is then complete ends.
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
        if self.request_at.is_none() && self.is_complete() {
            self.counters.sessions.add(now - began);
            if self.is_lane() {
                self.request_at = Some(Time::MAX);
                self.fetched = true;
            } else if self.film.is_none() {
                self.end(now);
            } else if self.has_segment(now) {
                return self.poll_transmit(now);
            }
        }
        None
    }

    /// A segment of a video has come whole. Whether the next is requested at once: the request comes with the
    /// acknowledgement.
    fn has_segment(&mut self, now: Time) -> bool {
        let Some(film) = &mut self.film else { return false };
        let next = film.on_segment(now);
        if next > now {
            self.request_at = Some(next);
            return false;
        }
        self.request(now);
        true
    }

    /// A packet of the sender goes to the queue of the sender's station.
    pub(super) fn on_to_station(&mut self, packet_bytes: u32) {
        self.sender.on_queued(packet_bytes);
    }

    /// The sender's station no longer has a packet.
    pub(super) fn on_left_station(&mut self, packet_bytes: u32) {
        self.sender.on_released(packet_bytes);
        self.stirred.sender = true;
    }

    fn is_complete(&self) -> bool {
        if self.spec.closes && self.film.is_none() && !self.is_lane() {
            self.sender.is_finished()
        } else {
            self.sender.backlog_bytes() == 0
        }
    }

    /// Ends the transfer; the next transfer has its own connection.
    fn end(&mut self, now: Time) {
        self.account(now);
        if self.files.is_none() {
            self.state = State::Over;
            return;
        }
        self.renew();
        self.pause(now);
    }

    /// Both ends are those of the next connection.
    fn renew(&mut self) {
        self.number = self.number.wrapping_add(self.lanes);
        self.sender.restart();
        self.receiver.restart();
    }

    /// Adds the counts of the present connection, which ends.
    fn account(&mut self, now: Time) {
        self.counters.add(&self.end_counters(now), &self.before);
        self.before = EndCounters::default();
    }

    /// Ensures that the timer expires in time.
    pub(super) fn arm(&mut self, queue: &mut EventQueue<Event>) {
        let next = match self.state {
            State::Waiting(at) => at,
            State::Open(_) => {
                let request_at = self.request_at.unwrap_or(Time::MAX);
                self.sender.next_timer().min(self.receiver.next_timer()).min(request_at)
            }
            State::Over => return,
        };
        let next = next.min(self.spec.stop);
        // A timer that expires too early costs less than a timer moved with every segment.
        if next < self.armed {
            self.armed = next;
            self.timer.set(Some(next), queue);
        }
    }

    /// From now on segments take `hops` hops over the air, the slowest of which sends at `rate`.
    pub(super) fn set_path(&mut self, hops: u32, rate: DataRate) {
        self.sender.set_path(hops, rate);
    }

    /// The sender of the present connection; `None` between connections.
    pub(super) fn sender(&self) -> Option<&Sender> {
        matches!(self.state, State::Open(_)).then_some(&self.sender)
    }

    /// The round-trip time that the receiver reports, if it reports one.
    pub(super) fn reported_rtt(&self) -> Option<Span> {
        match self.spec.reports? {
            RttKind::Base => self.receiver.base_rtt(),
            RttKind::Smoothed => self.receiver.smoothed_rtt(),
        }
    }

    /// What the player did until now since counting began, and the stalls that ended in this time; `None` if the flow is not a
    /// video.
    pub(super) fn video(&self, now: Time) -> Option<(VideoCounters, &Timings)> {
        self.film.as_ref().map(|film| film.counters(now))
    }

    /// Restarts counting.
    pub(super) fn start_counting(&mut self, now: Time) {
        if let Some(film) = &mut self.film {
            film.start_counting(now);
        }
        self.counters = TcpCounters::default();
        self.before = self.end_counters(now);
    }

    /// The counts since counting began, until `now`.
    pub(super) fn counters(&self, now: Time) -> TcpCounters {
        let mut counters = TcpCounters { at_once: 1, ..self.counters.clone() };
        if matches!(self.state, State::Open(_)) {
            counters.add(&self.end_counters(now), &self.before);
        }
        counters
    }

    fn end_counters(&self, now: Time) -> EndCounters {
        let sent = self.sender.counters();
        EndCounters {
            arrived_bytes: self.receiver.arrived_bytes(),
            segments: sent.segments,
            retransmitted: sent.retransmitted,
            fast_recoveries: sent.fast_recoveries,
            timeouts: sent.timeouts,
            held_up: self.sender.held_up(now),
        }
    }
}
