//! Beacons, sleep and packets to all stations in scenarios.

use crate::figures::{number, results};
use crate::scenarios::refusal_of;
use serde_json::{Value, json};

/// An access point with beacons, a phone that sleeps, and a laptop.
fn home() -> Value {
    json!({
        "duration": "200 s",
        "phy": {"standard": "802.11n", "width": "20 MHz"},
        "beacons": [{"station": "ap", "first": "5 ms", "aifsn": 1, "cw": 0}],
        "stations": [
            {"name": "ap"},
            {"name": "phone", "power_save": {}},
            {"name": "laptop"}
        ],
        "flows": [
            {"name": "down", "from": "ap", "to": "phone", "source": "cbr",
             "packet_rate": "1.7 packets/s", "size": "200 B"},
            {"name": "all", "from": "ap", "to": "*", "source": "cbr",
             "packet_rate": "3.3 packets/s", "size": "500 B"}
        ]
    })
}

#[test]
fn figures_say_how_beacons_and_sleep_go() {
    let all = results(&home(), 1);
    let beacons = &all["beacons"]["ap"];
    assert!((1953..=1954).contains(&beacons["sent"].as_u64().unwrap()), "200 s / 102.4 ms");
    // 20 µs preamble, and symbols of 4 µs with 24 bits at 6 Mb/s for 16 + 300 · 8 + 6 bits: 424 µs.
    let airtime = number(&beacons["sent"]) * 424e-6 / 200.0;
    assert!((number(&beacons["airtime_ratio"]) - airtime).abs() < 1e-9);
    assert_eq!(beacons["skipped"], 0);
    assert!((659..=661).contains(&beacons["group_packets"].as_u64().unwrap()));
    let sleep = &all["sleep"]["phone"];
    assert!((0.5..1.0).contains(&number(&sleep["asleep_ratio"])), "{sleep}");
    assert_eq!(sleep["dropped_packets"], 0);
    assert!(number(&sleep["kept_packets"]) > 300.0, "{sleep}");
    // Packets come at all times of a beacon interval alike; then follow the beacon, perhaps a packet to all, and the
    // phone's request. Quantiles are within a 64th.
    for (name, share) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0)] {
        let (kept, even) = (number(&sleep[format!("kept_{name}_s")]), share * 0.1024);
        let range = even * (1.0 - 1.0 / 64.0) - 1e-3..even * (1.0 + 1.0 / 64.0) + 3e-3;
        assert!(range.contains(&kept), "{name}: {sleep}");
    }
    assert!((number(&sleep["kept_sd_s"]) * 12f64.sqrt() / 0.1024 - 1.0).abs() < 0.02, "{sleep}");
    let delay = number(&all["flows"]["down"]["delay_mean_s"]);
    assert!((0.03..0.06).contains(&delay), "half a beacon interval: {delay}");
    let to_all = &all["flows"]["all"];
    assert!(number(&to_all["delay_max_s"]) < 2.1 * 0.1024, "a DTIM comes every 204.8 ms");
    assert_eq!(to_all["given_up_packets"], 0);
    assert_eq!(all["beacons"].as_object().unwrap().len(), 1);
    assert_eq!(all["sleep"].as_object().unwrap().len(), 1);
}

/// Beside a saturated laptop: a beacon that is due in the frame, its ACK and PIFS of a cycle begins at the end of that, and
/// any other at once. 9766 beacons: four standard errors of a quantile q are 4 √(q (1 - q) / 9766) of a cycle.
#[test]
fn figures_say_how_late_beacons_are() {
    let scenario = json!({
        "duration": "1000 s",
        "phy": {"standard": "802.11b", "rate": "11 Mb/s", "control_rate": "2 Mb/s"},
        "beacons": [{"station": "ap", "aifsn": 1, "cw": 0}],
        "stations": [{"name": "ap"}, {"name": "laptop"}],
        "flows": [{"from": "laptop", "to": "ap"}]
    });
    let beacons = results(&scenario, 1)["beacons"]["ap"].clone();
    // Data, SIFS, ACK; PIFS; DIFS and the mean backoff.
    let exchange = (192.0 + (1536.0f64 * 8.0 / 11.0).ceil() + 10.0 + 192.0 + 56.0) * 1e-6;
    let (held, cycle) = (exchange + 30e-6, exchange + 50e-6 + 15.5 * 20e-6);
    for (name, q) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
        let (found, expected) =
            (number(&beacons[format!("delay_{name}_s")]), held - (1.0 - q) * cycle);
        let chance = 4.0 * (q * (1.0 - q) / 9766.0f64).sqrt() * cycle;
        assert!((found - expected).abs() < expected / 64.0 + chance, "{name}: {beacons}");
    }
    let longest = number(&beacons["delay_max_s"]);
    assert!((0.995 * held..=held + 1e-9).contains(&longest), "{beacons}");
    let mean = held * held / (2.0 * cycle);
    let sd = (held.powi(3) / (3.0 * cycle) - mean * mean).sqrt();
    // The standard error of a mean is at most a hundredth of the deviation, which has about half of that.
    assert!((number(&beacons["delay_mean_s"]) - mean).abs() < 0.04 * sd, "{beacons}");
    assert!((number(&beacons["delay_sd_s"]) - sd).abs() < 0.04 * sd, "{beacons}");
}

