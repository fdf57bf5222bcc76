//! What a station that sleeps does.

use super::beacons::management;
use super::{Sleeper, WakeTimes, WakeUp};
use crate::event::EventQueue;
use crate::wlan::engine::Wlan;
use crate::wlan::listeners::Ending;
use crate::wlan::upper::UpperLayer;
use airqueue_core::{Packet, Time};
use airqueue_wifi::mac::{Content, Frame, FrameKind};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;
use airqueue_wifi::phy::frames::{NULL_BYTES, PS_POLL_BYTES, QOS_NULL_BYTES};
use std::iter::once;

impl<U: UpperLayer> Wlan<U> {
    /// A beacon of a station's access point is due.
    pub(super) fn listen(&mut self, at: usize, dtim: bool, queue: &mut EventQueue<U::Event>) {
        let now = queue.now();
        self.lose_patience(at, now);
        let sleeper = &mut self.power.sleepers[at];
        let number = self.power.cells[sleeper.cell as usize].number - 1;
        let regular = number.is_multiple_of(u64::from(sleeper.spec.listen_interval));
        let due = regular && sleeper.twt.is_none() || dtim && sleeper.spec.dtims;
        if !due || self.absences.is_off_channel(sleeper.spec.station) {
            return;
        }
        sleeper.awaits_group = false;
        if !sleeper.active {
            sleeper.listens_until = now + sleeper.spec.beacon_wait;
        }
        let station = sleeper.spec.station;
        self.set_sleeper_timer(at, queue);
        self.reconsider(station, now);
    }

    /// Whether a station that sleeps at times is awake may have changed.
    pub(in crate::wlan) fn reconsider(&mut self, station: StationId, now: Time) {
        let Some(at) = self.power.sleeper_of(station) else { return };
        let sleeper = &mut self.power.sleepers[at];
        // A service period may end within a frame, which the station hears to its end.
        let ap = sleeper.spec.access_point;
        let in_hearing =
            || sleeper.wakefulness.awake && self.listeners.macs[ap.index()].is_sending_to(station);
        let awake = sleeper.active
            || self.absences.is_off_channel(station)
            || sleeper.listens_until < Time::MAX
            || sleeper.awaits_group
            || sleeper.awaits_answer
            || sleeper.service.awaits_end
            || sleeper.twt.as_ref().is_some_and(|times| times.open || in_hearing())
            || !self.listeners.macs[station.index()].is_at_rest();
        if awake != sleeper.wakefulness.awake {
            sleeper.wakefulness.change(awake, &mut sleeper.counters, now);
            self.listeners.set_awake(station, awake, now);
        }
    }

    /// A packet of a station that sleeps at times has come to its MAC.
    pub(in crate::wlan) fn on_own_packet(
        &mut self,
        station: StationId,
        ac: AccessCategory,
        queue: &mut EventQueue<U::Event>,
    ) {
        let Some(at) = self.power.sleeper_of(station) else { return };
        self.stay_awake(at, ac, queue);
        self.reconsider(station, queue.now());
    }

    /// The station sends or receives data of a category: with null frames it stays awake for some time, unless U-APSD has
    /// the category (`ieee80211_tx_h_dynamic_ps` of mac80211).
    fn stay_awake(&mut self, at: usize, ac: AccessCategory, queue: &mut EventQueue<U::Event>) {
        let sleeper = &self.power.sleepers[at];
        if !sleeper.enables(ac) && matches!(sleeper.spec.wake_up, WakeUp::Null { .. }) {
            self.become_active(at, queue);
        }
    }

    fn become_active(&mut self, at: usize, queue: &mut EventQueue<U::Event>) {
        let sleeper = &mut self.power.sleepers[at];
        if sleeper.is_always_dozing() {
            return;
        }
        sleeper.activity = queue.now();
        if !sleeper.active {
            (sleeper.listens_until, sleeper.service.awaits_end) = (Time::MAX, false);
            self.set_active(at, true);
            self.set_sleeper_timer(at, queue);
        }
    }

    /// A station that sends triggers says in each frame whether it sleeps; others say so in null frames alone.
    fn set_active(&mut self, at: usize, active: bool) {
        let sleeper = &mut self.power.sleepers[at];
        sleeper.active = active;
        if sleeper.spec.uapsd.is_some() && !sleeper.is_always_dozing() {
            self.listeners.macs[sleeper.spec.station.index()].set_power(!active);
        }
    }

