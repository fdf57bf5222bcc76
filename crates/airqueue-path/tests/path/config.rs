//! Errors in path configurations.

use airqueue_path::{CellConfig, PathConfig, SimulatedPath};
use airqueue_scenario::Scenario;
use serde_json::json;

/// The error of a configuration, from JSON to path.
fn error(json: &str) -> String {
    match PathConfig::from_json(json) {
        Err(error) => error.to_string(),
        Ok(config) => match SimulatedPath::new(&config, 1) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{json} was accepted"),
        },
    }
}

#[test]
fn an_empty_map_is_the_default_path() {
    let config = PathConfig::from_json("{}").unwrap();
    assert_eq!(config, PathConfig::default());
    assert!(SimulatedPath::new(&config, 1).is_ok());
}

#[test]
fn every_key_can_be_given() {
    let json = r#"{
        "queue": "bfifo:150000", "drop_from": "head", "isolate_flows": true, "ring_packets": 40,
        "shaper": "link", "rate_bps": 7000000, "burst_bytes": 1540, "policer": false,
        "aggregate_packets": 64, "mpu_bytes": 64, "link_layer_bytes": 14, "overhead_s": 1e-4,
        "service_jitter_s": 0.001, "loss_probability": 0.01, "stalls_s": [[5, 2.5]],
        "rate_changes": [[1, 0.5], [2.0, 2]], "limit_changes": [[3, 1000]], "repeat_s": 60,
        "ingress_rate_bps": 1e8, "ingress_delay_s": 0, "base_delay_s": 0.002,
        "reverse_delay_s": 0.003, "clock_offset_s": -1000, "skew_ppm": -50,
        "clock_steps_s": [[10, -0.25]], "receive_buffer_packets": 200.0, "reader_rate_pps": 5000,
        "sender_cap_pps": 800.5, "sender_burst_packets": 10,
        "sender_wakeup_s": 1e-4, "receiver_wakeup_s": 0, "rests_after_s": 0.002, "flows": 4,
        "record_queue_series": true }"#;
    let config = PathConfig::from_json(json).unwrap();
    SimulatedPath::new(&config, 1).unwrap();
    assert_eq!(config.receive_buffer_packets, Some(200));
    assert_eq!(config.rate_changes, [[1.0, 0.5], [2.0, 2.0]]);
    let nothing = r#"{"repeat_s": null, "receive_buffer_packets": null}"#;
    assert_eq!(PathConfig::from_json(nothing).unwrap(), PathConfig::default());
}

