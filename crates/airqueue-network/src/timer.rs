//! One event that is rescheduled: connects a state machine's `next_deadline` with the event queue.

use crate::event::{EventId, EventQueue, Phase};
use airqueue_core::Time;

/// Keeps at most one pending event.
#[derive(Clone, Copy, Debug)]
pub struct Timer<E> {
    event: E,
    phase: Phase,
    pending: Option<EventId>,
    /// The time to which the timer is set, in the past or not; [`Time::MAX`]: not set.
    at: Time,
}

impl<E: Copy> Timer<E> {
    /// A timer that is not set. When the timer expires, `event` happens in `phase`.
    pub fn new(event: E, phase: Phase) -> Timer<E> {
        Timer { event, phase, pending: None, at: Time::MAX }
    }

    /// Makes the event happen at `at` (now, if `at` has passed) and at no other time; `None` or [`Time::MAX`]: never.
    /// Setting the timer to its present time changes nothing, including its place among events of one instant.
    #[inline]
    pub fn set(&mut self, at: Option<Time>, queue: &mut EventQueue<E>) {
        let at = at.unwrap_or(Time::MAX);
        // An event still in the future cannot have happened: this needs no look at the queue.
        if at == Time::MAX {
            self.stop(queue);
        } else if at != self.at || at <= queue.now() {
            self.change(at, queue);
        }
    }

    /// The event does not happen any more.
    #[inline(always)]
    fn stop(&mut self, queue: &mut EventQueue<E>) {
        self.at = Time::MAX;
        // Most timers that stop have expired.
        if let Some(id) = self.pending.take()
            && queue.is_pending(id)
        {
            queue.cancel(id);
        }
    }

    #[inline(never)]
    fn change(&mut self, at: Time, queue: &mut EventQueue<E>) {
        let was = std::mem::replace(&mut self.at, at.max(queue.now()));
        let kept = self.pending.is_some_and(|id| {
            let stays = was == self.at;
            if stays { queue.is_pending(id) } else { queue.reschedule(id, self.at, self.phase) }
        });
        if !kept {
            self.pending = Some(queue.schedule(self.at, self.phase, self.event));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_setting_counts() {
        let mut queue = EventQueue::new();
        let mut timer = Timer::new('x', Phase(0));
        timer.set(Some(Time::from_nanos(5)), &mut queue);
        timer.set(Some(Time::from_nanos(9)), &mut queue);
        assert_eq!(queue.pop(), Some((Time::from_nanos(9), 'x')));
        timer.set(Some(Time::from_nanos(2)), &mut queue);
        assert_eq!(queue.next_at(), Some(Time::from_nanos(9)), "the past means now");
        timer.set(None, &mut queue);
        assert!(queue.is_empty());
        timer.set(Some(Time::from_nanos(11)), &mut queue);
        assert_eq!(queue.len(), 1);
    }
}
