//! Exchanges in one step: where nothing can happen before the end of a frame, the frame begins and ends within the event
//! that begins it, and so does the answer to the frame. The results are those of frame by frame, with fewer events.

use super::engine::Wlan;
use super::listeners::Ending;
use super::upper::UpperLayer;
use crate::event::EventQueue;
use airqueue_core::{Span, Time};
use airqueue_wifi::mac::{Delivery, FrameKind};
use airqueue_wifi::medium::{Air, StationId};

impl<U: UpperLayer> Wlan<U> {
    /// The frame that a station has composed begins now, as the only frame of this instant. If nothing can happen before
    /// its end, the frame and possibly its answer are over on return, and the time is that of their end; otherwise
    /// returns false, and nothing has changed.
    #[inline(always)]
    pub(super) fn run_alone(
        &mut self,
        from: StationId,
        air: Air,
        queue: &mut EventQueue<U::Event>,
    ) -> bool {
        // Among many arrivals most frames are not alone: this is asked without a call.
        let alone = self.is_alone(from, air, queue);
        if alone {
            self.run_to_end(from, air.ends, queue);
        }
        alone
    }

    /// Whether nothing can happen before the end of the frame.
    #[inline(always)]
    fn is_alone(&mut self, from: StationId, air: Air, queue: &EventQueue<U::Event>) -> bool {
        let Air { begins, ends } = air;
        if !self.listeners.is_silent() || !queue.is_free_until(ends) {
            return false;
        }
        // Taps and sleepers want to know who hears a frame, signals and interferers change while it is on the air, frames with
        // delays end at their listeners one by one; the upper layer deals with packets at the time that they came.
        let watched = self.tap.is_used() || self.power.is_used() || self.upper.watches_frames();
        let watched = watched || self.listeners.are_delayed() || self.examines_signals;
        !watched && self.upper.is_at_rest() && self.listeners.meets_none(from, begins, ends)
    }

    #[inline(never)]
    fn run_to_end(&mut self, from: StationId, ends: Time, queue: &mut EventQueue<U::Event>) {
        let now = queue.now();
        let to = self.listeners.macs[from.index()].frame().to;
        let rested = self.listeners.macs[to.index()].is_uninvolved();
        let ending = self.pass(from, now, ends, queue);
        if rested && ending.is_received() && self.answer_alone(to, from, queue) {
            // An answer in vain does not touch the station, which then waits for its timer.
            let waits = !self.listeners.is_touched(from);
            self.react(to, queue.now(), queue);
            if waits {
                self.follow_up(from, queue.now(), queue);
            }
        } else {
            self.react(from, ends, queue);
        }
    }

    /// The answer of a station to the frame of `asker` that ends now, if the answer follows in the same step.
    #[inline(always)]
    fn answer_alone(
        &mut self,
        station: StationId,
        asker: StationId,
        queue: &mut EventQueue<U::Event>,
    ) -> bool {
        if !self.upper.is_at_rest() || !self.listeners.answers_alone(station, queue.now()) {
            return false;
        }
        let begins = self.listeners.macs[station.index()].next_timer();
        let air = Air { begins, ends: begins + self.lasts(station) };
        let alone = queue.is_free_until(air.ends) && self.listeners.awaits(asker, station, air);
        if alone {
            self.listeners.answer(station, begins);
            self.pass(station, begins, air.ends, queue);
        }
        alone
    }

    /// Airtime of the frame that a station has composed.
    #[inline]
    pub(super) fn lasts(&self, from: StationId) -> Span {
        let frame = self.listeners.macs[from.index()].frame();
        self.listeners.radio.phy.airtime(frame.rate, frame.bytes)
    }

    /// A frame begins and ends. [`Self::react`] is due.
    #[inline(always)]
    fn pass(
        &mut self,
        from: StationId,
        begins: Time,
        ends: Time,
        queue: &mut EventQueue<U::Event>,
    ) -> Ending {
        queue.pass_to(ends);
        let ending = self.listeners.pass(from, begins, ends, &mut self.tap);
        self.count_frame(&ending);
        if ending.is_received() && ending.kind == FrameKind::Data {
            self.pass_up(&ending, ends, queue);
        }
        ending
    }

    fn pass_up(&mut self, ending: &Ending, now: Time, queue: &mut EventQueue<U::Event>) {
        let recipient = self.listeners.macs[ending.from.index()].frame().recipient;
        if self.reports {
            self.tell(ending, now);
        }
        let each = self.listeners.radio.rules.delivery == Delivery::EachMpdu;
        if ending.mpdus == 1 || !each {
            return self.deliver(ending.to, recipient, now);
        }
        let any = self.deliver_within(ending.to, recipient, now);
        if any && self.upper.is_at_rest() {
            // Nobody has packets to deal with before the last ones.
            return self.on_passed_up(ending.to, now);
        }
        self.deliver_rest(any, ending.to, recipient, now, queue);
    }
}
