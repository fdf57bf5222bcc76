//! The sending end of a connection.

mod device;
mod held_up;
mod sending;
mod steering;

use super::congestion::{Acked, Beginning, Controller, Event};
use super::delivery::DeliveryRates;
use super::handshake::{Handshake, Progress};
use super::pacing::{Pacer, Pacing};
use super::receive_window::ReceiveWindow;
use super::recovery::{AckEffect, AckInfo, Advance, Recovery};
use super::round_trips::RoundTrips;
use super::rto::Rto;
use super::segment::Segment;
use super::spec::{Halving, Opening, SpecError, TcpSpec, clock_value};
use super::tcp_ap::TcpApSpec;
use airqueue_core::{DataRate, RandomStream, Seed, Span, Time};
use device::Device;
use held_up::HeldUp;

/// Divides the data of an application into segments, and sends each segment until it is acknowledged.
///
/// After each input ([`Sender::open`], [`Sender::write`], [`Sender::close`], [`Sender::on_segment`],
/// [`Sender::on_timer`]) the caller sends the segments from [`Sender::poll_transmit`] until none is left, and then
/// asks for [`Sender::next_timer`].
#[derive(Debug)]
pub struct Sender {
    spec: TcpSpec,
    handshake: Handshake,
    recovery: Recovery,
    controller: Box<dyn Controller>,
    /// Delivery rates, for a controller that uses them.
    rates: Option<DeliveryRates>,
    /// The random stream of the congestion controller.
    draws: RandomStream,
    rto: Rto,
    pacer: Pacer,
    /// Bytes written so far.
    written: u64,
    closed: bool,
    /// When the retransmission timer expires.
    deadline: Time,
    /// The octet after the segment whose round trip is being measured, and when the segment was sent.
    timed: Option<(u64, Time)>,
    /// For the counters, and to know how old the first outstanding segment is.
    round_trips: RoundTrips,
    /// The shortest round trip so far.
    shortest: Option<Span>,
    /// What this host has handed to its device: with segmentation offload, or once a device says what has left it.
    device: Option<Device>,
    /// The octet after the last octet for which the receiver has announced room; `u64::MAX`: any.
    edge: u64,
    /// How long that has kept data back.
    held_up: HeldUp,
    /// The first outstanding octet when the timer last expired.
    timed_out: Option<u64>,
    /// When data were last sent.
    last_sent: Option<Time>,
    /// The timestamp of the other end to echo.
    recent: Option<Time>,
    /// Marks in acknowledgements up to this octet belong to congestion that has been answered already.
    answered: u64,
    /// The next new segment carries CWR.
    announces_reduction: bool,
    counters: SenderCounters,
}

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Segments with data or FIN, counted at each transmission.
    pub segments: u64,
    /// Bytes of data in them.
    pub sent_bytes: u64,
    /// Bytes of data acknowledged.
    pub acknowledged_bytes: u64,
    /// Retransmitted segments.
    pub retransmitted: u64,
    /// Number of entries into fast recovery.
    pub fast_recoveries: u64,
    /// Number of expiries of the retransmission timer.
    pub timeouts: u64,
    /// Probes for lost tails (RFC 8985, section 7).
    pub probes: u64,
    /// Number of window reductions by ECN marks.
    pub ecn_reductions: u64,
}

impl Sender {
    /// The sending end of a connection.
    ///
    /// # Errors
    ///
    /// If the specification is invalid.
    pub fn new(spec: &TcpSpec) -> Result<Sender, SpecError> {
        Sender::with_draws(spec, Seed(0).stream("tcp"))
    }

    /// As [`Sender::new`]; the random numbers of the congestion controller come from `draws`.
    ///
    /// # Errors
    ///
    /// If the specification is invalid.
    pub fn with_draws(spec: &TcpSpec, draws: RandomStream) -> Result<Sender, SpecError> {
        spec.check()?;
        Ok(Sender::of(spec, draws))
    }

