//! Changes during a run: before and after the change, results are as in runs without changes.

use crate::figures::{close, figure, results, up_to};
use crate::scenarios::{change_refused, refusal_of, set};
use airqueue_core::Span;
use serde_json::{Value, json};

/// Three stations in a row, the outer ones out of each other's reach, with two flows over both hops.
fn row(rate: &str, source: Value) -> Value {
    let flow = |name: &str, more: Value| {
        let mut flow = json!({"name": name, "from": "a", "to": "c", "via": ["b"]});
        flow.as_object_mut().unwrap().append(&mut more.as_object().unwrap().clone());
        flow
    };
    json!({
        "duration": "20 s",
        "warm_up": "5 s",
        "phy": {"standard": "802.11b", "rate": rate},
        "medium": {"ranges": {"decode": "250 m", "sense": "550 m"}},
        "stations": [
            {"name": "a", "position": ["0 m", "0 m"]},
            {"name": "b", "position": ["200 m", "0 m"]},
            {"name": "c", "position": ["400 m", "0 m"]},
        ],
        "flows": [flow("one", source.clone()), flow("other", source)],
    })
}

fn changed(scenario: Value, changes: Value) -> Value {
    set(scenario, "changes", changes)
}

fn overload() -> Value {
    json!({"source": "cbr", "rate": "4 Mb/s"})
}

fn both(results: &Value, name: &str) -> f64 {
    figure(results, "flows", "one", name) + figure(results, "flows", "other", name)
}

/// Both hops fall to 2 Mb/s, or rise from there; afterwards results equal those of a network with these rates from the
/// beginning. Two minutes have some ten thousand packets, whose number varies by less than a percent.
#[test]
fn rates_that_change_leave_two_static_networks() {
    let hops = |at: &str, rate: &str| {
        json!([
            {"at": at, "link": ["a", "b"], "rate": rate},
            {"at": at, "link": ["c", "b"], "rate": rate},
        ])
    };
    for (source, name, tolerance) in
        [(json!({"source": "tcp"}), "throughput_bps", 0.03), (overload(), "throughput_bps", 0.01)]
    {
        for (before, after) in [("11 Mb/s", "2 Mb/s"), ("2 Mb/s", "11 Mb/s")] {
            let long = |rate| set(row(rate, source.clone()), "duration", json!("120 s"));
            let dynamic = changed(long(before), hops("1 s", after));
            let expected = both(&results(&long(after), 2), name);
            close(both(&results(&dynamic, 1), name), expected, tolerance);

            let late = changed(row(before, source.clone()), hops("15 s", after));
            let end = Span::from_secs(15) - Span::from_nanos(1);
            assert_eq!(up_to(&late, end), up_to(&row(before, source.clone()), end));
            let later = end + Span::from_secs(1);
            assert_ne!(up_to(&late, later), up_to(&row(before, source.clone()), later));
        }
    }
}

/// Two saturated stations with equal access win equally often: a TXOP of three packets makes one of them send three times
/// as much (EDCA paper, section 4). 60 s have some 20 000 wins, so that a ratio varies by 1.4 %
/// (were wins drawn independently); 5 % are more than three times that.
#[test]
fn a_txop_that_changes_is_that_of_the_next_txop_on() {
    let cell = json!({
        "duration": "60 s",
        "warm_up": "5 s",
        "phy": {"standard": "802.11b", "rate": "11 Mb/s"},
        "mac": {"access": "edca"},
        "stations": [{"name": "a"}, {"name": "b"}, {"name": "sink"}],
        "flows": [{"name": "one", "from": "a", "to": "sink"}, {"name": "other", "from": "b", "to": "sink"}],
    });
    let from = |at: &str, txop: &str| {
        changed(cell.clone(), json!([{"at": at, "station": "a", "txop": txop}]))
    };
    let ratio = |scenario: &Value| {
        let rate = |flow| figure(&results(scenario, 1), "flows", flow, "throughput_bps");
        rate("one") / rate("other")
    };
    close(ratio(&cell), 1.0, 0.05);
    close(ratio(&from("1 s", "3 packets")), 3.0, 0.05);
    let first = set(cell.clone(), "stations[0].mac", json!({"edca": {"be": {"txop": "5 ms"}}}));
    assert_eq!(results(&from("0 s", "5 ms"), 1), results(&first, 1));
    let end = Span::from_secs(15) - Span::from_nanos(1);
    assert_eq!(up_to(&from("15 s", "5 ms"), end), up_to(&cell, end));
    let later = end + Span::from_secs(1);
    assert_ne!(up_to(&from("15 s", "5 ms"), later), up_to(&cell, later));
    // The other categories have no packets here.
    let voice = json!([{"at": "1 s", "station": "a", "txop": "5 ms", "category": "vo"}]);
    assert_eq!(results(&changed(cell.clone(), voice), 1), results(&cell, 1));

    let change = |key: &str, value: Value| {
        set(json!({"at": "1 s", "station": "a", "txop": "5 ms"}), key, value)
    };
    let flows = set(cell.clone(), "stations[0].mac", json!({"edca": {"be": {"txop": "flows"}}}));
    change_refused(&flows, change("at", json!("1 s")), "changes[0].txop", "follows the flows");
    change_refused(&cell, change("txop", json!("flows")), "changes[0].txop", "follows the flows");
    change_refused(&cell, change("txop", json!("3000 ms")), "changes[0].txop", "2097120 us");
    change_refused(&cell, change("flow", json!("one")), "changes[0]", "only `queue_limit` changes");
    let no_txop =
        json!({"at": "1 s", "station": "a", "category": "vo", "queue_limit": "9 packets"});
    change_refused(&cell, no_txop, "changes[0]", "`txop` or `aifsn` or `cw_min` is needed");
    let dcf = set(cell, "mac.access", json!("dcf"));
    change_refused(&dcf, change("at", json!("1 s")), "changes[0].txop", "no access categories");
}

