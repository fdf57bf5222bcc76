//! Neighbours, held against closed forms. Tolerances were stated before the first run.

use crate::figures::{close, figure, results};
use crate::scenarios::{set, value_refused};
use serde_json::{Value, json};

fn home(neighbours: Value) -> Value {
    json!({
        "duration": "100 s",
        "phy": {"standard": "802.11a", "rate": "54 Mb/s", "control_rate": "24 Mb/s"},
        "stations": [{"name": "ap"}, {"name": "phone"}],
        "neighbours": neighbours,
        "flows": [{"name": "own", "from": "ap", "to": "phone", "source": "cbr", "packet_rate": "5 packets/s"}]
    })
}

/// A cell alone on the channel takes the share that was told, data and responses without the SIFS between them: 248, 16 and
/// 28 us. Within four standard errors of the number of its packets, and 1 % of collisions with nobody.
#[test]
fn a_neighbour_takes_the_share_that_was_told() {
    for load in [0.1, 0.4] {
        let found = results(&home(json!([{"name": "n", "load": load}])), 1);
        let packets = load / 292e-6 * 100.0;
        let own = 500.0 * (248e-6 + 28e-6) / 100.0;
        let expected = load * (248.0 + 28.0) / 292.0 + own;
        close(
            figure(&found, "stations", "ap", "busy_ratio"),
            expected,
            4.0 / packets.sqrt() + 0.01,
        );
        let flow = |name: &str| figure(&found, "flows", name, "delivered_packets");
        let down = flow("n-down1") + flow("n-down2");
        close(down, 0.9 * packets, 4.0 / (0.9 * packets).sqrt());
    }
}

/// Cells that hear each other share the channel as stations of one cell: saturated access points, one of ours and three of
/// theirs in one collision domain, each send as often. Within 3 %: shares
/// of the collision domain wander by 1.7 % in 60 s (40 replications), so by 0.5 % in 600 s.
#[test]
fn cells_that_hear_each_other_share_the_channel() {
    let mut cell = home(json!([]));
    let names = ["a", "b", "c"];
    cell["neighbours"] = names
        .iter()
        .map(|name| json!({"name": name, "load": 0.9, "down": 1.0, "stations": 1}))
        .collect();
    cell["flows"] = json!([{"name": "own", "from": "ap", "to": "phone"}]);
    cell["duration"] = json!("600 s");
    let found = results(&cell, 2);
    let own = figure(&found, "flows", "own", "throughput_bps");
    for name in names {
        let theirs = figure(&found, "flows", &format!("{name}-down"), "throughput_bps");
        close(theirs, own, 0.03);
    }
}

/// A cell that only the phone hears: the access point does not wait for it, and its frames to the phone collide. Each is
/// alone with probability (1 - share) exp(-λ D): no exchange of the other cell is on the air when it begins, and none begins
/// during it. Within 10 % of the lost share: the other cell hears the phone's ACKs, and waits.
#[test]
fn a_cell_heard_by_one_station_is_hidden_from_the_other() {
    let cell = home(
        json!([{"name": "n", "load": 0.2, "down": 1.0, "stations": 1, "heard_by": ["phone"]}]),
    );
    let mut cell = set(cell, "flows[0].packet_rate", json!("200 packets/s"));
    cell["mac"] = json!({"short_retry_limit": 1, "long_retry_limit": 1});
    let found = results(&cell, 3);
    let per_s = 0.2 / 292e-6;
    let alone = (1.0 - 0.2 * 276.0 / 292.0) * f64::exp(-per_s * 248e-6);
    close(figure(&found, "flows", "own", "loss_ratio"), 1.0 - alone, 0.1);
    let busy = |name| figure(&found, "stations", name, "busy_ratio");
    assert!(busy("phone") > busy("ap") + 0.15);
    // A cell that both hear costs next to nothing.
    cell["neighbours"][0]["heard_by"] = json!(["ap", "phone"]);
    assert!(figure(&results(&cell, 3), "flows", "own", "loss_ratio") < 0.05);
}

/// With positions who hears whom follows.
#[test]
fn positions_say_who_hears_a_neighbour() {
    let mut cell = home(json!([{"name": "n", "load": 0.3, "position": ["60 m", "0 m"]}]));
    cell["medium"] = json!({"ranges": {"decode": "30 m", "sense": "40 m"}});
    cell["stations"] = json!([
        {"name": "ap", "position": ["0 m", "0 m"]}, {"name": "phone", "position": ["25 m", "0 m"]}
    ]);
    let found = results(&cell, 4);
    let busy = |name| figure(&found, "stations", name, "busy_ratio");
    assert!(busy("ap") < 0.03 && busy("phone") > 0.2, "{} and {}", busy("ap"), busy("phone"));
}

#[test]
fn neighbours_may_have_signals() {
    let mut cell = home(json!([{"name": "n", "load": 0.3, "heard_by": ["phone"], "snr": "12 dB"}]));
    cell["medium"] = json!({"snr": "30 dB", "errors": "snr"});
    cell["duration"] = json!("1 s");
    let found = results(&cell, 5);
    assert!(figure(&found, "stations", "phone", "busy_ratio") > 0.2);
    assert!(figure(&found, "stations", "ap", "busy_ratio") < 0.02);
}

#[test]
fn what_cannot_be_is_refused() {
    let cell = home(json!([{"name": "n", "load": 0.3}]));
    let refused = |key: &str, value: Value, start: &str, part: &str| {
        value_refused(&cell, key, value, start, part);
    };
    refused("neighbours[0].load", json!(1.0), "neighbours[0].load: ", "at most 0.9");
    refused("neighbours[0].load", json!(0.0), "neighbours[0].load: ", "above 0");
    refused("neighbours[0].load", Value::Null, "neighbours[0]", "`load`");
    refused("neighbours[0].down", json!(2.0), "neighbours[0].down: ", "0 to 1");
    refused("neighbours[0].stations", json!(0), "neighbours[0].stations: ", "1 to 100");
    refused("neighbours[0].name", json!("phone"), "neighbours[0]: ", "\"phone\"");
    refused("neighbours[0].rate", json!("7 Mb/s"), "neighbours[0].rate: ", "7 Mb/s");
    refused(
        "neighbours[0].position",
        json!(["1 m", "1 m"]),
        "neighbours[0].position: ",
        "heard_by",
    );
    refused("neighbours[0].heard_by", json!(["tv"]), "neighbours: ", "\"tv\"");
    refused("neighbours[0].snr", json!("9 dB"), "neighbours[0].snr: ", "heard_by");
    refused("medium", json!({"ranges": {"decode": "9 m"}}), "neighbours[0]: ", "`position`");
}
