//! The rates among which Minstrel chooses, and what is known of them.

use super::airtime::{Overhead, packet_ns};
use super::average::Average;
use crate::phy::{GuardInterval, ModulationClass, Phy, RateIndex, Width};
use std::ops::Range;

/// A rate and its statistics.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) rate: RateIndex,
    pub(super) group: usize,
    /// Time that a packet takes.
    pub(super) packet_ns: f64,
    /// MPDUs of the current interval.
    pub(super) sent: u32,
    pub(super) acknowledged: u32,
    pub(super) average: Average,
    /// MPDUs per second by the average.
    pub(super) throughput: f64,
}

/// Rates that differ only in modulation and coding (`minstrel_mcs_groups`): if one rate is successful, so are slower
/// rates of its group.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The places of its rates, from slow to fast.
    pub(super) rates: Range<usize>,
    pub(super) streams: u8,
    /// The two rates with the highest throughput.
    pub(super) best: [usize; 2],
}

/// What the rates of a group have in common.
#[derive(PartialEq)]
struct Shape {
    class: ModulationClass,
    shape: Option<(u8, Width, GuardInterval)>,
}

impl Candidate {
    fn new(phy: &Phy, rate: RateIndex, group: usize) -> Candidate {
        Candidate {
            rate,
            group,
            packet_ns: packet_ns(phy, rate),
            sent: 0,
            acknowledged: 0,
            average: Average::default(),
            throughput: 0.0,
        }
    }

    pub(super) fn share(&self) -> f64 {
        self.average.share()
    }

    /// An interval ends. `faster`: the largest share that arrives at a faster rate of the group; returned with this rate.
    pub(super) fn update(&mut self, faster: f64, overhead: &Overhead, mpdus: f64) -> f64 {
        if self.sent > 0 {
            self.average.add(f64::from(self.acknowledged) / f64::from(self.sent));
            (self.sent, self.acknowledged) = (0, 0);
        }
        let expected = self.average.assume(faster);
        self.throughput = overhead.throughput(self.packet_ns, self.share(), mpdus);
        expected
    }

    /// Whether the rate comes before another one in the order of throughput, and of shares if throughput is equal.
    pub(super) fn precedes(&self, other: &Candidate) -> bool {
        (self.throughput, self.share()) > (other.throughput, other.share())
    }
}

/// The rates in the order of a layer's table, which is that of the kernel: by width, guard interval and streams, then
/// from slow to fast.
pub(super) fn in_groups(phy: &Phy, rates: &[RateIndex]) -> (Vec<Candidate>, Vec<Group>) {
    let mut sorted = rates.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let (mut candidates, mut groups) = (Vec::with_capacity(sorted.len()), Vec::new());
    let mut last = None;
    for rate in sorted {
        let mcs = phy.mcs(rate);
        let shape = mcs.map(|mcs| (mcs.streams, mcs.width, mcs.guard));
        let of_rate = Some(Shape { class: phy.class(rate), shape });
        let at = candidates.len();
        if last != of_rate {
            let streams = mcs.map_or(1, |mcs| mcs.streams);
            groups.push(Group { rates: at..at, streams, best: [at; 2] });
            last = of_rate;
        }
        let group = groups.len() - 1;
        groups[group].rates.end = at + 1;
        candidates.push(Candidate::new(phy, rate, group));
    }
    (candidates, groups)
}
