//! What a station sends and answers: its own exchanges, and those of others with it.

use super::batch::Batch;
use super::frame::{Frame, FrameKind, Msdu};
use super::station::Mac;
use super::txop::Pause;
use super::view::Network;
use crate::phy::frames::{BLOCK_ACK_REQUEST_BYTES, CTS_BYTES};
use crate::phy::{Protection, RateIndex, Response};
use airqueue_core::{Packet, Span, Time};

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was acknowledged.
    Acknowledged,
    /// It was given up: after the last retry, or at the end of its lifetime.
    GivenUp {
        /// All the same its receiver has it: only acknowledgements were lost.
        received: bool,
    },
}

/// A packet that the MAC is done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The packet.
    pub msdu: Msdu,
    /// How it ended.
    pub fate: Fate,
    /// What its transmissions took: RTS, CTS, data and ACK of all attempts and the SIFS between; of an A-MPDU a
    /// share by bytes. Time kept free for a response counts whether that came or not.
    pub airtime: Span,
}

/// A frame of an exchange of one's own.
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
    /// Contends, or has nothing to send.
    Idle,
    /// SIFS before a response.
    Responding,
    /// A response is on the air.
    Answering,
    /// An exchange begins now.
    Beginning { queue: usize },
    /// A frame of one's own is on the air.
    Sending { queue: usize, step: Step },
    /// It was sent and a response is due.
    Waiting { queue: usize, step: Step },
    /// SIFS before the second frame of an exchange.
    Pausing { queue: usize },
    /// SIFS before the next exchange of a TXOP.
    Continuing { queue: usize },
    /// SIFS before the CF-End of a TXOP.
    Ending { queue: usize },
    /// It is on the air.
    GivingBack { queue: usize },
    /// A TXOP will go on if the medium stays idle.
    Suspended(Pause),
    /// The queue has been served and has not been asked for its next packet.
    Served { queue: usize },
}

impl Mac {
    pub(super) fn on_frame_for_me(&mut self, frame: &Frame, now: Time, net: &Network) {
        if let State::Waiting { queue, step } = self.state {
            let peer = self.held(queue).map(|msdu| msdu.to);
            let awaited = match step {
                Step::Rts => FrameKind::Cts,
                _ => kind_of(self.categories[queue].batch.response()),
            };
            if frame.kind == awaited && peer == Some(frame.from) {
                self.on_response(queue, step, now, net);
                return;
            }
            self.end_wait(now, net);
        }
        if let State::Suspended(pause) = self.state {
            self.abandon(pause, now, net);
        }
        if self.state == State::Idle
            && let Some(response) = self.response_to(frame, now, net)
        {
            debug_assert!(!self.view.transmitting, "whoever transmits decodes nothing");
            self.frame = response;
            self.state = State::Responding;
            self.timer = now + net.phy.sifs();
        }
    }

    fn response_to(&self, frame: &Frame, now: Time, net: &Network) -> Option<Frame> {
        let rate = net.phy.response_rate(frame.rate);
        let (kind, bytes, nav) = match frame.kind {
            FrameKind::Data | FrameKind::BlockAckRequest => {
                // What is announced beyond the exchange goes on being so.
                let rest = frame.nav - net.phy.response_nav(frame.rate, frame.response);
                (kind_of(frame.response), frame.response.bytes(), rest.max(Span::ZERO))
            }
            FrameKind::Rts if !self.view.is_kept_silent(now) => {
                (FrameKind::Cts, CTS_BYTES, net.phy.cts_nav(rate, frame.nav))
            }
            _ => return None,
        };
        let queue = if kind == FrameKind::BlockAck { frame.queue } else { 0 };
        Some(Frame { bytes, nav, queue, ..Frame::new(kind, self.id, frame.from, rate) })
    }

    fn on_response(&mut self, queue: usize, step: Step, now: Time, net: &Network) {
        let lifetime = self.config.lifetime;
        let category = &mut self.categories[queue];
        if step == Step::Rts {
            if !net.rules.shared_retries {
                // A short frame has got through (10.3.4.4; `recvCTS` of ns-2).
                category.short_retries = 0;
            }
            self.state = State::Pausing { queue };
            self.timer = now + net.phy.sifs();
            return;
        }
        let response = category.batch.response();
        if step == Step::Data {
            let acknowledged = category.batch.decoded();
            self.account_transmission(queue, acknowledged);
        }
        let category = &mut self.categories[queue];
        category.batch.asks = false;
        category.tally.acknowledged += category.batch.on_acknowledged(response);
        if category.batch.ppdu.is_agreed() {
            category.tally.given_up += category.batch.give_up_expired(lifetime, now);
        }
        category.succeed();
        self.state = State::Served { queue };
        self.timer = Time::MAX;
        self.finish(queue);
    }

    /// The receiver has found this station's data frame and decodes its MPDUs; `lost` says of one with so many
    /// bytes whether it does not. True if any was decoded.
    #[inline]
    pub fn on_received_by_peer(&mut self, queue: usize, lost: impl FnMut(u32) -> bool) -> bool {
        self.categories[queue].batch.on_received(lost)
    }

