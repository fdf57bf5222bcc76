use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

fn plan(set: Value) -> Value {
    json!({"plan": 1, "made_by": "a test", "settings": [{"why": "to see", "set": set}]})
}

fn error(plan: &Value) -> String {
    Plan::read(&plan.to_string()).unwrap_err().to_string()
}

/// One valid setting of each kind.
fn settings() -> Vec<Value> {
    let edca = json!({"interface": "wlan0", "access_category": "voice", "aifsn": 2, "cw_min": 3, "cw_max": 7, "txop_us": 1504});
    vec![
        json!({"queue": {"interface": "wlan0", "queue": {"fifo": {"limit_packets": 100}}}}),
        json!({"queue": {"interface": "wlan1", "queue": {"fq_codel": {"target_us": 5000, "ecn": false}}}}),
        json!({"queue": {"interface": "wlan2", "queue": {"cake": {"rate_bps": 8_000_000, "isolation": "dual_dsthost"}}}}),
        json!({"queue": {"interface": "wlan3", "queue": {"shaped": {"rate_bps": 8_000_000, "below": {"fifo": {"limit_bytes": 30000}}}}}}),
        json!({"queue": {"interface": "wlan4", "queue": {"shared": {"handle": 1, "rate_bps": 8_000_000, "other": 2, "classes": [
            {"id": 2, "rate_bps": 800_000, "queue": {"limit_packets": 10}},
            {"id": 3, "rate_bps": 7_200_000, "queue": {"limit_packets": 50}}]}}}}),
        json!({"txq": {"phy": "phy0", "limit_packets": 100}}),
        json!({"edca": edca}),
        json!({"own_edca": edca}),
        json!({"airtime_weight": {"interface": "wlan0", "station": "02:00:00:00:01:0a", "weight": 512}}),
        json!({"aql": {"phy": "phy0", "access_category": "best_effort", "limit_low_us": 1500, "limit_high_us": 5000}}),
        json!({"ring": {"interface": "eth0", "packets": 3}}),
        json!({"uci": {"config": "sqm", "section": "wan", "type": "queue", "options": {"upload": "9500", "download": null, "more": ["a", "b"]}}}),
    ]
}

#[test]
fn every_kind_of_setting_is_read_and_written_alike() {
    let items: Vec<Value> =
        settings().into_iter().map(|set| json!({"why": "to see", "set": set})).collect();
    let text = json!({"plan": 1, "made_by": "a test", "settings": items}).to_string();
    let plan = Plan::read(&text).unwrap();
    assert_eq!(Plan::read(&serde_json::to_string(&plan).unwrap()).unwrap(), plan);
}

#[test]
fn errors_name_the_key_and_what_is_possible() {
    let queue = |queue: Value| plan(json!({"queue": {"interface": "wlan0", "queue": queue}}));
    let cases = [
        (
            queue(json!({"fifo": {"limit_packets": 0}})),
            "settings[0].set.queue.queue.fifo.limit_packets: 0 is not possible; give 1 to 100000",
        ),
        (
            queue(json!({"fifo": {"limit_packets": 5, "limit_bytes": 5000}})),
            "settings[0].set.queue.queue.fifo: give either limit_packets or limit_bytes",
        ),
        (
            queue(json!({"fifo": {"limit_packet": 5}})),
            "settings[0].set.queue.queue.fifo.limit_packet: unknown field `limit_packet`, expected `limit_packets` or `limit_bytes` (line 1)",
        ),
        (
            queue(json!({"fifo": {"limit_packets": -5}})),
            "settings[0].set.queue.queue.fifo.limit_packets: invalid value: integer `-5`, expected u32 (line 1)",
        ),
        (
            queue(json!({"cake": {"rate_bps": 10_001}})),
            "settings[0].set.queue.queue.cake.rate_bps: 10001 is no whole number of bytes per second, in which the kernel counts; give 10000",
        ),
        (
            plan(json!({"ring": {"interface": "eth0", "packets": 2}})),
            "settings[0].set.ring.packets: 2 is not possible; give 3 to 65536",
        ),
        (
            plan(json!({"ring": {"interface": "../etc", "packets": 3}})),
            "settings[0].set.ring.interface: \"../etc\" is no name of an interface; give 1 to 15 letters, as wlan0",
        ),
        (
            plan(
                json!({"uci": {"config": "sqm", "section": "@queue[0]", "options": {"upload": "1"}}}),
            ),
            "settings[0].set.uci.section: \"@queue[0]\" is not a name of UCI; give 1 to 64 letters, digits or _",
        ),
        (
            plan(json!({"uci": {"config": "sqm", "section": "wan", "options": {"upload": ""}}})),
            "settings[0].set.uci.options.upload: is empty; give a text, or null for no option",
        ),
        (
            plan(
                json!({"uci": {"config": "wireless", "section": "lan", "options": {"key": "word"}}}),
            ),
            "settings[0].set.uci.options.key: may be a secret, which the journal would keep; set it with uci",
        ),
        (
            plan(
                json!({"uci": {"config": "network", "section": "lan", "options": {"mtu": "1400"}}}),
            ),
            "settings[0].set.uci.config: unknown variant `network`, expected `sqm` or `wireless` (line 1)",
        ),
        (
            plan(json!({"txq": {"phy": "phy0"}})),
            "settings[0].set.txq: sets nothing; give limit_packets, memory_limit_bytes or quantum_bytes",
        ),
        (
            plan(json!({"edca": {"interface": "wlan0", "access_category": "voice", "cw_min": 6}})),
            "settings[0].set.edca.cw_min: 6 is not possible; give 2^n - 1 up to 32767, as 15 or 1023",
        ),
        (
            json!({"plan": 2, "later": true}),
            "the plan's version is 2; this program reads version 1: take the program that wrote the plan, or write the plan again",
        ),
        (json!({}), "plan: is missing: a plan begins with {\"plan\": 1, ...}"),
        (json!({"plan": 1, "made_by": " ", "settings": []}), "made_by: is empty; give a sentence"),
        (
            json!({"plan": 1, "made_by": "a test", "settings": []}),
            "settings: gives 0 settings; give 1 to 256",
        ),
    ];
    for (plan, expected) in cases {
        assert_eq!(error(&plan), expected);
    }
}

