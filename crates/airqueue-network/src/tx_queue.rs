//! The waiting stages of a device: the queue discipline, and the driver ring behind the discipline if there is one.

use crate::succession::Succession;
use airqueue_core::{
    BoxedQueue, ByNeighbour, Device, Drops, FlowKey, Hosts, Limit, LinkFeedback, NeighbourFacts,
    NeighbourId, Packet, QueueDisc, Sent, Span, TcpHeader, Time,
};
use std::collections::VecDeque;
use std::fmt;

/// How a device counts a packet's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Framing {
    /// Link-layer bytes added to each IP packet.
    pub link_layer: u32,
    /// Minimum packet unit: the rate is charged at least this many bytes for a packet.
    pub mpu: u32,
}

impl Framing {
    /// Bytes that a byte limit counts.
    pub fn bytes(&self, packet: &Packet) -> u64 {
        u64::from(packet.size) + u64::from(self.link_layer)
    }

    /// Bytes charged to the rate.
    pub fn charged(&self, packet: &Packet) -> u32 {
        packet.size.saturating_add(self.link_layer).max(self.mpu)
    }
}

/// The waiting stages of a device. The ring pulls packets out of the queue as soon as the ring has room, as Linux
/// drivers do, and the Host AP of the APQ paper's Fig. 5. A queue of N before a ring of R therefore holds N + R.
pub struct TxQueue {
    queue: Succession,
    ring: VecDeque<Packet>,
    ring_limit: usize,
    ring_bytes: u64,
    framing: Framing,
    /// What is known of each neighbour, for queues that replace the present one.
    neighbours: Vec<NeighbourFacts>,
    /// The neighbours that sleep.
    asleep: Vec<NeighbourId>,
    /// What is known of the device, for queues that replace the present one.
    device: Option<Box<Device>>,
    drops: Drops,
    /// Whether the queue, or one that it has replaced, reads reports.
    reads_reports: bool,
}

impl fmt::Debug for TxQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stages")
            .field("queued", &self.queue.waiting().0)
            .field("ring", &self.ring.len())
            .finish_non_exhaustive()
    }
}

impl TxQueue {
    /// Empty waiting stages.
    pub fn new(queue: BoxedQueue, ring_limit: usize, framing: Framing) -> TxQueue {
        TxQueue {
            reads_reports: queue.reads_reports(),
            queue: Succession::new(queue),
            ring: VecDeque::with_capacity(ring_limit),
            ring_limit,
            ring_bytes: 0,
            framing,
            neighbours: Vec::new(),
            asleep: Vec::new(),
            device: None,
            drops: Drops::new(),
        }
    }

    /// A packet arrives.
    #[inline]
    pub fn enqueue(&mut self, packet: Packet, now: Time) {
        self.queue.present.enqueue(packet, now, &mut self.drops);
        self.refill_ring(now);
    }

    /// Dequeues the next packet for the server.
    pub fn take(&mut self, now: Time) -> Option<Packet> {
        if self.has_no_ring() {
            return self.queue.serving().dequeue(now, &mut self.drops);
        }
        self.refill_ring(now);
        let packet = self.ring.pop_front()?;
        self.ring_bytes -= self.framing.bytes(&packet);
        self.refill_ring(now);
        Some(packet)
    }

    /// The packet that `take` would return next.
    pub fn peek(&mut self, now: Time) -> Option<&Packet> {
        if self.has_no_ring() {
            return self.queue.serving().peek(now, &mut self.drops);
        }
        self.refill_ring(now);
        self.ring.front()
    }

    /// The packet that `take_for_neighbour` would return next.
    pub fn peek_for_neighbour(&mut self, neighbour: NeighbourId, now: Time) -> Option<&Packet> {
        if self.has_no_ring() {
            return self.queue.serving().peek_for_neighbour(neighbour, now, &mut self.drops);
        }
        self.refill_ring(now);
        self.ring.iter().find(|packet| packet.neighbour == neighbour)
    }

    /// The neighbour of a waiting packet that is for none of `neighbours`, if the stages find such a packet.
    pub fn other_neighbour(
        &mut self,
        neighbours: &[NeighbourId],
        now: Time,
    ) -> Option<NeighbourId> {
        if self.has_no_ring() {
            return self.queue.serving().other_neighbour(neighbours, now, &mut self.drops);
        }
        self.refill_ring(now);
        self.ring
            .iter()
            .map(|packet| packet.neighbour)
            .find(|neighbour| !neighbours.contains(neighbour))
    }

    /// Dequeues the next packet for a neighbour, out of turn, to join an A-MPDU. The ring, if there is one, is searched
    /// for the packet; otherwise the queue discipline decides.
    pub fn take_for_neighbour(&mut self, neighbour: NeighbourId, now: Time) -> Option<Packet> {
        if self.has_no_ring() {
            return self.queue.serving().dequeue_for_neighbour(neighbour, now, &mut self.drops);
        }
        self.refill_ring(now);
        let place = self.ring.iter().position(|packet| packet.neighbour == neighbour)?;
        let packet = self.ring.remove(place)?;
        self.ring_bytes -= self.framing.bytes(&packet);
        self.refill_ring(now);
        Some(packet)
    }

    /// Dequeues the next packet for a neighbour if the packet is admitted; otherwise the packet stays, as after
    /// [`Self::peek_for_neighbour`].
    #[inline(always)]
    pub fn take_admitted(
        &mut self,
        neighbour: NeighbourId,
        now: Time,
        admits: &mut dyn FnMut(&Packet) -> bool,
    ) -> Option<Packet> {
        if self.has_no_ring() {
            return self.queue.serving().dequeue_admitted(neighbour, now, &mut self.drops, admits);
        }
        self.peek_for_neighbour(neighbour, now).filter(|packet| admits(packet))?;
        self.take_for_neighbour(neighbour, now)
    }

