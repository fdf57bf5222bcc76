//! Random positions: area, distances, and errors.

use crate::scenarios::{refusal_of, set};
use airqueue_scenario::Scenario;
use airqueue_wifi::medium::StationId;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A group in a disc or a rectangle. Received powers give the distances of members.
fn group(count: u32, random: Value) -> Value {
    json!({
        "duration": "1 s",
        "phy": {"standard": "802.11b"},
        "medium": {
            "path_loss": {"free_space": {"frequency": "2.4 GHz"}},
            "thresholds": {"decode": "-200 dBm"}
        },
        "stations": [
            {"name": "centre", "position": ["1 km", "2 km"], "power": "1 W"},
            {"name": "n", "count": count, "position": ["1 km", "2 km"], "random": random, "power": "1 W"}
        ]
    })
}

/// Distances of all pairs in metres: of the first station, at the group's position, and of the members.
fn distances(value: &Value) -> Vec<Vec<f64>> {
    let scenario = Scenario::from_json(&value.to_string()).unwrap();
    let reach = &scenario.wlan().reach;
    let wavelength = 299_792_458.0 / 2.4e9;
    let metres = |power_w: f64| wavelength / (4.0 * std::f64::consts::PI * power_w.sqrt());
    let from = |id: usize| {
        let to = |to: usize| {
            let signal = reach.signal(StationId(id as u32), StationId(to as u32));
            signal.map_or(0.0, |signal| metres(signal.power_w))
        };
        (0..reach.stations()).map(to).collect()
    };
    (0..reach.stations()).map(from).collect()
}

/// The least distance between two members.
fn least(distances: &[Vec<f64>]) -> f64 {
    let members = 1..distances.len();
    let pairs = members.flat_map(|a| (a + 1..distances.len()).map(move |b| distances[a][b]));
    pairs.fold(f64::INFINITY, f64::min)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn members_stand_in_their_disc(count in 1u32..60, seed in any::<u32>()) {
        let all = distances(&group(count, json!({"radius": "100 m", "seed": seed})));
        for metres in &all[0] {
            prop_assert!(*metres <= 100.001, "{metres}");
        }
    }

    #[test]
    fn members_stand_in_their_rectangle(count in 1u32..60, seed in any::<u32>()) {
        let random = json!({"area": ["300 m", "400 m"], "seed": seed, "min_distance": "1 m"});
        let all = distances(&group(count, random));
        for metres in &all[0] {
            prop_assert!(*metres <= 500.001, "{metres}");
        }
        prop_assert!(least(&all) >= 0.999);
    }

    /// The error about a group that is too dense suggests a distance, with which the scenario is valid.
    #[test]
    fn a_group_too_dense_gets_a_distance_that_fits(
        count in 2u32..150, width in 1u32..1000, height in 1u32..1000, disc in any::<bool>(),
    ) {
        let room = if disc { json!({"radius": format!("{width} m")}) }
            else { json!({"area": [format!("{width} m"), format!("{height} m")]}) };
        let apart = |metres: &str| {
            let mut random = room.clone();
            random["min_distance"] = json!(metres);
            group(count, random)
        };
        let refusal = refusal_of(apart("3 km"));
        prop_assert!(refusal.starts_with("stations[1].random.min_distance: only 1 of "), "{refusal}");
        let advice = refusal.split("at most ").nth(1).expect("an advice");
        let metres: f64 = advice.trim_end_matches(" m").parse().unwrap();
        prop_assert!(least(&distances(&apart(advice))) >= metres * 0.999);
        // Four times as much is more than the densest packing has room for, margins included.
        let area = if disc { 3.15 * f64::from(width * width) } else { f64::from(width * height) };
        prop_assert!(metres * metres * f64::from(count) > 0.4 * area);
    }
}

#[test]
fn a_seed_decides_and_so_does_the_groups_name() {
    let with = |seed: u32| distances(&group(20, json!({"radius": "100 m", "seed": seed})));
    assert_eq!(with(1), with(1));
    assert_ne!(with(1), with(2));
    let unsaid = distances(&group(20, json!({"radius": "100 m"})));
    assert_eq!(unsaid, with(0));
    let renamed = set(group(20, json!({"radius": "100 m"})), "stations[1].name", json!("m"));
    assert_ne!(distances(&renamed), unsaid);
}

/// Each quarter of a disc and of a rectangle has as many members as the others, within five standard deviations.
#[test]
fn places_are_evenly_spread() {
    // Within half the radius lies a quarter of the disc.
    let disc = distances(&group(4000, json!({"radius": "100 m", "seed": 5})));
    let inner = disc[0][1..].iter().filter(|&&metres| metres < 50.0).count() as f64;
    assert!((inner - 1000.0).abs() < 5.0 * (4000.0f64 * 0.25 * 0.75).sqrt(), "{inner}");
    // Within the width of a square from its corner lies pi/4 of the square.
    let square = distances(&group(4000, json!({"area": ["100 m", "100 m"], "seed": 5})));
    let inner = square[0][1..].iter().filter(|&&metres| metres < 100.0).count() as f64;
    let share = std::f64::consts::FRAC_PI_4;
    assert!((inner - 4000.0 * share).abs() < 5.0 * (4000.0 * share * (1.0 - share)).sqrt());
}

#[test]
fn invalid_areas_are_refused() {
    let refused = |random: Value, start: &str, part: &str| {
        let refusal = refusal_of(group(3, random));
        assert!(refusal.starts_with(&format!("stations[1].{start}: ")), "{refusal:?}");
        assert!(refusal.contains(part), "{refusal:?}");
    };
    refused(json!({}), "random", "one of `radius` and `area`");
    refused(json!({"radius": "1 m", "area": ["1 m", "1 m"]}), "random", "one of");
    refused(json!({"radius": "-1 m"}), "random.radius", "below 0 m");
    refused(json!({"area": ["1 m", "-1 m"]}), "random.area", "below 0 m");
    refused(json!({"radius": "1 m", "min_distance": "-1 m"}), "random.min_distance", "below 0 m");
    refused(json!({"radius": "0 m", "min_distance": "1 m"}), "random.min_distance", "only 1 of 3");
    refused(json!({"radius": "1 m", "seed": -1}), "random.seed", "whole number");
    let alone = set(group(3, json!({"radius": "1 m"})), "stations[1].count", Value::Null);
    assert!(refusal_of(alone).contains("give count"));
    let both = set(group(3, json!({"radius": "1 m"})), "stations[1].circle", json!("1 m"));
    assert!(refusal_of(both).contains("more than one of"));
    let nowhere = set(group(3, json!({"radius": "1 m"})), "medium", json!({}));
    let nowhere = set(nowhere, "stations[1].position", Value::Null);
    assert!(refusal_of(set(nowhere, "stations[0]", json!({"name": "centre"}))).contains("random"));
}

/// Tiny distances take no longer than others.
#[test]
fn many_members_at_tiny_distances_find_places() {
    let scenario = group(20_000, json!({"area": ["10 km", "10 km"], "min_distance": "1e-300 m"}));
    let near = json!({"ranges": {"decode": "50 m"}});
    let scenario = set(scenario, "medium", near);
    let scenario = set(scenario, "stations[0].power", Value::Null);
    let scenario = set(scenario, "stations[1].power", Value::Null);
    assert_eq!(Scenario::from_json(&scenario.to_string()).unwrap().wlan().stations.len(), 20_001);
}