/// A station whose AIFS or windows change after a second has the share that the station has with these from the start.
/// 60 s have some 20 000 wins, at least a tenth of them of that station: two ratios differ by 3 % (were wins drawn
/// independently); 10 % are three times that.
#[test]
fn aifs_and_windows_that_change_are_those_of_the_next_backoff_on() {
    let cell = |access: &str| {
        json!({
            "duration": "60 s",
            "warm_up": "5 s",
            "phy": {"standard": "802.11b", "rate": "11 Mb/s"},
            "mac": {"access": access},
            "stations": [{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "sink"}],
            "flows": [
                {"name": "one", "from": "a", "to": "sink"},
                {"name": "other", "from": "b", "to": "sink"},
                {"name": "third", "from": "c", "to": "sink"},
            ],
        })
    };
    let ratio = |scenario: &Value| {
        let rate = |flow| figure(&results(scenario, 1), "flows", flow, "throughput_bps");
        rate("one") / rate("other")
    };
    let with = |to: &Value, from: &Value| {
        from.as_object()
            .unwrap()
            .iter()
            .fold(to.clone(), |to, (key, value)| set(to, key, value.clone()))
    };
    for (access, category, aifsn) in [("edca", Some("vi"), 3), ("edca", None, 5), ("dcf", None, 4)]
    {
        let mut cell = cell(access);
        if let Some(category) = category {
            for flow in 0..3 {
                cell = set(cell, &format!("flows[{flow}].category"), json!(category));
            }
        }
        let (cw_min, cw_max) = if category == Some("vi") { (63, 255) } else { (127, 1023) };
        for keys in [json!({"aifsn": aifsn}), json!({"cw_min": cw_min, "cw_max": cw_max})] {
            let mut change = with(&json!({"at": "1 s", "station": "a"}), &keys);
            if let Some(category) = category {
                change = set(change, "category", json!(category));
            }
            let own = match (access, category) {
                ("dcf", _) => json!({"dcf": keys}),
                (_, category) => json!({"edca": {category.unwrap_or("be"): keys}}),
            };
            let static_cell = set(cell.clone(), "stations[0].mac", own);
            let dynamic = changed(cell.clone(), json!([change]));
            close(ratio(&dynamic), ratio(&static_cell), 0.1);
            assert!(ratio(&cell) / ratio(&dynamic) > 1.2, "{access} {keys}");

            let late = changed(cell.clone(), json!([set(change, "at", json!("15 s"))]));
            let end = Span::from_secs(15) - Span::from_nanos(1);
            assert_eq!(up_to(&late, end), up_to(&cell, end));
            let later = end + Span::from_secs(1);
            assert_ne!(up_to(&late, later), up_to(&cell, later));
        }
    }

    let edca = cell("edca");
    let change = |keys: Value| with(&json!({"at": "1 s", "station": "a"}), &keys);
    change_refused(&edca, change(json!({"aifsn": 16})), "changes[0].aifsn", "expected 1 to 15");
    change_refused(&edca, change(json!({"cw_min": 15})), "changes[0]", "`cw_max` is needed");
    change_refused(&edca, change(json!({"cw_max": 15})), "changes[0]", "`cw_min` is needed");
    let crossed = json!({"cw_min": 31, "cw_max": 15});
    change_refused(&edca, change(crossed), "changes[0].cw_max", "cannot be smaller");
    let power = json!({"cw_min": 20, "cw_max": 31});
    change_refused(&edca, change(power), "changes[0].cw_min", "power of two");
    let category = json!({"aifsn": 3, "category": "be"});
    change_refused(&cell("dcf"), change(category), "changes[0].category", "no access categories");
}

