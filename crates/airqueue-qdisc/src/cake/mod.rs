//! CAKE (Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", IEEE LANMAN 2018), as in Linux's `sch_cake`: a shaper,
//! tins by DSCP, queues for flows and fairness among hosts, each queue under COBALT.
//!
//! Packets carry no TCP headers: the ACK filter reads those that [`LinkFeedback::set_tcp_header`] sets.
//!
//! Not modelled: address translation (`nat`), `ingress` and `autorate-ingress`, `wash`, ATM and PTM framing, firewall
//! marks, and the splitting of segments that the link layer would split.

mod ack_filter;
mod chains;
mod cobalt;
mod diffserv;
mod hosts;
mod keys;
mod shaper;
mod tin;

pub use ack_filter::AckFilter;
pub use diffserv::Diffserv;
pub use keys::CakeTable;

use crate::flow_hash::FlowHash;
use crate::lists::Lists;
use ack_filter::Headers;
use airqueue_core::{
    ByNeighbour, DataRate, DropReason, Drops, FlowKey, Hosts, Limit, LinkFeedback, Packet,
    QueueDisc, RandomStream, Span, TcpHeader, Time,
};
use schemars::JsonSchema;
use serde::Deserialize;
use shaper::Shaper;
use std::collections::BTreeMap;
use tin::{QUEUES, Tin};

/// The minimum memory of a CAKE with a rate (`cake_reconfigure`).
const LEAST_MEMORY: u64 = 4 << 20;
/// The default maximum of the memory, in packets of the largest size (`cake_init`).
const MOST_PACKETS: u64 = 10_240;

/// Which packets share a queue, and between whom queues are fair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Nobody: one queue.
    #[serde(rename = "flowblind")]
    Blind,
    /// Source hosts, each with a queue.
    #[serde(rename = "srchost")]
    Source,
    /// Destination hosts, each with a queue.
    #[serde(rename = "dsthost")]
    Destination,
    /// Pairs of hosts, each with a queue.
    Hosts,
    /// Flows.
    Flows,
    /// Source hosts, and the flows of each.
    #[serde(rename = "dual-srchost")]
    DualSource,
    /// Destination hosts, and the flows of each.
    #[serde(rename = "dual-dsthost")]
    DualDestination,
    /// Flows, each by the busier of its hosts.
    // A flow's share is that among the flows of its source or of its destination, whichever has more.
    #[default]
    #[serde(rename = "triple-isolate")]
    Triple,
}

impl Isolation {
    fn counts_sources(self) -> bool {
        matches!(self, Isolation::DualSource | Isolation::Triple)
    }

    fn counts_destinations(self) -> bool {
        matches!(self, Isolation::DualDestination | Isolation::Triple)
    }
}

/// The parameters of CAKE, named as in `tc qdisc add ... cake`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CakeParams {
    /// The rate of CAKE's own shaper (tc: `bandwidth`); `None`: no shaper, packets leave as fast as the link takes
    /// them.
    pub rate: Option<DataRate>,
    /// Bytes that count on top of each IP packet against the rate, negative where the queue's link layer has more bytes
    /// than the bottleneck's; `None`: the bytes that the queue counts.
    pub overhead: Option<i32>,
    /// The least bytes that a packet counts against the rate, overhead included.
    pub mpu: u32,
    /// Which packets share a tin.
    pub diffserv: Diffserv,
    /// Which packets of a tin share a queue.
    pub isolation: Isolation,
    /// About the longest round-trip time of the flows. COBALT's interval is `rtt` and its target a twentieth of `rtt`;
    /// both are longer where the rate is so low that packets take longer.
    pub rtt: Span,
    /// The largest packet with its link layer.
    pub mtu: u32,
    /// Bytes, link layer included, that all queues hold together; `None`: the bytes that the rate sends in four times
    /// `rtt`, but at least 4 MiB and at most 10 240 packets of the largest size. (Linux counts the memory of its
    /// buffers.)
    pub memory_limit: Option<u64>,
    /// Which acknowledgements are dropped because a later one covers them.
    pub ack_filter: AckFilter,
}