    /// A packet of a queue that its receiver passes up, each once and in their order.
    #[inline]
    pub fn poll_passed_up(&mut self, queue: usize) -> Option<Packet> {
        self.categories[queue].batch.pass_up()
    }

    fn finish(&mut self, queue: usize) {
        self.done |= 1 << queue;
    }

    /// Whether there is something to be asked for by [`Self::poll_done`].
    #[inline]
    pub fn is_done(&self) -> bool {
        self.done != 0
    }

    /// A queue of which packets may be finished ([`Self::poll_finished`]) and that is to go on with
    /// [`Self::on_next`].
    #[inline]
    pub fn poll_done(&mut self) -> Option<usize> {
        if self.done == 0 {
            return None;
        }
        let queue = self.done.trailing_zeros() as usize;
        self.done &= self.done - 1;
        let category = &mut self.categories[queue];
        category.short_retries = 0;
        category.long_retries = 0;
        Some(queue)
    }

    /// A packet that the MAC is done with, as it is with all before it. Those that its receiver has passed up by
    /// now are to be asked for first.
    #[inline]
    pub fn poll_finished(&mut self, queue: usize) -> Option<Finished> {
        self.categories[queue].batch.pop_finished()
    }

    /// Mean time of a queue's exchange of one MPDU that meets nobody, with half of the smallest window for backoff (MESH
    /// section 4.1, T_d).
    ///
    /// # Panics
    ///
    /// If there is no such queue.
    pub fn lone_exchange(
        &self,
        queue: usize,
        rate: RateIndex,
        mpdu_bytes: u32,
        net: &Network,
    ) -> Span {
        let backoff = net.slot.as_nanos() * i64::from(self.config.categories[queue].cw_min - 1) / 2;
        let psdu_bytes = net.phy.single_psdu_bytes(rate, mpdu_bytes);
        Span::from_nanos(backoff) + self.config.exchange(queue, rate, psdu_bytes, &net.phy)
    }

    fn needs_rts(&self, queue: usize) -> bool {
        let category = &self.categories[queue];
        let Batch { asks, ppdu, .. } = &category.batch;
        let bytes = if *asks { BLOCK_ACK_REQUEST_BYTES } else { ppdu.bytes };
        self.config.protection_of(bytes) == Protection::RtsCts
    }

    /// The first frame of the exchange that [`Self::compose`] has made up.
    pub(super) fn first_step(&self, queue: usize) -> Step {
        if self.needs_rts(queue) {
            Step::Rts
        } else if self.config.protection == Protection::CtsToSelf {
            Step::CtsToSelf
        } else {
            self.second_step(queue)
        }
    }

    /// What follows behind RTS and CTS, or a CTS to oneself.
    pub(super) fn second_step(&self, queue: usize) -> Step {
        if self.categories[queue].batch.asks { Step::Request } else { Step::Data }
    }

    /// The exchange that [`Self::compose`] has made up begins, with [`Self::frame`].
    ///
    /// # Panics
    ///
    /// If no exchange is to begin.
    pub fn begin(&mut self, now: Time, net: &Network) {
        let State::Beginning { queue } = self.state else {
            panic!("no exchange is to begin, but {:?}", self.state);
        };
        self.begin_exchange(queue, now, net);
    }

    fn begin_exchange(&mut self, queue: usize, now: Time, net: &Network) {
        let category = &mut self.categories[queue];
        category.tally.attempts += 1;
        if !category.batch.asks {
            category.use_up();
        }
        self.send(queue, self.first_step(queue), now, net);
    }

    fn send(&mut self, queue: usize, step: Step, now: Time, net: &Network) {
        let subject = self.subject(queue, net).expect("an exchange has a packet");
        let frame = subject.frame(step, self.id, &net.phy);
        // A CTS to oneself is nobody's to receive.
        let opens = step == Step::Rts || step != Step::CtsToSelf && !self.needs_rts(queue);
        let nav = self.announce(queue, &frame, now, net);
        let category = &mut self.categories[queue];
        category.batch.charge(subject.time(step, &net.phy));
        let mut retry = category.short_retries + category.long_retries > 0;
        if step == Step::Data {
            category.tally.mpdus += u64::from(subject.mpdus);
            retry = category.batch.on_sent();
        }
        self.state = State::Sending { queue, step };
        self.timer = Time::MAX;
        self.frame = Frame { nav, opens, retry, queue: queue as u8, ..frame };
    }

    /// Its own frame has ended. [`Self::settle`] is due.
    pub fn on_transmitted(&mut self, now: Time, net: &Network) {
        self.view.transmitting = false;
        self.view.end_busy(now);
        match self.state {
            State::Sending { queue, step: Step::CtsToSelf } => {
                self.state = State::Pausing { queue };
                self.timer = now + net.phy.sifs();
            }
            State::GivingBack { queue } => {
                self.state = State::Idle;
                self.draw(queue, Time::ZERO, net);
            }
            State::Sending { queue, step } => {
                self.state = State::Waiting { queue, step };
                self.timer = now + net.phy.response_timeout(self.frame.rate);
            }
            _ => self.state = State::Idle,
        }
    }

