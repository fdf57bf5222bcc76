use super::*;
use crate::flows::{Segment, Timestamps};
use std::net::Ipv4Addr;

fn at(ms: i64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

fn end(host: u8, port: u16) -> End {
    End { address: Ipv4Addr::new(10, 0, 0, host).into(), port }
}

/// A packet to the station (host 1), or from it.
fn packet(outgoing: bool, port: u16, payload_bytes: u32, segment: Option<Segment>) -> Packet {
    let (station, far) = (end(1, port), end(9, 443));
    let (source, destination) = if outgoing { (far, station) } else { (station, far) };
    let mac = Some([2, 0, 0, 0, 0, 1]);
    Packet {
        source,
        destination,
        protocol: if segment.is_some() { Protocol::Tcp } else { Protocol::Udp },
        source_mac: mac.filter(|_| !outgoing),
        destination_mac: mac.filter(|_| outgoing),
        payload_bytes,
        segment,
    }
}

/// Active downloads and uploads, and packets without a place.
fn counts(look: &Look) -> (usize, usize, u32) {
    let of = |direction| look.active(direction).count();
    (of(Direction::Download), of(Direction::Upload), look.untracked)
}

fn stamped(value: u32, echo: u32) -> Option<Segment> {
    segment(0, 1, value, echo)
}

fn segment(sequence: u32, acknowledged: u32, value: u32, echo: u32) -> Option<Segment> {
    let timestamps = Some(Timestamps { value, echo });
    let acknowledged = Some(acknowledged);
    Some(Segment { sequence, acknowledged, syn: false, fin: false, rst: false, timestamps })
}

#[test]
fn a_download_has_a_rate_a_station_and_both_halves() {
    let mut flows = Flows::new(at(0));
    for round in 0..20_u32 {
        // Two packets pass, 5 ms apart; each is acknowledged 10 ms later, and brings more data 40 ms later.
        for (number, now) in [(2 * round, round * 50), (2 * round + 1, round * 50 + 5)] {
            let data = segment(number * 6000, 1, now, now.wrapping_sub(40));
            flows.on_packet(&packet(true, 5000, 6000, data), true, at(now.into()));
        }
        for (number, now) in [(2 * round, round * 50 + 10), (2 * round + 1, round * 50 + 15)] {
            let acknowledgement = segment(1, (number + 1) * 6000, now, now - 10);
            flows.on_packet(&packet(false, 5000, 0, acknowledgement), false, at(now.into()));
        }
    }
    let look = flows.look(at(1000));
    let [flow] = &look.flows[..] else { panic!("{look:?}") };
    assert_eq!(flow.down_bps, 20.0 * 12_000.0 * 8.0);
    assert_eq!((flow.up_bps, flow.active, flow.direction), (0.0, true, Direction::Download));
    assert_eq!(flow.station_mac, Some([2, 0, 0, 0, 0, 1]));
    assert_eq!(flow.station.least, Some(Span::from_millis(10)));
    assert_eq!(flow.far.least, Some(Span::from_millis(40)));
    // Nobody saw whether the first mark of each side was the first of its tick. Of two acknowledgements one leaves data in
    // flight; what the last one brings did not come any more.
    assert_eq!((flow.station.samples, flow.far.samples), (39, 18));
    assert_eq!(counts(&look), (1, 0, 0));
    // A second without a packet.
    let look = flows.look(at(2000));
    assert!(!look.flows[0].active);
    assert_eq!(counts(&look), (0, 0, 0));
}

#[test]
fn handshakes_are_round_trips_without_timestamps() {
    let mut flows = Flows::new(at(0));
    let segment = |sequence, acknowledged, syn| {
        Some(Segment { sequence, acknowledged, syn, fin: false, rst: false, timestamps: None })
    };
    flows.on_packet(&packet(false, 5000, 0, segment(u32::MAX, None, true)), false, at(0));
    flows.on_packet(&packet(true, 5000, 0, segment(500, Some(0), true)), true, at(30));
    flows.on_packet(&packet(false, 5000, 0, segment(0, Some(501), false)), false, at(37));
    let flow = &flows.look(at(40)).flows[0];
    assert_eq!(flow.far.least, Some(Span::from_millis(30)));
    assert_eq!(flow.station.least, Some(Span::from_millis(7)));
}

#[test]
fn uploads_and_datagrams_count_by_where_their_payload_goes() {
    let mut flows = Flows::new(at(0));
    for port in 0..3 {
        flows.on_packet(&packet(false, port, 10_000, None), false, at(1));
    }
    flows.on_packet(&packet(true, 9, 10_000, stamped(1, 1)), true, at(1));
    flows.on_packet(&packet(true, 10, 100, stamped(1, 1)), true, at(1));
    let look = flows.look(at(1000));
    assert_eq!(look.flows.len(), 5);
    assert_eq!(counts(&look), (1, 3, 0));
}

#[test]
fn a_flood_hides_no_transfer_and_ends() {
    let mut flows = Flows::new(at(0));
    let syn = Segment {
        sequence: 0,
        acknowledged: None,
        syn: true,
        fin: false,
        rst: false,
        timestamps: None,
    };
    for port in 0..60_000 {
        flows.on_packet(&packet(false, port, 0, Some(syn)), false, at(1));
    }
    flows.on_packet(&packet(true, 60_001, 50_000, stamped(1, 1)), true, at(2));
    let look = flows.look(at(1000));
    assert_eq!(look.flows.len(), MOST_SILENT + 1);
    assert_eq!(counts(&look), (1, 0, 60_000 - MOST_SILENT as u32));
    // Floods with payload end at the bound, and take no place of one that moves something; all ends with time.
    for port in 0..60_000 {
        flows.on_packet(&packet(false, port, 1, None), false, at(1001));
    }
    let look = flows.look(at(2000));
    assert_eq!(look.flows.len(), MOST_FLOWS);
    assert!(look.flows.iter().any(|flow| flow.key.station.port == 60_001));
    // A download that begins meanwhile finds a place.
    flows.on_packet(&packet(true, 60_002, 50_000, stamped(1, 1)), true, at(2001));
    let look = flows.look(at(3000));
    assert!(look.flows.iter().any(|flow| flow.key.station.port == 60_002 && flow.active));
    assert_eq!(flows.look(at(63_000)).flows.len(), 0);
}

#[test]
fn a_sender_that_pauses_has_no_round_trip_of_its_pause() {
    let mut flows = Flows::new(at(0));
    for round in 0..10_u32 {
        // Three packets each two seconds. The first acknowledgement leaves one in flight, and is of the last one's tick.
        let now = round * 2000;
        for number in 3 * round..3 * round + 3 {
            let data = segment(number * 1000, 1, now, now.wrapping_sub(1990));
            flows.on_packet(&packet(true, 5000, 1000, data), true, at(now.into()));
        }
        for number in [3 * round + 2, 3 * round + 3] {
            let acknowledgement = segment(1, number * 1000, now + 10, now);
            flows.on_packet(&packet(false, 5000, 0, acknowledgement), false, at((now + 10).into()));
        }
    }
    let flow = &flows.look(at(20_000)).flows[0];
    assert_eq!(
        (flow.station.least, flow.far),
        (Some(Span::from_millis(10)), Half { least: None, smoothed: None, samples: 0 })
    );
}

#[test]
fn a_reset_counts_if_its_number_is_one_of_the_connection() {
    for (sequence, left) in [(9000, 0), (8999, 1), (9001, 1), (u32::MAX, 1)] {
        let mut flows = Flows::new(at(0));
        flows.on_packet(&packet(true, 1, 9000, stamped(1, 1)), true, at(0));
        let acknowledged = Some(9000);
        let rest = Segment { acknowledged, ..stamped(1, 1).unwrap() };
        flows.on_packet(&packet(false, 1, 0, Some(rest)), false, at(5));
        let rst = Segment { rst: true, sequence, ..rest };
        flows.on_packet(&packet(true, 1, 0, Some(rst)), true, at(10));
        assert_eq!(flows.look(at(6000)).flows.len(), left, "{sequence}");
    }
}

#[test]
fn a_half_that_ended_does_not_end_the_other_one() {
    let mut flows = Flows::new(at(0));
    let fin = Segment { fin: true, sequence: 1000, ..stamped(2, 1).unwrap() };
    flows.on_packet(&packet(false, 1, 1000, stamped(1, 1)), false, at(0));
    flows.on_packet(&packet(false, 1, 0, Some(fin)), false, at(10));
    // An answer to the request, as long as the sender has something.
    let answer = Segment { acknowledged: Some(1001), ..stamped(2, 1).unwrap() };
    for second in 0..3 {
        let answer = Segment { sequence: second * 1000, ..answer };
        flows.on_packet(
            &packet(true, 1, 1000, Some(answer)),
            true,
            at(20 + i64::from(second) * 1000),
        );
    }
    assert_eq!(flows.look(at(10_000)).flows.len(), 1);
    let fin = Segment { sequence: 3000, fin: true, ..answer };
    flows.on_packet(&packet(true, 1, 0, Some(fin)), true, at(10_000));
    flows.on_packet(&packet(false, 1, 0, stamped(9, 9)), false, at(10_001));
    assert_eq!(flows.look(at(16_000)).flows.len(), 0);
}

#[test]
fn a_connection_that_ended_is_soon_forgotten() {
    let mut flows = Flows::new(at(0));
    let fin = Segment { fin: true, sequence: 9000, ..stamped(2, 1).unwrap() };
    flows.on_packet(&packet(true, 1, 9000, stamped(1, 1)), true, at(0));
    flows.on_packet(&packet(true, 1, 0, Some(fin)), true, at(10));
    assert_eq!(flows.look(at(1000)).flows.len(), 1);
    assert_eq!(flows.look(at(6000)).flows.len(), 0);
}