impl Default for CakeParams {
    /// The defaults of `cake_init`, for Ethernet.
    fn default() -> CakeParams {
        CakeParams {
            rate: None,
            overhead: None,
            mpu: 0,
            diffserv: Diffserv::default(),
            isolation: Isolation::default(),
            rtt: Span::from_millis(100),
            mtu: 1514,
            memory_limit: None,
            ack_filter: AckFilter::default(),
        }
    }
}

impl CakeParams {
    /// The rate in bytes per second; 0: unlimited.
    fn bytes_per_second(&self) -> u64 {
        self.rate.map_or(0, |rate| (rate.as_bps() / 8).max(1))
    }

    fn interval_us(&self) -> i64 {
        (self.rtt.as_nanos() / 1000).max(1)
    }

    fn interval(&self) -> Span {
        Span::from_micros(self.interval_us())
    }

    /// A twentieth of the interval, as tc computes it.
    fn target(&self) -> Span {
        Span::from_micros((self.interval_us() / 20).max(1))
    }

    /// Number of queues of all tins.
    pub fn queues(&self) -> u32 {
        (self.diffserv.shares(0).len() * QUEUES) as u32
    }

    /// The memory limit in force, in bytes (`cake_reconfigure`).
    pub fn memory(&self) -> u64 {
        self.memory_limit.unwrap_or_else(|| {
            let most = MOST_PACKETS * u64::from(self.mtu);
            let four = u128::from(self.bytes_per_second()) * self.interval_us() as u128 / 250_000;
            let own = u64::try_from(four).unwrap_or(u64::MAX).max(LEAST_MEMORY);
            if self.rate.is_some() { own.min(most) } else { most }
        })
    }
}

/// Flow queues in tins behind a shaper. (tc: `cake`.)
///
/// [`LinkFeedback::set_flow_hosts`] sets the hosts of a flow; all flows without hosts count as flows between the same
/// two hosts.
///
/// Arrivals and departures take constant time. Only a full store searches all queues of all tins, for the longest
/// queue (Linux keeps a heap for this search), and the ACK filter reads the headers of all packets that wait in the
/// arriving packet's queue.
#[derive(Clone, Debug)]
pub struct Cake {
    params: CakeParams,
    memory: u64,
    /// The maximum number of packets; Linux has no limit in packets.
    limit: u32,
    link_layer: u32,
    random: RandomStream,
    hash: FlowHash,
    hosts: BTreeMap<FlowKey, Hosts>,
    shaper: Shaper,
    tins: Vec<Tin>,
    /// The tin whose turn it is, if there is no rate.
    current: usize,
    /// The packets of each queue of each tin, and their bytes.
    waiting: Lists,
    backlogs: Vec<u64>,
    bytes: u64,
    /// Empty without the ACK filter.
    headers: Headers,
    /// The packet that `peek` has decided on. Linux counts the packet as waiting, but not in its queue
    /// (`qdisc_peek_dequeued`).
    decided: Option<Packet>,
}

impl Cake {
    /// Empty queues that count IP bytes. `random` gives the key of the hash, and the random numbers of BLUE and of the
    /// turns.
    pub fn new(params: CakeParams, mut random: RandomStream) -> Cake {
        let rate = params.bytes_per_second();
        let tins = params.diffserv.shares(rate).into_iter().map(|share| Tin::new(&params, share));
        let tins: Vec<Tin> = tins.collect();
        Cake {
            memory: params.memory(),
            limit: u32::MAX,
            link_layer: 0,
            hash: FlowHash::new(&mut random),
            random,
            hosts: BTreeMap::new(),
            shaper: Shaper::new(rate),
            current: 0,
            waiting: Lists::new(tins.len() * QUEUES),
            backlogs: vec![0; tins.len() * QUEUES],
            tins,
            bytes: 0,
            headers: Headers::default(),
            decided: None,
            params,
        }
    }

    /// The queues count `bytes` on top of each IP packet. Only for empty queues.
    pub fn with_link_layer(mut self, bytes: u32) -> Cake {
        self.link_layer = bytes;
        self
    }

