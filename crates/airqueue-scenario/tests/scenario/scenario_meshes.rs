//! Computed routes of scenarios, rates of links, and errors.

use crate::scenarios::{refusal_of, set};
use airqueue_core::{Seed, Span};
use airqueue_network::FlowId;
use airqueue_network::network::Hop;
use airqueue_scenario::Scenario;
use serde_json::{Value, json};

fn scenario(value: &Value) -> Scenario {
    Scenario::from_json(&value.to_string()).unwrap_or_else(|error| panic!("{error}: {value}"))
}

/// The route of each flow, as nodes separated by spaces.
fn routes(value: &Value) -> Vec<String> {
    let scenario = scenario(value);
    (0..scenario.spec().flows.len())
        .map(|flow| scenario.route(FlowId::at(flow)).join(" "))
        .collect()
}

/// The data rate of the hop from one station to another, in Mb/s.
fn rate_mbps(value: &Value, from: &str, to: &str) -> f64 {
    let scenario = scenario(value);
    let wlan = scenario.wlan();
    let name = |id: airqueue_wifi::medium::StationId| &wlan.stations[id.index()].name;
    let hop = wlan.hops.iter().find(|hop| name(hop.from) == from && name(hop.to) == to);
    let rate = hop.unwrap_or_else(|| panic!("no hop from {from} to {to}")).rate;
    wlan.radio.phy.rate(rate).as_bps() as f64 / 1e6
}

#[track_caller]
fn refused(value: Value, start: &str, parts: &[&str]) {
    let refusal = refusal_of(value);
    assert!(refusal.starts_with(&format!("{start}: ")), "{refusal:?} is not about {start:?}");
    for part in parts {
        assert!(refusal.contains(part), "{refusal:?} does not say {part:?}");
    }
}

/// Five stations in a line that hear their neighbours, with a server behind the first.
fn chain() -> Value {
    json!({
        "duration": "1 s",
        "phy": {"standard": "802.11b", "rate": "11 Mb/s"},
        "medium": {"ranges": {"decode": "250 m", "sense": "550 m"}},
        "stations": [
            {"name": "gw", "position": ["0 m", "0 m"]},
            {"name": "node", "count": 4, "position": ["200 m", "0 m"], "step": ["200 m", "0 m"]}
        ],
        "routing": {},
        "hosts": [{"name": "server", "link": "gw", "rate": "100 Mb/s"}],
        "flows": [
            {"name": "up", "from": "node4", "to": "server", "source": "tcp"},
            {"name": "down", "from": "server", "to": "node2", "source": "cbr", "rate": "100 kb/s"},
            {"name": "across", "from": "node1", "to": "node4"}
        ]
    })
}

/// Stations in rows and columns 100 m apart, which hear up to the second next along a row or column, and the next along
/// a diagonal.
fn grid(metric: &str) -> Value {
    json!({
        "duration": "1 s",
        "phy": {"standard": "802.11b", "rate": "11 Mb/s"},
        "medium": {"ranges": {"decode": "210 m"}},
        "stations": [{"name": "n", "count": 9, "grid": {"columns": 3, "spacing": "100 m"}}],
        "routing": {"metric": metric},
        "flows": [{"from": "n1", "to": "n9"}]
    })
}

#[test]
fn routes_of_flows_are_computed() {
    let found = routes(&chain());
    assert_eq!(
        found,
        ["node4 node3 node2 node1 gw server", "server gw node1 node2", "node1 node2 node3 node4"]
    );
    assert_eq!(routes(&set(chain(), "routing.metric", json!("airtime"))), found);
}

#[test]
fn acknowledgements_take_the_reverse_route() {
    let scenario = scenario(&chain());
    let wlan = scenario.wlan();
    let hops = |hop: &Hop| match *hop {
        Hop::Air(hop) => (wlan.hops[hop.index()].from.0, wlan.hops[hop.index()].to.0),
        Hop::Wire(_) => (u32::MAX, u32::MAX),
    };
    let flow = &scenario.spec().flows[0];
    let airqueue_network::network::Traffic::Tcp(tcp) = &flow.traffic else { panic!("not TCP") };
    let there: Vec<_> = flow.route.iter().map(hops).collect();
    let mut back: Vec<_> = tcp.back.iter().map(hops).map(|(from, to)| (to, from)).collect();
    back.reverse();
    assert_eq!(there, back);
}

