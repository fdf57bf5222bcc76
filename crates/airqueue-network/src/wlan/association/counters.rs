//! The counters of associations.

use airqueue_core::{Span, Time};

/// How a station's associations go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AssociationCounters {
    /// How often the station has associated.
    pub associations: u64,
    /// How often with another access point than the last time.
    pub roams: u64,
    /// How often the station began anew since the frame that it waited for did not come.
    pub timeouts: u64,
    /// Time without service since counting began.
    pub unserved: Span,
    /// Packets that access points discarded for the station.
    pub lost_down: u64,
    /// Packets of the station that were for an access point that no longer served the station.
    pub lost_up: u64,
    /// Since when `unserved` counts the present time without service.
    pub(super) counted: Time,
}

impl AssociationCounters {
    /// A time without service, since `since`, has ended.
    pub(super) fn on_associated(&mut self, since: Time, roamed: bool, now: Time) {
        self.associations += 1;
        self.roams += u64::from(roamed);
        self.count(since, now);
    }

    /// Counts the present time without service, since `since`, up to `now`.
    pub(super) fn count(&mut self, since: Time, now: Time) {
        let from = since.max(self.counted);
        if now > from {
            self.unserved = self.unserved + (now - from);
        }
        self.counted = now;
    }
}
