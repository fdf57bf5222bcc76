//! Invalid wired links and TCP settings: every error names the key and the problem.

use crate::scenarios::{networked, refusal_of, set};
use airqueue_scenario::Scenario;
use serde_json::{Value, json};

/// Asserts that the scenario with `value` at `key` is rejected with an error that begins with `start` and contains
/// `part`.
#[track_caller]
fn refused(key: &str, value: Value, start: &str, part: &str) {
    refused_with(&[(key, value)], start, part);
}

#[track_caller]
fn refused_with(changes: &[(&str, Value)], start: &str, part: &str) {
    let changed = changes
        .iter()
        .fold(networked(), |scenario, (key, value)| set(scenario, key, value.clone()));
    let refusal = refusal_of(changed);
    assert!(refusal.starts_with(&format!("{start}: ")), "{refusal:?} is not about {start:?}");
    assert!(refusal.contains(part), "{refusal:?} does not say {part:?}");
}

#[track_caller]
fn passes(changes: &[(&str, Value)]) {
    let changed = changes
        .iter()
        .fold(networked(), |scenario, (key, value)| set(scenario, key, value.clone()));
    if let Err(error) = Scenario::from_json(&changed.to_string()) {
        panic!("{changes:?}: {error}");
    }
}

fn requirements_of_bbr_are_checked() {
    let bbr = ("flows[2].tcp.congestion", json!("bbr"));
    let with = |key: &'static str, value: Value| [bbr.clone(), (key, value)];
    for key in ["tcp.sack", "flows[2].tcp.sack"] {
        refused_with(&with(key, json!(false)), "flows[2].tcp.congestion", "give sack = true");
    }
    refused_with(&with("flows[2].tcp.stack", json!("ns2")), "flows[2].tcp.congestion", "has none");
    for pacing in [json!(false), json!("tcp-ap")] {
        let key = "flows[2].tcp.pacing";
        refused_with(&with(key, pacing), key, "BBR paces by itself");
    }
    let paced = ("flows[2].tcp.pacing", json!(true));
    let like = |name: &str| ("flows[2].tcp.stack", json!(name));
    passes(&[bbr.clone(), paced.clone()]);
    passes(&[bbr.clone(), paced.clone(), like("standard")]);
    passes(&[bbr, paced, like("ns2"), ("flows[2].tcp.sack", json!(true))]);
}

#[test]
fn the_mtu_of_a_wired_link_limits_flows_and_has_limits() {
    for wrong in ["1279 B", "1501 B", "0 B", "9000 B"] {
        refused("hosts[0].mtu", json!(wrong), "hosts[0].mtu", "expected 1280 to 1500 B");
    }
    let scenario = |mtu: &str, flow: Value| {
        json!({
            "phy": {"standard": "802.11g"},
            "stations": [{"name": "ap"}, {"name": "sta"}],
            "hosts": [{"name": "server", "link": "ap", "delay": "1 ms", "mtu": mtu}],
            "flows": [flow],
        })
    };
    let cbr = |size: &str| json!({"from": "server", "to": "sta", "rate": "1 Mb/s", "size": size, "source": "cbr"});
    let download = json!({"from": "server", "to": "sta", "source": "tcp"});
    let read = |scenario: &Value| Scenario::from_json(&scenario.to_string());
    assert!(read(&scenario("1492 B", cbr("1492 B"))).is_ok());
    assert!(read(&scenario("1500 B", download.clone())).is_ok());
    assert!(read(&scenario("1492 B", set(download.clone(), "size", json!("1492 B")))).is_ok());
    for (flow, size) in [(cbr("1493 B"), 1493), (download, 1500)] {
        let refusal = refusal_of(scenario("1492 B", flow));
        assert!(refusal.starts_with("flows[0].size: "), "{refusal}");
        let part = format!("at most 1492 B, and the flow has packets of {size} B");
        assert!(refusal.contains(&part), "{refusal}");
    }
}

/// The scenario with only the flow at an index.
fn alone(flow: usize, changes: &[(&str, Value)]) -> Value {
    // Changes concern the other flows.
    let scenario = set(networked(), "changes", json!([]));
    let mut flow = scenario["flows"][flow].clone();
    for (key, value) in changes {
        flow = set(flow, key, value.clone());
    }
    set(scenario, "flows", json!([flow]))
}

