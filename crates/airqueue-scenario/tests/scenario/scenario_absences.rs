//! Stations that scan or go out of reach, in scenarios.

use crate::figures::{number, results};
use crate::scenarios::refusal_of;
use serde_json::{Value, json};

/// An access point, a phone that scans for 24 channels of 60 ms each minute, and a tablet that goes out of reach.
fn home() -> Value {
    json!({
        "duration": "600 s",
        "phy": {"standard": "802.11n", "width": "20 MHz"},
        "beacons": [{"station": "ap"}],
        "stations": [
            {"name": "ap"},
            {"name": "phone", "scans": {"period": "60 s", "channels": 24}},
            {"name": "tablet", "departures": {"period": "100 s", "lasts": "10 s"}}
        ],
        "flows": [
            {"name": "phone", "from": "ap", "to": "phone", "source": "cbr",
             "packet_rate": "21.3 packets/s", "size": "200 B"},
            {"name": "tablet", "from": "ap", "to": "tablet", "source": "cbr",
             "packet_rate": "21.7 packets/s", "size": "200 B"}
        ]
    })
}

#[test]
fn figures_say_how_absences_go() {
    let all = results(&home(), 1);
    let phone = &all["absences"]["phone"];
    // 12 times two channels each minute. The scan at the edge of counting may be a part.
    assert!((108..=132).contains(&phone["absences"].as_u64().unwrap()), "{phone}");
    let ratio = number(&phone["absent_ratio"]);
    assert!((0.9 * 0.024..=1.1 * 0.024 + 1e-9).contains(&ratio), "{phone}");
    assert_eq!(number(&phone["longest_s"]), 0.12);
    assert!((number(&phone["absence_mean_s"]) - 0.12).abs() < 1e-12, "{phone}");
    assert!(number(&phone["absence_sd_s"]) < 1e-6, "{phone}");
    for name in ["p50", "p95", "p99"] {
        let lasted = number(&phone[format!("absence_{name}_s")]);
        assert!((lasted / 0.12 - 1.0).abs() <= 1.0 / 64.0, "{phone}");
    }
    // Some 300 packets come at all times of an absence alike, and are kept until its end: five standard errors.
    for (name, q) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
        let kept = number(&phone[format!("kept_{name}_s")]) / 0.12;
        let most = q / 64.0 + 5.0 * (q * (1.0 - q) / 300.0f64).sqrt();
        assert!((kept - q).abs() < most, "{name}: {phone}");
    }
    assert!((0.115..0.125).contains(&number(&phone["kept_max_s"])), "{phone}");
    assert!((number(&phone["kept_mean_s"]) / 0.06 - 1.0).abs() < 0.2, "{phone}");
    assert!((number(&phone["kept_sd_s"]) * 12f64.sqrt() / 0.12 - 1.0).abs() < 0.2, "{phone}");
    assert_eq!((phone["unheard"].clone(), phone["dropped_packets"].clone()), (json!(0), json!(0)));
    // 21.3 packets a second for as long as the phone is absent.
    let kept = 21.3 * ratio * 600.0;
    assert!((number(&phone["kept_packets"]) / kept - 1.0).abs() < 0.1, "{phone}: {kept}");
    let flow = &all["flows"]["phone"];
    assert_eq!(flow["given_up_packets"], 0);
    assert!((0.115..0.13).contains(&number(&flow["delay_max_s"])), "{flow}");
    let tablet = &all["absences"]["tablet"];
    assert!((number(&tablet["absent_ratio"]) - 0.1).abs() < 0.017, "{tablet}");
    assert_eq!(tablet["kept_packets"], 0);
    let flow = &all["flows"]["tablet"];
    assert!(number(&flow["given_up_packets"]) > 100.0, "{flow}");
    assert_eq!(all["sleep"], json!({}), "who scans does not sleep");
    assert_eq!(all["absences"].as_object().unwrap().len(), 2);
}

/// An access point tells nobody, and a station need not.
#[test]
fn access_points_scan_and_tell_nobody() {
    let mut scenario = home();
    scenario["stations"][0]["scans"] =
        json!({"period": "10 s", "channels": 5, "dwell": "100 ms", "at_once": 1});
    scenario["stations"][1]["scans"]["tells"] = json!(false);
    let all = results(&scenario, 1);
    let ap = &all["absences"]["ap"];
    assert!((number(&ap["absent_ratio"]) - 0.05).abs() < 0.002, "{ap}");
    let beacons = &all["beacons"]["ap"];
    let share =
        number(&beacons["skipped"]) / (number(&beacons["sent"]) + number(&beacons["skipped"]));
    assert!((share - 0.05).abs() < 0.01, "{beacons}");
    assert_eq!(all["absences"]["phone"]["kept_packets"], 0);
}

