//! Any sequence of datagrams at the client, from a server that tags whatever it likes.
#![no_main]

use airqueue_core::{Span, Time};
use airqueue_probe::auth::{Role, TagKey};
use airqueue_probe::client::{Client, ClientConfig, ClientState, Direction};
use airqueue_probe::endpoint::{Endpoint, Received};
use airqueue_probe::limits::Limits;
use airqueue_probe::plan::{Plan, Segment};
use airqueue_probe::wire::{Message, VERSION, decode, encode};
use libfuzzer_sys::fuzz_target;
use std::net::SocketAddr;

const SESSION: u64 = 11;

fn deliver(client: &mut Client, now: Time, from: SocketAddr, payload: &[u8]) {
    client.on_datagram(now, Received { socket: 0, from, at: now, traffic_class: 0, payload });
    drain(client, now);
}

fn drain(client: &mut Client, now: Time) -> Vec<u8> {
    let mut buf = Vec::new();
    let mut last = Vec::new();
    for _ in 0..200 {
        if client.poll_transmit(now, &mut buf).is_none() {
            break;
        }
        last.clone_from(&buf);
    }
    last
}

fuzz_target!(|data: &[u8]| {
    let server: SocketAddr = "198.51.100.1:9".parse().unwrap();
    let mut now = Time::from_nanos(1);
    let max_wait = Span::from_secs(60);
    let config =
        ClientConfig { server, key: None, flows: 1, others: 0, entropy: [3; 32], max_wait };
    let mut client = Client::new(config, now);
    let hello = drain(&mut client, now);
    let Message::Hello { nonce } = decode(&hello).unwrap().message else { panic!("no hello") };
    let mut bytes = Vec::new();
    encode(0, &Message::Challenge { nonce, stamp: 0, cookie: [0; 16] }, &mut bytes);
    deliver(&mut client, now, server, &bytes);
    let key = TagKey::session(None, nonce, SESSION);
    let limits = Limits::default();
    encode(0, &Message::Accept { nonce, session: SESSION, limits }, &mut bytes);
    key.seal(Role::Server, &mut bytes);
    deliver(&mut client, now, server, &bytes);
    assert_eq!(*client.state(), ClientState::Ready);
    let second = Span::from_secs(1);
    let segment = Segment {
        flow: 0,
        start: Span::ZERO,
        duration: second,
        count: 50,
        size: 100,
        traffic_class: 3,
    };
    let plan = Plan { segments: vec![segment] };
    let mut rest = data;
    while let [op, len, tail @ ..] = rest {
        let (body, next) = tail.split_at(usize::from(*len).min(tail.len()));
        rest = next;
        match op % 8 {
            0 => now += Span::from_millis(1 << (len % 13)),
            1 => deliver(&mut client, now, server, body),
            2 => {
                let direction = if len % 2 == 0 { Direction::Down } else { Direction::Up };
                let _ = client.start(now, &plan, direction);
            }
            3 => client.cancel(now),
            kind => {
                let Some((&message, body)) = body.split_first() else { continue };
                let mut bytes = b"AQPB".to_vec();
                bytes.extend([VERSION, message % 24, 0, 0]);
                bytes.extend(SESSION.to_be_bytes());
                bytes.extend(body);
                if kind != 4 {
                    key.seal(Role::Server, &mut bytes);
                }
                deliver(&mut client, now, server, &bytes);
            }
        }
        drain(&mut client, now);
        let _ = (client.next_deadline(), client.progress(now));
        if let Some(run) = client.take_run() {
            let n = run.records.sent_ns.len();
            assert!(n <= 50 && run.records.received_ns.len() == n);
        }
    }
});
