//! Loss detection by time (RFC 8985), and proportional rate reduction (RFC 9937).

use crate::script::{MSS, NONE, Script, at, selective};
use airqueue_core::Span;
use airqueue_transport::tcp::{LossDetection, TcpSpec};

fn timed(initial: u32) -> TcpSpec {
    let mut spec = selective(initial);
    spec.sender.loss_detection = LossDetection::Timing;
    spec
}

/// Ten segments sent at time zero and acknowledged at one per millisecond from 100 ms on; the first is lost.
fn with_a_hole() -> Script {
    let mut s = Script::backlogged(&timed(10));
    assert_eq!(s.sent().len(), 10);
    for (ms, last, sent) in [(100, 2, 11), (101, 3, 12)] {
        s.now = at(ms);
        assert_eq!(s.on_sack(0, &[(2, last)]), [sent]);
    }
    s
}

/// RFC 8985, section 6.2, step 4: three segments beyond it make a hole a loss at once. RFC 9937: with ten outstanding,
/// every second arrival allows one segment, down to the threshold of five.
#[test]
fn a_window_shrinks_in_proportion() {
    let mut s = with_a_hole();
    let steps: [(u64, &[u64]); 9] = [
        (4, &[1]),
        (5, &[]),
        (6, &[]),
        (7, &[13]),
        (8, &[]),
        (9, &[]), // five are outstanding
        (10, &[14]),
        (11, &[15]),
        (12, &[16]),
    ];
    for (ms, (last, sent)) in (102..).zip(steps) {
        s.now = at(ms);
        assert_eq!(s.on_sack(0, &[(2, last)]), sent, "up to {last}");
    }
    assert_eq!((s.cwnd(), s.ssthresh()), (5.0, 5.0));
    s.now = at(201);
    assert_eq!(s.on_ack(12), [17]);
    assert_eq!((s.cwnd(), s.sender.counters().fast_recoveries), (5.0, 1));
}

/// As in Linux (`tcp_xmit_retransmit_queue`): the first outstanding segment has a whole timeout from its retransmission on.
#[test]
fn the_first_retransmission_has_a_whole_timeout() {
    let mut s = with_a_hole();
    assert_eq!(s.sender.rto(), Span::from_secs(1));
    s.now = at(102);
    assert_eq!(s.on_sack(0, &[(2, 4)]), [1]);
    assert_eq!(s.sender.next_timer(), at(1102));
    // New data do not restart the timer.
    s.now = at(103);
    assert_eq!(s.on_sack(0, &[(2, 7)]), [13]);
    assert_eq!(s.sender.next_timer(), at(1102));
}

/// Step 5: a single segment beyond the hole may be reordered; a quarter of the round trip later the hole counts as
/// lost.
#[test]
fn a_late_segment_is_lost_after_a_while() {
    let mut s = Script::backlogged(&timed(10));
    s.sent();
    s.now = at(100);
    assert_eq!(s.on_sack(0, &[(2, 2)]), [11]);
    s.quiet_until(124);
    assert_eq!(s.timer_at(125), [1]);
    assert_eq!((s.ssthresh(), s.sender.counters().fast_recoveries), (5.0, 1));
}

/// Step 3: after observed reordering, three segments beyond a hole do not prove a loss.
#[test]
fn reordering_gives_late_segments_time() {
    let mut s = Script::backlogged(&timed(10));
    s.sent();
    s.now = at(100);
    assert_eq!(s.on_sack(0, &[(2, 3)]), [11, 12]);
    s.now = at(101);
    assert_eq!(s.on_ack(3), [13, 14]); // the first has come after the third
    s.now = at(102);
    assert_eq!(s.on_sack(3, &[(5, 9)]).len(), 5);
    assert_eq!(s.sender.counters().fast_recoveries, 0);
    s.quiet_until(126);
    // Sent at 0, a round trip of 102 ms, a quarter of 100 ms.
    assert_eq!(s.timer_at(127)[0], 4);
    assert_eq!(s.sender.counters().fast_recoveries, 1);
}

/// An acknowledgement that reports two runs for the first time has the later run first (RFC 2018, section 4). That is no
/// reordering: Linux orders the blocks, too (`tcp_sacktag_write_queue`). The holes are lost at once, and half of ten may be
/// sent.
#[test]
fn the_order_of_blocks_is_no_reordering() {
    let mut s = Script::backlogged(&timed(10));
    s.sent();
    s.now = at(100);
    assert_eq!(s.on_sack(0, &[(7, 10), (2, 5)]), [1, 6, 11, 12, 13]);
    assert_eq!((s.ssthresh(), s.sender.counters().fast_recoveries), (5.0, 1));
}

