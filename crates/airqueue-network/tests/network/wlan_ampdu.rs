//! A-MPDUs with block ack: throughput by hand, the content of each frame, and the effect of noise.

use crate::cells;
use crate::cells::{CellSpec, Flow};
use crate::random_networks::{STOP, nothing_is_left, run_out};
use airqueue_core::{DataRate, Limit, Payload, Seed, Span, Time};
use airqueue_network::FlowId;
use airqueue_network::network::{Network, OfferedPacket};
use airqueue_network::outcome::Outcome;
use airqueue_network::wlan::tap::{Recording, TracedFrame};
use airqueue_qdisc::QueueSpec;
use airqueue_transport::traffic::{Arrivals, SourceSpec};
use airqueue_wifi::RateIndex;
use airqueue_wifi::mac::{
    Aggregation, Behaviour, CategoryConfig, FrameKind, MacConfig, Radio, Txop,
};
use airqueue_wifi::medium::{FrameErrors, Level, Link, Reach, StationId};
use airqueue_wifi::phy::{AccessCategory, Band, Capability, Phy, Response, Width, he, ht, vht};
use std::collections::HashMap;

const MPDU_BYTES: u32 = 1000 + cells::EDCA_OVERHEAD;

fn radio(behaviour: Behaviour, layer: &str) -> Radio {
    let rules = behaviour.rules();
    let wide = Capability { width: Width::MHZ_40, streams: 2 };
    let phy = match layer {
        "n" => ht(Band::Ghz5, wide, rules.conventions),
        "ac" => vht(wide, rules.conventions),
        _ => he(Band::Ghz5, wide, rules.conventions),
    };
    Radio::new(phy.unwrap(), rules)
}

fn fastest(phy: &Phy) -> RateIndex {
    phy.rates().max_by_key(|&(_, rate)| rate).unwrap().0
}

fn aggregating(phy: &Phy, aggregation: Aggregation) -> MacConfig {
    MacConfig { aggregation: Some(aggregation), ..cells::edca(phy) }
}

fn saturated(from: u32, to: u32, rate: RateIndex) -> Flow {
    let overhead_bytes = cells::EDCA_OVERHEAD;
    Flow { overhead_bytes, ..cells::saturated(from, to, AccessCategory::at(1), rate, 1000) }
}

/// `senders` stations that always have packets of 1000 bytes for station 0.
fn uploads(radio: Radio, senders: u32, aggregation: Aggregation) -> CellSpec {
    let fast = fastest(&radio.phy);
    let macs = vec![aggregating(&radio.phy, aggregation); 1 + senders as usize];
    let flows = (1..=senders).map(|from| saturated(from, 0, fast)).collect();
    CellSpec { flows, ..cells::cell(radio, macs) }
}

fn recorded(spec: &CellSpec, seconds: i64) -> (Network, Vec<TracedFrame>) {
    let mut sim = spec.start(Seed(1));
    sim.model.wlan_mut().plug(Box::new(Recording::default()));
    sim.run_until(cells::at(seconds));
    let recording: Recording = sim.model.wlan_mut().unplug().unwrap();
    (sim.model, recording.frames)
}

fn of(frames: &[TracedFrame], kind: FrameKind) -> impl Iterator<Item = &TracedFrame> {
    frames.iter().filter(move |traced| traced.frame.kind == kind)
}

fn data(frames: &[TracedFrame]) -> impl Iterator<Item = &TracedFrame> {
    of(frames, FrameKind::Data)
}

fn ids(traced: &TracedFrame) -> Vec<u64> {
    traced.carried.iter().map(|carried| carried.packet.id).collect()
}

