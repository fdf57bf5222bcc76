//! Beacons, frames to all stations and sleep in cells of few stations, against closed forms.

use crate::cells;
use crate::cells::{CellSpec, EDCA_OVERHEAD, Flow, b, cell, dcf, edca, rate, saturated};
use crate::estimates::{RESOLUTION, agree, agree_on_all, exactly, to_within};
use airqueue_core::{DataRate, Limit, Seed, Span, Time};
use airqueue_network::FlowId;
use airqueue_network::network::Network;
use airqueue_network::run_loop::Simulation;
use airqueue_network::wlan::{BeaconSpec, PowerSaveSpec, WakeUp};
use airqueue_qdisc::QueueSpec;
use airqueue_transport::traffic::{Arrivals, SourceSpec};
use airqueue_wifi::mac::{CategoryConfig, FrameKind, Radio};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;

pub const AP: StationId = StationId(0);
pub const PHONE: StationId = StationId(1);
/// 100 time units.
pub const INTERVAL: Span = Span::from_micros(102_400);
const BEACON_BYTES: u32 = 300;
pub const PACKET: u32 = 1000;

/// PIFS without backoff, as many access points send beacons.
pub fn at_once(radio: &Radio) -> CategoryConfig {
    CategoryConfig { aifsn: 1, w_min: 1, w_max: 1, ..CategoryConfig::dcf(&radio.phy) }
}

pub fn beacons(radio: &Radio) -> BeaconSpec {
    BeaconSpec {
        station: AP,
        interval: INTERVAL,
        first: Some(Span::from_millis(10)),
        dtim_period: 3,
        bytes: BEACON_BYTES,
        rate: radio.phy.slowest_basic(),
        access: at_once(radio),
        buffer_packets: BeaconSpec::BUFFER_PACKETS,
        group_buffer_packets: BeaconSpec::GROUP_BUFFER_PACKETS,
        total_buffer_packets: BeaconSpec::TOTAL_BUFFER_PACKETS,
        before_queue: false,
    }
}

pub fn sleeper(radio: &Radio, station: StationId, wake_up: WakeUp) -> PowerSaveSpec {
    PowerSaveSpec {
        station,
        access_point: AP,
        wake_up,
        uapsd: None,
        twt: None,
        listen_interval: 1,
        dtims: false,
        beacon_wait: Span::from_millis(10),
        rate: radio.phy.slowest_basic(),
        access: CategoryConfig::dcf(&radio.phy),
    }
}

/// An 802.11b access point with beacons, and stations without flows.
pub fn quiet(stations: usize) -> CellSpec {
    let radio = b();
    let macs = vec![dcf(&radio.phy); stations + 1];
    let beacons = vec![beacons(&radio)];
    CellSpec { beacons, ..cell(radio, macs) }
}

/// Packets of [`PACKET`] bytes at 11 Mb/s.
pub fn packets(spec: &CellSpec, from: u32, to: u32, arrivals: Arrivals, start: Time) -> Flow {
    let fast = rate(&spec.radio.phy, 11);
    let source = SourceSpec { arrivals, size_bytes: PACKET, start, stop: Time::MAX };
    Flow { source, ..saturated(from, to, AccessCategory::FIRST, fast, PACKET) }
}

/// An 802.11b access point with EDCA, and a phone that sleeps; nobody draws a backoff.
pub fn edca_cell(wake_up: WakeUp) -> CellSpec {
    let radio = b();
    let macs = vec![edca(&radio.phy); 2];
    let mut spec = cell(radio, macs);
    spec.beacons = vec![beacons(&spec.radio)];
    spec.sleepers = vec![sleeper(&spec.radio, PHONE, wake_up)];
    for station in &mut spec.stations {
        for category in &mut station.mac.categories {
            *category =
                CategoryConfig { w_min: 1, w_max: 1, ..CategoryConfig::dcf(&spec.radio.phy) };
        }
    }
    let access = &mut spec.sleepers[0].access;
    (access.w_min, access.w_max) = (1, 1);
    spec
}

