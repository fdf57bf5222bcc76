//! Airtime fairness in a simulated access point: two fast stations and a slow one, as in "Ending the Anomaly"
//! (Høiland-Jørgensen and others, USENIX ATC 2017). Each station is sent more than it can receive, and a fast station
//! also a call.

use crate::figures::{close, figure, results};
use airqueue_core::{Seed, Span};
use airqueue_network::network::Network;
use airqueue_network::wlan::tap::Recording;
use airqueue_scenario::Scenario;
use airqueue_wifi::mac::FrameKind;
use serde_json::{Value, json};

fn access_point(phy: Value, rates: [&str; 2], queue: Value) -> Value {
    json!({
        "duration": "10 s", "warm_up": "5 s",
        "phy": phy, "mac": {"access": "edca"}, "queue": queue,
        "stations": [
            {"name": "ap"}, {"name": "fast", "count": 2, "rate": rates[0]},
            {"name": "slow", "rate": rates[1]},
        ],
        "flows": [
            {"name": "fast", "from": "ap", "to": "fast", "source": "poisson", "rate": "60 Mb/s"},
            {"name": "slow", "from": "ap", "to": "slow", "source": "poisson", "rate": "60 Mb/s"},
            {"name": "call", "from": "ap", "to": "fast1", "source": "cbr",
             "packet_rate": "50 packets/s", "size": "200 B"},
        ],
    })
}

/// 802.11n with 130 and 6.5 Mb/s, and A-MPDUs.
fn aggregating(queue: Value) -> Value {
    let phy = json!({"standard": "802.11n", "width": "20 MHz", "streams": 2});
    access_point(phy, ["HT-MCS15", "HT-MCS0"], queue)
}

/// 802.11g with 54 and 6 Mb/s: one packet per frame.
fn single(queue: Value) -> Value {
    access_point(json!({"standard": "802.11g"}), ["54 Mb/s", "6 Mb/s"], queue)
}

fn mac80211() -> Value {
    json!({"discipline": "mac80211"})
}

/// The queue of an access point before airtime fairness.
fn droptail() -> Value {
    json!({"limit": "1000 packets"})
}

/// Each station's share of the airtime, of data frames to the station, and of its responses with the gaps before them.
fn airtime(scenario: &Value) -> [f64; 3] {
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
    let mut sim = Network::new(scenario.spec(), Seed(1)).unwrap();
    sim.model.wlan_mut().plug(Box::new(Recording::default()));
    let begins = scenario.spec().warm_up;
    sim.run_until(begins + scenario.duration());
    let recording: Recording = sim.model.wlan_mut().unplug().unwrap();
    let mut shares = [0.0; 3];
    for traced in recording.frames.iter().filter(|traced| traced.begins >= begins) {
        let frame = &traced.frame;
        let is_data = frame.kind == FrameKind::Data;
        let station = if is_data { frame.to } else { frame.from };
        let gap = if is_data { Span::ZERO } else { scenario.spec().wlan.radio.phy.sifs() };
        shares[station.index() - 1] += (traced.ends - traced.begins + gap).as_secs_f64();
    }
    let all: f64 = shares.iter().sum();
    shares.map(|share| share / all)
}

#[test]
fn each_station_has_a_third_of_the_air() {
    for scenario in [aggregating(mac80211()), single(mac80211())] {
        for share in airtime(&scenario) {
            close(share, 1.0 / 3.0, 0.02);
        }
    }
}

/// The figure of each flow is the time that the frames with its packets took, as the tap sees them.
#[test]
fn a_flow_s_airtime_is_that_of_its_frames() {
    for scenario in [aggregating(mac80211()), aggregating(droptail()), single(droptail())] {
        let results = results(&scenario, 1);
        let of = |flow: &str| figure(&results, "flows", flow, "airtime_ratio");
        let flows = [of("fast1") + of("call"), of("fast2"), of("slow")];
        let all: f64 = flows.iter().sum();
        for (flow, share) in flows.into_iter().zip(airtime(&scenario)) {
            close(flow / all, share, 0.005);
        }
        // All that is on the air are these frames and their responses; between the two is a gap.
        let sifs = Scenario::from_json(&scenario.to_string()).unwrap().spec().wlan.radio.phy.sifs();
        let of_ap = |name: &str| figure(&results, "stations", "ap", name);
        let gaps = sifs.as_secs_f64() * of_ap("attempts") / results["duration_s"].as_f64().unwrap();
        close(all, of_ap("busy_ratio") + gaps, 0.005);
    }
}

