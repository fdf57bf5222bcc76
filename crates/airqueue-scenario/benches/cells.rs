//! A fixed set of networks to compare the cost of the engine before and after a change.
//!
//! `cargo bench -p airqueue-scenario --bench cells` prints for each network the time of an attempt, the least of
//! several runs; `-- NAME SECONDS` runs one network for so many simulated seconds and prints its attempts, for a profiler
//! that counts instructions (`benches/engine_cost.py`).

#![allow(clippy::disallowed_methods)] // it reads the clock

use airqueue_core::{Seed, Span, Time};
use airqueue_network::network::{Network, NetworkSpec};
use airqueue_network::run_loop::Simulation;
use airqueue_scenario::Scenario;
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;
use serde_json::{Value, json};
use std::time::Instant;

/// Runs of each network, of which the fastest counts.
const RUNS: usize = 5;

/// A network, and simulated seconds that take some tenths of a second.
type Cell = (&'static str, f64, Value);

fn main() {
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let cells = cells();
    match &words[..] {
        [] => cells.iter().for_each(table_row),
        [name] => cells.iter().filter(|(known, ..)| known == name).for_each(table_row),
        [name, seconds, ..] => {
            let (.., described) =
                cells.iter().find(|(known, ..)| known == name).expect("a network");
            println!("{}", run(described, seconds.parse().expect("seconds")).0);
        }
    }
}

fn table_row((name, seconds, described): &Cell) {
    let runs = (0..RUNS).map(|_| run(described, *seconds));
    let (attempts, least) =
        runs.fold((0, f64::INFINITY), |(_, least), (attempts, s)| (attempts, least.min(s)));
    println!("{name:14} {attempts:8} attempts {:7.0} ns an attempt", least * 1e9 / attempts as f64);
}

/// Attempts of all stations, and the time that the run took, without that of building the network.
fn run(described: &Value, seconds: f64) -> (u64, f64) {
    let scenario = Scenario::from_json(&described.to_string()).expect("a scenario");
    let mut sim = Network::new(scenario.spec(), Seed(1)).expect("a network");
    let before = Instant::now();
    sim.run_until(Time::ZERO + Span::from_nanos((seconds * 1e9) as i64));
    let took = before.elapsed().as_secs_f64();
    (attempts(&sim, scenario.spec()), took)
}

fn attempts(sim: &Simulation<Network>, spec: &NetworkSpec) -> u64 {
    let queues = |station: usize| AccessCategory::first(spec.wlan.stations[station].queues.len());
    let of = |station, ac| sim.model.wlan().access(StationId(station as u32), ac).attempts;
    let stations = 0..spec.wlan.stations.len();
    stations.flat_map(|station| queues(station).map(move |ac| of(station, ac))).sum()
}

fn cells() -> Vec<Cell> {
    vec![
        ("b10-circle", 20.0, saturated("ns2", 10, Some("10 m"))),
        ("b10-point", 20.0, saturated("ns2", 10, None)),
        ("b50-circle", 10.0, saturated("ns2", 50, Some("10 m"))),
        ("b50-point", 10.0, saturated("ns2", 50, None)),
        ("b200-circle", 5.0, saturated("ns2", 200, Some("10 m"))),
        ("s200-circle", 5.0, saturated("standard", 200, Some("10 m"))),
        ("n200-circle", 5.0, saturated("ns3", 200, Some("10 m"))),
        ("ax10-circle", 5.0, ax()),
        ("tcp6", 40.0, tcp_downloads()),
        ("chain-close", 40.0, chain(130)),
        ("chain-hidden", 40.0, chain(200)),
        ("grid100", 2.0, grid(100)),
        ("sessions20", 200.0, sessions()),
        ("start-circle", 0.1, saturated("standard", 1000, Some("10 m"))),
        ("start-point", 0.1, saturated("standard", 1000, None)),
        ("start-ns3", 0.1, saturated("ns3", 1000, Some("10 m"))),
    ]
}

fn described(phy: Value, medium: Value, behaviour: &str, stations: Value, flows: Value) -> Value {
    json!({
        "behaviour": behaviour, "duration": "100000 s", "warm_up": "10 ms",
        "phy": phy, "medium": medium, "stations": stations, "flows": flows,
    })
}

fn layer_b() -> Value {
    json!({"standard": "802.11b", "rate": "11 Mb/s", "control_rate": "1 Mb/s", "preamble": "long"})
}

fn two_ray() -> Value {
    json!({"path_loss": {"two_ray": {}}})
}

/// Stations of 802.11b that always have packets for one receiver in the middle, or without positions. In `standard` and
/// `ns3` all of them transmit at time zero.
fn saturated(behaviour: &str, stations: u32, circle: Option<&str>) -> Value {
    let flows = json!([{"from": "sta", "to": "receiver", "size": "1500 B"}]);
    let Some(radius) = circle else {
        let places = json!([{"name": "receiver"}, {"name": "sta", "count": stations}]);
        return described(layer_b(), json!({}), behaviour, places, flows);
    };
    let place = json!(["0 m", "0 m"]);
    let places = json!([
        {"name": "receiver", "position": place},
        {"name": "sta", "count": stations, "position": place, "circle": radius},
    ]);
    described(layer_b(), two_ray(), behaviour, places, flows)
}

/// Ten saturated stations of 802.11ax, with A-MPDUs.
fn ax() -> Value {
    let place = json!(["0 m", "0 m"]);
    let phy = json!({
        "standard": "802.11ax", "rate": "HE-MCS11", "control_rate": "24 Mb/s", "width": "20 MHz", "streams": 1,
        "guard_interval": "0.8 us",
    });
    let mut cell = described(
        phy,
        json!({"path_loss": "ns3"}),
        "ns3",
        json!([
            {"name": "receiver", "position": place},
            {"name": "sta", "count": 10, "position": place, "circle": "1 m"},
        ]),
        json!([{"from": "sta", "to": "receiver", "size": "1500 B"}]),
    );
    let limits = json!({"max_size": "65535 B", "window": 64});
    cell["mac"] =
        json!({"aggregation": limits, "lifetime": "86400 s", "edca": {"be": {"txop": "0 us"}}});
    cell
}

fn with_tcp(mut network: Value, queue: u32) -> Value {
    network["queue"] = json!({"limit": format!("{queue} packets")});
    network["tcp"] = json!({
        "mss": "1460 B", "window": "10000 packets", "ack_every": 1, "ack_delay": "0.04 s", "ack_timer": "segment",
        "handshake": true,
    });
    network
}

/// Six downloads of TCP from servers behind wires of different delays.
fn tcp_downloads() -> Value {
    let delays = [5, 30, 50, 80, 100, 120];
    let (mut stations, mut hosts, mut flows) = (Vec::new(), Vec::new(), Vec::new());
    stations.push(json!({"name": "ap", "position": ["0 m", "0 m"]}));
    for (at, delay) in delays.into_iter().enumerate() {
        let angle = at as f64 * std::f64::consts::PI / 3.0;
        let place =
            [libm::cos(angle), libm::sin(angle)].map(|part| format!("{:.9} m", 10.0 * part));
        let (server, user) = (format!("server{at}"), format!("sta{at}"));
        stations.push(json!({"name": user, "position": place}));
        hosts.push(json!({"name": server, "link": "ap", "rate": "100 Mb/s", "delay": format!("{delay} ms")}));
        flows.push(json!({
            "name": format!("flow{at}"), "from": server, "to": user, "source": "tcp", "start": "100 ms",
            "start_spread": "1 s",
        }));
    }
    let mut network = described(layer_b(), two_ray(), "ns2", stations.into(), flows.into());
    network["hosts"] = hosts.into();
    with_tcp(network, 100)
}

/// TCP over four hops, so many metres each: at 130 m all nodes sense each other, at 200 m those two hops apart.
fn chain(spacing_m: u32) -> Value {
    let node = |at| {
        let place = [format!("{} m", at * spacing_m), "0 m".into()];
        json!({"name": format!("node{at}"), "position": place})
    };
    let flows = json!([{
        "name": "1", "source": "tcp", "from": "node0", "to": "node4", "via": ["node1", "node2", "node3"],
    }]);
    let stations = (0..5).map(node).collect();
    with_tcp(described(layer_b(), two_ray(), "ns2", stations, flows), 50)
}

/// A grid in which each station hears the twelve within two steps, and sends to the next of its row.
fn grid(stations: u32) -> Value {
    let columns = f64::from(stations).sqrt().ceil() as u32;
    let places = json!([{
        "name": "n", "count": stations, "position": ["0 m", "0 m"],
        "grid": {"columns": columns, "spacing": "100 m"},
    }]);
    let row = |n: u32| (n - 1) / columns;
    let flow = |n: u32| {
        let next = if n < stations && row(n + 1) == row(n) { n + 1 } else { n - 1 };
        json!({"name": format!("f{n}"), "from": format!("n{n}"), "to": format!("n{next}")})
    };
    let flows = (1..=stations).map(flow).collect();
    described(layer_b(), json!({"ranges": {"decode": "210 m"}}), "standard", places, flows)
}

/// Twenty stations that fetch files behind RTS, and think in between.
fn sessions() -> Value {
    let place = json!(["0 m", "0 m"]);
    let places = json!([
        {"name": "ap", "position": place},
        {"name": "user", "count": 20, "position": place, "circle": "10 m"},
    ]);
    let web = json!({
        "file_size": "30000 B", "distribution": "exponential", "think_time": "10 s", "whole_segments": true,
    });
    let flows = json!([{"name": "page", "from": "ap", "to": "user", "source": "web", "web": web}]);
    let mut network = described(layer_b(), two_ray(), "ns2", places, flows);
    network["mac"] = json!({"rts_threshold": "0 B"});
    with_tcp(network, 100_000)
}
