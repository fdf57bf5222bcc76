//! A network and a seed determine every result, and a station's results do not depend on what cannot affect the
//! station.

use crate::cells;
use crate::cells::{CellSpec, Flow};
use crate::random_networks::networks;
use airqueue_core::{Seed, Span, Time};
use airqueue_network::FlowId;
use airqueue_network::counters::HopCounters;
use airqueue_network::network::Network;
use airqueue_network::wlan::tap::{Recording, TracedFrame};
use airqueue_network::wlan::{StationCounters, StationSpec};
use airqueue_wifi::mac::{Behaviour, CategoryCounters, Frame, Radio};
use airqueue_wifi::medium::{Capture, Level, Link, Place, Propagation, Reach, StationId};
use airqueue_wifi::phy::{AccessCategory, Preamble, dsss};
use proptest::prelude::*;
use proptest::sample::Index;

/// Everything that a network reports of its first stations and flows.
#[derive(Debug, PartialEq)]
struct Seen {
    frames: Vec<(Time, Time, Frame)>,
    flows: Vec<HopCounters>,
    stations: Vec<(StationCounters, CategoryCounters, Span)>,
}

/// Runs a network, in one go or with stops.
fn run(spec: &CellSpec, seed: u64, stops: i64) -> Network {
    let mut sim = spec.start(Seed(seed));
    sim.model.wlan_mut().plug(Box::new(Recording::default()));
    for step in 1..=stops {
        sim.run_until(Time::from_nanos(200_000_000 * step / stops));
    }
    sim.model
}

fn seen(mut network: Network, of: &CellSpec) -> Seen {
    let recording: Recording = network.wlan_mut().unplug().expect("it was plugged in");
    let stations = of.stations.len();
    let of_them = |traced: &&TracedFrame| traced.frame.from.index() < stations;
    let now = Time::from_nanos(200_000_000);
    Seen {
        frames: (recording.frames.iter().filter(of_them))
            .map(|traced| (traced.begins, traced.ends, traced.frame))
            .collect(),
        flows: (0..of.flows.len()).map(|flow| network.flow(FlowId::at(flow)).clone()).collect(),
        stations: (0..stations)
            .map(|at| {
                (
                    network.wlan().station(StationId(at as u32)),
                    network.wlan().access(StationId(at as u32), AccessCategory::FIRST),
                    network.wlan().busy(StationId(at as u32), now),
                )
            })
            .collect(),
    }
}

fn links(reach: &Reach) -> Vec<Link> {
    let of = |from: StationId| {
        reach.listeners_of(from).iter().map(move |hearer| {
            let power_w = reach.powers_known().then_some(hearer.power_w);
            Link { from, to: hearer.station, level: hearer.level, power_w }
        })
    };
    (0..reach.stations() as u32).map(StationId).flat_map(of).collect()
}

/// The network, with a copy of itself out of range.
fn twice(spec: &CellSpec) -> CellSpec {
    let stations = spec.stations.len();
    let other = |id: StationId| StationId(id.0 + stations as u32);
    let mut all = links(&spec.reach);
    let copies =
        all.iter().map(|link| Link { from: other(link.from), to: other(link.to), ..*link });
    all.extend(copies.collect::<Vec<_>>());
    let copy = |flow: &Flow| Flow { from: other(flow.from), to: other(flow.to), ..flow.clone() };
    let mut both = spec.clone();
    both.reach = Reach::from_links(2 * stations, &all).unwrap();
    both.stations.extend_from_slice(&spec.stations);
    both.flows.extend(spec.flows.iter().map(copy));
    both
}

/// The network with one more station, silent, which hears and is heard by all stations.
fn with_a_listener(spec: &CellSpec) -> CellSpec {
    let listener = StationId(spec.stations.len() as u32);
    let power_w = spec.reach.powers_known().then_some(1e-9);
    let mut all = links(&spec.reach);
    for id in (0..listener.0).map(StationId) {
        let link = Link { from: id, to: listener, level: Level::Decodable, power_w };
        all.extend([link, Link { from: listener, to: id, ..link }]);
    }
    let mut more = spec.clone();
    more.reach = Reach::from_links(spec.stations.len() + 1, &all).unwrap();
    more.stations.push(StationSpec { name: "listener".into(), ..spec.stations[0].clone() });
    more
}

