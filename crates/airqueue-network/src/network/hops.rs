//! The hops of all routes, and the counters of packets on them.

use super::spec::{FlowSpec, Hop, NetworkError, NetworkSpec, Node, Traffic};
use crate::counters::{Delivered, HopCounters};
use crate::{ConnectionId, HopId, PathId, RouteId};
use airqueue_core::{Dropped, Ecn, Hosts, Packet, Time};
use std::iter::once;

/// The path of a hop that no route has.
const NONE: PathId = PathId(u32::MAX);

/// A hop of a route. See [`HopId`].
#[derive(Clone, Copy, Debug)]
pub(super) struct RouteHop {
    pub(super) over: Hop,
    /// Whose packets take the hop.
    pub(super) path: PathId,
    /// The next hop of the route.
    pub(super) next: Option<HopId>,
    /// The route begins with the hop.
    pub(super) first: bool,
}

/// What the packets of a path are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// They only have to arrive.
    Sink,
    /// They carry segments to the receiving end of a connection.
    Receiver(ConnectionId),
    /// The same to its sending end.
    Sender(ConnectionId),
    /// Whoever offered them wants to know what becomes of them.
    Outside,
}

/// One direction of a flow: from one end to the other by one of several routes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    /// Where packets set out now.
    pub(super) first: HopId,
    /// Its routes, one after the other, among the [`Hops::routes`]: where they begin, and the end.
    routes: (u32, u32),
    pub(super) end: End,
    /// What its packets say of congestion when they set out.
    pub(super) ecn: Ecn,
    /// Their differentiated services codepoint.
    pub(super) dscp: u8,
    /// Where they come from and where they go.
    pub(super) hosts: Hosts,
}

/// What is known of the packets of a hop.
#[derive(Clone, Debug, Default)]
pub(super) struct HopState {
    /// Packets in the queue of a hop over the air, or in the wire.
    pub(super) waiting: u64,
    /// Somebody waits for packets behind the hop: another hop, TCP, or whoever offered them.
    pub(super) leads_on: bool,
    /// Somebody wants to know of packets that are lost here.
    pub(super) loss_matters: bool,
    pub(super) counters: HopCounters,
    /// What had been delivered when counting began.
    before: Delivered,
}

/// All hops of a network.
#[derive(Debug, Default)]
pub(super) struct Hops {
    pub(super) all: Vec<RouteHop>,
    pub(super) states: Vec<HopState>,
    pub(super) paths: Vec<Path>,
    /// The hops of the routes of all paths, in the order in which packets take them.
    routes: Vec<HopId>,
    over_air: usize,
}

impl HopState {
    /// What has been delivered since time zero.
    fn delivered_ever(&self) -> Delivered {
        self.before.plus(&self.counters)
    }

    #[inline]
    pub(super) fn on_offered(&mut self, packet: &Packet) {
        self.counters.offered.add(packet);
        self.waiting += 1;
    }

    fn start_counting(&mut self) {
        self.before = self.delivered_ever();
        self.counters.clear();
    }
}

impl Hops {
    pub(super) fn new(spec: &NetworkSpec) -> Result<Hops, NetworkError> {
        let over_air = spec.wlan.hops.len();
        let unused =
            |at| RouteHop { over: Hop::Air(HopId::at(at)), path: NONE, next: None, first: true };
        let all = (0..over_air).map(unused).collect();
        let mut hops = Hops { all, over_air, ..Hops::default() };
        let mut connections = (0..).map(ConnectionId);
        for flow in &spec.flows {
            match &flow.traffic {
                Traffic::Tcp(tcp) => {
                    let connection = connections.next().expect("numbers without end");
                    hops.add(spec, flow, flow.routes(), End::Receiver(connection), Ecn::NotEct)?;
                    let back = flow.others.iter().map(|other| &*other.back);
                    let back = once(&*tcp.back).chain(back);
                    hops.add(spec, flow, back, End::Sender(connection), Ecn::NotEct)?;
                }
                &Traffic::Source { ecn, .. } => {
                    hops.add(spec, flow, flow.routes(), End::Sink, ecn)?;
                }
                &Traffic::Offered { ecn } => {
                    hops.add(spec, flow, flow.routes(), End::Outside, ecn)?;
                }
            }
        }
        hops.states = hops.all.iter().map(|hop| hops.state_of(hop)).collect();
        Ok(hops)
    }

    fn state_of(&self, hop: &RouteHop) -> HopState {
        let end = self.paths.get(hop.path.index()).map_or(End::Sink, |path| path.end);
        let loss_matters = end != End::Sink;
        HopState {
            // Delays are those of packets that have arrived.
            counters: match hop.next {
                None => HopCounters::default(),
                Some(_) => HopCounters::without_delays(),
            },
            leads_on: hop.next.is_some() || loss_matters,
            loss_matters,
            ..HopState::default()
        }
    }

