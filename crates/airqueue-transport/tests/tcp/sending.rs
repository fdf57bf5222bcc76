//! Segments of a sender without losses.

use crate::script::{MSS, NONE, Script, ack, at, bare, octet, plain, selective, stamped};
use airqueue_core::{DataRate, Ecn, Span, Time};
use airqueue_transport::tcp::{
    CongestionName, CubicBehaviour, Growth, IdleRestart, InitialWindow, Pacing, Segment, Sender,
    SpecError, Spread, TcpApSpec, TcpSpec,
};

/// RFC 5681, equation 2: each acknowledgement lets two segments out.
#[test]
fn slow_start_doubles() {
    let mut s = Script::backlogged(&plain(2));
    assert_eq!(s.sent(), [1, 2]);
    assert_eq!(s.on_ack(1), [3, 4]);
    assert_eq!(s.on_ack(2), [5, 6]);
    assert_eq!(s.on_ack(4), [7, 8, 9]); // L = 1: one segment, however much it acknowledges
    assert_eq!(s.on_ack(4), NONE);
    assert_eq!(s.cwnd(), 5.0);
}

/// RFC 5681, section 3.1: after a timeout with 8 outstanding, up to 4 in slow start, then one segment more
/// for each window.
#[test]
fn congestion_avoidance_adds_one_a_round() {
    for (growth, rounds) in [
        (Growth::Bytes { segments_per_ack: 1 }, [1, 2, 4, 5, 6, 7]),
        // 1/4, 1/4.25 and so on add up to less than one.
        (Growth::PerAck, [1, 2, 4, 4, 5, 6]),
    ] {
        let mut spec = plain(8);
        spec.sender.growth = growth;
        let mut s = Script::backlogged(&spec);
        assert_eq!(s.sent().len(), 8);
        assert_eq!(s.timer_at(1000), [1]);
        assert_eq!(s.ssthresh(), 4.0);
        let (mut acked, mut outstanding) = (0, 1);
        for round in rounds {
            assert_eq!(outstanding, round, "{growth:?}");
            let sent = (0..outstanding).map(|i| s.on_ack(acked + i + 1).len() as u64).sum();
            acked += outstanding;
            outstanding = sent;
        }
    }
}

#[test]
fn the_initial_window_is_that_of_rfc_6928() {
    // Section 2: min(10 MSS, max(2 MSS, 14600))
    for (mss, segments) in [(1000, 10), (1460, 10), (4000, 3), (9000, 2)] {
        let mut spec = plain(1);
        spec.mss_bytes = mss;
        spec.sender.initial_window = InitialWindow::Rfc6928;
        assert_eq!(Script::backlogged(&spec).segments().len(), segments);
    }
}

/// The receiver's window, W*, limits outstanding segments; with W* = 1 one segment at a time.
#[test]
fn the_window_bounds_what_is_outstanding() {
    let mut spec = plain(10);
    spec.sender.window_segments = 1;
    let mut s = Script::backlogged(&spec);
    for n in 0..50 {
        assert_eq!(s.sent(), [n + 1]);
        s.sender.on_segment(&ack(n + 1), s.now);
    }
    // RFC 7661: an unused window does not grow.
    assert_eq!(s.cwnd(), 10.0);
}

/// RFC 5681, section 4.1: a pause longer than the timeout restarts from the restart window; after a shorter pause the
/// window stays.
#[test]
fn a_pause_restarts_slowly() {
    let cases = [
        (IdleRestart::InitialWindow, 1000, 6),
        (IdleRestart::InitialWindow, 1001, 2),
        (IdleRestart::OneSegment, 1001, 1),
        (IdleRestart::Off, 5000, 6),
    ];
    for (restart, pause_ms, segments) in cases {
        let mut spec = plain(2);
        spec.sender.idle_restart = restart;
        let mut s = Script::new(&spec);
        s.sender.write(6 * MSS);
        assert_eq!(s.sent(), [1, 2]);
        s.on_ack(1);
        s.on_ack(2);
        assert_eq!(s.on_ack(3), NONE);
        s.on_ack(6);
        assert_eq!((s.cwnd(), s.sender.rto()), (6.0, Span::from_secs(1)));
        assert_eq!(s.sender.next_timer(), Time::MAX);
        s.now += Span::from_millis(pause_ms);
        s.sender.write(10 * MSS);
        assert_eq!(s.sent().len(), segments, "{restart:?} {pause_ms}");
    }
}

