//! Properties of every wireless LAN.

use crate::cells::{CellSpec, Flow};
use crate::on_air;
use crate::random_networks::{is_aggregated, networks, nothing_is_left, run_balanced};
use airqueue_core::{Limit, PacketCount, Seed, Span, Time};
use airqueue_network::FlowId;
use airqueue_network::counters::HopCounters;
use airqueue_network::network::{Network, QueueId};
use airqueue_network::run_loop::Simulation;
use airqueue_network::wlan::AirtimeCounters;
use airqueue_network::wlan::tap::{Recording, TracedFrame, TracedMpdu};
use airqueue_wifi::mac::FrameKind;
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::{AccessCategory, Protection};
use proptest::prelude::*;
use std::collections::HashMap;

/// Runs a network to its end with checks of its counters, and returns the network with its frames.
fn run(
    spec: &CellSpec,
    seed: Seed,
) -> Result<(Simulation<Network>, Vec<TracedFrame>), TestCaseError> {
    let mut sim = spec.start(seed);
    sim.model.wlan_mut().plug(Box::new(Recording::default()));
    run_balanced(&mut sim, spec)?;
    let recording: Recording = sim.model.wlan_mut().unplug().expect("it was plugged in");
    Ok((sim, recording.frames))
}

/// Compares the counters of queues, MACs and flows at the end of the run.
fn counters(sim: &mut Simulation<Network>, spec: &CellSpec) -> Result<(), TestCaseError> {
    let now = sim.now();
    for (station, described) in spec.stations.iter().enumerate() {
        for (at, queue_spec) in described.queues.iter().enumerate() {
            let queue = sim
                .model
                .queue(QueueId::Station(StationId(station as u32), AccessCategory::at(at)), now);
            let mut offered = PacketCount::default();
            for (id, flow) in spec.flows.iter().enumerate() {
                if (flow.from.index(), flow.ac.index()) == (station, at) {
                    let counters = sim.model.flow(FlowId::at(id)).offered;
                    offered.packets += counters.packets;
                    offered.bytes += counters.bytes;
                }
            }
            prop_assert_eq!(queue.offered, offered);
            let ring = queue_spec.ring_packets as u64;
            if let Limit::Packets(limit) = queue_spec.limit
                && queue_spec.discipline.facts().apart.is_none()
            {
                prop_assert!(queue.occupancy.longest <= u64::from(limit) + ring);
            }
            prop_assert_eq!(queue.waited.count, queue.taken.packets);
            prop_assert!(queue.dropped_early.packets <= queue.dropped.packets);
            if spec.warm_up > Time::ZERO {
                continue;
            }
            prop_assert_eq!(offered.packets, queue.dropped.packets + queue.taken.packets);
            prop_assert_eq!(offered.bytes, queue.dropped.bytes + queue.taken.bytes);
            // Each packet waits once: the integral of the length over time is the sum of the packets' waiting times.
            let waited = queue.waited.sum_ns;
            let kept = !queue_spec.discipline.facts().drops_waiting;
            let fits = queue.occupancy.packet_time == waited
                || !kept && queue.occupancy.packet_time > waited;
            prop_assert!(fits, "{} packet-ns, {} ns waited", queue.occupancy.packet_time, waited);
            let access = sim.model.wlan().access(StationId(station as u32), AccessCategory::at(at));
            prop_assert_eq!(queue.taken.packets, access.acknowledged + access.given_up);
            let of_queue = |f: &&Flow| (f.from.index(), f.ac.index()) == (station, at);
            if !spec.flows.iter().filter(of_queue).any(|flow| is_aggregated(spec, flow)) {
                prop_assert_eq!(access.attempts, access.acknowledged + access.failures);
            }
        }
    }
    Ok(())
}

/// Whether a frame ended while counting: at the end of the warm-up, too.
fn counts(spec: &CellSpec, traced: &TracedFrame) -> bool {
    traced.ends >= spec.warm_up
}

/// Compares the frames that the tap saw with the counters of stations and MACs.
fn frames_counted(
    sim: &Simulation<Network>,
    spec: &CellSpec,
    frames: &[TracedFrame],
    busy: &[Span],
) -> Result<(), TestCaseError> {
    let now = sim.now();
    let mut attempts = vec![[0u64; 4]; spec.stations.len()];
    let mut mpdus = vec![[0u64; 4]; spec.stations.len()];
    let mut sent: HashMap<(usize, FrameKind), (u64, Span)> = HashMap::new();
    for traced in frames.iter().filter(|traced| counts(spec, traced)) {
        let frame = &traced.frame;
        let from = frame.from.index();
        let (frames, time) = sent.entry((from, frame.kind)).or_default();
        *frames += 1;
        *time = *time + (traced.ends - traced.begins.max(spec.warm_up));
        let protected = spec.stations[from].mac.protection == Protection::CtsToSelf;
        let first = match frame.kind {
            FrameKind::Data | FrameKind::BlockAckRequest => frame.opens && !protected,
            FrameKind::Cts => frame.to == frame.from,
            other => other == FrameKind::Rts,
        };
        attempts[from][frame.ac.index()] += u64::from(first);
        let carries = frame.kind == FrameKind::Data;
        mpdus[from][frame.ac.index()] += if carries { frame.mpdus.into() } else { 0 };
    }
    for (station, (attempts, mpdus)) in attempts.iter().zip(&mpdus).enumerate() {
        use FrameKind::{Ack, BlockAck, BlockAckRequest, CfEnd, Cts, Data, Rts};
        for kind in [Rts, Cts, Data, Ack, CfEnd, BlockAck, BlockAckRequest] {
            let AirtimeCounters { frames, time } =
                sim.model.wlan().station(StationId(station as u32)).sent_of(kind);
            let seen = sent.get(&(station, kind)).copied().unwrap_or_default();
            prop_assert_eq!((frames, time), seen);
        }
        shares_are_shares(sim, StationId(station as u32), mpdus)?;
        if spec.warm_up > Time::ZERO {
            continue; // An exchange that went on at the end of the warm-up counts, and its first frame may not.
        }
        prop_assert_eq!(sim.model.wlan().busy(StationId(station as u32), now), busy[station]);
        let mut without = 0;
        for (queue, &attempts) in attempts.iter().enumerate() {
            let wlan = sim.model.wlan();
            let known = wlan.access(StationId(station as u32), AccessCategory::at(queue)).attempts;
            // The last one may have no outcome.
            prop_assert!(known == attempts || known + 1 == attempts);
            without += attempts - known;
        }
        prop_assert!(without <= 1);
    }
    Ok(())
}

