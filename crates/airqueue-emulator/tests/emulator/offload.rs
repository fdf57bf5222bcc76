//! Segmentation offload, by the rules of RFC 791, 768, 9293 and 3168, and those of Linux's `tcp_gso_segment` and
//! `tcp_gro_receive`. Notes are written here from `linux/virtio_net.h`.

use airqueue_emulator::offload::{Merger, NOTES_BYTES, split};
use etherparse::{
    IpHeaders, IpNumber, Ipv4Header, Ipv6FlowLabel, Ipv6Header, NetSlice, SlicedPacket, TcpHeader,
    TcpOptionElement, TransportSlice, UdpHeader,
};
use proptest::prelude::*;

const NEEDS_CSUM: u8 = 1;
const TCPV4: u8 = 1;
const UDP_FRAGMENTS: u8 = 3;
const TCPV6: u8 = 4;
const UDP_L4: u8 = 5;
const ECN: u8 = 0x80;

/// A packet of TCP or UDP with right checksums.
fn packet(version: u8, transport: &Transport, data: &[u8]) -> Vec<u8> {
    let (number, size) = match transport {
        Transport::Tcp(header) => (IpNumber::TCP, header.header_len()),
        Transport::Udp => (IpNumber::UDP, 8),
    };
    let size = (size + data.len()) as u16;
    let mut bytes = Vec::new();
    let ip = if version == 4 {
        let mut header =
            Ipv4Header::new(size, 61, number, [10, 213, 0, 1], [10, 213, 0, 2]).unwrap();
        header.identification = 65_534;
        header.dscp = 10.try_into().unwrap();
        header.ecn = 2.try_into().unwrap();
        header.header_checksum = header.calc_header_checksum();
        IpHeaders::Ipv4(header, Default::default())
    } else {
        let header = Ipv6Header {
            traffic_class: 42,
            flow_label: Ipv6FlowLabel::try_new(0x12345).unwrap(),
            payload_length: size,
            next_header: number,
            hop_limit: 61,
            source: [1; 16],
            destination: [2; 16],
        };
        IpHeaders::Ipv6(header, Default::default())
    };
    ip.write(&mut bytes).unwrap();
    match transport {
        Transport::Tcp(header) => {
            let mut header = *header.clone();
            header.checksum = match &ip {
                IpHeaders::Ipv4(ip, _) => header.calc_checksum_ipv4(ip, data).unwrap(),
                IpHeaders::Ipv6(ip, _) => header.calc_checksum_ipv6(ip, data).unwrap(),
            };
            header.write(&mut bytes).unwrap();
        }
        Transport::Udp => {
            let header = match &ip {
                IpHeaders::Ipv4(ip, _) => UdpHeader::with_ipv4_checksum(7, 8, ip, data).unwrap(),
                IpHeaders::Ipv6(ip, _) => UdpHeader::with_ipv6_checksum(7, 8, ip, data).unwrap(),
            };
            header.write(&mut bytes).unwrap();
        }
    }
    bytes.extend_from_slice(data);
    bytes
}

#[derive(Clone, Debug)]
enum Transport {
    Tcp(Box<TcpHeader>),
    Udp,
}

fn tcp(flags: u8, sequence: u32) -> Transport {
    let mut header = TcpHeader::new(5001, 80, sequence, 1000);
    header.acknowledgment_number = 77;
    header.set_options(&[TcpOptionElement::Timestamp(1, 2)]).unwrap();
    (header.fin, header.syn, header.rst) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0);
    (header.psh, header.ack, header.urg) = (flags & 8 != 0, flags & 16 != 0, flags & 32 != 0);
    (header.ece, header.cwr) = (flags & 64 != 0, flags & 128 != 0);
    Transport::Tcp(Box::new(header))
}

fn flags(header: &TcpHeader) -> u8 {
    let bits = [
        header.fin, header.syn, header.rst, header.psh, header.ack, header.urg, header.ece,
        header.cwr,
    ];
    bits.iter().enumerate().map(|(at, &bit)| u8::from(bit) << at).sum()
}

