//! CAKE's ACK filter on an asymmetric link: what the acknowledgements of downloads take of a slow way back.

use crate::cells;
use airqueue_core::{DataRate, Limit, Seed, Span, Time};
use airqueue_network::counters::{HopCounters, QueueCounters};
use airqueue_network::network::{
    FlowSpec, Hop, Network, NetworkSpec, Node, QueueId, TcpCounters, TcpFlowSpec, Traffic,
    WireSpec, Work,
};
use airqueue_network::{FlowId, WireId};
use airqueue_qdisc::cake::AckFilter;
use airqueue_qdisc::{CakeParams, Diffserv, QueueSpec};
use airqueue_transport::tcp::{CongestionName, TcpSpec};

const DOWN: WireId = WireId(0);
const UP: WireId = WireId(1);
const SECONDS: i64 = 10;

/// A link with these wires, and transfers.
fn network(wires: [WireSpec; 2], flows: Vec<FlowSpec>) -> NetworkSpec {
    let nobody = cells::cell(cells::b(), vec![cells::dcf(&cells::b().phy)]);
    NetworkSpec { wires: wires.into(), flows, ..nobody.network() }
}

fn wire(name: &str, bps: u64, delay: Span, queue: QueueSpec) -> WireSpec {
    WireSpec {
        name: name.into(),
        rate: DataRate::from_bps(bps),
        delay,
        loss: 0.0,
        queue: Some(queue),
    }
}

/// A queue whose limit nothing reaches.
fn cake(params: CakeParams) -> QueueSpec {
    QueueSpec { discipline: params.into(), ..QueueSpec::new(Limit::Bytes(200 << 20)) }
}

/// A link of 20 Mb/s down and 200 kb/s up, whose way back has CAKE, with transfers.
fn asymmetric(ack_filter: AckFilter, flows: Vec<FlowSpec>) -> NetworkSpec {
    let delay = Span::from_millis(10);
    let up = cake(CakeParams { ack_filter, ..CakeParams::default() });
    let down = QueueSpec::new(Limit::Packets(100));
    network([wire("down", 20_000_000, delay, down), wire("up", 200_000, delay, up)], flows)
}

/// A transfer of so many bytes, or without end, through one wire and back through the other.
fn transfer(name: &str, there: WireId, back: WireId, bytes: Option<u64>) -> FlowSpec {
    let tcp = TcpFlowSpec {
        tcp: TcpSpec::linux(1448),
        back: vec![Hop::Wire(back)],
        lanes: Vec::new(),
        work: Work::Transfer(bytes),
        closes: bytes.is_some(),
        start: Time::ZERO,
        stop: Time::MAX,
        reports: None,
    };
    FlowSpec {
        name: name.into(),
        from: Node::Host(0),
        to: Node::Host(1),
        route: vec![Hop::Wire(there)],
        others: Vec::new(),
        traffic: Traffic::Tcp(Box::new(tcp)),
        dscp: 0,
        spread: Span::ZERO,
    }
}

/// What came of the flows, and of the queue of the way back.
struct Outcome {
    flows: Vec<Transferred>,
    up: QueueCounters,
    waiting: u64,
}

struct Transferred {
    acks: HopCounters,
    acks_in_transit: u64,
    tcp: TcpCounters,
}

impl Transferred {
    fn goodput_bps(&self) -> f64 {
        8.0 * self.tcp.arrived_bytes as f64 / SECONDS as f64
    }
}

fn run(ack_filter: AckFilter, flows: Vec<FlowSpec>) -> Outcome {
    let spec = asymmetric(ack_filter, flows);
    let mut sim = Network::new(&spec, Seed(1)).unwrap();
    let end = Time::ZERO + Span::from_secs(SECONDS);
    sim.run_until(end);
    let network = &mut sim.model;
    let in_transit = network.acknowledgements_in_transit();
    let flows = (0..).map(FlowId).zip(in_transit).map(|(flow, acks_in_transit)| Transferred {
        acks: network.acknowledgements(flow).unwrap(),
        acks_in_transit,
        tcp: network.tcp(flow, end).unwrap(),
    });
    Outcome {
        flows: flows.collect(),
        waiting: network.waiting(QueueId::Wire(UP)).0,
        up: network.queue(QueueId::Wire(UP), end),
    }
}

