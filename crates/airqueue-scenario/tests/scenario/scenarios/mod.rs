//! Scenarios for tests.

use airqueue_scenario::Scenario;
use serde_json::{Value, json};

/// `scenario` with `value` at `key`, such as `flows[0].size`; `null` removes the key.
pub fn set(mut scenario: Value, key: &str, value: Value) -> Value {
    let pointer = format!("/{}", key.replace(['.', '['], "/").replace(']', ""));
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    let parent = scenario.pointer_mut(parent).unwrap_or_else(|| panic!("{key} has no parent"));
    match (parent, value) {
        (Value::Object(map), Value::Null) => drop(map.remove(last)),
        (Value::Object(map), value) => drop(map.insert(last.to_owned(), value)),
        (Value::Array(list), value) => list[last.parse::<usize>().unwrap()] = value,
        (other, _) => panic!("{key} is in {other}"),
    }
    scenario
}

/// The error of an invalid scenario.
///
/// # Panics
///
/// If the scenario is valid.
pub fn refusal_of(scenario: Value) -> String {
    match Scenario::from_json(&scenario.to_string()) {
        Ok(_) => panic!("not refused: {scenario}"),
        Err(error) => error.to_string(),
    }
}

/// Asserts that the scenario with `value` at `key` is rejected with an error that begins with `start` and contains `part`.
#[track_caller]
pub fn value_refused(scenario: &Value, key: &str, value: Value, start: &str, part: &str) {
    let refusal = refusal_of(set(scenario.clone(), key, value));
    assert!(refusal.starts_with(start), "{refusal:?} does not begin with {start:?}");
    assert!(refusal.contains(part), "{refusal:?} does not say {part:?}");
}

/// Asserts that the scenario with this change alone is rejected with an error that begins with `start` and contains
/// `part`.
#[track_caller]
pub fn change_refused(scenario: &Value, change: Value, start: &str, part: &str) {
    let refusal = refusal_of(set(scenario.clone(), "changes", json!([change])));
    assert!(refusal.starts_with(&format!("{start}: ")), "{refusal:?} is not about {start:?}");
    assert!(refusal.contains(part), "{refusal:?} does not say {part:?}");
}

/// A scenario with most keys.
pub fn full() -> Value {
    json!({
        "behaviour": "standard",
        "duration": "2 s",
        "warm_up": "100 ms",
        "phy": {
            "standard": "802.11g", "preamble": "long", "slot": "long", "rate": "54 Mb/s",
            "control_rate": "24 Mb/s"
        },
        "mac": {
            "access": "edca", "rts_threshold": "1 kB", "short_retry_limit": 7, "long_retry_limit": 4,
            "protection": "cts_to_self", "protection_rate": "11 Mb/s",
            "edca": {
                "edition": "2016", "role": "station",
                "be": {"aifsn": 3, "cw_min": 15, "cw_max": 1023, "txop": "0 us", "countdown": "edca"},
                "vo": {"txop": "2 packets"}
            }
        },
        "queue": {"limit": "50 packets", "drop_from": "tail", "ring": "2 packets"},
        "medium": {
            "path_loss": {"two_ray": {"frequency": "914 MHz", "antenna_height": "1.5 m"}},
            "thresholds": {"decode": "-64.4 dBm", "sense": "-78.1 dBm", "interfere": "-80 dBm"},
            "noise_figure": "7 dB",
            "capture": {"sinr": {"threshold": "10 dB", "preamble_detection": "4 us"}},
            "errors": {"frame": 0.01}
        },
        "stations": [
            {"name": "ap", "position": ["0 m", "0 m"], "power": "24.5 dBm",
             "mac": {"edca": {"role": "access_point"}}, "queue": {"limit": "75 kB"}},
            {"name": "sta", "count": 3, "circle": "10 m", "rate": "24 Mb/s",
             "queue": {"discipline": "codel", "codel": {"target": "20 ms", "interval": "100 ms",
                "mtu": "1514 B", "ecn": true, "ce_threshold": "1 ms"}}},
            {"name": "far", "count": 2, "position": ["400 m", "0 m"], "step": ["5 m", "0 m"],
             "queue": {"discipline": "fq_codel", "fq_codel": {"flows": 64, "quantum": "300 B",
                "drop_batch": "8 packets"}}},
            {"name": "old", "position": ["20 m", "0 m"], "mac": {"access": "dcf", "dcf": {"cw_min": 31}},
             "queue": {"discipline": "red", "red": {"min": "15 kB", "max": "45 kB", "probability": 0.1,
                "burst": "30 packets", "gentle": true, "rate": "6 Mb/s"}}}
        ],
        "flows": [
            {"from": "sta", "to": "ap", "category": "vo", "size": "200 B"},
            {"name": "down", "from": "ap", "to": "sta", "source": "poisson", "rate": "1 Mb/s",
             "phy_rate": "12 Mb/s", "start": "1 ms", "stop": "1.5 s"},
            {"name": "legacy", "from": "old", "to": "ap", "source": "cbr", "packet_rate": "50 packets/s"},
            {"name": "there", "from": "far1", "to": "far2"}
        ]
    })
}