    pub(super) fn set_sleeper_timer(&mut self, at: usize, queue: &mut EventQueue<U::Event>) {
        let sleeper = &mut self.power.sleepers[at];
        let next = sleeper
            .listens_until
            .min(sleeper.tires_at())
            .min(sleeper.triggers_at())
            .min(sleeper.twt.as_ref().map_or(Time::MAX, WakeTimes::changes_at));
        sleeper.timer.set(Some(next), queue);
    }

    /// A station has waited in vain for a beacon, or for data long enough.
    pub(in crate::wlan) fn on_sleeper_timer(&mut self, at: u32, queue: &mut EventQueue<U::Event>) {
        let (at, now) = (at as usize, queue.now());
        let sleeper = &mut self.power.sleepers[at];
        let station = sleeper.spec.station;
        if sleeper.listens_until <= now {
            sleeper.listens_until = Time::MAX;
            sleeper.counters.beacons_missed += 1;
        }
        if sleeper.tires_at() <= now {
            if self.listeners.macs[station.index()].is_at_rest() {
                self.request(at, Content::Sleep, false, now);
            } else {
                self.power.sleepers[at].activity = now;
            }
        }
        self.trigger_if_due(at, now);
        self.change_service_period(at, queue);
        self.set_sleeper_timer(at, queue);
        self.listeners.split(station);
        self.follow_up(station, now, queue);
    }

    /// A station without traffic sends a trigger now and then.
    fn trigger_if_due(&mut self, at: usize, now: Time) {
        let sleeper = &mut self.power.sleepers[at];
        if sleeper.triggers_at() > now {
            return;
        }
        sleeper.service.triggered = now;
        let highest = sleeper.highest_enabled();
        let away = self.absences.is_off_channel(sleeper.spec.station);
        if let Some(ac) = highest.filter(|_| !away) {
            self.request(at, Content::Trigger(ac), false, now);
        }
    }

    /// A station sends a null frame, a trigger or a PS-Poll to its access point, unless it is about to send one already.
    /// `spread`: after a backoff in any case, since others may do likewise now.
    pub(super) fn request(&mut self, at: usize, content: Content, spread: bool, now: Time) {
        let sleeper = &mut self.power.sleepers[at];
        if sleeper.request.is_some() {
            return;
        }
        sleeper.request = Some(content);
        let bytes = match content {
            Content::Poll => PS_POLL_BYTES,
            Content::Trigger(_) => QOS_NULL_BYTES,
            _ => NULL_BYTES,
        };
        let (station, to) = (sleeper.spec.station, sleeper.spec.access_point);
        let msdu = management(content, to, sleeper.spec.rate, bytes, now);
        self.give_management(station, msdu, now);
        if spread {
            self.listeners.macs[station.index()].spread(now, &self.listeners.radio);
            self.listeners.settle(station, now);
        }
    }

    /// The MAC is done with a null frame or a PS-Poll.
    pub(super) fn on_request_finished(
        &mut self,
        station: StationId,
        content: Content,
        acknowledged: bool,
        queue: &mut EventQueue<U::Event>,
    ) {
        let Some(at) = self.power.sleeper_of(station) else { return };
        let holds_data = self.holds_data(at);
        let sleeper = &mut self.power.sleepers[at];
        sleeper.request = None;
        match content {
            // The station leaves the channel, whatever its access point has heard.
            Content::Sleep if self.absences.is_leaving(station) => {
                self.set_active(at, false);
                self.on_told_of_leaving(station, acknowledged);
            }
            // Data that have come meanwhile say that the station is awake.
            Content::Sleep if acknowledged => self.set_active(at, holds_data),
            Content::Poll if !acknowledged => sleeper.awaits_answer = false,
            _ => {}
        }
        let sleeper = &mut self.power.sleepers[at];
        (sleeper.activity, sleeper.waits_since) = (queue.now(), queue.now());
        self.set_sleeper_timer(at, queue);
    }

    /// Whether a station that is about to leave its channel has told its access point, which believes that the station
    /// sleeps; else the station tells it.
    pub(in crate::wlan) fn has_told_of_leaving(
        &mut self,
        station: StationId,
        queue: &mut EventQueue<U::Event>,
    ) -> bool {
        let Some(at) = self.power.sleeper_of(station) else { return true };
        let sleeper = &self.power.sleepers[at];
        if sleeper.request.is_some() || sleeper.awaits_answer || sleeper.service.awaits_end {
            return false;
        }
        if sleeper.active {
            self.request(at, Content::Sleep, false, queue.now());
        }
        !self.power.sleepers[at].active
    }

