//! One queue of a station, where packets wait for the MAC.

use super::backlog::Backlog;
use super::power::Released;
use super::spec::StationSpec;
use crate::InterfaceId;
use crate::counters::Timings;
use crate::queue::Queue;
use airqueue_core::{Device, Limit, NeighbourId, Seed};
use airqueue_qdisc::QueueSpec;
use airqueue_wifi::mac::{Mac, Txop};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;
use std::collections::{BTreeMap, VecDeque};

/// A queue, and its role at the station.
#[derive(Debug)]
pub(super) struct Interface {
    /// The station that has the queue.
    pub(super) station: StationId,
    /// The access category of its packets.
    pub(super) ac: AccessCategory,
    pub(super) queue: Queue,
    /// Medium access delays of the acknowledged packets.
    pub(super) access_delays: Timings,
    pub(super) backlog: Backlog,
    /// The limit of all packets at the interface, where the packets that the MAC holds count.
    pub(super) counted: Option<u32>,
    /// The rate control that chose the rate of the queue's last data frame.
    pub(super) control: Option<usize>,
    /// Packets that have waited for a station to wake up, and that the MAC gets next.
    pub(super) released: VecDeque<Released>,
}

/// The neighbour numbers of the stations that a queue sends to (0, 1, 2 in the order of the first hops), and the
/// numbers of the queue's recipients at these stations.
#[derive(Debug, Default)]
pub(super) struct Neighbours {
    known: BTreeMap<(InterfaceId, StationId), (NeighbourId, u32)>,
    /// Number of neighbours of each queue.
    count: BTreeMap<InterfaceId, u32>,
}

impl Neighbours {
    /// The neighbour number of a station at a queue, and the number of the queue's recipient at that station; true with a
    /// number that is new. `None`: the queue has run out of numbers.
    pub(super) fn number(
        &mut self,
        interface: InterfaceId,
        to: StationId,
        macs: &mut [Mac],
    ) -> Option<(bool, (NeighbourId, u32))> {
        if let Some(&numbers) = self.known.get(&(interface, to)) {
            return Some((false, numbers));
        }
        let count = self.count.entry(interface).or_default();
        let number = NeighbourId(u16::try_from(*count).ok()?);
        *count += 1;
        let numbers = (number, macs[to.index()].add_recipient());
        self.known.insert((interface, to), numbers);
        Some((true, numbers))
    }
}

impl Interface {
    /// The interface of a station's access category before the station's device, with its own random stream of `seed`.
    pub(super) fn new(
        spec: &StationSpec,
        (station, ac): (StationId, AccessCategory),
        device: &Device,
        seed: Seed,
    ) -> Interface {
        let by_flows = spec.mac.categories[ac.index()].txop == Txop::Flows;
        let rng = seed.stream(&format!("queue/{}/{}", station.0, ac.index()));
        let mut queue = Queue::new(&spec.queues[ac.index()], rng);
        // Linux assumes that all but voice is aggregated.
        let aggregates = ac != AccessCategory::VOICE;
        let airtime = device.airtime.share();
        queue.tx_queue.set_device(Device { airtime, aggregates, ..*device });
        Interface {
            station,
            ac,
            queue,
            access_delays: Timings::default(),
            backlog: Backlog::new(by_flows),
            counted: counted(&spec.queues[ac.index()]),
            control: None,
            released: VecDeque::new(),
        }
    }
}

/// The limit of all packets at an interface with this queue, if its limit is one.
pub(super) fn counted(queue: &QueueSpec) -> Option<u32> {
    match queue.limit {
        Limit::Packets(packets) if queue.counts_in_hand => Some(packets),
        _ => None,
    }
}
