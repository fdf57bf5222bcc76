//! Uploads of several stations to one server, in virtual time.

use crate::common::{segment, server_config};
use crate::together::{HOST, OTHER, STATION, World, at, client_address, session_of_orders};
use airqueue_core::{Span, Time};
use airqueue_probe::auth::{Role, TagKey};
use airqueue_probe::client::{Client, Direction};
use airqueue_probe::endpoint::{Endpoint, Received};
use airqueue_probe::plan::Plan;
use airqueue_probe::records::{MISSING, RunEnd};
use airqueue_probe::server::ServerConfig;
use airqueue_probe::wire::{Glimpse, Message, Way, encode};
use proptest::prelude::*;

/// Uploads of both stations, in classes of their own; the client has the last packet.
fn floods() -> Plan {
    let mut other = segment(OTHER, 0, 1400, 300, 1500);
    other.traffic_class = 0x20;
    Plan { segments: vec![segment(0, 0, 1500, 500, 1500), segment(1, 200, 1000, 20, 100), other] }
}

fn long() -> Plan {
    Plan {
        segments: vec![segment(0, 0, 20_000, 2000, 1500), segment(OTHER, 0, 20_000, 2000, 1500)],
    }
}

/// When measured packets of the station left, in nanoseconds.
fn left(world: &World) -> Vec<Time> {
    world.sent.iter().filter(|s| s.1 == at(STATION) && s.4).map(|s| s.0).collect()
}

#[test]
fn every_station_sends_its_own_packets_and_the_server_records_all() {
    let mut world = World::willing();
    world.attend();
    for _ in 0..2 {
        world.sent.clear();
        let (own, other) = world.measure(&floods(), Direction::Up);
        assert_eq!((own.end, other.end), (RunEnd::Complete, RunEnd::Complete));
        let rows = own.records.flow.len();
        assert_eq!((rows, other.records.flow.len()), (820, 820));
        assert!(own.records.received_ns.iter().all(|&at| at != MISSING), "the server has all");
        assert!(other.records.received_ns.iter().all(|&at| at == MISSING));
        let here = world.sent.iter().filter(|s| s.4 && s.1 == at(STATION)).count();
        assert_eq!(here, 300, "the station sends its own alone");
        assert!(world.sent.iter().filter(|s| s.4).all(|s| s.2 == at(HOST)));
        // Delays of the other station are those of the network and an offset of its clock.
        let offsets: Vec<i64> = (0..rows)
            .filter(|&i| own.records.flow[i] == OTHER)
            .map(|i| own.records.received_ns[i] - other.records.sent_ns[i])
            .collect();
        assert!(offsets.iter().all(|d| *d == offsets[0]));
    }
}

#[test]
fn stations_begin_together() {
    let mut world = World::willing();
    world.attend();
    world.sent.clear();
    world.measure(&floods(), Direction::Up);
    let first = |from: fn(&std::net::SocketAddr) -> bool| {
        world.sent.iter().find(|s| s.4 && from(&s.1)).unwrap().0
    };
    let apart = first(|from| *from == at(STATION)) - first(|from| *from != at(STATION));
    assert!(apart.as_nanos().abs() <= 1_000_000, "{apart}");
}

#[test]
fn nothing_but_measured_packets_goes_up_during_a_run() {
    let mut world = World::willing();
    world.attend();
    world.sent.clear();
    world.measure(&floods(), Direction::Up);
    let measured = || world.sent.iter().filter(|s| s.4);
    let (first, last) = (measured().next().unwrap().0, measured().next_back().unwrap().0);
    // To the station's server the client would speak over the same air.
    let loaded = world.sent.iter().filter(|s| s.1 != at(HOST));
    for s in loaded.filter(|s| s.0 > first && s.0 < last) {
        assert!(s.4, "{s:?}");
    }
}

#[test]
fn a_station_sends_nothing_before_the_server_wants_it_and_gives_up() {
    let mut world = World::willing();
    world.attend();
    world.sent.clear();
    // The client never begins its run with the server.
    world.prepare(&floods(), Direction::Up);
    world.until(15, |_| false);
    assert!(left(&world).is_empty());
    assert!(!world.sent.iter().any(|s| s.1 == at(STATION) && s.2 == at(HOST)));
    world.orders.conclude(world.now);
    let mut other = None;
    assert!(world.until(10, |w| {
        other = w.orders.take_run();
        other.is_some()
    }));
    assert_eq!(other.unwrap().end, RunEnd::ReceiverSilent);
}

