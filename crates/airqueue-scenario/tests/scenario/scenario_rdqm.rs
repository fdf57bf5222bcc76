//! RDQM in a simulated access point. In a FIFO queue that stays full, shares of the queue equal shares of the departing
//! packets (Little's law: all wait equally long).

use crate::figures::{close, figure, results};
use serde_json::{Value, json};

/// An access point with two flows that each offer twice what the cell carries. The limits are reached and not exceeded:
/// each flow has as many packets in the queue as its limit.
fn access_point(limit: &str, queue: Value, flows: [Value; 2]) -> Value {
    let mut scenario = json!({
        "duration": "30 s", "warm_up": "5 s",
        "phy": {"standard": "802.11b", "rate": "11 Mb/s", "control_rate": "2 Mb/s"},
        "queue": {"discipline": "rdqm", "limit": limit, "rdqm": {"beyond_limit": false}},
        "stations": [{"name": "ap"}, {"name": "near"}, {"name": "far", "rate": "1 Mb/s"}],
        "flows": [
            {"name": "a", "from": "ap", "to": "near", "source": "poisson", "rate": "12 Mb/s"},
            {"name": "b", "from": "ap", "to": "near", "source": "poisson", "rate": "12 Mb/s"},
        ],
    });
    let add = |table: &mut Value, keys: Value| {
        table.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    };
    add(&mut scenario["queue"]["rdqm"], queue);
    for (at, keys) in flows.into_iter().enumerate() {
        add(&mut scenario["flows"][at], keys);
    }
    scenario
}

/// Throughput of flow a over that of flow b, and the mean delay of b.
fn ratio(scenario: &Value) -> (f64, f64) {
    let results = results(scenario, 1);
    let of = |flow, name| figure(&results, "flows", flow, name);
    let ratio = of("a", "throughput_bps") / of("b", "throughput_bps");
    (ratio, of("b", "delay_mean_s"))
}

#[test]
fn shares_of_the_queue_are_shares_of_the_throughput() {
    // Three times the round-trip time, at one rate.
    let rtts = || [json!({"rdqm_rtt": "150 ms"}), json!({"rdqm_rtt": "50 ms"})];
    close(ratio(&access_point("80 packets", json!({}), rtts())).0, 3.0, 0.03);
    // Equal round-trip times, 11 times the rate; in the earlier version of RDQM the shares are equal.
    let rates = || [json!({"rdqm_rtt": "90 ms"}), json!({"rdqm_rtt": "90 ms", "to": "far"})];
    close(ratio(&access_point("120 packets", json!({}), rates())).0, 11.0, 0.03);
    close(ratio(&access_point("120 packets", json!({"weight": "rtt"}), rates())).0, 1.0, 0.03);
}

/// A legacy flow has an equal share among all flows, and so has a single RDQM flow.
#[test]
fn legacy_flows_have_an_equal_share() {
    for flows in [[json!({}), json!({})], [json!({"rdqm_rtt": "2 s"}), json!({"to": "far"})]] {
        close(ratio(&access_point("80 packets", json!({}), flows)).0, 1.0, 0.03);
    }
}

/// A smoothed round-trip time includes the queue's own delay, which brings the shares closer together.
#[test]
fn smoothed_reports_contain_the_queue() {
    let report = |rtt| json!({"rdqm_rtt": rtt, "rdqm_rtt_kind": "smoothed"});
    let flows = [report("150 ms"), report("50 ms")];
    let (ratio, delay_s) = ratio(&access_point("80 packets", json!({}), flows));
    close(ratio, (0.15 + delay_s) / (0.05 + delay_s), 0.05);
}
