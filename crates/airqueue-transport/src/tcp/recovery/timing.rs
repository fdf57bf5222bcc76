//! Loss detection by time: RACK and tail loss probes, RFC 8985, with proportional rate reduction, RFC 9937.

use super::prr::Prr;
use super::scoreboard::{Scoreboard, Sent};
use super::{AckEffect, AckInfo, Advance, Budget, RecoveryPhase, SegmentKind, SegmentRange};
use crate::tcp::delivery::DeliveryRates;
use crate::tcp::ranges::Range;
use airqueue_core::{Span, Time};

/// Segments beyond a hole that indicate a loss without waiting for reordering (RFC 8985, section 6.2, step 4).
const DUP_THRESH: u32 = 3;
/// TLP.max_ack_delay (section 7.2).
const LONGEST_ACK_DELAY: Span = Span::from_millis(200);
/// The probe timeout before the first round-trip sample (section 7.2).
const FIRST_PROBE: Span = Span::from_secs(1);

/// RACK's state for one connection.
#[derive(Clone, Debug)]
pub(super) struct Timing {
    mss: u64,
    /// What the timers below run beyond their time.
    margin: Span,
    una: u64,
    high: u64,
    board: Scoreboard,
    phase: RecoveryPhase,
    /// `high` when recovery began.
    recover: u64,
    /// The first lost segment is sent whatever the window allows.
    at_once: bool,
    prr: Prr,
    latest: Latest,
    /// RACK.min_RTT
    least_rtt: Option<Span>,
    /// RACK.reordering_seen
    reordering: bool,
    /// When segments that seem late count as lost.
    deadline: Time,
    probe: Probe,
}

/// The most recently sent segment among those that have arrived: RACK.xmit_ts, RACK.end_seq, RACK.rtt.
#[derive(Clone, Copy, Debug)]
struct Latest {
    at: Time,
    end: u64,
    rtt: Span,
}

/// Tail loss probes: section 7.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// When the probe is to be sent.
    deadline: Time,
    /// A probe is sent next.
    due: bool,
    /// TLP.end_seq: set while a probe is outstanding, to the octet after the highest octet sent at that time.
    end: Option<u64>,
    /// TLP.is_retrans
    again: bool,
}

/// The arrivals that an acknowledgement reports.
#[derive(Clone, Copy, Debug, Default)]
struct Brought {
    bytes: u64,
    rtt: Option<Span>,
}

/// The losses found at one time.
#[derive(Clone, Copy, Debug, Default)]
struct Lost {
    any: bool,
    /// A retransmission was lost.
    again: bool,
}

impl Timing {
    pub(super) fn new(mss_bytes: u32, margin: Span) -> Timing {
        Timing {
            mss: u64::from(mss_bytes),
            margin,
            una: 1,
            high: 1,
            board: Scoreboard::new(),
            phase: RecoveryPhase::Open,
            recover: 0,
            at_once: false,
            prr: Prr::default(),
            latest: Latest { at: Time::from_nanos(i64::MIN), end: 0, rtt: Span::ZERO },
            least_rtt: None,
            reordering: false,
            deadline: Time::MAX,
            probe: Probe { deadline: Time::MAX, due: false, end: None, again: false },
        }
    }

    pub(super) fn una(&self) -> u64 {
        self.una
    }

    pub(super) fn high(&self) -> u64 {
        self.high
    }

    pub(super) fn phase(&self) -> RecoveryPhase {
        self.phase
    }

    pub(super) fn flight(&self) -> u64 {
        self.high - self.una
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.board.in_flight()
    }

    pub(super) fn lost(&self) -> u64 {
        self.board.lost_bytes()
    }

    pub(super) fn owes(&self) -> bool {
        self.board.owes()
    }

