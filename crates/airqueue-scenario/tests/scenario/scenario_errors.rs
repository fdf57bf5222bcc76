//! Invalid scenarios: every error names the key, what was found and what would be right.

use crate::scenarios::{full, refusal_of, set, value_refused};
use airqueue_core::Span;
use airqueue_qdisc::Discipline;
use airqueue_scenario::Scenario;
use serde_json::{Value, json};

/// Asserts that the error begins with `start` and contains `part`.
#[track_caller]
fn refused(key: &str, value: Value, start: &str, part: &str) {
    value_refused(&full(), key, value, start, part);
}

#[test]
fn quantities_have_units() {
    refused("duration", json!(30), "duration: ", "30 has no unit");
    refused("duration", json!("30"), "duration: ", "has no unit");
    refused("duration", json!("30 m"), "duration: ", "\"m\"");
    refused("duration", json!("30 Mb/s"), "duration: ", "ns, us");
    refused("duration", json!(""), "duration: ", "such as \"30 s\"");
    refused("duration", json!("nan s"), "duration: ", "not a length of time");
    refused("duration", json!("inf s"), "duration: ", "not a length of time");
    refused("duration", json!("-1 s"), "duration: ", "not a length of time");
    refused("duration", json!(true), "duration: ", "such as \"30 s\"");
    refused("phy.rate", json!(11.0), "phy.rate: ", "Mb/s");
    refused("queue.limit", json!("1.5 packets"), "queue.limit: ", "whole number");
    refused("flows[0].size", json!("1500 packets"), "flows[0].size: ", "B, kB, MB");
    refused("stations[0].position[1]", json!(3), "stations[0].position[1]: ", "m, cm or km");
}

#[test]
fn durations_are_positive_and_far_from_the_clocks_end() {
    refused("duration", json!("0 s"), "duration: ", "at least 1 ns");
    refused("duration", json!("0.1 ns"), "duration: ", "at least 1 ns");
    refused("duration", json!("1e10 s"), "duration: ", "at most 1e9 s");
    refused("duration", json!("1e999 h"), "duration: ", "at most 1e9 s");
    refused("duration", json!("1e9 s"), "duration: ", "with the warm-up");
}

#[test]
fn keys_words_and_shapes_are_those_of_the_format() {
    refused("durations", json!("1 s"), "durations: unknown key", "`duration`");
    refused("flows[1].form", json!("ap"), "flows[1].form: unknown key", "`from`");
    refused("phy.standard", json!("802.11p"), "phy.standard: unknown word", "`802.11g`");
    refused("phy", json!(["802.11g"]), "phy: ", "expected a table of keys");
    refused("stations[1]", json!("sta"), "stations[1]: ", "expected a table of keys");
    refused("mac.edca.vo", json!([2]), "mac.edca.vo: ", "expected a table of keys");
    refused("medium.capture", json!("all"), "medium.capture", "`none`, `margin`, `sinr`");
    let two_ray = "write `path_loss = {two_ray = ...}`";
    refused("medium.path_loss", json!("two_ray"), "medium.path_loss: `two_ray` has", two_ray);
    refused("medium.errors", json!(0.1), "medium.errors: wrong type: found `0.1`,", "or a table");
    refused("medium.errors", json!({}), "medium.errors: found a table,", "with a single key");
    for (key, value) in [("loss", "a number"), ("away", "true or false")] {
        let change = json!([{"at": "1 s", "host": "server", key: "abc"}]);
        let start = format!("changes[0].{key}: wrong type: found \"abc\",");
        refused("changes", change, &start, &format!("expected {value}"));
    }
    refused("stations", json!({}), "stations: wrong type: found a table,", "expected a");
    let slow = json!({"sinr": {"threshold": "4 dB", "preamble_detection": "17 us"}});
    refused("medium.capture", slow, "medium.capture.sinr.preamble_detection: ", "0.000017");
    refused("mac.short_retry_limit", json!(-1), "mac.short_retry_limit: ", "whole number");
    refused("stations[1].count", json!(1e10), "stations[1].count: ", "whole number");
    let refusal = refusal_of(json!([1]));
    assert!(refusal.contains("a table of keys"), "{refusal}");
    assert!(Scenario::from_json("{").is_err());
    let refusal = refusal_of(json!({"stations": []}));
    assert_eq!(refusal, "missing key `phy`");
}

