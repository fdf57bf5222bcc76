//! Captures of whole networks: the packets of flows over several hops, and the segments of TCP, read by a parser that
//! is independent of the writer.

use crate::pcap_records::{internet_sum, records};
use crate::scenarios::set;
use airqueue_core::{Ecn, Payload, Seed, Span, Time};
use airqueue_network::HopId;
use airqueue_network::network::{Hop, Network, NetworkSpec, Traffic};
use airqueue_network::wlan::pcap::{Pcap, View, WHOLE_FRAMES};
use airqueue_network::wlan::tap::{SegmentSent, Tap, TracedFrame};
use airqueue_scenario::Scenario;
use airqueue_transport::tcp::{HeaderSize, Segment};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

const SECONDS: i64 = 3;

/// A lossy chain of two hops with a server behind it: an upload, files, and a call. Queues mark waiting segments.
fn chain() -> Value {
    json!({
        "duration": "3 s",
        "phy": {"standard": "802.11g"},
        "mac": {"access": "edca", "short_retry_limit": 4, "long_retry_limit": 4},
        "queue": {"discipline": "codel", "codel": {"ecn": true, "target": "1 ms", "interval": "20 ms"}},
        "medium": {"errors": {"frame": 0.15}},
        "stations": [{"name": "ap"}, {"name": "relay"}, {"name": "sta"}],
        "hosts": [{"name": "server", "link": "ap", "delay": "2 ms"}],
        "flows": [
            {"name": "call", "from": "sta", "to": "server", "via": ["relay"], "source": "cbr",
             "rate": "64 kb/s", "size": "200 B"},
            {"name": "up", "from": "sta", "to": "server", "via": ["relay"], "source": "tcp", "ecn": true,
             "tcp": {"window": "100 packets"}},
            {"name": "web", "from": "server", "to": "sta", "via": ["relay"], "source": "web",
             "web": {"file_size": "50 kB", "think_time": "10 ms"}},
            {"name": "pages", "from": "server", "to": "sta", "via": ["relay"], "source": "page",
             "page": {"objects": 8, "object_size": "3 kB", "connections": 4, "think_time": "10 ms"}},
        ],
    })
}

fn spec(scenario: &Value) -> NetworkSpec {
    Scenario::from_json(&scenario.to_string()).unwrap().spec().clone()
}

/// A tap that records all frames and segments.
#[derive(Debug, Default)]
struct Observed {
    traced: Vec<TracedFrame>,
    segments: Vec<SegmentSent>,
}

impl Tap for Observed {
    fn on_frame(&mut self, traced: &TracedFrame) {
        self.traced.push(traced.clone());
    }

    fn on_segment(&mut self, sent: &SegmentSent) {
        self.segments.push(*sent);
    }
}

/// Runs some seconds of a network, with a tap from `plugged` on.
fn run<T: Tap>(spec: &NetworkSpec, plugged: Time, tap: T) -> T {
    let mut network = Network::new(spec, Seed(5)).unwrap();
    if plugged > Time::ZERO {
        network.run_until(plugged);
    }
    network.model.wlan_mut().plug(Box::new(tap));
    network.run_until(Time::ZERO + Span::from_secs(SECONDS));
    network.model.wlan_mut().unplug().unwrap()
}

/// A data frame's packet in the capture, and the frame.
struct Seen {
    ip: Vec<u8>,
    traced: TracedFrame,
    sent: Option<SegmentSent>,
}

/// All data frames, with one packet each.
fn seen(spec: &NetworkSpec, plugged: Time) -> Vec<Seen> {
    let observed = run(spec, plugged, Observed::default());
    let capture = spec.pcap(View::Air, WHOLE_FRAMES, Vec::new()).unwrap();
    let capture: Pcap<Vec<u8>> = run(spec, plugged, capture);
    let records = records(&capture.finish().unwrap(), WHOLE_FRAMES);
    assert_eq!(records.len(), observed.traced.len());
    let name = |payload: Payload, created: Time| (payload.0, created);
    let of = |sent: &SegmentSent| (name(sent.packet.payload, sent.packet.created), *sent);
    let segments: HashMap<_, _> = observed.segments.iter().map(of).collect();
    assert_eq!(segments.len(), observed.segments.len(), "payload handles are distinct");
    let mut all = Vec::new();
    for (traced, record) in observed.traced.into_iter().zip(records) {
        let Some(carried) = traced.carried.first() else { continue };
        let frame = record.frame();
        // QoS, three addresses, LLC/SNAP, FCS.
        assert_eq!((frame[0], &frame[32..34]), (0x88, &[8, 0][..]));
        let ip = frame[34..frame.len() - 4].to_vec();
        let sent = segments.get(&name(carried.packet.payload, carried.packet.created)).copied();
        all.push(Seen { ip, sent: sent.filter(|_| !is_call(spec, carried.packet.flow.0)), traced });
    }
    assert!(all.len() > 500, "{}", all.len());
    all
}

