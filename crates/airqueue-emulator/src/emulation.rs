//! The network of a scenario between real nodes.

mod captured;
mod fragmented;
mod held;
mod routers;

use self::held::{Held, Purpose};
use self::routers::{Errand, Routers};
use crate::capture::Captures;
use crate::figures::{Losses, PairCounters, Refusal};
use crate::header::{self, Header};
use crate::live::Snapshot;
use crate::outside::is_routed;
use crate::slots::Slots;
use crate::story::Labels;
use airqueue_core::{PacketCount, Payload, Seed, Span, Time};
use airqueue_network::network::{Change, Opportunities, TimedChange};
use airqueue_network::outcome::Outcome;
use airqueue_scenario::emulated::{Emulated, Pair, Passage, RealNode};
use airqueue_scenario::{Run, ScenarioError};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

/// Largest number of packets that the network holds: 1.5 GB of full-sized packets.
const MOST_PACKETS: usize = 1_000_000;

/// Packets of real nodes in the network of a scenario, in the network's time.
///
/// [`Self::arrive`] takes the packets that real nodes send; [`Self::step`] advances the network by one event and passes
/// on what leaves the network at that moment. The owner decides when, by whatever clock.
#[derive(Debug)]
pub struct Emulation {
    run: Run,
    nodes: Vec<RealNode>,
    warm_up: Span,
    addresses: HashMap<IpAddr, usize>,
    gateway: Option<usize>,
    routes: Vec<Route>,
    /// The place in `routes` of each pair: sender times number of places plus receiver.
    route_of: Vec<Option<usize>>,
    router_names: Vec<String>,
    routers: Routers,
    /// Packets that have come to routers, while they are processed.
    at_routers: Vec<u32>,
    /// Captures that the owner has asked for.
    captures: Option<Box<Captures>>,
    labels: Arc<Labels>,
    held: Vec<Held>,
    free: Vec<u32>,
    outcomes: Vec<Outcome>,
    let_go: Vec<Payload>,
    released: Vec<Token>,
    refused: [PacketCount; Refusal::ALL.len()],
    /// How many of these packets a router has answered with an error.
    answered: [u64; Refusal::ALL.len()],
    /// The fragment that a router makes.
    fragment: Vec<u8>,
}

/// What the owner of a packet's sender holds until the sender's station is done with the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// The node that has sent the packet, as an index of [`Emulation::nodes`].
    pub node: usize,
    /// A number of the owner's.
    pub id: u32,
}

/// An ordered pair of places: real nodes, and behind these routers that are not real.
#[derive(Debug)]
struct Route {
    from: usize,
    to: usize,
    mtu_bytes: u32,
    routers: Vec<Passage>,
    slots: [Slots; 4],
    counters: PairCounters,
    losses: Losses,
}

/// A packet that leaves the network.
#[derive(Debug)]
pub struct Departure<'a> {
    /// The node that receives the packet, as an index of [`Emulation::nodes`].
    pub to: usize,
    /// The packet, with the marks and the hop limit that the network gave it.
    pub bytes: &'a [u8],
    /// When the packet leaves the network.
    pub due: Time,
}

impl Emulation {
    /// The network at time zero. `seed` determines every random draw.
    pub fn new(emulated: &Emulated, seed: Seed) -> Result<Emulation, ScenarioError> {
        let Emulated { scenario, nodes, routers, pairs, .. } = emulated;
        let places = nodes.len() + routers.len();
        let mut route_of = vec![None; places * places];
        let mut first = vec![None; nodes.len()];
        for (at, pair) in pairs.iter().enumerate() {
            route_of[pair.from * places + pair.to] = Some(at);
            if let (Some(first @ None), Some(router)) =
                (first.get_mut(pair.from), pair.routers.first())
            {
                *first = Some(router.router);
            }
        }
        let mut run = scenario.start(seed)?;
        run.network().model.tell_senders();
        run.network().model.start_trace();
        let names = nodes.iter().map(|node| &node.name).chain(routers);
        Ok(Emulation {
            run,
            nodes: nodes.clone(),
            warm_up: scenario.warm_up(),
            addresses: HashMap::new(),
            gateway: None,
            routes: pairs.iter().map(Route::new).collect(),
            route_of,
            router_names: routers.clone(),
            routers: Routers::new(places, first),
            at_routers: Vec::new(),
            captures: None,
            labels: Arc::new(Labels::new(names.cloned().collect(), scenario.spec())),
            held: Vec::new(),
            free: Vec::new(),
            outcomes: Vec::new(),
            let_go: Vec::new(),
            released: Vec::new(),
            refused: [PacketCount::default(); Refusal::ALL.len()],
            answered: [0; Refusal::ALL.len()],
            fragment: Vec::new(),
        })
    }