    /// A station that leaves its channel waits for no beacon any more.
    pub(in crate::wlan) fn stop_listening(
        &mut self,
        station: StationId,
        queue: &mut EventQueue<U::Event>,
    ) {
        if let Some(at) = self.power.sleeper_of(station) {
            let sleeper = &mut self.power.sleepers[at];
            (sleeper.listens_until, sleeper.awaits_group) = (Time::MAX, false);
            self.set_sleeper_timer(at, queue);
        }
    }

    /// A station that has told its access point that it leaves is back on its channel: what the access point has kept
    /// may come.
    pub(in crate::wlan) fn tell_of_return(
        &mut self,
        station: StationId,
        queue: &mut EventQueue<U::Event>,
    ) {
        if let Some(at) = self.power.sleeper_of(station) {
            self.power.sleepers[at].activity = queue.now();
            self.set_active(at, true);
            self.set_sleeper_timer(at, queue);
            self.request(at, Content::Wake, false, queue.now());
        }
    }

    /// Whether the station has data to send for which it stays awake.
    fn holds_data(&self, at: usize) -> bool {
        let sleeper = &self.power.sleepers[at];
        let station = sleeper.spec.station;
        let mac = &self.listeners.macs[station.index()];
        let keeps_awake = |&ac: &AccessCategory| !sleeper.enables(ac);
        let categories = AccessCategory::first(self.queues_of(station)).filter(keeps_awake);
        categories.into_iter().any(|ac| !mac.is_empty(ac))
    }

    /// A frame to all stations has ended.
    #[inline(never)]
    pub(in crate::wlan) fn on_frame_to_all(&mut self, ending: &Ending, now: Time) {
        let (from, begins) = (ending.from, ending.begins);
        let mut heard = std::mem::take(&mut self.power.heard);
        heard.clear();
        if self.listeners.is_here_since(from, begins) {
            let decoded = self.tap.receptions().iter().filter(|reception| reception.decoded());
            let all = decoded.map(|reception| reception.station);
            heard.extend(all.filter(|&station| self.listeners.is_listening(station, begins)));
        }
        match ending.kind {
            FrameKind::Beacon => {
                if let Some(at) = self.power.cell_of(from) {
                    let (slot, cell) = (self.power.slot, &mut self.power.cells[at]);
                    let due = cell.due.unwrap_or(begins).min(begins);
                    cell.counters.on_sent(begins - due, slot);
                    cell.delays.add(begins - due);
                }
            }
            FrameKind::Data => self.on_data_to_all(ending, &heard, now),
            _ => {}
        }
        self.power.heard = heard;
    }

    /// A packet to all stations is delivered if at least one of them has decoded its frame.
    fn on_data_to_all(&mut self, ending: &Ending, heard: &[StationId], now: Time) {
        let (from, time) = (ending.from, self.counted(ending));
        let sender = &self.listeners.macs[from.index()];
        let Some((_, msdu)) = sender.sent(sender.frame().ac).next() else { return };
        let packet: Packet = msdu.packet;
        self.stations[from.index()].to_all += 1;
        for station in heard {
            self.stations[station.index()].from_all += 1;
        }
        if heard.is_empty() {
            self.stations[from.index()].on_lost_to_all(time);
            self.upper.on_given_up(packet);
        } else {
            self.upper.on_delivered(once(&packet), now);
        }
    }

    /// The end of a frame, in a network with beacons or frames to all stations.
    #[inline(never)]
    pub(in crate::wlan) fn conclude_frame(
        &mut self,
        ending: &Ending,
        now: Time,
        queue: &mut EventQueue<U::Event>,
    ) {
        let frame = *self.listeners.macs[ending.from.index()].frame();
        if ending.to == ending.from {
            self.listeners.macs[ending.from.index()].end_unanswered(now);
        }
        self.react(ending.from, now, queue);
        self.after_frame(ending, &frame, queue);
    }

    /// All stations have reacted to a frame: what it means to stations that sleep, and to their access points.
    fn after_frame(&mut self, ending: &Ending, frame: &Frame, queue: &mut EventQueue<U::Event>) {
        let &Ending { from, to, kind, .. } = ending;
        if to == from {
            if let (FrameKind::Beacon | FrameKind::Data, Some(cell)) =
                (kind, self.power.cell_of(from))
            {
                self.after_frame_to_all(cell, frame, queue);
            }
            return;
        }
        if let FrameKind::Handshake(step) = kind {
            if ending.is_received() {
                self.on_handshake(from, to, step, queue);
            }
            return;
        }
        if let Some(at) = self.power.sleeper_of(from) {
            if kind == FrameKind::Data {
                self.stay_awake(at, frame.ac, queue);
            }
            if ending.is_received() && to == self.power.sleepers[at].spec.access_point {
                self.after_uplink(at, frame, queue);
            }
        }
        if let Some(at) = self.power.sleeper_of(to) {
            let speaks = matches!(kind, FrameKind::Data | FrameKind::QosNull);
            if speaks && ending.is_received() {
                self.after_downlink(at, from, frame, queue);
            }
            self.reconsider(to, queue.now());
        }
    }

