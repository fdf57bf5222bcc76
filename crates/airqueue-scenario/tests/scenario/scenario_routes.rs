//! Flows that change their route during a run: results before and after are those of the two routes.

use crate::figures::{close, figure, results, up_to};
use crate::scenarios::{change_refused, set};
use airqueue_core::{Seed, Span};
use airqueue_network::network::Change;
use airqueue_network::{FlowId, RouteId};
use airqueue_scenario::Scenario;
use serde_json::{Value, json};

/// Two routes from `a` to `d`, over `b` and over `c` and `e`; all stations sense each other.
fn diamond(source: Value) -> Value {
    let station = |name: &str, x: f64, y: f64| json!({"name": name, "position": [format!("{x} m"), format!("{y} m")]});
    let mut flow = json!({"name": "one", "from": "a", "to": "d", "via": ["b"]});
    flow.as_object_mut().unwrap().append(&mut source.as_object().unwrap().clone());
    json!({
        "duration": "60 s",
        "warm_up": "5 s",
        "phy": {"standard": "802.11b", "rate": "11 Mb/s"},
        "medium": {"ranges": {"decode": "250 m", "sense": "1 km"}},
        "stations": [
            station("a", 0.0, 0.0), station("b", 200.0, 0.0), station("c", 100.0, 150.0),
            station("e", 300.0, 150.0), station("d", 400.0, 0.0),
        ],
        "flows": [flow],
    })
}

fn over(scenario: &Value, changes: Value) -> Value {
    set(scenario.clone(), "changes", changes)
}

fn via(at: &str, stations: &[&str]) -> Value {
    json!({"at": at, "flow": "one", "via": stations})
}

fn sources() -> [(Value, f64); 3] {
    [
        (json!({"source": "cbr", "rate": "4 Mb/s"}), 0.01),
        (json!({"source": "poisson", "rate": "500 kb/s"}), 0.03),
        (json!({"source": "tcp"}), 0.03),
    ]
}

/// A minute has two to ten thousand packets, whose number varies by one percent or, with Poisson arrivals, by three.
#[test]
fn a_changed_route_gives_the_results_of_that_route() {
    for (source, tolerance) in sources() {
        let usual = diamond(source);
        let other = set(usual.clone(), "flows[0].via", json!(["c", "e"]));
        let changed = results(&over(&usual, json!([via("1 s", &["c", "e"])])), 1);
        let described = results(&other, 2);
        for (kind, of, name) in [
            ("flows", "one", "throughput_bps"),
            ("stations", "e", "airtime_ratio"),
            ("medium", "", "data_airtime_ratio"),
        ] {
            let of = |results: &Value| match of {
                "" => results[kind][name].as_f64().unwrap(),
                of => figure(results, kind, of, name),
            };
            close(of(&changed), of(&described), tolerance);
        }
        assert_eq!(figure(&changed, "queues", "b", "offered_packets"), 0.0);
    }
}

#[test]
fn a_change_of_route_has_no_earlier_effect() {
    for (source, _) in sources() {
        let usual = diamond(source);
        // A route for later use, too, since it may decide where the source puts its packets.
        let at = |at: &str| over(&usual, json!([via(at, &["c", "e"])]));
        let end = Span::from_secs(15) - Span::from_nanos(1);
        assert_eq!(up_to(&at("15 s"), end), up_to(&at("65 s"), end));
        let later = end + Span::from_secs(1);
        assert_ne!(up_to(&at("15 s"), later), up_to(&at("65 s"), later));
    }
}

/// Packets that wait at `b` and `a` when the route changes arrive over `b`: far more than are in flight otherwise.
#[test]
fn packets_in_transit_keep_their_route() {
    let usual = diamond(json!({"source": "cbr", "rate": "4 Mb/s", "stop": "7 s"}));
    let mut usual = set(usual, "queue", json!({"limit": "1000 packets"}));
    usual["warm_up"] = json!("0 s");
    let changed = results(&over(&usual, json!([via("6 s", &["c", "e"])])), 1);
    let of = |name: &str| figure(&changed, "flows", "one", name);
    assert_eq!((of("delivered_packets"), of("in_transit_packets")), (of("offered_packets"), 0.0));
    // A packet every 3 ms, from 6 s on and before 7 s.
    assert_eq!(figure(&changed, "queues", "c", "dequeued_packets"), 334.0);
    assert_eq!(figure(&changed, "queues", "b", "dequeued_packets"), of("offered_packets") - 334.0);
}

/// Each distinct route is built once: a flow that alternates between two routes has two, whose per-flow queues stay the
/// same.
#[test]
fn repeated_routes_are_recognised() {
    let changes = json!([
        via("6 s", &["c", "e"]),
        via("7 s", &["b"]),
        via("8 s", &["c", "e"]),
        via("9 s", &["b"]),
    ]);
    let scenario = over(&diamond(json!({"source": "tcp"})), changes);
    let spec = Scenario::from_json(&scenario.to_string()).unwrap().spec().clone();
    let changes: Vec<Change> = spec.changes.iter().map(|of| of.change).collect();
    assert_eq!(
        changes,
        [1, 0, 1, 0].map(|route| Change::Route { flow: FlowId(0), route: RouteId::at(route) })
    );
    assert_eq!((spec.flows[0].others.len(), spec.wlan.hops.len()), (1, 4 + 6));
}