/// The notes of `struct virtio_net_hdr`.
fn notes(flags: u8, kind: u8, size: u16, checksum: (u16, u16)) -> Vec<u8> {
    let words = [0, size, checksum.0, checksum.1].map(u16::to_ne_bytes).concat();
    [vec![flags, kind], words].concat()
}

fn pieces(record: &mut [u8]) -> Option<Vec<Vec<u8>>> {
    let mut segments = split(record)?;
    let mut pieces = Vec::new();
    while let Some(packet) = segments.next_packet() {
        pieces.push(packet.to_vec());
    }
    Some(pieces)
}

/// The TCP header and the data of a whole packet, all of whose checksums are right.
fn read(packet: &[u8]) -> (NetSlice<'_>, Option<TcpHeader>, Vec<u8>) {
    let sliced = SlicedPacket::from_ip(packet).unwrap();
    let ip = sliced.net.unwrap();
    let whole = match &ip {
        NetSlice::Ipv4(ip) => {
            let header = ip.header().to_header();
            assert_eq!(header.calc_header_checksum(), header.header_checksum);
            usize::from(header.total_len)
        }
        NetSlice::Ipv6(ip) => 40 + usize::from(ip.header().payload_length()),
        NetSlice::Arp(_) => unreachable!(),
    };
    assert_eq!(whole, packet.len());
    match sliced.transport.unwrap() {
        TransportSlice::Tcp(tcp) => {
            let (header, data) = (tcp.to_header(), tcp.payload().to_vec());
            let checksum = match &ip {
                NetSlice::Ipv4(ip) => {
                    let ip = ip.header();
                    tcp.calc_checksum_ipv4(ip.source(), ip.destination()).unwrap()
                }
                NetSlice::Ipv6(ip) => {
                    let ip = ip.header();
                    tcp.calc_checksum_ipv6(ip.source(), ip.destination()).unwrap()
                }
                NetSlice::Arp(_) => unreachable!(),
            };
            // Zero has two forms (RFC 1071).
            assert_eq!(checksum % 0xffff, header.checksum % 0xffff);
            (ip, Some(header), data)
        }
        TransportSlice::Udp(udp) => {
            let (header, data) = (udp.to_header(), udp.payload().to_vec());
            assert_eq!(usize::from(header.length), 8 + data.len());
            let checksum = match &ip {
                NetSlice::Ipv4(ip) => {
                    header.calc_checksum_ipv4(&ip.header().to_header(), &data).unwrap()
                }
                NetSlice::Ipv6(ip) => {
                    header.calc_checksum_ipv6(&ip.header().to_header(), &data).unwrap()
                }
                NetSlice::Arp(_) => unreachable!(),
            };
            assert_eq!(checksum, header.checksum);
            assert_ne!(checksum, 0);
            (ip, None, data)
        }
        _ => unreachable!(),
    }
}

/// The fields of IP that no segment may change: class and ECN, hop limit, addresses, flow label.
fn kept(ip: &NetSlice<'_>) -> (u8, u8, Vec<u8>, u32) {
    match ip {
        NetSlice::Ipv4(ip) => {
            let h = ip.header().to_header();
            (
                h.dscp.value() << 2 | h.ecn.value(),
                h.time_to_live,
                [h.source, h.destination].concat(),
                0,
            )
        }
        NetSlice::Ipv6(ip) => {
            let h = ip.header().to_header();
            let addresses = [h.source, h.destination].concat();
            (h.traffic_class, h.hop_limit, addresses, h.flow_label.value())
        }
        NetSlice::Arp(_) => unreachable!(),
    }
}

fn data(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at * 7 + at / 256) as u8).collect()
}

