//! Captures of emulated nodes, read by a small parser of pcapng: packets, times, and comments beside the counters.

use airqueue_core::{Seed, Span, Time};
use airqueue_emulator::{Emulation, Refusal};
use airqueue_scenario::Scenario;
use etherparse::PacketBuilder;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};

/// Frames between phone and access point are lost often where they are far apart: there is no rate control.
const CELL: &str = r#"{
    "warm_up": "0 s",
    "phy": {"standard": "802.11n", "rate": "HT-MCS7"},
    "mac": {"access": "edca"},
    "queue": {"discipline": "codel", "limit": "30 packets", "codel": {"ecn": true}},
    "medium": {
        "path_loss": {"log_distance": {"exponent": 3, "reference_loss": "46.4 dB"}},
        "thresholds": {"decode": "-95 dBm", "sense": "-97 dBm"},
        "errors": "snr"
    },
    "stations": [
        {"name": "ap", "position": ["0 m", "0 m"], "power": "15 dBm"},
        {"name": "phone", "position": ["DISTANCE", "0 m"], "power": "15 dBm", "real": true}
    ],
    "hosts": [{"name": "server", "link": "ap", "rate": "20 Mb/s", "delay": "3 ms", "real": true,
               "queue": {"discipline": "droptail", "limit": "10 packets"}}]
}"#;
const NEAR: &str = "5 m";
const FAR: &str = "21.4 m";
const PHONE: usize = 0;
const SERVER: usize = 1;
/// 1 January 2026.
const ZERO_S: i64 = 1_767_225_600;

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug, PartialEq)]
struct Record {
    at_ns: u64,
    sent: bool,
    bytes: Vec<u8>,
    comment: String,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}

/// The options of a block: codes and values.
fn options(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut found = Vec::new();
    loop {
        let (code, length) = (half(bytes, 0), usize::from(half(bytes, 2)));
        if code == 0 {
            assert_eq!((length, bytes.len()), (0, 4));
            return found;
        }
        found.push((code, bytes[4..4 + length].to_vec()));
        bytes = &bytes[4 + length.next_multiple_of(4)..];
    }
}

fn value(options: &[(u16, Vec<u8>)], code: u16) -> Vec<u8> {
    options.iter().find(|(of, _)| *of == code).expect("the option is there").1.clone()
}

/// The packets of a file. Every byte of the file is checked.
fn parse(mut file: &[u8]) -> Vec<Record> {
    let (mut records, mut blocks) = (Vec::new(), 0);
    while !file.is_empty() {
        let (kind, length) = (word(file, 0), word(file, 4) as usize);
        assert_eq!((length % 4, word(file, length - 4) as usize), (0, length));
        let content = &file[8..length - 4];
        match (blocks, kind) {
            (0, 0x0a0d_0d0a) => {
                assert_eq!((word(content, 0), half(content, 4)), (0x1a2b_3c4d, 1));
                assert_eq!(content[8..16], [0xff; 8]);
                assert!(value(&options(&content[16..]), 4).starts_with(b"airqueue "));
            }
            (1, 1) => {
                assert_eq!((half(content, 0), word(content, 4)), (101, 0));
                assert_eq!(value(&options(&content[8..]), 9), [9]);
            }
            (_, 6) if blocks > 1 => {
                let [interface, high, low, kept, real] =
                    [0, 4, 8, 12, 16].map(|at| word(content, at));
                assert_eq!((interface, kept), (0, real));
                let end = 20 + kept as usize;
                let options = options(&content[20 + (kept as usize).next_multiple_of(4)..]);
                records.push(Record {
                    at_ns: u64::from(high) << 32 | u64::from(low),
                    sent: value(&options, 2) == [2, 0, 0, 0],
                    bytes: content[20..end].to_vec(),
                    comment: String::from_utf8(value(&options, 1)).unwrap(),
                });
            }
            _ => panic!("block {blocks} of type {kind:#x}"),
        }
        blocks += 1;
        file = &file[length..];
    }
    assert!(records.is_sorted_by_key(|record| record.at_ns), "in order of time");
    records
}

fn address(place: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, place as u8 + 1)
}

fn datagram(from: usize, to: usize, number: u32, ecn: u8) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4(address(from).octets(), address(to).octets(), 64);
    let mut data = vec![0; 1472];
    data[..4].copy_from_slice(&number.to_be_bytes());
    builder.udp(7, 9).write(&mut packet, &data).unwrap();
    packet[1] = ecn;
    let sum = u16::from_be_bytes([packet[10], packet[11]]) - u16::from(ecn);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

fn captured(nodes: &[usize], distance: &str) -> (Emulation, Vec<Shared>) {
    let emulated = Scenario::emulated(&CELL.replace("DISTANCE", distance), &[]).unwrap();
    let mut emulation = Emulation::new(&emulated, Seed(1)).unwrap();
    for place in 0..3 {
        emulation.set_address(place, IpAddr::V4(address(place)));
    }
    let files: Vec<Shared> = nodes.iter().map(|_| Shared::default()).collect();
    for (&node, file) in nodes.iter().zip(&files) {
        emulation.capture(node, Box::new(file.clone()));
    }
    emulation.set_capture_zero(Span::from_secs(ZERO_S));
    (emulation, files)
}

