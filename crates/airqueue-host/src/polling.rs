//! Polling of sockets at intervals instead of at every arrival.
//!
//! Waking a sleeping thread for every packet costs more than the packet itself, on a virtual machine many
//! times more, and costs the processor that delivers the packet: with both ends of a path on one
//! machine the wakeups slow the sender. Receive times are the kernel's and do not depend on when a
//! program wakes up, so in a flood the driver polls once a millisecond, as network drivers do (NAPI).

use airqueue_core::{Span, Time};

/// How often sockets are read in a flood. At 100 000 packets/s a hundred packets wait meanwhile: fewer
/// than the smallest receive buffer holds.
const EVERY: Span = Span::from_millis(1);
/// Arrivals in [`EVERY`] that make a flood.
const FLOOD: u64 = 4;
/// Fewer arrivals in [`EVERY`] end a flood.
const CALM: u64 = 2;

/// Counts arrivals and decides.
#[derive(Clone, Copy, Debug, Default)]
pub struct Polling {
    on: bool,
    since: Time,
    arrivals: u64,
}

impl Polling {
    /// Whether sockets are read by the clock.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// When the sockets are to be read next; `None`: when something arrives.
    pub fn next(&self) -> Option<Time> {
        self.on.then_some(self.since + EVERY)
    }

    /// Whether to read all sockets now.
    pub fn due(&self, now: Time) -> bool {
        self.on && now >= self.since + EVERY
    }

    /// Counts what a turn received, `polled` or not; true if the mode changes now.
    pub fn note(&mut self, now: Time, polled: bool, received: u64) -> bool {
        self.arrivals += received;
        if self.on && !polled || !self.on && now - self.since < EVERY {
            return false;
        }
        let on = self.arrivals >= if self.on { CALM } else { FLOOD };
        let changed = on != self.on;
        *self = Polling { on, since: now, arrivals: 0 };
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: i64) -> Time {
        Time::from_nanos(us * 1_000)
    }

    #[test]
    fn a_flood_is_read_by_the_clock_and_calm_at_every_arrival() {
        let mut polling = Polling::default();
        assert!(!polling.note(at(2_000), false, 1), "one packet in two milliseconds");
        assert!(!polling.note(at(2_300), false, 3) && polling.next().is_none());
        assert!(polling.note(at(3_100), false, 1), "four within a millisecond");
        assert_eq!(polling.next(), Some(at(4_100)));
        assert!(!polling.due(at(4_000)) && polling.due(at(4_100)));
        assert!(!polling.note(at(3_900), false, 0), "between polls nothing is decided");
        assert!(!polling.note(at(4_100), true, 2));
        assert!(polling.note(at(5_100), true, 1), "the flood is over");
        assert!(!polling.is_on());
    }
}
