//! Selective acknowledgements beyond a hole, several of which Linux sends as one (`__tcp_ack_snd_check` of 6.1,
//! `tcp_compressed_ack_kick`).

use airqueue_core::{Span, Time};

/// Acknowledgements beyond one hole that are sent at once: `TCP_FASTRETRANS_THRESH`, by which a sender without SACK knows of the
/// loss.
const AT_ONCE: u32 = 3;
/// Most acknowledgements in one: `tcp_comp_sack_nr`.
const MOST: u32 = 44;
/// The longest wait, and this part of a round trip if that is shorter: `tcp_comp_sack_delay_ns`, and 5 %. The kernel's timer may be
/// a tenth of a millisecond later (`tcp_comp_sack_slack_ns`), but expires with any other timer of that time.
const LONGEST: Span = Span::from_millis(1);
const ROUND_TRIP_PARTS: i64 = 20;

/// The acknowledgements that wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compressed {
    /// The octet at which the hole begins, and how many acknowledgements were sent at once for it.
    hole: u64,
    sent: u32,
    waiting: u32,
    /// When they are sent.
    deadline: Time,
}

impl Default for Compressed {
    fn default() -> Compressed {
        Compressed { hole: 0, sent: 0, waiting: 0, deadline: Time::MAX }
    }
}

impl Compressed {
    /// Whether an acknowledgement is sent now, with a hole at `next`; otherwise it waits with others. `rtt`: the round-trip time,
    /// if it is known.
    pub(super) fn goes(&mut self, next: u64, rtt: Option<Span>, now: Time) -> bool {
        if self.hole != next {
            (self.hole, self.sent) = (next, 0);
        }
        if self.waiting >= MOST {
            return true;
        }
        if self.sent < AT_ONCE {
            self.sent += 1;
            return true;
        }
        self.waiting += 1;
        if self.deadline == Time::MAX {
            let part =
                rtt.map_or(LONGEST, |rtt| Span::from_nanos(rtt.as_nanos() / ROUND_TRIP_PARTS));
            self.deadline = now + part.min(LONGEST);
        }
        false
    }

    /// An acknowledgement is sent, which says what all that wait would have said.
    pub(super) fn on_sent(&mut self) {
        (self.waiting, self.deadline) = (0, Time::MAX);
    }

    /// When those that wait are sent; [`Time::MAX`]: none waits.
    pub(super) fn deadline(&self) -> Time {
        self.deadline
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: i64) -> Time {
        Time::ZERO + Span::from_micros(us)
    }

    #[test]
    fn three_of_a_hole_go_at_once_and_others_together() {
        let mut acks = Compressed::default();
        let rtt = Some(Span::from_millis(10));
        let goes: Vec<bool> = (0..5).map(|us| acks.goes(1001, rtt, at(us))).collect();
        assert_eq!(goes, [true, true, true, false, false]);
        // A twentieth of the round trip after the first that waits.
        assert_eq!(acks.deadline(), at(3 + 500));
        acks.on_sent();
        assert_eq!(acks.deadline(), Time::MAX);
        assert!(!acks.goes(1001, rtt, at(700)), "the hole is known");
        assert!(acks.goes(2001, rtt, at(701)), "another hole");
    }

    #[test]
    fn no_more_than_44_wait_and_no_longer_than_a_millisecond() {
        let mut acks = Compressed::default();
        let goes: Vec<bool> =
            (0..50).map(|us| acks.goes(1, Some(Span::from_secs(1)), at(us))).collect();
        assert_eq!(goes.iter().filter(|&&goes| !goes).count(), 44);
        assert_eq!(acks.deadline(), at(3 + 1000));
        let mut unknown = Compressed::default();
        let waits = (0..4).all(|_| unknown.goes(1, None, at(0)));
        assert!(!waits);
        assert_eq!(unknown.deadline(), at(1000));
    }
}
