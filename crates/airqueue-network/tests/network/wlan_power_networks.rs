//! Random cells with beacons, and stations that sleep, scan, and go out of reach.

use crate::cells;
use crate::cells::{CellSpec, DCF_OVERHEAD, EDCA_OVERHEAD, Flow, cell, dcf, edca, rate, saturated};
use crate::random_networks::{counts, simulated};
use crate::wlan_power::{AP, INTERVAL, at_once, beacons, sleeper};
use airqueue_core::{DataRate, Limit, Seed, Span, Time};
use airqueue_network::FlowId;
use airqueue_network::wlan::tap::Recording;
use airqueue_network::wlan::{
    AbsenceKind, AbsenceSpec, BeaconSpec, PowerSaveSpec, TwtSpec, UapsdSpec, WakeUp,
};
use airqueue_qdisc::{Discipline, Mac80211Params, QueueSpec};
use airqueue_transport::traffic::Arrivals;
use airqueue_wifi::mac::{Aggregation, Behaviour, MacConfig, Radio};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::{
    AccessCategory, Band, Capability, Format, GuardInterval, Mcs, Preamble, Width, dsss, ht,
};
use proptest::prelude::*;

const SILENT_SCAN: AbsenceKind =
    AbsenceKind::Scan { channels: 1, at_once: 1, home: Span::ZERO, tells: false };
/// When sources stop.
const STOP: Time = Time::from_nanos(2_000_000_000);
const END: Time = Time::from_nanos(8_000_000_000);

#[derive(Clone, Debug)]
struct Station {
    sleeps: Option<WakeUp>,
    uapsd: Option<UapsdSpec>,
    twt: Option<TwtSpec>,
    listen_interval: u32,
    dtims: bool,
    /// Rates of the flows from the access point and to it, in kb/s; 0: none.
    down: u64,
    up: u64,
    category: usize,
    absence: Option<AbsenceSpec>,
}

/// Of the access point, until a station takes them over.
fn absences() -> impl Strategy<Value = Option<AbsenceSpec>> {
    let scan = (1u32..4, 1u32..3, 0i64..80, any::<bool>());
    let scan = scan.prop_map(|(channels, at_once, home, tells)| AbsenceKind::Scan {
        channels,
        at_once,
        home: Span::from_millis(home),
        tells,
    });
    let kind = prop_oneof![Just(AbsenceKind::OutOfReach), scan];
    let times = (0i64..700_000, 500i64..900, 0i64..40, 100i64..80_000);
    prop::option::of((kind, times).prop_map(|(kind, (first, period, jitter, lasts))| AbsenceSpec {
        station: AP,
        kind,
        first: Some(Span::from_micros(first)),
        period: Span::from_millis(period),
        jitter: Span::from_millis(jitter),
        lasts: Span::from_micros(lasts),
    }))
}

/// Of stations that send beacons: they tell nobody.
fn scans() -> impl Strategy<Value = Option<AbsenceSpec>> {
    absences().prop_map(|of| {
        let silent = |kind| match kind {
            AbsenceKind::Scan { channels, at_once, home, .. } => {
                AbsenceKind::Scan { channels, at_once, home, tells: false }
            }
            AbsenceKind::OutOfReach => SILENT_SCAN,
        };
        of.map(|of| AbsenceSpec { kind: silent(of.kind), ..of })
    })
}

/// Only where all categories have U-APSD does a beacon tell of packets: elsewhere stations trigger by themselves.
fn uapsd() -> impl Strategy<Value = Option<UapsdSpec>> {
    let categories = any::<[bool; 4]>().prop_filter("one at least", |of| of.contains(&true));
    let most = prop::sample::select(vec![None, Some(2), Some(4), Some(6)]);
    let uapsd = (categories, most, 5i64..200, any::<bool>()).prop_map(
        |(categories, most_packets, ms, triggers)| UapsdSpec {
            categories,
            most_packets,
            trigger_interval: (triggers || categories != [true; 4])
                .then_some(Span::from_millis(ms)),
        },
    );
    prop::option::of(uapsd)
}

/// Wake times in place of U-APSD, in one of three stations.
fn twt() -> impl Strategy<Value = Option<TwtSpec>> {
    let first = prop::option::of((0i64..300).prop_map(Span::from_millis));
    let twt = (20i64..300, 2i64..15, first, any::<bool>());
    let twt = twt.prop_map(|(interval, duration, first, announced)| TwtSpec {
        interval: Span::from_millis(interval),
        duration: Span::from_millis(duration),
        first,
        announced,
    });
    prop::option::weighted(0.3, twt)
}

