//! MESH's router as a loop of the service: its table, and how a limit follows the router.

use super::Knob;
use super::config::{ConfigError, MOST_PACKETS, within, wrong};
use crate::flows::Mac;
use crate::mesh::{DomainsBy, NodePolicy, Policy, Queues, Routes};
use crate::pace::{Next, Pace, Paced};
use crate::places::FEWEST_IN_TXQS;
use crate::plan::{Fifo, Item, Plan, Queue, QueueOf, Ring, Set, Txq, mac_address};
use airqueue_core::quantity::{Duration, Packets, Quantity, Rate};
use airqueue_core::{Span, Time};
use serde::Deserialize;
use std::path::PathBuf;

/// MESH's router at one interface.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeshConfig {
    /// The interface in the mesh: a mesh point of 802.11s, or one over which IP forwards.
    pub interface: String,
    /// File of the mesh's key, which its owner alone may read.
    pub key: PathBuf,
    /// UDP port of the messages.
    #[serde(default = "port")]
    pub port: u16,
    /// The phy whose TXQ limit follows.
    pub phy: Option<String>,
    /// The interface whose FIFO's limit follows.
    pub queue: Option<String>,
    /// The driver's ring of the interface, which is kept at so many packets, and counted.
    pub ring: Option<Quantity<Packets>>,
    /// The least limit.
    pub least: Option<Quantity<Packets>>,
    /// The safe limit, which no limit exceeds: what the queue holds while too little is known.
    #[serde(default = "thousand_packets")]
    pub most: Quantity<Packets>,
    /// Where routes are seen; by itself as the interface forwards.
    pub routes: Option<Routes>,
    /// How bottlenecks are found.
    #[serde(default = "two_hop")]
    pub domains: DomainsBy,
    /// Time of a packet and its acknowledgement over one hop without the bits of both; from how frames are sent if it is left out.
    pub overhead: Option<Quantity<Duration>>,
    /// Round trip outside the mesh of flows that enter it here.
    #[serde(default = "nothing")]
    pub outside: Quantity<Duration>,
    /// Rates of links that no radio of this machine knows.
    #[serde(default)]
    pub link: Vec<MeshLink>,
}

/// The rate of a link.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeshLink {
    /// MAC address of the neighbour's interface.
    pub address: String,
    /// Rate of frames to it.
    pub rate: Quantity<Rate>,
}

/// No service is registered for it.
fn port() -> u16 {
    24_945
}

fn thousand_packets() -> Quantity<Packets> {
    Quantity::of("1000 packets")
}

fn two_hop() -> DomainsBy {
    DomainsBy::TwoHop
}

fn nothing() -> Quantity<Duration> {
    Quantity::of("0 ms")
}

impl MeshConfig {
    pub(super) fn check(&self, at: &str) -> Result<(), ConfigError> {
        let key = |name: &str| format!("{at}.{name}");
        if self.knobs().is_empty() {
            let what = "is missing, and so is phy: say what has the limit, an interface's FIFO or a phy's TXQs";
            return Err(wrong(&key("queue"), what));
        }
        if self.port == 0 {
            return Err(wrong(&key("port"), "is 0; give 1 to 65535, the same at all routers"));
        }
        if let Some(overhead) = &self.overhead {
            within(&key("overhead"), overhead, 10e-6, 0.1)?;
        }
        within(&key("outside"), &self.outside, 0.0, 100.0)?;
        let ring = self.ring.as_ref().map(|ring| ring.value);
        if let Some(packets) = ring.filter(|ring| !(Ring::FEWEST..=Ring::MOST).contains(ring)) {
            let what = format!(
                "is {packets} packets; give {} to {}: with fewer, links of 802.11s break",
                Ring::FEWEST,
                Ring::MOST
            );
            return Err(wrong(&key("ring"), what));
        }
        let (least, most, fewest) = (self.least_packets(), self.most.value, self.fewest());
        if least < fewest || least > most || most > MOST_PACKETS {
            let why = match self.phy {
                Some(_) => ": mac80211's TXQs hold no smaller limit",
                None => "",
            };
            let what = format!(
                "is {least}, and most is {most}; give {fewest} to most{why}, and most to {MOST_PACKETS}"
            );
            return Err(wrong(&key("least"), what));
        }
        for (index, link) in self.link.iter().enumerate() {
            if mac_address(&link.address).is_none() {
                let what =
                    format!("is {:?}; give a MAC address, as 02:00:00:00:01:00", link.address);
                return Err(wrong(&format!("{at}.link[{index}].address"), what));
            }
        }
        Ok(())
    }

    fn fewest(&self) -> u32 {
        if self.phy.is_some() { FEWEST_IN_TXQS } else { 1 }
    }

    fn least_packets(&self) -> u32 {
        self.least.as_ref().map_or(self.fewest(), |least| least.value)
    }

