//! When each station transmits next, and who is first.

use airqueue_core::Time;

/// Stations of one block: the cost of finding the least in a block that has changed.
const BLOCK: usize = 16;

/// The time at which each of many would act, where they change their minds far more often than one of
/// them acts. Setting a time is a store; the least is found by looking again at those blocks in which
/// something has changed.
#[derive(Clone, Debug)]
pub struct Grants {
    times: Vec<Time>,
    least: Vec<Time>,
    stale: Vec<bool>,
    /// Stale blocks, each once.
    queue: Vec<u32>,
}

impl Grants {
    /// Nobody acts.
    pub fn new(stations: usize) -> Grants {
        let blocks = stations.div_ceil(BLOCK);
        Grants {
            times: vec![Time::MAX; stations],
            least: vec![Time::MAX; blocks],
            stale: vec![false; blocks],
            queue: Vec::with_capacity(blocks),
        }
    }

    /// From now on `station` would act at `at`; [`Time::MAX`]: not at all.
    #[inline]
    pub fn set(&mut self, station: usize, at: Time) {
        if self.times[station] == at {
            return;
        }
        self.times[station] = at;
        let block = station / BLOCK;
        if !self.stale[block] {
            self.stale[block] = true;
            self.queue.push(block as u32);
        }
    }

    /// When the first acts.
    #[inline]
    pub fn first(&mut self) -> Time {
        while let Some(block) = self.queue.pop() {
            let block = block as usize;
            self.stale[block] = false;
            let end = self.times.len().min((block + 1) * BLOCK);
            let times = &self.times[block * BLOCK..end];
            self.least[block] = times.iter().fold(Time::MAX, |least, &at| least.min(at));
        }
        self.least.iter().fold(Time::MAX, |least, &at| least.min(at))
    }

    /// A station that acts at `now`, the one with the lowest number; `now` is [`Self::first`].
    pub fn due(&mut self, now: Time) -> Option<usize> {
        if self.first() != now {
            return None;
        }
        let block = self.least.iter().position(|&at| at == now)?;
        let times = &self.times[block * BLOCK..];
        times.iter().position(|&at| at == now).map(|place| block * BLOCK + place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_least(sets in prop::collection::vec((0usize..70, 0i64..50), 1..200)) {
            let mut grants = Grants::new(70);
            let mut plain = vec![Time::MAX; 70];
            for (station, at) in sets {
                let at = if at == 0 { Time::MAX } else { Time::from_nanos(at) };
                grants.set(station, at);
                plain[station] = at;
                let least = plain.iter().copied().min().unwrap();
                prop_assert_eq!(grants.first(), least);
                let due = plain.iter().position(|&at| at == least);
                prop_assert_eq!(grants.due(least), due);
            }
        }
    }
}
