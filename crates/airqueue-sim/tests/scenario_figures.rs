//! What simulated scenarios report, beside what must be true of them.

use airqueue_core::Seed;
use airqueue_sim::scenario::Scenario;
use serde_json::{Value, json};

fn results(scenario: &Value, seed: u64) -> Value {
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
    let mut run = scenario.start(Seed(seed)).unwrap();
    run.advance(scenario.warm_up());
    run.advance(scenario.duration());
    assert_eq!(run.now(), run.end());
    serde_json::from_str(&run.results()).unwrap()
}

fn cell(standard: &str, rate: &str, control: &str, stations: u32) -> Value {
    json!({
        "duration": "10 s",
        "phy": {"standard": standard, "rate": rate, "control_rate": control},
        "stations": [{"name": "ap"}, {"name": "sta", "count": stations}],
        "flows": [{"from": "sta", "to": "ap"}],
    })
}

/// A single sender's cycle is DIFS, the mean of the backoff, data, SIFS and ACK. 10 s are some 5 000 cycles of
/// 802.11b, the standard error of whose mean backoff is 20 µs · 9.2 / sqrt(5000), 0.15 % of a cycle.
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
        let throughput = results["flows"]["sta1->ap"]["throughput_bps"].as_f64().unwrap();
        let expected = 12_000.0 / cycle_us * 1e6;
        assert!((throughput / expected - 1.0).abs() < 0.003, "{throughput} beside {expected}");
        assert_eq!(results["duration_s"], 10.0);
        assert_eq!(results["medium"]["collided_ratio"], 0.0);
        assert_eq!(results["medium"]["throughput_jain_index"], 1.0);
    }
}
