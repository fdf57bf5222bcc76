//! Random networks: reach (also in one direction only), stations and traffic are drawn at random. Everything that can
//! be described occurs.

use super::cells::{CellSpec, Flow, at};
use airqueue_core::keys::Word;
use airqueue_core::{DataRate, Ecn, Limit, NeighbourFacts, Payload, Seed, Span, Time};
use airqueue_network::FlowId;
use airqueue_network::counters::HopCounters;
use airqueue_network::network::{Network, OfferedPacket};
use airqueue_network::run_loop::Simulation;
use airqueue_network::wlan::tap::Recording;
use airqueue_network::wlan::{RateControlSpec, RttReport, SignalsSpec, StationSpec};
use airqueue_qdisc::{
    AckFilter, AdaptiveParams, CakeParams, CodelParams, Discipline, DisciplineName, DropFrom,
    DropTailParams, DrrParams, FqCodelParams, Isolation, Mac80211Params, PieParams, QueuePer,
    QueueSpec, RdqmParams, RedParams, SfqParams,
};
use airqueue_transport::traffic::{Arrivals, SourceSpec};
use airqueue_wifi::contention::CountdownRule;
use airqueue_wifi::mac::{Aggregation, Behaviour, CategoryConfig, MacConfig, Radio, Txop};
use airqueue_wifi::medium::{Capture, FrameErrors, Level, Link, Reach, StationId};
use airqueue_wifi::phy::{
    AccessCategory, Band, Capability, Preamble, Protection, Slot, Width, dsss, erp, he, ht, ofdm,
    vht,
};
use airqueue_wifi::rate_control::RateControlName;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// So many cases. A finding is told after two minutes at the latest: to shrink a large network can take hours.
pub fn cases(number: u32) -> ProptestConfig {
    let mut config = ProptestConfig::with_cases(number);
    config.failure_persistence = None;
    config.max_shrink_time = 120_000;
    config
}

/// Of each flow, so many packets: offered, delivered, dropped, given up, and in transit.
pub fn counts(model: &Network, flows: usize) -> Vec<[u64; 5]> {
    let in_transit = model.in_transit();
    let one = |(flow, &left): (usize, &u64)| {
        let of = model.flow(FlowId(flow as u32));
        let [dropped, given_up] = [of.dropped, of.given_up].map(|count| count.packets);
        [of.offered.packets, of.delivered.packets, dropped, given_up, left]
    };
    (0..flows).zip(&in_transit).map(one).collect()
}

/// Two seconds of a network. `tapped`: a tap listens.
pub fn simulated(spec: &CellSpec, seed: u64, tapped: bool) -> Simulation<Network> {
    let mut sim = spec.start(Seed(seed));
    if tapped {
        sim.model.wlan_mut().plug(Box::new(Recording::default()));
    }
    sim.run_until(at(2));
    sim
}

/// When the last source stops.
pub const STOP: Time = Time::from_nanos(150_000_000);

/// Noise in the receivers' bandwidth; the powers below lie around it.
const NOISE_W: f64 = 1e-13;
const POWERS_W: [f64; 5] = [1e-13, 1e-12, 1e-11, 3e-11, 1e-9];

/// A network of 2 to 7 stations, the sources of which stop at [`STOP`].
pub fn networks() -> impl Strategy<Value = CellSpec> {
    (2usize..=7).prop_flat_map(|stations| {
        (
            radio(),
            medium(stations),
            prop::collection::vec(station(), stations),
            prop::collection::vec(flow(), 1..=10),
            select(vec![Time::ZERO, Time::from_nanos(30_000_000)]),
        )
            .prop_map(|(radio, medium, stations, flows, warm_up)| {
                assemble(radio, medium, stations, &flows, warm_up)
            })
    })
}

