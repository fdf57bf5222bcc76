//! Client and server in virtual time, on good and bad networks.

use crate::common::{Net, client_address, segment};
use airqueue_core::Span;
use airqueue_probe::ClientError;
use airqueue_probe::client::{ClientState, Direction};
use airqueue_probe::plan::{Plan, Segment};
use airqueue_probe::records::{Classes, MISSING, Run, RunEnd};

const BOTH: [Direction; 2] = [Direction::Down, Direction::Up];

fn two_flows() -> Plan {
    Plan { segments: vec![segment(1, 0, 3000, 30, 100), segment(0, 1000, 1000, 500, 1500)] }
}

/// ECT(0) in a flow that is the flood, EF and Not-ECT in turn in the other.
fn three_classes() -> Plan {
    let of = |traffic_class, segment| Segment { traffic_class, ..segment };
    let segments = vec![
        of(2, segment(0, 0, 1000, 500, 1500)),
        of(46 << 2, segment(1, 0, 1000, 50, 100)),
        segment(1, 10, 1000, 50, 100),
    ];
    Plan { segments }
}

fn check_columns(run: &Run, plan: &Plan) {
    let r = &run.records;
    for (i, packet) in plan.packets().take(r.sent_ns.len()).enumerate() {
        assert_eq!(r.scheduled_ns[i], packet.at.as_nanos());
        assert_eq!((r.flow[i], r.size_bytes[i]), (packet.flow, packet.size));
    }
    for column in [&r.scheduled_ns, &r.kernel_tx_ns, &r.received_ns] {
        assert_eq!(column.len(), r.sent_ns.len());
    }
}

#[test]
fn a_clean_path_delivers_every_packet_after_its_delay() {
    for direction in BOTH {
        let mut net = Net::pair(2);
        net.connect();
        let plan = two_flows();
        let run = net.measure(&plan, direction);
        check_columns(&run, &plan);
        assert_eq!(run.end, RunEnd::Complete);
        assert_eq!(run.records.sent_ns, run.records.scheduled_ns);
        let delays: Vec<i64> = (run.records.received_ns.iter().zip(&run.records.sent_ns))
            .map(|(r, s)| r - s)
            .collect();
        assert!(delays.iter().all(|d| *d == delays[0]), "{direction:?}");
        let stamped = run.records.kernel_tx_ns.iter().filter(|&&t| t != MISSING).count();
        assert!(stamped > 30 && stamped < 530, "a sample is stamped: {stamped}");
    }
}

#[test]
fn every_packet_leaves_with_its_class_and_is_recorded_with_that_of_its_arrival() {
    for direction in BOTH {
        let mut net = Net::pair(2);
        net.connect();
        // All is as it was sent.
        let run = net.measure(&three_classes(), direction);
        let sent: Vec<u8> = three_classes().packets().map(|p| p.traffic_class).collect();
        let same = Classes { sent: sent.clone(), received: sent.clone() };
        assert_eq!(run.records.classes, Some(same), "{direction:?}");
        // EF is bleached, ECT(0) marked, and some packets are lost; only in the direction of the plan.
        let path = if direction == Direction::Down { &mut net.down } else { &mut net.up };
        (path.remark, path.loss, path.duplicate) = (vec![(46 << 2, 0), (2, 3)], 0.1, 0.1);
        let run = net.measure(&three_classes(), direction);
        let classes = run.records.classes.unwrap();
        assert_eq!(classes.sent, sent);
        assert_eq!(classes.received.len(), sent.len());
        let lost = |i: usize| run.records.received_ns[i] == MISSING;
        assert!((0..sent.len()).any(lost));
        for (i, &class) in classes.received.iter().enumerate() {
            assert_eq!(class, if sent[i] == 2 && !lost(i) { 3 } else { 0 }, "{direction:?} {i}");
        }
    }
}

#[test]
fn measured_packets_have_the_planned_size_and_control_keeps_out_of_the_loaded_direction() {
    // With a round trip of half a second, requests are repeated while their reply is in flight.
    let cases = BOTH.iter().flat_map(|&d| [(d, 5), (d, 250)]);
    for (direction, delay_ms) in cases {
        let mut net = Net::pair(2);
        (net.down.delay, net.up.delay) = (Span::from_millis(delay_ms), Span::from_millis(delay_ms));
        net.connect();
        net.measure(&two_flows(), direction);
        let sent: Vec<_> = match direction {
            Direction::Down => net.from_server.iter().map(|s| (s.0, s.2, s.3)).collect(),
            Direction::Up => net.from_clients.clone(),
        };
        let first = sent.iter().position(|s| s.2.is_some()).unwrap();
        let last = sent.iter().rposition(|s| s.2.is_some()).unwrap();
        assert!(sent[first..=last].iter().all(|s| s.2.is_some()), "{direction:?}");
        let sizes: Vec<usize> = sent[first..=last].iter().map(|s| s.1 + 28).collect();
        let planned: Vec<usize> = two_flows().packets().map(|p| usize::from(p.size)).collect();
        assert_eq!(sizes, planned);
    }
}

