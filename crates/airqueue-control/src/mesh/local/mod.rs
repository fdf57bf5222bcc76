//! A router at its interface: from what the kernel tells and what passes there to the inputs of [`Router`].
//!
//! # Where routes come from
//!
//! Where IP forwards ([`Routes::Packets`]), each packet of a flow passes the interface of each router on its way: the frame that
//! it came in names the router before, the frame that it leaves in names the next. Flows are numbered by their ends.
//!
//! Where 802.11s forwards ([`Routes::MeshPaths`]), a router does not see what it forwards. The first router sees frames to the last
//! one, and its path there; the last one sees frames from the first. A router in between is told by the statement of the
//! router before that a flow comes here, and finds the flow's ends among the mesh stations that it knows, since the flow's
//! number is made of both; its own path to the last one gives the next router.
//!
//! A flow of which the next router is not known goes to nobody, so that no router sizes it.

mod passed;

use super::key::MeshKey;
use super::policy::{Policy, PolicyError};
use super::reason::FlowReason;
use super::router::{Refused, Router};
use super::statement::{FlowNumber, Hop, LinkFacts, RouterId};
use super::{DomainsBy, Slot, wire};
use crate::flows::{Mac, Packet};
use airqueue_core::{Span, Time};
use passed::Passed;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// The most neighbours, and the most paths, that a look takes in; with more, the rest is not known.
pub const MOST_KNOWN: usize = 256;
/// The most flows that a router is told of: more than it can state, so that it knows that there are too many.
pub const MOST_TOLD: usize = 64;
/// The most flows from neighbours whose ends are looked for in one look.
const MOST_SEARCHES: usize = 8;
/// A router that there is not: its number is that of no address but by chance.
const NOBODY: RouterId = RouterId(u32::MAX);
/// 802.11 and LLC of a data frame, IP and TCP, without options (MESH section 4.1).
const HEADER_BYTES: u64 = 74;
/// A rate is told anew when its mean differs by so much: rate controls try others all the time.
const ANOTHER_RATE: f64 = 1.25;
/// Of how many looks the mean is.
const LOOKS: f64 = 8.0;

/// Where the routes of flows are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Routes {
    /// In the paths of 802.11s, which forwards frames.
    MeshPaths,
    /// In the frames of packets that IP forwards.
    Packets,
}

/// How a router sees.
#[derive(Clone, Debug, PartialEq)]
pub struct NodePolicy {
    /// How limits are computed.
    pub limits: Policy,
    /// Where routes are seen.
    pub routes: Routes,
    /// T_d-DATA + T_d-ACK without the bits of both frames: contention, interframe spaces, preambles, acknowledgements.
    pub overhead: Span,
    /// Round trip outside the mesh of flows that enter it here.
    pub outside: Span,
}

/// A neighbour, as the radio knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its address.
    pub address: Mac,
    /// Rate of frames to it, in bit/s.
    pub rate_bps: Option<u64>,
}

/// What the kernel tells at one look.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sight {
    /// Neighbours to which there are links.
    pub neighbours: Vec<Known>,
    /// Paths of 802.11s: destination and next router.
    pub paths: Vec<(Mac, Mac)>,
    /// The channel.
    pub channel: u8,
    /// The fraction of the time since the last look in which the medium was busy, if the radio tells it.
    pub busy: Option<f64>,
    /// Whether messages come from afar too, because the mesh forwards group-addressed frames; those are not taken.
    pub floods: bool,
}

/// Why a message was not taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// Another router has forwarded it; not a fault.
    #[error("the message is not from a neighbour")]
    FromAfar,
    /// The router refuses it.
    #[error(transparent)]
    Refused(#[from] Refused),
}

/// A link's rate, and its mean.
#[derive(Clone, Copy, Debug)]
struct Rate {
    mean_bps: f64,
    told: LinkFacts,
}