#[test]
fn rates_and_keys_that_a_layer_lacks_are_refused() {
    refused("phy.rate", json!("22 Mb/s"), "phy.rate: ", "54");
    refused("phy.control_rate", json!("7 Mb/s"), "phy.control_rate: ", "54");
    refused("phy.basic_rates", json!(["6 Mb/s"]), "phy.basic_rates: ", "phy.control_rate");
    refused("phy.standard", json!("802.11a"), "phy.preamble: ", "802.11a");
    refused("flows[1].phy_rate", json!("3 Mb/s"), "flows[1].phy_rate: ", "54");
    refused("stations[1].rate", json!("3 Mb/s"), "stations[1].rate: ", "54");
    refused("mac.protection_rate", json!("3 Mb/s"), "mac.protection_rate: ", "54");
}

#[test]
fn networks_that_ns2_lacks_are_refused() {
    refused("behaviour", json!("ns2"), "phy.standard: ", "802.11b");
    let b = |phy: Value, mac: Value| {
        let stations = json!([{"name": "a"}, {"name": "b"}]);
        json!({"behaviour": "ns2", "phy": phy, "mac": mac, "stations": stations})
    };
    let refusal = refusal_of(b(json!({"standard": "802.11b", "preamble": "short"}), json!({})));
    assert!(refusal.starts_with("phy.preamble: "), "{refusal}");
    let refusal =
        refusal_of(b(json!({"standard": "802.11b", "basic_rates": ["1 Mb/s"]}), json!({})));
    assert!(refusal.starts_with("phy.basic_rates: "), "{refusal}");
    let refusal = refusal_of(b(json!({"standard": "802.11b"}), json!({"access": "edca"})));
    assert!(refusal.starts_with("mac.access: "), "{refusal}");
}

#[test]
fn contention_keeps_to_the_standard_unless_it_is_experimental() {
    let legal = |key: &str, value: Value| {
        let scenario = set(full(), "mac.experimental", json!(true));
        Scenario::from_json(&set(scenario, key, value).to_string()).unwrap();
    };
    for (key, value) in [
        ("mac.edca.be.aifsn", json!(16)),
        ("mac.edca.be.cw_min", json!(20)),
        ("mac.edca.be.countdown", json!("freeze")),
    ] {
        refused(key, value.clone(), &format!("{key}: "), "mac.experimental = true");
        legal(key, value);
    }
    refused("mac.edca.be.aifsn", json!(0), "mac.edca.be.aifsn: ", "1 to 15");
    refused("mac.edca.be.cw_min", json!(2047), "mac.edca.be.cw_max: ", "cw_max is 1023");
    refused("mac.edca.vo.cw_max", json!(1), "mac.edca.vo.cw_max: ", "cw_min is 3");
    refused("mac.edca.vo.txop", json!("2098 ms"), "mac.edca.vo.txop: ", "2097120 us");
    refused("mac.edca.vo.txop", json!("0 packets"), "mac.edca.vo.txop: ", "at least 1");
    refused(
        "mac.edca.vo.txop",
        json!("flow"),
        "mac.edca.vo.txop: ",
        "\"3.008 ms\", \"2 packets\" or \"flows\"",
    );
    refused("mac.long_retry_limit", json!(0), "mac.long_retry_limit: ", "at least 1");
    // The largest values of windows, not their numbers of values.
    refused(
        "stations[3].mac.dcf.cw_min",
        json!(32),
        "stations[3].mac.dcf.cw_min: ",
        "power of two",
    );
    let values =
        Scenario::from_json(&set(full(), "stations[3].mac.dcf.cw_min", json!(31)).to_string());
    let old = values.unwrap().wlan().stations.last().unwrap().mac.clone();
    assert_eq!(old.categories[0].w_min, 32);
}

