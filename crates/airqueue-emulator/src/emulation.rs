//! The network of a scenario between real nodes.

use crate::category::category;
use crate::figures::{PairCounters, Refusal};
use crate::header::{self, Header};
use crate::outside::is_routed;
use crate::slots::Slots;
use airqueue_core::{Ecn, Packet, PacketCount, Payload, Seed, Span, Time};
use airqueue_network::network::OfferedPacket;
use airqueue_network::outcome::Outcome;
use airqueue_scenario::emulated::{Emulated, MTU_BYTES, Pair, RealNode};
use airqueue_scenario::{Run, ScenarioError};
use std::collections::HashMap;
use std::net::IpAddr;

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
    /// The place in `routes` of each pair: sender times number of nodes plus receiver.
    route_of: Vec<usize>,
    held: Vec<Held>,
    free: Vec<u32>,
    outcomes: Vec<Outcome>,
    let_go: Vec<Payload>,
    released: Vec<Token>,
    refused: [PacketCount; Refusal::ALL.len()],
}

/// What the owner of a packet's sender holds until the sender's station is done with the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// The node that has sent the packet, as an index of [`Emulation::nodes`].
    pub node: usize,
    /// A number of the owner's.
    pub id: u32,
}

/// An ordered pair of nodes.
#[derive(Debug)]
struct Route {
    from: usize,
    to: usize,
    routers: u8,
    slots: [Slots; 4],
    counters: PairCounters,
}

/// A packet in the network.
#[derive(Debug, Default)]
struct Held {
    bytes: Vec<u8>,
    route: usize,
    arrived: Time,
    /// The ECN field with which the packet was sent.
    ecn: Ecn,
    /// What the sender's owner holds, until the sender's station is done with the packet.
    token: Option<u32>,
    /// Whether the sender's station still has the packet.
    at_sender: bool,
    /// Whether the packet has not left the network.
    in_network: bool,
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
        let Emulated { scenario, nodes, pairs } = emulated;
        let mut route_of = vec![0; nodes.len() * nodes.len()];
        for (at, pair) in pairs.iter().enumerate() {
            route_of[pair.from * nodes.len() + pair.to] = at;
        }
        let mut run = scenario.start(seed)?;
        run.network().model.tell_senders();
        Ok(Emulation {
            run,
            nodes: nodes.clone(),
            warm_up: scenario.warm_up(),
            addresses: HashMap::new(),
            gateway: None,
            routes: pairs.iter().map(Route::new).collect(),
            route_of,
            held: Vec::new(),
            free: Vec::new(),
            outcomes: Vec::new(),
            let_go: Vec::new(),
            released: Vec::new(),
            refused: [PacketCount::default(); Refusal::ALL.len()],
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

    /// Gives a node an address. Of nodes with one address the last one has it.
    pub fn set_address(&mut self, node: usize, address: IpAddr) {
        self.addresses.insert(address, node);
    }

    /// Makes a node the gateway: packets to other hosts than the nodes go there, and come from there.
    pub fn set_gateway(&mut self, node: usize) {
        self.gateway = Some(node);
    }

    /// The node that has an address, or the way to this address.
    fn node_for(&self, address: IpAddr) -> Option<usize> {
        let node = self.addresses.get(&address).copied();
        node.or_else(|| self.gateway.filter(|_| is_routed(address)))
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
        let (header, route) = self.check(from, bytes).inspect_err(|&refusal| {
            self.refused[refusal as usize].add_size(bytes.len() as u64);
        })?;
        let Header { size, dscp, ecn, .. } = header;
        let held = Held { route, arrived: now, ecn, token, in_network: true, ..Held::default() };
        let payload = self.hold(bytes, held);
        let of = &mut self.routes[route];
        of.counters.offered.add_size(u64::from(size));
        let flow = of.slots[category(dscp).index()].flow(header.flow);
        let offered = OfferedPacket { size, payload, ecn: Some(ecn), dscp: Some(dscp) };
        let network = self.run.network();
        let over_air = network.model.offer(flow, offered, &mut network.queue);
        self.held[payload.0 as usize].at_sender = over_air;
        if !over_air {
            // The wires of a scenario stand for paths outside, where packets count against no socket.
            self.release(payload);
        }
        self.depart(pass_on);
        Ok(())
    }

    fn check(&self, from: usize, bytes: &[u8]) -> Result<(Header, usize), Refusal> {
        let header = header::read(bytes).ok_or(Refusal::Malformed)?;
        if header.size > MTU_BYTES {
            return Err(Refusal::Oversize);
        }
        if self.node_for(header.source) != Some(from) {
            return Err(Refusal::ForeignSource);
        }
        let to = self.node_for(header.destination).filter(|&to| to != from);
        let to = to.ok_or(Refusal::NoSuchNode)?;
        let route = self.route_of[from * self.nodes.len() + to];
        if header.hop_limit <= self.routes[route].routers {
            return Err(Refusal::HopLimit);
        }
        if self.free.is_empty() && self.held.len() >= MOST_PACKETS {
            return Err(Refusal::Full);
        }
        Ok((header, route))
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
        let network = self.run.network();
        self.outcomes.extend(network.model.outcomes());
        self.let_go.extend(network.model.released());
        let now = network.now();
        let mut outcomes = std::mem::take(&mut self.outcomes);
        for outcome in outcomes.drain(..) {
            let (Outcome::Delivered(packet) | Outcome::Dropped(packet, _) | Outcome::Lost(packet)) =
                outcome;
            let held = &mut self.held[packet.payload.0 as usize];
            let route = &mut self.routes[held.route];
            match outcome {
                Outcome::Delivered(packet) => {
                    route.finish(held, &packet, now);
                    pass_on(Departure { to: route.to, bytes: &held.bytes, due: now });
                }
                Outcome::Dropped(packet, _) => route.counters.dropped.add(&packet),
                Outcome::Lost(packet) => route.counters.lost.add(&packet),
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
            let route = &self.routes[self.route_of[from * count + to]];
            (&self.nodes[from], &self.nodes[to], &route.counters)
        })
    }

    /// The packets that were not offered to the network, by reason.
    pub fn refused(&self) -> impl Iterator<Item = (Refusal, PacketCount)> {
        Refusal::ALL.into_iter().map(|refusal| (refusal, self.refused[refusal as usize]))
    }

    /// Packets of real nodes in the network.
    pub fn packets_held(&self) -> usize {
        self.held.len() - self.free.len()
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
            routers: pair.routers,
            slots: pair.flows.map(Slots::new),
            counters: PairCounters::default(),
        }
    }

    /// Writes into a delivered packet what the network changed.
    fn finish(&mut self, held: &mut Held, packet: &Packet, now: Time) {
        self.counters.on_delivered(packet, held.ecn, now - held.arrived);
        if packet.ecn == Ecn::Ce {
            header::mark_ce(&mut held.bytes);
        }
        header::pass_routers(&mut held.bytes, self.routers);
    }
}