/// A router at its interface.
#[derive(Clone, Debug)]
pub struct MeshNode {
    address: Mac,
    own: RouterId,
    policy: NodePolicy,
    router: Router,
    passed: Passed,
    rates: BTreeMap<RouterId, Rate>,
    /// How flows pass, and when they last did.
    told: BTreeMap<FlowNumber, (Hop, Time)>,
    /// The ends of flows that 802.11s forwards here.
    ends: BTreeMap<FlowNumber, (RouterId, RouterId)>,
    names: BTreeMap<RouterId, Mac>,
    heard: Option<BTreeSet<RouterId>>,
    /// What is not seen now, in words.
    blind: Option<String>,
}

impl MeshNode {
    /// A router whose interface in the mesh has an address. boot: larger at each start.
    pub fn new(
        address: Mac,
        boot: u32,
        key: MeshKey,
        policy: NodePolicy,
        now: Time,
    ) -> Result<MeshNode, PolicyError> {
        let own = RouterId::of_mac(address);
        Ok(MeshNode {
            address,
            own,
            router: Router::new(own, boot, key, policy.limits.clone())?,
            passed: Passed::new(now),
            rates: BTreeMap::new(),
            told: BTreeMap::new(),
            ends: BTreeMap::new(),
            names: BTreeMap::from([(own, address)]),
            // Nobody until the radio tells who is near.
            heard: Some(BTreeSet::new()),
            blind: Some("nothing was looked at yet".to_owned()),
            policy,
        })
    }

    /// Takes in a packet at the interface. leaves: whether this router sends it.
    pub fn on_packet(&mut self, packet: &Packet, leaves: bool) {
        let (Some(from), Some(to)) = (packet.source_mac, packet.destination_mac) else { return };
        let strange = if leaves { to == self.address } else { to != self.address };
        // Group-addressed frames are no flow.
        if packet.payload_bytes == 0 || to[0] & 1 == 1 || strange {
            return;
        }
        let other = if leaves { to } else { from };
        let number = match (self.policy.routes, leaves) {
            (Routes::Packets, _) => {
                FlowNumber::of_ends(packet.source, packet.destination, packet.protocol)
            }
            (Routes::MeshPaths, true) => FlowNumber::between(self.own, RouterId::of_mac(to)),
            (Routes::MeshPaths, false) => FlowNumber::between(RouterId::of_mac(from), self.own),
        };
        self.passed.add(number, other, leaves, packet.payload_bytes);
    }

    /// Takes in a message.
    pub fn on_message(&mut self, bytes: &[u8], now: Time) -> Result<(), NotTaken> {
        let sender = wire::claimed_sender(bytes).unwrap_or(NOBODY);
        if self.heard.as_ref().is_some_and(|heard| !heard.contains(&sender)) {
            return Err(NotTaken::FromAfar);
        }
        Ok(self.router.on_message(sender, bytes, now)?)
    }

    /// Takes in what the kernel tells, or in words why not: then nothing is stated, and the queue has its safe limit.
    pub fn look(&mut self, sight: Result<&Sight, String>, now: Time) {
        let passed = self.passed.look(now);
        let needs_busy = self.policy.limits.domains == DomainsBy::Busy;
        let sight = sight.and_then(|sight| match sight.busy {
            None if needs_busy => Err("the radio does not tell how busy its channel is".to_owned()),
            _ => Ok(sight),
        });
        match sight {
            Ok(sight) => {
                self.blind = None;
                self.take_links(sight, now);
                if let Some(busy) = sight.busy {
                    // A fraction out of range says nothing.
                    let _ = self.router.on_busy(busy, now);
                }
                let hops = self.hops(&passed, sight, now);
                self.tell(hops, now);
            }
            Err(why) => self.blind = Some(why),
        }
        self.forget(now);
        self.router.on_time(now);
    }

    /// The next message to send, if it is time for one.
    pub fn poll_message(&mut self, now: Time) -> Option<Vec<u8>> {
        self.router.on_time(now);
        self.router.poll_message(now)
    }

    /// The limit of the queue in packets; `None` for the safe one.
    pub fn limit(&self) -> Option<u32> {
        let limits = self.router.limits().0;
        limits.get(&Slot::Node).copied().filter(|_| self.blind.is_none())
    }

