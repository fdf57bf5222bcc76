//! Changes of a device at work: stalls, rate changes, limit changes.

use airqueue_core::{DataRate, Limit, Span, Time};

/// One change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DeviceChange {
    /// The server stops until the matching `Resume`; stalls may overlap.
    Stall,
    /// A stall ends.
    Resume,
    /// The rate becomes this multiple of the base rate.
    Rate(f64),
    /// The queue's limit becomes this.
    Limit(Limit),
}

/// A schedule of changes, played once or repeatedly.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// Changes by offset from the start of the schedule.
    changes: Vec<(Span, DeviceChange)>,
    period: Option<Span>,
    /// Index of the next change; the number of changes stands for the restart.
    next: usize,
    /// When the present round began.
    began: Time,
}

/// What a schedule triggers at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScheduledEvent {
    /// A change is due.
    DeviceChange(DeviceChange),
    /// A new round begins, with everything in its initial state.
    Restart,
}

impl Schedule {
    /// A schedule that begins at time zero. Offsets are not negative, and not beyond `period` if there is one.
    pub fn new(mut changes: Vec<(Span, DeviceChange)>, period: Option<Span>) -> Schedule {
        // A stable sort keeps the user's order of simultaneous changes. A stall that ends when another begins merges
        // with the other in either order.
        changes.sort_by_key(|(at, _)| *at);
        Schedule { changes, period, next: 0, began: Time::ZERO }
    }

    /// When the next event of the schedule is due.
    pub fn next_at(&self) -> Option<Time> {
        match (self.changes.get(self.next), self.period) {
            (Some((at, _)), _) => Some(self.began + *at),
            (None, Some(period)) if !self.changes.is_empty() => Some(self.began + period),
            _ => None,
        }
    }

    /// Takes the next event of the schedule if it is due at `now`.
    pub fn take_due(&mut self, now: Time) -> Option<ScheduledEvent> {
        let at = self.next_at().filter(|&at| at <= now)?;
        match self.changes.get(self.next) {
            Some((_, change)) => {
                self.next += 1;
                Some(ScheduledEvent::DeviceChange(*change))
            }
            None => {
                self.next = 0;
                self.began = at;
                Some(ScheduledEvent::Restart)
            }
        }
    }
}

/// The rate of a server under changes.
#[derive(Clone, Copy, Debug)]
pub struct ServiceRate {
    base: DataRate,
    factor: f64,
    stalls: u32,
}

impl ServiceRate {
    /// The base rate, without changes.
    pub fn new(base: DataRate) -> ServiceRate {
        ServiceRate { base, factor: 1.0, stalls: 0 }
    }

    /// The present rate; `None` during a stall.
    pub fn rate(&self) -> Option<DataRate> {
        (self.stalls == 0).then(|| self.base.scaled(self.factor))
    }

    /// Applies the part of an event that concerns the rate.
    pub fn apply(&mut self, event: ScheduledEvent) {
        match event {
            ScheduledEvent::DeviceChange(DeviceChange::Stall) => self.stalls += 1,
            ScheduledEvent::DeviceChange(DeviceChange::Resume) => {
                self.stalls = self.stalls.saturating_sub(1)
            }
            ScheduledEvent::DeviceChange(DeviceChange::Rate(factor)) => self.factor = factor,
            ScheduledEvent::DeviceChange(DeviceChange::Limit(_)) => {}
            ScheduledEvent::Restart => *self = ServiceRate::new(self.base),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(schedule: &mut Schedule, until: Time) -> Vec<(i64, ScheduledEvent)> {
        let mut seen = Vec::new();
        while let Some(at) = schedule.next_at().filter(|&at| at <= until) {
            let event = schedule.take_due(at).expect("it is due");
            seen.push((at.as_nanos() / 1_000_000_000, event));
        }
        seen
    }

    #[test]
    fn rounds_are_copies_of_the_first() {
        let changes = vec![
            (Span::from_secs(8), DeviceChange::Resume),
            (Span::from_secs(3), DeviceChange::Stall),
        ];
        let mut schedule = Schedule::new(changes, Some(Span::from_secs(10)));
        let expected: Vec<(i64, ScheduledEvent)> = (0..3)
            .flat_map(|round| {
                [
                    (10 * round + 3, ScheduledEvent::DeviceChange(DeviceChange::Stall)),
                    (10 * round + 8, ScheduledEvent::DeviceChange(DeviceChange::Resume)),
                    (10 * round + 10, ScheduledEvent::Restart),
                ]
            })
            .collect();
        assert_eq!(events(&mut schedule, Time::from_nanos(30_000_000_000)), expected);
    }

    #[test]
    fn without_a_period_it_ends_and_without_changes_it_never_begins() {
        let mut once = Schedule::new(vec![(Span::ZERO, DeviceChange::Rate(0.5))], None);
        assert_eq!(
            events(&mut once, Time::MAX),
            [(0, ScheduledEvent::DeviceChange(DeviceChange::Rate(0.5)))]
        );
        assert_eq!(Schedule::new(Vec::new(), Some(Span::from_secs(1))).next_at(), None);
    }

    #[test]
    fn overlapping_stalls_end_with_the_last() {
        let mut service_rate = ServiceRate::new(DataRate::from_bps(1000).unwrap());
        let play = |service_rate: &mut ServiceRate, change| {
            service_rate.apply(ScheduledEvent::DeviceChange(change));
            service_rate.rate().map(DataRate::as_bps)
        };
        assert_eq!(play(&mut service_rate, DeviceChange::Stall), None);
        assert_eq!(play(&mut service_rate, DeviceChange::Stall), None);
        assert_eq!(play(&mut service_rate, DeviceChange::Rate(0.5)), None);
        assert_eq!(play(&mut service_rate, DeviceChange::Resume), None);
        assert_eq!(play(&mut service_rate, DeviceChange::Resume), Some(500));
    }
}
