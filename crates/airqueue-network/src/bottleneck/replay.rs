//! Packets that are known beforehand, through a device.

use super::{Bottleneck, Outcome};
use airqueue_core::{Packet, Time};

impl Bottleneck {
    /// Offers each packet when it was `created` and tells what became of it, and when, in the order in
    /// which it happens; then goes on until the device is empty, or stands still for good. `packets` are
    /// in the order of their times, none of which is before a deadline that has been met.
    pub fn replay(
        &mut self,
        packets: impl IntoIterator<Item = Packet>,
        mut tell: impl FnMut(Time, Outcome),
    ) {
        for packet in packets {
            while let Some(at) = self.next_deadline().filter(|&at| at <= packet.created) {
                self.on_deadline(at);
                self.tell_all(at, &mut tell);
            }
            self.enqueue(packet, packet.created);
            self.tell_all(packet.created, &mut tell);
        }
        while (self.waiting().0 > 0 || !self.in_service().is_empty())
            && let Some(at) = self.next_deadline()
        {
            self.on_deadline(at);
            self.tell_all(at, &mut tell);
        }
    }

    fn tell_all(&mut self, at: Time, tell: &mut impl FnMut(Time, Outcome)) {
        while let Some(outcome) = self.poll_outcome() {
            tell(at, outcome);
        }
    }
}
