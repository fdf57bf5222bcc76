//! Chains of queues of equal length, which give a longest queue in constant time: the `dep` chains of Linux's
//! `sch_sfq`.

/// No queue.
const NONE: u32 = u32::MAX;

/// The chains. The head of a chain is the queue that reached the length last.
#[derive(Clone, Debug)]
pub(crate) struct Depths {
    first: Vec<u32>,
    queues: Vec<Link>,
    longest: usize,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    depth: u32,
    next: u32,
    before: u32,
}

impl Depths {
    /// `queues` empty queues, each of which holds at most `depth` packets.
    pub(crate) fn new(queues: usize, depth: usize) -> Depths {
        let unlinked = Link { depth: 0, next: NONE, before: NONE };
        let mut depths =
            Depths { first: vec![NONE; depth + 1], queues: vec![unlinked; queues], longest: 0 };
        (0..queues as u32).for_each(|queue| depths.link(queue));
        depths
    }

    /// The queue that reached this length last.
    pub(crate) fn first_of(&self, depth: usize) -> Option<u32> {
        let queue = self.first[depth];
        (queue != NONE).then_some(queue)
    }

    /// The length of the longest queue, and the queue.
    pub(crate) fn longest(&self) -> (usize, u32) {
        (self.longest, self.first[self.longest])
    }

    /// A queue has one packet more.
    pub(crate) fn deepen(&mut self, queue: u32) {
        self.unlink(queue);
        let depth = &mut self.queues[queue as usize].depth;
        *depth += 1;
        self.longest = self.longest.max(*depth as usize);
        self.link(queue);
    }

    /// A queue has one packet less.
    pub(crate) fn shorten(&mut self, queue: u32) {
        self.unlink(queue);
        let depth = &mut self.queues[queue as usize].depth;
        let before = *depth as usize;
        *depth -= 1;
        if self.longest == before && self.first[before] == NONE {
            self.longest -= 1;
        }
        self.link(queue);
    }

    fn link(&mut self, queue: u32) {
        let depth = self.queues[queue as usize].depth;
        let next = std::mem::replace(&mut self.first[depth as usize], queue);
        self.queues[queue as usize] = Link { depth, next, before: NONE };
        if next != NONE {
            self.queues[next as usize].before = queue;
        }
    }

    fn unlink(&mut self, queue: u32) {
        let Link { depth, next, before } = self.queues[queue as usize];
        if before == NONE {
            self.first[depth as usize] = next;
        } else {
            self.queues[before as usize].next = next;
        }
        if next != NONE {
            self.queues[next as usize].before = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a list of lengths, and of when each queue reached its length.
        #[test]
        fn the_longest_is_the_one_that_became_so_last(steps in prop::collection::vec((0u32..5, any::<bool>()), 0..200)) {
            let mut depths = Depths::new(5, 200);
            let mut truth = [(0usize, 0usize); 5];
            for (at, (queue, more)) in steps.into_iter().enumerate() {
                let (depth, since) = &mut truth[queue as usize];
                if more {
                    depths.deepen(queue);
                    (*depth, *since) = (*depth + 1, at + 1);
                } else if *depth > 0 {
                    depths.shorten(queue);
                    (*depth, *since) = (*depth - 1, at + 1);
                }
                let longest = (0..5).max_by_key(|&queue| truth[queue]).unwrap();
                if truth[longest].0 > 0 {
                    prop_assert_eq!(depths.longest(), (truth[longest].0, longest as u32));
                } else {
                    prop_assert_eq!(depths.longest().0, 0);
                }
                let free = truth.iter().any(|&(depth, _)| depth == 0);
                prop_assert_eq!(depths.first_of(0).is_some(), free);
            }
        }
    }
}
