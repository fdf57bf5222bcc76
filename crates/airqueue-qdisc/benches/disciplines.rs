//! Cost of a packet: enqueued in a queue with other packets, the next packet dequeued, and its acknowledgement reported
//! to the queue.
//!
//! `cargo bench -p airqueue-qdisc`; the targets are 100 ns for drop-tail and 300 ns for FQ-CoDel with 1000 flows; the
//! cost of RDQM must not grow with the number of flows. The items are packets.

use airqueue_core::keys::Word;
use airqueue_core::{
    DataRate, Drops, Feedback, FlowKey, Limit, LinkQueue, NeighbourId, Packet, RandomStream, Seed,
    Sent, Span, Time,
};
use airqueue_qdisc::{
    Adaptive, AdaptiveParams, Cake, CakeParams, Codel, CodelParams, DisciplineName, DropTail,
    FqCodel, FqCodelParams, Mac80211, Mac80211Params, PerFlow, Pie, PieParams, Place, Rdqm,
    RdqmParams, Red, RedParams, Sfq, SfqParams,
};
use divan::Bencher;
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

const PACKETS: usize = 100_000;
const LIMIT: Limit = Limit::Packets(10_000);

/// Packets of `flows` flows in random order, 1500 bytes each and one per microsecond, through a queue with `standing`
/// waiting packets.
fn pass(bencher: Bencher, queue: impl LinkQueue, flows: u64, standing: usize) {
    overload(bencher, queue, flows, standing, 1);
}

/// As [`pass`], with `arrivals` arrivals per departure.
fn overload(
    bencher: Bencher,
    mut queue: impl LinkQueue,
    flows: u64,
    standing: usize,
    arrivals: usize,
) {
    let mut rng = Seed(1).stream("flows");
    let order: Vec<u32> = (0..PACKETS).map(|_| rng.below(flows) as u32).collect();
    let mut drops = Drops::new();
    let mut now = Time::ZERO;
    let packet = |flow: u32, now| Packet {
        neighbour: NeighbourId(flow as u16),
        ..Packet::new(0, FlowKey(flow), 1500, now)
    };
    let rate = DataRate::from_bps(11_000_000).expect("a rate");
    for flow in &order[..standing] {
        queue.enqueue(packet(*flow, now), now, &mut drops);
    }
    bencher.counter(ItemsCount::new(PACKETS)).bench_local(|| {
        for flows in order.chunks(arrivals) {
            now += Span::from_micros(1);
            for &flow in flows {
                queue.enqueue(packet(flow, now), now, &mut drops);
            }
            if let Some(packet) = divan::black_box(queue.dequeue(now, &mut drops)) {
                queue.on_sent(&acknowledged(packet, rate), now);
            }
            drops.clear();
        }
    });
}

/// The report of an acknowledged packet; each flow has its own round-trip time.
fn acknowledged(packet: Packet, rate: DataRate) -> Sent {
    let feedback = Feedback { rtt: Span::from_micros(i64::from(packet.flow.0) + 1), rate };
    let airtime = Span::from_micros(100);
    Sent { packet, acknowledged: true, airtime, rate: None, feedback: Some(feedback) }
}

fn rng() -> RandomStream {
    Seed(1).stream("queue")
}

/// Every registered discipline with its default parameters, for flows without long queues.
#[divan::bench(args = DisciplineName::all().map(DisciplineName::word))]
fn by_itself(bencher: Bencher, word: &str) {
    let name = DisciplineName::named(word).expect("a word of the registry");
    let queue = name.by_itself().make(Place { limit: LIMIT, link_layer: 0, rng: rng() });
    pass(bencher, queue, 10, 20);
}

#[divan::bench]
fn droptail(bencher: Bencher) {
    pass(bencher, DropTail::new(LIMIT), 1, 100);
}

#[divan::bench]
fn codel(bencher: Bencher) {
    pass(bencher, Codel::new(CodelParams::default(), LIMIT), 1, 100);
}

#[divan::bench(args = [1, 1000])]
fn fq_codel(bencher: Bencher, flows: u64) {
    pass(bencher, FqCodel::new(FqCodelParams::default(), &mut rng()), flows, 2000);
}

/// Every other packet exceeds the limit: now and then the queue with the most bytes is searched for.
#[divan::bench(args = [1, 1000])]
fn fq_codel_full(bencher: Bencher, flows: u64) {
    let params = FqCodelParams { limit: 2000, ..FqCodelParams::default() };
    overload(bencher, FqCodel::new(params, &mut rng()), flows, 2000, 2);
}

#[divan::bench(args = [1, 1000])]
fn deficit_round_robin(bencher: Bencher, flows: u64) {
    let queue = PerFlow::new(|_| DropTail::new(LIMIT)).with_quantum(1500);
    pass(bencher, queue, flows, 2000);
}

#[divan::bench(args = [1, 1000])]
fn cake(bencher: Bencher, flows: u64) {
    pass(bencher, Cake::new(CakeParams::default(), rng()), flows, 2000);
}

/// Every other packet exceeds the limit, and the longest queue is searched for.
#[divan::bench(args = [1, 1000])]
fn cake_full(bencher: Bencher, flows: u64) {
    let params = CakeParams { memory_limit: Some(2000 * 1500), ..CakeParams::default() };
    overload(bencher, Cake::new(params, rng()), flows, 2000, 2);
}

#[divan::bench(args = [1, 1000])]
fn sfq(bencher: Bencher, flows: u64) {
    let params = SfqParams { flows: 1024, ..SfqParams::default() };
    pass(bencher, Sfq::new(params, LIMIT, rng()), flows, 2000);
}

/// Every other packet exceeds the limit, and the longest queue loses a packet.
#[divan::bench(args = [100, 1000])]
fn sfq_full(bencher: Bencher, flows: u64) {
    let params = SfqParams { flows: 1024, ..SfqParams::default() };
    overload(bencher, Sfq::new(params, Limit::Packets(2000), rng()), flows, 2000, 2);
}

/// RED between its thresholds, where drops are random.
#[divan::bench]
fn red(bencher: Bencher) {
    let params = RedParams { min: 50, max: 500, max_p: 1e-6, ..RedParams::default() };
    pass(bencher, Red::new(params, LIMIT, rng()), 1, 100);
}

#[divan::bench]
fn pie(bencher: Bencher) {
    pass(bencher, Pie::new(PieParams::default(), LIMIT, rng()), 1, 100);
}

#[divan::bench(args = [1, 1000])]
fn adaptive(bencher: Bencher, flows: u64) {
    let params = AdaptiveParams { floor_bytes: 10_000_000, ..AdaptiveParams::default() };
    pass(bencher, Adaptive::new(params, LIMIT, &mut rng()), flows, 100);
}

#[divan::bench(args = [1, 10, 100, 1000, 10_000])]
fn rdqm(bencher: Bencher, flows: u64) {
    pass(bencher, Rdqm::new(RdqmParams::default(), Limit::Packets(20_000)), flows, 2000);
}

/// One flow per station.
#[divan::bench(args = [1, 1000])]
fn mac80211(bencher: Bencher, flows: u64) {
    pass(bencher, Mac80211::new(Mac80211Params::default(), &mut rng()), flows, 2000);
}