/// Step 5: the timer runs until the last of the late segments would be lost ("timeout = max(remaining, timeout)").
#[test]
fn the_timer_waits_for_the_last_late_segment() {
    let mut s = Script::backlogged(&timed(4));
    s.sent();
    s.now = at(100);
    assert_eq!(s.on_sack(0, &[(2, 2)]), [5]);
    // The first comes after the second: reordering.
    for (ms, acked, sent) in [(101, 2, [6, 7]), (102, 3, [8, 9]), (103, 4, [10, 11])] {
        s.now = at(ms);
        assert_eq!(s.on_ack(acked), sent);
    }
    s.now = at(202);
    assert_eq!(s.on_sack(4, &[(9, 9)]), [12]);
    // Segments 5 to 8, sent at 100 to 102 ms, have a round trip of 100 ms and a quarter of 100 ms.
    s.quiet_until(226);
    assert_eq!(s.timer_at(227), [5]);
    // Half of the window of seven.
    assert_eq!((s.ssthresh(), s.sender.counters().fast_recoveries), (3.5, 1));
}

/// A retransmission counts as lost when a segment sent later has arrived: without a timeout or a second reduction.
#[test]
fn a_lost_retransmission_is_noticed() {
    let mut s = with_a_hole();
    for (ms, last) in [(102, 4), (103, 5), (104, 6), (105, 7), (106, 8)] {
        s.now = at(ms);
        s.on_sack(0, &[(2, last)]);
    }
    s.now = at(201);
    assert_eq!(s.on_sack(0, &[(2, 11)]), [14, 15]);
    // The thirteenth was sent at 105 ms, the first for the second time at 102 ms.
    s.now = at(205);
    assert_eq!(s.on_sack(0, &[(2, 13)]), [1, 16, 17]);
    let counters = s.sender.counters();
    assert_eq!((counters.timeouts, counters.fast_recoveries, counters.retransmitted), (0, 1, 2));
    assert_eq!(s.ssthresh(), 5.0);
}

/// Section 7: after two round trips of silence the last segment is sent again, and its acknowledgement
/// shows the hole before it.
#[test]
fn a_probe_finds_a_lost_tail() {
    let mut s = Script::new(&timed(3));
    s.sender.write(3 * MSS);
    s.sent();
    s.now = at(50);
    assert_eq!(s.on_ack(1), NONE);
    s.quiet_until(149);
    assert_eq!(s.timer_at(150), [3]);
    s.now = at(200);
    assert_eq!(s.on_sack(1, &[(3, 3)]), [2]);
    s.now = at(250);
    assert_eq!(s.on_ack(3), NONE);
    let counters = s.sender.counters();
    assert_eq!((counters.probes, counters.timeouts, counters.retransmitted), (1, 0, 2));
    assert_eq!(s.sender.backlog_bytes(), 0);
}

/// Section 7.3: a probe is new data if there is any, regardless of the window; only one probe is sent, then the timeout
/// follows.
#[test]
fn a_probe_may_be_new_data() {
    let mut s = Script::backlogged(&timed(2));
    s.sent();
    s.now = at(50);
    assert_eq!(s.on_ack(1), [3, 4]);
    assert_eq!(s.timer_at(150), [5]);
    assert_eq!(s.timer_at(1150), [2]);
    let counters = s.sender.counters();
    assert_eq!((counters.probes, counters.timeouts), (1, 1));
}

/// Section 7.4: when a probe has repaired a loss the window is reduced nevertheless; a duplicate acknowledgement shows
/// that both copies have arrived.
#[test]
fn a_repaired_loss_is_congestion() {
    for (duplicate, reduced) in [(false, true), (true, false)] {
        let mut s = Script::new(&timed(8));
        s.sender.write(3 * MSS);
        s.sent();
        s.now = at(50);
        s.on_ack(2);
        // The acknowledgement of a single segment may be delayed by 200 ms.
        assert_eq!(s.timer_at(350), [3]);
        s.now = at(400);
        s.on_ack(3);
        if duplicate {
            s.on_ack(3);
        }
        s.sender.write(2 * MSS);
        assert_eq!(s.sent(), [4, 5]);
        s.now = at(450);
        s.on_ack(5);
        assert_eq!(s.sender.ssthresh_bytes() < u64::MAX, reduced);
        assert_eq!(s.sender.counters().fast_recoveries, 0);
    }
}

/// Section 6.3: after a timeout the first segment is sent at once, and the window of one segment opens for the overdue
/// segments.
#[test]
fn a_timeout_retransmits_overdue_segments() {
    let mut s = Script::backlogged(&timed(4));
    s.sent();
    assert_eq!(s.timer_at(1000), [5]); // the probe comes first
    assert_eq!(s.timer_at(2000), [1]);
    assert_eq!((s.cwnd(), s.ssthresh()), (1.0, 2.0));
    s.now = at(2100);
    assert_eq!(s.on_ack(1), [2, 3]);
    assert_eq!(s.on_sack(1, &[(3, 5)]).first(), Some(&6));
    assert_eq!(s.sender.counters().fast_recoveries, 0);
}

/// Without SACK nothing is known of individual segments: duplicates are counted.
#[test]
fn without_sack_it_counts() {
    let mut spec = timed(8);
    (spec.sack, spec.sender.limited_transmit) = (false, false);
    let mut s = Script::backlogged(&spec);
    s.sent();
    assert_eq!((s.on_ack(0), s.on_ack(0), s.on_ack(0)), (vec![], vec![], vec![1]));
}
