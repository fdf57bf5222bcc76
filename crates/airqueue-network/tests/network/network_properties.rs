//! Properties of every network of stations, wired links and TCP.

use crate::cells;
use crate::random_networks::{PATIENCE, STOP, run_out};
use crate::random_routes::{wired_networks, wired_transfers};
use airqueue_core::{Payload, RandomStream, Seed, Span, Time};
use airqueue_network::counters::{HopCounters, QueueCounters};
use airqueue_network::network::{
    FlowSpec, Hop, Network, NetworkSpec, Node, OfferedPacket, QueueId, TcpFlowSpec, Traffic,
    WireSpec, Work,
};
use airqueue_network::outcome::Outcome;
use airqueue_network::run_loop::{Clock, Simulation};
use airqueue_network::{FlowId, WireId};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;
use proptest::prelude::*;

/// By how much the counters of each path, in both directions, differ from the packets in transit: zero, if counting
/// began with the first packet.
fn missing(network: &Network, spec: &NetworkSpec) -> Vec<[i128; 2]> {
    let of = |counters: &HopCounters, in_transit: u64| {
        let HopCounters { offered, dropped, given_up, delivered, .. } = counters;
        let out =
            [dropped, given_up, delivered].map(|t| i128::from(t.packets)).iter().sum::<i128>();
        i128::from(in_transit) - (i128::from(offered.packets) - out)
    };
    let in_transit_by_flow =
        network.in_transit().into_iter().zip(network.acknowledgements_in_transit());
    in_transit_by_flow
        .enumerate()
        .map(|(flow, (there, back))| {
            let acks = network.acknowledgements(FlowId::at(flow)).unwrap_or_default();
            assert!(matches!(spec.flows[flow].traffic, Traffic::Tcp(_)) || back == 0);
            [of(&network.flow(FlowId::at(flow)), there), of(&acks, back)]
        })
        .collect()
}

/// Outcomes of packets from outside: the number offered to each flow, the ids of packets with an outcome, and the ids
/// of delivered packets among them.
#[derive(Default)]
struct Fates {
    offered: Vec<u32>,
    met: Vec<Vec<u32>>,
    last_delivered: Vec<Option<u32>>,
}

impl Fates {
    fn new(flows: usize) -> Fates {
        Fates {
            offered: vec![0; flows],
            met: vec![Vec::new(); flows],
            last_delivered: vec![None; flows],
        }
    }

    /// Two packets more for each flow that gets its packets from outside.
    fn offer(&mut self, sim: &mut Simulation<Network>, spec: &NetworkSpec) {
        let Simulation { model, queue, .. } = sim;
        for (flow, of) in spec.flows.iter().enumerate() {
            if matches!(of.traffic, Traffic::Offered { .. }) {
                for size in [300, 1500] {
                    let packet = OfferedPacket::new(size, Payload(self.offered[flow]));
                    model.offer(FlowId::at(flow), packet, queue);
                    self.offered[flow] += 1;
                }
            }
        }
    }

    /// Checks that each packet is reported once, and that packets arrive in the order of their offers if all take one
    /// route.
    fn listen(&mut self, network: &mut Network, spec: &NetworkSpec) -> Result<(), TestCaseError> {
        for outcome in network.outcomes() {
            let (Outcome::Delivered(packet) | Outcome::Dropped(packet, _) | Outcome::Lost(packet)) =
                outcome;
            let (flow, number) = (packet.flow.index(), packet.payload.0);
            self.met[flow].push(number);
            if let Outcome::Delivered(_) = outcome {
                let in_order = Some(number) > self.last_delivered[flow];
                prop_assert!(
                    in_order || !spec.flows[flow].others.is_empty(),
                    "the order of packets"
                );
                self.last_delivered[flow] = Some(number);
            }
        }
        Ok(())
    }

    fn all_met(mut self) -> Result<(), TestCaseError> {
        for (offered, met) in self.offered.into_iter().zip(&mut self.met) {
            met.sort_unstable();
            prop_assert_eq!(&*met, &(0..offered).collect::<Vec<_>>());
        }
        Ok(())
    }
}