#[track_caller]
fn refused_alone(flow: usize, changes: &[(&str, Value)], start: &str, part: &str) {
    let refusal = refusal_of(alone(flow, changes));
    assert!(refusal.starts_with(&format!("{start}: ")), "{refusal:?} is not about {start:?}");
    assert!(refusal.contains(part), "{refusal:?} does not say {part:?}");
}

#[test]
fn wired_links_lead_to_earlier_nodes() {
    for nobody in ["nobody", "server", "far", "near"] {
        refused("hosts[0].link", json!(nobody), "hosts[0].link", &format!("{nobody:?}"));
    }
    refused("hosts[2].link", json!("far"), "hosts[2].link", "group; name one of its members");
    refused("hosts[2].link", json!("sta"), "hosts[2].link", "group; name one of its members");
    passes(&[("hosts[2].link", json!("far2"))]);
    refused("hosts[0].name", json!("ap"), "hosts[0].name", "\"ap\"");
    refused("hosts[2].name", json!("sta1"), "hosts[2].name", "\"sta1\"");
    refused("hosts[2].name", json!("far2"), "hosts[2].name", "\"far2\"");
    refused("hosts[0].name", json!("a b"), "hosts[0].name", "letters");
    refused("hosts[1].count", json!(0), "hosts[1].count", "at least 1");
    refused("hosts[1].count", json!(100_001), "hosts[1].count", "more than 100000");
    refused("hosts[0].link", Value::Null, "hosts[0]", "missing key `link`");
    refused("hosts[0].speed", json!("1 Mb/s"), "hosts[0].speed", "unknown key");
}

#[test]
fn delays_of_wired_links_are_checked() {
    refused("hosts[0].delay", json!("-5 ms"), "hosts[0].delay", "\"-5 ms\" is not");
    refused("hosts[1].delay[1]", json!("-5 ms"), "hosts[1].delay[1]", "\"-5 ms\" is not");
    refused("hosts[0].delay", json!("5"), "hosts[0].delay", "has no unit");
    refused("hosts[0].delay", json!(5), "hosts[0].delay", "such as \"120 ms\"");
    refused("hosts[0].delay", json!("5 m"), "hosts[0].delay", "the unit \"m\"");
    refused("hosts[0].delay", json!("2e9 s"), "hosts[0].delay", "at most 1e9 s");
    for delays in [json!([]), json!(["1 ms"]), json!(["1 ms", "2 ms", "3 ms"])] {
        refused("hosts[1].delay", delays, "hosts[1].delay", "each of 2 wired links");
    }
    passes(&[("hosts[0].delay", json!(["5 ms"]))]);
}

#[test]
fn queues_of_wires_are_queues_for_a_rate() {
    refused("hosts[0].rate", Value::Null, "hosts[0].queue", "give rate too");
    refused("hosts[0].rate", json!("0 Mb/s"), "hosts[0].rate", "from 1 b/s");
    let queue = "hosts[0].queue";
    let limit = "hosts[0].queue.limit";
    refused(limit, json!("0 packets"), limit, "at least 1 packet");
    refused(limit, json!("0 B"), limit, "1 to 1e10");
    refused(limit, json!("-1 packets"), limit, "not a limit");
    // A packet above the queue's limit can never be sent: 1500 B of the first flow, and 1400 B of another.
    refused(limit, json!("1499 B"), "flows[0]", "needs room for 1500");
    passes(&[(limit, json!("1500 B"))]);
    let by = |what: &str| json!({"discipline": "drr", "drr": {"queue_per": what}});
    refused(queue, by("link"), "hosts[0].queue.drr.queue_per", "one link");
    passes(&[(queue, by("flow"))]);
    let framed = json!({"limit": "1500 B", "link_layer": "14 B"});
    refused(queue, framed, "flows[0]", "needs room for 1514");
    let codel = json!({"codel": {}});
    refused(queue, codel, "hosts[0].queue.codel", "\"droptail\"");
    // The queue would wait for reports of airtime for ever.
    let wireless = json!({"discipline": "mac80211"});
    refused(queue, wireless, "hosts[0].queue.discipline", "airtime");
}

#[test]
fn memory_for_queues_of_wires_is_bounded() {
    let many = |queue: Value| json!({"name": "many", "count": 10_000, "link": "ap", "rate": "1 Mb/s", "queue": queue});
    refused("hosts[2]", many(json!({"ring": "1000 packets"})), "hosts[2].queue.ring", "together");
    let hashed = many(json!({"discipline": "fq_codel"}));
    refused("hosts[2]", hashed, "hosts[2].queue.fq_codel.flows", "together");
}

