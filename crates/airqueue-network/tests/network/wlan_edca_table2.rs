//! The EDCA paper's settings (Table 2): acknowledgements go first, and data share the rest.

use crate::cells::{CellSpec, EDCA_OVERHEAD, Flow, at, b, cell, edca, rate, saturated};
use crate::estimates::{agree, exactly, to_within};
use airqueue_core::{DataRate, Seed};
use airqueue_network::FlowId;
use airqueue_transport::traffic::Arrivals;
use airqueue_wifi::mac::{CategoryConfig, MacConfig, Txop};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;

const DATA: AccessCategory = AccessCategory::BEST_EFFORT;
const ACKS: AccessCategory = AccessCategory::VOICE;

/// The four queues of a station: data wait for four slots more than acknowledgements, whose windows have `ack_window`
/// values. The standard allows all of these settings.
fn table2(txop: Txop, ack_window: u32) -> MacConfig {
    let mut mac = edca(&b().phy);
    let class = |aifsn, w_min, txop| CategoryConfig {
        aifsn,
        w_min,
        w_max: 1024,
        txop,
        ..mac.categories[DATA.index()]
    };
    let (data, acks) = (class(6, 32, txop), class(2, ack_window, Txop::One));
    (mac.categories[DATA.index()], mac.categories[ACKS.index()]) = (data, acks);
    mac
}

/// An access point, `downloads`, and `uploads`, one to a station, with saturated data flows.
fn radio(downloads: u32, uploads: u32) -> CellSpec {
    let mut macs = vec![table2(Txop::One, 32); 1 + (downloads + uploads) as usize];
    macs[0] = table2(Txop::Flows, 4);
    let down = (1..=downloads).map(|to| flow(0, to, DATA));
    let up = (downloads + 1..=downloads + uploads).map(|from| flow(from, 0, DATA));
    CellSpec { flows: down.chain(up).collect(), warm_up: at(1), ..cell(b(), macs) }
}

fn flow(from: u32, to: u32, ac: AccessCategory) -> Flow {
    let size_bytes = if ac == DATA { 1000 } else { 40 };
    let fast = rate(&b().phy, 11);
    Flow { overhead_bytes: EDCA_OVERHEAD, ..saturated(from, to, ac, fast, size_bytes) }
}

/// The backoff of acknowledgements ends before data may begin to count down: as long as there are acknowledgements
/// nothing else is sent, neither by stations nor by the access point itself.
#[test]
fn acknowledgements_of_the_access_point_go_first() {
    let mut spec = radio(3, 3);
    spec.flows.push(flow(0, 6, ACKS));
    let mut sim = spec.start(Seed(1));
    sim.run_until(at(11));
    for data in 0..6 {
        assert_eq!(sim.model.flow(FlowId::at(data)).delivered.packets, 0);
    }
    assert!(sim.model.flow(FlowId(6)).delivered.packets > 10_000);
    assert_eq!(sim.model.wlan().access(StationId(0), ACKS).failures, 0);
    assert_eq!(sim.model.wlan().access(StationId(0), DATA).internal_collisions, 0);
}

/// All data flows share the rest equally.
#[test]
fn data_share_what_acknowledgements_leave() {
    for (downloads, uploads) in [(4, 4), (2, 5)] {
        let mut spec = radio(downloads, uploads);
        let data = (downloads + uploads) as usize;
        for at in 0..data {
            let Flow { from, to, .. } = spec.flows[at];
            let mut acks = flow(to.0, from.0, ACKS);
            let rate = DataRate::from_bps(8 * 40 * 20).unwrap();
            acks.source.arrivals = Arrivals::Poisson(rate);
            spec.flows.push(acks);
        }
        for flow in [0, data - 1] {
            let share = to_within(0.02, |seed| {
                let mut sim = spec.start(Seed(seed));
                sim.run_until(at(31));
                for acks in data..2 * data {
                    let counters = sim.model.flow(FlowId::at(acks));
                    assert_eq!((counters.dropped.packets, counters.given_up.packets), (0, 0));
                }
                let packets = |flow| sim.model.flow(FlowId::at(flow)).delivered.packets as f64;
                packets(flow) / (0..data).map(packets).sum::<f64>()
            });
            let what = format!("flow {flow} of {downloads} down and {uploads} up");
            agree(&what, share, exactly(1.0 / data as f64), 0.02);
        }
    }
}
