//! Any scenario: refused with a sentence, or it runs for a moment and has figures.
#![no_main]

use airqueue_core::{Seed, Span};
use airqueue_scenario::Scenario;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// Larger networks are possible, and take longer than a fuzzer has.
const MOST_STATIONS: u64 = 100;

fuzz_target!(|text: &str| {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let stations = value["stations"].as_array().map_or(&[][..], |stations| &stations[..]);
    if stations.iter().any(|group| group["count"].as_u64() > Some(MOST_STATIONS)) {
        return;
    }
    match Scenario::from_json(text) {
        Ok(scenario) => {
            let mut run = scenario.start(Seed(0)).expect("what passes can be started");
            run.advance(Span::from_micros(100));
            let _: Value = serde_json::from_str(&run.results()).expect("figures are JSON");
        }
        Err(error) => assert!(!error.problem.is_empty()),
    }
});