/// A packet at even intervals, in such a cell.
pub fn edca_packets(
    spec: &CellSpec,
    (from, to): (u32, u32),
    ac: AccessCategory,
    every: Span,
    start: Span,
) -> Flow {
    let arrivals = Arrivals::Periodic { every, on_off: None };
    let flow = packets(spec, from, to, arrivals, Time::ZERO + start);
    Flow { ac, overhead_bytes: EDCA_OVERHEAD, ..flow }
}

/// The frame of such a packet.
pub fn edca_frame(spec: &CellSpec) -> Span {
    spec.radio.phy.airtime(rate(&spec.radio.phy, 11), PACKET + EDCA_OVERHEAD)
}

/// Without backoff: the time of every frame is known.
pub fn without_backoff(spec: &mut CellSpec) {
    for station in &mut spec.stations {
        let category = &mut station.mac.categories[0];
        (category.w_min, category.w_max) = (1, 1);
    }
    for sleeper in &mut spec.sleepers {
        (sleeper.access.w_min, sleeper.access.w_max) = (1, 1);
    }
}

pub fn run(spec: &CellSpec, seed: u64, seconds: i64) -> Simulation<Network> {
    let mut sim = spec.start(Seed(seed));
    sim.run_until(cells::at(seconds));
    sim
}

fn beacon_time(spec: &CellSpec) -> Span {
    spec.radio.phy.airtime(spec.radio.phy.slowest_basic(), BEACON_BYTES)
}

/// A data frame and its acknowledgement.
fn exchange(spec: &CellSpec) -> Span {
    let (phy, fast) = (&spec.radio.phy, rate(&spec.radio.phy, 11));
    phy.airtime(fast, PACKET + cells::DCF_OVERHEAD) + phy.sifs() + phy.ack(phy.response_rate(fast))
}

pub fn seconds(span: Span) -> f64 {
    span.as_secs_f64()
}

/// In an idle cell a beacon begins at each TBTT.
#[test]
fn beacons_come_on_time_and_take_their_share_of_the_air() {
    let spec = quiet(1);
    let sim = run(&spec, 1, 1024);
    let wlan = sim.model.wlan();
    let counters = wlan.beacons(AP).unwrap();
    assert_eq!((counters.sent, counters.delayed, counters.skipped), (10_000, 0, 0));
    assert_eq!(wlan.beacon_delays(AP).unwrap().figures_s(), [Some(0.0); 6]);
    assert_eq!(wlan.beacon_delays(PHONE), None);
    let sent = wlan.station(AP).sent_of(FrameKind::Beacon);
    assert_eq!(sent.frames, 10_000);
    assert_eq!(sent.time.as_nanos(), 10_000 * beacon_time(&spec).as_nanos());
    assert_eq!(wlan.busy(PHONE, sim.now()), sent.time);
    assert_eq!(wlan.beacons(PHONE), None);
    let access = wlan.access(AP, AccessCategory::FIRST);
    assert_eq!((access.attempts, wlan.station(AP).collided), (0, 0), "a beacon is no exchange");
}

/// The first TBTT is drawn evenly from the first interval unless it is given.
#[test]
fn the_first_beacon_comes_at_any_time_of_an_interval() {
    let mut spec = quiet(1);
    spec.beacons[0].first = None;
    let first = |seed| {
        let mut sim = spec.start(Seed(seed));
        while sim.model.wlan().beacons(AP).unwrap().sent == 0 {
            sim.run_until(sim.now() + Span::from_micros(100));
        }
        seconds(sim.now() - Time::ZERO - beacon_time(&spec))
    };
    let all: Vec<f64> = (0..400).map(first).collect();
    assert!(all.iter().all(|&at| at < seconds(INTERVAL) + 1e-4));
    let mean = crate::estimates::of(&all);
    agree("the first TBTT", mean, exactly(seconds(INTERVAL) / 2.0), 0.05);
}