/// Sends so many packets from both ends, faster than the network carries.
fn flood(emulation: &mut Emulation, packets: u32) -> Vec<(usize, Vec<u8>, u64)> {
    let mut left = Vec::new();
    for number in 0..packets {
        let now = Time::ZERO + Span::from_micros(i64::from(number) * 250);
        for (from, to) in [(PHONE, SERVER), (SERVER, PHONE)] {
            let packet = datagram(from, to, number, if number % 2 == 0 { 2 } else { 0 });
            let _ = emulation.arrive(from, &packet, now, &mut |of| {
                left.push((of.to, of.bytes.to_vec(), of.due.as_nanos() as u64));
            });
        }
    }
    left
}

fn with<'a>(records: &'a [Record], part: &str) -> Vec<&'a Record> {
    records.iter().filter(|record| record.comment.contains(part)).collect()
}

#[test]
fn comments_say_of_each_packet_what_the_counters_say_of_all() {
    let (mut emulation, files) = captured(&[PHONE, SERVER], FAR);
    let mut left = flood(&mut emulation, 8000);
    // Some packets are in the network at the end.
    let until = Time::ZERO + Span::from_micros(8000 * 250);
    while emulation
        .step(until, &mut |of| left.push((of.to, of.bytes.to_vec(), of.due.as_nanos() as u64)))
    {
    }
    let held = emulation.packets_held() as u64;
    emulation.finish_captures();
    let records = files.iter().map(|file| parse(&file.0.lock().unwrap())).collect::<Vec<_>>();
    let mut still = 0;
    for (from, to, counters) in emulation.pairs() {
        let (at, other) = if from.wired { (SERVER, PHONE) } else { (PHONE, SERVER) };
        let sent: Vec<Record> =
            parse(&files[at].0.lock().unwrap()).into_iter().filter(|r| r.sent).collect();
        assert_eq!(sent.len() as u64, counters.offered.packets);
        let begins = format!("{} -> {}: ", from.name, to.name);
        let count = |part: &str| with(&sent, part).len() as u64;
        assert_eq!(count(&format!("{begins}delivered after ")), counters.delivered.packets);
        assert_eq!(count(&format!("{begins}dropped by the queue ")), counters.dropped.packets);
        assert_eq!(count(&format!("{begins}given up by ")), counters.lost.packets);
        assert_eq!(count("; marked CE by a queue"), counters.marked);
        let known = counters.delivered.packets + counters.dropped.packets + counters.lost.packets;
        assert_eq!(
            count(&format!("{begins}still in the network when the run ended")),
            sent.len() as u64 - known
        );
        still += sent.len() as u64 - known;
        let received: Vec<&Record> = records[other].iter().filter(|record| !record.sent).collect();
        assert_eq!(received.len() as u64, counters.delivered.packets);
        // To the byte and to the nanosecond what the network delivered.
        let expected = left.iter().filter(|(node, ..)| *node == other);
        for (record, (_, bytes, due)) in received.iter().zip(expected) {
            assert_eq!(
                (&record.bytes, record.at_ns),
                (bytes, due + (ZERO_S as u64) * 1_000_000_000)
            );
        }
    }
    assert_eq!((still, held > 0), (held, true));
    // The test is to see every fate.
    let all: Vec<Record> = records.into_iter().flatten().collect();
    for part in [
        "dropped by the queue ap->server (full, as it arrived)",
        "dropped by the queue phone.be (active queue management)",
        "marked CE",
        " ms in the queue phone.be; 1 attempt on the air by phone; ",
        "; 2 attempts on the air by ap",
        " ms in the queue server->ap; ",
    ] {
        assert!(!with(&all, part).is_empty(), "{part}");
    }
}

#[test]
fn a_frame_of_one_packet_is_sent_seven_times_before_the_packet_is_given_up() {
    // dot11ShortRetryLimit of IEEE 802.11-2016, annex C; frames of 802.11g have one packet.
    let text = CELL.replace("DISTANCE", "36 m");
    let text = text.replace(
        r#"{"standard": "802.11n", "rate": "HT-MCS7"}"#,
        r#"{"standard": "802.11g", "rate": "36 Mb/s"}"#,
    );
    let emulated = Scenario::emulated(&text, &[]).unwrap();
    let mut emulation = Emulation::new(&emulated, Seed(1)).unwrap();
    (0..2).for_each(|place| emulation.set_address(place, IpAddr::V4(address(place))));
    let file = Shared::default();
    emulation.capture(PHONE, Box::new(file.clone()));
    flood(&mut emulation, 8000);
    emulation.finish_captures();
    let records = parse(&file.0.lock().unwrap());
    let given_up = with(&records, "given up by phone after ");
    assert!(given_up.len() > 10, "{}", given_up.len());
    for record in given_up {
        assert!(record.comment.contains("after 7 attempts on the air"), "{}", record.comment);
    }
    let delivered = with(&records, "phone -> server: delivered");
    let sent = |count: &str| with(&records, &format!("; {count} on the air by phone")).len();
    let known = ["1 attempt"].into_iter().map(str::to_owned);
    let known = known.chain((2..=7).map(|count| format!("{count} attempts")));
    let counts: Vec<usize> = known.map(|count| sent(&count)).collect();
    let dropped_later = with(&records, "phone -> server: dropped by the queue ap->server").len();
    assert_eq!(counts.iter().sum::<usize>(), delivered.len() + dropped_later, "{counts:?}");
    assert!(counts[0] > 10 && counts[1] > 10, "{counts:?}");
}

