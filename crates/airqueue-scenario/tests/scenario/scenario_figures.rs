//! Figures of simulated scenarios, against closed forms and invariants.

use crate::figures::{close, figure, results};
use crate::scenarios;
use crate::scenarios::refusal_of;
use airqueue_core::{Seed, Span};
use airqueue_scenario::Scenario;
use airqueue_wifi::medium::{Level, StationId};
use serde_json::{Value, json};

fn cell(standard: &str, rate: &str, control: &str, stations: u32) -> Value {
    json!({
        "duration": "30 s",
        "phy": {"standard": standard, "rate": rate, "control_rate": control},
        "stations": [{"name": "ap"}, {"name": "sta", "count": stations}],
        "flows": [{"from": "sta", "to": "ap"}],
    })
}

/// A single sender's cycle is DIFS, the mean of the backoff, data, SIFS and ACK. 30 s are some 15 000 cycles of
/// 802.11b, the standard error of whose mean backoff is 20 µs · 9.2 / sqrt(15000), 0.08 % of a cycle.
#[test]
fn a_single_sender_has_the_throughput_of_the_closed_form() {
    // DIFS, slot, mean backoff in slots; preamble and data of 1536 bytes; SIFS; ACK, in microseconds.
    let b = 50.0 + 15.5 * 20.0 + 192.0 + (1536.0f64 * 8.0 / 11.0).ceil() + 10.0 + 192.0 + 56.0;
    let symbols = ((22.0 + 1536.0 * 8.0) / 216.0f64).ceil();
    let a = 34.0 + 7.5 * 9.0 + 20.0 + 4.0 * symbols + 16.0 + 20.0 + 4.0 * 2.0;
    let cells = [
        (cell("802.11b", "11 Mb/s", "2 Mb/s", 1), b),
        (cell("802.11a", "54 Mb/s", "24 Mb/s", 1), a),
    ];
    for (scenario, cycle_us) in cells {
        let results = results(&scenario, 1);
        close(
            figure(&results, "flows", "sta1->ap", "throughput_bps"),
            12_000.0 / cycle_us * 1e6,
            0.003,
        );
        assert_eq!(results["duration_s"], 30.0);
        assert_eq!(results["medium"]["collided_ratio"], 0.0);
        assert_eq!(results["medium"]["throughput_jain_index"], 1.0);
        assert_eq!(results["stations"]["ap"]["collided_ratio"], Value::Null);
    }
}

/// As above with the QoS header and AIFS; each packet of a TXOP but the first waits for SIFS alone.
#[test]
fn txops_save_the_backoffs_of_all_packets_but_the_first() {
    let data = 192.0 + (1538.0f64 * 8.0 / 11.0).ceil();
    let exchange = data + 10.0 + 192.0 + 56.0;
    for packets in [1u32, 4] {
        let access = 10.0 + 3.0 * 20.0 + 15.5 * 20.0;
        let cycle_us = access + f64::from(packets) * exchange + f64::from(packets - 1) * 10.0;
        let mut scenario = cell("802.11b", "11 Mb/s", "2 Mb/s", 1);
        scenario["mac"] =
            json!({"access": "edca", "edca": {"be": {"txop": format!("{packets} packets")}}});
        let results = results(&scenario, 2);
        let expected = 12_000.0 * f64::from(packets) / cycle_us * 1e6;
        close(figure(&results, "flows", "sta1->ap", "throughput_bps"), expected, 0.003);
        assert!(results["queues"]["sta1.be"].is_object(), "{}", results["queues"]);
    }
}

/// A packet that finds the medium idle for longer than DIFS is sent at once (IEEE 802.11-2016, 10.3.4.2).
#[test]
fn a_packet_now_and_then_takes_no_longer_than_its_frame() {
    let mut scenario = cell("802.11b", "11 Mb/s", "2 Mb/s", 1);
    scenario["flows"] =
        json!([{"from": "sta1", "to": "ap", "source": "cbr", "packet_rate": "10 packets/s"}]);
    let results = results(&scenario, 1);
    let delay_s = (192.0 + (1536.0f64 * 8.0 / 11.0).ceil()) * 1e-6;
    for name in ["delay_mean_s", "delay_max_s"] {
        close(figure(&results, "flows", "sta1->ap", name), delay_s, 1e-9);
    }
    assert!(figure(&results, "flows", "sta1->ap", "delay_p99_s") <= delay_s * (1.0 + 1e-9));
    close(figure(&results, "flows", "sta1->ap", "throughput_bps"), 10.0 * 12_000.0, 1e-9);
    assert_eq!(results["flows"]["sta1->ap"]["loss_ratio"], 0.0);
}

