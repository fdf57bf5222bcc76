//! Simulating a frame allocates nothing, and a large network takes little memory.

use crate::cells;
use crate::cells::{CellSpec, Flow, cell, dcf, edca, rate, saturated, uploads};
use crate::counting::{allocations, most_held};
use crate::wlan_power::{beacons, sleeper};
use airqueue_core::keys::Word;
use airqueue_core::{DataRate, Seed, Span, Time};
use airqueue_network::network::Network;
use airqueue_network::run_loop::Simulation;
use airqueue_network::wlan::{
    AbsenceKind, AbsenceSpec, BurstLaw, Energy, InterfererSpec, LinkSignal, RateControlSpec,
    Received, SignalLaw, SignalsSpec, WakeUp, Within,
};
use airqueue_transport::traffic::{Arrivals, Law, SourceSpec};
use airqueue_wifi::mac::{Aggregation, Behaviour, MacConfig, Radio};
use airqueue_wifi::medium::{
    Fading, FastFading, FrameErrors, Level, Link, Place, Propagation, Reach, Shadowing, StationId,
    Steps,
};
use airqueue_wifi::phy::{AccessCategory, Band, Capability, Preamble, Width, dsss, he};
use airqueue_wifi::rate_control::RateControlName;

/// Number of allocations in one second of a network, after two seconds. By then the largest number of frames must have
/// overlapped at a receiver: with saturated and constant sources all of them do so at the start. Room for four frames
/// exists from the start.
fn in_steady_state(spec: &CellSpec) -> u64 {
    in_a_second_after(2, spec)
}

/// The same after so many seconds.
fn in_a_second_after(seconds: i64, spec: &CellSpec) -> u64 {
    let mut sim = spec.start(Seed(3));
    sim.run_until(cells::at(seconds));
    let (before, events) = (allocations(), sim.events());
    assert!(before > 0, "the counter counts");
    sim.run_until(cells::at(seconds + 1));
    // An exchange may be a single event.
    assert!(sim.events() - events > 100, "something happens");
    allocations() - before
}

fn with(behaviour: Behaviour, spec: CellSpec) -> CellSpec {
    let rules = behaviour.rules();
    CellSpec { radio: Radio::new(dsss(Preamble::Long, rules.conventions), rules), ..spec }
}

/// These flows, each with `kbps` of packets.
fn paced(spec: CellSpec, arrivals: fn(DataRate) -> Arrivals, kbps: u64) -> CellSpec {
    let arrivals = arrivals(DataRate::from_bps(kbps * 1000).unwrap());
    let pace = |flow: Flow| Flow { source: SourceSpec { arrivals, ..flow.source }, ..flow };
    CellSpec { flows: spec.flows.into_iter().map(pace).collect(), ..spec }
}

/// Senders that do not hear each other, and their receiver.
fn hidden(senders: u32) -> CellSpec {
    let middle = |from, to| (from == 0 || to == 0).then_some(Level::Decodable);
    CellSpec { reach: cells::reach(senders as usize + 1, middle), ..uploads(senders) }
}

#[test]
fn saturated_cells() {
    for behaviour in [Behaviour::Standard, Behaviour::Ns3, Behaviour::Ns2] {
        assert_eq!(in_steady_state(&with(behaviour, uploads(20))), 0);
    }
}

#[test]
fn paced_sources() {
    for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
        // Below capacity, and far above it: every queue drops.
        for kbps in [300, 5000] {
            assert_eq!(in_steady_state(&paced(uploads(4), arrivals, kbps)), 0);
        }
    }
}

/// Packets wait for stations that sleep, and for the next DTIM.
#[test]
fn stations_that_sleep() {
    let day = WakeUp::Null { timeout: Span::from_millis(15) };
    for wake_up in [WakeUp::PsPoll, day] {
        let mut spec = paced(uploads(4), Arrivals::Constant, 100);
        let slow = spec.radio.phy.slowest_basic();
        for to in 0..=4 {
            let rate = if to == 0 { slow } else { spec.flows[0].rate };
            let flow = saturated(0, to, AccessCategory::FIRST, rate, 500);
            spec.flows.push(
                paced(CellSpec { flows: vec![flow], ..spec.clone() }, Arrivals::Constant, 60)
                    .flows
                    .remove(0),
            );
        }
        spec.beacons = vec![beacons(&spec.radio)];
        spec.sleepers = (1..=3).map(|at| sleeper(&spec.radio, StationId(at), wake_up)).collect();
        // By then every buffer has been as full as it ever gets, whatever the place of packets between beacons.
        assert_eq!(in_a_second_after(60, &spec), 0, "{wake_up:?}");
    }
}

