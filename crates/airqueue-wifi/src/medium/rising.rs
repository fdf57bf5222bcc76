//! Numbers that are added in any order and come out by rising size.

/// A set of numbers below a bound. Many are marked in a row of bits, which has their order; few are sorted.
pub(super) struct Rising {
    numbers: Vec<u32>,
    /// One bit for each number below the bound; all are clear between calls.
    marks: Vec<u64>,
}

impl Rising {
    /// An empty set of numbers below `bound`.
    pub(super) fn new(bound: usize) -> Rising {
        Rising { numbers: Vec::new(), marks: vec![0; bound.div_ceil(64)] }
    }

    /// Adds a number that is not in the set.
    #[inline]
    pub(super) fn add(&mut self, number: u32) {
        self.numbers.push(number);
    }

    /// Visits the numbers by rising size. The set is empty afterwards.
    #[inline]
    pub(super) fn drain(&mut self, mut visit: impl FnMut(u32)) {
        if self.numbers.len() < self.marks.len() {
            self.numbers.sort_unstable();
            return self.numbers.drain(..).for_each(visit);
        }
        for number in self.numbers.drain(..) {
            self.marks[number as usize / 64] |= 1 << (number % 64);
        }
        for (first, marks) in (0..).step_by(64).zip(&mut self.marks) {
            while *marks != 0 {
                visit(first + marks.trailing_zeros());
                *marks &= *marks - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rising;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn numbers_come_out_by_rising_size(
            sets in prop::collection::vec(prop::collection::hash_set(0u32..500, 0..400), 1..4),
        ) {
            let mut rising = Rising::new(500);
            for set in sets {
                set.iter().for_each(|&number| rising.add(number));
                let mut drained = Vec::new();
                rising.drain(|number| drained.push(number));
                prop_assert_eq!(drained, set.into_iter().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>());
            }
        }
    }
}
