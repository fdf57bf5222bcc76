//! Limits in force, which stand still unless they matter (MESH Fig. 6).

use super::policy::{Policy, Queues};
use super::statement::FlowNumber;
use super::view::Unknown;
use airqueue_core::{Span, Time};
use std::collections::BTreeMap;

/// How long a flow keeps its limit when its route is no longer known: longer than a change takes to get about.
pub const GRACE: Span = Span::from_secs(5);

/// What has a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// The router's one queue.
    Node,
    /// The router's queue of one flow.
    Flow(FlowNumber),
}

/// Limits of slots in packets. A slot without one has the queue that it would have without this mechanism.
pub type Limits = BTreeMap<Slot, u32>;

/// The state of one flow at the router.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Its last size.
    packets: Option<u32>,
    /// Since when it is not known, if it is not.
    lost: Option<Time>,
}

/// From the sizes of flows to limits of queues.
#[derive(Clone, Debug, Default)]
pub(super) struct Keeper {
    flows: BTreeMap<FlowNumber, Known>,
    limits: Limits,
    held: Limits,
    /// When a limit was last raised, and from what.
    raised: BTreeMap<Slot, (Time, u32)>,
}

impl Keeper {
    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Limits that are computed but not set, since they would take back a rise.
    pub(super) fn held(&self) -> &Limits {
        &self.held
    }

    /// Takes in what was computed for each active flow of the router.
    pub(super) fn take(
        &mut self,
        sizes: &BTreeMap<FlowNumber, Result<u32, Unknown>>,
        policy: &Policy,
        now: Time,
    ) {
        let before = std::mem::take(&mut self.flows);
        for (&flow, size) in sizes {
            let known = match (size, before.get(&flow)) {
                (Ok(packets), _) => Known { packets: Some(policy.clamped(*packets)), lost: None },
                (Err(_), Some(known)) => Known { lost: known.lost.or(Some(now)), ..*known },
                (Err(_), None) => Known { packets: None, lost: Some(now) },
            };
            self.flows.insert(flow, known);
        }
        self.on_time(policy, now);
    }

    /// Lets times pass: of flows that are not known, and of held limits.
    pub(super) fn on_time(&mut self, policy: &Policy, now: Time) {
        let wanted = self.wanted(policy.queues, now);
        self.set(wanted, policy.hold, now);
    }

    fn wanted(&self, queues: Queues, now: Time) -> Limits {
        let over = |known: &Known| known.lost.is_some_and(|since| now - since >= GRACE);
        let sized = |(&flow, known): (&FlowNumber, &Known)| {
            if over(known) { None } else { Some((Slot::Flow(flow), known.packets?)) }
        };
        if queues == Queues::Flow {
            return self.flows.iter().filter_map(sized).collect();
        }
        // One queue for all: what a flow needs that is not known, nobody knows.
        if self.flows.values().any(over) {
            return Limits::new();
        }
        let most = self.flows.values().filter_map(|known| known.packets).max();
        most.map(|packets| (Slot::Node, packets)).into_iter().collect()
    }

    /// Sets what is wanted, but what would take back a rise too soon.
    fn set(&mut self, wanted: Limits, hold: Span, now: Time) {
        let mut held = wanted.clone();
        held.retain(|slot, packets| self.holds(slot, *packets, hold, now));
        self.held = held;
        let mut limits = wanted;
        for (slot, packets) in &mut limits {
            let kept = self.limits.get(slot).filter(|_| self.held.contains_key(slot));
            *packets = kept.copied().unwrap_or(*packets);
        }
        self.remember_rises(&limits, hold, now);
        self.limits = limits;
    }

    fn holds(&self, slot: &Slot, packets: u32, hold: Span, now: Time) -> bool {
        let (Some(&limit), Some(&(raised, before))) =
            (self.limits.get(slot), self.raised.get(slot))
        else {
            return false;
        };
        (before..limit).contains(&packets) && now - raised < hold
    }

    fn remember_rises(&mut self, limits: &Limits, hold: Span, now: Time) {
        for (slot, &old) in &self.limits {
            let new = limits.get(slot).copied().unwrap_or(0);
            if new > old {
                let recent = self.raised.get(slot).filter(|(at, _)| now - *at < hold);
                let from = recent.map_or(old, |&(_, before)| before.min(old));
                self.raised.insert(*slot, (now, from));
            } else if new < old {
                self.raised.remove(slot);
            }
        }
    }

    /// When time alone may change limits.
    pub(super) fn next_deadline(&self, hold: Span, now: Time) -> Option<Time> {
        let lost = self.flows.values().filter_map(|known| known.lost).map(|since| since + GRACE);
        let held = self.held.keys().filter_map(|slot| self.raised.get(slot)).map(|r| r.0 + hold);
        lost.chain(held).filter(|&at| at > now).min()
    }
}