#[test]
fn flows_have_two_ends_and_a_route_between_them() {
    refused(
        "flows[0].from",
        json!("servr"),
        "flows[0].from",
        "no station, host or group \"servr\"",
    );
    refused("flows[0].to", json!("nobody"), "flows[0].to", "no station, host or group \"nobody\"");
    refused("flows[5].to", json!("near"), "flows[5].to", "would send to itself");
    refused("flows[3].to", json!("sta1"), "flows[3].to", "would send to itself");
    refused("flows[0].to", json!("lost"), "flows[0].to", "out of reach");
    refused("flows[2].from", json!("lost"), "flows[2].to", "out of reach");
    refused("flows[3].via", json!(["lost"]), "flows[3].via", "out of reach");
    refused("flows[3].via", json!(["sta"]), "flows[3].via[0]", "group; name one of its members");
    refused("flows[3].via", json!(["near"]), "flows[3].via[0]", "\"near\"");
    refused("flows[3].via", json!(["sta1"]), "flows[3].via[0]", "\"sta1\" twice");
    refused("flows[3].via", json!(["sta2"]), "flows[3].via[0]", "\"sta2\" twice");
    refused("flows[5].via", json!(["sta1"]), "flows[5].via", "wired links only");
    refused("flows[4].via", json!(["ap"]), "flows[4].via", "wired links only");
}

#[test]
fn sources_in_front_of_wires_are_checked() {
    let saturated = [("source", json!("saturated")), ("rate", Value::Null)];
    refused_alone(5, &saturated, "flows[0].source", "a saturated source");
    refused("flows[5].size", json!("10 B"), "flows[5].size", "20 to 65535");
    refused("flows[5].size", json!("70 kB"), "flows[5].size", "20 to 65535");
    let fast = [("flows[5].size", json!("100 B")), ("flows[5].rate", json!("1e12 b/s"))];
    refused_with(&fast, "flows[5]", "more than one packet a nanosecond");
}

#[test]
fn keys_of_tcp_are_for_tcp() {
    for (key, value) in [
        ("tcp", json!({})),
        ("web", json!({})),
        ("page", json!({})),
        ("transfer_size", json!("1 MB")),
        ("ack_category", json!("vi")),
        ("rdqm", json!(true)),
    ] {
        let key = format!("flows[3].{key}");
        refused(&key, value, &key, "TCP does not govern the flow");
    }
    refused("flows[0].rate", json!("1 Mb/s"), "flows[0].rate", "TCP finds its rate");
    let packets = json!("10 packets/s");
    refused("flows[1].packet_rate", packets, "flows[1].packet_rate", "TCP finds its rate");
    refused("flows[1].transfer_size", json!("1 MB"), "flows[1].transfer_size", "flows.web");
    refused("flows[0].web", json!({}), "flows[0].web", "source = \"web\"");
    refused("flows[2].stop", json!("0 s"), "flows[2].stop", "after its start");
    let late = [("flows[2].stop", json!("5 s")), ("flows[2].start_spread", json!("5 s"))];
    refused_with(&late, "flows[2].start_spread", "must not begin after it stops");
}

#[test]
fn invalid_tcp_settings_are_refused() {
    for place in ["tcp", "flows[0].tcp"] {
        let key = |name: &str| format!("{place}.{name}");
        let wrong = |name: &str, value: Value, part: &str| {
            refused(&key(name), value, &key(name), part);
        };
        wrong("window", json!("0 packets"), "at least 1 packet");
        wrong("window", json!("10 kB"), "the unit packets");
        wrong("initial_window", json!("0 packets"), "at least 1 packet");
        wrong("ack_every", json!(0), "at least 1");
        wrong("ack_every", json!("all"), "\"dynamic\"");
        wrong("ack_every", json!(-1), "at least 1");
        wrong("ack_delay", json!("0 ms"), "expected more");
        wrong("min_rto", json!("0 s"), "expected more");
        wrong("min_rto", json!("-1 s"), "not a length of time");
        wrong("min_rto", json!("1 h"), "no more than the longest");
        wrong("mss", json!("0 B"), "expected 1 B to");
        wrong("mss", json!("65496 B"), "expected 1 B to");
        wrong("congestion", json!("vegas"), "`cubic`");
        wrong("congestion", json!("bbr2"), "`bbr`");
        wrong("stack", json!("ns3"), "`linux`");
        wrong("cwnd", json!("1 packet"), "unknown key");
    }
    requirements_of_bbr_are_checked();
    refused("flows[2].tcp.mss", json!("500 B"), "flows[2].tcp.mss", "the size of packets is given");
    refused("tcp.mss", json!("500 B"), "tcp.mss", "the size of packets is given");
    // 40 bytes of headers, and 12 of timestamps.
    refused("flows[2].size", json!("52 B"), "flows[2].size", "more than 52 B");
    passes(&[("flows[2].size", json!("53 B"))]);
    refused("flows[4].size", json!("65536 B"), "flows[4].size", "at most 65535 B");
    refused("flows[0].size", json!("5 kB"), "flows[0].size", "IP packet of 20 to");
}

