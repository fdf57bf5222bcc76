//! When each station transmits next, and who is first.

use airqueue_core::Time;

/// Children of a node.
const FAN: usize = 16;

/// The time at which each of many would act, where they change their minds far more often than one of
/// them acts: a tree of lower bounds. Setting a time is one store on each level; a bound becomes exact when
/// it stands in the way.
#[derive(Clone, Debug)]
pub struct Grants {
    /// The times of the stations, then for each level one bound for every [`FAN`] of the level below, up to
    /// a single one.
    levels: Vec<Vec<Time>>,
}

impl Grants {
    /// Nobody acts.
    pub fn new(stations: usize) -> Grants {
        let mut levels = vec![vec![Time::MAX; stations.max(1)]];
        let mut width = stations;
        while width > 1 {
            width = width.div_ceil(FAN);
            levels.push(vec![Time::MAX; width]);
        }
        Grants { levels }
    }

    /// From now on `station` would act at `at`; [`Time::MAX`]: not at all.
    #[inline]
    pub fn set(&mut self, station: usize, at: Time) {
        self.levels[0][station] = at;
        let mut place = station;
        for level in &mut self.levels[1..] {
            place /= FAN;
            if level[place] <= at {
                return;
            }
            level[place] = at;
        }
    }

    /// Nobody acts before this. To be asked again then.
    #[inline]
    pub fn bound(&self) -> Time {
        self.levels[self.levels.len() - 1][0]
    }

    /// When the first acts.
    pub fn first(&mut self) -> Time {
        Self::least(&mut self.levels, 0)
    }

    /// The exact least below a node of the last of `levels`, which that node then knows.
    fn least(levels: &mut [Vec<Time>], node: usize) -> Time {
        let (top, below) = levels.split_last_mut().expect("a level");
        let least = match below {
            [] => return top[node],
            [times] => {
                let times = &times[children(node, times.len())];
                let nanos = times.iter().map(|at| at.as_nanos());
                Time::from_nanos(nanos.fold(i64::MAX, i64::min))
            }
            [.., bounds] => {
                let mut least = Time::MAX;
                for child in children(node, bounds.len()) {
                    if below[below.len() - 1][child] < least {
                        least = least.min(Self::least(below, child));
                    }
                }
                least
            }
        };
        top[node] = least;
        least
    }

    /// Adds the stations that act at `now`, by rising number; there may be none. `now` is not after
    /// [`Self::first`].
    pub fn due(&mut self, now: Time, stations: &mut Vec<u32>) {
        Self::collect(&mut self.levels, 0, now, stations);
    }

    fn collect(levels: &mut [Vec<Time>], node: usize, now: Time, stations: &mut Vec<u32>) {
        let (top, below) = levels.split_last_mut().expect("a level");
        if top[node] > now {
            return;
        }
        match below {
            [] => stations.push(node as u32),
            [times] => {
                let children = children(node, times.len());
                stations.extend(children.filter(|&child| times[child] <= now).map(|c| c as u32));
            }
            [.., bounds] => {
                for child in children(node, bounds.len()) {
                    Self::collect(below, child, now, stations);
                }
            }
        }
    }
}

/// The children of a node among the `width` nodes of the level below.
fn children(node: usize, width: usize) -> std::ops::Range<usize> {
    node * FAN..((node + 1) * FAN).min(width)
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