/// A saturated station sends in cycles of `busy`, a frame and its acknowledgement, DIFS and its backoff. A beacon due
/// within `busy` + PIFS begins at the end of that, and any other beacon at once: with TBTTs spread evenly over cycles the
/// mean delay is (busy + PIFS)^2 / (2 E[cycle]). The longest is busy + PIFS. A delay exceeds x for (busy + PIFS - x) of a
/// cycle, which gives the quantiles; the mean square is (busy + PIFS)^3 / (3 E[cycle]).
#[test]
fn a_busy_medium_delays_beacons() {
    let mut spec = quiet(1);
    spec.flows = vec![packets(&spec, 1, 0, Arrivals::Saturated, Time::ZERO)];
    let phy = &spec.radio.phy;
    let held = seconds(exchange(&spec) + phy.aifs(1));
    let backoff = f64::from(phy.w_min() - 1) / 2.0 * seconds(phy.slot());
    let cycle = seconds(exchange(&spec) + phy.difs()) + backoff;
    let runs: Vec<[f64; 6]> = (0..20)
        .map(|seed| {
            let sim = run(&spec, seed, 300);
            let delays = sim.model.wlan().beacon_delays(AP).unwrap();
            assert_eq!(delays.took.count, sim.model.wlan().beacons(AP).unwrap().sent);
            assert!(delays.took.greatest <= exchange(&spec) + phy.aifs(1));
            delays.figures_s().map(Option::unwrap)
        })
        .collect();
    let found =
        |place: usize| crate::estimates::of(&runs.iter().map(|of| of[place]).collect::<Vec<_>>());
    let mean = held * held / (2.0 * cycle);
    let square = held.powi(3) / (3.0 * cycle);
    let sd = (square - mean * mean).sqrt();
    agree("the mean delay of beacons", found(0), exactly(mean), 0.01);
    agree("its standard deviation", found(1), exactly(sd), 0.01);
    for (place, q) in [(2, 0.5), (3, 0.95), (4, 0.99)] {
        agree(
            &format!("quantile {q}"),
            found(place),
            exactly(held - (1.0 - q) * cycle),
            RESOLUTION,
        );
    }
    // The greatest of 2930 delays is within 1 / 2930 of a cycle of the end, or a few times that.
    agree("the longest delay", found(5), exactly(held), 0.002);
}

/// Beacons take from a saturated cell their airtime and, where they wait, no more than DIFS: with PIFS and without
/// backoff they neither collide nor make others wait longer. What a cell loses lies between the two.
#[test]
fn beacons_take_their_airtime_from_a_saturated_cell() {
    let mut spec = quiet(3);
    spec.flows =
        (1..=3).map(|from| packets(&spec, from, 0, Arrivals::Saturated, Time::ZERO)).collect();
    let silent = CellSpec { beacons: Vec::new(), ..spec.clone() };
    let delivered = |spec: &CellSpec| {
        to_within(0.000_5, |seed| {
            let sim = run(spec, seed, 200);
            (0..3).map(|flow| sim.model.flow(FlowId(flow)).delivered.packets).sum::<u64>() as f64
        })
    };
    let (with, without) = (delivered(&spec), delivered(&silent));
    let lost = 1.0 - with.mean / without.mean;
    let error = with.error.hypot(without.error) / without.mean;
    let phy = &spec.radio.phy;
    let least = seconds(beacon_time(&spec)) / seconds(INTERVAL);
    let most = seconds(beacon_time(&spec) + phy.difs()) / seconds(INTERVAL);
    assert!(error < 0.1 * least, "too coarse: {error}");
    assert!(
        (least - 3.0 * error..=most + 3.0 * error).contains(&lost),
        "lost {lost} ± {error}, not {least} to {most}"
    );
}

/// Beacons contend as their access category says. With AIFSN 3 and a window of 8 after a busy period, and one saturated
/// station with DIFS and 32: a beacon begins AIFS + i slots after the medium turns idle, for i the backoff, unless the
/// station was faster; that never has it wait for more than a few frames.
#[test]
fn beacons_contend_by_their_own_parameters() {
    let mut spec = quiet(1);
    let phy = spec.radio.phy.clone();
    let access = CategoryConfig { aifsn: 9, w_min: 1, w_max: 1, ..CategoryConfig::dcf(&phy) };
    spec.beacons[0].access = access;
    let idle = run(&spec, 1, 100).model;
    let longest = idle.wlan().beacon_delays(AP).unwrap().took.greatest_s();
    assert_eq!(longest, Some(0.0), "the medium had been idle for AIFS");
    spec.flows = vec![packets(&spec, 1, 0, Arrivals::Saturated, Time::ZERO)];
    // The station waits for DIFS and 0 slots: AIFS of 9 slots never ends before.
    without_backoff(&mut spec);
    let starved = run(&spec, 1, 100).model.wlan().beacons(AP).unwrap();
    assert!(starved.sent <= 1 && starved.skipped >= 970, "{starved:?}");
}

