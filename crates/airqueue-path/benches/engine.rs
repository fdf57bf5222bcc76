//! Speed of the engine: events alone, the device alone, and a whole measurement.
//!
//! `cargo bench -p airqueue-path`; the items of `paper_session` are events.

use airqueue_core::{DataRate, FlowKey, Limit, Packet, Seed, Span, Time};
use airqueue_network::bottleneck::link::LinkSpec;
use airqueue_network::bottleneck::{Bottleneck, DeviceSpec, Framing, ServerSpec};
use airqueue_network::event::{EventQueue, Phase};
use airqueue_path::{PathConfig, SimulatedPath};
use airqueue_probe::client::Direction;
use airqueue_probe::plan::{Plan, Segment};
use airqueue_qdisc::DropFrom;
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

const EVENTS: usize = 100_000;

/// The hold model: `pending` events; each event schedules another a random time ahead.
#[divan::bench(args = [8, 64, 1024, 16384])]
fn hold(bencher: divan::Bencher, pending: usize) {
    let mut rng = Seed(1).stream("hold");
    let mut queue = EventQueue::new();
    for i in 0..pending {
        queue.schedule(Time::ZERO + rng.span_below(Span::from_millis(1)), Phase(0), i);
    }
    bencher.counter(ItemsCount::new(EVENTS)).bench_local(|| {
        for _ in 0..EVENTS {
            if let Some((now, event)) = queue.pop() {
                queue.schedule(now + rng.span_below(Span::from_millis(1)), Phase(0), event);
            }
        }
    });
}

/// Cost of moving one of `pending` events, as for a frozen backoff or a moved deadline.
#[divan::bench(args = [8, 1024])]
fn reschedule(bencher: divan::Bencher, pending: usize) {
    let mut rng = Seed(1).stream("reschedule");
    let mut queue = EventQueue::new();
    let mut at = || Time::ZERO + rng.span_below(Span::from_millis(1));
    let ids: Vec<_> = (0..pending).map(|i| queue.schedule(at(), Phase(0), i)).collect();
    bencher.counter(ItemsCount::new(EVENTS)).bench_local(|| {
        for i in 0..EVENTS {
            queue.reschedule(ids[i % pending], at(), Phase(0));
        }
    });
}

/// Packets through an overloaded 100-packet queue, counted as offered.
#[divan::bench]
fn overloaded_device(bencher: divan::Bencher) {
    let link = LinkSpec { aggregate: 1, overhead: Span::ZERO, jitter: Span::ZERO };
    let spec = DeviceSpec {
        limit: Limit::Packets(100),
        drop_from: DropFrom::Tail,
        isolate_flows: false,
        ring: 0,
        server: ServerSpec::Link(link),
        rate: DataRate::from_bps(7_000_000).expect("not zero"),
        framing: Framing::default(),
        loss: 0.0,
        changes: Vec::new(),
        period: None,
    };
    let mut device = Bottleneck::new(spec, Seed(1));
    let (mut now, mut id) = (Time::ZERO, 0);
    bencher.counter(ItemsCount::new(EVENTS)).bench_local(|| {
        for _ in 0..EVENTS {
            now += Span::from_micros(1_300);
            while let Some(at) = device.next_deadline().filter(|&at| at <= now) {
                device.on_deadline(at);
            }
            device.enqueue(Packet::new(id, FlowKey(0), 1500, now), now);
            id += 1;
            while let Some(outcome) = device.poll_outcome() {
                divan::black_box(outcome);
            }
        }
    });
}

/// One session of the APQ paper: 120 s with 10 packets/s, 600 packets/s more from 30 s to 90 s, real
/// endpoints, connecting included.
#[divan::bench]
fn paper_session(bencher: divan::Bencher) {
    let cbr = |flow, start, length, rate: u32| Segment {
        flow,
        start: Span::from_secs(start),
        duration: Span::from_secs(length),
        count: length as u32 * rate,
        size: 1500,
        traffic_class: 0,
    };
    let plan = Plan { segments: vec![cbr(1, 0, 120, 10), cbr(0, 30, 60, 600)] };
    let config = PathConfig { rate_bps: 5.5e6, ..PathConfig::default() };
    let session = || {
        let mut path = SimulatedPath::new(&config, 1).expect("a valid path");
        path.run(&plan, Direction::Down).expect("a run");
        path.events()
    };
    let events = session() as usize;
    bencher.counter(ItemsCount::new(events)).bench_local(session);
}