#[test]
fn without_routing_nothing_changes() {
    let direct = set(chain(), "routing", Value::Null);
    refused(direct, "flows[0].to", &["\"node4\" and \"gw\"", "out of reach", "via", "[routing]"]);
    let by_hand = set(chain(), "routing", Value::Null);
    let by_hand = set(
        by_hand,
        "flows",
        json!([
            {"from": "node4", "to": "server", "via": ["node3", "node2", "node1"]}
        ]),
    );
    assert_eq!(routes(&by_hand), ["node4 node3 node2 node1 gw server"]);
}

#[test]
fn a_given_route_is_taken() {
    let via = |via: Value| set(grid("hops"), "flows[0].via", via);
    assert_eq!(routes(&grid("hops")), ["n1 n3 n9"]);
    assert_eq!(routes(&via(json!(["n4", "n7", "n8"]))), ["n1 n4 n7 n8 n9"]);
    // An empty list means no relays, and no computed route.
    refused(via(json!([])), "flows[0].via", &["\"n1\" and \"n9\"", "out of reach"]);
    let near = set(grid("hops"), "flows[0].to", json!("n2"));
    assert_eq!(routes(&set(near, "flows[0].via", json!([]))), ["n1 n2"]);
}

#[test]
fn a_route_passes_no_station_twice() {
    let via = |via: Value| set(grid("hops"), "flows[0].via", via);
    refused(via(json!(["n5", "n2", "n5"])), "flows[0].via[2]", &["\"n5\" twice"]);
    refused(via(json!(["n5", "n1"])), "flows[0].via[1]", &["\"n1\" twice"]);
    refused(via(json!(["n9"])), "flows[0].via[0]", &["\"n9\" twice"]);
    let behind = json!(["node3", "node2", "node1", "gw"]);
    refused(set(chain(), "flows[0].via", behind), "flows[0].via[3]", &["\"gw\" twice"]);
}

#[test]
fn slow_links_are_avoided_where_airtime_counts() {
    // Two hops at 11 Mb/s take less airtime than one at 1 Mb/s.
    let slow = |metric: &str| {
        let scenario = set(grid(metric), "flows[0].to", json!("n3"));
        set(scenario, "links", json!([{"between": ["n1", "n3"], "rate": "1 Mb/s"}]))
    };
    assert_eq!(routes(&slow("hops")), ["n1 n3"]);
    assert_eq!(routes(&slow("airtime")), ["n1 n2 n3"]);
    // One hop at 5.5 Mb/s takes less airtime than two at 11 Mb/s.
    let fair = set(slow("airtime"), "links[0].rate", json!("5.5 Mb/s"));
    assert_eq!(routes(&fair), ["n1 n3"]);
    // The flow's own rate is equal on all links.
    let own = set(slow("airtime"), "flows[0].phy_rate", json!("2 Mb/s"));
    assert_eq!(routes(&own), ["n1 n3"]);
}

#[test]
fn losses_count_as_airtime() {
    // 11 Mb/s works over 100 m, and hardly over 200 m.
    let lossy = |metric: &str| {
        let scenario = set(grid(metric), "flows[0].to", json!("n3"));
        set(
            scenario,
            "medium",
            json!({
                "path_loss": {"log_distance": {"exponent": 3.0, "reference_loss": "40.2 dB"}},
                "thresholds": {"decode": "-110 dBm"}, "noise": "-87 dBm", "errors": "snr"
            }),
        )
    };
    assert_eq!(routes(&lossy("hops")), ["n1 n3"]);
    assert_eq!(routes(&lossy("airtime")), ["n1 n2 n3"]);
    // Rate control would find a rate that works.
    let mut found = lossy("airtime");
    found["phy"] = json!({"standard": "802.11b", "rate_control": "minstrel"});
    assert_eq!(routes(&found), ["n1 n3"]);
    // Equal losses everywhere favour no route.
    let even = set(grid("airtime"), "medium.errors", json!({"frame": 0.5}));
    assert_eq!(routes(&even), ["n1 n3 n9"]);
    let hopeless = set(grid("airtime"), "medium.errors", json!({"frame": 1.0}));
    refused(hopeless, "routing", &["falls apart", "\"n1\""]);
}

