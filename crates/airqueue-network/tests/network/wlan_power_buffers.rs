//! What an access point keeps for stations that sleep, held to the rules of Linux's mac80211 (6.1): `net/mac80211/tx.c`,
//! `sta_info.c` and `rx.c`.

use crate::cells;
use crate::cells::CellSpec;
use crate::random_networks::counts;
use crate::wlan_power::{AP, INTERVAL, PHONE, packets, quiet, run, sleeper};
use airqueue_core::{Limit, Seed, Span, Time};
use airqueue_network::FlowId;
use airqueue_network::network::QueueId;
use airqueue_network::wlan::{AbsenceKind, AbsenceSpec, BeaconSpec, WakeUp};
use airqueue_qdisc::{CodelParams, Discipline, Mac80211Params, QueueSpec};
use airqueue_transport::traffic::Arrivals;
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;

fn ms(ms: i64) -> Span {
    Span::from_millis(ms)
}

/// The queues of mac80211 with one flow queue and a CoDel that drops nothing: packets of a station leave in their order.
fn mac80211() -> QueueSpec {
    let params = Mac80211Params::default();
    let codel = CodelParams { target: Span::from_secs(1000), ..params.codel };
    let discipline = Discipline::Mac80211(Mac80211Params { codel, flows: 1, ..params });
    QueueSpec { discipline, ..QueueSpec::new(Limit::Packets(8192)) }
}

/// Phones that sleep until the hundredth beacon, 10 s, and then ask for one packet after the other.
fn phones(count: usize) -> CellSpec {
    let mut spec = quiet(count);
    for id in 1..=count as u32 {
        let sleeps = sleeper(&spec.radio, StationId(id), WakeUp::PsPoll);
        spec.sleepers
            .push(airqueue_network::wlan::PowerSaveSpec { listen_interval: 100, ..sleeps });
    }
    spec
}

/// `ieee80211_tx_h_unicast_ps_buf`: a buffer of 64 packets, of which the oldest goes for one more.
#[test]
fn a_full_buffer_drops_its_oldest_packet() {
    for before_queue in [true, false] {
        let mut spec = phones(1);
        spec.beacons[0].before_queue = before_queue;
        let every = Arrivals::Periodic { every: ms(20), on_off: None };
        let mut flow = packets(&spec, 0, 1, every, cells::at(1));
        flow.source.stop = cells::at(3);
        spec.flows = vec![flow];
        let sim = run(&spec, 1, 9);
        // From 1 s to 3 s: 100 packets.
        let sleep = sim.model.wlan().sleep(PHONE, sim.now()).unwrap();
        let let_go = sim.model.wlan().kept_times(PHONE).unwrap().took.count;
        assert_eq!((sleep.kept, sleep.dropped, let_go), (100, 36, 0));
        let sim = run(&spec, 1, 13);
        let flow = sim.model.flow(FlowId(0));
        assert_eq!((flow.delivered.packets, flow.given_up.packets), (64, 36));
        // The 37th packet is the oldest of the last 64, and came at 1.72 s: it waits for the beacon at 10 ms + 100
        // intervals, and for a poll.
        let oldest = 0.01 + 100.0 * INTERVAL.as_secs_f64() - 1.72;
        let longest = flow.delay.greatest_s().unwrap();
        assert!((oldest..oldest + 0.02).contains(&longest), "{longest}, not {oldest}");
    }
}

/// `TOTAL_MAX_TX_BUFFER` and `purge_old_ps_buffers`: where 512 packets wait in all, each station's oldest goes for one more.
/// Nine phones have a packet each in 70 rounds. The 513th packet and every ninth after it, 14 of the 630, cost each
/// phone one packet.
#[test]
fn the_buffers_of_all_stations_have_a_limit() {
    for before_queue in [true, false] {
        let mut spec = phones(9);
        spec.beacons[0].before_queue = before_queue;
        let every = Arrivals::Periodic { every: ms(20), on_off: None };
        for id in 1..=9 {
            let start = cells::at(1) + ms(2 * i64::from(id));
            let mut flow = packets(&spec, 0, id, every, start);
            flow.source.stop = start + ms(20 * 69 + 1);
            spec.flows.push(flow);
        }
        spec.beacons[0].buffer_packets = 1000;
        let sim = run(&spec, 1, 5);
        for id in 1..=9 {
            let sleep = sim.model.wlan().sleep(StationId(id), sim.now()).unwrap();
            assert_eq!((sleep.kept, sleep.dropped), (70, 14), "phone {id}");
        }
    }
}

/// `sta_info_buffer_expired`: what has waited for more than 10 s, or for twice the listen interval in whole seconds, goes
/// when the access point looks, 10 s after the first packet and every 10 s from then on as long as packets wait.
#[test]
fn packets_that_have_waited_for_too_long_are_dropped() {
    let mut spec = phones(1);
    spec.absences = vec![AbsenceSpec {
        station: PHONE,
        kind: AbsenceKind::OutOfReach,
        first: Some(ms(1000)),
        period: Span::from_secs(1000),
        jitter: Span::ZERO,
        lasts: Span::from_secs(100),
    }];
    let every = Arrivals::Periodic { every: Span::from_secs(3), on_off: None };
    let mut flow = packets(&spec, 0, 1, every, cells::at(2));
    flow.source.stop = cells::at(7);
    spec.flows = vec![flow];
    let dropped = |listen_interval, seconds| {
        let mut spec = spec.clone();
        spec.sleepers[0].listen_interval = listen_interval;
        let sim = run(&spec, 1, seconds);
        sim.model.wlan().sleep(PHONE, sim.now()).unwrap().dropped
    };
    // Packets at 2 s and 5 s; looks at 12 s and 22 s, each with the next beacon.
    assert_eq!([11, 13, 21, 23].map(|seconds| dropped(1, seconds)), [0, 1, 1, 2]);
    // 2 · 50 · 102.4 ms = 10.24 s are 10 s, and 2 · 100 · 102.4 ms are 20 s.
    assert_eq!([11, 13, 21, 23].map(|seconds| dropped(50, seconds)), [0, 1, 1, 2]);
    assert_eq!([13, 21, 23, 33].map(|seconds| dropped(100, seconds)), [0, 0, 1, 2]);
}