fn radio() -> impl Strategy<Value = Radio> {
    let behaviours = vec![Behaviour::Standard, Behaviour::Ns3, Behaviour::Ns2];
    (0..8, select(behaviours), any::<bool>()).prop_map(|(layer, behaviour, one_rate)| {
        let rules = behaviour.rules();
        let conventions = rules.conventions;
        let phy = match layer {
            0 => dsss(Preamble::Long, conventions),
            1 => dsss(Preamble::Short, conventions),
            2 => ofdm(conventions),
            3 => erp(Slot::Short, Preamble::Long, conventions),
            4 => erp(Slot::Long, Preamble::Short, conventions),
            5 => ht(Band::Ghz5, Capability { width: Width::MHZ_40, streams: 2 }, conventions)
                .unwrap(),
            6 => vht(Capability { width: Width::MHZ_80, streams: 2 }, conventions).unwrap(),
            _ => he(Band::Ghz5, Capability { width: Width::MHZ_20, streams: 1 }, conventions)
                .unwrap(),
        };
        let old = phy.rates().filter(|&(index, _)| phy.mcs(index).is_none());
        let slowest = old.map(|(_, rate)| rate).min().unwrap();
        let phy = if one_rate { phy.with_control_rate(slowest).unwrap() } else { phy };
        Radio::new(phy, rules)
    })
}

/// Reach, with capture and errors that match it.
type Medium = (Reach, Option<Capture>, FrameErrors);

fn medium(stations: usize) -> impl Strategy<Value = Medium> {
    use Level::{Decodable, Interference, Sensed};
    let levels = vec![None, Some(Interference), Some(Sensed), Some(Decodable), Some(Decodable)];
    let pairs = stations * stations;
    let level = prop::collection::vec(select(levels), pairs);
    let power = prop::collection::vec(select(POWERS_W.to_vec()), pairs);
    // In three of four networks most stations hear each other; in all of them at least two stations decode each other.
    let dense = prop::collection::vec(prop::bool::weighted(0.7), pairs);
    (level, power, dense, 0..4, any::<bool>(), 0..4, 0..4).prop_map(
        move |(level, power, dense, density, with_power, capture, errors)| {
            let mut links = Vec::new();
            for pair in 0..pairs {
                let (from, to) = (pair / stations, pair % stations);
                let (back, first) = (to * stations + from, from + to == 1);
                let near = match density {
                    0 => false,
                    1 => dense[pair],
                    // In both directions or in none.
                    _ => dense[pair.min(back)],
                };
                let level = if near || first { Some(Decodable) } else { level[pair] };
                if let Some(level) = level.filter(|_| from != to) {
                    let [from, to] = [from, to].map(|id| StationId(id as u32));
                    let power_w = with_power.then_some(power[pair]);
                    links.push(Link { from, to, level, power_w });
                }
            }
            let with_power = links.iter().any(|link| link.power_w.is_some());
            let window = Span::from_micros(4 * i64::from(errors > 1));
            let capture = match capture {
                0 => None,
                1 => Some(Capture::None),
                2 if with_power => {
                    Some(Capture::Sinr { threshold_db: 6.0, noise_w: NOISE_W, window })
                }
                _ => Some(Capture::NS2),
            };
            let errors = match errors {
                0 => FrameErrors::None,
                1 => FrameErrors::PerFrame(0.2),
                2 if with_power => FrameErrors::BySnr,
                _ => FrameErrors::PerBit(3e-5),
            };
            (Reach::from_links(stations, &links).unwrap(), capture, errors)
        },
    )
}

/// A MAC whose protection rate is still to be chosen from the layer.
type Station = (MacConfig, Option<Index>, QueueSpec);

fn station() -> impl Strategy<Value = Station> {
    let protection = vec![Protection::None, Protection::CtsToSelf, Protection::RtsCts];
    let threshold = vec![u32::MAX, u32::MAX, 300, 0];
    let mac = (
        prop::collection::vec(category(), 1..=4),
        select(threshold),
        select(protection),
        (1u32..=7, 1u32..=4),
        prop::option::weighted(0.8, aggregation()),
        select(vec![Span::from_millis(3), Span::from_millis(30), MacConfig::LIFETIME]),
    );
    (mac, any::<Option<Index>>(), queue()).prop_map(|(mac, rate, queue)| {
        let (categories, rts_threshold_bytes, protection, limits, aggregation, lifetime) = mac;
        let config = MacConfig {
            experimental: true,
            rts_threshold_bytes,
            protection,
            short_retry_limit: limits.0,
            long_retry_limit: limits.1,
            aggregation,
            lifetime,
            ..MacConfig::new(categories)
        };
        (config, rate, queue)
    })
}

fn aggregation() -> impl Strategy<Value = Aggregation> {
    let (bytes, window) = (vec![2000, 10_000, u32::MAX], vec![1, 2, 5, 64, u32::MAX]);
    (select(bytes), select(window))
        .prop_map(|(max_bytes, window)| Aggregation { max_bytes, window })
}

