//! The counters of beacons and of sleep.

use airqueue_core::{Span, Time};

/// The beacons of an access point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BeaconCounters {
    /// Beacons sent.
    pub sent: u64,
    /// Beacons that began more than a slot after their TBTT.
    pub delayed: u64,
    /// Beacons that were not sent because at their TBTT an earlier beacon still waited, or the access point was on other
    /// channels.
    pub skipped: u64,
    /// Packets to all stations that were kept for the next DTIM.
    pub group_kept: u64,
    /// Of these, those that the buffer had no room for.
    pub group_dropped: u64,
}

/// The sleep of a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SleepCounters {
    /// How long the station slept.
    pub asleep: Span,
    /// How often the station woke up.
    pub wake_ups: u64,
    /// Beacons for which the station woke up in vain: the beacon did not come in time, or was not decoded.
    pub beacons_missed: u64,
    /// PS-Polls that the access point received.
    pub polls: u64,
    /// Frames that the access point received and that ask for packets: triggers of U-APSD, and announcements of TWT.
    pub triggers: u64,
    /// Service periods, of U-APSD or TWT.
    pub service_periods: u64,
    /// Service periods of U-APSD without a packet.
    pub empty_services: u64,
    /// Packets that were kept for the station.
    pub kept: u64,
    /// Of these, those that the buffers had no room for, or that became too old.
    pub dropped: u64,
}

impl BeaconCounters {
    pub(super) fn on_sent(&mut self, delay: Span, slot: Span) {
        self.sent += 1;
        self.delayed += u64::from(delay > slot);
    }
}

/// Whether a station is awake, and how long it has slept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wakefulness {
    pub(super) awake: bool,
    /// Since when.
    since: Time,
}

impl Wakefulness {
    pub(super) const AWAKE: Wakefulness = Wakefulness { awake: true, since: Time::ZERO };

    /// Counts the time up to `now`.
    pub(super) fn count(&mut self, counters: &mut SleepCounters, now: Time) {
        if !self.awake {
            counters.asleep = counters.asleep + (now - self.since);
        }
        self.since = now;
    }

    pub(super) fn change(&mut self, awake: bool, counters: &mut SleepCounters, now: Time) {
        self.count(counters, now);
        self.awake = awake;
        counters.wake_ups += u64::from(awake);
    }
}