    /// A path with its routes, the first of which packets take until they are told to take another.
    fn add<'a>(
        &mut self,
        spec: &NetworkSpec,
        flow: &FlowSpec,
        routes: impl Iterator<Item = &'a [Hop]>,
        end: End,
        ecn: Ecn,
    ) -> Result<(), NetworkError> {
        let (path, begin) = (PathId::at(self.paths.len()), self.routes.len());
        for route in routes {
            self.add_route(spec, flow, route, path)?;
        }
        let routes = (begin as u32, self.routes.len() as u32);
        let (from, to) = match end {
            End::Sender(_) => (flow.to, flow.from),
            _ => (flow.from, flow.to),
        };
        let hosts = Hosts { source: host(from), destination: host(to) };
        let first = self.routes[begin];
        self.paths.push(Path { first, routes, end, ecn, dscp: flow.dscp, hosts });
        Ok(())
    }

    fn add_route(
        &mut self,
        spec: &NetworkSpec,
        flow: &FlowSpec,
        route: &[Hop],
        path: PathId,
    ) -> Result<(), NetworkError> {
        if route.is_empty() {
            return Err(NetworkError::NoRoute { flow: flow.name.clone() });
        }
        let begin = self.routes.len();
        for &over in route {
            let number = match over {
                Hop::Air(hop)
                    if self.all[..self.over_air].get(hop.index()).is_some_and(is_free) =>
                {
                    hop
                }
                Hop::Wire(wire) if wire.index() < spec.wires.len() => HopId::at(self.all.len()),
                hop => return Err(NetworkError::Hop { flow: flow.name.clone(), hop }),
            };
            let first = self.routes.len() == begin;
            let hop = RouteHop { over, path, next: None, first };
            match self.all.get_mut(number.index()) {
                Some(unused) => *unused = hop,
                None => self.all.push(hop),
            }
            if let Some(&before) = self.routes[begin..].last() {
                self.all[before.index()].next = Some(number);
            }
            self.routes.push(number);
        }
        Ok(())
    }

    /// The routes of a path, each by its hops.
    pub(super) fn routes(&self, path: PathId) -> impl Iterator<Item = &[HopId]> {
        let (begin, end) = self.paths[path.index()].routes;
        let is_last = |hop: &HopId| self.all[hop.index()].next.is_none();
        self.routes[begin as usize..end as usize].split_inclusive(is_last)
    }

    /// Which of its routes the packets of a path take.
    pub(super) fn route_of(&self, path: PathId) -> RouteId {
        let first = self.paths[path.index()].first;
        let taken = self.routes(path).position(|route| route[0] == first);
        RouteId::at(taken.expect("packets take one of them"))
    }

    /// The hops of the route that the packets of a path take.
    pub(super) fn hops_of(&self, path: PathId) -> &[HopId] {
        self.routes(path).nth(self.route_of(path).index()).expect("packets take one of them")
    }

    /// From now on the packets of a path set out on this one of its routes. Those that have set out go on as they began.
    ///
    /// # Panics
    ///
    /// If the path has no such route.
    pub(super) fn take_route(&mut self, path: PathId, route: RouteId) {
        let first = self.routes(path).nth(route.index()).expect("the path has the route")[0];
        self.paths[path.index()].first = first;
    }

    /// The ends of the flow of a hop, if any flow has it.
    pub(super) fn hosts_of(&self, hop: HopId) -> Option<Hosts> {
        let path = self.all[hop.index()].path;
        self.paths.get(path.index()).map(|path| path.hosts)
    }

    #[inline]
    pub(super) fn of(&self, packet: &Packet) -> &RouteHop {
        &self.all[HopId::of(packet).index()]
    }

    #[inline]
    pub(super) fn state(&mut self, packet: &Packet) -> &mut HopState {
        &mut self.states[HopId::of(packet).index()]
    }

    /// A packet enters the queue of its hop, or its wire.
    #[inline]
    pub(super) fn on_offered(&mut self, packet: &Packet) {
        self.state(packet).on_offered(packet);
    }

    /// A packet that was offered has been dropped by the queue.
    #[inline]
    pub(super) fn on_dropped(&mut self, dropped: &Dropped) -> &HopState {
        let state = self.state(&dropped.packet);
        state.counters.on_dropped(dropped);
        state.waiting -= 1;
        state
    }

    /// A packet has been taken out of the queue in front of its wire, and is in the wire still.
    pub(super) fn on_taken(&mut self, packet: &Packet, now: Time) {
        self.state(packet).counters.on_taken(packet, now);
    }

    /// A packet has come out of the far end of its wire.
    pub(super) fn on_left_wire(&mut self, packet: &Packet, now: Time) {
        let state = self.state(packet);
        state.counters.on_delivered(packet, now);
        state.waiting -= 1;
    }

    /// What has been delivered at the end of a route since time zero.
    pub(super) fn delivered_ever(&self, route: &[HopId]) -> Delivered {
        let last = *route.last().expect("a route has hops");
        self.states[last.index()].delivered_ever()
    }

    /// Counting begins anew for the hops over the air, or for the others.
    pub(super) fn start_counting(&mut self, over_air: bool) {
        let (air, wires) = self.states.split_at_mut(self.over_air);
        (if over_air { air } else { wires }).iter_mut().for_each(HopState::start_counting);
    }
}

/// The number of a node among all of them.
fn host(node: Node) -> u32 {
    match node {
        Node::Station(station) => station.0,
        Node::Host(host) => !host,
    }
}

/// Whether no route has the hop yet.
fn is_free(hop: &RouteHop) -> bool {
    hop.path == NONE
}
