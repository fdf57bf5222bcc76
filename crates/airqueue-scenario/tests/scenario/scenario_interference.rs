//! Interference, held against closed forms. Tolerances were stated before the first run.

use crate::figures::{close, figure, results};
use crate::scenarios::{refusal_of, set};
use airqueue_wifi::medium::{CodeRate, FrameErrors, Mapping, Modulation};
use serde_json::{Value, json};

/// A lone saturated station of 802.11a at 54 Mb/s, in microseconds: DIFS; the mean of its first backoff; the frame; SIFS and
/// ACK at 24 Mb/s.
const DIFS: f64 = 34.0;
const BACKOFF: f64 = 7.5 * 9.0;
const DATA: f64 = 20.0 + 57.0 * 4.0;
const ANSWER: f64 = 16.0 + 28.0;
const PIFS: f64 = 16.0 + 9.0;
const CYCLE: f64 = DIFS + BACKOFF + DATA + ANSWER;

fn saturated(interference: Value, seconds: u32) -> Value {
    json!({
        "duration": format!("{seconds} s"),
        "warm_up": "1 s",
        "phy": {"standard": "802.11a", "rate": "54 Mb/s", "control_rate": "24 Mb/s"},
        "stations": [{"name": "ap"}, {"name": "phone"}],
        "interference": [interference],
        "flows": [{"name": "up", "from": "phone", "to": "ap"}]
    })
}

fn throughput_us(found: &Value) -> f64 {
    12_000.0 / (figure(found, "flows", "up", "throughput_bps") * 1e-6)
}

/// Beside bursts and pauses the station has the pauses, but for the edges. In a pause of length L deliveries come `first`
/// after its beginning and then each cycle: by the renewal theorem (L - first)/C + E C²/2(E C)² of them. What is under way
/// when a burst begins is lost with probability DATA/C, and its next backoff has a window of 32 values; where only the ACK
/// is lost, the repeated frame delivers nothing. Within 1 %.
#[test]
fn beside_bursts_a_station_has_the_pauses() {
    for (on_ms, off_ms) in [(10.0, 20.0), (20.0, 10.0), (8.0, 60.0)] {
        let on_off = json!({"on": format!("{on_ms} ms"), "off": format!("{off_ms} ms"),
                            "on_law": "constant", "off_law": "constant"});
        let found = results(&saturated(json!({"name": "x", "on_off": on_off}), 60), 1);
        close(figure(&found, "interference", "x", "on_ratio"), on_ms / (on_ms + off_ms), 0.002);
        let (lost, unanswered) = (DATA / CYCLE, ANSWER / CYCLE);
        let backoff = (lost + unanswered) * 15.5 * 9.0 + (1.0 - lost - unanswered) * BACKOFF / 2.0;
        let variance = (16.0 * 16.0 - 1.0) / 12.0 * 81.0;
        let first = DIFS + backoff + DATA;
        let deliveries =
            (off_ms * 1e3 - first) / CYCLE + 0.5 * (1.0 + variance / CYCLE / CYCLE) - unanswered;
        let each_us = (on_ms + off_ms) * 1e3 / deliveries;
        close(throughput_us(&found), each_us, 0.01);
    }
}

/// A burst meets one frame at its receiver if it begins in a frame, in the ACK, or in the SIFS between them: the ACK follows
/// although the medium is busy (IEEE 802.11-2016, 10.3.2.9). It meets no other one, since the phone then waits. None that it
/// meets is decoded.
///
/// Pauses are exponential with the mean m, so that from the beginning of a frame on the next burst meets one with the
/// probability q = (1 - a) + a g q, where a = exp(-F / m) for F from the frame to the end of its ACK, and g = E exp(-B / m) for
/// the DIFS and backoff B before the next frame. After a burst the first frame comes between DIFS and, on average, DIFS and half
/// of 63 slots later: few pauses begin with a wider window than that of a second repetition. Four standard errors of a binomial
/// number.
#[test]
fn a_burst_destroys_what_it_meets() {
    let pause = 20_000.0;
    let on_off =
        json!({"on": "5 ms", "off": "20 ms", "on_law": "exponential", "off_law": "exponential"});
    let found = results(&saturated(json!({"name": "x", "on_off": on_off}), 1000), 2);
    let of = |name| figure(&found, "interference", "x", name);
    assert_eq!(of("hit_lost_ratio"), 1.0);
    let none_in = |us: f64| f64::exp(-us / pause);
    let met = none_in(DATA + ANSWER);
    let waits = (0..16).map(|slots| none_in(DIFS + 9.0 * f64::from(slots))).sum::<f64>() / 16.0;
    let q = (1.0 - met) / (1.0 - met * waits);
    let (low, high) = (q * none_in(DIFS + 31.5 * 9.0), q * none_in(DIFS));
    let error = 4.0 * (q * (1.0 - q) / of("bursts")).sqrt();
    let hit = of("hit_frames") / of("bursts");
    assert!((low - error..high + error).contains(&hit), "{hit} for {low} to {high}");
}

