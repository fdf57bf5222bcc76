//! What a station sends: its own exchanges, and responses in the exchanges of other stations.

use super::batch::Batch;
use super::frame::{Content, Frame, FrameKind, Msdu};
use super::recipient::Scoreboard;
use super::station::Mac;
use super::txop::Pause;
use super::view::Radio;
use crate::medium::StationId;
use crate::phy::frames::{BLOCK_ACK_REQUEST_BYTES, CTS_BYTES};
use crate::phy::{AccessCategory, Protection, RateIndex, Response};
use airqueue_core::{Span, Time};

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxStatus {
    /// The packet was acknowledged.
    Acknowledged,
    /// The packet was given up: after the last retry, or at the end of its lifetime. The receiver may still have the
    /// packet if only acknowledgements were lost.
    GivenUp,
}

/// A packet that the MAC is done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxReport {
    /// The packet.
    pub msdu: Msdu,
    /// Its sequence number.
    pub sequence: u64,
    /// Whether the packet was acknowledged.
    pub status: TxStatus,
    /// Airtime of its transmissions: RTS, CTS, data and ACK of all attempts and the SIFS between; a packet of an
    /// A-MPDU has a share in proportion to its bytes. The time reserved for a response counts whether or not the
    /// response arrived.
    pub airtime: Span,
    /// The medium access delay: from when the MAC took the packet to its acknowledgement; zero if there was none.
    pub took: Span,
    /// What the receiver told about the packet in the response's Duration/ID field ([`super::rdqm_field`]); 0: nothing.
    pub field: u16,
}

/// A packet that was acknowledged, as in its [`TxReport`].
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged<'a> {
    /// The packet.
    pub msdu: &'a Msdu,
    /// Airtime of its transmissions.
    pub airtime: Span,
    /// The medium access delay.
    pub took: Span,
    /// What the receiver told about the packet.
    pub field: u16,
}

/// A frame of the station's own exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Rts,
    CtsToSelf,
    Data,
    /// A request for the block ack that an A-MPDU did not get.
    Request,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Contends for the medium, or has nothing to send.
    Idle,
    /// SIFS before a response.
    Responding,
    /// Transmits a response.
    Answering,
    /// An exchange begins now.
    Beginning { ac: AccessCategory },
    /// Transmits a frame of its own exchange.
    Sending { ac: AccessCategory, step: Step },
    /// A frame to all stations has ended.
    Sent { ac: AccessCategory },
    /// Waits for the response to this frame.
    Waiting { ac: AccessCategory, step: Step },
    /// SIFS before the second frame of an exchange.
    Pausing { ac: AccessCategory },
    /// SIFS before the next exchange of a TXOP.
    Continuing { ac: AccessCategory },
    /// SIFS before the CF-End of a TXOP.
    Ending { ac: AccessCategory },
    /// Transmits the CF-End.
    GivingBack { ac: AccessCategory },
    /// The TXOP will continue if the medium stays idle.
    Suspended(Pause),
    /// The access category has been served, and its next packet has not been requested.
    Served { ac: AccessCategory },
}

impl Mac {
    pub(super) fn on_frame_for_me(
        &mut self,
        frame: &Frame,
        scoreboard: &Scoreboard,
        now: Time,
        radio: &Radio,
    ) {
        if let State::Waiting { ac, step } = self.state {
            let peer = self.held(ac).map(|msdu| msdu.to);
            let awaited = match step {
                Step::Rts => FrameKind::Cts,
                _ => kind_of(self.categories[ac.index()].batch.response()),
            };
            if frame.kind == awaited && peer == Some(frame.from) {
                self.on_response(ac, step, (scoreboard, frame.field), now, radio);
                return;
            }
            self.end_wait(now, radio);
        }
        if let State::Suspended(pause) = self.state {
            self.abandon(pause, now, radio);
        }
        if self.state == State::Idle
            && let Some(response) = self.response_to(frame, now, radio)
        {
            debug_assert!(!self.view.transmitting, "a transmitting station decodes nothing");
            if response.kind == FrameKind::BlockAck {
                self.scoreboard = self.recipients[frame.recipient as usize].scoreboard();
            }
            self.frame = response;
            self.state = State::Responding;
            self.timer = now + radio.phy.sifs();
        }
    }

    /// Puts what the receiver has to tell of a packet into the response that the station is about to send. A response
    /// that announces a NAV, of the rest of a TXOP, has no room.
    pub fn tell(&mut self, field: u16) {
        if self.state == State::Responding && self.frame.nav == Span::ZERO {
            self.frame.field = field;
        }
    }