/// A packet to all stations that sleeps nobody is sent at once; while a station sleeps, after the next DTIM: at the
/// beacon's end, PIFS later, without response.
#[test]
fn packets_to_all_stations_wait_for_a_dtim() {
    let mut spec = quiet(2);
    let slow = spec.radio.phy.slowest_basic();
    // One packet in each place of the DTIM's period of 307.2 ms that is a multiple of 0.4 ms, twice.
    let every = Arrivals::Periodic { every: Span::from_millis(700), on_off: None };
    let start = Time::ZERO + Span::from_micros(215_200);
    let mut flow = Flow { rate: slow, ..packets(&spec, 0, 0, every, start) };
    flow.source.stop = start + Span::from_millis(1536 * 700);
    spec.flows = vec![flow];
    let frame = spec.radio.phy.airtime(slow, PACKET + cells::DCF_OVERHEAD);
    let awake = run(&spec, 1, 1077);
    let counters = awake.model.flow(FlowId(0));
    assert_eq!(counters.delivered.packets, 1536);
    // Some wait for a beacon to end.
    assert!(counters.delay.mean_s().unwrap() < seconds(frame) + 1e-3);
    assert_eq!(awake.model.wlan().station(PHONE).from_all, 1536);
    let mut dozes = sleeper(&spec.radio, PHONE, WakeUp::PsPoll);
    dozes.dtims = true;
    spec.sleepers = vec![dozes];
    let asleep = run(&spec, 1, 1077);
    let counters = asleep.model.flow(FlowId(0));
    assert_eq!(counters.delivered.packets, 1536);
    let behind = beacon_time(&spec) + spec.radio.phy.aifs(1) + frame;
    let period = 3.0 * seconds(INTERVAL);
    assert!(counters.delay.greatest_s().unwrap() <= period + seconds(behind));
    agree(
        "the delay to all",
        exactly(counters.delay.mean_s().unwrap()),
        exactly(period / 2.0 + seconds(behind)),
        // Half of 0.4 ms.
        0.001_3,
    );
    let wlan = asleep.model.wlan();
    assert_eq!(wlan.station(PHONE).from_all, counters.delivered.packets, "it wakes up for them");
    assert_eq!(wlan.station(StationId(2)).from_all, counters.delivered.packets);
    assert_eq!(wlan.beacons(AP).unwrap().group_kept, 1536);
    let kept = wlan.group_kept_times(AP).unwrap().took;
    assert_eq!(kept.count, 1536);
    let until_taken = period / 2.0 + seconds(beacon_time(&spec));
    agree("the wait for a DTIM", exactly(kept.mean_s().unwrap()), exactly(until_taken), 0.001_3);
    assert!(kept.greatest_s().unwrap() <= period + seconds(beacon_time(&spec)));
    assert_eq!(awake.model.wlan().group_kept_times(AP).unwrap().took.count, 0);
    assert_eq!(wlan.station(AP).sent_of(FrameKind::Ack).frames, 0);
    assert_eq!(wlan.station(PHONE).sent_of(FrameKind::Ack).frames, 0);
}

/// Two stations that send to all at the same times, without backoff: nobody decodes anything, and the time is lost. A
/// station on its own loses none.
#[test]
fn frames_to_all_that_nobody_decodes_are_lost_air_time() {
    for senders in [1, 2] {
        let mut spec = quiet(2);
        spec.beacons.clear();
        without_backoff(&mut spec);
        let every = Arrivals::Periodic { every: Span::from_millis(50), on_off: None };
        let start = Time::ZERO + Span::from_millis(25);
        spec.flows = (0..senders).map(|from| packets(&spec, from, from, every, start)).collect();
        let sim = run(&spec, 1, 10);
        for from in 0..senders {
            let of = sim.model.wlan().station(StationId(from));
            let sent = of.sent_of(FrameKind::Data);
            assert_eq!(sent.frames, 200);
            let frame =
                spec.radio.phy.airtime(rate(&spec.radio.phy, 11), PACKET + cells::DCF_OVERHEAD);
            assert_eq!(sent.time, Span::from_nanos(200 * frame.as_nanos()));
            let (frames, time) = if senders == 2 { (200, sent.time) } else { (0, Span::ZERO) };
            assert_eq!((of.data_lost.frames, of.data_lost.time), (frames, time));
            let delivered = sim.model.flow(FlowId(from)).delivered.packets;
            assert_eq!(delivered, 200 - frames);
        }
    }
}

