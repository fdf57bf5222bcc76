//! From the statements of routers to the mesh that they describe.

use super::sizing::{Busy, Flow, Link, Mesh};
use super::statement::{FlowNumber, Hop, RouterId, Statement};
use std::collections::BTreeMap;
use std::fmt;

/// The most flows that routers size together. With more, none is sized: neighbours cannot make a router compute for long.
pub const MOST_FLOWS: usize = 128;
/// The most hops of these together.
pub const MOST_HOPS: usize = 1_024;
/// The most hops of a route.
pub const MOST_ROUTE_HOPS: usize = 64;

/// Why a flow is not sized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// No router, or more than one, says that the flow begins there.
    Source,
    /// A router of the route says nothing of the flow, or is not known at all.
    Silent(RouterId),
    /// The second router says that the flow comes from elsewhere than the first.
    Disagreed(RouterId, RouterId),
    /// The first router does not know the rate to the second.
    Rate(RouterId, RouterId),
    /// The route has more than [`MOST_ROUTE_HOPS`] hops, or comes by a router twice.
    Long,
    /// There are more than [`MOST_FLOWS`] flows or [`MOST_HOPS`] hops.
    Crowded,
    /// The route that routers state does not pass this one.
    Elsewhere,
    /// The router itself has more than [`Statement::MOST_FLOWS`] flows, or more links or neighbours than it can state.
    Unstated,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unknown::Source => f.write_str("no single router says that it begins there"),
            Unknown::Silent(router) => write!(f, "{router} says nothing of it"),
            Unknown::Disagreed(from, at) => {
                write!(f, "{at} does not say that it comes from {from}")
            }
            Unknown::Rate(from, to) => write!(f, "{from} does not know the rate to {to}"),
            Unknown::Long => {
                write!(f, "its route comes back, or has more than {MOST_ROUTE_HOPS} hops")
            }
            Unknown::Crowded => {
                write!(
                    f,
                    "more than {MOST_FLOWS} flows, or {MOST_HOPS} hops of flows, share the air"
                )
            }
            Unknown::Elsewhere => f.write_str("the route that routers state does not pass here"),
            Unknown::Unstated => {
                write!(f, "this router can state only {} flows", Statement::MOST_FLOWS)
            }
        }
    }
}

/// The mesh of flows whose routes are known, and why others are not.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct View {
    /// Nodes of the mesh, ascending.
    pub(super) routers: Vec<RouterId>,
    /// Flows of the mesh, ascending.
    pub(super) flows: Vec<FlowNumber>,
    pub(super) mesh: Mesh,
    pub(super) busy: Busy,
    pub(super) unknown: BTreeMap<FlowNumber, Unknown>,
}

type Statements<'a> = BTreeMap<RouterId, &'a Statement>;

impl View {
    /// Assembles what routers state, whatever it is.
    pub(super) fn of<'a>(reached: impl Iterator<Item = (RouterId, &'a Statement)>) -> View {
        let statements: Statements = reached.collect();
        let mut flows: BTreeMap<FlowNumber, Vec<RouterId>> = BTreeMap::new();
        for (&router, statement) in &statements {
            for (number, hop) in &statement.flows {
                let sources = flows.entry(*number).or_default();
                if hop.previous.is_none() {
                    sources.push(router);
                }
            }
        }
        let mut view = View::default();
        let mut routes = BTreeMap::new();
        for (number, sources) in flows {
            match route(number, &sources, &statements) {
                Ok(route) => drop(routes.insert(number, route)),
                Err(why) => drop(view.unknown.insert(number, why)),
            }
        }
        let hops: usize = routes.values().map(|route| route.len() - 1).sum();
        if routes.len() > MOST_FLOWS || hops > MOST_HOPS {
            view.unknown.extend(routes.into_keys().map(|number| (number, Unknown::Crowded)));
        } else {
            view.add(&routes, &statements);
        }
        view
    }

    /// Makes the mesh of complete routes: links ascend by sender and receiver, as `observed` meshes do, so that of
    /// equal domains all take the same.
    fn add(&mut self, routes: &BTreeMap<FlowNumber, Vec<RouterId>>, statements: &Statements) {
        self.routers = routes.values().flatten().copied().collect();
        self.routers.sort_unstable();
        self.routers.dedup();
        let node = |router: RouterId| self.routers.binary_search(&router).unwrap_or_default();
        let hops = routes.values().flat_map(|route| route.windows(2).map(|w| (w[0], w[1])));
        let mut used: Vec<(RouterId, RouterId)> = hops.collect();
        used.sort_unstable();
        used.dedup();
        let link = |&(from, to): &(RouterId, RouterId)| {
            let facts = statements[&from].link(to)?;
            Some(Link {
                sender: node(from),
                receiver: node(to),
                rate_bps: facts.rate_bps as f64,
                round_trip_s: f64::from(facts.round_trip_ns) / 1e9,
                channel: facts.channel,
            })
        };
        self.mesh.links = used.iter().filter_map(link).collect();
        for (number, route) in routes {
            let source = statements[&route[0]].hop(*number).copied().unwrap_or_default();
            let at = |w: &[RouterId]| used.binary_search(&(w[0], w[1])).unwrap_or_default();
            self.flows.push(*number);
            self.mesh.flows.push(Flow {
                hops: route.windows(2).map(at).collect(),
                demand_bps: source.demand_bps.map(|bps| bps as f64),
                other_delay_s: f64::from(source.other_delay_us) / 1e6,
            });
        }
        for (i, router) in self.routers.iter().enumerate() {
            let heard = self.routers[..i].iter().enumerate().filter(|(_, other)| {
                statements[router].hears(**other) || statements[other].hears(*router)
            });
            self.mesh.hears.extend(heard.map(|(other, _)| (other, i)));
            let busy = statements[router].busy;
            self.busy.fraction.push(f64::from(busy.percent) / 100.0);
            self.busy.full.push(busy.full);
        }
        self.mesh.nodes = self.routers.len();
    }
}

/// The routers of a flow from the source; both ends of each hop must state it, and the sender its rate.
fn route(
    number: FlowNumber,
    sources: &[RouterId],
    statements: &Statements,
) -> Result<Vec<RouterId>, Unknown> {
    let [source] = sources else { return Err(Unknown::Source) };
    let mut route = vec![*source];
    let mut hop: &Hop = statements[source].hop(number).ok_or(Unknown::Source)?;
    while let Some(next) = hop.next {
        let at = route[route.len() - 1];
        if route.len() > MOST_ROUTE_HOPS || route.contains(&next) {
            return Err(Unknown::Long);
        }
        statements[&at].link(next).ok_or(Unknown::Rate(at, next))?;
        let stated = statements.get(&next).and_then(|statement| statement.hop(number));
        hop = stated.ok_or(Unknown::Silent(next))?;
        if hop.previous != Some(at) {
            return Err(Unknown::Disagreed(at, next));
        }
        route.push(next);
    }
    Ok(route)
}
