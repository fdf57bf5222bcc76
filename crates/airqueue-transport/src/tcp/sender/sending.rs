//! What the sender sends next, and what it notes of each segment.

use super::Sender;
use crate::tcp::pacing::Pacing;
use crate::tcp::recovery::{Budget, SegmentKind, SegmentRange};
use crate::tcp::segment::Segment;
use airqueue_core::{DataRate, Ecn, Time};

impl Sender {
    /// The octet after the last octet written.
    pub(super) fn data_end(&self) -> u64 {
        1 + self.written
    }

    pub(super) fn budget(&self) -> Budget {
        let own = u64::from(self.spec.sender.window_segments) * u64::from(self.spec.mss_bytes);
        let una = self.recovery.una();
        Budget {
            cwnd: self.controller.cwnd_bytes(),
            window: own.min(self.edge.saturating_sub(una)),
            data_end: self.data_end(),
            closed: self.closed,
            nagle: self.spec.sender.nagle,
            steered: self.rates.is_some(),
        }
    }

    /// The next segment to send.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if let Some(segment) = self.handshake.poll_transmit(now) {
            return Some(self.spec.finish(segment, self.recent, now));
        }
        if !self.handshake.is_open() {
            return None;
        }
        self.restart_if_idle(now);
        let budget = self.budget();
        let next = self.recovery.next_range(&budget);
        self.note_window(next.is_some(), &budget, now);
        let piece = next.filter(|piece| {
            let at_once = match piece.kind {
                SegmentKind::AtOnce | SegmentKind::Probe => true,
                SegmentKind::New => self.is_in_burst(),
                SegmentKind::Again | SegmentKind::Hole | SegmentKind::Rescue => false,
            };
            at_once || !self.pacer.holds(now)
        });
        let Some(piece) = piece else {
            self.on_nothing_to_send();
            return None;
        };
        let continues = piece.kind == SegmentKind::New && self.is_in_burst();
        if self.device_holds(&piece, &budget, now) {
            return None;
        }
        Some(self.send(piece, &budget, continues, now))
    }

    /// RFC 5681, section 4.1. A rate-based controller restarts on its own.
    fn restart_if_idle(&mut self, now: Time) {
        let Some(last) = self.last_sent.filter(|_| self.rates.is_none()) else { return };
        let something = self.data_end() > self.recovery.high();
        let most = self.spec.restart_window_bytes();
        if something
            && self.recovery.is_idle()
            && most < self.controller.cwnd_bytes()
            && now - last > self.rto.timeout()
        {
            self.controller.cap(most);
        }
    }

    /// `continues`: the segment belongs to the burst of the segment before.
    fn send(
        &mut self,
        piece: SegmentRange,
        budget: &Budget,
        continues: bool,
        now: Time,
    ) -> Segment {
        let (start, end) = (piece.range.start, piece.range.end);
        if self.deadline == Time::MAX || self.recovery.restarts_timer(&piece) {
            self.deadline = now + self.rto.timeout(); // RFC 6298, (5.1)
        }
        if let Some(last) = self.last_sent.filter(|_| self.recovery.is_idle()) {
            self.controller.on_restart(now, now - last);
        }
        self.note_departure(&piece, now);
        self.recovery.on_sent(piece, now, self.rto.srtt(), self.deadline);
        let new = piece.kind == SegmentKind::New;
        let fin = end > budget.data_end;
        let payload = end - start - u64::from(fin);
        self.counters.segments += 1;
        self.counters.sent_bytes += payload;
        self.last_sent = Some(now);
        if new {
            self.timed = self.timed.or(Some((end, now)));
            self.round_trips.on_new(end, now);
        } else {
            self.counters.retransmitted += 1;
            // Karn: RFC 6298, section 3.
            self.timed = self.timed.filter(|&(timed, _)| start >= timed);
            self.round_trips.on_again(start, end);
        }
        // RFC 3168, sections 6.1.2 and 6.1.5: CWR on the first new segment, no ECT on a retransmission.
        let ect = self.spec.ecn && new && payload > 0;
        let cwr = ect && std::mem::take(&mut self.announces_reduction);
        let segment = Segment {
            payload_bytes: payload as u32,
            fin,
            // What the application has written last, and the end of a burst.
            psh: payload > 0 && (end >= budget.data_end || new && self.ends_burst()),
            cwr,
            ecn: if ect { Ecn::Ect } else { Ecn::NotEct },
            ..Segment::bare(start, Some(1))
        };
        let segment = self.spec.finish(segment, self.recent, now);
        match self.controller.own_pacing_rate() {
            Some(rate) => self.pacer.on_sent_at(now, segment.payload_bytes, rate, continues),
            None => self.pacer.on_sent(now, segment.size_bytes(), self.pacing_rate()),
        }
        segment
    }

    /// The rate at which segments are paced, if they are paced by rate.
    pub(super) fn pacing_rate(&self) -> Option<DataRate> {
        let Pacing::Window { slow_start, avoidance } = self.spec.sender.pacing else { return None };
        Some(self.controller.pacing_rate(self.rto.srtt()?, slow_start, avoidance))
    }
}
