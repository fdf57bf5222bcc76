//! `MeshRouter`, a router of a mesh that computes limits by itself, and `mesh_buffers`, its arithmetic for a whole mesh.

use crate::dicts::{MeshBuffersDict, MeshDecisionDict, MeshLimitDict, MeshReasonDict};
use crate::{convert, error};
use airqueue_control::mesh::sizing::{Busy, Domains, Flow, Link, Mesh};
use airqueue_control::mesh::{
    Decision, DomainsBy, FlowNumber, FlowReason, Hop, LinkFacts, MeshKey, Policy, Queues, Router,
    RouterId, Slot,
};
use airqueue_core::Time;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// (sender, receiver, rate_bps, round_trip_s, channel)
type NativeLink = (usize, usize, f64, f64, u8);
/// (links of the route, demand_bps, other_delay_s)
type NativeFlow = (Vec<usize>, Option<f64>, f64);

/// (nodes, hears, links, flows)
type NativeMesh = (usize, Vec<(usize, usize)>, Vec<NativeLink>, Vec<NativeFlow>);

/// The buffers of each flow. busy: for each node the fraction of time, and whether its medium counts as full; without it
/// bottlenecks are those of max-min fair rates.
#[pyfunction]
#[pyo3(signature = (mesh, *, segment_bytes, minimum_packets, busy = None))]
pub(crate) fn mesh_buffers(
    py: Python<'_>,
    mesh: NativeMesh,
    segment_bytes: u32,
    minimum_packets: u32,
    busy: Option<(Vec<f64>, Vec<bool>)>,
) -> PyResult<Vec<MeshBuffersDict>> {
    let (nodes, hears, links, flows) = mesh;
    let link = |(sender, receiver, rate_bps, round_trip_s, channel)| Link {
        sender,
        receiver,
        rate_bps,
        round_trip_s,
        channel,
    };
    let flow = |(hops, demand_bps, other_delay_s)| Flow { hops, demand_bps, other_delay_s };
    let links = links.into_iter().map(link).collect();
    let mesh = Mesh { nodes, hears, links, flows: flows.into_iter().map(flow).collect() };
    let busy = busy.map(|(fraction, full)| Busy { fraction, full });
    let segment_bytes = f64::from(segment_bytes.max(1));
    let found = py.detach(|| {
        Domains::new(&mesh).map(|of| of.buffers(busy.as_ref(), segment_bytes, minimum_packets))
    });
    let dict = |of: airqueue_control::mesh::sizing::FlowBuffers| MeshBuffersDict {
        buffer_packets: of.packets_together(),
        centre: of.bottleneck.centre,
        hops: of.bottleneck.hops,
        utilisation: of.bottleneck.utilisation,
        full: of.bottleneck.full,
        packets: of.packets,
    };
    Ok(found.map_err(error)?.into_iter().map(dict).collect())
}

/// (previous, next, demand_bps, other_delay_us)
type NativeHop = (Option<u32>, Option<u32>, Option<u64>, u32);

/// A router of a mesh. Times are nanoseconds on any clock of the caller.
#[pyclass(name = "MeshRouter", module = "airqueue._native")]
pub(crate) struct PyMeshRouter(Router);