    pub(super) fn on_ack(
        &mut self,
        news: &AckInfo<'_>,
        rates: Option<&mut DeliveryRates>,
    ) -> AckEffect {
        let flight = self.flight();
        let arrived = self.board.arrived_bytes(self.high);
        let brought = self.note_arrivals(news, rates);
        let acked = news.ack - self.una;
        self.una = news.ack;
        let repaired = self.end_probe(news, acked, brought.bytes).then_some(flight);
        let lost = self.detect(news.now, news.srtt);
        let loss = self.begin_fast_if(lost, flight - arrived).then_some(flight);
        if loss.is_none() && self.phase != RecoveryPhase::Open && self.una >= self.recover {
            self.phase = RecoveryPhase::Open;
        }
        // SafeACK of RFC 9937
        self.prr.on_delivered(brought.bytes, acked > 0 && !lost.any);
        let slow = self.phase == RecoveryPhase::Fast || loss.is_some();
        let advance = (acked > 0).then_some(Advance {
            bytes: acked,
            flight,
            countable: if slow { 0 } else { brought.bytes },
            deflates: 0,
            cap: None,
            restarts_timer: true,
        });
        AckEffect { advance, loss, repaired, rtt: brought.rtt, ..AckEffect::default() }
    }

    /// Section 6.2, steps 1 to 3.
    fn note_arrivals(
        &mut self,
        news: &AckInfo<'_>,
        mut rates: Option<&mut DeliveryRates>,
    ) -> Brought {
        let Timing { board, latest, least_rtt, reordering, .. } = self;
        let mut brought = Brought::default();
        let mut highest = board.highest_arrived();
        board.on_ack(news.ack, news.blocks, |range: Range, sent: Sent| {
            brought.bytes += range.bytes();
            if let Some(rates) = &mut rates {
                rates.on_arrival(range);
            }
            let rtt = news.now - sent.at;
            if sent.again {
                // The arrival may be of the earlier transmission.
                if least_rtt.is_some_and(|least| rtt < least) {
                    return;
                }
            } else {
                *least_rtt = Some(least_rtt.map_or(rtt, |least| least.min(rtt)));
                *reordering |= sent.end < highest;
                brought.rtt = Some(rtt);
            }
            highest = highest.max(sent.end);
            latest.rtt = rtt;
            if (sent.at, sent.end) > (latest.at, latest.end) {
                (latest.at, latest.end) = (sent.at, sent.end);
            }
        });
        brought
    }

    /// How much later than a segment sent after it a segment may arrive: section 6.2, step 4. Without D-SACK the
    /// multiplier stays at one.
    fn reordering_window(&self, srtt: Option<Span>) -> Span {
        let sure = self.phase != RecoveryPhase::Open || self.board.arrived() >= DUP_THRESH;
        match self.least_rtt {
            Some(least) if self.reordering || !sure => {
                let quarter = Span::from_nanos(least.as_nanos() / 4);
                srtt.map_or(quarter, |srtt| quarter.min(srtt))
            }
            _ => Span::ZERO,
        }
    }

    /// Section 6.2, step 5: the segments that are newly lost. The timer runs until the last of those that seem late would be.
    fn detect(&mut self, now: Time, srtt: Option<Span>) -> Lost {
        let Latest { at, end, rtt } = self.latest;
        let allowed = rtt + self.reordering_window(srtt);
        let is_before = |sent: &Sent| (sent.at, sent.end) < (at, end);
        let (mut late, mut found) = (false, Lost::default());
        self.board.judge(|sent| {
            let lost = is_before(sent) && sent.at + allowed <= now;
            found.any |= lost;
            found.again |= lost && sent.again;
            late |= !lost && is_before(sent);
            lost
        });
        let last = if late { self.board.last_sent(is_before) } else { None };
        self.deadline = last.map_or(Time::MAX, |sent| sent.at + allowed + self.margin);
        found
    }

    /// Begins fast recovery if a segment is lost that is not being recovered; `flight` bytes are outstanding of which
    /// none was known to have arrived.
    fn begin_fast_if(&mut self, lost: Lost, flight: u64) -> bool {
        let begins = match self.phase {
            RecoveryPhase::Open => lost.any,
            RecoveryPhase::Fast => false,
            // Losses of segments sent before the timeout are not new congestion.
            RecoveryPhase::Timeout => lost.again,
        };
        if begins {
            self.phase = RecoveryPhase::Fast;
            self.recover = self.high;
            self.prr = Prr::begin(flight);
            self.probe.deadline = Time::MAX;
            self.probe.end = None;
        }
        begins
    }

    /// Section 7.4.2: the acknowledgement of the probe; true if the probe has repaired a loss.
    fn end_probe(&mut self, news: &AckInfo<'_>, acked: u64, brought: u64) -> bool {
        let Some(end) = self.probe.end.filter(|&end| news.ack >= end) else { return false };
        let duplicate = news.bare && acked == 0 && brought == 0;
        let beyond = news.ack > end;
        if !self.probe.again || beyond || duplicate {
            self.probe.end = None;
        }
        self.probe.again && beyond && self.phase == RecoveryPhase::Open
    }