#[test]
fn text_that_is_no_json_is_located() {
    let error = Plan::read("{\"plan\": 1,\n oops}").unwrap_err();
    assert!(matches!(error, PlanError::NotJson { line: 2, .. }), "{error}");
    assert_eq!(Plan::read(" \n").unwrap_err(), PlanError::Empty);
    let cut = Plan::read("{\"plan\":").unwrap_err().to_string();
    assert_eq!(cut, "line 1, column 8: the text ends too early");
    for other in ["[]", "1", "null", "{\"plan\": \"1\"}", "{\"plan\": -1}"] {
        assert!(Plan::read(other).is_err(), "{other}");
    }
}

#[test]
fn one_thing_is_set_once() {
    for set in settings() {
        let mut twice = plan(set);
        let items = twice["settings"].as_array_mut().unwrap();
        items.push(items[0].clone());
        assert!(error(&twice).contains("settings[1].set: sets the "), "{}", error(&twice));
    }
}

#[test]
fn classes_have_ids_of_their_own_and_fit_into_the_rate() {
    let shared = |classes: Value, other: u16| {
        plan(json!({"queue": {"interface": "wlan0", "queue": {"shared": {
            "handle": 1, "rate_bps": 80_000, "other": other, "classes": classes}}}}))
    };
    let class =
        |id: u16, rate: u64| json!({"id": id, "rate_bps": rate, "queue": {"limit_packets": 5}});
    assert!(
        error(&shared(json!([class(2, 8000), class(2, 8000)]), 2))
            .contains("classes[1].id: 2 is the id of another class")
    );
    assert!(error(&shared(json!([class(2, 8000)]), 3)).contains("other: 3 is the id of no class"));
    assert!(
        error(&shared(json!([class(2, 48_000), class(3, 48_000)]), 3))
            .contains("have 96000 bit/s together")
    );
}

#[test]
fn the_burst_lets_two_packets_through_and_lasts_four_milliseconds() {
    let burst = |rate_bps| {
        Shaped { by: Shaper::Tbf, rate_bps, burst_bytes: None, below: Leaf::Fifo(Fifo::default()) }
            .burst()
    };
    assert_eq!(burst(8_000), 3036);
    // 100 Mb/s are 12.5 kB in a millisecond.
    assert_eq!(burst(100_000_000), 50_000);
    assert!(burst(100_000_000_000) >= 50_000_000);
}

#[test]
fn the_schema_describes_every_key() {
    fn undescribed(at: String, schema: &Value, missing: &mut Vec<String>) {
        let Some(table) = schema.as_object() else { return };
        for (key, property) in
            table.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            if property.get("description").is_none() {
                missing.push(format!("{at}.{key}"));
            }
        }
        for (key, inner) in table {
            for each in inner.as_array().into_iter().flatten() {
                undescribed(format!("{at}.{key}"), each, missing);
            }
            undescribed(format!("{at}.{key}"), inner, missing);
        }
    }
    let mut missing = Vec::new();
    undescribed(String::new(), &serde_json::from_str(&schema()).unwrap(), &mut missing);
    // The variants of one-key tables carry the description on the variant.
    missing.retain(|path| !path.contains("oneOf"));
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn addresses_of_stations_are_six_bytes() {
    let address = |station: &str| {
        AirtimeWeight { interface: "wlan0".into(), station: station.into(), weight: 1 }
            .station_address()
    };
    assert_eq!(address("02:00:fF:00:01:0a"), Some([2, 0, 255, 0, 1, 10]));
    for wrong in [
        "",
        "02:00:00:00:01",
        "02:00:00:00:01:00:00",
        "+2:00:00:00:01:00",
        "2:0:0:0:1:0",
        "02-00-00-00-01-00",
    ] {
        assert_eq!(address(wrong), None, "{wrong}");
    }
}

proptest! {
    #[test]
    fn no_text_ends_in_a_panic(text in ".{0,200}") {
        let _ = Plan::read(&text);
    }

    /// Right plans with one value replaced by another JSON value.
    #[test]
    fn no_value_ends_in_a_panic(which in 0usize..12, step in 0usize..40, with in 0usize..9) {
        let values = [json!(null), json!(-1), json!(0), json!(1e300), json!(u64::MAX), json!(""), json!([]), json!({}), json!(true)];
        let mut plan = plan(settings()[which].clone());
        let mut paths = Vec::new();
        collect("", &plan, &mut paths);
        let path = paths[step % paths.len()].clone();
        *plan.pointer_mut(&path).unwrap() = values[with].clone();
        if let Err(error) = Plan::read(&plan.to_string()) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}

/// JSON pointers to everything inside a value.
fn collect(at: &str, value: &Value, paths: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(table) => table.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(list) => {
            list.iter().enumerate().map(|(i, value)| (i.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (key, value) in inner {
        let path = format!("{at}/{key}");
        paths.push(path.clone());
        collect(&path, value, paths);
    }
}
