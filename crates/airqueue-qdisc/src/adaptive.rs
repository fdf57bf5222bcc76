//! Drop-tail whose limit follows the number of flows, their round-trip time and the rate: the adaptation that the APQ
//! paper proposes in its discussion (section V).

use crate::discipline::{Around, Facts, LEAST_INTERVAL, Parameters, Place};
use crate::fifo::Fifo;
use crate::flow_hash::FlowHash;
use airqueue_core::buffers::bytes_of_flows;
use airqueue_core::keys::check::{least, plain, some};
use airqueue_core::keys::{Layers, Result};
use airqueue_core::quantity::{Duration, Quantity, Rate, Size};
use airqueue_core::{
    BoxedQueue, ByNeighbour, DataRate, DropReason, Drops, FlowKey, Limit, LinkFeedback, Packet,
    QueueDisc, RandomStream, Span, Time, take,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// The parameters of the adaptation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdaptiveParams {
    /// The flows' round-trip time without queues.
    pub rtt: Span,
    /// The rate of the link; `None`: the queue measures the rate.
    pub rate: Option<DataRate>,
    /// The least limit in bytes, link layer included.
    pub floor_bytes: u64,
    /// How long a flow counts as active after its last packet: at least this long, at most twice as long. Less than a
    /// nanosecond counts as a nanosecond.
    pub window: Span,
}

impl Default for AdaptiveParams {
    /// 200 ms, the paper's median round-trip time in the Internet; a measured rate; ten Ethernet frames of 1514 bytes,
    /// since less than about 10 packets do not keep a link busy, however many flows there are (Enachescu et al.,
    /// INFOCOM 2006); one second.
    fn default() -> AdaptiveParams {
        AdaptiveParams {
            rtt: Span::from_millis(200),
            rate: None,
            floor_bytes: 15_140,
            window: Span::from_secs(1),
        }
    }
}

/// The adaptive limit.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdaptiveTable {
    /// The flows' round-trip time without queues. The default is `200 ms`.
    pub rtt: Option<Quantity<Duration>>,
    /// The rate of the link. The default is a measured rate.
    pub rate: Option<Quantity<Rate>>,
    /// Lower bound of the limit. The default is `15140 B`.
    pub floor: Option<Quantity<Size>>,
    /// A flow counts for one to two times this long after its last packet. The default is `1 s`.
    pub window: Option<Quantity<Duration>>,
}

impl Parameters for AdaptiveParams {
    type Table = AdaptiveTable;
    const NAME: &'static str = "the adaptive limit";
    const ABOUT: &'static str =
        "Drop-tail with a limit of rate · RTT / √n for the n flows that are active.";

    fn check(tables: &Layers<'_, AdaptiveTable>, _: &Around) -> Result<AdaptiveParams> {
        let mut params = AdaptiveParams::default();
        take!(params.rtt, tables.rtt, plain);
        take!(params.rate, tables.rate, some);
        take!(params.floor_bytes, tables.floor, |given| plain(given).map(u64::from));
        take!(params.window, tables.window, least(LEAST_INTERVAL, "1 ms"));
        Ok(params)
    }

    fn facts(&self) -> Facts {
        let room = Some(Limit::Bytes(self.floor_bytes));
        Facts { room, full_below_limit: true, ..Facts::default() }
    }

    /// The scenario's limit is the ceiling of the adaptive limit.
    fn make(&self, mut place: Place) -> BoxedQueue {
        let queue = Adaptive::new(*self, place.limit, &mut place.rng);
        Box::new(queue.with_link_layer(place.link_layer))
    }
}

/// A drop-tail queue that holds at most rate · RTT / √n bytes (Appenzeller, Keslassy and McKeown, SIGCOMM 2004), n
/// being the number of active flows, and at most a hard limit.
///
/// **Flows** are counted as by Morris (INFOCOM 2000, the paper's reference 13): each offered packet sets the bit that a
/// hash assigns to its flow among m = 4096, and n is the number of flows that would set as many bits on average, ln(1 -
/// set/m) / ln(1 - 1/m). A bit counts if it was set in the present window of time or in the previous window; the first
/// window begins with the first packet.
///
/// **The rate** is the rate of departures while packets wait: in each window, the bytes of the packets that left others
/// behind, divided by the times until the next departure. A window without such times leaves the rate unchanged, and
/// until the first rate only the hard limit applies.
///
/// The limit changes when a packet sets a new bit, and with each new window. A limit that shrinks drops no waiting
/// packet.
#[derive(Clone, Debug)]
pub struct Adaptive {
    params: AdaptiveParams,
    ceiling: Limit,
    waiting: Fifo,
    flows: FlowCount,
    rate: RateMeter,
    /// When the present window ends; `None`: no packet has come yet.
    window_ends: Option<Time>,
    /// rate · RTT / √n, once the rate is known.
    limit: Option<u64>,
}

const BITS: usize = 4096;
type Bitmap = [u64; BITS / 64];

