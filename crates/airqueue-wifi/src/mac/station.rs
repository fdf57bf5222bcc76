//! One station's MAC.

use super::backoff::Backoff;
use super::behaviour::{Arrival, BackoffDraw};
use super::category::{Category, CategoryCounters};
use super::config::{MacConfig, MacError};
use super::exchange::{State, Step};
use super::frame::{Frame, FrameKind, Msdu, Transmission};
use super::recipient::{Recipient, Scoreboard};
use super::view::{Overheard, Radio, View};
use crate::contention::CountdownRule;
use crate::medium::{RxOutcome, StationId};
use crate::phy::AccessCategory;
use airqueue_core::{Packet, RandomStream, Seed, Span, Time};

/// What a frame that ended leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// The station's own state has changed: look at its timer and at what it has finished.
    Mine,
    /// No more than what it knows of the medium.
    Overheard,
}

/// One station's MAC (see the [module](super) for how it is driven).
// In C's order, to keep together what every frame in range touches.
#[repr(C, align(64))]
#[derive(Clone, Debug)]
pub struct Mac {
    pub(super) view: View,
    pub(super) state: State,
    /// How many of `backoffs` there are.
    pub(super) ac_count: usize,
    pub(super) backoffs: [Backoff; 4],
    pub(super) id: StationId,
    pub(super) timer: Time,
    /// Queues that are to go on with their next packets, one bit each.
    pub(super) done: u8,
    pub(super) categories: Vec<Category>,
    pub(super) config: MacConfig,
    pub(super) rng: RandomStream,
    pub(super) transmission: Option<Transmission>,
    /// The frame that it transmits, will transmit next, or transmitted last. It stays here until the next is made up.
    pub(super) frame: Frame,
    /// What the block ack says that it sends, will send next, or sent last.
    pub(super) scoreboard: Scoreboard,
    /// For each access category of another station that sends to this one.
    pub(super) recipients: Vec<Recipient>,
}

impl Mac {
    /// An idle station. Its draws follow from `seed`, in a stream of its own.
    pub fn new(
        id: StationId,
        config: MacConfig,
        radio: &Radio,
        seed: Seed,
    ) -> Result<Mac, MacError> {
        config.check()?;
        let mut backoffs = [Backoff::new(Span::ZERO, CountdownRule::Freeze); 4];
        for (backoff, category) in backoffs.iter_mut().zip(&config.categories) {
            *backoff = Backoff::new(radio.phy.aifs(category.aifsn), category.countdown);
        }
        let (rate, _) = radio.phy.rates().next().expect("a layer has rates");
        Ok(Mac {
            id,
            view: View::IDLE,
            ac_count: config.categories.len(),
            backoffs,
            state: State::Idle,
            timer: Time::MAX,
            done: 0,
            categories: config.categories.iter().map(|&c| Category::new(c)).collect(),
            config,
            rng: seed.stream(&format!("wifi/backoff/{}", id.0)),
            transmission: None,
            frame: Frame::new(FrameKind::Data, id, id, rate),
            scoreboard: Scoreboard::default(),
            recipients: Vec::new(),
        })
    }

    /// When it will transmit if it senses nothing before; [`Time::MAX`]: not by itself. It is up to date
    /// after [`Self::settle`].
    #[inline]
    pub fn next_grant(&self) -> Time {
        self.view.grant
    }