/// AIFS, a mean backoff of 7.5 slots, a full A-MPDU, SIFS, block ack. The mean of some 4000 backoffs has a standard
/// error of 0.6 us.
#[test]
fn one_station_sends_a_full_frame_in_each_cycle() {
    for layer in ["n", "ac", "ax"] {
        for behaviour in [Behaviour::Standard, Behaviour::Ns3] {
            let radio = radio(behaviour, layer);
            let (phy, fast) = (radio.phy.clone(), fastest(&radio.phy));
            let limits = phy.ampdu_limits(fast).unwrap();
            let ampdu = phy.fill(fast, &limits, std::iter::repeat(MPDU_BYTES));
            let (network, frames) = recorded(&uploads(radio, 1, Aggregation::STANDARD), 20);
            for traced in data(&frames).skip(1) {
                assert_eq!(traced.frame.bytes, ampdu.bytes(), "{layer}");
                assert_eq!(traced.carried.len() as u32, ampdu.mpdus());
            }
            let response = Response::to_window(limits.mpdus);
            let backoff = Span::from_nanos(phy.slot().as_nanos() * 15 / 2);
            let exchange =
                phy.airtime(fast, ampdu.bytes()) + phy.sifs() + phy.response(fast, response);
            let cycle = phy.aifs(3) + backoff + exchange;
            let expected = 20.0 / cycle.as_secs_f64() * f64::from(ampdu.mpdus());
            let found = network.flow(FlowId(0)).delivered.packets as f64;
            assert!((found / expected - 1.0).abs() < 0.003, "{layer}: {found} beside {expected}");
        }
    }
}

/// The receiver answers SIFS after the frame, as the frame announces.
#[test]
fn a_block_ack_answers_several_and_an_ack_one() {
    for (window, kind) in [(64, FrameKind::BlockAck), (1, FrameKind::Ack)] {
        let aggregation = Aggregation { window, ..Aggregation::STANDARD };
        let radio = radio(Behaviour::Standard, "ax");
        let (sifs, bytes) = (radio.phy.sifs(), if window == 1 { 14 } else { 32 });
        let (_, frames) = recorded(&uploads(radio, 1, aggregation), 1);
        for pair in frames[2..].chunks_exact(2) {
            let [data, answer] = pair else { unreachable!("pairs") };
            assert_eq!((answer.frame.kind, answer.frame.bytes), (kind, bytes));
            assert_eq!(answer.begins - data.ends, sifs);
            assert_eq!(data.frame.nav, answer.ends - data.ends);
            assert_eq!(data.carried.len() as u32, window);
        }
    }
}

#[test]
fn frames_keep_to_their_limits() {
    for (max_bytes, window) in [(10_000, 64), (u32::MAX, 7), (1, 64), (u32::MAX, 300)] {
        let radio = radio(Behaviour::Standard, "ac");
        let aggregation = Aggregation { max_bytes, window };
        let (_, frames) = recorded(&uploads(radio, 2, aggregation), 1);
        for traced in data(&frames) {
            // One MPDU is sent in any case.
            let alone = traced.carried.len() == 1;
            assert!(alone || traced.frame.bytes <= max_bytes, "{:?}", traced.frame);
            assert!(traced.carried.len() as u32 <= window.min(64));
        }
        let most = data(&frames).map(|traced| traced.carried.len()).max().unwrap();
        assert_eq!(most == 1, max_bytes == 1);
    }
}

/// A third of the MPDUs are lost, and some block acks.
fn noisy(behaviour: Behaviour) -> CellSpec {
    let aggregation = Aggregation { window: 16, ..Aggregation::STANDARD };
    let mut spec = uploads(radio(behaviour, "n"), 2, aggregation);
    spec.errors = FrameErrors::PerFrame(0.33);
    spec
}

/// Lost MPDUs go first and new packets follow. No MPDU is beyond the window that starts at the first unacknowledged
/// MPDU, and the rate of losses is as configured.
#[test]
fn lost_packets_go_first_and_the_window_holds() {
    for behaviour in [Behaviour::Standard, Behaviour::Ns3] {
        let (_, frames) = recorded(&noisy(behaviour), 10);
        let mut number: HashMap<u64, u64> = HashMap::new();
        let mut next = [0; 3];
        let (mut sent, mut lost) = (0.0, 0.0);
        for traced in data(&frames) {
            let ids = ids(traced);
            assert!(ids.is_sorted(), "{ids:?}");
            let from = traced.frame.from.index();
            let numbers: Vec<u64> = ids
                .iter()
                .map(|&id| {
                    *number.entry(id).or_insert_with(|| {
                        next[from] += 1;
                        next[from]
                    })
                })
                .collect();
            assert!(numbers.last().unwrap() - numbers[0] < 16, "{numbers:?}");
            if traced.at_receiver().unwrap().outcome.decoded() {
                sent += ids.len() as f64;
                lost += traced.carried.iter().filter(|carried| !carried.decoded).count() as f64;
            }
        }
        // Five standard errors of a fraction.
        assert!((lost / sent - 0.33).abs() < 5.0 * (0.33 * 0.67 / sent).sqrt(), "{lost} of {sent}");
    }
}

