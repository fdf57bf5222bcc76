//! B of each flow (MESH Eq. (3)), and its shares (Eq. (16)) at all nodes of the route.

use super::{Bottleneck, Busy, Domains};

/// The limits of one flow along its route.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowBuffers {
    /// The domain that limits the flow.
    pub bottleneck: Bottleneck,
    /// RTT through the bottleneck without queues, and what there is outside the mesh.
    pub rtt_s: f64,
    /// λ in packets/s: of the slowest hop in the bottleneck, or of the flow's demand if that is less.
    pub packets_per_s: f64,
    /// The limit of each transmitting node in packets, from the source. The destination's queue has acknowledgements
    /// alone, and has what the last of them has.
    pub packets: Vec<u32>,
}

impl FlowBuffers {
    /// B = RTT · λ, Eq. (3): the packets that the nodes in the bottleneck hold together.
    pub fn packets_together(&self) -> f64 {
        self.rtt_s * self.packets_per_s
    }
}

impl Domains<'_> {
    /// The buffers of each flow. `segment_bytes`: the payload of a packet, which λ counts; `minimum`: the least limit
    /// of a node.
    pub fn buffers(
        &self,
        busy: Option<&Busy>,
        segment_bytes: f64,
        minimum: u32,
    ) -> Vec<FlowBuffers> {
        let bottlenecks = self.bottlenecks(busy).into_iter().enumerate();
        bottlenecks
            .map(|(flow, bottleneck)| self.sized(flow, bottleneck, segment_bytes, minimum))
            .collect()
    }

    fn sized(
        &self,
        flow: usize,
        bottleneck: Bottleneck,
        segment_bytes: f64,
        minimum: u32,
    ) -> FlowBuffers {
        let flow = &self.mesh.flows[flow];
        let inside = bottleneck.hops.iter().map(|&hop| &self.mesh.links[flow.hops[hop]]);
        let ceiling = flow.demand_bps.unwrap_or(f64::INFINITY);
        let rate_bps = inside.clone().map(|link| link.rate_bps).fold(ceiling, f64::min);
        let rtt_s = inside.map(|link| link.round_trip_s).sum::<f64>() + flow.other_delay_s;
        let packets_per_s = rate_bps / (8.0 * segment_bytes);
        let shares = shares(rtt_s * packets_per_s, bottleneck.hops.len(), minimum);
        let packets = along(flow.hops.len(), &bottleneck.hops, &shares);
        FlowBuffers { bottleneck, rtt_s, packets_per_s, packets }
    }
}

/// Eq. (16): B by the square root of the hop count, to the nearest packet, halves upwards, as the paper's buffers are.
fn shares(total: f64, nodes: usize, minimum: u32) -> Vec<u32> {
    if total < f64::from(minimum) * nodes as f64 {
        return vec![minimum; nodes];
    }
    let roots: Vec<f64> = (1..=nodes).map(|i| (i as f64).sqrt()).collect();
    let sum: f64 = roots.iter().sum();
    // A cast of a float saturates.
    let nearest = |root: &f64| (total * (root / sum) + 0.5).floor() as u32;
    roots.iter().map(|root| nearest(root).max(minimum)).collect()
}

/// The paper does not size the nodes of a flow outside its bottleneck: those before it have the share of its first node,
/// the others that of the last node before them.
fn along(hops: usize, inside: &[usize], shares: &[u32]) -> Vec<u32> {
    let share_at = |hop| shares[inside.partition_point(|&at| at <= hop).saturating_sub(1)];
    (0..hops).map(share_at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MESH section 6: B of 10, 8, 14, 15 and 85 packets, at four (three for B = 8) nodes.
    #[test]
    fn the_papers_shares() {
        assert_eq!(shares(10.16, 4, 1), [2, 2, 3, 3]);
        assert_eq!(shares(7.62, 3, 1), [2, 3, 3]);
        assert_eq!(shares(14.0, 4, 1), [2, 3, 4, 5]);
        assert_eq!(shares(85.27, 4, 1), [14, 20, 24, 28]);
    }

    #[test]
    fn no_node_has_less_than_the_minimum() {
        assert_eq!(shares(1.2, 4, 1), [1, 1, 1, 1]);
        assert_eq!(shares(4.4, 4, 1), [1, 1, 1, 1]);
        assert_eq!(shares(0.0, 2, 3), [3, 3]);
    }

    #[test]
    fn nodes_outside_the_bottleneck_have_their_neighbours_share() {
        assert_eq!(along(6, &[1, 2, 4], &[2, 3, 4]), [2, 2, 3, 3, 4, 4]);
        assert_eq!(along(3, &[2], &[5]), [5, 5, 5]);
    }
}
