//! In steady state, simulating a packet allocates nothing.

use crate::common::link;
use crate::counting::allocations;
use airqueue_core::{FlowKey, Limit, Packet, Seed, Span, Time};
use airqueue_network::bottleneck::{Bottleneck, DeviceSpec};
use airqueue_network::event::{EventQueue, Phase};
use airqueue_network::timer::Timer;

#[derive(Clone, Copy)]
enum Happening {
    Arrival,
    Device,
}

/// An overloaded device on the event queue: arrivals, drops, services, losses.
struct World {
    queue: EventQueue<Happening>,
    device: Bottleneck,
    timer: Timer<Happening>,
    next_id: u64,
}

impl World {
    fn new(spec: DeviceSpec) -> World {
        let mut queue = EventQueue::new();
        queue.schedule(Time::ZERO, Phase(1), Happening::Arrival);
        let timer = Timer::new(Happening::Device, Phase(0));
        World { queue, device: Bottleneck::new(spec, Seed(1)), timer, next_id: 0 }
    }

    fn step(&mut self) {
        let Some((now, event)) = self.queue.pop() else { return };
        match event {
            Happening::Arrival => {
                let packet = Packet::new(self.next_id, FlowKey(self.next_id as u32 % 3), 1000, now);
                self.next_id += 1;
                self.device.enqueue(packet, now);
                let next = now + Span::from_micros(700);
                self.queue.schedule(next, Phase(1), Happening::Arrival);
            }
            Happening::Device => self.device.on_deadline(now),
        }
        while self.device.poll_outcome().is_some() {}
        self.timer.set(self.device.next_deadline(), &mut self.queue);
    }
}

#[test]
fn a_packet_costs_no_allocation() {
    let plain = link(Limit::Packets(100));
    let isolated = DeviceSpec { isolate_flows: true, loss: 0.1, ..plain.clone() };
    let ring = DeviceSpec { ring: 40, ..plain.clone() };
    for spec in [plain, isolated, ring] {
        let mut world = World::new(spec);
        (0..10_000).for_each(|_| world.step());
        let before = allocations();
        assert!(before > 0, "the counter counts");
        (0..100_000).for_each(|_| world.step());
        assert_eq!(allocations() - before, 0);
    }
}
