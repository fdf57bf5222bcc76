//! Routers between real nodes: which packets they stop, and what they answer.
//!
//! A packet that a router does not forward travels through the network to the router, and the router's answer travels
//! back, like all packets. Only a packet that is too big for the link by which it leaves its node does not travel: the
//! first router on the packet's way answers at once.

use super::{Emulation, Held, Purpose};
use crate::figures::Refusal;
use crate::fragments::Fragments;
use crate::header::{self, Header};
use crate::icmp::{self, Answer, Problem};
use airqueue_core::{Payload, Span, Time};
use airqueue_network::network::OfferedPacket;
use airqueue_wifi::phy::AccessCategory;
use std::collections::HashMap;
use std::net::IpAddr;

/// A router sends an error to a node at most this often on average, and this number at once (RFC 1812, section 4.3.2.8; both
/// are those of RFC 4443, section 2.4 f).
const ERROR_EVERY: Span = Span::from_millis(100);
const ERRORS_AT_ONCE: i64 = 10;

/// What a packet that was refused makes a router do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Errand {
    /// The router, as a place.
    pub(super) router: usize,
    pub(super) problem: Problem,
    /// Of a packet that the network does not carry; `None`: the packet was for the router.
    pub(super) refusal: Option<Refusal>,
    /// Whether the packet travels to the router.
    pub(super) travels: bool,
}

/// What routers know.
#[derive(Debug, Default)]
pub(super) struct Routers {
    /// The addresses of each place, real nodes included.
    addresses: Vec<Vec<IpAddr>>,
    /// The first router on the ways of each real node.
    first: Vec<Option<usize>>,
    /// The network's prefixes, each with its length.
    prefixes: Vec<(IpAddr, u8)>,
    /// The errors that each router may send to each node.
    buckets: HashMap<(usize, usize), Bucket>,
}

/// A token bucket in network time.
#[derive(Debug)]
struct Bucket {
    credit: Span,
    at: Time,
}

impl Bucket {
    const MOST: Span = Span::from_nanos(ERROR_EVERY.as_nanos() * ERRORS_AT_ONCE);

    fn full(now: Time) -> Bucket {
        Bucket { credit: Bucket::MOST, at: now }
    }

    fn take(&mut self, now: Time) -> bool {
        self.credit = (self.credit + (now - self.at)).min(Bucket::MOST);
        self.at = now;
        let allowed = self.credit >= ERROR_EVERY;
        if allowed {
            self.credit = self.credit - ERROR_EVERY;
        }
        allowed
    }
}

impl Routers {
    pub(super) fn new(places: usize, first: Vec<Option<usize>>) -> Routers {
        Routers { addresses: vec![Vec::new(); places], first, ..Routers::default() }
    }

    pub(super) fn add_address(&mut self, place: usize, address: IpAddr) {
        self.addresses[place].push(address);
    }

    pub(super) fn add_prefix(&mut self, network: IpAddr, length: u8) {
        self.prefixes.push((network, length));
    }

    /// The address from which a router answers a packet of this family.
    fn address(&self, router: usize, like: IpAddr) -> Option<IpAddr> {
        self.addresses[router].iter().copied().find(|own| own.is_ipv4() == like.is_ipv4())
    }

    fn may_send(&mut self, router: usize, to: usize, now: Time) -> bool {
        self.buckets.entry((router, to)).or_insert_with(|| Bucket::full(now)).take(now)
    }

    /// Whether an address is one of the network's.
    pub(super) fn is_within(&self, address: IpAddr) -> bool {
        self.prefixes.iter().any(|(network, bits)| in_prefix(address, *network, *bits))
    }

    /// What a router says of an address that nobody has; `None`: the address is not that of one node.
    fn unknown(&self, address: IpAddr) -> Option<Problem> {
        let within =
            self.prefixes.iter().find(|(network, bits)| in_prefix(address, *network, *bits));
        let last = within.is_some_and(|(network, bits)| is_broadcast(address, *network, *bits));
        let single = icmp::is_single(address) && !last;
        let problem = if within.is_some() { Problem::NoSuchAddress } else { Problem::NoRoute };
        single.then_some(problem)
    }
}