#[test]
fn parameters_that_nobody_uses_are_refused() {
    refused("mac.access", json!("dcf"), "stations[0].mac.edca: ", "DCF");
    let scenario = set(set(full(), "stations[0].mac", json!({})), "mac.access", json!("dcf"));
    let refusal = refusal_of(scenario);
    assert!(refusal.starts_with("mac.edca: no station"), "{refusal}");
    refused("stations[1].mac", json!({"dcf": {}}), "stations[1].mac.dcf: ", "EDCA");
    refused("stations[3].mac.edca", json!({}), "stations[3].mac.edca: ", "DCF");
    refused("flows[2].category", json!("vo"), "flows[2].category: ", "DCF");
}

#[test]
fn stations_have_names_of_their_own_and_a_bounded_number() {
    refused("stations", json!([]), "stations: ", "at least one");
    refused("stations[1].name", json!("ap"), "stations[1].name: ", "\"ap\"");
    refused("stations[3].name", json!("sta2"), "stations[3].name: ", "\"sta2\"");
    refused("stations[1].name", json!("a.b"), "stations[1].name: ", "letters");
    refused("stations[1].name", json!(""), "stations[1].name: ", "letters");
    refused("stations[1].count", json!(0), "stations[1].count: ", "at least 1");
    refused(
        "stations[1].count",
        json!(4_000_000_000u32),
        "stations[1].count: ",
        "more than 100000",
    );
    let crowd =
        json!({"phy": {"standard": "802.11a"}, "stations": [{"name": "sta", "count": 100_000}]});
    let refusal = refusal_of(crowd);
    assert!(refusal.starts_with("stations: "), "{refusal}");
    refused("queue.ring", json!("10000000 packets"), "stations[0].queue.ring: ", "together");
}

#[test]
fn flows_go_from_a_station_to_another_in_reach() {
    refused("flows[0].from", json!("nobody"), "flows[0].from: ", "\"nobody\"");
    refused("flows[0].to", json!("nobody"), "flows[0].to: ", "\"nobody\"");
    refused("flows[0].to", json!("sta"), "flows[0].to: ", "itself");
    refused("flows[1].to", json!("ap"), "flows[1].to: ", "itself");
    refused("flows[0]", json!({"from": "sta", "to": "far1"}), "flows[0].to: ", "out of reach");
    refused("flows[3].name", json!("legacy"), "flows[3].name: ", "\"legacy\"");
    refused("flows[3].name", json!(""), "flows[3].name: ", "characters");
    refused("flows[3].name", json!("two\nlines"), "flows[3].name: ", "one line");
    let more = json!([{"name": "one", "count": 2}, {"name": "two", "count": 3}]);
    let scenario = json!({
        "phy": {"standard": "802.11b"}, "stations": more, "flows": [{"from": "one", "to": "two"}]
    });
    let refusal = refusal_of(scenario);
    assert!(refusal.starts_with("flows[0].to: ") && refusal.contains("equally large"), "{refusal}");
}

#[test]
fn sources_and_queues_fit_each_other() {
    refused("flows[1].size", json!("4096 B"), "flows[1].size: ", "20 to 4057 B");
    refused("flows[1].size", json!("19 B"), "flows[1].size: ", "20 to");
    refused("flows[1].rate", json!("0 b/s"), "flows[1].rate: ", "from 1 b/s");
    refused("flows[1].packet_rate", json!("9 packets/s"), "flows[1].packet_rate: ", "rate");
    refused("flows[1].source", json!("saturated"), "flows[1].source: ", "no rate");
    refused("flows[0].source", json!("poisson"), "flows[0]: ", "`packet_rate`");
    refused("flows[1].stop", json!("1 ms"), "flows[1].stop: ", "after its start");
    refused("queue.limit", json!("0 packets"), "queue.limit: ", "at least 1");
    refused("queue.limit", json!("100 B"), "flows[0]: ", "holds 100 B");
    let outside = |more: Value| {
        let mut flow = json!({"from": "sta", "to": "ap", "source": "external"});
        flow.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        flow
    };
    refused("flows[0]", outside(json!({"rate": "1 Mb/s"})), "flows[0]: ", "from outside");
    refused("flows[0]", outside(json!({"start": "1 s"})), "flows[0].start: ", "from outside");
    refused("flows[0]", outside(json!({"stop": "1 s"})), "flows[0].stop: ", "from outside");
    let full = set(full(), "queue.limit", json!("1 packet"));
    let two = json!([{"from": "sta1", "to": "ap"}, {"name": "x", "from": "sta1", "to": "ap"}]);
    let refusal = refusal_of(set(full, "flows", two));
    assert!(refusal.starts_with("flows[1]: ") && refusal.contains("room for 2"), "{refusal}");
}

