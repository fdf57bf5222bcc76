//! One station's MAC.

use super::backoff::Backoff;
use super::behaviour::{Arrival, BackoffDraw, ErrorWait, Rules};
use super::category::{Category, CategoryTally, Opportunity};
use super::config::{MacConfig, MacError};
use super::frame::{Frame, FrameKind, Msdu};
use crate::contention::CountdownRule;
use crate::medium::{Outcome, StationId};
use crate::phy::frames::{ACK_BYTES, CTS_BYTES, RTS_BYTES};
use crate::phy::{Phy, Protection, RateIndex};
use airqueue_core::{Seed, Span, Stream, Time};

/// What all stations of a network share.
#[derive(Clone, Debug)]
pub struct Network {
    /// The layer with the network's control rates.
    pub phy: Phy,
    /// What stations do.
    pub rules: Rules,
    slot: Span,
    /// By how much a frame in error moves the beginning of DIFS, or of AIFS.
    error_hold: Span,
}

impl Network {
    /// Stations on a layer that was made with the `rules`' conventions.
    pub fn new(phy: Phy, rules: Rules) -> Network {
        let error_hold = match rules.error_wait {
            ErrorWait::Eifs => phy.eifs() - phy.difs(),
            ErrorWait::EifsAsNav => phy.eifs(),
        };
        Network { slot: phy.slot(), phy, rules, error_hold }
    }

    /// What a frame that ends at `now` tells those for whom it is not.
    pub fn overheard(&self, frame: &Frame, now: Time) -> Overheard {
        let until = now + frame.nav;
        if frame.kind != FrameKind::Rts || !self.rules.nav_reset {
            return Overheard { until, unless_confirmed: until, confirm_by: until };
        }
        let unless_confirmed = now + self.phy.nav_timeout(frame.rate);
        // What counts is PHY-RXSTART, at the end of a preamble.
        let confirm_by = unless_confirmed - self.phy.preamble(self.phy.response_rate(frame.rate));
        Overheard { until, unless_confirmed, confirm_by }
    }
}

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
}

/// What a frame that ended leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// The station's own state has changed: look at its timer and at what it has finished.
    Mine,
    /// No more than what it knows of the medium.
    Overheard,
}

/// A frame of an exchange of one's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Rts,
    CtsToSelf,
    Data,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
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
    /// The queue has been served and has not been asked for its next packet.
    Served { queue: usize },
}

/// What a frame tells those for whom it is not.
#[derive(Clone, Copy, Debug)]
pub struct Overheard {
    /// The NAV that it sets.
    until: Time,
    /// The same, if it is taken back unless something follows.
    unless_confirmed: Time,
    /// What follows must begin by then.
    confirm_by: Time,
}

/// One station's MAC (see the [module](super) for how it is driven).
// In C's order, to keep together what every frame in range touches.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct Mac {
    /// Frames on the air that make the medium busy here.
    sensed: u32,
    transmitting: bool,
    /// When the first of these frames is noticed.
    noticed: Time,
    /// Since when it senses something or transmits, if it does.
    busy_since: Time,
    busy_time: Span,
    /// Counters are up to date and stand still.
    frozen: bool,
    idle_from: Time,
    nav_until: Time,
    /// What the NAV becomes if something follows the RTS that set it (10.3.2.4).
    nav_if_confirmed: Time,
    hold_until: Time,
    grant: Time,
    state: State,
    /// How many of `backoffs` there are.
    queues: usize,
    backoffs: [Backoff; 4],
    id: StationId,
    timer: Time,
    /// Queues whose packets are done with, one bit each.
    done: u8,
    categories: Vec<Category>,
    fates: [Fate; 4],
    /// For `nav_if_confirmed`.
    confirm_by: Time,
    config: MacConfig,
    chance: Stream,
}