/// The network with every station in triplicate, all next to each other: stations that hear alike. `varied`: not
/// equally strong, if powers are known at all, nor in the same order of strength.
fn in_triplicate(spec: &CellSpec, varied: bool) -> CellSpec {
    let copy = |id: StationId, at: u32| StationId(3 * id.0 + at);
    let factor =
        |a: u32, b: u32| if varied { [1.0, 4.0, 30.0][((a + b) % 3) as usize] } else { 1.0 };
    let pairs = || (0..3u32).flat_map(|a| (0..3u32).map(move |b| (a, b)));
    let mut all = Vec::new();
    for link in links(&spec.reach) {
        all.extend(pairs().map(|(a, b)| {
            let power_w = link.power_w.map(|power_w| power_w * factor(a, b));
            Link { from: copy(link.from, a), to: copy(link.to, b), power_w, ..link }
        }));
    }
    for id in (0..spec.stations.len() as u32).map(StationId) {
        all.extend(pairs().filter(|(a, b)| a != b).map(|(a, b)| {
            let power_w = spec.reach.powers_known().then_some(1e-9 * factor(a, b));
            Link { from: copy(id, a), to: copy(id, b), level: Level::Decodable, power_w }
        }));
    }
    let mut crowded = spec.clone();
    crowded.reach = Reach::from_links(3 * spec.stations.len(), &all).unwrap();
    crowded.stations =
        spec.stations.iter().flat_map(|s| [s.clone(), s.clone(), s.clone()]).collect();
    let flows = spec.flows.iter().flat_map(|flow| {
        [0, 1, 2].map(|at| Flow { from: copy(flow.from, at), to: copy(flow.to, 0), ..flow.clone() })
    });
    crowded.flows = flows.collect();
    crowded
}

/// What a network reports without a tap: with a tap the engine visits every station.
fn counted(spec: &CellSpec, of: &CellSpec, seed: u64) -> Seen {
    let mut sim = spec.start(Seed(seed));
    sim.run_until(Time::from_nanos(200_000_000));
    sim.model.wlan_mut().plug(Box::new(Recording::default()));
    seen(sim.model, of)
}

proptest! {
    #![proptest_config(crate::random_networks::cases(150))]

    #[test]
    fn the_same_seed_gives_the_same_run(spec in networks(), seed: u64) {
        let first = seen(run(&spec, seed, 1), &spec);
        prop_assert_eq!(seen(run(&spec, seed, 1), &spec), first);
    }

    #[test]
    fn stopping_in_between_changes_nothing(spec in networks(), seed: u64, stops in 2i64..500) {
        let at_once = seen(run(&spec, seed, 1), &spec);
        prop_assert_eq!(seen(run(&spec, seed, stops), &spec), at_once);
    }

    /// Counting begins at the end of the warm-up. The start of counting changes no event, even where it coincides with
    /// the beginning of a frame.
    #[test]
    fn when_counting_begins_changes_nothing(spec in networks(), seed: u64, at: Index) {
        let spec = CellSpec { warm_up: Time::ZERO, ..spec };
        let counted = seen(run(&spec, seed, 1), &spec).frames;
        let begins = counted.get(at.index(counted.len().max(1))).map(|&(begins, ..)| begins);
        let Some(warm_up) = begins.filter(|&at| at > Time::ZERO) else { return Ok(()) };
        let later = CellSpec { warm_up, ..spec };
        prop_assert_eq!(seen(run(&later, seed, 1), &later).frames, counted);
    }

    #[test]
    fn a_network_elsewhere_changes_nothing(spec in networks(), seed: u64) {
        let alone = seen(run(&spec, seed, 1), &spec);
        prop_assert_eq!(seen(run(&twice(&spec), seed, 1), &spec), alone);
    }

    #[test]
    fn a_silent_station_changes_nothing(spec in networks(), seed: u64) {
        let alone = seen(run(&spec, seed, 1), &spec);
        prop_assert_eq!(seen(run(&with_a_listener(&spec), seed, 1), &spec), alone);
    }

    /// For stations without flows the engine keeps little state, unless there is a tap.
    #[test]
    fn how_closely_bystanders_are_watched_changes_nothing(
        spec in networks(), seed: u64, flows in 1usize..4, plugged_us in 0i64..200_000,
    ) {
        let mut few = with_a_listener(&spec);
        few.flows.truncate(flows);
        let plain = counted(&few, &few, seed);
        let watched = Seen { frames: Vec::new(), ..seen(run(&few, seed, 1), &few) };
        prop_assert_eq!(&watched, &plain);
        let mut later = few.start(Seed(seed));
        later.run_until(Time::from_nanos(plugged_us * 1000));
        later.model.wlan_mut().plug(Box::new(Recording::default()));
        later.run_until(Time::from_nanos(200_000_000));
        let later = Seen { frames: Vec::new(), ..seen(later.model, &few) };
        prop_assert_eq!(later, plain);
    }

    /// Simulating stations that hear alike together changes no result.
    #[test]
    fn simulating_stations_together_changes_nothing(spec in networks(), seed: u64, varied: bool) {
        let crowded = in_triplicate(&spec, varied);
        let apart = CellSpec { together: usize::MAX, ..crowded.clone() };
        let plain = counted(&crowded, &crowded, seed);
        prop_assert_eq!(&plain, &counted(&apart, &crowded, seed));
        let watched = seen(run(&crowded, seed, 1), &crowded);
        prop_assert_eq!(&watched, &seen(run(&apart, seed, 1), &crowded));
        prop_assert_eq!(Seen { frames: Vec::new(), ..watched }, plain);
    }
}

