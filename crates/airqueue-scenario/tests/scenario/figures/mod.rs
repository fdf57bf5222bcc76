//! Runs of scenarios, and their reported figures.

use airqueue_core::{Seed, Span};
use airqueue_scenario::Scenario;
use serde_json::Value;

/// All figures of a run.
pub fn results(scenario: &Value, seed: u64) -> Value {
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
    let mut run = scenario.start(Seed(seed)).unwrap();
    run.advance(scenario.warm_up());
    run.advance(scenario.duration());
    assert_eq!(run.now(), run.end());
    serde_json::from_str(&run.results()).unwrap()
}

/// Figures up to a moment, as JSON.
pub fn up_to(scenario: &Value, end: Span) -> String {
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
    let mut run = scenario.start(Seed(7)).unwrap();
    run.advance(end);
    run.results()
}

/// The figure `name` of a flow, a station or a queue.
pub fn figure(results: &Value, kind: &str, of: &str, name: &str) -> f64 {
    let figure = &results[kind][of][name];
    figure.as_f64().unwrap_or_else(|| panic!("{kind}.{of}.{name} is {figure}"))
}

/// A figure as a number.
pub fn number(of: &Value) -> f64 {
    of.as_f64().unwrap_or_else(|| panic!("{of} is no number"))
}

/// Asserts that `value` is `expected` within a relative tolerance.
pub fn close(value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() < tolerance, "{value} beside {expected}");
}
