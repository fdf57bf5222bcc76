//! The airtime queue limits of mac80211 in a cell with several stations and access categories, held to the kernel's rule
//! (`ieee80211_txq_airtime_check`) at each event: a station and category with less than the low limit in the device gets
//! another packet, up to the high limit only while less than the threshold is in the device. Above the threshold a station
//! therefore has less than the low limit and a packet, below it less than the high limit and a packet.

use airqueue_core::{Seed, Span, Time};
use airqueue_network::network::Network;
use airqueue_scenario::Scenario;
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;
use serde_json::{Value, json};

const LOW_US: i64 = 1000;
const HIGH_US: i64 = 12_000;
const THRESHOLD_US: i64 = 12_000;
/// A threshold that is never reached.
const NEVER_US: i64 = 1_000_000_000;

const CATEGORIES: [(&str, usize); 3] = [("bk", 0), ("be", 1), ("vi", 2)];
const RATES: [&str; 3] = ["54 Mb/s", "54 Mb/s", "6 Mb/s"];
/// What Linux expects a packet of 1500 bytes to take at these rates, in units of 4 µs: 36 µs and 1552 bytes
/// (`ieee80211_calc_legacy_rate_duration`).
const EXPECTED_US: [i64; 3] = [264, 264, 2104];
/// The longest of these: a packet that is reported at the same event may leave before or after another is handed out.
const A_PACKET_US: i64 = 2104;

/// What the packets in the device are expected to take, in microseconds, by category and station.
type Pending = [[i64; 3]; 3];

fn cell(threshold_us: i64) -> Scenario {
    let us = |us: i64| format!("{us} us");
    let aql = json!({"aql_low": us(LOW_US), "aql_high": us(HIGH_US), "aql_threshold": us(threshold_us),
                     "target": "1000 s"});
    let stations = RATES
        .iter()
        .enumerate()
        .map(|(at, rate)| json!({"name": format!("station{at}"), "rate": rate}));
    // A light load tells the rates; then more comes than any category can send.
    let loads = [("first", "0 s", "0.3 Mb/s"), ("then", "1 s", "20 Mb/s")];
    let places = CATEGORIES.iter().flat_map(|(category, _)| (0..3).map(move |at| (category, at)));
    let flows = places.flat_map(|(category, at)| {
        loads.map(|(name, start, rate)| {
            json!({"name": format!("{name}-{category}{at}"), "from": "ap", "to": format!("station{at}"),
                   "category": category, "source": "poisson", "rate": rate, "start": start})
        })
    });
    let scenario = json!({
        "duration": "5 s", "phy": {"standard": "802.11g"}, "mac": {"access": "edca"},
        "queue": {"discipline": "mac80211", "ring": "1000 packets", "mac80211": aql},
        "stations": std::iter::once(json!({"name": "ap"})).chain(stations).collect::<Value>(),
        "flows": flows.collect::<Value>(),
    });
    Scenario::from_json(&scenario.to_string()).unwrap()
}

/// The states of the device, event by event, once more comes than it can send.
fn states(threshold_us: i64) -> Vec<Pending> {
    let mut sim = Network::new(cell(threshold_us).spec(), Seed(1)).unwrap();
    sim.run_until(Time::ZERO + Span::from_secs(1));
    let mut states: Vec<Pending> = Vec::new();
    while sim.step(Time::ZERO + Span::from_secs(5)) {
        let pending = CATEGORIES.map(|(_, ac)| {
            let ac = AccessCategory::ALL[ac];
            let of_each: Vec<_> = sim.model.wlan().expected_airtimes(StationId(0), ac).collect();
            <[Span; 3]>::try_from(of_each).unwrap().map(|span| span.as_nanos() / 1000)
        });
        if states.last() != Some(&pending) {
            states.push(pending);
        }
    }
    states
}

fn sum(pending: &Pending) -> i64 {
    pending.as_flattened().iter().sum()
}

/// How often a station and category got a packet that this threshold forbids.
fn forbidden(states: &[Pending], threshold_us: i64) -> usize {
    let more = states.windows(2).flat_map(|states| {
        let [before, after] = [&states[0], &states[1]];
        // At least this was in the device when any of the packets was handed out.
        let held = before.as_flattened().iter().zip(after.as_flattened());
        let held = held.map(|(before, after)| before.min(after)).sum::<i64>() - A_PACKET_US;
        let each = (0..3).flat_map(|category| (0..3).map(move |at| (category, at)));
        each.filter(move |&(category, at)| {
            let last = after[category][at] - EXPECTED_US[at];
            let is_more = after[category][at] > before[category][at];
            is_more && last >= LOW_US && !(last < HIGH_US && held < threshold_us)
        })
    });
    more.count()
}

#[test]
fn no_station_gets_more_than_the_kernel_gives() {
    let [none, some, all] = [0, THRESHOLD_US, NEVER_US].map(states);
    // All packets in the device were handed out at their station's rate.
    for state in [&none, &some, &all].into_iter().flatten() {
        for of_category in state {
            for (pending, expected) in of_category.iter().zip(EXPECTED_US) {
                assert!(pending % expected == 0 && *pending < HIGH_US + expected, "{state:?}");
            }
        }
    }
    assert_eq!(forbidden(&none, 0), 0);
    assert_eq!(forbidden(&some, THRESHOLD_US), 0);
    assert_eq!(forbidden(&all, NEVER_US), 0);
    // The rule is that of the threshold: a lower one forbids what a higher one allows.
    assert!(forbidden(&some, 0) > 0 && forbidden(&all, THRESHOLD_US) > 0);
}

/// With a threshold of 0 each station and category has as many packets as reach the low limit: 4, 4 and 1. Up to the threshold
/// and a packet is in the device otherwise before those with less than these have theirs. Without a threshold each category
/// has at least the high limit (`ieee80211_txq_schedule_airtime_check`).
#[test]
fn the_device_holds_no_more_than_threshold_and_low_limits() {
    let [none, some, all] =
        [0, THRESHOLD_US, NEVER_US].map(|us| states(us).iter().map(sum).max().unwrap());
    let [fast, other, slow] = EXPECTED_US;
    let low = 3 * (4 * fast + 4 * other + slow);
    let bound = THRESHOLD_US + A_PACKET_US + low;
    assert!(none <= low, "{none} {low}");
    assert!(low < some && some <= bound, "{low} {some} {bound}");
    assert!(bound < 3 * HIGH_US && all >= 3 * HIGH_US, "{bound} {all}");
}
