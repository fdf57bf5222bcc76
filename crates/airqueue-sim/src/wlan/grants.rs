//! When each station on its own transmits next, and the first of each crowd; and who is first of all.

use crate::heap::Heap;
use airqueue_core::Time;

/// The time at which each of many would act, where most have nothing to do and some change their minds
/// often.
#[derive(Clone, Debug)]
pub struct Grants {
    acting: Heap<Time>,
}

impl Grants {
    /// Nobody acts.
    pub fn new(actors: usize) -> Grants {
        Grants { acting: Heap::new(actors) }
    }

    /// From now on `actor` would act at `at`; [`Time::MAX`]: not at all.
    #[inline]
    pub fn set(&mut self, actor: usize, at: Time) {
        let actor = actor as u32;
        if at == Time::MAX {
            self.acting.remove(actor);
        } else {
            self.acting.set(actor, at);
        }
    }

    /// When the first acts.
    #[inline]
    pub fn first(&self) -> Time {
        self.acting.first().map_or(Time::MAX, |entry| entry.key)
    }

    /// Adds those who act at `now`, by rising number. `now` is not after [`Self::first`]; there may be none.
    pub fn due(&self, now: Time, actors: &mut Vec<u32>) {
        let begin = actors.len();
        self.acting.up_to(now, &mut |actor| actors.push(actor));
        actors[begin..].sort_unstable();
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