/// Exponential and Pareto bursts take their share: within four standard errors of a renewal process for the former, and
/// within 10 % for the latter, whose variance is infinite below a shape of 2 and large at 2.5.
#[test]
fn bursts_have_their_share() {
    let share = |law: &str, shape: Value, tolerance: f64| {
        let mut on_off = json!({"on": "2 ms", "off": "6 ms", "on_law": law, "off_law": law});
        on_off["shape"] = shape;
        let mut cell = saturated(json!({"name": "x", "on_off": on_off}), 400);
        cell["flows"] =
            json!([{"from": "phone", "to": "ap", "source": "cbr", "packet_rate": "1 packets/s"}]);
        close(figure(&results(&cell, 3), "interference", "x", "on_ratio"), 0.25, tolerance);
    };
    // The share's standard error is √(2) on off / (on + off)^1.5 / √T: 0.0011.
    share("exponential", Value::Null, 4.0 * 0.0011 / 0.25);
    share("pareto", json!(2.5), 0.1);
}

#[test]
fn ovens_and_hopping_radios_have_their_share() {
    let idle = |law: &str, keys: Value, seed| {
        let mut source = json!({"name": "x"});
        source[law] = keys;
        let mut cell = saturated(source, 100);
        cell["flows"] =
            json!([{"from": "phone", "to": "ap", "source": "cbr", "packet_rate": "1 packets/s"}]);
        results(&cell, seed)
    };
    let found = idle("microwave", json!({"mains_hz": 60, "duty": 0.4}), 1);
    close(figure(&found, "interference", "x", "on_ratio"), 0.4, 0.001);
    assert!((5999.0..=6001.0).contains(&figure(&found, "interference", "x", "bursts")));
    // 160 000 slots of 625 us, each with a packet of 366 us with probability 0.6 · 0.25: four standard errors.
    let found = idle("bluetooth", json!({"load": 0.6, "hit": 0.25}), 2);
    let (slots, p) = (160_000.0, 0.15);
    let error = 4.0 * f64::sqrt(p * (1.0 - p) / slots);
    let bursts = figure(&found, "interference", "x", "bursts");
    assert!((bursts / slots - p).abs() < error, "{bursts}");
    close(figure(&found, "interference", "x", "on_ratio"), bursts * 366e-6 / 100.0, 1e-4);
}

/// A busy channel takes its share, though a saturated station contends for it, and the station has the rest: each busy
/// period that does not follow another one costs it PIFS, or where it comes during a backoff DIFS and half a slot. The share
/// within four standard errors √(2 share mean / T), the rest within 1 %.
#[test]
fn a_busy_channel_takes_its_share() {
    for (share, busy_ms) in [(0.3, 1.0), (0.6, 3.0)] {
        let occupancy = json!({"share": share, "busy": format!("{busy_ms} ms")});
        let found = results(&saturated(json!({"name": "x", "occupancy": occupancy}), 200), 4);
        let of = |name| figure(&found, "interference", "x", name);
        let error = 4.0 * f64::sqrt(2.0 * share * busy_ms * 1e-3 / 200.0);
        assert!((of("on_ratio") - share).abs() < error, "{} for {share}", of("on_ratio"));
        // It never comes into a frame.
        assert_eq!(of("hit_frames"), 0.0);
        assert_eq!(figure(&found, "stations", "phone", "failed_ratio"), 0.0);
        let in_backoff = (DIFS + BACKOFF - PIFS) / CYCLE;
        let each_us = in_backoff * (DIFS + 4.5) + (1.0 - in_backoff) * PIFS;
        let fresh_per_us = of("on_ratio") / (busy_ms * 1e3) * (1.0 - share);
        let left = 1.0 - of("on_ratio") - fresh_per_us * each_us;
        close(throughput_us(&found), CYCLE / left, 0.01);
    }
}

