//! Sets of octets as sorted ranges: the octets that a receiver holds out of order, and the octets that a sender knows
//! to have arrived beyond the cumulative acknowledgement.

pub use airqueue_core::OctetRange as Range;

/// Disjoint, non-adjacent ranges in ascending order, each with the number of the insertion that last changed the
/// range. The memory is kept: a set allocates only when it grows beyond its largest size so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    list: Vec<(Range, u64)>,
    insertions: u64,
}

impl Ranges {
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Adds the octets of `new`; returns how many of them were not in the set before.
    pub(super) fn insert(&mut self, new: Range) -> u64 {
        if new.start >= new.end {
            return 0;
        }
        self.insertions += 1;
        let first = self.list.partition_point(|(r, _)| r.end < new.start);
        let after = first + self.list[first..].partition_point(|(r, _)| r.start <= new.end);
        let mut merged = new;
        let mut present = 0;
        for (old, _) in &self.list[first..after] {
            let shared = Range { start: old.start.max(new.start), end: old.end.min(new.end) };
            present += shared.bytes();
            merged.start = merged.start.min(old.start);
            merged.end = merged.end.max(old.end);
        }
        let entry = (merged, self.insertions);
        if first == after {
            self.list.insert(first, entry);
        } else {
            self.list[first] = entry;
            self.list.drain(first + 1..after);
        }
        new.bytes() - present
    }

    /// Removes the octets below `edge`.
    pub(super) fn remove_below(&mut self, edge: u64) {
        let gone = self.list.partition_point(|(r, _)| r.end <= edge);
        self.list.drain(..gone);
        if let Some((first, _)) = self.list.first_mut() {
            first.start = first.start.max(edge);
        }
    }

    /// Removes the range that contains `edge` and returns its end, or `edge` if no range contains `edge`. The set has
    /// no octets below `edge`.
    pub(super) fn take_from(&mut self, edge: u64) -> u64 {
        match self.list.first() {
            Some(&(first, _)) if first.start <= edge => {
                self.list.remove(0);
                first.end.max(edge)
            }
            _ => edge,
        }
    }

    /// How many octets the set has.
    pub(super) fn octets(&self) -> u64 {
        self.list.iter().map(|(range, _)| range.bytes()).sum()
    }

    /// Ranges from the highest to the lowest.
    pub(super) fn descending(&self) -> impl Iterator<Item = Range> {
        self.list.iter().rev().map(|&(range, _)| range)
    }

    /// The octet after the highest octet; `None` if the set is empty.
    pub(super) fn highest(&self) -> Option<u64> {
        self.list.last().map(|(r, _)| r.end)
    }

    /// Number of octets from `from` to `to` - 1 that are not in the set.
    pub(super) fn missing(&self, from: u64, to: u64) -> u64 {
        if from >= to {
            return 0;
        }
        let first = self.list.partition_point(|(r, _)| r.end <= from);
        let here = self.list[first..].iter().take_while(|(r, _)| r.start < to);
        let present: u64 = here.map(|(r, _)| r.end.min(to) - r.start.max(from)).sum();
        to - from - present
    }

    /// The first run of octets from `from` to `to` - 1 that are not in the set.
    pub(super) fn first_gap(&self, from: u64, to: u64) -> Option<Range> {
        let next = self.list.partition_point(|(r, _)| r.end <= from);
        let (start, end) = match self.list.get(next) {
            Some((r, _)) if r.start <= from => {
                (r.end, self.list.get(next + 1).map_or(to, |(r, _)| r.start))
            }
            Some((r, _)) => (from, r.start),
            None => (from, to),
        };
        (start < to).then_some(Range { start, end: end.min(to) })
    }

    /// Up to `N` ranges, the most recently changed first.
    pub(super) fn latest<const N: usize>(&self) -> ([Range; N], usize) {
        let mut found = [(Range::default(), 0); N];
        let mut len = 0;
        for &(range, stamp) in &self.list {
            let at = found[..len].partition_point(|&(_, s)| s > stamp);
            if at < N {
                len = (len + 1).min(N);
                found.copy_within(at..len - 1, at + 1);
                found[at] = (range, stamp);
            }
        }
        (found.map(|(range, _)| range), len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn gap_of(set: &BTreeSet<u64>, from: u64, to: u64) -> Option<Range> {
        let start = (from..to).find(|o| !set.contains(o))?;
        let end = (start..to).find(|o| set.contains(o)).unwrap_or(to);
        Some(Range { start, end })
    }

    proptest! {
        /// Against a set of single octets.
        #[test]
        fn ranges_are_a_set(
            steps in prop::collection::vec((0u64..60, 0u64..12, 0u64..4), 1..60),
            from in 0u64..70,
            to in 0u64..70,
        ) {
            let mut ranges = Ranges::default();
            let mut set = BTreeSet::new();
            let mut edge = 0;
            for (start, len, cut) in steps {
                let new = Range { start: start.max(edge), end: (start + len).max(edge) };
                let before = set.len();
                set.extend(new.start..new.end);
                prop_assert_eq!(ranges.insert(new), (set.len() - before) as u64);
                if cut == 0 {
                    edge += 3;
                    ranges.remove_below(edge);
                    set.retain(|&o| o >= edge);
                }
            }
            prop_assert_eq!(ranges.is_empty(), set.is_empty());
            prop_assert_eq!(ranges.highest(), set.last().map(|o| o + 1));
            let missing = (from..to).filter(|o| !set.contains(o)).count() as u64;
            prop_assert_eq!(ranges.missing(from, to), missing);
            prop_assert_eq!(ranges.first_gap(from, to), gap_of(&set, from, to));
            let octets: u64 = ranges.descending().map(Range::bytes).sum();
            prop_assert_eq!(octets, set.len() as u64);
            let apart = ranges.list.windows(2).all(|w| w[0].0.end < w[1].0.start);
            prop_assert!(apart);
        }
    }

    #[test]
    fn the_latest_come_first() {
        let mut ranges = Ranges::default();
        for start in [10, 50, 30, 70, 90] {
            ranges.insert(Range { start, end: start + 10 });
        }
        ranges.insert(Range { start: 60, end: 65 });
        let starts = |(found, len): ([Range; 3], usize)| {
            found[..len].iter().map(|r| r.start).collect::<Vec<_>>()
        };
        assert_eq!(starts(ranges.latest()), [50, 90, 70]);
        assert_eq!(ranges.latest::<9>().1, 5);
    }

    #[test]
    fn an_arrival_in_order_takes_what_waited_behind_it() {
        let mut ranges = Ranges::default();
        ranges.insert(Range { start: 20, end: 30 });
        assert_eq!(ranges.take_from(10), 10);
        assert_eq!(ranges.take_from(20), 30);
        assert!(ranges.is_empty());
    }
}