fn stations() -> impl Strategy<Value = Vec<Station>> {
    let wake_up = prop_oneof![
        Just(None),
        Just(Some(WakeUp::PsPoll)),
        (1i64..200).prop_map(|ms| Some(WakeUp::Null { timeout: Span::from_millis(ms) })),
    ];
    let rates = prop_oneof![Just(0u64), 1u64..300];
    let sleeps = (wake_up, uapsd(), twt());
    let station = (sleeps, 1u32..4, any::<bool>(), rates.clone(), rates, 0usize..4, absences());
    let station =
        station.prop_map(|(sleeps, listen_interval, dtims, down, up, category, absence)| Station {
            sleeps: sleeps.0,
            uapsd: sleeps.1,
            twt: sleeps.2,
            listen_interval,
            dtims,
            down,
            up,
            category,
            absence,
        });
    prop::collection::vec(station, 1..6)
}

/// A radio, the MAC of its stations, and the header and the rate of data frames.
fn layer(aggregates: bool, behaviour: Behaviour) -> (Radio, MacConfig, u32) {
    let rules = behaviour.rules();
    if !aggregates {
        let radio = Radio::new(dsss(Preamble::Long, rules.conventions), rules);
        let mac = dcf(&radio.phy);
        return (radio, mac, DCF_OVERHEAD);
    }
    let most = Capability { width: Width::MHZ_20, streams: 1 };
    let radio = Radio::new(ht(Band::Ghz5, most, rules.conventions).unwrap(), rules);
    let mac = MacConfig { aggregation: Some(Aggregation::STANDARD), ..edca(&radio.phy) };
    (radio, mac, EDCA_OVERHEAD)
}

/// Queues that hold back what they have for stations that sleep.
pub fn holding() -> QueueSpec {
    let discipline = Discipline::Mac80211(Mac80211Params { flows: 2, ..Mac80211Params::default() });
    QueueSpec { discipline, ..QueueSpec::new(Limit::Packets(5)) }
}

fn network(
    stations: &[Station],
    of_ap: Option<AbsenceSpec>,
    to_all: u64,
    (aggregates, behaviour): (bool, Behaviour),
    before_queue: bool,
) -> CellSpec {
    let (radio, mac, overhead_bytes) = layer(aggregates, behaviour);
    let scheme = Mcs {
        format: Format::Ht,
        index: 7,
        streams: 1,
        width: Width::MHZ_20,
        guard: GuardInterval::Ns800,
    };
    let fast = if aggregates { radio.phy.mcs_index(scheme).unwrap() } else { rate(&radio.phy, 11) };
    let mac = MacConfig {
        // Nothing is given up for want of luck.
        short_retry_limit: 1000,
        long_retry_limit: 1000,
        lifetime: Span::from_secs(1000),
        ..mac
    };
    let count = stations.len();
    let mut spec = cell(radio, vec![mac; count + 1]);
    for station in &mut spec.stations {
        station.queues.fill(QueueSpec::new(Limit::Packets(5)));
    }
    let mut sends = beacons(&spec.radio);
    (sends.first, sends.buffer_packets) = (None, 3);
    (sends.group_buffer_packets, sends.total_buffer_packets) = (4, 7);
    sends.before_queue = before_queue;
    if before_queue {
        spec.stations[0].queues.fill(holding());
    }
    spec.beacons = vec![sends];
    spec.absences.extend(of_ap);
    let flow = |from: u32, to: u32, kbps: u64, category: usize| {
        let ac = AccessCategory::at(if aggregates { category } else { 0 });
        let mut flow = saturated(from, to, ac, fast, 700);
        let arrivals = Arrivals::Poisson(DataRate::from_bps(kbps * 1000).unwrap());
        (flow.source.arrivals, flow.source.stop) = (arrivals, STOP);
        Flow { name: format!("{from} to {to}"), overhead_bytes, ..flow }
    };
    for (id, of) in (1..).zip(stations) {
        if let Some(wake_up) = of.sleeps {
            let dozes = sleeper(&spec.radio, StationId(id), wake_up);
            let (listen_interval, dtims) = (of.listen_interval, of.dtims);
            // Without the four categories of EDCA there is neither.
            let twt = of.twt.clone().filter(|_| aggregates);
            let uapsd = of.uapsd.clone().filter(|_| aggregates && twt.is_none());
            spec.sleepers.push(PowerSaveSpec { listen_interval, dtims, uapsd, twt, ..dozes });
        }
        if let Some(absence) = &of.absence {
            let mut absence = AbsenceSpec { station: StationId(id), ..absence.clone() };
            // Whoever went out of reach between a packet and its ACK, and then waits for beacons alone, would have the
            // access point try without end.
            if of.sleeps == Some(WakeUp::PsPoll) && absence.kind == AbsenceKind::OutOfReach {
                absence.kind = SILENT_SCAN;
            }
            spec.absences.push(absence.clone());
            if of.sleeps.is_none() && matches!(absence.kind, AbsenceKind::Scan { tells: true, .. })
            {
                spec.sleepers.push(sleeper(&spec.radio, StationId(id), WakeUp::Awake));
            }
        }
        if of.down > 0 {
            spec.flows.push(flow(0, id, of.down, of.category));
        }
        if of.up > 0 {
            spec.flows.push(flow(id, 0, of.up, of.category));
        }
    }
    if to_all > 0 {
        let rate = spec.radio.phy.slowest_basic();
        spec.flows.push(Flow { rate, ..flow(0, 0, to_all, 1) });
    }
    spec
}

