//! Which other rates are tried, and when.

use super::candidates::{Candidate, Group};
use airqueue_core::{RandomStream, Span, Time};

/// Time between two samples (`MINSTREL_SAMPLE_INTERVAL`). The end of an interval of statistics makes a sample due.
const PAUSE: Span = Span::from_millis(20);
/// Rates that a list holds (`MINSTREL_SAMPLE_RATES`), and random orders of the rates of a group (`SAMPLE_COLUMNS`).
const LONGEST: usize = 5;
const ORDERS: usize = 10;
/// A slow rate at which a larger share arrives is not sampled.
const SURE: f64 = 0.95;

/// The lists of rates to sample. A rate is on a list once.
const INCREASE: usize = 0;
const JUMP: usize = 1;
const SLOW: usize = 2;
/// The list of each sample, in turn (`minstrel_sample_seq`).
const TURNS: [usize; 6] = [INCREASE, JUMP, INCREASE, JUMP, INCREASE, SLOW];

/// The rates to be sampled before the next interval: the slowest rates of the groups that are faster than the best rate
/// (`INCREASE`), random rates that are faster than all rates in use (`JUMP`), and random rates between the fastest and
/// the slowest rate in use (`SLOW`).
#[derive(Clone, Debug)]
pub(super) struct Samples {
    lists: [List; 3],
    turn: usize,
    due: Time,
    /// The groups whose rates were added last, by `INCREASE` and by `JUMP`.
    groups: [usize; 2],
    orders: Orders,
}

/// The time of a packet at the rates in use, in ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct InUse {
    pub(super) best: f64,
    pub(super) fastest: f64,
    pub(super) slowest: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct List([Option<usize>; LONGEST]);

/// Random orders of the rates of a group, and the place of each group in them.
#[derive(Clone, Debug)]
struct Orders {
    /// One order after another.
    all: Vec<u8>,
    /// Length of an order: that of the longest group.
    length: usize,
    places: Vec<usize>,
}

impl List {
    fn has(&self, rate: usize) -> bool {
        self.0.contains(&Some(rate))
    }

    fn take(&mut self) -> Option<usize> {
        self.0.iter_mut().find_map(Option::take)
    }

    /// Removes the rates that do not satisfy a condition, and returns the number of rates that stay on the list. If none
    /// was taken since the last interval, the first rate may give way to a new one, as in the kernel
    /// (`minstrel_ht_move_sample_rates`).
    fn keep(&mut self, condition: impl Fn(usize) -> bool) -> usize {
        let kept = |rate: &Option<usize>| rate.filter(|&rate| condition(rate));
        let first = kept(&self.0[0]);
        let mut others = List::default();
        let mut count = 0;
        for rate in self.0[1..].iter().filter_map(kept) {
            others.0[count] = Some(rate);
            count += 1;
        }
        if count == 0 {
            others.0[0] = first;
        }
        *self = others;
        count
    }
}

impl Orders {
    fn new(groups: &[Group], rng: &mut RandomStream) -> Orders {
        let length = groups.iter().map(|group| group.rates.len()).max().unwrap_or(0);
        let mut all: Vec<u8> = (0..ORDERS * length).map(|at| (at % length) as u8).collect();
        for order in all.chunks_mut(length) {
            for last in (1..length).rev() {
                order.swap(last, rng.below(last as u64 + 1) as usize);
            }
        }
        Orders { all, length, places: vec![0; groups.len()] }
    }

    /// The next rate of a group whose place is at least `least`, if there is one soon.
    fn next(&mut self, group: usize, rates: &Group, least: usize) -> Option<usize> {
        let place = &mut self.places[group];
        for _ in 0..self.length {
            let at = rates.rates.start + usize::from(self.all[*place]);
            *place = (*place + 1) % self.all.len();
            if at >= least && at < rates.rates.end {
                return Some(at);
            }
        }
        None
    }
}

impl Samples {
    pub(super) fn new(groups: &[Group], rng: &mut RandomStream) -> Samples {
        let orders = Orders::new(groups, rng);
        Samples { lists: Default::default(), turn: 0, due: Time::ZERO, groups: [0; 2], orders }
    }

    /// The next sample, if one is due and its list has a rate.
    #[inline]
    pub(super) fn take(&mut self, now: Time) -> Option<usize> {
        if now < self.due {
            return None;
        }
        self.due = now + PAUSE;
        let list = TURNS[self.turn];
        self.turn = (self.turn + 1) % TURNS.len();
        self.lists[list].take()
    }

    /// An interval has ended: fills the lists by the rates that are now in use (`minstrel_ht_refill_sample_rates`).
    pub(super) fn refill(&mut self, rates: &[Candidate], groups: &[Group], used: InUse, now: Time) {
        self.due = now;
        let time = |rate: usize| rates[rate].packet_ns;
        let mut count = self.lists[INCREASE].keep(|rate| time(rate) < used.fastest);
        while count < LONGEST {
            let next = self.next_increase(rates, groups, used.best);
            self.lists[INCREASE].0[count] = next;
            if next.is_none() {
                break;
            }
            count += 1;
        }
        let mut count = self.lists[JUMP].keep(|rate| time(rate) < used.fastest);
        let between = |rate: usize| time(rate) > used.fastest && time(rate) < used.slowest;
        let mut slow = self.lists[SLOW].keep(between);
        while count < LONGEST {
            let next = self.next_jump(rates, groups, used, &mut slow);
            self.lists[JUMP].0[count] = next;
            if next.is_none() {
                break;
            }
            count += 1;
        }
    }

    /// The slowest rate of the next group that is faster than the best rate and not on the list.
    fn next_increase(
        &mut self,
        rates: &[Candidate],
        groups: &[Group],
        best_ns: f64,
    ) -> Option<usize> {
        for _ in groups {
            let group = next_of(groups, self.groups[INCREASE]);
            self.groups[INCREASE] = group;
            let found = slowest_within(rates, &groups[group], best_ns);
            if let Some(rate) = found.filter(|&rate| !self.lists[INCREASE].has(rate)) {
                return Some(rate);
            }
        }
        None
    }

    /// A random rate of the next group that is faster than all rates in use and not on the list. Rates between those in
    /// use that are found instead go to the list of slow rates, which has `slow` rates.
    fn next_jump(
        &mut self,
        rates: &[Candidate],
        groups: &[Group],
        used: InUse,
        slow: &mut usize,
    ) -> Option<usize> {
        for _ in groups {
            let group = next_of(groups, self.groups[JUMP]);
            self.groups[JUMP] = group;
            let full = *slow >= LONGEST;
            let limit = if full { used.fastest } else { used.slowest };
            let Some(least) = slowest_within(rates, &groups[group], limit) else { continue };
            let Some(at) = self.orders.next(group, &groups[group], least) else { continue };
            let Candidate { packet_ns, .. } = rates[at];
            if packet_ns < used.fastest {
                if !self.lists[JUMP].has(at) {
                    return Some(at);
                }
            } else if !full
                && packet_ns < used.slowest
                && rates[at].share() <= SURE
                && !self.lists[SLOW].has(at)
            {
                self.lists[SLOW].0[*slow] = Some(at);
                *slow += 1;
            }
        }
        None
    }
}

/// The group after another one, in a circle.
fn next_of(groups: &[Group], group: usize) -> usize {
    (group + 1) % groups.len()
}

/// The slowest rate of a group at which a packet takes less than a time (`minstrel_ht_group_min_rate_offset`).
fn slowest_within(rates: &[Candidate], group: &Group, limit_ns: f64) -> Option<usize> {
    group.rates.clone().find(|&rate| rates[rate].packet_ns < limit_ns)
}