/// RFC 3168, section 6.1.2: half the window, once for a window of data, and CWR on the next new segment.
#[test]
fn marks_reduce_the_window_once_per_window() {
    let mut s = Script::backlogged(&TcpSpec { ecn: true, ..plain(8) });
    assert!(s.segments().iter().all(|s| s.ecn == Ecn::Ect && !s.cwr));
    let marked = |n| Segment { ece: true, ..ack(n) };
    assert_eq!(s.on(&marked(1)), NONE);
    assert_eq!((s.cwnd(), s.ssthresh()), (3.5, 3.5));
    for n in 2..=4 {
        assert_eq!(s.on(&marked(n)), NONE);
    }
    let mut cwr = vec![];
    for n in 5..=8 {
        s.sender.on_segment(&marked(n), s.now);
        cwr.extend(s.segments().iter().map(|s| s.cwr));
    }
    assert_eq!((cwr, s.cwnd()), (vec![true, false, false], 3.5));
    s.sender.on_segment(&marked(9), s.now);
    assert_eq!((s.cwnd(), s.sender.counters().ecn_reductions), (2.0, 2));
}

/// Without ECN the flags have no meaning.
#[test]
fn marks_need_an_agreement() {
    let mut s = Script::backlogged(&plain(2));
    s.sent();
    assert_eq!(s.on(&Segment { ece: true, ..ack(1) }), [3, 4]);
}

/// RFC 896: a small segment waits while something is outstanding; the end of the stream does not.
#[test]
fn small_segments() {
    let mut s = Script::new(&plain(10));
    s.sender.write(2 * MSS + 10);
    assert_eq!(s.sent(), [1, 2]);
    s.on_ack(1);
    assert_eq!(s.sender.backlog_bytes(), MSS + 10);
    assert_eq!(s.on_ack(2), [3]);
    s.sender.write(10);
    assert_eq!(s.sent(), NONE);
    s.sender.close();
    let last = s.segments();
    assert_eq!((last[0].payload_bytes, last[0].fin, last.len()), (10, true, 1));
    let mut spec = plain(10);
    spec.sender.nagle = false;
    let mut s = Script::new(&spec);
    for _ in 0..3 {
        s.sender.write(10);
        assert_eq!(s.segments()[0].payload_bytes, 10);
    }
}

/// FIN is sent with the last data, or alone if the data has been sent already; FIN needs no room in either window.
#[test]
fn fin_goes_with_the_end() {
    let mut spec = plain(1);
    spec.sender.window_segments = 1;
    let mut s = Script::new(&spec);
    s.sender.write(MSS);
    s.sender.close();
    s.sender.write(MSS); // after the end
    let sent = s.segments();
    assert_eq!((sent.len(), sent[0].payload_bytes, sent[0].fin), (1, 1000, true));
    assert!(!s.sender.is_finished());
    s.sender.on_segment(&bare(1, Some(octet(2) + 1)), s.now);
    assert!(s.sender.is_finished());
    assert_eq!((s.sender.counters().acknowledged_bytes, s.sender.next_timer()), (MSS, Time::MAX));

    let mut s = Script::new(&plain(4));
    s.sender.write(MSS);
    assert_eq!(s.sent(), [1]);
    s.sender.close();
    let fin = s.segments();
    assert_eq!((fin[0].seq, fin[0].payload_bytes, fin[0].fin), (octet(2), 0, true));
    // Data and FIN lost together are retransmitted together.
    s.now = at(1000);
    s.sender.on_timer(s.now);
    let again = s.segments();
    assert_eq!((again.len(), again[0].payload_bytes, again[0].fin), (1, 1000, true));
    // If only FIN is lost, it is retransmitted alone.
    s.on_ack(1);
    assert!(!s.sender.is_finished());
    let due = s.sender.next_timer();
    s.sender.on_timer(due);
    s.now = due;
    let again = s.segments();
    assert_eq!((again[0].payload_bytes, again[0].fin), (0, true));
}

/// RFC 7323, section 4.1: the echo gives the round trip, even of retransmitted segments.
#[test]
fn echoes_give_samples() {
    let mut s =
        Script::backlogged(&TcpSpec { timestamps: Some(Span::from_millis(10)), ..plain(1) });
    s.now = at(37);
    let sent = s.segments()[0].timestamps.unwrap();
    assert_eq!((sent.value, sent.echo), (at(30), None));
    s.now = at(95);
    s.sender.on_segment(&stamped(ack(1), 500, Some(30)), s.now);
    assert_eq!(s.sender.srtt(), Some(Span::from_millis(60)));
    assert_eq!(s.segments()[0].timestamps.unwrap().echo, Some(at(500)));
    // An acknowledgement without new data gives no sample.
    s.now = at(2000);
    s.sender.on_segment(&stamped(ack(1), 500, Some(30)), s.now);
    assert_eq!(s.sender.srtt(), Some(Span::from_millis(60)));
}

