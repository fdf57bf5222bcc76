//! Keys of propagation delays and of the coverage class. Tolerances were stated before the first run.

use crate::figures::{figure, results};
use crate::scenarios::{set, value_refused};
use serde_json::{Value, json};

/// 802.11a at 54 Mb/s over 1.2 km, within the reach of an acknowledgement without a coverage class.
fn by_places() -> Value {
    json!({
        "duration": "4 s",
        "warm_up": "1 s",
        "phy": {"standard": "802.11a", "rate": "54 Mb/s"},
        "medium": {"ranges": {"decode": "16 km"}, "propagation_delay": true},
        "stations": [
            {"name": "tower", "position": ["0 m", "0 m"]},
            {"name": "farm", "position": ["1.2 km", "0 m"]}
        ],
        "flows": [{"name": "down", "from": "tower", "to": "farm"}]
    })
}

fn packets_per_s(scenario: &Value) -> f64 {
    figure(&results(scenario, 1), "flows", "down", "throughput_bps") / 12_000.0
}

/// 34 DIFS + 67.5 backoff + 248 + 16 + 28 us, and twice 4003 ns; backoffs of some 7600 packets have 0.1 % of error.
#[test]
fn places_and_links_give_the_same_delay() {
    let places = by_places();
    let links = json!({"links": [{"from": "tower", "to": "farm", "delay": "4003 ns"}]});
    let mut linked = set(places.clone(), "medium", links);
    for station in 0..2 {
        linked = set(linked, &format!("stations[{station}].position"), Value::Null);
    }
    let cycle_us = 393.5 + 2.0 * 4.003;
    let expected = 1e6 / cycle_us;
    assert!((packets_per_s(&places) / expected - 1.0).abs() < 0.004);
    assert_eq!(packets_per_s(&places), packets_per_s(&linked));
    let at_once = set(places, "medium.propagation_delay", json!(false));
    assert!((packets_per_s(&at_once) / (1e6 / 393.5) - 1.0).abs() < 0.004);
}

#[test]
fn what_cannot_be_is_refused() {
    let cell = by_places();
    let refused = |key, value, start, part| value_refused(&cell, key, value, start, part);
    refused("phy.coverage_class", json!(32), "phy.coverage_class: ", "expected 0 to 31");
    // 51.7 us; without a coverage class a sender waits for 50 us: SIFS, a slot and the PHY's delay.
    refused("stations[1].position", json!(["15.5 km", "0 m"]), "", "coverage class");
    let beacons = json!([{"station": "tower"}]);
    refused("beacons", beacons, "", "propagation delays are not simulated together with beacons");
    let unplaced = json!({"snr": "40 dB", "propagation_delay": true});
    let places = set(set(cell.clone(), "stations[0].position", Value::Null), "medium", unplaced);
    value_refused(
        &places,
        "stations[1].position",
        Value::Null,
        "medium.propagation_delay: ",
        "delay",
    );
    let of_ns2 =
        set(set(cell.clone(), "phy", json!({"standard": "802.11b"})), "behaviour", json!("ns2"));
    value_refused(&of_ns2, "phy.coverage_class", json!(3), "phy.coverage_class: ", "ns-2");
}
