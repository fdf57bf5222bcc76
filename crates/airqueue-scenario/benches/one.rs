//! One scenario, timed: `-- FILE SECONDS SEED RUNS` simulates the JSON of a file from its beginning, and prints the least time of
//! its runs and their figures. Without RUNS the scenario is only checked, and what is wrong with it printed.
//!
//! `benches/engine_cost.py` builds this file with earlier engines too: only functions that these have are used here, and
//! instructions are counted within `simulate_counted`.

#![allow(clippy::disallowed_methods)] // it reads a file and the clock

use airqueue_core::{Seed, Span};
use airqueue_scenario::{Run, Scenario};
use std::time::Instant;

fn main() {
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let [file, numbers @ ..] = &words[..] else { return };
    let text = std::fs::read_to_string(file).expect("a file");
    let scenario = match Scenario::from_json(&text) {
        Ok(scenario) => scenario,
        Err(refusal) => return println!("{refusal}"),
    };
    let [seconds, seed, runs] = numbers else { return };
    let span = Span::from_nanos((seconds.parse::<f64>().expect("seconds") * 1e9) as i64);
    let seed = Seed(seed.parse().expect("a seed"));
    let (mut least, mut figures) = (u128::MAX, String::new());
    for _ in 0..runs.parse::<u32>().expect("a number of runs") {
        let mut run = scenario.start(seed).expect("a network");
        let before = Instant::now();
        simulate_counted(&mut run, span);
        least = least.min(before.elapsed().as_nanos());
        figures = run.results();
    }
    println!("{{\"ns\": {least}, \"figures\": {figures}}}");
}

#[inline(never)]
fn simulate_counted(run: &mut Run, span: Span) {
    run.advance(span);
}