/// Checks that a segment is stored for each TCP packet in transit, if no packet is inside a station.
fn segments_fit(network: &Network, spec: &NetworkSpec) -> Result<(), TestCaseError> {
    if spec.station_delay > Span::ZERO {
        return Ok(());
    }
    let in_transit_by_flow =
        network.in_transit().into_iter().zip(network.acknowledgements_in_transit());
    let of_tcp =
        in_transit_by_flow.zip(&spec.flows).filter(|(_, of)| matches!(of.traffic, Traffic::Tcp(_)));
    let packets: u64 = of_tcp.map(|((there, back), _)| there + back).sum();
    prop_assert_eq!(network.segments_kept() as u64, packets);
    Ok(())
}

/// Checks that TCP never delivers more than its application has written, or than was sent.
fn tcp_counters(network: &Network, spec: &NetworkSpec, now: Time) -> Result<(), TestCaseError> {
    for (flow, of) in spec.flows.iter().enumerate() {
        let (Traffic::Tcp(tcp), Some(counters)) = (&of.traffic, network.tcp(FlowId::at(flow), now))
        else {
            continue;
        };
        prop_assert!(counters.retransmitted <= counters.segments);
        if spec.warm_up > Time::ZERO {
            continue;
        }
        let most = counters.segments * u64::from(tcp.tcp.mss_bytes);
        prop_assert!(counters.arrived_bytes <= most);
        if let Work::Transfer(Some(bytes)) = tcp.work {
            prop_assert!(counters.arrived_bytes <= bytes);
            let ended = counters.sessions.took.count;
            prop_assert!(ended == 0 || (ended, counters.arrived_bytes) == (1, bytes));
        }
        let sent = network.flow(FlowId::at(flow)).offered.packets;
        prop_assert!(counters.segments <= sent, "{} segments in {sent} packets", counters.segments);
    }
    Ok(())
}

/// Checks the counters of the queues in front of wires at the end.
fn wire_counters(sim: &mut Simulation<Network>, spec: &NetworkSpec) -> Result<(), TestCaseError> {
    let (now, network) = (sim.now(), &mut sim.model);
    for wire in 0..spec.wires.len() {
        let counters = network.queue(QueueId::Wire(WireId::at(wire)), now);
        prop_assert_eq!(network.waiting(QueueId::Wire(WireId::at(wire))), (0, 0));
        prop_assert_eq!(counters.waited.count, counters.taken.packets);
        if spec.warm_up == Time::ZERO {
            let out = counters.dropped.packets + counters.taken.packets;
            prop_assert_eq!(counters.offered.packets, out);
        }
    }
    Ok(())
}

/// Checks, for each queue of the network at any time, that the queue has dropped, passed on or still holds each offered
/// packet.
fn queues_balance(sim: &mut Simulation<Network>, spec: &NetworkSpec) -> Result<(), TestCaseError> {
    let (now, network) = (sim.now(), &mut sim.model);
    let stations = spec.wlan.stations.iter().enumerate();
    let of_stations = stations.flat_map(|(station, of)| {
        (0..of.queues.len()).map(move |category| {
            QueueId::Station(StationId(station as u32), AccessCategory::at(category))
        })
    });
    let wires = spec.wires.iter().enumerate().filter(|(_, wire)| wire.queue.is_some());
    for queue in of_stations.chain(wires.map(|(wire, _)| QueueId::Wire(WireId::at(wire)))) {
        let QueueCounters { offered, dropped, taken, .. } = network.queue(queue, now);
        let held = offered.packets - dropped.packets - taken.packets;
        prop_assert_eq!(held, network.waiting(queue).0, "{:?} at {}", queue, now);
    }
    Ok(())
}