/// An entry at 0 s applies before the first packet: the run is the run with these parameters from the beginning, to the
/// last packet. Light traffic has many packets that need no backoff, and first backoffs with no failure before.
#[test]
fn channel_access_that_changes_at_zero_is_that_of_the_first_packet() {
    let source = json!({"source": "poisson", "packet_rate": "100 packets/s", "to": "sink"});
    let cell = |access: &str| {
        let flow = |from: &str| set(set(source.clone(), "from", json!(from)), "name", json!(from));
        json!({
            "duration": "100 ms",
            "warm_up": "0 s",
            "phy": {"standard": "802.11a", "rate": "6 Mb/s"},
            "mac": {"access": access},
            "stations": [{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "sink"}],
            "flows": [flow("a"), flow("b"), flow("c")],
        })
    };
    for access in ["edca", "dcf"] {
        for keys in [
            json!({"aifsn": 15}),
            json!({"cw_min": 0, "cw_max": 1023}),
            json!({"cw_min": 255, "cw_max": 1023}),
            json!({"cw_min": 0, "cw_max": 0}),
        ] {
            let of_entry = json!({"at": "0 s", "station": "a"});
            let entry = keys.as_object().unwrap().iter();
            let entry = entry.fold(of_entry, |entry, (key, value)| set(entry, key, value.clone()));
            let own = match access {
                "dcf" => json!({"dcf": keys}),
                _ => json!({"edca": {"be": keys}}),
            };
            let from_the_start = set(cell(access), "stations[0].mac", own);
            for seed in 1..20 {
                let dynamic = results(&changed(cell(access), json!([entry])), seed);
                assert_eq!(dynamic, results(&from_the_start, seed), "{access} {keys}, seed {seed}");
            }
        }
    }
}

/// Only the hops of the link change: a first hop at 2 Mb/s and a second at 11 Mb/s differ from both hops at 2 Mb/s.
#[test]
fn a_rate_is_that_of_one_link() {
    let one = changed(
        row("11 Mb/s", overload()),
        json!([{"at": "0 s", "link": ["b", "a"], "rate": "2 Mb/s"}]),
    );
    let mut described = row("11 Mb/s", overload());
    // Between two stations the lower rate applies: the rate of `a` affects its hop only.
    described["stations"][0]["rate"] = json!("2 Mb/s");
    assert_eq!(up_to(&one, Span::from_secs(9)), up_to(&described, Span::from_secs(9)));
}

/// Five seconds of overload have filled the queues before counting begins.
#[test]
fn limits_that_change_leave_static_queues() {
    for limit in ["5 packets", "80 packets"] {
        let change = json!([{"at": "1 s", "station": "a", "queue_limit": limit}]);
        let dynamic = results(&changed(row("11 Mb/s", overload()), change), 1);
        let mut described = row("11 Mb/s", overload());
        described["stations"][0]["queue"] = json!({"limit": limit});
        let described = results(&described, 2);
        for name in ["length_max_packets", "length_mean_packets", "sojourn_mean_s"] {
            let of = |results: &Value| figure(results, "queues", "a", name);
            close(of(&dynamic), of(&described), 0.03);
        }
    }
}

/// Packets above a new limit are sent, not dropped; the ring behind the queue keeps its own limit.
#[test]
fn a_lower_limit_costs_arrivals_only() {
    for queue in [json!({"ring": "3 packets"}), json!({"ring": "3 packets", "discipline": "drr"})] {
        let mut scenario =
            row("11 Mb/s", json!({"source": "cbr", "rate": "2 Mb/s", "stop": "2 s"}));
        scenario["queue"] = queue;
        scenario["queue"]["limit"] = json!("1000 packets");
        scenario["warm_up"] = json!("0 s");
        scenario["changes"] = json!([{"at": "2 s", "station": "a", "queue_limit": "1 packet"}]);
        let results = results(&scenario, 1);
        let (delivered, offered) =
            (both(&results, "delivered_packets"), both(&results, "offered_packets"));
        assert!(figure(&results, "queues", "a", "length_max_packets") > 50.0);
        assert_eq!((delivered, both(&results, "queue_dropped_packets")), (offered, 0.0));
    }
}

/// With per-flow queues only the named flow gets the new limit; with per-link queues both flows of the link do.
#[test]
fn a_flow_gets_a_limit_of_its_own() {
    for (by, most) in [("flow", 50.0 + 10.0), ("link", 10.0)] {
        let mut scenario = row("11 Mb/s", overload());
        scenario["queue"] = json!({"discipline": "drr", "drr": {"queue_per": by}});
        scenario["changes"] =
            json!([{"at": "0 s", "station": "a", "flow": "one", "queue_limit": "10 packets"}]);
        let results = results(&scenario, 1);
        assert_eq!(figure(&results, "queues", "a", "length_max_packets"), most, "{by}");
    }
}