fn bits(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    }
}

/// The bits of an address behind a prefix, if the address begins with the prefix.
fn host_bits(address: IpAddr, network: IpAddr, length: u8) -> Option<(u128, u128)> {
    let ((address, width), (network, other)) = (bits(address), bits(network));
    let rest = width.checked_sub(length.into()).filter(|_| width == other)?;
    let mask = 1u128.checked_shl(rest).unwrap_or(0).wrapping_sub(1);
    ((address ^ network) & !mask == 0).then_some((address & mask, mask))
}

fn in_prefix(address: IpAddr, network: IpAddr, length: u8) -> bool {
    host_bits(address, network, length).is_some()
}

/// Whether an IPv4 address is the broadcast of its network, the old form included (RFC 1812, section 4.2.3.1).
fn is_broadcast(address: IpAddr, network: IpAddr, length: u8) -> bool {
    let found = host_bits(address, network, length).filter(|_| address.is_ipv4());
    found.is_some_and(|(host, mask)| host == mask || host == 0)
}

impl Emulation {
    /// What a router does about a packet for an address that nobody has.
    pub(super) fn no_such_node(&self, from: usize, header: &Header) -> Option<Errand> {
        let problem = self.routers.unknown(header.destination)?;
        let router = self.routers.first[from]?;
        let route = self.route(from, router)?;
        let too_big = header.size > self.routes[route].mtu_bytes;
        let errand = Errand { router, problem, refusal: Some(Refusal::NoSuchNode), travels: true };
        (!too_big).then_some(errand)
    }

    /// What stops a packet on a route, and which router, if a router stops the packet.
    pub(super) fn stops(
        &self,
        route: usize,
        bytes: &[u8],
        header: &Header,
    ) -> Result<(), (Refusal, Option<Errand>)> {
        let route = &self.routes[route];
        let errand = |router, problem, refusal, travels| {
            (refusal, Some(Errand { router, problem, refusal: Some(refusal), travels }))
        };
        if header.size > route.mtu_bytes {
            let Some(first) = route.routers.first() else { return Err((Refusal::Oversize, None)) };
            let problem = Problem::TooBig { mtu: route.mtu_bytes };
            return Err(errand(first.router, problem, Refusal::Oversize, false));
        }
        for (before, router) in route.routers.iter().enumerate() {
            if usize::from(header.hop_limit) <= before + 1 {
                return Err(errand(router.router, Problem::TimeExceeded, Refusal::HopLimit, true));
            }
            let is_too_big = header.size > router.mtu_bytes;
            if is_too_big && Fragments::new(bytes, router.mtu_bytes).is_none() {
                let problem = Problem::TooBig { mtu: router.mtu_bytes };
                return Err(errand(router.router, problem, Refusal::Oversize, true));
            }
        }
        Ok(())
    }

    /// A packet has been refused, and a router has to say so.
    pub(super) fn send_errand(
        &mut self,
        from: usize,
        bytes: &[u8],
        header: &Header,
        errand: Errand,
    ) {
        if !errand.travels {
            return self.send_error(errand, from, bytes);
        }
        if let Some(route) = self.route(from, errand.router) {
            self.offer(route, bytes, header, Purpose::Stopped(errand));
        }
    }

    /// Offers a packet to the network, which is not full.
    fn offer(&mut self, route: usize, bytes: &[u8], header: &Header, purpose: Purpose) {
        let held = self.hold_for(route, bytes, header, purpose);
        self.offer_held(held, header);
    }

    /// Stores a packet that is going to be offered.
    pub(super) fn hold_for(
        &mut self,
        route: usize,
        bytes: &[u8],
        header: &Header,
        purpose: Purpose,
    ) -> Payload {
        let (leg, narrow) = self.leg(route, header.size);
        let (now, ecn) = (self.run.now(), header.ecn);
        let held = Held {
            route: leg,
            pair: route,
            narrow,
            arrived: now,
            sent: now,
            ecn,
            purpose,
            in_network: true,
            ..Held::default()
        };
        let held = self.hold(bytes, held);
        self.capture_entry(held, leg);
        held
    }

