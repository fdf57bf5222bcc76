//! The event queue: what happens when, on integer nanoseconds.
//!
//! Order inside one instant is (phase, sequence): phases let a model say that, for instance, every
//! departure of an instant comes before every arrival, or that a medium gathers all grants of a slot
//! boundary before it decides; within a phase, first scheduled is first served. Nothing depends on
//! addresses, hashes or the shape of the heap.
//!
//! The heap is a four-ary one over small keys; the events themselves lie still in a slab, and each
//! slot knows its place in the heap. Cancelling and rescheduling therefore cost one sift, leave no
//! corpses behind, and nothing is allocated once the slab has grown to the largest number of events
//! that were ever pending together.

use airqueue_core::Time;

/// Orders events of one instant: lower phases first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Phase(pub u8);

/// Names a pending event; harmless once the event has happened or was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventId {
    slot: u32,
    generation: u32,
}

/// Pending events of type `E`, and the time of the last one that was taken out.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    now: Time,
    sequence: u64,
    heap: Vec<Entry>,
    slots: Vec<Slot<E>>,
    free: Vec<u32>,
}

/// Sorting key and slot of a pending event.
#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Time,
    /// Phase in the top 8 bits, sequence number below: 2⁵⁶ events outlast any simulation.
    order: u64,
    slot: u32,
}

#[derive(Clone, Debug)]
struct Slot<E> {
    event: Option<E>,
    generation: u32,
    /// Index in the heap while pending.
    place: u32,
}

const ARITY: usize = 4;
const PHASE_SHIFT: u32 = 56;

impl Entry {
    fn before(&self, other: &Entry) -> bool {
        (self.at, self.order) < (other.at, other.order)
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        EventQueue::new()
    }
}

impl<E> EventQueue<E> {
    /// No events, time zero.
    pub fn new() -> EventQueue<E> {
        EventQueue {
            now: Time::ZERO,
            sequence: 0,
            heap: Vec::new(),
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    /// The time of the event taken out last, or that `advance_to` set.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Number of pending events.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// When the next event happens.
    pub fn next_at(&self) -> Option<Time> {
        self.heap.first().map(|entry| entry.at)
    }

    /// Schedules `event`. An event for the present, in whatever phase, happens before time goes on.
    ///
    /// # Panics
    ///
    /// If `at` lies in the past: the model that asks for this is wrong, and going on would break
    /// the order of everything after it.
    pub fn schedule(&mut self, at: Time, phase: Phase, event: E) -> EventId {
        let order = self.next_order(at, phase);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { event: None, generation: 0, place: 0 });
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize].event = Some(event);
        self.heap.push(Entry { at, order, slot });
        self.sift_up(self.heap.len() - 1);
        EventId { slot, generation: self.slots[slot as usize].generation }
    }

    /// Takes the event back; `None` if it is no longer pending.
    pub fn cancel(&mut self, id: EventId) -> Option<E> {
        let place = self.place_of(id)?;
        self.remove(place).map(|(_, event)| event)
    }

    /// Moves a pending event to another time and phase, as if it had been cancelled and scheduled
    /// anew; the id stays good. False if it is no longer pending.
    ///
    /// # Panics
    ///
    /// If `at` lies in the past.
    pub fn reschedule(&mut self, id: EventId, at: Time, phase: Phase) -> bool {
        let Some(place) = self.place_of(id) else { return false };
        let order = self.next_order(at, phase);
        let old = std::mem::replace(&mut self.heap[place], Entry { at, order, slot: id.slot });
        if self.heap[place].before(&old) {
            self.sift_up(place);
        } else {
            self.sift_down(place);
        }
        true
    }

    /// When a pending event will happen.
    pub fn scheduled_at(&self, id: EventId) -> Option<Time> {
        self.place_of(id).map(|place| self.heap[place].at)
    }

    /// Takes out the next event and makes its time the present.
    pub fn pop(&mut self) -> Option<(Time, E)> {
        let (at, event) = self.remove(0)?;
        self.now = at;
        Some((at, event))
    }

    /// Takes out the next event if it happens at or before `limit`.
    pub fn pop_until(&mut self, limit: Time) -> Option<(Time, E)> {
        if self.next_at()? <= limit { self.pop() } else { None }
    }

    /// Lets time pass to `at` with nothing happening on the way.
    ///
    /// # Panics
    ///
    /// If an event is pending before `at`, or `at` lies in the past.
    pub fn advance_to(&mut self, at: Time) {
        assert!(at >= self.now, "the clock cannot go back from {} to {at}", self.now);
        assert!(self.next_at().is_none_or(|next| next >= at), "an event lies before {at}");
        self.now = at;
    }

    fn next_order(&mut self, at: Time, phase: Phase) -> u64 {
        assert!(at >= self.now, "an event cannot happen at {at}, it is {} already", self.now);
        self.sequence += 1;
        u64::from(phase.0) << PHASE_SHIFT | self.sequence
    }

    fn place_of(&self, id: EventId) -> Option<usize> {
        let slot = self.slots.get(id.slot as usize)?;
        (slot.generation == id.generation && slot.event.is_some()).then_some(slot.place as usize)
    }

    fn remove(&mut self, place: usize) -> Option<(Time, E)> {
        let entry = *self.heap.get(place)?;
        let last = self.heap.pop()?;
        if place < self.heap.len() {
            self.heap[place] = last;
            if last.before(&entry) {
                self.sift_up(place);
            } else {
                self.sift_down(place);
            }
        }
        let slot = &mut self.slots[entry.slot as usize];
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(entry.slot);
        slot.event.take().map(|event| (entry.at, event))
    }

    fn settle(&mut self, place: usize, entry: Entry) {
        self.heap[place] = entry;
        self.slots[entry.slot as usize].place = place as u32;
    }

    fn sift_up(&mut self, mut place: usize) {
        let entry = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if !entry.before(&self.heap[parent]) {
                break;
            }
            self.settle(place, self.heap[parent]);
            place = parent;
        }
        self.settle(place, entry);
    }

    fn sift_down(&mut self, mut place: usize) {
        let entry = self.heap[place];
        loop {
            let first = place * ARITY + 1;
            let children = first..(first + ARITY).min(self.heap.len());
            let Some(least) = children.reduce(|best, child| {
                if self.heap[child].before(&self.heap[best]) { child } else { best }
            }) else {
                break;
            };
            if !self.heap[least].before(&entry) {
                break;
            }
            self.settle(place, self.heap[least]);
            place = least;
        }
        self.settle(place, entry);
    }
}