/// A scenario with hosts on wired links, flows over several hops and TCP, and with most of their keys.
pub fn networked() -> Value {
    json!({
        "duration": "1 s",
        "warm_up": "10 ms",
        "phy": {"standard": "802.11g", "rate": "54 Mb/s"},
        "mac": {"access": "edca"},
        "medium": {"ranges": {"decode": "250 m", "sense": "550 m"}},
        "stations": [
            {"name": "ap", "position": ["0 m", "0 m"], "queue": {"limit": "75 kB"}},
            {"name": "sta", "count": 2, "circle": "10 m", "queue": {"discipline": "rdqm"}},
            {"name": "lost", "position": ["400 m", "0 m"]},
            {"name": "old", "position": ["20 m", "0 m"], "mac": {"access": "dcf"},
             "queue": {"discipline": "drr", "drr": {"queue_per": "link"}}}
        ],
        "hosts": [
            {"name": "server", "link": "ap", "rate": "100 Mb/s", "delay": "5 ms",
             "queue": {"limit": "100 packets", "ring": "2 packets"}},
            {"name": "far", "count": 2, "link": "server", "delay": ["10 ms", "20 ms"]},
            {"name": "near", "link": "ap", "delay": "1 ms"}
        ],
        "tcp": {"window": "40 packets", "ack_every": 2, "min_rto": "300 ms", "ack_delay": "100 ms"},
        "flows": [
            {"name": "down", "from": "server", "to": "sta", "source": "tcp", "ack_category": "vi",
             "rdqm": true, "rdqm_rtt_kind": "smoothed", "tcp": {"congestion": "cubic", "pacing": true}},
            {"name": "page", "from": "far1", "to": "sta1", "source": "web", "start": "1 ms",
             "stop": "900 ms", "tcp": {"stack": "ns2", "initial_window": "4 packets", "mss": "500 B"},
             "web": {"file_size": "20 kB", "distribution": "pareto", "shape": 1.5, "think_time": "10 ms"}},
            {"name": "up", "from": "sta2", "to": "far2", "source": "tcp", "transfer_size": "100 kB",
             "size": "1000 B", "ecn": true, "tcp": {"stack": "linux", "ack_every": "dynamic", "pacing": "tcp-ap-code"}},
            {"name": "relayed", "from": "sta1", "to": "sta2", "via": ["ap"], "source": "poisson",
             "rate": "200 kb/s", "size": "200 B", "category": "vo"},
            {"name": "wired", "from": "far1", "to": "near", "source": "tcp", "transfer_size": "1 MB"},
            {"name": "stream", "from": "near", "to": "server", "source": "cbr", "rate": "1 Mb/s"},
            {"name": "probe", "from": "server", "to": "old", "source": "external"},
            {"name": "legacy", "from": "old", "to": "near", "size": "500 B"}
        ],
        "changes": [
            {"at": "300 ms", "link": ["sta1", "ap"], "rate": "24 Mb/s"},
            {"at": "400 ms", "station": "sta", "queue_limit": "20 packets"},
            {"at": "500 ms", "station": "old", "flow": "legacy", "queue_limit": "3 packets"}
        ]
    })
}

/// A mesh with computed routes, and with most of its keys.
pub fn mesh() -> Value {
    json!({
        "duration": "1 s",
        "warm_up": "10 ms",
        "phy": {"standard": "802.11b", "rate": "11 Mb/s"},
        "medium": {"ranges": {"decode": "250 m", "sense": "550 m"}, "errors": {"frame": 0.01}},
        "routing": {"metric": "airtime", "connected": true},
        "stations": [
            {"name": "gw", "position": ["-150 m", "0 m"]},
            {"name": "node", "count": 4, "step": ["200 m", "0 m"]},
            {"name": "leaf", "count": 3, "position": ["0 m", "100 m"],
             "random": {"area": ["100 m", "50 m"], "min_distance": "5 m", "seed": 3}},
            {"name": "ring", "count": 3, "position": ["600 m", "0 m"], "random": {"radius": "100 m"}}
        ],
        "links": [
            {"between": ["gw", "node"], "rate": "5.5 Mb/s"},
            {"between": ["leaf", "leaf"], "rate": "2 Mb/s"},
            {"between": ["node1", "node2"], "rate": "1 Mb/s"}
        ],
        "hosts": [{"name": "server", "link": "gw", "rate": "100 Mb/s", "delay": "5 ms"}],
        "flows": [
            {"name": "up", "from": "node4", "to": "server", "source": "tcp"},
            {"name": "down", "from": "server", "to": "leaf", "source": "cbr", "rate": "50 kb/s"},
            {"name": "by_hand", "from": "node2", "to": "gw", "via": ["node1"], "phy_rate": "2 Mb/s",
             "source": "poisson", "rate": "50 kb/s"},
            {"name": "found", "from": "ring", "to": "leaf1", "rate_control": "minstrel", "source": "poisson",
             "rate": "10 kb/s", "size": "200 B"}
        ]
    })
}