/// One hop instead of four: TCP-AP, which paces for four hops or more as for four and for fewer as for one, learns the
/// new number of hops. Every segment is acknowledged: with delayed acknowledgements, whose delay grows with TCP-AP's
/// pacing interval, TCP-AP may settle at either of two paces on one route.
#[test]
fn pacing_follows_the_route() {
    let chain = |via: Value| {
        let stations =
            json!([{"name": "n", "count": 5, "position": ["0 m", "0 m"], "step": ["50 m", "0 m"]}]);
        let paced = json!({"source": "tcp", "tcp": {"pacing": "tcp-ap", "ack_every": 1}});
        let mut scenario = set(diamond(paced), "stations", stations);
        scenario["flows"][0]["from"] = json!("n1");
        scenario["flows"][0]["to"] = json!("n5");
        scenario["flows"][0]["via"] = via;
        scenario
    };
    let (long, short) = (json!(["n2", "n3", "n4"]), json!([]));
    let goodput = |scenario: &Value, seed| {
        figure(&results(scenario, seed), "connections", "one", "goodput_bps")
    };
    let [four, one] = [&long, &short].map(|route| goodput(&chain(route.clone()), 1));
    assert!(one > 3.0 * four, "{one} beside {four}");
    for (from, to, expected) in [(&long, &short, one), (&short, &long, four)] {
        let change = json!([{"at": "1 s", "flow": "one", "via": to}]);
        close(goodput(&over(&chain(from.clone()), change), 2), expected, 0.03);
    }
}

/// A limit applies to the flow at the station on every route, and rates are those of links.
#[test]
fn other_changes_apply_to_all_routes() {
    let apart = set(
        diamond(json!({"source": "cbr", "rate": "4 Mb/s"})),
        "queue",
        json!({"discipline": "drr"}),
    );
    let limit = json!({"at": "0 s", "station": "a", "flow": "one", "queue_limit": "7 packets"});
    let both = results(&over(&apart, json!([limit, via("1 s", &["c", "e"])])), 1);
    assert_eq!(figure(&both, "queues", "a", "length_max_packets"), 7.0);

    let slow = json!({"at": "0 s", "link": ["c", "e"], "rate": "1 Mb/s"});
    let changed = results(&over(&apart, json!([slow, via("1 s", &["c", "e"])])), 1);
    let mut described = set(apart, "flows[0].via", json!(["c", "e"]));
    described["links"] = json!([{"between": ["c", "e"], "rate": "1 Mb/s"}]);
    let of = |results: &Value| figure(results, "flows", "one", "throughput_bps");
    close(of(&changed), of(&results(&described, 2)), 0.01);
}

#[test]
fn a_manager_sees_the_route_and_sets_limits_on_both_routes() {
    let apart = set(diamond(json!({"source": "tcp"})), "queue", json!({"discipline": "drr"}));
    let scenario = over(&apart, json!([via("6 s", &["c", "e"])]));
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
    let (monitor, mut run) = (scenario.monitor(), scenario.start(Seed(1)).unwrap());
    let map: Value = serde_json::from_str(&monitor.map()).unwrap();
    assert_eq!(map["flows"][0]["later"], json!([["a", "c", "e", "d"]]));
    let mut route = |seconds| {
        run.advance(Span::from_secs(seconds));
        let snapshot: Value = serde_json::from_str(&monitor.snapshot(&run)).unwrap();
        (
            snapshot["flows"][0]["route"].clone(),
            snapshot["flows"][0]["hops"].as_array().unwrap().len(),
        )
    };
    assert_eq!(route(5), (json!(["a", "b", "d"]), 2));
    assert_eq!(route(2), (json!(["a", "c", "e", "d"]), 3));
    for station in ["b", "e"] {
        monitor.set_limit(&mut run, station, Some("one"), Some(3)).unwrap();
        monitor.set_limit(&mut run, station, Some("one"), None).unwrap();
    }
}

#[test]
fn invalid_routes_are_refused() {
    let tcp = diamond(json!({"source": "tcp"}));
    let other = |key: &str, value: Value| set(via("6 s", &["c", "e"]), key, value);
    change_refused(&tcp, other("flow", Value::Null), "changes[0]", "`flow` is needed");
    change_refused(&tcp, other("flow", json!("two")), "changes[0].flow", "no flow \"two\"");
    change_refused(
        &tcp,
        other("station", json!("a")),
        "changes[0]",
        "leave `station` or `via` out",
    );
    change_refused(
        &tcp,
        other("link", json!(["a", "b"])),
        "changes[0]",
        "leave `link` or `via` out",
    );
    change_refused(
        &tcp,
        other("via", json!(["e", "c", "e"])),
        "changes[0].via[2]",
        "passes \"e\" twice",
    );
    change_refused(
        &tcp,
        other("via", json!(["z"])),
        "changes[0].via[0]",
        "no station or group \"z\"",
    );
    change_refused(
        &tcp,
        other("via", json!(["e"])),
        "changes[0].via",
        "\"a\" and \"e\" are out of reach",
    );
    change_refused(
        &tcp,
        other("via", json!([])),
        "changes[0].via",
        "\"a\" and \"d\" are out of reach",
    );
    change_refused(
        &diamond(json!({})),
        other("at", json!("6 s")),
        "changes[0].flow",
        "fills the queue",
    );
    let small = set(tcp.clone(), "stations[2].queue", json!({"limit": "1000 B"}));
    change_refused(&small, other("at", json!("6 s")), "changes[0]", "\"c\" holds 1000 B");
    let paced = diamond(json!({"source": "tcp", "tcp": {"pacing": "tcp-ap"}}));
    let controlled = set(paced, "stations[2].rate_control", json!("aarf"));
    change_refused(
        &controlled,
        other("at", json!("6 s")),
        "changes[0].tcp.pacing",
        "rate control looks",
    );
}
