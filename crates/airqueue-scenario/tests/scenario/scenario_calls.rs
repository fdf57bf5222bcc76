//! Calls in scenarios: packets, jitter, playout buffer and rating.

use crate::figures::{close, figure, results};
use airqueue_network::network::{FlowSpec, Traffic};
use airqueue_scenario::Scenario;
use serde_json::{Value, json};

/// R without delay and loss (G.107).
const BEST: f64 = 93.2062;
/// Delay of coding: two frames of 10 ms and one for the coder, and 3.75 ms of overlap.
const G711_S: f64 = 0.033_75;
/// Serialisation of 200 bytes at 1 Mb/s.
const SERIALISED_S: f64 = 0.0016;

/// A call from a host to the station at the other end of its wired link. Every second packet of the call finds a packet
/// of 1250 bytes in service for 1 ms, and waits for 9 ms.
fn beside_large_packets(voice: Value) -> Value {
    json!({
        "duration": "20 s",
        "phy": {"standard": "802.11g"},
        "stations": [{"name": "ap"}],
        "hosts": [{"name": "server", "link": "ap", "rate": "1 Mb/s"}],
        "flows": [
            {"name": "large", "from": "server", "to": "ap", "source": "cbr", "packet_rate": "25 packets/s", "size": "1250 B"},
            {"name": "call", "from": "server", "to": "ap", "source": "voice", "voice": voice, "start": "1 ms"},
        ],
    })
}

/// A call through an idle cell.
fn alone(voice: Value) -> Value {
    json!({
        "duration": "60 s",
        "phy": {"standard": "802.11g"},
        "stations": [{"name": "ap"}, {"name": "phone"}],
        "flows": [{"name": "call", "from": "phone", "to": "ap", "source": "voice", "voice": voice}],
    })
}

#[test]
fn codecs_send_what_their_names_say() {
    let cases = [
        (json!({}), 80e3, 50.0),
        (json!({"codec": "g729"}), 24e3, 50.0),
        (json!({"codec": "g729a-vad", "packet_time": "40 ms"}), 16e3, 25.0),
        (json!({"codec": "g711-plc", "packet_time": "30 ms"}), 8.0 * 280.0 / 0.03, 1.0 / 0.03),
    ];
    for (voice, bps, packets) in cases {
        let results = results(&alone(voice), 1);
        close(figure(&results, "flows", "call", "offered_bps"), bps, 1e-3);
        close(figure(&results, "flows", "call", "offered_packets"), 60.0 * packets, 1e-3);
    }
}

/// Talk takes half the time. With 300 turns of 1 s the relative standard deviation of the share is 0.041: the tolerance
/// is five times that, and the half packet that each talk spurt adds.
#[test]
fn pauses_have_no_packets() {
    let mut scenario = alone(json!({"talk": "1 s", "silence": "1 s"}));
    scenario["duration"] = json!("600 s");
    let results = results(&scenario, 1);
    close(figure(&results, "flows", "call", "offered_bps"), 40e3, 0.215);
    assert!(figure(&results, "calls", "call", "r_factor") > 93.0);
}

#[test]
fn a_call_without_a_queue_is_as_good_as_its_codec() {
    let quiet = results(&alone(json!({})), 1);
    let network_s = figure(&quiet, "flows", "call", "delay_max_s");
    assert!(network_s < 1e-3);
    // Only the first packet, at time zero, waits for the medium: DIFS, and at most 15 slots. This adds a 16th to J,
    // whose decay is averaged over 3000 packets.
    assert!(figure(&quiet, "flows", "call", "jitter_s") < 163e-6 / 3000.0);
    close(figure(&quiet, "calls", "call", "mouth_to_ear_s"), G711_S + network_s, 1e-12);
    close(figure(&quiet, "calls", "call", "r_factor"), BEST, 1e-12);
    // 1 + 0.035 R + 7e-6 R (R - 60)(100 - R)
    close(figure(&quiet, "calls", "call", "mos"), 4.409, 1e-3);
    assert_eq!(figure(&quiet, "calls", "call", "late_ratio"), 0.0);
    let voice = json!({"codec": "g729a-vad", "playout": "60 ms"});
    let other = results(&alone(voice), 1);
    close(figure(&other, "calls", "call", "mouth_to_ear_s"), 0.035 + 0.06, 0.005);
    close(figure(&other, "calls", "call", "r_factor"), BEST - 11.0, 1e-12);
}

/// D is always 9 ms, and J converges to D.
#[test]
fn jitter_is_the_mean_difference_of_neighbours() {
    let results = results(&beside_large_packets(json!({})), 1);
    close(figure(&results, "flows", "call", "delay_p50_s"), SERIALISED_S, 0.02);
    close(figure(&results, "flows", "call", "delay_max_s"), SERIALISED_S + 0.009, 1e-9);
    close(figure(&results, "flows", "call", "jitter_s"), 0.009, 0.05);
    assert_eq!(figure(&results, "flows", "large", "jitter_s"), 0.0);
}

