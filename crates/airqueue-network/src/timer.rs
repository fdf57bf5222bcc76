//! One event that is moved about: how a state machine's `next_deadline` meets the event queue.

use crate::event::{EventId, EventQueue, Phase};
use airqueue_core::Time;

/// Keeps at most one event of its kind pending.
#[derive(Clone, Copy, Debug)]
pub struct Timer<E> {
    event: E,
    phase: Phase,
    pending: Option<EventId>,
    /// What it is set to, whether that has come or not; [`Time::MAX`]: to nothing.
    at: Time,
}

impl<E: Copy> Timer<E> {
    /// An alarm that is not set; when it goes off, `event` happens in `phase`.
    pub fn new(event: E, phase: Phase) -> Timer<E> {
        Timer { event, phase, pending: None, at: Time::MAX }
    }

    /// Makes the event happen at `at` (at once if that has passed) and at no other time; `None`, or
    /// [`Time::MAX`]: not at all. Setting it to what it is set to changes nothing, its place among ties included.
    #[inline]
    pub fn set(&mut self, at: Option<Time>, queue: &mut EventQueue<E>) {
        let at = at.unwrap_or(Time::MAX);
        // What still lies ahead cannot have happened: the queue need not be asked.
        if at != self.at || at <= queue.now() {
            self.change(at, queue);
        }
    }

    #[inline(never)]
    fn change(&mut self, at: Time, queue: &mut EventQueue<E>) {
        let was = std::mem::replace(&mut self.at, at.max(queue.now()));
        if at == Time::MAX {
            if let Some(id) = self.pending.take() {
                queue.cancel(id);
            }
            return;
        }
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