const FILTERS: [AckFilter; 2] = [AckFilter::AckFilter, AckFilter::AckFilterAggressive];

fn download() -> FlowSpec {
    transfer("download", DOWN, UP, None)
}

/// An acknowledgement for every second segment of 20 Mb/s needs 340 kb/s, and the way back has 200: without the filter
/// acknowledgements wait, and the download does not fill the link. With the filter at most two wait behind the one that
/// is being sent, 2.1 ms each, and the download has all of the link but for its beginning.
#[test]
fn a_download_fills_its_link() {
    let plain = run(AckFilter::NoAckFilter, vec![download()]);
    let link_bps = 20e6 * 1448.0 / 1500.0;
    assert!(plain.flows[0].goodput_bps() < 0.85 * link_bps);
    assert!(plain.up.waited.mean_s().unwrap() > 0.05);
    assert_eq!(plain.up.filtered_acks, 0);
    for filter in FILTERS {
        let filtered = run(filter, vec![download()]);
        let goodput_bps = filtered.flows[0].goodput_bps();
        assert!(goodput_bps > 0.95 * link_bps, "{filter:?}: {goodput_bps}");
        assert!(filtered.up.waited.mean_s().unwrap() < 2.0 * 2.1e-3);
        assert!(filtered.up.filtered_acks > 1000);
    }
}

/// Beside an upload, the acknowledgements of a download take less of the way back, and the upload has more.
#[test]
fn acknowledgements_leave_room_for_an_upload() {
    let flows = || vec![download(), transfer("upload", UP, DOWN, None)];
    let plain = run(AckFilter::NoAckFilter, flows());
    for filter in FILTERS {
        let filtered = run(filter, flows());
        let [fewer, more] = [&filtered, &plain].map(|run| run.flows[0].acks.delivered.packets);
        assert!(fewer < more * 2 / 3, "{filter:?}: {fewer} and {more}");
        for (better, worse) in filtered.flows.iter().zip(&plain.flows) {
            assert!(better.goodput_bps() > 1.1 * worse.goodput_bps(), "{filter:?}");
        }
    }
}

#[test]
fn every_acknowledgement_is_accounted_for() {
    for filter in [FILTERS[0], FILTERS[1], AckFilter::NoAckFilter] {
        let run = run(filter, vec![download(), transfer("upload", UP, DOWN, None), download()]);
        for Transferred { acks, acks_in_transit, .. } in &run.flows {
            let out = acks.dropped.packets + acks.delivered.packets;
            assert_eq!(acks.offered.packets, out + acks_in_transit);
            assert!(acks.filtered_acks + acks.dropped_early.packets <= acks.dropped.packets);
        }
        let up = &run.up;
        assert_eq!(up.offered.packets, up.dropped.packets + up.taken.packets + run.waiting);
        let of_flows: u64 = run.flows.iter().map(|flow| flow.acks.filtered_acks).sum();
        assert_eq!(up.filtered_acks, of_flows);
        assert_eq!(of_flows > 0, filter != AckFilter::NoAckFilter);
    }
}

/// To TCP a filtered acknowledgement is a lost one, and the next one covers it: where the link loses no data, nothing is
/// sent again, and the data arrive whole.
#[test]
fn filtered_acknowledgements_are_no_losses_of_data() {
    let mut flow = transfer("download", DOWN, UP, Some(10_000_000));
    let Traffic::Tcp(tcp) = &mut flow.traffic else { panic!("a transfer has TCP") };
    // The path holds 33 segments, and the queue 100.
    tcp.tcp.sender.window_segments = 100;
    for filter in FILTERS {
        let run = run(filter, vec![flow.clone()]);
        let Transferred { acks, acks_in_transit, tcp } = &run.flows[0];
        assert!(acks.filtered_acks > 500, "{}", acks.filtered_acks);
        assert_eq!((tcp.arrived_bytes, tcp.sessions.took.count), (10_000_000, 1));
        assert_eq!((tcp.retransmitted, tcp.timeouts), (0, 0));
        assert_eq!((*acks_in_transit, run.waiting), (0, 0));
    }
}

/// What `validation/linux/tcp` has measured of a kernel's TCP whose acknowledgements pass the kernel's CAKE.
const LINUX: &str = include_str!("../../../../validation/linux/tcp/acks.csv");

