//! What passed between two looks.

use crate::flows::{ACTIVE_BPS, MOST_FLOWS, Mac};
use crate::mesh::FlowNumber;
use airqueue_core::Time;
use std::collections::BTreeMap;

/// A flow that was active between two looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flow {
    pub(super) number: FlowNumber,
    /// Who sent its last frame to this router; `None` if none came.
    pub(super) from: Option<Mac>,
    /// To whom this router sent its last frame.
    pub(super) to: Option<Mac>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    arrived: u64,
    left: u64,
    from: Option<Mac>,
    to: Option<Mac>,
}

/// Payload of flows since the last look.
#[derive(Clone, Debug)]
pub(super) struct Passed {
    sums: BTreeMap<FlowNumber, Sum>,
    looked: Time,
}

impl Passed {
    pub(super) fn new(now: Time) -> Passed {
        Passed { sums: BTreeMap::new(), looked: now }
    }

    /// Takes in payload; other: who sent it to here, or gets it from here.
    pub(super) fn add(&mut self, number: FlowNumber, other: Mac, leaves: bool, bytes: u32) {
        if self.sums.len() >= MOST_FLOWS && !self.sums.contains_key(&number) {
            return;
        }
        let sum = self.sums.entry(number).or_default();
        let (bytes_so_far, at) =
            if leaves { (&mut sum.left, &mut sum.to) } else { (&mut sum.arrived, &mut sum.from) };
        *bytes_so_far = bytes_so_far.saturating_add(u64::from(bytes));
        *at = Some(other);
    }

    /// The active flows since the last look, those that moved most first.
    pub(super) fn look(&mut self, now: Time) -> Vec<Flow> {
        let seconds = (now - std::mem::replace(&mut self.looked, now)).as_secs_f64();
        let sums = std::mem::take(&mut self.sums);
        let moved = |sum: &Sum| sum.arrived.max(sum.left);
        let active = |sum: &Sum| moved(sum) as f64 * 8.0 >= ACTIVE_BPS * seconds && seconds > 0.0;
        let mut flows: Vec<_> = sums.into_iter().filter(|(_, sum)| active(sum)).collect();
        flows.sort_by_key(|(number, sum)| (std::cmp::Reverse(moved(sum)), *number));
        let flow = |(number, Sum { from, to, .. })| Flow { number, from, to };
        flows.into_iter().map(flow).collect()
    }
}
