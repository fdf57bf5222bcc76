//! `ack_batches`: segments that arrive at one instant share an acknowledgement, and nothing else changes.

use airqueue_core::{Seed, Span};
use airqueue_scenario::Scenario;
use serde_json::{Value, json};

fn run(scenario: &Value) -> Value {
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
    let mut run = scenario.start(Seed(1)).unwrap();
    run.advance(Span::from_secs(1_000_000));
    serde_json::from_str(&run.results()).unwrap()
}

fn number(figures: &Value, path: &str) -> f64 {
    figures.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} in {figures}"))
}

/// Hosts behind one station, joined by wires with a delay.
fn wired(rate: Value, tcp: Value) -> Value {
    json!({
        "duration": "4 s", "warm_up": "1 s", "phy": {"standard": "802.11b"},
        "stations": [{"name": "ap"}],
        "hosts": [
            {"name": "a", "link": "ap", "rate": rate, "delay": "5 ms"},
            {"name": "b", "link": "ap", "delay": "5 ms"},
        ],
        "tcp": tcp,
        "flows": [{"name": "f", "from": "a", "to": "b", "source": "tcp"}],
    })
}

/// One download over the air, and another one beside it to the same station if `beside`.
fn download(standard: &str, batches: bool, beside: bool) -> Value {
    let mut flows = vec![json!({"name": "f", "from": "ap", "to": "sta", "source": "tcp"})];
    if beside {
        flows.push(json!({"name": "g", "from": "ap", "to": "sta", "source": "tcp"}));
    }
    json!({
        "duration": "3 s", "warm_up": "2 s", "phy": {"standard": standard},
        "queue": {"limit": "400 packets"},
        "stations": [{"name": "ap"}, {"name": "sta"}],
        "tcp": {"stack": "linux", "ack_batches": batches, "segmentation_offload": false},
        "flows": flows,
    })
}

fn per_ack(figures: &Value, flow: &str) -> f64 {
    let arrived = number(figures, &format!("/flows/{flow}/delivered_packets"));
    arrived / number(figures, &format!("/connections/{flow}/ack_packets"))
}

/// Wires without a rate keep together what was sent together: a window, which is acknowledged in parts of 64 segments.
#[test]
fn a_window_that_arrives_at_once_is_acknowledged_in_parts_of_64() {
    for window in [2, 3, 10, 45, 46, 64, 66, 100, 128, 200] {
        let size = format!("{window} packets");
        let tcp =
            json!({"stack": "linux", "ack_batches": true, "window": size, "initial_window": size});
        let figures = run(&wired(Value::Null, tcp));
        let parts = f64::from(window).div_euclid(64.0) + f64::from(u32::from(window % 64 > 0));
        let found = per_ack(&figures, "f");
        assert!((found * parts / f64::from(window) - 1.0).abs() < 1e-9, "{window}: {found}");
    }
}

/// Segments that arrive one by one, and without bursts' PSH, are acknowledged as without the key, to the last figure: behind a
/// wire that serialises them, and over a radio without aggregation.
#[test]
fn single_segments_are_acknowledged_as_ever() {
    for rate in ["2 Mb/s", "100 Mb/s"] {
        let tcp = |batches: bool| {
            json!({
                "stack": "linux", "ack_batches": batches, "window": "40 packets", "segmentation_offload": false,
            })
        };
        assert_eq!(run(&wired(rate.into(), tcp(true))), run(&wired(rate.into(), tcp(false))));
    }
    for standard in ["802.11b", "802.11g"] {
        assert_eq!(run(&download(standard, true, true)), run(&download(standard, false, true)));
    }
}

/// Behind A-MPDUs an acknowledgement answers a frame's segments, and the time on the air that is saved carries data.
#[test]
fn an_ampdu_has_one_acknowledgement() {
    for standard in ["802.11n", "802.11ac", "802.11ax"] {
        let [apart, together] =
            [false, true].map(|batches| run(&download(standard, batches, false)));
        assert!((per_ack(&apart, "f") - 2.0).abs() < 0.05, "{standard}: {}", per_ack(&apart, "f"));
        let goodput = |figures| number(figures, "/connections/f/goodput_bps");
        let gain = goodput(&together) / goodput(&apart);
        assert!(gain > 1.01, "{standard}: {gain}");
        // A frame of more than 64 packets has an acknowledgement for each 64 of them, and one for the rest, which
        // is for 63 packets less at most: of n packets no more than (n + 63)/64. Frames of 802.11n and ac have 64 at most.
        let frame = number(&together, "/stations/ap/mpdus_per_frame");
        let acks = if standard == "802.11ax" { (frame + 63.0) / 64.0 } else { 1.0 };
        let least = frame / acks;
        let found = per_ack(&together, "f");
        assert!(
            found > 0.95 * least && found < 1.02 * frame.min(64.0),
            "{standard}: {found} of {frame}"
        );
    }
}

/// Segments of two connections in one frame: each connection has its acknowledgement.
#[test]
fn connections_in_one_frame_have_an_acknowledgement_each() {
    let figures = run(&download("802.11n", true, true));
    let frame = number(&figures, "/stations/ap/mpdus_per_frame");
    let acks = |flow: &str| number(&figures, &format!("/connections/{flow}/ack_packets"));
    let frames = number(&figures, "/stations/ap/attempts");
    for flow in ["f", "g"] {
        assert!(acks(flow) < 1.05 * frames, "{flow}: {figures}");
    }
    assert!((per_ack(&figures, "f") + per_ack(&figures, "g")) / frame > 0.9, "{figures}");
}