/// A recorded share: each interval has its own, within four standard errors.
#[test]
fn a_recorded_occupancy_has_its_share_in_each_interval() {
    let shares = [0.1, 0.7, 0.0, 0.4];
    let trace = json!({"time_s": [0.0, 50.0, 100.0, 150.0], "busy_ratio": shares});
    let occupancy = json!({"trace": trace, "busy": "2 ms", "busy_law": "constant"});
    let cell = saturated(json!({"name": "x", "occupancy": occupancy}), 50);
    for (at, share) in shares.into_iter().enumerate() {
        let found = results(&set(cell.clone(), "warm_up", json!(format!("{} s", 50 * at))), 5);
        let on = figure(&found, "interference", "x", "on_ratio");
        let error = 4.0 * f64::sqrt(share * 2e-3 / 50.0);
        // What waits at the end of an interval comes at the beginning of the next one.
        assert!((on - share).abs() <= error + 0.01 / 50.0, "{on} for {share}");
    }
}

/// Frames once each, 200 a second, with signal and interference at -55 dBm and below the threshold of energy detection.
fn samples(received_dbm: f64, on_ms: u32, off_ms: u32) -> Value {
    let on_off = json!({"on": format!("{on_ms} ms"), "off": format!("{off_ms} ms"),
                        "on_law": "constant", "off_law": "constant"});
    let source = json!({"name": "x", "on_off": on_off, "received": format!("{received_dbm} dBm")});
    let mut cell = saturated(source, 200);
    cell["mac"] = json!({"short_retry_limit": 1, "long_retry_limit": 1});
    cell["medium"] = json!({"snr": "35 dB", "noise": "-90 dBm", "errors": "snr"});
    cell["flows"] = json!([{"name": "up", "from": "phone", "to": "ap", "source": "poisson",
                            "packet_rate": "200 packets/s"}]);
    cell
}

/// Interference below the threshold of energy detection is noise: while it is on, frames have the errors of the curve at the
/// signal-to-interference-and-noise ratio; of a frame that it overlaps partly so many bits. Nobody senses it. Four standard
/// errors, and 0.6 % of frames that an edge cuts (two edges in 100 ms, and frames of 0.25 ms).
#[test]
fn weak_interference_is_noise() {
    let modulation = Modulation::Ofdm(Mapping::Qam(6), CodeRate::ThreeQuarters);
    let loss = |snr: f64| FrameErrors::BySnr.loss(modulation, snr, 1536);
    for received_dbm in [-78.0, -79.5, -85.0] {
        let found = results(&samples(received_dbm, 50, 50), 6);
        let watts = |dbm: f64| f64::powf(10.0, dbm / 10.0);
        let snr = watts(-55.0) / (watts(-90.0) + watts(received_dbm));
        let p = (loss(snr) + loss(watts(35.0))) / 2.0;
        let sent = figure(&found, "flows", "up", "delivered_packets")
            + figure(&found, "flows", "up", "given_up_packets");
        let lost = figure(&found, "flows", "up", "loss_ratio");
        let error = 4.0 * (p * (1.0 - p) / sent).sqrt() + 0.006 * loss(snr);
        assert!((lost - p).abs() < error, "{received_dbm} dBm: {lost} for {p}");
        // 250 us of data and 44 us of ACK, 200 a second.
        assert!(figure(&found, "stations", "phone", "busy_ratio") < 0.07);
    }
}

/// From the threshold of energy detection on the medium is busy, and frames wait: at 35 dB nothing is lost but what is on the
/// air when a burst begins.
#[test]
fn strong_interference_makes_the_medium_busy() {
    let found = results(&samples(-60.0, 50, 50), 7);
    assert!((figure(&found, "stations", "phone", "busy_ratio") - 0.53).abs() < 0.03);
    // Half of 40 000 frames wait for the pauses; a burst comes each 100 ms into frames of 250 us, 200 to 400 a second.
    assert!(figure(&found, "flows", "up", "loss_ratio") < 0.02);
    let mut deaf = samples(-60.0, 50, 50);
    deaf["medium"]["energy_detection"] = json!("-50 dBm");
    let found = results(&deaf, 7);
    assert!(
        figure(&found, "flows", "up", "loss_ratio") > 0.45,
        "without energy detection half is lost"
    );
}

