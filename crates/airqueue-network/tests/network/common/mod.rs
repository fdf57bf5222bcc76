//! A stand-alone device: arrivals go in, outcomes with their times come out.

use airqueue_core::{DataRate, FlowKey, Limit, Packet, Seed, Span, Time};
use airqueue_network::bottleneck::link::LinkSpec;
use airqueue_network::bottleneck::{Bottleneck, DeviceSpec, Framing, Outcome, ServerSpec};
use airqueue_qdisc::DropFrom;

/// An arrival.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub at: Time,
    pub flow: u32,
    pub size: u32,
}

/// The outcome of a packet, and its time.
#[derive(Clone, Copy, Debug)]
pub struct TxStatus {
    pub at: Time,
    pub outcome: Outcome,
}

impl TxStatus {
    /// The packet, if it was delivered.
    pub fn delivered(&self) -> Option<Packet> {
        match self.outcome {
            Outcome::Delivered(packet) => Some(packet),
            _ => None,
        }
    }
}

/// A plain link of 8 Mb/s (1000 bytes take 1 ms) behind a queue.
pub fn link(limit: Limit) -> DeviceSpec {
    DeviceSpec {
        limit,
        drop_from: DropFrom::Tail,
        isolate_flows: false,
        ring: 0,
        server: ServerSpec::Link(plain()),
        rate: DataRate::from_bps(8_000_000).unwrap(),
        framing: Framing::default(),
        loss: 0.0,
        changes: Vec::new(),
        period: None,
    }
}

/// One packet per transmission, and only the time of its bits.
pub fn plain() -> LinkSpec {
    LinkSpec { aggregate: 1, overhead: Span::ZERO, jitter: Span::ZERO }
}

/// A point in time in microseconds.
pub fn us(us: i64) -> Time {
    Time::ZERO + Span::from_micros(us)
}

/// `n` packets of 1000 bytes, `gap` apart.
pub fn every(gap: Span, n: usize) -> impl Iterator<Item = Arrival> {
    (0..n as i64).map(move |i| Arrival {
        at: Time::from_nanos(i * gap.as_nanos()),
        flow: 0,
        size: 1000,
    })
}

/// Drives a device by hand.
pub struct Bench {
    pub device: Bottleneck,
    pub fates: Vec<TxStatus>,
    pub most_waiting: (u64, u64),
    next_id: u64,
}

impl Bench {
    pub fn new(spec: DeviceSpec) -> Bench {
        Bench::of(Bottleneck::new(spec, Seed(1)))
    }

    pub fn of(device: Bottleneck) -> Bench {
        Bench { device, fates: Vec::new(), most_waiting: (0, 0), next_id: 0 }
    }

    /// Lets all deadlines up to and including `until` pass.
    pub fn run_until(&mut self, until: Time) {
        while let Some(at) = self.device.next_deadline().filter(|&at| at <= until) {
            self.device.on_deadline(at);
            self.collect(at);
        }
    }

    pub fn arrive(&mut self, arrival: Arrival) {
        self.run_until(arrival.at);
        let packet = Packet::new(self.next_id, FlowKey(arrival.flow), arrival.size, arrival.at);
        self.next_id += 1;
        self.device.enqueue(packet, arrival.at);
        self.collect(arrival.at);
    }

    fn collect(&mut self, at: Time) {
        while let Some(outcome) = self.device.poll_outcome() {
            self.fates.push(TxStatus { at, outcome });
        }
        let (packets, bytes) = self.device.waiting();
        self.most_waiting = (self.most_waiting.0.max(packets), self.most_waiting.1.max(bytes));
        self.check_counters();
    }

    /// Checks that offered = dropped + lost + delivered + waiting + in service.
    pub fn check_counters(&self) {
        let b = self.device.counters();
        let out = b.dropped.packets + b.lost.packets + b.delivered.packets;
        let inside = self.device.waiting().0 + self.device.in_service().len() as u64;
        assert_eq!(b.offered.packets, out + inside, "{b:?}, {inside} inside");
    }
}

/// Runs a device on these arrivals until it is done.
pub fn run(spec: DeviceSpec, arrivals: impl IntoIterator<Item = Arrival>) -> Bench {
    let mut bench = Bench::new(spec);
    arrivals.into_iter().for_each(|arrival| bench.arrive(arrival));
    bench.run_until(Time::from_nanos(i64::MAX / 2));
    bench
}

/// Delivered packets with their times of delivery.
pub fn deliveries(bench: &Bench) -> Vec<(Time, Packet)> {
    bench.fates.iter().filter_map(|f| f.delivered().map(|p| (f.at, p))).collect()
}