#[test]
fn scans_and_departures() {
    for tells in [true, false] {
        let mut spec = paced(uploads(4), Arrivals::Constant, 100);
        let back = paced(uploads(4), Arrivals::Constant, 100).flows;
        spec.flows.extend(back.into_iter().map(|flow| Flow {
            from: flow.to,
            to: flow.from,
            ..flow
        }));
        spec.beacons = vec![beacons(&spec.radio)];
        let stations = || (1..=3).map(StationId);
        if tells {
            spec.sleepers = stations().map(|at| sleeper(&spec.radio, at, WakeUp::Awake)).collect();
        }
        let home = Span::from_millis(100);
        let scans = AbsenceKind::Scan { channels: 3, at_once: 2, home, tells };
        let (lasts, jitter) = (Span::from_millis(60), Span::from_millis(50));
        let period = Span::from_secs(1);
        let absence =
            |station| AbsenceSpec { station, kind: scans, first: None, period, jitter, lasts };
        spec.absences = stations().map(absence).collect();
        let kind = AbsenceKind::OutOfReach;
        spec.absences.push(AbsenceSpec { kind, ..absence(StationId(4)) });
        assert_eq!(in_a_second_after(60, &spec), 0, "tells: {tells}");
    }
}

#[test]
fn hidden_terminals() {
    for behaviour in [Behaviour::Standard, Behaviour::Ns3, Behaviour::Ns2] {
        let mut spec = with(behaviour, hidden(4));
        assert_eq!(in_steady_state(&spec), 0);
        spec.errors = FrameErrors::PerBit(1e-5);
        for station in &mut spec.stations {
            station.mac.rts_threshold_bytes = 0;
        }
        assert_eq!(in_steady_state(&spec), 0);
    }
}

#[test]
fn four_categories() {
    let radio = cells::b();
    let fast = rate(&radio.phy, 11);
    let macs: Vec<MacConfig> = vec![edca(&radio.phy); 6];
    let flows = (1..6).flat_map(|from| (0..4).map(move |queue| (from, queue)));
    let flows = flows
        .map(|(from, queue)| saturated(from, 0, AccessCategory::at(queue), fast, 500))
        .collect();
    assert_eq!(in_steady_state(&CellSpec { flows, ..cell(radio, macs) }), 0);
}

#[test]
fn aggregates() {
    let rules = Behaviour::Ns3.rules();
    let most = Capability { width: Width::MHZ_80, streams: 2 };
    let radio = Radio::new(he(Band::Ghz5, most, rules.conventions).unwrap(), rules);
    let fast = radio.phy.rates().max_by_key(|&(_, rate)| rate).unwrap().0;
    let aggregation = Some(Aggregation::STANDARD);
    let macs = vec![MacConfig { aggregation, ..edca(&radio.phy) }; 6];
    let flows = (1..6).flat_map(|id| {
        [
            saturated(id, 0, AccessCategory::at(1), fast, 1000),
            saturated(0, id, AccessCategory::at(1), fast, 1000),
        ]
    });
    let mut spec = CellSpec { flows: flows.collect(), ..cell(radio, macs) };
    spec.errors = FrameErrors::PerFrame(0.1);
    assert_eq!(in_steady_state(&spec), 0);
}

#[test]
fn rate_control() {
    for &algorithm in RateControlName::ALL {
        let mut spec = uploads(4);
        let rates: Vec<_> = spec.radio.phy.rates().map(|(rate, _)| rate).collect();
        for flow in &mut spec.flows {
            let rates = rates.clone().into();
            flow.rate_control = Some(RateControlSpec { algorithm, rates });
        }
        spec.errors = FrameErrors::PerFrame(0.1);
        assert_eq!(in_steady_state(&spec), 0);
    }
}