/// A station without traffic is awake for its beacons alone.
#[test]
fn a_station_without_traffic_is_awake_for_beacons() {
    for (listen_interval, dtims, heard) in [(1, false, 1.0), (4, false, 0.25), (2, true, 2.0 / 3.0)]
    {
        let mut spec = quiet(1);
        let dozes = sleeper(&spec.radio, PHONE, WakeUp::PsPoll);
        spec.sleepers = vec![PowerSaveSpec { listen_interval, dtims, ..dozes }];
        // 1228.8 s: 12 000 intervals, from the beginning of one to the beginning of another.
        let mut sim = spec.start(Seed(1));
        sim.run_until(Time::ZERO + Span::from_micros(12_000 * 102_400));
        let counters = sim.model.wlan().sleep(PHONE, sim.now()).unwrap();
        assert_eq!(counters.wake_ups, (12_000.0 * heard) as u64);
        let awake = (sim.now() - Time::ZERO) - counters.asleep;
        assert_eq!(awake.as_nanos(), counters.wake_ups as i64 * beacon_time(&spec).as_nanos());
        assert_eq!((counters.beacons_missed, counters.kept, counters.polls), (0, 0, 0));
    }
}

/// Sparse packets to a station that sleeps, which come at any time alike: the next beacon that the station hears is half
/// of the time between such beacons away in the mean. Then come the beacon, DIFS, the PS-Poll or null frame, SIFS, its
/// ACK, DIFS, and the packet.
#[test]
fn packets_to_a_sleeping_station_wait_for_its_next_beacon() {
    let day = WakeUp::Null { timeout: Span::from_millis(20) };
    for (wake_up, listen_interval) in [(WakeUp::PsPoll, 1), (WakeUp::PsPoll, 3), (day, 1), (day, 2)]
    {
        let mut spec = quiet(1);
        let dozes = sleeper(&spec.radio, PHONE, wake_up);
        spec.sleepers = vec![PowerSaveSpec { listen_interval, ..dozes }];
        without_backoff(&mut spec);
        // One packet in 1.7 s: 17 is a divisor of neither 1024 nor the places of the beacons.
        let every = Arrivals::Periodic { every: Span::from_micros(1_700_300), on_off: None };
        spec.flows = vec![packets(&spec, 0, 1, every, cells::at(1))];
        let sim = run(&spec, 1, 20_000);
        let (phy, slow) = (&spec.radio.phy, spec.radio.phy.slowest_basic());
        let asks = if wake_up == WakeUp::PsPoll { 20 } else { 28 };
        let poll = phy.airtime(slow, asks) + phy.sifs() + phy.ack(slow);
        let frame = phy.airtime(rate(phy, 11), PACKET + cells::DCF_OVERHEAD);
        let behind = seconds(beacon_time(&spec) + phy.difs() + poll + phy.difs() + frame);
        let between = seconds(INTERVAL) * f64::from(listen_interval);
        let counters = sim.model.flow(FlowId(0));
        let what = format!("{wake_up:?}, each beacon of {listen_interval}");
        assert!(counters.delivered.packets > 11_000 && counters.given_up.packets == 0);
        let delay = |of: Option<f64>| exactly(of.unwrap());
        // 11 764 packets spread evenly: the mean of so many even draws has an error of 0.3 % even at random.
        agree(&what, delay(counters.delay.mean_s()), exactly(between / 2.0 + behind), 0.01);
        let p95 = counters.delay.quantile_s(&counters.delays, 0.95);
        agree(&what, delay(p95), exactly(0.95 * between + behind), 0.02);
        let longest = counters.delay.greatest_s().unwrap();
        let most = between + behind;
        assert!((0.995 * most..=most).contains(&longest), "{what}: {longest}, not {most}");
        let slept = sim.model.wlan().sleep(PHONE, sim.now()).unwrap();
        let kept = sim.model.wlan().kept_times(PHONE).unwrap();
        assert_eq!((slept.dropped, slept.kept - kept.took.count), (0, 0));
        // The access point lets a packet go at the end of the PS-Poll or null frame.
        let from = seconds(beacon_time(&spec) + phy.difs() + phy.airtime(slow, asks));
        let even = |q: f64| from + q * between;
        let expected =
            [even(0.5), between / 12f64.sqrt(), even(0.5), even(0.95), even(0.99), even(1.0)];
        let longest = kept.took.greatest_s().unwrap();
        assert!((0.995 * expected[5]..=expected[5]).contains(&longest), "{what}: {longest}");
        let found = kept.figures_s();
        let expected = [&expected[..5], &[longest]].concat().try_into().unwrap();
        agree_on_all(&what, found, expected, 0.01);
    }
}