/// Whether a hop over the air is one of a flow without TCP.
fn is_call(spec: &NetworkSpec, hop: u32) -> bool {
    let has = |route: &Vec<Hop>| route.contains(&Hop::Air(HopId::at(hop as usize)));
    let calls = spec.flows.iter().filter(|flow| !matches!(flow.traffic, Traffic::Tcp(_)));
    let mut routes = calls.flat_map(|flow| {
        std::iter::once(&flow.route).chain(flow.others.iter().map(|route| &route.route))
    });
    routes.any(has)
}

fn be16(bytes: &[u8]) -> u16 {
    u16::from_be_bytes(bytes[..2].try_into().unwrap())
}

fn be32(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes[..4].try_into().unwrap())
}

/// The options of a segment.
#[derive(Debug, Default, PartialEq)]
struct Options {
    largest: Option<u16>,
    scale: Option<u8>,
    sack_permitted: bool,
    stamps: Option<[u32; 2]>,
    blocks: Vec<u32>,
}

fn options(mut bytes: &[u8]) -> Options {
    let mut options = Options::default();
    while let Some(&kind) = bytes.first() {
        let length = if kind < 2 { 1 } else { usize::from(bytes[1]) };
        let (option, rest) = bytes.split_at(length);
        bytes = rest;
        match (kind, length) {
            (0, _) => assert!(bytes.iter().all(|&byte| byte == 0), "nothing behind the end"),
            (1, _) => {}
            (2, 4) => options.largest = Some(be16(&option[2..])),
            (3, 3) => options.scale = Some(option[2]),
            (4, 2) => options.sack_permitted = true,
            (5, 10..) => options.blocks = option[2..].chunks_exact(4).map(be32).collect(),
            (8, 10) => options.stamps = Some([be32(&option[2..]), be32(&option[6..])]),
            other => panic!("option {other:?}"),
        }
    }
    options
}

/// A packet of TCP.
struct Tcp<'a>(&'a [u8]);

impl Tcp<'_> {
    fn header(&self) -> &[u8] {
        &self.0[20..20 + usize::from(self.0[32] >> 4) * 4]
    }

    fn options(&self) -> Options {
        options(&self.header()[20..])
    }

    fn data_bytes(&self) -> usize {
        self.0.len() - 20 - self.header().len()
    }

    /// Source and destination, as address and port.
    fn ends(&self) -> [(u32, u16); 2] {
        [(be32(&self.0[12..]), be16(&self.0[20..])), (be32(&self.0[16..]), be16(&self.0[22..]))]
    }

    fn numbers(&self) -> [u32; 2] {
        [be32(&self.0[24..]), be32(&self.0[28..])]
    }

    fn flags(&self) -> u8 {
        self.0[33]
    }

    fn window(&self) -> u32 {
        be16(&self.0[34..]).into()
    }
}

fn check_ip(Seen { ip, traced, .. }: &Seen) {
    let packet = &traced.carried[0].packet;
    assert_eq!(
        (ip[0], u32::from(be16(&ip[2..])), ip.len() as u32),
        (0x45, packet.size, packet.size)
    );
    assert_eq!(internet_sum(&ip[..20]), 0xffff);
    let ecn = match packet.ecn {
        Ecn::NotEct => 0,
        Ecn::Ect => 2,
        Ecn::Ce => 3,
    };
    assert_eq!(ip[1], ecn, "best effort");
    let length = ((ip.len() - 20) as u16).to_be_bytes();
    assert_eq!(internet_sum(&[&ip[12..20], &[0, ip[9]], &length, &ip[20..]].concat()), 0xffff);
}

fn expected_flags(segment: &Segment) -> u8 {
    let set = |flag: bool, bit: u8| if flag { bit } else { 0 };
    set(segment.fin, 0x01)
        | set(segment.syn, 0x02)
        | set(segment.psh, 0x08)
        | set(segment.ack.is_some(), 0x10)
        | set(segment.ece, 0x40)
        | set(segment.cwr, 0x80)
}

