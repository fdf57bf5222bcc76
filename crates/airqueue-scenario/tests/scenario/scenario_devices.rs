//! Devices that stations are like, the settings of queues in force, and all errors of a file at once.

use crate::scenarios::{full, mesh, networked, refusal_of, set};
use airqueue_scenario::{Scenario, devices, problems};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn cell(standard: &str) -> Value {
    json!({
        "phy": {"standard": standard},
        "stations": [{"name": "ap"}, {"name": "sta"}],
        "flows": [{"from": "ap", "to": "sta", "source": "tcp"}]
    })
}

fn read(scenario: &Value) -> Scenario {
    Scenario::from_json(&scenario.to_string())
        .unwrap_or_else(|problem| panic!("{problem}: {scenario}"))
}

fn spec(scenario: &Value) -> String {
    format!("{:?}", read(scenario).spec())
}

/// The station's table with the key, whose tables are made.
fn with(station: &mut Value, key: &str, value: &Value) {
    let mut place = station;
    for step in key.split('.') {
        place = &mut place[step];
    }
    *place = value.clone();
}

/// The station's table with all keys of a device written out.
fn written_out(device: &Value, standard: &str, skip: &[&str]) -> Value {
    let mut station = json!({"name": "ap"});
    for key in device["keys"].as_array().unwrap() {
        let name = key["key"].as_str().unwrap();
        let holds = key["standards"].as_array().unwrap().contains(&json!(standard));
        if holds && !skip.iter().any(|skipped| name.starts_with(skipped)) {
            with(&mut station, name, &key["value"]);
        }
    }
    station
}

fn all() -> Vec<Value> {
    let found: Value = serde_json::from_str(&devices()).unwrap();
    found.as_array().unwrap().clone()
}

#[test]
fn a_station_like_a_device_is_a_station_with_its_keys_written_out() {
    let mut different = Vec::new();
    for standard in ["802.11a", "802.11b", "802.11g", "802.11n", "802.11ac", "802.11ax"] {
        for device in all() {
            let like =
                set(cell(standard), "stations[0]", json!({"name": "ap", "like": device["name"]}));
            let keys = set(cell(standard), "stations[0]", written_out(&device, standard, &[]));
            assert_eq!(spec(&like), spec(&keys), "{} with {standard}", device["name"]);
            different.push(spec(&like));
        }
    }
    let cases = different.len();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), cases, "devices differ, with each physical layer");
}

#[test]
fn keys_of_the_station_stay() {
    for device in all() {
        let own = json!({"name": "ap", "like": device["name"], "queue": {"limit": "7 packets"}});
        let mut keys = written_out(&device, "802.11ac", &[]);
        with(&mut keys, "queue.limit", &json!("7 packets"));
        assert_eq!(
            spec(&set(cell("802.11ac"), "stations[0]", own)),
            spec(&set(cell("802.11ac"), "stations[0]", keys))
        );
        let own = json!({"name": "ap", "like": device["name"], "queue": "codel"});
        let mut keys = written_out(&device, "802.11ac", &["queue."]);
        with(&mut keys, "queue", &json!("codel"));
        assert_eq!(
            spec(&set(cell("802.11ac"), "stations[0]", own)),
            spec(&set(cell("802.11ac"), "stations[0]", keys))
        );
    }
}

#[test]
fn where_the_scenario_states_a_rate_devices_do_not_look_for_rates() {
    let like = json!({"name": "ap", "like": "openwrt-24"});
    let openwrt = &all()[0];
    for (key, value) in [
        ("phy.rate", json!("VHT-MCS4")),
        ("stations[1].rate", json!("VHT-MCS4")),
        ("links", json!([{"between": ["ap", "sta"], "rate": "VHT-MCS4"}])),
        ("flows[0].phy_rate", json!("VHT-MCS4")),
    ] {
        let rated = set(cell("802.11ac"), key, value);
        let without = written_out(openwrt, "802.11ac", &["rate_control"]);
        assert_eq!(
            spec(&set(rated.clone(), "stations[0]", like.clone())),
            spec(&set(rated, "stations[0]", without)),
            "{key}"
        );
    }
}

#[test]
fn a_queue_of_all_stations_that_no_station_has_is_refused() {
    let stations = json!([
        {"name": "ap", "like": "enterprise"},
        {"name": "sta", "like": "linux-station"}
    ]);
    let all = set(set(cell("802.11n"), "stations", stations), "queue", json!("codel"));
    assert!(refusal_of(all.clone()).starts_with("queue: every station is like a device"));
    read(&set(all.clone(), "stations[1].like", Value::Null));
    read(&set(all, "stations[1].queue", json!("sfq")));
    let unknown = set(cell("802.11n"), "stations[0].like", json!("openwrt"));
    let refusal = refusal_of(unknown);
    assert_eq!(refusal, "stations[0].like: unknown word `openwrt`; did you mean `openwrt-24`?");
}

