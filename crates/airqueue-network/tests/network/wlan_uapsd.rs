//! U-APSD in cells of few stations, against closed forms and frame by frame.

use crate::cells;
use crate::cells::{CellSpec, Flow};
use crate::estimates::{RESOLUTION, agree, exactly};
use crate::wlan_power::{AP, INTERVAL, PHONE, edca_cell, edca_frame, edca_packets, run, seconds};
use airqueue_core::{Seed, Span, Time};
use airqueue_network::FlowId;
use airqueue_network::wlan::tap::{Recording, TracedFrame};
use airqueue_network::wlan::{UapsdSpec, WakeUp};
use airqueue_wifi::mac::FrameKind;
use airqueue_wifi::phy::AccessCategory;
use airqueue_wifi::phy::frames::QOS_NULL_BYTES;

const VOICE: [bool; 4] = [false, false, false, true];
const ALL: [bool; 4] = [true; 4];
/// Time between the packets of a call.
const CALL: Span = Span::from_millis(20);

fn uapsd(categories: [bool; 4]) -> UapsdSpec {
    UapsdSpec { categories, most_packets: None, trigger_interval: None }
}

/// A cell whose phone has U-APSD.
fn cell_with(wake_up: WakeUp, uapsd: UapsdSpec) -> CellSpec {
    let mut spec = edca_cell(wake_up);
    spec.sleepers[0].uapsd = Some(uapsd);
    spec
}

fn flow(spec: &CellSpec, from: u32, to: u32, ac: AccessCategory, every: Span, start: Span) -> Flow {
    edca_packets(spec, (from, to), ac, every, start)
}

/// SIFS and the acknowledgement of a data frame.
fn acknowledged(spec: &CellSpec) -> Span {
    let phy = &spec.radio.phy;
    phy.sifs() + phy.ack(phy.response_rate(cells::rate(phy, 11)))
}

/// A QoS null frame with SIFS and its acknowledgement.
fn null(spec: &CellSpec) -> Span {
    let (phy, slow) = (&spec.radio.phy, spec.radio.phy.slowest_basic());
    phy.airtime(slow, QOS_NULL_BYTES) + phy.sifs() + phy.ack(slow)
}

/// All frames up to a time.
fn recorded(spec: &CellSpec, until: Span) -> Vec<TracedFrame> {
    let mut sim = spec.start(Seed(1));
    sim.model.wlan_mut().plug(Box::new(Recording::default()));
    sim.run_until(Time::ZERO + until);
    sim.model.wlan_mut().unplug::<Recording>().unwrap().frames
}

/// A packet of a call that comes at any time alike waits until the access point has the phone's next packet, and then for
/// the acknowledgement of this packet and AIFS. The phone is awake for each of its packets, up to the acknowledgement of what ends the service period, and
/// for beacons.
#[test]
fn a_packet_of_a_call_waits_for_the_next_trigger() {
    let mut spec = cell_with(WakeUp::PsPoll, uapsd(VOICE));
    let down = Span::from_micros(100_370);
    spec.flows = vec![
        flow(&spec, 1, 0, AccessCategory::VOICE, CALL, Span::from_micros(1_000_037)),
        flow(&spec, 0, 1, AccessCategory::VOICE, down, Span::from_secs(1)),
    ];
    let sim = run(&spec, 1, 402);
    let phy = &spec.radio.phy;
    let behind = acknowledged(&spec) + phy.difs() + edca_frame(&spec);
    let counters = sim.model.flow(FlowId(1));
    let (period, behind) = (seconds(CALL), seconds(behind));
    assert!(counters.delivered.packets > 3900 && counters.given_up.packets == 0);
    // Stated before the first run: 2000 places of the period, each twice; a beacon of 2.6 ms delays one trigger in forty.
    let mean = exactly(counters.delay.mean_s().unwrap());
    agree("the mean", mean, exactly(period / 2.0 + behind), 0.01);
    let p95 = counters.delay.quantile_s(&counters.delays, 0.95).unwrap();
    agree("the 95th percentile", exactly(p95), exactly(0.95 * period + behind), 0.02);
    let longest = counters.delay.greatest_s().unwrap();
    let beacon = seconds(phy.airtime(phy.slowest_basic(), 300) + phy.difs());
    assert!((0.99 * (period + behind)..=period + behind + beacon).contains(&longest), "{longest}");

    let slept = sim.model.wlan().sleep(PHONE, sim.now()).unwrap();
    let sent = sim.model.flow(FlowId(0)).delivered.packets;
    let came = counters.delivered.packets;
    assert_eq!((slept.triggers, slept.service_periods, slept.polls), (sent, sent, 0));
    let kept = sim.model.wlan().kept_times(PHONE).unwrap();
    assert_eq!((slept.empty_services, slept.kept, kept.took.count), (sent - came, came, came));
    // The trigger and its service period: with a packet, or with a QoS null frame after the PIFS of beacons.
    let up = seconds(edca_frame(&spec) + acknowledged(&spec));
    let full = up + seconds(phy.difs() + edca_frame(&spec) + acknowledged(&spec));
    let empty = up + seconds(phy.aifs(1) + null(&spec));
    let heard = sim.model.wlan().beacons(AP).unwrap().sent as f64;
    let awake = came as f64 * full
        + (sent - came) as f64 * empty
        + heard * seconds(phy.airtime(phy.slowest_basic(), 300));
    // Stated before: beacons that coincide with service periods.
    agree("time awake", exactly(402.0 - seconds(slept.asleep)), exactly(awake), 0.01);
    let wait = exactly(kept.took.mean_s().unwrap());
    agree("the time kept", wait, exactly(period / 2.0), 0.01);
    for q in [0.5, 0.95, 0.99] {
        let wait = exactly(kept.quantile_s(q).unwrap());
        agree(&format!("quantile {q}"), wait, exactly(q * period), RESOLUTION + 0.01);
    }
}

