//! Segments on their way into and out of the ends of TCP connections.

use super::connection::Direction;
use super::engine::{Event, Network};
use super::hops::Path;
use super::spec::Hop;
use super::store::Stored;
use super::upper::Upper;
use crate::ConnectionId;
use crate::event::EventQueue;
use crate::wlan::tap::SegmentSent;
use airqueue_core::{Ecn, Packet};

/// Packets that arrive at one instant, while they are handed over.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Connections whose receivers wait for its end, without repetition.
    pub(super) waiting: Vec<ConnectionId>,
    /// Packets since its beginning.
    packets: u32,
}

/// Most packets that a host takes from an interface before its applications read: `NAPI_POLL_WEIGHT` of Linux.
const MOST_IN_BATCH: u32 = 64;

impl Network {
    /// A packet of the batch is handed over next.
    #[inline]
    pub(super) fn count_in_batch(&mut self, queue: &mut EventQueue<Event>) {
        if self.batch.packets == MOST_IN_BATCH {
            self.end_batch(queue);
        }
        self.batch.packets += 1;
    }

    /// The packets of an instant have been handed over, or as many as a host takes at once.
    #[inline]
    pub(super) fn end_batch(&mut self, queue: &mut EventQueue<Event>) {
        self.batch.packets = 0;
        if !self.batch.waiting.is_empty() {
            self.end_batch_of_connections(queue);
        }
    }

    #[inline(never)]
    fn end_batch_of_connections(&mut self, queue: &mut EventQueue<Event>) {
        let mut waiting = std::mem::take(&mut self.batch.waiting);
        for id in waiting.drain(..) {
            self.connections[id.index()].end_batch(queue.now());
            self.pump(id, queue);
            self.report_rtt(id);
        }
        self.batch.waiting = waiting;
    }

    /// Hands a packet's segment to an end of a connection.
    #[inline(always)]
    pub(super) fn hand_over(
        &mut self,
        id: ConnectionId,
        direction: Direction,
        packet: &Packet,
        queue: &mut EventQueue<Event>,
    ) {
        let Stored { mut segment, connection } = self.store.take(packet.payload);
        if packet.ecn == Ecn::Ce {
            segment.ecn = Ecn::Ce;
        }
        let now = queue.now();
        let was_in_batch = self.connections[id.index()].in_batch();
        self.connections[id.index()].on_segment(direction, connection, &segment, now);
        if self.connections[id.index()].in_batch() && !was_in_batch {
            // The receiver has nothing to send before the next segment, or the end of the batch.
            self.batch.waiting.push(id);
            return;
        }
        self.pump(id, queue);
        if direction == Direction::Data {
            self.report_rtt(id);
        }
    }

    /// Sends what the ends of a connection have to send.
    pub(super) fn pump(&mut self, id: ConnectionId, queue: &mut EventQueue<Event>) {
        while let Some((direction, connection, segment)) =
            self.connections[id.index()].poll_transmit(queue.now())
        {
            self.send(id, direction, Stored { segment, connection }, queue);
        }
        let connection = &mut self.connections[id.index()];
        connection.arm(queue);
        if connection.fetched {
            self.on_fetched(id, queue);
        }
    }

    fn send(
        &mut self,
        id: ConnectionId,
        direction: Direction,
        stored: Stored,
        queue: &mut EventQueue<Event>,
    ) {
        let path = self.paths[id.index()][usize::from(direction == Direction::Acks)];
        let Stored { segment, connection } = stored;
        let payload = self.store.put(stored);
        let Upper { hops, sources, .. } = &mut self.wlan.upper;
        let Path { first, dscp, .. } = hops.paths[path.index()];
        let packet = sources.new_packet(first, segment.size_bytes(), queue.now());
        let packet = Packet { payload, ecn: segment.ecn, dscp, ..packet };
        self.wlan.report_segment(|| SegmentSent { packet, connection, segment });
        if self.wlan.upper.hops.state(&packet).sender_waits {
            self.connections[id.index()].on_to_station(packet.size);
        }
        self.enter(packet, queue);
    }

    /// Reports the round-trip time of a connection's receiver to the queue before the receiver.
    fn report_rtt(&mut self, id: ConnectionId) {
        let Some(rtt) = self.connections[id.index()].reported_rtt() else { return };
        let hops = &self.wlan.upper.hops;
        let last = hops.hops_of(self.paths[id.index()][0]).last().copied();
        if let Some(last) = last
            && let Hop::Air(_) = hops.all[last.index()].over
        {
            self.wlan.report_rtt(last, rtt);
        }
    }
}