/// A station with null frames stays awake for its timeout after the last packet: packets that come meanwhile wait for
/// nothing but the medium.
#[test]
fn a_station_stays_awake_for_its_timeout() {
    let mut spec = quiet(1);
    let timeout = Span::from_millis(200);
    spec.sleepers = vec![sleeper(&spec.radio, PHONE, WakeUp::Null { timeout })];
    without_backoff(&mut spec);
    let every = Arrivals::Periodic { every: Span::from_millis(150), on_off: None };
    spec.flows = vec![packets(&spec, 0, 1, every, Time::ZERO)];
    let sim = run(&spec, 1, 100);
    let slept = sim.model.wlan().sleep(PHONE, sim.now()).unwrap();
    assert_eq!((slept.asleep, slept.kept), (Span::ZERO, 0));
    let longest = sim.model.flow(FlowId(0)).delay.greatest_s().unwrap();
    let busy = beacon_time(&spec) + spec.radio.phy.difs() + exchange(&spec);
    assert!(longest <= seconds(busy), "{longest}");
    // With 250 ms between packets it sleeps in between.
    let every = Arrivals::Periodic { every: Span::from_millis(450), on_off: None };
    spec.flows = vec![packets(&spec, 0, 1, every, Time::ZERO)];
    let sim = run(&spec, 1, 100);
    let slept = sim.model.wlan().sleep(PHONE, sim.now()).unwrap();
    assert!(slept.asleep > Span::from_secs(20) && slept.kept > 200, "{slept:?}");
}

/// With null frames a station is awake for each beacon and, for each sparse packet, from the beacon's end on: for the null
/// frame, the packet up to its end, the timeout, and the null frame that says that it sleeps.
#[test]
fn a_station_sleeps_when_its_timeout_is_over() {
    let mut spec = quiet(1);
    let timeout = Span::from_millis(20);
    spec.sleepers = vec![sleeper(&spec.radio, PHONE, WakeUp::Null { timeout })];
    without_backoff(&mut spec);
    let every = Arrivals::Periodic { every: Span::from_micros(1_700_300), on_off: None };
    spec.flows = vec![packets(&spec, 0, 1, every, cells::at(1))];
    let sim = run(&spec, 1, 10_000);
    let (phy, slow) = (&spec.radio.phy, spec.radio.phy.slowest_basic());
    let null = phy.airtime(slow, 28) + phy.sifs() + phy.ack(slow);
    let frame = phy.airtime(rate(phy, 11), PACKET + cells::DCF_OVERHEAD);
    let a_packet = phy.difs() + null + phy.difs() + frame + timeout + null;
    let counters = sim.model.flow(FlowId(0));
    let heard = sim.model.wlan().beacons(AP).unwrap().sent as f64;
    let awake =
        heard * seconds(beacon_time(&spec)) + counters.delivered.packets as f64 * seconds(a_packet);
    let slept = sim.model.wlan().sleep(PHONE, sim.now()).unwrap().asleep;
    agree("time awake", exactly(10_000.0 - seconds(slept)), exactly(awake), 0.001);
    let nulls = sim.model.wlan().station(PHONE).sent_of(FrameKind::Null).frames;
    // The first says that the station sleeps; then come two for each packet.
    assert!(nulls.abs_diff(2 * counters.delivered.packets + 1) <= 1, "{nulls}");
}