/// An exchange fails if data or ACK are lost. 14 000 exchanges: five standard errors are 1.7 %.
#[test]
fn exchanges_fail_as_often_as_data_or_ack_are_lost() {
    let mut scenario = cell("802.11b", "11 Mb/s", "2 Mb/s", 1);
    scenario["medium"] = json!({"errors": {"frame": 0.1}});
    let results = results(&scenario, 3);
    let failed = figure(&results, "stations", "sta1", "failed_ratio");
    assert!((failed - 0.19).abs() < 0.017, "{failed}");
    assert_eq!(results["stations"]["sta1"]["collided_ratio"], 0.0);
}

/// A queue of 20 packets before a ring of 5, offered twice what it can send: half is dropped, and almost all places are
/// always taken.
#[test]
fn an_overloaded_queue_is_full_and_drops_what_does_not_get_out() {
    let mut scenario = cell("802.11b", "11 Mb/s", "2 Mb/s", 1);
    scenario["queue"] = json!({"limit": "20 packets", "ring": "5 packets"});
    scenario["flows"] =
        json!([{"from": "sta1", "to": "ap", "source": "poisson", "rate": "12.4 Mb/s"}]);
    let results = results(&scenario, 1);
    assert_eq!(results["queues"]["sta1"]["length_max_packets"], 25);
    assert!(figure(&results, "queues", "sta1", "length_mean_packets") > 23.0);
    let flow = |name| figure(&results, "flows", "sta1->ap", name);
    close(flow("loss_ratio"), 1.0 - flow("throughput_bps") / flow("offered_bps"), 0.01);
    // A packet waits until all places before it are served (Little's law).
    let waiting_s = figure(&results, "queues", "sta1", "sojourn_mean_s");
    let taken_per_s = figure(&results, "queues", "sta1", "dequeued_packets") / 30.0;
    close(waiting_s * taken_per_s, figure(&results, "queues", "sta1", "length_mean_packets"), 0.01);
}

/// Two saturated senders that hear each other collide in every sixteenth access or so; if they do not hear each other,
/// frames longer than most backoffs collide more often than not.
#[test]
fn hidden_stations_collide() {
    let links = |level: Option<&str>| {
        let mut links = vec![json!({"from": "sta", "to": "ap"})];
        links.extend(level.map(|level| json!({"from": "sta", "to": "sta", "level": level})));
        let mut scenario = cell("802.11b", "11 Mb/s", "2 Mb/s", 2);
        scenario["medium"] = json!({"links": links});
        results(&scenario, 1)["medium"]["collided_ratio"].as_f64().unwrap()
    };
    let (decoding, sensing, hidden) = (links(Some("decode")), links(Some("sense")), links(None));
    assert!(decoding < 0.1 && sensing < 0.1, "{decoding}, {sensing}");
    assert!(hidden > 0.3, "{hidden}");
}

/// Counting starts at time zero, so that all packets are in the counters.
#[test]
fn packets_are_conserved() {
    let mut scenario = scenarios::full();
    scenario["warm_up"] = json!("0 s");
    scenario["queue"]["limit"] = json!("2 packets");
    scenario["flows"][1]["rate"] = json!("9 Mb/s");
    let results = results(&scenario, 5);
    let flows = results["flows"].as_object().unwrap();
    assert_eq!(flows.len(), 8);
    for (name, flow) in flows {
        let packets = |name: &str| flow[name].as_u64().unwrap();
        let met = packets("queue_dropped_packets")
            + packets("given_up_packets")
            + packets("delivered_packets")
            + packets("in_transit_packets");
        assert_eq!(packets("offered_packets"), met, "{name}");
    }
}

#[test]
fn seed_and_scenario_determine_every_byte() {
    let scenario = Scenario::from_json(&scenarios::full().to_string()).unwrap();
    let text = |seed, steps: i64| {
        let mut run = scenario.start(Seed(seed)).unwrap();
        let whole = scenario.warm_up() + scenario.duration();
        let step = Span::from_nanos(whole.as_nanos() / steps + 1);
        (0..steps).for_each(|_| run.advance(step));
        assert_eq!(run.now(), run.end());
        run.results()
    };
    assert_eq!(text(1, 1), text(1, 97));
    assert_ne!(text(1, 1), text(2, 1));
}