/// Whether a flow's packets may share frames.
pub fn is_aggregated(spec: &CellSpec, flow: &Flow) -> bool {
    spec.stations[flow.from.index()].mac.aggregation.is_some()
        && spec.radio.phy.mcs(flow.rate).is_some()
}

fn category() -> impl Strategy<Value = CategoryConfig> {
    let txop = prop_oneof![
        2 => Just(Txop::One),
        1 => (32i64..8160).prop_map(|us| Txop::Time(Span::from_micros(us))),
        1 => (1u32..6).prop_map(Txop::Packets),
        1 => Just(Txop::Flows),
    ];
    let rules = vec![CountdownRule::Freeze, CountdownRule::Edca];
    (1u32..=9, select(vec![1u32, 2, 4, 15, 16, 32]), 0u32..=5, txop, select(rules)).prop_map(
        |(aifsn, w_min, doublings, txop, countdown)| CategoryConfig {
            aifsn,
            w_min,
            w_max: w_min << doublings,
            txop,
            countdown,
        },
    )
}

/// A queue, sometimes without room.
pub fn queue() -> impl Strategy<Value = QueueSpec> {
    let limit = select(vec![
        Limit::Packets(1),
        Limit::Packets(2),
        Limit::Packets(50),
        Limit::Bytes(4000),
        Limit::Packets(u32::MAX),
    ]);
    let limit = prop_oneof![12 => limit, 1 => Just(Limit::Packets(0))];
    let ring = select(vec![0usize, 0, 1, 5]);
    (limit, ring, discipline()).prop_map(|(limit, ring_packets, discipline)| QueueSpec {
        ring_packets,
        discipline,
        ..QueueSpec::new(limit)
    })
}

/// All disciplines, many with targets that these short runs exceed.
fn discipline() -> impl Strategy<Value = Discipline> {
    let codel = CodelParams {
        target: Span::from_micros(100),
        interval: Span::from_millis(2),
        mtu: 0,
        ..CodelParams::default()
    };
    let pie = PieParams {
        target: Span::from_micros(100),
        update: Span::from_millis(1),
        max_burst: Span::from_millis(1),
        mean_packet: 500,
        alpha: 12.5,
        beta: 125.0,
        ..PieParams::default()
    };
    let filtering = |ack_filter| {
        let isolation = Isolation::Blind;
        Discipline::Cake(CakeParams { ack_filter, isolation, ..CakeParams::default() })
    };
    let drr = |by| DrrParams { by, quantum: 500, ..DrrParams::default() };
    let given = [
        Discipline::DropTail(DropTailParams { drop_from: DropFrom::Tail }),
        Discipline::DropTail(DropTailParams { drop_from: DropFrom::Tail }),
        Discipline::DropTail(DropTailParams { drop_from: DropFrom::Head }),
        Discipline::Codel(codel),
        Discipline::FqCodel(FqCodelParams { codel, flows: 4, ..FqCodelParams::default() }),
        Discipline::Red(RedParams { min: 2, max: 6, weight: 0.2, ..RedParams::default() }),
        Discipline::Pie(pie),
        Discipline::Sfq(SfqParams {
            depth: 5,
            divisor: 4,
            perturb: Some(Span::from_millis(3)),
            ..SfqParams::default()
        }),
        Discipline::Cake(CakeParams { rtt: Span::from_millis(2), ..CakeParams::default() }),
        Discipline::Cake(CakeParams {
            rate: DataRate::from_bps(2_000_000),
            ..CakeParams::default()
        }),
        filtering(AckFilter::AckFilter),
        filtering(AckFilter::AckFilterAggressive),
        Discipline::Drr(drr(QueuePer::Flow)),
        Discipline::Drr(drr(QueuePer::Link)),
        Discipline::Mac80211(Mac80211Params { codel, flows: 2, ..Mac80211Params::default() }),
        Discipline::Mac80211(Mac80211Params { codel, aql: None, ..Mac80211Params::default() }),
        Discipline::Rdqm(RdqmParams { expiry: Span::from_millis(5), ..RdqmParams::default() }),
        Discipline::Adaptive(AdaptiveParams { floor_bytes: 4000, ..AdaptiveParams::default() }),
    ];
    // Each registered discipline is among them, with its default parameters.
    select(
        given
            .into_iter()
            .chain(DisciplineName::all().map(DisciplineName::by_itself))
            .collect::<Vec<_>>(),
    )
}