#[test]
fn every_key_of_a_device_has_a_source_and_is_given_once_with_each_standard() {
    let devices: Vec<Value> = serde_json::from_str(&devices()).unwrap();
    let refusal = refusal_of(set(cell("802.11n"), "stations[0].like", json!("fritz")));
    for device in &devices {
        let name = device["name"].as_str().unwrap();
        assert!(refusal.contains(name), "{refusal}");
        let mut given = BTreeSet::new();
        for key in device["keys"].as_array().unwrap() {
            assert_ne!(key["source"], json!(""), "{name}");
            for standard in key["standards"].as_array().unwrap() {
                let twice = !given.insert((standard.to_string(), key["key"].to_string()));
                assert!(!twice, "{name} with {standard}: {key}");
            }
        }
    }
}

fn in_force(scenario: &Value) -> Value {
    serde_json::from_str(&read(scenario).queues_in_force()).unwrap()
}

#[test]
fn the_settings_of_queues_in_force_are_those_of_the_file_or_the_defaults() {
    let queue = in_force(&cell("802.11g"))[0].clone();
    assert_eq!(queue["name"], "ap");
    assert_eq!((&queue["discipline"], &queue["limit_packets"]), (&json!("droptail"), &json!(50)));
    assert_eq!((&queue["limit_bytes"], &queue["ring_packets"]), (&Value::Null, &json!(0)));
    let of = |queue: Value| in_force(&set(cell("802.11g"), "queue", queue))[0].clone();
    assert_eq!(of(json!("bfifo:9kB"))["limit_bytes"], 9000);
    let fq = of(json!("fq_codel"));
    assert_eq!((&fq["limit_packets"], &fq["limit_bytes"]), (&json!(10_240), &json!(32 << 20)));
    assert_eq!(of(json!("drr"))["limit_per"], "flow");
    let ns3 = in_force(&set(cell("802.11g"), "behaviour", json!("ns3")));
    assert_eq!(ns3[0]["limit_packets"], 500);
    let names: Vec<_> =
        in_force(&networked()).as_array().unwrap().iter().map(|of| of["name"].clone()).collect();
    assert!(names.iter().any(|name| name.as_str().unwrap().contains("->")), "{names:?}");
}

fn keys(scenario: &Value) -> Vec<String> {
    let found = problems(&scenario.to_string(), false);
    assert_eq!(found.first().cloned(), Scenario::from_json(&scenario.to_string()).err());
    found.into_iter().map(|error| error.key).collect()
}

#[test]
fn a_valid_scenario_has_no_errors() {
    for scenario in [full(), networked(), mesh(), cell("802.11ax")] {
        assert!(keys(&scenario).is_empty());
    }
}

/// What is missing in a table whose wrong key was taken out is no error of the file.
#[test]
fn a_wrong_value_is_not_missing_too() {
    let flow = |rate: &str| json!({"from": "sta1", "to": "ap", "source": "cbr", "rate": rate});
    for rate in ["0 b/s", "54 Mbps"] {
        let scenario = set(cell("802.11g"), "flows", json!([flow(rate)]));
        assert_eq!(keys(&scenario), ["flows[0].rate"]);
    }
    let always = json!([{"name": "x", "occupancy": {"share": 1.0}}]);
    let found = keys(&set(cell("802.11a"), "interference", always));
    assert_eq!(found, ["interference[0].occupancy.share"]);
}

#[test]
fn all_errors_come_at_once() {
    let mut scenario = networked();
    let wrong = [
        ("duration", json!("0 s")),
        ("stations[0].queue", json!({"limit": "5 apples"})),
        ("stations[0].colour", json!("red")),
        ("flows[0].to", json!("nobody")),
        ("flows[1].from", json!("nobody")),
        ("flows[2].size", json!("0 B")),
    ];
    for (key, value) in &wrong {
        scenario = set(scenario, key, value.clone());
    }
    let mut found = keys(&scenario);
    found.sort();
    let mut expected: Vec<_> = wrong.iter().map(|(key, _)| (*key).to_owned()).collect();
    expected[1] += ".limit";
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn a_required_key_with_a_wrong_value_does_not_hide_other_unreadable_keys() {
    let wrong = set(set(cell("802.11g"), "phy.standard", json!(5)), "stations[1].qeue", json!({}));
    let wrong = set(wrong, "flows[0].from", Value::Null);
    let mut found = keys(&wrong);
    found.sort();
    assert_eq!(found, ["flows[0]", "phy.standard", "stations[1].qeue"]);
}

#[test]
fn what_may_follow_from_an_error_is_not_reported() {
    let wrong =
        set(cell("802.11g"), "queue", json!({"discipline": "fq_kodel", "fq_codel": {"flows": 8}}));
    assert_eq!(keys(&wrong), ["queue.discipline"]);
    let stations = json!([{"name": "a p"}, {"name": "sta"}]);
    assert_eq!(keys(&set(cell("802.11g"), "stations", stations)), ["stations[0].name"]);
}