/// A station that sleeps sends at once what it has to send.
#[test]
fn a_sleeping_station_sends_at_once() {
    for wake_up in [WakeUp::PsPoll, WakeUp::Null { timeout: Span::from_millis(5) }] {
        let mut spec = quiet(1);
        spec.sleepers = vec![sleeper(&spec.radio, PHONE, wake_up)];
        let every = Arrivals::Periodic { every: Span::from_micros(777_700), on_off: None };
        // Never at the beginning of a beacon, with which it would collide.
        let start = cells::at(1) + Span::from_micros(37);
        spec.flows = vec![packets(&spec, 1, 0, every, start)];
        let sim = run(&spec, 1, 1000);
        let counters = sim.model.flow(FlowId(0));
        let waits = beacon_time(&spec) + spec.radio.phy.difs();
        let most = seconds(waits + exchange(&spec)) + 31.0 * seconds(spec.radio.phy.slot());
        assert_eq!(counters.delivered.packets + sim.model.in_transit()[0], 1285);
        let longest = counters.delay.greatest_s().unwrap();
        assert!(longest <= most, "{wake_up:?}: {longest}, not {most}");
        let asleep = sim.model.wlan().sleep(PHONE, sim.now()).unwrap().asleep;
        assert!(asleep > Span::from_secs(900), "{asleep}");
    }
}

/// More packets than the buffer holds: the oldest go, and the rest arrives behind the next beacon.
#[test]
fn a_full_buffer_drops_the_oldest() {
    let mut spec = quiet(1);
    spec.sleepers = vec![sleeper(&spec.radio, PHONE, WakeUp::PsPoll)];
    spec.stations[0].queues = vec![QueueSpec::new(Limit::Packets(1000))];
    let every = Arrivals::Constant(DataRate::from_bps(8_000_000).unwrap());
    // 100 packets, one a millisecond, from 5 ms after the first TBTT on.
    let mut flow = packets(&spec, 0, 1, every, Time::ZERO + Span::from_millis(15));
    flow.source.stop = Time::ZERO + Span::from_millis(91);
    spec.flows = vec![flow];
    let mut sim = spec.start(Seed(1));
    sim.run_until(Time::ZERO + Span::from_millis(95));
    assert_eq!(sim.model.in_transit()[0], 64);
    assert_eq!(sim.model.flow(FlowId(0)).given_up.packets, 12);
    sim.run_until(cells::at(3));
    let counters = sim.model.flow(FlowId(0));
    assert_eq!((counters.delivered.packets, counters.given_up.packets), (64, 12));
    // The packets at 15 to 26 ms were dropped: that of 27 ms waited longest, or one that was asked for later.
    let slept = sim.model.wlan().sleep(PHONE, sim.now()).unwrap();
    assert_eq!((slept.kept, slept.dropped, slept.polls), (76, 12, 64));
}

/// A beacon that two stations answer spreads their PS-Polls by a backoff: without it all would collide.
#[test]
fn stations_that_a_beacon_calls_together_draw_a_backoff() {
    let mut spec = quiet(4);
    spec.sleepers = (1..=4).map(|at| sleeper(&spec.radio, StationId(at), WakeUp::PsPoll)).collect();
    let every = Arrivals::Periodic { every: Span::from_millis(400), on_off: None };
    spec.flows = (1..=4).map(|to| packets(&spec, 0, to, every, cells::at(1))).collect();
    let sim = run(&spec, 1, 400);
    let sent = |at| sim.model.wlan().station(StationId(at)).sent_of(FrameKind::PsPoll).frames;
    let came = |at| sim.model.wlan().sleep(StationId(at), sim.now()).unwrap().polls;
    let polls: u64 = (1..=4).map(sent).sum();
    let collided = polls - (1..=4).map(came).sum::<u64>();
    // Each of four picks one of 32 slots: some pair shares the lowest in 3 of 32 cases or so, and again later.
    let share = collided as f64 / polls as f64;
    assert!((0.02..0.3).contains(&share), "{collided} of {polls}");
    let lost: u64 = (0..4).map(|at| sim.model.flow(FlowId(at)).given_up.packets).sum();
    assert_eq!(lost, 0);
}
