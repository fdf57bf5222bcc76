//! The real endpoints over a Wi-Fi cell: what a measurement through an access point sees.

use crate::cells;
use crate::cells::{Flow, b, cell, dcf, rate, saturated};
use crate::sessions::{FLOOD, PROBE, SIZE, cbr, delays, mean, published, run, session};
use airqueue_core::{Limit, Span, Time};
use airqueue_network::FlowId;
use airqueue_network::network::{Change, TimedChange};
use airqueue_path::{CellSpec, PathConfig, SimulatedPath};
use airqueue_probe::client::Direction;
use airqueue_probe::plan::{Plan, Segment};
use airqueue_qdisc::QueueSpec;
use airqueue_wifi::RateIndex;
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;

/// Packets of 1500 bytes per second that an 802.11b access point sends without contention: DIFS, 15.5 slots, 1310 µs,
/// SIFS and an ACK at 2 Mb/s.
const LONELY_PPS: f64 = 1e6 / (50.0 + 310.0 + 1310.0 + 10.0 + 248.0);

/// Station 0 is the access point, station 1 has the client, and `others` stations are idle.
fn access_point(queue: QueueSpec, others: usize) -> CellSpec {
    CellSpec {
        network: stations(queue, others).network(),
        down: FlowId(0),
        up: FlowId(1),
        others: Vec::new(),
    }
}

fn stations(queue: QueueSpec, others: usize) -> cells::CellSpec {
    let radio = b();
    let rate = rate(&radio.phy, 11);
    let macs = vec![dcf(&radio.phy); 2 + others];
    let mut cell = cell(radio, macs);
    for station in &mut cell.stations[..2] {
        station.queues = vec![queue];
    }
    cell.flows = vec![offered(0, 1, rate), offered(1, 0, rate)];
    cell
}

/// A flow of packets from outside.
fn offered(from: u32, to: u32, rate: RateIndex) -> Flow {
    Flow { offered: true, ..saturated(from, to, AccessCategory::FIRST, rate, 1500) }
}

/// A cell as [`access_point`], where station 2 sends to the access point all the time.
fn busy(queue: QueueSpec, others: usize) -> CellSpec {
    let mut cell = stations(queue, others);
    cell.flows.push(saturated(2, 0, AccessCategory::FIRST, cell.flows[0].rate, u32::from(SIZE)));
    CellSpec { network: cell.network(), down: FlowId(0), up: FlowId(1), others: Vec::new() }
}

fn packets(n: u32) -> QueueSpec {
    QueueSpec::new(Limit::Packets(n))
}

fn through(cell: CellSpec, seed: u64) -> SimulatedPath {
    SimulatedPath::through(cell, &PathConfig::default(), seed).expect("a valid path")
}

#[test]
fn the_published_formula_finds_the_queue_and_the_ring() {
    for (n, ring) in [(30, 0), (100, 10), (337, 0)] {
        for direction in [Direction::Down, Direction::Up] {
            let queue = QueueSpec { ring_packets: ring, ..packets(n) };
            let mut path = through(access_point(queue, 0), 1);
            let capacity = n + ring as u32;
            let (plan, full) = session(capacity, LONELY_PPS);
            let q = published(&run(&mut path, &plan, direction), &full);
            assert!((q - f64::from(capacity)).abs() < 1.0, "{q} for {n} and {ring}, {direction:?}");
            assert_eq!(path.truth().max_waiting_packets, u64::from(capacity));
        }
    }
}

#[test]
fn bytes_are_counted_with_what_the_queue_counts_on_top() {
    let queue = QueueSpec { link_layer_bytes: 14, ..QueueSpec::new(Limit::Bytes(151_400)) };
    let mut path = through(access_point(queue, 0), 1);
    let (plan, full) = session(100, LONELY_PPS);
    let q = published(&run(&mut path, &plan, Direction::Down), &full);
    assert!((q - 100.0).abs() < 1.0, "{q}");
    let truth = path.truth();
    assert_eq!((truth.max_waiting_packets, truth.max_waiting_bytes), (100, 151_400));
}

/// A change of the rate of the flow that carries measured packets is theirs, too: 1500 bytes take 1310 µs at 11 Mb/s and 6336 µs
/// at 2 Mb/s.
#[test]
fn measured_packets_follow_a_change_of_the_rate() {
    let mut cell = access_point(packets(50), 0);
    let hop = cell.network.flows[0].route[0].over_air().expect("a hop over the air");
    let change = Change::Rate { hop, rate: rate(&b().phy, 2) };
    let at = Time::ZERO + Span::from_secs(5);
    cell.network.changes = vec![TimedChange { at, change }];
    let plan = Plan { segments: vec![cbr(PROBE, 0.0, 10.0, 10.0)] };
    let result = run(&mut through(cell, 1), &plan, Direction::Down);
    let ns: Vec<i64> =
        delays(&result).into_iter().map(|(_, delay)| (delay * 1e9).round() as i64).collect();
    let (fast, slow) = (ns[..45].iter().min(), ns[55..].iter().min());
    assert_eq!(slow.expect("packets") - fast.expect("packets"), 5_026_000);
}

