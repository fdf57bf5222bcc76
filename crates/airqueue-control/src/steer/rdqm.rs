//! RDQM's loop: a buffer that is divided among downloads by their delay and rate, as classes of one shaper.
//!
//! The paper's station reports the round trip in link-layer acknowledgements; here the base station measures it, and the
//! shares are the same (Algorithm 3): a flow with round trip d and rate r has d r / Σ d r of the part Q N_R / N of the buffer,
//! a flow of which one of the two is unknown Q / N. Where the paper has one FIFO with limits for flows, each flow here has
//! a FIFO of its own behind a shaper, and with it a share of the rate: in proportion to its station's rate, so that
//! stations get equal times on the air.
//!
//! The number of classes is fixed, so that classes change in place and no packet is dropped. Flows without a class, and all
//! that is no download, share the class `other`.

use super::division::whole;
use crate::flows::FlowKey;
use crate::pace::Bursts;
use crate::plan::{Class, Fifo, Shared};
use airqueue_core::buffers::{RdqmFlows, rdqm_weight};
use airqueue_core::{DataRate, Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// The class of everything without one of its own.
pub const OTHER: u16 = 2;
/// The least rate of a class, bit/s.
const LEAST_BPS: u64 = 8_000;
/// Limits that change by no more than this part are left alone: round trips are noisy.
const ALIKE: f64 = 0.1;
/// After a rest so many changes may come at once, because downloads come and go: a page has some, one after the other.
pub const AT_ONCE: u32 = 3;

/// How a buffer is divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RdqmPolicy {
    /// Q, packets.
    pub buffer_packets: u32,
    /// Rate of all classes together.
    pub rate: DataRate,
    /// How many flows have classes of their own.
    pub classes: u16,
    /// Number of the shaper at the interface's root.
    pub handle: u16,
    /// A flow that is not active for so long gives its class back.
    pub idle: Span,
    /// Shortest time between two changes of limits and rates while no flow comes or goes. Flows that come and go change them
    /// so often in the long run, and [`AT_ONCE`] times at once.
    pub least_interval: Span,
}

/// An active download.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowSeen {
    /// Its ends.
    pub key: FlowKey,
    /// Rate of its station, if known.
    pub rate: Option<DataRate>,
    /// Its round trip without the queue here, if known.
    pub rtt: Option<Span>,
}

/// Which flows change their classes; the classes are then [`RdqmLoop::shared`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// Flows that give their classes back.
    pub released: Vec<(FlowKey, u16)>,
    /// Flows that get classes.
    pub assigned: Vec<(FlowKey, u16)>,
}

/// The division of a buffer as flows come and go.
#[derive(Clone, Debug)]
pub struct RdqmLoop {
    policy: RdqmPolicy,
    held: BTreeMap<FlowKey, Held>,
    shared: Shared,
    changed: Option<Time>,
    pace: Bursts,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    class: u16,
    active: Time,
    weight: Option<u64>,
    rate: Option<DataRate>,
}

impl RdqmLoop {
    /// A buffer without flows: all belongs to `other`.
    pub fn new(policy: RdqmPolicy) -> RdqmLoop {
        let shared = shared(&policy, &BTreeMap::new(), 0);
        let pace = Bursts::new(policy.least_interval, AT_ONCE);
        RdqmLoop { policy, held: BTreeMap::new(), shared, changed: None, pace }
    }

    /// The classes as they are.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// The flows with classes of their own.
    pub fn held(&self) -> impl Iterator<Item = (FlowKey, u16)> {
        self.held.iter().map(|(key, held)| (*key, held.class))
    }

    /// Takes the active downloads. Returns what is to change now, if anything.
    pub fn on_flows(&mut self, flows: &[FlowSeen], now: Time) -> Option<Change> {
        for flow in flows {
            if let Some(held) = self.held.get_mut(&flow.key) {
                held.take(flow, now);
            }
        }
        let others = flows.iter().filter(|flow| !self.held.contains_key(&flow.key)).count();
        let over = |held: &Held| now - held.active >= self.policy.idle;
        let ended = self.held.values().filter(|held| over(held)).count();
        // A flow without a class waits behind all others that have none: it gets one at once, if flows have not come and
        // gone too often. Those that came meanwhile get theirs together.
        let moves = ended > 0 || (others > 0 && self.free().next().is_some());
        if moves {
            return self.pace.take(now).then(|| self.moved(flows, now));
        }
        let shared = shared(&self.policy, &self.held, others as u64);
        let due = self.changed.map(|changed| changed.saturating_add(self.policy.least_interval));
        let rests = due.is_some_and(|due| now < due);
        if rests || !differs(&self.shared, &shared) || !self.pace.take(now) {
            return None;
        }
        self.shared = shared;
        self.changed = Some(now);
        Some(Change::default())
    }

