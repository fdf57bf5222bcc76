//! Clients over real sockets that wait for each other.
#![allow(clippy::disallowed_methods)]

mod common;

use airqueue_core::Span;
use airqueue_host::ServerHandle;
use airqueue_probe::client::Direction;
use airqueue_probe::limits::Limits;
use airqueue_probe::plan::{Plan, Segment};
use common::{connect, server};
use std::time::{Duration, Instant};

#[test]
fn a_client_shows_that_it_waits_as_soon_as_it_is_told() {
    let server = ServerHandle::start(&server(Limits::default(), false)).unwrap();
    let port = server.local_addr().port();
    let (first, second) = (connect(port), connect(port));
    let duration = Span::from_secs(4);
    let (flow, start) = (0, Span::ZERO);
    let segment = Segment { flow, start, duration, count: 200, size: 300, traffic_class: 0 };
    let plan = Plan { segments: vec![segment] };
    first.start(&plan, Direction::Down).unwrap();
    let patience = Instant::now() + Duration::from_secs(60);
    while first.poll().1.received == 0 && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(5));
    }
    second.start(&plan, Direction::Down).unwrap();
    // The second client asks only every 2 s: within 1.5 s it must show the first answer.
    let mut shown = None;
    while shown.is_none() && first.poll().1.received < 75 && Instant::now() < patience {
        shown = second.poll().1.waiting;
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(shown.map(|w| w.ahead), Some(1));
    server.stop();
}
