//! Samples and limits of the manager of a network.

use airqueue_core::{Seed, Span};
use airqueue_scenario::{Run, Scenario};
use serde_json::{Value, json};

/// A chain of three hops with a server behind its end, TCP in one direction and a stream in the other.
fn chain(more: Value) -> Value {
    let mut scenario = json!({
        "duration": "20 s", "warm_up": "2 s",
        "phy": {"standard": "802.11b", "rate": "11 Mb/s", "control_rate": "1 Mb/s"},
        "medium": {"ranges": {"decode": "250 m", "sense": "550 m"}},
        "stations": [{"name": "n", "count": 4, "position": ["0 m", "0 m"], "step": ["200 m", "0 m"]},
                     {"name": "alone", "position": ["0 m", "260 m"]}],
        "hosts": [{"name": "server", "link": "n4", "rate": "8 Mb/s", "delay": "3 ms"}],
        "flows": [
            {"name": "tcp", "from": "n1", "to": "server", "via": ["n2", "n3"], "source": "tcp"},
            {"name": "cbr", "from": "n3", "to": "n1", "via": ["n2"], "source": "cbr",
             "rate": "80 kb/s", "size": "500 B"},
        ],
    });
    for (key, value) in more.as_object().unwrap() {
        scenario[key] = value.clone();
    }
    scenario
}

fn read(scenario: &Value) -> Scenario {
    Scenario::from_json(&scenario.to_string()).unwrap()
}

