//! The processors of stations that can send on only so many packets a second.
//!
//! Each packet takes the same time, whatever its size, before it enters the queue of its next hop, over the air or through a
//! wire. Packets wait for the processor first come, first served; those that find no room are dropped.

use super::engine::{Event, Network, OUTSIDE};
use super::hops::Hops;
use super::spec::{Hop, NetworkSpec};
use crate::event::EventQueue;
use crate::outcome::Outcome;
use crate::timer::Timer;
use airqueue_core::{DropReason, Dropped, Packet, Span, Time};
use airqueue_wifi::medium::StationId;
use std::collections::VecDeque;

/// All processors; empty where no station has one.
#[derive(Debug, Default)]
pub(super) struct Processors {
    all: Vec<Processor>,
    /// For each hop: the processor that its packets pass first.
    of_hops: Vec<Option<u32>>,
}

#[derive(Debug)]
struct Processor {
    station: StationId,
    each: Span,
    room: usize,
    /// Packets that wait or are in the processor, and when the processor is done with them.
    packets: VecDeque<(Time, Packet)>,
    free_at: Time,
    timer: Timer<Event>,
    /// Work since counting began; the work ahead is part of it.
    work: Span,
}

impl Processors {
    pub(super) fn new(spec: &NetworkSpec, hops: &Hops) -> Processors {
        let mut all = Vec::new();
        for (at, of) in spec.processors.iter().enumerate() {
            let Some(of) = of else { continue };
            all.push(Processor {
                station: StationId(at as u32),
                each: of.each,
                room: of.room,
                packets: VecDeque::with_capacity(of.room),
                free_at: Time::ZERO,
                timer: Timer::new(Event::Processed(all.len() as u32), OUTSIDE),
                work: Span::ZERO,
            });
        }
        if all.is_empty() {
            return Processors::default();
        }
        let of_station = |id: u32| all.iter().position(|of| of.station.0 == id).map(|at| at as u32);
        let mut of_hops = vec![None; hops.all.len()];
        for path in 0..hops.paths.len() {
            let source = hops.paths[path].hosts.source;
            for route in hops.routes(crate::PathId::at(path)) {
                // A wire says where its packets come from only by the hop before it.
                let mut node = Some(source);
                for &hop in route {
                    let (from, to) = match hops.all[hop.index()].over {
                        Hop::Air(at) => {
                            let of = &spec.wlan.hops[at.index()];
                            (Some(of.from.0), Some(of.to.0))
                        }
                        Hop::Wire(_) => (node, None),
                    };
                    of_hops[hop.index()] = from.and_then(of_station);
                    node = to;
                }
            }
        }
        Processors { all, of_hops }
    }

    /// The processor that a packet passes before its hop.
    #[inline]
    pub(super) fn of(&self, hops_number: usize) -> Option<u32> {
        self.of_hops.get(hops_number).copied().flatten()
    }

    /// The packets that wait for processors, or are in them.
    pub(super) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.all.iter().flat_map(|of| of.packets.iter().map(|(_, packet)| packet))
    }

    pub(super) fn start_counting(&mut self, now: Time) {
        for of in &mut self.all {
            of.work = (of.free_at - now).max(Span::ZERO);
        }
    }

    pub(super) fn busy(&self, station: StationId, now: Time) -> Option<Span> {
        let of = self.all.iter().find(|of| of.station == station)?;
        Some(of.work - (of.free_at - now).max(Span::ZERO))
    }
}

impl Processor {
    fn has_room(&self) -> bool {
        self.packets.len() < self.room
    }

    fn accept(&mut self, packet: Packet, queue: &mut EventQueue<Event>) {
        self.free_at = self.free_at.max(queue.now()).saturating_add(self.each);
        self.work = self.work + self.each;
        self.packets.push_back((self.free_at, packet));
        self.arm(queue);
    }

    fn arm(&mut self, queue: &mut EventQueue<Event>) {
        self.timer.set(self.packets.front().map(|&(at, _)| at), queue);
    }

    fn take_done(&mut self, now: Time) -> Option<Packet> {
        let &(at, packet) = self.packets.front()?;
        (at <= now).then(|| {
            self.packets.pop_front();
            packet
        })
    }
}

impl Network {
    /// A packet reaches the processor of the station that sends it on.
    #[inline(never)]
    pub(super) fn process(&mut self, at: u32, packet: Packet, queue: &mut EventQueue<Event>) {
        let processor = &mut self.processors.all[at as usize];
        if processor.has_room() {
            return processor.accept(packet, queue);
        }
        let hops = &mut self.wlan.upper.hops;
        hops.on_offered(&packet, queue.now());
        let reason = DropReason::Overrun;
        if hops.on_dropped(&Dropped { packet, reason }).sender_waits {
            self.wlan.upper.released.push(packet);
        }
        self.lose(packet, |packet| Outcome::Dropped(packet, reason));
    }

    /// A processor may be done with a packet.
    pub(super) fn on_processed(&mut self, at: u32, queue: &mut EventQueue<Event>) {
        while let Some(packet) = self.processors.all[at as usize].take_done(queue.now()) {
            self.enter_hop(packet, queue);
        }
        self.processors.all[at as usize].arm(queue);
    }
}
