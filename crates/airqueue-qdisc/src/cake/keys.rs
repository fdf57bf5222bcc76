//! The keys of CAKE, their checks, and what other code may rely on.

use super::{AckFilter, Cake, CakeParams, Diffserv, Isolation};
use crate::discipline::{Around, Facts, LEAST_INTERVAL, Parameters, Place, memory_limit};
use airqueue_core::keys::check::{any, least, most, plain, some};
use airqueue_core::keys::{Layers, Result};
use airqueue_core::quantity::{Duration, Quantity, Rate, Size};
use airqueue_core::{BoxedQueue, Limit, QueueDisc, take};
use schemars::JsonSchema;
use serde::Deserialize;

/// Limit of `tc`.
const MOST_OVERHEAD: u32 = 256;

/// The parameters of CAKE, as of `tc qdisc add ... cake`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CakeTable {
    /// Rate of the shaper. The default is no shaper: packets leave as fast as the link takes them.
    pub rate: Option<Quantity<Rate>>,
    /// Bytes added to each IP packet for the shaper. The default is `link_layer`.
    pub overhead: Option<Quantity<Size>>,
    /// Minimum size of a packet for the shaper, overhead included. The default is `0 B`.
    pub mpu: Option<Quantity<Size>>,
    /// Priority tins, chosen by DSCP. The default is diffserv3.
    pub tins: Option<Diffserv>,
    /// Hosts and flows among which the rate is shared fairly. The default is triple-isolate.
    pub isolation: Option<Isolation>,
    /// Typical round-trip time of the flows, which sets COBALT's interval. The default is `100 ms`.
    pub rtt: Option<Quantity<Duration>>,
    /// Size of the largest packet, link layer included. The default is `1514 B`.
    pub mtu: Option<Quantity<Size>>,
    /// Limit of the memory of all queues together. The default is what the rate sends in four times `rtt`, at least 4 MiB.
    pub memory_limit: Option<Quantity<Size>>,
    /// TCP acknowledgements that are dropped because a later one makes them redundant. The default is no-ack-filter.
    pub ack_filter: Option<AckFilter>,
}

impl Parameters for CakeParams {
    type Table = CakeTable;
    const NAME: &'static str = "CAKE";
    const ABOUT: &'static str = "CAKE (Høiland-Jørgensen and others, 2018), as in Linux: a \
        shaper, classes by DSCP, fairness among hosts and flows, and \
        COBALT.";

    /// A limit in bytes is the memory limit.
    fn check(tables: &Layers<'_, CakeTable>, around: &Around) -> Result<CakeParams> {
        let mut params = CakeParams::default();
        take!(params.rate, tables.rate, some);
        take!(params.overhead, tables.overhead, |given| {
            most(MOST_OVERHEAD, "256 B")(given).map(|bytes| Some(bytes as i32))
        });
        take!(params.mpu, tables.mpu, most(MOST_OVERHEAD, "256 B"));
        take!(params.diffserv, tables.tins, any);
        take!(params.isolation, tables.isolation, any);
        take!(params.rtt, tables.rtt, least(LEAST_INTERVAL, "1 ms"));
        take!(params.mtu, tables.mtu, plain);
        take!(params.memory_limit, tables.memory_limit, |given| {
            memory_limit(around)(given).map(Some)
        });
        take!(params.ack_filter, tables.ack_filter, any);
        if let Some(Limit::Bytes(bytes)) = around.limit {
            params.memory_limit = Some(bytes);
        }
        Ok(params)
    }

    fn facts(&self) -> Facts {
        let memory = Limit::Bytes(self.memory());
        Facts {
            limit: memory,
            room: Some(memory),
            queues: Some(("cake", self.queues())),
            shapes: self.rate.is_some(),
            drops_waiting: true,
            ..Facts::default()
        }
    }

    fn make(&self, place: Place) -> BoxedQueue {
        let mut queue = Cake::new(*self, place.rng).with_link_layer(place.link_layer);
        queue.set_limit(place.limit);
        Box::new(queue)
    }
}