/// Without airtime fairness the slow station has most of the airtime where stations get equal numbers of packets: in
/// one queue, or one packet in turn. (Turns of whole A-MPDUs are fairer: none lasts longer than 5.484 ms.)
#[test]
fn without_airtime_fairness_the_slow_station_has_most_of_it() {
    let turns = json!({"discipline": "mac80211", "mac80211": {"airtime_fairness": false}});
    for scenario in [aggregating(droptail()), single(droptail()), single(turns)] {
        let [_, _, slow] = airtime(&scenario);
        assert!((0.6..0.95).contains(&slow), "{slow}");
    }
}

/// The paper's results: about four times the throughput, and a delay that falls from hundreds of milliseconds to about
/// ten.
#[test]
fn the_anomaly_ends() {
    let [before, after] = [droptail(), mac80211()].map(|queue| results(&aggregating(queue), 1));
    let throughput = |results: &Value| results["medium"]["throughput_bps"].as_f64().unwrap();
    let delay_s = |results: &Value| figure(results, "flows", "call", "delay_p95_s");
    let gain = throughput(&after) / throughput(&before);
    assert!((2.0..10.0).contains(&gain), "{gain}");
    assert!(
        delay_s(&before) > 0.2 && delay_s(&after) < 0.05,
        "{} {}",
        delay_s(&before),
        delay_s(&after)
    );
    assert_eq!(figure(&after, "flows", "call", "loss_ratio"), 0.0);
}

/// Shares follow the stations' weights: 1:1:2, and 4:2:1.
#[test]
fn stations_share_the_air_by_weight() {
    for weights in [[256, 256, 512], [1024, 512, 256]] {
        for mut scenario in [aggregating(mac80211()), single(mac80211())] {
            scenario["stations"] = json!([
                {"name": "ap"},
                {"name": "fast1", "rate": scenario["stations"][1]["rate"], "airtime_weight": weights[0]},
                {"name": "fast2", "rate": scenario["stations"][1]["rate"], "airtime_weight": weights[1]},
                {"name": "slow", "rate": scenario["stations"][2]["rate"], "airtime_weight": weights[2]},
            ]);
            let flow =
                |to: &str| json!({"from": "ap", "to": to, "source": "poisson", "rate": "120 Mb/s"});
            scenario["flows"] = json!([flow("fast1"), flow("fast2"), flow("slow")]);
            let all: i32 = weights.iter().sum();
            for (share, weight) in airtime(&scenario).into_iter().zip(weights) {
                close(share, f64::from(weight) / f64::from(all), 0.02);
            }
        }
    }
}

/// Weights are kept when the queue is replaced.
#[test]
fn a_later_queue_knows_the_weights() {
    let mut scenario = single(droptail());
    scenario["stations"][2]["airtime_weight"] = json!(512);
    let error = Scenario::from_json(&scenario.to_string()).unwrap_err().to_string();
    assert!(error.contains("stations[2].airtime_weight: no station's queue shares"), "{error}");
    scenario["changes"] = json!([{"at": "1 s", "station": "ap", "queue": mac80211()}]);
    let [_, _, slow] = airtime(&scenario);
    close(slow, 0.5, 0.02);
    scenario["stations"][2]["airtime_weight"] = json!(49);
    let error = Scenario::from_json(&scenario.to_string()).unwrap_err().to_string();
    assert!(
        error.contains("stations[2].airtime_weight: found 49, expected 50 to 65535"),
        "{error}"
    );
}

/// What Linux expects a packet of 1500 bytes to take at 54 Mb/s, in units of 4 µs: 36 µs and 1552 bytes
/// (`ieee80211_calc_legacy_rate_duration`).
const EXPECTED_US: f64 = 264.0;
/// As [`EXPECTED_US`], for the 252 bytes of a call's packet.
const CALL_EXPECTED_US: f64 = 72.0;