    /// Turns into the sending end of a new connection with the same specification.
    pub fn restart(&mut self) {
        let mut round_trips = std::mem::take(&mut self.round_trips);
        round_trips.forget();
        let device = self.device.map(Device::restarted);
        *self = Sender { round_trips, device, ..Sender::of(&self.spec, self.draws.clone()) };
    }

    fn of(spec: &TcpSpec, mut draws: RandomStream) -> Sender {
        let end = &spec.sender;
        let active = spec.opening == Opening::BySender;
        let open = spec.opening == Opening::Open;
        let controller = end.congestion.begin(Beginning {
            mss_bytes: spec.mss_bytes,
            initial_bytes: spec.initial_window_bytes(),
            sender: end,
            draws: &mut draws,
        });
        let by_rate = controller.steers_by_rate();
        Sender {
            spec: *spec,
            handshake: Handshake::new(active, open, end.rto, spec.ecn),
            recovery: Recovery::new(
                end.loss_detection,
                spec.mss_bytes,
                spec.sack,
                end.limited_transmit,
                end.fast_recovery,
                end.rto.margin,
            ),
            controller,
            rates: by_rate.then(DeliveryRates::new),
            draws,
            rto: Rto::new(end.rto),
            pacer: Pacer::new(end.pacing, spec.mss_bytes, by_rate),
            written: 0,
            closed: false,
            deadline: Time::MAX,
            timed: None,
            round_trips: RoundTrips::default(),
            shortest: None,
            device: end.segmentation_offload.then(Device::default),
            // Without a handshake nobody has announced the first window.
            edge: if open {
                1 + ReceiveWindow::first(spec.receiver.most_window_bytes())
            } else {
                0
            },
            held_up: HeldUp::default(),
            timed_out: None,
            last_sent: None,
            recent: None,
            answered: 0,
            announces_reduction: false,
            counters: SenderCounters::default(),
        }
    }

    /// The path has changed: with [`Pacing::TcpAp`] segments are paced for this many hops, the slowest of which sends
    /// at `rate`. Measurements on the old path fade as new samples arrive.
    pub fn set_path(&mut self, hops: u32, rate: DataRate) {
        if let Pacing::TcpAp(path) = &mut self.spec.sender.pacing {
            *path = TcpApSpec { hops, rate, ..*path };
            self.pacer.set_path(*path, self.spec.mss_bytes);
        }
    }

    /// Opens the connection if this end is the active opener ([`Opening::BySender`]).
    pub fn open(&mut self) {
        self.handshake.open();
    }

    /// Adds `bytes` to the data to send, and opens the connection. For a transfer without end, write `u64::MAX / 2`
    /// once. After [`Sender::close`] data is ignored.
    pub fn write(&mut self, bytes: u64) {
        if !self.closed {
            self.open();
            self.note_application_limit();
            self.written = self.written.saturating_add(bytes).min(u64::MAX / 2);
        }
    }

    /// Ends the data: FIN is sent with the last segment.
    pub fn close(&mut self) {
        self.open();
        self.closed = true;
    }

    /// Whether the connection is open, as seen by this end.
    pub fn is_open(&self) -> bool {
        self.handshake.is_open()
    }

    /// Whether all data and the FIN have been acknowledged.
    pub fn is_finished(&self) -> bool {
        self.closed && self.recovery.una() == self.data_end() + 1
    }

    /// Bytes written but not yet acknowledged.
    pub fn backlog_bytes(&self) -> u64 {
        self.written - self.counters.acknowledged_bytes
    }

    /// Octets sent, and neither acknowledged nor given up by a timeout.
    pub fn flight_bytes(&self) -> u64 {
        self.recovery.flight()
    }

    /// The congestion window.
    pub fn cwnd_bytes(&self) -> u64 {
        self.controller.cwnd_bytes()
    }

    /// The slow start threshold; `u64::MAX` when there is none yet.
    pub fn ssthresh_bytes(&self) -> u64 {
        self.controller.ssthresh_bytes()
    }

