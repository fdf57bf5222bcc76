//! Replays packets that are known in advance through a device.

use super::{Bottleneck, Outcome};
use airqueue_core::{Packet, Time};

impl Bottleneck {
    /// Offers each packet at its `created` time and reports each outcome with its time, in order; then continues until
    /// the device is empty, or stalls for good. `packets` are sorted by time; none is earlier than a deadline that has
    /// been handled.
    pub fn replay(
        &mut self,
        packets: impl IntoIterator<Item = Packet>,
        mut report: impl FnMut(Time, Outcome),
    ) {
        for packet in packets {
            while let Some(at) = self.next_deadline().filter(|&at| at <= packet.created) {
                self.on_deadline(at);
                self.report_all(at, &mut report);
            }
            self.enqueue(packet, packet.created);
            self.report_all(packet.created, &mut report);
        }
        while (self.waiting().0 > 0 || !self.in_service().is_empty())
            && let Some(at) = self.next_deadline()
        {
            self.on_deadline(at);
            self.report_all(at, &mut report);
        }
    }

    fn report_all(&mut self, at: Time, report: &mut impl FnMut(Time, Outcome)) {
        while let Some(outcome) = self.poll_outcome() {
            report(at, outcome);
        }
    }
}