/// Whether an access point that is absent now and then sent a DTIM between [`STOP`] and the end: a period of absences near
/// that of DTIMs may hit all of them.
fn sent_dtims(spec: &CellSpec, seed: u64) -> bool {
    let mut sim = spec.start(Seed(seed));
    sim.model.wlan_mut().plug(Box::new(Recording::default()));
    sim.run_until(END);
    let frames = sim.model.wlan_mut().unplug::<Recording>().unwrap().frames;
    let late = frames.iter().filter(|traced| traced.begins > STOP);
    late.filter_map(|traced| traced.beacon.as_ref()).any(|beacon| beacon.dtim_count == 0)
}

fn behaviours() -> impl Strategy<Value = (bool, Behaviour)> {
    prop_oneof![
        Just((false, Behaviour::Standard)),
        Just((false, Behaviour::Ns2)),
        Just((true, Behaviour::Standard)),
        Just((true, Behaviour::Ns3)),
    ]
}

proptest! {
    #![proptest_config(crate::random_networks::cases(150))]

    /// At any time offered = delivered + dropped + given up + in transit. Power save and absences lose nothing but what the
    /// buffers have no room for, if nobody gives up: once sources are silent and all beacons have been heard, every packet
    /// has been delivered or dropped, and the packets given up are those that the buffers dropped.
    #[test]
    fn power_save_loses_nothing_but_what_its_buffers_drop(
        stations in stations(), ap in scans(), to_all in prop_oneof![Just(0u64), 1u64..60],
        layer in behaviours(), before_queue: bool, seed: u64, stop_ms in 1i64..2500,
    ) {
        let spec = network(&stations, ap, to_all, layer, before_queue);
        let mut sim = spec.start(Seed(seed));
        sim.run_until(Time::ZERO + Span::from_millis(stop_ms));
        for [offered, delivered, dropped, given_up, left] in counts(&sim.model, spec.flows.len()) {
            prop_assert_eq!(offered, delivered + dropped + given_up + left);
        }
        sim.run_until(END);
        let mut unheard = 0;
        let mut lost = 0;
        for (flow, count) in spec.flows.iter().zip(counts(&sim.model, spec.flows.len())) {
            let [offered, delivered, dropped, given_up, left] = count;
            let to_all = flow.to == AP && flow.from == AP;
            if left == 0 || !to_all || sent_dtims(&spec, seed) {
                prop_assert_eq!(left, 0, "{}", flow.name);
            }
            prop_assert_eq!(offered, delivered + dropped + given_up + left, "{}", flow.name);
            lost += given_up;
            // Nobody acknowledges a packet to all: one that collides is lost.
            unheard += if to_all { given_up } else { 0 };
        }
        let wlan = sim.model.wlan();
        let dropped = |of: &PowerSaveSpec| match of.wake_up {
            WakeUp::Awake => wlan.absence(of.station, sim.now()).unwrap().dropped,
            _ => wlan.sleep(of.station, sim.now()).unwrap().dropped,
        };
        let full: u64 = spec.sleepers.iter().map(dropped).sum();
        prop_assert_eq!(lost - unheard, full);
        prop_assert!(unheard >= wlan.beacons(AP).unwrap().group_dropped);
        let beacons = wlan.beacons(AP).unwrap();
        let due = (END.as_nanos() / INTERVAL.as_nanos()) as u64;
        // The last one may still wait for the air.
        prop_assert!((due - 1..=due + 1).contains(&(beacons.sent + beacons.skipped)), "{beacons:?}");
    }

    /// How many stations are simulated together, and whether a tap listens, changes nothing.
    #[test]
    fn how_stations_are_simulated_changes_nothing(
        stations in stations(), ap in scans(), to_all in 0u64..60, layer in behaviours(),
        before_queue: bool, seed: u64,
    ) {
        let spec = network(&stations, ap, to_all, layer, before_queue);
        let run = |together: usize, tapped: bool| {
            let sim = simulated(&CellSpec { together, ..spec.clone() }, seed, tapped);
            let wlan = sim.model.wlan();
            let slept: Vec<_> =
                spec.sleepers.iter().map(|of| wlan.sleep(of.station, sim.now())).collect();
            let of_stations: Vec<_> =
                (0..spec.stations.len() as u32).map(|at| wlan.station(StationId(at))).collect();
            let absent: Vec<_> =
                spec.absences.iter().map(|of| wlan.absence(of.station, sim.now())).collect();
            let busy: Vec<_> = (0..spec.stations.len() as u32)
                .map(|at| wlan.busy_ever(StationId(at), sim.now()))
                .collect();
            let counts = counts(&sim.model, spec.flows.len());
            (counts, slept, absent, wlan.beacons(AP), of_stations, busy)
        };
        let alone = run(usize::MAX, false);
        prop_assert_eq!(&run(2, false), &alone);
        prop_assert_eq!(&run(2, true), &alone);
        prop_assert_eq!(&run(usize::MAX, true), &alone);
    }
}

