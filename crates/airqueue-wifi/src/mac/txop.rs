//! What a queue does with the time that it has won (IEEE 802.11-2016, 10.22.2.7 and 10.22.2.8).

use super::category::Opportunity;
use super::exchange::{State, Step};
use super::frame::{Frame, FrameKind, Msdu};
use super::station::Mac;
use super::view::Network;
use crate::phy::frames::CF_END_BYTES;
use crate::phy::{Phy, Protection, RateIndex};
use airqueue_core::{Span, Time};

/// PIFS after a failure in a TXOP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pause {
    pub(super) queue: usize,
    pub(super) failure: Time,
    /// For how long the medium had been busy at all until then.
    pub(super) busy: Span,
}

impl Mac {
    /// The packet that follows in a queue whose last one is finished, if one does.
    pub fn on_next(&mut self, queue: usize, next: Option<Msdu>, now: Time, net: &Network) {
        self.categories[queue].held = next;
        self.backoffs[queue].ready = next.is_some();
        if self.state != (State::Served { queue }) {
            return;
        }
        let resume = now + net.phy.sifs();
        self.timer = resume;
        if let Some(msdu) = next.filter(|msdu| self.may_go_on(queue, msdu, resume, net)) {
            self.state = State::Pausing { queue, step: self.first_step(&msdu) };
        } else if self.gives_back(queue, resume, net) {
            self.state = State::Ending { queue };
        } else {
            self.timer = Time::MAX;
            self.state = State::Idle;
            self.draw(queue, Time::ZERO, net);
        }
    }

    /// Whether an exchange that begins at `begins` still fits into the TXOP.
    fn may_go_on(&mut self, queue: usize, msdu: &Msdu, begins: Time, net: &Network) -> bool {
        if self.categories[queue].opportunity == Opportunity::Last {
            return false;
        }
        let phy = &net.phy;
        let protection = match self.first_step(msdu) {
            Step::Rts => phy.protection(Protection::RtsCts, self.control_rate(msdu, net)),
            Step::CtsToSelf => phy.protection(Protection::CtsToSelf, self.control_rate(msdu, net)),
            Step::Data => Span::ZERO,
        };
        let exchange = protection
            + phy.airtime(msdu.rate, msdu.psdu_bytes)
            + phy.sifs()
            + phy.ack(phy.response_rate(msdu.rate));
        self.categories[queue].continue_until(begins + exchange)
    }

    /// Whether a CF-End at `begins` would end before what the others have been told.
    fn gives_back(&self, queue: usize, begins: Time, net: &Network) -> bool {
        let category = &self.categories[queue];
        let Opportunity::Until(limit) = category.opportunity else { return false };
        let cf_end = net.phy.airtime(cf_end_rate(&net.phy), CF_END_BYTES);
        net.rules.announces_txop && limit > begins && category.announced > begins + cf_end
    }

    /// The frame that ends a TXOP.
    pub(super) fn cf_end(&mut self, queue: usize, net: &Network) -> Frame {
        self.state = State::GivingBack { queue };
        self.timer = Time::MAX;
        Frame {
            kind: FrameKind::CfEnd,
            from: self.id,
            to: self.id,
            rate: cf_end_rate(&net.phy),
            bytes: CF_END_BYTES,
            nav: Span::ZERO,
            queue: queue as u8,
            opens: false,
            retry: false,
        }
    }

    /// What a frame of `airtime` that begins at `now` announces, and no less than `nav`, its own exchange.
    pub(super) fn announce(
        &mut self,
        queue: usize,
        nav: Span,
        airtime: Span,
        now: Time,
        net: &Network,
    ) -> Span {
        let category = &mut self.categories[queue];
        let Opportunity::Until(limit) = category.opportunity else { return nav };
        if !net.rules.announces_txop {
            return nav;
        }
        let end = now + airtime;
        let nav = if limit > end { nav.max(net.phy.nav(limit - end)) } else { nav };
        category.announced = category.announced.max(end + nav);
        nav
    }

    /// Whether a failure leaves the TXOP to the station: the frame was not its first, which got through.
    pub(super) fn survives_failure(&self, queue: usize, net: &Network) -> bool {
        let category = &self.categories[queue];
        let timed = matches!(category.opportunity, Opportunity::Until(_));
        net.rules.resumes_txop && timed && category.got_through
    }

    /// Such a failure: the TXOP goes on PIFS later if nothing makes the medium busy until then. There is no other
    /// backoff than behind any TXOP if the exchange no longer fits.
    pub(super) fn suspend(&mut self, queue: usize, step: Step, now: Time, net: &Network) {
        let resume = now + net.phy.aifs(1);
        let given_up = self.count_retry(queue, step, net);
        let held = self.categories[queue].held;
        if given_up || held.is_some_and(|msdu| self.may_go_on(queue, &msdu, resume, net)) {
            self.state = State::Suspended(Pause { queue, failure: now, busy: self.view.busy_time });
            self.timer = resume;
        } else {
            self.state = State::Idle;
            self.timer = Time::MAX;
            self.draw(queue, Time::ZERO, net);
        }
    }

    /// That is over. The medium counts, not the NAV, which a frame may have set that ended the wait (as in ns-3).
    pub(super) fn resume(&mut self, pause: Pause, now: Time, net: &Network) -> Option<Frame> {
        let queue = pause.queue;
        if self.view.has_noticed(now) || self.view.busy_time != pause.busy {
            self.abandon(pause, now, net);
            return None;
        }
        let held = self.categories[queue].held;
        if let Some(msdu) = held.filter(|msdu| self.may_go_on(queue, msdu, now, net)) {
            return Some(self.send(queue, self.first_step(&msdu), now, net));
        }
        self.release(pause, now, net);
        None
    }

    /// The TXOP does not go on. (ns-3 draws before it widens the window.)
    pub(super) fn abandon(&mut self, pause: Pause, now: Time, net: &Network) {
        self.release(pause, now, net);
        let outlives = net.rules.window_outlives_packet;
        self.categories[pause.queue].widen(false, outlives, self.config.short_retry_limit);
    }

    /// A wait for the TXOP to go on ends it. An idle medium has been so since the failure or since then.
    fn release(&mut self, pause: Pause, now: Time, net: &Network) {
        let Pause { queue, failure, .. } = pause;
        self.state = State::Idle;
        if !self.view.is_busy() {
            self.view.thaw(self.view.quiet_from.max(failure));
        }
        self.timer = Time::MAX;
        self.draw(queue, now - self.backoffs[queue].aifs, net);
    }
}

/// A CF-End goes to all: at the slowest basic rate.
fn cf_end_rate(phy: &Phy) -> RateIndex {
    let slowest = phy.rates().min_by_key(|&(_, rate)| rate).map(|(index, _)| index);
    phy.response_rate(slowest.expect("a layer has rates"))
}