/// A packet of the call waits behind the packets in the device only, since its flow is new: those whose expected airtime
/// reaches the limit, of one station.
#[test]
fn the_device_holds_as_much_airtime_as_the_limit_says() {
    for limit_ms in [4.0_f64, 12.0, 30.0] {
        let aql = json!({"aql_high": format!("{limit_ms} ms"), "aql_threshold": "1 s", "target": "1000 s"});
        let mut scenario =
            single(json!({"discipline": "mac80211", "ring": "1000 packets", "mac80211": aql}));
        scenario["stations"] = json!([{"name": "ap"}, {"name": "fast", "rate": "54 Mb/s"}]);
        scenario["flows"] = json!([
            {"name": "bulk", "from": "ap", "to": "fast", "source": "poisson", "rate": "60 Mb/s"},
            {"name": "call", "from": "ap", "to": "fast", "source": "cbr",
             "packet_rate": "7 packets/s", "size": "200 B"},
        ]);
        let results = results(&scenario, 1);
        let packets = figure(&results, "flows", "bulk", "throughput_bps") / 12_000.0;
        let cycle = 1.0 / packets;
        // Preamble, symbols of 216 bits with service, tail and a QoS frame, SIFS, an ACK at 24 Mb/s, twice a signal
        // extension.
        let airtime = |ip_bytes: u32| {
            let symbols = (22 + 8 * (ip_bytes + 38)).div_ceil(216);
            f64::from(20 + 4 * symbols + 6 + 10 + 28 + 6) / 1e6
        };
        let held = (limit_ms * 1e3 / EXPECTED_US).ceil();
        // When the call's packet enters the device, on average half of a packet's time after its arrival, all packets
        // held but one are before it.
        let own = cycle - airtime(1500) + airtime(200);
        let expected = (held - 0.5) * cycle + own;
        let delay = figure(&results, "flows", "call", "delay_mean_s");
        assert!((delay - expected).abs() < cycle, "{delay} {expected} {cycle}");
    }
}

/// Two categories flood the device. By Little's law the expected airtime in the device is the sum, over the categories, of the
/// delay of a call (whose flow is new, and passes the queue) times the expected airtime that enters in a second. It is what
/// reaches the threshold, which one category may exceed up to its low limit. A packet of a call waits for its entrance, up to a
/// packet's time in each category: two packets in all.
#[test]
fn the_device_holds_as_much_airtime_of_all_categories_as_the_threshold_says() {
    let (low_us, calls) = (1000.0, 20.0);
    for threshold_us in [12_000.0_f64, 24_000.0] {
        let aql = json!({"aql_low": format!("{low_us} us"), "aql_high": "1 s", "aql_threshold": format!("{threshold_us} us"),
                         "target": "1000 s"});
        let mut scenario =
            single(json!({"discipline": "mac80211", "ring": "1000 packets", "mac80211": aql}));
        scenario["duration"] = json!("30 s");
        scenario["stations"] = json!([{"name": "ap"}, {"name": "fast", "rate": "54 Mb/s"}]);
        let flows = ["be", "vi"].map(|category| {
            json!([
                {"name": format!("bulk-{category}"), "from": "ap", "to": "fast", "category": category,
                 "source": "poisson", "rate": "60 Mb/s"},
                {"name": format!("call-{category}"), "from": "ap", "to": "fast", "category": category,
                 "source": "cbr", "packet_rate": format!("{calls} packets/s"), "size": "200 B"},
            ])
        });
        scenario["flows"] = flows.iter().flat_map(|of| of.as_array().unwrap().clone()).collect();
        let results = results(&scenario, 1);
        let in_device = ["be", "vi"].map(|category| {
            let of =
                |name: &str, key| figure(&results, "flows", &format!("{name}-{category}"), key);
            let bulk = of("bulk", "throughput_bps") / 12_000.0;
            of("call", "delay_mean_s") * (bulk * EXPECTED_US + calls * CALL_EXPECTED_US)
        });
        let (all, margin) = (in_device[0] + in_device[1], 2.0 * EXPECTED_US);
        assert!(all > threshold_us - margin, "{threshold_us} {in_device:?}");
        assert!(all < threshold_us + low_us + margin, "{threshold_us} {in_device:?}");
    }
}

/// A ring holds packets outside the queues' control; the limit on the ring's airtime makes this harmless.
#[test]
fn airtime_queue_limits_keep_the_ring_short() {
    let ring = |aql: bool| {
        let mut queue = mac80211();
        queue["ring"] = json!("1000 packets");
        queue["mac80211"] = json!({"aql": aql});
        figure(&results(&aggregating(queue), 1), "flows", "call", "delay_p95_s")
    };
    let (with, without) = (ring(true), ring(false));
    assert!(with < 0.05 && without > 4.0 * with, "{with} {without}");
}
