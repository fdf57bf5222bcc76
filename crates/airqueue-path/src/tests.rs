//! The path between minimal endpoints: one sends a plan, one records the arrivals. `tests/path/measured.rs` runs the
//! real endpoints over this path.

use crate::check::{CheckedPath, bottleneck};
use crate::config::PathConfig;
use crate::device::OneWay;
use crate::model::{PathModel, SERVER};
use airqueue_core::{Seed, Span, Time};
use airqueue_network::bottleneck::Bottleneck;
use airqueue_network::event::EventQueue;
use airqueue_network::run_loop::Simulation;
use airqueue_probe::client::Direction;
use airqueue_probe::endpoint::{Endpoint, Received, SendOutcome, Ticket, Transmit};

const HEADERS: usize = 28;

/// A packet as its sender or its receiver recorded it: sequence number, own clock, flow.
type Note = (u32, Time, usize);

/// Sends `count` packets, one every `gap` from `start` on, flows in turn, and records what it receives.
#[derive(Debug)]
struct Plain {
    start: Time,
    gap: Span,
    count: u32,
    size: usize,
    flows: u32,
    next: u32,
    sent: Vec<Note>,
    got: Vec<Note>,
    got_at: Vec<Time>,
    blocked: Vec<u32>,
    overflow: u64,
    /// Transmit stamps: sequence number and time.
    stamps: Vec<(u32, Time)>,
}

impl Plain {
    fn new(start: Time, gap: Span, count: u32, size: usize) -> Plain {
        Plain {
            start,
            gap,
            count,
            size,
            flows: 1,
            next: 0,
            sent: Vec::new(),
            got: Vec::new(),
            got_at: Vec::new(),
            blocked: Vec::new(),
            overflow: 0,
            stamps: Vec::new(),
        }
    }

    fn silent() -> Plain {
        Plain::new(Time::ZERO, Span::ZERO, 0, 0)
    }
}

