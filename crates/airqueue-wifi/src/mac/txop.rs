//! How an access category uses its TXOP (IEEE 802.11-2016, 10.22.2.7 and 10.22.2.8).

use super::category::TxopRemaining;
use super::config::Txop;
use super::exchange::{State, Step};
use super::frame::{Frame, FrameKind, Msdu};
use super::station::Mac;
use super::view::Radio;
use crate::phy::frames::CF_END_BYTES;
use crate::phy::{AccessCategory, Phy};
use airqueue_core::{Span, Time};

/// PIFS after a failure in a TXOP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pause {
    pub(super) ac: AccessCategory,
    pub(super) failure: Time,
    /// Total busy time of the medium up to the failure.
    pub(super) busy: Span,
}

impl Mac {
    /// Continues an access category whose finished packets have been polled ([`Self::poll_done`]), with the packet
    /// `next` if there is one and none is in hand.
    pub fn on_next(&mut self, ac: AccessCategory, next: Option<Msdu>, now: Time, radio: &Radio) {
        if let Some(msdu) = next {
            self.hold(ac, msdu, now, radio);
        } else {
            self.send_one(ac, radio);
        }
        self.backoffs[ac.index()].ready = self.held(ac).is_some();
        if self.state != (State::Served { ac }) {
            return;
        }
        let resume = now + radio.phy.sifs();
        self.timer = resume;
        if self.may_go_on(ac, resume, radio) {
            self.state = State::Continuing { ac };
        } else if self.gives_back(ac, resume, radio) {
            self.state = State::Ending { ac };
        } else {
            self.timer = Time::MAX;
            self.state = State::Idle;
            self.draw(ac, Time::ZERO, radio);
        }
    }

    /// Gives an access category another limit of TXOPs. A TXOP that goes on keeps the limit with which it began. Neither
    /// limit is [`Txop::Flows`], whose owner counts flows from the beginning.
    pub fn set_txop(&mut self, ac: AccessCategory, txop: Txop) {
        debug_assert!(
            txop != Txop::Flows && self.categories[ac.index()].config.txop != Txop::Flows
        );
        self.categories[ac.index()].config.txop = txop;
    }

    /// Gives an access category another AIFSN, from the next backoff on that the category draws, and for the next packet
    /// that needs none. Returns whether the AIFSN is another one.
    pub fn set_aifsn(&mut self, ac: AccessCategory, aifsn: u32, phy: &Phy) -> bool {
        let category = &mut self.categories[ac.index()];
        let is_new = category.config.aifsn != aifsn;
        (category.config.aifsn, category.aifs) = (aifsn, phy.aifs(aifsn));
        is_new
    }

    /// Gives an access category other contention windows, numbers of values, from the next backoff on that the category
    /// draws. A window that failures have widened stays, within the new bounds.
    pub fn set_windows(&mut self, ac: AccessCategory, w_min: u32, w_max: u32) {
        let category = &mut self.categories[ac.index()];
        (category.config.w_min, category.config.w_max) = (w_min, w_max);
        let widened = category.in_a_row > 0;
        category.cw = if widened { category.cw.clamp(w_min, w_max) } else { w_min };
    }

    /// Extends a TXOP by flows ([`Txop::Flows`]) of an access category by this many packets. To be called between
    /// [`Self::on_grant`] and [`Self::compose`] for each flow but the first that has packets in the queue, and for
    /// each flow that gets packets later. After the end of a TXOP the call has no effect: the next TXOP begins anew.
    pub fn extend_txop(&mut self, ac: AccessCategory, packets: u32) {
        let category = &mut self.categories[ac.index()];
        if category.config.txop == Txop::Flows
            && let TxopRemaining::Packets(left) = &mut category.txop_remaining
        {
            *left = left.saturating_add(packets);
        }
    }

    /// Whether the next exchange, if any, fits into the TXOP if the exchange begins at `begins`.
    #[inline(always)]
    fn may_go_on(&mut self, ac: AccessCategory, begins: Time, radio: &Radio) -> bool {
        if self.categories[ac.index()].txop_remaining == TxopRemaining::Last {
            return false;
        }
        let Some(planned_frame) = self.planned_frame(ac, radio) else { return false };
        let first = self.first_step(ac);
        let ends = begins + planned_frame.time(first, &radio.phy);
        let last = self.second_step(ac);
        let ends = if first == last { ends } else { ends + planned_frame.time(last, &radio.phy) };
        self.categories[ac.index()].continue_until(ends)
    }

