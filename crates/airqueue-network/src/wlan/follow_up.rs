//! What a station does after each step of its own: queues go on, and timers are set.

use super::engine::Wlan;
use super::upper::UpperLayer;
use crate::event::EventQueue;
use airqueue_core::Time;
use airqueue_wifi::medium::StationId;

impl<U: UpperLayer> Wlan<U> {
    /// Handles the consequences of a change of a station's own state.
    pub(super) fn follow_up(
        &mut self,
        station: StationId,
        now: Time,
        queue: &mut EventQueue<U::Event>,
    ) {
        // The commonest step of all: networks in which nobody sleeps or leaves pay for one question.
        if self.power.is_used() {
            return self.follow_up_beside_sleepers(station, now, queue);
        }
        self.go_on_if_done(station, now, queue);
        self.set_timer(station, now, queue);
    }

    #[inline(never)]
    fn follow_up_beside_sleepers(
        &mut self,
        station: StationId,
        now: Time,
        queue: &mut EventQueue<U::Event>,
    ) {
        self.go_on_if_done(station, now, queue);
        self.park_late(station);
        self.feed_others(station, queue);
        self.set_timer(station, now, queue);
        self.reconsider(station, now);
        self.leave_if_due(station, queue);
        self.part_if_due(station, queue);
    }

    #[inline(always)]
    fn go_on_if_done(&mut self, station: StationId, now: Time, queue: &mut EventQueue<U::Event>) {
        self.report_rate(station, now);
        if self.listeners.macs[station.index()].is_done() {
            self.go_on(station, now, queue);
        }
    }

    #[inline(always)]
    fn set_timer(&mut self, station: StationId, now: Time, queue: &mut EventQueue<U::Event>) {
        self.listeners.settle(station, now);
        let at = self.listeners.macs[station.index()].next_timer();
        self.timers[station.index()].set(Some(at), queue);
    }

    /// The queues of a station continue with their next packets.
    #[inline(never)]
    fn go_on(&mut self, station: StationId, now: Time, queue: &mut EventQueue<U::Event>) {
        while let Some(ac) = self.listeners.macs[station.index()].poll_done() {
            if self.listeners.macs[station.index()].is_management(ac) {
                self.go_on_management(station, ac, queue);
                continue;
            }
            let interface = self.interface_of(station, ac);
            self.account_all_finished(interface, now);
            let next = if self.listeners.macs[station.index()].is_empty(ac) {
                self.take(interface, now, queue)
            } else {
                self.take_turns(interface, now)
            };
            self.choose_rate(station, ac);
            self.listeners.macs[station.index()].on_next(ac, next, now, &self.listeners.radio);
        }
    }
}
