//! Web pages of several objects over connections side by side, held against closed forms and against `web`. Tolerances were
//! stated before the first run.

use crate::figures::{close, figure, results};
use crate::scenarios::{set, value_refused};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Half a round trip: the delays of two wires.
const ONE_WAY_MS: u64 = 20;

/// A browser behind two wires with a delay alone, whose segments have 1000 bytes of data.
fn over_wires(page: Value, tcp: Value) -> Value {
    json!({
        "duration": "100 s",
        "warm_up": "0 s",
        "phy": {"standard": "802.11b"},
        "stations": [{"name": "ap"}],
        "hosts": [{"name": "server", "link": "ap", "delay": "5 ms"},
                  {"name": "user", "link": "ap", "delay": format!("{} ms", ONE_WAY_MS - 5)}],
        "tcp": tcp,
        "flows": [{"name": "user", "from": "server", "to": "user", "source": "page", "page": page}]
    })
}

fn one_segment_each(objects: u32, connections: u32, parse_ms: u64) -> Value {
    json!({"document_size": "1000 B", "objects": objects, "object_size": "1000 B",
           "connections": connections, "parse_time": format!("{parse_ms} ms"),
           "think_time": "500 ms", "think_distribution": "constant"})
}

/// To the nanosecond. With connections that are open from the start, objects of one segment come in waves of one round trip,
/// as many at a time as there are connections. With handshakes the document and the first object on each further connection
/// take a round trip more: after m round trips behind the document the first connection has had m objects, the others
/// m - 1 each. A delayed acknowledgement (of 100 ms) would show.
#[test]
fn objects_come_in_waves_of_a_round_trip() {
    let rtt_ms = 2 * ONE_WAY_MS;
    for (objects, connections, parse_ms) in [
        (0, 6, 7),
        (1, 6, 0),
        (6, 6, 7),
        (7, 6, 7),
        (12, 6, 0),
        (13, 6, 0),
        (5, 1, 3),
        (100, 8, 11),
        (100, 32, 0),
    ] {
        let waves = u64::from(u32::div_ceil(objects, connections));
        let (n, k) = (u64::from(objects), u64::from(connections));
        let shaken = (0..).find(|&m: &u64| m + (k - 1) * m.saturating_sub(1) >= n).unwrap();
        for (handshake, document, rounds) in [(false, 1, waves), (true, 2, shaken)] {
            let tcp = json!({"mss": "1000 B", "ack_every": 2, "ack_delay": "100 ms",
                             "window": "1000 packets", "handshake": handshake});
            let page = one_segment_each(objects, connections, parse_ms);
            let found = results(&over_wires(page, tcp), 1);
            let parses = if objects == 0 { 0 } else { parse_ms };
            let expected_ms = (document + rounds) * rtt_ms + parses;
            let of = |name| (figure(&found, "pages", "user", name) * 1e9).round() as u64;
            for name in ["load_time_mean_s", "load_time_max_s"] {
                assert_eq!(
                    of(name),
                    expected_ms * 1_000_000,
                    "{objects} over {connections} {name}"
                );
            }
            for name in ["document_time_mean_s", "document_time_max_s"] {
                assert_eq!(of(name), document * rtt_ms * 1_000_000);
            }
            assert!(figure(&found, "pages", "user", "load_time_sd_s") < 1e-9);
            // Pauses and pages alternate.
            let pages = 100_000 / (500 + expected_ms);
            assert_eq!(figure(&found, "pages", "user", "pages"), pages as f64);
        }
    }
}

/// A page without objects over one connection is a file of `web`: the same transfers at the same times, over a cell with
/// another sender and queues that drop.
#[test]
fn a_page_without_objects_is_a_file() {
    let cell = |stack: &str, user: Value| {
        json!({
            "duration": "60 s",
            "warm_up": "5 s",
            "phy": {"standard": "802.11g", "rate": "6 Mb/s"},
            "queue": {"limit": "20 packets"},
            "stations": [{"name": "ap"}, {"name": "laptop"}, {"name": "phone"}],
            "hosts": [{"name": "server", "link": "ap", "delay": "10 ms"}],
            "tcp": {"stack": stack},
            "flows": [user, {"name": "bulk", "from": "server", "to": "phone", "source": "cbr",
                             "rate": "2 Mb/s"}]
        })
    };
    for stack in ["standard", "ns2", "linux"] {
        let page = json!({"document_size": "40 kB", "objects": 0, "connections": 1,
                          "think_time": "700 ms"});
        let web = json!({"file_size": "40 kB", "distribution": "constant", "think_time": "700 ms"});
        let ends = |source: &str, key: &str, table: Value| {
            let mut user =
                json!({"name": "user", "from": "server", "to": "laptop", "source": source});
            user[key] = table;
            results(&cell(stack, user), 3)
        };
        let (page, web) = (ends("page", "page", page), ends("web", "web", web));
        assert!(figure(&web, "connections", "user", "sessions") > 30.0);
        for kind in ["connections", "flows", "stations", "queues", "medium", "drops"] {
            assert_eq!(page[kind], web[kind], "{kind} with {stack}");
        }
        for name in ["mean", "sd", "p50", "p95", "p99", "max"] {
            let session = figure(&web, "connections", "user", &format!("session_{name}_s"));
            for time in ["load_time", "document_time"] {
                assert_eq!(figure(&page, "pages", "user", &format!("{time}_{name}_s")), session);
            }
        }
    }
}

