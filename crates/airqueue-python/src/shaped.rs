//! `serve`: packets through a queue behind a token bucket.

use crate::dicts::{Column, FatesDict};
use crate::error;
use airqueue_core::{DataRate, Ecn, FlowKey, Hosts, Packet, Seed, Time};
use airqueue_network::bottleneck::Outcome;
use airqueue_probe::records::MISSING;
use airqueue_scenario::shaped_queue;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// When each packet left, and whether it had been marked; times do not decrease.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "a column each")]
pub(crate) fn serve<'py>(
    py: Python<'py>,
    queue: &str,
    rate_bps: u64,
    burst_bytes: u32,
    seed: u64,
    at_ns: PyReadonlyArray1<'py, i64>,
    flow: PyReadonlyArray1<'py, u32>,
    size_bytes: PyReadonlyArray1<'py, u32>,
    ect: PyReadonlyArray1<'py, bool>,
    dscp: PyReadonlyArray1<'py, u8>,
    hosts: Vec<(u32, u32, u32)>,
) -> PyResult<FatesDict<'py>> {
    let rate = DataRate::from_bps(rate_bps).ok_or_else(|| error("rate_bps is 0"))?;
    let queue = shaped_queue(queue, rate, burst_bytes, Seed(seed))
        .map_err(|problem| PyValueError::new_err(problem.to_string()))?;
    let warnings = queue.warnings();
    let mut device = queue.device;
    let (at, flow) = (at_ns.as_slice()?, flow.as_slice()?);
    let (size, ect, dscp) = (size_bytes.as_slice()?, ect.as_slice()?, dscp.as_slice()?);
    for (flow, source, destination) in hosts {
        device.set_flow_hosts(flow, Hosts { source, destination });
    }
    let packets = (0..at.len()).map(|id| {
        let ecn = if ect[id] { Ecn::Ect } else { Ecn::NotEct };
        let packet = Packet::new(id as u64, FlowKey(flow[id]), size[id], Time::from_nanos(at[id]));
        Packet { ecn, dscp: dscp[id], ..packet }
    });
    let mut left = vec![MISSING; at.len()];
    let mut marked = vec![false; at.len()];
    py.detach(|| {
        device.replay(packets, |now, outcome| {
            if let Outcome::Delivered(packet) = outcome {
                left[packet.id as usize] = now.as_nanos();
                marked[packet.id as usize] = packet.ecn == Ecn::Ce;
            }
        });
    });
    let (left_ns, marked) = (Column::new(py, left), Column::new(py, marked));
    Ok(FatesDict { left_ns, marked, warnings })
}