    /// Takes classes from flows that are over, and gives classes to those that have none.
    fn moved(&mut self, flows: &[FlowSeen], now: Time) -> Change {
        let mut change = Change::default();
        let idle = self.policy.idle;
        self.held.retain(|key, held| {
            let stays = now - held.active < idle;
            if !stays {
                change.released.push((*key, held.class));
            }
            stays
        });
        let mut without = 0;
        let mut free = self.free();
        for flow in flows {
            if self.held.contains_key(&flow.key) {
                continue;
            }
            let Some(class) = free.next() else {
                without += 1;
                continue;
            };
            let mut held = Held { class, active: now, weight: None, rate: None };
            held.take(flow, now);
            self.held.insert(flow.key, held);
            change.assigned.push((flow.key, class));
        }
        self.shared = shared(&self.policy, &self.held, without);
        self.changed = Some(now);
        change
    }

    /// The classes that no flow has now.
    fn free(&self) -> impl Iterator<Item = u16> + use<> {
        let taken: BTreeSet<u16> = self.held.values().map(|held| held.class).collect();
        ids(&self.policy).filter(move |class| !taken.contains(class))
    }
}

impl Held {
    fn take(&mut self, flow: &FlowSeen, now: Time) {
        self.active = now;
        self.rate = flow.rate.or(self.rate);
        if let (Some(rate), Some(rtt)) = (self.rate, flow.rtt) {
            self.weight = Some(rdqm_weight(rtt, rate));
        }
    }
}

/// The classes of flows.
fn ids(policy: &RdqmPolicy) -> impl Iterator<Item = u16> + use<> {
    (OTHER + 1..).take(usize::from(policy.classes))
}

/// The classes for flows with and without one.
fn shared(policy: &RdqmPolicy, held: &BTreeMap<FlowKey, Held>, without: u64) -> Shared {
    let weights = held.values().filter_map(|held| held.weight);
    // What is no download counts as a flow that reports nothing: there is always some of it.
    let others = without.max(1);
    let sums = RdqmFlows {
        flows: held.len() as u64 + others,
        reporting: weights.clone().count() as u64,
        weights: weights.map(u128::from).sum(),
    };
    let share = |weight, times: u64| {
        let (share, parts) = sums.share(policy.buffer_packets.into(), weight);
        share as f64 * times as f64 / parts as f64
    };
    let shares: Vec<f64> = std::iter::once(share(None, others))
        .chain(held.values().map(|held| share(held.weight, 1)))
        .collect();
    let limits = whole(&shares, policy.buffer_packets);
    let rates = rates(policy, held, others);
    let at: BTreeMap<u16, usize> = std::iter::once((OTHER, 0))
        .chain(held.values().enumerate().map(|(index, held)| (held.class, index + 1)))
        .collect();
    let class = |id: u16| {
        let index = at.get(&id);
        Class {
            id,
            rate_bps: index.map_or(LEAST_BPS, |&index| rates[index]),
            queue: Fifo {
                limit_packets: Some(index.map_or(1, |&index| limits[index])),
                limit_bytes: None,
            },
        }
    };
    Shared {
        handle: policy.handle,
        rate_bps: policy.rate.as_bps() / 8 * 8,
        other: OTHER,
        classes: std::iter::once(OTHER).chain(ids(policy)).map(class).collect(),
    }
}

/// The rates of `other` and of the flows: equal times on the air, so in proportion to stations' rates; a station of unknown
/// rate counts as the mean of the others. Whole bytes per second; every class of the shaper has the least rate at least.
fn rates(policy: &RdqmPolicy, held: &BTreeMap<FlowKey, Held>, others: u64) -> Vec<u64> {
    let known: Vec<f64> =
        held.values().filter_map(|held| held.rate).map(|rate| rate.as_bps() as f64).collect();
    let mean = if known.is_empty() { 1.0 } else { known.iter().sum::<f64>() / known.len() as f64 };
    let of = |held: &Held| held.rate.map_or(mean, |rate| rate.as_bps() as f64);
    let parts: Vec<f64> =
        std::iter::once(mean * others as f64).chain(held.values().map(of)).collect();
    let all: f64 = parts.iter().sum();
    let reserved = LEAST_BPS * (u64::from(policy.classes) + 1);
    let divided = policy.rate.as_bps().saturating_sub(reserved) as f64;
    parts.iter().map(|part| LEAST_BPS + (divided * part / all) as u64 / 8 * 8).collect()
}

/// Whether a limit or a rate differs by more than noise.
fn differs(old: &Shared, new: &Shared) -> bool {
    let far = |a: f64, b: f64| (a - b).abs() > ALIKE * a.max(b);
    let limit = |class: &Class| f64::from(class.queue.limit_packets.unwrap_or_default());
    old.classes.iter().zip(&new.classes).any(|(old, new)| {
        far(limit(old), limit(new)) || far(old.rate_bps as f64, new.rate_bps as f64)
    })
}

#[cfg(test)]
mod tests;