    /// Where the loop acts.
    pub fn knobs(&self) -> Vec<Knob> {
        let txqs = self.phy.iter().map(|phy| Knob::TxqLimit { phy: phy.clone() });
        let queue = self.queue.iter().map(|of| Knob::QueueLimit { interface: of.clone() });
        txqs.chain(queue).collect()
    }

    /// The settings of the loop that a plan does not have.
    pub(super) fn items(&self, plan: &Plan) -> Vec<Item> {
        let missing = self.knobs().into_iter().filter(|knob| knob.find(plan).is_none());
        let limit_packets = Some(self.most.value);
        let set = |knob| match knob {
            Knob::TxqLimit { phy } => {
                Set::Txq(Txq { phy, limit_packets, memory_limit_bytes: None, quantum_bytes: None })
            }
            Knob::QueueLimit { interface } | Knob::OwnTxop { interface, .. } => {
                let fifo = Fifo { limit_packets, limit_bytes: None };
                Set::Queue(QueueOf { interface, queue: Queue::Fifo(fifo) })
            }
        };
        let why = format!("MESH's router at {} sets the limit", self.interface);
        let limits = missing.map(|knob| Item { why: why.clone(), set: set(knob) });
        // Before the limits: most drivers take the link down and up for it.
        self.ring_item(plan).into_iter().chain(limits).collect()
    }

    /// The ring, unless the plan has one of the interface: that one is kept, and counted.
    fn ring_item(&self, plan: &Plan) -> Option<Item> {
        let packets = self.ring.as_ref()?.value;
        let why = format!(
            "what waits in the ring of {} waits behind the limit of MESH's router",
            self.interface
        );
        let set = Set::Ring(Ring { interface: self.interface.clone(), packets });
        ring_of(plan, &self.interface).is_none().then_some(Item { why, set })
    }

    /// How the router sees and computes. forwards: whether the interface is a mesh point that forwards frames.
    pub fn policy(&self, forwards: bool) -> NodePolicy {
        let by_itself = if forwards { Routes::MeshPaths } else { Routes::Packets };
        NodePolicy {
            limits: Policy {
                queues: Queues::Node,
                domains: self.domains,
                unsized_packets: self.most.value,
                ..Policy::default()
            },
            routes: self.routes.unwrap_or(by_itself),
            overhead: self.overhead.as_ref().map(|overhead| overhead.value),
            outside: self.outside.value,
        }
    }

    /// How the limit follows, from what it is in the whole plan.
    pub fn limit(&self, begin: u32, plan: &Plan, least_interval: Span) -> MeshLimit {
        let pace = Pace { least_interval, greatest_factor: FACTOR };
        MeshLimit {
            ring: ring_of(plan, &self.interface).unwrap_or_default(),
            least: self.least_packets(),
            safe: self.most.value,
            limit: Paced::new(pace, begin.into()),
        }
    }

    /// The rates that the configuration gives.
    pub fn rates(&self) -> impl Iterator<Item = (Mac, u64)> {
        let links = self.link.iter();
        links.filter_map(|link| Some((mac_address(&link.address)?, link.rate.value.as_bps())))
    }
}

/// Greatest factor of one change.
const FACTOR: f64 = 2.0;

/// Packets of an interface's ring, if a plan sets the ring.
fn ring_of(plan: &Plan, of: &str) -> Option<u32> {
    plan.settings.iter().find_map(|item| match &item.set {
        Set::Ring(Ring { interface, packets }) if interface == of => Some(*packets),
        _ => None,
    })
}

/// A limit that follows a router.
#[derive(Clone, Copy, Debug)]
pub struct MeshLimit {
    /// Packets of the router's share that wait in the driver's ring, behind the limit.
    ring: u32,
    least: u32,
    safe: u32,
    limit: Paced,
}

