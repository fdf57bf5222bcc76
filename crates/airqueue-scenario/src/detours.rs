//! The ways that flows take later in a run.

use super::error::{Result, wrong};
use super::file::ChangeTable;
use super::flows::{Draft, Flows, Made, Origin};
use super::nodes::Part;
use super::pacing::tcp_ap;
use super::room::Kept;
use airqueue_network::network::{Change, Hop, OtherRoute, Traffic};
use airqueue_network::{FlowId, RouteId};
use airqueue_transport::tcp::{Pacing, TcpApSpec};
use airqueue_transport::traffic::PACKET_BYTES;

impl Flows<'_> {
    /// Gives flows the ways that changes let them take. Of each change: which, if it is one of a way.
    pub(super) fn detours(&self, made: &mut Made) -> Result<Vec<Option<Change>>> {
        let mut ways = Vec::with_capacity(self.air.file.changes.len());
        for (at, table) in self.air.file.changes.iter().enumerate() {
            let key = format!("changes[{at}]");
            let first_hop = made.hops.len();
            ways.push(self.detour(&key, table, made)?);
            self.check_rooms(&key, made, first_hop, &mut Kept::default())?;
        }
        Ok(ways)
    }

    fn detour(&self, key: &str, table: &ChangeTable, made: &mut Made) -> Result<Option<Change>> {
        let Some(via) = &table.via else { return Ok(None) };
        let given = [
            ("link", table.link.is_some()),
            ("rate", table.rate.is_some()),
            ("station", table.station.is_some()),
            ("queue_limit", table.queue_limit.is_some()),
        ];
        if let Some((name, _)) = given.into_iter().find(|&(_, given)| given) {
            let problem = format_args!("it is of the way of a flow; leave `{name}` or `via` out");
            return wrong(key, problem);
        }
        let Some(name) = &table.flow else {
            return wrong(key, "with the key `via` the key `flow` is needed, too");
        };
        let flow = made.find(key, name)?;
        let Origin { table, told, from, to } = made.origins[flow];
        let table = &self.air.file.flows[table];
        if made.flows[flow].traffic.is_saturated() {
            let problem = format_args!(
                "{name:?} fills the queue of the station that it begins at, for its first hop; give it a rate, or \
                 source = \"tcp\""
            );
            return wrong(format_args!("{key}.flow"), problem);
        }
        let draft = Draft { key, table, via: Some(via), told, name: name.clone(), from, to };
        let way = self.way(&draft)?;
        let known = made.flows[flow].routes().position(|route| parts(route, made) == way);
        let place = match known {
            Some(place) => place,
            None => {
                let other = self.other_way(&draft, &way, flow, made)?;
                made.flows[flow].others.push(other);
                made.flows[flow].others.len()
            }
        };
        Ok(Some(Change::Route { flow: FlowId::at(flow), route: RouteId::at(place) }))
    }

    /// A way of a flow that it does not have yet.
    fn other_way(
        &self,
        draft: &Draft<'_>,
        way: &[Part],
        flow: usize,
        made: &mut Made,
    ) -> Result<OtherRoute> {
        match &made.flows[flow].traffic {
            Traffic::Tcp(tcp) => {
                let tcp = tcp.tcp;
                let (route, back) = self.there_and_back(draft, way, &tcp, made)?;
                if let Pacing::TcpAp(TcpApSpec { spread, .. }) = tcp.sender.pacing {
                    tcp_ap(draft.key, &route, &made.hops, self.air.phy, spread)?;
                }
                Ok(OtherRoute { route, back })
            }
            Traffic::Source { source, .. } => {
                let size_bytes = source.size_bytes;
                self.one_way(draft, way, size_bytes, made)
            }
            Traffic::Offered { .. } => {
                let size = draft.table.size.as_ref();
                self.one_way(draft, way, size.map_or(PACKET_BYTES, |size| size.value), made)
            }
        }
    }
}

/// What a route leads over.
fn parts(route: &[Hop], made: &Made) -> Vec<Part> {
    let part = |hop: &Hop| match *hop {
        Hop::Wire(wire) => Part::Wire(wire),
        Hop::Air(at) => {
            let hop = &made.hops[at.index()];
            Part::Air(hop.from.index(), hop.to.index())
        }
    };
    route.iter().map(part).collect()
}