#[test]
fn a_buffer_that_is_too_short_loses_what_comes_late() {
    let call = |playout: &str| results(&beside_large_packets(json!({"playout": playout})), 1);
    let short = call("5 ms");
    close(figure(&short, "calls", "call", "late_ratio"), 0.5, 0.01);
    // Delays are known to a bucket of the histogram, 3 %.
    close(figure(&short, "calls", "call", "mouth_to_ear_s"), G711_S + SERIALISED_S + 0.005, 0.002);
    close(figure(&short, "calls", "call", "r_factor"), BEST - 95.0 * 50.0 / (50.0 + 25.1), 0.02);
    assert_eq!(figure(&short, "flows", "call", "loss_ratio"), 0.0);
    let long = call("100 ms");
    assert_eq!(figure(&long, "calls", "call", "late_ratio"), 0.0);
    // Idd begins at 100 ms from mouth to ear.
    let r = figure(&long, "calls", "call", "r_factor");
    assert!(r < BEST && r > BEST - 1.0, "{r}");
}

/// Without a limit the buffer waits for all packets, since delay costs nothing below 100 ms.
#[test]
fn the_best_buffer_is_at_least_as_good_as_any() {
    let best = results(&beside_large_packets(json!({})), 1);
    close(figure(&best, "calls", "call", "mouth_to_ear_s"), G711_S + SERIALISED_S + 0.009, 1e-9);
    close(figure(&best, "calls", "call", "r_factor"), BEST, 1e-12);
    let mut crowded = alone(json!({}));
    crowded["stations"][1]["count"] = json!(12);
    crowded["flows"][0]["from"] = json!("phone1");
    let flood =
        json!({"name": "up", "from": "phone", "to": "ap", "source": "poisson", "rate": "3 Mb/s"});
    crowded["flows"].as_array_mut().unwrap().push(flood);
    crowded["duration"] = json!("5 s");
    let mut score = |playout: Value| {
        crowded["flows"][0]["voice"] = json!({"playout": playout});
        figure(&results(&crowded, 1), "calls", "call", "r_factor")
    };
    let best = score(Value::Null);
    for playout in ["0 ms", "20 ms", "60 ms", "200 ms", "600 ms"] {
        assert!(score(json!(playout)) <= best + 1e-9, "{playout}");
    }
}

/// Most packets find the queue full; accepted packets are in time: 61.6 ms at most, and with coding less than 100 ms.
#[test]
fn packets_lost_in_the_network_lower_the_rating() {
    let mut scenario = beside_large_packets(json!({}));
    scenario["hosts"][0]["queue"] = json!({"limit": "5 packets"});
    scenario["flows"][0]["source"] = json!("poisson");
    scenario["flows"][0]["packet_rate"] = json!("400 packets/s");
    let results = results(&scenario, 1);
    let lost = 100.0 * figure(&results, "flows", "call", "loss_ratio");
    assert!(lost > 20.0, "{lost}");
    let late = 100.0 * figure(&results, "calls", "call", "late_ratio");
    let missing = lost + late;
    let r = figure(&results, "calls", "call", "r_factor");
    close(r, BEST - 95.0 * missing / (missing + 25.1), 1e-9);
}

#[test]
fn only_calls_are_rated() {
    let results = results(&beside_large_packets(json!({})), 1);
    let calls: Vec<_> = results["calls"].as_object().unwrap().keys().collect();
    assert_eq!(calls, ["call"]);
}

#[test]
fn the_calls_of_a_group_do_not_begin_at_once() {
    let mut scenario = alone(json!({}));
    scenario["stations"][1]["count"] = json!(4);
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
    let start = |flow: &FlowSpec| match flow.traffic {
        Traffic::Source { source, .. } => source.start.as_nanos() / 1_000_000,
        _ => panic!("a call has a source"),
    };
    let starts = scenario.spec().flows.iter().map(start);
    assert_eq!(starts.collect::<Vec<_>>(), [0, 5, 10, 15]);
}

#[test]
fn impossible_calls_are_refused() {
    let refused = |change: fn(&mut Value), says: &str| {
        let mut scenario = alone(json!({}));
        change(&mut scenario["flows"][0]);
        let refusal = Scenario::from_json(&scenario.to_string()).unwrap_err().to_string();
        assert!(refusal.contains(says), "{refusal:?} does not say {says:?}");
    };
    refused(|flow| flow["source"] = json!("saturated"), "flows[0].voice: only source = \"voice\"");
    refused(|flow| flow["source"] = json!("tcp"), "flows[0].voice: only source = \"voice\"");
    refused(|flow| flow["size"] = json!("200 B"), "flows[0].size: ");
    refused(|flow| flow["rate"] = json!("64 kb/s"), "flows[0].rate: ");
    refused(|flow| flow["packet_rate"] = json!("50 packets/s"), "flows[0].packet_rate: ");
    refused(|flow| flow["transfer_size"] = json!("1 MB"), "flows[0].transfer_size: ");
    for time in ["0 ms", "15 ms", "210 ms"] {
        let scenario = alone(json!({"packet_time": time}));
        let refusal = Scenario::from_json(&scenario.to_string()).unwrap_err().to_string();
        assert!(refusal.starts_with("flows[0].voice.packet_time: "), "{refusal}");
        assert!(refusal.contains(time), "{refusal}");
    }
    refused(
        |flow| flow["voice"] = json!({"talk": "1 s"}),
        "flows[0].voice.talk: silence is missing",
    );
    refused(|flow| flow["voice"] = json!({"silence": "1 s"}), "flows[0].voice.silence: talk is");
    refused(
        |flow| flow["voice"] = json!({"talk": "1 s", "silence": "0 s"}),
        "flows[0].voice.silence: there is none",
    );
    refused(|flow| flow["voice"] = json!({"codec": "opus"}), "`g711-plc`");
}
