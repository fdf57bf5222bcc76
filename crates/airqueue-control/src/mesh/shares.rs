//! What the arithmetic gives a router: its shares of the flows' buffers.

use super::policy::{DomainsBy, Policy};
use super::reason::FlowReason;
use super::sizing::{Domains, FlowBuffers};
use super::statement::{FlowNumber, RouterId};
use super::view::{Unknown, View};
use std::collections::{BTreeMap, BTreeSet};

/// The router's limit of each flow of its view, with the reason.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    packets: BTreeMap<FlowNumber, u32>,
    sized: BTreeMap<FlowNumber, FlowReason>,
    /// For the flows that were asked for last.
    pub(super) reasons: BTreeMap<FlowNumber, FlowReason>,
}

impl Shares {
    /// Computes the shares of a router in a view.
    pub(super) fn compute(&mut self, view: &View, router: RouterId, policy: &Policy) {
        self.packets.clear();
        self.sized.clear();
        // The view keeps within the bounds of meshes.
        let Ok(domains) = Domains::new(&view.mesh) else { return };
        let busy = (policy.domains == DomainsBy::Busy).then_some(&view.busy);
        let all = domains.buffers(busy, f64::from(policy.segment_bytes), policy.minimum_packets);
        for (i, buffers) in all.iter().enumerate() {
            if let Some(packets) = share(view, i, buffers, router) {
                self.packets.insert(view.flows[i], packets);
                self.sized.insert(view.flows[i], FlowReason::sized(view, i, buffers, packets));
            }
        }
    }

    /// The limits of a router's own flows, or why there is none.
    pub(super) fn of_flows(
        &mut self,
        flows: BTreeSet<FlowNumber>,
        view: &View,
    ) -> BTreeMap<FlowNumber, Result<u32, Unknown>> {
        self.reasons.clear();
        let mut sizes = BTreeMap::new();
        for flow in flows {
            let routed = view.flows.binary_search(&flow).is_ok();
            let no_route = if routed { Unknown::Elsewhere } else { Unknown::Unstated };
            let size = self.packets.get(&flow).copied();
            let size = size.ok_or(view.unknown.get(&flow).copied().unwrap_or(no_route));
            let reason = match size {
                Ok(_) => self.sized[&flow],
                Err(why) => FlowReason::Unknown(why),
            };
            self.reasons.insert(flow, reason);
            sizes.insert(flow, size);
        }
        sizes
    }
}

/// The limit at a router: that of its hop, or at the destination that of the last.
fn share(view: &View, flow: usize, buffers: &FlowBuffers, router: RouterId) -> Option<u32> {
    let node = view.routers.binary_search(&router).ok()?;
    let mesh = &view.mesh;
    let hops = &mesh.flows[flow].hops;
    let hop = hops.iter().position(|&hop| mesh.links[hop].sender == node);
    let arrives = hops.last().is_some_and(|&hop| mesh.links[hop].receiver == node);
    hop.or(arrives.then(|| hops.len() - 1)).map(|hop| buffers.packets[hop])
}