#[test]
fn places_are_given_where_they_are_needed_and_nowhere_else() {
    refused("medium", json!({}), "stations[0].position: ", "medium.ranges");
    refused("stations[0].position", Value::Null, "stations[0]: ", "`position`");
    refused("stations[0].circle", json!("1 m"), "stations[0]: ", "count");
    refused("stations[1].step", json!(["1 m", "1 m"]), "stations[1]: ", "more than one");
    refused("stations[1].circle", Value::Null, "stations[1]: ", "`circle`");
    let alone = json!({"columns": 0, "spacing": "1 m"});
    let scenario = set(set(full(), "stations[1].circle", Value::Null), "stations[1].grid", alone);
    let refusal = refusal_of(scenario);
    assert!(refusal.starts_with("stations[1].grid.columns: "), "{refusal}");
    let scenario = set(full(), "medium", json!({"ranges": {"decode": "9 m"}}));
    let refusal = refusal_of(scenario);
    assert!(refusal.starts_with("stations[0].power: "), "{refusal}");
}

#[test]
fn a_medium_has_one_description() {
    let ranges = json!({"decode": "10 m", "sense": "5 m"});
    refused("medium.ranges", ranges.clone(), "medium: ", "more than one");
    let scenario =
        set(set(full(), "medium", json!({"ranges": ranges})), "stations[0].power", Value::Null);
    let refusal = refusal_of(scenario);
    assert!(
        refusal.starts_with("medium: ") && refusal.contains("carrier-sense range"),
        "{refusal}"
    );
    let log = json!({"log_distance": {"exponent": 3, "reference_loss": "40 dB"}});
    let scenario = set(set(full(), "medium.path_loss", log), "medium.thresholds", Value::Null);
    let refusal = refusal_of(scenario);
    assert!(refusal.starts_with("medium: ") && refusal.contains("`thresholds`"), "{refusal}");
    let noise = json!("-90 dBm");
    refused("medium.noise", noise, "medium.noise_figure: ", "medium.noise");
    refused("medium.errors", json!({"frame": 1.5}), "medium.errors.frame: ", "0 to 1");
    refused("medium.errors", json!({"frame": 0.1, "bit": 0.1}), "medium.errors: ", "single key");
}

#[test]
fn links_are_between_two_stations_and_listed_once() {
    let linked = |links: Value| {
        let stations = json!([{"name": "a"}, {"name": "b"}, {"name": "c", "count": 2}]);
        json!({"phy": {"standard": "802.11b"}, "stations": stations, "medium": {"links": links}})
    };
    let passes = json!([{"from": "a", "to": "b"}, {"from": "c", "to": "c", "level": "sense"}]);
    let scenario = Scenario::from_json(&linked(passes).to_string()).unwrap();
    assert_eq!(scenario.wlan().reach.links(), 4);
    let cases = [
        (json!([{"from": "a", "to": "a"}]), "medium.links[0]: "),
        (json!([{"from": "a", "to": "x"}]), "medium.links[0].to: "),
        (json!([{"from": "a", "to": "b"}, {"from": "b", "to": "a"}]), "medium.links[1]: "),
        (
            json!([{"from": "a", "to": "b"}, {"from": "b", "to": "c", "power": "1 mW"}]),
            "medium.links[1].power: ",
        ),
    ];
    for (links, start) in cases {
        let refusal = refusal_of(linked(links));
        assert!(refusal.starts_with(start), "{refusal}");
    }
    for key in ["errors", "capture"] {
        let value = match key {
            "errors" => json!("snr"),
            _ => json!({"sinr": {"threshold": "4 dB"}}),
        };
        let refusal = refusal_of(set(linked(json!([])), &format!("medium.{key}"), value));
        assert!(refusal.contains("received powers"), "{refusal}");
    }
}