/// A browser whose pages cross a line of 10 Mb/s, in both directions beside other flows.
fn at_home(queue: Value, page: Value, other: Value) -> Value {
    json!({
        "duration": "120 s",
        "warm_up": "10 s",
        "phy": {"standard": "802.11a", "rate": "54 Mb/s"},
        "stations": [{"name": "ap"}],
        "hosts": [{"name": "server", "link": "ap", "rate": "10 Mb/s", "delay": "2 ms", "queue": queue},
                  {"name": "laptop", "link": "ap", "delay": "1 ms"}],
        "tcp": {"stack": "linux"},
        "flows": [{"name": "user", "from": "server", "to": "laptop", "source": "page", "page": page},
                  other]
    })
}

/// Flow queueing gives each of four connections the share of a flow: beside one download, four fifths of the line. With a
/// single flow for all connections this would be a half. Within 5 %: the document and slow start of 40 kB take a few round
/// trips of a page of 5 s, and CoDel's drops leave the line hardly idle.
#[test]
fn each_connection_is_a_flow_in_queues() {
    let page = json!({"document_size": "1 kB", "objects": 4, "object_size": "1250 kB",
                      "connections": 4, "think_time": "100 ms"});
    let other = json!({"name": "bulk", "from": "server", "to": "laptop", "source": "tcp"});
    let fair = at_home(json!({"discipline": "fq_codel"}), page, other);
    let found = results(&fair, 5);
    let share_bps = 1e7 * 4.0 / 5.0 * 1448.0 / 1500.0;
    let load = figure(&found, "pages", "user", "load_time_mean_s");
    close(load, 8.0 * 5e6 / share_bps, 0.05);
}

/// Requests wait behind an upload: in a queue of 100 packets in front of 10 Mb/s for 120 ms, and each of the five or more
/// rounds of a page (handshake, document, handshake of further connections, objects) waits; with a queue of its own for each
/// flow a request waits for a packet or two.
#[test]
fn flow_queueing_saves_pages_from_an_upload() {
    let other = json!({"name": "bulk", "from": "laptop", "to": "server", "source": "tcp"});
    let page = json!({"objects": 10, "object_size": "10 kB", "think_time": "1 s"});
    let load = |queue: Value| {
        let found = results(&at_home(queue, page.clone(), other.clone()), 6);
        figure(&found, "pages", "user", "load_time_mean_s")
    };
    let (fifo, fair) =
        (load(json!({"limit": "100 packets"})), load(json!({"discipline": "fq_codel"})));
    assert!(fifo > 0.3, "{fifo}");
    assert!(fair < fifo / 2.0, "{fair} beside {fifo}");
}

/// No page begins at or after the flow's stop, and what is under way is aborted.
#[test]
fn pages_end_with_their_flow() {
    let page = one_segment_each(12, 6, 0);
    let tcp = json!({"mss": "1000 B", "window": "1000 packets", "handshake": false});
    let mut scenario = over_wires(page, tcp);
    // Pages of 120 ms begin at 500 ms, 1120 ms and 1740 ms.
    scenario["flows"][0]["stop"] = json!("1741 ms");
    let found = results(&scenario, 1);
    assert_eq!(figure(&found, "pages", "user", "pages"), 2.0);
    assert_eq!(figure(&found, "pages", "user", "objects"), 24.0);
    // Two pages, and the document of the third.
    assert_eq!(figure(&found, "flows", "user", "offered_packets"), 27.0);
    scenario["flows"][0]["start"] = json!("600 ms");
    let found = results(&scenario, 1);
    assert_eq!(figure(&found, "pages", "user", "pages"), 1.0);
}

/// All connections of a page take a flow's new route: nothing crosses the relay after the change.
#[test]
fn all_connections_take_another_route() {
    let page = json!({"document_size": "20 kB", "objects": 12, "object_size": "20 kB",
                      "connections": 6, "think_time": "100 ms"});
    let scenario = json!({
        "duration": "20 s",
        "warm_up": "10 s",
        "phy": {"standard": "802.11a", "rate": "54 Mb/s"},
        "stations": [{"name": "ap"}, {"name": "relay"}, {"name": "laptop"}],
        "flows": [{"name": "user", "from": "ap", "to": "laptop", "via": ["relay"], "source": "page",
                   "page": page}],
        "changes": [{"at": "5 s", "flow": "user", "via": []}]
    });
    let sent = |scenario: &Value| {
        let found = results(scenario, 1);
        assert!(figure(&found, "pages", "user", "pages") > 5.0);
        figure(&found, "stations", "relay", "attempts")
    };
    assert_eq!(sent(&scenario), 0.0);
    assert!(sent(&set(scenario, "changes", json!([]))) > 1000.0);
}