/// Without uplink a station sends QoS null frames: packets wait for half of the interval between them, and then for the
/// acknowledgement and AIFS.
#[test]
fn a_silent_station_triggers_at_its_interval() {
    let interval = Some(Span::from_millis(30));
    let mut spec =
        cell_with(WakeUp::PsPoll, UapsdSpec { trigger_interval: interval, ..uapsd(VOICE) });
    spec.sleepers[0].listen_interval = 10;
    let every = Span::from_micros(150_370);
    spec.flows = vec![flow(&spec, 0, 1, AccessCategory::VOICE, every, Span::from_secs(1))];
    let sim = run(&spec, 1, 1000);
    let phy = &spec.radio.phy;
    let slow = phy.slowest_basic();
    let trigger = phy.airtime(slow, QOS_NULL_BYTES);
    let behind = null(&spec) - trigger + phy.difs() + edca_frame(&spec);
    let mean = sim.model.flow(FlowId(0)).delay.mean_s().unwrap();
    // A trigger restarts the interval when the access point has it: its own frame comes on top.
    let period = 0.03 + seconds(trigger);
    agree("the mean", exactly(mean), exactly(period / 2.0 + seconds(behind)), 0.02);
    let slept = sim.model.wlan().sleep(PHONE, sim.now()).unwrap();
    agree("triggers", exactly(slept.triggers as f64), exactly(1000.0 / period), 0.01);
}

/// Where U-APSD has all categories, a beacon tells of them, and the phone answers with a QoS null frame.
#[test]
fn a_beacon_makes_a_station_trigger() {
    let mut spec = cell_with(WakeUp::PsPoll, uapsd(ALL));
    let every = Span::from_micros(1_700_300);
    spec.flows = vec![flow(&spec, 0, 1, AccessCategory::BEST_EFFORT, every, Span::from_secs(1))];
    let sim = run(&spec, 1, 20_000);
    let phy = &spec.radio.phy;
    let beacon = phy.airtime(phy.slowest_basic(), 300);
    let behind = beacon + phy.difs() + null(&spec) + phy.difs() + edca_frame(&spec);
    let counters = sim.model.flow(FlowId(0));
    let mean = exactly(counters.delay.mean_s().unwrap());
    let expected = seconds(INTERVAL) / 2.0 + seconds(behind);
    agree("the mean", mean, exactly(expected), 0.01);
    let slept = sim.model.wlan().sleep(PHONE, sim.now()).unwrap();
    assert_eq!((slept.polls, slept.empty_services), (0, 0));
    assert_eq!(slept.triggers, counters.delivered.packets);
}

/// The TIM is silent about delivery-enabled categories, and PS-Polls do not ask for them: without a trigger they stay,
/// while the packets of other categories come.
#[test]
fn what_a_trigger_delivers_nothing_else_does() {
    let mut spec = cell_with(WakeUp::PsPoll, uapsd(VOICE));
    let mut flows = Vec::new();
    for ac in [AccessCategory::VOICE, AccessCategory::BEST_EFFORT] {
        let mut down = flow(&spec, 0, 1, ac, Span::from_millis(500), Span::from_secs(1));
        down.source.stop = cells::at(6);
        flows.push(down);
    }
    spec.flows = flows;
    // From 11 s on packets are too old to be kept.
    let sim = run(&spec, 1, 10);
    let delivered = |at| sim.model.flow(FlowId(at)).delivered.packets;
    assert_eq!((delivered(0), delivered(1)), (0, 10));
    assert_eq!(sim.model.in_transit()[0], 10);
    let slept = sim.model.wlan().sleep(PHONE, sim.now()).unwrap();
    let let_go = sim.model.wlan().kept_times(PHONE).unwrap().took.count;
    assert_eq!((slept.polls, slept.triggers, let_go), (10, 0, 10));
}

