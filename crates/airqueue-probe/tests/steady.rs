//! The data path: during a run, sending and receiving allocate nothing.

mod common;

use airqueue_core::Span;
use airqueue_probe::client::{ClientState, Direction};
use airqueue_probe::endpoint::Endpoint;
use airqueue_probe::plan::Plan;
use common::{Net, client_address, received, segment, server_address};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|n| n.set(n.get() + 1));
        // SAFETY: the caller keeps the contract of the method.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of the method.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

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
    let before = ALLOCATIONS.with(Cell::get);
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
    let allocations = ALLOCATIONS.with(Cell::get) - before;
    assert!(packets > 7000, "{packets}");
    assert_eq!(allocations, 0, "in {packets} packets");
    assert!(net.clients[0].0.progress(now).received > 7000);
}