/// A limit of the flow's own queues is one of each connection's: with 3 packets for each of four connections no more than 12
/// wait, and more than the 3 of one.
#[test]
fn a_flows_own_limit_holds_for_each_connection() {
    let page = json!({"document_size": "1 kB", "objects": 4, "object_size": "500 kB", "connections": 4,
                      "think_time": "100 ms"});
    let scenario = json!({
        "duration": "30 s",
        "warm_up": "2 s",
        "phy": {"standard": "802.11b"},
        "queue": {"discipline": "drr", "limit": "40 packets"},
        "stations": [{"name": "ap"}, {"name": "laptop"}],
        "hosts": [{"name": "server", "link": "ap", "delay": "5 ms"}],
        "flows": [{"name": "user", "from": "server", "to": "laptop", "source": "page", "page": page}],
        "changes": [{"at": "1 s", "station": "ap", "flow": "user", "queue_limit": "3 packets"}]
    });
    let longest = |scenario: &Value| {
        let found = results(scenario, 1);
        assert!(figure(&found, "pages", "user", "pages") > 3.0);
        figure(&found, "queues", "ap", "length_max_packets")
    };
    assert!((4.0..=12.0).contains(&longest(&scenario)), "{}", longest(&scenario));
    assert!(longest(&set(scenario, "changes", json!([]))) > 30.0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// One page, whatever is lost: the document and each object arrive once, in full, and nothing is left.
    #[test]
    fn every_page_ends_whole(
        (objects, connections) in (0u32..40, 1u32..10),
        (document, object) in (1u64..40_000, 1u64..40_000),
        loss in 0.0..0.08,
        (queue, handshake, seed) in (0usize..3, any::<bool>(), 0u64..1000),
        stack in prop::sample::select(vec!["standard", "linux"]),
    ) {
        let queues = [
            json!({"limit": "5 packets"}),
            json!({"discipline": "fq_codel"}),
            json!({"discipline": "cake"}),
        ];
        let page = json!({"document_size": format!("{document} B"), "objects": objects,
                          "object_size": format!("{object} B"), "connections": connections,
                          "think_time": "1e6 s", "think_distribution": "constant"});
        let scenario = json!({
            "duration": "1100000 s",
            "phy": {"standard": "802.11b"},
            "stations": [{"name": "ap"}],
            "hosts": [{"name": "server", "link": "ap", "rate": "3 Mb/s", "delay": "5 ms",
                       "loss": loss, "queue": queues[queue]},
                      {"name": "user", "link": "ap", "delay": "15 ms"}],
            "tcp": {"stack": stack, "handshake": handshake},
            "flows": [{"name": "user", "from": "server", "to": "user", "source": "page", "page": page}]
        });
        let found = results(&scenario, seed);
        let of = |kind, name| figure(&found, kind, "user", name);
        prop_assert_eq!((of("pages", "pages"), of("pages", "objects")), (1.0, f64::from(objects)));
        prop_assert_eq!(of("connections", "sessions"), f64::from(objects) + 1.0);
        let bytes = of("connections", "goodput_bps") * 1_100_000.0 / 8.0;
        let expected = (document + u64::from(objects) * object) as f64;
        prop_assert!((bytes - expected).abs() < 1e-3, "{bytes} of {expected}");
        prop_assert_eq!(of("flows", "in_transit_packets"), 0.0);
        // No page is faster than its bits on the line, and its document than a round trip.
        let bits_s = 8.0 * expected / 3e6;
        prop_assert!(of("pages", "load_time_mean_s") > bits_s);
        prop_assert!(of("pages", "document_time_mean_s") > 0.040);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let whole = over_wires(json!({}), json!({}));
    let wrong = |name: &str, value: Value, part: &str| {
        let key = format!("flows[0].page.{name}");
        value_refused(&whole, &key, value, &key, part);
    };
    wrong("connections", json!(0), "1 to 32");
    wrong("connections", json!(33), "1 to 32");
    wrong("objects", json!(100_001), "at most 100000");
    wrong("objects", json!(-1), "");
    wrong("document_size", json!("0 B"), "1 to 1e15");
    wrong("object_size", json!("2e15 B"), "1 to 1e15");
    wrong("shape", json!(2), "only distribution = \"pareto\"");
    wrong("think_shape", json!(2), "only think_distribution = \"pareto\"");
    wrong("think_sigma", json!(2), "only think_distribution = \"lognormal\"");
    wrong("parse_time", json!("-1 s"), "not a length of time");
    let refused =
        |key: &str, value: Value, part: &str| value_refused(&whole, key, value, key, part);
    refused("flows[0].rate", json!("1 Mb/s"), "TCP finds its rate");
    refused("flows[0].transfer_size", json!("1 MB"), "flows.page");
    value_refused(&whole, "flows[0].source", json!("tcp"), "flows[0].page: ", "has pages");
}
