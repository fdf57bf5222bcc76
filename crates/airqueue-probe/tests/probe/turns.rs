//! Several clients at one server: one run at a time.

use crate::common;
use crate::common::{Net, client_address, client_config, received, segment, server_config};
use airqueue_core::{Span, Time};
use airqueue_probe::ClientError::{self, Busy};
use airqueue_probe::client::{ClientState, Direction, Waiting};
use airqueue_probe::plan::Plan;
use airqueue_probe::records::{Run, RunEnd};
use airqueue_probe::wire::{DataHeader, Message, encode};

fn flood(seconds: i64) -> Plan {
    Plan { segments: vec![segment(0, 0, seconds * 1000, (seconds * 500) as u32, 1000)] }
}

/// A network with so many connected clients of two flows.
fn clients(count: usize) -> Net {
    let mut net = Net::new(server_config());
    (0..count).for_each(|_| {
        net.add(client_config(2));
    });
    net.connect();
    net.run_for(Span::from_secs(1));
    net
}

fn begin(net: &mut Net, client: usize, plan: &Plan, direction: Direction) {
    let now = net.now;
    net.clients[client].0.start(now, plan, direction).unwrap();
}

fn result(net: &mut Net, client: usize, limit: Span) -> Run {
    let until = net.now + limit;
    let done = |net: &mut Net| *net.clients[client].0.state() == ClientState::Ready;
    assert!(net.run(until, done), "{:?}", net.clients[client].0.state());
    net.clients[client].0.take_run().unwrap()
}

fn waiting(net: &Net, client: usize) -> Option<Waiting> {
    net.clients[client].0.progress(net.now).waiting
}

/// First and last time of a client's measured packets, whoever sent them.
fn span_of(net: &Net, client: usize) -> (Time, Time) {
    let ports = [client_address(client, 0).port(), client_address(client, 1).port()];
    let sent = net.from_server.iter().filter(|s| s.3.is_some() && ports.contains(&s.1.port()));
    let times: Vec<Time> = sent.map(|s| s.0).collect();
    (times[0], times[times.len() - 1])
}

#[test]
fn runs_of_several_clients_never_overlap_and_those_who_wait_know_how_long() {
    let mut net = clients(3);
    for i in 0..3 {
        begin(&mut net, i, &flood(10), Direction::Down);
        net.run_for(Span::from_millis(500));
    }
    assert_eq!(waiting(&net, 0), None);
    // Client 0 runs for 10 s: since 1 s, so far. A run takes a second beside its plan.
    for (i, left_s) in [(1, 9.7), (2, 20.7)] {
        let wait = waiting(&net, i).unwrap();
        assert_eq!(usize::from(wait.ahead), i);
        assert!((wait.left.as_secs_f64() - left_s).abs() < 0.5, "{i}: {:?}", wait.left);
    }
    for i in 0..3 {
        let run = result(&mut net, i, Span::from_secs(40));
        assert_eq!((run.end, run.host.shared), (RunEnd::Complete, false));
        assert_eq!(run.records.sent_ns.len(), 5000);
    }
    let spans: Vec<_> = (0..3).map(|i| span_of(&net, i)).collect();
    for i in 1..3 {
        let pause = spans[i].0 - spans[i - 1].1;
        // The next run begins when the last one's records are fetched, and soon then.
        assert!(pause > Span::ZERO && pause < Span::from_secs(2), "{pause}");
    }
}

#[test]
fn upward_and_downward_runs_exclude_each_other() {
    let mut net = clients(2);
    begin(&mut net, 0, &flood(3), Direction::Up);
    net.run_for(Span::from_millis(500));
    begin(&mut net, 1, &flood(3), Direction::Down);
    for i in 0..2 {
        let run = result(&mut net, i, Span::from_secs(20));
        assert_eq!((run.end, run.host.shared), (RunEnd::Complete, false));
    }
    let last_up = net.from_clients.iter().rev().find(|s| s.2.is_some()).unwrap().0;
    assert!(span_of(&net, 1).0 > last_up);
}

#[test]
fn a_plan_that_is_announced_and_not_run_keeps_nothing_from_anybody() {
    // The client is silent once its plan is agreed, before its START leaves or after. A run that began without its
    // client is given up in 1.8 s, its turn 2 s later, and the next run begins a second later.
    for (silent_after_ms, most_s) in [(8, 3), (40, 9)] {
        let mut server = server_config();
        server.limits.max_bits_per_s = 6_000_000;
        let mut net = Net::new(server);
        net.add(client_config(1));
        net.add(client_config(1));
        net.connect();
        net.run_for(Span::from_millis(100));
        begin(&mut net, 0, &flood(100), Direction::Down); // 4 Mb/s
        net.run_for(Span::from_millis(silent_after_ms));
        net.clients[0].1 = false;
        begin(&mut net, 1, &flood(1), Direction::Down);
        let asked = net.now;
        let run = result(&mut net, 1, Span::from_secs(20));
        assert_eq!(run.end, RunEnd::Complete);
        assert!(net.now - asked < Span::from_secs(most_s), "{}", net.now - asked);
    }
}

