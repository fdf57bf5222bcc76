//! The event loop: takes events out of the queue and hands them to a model, on the virtual clock or on any other clock.

use crate::event::EventQueue;
use airqueue_core::{Span, Time};

/// What an event loop drives.
pub trait Model {
    /// The model's events.
    type Event;

    /// Handles an event at `queue.now()`, and schedules its consequences on `queue`.
    fn handle(&mut self, event: Self::Event, queue: &mut EventQueue<Self::Event>);
}

/// Makes the loop wait until an event is due.
pub trait Clock {
    /// Returns at `at`, or as soon after `at` as possible, and returns the delay.
    fn synchronize(&mut self, at: Time) -> Span;
}

/// The clock of a simulation: waits for nothing, and is never late.
#[derive(Clone, Copy, Debug, Default)]
pub struct VirtualClock;

impl Clock for VirtualClock {
    fn synchronize(&mut self, _at: Time) -> Span {
        Span::ZERO
    }
}

/// A model, its pending events and its clock.
#[derive(Clone, Debug)]
pub struct Simulation<M: Model, C = VirtualClock> {
    /// The model.
    pub model: M,
    /// Its pending events.
    pub queue: EventQueue<M::Event>,
    clock: C,
    events: u64,
    worst_lateness: Span,
}

impl<M: Model> Simulation<M> {
    /// A model in virtual time.
    pub fn new(model: M, queue: EventQueue<M::Event>) -> Simulation<M> {
        Simulation::on_clock(model, queue, VirtualClock)
    }
}

impl<M: Model, C: Clock> Simulation<M, C> {
    /// A model on a given clock.
    pub fn on_clock(model: M, queue: EventQueue<M::Event>, clock: C) -> Simulation<M, C> {
        Simulation { model, queue, clock, events: 0, worst_lateness: Span::ZERO }
    }

    /// The present.
    pub fn now(&self) -> Time {
        self.queue.now()
    }

    /// How many events have happened.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The largest delay of the clock for any event; zero in virtual time.
    pub fn worst_lateness(&self) -> Span {
        self.worst_lateness
    }

    /// Handles the next event if the event is due at or before `limit`; returns whether there was an event.
    #[inline]
    pub fn step(&mut self, limit: Time) -> bool {
        let Some((at, event)) = self.queue.pop_until(limit) else { return false };
        self.worst_lateness = self.worst_lateness.max(self.clock.synchronize(at));
        self.events += 1;
        self.model.handle(event, &mut self.queue);
        true
    }

    /// Handles all events due at or before `until`, which then is the present.
    pub fn run_until(&mut self, until: Time) {
        self.run(until, until);
    }

    /// Handles all events due before `until`, which then is the present; those due at `until` are ahead.
    pub fn run_before(&mut self, until: Time) {
        self.run(until - Span::from_nanos(1), until);
    }

    fn run(&mut self, limit: Time, until: Time) {
        while self.step(limit) {}
        self.worst_lateness = self.worst_lateness.max(self.clock.synchronize(until));
        self.queue.advance_to(until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Phase;

    /// Ticks every `period` and records the times.
    struct Metronome {
        period: Span,
        beats: Vec<Time>,
    }

    impl Model for Metronome {
        type Event = ();
        fn handle(&mut self, (): (), queue: &mut EventQueue<()>) {
            self.beats.push(queue.now());
            queue.schedule(queue.now() + self.period, Phase(0), ());
        }
    }

    /// A wall clock that is later by 1 ns at each call: 1 ns, 2 ns, ...
    struct Late(i64);

    impl Clock for Late {
        fn synchronize(&mut self, _at: Time) -> Span {
            self.0 += 1;
            Span::from_nanos(self.0)
        }
    }

    fn metronome() -> (Metronome, EventQueue<()>) {
        let mut queue = EventQueue::new();
        queue.schedule(Time::ZERO, Phase(0), ());
        (Metronome { period: Span::from_secs(1), beats: Vec::new() }, queue)
    }

    #[test]
    fn runs_up_to_and_including_the_limit() {
        let (model, queue) = metronome();
        let mut sim = Simulation::new(model, queue);
        sim.run_until(Time::from_nanos(3_000_000_000));
        assert_eq!(sim.model.beats.len(), 4);
        sim.run_until(Time::from_nanos(3_999_999_999));
        assert_eq!((sim.model.beats.len(), sim.events()), (4, 4));
        assert_eq!(sim.now(), Time::from_nanos(3_999_999_999));
        assert_eq!(sim.worst_lateness(), Span::ZERO);
    }

    #[test]
    fn what_is_due_at_the_limit_may_be_left() {
        let (model, queue) = metronome();
        let mut sim = Simulation::new(model, queue);
        sim.run_before(Time::ZERO);
        assert!(sim.model.beats.is_empty());
        sim.run_before(Time::from_nanos(3_000_000_000));
        assert_eq!((sim.model.beats.len(), sim.now().as_nanos()), (3, 3_000_000_000));
        sim.run_until(sim.now());
        assert_eq!(sim.model.beats.len(), 4);
    }

    #[test]
    fn lateness_is_a_value_and_changes_no_event_time() {
        let (model, queue) = metronome();
        let mut sim = Simulation::on_clock(model, queue, Late(0));
        sim.run_until(Time::from_nanos(2_500_000_000));
        let seconds: Vec<i64> =
            sim.model.beats.iter().map(|t| t.as_nanos() / 1_000_000_000).collect();
        assert_eq!(seconds, [0, 1, 2]);
        assert_eq!(sim.worst_lateness(), Span::from_nanos(4));
    }
}
