//! Messages between the stations of a mesh that compute their limits by themselves: a flow from each station of a route
//! to each that decodes it, whose packets the runner of the network offers.

use super::error::Result;
use super::file::CategoryName;
use super::flows::BuiltFlows;
use super::links::decodes;
use super::radio_hops::{FlowRates, HopRequest, RadioHops};
use airqueue_core::{Ecn, Span};
use airqueue_network::network::{FlowSpec, Hop, NetworkSpec, Node, Traffic};
use airqueue_network::wlan::HopSpec;
use airqueue_network::{FlowId, HopId};
use airqueue_wifi::medium::StationId;
use std::collections::BTreeSet;

/// The longest message with the headers of IPv4 and UDP.
const MOST_BYTES: u32 = 1_228;
/// CS6 (RFC 4594), which stations with QoS send as voice.
const NETWORK_CONTROL: u8 = 48;

/// The hops of messages, apart from the network of the file: its flows and figures are the user's.
#[derive(Clone, Debug, Default)]
pub(super) struct Messages {
    hops: Vec<HopSpec>,
    /// The flow and the hop of the first message flow; the others follow.
    first: (usize, usize),
}

impl Messages {
    /// Hops in both directions between all stations on routes that decode each other.
    pub(super) fn new(radio_hops: &RadioHops, built: &BuiltFlows) -> Result<Messages> {
        let passed = built.hops.iter().flat_map(|hop| [hop.from, hop.to]);
        let passed: BTreeSet<usize> = passed.map(StationId::index).collect();
        let reach = &radio_hops.medium.reach;
        let mut messages =
            Messages { hops: Vec::new(), first: (built.flows.len(), built.hops.len()) };
        for (&from, &to) in passed.iter().flat_map(|from| passed.iter().map(move |to| (from, to))) {
            if from != to && decodes(reach, from, to) && decodes(reach, to, from) {
                let request = HopRequest {
                    name: format!("messages to {}", radio_hops.stations.name(to)),
                    from,
                    to,
                    size_bytes: MOST_BYTES,
                    category: Some(CategoryName::Vo),
                    report: None,
                };
                let rates = FlowRates { phy_rate: None, rate_control: None };
                messages.hops.push(radio_hops.hop("buffers", false, rates, request)?);
            }
        }
        Ok(messages)
    }

    /// The network with a flow over each hop.
    pub(super) fn added_to(&self, spec: &NetworkSpec) -> NetworkSpec {
        let mut spec = spec.clone();
        for (hop, (_, id)) in self.hops.iter().zip(self.flows()) {
            spec.flows.push(FlowSpec {
                name: hop.name.clone(),
                from: Node::Station(hop.from),
                to: Node::Station(hop.to),
                route: vec![Hop::Air(id)],
                others: Vec::new(),
                traffic: Traffic::Offered { ecn: Ecn::NotEct },
                dscp: NETWORK_CONTROL,
                spread: Span::ZERO,
            });
        }
        spec.wlan.hops.extend(self.hops.iter().cloned());
        spec
    }

    /// The flow of each hop, and the hop.
    pub(super) fn flows(&self) -> impl Iterator<Item = (FlowId, HopId)> {
        let (flow, hop) = self.first;
        (0..self.hops.len()).map(move |at| (FlowId::at(flow + at), HopId::at(hop + at)))
    }

    /// The flow from one station to another.
    pub(super) fn between(&self, from: StationId, to: StationId) -> Option<FlowId> {
        let at = self.hops.iter().position(|hop| (hop.from, hop.to) == (from, to))?;
        Some(FlowId::at(self.first.0 + at))
    }
}