/// Each delivered packet from outside is reported once, in the order of the offers.
#[test]
fn packets_keep_their_order_and_arrive_once() {
    for behaviour in [Behaviour::Standard, Behaviour::Ns3] {
        let mut spec = noisy(behaviour);
        for flow in &mut spec.flows {
            flow.offered = true;
        }
        let mut sim = spec.start(Seed(2));
        let (mut last, mut delivered) = ([0; 2], 0);
        for ms in 1..=3000 {
            for flow in 0..2 {
                for n in 0..10 {
                    let number = Payload(10 * ms as u32 + n);
                    let packet = OfferedPacket::new(1000, number);
                    sim.model.offer(FlowId::at(flow), packet, &mut sim.queue);
                }
            }
            sim.run_until(Time::from_nanos(ms * 1_000_000));
            for outcome in sim.model.outcomes() {
                let Outcome::Delivered(packet) = outcome else { continue };
                assert!(packet.payload.0 > last[packet.flow.index()]);
                last[packet.flow.index()] = packet.payload.0;
                delivered += 1;
            }
        }
        assert!(delivered > 10_000, "{delivered}");
    }
}

/// All frames are lost. The standard sends the frame again and again; ns-3 sends block ack requests. Both stop at the
/// end of the packets' lifetime.
#[test]
fn a_lifetime_ends_what_no_block_ack_answers() {
    for behaviour in [Behaviour::Standard, Behaviour::Ns3] {
        let mut spec = uploads(radio(behaviour, "n"), 1, Aggregation::STANDARD);
        spec.errors = FrameErrors::PerFrame(1.0);
        let lifetime = Span::from_millis(100);
        spec.stations[1].mac.lifetime = lifetime;
        let (network, frames) = recorded(&spec, 2);
        assert_eq!(network.flow(FlowId(0)).delivered.packets, 0);
        let given_up = network.flow(FlowId(0)).given_up.packets;
        // The packet of the first frame, which was alone, and those of some 18 full frames.
        assert!((10 * 50..20 * 64).contains(&given_up), "{given_up}");
        let mut first: HashMap<u64, Time> = HashMap::new();
        for traced in data(&frames) {
            for id in ids(traced) {
                let begun = *first.entry(id).or_insert(traced.begins);
                // The check of the lifetime follows a failure; the longest backoff came before the last frame.
                assert!(traced.begins - begun <= lifetime + Span::from_millis(15));
            }
        }
        let requests = of(&frames, FrameKind::BlockAckRequest).count();
        let several = data(&frames).filter(|traced| traced.carried.len() > 1).count();
        match behaviour {
            Behaviour::Ns3 => assert!(requests > 5 * several, "{requests} {several}"),
            _ => assert!(requests == 0 && several > 100, "{requests} {several}"),
        }
    }
}

/// A queue of packets that no block ack answers, and of which each frame carries one, takes as many lifetimes as the queue
/// has packets: far longer than the patience of a test, in which some packets leave.
#[test]
fn a_queue_runs_out_however_many_lifetimes_that_takes() {
    let mut spec = with_txop(Txop::Packets(1), u32::MAX);
    spec.errors = FrameErrors::PerFrame(1.0);
    let arrivals = Arrivals::Constant(DataRate::from_bps(5_000_000).unwrap());
    spec.flows[0].source = SourceSpec { arrivals, stop: STOP, ..spec.flows[0].source };
    let lifetime = Span::from_millis(100);
    spec.stations[1].mac.lifetime = lifetime;
    let mut sim = spec.start(Seed(1));
    sim.run_until(STOP);
    let left = sim.model.in_transit()[0];
    assert!(left > 30, "{left} packets wait when the source stops");
    // The first of them may have been in hand for some time.
    let lasts = Span::from_nanos((left as i64 - 1) * lifetime.as_nanos());
    sim.run_until(STOP + lasts);
    assert!(sim.model.in_transit()[0] > 0, "a packet is held for its lifetime");

    let mut sim = spec.start(Seed(1));
    sim.run_until(STOP);
    run_out(&mut sim, Span::from_secs(1));
    nothing_is_left(&sim, &spec).unwrap();
    assert_eq!(sim.model.flow(FlowId(0)).delivered.packets, 0);
}

