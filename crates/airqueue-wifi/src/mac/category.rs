//! The MAC state of one access category: its packets, its window, its retries.

use super::batch::Batch;
use super::config::{CategoryConfig, Txop};
use super::exchange::TxReport;
use super::frame::Msdu;
use crate::medium::StationId;
use crate::phy::Phy;
use airqueue_core::{Span, Time};

/// Counters of one access category of a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CategoryCounters {
    /// Exchanges whose first frame went on the air: RTS, a CTS to oneself, or data without either. Frames to all stations
    /// and management frames are no exchanges.
    pub attempts: u64,
    /// Exchanges that were not completed by a response.
    pub failures: u64,
    /// MPDUs in data frames to one station, counted at each transmission, when it begins.
    pub mpdus: u64,
    /// Packets acknowledged.
    pub acknowledged: u64,
    /// Packets given up after the last retry.
    pub given_up: u64,
    /// Number of times that an access category of higher priority in the station transmitted instead.
    pub internal_collisions: u64,
}

impl CategoryCounters {
    /// The sum of both.
    pub fn plus(&self, other: &CategoryCounters) -> CategoryCounters {
        CategoryCounters {
            attempts: self.attempts + other.attempts,
            failures: self.failures + other.failures,
            mpdus: self.mpdus + other.mpdus,
            acknowledged: self.acknowledged + other.acknowledged,
            given_up: self.given_up + other.given_up,
            internal_collisions: self.internal_collisions + other.internal_collisions,
        }
    }

    /// The difference to an earlier state, `before`.
    pub fn since(&self, before: &CategoryCounters) -> CategoryCounters {
        CategoryCounters {
            attempts: self.attempts - before.attempts,
            failures: self.failures - before.failures,
            mpdus: self.mpdus - before.mpdus,
            acknowledged: self.acknowledged - before.acknowledged,
            given_up: self.given_up - before.given_up,
            internal_collisions: self.internal_collisions - before.internal_collisions,
        }
    }
}

/// The rarely used state of an access category; [`super::backoff::Backoff`] has the state that most events use.
#[derive(Clone, Debug)]
pub(super) struct Category {
    pub(super) config: CategoryConfig,
    /// AIFS of the backoffs that are still to be drawn.
    pub(super) aifs: Span,
    /// Number of values of the current window.
    pub(super) cw: u32,
    /// The packets in hand for the receiver whose turn it is.
    pub(super) batch: Batch,
    /// Packets in hand for other receivers, left over from their last turns.
    others: Vec<Batch>,
    /// Packets in hand for receivers that sleep, until they wake up; among them empty places.
    parked: Vec<Batch>,
    /// The next sequence number for each neighbour, as the queue numbers the neighbours.
    sequences: Vec<u64>,
    /// Turns so far, and the last turn of a packet that was not in hand before.
    turns: u64,
    fresh_turn: u64,
    pub(super) short_retries: u32,
    pub(super) long_retries: u32,
    /// Failures since the last success.
    pub(super) in_a_row: u32,
    /// What is left of the TXOP.
    pub(super) txop_remaining: TxopRemaining,
    /// One of the packets of this TXOP was acknowledged.
    pub(super) got_through: bool,
    /// Until when the NAV of its frames has silenced other stations, if frames announce the TXOP.
    pub(super) announced: Time,
    pub(super) counters: CategoryCounters,
}

/// What is left of a TXOP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TxopRemaining {
    /// Only the present exchange.
    Last,
    /// All exchanges that end by this time.
    Until(Time),
    /// This many packets after the present exchange.
    Packets(u32),
}

impl Category {
    pub(super) fn new(config: CategoryConfig, phy: &Phy) -> Category {
        Category {
            config,
            aifs: phy.aifs(config.aifsn),
            cw: config.w_min,
            batch: Batch::new(),
            others: Vec::new(),
            parked: Vec::new(),
            sequences: Vec::new(),
            turns: 0,
            fresh_turn: 0,
            short_retries: 0,
            long_retries: 0,
            in_a_row: 0,
            txop_remaining: TxopRemaining::Last,
            got_through: false,
            announced: Time::ZERO,
            counters: CategoryCounters::default(),
        }
    }

    /// The access category has won the medium at `now`.
    pub(super) fn open(&mut self, now: Time) {
        (self.got_through, self.announced) = (false, now);
        self.txop_remaining = match self.config.txop {
            Txop::One => TxopRemaining::Last,
            Txop::Time(limit) => TxopRemaining::Until(now + limit),
            Txop::Packets(n) => TxopRemaining::Packets(n - 1),
            Txop::Flows => TxopRemaining::Packets(0),
        };
    }

    /// Uses up one packet of the TXOP; false if none is left or the exchange would end after the TXOP.
    pub(super) fn continue_until(&mut self, end: Time) -> bool {
        match &mut self.txop_remaining {
            TxopRemaining::Last | TxopRemaining::Packets(0) => false,
            TxopRemaining::Packets(left) => {
                *left -= 1;
                true
            }
            TxopRemaining::Until(limit) => end <= *limit,
        }
    }

