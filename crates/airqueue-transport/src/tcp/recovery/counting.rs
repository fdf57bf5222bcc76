//! Loss detection by counting the segments that arrive beyond a hole: fast retransmit and fast recovery by RFC 6582,
//! or with selective acknowledgements by RFC 6675, and recovery after a timeout.
//!
//! Octet numbers here are of the octet after the last; the RFCs use the last octet.

use super::{AckEffect, AckInfo, Advance, Budget, RecoveryPhase, SegmentKind, SegmentRange};
use crate::tcp::ranges::{Range, Ranges};
use crate::tcp::spec::FastRecovery;

/// Duplicate acknowledgements that indicate a loss: DupThresh of RFC 6675.
const DUP_THRESH: u32 = 3;

/// The sending end's record of the octets that it has sent.
#[derive(Clone, Debug)]
pub(super) struct Counting {
    mss: u64,
    sack: bool,
    limited_transmit: bool,
    /// The rules of RFC 6582; with selective acknowledgements recovery follows RFC 6675.
    rules: FastRecovery,
    /// The first unacknowledged octet.
    una: u64,
    /// The octet to send next: below `high` after a timeout.
    nxt: u64,
    /// The octet after the highest octet ever sent.
    high: u64,
    phase: RecoveryPhase,
    /// Duplicate acknowledgements since the last acknowledgement of new data.
    dup_acks: u32,
    /// `high` at the first of these duplicates: later octets are not outstanding by RFC 3042.
    high_before_dups: u64,
    /// "recover" of RFC 6582, RecoveryPoint of RFC 6675.
    recover: u64,
    /// `high` when the timer last expired, with [`FastRecovery::once_per_flight`] also when fast recovery last began:
    /// duplicates for lower octets do not indicate a loss.
    careful_until: u64,
    /// The segment at `una` is sent before all others.
    at_once: bool,
    /// Inflation of the window in bytes: by RFC 6582 during recovery, and by RFC 3042 before.
    inflation: i64,
    /// A partial acknowledgement has arrived in this recovery.
    partial: bool,
    /// The octets that have arrived beyond `una`.
    sacked: Ranges,
    /// HighRxt of RFC 6675.
    high_rxt: u64,
    /// RescueRxt of RFC 6675.
    rescue: u64,
}

