//! One station's MAC.

use super::backoff::Backoff;
use super::behaviour::{Arrival, BackoffDraw, ErrorWait, Rules};
use super::category::{Category, CategoryTally};
use super::config::{MacConfig, MacError};
use super::exchange::{Fate, State, Step};
use super::frame::{Frame, FrameKind, Msdu};
use crate::contention::CountdownRule;
use crate::medium::{Outcome, StationId};
use crate::phy::Phy;
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

/// What a frame that ended leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// The station's own state has changed: look at its timer and at what it has finished.
    Mine,
    /// No more than what it knows of the medium.
    Overheard,
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
    pub(super) sensed: u32,
    pub(super) transmitting: bool,
    /// When the first of these frames is noticed.
    pub(super) noticed: Time,
    /// Since when it senses something or transmits, if it does.
    pub(super) busy_since: Time,
    pub(super) busy_time: Span,
    /// Counters are up to date and stand still.
    pub(super) frozen: bool,
    pub(super) idle_from: Time,
    pub(super) nav_until: Time,
    /// What the NAV becomes if something follows the RTS that set it (10.3.2.4).
    pub(super) nav_if_confirmed: Time,
    pub(super) hold_until: Time,
    pub(super) grant: Time,
    pub(super) state: State,
    /// How many of `backoffs` there are.
    pub(super) queues: usize,
    pub(super) backoffs: [Backoff; 4],
    pub(super) id: StationId,
    pub(super) timer: Time,
    /// Queues whose packets are done with, one bit each.
    pub(super) done: u8,
    pub(super) categories: Vec<Category>,
    pub(super) fates: [Fate; 4],
    /// For `nav_if_confirmed`.
    pub(super) confirm_by: Time,
    pub(super) config: MacConfig,
    pub(super) chance: Stream,
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
    pub(super) fn begin_busy(&mut self, now: Time) {
        if !self.is_busy() {
            self.busy_since = now;
        }
    }

    #[inline]
    pub(super) fn end_busy(&mut self, now: Time) {
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
    pub(super) fn end_wait(&mut self, net: &Network) -> Reaction {
        if net.rules.reception_decides
            && let State::Waiting { queue, step } = self.state
        {
            self.fail(queue, step, net);
            return Reaction::Mine;
        }
        Reaction::Overheard
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

    pub(super) fn draw(&mut self, queue: usize, since: Time, net: &Network) {
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

    /// One of its frames, which [`Self::on_grant`] or [`Self::on_timer`] returned, goes on the air.
    #[inline]
    pub fn on_transmit(&mut self, now: Time) {
        self.begin_busy(now);
        self.transmitting = true;
    }
}