    /// The real nodes.
    pub fn nodes(&self) -> &[RealNode] {
        &self.nodes
    }

    /// Duration of the warm-up, during which simulated traffic alone fills the network.
    pub fn warm_up(&self) -> Span {
        self.warm_up
    }

    /// Names of the routers between real nodes that are not real themselves.
    pub fn routers(&self) -> &[String] {
        &self.router_names
    }

    /// Gives a node an address; routers have the numbers behind those of real nodes. Of nodes with one address the last one
    /// has it.
    pub fn set_address(&mut self, node: usize, address: IpAddr) {
        self.addresses.insert(address, node);
        self.routers.add_address(node, address);
    }

    /// Says which addresses are those of the network, by a prefix and its length: only there can a node be missing.
    pub fn add_prefix(&mut self, network: IpAddr, length: u8) {
        self.routers.add_prefix(network, length);
    }

    /// Makes a node the gateway: packets to other hosts than the nodes go there, and come from there.
    pub fn set_gateway(&mut self, node: usize) {
        self.gateway = Some(node);
    }

    /// The node that has an address, or the way to this address.
    fn node_for(&self, address: IpAddr) -> Option<usize> {
        let node = self.addresses.get(&address).copied();
        let is_outside = || is_routed(address) && !self.routers.is_within(address);
        node.or_else(|| self.gateway.filter(|_| is_outside()))
    }

    /// The present of the network.
    pub fn now(&self) -> Time {
        self.run.now()
    }

    /// When the next event of the network happens; `None`: the network is idle.
    pub fn next_at(&mut self) -> Option<Time> {
        self.run.network().queue.next_at()
    }

