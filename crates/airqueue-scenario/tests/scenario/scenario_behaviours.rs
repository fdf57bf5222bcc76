//! What simulators set where a scenario sets nothing, and what the limits of their queues count.

use crate::figures::{figure, results};
use crate::scenarios::{refusal_of, set};
use airqueue_core::Seed;
use airqueue_scenario::Scenario;
use serde_json::{Value, json};

/// A station that is offered twice as much as the air carries.
fn overloaded(behaviour: &str, standard: &str, rate: &str, queue: &Value) -> Value {
    json!({
        "behaviour": behaviour, "duration": "3 s", "warm_up": "1 s",
        "phy": {"standard": standard},
        "queue": queue,
        "stations": [{"name": "ap"}, {"name": "sta"}],
        "flows": [{"from": "sta", "to": "ap", "source": "poisson", "rate": rate}],
    })
}

/// With DCF the MAC holds one packet: a queue that counts this packet has room for N - 1 others.
#[test]
fn limits_count_what_the_simulator_counts() {
    let cases = [
        ("standard", json!({"limit": "7 packets"}), 7.0),
        ("ns2", json!({"limit": "7 packets"}), 6.0),
        ("ns3", json!({"limit": "7 packets"}), 6.0),
        ("standard", json!({}), 50.0),
        ("ns2", json!({}), 49.0),
        ("ns3", json!({}), 499.0),
        // A ring, and a queue that is no FIFO, are apart from the MAC.
        ("ns2", json!({"limit": "7 packets", "ring": "3 packets"}), 10.0),
        ("ns3", json!({"discipline": "codel", "limit": "7 packets"}), 7.0),
        // Eight packets of 1500 bytes and a bit.
        ("ns2", json!({"limit": "12500 B"}), 8.0),
    ];
    for (behaviour, queue, longest) in cases {
        let results = results(&overloaded(behaviour, "802.11b", "20 Mb/s", &queue), 1);
        let found = figure(&results, "queues", "sta", "length_max_packets");
        assert_eq!(found, longest, "{behaviour} {queue}");
    }
}

/// The packets of an A-MPDU count until they are acknowledged: ten packets at the station, wherever they are.
#[test]
fn aggregated_packets_count_until_they_are_acknowledged() {
    let inside = |behaviour: &str| {
        let scenario =
            overloaded(behaviour, "802.11n", "300 Mb/s", &json!({"limit": "10 packets"}));
        let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
        let mut run = scenario.start(Seed(3)).unwrap();
        let mut most = 0;
        for _ in 0..2000 {
            run.advance(airqueue_core::Span::from_micros(501));
            let results: Value = serde_json::from_str(&run.results()).unwrap();
            let flow = &results["flows"]["sta->ap"];
            most = most.max(flow["in_transit_packets"].as_u64().unwrap());
        }
        most
    };
    assert_eq!(inside("ns3"), 10);
    assert!(inside("standard") > 10, "aggregates are beside the queue");
}

/// A saturated source keeps a queue full that counts the MAC's packets, and is not refused packet after packet.
#[test]
fn saturated_sources_wait_for_room() {
    let mut scenario = overloaded("ns3", "802.11n", "1 Mb/s", &json!({"limit": "4 packets"}));
    scenario["flows"] = json!([{"from": "sta", "to": "ap"}]);
    let results = results(&scenario, 1);
    assert_eq!(figure(&results, "queues", "sta.be", "dropped_packets"), 0.0);
    let frame = figure(&results, "stations", "sta", "mpdus_per_frame");
    assert!((3.0..=4.0).contains(&frame), "{frame}");
}

#[test]
fn limits_that_let_nothing_pass_are_refused() {
    let ns2 = overloaded("ns2", "802.11b", "1 Mb/s", &json!({"limit": "1 packet"}));
    let refusal = refusal_of(ns2.clone());
    assert!(refusal.starts_with("queue.limit: found 1, expected at least 2 packets"), "{refusal}");
    let own = set(set(ns2, "queue", json!({})), "stations[1].queue", json!({"limit": "1 packet"}));
    assert!(refusal_of(own.clone()).starts_with("stations[1].queue.limit: "));
    let change = json!([{"at": "1 s", "station": "sta", "queue_limit": "1 packet"}]);
    let changed = set(set(own, "stations[1].queue", json!({})), "changes", change);
    assert!(refusal_of(changed.clone()).starts_with("changes[0].queue_limit: "));
    Scenario::from_json(&set(changed, "behaviour", json!("ns3")).to_string()).unwrap();
}

/// A limit that changes while the network runs counts as the queue does.
#[test]
fn changed_limits_count_alike() {
    for (behaviour, longest) in [("standard", 5.0), ("ns2", 4.0), ("ns3", 4.0)] {
        let mut scenario = overloaded(behaviour, "802.11b", "20 Mb/s", &json!({}));
        scenario["changes"] = json!([{"at": "0 s", "station": "sta", "queue_limit": "5 packets"}]);
        let found = figure(&results(&scenario, 1), "queues", "sta", "length_max_packets");
        assert_eq!(found, longest, "{behaviour}");
    }
}

/// Where received power is -82 dBm and -101 dBm: 10^((16.0206 - 46.6777 + 82) / 30) m and 10^((16.0206 - 46.6777 + 101) / 30) m.
#[test]
fn ns3s_radio_reaches_as_far_as_ns3s() {
    let apart = |metres: f64, behaviour: &str| {
        json!({
            "behaviour": behaviour, "duration": "1 s", "phy": {"standard": "802.11a", "rate": "6 Mb/s"},
            "medium": {"path_loss": "ns3"},
            "stations": [
                {"name": "a", "position": ["0 m", "0 m"]},
                {"name": "b", "position": [format!("{metres} m"), "0 m"]},
            ],
            "flows": [{"from": "a", "to": "b"}],
        })
    };
    let accepted = |metres| Scenario::from_json(&apart(metres, "ns3").to_string());
    let reach = f64::powf(10.0, (16.0206 - 46.6777 + 82.0) / 30.0);
    accepted(reach * 0.999).unwrap();
    let refusal = accepted(reach * 1.001).unwrap_err().to_string();
    assert!(refusal.contains("decode"), "{refusal}");
    // The reach of interference, from the network that is built.
    let heard = |metres: f64| {
        let near = json!({"name": "c", "position": ["10 m", "0 m"]});
        let mut scenario = apart(metres, "standard");
        scenario["stations"].as_array_mut().unwrap().push(near);
        scenario["flows"] = json!([{"from": "a", "to": "c"}]);
        let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
        let [a, b] = [0, 1].map(airqueue_wifi::medium::StationId);
        scenario.wlan().reach.signal(a, b).is_some()
    };
    let disturbs = f64::powf(10.0, (16.0206 - 46.6777 + 101.0) / 30.0);
    assert!(heard(disturbs * 0.999) && !heard(disturbs * 1.001));
    // A station's own power counts before ns-3's.
    let loud = set(apart(reach * 1.5, "ns3"), "stations[0].power", json!("22 dBm"));
    let loud = set(loud, "stations[1].power", json!("22 dBm"));
    Scenario::from_json(&loud.to_string()).unwrap();
}