/// Ten segments in a round trip of 100 ms at one window per round trip: one every 10 ms. The window determines their
/// number, pacing their times.
#[test]
fn pacing_spreads_a_window() {
    let mut spec = plain(10);
    spec.sender.pacing = Pacing::Window { slow_start: 1.0, avoidance: 1.0 };
    spec.mss_bytes = 960; // 1000 bytes with the header
    let mut s = Script::backlogged(&spec);
    assert_eq!(s.segments().len(), 10); // no round trip known
    s.now = at(100);
    s.sender.on_segment(&bare(1, Some(1 + 9600)), s.now);
    // A window of 11 · 960 bytes in 100 ms, by packets of 1000 bytes.
    let gap = 100e6 * 1000.0 / (11.0 * 960.0);
    let mut times = vec![];
    for _ in 0..11 {
        times.extend(s.segments().iter().map(|_| s.now.as_nanos()));
        s.now = s.sender.next_timer();
        s.sender.on_timer(s.now);
    }
    assert_eq!(times.len(), 11);
    for (n, &time) in times.iter().enumerate() {
        let due = 100e6 + n as f64 * gap;
        assert!((time as f64 - due).abs() < 20.0, "{n}: {time} for {due}");
    }
}

/// TCP-AP: 50 ms between segments before the first round-trip sample, then an interval from the samples; after a
/// timeout, which does not double, at once until data is acknowledged.
#[test]
fn adaptive_pacing_sends_one_at_a_time() {
    let mut spec = plain(4);
    spec.timestamps = Some(Span::from_nanos(1));
    let rate = DataRate::from_bps(11_000_000).unwrap();
    let path = TcpApSpec { hops: 4, rate, overhead_bytes: 112, spread: Spread::Deviation };
    spec.sender.pacing = Pacing::TcpAp(path);
    let mut s = Script::backlogged(&spec);
    assert_eq!(s.sent(), [1]);
    assert_eq!(s.timer_at(50), [2]);
    assert_eq!(s.timer_at(100), [3]);
    // The third segment keeps its departure time; the next waits for the delay that follows from a round trip of 120
    // ms: 4 · ((30 ms - 1224 · 8 / 11 us) / 2 + 1112 · 8 / 11 us)
    s.now = at(120);
    assert_eq!(s.on(&stamped(ack(1), 0, Some(0))), NONE);
    assert_eq!(s.timer_at(150), [4]);
    let delay = 4.0 * ((30e6 - 1224.0 * 8e3 / 11.0) / 2.0 + 1112.0 * 8e3 / 11.0);
    assert_eq!(s.sent(), NONE);
    let gap = s.sender.next_timer() - at(150);
    assert!((gap.as_nanos() as f64 - delay).abs() < 2.0, "{gap}");
    // All later segments are lost.
    let timeouts: Vec<Time> = (0..3)
        .map(|_| {
            while s.sender.counters().timeouts == 0 || s.sent().is_empty() {
                s.now = s.sender.next_timer();
                s.sender.on_timer(s.now);
            }
            s.now
        })
        .collect();
    assert_eq!(timeouts[2] - timeouts[1], timeouts[1] - timeouts[0]);
}

#[test]
fn impossible_connections_are_refused() {
    type Change = fn(&mut TcpSpec);
    let cases: [(Change, &str); 6] = [
        (|s| s.mss_bytes = 0, "segments of 0 bytes"),
        (|s| s.sender.window_segments = 0, "a window of no segments"),
        (|s| s.sender.initial_window = InitialWindow::Segments(0), "an initial window of no"),
        (|s| s.receiver.delay = Span::ZERO, "the delay of acknowledgements is 0"),
        (|s| s.sender.rto.longest = Span::from_millis(1), "the longest timeout"),
        (
            |s| s.sender.pacing = Pacing::Window { slow_start: 2.0, avoidance: f64::NAN },
            "pacing at NaN windows",
        ),
    ];
    for (change, words) in cases {
        let mut spec = plain(1);
        change(&mut spec);
        let said = Sender::new(&spec).unwrap_err().to_string();
        assert!(said.contains(words), "{said}");
    }
    let dynamic = airqueue_transport::tcp::AckEvery::Dynamic([2, 2, 9]);
    let mut spec = plain(1);
    spec.receiver.acknowledge = dynamic;
    assert_eq!(Sender::new(&spec).unwrap_err(), SpecError::Dynamic([2, 2, 9]));
}

