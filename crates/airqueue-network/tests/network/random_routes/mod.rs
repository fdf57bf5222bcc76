//! Random routes, over the air of a random network and through wires, and their flows.

use super::cells::{self, CellSpec};
use super::random_networks::{STOP, networks, queue};
use airqueue_core::keys::Word;
use airqueue_core::{DataRate, Ecn, Limit, Span, Time};
use airqueue_network::network::{
    AlternateRoute, Change, FlowSpec, Hop, NetworkSpec, Node, RttKind, TcpFlowSpec, TimedChange,
    Traffic, WireSpec, Work,
};
use airqueue_network::wlan::HopSpec;
use airqueue_network::{FlowId, HopId, RouteId, WireId};
use airqueue_qdisc::{DropFrom, DropTailParams, QueueSpec};
use airqueue_transport::tcp::{AckEvery, AckTimer, CongestionName, Opening, TcpSpec};
use airqueue_transport::traffic::{Arrivals, FilesSpec, Law, SizeDistribution, SourceSpec};
use airqueue_wifi::mac::Txop;
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// A random network with more features: wires, and flows over several hops, some with TCP. Rates, limits, routes,
/// TXOPs, queues and wires change during the run, and stations go out of reach and come back. Sources stop at [`STOP`].
pub fn wired_networks() -> impl Strategy<Value = NetworkSpec> {
    let wires = prop::collection::vec(wire(), 1..=6);
    let flows = prop::collection::vec(flow(), 1..=8);
    let delay = select(vec![Span::ZERO, Span::ZERO, Span::from_micros(25)]);
    let all = (networks(), wires, flows, delay, prop::collection::vec(change(), 0..6));
    all.prop_map(|(cell, wires, flows, station_delay, changes)| {
        let mut network = cell.network();
        network.station_delay = station_delay;
        network.wires.extend(wires.into_iter().enumerate().map(|(at, wire)| WireSpec {
            name: format!("wire {at}"),
            // A rate on the first wire makes all routes take time.
            rate: wire.rate.or((at == 0).then_some(rate(2000))),
            ..wire
        }));
        for (at, flow) in flows.iter().enumerate() {
            add(&mut network, &cell, at, flow);
        }
        network.changes = changes.iter().filter_map(|change| fitted(change, &network)).collect();
        // A queue that replaces another one may have no limits of flows.
        if network.changes.iter().any(|of| matches!(of.change, Change::Queue { .. })) {
            network.changes.retain(|of| !matches!(of.change, Change::HopLimit { .. }));
        }
        // All stations are back in the end: nothing waits for ever.
        let stations = (0..network.wlan.stations.len() as u32).map(StationId);
        let back = stations.map(|station| Change::Away { station, away: false });
        network.changes.extend(back.map(|change| TimedChange { at: STOP, change }));
        network
    })
}

/// A change whose target is still to be chosen.
#[derive(Clone, Debug)]
struct Draft {
    at: Time,
    what: usize,
    place: [Index; 2],
    limit: Limit,
    queue: QueueSpec,
}

fn change() -> impl Strategy<Value = Draft> {
    let limit = select(vec![Limit::Packets(0), Limit::Packets(2), Limit::Bytes(5000)]);
    (0..STOP.as_nanos(), 0usize..13, any::<[Index; 2]>(), limit, queue()).prop_map(
        |(at, what, place, limit, queue)| {
            let at = Time::from_nanos(at);
            Draft { at, what, place, limit, queue }
        },
    )
}