    /// The queue whose next exchange is to be made up ([`Self::compose`]) before the timer goes off.
    #[inline]
    pub fn is_to_compose(&self) -> Option<usize> {
        match self.state {
            State::Continuing { queue } => Some(queue),
            State::Suspended(pause) => Some(pause.queue),
            _ => None,
        }
    }

    /// The timer goes off; `receiving` says whether the receiver is with a frame that it may decode. True if
    /// [`Self::frame`] is to begin now. [`Self::settle`] is due.
    pub fn on_timer(&mut self, now: Time, receiving: bool, net: &Network) -> bool {
        self.timer = Time::MAX;
        let clear = !self.view.is_busy() && !self.view.is_kept_silent(now);
        let hindered = net.rules.answers_need_idle && !clear;
        match self.state {
            State::Responding if self.frame.kind == FrameKind::Cts && hindered => {
                self.state = State::Idle;
                return false;
            }
            State::Responding => self.state = State::Answering,
            State::Pausing { queue } | State::Continuing { queue } if hindered => {
                // The next packet of a TXOP has not begun its exchange.
                let begun = self.state == State::Pausing { queue };
                self.state = State::Idle;
                self.categories[queue].tally.failures += u64::from(begun);
                self.categories[queue].widen(false);
                self.draw(queue, Time::ZERO, net);
                return false;
            }
            State::Pausing { queue } => self.send(queue, self.second_step(queue), now, net),
            State::Continuing { queue } => self.begin_exchange(queue, now, net),
            State::Ending { queue } => self.send_cf_end(queue, net),
            State::Suspended(pause) => {
                let goes_on = self.resume(pause, now, net);
                if goes_on {
                    self.begin_exchange(pause.queue, now, net);
                }
                return goes_on;
            }
            State::Waiting { queue, step } => {
                // The end of the reception decides (10.3.2.9).
                if !(net.rules.reception_decides && receiving) {
                    self.fail(queue, step, now, net);
                }
                return false;
            }
            _ => return false,
        }
        true
    }

    /// No response came.
    pub(super) fn fail(&mut self, queue: usize, step: Step, now: Time, net: &Network) {
        if step == Step::Data {
            self.account_transmission(queue, 0);
        }
        let category = &mut self.categories[queue];
        category.tally.failures += 1;
        category.announced = now;
        category.batch.asks |= net.rules.requests_block_ack
            && step == Step::Data
            && category.batch.response() != Response::Ack;
        if self.survives_failure(queue, net) {
            self.suspend(queue, step, now, net);
        } else {
            self.state = State::Idle;
            self.timer = Time::MAX;
            self.retry(queue, step, now, net);
        }
    }

    /// Widens the window and draws again; packets may be given up. Under a block ack agreement the next exchange may be
    /// about another receiver's packets.
    pub(super) fn retry(&mut self, queue: usize, step: Step, now: Time, net: &Network) {
        let given_up = self.count_retry(queue, step, now, net);
        self.widen(queue, given_up, net);
        self.draw(queue, Time::ZERO, net);
        if self.categories[queue].batch.ppdu.is_agreed() {
            self.finish(queue);
        }
    }

    /// Widens the window. What is sent under a block ack agreement is not given up for its retries; the window starts
    /// again at the failure that would have done it (10.22.2.2).
    pub(super) fn widen(&mut self, queue: usize, given_up: bool, net: &Network) {
        let (category, limit) = (&mut self.categories[queue], self.config.short_retry_limit);
        let restart = if net.rules.window_outlives_packet {
            category.in_a_row >= limit
        } else if category.batch.ppdu.is_agreed() {
            category.in_a_row + 1 >= limit
        } else {
            given_up
        };
        category.widen(restart);
    }

    /// Counts a failure; true if it was a packet's last.
    pub(super) fn count_retry(
        &mut self,
        queue: usize,
        step: Step,
        now: Time,
        net: &Network,
    ) -> bool {
        let behind_rts = self.needs_rts(queue);
        let category = &mut self.categories[queue];
        if category.batch.ppdu.is_agreed() {
            let given_up = category.batch.give_up_expired(self.config.lifetime, now);
            category.tally.given_up += given_up;
            if given_up > 0 {
                self.finish(queue);
            }
            return given_up > 0;
        }
        let (count, limit) = if step == Step::Data && behind_rts && !net.rules.shared_retries {
            (&mut category.long_retries, self.config.long_retry_limit)
        } else {
            (&mut category.short_retries, self.config.short_retry_limit)
        };
        *count += 1;
        let given_up = *count >= limit;
        if given_up {
            category.tally.given_up += 1;
            category.batch.give_up_first();
            self.finish(queue);
        }
        given_up
    }
}

/// What a response is on the air.
fn kind_of(response: Response) -> FrameKind {
    match response {
        Response::Ack => FrameKind::Ack,
        Response::BlockAck | Response::BlockAck256 => FrameKind::BlockAck,
    }
}
