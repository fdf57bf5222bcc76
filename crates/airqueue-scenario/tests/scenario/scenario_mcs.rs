//! Scenarios of 802.11n, ac and ax: one station's throughput computed by hand, old stations in new cells, losses by
//! SNR, and errors.

use airqueue_core::Seed;
use airqueue_scenario::Scenario;
use airqueue_wifi::medium::FrameErrors;
use airqueue_wifi::phy::{Format, GuardInterval, Mcs, Width};
use serde_json::{Value, json};

fn results(scenario: &Value) -> Value {
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap_or_else(|e| panic!("{e}"));
    let mut run = scenario.start(Seed(1)).unwrap();
    run.advance(scenario.warm_up());
    run.advance(scenario.duration());
    serde_json::from_str(&run.results()).unwrap()
}

/// A saturated station with an access point.
fn cell(phy: Value) -> Value {
    json!({
        "duration": "30 s",
        "phy": phy,
        "stations": [{"name": "ap"}, {"name": "sta"}],
        "flows": [{"name": "up", "from": "sta", "to": "ap"}],
    })
}

/// The scenario with one packet per frame.
fn alone(mut scenario: Value) -> Value {
    scenario["mac"]["aggregation"] = json!({"enabled": false});
    scenario
}

fn figure(results: &Value, kind: &str, of: &str, name: &str) -> f64 {
    results[kind][of][name].as_f64().unwrap_or_else(|| panic!("{kind}.{of}.{name}"))
}

/// AIFS of best effort, the mean backoff, preamble and symbols, SIFS, ACK at 24 Mb/s, in microseconds. The
/// symbols carry 16 + 6 bits and a PSDU of 1538 bytes, from 802.11ac on 1542 with the delimiter (and at
/// 780 Mb/s a second tail). The backoff of some 80 000 cycles has a standard error of 0.05 % of a cycle.
#[test]
fn one_station_takes_a_cycle_for_each_packet() {
    let at_5_ghz = |frame_us: f64| 43.0 + 67.5 + frame_us + 16.0 + 28.0;
    let ac = json!({
        "standard": "802.11ac", "width": "80 MHz", "streams": 2, "guard_interval": "0.4 us"
    });
    let ax = json!({"standard": "802.11ax", "streams": 2});
    let cases = [
        ("standard", json!({"standard": "802.11n"}), at_5_ghz(36.0 + 48.0 * 4.0)),
        (
            "standard",
            json!({"standard": "802.11n", "rate": "HT-MCS15-40MHz-0.4us", "width": "40 MHz", "streams": 2}),
            at_5_ghz(40.0 + 44.0),
        ),
        (
            "standard",
            json!({"standard": "802.11n", "band": "2.4 GHz"}),
            37.0 + 67.5 + 36.0 + 48.0 * 4.0 + 6.0 + 10.0 + 34.0,
        ),
        ("standard", ac.clone(), at_5_ghz(44.0 + 16.0)),
        ("ns3", ac, at_5_ghz(40.0 + 4.0 * 3.6)),
        ("standard", ax.clone(), at_5_ghz(36.0 + 2.0 * 7.2 + 13.6)),
        ("ns3", ax, at_5_ghz(36.0 + 2.0 * 8.0 + 13.6)),
        (
            "standard",
            json!({"standard": "802.11ax", "width": "20 MHz", "rate": "HE-MCS0-3.2us"}),
            // 117 bits in 16 us; the reference rate of MCS 0 is 6 Mb/s.
            43.0 + 67.5 + 36.0 + 16.0 + 16.0 * 106.0 + 16.0 + 44.0,
        ),
    ];
    for (behaviour, phy, cycle_us) in cases {
        let mut scenario = alone(cell(phy));
        scenario["behaviour"] = json!(behaviour);
        let found = figure(&results(&scenario), "flows", "up", "throughput_bps");
        let expected = 12_000.0 / cycle_us * 1e6;
        assert!((found / expected - 1.0).abs() < 0.002, "{scenario}: {found} beside {expected}");
    }
}

/// Stations with OFDM alone behave in an 802.11ax cell as in one of 802.11a.
#[test]
fn old_stations_are_as_before() {
    let mut old = cell(json!({"standard": "802.11a", "rate": "54 Mb/s"}));
    old["duration"] = json!("1 s");
    let mut new = old.clone();
    new["phy"]["standard"] = json!("802.11ax");
    new["mac"] = json!({"access": "dcf"});
    assert_eq!(results(&old), results(&new));
}