/// Stations of 802.11b and g, with rates of a link, a station, a flow and the layer.
#[test]
fn a_links_rate_wins_over_its_stations_and_a_flows_over_it() {
    let base = json!({
        "duration": "1 s",
        "phy": {"standard": "802.11g", "rate": "54 Mb/s"},
        "stations": [
            {"name": "a", "rate": "12 Mb/s"}, {"name": "b"}, {"name": "c", "count": 3}, {"name": "d"}
        ],
        "links": [
            {"between": ["a", "b"], "rate": "48 Mb/s"},
            {"between": ["c", "c"], "rate": "36 Mb/s"},
            {"between": ["d", "c"], "rate": "24 Mb/s"},
            {"between": ["c3", "c1"], "rate": "18 Mb/s"}
        ],
        "flows": [
            {"from": "a", "to": "b"}, {"from": "b", "to": "a"}, {"from": "a", "to": "c1"},
            {"from": "b", "to": "c1"}, {"from": "c1", "to": "c2"}, {"from": "c1", "to": "c3"},
            {"from": "c3", "to": "d"}, {"from": "b", "to": "d", "phy_rate": "9 Mb/s"},
            {"from": "d", "to": "c2", "phy_rate": "6 Mb/s"}
        ]
    });
    for (from, to, mbps) in [
        ("a", "b", 48.0),
        ("b", "a", 48.0),
        ("a", "c1", 12.0),
        ("b", "c1", 54.0),
        ("c1", "c2", 36.0),
        ("c1", "c3", 18.0),
        ("c3", "d", 24.0),
        ("b", "d", 9.0),
        ("d", "c2", 6.0),
    ] {
        assert_eq!(rate_mbps(&base, from, to), mbps, "{from} to {to}");
    }
}

#[test]
fn links_have_the_rates_of_every_layer() {
    for (standard, rate, mbps) in [
        ("802.11b", "5.5 Mb/s", 5.5),
        ("802.11a", "24 Mb/s", 24.0),
        ("802.11g", "5.5 Mb/s", 5.5),
        ("802.11n", "HT-MCS4", 39.0),
        ("802.11ac", "VHT-MCS3-20MHz", 26.0),
        ("802.11ax", "HE-MCS5-20MHz", 68.8),
    ] {
        let scenario = json!({
            "duration": "1 s",
            "phy": {"standard": standard},
            "stations": [{"name": "a"}, {"name": "b"}],
            "links": [{"between": ["a", "b"], "rate": rate}],
            "flows": [{"from": "b", "to": "a"}]
        });
        assert!((rate_mbps(&scenario, "b", "a") - mbps).abs() < 0.05, "{standard}");
    }
}

#[test]
fn links_are_between_stations_that_hear_each_other() {
    let links = |links: Value| set(chain(), "links", links);
    let one = |names: [&str; 2]| links(json!([{"between": names, "rate": "2 Mb/s"}]));
    refused(one(["gw", "nobody"]), "links[0].between[1]", &["\"nobody\""]);
    refused(one(["server", "gw"]), "links[0].between[0]", &["\"server\""]);
    refused(one(["gw", "gw"]), "links[0].between", &["\"gw\"", "itself"]);
    refused(one(["gw", "node2"]), "links[0].between", &["\"gw\" and \"node2\"", "out of reach"]);
    let slow = json!([{"between": ["gw", "node"], "rate": "3 Mb/s"}]);
    refused(links(slow), "links[0].rate", &["3"]);
    let twice = json!([
        {"between": ["gw", "node1"], "rate": "2 Mb/s"},
        {"between": ["node1", "gw"], "rate": "1 Mb/s"}
    ]);
    refused(links(twice), "links[1].between", &["links[0]", "\"node1\"", "\"gw\""]);
    assert_eq!(rate_mbps(&one(["node", "node"]), "node2", "node3"), 2.0);
    assert_eq!(rate_mbps(&one(["node", "gw"]), "node1", "gw"), 2.0);
}