    fn cost(&self, packet: &Packet) -> u64 {
        u64::from(packet.size) + u64::from(self.link_layer)
    }

    /// The bytes that a packet counts against the rate, and against its queue's turn (`cake_calc_overhead`).
    fn charged(&self, packet: &Packet) -> u32 {
        let overhead = self.params.overhead.map_or(i64::from(self.link_layer), i64::from);
        let bytes = (i64::from(packet.size) + overhead).max(i64::from(self.params.mpu));
        u32::try_from(bytes.max(0)).unwrap_or(u32::MAX)
    }

    /// The queue of a packet in its tin (`cake_hash`). Both directions between two hosts count as one pair of hosts.
    fn place(&mut self, tin: usize, packet: &Packet) -> usize {
        let (hash, known) = (self.hash, &self.hosts);
        let hosts = || {
            let Hosts { source, destination } =
                known.get(&packet.flow).copied().unwrap_or_default();
            [hash.hash(source), hash.hash(destination)]
        };
        let flow = match self.params.isolation {
            Isolation::Blind => 0,
            Isolation::Source => hosts()[0],
            Isolation::Destination => hosts()[1],
            Isolation::Hosts => hosts()[0] ^ hosts()[1],
            _ => hash.hash(packet.flow.0),
        };
        self.tins[tin].place(flow, hosts)
    }

    /// Takes the oldest packet of a queue.
    fn pop(&mut self, tin: usize, queue: usize) -> Option<Packet> {
        let at = tin * QUEUES + queue;
        let packet = self.waiting.pop(at)?;
        self.discount(tin, at, &packet);
        Some(packet)
    }

    /// Takes the oldest packet of the longest queue (`cake_drop`).
    fn drop_from_longest(&mut self, now: Time) -> Option<Packet> {
        let (mut at, mut most) = (0, 0);
        for (queue, &bytes) in self.backlogs.iter().enumerate() {
            if bytes > most {
                (at, most) = (queue, bytes);
            }
        }
        let (tin, queue) = (at / QUEUES, at % QUEUES);
        let packet = self.pop(tin, queue)?;
        let (cobalt, params) = self.tins[tin].cobalt(queue);
        cobalt.on_overflow(params, now);
        Some(packet)
    }

    /// The tin that sends next (`cake_dequeue`). With a rate, the last tin that has not used its share yet, or else the
    /// tin that has exceeded its own share by the least time; without a rate, tins take turns by bytes.
    fn choose_tin(&mut self, now: Time) -> Option<usize> {
        let active = |&tin: &usize| self.tins[tin].is_active();
        if !self.shaper.is_unlimited() {
            let ahead = |tin: usize| self.tins[tin].ahead(now).max(Span::ZERO);
            return (0..self.tins.len()).filter(active).rev().min_by_key(|&tin| ahead(tin));
        }
        (0..self.tins.len()).find(active)?;
        while !self.tins[self.current].has_turn() {
            self.current = (self.current + 1) % self.tins.len();
        }
        Some(self.current)
    }

    fn decide(&mut self, now: Time, drops: &mut Drops) -> Option<Packet> {
        let mut first = true;
        while self.waiting.packets() > 0 && self.shaper.holds_until(now).is_none() {
            let tin = self.choose_tin(now)?;
            let waiting = &self.waiting;
            let holds_packets = |queue: usize| waiting.len(tin * QUEUES + queue) > 0;
            let queue = self.tins[tin].turn(first, holds_packets, &mut self.random)?;
            first = false;
            match self.send(tin, queue, now, drops) {
                None => self.tins[tin].on_empty(queue, now),
                sent => return sent,
            }
        }
        None
    }

    /// The packet that a queue sends; the AQM never drops the last packet of the queue.
    fn send(&mut self, tin: usize, queue: usize, now: Time, drops: &mut Drops) -> Option<Packet> {
        loop {
            let mut packet = self.pop(tin, queue)?;
            let (cobalt, params) = self.tins[tin].cobalt(queue);
            let dropped = cobalt.drops(params, now, &mut packet, &mut self.random, drops);
            if !dropped || self.waiting.len(tin * QUEUES + queue) == 0 {
                let bytes = self.charged(&packet);
                self.tins[tin].charge(queue, bytes, now);
                self.shaper.charge(bytes);
                return Some(packet);
            }
            drops.push(packet, DropReason::Aqm);
        }
    }