/// Runs a network to its end, and checks its counters several times.
fn run(spec: &NetworkSpec, seed: Seed) -> Result<Simulation<Network>, TestCaseError> {
    let mut sim = Network::new(spec, seed).expect("what is drawn can be built");
    let mut fates = Fates::new(spec.flows.len());
    let mut known = vec![[0; 2]; spec.flows.len()];
    for step in 0..=30 {
        let at = Time::ZERO + Span::from_millis(step * 5);
        sim.run_until(at);
        if at == spec.warm_up {
            known = missing(&sim.model, spec);
        }
        prop_assert_eq!(missing(&sim.model, spec), known.clone(), "at {}", at);
        if spec.warm_up == Time::ZERO {
            queues_balance(&mut sim, spec)?;
        }
        segments_fit(&sim.model, spec)?;
        if at < STOP {
            fates.offer(&mut sim, spec);
        }
        fates.listen(&mut sim.model, spec)?;
    }
    run_out(&mut sim, PATIENCE);
    fates.listen(&mut sim.model, spec)?;
    fates.all_met()?;
    prop_assert_eq!(missing(&sim.model, spec), known);
    tcp_counters(&sim.model, spec, sim.now())?;
    wire_counters(&mut sim, spec)?;
    Ok(sim)
}

/// A clock that is sometimes late, by up to 10 ms.
struct Late {
    by: RandomStream,
}

impl Clock for Late {
    fn synchronize(&mut self, _at: Time) -> Span {
        self.by.span_below(Span::from_millis(10))
    }
}

/// When networks are compared.
const SEEN_AT: Time = Time::from_nanos(200_000_000);

/// Everything that a network reports of its first flows, at [`SEEN_AT`].
fn seen(network: &Network, flows: usize) -> String {
    let of = |flow: usize| {
        let acks = network.acknowledgements(FlowId::at(flow));
        (
            network.flow(FlowId::at(flow)),
            acks,
            network.tcp(FlowId::at(flow), SEEN_AT),
            network.delivered_ever(FlowId::at(flow)),
        )
    };
    let in_transit = &network.in_transit()[..flows];
    format!("{in_transit:?} {:?}", (0..flows).map(of).collect::<Vec<_>>())
}

/// Runs a network, in one go or in several pieces.
fn run_in_pieces(spec: &NetworkSpec, seed: u64, pieces: i64) -> Network {
    let mut sim = Network::new(spec, Seed(seed)).expect("what is drawn can be built");
    for piece in 1..=pieces {
        sim.run_until(Time::from_nanos(SEEN_AT.as_nanos() * piece / pieces));
    }
    sim.model
}

/// The network, with two more flows on a wired link of their own.
fn with_others(spec: &NetworkSpec, tcp: &TcpFlowSpec) -> NetworkSpec {
    let mut more = spec.clone();
    let wire = Hop::Wire(WireId::at(more.wires.len()));
    more.wires.push(WireSpec {
        name: "elsewhere".into(),
        rate: airqueue_core::DataRate::from_bps(3_000_000),
        delay: Span::from_millis(1),
        loss: 0.0,
        queue: None,
    });
    let mut flow = |name: &str, traffic: Traffic| {
        let (from, to) = (Node::Host(2), Node::Host(3));
        more.flows.push(FlowSpec {
            name: name.into(),
            from,
            to,
            route: vec![wire],
            traffic,
            dscp: 0,
            others: Vec::new(),
            spread: Span::ZERO,
        });
    };
    let source = airqueue_transport::traffic::SourceSpec {
        arrivals: airqueue_transport::traffic::Arrivals::Poisson(
            airqueue_core::DataRate::from_bps(1_000_000).unwrap(),
        ),
        size_bytes: 500,
        start: Time::ZERO,
        stop: STOP,
    };
    flow("packets", Traffic::Source { source, ecn: airqueue_core::Ecn::NotEct });
    flow("segments", Traffic::Tcp(Box::new(TcpFlowSpec { back: vec![wire], ..tcp.clone() })));
    more
}