#[test]
fn a_scenario_without_absences_has_none() {
    let mut plain = home();
    for station in plain["stations"].as_array_mut().unwrap() {
        *station = json!({"name": station["name"]});
    }
    assert_eq!(results(&plain, 1)["absences"], json!({}));
}

#[test]
fn a_station_may_sleep_and_scan() {
    let mut both = home();
    both["stations"][1]["power_save"] = json!({});
    let all = results(&both, 1);
    let asleep = number(&all["sleep"]["phone"]["asleep_ratio"]);
    assert!(asleep < 0.1, "there are packets all the time: {asleep}");
    assert_eq!(all["flows"]["phone"]["given_up_packets"], 0);
    assert!(number(&all["absences"]["phone"]["absences"]) > 100.0);
}

#[test]
fn what_is_wrong_is_said() {
    let cases = [
        ("/stations/1/scans/period", json!("0 s"), "stations[1].scans.period: it must be"),
        (
            "/stations/1/scans/period",
            json!("3 s"),
            "stations[1].scans.period: found 3 s, but one takes 3.64 s with its largest delay",
        ),
        ("/stations/1/scans/channels", json!(0), "stations[1].scans.channels: found 0"),
        ("/stations/1/scans/at_once", json!(0), "stations[1].scans.at_once: found 0"),
        ("/stations/1/scans/dwell", json!("0 s"), "stations[1].scans.dwell: it must be"),
        (
            "/stations/1/scans/access_point",
            json!("tablet"),
            "stations[1].scans.access_point: \"tablet\" sends no beacons",
        ),
        ("/stations/2/departures/lasts", json!("0 s"), "stations[2].departures.lasts: it must be"),
        (
            "/stations/2/departures/jitter",
            json!("91 s"),
            "stations[2].departures.period: found 100 s, but one takes 101 s",
        ),
        ("/stations/2/scans", json!({"period": "60 s"}), "stations[2]: a station with `scans`"),
        (
            "/stations/0/scans",
            json!({"period": "60 s", "tells": true}),
            "stations[0].scans.access_point: \"ap\" sends beacons, and has no access point",
        ),
        ("/beacons", json!([]), "stations[1].scans.access_point: no station sends beacons"),
    ];
    for (pointer, value, expected) in cases {
        let mut wrong = home();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        wrong.pointer_mut(parent).unwrap()[key] = value;
        let refusal = refusal_of(wrong);
        assert!(refusal.starts_with(expected), "{refusal:?} does not begin with {expected:?}");
    }
    let mut silent = home();
    silent["stations"][1]["scans"]["tells"] = json!(false);
    silent["stations"][1]["scans"]["access_point"] = json!("ap");
    assert!(refusal_of(silent).starts_with("stations[1].scans.access_point: the station tells"));
    let mut twice = home();
    twice["stations"][1]["power_save"] = json!({});
    twice["stations"][1]["scans"]["access_point"] = json!("ap");
    assert!(refusal_of(twice).starts_with("stations[1].scans.access_point: it is that of"));
}

/// Rate controls learn nothing from null frames, neither of a station that only receives nor of one that sends packets, too.
#[test]
fn null_frames_are_nothing_to_rate_controls() {
    let mut scenario = home();
    scenario["duration"] = json!("120 s");
    scenario["phy"]["rate_control"] = json!("minstrel");
    scenario["flows"][0]["packet_rate"] = json!("2 packets/s");
    let mut both_ways = scenario.clone();
    both_ways["flows"].as_array_mut().unwrap().push(json!(
        {"name": "up", "from": "phone", "to": "ap", "source": "cbr",
         "packet_rate": "0.7 packets/s", "size": "200 B"}));
    for mut scenario in [scenario, both_ways] {
        let all = results(&scenario, 1);
        assert!(number(&all["absences"]["phone"]["kept_packets"]) > 0.0);
        assert_eq!(all["flows"]["phone"]["given_up_packets"], 0);
        scenario["stations"][1] = json!({"name": "phone", "power_save": {}});
        assert!(number(&results(&scenario, 1)["sleep"]["phone"]["kept_packets"]) > 0.0);
    }
}
