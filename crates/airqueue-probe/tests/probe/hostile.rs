//! Peers that are absent, dead, wrong or hostile.

use crate::common;
use crate::common::{Net, client_address, client_config, received, segment, server_config};
use airqueue_core::{Span, Time};
use airqueue_probe::ClientError;
use airqueue_probe::check::PlanFault;
use airqueue_probe::client::{ClientState, Direction};
use airqueue_probe::endpoint::Endpoint;
use airqueue_probe::plan::{Plan, Segment};
use airqueue_probe::records::{MISSING, RunEnd};
use airqueue_probe::wire::{Message, encode};
use std::collections::HashMap;
use std::net::SocketAddr;

fn flood(seconds: i64) -> Plan {
    Plan { segments: vec![segment(0, 0, seconds * 1000, (seconds * 500) as u32, 1000)] }
}

fn start(net: &mut Net, plan: &Plan, direction: Direction) {
    let now = net.now;
    net.clients[0].0.start(now, plan, direction).unwrap();
    net.until(ClientState::Running, Span::from_secs(1));
}

#[test]
fn a_silent_server_is_named() {
    let mut net = Net::pair(2);
    net.server_alive = false;
    let error = net.failure(0, Span::from_secs(6));
    assert_eq!(error, ClientError::Silent { server: common::server_address() });
    assert!(error.to_string().contains("198.51.100.1:4000"));
}

#[test]
fn a_flow_that_does_not_get_through_is_named() {
    for blocked_down in [false, true] {
        let mut net = Net::pair(3);
        let path = if blocked_down { &mut net.down } else { &mut net.up };
        path.blocked_ports = vec![client_address(0, 2).port()];
        assert_eq!(net.failure(0, Span::from_secs(8)), ClientError::FlowUnreachable { flow: 2 });
    }
}

#[test]
fn keys_must_match() {
    let cases: [(Option<&str>, Option<&str>, ClientError); 3] = [
        (Some("a"), None, ClientError::KeyMissing),
        (Some("a"), Some("b"), ClientError::KeyWrong),
        (None, Some("b"), ClientError::KeyUnused),
    ];
    for (server_key, client_key, error) in cases {
        let mut server = server_config();
        server.key = server_key.map(|k| k.as_bytes().to_vec());
        let mut net = Net::new(server);
        let mut client = client_config(2);
        client.key = client_key.map(|k| k.as_bytes().to_vec());
        net.add(client);
        assert_eq!(net.failure(0, Span::from_secs(2)), error);
        assert_eq!(net.server.stats().sessions_opened, 0);
    }
}

#[test]
fn the_right_key_opens() {
    let mut server = server_config();
    server.key = Some(b"secret".to_vec());
    let mut net = Net::new(server);
    let mut client = client_config(2);
    client.key = Some(b"secret".to_vec());
    net.add(client);
    net.connect();
    for direction in [Direction::Down, Direction::Up] {
        assert_eq!(net.measure(&flood(1), direction).end, RunEnd::Complete);
    }
}

#[test]
fn another_version_is_reported_at_both_ends() {
    // A server of this version responds to a client of version 9 ...
    let mut net = Net::new(server_config());
    let mut hello = Vec::new();
    encode(0, &Message::Hello { nonce: 77 }, &mut hello);
    hello[4] = 9;
    let stranger: SocketAddr = "203.0.113.5:1".parse().unwrap();
    let mut reply = Vec::new();
    let rx = received(0, stranger, net.now, &hello);
    net.server.on_datagram(net.now, rx);
    let sent = net.server.poll_transmit(net.now, &mut reply).unwrap();
    assert_eq!(sent.to, stranger);
    assert!(reply.len() <= hello.len());
    // ... and a client of this version understands such an answer from a server of version 9.
    let mut net = Net::pair(1);
    net.server_alive = false;
    let mut hello = Vec::new();
    net.clients[0].0.poll_transmit(net.now, &mut hello).unwrap();
    reply[4] = 9;
    reply[8..16].copy_from_slice(&hello[8..16]);
    let from = common::server_address();
    net.clients[0].0.on_datagram(net.now, received(0, from, net.now, &reply));
    let error = ClientError::Version { theirs: 9, ours: airqueue_probe::wire::VERSION };
    assert_eq!(*net.clients[0].0.state(), ClientState::Failed(error));
}

