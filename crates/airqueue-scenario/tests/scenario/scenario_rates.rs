//! Rate control in scenarios: its choice, its rates, and errors.

use airqueue_core::Seed;
use airqueue_network::wlan::{HopSpec, RateControlSpec};
use airqueue_scenario::Scenario;
use airqueue_wifi::rate_control::RateControlName;
use serde_json::{Value, json};

fn cell(phy: Value) -> Value {
    json!({
        "duration": "1 s",
        "phy": phy,
        "stations": [{"name": "ap"}, {"name": "sta"}, {"name": "other"}],
        "flows": [{"from": "sta", "to": "ap"}, {"from": "ap", "to": "other"}],
    })
}

fn hops(scenario: &Value) -> Vec<HopSpec> {
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap_or_else(|e| panic!("{e}"));
    scenario.wlan().hops.clone()
}

fn algorithms(scenario: &Value) -> Vec<Option<RateControlName>> {
    let algorithm = |flow: &HopSpec| flow.rate_control.as_ref().map(|control| control.algorithm);
    hops(scenario).iter().map(algorithm).collect()
}

fn refusal(scenario: &Value) -> String {
    Scenario::from_json(&scenario.to_string()).expect_err("refused").to_string()
}

#[test]
fn rate_control_comes_from_flow_station_and_layer_in_this_order() {
    let mut scenario = cell(json!({"standard": "802.11a"}));
    assert_eq!(algorithms(&scenario), [None, None]);
    scenario["phy"]["rate_control"] = json!("arf");
    assert_eq!(algorithms(&scenario), [Some(RateControlName::Arf); 2]);
    scenario["stations"][0]["rate_control"] = json!("minstrel");
    assert_eq!(
        algorithms(&scenario),
        [Some(RateControlName::Arf), Some(RateControlName::Minstrel)]
    );
    scenario["flows"][1]["rate_control"] = json!("aarf");
    assert_eq!(algorithms(&scenario), [Some(RateControlName::Arf), Some(RateControlName::Aarf)]);
    scenario["flows"][1]["rate_control"] = json!("fixed");
    assert_eq!(algorithms(&scenario), [Some(RateControlName::Arf), None]);
    // A station with a rate has no rate control.
    scenario["stations"][1]["rate"] = json!("24 Mb/s");
    assert_eq!(algorithms(&scenario), [None, None]);
    scenario["flows"][0]["phy_rate"] = json!("12 Mb/s");
    assert_eq!(algorithms(&scenario), [None, None]);
}

#[test]
fn rates_are_those_that_both_stations_have() {
    let rates = |scenario: &Value| -> Vec<usize> {
        let count = |control: &RateControlSpec| control.rates.len();
        hops(scenario).iter().map(|flow| flow.rate_control.as_ref().map_or(0, count)).collect()
    };
    let minstrel = |mut phy: Value| {
        phy["rate_control"] = json!("minstrel");
        cell(phy)
    };
    assert_eq!(rates(&minstrel(json!({"standard": "802.11b"}))), [4, 4]);
    assert_eq!(rates(&minstrel(json!({"standard": "802.11a"}))), [8, 8]);
    assert_eq!(rates(&minstrel(json!({"standard": "802.11g"}))), [12, 12]);
    // Schemes of each width and number of streams.
    let mut scenario = minstrel(json!({"standard": "802.11n", "width": "40 MHz", "streams": 2}));
    assert_eq!(rates(&scenario), [8 * 2 * 2, 8 * 2 * 2]);
    scenario["stations"][1]["mac"] = json!({"access": "dcf"});
    assert_eq!(rates(&scenario), [8, 8 * 2 * 2]);
    assert_eq!(rates(&minstrel(json!({"standard": "802.11ax", "width": "20 MHz"}))), [12, 12]);
}

#[test]
fn rate_control_of_a_given_rate_is_refused() {
    let base = || cell(json!({"standard": "802.11a"}));
    let mut scenario = base();
    scenario["phy"] = json!({"standard": "802.11a", "rate": "54 Mb/s", "rate_control": "minstrel"});
    assert!(refusal(&scenario).starts_with("phy.rate: phy.rate_control looks for it"));
    scenario["phy"]["rate_control"] = json!("fixed");
    assert_eq!(algorithms(&scenario), [None, None]);

    let mut scenario = base();
    scenario["stations"][1] = json!({"name": "sta", "rate": "6 Mb/s", "rate_control": "arf"});
    assert!(refusal(&scenario).starts_with("stations[1].rate: rate_control looks for it"));

    let mut scenario = base();
    scenario["flows"][0]["phy_rate"] = json!("6 Mb/s");
    scenario["flows"][0]["rate_control"] = json!("aarf");
    assert!(refusal(&scenario).starts_with("flows[0].phy_rate: rate_control looks for it"));

    let mut scenario = base();
    scenario["stations"][0]["rate"] = json!("6 Mb/s");
    scenario["flows"][0]["rate_control"] = json!("aarf");
    let refusal_text = refusal(&scenario);
    assert!(refusal_text.starts_with("flows[0].rate_control: "), "{refusal_text}");
    assert!(refusal_text.contains("\"ap\" has a rate of its own"), "{refusal_text}");

    let mut scenario = base();
    scenario["phy"]["rate_control"] = json!("samplerate");
    assert!(refusal(&scenario).starts_with("phy.rate_control: "));
}

#[test]
fn the_mean_rate_is_a_figure() {
    let mean = |rate_control: &str| {
        let mut scenario = cell(json!({"standard": "802.11a", "rate_control": rate_control}));
        scenario["medium"]["errors"] = json!({"frame": 0.02});
        let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
        let mut run = scenario.start(Seed(1)).unwrap();
        run.advance(scenario.warm_up());
        run.advance(scenario.duration());
        let results: Value = serde_json::from_str(&run.results()).unwrap();
        results["flows"]["sta->ap"]["data_rate_mean_bps"].as_f64().unwrap()
    };
    assert_eq!(mean("fixed"), 54e6);
    let minstrel = mean("minstrel");
    assert!((48e6..54e6).contains(&minstrel), "{minstrel}");
}
