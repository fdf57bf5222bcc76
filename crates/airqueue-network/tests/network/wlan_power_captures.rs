//! Beacons, null frames, PS-Polls and packets to all stations in captures, read byte by byte.

use crate::cells;
use crate::cells::{CellSpec, EDCA_OVERHEAD, Flow, b, cell, dcf, edca, saturated};
use crate::pcap_records::{Record, le16, records};
use crate::wlan_power::{beacons, sleeper};
use airqueue_core::{Seed, Span, Time};
use airqueue_network::wlan::pcap::{Pcap, View, WHOLE_FRAMES};
use airqueue_network::wlan::{PowerSaveSpec, UapsdSpec, WakeUp};
use airqueue_transport::traffic::Arrivals;
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;

const BROADCAST: [u8; 6] = [0xff; 6];

fn captured(wake_up: WakeUp, phone: u32) -> Vec<Record> {
    let radio = b();
    let slow = radio.phy.slowest_basic();
    let mut spec = cell(radio, vec![dcf(&b().phy); phone as usize + 1]);
    let every = Arrivals::Periodic { every: Span::from_millis(300), on_off: None };
    let flow = |to: u32| {
        let mut flow = saturated(0, to, AccessCategory::FIRST, slow, 200);
        (flow.source.arrivals, flow.source.start) = (every, Time::from_nanos(1_000_000));
        Flow { name: format!("to {to}"), ..flow }
    };
    let (twice, to_all) = ([flow(phone), flow(phone)], flow(0));
    spec.flows = twice.into_iter().chain([to_all]).collect();
    spec.beacons = vec![beacons(&spec.radio)];
    spec.sleepers = vec![sleeper(&spec.radio, StationId(phone), wake_up)];
    let mut sim = CellSpec { ..spec.clone() }.start(Seed(3));
    let tap = Pcap::new(&spec.wlan(), View::Air, WHOLE_FRAMES, Vec::new()).unwrap();
    sim.model.wlan_mut().plug(Box::new(tap));
    sim.run_until(cells::at(3));
    let tap: Pcap<Vec<u8>> = sim.model.wlan_mut().unplug().unwrap();
    records(&tap.finish().unwrap(), WHOLE_FRAMES)
}

/// Frames of a type and subtype, as the first byte of Frame Control.
fn frames(records: &[Record], kind: u8) -> Vec<&[u8]> {
    records.iter().map(Record::frame).filter(|frame| frame[0] == kind).collect()
}

/// The elements of a beacon, which must end where the FCS begins.
fn elements(beacon: &[u8]) -> Vec<(u8, &[u8])> {
    let mut left = &beacon[36..beacon.len() - 4];
    let mut found = Vec::new();
    while !left.is_empty() {
        let length = usize::from(left[1]);
        found.push((left[0], &left[2..2 + length]));
        left = &left[2 + length..];
    }
    found
}

#[test]
fn beacons_have_their_fields_and_the_tim() {
    for phone in [1u32, 30] {
        let records = captured(WakeUp::PsPoll, phone);
        let beacons = frames(&records, 0x80);
        assert_eq!(beacons.len(), 30);
        let (mut called, mut with_group) = (0, 0);
        for (number, beacon) in beacons.iter().enumerate() {
            assert_eq!(beacon.len(), 300);
            assert_eq!((&beacon[4..10], le16(&beacon[2..])), (&BROADCAST[..], 0));
            // From the access point, whose address is the BSSID.
            assert_eq!(beacon[10..22], [[2, 0, 0, 0, 0, 0]; 2].concat());
            let stamp = u64::from_le_bytes(beacon[24..32].try_into().unwrap());
            assert_eq!(stamp, 10_000 + 102_400 * number as u64);
            assert_eq!((le16(&beacon[32..]), le16(&beacon[34..])), (100, 1));
            let all = elements(beacon);
            assert_eq!(all[0], (0, &b"airqueue"[..]));
            let (id, tim) = all[1];
            let dtim_count = (3 - number % 3) % 3;
            assert_eq!((id, usize::from(tim[0]), tim[1]), (5, dtim_count, 3));
            // The association id is the station's number and one: bit 0 of the bitmap belongs to id 0.
            let association = phone as usize + 1;
            let first = usize::from(tim[2] & !1) / 2 * 2;
            let byte = (association / 8).checked_sub(first).and_then(|at| tim[3..].get(at));
            let bit = byte.is_some_and(|byte| byte & 1 << (association % 8) != 0);
            assert_eq!(tim[3..].iter().map(|byte| byte.count_ones()).sum::<u32>(), u32::from(bit));
            called += u32::from(bit);
            with_group += u32::from(tim[2] & 1);
            assert!(dtim_count == 0 || tim[2] & 1 == 0, "packets to all follow a DTIM");
        }
        // Packets at 1, 301, ... 2701 ms, and a DTIM each 307.2 ms.
        assert_eq!((called, with_group), (10, 10));
    }
}

