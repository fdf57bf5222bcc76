//! What is outstanding, how its loss is noticed, and what goes out next.

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

/// How a sender notices that segments are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// By three duplicate acknowledgements or what has arrived beyond a hole (RFC 6582, RFC 6675).
    Counting,
    /// By when each segment was sent, with probes for lost tails (RACK-TLP, RFC 8985), and with
    /// proportional rate reduction (RFC 9937), as Linux does. Without SACK the same as
    /// [`LossDetection::Counting`].
    Timing,
}

/// The sending end's view of the octets that it has sent.
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
    /// After a timeout, until all that was sent before it is acknowledged.
    Timeout,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckInfo<'a> {
    /// The octet expected next.
    pub(super) ack: u64,
    /// What has arrived beyond it.
    pub(super) blocks: &'a [Range],
    /// The segment has nothing else to say.
    pub(super) bare: bool,
    pub(super) now: Time,
    /// The smoothed round trip time before it.
    pub(super) srtt: Option<Span>,
}

/// What an acknowledgement or a timer means; by default nothing, or no more than that something arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AckEffect {
    /// New data have arrived.
    pub(super) advance: Option<Advance>,
    /// Segments are lost, and this much was outstanding: fast recovery begins.
    pub(super) loss: Option<u64>,
    /// The retransmission timer starts anew with that.
    pub(super) restarts_timer: bool,
    /// A lost segment has been replaced before it was known to be: there was congestion with this much
    /// outstanding, and nothing remains to be done.
    pub(super) repaired: Option<u64>,
    /// A probe goes out next.
    pub(super) probe: bool,
    /// How long the latest segment that arrived was under way with its acknowledgement, if it was sent
    /// once and its time is known.
    pub(super) rtt: Option<Span>,
}

/// New data have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Advance {
    /// How much.
    pub(super) bytes: u64,
    /// What was outstanding before.
    pub(super) flight: u64,
    /// What the window may grow by; nothing in fast recovery.
    pub(super) countable: u64,
    /// Fast recovery ends, and the window is to be no larger than this.
    pub(super) cap: Option<u64>,
    /// By so much the window shrinks, down to a segment.
    pub(super) deflates: u64,
    /// The retransmission timer starts anew.
    pub(super) restarts_timer: bool,
}

/// What limits the next segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub(super) cwnd: u64,
    /// Bytes that the receiver takes beyond the last acknowledgement.
    pub(super) window: u64,
    /// The octet after the last byte that there is to send.
    pub(super) data_end: u64,
    /// FIN follows them.
    pub(super) closed: bool,
    /// A small segment waits while something is outstanding.
    pub(super) nagle: bool,
    /// The window is the controller's in fast recovery too: no proportional rate reduction.
    pub(super) steered: bool,
}

/// Octets that go out together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentRange {
    pub(super) range: Range,
    pub(super) kind: SegmentKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SegmentKind {
    New,
    /// In its turn after a timeout.
    Again,
    /// A hole, in fast recovery.
    Hole,
    /// The segment that an acknowledgement asks for.
    AtOnce,
    /// The last one, when nothing else can go (RFC 6675, NextSeg, rule 4).
    Rescue,
    /// The last one, to get an acknowledgement (RFC 8985, section 7.3).
    Probe,
}

impl Budget {
    /// Where a segment that begins at `start` ends, of octets below `limit`; FIN goes with the last.
    fn cut(&self, start: u64, limit: u64, mss: u64) -> u64 {
        let end = (start + mss).min(self.data_end).min(limit);
        end + u64::from(self.closed && end == self.data_end && limit > self.data_end)
    }

    /// The octet after everything there is to send.
    fn end(&self) -> u64 {
        self.data_end + u64::from(self.closed)
    }

    /// Bytes of data among the octets up to `end`.
    fn data(&self, start: u64, end: u64) -> u64 {
        end.min(self.data_end) - start.min(self.data_end)
    }

    /// Data never sent before, if `room` has place for them and so has the receiver.
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

/// Passes a call on to whichever it is.
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
    ) -> Recovery {
        match detection {
            LossDetection::Timing if sack => Recovery(Machine::Timing(Timing::new(mss_bytes))),
            _ => {
                Recovery(Machine::Counting(Counting::new(mss_bytes, sack, limited_transmit, fast)))
            }
        }
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

    /// FlightSize: sent, and neither acknowledged nor given up by a timeout.
    pub(super) fn flight(&self) -> u64 {
        either!(&self.0, one => one.flight())
    }

    /// Sent, and neither arrived nor lost, as far as is known.
    pub(super) fn in_flight(&self) -> u64 {
        match &self.0 {
            Machine::Counting(one) => one.flight(),
            Machine::Timing(one) => one.in_flight(),
        }
    }

    /// Octets marked lost so far, by time.
    pub(super) fn lost(&self) -> u64 {
        match &self.0 {
            Machine::Counting(_) => 0,
            Machine::Timing(one) => one.lost(),
        }
    }

    /// Something lost has not been sent again yet.
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

    /// `rates` gets the segments that have arrived, if loss is noticed by time.
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

    /// When [`Recovery::on_timer`] wants to be called.
    pub(super) fn next_timer(&self) -> Time {
        match &self.0 {
            Machine::Counting(_) => Time::MAX,
            Machine::Timing(one) => one.next_timer(),
        }
    }

    /// Does what is due, but for the retransmission timeout; nothing if called early.
    pub(super) fn on_timer(&mut self, now: Time, srtt: Option<Span>) -> AckEffect {
        match &mut self.0 {
            Machine::Counting(_) => AckEffect::default(),
            Machine::Timing(one) => one.on_timer(now, srtt),
        }
    }

    /// The retransmission timer has run out. What has been acknowledged selectively stays so; receivers
    /// here never take it back.
    pub(super) fn on_timeout(&mut self, now: Time) {
        match &mut self.0 {
            Machine::Counting(one) => one.on_timeout(),
            Machine::Timing(one) => one.on_timeout(now),
        }
    }

    /// What goes out next.
    pub(super) fn next_range(&mut self, budget: &Budget) -> Option<SegmentRange> {
        either!(&mut self.0, one => one.next_range(budget))
    }

    /// That piece has gone out; the retransmission timer runs until `timeout`.
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

    /// The probe of a lost tail is due a while from now, if one is to be sent; the retransmission timer
    /// runs until `timeout`.
    pub(super) fn arm_probe(&mut self, now: Time, srtt: Option<Span>, timeout: Time) {
        match &mut self.0 {
            Machine::Counting(_) => {}
            Machine::Timing(one) => one.arm_probe(now, srtt, timeout),
        }
    }
}
