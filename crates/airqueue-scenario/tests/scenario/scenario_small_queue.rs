//! `small_queue`: a station's own TCP leaves the station's queue short, and nothing else changes.

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

/// A transfer between a station and a server 20 ms away, with a queue that no sender may overflow.
fn transfer(standard: &str, upload: bool, tcp: Value) -> Value {
    let (from, to) = if upload { ("sta", "server") } else { ("server", "sta") };
    json!({
        "duration": "10 s", "warm_up": "5 s", "phy": {"standard": standard},
        "queue": {"discipline": "droptail", "limit": "2000 packets"},
        "stations": [{"name": "ap"}, {"name": "sta"}],
        "hosts": [{"name": "server", "link": "ap", "delay": "20 ms"}],
        "tcp": tcp,
        "flows": [{"name": "f", "from": from, "to": to, "source": "tcp"}],
    })
}

fn linux(small_queue: bool) -> Value {
    json!({"stack": "linux", "small_queue": small_queue, "window": "1000 packets"})
}

fn queue_of(figures: &Value, station: &str) -> f64 {
    let queues = figures["queues"].as_object().unwrap();
    let be = format!("{station}.be");
    let name = if queues.contains_key(station) { station } else { &be };
    number(figures, &format!("/queues/{name}/length_mean_packets"))
}

/// The window is 1000 segments, all of which would wait in the station but for those on the way.
#[test]
fn an_upload_keeps_its_segments_out_of_the_stations_queue() {
    for standard in ["802.11g", "802.11n"] {
        let [without, with] =
            [false, true].map(|small| run(&transfer(standard, true, linux(small))));
        let goodput = |figures| number(figures, "/connections/f/goodput_bps");
        assert!((goodput(&with) / goodput(&without) - 1.0).abs() < 0.02, "{standard}");
        // At most two windows of 1000 segments in a round trip of 40 ms, of which 1/128 s; the kernel counts 2304 bytes for
        // each. A burst of 45 more.
        let most = 2.0 * 1000.0 * 1448.0 / 0.04 / 128.0 / 2304.0 + 45.0;
        assert!(queue_of(&with, "sta") < most, "{standard}: {}", queue_of(&with, "sta"));
        assert!(queue_of(&without, "sta") > most, "{standard}: {}", queue_of(&without, "sta"));
    }
}

/// A shorter share leaves a shorter queue.
#[test]
fn the_share_may_be_a_time() {
    let of = |small: Value| {
        let tcp = json!({"stack": "linux", "small_queue": small, "window": "1000 packets"});
        run(&transfer("802.11n", true, tcp))
    };
    assert_eq!(of(json!("7.8125 ms")), of(json!(true)));
    assert!(queue_of(&of(json!("4 ms")), "sta") < queue_of(&of(json!(true)), "sta"));
}

/// A server's segments wait at the access point, which is another host.
#[test]
fn downloads_are_as_without() {
    for standard in ["802.11g", "802.11n"] {
        let [without, with] =
            [false, true].map(|small| run(&transfer(standard, false, linux(small))));
        assert_eq!(without, with);
    }
}

/// The window takes bursts of odd numbers of segments where losses move it, and their last segments are acknowledged alone: of a
/// server's too. The stack of Linux has bursts, the others have not.
#[test]
fn bursts_cause_more_acknowledgements() {
    let figures = |standard: &str, stack: &str, bursts: Option<bool>| {
        let mut tcp = json!({"stack": stack});
        if let Some(bursts) = bursts {
            tcp["segmentation_offload"] = bursts.into();
        }
        let mut scenario = transfer(standard, false, tcp);
        scenario["queue"]["limit"] = "60 packets".into();
        run(&scenario)
    };
    let acks = |figures: &Value| {
        number(figures, "/connections/f/ack_packets") / number(figures, "/connections/f/segments")
    };
    for standard in ["802.11b", "802.11g"] {
        let [with, without] = [true, false].map(|on| figures(standard, "linux", Some(on)));
        assert_eq!(figures(standard, "linux", None), with);
        let [more, fewer] = [acks(&with), acks(&without)];
        assert!(more > 1.02 * fewer, "{standard}: {more}, and {fewer} without bursts");
        let other = figures(standard, "standard", None);
        assert_eq!(figures(standard, "standard", Some(false)), other);
    }
}

/// The stack of Linux has small queues, the others have not.
#[test]
fn the_stack_says_whether_there_are_small_queues() {
    let figures = |tcp: Value| run(&transfer("802.11g", true, tcp));
    let window = "1000 packets";
    assert_eq!(figures(json!({"stack": "linux", "window": window})), figures(linux(true)));
    for stack in ["standard", "ns2"] {
        let [given, left_out] = [
            json!({"stack": stack, "window": window, "small_queue": false}),
            json!({"stack": stack, "window": window}),
        ];
        assert_eq!(figures(given), figures(left_out), "{stack}");
    }
}