/// Five packets wait, and a service period has two: three triggers get them, and a fourth finds nothing. More Data says
/// whether more packets wait, EOSP which frame is the last (IEEE 802.11-2016, 11.2.3.6).
#[test]
fn service_periods_end_as_the_standard_says() {
    let most_packets = Some(2);
    let mut spec = cell_with(WakeUp::PsPoll, UapsdSpec { most_packets, ..uapsd(VOICE) });
    let mut down = flow(&spec, 0, 1, AccessCategory::VOICE, Span::from_millis(1), Span::ZERO);
    down.source.stop = Time::ZERO + Span::from_micros(4_500);
    let up = flow(&spec, 1, 0, AccessCategory::VOICE, CALL, Span::from_millis(30));
    spec.flows = vec![down, up];
    let frames = recorded(&spec, Span::from_millis(105));
    let from_ap = frames.iter().filter(|traced| traced.frame.from == AP);
    let served = from_ap.filter(|of| matches!(of.frame.kind, FrameKind::Data | FrameKind::QosNull));
    let said: Vec<_> = served
        .map(|of| (of.frame.kind, of.frame.more, of.frame.ends_service, of.frame.power))
        .collect();
    let data = FrameKind::Data;
    assert_eq!(
        said,
        [
            (data, true, false, false),
            (data, true, true, false),
            (data, true, false, false),
            (data, true, true, false),
            (data, false, true, false),
            (FrameKind::QosNull, false, true, false),
        ]
    );
    let mut uplink = frames.iter().filter(|of| of.frame.from == PHONE && of.frame.kind == data);
    assert!(uplink.all(|of| of.frame.power), "the phone sleeps after each of its packets");
}

/// A packet of voice that the access point's MAC has in hand when the phone falls asleep is put aside. The TIM is silent
/// about it too if U-APSD has voice and not all categories (11.2.3.6; `__sta_info_recalc_tim` of mac80211 asks what was
/// filtered as what is buffered): it waits for a trigger.
#[test]
fn the_tim_is_silent_about_what_was_put_aside_for_a_trigger() {
    let wake_up = WakeUp::Null { timeout: Span::from_millis(50) };
    for (categories, announced) in [(VOICE, false), (ALL, true), ([true, true, true, false], true)]
    {
        let mut spec = cell_with(wake_up, uapsd(VOICE));
        let quiet = recorded(&spec, Span::from_millis(100));
        let null = quiet.iter().find(|of| of.frame.kind == FrameKind::Null).expect("a null frame");
        let comes = null.begins - Time::ZERO + Span::from_micros(1);
        let mut down = flow(&spec, 0, 1, AccessCategory::VOICE, Span::from_secs(9), comes);
        down.source.stop = Time::ZERO + comes + Span::from_micros(1);
        spec.flows = vec![down];
        spec.sleepers[0].uapsd = Some(uapsd(categories));
        if categories == ALL {
            // Such a phone sleeps from the beginning: nothing is put aside, and the buffer has the packet.
            assert!(recorded(&spec, comes).iter().all(|of| of.frame.kind != FrameKind::Null));
        }
        let frames = recorded(&spec, Span::from_millis(500));
        let told = |of: &TracedFrame| of.beacon.as_ref().is_some_and(|of| !of.traffic.is_empty());
        assert_eq!(frames.iter().any(told), announced, "{categories:?}");
        let delivered = |of: &TracedFrame| of.frame.from == AP && of.frame.kind == FrameKind::Data;
        assert_eq!(frames.iter().any(delivered), announced, "{categories:?}");
    }
}

