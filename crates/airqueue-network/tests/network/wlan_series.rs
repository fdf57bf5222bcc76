//! Time series sum to the counters of the network, and change no result.

use crate::cells;
use crate::cells::CellSpec;
use airqueue_core::{DataRate, FlowKey, Seed, Span, Time};
use airqueue_network::FlowId;
use airqueue_network::network::series::{Series, SeriesError};
use airqueue_network::network::{Network, QueueId};
use airqueue_network::run_loop::Simulation;
use airqueue_network::wlan::tap::{Recording, TracedFrame};
use airqueue_transport::traffic::{Arrivals, SourceSpec};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;
use std::collections::HashSet;

const INTERVAL: Span = Span::from_millis(100);

/// A cell whose first flow overloads its queue for a while; counting begins within an interval.
fn cell() -> CellSpec {
    let mut spec = cells::uploads(3);
    spec.flows[0].source = SourceSpec {
        arrivals: Arrivals::Poisson(DataRate::from_bps(6_000_000).unwrap()),
        size_bytes: 1000,
        start: Time::ZERO + Span::from_millis(500),
        stop: Time::ZERO + Span::from_millis(1500),
    };
    spec.warm_up = Time::ZERO + Span::from_millis(777);
    spec
}

fn series(end: Time) -> Series {
    Series::new(
        INTERVAL,
        end,
        &[FlowId(0), FlowId(2)],
        &[
            QueueId::Station(StationId(1), AccessCategory::FIRST),
            QueueId::Station(StationId(2), AccessCategory::FIRST),
        ],
    )
    .unwrap()
}

/// Runs in pieces unrelated to the interval.
fn run(spec: &CellSpec, series: &mut Series) -> Simulation<Network> {
    let mut sim = spec.start(Seed(5));
    sim.model.wlan_mut().plug(Box::new(Recording::default()));
    for ms in [0, 130, 131, 500, 1000, 2050] {
        series.run_before(&mut sim, Time::ZERO + Span::from_millis(ms));
    }
    sim
}

#[test]
fn throughput_and_delay_are_those_of_the_frames_of_the_interval() {
    let (spec, mut series) = (cell(), series(cells::at(2)));
    let recording: Recording = run(&spec, &mut series).model.wlan_mut().unplug().unwrap();
    let ends: Vec<i64> = series.ends.iter().map(|end| end.as_nanos()).collect();
    assert_eq!(ends, (1..=20).map(|k| k * 100_000_000).collect::<Vec<i64>>());
    let mut known = HashSet::new();
    let arrives =
        |traced: &&TracedFrame| traced.at_receiver().is_some_and(|reception| reception.decoded());
    let arrivals: Vec<(Time, _)> = (recording.frames.iter().filter(arrives))
        .flat_map(|traced| traced.carried.iter().map(|carried| (traced.ends, carried.packet)))
        .filter(|(_, packet)| known.insert(packet.id))
        .collect();
    for of in &series.flows {
        let (mut throughputs, mut delays) = (Vec::new(), Vec::new());
        for &end in &series.ends {
            let within = |&&(at, ref packet): &&(Time, airqueue_core::Packet)| {
                packet.flow == FlowKey(of.flow.0) && end - INTERVAL <= at && at < end
            };
            let packets: Vec<_> = arrivals.iter().filter(within).collect();
            let delay: i64 = packets.iter().map(|(at, p)| (*at - p.created).as_nanos()).sum();
            throughputs.push(packets.len() as f64 * 8000.0 / 0.1);
            delays.push(delay as f64 * 1e-9 / packets.len() as f64);
        }
        let close = |a: &f64, b: &f64| (a - b).abs() <= 1e-9 * b.abs() || a.is_nan() && b.is_nan();
        assert!(of.throughput_bps.iter().zip(&throughputs).all(|(a, b)| close(a, b)));
        assert!(of.delay_mean_s.iter().zip(&delays).all(|(a, b)| close(a, b)));
    }
    assert!(series.flows[0].delay_mean_s[0].is_nan(), "nothing comes before the start");
    assert!(series.flows[0].throughput_bps[8] > 0.0);
}

#[test]
fn queues_fill_and_drain() {
    let (spec, mut series) = (cell(), series(cells::at(2)));
    run(&spec, &mut series);
    let [overloaded, saturated] = &series.queues[..] else { panic!("two queues") };
    assert!(overloaded.length_mean_packets[..5].iter().all(|&mean| mean == 0.0));
    assert_eq!(overloaded.length_mean_packets.iter().copied().fold(0.0, f64::max).round(), 50.0);
    assert!(overloaded.length_packets.iter().all(|&n| n <= 50.0));
    // A saturated source keeps one packet waiting behind the packet in the MAC.
    assert!(saturated.length_packets.iter().all(|&n| n == 1.0));
    assert!(saturated.length_mean_packets[1..].iter().all(|&mean| (mean - 1.0).abs() < 1e-12));
}

#[test]
fn the_mean_of_all_intervals_is_what_the_network_counts() {
    let (mut spec, mut series) = (cell(), series(cells::at(2)));
    spec.warm_up = Time::ZERO;
    let mut sim = spec.start(Seed(5));
    series.run_before(&mut sim, cells::at(2));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let counted = sim.model.flow(FlowId(0)).delivered.bytes as f64 * 8.0 / 2.0;
    assert!((mean(&series.flows[0].throughput_bps) / counted - 1.0).abs() < 1e-12);
    let counted = sim
        .model
        .queue(QueueId::Station(StationId(1), AccessCategory::FIRST), cells::at(2))
        .occupancy
        .packet_time as f64
        * 1e-9
        / 2.0;
    assert!((mean(&series.queues[0].length_mean_packets) / counted - 1.0).abs() < 1e-12);
}

#[test]
fn a_flow_without_tcp_has_no_window() {
    let (spec, mut series) = (cell(), series(cells::at(2)));
    run(&spec, &mut series);
    assert!(series.flows.iter().all(|of| of.cwnd_bytes.iter().all(|window| window.is_nan())));
}

#[test]
fn it_changes_nothing() {
    let (spec, mut series) = (cell(), series(cells::at(2)));
    let watched = run(&spec, &mut series);
    let mut plain = spec.start(Seed(5));
    plain.run_until(Time::ZERO + Span::from_millis(2050));
    for flow in 0..3 {
        assert_eq!(watched.model.flow(FlowId::at(flow)), plain.model.flow(FlowId::at(flow)));
    }
}

#[test]
fn what_cannot_be_recorded_is_refused() {
    let new = |interval, end| Series::new(interval, end, &[FlowId(0)], &[]).unwrap_err();
    assert_eq!(new(Span::ZERO, cells::at(1)), SeriesError::Interval(Span::ZERO));
    let many = new(Span::from_nanos(1), cells::at(1));
    assert_eq!(many, SeriesError::TooMany { rows: 1_000_000_000, columns: 5 });
}
