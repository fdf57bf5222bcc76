//! Exchanges in one step have the results of frame by frame, as which networks with a tap are simulated.

use crate::cells::{self, CellSpec};
use crate::random_networks::{cases, networks, offer};
use crate::random_routes::wired_networks;
use airqueue_core::{Payload, Seed, Span, Time};
use airqueue_network::FlowId;
use airqueue_network::network::{Network, NetworkSpec, OfferedPacket, QueueId, Traffic};
use airqueue_network::run_loop::Simulation;
use airqueue_network::wlan::tap::{Tap, TracedFrame};
use airqueue_wifi::medium::{FrameErrors, Level, StationId};
use airqueue_wifi::phy::AccessCategory;
use proptest::prelude::*;

#[derive(Debug)]
struct Silent;

impl Tap for Silent {
    fn on_frame(&mut self, _aired: &TracedFrame) {}
}

/// Everything that a network reports at a moment.
fn figures(sim: &mut Simulation<Network>, spec: &NetworkSpec) -> Vec<String> {
    let now = sim.now();
    let mut all = Vec::new();
    for flow in (0..spec.flows.len()).map(FlowId::at) {
        let back = sim.model.acknowledgements(flow);
        let tcp = sim.model.tcp(flow, now);
        all.push(format!("{flow:?} {:?} {back:?} {tcp:?}", sim.model.flow(flow)));
    }
    for (at, station) in spec.wlan.stations.iter().enumerate() {
        let id = StationId(at as u32);
        let (wlan, busy) = (sim.model.wlan().station(id), sim.model.wlan().busy(id, now));
        all.push(format!("{id:?} {wlan:?} {busy:?}"));
        for ac in AccessCategory::first(station.queues.len()) {
            let access = sim.model.wlan().access(id, ac);
            let queue = sim.model.queue(QueueId::Station(id, ac), now);
            all.push(format!("{id:?} {ac:?} {access:?} {queue:?}"));
        }
    }
    all.push(format!("{:?}", sim.model.outcomes().collect::<Vec<_>>()));
    all
}

/// The first difference, with some words around it: the figures are too long to be printed whole.
fn difference(one: &str, other: &str) -> String {
    let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let around = |of: &str| {
        let bytes = &of.as_bytes()[same.saturating_sub(60)..(same + 60).min(of.len())];
        String::from_utf8_lossy(bytes).into_owned()
    };
    let name: String = one.chars().take(30).collect();
    format!("{name}: {:?}, frame by frame {:?}", around(one), around(other))
}

/// Runs both ways with the same stops; returns how many events each took.
fn both_ways(
    start: impl Fn() -> Simulation<Network>,
    spec: &NetworkSpec,
    stops: &[Time],
    at_each: impl Fn(&mut Simulation<Network>),
) -> Result<[u64; 2], TestCaseError> {
    let (mut at_once, mut by_frame) = (start(), start());
    by_frame.model.wlan_mut().plug(Box::new(Silent));
    for &stop in stops {
        for sim in [&mut at_once, &mut by_frame] {
            sim.run_until(stop);
        }
        let seen = [figures(&mut at_once, spec), figures(&mut by_frame, spec)];
        for (one, other) in seen[0].iter().zip(&seen[1]) {
            prop_assert!(one == other, "at {}: {}", stop, difference(one, other));
        }
        at_each(&mut at_once);
        at_each(&mut by_frame);
    }
    Ok([at_once.events(), by_frame.events()])
}

fn stops() -> impl Strategy<Value = Vec<Time>> {
    prop::collection::vec(1i64..50_000_000, 1..12).prop_map(|steps| {
        let mut at = Time::ZERO;
        steps
            .into_iter()
            .map(|step| {
                at += Span::from_nanos(step);
                at
            })
            .collect()
    })
}

/// The same stations and flows, all of which hear each other, without noise: nearly every exchange is one step.
fn calm(spec: CellSpec) -> CellSpec {
    let all = |_, _| Some(Level::Decodable);
    let reach = cells::reach(spec.stations.len(), all);
    CellSpec { reach, capture: None, errors: FrameErrors::None, ..spec }
}

fn cell_both_ways(spec: &CellSpec, seed: u64, stops: &[Time]) -> Result<[u64; 2], TestCaseError> {
    let start = || spec.start(Seed(seed));
    both_ways(start, &spec.network(), stops, |sim| offer(sim, spec))
}

fn network_both_ways(spec: &NetworkSpec, seed: u64, stops: &[Time]) -> Result<(), TestCaseError> {
    let start = || Network::new(spec, Seed(seed)).expect("a network");
    let offered =
        |flow: &FlowId| matches!(spec.flows[flow.index()].traffic, Traffic::Offered { .. });
    let offer = |sim: &mut Simulation<Network>| {
        for flow in (0..spec.flows.len()).map(FlowId::at).filter(offered) {
            let packet = OfferedPacket::new(700, Payload::default());
            sim.model.offer(flow, packet, &mut sim.queue);
        }
    };
    both_ways(start, spec, stops, offer).map(|_| ())
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn random_networks_are_the_same(spec in networks(), seed: u64, stops in stops()) {
        cell_both_ways(&spec, seed, &stops)?;
    }

    #[test]
    fn calm_networks_are_the_same(spec in networks(), seed: u64, stops in stops()) {
        cell_both_ways(&calm(spec), seed, &stops)?;
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn networks_with_wires_are_the_same(spec in wired_networks(), seed: u64, stops in stops()) {
        network_both_ways(&spec, seed, &stops)?;
    }
}

/// Ten saturated stations that hear each other: an exchange without a collision is one event.
#[test]
fn a_saturated_cell_takes_fewer_events() {
    let [at_once, by_frame] =
        cell_both_ways(&cells::uploads(10), 3, &[cells::at(2)]).expect("the same results");
    assert!(at_once * 2 < by_frame, "{at_once} and {by_frame} events");
}
