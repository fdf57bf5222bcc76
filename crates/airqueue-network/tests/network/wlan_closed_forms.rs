//! Cells of one and two stations against closed forms: cycles, shares, waiting times.

use crate::cells;
use crate::cells::{CellSpec, DCF_OVERHEAD, Flow, cell, dcf, rate, saturated, uploads};
use crate::estimates::{Estimate, agree, exactly, to_within};
use airqueue_core::{DataRate, Limit, Seed, Span, Time};
use airqueue_network::FlowId;
use airqueue_network::network::Network;
use airqueue_qdisc::{DropFrom, DropTailParams, QueueSpec};
use airqueue_transport::traffic::Arrivals;
use airqueue_wifi::contention::{Contender, Contention, CountdownRule, Counts};
use airqueue_wifi::mac::{Behaviour, CategoryConfig, MacConfig, Radio, Txop};
use airqueue_wifi::medium::{FrameErrors, Level, StationId};
use airqueue_wifi::phy::{AccessCategory, Phy, Preamble, Protection, Slot, dsss, erp, ofdm};

/// A figure to within a tolerance, from runs of `seconds` after one second of warm-up.
fn runs(
    spec: &CellSpec,
    seconds: i64,
    tolerance: f64,
    figure: impl Fn(&Network) -> f64,
) -> Estimate {
    let spec = CellSpec { warm_up: cells::at(1), ..spec.clone() };
    to_within(tolerance, |seed| {
        let mut sim = spec.start(Seed(seed));
        sim.run_until(cells::at(1 + seconds));
        figure(&sim.model)
    })
}

fn layers(behaviour: Behaviour) -> Vec<(&'static str, Phy, u64)> {
    let conventions = behaviour.rules().conventions;
    let b = |control: u64| {
        let phy = dsss(Preamble::Long, conventions);
        phy.with_control_rate(DataRate::from_bps(control * 1_000_000).unwrap()).unwrap()
    };
    vec![
        ("b, control 1", b(1), 11),
        ("b, control 2", b(2), 11),
        ("b, short", dsss(Preamble::Short, conventions), 11),
        ("a", ofdm(conventions), 54),
        ("g", erp(Slot::Short, Preamble::Long, conventions), 54),
        ("g, long slot", erp(Slot::Long, Preamble::Long, conventions), 24),
    ]
}

/// One saturated station: DIFS, mean backoff, protection frames, data, SIFS, ACK, repeated.
#[test]
fn one_station_takes_a_cycle_for_each_packet() {
    for behaviour in [Behaviour::Standard, Behaviour::Ns3, Behaviour::Ns2] {
        for (name, phy, mbps) in layers(behaviour) {
            for protection in [Protection::None, Protection::CtsToSelf, Protection::RtsCts] {
                let fast = rate(&phy, mbps);
                let slow = rate(&phy, if name.starts_with('a') { 6 } else { 2 });
                let left_out = u32::from(behaviour == Behaviour::Ns2);
                let backoff = f64::from(phy.w_min() - 1 - left_out) / 2.0 * seconds(phy.slot());
                let frames = phy.protection(protection, slow)
                    + phy.airtime(fast, 1500 + DCF_OVERHEAD)
                    + phy.sifs()
                    + phy.ack(phy.response_rate(fast));
                let cycle = seconds(phy.difs() + frames) + backoff;
                let mut mac = dcf(&phy);
                mac.protection = protection;
                mac.protection_rate = Some(slow);
                let radio = Radio::new(phy.clone(), behaviour.rules());
                let flows = vec![saturated(1, 0, AccessCategory::FIRST, fast, 1500)];
                let spec = CellSpec { flows, ..cell(radio, vec![mac; 2]) };
                let cycles = runs(&spec, 3, 0.002, |network| {
                    3.0 / network.flow(FlowId(0)).delivered.packets as f64
                });
                let what = format!("{behaviour:?} {name} {protection:?}");
                agree(&what, cycles, exactly(cycle), 0.002);
            }
        }
    }
}