proptest! {
    #![proptest_config(crate::random_networks::cases(300))]

    #[test]
    fn a_random_network_keeps_every_rule(spec in wired_networks(), seed: u64) {
        let Simulation { model: network, queue, .. } = run(&spec, Seed(seed))?;
        prop_assert_eq!(queue.next_at(), None, "events are pending");
        prop_assert_eq!(network.in_transit(), vec![0; spec.flows.len()]);
        prop_assert_eq!(network.acknowledgements_in_transit(), vec![0; spec.flows.len()]);
        prop_assert_eq!(network.segments_kept(), 0);
    }
}

proptest! {
    #![proptest_config(crate::random_networks::cases(100))]

    #[test]
    fn stopping_in_between_changes_nothing(
        spec in wired_networks(), seed: u64, pieces in 2i64..500,
    ) {
        let flows = spec.flows.len();
        let at_once = seen(&run_in_pieces(&spec, seed, 1), flows);
        prop_assert_eq!(seen(&run_in_pieces(&spec, seed, pieces), flows), at_once);
    }

    /// Changes of stations that are simulated as one are those of stations on their own.
    #[test]
    fn simulating_stations_together_changes_no_change(spec in wired_networks(), seed: u64) {
        let mut apart = spec.clone();
        apart.wlan.together = usize::MAX;
        let flows = spec.flows.len();
        let together = seen(&run_in_pieces(&spec, seed, 1), flows);
        prop_assert_eq!(seen(&run_in_pieces(&apart, seed, 1), flows), together);
    }

    /// Lateness is only recorded and moves nothing: every event happens at its own time.
    #[test]
    fn a_clock_that_is_late_changes_nothing(spec in wired_networks(), seed: u64) {
        let flows = spec.flows.len();
        let in_virtual_time = run_in_pieces(&spec, seed, 1);
        let clock = Late { by: Seed(seed).stream("late") };
        let mut late = Network::on_clock(&spec, Seed(seed), clock).expect("the same network");
        late.run_until(SEEN_AT);
        prop_assert!(late.worst_lateness() > Span::ZERO);
        prop_assert_eq!(seen(&late.model, flows), seen(&in_virtual_time, flows));
    }

    #[test]
    fn flows_elsewhere_change_nothing(
        spec in wired_networks(), (_, others) in wired_transfers(), seed: u64,
    ) {
        let flows = spec.flows.len();
        let alone = seen(&run_in_pieces(&spec, seed, 1), flows);
        let both = run_in_pieces(&with_others(&spec, &others[0]), seed, 1);
        prop_assert_eq!(seen(&both, flows), alone);
    }

    /// Despite all drops of queues, all written data arrive exactly once.
    #[test]
    fn transfers_arrive_whole((wires, transfers) in wired_transfers(), seed: u64) {
        let nobody = cells::cell(cells::b(), vec![cells::dcf(&cells::b().phy)]);
        let mut spec = nobody.network();
        let route: Vec<Hop> = (0..wires.len()).map(WireId::at).map(Hop::Wire).collect();
        let flow = |tcp: &TcpFlowSpec| FlowSpec {
            name: "transfer".into(),
            from: Node::Host(0),
            to: Node::Host(1),
            route: route.clone(),
            traffic: Traffic::Tcp(Box::new(tcp.clone())),
            dscp: 0,
            others: Vec::new(),
            spread: Span::ZERO,
        };
        spec.flows.extend(transfers.iter().map(flow));
        spec.wires = wires;
        let mut sim = Network::new(&spec, Seed(seed)).unwrap();
        sim.run_until(cells::at(100_000));
        let network = &sim.model;
        for (flow, tcp) in transfers.iter().enumerate() {
            let counters = network.tcp(FlowId::at(flow), sim.now()).unwrap();
            prop_assert_eq!(Work::Transfer(Some(counters.arrived_bytes)), tcp.work);
            prop_assert_eq!(counters.sessions.took.count, 1);
        }
        prop_assert_eq!(network.segments_kept(), 0);
        prop_assert_eq!(sim.queue.next_at(), None, "events are pending");
    }
}
