//! When each station on its own transmits next, and the first of each crowd; and who is first of all.

use airqueue_core::Time;

/// Children of a node.
const ARITY: usize = 4;
/// No place in the heap.
const NONE: u32 = u32::MAX;

/// The time at which each of many would act, where most have nothing to do and some change their minds
/// often: a heap of those who would act, each of whom knows its place.
#[derive(Clone, Debug)]
pub struct Grants {
    /// When and who; nobody acts before its parent.
    heap: Vec<(Time, u32)>,
    /// Where each is in the heap.
    places: Vec<u32>,
}

impl Grants {
    /// Nobody acts.
    pub fn new(actors: usize) -> Grants {
        Grants { heap: Vec::with_capacity(actors), places: vec![NONE; actors] }
    }

    /// From now on `actor` would act at `at`; [`Time::MAX`]: not at all.
    #[inline]
    pub fn set(&mut self, actor: usize, at: Time) {
        let place = self.places[actor];
        if place == NONE {
            if at < Time::MAX {
                self.heap.push((at, actor as u32));
                self.rise(self.heap.len() - 1, (at, actor as u32));
            }
        } else if self.heap[place as usize].0 != at {
            self.change(place as usize, at);
        }
    }

    fn change(&mut self, place: usize, at: Time) {
        let (before, actor) = self.heap[place];
        let mut entry = (at, actor);
        if at == Time::MAX {
            self.places[actor as usize] = NONE;
            let Some(last) = self.heap.pop().filter(|last| last.1 != actor) else { return };
            entry = last;
        }
        if entry.0 < before {
            self.rise(place, entry);
        } else {
            self.sink(place, entry);
        }
    }

    fn put(&mut self, place: usize, entry: (Time, u32)) {
        self.heap[place] = entry;
        self.places[entry.1 as usize] = place as u32;
    }

    fn rise(&mut self, mut place: usize, entry: (Time, u32)) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.heap[parent].0 <= entry.0 {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    fn sink(&mut self, mut place: usize, entry: (Time, u32)) {
        while let Some(least) = self.least_child(place) {
            if entry.0 <= self.heap[least].0 {
                break;
            }
            self.put(place, self.heap[least]);
            place = least;
        }
        self.put(place, entry);
    }

    fn children(&self, place: usize) -> std::ops::Range<usize> {
        let first = place * ARITY + 1;
        first..(first + ARITY).min(self.heap.len())
    }

    fn least_child(&self, place: usize) -> Option<usize> {
        self.children(place).min_by_key(|&child| self.heap[child].0)
    }

    /// When the first acts.
    #[inline]
    pub fn first(&self) -> Time {
        self.heap.first().map_or(Time::MAX, |entry| entry.0)
    }

    /// Adds those who act at `now`, by rising number. `now` is not after [`Self::first`]; there may be none.
    pub fn due(&self, now: Time, actors: &mut Vec<u32>) {
        let begin = actors.len();
        self.collect(0, now, actors);
        actors[begin..].sort_unstable();
    }

    fn collect(&self, place: usize, now: Time, actors: &mut Vec<u32>) {
        match self.heap.get(place) {
            Some(&(at, actor)) if at <= now => actors.push(actor),
            _ => return,
        }
        for child in self.children(place) {
            self.collect(child, now, actors);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Times only move into the future here, as those of stations do.
        #[test]
        fn all_act_when_they_said_last(
            sets in prop::collection::vec(
                (0usize..700, 1i64..50, any::<bool>(), any::<bool>()),
                1..200,
            ),
        ) {
            let mut grants = Grants::new(700);
            let mut plain = vec![Time::MAX; 700];
            let mut now = 0;
            for (station, ahead, never, acts) in sets {
                let at = if never { Time::MAX } else { Time::from_nanos(now + ahead) };
                grants.set(station, at);
                plain[station] = at;
                let first = plain.iter().copied().min().unwrap();
                prop_assert_eq!(grants.first(), first);
                if acts && first < Time::MAX {
                    now = first.as_nanos();
                    let mut due = Vec::new();
                    grants.due(Time::from_nanos(now), &mut due);
                    let all = (0..700).filter(|&s| plain[s as usize] == Time::from_nanos(now));
                    prop_assert_eq!(&due, &all.collect::<Vec<u32>>());
                    for station in due {
                        grants.set(station as usize, Time::MAX);
                        plain[station as usize] = Time::MAX;
                    }
                }
            }
        }
    }
}
