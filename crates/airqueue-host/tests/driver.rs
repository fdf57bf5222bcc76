//! The event loop with real sockets and endpoints of a few lines.
#![allow(clippy::disallowed_methods)]

use airqueue_core::{Span, Time};
use airqueue_host::clock::monotonic;
use airqueue_host::driver::Driver;
use airqueue_host::socket::UdpPort;
use airqueue_probe::endpoint::{Endpoint, Received, SendOutcome, Ticket, Transmit};
use std::net::SocketAddr;

/// The traffic classes of a node's packets, in turn; with some others of them in each batch.
const CLASSES: [u8; 5] = [0, 46 << 2, 2, 45 << 2 | 1, 0];

/// Sends `count` packets at a fixed spacing and records all events.
#[derive(Debug)]
struct Node {
    to: SocketAddr,
    /// Packets go out from this many sockets in turn.
    sockets: u32,
    next: Time,
    spacing: Span,
    count: u32,
    size: usize,
    sent: Vec<Time>,
    stamped: Vec<(u32, Time)>,
    blocked: u64,
    received: Vec<(u32, SocketAddr, Time, Time)>,
    /// Traffic classes of the received packets.
    classes: Vec<u8>,
    overflow: u64,
    steps: u64,
    program_stamps: u64,
}

impl Node {
    fn sender(to: SocketAddr, count: u32, spacing: Span) -> Node {
        Node {
            to,
            sockets: 1,
            next: monotonic() + Span::from_millis(5),
            spacing,
            count,
            size: 1000,
            sent: Vec::new(),
            stamped: Vec::new(),
            blocked: 0,
            received: Vec::new(),
            classes: Vec::new(),
            overflow: 0,
            steps: 0,
            program_stamps: 0,
        }
    }

    fn receiver() -> Node {
        Node::sender("127.0.0.1:1".parse().unwrap(), 0, Span::ZERO)
    }
}

impl Endpoint for Node {
    fn on_datagram(&mut self, now: Time, rx: Received<'_>) {
        let seq = u32::from_be_bytes(rx.payload[..4].try_into().unwrap());
        self.received.push((seq, rx.from, rx.at, now));
        self.classes.push(rx.traffic_class);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let seq = self.sent.len() as u32;
        if seq == self.count || now < self.next {
            return None;
        }
        buf.clear();
        buf.resize(self.size, 0);
        buf[..4].copy_from_slice(&seq.to_be_bytes());
        self.sent.push(now);
        self.next += self.spacing;
        let ticket = Ticket { session: 0, run: 0, seq, timestamp: seq.is_multiple_of(8) };
        let traffic_class = CLASSES[seq as usize % CLASSES.len()];
        let socket = (seq % self.sockets) as usize;
        Some(Transmit { socket, to: self.to, traffic_class, ticket: Some(ticket) })
    }

    fn next_deadline(&self) -> Option<Time> {
        (self.sent.len() < self.count as usize).then_some(self.next)
    }

    fn on_send_outcome(&mut self, ticket: Ticket, outcome: SendOutcome) {
        match outcome {
            SendOutcome::Blocked => self.blocked += 1,
            SendOutcome::KernelSent(at) => self.stamped.push((ticket.seq, at)),
        }
    }

    fn on_receive_overflow(&mut self, count: u64) {
        self.overflow += count;
    }

    fn on_clock_step(&mut self) {
        self.steps += 1;
    }

    fn on_program_timestamps(&mut self) {
        self.program_stamps += 1;
    }
}

/// Turns a driver until `done` or for a minute.
fn drive(driver: &mut Driver<Node>, done: impl Fn(&Node) -> bool) {
    let end = monotonic() + Span::from_secs(60);
    let waker = driver.waker();
    std::thread::scope(|scope| {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        // Without traffic a turn waits for ever: wake it now and then to look at the time.
        scope.spawn(move || {
            let pause = std::time::Duration::from_millis(10);
            while stopped.recv_timeout(pause) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                waker.wake();
            }
        });
        while !done(driver.endpoint()) && monotonic() < end {
            driver.turn().unwrap();
        }
        drop(stop);
    });
}

fn port(address: &str) -> UdpPort {
    UdpPort::open(address.parse().unwrap(), None).unwrap()
}

fn paced_over(receiver_at: &str, sender_at: &str, to: &str) {
    let sink_port = port(receiver_at);
    let target = SocketAddr::new(to.parse().unwrap(), sink_port.local_address().port());
    let mut sink = Driver::new(Node::receiver(), vec![sink_port]).unwrap();
    let source_port = port(sender_at);
    let source_number = source_port.local_address().port();
    // The kernel starts stamping shortly after the request.
    std::thread::sleep(std::time::Duration::from_millis(150));
    let receiving = std::thread::spawn(move || {
        drive(&mut sink, |n| n.received.len() == 400);
        sink
    });
    let source = Node::sender(target, 400, Span::from_micros(500));
    let start = source.next;
    let mut source = Driver::new(source, vec![source_port]).unwrap();
    drive(&mut source, |n| n.sent.len() == 400 && n.stamped.len() == 50);
    let mut sink = receiving.join().unwrap();
    let (tx, rx) = (source.endpoint(), sink.endpoint());

    assert_eq!(rx.received.len(), 400, "{:?}", sink.stats());
    assert_eq!(tx.stamped.len(), 50, "one packet in eight asked for a stamp");
    assert_eq!((tx.blocked, rx.overflow, rx.program_stamps, rx.steps), (0, 0, 0, 0));
    for (i, (seq, from, at, now)) in rx.received.iter().enumerate() {
        assert_eq!(*seq as usize, i);
        assert_eq!(rx.classes[i], CLASSES[i % CLASSES.len()]);
        assert_eq!(from.port(), source_number);
        assert_eq!(from.is_ipv4(), to.contains('.'), "addresses are canonical: {from}");
        let sent = tx.sent[i];
        assert!(sent <= *at + Span::from_micros(50) && at <= now, "{sent} {at} {now}");
    }
    for (seq, at) in &tx.stamped {
        let sent = tx.sent[*seq as usize];
        let arrived = rx.received[*seq as usize].2;
        assert!(sent <= *at + Span::from_micros(50) && *at <= arrived + Span::from_micros(50));
    }
    for (k, sent) in tx.sent.iter().enumerate() {
        assert!(*sent >= start + Span::from_micros(500 * k as i64), "never early");
    }
}

