//! A frame that meets no other frame anywhere, from its beginning to its end in one step.
//!
//! The receivers need not be told of such a frame: its outcome depends on its signal alone, and is known.

use super::Listeners;
use super::on_air::FrameOnAir;
use super::rx_end::{Ending, RxEnd};
use super::tables::Alone;
use crate::wlan::tap::Socket;
use airqueue_core::Time;
use airqueue_wifi::mac::FrameKind;
use airqueue_wifi::medium::{Air, FrameId, StationId};

impl Listeners {
    /// The kind of the frame that a station is sending, and when the frame began; `None`: it sends none.
    pub(in crate::wlan) fn sending(&self, from: StationId) -> Option<(FrameKind, Time)> {
        let mac = &self.macs[from.index()];
        let on_air = mac.is_transmitting().then(|| self.on_air_frames.last_of(from))??;
        Some((mac.frame().kind, on_air.air.begins))
    }

    /// Whether no frame is on the air.
    #[inline]
    pub(in crate::wlan) fn is_silent(&self) -> bool {
        self.on_air_frames.is_empty()
    }

    /// Whether a frame that begins on a silent medium at `now` and ends at `ends` meets no other frame, if no event happens
    /// up to its end: no backoff ends before the frame silences the station. No tap is plugged in.
    #[inline]
    pub(in crate::wlan) fn meets_none(&mut self, from: StationId, now: Time, ends: Time) -> bool {
        let grant = self.grants.first();
        grant > now + self.radio.rules.sense_delay
            && (grant > ends || self.listeners.now().silences_all(from))
    }

    /// Whether a station that has just received a frame, as nothing else has happened, answers it while no other station
    /// can begin to transmit: all others have sensed that frame or will notice the answer before their backoff ends.
    #[inline]
    pub(in crate::wlan) fn answers_alone(&mut self, station: StationId, now: Time) -> bool {
        let delay = self.radio.rules.sense_delay;
        let mac = &self.macs[station.index()];
        let begins = mac.next_timer();
        let only = self.touched[..] == [station];
        if !only || !mac.is_responding() || mac.is_done() || self.radio.phy.slot() <= delay {
            return false;
        }
        self.settle(station, now);
        // Groups are counted anew only after the exchange. Their members, like all who have sensed the frame, wait for
        // SIFS and one slot at least.
        self.listeners.now().silences_all(station) && self.grants.first() > begins + delay
    }

    /// Whether the timer of `asker`, which waits for the answer of a station, changes nothing up to the end of the
    /// answer: the timer is not in the event queue yet.
    #[inline]
    pub(in crate::wlan) fn awaits(
        &self,
        asker: StationId,
        station: StationId,
        answer: Air,
    ) -> bool {
        let expires = self.macs[asker.index()].next_timer();
        expires >= answer.ends
            || self.radio.rules.reception_decides && {
                let signal = self.listeners.now().signal(station, asker);
                self.hearing.may_decode_alone(asker, answer.begins, signal, expires)
            }
    }

    /// Whether the frame that ended last has changed more of a station than its view of the medium.
    #[inline]
    pub(in crate::wlan) fn is_touched(&self, station: StationId) -> bool {
        self.touched.contains(&station)
    }

    /// The answer of a station ([`Self::answers_alone`]) is about to begin at `now`.
    #[inline]
    pub(in crate::wlan) fn answer(&mut self, station: StationId, now: Time) {
        self.touched.clear();
        let answers = self.macs[station.index()].on_timer(now, false, &self.radio);
        debug_assert!(answers, "nothing has happened since the frame ended");
    }

    /// The frame that a station has composed begins at `begins`, meets no other frame, and ends at `ends`, now. The
    /// station is on its own. As after [`Self::end`], [`Self::poll_touched`] and [`Self::regroup`] are due.
    pub(in crate::wlan) fn pass(
        &mut self,
        from: StationId,
        begins: Time,
        ends: Time,
        tap: &mut Socket,
    ) -> Ending {
        let air = Air { begins, ends };
        self.hearing.transmit(from, air);
        self.macs[from.index()].on_transmit(begins);
        self.settle(from, begins);
        // On the air with nobody to look for it.
        let (id, version) = (FrameId(u64::MAX), self.listeners.version());
        let mut ending = self.conclude(FrameOnAir { id, from, air, version }, u32::MAX, ends);
        let (single, classes) = self.listeners.now().of(from);
        for at in single {
            let listener = self.listeners.now().at(at);
            self.pass_at(listener.station(), listener.alone, &mut ending, tap);
        }
        for at in self.listeners.now().watchers(from) {
            let listener = self.listeners.now().at(at);
            if listener.alone.is_sensed() {
                let mac = &mut self.macs[listener.station().index()];
                mac.watch_begin(begins);
                mac.watch_end(ends);
            }
        }
        for at in classes {
            self.pass_at_class(at, &mut ending, tap);
        }
        self.touched.sort_unstable();
        ending
    }

    fn pass_at_class(&mut self, at: usize, ending: &mut Ending, tap: &mut Socket) {
        let listener = self.listeners.now().at(at);
        let (class, alone) = (listener.class(), listener.alone);
        for member in 0..self.classes.all[class].apart.len() {
            let station = self.classes.all[class].apart[member];
            if station != ending.from {
                self.pass_at(station, alone, ending, tap);
            }
        }
        for group in (0..self.classes.all[class].groups().len()).rev() {
            let group = self.classes.all[class].groups()[group] as usize;
            if alone.is_sensed() {
                self.classes.groups[group].on_sensed_begin(ending.begins, &self.radio);
                self.grants.set(self.grant_of(group), Time::MAX);
            }
            self.end_at_all::<false>(group, class, alone, alone.end(), ending, tap);
        }
    }

    #[inline(always)]
    fn pass_at(&mut self, station: StationId, alone: Alone, ending: &mut Ending, tap: &mut Socket) {
        if alone.is_sensed() {
            self.macs[station.index()].on_sensed_begin(ending.begins, &self.radio);
        }
        let end = alone.end();
        let rx_end = if station == ending.to || self.examines {
            self.rx_end::<false>(station, station, &end, ending, tap)
        } else {
            RxEnd::to_others(&end, end.outcome.decoded())
        };
        self.react(station, alone, rx_end, ending);
    }
}
