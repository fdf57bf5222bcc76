//! Signals that change: recorded and fading ones, held against the error curve. Tolerances are four standard errors of the
//! number of frames, unless said otherwise; they were stated before the first run.

use crate::figures::{close, figure, results};
use crate::scenarios::{set, value_refused};
use airqueue_wifi::medium::{CodeRate, FrameErrors, Mapping, Modulation};
use serde_json::{Value, json};

/// An MPDU with 1500 bytes of IP: LLC/SNAP, header and FCS.
const MPDU_BYTES: u32 = 1500 + 8 + 24 + 4;

/// 802.11a at 54 Mb/s without retransmissions, so that every frame is a sample of its own: `per_s` packets a second from a
/// phone to its access point.
fn samples(per_s: f64, duration_s: u32, links: Value) -> Value {
    json!({
        "duration": format!("{duration_s} s"),
        "warm_up": "0 s",
        "phy": {"standard": "802.11a", "rate": "54 Mb/s", "control_rate": "6 Mb/s"},
        "mac": {"short_retry_limit": 1, "long_retry_limit": 1},
        "medium": {"snr": "40 dB", "errors": "snr"},
        "stations": [{"name": "ap"}, {"name": "phone"}],
        "links": links,
        "flows": [{"name": "up", "from": "phone", "to": "ap", "source": "cbr",
                   "packet_rate": format!("{per_s} packets/s")}]
    })
}

/// The probability that a frame at 54 Mb/s is lost at a signal-to-noise ratio.
fn loss(snr: f64) -> f64 {
    let modulation = Modulation::Ofdm(Mapping::Qam(6), CodeRate::ThreeQuarters);
    FrameErrors::BySnr.loss(modulation, snr, MPDU_BYTES)
}

/// The signal-to-noise ratio in dB at which a frame is lost with a probability.
fn snr_db_of(lost: f64) -> f64 {
    let (mut low, mut high) = (0.0, 60.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if loss(f64::powf(10.0, middle / 10.0)) > lost { low = middle } else { high = middle }
    }
    low
}

#[track_caller]
fn near(found: f64, p: f64, frames: f64) {
    let error = (p * (1.0 - p) / frames).sqrt();
    assert!((found - p).abs() < 4.0 * error, "{found} for {p} of {frames} frames");
}

/// Each level of a recorded signal gives the frame errors of the curve there, in both directions.
#[test]
fn a_recorded_signal_has_the_errors_of_the_curve_at_each_level() {
    let levels = [0.1, 0.5, 0.9].map(snr_db_of);
    let trace = json!({"time_s": [0.0, 20.0, 40.0], "snr_db": levels});
    let links = json!([{"between": ["ap", "phone"], "snr_trace": trace}]);
    for (at, lost) in [0.1, 0.5, 0.9].into_iter().enumerate() {
        let recorded =
            set(samples(500.0, 20, links.clone()), "warm_up", json!(format!("{} s", 20 * at)));
        let found = results(&recorded, 1);
        let signal = |name| figure(&found, "signals", "phone->ap", name);
        near(signal("lost_ratio"), lost, signal("frames"));
        assert!((signal("snr_mean_db") - levels[at]).abs() < 1e-9);
        assert!(signal("snr_sd_db") < 1e-6);
        assert!((9990.0..=10_010.0).contains(&signal("frames")));
    }
}

/// A record that begins anew: half of the time at each level.
#[test]
fn a_recorded_signal_repeats() {
    let trace =
        json!({"time_s": [0.0, 0.5], "snr_db": [snr_db_of(0.2), snr_db_of(0.6)], "repeat": "1 s"});
    let links = json!([{"between": ["ap", "phone"], "snr_trace": trace}]);
    let found = results(&samples(1000.0, 20, links), 2);
    let signal = |name| figure(&found, "signals", "phone->ap", name);
    near(signal("lost_ratio"), 0.4, signal("frames"));
}

/// Rayleigh fading: the mean of the error curve over an exponential signal-to-noise ratio, one frame a block.
#[test]
fn rayleigh_fading_has_the_mean_of_the_curve() {
    for mean_db in [24.0f64, 30.0] {
        let fading = json!({"coherence": "4 ms"});
        let links =
            json!([{"between": ["ap", "phone"], "snr": format!("{mean_db} dB"), "fading": fading}]);
        let found = results(&samples(200.0, 400, links), 3);
        let signal = |name| figure(&found, "signals", "phone->ap", name);
        near(signal("lost_ratio"), over_rayleigh(mean_db), signal("frames"));
        // E 10 log X = -10 γ / ln 10 and its standard deviation 10 π / (√6 ln 10) for an exponential X.
        let sd = 5.570;
        let mean = signal("snr_mean_db") - mean_db;
        assert!((mean + 2.507).abs() < 4.0 * sd / signal("frames").sqrt() + 1e-3, "{mean}");
        assert!((signal("snr_sd_db") / sd - 1.0).abs() < 0.03, "{}", signal("snr_sd_db"));
    }
}

