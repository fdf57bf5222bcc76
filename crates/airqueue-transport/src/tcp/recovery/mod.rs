//! Outstanding octets, how their loss is detected, and which octets are sent next.

mod counting;
mod prr;
mod scoreboard;
mod timing;

use super::congestion::LossState;
use super::delivery::DeliveryRates;
use super::ranges::Range;
use super::spec::FastRecovery;
use airqueue_core::{Span, Time};
use counting::Counting;
use timing::Timing;

/// How a sender detects lost segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// By three duplicate acknowledgements, or by octets that have arrived beyond a hole (RFC 6582, RFC 6675).
    Counting,
    /// By the time at which each segment was sent, with tail loss probes (RACK-TLP, RFC 8985) and proportional rate
    /// reduction (RFC 9937), as in Linux. Without SACK equal to [`LossDetection::Counting`].
    Timing,
}

/// The sending end's record of the octets that it has sent.
#[derive(Clone, Debug)]
pub(super) struct Recovery(Machine);

#[derive(Clone, Debug)]
enum Machine {
    Counting(Counting),
    Timing(Timing),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecoveryPhase {
    Open,
    /// Fast recovery.
    Fast,
    /// After a timeout, until all octets sent before the timeout are acknowledged.
    Timeout,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckInfo<'a> {
    /// The octet expected next.
    pub(super) ack: u64,
    /// The octets that have arrived beyond `ack`.
    pub(super) blocks: &'a [Range],
    /// The segment carries only the acknowledgement.
    pub(super) bare: bool,
    pub(super) now: Time,
    /// The smoothed round-trip time before the acknowledgement.
    pub(super) srtt: Option<Span>,
}

/// The effect of an acknowledgement or a timer; by default none, or only that a segment arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AckEffect {
    /// New data have arrived.
    pub(super) advance: Option<Advance>,
    /// Segments are lost, with this much outstanding: fast recovery begins.
    pub(super) loss: Option<u64>,
    /// The beginning of fast recovery restarts the retransmission timer.
    pub(super) restarts_timer: bool,
    /// A lost segment was replaced before its loss was known: there was congestion with this much outstanding, and
    /// nothing is left to retransmit.
    pub(super) repaired: Option<u64>,
    /// A probe is sent next.
    pub(super) probe: bool,
    /// Time from the sending of the latest segment that arrived to its acknowledgement, if the segment was sent once
    /// and the time is known.
    pub(super) rtt: Option<Span>,
}

/// New data have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Advance {
    /// Bytes acknowledged.
    pub(super) bytes: u64,
    /// Bytes outstanding before the acknowledgement.
    pub(super) flight: u64,
    /// Bytes that the window may grow by; zero in fast recovery.
    pub(super) countable: u64,
    /// Fast recovery ends, and the window is limited to this.
    pub(super) cap: Option<u64>,
    /// Bytes by which the window shrinks, down to one segment.
    pub(super) deflates: u64,
    /// The retransmission timer is restarted.
    pub(super) restarts_timer: bool,
}

/// What limits the next segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub(super) cwnd: u64,
    /// Bytes of the receive window beyond the last acknowledgement.
    pub(super) window: u64,
    /// The octet after the last byte to send.
    pub(super) data_end: u64,
    /// FIN follows the data.
    pub(super) closed: bool,
    /// Nagle's algorithm: a small segment waits while octets are outstanding.
    pub(super) nagle: bool,
    /// The controller sets the window in fast recovery too: no proportional rate reduction.
    pub(super) steered: bool,
}

/// Octets of one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentRange {
    pub(super) range: Range,
    pub(super) kind: SegmentKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SegmentKind {
    New,
    /// Retransmitted in order after a timeout.
    Again,
    /// Retransmitted into a hole, in fast recovery.
    Hole,
    /// Retransmitted at once because an acknowledgement asks for the segment.
    AtOnce,
    /// The last segment, when no other can be sent (RFC 6675, NextSeg, rule 4).
    Rescue,
    /// The last segment, as a probe for an acknowledgement (RFC 8985, section 7.3).
    Probe,
}

impl Budget {
    /// The end of a segment that begins at `start`, with octets below `limit`; FIN is sent with the last segment.
    fn cut(&self, start: u64, limit: u64, mss: u64) -> u64 {
        let end = (start + mss).min(self.data_end).min(limit);
        end + u64::from(self.closed && end == self.data_end && limit > self.data_end)
    }

    /// The octet after the last octet to send.
    fn end(&self) -> u64 {
        self.data_end + u64::from(self.closed)
    }

    /// Bytes of data among the octets up to `end`.
    fn data(&self, start: u64, end: u64) -> u64 {
        end.min(self.data_end) - start.min(self.data_end)
    }

    /// Segments with new data from `high` on that the receive window and the application allow. A small segment at the end
    /// counts if it would not wait for acknowledgements of those before.
    pub(super) fn ready(&self, una: u64, high: u64, mss: u64) -> u64 {
        let data = self.data_end.saturating_sub(high);
        let room = una.saturating_add(self.window).saturating_sub(high);
        let small = data <= room && (self.closed || !self.nagle);
        if small { data.div_ceil(mss) } else { data.min(room) / mss }
    }

    /// New data, if `room` and the receive window allow.
    fn fresh(&self, una: u64, high: u64, mss: u64, room: u64) -> Option<SegmentRange> {
        if high >= self.end() {
            return None;
        }
        let end = self.cut(high, u64::MAX, mss);
        let data = self.data(high, end);
        let beyond = high + data > una.saturating_add(self.window);
        let small = data < mss && !self.closed && una < high;
        if data > room || beyond || (self.nagle && small) {
            return None;
        }
        Some(SegmentRange { range: Range { start: high, end }, kind: SegmentKind::New })
    }
}