#[test]
fn a_client_that_will_not_wait_is_told_for_how_long_it_would() {
    let mut net = clients(1);
    let mut config = client_config(2);
    config.max_wait = Span::from_secs(5);
    net.add(config);
    net.run_for(Span::from_secs(1));
    begin(&mut net, 0, &flood(20), Direction::Down);
    net.run_for(Span::from_millis(500));
    begin(&mut net, 1, &flood(1), Direction::Down);
    let error = net.failure(1, Span::from_secs(1));
    let ClientError::Busy { runs: 1, left, .. } = error else { panic!("{error}") };
    assert!((left.as_secs_f64() - 20.7).abs() < 0.5, "{left}");
    let text = error.to_string();
    assert!(text.contains("1 run of other clients") && text.contains("5 s at most"), "{text}");
    // A shorter wait is waited for.
    net.add(client_config(2));
    net.run_for(Span::from_secs(16));
    let run = result(&mut net, 0, Span::from_secs(20));
    assert!(!run.host.shared);
}

#[test]
fn after_a_client_that_died_in_a_run_the_next_run_is_marked() {
    let mut net = clients(2);
    begin(&mut net, 0, &flood(100), Direction::Down);
    net.run_for(Span::from_secs(3));
    net.clients[0].1 = false;
    begin(&mut net, 1, &flood(1), Direction::Down);
    let asked = net.now;
    let run = result(&mut net, 1, Span::from_secs(20));
    assert!(run.host.shared, "the queue may hold packets of the run before");
    assert!(net.now - asked < Span::from_secs(10), "{}", net.now - asked);
    net.run_for(Span::from_secs(10));
    begin(&mut net, 1, &flood(1), Direction::Down);
    assert!(!result(&mut net, 1, Span::from_secs(5)).host.shared);
}

#[test]
fn packets_that_another_client_sends_out_of_turn_mark_the_run() {
    for foreign in [false, true] {
        let mut net = clients(2);
        net.run_for(Span::from_secs(6));
        // Client 0 is idle; its keepalives name its session.
        let keep_alive = &net.tape.last().unwrap().1;
        let session = u64::from_be_bytes(keep_alive[8..16].try_into().unwrap());
        begin(&mut net, 1, &flood(2), Direction::Up);
        net.run_for(Span::from_secs(1));
        if foreign {
            let header = DataHeader { session, run: 1, seq: 0, sent_ns: 0 };
            let mut bytes = Vec::new();
            encode(0, &Message::Data(header), &mut bytes);
            net.inject(client_address(0, 0), &bytes);
        }
        assert_eq!(result(&mut net, 1, Span::from_secs(5)).host.shared, foreign);
    }
}

#[test]
fn a_server_that_only_offers_is_left_and_does_not_make_the_client_talk() {
    use airqueue_probe::auth::{Role, TagKey};
    use airqueue_probe::client::Client;
    use airqueue_probe::endpoint::Endpoint;
    use airqueue_probe::wire::decode;
    let mut now = Time::from_nanos(1);
    let mut config = client_config(1);
    config.max_wait = Span::from_secs(20);
    let mut client = Client::new(config, now);
    let (from, mut buf, mut key, mut starts) = (common::server_address(), Vec::new(), None, 0);
    let session = 7;
    while !matches!(client.state(), ClientState::Failed(_)) {
        assert!(now < Time::from_nanos(60_000_000_000), "still {:?}", client.state());
        if *client.state() == ClientState::Ready {
            client.start(now, &flood(1), Direction::Down).unwrap();
        }
        while client.poll_transmit(now, &mut buf).is_some() {
            let answer = match decode(&buf).unwrap().message {
                Message::Hello { nonce } => Message::Challenge { nonce, stamp: 0, cookie: [0; 16] },
                Message::Open { nonce, .. } => {
                    key = Some(TagKey::session(None, nonce, session));
                    Message::Accept { nonce, session, limits: server_config().limits }
                }
                Message::Plan { run, part, .. } => Message::PlanAck { session, run, part },
                Message::Start { run, .. } => {
                    starts += 1;
                    Message::Wait { session, run, left_ms: 0, ahead: 0 }
                }
                _ => continue,
            };
            let mut bytes = Vec::new();
            encode(0, &answer, &mut bytes);
            if let Some(key) = &key {
                key.seal(Role::Server, &mut bytes);
            }
            client.on_datagram(now, received(0, from, now, &bytes));
        }
        now += Span::from_millis(10);
    }
    // The first, one for the first offer, and one every two seconds.
    assert!((3..=13).contains(&starts), "{starts}");
    let Busy { .. } = (match client.state() {
        ClientState::Failed(error) => error.clone(),
        other => panic!("{other:?}"),
    }) else {
        panic!("{:?}", client.state())
    };
}

#[test]
fn a_wait_that_is_cancelled_ends_at_once_and_leaves_no_place() {
    let mut net = clients(3);
    for i in 0..3 {
        begin(&mut net, i, &flood(5), Direction::Down);
        net.run_for(Span::from_millis(300));
    }
    let now = net.now;
    net.clients[1].0.cancel(now);
    assert_eq!(result(&mut net, 1, Span::from_secs(1)).end, RunEnd::Cancelled);
    let run = result(&mut net, 2, Span::from_secs(15));
    assert_eq!((run.end, run.host.shared), (RunEnd::Complete, false));
}

#[test]
fn turns_pass_on_a_lossy_path_too() {
    let mut net = clients(3);
    for path in [&mut net.down, &mut net.up] {
        path.loss = 0.2;
        path.duplicate = 0.1;
        path.jitter = Span::from_millis(30);
    }
    for direction in [Direction::Up, Direction::Down] {
        for i in 0..3 {
            begin(&mut net, i, &flood(2), direction);
        }
        for i in 0..3 {
            let run = result(&mut net, i, Span::from_secs(60));
            assert_eq!(run.end, RunEnd::Complete);
        }
    }
}