#[test]
fn a_queue_has_the_keys_of_its_discipline() {
    let queue = "stations[1].queue";
    refused(&format!("{queue}.discipline"), json!("fifo"), "", "`fq_codel`");
    let other = format!("{queue}.red");
    refused(
        &other,
        json!({}),
        &format!("{other}: "),
        "discipline \"codel\"; give discipline = \"red\"",
    );
    let drop_from = format!("{queue}.drop_from");
    refused(&drop_from, json!("head"), &format!("{drop_from}: "), "\"codel\"; leave it out");
    refused("queue.pie", json!({}), "queue.pie: ", "no queue has");
    let key = format!("{queue}.codel.quantum");
    refused(&key, json!("300 B"), &format!("{key}: unknown key"), "`interval`");
    // The scenario's table is for the stations that use it; a station's own table overrides it.
    let scenario = set(full(), "queue.codel", json!({"target": "1 ms", "interval": "50 ms"}));
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
    let Discipline::Codel(params) = scenario.wlan().stations[1].queues[0].discipline else {
        panic!("sta1 has CoDel");
    };
    assert_eq!(params.target, Span::from_millis(20));
}

#[test]
fn disciplines_have_parameters_that_make_sense() {
    let out_of_range = |key: &str, value: Value, part: &str| {
        refused(key, value, &format!("{key}: "), part);
    };
    out_of_range("stations[1].queue.codel.interval", json!("1 us"), "at least \"1 ms\"");
    let fq = "stations[2].queue";
    let memory = format!("{fq}.fq_codel.memory_limit");
    let both = set(full(), &memory, json!("4000 kB"));
    let refusal = refusal_of(set(both, &format!("{fq}.limit"), json!("75 kB")));
    assert!(refusal.starts_with(&memory) && refusal.contains("leave one"), "{refusal}");
    out_of_range(&format!("{fq}.fq_codel.flows"), json!(0), "1 to 65536");
    out_of_range(&format!("{fq}.fq_codel.flows"), json!(65_537), "1 to 65536");
    out_of_range(&format!("{fq}.fq_codel.quantum"), json!("255 B"), "at least \"256 B\"");
    out_of_range(&format!("{fq}.fq_codel.drop_batch"), json!("0 packets"), "at least \"1 packet\"");
    let red = "stations[3].queue.red";
    out_of_range(&format!("{red}.max"), json!("45 packets"), "another unit than min");
    out_of_range(&format!("{red}.max"), json!("15 kB"), "more than min");
    out_of_range(&format!("{red}.probability"), json!(1.5), "0 to 1");
    out_of_range(&format!("{red}.burst"), json!("14 packets"), "at least as many as min, 15.0");
    refused(&format!("{red}.weight"), json!(0.1), &format!("{red}.burst: "), "leave one");
    let with = |queue: Value, key: &str, part: &str| {
        // No other discipline has `drop_from`.
        let others = set(full(), "queue.drop_from", Value::Null);
        let refusal = refusal_of(set(others, "stations[0].queue", queue));
        assert!(refusal.starts_with(key) && refusal.contains(part), "{refusal}");
    };
    let pie = |key: &str, value: Value| json!({"discipline": "pie", "pie": {key: value}});
    with(pie("update", json!("10 us")), "stations[0].queue.pie.update: ", "at least \"1 ms\"");
    with(pie("alpha", json!(-1)), "stations[0].queue.pie.alpha: ", "0 to 1000");
    with(pie("mark_up_to", json!(2)), "stations[0].queue.pie.mark_up_to: ", "0 to 1");
    let sfq = |key: &str, value: Value| json!({"discipline": "sfq", "sfq": {key: value}});
    with(sfq("depth", json!(128)), "stations[0].queue.sfq.depth: ", "1 to 127");
    with(sfq("flows", json!(0)), "stations[0].queue.sfq.flows: ", "1 to 65408");
    with(sfq("divisor", json!(65_537)), "stations[0].queue.sfq.divisor: ", "1 to 65536");
    with(sfq("perturb", json!("0 s")), "stations[0].queue.sfq.perturb: ", "at least \"1 ms\"");
    let cake = |key: &str, value: Value| json!({"discipline": "cake", "cake": {key: value}});
    with(
        cake("overhead", json!("257 B")),
        "stations[0].queue.cake.overhead: ",
        "at most \"256 B\"",
    );
    with(cake("rtt", json!("1 us")), "stations[0].queue.cake.rtt: ", "at least \"1 ms\"");
    with(cake("tins", json!("diffserv5")), "stations[0].queue.cake.tins", "`diffserv4`");
    refused("flows[0].dscp", json!("AF44"), "flows[0].dscp", "AF11 to AF43");
    let drr = json!({"discipline": "drr", "drr": {"quantum": "1 B"}});
    with(drr, "stations[0].queue.drr.quantum: ", "at least \"64 B\"");
    let rdqm = json!({"discipline": "rdqm", "rdqm": {"expiry_rtts": 1001}});
    with(rdqm, "stations[0].queue.rdqm.expiry_rtts: ", "at most 1000");
    let turns = json!({"discipline": "mac80211", "mac80211": {"airtime_quantum": "10 ns"}});
    with(turns, "stations[0].queue.mac80211.airtime_quantum: ", "at least \"50 us\"");
    let kind = "flows[0].rdqm_rtt_kind";
    refused(kind, json!("base"), kind, "nothing without rdqm_rtt");
    let adaptive =
        |key: &str, value: &str| json!({"discipline": "adaptive", "adaptive": {key: value}});
    with(adaptive("window", "0 s"), "stations[0].queue.adaptive.window: ", "at least \"1 ms\"");
    // A packet of 1500 bytes must always fit.
    with(adaptive("floor", "1 kB"), "flows[1]", "holds 1000 B");
    refused(&memory, json!("1 kB"), "flows[3]", "holds 1000 B");
}

