//! TXOPs with a packet for each flow of a queue (EDCA paper, Table 2): number of packets, and throughput of flows.

use crate::cells::{CellSpec, Flow, at, b, cell, rate, saturated};
use crate::estimates::{agree, exactly, to_within};
use airqueue_core::{DataRate, Limit, Seed, Span, Time};
use airqueue_network::FlowId;
use airqueue_network::network::Network;
use airqueue_network::wlan::tap::{Recording, TracedFrame};
use airqueue_qdisc::{Discipline, FqCodelParams, QueueSpec};
use airqueue_transport::traffic::Arrivals;
use airqueue_wifi::mac::{CategoryConfig, FrameKind, MacConfig, Txop};
use airqueue_wifi::phy::AccessCategory;
use std::collections::BTreeMap;

/// The paper's data class: AIFS of DIFS and four slots, window of 32 values.
fn data_class(txop: Txop) -> CategoryConfig {
    let radio = b();
    let usual = CategoryConfig::dcf(&radio.phy);
    CategoryConfig { aifsn: 6, txop, ..usual }
}

/// An access point with `downloads` downloads, and `uploads` stations with an upload each. All flows are saturated.
fn mixed(downloads: u32, uploads: u32, queue: QueueSpec) -> CellSpec {
    let radio = b();
    let fast = rate(&radio.phy, 11);
    let station = MacConfig::new(vec![data_class(Txop::One)]);
    let mut macs = vec![station; 1 + (downloads + uploads) as usize];
    macs[0].categories[0].txop = Txop::Flows;
    let down = (1..=downloads).map(|to| saturated(0, to, AccessCategory::FIRST, fast, 1000));
    let up = (downloads + 1..=downloads + uploads)
        .map(|from| saturated(from, 0, AccessCategory::FIRST, fast, 1000));
    let flows = down.chain(up).collect();
    let mut spec = CellSpec { flows, warm_up: at(1), ..cell(radio, macs) };
    spec.stations[0].queues[0] = queue;
    spec
}

fn packets(network: &Network, flow: usize) -> f64 {
    network.flow(FlowId::at(flow)).delivered.packets as f64
}

/// Access point and stations contend alike, and each TXOP of the access point has a packet for each download: all flows
/// get equal throughput, for any number of downloads and uploads.
#[test]
fn uploads_and_downloads_get_the_same() {
    let fifo = QueueSpec::new(Limit::Packets(50));
    let behind_ring = QueueSpec { ring_packets: 4, ..fifo };
    let fq_codel = QueueSpec { discipline: Discipline::FqCodel(FqCodelParams::default()), ..fifo };
    for (downloads, uploads, queue) in
        [(6, 6, fifo), (2, 5, fifo), (9, 3, fifo), (4, 2, behind_ring), (4, 2, fq_codel)]
    {
        let spec = mixed(downloads, uploads, queue);
        let flows = (downloads + uploads) as usize;
        for flow in [0, flows - 1] {
            let share = to_within(0.02, |seed| {
                let mut sim = spec.start(Seed(seed));
                sim.run_until(at(31));
                let all: f64 = (0..flows).map(|flow| packets(&sim.model, flow)).sum();
                packets(&sim.model, flow) / all
            });
            let what = format!("flow {flow} of {downloads} down and {uploads} up");
            agree(&what, share, exactly(1.0 / flows as f64), 0.02);
        }
    }
}

/// The number of packets in a TXOP follows the present number of downloads.
#[test]
fn downloads_that_come_and_go_change_it() {
    let mut spec = mixed(3, 2, QueueSpec::new(Limit::Packets(50)));
    let during = |flow: &mut Flow, from: i64, to: i64| {
        (flow.source.start, flow.source.stop) = (at(from), at(to));
    };
    during(&mut spec.flows[1], 20, 60);
    during(&mut spec.flows[2], 40, 60);
    // The number of downloads in each period of 20 s.
    for (stretch, downloads) in [1, 2, 3, 1].into_iter().enumerate() {
        let begins = 20 * stretch as i64;
        let share = to_within(0.02, |seed| {
            let mut sim = spec.start(Seed(seed));
            // Packets left by stopped flows are gone before counting begins.
            sim.run_until(at(begins + 1));
            let before: Vec<f64> = (0..5).map(|flow| packets(&sim.model, flow)).collect();
            sim.run_until(at(begins + 20));
            let sent = |flow: usize| packets(&sim.model, flow) - before[flow];
            sent(0) / (0..5).map(sent).sum::<f64>()
        });
        let expected = exactly(1.0 / (f64::from(downloads) + 2.0));
        agree(&format!("a download of {downloads}"), share, expected, 0.02);
    }
}