    /// Why the limit is this, in a sentence.
    pub fn why(&self) -> String {
        if let Some(blind) = &self.blind {
            return blind.clone();
        }
        let reasons = self.router.reasons().values();
        let weight = |reason: &&FlowReason| match reason {
            FlowReason::Unknown(_) => u32::MAX,
            FlowReason::Sized { packets, .. } => *packets,
        };
        match reasons.max_by_key(weight) {
            None => "no flow is active".to_owned(),
            Some(FlowReason::Unknown(why)) => self.named(&format!("a flow is not sized: {why}")),
            Some(sized) => self.named(&sized.to_string()),
        }
    }

    fn take_links(&mut self, sight: &Sight, now: Time) {
        let known = &sight.neighbours[..sight.neighbours.len().min(MOST_KNOWN)];
        let paths = &sight.paths[..sight.paths.len().min(MOST_KNOWN)];
        let addresses = known.iter().map(|of| of.address).chain(paths.iter().map(|path| path.0));
        self.names = addresses.chain([self.address]).map(|of| (RouterId::of_mac(of), of)).collect();
        let near: BTreeSet<RouterId> = known
            .iter()
            .map(|of| RouterId::of_mac(of.address))
            .filter(|id| *id != self.own)
            .collect();
        for (to, rate_bps) in known.iter().filter_map(|of| Some((of.address, of.rate_bps?))) {
            let to = RouterId::of_mac(to);
            if near.contains(&to) {
                self.take_rate(to, rate_bps, sight.channel, now);
            }
        }
        let gone: Vec<RouterId> =
            self.rates.keys().filter(|id| !near.contains(id)).copied().collect();
        for to in gone {
            self.rates.remove(&to);
            // Cannot fail for a link that was taken.
            let _ = self.router.on_link(to, None, now);
        }
        self.heard = sight.floods.then_some(near);
    }

    fn take_rate(&mut self, to: RouterId, rate_bps: u64, channel: u8, now: Time) {
        let facts = |rate_bps: u64| {
            let bytes = u64::from(self.policy.limits.segment_bytes) + 2 * HEADER_BYTES;
            let bits_ns = (bytes * 8).saturating_mul(1_000_000_000) / rate_bps.max(1);
            let all_ns = self.policy.overhead.as_nanos().max(1).unsigned_abs() + bits_ns;
            let round_trip_ns = u32::try_from(all_ns).unwrap_or(u32::MAX);
            LinkFacts { rate_bps, round_trip_ns, channel }
        };
        let (mean_bps, same) = match self.rates.get(&to) {
            None => (rate_bps as f64, false),
            Some(Rate { mean_bps, told }) => {
                let mean_bps = mean_bps + (rate_bps as f64 - mean_bps) / LOOKS;
                let ratio = mean_bps / told.rate_bps.max(1) as f64;
                let near = (1.0 / ANOTHER_RATE..=ANOTHER_RATE).contains(&ratio);
                (mean_bps, near && told.channel == channel)
            }
        };
        match self.rates.get_mut(&to).filter(|_| same) {
            Some(rate) => rate.mean_bps = mean_bps,
            None => {
                let told = facts(mean_bps.round() as u64);
                // What is out of range is no rate of a link.
                if self.router.on_link(to, Some(told), now).is_ok() {
                    self.rates.insert(to, Rate { mean_bps, told });
                }
            }
        }
    }

    /// How active flows pass.
    fn hops(
        &mut self,
        passed: &[passed::Flow],
        sight: &Sight,
        now: Time,
    ) -> BTreeMap<FlowNumber, Hop> {
        let entering: BTreeMap<FlowNumber, RouterId> = match self.policy.routes {
            Routes::Packets => BTreeMap::new(),
            Routes::MeshPaths => self.router.entering(now).collect(),
        };
        let paths: BTreeMap<RouterId, RouterId> = sight
            .paths
            .iter()
            .take(MOST_KNOWN)
            .map(|&(to, by)| (RouterId::of_mac(to), RouterId::of_mac(by)))
            .collect();
        let towards = |end: RouterId| match self.policy.routes {
            Routes::Packets => end,
            Routes::MeshPaths => paths.get(&end).copied().unwrap_or(end),
        };
        let mut hops = BTreeMap::new();
        for flow in passed.iter().take(MOST_TOLD) {
            let from = flow.from.map(|from| {
                let before = entering.get(&flow.number).copied();
                before.unwrap_or_else(|| towards(RouterId::of_mac(from)))
            });
            let to = flow.to.map(|to| towards(RouterId::of_mac(to)));
            hops.insert(flow.number, self.hop(from, to));
        }
        self.forwarded(&entering, &paths, &mut hops);
        hops
    }