/// The change, if the network has a target for it.
fn fitted(draft: &Draft, network: &NetworkSpec) -> Option<TimedChange> {
    let Draft { at, what, place: [first, second], limit, queue } = *draft;
    let wlan = &network.wlan;
    if what > 10 {
        let station = first.index(wlan.stations.len());
        let categories = &wlan.stations[station].mac.categories;
        let ac = AccessCategory::at(second.index(categories.len()));
        let (station, number) = (StationId(station as u32), second.index(15) as u32);
        let change = match what {
            11 => Change::Aifsn { station, ac, aifsn: 1 + number },
            _ => Change::Windows { station, ac, w_min: 1 << (number % 6), w_max: 64 },
        };
        return Some(TimedChange { at, change });
    }
    if what > 9 {
        let at_station = first.index(wlan.stations.len());
        let categories = &wlan.stations[at_station].mac.categories;
        let ac = AccessCategory::at(second.index(categories.len()));
        if categories[ac.index()].txop == Txop::Flows {
            return None;
        }
        let txop = match limit {
            Limit::Packets(packets) => Txop::Packets(packets.max(1)),
            Limit::Bytes(_) => Txop::Time(Span::from_millis(3)),
        };
        let station = StationId(at_station as u32);
        return Some(TimedChange { at, change: Change::Txop { station, ac, txop } });
    }
    if what > 8 {
        let station = first.index(wlan.stations.len());
        let ac = AccessCategory::at(second.index(wlan.stations[station].queues.len()));
        let station = StationId(station as u32);
        return Some(TimedChange { at, change: Change::Queue { station, ac, queue } });
    }
    if what > 7 {
        let station = StationId(first.index(wlan.stations.len()) as u32);
        let away = second.index(2) == 0;
        return Some(TimedChange { at, change: Change::Away { station, away } });
    }
    if what > 5 {
        let wire = WireId::at(first.index(network.wires.len().max(1)));
        let rated = network.wires.get(wire.index())?.rate.is_some();
        let change = match what {
            6 if rated => Change::WireRate { wire, rate: rate(200 + second.index(20_000) as u64) },
            _ => {
                Change::WireDelay { wire, delay: Span::from_nanos(second.index(20_000_000) as i64) }
            }
        };
        return Some(TimedChange { at, change });
    }
    if what > 3 {
        let flow = first.index(network.flows.len());
        let route = second.index(1 + network.flows[flow].others.len());
        return Some(TimedChange {
            at,
            change: Change::Route { flow: FlowId::at(flow), route: RouteId::at(route) },
        });
    }
    let station = first.index(wlan.stations.len());
    let of_station = Change::Limit {
        station: StationId(station as u32),
        ac: AccessCategory::at(second.index(wlan.stations[station].queues.len())),
        limit,
    };
    if what == 0 || wlan.hops.is_empty() {
        return Some(TimedChange { at, change: of_station });
    }
    let number = first.index(wlan.hops.len());
    let hop = &wlan.hops[number];
    let queue = &wlan.stations[hop.from.index()].queues[hop.ac.index()];
    let apart = queue.discipline.facts().apart.is_some();
    let phy = &wlan.radio.phy;
    let bytes = hop.size_bytes + hop.overhead_bytes;
    let rates: Vec<_> = phy
        .rates()
        .map(|(rate, _)| rate)
        .filter(|&rate| bytes <= phy.max_mpdu_bytes(rate))
        .collect();
    let change = match what {
        1 if apart => Change::HopLimit { hop: HopId::at(number), limit },
        2 | 3 if hop.rate_control.is_none() => {
            Change::Rate { hop: HopId::at(number), rate: *second.get(&rates) }
        }
        _ => return None,
    };
    Some(TimedChange { at, change })
}

/// Wires in a row, and a transfer through them and back.
pub fn wired_transfers() -> impl Strategy<Value = (Vec<WireSpec>, Vec<TcpFlowSpec>)> {
    let wires = prop::collection::vec(wire(), 2..=5);
    (wires, prop::collection::vec((tcp(), 1u64..200_000), 1..=4)).prop_map(|(mut wires, flows)| {
        wires[0].rate.get_or_insert(rate(2000));
        // With drop-tail queues the first packets always arrive.
        for queue in wires.iter_mut().filter_map(|wire| wire.queue.as_mut()) {
            *queue = QueueSpec::new(airqueue_core::Limit::Packets(3));
        }
        let (first, last) = (Hop::Wire(WireId(0)), Hop::Wire(WireId::at(wires.len() - 1)));
        let flow = |(tcp, bytes)| TcpFlowSpec {
            back: vec![last, first],
            work: Work::Transfer(Some(bytes)),
            stop: Time::MAX,
            ..tcp
        };
        (wires, flows.into_iter().map(flow).collect())
    })
}

fn rate(kbps: u64) -> DataRate {
    DataRate::from_bps(kbps * 1000).unwrap()
}

fn wire() -> impl Strategy<Value = WireSpec> {
    let rates = prop::option::of((200u64..50_000).prop_map(rate));
    let delay = prop_oneof![Just(0), 1i64..20_000_000].prop_map(Span::from_nanos);
    let loss = prop_oneof![2 => Just(0.0), 1 => 0.0..=0.02];
    (rates, delay, loss, prop::option::of(queue())).prop_map(|(rate, delay, loss, queue)| {
        let kept = |queue: QueueSpec| match queue.discipline.facts().shares_airtime {
            // A wire reports no airtime.
            true => {
                let discipline = DropTailParams { drop_from: DropFrom::Head }.into();
                QueueSpec { discipline, ..queue }
            }
            false => queue,
        };
        let queue = queue.filter(|_| rate.is_some()).map(kept);
        WireSpec { name: String::new(), rate, delay, loss, queue }
    })
}

/// A flow whose hops are still to be chosen: `false` is a wire.
#[derive(Clone, Debug)]
struct Flow {
    there: Vec<(bool, Index)>,
    back: Vec<(bool, Index)>,
    /// `None`: packets are offered from outside.
    source: Option<SourceSpec>,
    ecn: Ecn,
    tcp: Option<TcpFlowSpec>,
    spread: Span,
    /// Another route, in both directions.
    other: Option<[Vec<(bool, Index)>; 2]>,
}

