//! Captures, read by a parser that shares no code with the writer.

use crate::cells;
use crate::cells::{CellSpec, Flow};
use crate::pcap_records::{Record, internet_sum, le16, le32, records};
use airqueue_core::Seed;
use airqueue_network::wlan::pcap::{LEAST_SNAP_BYTES, Pcap, PcapError, View, WHOLE_FRAMES};
use airqueue_network::wlan::tap::{Recording, Tap, TracedFrame, TracedMpdu};
use airqueue_wifi::mac::{Aggregation, Behaviour, FrameKind, MacConfig, Radio};
use airqueue_wifi::medium::{FrameErrors, StationId};
use airqueue_wifi::phy::{
    AccessCategory, Band, Capability, Format, GuardInterval, Mcs, ModulationClass, Preamble,
    Protection, Slot, Width, erp, he,
};
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

const RADIOTAP: usize = 22;

/// CRC-32 bit by bit (IEEE 802.11-2016, 9.2.4.8).
fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}

/// 802.11g with EDCA: QoS data, RTS, CTS-to-self at 11 Mb/s, collisions and noise.
fn busy_cell() -> CellSpec {
    let rules = Behaviour::Standard.rules();
    let radio = Radio::new(erp(Slot::Short, Preamble::Short, rules.conventions), rules);
    let (slow, fast) = (cells::rate(&radio.phy, 11), cells::rate(&radio.phy, 54));
    let mut macs = vec![cells::edca(&radio.phy); 5];
    macs[1].rts_threshold_bytes = 0;
    macs[2].protection = Protection::CtsToSelf;
    macs[2].protection_rate = Some(slow);
    let mut flows = Vec::new();
    for (from, queue) in (1..=4).flat_map(|from| (0..4).map(move |queue| (from, queue))) {
        // The first is the smallest possible packet.
        let size_bytes = [20, 28, 333, 1500][from as usize - 1];
        let mut flow = cells::saturated(from, 0, AccessCategory::at(queue), fast, size_bytes);
        flow.overhead_bytes = cells::EDCA_OVERHEAD;
        flows.push(flow);
    }
    CellSpec { flows, errors: FrameErrors::PerFrame(0.1), ..cells::cell(radio, macs) }
}

/// One second of a network under a tap.
fn run<T: Tap>(spec: &CellSpec, tap: T) -> T {
    let mut sim = spec.start(Seed(3));
    sim.model.wlan_mut().plug(Box::new(tap));
    sim.run_until(cells::at(1));
    sim.model.wlan_mut().unplug().unwrap()
}

fn captured(spec: &CellSpec, view: View, snap: u32) -> Vec<Record> {
    let capture = run(spec, Pcap::new(&spec.wlan(), view, snap, Vec::new()).unwrap());
    records(&capture.finish().unwrap(), snap)
}

fn all_frames(spec: &CellSpec) -> Vec<TracedFrame> {
    run(spec, Recording::default()).frames
}

#[test]
fn every_frame_is_in_it_with_its_times_rate_and_fcs() {
    let spec = busy_cell();
    let phy = &spec.radio.phy;
    let (frames, records) = (all_frames(&spec), captured(&spec, View::Air, WHOLE_FRAMES));
    assert!(frames.len() > 2000 && frames.len() == records.len());
    for (traced, record) in frames.iter().zip(&records) {
        let TracedFrame { frame, begins, ends, .. } = traced;
        assert_eq!(record.time_ns, ends.as_nanos());
        assert_eq!(record.length, RADIOTAP + frame.bytes as usize);
        let header = &record.bytes;
        assert_eq!((le16(header), le16(&header[2..]), le32(&header[4..])), (0, 22, 0b1111));
        let first_bit = (*begins + phy.preamble(frame.rate)).as_nanos();
        assert_eq!(u64::from_le_bytes(header[8..16].try_into().unwrap()), first_bit as u64 / 1000);
        assert_eq!(u64::from(header[17]) * 500_000, phy.rate(frame.rate).as_bps());
        let dsss = phy.class(frame.rate) == ModulationClass::Dsss;
        let flags = if dsss { 0xa0 } else { 0xc0 };
        assert_eq!((le16(&header[18..]), le16(&header[20..])), (2412, flags));
        let lost = traced.at_receiver().is_some_and(|reception| !reception.decoded());
        // FCS at the end, and a short preamble for all DSSS rates but 1 Mb/s, which is not used here.
        let marks = 0x10 | if dsss { 0x02 } else { 0 } | if lost { 0x40 } else { 0 };
        assert_eq!(header[16], marks);
        let (body, fcs) = record.frame().split_at(frame.bytes as usize - 4);
        assert_eq!(crc(body) == le32(fcs), !lost);
        assert_eq!(i64::from(le16(&body[2..])) * 1000, frame.nav.as_nanos());
    }
}