fn seconds(span: Span) -> f64 {
    span.as_secs_f64()
}

/// Three of these cycles by hand, from the frame lengths of the standard alone: 1500 bytes of IP.
#[test]
fn throughputs_of_one_station_computed_by_hand() {
    let standard = Behaviour::Standard.rules();
    let mbps = |phy: Phy, at: u64| {
        let (fast, mac) = (rate(&phy, at), dcf(&phy));
        let radio = Radio::new(phy, standard);
        let flows = vec![saturated(1, 0, AccessCategory::FIRST, fast, 1500)];
        let spec = CellSpec { flows, ..cell(radio, vec![mac; 2]) };
        runs(&spec, 10, 0.001, |network| {
            network.flow(FlowId(0)).delivered.bytes as f64 * 8.0 / 10.0 / 1e6
        })
    };
    let us = |cycle: f64| exactly(1500.0 * 8.0 / cycle);
    // 50 + 310 + (192 + 1118) + 10 + (192 + 112).
    let b = dsss(Preamble::Long, standard.conventions);
    let slow = DataRate::from_bps(1_000_000).unwrap();
    agree("b", mbps(b.with_control_rate(slow).unwrap(), 11), us(1984.0), 0.001);
    // 34 + 67.5 + (20 + 228) + 16 + 28 at 54 Mb/s with ACKs at 24; + 20 + 516, 32 at 24 Mb/s.
    agree("a", mbps(ofdm(standard.conventions), 54), us(393.5), 0.001);
    agree("a", mbps(ofdm(standard.conventions), 24), us(34.0 + 67.5 + 536.0 + 16.0 + 28.0), 0.001);
}

/// A TXOP of N packets: AIFS, backoff, and N times data, SIFS, ACK, SIFS, without the last SIFS.
#[test]
fn one_station_with_txops() {
    let radio = cells::b();
    let phy = &radio.phy;
    let fast = rate(phy, 11);
    let exchange =
        phy.airtime(fast, 1000 + DCF_OVERHEAD) + phy.sifs() + phy.ack(phy.response_rate(fast));
    let step = exchange + phy.sifs();
    for n in [1, 2, 6] {
        let limit = Span::from_nanos(n * step.as_nanos() - phy.sifs().as_nanos());
        for (txop, packets) in [
            (Txop::Packets(n as u32), n),
            (Txop::Time(limit), n),
            (Txop::Time(limit - Span::from_nanos(1)), (n - 1).max(1)),
        ] {
            let category = CategoryConfig { txop, ..CategoryConfig::dcf(phy) };
            let macs = vec![MacConfig::new(vec![category]); 2];
            let flows = vec![saturated(1, 0, AccessCategory::FIRST, fast, 1000)];
            let spec = CellSpec { flows, ..cell(radio.clone(), macs) };
            let busy = packets as f64 * seconds(step) - seconds(phy.sifs());
            let cycle = seconds(phy.difs()) + 15.5 * 20e-6 + busy;
            let found = runs(&spec, 10, 0.001, |network| {
                10.0 * packets as f64 / network.flow(FlowId(0)).delivered.packets as f64
            });
            agree(&format!("{txop:?}"), found, exactly(cycle), 0.001);
        }
    }
}