/// A packet that was put aside when the phone fell asleep comes first in a service period, and is one of the two that the
/// period may have: of three that have come since, one follows, with EOSP, and two in the next period.
#[test]
fn what_was_put_aside_counts_among_the_packets_of_a_service_period() {
    let most_packets = Some(2);
    let wake_up = WakeUp::Null { timeout: Span::from_millis(50) };
    let mut spec = cell_with(wake_up, UapsdSpec { most_packets, ..uapsd(VOICE) });
    let quiet = recorded(&spec, Span::from_millis(100));
    let null = quiet.iter().find(|of| of.frame.kind == FrameKind::Null).expect("a null frame");
    let comes = null.begins - Time::ZERO + Span::from_micros(1);
    let mut down = flow(&spec, 0, 1, AccessCategory::VOICE, Span::from_millis(10), comes);
    down.source.stop = Time::ZERO + comes + Span::from_millis(31);
    let up = flow(&spec, 1, 0, AccessCategory::VOICE, CALL, Span::from_millis(100));
    spec.flows = vec![down, up];
    let frames = recorded(&spec, Span::from_millis(135));
    let from_ap = frames.iter().filter(|traced| traced.frame.from == AP);
    let data = from_ap.filter(|of| of.frame.kind == FrameKind::Data);
    let ends: Vec<_> = data.map(|of| of.frame.ends_service).collect();
    assert_eq!(ends, [false, true, false, true]);
}

/// With null frames for the other categories: a packet of best effort wakes the phone up, voice does not; frames of the
/// phone say which it is.
#[test]
fn other_categories_wake_a_station_up() {
    let timeout = Span::from_millis(50);
    let mut spec = cell_with(WakeUp::Null { timeout }, uapsd(VOICE));
    spec.flows = vec![
        flow(&spec, 1, 0, AccessCategory::VOICE, CALL, Span::from_micros(37)),
        flow(&spec, 1, 0, AccessCategory::BEST_EFFORT, Span::from_secs(1), Span::from_secs(2)),
    ];
    let frames = recorded(&spec, Span::from_secs(10));
    let mut awake_until = Time::ZERO + timeout;
    let (mut awake, mut asleep, mut slept) = (0, 0, 0);
    for traced in frames.iter().filter(|of| of.frame.from == PHONE) {
        let frame = &traced.frame;
        match frame.kind {
            FrameKind::Data if frame.ac == AccessCategory::BEST_EFFORT => {
                assert!(!frame.power);
                awake_until = traced.ends + timeout;
            }
            FrameKind::Data if !frame.power => awake += 1,
            FrameKind::Data => asleep += 1,
            FrameKind::Null => {
                // Behind a packet or a beacon at most.
                assert!(frame.power && traced.ends >= awake_until);
                assert!(traced.ends < awake_until + Span::from_millis(5));
                slept += 1;
            }
            _ => {}
        }
    }
    // At the beginning, and after eight packets of best effort.
    assert_eq!(slept, 9);
    // Each packet of best effort is followed by two or three packets of voice in 50 ms, and so is the beginning.
    assert!((18..=27).contains(&awake), "{awake}");
    assert_eq!(awake + asleep, 500);
}

/// An access point gives up the end of a service period at a phone that is out of reach for a while: the phone waits for
/// ten beacon intervals and not for ever. So does a phone whose PS-Poll is not answered.
#[test]
fn a_station_does_not_wait_for_ever() {
    use airqueue_network::wlan::{AbsenceKind, AbsenceSpec};
    for (wake_up, categories) in [(WakeUp::PsPoll, ALL), (WakeUp::PsPoll, VOICE)] {
        let mut spec = cell_with(wake_up, uapsd(categories));
        let mut down = flow(
            &spec,
            0,
            1,
            AccessCategory::BEST_EFFORT,
            Span::from_secs(1),
            Span::from_millis(5),
        );
        down.source.stop = cells::at(1);
        spec.flows = vec![down];
        // Out of reach from the acknowledgement of the trigger or PS-Poll on.
        let frames = recorded(&spec, Span::from_millis(40));
        let asks = |of: &&TracedFrame| {
            of.frame.from == PHONE
                && matches!(of.frame.kind, FrameKind::QosNull | FrameKind::PsPoll)
        };
        let asked = frames.iter().position(|of| asks(&of)).expect("a trigger or a PS-Poll");
        let begins = frames[asked + 1].ends + Span::from_micros(10);
        spec.absences = vec![AbsenceSpec {
            station: PHONE,
            kind: AbsenceKind::OutOfReach,
            first: Some(begins - Time::ZERO),
            period: Span::from_secs(1000),
            jitter: Span::ZERO,
            lasts: Span::from_millis(300),
        }];
        let sim = run(&spec, 1, 30);
        assert_eq!(sim.model.flow(FlowId(0)).given_up.packets, 1, "{categories:?}");
        let slept = sim.model.wlan().sleep(PHONE, sim.now()).unwrap();
        let awake = Span::from_secs(30) - slept.asleep;
        // And 300 beacons of 2.6 ms.
        let patience = Span::from_nanos(INTERVAL.as_nanos() * 10);
        assert!(awake > patience, "{awake}");
        assert!(awake < patience + INTERVAL + INTERVAL + Span::from_millis(800), "{awake}");
    }
}