#[derive(Clone, Debug)]
struct FlowCount {
    hash: FlowHash,
    present: Bitmap,
    before: Bitmap,
    /// Bits that are set in either window.
    set: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct RateMeter {
    /// The last departure while others waited: its time, and the packet's bytes.
    last: Option<(Time, u64)>,
    bytes: u64,
    busy: Span,
    /// Bits per second in the last window that had a busy time.
    bps: Option<f64>,
}

impl FlowCount {
    fn new(hash: FlowHash) -> FlowCount {
        FlowCount { hash, present: [0; BITS / 64], before: [0; BITS / 64], set: 0 }
    }

    /// Records a packet of a flow; returns whether the number of set bits changes.
    fn see(&mut self, flow: FlowKey) -> bool {
        let place = self.hash.place(flow, BITS as u32);
        let (word, bit) = (place / 64, 1 << (place % 64));
        let is_new = (self.present[word] | self.before[word]) & bit == 0;
        self.present[word] |= bit;
        self.set += u32::from(is_new);
        is_new
    }

    /// Begins a window, after `windows` windows have passed.
    fn roll(&mut self, windows: i64) {
        let present = std::mem::replace(&mut self.present, [0; BITS / 64]);
        self.before = if windows == 1 { present } else { [0; BITS / 64] };
        self.set = self.before.iter().map(|word| word.count_ones()).sum();
    }

    /// The number of flows, at least 1. A full bitmap counts as a bitmap with one free bit.
    fn estimate(&self) -> f64 {
        let share = f64::from(self.set.min(BITS as u32 - 1)) / BITS as f64;
        (libm::log1p(-share) / libm::log1p(-1.0 / BITS as f64)).max(1.0)
    }
}

impl RateMeter {
    fn on_departure(&mut self, bytes: u64, others_wait: bool, now: Time) {
        if let Some((then, sent)) = self.last {
            self.bytes += sent;
            self.busy = self.busy + (now - then);
        }
        self.last = others_wait.then_some((now, bytes));
    }

    fn roll(&mut self) {
        if self.busy > Span::ZERO {
            self.bps = Some(8.0 * self.bytes as f64 / self.busy.as_secs_f64());
        }
        (self.bytes, self.busy) = (0, Span::ZERO);
    }
}

impl Adaptive {
    /// An empty queue that counts IP bytes; `ceiling` is the hard limit besides the computed limit. `rng` gives the key
    /// of the hash.
    pub fn new(params: AdaptiveParams, ceiling: Limit, rng: &mut RandomStream) -> Adaptive {
        let mut queue = Adaptive {
            params: AdaptiveParams { window: params.window.max(Span::from_nanos(1)), ..params },
            ceiling,
            waiting: Fifo::default(),
            flows: FlowCount::new(FlowHash::new(rng)),
            rate: RateMeter::default(),
            window_ends: None,
            limit: None,
        };
        queue.adapt();
        queue
    }

    /// The queue counts `bytes` on top of each IP packet. Only for an empty queue.
    pub fn with_link_layer(mut self, bytes: u32) -> Adaptive {
        self.waiting.set_link_layer(bytes);
        self
    }

    /// The estimated number of active flows.
    pub fn flows(&self) -> f64 {
        self.flows.estimate()
    }

    /// The computed limit in bytes, if the rate is known.
    pub fn limit_bytes(&self) -> Option<u64> {
        self.limit
    }

    fn adapt(&mut self) {
        let given = self.params.rate.map(|rate| rate.as_bps() as f64);
        self.limit = given.or(self.rate.bps).map(|bps| {
            let bytes = bytes_of_flows(bps, self.params.rtt, self.flows.estimate());
            (bytes as u64).max(self.params.floor_bytes)
        });
    }

    /// Ends the windows that are over by `now`.
    fn pass(&mut self, now: Time) {
        let window = self.params.window;
        let ends = *self.window_ends.get_or_insert_with(|| now.saturating_add(window));
        if now < ends {
            return;
        }
        let windows = (now - ends).as_nanos() / window.as_nanos() + 1;
        self.flows.roll(windows);
        self.rate.roll();
        self.adapt();
        let passed = Span::from_nanos(windows.saturating_mul(window.as_nanos()));
        self.window_ends = Some(ends.saturating_add(passed));
    }

    fn has_room(&self, packet: &Packet) -> bool {
        self.waiting.has_room(self.ceiling, packet)
            && self.limit.is_none_or(|limit| self.waiting.has_room(Limit::Bytes(limit), packet))
    }
}

impl QueueDisc for Adaptive {
    fn enqueue(&mut self, packet: Packet, now: Time, drops: &mut Drops) {
        self.pass(now);
        if self.flows.see(packet.flow) {
            self.adapt();
        }
        if self.has_room(&packet) {
            self.waiting.push(packet, now);
        } else {
            drops.push(packet, DropReason::Tail);
        }
    }

    fn dequeue(&mut self, now: Time, _drops: &mut Drops) -> Option<Packet> {
        self.pass(now);
        let packet = self.waiting.pop()?;
        self.rate.on_departure(self.waiting.cost(&packet), self.waiting.len() > 0, now);
        Some(packet)
    }

