//! A segment through wired links and over the air allocates nothing, unless more segments are in flight than ever
//! before.

use crate::counting::allocations;
use airqueue_core::{Seed, Span, Time};
use airqueue_network::FlowId;
use airqueue_network::network::Network;
use airqueue_network::run_loop::Simulation;
use airqueue_scenario::Scenario;
use serde_json::{Value, json};

/// Three stations download from a server behind the access point and two upload to it.
fn flows() -> Value {
    json!([
        {"name": "down", "from": "server", "to": "down", "source": "tcp"},
        {"name": "up", "from": "up", "to": "server", "source": "tcp"},
        {"from": "up1", "to": "down1", "via": ["ap"], "source": "cbr", "rate": "200 kb/s"},
    ])
}

fn network(behaviour: &str, queue: Value, tcp: Value, flows: Value) -> Simulation<Network> {
    let standard = match behaviour {
        "ns2" => "802.11b",
        "ns3" => "802.11n",
        _ => "802.11g",
    };
    let scenario = json!({
        "behaviour": behaviour,
        "phy": {"standard": standard},
        "queue": queue,
        "stations": [{"name": "ap"}, {"name": "down", "count": 3}, {"name": "up", "count": 2}],
        "hosts": [{"name": "server", "link": "ap", "rate": "20 Mb/s", "delay": "10 ms", "queue": queue}],
        "tcp": tcp,
        "flows": flows,
    });
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
    Network::new(scenario.spec(), Seed(3)).unwrap()
}

fn at(seconds: i64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}

/// Allocations of `to - from` seconds, and segments sent in them.
fn between(network: &mut Simulation<Network>, from: i64, to: i64, flows: usize) -> (u64, u64) {
    let segments = |network: &Network| -> u64 {
        (0..flows)
            .filter_map(|flow| network.tcp(FlowId::at(flow), Time::ZERO))
            .map(|counters| counters.segments)
            .sum()
    };
    network.run_until(at(from));
    let (sent, before) = (segments(&network.model), allocations());
    assert!(before > 0, "the counter counts");
    network.run_until(at(to));
    let allocated = allocations() - before;
    (allocated, segments(&network.model) - sent)
}

/// Lists grow when more segments are lost at once than ever before, which becomes rarer over time.
#[test]
fn segments_of_long_transfers() {
    let queues = [json!({"limit": "30 packets"}), json!({"discipline": "fq_codel"})];
    for queue in queues {
        for (behaviour, tcp) in [
            ("standard", json!({"window": "60 packets"})),
            ("standard", json!({"stack": "linux", "window": "60 packets", "pacing": true})),
            ("standard", json!({"window": "60 packets", "sack": false, "ack_every": "dynamic"})),
            ("ns2", json!({"congestion": "cubic"})),
            // In A-MPDUs, which pass up the answered packets in two steps.
            ("ns3", json!({"window": "60 packets"})),
            ("standard", json!({"congestion": "bbr", "window": "60 packets"})),
        ] {
            let mut network = network(behaviour, queue.clone(), tcp.clone(), flows());
            let (allocated, segments) = between(&mut network, 10, 20, 6);
            assert!(segments > 2000, "something happens: {segments} segments with {tcp}");
            assert!(allocated <= segments / 1000, "{allocated} with {behaviour} {tcp} {queue}");
        }
    }
}

/// Segments of A-MPDUs, which are merged.
#[test]
fn segments_of_batches() {
    let scenario = json!({
        "phy": {"standard": "802.11ac"},
        "queue": {"limit": "200 packets"},
        "stations": [{"name": "ap"}, {"name": "down", "count": 3}],
        "hosts": [{"name": "server", "link": "ap", "rate": "1 Gb/s", "delay": "5 ms"}],
        "tcp": {"stack": "linux", "window": "60 packets"},
        "flows": [{"name": "down", "from": "server", "to": "down", "source": "tcp"}],
    });
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
    let mut network = Network::new(scenario.spec(), Seed(3)).unwrap();
    let (allocated, segments) = between(&mut network, 3, 6, 3);
    let acks: u64 = (0..3)
        .filter_map(|flow| network.model.acknowledgements(FlowId::at(flow)))
        .map(|counters| counters.offered.packets)
        .sum();
    assert!(segments > 3 * acks, "they are merged: {segments} segments, {acks} acknowledgements");
    assert!(allocated <= segments / 1000, "{allocated} for {segments} segments");
}

/// A new connection allocates, the same number of times for every size of file.
#[test]
fn files_of_any_size() {
    for size in ["5 kB", "500 kB"] {
        let web = json!({"file_size": size, "distribution": "constant", "think_time": "100 ms"});
        let flows = json!([{"from": "server", "to": "down", "source": "web", "web": web}]);
        let queue = json!({"limit": "200 packets"});
        let mut network = network("standard", queue, json!({"window": "30 packets"}), flows);
        network.run_until(at(20));
        let ended = |network: &Network| -> u64 {
            (0..3)
                .filter_map(|flow| network.tcp(FlowId::at(flow), Time::ZERO))
                .map(|of| of.sessions.took.count)
                .sum()
        };
        let before = ended(&network.model);
        let (allocated, segments) = between(&mut network, 20, 40, 3);
        let sessions = ended(&network.model) - before;
        assert!(
            sessions > 50 && segments > 3 * sessions,
            "{sessions} sessions, {segments} segments"
        );
        assert!(allocated <= 4 * (sessions + 3), "{allocated} for {sessions} connections");
    }
}

/// A new connection allocates, the same number of times for every size and number of objects.
#[test]
fn pages_of_any_size() {
    for (objects, size) in [(4, "5 kB"), (4, "200 kB"), (40, "5 kB")] {
        let page = json!({"objects": objects, "object_size": size, "connections": 2,
                          "think_time": "100 ms"});
        let flows = json!([{"from": "server", "to": "down", "source": "page", "page": page}]);
        let queue = json!({"limit": "200 packets"});
        let mut network = network("standard", queue, json!({"window": "30 packets"}), flows);
        network.run_until(at(20));
        let loaded = |network: &Network| -> u64 {
            let pages = (0..3).filter_map(|flow| network.pages(FlowId::at(flow)));
            pages.map(|of| of.pages.took.count).sum()
        };
        let before = loaded(&network.model);
        let (allocated, segments) = between(&mut network, 20, 40, 3);
        let pages = loaded(&network.model) - before;
        assert!(pages > 20 && segments > 20 * pages, "{pages} pages, {segments} segments");
        assert!(allocated <= 4 * 2 * (pages + 3), "{allocated} for {pages} pages");
    }
}