/// Only the stations that are named have interference: a hidden oven at the access point costs frames that the phone does not
/// hold back.
#[test]
fn interference_may_be_at_some_stations_only() {
    let on_off =
        json!({"on": "10 ms", "off": "10 ms", "on_law": "constant", "off_law": "constant"});
    let at = |names: Value, level: &str| {
        let source = json!({"name": "x", "on_off": on_off, "at": names, "level": level});
        results(&saturated(source, 20), 8)
    };
    let both = at(json!(["ap", "phone"]), "sense");
    let hidden = at(json!(["ap"]), "sense");
    let other = at(json!(["phone"]), "interfere");
    assert!(figure(&both, "stations", "phone", "failed_ratio") < 0.1);
    assert!(figure(&hidden, "stations", "phone", "failed_ratio") > 0.25);
    // Only the ACKs are lost then.
    assert!(figure(&other, "stations", "phone", "failed_ratio") > 0.25);
    assert!(figure(&other, "stations", "ap", "busy_ratio") > 0.3);
}

/// With a path loss the power follows from the positions, also of a station that moves.
#[test]
fn positions_say_who_has_interference() {
    let mut cell = saturated(
        json!({"name": "x", "microwave": {}, "position": ["0 m", "1 m"], "power": "20 dBm"}),
        4,
    );
    cell["medium"] = json!({
        "path_loss": {"log_distance": {"exponent": 4.0, "reference_loss": "40 dB"}},
        "thresholds": {"decode": "-82 dBm"}, "errors": "snr"
    });
    cell["stations"] = json!([
        {"name": "ap", "position": ["0 m", "0 m"], "power": "20 dBm"},
        {"name": "phone", "position": ["15 m", "0 m"], "power": "20 dBm"}
    ]);
    let busy = |cell: &Value| figure(&results(cell, 9), "stations", "phone", "busy_ratio");
    // 20 dBm - 40 dB - 40 log10(15) = -67 dBm: not sensed, but too much for 54 Mb/s at the access point.
    let far = busy(&cell);
    assert!(far < 0.9, "{far}");
    cell["changes"] = json!([{"at": "1 s", "station": "phone", "position": ["2 m", "0 m"]}]);
    let near = busy(&cell);
    assert!(near > 0.5 && (near - far).abs() > 0.05, "{near} and {far}");
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |source: Value, start: &str, part: &str| {
        let refusal = refusal_of(saturated(source, 1));
        assert!(refusal.starts_with(start), "{refusal:?} does not begin with {start:?}");
        assert!(refusal.contains(part), "{refusal:?} does not say {part:?}");
    };
    let at = "interference[0]";
    refused(json!({"name": "x"}), at, "give one of");
    refused(json!({"name": "x", "microwave": {}, "bluetooth": {}}), at, "give one of");
    refused(json!({"name": "x y", "microwave": {}}), "interference[0].name: ", "letters");
    refused(
        json!({"name": "x", "microwave": {"mains_hz": 55}}),
        "interference[0].microwave.mains_hz: ",
        "50 or 60",
    );
    refused(
        json!({"name": "x", "microwave": {"duty": 1.0}}),
        "interference[0].microwave.duty: ",
        "0.999",
    );
    refused(
        json!({"name": "x", "bluetooth": {"hit": 2.0}}),
        "interference[0].bluetooth.hit: ",
        "0 to 1",
    );
    let longer = json!({"packet": "700 us"});
    refused(
        json!({"name": "x", "bluetooth": longer}),
        "interference[0].bluetooth.packet: ",
        "less than the slot",
    );
    refused(
        json!({"name": "x", "occupancy": {}}),
        "interference[0].occupancy: ",
        "`share` and `trace`",
    );
    refused(
        json!({"name": "x", "occupancy": {"share": 1.0}}),
        "interference[0].occupancy.share: ",
        "0.99",
    );
    let file = json!({"trace": {"file": "busy.csv"}});
    refused(
        json!({"name": "x", "occupancy": file}),
        "interference[0].occupancy.trace.file: ",
        "not been read",
    );
    let no_pareto = json!({"on": "1 ms", "off": "1 ms", "shape": 1.5});
    refused(
        json!({"name": "x", "on_off": no_pareto}),
        "interference[0].on_off.shape: ",
        "no law is pareto",
    );
    refused(
        json!({"name": "x", "microwave": {}, "received": "-70 dBm"}),
        "interference[0].received: ",
        "powers",
    );
    refused(
        json!({"name": "x", "microwave": {}, "power": "1 W"}),
        "interference[0].power: ",
        "position",
    );
    refused(
        json!({"name": "x", "microwave": {}, "at": ["tv"]}),
        "interference[0].at[0]: ",
        "no station or group",
    );
    refused(
        json!({"name": "x", "microwave": {}, "stop": "0 s"}),
        "interference[0].stop: ",
        "not after the start",
    );
    let place = json!({"name": "x", "microwave": {}, "position": ["0 m", "0 m"]});
    refused(place, "interference[0].position: ", "medium.path_loss");
    let mut unjudged = saturated(json!({"name": "x", "microwave": {}, "received": "-70 dBm"}), 1);
    unjudged["medium"] = json!({"snr": "30 dB"});
    assert!(refusal_of(unjudged).contains("medium.errors = \"snr\""));
}

