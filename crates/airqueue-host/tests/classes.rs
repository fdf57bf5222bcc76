//! Traffic classes over real sockets, of both families and in both directions.
#![allow(clippy::disallowed_methods)]

mod common;

use airqueue_core::Span;
use airqueue_host::{ClientHandle, ClientOptions, ServerHandle, ServerOptions};
use airqueue_probe::client::Direction;
use airqueue_probe::limits::Limits;
use airqueue_probe::plan::{Plan, Segment};
use airqueue_probe::records::{MISSING, RunEnd};
use std::net::IpAddr;
use std::time::Duration;

/// Default, EF, CS1, NQB; Not-ECT, ECT(0), ECT(1), CE.
const CLASSES: [u8; 7] = [0, 46 << 2, 8 << 2, 45 << 2 | 1, 2, 1, 3];

/// Each class at its own pace, so that packets of all classes are sent in one system call; the even ones in flow 0.
fn plan() -> Plan {
    let segment = |(i, &traffic_class): (usize, &u8)| Segment {
        flow: (i % 2) as u8,
        start: Span::ZERO,
        duration: Span::from_millis(200),
        count: 40 + 10 * i as u32,
        size: 200,
        traffic_class,
    };
    Plan { segments: CLASSES.iter().enumerate().map(segment).collect() }
}

fn check(bind: Option<IpAddr>, host: &str) {
    let options = ServerOptions { bind, ..common::server(Limits::default(), false) };
    let server = ServerHandle::start(&options).unwrap();
    let port = server.local_addr().port();
    let options = ClientOptions { host: host.into(), flows: 2, ..common::client(port) };
    let client = ClientHandle::connect(&options).unwrap();
    let sent: Vec<u8> = plan().packets().map(|p| p.traffic_class).collect();
    for direction in [Direction::Down, Direction::Up] {
        client.start(&plan(), direction).unwrap();
        let run = client.finish(Duration::from_secs(30)).unwrap();
        assert_eq!(run.end, RunEnd::Complete);
        assert!(run.records.received_ns.iter().all(|&at| at != MISSING), "{host} {direction:?}");
        let classes = run.records.classes.unwrap();
        assert_eq!(classes.sent, sent);
        assert_eq!(classes.received, sent, "{host} {direction:?}");
    }
    server.stop();
}

#[test]
fn classes_arrive_over_ipv4() {
    check(Some([127, 0, 0, 1].into()), "127.0.0.1");
}

#[test]
fn classes_arrive_over_ipv6() {
    check(Some("::1".parse().unwrap()), "::1");
}

/// The server's socket is one of IPv6 in both, and each answer has a source address.
#[test]
fn classes_arrive_at_a_server_of_both_families() {
    check(None, "127.0.0.1");
    check(None, "::1");
}
