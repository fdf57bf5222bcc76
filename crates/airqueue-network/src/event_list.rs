//! Items by key, the least first: the next few in their order, the others in a heap.
//!
//! What is put in is mostly due soon and soon taken out. Among the few next such items it has its place after some
//! comparisons, and taking it out costs nothing; a heap would move others about for both. Nothing is allocated once
//! there is room for the most items that were ever in it.

use crate::heap::{Entry, Heap};

/// How many are kept in order.
const NEAR: usize = 16;

/// Items, which are small numbers, with a key each. The order among equal keys is any.
#[derive(Clone, Debug)]
pub(crate) struct EventList<K> {
    /// The next, the first of them last; empty only if there are no others.
    near: Vec<Entry<K>>,
    /// The others, which all come later.
    far: Heap<K>,
}

impl<K: Copy + Ord> EventList<K> {
    /// Empty, for no items.
    pub(crate) fn new() -> EventList<K> {
        EventList { near: Vec::with_capacity(NEAR), far: Heap::new() }
    }

    /// Makes room for one more item, which is its number.
    pub(crate) fn grow(&mut self) -> u32 {
        self.far.grow()
    }

    /// How many are in it.
    pub(crate) fn len(&self) -> usize {
        self.near.len() + self.far.len()
    }

    /// The first of all.
    #[inline(always)]
    pub(crate) fn first(&self) -> Option<&Entry<K>> {
        self.near.last()
    }

    /// Puts an item in that is not there.
    #[inline(always)]
    pub(crate) fn insert(&mut self, item: u32, key: K) {
        if let Some(latest) = self.near.first()
            && (self.near.len() == NEAR || self.far.len() > 0)
        {
            if key > latest.key {
                self.far.insert(item, key);
                return;
            }
            if self.near.len() == NEAR {
                self.put_off_latest();
            }
        }
        self.insert_near(Entry { key, item });
    }

    #[inline(always)]
    fn insert_near(&mut self, entry: Entry<K>) {
        let mut place = self.near.len();
        self.near.push(entry);
        while place > 0 && self.near[place - 1].key < entry.key {
            self.near[place] = self.near[place - 1];
            place -= 1;
        }
        self.near[place] = entry;
    }

    #[inline(never)]
    fn put_off_latest(&mut self) {
        let latest = self.near.remove(0);
        self.far.insert(latest.item, latest.key);
    }

    /// Takes an item out; false if it is not in.
    #[inline]
    pub(crate) fn remove(&mut self, item: u32) -> bool {
        if let Some(place) = self.near.iter().rposition(|entry| entry.item == item) {
            // By hand: there are few before it, if any.
            for place in place + 1..self.near.len() {
                self.near[place - 1] = self.near[place];
            }
            self.near.pop();
            self.refill();
            return true;
        }
        self.far.remove(item)
    }

    /// Takes the first out.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Entry<K>> {
        let first = self.near.pop();
        self.refill();
        first
    }

    #[inline(always)]
    fn refill(&mut self) {
        if self.near.is_empty() && self.far.len() > 0 {
            self.fetch();
        }
    }

    /// Half of the room is left for what comes.
    #[inline(never)]
    fn fetch(&mut self) {
        while self.near.len() < NEAR / 2
            && let Some(entry) = self.far.pop()
        {
            self.near.push(entry);
        }
        self.near.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Whatever is put in, taken out and moved, the first is the first of all.
        #[test]
        fn comes_out_in_order(steps in prop::collection::vec((0u32..60, 0u32..5, 0u64..1000), 1..400)) {
            let mut event_list = EventList::new();
            (0..60).for_each(|_| { event_list.grow(); });
            let mut plain: BTreeMap<u32, (u64, usize)> = BTreeMap::new();
            for (at, (item, what, key)) in steps.into_iter().enumerate() {
                let known = plain.get(&item).copied();
                if what < 3 && known.is_none() {
                    event_list.insert(item, (key, at));
                    plain.insert(item, (key, at));
                } else if what < 4 {
                    prop_assert_eq!(event_list.remove(item), plain.remove(&item).is_some());
                } else {
                    let first = plain.iter().map(|(&item, &key)| (key, item)).min();
                    let popped = event_list.pop().map(|entry| (entry.key, entry.item));
                    prop_assert_eq!(popped, first);
                    first.map(|(_, item)| plain.remove(&item));
                }
                let first = plain.iter().map(|(&item, &key)| (key, item)).min();
                prop_assert_eq!(event_list.first().map(|entry| (entry.key, entry.item)), first);
                prop_assert_eq!(event_list.len(), plain.len());
            }
        }
    }
}
