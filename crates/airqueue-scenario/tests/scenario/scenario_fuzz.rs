//! Every scenario either runs or is rejected with an error message.

use crate::scenarios::{full, mesh, networked};
use airqueue_core::{Seed, Span};
use airqueue_scenario::Scenario;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const WORDS: [&str; 78] = [
    "",
    " ",
    "0",
    "0 s",
    "1 ns",
    "1e-30 s",
    "1e9 s",
    "1e999 s",
    "-1 s",
    "5 ms",
    "1 b/s",
    "1e12 b/s",
    "54 Mb/s",
    "11 Mb/s",
    "1 packets/s",
    "1e6 packets/s",
    "1 packet",
    "3 packets",
    "1e7 packets",
    "1 B",
    "20 B",
    "1500 B",
    "4095 B",
    "4 GB",
    "0 m",
    "-5 m",
    "1e9 m",
    "0.001 mm",
    "250 m",
    "-200 dBm",
    "100 dBm",
    "1 W",
    "-300 dB",
    "0 dB",
    "300 dB",
    "1 kHz",
    "ap",
    "sta",
    "sta1",
    "far",
    "old",
    "none",
    "snr",
    "dcf",
    "edca",
    "freeze",
    "ns2",
    "ns3",
    "802.11a",
    "802.11b",
    "short",
    "cbr",
    "saturated",
    "poisson",
    "tcp",
    "web",
    "page",
    "external",
    "server",
    "far2",
    "near",
    "lost",
    "mac80211",
    "fq_codel",
    "cubic",
    "pareto",
    "dynamic",
    "hops",
    "airtime",
    "node",
    "node3",
    "leaf2",
    "vo",
    "rts_cts",
    "µs",
    "\u{0}",
    "🙂 s",
    "NaN s",
];
const NUMBERS: [f64; 11] = [0.0, 1.0, 2.0, 3.0, 31.0, 0.5, -1.0, 1e6, 1e300, -1e300, 4294967295.0];

/// Values for a key: valid for some key, or invalid. Numbers of stations that fit into memory and not into a test are
/// left out.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => prop::sample::select(&WORDS[..]).prop_map(|word| json!(word)),
        2 => prop::sample::select(&NUMBERS[..]).prop_map(|x| json!(x)),
        2 => prop::sample::select(&[0i64, 1, 2, 3, 15, 31, -1, i64::MAX, i64::MIN][..]).prop_map(|x| json!(x)),
        1 => any::<bool>().prop_map(|x| json!(x)),
        1 => Just(Value::Null),
        1 => Just(json!({})),
        1 => Just(json!([])),
        1 => "\\PC{0,12}".prop_map(|text| json!(text)),
    ];
    prop_oneof![
        6 => leaf.clone(),
        1 => prop::collection::vec(leaf, 1..4).prop_map(Value::Array),
        1 => Just(json!({"ranges": {"decode": "250 m", "sense": "550 m"}})),
        1 => Just(json!({"log_distance": {"exponent": 3.0, "reference_loss": "40 dB"}})),
        1 => Just(json!([{"from": "sta", "to": "sta"}, {"from": "ap", "to": "sta"}])),
    ]
}

#[derive(Clone, Debug)]
enum Change {
    Replace(Value),
    Remove,
    /// The value at another place.
    Copy(usize),
    Insert(String, Value),
}

fn change() -> impl Strategy<Value = (usize, Change)> {
    let change = prop_oneof![
        4 => value().prop_map(Change::Replace),
        2 => Just(Change::Remove),
        1 => any::<usize>().prop_map(Change::Copy),
        1 => ("[a-z_]{1,12}", value()).prop_map(|(key, value)| Change::Insert(key, value)),
    ];
    (any::<usize>(), change)
}

/// Pointers to all parts of a value, the whole value first.
fn pointers(value: &Value, here: &str, all: &mut Vec<String>) {
    all.push(here.to_owned());
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| pointers(value, &format!("{here}/{key}"), all));
        }
        Value::Array(list) => {
            let places = list.iter().enumerate();
            places.for_each(|(at, value)| pointers(value, &format!("{here}/{at}"), all));
        }
        _ => (),
    }
}

fn put(scenario: &mut Value, at: &str, value: Value) {
    if let Some(place) = scenario.pointer_mut(at) {
        *place = value;
    }
}

fn apply(scenario: &mut Value, (place, change): (usize, Change)) {
    let mut all = Vec::new();
    pointers(scenario, "", &mut all);
    let at = all[place % all.len()].clone();
    match change {
        Change::Replace(value) => put(scenario, &at, value),
        Change::Copy(from) => {
            let copied = scenario.pointer(&all[from % all.len()]).cloned().unwrap_or_default();
            put(scenario, &at, copied);
        }
        Change::Insert(key, value) => match scenario.pointer_mut(&at) {
            Some(Value::Object(map)) => drop(map.insert(key, value)),
            Some(place) => *place = Value::Object(Map::from_iter([(key, value)])),
            None => (),
        },
        Change::Remove => {
            let Some((parent, last)) = at.rsplit_once('/') else { return };
            match scenario.pointer_mut(parent) {
                Some(Value::Object(map)) => drop(map.remove(last)),
                Some(Value::Array(list)) => drop(list.remove(last.parse().unwrap())),
                _ => (),
            }
        }
    }
}

/// A valid scenario runs and has figures; an invalid one has an error message.
fn judge(text: &str) {
    match Scenario::from_json(text) {
        Ok(scenario) => {
            let mut run = scenario.start(Seed(1)).unwrap_or_else(|error| {
                panic!("passed, and then: {error}: {text}");
            });
            run.advance(Span::from_millis(2));
            serde_json::from_str::<Value>(&run.results()).unwrap();
        }
        Err(error) => assert!(!error.problem.is_empty(), "{text}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_changed_scenario_runs_or_is_refused(changes in prop::collection::vec(change(), 1..4)) {
        let mut scenario = full();
        changes.into_iter().for_each(|change| apply(&mut scenario, change));
        judge(&scenario.to_string());
    }

    #[test]
    fn a_changed_network_runs_or_is_refused(changes in prop::collection::vec(change(), 1..4)) {
        let mut scenario = networked();
        changes.into_iter().for_each(|change| apply(&mut scenario, change));
        judge(&scenario.to_string());
    }

    #[test]
    fn a_changed_mesh_runs_or_is_refused(changes in prop::collection::vec(change(), 1..4)) {
        let mut scenario = mesh();
        changes.into_iter().for_each(|change| apply(&mut scenario, change));
        judge(&scenario.to_string());
    }

    #[test]
    fn any_text_is_refused_or_runs(text in "\\PC{0,80}") {
        judge(&text);
    }
}

#[test]
fn deep_nesting_is_refused() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(Scenario::from_json(&deep).is_err());
}

#[test]
fn the_scenario_that_is_changed_runs() {
    let scenario = Scenario::from_json(&full().to_string()).unwrap();
    assert_eq!(scenario.wlan().stations.len(), 7);
    assert_eq!(scenario.wlan().hops.len(), 8);
    judge(&full().to_string());
    let scenario = Scenario::from_json(&networked().to_string()).unwrap();
    assert_eq!(scenario.spec().wires.len(), 8);
    assert_eq!(scenario.spec().flows.len(), 9);
    judge(&networked().to_string());
    let scenario = Scenario::from_json(&mesh().to_string()).unwrap();
    assert_eq!(scenario.spec().flows.len(), 8);
    judge(&mesh().to_string());
}