/// In the warm-up a saturated laptop delays beacons, packets wait for the phone, and the laptop leaves; then nobody sends
/// but the access point its beacons.
#[test]
fn delays_of_the_warm_up_are_in_no_figure() {
    let mut scenario = home();
    (scenario["warm_up"], scenario["duration"]) = (json!("60 s"), json!("20 s"));
    scenario["stations"][2]["departures"] =
        json!({"first": "40 s", "period": "100 s", "lasts": "5 s"});
    scenario["flows"] = json!([
        {"name": "down", "from": "ap", "to": "phone", "source": "cbr",
         "packet_rate": "1.7 packets/s", "size": "200 B", "stop": "50 s"},
        {"name": "up", "from": "laptop", "to": "ap", "stop": "30 s"}
    ]);
    let all = results(&scenario, 1);
    let (beacons, sleep) = (&all["beacons"]["ap"], &all["sleep"]["phone"]);
    let absences = &all["absences"]["laptop"];
    for name in ["mean", "sd", "p50", "p95", "p99", "max"] {
        // In an idle channel a beacon begins with the next slot of 9 µs.
        assert!(number(&beacons[format!("delay_{name}_s")]) < 9e-6, "{beacons}");
        assert_eq!(sleep[format!("kept_{name}_s")], Value::Null, "{sleep}");
    }
    assert_eq!((&absences["absence_p50_s"], &absences["longest_s"]), (&Value::Null, &Value::Null));
}

/// What nobody asks for is not there.
#[test]
fn a_scenario_without_beacons_has_none() {
    let mut plain = home();
    plain["beacons"] = json!([]);
    plain["stations"][1] = json!({"name": "phone"});
    let all = results(&plain, 1);
    assert_eq!((all["beacons"].clone(), all["sleep"].clone()), (json!({}), json!({})));
    assert!(number(&all["flows"]["all"]["delay_max_s"]) < 0.01);
    assert!(number(&all["flows"]["down"]["delay_max_s"]) < 0.01);
}

/// A station that does not wake up for DTIMs misses the packets to all stations.
#[test]
fn dtims_are_for_those_that_listen() {
    let mut deaf = home();
    deaf["flows"].as_array_mut().unwrap().remove(0);
    deaf["stations"][1]["power_save"] =
        json!({"wake_up": "ps-poll", "listen_interval": 50, "dtims": false});
    let heard = |scenario: &Value| {
        let all = results(scenario, 1);
        (
            number(&all["sleep"]["phone"]["group_packets"]),
            number(&all["beacons"]["ap"]["group_packets"]),
        )
    };
    let (none, sent) = heard(&deaf);
    assert!(none == 0.0 && sent > 600.0);
    deaf["stations"][1]["power_save"]["dtims"] = json!(true);
    let (received, sent) = heard(&deaf);
    assert!((received - sent).abs() < 2.0, "{received} of {sent}");
}

#[test]
fn groups_of_stations_sleep() {
    let mut many = home();
    many["stations"][1]["count"] = json!(3);
    many["flows"][0]["to"] = json!("phone");
    let all = results(&many, 1);
    let names: Vec<_> = all["sleep"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, ["phone1", "phone2", "phone3"]);
}

#[test]
fn what_is_wrong_is_said() {
    let refusal = |pointer: &str, value: Value| {
        let mut wrong = home();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        wrong.pointer_mut(parent).unwrap()[key] = value;
        refusal_of(wrong)
    };
    let cases = [
        (
            "/beacons/0/station",
            json!("app"),
            "beacons[0].station: there is no station or group \"app\"",
        ),
        ("/beacons/0/interval", json!("1 ms"), "beacons[0].interval: expected 1.024 ms"),
        ("/beacons/0/dtim_period", json!(0), "beacons[0].dtim_period: found 0"),
        ("/beacons/0/size", json!("20 B"), "beacons[0].size: found 20 B, expected 64"),
        ("/beacons/0/rate", json!("7 Mb/s"), "beacons[0].rate: "),
        ("/beacons/0/cw", json!(6), "beacons[0].cw: found 6"),
        ("/beacons/0/aifsn", json!(0), "beacons[0].aifsn: found 0"),
        ("/stations/1/power_save/timeout", json!("0 s"), "stations[1].power_save.timeout: "),
        (
            "/stations/1/power_save/listen_interval",
            json!(0),
            "stations[1].power_save.listen_interval: ",
        ),
        (
            "/stations/1/power_save/access_point",
            json!("laptop"),
            "stations[1].power_save.access_point: \"laptop\" sends no beacons",
        ),
        (
            "/stations/0/power_save",
            json!({}),
            "stations[0].power_save.access_point: \"ap\" sends beacons, and has no access point",
        ),
        ("/beacons", json!([]), "stations[1].power_save.access_point: no station sends beacons"),
        ("/flows/1/source", json!("tcp"), "flows[1].source: TCP has one receiver"),
        ("/flows/1/via", json!(["laptop"]), "flows[1].via: "),
        (
            "/flows/1/phy_rate",
            json!("HT-MCS3"),
            "flows[1].phy_rate: packets to all stations have a rate before",
        ),
    ];
    for (pointer, value, expected) in cases {
        let refusal = refusal(pointer, value);
        assert!(refusal.starts_with(expected), "{refusal:?} does not begin with {expected:?}");
    }
    let mut both = home();
    both["stations"][1]["power_save"] = json!({"wake_up": "ps-poll", "timeout": "1 s"});
    assert!(refusal_of(both).starts_with("stations[1].power_save.timeout: with PS-Polls"));
    let mut twice = home();
    let again = twice["beacons"][0].clone();
    twice["beacons"].as_array_mut().unwrap().push(again);
    assert!(refusal_of(twice).starts_with("beacons[1].station: \"ap\" has a table"));
}