proptest! {
    #[test]
    fn segments_of_tcp_follow_the_rules(v6: bool, mss in 8u16..2000, size in 0usize..65_000, of in any::<u8>(), sequence: u32) {
        let (version, kind) = if v6 { (6, TCPV6) } else { (4, TCPV4) };
        let (data, flags_sent) = (data(size), of | 16);
        let whole = packet(version, &tcp(of | 16, sequence), &data);
        let (ip, _, _) = read(&whole);
        let mut record = notes(NEEDS_CSUM, kind | ECN, mss, (0, 0));
        record.extend_from_slice(&whole);
        let pieces = pieces(&mut record).unwrap();
        prop_assert_eq!(pieces.len(), size.div_ceil(mss.into()).max(1));
        let mut joined = Vec::new();
        for (at, piece) in pieces.iter().enumerate() {
            let (piece_ip, header, part) = read(piece);
            let header = header.unwrap();
            let (is_first, is_last) = (at == 0, at + 1 == pieces.len());
            prop_assert_eq!(kept(&piece_ip), kept(&ip));
            if let NetSlice::Ipv4(ip) = piece_ip {
                prop_assert_eq!(ip.header().identification(), 65_534u16.wrapping_add(at as u16));
            }
            prop_assert_eq!(header.sequence_number, sequence.wrapping_add(joined.len() as u32));
            let mut expected = flags_sent;
            if !is_last { expected &= !(1 | 8); }
            if !is_first { expected &= !128; }
            prop_assert_eq!(flags(&header), expected);
            prop_assert_eq!((header.window_size, header.acknowledgment_number), (1000, 77));
            prop_assert_eq!(header.options_iterator().next().unwrap().unwrap(), TcpOptionElement::Timestamp(1, 2));
            prop_assert!(is_last || part.len() == usize::from(mss));
            joined.extend_from_slice(&part);
        }
        prop_assert_eq!(joined, data);
    }

    #[test]
    fn datagrams_of_one_call_are_datagrams(v6: bool, size in 1u16..1473, count in 1usize..40) {
        let data = data(usize::from(size) * count - usize::from(size) / 2);
        let mut record = notes(NEEDS_CSUM, UDP_L4, size, (0, 0));
        record.extend_from_slice(&packet(if v6 { 6 } else { 4 }, &Transport::Udp, &data));
        let pieces = pieces(&mut record).unwrap();
        prop_assert_eq!(pieces.len(), count);
        let joined: Vec<u8> = pieces.iter().flat_map(|piece| read(piece).2).collect();
        prop_assert_eq!(joined, data);
    }

    #[test]
    fn a_checksum_that_was_left_to_the_device_is_completed(v6: bool, of_tcp: bool, size in 0usize..1400) {
        let transport = if of_tcp { tcp(16, 5) } else { Transport::Udp };
        let whole = packet(if v6 { 6 } else { 4 }, &transport, &data(size));
        let (start, at) = (if v6 { 40u16 } else { 20 }, if of_tcp { 16u16 } else { 6 });
        let mut left = whole.clone();
        let place = usize::from(start + at);
        // The sum of the pseudo-header is what the checksum lacks without the rest.
        let rest = whole[usize::from(start)..].chunks(2).enumerate().map(|(word, pair)| {
            if word == usize::from(at) / 2 { 0 } else { u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)) }
        }).sum::<u32>();
        let checksum = u32::from(!u16::from_be_bytes([whole[place], whole[place + 1]]));
        let pseudo = (checksum + 0xffff - rest % 0xffff) % 0xffff;
        left[place..place + 2].copy_from_slice(&(pseudo as u16).to_be_bytes());
        let mut record = notes(NEEDS_CSUM, 0, 0, (start, at));
        record.extend_from_slice(&left);
        let pieces = pieces(&mut record).unwrap();
        prop_assert_eq!(pieces.len(), 1);
        read(&pieces[0]);
    }

    #[test]
    fn any_record_is_refused_or_cut_into_no_more_than_it_has(flags: u8, kind in prop::sample::select(vec![0u8, 1, 3, 4, 5, 0x81]), size: u16, place: (u16, u16), v6: bool, change in prop::collection::vec((0usize..120, any::<u8>()), 0..6), keep in 0usize..3000) {
        let mut whole = packet(if v6 { 6 } else { 4 }, &tcp(16, 1), &data(2800));
        for (at, byte) in change { whole[at] = byte; }
        whole.truncate(keep);
        let mut record = notes(flags, kind, size, place);
        record.extend_from_slice(&whole);
        if let Some(pieces) = pieces(&mut record) {
            let most = 1 + keep / usize::from(size.max(1));
            prop_assert!(pieces.len() <= most);
            prop_assert!(pieces.iter().all(|piece| piece.len() <= keep));
        }
    }

    #[test]
    fn what_was_merged_is_cut_into_the_same_segments(v4: bool, mss in 8u16..1449, sizes in prop::collection::vec(1usize..20_000, 1..6), last in prop::sample::select(vec![0u8, 1, 8])) {
        let (version, kind) = if v4 { (4, TCPV4) } else { (6, TCPV6) };
        let (mut sent, mut sequence) = (Vec::new(), u32::MAX - 3000);
        for size in sizes {
            let mut record = notes(NEEDS_CSUM, kind, mss, (0, 0));
            let mut whole = packet(version, &tcp(16 | last, sequence), &data(size));
            if v4 { rewrite(&mut whole, |of| of[4..6].copy_from_slice(&65_534u16.wrapping_add(sent.len() as u16).to_be_bytes())); }
            record.extend_from_slice(&whole);
            sent.extend(pieces(&mut record).unwrap());
            sequence = sequence.wrapping_add(size as u32);
        }
        let records = merged(&sent);
        let mut received = Vec::new();
        for (mut record, count) in records {
            prop_assert!(record.len() - NOTES_BYTES <= 65_535);
            let pieces = pieces(&mut record).unwrap();
            prop_assert_eq!(pieces.len(), count);
            received.extend(pieces);
        }
        prop_assert_eq!(received, sent);
    }
}