/// A packet on an idle medium takes the time of its frame and no more. The records have no absolute delay, but 1310 µs
/// for 1500 bytes and 764 µs for 750 differ by 546 µs, to the nanosecond.
#[test]
fn a_quiet_cell_takes_a_frame() {
    let small = Segment { size: 750, ..cbr(FLOOD, 0.05, 10.05, 10.0) };
    let plan = Plan { segments: vec![cbr(PROBE, 0.0, 10.0, 10.0), small] };
    for direction in [Direction::Down, Direction::Up] {
        let mut path = through(access_point(packets(50), 3), 1);
        let result = run(&mut path, &plan, direction);
        let of = |size| {
            let delays = delays(&result).into_iter();
            let ns = delays.filter(|(i, _)| result.records.size_bytes[*i] == size);
            ns.map(|(_, delay)| (delay * 1e9).round() as i64).collect::<Vec<_>>()
        };
        let (large, small) = (of(SIZE), of(750));
        assert_eq!((large.len(), small.len()), (100, 100));
        let (large_ns, small_ns) = (large[50], small[50]);
        assert_eq!(large_ns - small_ns, 546_000, "{direction:?}");
        // Packets of the opposite direction collide with some of them.
        for (all, usual) in [(large, large_ns), (small, small_ns)] {
            assert!(all.iter().all(|&ns| ns >= usual), "{direction:?}");
            assert!(all.iter().filter(|&&ns| ns > usual).count() < 10, "{direction:?}");
        }
    }
}

/// The endpoints' first messages wait for a saturated station, in both directions: each time for at least half of a
/// frame of 1310 µs, on average.
#[test]
fn both_directions_contend_with_other_stations() {
    let opened = |spec: &CellSpec, seed| {
        let mut path = through(spec.clone(), seed);
        run(&mut path, &Plan { segments: vec![cbr(PROBE, 0.0, 0.001, 1000.0)] }, Direction::Down);
        path.now().as_secs_f64()
    };
    let quiet = access_point(packets(50), 1);
    let busy = busy(packets(50), 1);
    let later = mean((0..20).map(|seed| opened(&busy, seed) - opened(&quiet, seed)));
    assert!(later > 2.0 * 0.000_655, "{later}");
}

#[test]
fn runs_follow_each_other_in_both_directions() {
    let mut path = through(access_point(packets(50), 0), 1);
    let (plan, full) = session(50, LONELY_PPS);
    let mut last = Time::ZERO;
    for direction in [Direction::Up, Direction::Down, Direction::Up] {
        path.wait(Span::from_secs(7));
        let q = published(&run(&mut path, &plan, direction), &full);
        assert!((q - 50.0).abs() < 1.0, "{q}, {direction:?}");
        assert!(path.now() >= last + Span::from_secs(7) + plan.end());
        last = path.now();
    }
}

#[test]
fn the_same_seed_gives_the_same_records() {
    let (plan, _) = session(50, LONELY_PPS);
    let records = |seed| {
        let cell = busy(packets(50), 1);
        run(&mut through(cell, seed), &plan, Direction::Down)
    };
    assert_eq!(records(1), records(1));
    assert_ne!(records(1).records, records(2).records);
}

/// A cell has no keys of the bottleneck; errors name the wrong key.
#[test]
fn impossible_cells_are_refused() {
    let refused = |cell, config: PathConfig| {
        SimulatedPath::through(cell, &config, 1).expect_err("refused").to_string()
    };
    let limited = PathConfig { queue: "pfifo:7".to_owned(), ..PathConfig::default() };
    let message = refused(access_point(packets(50), 0), limited);
    assert!(message.contains("`queue` is \"pfifo:7\"") && message.contains("cell"), "{message}");
    let nothing = PathConfig::default;
    let other_down = CellSpec { down: FlowId(2), ..busy(packets(50), 1) };
    assert!(refused(other_down, nothing()).contains("`cell.down` is \"2.0 to 0\""));
    let no_up = CellSpec { up: FlowId(7), ..access_point(packets(50), 0) };
    assert!(refused(no_up, nothing()).contains("`cell.up` is 7, expected a flow"));
    let same_direction = CellSpec { up: FlowId(0), ..access_point(packets(50), 0) };
    assert!(
        refused(same_direction, nothing())
            .contains("`cell.up` is \"0.0 to 1\", expected a flow back")
    );
    let mut nowhere = access_point(packets(50), 0);
    nowhere.network.wlan.hops[0].to = StationId(7);
    nowhere.network.wlan.hops[1].from = StationId(7);
    assert!(refused(nowhere, nothing()).contains("no station 7"));
}

/// A packet above the flow's largest size is dropped, without effect on other packets.
#[test]
fn too_large_a_packet_is_dropped() {
    let mut cell = access_point(packets(50), 0);
    cell.network.wlan.hops[0].size_bytes = 1000;
    let small = Segment { size: 1000, ..cbr(FLOOD, 0.05, 5.05, 10.0) };
    let plan = Plan { segments: vec![cbr(PROBE, 0.0, 5.0, 10.0), small] };
    let result = run(&mut through(cell, 1), &plan, Direction::Down);
    let arrived: Vec<u16> =
        delays(&result).iter().map(|(i, _)| result.records.size_bytes[*i]).collect();
    assert_eq!(arrived, [1000; 50]);
}