#[test]
fn no_address_gets_more_than_it_sent_before_it_has_proven_itself() {
    let mut net = Net::pair(2);
    net.connect();
    start(&mut net, &flood(5), Direction::Down);
    let mut sent: HashMap<SocketAddr, usize> = HashMap::new();
    // Every kind of datagram that client 0 ever sends, repeated from strangers' addresses, whole, truncated, and with
    // each byte changed.
    let mut words: Vec<Vec<u8>> = Vec::new();
    let mut other = Net::pair(2);
    let mut buf = Vec::new();
    for _ in 0..200 {
        while let Some(t) = other.clients[0].0.poll_transmit(other.now, &mut buf) {
            words.push(buf.clone());
            let (from, at) = (client_address(0, t.socket), other.now);
            other.server.on_datagram(at, received(0, from, at, &buf));
        }
        while let Some(t) = other.server.poll_transmit(other.now, &mut buf) {
            words.push(buf.clone());
            let (from, at) = (common::server_address(), other.now);
            let socket = usize::from(t.to.port() - 5000);
            other.clients[0].0.on_datagram(at, received(socket, from, at, &buf));
        }
        if *other.clients[0].0.state() == ClientState::Ready {
            let now = other.now;
            other.clients[0].0.start(now, &flood(1), Direction::Up).unwrap();
        }
        other.now += Span::from_millis(20);
    }
    assert!(words.len() > 20, "{}", words.len());
    let mut port = 1;
    for word in words.iter().take(80) {
        for i in 0..word.len().min(110) {
            let mut bent = word.clone();
            bent[i] ^= 0x55;
            for variant in [word.clone(), bent, word[..i].to_vec()] {
                port += 1;
                let stranger = SocketAddr::new(
                    [203, 0, 113, (port / 60000) as u8].into(),
                    (port % 60000) as u16,
                );
                *sent.entry(stranger).or_default() += variant.len();
                net.inject(stranger, &variant);
            }
        }
    }
    net.run_for(Span::from_secs(6));
    let mut answered: HashMap<SocketAddr, usize> = HashMap::new();
    let strangers = net.from_server.iter().filter(|s| s.1.ip() != client_address(0, 0).ip());
    for &(_, to, len, ticket) in strangers {
        assert!(ticket.is_none());
        *answered.entry(to).or_default() += len;
    }
    assert!(!answered.is_empty());
    for (to, len) in answered {
        assert!(len <= sent[&to], "{to} sent {} and got {len}", sent[&to]);
    }
    assert_eq!(net.server.stats().sessions, 1);
}

#[test]
fn the_sender_stops_within_two_seconds_of_the_receivers_death() {
    // Down: the client dies.
    let mut net = Net::pair(1);
    net.connect();
    start(&mut net, &flood(20), Direction::Down);
    net.run_for(Span::from_secs(3));
    net.clients[0].1 = false;
    let death = net.now;
    net.run_for(Span::from_secs(40));
    let last = net.from_server.iter().rev().find(|s| s.3.is_some()).unwrap().0;
    assert!(last > death && last - death < Span::from_secs(2), "{}", last - death);
    assert_eq!(net.server.stats().sessions, 0, "the dead client's session is freed");
    // Up: the server dies.
    let mut net = Net::pair(1);
    net.connect();
    start(&mut net, &flood(20), Direction::Up);
    net.run_for(Span::from_secs(3));
    net.server_alive = false;
    let death = net.now;
    let error = net.failure(0, Span::from_secs(20));
    assert_eq!(error, ClientError::Vanished { server: common::server_address() });
    let last = net.from_clients.iter().rev().find(|s| s.2.is_some()).unwrap().0;
    assert!(last > death && last - death < Span::from_secs(2), "{}", last - death);
}

#[test]
fn the_receiver_ends_within_two_seconds_of_the_senders_last_packet() {
    // Down: the server dies.
    let mut net = Net::pair(1);
    net.connect();
    start(&mut net, &flood(20), Direction::Down);
    net.run_for(Span::from_secs(3));
    net.server_alive = false;
    net.until(ClientState::Collecting, Span::from_secs(2));
    net.failure(0, Span::from_secs(11));
    // Up: the client dies; the server says nothing more.
    let mut net = Net::pair(1);
    net.connect();
    start(&mut net, &flood(20), Direction::Up);
    net.run_for(Span::from_secs(3));
    net.clients[0].1 = false;
    let death = net.now;
    net.run_for(Span::from_secs(40));
    let last = net.from_server.last().unwrap().0;
    assert!(last - death < Span::from_secs(2), "{}", last - death);
    assert_eq!(net.server.stats().sessions, 0);
}

