//! What was lost of each flow at each place: over random networks, places and kinds add up to the losses of the run.

use crate::figures::results;
use crate::lossy_networks::{drawn, scenario};
use proptest::prelude::*;
use serde_json::Value;

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
