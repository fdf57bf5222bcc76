//! Round trips: answers find their probes, nothing else changes a row, and probes leave evenly.

use airqueue_core::{Span, Time};
use airqueue_probe::echo::message::{after_ipv4_header, echo_reply};
use airqueue_probe::echo::pace::Pace;
use airqueue_probe::echo::prober::{IcmpError, Probe, Prober, Target};
use airqueue_probe::echo::series::Ignored;
use airqueue_probe::echo::{LATEST, MOST_PROBES, Method, SLOWEST_OF_ERRORS};
use airqueue_probe::records::MISSING;
use airqueue_probe::wire::{self, Message};
use proptest::collection::vec;
use proptest::prelude::*;
use std::net::{IpAddr, SocketAddr};

const V4: &str = "192.0.2.7:0";
const V6: &str = "[2001:db8::7]:0";
const SECRET: [u8; 32] = [7; 32];
const EVERY: Span = Span::from_millis(10);
const ID: u16 = 0x1234;

fn ms(ms: i64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

fn target(method: Method, address: &str) -> Target {
    let pace = Pace::new(ms(0), method.pace(EVERY));
    Target { method, address: address.parse().unwrap(), id: ID, pace }
}

/// A prober of one target.
fn prober(method: Method, address: &str) -> Prober {
    Prober::new(vec![target(method, address)], SECRET)
}

/// Sends the next probe when it is due; returns it, its bytes, and when.
fn send(prober: &mut Prober) -> (Probe, Vec<u8>, Time) {
    let at = prober.next_deadline().expect("further probes");
    let mut bytes = vec![];
    let probe = prober.poll_transmit(at, &mut bytes).expect("a probe at its time");
    prober.on_sent(probe, at);
    (probe, bytes, at)
}

/// The reply that RFC 792 and RFC 4443 ask for.
fn reply(request: &[u8]) -> Vec<u8> {
    let mut reply = request.to_vec();
    reply[0] = if request[0] == 8 { 0 } else { 129 };
    reply
}

fn ip(address: &str) -> IpAddr {
    address.parse::<SocketAddr>().unwrap().ip()
}

fn ignored(prober: &Prober) -> Ignored {
    prober.series(0).ignored
}

fn total(of: Ignored) -> u64 {
    of.malformed + of.foreign + of.duplicate + of.late + of.unreachable + of.ambiguous
}

#[test]
fn an_echo_reply_gives_its_probe_a_time_once() {
    for address in [V4, V6] {
        let mut p = prober(Method::Icmp, address);
        let (_, first, _) = send(&mut p);
        let (_, second, sent) = send(&mut p);
        let at = sent + Span::from_micros(1_500);
        p.on_message(0, ip(address), &reply(&second), at, false);
        p.on_message(0, ip(address), &reply(&second), at + EVERY, false);
        assert_eq!(p.series(0).received_ns(), [MISSING, at.as_nanos()]);
        assert_eq!(ignored(&p), Ignored { duplicate: 1, ..Ignored::default() });
        // The first one's answer comes later, and counts.
        p.on_message(0, ip(address), &reply(&first), at + EVERY, true);
        assert_eq!(p.series(0).answered(), 2);
        assert_eq!(p.series(0).timed_by_program, 1);
        assert_eq!(p.series(0).answered_by, Some(ip(address)));
        assert_eq!(p.series(0).last_round_trip(), Some(at + EVERY - ms(0)));
    }
}

#[test]
fn answers_count_for_ten_seconds_and_not_before_the_probe() {
    let late = LATEST + Span::from_nanos(1);
    let cases = [(LATEST, true), (late, false), (Span::ZERO, true), (Span::from_nanos(-1), false)];
    for (after, counts) in cases {
        let mut p = prober(Method::Icmp, V4);
        let (_, bytes, sent) = send(&mut p);
        p.on_message(0, ip(V4), &reply(&bytes), sent + after, false);
        assert_eq!(p.series(0).answered(), u64::from(counts), "{after}");
        assert_eq!(ignored(&p).late, u64::from(!counts), "{after}");
    }
}

#[test]
fn what_is_not_ours_is_foreign() {
    let mut p = prober(Method::Icmp, V4);
    let (_, bytes, sent) = send(&mut p);
    let right = reply(&bytes);
    p.on_message(0, "192.0.2.8".parse().unwrap(), &right, sent, false);
    // Identifier, sequence number, and both halves of the token.
    for at in [4, 5, 6, 7, 8, 11, 12, 15] {
        let mut wrong = right.clone();
        wrong[at] ^= 1;
        p.on_message(0, ip(V4), &wrong, sent, false);
    }
    assert_eq!(ignored(&p), Ignored { foreign: 9, ..Ignored::default() });
    // A probe that is still to come, as one who knows the secret would answer it.
    let mut twin = prober(Method::Icmp, V4);
    send(&mut twin);
    let (_, next, _) = send(&mut twin);
    p.on_message(0, ip(V4), &reply(&next), sent, false);
    assert_eq!((ignored(&p).foreign, p.series(0).answered()), (10, 0));
    // Our own request, as a raw socket may read it.
    p.on_message(0, ip(V4), &bytes, sent, false);
    assert_eq!(ignored(&p).malformed, 1);
}

#[test]
fn one_targets_answer_is_not_anothers() {
    let two = || vec![target(Method::Icmp, V4), target(Method::Icmp, V4)];
    let mut p = Prober::new(two(), SECRET);
    let (_, first, sent) = send(&mut p);
    send(&mut p);
    p.on_message(1, ip(V4), &reply(&first), sent, false);
    assert_eq!((p.series(1).answered(), p.series(1).ignored.foreign), (0, 1));
    p.on_message(0, ip(V4), &reply(&first), sent, false);
    assert_eq!(p.series(0).answered(), 1);
}

#[test]
fn sequence_numbers_wrap_and_probes_do_not() {
    let mut p = prober(Method::Icmp, V4);
    let mut early = vec![];
    for index in 0..=65_540u32 {
        let (probe, bytes, sent) = send(&mut p);
        assert_eq!(probe.index, index);
        if index == 4 {
            early = bytes;
        } else if index == 65_540 {
            assert_eq!(bytes[6..8], early[6..8], "the number on the wire is the same");
            p.on_message(0, ip(V4), &reply(&bytes), sent + EVERY, false);
            // The old one's answer does not become the new one's.
            p.on_message(0, ip(V4), &reply(&early), sent + EVERY, false);
        }
    }
    assert_ne!(p.series(0).received_ns()[65_540], MISSING);
    assert_eq!((p.series(0).answered(), ignored(&p).late), (1, 1));
}

#[test]
fn the_most_probes_are_kept_and_then_no_more_are_sent() {
    let mut p = prober(Method::Tcp(443), V4);
    let mut count = 0;
    while p.next_deadline().is_some() {
        send(&mut p);
        count += 1;
    }
    assert_eq!(count, MOST_PROBES);
    assert_eq!(p.poll_transmit(Time::MAX, &mut vec![]), None);
}

#[test]
fn a_probe_that_the_kernel_refused_has_no_row() {
    let mut p = prober(Method::Icmp, V4);
    let mut bytes = vec![];
    let probe = p.poll_transmit(ms(0), &mut bytes).unwrap();
    p.on_refused(probe);
    assert_eq!((p.refused(0), p.series(0).sent_ns().len()), (1, 0));
    let (next, _, at) = send(&mut p);
    assert_eq!((next.index, at), (0, ms(10)));
}

#[test]
fn probes_are_small_and_well_formed() {
    let (mut v4, mut v6) = (prober(Method::Icmp, V4), prober(Method::Icmp, V6));
    let ((_, v4, _), (_, v6, _)) = (send(&mut v4), send(&mut v6));
    assert_eq!((20 + v4.len(), 40 + v6.len()), (64, 84));
    // RFC 1071: the sum over a message with its checksum is all ones.
    let words = v4.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
    let sum: u32 = words.sum();
    assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    let (_, udp, _) = send(&mut prober(Method::Udp(None), V4));
    assert_eq!(28 + udp.len(), 64);
    let (probe, hello, _) = send(&mut prober(Method::Server(5860), V6));
    assert!(matches!(wire::decode(&hello).unwrap().message, Message::Hello { .. }));
    assert_eq!((hello.len(), probe.to.port()), (96, 5860));
}

#[test]
fn a_servers_challenge_answers_and_so_does_another_version() {
    for other in [false, true] {
        let mut p = prober(Method::Server(5860), V4);
        let (_, hello, sent) = send(&mut p);
        let Message::Hello { nonce } = wire::decode(&hello).unwrap().message else { panic!() };
        let mut answer = vec![];
        let challenge = Message::Challenge { nonce, stamp: 1, cookie: [2; 16] };
        let version = Message::Version { nonce, version: 9 };
        wire::encode(0, if other { &version } else { &challenge }, &mut answer);
        p.on_message(0, ip(V4), &answer, sent + EVERY, false);
        assert_eq!(p.series(0).answered(), 1);
        let stranger = Message::Challenge { nonce: nonce ^ 1, stamp: 1, cookie: [2; 16] };
        wire::encode(0, &stranger, &mut answer);
        p.on_message(0, ip(V4), &answer, sent + EVERY, false);
        assert_eq!(ignored(&p), Ignored { foreign: 1, ..Ignored::default() });
    }
}

const ROUTER: &str = "198.51.100.1";

/// Time exceeded from a router, and port unreachable from the host.
fn exceeded(ipv6: bool, port: u16) -> IcmpError {
    let kind = if ipv6 { 3 } else { 11 };
    IcmpError { from: ROUTER.parse().unwrap(), kind, code: 0, port }
}

fn closed(address: &str, port: u16) -> IcmpError {
    let from = ip(address);
    let (kind, code) = if from.is_ipv6() { (1, 4) } else { (3, 3) };
    IcmpError { from, kind, code, port }
}

#[test]
fn a_hop_answers_with_time_exceeded_and_the_host_with_a_closed_port() {
    for address in [V4, V6] {
        let ipv6 = ip(address).is_ipv6();
        let mut p = prober(Method::Hop(1), address);
        let (probe, bytes, sent) = send(&mut p);
        p.on_icmp_error(0, exceeded(ipv6, probe.to.port()), &bytes, sent + EVERY, false);
        assert_eq!(p.series(0).answered_by, Some(ROUTER.parse().unwrap()));
        assert!(!p.series(0).from_host);
        let (probe, bytes, sent) = send(&mut p);
        p.on_icmp_error(0, closed(address, probe.to.port()), &bytes, sent + EVERY, false);
        assert!(p.series(0).from_host);
        assert_eq!((p.series(0).answered(), total(ignored(&p))), (2, 0));
    }
}

#[test]
fn only_a_closed_port_answers_a_datagram_to_the_host() {
    let mut p = prober(Method::Udp(None), V4);
    let (probe, bytes, sent) = send(&mut p);
    let port = probe.to.port();
    p.on_icmp_error(0, exceeded(false, port), &bytes, sent, false);
    // Host unreachable, and "fragment reassembly time exceeded".
    for (kind, code) in [(3, 1), (11, 1)] {
        let error = IcmpError { kind, code, ..closed(V4, port) };
        p.on_icmp_error(0, error, &bytes, sent, false);
    }
    assert_eq!(ignored(&p), Ignored { unreachable: 3, ..Ignored::default() });
    // The right token with another port, and an error about something else.
    p.on_icmp_error(0, closed(V4, port + 1), &bytes, sent, false);
    p.on_icmp_error(0, exceeded(false, port), &[9; 36], sent, false);
    assert_eq!((ignored(&p).foreign, p.series(0).answered()), (2, 0));
    p.on_icmp_error(0, closed(V4, port), &bytes, sent, false);
    assert_eq!(p.series(0).answered(), 1);
}

#[test]
fn errors_are_no_answers_to_echo_requests() {
    let mut p = prober(Method::Icmp, V4);
    let (_, bytes, sent) = send(&mut p);
    for cut in 0..=bytes.len() {
        p.on_icmp_error(0, exceeded(false, 0), &bytes[..cut], sent, false);
        p.on_icmp_error(0, closed(V4, 0), &bytes[..cut], sent, false);
    }
    assert_eq!((p.series(0).answered(), ignored(&p).unreachable), (0, 2 * bytes.len() as u64 + 2));
    p.on_icmp_error(0, exceeded(false, 0), &[8; 36], sent, false);
    assert_eq!(total(ignored(&p)), ignored(&p).unreachable + 1);
}

#[test]
fn a_quote_cut_off_anywhere_answers_the_probe_of_its_port() {
    let whole = send(&mut prober(Method::Hop(2), V4)).1.len();
    for cut in 0..=whole {
        let mut p = prober(Method::Hop(2), V4);
        send(&mut p);
        let (probe, bytes, sent) = send(&mut p);
        let error = exceeded(false, probe.to.port());
        p.on_icmp_error(0, error, &bytes[..cut], sent + EVERY, false);
        let at = (sent + EVERY).as_nanos();
        assert_eq!(p.series(0).received_ns(), [MISSING, at], "{cut}");
        // A second copy that quotes no token could be to no probe at all.
        p.on_icmp_error(0, error, &bytes[..cut], sent + EVERY, false);
        assert_eq!((p.series(0).answered(), total(ignored(&p))), (1, 1), "{cut}");
    }
}

#[test]
fn without_a_quote_an_error_about_a_fixed_port_must_fit_one_probe() {
    let mut p = prober(Method::Udp(Some(9)), V4);
    let (probe, bytes, sent) = send(&mut p);
    assert_eq!(probe.to.port(), 9);
    p.on_icmp_error(0, closed(V4, 9), &[], sent + EVERY, false);
    assert_eq!(p.series(0).answered(), 1);
    send(&mut p);
    let (_, last, sent) = send(&mut p);
    p.on_icmp_error(0, closed(V4, 9), &last[..7], sent + EVERY, false);
    assert_eq!((p.series(0).answered(), ignored(&p).ambiguous), (1, 1));
    // A quote says which.
    p.on_icmp_error(0, closed(V4, 9), &last, sent + EVERY, false);
    assert_eq!(p.series(0).answered(), 2);
    assert_ne!(bytes[..8], last[..8]);
}

#[test]
fn ports_repeat_only_after_answers_no_longer_count() {
    let mut p = prober(Method::Hop(1), V4);
    let sent: Vec<_> = (0..100).map(|_| send(&mut p)).collect();
    for (i, (one, _, at)) in sent.iter().enumerate() {
        for (other, _, later) in &sent[i + 1..] {
            assert!(one.to != other.to || *later - *at > LATEST);
        }
    }
}

#[test]
fn connections_answer_and_fail() {
    let mut p = prober(Method::Tcp(443), V4);
    let (probe, bytes, sent) = send(&mut p);
    assert!(bytes.is_empty() && probe.to.port() == 443);
    p.on_connected(0, probe.index, sent + EVERY, false);
    p.on_connection_failed(0, true);
    p.on_connection_failed(0, false);
    assert_eq!(p.series(0).answered(), 1);
    assert_eq!(ignored(&p), Ignored { ambiguous: 1, unreachable: 1, ..Ignored::default() });
}

#[test]
fn answers_by_errors_are_asked_for_once_a_second_at_most() {
    for method in [Method::Hop(3), Method::Udp(None), Method::Udp(Some(9))] {
        assert_eq!(method.pace(EVERY), SLOWEST_OF_ERRORS);
        assert_eq!(method.pace(Span::from_secs(3)), Span::from_secs(3));
    }
    for method in [Method::Icmp, Method::Tcp(443), Method::Server(5860)] {
        assert_eq!(method.pace(EVERY), EVERY);
    }
}

#[test]
fn targets_take_turns() {
    let paces = (0..4).map(|k| Pace::interleaved(ms(100), EVERY, k, 4).next());
    let expected: Vec<_> = (0..4).map(|k| ms(100) + Span::from_micros(2_500 * k)).collect();
    assert_eq!(paces.collect::<Vec<_>>(), expected);
}

#[test]
fn an_ipv4_header_has_the_length_that_it_says() {
    for words in 0..16u8 {
        let mut packet = vec![0x40 | words];
        packet.resize(usize::from(words) * 4 + 10, 0xee);
        for cut in 0..=packet.len() {
            let expected =
                if words < 5 { None } else { packet[..cut].get(usize::from(words) * 4..) };
            assert_eq!(after_ipv4_header(&packet[..cut]), expected, "{words} words cut at {cut}");
        }
        packet[0] = 0x60 | words;
        assert_eq!(after_ipv4_header(&packet), None);
    }
}

fn methods() -> impl Strategy<Value = Method> {
    prop_oneof![
        Just(Method::Icmp),
        (1..=255u8).prop_map(Method::Hop),
        Just(Method::Udp(None)),
        Just(Method::Udp(Some(7))),
        Just(Method::Tcp(7)),
        Just(Method::Server(7)),
    ]
}

proptest! {
    /// Whatever arrives is counted once, and only bytes that repeat a token can change a row.
    #[test]
    fn any_bytes_are_counted_and_change_no_row(
        method in methods(),
        ipv6 in any::<bool>(),
        messages in vec((vec(any::<u8>(), 8..80), any::<[u8; 2]>(), any::<u16>(), any::<bool>()), 1..20),
    ) {
        let address = if ipv6 { V6 } else { V4 };
        let mut p = prober(method, address);
        let (_, _, sent) = send(&mut p);
        for (bytes, [kind, code], port, as_error) in &messages {
            if *as_error {
                let error = IcmpError { from: ip(address), kind: *kind, code: *code, port: *port };
                p.on_icmp_error(0, error, bytes, sent, false);
            } else {
                p.on_message(0, ip(address), bytes, sent, false);
            }
        }
        prop_assert_eq!(p.series(0).received_ns(), [MISSING]);
        prop_assert_eq!(total(ignored(&p)), messages.len() as u64);
    }

    /// A reply that is cut off or damaged is never read as a reply to something else.
    #[test]
    fn a_damaged_reply_answers_nothing(cut in 0..44usize, flip in 4..16usize, bit in 0..8u8) {
        let mut p = prober(Method::Icmp, V6);
        let (_, bytes, sent) = send(&mut p);
        let right = reply(&bytes);
        let cut = &right[..cut.min(right.len())];
        let whole = cut.len() >= 16;
        prop_assert_eq!(echo_reply(true, cut).is_some(), whole);
        let mut wrong = right.clone();
        wrong[flip] ^= 1 << bit;
        p.on_message(0, ip(V6), &wrong, sent, false);
        prop_assert_eq!(p.series(0).answered(), 0);
        p.on_message(0, ip(V6), cut, sent, false);
        prop_assert_eq!(p.series(0).answered(), u64::from(whole));
    }

    /// However late the loop is, probes leave at times of the grid or late, and no closer than half an interval.
    #[test]
    fn probes_are_never_close_together(
        every in 1..1_000_000_000i64,
        looks in vec(0..3_000_000_000i64, 1..100),
    ) {
        let mut pace = Pace::new(Time::ZERO, Span::from_nanos(every));
        let (mut now, mut taken) = (Time::ZERO, vec![]);
        for look in looks {
            now += Span::from_nanos(look);
            let due = pace.next();
            if pace.take(now) {
                prop_assert!(due <= now);
                prop_assert!(!pace.take(now), "one at a time");
                taken.push(now);
            }
            prop_assert_eq!(pace.next().as_nanos() % every, 0);
            prop_assert!((pace.next() - now).as_nanos() <= every + every / 2 + 1);
        }
        for pair in taken.windows(2) {
            prop_assert!((pair[1] - pair[0]).as_nanos() >= every / 2);
        }
        let slots = pace.next().as_nanos() / every;
        prop_assert_eq!(taken.len() as i64 + pace.skipped() as i64, slots);
    }
}