#[test]
fn a_cancelled_run_leaves_what_there_is() {
    for direction in [Direction::Down, Direction::Up] {
        for after_ms in [0, 10, 40, 115, 120, 150, 1000, 2000] {
            let mut net = Net::pair(1);
            net.connect();
            let now = net.now;
            net.clients[0].0.start(now, &flood(20), direction).unwrap();
            net.run_for(Span::from_millis(after_ms));
            let (now, cancelled) = (net.now, net.now);
            net.clients[0].0.cancel(now);
            net.until(ClientState::Ready, Span::from_secs(4));
            let run = net.clients[0].0.take_run().unwrap();
            assert_eq!(run.end, RunEnd::Cancelled);
            let r = &run.records;
            let n = r.sent_ns.len();
            assert!(n <= 500 * after_ms as usize / 1000 + 2, "{n} after {after_ms} ms");
            assert!(after_ms < 1000 || n > after_ms as usize / 2 - 200, "{n} after {after_ms} ms");
            assert_eq!((r.received_ns.len(), r.flow.len()), (n, n));
            assert!(r.received_ns.iter().all(|&t| t != MISSING), "{direction:?} {after_ms}");
            assert!(net.now - cancelled < Span::from_secs(2));
            assert_eq!(net.measure(&flood(1), direction).end, RunEnd::Complete);
        }
    }
}

#[test]
fn plans_over_a_limit_are_refused_with_the_limit_and_the_session_stays() {
    let mut net = Net::pair(2);
    net.connect();
    let cases = [
        (vec![], PlanFault::Empty),
        (vec![segment(0, 0, 1000, 100_000, 1500)], PlanFault::BitRate),
        (
            vec![segment(0, 0, 1000, 60_000, 1500), segment(1, 500, 1000, 60_000, 1500)],
            PlanFault::BitRate,
        ),
        (vec![segment(0, 0, 1000, 200_001, 100)], PlanFault::PacketRate),
        (vec![segment(0, 0, 0, 20_001, 100)], PlanFault::PacketRate),
        (vec![segment(0, 0, 180_001, 100, 100)], PlanFault::Duration),
        (vec![segment(0, 0, 180_000, 4_000_001, 100)], PlanFault::Packets),
        (vec![segment(2, 0, 1000, 100, 100)], PlanFault::Flow),
        (vec![segment(0, 0, 1000, 100, 67)], PlanFault::SmallSize),
        (vec![segment(0, 0, 1000, 100, 9001)], PlanFault::LargeSize),
        (vec![segment(0, -1, 1000, 100, 100)], PlanFault::Negative),
        (vec![Segment { traffic_class: 48 << 2, ..segment(0, 0, 1, 1, 100) }], PlanFault::Dscp),
        (vec![segment(0, 0, 1000, 1, 100); 1025], PlanFault::Segments),
        (vec![segment(0, i64::MAX / 1_000_000, i64::MAX / 1_000_000, 1, 100)], PlanFault::Duration),
    ];
    for (segments, fault) in cases {
        let now = net.now;
        let error = net.clients[0].0.start(now, &Plan { segments }, Direction::Down).unwrap_err();
        let ClientError::Plan(error) = error else { panic!("{error:?}") };
        assert_eq!(error.fault, fault, "{error}");
        assert!(error.to_string().len() > 30);
        assert_eq!(*net.clients[0].0.state(), ClientState::Ready);
    }
    assert_eq!(net.measure(&flood(1), Direction::Down).end, RunEnd::Complete);
    // A value at the limit is accepted: the rates of consecutive segments do not add up.
    let segments = vec![segment(0, 0, 1000, 200_000, 68), segment(1, 1000, 1000, 200_000, 68)];
    let limits = *net.clients[0].0.limits().unwrap();
    let load = airqueue_probe::check::check(&Plan { segments }, &limits, 2, 68).unwrap();
    assert_eq!((load.packets_per_s, load.packets), (200_000, 400_000));
}