#[test]
fn polls_say_who_asks_and_data_say_that_more_wait() {
    let records = captured(WakeUp::PsPoll, 1);
    let polls = frames(&records, 0xa4);
    assert_eq!(polls.len(), 20, "two packets behind each of ten beacons");
    for poll in polls {
        assert_eq!((poll.len(), poll[1] & 0x10), (20, 0x10));
        assert_eq!(le16(&poll[2..]), 0xc000 | 2);
        assert_eq!(poll[4..16], [2, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1]);
    }
    let (to_all, to_phone): (Vec<_>, Vec<_>) =
        frames(&records, 0x08).into_iter().partition(|data| data[4..10] == BROADCAST);
    let more: Vec<bool> = to_phone.iter().map(|data| data[1] & 0x20 != 0).collect();
    assert_eq!(more, [true, false].repeat(10));
    assert_eq!(to_all.len(), 10);
    assert!(to_all.iter().all(|data| data[1] & 0x20 == 0 && le16(&data[2..]) == 0));
    // To the local broadcast address.
    assert!(to_all.iter().all(|data| data[48..52] == [0xff; 4]));
}

/// Twenty packets to all of 8.5 ms each do not fit before the next beacon, and one more comes while they are sent. IEEE
/// 802.11-2020, 11.2.3: all of them follow the DTIM until none is left, across the next beacon, whose TIM says so; all but the
/// last have More Data, and a station that sleeps stays awake for them.
#[test]
fn packets_to_all_go_on_behind_the_next_beacon() {
    let radio = b();
    let slow = radio.phy.slowest_basic();
    let mut spec = cell(radio, vec![dcf(&b().phy); 2]);
    let every = Arrivals::Periodic { every: Span::from_millis(1), on_off: None };
    // Beacons are due at 10 ms and each 102.4 ms, the second DTIM at 317.2 ms.
    let flow = |start_ms: i64, packets: i64| {
        let mut flow = saturated(0, 0, AccessCategory::FIRST, slow, 1000);
        let start = Time::ZERO + Span::from_millis(start_ms);
        (flow.source.arrivals, flow.source.start) = (every, start);
        flow.source.stop = start + Span::from_micros(1000 * packets - 500);
        Flow { name: format!("at {start_ms}"), ..flow }
    };
    spec.flows = vec![flow(100, 20), flow(340, 1)];
    spec.beacons = vec![beacons(&spec.radio)];
    let dozes = sleeper(&spec.radio, StationId(1), WakeUp::PsPoll);
    spec.sleepers = vec![PowerSaveSpec { dtims: true, listen_interval: 4, ..dozes }];
    let mut sim = spec.start(Seed(3));
    let tap = Pcap::new(&spec.wlan(), View::Air, WHOLE_FRAMES, Vec::new()).unwrap();
    sim.model.wlan_mut().plug(Box::new(tap));
    sim.run_until(Time::ZERO + Span::from_millis(600));
    let tap: Pcap<Vec<u8>> = sim.model.wlan_mut().unplug().unwrap();
    let records = records(&tap.finish().unwrap(), WHOLE_FRAMES);
    let group_bit = |beacon: &&[u8]| elements(beacon)[1].1[2] & 1 != 0;
    let said: Vec<bool> = frames(&records, 0x80).iter().map(group_bit).collect();
    assert_eq!(said, [false, false, false, true, true, false]);
    let more: Vec<bool> = frames(&records, 0x08).iter().map(|data| data[1] & 0x20 != 0).collect();
    assert_eq!(more, [[true; 20].as_slice(), &[false]].concat());
    // Two beacons of 2.6 ms, and 21 packets of 8.5 ms with PIFS.
    let last = records.iter().rfind(|record| record.frame()[0] == 0x08).unwrap();
    assert!((480_000_000..512_000_000).contains(&last.time_ns), "{}", last.time_ns);
    assert_eq!(sim.model.wlan().station(StationId(1)).from_all, 21);
}