    /// When [`Self::on_timer`] is to be called; [`Time::MAX`]: not at all.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.timer
    }

    /// What an access category did so far; nothing if the station has no such category.
    pub fn counters(&self, ac: AccessCategory) -> CategoryCounters {
        self.categories.get(ac.index()).map(|category| category.counters).unwrap_or_default()
    }

    /// A frame that makes the medium busy begins. True if that has changed [`Self::next_grant`].
    #[inline]
    pub fn on_sensed_begin(&mut self, now: Time, radio: &Radio) -> bool {
        let stops = self.view.begin_sensing(now, radio);
        if stops {
            self.freeze(self.view.noticed, radio);
        }
        stops
    }

    /// Such a frame ends; what became of it is told afterwards. True if nothing is on the air any more:
    /// [`Self::settle`] is due once that has been told.
    #[inline]
    pub fn on_sensed_end(&mut self, now: Time) -> bool {
        self.view.end_sensing(now)
    }

    /// A frame that makes the medium busy begins, and the station never has anything to send nor is it ever sent
    /// anything: of all that it could know it keeps [`Self::busy_time`].
    #[inline]
    pub fn watch_begin(&mut self, now: Time) {
        self.view.begin_watching(now);
    }

    /// Such a frame ends at such a station.
    #[inline]
    pub fn watch_end(&mut self, now: Time) {
        self.view.end_sensing(now);
    }

    /// For how long, up to `now`, it has sensed frames or transmitted.
    pub fn busy_time(&self, now: Time) -> Span {
        self.view.busy_time(now)
    }

    /// A frame that the receiver was with ends and was not understood.
    pub fn on_error(&mut self, outcome: RxOutcome, now: Time, radio: &Radio) -> Reaction {
        if self.view.on_frame_error(outcome, now, radio) {
            self.end_wait(now, radio)
        } else {
            Reaction::Overheard
        }
    }

    /// A frame that began at `begins` was ignored for a stronger one.
    pub fn on_ignored(&mut self, begins: Time, now: Time, radio: &Radio) {
        self.view.ignore(begins, now, radio);
    }

    /// A reception that was not the awaited response has ended.
    #[inline]
    pub(super) fn end_wait(&mut self, now: Time, radio: &Radio) -> Reaction {
        if radio.rules.reception_decides
            && let State::Waiting { ac, step } = self.state
        {
            self.fail(ac, step, now, radio);
            return Reaction::Mine;
        }
        Reaction::Overheard
    }

    /// A frame has been decoded. Of a block ack `scoreboard` is what it says ([`Self::scoreboard`] of its sender).
    pub fn on_frame(
        &mut self,
        frame: &Frame,
        scoreboard: &Scoreboard,
        now: Time,
        radio: &Radio,
    ) -> Reaction {
        if frame.to != self.id {
            return self.overhear(radio.overheard(frame, now), now, radio);
        }
        self.view.understand();
        self.on_frame_for_me(frame, scoreboard, now, radio);
        Reaction::Mine
    }

    /// The same for a frame that is for another station; what it says is the same for all who hear it.
    #[inline]
    pub fn overhear(&mut self, overheard: Overheard, now: Time, radio: &Radio) -> Reaction {
        self.view.overhear(overheard);
        self.end_wait(now, radio)
    }

    /// A packet comes for an access category that holds none.
    pub fn on_packet(&mut self, ac: AccessCategory, msdu: Msdu, now: Time, radio: &Radio) {
        debug_assert!(self.is_empty(ac), "the MAC takes a ac's packets when it needs them");
        self.hold(ac, msdu, now, radio);
        let base = self.view.base();
        let busy = self.view.frozen || self.view.is_busy() || self.view.is_kept_silent(now);
        let backoff = &mut self.backoffs[ac.index()];
        backoff.ready = true;
        let running = if self.view.frozen {
            backoff.slots > 0
        } else {
            backoff.is_running(base, now, radio.slot)
        };
        match radio.rules.arrival {
            _ if running => {}
            // From now on: slots that passed before do not count, as they would if a frame is on the air
            // that this station has not noticed yet.
            arrival if busy || arrival == Arrival::Ns2 => self.draw(ac, now, radio),
            arrival => backoff.arrive(arrival, base, now, radio.slot),
        }
    }

    #[inline(always)]
    pub(super) fn draw(&mut self, ac: AccessCategory, since: Time, radio: &Radio) {
        let values = match radio.rules.backoff_draw {
            BackoffDraw::Whole => self.categories[ac.index()].cw,
            BackoffDraw::OneFewer => self.categories[ac.index()].cw - 1,
        };
        let slots = self.rng.below(values.into()) as u32;
        self.backoffs[ac.index()].draw(slots, since);
    }

    /// Brings counters and [`Self::next_grant`] up to date with everything that happened at `now`.
    #[inline]
    pub fn settle(&mut self, now: Time, radio: &Radio) {
        if self.view.is_busy() || self.in_exchange() {
            self.stand_still(now, radio);
            return;
        }
        self.view.thaw(now);
        self.reckon(radio);
    }

    /// Whether its counters stand still and are to go on doing so: [`Self::settle`] would change nothing.
    #[inline]
    pub fn is_settled(&self) -> bool {
        self.view.frozen && (self.view.is_busy() || self.in_exchange())
    }

    /// Finds out when the first of its counters ends.
    pub(super) fn reckon(&mut self, radio: &Radio) {
        let base = self.view.base();
        self.view.grant = Time::MAX;
        for backoff in &self.backoffs[..self.ac_count] {
            if backoff.ready {
                self.view.grant = self.view.grant.min(backoff.grant(base, radio.slot));
            }
        }
    }

    /// Whether an exchange of its own keeps its counters still.
    #[inline]
    fn in_exchange(&self) -> bool {
        !matches!(self.state, State::Idle | State::Responding | State::Answering)
    }

    fn stand_still(&mut self, now: Time, radio: &Radio) {
        if self.view.frozen {
            return;
        }
        if self.view.transmitting || self.in_exchange() {
            self.freeze(now, radio);
        } else if self.view.grant > self.view.noticed {
            self.freeze(self.view.noticed, radio);
        }
    }

    #[inline(always)]
    fn freeze(&mut self, now: Time, radio: &Radio) {
        let base = self.view.base();
        self.view.frozen = true;
        self.view.grant = Time::MAX;
        let mut draws = false;
        for backoff in &mut self.backoffs[..self.ac_count] {
            draws |= backoff.freeze(base, now, radio.slot);
        }
        if draws {
            self.draw_for_fresh(radio);
        }
    }

    /// Packets that were to go without a backoff cannot.
    #[cold]
    fn draw_for_fresh(&mut self, radio: &Radio) {
        for ac in AccessCategory::first(self.ac_count) {
            if self.backoffs[ac.index()].ready && self.backoffs[ac.index()].fresh {
                self.draw(ac, Time::ZERO, radio);
            }
        }
    }

    /// Its backoff has ended: the access category that sends now, what [`Self::compose`] makes up and [`Self::begin`] begins.
    /// Of several the last, which has the highest priority, goes; the others behave as after a
    /// collision (10.22.2.4).
    ///
    /// # Panics
    ///
    /// If `now` is not [`Self::next_grant`].
    pub fn on_grant(&mut self, now: Time, radio: &Radio) -> AccessCategory {
        let base = self.view.base();
        let ended = |b: &Backoff| b.ready && b.grant(base, radio.slot) <= now;
        let winner =
            AccessCategory::first(self.ac_count).rev().find(|ac| ended(&self.backoffs[ac.index()]));
        let winner = winner.expect("an access category whose backoff ends now");
        let below = 0..winner.index();
        let losers = below.filter(|&at| ended(&self.backoffs[at])).fold(0u8, |m, at| m | 1 << at);
        self.backoffs[winner.index()].fresh = false;
        self.categories[winner.index()].open(now);
        // In an exchange from now on: the other counters stop here.
        self.state = State::Beginning { ac: winner };
        self.freeze(now, radio);
        for ac in AccessCategory::first(winner.index()).filter(|ac| losers & 1 << ac.index() != 0) {
            self.categories[ac.index()].counters.internal_collisions += 1;
            self.retry(ac, Step::Data, now, radio);
        }
        winner
    }

    /// The frame that [`Self::begin`] or [`Self::on_timer`] made up last. It stays the same until it has ended.
    #[inline]
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// What the block ack says that [`Self::frame`] is, if it is one.
    #[inline]
    pub fn scoreboard(&self) -> &Scoreboard {
        &self.scoreboard
    }

    /// Another access category of another station will send to this one: by which number to name it ([`Msdu::recipient`]).
    pub fn add_recipient(&mut self) -> u32 {
        self.recipients.push(Recipient::new());
        self.recipients.len() as u32 - 1
    }

    /// A data frame of one MPDU has been decoded.
    #[inline]
    pub fn receive(&mut self, recipient: u32, sequence: u64, packet: &Packet) {
        self.recipients[recipient as usize].receive(sequence, packet);
    }

    /// An A-MPDU has been found: its MPDUs follow, with whether each has been decoded. True if any has.
    #[inline]
    pub fn receive_ampdu<'a>(
        &mut self,
        recipient: u32,
        mpdus: impl Iterator<Item = (u64, &'a Packet, bool)>,
    ) -> bool {
        self.recipients[recipient as usize].receive_ampdu(mpdus)
    }

    /// Whether the MPDU at a place of the A-MPDU that a recipient has received last has been decoded.
    pub fn has_decoded(&self, recipient: u32, place: usize) -> bool {
        self.recipients[recipient as usize].has_decoded(place)
    }

    /// A packet that a recipient passes up, each once and in their order.
    #[inline]
    pub fn poll_received(&mut self, recipient: u32) -> Option<Packet> {
        self.recipients[recipient as usize].pass_up()
    }

    /// Whether a recipient has an MPDU.
    pub fn has_received(&self, recipient: u32, sequence: u64) -> bool {
        self.recipients[recipient as usize].has(sequence)
    }

    /// Whether a recipient has passed an MPDU up.
    pub fn has_passed_up(&self, recipient: u32, sequence: u64) -> bool {
        self.recipients[recipient as usize].is_past(sequence)
    }

    /// The originator has given up an MPDU that the recipient does not have, and is done with all before it.
    pub fn skip(&mut self, recipient: u32, sequence: u64) {
        self.recipients[recipient as usize].skip(sequence);
    }

    /// Its [`Self::frame`] goes on the air.
    #[inline]
    pub fn on_transmit(&mut self, now: Time) {
        self.view.begin_busy(now);
        self.view.transmitting = true;
    }
}