fn recorded(spec: &CellSpec, seconds: i64) -> Vec<TracedFrame> {
    let mut sim = spec.start(Seed(3));
    sim.model.wlan_mut().plug(Box::new(Recording::default()));
    sim.run_until(at(seconds));
    sim.model.wlan_mut().unplug::<Recording>().unwrap().frames
}

/// The data frames of station 0 in each TXOP: from the first frame to the last answer, separated by SIFS.
fn txops(frames: &[TracedFrame], sifs: Span) -> Vec<Vec<&TracedFrame>> {
    let all = frames
        .chunk_by(|before, next| next.begins - before.ends <= sifs && next.begins >= before.ends);
    let own =
        |traced: &&TracedFrame| traced.frame.from.0 == 0 && traced.frame.kind == FrameKind::Data;
    let data = all.map(|frames| frames.iter().filter(own).collect::<Vec<_>>());
    data.filter(|data| !data.is_empty()).collect()
}

/// A packet's time at the access point: from its arrival to its acknowledgement.
type Life = (Time, Time);

/// Intermittent downloads. A TXOP has as many packets as there are flows that have or get packets during the TXOP, or
/// fewer if packets run out. The count uses the packets' own times.
#[test]
fn a_txop_has_a_packet_for_each_flow_that_has_any() {
    let mut spec =
        mixed(5, 1, QueueSpec { ring_packets: 2, ..QueueSpec::new(Limit::Packets(500)) });
    for (flow, kbps) in [(0, 900), (1, 700), (2, 400), (3, 400), (4, 200)] {
        let rate = DataRate::from_bps(kbps * 1000).unwrap();
        spec.flows[flow].source.arrivals = Arrivals::Poisson(rate);
    }
    let frames = recorded(&spec, 40);
    let own =
        |traced: &&TracedFrame| traced.frame.from.0 == 0 && traced.frame.kind == FrameKind::Data;
    let sifs = spec.radio.phy.sifs();
    let answer = spec.radio.phy.ack(spec.radio.phy.response_rate(spec.flows[0].rate));
    // The acknowledgement of the last transmission is the successful one: frames are lost only to collisions.
    let mut lives: BTreeMap<u64, (u32, Life)> = BTreeMap::new();
    for traced in frames.iter().filter(own) {
        let packet = traced.carried[0].packet;
        lives.insert(packet.id, (packet.flow.0, (packet.created, traced.ends + sifs + answer)));
    }
    let mut lengths = BTreeMap::new();
    for data in txops(&frames, sifs) {
        if data.len() == 1 && !data[0].carried[0].decoded {
            continue;
        }
        let (begins, last) = (data[0].begins, data[data.len() - 1]);
        let ends = last.ends + sifs + answer;
        let there = |life: &&(u32, Life)| life.1.0 <= ends && life.1.1 > begins;
        let mut flows: Vec<u32> = lives.values().filter(there).map(|life| life.0).collect();
        flows.sort_unstable();
        flows.dedup();
        let left = lives.values().any(|(_, (comes, goes))| *comes <= ends && *goes > ends);
        let whole = data.len() == flows.len();
        assert!(
            whole || data.len() < flows.len() && !left,
            "{} of {flows:?} at {begins}",
            data.len()
        );
        *lengths.entry(data.len()).or_insert(0) += 1;
    }
    assert!(lengths.len() == 5 && lengths.values().all(|&count| count > 20), "{lengths:?}");
}

/// A flow whose packets find no room has no packets in the queue.
#[test]
fn what_is_dropped_on_arrival_does_not_count() {
    let mut spec = mixed(2, 1, QueueSpec::new(Limit::Packets(1)));
    // The other download keeps the only place occupied.
    let rate = DataRate::from_bps(2_000_000).unwrap();
    spec.flows[1].source.arrivals = Arrivals::Poisson(rate);
    let frames = recorded(&spec, 5);
    let all = txops(&frames, spec.radio.phy.sifs());
    assert!(all.len() > 1000 && all.iter().all(|data| data.len() == 1));
}