impl Counting {
    pub(super) fn new(
        mss_bytes: u32,
        sack: bool,
        limited_transmit: bool,
        rules: FastRecovery,
    ) -> Counting {
        Counting {
            mss: u64::from(mss_bytes),
            sack,
            limited_transmit,
            rules: if sack { FastRecovery::RFC_6582 } else { rules },
            una: 1,
            nxt: 1,
            high: 1,
            phase: RecoveryPhase::Open,
            dup_acks: 0,
            high_before_dups: 1,
            recover: 0,
            careful_until: 0,
            at_once: false,
            inflation: 0,
            partial: false,
            sacked: Ranges::default(),
            high_rxt: 1,
            rescue: 1,
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

    /// FlightSize: octets sent, and neither acknowledged nor given up by a timeout.
    pub(super) fn flight(&self) -> u64 {
        self.nxt - self.una
    }

    /// Processes an acknowledgement of octets that were sent, not lower than an earlier acknowledgement.
    pub(super) fn on_ack(&mut self, news: &AckInfo<'_>) -> AckEffect {
        let &AckInfo { ack, blocks, bare, .. } = news;
        let mut new = 0;
        if self.sack {
            for block in blocks {
                let start = block.start.max(ack);
                new += self.sacked.insert(Range { start, end: block.end.min(self.high) });
            }
        }
        if ack > self.una {
            return AckEffect { advance: Some(self.advance(ack)), ..AckEffect::default() };
        }
        // A duplicate: RFC 5681, section 2, or RFC 6675, section 2.
        let duplicate = if self.sack { new > 0 } else { bare && self.una < self.high };
        if duplicate { self.duplicate() } else { AckEffect::default() }
    }

    fn advance(&mut self, ack: u64) -> Advance {
        let flight = self.flight();
        let bytes = ack - self.una;
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        self.high_rxt = self.high_rxt.max(ack);
        self.sacked.remove_below(ack);
        self.dup_acks = 0;
        let mut advance = Advance {
            bytes,
            flight,
            countable: bytes,
            cap: None,
            deflates: 0,
            restarts_timer: true,
        };
        match self.phase {
            RecoveryPhase::Open => self.inflation = 0,
            RecoveryPhase::Timeout => {
                // RFC 3465, section 2.3: octets that arrived before the timeout do not open the window now.
                advance.countable = bytes.min(self.mss);
                self.inflation = 0;
                if ack >= self.recover {
                    self.phase = RecoveryPhase::Open;
                }
            }
            RecoveryPhase::Fast => {
                advance.countable = 0;
                if ack >= self.recover {
                    if self.rules.last_ack_opens_window {
                        advance.countable = bytes;
                    }
                    self.phase = RecoveryPhase::Open;
                    self.inflation = 0;
                    // RFC 6582, section 3.2, step 3, option 1; RFC 6675 keeps the threshold.
                    let without_burst = self.flight().max(self.mss) + self.mss;
                    advance.cap = (!self.sack).then_some(without_burst);
                } else if !self.sack {
                    advance.restarts_timer = !self.partial;
                    advance.deflates = self.partial_ack(bytes);
                }
            }
        }
        advance
    }

    /// RFC 6582, section 3.2, step 3: sends the next hole at once, and deflates the window by the octets acknowledged.
    /// Returns the bytes by which the window itself shrinks ([`FastRecovery::partial_ack_shrinks_window`]).
    fn partial_ack(&mut self, bytes: u64) -> u64 {
        self.partial = true;
        self.at_once = true;
        let added = self.inflation;
        self.inflation -= bytes as i64;
        if bytes >= self.mss {
            self.inflation += self.mss as i64;
        }
        if !self.rules.partial_ack_shrinks_window || added > bytes as i64 {
            return 0;
        }
        self.inflation = self.mss as i64;
        (bytes as i64 - added).unsigned_abs()
    }

    fn duplicate(&mut self) -> AckEffect {
        match self.phase {
            RecoveryPhase::Timeout if !self.rules.limited_transmit_after_timeout => {
                return AckEffect::default();
            }
            RecoveryPhase::Fast => {
                // RFC 5681, section 3.2, step 4: a segment has left the network.
                self.inflation += if self.sack { 0 } else { self.mss as i64 };
                return AckEffect::default();
            }
            RecoveryPhase::Open | RecoveryPhase::Timeout => {}
        }
        self.dup_acks += 1;
        if self.dup_acks == 1 {
            self.high_before_dups = self.high;
        }
        let lost = self.dup_acks >= DUP_THRESH || (self.sack && self.lost_edge() > self.una);
        // After a timeout, duplicates may be caused by retransmissions (RFC 6582, section 4.1), except duplicates with
        // new SACK blocks.
        if lost && (self.sack || self.una > self.careful_until) {
            return self.begin_fast();
        }
        if self.limited_transmit && !self.sack {
            self.inflation = (u64::from(self.dup_acks.min(2)) * self.mss) as i64;
        }
        AckEffect::default()
    }

    fn begin_fast(&mut self) -> AckEffect {
        self.phase = RecoveryPhase::Fast;
        self.recover = self.high;
        if self.rules.once_per_flight {
            self.careful_until = self.high;
        }
        self.partial = false;
        self.at_once = true;
        // RFC 6582, section 3.2, step 2: the segments that have left the network according to the duplicates.
        self.inflation = if self.sack { 0 } else { i64::from(DUP_THRESH) * self.mss as i64 };
        self.high_rxt = self.una;
        let flight = self.high_before_dups.max(self.una) - self.una;
        let restarts_timer = self.rules.first_retransmission_restarts_timer;
        AckEffect { loss: Some(flight), restarts_timer, ..AckEffect::default() }
    }

    /// The retransmission timer has expired: RFC 6582, section 4, and RFC 6675, section 5.1. Octets acknowledged
    /// selectively stay acknowledged; receivers here never renege.
    pub(super) fn on_timeout(&mut self) {
        self.phase = RecoveryPhase::Timeout;
        self.recover = self.high;
        self.careful_until = self.high;
        self.nxt = self.una;
        self.dup_acks = 0;
        self.inflation = 0;
        self.at_once = false;
    }

    /// Unacknowledged octets below this edge are lost: IsLost of RFC 6675, section 4.
    fn lost_edge(&self) -> u64 {
        let (mut runs, mut bytes) = (0, 0);
        for range in self.sacked.descending() {
            runs += 1;
            bytes += range.bytes();
            if runs >= DUP_THRESH || bytes > u64::from(DUP_THRESH - 1) * self.mss {
                return range.start;
            }
        }
        self.una
    }

    /// "pipe", the estimate of the octets in the network: SetPipe of RFC 6675, section 4.
    fn pipe(&self, lost_edge: u64) -> u64 {
        let kept = self.sacked.missing(lost_edge, self.high);
        kept + self.sacked.missing(self.una, self.high_rxt.min(self.high))
    }

    /// Octets that count against the congestion window outside of RFC 6675 recovery. With limited transmit, octets
    /// acknowledged selectively do not count (RFC 6675, section 5, step 3).
    fn in_flight(&self) -> u64 {
        if self.sack && (self.limited_transmit || self.phase == RecoveryPhase::Timeout) {
            self.sacked.missing(self.una, self.nxt)
        } else {
            self.flight()
        }
    }

    /// The next octets to send.
    pub(super) fn next_range(&mut self, budget: &Budget) -> Option<SegmentRange> {
        if self.at_once {
            return Some(self.again(SegmentKind::AtOnce, self.una, self.high, budget));
        }
        if self.sack && self.phase == RecoveryPhase::Fast {
            return self.next_segment(budget);
        }
        let cwnd = budget.cwnd.saturating_add_signed(self.inflation).max(self.mss);
        if self.nxt < self.high {
            match self.sacked.first_gap(self.nxt, self.high) {
                None => self.nxt = self.high,
                Some(gap) => {
                    self.nxt = gap.start;
                    let piece = self.again(SegmentKind::Again, gap.start, gap.end, budget);
                    let data = budget.data(piece.range.start, piece.range.end);
                    return (self.in_flight() + data <= cwnd).then_some(piece);
                }
            }
        }
        budget.fresh(self.una, self.high, self.mss, cwnd.saturating_sub(self.in_flight()))
    }

    /// NextSeg of RFC 6675, section 4, if the window has room for a segment (section 5, step C).
    fn next_segment(&self, budget: &Budget) -> Option<SegmentRange> {
        let lost_edge = self.lost_edge();
        if self.pipe(lost_edge) + self.mss > budget.cwnd {
            return None;
        }
        let hole = |below| {
            let gap = self.sacked.first_gap(self.high_rxt.max(self.una), below)?;
            Some(self.again(SegmentKind::Hole, gap.start, gap.end, budget))
        };
        hole(lost_edge)
            .or_else(|| budget.fresh(self.una, self.high, self.mss, self.mss))
            .or_else(|| hole(self.sacked.highest().unwrap_or(self.una)))
            .or_else(|| self.rescue_piece(budget))
    }

    /// Rule 4: once, after a partial acknowledgement, the segment with the highest outstanding octet.
    fn rescue_piece(&self, budget: &Budget) -> Option<SegmentRange> {
        if self.una <= self.rescue {
            return None;
        }
        let mut top = self.high;
        let mut floor = self.una;
        for range in self.sacked.descending() {
            if range.end < top {
                floor = range.end;
                break;
            }
            top = range.start;
        }
        let data_end = top.min(budget.data_end);
        let start = data_end.saturating_sub(self.mss).max(floor);
        (start < top).then(|| self.again(SegmentKind::Rescue, start, top, budget))
    }

    fn again(&self, kind: SegmentKind, start: u64, limit: u64, budget: &Budget) -> SegmentRange {
        SegmentRange { range: Range { start, end: budget.cut(start, limit, self.mss) }, kind }
    }

    /// The piece has been sent.
    pub(super) fn on_sent(&mut self, piece: SegmentRange) {
        let end = piece.range.end;
        match piece.kind {
            SegmentKind::New => (self.nxt, self.high) = (end, end),
            SegmentKind::Again => self.nxt = end,
            SegmentKind::Hole => self.high_rxt = end,
            SegmentKind::AtOnce => {
                self.at_once = false;
                // RFC 6675, section 5, step 4.3.
                (self.high_rxt, self.rescue) = (end, end);
            }
            SegmentKind::Rescue | SegmentKind::Probe => self.rescue = self.recover,
        }
    }
}
