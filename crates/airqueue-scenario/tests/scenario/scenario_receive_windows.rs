//! `tcp.receive_buffer`: the receiver's window limits what a sender has outstanding.

use crate::figures::{figure, results};
use crate::scenarios::{set, value_refused};
use serde_json::{Value, json};

/// Octets of data in a segment with timestamps.
const MSS: f64 = 1448.0;

/// A download from a far server, behind an access point with a deep queue.
fn download(delay: &str, tcp: Value) -> Value {
    json!({
        "duration": "30 s", "warm_up": "10 s",
        "phy": {"standard": "802.11n", "rate": "HT-MCS7"},
        "queue": {"discipline": "droptail", "limit": "10000 packets"},
        "stations": [{"name": "ap"}, {"name": "sta"}],
        "hosts": [{"name": "server", "link": "ap", "delay": delay, "rate": "1 Gb/s"}],
        "tcp": tcp,
        "flows": [{"name": "f", "from": "server", "to": "sta", "source": "tcp"}],
    })
}

fn goodput(scenario: &Value) -> f64 {
    figure(&results(scenario, 1), "connections", "f", "goodput_bps")
}

/// Half of 512 KiB, in whole segments, in each round trip of 300 ms and less than 5 ms of frames.
#[test]
fn no_more_than_the_window_goes_in_a_round_trip() {
    let window = (256.0 * 1024.0 / MSS).floor() * MSS * 8.0;
    for tcp in [
        json!({"stack": "linux", "receive_buffer": "512 KiB"}),
        json!({"stack": "linux", "receive_buffer": "512 KiB", "timestamps": false}),
        json!({"receive_buffer": "512 KiB"}),
        json!({"stack": "linux", "receive_buffer": "512 KiB", "handshake": false}),
    ] {
        let found = goodput(&download("150 ms", tcp.clone()));
        assert!(found > 0.97 * window / 0.3 - 0.02 * window, "{tcp}: {found}");
        // A segment without timestamps has 12 octets of data more.
        assert!(found < 1.01 * window / 0.3, "{tcp}: {found}");
    }
    let unlimited = goodput(&download("150 ms", json!({})));
    assert!(unlimited > 3.0 * window / 0.3, "{unlimited}");
}

/// The default buffer of Linux's, and a sixth of it: what is on the way and in frames, less than 100 segments, is not in the
/// queue.
#[test]
fn a_deep_queue_holds_no_more_than_the_window() {
    let held =
        |tcp| figure(&results(&download("5 ms", tcp), 1), "queues", "ap.be", "length_mean_packets");
    for (tcp, bytes) in [
        (json!({"stack": "linux", "congestion": "newreno"}), 3 << 20),
        (json!({"stack": "linux", "congestion": "newreno", "receive_buffer": "1 MiB"}), 1 << 19),
    ] {
        let (found, window) = (held(tcp), f64::from(bytes) / MSS);
        assert!(found > window - 100.0 && found <= window, "{found} of {window}");
    }
    let unlimited = held(json!({"congestion": "newreno"}));
    assert!(unlimited > 1.5 * f64::from(3 << 20) / MSS, "{unlimited}");
}

/// Half of the counted time: the flow ends then. A window of four segments is less than the first congestion window, and so the
/// limit from the first round trip on; the last round trip of 300 ms is cut off.
#[test]
fn the_time_in_which_the_window_is_the_limit_is_reported() {
    let limited = |scenario: &Value| {
        figure(&results(scenario, 1), "connections", "f", "window_limited_ratio")
    };
    let mut half = download("150 ms", json!({"window": "4 packets"}));
    half["flows"][0]["stop"] = json!("25 s");
    let found = limited(&half);
    assert!((found - 0.5).abs() < 0.3 / 30.0, "{found}");
    let small = json!({"stack": "linux", "receive_buffer": "512 KiB"});
    assert!(limited(&download("150 ms", small.clone())) > 0.99);
    assert_eq!(limited(&download("150 ms", json!({}))), 0.0);
    // The queue overflows long before 181 segments are outstanding.
    let mut short = download("5 ms", small);
    short["queue"]["limit"] = json!("50 packets");
    assert_eq!(limited(&short), 0.0);
}

#[test]
fn a_buffer_holds_four_segments_at_least() {
    let scenario = download("5 ms", json!({"stack": "linux"}));
    let found = results(&set(scenario.clone(), "tcp.receive_buffer", json!("5792 B")), 1);
    assert!(figure(&found, "connections", "f", "goodput_bps") > 0.0);
    value_refused(
        &scenario,
        "tcp.receive_buffer",
        json!("5791 B"),
        "flows[0].tcp: a receive buffer of 5791 bytes",
        "two segments",
    );
}