impl Endpoint for Plain {
    fn on_datagram(&mut self, now: Time, rx: Received<'_>) {
        assert_eq!(rx.from, SERVER, "only the server sends in these tests");
        let seq = u32::from_be_bytes(rx.payload[..4].try_into().unwrap());
        self.got.push((seq, rx.at, rx.socket));
        self.got_at.push(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.next_deadline().filter(|&at| at <= now)?;
        let (seq, flow) = (self.next, self.next % self.flows);
        self.next += 1;
        self.sent.push((seq, now, flow as usize));
        buf.clear();
        buf.resize(self.size - HEADERS, 0);
        buf[..4].copy_from_slice(&seq.to_be_bytes());
        let client = std::net::SocketAddr::new([192, 0, 2, 2].into(), 40_000 + flow as u16);
        let ticket = Ticket { session: 0, run: 0, seq, timestamp: seq % 10 == 0 };
        Some(Transmit { socket: 0, to: client, traffic_class: 0, ticket: Some(ticket) })
    }

    fn next_deadline(&self) -> Option<Time> {
        let offset = Span::from_nanos(self.gap.as_nanos() * i64::from(self.next));
        (self.next < self.count).then(|| self.start + offset)
    }

    fn on_send_outcome(&mut self, ticket: Ticket, outcome: SendOutcome) {
        match outcome {
            SendOutcome::Blocked => self.blocked.push(ticket.seq),
            SendOutcome::KernelSent(at) => self.stamps.push((ticket.seq, at)),
        }
    }

    fn on_receive_overflow(&mut self, count: u64) {
        self.overflow += count;
    }

    fn on_clock_step(&mut self) {}
}

type Sim = Simulation<PathModel<Plain, Plain>>;

/// The server sends `sender`'s packets to the client over a path with this configuration.
fn down(config: &PathConfig, sender: Plain) -> Sim {
    let path = CheckedPath::new(config).expect("a valid path");
    let bottleneck = Bottleneck::new(bottleneck(config).expect("a valid device"), Seed(1));
    let device = Box::new(OneWay::new(bottleneck));
    let mut model =
        PathModel::new(&path, device, Direction::Down, move |_| (Plain::silent(), sender));
    let mut queue = EventQueue::new();
    model.poll_all(&mut queue);
    let mut sim = Simulation::new(model, queue);
    sim.run_until(Time::ZERO + Span::from_secs(200));
    sim
}

/// 8 Mb/s: 1000 bytes take 1 ms.
fn config(queue: &str) -> PathConfig {
    PathConfig { queue: queue.to_owned(), rate_bps: 8e6, ..PathConfig::default() }
}

fn packets(gap_us: i64, count: u32) -> Plain {
    Plain::new(Time::ZERO, Span::from_micros(gap_us), count, 1000)
}

/// One-way delays by sequence number, in nanoseconds, sender's clock to receiver's stamp.
fn delays(sim: &Sim) -> Vec<(u32, i64)> {
    let (sender, receiver) = (&sim.model.server.endpoint, &sim.model.client.endpoint);
    let delay = |&(seq, at, _): &Note| (seq, (at - sender.sent[seq as usize].1).as_nanos());
    receiver.got.iter().map(delay).collect()
}

/// Language bindings move a path between threads.
#[test]
fn a_path_can_move_between_threads() {
    fn movable<T: Send + Sync>() {}
    movable::<Sim>();
    movable::<crate::SimulatedPath>();
}

#[test]
fn a_quiet_path_takes_its_delays_and_one_service() {
    let config = PathConfig {
        ingress_delay_s: 0.003,
        base_delay_s: 0.004,
        ingress_rate_bps: Some(80e6),
        clock_offset_s: -10.0,
        ..config("pfifo:5")
    };
    let sim = down(&config, packets(5_000, 100));
    let expected = Span::from_micros(3_000 + 100 + 1_000 + 4_000) - Span::from_secs(10);
    assert_eq!(delays(&sim).len(), 100);
    assert!(delays(&sim).iter().all(|(_, delay)| *delay == expected.as_nanos()));
    assert_eq!(sim.model.server.endpoint.stamps.len(), 10);
}

#[test]
fn flows_arrive_at_their_sockets() {
    let sim = down(&config("pfifo:5"), Plain { flows: 2, ..packets(5_000, 10) });
    assert!(sim.model.client.endpoint.got.iter().all(|(seq, _, flow)| *flow == *seq as usize % 2));
}

/// Eq. (1) of the APQ paper on a flood of 1.25 times the rate: delay when full minus delay when quiet, times the packet
/// rate. An accepted packet finds n - 1 others (those before it in the queue) and a service in progress with 0.2 to 1
/// ms left.
#[test]
fn the_published_formula_finds_the_queue() {
    for n in [30, 50, 100, 250, 500, 1000] {
        let sim = down(&config(&format!("pfifo:{n}")), packets(800, 14 * n));
        let full: Vec<f64> = delays(&sim)
            .iter()
            .filter(|(seq, _)| (8 * n..14 * n).contains(seq))
            .map(|(_, delay)| *delay as f64 * 1e-9)
            .collect();
        let mean = full.iter().sum::<f64>() / full.len() as f64;
        let quiet = 0.003;
        let q = (mean - quiet) * 1000.0;
        assert!((q - f64::from(n)).abs() < 1.0, "{q} for {n}");
        assert_eq!(sim.model.truth.max_waiting_packets, u64::from(n));
    }
}

#[test]
fn truth_keeps_the_series_if_asked() {
    let config = PathConfig { record_queue_series: true, ..config("pfifo:3") };
    let sim = down(&config, packets(0, 10));
    let at = |ms| Time::ZERO + Span::from_millis(ms);
    let series: Vec<(Time, u64, u64)> =
        sim.model.truth.series.iter().map(|s| (s.at, s.packets, s.bytes)).collect();
    let expected = [
        (at(1), 0, 0),
        (at(1), 1, 1000),
        (at(1), 2, 2000),
        (at(1), 3, 3000),
        (at(2), 2, 2000),
        (at(3), 1, 1000),
        (at(4), 0, 0),
    ];
    assert_eq!(series, expected);
}

#[test]
fn the_receivers_clock_is_skewed_and_stepped() {
    let config = PathConfig {
        skew_ppm: 100.0,
        clock_steps_s: vec![[50.0, 0.25], [60.0, -1.0]],
        ..config("pfifo:5")
    };
    let sim = down(&config, packets(1_000_000, 100));
    // Base delay 3 ms; 100 µs more each second; and the steps.
    for (seq, delay) in delays(&sim) {
        let step = match seq {
            0..50 => 0,
            50..60 => 250_000_000,
            _ => -750_000_000,
        };
        let expected = 3_000_000 + 100_000 * i64::from(seq) + step;
        // The packet itself is in transit for 3 ms: 0.3 µs of skew.
        assert!((delay - expected - 300).abs() <= 1, "{seq}: {delay}, not {expected}");
    }
    let now = &sim.model.client.endpoint.got_at;
    assert!(now.is_sorted(), "the endpoint's own time never goes back");
}

/// 1000 packets/s arrive at a reader of 500/s with a buffer of 20: half are read, and each packet that does not fit is
/// reported. Stamps are those of the arrival, not of the reading.
#[test]
fn a_slow_reader_overflows_its_buffer() {
    let config = PathConfig {
        receive_buffer_packets: Some(20),
        reader_rate_pps: Some(500.0),
        ..config("pfifo:5")
    };
    let sim = down(&config, packets(1_000, 2_000));
    let receiver = &sim.model.client.endpoint;
    assert_eq!(receiver.got.len() as u64 + receiver.overflow, 2_000);
    assert!((1_000..=1_021).contains(&receiver.got.len()), "{}", receiver.got.len());
    assert!(delays(&sim).iter().all(|(_, delay)| *delay == 3_000_000));
}

/// A cap of 400 packets/s under 1000: packets above the cap never leave and are reported at once.
#[test]
fn a_capped_sender_is_blocked() {
    let config =
        PathConfig { sender_cap_pps: Some(400.0), sender_burst_packets: 10, ..config("pfifo:5") };
    let sim = down(&config, packets(1_000, 5_001));
    let (sender, receiver) = (&sim.model.server.endpoint, &sim.model.client.endpoint);
    // Five seconds at 400/s, and the burst.
    assert_eq!(receiver.got.len(), 2_010);
    assert_eq!(sender.blocked.len() + receiver.got.len(), 5_001);
}

/// Packets every 2 ms find hosts asleep that rest after 1 ms, and awake if they rest after 2.
#[test]
fn a_host_that_rests_wakes_up_first() {
    let resting = |after, gap_us| {
        let config = PathConfig {
            sender_wakeup_s: 3e-4,
            receiver_wakeup_s: 1e-4,
            rests_after_s: after,
            ..config("pfifo:5")
        };
        down(&config, Plain { start: Time::ZERO + Span::from_millis(10), ..packets(gap_us, 21) })
    };
    let awake = 3_000_000;
    let sim = resting(0.001, 2_000);
    assert!(delays(&sim).iter().all(|(_, delay)| *delay == awake + 400_000));
    let sender = &sim.model.server.endpoint;
    assert_eq!(sender.stamps.iter().map(|&(seq, _)| seq).collect::<Vec<_>>(), [0, 10, 20]);
    for &(seq, at) in &sender.stamps {
        assert_eq!(at, sender.sent[seq as usize].1 + Span::from_micros(300));
    }
    // The first packet wakes both up, and they stay awake.
    let sim = resting(0.002, 2_000);
    assert_eq!(delays(&sim)[0], (0, awake + 400_000));
    assert!(delays(&sim)[1..].iter().all(|(_, delay)| *delay == awake));
}

/// What comes while a host wakes up waits until the host is awake, and keeps its order.
#[test]
fn packets_wait_for_a_host_that_wakes_up() {
    let config = PathConfig { sender_wakeup_s: 0.005, rate_bps: 1e9, ..config("pfifo:50") };
    let sender = Plain { start: Time::ZERO + Span::from_millis(10), ..packets(1_000, 10) };
    let sim = down(&config, sender);
    let arrived = delays(&sim);
    assert!(arrived.iter().map(|(seq, _)| *seq).eq(0..10));
    let waited = |seq: i64| (5 - seq).max(0) * 1_000_000;
    // The packets that leave together are served one after another, in 8 us each.
    for (seq, delay) in arrived {
        let served = if seq <= 5 { i64::from(seq + 1) } else { 1 };
        assert_eq!(delay, 2_000_000 + waited(seq.into()) + 8_000 * served, "{seq}");
    }
}

#[test]
fn a_policer_loses_without_delay() {
    let config = PathConfig { policer: true, burst_bytes: 3_000, ..config("pfifo:5") };
    let sim = down(&config, packets(500, 2_001));
    assert!(delays(&sim).iter().all(|(_, delay)| *delay == 2_000_000));
    assert_eq!(delays(&sim).len(), 1_003);
    assert_eq!(sim.model.truth.max_waiting_packets, 0);
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let config = PathConfig {
        service_jitter_s: 0.001,
        loss_probability: 0.05,
        stalls_s: vec![[0.5, 0.3]],
        rate_changes: vec![[0.2, 0.5]],
        repeat_s: Some(1.0),
        skew_ppm: 30.0,
        ..config("bfifo:20000")
    };
    let notes = |config: &PathConfig| {
        let sim = down(config, packets(700, 10_000));
        (sim.model.client.endpoint.got.clone(), sim.events())
    };
    assert_eq!(notes(&config), notes(&config));
    let other = PathConfig { loss_probability: 0.06, ..config.clone() };
    assert_ne!(notes(&config).0, notes(&other).0);
}