/// The numbers of the segments with PSH among those sent now.
fn pushed(script: &mut Script) -> Vec<u64> {
    let sent = script.segments();
    sent.iter().filter(|segment| segment.psh).map(|segment| 1 + (segment.seq - 1) / MSS).collect()
}

/// Bursts of half a window at most, whose last segments have PSH if they have several (`tcp_transmit_skb`); the sender has no
/// round trip yet, so that nothing else limits them.
#[test]
fn bursts_end_with_psh() {
    let offload = |window, offload| {
        let mut spec = plain(window);
        spec.sender.segmentation_offload = offload;
        spec
    };
    assert_eq!(pushed(&mut Script::backlogged(&offload(10, true))), [5, 10]);
    assert_eq!(pushed(&mut Script::backlogged(&offload(7, true))), [3, 6], "7 is alone");
    assert_eq!(pushed(&mut Script::backlogged(&offload(10, false))), NONE);
    // Octets written last are pushed (RFC 9293, section 3.9.1.2), in a burst or not, and a burst ends there.
    for (bursts, expected) in [(true, vec![3, 4]), (false, vec![4])] {
        let mut script = Script::new(&offload(10, bursts));
        script.sender.write(4 * MSS - 1);
        assert_eq!(
            pushed(&mut script),
            if bursts { vec![3] } else { vec![] },
            "Nagle holds the rest"
        );
        script.sender.close();
        assert_eq!(pushed(&mut script), expected[expected.len() - 1..]);
    }
}

/// What the pacing rate sends in 1/1024 s, two segments at least, and the end of a burst, once round trips are known.
#[test]
fn bursts_follow_from_the_pacing_rate() {
    let mut spec = plain(10);
    spec.sender.segmentation_offload = true;
    let mut script = Script::backlogged(&spec);
    script.segments();
    script.now = at(1000);
    // 1.2 or 2 windows of ten small segments a second are less than two segments in 1/1024 s.
    script.sender.on_segment(&ack(10), script.now);
    let sent = script.segments();
    let ends: Vec<usize> = (1..=sent.len()).filter(|&n| sent[n - 1].psh).collect();
    let pairs: Vec<usize> = (1..=sent.len() / 2).map(|n| 2 * n).collect();
    assert_eq!(ends, pairs);
}

/// A burst is paced as a whole: its segments leave together, and the next waits for the time of all.
#[test]
fn a_burst_is_paced_as_one() {
    let mut spec = plain(10);
    spec.sender.pacing = Pacing::Window { slow_start: 1.0, avoidance: 1.0 };
    spec.sender.segmentation_offload = true;
    let mut script = Script::backlogged(&spec);
    script.segments();
    script.now = at(100);
    script.sender.on_segment(&ack(10), script.now);
    let (first, window) = (script.sent(), script.cwnd());
    assert_eq!(first.len(), 2);
    let next = script.sender.next_timer() - script.now;
    // A window of data in 100 ms: two packets, with headers, take as much of it as they are of the window.
    let expected = 0.1 * 2.0 * 1.04 / window;
    assert!((next.as_secs_f64() / expected - 1.0).abs() < 0.01, "{next}, not {expected} s");
}

/// RFC 9438, section 5.8, and `cubictcp_cwnd_event` of Linux: an idle minute does not count as time since a loss. Windows
/// remain below the initial one, so that the pause does not limit them.
#[test]
fn cubic_goes_on_after_a_pause_as_without() {
    let after = |congestion: CubicBehaviour, pause: Span| {
        let mut spec = selective(100);
        spec.sender.congestion = CongestionName::Cubic;
        spec.sender.cubic = congestion;
        let mut s = Script::new(&spec);
        s.sender.write(100 * MSS);
        assert_eq!(s.sent().len(), 100);
        s.now = at(100);
        assert_eq!(s.on_sack(0, &[(2, 100)]), [1]);
        s.now = at(200);
        assert_eq!(s.on_ack(100), NONE);
        assert_eq!(s.cwnd().round(), 70.0);
        let (mut acked, mut high) = (100, 100);
        for _ in 0..2 {
            s.now += pause;
            s.sender.write(300 * MSS);
            high = high.max(*s.sent().last().unwrap());
            while acked < high {
                s.now += Span::from_millis(100);
                let outstanding = acked + 1..=high;
                acked = high;
                for number in outstanding {
                    high = high.max(s.on_ack(number).last().copied().unwrap_or(0));
                }
            }
        }
        s.cwnd()
    };
    for behaviour in [CubicBehaviour::Rfc9438, CubicBehaviour::Linux] {
        let without = after(behaviour, Span::ZERO);
        assert!((70.0..100.0).contains(&without), "{without}");
        assert_eq!(after(behaviour, Span::from_secs(60)), without);
    }
}