    /// The smoothed round trip time; `None` before the first sample.
    pub fn srtt(&self) -> Option<Span> {
        self.rto.srtt()
    }

    /// The current retransmission timeout.
    pub fn rto(&self) -> Span {
        self.rto.timeout()
    }

    /// The counters so far.
    pub fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// Processes a segment that has arrived. Returns the round-trip time that it shows: the time since the newest of the
    /// segments was sent that it is the first to report, by its acknowledgement or by a block of SACK. Without one if what it
    /// acknowledges fills a gap: what was sent once may have waited behind the gap.
    pub fn on_segment(&mut self, segment: &Segment, now: Time) -> Option<Span> {
        let progress = self.handshake.on_segment(segment);
        if let Some(stamps) = segment.timestamps {
            self.recent = self.recent.max(Some(stamps.value));
        }
        match progress {
            Progress::Nothing => return None,
            Progress::Opened { sent } => {
                self.on_open(sent, now);
                if self.spec.sender.opens_with_data && self.written > 0 {
                    self.handshake.leave_ack_to_data();
                }
            }
            Progress::Open => {}
        }
        let ack = segment.ack?;
        // A window that was announced does not shrink.
        self.edge = self.edge.max(segment.window_edge(ack));
        self.pacer.on_ack();
        let bare = segment.end() == segment.seq;
        let marked = self.spec.ecn && segment.ece && !segment.syn;
        let srtt = self.rto.srtt();
        let news = AckInfo { ack, blocks: segment.sack.as_slice(), bare, now, srtt };
        let before = self.before_ack(ack);
        let effect = self.recovery.on_ack(&news, self.rates.as_mut());
        if effect.advance.is_some() {
            self.sample(ack, segment, now);
        }
        let round_trip = self.round_trips.on_ack(ack, segment.sack.as_slice(), now);
        if let Some(rtt) = round_trip {
            self.shortest = Some(self.shortest.map_or(rtt, |shortest| shortest.min(rtt)));
        }
        self.on_ack_effect(&effect, now);
        if let Some(advance) = effect.advance {
            self.on_advance(advance, effect.rtt, marked, now);
        }
        if let Some(before) = before {
            self.report(before, &effect, segment, now);
        }
        self.recovery.arm_probe(now, self.rto.srtt(), self.deadline);
        // At most once per window of data: RFC 3168, section 6.1.2.
        if marked && ack > self.answered && !self.recovery.is_recovering() {
            self.counters.ecn_reductions += 1;
            self.on_congestion(self.recovery.flight());
        }
        round_trip
    }

    /// Reacts to the losses that an acknowledgement has revealed.
    fn on_ack_effect(&mut self, effect: &AckEffect, now: Time) {
        if let Some(flight) = effect.loss {
            self.counters.fast_recoveries += 1;
            self.pacer.on_loss(now);
            self.on_congestion(flight);
            if effect.restarts_timer {
                self.deadline = now + self.rto.timeout();
            }
        } else if let Some(flight) = effect.repaired {
            self.on_congestion(flight);
        }
        if effect.probe {
            self.counters.probes += 1;
            // RFC 8985, section 7.3
            self.deadline = now + self.rto.timeout();
        }
    }

    fn on_open(&mut self, sent: Option<Time>, now: Time) {
        if let Some(sent) = sent {
            self.rto.on_sample(sent, now);
        }
        if self.handshake.has_retried() {
            // RFC 5681, section 3.1, and RFC 6298, (5.7).
            self.controller.cap(u64::from(self.spec.mss_bytes));
            self.rto.after_lost_syn();
        }
        let rtt = sent.map(|sent| now - sent);
        if let (Some(rates), Some(rtt)) = (&mut self.rates, rtt) {
            rates.on_rtt(rtt);
        }
        self.steer(Event::Opened { rtt }, now);
    }

    fn on_congestion(&mut self, flight: u64) {
        self.controller.on_congestion(self.at_stake(flight));
        self.answered = self.recovery.high();
        self.announces_reduction = self.spec.ecn;
    }

