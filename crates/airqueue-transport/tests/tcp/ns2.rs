//! TCP with ns-2's conventions against ns-2.

use crate::bottleneck::through_bottleneck;
use crate::script::{MSS, Script, at};
use airqueue_transport::tcp::{AckEvery, InitialWindow, TcpSpec};

/// One connection through a drop-tail link of 400 packets a second, whose buffer counts the packet being sent;
/// `peers/ns2/bottleneck.tcl` generated the rows. Buffers range from sizes that cause timeouts to sizes that cause
/// delay, with some windows that lose nothing: goodput within 0.5 %, losses within one, packets waiting within 5 % or a
/// twentieth of a packet.
#[test]
fn a_drop_tail_bottleneck() {
    let rows = include_str!("../data/ns2_bottleneck.csv").lines().skip(1);
    for row in rows {
        let [agent, sink, rest @ ..] = &row.split(',').collect::<Vec<_>>()[..] else { panic!() };
        let number = |i: usize| rest[i].parse::<f64>().unwrap();
        let mut spec = TcpSpec::ns2(1000);
        spec.sack = *agent == "Sack1";
        spec.sender.window_segments = number(1) as u32;
        spec.receiver.acknowledge = AckEvery::Fixed(if *sink == "/DelAck" { 2 } else { 1 });
        let seen = through_bottleneck(&spec, 8 * 1040 * 400, number(0) as usize);
        let (packets, waiting, lost) = (number(2), number(3), number(4));
        let near = |ours: f64, theirs: f64, part: f64, room: f64| {
            let far = (ours - theirs).abs();
            assert!(far <= (part * theirs).max(room), "{ours} in {row}, where it is {theirs}");
        };
        near(seen.packets as f64, packets, 0.005, 0.0);
        near(seen.dropped as f64, lost, 0.0, 1.0);
        // The packet in service is in our buffer, but not among ns-2's waiting packets.
        near(seen.queue - seen.share, waiting, 0.05, 0.05);
    }
}

/// A sender with a window of `initial` segments, all sent.
fn script(initial: u32) -> Script {
    let mut spec = TcpSpec::ns2(MSS as u32);
    spec.sender.window_segments = 1000;
    spec.sender.initial_window = InitialWindow::Segments(initial);
    let mut script = Script::backlogged(&spec);
    assert_eq!(script.sent(), (1..=u64::from(initial)).collect::<Vec<_>>());
    script
}

/// `slowdown` halves the window to any size; the acknowledgement that ends fast recovery opens the window
/// (`recv_newack_helper`); and with `bug_fix_` no other recovery begins before data beyond `recover_` has been
/// acknowledged.
#[test]
fn fast_recovery_with_a_window_of_three() {
    let mut s = script(3);
    s.now = at(100);
    assert_eq!([s.on_ack(0), s.on_ack(0), s.on_ack(0)], [vec![4], vec![5], vec![1]]);
    assert_eq!((s.cwnd(), s.ssthresh()), (1.5, 2.0));
    // `reset_rtx_timer`
    assert_eq!(s.sender.next_timer(), at(3100));
    assert_eq!(s.on_ack(5), [6, 7]);
    assert_eq!(s.cwnd(), 2.5);
    assert_eq!([s.on_ack(5), s.on_ack(5), s.on_ack(5)], [vec![8], vec![9], vec![]]);
    assert_eq!(s.sender.counters().fast_recoveries, 1);
}

/// `partialnewack`: four segments are acknowledged where duplicates have added three, so that the window shrinks by one
/// permanently.
#[test]
fn partial_acknowledgements_deflate_the_window() {
    let mut s = script(6);
    assert_eq!([s.on_ack(0), s.on_ack(0), s.on_ack(0)], [vec![7], vec![8], vec![1]]);
    assert_eq!((s.cwnd(), s.ssthresh()), (3.0, 3.0));
    assert_eq!(s.on_ack(4), [5]);
    assert_eq!(s.cwnd(), 2.0);
    assert_eq!(s.on_ack(8), [9, 10, 11]);
    assert_eq!(s.cwnd(), 3.0);
}

/// After a timeout each of two duplicates allows one segment, and a third one does not indicate a loss (`send_one`);
/// the next timeout halves the threshold again.
#[test]
fn after_a_timeout() {
    let mut s = script(12);
    assert_eq!(s.timer_at(3000), [1]);
    assert_eq!((s.cwnd(), s.ssthresh()), (1.0, 6.0));
    assert_eq!([s.on_ack(0), s.on_ack(0), s.on_ack(0)], [vec![2], vec![3], vec![]]);
    assert_eq!(s.timer_at(9000), [1]);
    assert_eq!((s.cwnd(), s.ssthresh()), (1.0, 2.0));
}