    /// Drops the acknowledgement that the packet at a place, the last of its queue, makes redundant. The AQM takes no
    /// notice.
    fn filter_acks(
        &mut self,
        tin: usize,
        at: usize,
        packet: &Packet,
        place: u32,
    ) -> Option<Packet> {
        self.headers.arrive(packet, place);
        let aggressive = self.params.ack_filter == AckFilter::AckFilterAggressive;
        let found = self.headers.redundant(self.waiting.places(at), place, aggressive)?;
        let dropped = self.waiting.remove(at, found.at, found.before);
        self.discount(tin, at, &dropped);
        Some(dropped)
    }

    /// A packet has left its queue.
    fn discount(&mut self, tin: usize, at: usize, packet: &Packet) {
        let cost = self.cost(packet);
        self.backlogs[at] -= cost;
        self.bytes -= cost;
        self.tins[tin].packets -= 1;
    }

    fn has_room(&self) -> bool {
        self.bytes <= self.memory && self.len_packets() <= self.limit as usize
    }
}

impl QueueDisc for Cake {
    fn enqueue(&mut self, mut packet: Packet, now: Time, drops: &mut Drops) {
        packet.enqueued = now;
        let tin = self.params.diffserv.tin(packet.dscp & 63);
        let queue = self.place(tin, &packet);
        if self.tins[tin].packets == 0 {
            self.tins[tin].restart(now);
            if self.is_empty() {
                self.shaper.restart(now);
            }
        }
        let (at, cost) = (tin * QUEUES + queue, self.cost(&packet));
        let place = self.waiting.push(at, packet);
        self.backlogs[at] += cost;
        self.bytes += cost;
        self.tins[tin].packets += 1;
        if self.reads_tcp_headers()
            && let Some(dropped) = self.filter_acks(tin, at, &packet, place)
        {
            drops.push(dropped, DropReason::AckFilter);
        }
        self.tins[tin].on_arrival(queue, &mut self.random);
        while !self.has_room()
            && let Some(dropped) = self.drop_from_longest(now)
        {
            let arrived = dropped.id == packet.id;
            drops.push(dropped, if arrived { DropReason::Tail } else { DropReason::Head });
        }
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Packet> {
        self.decided.take().or_else(|| self.decide(now, drops))
    }

    fn peek(&mut self, now: Time, drops: &mut Drops) -> Option<&Packet> {
        self.decided = self.dequeue(now, drops);
        self.decided.as_ref()
    }

    fn len_packets(&self) -> usize {
        self.waiting.packets() + usize::from(self.decided.is_some())
    }

    fn len_bytes(&self) -> u64 {
        self.bytes + self.decided.as_ref().map_or(0, |packet| self.cost(packet))
    }

    fn next_wakeup(&self, now: Time) -> Option<Time> {
        if self.waiting.packets() == 0 || self.decided.is_some() {
            return None;
        }
        self.shaper.holds_until(now)
    }

    /// A limit in bytes replaces the memory limit; Linux has no limit in packets.
    fn set_limit(&mut self, limit: Limit) {
        match limit {
            Limit::Packets(packets) => self.limit = packets,
            Limit::Bytes(bytes) => self.memory = bytes,
        }
    }
}

impl ByNeighbour for Cake {}

impl LinkFeedback for Cake {
    fn set_flow_hosts(&mut self, flow: FlowKey, hosts: Hosts) {
        self.hosts.insert(flow, hosts);
    }

    fn reads_tcp_headers(&self) -> bool {
        self.params.ack_filter != AckFilter::NoAckFilter
    }

    fn set_tcp_header(&mut self, packet: u64, header: &TcpHeader) {
        if self.reads_tcp_headers() {
            self.headers.announce(packet, header);
        }
    }
}

#[cfg(test)]
mod tests;
