//! Loss recovery of a sender.

use crate::script::{MSS, NONE, Script, ack, at, plain, selective, stamped};
use airqueue_core::Span;
use airqueue_transport::tcp::TcpSpec;

/// RFC 5681, section 3.2, and RFC 6582, section 3.2: segment 1 of eight is lost.
#[test]
fn three_duplicates_are_a_loss() {
    let mut s = Script::backlogged(&plain(8));
    assert_eq!(s.sent().len(), 8);
    assert_eq!(s.on_ack(0), NONE);
    assert_eq!(s.on_ack(0), NONE);
    assert_eq!(s.on_ack(0), [1]);
    assert_eq!((s.cwnd(), s.ssthresh()), (4.0, 4.0));
    assert_eq!(s.on_ack(0), NONE); // a window of 4 + 4, of which 8 are outstanding
    for new in 9..=11 {
        assert_eq!(s.on_ack(0), [new]);
    }
    // Step 3, option 1: min(ssthresh, FlightSize + SMSS) = 4, of which 3 are outstanding.
    assert_eq!(s.on_ack(8), [12]);
    assert_eq!((s.cwnd(), s.sender.counters().fast_recoveries), (4.0, 1));
    assert_eq!(s.on_ack(9), [13]);
}

/// RFC 3042: a new segment for each of the first two duplicates, which do not count as outstanding when
/// the threshold is set.
#[test]
fn limited_transmit() {
    let mut spec = plain(8);
    spec.sender.limited_transmit = true;
    let mut s = Script::backlogged(&spec);
    s.sent();
    assert_eq!(s.on_ack(0), [9]);
    assert_eq!(s.on_ack(0), [10]);
    assert_eq!(s.on_ack(0), [1]);
    assert_eq!(s.ssthresh(), 4.0);
    // Reordering without loss: an acknowledgement of new data ends limited transmit.
    let mut s = Script::backlogged(&spec);
    s.sent();
    assert_eq!(s.on_ack(0), [9]);
    assert_eq!(s.on_ack(2), [10, 11]); // nine in the window, of which seven are outstanding
    assert_eq!(s.sender.counters().fast_recoveries, 0);
}

/// RFC 6582, section 3.2, step 3: segments 1 and 3 of eight are lost; the partial acknowledgement causes the
/// retransmission of 3 at once.
#[test]
fn a_partial_acknowledgement_shows_the_next_hole() {
    let mut s = Script::backlogged(&plain(8));
    s.sent();
    let expected = [vec![], vec![], vec![1], vec![], vec![9], vec![10]];
    for sent in expected {
        assert_eq!(s.on_ack(0), sent);
    }
    // 4 + 6 - 2 + 1 = 9 in the window, of which 3 to 10 are outstanding.
    assert_eq!(s.on_ack(2), [3, 11]);
    assert_eq!(s.on_ack(2), [12]);
    assert_eq!(s.on_ack(2), [13]);
    assert_eq!(s.on_ack(10), [14]);
    assert_eq!((s.cwnd(), s.sender.counters().retransmitted), (4.0, 2));
}

/// RFC 6582, section 3.2: only the first partial acknowledgement restarts the timer.
#[test]
fn only_the_first_partial_acknowledgement_restarts_the_timer() {
    let mut s = Script::backlogged(&plain(8));
    s.sent();
    s.now = at(100);
    (0..3).for_each(|_| drop(s.on_ack(0)));
    assert_eq!(s.sender.next_timer(), at(1000));
    for (now, ack, timer) in [(200, 2, 1200), (300, 4, 1200), (400, 8, 1400)] {
        s.now = at(now);
        s.on_ack(ack);
        assert_eq!(s.sender.next_timer(), at(timer));
    }
}

/// RFC 6675, section 5: segments 1, 3 and 5 of ten are lost.
#[test]
fn several_holes_in_one_round() {
    let mut s = Script::backlogged(&selective(10));
    s.sent();
    assert_eq!(s.on_sack(0, &[(2, 2)]), [11]);
    assert_eq!(s.on_sack(0, &[(4, 4), (2, 2)]), [12]);
    // The third: (4.3). Half of ten; the pipe holds 3, 5, 7 to 12 and the 1 just sent.
    assert_eq!(s.on_sack(0, &[(6, 6), (4, 4), (2, 2)]), [1]);
    assert_eq!((s.cwnd(), s.ssthresh()), (5.0, 5.0));
    assert_eq!(s.on_sack(0, &[(6, 7), (4, 4), (2, 2)]), NONE);
    assert_eq!(s.on_sack(0, &[(6, 8), (4, 4), (2, 2)]), NONE); // 9 to 12, and 1
    assert_eq!(s.on_sack(0, &[(6, 9), (4, 4), (2, 2)]), [3]);
    assert_eq!(s.on_sack(0, &[(6, 10), (4, 4), (2, 2)]), [5]);
    // No hole is left: new data (NextSeg, rule 2).
    assert_eq!(s.on_sack(0, &[(6, 11), (4, 4), (2, 2)]), [13]);
    assert_eq!(s.on_sack(0, &[(6, 12), (4, 4), (2, 2)]), [14]);
    assert_eq!(s.on_sack(2, &[(6, 12), (4, 4)]), [15]);
    assert_eq!(s.on_sack(4, &[(6, 12)]), [16]);
    assert_eq!(s.on_sack(12, &[]), [17]);
    assert_eq!((s.cwnd(), s.sender.counters().retransmitted), (5.0, 3));
    assert_eq!(s.sender.counters().fast_recoveries, 1);
}

