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
    let timestamps = Some(Timestamps { value, echo });
    Some(Segment { sequence: 0, acknowledged: Some(1), syn: false, ends: false, timestamps })
}

#[test]
fn a_download_has_a_rate_a_station_and_both_halves() {
    let mut flows = Flows::new(at(0));
    for round in 0..20 {
        let (now, tick) = (i64::from(round) * 50, round * 50);
        // Data passes, is acknowledged 10 ms later, and the acknowledgement brings more data 40 ms later.
        flows.on_packet(
            &packet(true, 5000, 12_000, stamped(tick, tick.wrapping_sub(40))),
            true,
            at(now),
        );
        flows.on_packet(&packet(false, 5000, 0, stamped(tick + 10, tick)), false, at(now + 10));
    }
    let look = flows.look(at(1000));
    let [flow] = &look.flows[..] else { panic!("{look:?}") };
    assert_eq!(flow.down_bps, 20.0 * 12_000.0 * 8.0);
    assert_eq!((flow.up_bps, flow.active, flow.direction), (0.0, true, Direction::Download));
    assert_eq!(flow.station_mac, Some([2, 0, 0, 0, 0, 1]));
    assert_eq!(flow.station.least, Some(Span::from_millis(10)));
    assert_eq!(flow.far.least, Some(Span::from_millis(40)));
    // Nobody saw whether the first mark of each side was the first of its tick.
    assert_eq!((flow.station.samples, flow.far.samples), (19, 18));
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
        Some(Segment { sequence, acknowledged, syn, ends: false, timestamps: None })
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
    let syn = Segment { sequence: 0, acknowledged: None, syn: true, ends: false, timestamps: None };
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
fn a_connection_that_ended_is_soon_forgotten() {
    let mut flows = Flows::new(at(0));
    let fin = Segment { ends: true, ..stamped(2, 1).unwrap() };
    flows.on_packet(&packet(true, 1, 9000, stamped(1, 1)), true, at(0));
    flows.on_packet(&packet(true, 1, 0, Some(fin)), true, at(10));
    assert_eq!(flows.look(at(1000)).flows.len(), 1);
    assert_eq!(flows.look(at(6000)).flows.len(), 0);
}