/// The window of each acknowledgement, in units of its scale, and the window grows.
#[test]
fn headers_have_the_receivers_window() {
    let mut scenario = chain();
    scenario["flows"][1]["tcp"] = json!({"stack": "linux", "receive_buffer": "256 KiB"});
    let (mut scale, mut windows) = (0, vec![]);
    for one in seen(&spec(&scenario), Time::ZERO).iter().filter(|one| one.ip[9] == 6) {
        let (tcp, segment) = (Tcp(&one.ip), one.sent.unwrap().segment);
        // Acknowledgements of the upload, whose data go to this port.
        if tcp.ends()[0].1 != 49_153 {
            continue;
        }
        if let Some(of_syn) = tcp.options().scale {
            scale = of_syn;
            assert_eq!(tcp.window(), 65_160);
            continue;
        }
        let units = segment.window_bytes.div_ceil(1 << scale);
        assert_eq!(tcp.window(), units);
        windows.push(segment.window_bytes);
    }
    assert_eq!(scale, 2, "128 KiB are 65536 units of two bytes, one more than the field holds");
    assert!(windows.first() < windows.last() && windows.iter().all(|&window| window <= 128 << 10));
}

/// Headers on every hop are those of the segments, whatever has happened to the segments in the meantime.
#[test]
fn headers_say_what_segments_are() {
    let all = seen(&spec(&chain()), Time::ZERO);
    // The first sequence number of each direction, by its addresses and ports.
    let mut begins: HashMap<[(u32, u16); 2], u32> = HashMap::new();
    let mut connections: HashMap<[(u32, u16); 2], (u16, u32)> = HashMap::new();
    let (mut marked, mut sacked, mut answered, mut offered) = (0, 0, 0, HashMap::new());
    for one in all.iter().filter(|one| one.ip[9] == 6) {
        check_ip(one);
        let (tcp, sent) = (Tcp(&one.ip), one.sent.expect("a tap observes all segments"));
        let segment = &sent.segment;
        let ends = tcp.ends();
        assert_eq!(be16(&one.ip[4..]), sent.packet.id as u16);
        assert_eq!(tcp.data_bytes() as u32, segment.payload_bytes);
        assert_eq!(tcp.flags(), expected_flags(segment));
        let [number, ack] = tcp.numbers();
        if segment.syn {
            assert_eq!(*begins.entry(ends).or_insert(number), number);
        }
        assert_eq!(number.wrapping_sub(begins[&ends]), segment.seq as u32);
        let other = begins.get(&[ends[1], ends[0]]).copied().unwrap_or_default();
        assert_eq!(ack, segment.ack.map_or(0, |ack| (ack as u32).wrapping_add(other)));
        // The port at the data's destination identifies the flow.
        let flow = ends[0].1.max(ends[1].1);
        let mut both = ends;
        both.sort_unstable();
        let connection = (flow, sent.connection);
        assert_eq!(*connections.entry(both).or_insert(connection), connection);

        let options = tcp.options();
        let ms = |time: Time| (time.as_nanos() / 1_000_000) as u32;
        let stamps = segment.timestamps.map(|of| [ms(of.value), of.echo.map_or(0, ms)]);
        assert!(stamps.is_some() && options.stamps == stamps);
        let edges = segment.sack.as_slice().iter().flat_map(|block| [block.start, block.end]);
        let edges: Vec<u32> = edges.map(|edge| (edge as u32).wrapping_add(other)).collect();
        assert_eq!(options.blocks, edges);
        assert_eq!(options.sack_permitted, segment.syn);
        assert_eq!(options.largest, segment.syn.then_some(1460));
        assert_eq!(options.scale.is_some(), segment.syn);
        offered.extend(options.scale.map(|scale| (ends, scale)));
        if !segment.syn && flow == 49_153 {
            let window = tcp.window() << offered[&ends];
            assert!((100 * 1448..100 * 1448 + 4).contains(&window), "{window}");
        }
        marked += usize::from(one.ip[1] == 3);
        sacked += usize::from(!edges.is_empty() && sent.connection > 0);
        answered += usize::from(segment.ece && !segment.syn);
    }
    let all_connections: HashSet<_> = connections.values().collect();
    assert_eq!(all_connections.len(), connections.len(), "no two have the same ports");
    let of_pages = connections.values().filter(|&&(flow, _)| flow == 49_155);
    let lanes: HashSet<_> = of_pages.map(|&(_, number)| number % 4).collect();
    assert_eq!(lanes.len(), 4, "each of a browser's connections has a port of its own");
    let found = [connections.len(), marked, sacked, answered];
    assert!(
        found.iter().all(|&of| of > 5),
        "connections, marks, SACKs of later ones, ECN-Echos: {found:?}"
    );
}

