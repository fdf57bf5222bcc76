//! From what a plan says to what the kernel takes.

use super::cake;
use super::message::ROOT;
use super::tree::{Node, Tree};
use crate::netlink::attributes::Writer;
use airqueue_control::plan::{Class, Fifo, FqCodel, Leaf, Queue, Shaped, Shaper, Shared};

/// `TC_LINKLAYER_ETHERNET`: a packet takes its length, and no table is needed.
const ETHERNET: u8 = 1;
/// A tick of the packet scheduler (`PSCHED_SHIFT`), in which bursts are given.
const TICK_NS: u64 = 64;
/// First major number for disciplines of ours; numbers from 8000 on are the kernel's.
const FIRST_MAJOR: u16 = 0x7a00;
/// `TCA_HTB_INIT`: htb's version and how a class's quantum follows from its rate; classes here have a quantum.
const HTB_VERSION: u32 = 3;
const RATE_TO_QUANTUM: u32 = 10;
/// The only class of a shaper.
const ONLY: u16 = 1;
/// Packets that a shaper's own queue would hold if the one below it were not there.
const FALLBACK_PACKETS: u32 = 100;

/// Rate of a shaper's second bucket, which holds one packet.
const PEAK_BPS: u64 = 16_000_000_000;
/// Bytes that the second bucket gets in a tick: sizes are whole numbers of these, or the kernel would tell less than it took.
const PEAK_TICK_BYTES: u32 = 128;
/// An Ethernet header, and two VLAN tags.
const LINK_BYTES: u32 = 22;
/// An Ethernet header, and a VLAN tag: what frames mostly have beside the MTU.
const FRAME_BYTES: u32 = 18;

/// The interface that gets a tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interface {
    /// Its number.
    pub(super) index: u32,
    /// Its MTU, if it is known and has to do with packets on a line: that of the loopback interface has not.
    pub(super) mtu: Option<u32>,
}

/// The tree that a plan asks for. `avoided` are trees whose numbers are in use, or will be again.
pub(super) fn tree(queue: &Queue, interface: Interface, avoided: &[&Tree]) -> Tree {
    let mut builder = Builder {
        longest: interface.mtu.map(|mtu| mtu.saturating_add(LINK_BYTES)),
        nodes: Vec::new(),
        taken: avoided.iter().flat_map(|tree| tree.majors()).collect(),
    };
    match queue {
        Queue::Fifo(fifo) => builder.leaf(ROOT, &Leaf::Fifo(fifo.clone())),
        Queue::FqCodel(fq_codel) => builder.leaf(ROOT, &Leaf::FqCodel(fq_codel.clone())),
        Queue::Cake(cake) => builder.leaf(ROOT, &Leaf::Cake(cake.clone())),
        Queue::Shaped(shaped) => builder.shaped(shaped),
        Queue::Shared(shared) => builder.shared(shared),
    }
    Tree { index: interface.index, default: None, nodes: builder.nodes, zero_length: false }
}

/// Why a queue is not to be set: the kernel would make another burst of the one that was given, or long frames would be dropped.
pub(super) fn refusal(queue: &Queue, interface: Interface) -> Option<String> {
    if let Queue::Shaped(Shaped { rate_bps, burst_bytes: Some(bytes), .. }) = queue
        && burst_ns(*bytes, *rate_bps).div_ceil(TICK_NS) > u64::from(u32::MAX)
    {
        let most_s = u64::from(u32::MAX) * TICK_NS / 1_000_000_000;
        return Some(format!(
            "burst_bytes is {bytes}, for more than {most_s} s at {rate_bps} b/s, the most that the kernel takes; give fewer"
        ));
    }
    drops_long_frames(queue, interface)
}

/// Why every frame as long as the interface allows would be dropped: the bucket or the limit is smaller.
fn drops_long_frames(queue: &Queue, interface: Interface) -> Option<String> {
    let (mtu, longest) = (interface.mtu?, interface.mtu?.saturating_add(FRAME_BYTES));
    let short = |key: &str, bytes: u32| {
        (bytes < longest).then(|| {
            format!(
                "{key} is {bytes}, and the MTU of {mtu} allows frames of {longest} bytes, which would all be dropped; \
                 give {longest} or more"
            )
        })
    };
    let limit = |fifo: &Fifo| fifo.limit_bytes.and_then(|bytes| short("limit_bytes", bytes));
    match queue {
        Queue::Fifo(fifo) => limit(fifo),
        Queue::Shaped(Shaped { by, burst_bytes, below, .. }) => {
            let burst = burst_bytes.filter(|_| *by == Shaper::Tbf);
            let below = match below {
                Leaf::Fifo(fifo) => limit(fifo),
                Leaf::FqCodel(_) | Leaf::Cake(_) => None,
            };
            burst.and_then(|bytes| short("burst_bytes", bytes)).or(below)
        }
        Queue::Shared(shared) => shared.classes.iter().find_map(|class| limit(&class.queue)),
        Queue::FqCodel(_) | Queue::Cake(_) => None,
    }
}

