//! In every network, every byte is delivered once and in order, and the sender learns of its delivery.

use crate::link::{Link, Network, To};
use crate::script::MSS;
use airqueue_core::keys::Word;
use airqueue_core::{DataRate, Ecn, RandomStream, Seed, Span, Time};
use airqueue_transport::tcp::{
    AckEvery, CongestionName, CubicBehaviour, Growth, IdleRestart, InitialWindow, LossDetection,
    Opening, Pacing, RtoSpec, Segment, Spread, TcpApSpec, TcpSpec,
};
use proptest::prelude::*;

/// A network that loses, duplicates, delays and therefore reorders segments.
struct Hostile {
    rng: RandomStream,
    loss: f64,
    duplication: f64,
    jitter: Span,
}

impl Network for Hostile {
    fn carry(&mut self, _: To, _: &mut Segment, now: Time, arrivals: &mut Vec<Time>) {
        for copy in 0..2 {
            let lost = self.rng.bernoulli(self.loss);
            let wanted = copy == 0 || self.rng.bernoulli(self.duplication);
            if wanted && !lost {
                arrivals.push(now + Span::from_millis(20) + self.rng.span_below(self.jitter));
            }
        }
    }
}

fn adaptive() -> TcpApSpec {
    let rate = DataRate::from_bps(11_000_000).unwrap();
    TcpApSpec { hops: 4, rate, overhead_bytes: 112, spread: Spread::MeanAbsolute }
}

fn specs() -> impl Strategy<Value = TcpSpec> {
    let opening =
        prop_oneof![Just(Opening::BySender), Just(Opening::ByReceiver), Just(Opening::Open)];
    let growth = prop_oneof![
        Just(Growth::PerAck),
        (1u32..4).prop_map(|n| Growth::Bytes { segments_per_ack: n })
    ];
    let pacing = prop_oneof![
        Just(Pacing::Off),
        Just(Pacing::Window { slow_start: 2.0, avoidance: 1.2 }),
        Just(Pacing::TcpAp(adaptive()))
    ];
    let acknowledge =
        prop_oneof![(1u32..6).prop_map(AckEvery::Fixed), Just(AckEvery::Dynamic([2, 5, 9]))];
    let congestion = prop::sample::select(CongestionName::ALL);
    let cubic = prop_oneof![Just(CubicBehaviour::Rfc9438), Just(CubicBehaviour::Linux)];
    let algorithm = (congestion, cubic);
    let rto = prop_oneof![Just(RtoSpec::RFC_6298), Just(RtoSpec::NS2), Just(RtoSpec::LINUX)];
    let switches = prop::array::uniform8(any::<bool>());
    (opening, growth, pacing, acknowledge, algorithm, rto, switches, 1u32..40, 1u32..12).prop_map(
        |(opening, growth, pacing, acknowledge, (congestion, cubic), rto, on, window, initial)| {
            let mut spec = TcpSpec { opening, ecn: on[0], ..TcpSpec::standard(MSS as u32) };
            spec.sack = on[1];
            spec.timestamps = on[2].then_some(Span::from_millis(1));
            let sender = &mut spec.sender;
            (sender.growth, sender.pacing, sender.rto) = (growth, pacing, rto);
            (sender.congestion, sender.cubic, sender.window_segments) = (congestion, cubic, window);
            sender.loss_detection =
                if on[6] { LossDetection::Timing } else { LossDetection::Counting };
            sender.initial_window = InitialWindow::Segments(initial);
            (sender.limited_transmit, sender.nagle) = (on[3], on[5]);
            sender.idle_restart = if on[4] { IdleRestart::OneSegment } else { IdleRestart::Off };
            spec.receiver.acknowledge = acknowledge;
            spec.receiver.at_once_first = if on[7] { initial } else { 0 };
            congestion.requirements().meet(&mut spec);
            spec
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn everything_arrives_once(
        spec in specs(),
        seed: u64,
        loss in 0.0..0.3f64,
        duplication in 0.0..0.2f64,
        jitter_ms in 0i64..60,
        writes in prop::collection::vec(1u64..30_000, 1..6),
    ) {
        let network = Hostile {
            rng: Seed(seed).stream("network"),
            loss,
            duplication,
            jitter: Span::from_millis(jitter_ms),
        };
        let mut link = Link::new(&spec, network);
        let total: u64 = writes.iter().sum();
        let mut delivered = 0;
        for bytes in writes {
            link.sender.write(bytes);
            for _ in 0..20 {
                link.step();
                prop_assert!(link.receiver.delivered_bytes() >= delivered);
                delivered = link.receiver.delivered_bytes();
            }
        }
        link.sender.close();
        for _ in 0..200_000 {
            if !link.step() {
                break;
            }
        }
        prop_assert!(link.sender.is_finished() && link.receiver.is_finished());
        prop_assert_eq!(link.receiver.delivered_bytes(), total);
        let counters = link.sender.counters();
        prop_assert_eq!(counters.acknowledged_bytes, total);
        // Each segment sent arrived or was lost; all further arrivals were duplicates.
        let received = link.receiver.counters();
        prop_assert!(counters.sent_bytes >= total);
        prop_assert!(received.segments - received.duplicates <= counters.segments);
        prop_assert_eq!(link.sender.next_timer(), Time::MAX);
    }

    /// In a network without loss and reordering no segment is sent twice, with any settings, as long as
    /// acknowledgements are delayed by less than the shortest timeout, 200 ms in ns-2. A tail loss probe is sent after
    /// two round trips, and may be unnecessary where acknowledgements are delayed longer. Without D-SACK the sender
    /// then takes the probe for the repair of a loss and reduces its window (RFC 8985, section 7.4.2), and marks in
    /// that window of data cause no second reduction (RFC 3168, section 6.1.2).
    #[test]
    fn nothing_is_sent_twice_without_need(
        mut spec in specs(),
        segments in 1u64..200,
        marks: bool,
    ) {
        spec.receiver.delay = Span::from_millis(100);
        let mut link = Link::new(&spec, Marking { on: marks, seen: 0 });
        link.sender.write(segments * MSS);
        link.sender.close();
        while link.step() {}
        prop_assert!(link.receiver.is_finished());
        let counters = link.sender.counters();
        prop_assert!(counters.retransmitted <= counters.probes);
        prop_assert_eq!(counters.timeouts, 0);
        let marked = spec.ecn && marks && segments >= 7;
        let reduced = counters.ecn_reductions > 0;
        prop_assert!(reduced == marked || (marked && counters.probes > 0), "{counters:?}");
    }
}

/// A delay of 20 ms, and, if enabled, a mark on every seventh ECN-capable segment.
struct Marking {
    on: bool,
    seen: u64,
}

impl Network for Marking {
    fn carry(&mut self, _: To, segment: &mut Segment, now: Time, arrivals: &mut Vec<Time>) {
        self.seen += u64::from(segment.ecn == Ecn::Ect);
        if self.on && segment.ecn == Ecn::Ect && self.seen.is_multiple_of(7) {
            segment.ecn = Ecn::Ce;
        }
        arrivals.push(now + Span::from_millis(20));
    }
}