/// What is written for packets that arrive at one instant.
fn merged(packets: &[Vec<u8>]) -> Vec<(Vec<u8>, usize)> {
    let (mut merger, mut records) = (Merger::default(), Vec::new());
    for packet in packets {
        merger.add(packet, &mut |record, count| records.push((record.to_vec(), count)));
    }
    merger.flush(&mut |record, count| records.push((record.to_vec(), count)));
    assert!(merger.is_empty());
    records
}

/// Segments of 100 bytes of a connection.
fn train(version: u8, count: u32, last: u8) -> Vec<Vec<u8>> {
    let mut record = notes(0, if version == 4 { TCPV4 } else { TCPV6 }, 100, (0, 0));
    let data = data(100 * count as usize);
    record.extend_from_slice(&packet(version, &tcp(16 | last, 1), &data));
    pieces(&mut record).unwrap()
}

/// How many packets each write has, with one packet of a train of nine changed.
fn with_change(
    version: u8,
    at: usize,
    change: impl FnOnce(&mut TcpHeader, &mut Vec<u8>),
) -> Vec<usize> {
    let mut packets = train(version, 9, 0);
    let (_, header, mut part) = read(&packets[at]);
    let mut header = header.unwrap();
    let id = packets[at][4..6].to_vec();
    change(&mut header, &mut part);
    packets[at] = packet(version, &Transport::Tcp(Box::new(header)), &part);
    if version == 4 {
        rewrite(&mut packets[at], |bytes| bytes[4..6].copy_from_slice(&id));
    }
    counts(&packets)
}

fn counts(packets: &[Vec<u8>]) -> Vec<usize> {
    merged(packets).into_iter().map(|(_, count)| count).collect()
}

/// Changes the header of IPv4, and its checksum.
fn rewrite(packet: &mut [u8], change: impl FnOnce(&mut [u8])) {
    change(packet);
    packet[10..12].fill(0);
    let sum: u32 = packet[..20].chunks(2).map(|of| u32::from(of[0]) << 8 | u32::from(of[1])).sum();
    let checksum = !((sum % 0xffff) as u16);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
}

#[test]
fn a_train_is_one_packet() {
    for version in [4, 6] {
        for last in [0, 1, 8] {
            assert_eq!(counts(&train(version, 9, last)), [9]);
        }
    }
}