#[test]
fn nothing_is_averaged_before_anything_happened() {
    let scenario = Scenario::from_json(&scenarios::full().to_string()).unwrap();
    let results: Value = serde_json::from_str(&scenario.start(Seed(1)).unwrap().results()).unwrap();
    assert_eq!(results["duration_s"], 0.0);
    assert_eq!(results["flows"]["there"]["throughput_bps"], Value::Null);
    assert_eq!(results["medium"]["throughput_jain_index"], Value::Null);
}

/// Placement: a circle, a line and a grid.
#[test]
fn groups_stand_where_they_are_put() {
    let reach = |group: Value, decode: &str| {
        let scenario = json!({
            "phy": {"standard": "802.11b"},
            "medium": {"ranges": {"decode": decode}},
            "stations": [group],
        });
        Scenario::from_json(&scenario.to_string()).unwrap().wlan().reach.links()
    };
    // Neighbours on a circle of six are a radius apart.
    assert_eq!(reach(json!({"name": "s", "count": 6, "circle": "100 m"}), "101 m"), 12);
    assert_eq!(reach(json!({"name": "s", "count": 6, "circle": "100 m"}), "99 m"), 0);
    assert_eq!(reach(json!({"name": "s", "count": 5, "step": ["3 m", "4 m"]}), "5 m"), 8);
    let grid = json!({"columns": 4, "spacing": "10 m"});
    // 3 rows of 3 links and 4 columns of 2, in both directions.
    assert_eq!(reach(json!({"name": "s", "count": 12, "grid": grid}), "10 m"), 34);
}

/// The defaults of two-ray ground are ns-2's: 250 and 550 m.
#[test]
fn two_ray_ground_is_that_of_ns2() {
    let levels = |distance: &str| {
        let scenario = json!({
            "phy": {"standard": "802.11b"},
            "medium": {"path_loss": {"two_ray": {}}},
            "stations": [{"name": "s", "count": 2, "step": [distance, "0 m"]}],
        });
        let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
        scenario.wlan().reach.signal(StationId(0), StationId(1)).map(|signal| signal.level)
    };
    assert_eq!(levels("249 m"), Some(Level::Decodable));
    assert_eq!(levels("251 m"), Some(Level::Sensed));
    assert_eq!(levels("549 m"), Some(Level::Sensed));
    assert_eq!(levels("551 m"), None);
}

/// An access point that is offered twice what it can send, in packets of 1500 bytes, by a source that does
/// not react; and a call of 50 packets a second beside it.
fn overloaded(queue: Value) -> Value {
    let mut scenario = cell("802.11b", "11 Mb/s", "2 Mb/s", 1);
    scenario["warm_up"] = json!("5 s");
    scenario["queue"] = queue;
    scenario["flows"] = json!([
        {"name": "bulk", "from": "ap", "to": "sta1", "source": "poisson", "rate": "12.4 Mb/s"},
        {"name": "call", "from": "ap", "to": "sta1", "source": "cbr", "packet_rate": "50 packets/s",
         "size": "200 B"},
    ]);
    scenario
}

fn queue_figure(queue: Value, name: &str) -> f64 {
    figure(&results(&overloaded(queue), 1), "queues", "ap", name)
}

/// PIE's controller integrates the distance from the target, and is at rest only at the target.
#[test]
fn pie_holds_its_target() {
    for target_ms in [15, 40] {
        let target = format!("{target_ms} ms");
        let waiting =
            queue_figure(json!({"discipline": "pie", "pie": {"target": target}}), "sojourn_mean_s");
        close(waiting, f64::from(target_ms) * 1e-3, 0.1);
    }
}

/// With a largest probability of 1 RED can drop any share between the thresholds: the average length, and so the mean,
/// settles where half of the packets are dropped.
#[test]
fn red_holds_the_queue_between_its_thresholds() {
    let red = json!({"min": "10 packets", "max": "30 packets", "probability": 1.0});
    let length = queue_figure(json!({"discipline": "red", "red": red}), "length_mean_packets");
    // With p_b, the mean distance between drops is (1/p_b + 1) / 2 packets: 2 for p_b of a third.
    close(length, 10.0 + 20.0 / 3.0, 0.1);
}

