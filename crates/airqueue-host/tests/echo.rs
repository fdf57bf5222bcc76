//! Round trips over real sockets: to this machine itself, which needs no rights. Namespaces with a router between them are
//! in tests/test_echo.py.
#![allow(clippy::disallowed_methods)]

mod common;

use airqueue_core::Span;
use airqueue_host::echo::{EchoOptions, EchoState, EchoTarget, EchoesHandle, first_hops};
use airqueue_host::{HostError, ServerHandle};
use airqueue_probe::echo::Method;
use airqueue_probe::echo::series::Ignored;
use airqueue_probe::limits::Limits;
use airqueue_probe::records::MISSING;
use std::net::{IpAddr, TcpListener};
use std::time::{Duration, Instant};

const LOCALHOST: &str = "127.0.0.1";

fn target(name: &str, host: &str, method: Method) -> EchoTarget {
    EchoTarget { name: name.into(), host: host.into(), method }
}

fn options(targets: Vec<EchoTarget>) -> EchoOptions {
    EchoOptions { targets, interval: Duration::from_millis(20), namespace: None }
}

/// Waits until all targets have so many answers, for a minute at most.
fn answered(echoes: &EchoesHandle, count: u64) -> Vec<EchoState> {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let states = echoes.poll();
        if states.iter().all(|of| of.answered >= count) || Instant::now() > end {
            return states;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn this_machine_answers_by_every_method_that_needs_no_rights() {
    let listener = TcpListener::bind((LOCALHOST, 0)).unwrap();
    let open = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    // A port that was free a moment ago.
    let shut = TcpListener::bind((LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let server = ServerHandle::start(&common::server(Limits::default(), false)).unwrap();
    let methods = [
        Method::Udp(None),
        Method::Hop(1),
        Method::Tcp(open),
        Method::Tcp(shut),
        Method::Server(server.local_addr().port()),
    ];
    let named = methods.iter().enumerate();
    let targets = named.map(|(i, &method)| target(&i.to_string(), LOCALHOST, method)).collect();
    let echoes = EchoesHandle::start(&options(targets)).unwrap();
    for of in answered(&echoes, 2) {
        let localhost: IpAddr = LOCALHOST.parse().unwrap();
        assert!(of.answered >= 2 && of.failed.is_none() && of.refused == 0, "{of:?}");
        assert_eq!((of.address, of.answered_by), (Some(localhost), Some(localhost)));
        assert_eq!(of.from_host, of.target.method.by_errors(), "{of:?}");
    }
    echoes.stop();
    for (state, series) in echoes.take() {
        let rows = series.sent_ns().iter().zip(series.received_ns());
        let answers = rows.filter(|(_, received)| **received != MISSING);
        assert!(answers.clone().all(|(sent, received)| received > sent), "{state:?}");
        assert_eq!(answers.count() as u64, series.answered());
        assert_eq!(series.ignored, Ignored::default(), "{state:?}");
    }
    let before: Vec<_> = echoes.poll().iter().map(|of| of.sent).collect();
    std::thread::sleep(Duration::from_millis(50));
    let after: Vec<_> = echoes.poll().iter().map(|of| of.sent).collect();
    assert_eq!(before, after, "a stopped prober sends nothing");
}

#[test]
fn this_machine_is_its_own_first_hop() {
    for host in [LOCALHOST, "::1"] {
        let hops = first_hops(host, 4, Duration::from_secs(10), None).unwrap();
        let [hop] = hops[..] else { panic!("{hops:?}") };
        assert_eq!((hop.hop, hop.address, hop.is_host), (1, Some(host.parse().unwrap()), true));
        assert!(hop.round_trip.unwrap() > Span::ZERO);
    }
}

#[test]
fn targets_that_all_fail_are_named_with_their_reasons() {
    let targets = vec![
        target("gateway", "no such host", Method::Icmp),
        target("beyond", "", Method::Udp(None)),
    ];
    let error = EchoesHandle::start(&options(targets)).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, HostError::Request(_)), "{text}");
    assert!(text.contains("gateway: cannot resolve no such host"), "{text}");
    assert!(text.contains("; beyond: cannot resolve"), "{text}");
}