#[test]
fn a_segment_with_another_header_begins_a_packet() {
    for version in [4, 6] {
        let begins = |change: fn(&mut TcpHeader, &mut Vec<u8>)| with_change(version, 4, change);
        // The fields differ from those before, and from those after.
        for change in [
            |h: &mut TcpHeader, _: &mut Vec<u8>| h.window_size += 1,
            |h, _| h.acknowledgment_number += 1,
            |h, _| h.set_options(&[TcpOptionElement::Timestamp(2, 2)]).unwrap(),
            |h, _| h.ece = true,
            |h, _| h.sequence_number += 1,
            |h, _| h.ack = false,
        ] as [fn(&mut TcpHeader, &mut Vec<u8>); 6]
        {
            assert_eq!(begins(change), [4, 1, 4]);
        }
    }
}

#[test]
fn segments_that_end_a_packet_end_it() {
    for version in [4, 6] {
        let ends = |at, change: fn(&mut TcpHeader, &mut Vec<u8>)| with_change(version, at, change);
        assert_eq!(ends(4, |h, _| h.psh = true), [5, 4]);
        assert_eq!(ends(4, |h, _| h.fin = true), [5, 4]);
        assert_eq!(ends(0, |h, _| h.psh = true), [1, 8]);
        // A shorter segment; the next does not continue it.
        assert_eq!(ends(4, |_, part| part.truncate(50)), [5, 4]);
        assert_eq!(ends(4, |_, part| part.push(0)), [4, 1, 4]);
    }
}

#[test]
fn segments_that_say_more_than_data_go_alone() {
    for version in [4, 6] {
        for change in [
            |h: &mut TcpHeader, _: &mut Vec<u8>| h.syn = true,
            |h, _| h.rst = true,
            |h, _| h.urg = true,
            |h, _| h.cwr = true,
            |_, part| part.clear(),
        ] as [fn(&mut TcpHeader, &mut Vec<u8>); 5]
        {
            assert_eq!(with_change(version, 4, change), [4, 1, 4]);
            assert_eq!(with_change(version, 0, change), [1, 8]);
        }
    }
}

#[test]
fn marks_and_hop_limits_are_never_lost_in_a_merge() {
    for (version, changes) in [
        (4, [(1usize, 1u8), (8, 1), (6, 0x40), (1, 0x20)]),
        (6, [(1, 0x10), (7, 1), (3, 1), (0, 1)]),
    ] {
        for (byte, bits) in changes {
            let mut packets = train(version, 9, 0);
            let of = &mut packets[4];
            if version == 4 {
                rewrite(of, |of| of[byte] ^= bits);
            } else {
                of[byte] ^= bits;
            }
            let records = merged(&packets);
            let counts: Vec<_> = records.iter().map(|(_, count)| *count).collect();
            assert_eq!(counts, [4, 1, 4], "byte {byte} of version {version}");
            assert_eq!(records[1].0[NOTES_BYTES..], packets[4]);
        }
    }
}

#[test]
fn every_marked_segment_is_written_alone() {
    for version in [4, 6] {
        let mut packets = train(version, 9, 0);
        for of in &mut packets[3..6] {
            if version == 4 {
                rewrite(of, |of| of[1] |= 3);
            } else {
                of[1] |= 0x30;
            }
        }
        assert_eq!(counts(&packets), [3, 1, 1, 1, 3]);
    }
}

#[test]
fn identifications_go_up_by_one_or_stay() {
    let ids = |fixed: bool, df: bool| {
        let mut packets = train(4, 9, 0);
        for packet in &mut packets {
            rewrite(packet, |of| {
                if fixed {
                    of[4..6].fill(0)
                }
                of[6] = if df { 0x40 } else { 0 };
            });
        }
        counts(&packets)
    };
    assert_eq!(ids(false, false), [9]);
    assert_eq!(ids(false, true), [9]);
    assert_eq!(ids(true, true), [9]);
    assert_eq!(ids(true, false), [1; 9]);
    let mut jumps = train(4, 9, 0);
    rewrite(&mut jumps[4], |of| of[4] ^= 1);
    assert_eq!(counts(&jumps), [4, 1, 4]);
}