/// 6 Mb/s times 100 ms are 75 000 bytes, over √2 for two flows 53 033: 35 packets of the bulk flow, or more if some
/// packets are of the call.
#[test]
fn the_adaptive_limit_counts_flows() {
    let adaptive = json!({"rtt": "100 ms", "rate": "6 Mb/s"});
    let queue = json!({"discipline": "adaptive", "adaptive": adaptive});
    let results = results(&overloaded(queue), 1);
    let most = figure(&results, "queues", "ap", "length_max_packets");
    assert!((35.0..=38.0).contains(&most), "{most}");
    assert_eq!(results["queues"]["ap"]["dropped_early_packets"], 0);
}

/// A flow below its share loses nothing and waits for one or two packets of the other flow; in one queue both flows
/// wait and lose alike.
#[test]
fn flows_that_are_kept_apart_do_not_wait_for_each_other() {
    let call = |queue: Value| {
        let results = results(&overloaded(queue), 1);
        let of = |name| figure(&results, "flows", "call", name);
        (of("loss_ratio"), of("delay_p99_s"))
    };
    for discipline in ["fq_codel", "drr"] {
        let (loss, delay_s) = call(json!({"discipline": discipline}));
        assert!(loss == 0.0 && delay_s < 0.008, "{discipline}: {loss}, {delay_s} s");
    }
    let (loss, delay_s) = call(json!({"limit": "50 packets"}));
    assert!(loss > 0.3 && delay_s > 0.08, "{loss}, {delay_s} s");
}

/// Two flows overload one queue, one with packets three times as long: equal in bytes, not in packets.
#[test]
fn deficit_round_robin_shares_bytes() {
    let mut scenario = cell("802.11b", "11 Mb/s", "2 Mb/s", 1);
    scenario["queue"] = json!({"discipline": "drr", "drr": {"quantum": "1500 B"}});
    scenario["flows"] = json!([
        {"name": "long", "from": "ap", "to": "sta1", "source": "cbr", "rate": "6 Mb/s"},
        {"name": "short", "from": "ap", "to": "sta1", "source": "cbr", "rate": "6 Mb/s", "size": "500 B"},
    ]);
    let results = results(&scenario, 1);
    let bps = |flow| figure(&results, "flows", flow, "throughput_bps");
    close(bps("long"), bps("short"), 0.002);
}

/// Three flows that overload a station, two of them for the same neighbour. Each queue, of a flow or of a link, has the
/// whole limit and an equal share of what the station sends.
#[test]
fn deficit_round_robin_is_by_flow_or_by_link() {
    let mut scenario = cell("802.11b", "11 Mb/s", "2 Mb/s", 2);
    let flow = |name: &str, to: &str| json!({"name": name, "from": "ap", "to": to, "source": "cbr", "rate": "6 Mb/s"});
    scenario["flows"] = json!([flow("a", "sta1"), flow("b", "sta1"), flow("c", "sta2")]);
    for (by, queues) in [("flow", 3.0), ("link", 2.0)] {
        let limit = "20 packets";
        scenario["queue"] = json!({"discipline": "drr", "limit": limit, "drr": {"queue_per": by}});
        let results = results(&scenario, 1);
        let most = figure(&results, "queues", "ap", "length_max_packets");
        assert_eq!(most, 20.0 * queues, "{by}");
        let bps = |flow| figure(&results, "flows", flow, "throughput_bps");
        close(bps("c"), (bps("a") + bps("b") + bps("c")) / queues, 0.01);
    }
    let saturated = |by: &str| {
        let queue = json!({"discipline": "drr", "limit": "1 packet", "drr": {"queue_per": by}});
        let flow = |to: &str, name: &str| json!({"name": name, "from": "ap", "to": to});
        let mut scenario = scenario.clone();
        scenario["queue"] = queue;
        scenario["flows"] = json!([flow("sta1", "a"), flow("sta2", "b"), flow("sta2", "c")]);
        scenario
    };
    results(&saturated("flow"), 1);
    let refusal = refusal_of(saturated("link"));
    assert!(refusal.starts_with("flows[2]") && refusal.contains("need room for 2"), "{refusal}");
}

