//! Everything that is written can be read back, and no input causes harm.

use airqueue_core::Span;
use airqueue_probe::bytes::Reader;
use airqueue_probe::check::{PlanError, PlanFault};
use airqueue_probe::limits::Limits;
use airqueue_probe::log::{Arrival, ArrivalLog, SenderLog, decode_receiver, decode_sender, join};
use airqueue_probe::plan::{Plan, Segment};
use airqueue_probe::records::{Classes, HostReport, MISSING, Records, Run, RunEnd};
use airqueue_probe::schedule::{due_windows, last_of_each_flow};
use airqueue_probe::wire::{
    CHUNK_LEN, DataHeader, ForeignFlow, Glimpse, Message, Packet, Reason, Summary, VERSION, Way,
    decode, encode,
};
use airqueue_probe::{capture, column};
use proptest::collection::vec;
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

fn segments() -> impl Strategy<Value = Segment> {
    let times = (0..5_000_000_000i64, 0..5_000_000_000i64);
    (0..4u8, times, 0..200u32, any::<u16>(), any::<u8>()).prop_map(
        |(flow, (start, duration), count, size, traffic_class)| {
            let (start, duration) = (Span::from_nanos(start), Span::from_nanos(duration));
            Segment { flow, start, duration, count, size, traffic_class }
        },
    )
}

fn handshakes() -> impl Strategy<Value = Message<'static>> {
    let limits =
        (any::<[u64; 2]>(), 0..1i64 << 50, any::<[u32; 3]>()).prop_map(|(l, run, n)| Limits {
            max_bits_per_s: l[0],
            max_packets_per_s: l[1],
            max_run: Span::from_nanos(run),
            max_packets: n[0],
            max_sessions: n[1],
            max_sessions_per_address: n[2],
        });
    let reason = prop_oneof![Just(Reason::KeyWrong), Just(Reason::ServerFull)];
    let numbers = (any::<u64>(), any::<u32>(), any::<[u8; 16]>(), any::<u64>(), any::<u8>());
    (0..8, numbers, limits, reason, any::<bool>()).prop_map(
        |(kind, (nonce, stamp, cookie, other, small), limits, reason, keyed)| match kind {
            0 => Message::Hello { nonce },
            1 => Message::Challenge { nonce, stamp, cookie },
            2 => Message::Version { nonce, version: small },
            3 => Message::Refused { echo: nonce, reason, detail: other },
            4 => Message::Open { nonce, stamp, cookie, flows: small, keyed },
            5 => Message::Join { nonce, stamp, cookie, session: other },
            6 => Message::Accept { nonce, session: other, limits },
            _ => Message::Joined { session: nonce },
        },
    )
}

fn session_messages() -> impl Strategy<Value = Message<'static>> {
    let numbers = (any::<u64>(), any::<u32>(), any::<[u32; 5]>(), any::<[u64; 3]>());
    let bytes = vec(any::<u8>(), 0..=CHUNK_LEN);
    (0..15, numbers, vec(segments(), 0..=40), bytes, any::<[bool; 2]>()).prop_map(
        |(kind, (session, run, n, big), segments, bytes, flags)| match kind {
            0 => {
                let way = [Way::Down, Way::Up, Way::UpFromAll][n[1] as usize % 3];
                let (part, parts) = (n[0] as u16 / 2, u16::MAX);
                Message::Plan { session, run, part, parts, way, segments }
            }
            1 => Message::PlanAck { session, run, part: n[0] as u16 },
            2 => {
                let fault = PlanFault::PacketRate;
                let error = PlanError { fault, asked: big[0], limit: big[1] };
                Message::PlanRefused { session, run, error }
            }
            3 => Message::Start { session, run, delay_ms: n[0] },
            4 => Message::Started { session, run },
            5 => {
                let glimpse = Glimpse { received: n[1], lost: n[2], delay_us: n[3] };
                Message::KeepAlive { session, run, counter: n[0], glimpse }
            }
            6 => Message::Stop { session, run, attempted: n[0] },
            7 => {
                let summary = Summary {
                    end: RunEnd::SenderSilent,
                    attempted: n[0],
                    log_len: n[1],
                    send_blocked: big[0],
                    receive_overflow: big[1],
                    duplicates: big[2],
                    clock_steps: n[2],
                    kernel_receive_timestamps: flags[0],
                    shared: flags[0] ^ flags[1],
                };
                Message::Stopped { session, run, ready: flags[1], summary }
            }
            8 => Message::Fetch { session, run, first: n[0], wanted: big[0] },
            9 => Message::Chunk { session, run, index: n[0], bytes: bytes.leak() },
            10 => Message::Close { session },
            11 => {
                let ip =
                    if flags[0] { Ipv4Addr::from(n[1]).into() } else { Ipv6Addr::LOCALHOST.into() };
                let server = SocketAddr::new(ip, n[0] as u16);
                let of = ForeignFlow { server, session: big[0], nonce: big[1], flow: n[2] as u8 };
                Message::Attend { session, of }
            }
            12 => Message::Attending { session },
            13 => Message::Wait { session, run, left_ms: n[0], ahead: n[1] as u16 },
            _ => Message::Data(DataHeader { session, run, seq: n[0], sent_ns: big[0] as i64 }),
        },
    )
}