fn flow() -> impl Strategy<Value = Flow> {
    let hops = || prop::collection::vec(any::<(bool, Index)>(), 1..=4);
    let arrivals = prop_oneof![
        Just(None),
        (50u64..5000).prop_map(|kbps| Some(Arrivals::Constant(rate(kbps)))),
        (50u64..5000).prop_map(|kbps| Some(Arrivals::Poisson(rate(kbps)))),
    ];
    let size = select(vec![40u32, 250, 1000]);
    let spread = select(vec![0, 40]).prop_map(Span::from_millis);
    let other = prop::option::of([hops(), hops()]);
    let routes = (hops(), hops(), other);
    (routes, arrivals, size, 0i64..60, prop::option::of(tcp()), spread).prop_map(
        |((there, back, other), arrivals, size_bytes, start_ms, tcp, spread)| {
            let start = Time::ZERO + Span::from_millis(start_ms);
            let source =
                arrivals.map(|arrivals| SourceSpec { arrivals, size_bytes, start, stop: STOP });
            let ecn = if size_bytes == 250 { Ecn::Ect } else { Ecn::NotEct };
            Flow { there, back, source, ecn, tcp, spread, other }
        },
    )
}

fn tcp() -> impl Strategy<Value = TcpFlowSpec> {
    let kinds = select(vec![TcpSpec::standard(900), TcpSpec::linux(500), TcpSpec::ns2(1000)]);
    let timer = select(vec![AckTimer::Segment, AckTimer::Ticks]);
    let every = select(vec![AckEvery::Fixed(1), AckEvery::Fixed(3), AckEvery::Dynamic([2, 5, 9])]);
    let congestion = select(CongestionName::ALL);
    let opening = select(vec![Opening::BySender, Opening::ByReceiver, Opening::Open]);
    let files = FilesSpec {
        mean_bytes: 8000,
        law: SizeDistribution::Exponential,
        unit_bytes: 1,
        think: Span::from_millis(3),
        think_law: Law::Exponential,
    };
    let work = select(vec![
        Work::Transfer(None),
        Work::Transfer(Some(1)),
        Work::Transfer(Some(30_000)),
        Work::Files(files),
        Work::Files(FilesSpec { think: Span::ZERO, ..files }),
    ]);
    let reports = select(vec![None, Some(RttKind::Base), Some(RttKind::Smoothed)]);
    let all = (kinds, (every, timer), congestion, opening, any::<[bool; 3]>(), 1u32..40);
    (all, work, reports, 0i64..60).prop_map(|(all, work, reports, start_ms)| {
        let (mut tcp, (every, timer), congestion, opening, [sack, ecn, closes], window) = all;
        (tcp.receiver.acknowledge, tcp.receiver.timer) = (every, timer);
        tcp.sender.congestion = congestion;
        tcp.sender.window_segments = window;
        tcp.sender.rto.shortest = Span::from_millis(20);
        (tcp.opening, tcp.sack, tcp.ecn) = (opening, sack, ecn);
        congestion.requirements().meet(&mut tcp);
        TcpFlowSpec {
            tcp,
            back: Vec::new(),
            lanes: Vec::new(),
            work,
            closes: closes && opening != Opening::Open,
            start: Time::ZERO + Span::from_millis(start_ms),
            stop: STOP,
            reports,
        }
    })
}

/// Adds a flow, with a hop for each time that the flow is on the air.
fn add(network: &mut NetworkSpec, cell: &CellSpec, at: usize, flow: &Flow) {
    let mut hops = |route: &[(bool, Index)]| -> Vec<Hop> {
        let hop = |&(air, index): &(bool, Index)| {
            if !air || cell.flows.is_empty() {
                return Hop::Wire(WireId::at(index.index(network.wires.len())));
            }
            let like: &cells::Flow = index.get(&cell.flows);
            let name = format!("hop of {at}");
            network.wlan.hops.push(HopSpec { name, size_bytes: 1500, ..like.hop() });
            Hop::Air(HopId::at(network.wlan.hops.len() - 1))
        };
        route.iter().map(hop).collect()
    };
    let mut route = hops(&flow.there);
    let mut others = Vec::new();
    if let Some([there, back]) = &flow.other {
        let back = flow.tcp.as_ref().map_or_else(Vec::new, |_| hops(back));
        others.push(AlternateRoute { route: hops(there), back });
    }
    let ecn = flow.ecn;
    let traffic = match (&flow.tcp, flow.source) {
        (Some(tcp), _) => {
            route.push(Hop::Wire(WireId(0)));
            Traffic::Tcp(Box::new(TcpFlowSpec { back: hops(&flow.back), ..tcp.clone() }))
        }
        (None, None) => Traffic::Offered { ecn },
        (None, Some(source)) => Traffic::Source { source, ecn },
    };
    let (from, to) = (Node::Host(0), Node::Host(1));
    let (name, spread) = (format!("route {at}"), flow.spread);
    network.flows.push(FlowSpec {
        name,
        from,
        to,
        route,
        others,
        traffic,
        dscp: at as u8 % 64,
        spread,
    });
}