/// Two contending stations, and their contention kernel. Between two stations there are no bystanders, which EIFS would
/// distinguish from the senders: the kernel is exact.
fn shares(
    accesses: [(u32, u32); 2],
    rule: CountdownRule,
    packets: u32,
    tolerance: f64,
) -> [Estimate; 2] {
    let radio = cells::b();
    let fast = rate(&radio.phy, 11);
    let mac = |(aifs, cw): (u32, u32), txop| {
        let w_max = 1024.max(cw);
        let category = CategoryConfig { aifsn: 2 + aifs, w_min: cw, w_max, txop, countdown: rule };
        MacConfig { experimental: true, ..MacConfig::new(vec![category]) }
    };
    let macs = vec![
        dcf(&radio.phy),
        mac(accesses[0], Txop::Packets(packets)),
        mac(accesses[1], Txop::One),
    ];
    let flows = [1, 2].map(|from| saturated(from, 0, AccessCategory::FIRST, fast, 100)).to_vec();
    let spec = CellSpec { flows, ..cell(radio, macs) };
    // The share of the station that gets less: agreement in this share implies agreement in the ratio.
    let less = usize::from(accesses[1] >= accesses[0]);
    let share = |packets: [u64; 2]| packets[less] as f64 / (packets[0] + packets[1]) as f64;
    let found = runs(&spec, 20, tolerance, |network| {
        share([0, 1].map(|flow| network.flow(FlowId::at(flow)).delivered.packets))
    });
    let contender = |(node, (aifs_slots, w_min)): (u32, (u32, u32)), packets| Contender {
        aifs_slots,
        w_min,
        w_max: 1024.max(w_min),
        retries: Some(6),
        packets,
        node,
    };
    let both = [contender((0, accesses[0]), packets), contender((1, accesses[1]), 1)];
    let mut kernel = Contention::new(&both, rule, Seed(1)).unwrap();
    let expected = to_within(tolerance, |_| {
        kernel.run(50_000);
        let counts = kernel.take_counts();
        share([0, 1].map(|at| counts.contenders[at].packets))
    });
    [found, expected]
}

#[test]
fn two_stations_with_different_aifs() {
    for rule in [CountdownRule::Edca, CountdownRule::Freeze] {
        for slots in [0, 1, 3, 6, 10, 20] {
            let [found, expected] = shares([(0, 32), (slots, 32)], rule, 1, 0.02);
            agree(&format!("{rule:?}, {slots} slots"), found, expected, 0.02);
        }
    }
}

#[test]
fn two_stations_with_different_windows() {
    for rule in [CountdownRule::Edca, CountdownRule::Freeze] {
        for cw in [8, 16, 64, 256, 1023] {
            let [found, expected] = shares([(0, 32), (0, cw)], rule, 1, 0.02);
            agree(&format!("{rule:?}, window {cw}"), found, expected, 0.02);
        }
    }
    // The other station keeps so little that only the rule by which it gets more is left to compare.
    let [found, expected] = shares([(0, 32), (0, 4)], CountdownRule::Edca, 1, 0.02);
    agree("window 4", found, expected, 0.02);
}

/// The ratio of packets is the ratio of the TXOPs' lengths: a collision costs either station its first packet.
#[test]
fn two_stations_with_different_txops() {
    for packets in [2, 5, 10] {
        let [found, expected] = shares([(0, 32), (0, 32)], CountdownRule::Edca, packets, 0.01);
        agree(&format!("{packets} packets"), found, expected, 0.01);
        let n = f64::from(packets);
        agree(&format!("{packets} packets"), found, exactly(1.0 / (1.0 + n)), 0.01);
    }
}

/// A queue of one of two stations: station, slots of AIFS beyond SIFS and two slots, window, packets.
type Queue = (u32, u32, u32, u32);