/// A saturated source neither stops a sleeping station from sleeping nor holds others up.
#[test]
fn a_saturated_source_and_a_sleeping_station() {
    let radio = cells::b();
    let fast = rate(&radio.phy, 11);
    let mut spec = cell(radio, vec![dcf(&cells::b().phy); 3]);
    spec.beacons = vec![BeaconSpec { access: at_once(&spec.radio), ..beacons(&spec.radio) }];
    spec.sleepers = vec![sleeper(&spec.radio, StationId(1), WakeUp::PsPoll)];
    let ac = AccessCategory::FIRST;
    spec.flows = vec![saturated(0, 1, ac, fast, 1000), saturated(0, 2, ac, fast, 1000)];
    let mut sim = spec.start(Seed(1));
    sim.run_until(cells::at(10));
    let [sleeps, wakes] = [0, 1].map(|at| sim.model.flow(FlowId(at)).delivered.packets);
    assert!(sleeps > 100 && wakes > 2000, "{sleeps} and {wakes}");
}

/// A station out of reach falls asleep with two packets at its access point half sent. Triggers of U-APSD deliver these first, in
/// a frame of their own numbers, before packets that have come since.
#[test]
fn what_was_put_aside_comes_first_in_a_service_period() {
    let uapsd = UapsdSpec {
        categories: [true, false, false, false],
        most_packets: None,
        trigger_interval: Some(Span::from_millis(33)),
    };
    let absence = AbsenceSpec {
        station: AP,
        kind: AbsenceKind::OutOfReach,
        first: Some(Span::from_micros(152_951)),
        period: Span::from_millis(500),
        jitter: Span::from_millis(6),
        lasts: Span::from_micros(38_698),
    };
    let station = Station {
        sleeps: Some(WakeUp::Null { timeout: Span::from_millis(181) }),
        uapsd: Some(uapsd),
        twt: None,
        listen_interval: 1,
        dtims: false,
        down: 66,
        up: 17,
        category: 0,
        absence: Some(absence),
    };
    let spec = network(&[station], None, 0, (true, Behaviour::Ns3), false);
    let mut sim = spec.start(Seed(5973997712418597375));
    sim.model.wlan_mut().plug(Box::new(Recording::default()));
    for ms in 0..8000 {
        sim.run_until(Time::ZERO + Span::from_millis(ms));
        for [offered, delivered, dropped, given_up, left] in counts(&sim.model, spec.flows.len()) {
            assert_eq!(offered, delivered + dropped + given_up + left, "at {ms} ms");
        }
    }
    let frames = sim.model.wlan_mut().unplug::<Recording>().unwrap().frames;
    let data = frames.iter().filter(|traced| traced.frame.from == AP);
    let packets = data.flat_map(|traced| &traced.carried).filter(|mpdu| mpdu.decoded);
    let heard: Vec<u64> = packets.map(|mpdu| mpdu.packet.id).collect();
    assert!(heard.is_sorted(), "{heard:?}");
    let half_sent = frames.iter().filter(|traced| traced.carried.iter().any(|of| !of.decoded));
    assert!(half_sent.count() > 1);
}
