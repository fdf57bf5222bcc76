//! The handshake: RFC 9293, section 3.5.

use crate::script::{MSS, Script, at};
use airqueue_core::{Ecn, Span, Time};
use airqueue_transport::tcp::{Opening, Receiver, Segment, Sender, TcpSpec};

fn ends(spec: &TcpSpec) -> (Sender, Receiver) {
    (Sender::new(spec).unwrap(), Receiver::new(spec).unwrap())
}

/// The sequence number, SYN and acknowledgement of a segment.
fn form(segment: &Segment) -> (u64, bool, Option<u64>) {
    (segment.seq, segment.syn, segment.ack)
}

const SYN: (u64, bool, Option<u64>) = (0, true, None);
const SYN_ACK: (u64, bool, Option<u64>) = (0, true, Some(1));
const ACK: (u64, bool, Option<u64>) = (1, false, Some(1));

fn only(mut poll: impl FnMut() -> Option<Segment>) -> Segment {
    let segment = poll().expect("a segment");
    assert_eq!(poll(), None);
    segment
}

#[test]
fn the_sender_opens() {
    let (mut a, mut b) = ends(&TcpSpec::standard(MSS as u32));
    assert_eq!((a.poll_transmit(at(0)), b.poll_transmit(at(0))), (None, None));
    a.write(100);
    let syn = only(|| a.poll_transmit(at(0)));
    assert_eq!(form(&syn), SYN);
    b.on_segment(&syn, at(30));
    let syn_ack = only(|| b.poll_transmit(at(30)));
    assert_eq!(form(&syn_ack), SYN_ACK);
    assert!(!b.is_open());
    a.on_segment(&syn_ack, at(60));
    assert!(a.is_open());
    let ack = a.poll_transmit(at(60)).unwrap();
    assert_eq!(form(&ack), ACK);
    let data = only(|| a.poll_transmit(at(60)));
    assert_eq!((data.seq, data.payload_bytes, data.ack), (1, 100, Some(1)));
    assert_eq!(a.srtt(), Some(Span::from_millis(60)));
    b.on_segment(&ack, at(90));
    assert!(b.is_open());
    assert_eq!(b.poll_transmit(at(90)), None);
    assert_eq!(b.base_rtt(), Some(Span::from_millis(60)));
}

/// The third segment may have data (section 3.5), and opens the connection at the other end as well.
#[test]
fn the_third_segment_brings_the_first_data() {
    let mut spec = TcpSpec::standard(MSS as u32);
    spec.sender.opens_with_data = true;
    let (mut a, mut b) = ends(&spec);
    a.write(100);
    b.on_segment(&only(|| a.poll_transmit(at(0))), at(30));
    a.on_segment(&only(|| b.poll_transmit(at(30))), at(60));
    let data = only(|| a.poll_transmit(at(60)));
    assert_eq!((data.seq, data.payload_bytes, data.ack), (1, 100, Some(1)));
    b.on_segment(&data, at(90));
    assert!(b.is_open());
    assert_eq!(b.delivered_bytes(), 100);
}

#[test]
fn the_receiver_opens() {
    let spec = TcpSpec { opening: Opening::ByReceiver, ..TcpSpec::standard(MSS as u32) };
    let (mut a, mut b) = ends(&spec);
    a.write(100);
    assert_eq!(a.poll_transmit(at(0)), None);
    b.open();
    let syn = only(|| b.poll_transmit(at(0)));
    a.on_segment(&syn, at(30));
    let syn_ack = only(|| a.poll_transmit(at(30)));
    assert_eq!((form(&syn), form(&syn_ack)), (SYN, SYN_ACK));
    b.on_segment(&syn_ack, at(60));
    let ack = only(|| b.poll_transmit(at(60)));
    assert_eq!(form(&ack), ACK);
    a.on_segment(&ack, at(90));
    assert_eq!(only(|| a.poll_transmit(at(90))).payload_bytes, 100);
}

