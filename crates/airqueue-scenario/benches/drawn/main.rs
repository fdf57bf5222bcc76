//! Draws the random networks of the property tests as scenarios, a line of JSON each.
//!
//! `-- SEED COUNT` prints the draws 0 to COUNT - 1 of a seed. Two of three are networks of stations (`random_networks` of
//! airqueue-network), one is a network with wires, a relay and TCP (`lossy_networks` of this crate). A draw that no file
//! can describe has the key that is in the way in `refused`, instead of `scenario`. `benches/engine_cost.py` has two
//! engines simulate them.

#[path = "../../../airqueue-network/tests/network/cells/mod.rs"]
mod cells;
#[path = "../../tests/scenario/lossy_networks/mod.rs"]
mod lossy_networks;
#[allow(dead_code, reason = "properties that are checked use the other parts")]
#[path = "../../../airqueue-network/tests/network/random_networks/mod.rs"]
mod random_networks;
mod words;

use airqueue_scenario::Scenario;
use proptest::prelude::Strategy;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use words::Words;

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    // `cargo test --benches` gives no numbers.
    let [seed, count] = numbers[..] else { return };
    let words = Words::new();
    (0..count).for_each(|draw| println!("{}", line(&words, seed, draw)));
}

/// A draw; each has a random stream of its own.
fn line(words: &Words, seed: u64, draw: u64) -> Value {
    let (kind, drawn) = match draw % 3 {
        2 => (
            "wires and TCP",
            Ok(lossy_networks::scenario(&value(lossy_networks::drawn(), seed, draw))),
        ),
        _ => ("stations", words.scenario(&value(random_networks::networks(), seed, draw))),
    };
    let checked = drawn.and_then(|scenario| match Scenario::from_json(&scenario.to_string()) {
        Ok(_) => Ok(scenario),
        Err(refusal) => Err(refusal.to_string()),
    });
    match checked {
        Ok(scenario) => json!({"draw": draw, "kind": kind, "scenario": scenario}),
        Err(refused) => json!({"draw": draw, "kind": kind, "refused": refused}),
    }
}

fn value<S: Strategy>(strategy: S, seed: u64, draw: u64) -> S::Value {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&draw.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    strategy.new_tree(&mut runner).expect("no draw is refused by its strategy").current()
}
