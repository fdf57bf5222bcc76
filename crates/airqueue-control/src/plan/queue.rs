//! Queue disciplines of interfaces (Linux: `tc qdisc`).

use super::check::{At, PlanError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Longest queue in packets: a thousand times what a router needs, and 150 MB of packets.
const MOST_PACKETS: u32 = 100_000;
/// Longest queue in bytes.
const MOST_BYTES: u32 = 1_000_000_000;
/// Rates of shapers: from an old modem's to 100 Gb/s.
const RATES: std::ops::RangeInclusive<u64> = 8_000..=100_000_000_000;
/// Smallest burst: a full Ethernet frame with its header and a VLAN tag, or no full packet passes.
const LEAST_BURST: u32 = 1_518;

/// The queue discipline at the root of an interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueOf {
    /// Name of the interface, as `wlan0`.
    pub interface: String,
    /// The discipline.
    pub queue: Queue,
}

/// A queue discipline, one key of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Queue {
    /// One first-in, first-out queue that drops arrivals when it is full (Linux: pfifo, bfifo).
    Fifo(Fifo),
    /// A queue for each flow, each with CoDel (RFC 8290).
    FqCodel(FqCodel),
    /// CAKE, with its shaper if a rate is given.
    Cake(Cake),
    /// A shaper with a queue below it. It holds the queue here if its rate is below that of the link.
    Shaped(Shaped),
    /// A rate divided into classes, each with a queue of its own (Linux: htb).
    Shared(Shared),
}

/// A queue discipline without a shaper around it, one key of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Leaf {
    /// One first-in, first-out queue that drops arrivals when it is full (Linux: pfifo, bfifo).
    Fifo(Fifo),
    /// A queue for each flow, each with CoDel (RFC 8290).
    FqCodel(FqCodel),
    /// CAKE without a shaper.
    Cake(Cake),
}

/// A first-in, first-out queue. One of the two limits is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fifo {
    /// Limit in packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub limit_packets: Option<u32>,
    /// Limit in bytes, link-layer headers included, as the kernel counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1518, max = 1_000_000_000))]
    pub limit_bytes: Option<u32>,
}

/// FQ-CoDel. What is left out is the kernel's default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FqCodel {
    /// Limit of all flows together, packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub limit_packets: Option<u32>,
    /// Limit of all flows together, bytes of memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1518, max = 1_000_000_000))]
    pub memory_limit_bytes: Option<u32>,
    /// Number of queues that flows are hashed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_536))]
    pub flows: Option<u32>,
    /// Sojourn time that CoDel accepts, µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 100, max = 10_000_000))]
    pub target_us: Option<u32>,
    /// Time above the target after which CoDel acts, µs: about the longest usual round trip.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1000, max = 60_000_000))]
    pub interval_us: Option<u32>,
    /// Bytes that a flow sends in its turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 256, max = 1_048_576))]
    pub quantum_bytes: Option<u32>,
    /// Whether packets that allow it are marked instead of dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
}

/// CAKE. What is left out is the kernel's default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cake {
    /// Rate of its shaper, bits per second, a multiple of 8. Without it CAKE does not shape.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 8_000, max = 100_000_000_000_u64))]
    pub rate_bps: Option<u64>,
    /// Round-trip time for which it is tuned, µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 100, max = 60_000_000))]
    pub rtt_us: Option<u32>,
    /// What gets equal shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Into which priorities traffic is divided by its DSCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tins: Option<Tins>,
    /// Bytes that the link adds to each packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -64, max = 256))]
    pub overhead_bytes: Option<i32>,
    /// Limit in bytes of memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1518, max = 1_000_000_000))]
    pub memory_limit_bytes: Option<u32>,
    /// Whether hosts are told apart as before network address translation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nat: Option<bool>,
    /// Whether redundant acknowledgements of TCP are dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_filter: Option<bool>,
}

/// What gets equal shares of CAKE, in tc's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Nothing: one queue.
    Flowblind,
    /// Sources.
    Srchost,
    /// Destinations.
    Dsthost,
    /// Pairs of source and destination.
    Hosts,
    /// Flows.
    Flows,
    /// Sources, and the flows of each.
    DualSrchost,
    /// Destinations, and the flows of each.
    DualDsthost,
    /// Sources and destinations, and the flows of each.
    TripleIsolate,
}

/// The priorities of CAKE, in tc's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tins {
    /// One.
    Besteffort,
    /// One for each IP precedence.
    Precedence,
    /// Three: bulk, best effort, voice.
    Diffserv3,
    /// Four: bulk, best effort, video, voice.
    Diffserv4,
    /// Eight.
    Diffserv8,
}

/// A shaper with a queue below it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shaped {
    /// The kernel's discipline that shapes.
    #[serde(default)]
    pub by: Shaper,
    /// Rate, bits per second, a multiple of 8.
    #[schemars(range(min = 8_000, max = 100_000_000_000_u64))]
    pub rate_bps: u64,
    /// Bytes that may leave at once. By default 4 ms at the rate, 2 packets of 1518 bytes at least: the kernel's clock
    /// wakes a shaper late by less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1518, max = 1_000_000_000))]
    pub burst_bytes: Option<u32>,
    /// The queue.
    pub below: Leaf,
}

/// The kernel's disciplines that shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shaper {
    /// Token bucket.
    #[default]
    Tbf,
    /// Hierarchical token bucket, with one class.
    Htb,
}