/// Dispatches a call to the variant in use.
macro_rules! either {
    ($recovery:expr, $one:ident => $call:expr) => {
        match $recovery {
            Machine::Counting($one) => $call,
            Machine::Timing($one) => $call,
        }
    };
}

impl Recovery {
    pub(super) fn new(
        detection: LossDetection,
        mss_bytes: u32,
        sack: bool,
        limited_transmit: bool,
        fast: FastRecovery,
        margin: Span,
    ) -> Recovery {
        match detection {
            LossDetection::Timing if sack => {
                Recovery(Machine::Timing(Timing::new(mss_bytes, margin)))
            }
            _ => {
                Recovery(Machine::Counting(Counting::new(mss_bytes, sack, limited_transmit, fast)))
            }
        }
    }

    /// Whether the retransmission timer is restarted when these octets are sent: with detection by time, when the first
    /// outstanding octets are retransmitted in recovery, as in Linux (`tcp_xmit_retransmit_queue`). Otherwise the timer may
    /// expire before the acknowledgement of a retransmission can arrive.
    pub(super) fn restarts_timer(&self, piece: &SegmentRange) -> bool {
        let first_again = piece.kind == SegmentKind::Hole && piece.range.start == self.una();
        first_again && matches!(self.0, Machine::Timing(_))
    }

    pub(super) fn una(&self) -> u64 {
        either!(&self.0, one => one.una())
    }

    pub(super) fn high(&self) -> u64 {
        either!(&self.0, one => one.high())
    }

    pub(super) fn is_idle(&self) -> bool {
        self.una() == self.high()
    }

    pub(super) fn is_recovering(&self) -> bool {
        either!(&self.0, one => one.phase() != RecoveryPhase::Open)
    }

    /// FlightSize: octets sent, and neither acknowledged nor given up by a timeout.
    pub(super) fn flight(&self) -> u64 {
        either!(&self.0, one => one.flight())
    }

    /// Octets sent, and neither arrived nor lost, as far as is known.
    pub(super) fn in_flight(&self) -> u64 {
        match &self.0 {
            Machine::Counting(one) => one.flight(),
            Machine::Timing(one) => one.in_flight(),
        }
    }

    /// Octets marked lost so far, in detection by time.
    pub(super) fn lost(&self) -> u64 {
        match &self.0 {
            Machine::Counting(_) => 0,
            Machine::Timing(one) => one.lost(),
        }
    }

    /// Whether the next segment probes for the loss of the last ones.
    pub(super) fn is_probing(&self) -> bool {
        match &self.0 {
            Machine::Counting(_) => false,
            Machine::Timing(one) => one.is_probing(),
        }
    }

    /// Whether lost octets have not been retransmitted yet.
    pub(super) fn owes(&self) -> bool {
        match &self.0 {
            Machine::Counting(one) => one.phase() != RecoveryPhase::Open,
            Machine::Timing(one) => one.owes(),
        }
    }

    pub(super) fn loss_state(&self) -> LossState {
        match either!(&self.0, one => one.phase()) {
            RecoveryPhase::Open => LossState::Open,
            RecoveryPhase::Fast => LossState::Recovery,
            RecoveryPhase::Timeout => LossState::Timeout,
        }
    }

    /// Under detection by time `rates` receives the segments that have arrived.
    pub(super) fn on_ack(
        &mut self,
        news: &AckInfo<'_>,
        rates: Option<&mut DeliveryRates>,
    ) -> AckEffect {
        if news.ack > self.high() || news.ack < self.una() {
            return AckEffect::default();
        }
        match &mut self.0 {
            Machine::Counting(one) => one.on_ack(news),
            Machine::Timing(one) => one.on_ack(news, rates),
        }
    }

    /// When [`Recovery::on_timer`] is to be called.
    pub(super) fn next_timer(&self) -> Time {
        match &self.0 {
            Machine::Counting(_) => Time::MAX,
            Machine::Timing(one) => one.next_timer(),
        }
    }

    /// Processes expired timers except the retransmission timer; does nothing if called early.
    pub(super) fn on_timer(&mut self, now: Time, srtt: Option<Span>) -> AckEffect {
        match &mut self.0 {
            Machine::Counting(_) => AckEffect::default(),
            Machine::Timing(one) => one.on_timer(now, srtt),
        }
    }

    /// The retransmission timer has expired. Octets acknowledged selectively stay acknowledged; receivers here never
    /// renege.
    pub(super) fn on_timeout(&mut self, now: Time) {
        match &mut self.0 {
            Machine::Counting(one) => one.on_timeout(),
            Machine::Timing(one) => one.on_timeout(now),
        }
    }

    /// The next octets to send.
    pub(super) fn next_range(&mut self, budget: &Budget) -> Option<SegmentRange> {
        either!(&mut self.0, one => one.next_range(budget))
    }

    /// The piece has been sent; the retransmission timer runs until `timeout`.
    pub(super) fn on_sent(
        &mut self,
        piece: SegmentRange,
        now: Time,
        srtt: Option<Span>,
        timeout: Time,
    ) {
        match &mut self.0 {
            Machine::Counting(one) => one.on_sent(piece),
            Machine::Timing(one) => one.on_sent(piece, now, srtt, timeout),
        }
    }

    /// Schedules the tail loss probe, if one is to be sent; the retransmission timer runs until `timeout`.
    pub(super) fn arm_probe(&mut self, now: Time, srtt: Option<Span>, timeout: Time) {
        match &mut self.0 {
            Machine::Counting(_) => {}
            Machine::Timing(one) => one.arm_probe(now, srtt, timeout),
        }
    }
}
