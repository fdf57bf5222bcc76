//! What a station sends and answers: its own exchanges, and those of others with it.

use super::frame::{Frame, FrameKind, Msdu};
use super::station::Mac;
use super::txop::Pause;
use super::view::Network;
use crate::phy::frames::{ACK_BYTES, CTS_BYTES, RTS_BYTES};
use crate::phy::{Protection, RateIndex};
use airqueue_core::{Span, Time};

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was acknowledged.
    Acknowledged,
    /// It was given up after the last retry.
    GivenUp {
        /// All the same its receiver has it: only ACKs were lost.
        received: bool,
    },
}

/// A packet that the MAC is done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The queue that it came from.
    pub queue: usize,
    /// The packet.
    pub msdu: Msdu,
    /// How it ended.
    pub fate: Fate,
    /// What its transmissions took: RTS, CTS, data and ACK of all attempts and the SIFS between. Time kept
    /// free for a response counts whether that came or not.
    pub airtime: Span,
}

/// A frame of an exchange of one's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Rts,
    CtsToSelf,
    Data,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Contends, or has nothing to send.
    Idle,
    /// SIFS before a response.
    Responding(Frame),
    /// A response is on the air.
    Answering,
    /// A frame of one's own is on the air.
    Sending { queue: usize, step: Step },
    /// It was sent and a response is due.
    Waiting { queue: usize, step: Step },
    /// SIFS before the next frame of one's own.
    Pausing { queue: usize, step: Step },
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
            let awaited = match step {
                Step::Rts => FrameKind::Cts,
                Step::CtsToSelf | Step::Data => FrameKind::Ack,
            };
            let peer = self.categories[queue].held.as_ref().map(|msdu| msdu.to);
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
            self.state = State::Responding(response);
            self.timer = now + net.phy.sifs();
        }
    }

    fn response_to(&self, frame: &Frame, now: Time, net: &Network) -> Option<Frame> {
        let rate = net.phy.response_rate(frame.rate);
        let (kind, bytes, nav) = match frame.kind {
            FrameKind::Data => {
                // What is announced beyond the exchange goes on being so.
                let rest = frame.nav - net.phy.data_nav(frame.rate);
                (FrameKind::Ack, ACK_BYTES, rest.max(Span::ZERO))
            }
            FrameKind::Rts if !self.view.is_kept_silent(now) => {
                (FrameKind::Cts, CTS_BYTES, net.phy.cts_nav(rate, frame.nav))
            }
            _ => return None,
        };
        let (from, to) = (self.id, frame.from);
        Some(Frame { kind, from, to, rate, bytes, nav, queue: 0, opens: false, retry: false })
    }

    fn on_response(&mut self, queue: usize, step: Step, now: Time, net: &Network) {
        let category = &mut self.categories[queue];
        if step == Step::Rts {
            if !net.rules.shared_retries {
                // A short frame has got through (10.3.4.4; `recvCTS` of ns-2).
                category.short_retries = 0;
            }
            self.state = State::Pausing { queue, step: Step::Data };
            self.timer = now + net.phy.sifs();
            return;
        }
        category.tally.acknowledged += 1;
        category.succeed();
        self.state = State::Served { queue };
        self.timer = Time::MAX;
        self.finish(queue, Fate::Acknowledged);
    }

    /// The receiver of this station's data frame has decoded it. False if it had it already.
    pub fn on_received_by_peer(&mut self, queue: usize) -> bool {
        !std::mem::replace(&mut self.categories[queue].received, true)
    }

    fn finish(&mut self, queue: usize, fate: Fate) {
        self.fates[queue] = fate;
        self.done |= 1 << queue;
    }

    /// A packet that the MAC is done with; [`Self::on_next`] is to follow for its queue.
    #[inline]
    pub fn poll_finished(&mut self) -> Option<Finished> {
        if self.done == 0 {
            return None;
        }
        let queue = self.done.trailing_zeros() as usize;
        self.done &= self.done - 1;
        let category = &mut self.categories[queue];
        category.received = false;
        category.short_retries = 0;
        category.long_retries = 0;
        let airtime = std::mem::take(&mut category.airtime);
        let msdu = category.held.take()?;
        Some(Finished { queue, msdu, fate: self.fates[queue], airtime })
    }

    fn needs_rts(&self, msdu: &Msdu) -> bool {
        msdu.psdu_bytes > self.config.rts_threshold_bytes
            || self.config.protection == Protection::RtsCts
    }

    pub(super) fn first_step(&self, msdu: &Msdu) -> Step {
        if self.needs_rts(msdu) {
            Step::Rts
        } else if self.config.protection == Protection::CtsToSelf {
            Step::CtsToSelf
        } else {
            Step::Data
        }
    }

    /// The rate of what precedes a data frame.
    pub(super) fn control_rate(&self, msdu: &Msdu, net: &Network) -> RateIndex {
        self.config.protection_rate.unwrap_or_else(|| net.phy.response_rate(msdu.rate))
    }

    pub(super) fn send(&mut self, queue: usize, step: Step, now: Time, net: &Network) -> Frame {
        let msdu = self.categories[queue].held.expect("an exchange has a packet");
        let phy = &net.phy;
        let control = self.control_rate(&msdu, net);
        let airtime = phy.airtime(msdu.rate, msdu.psdu_bytes);
        let (kind, to, rate, bytes, nav) = match step {
            Step::Rts => {
                let nav = phy.rts_nav(control, msdu.rate, airtime);
                (FrameKind::Rts, msdu.to, control, RTS_BYTES, nav)
            }
            Step::CtsToSelf => {
                let nav = phy.cts_to_self_nav(msdu.rate, airtime);
                (FrameKind::Cts, self.id, control, CTS_BYTES, nav)
            }
            Step::Data => {
                (FrameKind::Data, msdu.to, msdu.rate, msdu.psdu_bytes, phy.data_nav(msdu.rate))
            }
        };
        let nav = self.announce(queue, nav, phy.airtime(rate, bytes), now, net);
        let begins = step == self.first_step(&msdu);
        // A CTS to oneself is nobody's to receive.
        let opens = step == Step::Rts || step == Step::Data && !self.needs_rts(&msdu);
        let category = &mut self.categories[queue];
        category.tally.attempts += u64::from(begins);
        category.airtime = category.airtime
            + match step {
                Step::Rts => phy.protection(Protection::RtsCts, control),
                Step::CtsToSelf => phy.protection(Protection::CtsToSelf, control),
                Step::Data => airtime + phy.sifs() + phy.ack(phy.response_rate(msdu.rate)),
            };
        let retry = category.short_retries + category.long_retries > 0;
        self.state = State::Sending { queue, step };
        self.timer = Time::MAX;
        Frame { kind, from: self.id, to, rate, bytes, nav, queue: queue as u8, opens, retry }
    }

    /// Its own frame has ended. [`Self::settle`] is due.
    pub fn on_transmitted(&mut self, frame: &Frame, now: Time, net: &Network) {
        self.view.transmitting = false;
        self.view.end_busy(now);
        match self.state {
            State::Sending { queue, step: Step::CtsToSelf } => {
                self.state = State::Pausing { queue, step: Step::Data };
                self.timer = now + net.phy.sifs();
            }
            State::GivingBack { queue } => {
                self.state = State::Idle;
                self.draw(queue, Time::ZERO, net);
            }
            State::Sending { queue, step } => {
                self.state = State::Waiting { queue, step };
                self.timer = now + net.phy.response_timeout(frame.rate);
            }
            _ => self.state = State::Idle,
        }
    }

    /// The timer goes off; `receiving` says whether the receiver is with a frame that it may decode. The
    /// frame that is to begin now, if one is. [`Self::settle`] is due.
    pub fn on_timer(&mut self, now: Time, receiving: bool, net: &Network) -> Option<Frame> {
        self.timer = Time::MAX;
        let clear = !self.view.is_busy() && !self.view.is_kept_silent(now);
        match self.state {
            State::Responding(frame) => {
                if frame.kind == FrameKind::Cts && net.rules.answers_need_idle && !clear {
                    self.state = State::Idle;
                    return None;
                }
                self.state = State::Answering;
                Some(frame)
            }
            State::Pausing { queue, step } if net.rules.answers_need_idle && !clear => {
                self.state = State::Idle;
                // The next packet of a TXOP has not begun its exchange.
                let first = self.categories[queue].held.map(|msdu| self.first_step(&msdu));
                self.categories[queue].tally.failures += u64::from(first != Some(step));
                self.categories[queue].widen(false, false, 0);
                self.draw(queue, Time::ZERO, net);
                None
            }
            State::Pausing { queue, step } => Some(self.send(queue, step, now, net)),
            State::Ending { queue } => Some(self.cf_end(queue, net)),
            State::Suspended(pause) => self.resume(pause, now, net),
            State::Waiting { queue, step } => {
                // The end of the reception decides (10.3.2.9).
                if !(net.rules.reception_decides && receiving) {
                    self.fail(queue, step, now, net);
                }
                None
            }
            _ => None,
        }
    }

    /// No response came.
    pub(super) fn fail(&mut self, queue: usize, step: Step, now: Time, net: &Network) {
        self.categories[queue].tally.failures += 1;
        self.categories[queue].announced = now;
        if self.survives_failure(queue, net) {
            self.suspend(queue, step, now, net);
        } else {
            self.state = State::Idle;
            self.timer = Time::MAX;
            self.retry(queue, step, net);
        }
    }

    /// Widens the window and draws again; the packet may be given up.
    pub(super) fn retry(&mut self, queue: usize, step: Step, net: &Network) {
        let given_up = self.count_retry(queue, step, net);
        let outlives = net.rules.window_outlives_packet;
        self.categories[queue].widen(given_up, outlives, self.config.short_retry_limit);
        self.draw(queue, Time::ZERO, net);
    }

    /// Counts a failure; true if it was the packet's last.
    pub(super) fn count_retry(&mut self, queue: usize, step: Step, net: &Network) -> bool {
        let behind_rts = self.categories[queue].held.is_some_and(|msdu| self.needs_rts(&msdu));
        let category = &mut self.categories[queue];
        let (count, limit) = if step == Step::Data && behind_rts && !net.rules.shared_retries {
            (&mut category.long_retries, self.config.long_retry_limit)
        } else {
            (&mut category.short_retries, self.config.short_retry_limit)
        };
        *count += 1;
        let given_up = *count >= limit;
        if given_up {
            let received = category.received;
            category.tally.given_up += 1;
            self.finish(queue, Fate::GivenUp { received });
        }
        given_up
    }
}