struct Builder {
    /// Bytes of the longest frame of the interface.
    longest: Option<u32>,
    nodes: Vec<Node>,
    taken: Vec<u16>,
}

impl Builder {
    fn major(&mut self) -> u32 {
        let free = (FIRST_MAJOR..0x7fff).find(|major| !self.taken.contains(major));
        let major = free.unwrap_or(FIRST_MAJOR);
        self.taken.push(major);
        u32::from(major) << 16
    }

    fn add(&mut self, class: bool, kind: &str, handle: u32, parent: u32, options: Vec<u8>) {
        self.nodes.push(Node {
            class,
            kind: kind.to_owned(),
            handle,
            parent,
            options: Some(options),
        });
    }

    fn leaf(&mut self, parent: u32, leaf: &Leaf) {
        let handle = self.major();
        match leaf {
            Leaf::Fifo(fifo) => {
                let (kind, limit) = limit(fifo);
                self.add(false, kind, handle, parent, limit.to_ne_bytes().to_vec());
            }
            Leaf::FqCodel(fq_codel) => {
                self.add(false, "fq_codel", handle, parent, fq_codel_options(fq_codel))
            }
            Leaf::Cake(cake) => self.add(false, "cake", handle, parent, cake::options(cake)),
        }
    }

    fn shaped(&mut self, shaped: &Shaped) {
        let root = self.major();
        let class = root | u32::from(ONLY);
        match shaped.by {
            Shaper::Tbf => self.add(false, "tbf", root, ROOT, tbf_options(shaped, self.longest)),
            Shaper::Htb => {
                self.add(false, "htb", root, ROOT, htb_options(ONLY));
                self.add(
                    true,
                    "htb",
                    class,
                    ROOT,
                    class_options(shaped.rate_bps, shaped.rate_bps, shaped.burst()),
                );
            }
        }
        self.leaf(class, &shaped.below);
    }

    fn shared(&mut self, shared: &Shared) {
        let root = u32::from(shared.handle) << 16;
        self.taken.push(shared.handle);
        let all = root | u32::from(ONLY);
        let burst = |rate_bps| with_usual_burst(rate_bps).burst();
        // htb leaves packets merged, and its FIFOs would count many as one: a token bucket around it takes them apart.
        let whole = with_usual_burst(shared.rate_bps);
        let above = match self.longest.filter(|_| takes_apart(&whole)) {
            Some(longest) => {
                let major = self.major();
                self.add(false, "tbf", major, ROOT, tbf_options(&whole, Some(longest)));
                major | u32::from(ONLY)
            }
            None => ROOT,
        };
        self.add(false, "htb", root, above, htb_options(shared.other));
        self.add(
            true,
            "htb",
            all,
            ROOT,
            class_options(shared.rate_bps, shared.rate_bps, burst(shared.rate_bps)),
        );
        for Class { id, rate_bps, queue } in &shared.classes {
            let class = root | u32::from(*id);
            self.add(
                true,
                "htb",
                class,
                all,
                class_options(*rate_bps, shared.rate_bps, burst(shared.rate_bps)),
            );
            self.leaf(class, &Leaf::Fifo(queue.clone()));
        }
    }
}

/// A token bucket whose plan leaves its burst out.
pub(super) fn with_usual_burst(rate_bps: u64) -> Shaped {
    let below = Leaf::Fifo(Fifo::default());
    Shaped { by: Shaper::Tbf, rate_bps, burst_bytes: None, below }
}

/// The kernel's discipline and its limit.
fn limit(fifo: &Fifo) -> (&'static str, u32) {
    match (fifo.limit_packets, fifo.limit_bytes) {
        (Some(packets), _) => ("pfifo", packets),
        (None, bytes) => ("bfifo", bytes.unwrap_or_default()),
    }
}