/// With U-APSD the phone's packets get what waits for it, and the figures say so.
#[test]
fn a_call_comes_by_triggers() {
    let mut call = home();
    call["flows"] = json!([
        {"name": "heard", "from": "ap", "to": "phone", "source": "cbr", "category": "vo",
         "packet_rate": "50 packets/s", "size": "200 B"},
        {"name": "said", "from": "phone", "to": "ap", "source": "cbr", "category": "vo",
         "packet_rate": "50 packets/s", "size": "200 B", "start": "5 ms"}
    ]);
    call["stations"][1]["power_save"] = json!({"uapsd": ["vo"]});
    let all = results(&call, 1);
    let sleep = &all["sleep"]["phone"];
    let delay = number(&all["flows"]["heard"]["delay_mean_s"]);
    assert!((0.0049..0.006).contains(&delay), "until the next packet, 5 ms later: {delay}");
    assert!((0.0049..0.006).contains(&number(&sleep["kept_mean_s"])), "{sleep}");
    let said = number(&all["flows"]["said"]["delivered_packets"]);
    assert_eq!((number(&sleep["triggers"]), number(&sleep["service_periods"])), (said, said));
    assert!(number(&sleep["empty_service_periods"]) <= 1.0, "{sleep}");
    assert_eq!(sleep["polls"], 0);
}

/// A station with wake times is awake for them alone.
#[test]
fn wake_times_replace_beacons() {
    let mut agreed = home();
    agreed["flows"].as_array_mut().unwrap().truncate(1);
    agreed["stations"][1]["power_save"] =
        json!({"twt": {"interval": "2 s", "duration": "5 ms", "first": "1 s"}});
    let all = results(&agreed, 1);
    let sleep = &all["sleep"]["phone"];
    assert_eq!(
        (sleep["service_periods"].clone(), sleep["triggers"].clone()),
        (json!(100), json!(0))
    );
    assert!((number(&sleep["asleep_ratio"]) - (1.0 - 0.0025)).abs() < 1e-4, "{sleep}");
    assert_eq!(sleep["beacons_missed"], 0);
    let delay = number(&all["flows"]["down"]["delay_mean_s"]);
    assert!((0.9..1.1).contains(&delay), "half of 2 s: {delay}");
}

#[test]
fn what_is_wrong_with_service_periods_is_said() {
    let cases = [
        (
            json!({"uapsd": ["vo"], "max_service_period": "3 packets"}),
            "max_service_period: found 3",
        ),
        (json!({"max_service_period": "2 packets"}), "max_service_period: it belongs to U-APSD"),
        (json!({"trigger_interval": "20 ms"}), "trigger_interval: it belongs to U-APSD"),
        (json!({"uapsd": ["vo"], "trigger_interval": "0 s"}), "trigger_interval: it must be more"),
        (json!({"twt": {"interval": "1 s", "duration": "1 s"}}), "twt.duration: a service period"),
        (json!({"twt": {"interval": "1 s", "duration": "0 s"}}), "twt.duration: a service period"),
        (
            json!({"uapsd": ["vo"], "twt": {"interval": "1 s", "duration": "5 ms"}}),
            "uapsd: with twt all packets",
        ),
        (
            json!({"wake_up": "ps-poll", "twt": {"interval": "1 s", "duration": "5 ms"}}),
            "wake_up: with twt all packets",
        ),
    ];
    for (table, expected) in cases {
        let mut wrong = home();
        wrong["stations"][1]["power_save"] = table;
        let refusal = refusal_of(wrong);
        let expected = format!("stations[1].power_save.{expected}");
        assert!(refusal.starts_with(&expected), "{refusal:?} does not begin with {expected:?}");
    }
    for table in [json!({"uapsd": ["vo"]}), json!({"twt": {"interval": "1 s", "duration": "5 ms"}})]
    {
        let mut plain = home();
        plain["phy"] = json!({"standard": "802.11g"});
        plain["stations"][1]["power_save"] = table;
        assert!(refusal_of(plain).contains("needs the access categories of EDCA"));
    }
}
