//! The interfaces that a service listens to.

use crate::commands::{Code, Stop};
use crate::tap::Tap;
use airqueue_control::flows::{Direction, Flow, FlowKey, Flows, Look};
use airqueue_core::{Span, Time};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Which side of an interface the stations are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    /// What leaves goes to stations.
    Stations,
    /// What leaves goes to the far ends.
    Far,
}

impl Ear {
    /// Listens to the interface that has the name now, if the one before was removed.
    fn find(&mut self, interface: &str, now: Time) {
        if self.tap.is_deaf()
            && let Ok(tap) = Tap::open(interface)
        {
            *self = Ear { tap, flows: Flows::new(now), seen: Look::default() };
        }
    }
}

/// All taps, with the flows that pass them.
#[derive(Default)]
pub(super) struct Ears {
    ears: BTreeMap<(String, Side), Ear>,
}

struct Ear {
    tap: Tap,
    flows: Flows,
    seen: Look,
}

impl Ears {
    /// Listens to an interface from now on.
    pub(super) fn listen(&mut self, interface: &str, side: Side, now: Time) -> Result<(), Stop> {
        let key = (interface.to_owned(), side);
        if let Entry::Vacant(free) = self.ears.entry(key) {
            let tap = Tap::open(interface).map_err(|e| Stop::new(Code::Failed, e.to_string()))?;
            free.insert(Ear { tap, flows: Flows::new(now), seen: Look::default() });
        }
        Ok(())
    }

    /// Whether packets have to be taken in.
    pub(super) fn is_empty(&self) -> bool {
        self.ears.is_empty()
    }

    /// Takes in the packets that have passed.
    pub(super) fn drain(&mut self) {
        for ((_, side), Ear { tap, flows, .. }) in &mut self.ears {
            tap.feed(flows, *side == Side::Stations);
        }
    }

    /// Looks at all flows.
    pub(super) fn look(&mut self, now: Time) {
        for ((interface, _), ear) in &mut self.ears {
            ear.find(interface, now);
            ear.seen = ear.flows.look(now);
        }
    }

    fn seen(&self, interface: &str, side: Side) -> Option<&Look> {
        self.ears.get(&(interface.to_owned(), side)).map(|ear| &ear.seen)
    }

    /// The active flows of an interface at the last look.
    pub(super) fn active(&self, interface: &str, side: Side) -> impl Iterator<Item = &Flow> {
        let flows = self.seen(interface, side).into_iter().flat_map(|seen| &seen.flows);
        flows.filter(|flow| flow.active)
    }

    /// The active downloads of an interface at the last look.
    pub(super) fn downloads(&self, interface: &str) -> impl Iterator<Item = &Flow> {
        self.towards(interface, Direction::Download)
    }

    /// The active uploads of an interface at the last look.
    pub(super) fn uploads(&self, interface: &str) -> impl Iterator<Item = &Flow> {
        self.towards(interface, Direction::Upload)
    }

    fn towards(&self, interface: &str, direction: Direction) -> impl Iterator<Item = &Flow> {
        let seen = self.seen(interface, Side::Stations).into_iter();
        seen.flat_map(move |seen| seen.active(direction))
    }

    /// A flow's round trip from an uplink to its far end; the queue towards the stations is not in it.
    pub(super) fn far_rtt(&self, uplink: &str, flow: &FlowKey) -> Option<Span> {
        let seen = &self.seen(uplink, Side::Far)?.flows;
        let at = seen.binary_search_by_key(flow, |flow| flow.key).ok()?;
        seen[at].far.least
    }

    /// The median of both halves over the active flows, added: the round trip without the queue towards the stations.
    /// Addresses may be translated between the two interfaces.
    pub(super) fn median_rtt(&self, interface: &str, uplink: &str) -> Option<Span> {
        let near = self.active(interface, Side::Stations).filter_map(|flow| flow.station.least);
        let far = self.active(uplink, Side::Far).filter_map(|flow| flow.far.least);
        Some(median(near.collect())? + median(far.collect())?)
    }
}

fn median(mut spans: Vec<Span>) -> Option<Span> {
    spans.sort();
    spans.get(spans.len() / 2).copied()
}