    fn peek(&mut self, _now: Time, _drops: &mut Drops) -> Option<&Packet> {
        self.waiting.front()
    }

    fn len_packets(&self) -> usize {
        self.waiting.len()
    }

    fn len_bytes(&self) -> u64 {
        self.waiting.bytes()
    }

    /// Changes the ceiling.
    fn set_limit(&mut self, limit: Limit) {
        self.ceiling = limit;
    }
}

impl ByNeighbour for Adaptive {}

impl LinkFeedback for Adaptive {}

#[cfg(test)]
mod tests {
    use super::*;
    use airqueue_core::Seed;

    const CEILING: Limit = Limit::Packets(1000);

    fn queue(params: AdaptiveParams) -> Adaptive {
        Adaptive::new(params, CEILING, &mut Seed(1).stream("hash"))
    }

    fn known_rate() -> AdaptiveParams {
        AdaptiveParams { rate: DataRate::from_bps(18_000_000), ..AdaptiveParams::default() }
    }

    fn ms(ms: i64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn offer(q: &mut Adaptive, flow: FlowKey, now: Time) -> usize {
        let mut drops = Drops::new();
        q.enqueue(Packet::new(0, flow, 1500, now), now, &mut drops);
        drops.as_slice().len()
    }

    fn offer_all(q: &mut Adaptive, flows: impl IntoIterator<Item = u32>, now: Time) {
        for flow in flows {
            offer(q, FlowKey(flow), now);
        }
    }

    /// The paper's footnote 5: 18 Mb/s times 0.2 s are 300 packets of 1500 bytes; 4 flows need half of them, 100 flows
    /// a tenth.
    #[test]
    fn the_limit_is_the_papers() {
        for (flows, packets) in [(1, 300.0), (4, 150.0), (100, 30.0)] {
            let mut q = queue(known_rate());
            offer_all(&mut q, 0..flows, ms(0));
            while q.dequeue(ms(0), &mut Drops::new()).is_some() {}
            // Flows may share a bit: the estimate is within 2 %, its root within 1 %.
            let limit = q.limit_bytes().unwrap() as f64 / 1500.0;
            assert!((limit / packets - 1.0).abs() < 0.01, "{flows} flows: {limit}");
            offer_all(&mut q, [0; 400], ms(1));
            assert_eq!(q.len_packets() as f64, limit.floor());
        }
    }

    /// Linear counting (Whang et al., 1990) with a load of n/m = 1/4: standard error 0.9 %.
    #[test]
    fn a_thousand_flows_are_counted() {
        let mut q = queue(known_rate());
        offer_all(&mut q, 0..1000, ms(0));
        assert!((q.flows() / 1000.0 - 1.0).abs() < 0.04, "{}", q.flows());
        assert_eq!(q.limit_bytes(), Some(15_140), "not below the floor");
        for flow in 0..100_000 {
            q.flows.see(FlowKey(flow));
        }
        assert!(q.flows().is_finite());
    }

    #[test]
    fn flows_are_forgotten_after_two_windows() {
        let mut q = queue(known_rate());
        offer_all(&mut q, 0..16, ms(0));
        let near = |q: &Adaptive, n: f64| (q.flows() - n).abs() < 0.05 * n;
        offer(&mut q, FlowKey(0), ms(1999));
        assert!(near(&q, 16.0), "{}", q.flows());
        offer(&mut q, FlowKey(0), ms(2000));
        assert!(near(&q, 1.0), "{}", q.flows());
        offer(&mut q, FlowKey(1), ms(2001));
        assert!(near(&q, 2.0));
        offer(&mut q, FlowKey(2), Time::from_nanos(i64::MAX));
        assert!(near(&q, 1.0));
    }

    /// 1500 bytes every 2 ms while the queue is busy: 6 Mb/s, times 0.2 s 150 000 bytes. Idle times do
    /// not count.
    #[test]
    fn the_rate_is_that_of_busy_times() {
        let mut q = queue(AdaptiveParams::default());
        let mut drops = Drops::new();
        for start in [0, 500] {
            offer_all(&mut q, [0; 100], ms(start));
            assert_eq!(q.limit_bytes(), None, "nothing is known in the first window");
            for i in 0..100 {
                q.dequeue(ms(start + 2 * i), &mut drops);
            }
        }
        offer(&mut q, FlowKey(0), ms(1000));
        assert_eq!(q.limit_bytes(), Some(150_000));
        offer(&mut q, FlowKey(0), ms(9000));
        assert_eq!(q.limit_bytes(), Some(150_000), "an idle window changes nothing");
    }

    #[test]
    fn the_ceiling_holds_besides() {
        let mut q = queue(known_rate());
        q.set_limit(Limit::Packets(3));
        assert_eq!((0..5).map(|_| offer(&mut q, FlowKey(0), ms(0))).sum::<usize>(), 2);
        q.set_limit(Limit::Packets(0));
        assert_eq!(offer(&mut q, FlowKey(0), ms(0)), 1);
        assert_eq!(q.len_packets(), 3);
    }
}