/// The fields of radiotap.org for HT, VHT and HE; the delimiter in an A-MPDU is not a part of its MPDU.
#[test]
fn schemes_have_fields_of_their_own() {
    let scheme = |format, index, width, guard| Mcs { format, index, streams: 2, width, guard };
    let cases = [
        (scheme(Format::Ht, 5, Width::MHZ_40, GuardInterval::Ns400), 1 << 19, vec![0x0f, 0x05, 13]),
        (
            scheme(Format::Vht, 9, Width::MHZ_80, GuardInterval::Ns400),
            1 << 21,
            vec![0x44, 0, 0x04, 4, 0x92, 0, 0, 0, 0, 0, 0, 0],
        ),
        (
            scheme(Format::He, 11, Width::MHZ_160, GuardInterval::Ns1600),
            1 << 23,
            vec![0x20, 0x40, 0x02, 0, 0, 0x0b, 0, 0, 0x13, 0, 0x02, 0],
        ),
    ];
    let rules = Behaviour::Standard.rules();
    let most = Capability { width: Width::MHZ_160, streams: 2 };
    let radio = Radio::new(he(Band::Ghz5, most, rules.conventions).unwrap(), rules);
    for (mcs, field, says) in cases {
        let rate = radio.phy.mcs_index(mcs).unwrap();
        let mut flow = cells::saturated(1, 0, AccessCategory::at(1), rate, 500);
        flow.overhead_bytes = cells::EDCA_OVERHEAD;
        let macs = vec![cells::edca(&radio.phy); 2];
        let spec = CellSpec { flows: vec![flow], ..cells::cell(radio.clone(), macs) };
        let records = captured(&spec, View::Air, WHOLE_FRAMES);
        assert!(records.len() > 1000);
        for pair in records.chunks_exact(2) {
            let [data, ack] = pair else { unreachable!("pairs") };
            let header = &data.bytes;
            assert_eq!(le32(&header[4..]), 0b1011 | field, "{mcs}");
            assert_eq!(
                (header[17], &header[22..data.bytes.len() - data.frame().len()]),
                (0, &says[..])
            );
            let (body, fcs) = data.frame().split_at(538 - 4);
            assert_eq!((fcs.len(), crc(body)), (4, le32(fcs)));
            assert_eq!(data.length, data.bytes.len());
            assert_eq!((le32(&ack.bytes[4..]), ack.bytes[17], ack.frame().len()), (0b1111, 48, 14));
        }
    }
}