fn fq_codel_options(fq_codel: &FqCodel) -> Vec<u8> {
    Writer::default()
        .maybe_u32(1, fq_codel.target_us)
        .maybe_u32(2, fq_codel.limit_packets)
        .maybe_u32(3, fq_codel.interval_us)
        .maybe_u32(4, fq_codel.ecn.map(u32::from))
        .maybe_u32(5, fq_codel.flows)
        .maybe_u32(6, fq_codel.quantum_bytes)
        .maybe_u32(9, fq_codel.memory_limit_bytes)
        .finish()
}

/// `struct tc_ratespec`: a rate in bytes per second, and how long a packet is on the link.
fn ratespec(rate_bps: u64) -> Vec<u8> {
    let rate = u32::try_from(rate_bps / 8).unwrap_or(u32::MAX);
    let mut spec = vec![0, ETHERNET, 0, 0, 0, 0, 0, 0];
    spec.extend_from_slice(&rate.to_ne_bytes());
    spec
}

/// How long a burst lasts at the rate, in ticks.
fn burst_ticks(burst_bytes: u32, rate_bps: u64) -> u32 {
    u32::try_from(burst_ns(burst_bytes, rate_bps).div_ceil(TICK_NS)).unwrap_or(u32::MAX)
}

fn burst_ns(burst_bytes: u32, rate_bps: u64) -> u64 {
    u64::from(burst_bytes) * 8_000_000_000 / rate_bps
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Rates of 2^32 bytes per second and more have an attribute of their own.
fn with_long_rates(written: Writer, attributes: &[u16], rate_bps: u64) -> Writer {
    let long = rate_bps / 8 > u64::from(u32::MAX);
    attributes.iter().filter(|_| long).fold(written, |to, kind| to.u64(*kind, rate_bps / 8))
}

/// Whether packets that the kernel has merged (GRO, or a sender's offload) are to become single ones before the FIFO, whose
/// limit counts them. A second bucket that holds one packet does this, as tbf takes apart what is longer than its buckets
/// (`tbf_segment`); packets leave it faster than they come.
fn takes_apart(shaped: &Shaped) -> bool {
    matches!(&shaped.below, Leaf::Fifo(Fifo { limit_bytes: None, .. }))
        && shaped.rate_bps <= PEAK_BPS / 2
}

/// `struct tc_tbf_qopt` and the bursts in bytes. A packet longer than a bucket would be dropped.
fn tbf_options(shaped: &Shaped, longest: Option<u32>) -> Vec<u8> {
    // The limit is that of the byte queue which the kernel makes for an instant, before the one below is there.
    let fallback = FALLBACK_PACKETS * 1518;
    let given = shaped.burst_bytes.is_some();
    let burst = shaped.burst().max(longest.filter(|_| !given).unwrap_or_default());
    let ticks = burst_ticks(burst, shaped.rate_bps);
    let peak = longest.filter(|_| takes_apart(shaped));
    // One step more: the kernel may round it down.
    let peak = peak.map(|bytes| bytes.next_multiple_of(PEAK_TICK_BYTES) + PEAK_TICK_BYTES);
    let peak_bps = if peak.is_some() { PEAK_BPS } else { 0 };
    let peak_ticks = peak.unwrap_or_default() / PEAK_TICK_BYTES;
    let parms =
        [ratespec(shaped.rate_bps), ratespec(peak_bps), words(&[fallback, ticks, peak_ticks])];
    let written = Writer::default().bytes(1, &parms.concat()).u32(6, burst).maybe_u32(7, peak);
    with_long_rates(written, &[4], shaped.rate_bps).finish()
}

/// `struct tc_htb_glob`.
fn htb_options(other: u16) -> Vec<u8> {
    let glob = words(&[HTB_VERSION, RATE_TO_QUANTUM, u32::from(other), 0, 0]);
    Writer::default().bytes(2, &glob).finish()
}

/// `struct tc_htb_opt` of a class with a rate of its own, and what it may borrow up to.
fn class_options(rate_bps: u64, ceiling_bps: u64, burst_bytes: u32) -> Vec<u8> {
    // A full packet at least; htb warns above 200,000 bytes.
    let quantum = u32::try_from(rate_bps / 80).unwrap_or(u32::MAX).clamp(1518, 60_000);
    let tail = words(&[
        burst_ticks(burst_bytes, rate_bps),
        burst_ticks(burst_bytes, ceiling_bps),
        quantum,
        0,
        0,
    ]);
    let parms = [ratespec(rate_bps), ratespec(ceiling_bps), tail].concat();
    let written = Writer::default().bytes(1, &parms);
    let written = with_long_rates(written, &[6], rate_bps);
    with_long_rates(written, &[7], ceiling_bps).finish()
}