/// A path that the kernel was measured over.
struct Measured {
    name: &'static str,
    congestion: CongestionName,
    back_bps: u64,
    ack_filter: AckFilter,
    found: Found,
}

/// Goodput and the mean queue from 5 s to 60 s, and the share of acknowledgements that the filter drops.
#[derive(Clone, Copy, Debug)]
struct Found {
    goodput_bps: f64,
    queue_packets: f64,
    filtered: f64,
}

fn measured() -> Vec<Measured> {
    let mut lines = LINUX.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let read = |line: &'static str| {
        // The name of a path is quoted, and has commas.
        let (name, rest) = line[1..].split_once("\",").unwrap();
        let cells: Vec<&str> = [name].into_iter().chain(rest.split(',')).collect();
        let cell = |of: &str| cells[names.iter().position(|name| *name == of).unwrap()];
        let number = |of: &str| cell(of).parse::<f64>().unwrap();
        assert_eq!(
            (cell("rate_bps"), cell("queue_packets"), cell("rtt_ms")),
            ("20000000", "100", "40")
        );
        Measured {
            name,
            congestion: if cell("congestion") == "reno" {
                CongestionName::NewReno
            } else {
                CongestionName::Cubic
            },
            back_bps: number("back_bps") as u64,
            ack_filter: match cell("ack_filter") {
                "ack-filter" => AckFilter::AckFilter,
                "ack-filter-aggressive" => AckFilter::AckFilterAggressive,
                other => panic!("{other}"),
            },
            found: Found {
                goodput_bps: number("goodput_bps"),
                queue_packets: number("mean_queue_packets"),
                filtered: number("ack_drops") / number("acks"),
            },
        }
    };
    lines.map(read).collect()
}

/// The same figures of ours. The kernel's bottleneck is netem, whose 100 packets include the one that is being sent.
fn ours(path: &Measured) -> Found {
    let cake = cake(CakeParams {
        rate: DataRate::from_bps(path.back_bps),
        diffserv: Diffserv::BestEffort,
        ack_filter: path.ack_filter,
        ..CakeParams::default()
    });
    let ethernet = |queue| QueueSpec { link_layer_bytes: 14, ..queue };
    let down = ethernet(QueueSpec::new(Limit::Packets(99)));
    let down = wire("down", 20_000_000, Span::ZERO, down);
    let up = wire("up", 10_000_000_000, Span::from_millis(40), ethernet(cake));
    let mut flow = download();
    let Traffic::Tcp(tcp) = &mut flow.traffic else { panic!("a transfer has TCP") };
    tcp.tcp.sender.congestion = path.congestion;
    let mut sim = Network::new(&network([down, up], vec![flow]), Seed(1)).unwrap();
    let mut at = |seconds| {
        let now = Time::ZERO + Span::from_secs(seconds);
        sim.run_until(now);
        let area = sim.model.packet_time_ever(QueueId::Wire(DOWN), now) as f64 / 1e9;
        (sim.model.tcp(FlowId(0), now).unwrap().arrived_bytes as f64, area)
    };
    let ((bytes_before, area_before), (bytes_after, area_after)) = (at(5), at(60));
    let goodput_bps = 8.0 * (bytes_after - bytes_before) / 55.0;
    let sending = goodput_bps / 20e6 * 1514.0 / 1448.0;
    let acks = sim.model.acknowledgements(FlowId(0)).unwrap();
    Found {
        goodput_bps,
        queue_packets: (area_after - area_before) / 55.0 + sending,
        filtered: acks.filtered_acks as f64 / acks.offered.packets as f64,
    }
}

/// Goodput within 3 % and the mean queue within 10 %, as without a CAKE (`docs/linux-tcp.md`), and the share of filtered
/// acknowledgements within 10 %.
#[test]
fn linux_filters_as_many_acknowledgements() {
    let mut misses = Vec::new();
    for path in measured() {
        let (found, kernels) = (ours(&path), path.found);
        println!("{:55} {found:?}\n{:55} {kernels:?}", path.name, "");
        let within = |part: f64, own: f64, other: f64| (own - other).abs() <= part * other;
        if !(within(0.03, found.goodput_bps, kernels.goodput_bps)
            && within(0.1, found.queue_packets, kernels.queue_packets)
            && within(0.1, found.filtered, kernels.filtered))
        {
            misses.push(path.name);
        }
    }
    assert_eq!(misses, Vec::<&str>::new());
}
