//! The sender's support for congestion controllers that use delivery rates.

use super::Sender;
use crate::tcp::congestion::{AckReport, Event, SenderState};
use crate::tcp::recovery::{AckEffect, SegmentKind, SegmentRange};
use crate::tcp::segment::Segment;
use crate::tcp::spec::clock_value;
use airqueue_core::{Span, Time};

/// The state of the connection before an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    in_flight: u64,
    lost: u64,
}

impl Sender {
    /// The state before an acknowledgement of everything below `ack`, if the effect of the acknowledgement is to be
    /// reported: not if the acknowledgement is old, or nothing is outstanding (`tcp_ack`).
    pub(super) fn before_ack(&self, ack: u64) -> Option<Before> {
        self.rates.as_ref()?;
        let valid = ack >= self.recovery.una() && ack <= self.recovery.high();
        let Before { in_flight, lost } = self.losses();
        (valid && !self.recovery.is_idle()).then_some(Before { in_flight, lost })
    }

    fn losses(&self) -> Before {
        Before { in_flight: self.recovery.in_flight(), lost: self.recovery.lost() }
    }

    /// The round-trip time from the timestamp of an acknowledgement of new data. Linux uses this time if only
    /// retransmitted segments have been acknowledged (`tcp_ack_update_rtt`), however coarse the clock is.
    fn echoed(&self, segment: &Segment, now: Time) -> Option<Span> {
        let clock = self.spec.timestamps?;
        let echo = segment.timestamps?.echo?;
        Some((clock_value(now, clock) - echo).max(clock))
    }

    /// Reports to the controller what an acknowledgement has changed, after recovery has processed it
    /// (`tcp_cong_control`).
    pub(super) fn report(&mut self, before: Before, effect: &AckEffect, ack: &Segment, now: Time) {
        let rtt = effect.rtt.or_else(|| effect.advance.and_then(|_| self.echoed(ack, now)));
        let Some(rates) = &mut self.rates else { return };
        if let Some(rtt) = rtt {
            rates.on_rtt(rtt);
        }
        let delivered = rates.on_ack(self.recovery.una(), now);
        let mss = u64::from(self.spec.mss_bytes);
        let alone = delivered.sample.is_some_and(|sample| sample.delivered == delivered.bytes);
        self.steer(
            Event::Acknowledged(AckReport {
                delivered: delivered.bytes,
                lost: self.recovery.lost() - before.lost,
                in_flight_before: before.in_flight,
                rtt,
                perhaps_delayed: alone && delivered.bytes < mss,
                sample: delivered.sample,
            }),
            now,
        );
    }

    /// Reports an event to such a controller.
    pub(super) fn steer(&mut self, event: Event, now: Time) {
        let Some(rates) = &mut self.rates else { return };
        let in_flight = self.recovery.in_flight();
        let state = SenderState {
            now,
            srtt: self.rto.srtt(),
            delivered: rates.delivered(),
            delivered_at: rates.delivered_at(),
            lost: self.recovery.lost(),
            in_flight,
            app_limited: rates.is_limited(),
            next_departure: self.pacer.next_departure(now),
            loss: self.recovery.loss_state(),
        };
        self.controller.on_event(&event, &state);
        if self.controller.limits_itself() {
            rates.limit(in_flight);
        }
    }

    /// Octets are about to be sent.
    pub(super) fn note_departure(&mut self, piece: &SegmentRange, now: Time) {
        if self.rates.is_none() {
            return;
        }
        if self.recovery.in_flight() == 0 {
            self.steer(Event::Started, now);
        }
        if let Some(rates) = &mut self.rates {
            rates.on_sent(piece.range, piece.kind == SegmentKind::New, now);
        }
    }

    /// The application writes after the connection had less data than it could have sent
    /// (`tcp_rate_check_app_limited`).
    pub(super) fn note_application_limit(&mut self) {
        let Some(rates) = &mut self.rates else { return };
        let in_flight = self.recovery.in_flight();
        let unsent = (1 + self.written).saturating_sub(self.recovery.high());
        let idle = unsent < u64::from(self.spec.mss_bytes) && !self.recovery.owes();
        if idle && in_flight < self.controller.cwnd_bytes() {
            rates.limit(in_flight);
        }
    }
}