/// The time in a comment before some words, in nanoseconds.
fn time_before(comment: &str, words: &str) -> i64 {
    let before = comment.split(words).next().unwrap();
    let number = before.rsplit([' ', ';']).next().unwrap();
    let (ms, ns) = number.split_once('.').unwrap();
    ms.parse::<i64>().unwrap() * 1_000_000 + ns.parse::<i64>().unwrap()
}

#[test]
fn a_single_packet_has_the_times_of_its_way() {
    let (mut emulation, files) = captured(&[SERVER], NEAR);
    let now = Time::ZERO + Span::from_millis(500);
    for number in 0..3 {
        emulation.arrive(SERVER, &datagram(SERVER, PHONE, number, 0), now, &mut |_| {}).unwrap();
    }
    while emulation.step(now + Span::from_secs(1), &mut |_| {}) {}
    emulation.finish_captures();
    let records = parse(&files[0].0.lock().unwrap());
    assert_eq!(records.len(), 3);
    for (number, record) in (0..).zip(&records) {
        assert_eq!(record.at_ns, ZERO_S as u64 * 1_000_000_000 + 500_000_000);
        // Each packet waits until those before it have been serialised: 1500 B at 20 Mb/s.
        assert_eq!(time_before(&record.comment, " ms in the queue server->ap"), 600_000 * number);
        let all = record.comment.strip_prefix("server -> phone: delivered after ").unwrap();
        let total = time_before(all, " ms in the network");
        assert!(total > 3_600_000 + 600_000 * number, "{total}");
    }
}

#[test]
fn refused_packets_say_why_and_answers_are_there() {
    let (mut emulation, files) = captured(&[PHONE], NEAR);
    let mut last = datagram(PHONE, SERVER, 0, 0);
    last[8] = 1;
    let foreign = datagram(SERVER, PHONE, 0, 0);
    for (packet, refusal) in [
        (&last[..], Refusal::HopLimit),
        (&foreign, Refusal::ForeignSource),
        (&[], Refusal::Malformed),
    ] {
        assert_eq!(emulation.arrive(PHONE, packet, Time::ZERO, &mut |_| {}), Err(refusal));
    }
    while emulation.step(Time::ZERO + Span::from_secs(1), &mut |_| {}) {}
    emulation.finish_captures();
    let records = parse(&files[0].0.lock().unwrap());
    let comments: Vec<&str> = records.iter().map(|record| &*record.comment).collect();
    assert_eq!(
        comments[0],
        "phone: refused (hop_limit), stopped by ap: the packet has used up its hop limit"
    );
    assert_eq!(
        comments[1],
        "phone: refused (foreign_source): the packet has the source address of another node"
    );
    assert_eq!(comments[2], "phone: refused (malformed): the packet is not one whole IP packet");
    assert!(comments[3].starts_with("ap -> phone: delivered after "), "{}", comments[3]);
    assert!(!records[3].sent && records[..3].iter().all(|record| record.sent));
    assert_eq!((records[0].bytes.as_slice(), records.len()), (&last[..], 4));
}

#[test]
fn a_capture_changes_no_delay() {
    let mut runs = [&[][..], &[PHONE, SERVER]].map(|nodes| {
        let (mut emulation, _) = captured(nodes, FAR);
        flood(&mut emulation, 3000)
    });
    assert_eq!(runs[0], runs[1]);
    assert!(!runs[0].is_empty());
    runs[0].clear();
}

/// Takes nothing.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_capture_that_cannot_be_written_says_so_and_the_network_goes_on() {
    let (mut emulation, _) = captured(&[], NEAR);
    emulation.capture(PHONE, Box::new(Full));
    let left = flood(&mut emulation, 2000);
    assert!(!left.is_empty());
    emulation.finish_captures();
    let states: Vec<_> = emulation.captures().collect();
    let [state] = &states[..] else { panic!("{states:?}") };
    assert_eq!(state.failure.map(io::Error::kind), Some(io::ErrorKind::StorageFull));
    assert_eq!(state.node, PHONE);
}

#[test]
fn whole_blocks_are_written_before_the_end() {
    let (mut emulation, files) = captured(&[PHONE], NEAR);
    flood(&mut emulation, 8000);
    let written = files[0].0.lock().unwrap().clone();
    let before = parse(&written).len();
    assert!(before > 1000, "{before}");
    emulation.finish_captures();
    let file = files[0].0.lock().unwrap().clone();
    assert!(parse(&file).len() > before && file.starts_with(&written));
}