#[test]
fn sessions_are_capped_in_all_and_per_address() {
    for per_address in [true, false] {
        let mut server = server_config();
        server.limits.max_sessions = if per_address { 16 } else { 2 };
        server.limits.max_sessions_per_address = if per_address { 2 } else { 16 };
        let mut net = Net::new(server);
        (0..3).for_each(|_| {
            net.add(client_config(1));
        });
        net.run_for(Span::from_millis(500));
        let mut failed: Vec<_> = (net.clients.iter())
            .filter_map(|c| match c.0.state() {
                ClientState::Failed(error) => Some(error.clone()),
                _ => None,
            })
            .collect();
        let error = failed.pop().unwrap();
        assert!(failed.is_empty());
        match per_address {
            true => assert_eq!(error, ClientError::AddressFull { limit: 2 }),
            false => assert_eq!(error, ClientError::ServerFull { limit: 2 }),
        }
        // A session that ends makes room.
        let i = net.clients.iter().position(|c| *c.0.state() == ClientState::Ready).unwrap();
        let now = net.now;
        net.clients[i].0.close(now);
        net.run_for(Span::from_millis(100));
        assert_eq!(net.server.stats().sessions, 1);
        net.add(client_config(1));
        net.run_for(Span::from_millis(500));
        assert_eq!(*net.clients[3].0.state(), ClientState::Ready);
    }
}

#[test]
fn a_newcomer_takes_the_place_of_a_session_whose_client_is_dead() {
    for per_address in [true, false] {
        for running in [false, true] {
            let mut server = server_config();
            server.limits.max_sessions = if per_address { 16 } else { 3 };
            server.limits.max_sessions_per_address = if per_address { 3 } else { 16 };
            let mut net = Net::new(server);
            (0..3).for_each(|_| {
                net.add(client_config(1));
            });
            net.connect();
            net.run_for(Span::from_millis(500));
            if running {
                let now = net.now;
                net.clients[1].0.start(now, &flood(30), Direction::Down).unwrap();
                net.run_for(Span::from_secs(1));
            }
            net.clients[1].1 = false;
            net.add(client_config(1));
            net.run_for(Span::from_millis(4990));
            assert_eq!(*net.clients[3].0.state(), ClientState::Ready, "{per_address} {running}");
            // Clients that are there keep their sessions.
            for i in [0, 2] {
                assert_eq!(*net.clients[i].0.state(), ClientState::Ready);
            }
            assert_eq!(net.server.stats().sessions, 3);
            // All are alive now: the next one is refused, and nobody loses a session.
            let fifth = net.add(client_config(1));
            let error = net.failure(fifth, Span::from_secs(5));
            let full = matches!(
                error,
                ClientError::AddressFull { limit: 3 } | ClientError::ServerFull { limit: 3 }
            );
            assert!(full, "{error}");
            net.run_for(Span::from_secs(12));
            for i in [0, 2, 3] {
                assert_eq!(*net.clients[i].0.state(), ClientState::Ready);
            }
        }
    }
}

#[test]
fn a_restarted_server_is_noticed() {
    let mut net = Net::pair(1);
    net.connect();
    let mut again = server_config();
    again.secret = [8; 32];
    net.server = airqueue_probe::server::Server::new(again);
    assert_eq!(net.failure(0, Span::from_secs(6)), ClientError::SessionLost);
}

#[test]
fn an_idle_client_keeps_its_session() {
    let mut net = Net::pair(2);
    net.connect();
    net.run_for(Span::from_secs(120));
    assert_eq!(*net.clients[0].0.state(), ClientState::Ready);
    assert_eq!(net.measure(&flood(1), Direction::Down).end, RunEnd::Complete);
}

#[test]
fn replayed_datagrams_change_nothing() {
    let mut net = Net::pair(1);
    net.connect();
    start(&mut net, &flood(10), Direction::Down);
    // An eavesdropper records everything up to the middle of the run and repeats it later.
    net.run_for(Span::from_secs(3));
    let recorded = net.tape.clone();
    assert!(recorded.len() > 15);
    net.clients[0].1 = false;
    let death = net.now;
    for _ in 0..100 {
        for (from, bytes) in &recorded {
            net.inject(*from, bytes);
        }
        net.run_for(Span::from_millis(100));
    }
    let last = net.from_server.iter().rev().find(|s| s.3.is_some()).unwrap().0;
    assert!(last - death < Span::from_secs(2), "the replay kept the flood going");
    net.run_for(Span::from_secs(31));
    assert_eq!(net.server.stats().sessions, 0);
}