/// Retransmitted frames with a segment that has arrived already, because the ACK was lost: when another segment took
/// the segment's place in the network, and when the frame ended.
fn late_retries(observed: &Observed) -> Vec<(Time, Time)> {
    let mut taken: HashMap<Payload, Vec<Time>> = HashMap::new();
    for SegmentSent { packet, .. } in &observed.segments {
        taken.entry(packet.payload).or_default().push(packet.created);
    }
    let of = |traced: &TracedFrame| {
        let packet = &traced.carried.first()?.packet;
        let later = |&&at: &&Time| at > packet.created && at < traced.ends;
        Some((*taken.get(&packet.payload)?.iter().find(later)?, traced.ends))
    };
    observed.traced.iter().filter_map(of).collect()
}

/// The test before this one checks the headers of such frames.
#[test]
fn segments_are_on_the_air_after_others_took_their_place() {
    let late = late_retries(&run(&spec(&chain()), Time::ZERO, Observed::default()));
    assert!(late.len() > 20, "{}", late.len());
}

/// Each node has one address, and a packet has equal addresses on all hops of all routes. Hosts come after the
/// stations.
#[test]
fn packets_go_from_end_to_end() {
    let straight = |flow: &str| json!({"at": "1500 ms", "flow": flow, "via": []});
    let spec = spec(&set(chain(), "changes", json!([straight("up"), straight("call")])));
    let all = seen(&spec, Time::ZERO);
    let (sta, server) = (0x0a00_0003, 0x0a00_0004);
    let mut hops = HashSet::new();
    for one in &all {
        let (ip, frame) = (&one.ip, &one.traced.frame);
        let towards_ap = frame.to < frame.from;
        let ends = if towards_ap { [sta, server] } else { [server, sta] };
        assert_eq!([be32(&ip[12..]), be32(&ip[16..])], ends);
        hops.insert((ip[9], frame.from.0, frame.to.0));
        if ip[9] == 17 {
            check_ip(one);
            // The first of the scenario's flows.
            assert_eq!((be16(&ip[20..]), be16(&ip[22..])), (49_152, 49_152));
        }
    }
    let relayed = [(6, 2, 1), (6, 1, 0), (6, 0, 1), (6, 1, 2), (17, 2, 1), (17, 1, 0)];
    let straight = [(6, 2, 0), (6, 0, 2), (17, 2, 0)];
    assert_eq!(hops, HashSet::from_iter([&relayed[..], &straight].concat()));
}

/// ns-2's headers have 40 bytes for all segments: there are no options. Other headers of a fixed size are padded.
#[test]
fn headers_of_a_fixed_size_have_no_options() {
    let tcp = json!({"stack": "ns2", "sack": true, "timestamps": true, "window": "100 packets"});
    let mut spec = spec(&set(chain(), "tcp", tcp));
    for (bytes, header) in [(40, 20), (51, 28), (100, 60)] {
        for flow in &mut spec.flows {
            if let Traffic::Tcp(tcp) = &mut flow.traffic {
                tcp.tcp.header = HeaderSize::Fixed(bytes);
            }
        }
        let mut syns = 0;
        for one in seen(&spec, Time::ZERO).iter().filter(|one| one.ip[9] == 6) {
            check_ip(one);
            let (tcp, segment) = (Tcp(&one.ip), &one.sent.unwrap().segment);
            assert_eq!(tcp.header().len(), header);
            assert_eq!(tcp.options(), Options::default());
            // Bytes that do not fit into a header precede the data.
            let rest = bytes as usize - 20 - header;
            assert_eq!(tcp.data_bytes(), segment.payload_bytes as usize + rest);
            assert_eq!(tcp.window(), 65_535);
            syns += u64::from(segment.syn);
        }
        assert_eq!(syns, 0, "ns-2's connections are there");
    }
}

/// Segments sent before the capture began are packets without known contents, even if other segments have taken their
/// places.
#[test]
fn a_late_capture_says_nothing_wrong() {
    let spec = spec(&chain());
    let observed = run(&spec, Time::ZERO, Observed::default());
    // Not at the end of the delivered frame: the capture would have that frame too.
    let between =
        |(taken, _): &&(Time, Time)| observed.traced.iter().all(|traced| traced.ends != *taken);
    let late = late_retries(&observed);
    let &(taken, retried) = late.iter().find(between).unwrap();
    let all = seen(&spec, taken - Span::from_nanos(1));
    let (mut known, mut unknown) = (0, HashSet::new());
    for one in &all {
        match (one.ip[9], one.sent) {
            (6, Some(sent)) => {
                check_ip(one);
                assert_eq!(be16(&one.ip[4..]), sent.packet.id as u16);
                known += 1;
            }
            (253, None) => {
                assert!(one.ip[20..].iter().all(|&byte| byte == 0));
                unknown.insert(one.traced.ends);
            }
            (protocol, sent) => assert!(protocol == 17 && sent.is_none()),
        }
    }
    assert!(known > 500 && unknown.contains(&retried), "{known} {unknown:?}");
}
