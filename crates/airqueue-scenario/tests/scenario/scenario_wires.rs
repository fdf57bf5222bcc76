//! Wired links that lose packets and change, and stations that go out of reach and come back.

use crate::figures::{close, figure, results, up_to};
use crate::scenarios::{change_refused, refusal_of, set};
use airqueue_core::Span;
use serde_json::{Value, json};

/// A server behind an access point, with a flow to a phone and one to a tablet.
fn home() -> Value {
    json!({
        "duration": "20 s",
        "warm_up": "0 s",
        "phy": {"standard": "802.11n", "rate": "HT-MCS7"},
        "stations": [{"name": "ap"}, {"name": "phone"}, {"name": "tablet"}],
        "hosts": [
            {"name": "server", "link": "ap", "rate": "20 Mb/s", "delay": "10 ms"},
            {"name": "other", "link": "ap"},
        ],
        "flows": [
            {"name": "down", "from": "server", "to": "phone", "source": "cbr", "rate": "4 Mb/s"},
            {"name": "beside", "from": "other", "to": "tablet", "source": "cbr", "rate": "1 Mb/s"},
        ],
    })
}

fn changed(changes: Value) -> Value {
    set(home(), "changes", changes)
}

fn down(results: &Value, name: &str) -> f64 {
    figure(results, "flows", "down", name)
}

/// 6667 packets, each lost with probability 1/4: five standard deviations are 2.7 % of the mean.
#[test]
fn a_wired_link_loses_packets() {
    let results = results(&set(home(), "hosts[0].loss", json!(0.25)), 1);
    let (offered, lost) = (down(&results, "offered_packets"), down(&results, "given_up_packets"));
    assert!(offered > 6000.0);
    close(lost, offered / 4.0, 0.11);
    let met = lost + down(&results, "delivered_packets") + down(&results, "in_transit_packets");
    assert_eq!(met, offered);
    assert_eq!(figure(&results, "flows", "beside", "given_up_packets"), 0.0);
}

/// A run without losses draws nothing: its results are those of a link without the key.
#[test]
fn no_loss_changes_nothing() {
    let end = Span::from_secs(5);
    assert_eq!(up_to(&set(home(), "hosts[0].loss", json!(0.0)), end), up_to(&home(), end));
}

#[test]
fn tcp_recovers_what_a_wired_link_loses() {
    let mut scenario = set(home(), "hosts[0].loss", json!(0.01));
    scenario["flows"][0] = json!({"name": "down", "from": "server", "to": "phone", "source": "tcp", "transfer_size": "1 MB"});
    let results = results(&scenario, 1);
    let sessions = &results["connections"]["down"]["sessions"];
    assert_eq!(sessions.as_u64(), Some(1), "{results}");
    assert!(down(&results, "given_up_packets") > 0.0);
}

/// At half of the time the link falls to 2 Mb/s, with a queue or without one: 10 s at 4 Mb/s, and 10 s at 2 Mb/s.
#[test]
fn a_new_rate_of_a_wired_link_is_that_of_the_packets_after() {
    for queue in [Value::Null, json!({"discipline": "droptail", "limit": "10000 packets"})] {
        let change = json!([{"at": "10 s", "host": "server", "rate": "2 Mb/s"}]);
        let scenario = set(changed(change), "hosts[0].queue", queue);
        close(down(&results(&scenario, 1), "throughput_bps"), 3e6, 0.01);
        // And back: the queue that has built up leaves at 20 Mb/s.
        let change = json!([
            {"at": "5 s", "host": "server", "rate": "2 Mb/s"},
            {"at": "10 s", "host": "server", "rate": "20 Mb/s"},
        ]);
        let scenario = set(scenario, "changes", change);
        close(down(&results(&scenario, 1), "throughput_bps"), 4e6, 0.01);
        close(down(&results(&scenario, 1), "delay_max_s"), 2.5, 0.02);
    }
}

#[test]
fn a_new_delay_is_that_of_the_packets_after() {
    let delay = |delay: &str| json!([{"at": "10 s", "host": "server", "delay": delay}]);
    let p50 = |scenario: &Value| down(&results(scenario, 1), "delay_p50_s");
    let mean = |scenario: &Value| down(&results(scenario, 1), "delay_mean_s");
    let usual = mean(&home());
    close(mean(&changed(delay("110 ms"))), usual + 0.05, 0.01);
    close(mean(&changed(delay("0 s"))), usual - 0.005, 0.01);
    close(
        p50(&changed(json!([{"at": "0 s", "host": "server", "delay": "110 ms"}]))),
        usual + 0.1,
        0.02,
    );
    // A shorter delay reorders nothing: TCP sees no loss.
    let mut scenario = changed(json!([{"at": "10 s", "host": "server", "delay": "1 ms"}]));
    scenario["flows"][0] = json!({"name": "down", "from": "server", "to": "phone", "source": "tcp", "tcp": {"window": "10 packets"}});
    let results = results(&scenario, 1);
    assert_eq!(figure(&results, "connections", "down", "retransmitted_segments"), 0.0);
}

