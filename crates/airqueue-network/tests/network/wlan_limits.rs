//! Changes of queues and of their limits in networks at work.

use crate::cells;
use crate::cells::CellSpec;
use crate::random_networks::{PATIENCE, STOP, missing, networks, nothing_is_left, offer, run_out};
use airqueue_core::{DataRate, Limit, Seed, Span, Time};
use airqueue_network::network::{self, Network, NetworkSpec, QueueId, TimedChange};
use airqueue_network::run_loop::Simulation;
use airqueue_network::{FlowId, HopId};
use airqueue_qdisc::codel::CodelParams;
use airqueue_qdisc::{Discipline, QueueSpec};
use airqueue_transport::traffic::Arrivals;
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// A limit for a queue, or for one flow.
#[derive(Clone, Debug)]
struct Change {
    at: Time,
    place: Index,
    flow: bool,
    limit: Limit,
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let limits = [0, 1, 5, u32::MAX].map(Limit::Packets).to_vec();
    let limit = prop_oneof![select(limits), (0u64..9000).prop_map(Limit::Bytes)];
    let change = (0..STOP.as_nanos(), any::<Index>(), any::<bool>(), limit).prop_map(
        |(at, place, flow, limit)| Change { at: Time::from_nanos(at), place, flow, limit },
    );
    prop::collection::vec(change, 1..30).prop_map(|mut changes| {
        changes.sort_by_key(|change| change.at);
        changes
    })
}

/// All queues, by station and access category.
fn queues(spec: &CellSpec) -> Vec<(usize, usize)> {
    let of = |(id, station): (usize, &airqueue_network::wlan::StationSpec)| {
        (0..station.queues.len()).map(move |at| (id, at)).collect::<Vec<_>>()
    };
    spec.stations.iter().enumerate().flat_map(of).collect()
}

/// Changes a limit, and checks the effect at this instant: waiting packets stay.
fn change(
    sim: &mut Simulation<Network>,
    spec: &CellSpec,
    change: &Change,
) -> Result<(), TestCaseError> {
    let now = change.at;
    let before = sim.model.in_transit();
    let dropped = |sim: &mut Simulation<Network>| -> u64 {
        queues(spec)
            .iter()
            .map(|&(id, at)| {
                sim.model
                    .queue(QueueId::Station(StationId(id as u32), AccessCategory::at(at)), now)
                    .dropped
                    .packets
            })
            .sum()
    };
    let dropped_before = dropped(sim);
    let offered = |sim: &Simulation<Network>| -> u64 {
        (0..spec.flows.len()).map(|flow| sim.model.flow(FlowId::at(flow)).offered.packets).sum()
    };
    let offered_before = offered(sim);
    let Simulation { model, queue, .. } = sim;
    if change.flow && !spec.flows.is_empty() {
        model.set_hop_limit(HopId::at(change.place.index(spec.flows.len())), change.limit, queue);
    } else {
        let queues = queues(spec);
        let (station, category) = *change.place.get(&queues);
        model.set_limit(
            StationId(station as u32),
            AccessCategory::at(category),
            change.limit,
            queue,
        );
    }
    if offered(sim) > offered_before {
        // A saturated flow has found room, or has failed at a queue that drops waiting packets to make room.
        return Ok(());
    }
    prop_assert_eq!(dropped(sim), dropped_before, "only arrivals cost packets");
    prop_assert_eq!(sim.model.in_transit(), before, "what waited waits");
    Ok(())
}

proptest! {
    #![proptest_config(crate::random_networks::cases(200))]

    /// Every packet is accounted for at any moment, and everything comes to an end.
    #[test]
    fn changes_of_limits_lose_no_packet(spec in networks(), changes in changes(), seed: u64) {
        let spec = CellSpec { warm_up: Time::ZERO, ..spec };
        let mut sim = spec.start(Seed(seed));
        let none = vec![0; spec.flows.len()];
        for one in &changes {
            sim.run_until(one.at);
            offer(&mut sim, &spec);
            change(&mut sim, &spec, one)?;
            prop_assert_eq!(missing(&sim.model, spec.flows.len()), none.clone(), "at {}", one.at);
        }
        run_out(&mut sim, PATIENCE);
        prop_assert_eq!(missing(&sim.model, spec.flows.len()), none);
        nothing_is_left(&sim, &spec)?;
        let now = sim.now();
        for (station, category) in queues(&spec) {
            let counters = sim.model.queue(QueueId::Station(StationId(station as u32), AccessCategory::at(category)), now);
            let out = counters.dropped.packets + counters.taken.packets;
            prop_assert_eq!(counters.offered.packets, out);
        }
    }
}

/// A saturated flow whose queue had no room continues as soon as there is room.
#[test]
fn a_flow_without_room_goes_on_when_it_has_some() {
    let mut spec = cells::uploads(1);
    spec.stations[1].queues[0].limit = Limit::Packets(0);
    let mut sim = spec.start(Seed(1));
    let second = Time::ZERO + Span::from_secs(1);
    sim.run_until(second);
    assert_eq!(sim.model.flow(FlowId(0)).delivered.packets, 0);
    sim.model.set_limit(StationId(1), AccessCategory::FIRST, Limit::Packets(1), &mut sim.queue);
    sim.run_until(second + Span::from_millis(10));
    assert!(sim.model.flow(FlowId(0)).delivered.packets > 2);
}

/// A ring that comes with a new queue takes packets at once, and CoDel drops some of them on the way out: their flow
/// knows at that instant.
#[test]
fn drops_on_the_way_into_a_new_ring_are_counted_at_once() {
    let mut cell = cells::uploads(1);
    let rate = DataRate::from_bps(20_000_000).unwrap();
    cell.flows[0].source.arrivals = Arrivals::Constant(rate);
    let codel = CodelParams { interval: Span::from_millis(1), ..CodelParams::default() };
    cell.stations[1].queues[0].discipline = Discipline::Codel(codel);
    let queue = QueueSpec { ring_packets: 20, ..QueueSpec::new(Limit::Packets(50)) };
    let (station, ac) = (StationId(1), AccessCategory::FIRST);
    let mut dropped = 0;
    for at in (100..110).map(|ms| Time::ZERO + Span::from_millis(ms)) {
        let mut spec = cell.network();
        let drops = |spec: &NetworkSpec| {
            let mut sim = Network::new(spec, Seed(1)).expect("a network that can be");
            sim.run_until(at);
            let counters = sim.model.queue(QueueId::Station(station, ac), at);
            let held = counters.offered.packets - counters.dropped.packets - counters.taken.packets;
            assert_eq!(held, sim.model.waiting(QueueId::Station(station, ac)).0, "at {at}");
            counters.dropped.packets
        };
        let before = drops(&spec);
        let change = network::Change::Queue { station, ac, queue };
        spec.changes.push(TimedChange { at, change });
        dropped += drops(&spec) - before;
    }
    assert!(dropped > 0, "no drops to count");
}
