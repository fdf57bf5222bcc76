//! Random networks of wires, a relay and TCP in which packets are lost at all places.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

/// A server behind a wire, an access point, a relay and stations, in overload; draws are the places and kinds of losses.
#[derive(Clone, Debug)]
pub struct Drawn {
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

pub fn drawn() -> impl Strategy<Value = Drawn> {
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

pub fn scenario(of: &Drawn) -> Value {
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
