//! Matching of transmit stamps to packets.
//!
//! A stamp comes back through the error queue with a number. Since Linux 6.13 the number can be
//! given with the packet. Older kernels count the stamped packets of a socket themselves, but
//! disagree on whether a packet that was refused counts: there, a refusal stops stamping until
//! every earlier stamp has arrived or is lost, and the counter starts again.

use crate::mmsg::StampRequest;
use airqueue_core::{Span, Time};
use airqueue_probe::endpoint::Ticket;
use std::collections::VecDeque;

/// How long a stamp is awaited after its packet was sent.
const PATIENCE: Span = Span::from_secs(2);
/// Largest number of awaited stamps.
const OUTSTANDING: usize = 1024;
/// How far before the program's send time a stamp may lie and still be accepted.
const EARLY: Span = Span::from_micros(50);

/// An awaited stamp.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    id: u32,
    ticket: Ticket,
    sent: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Naming {
    /// Numbers go with the packets.
    Named,
    /// The kernel counts.
    Counted,
    /// The kernel counts, but the count is uncertain until this time.
    Uncertain(Time),
}

/// The transmit stamps of one socket.
#[derive(Debug)]
pub struct TransmitStamps {
    naming: Naming,
    next: u32,
    awaited: VecDeque<Awaited>,
}

impl Default for TransmitStamps {
    fn default() -> Self {
        TransmitStamps {
            naming: Naming::Named,
            next: 0,
            awaited: VecDeque::with_capacity(OUTSTANDING),
        }
    }
}

impl TransmitStamps {
    /// How the next packet asks for a stamp. `restart` must make the kernel count from 0 again and
    /// say whether it did.
    pub fn request(&mut self, now: Time, restart: impl FnOnce() -> bool) -> StampRequest {
        if let Naming::Uncertain(until) = self.naming {
            if now < until || !restart() {
                return StampRequest::None;
            }
            self.naming = Naming::Counted;
            self.next = 0;
        }
        while self.awaited.front().is_some_and(|a| now > a.sent + PATIENCE) {
            self.awaited.pop_front();
        }
        if self.awaited.len() >= OUTSTANDING {
            return StampRequest::None;
        }
        let id = self.next;
        self.next = self.next.wrapping_add(1);
        match self.naming {
            Naming::Named => StampRequest::Named(id),
            _ => StampRequest::Counted(id),
        }
    }

    /// A packet that asked for a stamp was sent.
    pub fn sent(&mut self, request: StampRequest, ticket: Ticket, at: Time) {
        let expected = !matches!(self.naming, Naming::Uncertain(_));
        if let Some(id) = request.id().filter(|_| expected && self.awaited.len() < OUTSTANDING) {
            self.awaited.push_back(Awaited { id, ticket, sent: at });
        }
    }

    /// A packet that asked for a stamp was refused.
    pub fn refused(&mut self, request: StampRequest, now: Time) {
        if matches!(request, StampRequest::Counted(_)) {
            self.lose_count(now);
        }
    }

    /// The kernel does not take numbers with packets.
    pub fn not_named(&mut self, now: Time) {
        if self.naming == Naming::Named {
            self.lose_count(now - PATIENCE);
        }
    }

    fn lose_count(&mut self, now: Time) {
        self.naming = Naming::Uncertain(now + PATIENCE);
        self.awaited.clear();
    }

    /// The packet of a stamp, if the stamp is awaited and `at` is plausible.
    pub fn claim(&mut self, id: u32, at: Time) -> Option<Ticket> {
        let i = self.awaited.iter().position(|a| a.id == id)?;
        let a = self.awaited.remove(i)?;
        (at + EARLY >= a.sent && at <= a.sent + PATIENCE).then_some(a.ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(seq: u32) -> Ticket {
        Ticket { session: 1, run: 1, seq, timestamp: true }
    }

    fn ms(ms: i64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_stamp_finds_its_packet_once() {
        let mut s = TransmitStamps::default();
        for seq in 0..3 {
            let r = s.request(ms(10), || true);
            s.sent(r, ticket(seq * 100), ms(10));
        }
        assert_eq!(s.claim(1, ms(11)), Some(ticket(100)));
        assert_eq!(s.claim(1, ms(11)), None);
        assert_eq!(s.claim(2, ms(9)), None, "a stamp from before the packet was sent");
        assert_eq!(s.claim(7, ms(11)), None);
    }

    #[test]
    fn a_refusal_of_a_counting_kernel_silences_stamps_for_a_while() {
        let mut s = TransmitStamps::default();
        s.not_named(ms(0));
        let r = s.request(ms(10), || true);
        assert_eq!(r, StampRequest::Counted(0));
        s.sent(r, ticket(0), ms(10));
        let r = s.request(ms(11), || true);
        s.refused(r, ms(11));
        assert_eq!(s.claim(0, ms(12)), None, "the count is uncertain");
        assert_eq!(s.request(ms(500), || true), StampRequest::None);
        assert_eq!(s.request(ms(2_500), || true), StampRequest::Counted(0));
    }

    #[test]
    fn stamps_that_never_come_are_forgotten() {
        let mut s = TransmitStamps::default();
        for seq in 0..2 * OUTSTANDING as u32 {
            let r = s.request(ms(0), || true);
            if r != StampRequest::None {
                s.sent(r, ticket(seq), ms(0));
            }
        }
        assert_eq!(s.awaited.len(), OUTSTANDING);
        assert_ne!(s.request(ms(3_000), || true), StampRequest::None);
        assert!(s.awaited.is_empty());
    }
}