fn is_tagged(message: &Message<'_>) -> bool {
    use Message::*;
    !matches!(message, Hello { .. } | Challenge { .. } | Version { .. } | Refused { .. } | Data(_))
}

fn columns() -> impl Strategy<Value = Vec<i64>> {
    let row = prop_oneof![
        3 => -1_000_000_000i64..1_000_000_000,
        1 => Just(MISSING),
        1 => any::<i64>(),
    ];
    vec(row, 0..300)
}

fn runs() -> impl Strategy<Value = Run> {
    let ends = prop_oneof![
        Just(RunEnd::Complete),
        Just(RunEnd::Cancelled),
        Just(RunEnd::ReceiverSilent),
        Just(RunEnd::SenderSilent)
    ];
    let times = -1i64 << 60..1 << 60;
    let maybe = || prop_oneof![3 => -1i64 << 60..1 << 60, 1 => Just(MISSING)];
    let row = (times, maybe(), maybe(), maybe(), any::<u8>(), any::<u16>(), any::<[u8; 2]>());
    let flags = any::<[bool; 2]>();
    (vec(row, 0..200), any::<[u64; 4]>(), flags, ends).prop_map(|(rows, n, flags, end)| {
        let [kernel, with_classes] = flags;
        let classes = Classes {
            sent: rows.iter().map(|r| r.6[0]).collect(),
            received: rows.iter().map(|r| if r.3 == MISSING { 0 } else { r.6[1] }).collect(),
        };
        let records = Records {
            scheduled_ns: rows.iter().map(|r| r.0).collect(),
            sent_ns: rows.iter().map(|r| r.1).collect(),
            kernel_tx_ns: rows.iter().map(|r| r.2).collect(),
            received_ns: rows.iter().map(|r| r.3).collect(),
            flow: rows.iter().map(|r| r.4).collect(),
            size_bytes: rows.iter().map(|r| r.5).collect(),
            classes: with_classes.then_some(classes),
        };
        let host = HostReport {
            send_blocked: n[0],
            receive_overflow: n[1],
            duplicates: n[2],
            clock_steps: n[3],
            kernel_receive_timestamps: kernel,
            shared: n[0] & 1 == 1,
        };
        Run { records, host, end }
    })
}

