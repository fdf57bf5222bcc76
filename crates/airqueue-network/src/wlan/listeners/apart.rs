//! What a frame does to the stations that are on their own.

use super::Listeners;
use super::classes::HearingClasses;
use super::grants::Grants;
use super::hearing::{Hearing, OnAirNow};
use super::rx_end::{Ending, RxEnd};
use super::tables::{Alone, Listener};
use airqueue_core::Time;
use airqueue_wifi::mac::{Mac, Radio, Reaction};
use airqueue_wifi::medium::{Air, StationId};
use std::ops::Range;

/// What a frame changes at stations on their own: borrowed once for all listeners of the frame.
pub(super) struct Ears<'a> {
    pub(super) hearing: &'a mut Hearing,
    macs: &'a mut [Mac],
    grants: &'a mut Grants,
    touched: &'a mut Vec<StationId>,
    radio: &'a Radio,
    pub(super) classes: &'a HearingClasses,
    pub(super) on: OnAirNow<'a>,
}

impl Ears<'_> {
    /// A frame begins at a station.
    #[inline(always)]
    fn begin_at(&mut self, listener: Listener, place: u32, now: Time) {
        self.hearing.begin(listener, place, now, &self.on);
        let station = listener.station().index();
        let mac = &mut self.macs[station];
        if listener.alone.is_sensed() && mac.on_sensed_begin(now, self.radio) {
            self.grants.set(station, mac.next_grant());
        }
    }

    /// Ends a frame at a station if the effect is known without a look at the station's receiver: the frame met no other
    /// frame here, or the station did not listen. False, without any change, otherwise.
    #[inline(always)]
    pub(super) fn end_plainly(&mut self, listener: Listener, ending: &Ending) -> bool {
        let station = listener.station();
        let rx_end = if self.hearing.end_alone(station, ending.place) {
            listener.alone.to_others()
        } else if self.hearing.end_deaf(station, Air { begins: ending.begins, ends: ending.now }) {
            RxEnd::Nothing
        } else {
            return false;
        };
        self.react(station, listener.alone, rx_end, ending);
        true
    }

    /// The effect of the end of a frame that is not addressed to the station, or not received.
    #[inline(always)]
    pub(super) fn react(
        &mut self,
        station: StationId,
        alone: Alone,
        rx_end: RxEnd,
        ending: &Ending,
    ) {
        let (mac, now, radio) = (&mut self.macs[station.index()], ending.now, self.radio);
        let idle = alone.is_sensed() && mac.on_sensed_end(now);
        let reaction = match rx_end {
            RxEnd::Overheard => mac.overhear(ending.overheard, now, radio),
            RxEnd::Errored(outcome) => mac.on_error(outcome, now, radio),
            RxEnd::Ignored => {
                mac.on_ignored(ending.begins, now, radio);
                Reaction::Overheard
            }
            RxEnd::Addressed | RxEnd::Nothing => Reaction::Overheard,
        };
        self.conclude(station, reaction, idle, now);
    }

    /// A station has noticed the end of a frame. `idle`: the medium has become idle for the station.
    #[inline(always)]
    pub(super) fn conclude(
        &mut self,
        station: StationId,
        reaction: Reaction,
        idle: bool,
        now: Time,
    ) {
        if reaction == Reaction::Mine {
            self.touched.push(station);
        } else if idle {
            let mac = &mut self.macs[station.index()];
            mac.settle(now, self.radio);
            self.grants.set(station.index(), mac.next_grant());
        }
    }
}

impl Listeners {
    /// All parts that listeners share, each borrowed by itself.
    #[inline(always)]
    pub(super) fn ears(&mut self) -> Ears<'_> {
        let Listeners { hearing, macs, grants, touched, radio, classes, .. } = self;
        let on = OnAirNow {
            listeners: &self.listeners,
            on_air_frames: &self.on_air_frames,
            varying: self.varying.as_deref(),
        };
        Ears { hearing, macs, grants, touched, radio, classes, on }
    }

    /// A frame begins at a listener that is on its own.
    #[inline]
    pub(super) fn begin_at(&mut self, listener: Listener, place: u32, now: Time) {
        self.ears().begin_at(listener, place, now);
    }

    /// A frame begins at the listeners that are on their own.
    #[inline(always)]
    pub(super) fn begin_at_apart(&mut self, from: StationId, place: u32, now: Time) {
        if self.varying.is_some() {
            return self.begin_varied(from, place, now);
        }
        let mut ears = self.ears();
        let (table, classes) = (ears.on.listeners.now(), ears.classes);
        let (single, many) = table.of(from);
        for &listener in table.all(single) {
            ears.begin_at(listener, place, now);
        }
        for listener in table.all(many) {
            for &station in &classes.all[listener.class()].apart {
                if station != from {
                    ears.begin_at(listener.member(station), place, now);
                }
            }
        }
    }

    #[inline(never)]
    fn begin_varied(&mut self, from: StationId, place: u32, now: Time) {
        for at in self.listeners.now().of(from).0 {
            let listener = self.listeners.now().at(at);
            let listener = listener.heard_as(self.alone(listener, place));
            self.begin_at(listener, place, now);
        }
    }

    /// Ends a frame at listeners on their own, from the first of a range on, as long as each needs no closer look; returns
    /// the rest of the range.
    #[inline(always)]
    pub(super) fn end_at_plain(&mut self, single: Range<usize>, ending: &Ending) -> Range<usize> {
        let mut ears = self.ears();
        let table = ears.on.listeners.for_frame(ending.version);
        let mut plain = |&listener: &Listener| {
            listener.station() != ending.to && ears.end_plainly(listener, ending)
        };
        let done = table.all(single.clone()).iter().position(|it| !plain(it));
        done.map_or(single.end, |done| single.start + done)..single.end
    }
}
