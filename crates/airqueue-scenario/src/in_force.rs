//! The settings of queues that are in force, given by the file or by default.

use super::Scenario;
use airqueue_core::Limit;
use airqueue_network::network::QueueId;
use airqueue_qdisc::{QueuePer, QueueSpec};
use schemars::JsonSchema;
use serde::Serialize;

/// What a queue of the network is, before any change while the network runs.
#[derive(Serialize, JsonSchema)]
pub(super) struct QueueInForce<'a> {
    /// Name of the queue, as figures have it.
    name: &'a str,
    /// Word of the queue discipline.
    discipline: &'static str,
    /// Most packets that wait; `null` without such a limit.
    limit_packets: Option<u32>,
    /// Most bytes that wait; `null` without such a limit.
    limit_bytes: Option<u64>,
    /// What the limits hold for: `queue`, or where flows or links have queues of their own in it `flow` or `link`.
    limit_per: &'static str,
    /// Packets of the driver ring behind the queue discipline.
    ring_packets: usize,
}

impl<'a> QueueInForce<'a> {
    fn new(name: &'a str, queue: &QueueSpec) -> QueueInForce<'a> {
        let facts = queue.discipline.facts();
        let limit_per = match facts.apart {
            None => "queue",
            Some(QueuePer::Flow) => "flow",
            Some(QueuePer::Link) => "link",
        };
        let packets =
            |limit| if let Limit::Packets(packets) = limit { Some(packets) } else { None };
        let bytes = |limit| if let Limit::Bytes(bytes) = limit { Some(bytes) } else { None };
        QueueInForce {
            name,
            discipline: queue.discipline.name().word(),
            limit_packets: queue.room().filter_map(packets).min(),
            limit_bytes: queue.room().filter_map(bytes).min(),
            limit_per,
            ring_packets: queue.ring_packets,
        }
    }
}

impl Scenario {
    /// The settings of all queues that have figures, in their order, as JSON.
    ///
    /// # Panics
    ///
    /// Never: all settings are JSON.
    pub fn queues_in_force(&self) -> String {
        let stations = &self.spec.wlan.stations;
        let found = self.names.queues.iter().filter_map(|(id, name)| {
            let queue = match *id {
                QueueId::Station(station, ac) => {
                    let queues = &stations[station.index()].queues;
                    queues.get(ac.index()).or(queues.first())
                }
                QueueId::Wire(wire) => self.spec.wires[wire.index()].queue.as_ref(),
            };
            queue.map(|queue| QueueInForce::new(name, queue))
        });
        serde_json::to_string(&found.collect::<Vec<_>>()).expect("settings are JSON")
    }
}