impl Mac {
    /// An idle station. Its draws follow from `seed`, in a stream of its own.
    pub fn new(
        id: StationId,
        config: MacConfig,
        net: &Network,
        seed: Seed,
    ) -> Result<Mac, MacError> {
        config.check()?;
        let mut backoffs = [Backoff::new(Span::ZERO, CountdownRule::Freeze); 4];
        for (backoff, category) in backoffs.iter_mut().zip(&config.categories) {
            *backoff = Backoff::new(net.phy.aifs(category.aifsn), category.countdown);
        }
        Ok(Mac {
            id,
            sensed: 0,
            transmitting: false,
            noticed: Time::ZERO,
            busy_since: Time::ZERO,
            busy_time: Span::ZERO,
            frozen: false,
            idle_from: Time::ZERO,
            nav_until: Time::ZERO,
            nav_if_confirmed: Time::ZERO,
            hold_until: Time::ZERO,
            grant: Time::MAX,
            queues: config.categories.len(),
            backoffs,
            state: State::Idle,
            timer: Time::MAX,
            done: 0,
            categories: config.categories.iter().map(|&c| Category::new(c)).collect(),
            fates: [Fate::Acknowledged; 4],
            confirm_by: Time::ZERO,
            config,
            chance: seed.stream(&format!("wifi/backoff/{}", id.0)),
        })
    }

    /// When it will transmit if it senses nothing before; [`Time::MAX`]: not by itself. It is up to date
    /// after [`Self::settle`].
    #[inline]
    pub fn next_grant(&self) -> Time {
        self.grant
    }

