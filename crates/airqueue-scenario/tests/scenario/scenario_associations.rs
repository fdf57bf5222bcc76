//! Stations that associate and roam, in scenarios.

use crate::figures::{number, results};
use crate::scenarios::refusal_of;
use serde_json::{Value, json};

/// Two access points behind one wired network, and a phone that goes to the other one every 10 s.
fn house() -> Value {
    json!({
        "duration": "60 s", "warm_up": "0 s",
        "phy": {"standard": "802.11n", "width": "20 MHz"},
        "beacons": [{"station": "hall"}, {"station": "attic"}],
        "stations": [
            {"name": "hall"},
            {"name": "attic"},
            {"name": "phone", "association": {"access_point": "hall", "search": "240 ms", "roams": [
                {"at": "10 s", "to": "attic"}, {"at": "20 s", "to": "hall"},
                {"at": "30 s", "to": "attic"}, {"at": "40 s", "to": "hall"}
            ]}}
        ],
        "hosts": [{"name": "server", "link": "hall", "delay": "1 ms"}],
        "flows": [
            {"name": "down", "from": "server", "to": "phone", "source": "cbr",
             "packet_rate": "100 packets/s", "size": "200 B"},
            {"name": "up", "from": "phone", "to": "server", "source": "cbr",
             "packet_rate": "100 packets/s", "size": "200 B"},
            {"name": "file", "from": "server", "to": "phone", "source": "tcp"}
        ]
    })
}

#[test]
fn flows_follow_a_phone_that_roams() {
    let all = results(&house(), 1);
    let phone = &all["associations"]["phone"];
    assert_eq!((phone["associations"].clone(), phone["roams"].clone()), (json!(5), json!(4)));
    // The search, and eight frames with their backoffs in a channel that a file fills.
    let longest = number(&phone["gap_max_s"]);
    assert!((0.24..0.44).contains(&longest), "{phone}");
    let ratio = number(&phone["unserved_ratio"]);
    assert!((ratio * 60.0 / (5.0 * number(&phone["gap_mean_s"])) - 1.0).abs() < 0.01, "{phone}");
    // Of five gaps the longest is both percentiles.
    for name in ["gap_p95_s", "gap_p99_s"] {
        let found = number(&phone[name]) / longest;
        assert!((1.0 - 1.0 / 64.0..=1.0).contains(&found), "{name}: {phone}");
    }
    let [median, mean] = ["gap_p50_s", "gap_mean_s"].map(|name| number(&phone[name]));
    assert!(0.24 * (1.0 - 1.0 / 64.0) < median && median <= longest, "{phone}");
    // No sample of five is further from the mean than twice the deviation: √(n - 1) times.
    let sd = number(&phone["gap_sd_s"]);
    assert!(sd > 0.0 && longest - mean <= 2.0 * sd * (1.0 + 1e-9), "{phone}");
    // What comes in five times without service is lost, and hardly more: with the routes of one access point all that
    // comes while the phone is at the other one would be.
    let down = &all["flows"]["down"];
    let lost = number(&down["loss_ratio"]);
    assert!((0.5 * ratio..2.0 * ratio).contains(&lost), "{down}: {ratio}");
    // What waits in the phone for the access point before is given up; what waits for the first one goes there.
    let lost = number(&all["flows"]["up"]["loss_ratio"]);
    assert!((lost / (ratio * 4.0 / 5.0) - 1.0).abs() < 0.25, "{}: {ratio}", all["flows"]["up"]);
    assert!(number(&all["connections"]["file"]["goodput_bps"]) > 1e7);
    // Off the channel nothing is sensed: the phone's share is that of its access points without the times of search.
    let busy = |station: &str| number(&all["stations"][station]["busy_ratio"]);
    let (phone, hall) = (busy("phone"), busy("hall"));
    assert!((phone / hall / (1.0 - 5.0 * 0.24 / 60.0) - 1.0).abs() < 0.01, "{phone} {hall}");
    assert_eq!(results(&without(&house()), 1)["associations"], json!({}));
}