const LIMIT: i64 = 200 << 20;

/// The largest amount of memory that building and running a cell takes.
fn memory(build: impl FnOnce() -> CellSpec) -> i64 {
    most_held(|| {
        let mut sim: Simulation<Network> = build().start(Seed(1));
        sim.run_until(Time::from_nanos(100_000_000));
        assert!(sim.events() > 100);
    })
}

#[test]
fn a_thousand_stations_that_all_hear_each_other() {
    let most = memory(|| {
        let mut spec = uploads(999);
        for (at, flow) in spec.flows.iter_mut().enumerate() {
            // Staggered starts: collisions of stations that begin together are not the subject here.
            flow.source.start = Time::from_nanos(at as i64 * 50_000);
        }
        spec
    });
    assert!(most < LIMIT, "{most}");
}

/// 802.11b stations `spacing` metres apart with ns-2's ranges; each sends to its neighbour.
fn grid(side: u32, spacing: f64) -> CellSpec {
    let radio = cells::b();
    let fast = rate(&radio.phy, 11);
    let count = side * side;
    let place = |id| {
        Place::new(StationId(id), f64::from(id % side) * spacing, f64::from(id / side) * spacing)
    };
    let places: Vec<Place> = (0..count).map(place).collect();
    let reach = Reach::from_places(&places, &Propagation::ns2()).unwrap();
    let macs = vec![dcf(&radio.phy); count as usize];
    let to = |from: u32| if from % side + 1 < side { from + 1 } else { from - 1 };
    let flows = (0..count)
        .map(|from| saturated(from, to(from), AccessCategory::FIRST, fast, 1000))
        .collect();
    CellSpec { reach, flows, ..cells::stations(radio, macs) }
}

#[test]
fn a_thousand_stations_in_a_grid() {
    let most = memory(|| grid(32, 200.0));
    assert!(most < LIMIT / 4, "{most}");
}

/// In a network with room for all stations, each station costs as much memory as in any other network: nothing is
/// stored for pairs of stations that do not hear each other.
#[test]
fn memory_grows_with_stations_and_not_with_pairs() {
    let [small, large] = [10, 40].map(|side| memory(|| grid(side, 200.0)));
    assert!(large < 20 * small, "16 times the stations: {large} for {small}");
}

#[test]
fn signals_that_change_and_interferers() {
    let stations = 5;
    let links: Vec<_> = (0..stations)
        .flat_map(|from| (0..stations).map(move |to| (from, to)))
        .filter(|(from, to)| from != to)
        .map(|(from, to)| Link {
            from: StationId(from),
            to: StationId(to),
            level: Level::Decodable,
            power_w: Some(1e-10),
        })
        .collect();
    let pairs = (0..stations).flat_map(|other| (0..other).map(move |one| (one, other)));
    let within = |micros| Within { law: Law::Exponential, mean: Span::from_micros(micros) };
    let energy = Energy { power_w: 1e-12, sensed: true, destroys: false };
    let interferer = |name: &str, law| InterfererSpec {
        name: name.to_owned(),
        law,
        received: Received::Told(vec![energy; stations as usize]),
        start: Time::ZERO,
        stop: Time::MAX,
    };
    let signals = SignalsSpec {
        laws: vec![SignalLaw {
            fading: Fading {
                shadowing: Some(Shadowing { deviation_db: 4.0, coherence: Span::from_millis(50) }),
                fast: Some(FastFading { coherence: Span::from_millis(5), k: 1.0 }),
            },
            snr: None,
        }],
        links: pairs
            .map(|(one, other)| LinkSignal { one: StationId(one), other: StationId(other), law: 0 })
            .collect(),
        thresholds: None,
        interferers: vec![
            interferer("a", BurstLaw::Alternating { on: within(300), off: within(2000) }),
            interferer("b", BurstLaw::Arriving { busy: within(500), share: Steps::constant(0.2) }),
        ],
    };
    let reach = Reach::from_links(stations as usize, &links).unwrap();
    let spec = CellSpec { reach, signals, errors: FrameErrors::BySnr, ..uploads(stations - 1) };
    assert_eq!(in_steady_state(&spec), 0);
}