    /// A station that sleeps at times has received data, or a frame that ends a service period.
    fn after_downlink(
        &mut self,
        at: usize,
        from: StationId,
        frame: &Frame,
        queue: &mut EventQueue<U::Event>,
    ) {
        if frame.kind == FrameKind::Data {
            self.stay_awake(at, frame.ac, queue);
        }
        if from == self.power.sleepers[at].spec.access_point {
            self.after_answer(at, frame, queue.now());
        }
    }

    /// The access point has received a frame of a station that sleeps at times.
    fn after_uplink(&mut self, at: usize, frame: &Frame, queue: &mut EventQueue<U::Event>) {
        let always = self.power.sleepers[at].is_always_dozing();
        match frame.kind {
            FrameKind::PsPoll => self.on_poll(at, queue),
            FrameKind::Data | FrameKind::Null if frame.power && !always => self.on_doze(at, queue),
            FrameKind::Data | FrameKind::Null if !always => self.on_awake(at, queue),
            _ => {}
        }
        self.on_trigger(at, frame, queue);
        self.on_announcement(at, frame, queue);
    }

    /// The station has received a frame of its access point.
    fn after_answer(&mut self, at: usize, frame: &Frame, now: Time) {
        let sleeper = &mut self.power.sleepers[at];
        if sleeper.enables(frame.ac) {
            return self.after_service(at, frame, now);
        }
        if sleeper.spec.wake_up != WakeUp::PsPoll {
            return;
        }
        sleeper.awaits_answer = frame.more;
        if frame.more {
            self.request(at, Content::Poll, false, now);
        }
    }

    /// Stations that sleep have heard a beacon, or a frame to all stations.
    fn after_frame_to_all(&mut self, cell: usize, frame: &Frame, queue: &mut EventQueue<U::Event>) {
        for place in 0..self.power.cells[cell].members.len() {
            let at = self.power.cells[cell].members[place] as usize;
            let station = self.power.sleepers[at].spec.station;
            if !self.power.heard.contains(&station) {
                continue;
            }
            if frame.kind == FrameKind::Beacon {
                self.after_beacon(at, queue);
            } else if !frame.more {
                self.power.sleepers[at].awaits_group = false;
            }
            self.reconsider(station, queue.now());
        }
    }

    fn after_beacon(&mut self, at: usize, queue: &mut EventQueue<U::Event>) {
        let sleeper = &mut self.power.sleepers[at];
        let cell = &self.power.cells[sleeper.cell as usize];
        let waits = cell.traffic.contains(&(at as u32));
        let spread = cell.traffic.len() > 1;
        sleeper.listens_until = Time::MAX;
        sleeper.awaits_group = cell.group_follows && sleeper.spec.dtims;
        if waits && sleeper.twt.is_none() {
            let content = sleeper.asks_by();
            sleeper.awaits_answer = content == Content::Poll;
            sleeper.waits_since = queue.now();
            if content == Content::Wake && sleeper.spec.wake_up != WakeUp::Awake {
                self.become_active(at, queue);
            }
            self.request(at, content, spread, queue.now());
        }
        self.set_sleeper_timer(at, queue);
        let station = self.power.sleepers[at].spec.station;
        self.listeners.split(station);
        self.follow_up(station, queue.now(), queue);
    }
}

impl<E> Sleeper<E> {
    /// How the station asks for what a beacon says is waiting.
    fn asks_by(&self) -> Content {
        match (self.spec.wake_up, self.highest_enabled()) {
            (_, Some(highest)) if self.enables_all() => Content::Trigger(highest),
            (WakeUp::PsPoll, _) => Content::Poll,
            (WakeUp::Null { .. } | WakeUp::Awake, _) => Content::Wake,
        }
    }

    /// When the station has been without data for long enough to sleep.
    fn tires_at(&self) -> Time {
        match self.spec.wake_up {
            WakeUp::Null { timeout } if self.active && self.request.is_none() => {
                self.activity.saturating_add(timeout)
            }
            _ => Time::MAX,
        }
    }
}