#[test]
fn sizes_and_pauses_of_files_are_checked() {
    let key = |name: &str| format!("flows[1].web.{name}");
    let wrong = |name: &str, value: Value, part: &str| refused(&key(name), value, &key(name), part);
    wrong("shape", json!(1), "1.001 to 50");
    wrong("shape", json!(51), "1.001 to 50");
    wrong("shape", json!(-2), "1.001 to 50");
    wrong("file_size", json!("0 B"), "1 to 1e15");
    wrong("file_size", json!("2e15 B"), "1 to 1e15");
    wrong("think_time", json!("-1 s"), "not a length of time");
    wrong("distribution", json!("uniform"), "`pareto`");
    refused(
        &key("distribution"),
        json!("constant"),
        &key("shape"),
        "only distribution = \"pareto\"",
    );
    refused("flows[2].transfer_size", json!("0 B"), "flows[2].transfer_size", "1 to 1e15");
    refused("flows[2].transfer_size", json!("1.5 B"), "flows[2].transfer_size", "1 to 1e15");
}

#[test]
fn reports_of_receivers_are_checked() {
    let blind = json!({"timestamps": false});
    refused("flows[0].tcp", blind, "flows[0].rdqm", "timestamps");
    refused("flows[0].tcp", json!({"stack": "ns2"}), "flows[0].rdqm", "timestamps");
    refused("flows[2].rdqm", json!(true), "flows[2].rdqm", "\"far2\" has no radio");
    refused("flows[2].rdqm_rtt", json!("20 ms"), "flows[2].rdqm_rtt", "\"far2\" has no radio");
    refused("flows[7].rdqm_rtt", json!("20 ms"), "flows[7].rdqm_rtt", "\"near\" has no radio");
    refused("flows[0].rdqm_rtt", json!("20 ms"), "flows[0].rdqm_rtt", "leave one");
    refused("flows[2].rdqm_rtt_kind", json!("base"), "flows[2].rdqm_rtt_kind", "reports nothing");
}

#[test]
fn keys_of_the_air_need_a_hop_over_the_air() {
    for (key, value) in [
        ("category", json!("vi")),
        ("ack_category", json!("vi")),
        ("phy_rate", json!("12 Mb/s")),
        ("rate_control", json!("arf")),
    ] {
        let key = format!("flows[4].{key}");
        refused(&key, value, &key, "wired links only");
    }
    // The only station that sends the flow's packets has no categories.
    let upload = [("source", json!("tcp")), ("category", json!("vi"))];
    refused_alone(7, &[upload[1].clone()], "flows[0].category", "\"old\" has DCF");
    let download = [("to", json!("old")), ("rdqm", Value::Null), ("rdqm_rtt_kind", Value::Null)];
    refused_alone(0, &download, "flows[0].ack_category", "\"old\" has DCF");
    // The access point has categories, and so have TCP's acknowledgements from the access point.
    let classed = [("ack_category", Value::Null), ("category", json!("vi"))];
    let scenario = alone(0, &[&download[..], &classed[..]].concat());
    Scenario::from_json(&scenario.to_string()).unwrap();
    Scenario::from_json(&alone(7, &upload).to_string()).unwrap();
}

/// The window opens with every acknowledgement, and acknowledgements take no time.
#[test]
fn something_must_limit_the_pace_of_tcp() {
    let no_rate = [("hosts[0].queue", Value::Null), ("hosts[0].rate", Value::Null)];
    passes(&no_rate);
    let unlimited = [&no_rate[..], &[("tcp.window", Value::Null)]].concat();
    refused_with(&unlimited, "flows[4].source", "has no rate");
    let delays = ["hosts[0].delay", "hosts[1].delay", "hosts[2].delay"];
    let at_once = [&no_rate[..], &delays.map(|key| (key, Value::Null))].concat();
    refused_with(&at_once, "flows[4].source", "takes no time");
}