/// RFC 6675, IsLost: more than two segments' bytes beyond a hole indicate a loss, even in one acknowledgement; a
/// duplicate without new blocks does not count.
#[test]
fn bytes_beyond_a_hole_make_it_lost() {
    let mut s = Script::backlogged(&selective(8));
    s.sent();
    assert_eq!(s.on_sack(0, &[]), NONE);
    assert_eq!(s.on_sack(0, &[]), NONE);
    assert_eq!(s.on_sack(0, &[]), NONE);
    assert_eq!(s.on_sack(0, &[(2, 4)]), [1]);
}

/// RFC 6675, NextSeg, rule 4: the last segment is lost too, and no later segment can reveal the loss.
#[test]
fn a_lost_tail_is_rescued() {
    let mut s = Script::new(&selective(5));
    s.sender.write(5 * MSS);
    s.sent();
    assert_eq!(s.on_sack(0, &[(2, 2)]), NONE);
    assert_eq!(s.on_sack(0, &[(2, 3)]), NONE);
    assert_eq!(s.on_sack(0, &[(2, 4)]), [1]);
    assert_eq!(s.on_sack(4, &[]), [5]);
    assert_eq!(s.on_sack(5, &[]), NONE);
    assert_eq!((s.sender.counters().timeouts, s.sender.backlog_bytes()), (0, 0));
}

/// RFC 6298, (5.4) to (5.6), RFC 5681, section 3.1: one segment after 1 s, then after 2 and 4 s more; the threshold
/// stays while the same segment is lost.
#[test]
fn the_timer_backs_off() {
    let mut s = Script::backlogged(&plain(8));
    s.sent();
    s.quiet_until(999);
    assert_eq!(s.timer_at(1000), [1]);
    assert_eq!((s.cwnd(), s.ssthresh()), (1.0, 4.0));
    s.quiet_until(2999);
    assert_eq!(s.timer_at(3000), [1]);
    assert_eq!(s.timer_at(7000), [1]);
    assert_eq!((s.ssthresh(), s.sender.counters().timeouts), (4.0, 3));
    // Slow start retransmits all outstanding segments, except those that have arrived.
    assert_eq!(s.on_ack(1), [2, 3]);
    assert_eq!(s.on_ack(8), [9, 10, 11]);
}

/// RFC 6298, section 3 (Karn): an acknowledgement of a segment that was sent twice gives no sample, and the timeout
/// stays backed off (section 5) until the next sample.
#[test]
fn ambiguous_round_trips_do_not_count() {
    let mut s = Script::backlogged(&plain(1));
    s.sent();
    assert_eq!(s.timer_at(1000), [1]);
    s.now = at(1100);
    assert_eq!(s.on_ack(1), [2, 3]);
    assert_eq!((s.sender.srtt(), s.sender.rto()), (None, Span::from_secs(2)));
    s.now = at(1200);
    s.on_ack(2);
    assert_eq!(s.sender.srtt(), Some(Span::from_millis(100)));
    assert_eq!(s.sender.rto(), Span::from_secs(1));
    // With timestamps the first acknowledgement gives a sample (RFC 7323, section 4).
    let mut s = Script::backlogged(&TcpSpec { timestamps: Some(Span::from_millis(1)), ..plain(1) });
    s.sent();
    s.timer_at(1000);
    s.now = at(1100);
    s.on(&stamped(ack(1), 0, Some(1000)));
    assert_eq!(s.sender.srtt(), Some(Span::from_millis(100)));
}

/// RFC 6582, section 4.1: after a timeout, duplicates of segments sent twice do not indicate a loss; RFC 6675, section
/// 5.1: nor do any duplicates until all of these segments are acknowledged.
#[test]
fn a_timeout_is_not_followed_by_fast_recovery() {
    for spec in [plain(6), selective(6)] {
        let mut s = Script::backlogged(&spec);
        s.sent();
        s.timer_at(1000);
        (0..4).for_each(|_| drop(s.on_ack(0)));
        s.on_sack(0, &[(2, 6)]);
        assert_eq!(s.sender.counters().fast_recoveries, 0);
    }
    let mut s = Script::backlogged(&plain(6));
    s.sent();
    s.timer_at(1000);
    assert_eq!(s.on_ack(6), [7, 8]);
    assert_eq!(s.on_ack(6), NONE);
    assert_eq!(s.on_ack(6), NONE);
    assert_eq!(s.on_ack(6), NONE);
    assert_eq!(s.sender.counters().fast_recoveries, 0);
}

/// Selectively acknowledged segments are not retransmitted after a timeout (RFC 6675, section 5.1).
#[test]
fn a_timeout_skips_what_has_arrived() {
    let mut s = Script::backlogged(&selective(6));
    s.sender = {
        let mut sender = airqueue_transport::tcp::Sender::new(&selective(6)).unwrap();
        sender.write(6 * MSS);
        sender
    };
    s.sent();
    assert_eq!(s.on_sack(0, &[(3, 3)]), NONE);
    assert_eq!(s.on_sack(0, &[(5, 5), (3, 3)]), NONE);
    assert_eq!(s.timer_at(1000), [1]);
    assert_eq!(s.on_sack(1, &[(5, 5), (3, 3)]), [2, 4]);
    assert_eq!(s.on_sack(3, &[(5, 5)]), [6]);
    assert_eq!(s.on_ack(6), NONE);
    assert_eq!(s.sender.counters().retransmitted, 4);
}

/// Old acknowledgements, and acknowledgements of data that was never sent, have no effect.
#[test]
fn invalid_acknowledgements_are_ignored() {
    let mut s = Script::backlogged(&plain(4));
    s.sent();
    s.on_ack(2);
    let before = (s.cwnd(), s.sender.counters(), s.sender.next_timer());
    for n in [0, 1, 60] {
        assert_eq!(s.on_ack(n), NONE);
    }
    assert_eq!((s.cwnd(), s.sender.counters(), s.sender.next_timer()), before);
}