fn with_txop(txop: Txop, rts_threshold_bytes: u32) -> CellSpec {
    let mut spec = uploads(radio(Behaviour::Standard, "n"), 1, Aggregation::STANDARD);
    let mac = &mut spec.stations[1].mac;
    mac.rts_threshold_bytes = rts_threshold_bytes;
    mac.categories[1] = CategoryConfig { txop, ..mac.categories[1] };
    spec
}

/// Frames of a TXOP: from the first frame of an exchange to the last answer, separated by SIFS.
fn opportunities(frames: &[TracedFrame], sifs: Span) -> Vec<&[TracedFrame]> {
    frames.chunk_by(|before, next| next.begins - before.ends <= sifs).collect()
}

#[test]
fn a_txop_bounds_what_is_sent_in_it() {
    let limit = Span::from_micros(1504);
    for rts in [u32::MAX, 5000, 0] {
        let spec = with_txop(Txop::Time(limit), rts);
        let (_, frames) = recorded(&spec, 1);
        let all = opportunities(&frames, spec.radio.phy.sifs());
        for frames in &all {
            let lasts = frames[frames.len() - 1].ends - frames[0].begins;
            assert!(lasts <= limit, "{lasts}");
            for pair in frames.windows(2).filter(|pair| pair[1].frame.kind == FrameKind::Data) {
                let protected = pair[0].frame.kind == FrameKind::Cts;
                assert_eq!(protected, pair[1].frame.bytes > rts);
            }
        }
        let used = all[all.len() / 2];
        assert!(used[used.len() - 1].ends - used[0].begins > Span::from_micros(1350));
    }
}

#[test]
fn packets_of_a_txop_are_counted_across_its_frames() {
    let spec = with_txop(Txop::Packets(5), u32::MAX);
    let (_, frames) = recorded(&spec, 1);
    let all = opportunities(&frames, spec.radio.phy.sifs());
    for frames in &all[1..] {
        let packets: usize = frames.iter().map(|traced| traced.carried.len()).sum();
        assert_eq!(packets, 5);
    }
}

/// One packet for each flow of the queue: a frame to one receiver may use up the packets of all.
#[test]
fn packets_of_a_txop_by_flows_are_those_of_its_frames_too() {
    let mut spec = with_txop(Txop::Flows, u32::MAX);
    let flow = spec.flows[0].clone();
    spec.flows = vec![flow; 5];
    let (_, frames) = recorded(&spec, 1);
    let all = opportunities(&frames, spec.radio.phy.sifs());
    for frames in &all[1..] {
        let packets: usize = frames.iter().map(|traced| traced.carried.len()).sum();
        assert_eq!(packets, 5);
    }
}

/// An access point with packets for four stations in turn finds the packets for one station behind those for the
/// others.
#[test]
fn packets_for_one_receiver_are_found_among_others() {
    let radio = radio(Behaviour::Standard, "ax");
    let fast = fastest(&radio.phy);
    let macs = vec![aggregating(&radio.phy, Aggregation::STANDARD); 5];
    let flows = (1..5).map(|to| saturated(0, to, fast)).collect();
    let mut spec = CellSpec { flows, ..cells::cell(radio, macs) };
    for ring_packets in [0, 8] {
        for queue in &mut spec.stations[0].queues {
            *queue = QueueSpec { ring_packets, ..QueueSpec::new(Limit::Packets(50)) };
        }
        let (network, frames) = recorded(&spec, 2);
        for traced in data(&frames).skip(10) {
            assert!(traced.carried.len() > 100, "{}", traced.carried.len());
        }
        let packets: Vec<f64> =
            (0..4).map(|flow| network.flow(FlowId::at(flow)).delivered.packets as f64).collect();
        let mean = packets.iter().sum::<f64>() / 4.0;
        assert!(packets.iter().all(|of| (of / mean - 1.0).abs() < 0.02), "{packets:?}");
    }
}

