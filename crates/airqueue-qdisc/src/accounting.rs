//! Books on a queue: every packet that was offered is dropped, delivered or still there.

use airqueue_core::{Drops, Limit, Packet, QueueDisc, Sent, Span, Time};

/// A number of packets and their IP bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets.
    pub packets: u64,
    /// IP bytes.
    pub bytes: u64,
}

/// What happened to the packets that a queue was offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Handed to `enqueue`.
    pub offered: Tally,
    /// Named as drops, on arrival or later.
    pub dropped: Tally,
    /// Returned by `dequeue`.
    pub delivered: Tally,
    /// Packets marked by the discipline, whatever became of them then.
    pub marked: u64,
    /// Sum of the sojourn times of the delivered packets.
    pub sojourn: Span,
}

/// Keeps an [`Account`] of the discipline within.
#[derive(Clone, Debug)]
pub struct Accounted<Q> {
    inner: Q,
    account: Account,
}

/// What a collection held before a call.
struct Before {
    drops: usize,
    marks: u64,
}

impl Before {
    fn of(drops: &Drops) -> Before {
        Before { drops: drops.as_slice().len(), marks: drops.marks() }
    }
}

impl Tally {
    /// Counts one packet more.
    pub fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += u64::from(packet.size);
    }

    /// Adds what was counted elsewhere.
    pub fn merge(&mut self, other: &Tally) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

impl Account {
    /// What must still be in the queue: offered less dropped less delivered.
    pub fn queued(&self) -> Tally {
        Tally {
            packets: self.offered.packets - self.dropped.packets - self.delivered.packets,
            bytes: self.offered.bytes - self.dropped.bytes - self.delivered.bytes,
        }
    }
}

impl Account {
    /// Enters the drops and marks that were added to `drops` since `before`.
    fn enter(&mut self, before: Before, drops: &Drops) {
        for drop in &drops.as_slice()[before.drops..] {
            self.dropped.add(&drop.packet);
        }
        self.marked += drops.marks() - before.marks;
    }

    /// The same, and a packet that leaves.
    fn leave(&mut self, packet: Option<&Packet>, before: Before, now: Time, drops: &Drops) {
        self.enter(before, drops);
        if let Some(packet) = packet {
            self.delivered.add(packet);
            self.sojourn = self.sojourn + (now - packet.enqueued);
        }
    }
}

impl<Q: QueueDisc> Accounted<Q> {
    /// Opens the books on an empty queue.
    pub fn new(inner: Q) -> Accounted<Q> {
        Accounted { inner, account: Account::default() }
    }

    /// The books so far.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// The discipline within.
    pub fn inner(&self) -> &Q {
        &self.inner
    }
}

impl<Q: QueueDisc> QueueDisc for Accounted<Q> {
    fn enqueue(&mut self, packet: Packet, now: Time, drops: &mut Drops) {
        let before = Before::of(drops);
        self.account.offered.add(&packet);
        self.inner.enqueue(packet, now, drops);
        self.account.enter(before, drops);
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Packet> {
        let before = Before::of(drops);
        let packet = self.inner.dequeue(now, drops);
        self.account.leave(packet.as_ref(), before, now, drops);
        packet
    }

    fn dequeue_along(&mut self, hop: u16, now: Time, drops: &mut Drops) -> Option<Packet> {
        let before = Before::of(drops);
        let packet = self.inner.dequeue_along(hop, now, drops);
        self.account.leave(packet.as_ref(), before, now, drops);
        packet
    }

    fn next_hop_beside(&mut self, hops: &[u16], now: Time, drops: &mut Drops) -> Option<u16> {
        let before = Before::of(drops);
        let hop = self.inner.next_hop_beside(hops, now, drops);
        self.account.enter(before, drops);
        hop
    }

    fn peek_along(&mut self, hop: u16, now: Time, drops: &mut Drops) -> Option<&Packet> {
        let before = Before::of(drops);
        let packet = self.inner.peek_along(hop, now, drops);
        self.account.enter(before, drops);
        packet
    }

    fn peek(&mut self, now: Time, drops: &mut Drops) -> Option<&Packet> {
        let before = Before::of(drops);
        let packet = self.inner.peek(now, drops);
        self.account.enter(before, drops);
        packet
    }

    fn len_packets(&self) -> usize {
        self.inner.len_packets()
    }

    fn len_bytes(&self) -> u64 {
        self.inner.len_bytes()
    }

    fn next_wakeup(&self, now: Time) -> Option<Time> {
        self.inner.next_wakeup(now)
    }

    fn on_sent(&mut self, sent: &Sent, now: Time) {
        self.inner.on_sent(sent, now);
    }

    fn set_limit(&mut self, limit: Limit) {
        self.inner.set_limit(limit);
    }

    fn set_limit_of(&mut self, flow: u32, hop: u16, limit: Limit) -> bool {
        self.inner.set_limit_of(flow, hop, limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds up the airtime that it is told of.
    #[derive(Default)]
    struct Told(Span);

    impl QueueDisc for Told {
        fn enqueue(&mut self, packet: Packet, _now: Time, drops: &mut Drops) {
            drops.push(packet, airqueue_core::DropReason::Tail);
        }

        fn dequeue(&mut self, _now: Time, _drops: &mut Drops) -> Option<Packet> {
            None
        }

        fn peek(&mut self, _now: Time, _drops: &mut Drops) -> Option<&Packet> {
            None
        }

        fn len_packets(&self) -> usize {
            0
        }

        fn len_bytes(&self) -> u64 {
            0
        }

        fn on_sent(&mut self, sent: &Sent, _now: Time) {
            self.0 = self.0 + sent.airtime;
        }

        fn set_limit(&mut self, _limit: Limit) {}
    }

    #[test]
    fn what_became_of_a_packet_reaches_the_discipline_within() {
        let packet = Packet::new(0, 7, 100, Time::ZERO);
        let airtime = Span::from_micros(3);
        let sent = Sent { packet, acknowledged: true, airtime, feedback: None };
        let mut queue = Accounted::new(Box::new(Told::default()));
        queue.on_sent(&sent, Time::ZERO);
        assert_eq!(queue.inner().0, airtime);
    }
}