#[test]
fn an_upload_ends_when_the_server_is_gone() {
    let mut world = World::willing();
    world.attend();
    world.begin(&long(), Direction::Up);
    world.until(3, |_| false);
    let gone = world.now;
    assert!(!left(&world).is_empty());
    world.host = airqueue_probe::server::Server::new(server_config());
    world.until(10, |_| false);
    let last = *left(&world).last().unwrap();
    assert!(last > gone && last < gone + Span::from_secs(2), "{}", last - gone);
}

#[test]
fn an_upload_ends_with_the_run_of_its_client() {
    let mut world = World::willing();
    world.attend();
    world.begin(&long(), Direction::Up);
    world.until(3, |_| false);
    world.client.cancel(world.now);
    let stopped = world.now;
    world.until(10, |_| false);
    let last = *left(&world).last().unwrap();
    assert!(last < stopped + Span::from_secs(3), "{}", last - stopped);
}

#[test]
fn an_upload_of_a_client_that_is_gone_ends_with_its_plan() {
    let mut world = World::willing();
    world.attend();
    world.begin(&long(), Direction::Up);
    world.until(3, |_| false);
    let gone = world.now;
    world.client = Client::new(crate::common::client_config(0), gone);
    world.until(40, |_| false);
    let last = *left(&world).last().unwrap();
    assert!(last < gone + Span::from_secs(18), "{}", last - gone);
}

/// A keepalive for the station, as the host sends them.
fn wanted(world: &mut World, run: u32, counter: u32, role: Role) -> Vec<u8> {
    let identity = world.client.identity().unwrap();
    let key = TagKey::session(None, identity.nonce, identity.session);
    let (session, glimpse) = (identity.session, Glimpse::default());
    let mut bytes = Vec::new();
    encode(OTHER, &Message::KeepAlive { session, run, counter, glimpse }, &mut bytes);
    key.seal(role, &mut bytes);
    bytes
}

fn tell(world: &mut World, from: &str, bytes: &[u8]) {
    let rx =
        Received { socket: 0, from: at(from), at: world.now, traffic_class: 0, payload: bytes };
    world.station.on_datagram(world.now, rx);
}

#[test]
fn only_an_authentic_keepalive_of_the_run_begins_an_upload() {
    let mut world = World::willing();
    world.attend();
    world.prepare(&floods(), Direction::Up);
    let run = world.client.identity().unwrap().next_run - 1;
    world.sent.clear();
    let good = wanted(&mut world, run, 5, Role::Server);
    let mut forged = good.clone();
    *forged.last_mut().unwrap() ^= 1;
    let reflected = wanted(&mut world, run, 5, Role::Client);
    let of_another_run = wanted(&mut world, run + 1, 4, Role::Server);
    for bytes in [&forged, &reflected, &of_another_run] {
        tell(&mut world, HOST, bytes);
    }
    tell(&mut world, "198.51.100.1:4001", &good);
    tell(&mut world, "203.0.113.9:4000", &good);
    world.until(1, |_| false);
    assert!(left(&world).is_empty());
    tell(&mut world, HOST, &good);
    world.until(1, |_| false);
    let sent = left(&world).len();
    assert!(sent > 100, "{sent}");
}

#[test]
fn a_replayed_keepalive_does_not_keep_an_upload_alive() {
    let mut world = World::willing();
    world.attend();
    world.prepare(&long(), Direction::Up);
    let run = world.client.identity().unwrap().next_run - 1;
    let good = wanted(&mut world, run, 5, Role::Server);
    tell(&mut world, HOST, &good);
    let began = world.now;
    for _ in 0..10 {
        world.until(1, |_| false);
        tell(&mut world, HOST, &good);
    }
    let last = *left(&world).last().unwrap();
    assert!(last < began + Span::from_secs(2), "{}", last - began);
}

