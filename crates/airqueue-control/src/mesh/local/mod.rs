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
const HEADER_BYTES: u32 = 74;
/// The overhead of a hop where nothing tells it: of 802.11n at 5 GHz with four streams, what reproduces MESH's 85 packets at
/// 600 Mb/s.
pub const USUAL_OVERHEAD: Span = Span::from_micros(400);
/// A rate is told anew when its mean, or that of the hop's time, differs by so much: rate controls try others all the time.
const ANOTHER_RATE: f64 = 1.25;
/// How long the last busy time holds while the radio tells no other one. Routers state a mean of so much time
/// ([`Policy::every`]), so that one mean is missed at most; counters of radios stand still for shorter times, while a driver does not
/// take them from its hardware (a second) or the radio scans other channels (some seconds). Neighbours that are silent for as
/// long are gone, too.
const BUSY_HOLDS: Span = super::SILENT;
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
    /// T_d-DATA + T_d-ACK without the bits of both frames: contention, interframe spaces, preambles, acknowledgements. None: that
    /// of each link, or [`USUAL_OVERHEAD`] where it is not known.
    pub overhead: Option<Span>,
    /// Round trip outside the mesh of flows that enter it here.
    pub outside: Span,
}

impl NodePolicy {
    /// Bytes of a packet with data, and of a TCP acknowledgement.
    pub fn frame_bytes(&self) -> [u32; 2] {
        [self.limits.segment_bytes + HEADER_BYTES, HEADER_BYTES]
    }
}

/// A neighbour, as the radio knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its address.
    pub address: Mac,
    /// Rate of frames to it, in bit/s.
    pub rate_bps: Option<u64>,
    /// T_d-DATA + T_d-ACK of frames to it without the bits of both ([`NodePolicy::frame_bytes`]), if the radio tells how they are sent.
    pub overhead: Option<Span>,
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
    /// The fraction of the time in which the medium was busy, since the radio last told one; none if it has nothing new.
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

/// What is told of a link, and the means of what the radio knows.
#[derive(Clone, Copy, Debug)]
struct Rate {
    mean_bps: f64,
    mean_overhead_ns: f64,
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
    /// When the radio last told how busy its channel is.
    busy_at: Option<Time>,
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
        let mut router = Router::new(own, boot, key, policy.limits.clone())?;
        router.ask();
        Ok(MeshNode {
            address,
            own,
            router,
            passed: Passed::new(now),
            rates: BTreeMap::new(),
            told: BTreeMap::new(),
            ends: BTreeMap::new(),
            names: BTreeMap::from([(own, address)]),
            // Nobody until the radio tells who is near.
            heard: Some(BTreeSet::new()),
            busy_at: None,
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
        if sight.as_ref().is_ok_and(|sight| sight.busy.is_some()) {
            self.busy_at = Some(now);
        }
        let needs_busy = self.policy.limits.domains == DomainsBy::Busy;
        let is_old = self.busy_at.is_none_or(|at| now - at >= BUSY_HOLDS);
        let sight = sight.and_then(|sight| match is_old && needs_busy {
            true => Err("the radio does not tell how busy its channel is".to_owned()),
            false => Ok(sight),
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
        for of in known {
            let to = RouterId::of_mac(of.address);
            if let Some(rate_bps) = of.rate_bps.filter(|_| near.contains(&to)) {
                let overhead = self.policy.overhead.or(of.overhead).unwrap_or(USUAL_OVERHEAD);
                self.take_rate(to, rate_bps, overhead, sight.channel, now);
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

    fn take_rate(&mut self, to: RouterId, rate_bps: u64, overhead: Span, channel: u8, now: Time) {
        let (rate, overhead_ns) = (rate_bps as f64, overhead.as_nanos() as f64);
        let known = self.rates.get(&to).copied();
        let (mean_bps, mean_overhead_ns) = match known {
            None => (rate, overhead_ns),
            Some(Rate { mean_bps, mean_overhead_ns, .. }) => {
                let mean = |mean: f64, value: f64| mean + (value - mean) / LOOKS;
                (mean(mean_bps, rate), mean(mean_overhead_ns, overhead_ns))
            }
        };
        let facts = self.facts(mean_bps, mean_overhead_ns, channel);
        let told = known.map(|known| known.told).filter(|told| are_alike(told, &facts));
        // What is out of range is no rate of a link.
        if told.is_some() || self.router.on_link(to, Some(facts), now).is_ok() {
            let told = told.unwrap_or(facts);
            self.rates.insert(to, Rate { mean_bps, mean_overhead_ns, told });
        }
    }

    fn facts(&self, mean_bps: f64, mean_overhead_ns: f64, channel: u8) -> LinkFacts {
        let rate_bps = mean_bps.round() as u64;
        let bytes: u64 = self.policy.frame_bytes().iter().map(|&bytes| u64::from(bytes)).sum();
        let bits_ns = (bytes * 8).saturating_mul(1_000_000_000) / rate_bps.max(1);
        let all_ns = (mean_overhead_ns.round() as u64).max(1).saturating_add(bits_ns);
        LinkFacts { rate_bps, round_trip_ns: u32::try_from(all_ns).unwrap_or(u32::MAX), channel }
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

/// Whether a link need not be told anew.
fn are_alike(told: &LinkFacts, now: &LinkFacts) -> bool {
    let near = |told: f64, now: f64| (1.0 / ANOTHER_RATE..=ANOTHER_RATE).contains(&(now / told));
    told.channel == now.channel
        && near(told.rate_bps.max(1) as f64, now.rate_bps as f64)
        && near(told.round_trip_ns.max(1).into(), now.round_trip_ns.into())
}

#[cfg(test)]
mod tests;