/// With equal channel access an old station sends as many packets as a new one, the performance anomaly of 802.11;
/// except for collisions, which the sender of the shorter frame notices earlier.
#[test]
fn an_old_station_in_a_new_cell() {
    let dcf_as_edca = json!({
        "experimental": true,
        "edca": {"be": {"aifsn": 2, "countdown": "freeze"}}
    });
    let scenario = alone(json!({
        "duration": "30 s",
        "phy": {"standard": "802.11ax"},
        "mac": dcf_as_edca,
        "stations": [
            {"name": "ap"},
            {"name": "new"},
            {"name": "old", "rate": "6 Mb/s", "mac": {"access": "dcf"}},
        ],
        "flows": [{"name": "new", "from": "new", "to": "ap"}, {"name": "old", "from": "old", "to": "ap"}],
    }));
    let results = results(&scenario);
    let [new, old] = ["new", "old"].map(|of| figure(&results, "flows", of, "throughput_bps"));
    let collided = results["medium"]["collided_ratio"].as_f64().unwrap();
    assert!((new / old - 1.0).abs() < collided, "{new} {old} {collided}");
    // Alone it has 12 000 bits every 182 us.
    assert!(new < 6e6, "{new}");
}

/// The modulation of each stream determines the loss of a data frame; a stream has half of the power over four times
/// the noise of 20 MHz; its ACK, in 20 MHz at 24 Mb/s, never. 60 000 exchanges: five standard errors are 1 %.
#[test]
fn losses_by_snr() {
    let (format, guard) = (Format::He, GuardInterval::Ns800);
    let mcs = Mcs { format, index: 11, streams: 2, width: Width::MHZ_80, guard };
    let noise_w = 1e-12;
    // 38 dB over 80 MHz, 35 dB for a stream.
    let power_w = 4.0 * noise_w * 10f64.powf(3.8);
    let snr = mcs.stream_snr(power_w, noise_w, 0.0);
    assert!((10.0 * snr.log10() - 35.0).abs() < 0.02, "{snr}");
    let lost = FrameErrors::BySnr.loss(mcs.modulation(), snr, 1542);
    assert!((0.05..0.95).contains(&lost), "{lost} shows nothing");
    let mut scenario = cell(json!({"standard": "802.11ax", "streams": 2}));
    scenario["mac"] = json!({"short_retry_limit": 1});
    scenario["medium"] = json!({
        "errors": "snr", "noise": format!("{noise_w} W"),
        "links": [{"from": "ap", "to": "sta", "power": format!("{power_w} W")}],
    });
    let failed = figure(&results(&alone(scenario)), "stations", "sta", "failed_ratio");
    assert!((failed - lost).abs() < 0.01, "{failed} beside {lost}");
}

#[track_caller]
fn refused(scenario: &Value, start: &str, part: &str) {
    let refusal = match Scenario::from_json(&scenario.to_string()) {
        Ok(_) => panic!("not refused: {scenario}"),
        Err(error) => error.to_string(),
    };
    assert!(refusal.starts_with(start), "{refusal:?} does not begin with {start:?}");
    assert!(refusal.contains(part), "{refusal:?} does not say {part:?}");
}

#[test]
fn settings_that_a_layer_lacks_are_refused() {
    let n = |key: &str, value: Value| {
        let mut phy = json!({"standard": "802.11n", "width": "40 MHz", "streams": 2});
        phy[key] = value;
        cell(phy)
    };
    refused(&n("width", json!("30 MHz")), "phy.width: ", "expected 20, 40, 80");
    refused(&n("width", json!("80 MHz")), "phy.width: ", "at most 40 MHz");
    refused(&n("streams", json!(5)), "phy.streams: ", "1 to 4");
    refused(&n("streams", json!(0)), "phy.streams: ", "1 to 4");
    refused(&n("streams", json!(1000)), "phy.streams: ", "1 to 4");
    refused(&n("guard_interval", json!("1.6 us")), "phy.guard_interval: ", "0.4 or 0.8 us");
    refused(&n("band", json!("6 GHz")), "phy.band: ", "`2.4 GHz`");
    refused(&n("preamble", json!("long")), "phy.preamble: ", "2.4 GHz");
    refused(&n("slot", json!("long")), "phy.slot: ", "2.4 GHz");
    refused(&n("rate", json!("65 Mb/s")), "phy.rate: ", "\"HT-MCS7\"");
    refused(&n("rate", json!("HT-MCS32")), "phy.rate: ", "MCS 0 to 31");
    refused(&n("rate", json!("HT-MCS16")), "phy.rate: ", "fastest mode is HT-MCS15-40MHz-0.4us");
    refused(&n("rate", json!("HT-MCS7-2SS")), "phy.rate: ", "no name of a scheme");
    refused(&n("rate", json!("HE-MCS")), "phy.rate: ", "no name of a scheme");
    refused(
        &n("rate", json!("VHT-MCS3")),
        "phy.rate: ",
        "802.11n as it is set up here has no VHT-MCS3",
    );
    refused(&n("rate", json!(65)), "phy.rate: ", "65 has no unit");
    refused(&n("rate", json!(true)), "phy.rate: ", "a scheme");

    let ac = |key: &str, value: Value| {
        let mut phy = json!({"standard": "802.11ac", "streams": 3});
        phy[key] = value;
        cell(phy)
    };
    refused(&ac("rate", json!("VHT-MCS6")), "phy.rate: ", "leaves out VHT-MCS6-3SS-80MHz-0.8us");
    refused(&ac("rate", json!("VHT-MCS10-1SS")), "phy.rate: ", "VHT MCS 0 to 9");
    refused(&ac("rate", json!("VHT-MCS0-0SS")), "phy.rate: ", "1 to 8 streams");
    refused(&ac("band", json!("2.4 GHz")), "phy.band: ", "5 GHz");
    let ax = json!({"standard": "802.11ax", "band": "2.4 GHz", "width": "80 MHz"});
    refused(&cell(ax), "phy.width: ", "at most 40 MHz");

    for (key, value) in [
        ("band", json!("5 GHz")),
        ("width", json!("20 MHz")),
        ("streams", json!(1)),
        ("guard_interval", json!("0.8 us")),
    ] {
        let mut phy = json!({"standard": "802.11a"});
        phy[key] = value;
        refused(&cell(phy), &format!("phy.{key}: "), "802.11n");
    }
    refused(&cell(json!({"standard": "802.11g", "rate": "HT-MCS7"})), "phy.rate: ", "802.11g");
}

