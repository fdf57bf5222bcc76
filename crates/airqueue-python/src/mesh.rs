//! `mesh_buffers`: the arithmetic by which the routers of a mesh divide its buffers.

use crate::dicts::MeshBuffersDict;
use crate::error;
use airqueue_control::mesh::sizing::{Busy, Domains, Flow, Link, Mesh};
use pyo3::prelude::*;

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