/// A saturated source would replace each packet that RED drops at once.
#[test]
fn saturated_flows_and_red_do_not_go_together() {
    let red = json!({"discipline": "red"});
    let refusal = refusal_of(set(full(), "stations[1].queue", red));
    assert!(refusal.starts_with("flows[0].source: ") && refusal.contains("a rate"), "{refusal}");
}

#[test]
fn memory_for_flow_queues_is_bounded() {
    let stations = json!([{"name": "a", "count": 10_000}, {"name": "b"}]);
    let queue = json!({"discipline": "fq_codel"});
    let scenario = json!({"phy": {"standard": "802.11b"}, "queue": queue, "stations": stations});
    let refusal = refusal_of(scenario);
    assert!(refusal.starts_with("stations[0].queue.fq_codel.flows: "), "{refusal}");
}

#[test]
fn queues_in_a_few_letters_are_queues() {
    let queues = |value: Value| {
        let scenario = Scenario::from_json(&set(full(), "queue", value).to_string()).unwrap();
        let stations = &scenario.wlan().stations;
        stations.iter().map(|station| format!("{:?}", station.queues)).collect::<Vec<_>>()
    };
    for (text, table) in [
        ("pfifo:100", json!({"limit": "100 packets"})),
        ("bfifo:150kB", json!({"limit": "150 kB"})),
        ("pfifo_head_drop:30", json!({"limit": "30 packets", "drop_from": "head"})),
        ("fq_codel", json!({"discipline": "fq_codel"})),
        ("codel:1000 packets", json!({"discipline": "codel", "limit": "1000 packets"})),
    ] {
        assert_eq!(queues(json!(text)), queues(table), "{text}");
    }
    refused("queue", json!("fifo:5"), "queue: ", "\"fifo:5\" is no queue; write a discipline");
    refused("stations[0].queue", json!("codel:5"), "stations[0].queue: ", "packets or bytes");
    refused("queue", json!("pfifo:0"), "queue: ", "at least 1 packet");
    refused("queue", json!(5), "queue: ", "a table of keys, or a queue such as \"pfifo:100\"");
}