#[test]
fn a_bottleneck_loses_and_delays_and_the_records_say_so() {
    for direction in BOTH {
        let mut net = Net::pair(2);
        net.connect();
        let path = if direction == Direction::Down { &mut net.down } else { &mut net.up };
        path.rate = 125_000; // a 1 Mb/s bottleneck of 50 packets: 0.6 s when full
        path.queue = 50;
        let plan = two_flows();
        let run = net.measure(&plan, direction);
        check_columns(&run, &plan);
        assert_eq!(run.end, RunEnd::Complete);
        let r = &run.records;
        let delays: Vec<i64> = (0..r.sent_ns.len())
            .filter(|&i| r.received_ns[i] != MISSING)
            .map(|i| r.received_ns[i] - r.sent_ns[i])
            .collect();
        let lost = r.sent_ns.len() - delays.len();
        assert!(lost > 300, "{lost} of 530 lost");
        let spread = delays.iter().max().unwrap() - delays.iter().min().unwrap();
        assert!((500_000_000..620_000_000).contains(&spread), "{spread}");
    }
}

#[test]
fn several_runs_share_one_receive_clock() {
    for direction in BOTH {
        let mut net = Net::pair(1);
        net.connect();
        let plan = Plan { segments: vec![segment(0, 0, 500, 50, 200)] };
        let mut last = i64::MIN;
        for _ in 0..4 {
            let run = net.measure(&plan, direction);
            assert_eq!(run.end, RunEnd::Complete);
            assert!(run.records.received_ns[0] > last);
            last = run.records.received_ns[49];
        }
        assert_eq!(net.server.stats().runs, 4);
    }
}

#[test]
fn loss_duplication_and_reordering_break_nothing() {
    for direction in BOTH {
        for seed in 0..8 {
            let mut net = Net::pair(3);
            for path in [&mut net.down, &mut net.up] {
                path.loss = 0.2;
                path.duplicate = 0.1;
                path.jitter = Span::from_millis(30 + seed);
            }
            net.connect();
            let segments = (0..90).map(|i| segment((i % 3) as u8, i * 30, 20, 10, 300)).collect();
            let plan = Plan { segments };
            let run = net.measure(&plan, direction);
            check_columns(&run, &plan);
            assert_eq!(run.end, RunEnd::Complete);
            assert_eq!(run.records.sent_ns.len(), 900);
            let got = run.records.received_ns.iter().filter(|&&t| t != MISSING).count();
            assert!((600..820).contains(&got), "{got} of 900 at 20 % loss");
            assert!(run.host.duplicates > 20);
        }
    }
}

#[test]
fn a_packet_that_the_host_refuses_was_never_sent() {
    for direction in BOTH {
        let mut net = Net::pair(2);
        net.refuse = vec![3, 4, 400];
        net.connect();
        let run = net.measure(&two_flows(), direction);
        assert_eq!(run.host.send_blocked, 3);
        for (i, &sent) in run.records.sent_ns.iter().enumerate() {
            assert_eq!(sent == MISSING, net.refuse.contains(&(i as u32)));
        }
    }
}

#[test]
fn a_gap_in_the_plan_is_no_silence() {
    for direction in BOTH {
        let mut net = Net::pair(1);
        net.connect();
        // The second segment comes after lost packets and a gap of ten seconds.
        let plan =
            Plan { segments: vec![segment(0, 0, 200, 20, 200), segment(0, 10_200, 200, 20, 200)] };
        let run = net.measure(&plan, direction);
        assert_eq!(run.end, RunEnd::Complete);
        assert!(run.records.received_ns.iter().all(|&t| t != MISSING));
    }
}

#[test]
fn a_run_that_starts_late_in_its_plan_is_waited_for() {
    for direction in BOTH {
        let mut net = Net::pair(1);
        net.connect();
        let plan = Plan { segments: vec![segment(0, 5000, 200, 20, 200)] };
        assert_eq!(net.measure(&plan, direction).end, RunEnd::Complete);
    }
}

#[test]
fn a_path_of_three_seconds_there_and_back_works() {
    for direction in BOTH {
        let mut net = Net::pair(2);
        (net.down.delay, net.up.delay) = (Span::from_millis(1500), Span::from_millis(1500));
        net.connect();
        let run = net.measure(&two_flows(), direction);
        assert_eq!(run.end, RunEnd::Complete, "{direction:?}");
        assert!(run.records.received_ns.iter().all(|&t| t != MISSING));
    }
}

#[test]
fn a_device_that_refuses_the_floods_flow_afterwards_does_not_keep_the_records() {
    for direction in BOTH {
        let mut net = Net::pair(3);
        net.connect();
        let now = net.now;
        net.clients[0].0.start(now, &two_flows(), direction).unwrap();
        net.run_for(Span::from_secs(2));
        // From now on as SFB does: no packet of the flow that was the flood passes.
        for path in [&mut net.down, &mut net.up] {
            path.blocked_ports = vec![client_address(0, 0).port()];
        }
        net.until(ClientState::Ready, Span::from_secs(8));
        let run = net.clients[0].0.take_run().unwrap();
        assert_eq!(run.end, RunEnd::Complete);
        assert!(run.records.received_ns.iter().filter(|&&t| t != MISSING).count() > 400);
    }
}