/// The notes have no bit for identifications that stay, so that those of the segments go up: a packet that may not
/// be fragmented may have any (RFC 6864, section 4.1).
#[test]
fn identifications_that_stay_may_go_up_after_a_merge_and_nothing_else_changes() {
    let mut sent = train(4, 9, 0);
    for packet in &mut sent {
        rewrite(packet, |of| of[4..6].fill(0));
    }
    let mut records = merged(&sent);
    let received = pieces(&mut records[0].0).unwrap();
    for (at, packet) in sent.iter_mut().enumerate() {
        rewrite(packet, |of| of[5] = at as u8);
    }
    assert_eq!(received, sent);
}

#[test]
fn a_wrong_checksum_is_left_to_the_kernel() {
    let mut packets = train(4, 9, 0);
    packets[4][60] ^= 1;
    let records = merged(&packets);
    assert_eq!(records[1], ([&[0; NOTES_BYTES], &packets[4][..]].concat(), 1));
    assert_eq!(records.len(), 3);
}

#[test]
fn connections_are_merged_beside_each_other() {
    let (one, mut other) = (train(4, 9, 0), train(6, 9, 0));
    other.insert(3, packet(4, &Transport::Udp, b"alone"));
    let woven: Vec<_> = one.into_iter().zip(other).flat_map(|(a, b)| [a, b]).collect();
    assert_eq!(counts(&woven), [1, 9, 8]);
}

#[test]
fn fragments_and_wrong_packets_go_alone_as_they_are() {
    let mut fragment = train(4, 1, 0).remove(0);
    rewrite(&mut fragment, |of| of[6] = 0x20);
    let cut = train(6, 1, 0)[0][..70].to_vec();
    for packet in [fragment, cut, vec![], vec![0x45]] {
        let twice = merged(&[packet.clone(), packet.clone()]);
        let alone = ([&[0; NOTES_BYTES], &packet[..]].concat(), 1);
        assert_eq!(twice, [alone.clone(), alone]);
    }
}

#[test]
fn notes_that_do_not_fit_are_refused() {
    let of_tcp = packet(4, &tcp(16, 1), &data(3000));
    let of_udp = packet(4, &Transport::Udp, &data(3000));
    let refused = |flags, kind, size, place, packet: &[u8]| {
        let mut record = notes(flags, kind, size, place);
        record.extend_from_slice(packet);
        assert!(pieces(&mut record).is_none(), "{kind} {size} {place:?}");
    };
    // Too many pieces, or none.
    refused(0, TCPV4, 7, (0, 0), &of_tcp);
    refused(0, UDP_L4, 0, (0, 0), &of_udp);
    refused(0, UDP_L4, 3000 / 129, (0, 0), &of_udp);
    // Another protocol or version, and what was not offered.
    refused(0, TCPV6, 1448, (0, 0), &of_tcp);
    refused(0, TCPV4, 1448, (0, 0), &of_udp);
    refused(0, UDP_L4, 1448, (0, 0), &of_tcp);
    refused(0, UDP_FRAGMENTS, 1448, (0, 0), &of_udp);
    // Lengths that are not those of the packet.
    refused(0, TCPV4, 1448, (0, 0), &of_tcp[..2000]);
    refused(0, TCPV4, 1448, (0, 0), &of_tcp[..30]);
    refused(0, TCPV4, 1448, (0, 0), &[]);
    // A checksum beyond the packet.
    refused(NEEDS_CSUM, 0, 0, (3052, 0), &of_tcp);
    refused(NEEDS_CSUM, 0, 0, (20, 3031), &of_tcp);
    refused(NEEDS_CSUM, 0, 0, (u16::MAX, u16::MAX), &of_tcp);
    for size in 0..NOTES_BYTES {
        assert!(split(&mut vec![0; size]).is_none());
    }
}