    /// Whether a CF-End at `begins` would end before the NAV that has been announced.
    fn gives_back(&self, ac: AccessCategory, begins: Time, radio: &Radio) -> bool {
        let category = &self.categories[ac.index()];
        let TxopRemaining::Until(limit) = category.txop_remaining else { return false };
        let cf_end = radio.phy.airtime(radio.phy.slowest_basic(), CF_END_BYTES);
        radio.rules.announces_txop && limit > begins && category.announced > begins + cf_end
    }

    /// Ends the TXOP with a CF-End.
    pub(super) fn send_cf_end(&mut self, ac: AccessCategory, radio: &Radio) {
        self.state = State::GivingBack { ac };
        self.timer = Time::MAX;
        // A CF-End is addressed to all stations.
        let frame = Frame::new(FrameKind::CfEnd, self.id, self.id, radio.phy.slowest_basic());
        self.frame = Frame { bytes: CF_END_BYTES, ac, ..frame };
    }

    /// The NAV of a frame that begins at `now`: of its own exchange, or of the rest of the TXOP.
    #[inline]
    pub(super) fn announce(
        &mut self,
        ac: AccessCategory,
        frame: &Frame,
        now: Time,
        radio: &Radio,
    ) -> Span {
        let category = &mut self.categories[ac.index()];
        let nav = frame.nav;
        let TxopRemaining::Until(limit) = category.txop_remaining else { return nav };
        if !radio.rules.announces_txop {
            return nav;
        }
        let end = now + radio.phy.airtime(frame.rate, frame.bytes);
        let nav = if limit > end { nav.max(radio.phy.nav(limit - end)) } else { nav };
        category.announced = category.announced.max(end + nav);
        nav
    }

    /// Whether the station keeps the TXOP after a failure: the failed frame was not the first, and the first was
    /// successful.
    pub(super) fn survives_failure(&self, ac: AccessCategory, radio: &Radio) -> bool {
        let category = &self.categories[ac.index()];
        let timed = matches!(category.txop_remaining, TxopRemaining::Until(_));
        radio.rules.resumes_txop && timed && category.got_through
    }

    /// After such a failure the TXOP continues PIFS later if the medium stays idle until then. If the exchange no
    /// longer fits, only the usual backoff after a TXOP follows.
    pub(super) fn suspend(&mut self, ac: AccessCategory, step: Step, now: Time, radio: &Radio) {
        let resume = now + radio.phy.aifs(1);
        let given_up = self.count_retry(ac, step, now, radio);
        self.send_one(ac, radio);
        if given_up || self.may_go_on(ac, resume, radio) {
            self.state = State::Suspended(Pause { ac, failure: now, busy: self.view.busy_time });
            self.timer = resume;
        } else {
            self.state = State::Idle;
            self.timer = Time::MAX;
            self.draw(ac, Time::ZERO, radio);
        }
    }

    /// The wait is over; true if the TXOP continues. Only carrier sense counts, not the NAV, which the frame that
    /// ended the wait may have set (as in ns-3).
    pub(super) fn resume(&mut self, pause: Pause, now: Time, radio: &Radio) -> bool {
        if self.view.has_noticed(now) || self.view.busy_time != pause.busy {
            self.abandon(pause, now, radio);
            return false;
        }
        let goes_on = self.may_go_on(pause.ac, now, radio);
        if !goes_on {
            self.release(pause, now, radio);
        }
        goes_on
    }

    /// The TXOP does not continue. (ns-3 draws the backoff before it widens the window.)
    pub(super) fn abandon(&mut self, pause: Pause, now: Time, radio: &Radio) {
        self.release(pause, now, radio);
        self.widen(pause.ac, false, radio);
    }

    /// Ends the wait for the TXOP to continue. An idle medium has been idle since the failure or since the last busy
    /// period.
    fn release(&mut self, pause: Pause, now: Time, radio: &Radio) {
        let Pause { ac, failure, .. } = pause;
        self.state = State::Idle;
        if !self.view.is_busy() {
            self.view.thaw(self.view.quiet_from.max(failure));
        }
        self.timer = Time::MAX;
        self.draw(ac, now - self.categories[ac.index()].aifs, radio);
    }
}