#[test]
fn paced_packets_arrive_with_both_stamps_over_ipv4() {
    paced_over("127.0.0.1:0", "0.0.0.0:0", "127.0.0.1");
}

#[test]
fn paced_packets_arrive_with_both_stamps_over_ipv6() {
    paced_over("[::]:0", "[::]:0", "::1");
}

#[test]
fn a_socket_of_both_families_speaks_ipv4_by_its_own_name() {
    paced_over("[::]:0", "[::]:0", "127.0.0.1");
}

#[test]
fn trains_from_several_sockets_leave_in_order_and_whole() {
    let sink_port = port("127.0.0.1:0");
    let target = sink_port.local_address();
    let mut sink = Driver::new(Node::receiver(), vec![sink_port]).unwrap();
    let ports: Vec<UdpPort> = (0..3).map(|_| port("127.0.0.1:0")).collect();
    let names: Vec<SocketAddr> = ports.iter().map(UdpPort::local_address).collect();
    let mut source = Node::sender(target, 1000, Span::ZERO);
    source.sockets = 3;
    let mut source = Driver::new(source, ports).unwrap();
    drive(&mut source, |n| n.sent.len() == 1000);
    drive(&mut sink, |n| n.received.len() == 1000);
    let order: Vec<u32> = sink.endpoint().received.iter().map(|r| r.0).collect();
    assert_eq!(order, (0..1000).collect::<Vec<u32>>());
    assert!(sink.endpoint().received.iter().all(|r| r.1 == names[r.0 as usize % 3]));
}

#[test]
fn icmp_errors_do_not_stop_the_loop() {
    let closed = port("127.0.0.1:0").local_address();
    let source = Node::sender(closed, 200, Span::from_micros(200));
    let mut source = Driver::new(source, vec![port("0.0.0.0:0")]).unwrap();
    drive(&mut source, |n| n.sent.len() == 200);
    let stats = source.stats();
    assert_eq!(stats.sent, 200, "{stats:?}");
    assert_eq!(source.endpoint().blocked, 0);
    let (address, errno) = stats.unreachable.expect("the kernel says that nobody listens");
    assert_eq!((address, errno), (closed, nix::libc::ECONNREFUSED));
}

#[test]
fn what_the_receive_buffer_refuses_is_counted() {
    let sink_port = port("127.0.0.1:0");
    let target = sink_port.local_address();
    let mut sink = Driver::new(Node::receiver(), vec![sink_port]).unwrap();
    let mut source = Node::sender(target, 40_000, Span::ZERO);
    source.size = 1400;
    let mut source = Driver::new(source, vec![port("127.0.0.1:0")]).unwrap();
    drive(&mut source, |n| n.sent.len() == 40_000);
    let sent = u64::from(40_000u32) - source.endpoint().blocked;
    let buffered = |n: &Node| n.received.len() as u64 + n.overflow;
    // The counter comes with packets that arrive later than the loss: empty the buffer first.
    let end = monotonic() + Span::from_millis(300);
    let waker = sink.waker();
    while monotonic() < end {
        waker.wake();
        sink.turn().unwrap();
    }
    let more = Node::sender(target, 1, Span::ZERO);
    let mut last = Driver::new(more, vec![port("127.0.0.1:0")]).unwrap();
    drive(&mut last, |n| n.sent.len() == 1);
    drive(&mut sink, |n| buffered(n) == sent + 1);
    assert_eq!(buffered(sink.endpoint()), sent + 1);
    assert!(sink.endpoint().overflow > 0, "the test must make the buffer overflow");
}

#[test]
fn packets_without_a_route_are_reported_as_never_sent() {
    // Class E addresses have no route anywhere.
    let nowhere = "240.0.0.1:9".parse().unwrap();
    let node = Node::sender(nowhere, 3, Span::from_micros(100));
    let mut source = Driver::new(node, vec![port("127.0.0.1:0")]).unwrap();
    drive(&mut source, |n| n.blocked == 3);
    assert_eq!(source.endpoint().blocked, 3);
    assert!(source.stats().send_error.is_some());
}

#[test]
fn a_wildcard_server_answers_from_the_address_that_was_asked() {
    let server_port = port("[::]:0");
    let asked: SocketAddr =
        SocketAddr::new("127.0.0.2".parse().unwrap(), server_port.local_address().port());
    let peer = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    peer.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    let mut node = Node::sender(peer.local_addr().unwrap(), 1, Span::ZERO);
    node.next = monotonic() + Span::from_millis(100);
    let mut server = Driver::new(node, vec![server_port]).unwrap();
    peer.send_to(&[0; 8], asked).unwrap();
    drive(&mut server, |n| n.sent.len() == 1);
    let (_, from) = peer.recv_from(&mut [0; 2000]).unwrap();
    assert_eq!(from, asked);
}