/// Saturated stations on a circle around their receiver, where each collision is heard with other powers at each station.
fn on_a_circle(stations: u32, behaviour: Behaviour, capture: Option<Capture>) -> CellSpec {
    let spec = cells::uploads(stations);
    let rules = behaviour.rules();
    let place = |id: u32| {
        let angle = f64::from(id) * std::f64::consts::TAU / f64::from(stations);
        let radius_m = if id == 0 { 0.0 } else { 10.0 };
        Place::new(StationId(id), radius_m * libm::cos(angle), radius_m * libm::sin(angle))
    };
    let places: Vec<Place> = (0..=stations).map(place).collect();
    let reach = Reach::from_places(&places, &Propagation::ns2()).unwrap();
    let radio = Radio::new(dsss(Preamble::Long, rules.conventions), rules);
    CellSpec { radio, reach, capture, ..spec }
}

#[test]
fn simulating_a_circle_together_changes_nothing() {
    let sinr = Capture::Sinr { threshold_db: 4.0, noise_w: 1e-13, window: Span::from_micros(4) };
    for behaviour in [Behaviour::Standard, Behaviour::Ns3, Behaviour::Ns2] {
        for capture in [None, Some(Capture::None), Some(Capture::NS2), Some(sinr)] {
            let spec = CellSpec { together: 2, ..on_a_circle(25, behaviour, capture) };
            let apart = CellSpec { together: usize::MAX, ..spec.clone() };
            let case = format!("{behaviour:?}, {capture:?}");
            let plain = counted(&spec, &spec, 7);
            assert_eq!(plain, counted(&apart, &spec, 7), "{case}");
            let watched = seen(run(&spec, 7, 1), &spec);
            assert_eq!(watched, seen(run(&apart, 7, 1), &spec), "{case}");
            // Under a tap each receiver tracks what it cannot hear for its own frames, too.
            assert_eq!(Seen { frames: Vec::new(), ..watched }, plain, "{case}");
            let collisions = |of: &Seen| of.stations.iter().map(|of| of.1.failures).sum::<u64>();
            assert!(collisions(&plain) > 30, "there is something to judge: {case}");
        }
    }
}

#[test]
fn another_seed_gives_another_run() {
    let spec = cells::uploads(5);
    assert_ne!(seen(run(&spec, 1, 1), &spec), seen(run(&spec, 2, 1), &spec));
}
