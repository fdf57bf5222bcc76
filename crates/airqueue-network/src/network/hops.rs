//! The hops of all routes, and their packet counters.

use super::opportunities::Watch;
use super::spec::{FlowSpec, Hop, NetworkError, NetworkSpec, Node, Traffic};
use super::trace::{Step, Traced};
use crate::counters::{Delivered, HopCounters};
use crate::{ConnectionId, HopId, MessagesId, PathId, RouteId};
use airqueue_core::{Dropped, Ecn, Hosts, Packet, Time};
use airqueue_transport::traffic::Arrivals;
use std::iter::once;

/// The path of a hop that is on no route.
const NONE: PathId = PathId(u32::MAX);

/// A hop of a route. See [`HopId`].
#[derive(Clone, Copy, Debug)]
pub(super) struct RouteHop {
    pub(super) over: Hop,
    /// The path whose packets take the hop.
    pub(super) path: PathId,
    /// The next hop of the route.
    pub(super) next: Option<HopId>,
    /// Whether the hop is the first of its route.
    pub(super) first: bool,
}

/// What a path does with delivered packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Only counts them.
    Sink,
    /// Hands their segments to the receiver of a connection.
    Receiver(ConnectionId),
    /// Hands their segments to the sender of a connection.
    Sender(ConnectionId),
    /// Collects the packets of pictures.
    Viewer(MessagesId),
    /// Answers requests.
    Server(MessagesId),
    /// Collects the packets of answers.
    Client(MessagesId),
    /// Reports the outcome to whoever offered the packets.
    Outside,
}

/// One direction of a flow: from one end to the other by one of several routes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    /// The first hop of the present route.
    pub(super) first: HopId,
    /// The path's routes in [`Hops::routes`], one after the other: start and end.
    routes: (u32, u32),
    pub(super) end: End,
    /// The ECN field of the path's packets at their source.
    pub(super) ecn: Ecn,
    /// The differentiated services codepoint of the path's packets.
    pub(super) dscp: u8,
    /// The source and the destination of the path's packets.
    pub(super) hosts: Hosts,
    /// Whether the path's sender has few packets in the queue of its own station.
    small_queue: bool,
}

/// The state and counters of the packets of a hop.
#[derive(Clone, Debug, Default)]
pub(super) struct HopState {
    /// Packets in the queue of a hop over the air, or in the wire.
    pub(super) waiting: u64,
    /// Whether delivered packets matter to something behind the hop: another hop, TCP, or whoever offered them.
    pub(super) leads_on: bool,
    /// Whether losses on this hop must be reported.
    pub(super) loss_matters: bool,
    /// Whether the sender is told when the station no longer has a packet.
    pub(super) sender_waits: bool,
    /// Whether the packets are TCP segments whose headers the queue reads.
    pub(super) shows_headers: bool,
    /// Whether [`Hops::watch`] is of this hop.
    pub(super) watched: bool,
    pub(super) counters: HopCounters,
    /// Deliveries at the time when counting began.
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
    /// Steps of packets from outside, if somebody wants to know them.
    pub(super) trace: Option<Vec<Traced>>,
    /// Of hops over the air, if somebody wants to know what the medium gives them.
    pub(super) watch: Option<Box<Watch>>,
}

