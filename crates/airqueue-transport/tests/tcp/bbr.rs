//! BBR on a bottleneck of constant rate, against results that follow from its gains.

use crate::bottleneck::{Bottleneck, RTT_MS, through_bottleneck};
use crate::link::{Link, Network, To};
use crate::script::{MSS, at};
use airqueue_core::{DataRate, RandomStream, Seed, Span, Time};
use airqueue_transport::tcp::{
    CongestionName, HeaderSize, LossDetection, Opening, Pacing, Segment, Sender, SpecError, Spread,
    TcpApSpec, TcpSpec, Unmet,
};

/// 400 packets of 1040 bytes a second: 40 in a round trip of 100 ms.
const BPS: u64 = 8 * 1040 * 400;
const PATH: f64 = 40.0;

fn governed_by(congestion: CongestionName) -> TcpSpec {
    let mut spec = TcpSpec::linux(MSS as u32);
    spec.sender.segmentation_offload = false;
    spec.header = HeaderSize::Fixed(40);
    spec.timestamps = None;
    spec.sender.congestion = congestion;
    spec
}

fn bbr() -> TcpSpec {
    governed_by(CongestionName::Bbr)
}

fn link(buffer: usize) -> Link<Bottleneck> {
    let bottleneck = Bottleneck::new(BPS, buffer, Span::from_millis(RTT_MS / 2), 0);
    let mut link = Link::new(&bbr(), bottleneck);
    link.sender.write(u64::MAX / 2);
    link
}

/// BBR fills the link, except for ProbeRTT, which costs at most 200 ms and two round trips in ten seconds: 4 %. The
/// window is twice the bandwidth-delay product, so that the queue is at most one such product and the budget of six
/// packets. With room for that no packet is dropped after Startup; Startup, at 2.89 times the product, needs room for
/// two.
#[test]
fn it_fills_a_link_and_not_its_buffer() {
    for buffer in [100, 1000] {
        let seen = through_bottleneck(&bbr(), BPS, buffer);
        assert!((0.96..=1.0).contains(&seen.share), "{buffer}: {}", seen.share);
        assert!(seen.queue < PATH, "{buffer}: {}", seen.queue);
        assert_eq!((seen.dropped, seen.timeouts), (0, 0));
    }
}

/// A buffer of a tenth of the bandwidth-delay product, where NewReno stays at the share of its sawtooth, (3/8) x² / (1
/// - x/2 + (x² - 1)/2) with x = 1.1, which is 0.817. BBR loses a part of its probes, but stays above 0.9.
#[test]
fn a_short_buffer_does_not_slow_it_down() {
    let seen = through_bottleneck(&bbr(), BPS, 8);
    assert!(seen.share > 0.9, "{}", seen.share);
    assert_eq!(seen.timeouts, 0);
}

/// The periods with a window of four segments, in ms: (beginning, length), sampled every 10 ms.
fn dips(link: &mut Link<Bottleneck>, until_ms: i64) -> Vec<(i64, i64)> {
    let mut dips: Vec<(i64, i64)> = vec![];
    for ms in (1000..until_ms).step_by(10) {
        link.run_until(at(ms));
        if link.sender.cwnd_bytes() > 4 * MSS {
            continue;
        }
        match dips.last_mut() {
            Some((began, length)) if *began + *length == ms => *length += 10,
            _ => dips.push((ms, 10)),
        }
    }
    dips
}

/// ProbeRTT begins ten seconds after the shortest round trip was last found, at the latest at the end of the previous
/// ProbeRTT: two beginnings are 10 s apart, plus at most the duration of ProbeRTT and some round trips, less than 1 s.
/// ProbeRTT takes 200 ms, and one to three round trips: to drain, to complete a round, and to detect its end.
#[test]
fn probe_rtt_comes_every_ten_seconds() {
    let found = dips(&mut link(1000), 95_000);
    assert_eq!(found.len(), 9, "{found:?}");
    for pair in found.windows(2) {
        let apart = pair[1].0 - pair[0].0;
        assert!((10_000..=11_000).contains(&apart), "{found:?}");
    }
    assert!(found.iter().all(|&(_, length)| (200..=200 + 3 * RTT_MS + 20).contains(&length)));
}

/// A link without a queue that loses each data segment independently with a fixed probability.
struct Lossy {
    bottleneck: Bottleneck,
    loss: f64,
    draws: RandomStream,
}

impl Network for Lossy {
    fn carry(&mut self, to: To, segment: &mut Segment, now: Time, arrivals: &mut Vec<Time>) {
        if to == To::Sender || !self.draws.bernoulli(self.loss) {
            self.bottleneck.carry(to, segment, now, arrivals);
        }
    }
}