    /// The bytes to which a loss applies its reduction factor, besides the congestion window.
    fn at_stake(&self, flight: u64) -> u64 {
        match self.spec.sender.halving {
            Halving::Outstanding => flight,
            Halving::Window => self.budget().window,
        }
    }

    /// Measures a round-trip time: from the timestamp echoed with an acknowledgement of new data (RFC 7323, section
    /// 4.1), or for one segment at a time that was sent once (RFC 6298, section 3).
    fn sample(&mut self, ack: u64, segment: &Segment, now: Time) {
        if let Some(clock) = self.spec.timestamps {
            if let Some(echo) = segment.timestamps.and_then(|stamps| stamps.echo) {
                self.on_sample(echo, clock_value(now, clock));
            }
        } else if let Some((end, sent)) = self.timed
            && ack >= end
        {
            self.timed = None;
            self.on_sample(sent, now);
        }
    }

    fn on_sample(&mut self, sent: Time, now: Time) {
        self.rto.on_sample(sent, now);
        self.pacer.on_sample(now - sent);
    }

    fn on_advance(&mut self, advance: Advance, rtt: Option<Span>, marked: bool, now: Time) {
        let fin = u64::from(self.is_finished());
        self.counters.acknowledged_bytes += advance.bytes - fin;
        // RFC 6298, (5.2) and (5.3)
        if self.recovery.is_idle() {
            self.deadline = Time::MAX;
        } else if advance.restarts_timer {
            self.deadline = now + self.rto.timeout();
        }
        let cap = advance.cap.filter(|_| self.spec.sender.halving == Halving::Outstanding);
        if let Some(bytes) = cap.filter(|&bytes| bytes < self.controller.cwnd_bytes()) {
            self.controller.cap(bytes);
        }
        if advance.deflates > 0 {
            let left = self.controller.cwnd_bytes().saturating_sub(advance.deflates);
            self.controller.cap(left.max(self.spec.mss_bytes.into()));
        }
        // The window does not grow on a mark (RFC 3168, section 6.1.2).
        let used = self.is_used(advance.flight);
        if advance.countable == 0 {
            return;
        }
        let acked = Acked {
            bytes: advance.countable,
            now,
            srtt: self.rto.srtt(),
            rtt,
            una: self.recovery.una(),
            high: self.recovery.high(),
        };
        self.controller.on_round_trip(&acked);
        if !used {
            self.controller.on_unused(now);
        } else if !marked {
            self.controller.on_ack(&acked);
        }
    }

    /// When [`Sender::on_timer`] is to be called; [`Time::MAX`]: never.
    pub fn next_timer(&self) -> Time {
        let own = self.deadline.min(self.recovery.next_timer());
        own.min(self.handshake.next_timer()).min(self.pacer.next_timer())
    }

    /// Processes expired timers; does nothing if called early.
    pub fn on_timer(&mut self, now: Time) {
        self.handshake.on_timer(now);
        self.pacer.on_timer(now);
        let effect = self.recovery.on_timer(now, self.rto.srtt());
        self.on_ack_effect(&effect, now);
        if now >= self.deadline {
            self.deadline = Time::MAX;
            self.on_timeout(now);
        }
    }

    /// RFC 6298, (5.4) to (5.6); the timer starts again when the segment is sent.
    fn on_timeout(&mut self, now: Time) {
        let una = self.recovery.una();
        let again = self.timed_out == Some(una);
        self.counters.timeouts += 1;
        self.controller.on_timeout(self.at_stake(self.recovery.flight()), again);
        self.recovery.on_timeout(now);
        self.steer(Event::TimedOut, now);
        if self.pacer.backs_off() {
            self.rto.back_off();
        }
        self.pacer.on_loss(now);
        self.timed = None;
        self.timed_out = Some(una);
        self.answered = self.recovery.high();
        self.announces_reduction = self.spec.ecn;
    }
}