#[test]
fn losses_begin_and_end() {
    let change = json!([
        {"at": "5 s", "host": "server", "loss": 1.0},
        {"at": "15 s", "host": "server", "loss": 0.0},
    ]);
    let results = results(&changed(change), 1);
    close(down(&results, "given_up_packets"), down(&results, "offered_packets") / 2.0, 0.01);
    close(figure(&results, "flows", "beside", "throughput_bps"), 1e6, 0.01);
}

/// The rate of a station is that of its hops, in both directions; the others keep theirs.
#[test]
fn a_station_has_a_new_rate() {
    let mut scenario = changed(json!([{"at": "0 s", "station": "phone", "rate": "HT-MCS0"}]));
    scenario["flows"].as_array_mut().unwrap().push(
        json!({"name": "up", "from": "phone", "to": "server", "source": "cbr", "rate": "100 kb/s"}),
    );
    let results = results(&scenario, 1);
    let rate = |flow: &str| figure(&results, "flows", flow, "data_rate_mean_bps");
    assert_eq!((rate("down"), rate("up"), rate("beside")), (6.5e6, 6.5e6, 65e6));
}

/// Out of reach a phone neither sends nor receives; its packets wait, packets for it are given up. Afterwards all is
/// as before.
#[test]
fn a_station_goes_out_of_reach_and_comes_back() {
    let change = json!([
        {"at": "5 s", "station": "phone", "away": true},
        {"at": "15 s", "station": "phone", "away": false},
    ]);
    let mut scenario = changed(change);
    scenario["flows"].as_array_mut().unwrap().push(
        json!({"name": "up", "from": "phone", "to": "server", "source": "cbr", "rate": "1 Mb/s"}),
    );
    scenario["stations"][1]["queue"] = json!({"limit": "2000 packets"});
    let of = |at_s: i64, kind: &str, of: &str, name: &str| {
        let text = up_to(&scenario, Span::from_secs(at_s));
        figure(&serde_json::from_str(&text).unwrap(), kind, of, name)
    };
    for flow in ["down", "up"] {
        let delivered = |at_s| of(at_s, "flows", flow, "delivered_packets");
        // The frame on the air at the time of the change may still be received.
        assert!(delivered(14) - delivered(5) <= 1.0, "{flow}");
        assert!(delivered(4) > 0.0 && delivered(20) > delivered(15) * 1.5, "{flow}");
    }
    // 9 s of 83 packets wait; after the return the flow makes up for them.
    close(of(14, "flows", "up", "in_transit_packets"), 9.0 * 83.3, 0.02);
    close(of(20, "flows", "up", "delivered_packets"), 20.0 * 83.3, 0.02);
    assert!(of(20, "flows", "up", "given_up_packets") <= 1.0);
    // Nothing of the flow to the phone arrives: what the access point's queue does not drop it gives up.
    let met = |at_s| {
        of(at_s, "flows", "down", "given_up_packets")
            + of(at_s, "flows", "down", "queue_dropped_packets")
    };
    let (gone, offered) = (met(15) - met(5), 10.0 * 333.3);
    assert!(gone > 0.7 * offered && gone <= offered, "{gone} of {offered}");
    // The phone is silent. The access point repeats frames in vain, which costs the tablet a part of its packets.
    let sent = |at_s: i64| of(at_s, "stations", "phone", "attempts");
    assert_eq!(sent(14), sent(6));
    let beside = of(20, "flows", "beside", "throughput_bps");
    assert!((0.3e6..0.99e6).contains(&beside), "{beside}");
}

