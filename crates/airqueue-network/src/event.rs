//! The event queue: pending events on a clock of integer nanoseconds.
//!
//! Events of one instant are ordered by (phase, sequence number). Phases let a model require, for instance, that all
//! departures of an instant precede all arrivals, or that a medium collects all grants of a slot boundary before it
//! decides. Within a phase, events happen in the order in which they were scheduled. The order never depends on
//! addresses, hashes or the layout of the event list.
//!
//! Events stay in place in a slab; an event list orders their slots. The queue allocates nothing once the slab has
//! grown to the largest number of simultaneously pending events.

use crate::event_list::EventList;
use crate::heap::Entry;
use airqueue_core::Time;
use std::cmp::Ordering;

/// Orders events of one instant: lower phases first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Phase(pub u8);

/// Identifies a pending event. An id whose event has happened or was cancelled is harmless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventId {
    slot: u32,
    generation: u32,
}

/// Pending events of type `E`, and the time of the event taken out last.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    now: Time,
    sequence: u64,
    /// The slots of pending events.
    event_list: EventList<Key>,
    slots: Vec<Slot<E>>,
    /// The first free slot, or [`NONE`].
    free: u32,
    /// When the closing event happens; [`Time::MAX`]: never.
    closing_at: Time,
    closing: Option<E>,
    /// No event after this time is taken out at present.
    limit: Time,
}

/// The sort key of pending events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    /// Never before time zero.
    at: Time,
    /// Phase in the top 8 bits, sequence number below: 2⁵⁶ events outlast any simulation.
    order: u64,
}

#[derive(Clone, Debug)]
struct Slot<E> {
    event: Option<E>,
    generation: u32,
    /// In a free slot: the next free slot.
    next_free: u32,
}

/// No slot.
const NONE: u32 = u32::MAX;

const PHASE_SHIFT: u32 = 56;

impl Ord for Key {
    /// The key as one wide number, which compares without a branch.
    #[inline]
    fn cmp(&self, other: &Key) -> Ordering {
        let wide = |key: &Key| u128::from(key.at.as_nanos() as u64) << 64 | u128::from(key.order);
        wide(self).cmp(&wide(other))
    }
}

impl PartialOrd for Key {
    #[inline]
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        EventQueue::new()
    }
}

impl<E> EventQueue<E> {
    /// An empty queue at time zero.
    pub fn new() -> EventQueue<E> {
        EventQueue {
            now: Time::ZERO,
            sequence: 0,
            event_list: EventList::new(),
            slots: Vec::new(),
            free: NONE,
            closing_at: Time::MAX,
            closing: None,
            limit: Time::ZERO,
        }
    }

    /// The time of the event taken out last, or the time set by `advance_to`.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Number of pending events.
    pub fn len(&self) -> usize {
        self.event_list.len() + usize::from(self.closing_at < Time::MAX)
    }

    /// Whether no event is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// When the next event happens.
    #[inline]
    pub fn next_at(&self) -> Option<Time> {
        match self.event_list.first() {
            Some(entry) => Some(entry.key.at.min(self.closing_at)),
            None => (self.closing_at < Time::MAX).then_some(self.closing_at),
        }
    }

    /// Sets the closing event: `event` happens after all other events of its instant, at `at` (now, if `at` has passed)
    /// and at no other time; [`Time::MAX`]: never. The closing event lies outside the event list, so that moving this
    /// event costs nothing.
    #[inline]
    pub fn set_closing(&mut self, at: Time, event: E) {
        self.closing_at = at.max(self.now);
        self.closing = Some(event);
    }

    /// Schedules `event`. An event at the present time, in any phase, happens before time advances.
    ///
    /// # Panics
    ///
    /// If `at` lies in the past. The model that schedules such an event is wrong, and the order of all later events
    /// would be broken.
    #[inline(always)]
    pub fn schedule(&mut self, at: Time, phase: Phase, event: E) -> EventId {
        let key = self.next_key(at, phase);
        let slot = if self.free == NONE { self.add_slot() } else { self.free };
        self.event_list.insert(slot, key);
        let Slot { event: free, generation, next_free } = &mut self.slots[slot as usize];
        *free = Some(event);
        self.free = *next_free;
        EventId { slot, generation: *generation }
    }