impl MeshLimit {
    /// Takes the router's limit, or that there is none. Returns the queue's limit in packets if it is to change now: to the safe one at
    /// once, since a queue that is too small loses packets, and in steps to others.
    pub fn on_limit(&mut self, limit: Option<u32>, now: Time) -> Option<u32> {
        let next = match limit {
            Some(packets) => {
                let queue = packets.saturating_sub(self.ring).clamp(self.least, self.safe);
                self.limit.on_wanted(queue.into(), now)
            }
            None => self.limit.at_once(self.safe.into(), now),
        };
        match next {
            Next::Set(packets) => u32::try_from(packets).ok(),
            Next::Stay | Next::Wait(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steer::Config;

    fn config(rest: &str) -> Result<Config, ConfigError> {
        let table = "config = 1\n[[mesh]]\ninterface = \"mesh0\"\nkey = \"mesh.key\"\n";
        Config::read(&format!("{table}{rest}"))
    }

    #[test]
    fn the_limit_goes_down_in_steps_and_is_safe_at_once() {
        let config = config("queue = \"mesh0\"\nmost = \"100 packets\"\nleast = \"4 packets\"");
        let config = config.unwrap();
        let whole = config.whole(None).unwrap();
        let mut limit = config.mesh[0].limit(60, &whole, Span::from_secs(10));
        let at = |second| Time::ZERO + Span::from_secs(second);
        assert_eq!(limit.on_limit(None, at(0)), Some(100));
        assert_eq!(limit.on_limit(None, at(0)), None);
        assert_eq!(limit.on_limit(Some(2), at(5)), None);
        assert_eq!(limit.on_limit(Some(2), at(10)), Some(50));
        assert_eq!(limit.on_limit(None, at(11)), Some(100));
        let steps = [21, 31, 41, 51, 61].map(|second| limit.on_limit(Some(2), at(second)));
        assert_eq!(steps, [Some(50), Some(25), Some(13), Some(7), Some(4)]);
        assert_eq!(limit.on_limit(Some(2), at(80)), None);
        assert_eq!(limit.on_limit(Some(5000), at(90)), Some(8));
    }

    #[test]
    fn settings_are_those_of_the_plan_or_the_loops_own() {
        let config = config("queue = \"mesh0\"\nphy = \"phy0\"\nmost = \"100 packets\"").unwrap();
        let whole = config.whole(None).unwrap();
        let points: Vec<_> = whole.settings.iter().map(|item| item.set.point()).collect();
        assert_eq!(points, ["station queues of phy0", "queue of mesh0"]);
        let [txqs, queue] = config.mesh[0].knobs().try_into().unwrap();
        assert_eq!(txqs.value(&whole.settings[0].set), Some(100));
        assert_eq!(queue.value(&whole.settings[1].set), Some(100));
        // What a plan has is not made again.
        assert_eq!(config.whole(Some(whole.clone())).unwrap(), whole);
    }

    /// A router may hold 20 packets: 3 in the ring, and 17 in its queue.
    #[test]
    fn a_ring_is_set_before_the_limits_and_counted() {
        let read = |rest: &str| {
            config(&format!("queue = \"mesh0\"\nleast = \"4 packets\"\n{rest}")).unwrap()
        };
        let ringed = read("ring = \"3 packets\"");
        let whole = ringed.whole(None).unwrap();
        let points: Vec<_> = whole.settings.iter().map(|item| item.set.point()).collect();
        assert_eq!(points, ["transmit ring of mesh0", "queue of mesh0"]);
        let begin = Time::ZERO;
        let wanted = |config: &Config, plan: &Plan, packets| {
            let mut limit = config.mesh[0].limit(20, plan, Span::from_secs(10));
            limit.on_limit(Some(packets), begin + Span::from_secs(60))
        };
        assert_eq!(wanted(&ringed, &whole, 20), Some(17));
        // The queue holds no less than the least limit.
        assert_eq!(wanted(&ringed, &whole, 14), Some(11));
        assert_eq!(
            ringed.mesh[0].limit(4, &whole, Span::from_secs(10)).on_limit(Some(5), begin),
            None
        );
        // A ring of the plan stays, and is what is counted; no ring, nothing to count.
        let mut other = whole.clone();
        other.settings[0].set = Set::Ring(Ring { interface: "mesh0".into(), packets: 8 });
        assert_eq!(ringed.whole(Some(other.clone())).unwrap(), other);
        assert_eq!(wanted(&ringed, &other, 20), Some(12));
        let bare = read("");
        assert_eq!(wanted(&bare, &bare.whole(None).unwrap(), 19), Some(19));
    }

    #[test]
    fn errors_name_the_key_and_what_is_possible() {
        for (rest, expected) in [
            ("", "mesh[0].queue: is missing, and so is phy"),
            ("queue = \"m\"\nring = \"2 packets\"", "mesh[0].ring: is 2 packets; give 3 to 65536"),
            ("queue = \"m\"\nport = 0", "mesh[0].port: is 0; give 1 to 65535"),
            ("queue = \"m\"\nleast = \"0 packets\"", "mesh[0].least: is 0, and most is 1000"),
            ("phy = \"p\"\nleast = \"20 packets\"", "give 64 to most: mac80211's TXQs hold"),
            ("phy = \"p\"\nmost = \"20 packets\"", "mesh[0].least: is 64, and most is 20"),
            ("queue = \"m\"\noverhead = \"2 s\"", "mesh[0].overhead: is 2 s; give a time"),
            ("queue = \"m\"\noutside = \"200 s\"", "mesh[0].outside: is 200 s; give a time"),
            ("queue = \"m\"\ndomains = \"near\"", "two_hop"),
            (
                "queue = \"m\"\n[[mesh.link]]\naddress = \"me\"\nrate = \"1 Mb/s\"",
                "mesh[0].link[0].address: is \"me\"; give a MAC address",
            ),
            (
                "queue = \"m\"\n[[mesh]]\ninterface = \"mesh0\"\nkey = \"k\"\nqueue = \"n\"",
                "mesh[1].interface: is mesh0, as that of mesh[0]",
            ),
        ] {
            let error = config(rest).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