/// Two stations that do not hear each other send to a third. The frame that the receiver has locked on loses the MPDUs
/// that frames of the other sender or of the receiver itself overlap.
#[test]
fn a_hidden_station_destroys_what_it_overlaps() {
    let mut spec = uploads(radio(Behaviour::Standard, "n"), 2, Aggregation::STANDARD);
    spec.reach = cells::reach(3, |from, to| (from * to == 0).then_some(Level::Decodable));
    // Station 2 sends short frames.
    spec.stations[2].mac.aggregation = None;
    let phy = &spec.radio.phy;
    let (network, frames) = recorded(&spec, 2);
    let (mut hit, mut spared) = (0, 0);
    for traced in data(&frames).filter(|traced| traced.carried.len() > 1) {
        let seconds = |at: Time| (at - Time::ZERO).as_secs_f64();
        let others: Vec<(f64, f64)> = frames
            .iter()
            .filter(|other| other.frame.from != StationId(1))
            .filter(|other| other.begins < traced.ends && traced.begins < other.ends)
            .map(|other| (seconds(other.begins), seconds(other.ends)))
            .collect();
        let first_bit = seconds(traced.begins + phy.preamble(traced.frame.rate));
        let lasts = seconds(traced.ends) - first_bit;
        let found = others.iter().all(|&(from, _)| from >= first_bit);
        let mut at = 0;
        for carried in &traced.carried {
            let byte = |at: u32| first_bit + lasts * f64::from(at) / f64::from(traced.frame.bytes);
            let (begins, ends) = (byte(at), byte(at + 4 + carried.mpdu_bytes));
            at = (at + 4 + carried.mpdu_bytes).next_multiple_of(4);
            let touched = |margin: f64| {
                others.iter().any(|&(from, until)| from < ends + margin && begins < until + margin)
            };
            if !found || touched(-1e-8) {
                assert!(!carried.decoded, "{traced:?}");
                hit += 1;
            } else if !touched(1e-8) {
                assert!(carried.decoded, "{traced:?}");
                spared += usize::from(!others.is_empty());
            }
        }
    }
    assert!(hit > 500 && spared > 500, "{hit} {spared}");
    assert!(network.flow(FlowId(0)).delivered.packets > 500);
}

/// Packets of many sizes, in frames that hold some of them but not the longest: the length of a frame on the air is the
/// length of its content.
#[test]
fn a_frame_is_as_long_as_its_packets() {
    let phy = radio(Behaviour::Standard, "n").phy;
    let slow = phy.rates().find(|&(index, _)| phy.mcs(index).is_some()).unwrap().0;
    for (max_bytes, txop) in [(1_500, Txop::One), (100, Txop::One), (9_000, Txop::One)]
        .into_iter()
        .chain([400, 1_000, 4_000].map(|us| (u32::MAX, Txop::Time(Span::from_micros(us)))))
    {
        let aggregation = Aggregation { max_bytes, ..Aggregation::STANDARD };
        let mut spec = uploads(radio(Behaviour::Standard, "n"), 1, aggregation);
        spec.stations[1].mac.categories[1].txop = txop;
        spec.errors = FrameErrors::PerFrame(0.1);
        let one = spec.flows[0].clone();
        for (at, size_bytes) in [1_500, 100, 40, 700].into_iter().enumerate() {
            let source = SourceSpec { size_bytes, ..one.source };
            let name = format!("{at}");
            spec.flows.push(Flow { name, source, rate: slow, ..one.clone() });
        }
        spec.flows.remove(0);
        let (_, frames) = recorded(&spec, 1);
        let mut several = 0;
        for traced in data(&frames) {
            let mpdus = traced.carried.iter().map(|carried| carried.mpdu_bytes);
            let bytes = match traced.carried.len() {
                1 => mpdus.sum(),
                _ => mpdus.fold(0u32, |psdu, mpdu| psdu.next_multiple_of(4) + 4 + mpdu),
            };
            assert_eq!(traced.frame.bytes, bytes, "{max_bytes} {txop:?}");
            several += usize::from(traced.carried.len() > 1);
        }
        let room = max_bytes > 100 && txop != Txop::Time(Span::from_micros(400));
        assert!(several > 0 || !room, "{max_bytes} {txop:?}");
    }
}

