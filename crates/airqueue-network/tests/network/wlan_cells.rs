//! Saturated cells of many stations against a model of one busy period at a time.

use crate::cell_by_cycle;
use crate::cell_by_cycle::{Access, Counts, Times};
use crate::cells;
use crate::cells::{CellSpec, DCF_OVERHEAD, cell, rate, saturated};
use crate::estimates::{Estimate, agree, of};
use airqueue_core::{DataRate, Seed};
use airqueue_network::FlowId;
use airqueue_wifi::contention::CountdownRule;
use airqueue_wifi::mac::{Behaviour, CategoryConfig, MacConfig, Radio};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::{AccessCategory, Phy, Preamble, Protection, dsss, ofdm};
use std::ops::Range;

/// Results of several runs: packets per second of each station's flow, and the share of attempts that collided.
struct Figures(Vec<(Vec<f64>, f64)>);

impl Figures {
    /// Packets per second of some stations together.
    fn packets(&self, of_stations: Range<usize>) -> Estimate {
        let sum = |run: &(Vec<f64>, f64)| run.0[of_stations.clone()].iter().sum();
        of(&self.0.iter().map(sum).collect::<Vec<f64>>())
    }

    fn collided(&self) -> Estimate {
        of(&self.0.iter().map(|run| run.1).collect::<Vec<f64>>())
    }
}

fn simulated(spec: &CellSpec, seconds: i64) -> Figures {
    let spec = CellSpec { warm_up: cells::at(1), ..spec.clone() };
    let stations = spec.flows.len();
    let run = |seed| {
        let mut sim = spec.start(Seed(seed));
        sim.run_until(cells::at(1 + seconds));
        let network = sim.model;
        let attempts: u64 = (1..=stations)
            .map(|id| network.wlan().access(StationId(id as u32), AccessCategory::FIRST).attempts)
            .sum();
        let collided: u64 =
            (1..=stations).map(|id| network.wlan().station(StationId(id as u32)).collided).sum();
        let packets =
            |flow| network.flow(FlowId::at(flow)).delivered.packets as f64 / seconds as f64;
        ((0..stations).map(packets).collect(), collided as f64 / attempts as f64)
    };
    Figures((0..6).map(run).collect())
}

fn by_cycle(times: Times, stations: &[Access]) -> Figures {
    let run = |seed| {
        let Counts { time_ns, attempts, collided, successes } =
            cell_by_cycle::run(times, stations, 7, 40_000, Seed(seed));
        let packets = successes.iter().map(|&n| n as f64 * 1e9 / time_ns as f64).collect();
        (packets, collided as f64 / attempts as f64)
    };
    Figures((0..8).map(run).collect())
}

/// The cell in the engine and in the model.
fn both(phy: Phy, mbps: u64, rts: bool, stations: &[Access], seconds: i64) -> [Figures; 2] {
    let fast = rate(&phy, mbps);
    let control = phy.response_rate(fast);
    let ns = |span: airqueue_core::Span| span.as_nanos();
    let data = phy.airtime(fast, 1000 + DCF_OVERHEAD);
    let exchange = data + phy.sifs() + phy.ack(control);
    let protection = phy.protection(Protection::RtsCts, control);
    let times = Times {
        slot: ns(phy.slot()),
        sifs: ns(phy.sifs()),
        first: ns(if rts { phy.rts(control) } else { data }),
        exchange: ns(if rts { protection + exchange } else { exchange }),
        timeout: ns(phy.response_timeout(if rts { control } else { fast })),
        error_hold: ns(phy.eifs() - phy.difs()),
    };
    let mac = |access: &Access| MacConfig {
        experimental: true,
        rts_threshold_bytes: if rts { 0 } else { u32::MAX },
        ..MacConfig::new(vec![CategoryConfig {
            aifsn: access.aifsn as u32,
            w_min: access.w_min as u32,
            w_max: access.w_max as u32,
            countdown: access.rule,
            ..CategoryConfig::dcf(&phy)
        }])
    };
    let macs = stations[..1].iter().chain(stations).map(mac).collect();
    let flows = (1..=stations.len() as u32)
        .map(|from| saturated(from, 0, AccessCategory::FIRST, fast, 1000))
        .collect();
    let radio = Radio::new(phy, Behaviour::Standard.rules());
    let spec = CellSpec { flows, ..cell(radio, macs) };
    [simulated(&spec, seconds), by_cycle(times, stations)]
}

fn b(control: u64) -> Phy {
    let conventions = Behaviour::Standard.rules().conventions;
    let control = DataRate::from_bps(control * 1_000_000).unwrap();
    dsss(Preamble::Long, conventions).with_control_rate(control).unwrap()
}

fn dcf(phy: &Phy) -> Access {
    let (w_min, w_max) = (phy.w_min().into(), phy.w_max().into());
    Access { aifsn: 2, w_min, w_max, rule: CountdownRule::Freeze }
}

#[test]
fn cells_of_equal_stations() {
    let a = || ofdm(Behaviour::Standard.rules().conventions);
    for (name, phy, mbps, rts, stations, seconds) in [
        ("b, control 2", b(2), 11, false, 2, 60),
        ("b, control 2", b(2), 11, false, 10, 20),
        ("b, control 1", b(1), 11, true, 10, 20),
        ("b, control 1", b(1), 11, false, 30, 10),
        ("a", a(), 54, false, 5, 10),
        ("a", a(), 54, true, 10, 10),
    ] {
        let what = format!("{name} {mbps} Mb/s, RTS {rts}, {stations} stations");
        let [found, expected] = both(phy.clone(), mbps, rts, &vec![dcf(&phy); stations], seconds);
        agree(&what, found.packets(0..stations), expected.packets(0..stations), 0.005);
        agree(&what, found.collided(), expected.collided(), 0.02);
    }
}

/// Five stations with a short AIFS and a small window, and five with longer and larger ones: the throughput of each
/// class, under both rules.
#[test]
fn cells_of_two_classes() {
    for rule in [CountdownRule::Edca, CountdownRule::Freeze] {
        let phy = b(2);
        let high = Access { aifsn: 2, w_min: 16, w_max: 1024, rule };
        let low = Access { aifsn: 3, w_min: 32, w_max: 1024, rule };
        let stations = [[high; 5], [low; 5]].concat();
        let [found, expected] = both(phy, 11, false, &stations, 60);
        for class in [0..5, 5..10] {
            let what = format!("{rule:?} {class:?}");
            agree(&what, found.packets(class.clone()), expected.packets(class), 0.02);
        }
        agree(&format!("{rule:?}"), found.collided(), expected.collided(), 0.015);
    }
}