/// Stations with several queues each, listed by falling priority: each queue's share of all packets, and its internal
/// collisions per packet of all queues, in the engine and in the kernel.
fn queues(queues: &[Queue], tolerance: f64) {
    let radio = cells::b();
    let fast = rate(&radio.phy, 11);
    let category = |&(_, aifs, w_min, packets): &Queue| CategoryConfig {
        aifsn: 2 + aifs,
        w_min,
        w_max: 1024,
        txop: Txop::Packets(packets),
        countdown: CountdownRule::Edca,
    };
    let mac = |node| {
        let of_node = queues.iter().filter(|queue| queue.0 == node);
        MacConfig::new(of_node.rev().map(category).collect())
    };
    let nodes = 1 + queues[queues.len() - 1].0;
    let macs = [dcf(&radio.phy)].into_iter().chain((0..nodes).map(mac)).collect();
    // The station of each queue in the list, and the queue's place by rising priority.
    let place = |at: usize| {
        let node = queues[at].0;
        (node as usize + 1, queues[at + 1..].iter().filter(|queue| queue.0 == node).count())
    };
    let flow = |at| {
        let (station, queue) = place(at);
        saturated(station as u32, 0, AccessCategory::at(queue), fast, 100)
    };
    let count = queues.len();
    let spec = CellSpec { flows: (0..count).map(flow).collect(), ..cell(radio, macs) };
    let contenders: Vec<Contender> = (queues.iter())
        .map(|&(node, aifs_slots, w_min, packets)| {
            let (w_max, retries) = (1024, Some(6));
            Contender { aifs_slots, w_min, w_max, retries, packets, node }
        })
        .collect();
    let share = |of: &dyn Fn(usize) -> u64, among: &dyn Fn(usize) -> u64, at: usize| {
        of(at) as f64 / (0..count).map(among).sum::<u64>() as f64
    };
    let mut kernel = Contention::new(&contenders, CountdownRule::Edca, Seed(1)).unwrap();
    let mut counted = |figure: &dyn Fn(&Counts) -> f64| {
        to_within(tolerance, |_| {
            kernel.run(50_000);
            figure(&kernel.take_counts())
        })
    };
    for at in 0..count {
        let found = runs(&spec, 20, tolerance, |network| {
            let packets = |at| network.flow(FlowId::at(at)).delivered.packets;
            share(&packets, &packets, at)
        });
        let expected = counted(&|counts| {
            let packets = |at: usize| counts.contenders[at].packets;
            share(&packets, &packets, at)
        });
        agree(&format!("packets of queue {at}"), found, expected, tolerance);
        if place(at).1 + 1 == spec.stations[place(at).0].queues.len() {
            continue; // Nothing goes before the highest queue of a station.
        }
        let found = runs(&spec, 20, tolerance, |network| {
            let counters = |at| {
                let (station, queue) = place(at);
                network.wlan().access(StationId(station as u32), AccessCategory::at(queue))
            };
            share(&|at| counters(at).internal_collisions, &|at| counters(at).acknowledged, at)
        });
        let expected = counted(&|Counts { contenders, .. }| {
            share(&|at| contenders[at].internal_collisions, &|at| contenders[at].packets, at)
        });
        agree(&format!("internal collisions of queue {at}"), found, expected, tolerance);
    }
}

/// The queues of one station contend only with each other. With a second station there are also collisions on the air,
/// but still no bystanders.
#[test]
fn queues_of_one_station_and_of_two() {
    queues(&[(0, 0, 16, 1), (0, 1, 16, 1), (0, 2, 32, 1)], 0.03);
    queues(&[(0, 0, 16, 2), (0, 1, 32, 1), (1, 0, 16, 1), (1, 2, 32, 3)], 0.03);
}

