//! The next transmission time of each station on its own and of each group, and the earliest of all.

use airqueue_core::Time;

/// Children of a node.
const FANOUT: usize = 16;
/// The first of so many children is found without a branch.
const FOUR: usize = 4;

/// The times at which many actors would act. Most actors have nothing to do, and some change their time often.
///
/// A tournament among groups of sixteen. Most changes involve an actor that neither was nor becomes the first of its
/// group, and cost one store. The new first of a group is searched for only when it is needed.
#[derive(Clone, Debug)]
pub struct Grants {
    /// The root, then its children, then theirs, down to the actors' own times. A node holds the earliest time of its
    /// children, or an earlier time while the node is in `left`.
    tree: Vec<Time>,
    /// Where the actors' own times begin.
    leaves: usize,
    /// How many children of a node are looked at, in fours: fewer than all where there are few actors.
    width: usize,
    /// Nodes whose first child has become later.
    left: Vec<u32>,
}

impl Grants {
    /// Without any actor about to act.
    pub fn new(actors: usize) -> Grants {
        let (mut leaves, mut room) = (1, FANOUT);
        while room < actors {
            (leaves, room) = (leaves * FANOUT + 1, room * FANOUT);
        }
        let tree = vec![Time::MAX; leaves + actors.next_multiple_of(FANOUT)];
        let width = actors.next_multiple_of(FOUR).clamp(FOUR, FANOUT);
        Grants { tree, leaves, width, left: Vec::with_capacity(actors) }
    }

    /// From now on `actor` acts at `at`; [`Time::MAX`]: never.
    #[inline(always)]
    pub fn set(&mut self, actor: usize, at: Time) {
        let place = self.leaves + actor;
        let was = std::mem::replace(&mut self.tree[place], at);
        let group = (place - 1) / FANOUT;
        let known = self.tree[group];
        if at < known {
            self.come_first(group, at);
        } else if was == known && at > was {
            self.left.push(group as u32);
        }
    }

    /// Sets a node to an earlier time, and the nodes above it that hold a later time.
    #[inline]
    fn come_first(&mut self, mut node: usize, at: Time) {
        loop {
            self.tree[node] = at;
            if node == 0 {
                return;
            }
            node = (node - 1) / FANOUT;
            if self.tree[node] <= at {
                return;
            }
        }
    }

    /// The earliest time.
    #[inline]
    pub fn first(&mut self) -> Time {
        if !self.left.is_empty() {
            self.look_for_first();
        }
        self.tree[0]
    }

    fn look_for_first(&mut self) {
        if self.leaves == 1 {
            // All that have left had one node, the root.
            self.left.clear();
            self.tree[0] = self.first_below(0);
        }
        while let Some(node) = self.left.pop() {
            self.look_again(node as usize);
        }
    }

    /// Searches the first child of a node again, and of the nodes above whose first the node was.
    fn look_again(&mut self, mut node: usize) {
        loop {
            let first = self.first_below(node);
            let was = std::mem::replace(&mut self.tree[node], first);
            if node == 0 || first == was {
                return;
            }
            node = (node - 1) / FANOUT;
            if self.tree[node] != was {
                return;
            }
        }
    }

    #[inline(always)]
    fn children(&self, node: usize) -> &[Time] {
        &self.tree[node * FANOUT + 1..][..self.width]
    }

    #[inline]
    fn first_below(&self, node: usize) -> Time {
        let (fours, _) = self.children(node).as_chunks::<FOUR>();
        // In pairs: these comparisons are independent of each other.
        let firsts = fours.iter().map(|&[a, b, c, d]| a.min(b).min(c.min(d)));
        firsts.fold(Time::MAX, Time::min)
    }

    /// Adds the actors that act at `now`, by rising number; there may be none. `now` is not after [`Self::first`],
    /// which must have been called since the last change.
    pub fn due(&self, now: Time, actors: &mut Vec<u32>) {
        if self.tree[0] <= now {
            self.due_below(0, now, actors);
        }
    }

    fn due_below(&self, node: usize, now: Time, actors: &mut Vec<u32>) {
        let begin = node * FANOUT + 1;
        // As a mask: one or two of many match, and a branch could not be predicted.
        let (fours, _) = self.children(node).as_chunks::<FOUR>();
        let are_due = |four: &[Time; FOUR]| {
            let is_due = |child: usize| u32::from(four[child] <= now) << child;
            is_due(0) | is_due(1) | is_due(2) | is_due(3)
        };
        // The last four come first.
        let mut due = fours.iter().rev().fold(0, |due, four| due << FOUR | are_due(four));
        while due != 0 {
            let place = begin + due.trailing_zeros() as usize;
            match place.checked_sub(self.leaves) {
                Some(actor) => actors.push(actor as u32),
                None => self.due_below(place, now, actors),
            }
            due &= due - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Times only move into the future here, as the times of stations do.
        #[test]
        fn all_act_when_they_said_last(
            actors in prop::sample::select(vec![1usize, 3, 5, 16, 17, 700]),
            sets in prop::collection::vec(
                (0usize..700, 1i64..50, any::<bool>(), any::<bool>()),
                1..200,
            ),
        ) {
            let mut grants = Grants::new(actors);
            let mut plain = vec![Time::MAX; actors];
            let mut now = 0;
            for (station, ahead, never, acts) in sets {
                let station = station % actors;
                let at = if never { Time::MAX } else { Time::from_nanos(now + ahead) };
                grants.set(station, at);
                plain[station] = at;
                let first = plain.iter().copied().min().unwrap();
                prop_assert_eq!(grants.first(), first);
                if acts && first < Time::MAX {
                    now = first.as_nanos();
                    let mut due = Vec::new();
                    grants.due(Time::from_nanos(now), &mut due);
                    let acts_now = |s: &u32| plain[*s as usize] == Time::from_nanos(now);
                    let all = (0..actors as u32).filter(acts_now);
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