/// A frame that another one survives adds to the noise in the part that it overlaps, and nowhere else: of independent bits
/// those in the rest are as safe as without the other frame. Two frames at once add up.
///
/// The frame has 1500 bytes at 6 Mb/s: a preamble of 20 µs and 501 symbols of 4 µs. The others are longer, and cover the
/// share of its bits that begins or ends with their own beginning or end. Within four standard errors of 10,000 frames.
#[test]
fn frames_that_overlap_a_part_of_a_frame_are_noise_for_this_part() {
    let (signal, bits) = (-80.0, (20.0, 501.0 * 4.0));
    // The others' frames: (16 + 6 + 8 · 2036) bits in symbols of 24.
    let lasts = 20.0 + 680.0 * 4.0;
    let lost = |others: &[(f64, f64)]| {
        let mut stations = vec![json!({"name": "ap"}), json!({"name": "a"})];
        let mut links = vec![json!({"from": "a", "to": "ap", "power": format!("{signal} dBm")})];
        let flow = |name: &str, to: &str, size: &str, start_us: f64| {
            json!({"name": name, "from": name, "to": to, "source": "cbr", "size": size,
                   "packet_rate": "100 packets/s", "start": format!("{start_us} us")})
        };
        let mut flows = vec![flow("a", "ap", "1464 B", 5000.0)];
        for (at, (power, begins)) in others.iter().enumerate() {
            let (other, its) = (format!("o{at}"), format!("s{at}"));
            stations.extend([json!({"name": other}), json!({"name": its})]);
            links.push(json!({"from": other, "to": its, "power": "-40 dBm"}));
            links.push(json!({"from": other, "to": "ap", "power": format!("{power} dBm"),
                              "both": false, "level": "interfere"}));
            flows.push(flow(&other, &its, "2000 B", 5000.0 + begins));
        }
        let scenario = json!({
            "duration": "100 s",
            "warm_up": "0 s",
            "phy": {"standard": "802.11a", "rate": "6 Mb/s"},
            "mac": {"short_retry_limit": 1},
            "stations": stations,
            "flows": flows,
            "medium": {"links": links, "noise": "-130 dBm", "errors": "snr",
                       "capture": {"sinr": {"threshold": "-20 dB"}}},
        });
        figure(&results(&scenario, 1), "flows", "a", "loss_ratio")
    };
    let watts = |dbm: f64| 10f64.powf(dbm / 10.0);
    let rate = airqueue_core::DataRate::from_bps(6_000_000).expect("a rate");
    let modulation = Modulation::at(rate).expect("a rate of 802.11a");
    let hazard = |others_w: f64| modulation.bit_hazard(watts(signal) / (watts(-130.0) + others_w));
    let check = |others: &[(f64, f64)], hazards: f64| {
        let expected = FrameErrors::loss_of(hazards, 1500);
        let error = (expected * (1.0 - expected) / 1e4).sqrt();
        let found = lost(others);
        assert!((found - expected).abs() <= 4.0 * error, "{others:?}: {found} and not {expected}");
    };
    let (first, lasting) = bits;
    let (weak, strong) = (hazard(watts(-84.0)), hazard(2.0 * watts(-84.0)));
    check(&[(-84.0, -100.0)], weak);
    check(&[(-84.0, first + lasting / 2.0)], weak / 2.0);
    check(&[(-84.0, first + lasting / 2.0 - lasts)], weak / 2.0);
    check(&[(-84.0, first + lasting - 4.0)], weak * 4.0 / lasting);
    // Only the preamble.
    check(&[(-84.0, 16.0 - lasts)], 0.0);
    // The first quarter, and the last half: apart. The last half and the last quarter: both.
    let quarters = |at: f64| first + lasting * at / 4.0;
    check(&[(-84.0, quarters(1.0) - lasts), (-84.0, quarters(2.0))], weak * 0.75);
    check(&[(-84.0, quarters(2.0)), (-84.0, quarters(3.0))], weak / 4.0 + strong / 4.0);
}