/// Share of the link from 20 to 220 s with a random loss of 1 %, on a path with a bandwidth-delay product of 400
/// packets.
fn share_with_loss(congestion: CongestionName) -> f64 {
    let bottleneck = Bottleneck::new(10 * BPS, 400, Span::from_millis(RTT_MS / 2), 0);
    let lossy = Lossy { bottleneck, loss: 0.01, draws: Seed(1).stream("loss") };
    let mut link = Link::new(&governed_by(congestion), lossy);
    link.sender.write(u64::MAX / 2);
    link.run_until(at(20_000));
    let before = link.receiver.delivered_bytes();
    link.run_until(at(220_000));
    (link.receiver.delivered_bytes() - before) as f64 / MSS as f64 / (200.0 * 4000.0)
}

/// NewReno's window would be sqrt(1.5/p) = 12 segments, CUBIC's at least as large and below 1.054 (RTT/p)^(3/4) + 12 =
/// 18 (RFC 9438, section 5): 3 and 4.5 % of the 400 packets of the path. BBR sends at 0.99 of the bandwidth, of which 1
/// % is lost, and ProbeRTT takes up to 4 %: 94 % at least.
#[test]
fn random_losses_do_not_slow_it_down() {
    let shares =
        [CongestionName::NewReno, CongestionName::Cubic, CongestionName::Bbr].map(share_with_loss);
    let [reno, cubic, bbr] = shares;
    assert!(reno < 0.05 && cubic < 0.06, "{shares:?}");
    assert!(bbr > 0.94, "{bbr}");
}

/// The random stream determines a run to the byte.
#[test]
fn draws_determine_a_run() {
    let run = |seed: u64| {
        let mut link = link(1000);
        link.sender = Sender::with_draws(&bbr(), Seed(seed).stream("tcp/0")).unwrap();
        link.sender.write(u64::MAX / 2);
        let mut seen = vec![];
        for step in 1..400 {
            link.run_until(at(10 * step));
            seen.push((link.receiver.delivered_bytes(), link.sender.cwnd_bytes()));
        }
        seen
    };
    assert_eq!(run(1), run(1));
    assert!((2..6).any(|seed| run(seed) != run(1)), "the phase of the first cycle is drawn");
}

/// An application that writes one segment every 100 ms does not lower the bandwidth estimate. Afterwards a large
/// transfer continues at the earlier rate, without Startup: 20 s at 400 packets a second, less 5 % for ProbeRTT and
/// segments in flight.
#[test]
fn an_idle_application_does_not_lower_the_bandwidth() {
    let mut link = Link::new(&bbr(), Bottleneck::new(BPS, 1000, Span::from_millis(50), 0));
    link.sender.write(2000 * MSS);
    link.run_until(at(6000));
    assert_eq!(link.sender.backlog_bytes(), 0);
    for step in 0..300 {
        link.run_until(at(6000 + 100 * step));
        link.sender.write(MSS);
    }
    link.run_until(at(36_500));
    let before = link.receiver.delivered_bytes();
    link.sender.write(u64::MAX / 4);
    link.run_until(at(56_500));
    let packets = (link.receiver.delivered_bytes() - before) / MSS;
    assert!((7600..=8000).contains(&packets), "{packets}");
}

/// Requirements of BBR, and settings that it excludes.
#[test]
fn requirements_of_bbr_are_checked() {
    let refusal = |change: &dyn Fn(&mut TcpSpec)| {
        let mut spec = bbr();
        change(&mut spec);
        Sender::new(&spec).map(drop)
    };
    let rate = DataRate::from_bps(1_000_000).unwrap();
    let tcp_ap = TcpApSpec { hops: 4, rate, overhead_bytes: 112, spread: Spread::Deviation };
    let needs = CongestionName::Bbr.requirements();
    let [sack, by_time, own] =
        [needs.sack, needs.loss_by_time, needs.own_pacing].map(Option::unwrap);
    let unmet = |unmet| Err(SpecError::Congestion(unmet));
    assert_eq!(refusal(&|spec| spec.sack = false), unmet(Unmet::Sack(sack)));
    let counting = |spec: &mut TcpSpec| spec.sender.loss_detection = LossDetection::Counting;
    assert_eq!(refusal(&counting), unmet(Unmet::LossByTime(by_time)));
    let adaptive = |spec: &mut TcpSpec| spec.sender.pacing = Pacing::TcpAp(tcp_ap);
    assert_eq!(refusal(&adaptive), unmet(Unmet::OwnPacing(own)));
    assert_eq!(refusal(&|spec| spec.opening = Opening::Open), Ok(()));
}