/// What is a part of something else is no more than that, whatever was on the air when counting began and ended.
fn shares_are_shares(
    sim: &Simulation<Network>,
    station: StationId,
    mpdus: &[u64; 4],
) -> Result<(), TestCaseError> {
    let (wlan, now) = (sim.model.wlan(), sim.now());
    let counters = wlan.station_at(station, now);
    let airtime = counters.sent.iter().fold(Span::ZERO, |sum, of| sum + of.time);
    prop_assert!(airtime <= wlan.busy(station, now));
    let mut failures = 0;
    for (ac, &mpdus) in AccessCategory::ALL.into_iter().zip(mpdus) {
        let access = wlan.access(station, ac);
        prop_assert_eq!(access.mpdus, mpdus);
        prop_assert!(access.failures <= access.attempts);
        failures += access.failures;
    }
    prop_assert!(counters.collided + counters.bit_errors <= failures);
    Ok(())
}

/// Compares the packets that the tap saw with the counters of flows.
fn packets_counted(
    sim: &Simulation<Network>,
    spec: &CellSpec,
    frames: &[TracedFrame],
) -> Result<(), TestCaseError> {
    let mut delivered = vec![(PacketCount::default(), 0i128); spec.flows.len()];
    let mut sent: HashMap<u64, (u32, bool)> = HashMap::new();
    let mut last = vec![0; spec.flows.len()];
    for traced in frames {
        let mac = &spec.stations[traced.frame.from.index()].mac;
        for &TracedMpdu { packet, decoded, .. } in &traced.carried {
            let flow = packet.flow.index();
            let (times, known) = sent.entry(packet.id).or_default();
            *times += 1;
            let aggregated = is_aggregated(spec, &spec.flows[flow]);
            let limit = mac.short_retry_limit.max(mac.long_retry_limit);
            prop_assert!(aggregated || *times <= limit);
            if !decoded || std::mem::replace(known, true) {
                continue;
            }
            // Packets behind a gap wait for the missing packet.
            prop_assert!(aggregated || packet.id > last[flow], "the order of packets");
            last[flow] = packet.id;
            if counts(spec, traced) {
                delivered[flow].0.add(&packet);
                delivered[flow].1 += i128::from((traced.ends - packet.created).as_nanos());
            }
        }
    }
    for (flow, (counters, delay_ns)) in delivered.into_iter().enumerate() {
        let HopCounters { delay, delays, delivered, .. } = sim.model.flow(FlowId::at(flow));
        prop_assert_eq!((delay.count, delays.total()), (delivered.packets, delivered.packets));
        if is_aggregated(spec, &spec.flows[flow]) {
            // At the end all decoded packets have been passed up, some later than they were decoded.
            prop_assert!(delay.sum_ns >= delay_ns || spec.warm_up > Time::ZERO);
            prop_assert!(delivered == counters || spec.warm_up > Time::ZERO);
        } else {
            prop_assert_eq!((delivered, delay.sum_ns), (counters, delay_ns));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(crate::random_networks::cases(1000))]

    #[test]
    fn a_random_network_keeps_every_rule(spec in networks(), seed: u64) {
        let (mut sim, frames) = run(&spec, Seed(seed))?;
        nothing_is_left(&sim, &spec)?;
        counters(&mut sim, &spec)?;
        prop_assert!(frames.is_sorted_by_key(|traced| traced.ends), "time goes on");
        for traced in &frames {
            let lasts = spec.radio.phy.airtime(traced.frame.rate, traced.frame.bytes);
            prop_assert_eq!(traced.ends - traced.begins, lasts);
            let ack = traced.frame.kind == FrameKind::Ack;
            let announces = spec.radio.rules.announces_txop;
            prop_assert!(!ack || announces || traced.frame.nav == Span::ZERO);
        }
        let busy = on_air::check(&spec, &frames).map_err(TestCaseError::fail)?;
        frames_counted(&sim, &spec, &frames, &busy)?;
        packets_counted(&sim, &spec, &frames)?;
    }
}