    fn response_to(&self, frame: &Frame, now: Time, radio: &Radio) -> Option<Frame> {
        let rate = radio.phy.response_rate(frame.rate);
        let (kind, bytes, nav) = match frame.kind {
            FrameKind::Data
            | FrameKind::BlockAckRequest
            | FrameKind::Null
            | FrameKind::QosNull
            | FrameKind::Handshake(_)
            | FrameKind::PsPoll => {
                // The rest of the NAV beyond the exchange stays announced.
                let rest = frame.nav - radio.phy.response_nav(frame.rate, frame.response);
                (kind_of(frame.response), frame.response.bytes(), rest.max(Span::ZERO))
            }
            FrameKind::Rts if !self.is_kept_from_cts(frame.from, now, radio) => {
                (FrameKind::Cts, CTS_BYTES, radio.phy.cts_nav(rate, frame.nav))
            }
            _ => return None,
        };
        let about = if kind == FrameKind::BlockAck {
            (frame.ac, frame.recipient)
        } else {
            (AccessCategory::FIRST, 0)
        };
        let (ac, recipient) = about;
        Some(Frame { bytes, nav, ac, recipient, ..Frame::new(kind, self.id, frame.from, rate) })
    }

    /// Whether the NAV keeps the station from answering an RTS (10.3.2.7). A station with QoS answers the holder of the
    /// TXOP that set the NAV all the same (10.22.2.4); ns-2 has no QoS.
    fn is_kept_from_cts(&self, from: StationId, now: Time, radio: &Radio) -> bool {
        match self.config.categories.len() {
            1 => self.view.is_kept_silent(now),
            _ if radio.rules.answers_need_idle => self.view.is_kept_silent(now),
            _ => self.view.is_kept_silent_for(from, now),
        }
    }

    fn on_response(
        &mut self,
        ac: AccessCategory,
        step: Step,
        (scoreboard, field): (&Scoreboard, u16),
        now: Time,
        radio: &Radio,
    ) {
        let lifetime = self.config.lifetime;
        let category = &mut self.categories[ac.index()];
        if step == Step::Rts {
            if !radio.rules.shared_retries {
                // A short frame was successful (10.3.4.4; `recvCTS` of ns-2).
                category.short_retries = 0;
            }
            self.state = State::Pausing { ac };
            self.timer = now + radio.phy.sifs();
            return;
        }
        let response = category.batch.response();
        if step == Step::Data {
            let decoded = if response == Response::Ack { 1 } else { scoreboard.decoded };
            self.account_transmission(ac, decoded);
        }
        let category = &mut self.categories[ac.index()];
        category.batch.asks = false;
        category.counters.acknowledged +=
            category.batch.on_acknowledged(response, scoreboard, field, now);
        if category.batch.ppdu.is_agreed() {
            category.counters.given_up += category.batch.give_up_expired(lifetime, now);
        }
        category.succeed();
        self.state = State::Served { ac };
        self.timer = Time::MAX;
        self.finish(ac);
    }

    pub(super) fn finish(&mut self, ac: AccessCategory) {
        self.done |= 1 << ac.index();
    }