    /// Whether no packet is in hand.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.batch.is_empty() && self.others.iter().all(Batch::is_empty)
    }

    /// All packets in hand that may be sent.
    pub(super) fn batches(&self) -> impl Iterator<Item = &Batch> {
        self.others.iter().chain([&self.batch])
    }

    /// All packets in hand, with those for receivers that sleep.
    pub(super) fn all_batches(&self) -> impl Iterator<Item = &Batch> {
        self.batches().chain(&self.parked)
    }

    /// Puts aside the packets in hand for a receiver that sleeps.
    pub(super) fn park(&mut self, to: StationId) {
        for batch in self.others.iter_mut().chain([&mut self.batch]) {
            if batch.receiver() == Some(to) {
                exchange(batch, &mut self.parked);
            }
        }
    }

    /// Takes the packets for a receiver that has woken up in hand again.
    pub(super) fn unpark(&mut self, to: StationId) {
        for batch in self.parked.iter_mut().filter(|batch| batch.receiver() == Some(to)) {
            exchange(batch, &mut self.others);
        }
    }

    /// Gives up all packets for a receiver, and reports them in their order.
    pub(super) fn discard(&mut self, to: StationId, reports: &mut Vec<TxReport>) {
        let others = self.others.iter_mut().chain(&mut self.parked);
        for batch in others.chain([&mut self.batch]) {
            if batch.receiver() == Some(to) {
                batch.discard(reports);
            }
        }
    }

    /// Whether packets for a receiver are in hand, and may be sent.
    pub(super) fn has_in_hand(&self, to: StationId) -> bool {
        self.batches().any(|batch| batch.receiver() == Some(to))
    }

    /// Number of packets for a receiver that sleeps that are put aside.
    pub(super) fn parked(&self, to: StationId) -> usize {
        let of = self.parked.iter().filter(|batch| batch.receiver() == Some(to));
        of.map(Batch::unfinished).sum()
    }

    /// Chooses the next receiver: of the receivers with packets in hand the one whose last turn is longest ago, or, if
    /// there are `others` with packets in the queue, possibly one of these. False in the latter case. An unreachable
    /// receiver therefore delays the others by one exchange at a time.
    pub(super) fn take_turns(&mut self, others: bool) -> bool {
        self.turns += 1;
        let own = self.others.len();
        let all = self.others.iter().chain([&self.batch]).enumerate();
        let waiting = all.filter(|(_, batch)| !batch.is_empty());
        let longest = waiting.map(|(at, batch)| (batch.turn, at)).min();
        let Some((_, at)) = longest.filter(|&(turn, _)| !others || turn < self.fresh_turn) else {
            self.fresh_turn = self.turns;
            return false;
        };
        if at < own {
            std::mem::swap(&mut self.batch, &mut self.others[at]);
        }
        self.batch.turn = self.turns;
        true
    }

    /// Takes a packet in hand: its receiver is served next.
    pub(super) fn take_in(&mut self, msdu: Msdu, now: Time) {
        if !self.batch.is_for(msdu.to) {
            let known = |batch: &Batch| batch.first().is_some_and(|first| first.to == msdu.to);
            let place = self.others.iter().position(known);
            let place = place.or_else(|| self.others.iter().position(Batch::is_empty));
            let place = place.unwrap_or_else(|| {
                self.others.push(Batch::new());
                self.others.len() - 1
            });
            std::mem::swap(&mut self.batch, &mut self.others[place]);
        }
        self.batch.turn = self.turns;
        let neighbour = msdu.packet.neighbour.index();
        if neighbour >= self.sequences.len() {
            self.sequences.resize(neighbour + 1, 0);
        }
        debug_assert!(
            self.batch.is_empty() || self.batch.next_sequence == self.sequences[neighbour],
            "sequence numbers in hand are consecutive"
        );
        self.batch.next_sequence = self.sequences[neighbour];
        self.batch.push(msdu, now);
        self.sequences[neighbour] = self.batch.next_sequence;
    }

    /// Adds a packet to those for the receiver of the next data frame.
    #[inline]
    pub(super) fn join(&mut self, msdu: Msdu, now: Time) {
        let neighbour = msdu.packet.neighbour.index();
        debug_assert_eq!(self.batch.next_sequence, self.sequences[neighbour]);
        self.batch.push(msdu, now);
        self.sequences[neighbour] = self.batch.next_sequence;
    }

    /// An exchange begins with more than one packet: subtracts the others from the TXOP.
    pub(super) fn use_up(&mut self) {
        if let TxopRemaining::Packets(left) = &mut self.txop_remaining {
            *left = left.saturating_sub(u32::from(self.batch.ppdu.mpdus).saturating_sub(1));
        }
    }

    /// The window after a failure: doubled, or the smallest if `restart` is set.
    pub(super) fn widen(&mut self, restart: bool) {
        if restart {
            self.in_a_row = 0;
            self.cw = self.config.w_min;
        } else {
            self.in_a_row += 1;
            self.cw = self.cw.saturating_mul(2).min(self.config.w_max);
        }
    }

    /// The window after a success.
    pub(super) fn succeed(&mut self) {
        self.got_through = true;
        self.in_a_row = 0;
        self.cw = self.config.w_min;
    }
}

/// Moves packets to an empty place of a list, in exchange for the place.
fn exchange(batch: &mut Batch, list: &mut Vec<Batch>) {
    let place = list.iter().position(Batch::is_empty).unwrap_or_else(|| {
        list.push(Batch::new());
        list.len() - 1
    });
    std::mem::swap(batch, &mut list[place]);
}