/// A station that begins at 20 s of a minute is not without service before: it has not begun. Then it searches for 240 ms,
/// and eight frames follow in an idle channel, each below 2 ms.
#[test]
fn the_time_before_a_station_begins_is_no_gap() {
    for (at_s, warm_up) in [(20, "0 s"), (20, "10 s"), (50, "10 s")] {
        let mut scenario = house();
        scenario["warm_up"] = json!(warm_up);
        scenario["stations"][2]["association"] =
            json!({"access_point": "hall", "search": "240 ms", "at": format!("{at_s} s")});
        scenario["flows"] = json!([]);
        let found = results(&scenario, 1);
        let phone = &found["associations"]["phone"];
        assert_eq!(phone["associations"], 1);
        let gap = number(&phone["gap_max_s"]);
        assert!((0.24..0.256).contains(&gap), "{phone}");
        assert!((number(&phone["unserved_ratio"]) * 60.0 - gap).abs() < 1e-6, "{phone}");
        // A sum without terms is 0, and not -0.
        let throughput = number(&found["medium"]["throughput_bps"]);
        assert!(throughput == 0.0 && throughput.is_sign_positive());
    }
    // A station that has not begun at the end.
    let mut scenario = house();
    scenario["stations"][2]["association"] = json!({"access_point": "hall", "at": "2 min"});
    assert_eq!(results(&scenario, 1)["associations"]["phone"]["unserved_ratio"], 0.0);
}

/// All connections of a browser follow the phone: pages go on behind each access point, slower only by the gaps, and packets
/// balance.
#[test]
fn pages_follow_a_phone_that_roams() {
    let pages = json!([{"name": "user", "from": "server", "to": "phone", "source": "page",
                        "page": {"objects": 12, "object_size": "20 kB", "connections": 6,
                                 "think_time": "100 ms", "think_distribution": "constant"}}]);
    let mut scenario = house();
    scenario["flows"] = pages;
    let roaming = results(&scenario, 1);
    scenario["stations"][2]["association"]["roams"] = json!([]);
    let staying = results(&scenario, 1);
    let of = |all: &Value, kind: &str, of: &str, name: &str| number(&all[kind][of][name]);
    // The attic serves the phone for a third of the time.
    let packets = |all: &Value, station: &str| of(all, "stations", station, "acknowledged_packets");
    assert_eq!(packets(&staying, "attic"), 0.0);
    let share =
        packets(&roaming, "attic") / (packets(&roaming, "attic") + packets(&roaming, "hall"));
    assert!((share - 1.0 / 3.0).abs() < 0.05, "{share}");
    // A gap of some 0.3 s and the timeouts behind it, up to a second each, four times in a minute.
    let loaded = |all: &Value| of(all, "pages", "user", "pages");
    assert!(loaded(&roaming) > loaded(&staying) * (1.0 - 4.0 * 1.5 / 60.0));
    assert!(of(&roaming, "pages", "user", "load_time_max_s") > 0.24);
    let flow = |name: &str| of(&roaming, "flows", "user", name);
    let gone =
        ["delivered_packets", "queue_dropped_packets", "given_up_packets", "in_transit_packets"];
    assert_eq!(flow("offered_packets"), gone.into_iter().map(flow).sum::<f64>());
}

/// The gaps of the warm-up count in no figure.
#[test]
fn gaps_of_the_warm_up_are_in_no_figure() {
    let mut scenario = house();
    (scenario["warm_up"], scenario["duration"]) = (json!("50 s"), json!("10 s"));
    let phone = &results(&scenario, 1)["associations"]["phone"];
    assert_eq!(phone["associations"], 0);
    for name in ["mean", "sd", "p50", "p95", "p99", "max"] {
        assert_eq!(phone[format!("gap_{name}_s")], Value::Null, "{phone}");
    }
}

/// The same without associations.
fn without(house: &Value) -> Value {
    let mut plain = house.clone();
    plain["stations"][2] = json!({"name": "phone"});
    plain
}

#[test]
fn what_is_wrong_is_named() {
    let with = |key: &str, value: Value| {
        let mut scenario = house();
        *scenario.pointer_mut(key).unwrap() = value;
        refusal_of(scenario)
    };
    let of = "stations[2].association";
    let found = with("/stations/2/association/access_point", json!("server"));
    assert!(found.starts_with(&format!("{of}.access_point: there is no station")), "{found}");
    let found = with("/stations/2/association/access_point", json!("phone"));
    assert!(
        found.starts_with(&format!("{of}.access_point: \"phone\" sends no beacons")),
        "{found}"
    );
    let found = with("/stations/2/association/roams/1/to", json!("phone"));
    assert!(found.starts_with(&format!("{of}.roams[1].to: \"phone\" sends no beacons")), "{found}");
    let found = with("/stations/2/association/roams/1/at", json!("5 s"));
    assert!(found.starts_with(&format!("{of}.roams[1].at: it is before")), "{found}");
    let found = with("/flows/0/source", json!("saturated"));
    assert!(found.starts_with("flows[0]"), "{found}");
    let mut sleeps = house();
    sleeps["stations"][2]["power_save"] = json!({"access_point": "hall"});
    assert!(
        refusal_of(sleeps)
            .starts_with("stations[2]: a station with `association` has no `power_save`")
    );
}