    pub(super) fn next_timer(&self) -> Time {
        self.deadline.min(self.probe.deadline)
    }

    pub(super) fn on_timer(&mut self, now: Time, srtt: Option<Span>) -> AckEffect {
        if now >= self.probe.deadline {
            self.probe.deadline = Time::MAX;
            self.probe.due = true;
            return AckEffect { probe: true, ..AckEffect::default() };
        }
        if now < self.deadline {
            return AckEffect::default();
        }
        let flight = self.flight();
        let outstanding = flight - self.board.arrived_bytes(self.high);
        let lost = self.detect(now, srtt);
        let loss = self.begin_fast_if(lost, outstanding).then_some(flight);
        if loss.is_some() {
            // Without an arrival nothing could be sent: Linux counts one segment (`tcp_rack_reo_timeout`).
            self.prr.on_delivered(self.mss, false);
        }
        AckEffect { loss, ..AckEffect::default() }
    }

    /// Section 6.3: the first segment is lost, and so are all segments that should have arrived by now.
    pub(super) fn on_timeout(&mut self, now: Time) {
        self.phase = RecoveryPhase::Timeout;
        self.recover = self.high;
        let Timing { latest, board, .. } = self;
        board.judge(|sent| sent.at + latest.rtt <= now);
        board.lose_first();
        self.at_once = true;
        self.deadline = Time::MAX;
        self.probe = Probe { deadline: Time::MAX, due: false, end: None, again: false };
    }

    /// Whether the next segment is a probe.
    pub(super) fn is_probing(&self) -> bool {
        self.probe.due
    }

    pub(super) fn next_range(&mut self, budget: &Budget) -> Option<SegmentRange> {
        let in_flight = self.board.in_flight();
        if self.probe.due {
            return budget.fresh(self.una, self.high, self.mss, u64::MAX).or_else(|| {
                let range = self.board.last()?;
                Some(SegmentRange { range, kind: SegmentKind::Probe })
            });
        }
        let cwnd = match self.phase {
            RecoveryPhase::Fast if !budget.steered => {
                self.prr.cwnd(in_flight, budget.cwnd, self.mss)
            }
            RecoveryPhase::Open | RecoveryPhase::Fast | RecoveryPhase::Timeout => budget.cwnd,
        };
        if let Some(range) = self.board.first_lost() {
            let kind = if self.at_once { SegmentKind::AtOnce } else { SegmentKind::Hole };
            let fits = self.at_once || in_flight + range.bytes() <= cwnd;
            return fits.then_some(SegmentRange { range, kind });
        }
        budget.fresh(self.una, self.high, self.mss, cwnd.saturating_sub(in_flight))
    }

    pub(super) fn on_sent(
        &mut self,
        piece: SegmentRange,
        now: Time,
        srtt: Option<Span>,
        timeout: Time,
    ) {
        self.prr.on_sent(piece.range.bytes());
        if piece.kind == SegmentKind::New {
            self.high = piece.range.end;
            self.board.push(piece.range, now);
        } else {
            self.board.send_again(piece.range, now);
            self.at_once = false;
        }
        if std::mem::take(&mut self.probe.due) {
            self.probe.end = Some(self.high);
            self.probe.again = piece.kind == SegmentKind::Probe;
        } else {
            self.arm_probe(now, srtt, timeout);
        }
    }

    /// Section 7.2: schedules a probe if octets are outstanding, none seems lost, and no probe was sent yet.
    pub(super) fn arm_probe(&mut self, now: Time, srtt: Option<Span>, timeout: Time) {
        let calm = self.phase == RecoveryPhase::Open && self.board.arrived() == 0;
        if !calm || self.una == self.high || self.probe.end.is_some() {
            self.probe.deadline = Time::MAX;
            return;
        }
        let alone = self.flight() <= self.mss;
        let wait = srtt.map_or(FIRST_PROBE, |srtt| {
            srtt + srtt + if alone { LONGEST_ACK_DELAY } else { self.margin }
        });
        self.probe.deadline = (now + wait).min(timeout);
    }
}