/// A phone that tells its access point that it scans, from 300 ms on for 100 ms, while more comes for it than the medium
/// carries.
fn scanning(before_queue: bool) -> CellSpec {
    let mut spec = quiet(1);
    spec.beacons[0].interval = Span::from_secs(1000);
    spec.beacons[0].before_queue = before_queue;
    spec.sleepers = vec![sleeper(&spec.radio, PHONE, WakeUp::Awake)];
    spec.absences = vec![AbsenceSpec {
        station: PHONE,
        kind: AbsenceKind::Scan { channels: 1, at_once: 1, home: Span::ZERO, tells: true },
        first: Some(ms(300)),
        period: Span::from_secs(1000),
        jitter: Span::ZERO,
        lasts: ms(100),
    }];
    spec.stations[0].queues.fill(mac80211());
    let every = Arrivals::Periodic { every: ms(1), on_off: None };
    let mut flow = packets(&spec, 0, 1, every, Time::ZERO);
    flow.source.stop = Time::ZERO + ms(390);
    spec.flows = vec![flow];
    spec
}

/// `sta_ps_start` and `ieee80211_sta_ps_deliver_wakeup`: what the queue holds for a station that falls asleep stays there,
/// and takes no room in the buffer. What comes meanwhile waits in the buffer, and goes behind it into the queue.
#[test]
fn a_queue_holds_what_it_has_for_a_station_that_falls_asleep() {
    let spec = scanning(true);
    let queue = QueueId::Station(AP, AccessCategory::FIRST);
    let mut sim = spec.start(Seed(1));
    let mut at = |ms: i64| {
        sim.run_until(Time::ZERO + Span::from_millis(ms));
        let absence = sim.model.wlan().absence(PHONE, sim.now()).unwrap();
        let flow = sim.model.flow(FlowId(0));
        let delivered = (flow.delivered.packets, flow.delay.greatest_s().unwrap());
        (sim.model.waiting(queue).0, absence.kept, absence.dropped, delivered)
    };
    let (before, kept, ..) = at(310);
    assert!(before > 50 && (1..=10).contains(&kept), "{before} {kept}");
    let (after, kept, dropped, _) = at(399);
    assert_eq!(after, before, "nothing leaves, and nothing comes");
    assert_eq!(dropped, kept - 64);
    // What was in the queue, and the 64 packets, are delivered.
    let (left, .., (delivered, longest)) = at(2000);
    assert_eq!((left, delivered), (0, 390 - dropped));
    // The last packet of the queue from before waits for those in front of it, and the first from the buffer for all of
    // these: no packet overtakes another, so that none waits longer than from the first moment of the scan to the end of
    // the last exchange.
    let exchange = 390.0 * 0.0018;
    assert!(longest < 0.1 + exchange, "{longest}");
    let [offered, delivered, dropped, given_up, left] = counts(&sim.model, 1)[0];
    assert_eq!((offered, dropped, left), (delivered + given_up, 0, 0));
}

/// Otherwise all that the queue has passes into the buffer, which keeps the last 64.
#[test]
fn behind_the_queue_a_buffer_takes_what_the_queue_has() {
    let spec = scanning(false);
    let mut sim = spec.start(Seed(1));
    sim.run_until(Time::ZERO + ms(399));
    assert_eq!(sim.model.waiting(QueueId::Station(AP, AccessCategory::FIRST)).0, 0);
    let absence = sim.model.wlan().absence(PHONE, sim.now()).unwrap();
    assert_eq!(absence.dropped, absence.kept - 64);
    assert!(absence.kept > 150, "{absence:?}");
}

/// A packet for a station that sleeps neither waits behind those for others, nor is dropped with them.
#[test]
fn a_full_queue_costs_a_sleeping_station_nothing_before_the_queue() {
    let lost = |before_queue| {
        let mut spec = phones(2);
        spec.sleepers.pop();
        spec.sleepers[0].listen_interval = 1;
        spec.beacons[0] = BeaconSpec { before_queue, ..spec.beacons[0].clone() };
        spec.stations[0].queues.fill(QueueSpec::new(Limit::Packets(20)));
        let flood = Arrivals::Periodic { every: ms(1), on_off: None };
        let some = Arrivals::Periodic { every: Span::from_micros(50_700), on_off: None };
        spec.flows = vec![
            packets(&spec, 0, 2, flood, Time::ZERO),
            packets(&spec, 0, 1, some, Time::ZERO + Span::from_micros(300)),
        ];
        let sim = run(&spec, 1, 60);
        let flow = sim.model.flow(FlowId(1));
        (flow.dropped.packets, flow.waited.mean_s().unwrap())
    };
    assert_eq!(lost(true), (0, 0.0));
    let (dropped, waited) = lost(false);
    // The other flow offers 1.5 times what the medium carries, and 20 packets of some 1.5 ms wait.
    assert!(dropped > 100 && waited > 0.02, "{dropped} {waited}");
}
