//! Sessions of the APQ method, and the published formula on their records.

use airqueue_core::Span;
use airqueue_path::SimulatedPath;
use airqueue_probe::client::Direction;
use airqueue_probe::plan::{Plan, Segment};
use airqueue_probe::records::{MISSING, Run, RunEnd};

pub const FLOOD: u8 = 0;
pub const PROBE: u8 = 1;
pub const SIZE: u16 = 1500;

pub fn cbr(flow: u8, start_s: f64, end_s: f64, rate: f64) -> Segment {
    let duration_s = end_s - start_s;
    Segment {
        flow,
        start: Span::from_secs_f64(start_s),
        duration: Span::from_secs_f64(duration_s),
        count: (duration_s * rate).round() as u32,
        size: SIZE,
        traffic_class: 0,
    }
}

/// A sparse flow throughout, a flood of 1.25 times the path's `rate` in packets/s long enough to fill n
/// packets, and time to drain. Returns the plan and the window in which the queue is full.
pub fn session(n: u32, rate: f64) -> (Plan, std::ops::Range<f64>) {
    let fill = f64::from(n) / (0.25 * rate);
    let (start, full, end) = (2.0, 3.0 + fill, 8.0 + 2.0 * fill);
    let drain = f64::from(n) / rate + 2.0;
    let segments = vec![cbr(PROBE, 0.0, end + drain, 10.0), cbr(FLOOD, start, end, 1.25 * rate)];
    (Plan { segments }, full..end)
}

pub fn run(path: &mut SimulatedPath, plan: &Plan, direction: Direction) -> Run {
    let run = path.run(plan, direction).expect("the run is carried out");
    assert_eq!(run.end, RunEnd::Complete);
    assert_eq!(run.records.sent_ns.len() as u64, plan.packet_count());
    run
}

/// Delay in seconds of each received packet, with its row.
pub fn delays(run: &Run) -> Vec<(usize, f64)> {
    let r = &run.records;
    (0..r.sent_ns.len())
        .filter(|&i| r.sent_ns[i] != MISSING && r.received_ns[i] != MISSING)
        .map(|i| (i, (r.received_ns[i] - r.sent_ns[i]) as f64 * 1e-9))
        .collect()
}

pub fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0), |(sum, n), v| (sum + v, n + 1));
    assert!(n > 0, "no values");
    sum / f64::from(n)
}

/// (D_h - D_l) T / s, Eq. (1) of the APQ paper, with means and the rate of all packets.
pub fn published(run: &Run, full: &std::ops::Range<f64>) -> f64 {
    let at = |i: usize| run.records.scheduled_ns[i] as f64 * 1e-9;
    let delays = delays(run);
    let loaded: Vec<(usize, f64)> =
        delays.iter().copied().filter(|(i, _)| full.contains(&at(*i))).collect();
    let quiet = mean(delays.iter().filter(|(i, _)| at(*i) < 2.0).map(|(_, d)| *d));
    // Packets sent in the window also arrive one full delay later, at an equal rate.
    let rate = loaded.len() as f64 / (full.end - full.start);
    (mean(loaded.iter().map(|(_, d)| *d)) - quiet) * rate
}