#[test]
fn a_seed_decides_a_run_with_changes() {
    let scenario = changed(
        row("11 Mb/s", json!({"source": "tcp"})),
        json!([
            {"at": "3 s", "link": ["a", "b"], "rate": "1 Mb/s"},
            {"at": "3 s", "station": "b", "queue_limit": "2 packets"},
            {"at": "6 s", "link": ["a", "b"], "rate": "5.5 Mb/s"},
        ]),
    );
    assert_eq!(results(&scenario, 3), results(&scenario, 3));
    assert_ne!(results(&scenario, 3), results(&scenario, 4));
}

#[track_caller]
fn refused(change: Value, start: &str, part: &str) {
    change_refused(&row("11 Mb/s", overload()), change, start, part);
}

#[test]
fn what_cannot_change_is_refused() {
    let link = |key: &str, value: Value| {
        set(json!({"at": "1 s", "link": ["a", "b"], "rate": "2 Mb/s"}), key, value)
    };
    let limit = |key: &str, value: Value| {
        set(json!({"at": "1 s", "station": "b", "queue_limit": "5 packets"}), key, value)
    };
    refused(link("at", Value::Null), "changes[0]", "missing key `at`");
    refused(link("at", json!("25.1 s")), "changes[0].at", "ends 25 s after");
    refused(link("at", json!("-1 s")), "changes[0].at", "\"-1 s\"");
    refused(link("rate", json!("3 Mb/s")), "changes[0].rate", "3");
    refused(link("rate", Value::Null), "changes[0]", "`rate` is needed");
    refused(link("link", Value::Null), "changes[0]", "`link` or `station` or `host` is needed");
    refused(link("link[1]", json!("z")), "changes[0].link[1]", "no station or group \"z\"");
    refused(link("link[1]", json!("c")), "changes[0].link", "no flow goes from \"a\" to \"c\"");
    refused(link("link[1]", json!("a")), "changes[0].link", "no flow goes from \"a\" to \"a\"");
    refused(link("link", json!(["a"])), "changes[0].link", "");
    refused(link("station", json!("b")), "changes[0]", "leave `link` or `station` out");
    refused(link("queue_limit", json!("5 packets")), "changes[0]", "`station` is needed");
    refused(link("flow", json!("one")), "changes[0]", "`station` or `via` is needed");
    refused(json!({"at": "1 s"}), "changes[0]", "it changes nothing");
    refused(json!({"at": "1 s", "queue_limit": "1 packet"}), "changes[0]", "`station` is needed");
    refused(limit("station", json!("z")), "changes[0].station", "no station or group \"z\"");
    refused(limit("queue_limit", Value::Null), "changes[0]", "`away` or `position` is needed");
    refused(limit("queue_limit", json!("0 packets")), "changes[0].queue_limit", "at least 1");
    refused(limit("queue_limit", json!("1499 B")), "changes[0]", "need room for 1500");
    refused(limit("rate", json!("3 Mb/s")), "changes[0].rate", "3");
    refused(limit("loss", json!(0.1)), "changes[0]", "`host` is needed");
    refused(limit("flow", json!("one")), "changes[0].flow", "keeps no flows apart");
    refused(limit("power", json!("1 W")), "changes[0].power", "unknown key");
    let drr = set(row("11 Mb/s", overload()), "queue", json!({"discipline": "drr"}));
    let flow = |name: &str| limit("flow", json!(name));
    change_refused(&drr, flow("nobody's"), "changes[0].flow", "no flow \"nobody's\"");
    let last = set(flow("one"), "station", json!("c"));
    change_refused(&drr, last, "changes[0].flow", "\"c\" does not send");
    let mut group = drr;
    group["stations"][1]["count"] = json!(1);
    group["flows"][0]["via"] = json!(["b1"]);
    group["flows"][1]["via"] = json!(["b1"]);
    change_refused(&group, flow("one"), "changes[0].station", "\"b\" is a group");
    change_refused(&group, link("at", json!("1 s")), "changes[0].link[1]", "\"b\" is a group");
    let controlled = set(row("11 Mb/s", overload()), "phy", json!({"standard": "802.11b"}));
    let controlled = set(controlled, "phy.rate_control", json!("aarf"));
    change_refused(&controlled, link("at", json!("1 s")), "changes[0].rate", "rate control looks");
}

#[test]
fn a_change_leaves_room_for_saturated_flows() {
    let scenario = row("11 Mb/s", json!({}));
    let change = |limit: &str| json!([{"at": "1 s", "station": "a", "queue_limit": limit}]);
    results(&changed(scenario.clone(), change("2 packets")), 1);
    let refusal = refusal_of(changed(scenario, change("1 packet")));
    assert!(refusal.starts_with("changes[0]: ") && refusal.contains("room for 2"), "{refusal}");
}