    pub(super) fn offer_held(&mut self, payload: Payload, header: &Header) {
        let Header { size, dscp, ecn, .. } = *header;
        let route = &mut self.routes[self.held[payload.0 as usize].route];
        let flow = route.slots[AccessCategory::of_dscp(dscp).index()].flow(header.flow);
        let offered = OfferedPacket { size, payload, ecn: Some(ecn), dscp: Some(dscp) };
        let network = self.run.network();
        let over_air = network.model.offer(flow, offered, &mut network.queue);
        self.held[payload.0 as usize].at_sender = over_air;
        if !over_air {
            // The wires of a scenario stand for paths outside, where packets count against no socket.
            self.release(payload);
        }
    }

    /// A packet has come to the router for which it was meant, which does not forward it, or which fragments it.
    pub(super) fn come_to_router(&mut self, held: &mut Held) {
        if let Some(narrow) = held.narrow {
            return self.pass_on_fragments(held, narrow);
        }
        let (router, from) = (self.routes[held.route].to, self.routes[held.pair].from);
        match held.purpose {
            Purpose::Stopped(errand) => self.send_error(errand, from, &held.bytes),
            _ => match icmp::answer(&held.bytes) {
                Some(Answer::Reply(reply)) => self.send_from(router, from, &reply),
                Some(Answer::Error(problem)) => {
                    let errand = Errand { router, problem, refusal: None, travels: true };
                    self.send_error(errand, from, &held.bytes);
                }
                None => {}
            },
        }
    }

    fn send_error(&mut self, errand: Errand, to: usize, packet: &[u8]) {
        let Errand { router, problem, refusal, .. } = errand;
        let now = self.run.now();
        let own = header::read(packet).and_then(|of| self.routers.address(router, of.source));
        let error = own.and_then(|own| icmp::error(problem, own, packet));
        let Some(error) = error.filter(|_| self.routers.may_send(router, to, now)) else { return };
        if let Some(refusal) = refusal {
            self.answered[refusal as usize] += 1;
        }
        self.send_from(router, to, &error);
    }

    /// A router sends a packet to a real node.
    fn send_from(&mut self, router: usize, to: usize, packet: &[u8]) {
        let header = header::read(packet).expect("routers send whole packets");
        let route = self.route(router, to).filter(|&at| self.stops(at, packet, &header).is_ok());
        if let Some(route) = route.filter(|_| self.has_room(1)) {
            self.offer(route, packet, &header, Purpose::FromRouter);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn errors_are_limited_and_the_limit_recovers() {
        let mut bucket = Bucket::full(Time::ZERO);
        let mut sent = |at_ms: i64| bucket.take(Time::ZERO + Span::from_millis(at_ms));
        assert_eq!((0..50).filter(|_| sent(0)).count(), 10);
        assert_eq!((0..1000).filter(|ms| sent(1 + ms)).count(), 10);
        assert!(!sent(1001) && sent(1100) && !sent(1100));
        assert_eq!((0..50).filter(|_| sent(100_000)).count(), 10);
    }

    #[test]
    fn addresses_that_nobody_has_are_told_apart_by_the_prefix() {
        let mut routers = Routers::new(0, Vec::new());
        routers.add_prefix(ip("10.213.0.0"), 16);
        routers.add_prefix(ip("fd61:6972:7175::"), 64);
        let cases = [
            ("10.213.7.7", Some(Problem::NoSuchAddress)),
            ("10.214.0.1", Some(Problem::NoRoute)),
            ("fd61:6972:7175::77", Some(Problem::NoSuchAddress)),
            ("2001:db8::1", Some(Problem::NoRoute)),
            // Broadcasts, multicast, and addresses that no node has.
            ("10.213.255.255", None),
            ("10.213.0.0", None),
            ("255.255.255.255", None),
            ("224.0.0.251", None),
            ("0.0.0.0", None),
            ("127.0.0.1", None),
            ("ff02::1", None),
            ("::", None),
        ];
        for (address, problem) in cases {
            assert_eq!(routers.unknown(ip(address)), problem, "{address}");
        }
    }
}
