//! A priority queue of items by key, least key first: the next few items sorted, all others in a heap.
//!
//! Most items are due soon after they are inserted. Such an item finds its place among the next few after a few
//! comparisons, and removing it costs nothing; a heap would move other items for both. The list allocates nothing once
//! it has room for the largest number of simultaneous items.

use crate::heap::{Entry, Heap};

/// Number of items kept sorted.
const NEAR: usize = 16;

/// Items, which are small numbers, each with a key. Items with equal keys come in any order.
#[derive(Clone, Debug)]
pub(crate) struct EventList<K> {
    /// The next items, the first of them at the end; empty only if the heap is empty too.
    near: Vec<Entry<K>>,
    /// All later items.
    far: Heap<K>,
}

impl<K: Copy + Ord> EventList<K> {
    /// An empty list, with room for no items.
    pub(crate) fn new() -> EventList<K> {
        EventList { near: Vec::with_capacity(NEAR), far: Heap::new() }
    }

    /// Makes room for one more item, and returns the item's number.
    pub(crate) fn grow(&mut self) -> u32 {
        self.far.grow()
    }

    /// Number of items in the list.
    pub(crate) fn len(&self) -> usize {
        self.near.len() + self.far.len()
    }

    /// The first item.
    #[inline(always)]
    pub(crate) fn first(&self) -> Option<&Entry<K>> {
        self.near.last()
    }

    /// Inserts an item that is not in the list.
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
        self.near.push(entry);
        let mut rest = &mut self.near[..];
        while let [.., before, last] = rest
            && before.key < entry.key
        {
            *last = *before;
            let place = rest.len() - 1;
            rest = &mut rest[..place];
        }
        if let [.., last] = rest {
            *last = entry;
        }
    }

    #[inline(never)]
    fn put_off_latest(&mut self) {
        let latest = self.near.remove(0);
        self.far.insert(latest.item, latest.key);
    }

    /// Removes an item; false if the item is not in the list.
    #[inline]
    pub(crate) fn remove(&mut self, item: u32) -> bool {
        if let Some(place) = self.near.iter().rposition(|entry| entry.item == item) {
            // A loop by hand: few items, if any, precede this item.
            for place in place + 1..self.near.len() {
                self.near[place - 1] = self.near[place];
            }
            self.near.pop();
            self.refill();
            return true;
        }
        self.far.remove(item)
    }

    /// Removes the first item.
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

    /// Half of the room stays free for new items.
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
        /// After any insertions, removals and moves, the list returns the item with the least key.
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