    /// Whether [`Self::poll_done`] has something to return.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.done != 0
    }

    /// An access category that may have finished packets ([`Self::poll_finished`]) and continues with
    /// [`Self::on_next`].
    #[inline]
    pub fn poll_done(&mut self) -> Option<AccessCategory> {
        if self.done == 0 {
            return None;
        }
        let ac = AccessCategory::at(self.done.trailing_zeros() as usize);
        self.done &= self.done - 1;
        let category = &mut self.categories[ac.index()];
        category.short_retries = 0;
        category.long_retries = 0;
        Some(ac)
    }

    /// A packet that the MAC is done with, as are all packets before it.
    #[inline]
    pub fn poll_finished(&mut self, ac: AccessCategory) -> Option<TxReport> {
        self.categories[ac.index()].batch.pop_finished()
    }

    /// The first packets that the MAC is done with as far as they were acknowledged, are of one flow and were sent at one
    /// rate. [`Self::remove_finished`] is due.
    #[inline]
    pub fn acknowledged_alike(
        &self,
        ac: AccessCategory,
    ) -> impl Iterator<Item = Acknowledged<'_>> + Clone {
        self.categories[ac.index()].batch.acknowledged_alike()
    }

    /// Removes so many of the packets of [`Self::acknowledged_alike`], all of them, from those in hand.
    #[inline]
    pub fn remove_finished(&mut self, ac: AccessCategory, packets: usize) {
        self.categories[ac.index()].batch.remove_finished(packets);
    }

    /// Mean time of an access category's exchange of one MPDU without contention, with half of the smallest window for
    /// backoff (MESH section 4.1, T_d).
    ///
    /// # Panics
    ///
    /// If the station does not have this access category.
    pub fn lone_exchange(
        &self,
        ac: AccessCategory,
        rate: RateIndex,
        mpdu_bytes: u32,
        radio: &Radio,
    ) -> Span {
        let backoff =
            radio.slot.as_nanos() * i64::from(self.config.categories[ac.index()].w_min - 1) / 2;
        let psdu_bytes = radio.phy.single_psdu_bytes(rate, mpdu_bytes);
        Span::from_nanos(backoff) + self.config.exchange(ac, rate, psdu_bytes, &radio.phy)
    }

    fn needs_rts(&self, ac: AccessCategory) -> bool {
        let category = &self.categories[ac.index()];
        let Batch { asks, ppdu, .. } = &category.batch;
        let bytes = if *asks { BLOCK_ACK_REQUEST_BYTES } else { ppdu.bytes };
        self.config.protection_of(bytes) == Protection::RtsCts && !self.is_unprotected(ac)
    }

    /// Frames to all stations and management frames are sent as they are.
    fn is_unprotected(&self, ac: AccessCategory) -> bool {
        ac.index() == self.config.categories.len()
            || self.held(ac).is_some_and(|msdu| msdu.to == self.id)
    }

    /// The first frame of the exchange that [`Self::compose`] has prepared.
    pub(super) fn first_step(&self, ac: AccessCategory) -> Step {
        if self.needs_rts(ac) {
            Step::Rts
        } else if self.config.protection == Protection::CtsToSelf && !self.is_unprotected(ac) {
            Step::CtsToSelf
        } else {
            self.second_step(ac)
        }
    }

    /// The data frame or block ack request after RTS and CTS, or after a CTS to self.
    pub(super) fn second_step(&self, ac: AccessCategory) -> Step {
        if self.categories[ac.index()].batch.asks { Step::Request } else { Step::Data }
    }

    /// Begins the exchange that [`Self::compose`] has prepared, with [`Self::frame`].
    ///
    /// # Panics
    ///
    /// If no exchange is to begin.
    pub fn begin(&mut self, now: Time, radio: &Radio) {
        let State::Beginning { ac } = self.state else {
            panic!("no exchange is to begin, but {:?}", self.state);
        };
        self.begin_exchange(ac, now, radio);
    }

    fn begin_exchange(&mut self, ac: AccessCategory, now: Time, radio: &Radio) {
        let category = &mut self.categories[ac.index()];
        if !category.batch.asks {
            category.use_up();
        }
        let step = self.first_step(ac);
        self.send(ac, step, now, radio);
        let answered = self.frame.to != self.id || step == Step::CtsToSelf;
        self.categories[ac.index()].counters.attempts += u64::from(answered);
    }

    fn send(&mut self, ac: AccessCategory, step: Step, now: Time, radio: &Radio) {
        let planned_frame = self.planned_frame(ac, radio).expect("an exchange has a packet");
        let frame = planned_frame.frame(step, self.id, &radio.phy);
        // A CTS to self has no receiver.
        let opens = step == Step::Rts || step != Step::CtsToSelf && !self.needs_rts(ac);
        let opens = opens && !self.is_management(ac);
        let nav = self.announce(ac, &frame, now, radio);
        let category = &mut self.categories[ac.index()];
        category.batch.charge(planned_frame.time(step, &radio.phy), now);
        let mut retry = category.short_retries + category.long_retries > 0;
        if step == Step::Data {
            if !planned_frame.unanswered {
                category.counters.mpdus += u64::from(planned_frame.mpdus);
            }
            retry = category.batch.on_sent();
        }
        self.state = State::Sending { ac, step };
        self.timer = Time::MAX;
        self.frame = Frame { nav, opens, retry, ac, power: self.power, ..frame };
        if step == Step::Data && planned_frame.content != Content::Data {
            self.name_frame(planned_frame.content);
        }
    }

    /// The station's own frame has ended. [`Self::settle`] is due.
    pub fn on_transmitted(&mut self, now: Time, radio: &Radio) {
        self.view.transmitting = false;
        self.view.end_busy(now);
        match self.state {
            State::Sending { ac, step: Step::CtsToSelf } => {
                self.state = State::Pausing { ac };
                self.timer = now + radio.phy.sifs();
            }
            State::GivingBack { ac } => {
                self.state = State::Idle;
                self.draw(ac, Time::ZERO, radio);
            }
            State::Sending { ac, .. } if self.frame.to == self.id => {
                self.state = State::Sent { ac };
            }
            State::Sending { ac, step } => {
                self.state = State::Waiting { ac, step };
                self.timer = now + radio.phy.response_timeout(self.frame.rate);
            }
            _ => self.state = State::Idle,
        }
    }

    /// The access category whose next exchange is to be prepared ([`Self::compose`]) before the timer expires.
    #[inline]
    pub fn is_to_compose(&self) -> Option<AccessCategory> {
        match self.state {
            State::Continuing { ac } => Some(ac),
            State::Suspended(pause) => Some(pause.ac),
            _ => None,
        }
    }

    /// The timer expires; `receiving` says whether the receiver is receiving a frame that it may decode. True if
    /// [`Self::frame`] is to begin now. [`Self::settle`] is due.
    pub fn on_timer(&mut self, now: Time, receiving: bool, radio: &Radio) -> bool {
        self.timer = Time::MAX;
        let clear = !self.view.is_busy() && !self.view.is_kept_silent(now);
        let hindered = radio.rules.answers_need_idle && !clear;
        match self.state {
            State::Responding if self.frame.kind == FrameKind::Cts && hindered => {
                self.state = State::Idle;
                return false;
            }
            State::Responding => self.state = State::Answering,
            State::Pausing { ac } | State::Continuing { ac } if hindered => {
                // The exchange of the next packet of a TXOP has not begun.
                let begun = self.state == State::Pausing { ac };
                self.state = State::Idle;
                self.categories[ac.index()].counters.failures += u64::from(begun);
                self.categories[ac.index()].widen(false);
                self.draw(ac, Time::ZERO, radio);
                return false;
            }
            State::Pausing { ac } => self.send(ac, self.second_step(ac), now, radio),
            State::Continuing { ac } => self.begin_exchange(ac, now, radio),
            State::Ending { ac } => self.send_cf_end(ac, radio),
            State::Suspended(pause) => {
                let goes_on = self.resume(pause, now, radio);
                if goes_on {
                    self.begin_exchange(pause.ac, now, radio);
                }
                return goes_on;
            }
            State::Waiting { ac, step } => {
                // The end of the reception decides whether the wait has failed (10.3.2.9).
                if !(radio.rules.reception_decides && receiving) {
                    self.fail(ac, step, now, radio);
                }
                return false;
            }
            _ => return false,
        }
        true
    }

    /// The response did not arrive.
    pub(super) fn fail(&mut self, ac: AccessCategory, step: Step, now: Time, radio: &Radio) {
        if step == Step::Data {
            self.account_transmission(ac, 0);
        }
        let category = &mut self.categories[ac.index()];
        category.counters.failures += 1;
        category.announced = now;
        category.batch.asks |= radio.rules.requests_block_ack
            && step == Step::Data
            && category.batch.response() != Response::Ack;
        if self.survives_failure(ac, radio) {
            self.suspend(ac, step, now, radio);
        } else {
            self.state = State::Idle;
            self.timer = Time::MAX;
            self.retry(ac, step, now, radio);
        }
    }

    /// Widens the window and draws a new backoff; packets may be given up. Under a block ack agreement the next
    /// exchange may be for another receiver.
    pub(super) fn retry(&mut self, ac: AccessCategory, step: Step, now: Time, radio: &Radio) {
        let given_up = self.count_retry(ac, step, now, radio);
        self.widen(ac, given_up, radio);
        self.draw(ac, Time::ZERO, radio);
        if self.categories[ac.index()].batch.ppdu.is_agreed() {
            self.finish(ac);
        }
    }

    /// Widens the window. Packets under a block ack agreement are not given up because of retries; the window restarts
    /// at the failure that would otherwise have given up the packet (10.22.2.2).
    pub(super) fn widen(&mut self, ac: AccessCategory, given_up: bool, radio: &Radio) {
        let (category, limit) = (&mut self.categories[ac.index()], self.config.short_retry_limit);
        let restart = if radio.rules.window_outlives_packet {
            category.in_a_row >= limit
        } else if category.batch.ppdu.is_agreed() {
            category.in_a_row + 1 >= limit
        } else {
            given_up
        };
        category.widen(restart);
    }

    /// Counts a failure; true if the packet has used up its retries.
    pub(super) fn count_retry(
        &mut self,
        ac: AccessCategory,
        step: Step,
        now: Time,
        radio: &Radio,
    ) -> bool {
        let behind_rts = self.needs_rts(ac);
        let category = &mut self.categories[ac.index()];
        if category.batch.ppdu.is_agreed() {
            let given_up = category.batch.give_up_expired(self.config.lifetime, now);
            category.counters.given_up += given_up;
            if given_up > 0 {
                self.finish(ac);
            }
            return given_up > 0;
        }
        let (count, limit) = if step == Step::Data && behind_rts && !radio.rules.shared_retries {
            (&mut category.long_retries, self.config.long_retry_limit)
        } else {
            (&mut category.short_retries, self.config.short_retry_limit)
        };
        *count += 1;
        let given_up = *count >= limit;
        if given_up {
            category.counters.given_up += 1;
            category.batch.give_up_first();
            self.finish(ac);
        }
        given_up
    }
}

/// The frame kind of a response.
fn kind_of(response: Response) -> FrameKind {
    match response {
        Response::Ack => FrameKind::Ack,
        Response::BlockAck | Response::BlockAck256 => FrameKind::BlockAck,
    }
}