#[test]
fn a_path_that_passes_nothing_for_long_after_a_flood_is_waited_for_and_named_in_the_end() {
    for (silent_s, comes_back) in [(17, true), (60, false)] {
        let mut net = Net::pair(3);
        net.connect();
        let now = net.now;
        net.clients[0].0.start(now, &two_flows(), Direction::Down).unwrap();
        net.run_for(Span::from_millis(2900));
        let stall = (net.now, net.now + Span::from_secs(silent_s));
        net.down.loss = 1.0;
        net.run_for(Span::from_secs(silent_s));
        net.down.loss = 0.0;
        if comes_back {
            net.until(ClientState::Ready, Span::from_secs(8));
            continue;
        }
        let error = net.failure(0, Span::from_secs(1));
        assert!(matches!(error, ClientError::Starved { received: 400.., .. }), "{error}");
        assert!(net.now <= stall.1);
    }
}

#[test]
fn a_deep_queue_drains_to_its_last_packet() {
    for direction in BOTH {
        let mut net = Net::pair(1);
        net.connect();
        let path = if direction == Direction::Down { &mut net.down } else { &mut net.up };
        (path.rate, path.queue) = (500_000, 3000); // 2000 packets of 1500 bytes: six seconds
        let plan = Plan { segments: vec![segment(0, 0, 2000, 2000, 1500)] };
        let run = net.measure(&plan, direction);
        assert_eq!(run.end, RunEnd::Complete);
        assert!(run.records.received_ns.iter().all(|&t| t != MISSING), "{direction:?}");
    }
}

#[test]
fn a_short_stall_is_survived_wherever_it_falls() {
    for direction in BOTH {
        for begin_ms in [300, 1500, 2900, 3300] {
            let mut net = Net::pair(2);
            net.connect();
            for path in [&mut net.down, &mut net.up] {
                (path.rate, path.queue) = (2_000_000, 5000);
                let from = net.now + Span::from_millis(begin_ms);
                path.stalls = vec![(from, from + Span::from_millis(1500))];
            }
            let plan = two_flows();
            let run = net.measure(&plan, direction);
            assert_eq!(run.end, RunEnd::Complete, "{direction:?} at {begin_ms}");
            assert!(run.records.received_ns.iter().all(|&t| t != MISSING), "{begin_ms}");
        }
    }
}

#[test]
fn a_long_stall_ends_the_run_early_and_loses_nothing_that_arrived() {
    for direction in BOTH {
        let mut net = Net::pair(2);
        net.connect();
        let from = net.now + Span::from_millis(1400);
        for path in [&mut net.down, &mut net.up] {
            (path.rate, path.queue) = (2_000_000, 5000);
            path.stalls = vec![(from, from + Span::from_secs(3))];
        }
        let plan = Plan { segments: vec![segment(0, 0, 8000, 800, 500)] };
        let run = net.measure(&plan, direction);
        check_columns(&run, &plan);
        assert!(matches!(run.end, RunEnd::SenderSilent | RunEnd::ReceiverSilent), "{:?}", run.end);
        let n = run.records.sent_ns.len();
        assert!((100..500).contains(&n), "{n} attempted");
        assert!(run.records.received_ns.iter().all(|&t| t != MISSING), "{direction:?}");
        // The session continues.
        assert_eq!(net.measure(&two_flows(), direction).end, RunEnd::Complete);
    }
}

#[test]
fn ipv6_packets_have_the_planned_size_too() {
    use airqueue_probe::check::{PlanFault, min_size};
    for direction in BOTH {
        let mut net = Net::pair(1);
        net.ipv6();
        net.connect();
        let plan =
            Plan { segments: vec![segment(0, 0, 100, 5, 80), segment(0, 100, 100, 5, 1500)] };
        let run = net.measure(&plan, direction);
        assert!(run.records.received_ns.iter().all(|&t| t != MISSING));
        let down = net.from_server.iter().filter(|s| s.3.is_some()).map(|s| s.2);
        let up = net.from_clients.iter().filter(|s| s.2.is_some()).map(|s| s.1);
        let sizes: Vec<usize> = down.chain(up).map(|payload| payload + 48).collect();
        assert_eq!(sizes, [[80; 5], [1500; 5]].concat());
        let plan = Plan { segments: vec![segment(0, 0, 100, 5, 79)] };
        let now = net.now;
        let ClientError::Plan(error) = net.clients[0].0.start(now, &plan, direction).unwrap_err()
        else {
            panic!()
        };
        assert_eq!((error.fault, error.limit), (PlanFault::SmallSize, 80));
    }
    assert_eq!(min_size("[::ffff:192.0.2.1]:9".parse().unwrap()), 68);
}
