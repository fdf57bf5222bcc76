//! The queues of a tin that have packets or a history, in the order of their turns.

/// A link to itself: in no chain.
#[derive(Clone, Copy, Debug)]
struct Link {
    next: u16,
    before: u16,
}

/// Which turn a queue waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chain {
    /// Queues that were empty before.
    New,
    /// Queues that have used up their turn.
    Old,
    /// Empty queues whose AQM has a history.
    Decaying,
}

/// Three chains among all queues of a tin; each queue is in at most one chain.
#[derive(Clone, Debug)]
pub(super) struct Chains {
    queues: u16,
    links: Vec<Link>,
}

impl Chains {
    pub(super) fn new(queues: u16) -> Chains {
        let links = (0..queues + 3).map(|own| Link { next: own, before: own }).collect();
        Chains { queues, links }
    }

    fn head(&self, chain: Chain) -> u16 {
        self.queues + chain as u16
    }

    /// The queue whose turn it is.
    pub(super) fn first(&self, chain: Chain) -> Option<usize> {
        let head = self.head(chain);
        let first = self.links[usize::from(head)].next;
        (first != head).then_some(usize::from(first))
    }

    /// Takes a queue out of its chain, if any.
    pub(super) fn remove(&mut self, queue: usize) {
        let Link { next, before } = self.links[queue];
        self.links[usize::from(before)].next = next;
        self.links[usize::from(next)].before = before;
        self.links[queue] = Link { next: queue as u16, before: queue as u16 };
    }

    /// Puts a queue at the end of a chain, and takes it out of any other chain.
    pub(super) fn move_to(&mut self, queue: usize, chain: Chain) {
        self.remove(queue);
        let head = self.head(chain);
        let last = std::mem::replace(&mut self.links[usize::from(head)].before, queue as u16);
        self.links[usize::from(last)].next = queue as u16;
        self.links[queue] = Link { next: head, before: last };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const ALL: [Chain; 3] = [Chain::New, Chain::Old, Chain::Decaying];

    proptest! {
        #[test]
        fn each_chain_is_a_queue(steps in prop::collection::vec((0usize..6, 0usize..4), 0..200)) {
            let mut chains = Chains::new(6);
            let mut truth = [const { VecDeque::new() }; 3];
            for (queue, to) in steps {
                truth.iter_mut().for_each(|chain| chain.retain(|&other| other != queue));
                match ALL.get(to) {
                    Some(&chain) => {
                        chains.move_to(queue, chain);
                        truth[to].push_back(queue);
                    }
                    None => chains.remove(queue),
                }
                for (at, &chain) in ALL.iter().enumerate() {
                    prop_assert_eq!(chains.first(chain), truth[at].front().copied());
                }
            }
        }
    }
}