/// RFC 6298, (2.1) and (5.5): after 1, 3 and 7 s. (5.7) and RFC 5681, section 3.1: then the timeout is
/// 3 s and the first window one segment.
#[test]
fn a_lost_syn_is_sent_again_and_remembered() {
    let mut spec = TcpSpec::standard(MSS as u32);
    spec.timestamps = None;
    let mut script = Script::backlogged(&spec);
    assert!(script.segments()[0].syn);
    for s in [1, 3, 7] {
        script.quiet_until(1000 * s - 1);
        assert_eq!(script.sender.next_timer(), at(1000 * s));
        script.now = at(1000 * s);
        script.sender.on_timer(script.now);
        assert!(matches!(script.segments()[..], [Segment { syn: true, .. }]));
    }
    let mut b = Receiver::new(&spec).unwrap();
    b.on_segment(&Segment { syn: true, ..crate::script::bare(0, None) }, script.now);
    let syn_ack = b.poll_transmit(script.now).unwrap();
    script.sender.on_segment(&syn_ack, script.now);
    assert_eq!(script.segments().len(), 2); // the acknowledgement and one segment
    assert_eq!(script.sender.rto(), Span::from_secs(3));
    assert_eq!(script.sender.srtt(), None); // Karn
}

/// A SYN-ACK is lost: both ends send theirs again. If the last acknowledgement is lost, data replace it, or the SYN-ACK
/// is retransmitted and acknowledged.
#[test]
fn lost_segments_of_a_handshake_are_repeated() {
    let (mut a, mut b) = ends(&TcpSpec::standard(MSS as u32));
    a.open();
    let syn = a.poll_transmit(at(0)).unwrap();
    b.on_segment(&syn, at(10));
    b.poll_transmit(at(10)).unwrap(); // lost
    assert_eq!((a.next_timer(), b.next_timer()), (at(1000), at(1010)));
    b.on_segment(&syn, at(500));
    let syn_ack = only(|| b.poll_transmit(at(500)));
    a.on_segment(&syn_ack, at(520));
    a.poll_transmit(at(520)).unwrap(); // lost
    assert_eq!(a.next_timer(), Time::MAX);
    b.on_timer(b.next_timer());
    let again = only(|| b.poll_transmit(at(1500)));
    assert_eq!(form(&again), SYN_ACK);
    a.on_segment(&again, at(1520));
    let ack = only(|| a.poll_transmit(at(1520)));
    b.on_segment(&ack, at(1540));
    assert!(b.is_open());
    let (mut a, mut b) = ends(&TcpSpec::standard(MSS as u32));
    a.write(100);
    b.on_segment(&a.poll_transmit(at(0)).unwrap(), at(1));
    a.on_segment(&b.poll_transmit(at(1)).unwrap(), at(2));
    a.poll_transmit(at(2)).unwrap(); // lost
    b.on_segment(&a.poll_transmit(at(2)).unwrap(), at(3));
    assert_eq!((b.is_open(), b.delivered_bytes()), (true, 100));
}

/// RFC 3168, section 6.1.1; SYN segments are not ECN-capable themselves.
#[test]
fn ecn_is_agreed_on() {
    for ecn in [false, true] {
        let (mut a, mut b) = ends(&TcpSpec { ecn, ..TcpSpec::standard(MSS as u32) });
        a.write(100);
        let syn = a.poll_transmit(at(0)).unwrap();
        b.on_segment(&syn, at(1));
        let syn_ack = b.poll_transmit(at(1)).unwrap();
        a.on_segment(&syn_ack, at(2));
        let flags = [&syn, &syn_ack].map(|s| (s.ece, s.cwr, s.ecn));
        assert_eq!(flags, [(ecn, ecn, Ecn::NotEct), (ecn, false, Ecn::NotEct)]);
        assert_eq!(a.poll_transmit(at(2)).unwrap().ecn, Ecn::NotEct);
        let expected = if ecn { Ecn::Ect } else { Ecn::NotEct };
        assert_eq!(a.poll_transmit(at(2)).unwrap().ecn, expected);
    }
}
