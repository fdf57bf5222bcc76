//! Stations leave and come back.

use super::{AbsenceCounters, AbsenceKind, AbsenceSpec, Whereabouts};
use crate::counters::Timings;
use crate::event::EventQueue;
use crate::wlan::engine::Wlan;
use crate::wlan::listeners::Away;
use crate::wlan::upper::UpperLayer;
use airqueue_core::{Span, Time};
use airqueue_wifi::medium::StationId;

impl<U: UpperLayer> Wlan<U> {
    /// Schedules the first absences. To be called once, at time zero.
    pub(in crate::wlan) fn start_absences(&mut self, queue: &mut EventQueue<U::Event>) {
        for of in &mut self.absences.all {
            let begins = of.begins();
            of.timer.set(Some(begins), queue);
        }
    }

    /// An absence is due, or over.
    pub(in crate::wlan) fn on_absence_timer(&mut self, at: u32, queue: &mut EventQueue<U::Event>) {
        let of = &mut self.absences.all[at as usize];
        let station = of.spec.station;
        match of.whereabouts {
            Whereabouts::Present => {
                if of.left == 0 {
                    of.left = of.spec.channels().0;
                }
                of.whereabouts = Whereabouts::Leaving;
                self.listeners.split(station);
                // Another change of the station's own state, after which it may be able to leave.
                self.follow_up(station, queue.now(), queue);
            }
            Whereabouts::Absent => self.come_back(at as usize, queue),
            Whereabouts::Leaving => {}
        }
    }

    /// A station's own state has changed: it leaves, if it is to leave and can.
    pub(in crate::wlan) fn leave_if_due(
        &mut self,
        station: StationId,
        queue: &mut EventQueue<U::Event>,
    ) {
        if let Some(at) = self.absences.of(station)
            && self.absences.all[at].whereabouts == Whereabouts::Leaving
            && self.may_leave(at, queue)
        {
            self.leave(at, queue);
        }
    }

    /// Whether nothing is left to do before a station leaves: its access point knows, and no exchange goes on.
    fn may_leave(&mut self, at: usize, queue: &mut EventQueue<U::Event>) -> bool {
        let &AbsenceSpec { station, kind, .. } = &self.absences.all[at].spec;
        match kind {
            AbsenceKind::OutOfReach => true,
            AbsenceKind::Scan { tells, .. } => {
                let told = !tells || self.has_told_of_leaving(station, queue);
                told && self.listeners.macs[station.index()].is_between_exchanges()
            }
        }
    }

    fn leave(&mut self, at: usize, queue: &mut EventQueue<U::Event>) {
        let now = queue.now();
        let of = &mut self.absences.all[at];
        let station = of.spec.station;
        of.whereabouts = Whereabouts::Absent;
        let stay = of.stay();
        of.absent.begin(&mut of.counters, now);
        of.timer.set(Some(now.saturating_add(stay)), queue);
        let scans = of.spec.is_scan();
        self.listeners.set_away(station, Away::OfItself, true, now);
        self.on_reach_changed(station, true, queue);
        if scans {
            self.stop_listening(station, queue);
            self.listeners.split(station);
            self.listeners.macs[station.index()].leave_channel(now, &self.listeners.radio);
            self.listeners.settle(station, now);
        }
        self.reconsider(station, now);
    }

    fn come_back(&mut self, at: usize, queue: &mut EventQueue<U::Event>) {
        let now = queue.now();
        let of = &mut self.absences.all[at];
        let station = of.spec.station;
        of.whereabouts = Whereabouts::Present;
        if let Some(lasted) = of.absent.end(&mut of.counters, now) {
            of.ended.add(lasted);
        }
        let next = of.next(now);
        of.timer.set(Some(next), queue);
        let told = std::mem::take(&mut of.told);
        let scans = of.spec.is_scan();
        self.listeners.split(station);
        self.listeners.set_away(station, Away::OfItself, false, now);
        if scans {
            self.listeners.macs[station.index()].come_back(now);
            self.listeners.settle(station, now);
        }
        if told {
            self.tell_of_return(station, queue);
        }
        self.on_reach_changed(station, false, queue);
        for interface in self.interfaces_of(station) {
            self.top_up(interface, now);
            self.feed(interface, now, queue);
        }
        self.follow_up(station, now, queue);
    }

    /// A station that is about to leave has told its access point of it, and is to tell of its return.
    pub(in crate::wlan) fn on_told_of_leaving(&mut self, station: StationId, acknowledged: bool) {
        if let Some(at) = self.absences.of(station) {
            let of = &mut self.absences.all[at];
            of.told = true;
            of.counters.unheard += u64::from(!acknowledged);
        }
    }

    /// How long the absences of a station that have ended lasted; `None` if the station is never absent.
    pub fn absence_times(&self, station: StationId) -> Option<&Timings> {
        self.absences.of(station).map(|at| &self.absences.all[at].ended)
    }

    /// The counters of a station's absences up to `now`, if it is absent now and then.
    pub fn absence(&self, station: StationId, now: Time) -> Option<AbsenceCounters> {
        let (kept, dropped) = self.power.kept_for(station);
        self.absences.counters(station, now).map(|counters| AbsenceCounters {
            kept,
            dropped,
            ..counters
        })
    }
}

impl<E> super::Absentee<E> {
    /// How long the station stays on the next channels, or out of reach.
    fn stay(&mut self) -> Span {
        let visited = self.left.min(self.spec.channels().1);
        self.left -= visited;
        Span::from_nanos(self.spec.lasts.as_nanos().saturating_mul(i64::from(visited)))
    }

    /// When the station leaves next.
    fn next(&mut self, now: Time) -> Time {
        if self.left > 0
            && let AbsenceKind::Scan { home, .. } = self.spec.kind
        {
            return now.saturating_add(home);
        }
        loop {
            self.due = self.due.saturating_add(self.spec.period);
            let begins = self.begins();
            if begins >= now {
                return begins;
            }
            self.counters.skipped += 1;
        }
    }
}
