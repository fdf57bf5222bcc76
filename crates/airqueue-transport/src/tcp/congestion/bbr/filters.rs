//! Windowed maximum filter.

/// The largest value in a window of rounds, by three candidates: the best of the whole window, the best after the
/// first candidate, and the best after the second (K. Nichols' filter, Linux's `win_minmax.c`). The result is exact if
/// values arrive at least each quarter of the window; otherwise the best is forgotten when the window has passed.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowedMax {
    window: u64,
    /// The candidates (round, value), from the best to the most recent.
    best: [(u64, u64); 3],
}

impl WindowedMax {
    pub(super) fn new(window: u64) -> WindowedMax {
        WindowedMax { window, best: [(0, 0); 3] }
    }

    pub(super) fn largest(&self) -> u64 {
        self.best[0].1
    }

    /// Adds `value` in `round`, which is not before the previous round.
    pub(super) fn update(&mut self, round: u64, value: u64) {
        let new = (round, value);
        if value >= self.best[0].1 || round - self.best[2].0 > self.window {
            self.best = [new; 3];
            return;
        }
        if value >= self.best[1].1 {
            (self.best[1], self.best[2]) = (new, new);
        } else if value >= self.best[2].1 {
            self.best[2] = new;
        }
        self.age(new);
    }

    /// Candidates move up when the best candidate is too old. A candidate of the same round as the better one is
    /// replaced by the latest value, the second candidate after a quarter and the third after half of the window.
    fn age(&mut self, new: (u64, u64)) {
        let [first, second, third] = self.best;
        let old = new.0 - first.0;
        if old > self.window {
            self.best = [second, third, new];
            if new.0 - second.0 > self.window {
                self.best = [third, new, new];
            }
        } else if second.0 == first.0 && old > self.window / 4 {
            (self.best[1], self.best[2]) = (new, new);
        } else if third.0 == second.0 && old > self.window / 2 {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 100 in round 0 and smaller values after: 100 holds for the window of ten rounds, and the best later value, 90
    /// in round 3, takes its place in round 11.
    #[test]
    fn the_best_of_the_rest_follows() {
        let mut max = WindowedMax::new(10);
        max.update(0, 100);
        for (round, value) in [(1, 50), (2, 60), (3, 90), (5, 70), (7, 80), (10, 40)] {
            max.update(round, value);
            assert_eq!(max.largest(), 100, "round {round}");
        }
        max.update(11, 30);
        assert_eq!(max.largest(), 90);
        // 13 rounds later the second best, 80 in round 7; then only the latest is left.
        max.update(14, 20);
        assert_eq!(max.largest(), 80);
        max.update(40, 10);
        assert_eq!(max.largest(), 10);
    }

    proptest! {
        /// Compared with a list of all values: never more than the largest value of the window, never less than the
        /// largest of its last quarter, and never less than the latest.
        #[test]
        fn it_is_the_largest_of_about_a_window(
            window in 4u64..20,
            steps in prop::collection::vec((0u64..3, 0u64..50), 1..100),
        ) {
            let mut max = WindowedMax::new(window);
            let (mut round, mut seen) = (0, vec![(0, 0)]);
            for (step, value) in steps {
                round += step;
                seen.push((round, value));
                max.update(round, value);
                let since = |rounds: u64| {
                    seen.iter().filter(|(at, _)| at + rounds >= round).map(|&(_, v)| v).max().unwrap()
                };
                prop_assert!(max.largest() <= since(window));
                prop_assert!(max.largest() >= since(window / 4) && max.largest() >= value);
            }
        }
    }
}