    /// Adds flows that 802.11s forwards here.
    fn forwarded(
        &mut self,
        entering: &BTreeMap<FlowNumber, RouterId>,
        paths: &BTreeMap<RouterId, RouterId>,
        hops: &mut BTreeMap<FlowNumber, Hop>,
    ) {
        self.ends.retain(|number, _| entering.contains_key(number));
        let mut searches = 0;
        for (&number, &from) in entering {
            if hops.contains_key(&number) || hops.len() >= MOST_TOLD {
                continue;
            }
            if !self.ends.contains_key(&number) && searches < MOST_SEARCHES {
                searches += 1;
                if let Some(ends) = self.find_ends(number, paths) {
                    self.ends.insert(number, ends);
                }
            }
            let next = match self.ends.get(&number) {
                Some((_, end)) if *end == self.own => None,
                Some((_, end)) => Some(paths.get(end).copied().unwrap_or(NOBODY)),
                None => Some(NOBODY),
            };
            hops.insert(number, self.hop(Some(from), next));
        }
    }

    /// The routers between which a flow goes, among those that are known.
    fn find_ends(
        &self,
        number: FlowNumber,
        paths: &BTreeMap<RouterId, RouterId>,
    ) -> Option<(RouterId, RouterId)> {
        let ends = || paths.keys().copied().chain([self.own]);
        let froms = self.names.keys().copied();
        froms
            .flat_map(|from| ends().map(move |to| (from, to)))
            .find(|&(from, to)| from != to && FlowNumber::between(from, to) == number)
    }

    /// A hop that the router takes: one that cannot be goes to nobody.
    fn hop(&self, previous: Option<RouterId>, next: Option<RouterId>) -> Hop {
        let possible = previous != next && ![previous, next].contains(&Some(self.own));
        let (previous, next) = if possible { (previous, next) } else { (None, Some(NOBODY)) };
        let outside_us = self.policy.outside.as_nanos() / 1000;
        let most = i64::from(Hop::MOST_DELAY_US);
        let begins = previous.is_none();
        let other_delay_us = if begins { outside_us.clamp(0, most) as u32 } else { 0 };
        Hop { previous, next, demand_bps: None, other_delay_us }
    }

    fn tell(&mut self, hops: BTreeMap<FlowNumber, Hop>, now: Time) {
        for (number, hop) in hops {
            let known = self.told.get(&number).map(|(known, _)| *known);
            if known.is_none() && self.told.len() >= MOST_TOLD {
                continue;
            }
            // The hop is one that the router takes.
            let same = known == Some(hop) || self.router.on_route(number, Some(hop), now).is_ok();
            if same {
                self.told.insert(number, (hop, now));
                self.router.on_active(number, now);
            }
        }
    }

    /// Takes back routes of flows that are idle.
    fn forget(&mut self, now: Time) {
        let idle = self.policy.limits.idle;
        let over = self.told.iter().filter(|(_, (_, at))| now - *at >= idle);
        let over: Vec<FlowNumber> = over.map(|(number, _)| *number).collect();
        for number in over {
            self.told.remove(&number);
            // Cannot fail without a hop.
            let _ = self.router.on_route(number, None, now);
        }
    }

    /// A text with addresses of routers in the place of their numbers.
    fn named(&self, text: &str) -> String {
        let mut parts = text.split("router ");
        let mut named = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find(|char: char| !char.is_ascii_digit()).unwrap_or(part.len());
            let id = part[..end].parse().ok().map(RouterId);
            match id.and_then(|id| self.names.get(&id)) {
                Some([a, b, c, d, e, f]) => {
                    named += &format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}");
                }
                None if id == Some(NOBODY) => named += "a router that is not known",
                None => named += &format!("router {}", &part[..end]),
            }
            named += &part[end..];
        }
        named
    }
}

#[cfg(test)]
mod tests;
