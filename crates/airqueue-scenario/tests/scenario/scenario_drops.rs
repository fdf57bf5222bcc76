//! What was lost of each flow at each place: over random networks, places and kinds add up to the losses of the run.

use crate::figures::results;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

/// A server behind a wire, an access point, a relay and stations, in overload; draws are the places and kinds of losses.
#[derive(Clone, Debug)]
struct Drawn {
    queue: Value,
    wire_queue: Value,
    wire_loss: f64,
    wire_mbps: u32,
    frame_errors: f64,
    retries: u32,
    processing: Option<u32>,
    kbps: u32,
}

fn queue() -> impl Strategy<Value = Value> {
    let cake =
        json!({"discipline": "cake", "cake": {"rate": "2 Mb/s", "ack_filter": "ack-filter"}});
    let words = select(vec![
        json!({"limit": "8 packets"}),
        json!({"discipline": "codel", "codel": {"target": "1 ms", "interval": "10 ms"}}),
        json!({"discipline": "fq_codel", "limit": "30 packets"}),
        json!({"discipline": "pie"}),
    ]);
    prop_oneof![4 => words, 1 => Just(cake)]
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let wire = (queue(), select(vec![0.0, 0.1]), 1u32..20);
    let air = (queue(), select(vec![0.0, 0.3]), 1u32..5);
    let processing = prop::option::of(50u32..2000);
    (wire, air, processing, 50u32..9000).prop_map(|(wire, air, processing, kbps)| Drawn {
        queue: air.0,
        wire_queue: wire.0,
        wire_loss: wire.1,
        wire_mbps: wire.2,
        frame_errors: air.1,
        retries: air.2,
        processing,
        kbps,
    })
}

fn scenario(of: &Drawn) -> Value {
    let cbr = |name: &str, from: &str, to: &str| {
        let rate = format!("{} kb/s", of.kbps);
        json!({"name": name, "from": from, "to": to, "source": "cbr", "rate": rate, "size": "500 B"})
    };
    let tcp = |name: &str, from: &str, to: &str| json!({"name": name, "from": from, "to": to, "source": "tcp"});
    let mut relayed = cbr("relayed", "sta", "server");
    relayed["via"] = json!(["relay"]);
    let mut relay = json!({"name": "relay"});
    if let Some(rate) = of.processing {
        relay["processing_rate"] = json!(format!("{rate} packets/s"));
    }
    json!({
        "duration": "2 s", "warm_up": "100 ms",
        "phy": {"standard": "802.11b", "rate": "11 Mb/s"},
        "mac": {"short_retry_limit": of.retries, "long_retry_limit": of.retries},
        "queue": of.queue,
        "medium": {"errors": {"frame": of.frame_errors}},
        "stations": [{"name": "ap"}, relay, {"name": "sta"}],
        "hosts": [{
            "name": "server", "link": "ap", "rate": format!("{} Mb/s", of.wire_mbps), "delay": "2 ms",
            "loss": of.wire_loss, "queue": of.wire_queue,
        }],
        "flows": [
            cbr("down", "server", "sta"), relayed, tcp("get", "server", "sta"), tcp("put", "sta", "server"),
        ],
    })
}

/// The sum of kinds over all places of a flow, or of its way back.
fn sum(results: &Value, way: &str, kinds: &[&str]) -> u64 {
    let prefix = format!("{way} at ");
    let places = results["drops"].as_object().unwrap().iter();
    let places = places.filter(|(place, _)| place.starts_with(&prefix));
    places.map(|(_, of)| kinds.iter().map(|kind| of[*kind].as_u64().unwrap()).sum::<u64>()).sum()
}

const BY_QUEUES: [&str; 4] =
    ["full_packets", "early_packets", "filtered_packets", "unprocessed_packets"];
const GIVEN_UP: [&str; 2] = ["given_up_packets", "wire_packets"];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn drops_by_place_and_kind_add_up_to_the_drops_of_the_run(of in drawn(), seed: u64) {
        let found = results(&scenario(&of), seed);
        for flow in ["down", "relayed", "get", "put"] {
            let figure = |kind: &str, name: &str| found[kind][flow][name].as_u64().unwrap();
            let dropped = figure("flows", "queue_dropped_packets");
            prop_assert_eq!(sum(&found, flow, &BY_QUEUES), dropped, "{}", flow);
            let given_up = figure("flows", "given_up_packets");
            prop_assert_eq!(sum(&found, flow, &GIVEN_UP), given_up, "{}", flow);
            if found["connections"][flow].is_object() {
                let back = format!("{flow} back");
                let lost = sum(&found, &back, &BY_QUEUES) + sum(&found, &back, &GIVEN_UP);
                prop_assert_eq!(lost, figure("connections", "lost_ack_packets"), "{}", back);
            }
        }
    }
}
