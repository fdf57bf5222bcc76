//! A four-ary heap of items by key, least key first, in which each item knows its place.
//!
//! Removing an item is one sift and leaves no tombstone. The heap allocates nothing once its room has reached the
//! largest number of simultaneous items.

/// Children of a node: all four entries lie in two cache lines.
const ARITY: usize = 4;
/// Marks an item that is not in the heap.
const NONE: u32 = u32::MAX;

/// Items, which are small numbers, each with a key. Items with equal keys come in any order.
#[derive(Clone, Debug)]
pub(crate) struct Heap<K> {
    /// A parent's key is never greater than a child's.
    entries: Vec<Entry<K>>,
    /// The place of each item in the heap.
    places: Vec<u32>,
}

/// An item in a heap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<K> {
    pub(crate) key: K,
    pub(crate) item: u32,
}

impl<K: Copy + Ord> Heap<K> {
    /// An empty heap, with room for no items.
    pub(crate) fn new() -> Heap<K> {
        Heap { entries: Vec::new(), places: Vec::new() }
    }

    /// Makes room for one more item, and returns the item's number.
    pub(crate) fn grow(&mut self) -> u32 {
        self.places.push(NONE);
        self.places.len() as u32 - 1
    }

    /// Number of items in the heap.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Inserts an item that is not in the heap.
    #[inline]
    pub(crate) fn insert(&mut self, item: u32, key: K) {
        debug_assert_eq!(self.places[item as usize], NONE, "it is there already");
        let entry = Entry { key, item };
        self.entries.push(entry);
        self.rise(self.entries.len() - 1, entry);
    }

    /// Removes an item; false if the item is not in the heap.
    #[inline]
    pub(crate) fn remove(&mut self, item: u32) -> bool {
        let place = self.places[item as usize];
        place != NONE && self.remove_at(place as usize, item)
    }

    fn remove_at(&mut self, place: usize, item: u32) -> bool {
        self.places[item as usize] = NONE;
        let Some(&Entry { key, .. }) = self.entries.get(place) else { return false };
        if let Some(last) = self.entries.pop().filter(|last| last.item != item) {
            if last.key < key {
                self.rise(place, last);
            } else {
                self.sink(place, last);
            }
        }
        true
    }

    /// Removes the first item.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Entry<K>> {
        let first = *self.entries.first()?;
        self.places[first.item as usize] = NONE;
        if let Some(last) = self.entries.pop().filter(|last| last.item != first.item) {
            self.sink(0, last);
        }
        Some(first)
    }

    #[inline]
    fn put(&mut self, place: usize, entry: Entry<K>) {
        self.entries[place] = entry;
        self.places[entry.item as usize] = place as u32;
    }

    #[inline(always)]
    fn rise(&mut self, mut place: usize, entry: Entry<K>) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.entries[parent].key <= entry.key {
                break;
            }
            self.put(place, self.entries[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    fn sink(&mut self, mut place: usize, entry: Entry<K>) {
        while let Some(least) = self.least_child(place)
            && self.entries[least].key < entry.key
        {
            self.put(place, self.entries[least]);
            place = least;
        }
        self.put(place, entry);
    }

    #[inline]
    fn least_child(&self, place: usize) -> Option<usize> {
        let first = place * ARITY + 1;
        let children = self.entries.get(first..)?;
        let least = match children {
            // Two pairs and their winners: this avoids a branch that cannot be predicted.
            [a, b, c, d, ..] => {
                let one = usize::from(b.key < a.key);
                let other = 2 + usize::from(d.key < c.key);
                if children[other].key < children[one].key { other } else { one }
            }
            few => (0..few.len()).min_by_key(|&child| few[child].key)?,
        };
        Some(first + least)
    }
}