/// A noisy link, on which each frame is lost with probability p. Some attempts at a packet end with an ACK, some with
/// an ACK in error, after which the sender waits for EIFS, and some with the time-out.
#[test]
fn one_station_on_a_noisy_link() {
    for behaviour in [Behaviour::Standard, Behaviour::Ns2] {
        let p: f64 = 0.3;
        let phy = dsss(Preamble::Long, behaviour.rules().conventions);
        let fast = rate(&phy, 11);
        let data = phy.airtime(fast, 1000 + DCF_OVERHEAD);
        let answer = phy.sifs() + phy.ack(phy.response_rate(fast));
        let (left_out, after_error) = match behaviour {
            Behaviour::Ns2 => (1.0, phy.eifs() + phy.difs()),
            _ => (0.0, phy.eifs()),
        };
        let attempt = (1.0 - p).powi(2) * seconds(answer + phy.difs())
            + (1.0 - p) * p * seconds(answer + after_error)
            + p * seconds(phy.response_timeout(fast) + phy.difs());
        let fails = 1.0 - (1.0 - p).powi(2);
        let per_packet: f64 = (0..7)
            .map(|k| {
                let window = f64::from((32 << k).min(1024)) - left_out;
                let backoff = (window - 1.0) / 2.0 * seconds(phy.slot());
                fails.powi(k) * (backoff + seconds(data) + attempt)
            })
            .sum();
        let radio = Radio::new(phy.clone(), behaviour.rules());
        let flows = vec![saturated(1, 0, AccessCategory::FIRST, fast, 1000)];
        let mut spec = CellSpec { flows, ..cell(radio, vec![dcf(&phy); 2]) };
        spec.errors = FrameErrors::PerFrame(p);
        let done = |network: &Network| {
            network.wlan().access(StationId(1), AccessCategory::FIRST).acknowledged
                + network.wlan().access(StationId(1), AccessCategory::FIRST).given_up
        };
        let found = runs(&spec, 20, 0.005, |network| 20.0 / done(network) as f64);
        agree(&format!("{behaviour:?}, time"), found, exactly(per_packet), 0.005);
        let given_up = |network: &Network| {
            network.wlan().access(StationId(1), AccessCategory::FIRST).given_up as f64
                / done(network) as f64
        };
        let found = runs(&spec, 60, 0.1, given_up);
        agree(&format!("{behaviour:?}, given up"), found, exactly(fails.powi(7)), 0.1);
        // The receiver has the packet, unless all seven data frames were lost.
        let lost = |network: &Network| {
            network.flow(FlowId(0)).given_up.packets as f64 / done(network) as f64
        };
        let found = runs(&spec, 60, 0.3, lost);
        agree(&format!("{behaviour:?}, lost"), found, exactly(p.powi(7)), 0.3);
    }
}

/// Station 0 hears 1 and 2, which hear each other or not.
fn pair(hidden: bool, mbps: u64, rts: bool) -> CellSpec {
    let mut spec = uploads(2);
    let fast = rate(&spec.radio.phy, mbps);
    let level = move |from, to| (!hidden || from * to == 0).then_some(Level::Decodable);
    spec.reach = cells::reach(3, level);
    for flow in &mut spec.flows {
        flow.rate = fast;
        flow.source.size_bytes = 1500;
    }
    for station in &mut spec.stations {
        station.mac.rts_threshold_bytes = if rts { 0 } else { u32::MAX };
    }
    spec
}

#[test]
fn hidden_stations_collide_and_rts_helps() {
    let collided = |network: &Network| {
        let sum = |f: &dyn Fn(usize) -> u64| (f(1) + f(2)) as f64;
        sum(&|id| network.wlan().station(StationId(id as u32)).collided)
            / sum(&|id| network.wlan().access(StationId(id as u32), AccessCategory::FIRST).attempts)
    };
    let goodput = |network: &Network| {
        (network.flow(FlowId(0)).delivered.packets + network.flow(FlowId(1)).delivered.packets)
            as f64
    };
    for mbps in [1, 11] {
        let [hearing, hidden] =
            [false, true].map(|h| runs(&pair(h, mbps, false), 20, 0.1, collided));
        let margin = 5.0 * hearing.error.hypot(hidden.error);
        assert!(hidden.mean > 3.0 * hearing.mean + margin, "{mbps}: {hearing:?} {hidden:?}");
    }
    // 12 ms of data on the air: an RTS of 352 µs is lost in place of the data.
    let [without, with] = [false, true].map(|rts| runs(&pair(true, 1, rts), 20, 0.1, goodput));
    let margin = 5.0 * without.error.hypot(with.error);
    assert!(with.mean > 1.3 * without.mean + margin, "{without:?} {with:?}");
    // Where all stations hear each other, RTS costs its own duration.
    let [without, with] = [false, true].map(|rts| runs(&pair(false, 11, rts), 20, 0.1, goodput));
    assert!(with.mean < 0.9 * without.mean, "{without:?} {with:?}");
}