#[test]
fn null_frames_say_who_sleeps() {
    let records = captured(WakeUp::Null { timeout: Span::from_millis(50) }, 1);
    let nulls = frames(&records, 0x48);
    let sleeps: Vec<bool> = nulls.iter().map(|null| null[1] & 0x10 != 0).collect();
    // The first packets come while the station is still awake.
    assert_eq!(sleeps, [&[true][..], &[false, true].repeat(9)].concat());
    assert!(nulls.iter().all(|null| null.len() == 28 && null[10..16] == [2, 0, 0, 0, 0, 1]));
    let numbers: Vec<u32> = nulls.iter().map(|null| u32::from(le16(&null[22..])) >> 4).collect();
    assert_eq!(numbers, (0..19).collect::<Vec<u32>>());
}

/// Two packets of video and three of voice wait for QoS null frames of voice, each of which gets two at most, voice first.
#[test]
fn service_periods_have_their_bits() {
    let radio = b();
    let slow = radio.phy.slowest_basic();
    let mut spec = cell(radio, vec![edca(&b().phy); 2]);
    let once = Arrivals::Periodic { every: Span::from_secs(100), on_off: None };
    let flow = |at: usize, ac: AccessCategory| {
        let mut flow = saturated(0, 1, ac, slow, 200);
        (flow.source.arrivals, flow.source.start) = (once, Time::from_nanos(1_000_000));
        Flow { name: format!("packet {at}"), overhead_bytes: EDCA_OVERHEAD, ..flow }
    };
    let (video, voice) = (AccessCategory::VIDEO, AccessCategory::VOICE);
    spec.flows = [video, video, voice, voice, voice]
        .into_iter()
        .enumerate()
        .map(|(at, ac)| flow(at, ac))
        .collect();
    spec.beacons = vec![beacons(&spec.radio)];
    let uapsd = UapsdSpec {
        categories: [false, false, true, true],
        most_packets: Some(2),
        trigger_interval: Some(Span::from_millis(30)),
    };
    let dozes = sleeper(&spec.radio, StationId(1), WakeUp::PsPoll);
    spec.sleepers = vec![PowerSaveSpec { uapsd: Some(uapsd), ..dozes }];
    let mut sim = spec.start(Seed(3));
    let tap = Pcap::new(&spec.wlan(), View::Air, WHOLE_FRAMES, Vec::new()).unwrap();
    sim.model.wlan_mut().plug(Box::new(tap));
    sim.run_until(Time::ZERO + Span::from_millis(140));
    let tap: Pcap<Vec<u8>> = sim.model.wlan_mut().unplug().unwrap();
    let records = records(&tap.finish().unwrap(), WHOLE_FRAMES);
    // QoS Control is behind the sequence number: priority and EOSP. More Data and Power Management are in Frame Control.
    let data = frames(&records, 0x88);
    let said: Vec<_> = data.iter().map(|of| (of[24], of[1] & 0x30)).collect();
    assert_eq!(said, [(6, 0x20), (0x16, 0x20), (6, 0x20), (0x15, 0x20), (0x15, 0)]);
    let nulls = frames(&records, 0xc8);
    let (triggers, ends): (Vec<&[u8]>, Vec<&[u8]>) =
        nulls.iter().copied().partition(|null| null[10..16] == [2, 0, 0, 0, 0, 1]);
    assert!(nulls.iter().all(|null| null.len() == 30));
    assert_eq!(triggers.len(), 4);
    assert!(triggers.iter().all(|null| null[24] == 6 && null[1] & 0x30 == 0x10));
    assert_eq!(ends.len(), 1, "the fourth trigger finds nothing");
    assert!(ends.iter().all(|null| null[24] == 0x16 && null[1] & 0x30 == 0));
    assert!(ends.iter().all(|null| null[4..10] == [2, 0, 0, 0, 0, 1]));
}