proptest! {
    #[test]
    fn messages_survive_the_wire(
        flow: u8,
        message in prop_oneof![handshakes(), session_messages()],
        tag: [u8; 16],
    ) {
        let mut bytes = Vec::new();
        encode(flow, &message, &mut bytes);
        if is_tagged(&message) {
            bytes.extend_from_slice(&tag);
        }
        prop_assert!(bytes.len() <= 1200);
        prop_assert_eq!(decode(&bytes), Ok(Packet { flow, message: message.clone() }));
        // A truncated message is not a message; data may have any length from the header on, and a shorter chunk is a
        // chunk whose tag does not verify.
        let free = matches!(message, Message::Data(_) | Message::Chunk { .. });
        if !free {
            prop_assert!(decode(&bytes[..bytes.len() - 1]).is_err());
        }
    }

    #[test]
    fn any_bytes_can_be_decoded(mut bytes in vec(any::<u8>(), 0..300), framed: bool, n: u16) {
        if framed && bytes.len() >= 6 {
            let kind = bytes[5] % 24;
            bytes[..6].copy_from_slice(&[b'A', b'Q', b'P', b'B', VERSION, kind]);
        }
        let _ = decode(&bytes);
        let _ = decode_sender(&bytes, u64::from(n));
        let _ = decode_receiver(&bytes, u64::from(n));
        let _ = column::decode(&mut Reader::new(&bytes), usize::from(n));
        let _ = column::decode_bytes(&mut Reader::new(&bytes), (0..n).map(|i| i % 3 > 0));
        let _ = capture::decode(&bytes);
    }

    #[test]
    fn columns_survive(rows in columns()) {
        let mut bytes = Vec::new();
        column::encode(&mut bytes, rows.len(), |i| rows[i]);
        let mut reader = Reader::new(&bytes);
        prop_assert_eq!(column::decode(&mut reader, rows.len()), Ok(rows));
        prop_assert!(reader.rest().is_empty());
    }

    #[test]
    fn columns_of_bytes_survive(rows in vec((any::<bool>(), 0..3u8), 0..300)) {
        let mut bytes = Vec::new();
        column::encode_bytes(&mut bytes, rows.iter().filter(|r| r.0).map(|r| r.1));
        let mut reader = Reader::new(&bytes);
        let found = column::decode_bytes(&mut reader, rows.iter().map(|r| r.0)).unwrap();
        let expected: Vec<u8> = rows.iter().map(|r| if r.0 { r.1 } else { 0 }).collect();
        prop_assert_eq!(found, expected);
        prop_assert!(reader.rest().is_empty());
        // More rows than bytes, or fewer, are another column.
        let has_ones = rows.iter().map(|r| r.0);
        let more = column::decode_bytes(&mut Reader::new(&bytes), has_ones.clone().chain([true]));
        prop_assert!(more.is_err());
        if let Some(last) = rows.iter().rposition(|r| r.0) {
            let mut reader = Reader::new(&bytes);
            let fewer = column::decode_bytes(&mut reader, has_ones.take(last));
            prop_assert!(fewer.is_err() || !reader.rest().is_empty());
        }
    }

    #[test]
    fn sender_logs_survive(
        lateness in vec(any::<i64>().prop_filter("missing means blocked", |t| *t != MISSING), 0..200),
        blocked in vec(0..250u32, 0..50),
        stamps in proptest::collection::btree_map(0..250u32, any::<i64>(), 0..50),
    ) {
        let n = lateness.len() as u32;
        let mut log = SenderLog::with_room_for(3);
        lateness.iter().for_each(|&l| log.push(l));
        blocked.iter().for_each(|&seq| log.blocked(seq));
        stamps.iter().for_each(|(&seq, &at)| log.stamped(seq, at));
        let rows = decode_sender(&log.encode(), u64::from(n)).unwrap();
        for i in 0..n {
            let expected = if blocked.contains(&i) { MISSING } else { lateness[i as usize] };
            prop_assert_eq!(rows.lateness_ns[i as usize], expected);
            prop_assert_eq!(rows.kernel_tx_ns[i as usize], *stamps.get(&i).unwrap_or(&MISSING));
        }
        if n > 0 {
            prop_assert!(decode_sender(&log.encode(), u64::from(n) - 1).is_err());
        }
    }

    #[test]
    fn receiver_logs_keep_the_first_arrival(
        arrivals in vec((0..120u32, 0..i64::MAX, 0..4u8), 0..200),
    ) {
        let mut log = ArrivalLog::new(100);
        let mut first = std::collections::BTreeMap::new();
        for (seq, at_ns, traffic_class) in arrivals {
            let arrival = Arrival { at_ns, traffic_class };
            let news = log.record(seq, arrival);
            prop_assert_eq!(news, (seq < 100).then(|| !first.contains_key(&seq)));
            if seq < 100 {
                first.entry(seq).or_insert(arrival);
            }
        }
        let rows = decode_receiver(&log.encode(), 100).unwrap();
        let (rows, lost) = (rows.arrivals(), Arrival { at_ns: MISSING, traffic_class: 0 });
        let expected = 0..first.keys().max().map_or(0, |m| m + 1);
        prop_assert_eq!(log.overtaken() as usize, expected.len() - first.len());
        let expected = expected.map(|seq| *first.get(&seq).unwrap_or(&lost));
        prop_assert_eq!(rows.collect::<Vec<_>>(), expected.clone().collect::<Vec<_>>());
        prop_assert_eq!(log.arrivals().collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }

    #[test]
    fn the_last_packets_of_the_flows_are_where_the_plan_has_them(
        segments in vec(segments(), 0..12),
    ) {
        let plan = Plan { segments };
        let mut last = std::collections::BTreeMap::new();
        plan.packets().for_each(|p| { last.insert(p.flow, p.seq); });
        prop_assert_eq!(last_of_each_flow(&plan, 0..16), last.into_values().collect::<Vec<_>>());
        let sorted: Vec<_> = plan.packets().map(|p| p.at).collect();
        prop_assert!(sorted.is_sorted());
        prop_assert_eq!(sorted.len() as u64, plan.packet_count());
        // A window covers a moment if and only if a packet was planned in the second before.
        let windows = due_windows(&plan);
        prop_assert!(windows.windows(2).all(|w| w[0].1 < w[1].0));
        for ms in (0..12_000).step_by(37) {
            let at = Span::from_millis(ms);
            let covered = windows.iter().any(|w| w.0 <= at && at < w.1);
            let due = sorted.iter().any(|&p| p <= at && at < p + Span::from_secs(1));
            prop_assert_eq!(covered, due, "at {}", at);
        }
    }

    #[test]
    fn captures_survive_and_so_does_the_whole_part_of_a_torn_one(
        runs in vec((".{0,20}", runs()), 0..4),
        header in ".{0,40}",
        cut in any::<prop::sample::Index>(),
        flip in any::<prop::sample::Index>(),
    ) {
        let mut bytes = capture::encode_header(&header);
        let mut ends = vec![bytes.len()];
        for (meta, run) in &runs {
            bytes.extend(capture::encode_run(meta, run));
            ends.push(bytes.len());
        }
        let whole = capture::decode(&bytes).unwrap();
        prop_assert_eq!((&whole.header, &whole.runs, whole.torn), (&header, &runs, false));

        let cut = cut.index(bytes.len());
        match capture::decode(&bytes[..cut]) {
            Err(_) => prop_assert!(cut < ends[0]),
            Ok(torn) => {
                let kept = ends.iter().filter(|&&e| e <= cut).count() - 1;
                prop_assert_eq!(&torn.runs[..], &runs[..kept]);
                prop_assert_eq!(torn.torn, !ends.contains(&cut));
            }
        }

        let flip = flip.index(bytes.len());
        bytes[flip] ^= 0x10;
        match capture::decode(&bytes) {
            Err(_) => prop_assert!(flip < ends[0]),
            Ok(torn) => {
                let kept = ends.iter().filter(|&&e| e <= flip).count() - 1;
                prop_assert_eq!(&torn.runs[..], &runs[..kept]);
                prop_assert!(torn.torn);
            }
        }
    }
}

#[test]
fn a_blocked_packet_was_not_sent_and_rows_after_the_last_attempt_are_cut() {
    let segment = Segment {
        flow: 2,
        start: Span::from_millis(1),
        duration: Span::from_millis(10),
        count: 10,
        size: 100,
        traffic_class: 0xb8,
    };
    let plan = Plan { segments: vec![segment] };
    let mut log = SenderLog::default();
    [5, 6, 7].iter().for_each(|&l| log.push(l));
    log.blocked(1);
    let sent = decode_sender(&log.encode(), 10).unwrap();
    let arrived = |at_ns, traffic_class| Arrival { at_ns, traffic_class };
    let received = [arrived(100, 0xb8), arrived(MISSING, 0), arrived(300, 3), arrived(400, 0)];
    let records = join(&plan, &sent, received.into_iter());
    assert_eq!(records.scheduled_ns, [1_000_000, 2_000_000, 3_000_000]);
    assert_eq!(records.sent_ns, [1_000_005, MISSING, 3_000_007]);
    assert_eq!(records.received_ns, [100, MISSING, 300]);
    assert_eq!((records.flow, records.size_bytes), (vec![2; 3], vec![100; 3]));
    let classes = Classes { sent: vec![0xb8; 3], received: vec![0xb8, 0, 3] };
    assert_eq!(records.classes, Some(classes));
}

/// A log and a capture of equal classes are as long as for any number of packets, but for its digits.
#[test]
fn classes_that_do_not_change_cost_next_to_nothing() {
    let n = 1_000_000;
    let mut log = ArrivalLog::new(n);
    (0..n).for_each(|seq| {
        assert_eq!(log.record(seq, Arrival { at_ns: 0, traffic_class: 2 }), Some(true))
    });
    // A byte of time for each packet; and the counts, the time's run, and the class's run.
    assert!(log.encode().len() as u32 <= n + 3 * 5 + 1);
    let n = n as usize;
    let mut run = Run {
        records: Records {
            scheduled_ns: vec![0; n],
            sent_ns: vec![0; n],
            kernel_tx_ns: vec![MISSING; n],
            received_ns: vec![0; n],
            flow: vec![0; n],
            size_bytes: vec![100; n],
            classes: None,
        },
        host: HostReport::default(),
        end: RunEnd::Complete,
    };
    let without = capture::encode_run("{}", &run).len();
    run.records.classes = Some(Classes { sent: vec![2; n], received: vec![3; n] });
    assert!(capture::encode_run("{}", &run).len() <= without + 9 + 3 * 5 + 2);
}

/// A capture of a version that did not know classes is one without frames of kind 3; and that version skips those frames.
#[test]
fn classes_of_another_length_are_damage_and_never_of_another_run() {
    let rows = |n: usize, classes| Run {
        records: Records {
            scheduled_ns: vec![7; n],
            sent_ns: vec![7; n],
            kernel_tx_ns: vec![MISSING; n],
            received_ns: vec![9; n],
            flow: vec![0; n],
            size_bytes: vec![100; n],
            classes,
        },
        host: HostReport::default(),
        end: RunEnd::Complete,
    };
    let classes = Some(Classes { sent: vec![1; 2], received: vec![3; 2] });
    let with = capture::encode_run("{}", &rows(2, classes.clone()));
    let without = capture::encode_run("{}", &rows(2, None));
    let frame = &with[..with.len() - without.len()];
    assert_eq!(frame[0], 3);
    let longer = capture::encode_run("{}", &rows(3, None));
    let read = |parts: &[&[u8]]| {
        capture::decode(&[&capture::encode_header("{}"), &parts.concat()[..]].concat()).unwrap()
    };
    let old = read(&[&without, &with, &without]);
    let found: Vec<_> = old.runs.iter().map(|(_, run)| run.records.classes.clone()).collect();
    assert_eq!((found, old.torn), (vec![None, classes, None], false));
    let damaged = read(&[&without, frame, &longer, &without]);
    assert_eq!((damaged.runs.len(), damaged.torn), (1, true));
}

#[test]
fn other_files_are_refused() {
    let error = |bytes: &[u8]| capture::decode(bytes).unwrap_err().to_string();
    assert!(error(b"").contains("not an airqueue capture"));
    assert!(error(b"\x7fELF............").contains("not an airqueue capture"));
    assert!(error(b"AQCAPTUR\x63").contains("version 99"));
    assert!(error(&capture::encode_header("{}")[..12]).contains("header"));
}

#[test]
fn a_huge_claimed_length_costs_nothing() {
    let mut bytes = capture::encode_header("{}");
    bytes.extend([2, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4]);
    assert!(capture::decode(&bytes).unwrap().torn);
    // 2^62 rows, all missing.
    let mut log = vec![0xff; 8];
    log.extend([0x3f, 0]);
    log.extend(log.clone());
    assert!(decode_receiver(&log, 4_000_000).is_err());
    assert!(decode_sender(&log, 4_000_000).is_err());
}
