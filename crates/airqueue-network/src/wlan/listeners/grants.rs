//! The next transmission time of each station on its own and of each group, and the earliest of all.

use airqueue_core::Time;
use std::ops::BitOr;

/// Children of a node. The first of so many is found without a branch.
const FANOUT: usize = 16;

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
        Grants { tree, leaves, left: Vec::with_capacity(actors) }
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
        while let Some(node) = self.left.pop() {
            self.look_again(node as usize);
        }
        self.tree[0]
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

    #[inline]
    fn first_below(&self, node: usize) -> Time {
        let children = self.tree[node * FANOUT + 1..].first_chunk::<FANOUT>();
        let children = children.expect("all children of a node");
        // In pairs: the comparisons of a round are independent of each other.
        let eight: [Time; 8] = std::array::from_fn(|at| children[at].min(children[at + 8]));
        let four: [Time; 4] = std::array::from_fn(|at| eight[at].min(eight[at + 4]));
        four[0].min(four[2]).min(four[1].min(four[3]))
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
        let is_due = |(child, &at): (usize, &Time)| u32::from(at <= now) << child;
        // As a mask: one or two of many match, and a branch could not be predicted.
        let children = self.tree[begin..][..FANOUT].iter().enumerate();
        let mut due = children.map(is_due).fold(0, u32::bitor);
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
