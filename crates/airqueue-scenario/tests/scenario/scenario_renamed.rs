//! Old names of keys: an equal scenario, and a warning for each.

use crate::scenarios::{mesh, networked, refusal_of, set};
use airqueue_core::{DataRate, Seed};
use airqueue_scenario::{Scenario, renamed_keys, shaped_queue};
use serde_json::{Value, json};

/// A table with the new name of a key, the key's old and new name, and a value other than the default.
fn renamed() -> Vec<(Value, &'static str, &'static str, &'static str, Value)> {
    let queue = |discipline: &str| json!({"discipline": discipline, discipline: {}});
    let mac80211 = set(networked(), "stations[0].queue", queue("mac80211"));
    let of_all = set(networked(), "queue", queue("drr"));
    let of_hosts = set(networked(), "hosts[0].queue", queue("drr"));
    let of_mac80211 = set(networked(), "queue", queue("mac80211"));
    let drr = json!({"discipline": "drr", "limit": "40 packets"});
    let buffers = set(set(mesh(), "queue", drr), "buffers", json!({}));
    vec![
        (networked(), "tcp", "like", "stack", json!("linux")),
        (networked(), "flows[1].tcp", "like", "stack", json!("ns2")),
        (mac80211, "stations[0].queue.mac80211", "turn", "airtime_quantum", json!("1 ms")),
        (of_mac80211, "queue.mac80211", "turn", "airtime_quantum", json!("1 ms")),
        (networked(), "stations[3].queue.drr", "by", "queue_per", json!("link")),
        (of_all, "queue.drr", "by", "queue_per", json!("link")),
        (of_hosts, "hosts[0].queue.drr", "by", "queue_per", json!("flow")),
        (buffers.clone(), "buffers", "look", "sample_interval", json!("1 s")),
        (buffers.clone(), "buffers", "every", "refresh_interval", json!("7 s")),
        (buffers.clone(), "buffers", "change", "min_change", json!("2 packets")),
        (buffers.clone(), "buffers", "hold", "hold_time", json!("7 s")),
        (buffers, "buffers", "queues", "limit_per", json!("flow")),
        (networked(), "flows[1].web", "law", "distribution", json!("pareto")),
        (mesh(), "stations[2].random", "apart", "min_distance", json!("5 m")),
        (networked(), "flows[2]", "volume", "transfer_size", json!("100 kB")),
    ]
}

fn read(scenario: &Value) -> Scenario {
    Scenario::from_json(&scenario.to_string()).unwrap_or_else(|problem| panic!("{problem}"))
}

#[test]
fn an_old_key_gives_the_same_scenario_and_one_warning() {
    for (scenario, table, old, new, value) in renamed() {
        let none = set(scenario, &format!("{table}.{new}"), Value::Null);
        let by_new = read(&set(none.clone(), &format!("{table}.{new}"), value.clone()));
        let by_old = read(&set(none, &format!("{table}.{old}"), value));
        assert_eq!(format!("{:?}", by_old.spec()), format!("{:?}", by_new.spec()), "{table}.{old}");
        assert_eq!(by_old.buffers(), by_new.buffers(), "{table}.{old}");
        let warning = format!(
            "{table}.{old} is now called {table}.{new}; the old name is read until version 0.2"
        );
        assert_eq!(by_old.warnings(), [warning]);
        assert!(by_new.warnings().is_empty(), "{table}.{new}");
    }
}

#[test]
fn both_names_of_a_key_are_refused() {
    for (scenario, table, old, new, value) in renamed() {
        let one = set(scenario, &format!("{table}.{new}"), value.clone());
        let refusal = refusal_of(set(one, &format!("{table}.{old}"), value));
        let start = format!("{table}.{old}: the key is now called {table}.{new}, which is given");
        assert!(refusal.starts_with(&start), "{refusal}");
    }
}

#[test]
fn a_queue_on_its_own_is_read_by_old_names_with_a_warning_too() {
    let rate = DataRate::from_bps(1_000_000).unwrap();
    let queue = |key: &str| {
        let text = json!({"discipline": "drr", "drr": {key: "flow"}}).to_string();
        shaped_queue(&text, rate, 1540, Seed(1)).map(|queue| queue.warnings())
    };
    let warning = "queue.drr.by is now called queue.drr.queue_per; the old name is read until \
                   version 0.2";
    assert_eq!(queue("by"), Ok(vec![warning.to_owned()]));
    assert_eq!(queue("queue_per"), Ok(Vec::new()));
    assert!(queue("per").unwrap_err().to_string().contains("unknown key `per`"));
}

#[test]
fn values_other_than_tables_have_no_old_keys() {
    for text in ["[]", "1", r#"{"flows": {"volume": "1 B"}, "tcp": 1, "queue": "drr"}"#] {
        assert_eq!(renamed_keys(text), Ok(Vec::new()), "{text}");
    }
    assert!(renamed_keys("{").is_err());
}