    /// Replaces the queue and the limit of the ring. Packets that wait in the queue stay there, and leave before later
    /// packets: also those for neighbours that sleep, which would hold up all later ones. The hosts of flows are not known to
    /// the new queue.
    pub fn replace(&mut self, mut queue: BoxedQueue, ring_limit: usize, now: Time) {
        for (id, &facts) in (0..).map(NeighbourId).zip(&self.neighbours) {
            queue.set_neighbour(id, facts);
        }
        if let Some(device) = &self.device {
            queue.set_device(device);
        }
        self.reads_reports |= queue.reads_reports();
        for &id in &self.asleep {
            self.queue.present.set_asleep(id, false);
            queue.set_asleep(id, true);
        }
        self.queue.replace(queue, now);
        self.ring_limit = ring_limit;
        self.refill_ring(now);
    }

    /// Whether packets leave the queue itself. A ring that was taken away may have packets still.
    #[inline(always)]
    fn has_no_ring(&self) -> bool {
        self.ring_limit == 0 && self.ring.is_empty()
    }

    #[inline(always)]
    fn refill_ring(&mut self, now: Time) {
        while self.ring.len() < self.ring_limit
            && let Some(packet) = self.queue.serving().dequeue(now, &mut self.drops)
        {
            self.ring_bytes += self.framing.bytes(&packet);
            self.ring.push_back(packet);
        }
    }

    /// The server has finished a packet that `take` returned.
    pub fn on_sent(&mut self, sent: &Sent, now: Time) {
        self.queue.on_sent(sent, now);
    }

    /// Whether anything reads these reports.
    #[inline]
    pub fn reads_reports(&self) -> bool {
        self.reads_reports
    }

    /// The server keeps a packet that `take` returned for a receiver that sleeps.
    pub fn on_put_aside(&mut self, packet: &Packet) {
        if let Some(queue) = self.queue.of_packet(packet) {
            queue.on_put_aside(packet);
        }
    }

    /// The server takes such a packet up again.
    pub fn on_taken_up(&mut self, packet: &Packet) {
        if let Some(queue) = self.queue.of_packet(packet) {
            queue.on_taken_up(packet);
        }
    }

    /// A neighbour falls asleep, or wakes up.
    pub fn set_asleep(&mut self, neighbour: NeighbourId, asleep: bool) {
        self.asleep.retain(|&other| other != neighbour);
        if asleep {
            self.asleep.push(neighbour);
        }
        self.queue.present.set_asleep(neighbour, asleep);
    }

    /// Number of packets that the queue holds back for a neighbour that sleeps.
    pub fn held_for(&self, neighbour: NeighbourId) -> usize {
        self.queue.present.held_for(neighbour)
    }

    /// Adds a neighbour, with the next number, for the queue and those that replace it.
    pub fn add_neighbour(&mut self, facts: NeighbourFacts) {
        let id = NeighbourId(self.neighbours.len() as u16);
        self.neighbours.push(facts);
        self.queue.present.set_neighbour(id, facts);
    }

    /// Says what is known of the device, for the queue and those that replace it.
    pub fn set_device(&mut self, device: Device) {
        self.queue.present.set_device(&device);
        self.device = Some(Box::new(device));
    }

    /// The expected airtime of each neighbour's packets in the device, where the queue limits it.
    pub fn expected_airtimes(&self) -> impl Iterator<Item = Span> {
        let ids = (0..self.neighbours.len() as u16).map(NeighbourId);
        ids.map(|id| self.queue.present.expected_airtime(id))
    }

    /// Sets the ends of a flow, for the queue.
    pub fn set_flow_hosts(&mut self, flow: FlowKey, hosts: Hosts) {
        self.queue.present.set_flow_hosts(flow, hosts);
    }

    /// Whether the queue reads TCP headers.
    pub fn reads_tcp_headers(&self) -> bool {
        self.queue.present.reads_tcp_headers()
    }

    /// Sets the TCP header of the packet with this id, which is the next packet that arrives.
    pub fn set_tcp_header(&mut self, packet: u64, header: &TcpHeader) {
        self.queue.present.set_tcp_header(packet, header);
    }

    /// When a discipline that holds packets back wants to be polled again.
    pub fn next_wakeup(&self, now: Time) -> Option<Time> {
        self.queue.next_wakeup(now)
    }

    /// Changes the limit of the queue. The ring keeps its own limit.
    pub fn set_limit(&mut self, limit: Limit) {
        self.queue.present.set_limit(limit);
    }

    /// Changes the limit of the queue in which packets of this flow for this neighbour wait; false if they share a
    /// queue ([`LinkFeedback::set_limit_of`]).
    pub fn set_limit_of(&mut self, flow: FlowKey, neighbour: NeighbourId, limit: Limit) -> bool {
        self.queue.present.set_limit_of(flow, neighbour, limit)
    }

    /// Packets waiting in both stages.
    pub fn packets(&self) -> u64 {
        self.queue.packets() + self.ring.len() as u64
    }

    /// Packets and bytes (link layer included) waiting in both stages.
    pub fn waiting(&self) -> (u64, u64) {
        let (packets, bytes) = self.queue.waiting();
        (packets + self.ring.len() as u64, bytes + self.ring_bytes)
    }

    /// The drops of the queue discipline; the caller empties the list.
    pub fn drops(&mut self) -> &mut Drops {
        &mut self.drops
    }

    /// Packets that the queue discipline has marked since time zero.
    pub fn marks(&self) -> u64 {
        self.drops.marks()
    }
}
