//! One queue's side of the MAC: its frame, its window, its retries.

use super::config::{CategoryConfig, Txop};
use super::frame::Msdu;
use airqueue_core::{Span, Time};

/// What one queue of a station did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CategoryTally {
    /// Exchanges whose first frame went on the air: RTS, a CTS to oneself, or data without either.
    pub attempts: u64,
    /// Exchanges that no response completed.
    pub failures: u64,
    /// Packets acknowledged.
    pub acknowledged: u64,
    /// Packets given up after the last retry.
    pub given_up: u64,
    /// Times that a queue of higher priority in the same station went first.
    pub internal_collisions: u64,
}

impl CategoryTally {
    /// Both together.
    pub fn plus(&self, other: &CategoryTally) -> CategoryTally {
        CategoryTally {
            attempts: self.attempts + other.attempts,
            failures: self.failures + other.failures,
            acknowledged: self.acknowledged + other.acknowledged,
            given_up: self.given_up + other.given_up,
            internal_collisions: self.internal_collisions + other.internal_collisions,
        }
    }

    /// What was counted after `before`.
    pub fn since(&self, before: &CategoryTally) -> CategoryTally {
        CategoryTally {
            attempts: self.attempts - before.attempts,
            failures: self.failures - before.failures,
            acknowledged: self.acknowledged - before.acknowledged,
            given_up: self.given_up - before.given_up,
            internal_collisions: self.internal_collisions - before.internal_collisions,
        }
    }
}

/// A queue's cold half; [`super::backoff::Backoff`] is the hot one.
#[derive(Clone, Debug)]
pub(super) struct Category {
    pub(super) config: CategoryConfig,
    /// Values of the present window.
    pub(super) cw: u32,
    pub(super) held: Option<Msdu>,
    /// What the transmissions of the held packet have taken, with their responses and the SIFS between.
    pub(super) airtime: Span,
    /// The receiver has it already: an ACK was lost. Stands for the receiver's duplicate detection
    /// (IEEE 802.11-2016, 10.3.2.11), which knows it by its sequence number.
    pub(super) received: bool,
    pub(super) short_retries: u32,
    pub(super) long_retries: u32,
    /// Failures since the last success.
    pub(super) in_a_row: u32,
    /// What is left of the TXOP.
    pub(super) opportunity: Opportunity,
    /// One of its packets was acknowledged.
    pub(super) got_through: bool,
    /// Until when its frames have kept the others silent, if they have to say so.
    pub(super) announced: Time,
    pub(super) tally: CategoryTally,
}

/// What is left of a TXOP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opportunity {
    /// Nothing but the exchange under way.
    Last,
    /// All that ends by then.
    Until(Time),
    /// So many packets after the one under way.
    Packets(u32),
}

impl Category {
    pub(super) fn new(config: CategoryConfig) -> Category {
        Category {
            config,
            cw: config.cw_min,
            held: None,
            airtime: Span::ZERO,
            received: false,
            short_retries: 0,
            long_retries: 0,
            in_a_row: 0,
            opportunity: Opportunity::Last,
            got_through: false,
            announced: Time::ZERO,
            tally: CategoryTally::default(),
        }
    }

    /// It has won the medium at `now`.
    pub(super) fn open(&mut self, now: Time) {
        (self.got_through, self.announced) = (false, now);
        self.opportunity = match self.config.txop {
            Txop::One => Opportunity::Last,
            Txop::Time(limit) => Opportunity::Until(now + limit),
            Txop::Packets(n) => Opportunity::Packets(n - 1),
        };
    }

    /// Uses up one packet of the TXOP; false if there is none left or it would end after the TXOP.
    pub(super) fn continue_until(&mut self, end: Time) -> bool {
        match &mut self.opportunity {
            Opportunity::Last | Opportunity::Packets(0) => false,
            Opportunity::Packets(left) => {
                *left -= 1;
                true
            }
            Opportunity::Until(limit) => end <= *limit,
        }
    }

    /// The window after a failure; `given_up`: which was the packet's last.
    pub(super) fn widen(&mut self, given_up: bool, outlives_packet: bool, limit: u32) {
        let restart = if outlives_packet { self.in_a_row >= limit } else { given_up };
        if restart {
            self.in_a_row = 0;
            self.cw = self.config.cw_min;
        } else {
            self.in_a_row += 1;
            self.cw = self.cw.saturating_mul(2).min(self.config.cw_max);
        }
    }

    /// The window after a success.
    pub(super) fn succeed(&mut self) {
        self.got_through = true;
        self.in_a_row = 0;
        self.cw = self.config.cw_min;
    }
}