#[test]
fn frames_say_who_sends_what_to_whom() {
    let spec = busy_cell();
    let (frames, records) = (all_frames(&spec), captured(&spec, View::Air, WHOLE_FRAMES));
    for (traced, record) in frames.iter().zip(&records) {
        let (frame, bytes) = (&traced.frame, record.frame());
        let (to, from) = (frame.to.0 as u8, frame.from.0 as u8);
        let to_all = frame.kind == FrameKind::CfEnd;
        assert_eq!(bytes[4..10], if to_all { [0xff; 6] } else { [2, 0, 0, 0, 0, to] });
        let control = match frame.kind {
            FrameKind::Rts => 0xb4,
            FrameKind::Cts => 0xc4,
            FrameKind::Data => 0x88,
            FrameKind::Ack => 0xd4,
            FrameKind::CfEnd => 0xe4,
            FrameKind::BlockAckRequest => 0x84,
            FrameKind::BlockAck => 0x94,
            FrameKind::PsPoll => 0xa4,
            FrameKind::Beacon | FrameKind::Null | FrameKind::QosNull | FrameKind::Handshake(_) => {
                continue;
            }
        };
        assert_eq!(bytes[0], control);
        if matches!(frame.kind, FrameKind::Rts | FrameKind::Data | FrameKind::CfEnd) {
            assert_eq!(bytes[10..16], [2, 0, 0, 0, 0, from]);
        }
        let Some(TracedMpdu { packet, .. }) = traced.carried.first().copied() else { continue };
        // User priorities of BK, BE, VI, VO.
        let priority = [1, 0, 5, 6][frame.ac.index()];
        assert_eq!(bytes[24..26], [priority, 0]);
        assert_eq!(bytes[26..34], [0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
        let ip = &bytes[34..bytes.len() - 4];
        assert_eq!(ip.len() as u32, packet.size);
        assert_eq!((ip[0], ip[1]), (0x45, priority << 5));
        assert_eq!(u32::from(u16::from_be_bytes([ip[2], ip[3]])), packet.size);
        assert_eq!(internet_sum(&ip[..20]), 0xffff);
        assert_eq!(ip[12..20], [10, 0, 0, from + 1, 10, 0, 0, to + 1]);
        if packet.size < 28 {
            assert_eq!(ip[9], 253);
            continue;
        }
        let udp = &ip[20..];
        assert_eq!((ip[9], usize::from(u16::from_be_bytes([udp[4], udp[5]]))), (17, udp.len()));
        assert_eq!(u32::from(u16::from_be_bytes([udp[2], udp[3]])), 49_152 + packet.flow.0);
        let pseudo = [&ip[12..20], &[0, 17], &udp[4..6], udp].concat();
        assert_eq!(internet_sum(&pseudo), 0xffff);
    }
}

/// A receiver must be able to distinguish a duplicate from a new packet (10.3.2.11): the sequence numbers of one
/// sender, receiver and priority rise by one, and a retry repeats the number of the frame before.
#[test]
fn sequence_numbers_count_packets_and_not_frames() {
    let spec = busy_cell();
    let (frames, records) = (all_frames(&spec), captured(&spec, View::Air, LEAST_SNAP_BYTES + 4));
    let mut last: HashMap<(StationId, AccessCategory), (u64, u16)> = HashMap::new();
    let mut retries = 0;
    for (traced, record) in frames.iter().zip(&records) {
        let Some(TracedMpdu { packet, .. }) = traced.carried.first().copied() else { continue };
        let (bytes, stream) = (record.frame(), (traced.frame.from, traced.frame.ac));
        let (sequence, retry) = (le16(&bytes[22..]) >> 4, bytes[1] & 0x08 != 0);
        if let Some(&(id, before)) = last.get(&stream) {
            assert_eq!(retry, id == packet.id);
            assert_eq!(sequence, if retry { before } else { (before + 1) % 4096 });
        }
        retries += u64::from(retry);
        last.insert(stream, (packet.id, sequence));
    }
    assert!(retries > 100, "{retries}");
}

#[test]
fn one_counter_serves_all_that_is_not_qos() {
    let mut spec = busy_cell();
    for flow in &mut spec.flows {
        flow.overhead_bytes = cells::DCF_OVERHEAD;
    }
    let mut next = HashMap::new();
    for record in captured(&spec, View::Air, WHOLE_FRAMES) {
        let bytes = record.frame();
        if bytes[0] == 0x08 && bytes[1] & 0x08 == 0 {
            let sequence = le16(&bytes[22..]) >> 4;
            let expected = next.entry(bytes[10..16].to_vec()).or_insert(0);
            assert_eq!(sequence, *expected);
            *expected = (sequence + 1) % 4096;
        }
    }
    assert_eq!(next.len(), 4);
}

#[test]
fn a_station_has_what_it_sent_and_what_it_received() {
    let spec = busy_cell();
    let id = StationId(3);
    let frames = all_frames(&spec);
    let received = |traced: &&TracedFrame| {
        traced.frame.from == id || traced.at(id).is_some_and(|h| h.decoded() || h.engaged)
    };
    let expected: Vec<&TracedFrame> = frames.iter().filter(received).collect();
    let records = captured(&spec, View::Station(id), 100);
    assert_eq!(records.len(), expected.len());
    assert!(records.len() < frames.len());
    for (record, traced) in records.iter().zip(expected) {
        let understood = traced.frame.from == id || traced.at(id).unwrap().decoded();
        assert_eq!(record.time_ns, traced.ends.as_nanos());
        assert_eq!(record.is_marked_bad(), !understood);
    }
}

/// ns-2's frames have four addresses and no LLC/SNAP.
#[test]
fn other_headers_have_their_length() {
    for (overhead, first, flags) in [(34, 0x08, 3), (28, 0x08, 0), (42, 0x08, 3), (44, 0x88, 3)] {
        let mut spec = cells::uploads(1);
        spec.flows[0].overhead_bytes = overhead;
        let records = captured(&spec, View::Air, WHOLE_FRAMES);
        let data: Vec<&Record> = records.iter().filter(|r| r.frame()[0] == first).collect();
        assert!(data.len() > 100);
        for record in data {
            let bytes = record.frame();
            assert_eq!(record.length, RADIOTAP + 1000 + overhead as usize);
            assert_eq!(bytes[1] & !0x08, flags);
            if flags == 3 {
                assert_eq!(bytes[24..30], [2, 0, 0, 0, 0, 1]);
            }
        }
    }
}

#[test]
fn what_cannot_be_captured_is_refused() {
    let mut spec = cells::uploads(2);
    let error =
        |spec: &CellSpec, view, snap| Pcap::new(&spec.wlan(), view, snap, Vec::new()).unwrap_err();
    let nobody = error(&spec, View::Station(StationId(3)), 100);
    assert_eq!(nobody.to_string(), "there is no station 3 to capture at");
    let least = error(&spec, View::Air, LEAST_SNAP_BYTES - 1);
    assert!(matches!(least, PcapError::Snap { least: LEAST_SNAP_BYTES, .. }));
    spec.flows[1].overhead_bytes = 35;
    let overhead = error(&spec, View::Air, 100);
    assert!(overhead.to_string().starts_with("hop 2.0 to 0: no header of a data frame has 35"));
}

/// A disk that is full after this many bytes.
#[derive(Debug)]
struct Disk(usize);

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_at_the_end_and_stops_no_run() {
    let spec = cells::uploads(2);
    assert!(matches!(Pcap::new(&spec.wlan(), View::Air, 100, Disk(23)), Err(PcapError::Io(_))));
    let capture = run(&spec, Pcap::new(&spec.wlan(), View::Air, 100, Disk(1000)).unwrap());
    assert_eq!(capture.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
}

/// Each MPDU is a record with the number of its A-MPDU and its own FCS. The block ack after them has a bit for each
/// MPDU that arrived, in addition to those that had arrived before.
#[test]
fn an_a_mpdu_is_a_record_for_each_packet() {
    const AMPDU_STATUS: u32 = 1 << 20;
    let rules = Behaviour::Standard.rules();
    let most = Capability { width: Width::MHZ_80, streams: 1 };
    let radio = Radio::new(he(Band::Ghz5, most, rules.conventions).unwrap(), rules);
    let fast = radio.phy.rates().max_by_key(|&(_, rate)| rate).unwrap().0;
    let aggregation = Some(Aggregation { window: 20, ..Aggregation::STANDARD });
    let macs = vec![MacConfig { aggregation, ..cells::edca(&radio.phy) }; 3];
    let flow = |to| {
        let overhead_bytes = cells::EDCA_OVERHEAD;
        Flow { overhead_bytes, ..cells::saturated(1, to, AccessCategory::at(1), fast, 500) }
    };
    let mut spec = CellSpec { flows: vec![flow(0), flow(2)], ..cells::cell(radio, macs) };
    spec.errors = FrameErrors::PerFrame(0.3);
    let frames = all_frames(&spec);
    let records = captured(&spec, View::Air, WHOLE_FRAMES);
    let mut records = records.iter();
    let (mut arrived, mut answered) = (HashSet::new(), 0);
    let mut sent: Vec<(u16, u64)> = Vec::new();
    // Sequence numbers are per receiver.
    let mut known: HashMap<(StationId, u16), u64> = HashMap::new();
    for (number, traced) in frames.iter().enumerate() {
        if traced.frame.kind == FrameKind::BlockAck {
            let bytes = records.next().unwrap().frame();
            // Block ack control: compressed, best effort; the first sequence number; 64 bits.
            assert_eq!((bytes.len(), &bytes[16..18]), (32, &[4, 0][..]));
            assert_eq!(le16(&bytes[18..]) >> 4, sent[0].0);
            let bitmap = u64::from_le_bytes(bytes[20..28].try_into().unwrap());
            for &(sequence, id) in &sent {
                let bit = bitmap >> ((sequence + 4096 - sent[0].0) % 4096) & 1;
                assert_eq!(bit == 1, arrived.contains(&id), "{number}");
            }
            for place in (0..64).filter(|place| bitmap >> place & 1 == 1) {
                let id = known[&(traced.frame.from, (sent[0].0 + place) % 4096)];
                assert!(arrived.contains(&id), "{number}");
            }
            answered += 1;
            continue;
        }
        sent.clear();
        let several = traced.carried.len() > 1;
        for (place, carried) in traced.carried.iter().enumerate() {
            let record = records.next().unwrap();
            let (header, frame) = (&record.bytes, record.frame());
            assert_eq!(le32(&header[4..]) & AMPDU_STATUS != 0, several);
            if several {
                let last = if place + 1 == traced.carried.len() { 0x0c } else { 0x04 };
                assert_eq!(le16(&header[28..]), last);
            }
            assert_eq!(frame.len() as u32, carried.mpdu_bytes);
            let (body, fcs) = frame.split_at(frame.len() - 4);
            assert_eq!(crc(body) == le32(fcs), carried.decoded);
            sent.push((le16(&frame[22..]) >> 4, carried.packet.id));
            known.insert((traced.frame.to, le16(&frame[22..]) >> 4), carried.packet.id);
            if carried.decoded {
                arrived.insert(carried.packet.id);
            }
        }
        if traced.carried.is_empty() {
            records.next();
        }
    }
    assert!(answered > 100 && records.next().is_none());
}
