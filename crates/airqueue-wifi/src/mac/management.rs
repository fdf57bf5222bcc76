//! Frames to all stations, management frames, and packets for receivers that sleep.

use super::backoff::Backoff;
use super::category::Category;
use super::config::CategoryConfig;
use super::exchange::{State, TxReport};
use super::frame::Content;
use super::recipient::Scoreboard;
use super::station::Mac;
use super::view::Radio;
use crate::medium::StationId;
use crate::phy::{AccessCategory, Response};
use airqueue_core::Time;

impl Mac {
    /// Adds the access category of management frames, whose priority is above all others.
    ///
    /// # Panics
    ///
    /// If the station has this category already.
    pub fn add_management(&mut self, config: CategoryConfig, radio: &Radio) {
        assert!(!self.has_management(), "a station has one category of management frames");
        self.backoffs[self.ac_count] = Backoff::new(radio.phy.aifs(config.aifsn), config.countdown);
        self.categories.push(Category::new(config, &radio.phy));
        self.ac_count += 1;
    }

    /// The access category of management frames.
    ///
    /// # Panics
    ///
    /// If the station has no such category.
    pub fn management(&self) -> AccessCategory {
        assert!(self.has_management(), "the station has no management frames");
        AccessCategory::at(self.config.categories.len())
    }

    /// Whether an access category is that of management frames.
    #[inline]
    pub fn is_management(&self, ac: AccessCategory) -> bool {
        ac.index() == self.config.categories.len()
    }

    fn has_management(&self) -> bool {
        self.ac_count > self.config.categories.len()
    }

    /// Whether the station's frames say from now on that the station sleeps after them.
    pub fn set_power(&mut self, sleeps: bool) {
        self.power = sleeps;
    }

    /// Gives the frame that is about to be sent the kind and the flags of its first packet.
    #[cold]
    pub(super) fn name_frame(&mut self, content: Content) {
        self.frame.kind = content.kind();
        match content {
            Content::MoreData => self.frame.more = true,
            Content::LastOfService { more } => {
                (self.frame.more, self.frame.ends_service) = (more, true);
            }
            Content::Trigger(ac) => self.frame.ac = ac,
            Content::NoService(ac) => (self.frame.ac, self.frame.ends_service) = (ac, true),
            Content::Sleep => self.frame.power = true,
            Content::Wake => self.frame.power = false,
            Content::Data | Content::Poll | Content::Beacon | Content::Handshake(_) => {}
        }
    }

    /// The station's frame to all stations has ended, if the last frame was one: nobody answers.
    #[cold]
    pub fn end_unanswered(&mut self, now: Time) {
        let State::Sent { ac } = self.state else { return };
        let category = &mut self.categories[ac.index()];
        category.batch.on_acknowledged(Response::Ack, &Scoreboard::default(), 0, now);
        category.succeed();
        self.state = State::Served { ac };
        self.timer = Time::MAX;
        self.finish(ac);
    }

    /// The management frame that the MAC has just been given waits for a backoff, whether the medium is idle or not
    /// (11.2.3.8, for stations that a beacon calls together). [`Self::settle`] is due.
    pub fn spread(&mut self, now: Time, radio: &Radio) {
        self.draw(self.management(), now, radio);
    }

    /// Whether the station has nothing in hand and is in no exchange.
    pub fn is_at_rest(&self) -> bool {
        self.state == State::Idle
            && self.done == 0
            && self.categories.iter().all(Category::is_empty)
    }

    /// Puts aside the packets in hand of an access category for a receiver that sleeps. [`Self::settle`] is due. An
    /// exchange of the category that goes on at present is not interrupted: false if that leaves packets in hand.
    pub fn park(&mut self, ac: AccessCategory, to: StationId, radio: &Radio) -> bool {
        if self.is_engaged(ac) {
            return !self.categories[ac.index()].has_in_hand(to);
        }
        let category = &mut self.categories[ac.index()];
        category.park(to);
        if category.batch.is_empty() {
            category.take_turns(false);
        }
        self.send_one(ac, radio);
        self.backoffs[ac.index()].ready = self.held(ac).is_some();
        true
    }

    /// Gives up all packets of an access category for a receiver that the station is no longer associated with, and
    /// reports them. [`Self::settle`] is due. An exchange of the category that goes on at present is not interrupted: false
    /// if that leaves packets in hand.
    pub fn discard(
        &mut self,
        ac: AccessCategory,
        to: StationId,
        radio: &Radio,
        reports: &mut Vec<TxReport>,
    ) -> bool {
        if self.is_engaged(ac) {
            return !self.categories[ac.index()].has_in_hand(to);
        }
        let category = &mut self.categories[ac.index()];
        let next = category.batch.receiver() == Some(to);
        category.discard(to, reports);
        if next {
            (category.short_retries, category.long_retries) = (0, 0);
        }
        if category.batch.is_empty() {
            category.take_turns(false);
        }
        self.send_one(ac, radio);
        self.backoffs[ac.index()].ready = self.held(ac).is_some();
        true
    }

    /// Whether the station is sending a frame to another station at present.
    pub fn is_sending_to(&self, station: StationId) -> bool {
        self.view.transmitting && self.frame.to == station
    }

    /// Takes such packets in hand again. [`Self::settle`] is due.
    pub fn unpark(&mut self, ac: AccessCategory, to: StationId, now: Time, radio: &Radio) {
        let idle = self.is_empty(ac);
        let category = &mut self.categories[ac.index()];
        category.unpark(to);
        if !idle || category.is_empty() {
            return;
        }
        category.take_turns(false);
        self.send_one(ac, radio);
        self.contend(ac, now, radio);
    }

    /// Number of packets of an access category for a receiver that sleeps that are put aside.
    pub fn parked(&self, ac: AccessCategory, to: StationId) -> usize {
        self.categories[ac.index()].parked(to)
    }

    /// Whether an exchange of an access category goes on.
    fn is_engaged(&self, ac: AccessCategory) -> bool {
        match self.state {
            State::Idle | State::Responding | State::Answering => false,
            State::Beginning { ac: of }
            | State::Sending { ac: of, .. }
            | State::Sent { ac: of }
            | State::Waiting { ac: of, .. }
            | State::Pausing { ac: of }
            | State::Continuing { ac: of }
            | State::Ending { ac: of }
            | State::GivingBack { ac: of }
            | State::Served { ac: of } => of == ac,
            State::Suspended(pause) => pause.ac == ac,
        }
    }
}
