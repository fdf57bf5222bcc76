//! Emulations on the virtual clock: real packets take the routes of the scenario.

use crate::common::{CELL, address, cell, datagram, run, seconds, start};
use airqueue_core::{Seed, Span, Time};
use airqueue_emulator::{Emulation, Refusal};
use airqueue_scenario::Scenario;
use airqueue_scenario::emulated::Emulated;
use etherparse::{IpSlice, PacketBuilder};

/// A node sends a packet now: the nodes that get the packet within a second.
fn receivers(emulation: &mut Emulation, from: usize, packet: &[u8]) -> Result<Vec<usize>, Refusal> {
    let now = emulation.now();
    emulation.arrive(from, packet, now, &mut |_| {})?;
    Ok(run(emulation, now + Span::from_secs(1)).iter().map(|(to, _, _)| *to).collect())
}

#[test]
fn nodes_are_those_of_the_file_and_those_named() {
    let names = |emulated: &Emulated| -> Vec<(String, bool)> {
        emulated.nodes.iter().map(|node| (node.name.clone(), node.wired)).collect()
    };
    let [phone, server] = [("phone".to_owned(), false), ("server".to_owned(), true)];
    assert_eq!(names(&cell(&[])), [phone.clone(), server.clone()]);
    assert_eq!(names(&cell(&["tablet"])), [phone, ("tablet".to_owned(), false), server]);
    let error = Scenario::emulated(CELL, &["nobody".to_owned()]).unwrap_err().to_string();
    assert!(error.contains("there is no station, host or group \"nobody\""), "{error}");
    let alone = CELL.replace(r#", "real": true"#, "");
    let error = Scenario::emulated(&alone, &[]).unwrap_err().to_string();
    assert!(error.contains("none is real, and an emulation has two real nodes"), "{error}");
}

#[test]
fn stations_reach_each_other_through_the_access_point() {
    let emulated = cell(&["tablet"]);
    let hops = |from, to| {
        let pair = emulated.pairs.iter().find(|pair| (pair.from, pair.to) == (from, to)).unwrap();
        (
            emulated.scenario.spec().flows[pair.flows[1].first.index()].route.len(),
            pair.routers.len(),
        )
    };
    // Two hops over the air without a router; a hop over the air and a wire with one.
    assert_eq!((hops(0, 1), hops(0, 2), hops(2, 0)), ((2, 0), (2, 1), (2, 1)));
}

#[test]
fn a_packet_takes_the_route_and_passes_the_router() {
    let emulated = cell(&[]);
    let mut emulation = start(&emulated);
    let packet = datagram(0, 1, 1000, 46 << 2, 1500);
    emulation
        .arrive(0, &packet, Time::ZERO, &mut |_| panic!("nothing is delivered at once"))
        .unwrap();
    let left = run(&mut emulation, seconds(1.0));
    let [(to, bytes, due)] = &left[..] else { panic!("{left:?}") };
    // The wire takes 10 ms, and the exchange at 65 Mb/s less than a millisecond.
    let delay = (*due - Time::ZERO).as_secs_f64();
    assert!(*to == 1 && delay > 0.010 && delay < 0.011, "{delay}");
    let IpSlice::Ipv4(ip) = IpSlice::from_slice(bytes).unwrap() else { panic!("IPv4") };
    let header = ip.header();
    assert_eq!((header.ttl(), header.dcp().value()), (63, 46));
    assert_eq!(header.to_header().calc_header_checksum(), header.header_checksum());
    assert_eq!(bytes[20..], packet[20..]);
    assert_eq!(emulation.packets_held(), 0);
}

#[test]
fn the_queue_of_the_scenario_is_the_only_one() {
    let emulated = cell(&[]);
    let mut emulation = start(&emulated);
    for _ in 0..100 {
        let packet = datagram(1, 0, 1000, 0, 1500);
        emulation.arrive(1, &packet, Time::ZERO, &mut |_| {}).unwrap();
    }
    let left = run(&mut emulation, seconds(1.0));
    let (_, _, counters) = emulation.pairs().find(|(from, ..)| from.wired).unwrap();
    assert_eq!(counters.offered.packets, 100);
    assert_eq!(counters.delivered.packets, left.len() as u64);
    assert_eq!(counters.delivered.packets + counters.dropped.packets, 100);
    // All come at once at the access point, whose MAC takes a batch from a queue of 10.
    assert!((10..80).contains(&left.len()), "{}", left.len());
}

#[test]
fn codepoints_choose_the_access_category() {
    let text = CELL.replace(r#""queue""#, r#""mac": {"access": "edca"}, "queue""#);
    let emulated = Scenario::emulated(&text, &[]).unwrap();
    let mut emulation = start(&emulated);
    // Voice overtakes the best effort that came before it.
    for at in 0..9 {
        let tos = if at < 8 { 0 } else { 46 << 2 };
        emulation.arrive(0, &datagram(0, 1, at, tos, 1500), Time::ZERO, &mut |_| {}).unwrap();
    }
    let left = run(&mut emulation, seconds(1.0));
    let place = left.iter().position(|(_, bytes, _)| bytes[1] == 46 << 2).unwrap();
    assert!(place < 8 && left.len() == 9, "{place}");
}

/// Packets to phone and tablet that arrive of a burst that fills the access point's queue, RDQM with 40 packets.
fn shares(flows: serde_json::Value) -> [usize; 2] {
    let mut file: serde_json::Value = serde_json::from_str(CELL).unwrap();
    file["phy"] = serde_json::json!({"standard": "802.11g", "rate": "6 Mb/s"});
    file["queue"] = serde_json::json!({"discipline": "rdqm", "limit": "40 packets"});
    file["flows"] = flows;
    let emulated = Scenario::emulated(&file.to_string(), &["tablet".to_owned()]).unwrap();
    let mut emulation = start(&emulated);
    // Receivers report in acknowledgements: both flows have some before the burst.
    let before = (0..20).map(|at| (at % 2, seconds(0.02 * at as f64)));
    let burst = (0..200).map(|at| (at % 2, seconds(1.0) + Span::from_micros(at as i64)));
    for (to, now) in before.chain(burst) {
        emulation.arrive(2, &datagram(2, to, 1000, 0, 1500), now, &mut |_| {}).unwrap();
    }
    let left = run(&mut emulation, seconds(9.0));
    let burst: Vec<_> = left.iter().filter(|(.., due)| *due > seconds(1.0)).collect();
    [0, 1].map(|to| burst.iter().filter(|(node, ..)| *node == to).count())
}

#[test]
fn a_flow_of_the_file_says_what_receivers_report() {
    let flow = |to, rtt| serde_json::json!({"from": "server", "to": to, "source": "external", "rdqm_rtt": rtt});
    // Three quarters and one quarter of 40, each with the packet beyond the limit; and half each.
    let [phone, tablet] =
        shares(serde_json::json!([flow("phone", "300 ms"), flow("tablet", "100 ms")]));
    assert!((30..=33).contains(&phone) && (10..=12).contains(&tablet), "{phone}, {tablet}");
    let [phone, tablet] = shares(serde_json::json!([]));
    assert!(phone.abs_diff(tablet) <= 1 && phone >= 20, "{phone}, {tablet}");
}

#[test]
fn a_flow_of_the_file_says_the_route() {
    let mut file: serde_json::Value = serde_json::from_str(CELL).unwrap();
    file["flows"] = serde_json::json!([
        {"from": "phone", "to": "server", "via": ["tablet"], "source": "external"}
    ]);
    let emulated = Scenario::emulated(&file.to_string(), &[]).unwrap();
    let hops = emulated
        .pairs
        .iter()
        .map(|pair| emulated.scenario.spec().flows[pair.flows[1].first.index()].route.len());
    // Two hops over the air and the wire; back as without a flow in the file. Pairs with routers follow.
    assert_eq!(hops.take(2).collect::<Vec<_>>(), [3, 2]);
}

#[test]
fn queues_mark_real_packets() {
    let text = CELL.replace(
        r#"{"discipline": "droptail", "limit": "10 packets"}"#,
        r#"{"discipline": "codel", "limit": "1000 packets", "codel": {"ecn": true}}"#,
    );
    let emulated = Scenario::emulated(&text, &[]).unwrap();
    let mut emulation = start(&emulated);
    let mut left = Vec::new();
    // 120 Mb/s at 65 Mb/s.
    for at in 0..4000 {
        let packet = datagram(0, 1, 1000, 2, 1500);
        let now = seconds(f64::from(at) * 1e-4);
        emulation.arrive(0, &packet, now, &mut |of| left.push(of.bytes[1] & 3)).unwrap();
    }
    left.extend(run(&mut emulation, seconds(9.0)).iter().map(|(_, bytes, _)| bytes[1] & 3));
    let marked = left.iter().filter(|&&ecn| ecn == 3).count() as u64;
    let (_, _, counters) = emulation.pairs().next().unwrap();
    assert!(marked > 0 && marked < left.len() as u64);
    assert_eq!(counters.marked, marked);
}

#[test]
fn refused_packets_are_counted_by_reason() {
    let emulated = cell(&[]);
    let mut emulation = start(&emulated);
    let mut last = datagram(0, 1, 1000, 0, 100);
    last[8] = 1;
    let good = datagram(0, 1, 1000, 0, 100);
    let cases = [
        (Refusal::Malformed, vec![]),
        (Refusal::Malformed, good[..99].to_vec()),
        (Refusal::Oversize, datagram(0, 1, 1000, 0, 1501)),
        (Refusal::ForeignSource, datagram(1, 0, 1000, 0, 100)),
        (Refusal::NoSuchNode, datagram(0, 5, 1000, 0, 100)),
        (Refusal::NoSuchNode, datagram(0, 0, 1000, 0, 100)),
        (Refusal::HopLimit, last),
    ];
    for (refusal, packet) in &cases {
        let found = emulation.arrive(0, packet, Time::ZERO, &mut |_| {});
        assert_eq!(found, Err(*refusal));
    }
    // Two packets travel to the router, which has no address from which to answer.
    assert_eq!(emulation.packets_held(), 2);
    assert_eq!(run(&mut emulation, seconds(1.0)), []);
    let refused: u64 = emulation.refused().map(|(_, count)| count.packets).sum();
    assert_eq!((refused, emulation.packets_held()), (cases.len() as u64, 0));
}

#[test]
fn figures_are_of_the_whole_time_where_the_network_is_idle_at_the_end() {
    let emulated = cell(&[]);
    let mut emulation = start(&emulated);
    emulation.arrive(0, &datagram(0, 1, 1000, 0, 1000), Time::ZERO, &mut |_| {}).unwrap();
    run(&mut emulation, seconds(20.0));
    emulation.pass_to(seconds(20.0));
    let figures: serde_json::Value = serde_json::from_str(&emulation.figures()).unwrap();
    assert_eq!(figures["duration_s"], 20.0);
}

#[test]
fn other_hosts_are_behind_the_gateway() {
    let emulated = cell(&["tablet"]);
    let mut emulation = start(&emulated);
    let (phone, tablet, server) = (0, 1, 2);
    let packet = |from: [u8; 4], to: [u8; 4]| {
        let mut packet = Vec::new();
        PacketBuilder::ipv4(from, to, 64).udp(1, 2).write(&mut packet, &[0; 100]).unwrap();
        packet
    };
    let outside = [192, 0, 2, 1];
    let [of_phone, of_tablet, of_server] =
        [phone, tablet, server].map(|node| address(node).octets());
    assert_eq!(
        receivers(&mut emulation, phone, &packet(of_phone, outside)),
        Err(Refusal::NoSuchNode)
    );
    assert_eq!(
        receivers(&mut emulation, server, &packet(outside, of_phone)),
        Err(Refusal::ForeignSource)
    );
    emulation.set_gateway(server);
    assert_eq!(receivers(&mut emulation, phone, &packet(of_phone, outside)), Ok(vec![server]));
    assert_eq!(receivers(&mut emulation, server, &packet(outside, of_tablet)), Ok(vec![tablet]));
    assert_eq!(receivers(&mut emulation, phone, &packet(of_phone, of_tablet)), Ok(vec![tablet]));
    // Nobody else speaks for others, and the gateway not for other nodes.
    assert_eq!(
        receivers(&mut emulation, phone, &packet(outside, of_server)),
        Err(Refusal::ForeignSource)
    );
    assert_eq!(
        receivers(&mut emulation, server, &packet(of_phone, of_tablet)),
        Err(Refusal::ForeignSource)
    );
    // What comes from outside and goes outside does not pass.
    assert_eq!(
        receivers(&mut emulation, server, &packet(outside, [192, 0, 2, 2])),
        Err(Refusal::NoSuchNode)
    );
    for no_host in [[224, 0, 0, 251], [255; 4], [169, 254, 1, 1], [127, 0, 0, 1]] {
        assert_eq!(
            receivers(&mut emulation, phone, &packet(of_phone, no_host)),
            Err(Refusal::NoSuchNode)
        );
        assert_eq!(
            receivers(&mut emulation, server, &packet(no_host, of_phone)),
            Err(Refusal::ForeignSource)
        );
    }
}

#[test]
fn real_traffic_has_the_delays_of_simulated_traffic() {
    // Poisson traffic beside it makes the delays vary, and has the same random streams in both.
    let beside = r#""flows": [{"name": "beside", "from": "tablet", "to": "ap", "source": "poisson", "rate": "10 Mb/s"}]"#;
    let probe = r#", {"name": "probe", "from": "phone", "to": "server", "source": "cbr", "packet_rate": "100 packets/s"}]"#;
    let with = CELL.replacen('{', &format!("{{ \"duration\": \"20 s\", {beside}, "), 1);
    let simulated = Scenario::from_json(&with.replacen("}]", &format!("}}{probe}"), 1)).unwrap();
    let mut simulated = simulated.start(Seed(1)).unwrap();
    simulated.advance(Span::from_secs(20));
    let figures: serde_json::Value = serde_json::from_str(&simulated.results()).unwrap();
    let of_probe = &figures["flows"]["probe"];

    let emulated = Scenario::emulated(&with, &[]).unwrap();
    let mut emulation = start(&emulated);
    for at in 0..2000 {
        let packet = datagram(0, 1, 1000, 0, 1500);
        emulation.arrive(0, &packet, seconds(f64::from(at) * 0.01), &mut |_| {}).unwrap();
    }
    run(&mut emulation, seconds(20.0));
    let (_, _, counters) = emulation.pairs().next().unwrap();
    assert_eq!(Some(counters.delivered.packets), of_probe["delivered_packets"].as_u64());
    let (real, simulated) =
        (counters.delay.mean_s().unwrap(), of_probe["delay_mean_s"].as_f64().unwrap());
    // Arrivals, queue and air are the same; draws of backoffs need not be.
    assert!((real / simulated - 1.0).abs() < 0.01, "{real} and {simulated}");
}

#[test]
fn stations_without_categories_and_wires_alone_carry_packets_too() {
    // 802.11g with DCF, and two hosts that are linked by wires only.
    let text = r#"{
        "warm_up": "0 s",
        "phy": {"standard": "802.11g"},
        "stations": [{"name": "ap"}, {"name": "phone", "real": true}],
        "hosts": [
            {"name": "server", "link": "ap", "delay": "5 ms", "real": true},
            {"name": "other", "link": "server", "delay": "1 ms", "real": true}
        ]
    }"#;
    let emulated = Scenario::emulated(text, &[]).unwrap();
    // Six of real nodes, and of each of them with the access point.
    assert_eq!((emulated.pairs.len(), &emulated.routers[..]), (12, &["ap".to_owned()][..]));
    for pair in &emulated.pairs {
        // One queue: a packet of any codepoint takes the flows of best effort.
        assert!(pair.flows.iter().all(|flows| *flows == pair.flows[0]), "{pair:?}");
    }
    let mut emulation = start(&emulated);
    for (from, to, delay_s) in [(1, 0, 0.005), (0, 2, 0.006), (2, 1, 0.001)] {
        let at = emulation.now();
        emulation.arrive(from, &datagram(from, to, 7, 0xb8, 100), at, &mut |_| {}).unwrap();
        let left = run(&mut emulation, at + Span::from_millis(50));
        let [(receiver, _, due)] = left[..] else { panic!("{left:?}") };
        assert_eq!(receiver, to);
        let passed = (due - at).as_secs_f64();
        assert!((delay_s..delay_s + 0.002).contains(&passed), "{from} to {to}: {passed} s");
    }
}
