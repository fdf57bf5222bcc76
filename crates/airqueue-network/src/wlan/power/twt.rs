//! Individual agreements on target wake times (IEEE 802.11ax-2021, 26.8): both ends know when a station is awake.
//!
//! The access point keeps the packets of the station until a service period begins; with an announced agreement until
//! the station has sent a frame in the period. What comes during the period goes at once, and what is left at its end
//! waits for the next one. The agreement is there from the beginning: nobody negotiates it, and both clocks agree.

use super::spec::TwtSpec;
use crate::event::EventQueue;
use crate::wlan::engine::Wlan;
use crate::wlan::upper::UpperLayer;
use airqueue_core::{Seed, Time};
use airqueue_wifi::mac::{Content, Frame, FrameKind};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;

/// The service periods of a station.
#[derive(Clone, Debug)]
pub(super) struct WakeTimes {
    spec: TwtSpec,
    /// Whether a service period goes on.
    pub(super) open: bool,
    /// When the present one began, or the next one begins.
    begins: Time,
}

impl WakeTimes {
    /// The first period is drawn from the first interval unless it is given.
    pub(super) fn new(spec: &TwtSpec, station: StationId, seed: Seed) -> WakeTimes {
        let drawn = || seed.stream(&format!("twt/{}", station.0)).span_below(spec.interval);
        let begins = Time::ZERO + spec.first.unwrap_or_else(drawn);
        WakeTimes { spec: spec.clone(), open: false, begins }
    }

    /// When the present period ends, or the next one begins.
    pub(super) fn changes_at(&self) -> Time {
        if self.open { self.begins.saturating_add(self.spec.duration) } else { self.begins }
    }
}

impl<U: UpperLayer> Wlan<U> {
    /// A service period of a station begins or ends, if it is time.
    pub(super) fn change_service_period(&mut self, at: usize, queue: &mut EventQueue<U::Event>) {
        let now = queue.now();
        let sleeper = &mut self.power.sleepers[at];
        let Some(times) = sleeper.twt.as_mut().filter(|times| times.changes_at() <= now) else {
            return;
        };
        times.open = !times.open;
        if !times.open {
            times.begins = times.begins.saturating_add(times.spec.interval);
            return self.on_doze(at, queue);
        }
        let announced = times.spec.announced;
        let station = sleeper.spec.station;
        sleeper.counters.service_periods += 1;
        self.reconsider(station, now);
        if !announced {
            self.on_awake(at, queue);
        } else if !self.absences.is_off_channel(station) {
            // Others may have the same wake time: after a backoff.
            self.request(at, Content::Trigger(AccessCategory::VOICE), true, now);
        }
    }

    /// The access point has received a frame of a station: in an announced period the frame says that the station is
    /// awake.
    pub(super) fn on_announcement(
        &mut self,
        at: usize,
        frame: &Frame,
        queue: &mut EventQueue<U::Event>,
    ) {
        let sleeper = &mut self.power.sleepers[at];
        let says = matches!(frame.kind, FrameKind::Data | FrameKind::QosNull);
        if says && sleeper.twt.as_ref().is_some_and(|times| times.open && times.spec.announced) {
            sleeper.counters.triggers += 1;
            self.on_awake(at, queue);
        }
    }

    /// Packets in hand for stations that have fallen asleep, and that an exchange kept in hand, are put aside.
    #[inline]
    pub(in crate::wlan) fn park_late(&mut self, ap: StationId) {
        if self.power.late > 0
            && let Some(cell) = self.power.cell_of(ap)
        {
            self.park_all_late(cell);
        }
    }

    #[cold]
    fn park_all_late(&mut self, cell: usize) {
        let before = self.power.late;
        for place in 0..self.power.cells[cell].members.len() {
            let at = self.power.cells[cell].members[place] as usize;
            let sleeper = &self.power.sleepers[at];
            if sleeper.late && sleeper.dozing {
                self.park_for(at);
            }
        }
        // What else waits may take the place of these packets.
        self.power.unfed |= self.power.late < before;
    }

    /// Puts aside what the access point's MAC has in hand for a station; what belongs to an exchange that goes on follows
    /// at its end.
    pub(super) fn park_for(&mut self, at: usize) {
        let sleeper = &self.power.sleepers[at];
        let (ap, station) = (sleeper.spec.access_point, sleeper.spec.station);
        let mut late = false;
        for ac in AccessCategory::first(self.queues_of(ap)) {
            self.listeners.split(ap);
            let mac = &mut self.listeners.macs[ap.index()];
            late |= !mac.park(ac, station, &self.listeners.radio);
        }
        self.set_late(at, late);
    }

    pub(super) fn set_late(&mut self, at: usize, late: bool) {
        let before = std::mem::replace(&mut self.power.sleepers[at].late, late);
        self.power.late = self.power.late + u32::from(late) - u32::from(before);
    }
}