#[test]
fn a_station_sends_only_where_it_has_joined() {
    // The host does not answer: the station never learns that this address is the host's.
    let mut world = World::willing();
    let of = world.of();
    world.host = airqueue_probe::server::Server::new(ServerConfig {
        key: Some(b"another".to_vec()),
        ..server_config()
    });
    world.orders.attend(world.now, of).unwrap();
    world.until(2, |_| false);
    let (session, key) = session_of_orders(&mut world);
    let segments = floods().segments;
    let way = Way::UpFromAll;
    for message in [
        Message::Plan { session, run: 1, part: 0, parts: 1, way, segments },
        Message::Start { session, run: 1, delay_ms: 0 },
    ] {
        let mut bytes = Vec::new();
        encode(0, &message, &mut bytes);
        key.seal(Role::Client, &mut bytes);
        let from = client_address(false, 0);
        let rx = Received { socket: 0, from, at: world.now, traffic_class: 0, payload: &bytes };
        world.station.on_datagram(world.now, rx);
    }
    let good = wanted(&mut world, 1, 1, Role::Server);
    tell(&mut world, HOST, &good);
    world.until(3, |_| false);
    assert!(left(&world).is_empty());
    assert_eq!(world.station.stats().runs, 0);
}

#[test]
fn the_limits_of_the_station_hold_too() {
    let mut limits = server_config().limits;
    limits.max_packets_per_s = 400;
    let mut world = World::new(ServerConfig {
        attends: vec![at(HOST).ip()],
        secret: [8; 32],
        limits,
        ..server_config()
    });
    world.attend();
    // By the client's own check, and by the station's where a client does not check.
    assert!(world.orders.upload(world.now, &floods(), 1).is_err());
    let (session, key) = session_of_orders(&mut world);
    let segments = floods().segments;
    let mut bytes = Vec::new();
    let way = Way::UpFromAll;
    encode(0, &Message::Plan { session, run: 1, part: 0, parts: 1, way, segments }, &mut bytes);
    key.seal(Role::Client, &mut bytes);
    let from = client_address(false, 0);
    let rx = Received { socket: 0, from, at: world.now, traffic_class: 0, payload: &bytes };
    let refused = world.station.stats().refused;
    world.station.on_datagram(world.now, rx);
    assert_eq!(world.station.stats().refused, refused + 1);
}

#[test]
fn a_station_sends_for_one_session_at_a_time() {
    let mut world = World::willing();
    world.attend();
    world.prepare(&long(), Direction::Up);
    // Another client of the station waits for its turn meanwhile.
    let config = airqueue_probe::client::ClientConfig {
        server: at(STATION),
        entropy: [4; 32],
        ..crate::common::client_config(1)
    };
    world.client = Client::new(config, world.now);
    assert!(
        world.until(5, |w| { w.client.state() == &airqueue_probe::client::ClientState::Ready })
    );
    let plan = Plan { segments: vec![segment(0, 0, 100, 10, 100)] };
    world.client.start(world.now, &plan, Direction::Down).unwrap();
    world.until(2, |_| false);
    assert!(world.client.progress(world.now).waiting.is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any bytes in messages of the host, tagged or not, at a station that waits or sends: no panic, nothing to others, and the
    /// flood ends by itself.
    #[test]
    fn a_hostile_host_cannot_prolong_an_upload(
        messages in prop::collection::vec((any::<bool>(), 0u8..26, 0u8..4,
            prop::collection::vec(any::<u8>(), 0..80)), 0..30),
    ) {
        let mut world = World::willing();
        world.attend();
        world.prepare(&floods(), Direction::Up);
        let identity = world.client.identity().unwrap();
        let key = TagKey::session(None, identity.nonce, identity.session);
        world.sent.clear();
        for (tagged, kind, flow, body) in messages {
            let mut bytes = b"AQPB".to_vec();
            bytes.extend([airqueue_probe::wire::VERSION, kind, flow, 0]);
            bytes.extend(identity.session.to_be_bytes());
            bytes.extend(body);
            if tagged {
                key.seal(Role::Server, &mut bytes);
            }
            tell(&mut world, HOST, &bytes);
            world.poll();
        }
        world.until(20, |_| false);
        prop_assert!(left(&world).len() <= 300);
        prop_assert!(world.sent.iter().filter(|s| s.4).all(|s| s.2 == at(HOST)));
    }
}