/// A rate divided into classes. A packet goes into the class that its priority names (nftables: `meta priority set
/// HANDLE:ID`), else into the class `other`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// Number of the root, by which priorities name it. tc and nftables print it in hexadecimal digits.
    #[schemars(range(min = 1, max = 32_767))]
    pub handle: u16,
    /// Rate of all classes together, bits per second, a multiple of 8.
    #[schemars(range(min = 8_000, max = 100_000_000_000_u64))]
    pub rate_bps: u64,
    /// `id` of the class of packets that no priority assigns.
    pub other: u16,
    /// The classes.
    #[schemars(length(min = 1, max = 1000))]
    pub classes: Vec<Class>,
}

/// A class of a divided rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Number of the class.
    #[schemars(range(min = 2, max = 65_534))]
    pub id: u16,
    /// Rate that the class has for itself, bits per second, a multiple of 8. What others leave it gets as well.
    #[schemars(range(min = 8_000, max = 100_000_000_000_u64))]
    pub rate_bps: u64,
    /// Its queue.
    pub queue: Fifo,
}

impl QueueOf {
    pub(super) fn check(&self, at: &At) -> Result<(), PlanError> {
        at.name("interface", &self.interface)?;
        let at = at.key("queue");
        match &self.queue {
            Queue::Fifo(fifo) => fifo.check(&at.key("fifo")),
            Queue::FqCodel(fq_codel) => fq_codel.check(&at.key("fq_codel")),
            Queue::Cake(cake) => cake.check(&at.key("cake")),
            Queue::Shaped(shaped) => shaped.check(&at.key("shaped")),
            Queue::Shared(shared) => shared.check(&at.key("shared")),
        }
    }
}

impl Fifo {
    fn check(&self, at: &At) -> Result<(), PlanError> {
        match (self.limit_packets, self.limit_bytes) {
            (Some(packets), None) => at.within("limit_packets", packets, 1..=MOST_PACKETS),
            (None, Some(bytes)) => at.within("limit_bytes", bytes, LEAST_BURST..=MOST_BYTES),
            _ => Err(at.wrong_here("give either limit_packets or limit_bytes")),
        }
    }
}

impl FqCodel {
    fn check(&self, at: &At) -> Result<(), PlanError> {
        at.maybe_within("limit_packets", self.limit_packets, 1..=MOST_PACKETS)?;
        at.maybe_within("memory_limit_bytes", self.memory_limit_bytes, LEAST_BURST..=MOST_BYTES)?;
        at.maybe_within("flows", self.flows, 1..=65_536)?;
        at.maybe_within("target_us", self.target_us, 100..=10_000_000)?;
        at.maybe_within("interval_us", self.interval_us, 1000..=60_000_000)?;
        at.maybe_within("quantum_bytes", self.quantum_bytes, 256..=1 << 20)
    }
}

impl Cake {
    fn check(&self, at: &At) -> Result<(), PlanError> {
        if let Some(rate) = self.rate_bps {
            check_rate(at, "rate_bps", rate)?;
        }
        at.maybe_within("rtt_us", self.rtt_us, 100..=60_000_000)?;
        at.maybe_within("overhead_bytes", self.overhead_bytes, -64..=256)?;
        at.maybe_within("memory_limit_bytes", self.memory_limit_bytes, LEAST_BURST..=MOST_BYTES)
    }
}

impl Shaped {
    fn check(&self, at: &At) -> Result<(), PlanError> {
        check_rate(at, "rate_bps", self.rate_bps)?;
        at.maybe_within("burst_bytes", self.burst_bytes, LEAST_BURST..=MOST_BYTES)?;
        let below = at.key("below");
        match &self.below {
            Leaf::Fifo(fifo) => fifo.check(&below.key("fifo")),
            Leaf::FqCodel(fq_codel) => fq_codel.check(&below.key("fq_codel")),
            Leaf::Cake(cake) if cake.rate_bps.is_some() => Err(below.key("cake").wrong(
                "rate_bps",
                "shapes below another shaper; leave it out, or give cake without shaped",
            )),
            Leaf::Cake(cake) => cake.check(&below.key("cake")),
        }
    }

    /// Bytes that may leave at once.
    pub fn burst(&self) -> u32 {
        let four_ms = u32::try_from(self.rate_bps / 2000).unwrap_or(MOST_BYTES);
        self.burst_bytes.unwrap_or(four_ms.clamp(2 * LEAST_BURST, MOST_BYTES))
    }
}

impl Shared {
    fn check(&self, at: &At) -> Result<(), PlanError> {
        // 8000: and above are numbers that the kernel gives to disciplines without one.
        at.within("handle", self.handle, 1..=0x7fff)?;
        check_rate(at, "rate_bps", self.rate_bps)?;
        at.within("classes", self.classes.len(), 1..=1000)?;
        let mut ids = BTreeSet::new();
        for (index, class) in self.classes.iter().enumerate() {
            let at = at.item("classes", index);
            at.within("id", class.id, 2..=0xfffe)?;
            check_rate(&at, "rate_bps", class.rate_bps)?;
            class.queue.check(&at.key("queue"))?;
            if !ids.insert(class.id) {
                return Err(at.wrong("id", format!("{} is the id of another class", class.id)));
            }
        }
        if !ids.contains(&self.other) {
            return Err(at.wrong("other", format!("{} is the id of no class", self.other)));
        }
        let sum: u64 = self.classes.iter().map(|class| class.rate_bps).sum();
        if sum > self.rate_bps {
            return Err(at.wrong(
                "classes",
                format!("have {sum} bit/s together, more than rate_bps: lower them"),
            ));
        }
        Ok(())
    }
}

fn check_rate(at: &At, key: &str, rate_bps: u64) -> Result<(), PlanError> {
    at.within(key, rate_bps, RATES)?;
    if !rate_bps.is_multiple_of(8) {
        let near = rate_bps / 8 * 8;
        return Err(at.wrong(key, format!("{rate_bps} is no whole number of bytes per second, in which the kernel counts; give {near}")));
    }
    Ok(())
}