/// A receiver that loses half of its packets, or all, takes turns with a receiver that loses none.
#[test]
fn receivers_take_turns_whatever_they_lose() {
    let radio = radio(Behaviour::Standard, "ax");
    let fast = fastest(&radio.phy);
    let macs = vec![aggregating(&radio.phy, Aggregation::STANDARD); 3];
    let flows = vec![saturated(0, 1, fast), saturated(0, 2, fast)];
    let mut spec = CellSpec { flows, ..cells::cell(radio, macs) };
    spec.errors = FrameErrors::BySnr;
    let noise_w = spec.noise_w;
    for margin_db in [35.0, 25.0] {
        let power = |db: f64| Some(noise_w * 10f64.powf(db / 10.0));
        let link = |to: u32, db| {
            [(0, to), (to, 0)].map(|(from, to)| {
                let [from, to] = [StationId(from), StationId(to)];
                Link { from, to, level: Level::Decodable, power_w: power(db) }
            })
        };
        // Each of two streams has half of the power, and 40 MHz has twice the noise.
        let links = [link(1, margin_db + 6.0), link(2, 60.0)].concat();
        spec.reach = Reach::from_links(3, &links).unwrap();
        let (network, frames) = recorded(&spec, 5);
        let [lossy, clean] =
            [0, 1].map(|flow| network.flow(FlowId::at(flow)).delivered.packets as f64);
        let carried =
            || data(&frames).filter(|traced| traced.frame.to.0 == 1).flat_map(|a| &a.carried);
        let decoded = carried().filter(|carried| carried.decoded).count() as f64;
        let kept = decoded / carried().count() as f64;
        assert!((margin_db == 25.0) == (kept < 0.001), "{kept}");
        // Less than the share of MPDUs that survive: gaps hold the window back.
        assert!(lossy > 0.2 * kept * clean || margin_db == 25.0, "{lossy} {clean} {kept}");
        assert!(clean > 100_000.0, "{clean}");
        let longest = network.flow(FlowId(1)).delay.greatest;
        assert!(longest < Span::from_millis(40), "{longest}");
        let sent = |to: u32| data(&frames).filter(move |traced| traced.frame.to.0 == to).count();
        let turns = sent(1) as f64 / sent(2) as f64;
        assert!((turns - 1.0).abs() < 0.05, "{turns}");
    }
}

/// A tap changes nothing, even where stations that hear alike lose parts of frames.
#[test]
fn a_tap_changes_nothing() {
    for behaviour in [Behaviour::Standard, Behaviour::Ns3] {
        for errors in [FrameErrors::None, FrameErrors::PerFrame(0.1)] {
            let mut spec = uploads(radio(behaviour, "n"), 8, Aggregation::STANDARD);
            // The last station is hidden from all but the first; the others hear each other.
            let apart = |from: u32, to: u32| from == 8 && to != 0 || to == 8 && from != 0;
            spec.reach = cells::reach(9, |a, b| (!apart(a, b)).then_some(Level::Decodable));
            spec.errors = errors;
            for (at, flow) in spec.flows.iter_mut().enumerate() {
                flow.source.size_bytes = [1_500, 60][at % 2];
            }
            for flow in 0..4 {
                let other = StationId((flow + 1) % 4 + 1);
                spec.flows[flow as usize].to = other;
            }
            let (tapped, _) = recorded(&spec, 1);
            let mut plain = spec.start(Seed(1));
            plain.run_until(cells::at(1));
            for flow in 0..8 {
                assert_eq!(tapped.flow(FlowId::at(flow)), plain.model.flow(FlowId::at(flow)));
            }
            for station in 0..9 {
                assert_eq!(
                    tapped.wlan().station(StationId(station as u32)),
                    plain.model.wlan().station(StationId(station as u32))
                );
            }
        }
    }
}