#[test]
fn only_the_sessions_own_client_is_obeyed() {
    let mut net = Net::pair(2);
    net.connect();
    let now = net.now;
    let mut farewell = Vec::new();
    net.clients[0].0.close(now);
    net.clients[0].0.poll_transmit(now, &mut farewell).unwrap();
    let mut obeys = |from: SocketAddr, bytes: &[u8]| {
        net.server.on_datagram(now, received(0, from, now, bytes));
        net.server.stats().sessions == 0
    };
    let home = client_address(0, 0);
    for i in 8..farewell.len() {
        let mut forged = farewell.clone();
        forged[i] ^= 1;
        assert!(!obeys(home, &forged), "byte {i} may be changed");
    }
    assert!(!obeys(client_address(0, 1), &farewell), "from another flow's address");
    assert!(!obeys("203.0.113.1:5000".parse().unwrap(), &farewell), "from elsewhere");
    assert!(obeys(home, &farewell));
}

#[test]
fn a_message_sent_back_to_its_author_does_not_verify() {
    use airqueue_probe::auth::{Role, TagKey};
    let key = TagKey::session(Some(b"key"), 1, 2);
    for (author, other) in [(Role::Client, Role::Server), (Role::Server, Role::Client)] {
        let mut message = b"stop".to_vec();
        key.seal(author, &mut message);
        assert!(key.verify(author, &message));
        assert!(!key.verify(other, &message));
        assert!(!TagKey::session(Some(b"key"), 1, 3).verify(author, &message));
        assert!(!TagKey::session(Some(b"kez"), 1, 2).verify(author, &message));
        assert!(!TagKey::session(None, 1, 2).verify(author, &message));
    }
}

#[test]
fn a_proof_of_address_holds_for_ten_seconds_and_one_address() {
    let home = client_address(0, 0);
    let elsewhere = client_address(1, 0);
    for (later_s, from, good) in [(9, home, true), (12, home, false), (1, elsewhere, false)] {
        let mut net = Net::pair(1);
        let (mut buf, start) = (Vec::new(), net.now);
        net.clients[0].0.poll_transmit(start, &mut buf).unwrap();
        net.server.on_datagram(start, received(0, home, start, &buf));
        net.server.poll_transmit(start, &mut buf).unwrap();
        let from_server = common::server_address();
        net.clients[0].0.on_datagram(start, received(0, from_server, start, &buf));
        net.clients[0].0.poll_transmit(start, &mut buf).unwrap();
        let later = start + Span::from_secs(later_s);
        net.server.on_datagram(later, received(0, from, later, &buf));
        assert_eq!(net.server.stats().sessions == 1, good, "{later_s} s later");
        assert_eq!(net.server.stats().refused == 0, good);
    }
}

#[test]
fn a_million_random_datagrams_leave_the_server_as_it_was() {
    let mut net = Net::new(server_config());
    let mut buf = Vec::new();
    let mut x = 1u64;
    let mut next = move || {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (x >> 33) as u32
    };
    for i in 0..1_000_000u32 {
        let len = (next() % 120) as usize;
        let mut bytes: Vec<u8> = (0..len).map(|_| next() as u8).collect();
        if len >= 8 && i % 2 == 0 {
            bytes[..8].copy_from_slice(&[
                b'A',
                b'Q',
                b'P',
                b'B',
                airqueue_probe::wire::VERSION,
                (next() % 24) as u8,
                0,
                0,
            ]);
        }
        let from = SocketAddr::new([10, 0, 0, next() as u8].into(), next() as u16);
        let at = Time::from_nanos(i64::from(i) * 1000);
        net.server.on_datagram(at, received(0, from, at, &bytes));
        while net.server.poll_transmit(at, &mut buf).is_some() {
            assert!(buf.len() <= bytes.len());
        }
    }
    assert_eq!(net.server.stats().sessions, 0);
    assert_eq!(net.server.next_deadline(), None);
}