    #[cold]
    fn add_slot(&mut self) -> u32 {
        self.slots.push(Slot { event: None, generation: 0, next_free: NONE });
        self.event_list.grow()
    }

    /// Cancels an event and returns it; `None` if the event is no longer pending.
    #[inline(never)]
    pub fn cancel(&mut self, id: EventId) -> Option<E> {
        if !self.is_pending(id) {
            return None;
        }
        self.event_list.remove(id.slot);
        self.vacate(id.slot)
    }

    /// Moves a pending event to another time and phase, as if the event had been cancelled and scheduled again; the id
    /// stays valid. False if the event is no longer pending.
    ///
    /// # Panics
    ///
    /// If `at` lies in the past.
    pub fn reschedule(&mut self, id: EventId, at: Time, phase: Phase) -> bool {
        let pending = self.is_pending(id);
        if pending {
            let key = self.next_key(at, phase);
            self.event_list.remove(id.slot);
            self.event_list.insert(id.slot, key);
        }
        pending
    }

    /// Takes out the next event and advances the present to its time.
    pub fn pop(&mut self) -> Option<(Time, E)> {
        self.pop_until(Time::MAX)
    }

    /// Takes out the next event if it happens at or before `limit`.
    #[inline]
    pub fn pop_until(&mut self, limit: Time) -> Option<(Time, E)> {
        self.limit = limit;
        let first = self.event_list.first().map_or(Time::MAX, |entry| entry.key.at);
        if first.min(self.closing_at) > limit {
            return None;
        }
        if self.closing_at < first {
            return self.pop_closing();
        }
        let Entry { key, item } = self.event_list.pop()?;
        self.now = key.at;
        self.vacate(item).map(|event| (key.at, event))
    }

    #[inline]
    fn pop_closing(&mut self) -> Option<(Time, E)> {
        let at = std::mem::replace(&mut self.closing_at, Time::MAX);
        let event = self.closing.take()?;
        self.now = at;
        Some((at, event))
    }

    /// Advances the present to `at`, with no event in between.
    ///
    /// # Panics
    ///
    /// If an event is pending before `at`, or `at` lies in the past.
    pub fn advance_to(&mut self, at: Time) {
        assert!(at >= self.now, "the clock cannot go back from {} to {at}", self.now);
        assert!(self.next_at().is_none_or(|next| next >= at), "an event lies before {at}");
        self.now = at;
    }

    /// Whether no event but the closing event is pending up to and including `at`, and events at `at` are asked for: the
    /// handler of an event may then [`Self::pass_to`] this time.
    #[inline]
    pub fn is_free_until(&self, at: Time) -> bool {
        at <= self.limit && self.event_list.first().is_none_or(|entry| entry.key.at > at)
    }

    /// Advances the present to `at` within the handler of an event. The closing event has to be set anew.
    #[inline]
    pub fn pass_to(&mut self, at: Time) {
        debug_assert!(at >= self.now && self.is_free_until(at), "an event lies before {at}");
        self.now = at;
        self.closing_at = Time::MAX;
    }

    fn next_key(&mut self, at: Time, phase: Phase) -> Key {
        assert!(at >= self.now, "an event cannot happen at {at}, it is {} already", self.now);
        self.sequence += 1;
        Key { at, order: u64::from(phase.0) << PHASE_SHIFT | self.sequence }
    }

    /// Whether an event is still pending, neither happened nor cancelled.
    #[inline]
    pub fn is_pending(&self, id: EventId) -> bool {
        let slot = self.slots.get(id.slot as usize);
        slot.is_some_and(|slot| slot.generation == id.generation && slot.event.is_some())
    }

    #[inline]
    fn vacate(&mut self, slot: u32) -> Option<E> {
        let next_free = std::mem::replace(&mut self.free, slot);
        let slot = &mut self.slots[slot as usize];
        slot.generation = slot.generation.wrapping_add(1);
        slot.next_free = next_free;
        slot.event.take()
    }
}