/// ∫ loss(mean x) e^-x dx, by the substitution u = e^-x and the midpoint rule.
fn over_rayleigh(mean_db: f64) -> f64 {
    const POINTS: u32 = 200_000;
    let mean = f64::powf(10.0, mean_db / 10.0);
    let at = |k: u32| (f64::from(k) + 0.5) / f64::from(POINTS);
    (0..POINTS).map(|k| loss(-mean * at(k).ln())).sum::<f64>() / f64::from(POINTS)
}

/// Shadowing: mean and standard deviation of the decibels. With 400 s and a coherence time of 100 ms there are 2000
/// independent values: 4 standard errors are 0.54 dB, and of the standard deviation 6.3 %.
#[test]
fn shadowing_has_its_deviation() {
    let shadowing = json!({"deviation": "6 dB", "coherence": "100 ms"});
    let links = json!([{"between": ["ap", "phone"], "snr": "30 dB", "shadowing": shadowing}]);
    let found = results(&samples(200.0, 400, links), 4);
    let signal = |name| figure(&found, "signals", "phone->ap", name);
    assert!((signal("snr_mean_db") - 30.0).abs() < 0.54, "{}", signal("snr_mean_db"));
    close(signal("snr_sd_db"), 6.0, 0.063);
}

/// Both directions of a link have one gain; another link has another one, and so has another replication.
#[test]
fn fading_is_reciprocal() {
    let fading = json!({"coherence": "1000 s", "line_of_sight": "3 dB"});
    let mut cell = samples(50.0, 2, json!([]));
    cell["medium"]["fading"] = fading;
    cell["stations"].as_array_mut().unwrap().push(json!({"name": "other"}));
    let back = json!({"name": "down", "from": "ap", "to": "phone", "source": "cbr", "packet_rate": "50 packets/s"});
    let third = json!({"name": "third", "from": "other", "to": "ap", "source": "cbr", "packet_rate": "50 packets/s"});
    cell["flows"].as_array_mut().unwrap().extend([back, third]);
    let snr = |seed, link| figure(&results(&cell, seed), "signals", link, "snr_mean_db");
    assert!((snr(1, "ap->phone") - snr(1, "phone->ap")).abs() < 1e-9);
    assert!((snr(1, "other->ap") - snr(1, "phone->ap")).abs() > 1e-3);
    assert!((snr(2, "phone->ap") - snr(1, "phone->ap")).abs() > 1e-3);
    assert_eq!(snr(1, "phone->ap"), snr(1, "phone->ap"));
}

/// With a path loss a fade takes a frame below the threshold of reception: the station neither decodes nor senses it. The
/// share of such frames is 1 - exp(-threshold / mean).
#[test]
fn a_faded_frame_is_not_even_noticed() {
    let mut cell =
        samples(200.0, 400, json!([{"between": ["ap", "phone"], "fading": {"coherence": "4 ms"}}]));
    cell["medium"] = json!({
        "path_loss": {"log_distance": {"exponent": 3.0, "reference_loss": "40 dB"}},
        "thresholds": {"decode": "-82 dBm"}
    });
    // 20 dBm - 40 dB - 30 log10(d) = -77 dBm at d = 10^1.9 m.
    cell["stations"] = json!([
        {"name": "ap", "position": ["0 m", "0 m"], "power": "20 dBm"},
        {"name": "phone", "position": ["79.4328234724 m", "0 m"], "power": "20 dBm"}
    ]);
    let found = results(&cell, 5);
    let (frames, lost) = (
        figure(&found, "signals", "phone->ap", "frames"),
        figure(&found, "signals", "phone->ap", "lost_ratio"),
    );
    let p = 1.0 - (-f64::powf(10.0, -0.5)).exp();
    near(lost, p, frames);
    // What the access point senses is what it decodes; it answers all of that: 248 us of data, and 44 us of ACK at 6 Mb/s.
    let busy = figure(&found, "stations", "ap", "busy_ratio");
    let seconds = frames * (1.0 - lost) * (248e-6 + 44e-6) / 400.0;
    close(busy, seconds, 0.001);
}

