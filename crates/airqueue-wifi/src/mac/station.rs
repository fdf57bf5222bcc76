//! The MAC of one station.

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

/// The effect of a frame that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// The station's own state has changed: check its timer and its finished packets.
    Mine,
    /// Only the station's view of the medium has changed.
    Overheard,
}

/// One station's MAC (see the [module](super) for how it is driven).
// `repr(C)` keeps the fields together that every frame in range touches.
#[repr(C, align(64))]
#[derive(Clone, Debug)]
pub struct Mac {
    pub(super) view: View,
    pub(super) state: State,
    /// Number of entries of `backoffs` in use.
    pub(super) ac_count: usize,
    pub(super) backoffs: [Backoff; AccessCategory::MOST],
    pub(super) id: StationId,
    pub(super) timer: Time,
    /// Access categories that are to continue with their next packets, one bit each.
    pub(super) done: u8,
    pub(super) categories: Vec<Category>,
    pub(super) config: MacConfig,
    pub(super) rng: RandomStream,
    pub(super) transmission: Option<Transmission>,
    /// The frame that the station transmits, will transmit next, or transmitted last. It is kept until the next is
    /// prepared.
    pub(super) frame: Frame,
    /// The contents of the block ack that the station sends, will send next, or sent last.
    pub(super) scoreboard: Scoreboard,
    /// One for each access category of another station that sends to this station.
    pub(super) recipients: Vec<Recipient>,
    /// The recipient whose packets are being passed up as if their A-MPDU were still on the air
    /// ([`Self::received_within`]).
    within_frame: Option<u32>,
    /// Whether the station's frames say that the station sleeps after them.
    pub(super) power: bool,
}

