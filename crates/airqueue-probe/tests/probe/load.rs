//! Who may load the path of a run by TCP connections.

use crate::common::{Net, client_address, client_config, segment, server_config};
use airqueue_core::{Span, Time};
use airqueue_probe::client::{ClientState, Direction};
use airqueue_probe::load::{
    LoadFault, LoadGrant, LoadRefusal, LoadRequest, LoadTurn, MAX_CONNECTIONS, REQUEST_LEN,
};
use airqueue_probe::plan::Plan;
use std::net::IpAddr;

const SPARSE_BITS_PER_S: u64 = 50 * 200 * 8;

fn sparse(seconds: i64) -> Plan {
    Plan { segments: vec![segment(0, 0, seconds * 1000, (seconds * 50) as u32, 200)] }
}

/// Clients of which the first has a run in progress.
fn running(clients: usize, direction: Direction) -> Net {
    let mut net = Net::new(server_config());
    (0..clients).for_each(|_| {
        net.add(client_config(2));
    });
    net.connect();
    net.run_for(Span::from_secs(1));
    begin(&mut net, 0, direction);
    net
}

fn begin(net: &mut Net, client: usize, direction: Direction) {
    let now = net.now;
    net.clients[client].0.start(now, &sparse(5), direction).unwrap();
    net.run_for(Span::from_millis(500));
}

fn grant(net: &Net, client: usize) -> LoadGrant {
    net.clients[client].0.load_grant(net.now).unwrap()
}

fn peer() -> IpAddr {
    client_address(0, 0).ip()
}

fn request(grant: &LoadGrant, direction: Direction, index: u8) -> [u8; REQUEST_LEN] {
    grant.request(direction, index).try_into().unwrap()
}

fn refused(why: LoadRefusal) -> Result<LoadRequest, LoadFault> {
    Err(LoadFault::Refused(why))
}

#[test]
fn the_client_of_the_run_is_admitted_in_both_directions() {
    for direction in [Direction::Down, Direction::Up] {
        let net = running(1, direction);
        let mut turn = net.server.load_turn().unwrap();
        assert_eq!(Some(turn.id()), net.server.loaded_run());
        for (index, wanted) in [(0, Direction::Down), (31, Direction::Up)] {
            let bytes = request(&grant(&net, 0), wanted, index);
            let admitted = turn.admit(net.now, peer(), &bytes).unwrap();
            assert_eq!((admitted.direction, admitted.index), (wanted, index));
            assert_eq!(LoadRequest::decode(&bytes), Some(admitted));
        }
        // The run's own packets are within the limit too, in their direction.
        let cap = server_config().limits.max_bits_per_s;
        let other = if direction == Direction::Up { Direction::Down } else { Direction::Up };
        assert_eq!(turn.bits_per_s(direction), cap - SPARSE_BITS_PER_S);
        assert_eq!(turn.bits_per_s(other), cap);
    }
}

#[test]
fn every_changed_byte_makes_a_stranger() {
    let net = running(1, Direction::Down);
    let turn = net.server.load_turn().unwrap();
    let good = request(&grant(&net, 0), Direction::Down, 3);
    for i in 0..REQUEST_LEN {
        for bit in 0..8 {
            let mut bytes = good;
            bytes[i] ^= 1 << bit;
            let mut turn = turn.clone();
            assert_eq!(turn.admit(net.now, peer(), &bytes), Err(LoadFault::Stranger), "{i} {bit}");
            assert!(turn.admit(net.now, peer(), &good).is_ok(), "nothing is used up");
        }
    }
}

#[test]
fn a_foreign_address_is_a_stranger_even_with_a_good_tag() {
    let net = running(1, Direction::Down);
    let mut turn = net.server.load_turn().unwrap();
    let bytes = request(&grant(&net, 0), Direction::Down, 0);
    let foreign: IpAddr = "203.0.113.9".parse().unwrap();
    assert!(!turn.is_peer(foreign));
    assert_eq!(turn.admit(net.now, foreign, &bytes), Err(LoadFault::Stranger));
    // A socket of both families shows IPv4 peers as mapped IPv6.
    let mapped: IpAddr = "::ffff:192.0.2.1".parse().unwrap();
    assert!(turn.is_peer(mapped) && turn.admit(net.now, mapped, &bytes).is_ok());
}

#[test]
fn an_index_serves_once_in_a_run() {
    let net = running(1, Direction::Up);
    let mut turn = net.server.load_turn().unwrap();
    let grant = grant(&net, 0);
    let mut admit =
        |index, direction| turn.admit(net.now, peer(), &request(&grant, direction, index));
    for index in 0..MAX_CONNECTIONS {
        assert!(admit(index, Direction::Up).is_ok());
        assert_eq!(admit(index, Direction::Up), refused(LoadRefusal::Repeated));
        assert_eq!(admit(index, Direction::Down), refused(LoadRefusal::Repeated));
    }
    for index in MAX_CONNECTIONS..=u8::MAX {
        assert_eq!(admit(index, Direction::Up), refused(LoadRefusal::TooMany));
    }
}

