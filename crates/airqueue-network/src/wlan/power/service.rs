//! Unscheduled service periods of U-APSD (IEEE 802.11-2016, 11.2.3.5 and 11.2.3.6), as mac80211 gives them
//! (`ieee80211_sta_ps_deliver_uapsd`).
//!
//! A frame of a trigger-enabled category that a sleeping station sends begins a service period. What the access point
//! keeps in delivery-enabled categories at that moment follows, up to a number of packets, each in a channel access of
//! its own. The last packet says that the period ends; if there is none, a QoS null frame says so.

use super::beacons::management;
use super::{PowerSaveSpec, Sleeper, UapsdSpec, WakeUp};
use crate::InterfaceId;
use crate::event::EventQueue;
use crate::wlan::engine::Wlan;
use crate::wlan::upper::UpperLayer;
use airqueue_core::{Span, Time};
use airqueue_wifi::mac::{Content, Frame, FrameKind, Msdu};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;
use airqueue_wifi::phy::frames::QOS_NULL_BYTES;

/// So many beacon intervals after the last frame that concerned it, a station gives up an answer or a service period whose
/// end the access point has given up.
const PATIENCE: i64 = 10;

/// What is going on between a station and its access point, by U-APSD.
#[derive(Clone, Copy, Debug)]
pub(super) struct Service {
    /// Packets of the service period that the access point has not let go.
    pub(super) left: u32,
    /// Whether the access point is sending one of them. One follows the other, since EOSP is in the last.
    pub(super) sends: bool,
    /// Whether the access point is sending packets that were put aside when the station fell asleep, which come first
    /// (`ieee80211_sta_ps_get_frames` begins with `tx_filtered`). They do not say that the period ends.
    pub(super) resumes: bool,
    /// Whether the access point is to send a QoS null frame, or is sending one.
    pub(super) owes_end: bool,
    /// Whether the station waits for the end of a service period.
    pub(super) awaits_end: bool,
    /// When the station last sent a trigger, or tried to.
    pub(super) triggered: Time,
}

impl Service {
    pub(super) const NONE: Service = Service {
        left: 0,
        sends: false,
        resumes: false,
        owes_end: false,
        awaits_end: false,
        triggered: Time::ZERO,
    };

    /// Whether a service period goes on in the eyes of the access point.
    pub(super) fn goes_on(&self) -> bool {
        self.sends || self.owes_end
    }
}

impl<U: UpperLayer> Wlan<U> {
    /// The access point has received a data frame, or one without data, of a sleeping station: if its category is
    /// trigger-enabled, a service period begins, unless one goes on.
    pub(super) fn on_trigger(
        &mut self,
        at: usize,
        frame: &Frame,
        queue: &mut EventQueue<U::Event>,
    ) {
        let sleeper = &mut self.power.sleepers[at];
        let triggers = matches!(frame.kind, FrameKind::Data | FrameKind::QosNull)
            && sleeper.enables(frame.ac)
            && frame.power
            && sleeper.dozing;
        if !triggers {
            return;
        }
        sleeper.counters.triggers += 1;
        (sleeper.service.awaits_end, sleeper.waits_since) = (true, queue.now());
        sleeper.service.triggered = queue.now();
        let station = sleeper.spec.station;
        if !sleeper.service.goes_on() {
            self.begin_service(at, queue);
        }
        self.reconsider(station, queue.now());
    }

    fn begin_service(&mut self, at: usize, queue: &mut EventQueue<U::Event>) {
        let now = queue.now();
        let packets = self.packets_of_service(at);
        let sleeper = &mut self.power.sleepers[at];
        let ap = sleeper.spec.access_point;
        sleeper.service.left = packets;
        sleeper.counters.service_periods += 1;
        if self.resume(at, now) {
            let service = &mut self.power.sleepers[at].service;
            (service.sends, service.resumes) = (true, true);
        } else {
            self.power.sleepers[at].counters.empty_services += u64::from(packets == 0);
            self.go_on_with_service(at, now);
        }
        self.offer_management(ap, now);
        self.go_on_at(ap, queue);
    }

    /// Takes in hand again what was put aside in delivery-enabled categories when the station fell asleep; whether there
    /// was anything.
    fn resume(&mut self, at: usize, now: Time) -> bool {
        let sleeper = &self.power.sleepers[at];
        let (ap, station) = (sleeper.spec.access_point, sleeper.spec.station);
        let mut resumes = false;
        for ac in AccessCategory::first(self.queues_of(ap)) {
            if self.power.sleepers[at].enables(ac)
                && self.listeners.macs[ap.index()].parked(ac, station) > 0
            {
                self.listeners.split(ap);
                let mac = &mut self.listeners.macs[ap.index()];
                mac.unpark(ac, station, now, &self.listeners.radio);
                resumes = true;
            }
        }
        resumes
    }

    /// Lets the next packet of a service period go, or has a QoS null frame end the period. Returns the packet's queue.
    fn go_on_with_service(&mut self, at: usize, now: Time) -> Option<InterfaceId> {
        let sleeper = &mut self.power.sleepers[at];
        let last = sleeper.service.left <= 1;
        let next = match sleeper.service.left {
            0 => None,
            _ => self.take_kept(at, now, |of, ac| of.enables(ac)),
        };
        let service = &mut self.power.sleepers[at].service;
        let Some((ac, packet)) = next else {
            (service.left, service.owes_end) = (0, true);
            return None;
        };
        service.left -= 1;
        service.sends = true;
        let more = self.has_kept(at, |of, ac| of.enables(ac));
        let content = match last {
            true => Content::LastOfService { more },
            false => Content::MoreData,
        };
        let interface = self.interface_of(self.power.sleepers[at].spec.access_point, ac);
        self.let_go(interface, packet, content);
        Some(interface)
    }

