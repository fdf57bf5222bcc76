//! Messages of several packets, such as a picture or the answer to a request: complete when all packets have arrived.

use crate::counters::Timings;
use airqueue_core::{Span, Time};
use std::collections::VecDeque;

/// The messages of a flow that are under way, and the counts of those that are not.
#[derive(Clone, Debug)]
pub(super) struct Assembly {
    /// The messages under way, by successive numbers.
    open: VecDeque<Open>,
    /// Number of the first of them.
    first: u32,
    deadline: Span,
    counters: MessageCounters,
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
struct Open {
    since: Time,
    /// Number of packets that have not arrived.
    missing: u32,
    lost: bool,
}

/// What became of messages since counting began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageCounters {
    /// Messages sent: the first packet was.
    pub sent: u64,
    /// Times from the beginning of complete messages to the arrival of the last packet.
    pub complete: Timings,
    /// Complete messages that took longer than the deadline.
    pub late: u64,
    /// Messages of which a packet was lost.
    pub lost: u64,
}

impl Assembly {
    pub(super) fn new(deadline: Span) -> Assembly {
        let counters = MessageCounters::default();
        Assembly { open: VecDeque::new(), first: 0, deadline, counters }
    }

    pub(super) fn counters(&self) -> &MessageCounters {
        &self.counters
    }

    pub(super) fn start_counting(&mut self) {
        self.counters = MessageCounters::default();
    }

    /// A packet of a message is sent. Messages are sent in the order of their numbers.
    pub(super) fn on_sent(&mut self, number: u32, packets: u32, now: Time) {
        if number.wrapping_sub(self.first) as usize == self.open.len() {
            self.open.push_back(Open { since: now, missing: packets, lost: false });
            self.counters.sent += 1;
        }
    }

    /// A packet has arrived.
    pub(super) fn on_arrived(&mut self, number: u32, now: Time) {
        let Some(open) = self.open.get_mut(number.wrapping_sub(self.first) as usize) else {
            return;
        };
        open.missing = open.missing.saturating_sub(1);
        if open.missing == 0 && !open.lost {
            let took = now - open.since;
            self.counters.complete.add(took);
            self.counters.late += u64::from(took > self.deadline);
        }
        self.forget();
    }

    /// A packet has been lost.
    pub(super) fn on_lost(&mut self, number: u32) {
        let Some(open) = self.open.get_mut(number.wrapping_sub(self.first) as usize) else {
            return;
        };
        open.missing = open.missing.saturating_sub(1);
        self.counters.lost += u64::from(!open.lost);
        open.lost = true;
        self.forget();
    }

    /// A whole message has been lost before its packets were sent.
    pub(super) fn on_all_lost(&mut self, number: u32) {
        let Some(open) = self.open.get_mut(number.wrapping_sub(self.first) as usize) else {
            return;
        };
        open.missing = 0;
        self.counters.lost += u64::from(!open.lost);
        open.lost = true;
        self.forget();
    }

    /// Forgets messages that are over, in order.
    fn forget(&mut self) {
        while self.open.front().is_some_and(|open| open.missing == 0) {
            self.open.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_message_is_complete_with_its_last_packet() {
        let mut messages = Assembly::new(Span::from_millis(10));
        for (number, packets) in [(0, 2), (0, 2), (1, 1), (2, 2)] {
            messages.on_sent(number, packets, at(i64::from(number)));
        }
        messages.on_arrived(1, at(3));
        messages.on_arrived(0, at(4));
        messages.on_arrived(0, at(11));
        // The second packet of the third message alone.
        messages.on_lost(2);
        messages.on_arrived(2, at(30));
        let MessageCounters { sent, complete, late, lost } = messages.counters();
        assert_eq!((*sent, complete.took.count, *late, *lost), (3, 2, 1, 1));
        assert_eq!(complete.took.greatest, Span::from_millis(11));
        assert!(messages.open.is_empty());
        messages.on_sent(3, 1, at(40));
        messages.on_all_lost(3);
        messages.on_arrived(3, at(41));
        assert_eq!((messages.counters().sent, messages.counters().lost), (4, 2));
    }
}