#[test]
fn there_is_no_load_before_the_run_or_after_it() {
    let mut net = Net::pair(2);
    net.connect();
    let none = |net: &Net| {
        assert!(net.server.load_turn().is_none() && net.server.loaded_run().is_none());
        assert!(net.clients[0].0.load_grant(net.now).is_none());
    };
    none(&net);
    net.clients[0].0.start(net.now, &sparse(2), Direction::Down).unwrap();
    none(&net);
    // The server's START comes before its STARTED: a client that knows of its turn is not early.
    let both = |net: &mut Net| net.clients[0].0.load_grant(net.now).is_some();
    assert!(net.run(net.now + Span::from_secs(1), both));
    assert!(net.server.load_turn().is_some());
    net.until(ClientState::Ready, Span::from_secs(10));
    none(&net);
}

#[test]
fn the_load_of_an_earlier_run_is_refused_in_the_next() {
    let mut net = running(1, Direction::Down);
    let old = grant(&net, 0);
    net.until(ClientState::Ready, Span::from_secs(20));
    begin(&mut net, 0, Direction::Down);
    let mut turn = net.server.load_turn().unwrap();
    let replay = request(&old, Direction::Down, 0);
    assert_eq!(turn.admit(net.now, peer(), &replay), refused(LoadRefusal::OtherRun));
    let fresh = request(&grant(&net, 0), Direction::Down, 0);
    assert!(turn.admit(net.now, peer(), &fresh).is_ok());
}

#[test]
fn another_sessions_turn_is_not_ones_own() {
    let mut net = running(2, Direction::Down);
    let first = grant(&net, 0);
    begin(&mut net, 1, Direction::Down); // waits for its turn
    assert!(net.clients[1].0.load_grant(net.now).is_none());
    assert!(net.run(net.now + Span::from_secs(20), |net| {
        net.clients[1].0.load_grant(net.now).is_some()
    }));
    let mut turn = net.server.load_turn().unwrap();
    // Both clients have one address, as behind an address translator.
    let bytes = request(&first, Direction::Down, 0);
    assert_eq!(turn.admit(net.now, peer(), &bytes), Err(LoadFault::Stranger));
    let own = request(&grant(&net, 1), Direction::Down, 0);
    assert!(turn.admit(net.now, peer(), &own).is_ok());
}

/// Runs until the server's load is over; how long that took.
fn until_unloaded(net: &mut Net) -> Span {
    let from = net.now;
    assert!(net.run(from + Span::from_secs(20), |net| net.server.loaded_run().is_none()));
    net.now - from
}

#[test]
fn the_load_ends_with_a_cancelled_run_and_with_its_client() {
    for direction in [Direction::Down, Direction::Up] {
        let mut net = running(1, direction);
        let now = net.now;
        net.clients[0].0.cancel(now);
        assert!(until_unloaded(&mut net) < Span::from_millis(100));

        let mut net = running(1, direction);
        net.clients[0].1 = false;
        let silence = until_unloaded(&mut net);
        assert!(silence <= Span::from_secs(2), "{direction:?}: {silence}");
    }
}

#[test]
fn a_load_ends_with_the_plan_even_if_the_receiver_waits_for_packets() {
    let net = running(1, Direction::Up);
    let mut turn = net.server.load_turn().unwrap();
    let bytes = request(&grant(&net, 0), Direction::Up, 0);
    assert!(turn.until() <= net.now + Span::from_secs(7));
    assert_eq!(turn.admit(turn.until(), peer(), &bytes), refused(LoadRefusal::OtherRun));
}

#[test]
fn a_plan_of_all_the_permitted_rate_leaves_none_for_a_load() {
    let mut server = server_config();
    server.limits.max_bits_per_s = SPARSE_BITS_PER_S;
    let mut net = Net::new(server);
    net.add(client_config(1));
    net.connect();
    begin(&mut net, 0, Direction::Down);
    let mut turn: LoadTurn = net.server.load_turn().unwrap();
    let down = request(&grant(&net, 0), Direction::Down, 0);
    assert_eq!(turn.admit(net.now, peer(), &down), refused(LoadRefusal::NoRate));
    let up = request(&grant(&net, 0), Direction::Up, 0);
    assert!(turn.admit(net.now, peer(), &up).is_ok());
}

#[test]
fn refusals_keep_their_numbers() {
    for code in 0..=u8::MAX {
        match LoadRefusal::from_wire(code) {
            Some(refusal) => assert_eq!(refusal as u8, code),
            None => assert!(code == 0 || code > 5),
        }
    }
}

#[test]
fn the_times_of_a_run_place_its_records_on_the_clients_clock() {
    for direction in [Direction::Down, Direction::Up] {
        let mut net = Net::pair(1);
        net.connect();
        assert_eq!(net.clients[0].0.times(), None);
        let asked = net.now;
        let run = net.measure(&sparse(1), direction);
        let times = net.clients[0].0.times().unwrap();
        assert!(!times.active && times.number == 1);
        let (epoch, started) = (times.epoch.unwrap(), times.started.unwrap());
        let first = match direction {
            Direction::Down => run.records.received_ns[0],
            Direction::Up => run.records.sent_ns[0],
        };
        // The path delays by 5 ms, and the first packet leaves when the run begins.
        let first_at: Time = epoch + Span::from_nanos(first);
        assert_eq!(first_at, started, "{direction:?}");
        let since = started - asked;
        assert!(since > Span::from_millis(100) && since < Span::from_millis(200), "{since}");
    }
}
