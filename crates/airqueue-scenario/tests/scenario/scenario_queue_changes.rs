//! Queues that other queues replace while the network runs.

use crate::figures::{close, figure, results, up_to};
use crate::scenarios::{change_refused, refusal_of, set};
use airqueue_core::Span;
use serde_json::{Value, json};

/// An access point with a long FIFO, which a download fills, and a sparse flow beside.
fn bloated() -> Value {
    json!({
        "duration": "20 s",
        "warm_up": "0 s",
        "phy": {"standard": "802.11n", "rate": "HT-MCS0"},
        "stations": [
            {"name": "ap", "queue": {"limit": "1000 packets"}},
            {"name": "phone"},
            {"name": "tablet"},
        ],
        "flows": [
            {"name": "flood", "from": "ap", "to": "tablet", "source": "cbr", "rate": "10 Mb/s", "stop": "19 s"},
            {"name": "sparse", "from": "ap", "to": "phone", "source": "cbr", "rate": "50 kb/s", "size": "200 B", "stop": "19 s"},
        ],
    })
}

fn replaced(at: &str, queue: Value) -> Value {
    set(bloated(), "changes", json!([{"at": at, "station": "ap", "queue": queue}]))
}

/// Every discipline takes over from every other with packets waiting, and no packet is lost track of.
#[test]
fn any_discipline_replaces_any_other() {
    let schema: Value = serde_json::from_str(&airqueue_scenario::schema()).unwrap();
    let words: Vec<&str> = schema["$defs"]["DisciplineName"]["oneOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word["const"].as_str().unwrap())
        .collect();
    assert!(words.len() > 9, "{words:?}");
    for (at, &before) in words.iter().enumerate() {
        for after in [words[(at + 1) % words.len()], words[(at + 5) % words.len()], before] {
            let mut scenario = replaced("3 s", json!({"discipline": after}));
            scenario["changes"].as_array_mut().unwrap().push(
                json!({"at": "4 s", "station": "ap", "queue": {"discipline": before, "ring": "0 packets"}}),
            );
            scenario["stations"][0]["queue"] = json!({"discipline": before});
            scenario["duration"] = json!("26 s");
            let results = results(&scenario, 1);
            for flow in ["flood", "sparse"] {
                let of = |name: &str| figure(&results, "flows", flow, name);
                let met =
                    of("delivered_packets") + of("queue_dropped_packets") + of("given_up_packets");
                assert_eq!(met, of("offered_packets"), "{before} and {after}: {flow}");
                assert!(
                    of("delivered_packets") > 1000.0 || flow == "sparse",
                    "{before} and {after}"
                );
            }
        }
    }
}

/// After the packets of the FIFO have left, delays are those of the new discipline; before, all is as without a change.
#[test]
fn a_new_discipline_has_its_own_delays() {
    let scenario = replaced("5 s", json!("fq_codel"));
    let end = Span::from_secs(5) - Span::from_nanos(1);
    assert_eq!(up_to(&scenario, end), up_to(&bloated(), end));
    let delay = |scenario: Value| {
        let scenario = set(set(scenario, "duration", json!("10 s")), "warm_up", json!("9 s"));
        figure(&results(&scenario, 1), "flows", "sparse", "delay_p50_s")
    };
    let mut described = bloated();
    described["stations"][0]["queue"] = json!("fq_codel");
    let (fifo, dynamic, fq) = (delay(bloated()), delay(scenario), delay(described));
    assert!(fifo > 1.0 && dynamic < 0.1, "{fifo} s and {dynamic} s");
    close(dynamic, fq, 0.2);
}

/// Packets that wait keep their order, and none is dropped, also if the new queue is shorter.
#[test]
fn waiting_packets_leave_first() {
    let mut scenario = replaced("1 s", json!("pfifo:5"));
    scenario["flows"][0]["stop"] = json!("1 s");
    scenario["flows"][1]["start"] = json!("1 s");
    scenario["flows"][1]["stop"] = json!("1.1 s");
    let results = results(&scenario, 1);
    let of = |flow: &str, name: &str| figure(&results, "flows", flow, name);
    // A second of 10 Mb/s, of which some 5 Mb/s have left: hundreds wait.
    assert!(figure(&results, "queues", "ap.be", "length_max_packets") > 200.0);
    assert_eq!(of("flood", "queue_dropped_packets"), 0.0);
    assert_eq!(of("flood", "delivered_packets"), of("flood", "offered_packets"));
    assert!(of("sparse", "delay_mean_s") > 0.2);
    assert_eq!(of("sparse", "delivered_packets"), of("sparse", "offered_packets"));
}

/// Airtime queue limits hold packets back until reports of earlier packets: those of the queue before do not count, and
/// those of the new queue do.
#[test]
fn airtime_limits_survive_a_replacement() {
    for before in ["fq_codel", "mac80211"] {
        let mut scenario = replaced("5 s", json!("mac80211"));
        scenario["stations"][0]["queue"] = json!(before);
        let mut described = bloated();
        described["stations"][0]["queue"] = json!("mac80211");
        let rate =
            |scenario: &Value| figure(&results(scenario, 1), "flows", "flood", "throughput_bps");
        close(rate(&scenario), rate(&described), 0.05);
    }
}

/// TCP fills the new queue, CAKE knows the hosts of its flows, and filters acknowledgements by their headers.
#[test]
fn hosts_and_headers_are_known_to_the_new_queue() {
    let mut scenario = json!({
        "duration": "10 s",
        "warm_up": "2 s",
        "phy": {"standard": "802.11n", "rate": "HT-MCS7"},
        "stations": [{"name": "ap"}, {"name": "phone"}],
        "flows": [
            {"name": "up", "from": "ap", "to": "phone", "source": "tcp"},
            {"name": "beside", "from": "phone", "to": "ap", "source": "cbr", "rate": "60 Mb/s"},
        ],
        "changes": [{"at": "1 s", "station": "phone", "queue": {"discipline": "cake", "cake": {"ack_filter": "ack-filter-aggressive"}}}],
    });
    let filtered = |scenario: &Value| {
        figure(&results(scenario, 1), "queues", "phone.be", "dropped_filtered_packets")
    };
    assert!(filtered(&scenario) > 0.0);
    scenario["changes"] = json!([]);
    assert_eq!(filtered(&scenario), 0.0);
}

#[test]
fn what_is_wrong_is_refused() {
    let queue = |key: &str, value: Value| {
        set(json!({"at": "1 s", "station": "ap", "queue": {"discipline": "fq_codel"}}), key, value)
    };
    let refused = |change: Value, start: &str, part: &str| {
        change_refused(&bloated(), change, start, part);
    };
    refused(queue("queue", json!("nothing")), "changes[0].queue", "nothing");
    refused(queue("queue.red", json!({})), "changes[0].queue.red", "fq_codel");
    refused(queue("queue.limit", json!("0 packets")), "changes[0].queue.limit", "at least 1");
    refused(queue("queue.link_layer", json!("20 B")), "changes[0].queue.link_layer", "stays");
    refused(queue("queue_limit", json!("9 packets")), "changes[0]", "a limit of its own");
    refused(queue("station", Value::Null), "changes[0]", "`station` is needed");
    refused(queue("queue.limit", json!("1000 B")), "changes[0].queue", "need room for 1500");
    refused(queue("flow", json!("flood")), "changes[0]", "only `queue_limit` changes");
    let mut scenario = bloated();
    scenario["stations"][0]["queue"] = json!({"discipline": "drr"});
    scenario["changes"] = json!([
        {"at": "2 s", "station": "ap", "flow": "flood", "queue_limit": "9 packets"},
        queue("at", json!("1 s")),
    ]);
    let refusal = refusal_of(scenario);
    assert!(refusal.contains("changes[0].flow: another change replaces the queue"), "{refusal}");
}
