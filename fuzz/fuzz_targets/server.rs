//! Any sequence of datagrams at the server, from strangers and from a client that holds a session
//! and tags whatever it likes.
#![no_main]

use airqueue_core::{Span, Time};
use airqueue_probe::auth::{Role, TagKey};
use airqueue_probe::endpoint::{Endpoint, Received, SendOutcome};
use airqueue_probe::limits::Limits;
use airqueue_probe::server::{Server, ServerConfig};
use airqueue_probe::wire::{Message, VERSION, decode, encode};
use libfuzzer_sys::fuzz_target;
use std::net::SocketAddr;

const NONCE: u64 = 5;

fn deliver(server: &mut Server, now: Time, from: SocketAddr, payload: &[u8]) -> Vec<Vec<u8>> {
    server.on_datagram(now, Received { socket: 0, from, at: now, traffic_class: 0, payload });
    drain(server, now)
}

/// What the server says, some of it at most: a plan may be a flood.
fn drain(server: &mut Server, now: Time) -> Vec<Vec<u8>> {
    let mut said = Vec::new();
    let mut buf = Vec::new();
    while said.len() < 200
        && let Some(transmit) = server.poll_transmit(now, &mut buf)
    {
        if let Some(ticket) = transmit.ticket
            && ticket.seq % 7 == 0
        {
            server.on_send_outcome(ticket, SendOutcome::Blocked);
        }
        said.push(buf.clone());
    }
    said
}

/// Opens a session; its id.
fn open(server: &mut Server, now: Time, from: SocketAddr) -> u64 {
    let mut bytes = Vec::new();
    encode(0, &Message::Hello { nonce: NONCE }, &mut bytes);
    let said = deliver(server, now, from, &bytes);
    let Message::Challenge { nonce, stamp, cookie } = decode(&said[0]).unwrap().message else {
        panic!("no challenge");
    };
    encode(0, &Message::Open { nonce, stamp, cookie, flows: 2, keyed: false }, &mut bytes);
    TagKey::opening(None).seal(Role::Client, &mut bytes);
    let said = deliver(server, now, from, &bytes);
    let Message::Accept { session, .. } = decode(&said[0]).unwrap().message else {
        panic!("not accepted");
    };
    session
}

fuzz_target!(|data: &[u8]| {
    let limits = Limits { max_packets: 5000, max_run: Span::from_secs(20), ..Limits::default() };
    // The stranger is a server whose sessions this one may attend.
    let attends = vec!["203.0.113.1".parse().unwrap()];
    let mut server = Server::new(ServerConfig { key: None, limits, secret: [1; 32], attends });
    let mut now = Time::from_nanos(1);
    let client: SocketAddr = "192.0.2.1:9".parse().unwrap();
    let stranger: SocketAddr = "203.0.113.1:9".parse().unwrap();
    let session = open(&mut server, now, client);
    let key = TagKey::session(None, NONCE, session);
    let mut rest = data;
    while let [op, len, tail @ ..] = rest {
        let (body, next) = tail.split_at(usize::from(*len).min(tail.len()));
        rest = next;
        match op % 4 {
            0 => now += Span::from_millis(1 << (len % 15)),
            1 => {
                let said = deliver(&mut server, now, stranger, body);
                let plain = said.iter().filter(|s| s.len() < 64).map(Vec::len).max();
                assert!(plain.unwrap_or(0) <= body.len().max(64));
            }
            kind => {
                let Some((&message, body)) = body.split_first() else { continue };
                let mut bytes = b"AQPB".to_vec();
                bytes.extend([VERSION, message % 24, 0, 0]);
                bytes.extend(session.to_be_bytes());
                bytes.extend(body);
                if kind == 2 {
                    key.seal(Role::Client, &mut bytes);
                }
                deliver(&mut server, now, client, &bytes);
            }
        }
        drain(&mut server, now);
        let _ = server.next_deadline();
    }
});
