//! The routes that flows take later in a run.

use super::capacity::SaturatedBacklog;
use super::error::{Result, wrong};
use super::file::ChangeTable;
use super::flows::{BuiltFlows, FlowDraft, Flows, Origin};
use super::nodes::Leg;
use super::pacing::tcp_ap;
use airqueue_network::network::{AlternateRoute, Change, Hop, Traffic};
use airqueue_network::{FlowId, RouteId};
use airqueue_transport::tcp::{Pacing, TcpApSpec};
use airqueue_transport::traffic::PACKET_BYTES;

impl Flows<'_> {
    /// Gives flows the routes to which changes switch them. Returns, for each change, the change of route if the change
    /// is of this kind.
    pub(super) fn reroutes(&self, built: &mut BuiltFlows) -> Result<Vec<Option<Change>>> {
        let mut changes = Vec::with_capacity(self.radio_hops.file.changes.len());
        for (at, table) in self.radio_hops.file.changes.iter().enumerate() {
            let key = format!("changes[{at}]");
            let first_hop = built.hops.len();
            changes.push(self.reroute(&key, table, built)?);
            self.check_capacities(&key, built, first_hop, &mut SaturatedBacklog::default())?;
        }
        Ok(changes)
    }

    fn reroute(
        &self,
        key: &str,
        table: &ChangeTable,
        built: &mut BuiltFlows,
    ) -> Result<Option<Change>> {
        let Some(via) = &table.via else { return Ok(None) };
        let given = [
            ("link", table.link.is_some()),
            ("rate", table.rate.is_some()),
            ("station", table.station.is_some()),
            ("queue_limit", table.queue_limit.is_some()),
            ("queue", table.queue.is_some()),
            ("away", table.away.is_some()),
            ("host", table.host.is_some()),
            ("rate_to_host", table.rate_to_host.is_some()),
            ("delay", table.delay.is_some()),
            ("loss", table.loss.is_some()),
        ];
        if let Some((name, _)) = given.into_iter().find(|&(_, given)| given) {
            let problem = format_args!("it is of the route of a flow; leave `{name}` or `via` out");
            return wrong(key, problem);
        }
        let Some(name) = &table.flow else {
            return wrong(key, "with the key `via` the key `flow` is needed, too");
        };
        let flow = built.find(key, name)?;
        let Origin { table, flow_rates, from, to } = built.origins[flow];
        let table = &self.radio_hops.file.flows[table];
        if built.flows[flow].traffic.is_saturated() {
            let problem = format_args!(
                "{name:?} fills the queue of the station that it begins at, for its first hop; give it a rate, or \
                 source = \"tcp\""
            );
            return wrong(format_args!("{key}.flow"), problem);
        }
        let draft =
            FlowDraft { key, table, via: Some(via), flow_rates, name: name.clone(), from, to };
        let legs = self.legs(&draft)?;
        let known = built.flows[flow].routes().position(|route| parts(route, built) == legs);
        let place = match known {
            Some(place) => place,
            None => {
                self.add_route(&draft, &legs, flow, built)?;
                built.flows[flow].others.len()
            }
        };
        Ok(Some(Change::Route { flow: FlowId::at(flow), route: RouteId::at(place) }))
    }

    /// Gives a flow an alternative route that it does not have yet.
    pub(super) fn add_route(
        &self,
        draft: &FlowDraft<'_>,
        legs: &[Leg],
        flow: usize,
        built: &mut BuiltFlows,
    ) -> Result<()> {
        let other = self.alternate_route(draft, legs, flow, built)?;
        built.flows[flow].others.push(other);
        for lane in 0..built.flows[flow].lanes().len() {
            let other = self.alternate_route(draft, legs, flow, built)?;
            if let Traffic::Tcp(tcp) = &mut built.flows[flow].traffic {
                tcp.lanes[lane].push(other);
            }
        }
        Ok(())
    }

    /// The hops of an alternative route of a flow; of a flow with several lanes, for one of them.
    fn alternate_route(
        &self,
        draft: &FlowDraft<'_>,
        legs: &[Leg],
        flow: usize,
        built: &mut BuiltFlows,
    ) -> Result<AlternateRoute> {
        match &built.flows[flow].traffic {
            Traffic::Tcp(tcp) => {
                let tcp = tcp.tcp;
                let (route, back) = self.there_and_back(draft, legs, &tcp, built)?;
                if let Pacing::TcpAp(TcpApSpec { spread, .. }) = tcp.sender.pacing {
                    tcp_ap(draft.key, &route, &built.hops, self.radio_hops.phy, spread)?;
                }
                Ok(AlternateRoute { route, back })
            }
            &Traffic::Answered { source, answers, .. } => {
                let sizes = (source.size_bytes, answers);
                let (route, back) = self.asked_and_answered(draft, legs, sizes, built)?;
                Ok(AlternateRoute { route, back })
            }
            Traffic::Source { source, .. } => {
                let size_bytes = source.size_bytes;
                self.one_direction(draft, legs, size_bytes, built)
            }
            Traffic::Offered { .. } => {
                let size = draft.table.size.as_ref();
                self.one_direction(draft, legs, size.map_or(PACKET_BYTES, |size| size.value), built)
            }
        }
    }
}

/// The hops of a route, as stations and wires.
pub(super) fn parts(route: &[Hop], built: &BuiltFlows) -> Vec<Leg> {
    let part = |hop: &Hop| match *hop {
        Hop::Wire(wire) => Leg::Wire(wire),
        Hop::Air(at) => {
            let hop = &built.hops[at.index()];
            Leg::Air(hop.from.index(), hop.to.index())
        }
    };
    route.iter().map(part).collect()
}
