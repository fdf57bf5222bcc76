//! When each station transmits next, and who is first.

use airqueue_core::Time;

/// Stations of one block: the cost of finding the least in a block that has changed.
const BLOCK: usize = 16;

/// The time at which each of many would act, where they change their minds far more often than one of
/// them acts. Setting a time is two stores. What is known of the first of a block is a lower bound, which
/// becomes exact when it is reached.
#[derive(Clone, Debug)]
pub struct Grants {
    times: Vec<Time>,
    /// No station of the block acts before this.
    bounds: Vec<Time>,
    /// No station at all does.
    bound: Time,
}

impl Grants {
    /// Nobody acts.
    pub fn new(stations: usize) -> Grants {
        Grants {
            times: vec![Time::MAX; stations],
            bounds: vec![Time::MAX; stations.div_ceil(BLOCK)],
            bound: Time::MAX,
        }
    }

    /// From now on `station` would act at `at`; [`Time::MAX`]: not at all.
    #[inline]
    pub fn set(&mut self, station: usize, at: Time) {
        self.times[station] = at;
        let bound = &mut self.bounds[station / BLOCK];
        *bound = at.min(*bound);
        self.bound = at.min(self.bound);
    }

    /// Nobody acts before this. To be asked again then.
    #[inline]
    pub fn bound(&self) -> Time {
        self.bound
    }

    /// When the first acts.
    pub fn first(&mut self) -> Time {
        let mut first = Time::MAX;
        for (bound, times) in self.bounds.iter_mut().zip(self.times.chunks(BLOCK)) {
            if *bound < first {
                *bound = times.iter().fold(Time::MAX, |least, &at| least.min(at));
                first = first.min(*bound);
            }
        }
        self.bound = first;
        first
    }

    /// Adds the stations that act at `now`, by rising number; there may be none. `now` is
    /// [`Self::bound`], which it raises.
    pub fn due(&mut self, now: Time, stations: &mut Vec<u32>) {
        self.bound = Time::MAX;
        for (block, times) in self.times.chunks(BLOCK).enumerate() {
            if self.bounds[block] <= now {
                let mut first = Time::MAX;
                for (place, &at) in times.iter().enumerate() {
                    if at == now {
                        stations.push((block * BLOCK + place) as u32);
                    }
                    first = first.min(at);
                }
                self.bounds[block] = first;
            }
            self.bound = self.bound.min(self.bounds[block]);
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
                (0usize..70, 1i64..50, any::<bool>(), any::<bool>()),
                1..200,
            ),
        ) {
            let mut grants = Grants::new(70);
            let mut plain = vec![Time::MAX; 70];
            let mut now = 0;
            for (station, ahead, never, looks) in sets {
                let at = if never { Time::MAX } else { Time::from_nanos(now + ahead) };
                grants.set(station, at);
                plain[station] = at;
                let first = plain.iter().copied().min().unwrap();
                prop_assert!(grants.bound() <= first);
                if looks {
                    prop_assert_eq!(grants.first(), first);
                    prop_assert_eq!(grants.bound(), first);
                }
                if grants.bound() < Time::MAX {
                    now = grants.bound().as_nanos();
                    let mut due = Vec::new();
                    grants.due(Time::from_nanos(now), &mut due);
                    let all = (0..70).filter(|&s| plain[s as usize] == Time::from_nanos(now));
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