/// HT frames are exchanged between QoS stations only.
#[test]
fn old_access_has_old_rates() {
    let mut scenario = cell(json!({"standard": "802.11n"}));
    scenario["stations"][1]["mac"] = json!({"access": "dcf"});
    refused(&scenario, "flows[0]: ", "\"sta\" has DCF");
    scenario["stations"][1]["rate"] = json!("54 Mb/s");
    assert!(Scenario::from_json(&scenario.to_string()).is_ok());
    scenario["flows"][0]["phy_rate"] = json!("HT-MCS0");
    refused(&scenario, "flows[0]: ", "HT-MCS0-20MHz-0.8us");
}

/// Parts left out of a scheme's name come from the layer. The default rate of a cell is the highest scheme, or the one
/// below if the highest index does not exist.
#[test]
fn names_of_schemes() {
    let rate = |phy: Value| {
        let scenario =
            Scenario::from_json(&cell(phy).to_string()).unwrap_or_else(|e| panic!("{e}"));
        let (phy, flow) = (&scenario.wlan().radio.phy, &scenario.wlan().hops[0]);
        phy.mcs(flow.rate).map_or_else(|| phy.rate(flow.rate).to_string(), |mcs| mcs.to_string())
    };
    let ac = |more: Value| {
        let mut phy = json!({"standard": "802.11ac", "streams": 2, "guard_interval": "400 ns"});
        phy.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        rate(phy)
    };
    assert_eq!(ac(json!({})), "VHT-MCS9-2SS-80MHz-0.4us");
    assert_eq!(ac(json!({"width": "20 MHz"})), "VHT-MCS8-2SS-20MHz-0.4us");
    assert_eq!(ac(json!({"rate": "VHT-MCS0"})), "VHT-MCS0-2SS-80MHz-0.4us");
    assert_eq!(ac(json!({"rate": "VHT-MCS0-1SS"})), "VHT-MCS0-1SS-80MHz-0.4us");
    assert_eq!(ac(json!({"rate": "VHT-MCS0-40MHz"})), "VHT-MCS0-2SS-40MHz-0.4us");
    assert_eq!(ac(json!({"rate": "VHT-MCS0-0.8us"})), "VHT-MCS0-2SS-80MHz-0.8us");
    assert_eq!(ac(json!({"rate": "VHT-MCS1-1SS-20MHz-0.8us"})), "VHT-MCS1-1SS-20MHz-0.8us");
    assert_eq!(ac(json!({"rate": "HT-MCS3"})), "HT-MCS3-40MHz-0.4us");
    assert_eq!(ac(json!({"rate": "HT-MCS11-20MHz"})), "HT-MCS11-20MHz-0.4us");
    assert_eq!(ac(json!({"rate": "24 Mb/s"})), "24000000 bit/s");
    assert_eq!(rate(json!({"standard": "802.11n"})), "HT-MCS7-20MHz-0.8us");
    assert_eq!(rate(json!({"standard": "802.11n", "streams": 4})), "HT-MCS31-20MHz-0.8us");
    let ax = json!({"standard": "802.11ax", "band": "2.4 GHz", "guard_interval": "3.2 us"});
    assert_eq!(rate(ax.clone()), "HE-MCS11-1SS-20MHz-3.2us");
    let mut old = ax;
    old["rate"] = json!("HT-MCS7");
    assert_eq!(rate(old), "HT-MCS7-20MHz-0.8us");
}