#[test]
fn a_links_rate_is_one_that_its_stations_have() {
    let mixed = json!({
        "duration": "1 s",
        "phy": {"standard": "802.11n"},
        "stations": [
            {"name": "a"}, {"name": "old", "mac": {"access": "dcf"}, "rate": "54 Mb/s"}
        ],
        "links": [{"between": ["a", "old"], "rate": "HT-MCS2"}],
        "flows": [{"from": "a", "to": "old"}]
    });
    refused(mixed.clone(), "links[0].rate", &["\"old\" has DCF"]);
    let looked = set(mixed, "links[0].rate", json!("24 Mb/s"));
    let looked = set(looked, "flows[0].rate_control", json!("minstrel"));
    let looked = set(looked, "stations[1].rate", Value::Null);
    refused(looked, "flows[0].rate_control", &["links[0] has a rate of its own"]);
}

#[test]
fn disconnected_networks_are_refused_with_both_parts() {
    let apart = set(chain(), "stations[1].position", json!(["300 m", "0 m"]));
    let parts = ["\"gw\"", "\"node1\" and 3 other stations", "300.0 m", "connected = false"];
    refused(apart.clone(), "routing", &parts);
    let allowed = set(apart, "routing.connected", json!(false));
    refused(
        allowed.clone(),
        "flows[0].to",
        &["no route over the air from \"node4\" to \"gw\"", "between \"gw\" and \"node1\""],
    );
    let within = set(allowed, "flows", json!([{"from": "node1", "to": "node4"}]));
    assert_eq!(routes(&within), ["node1 node2 node3 node4"]);
    let listed = json!({
        "duration": "1 s", "phy": {"standard": "802.11b"}, "routing": {},
        "stations": [{"name": "a", "count": 2}, {"name": "b", "count": 2}],
        "medium": {"links": [{"from": "a", "to": "a"}, {"from": "b", "to": "b"},
            {"from": "a", "to": "b", "both": false}]}
    });
    // A station that is heard but does not hear the other has no link.
    refused(listed, "routing", &["\"a1\" and one other", "\"b1\" and one other"]);
}

#[test]
fn a_given_route_between_neighbours_may_have_relays() {
    let flows = json!([
        {"name": "here", "from": "server", "to": "second", "source": "cbr", "rate": "1 Mb/s"},
        {"name": "there", "from": "second", "to": "gw", "source": "cbr", "rate": "1 Mb/s"},
        {"name": "far", "from": "far", "to": "second", "source": "cbr", "rate": "1 Mb/s"}
    ]);
    let hosts = json!([
        {"name": "server", "link": "gw"}, {"name": "second", "link": "server"},
        {"name": "far", "link": "node2"}
    ]);
    assert_eq!(
        routes(&set(set(chain(), "hosts", hosts), "flows", flows)),
        ["server second", "second server gw", "far node2 node1 gw server second"]
    );
}

#[test]
fn a_chain_with_computed_routes_equals_the_chain_by_hand() {
    let results = |value: &Value| {
        let mut run = scenario(value).start(Seed(7)).unwrap();
        run.advance(Span::from_secs(2));
        run.results()
    };
    let mut by_hand = set(chain(), "routing", Value::Null);
    by_hand["flows"][0]["via"] = json!(["node3", "node2", "node1"]);
    by_hand["flows"][1]["via"] = json!(["node1"]);
    by_hand["flows"][2]["via"] = json!(["node2", "node3"]);
    assert_eq!(results(&chain()), results(&by_hand));
}