    /// When [`Self::on_timer`] is to be called; [`Time::MAX`]: not at all.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.timer
    }

    /// What a queue did so far; nothing if there is no such queue.
    pub fn tally(&self, queue: usize) -> CategoryTally {
        self.categories.get(queue).map(|category| category.tally).unwrap_or_default()
    }

    /// Whether the receiver has the packet that it holds for a queue: only an ACK is missing.
    pub fn is_received(&self, queue: usize) -> bool {
        self.categories[queue].received
    }

    /// The packet that it holds for a queue.
    pub fn held(&self, queue: usize) -> Option<&Msdu> {
        self.categories[queue].held.as_ref()
    }

    /// Whether it senses a frame or transmits one itself.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.sensed > 0 || self.transmitting
    }

    /// Whether its NAV keeps it silent.
    #[inline]
    pub fn is_kept_silent(&self, now: Time) -> bool {
        now < self.nav_until
    }

    /// A frame that makes the medium busy begins. True if that has changed [`Self::next_grant`].
    #[inline]
    pub fn on_sensed_begin(&mut self, now: Time, net: &Network) -> bool {
        if self.sensed == 0 {
            self.noticed = now + net.rules.sense_delay;
            self.begin_busy(now);
        }
        self.sensed += 1;
        if self.nav_if_confirmed > self.nav_until {
            self.confirm_nav(now);
        }
        // What ends before the frame is noticed has ended.
        if self.frozen || self.grant <= self.noticed {
            return false;
        }
        self.freeze(self.noticed, net);
        true
    }

    #[cold]
    fn confirm_nav(&mut self, now: Time) {
        if now <= self.confirm_by {
            self.nav_until = self.nav_if_confirmed;
        }
        self.nav_if_confirmed = Time::ZERO;
    }

    /// Such a frame ends; what became of it is told afterwards. True if nothing is on the air any more:
    /// [`Self::settle`] is due once that has been told.
    #[inline]
    pub fn on_sensed_end(&mut self, now: Time) -> bool {
        self.sensed -= 1;
        self.end_busy(now);
        self.sensed == 0
    }

    #[inline]
    fn begin_busy(&mut self, now: Time) {
        if !self.is_busy() {
            self.busy_since = now;
        }
    }

    #[inline]
    fn end_busy(&mut self, now: Time) {
        if !self.is_busy() {
            self.busy_time = self.busy_time + (now - self.busy_since);
        }
    }

    /// For how long, up to `now`, it has sensed frames or transmitted.
    pub fn busy_time(&self, now: Time) -> Span {
        let under_way = if self.is_busy() { now - self.busy_since } else { Span::ZERO };
        self.busy_time + under_way
    }

    /// A frame that the receiver was with ends and was not understood.
    pub fn on_error(&mut self, outcome: Outcome, now: Time, net: &Network) -> Reaction {
        if outcome == Outcome::Deaf && !net.rules.deaf_errors {
            return Reaction::Overheard;
        }
        let hold = now + net.error_hold;
        match net.rules.error_wait {
            ErrorWait::Eifs => self.hold_until = hold,
            ErrorWait::EifsAsNav => self.nav_until = self.nav_until.max(hold),
        }
        self.end_wait(net)
    }

    /// A frame that began at `begins` was ignored for a stronger one.
    pub fn on_ignored(&mut self, begins: Time, now: Time, net: &Network) {
        if net.rules.ignored_nav {
            let until = begins + net.phy.nav(now - begins + net.phy.eifs());
            self.nav_until = self.nav_until.max(until);
        }
    }

    /// A reception that was not the awaited response has ended.
    #[inline]
    fn end_wait(&mut self, net: &Network) -> Reaction {
        if net.rules.reception_decides
            && let State::Waiting { queue, step } = self.state
        {
            self.fail(queue, step, net);
            return Reaction::Mine;
        }
        Reaction::Overheard
    }

    /// The same for a frame that is for another station; what it says is the same for all who hear it.
    #[inline]
    pub fn overhear(&mut self, overheard: Overheard, net: &Network) -> Reaction {
        self.hold_until = Time::ZERO;
        if overheard.until > self.nav_until {
            self.set_nav(overheard);
        }
        self.end_wait(net)
    }

    #[inline]
    fn set_nav(&mut self, overheard: Overheard) {
        let Overheard { until, unless_confirmed, confirm_by } = overheard;
        if unless_confirmed < until {
            self.nav_if_confirmed = until;
            self.confirm_by = confirm_by;
            self.nav_until = self.nav_until.max(unless_confirmed);
        } else {
            self.nav_until = until;
        }
    }

    /// A frame has been decoded.
    pub fn on_frame(&mut self, frame: &Frame, now: Time, net: &Network) -> Reaction {
        if frame.to != self.id {
            return self.overhear(net.overheard(frame, now), net);
        }
        self.hold_until = Time::ZERO;
        self.on_frame_for_me(frame, now, net);
        Reaction::Mine
    }

    fn on_frame_for_me(&mut self, frame: &Frame, now: Time, net: &Network) {
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
            self.end_wait(net);
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
            FrameKind::Data => (FrameKind::Ack, ACK_BYTES, Span::ZERO),
            FrameKind::Rts if !self.is_kept_silent(now) => {
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
        let msdu = category.held.take()?;
        Some(Finished { queue, msdu, fate: self.fates[queue] })
    }

    /// The packet that follows in a queue whose last one is finished, if one does.
    pub fn on_next(&mut self, queue: usize, next: Option<Msdu>, now: Time, net: &Network) {
        self.categories[queue].held = next;
        self.backoffs[queue].ready = next.is_some();
        if self.state == (State::Served { queue }) {
            self.state = State::Idle;
            if let Some(msdu) = next
                && self.may_continue(queue, &msdu, now, net)
            {
                self.state = State::Pausing { queue, step: self.first_step(&msdu) };
                self.timer = now + net.phy.sifs();
            } else {
                self.draw(queue, Time::ZERO, net);
            }
        }
    }

    /// Whether the next exchange of a TXOP still fits.
    fn may_continue(&mut self, queue: usize, msdu: &Msdu, now: Time, net: &Network) -> bool {
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
        self.categories[queue].continue_until(now + phy.sifs() + exchange)
    }

    /// A packet comes for a queue that holds none.
    pub fn on_packet(&mut self, queue: usize, msdu: Msdu, now: Time, net: &Network) {
        debug_assert!(self.categories[queue].held.is_none(), "the MAC holds one packet of a queue");
        self.categories[queue].held = Some(msdu);
        let base = self.base();
        let busy = self.frozen || self.is_busy() || self.is_kept_silent(now);
        let backoff = &mut self.backoffs[queue];
        backoff.ready = true;
        let running =
            if self.frozen { backoff.slots > 0 } else { backoff.is_running(base, now, net.slot) };
        match net.rules.arrival {
            _ if running => {}
            // From now on: slots that passed before do not count, as they would if a frame is on the air
            // that this station has not noticed yet.
            arrival if busy || arrival == Arrival::Ns2 => self.draw(queue, now, net),
            arrival => backoff.arrive(arrival, base, now, net.slot),
        }
    }

    fn draw(&mut self, queue: usize, since: Time, net: &Network) {
        let values = match net.rules.backoff_draw {
            BackoffDraw::Whole => self.categories[queue].cw,
            BackoffDraw::OneFewer => self.categories[queue].cw - 1,
        };
        let slots = self.chance.below(values.into()) as u32;
        self.backoffs[queue].draw(slots, since);
    }

    /// When SIFS and AIFSN slots begin, if the medium is idle.
    #[inline]
    fn base(&self) -> Time {
        self.idle_from.max(self.nav_until).max(self.hold_until)
    }

    /// Brings counters and [`Self::next_grant`] up to date with everything that happened at `now`.
    #[inline]
    pub fn settle(&mut self, now: Time, net: &Network) {
        if self.is_busy() || self.in_exchange() {
            self.stand_still(now, net);
            return;
        }
        if self.frozen {
            self.frozen = false;
            self.idle_from = now;
        }
        let base = self.base();
        self.grant = Time::MAX;
        for backoff in &self.backoffs[..self.queues] {
            if backoff.ready {
                self.grant = self.grant.min(backoff.grant(base, net.slot));
            }
        }
    }

    /// Whether an exchange of its own keeps its counters still.
    #[inline]
    fn in_exchange(&self) -> bool {
        !matches!(self.state, State::Idle | State::Responding(_) | State::Answering)
    }

    fn stand_still(&mut self, now: Time, net: &Network) {
        if self.frozen {
            return;
        }
        if self.transmitting || self.in_exchange() {
            self.freeze(now, net);
        } else if self.grant > self.noticed {
            self.freeze(self.noticed, net);
        }
    }

    #[inline]
    fn freeze(&mut self, now: Time, net: &Network) {
        let base = self.base();
        self.frozen = true;
        self.grant = Time::MAX;
        let mut draws = false;
        for backoff in &mut self.backoffs[..self.queues] {
            draws |= backoff.freeze(base, now, net.slot);
        }
        if draws {
            self.draw_for_fresh(net);
        }
    }

    /// Packets that were to go without a backoff cannot.
    #[cold]
    fn draw_for_fresh(&mut self, net: &Network) {
        for queue in 0..self.queues {
            if self.backoffs[queue].ready && self.backoffs[queue].fresh {
                self.draw(queue, Time::ZERO, net);
            }
        }
    }

    /// Its backoff has ended: the frame that it sends. Of several queues the last, which has the highest
    /// priority, goes; the others behave as after a collision (10.22.2.4).
    ///
    /// # Panics
    ///
    /// If `now` is not [`Self::next_grant`].
    pub fn on_grant(&mut self, now: Time, net: &Network) -> Frame {
        let base = self.base();
        let ended = |b: &Backoff| b.ready && b.grant(base, net.slot) <= now;
        let winner = (0..self.queues).rev().find(|&q| ended(&self.backoffs[q]));
        let winner = winner.expect("a queue whose backoff ends now");
        let losers = (0..winner).filter(|&q| ended(&self.backoffs[q])).fold(0u8, |m, q| m | 1 << q);
        self.backoffs[winner].fresh = false;
        self.categories[winner].open(now);
        // In an exchange from now on: the other counters stop here.
        self.state = State::Pausing { queue: winner, step: Step::Data };
        self.freeze(now, net);
        for queue in (0..winner).filter(|q| losers & 1 << q != 0) {
            self.categories[queue].tally.internal_collisions += 1;
            self.retry(queue, Step::Data, net);
        }
        let msdu = self.categories[winner].held.expect("a queue that is ready holds a packet");
        self.send(winner, self.first_step(&msdu), net)
    }

    fn needs_rts(&self, msdu: &Msdu) -> bool {
        msdu.psdu_bytes > self.config.rts_threshold_bytes
            || self.config.protection == Protection::RtsCts
    }

    fn first_step(&self, msdu: &Msdu) -> Step {
        if self.needs_rts(msdu) {
            Step::Rts
        } else if self.config.protection == Protection::CtsToSelf {
            Step::CtsToSelf
        } else {
            Step::Data
        }
    }

    /// The rate of what precedes a data frame.
    fn control_rate(&self, msdu: &Msdu, net: &Network) -> RateIndex {
        self.config.protection_rate.unwrap_or_else(|| net.phy.response_rate(msdu.rate))
    }

    fn send(&mut self, queue: usize, step: Step, net: &Network) -> Frame {
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
        let begins = step == self.first_step(&msdu);
        // A CTS to oneself is nobody's to receive.
        let opens = step == Step::Rts || step == Step::Data && !self.needs_rts(&msdu);
        let category = &mut self.categories[queue];
        category.tally.attempts += u64::from(begins);
        let retry = category.short_retries + category.long_retries > 0;
        self.state = State::Sending { queue, step };
        self.timer = Time::MAX;
        Frame { kind, from: self.id, to, rate, bytes, nav, queue: queue as u8, opens, retry }
    }

    /// One of its frames, which [`Self::on_grant`] or [`Self::on_timer`] returned, goes on the air.
    #[inline]
    pub fn on_transmit(&mut self, now: Time) {
        self.begin_busy(now);
        self.transmitting = true;
    }

    /// Its own frame has ended. [`Self::settle`] is due.
    pub fn on_transmitted(&mut self, frame: &Frame, now: Time, net: &Network) {
        self.transmitting = false;
        self.end_busy(now);
        match self.state {
            State::Sending { queue, step: Step::CtsToSelf } => {
                self.state = State::Pausing { queue, step: Step::Data };
                self.timer = now + net.phy.sifs();
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
        let clear = !self.is_busy() && !self.is_kept_silent(now);
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
            State::Pausing { queue, step } => Some(self.send(queue, step, net)),
            State::Waiting { queue, step } => {
                // The end of the reception decides (10.3.2.9).
                if !(net.rules.reception_decides && receiving) {
                    self.fail(queue, step, net);
                }
                None
            }
            _ => None,
        }
    }

    /// No response came.
    fn fail(&mut self, queue: usize, step: Step, net: &Network) {
        self.state = State::Idle;
        self.timer = Time::MAX;
        self.categories[queue].tally.failures += 1;
        self.retry(queue, step, net);
    }

    /// Widens the window and draws again, or gives the packet up.
    fn retry(&mut self, queue: usize, step: Step, net: &Network) {
        let behind_rts = self.categories[queue].held.is_some_and(|msdu| self.needs_rts(&msdu));
        let rules = &net.rules;
        let category = &mut self.categories[queue];
        let short = self.config.short_retry_limit;
        let (count, limit) = if step == Step::Data && behind_rts && !rules.shared_retries {
            (&mut category.long_retries, self.config.long_retry_limit)
        } else {
            (&mut category.short_retries, short)
        };
        *count += 1;
        let given_up = *count >= limit;
        category.widen(given_up, rules.window_outlives_packet, short);
        if given_up {
            let received = category.received;
            category.tally.given_up += 1;
            self.finish(queue, Fate::GivenUp { received });
        }
        self.draw(queue, Time::ZERO, net);
    }
}