/// A flow whose ends, queue and rate are still to be chosen.
#[derive(Clone, Copy, Debug)]
struct Draft {
    pair: Index,
    queue: Index,
    rate: Index,
    algorithm: Option<RateControlName>,
    source: SourceSpec,
    offered: bool,
}

fn flow() -> impl Strategy<Value = Draft> {
    let rate = |kbps: u64| DataRate::from_bps(kbps * 1000).unwrap();
    let arrivals = prop_oneof![
        Just(Some(Arrivals::Saturated)),
        (50u64..5000).prop_map(move |kbps| Some(Arrivals::Constant(rate(kbps)))),
        (50u64..5000).prop_map(move |kbps| Some(Arrivals::Poisson(rate(kbps)))),
        // Offered from outside.
        Just(None),
    ];
    let size = select(vec![40u32, 250, 1000, 1500]);
    let algorithm = prop_oneof![
        2 => Just(None),
        3 => select(RateControlName::ALL).prop_map(Some),
    ];
    (any::<[Index; 3]>(), algorithm, arrivals, size, 0i64..60).prop_map(
        |([pair, queue, rate], algorithm, arrivals, size_bytes, start_ms)| {
            let start = Time::ZERO + Span::from_millis(start_ms);
            let offered = arrivals.is_none();
            let arrivals = arrivals.unwrap_or(Arrivals::Saturated);
            let source = SourceSpec { arrivals, size_bytes, start, stop: STOP };
            Draft { pair, queue, rate, algorithm, source, offered }
        },
    )
}

/// A category that draws one of two backoffs at least where data after a CTS to oneself need an idle medium, as in ns-2, which
/// draws one value fewer than the window has: two stations that always begin at the same time do so for ever, since such a
/// failure counts no retry.
fn at_odds(category: &CategoryConfig, mac: &MacConfig, radio: &Radio) -> CategoryConfig {
    let at_once = mac.protection == Protection::CtsToSelf && radio.rules.answers_need_idle;
    let w_max = if at_once { category.w_max.max(3) } else { category.w_max };
    CategoryConfig { w_max, ..*category }
}

fn assemble(
    radio: Radio,
    (reach, capture, errors): Medium,
    stations: Vec<Station>,
    flows: &[Draft],
    warm_up: Time,
) -> CellSpec {
    let phy = &radio.phy;
    let rate_at = |index: &Index| index.get(&phy.rates().collect::<Vec<_>>()).0;
    let stations: Vec<StationSpec> = stations
        .into_iter()
        .enumerate()
        .map(|(id, (mac, rate, queue))| StationSpec {
            name: format!("station {id}"),
            queues: vec![queue; mac.categories.len()],
            mac: MacConfig {
                protection_rate: rate.as_ref().map(rate_at),
                categories: mac.categories.iter().map(|of| at_odds(of, &mac, &radio)).collect(),
                ..mac
            },
            airtime_weight: NeighbourFacts::USUAL_WEIGHT,
        })
        .collect();
    let format = |rate| phy.mcs(rate).map(|mcs| mcs.format);
    let like = |rate| {
        phy.rates().map(|(other, _)| other).filter(|&other| format(other) == format(rate)).collect()
    };
    let pairs = understood(&reach);
    let flow = |(id, flow): (usize, &Draft)| {
        let (from, to) = *flow.pair.get(&pairs);
        Flow {
            name: format!("flow {id}"),
            from,
            to,
            ac: AccessCategory::at(flow.queue.index(stations[from.index()].queues.len())),
            rate: rate_at(&flow.rate),
            rate_control: flow
                .algorithm
                .map(|algorithm| RateControlSpec { algorithm, rates: like(rate_at(&flow.rate)) }),
            overhead_bytes: 36,
            source: flow.source,
            offered: flow.offered,
            ecn: if flow.source.size_bytes > 1000 { Ecn::Ect } else { Ecn::NotEct },
            report: report(flow.source.size_bytes),
        }
    };
    let flows = match pairs[..] {
        [] => Vec::new(),
        _ => flows.iter().enumerate().map(flow).collect(),
    };
    let noise_w = NOISE_W;
    // Two, so that groups occur with few stations.
    let together = 2;
    let (beacons, sleepers) = (Vec::new(), Vec::new());
    CellSpec {
        radio,
        reach,
        capture,
        errors,
        noise_w,
        stations,
        flows,
        beacons,
        sleepers,
        absences: Vec::new(),
        associations: Vec::new(),
        signals: SignalsSpec::default(),
        warm_up,
        together,
    }
}

