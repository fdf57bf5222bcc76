//! Any first bytes of a TCP connection at a server whose client's run is in progress, and tagged ones of this client.
#![no_main]

use airqueue_core::{Span, Time};
use airqueue_probe::auth::{Role, TagKey};
use airqueue_probe::endpoint::{Endpoint, Received};
use airqueue_probe::limits::Limits;
use airqueue_probe::load::{LoadFault, LoadRequest, LoadTurn, MAX_CONNECTIONS, REQUEST_LEN};
use airqueue_probe::plan::Segment;
use airqueue_probe::server::{Server, ServerConfig};
use airqueue_probe::wire::{Message, Way, decode, encode};
use libfuzzer_sys::fuzz_target;
use std::net::SocketAddr;
use std::sync::OnceLock;

const NONCE: u64 = 5;
const NOW: Time = Time::from_nanos(1);

fn client() -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], 9))
}

/// Delivers a message; the last answer.
fn say(server: &mut Server, message: &Message<'_>, key: Option<&TagKey>) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(0, message, &mut bytes);
    if let Some(key) = key {
        key.seal(Role::Client, &mut bytes);
    }
    let (from, at) = (client(), NOW);
    server.on_datagram(NOW, Received { socket: 0, from, at, traffic_class: 0, payload: &bytes });
    let mut answer = Vec::new();
    server.poll_transmit(NOW, &mut answer);
    answer
}

/// A run in progress, and the key of its session.
fn running() -> (LoadTurn, TagKey) {
    let config =
        ServerConfig { key: None, limits: Limits::default(), secret: [1; 32], attends: Vec::new() };
    let mut server = Server::new(config);
    let answer = say(&mut server, &Message::Hello { nonce: NONCE }, None);
    let Message::Challenge { nonce, stamp, cookie } = decode(&answer).unwrap().message else {
        panic!("no challenge");
    };
    let open = Message::Open { nonce, stamp, cookie, flows: 1, keyed: false };
    let answer = say(&mut server, &open, Some(&TagKey::opening(None)));
    let Message::Accept { session, .. } = decode(&answer).unwrap().message else {
        panic!("not accepted");
    };
    let key = TagKey::session(None, NONCE, session);
    let second = Span::from_secs(1);
    let segments = vec![Segment {
        flow: 0,
        start: Span::ZERO,
        duration: second,
        count: 9,
        size: 200,
        traffic_class: 0,
    }];
    let plan = Message::Plan { session, run: 1, part: 0, parts: 1, way: Way::Down, segments };
    say(&mut server, &plan, Some(&key));
    say(&mut server, &Message::Start { session, run: 1, delay_ms: 100 }, Some(&key));
    (server.load_turn().unwrap(), key)
}

fuzz_target!(|data: &[u8]| {
    static RUNNING: OnceLock<(LoadTurn, TagKey)> = OnceLock::new();
    let (turn, key) = RUNNING.get_or_init(running);
    let mut turn = turn.clone();
    let mut admitted = 0;
    for chunk in data.chunks(REQUEST_LEN + 1) {
        let Some((&tagged, bytes)) = chunk.split_first() else { continue };
        let mut request = [0; REQUEST_LEN];
        request[..bytes.len()].copy_from_slice(bytes);
        if let Some(decoded) = LoadRequest::decode(&request) {
            let again: [u8; REQUEST_LEN] = decoded.seal(key).try_into().unwrap();
            assert_eq!(LoadRequest::decode(&again), Some(decoded));
            if tagged % 2 == 1 {
                request = again;
            }
        }
        match turn.admit(NOW, client().ip(), &request) {
            Ok(request) => {
                assert_eq!((request.session, request.run), turn.id());
                admitted += 1;
            }
            Err(LoadFault::Stranger | LoadFault::Refused(_)) => {}
        }
    }
    assert!(admitted <= MAX_CONNECTIONS);
});