/// Each error names the key, what was found, and what was expected.
#[test]
fn errors_say_where_what_and_what_instead() {
    let cases: [(&str, &[&str]); 30] = [
        (r#"{"rat_bps": 1}"#, &["rat_bps", "expected one of", "`rate_bps`"]),
        (r#"{"rate_bps": "7mbit"}"#, &["rate_bps", "7mbit", "a number"]),
        (r#"{"rate_bps": 0}"#, &["rate_bps", "is 0", "from 1"]),
        (r#"{"rate_bps": -5}"#, &["rate_bps", "-5", "from 1"]),
        (r#"{"rate_bps": null}"#, &["rate_bps", "null", "a number"]),
        (r#"{"ring_packets": 1.5}"#, &["ring_packets", "1.5", "whole number"]),
        (r#"{"ring_packets": -1}"#, &["ring_packets", "-1", "whole number"]),
        (r#"{"stalls_s": [[1, 2], [1]]}"#, &["stalls_s[1]", "1", "2"]),
        (r#"{"stalls_s": [[1, "x"]]}"#, &["stalls_s[0][1]", "x", "a number"]),
        (r#"{"stalls_s": [[1, -2]]}"#, &["stalls_s[0][1]", "-2", "from 0"]),
        (r#"{"stalls_s": [[9, 2]], "repeat_s": 10}"#, &["stalls_s[0]", "11", "to 10"]),
        (r#"{"rate_changes": [[1, 0]]}"#, &["rate_changes[0][1]", "is 0", "factor"]),
        (r#"{"limit_changes": [[1, 2.5]]}"#, &["limit_changes[0][1]", "2.5", "whole number"]),
        (r#"{"repeat_s": 0}"#, &["repeat_s", "is 0", "0.001"]),
        (r#"{"queue": "pfifo"}"#, &["queue", "\"pfifo\"", "pfifo:PACKETS"]),
        (r#"{"queue": "pfifo:0"}"#, &["queue", "pfifo:0", "from 1"]),
        (
            r#"{"queue": "codel:5p"}"#,
            &["queue", "codel:5p", "\"pfifo:PACKETS\" or \"bfifo:BYTES\" with a whole number"],
        ),
        // The key `drop_from` says the same.
        (r#"{"queue": "pfifo_head_drop:5"}"#, &["queue", "pfifo_head_drop:5", "bfifo:BYTES"]),
        (r#"{"queue": "droptail:5p"}"#, &["queue", "droptail:5p", "bfifo:BYTES"]),
        (r#"{"drop_from": "middle"}"#, &["drop_from", "middle", "\"head\""]),
        (r#"{"shaper": "htb"}"#, &["shaper", "htb", "\"token_bucket\""]),
        (
            r#"{"shaper": "token_bucket", "ring_packets": 40}"#,
            &["ring_packets", "40", "0 with shaper = \"token_bucket\""],
        ),
        (r#"{"policer": true, "overhead_s": 0.1}"#, &["overhead_s", "0.1", "policer"]),
        (r#"{"loss_probability": 1.1}"#, &["loss_probability", "1.1", "0 to 1"]),
        (r#"{"base_delay_s": -1}"#, &["base_delay_s", "-1", "0 to 3600"]),
        (r#"{"skew_ppm": 1e9}"#, &["skew_ppm", "1000000000", "100000"]),
        (r#"{"receive_buffer_packets": 0}"#, &["receive_buffer_packets", "is 0", "at least 1"]),
        (r#"{"sender_cap_pps": -1}"#, &["sender_cap_pps", "-1", "0.001"]),
        (r#"{"receiver_wakeup_s": -1}"#, &["receiver_wakeup_s", "-1", "0 to 3600"]),
        (r#"{"flows": 17}"#, &["flows", "17", "1 to 16"]),
    ];
    for (json, parts) in cases {
        let message = error(json);
        for part in parts {
            assert!(message.contains(part), "{json}: {message:?} does not say {part:?}");
        }
    }
}

/// A cell in JSON: an access point with a station, and another station that is saturated.
fn cell(scenario: &str, rest: &str) -> String {
    format!(
        r#"{{"cell": {{"scenario": {{"phy": {{"standard": "802.11g"}},
            "stations": [{{"name": "ap"}}, {{"name": "laptop"}}, {{"name": "other"}}],
            "flows": [{{"from": "ap", "to": "laptop", "source": "external"}},
                      {{"from": "laptop", "to": "ap", "source": "external"}},
                      {{"from": "other", "to": "ap"}}] {scenario}}},
            "down": "ap->laptop" {rest}"#
    )
}

#[test]
fn a_cell_stands_in_the_place_of_the_bottleneck() {
    let json = cell("", r#", "up": "laptop->ap"}, "base_delay_s": 0.002, "skew_ppm": 3}"#);
    SimulatedPath::new(&PathConfig::from_json(&json).unwrap(), 1).unwrap();
}

/// Errors in the scenario name the key of the scenario.
#[test]
fn errors_in_a_cell_say_where() {
    let up = r#", "up": "laptop->ap"}}"#;
    let cases: [(String, &[&str]); 7] = [
        (cell("", "}}"), &["cell", "missing field `up`"]),
        (cell("", r#", "up": "laptop->ap", "sideways": 1}}"#), &["cell.sideways", "unknown field"]),
        (cell("", r#", "up": "lapdog->ap"}}"#), &["`cell.up`", "lapdog->ap", "scenario's flows"]),
        (cell("", r#", "up": "other->ap"}}"#), &["`cell.up`", "other->ap", "external"]),
        (
            cell("", r#", "up": "laptop->ap"}, "rate_bps": 1e6}"#),
            &["`rate_bps`", "1000000", "cell"],
        ),
        (cell(r#", "queue": {"limit": "5"}"#, up), &["`cell.scenario.queue.limit`", "no unit"]),
        (cell(r#", "behaviour": "ns4""#, up), &["`cell.scenario.behaviour`", "ns4"]),
    ];
    for (json, parts) in cases {
        let message = error(&json);
        for part in parts {
            assert!(message.contains(part), "{json}: {message:?} does not say {part:?}");
        }
    }
}

#[test]
fn what_is_no_map_is_refused() {
    for json in ["", "[]", "7", "{", "{} {}"] {
        assert!(error(json).starts_with("path configuration, at"), "{json}: {}", error(json));
    }
}

/// JSON has no infinities, but the struct can be filled in by hand.
#[test]
fn infinities_and_nan_are_refused() {
    for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for config in [
            PathConfig { rate_bps: x, ..PathConfig::default() },
            PathConfig { base_delay_s: x, ..PathConfig::default() },
            PathConfig { overhead_s: x, ..PathConfig::default() },
            PathConfig { skew_ppm: x, ..PathConfig::default() },
            PathConfig { clock_offset_s: x, ..PathConfig::default() },
            PathConfig { loss_probability: x, ..PathConfig::default() },
            PathConfig { repeat_s: Some(x), ..PathConfig::default() },
            PathConfig { reader_rate_pps: Some(x), ..PathConfig::default() },
            PathConfig { sender_cap_pps: Some(x), ..PathConfig::default() },
            PathConfig { sender_wakeup_s: x, ..PathConfig::default() },
            PathConfig { receiver_wakeup_s: x, ..PathConfig::default() },
            PathConfig { rests_after_s: x, ..PathConfig::default() },
            PathConfig { stalls_s: vec![[x, 1.0]], ..PathConfig::default() },
            PathConfig { stalls_s: vec![[1.0, x]], ..PathConfig::default() },
            PathConfig { rate_changes: vec![[1.0, x]], ..PathConfig::default() },
            PathConfig { limit_changes: vec![[1.0, x]], ..PathConfig::default() },
            PathConfig { clock_steps_s: vec![[1.0, x]], ..PathConfig::default() },
        ] {
            assert!(SimulatedPath::new(&config, 1).is_err(), "{config:?}");
        }
    }
}

/// A measurement sends its packets over the air.
#[test]
fn a_measurement_over_wires_only_is_refused() {
    let scenario = json!({
        "phy": {"standard": "802.11g"},
        "stations": [{"name": "ap"}, {"name": "sta"}],
        "hosts": [
            {"name": "far", "link": "ap", "delay": "10 ms"},
            {"name": "near", "link": "ap", "delay": "1 ms"}
        ],
        "flows": [
            {"name": "there", "from": "far", "to": "near", "source": "external"},
            {"name": "back", "from": "near", "to": "far", "source": "external"}
        ],
    });
    Scenario::from_json(&scenario.to_string()).unwrap();
    let config = CellConfig {
        scenario,
        down: "there".to_owned(),
        up: "back".to_owned(),
        others: Vec::new(),
    };
    let path = PathConfig { cell: Some(config), ..PathConfig::default() };
    let refusal = SimulatedPath::new(&path, 1).unwrap_err().to_string();
    assert!(refusal.contains("over the air"), "{refusal}");
}