/// Receivers of small packets report nothing; receivers of large packets report a smoothed round-trip time.
fn report(size_bytes: u32) -> Option<RttReport> {
    let base = Span::from_millis(20);
    (size_bytes > 40).then_some(RttReport { base, smoothed: size_bytes > 1000 })
}

/// All pairs that decode each other.
fn understood(reach: &Reach) -> Vec<(StationId, StationId)> {
    let decodes = |from, to| reach.signal(from, to).is_some_and(|signal| signal.decodable());
    let ids = || (0..reach.stations() as u32).map(StationId);
    ids()
        .flat_map(|from| ids().map(move |to| (from, to)))
        .filter(|&(from, to)| from != to && decodes(from, to) && decodes(to, from))
        .collect()
}

/// At least one packet leaves a network within this time, unless the network is stuck.
pub const PATIENCE: Span = Span::from_secs(1_000);

/// Runs a network whose sources have stopped until nothing happens any more, or until no packet has left for `patience`. No
/// fixed time is long enough: packets under a block ack agreement are given up at the end of their lifetime, which begins
/// when the MAC takes them in hand. Where no block ack arrives and each frame carries one packet, a queue of 2000 packets takes
/// 2000 lifetimes.
pub fn run_out(sim: &mut Simulation<Network>, patience: Span) {
    let left = |sim: &Simulation<Network>| sim.model.in_transit().iter().sum::<u64>();
    loop {
        let before = left(sim);
        sim.run_until(sim.now() + patience);
        if sim.queue.is_empty() || left(sim) >= before {
            return;
        }
    }
}

/// By how much each flow's counters differ from the packets in transit: zero, if counting began with the first packet.
pub fn missing(network: &Network, flows: usize) -> Vec<i128> {
    let in_transit = network.in_transit();
    let missing = |flow: usize| {
        let HopCounters { offered, dropped, given_up, delivered, .. } =
            network.flow(FlowId::at(flow));
        let out =
            [dropped, given_up, delivered].map(|t| i128::from(t.packets)).iter().sum::<i128>();
        i128::from(in_transit[flow]) - (i128::from(offered.packets) - out)
    };
    (0..flows).map(missing).collect()
}

/// Offers occasional packets to the flows whose packets come from outside.
pub fn offer(sim: &mut Simulation<Network>, spec: &CellSpec) {
    let Simulation { model, queue, .. } = sim;
    for (id, flow) in spec.flows.iter().enumerate().filter(|(_, flow)| flow.offered) {
        let packet = OfferedPacket::new(flow.source.size_bytes, Payload::default());
        model.offer(FlowId::at(id), packet, queue);
    }
}

/// Runs a network to its end; packets from outside are offered every 5 ms. Whenever it stops, its packets balance.
pub fn run_balanced(sim: &mut Simulation<Network>, spec: &CellSpec) -> Result<(), TestCaseError> {
    let flows = spec.flows.len();
    let mut known = vec![0; flows];
    for step in 0..=30 {
        let at = Time::ZERO + Span::from_millis(step * 5);
        sim.run_until(at);
        if at == spec.warm_up {
            known = missing(&sim.model, flows);
        }
        prop_assert_eq!(missing(&sim.model, flows), known.clone(), "at {}", at);
        if at < STOP {
            offer(sim, spec);
        }
    }
    run_out(sim, PATIENCE);
    prop_assert_eq!(missing(&sim.model, flows), known);
    Ok(())
}

/// After the sources have stopped, all activity ends: no station waits for an event that never happens.
pub fn nothing_is_left(sim: &Simulation<Network>, spec: &CellSpec) -> Result<(), TestCaseError> {
    prop_assert!(sim.queue.is_empty(), "events are pending");
    prop_assert_eq!(sim.model.in_transit(), vec![0; spec.flows.len()]);
    Ok(())
}