/// One station with Poisson arrivals is an M/G/1 queue: the service of a packet is data, SIFS, ACK, DIFS and the
/// backoff after them; a packet that arrives after all of these is sent at once. By Pollaczek and Khinchine a packet
/// waits λ E[S²] / (2 (1 - λ E[S])) on average before its transmission.
#[test]
fn a_station_without_others_waits_as_pollaczek_and_khinchine_say() {
    let radio = cells::b();
    let phy = radio.phy.clone();
    let fast = rate(&phy, 11);
    let data = phy.airtime(fast, 1000 + DCF_OVERHEAD);
    let constant = seconds(data + phy.sifs() + phy.ack(phy.response_rate(fast)) + phy.difs());
    let service: Vec<f64> =
        (0..32).map(|k| constant + f64::from(k) * seconds(phy.slot())).collect();
    let moment = |n: i32| service.iter().map(|s| s.powi(n)).sum::<f64>() / 32.0;
    for load in [0.3, 0.6, 0.85] {
        let lambda = load / moment(1);
        let wait = lambda * moment(2) / (2.0 * (1.0 - load));
        let bps = DataRate::from_bps((lambda * 8000.0).round() as u64).unwrap();
        let mut flow = saturated(1, 0, AccessCategory::FIRST, fast, 1000);
        flow.source.arrivals = Arrivals::Poisson(bps);
        let macs = vec![dcf(&phy); 2];
        let mut spec = CellSpec { flows: vec![flow], ..cell(radio.clone(), macs) };
        spec.stations[1].queues = vec![QueueSpec::new(Limit::Packets(u32::MAX))];
        let delay =
            runs(&spec, 150, 0.02, |network| network.flow(FlowId(0)).delay.mean_s().unwrap());
        let found = Estimate { mean: delay.mean - seconds(data), ..delay };
        agree(&format!("load {load}"), found, exactly(wait), 0.02);
    }
}

/// Saturated flows that share a queue get equal shares of its throughput, even where the queue has no room for a packet
/// of each flow.
#[test]
fn flows_that_share_a_queue_share_it_equally() {
    for (limit, drop_from) in
        [(1, DropFrom::Tail), (2, DropFrom::Tail), (1, DropFrom::Head), (50, DropFrom::Tail)]
    {
        let mut spec = uploads(1);
        let flow = spec.flows[0].clone();
        spec.flows = vec![flow; 3];
        let discipline = DropTailParams { drop_from }.into();
        spec.stations[1].queues[0] =
            QueueSpec { discipline, ..QueueSpec::new(Limit::Packets(limit)) };
        let mut sim = spec.start(Seed(1));
        sim.run_until(cells::at(2));
        let delivered = [0, 1, 2].map(|flow| sim.model.flow(FlowId::at(flow)).delivered.packets);
        let [least, most] = [delivered.iter().min(), delivered.iter().max()].map(|n| *n.unwrap());
        assert!(least > 100 && most - least <= 1, "{limit} {drop_from:?}: {delivered:?}");
    }
}

/// At half of the capacity of one station every packet arrives, and at constant intervals no packet waits: the delay of
/// a packet is its time on the air.
#[test]
fn constant_intervals_longer_than_a_service() {
    let radio = cells::b();
    let fast = rate(&radio.phy, 11);
    let data = radio.phy.airtime(fast, 1000 + DCF_OVERHEAD);
    let mut flow: Flow = saturated(1, 0, AccessCategory::FIRST, fast, 1000);
    flow.source.arrivals = Arrivals::Constant(DataRate::from_bps(2_500_000).unwrap());
    flow.source.start = Time::from_nanos(1_000_000);
    let macs = vec![dcf(&radio.phy); 2];
    let spec = CellSpec { flows: vec![flow], ..cell(radio, macs) };
    let mut sim = spec.start(Seed(1));
    sim.run_until(cells::at(10));
    let counters = sim.model.flow(FlowId(0));
    assert_eq!(
        counters.delay.sum_ns,
        i128::from(data.as_nanos()) * i128::from(counters.delay.count)
    );
    assert!(counters.offered.packets - counters.delivered.packets <= 1);
    assert_eq!(counters.offered.packets, 3125);
}