/// Members of a group hear alike and are simulated together: one that is away does not change the others.
#[test]
fn one_of_many_goes_away() {
    let mut scenario = json!({
        "duration": "6 s", "warm_up": "0 s",
        "phy": {"standard": "802.11g", "rate": "54 Mb/s"},
        "stations": [{"name": "ap"}, {"name": "sta", "count": 20}],
        "flows": [{"name": "up", "from": "sta", "to": "ap"}, {"name": "down", "from": "ap", "to": "sta", "source": "cbr", "rate": "100 kb/s"}],
        "changes": [{"at": "2 s", "station": "sta3", "away": true}],
    });
    let figures = results(&scenario, 1);
    let of = |flow: &str, name: &str| figure(&figures, "flows", flow, name);
    assert!(of("down3", "given_up_packets") > 0.0);
    assert!(of("up3", "throughput_bps") < 0.5 * of("up4", "throughput_bps"));
    assert!(of("up3", "throughput_bps") > 0.2 * of("up4", "throughput_bps"));
    for other in ["up1", "up2", "up5", "up20"] {
        close(of(other, "throughput_bps"), of("up4", "throughput_bps"), 0.3);
    }
    scenario["changes"] = json!([{"at": "0 s", "station": "sta", "away": true}]);
    let figures = results(&scenario, 1);
    assert_eq!(figures["medium"]["throughput_bps"], json!(0.0));
}

#[test]
fn what_is_wrong_is_refused() {
    let home = home();
    let change = |change: Value, start: &str, part: &str| {
        change_refused(&home, change, start, part);
    };
    let host = |key: &str, value: Value| {
        set(json!({"at": "1 s", "host": "server", "rate": "1 Mb/s"}), key, value)
    };
    change(host("host", json!("phone")), "changes[0].host", "no host or group of hosts \"phone\"");
    change(
        host("host", json!("nobody")),
        "changes[0].host",
        "no host or group of hosts \"nobody\"",
    );
    change(host("rate", json!("HT-MCS7")), "changes[0].rate", "wired link");
    change(
        host("rate", Value::Null),
        "changes[0]",
        "`rate` or `rate_to_host` or `delay` or `loss` is needed",
    );
    change(host("loss", json!(1.5)), "changes[0].loss", "probability from 0 to 1");
    change(host("loss", json!(-0.5)), "changes[0].loss", "probability from 0 to 1");
    change(host("delay", json!("-1 s")), "changes[0].delay", "-1 s");
    change(host("away", json!(true)), "changes[0]", "`station` is needed");
    change(host("station", json!("ap")), "changes[0]", "leave `station` or `host` out");
    change(host("flow", json!("down")), "changes[0]", "`station` or `via` is needed");
    let other = json!({"at": "1 s", "host": "other", "delay": "0 s"});
    change(other, "changes[0].delay", "would take no time");
    let rate = json!({"at": "1 s", "station": "phone", "rate": "3 Mb/s"});
    change(rate, "changes[0].rate", "3");
    let both = json!({"at": "1 s", "flow": "down", "via": [], "host": "server"});
    change(both, "changes[0]", "leave `host` or `via` out");
    let refusal = refusal_of(set(home.clone(), "hosts[0].loss", json!(2)));
    assert!(refusal.starts_with("hosts[0].loss: found 2"), "{refusal}");
}

/// 4 Mb/s each way through 20 Mb/s from the server and 1 Mb/s towards the server.
#[test]
fn a_wired_link_may_have_another_rate_towards_its_host() {
    let both = json!([
        {"name": "down", "from": "server", "to": "phone", "source": "cbr", "rate": "4 Mb/s"},
        {"name": "up", "from": "phone", "to": "server", "source": "cbr", "rate": "4 Mb/s"},
    ]);
    let line = set(set(home(), "flows", both), "hosts[0].rate_to_host", json!("1 Mb/s"));
    let carried = |scenario: &Value| {
        let results = results(scenario, 1);
        ["down", "up"].map(|flow| figure(&results, "flows", flow, "throughput_bps"))
    };
    let [down, up] = carried(&line);
    close(down, 4e6, 0.01);
    close(up, 1e6, 0.01);
    // Half of the time at 3 Mb/s; a new rate for both leaves no other.
    let later = |change: Value| set(line.clone(), "changes", json!([change]));
    let [down, up] =
        carried(&later(json!({"at": "10 s", "host": "server", "rate_to_host": "3 Mb/s"})));
    close(down, 4e6, 0.01);
    close(up, 2e6, 0.01);
    let [down, up] = carried(&later(json!({"at": "10 s", "host": "server", "rate": "2 Mb/s"})));
    close(down, 3e6, 0.01);
    close(up, 1.5e6, 0.01);
}

#[test]
fn a_rate_towards_a_host_needs_one_from_the_host() {
    let refusal = refusal_of(set(home(), "hosts[1].rate_to_host", json!("1 Mb/s")));
    assert!(
        refusal.contains("hosts[1].rate_to_host") && refusal.contains("give rate"),
        "{refusal}"
    );
    let change = json!([{"at": "1 s", "station": "phone", "rate_to_host": "1 Mb/s"}]);
    let refusal = refusal_of(changed(change));
    assert!(refusal.contains("rate_to_host"), "{refusal}");
}
