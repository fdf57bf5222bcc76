//! One queue of a station: where its packets wait for the MAC.

use super::backlog::Backlog;
use super::counted::CountedQueue;
use super::spec::StationSpec;
use airqueue_core::Seed;
use airqueue_wifi::mac::Txop;
use airqueue_wifi::medium::StationId;
use std::collections::BTreeMap;

/// A queue, and what it means to the station.
#[derive(Debug)]
pub(super) struct Interface {
    /// Whose it is, and which of that station's queues.
    pub(super) station: usize,
    pub(super) category: usize,
    pub(super) queue: CountedQueue,
    /// The saturated flows that feed it.
    pub(super) saturated: Vec<u32>,
    pub(super) backlog: Backlog,
    /// Which rate control chose the rate of its last data frame.
    pub(super) control: Option<usize>,
}

/// The numbers that queues give to the stations they send to: 0, 1, 2 in the order of the first flows.
#[derive(Debug, Default)]
pub(super) struct Hops {
    known: BTreeMap<(usize, StationId), u16>,
    /// How many each queue has.
    count: BTreeMap<usize, u32>,
}

impl Hops {
    /// The number of a station at a queue; `None`: it has no more of them.
    pub(super) fn number(&mut self, interface: usize, to: StationId) -> Option<u16> {
        if let Some(&hop) = self.known.get(&(interface, to)) {
            return Some(hop);
        }
        let count = self.count.entry(interface).or_default();
        let hop = u16::try_from(*count).ok()?;
        *count += 1;
        self.known.insert((interface, to), hop);
        Some(hop)
    }
}

impl Interface {
    /// The one of a station's category. Its chance is a stream of `seed` of its own.
    pub(super) fn new(
        spec: &StationSpec,
        station: usize,
        category: usize,
        seed: Seed,
    ) -> Interface {
        let by_flows = spec.mac.categories[category].txop == Txop::Flows;
        let chance = seed.stream(&format!("queue/{station}/{category}"));
        Interface {
            station,
            category,
            queue: CountedQueue::new(&spec.queues[category], chance),
            saturated: Vec::new(),
            backlog: Backlog::new(by_flows),
            control: None,
        }
    }
}