/// A recorded rate: the throughput of a lone saturated station at each rate. DIFS 34 us, 7.5 slots of 9 us, the frame, SIFS,
/// and an ACK of 44 us at 6 Mb/s. Within 0.5 %.
#[test]
fn a_recorded_rate_is_that_of_the_link() {
    let mut cell = samples(
        1.0,
        10,
        json!([{"between": ["ap", "phone"],
        "rate_trace": {"time_s": [0.0, 10.0], "rate": ["54 Mb/s", "12 Mb/s"]}}]),
    );
    cell["flows"][0] = json!({"name": "up", "from": "phone", "to": "ap"});
    // 20 us, and symbols of 216 and 48 bits for 16 + 8 · 1536 + 6 bits.
    for (warm_up_s, symbols) in [(0, 57.0), (10, 257.0)] {
        let found = results(&set(cell.clone(), "warm_up", json!(format!("{warm_up_s} s"))), 6);
        let cycle_us = 34.0 + 7.5 * 9.0 + 20.0 + 4.0 * symbols + 16.0 + 44.0;
        close(figure(&found, "flows", "up", "throughput_bps"), 12_000.0 / cycle_us * 1e6, 0.005);
    }
}

/// A link without shadowing in a medium that has it: its signal is steady.
#[test]
fn a_link_may_be_without_the_shadowing_of_the_medium() {
    let steady = json!({"deviation": "0 dB", "coherence": "1 s"});
    let mut scenario =
        samples(500.0, 20, json!([{"between": ["ap", "phone"], "shadowing": steady}]));
    scenario["medium"]["shadowing"] = json!({"deviation": "6 dB", "coherence": "1 s"});
    let sd_db =
        |scenario: &Value| figure(&results(scenario, 6), "signals", "phone->ap", "snr_sd_db");
    assert!(sd_db(&scenario) < 1e-6);
    scenario["links"] = json!([]);
    assert!(sd_db(&scenario) > 3.0);
}

#[test]
fn what_cannot_be_is_refused() {
    let cell = samples(10.0, 1, json!([{"between": ["ap", "phone"], "snr": "20 dB"}]));
    let refused = |key: &str, value: Value, start: &str, part: &str| {
        value_refused(&cell, key, value, start, part);
    };
    let trace = |keys: Value| json!({"between": ["ap", "phone"], "snr_trace": keys});
    let at = "links[0].snr_trace";
    refused(
        "links[0]",
        trace(json!({"file": "walk.csv"})),
        &format!("{at}.file: "),
        "has not been read",
    );
    refused("links[0]", trace(json!({"time_s": [0.0]})), at, "`snr_db`");
    refused(
        "links[0]",
        trace(json!({"time_s": [0.0], "snr_db": [1.0, 2.0]})),
        at,
        "1 times and 2 values",
    );
    refused(
        "links[0]",
        trace(json!({"time_s": [1.0, 1.0], "snr_db": [1.0, 2.0]})),
        at,
        "must rise",
    );
    refused("links[0]", trace(json!({"time_s": [-1.0], "snr_db": [1.0]})), at, "0 to 1e9 s");
    refused("links[0]", trace(json!({"time_s": [0.0], "snr_db": [1e3]})), at, "-100 to 100 dB");
    let short = json!({"time_s": [0.0, 2.0], "snr_db": [1.0, 2.0], "repeat": "2 s"});
    refused("links[0]", trace(short), &format!("{at}.repeat: "), "longer");
    refused("links[0]", json!({"between": ["ap", "phone"]}), "links[0]: ", "sets nothing");
    refused("links[0].fading", json!({}), "links[0].fading: ", "`coherence` or `speed`");
    let both = json!({"coherence": "1 ms", "speed": "1 m/s"});
    refused("links[0].fading", both, "links[0].fading.speed: ", "leave one");
    refused("links[0].fading", json!({"speed": "1 km"}), "links[0].fading.speed: ", "a speed");
    let steep = json!({"deviation": "40 dB", "coherence": "1 s"});
    refused("links[0].shadowing", steep, "links[0].shadowing.deviation: ", "0 to 30 dB");
    refused("medium", json!({}), "links[0].snr: ", "received powers");
    let recorded = trace(json!({"time_s": [0.0], "snr_db": [1.0]}));
    let recorded = set(cell.clone(), "links[0]", recorded);
    value_refused(&recorded, "medium", json!({}), &format!("{at}: "), "received powers");
    refused("medium.ranges", json!({"decode": "9 m"}), "medium: ", "more than one");
    let rates =
        json!({"between": ["ap", "phone"], "rate_trace": {"time_s": [0.0], "rate": ["7 Mb/s"]}});
    refused("links[0]", rates, "links[0].rate_trace.rate[0]", "7 Mb/s");
}
