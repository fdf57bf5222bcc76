//! Cost of a delivered frame: in cells of few and of many stations, in many cells at once, and in a grid. The ratio of
//! the first line of a group to the last shows how well the engine scales.
//!
//! `cargo bench -p airqueue-scenario --bench wlan`; the items are delivered packets: `ns/item` is the cost of a packet
//! with all its frames, collisions and retries.

use airqueue_core::{Seed, Span};
use airqueue_network::FlowId;
use airqueue_network::network::Network;
use airqueue_network::wlan::WlanSpec;
use airqueue_scenario::Scenario;
use divan::counter::ItemsCount;
use serde_json::{Value, json};

fn main() {
    divan::main();
}

/// Simulates `ms` milliseconds again and again, of a network that has warmed up.
fn simulate(bencher: divan::Bencher, scenario: &Value, ms: i64) {
    simulate_with(bencher, scenario, ms, |_| {});
}

fn simulate_with(
    bencher: divan::Bencher,
    scenario: &Value,
    ms: i64,
    change: impl FnOnce(&mut WlanSpec),
) {
    let scenario = Scenario::from_json(&scenario.to_string()).expect("a scenario");
    let mut spec = scenario.spec().clone();
    change(&mut spec.wlan);
    let flows = spec.flows.len();
    let mut network = Network::new(&spec, Seed(1)).expect("a network");
    let delivered = |network: &Network| -> u64 {
        (0..flows).map(|flow| network.flow(FlowId::at(flow)).delivered.packets).sum()
    };
    network.run_until(network.now() + Span::from_millis(200));
    let before = delivered(&network.model);
    network.run_until(network.now() + Span::from_millis(10 * ms));
    let packets = (delivered(&network.model) - before) / 10;
    bencher
        .counter(ItemsCount::new(packets))
        .bench_local(|| network.run_until(network.now() + Span::from_millis(ms)));
}

/// Saturated stations with packets of 1500 bytes, at the given positions.
fn network(stations: Value, flows: Vec<Value>, medium: Value) -> Value {
    json!({
        "duration": "10000 s",
        "warm_up": "100 ms",
        "phy": {"standard": "802.11b", "rate": "11 Mb/s", "control_rate": "2 Mb/s"},
        "medium": medium,
        "stations": stations,
        "flows": flows
    })
}

/// One cell in which all stations send to one station.
#[divan::bench(args = [1, 10, 50, 200])]
fn cell(bencher: divan::Bencher, stations: u32) {
    let places = json!([
        {"name": "ap", "position": ["0 m", "0 m"]},
        {"name": "sta", "count": stations, "circle": "10 m"}
    ]);
    let medium = json!({"ranges": {"decode": "250 m"}});
    let scenario = network(places, vec![json!({"from": "sta", "to": "ap"})], medium);
    simulate(bencher, &scenario, 500);
}

/// The first 100 ms of a cell without positions: all stations begin to transmit at 0, where the standard's behaviour
/// has it so. The cost of a station should not rise with their number.
#[divan::bench(args = [10, 100, 1000], sample_count = 5, sample_size = 1)]
fn beginning(bencher: divan::Bencher, stations: u32) {
    let places = json!([{"name": "ap"}, {"name": "sta", "count": stations}]);
    let scenario = network(places, vec![json!({"from": "sta", "to": "ap"})], json!({}));
    let scenario = Scenario::from_json(&scenario.to_string()).expect("a scenario");
    bencher
        .counter(ItemsCount::new(stations))
        .with_inputs(|| Network::new(scenario.spec(), Seed(1)).expect("a network"))
        .bench_local_values(|mut network| {
            network.run_until(network.now() + Span::from_millis(100));
            network
        });
}

/// Cells of few stations of one hearing class, simulated together where the class has at least `together` stations. The
/// best threshold is [`WlanSpec::TOGETHER`].
#[divan::bench(args = [(3, 2), (3, 99), (5, 2), (5, 99), (8, 2), (8, 99), (10, 2), (10, 99), (15, 2), (15, 99)])]
fn alike(bencher: divan::Bencher, (senders, together): (u32, usize)) {
    let places = json!([
        {"name": "ap", "position": ["0 m", "0 m"]},
        {"name": "sta", "count": senders, "circle": "10 m"}
    ]);
    let medium = json!({"ranges": {"decode": "250 m"}});
    let scenario = network(places, vec![json!({"from": "sta", "to": "ap"})], medium);
    simulate_with(bencher, &scenario, 500, |spec| spec.together = together);
}

/// Cells of ten stations that do not hear each other, in one network.
#[divan::bench(args = [1, 10, 100])]
fn cells(bencher: divan::Bencher, cells: u32) {
    let (mut stations, mut flows) = (Vec::new(), Vec::new());
    for cell in 0..cells {
        let (ap, sta) = (format!("ap{cell}-"), format!("sta{cell}-"));
        let place = json!([format!("{} m", 1000 * cell), "0 m"]);
        stations.push(json!({"name": ap, "position": place}));
        stations.push(json!({"name": sta, "count": 9, "position": place, "circle": "10 m"}));
        flows.push(json!({"from": sta, "to": ap}));
    }
    let medium = json!({"ranges": {"decode": "250 m"}});
    simulate(bencher, &network(stations.into(), flows, medium), 500);
}

/// A grid in which each station hears the twelve stations within two steps, and sends to the next station of the row.
#[divan::bench(args = [10, 100, 1000])]
fn grid(bencher: divan::Bencher, stations: u32) {
    let columns = f64::from(stations).sqrt().ceil() as u32;
    let places = json!([{
        "name": "n", "count": stations, "position": ["0 m", "0 m"],
        "grid": {"columns": columns, "spacing": "100 m"}
    }]);
    let row = |n: u32| (n - 1) / columns;
    let flow = |n: u32| {
        let next = if n < stations && row(n + 1) == row(n) { n + 1 } else { n - 1 };
        json!({"name": format!("f{n}"), "from": format!("n{n}"), "to": format!("n{next}")})
    };
    let medium = json!({"ranges": {"decode": "210 m"}});
    simulate(bencher, &network(places, (1..=stations).map(flow).collect(), medium), 200);
}