impl Mac {
    /// An idle station. Its random numbers follow from `seed`, in a random stream of its own.
    pub fn new(
        id: StationId,
        config: MacConfig,
        radio: &Radio,
        seed: Seed,
    ) -> Result<Mac, MacError> {
        config.check()?;
        let mut backoffs = [Backoff::new(Span::ZERO, CountdownRule::Freeze); AccessCategory::MOST];
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
            categories: config.categories.iter().map(|&c| Category::new(c, &radio.phy)).collect(),
            config,
            rng: seed.stream(&format!("wifi/backoff/{}", id.0)),
            transmission: None,
            frame: Frame::new(FrameKind::Data, id, id, rate),
            scoreboard: Scoreboard::default(),
            recipients: Vec::new(),
            within_frame: None,
            power: false,
        })
    }

    /// When the station will transmit if the medium stays idle; [`Time::MAX`]: it has nothing to transmit by itself.
    /// Up to date after [`Self::settle`].
    #[inline]
    pub fn next_grant(&self) -> Time {
        self.view.grant
    }

    /// When [`Self::on_timer`] is to be called; [`Time::MAX`]: never.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.timer
    }

    /// Whether the station takes part in no exchange, and no access category is to continue.
    #[inline]
    pub fn is_uninvolved(&self) -> bool {
        self.state == State::Idle && self.done == 0
    }

    /// Whether the station will answer a frame with [`Self::frame`] at [`Self::next_timer`].
    #[inline]
    pub fn is_responding(&self) -> bool {
        self.state == State::Responding
    }

    /// Counters of an access category; all zero if the station does not have this category.
    pub fn counters(&self, ac: AccessCategory) -> CategoryCounters {
        self.categories.get(ac.index()).map(|category| category.counters).unwrap_or_default()
    }

    /// What [`Self::counters`] has already of an exchange without an outcome: an attempt, and the MPDUs of a data frame on
    /// the air.
    pub fn under_way(&self, ac: AccessCategory) -> CategoryCounters {
        let (attempt, step) = match self.state {
            State::Sending { ac, step } => (Some(ac), Some(step)),
            State::Waiting { ac, .. } | State::Pausing { ac } => (Some(ac), None),
            _ => (None, None),
        };
        // A frame to all stations awaits no response.
        let to_all = self.frame.to == self.id && matches!(step, Some(Step::Data | Step::Request));
        let mut counters = CategoryCounters::default();
        if attempt == Some(ac) && !to_all {
            let mpdus = if step == Some(Step::Data) { self.frame.mpdus.into() } else { 0 };
            (counters.attempts, counters.mpdus) = (1, mpdus);
        }
        counters
    }

    /// Whether the station waits for the response to a frame other than a management frame.
    pub fn awaits_response(&self) -> bool {
        matches!(self.state, State::Waiting { ac, .. } if !self.is_management(ac))
    }

    /// Whether the station transmits.
    #[inline]
    pub fn is_transmitting(&self) -> bool {
        self.view.transmitting
    }

    /// A frame that makes the medium busy begins. True if the frame has changed [`Self::next_grant`].
    #[inline(always)]
    pub fn on_sensed_begin(&mut self, now: Time, radio: &Radio) -> bool {
        let stops = self.view.begin_sensing(now, radio);
        if stops {
            self.freeze_when_noticed(radio);
        }
        stops
    }

    /// The counters stop when the station notices the frame that has just begun.
    #[inline(never)]
    fn freeze_when_noticed(&mut self, radio: &Radio) {
        self.freeze(self.view.noticed, radio);
    }

    /// Energy that is no frame makes the medium busy from now on, as [`Self::on_sensed_begin`]; it ends as a frame does.
    pub fn on_energy_begin(&mut self, now: Time, radio: &Radio) -> bool {
        let stops = self.view.begin_energy(now, radio);
        if stops {
            self.freeze_when_noticed(radio);
        }
        stops
    }

    /// Such a frame ends; its outcome is reported afterwards. True if no frame is left on the air: [`Self::settle`] is
    /// due after the outcome has been reported.
    #[inline]
    pub fn on_sensed_end(&mut self, now: Time) -> bool {
        self.view.end_sensing(now)
    }

    /// Whether the station is in no exchange, its own or another's.
    #[inline]
    pub fn is_between_exchanges(&self) -> bool {
        self.state == State::Idle && self.done == 0
    }

    /// The radio leaves the channel between two exchanges: until [`Self::come_back`] the station sends nothing, and what
    /// it has in hand waits with the backoff that is left. [`Self::busy_time`] counts the absence.
    pub fn leave_channel(&mut self, now: Time, radio: &Radio) {
        debug_assert!(self.is_between_exchanges(), "an exchange goes on: {:?}", self.state);
        if self.view.begin_absence(now) {
            self.freeze(now, radio);
        }
    }

    /// The radio is back on the channel. [`Self::settle`] is due.
    pub fn come_back(&mut self, now: Time) {
        self.view.end_sensing(now);
    }

    /// A frame that makes the medium busy begins at a station that never sends or receives data: only
    /// [`Self::busy_time`] is kept.
    #[inline]
    pub fn watch_begin(&mut self, now: Time) {
        self.view.begin_watching(now);
    }

    /// Such a frame ends at such a station.
    #[inline]
    pub fn watch_end(&mut self, now: Time) {
        self.view.end_sensing(now);
    }

    /// How long, up to `now`, the station has sensed frames or transmitted.
    pub fn busy_time(&self, now: Time) -> Span {
        self.view.busy_time(now)
    }

    /// The receiver has received a frame in error.
    pub fn on_error(&mut self, outcome: RxOutcome, now: Time, radio: &Radio) -> Reaction {
        if self.view.on_frame_error(outcome, now, radio) {
            self.end_wait(now, radio)
        } else {
            Reaction::Overheard
        }
    }

    /// The receiver ignored a frame that began at `begins` because of a stronger frame.
    pub fn on_ignored(&mut self, begins: Time, now: Time, radio: &Radio) {
        self.view.ignore(begins, now, radio);
    }

    /// A reception has ended that was not the expected response.
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

    /// A frame has been decoded. `scoreboard`: the contents of a block ack ([`Self::scoreboard`] of its sender).
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

    /// A frame for another station has been decoded; `overheard` is common to all stations that hear the frame.
    #[inline]
    pub fn overhear(&mut self, overheard: Overheard, now: Time, radio: &Radio) -> Reaction {
        self.view.overhear(overheard);
        self.end_wait(now, radio)
    }

    /// A packet arrives for an access category without packets in hand.
    pub fn on_packet(&mut self, ac: AccessCategory, msdu: Msdu, now: Time, radio: &Radio) {
        debug_assert!(self.is_empty(ac), "the MAC takes a ac's packets when it needs them");
        self.hold(ac, msdu, now, radio);
        self.contend(ac, now, radio);
    }

    /// An access category that had nothing to send begins to contend for the medium.
    #[inline(always)]
    pub(super) fn contend(&mut self, ac: AccessCategory, now: Time, radio: &Radio) {
        let base = self.view.base();
        let busy = self.view.frozen
            || self.view.is_busy()
            || self.view.is_kept_silent(now)
            || self.within_frame.is_some();
        let backoff = &mut self.backoffs[ac.index()];
        backoff.ready = true;
        let running = if self.view.frozen {
            backoff.slots > 0
        } else {
            backoff.is_running(base, now, radio.slot)
        };
        match radio.rules.arrival {
            _ if running => {}
            // From now on: earlier slots do not count, although they would count if a frame is on the air that this
            // station has not noticed yet.
            arrival if busy || arrival == Arrival::Ns2 => self.draw(ac, now, radio),
            arrival => {
                // The AIFS may be another one since the last backoff was drawn.
                backoff.aifs = self.categories[ac.index()].aifs;
                backoff.arrive(arrival, base, now, radio.slot);
            }
        }
    }

    #[inline(always)]
    pub(super) fn draw(&mut self, ac: AccessCategory, since: Time, radio: &Radio) {
        let values = match radio.rules.backoff_draw {
            BackoffDraw::Whole => self.categories[ac.index()].cw,
            BackoffDraw::OneFewer => self.categories[ac.index()].cw - 1,
        };
        let slots = self.rng.below(values.into()) as u32;
        let backoff = &mut self.backoffs[ac.index()];
        backoff.aifs = self.categories[ac.index()].aifs;
        backoff.draw(slots, since);
    }

    /// Brings counters and [`Self::next_grant`] up to date with all events at `now`.
    #[inline]
    pub fn settle(&mut self, now: Time, radio: &Radio) {
        if self.view.is_busy() || self.in_exchange() {
            self.stand_still(now, radio);
            return;
        }
        self.view.thaw(now);
        self.reckon(radio);
    }

    /// Whether the counters are frozen and stay frozen: [`Self::settle`] would change nothing.
    #[inline]
    pub fn is_settled(&self) -> bool {
        self.view.frozen && (self.view.is_busy() || self.in_exchange())
    }

    /// Computes when the first counter ends.
    pub(super) fn reckon(&mut self, radio: &Radio) {
        let base = self.view.base();
        self.view.grant = Time::MAX;
        for backoff in &self.backoffs[..self.ac_count] {
            if backoff.ready {
                self.view.grant = self.view.grant.min(backoff.grant(base, radio.slot));
            }
        }
    }

    /// Whether an exchange of its own freezes the station's counters.
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
            self.freeze_when_noticed(radio);
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

    /// Packets that needed no backoff now need one.
    #[cold]
    fn draw_for_fresh(&mut self, radio: &Radio) {
        for ac in AccessCategory::first(self.ac_count) {
            if self.backoffs[ac.index()].ready && self.backoffs[ac.index()].fresh {
                self.draw(ac, Time::ZERO, radio);
            }
        }
    }

    /// The backoff has ended. Returns the access category that sends now; [`Self::compose`] prepares its exchange and
    /// [`Self::begin`] begins the exchange. If several counters end, the last category, which has the highest
    /// priority, transmits; the others behave as after a collision (10.22.2.4).
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
        // In an exchange from now on: the other counters are frozen.
        self.state = State::Beginning { ac: winner };
        self.freeze(now, radio);
        for ac in AccessCategory::first(winner.index()).filter(|ac| losers & 1 << ac.index() != 0) {
            self.categories[ac.index()].counters.internal_collisions += 1;
            self.retry(ac, Step::Data, now, radio);
        }
        winner
    }

    /// The frame that [`Self::begin`] or [`Self::on_timer`] has prepared last. It does not change until the frame has
    /// ended.
    #[inline]
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// The contents of [`Self::frame`], if the frame is a block ack.
    #[inline]
    pub fn scoreboard(&self) -> &Scoreboard {
        &self.scoreboard
    }

    /// Adds a recipient for another access category of another station and returns its number ([`Msdu::recipient`]).
    pub fn add_recipient(&mut self) -> u32 {
        self.recipients.push(Recipient::new());
        self.recipients.len() as u32 - 1
    }

    /// A data frame of one MPDU has been decoded.
    #[inline]
    pub fn receive(&mut self, recipient: u32, sequence: u64, packet: &Packet) {
        self.recipients[recipient as usize].receive(sequence, packet);
    }

    /// An A-MPDU has been received: its MPDUs, each with whether it has been decoded. True if any has been decoded.
    #[inline]
    pub fn receive_ampdu<'a>(
        &mut self,
        recipient: u32,
        mpdus: impl Iterator<Item = (u64, &'a Packet, bool)>,
    ) -> bool {
        self.recipients[recipient as usize].receive_ampdu(mpdus)
    }

    /// Whether the MPDU at a position of the recipient's last A-MPDU has been decoded.
    pub fn has_decoded(&self, recipient: u32, place: usize) -> bool {
        self.recipients[recipient as usize].has_decoded(place)
    }

    /// The packets that a recipient passes up, each packet once and in order. [`Self::on_passed_up`] is due.
    #[inline]
    pub fn received(&self, recipient: u32) -> impl Iterator<Item = &Packet> {
        self.recipients[recipient as usize].ready()
    }

    /// The packets that a recipient passes up while the A-MPDU that has just been received is still on the air
    /// ([`Delivery::EachMpdu`](super::Delivery::EachMpdu)). [`Self::on_passed_up_within`] is due.
    #[inline]
    pub fn received_within(&self, recipient: u32) -> impl Iterator<Item = &Packet> {
        self.recipients[recipient as usize].ready_before_last()
    }

    /// A recipient has passed up so many packets, all of [`Self::received`].
    #[inline]
    pub fn on_passed_up(&mut self, recipient: u32, packets: usize) {
        self.recipients[recipient as usize].remove(packets);
    }

    /// A recipient has passed up so many packets, all of [`Self::received_within`]. If there are any, packets that arrive
    /// find the medium busy until [`Self::end_within`].
    #[inline]
    pub fn on_passed_up_within(&mut self, recipient: u32, packets: usize) {
        self.on_passed_up(recipient, packets);
        if packets > 0 {
            self.within_frame = Some(recipient);
        }
    }

    /// The A-MPDU is over, whose packets [`Self::received_within`] passed up; the other packets of its recipient,
    /// which is returned, follow by [`Self::received`]. `None` if no packet was passed up within the frame.
    pub fn end_within(&mut self) -> Option<u32> {
        self.within_frame.take()
    }

    /// Whether a recipient has received an MPDU.
    pub fn has_received(&self, recipient: u32, sequence: u64) -> bool {
        self.recipients[recipient as usize].has(sequence)
    }

    /// Whether a recipient has passed an MPDU up.
    pub fn has_passed_up(&self, recipient: u32, sequence: u64) -> bool {
        self.recipients[recipient as usize].is_past(sequence)
    }

    /// The originator has given up an MPDU that the recipient does not have, and is done with all earlier MPDUs.
    pub fn skip(&mut self, recipient: u32, sequence: u64) {
        self.recipients[recipient as usize].skip(sequence);
    }

    /// [`Self::frame`] is now on the air.
    #[inline]
    pub fn on_transmit(&mut self, now: Time) {
        self.view.begin_busy(now);
        self.view.transmitting = true;
    }
}