fn advance(run: &mut Run, seconds: i64) {
    run.advance(Span::from_secs(seconds));
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

#[test]
fn the_map_has_neighbours_and_a_snapshot_has_routes() {
    let scenario = read(&chain(json!({})));
    let monitor = scenario.monitor();
    let (map, snapshot) =
        (parsed(&monitor.map()), parsed(&monitor.snapshot(&scenario.start(Seed(1)).unwrap())));
    assert_eq!(map["stations"], json!(["n1", "n2", "n3", "n4", "alone"]));
    assert_eq!(map["positions_m"][3], json!([600.0, 0.0]));
    // No flow passes the station beside the chain.
    assert_eq!(map["limit_packets"], json!([50, 50, 50, 50, null]));
    assert_eq!(map["neighbours"], json!([[0, 1], [1, 2], [2, 3]]));
    let [tcp, cbr] = [&snapshot["flows"][0], &snapshot["flows"][1]];
    assert_eq!(tcp["route"], json!(["n1", "n2", "n3", "n4"]));
    assert_eq!(cbr["route"], json!(["n3", "n2", "n1"]));
    assert_eq!((&cbr["elsewhere_s"], &map["flows"][1]["packet_bytes"]), (&json!(0.0), &json!(500)));
    // Two times 3 ms, and the packet's serialisation on the wired link in each direction.
    let bits = 8.0 * map["flows"][0]["packet_bytes"].as_f64().unwrap();
    let elsewhere = tcp["elsewhere_s"].as_f64().unwrap();
    assert!((elsewhere - (0.006 + 2.0 * bits / 8e6)).abs() < 1e-9, "{snapshot}");
}

#[test]
fn a_snapshot_counts_from_the_beginning_and_times_exchanges() {
    let scenario = read(&chain(json!({})));
    let (monitor, mut run) = (scenario.monitor(), scenario.start(Seed(1)).unwrap());
    advance(&mut run, 1);
    let early = parsed(&monitor.snapshot(&run));
    advance(&mut run, 9);
    let late = parsed(&monitor.snapshot(&run));
    assert_eq!(late["now_s"], json!(10.0));
    // All stations hear most frames, except the station beside the chain, which hears n1 to n3.
    let busy_s: Vec<f64> =
        late["busy_s"].as_array().unwrap().iter().map(|s| s.as_f64().unwrap()).collect();
    assert!(busy_s.iter().all(|busy| (4.0..10.0).contains(busy)), "{busy_s:?}");
    for flow in 0..2 {
        let bytes = |of: &Value| of["flows"][flow]["delivered_bytes"].as_u64().unwrap();
        assert!(bytes(&early) > 0 && bytes(&late) > 5 * bytes(&early));
    }
    // DIFS, 15.5 slots, preamble and 536 bytes at 11 Mb/s, SIFS, an ACK at 1 Mb/s: whole microseconds.
    let hop = &late["flows"][1]["hops"][0];
    let expected = 50.0 + 310.0 + 192.0 + f64::ceil(536.0 * 8.0 / 11.0) + 10.0 + 192.0 + 112.0;
    let data_s = hop["data_s"].as_f64().unwrap();
    assert!((data_s * 1e6 - expected).abs() < 0.01, "{} and {expected}", data_s * 1e6);
    assert_eq!((&hop["ack_s"], &hop["rate_bps"]), (&json!(0.0), &json!(11e6)));
    let answered = &late["flows"][0]["hops"][0];
    assert!(answered["ack_s"].as_f64().unwrap() < answered["data_s"].as_f64().unwrap());
}

/// Largest number of packets waiting at a station, from now to the end.
fn longest(run: &mut Run, station: &str) -> u64 {
    advance(run, 100);
    parsed(&run.results())["queues"][station]["length_max_packets"].as_u64().unwrap()
}

#[test]
fn limits_hold_from_when_they_are_set_and_can_be_taken_back() {
    let scenario = read(&chain(json!({"queue": {"limit": "40 packets"}})));
    let monitor = scenario.monitor();
    let start = || scenario.start(Seed(3)).unwrap();
    assert_eq!(longest(&mut start(), "n1"), 40);
    let mut run = start();
    monitor.set_limit(&mut run, "n1", None, Some(4)).unwrap();
    assert_eq!(longest(&mut run, "n1"), 4);
    let mut run = start();
    monitor.set_limit(&mut run, "n1", None, Some(4)).unwrap();
    advance(&mut run, 3);
    monitor.set_limit(&mut run, "n1", None, None).unwrap();
    assert_eq!(longest(&mut run, "n1"), 40);
}

#[test]
fn flows_have_limits_of_their_own_in_both_directions() {
    let apart = json!({"queue": {"discipline": "drr", "limit": "40 packets"}});
    let scenario = read(&chain(apart));
    let (monitor, mut run) = (scenario.monitor(), scenario.start(Seed(3)).unwrap());
    for station in ["n1", "n2", "n3", "n4"] {
        monitor.set_limit(&mut run, station, Some("tcp"), Some(3)).unwrap();
    }
    // At n1 only TCP's data wait, at n4 only its acknowledgements.
    assert_eq!(longest(&mut run, "n1"), 3);
    assert!(longest(&mut run, "n4") <= 3);
}

#[test]
fn invalid_limits_are_refused() {
    let scenario = read(&chain(json!({})));
    let (monitor, mut run) = (scenario.monitor(), scenario.start(Seed(1)).unwrap());
    for (station, flow, part) in [
        ("n9", None, "no station \"n9\""),
        ("n1", Some("udp"), "the flow \"udp\" is not on the air"),
        ("n4", Some("cbr"), "the flow \"cbr\" is not at \"n4\""),
        ("n1", Some("tcp"), "has no queue for itself at \"n1\""),
    ] {
        let error = monitor.set_limit(&mut run, station, flow, Some(1)).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn settings_of_shared_buffers_are_checked() {
    assert_eq!(read(&chain(json!({}))).buffers(), None);
    let buffers = |table: Value| Scenario::from_json(&chain(json!({"buffers": table})).to_string());
    let usual = parsed(&buffers(json!({})).unwrap().buffers().unwrap());
    assert_eq!(usual["domains"], json!("two-hop"));
    assert_eq!((&usual["look_s"], &usual["change_packets"]), (&json!(0.1), &json!(1)));
    for (key, value, part) in [
        (
            "rounding",
            json!("best"),
            "buffers.rounding: it is for the allocations that minimise a cost",
        ),
        (
            "sample_interval",
            json!("1 ms"),
            "buffers.sample_interval: found 1 ms, expected at least 10 ms",
        ),
        ("min_change", json!("0 packets"), "buffers.min_change: found 0 packets"),
        ("limit_per", json!("flow"), "buffers.limit_per: flows have limits of their own where"),
        ("allocation", json!("fair"), "buffers.allocation: unknown word `fair`"),
    ] {
        let error = buffers(json!({key: value})).unwrap_err().to_string();
        assert!(error.starts_with(part), "{error}");
    }
    buffers(json!({"allocation": "optimum", "rounding": "best"})).unwrap();
    let mut silent = chain(json!({"buffers": {}}));
    silent["flows"].as_array_mut().unwrap().remove(0);
    let error = Scenario::from_json(&silent.to_string()).unwrap_err().to_string();
    assert!(error.starts_with("buffers: it is for TCP, and no flow of TCP goes over"), "{error}");
}