    /// The MAC is done with a packet of a delivery-enabled category.
    pub(super) fn on_finished_of_service(&mut self, at: usize, from: InterfaceId, now: Time) {
        let service = &mut self.power.sleepers[at].service;
        let goes_on = service.left > 0 || service.resumes;
        if std::mem::take(&mut service.sends) && goes_on {
            service.resumes = false;
            // A packet of another queue, which does not ask for packets by itself; or a frame that ends the period.
            self.power.unfed |= self.go_on_with_service(at, now) != Some(from);
        }
    }

    /// The queues of an access point have changed while one of them went on: the others look for packets.
    #[inline]
    pub(in crate::wlan) fn feed_others(
        &mut self,
        station: StationId,
        queue: &mut EventQueue<U::Event>,
    ) {
        if std::mem::take(&mut self.power.unfed) {
            self.offer_management(station, queue.now());
            for ac in AccessCategory::first(self.queues_of(station)) {
                self.feed(self.interface_of(station, ac), queue.now(), queue);
            }
        }
    }

    /// Number of packets of a service period that begins now, those excluded that were put aside: they come first, and
    /// count towards the most packets of the period (`ieee80211_sta_ps_get_frames`).
    fn packets_of_service(&self, at: usize) -> u32 {
        let sleeper = &self.power.sleepers[at];
        let Some(uapsd) = &sleeper.spec.uapsd else { return 0 };
        let (ap, station) = (sleeper.spec.access_point, sleeper.spec.station);
        let mac = &self.listeners.macs[ap.index()];
        let enabled =
            || AccessCategory::first(self.queues_of(ap)).filter(|&ac| sleeper.enables(ac));
        let kept: usize = enabled().map(|ac| self.kept_in(at, ac)).sum();
        let aside: usize = enabled().map(|ac| mac.parked(ac, station)).sum();
        let most = uapsd.most_packets.unwrap_or(u32::MAX);
        (kept as u32).min(most.saturating_sub(aside as u32))
    }

    /// A MAC whose category of management frames may be empty looks for the next one.
    fn offer_management(&mut self, station: StationId, now: Time) {
        let ac = self.listeners.macs[station.index()].management();
        if self.listeners.macs[station.index()].is_empty(ac)
            && let Some(at) = self.power.cell_of(station)
            && let Some(next) = self.next_of_cell(at, now)
        {
            self.give_management(station, next, now);
        }
    }

    /// The QoS null frame that an access point is to end a service period with, if there is one.
    pub(super) fn next_end_of_service(&self, cell: usize, now: Time) -> Option<Msdu> {
        let members = self.power.cells[cell].members.iter();
        let mut sleepers = members.map(|&member| &self.power.sleepers[member as usize]);
        let sleeper = sleepers.find(|sleeper| sleeper.service.owes_end)?;
        let content = Content::NoService(sleeper.highest_enabled()?);
        let &PowerSaveSpec { station, rate, .. } = &sleeper.spec;
        Some(management(content, station, rate, QOS_NULL_BYTES, now))
    }

    /// The MAC is done with such a frame.
    pub(super) fn on_end_of_service_finished(&mut self, to: StationId) {
        if let Some(at) = self.power.sleeper_of(to) {
            self.power.sleepers[at].service.owes_end = false;
        }
    }

    /// The station has received a frame of its access point in a service period.
    pub(super) fn after_service(&mut self, at: usize, frame: &Frame, now: Time) {
        let sleeper = &mut self.power.sleepers[at];
        sleeper.waits_since = now;
        sleeper.service.awaits_end &= !frame.ends_service;
    }

    /// A beacon is due: a station that has waited long enough for an answer, or for the end of a service period, waits
    /// no longer.
    pub(super) fn lose_patience(&mut self, at: usize, now: Time) {
        let sleeper = &mut self.power.sleepers[at];
        let interval = self.power.cells[sleeper.cell as usize].spec.interval;
        let most = Span::from_nanos(interval.as_nanos().saturating_mul(PATIENCE));
        if now - sleeper.waits_since > most {
            (sleeper.awaits_answer, sleeper.service.awaits_end) = (false, false);
        }
    }
}

impl<E> Sleeper<E> {
    /// Whether U-APSD has a category trigger-enabled and delivery-enabled.
    pub(super) fn enables(&self, ac: AccessCategory) -> bool {
        self.spec.uapsd.as_ref().is_some_and(|uapsd| uapsd.enables(ac))
    }

    /// Whether U-APSD delivers all that may wait for the station.
    pub(super) fn enables_all(&self) -> bool {
        self.spec.uapsd.as_ref().is_some_and(UapsdSpec::enables_all)
    }

    pub(super) fn highest_enabled(&self) -> Option<AccessCategory> {
        AccessCategory::ALL.into_iter().rev().find(|&ac| self.enables(ac))
    }

    /// Whether the TIM tells of packets of a category, and PS-Polls ask for them (11.2.3.6 e and 11.2.3.7).
    pub(super) fn is_announced(&self, ac: AccessCategory) -> bool {
        !self.enables(ac) || self.enables_all()
    }

    /// Whether the station never tells its access point that it is awake.
    pub(super) fn is_always_dozing(&self) -> bool {
        self.spec.wake_up == WakeUp::PsPoll || self.enables_all() || self.twt.is_some()
    }

    /// When the station is to send a trigger, if nothing else has been one.
    pub(super) fn triggers_at(&self) -> Time {
        match self.spec.uapsd.as_ref().and_then(|uapsd| uapsd.trigger_interval) {
            Some(interval) if !self.active && self.request.is_none() => {
                self.service.triggered.saturating_add(interval)
            }
            _ => Time::MAX,
        }
    }
}
