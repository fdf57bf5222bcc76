//! What is known of the probes of one target.

use super::{LATEST, MOST_PROBES};
use crate::records::MISSING;
use airqueue_core::{Span, Time};
use std::net::IpAddr;

/// Messages that answered no probe, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    /// Not of the method's protocol, or cut off.
    pub malformed: u64,
    /// From another address, or not about a probe that was sent.
    pub foreign: u64,
    /// About a probe that had been answered.
    pub duplicate: u64,
    /// More than ten seconds after the probe, or before it.
    pub late: u64,
    /// ICMP errors about a probe that are not the method's answer, such as "host unreachable".
    pub unreachable: u64,
    /// Answers that could be to several probes.
    pub ambiguous: u64,
}

/// The probes of a target, a row for each that left, in the order of sending.
#[derive(Clone, Debug, Default)]
pub struct Series {
    sent_ns: Vec<i64>,
    received_ns: Vec<i64>,
    answered: u64,
    last: Option<Span>,
    /// Who answered last.
    pub answered_by: Option<IpAddr>,
    /// Whether the host itself has answered. With a hop limit that is news: the host is no farther than that.
    pub from_host: bool,
    /// Answers whose time is the program's, because the kernel gave none.
    pub timed_by_program: u64,
    /// Messages that answered nothing.
    pub ignored: Ignored,
}

impl Series {
    /// When each probe was sent.
    pub fn sent_ns(&self) -> &[i64] {
        &self.sent_ns
    }

    /// When the answer to each probe arrived; [`MISSING`] if there is none so far.
    pub fn received_ns(&self) -> &[i64] {
        &self.received_ns
    }

    /// Both columns: when each probe was sent, and when its answer arrived.
    pub fn into_columns(self) -> (Vec<i64>, Vec<i64>) {
        (self.sent_ns, self.received_ns)
    }

    /// The number of the next probe.
    pub fn next_index(&self) -> u32 {
        self.sent_ns.len() as u32
    }

    /// Whether no further probe is kept.
    pub fn is_full(&self) -> bool {
        self.sent_ns.len() >= MOST_PROBES
    }

    /// Number of probes with an answer.
    pub fn answered(&self) -> u64 {
        self.answered
    }

    /// The round trip of the answer that came last.
    pub fn last_round_trip(&self) -> Option<Span> {
        self.last
    }

    /// The next probe was sent.
    pub fn on_sent(&mut self, at: Time) {
        if !self.is_full() {
            self.sent_ns.push(at.as_nanos());
            self.received_ns.push(MISSING);
        }
    }

    /// A probe was answered; false if the answer does not count.
    pub fn on_answer(&mut self, index: u32, at: Time, by: IpAddr) -> bool {
        let row = index as usize;
        let Some(&sent) = self.sent_ns.get(row) else {
            self.ignored.foreign += 1;
            return false;
        };
        let round_trip = at - Time::from_nanos(sent);
        if self.received_ns[row] != MISSING {
            self.ignored.duplicate += 1;
            return false;
        }
        if round_trip < Span::ZERO || round_trip > LATEST {
            self.ignored.late += 1;
            return false;
        }
        self.received_ns[row] = at.as_nanos();
        self.answered += 1;
        self.last = Some(round_trip);
        self.answered_by = Some(by);
        true
    }

    /// The probe among those of the last ten seconds without an answer that fits, if only one does.
    pub fn only_unanswered(&self, now: Time, fits: impl Fn(u32) -> bool) -> Option<u32> {
        let rows = self.sent_ns.iter().zip(&self.received_ns).enumerate().rev();
        let recent = rows.take_while(|(_, (sent, _))| now - Time::from_nanos(**sent) <= LATEST);
        let mut fitting = recent
            .filter(|(row, (_, received))| **received == MISSING && fits(*row as u32))
            .map(|(row, _)| row as u32);
        let only = fitting.next()?;
        fitting.next().is_none().then_some(only)
    }
}
