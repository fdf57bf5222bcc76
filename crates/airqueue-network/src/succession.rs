//! A queue, and the queues that it has replaced as long as packets wait there.

use airqueue_core::{BoxedQueue, LinkFeedback, Packet, QueueDisc, Sent, Time};

/// Arrivals go to the present queue. Packets in a queue that was replaced leave first, by the discipline of their queue.
pub(crate) struct Succession {
    /// Takes arrivals.
    pub(crate) present: BoxedQueue,
    /// When the present queue became the present queue.
    since: Time,
    /// The queues before, the oldest first, each with the same time.
    former: Vec<(BoxedQueue, Time)>,
}

impl Succession {
    pub(crate) fn new(queue: BoxedQueue) -> Succession {
        Succession { present: queue, since: Time::ZERO, former: Vec::new() }
    }

    /// Another queue takes arrivals from `now` on.
    pub(crate) fn replace(&mut self, queue: BoxedQueue, now: Time) {
        let before = std::mem::replace(&mut self.present, queue);
        if before.len_packets() > 0 {
            self.former.push((before, self.since));
        }
        self.since = now;
    }

    /// The queue whose packets leave next.
    #[inline(always)]
    pub(crate) fn serving(&mut self) -> &mut BoxedQueue {
        if self.former.is_empty() { &mut self.present } else { self.serving_former() }
    }

    #[cold]
    fn serving_former(&mut self) -> &mut BoxedQueue {
        let empty = self.former.iter().take_while(|(queue, _)| queue.len_packets() == 0).count();
        self.former.drain(..empty);
        match self.former.first_mut() {
            Some((queue, _)) => queue,
            None => &mut self.present,
        }
    }

    /// Reports a packet to the queue in which the packet has waited, unless this queue is gone.
    pub(crate) fn on_sent(&mut self, sent: &Sent, now: Time) {
        if let Some(queue) = self.of_packet(&sent.packet) {
            queue.on_sent(sent, now);
        }
    }

    /// The queue in which a packet has waited, unless this queue is gone.
    pub(crate) fn of_packet(&mut self, packet: &Packet) -> Option<&mut BoxedQueue> {
        if packet.enqueued >= self.since {
            return Some(&mut self.present);
        }
        let mut of = self.former.iter_mut().rev();
        of.find(|(_, since)| packet.enqueued >= *since).map(|(queue, _)| queue)
    }

    /// When a discipline that holds packets back wants to be polled again.
    pub(crate) fn next_wakeup(&self, now: Time) -> Option<Time> {
        let former = self.former.iter().find(|(queue, _)| queue.len_packets() > 0);
        former.map_or(&self.present, |(queue, _)| queue).next_wakeup(now)
    }

    /// Packets that wait in all of these queues.
    #[inline]
    pub(crate) fn packets(&self) -> u64 {
        if self.former.is_empty() { self.present.len_packets() as u64 } else { self.waiting().0 }
    }

    /// Packets and bytes that wait in all of these queues.
    pub(crate) fn waiting(&self) -> (u64, u64) {
        let queues = self.former.iter().map(|(queue, _)| queue);
        queues.chain([&self.present]).fold((0, 0), |(packets, bytes), queue| {
            (packets + queue.len_packets() as u64, bytes + queue.len_bytes())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airqueue_core::{Drops, FlowKey, Limit, Packet, Seed};
    use airqueue_qdisc::QueueSpec;

    fn queue(limit: u32) -> BoxedQueue {
        QueueSpec::new(Limit::Packets(limit)).make(Seed(1).stream(""))
    }

    #[test]
    fn packets_leave_their_own_queue_before_later_ones() {
        let at = Time::from_nanos;
        let mut drops = Drops::new();
        let mut queues = Succession::new(queue(10));
        let mut id = 0..;
        let mut add = |queues: &mut Succession, now| {
            let packet = Packet::new(id.next().unwrap(), FlowKey(0), 100, now);
            queues.present.enqueue(packet, now, &mut drops);
        };
        add(&mut queues, at(0));
        add(&mut queues, at(1));
        queues.replace(queue(1), at(2));
        add(&mut queues, at(2));
        queues.replace(queue(10), at(3));
        // Nothing waits there: the queue is not kept.
        queues.replace(queue(10), at(4));
        add(&mut queues, at(5));
        assert_eq!(queues.waiting(), (4, 400));
        let mut left = Vec::new();
        let mut drops = Drops::new();
        while let Some(packet) = queues.serving().dequeue(at(9), &mut drops) {
            left.push((packet.id, packet.enqueued));
        }
        assert_eq!(left, [(0, at(0)), (1, at(1)), (2, at(2)), (3, at(5))]);
        assert_eq!(queues.waiting(), (0, 0));
        assert!(queues.former.is_empty());
    }
}
