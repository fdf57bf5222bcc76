//! One queue of a station: where its packets wait for the MAC.

use super::backlog::Backlog;
use super::spec::StationSpec;
use crate::InterfaceId;
use crate::queue::Queue;
use airqueue_core::{NeighbourId, Seed};
use airqueue_wifi::mac::{Mac, Txop};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;
use std::collections::BTreeMap;

/// A queue, and what it means to the station.
#[derive(Debug)]
pub(super) struct Interface {
    /// The station that has the queue.
    pub(super) station: StationId,
    /// Of which its packets are.
    pub(super) ac: AccessCategory,
    pub(super) queue: Queue,
    pub(super) backlog: Backlog,
    /// Which rate control chose the rate of its last data frame.
    pub(super) control: Option<usize>,
}

/// The numbers that queues give to the stations they send to, 0, 1, 2 in the order of the first hops, and those that these
/// give to the queues.
#[derive(Debug, Default)]
pub(super) struct Neighbours {
    known: BTreeMap<(InterfaceId, StationId), (NeighbourId, u32)>,
    /// How many each queue has.
    count: BTreeMap<InterfaceId, u32>,
}

impl Neighbours {
    /// The number of a station at a queue, and of the queue's recipient there; `None`: the queue has no more numbers.
    pub(super) fn number(
        &mut self,
        interface: InterfaceId,
        to: StationId,
        macs: &mut [Mac],
    ) -> Option<(NeighbourId, u32)> {
        if let Some(&numbers) = self.known.get(&(interface, to)) {
            return Some(numbers);
        }
        let count = self.count.entry(interface).or_default();
        let number = NeighbourId(u16::try_from(*count).ok()?);
        *count += 1;
        let numbers = (number, macs[to.index()].add_recipient());
        self.known.insert((interface, to), numbers);
        Some(numbers)
    }
}

impl Interface {
    /// The one of a station's category. Its chance is a stream of `seed` of its own.
    pub(super) fn new(
        spec: &StationSpec,
        station: StationId,
        ac: AccessCategory,
        seed: Seed,
    ) -> Interface {
        let by_flows = spec.mac.categories[ac.index()].txop == Txop::Flows;
        let rng = seed.stream(&format!("queue/{}/{}", station.0, ac.index()));
        Interface {
            station,
            ac,
            queue: Queue::new(&spec.queues[ac.index()], rng),
            backlog: Backlog::new(by_flows),
            control: None,
        }
    }
}