    /// Handles the next event that is due at or before `limit`, and passes on the packets that leave the network with
    /// the event. Returns whether there was an event.
    pub fn step(&mut self, limit: Time, pass_on: &mut impl FnMut(Departure<'_>)) -> bool {
        if !self.run.network().step(limit) {
            return false;
        }
        self.depart(pass_on);
        true
    }

    /// Time passes up to `now`, and no event is left before: figures are then those of all this time.
    pub fn pass_to(&mut self, now: Time) {
        let network = self.run.network();
        debug_assert!(network.queue.next_at().is_none_or(|at| at > now), "an event was left");
        network.run_until(now);
    }

    /// A node sends a packet at `now`, which must not be before any event already handled. All events up to `now` are
    /// handled first. A refused packet is counted.
    pub fn arrive(
        &mut self,
        from: usize,
        bytes: &[u8],
        now: Time,
        pass_on: &mut impl FnMut(Departure<'_>),
    ) -> Result<(), Refusal> {
        self.arrive_held(from, bytes, None, now, pass_on)
    }

    /// As [`Self::arrive`], of a packet that the operating system of the sender counts against a socket as long as the
    /// sender's station has the packet: in its queue, or on the air. [`Self::released`] returns the token, unless the
    /// packet is refused.
    pub fn arrive_held(
        &mut self,
        from: usize,
        bytes: &[u8],
        token: Option<u32>,
        now: Time,
        pass_on: &mut impl FnMut(Departure<'_>),
    ) -> Result<(), Refusal> {
        while self.step(now, pass_on) {}
        self.run.network().run_until(now);
        let header = header::read(bytes).ok_or((Refusal::Malformed, None));
        let route = header.and_then(|header| Ok((header, self.check(from, bytes, &header)?)));
        let done = match (route, header) {
            (Ok((header, route)), _) => {
                self.routes[route].counters.offered.add_size(u64::from(header.size));
                let held = self.hold_for(route, bytes, &header, Purpose::Carried);
                self.held[held.0 as usize].token = token;
                self.capture_sent(held, from, bytes);
                self.offer_held(held, &header);
                Ok(())
            }
            (Err((refusal, errand)), header) => {
                self.count_refused(from, bytes, refusal, errand);
                if let (Some(errand), Ok(header)) = (errand, header) {
                    self.send_errand(from, bytes, &header, errand);
                }
                Err(refusal)
            }
        };
        self.depart(pass_on);
        done
    }

    /// A node sends bytes at `now`, which is not after any event that was not handled, and no packet can be made of them;
    /// they are counted as one malformed packet.
    pub fn refuse(&mut self, from: usize, bytes: &[u8], now: Time) {
        self.run.network().run_until(now);
        self.count_refused(from, bytes, Refusal::Malformed, None);
    }

    fn count_refused(
        &mut self,
        from: usize,
        bytes: &[u8],
        refusal: Refusal,
        errand: Option<Errand>,
    ) {
        self.refused[refusal as usize].add_size(bytes.len() as u64);
        self.capture_refused(from, bytes, refusal, errand);
    }

    /// The route of a packet; otherwise why there is none, and which router says so.
    fn check(
        &self,
        from: usize,
        bytes: &[u8],
        header: &Header,
    ) -> Result<usize, (Refusal, Option<Errand>)> {
        if self.node_for(header.source) != Some(from) {
            return Err((Refusal::ForeignSource, None));
        }
        if !self.has_room(1) {
            return Err((Refusal::Full, None));
        }
        let Some(to) = self.node_for(header.destination) else {
            return Err((Refusal::NoSuchNode, self.no_such_node(from, header)));
        };
        let route = self.route(from, to).ok_or((Refusal::NoSuchNode, None))?;
        self.stops(route, bytes, header)?;
        Ok(route)
    }

    /// The route from one place to another.
    fn route(&self, from: usize, to: usize) -> Option<usize> {
        self.route_of[from * (self.nodes.len() + self.router_names.len()) + to]
    }

    fn has_room(&self, packets: u64) -> bool {
        let room = self.free.len() + MOST_PACKETS.saturating_sub(self.held.len());
        room as u64 >= packets
    }

    /// Stores a packet; buffers are used again.
    fn hold(&mut self, bytes: &[u8], packet: Held) -> Payload {
        let at = self.free.pop().unwrap_or_else(|| {
            self.held.push(Held::default());
            self.held.len() as u32 - 1
        });
        let held = &mut self.held[at as usize];
        let mut buffer = std::mem::take(&mut held.bytes);
        buffer.clear();
        buffer.extend_from_slice(bytes);
        *held = Held { bytes: buffer, ..packet };
        Payload(at)
    }

    fn depart(&mut self, pass_on: &mut impl FnMut(Departure<'_>)) {
        self.conclude(pass_on);
        while !self.at_routers.is_empty() {
            for at in std::mem::take(&mut self.at_routers) {
                let mut held = std::mem::take(&mut self.held[at as usize]);
                self.come_to_router(&mut held);
                self.held[at as usize] = Held { in_network: false, ..held };
                self.give_up(Payload(at));
            }
            self.conclude(pass_on);
        }
    }

    /// Processes the outcomes of packets.
    fn conclude(&mut self, pass_on: &mut impl FnMut(Departure<'_>)) {
        self.trace();
        let network = self.run.network();
        self.outcomes.extend(network.model.outcomes());
        self.let_go.extend(network.model.released());
        let now = network.now();
        let mut outcomes = std::mem::take(&mut self.outcomes);
        for outcome in outcomes.drain(..) {
            let (Outcome::Delivered(packet) | Outcome::Dropped(packet, _) | Outcome::Lost(packet)) =
                outcome;
            let held = &mut self.held[packet.payload.0 as usize];
            let Route { to, ref routers, .. } = self.routes[held.route];
            match outcome {
                Outcome::Delivered(packet) => {
                    let marked = held.finish(routers.len(), &packet);
                    captured::ended(&mut self.captures, &packet, held, Some(to), (marked, now));
                    if held.is_carried() && held.narrow.is_none() {
                        let counters = &mut self.routes[held.pair].counters;
                        counters.on_delivered(&packet, held.ecn, now - held.sent);
                    }
                    if held.is_for_router() || to >= self.nodes.len() {
                        self.at_routers.push(packet.payload.0);
                        continue;
                    }
                    pass_on(Departure { to, bytes: &held.bytes, due: now });
                }
                Outcome::Dropped(..) | Outcome::Lost(_) => {
                    captured::ended(&mut self.captures, &packet, held, None, (false, now));
                    if held.is_carried() {
                        let pair = &mut self.routes[held.pair];
                        pair.counters.on_gone(&outcome);
                        pair.losses.add(&self.labels, held.lost_at);
                    }
                }
            }
            held.in_network = false;
            self.give_up(packet.payload);
        }
        self.outcomes = outcomes;
        while let Some(payload) = self.let_go.pop() {
            self.release(payload);
        }
    }

    /// The station that sends a packet no longer has the packet.
    fn release(&mut self, payload: Payload) {
        let held = &mut self.held[payload.0 as usize];
        held.at_sender = false;
        if let Some(id) = held.token.take() {
            self.released.push(Token { node: self.routes[held.route].from, id });
        }
        self.give_up(payload);
    }

    /// Makes room for another packet if neither the network nor the sender has this packet.
    fn give_up(&mut self, payload: Payload) {
        let held = &self.held[payload.0 as usize];
        if !held.in_network && !held.at_sender {
            self.free.push(payload.0);
        }
    }

    /// The tokens of packets that the stations of their senders no longer have, since the last call.
    pub fn released(&mut self) -> impl Iterator<Item = Token> + '_ {
        self.released.drain(..)
    }

    /// The packets of each ordered pair of nodes.
    pub fn pairs(&self) -> impl Iterator<Item = (&RealNode, &RealNode, &PairCounters)> {
        let count = self.nodes.len();
        let pairs = (0..count * count).map(move |pair| (pair / count, pair % count));
        pairs.filter(|(from, to)| from != to).map(move |(from, to)| {
            let route = &self.routes[self.route(from, to).expect("real nodes have routes")];
            (&self.nodes[from], &self.nodes[to], &route.counters)
        })
    }

    /// Why and where the packets of each ordered pair of nodes were lost, in the order of [`Self::pairs`].
    pub fn losses(&self) -> impl Iterator<Item = &Losses> {
        let nodes = self.nodes();
        let routes = nodes.iter().enumerate().flat_map(move |(from, _)| {
            (0..nodes.len()).filter(move |&to| to != from).map(move |to| self.route(from, to))
        });
        routes.flatten().map(|route| &self.routes[route].losses)
    }

    /// The packets that were not carried to their destination, by reason.
    pub fn refused(&self) -> impl Iterator<Item = (Refusal, PacketCount)> {
        Refusal::ALL.into_iter().map(|refusal| (refusal, self.refused[refusal as usize]))
    }

    /// How many refused packets a router has answered with an error, by reason.
    pub fn answered(&self, refusal: Refusal) -> u64 {
        self.answered[refusal as usize]
    }

    /// Packets of real nodes in the network.
    pub fn packets_held(&self) -> usize {
        self.held.len() - self.free.len()
    }

    /// All counters at this moment.
    pub fn snapshot(&mut self) -> Snapshot {
        Snapshot {
            pairs: self.pairs().map(|(_, _, counters)| counters.clone()).collect(),
            stations: self.run.stations_now(),
            queues: self.run.queues_now(),
            refused: self.refused().map(|(why, count)| (why, count, self.answered(why))).collect(),
            held: self.packets_held() as u64,
        }
    }

    /// From the end of the warm-up on keeps the delivery opportunities of a link ([`airqueue_scenario::Scenario::watch`]).
    pub fn watch(&mut self, emulated: &Emulated, link: &str) -> Result<(), ScenarioError> {
        emulated.scenario.watch(&mut self.run, link)
    }

    /// These opportunities so far.
    pub fn opportunities(&self) -> Option<Opportunities> {
        self.run.opportunities()
    }

    /// Changes the network ([`Emulated::change`]) at a time that is not in the past of the network.
    pub fn change(&mut self, changes: &[Change], at: Time) {
        let network = self.run.network();
        for &change in changes {
            network.model.add_change(TimedChange { at, change }, &mut network.queue);
        }
    }

    /// The figures of the simulated flows, stations and queues since the warm-up, as JSON.
    pub fn figures(&mut self) -> String {
        self.run.results()
    }
}

impl Route {
    fn new(pair: &Pair) -> Route {
        Route {
            from: pair.from,
            to: pair.to,
            mtu_bytes: pair.mtu_bytes,
            routers: pair.routers.clone(),
            slots: pair.flows.map(Slots::new),
            counters: PairCounters::default(),
            losses: Losses::default(),
        }
    }
}