/// Frames are as long as those of a searched queue: limits of 40 packets leave room for as many. A flow whose station
/// has two flows gains nothing from packets in frames of the other flow.
#[test]
fn deficit_round_robin_fills_frames_and_shares_evenly() {
    let mut scenario = cell("802.11n", "HT-MCS7", "24 Mb/s", 2);
    scenario["duration"] = json!("10 s");
    let flow = |name: &str, to: &str| json!({"name": name, "from": "ap", "to": to, "source": "cbr", "rate": "60 Mb/s"});
    scenario["flows"] = json!([flow("a", "sta1"), flow("b", "sta1"), flow("c", "sta2")]);
    for (by, shares) in [("flow", 3.0), ("link", 2.0)] {
        let limit = "40 packets";
        scenario["queue"] = json!({"discipline": "drr", "limit": limit, "drr": {"queue_per": by}});
        let results = results(&scenario, 1);
        assert!(figure(&results, "stations", "ap", "mpdus_per_frame") > 15.0);
        let bps = |flow| figure(&results, "flows", flow, "throughput_bps");
        close(bps("c"), (bps("a") + bps("b") + bps("c")) / shares, 0.1);
    }
}

/// CoDel drops at the head, and reports the reason.
#[test]
fn drops_are_counted_by_reason() {
    let full = results(&overloaded(json!({"limit": "20 packets"})), 1);
    let codel = results(&overloaded(json!({"discipline": "codel"})), 1);
    for results in [&full, &codel] {
        let of = |name| figure(results, "queues", "ap", name);
        assert_eq!(of("dropped_full_packets") + of("dropped_early_packets"), of("dropped_packets"));
        assert_eq!(of("marked_packets"), 0.0, "nothing was ECN-capable");
    }
    assert_eq!(full["queues"]["ap"]["dropped_early_packets"], 0);
    assert!(figure(&codel, "queues", "ap", "dropped_early_packets") > 1000.0);
}

/// CoDel marks packets of ECN-capable flows where it drops packets of others, and receivers count the marks; the queue
/// is then full, since the source does not slow down.
#[test]
fn packets_of_ecn_capable_flows_are_marked_in_place_of_being_dropped() {
    let queue = json!({"discipline": "codel", "codel": {"ecn": true}, "limit": "200 packets"});
    let mut capable = overloaded(queue.clone());
    for flow in capable["flows"].as_array_mut().unwrap() {
        flow["ecn"] = json!(true);
    }
    let results = [overloaded(queue), capable].map(|scenario| results(&scenario, 1));
    let of = |at: usize, name| figure(&results[at], "queues", "ap", name);
    assert!(of(0, "dropped_early_packets") > 1000.0 && of(0, "marked_packets") == 0.0);
    assert!(of(1, "dropped_early_packets") == 0.0 && of(1, "marked_packets") > 1000.0);
    assert!(of(1, "dropped_full_packets") > 1000.0);
    let marked = |flow| figure(&results[1], "flows", flow, "marked_packets");
    let arrived = marked("bulk") + marked("call");
    // Marked packets in the ring or in flight have not arrived.
    assert!((of(1, "marked_packets") - arrived).abs() < 50.0, "{arrived}");
}

/// A packet every 100 ms makes ten packets a second: the first and the eleventh are due at the ends of the second.
#[test]
fn counting_has_one_of_its_two_ends() {
    let scenario = |warm_up: &str| {
        json!({
            "duration": "1 s",
            "warm_up": warm_up,
            "phy": {"standard": "802.11g"},
            "stations": [{"name": "ap"}, {"name": "phone"}],
            "hosts": [{"name": "server", "link": "ap", "rate": "20 Mb/s", "delay": "0 s"}],
            "flows": [
                {"name": "air", "from": "ap", "to": "phone", "source": "cbr", "rate": "80 kb/s", "size": "1000 B"},
                {"name": "wire", "from": "server", "to": "phone", "source": "cbr", "rate": "80 kb/s", "size": "1000 B"},
            ],
        })
    };
    for warm_up in ["0 s", "1 s", "1.05 s"] {
        let results = results(&scenario(warm_up), 1);
        for flow in ["air", "wire"] {
            let of = |name| figure(&results, "flows", flow, name);
            assert_eq!(of("offered_packets"), 10.0, "{flow}, {warm_up}");
            assert_eq!(of("delivered_packets"), 10.0, "{flow}, {warm_up}");
            assert_eq!(of("in_transit_packets"), 0.0, "{flow}, {warm_up}");
        }
    }
}
