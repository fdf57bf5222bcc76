//! TCP against results computed by hand.

use crate::bottleneck::{RTT_MS, through_bottleneck};
use crate::link::{Link, Network, To, Wire};
use crate::script::{MSS, at, plain, selective};
use airqueue_core::{Span, Time};
use airqueue_transport::tcp::{AckEvery, CongestionName, Segment, TcpSpec};

fn wire() -> Wire {
    Wire { one_way: Span::from_millis(RTT_MS / 2) }
}

fn each_answered(mut spec: TcpSpec) -> TcpSpec {
    spec.receiver.acknowledge = AckEvery::Fixed(1);
    spec
}

/// W* segments per round trip, exactly.
#[test]
fn a_window_per_round_trip() {
    for window in [1, 2, 7, 64] {
        let mut spec = each_answered(plain(2));
        spec.sender.window_segments = window;
        let mut link = Link::new(&spec, wire());
        link.sender.write(u64::MAX / 2);
        link.run_until(at(2025));
        let before = link.receiver.delivered_bytes();
        link.run_until(at(2025 + 50 * RTT_MS));
        let delivered = link.receiver.delivered_bytes() - before;
        assert_eq!(delivered, 50 * u64::from(window) * MSS);
    }
}

/// In slow start from one segment, 2^k - 1 segments take k round trips, and the handshake takes one more.
#[test]
fn slow_start_takes_a_logarithm() {
    for k in 1..=10 {
        let mut spec = each_answered(plain(1));
        spec.opening = airqueue_transport::tcp::Opening::BySender;
        let mut link = Link::new(&spec, wire());
        link.sender.write(((1 << k) - 1) * MSS);
        link.sender.close();
        while !link.sender.is_finished() {
            assert!(link.step());
        }
        assert_eq!(link.now, at(RTT_MS * (1 + k)));
    }
}

/// A single segment at the end of a transfer waits for the timer: d = 3 and four segments, three of which share an
/// acknowledgement.
#[test]
fn an_incomplete_batch_waits_for_the_timer() {
    let mut spec = plain(3);
    spec.receiver.acknowledge = AckEvery::Fixed(3);
    spec.receiver.delay = Span::from_millis(40);
    let mut link = Link::new(&spec, wire());
    link.sender.write(4 * MSS);
    while link.sender.backlog_bytes() > 0 {
        assert!(link.step());
    }
    assert_eq!(link.now, at(2 * RTT_MS + 40));
}

/// The sawtooth of Reno: a window between W/2 and W = P + B, with P packets in flight on the path and a buffer of B.
/// While the window is below P a round takes the round-trip time, above P it takes W packet times. With x = W/P (at
/// most 2): share = (3/8) x² / (1 - x/2 + (x² - 1)/2). Within 3 %: detection and recovery take two of some tens of
/// rounds.
#[test]
fn a_small_buffer_costs_what_the_sawtooth_says() {
    let bps = 8 * 1040 * 400; // 400 packets a second, 40 in a round trip
    for buffer in [8, 16, 32] {
        let x: f64 = 1.0 + f64::from(buffer) / 41.0; // 100 ms and a packet's own time
        let theory = 0.375 * x * x / (1.0 - x / 2.0 + (x * x - 1.0) / 2.0);
        for spec in [each_answered(plain(2)), each_answered(selective(2))] {
            let seen = through_bottleneck(&spec, bps, buffer as usize);
            assert_eq!(seen.timeouts, 0);
            let share = seen.share;
            assert!((share / theory - 1.0).abs() < 0.03, "{buffer}: {share} for {theory}");
        }
    }
}

/// With B >= P the link never idles, and the window, whose rounds last W packet times, has the mean (2/3)(1 - 1/8)/(1 -
/// 1/4) W = 7/9 W; the buffer holds the excess over P. Within 5 % of W.
#[test]
fn a_large_buffer_leaves_a_mean_window_of_seven_ninths() {
    let bps = 8 * 1040 * 400;
    for buffer in [50, 80, 120] {
        let peak = f64::from(buffer) + 40.0;
        let theory = 7.0 / 9.0 * peak - 40.0;
        for spec in [each_answered(plain(2)), each_answered(selective(2))] {
            let seen = through_bottleneck(&spec, bps, buffer as usize);
            let (share, queue) = (seen.share, seen.queue);
            assert!(share > 0.99, "{buffer}: {share}");
            assert!((queue - theory).abs() < 0.05 * peak, "{buffer}: {queue} for {theory}");
        }
    }
}

/// CUBIC after a loss with a window of W_max: the time until the next is K = cbrt(W_max (1 - β) / C) to the plateau
/// (RFC 9438, equation 2) and beyond it until the buffer is full again. CUBIC uses the link better than Reno with this
/// small buffer.
#[test]
fn cubic_fills_a_small_buffer_better() {
    let bps = 8 * 1040 * 4000;
    let reno = each_answered(selective(2));
    let mut cubic = reno;
    cubic.sender.congestion = CongestionName::Cubic;
    let buffer = 40; // a tenth of the path
    let x: f64 = 1.0 + 40.0 / 400.0;
    let theory = 0.375 * x * x / (1.0 - x / 2.0 + (x * x - 1.0) / 2.0);
    let reno = through_bottleneck(&reno, bps, buffer).share;
    let cubic = through_bottleneck(&cubic, bps, buffer).share;
    assert!((reno / theory - 1.0).abs() < 0.03, "{reno} for {theory}");
    assert!(cubic > reno + 0.05, "{cubic} and {reno}");
}

/// A wire that loses every n-th data segment.
struct Lossy {
    every: u64,
    seen: u64,
}

impl Network for Lossy {
    fn carry(&mut self, to: To, segment: &mut Segment, now: Time, arrivals: &mut Vec<Time>) {
        self.seen += u64::from(to == To::Receiver);
        if to == To::Sender || !self.seen.is_multiple_of(self.every) {
            wire().carry(to, segment, now, arrivals);
        }
    }
}

/// Mean window in segments with one loss in `every`.
fn mean_window(congestion: CongestionName, every: u64) -> f64 {
    let mut spec = each_answered(selective(2));
    spec.sender.congestion = congestion;
    let mut link = Link::new(&spec, Lossy { every, seen: 0 });
    link.sender.write(u64::MAX / 2);
    link.run_until(at(200_000));
    let before = link.receiver.delivered_bytes();
    link.run_until(at(1_000_000));
    let packets = (link.receiver.delivered_bytes() - before) as f64 / MSS as f64;
    packets / 800.0 * RTT_MS as f64 / 1000.0
}

/// One loss in 1/p segments: Reno has a mean window of sqrt(3/2 / p), CUBIC on a long path one of (C (3 + β) / (4 (1 -
/// β)))^(1/4) (RTT/p)^(3/4) = 1.054 (RTT/p)^(3/4) (RFC 9438, section 5.1). Reno within 5 %, CUBIC within 10 %: the
/// formula has no fast convergence, which makes W_max alternate when losses occur at equal windows.
#[test]
fn rare_losses_give_the_mean_window() {
    let check = |congestion, every: u64, theory: f64, tolerance: f64| {
        let mean = mean_window(congestion, every);
        let off = (mean / theory - 1.0).abs();
        assert!(off < tolerance, "{congestion:?}, one in {every}: {mean} for {theory}");
    };
    for every in [1_000, 10_000, 40_000] {
        check(CongestionName::NewReno, every, (1.5 * every as f64).sqrt(), 0.05);
    }
    for every in [10_000, 40_000] {
        check(CongestionName::Cubic, every, 1.054 * (0.1 * every as f64).powf(0.75), 0.1);
    }
}