impl HopState {
    /// Deliveries since time zero.
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
        let mut messages = (0..).map(MessagesId);
        for flow in &spec.flows {
            match &flow.traffic {
                Traffic::Tcp(tcp) => {
                    let connection = connections.next().expect("numbers without end");
                    hops.add(spec, flow, flow.routes(), End::Receiver(connection), Ecn::NotEct)?;
                    let back = flow.others.iter().map(|other| &*other.back);
                    let back = once(&*tcp.back).chain(back);
                    hops.add(spec, flow, back, End::Sender(connection), Ecn::NotEct)?;
                    for lane in &tcp.lanes {
                        let connection = connections.next().expect("numbers without end");
                        let (receiver, sender) =
                            (End::Receiver(connection), End::Sender(connection));
                        let there = lane.iter().map(|of| &*of.route);
                        hops.add(spec, flow, there, receiver, Ecn::NotEct)?;
                        let back = lane.iter().map(|of| &*of.back);
                        hops.add(spec, flow, back, sender, Ecn::NotEct)?;
                    }
                }
                &Traffic::Source { ecn, source } => {
                    let end = match source.arrivals {
                        Arrivals::Frames(_) => {
                            End::Viewer(messages.next().expect("numbers without end"))
                        }
                        _ => End::Sink,
                    };
                    hops.add(spec, flow, flow.routes(), end, ecn)?;
                }
                &Traffic::Answered { ecn, ref back, .. } => {
                    let id = messages.next().expect("numbers without end");
                    hops.add(spec, flow, flow.routes(), End::Server(id), ecn)?;
                    let others = flow.others.iter().map(|other| &*other.back);
                    hops.add(spec, flow, once(&**back).chain(others), End::Client(id), ecn)?;
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
        let path = self.paths.get(hop.path.index());
        let end = path.map_or(End::Sink, |path| path.end);
        let loss_matters = end != End::Sink;
        let over_air = matches!(hop.over, Hop::Air(_));
        HopState {
            sender_waits: over_air && hop.first && path.is_some_and(|path| path.small_queue),
            // Quantiles of delays are counted for packets that have arrived. For packets from outside they are counted
            // by whoever offers the packets, often in thousands of flows.
            counters: match hop.next {
                None if end != End::Outside => HopCounters::default(),
                _ => HopCounters::without_delays(),
            },
            leads_on: hop.next.is_some() || loss_matters,
            loss_matters,
            ..HopState::default()
        }
    }

    /// Adds a path with its routes. Packets take the first route until [`Self::take_route`] selects another.
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
            End::Sender(_) | End::Client(_) => (flow.to, flow.from),
            _ => (flow.from, flow.to),
        };
        let hosts = Hosts { source: host(from), destination: host(to) };
        let first = self.routes[begin];
        let small_queue = match (&flow.traffic, end) {
            (Traffic::Tcp(tcp), End::Receiver(_)) => tcp.tcp.sender.small_queue.is_some(),
            _ => false,
        };
        self.paths.push(Path { first, routes, end, ecn, dscp: flow.dscp, hosts, small_queue });
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

    /// The routes of a path, each as its hops.
    pub(super) fn routes(&self, path: PathId) -> impl Iterator<Item = &[HopId]> {
        let (begin, end) = self.paths[path.index()].routes;
        let is_last = |hop: &HopId| self.all[hop.index()].next.is_none();
        self.routes[begin as usize..end as usize].split_inclusive(is_last)
    }

    /// The present route of a path.
    pub(super) fn route_of(&self, path: PathId) -> RouteId {
        let first = self.paths[path.index()].first;
        let taken = self.routes(path).position(|route| route[0] == first);
        RouteId::at(taken.expect("packets take one of them"))
    }

    /// The hops of the present route of a path.
    pub(super) fn hops_of(&self, path: PathId) -> &[HopId] {
        self.routes(path).nth(self.route_of(path).index()).expect("packets take one of them")
    }

    /// From now on new packets of the path take this route. Packets in transit stay on their route.
    ///
    /// # Panics
    ///
    /// If the path does not have the route.
    pub(super) fn take_route(&mut self, path: PathId, route: RouteId) {
        let first = self.routes(path).nth(route.index()).expect("the path has the route")[0];
        self.paths[path.index()].first = first;
    }

    /// The ends of the flow that uses a hop, if a flow uses the hop.
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

    /// A packet enters the queue of its hop, or its wire. True if the queue reads the packet's TCP header.
    #[inline]
    pub(super) fn on_offered(&mut self, packet: &Packet, now: Time) -> bool {
        self.watch_come(packet, now);
        let state = self.state(packet);
        state.on_offered(packet);
        state.shows_headers
    }

    /// From now on the queue of the hop's packets reads their TCP headers, if they have any.
    pub(super) fn show_headers(&mut self, hop: HopId) {
        let path = self.all[hop.index()].path;
        let end = self.paths.get(path.index()).map(|path| path.end);
        let is_tcp = matches!(end, Some(End::Receiver(_) | End::Sender(_)));
        self.states[hop.index()].shows_headers = is_tcp;
    }

    /// From now on senders outside are told when their station no longer has a packet.
    pub(super) fn tell_senders(&mut self) {
        for (hop, state) in self.all.iter().zip(&mut self.states).take(self.over_air) {
            let end = self.paths.get(hop.path.index()).map(|path| path.end);
            state.sender_waits |= hop.first && end == Some(End::Outside);
        }
    }

    /// The queue has dropped a packet offered to it.
    #[inline]
    pub(super) fn on_dropped(&mut self, dropped: &Dropped) -> &HopState {
        self.trace(&dropped.packet, Step::Dropped(dropped.reason));
        self.watch_go(&dropped.packet, None);
        let state = self.state(&dropped.packet);
        state.counters.on_dropped(dropped);
        state.waiting -= 1;
        state
    }

    /// A packet has been dequeued in front of its wire, and is still in the wire.
    pub(super) fn on_taken(&mut self, packet: &Packet, now: Time) {
        self.state(packet).counters.on_taken(packet, now);
        self.trace_taken(packet, now);
    }

    /// A packet has left the far end of its wire.
    pub(super) fn on_left_wire(&mut self, packet: &Packet, now: Time) {
        let state = self.state(packet);
        state.counters.on_delivered(packet, now);
        state.waiting -= 1;
    }

    /// A packet has been lost in its wire.
    pub(super) fn on_lost_in_wire(&mut self, packet: &Packet) {
        self.trace(packet, Step::LostInWire);
        let state = self.state(packet);
        state.counters.given_up.add(packet);
        state.waiting -= 1;
    }

    /// Deliveries at the end of a route since time zero.
    pub(super) fn delivered_ever(&self, route: &[HopId]) -> Delivered {
        let last = *route.last().expect("a route has hops");
        self.states[last.index()].delivered_ever()
    }

    /// Restarts counting.
    pub(super) fn start_counting(&mut self) {
        self.states.iter_mut().for_each(HopState::start_counting);
    }
}

/// The number of a node among all nodes.
fn host(node: Node) -> u32 {
    match node {
        Node::Station(station) => station.0,
        Node::Host(host) => !host,
    }
}

/// Whether no route uses the hop yet.
fn is_free(hop: &RouteHop) -> bool {
    hop.path == NONE
}