#[pymethods]
impl PyMeshRouter {
    #[new]
    #[pyo3(signature = (
        number, boot, secret, *, queues, domains, unsized_packets, segment_bytes, every_s, hold_s
    ))]
    #[expect(clippy::too_many_arguments)] // they are Python's keywords
    fn new(
        number: u32,
        boot: u32,
        secret: &[u8],
        queues: &str,
        domains: &str,
        unsized_packets: u32,
        segment_bytes: u32,
        every_s: f64,
        hold_s: f64,
    ) -> PyResult<Self> {
        let queues = match queues {
            "node" => Queues::Node,
            "flow" => Queues::Flow,
            _ => return Err(error(format!("queues is {queues:?}, expected \"node\" or \"flow\""))),
        };
        let domains = match domains {
            "two-hop" => DomainsBy::TwoHop,
            "busy" => DomainsBy::Busy,
            _ => {
                let problem = format!("domains is {domains:?}, expected \"two-hop\" or \"busy\"");
                return Err(error(problem));
            }
        };
        let key = MeshKey::new(secret).ok_or_else(|| error("secret has less than 16 bytes"))?;
        let policy = Policy {
            queues,
            domains,
            unsized_packets,
            segment_bytes,
            every: convert::span("every_s", every_s)?,
            hold: convert::span("hold_s", hold_s)?,
            ..Policy::default()
        };
        Router::new(RouterId(number), boot, key, policy).map(PyMeshRouter).map_err(error)
    }

    /// Takes in a message, and returns why it was refused, if it was.
    fn on_message(&mut self, sender: u32, message: &[u8], now_ns: i64) -> Option<String> {
        let taken = self.0.on_message(RouterId(sender), message, Time::from_nanos(now_ns));
        taken.err().map(|refused| refused.to_string())
    }

    /// Takes in a link to a neighbour.
    fn on_link(
        &mut self,
        neighbour: u32,
        rate_bps: u64,
        round_trip_ns: u32,
        now_ns: i64,
    ) -> PyResult<()> {
        let facts = LinkFacts { rate_bps, round_trip_ns, channel: 1 };
        let now = Time::from_nanos(now_ns);
        self.0.on_link(RouterId(neighbour), Some(facts), now).map_err(error)
    }

    /// Takes in how a flow passes; None: it passes no more.
    #[pyo3(signature = (flow, hop, now_ns))]
    fn on_route(&mut self, flow: u32, hop: Option<NativeHop>, now_ns: i64) -> PyResult<()> {
        let hop = hop.map(|(previous, next, demand_bps, other_delay_us)| Hop {
            previous: previous.map(RouterId),
            next: next.map(RouterId),
            demand_bps,
            other_delay_us,
        });
        self.0.on_route(FlowNumber(flow), hop, Time::from_nanos(now_ns)).map_err(error)
    }

    /// Takes in that packets of a flow pass.
    fn on_active(&mut self, flow: u32, now_ns: i64) {
        self.0.on_active(FlowNumber(flow), Time::from_nanos(now_ns));
    }

    /// Takes in how busy the medium was since the last call.
    fn on_busy(&mut self, fraction: f64, now_ns: i64) -> PyResult<()> {
        self.0.on_busy(fraction, Time::from_nanos(now_ns)).map_err(error)
    }

    /// Lets time pass.
    fn on_time(&mut self, now_ns: i64) {
        self.0.on_time(Time::from_nanos(now_ns));
    }

    /// The next message for all neighbours, if it is time for one.
    fn poll_message<'py>(&mut self, py: Python<'py>, now_ns: i64) -> Option<Bound<'py, PyBytes>> {
        let message = self.0.poll_message(Time::from_nanos(now_ns))?;
        Some(PyBytes::new(py, &message))
    }

    /// The limits to set, if they have changed.
    fn poll_decision(&mut self, now_ns: i64) -> Option<MeshDecisionDict> {
        let Decision { changes, reasons, .. } = self.0.poll_decision(Time::from_nanos(now_ns))?;
        let limit = |(slot, packets)| MeshLimitDict { flow: flow_of(slot), packets };
        let reason = |(FlowNumber(flow), why): (_, FlowReason)| MeshReasonDict {
            flow,
            reason: why.to_string(),
        };
        Some(MeshDecisionDict {
            changes: changes.into_iter().map(limit).collect(),
            reasons: reasons.into_iter().map(reason).collect(),
        })
    }
}

fn flow_of(slot: Slot) -> Option<u32> {
    match slot {
        Slot::Node => None,
        Slot::Flow(flow) => Some(flow.0),
    }
}
