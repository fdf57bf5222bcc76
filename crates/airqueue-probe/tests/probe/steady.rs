//! The data path: during a run, sending and receiving allocate nothing.

use crate::common::{Net, client_address, received, segment, server_address};
use crate::counting::allocations;
use airqueue_core::Span;
use airqueue_probe::client::{ClientState, Direction};
use airqueue_probe::endpoint::Endpoint;
use airqueue_probe::plan::Plan;

#[test]
fn neither_sender_nor_receiver_allocates_per_packet() {
    let mut net = Net::pair(2);
    net.connect();
    let plan =
        Plan { segments: vec![segment(0, 0, 1000, 50_000, 1500), segment(1, 0, 1000, 1000, 100)] };
    let now = net.now;
    net.clients[0].0.start(now, &plan, Direction::Down).unwrap();
    net.until(ClientState::Running, Span::from_secs(1));
    net.run(net.now + Span::from_secs(1), |net| net.from_server.iter().any(|s| s.3.is_some()));
    let (mut now, mut buf) = (net.now, Vec::with_capacity(2000));
    let before = allocations();
    let mut packets = 0;
    // Less than a keepalive interval: control messages may allocate.
    for _ in 0..150 {
        now += Span::from_millis(1);
        while let Some(t) = net.server.poll_transmit(now, &mut buf) {
            assert!(t.ticket.is_some());
            let socket = usize::from(t.to.port() - client_address(0, 0).port());
            let rx = received(socket, server_address(), now, &buf);
            net.clients[0].0.on_datagram(now, rx);
            packets += 1;
        }
    }
    let allocations = allocations() - before;
    assert!(packets > 7000, "{packets}");
    assert_eq!(allocations, 0, "in {packets} packets");
    assert!(net.clients[0].0.progress(now).received > 7000);
}
