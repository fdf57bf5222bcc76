//! The outstanding segments, each with the time at which it was last sent.

use crate::tcp::ranges::{Range, Ranges};
use airqueue_core::{SackBlocks, Time};
use std::collections::VecDeque;

/// A segment as it was first sent: up to `end`, from the end of the previous segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) end: u64,
    /// When the segment was last sent.
    pub(super) at: Time,
    /// The segment was sent more than once.
    pub(super) again: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    Lost,
    Arrived,
}

/// Segments are numbered in the order of their octets; the memory of the list is kept.
#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    list: VecDeque<Sent>,
    /// The number of the first segment in the list.
    base: u64,
    /// The octet at which the first segment begins.
    floor: u64,
    sacked: Ranges,
    in_flight: u64,
    /// Segments that have arrived beyond a hole.
    arrived: u32,
    /// All segments before this number are not lost.
    hint: u64,
    lost: u32,
    /// Octets that have been lost so far.
    lost_bytes: u64,
    /// All segments below this number that were sent once have been judged as lost or not.
    judged: u64,
    /// Retransmitted segments, in the order of their retransmission.
    again: VecDeque<(u64, Time)>,
}

impl Scoreboard {
    pub(super) fn new() -> Scoreboard {
        Scoreboard {
            list: VecDeque::new(),
            base: 0,
            floor: 1,
            sacked: Ranges::default(),
            in_flight: 0,
            arrived: 0,
            hint: 0,
            lost: 0,
            lost_bytes: 0,
            judged: 0,
            again: VecDeque::new(),
        }
    }

    /// Bytes in the network, as far as is known.
    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Octets lost so far; octets lost twice count twice.
    pub(super) fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }

    /// Whether lost octets have not been retransmitted yet.
    pub(super) fn owes(&self) -> bool {
        self.lost > 0
    }

    /// Segments that have arrived beyond a hole.
    pub(super) fn arrived(&self) -> u32 {
        self.arrived
    }

    /// Bytes of these segments.
    pub(super) fn arrived_bytes(&self, high: u64) -> u64 {
        high - self.floor - self.sacked.missing(self.floor, high)
    }

    /// The octet after the highest octet that has arrived.
    pub(super) fn highest_arrived(&self) -> u64 {
        self.sacked.highest().unwrap_or(self.floor)
    }

    fn at(&self, number: u64) -> Sent {
        self.list[(number - self.base) as usize]
    }

    fn end(&self) -> u64 {
        self.base + self.list.len() as u64
    }

    fn range(&self, number: u64) -> Range {
        let before = number.checked_sub(self.base + 1);
        let start = before.map_or(self.floor, |at| self.list[at as usize].end);
        Range { start, end: self.at(number).end }
    }

    /// Number of the segment with the last octet below `edge`.
    fn number_of(&self, edge: u64) -> u64 {
        self.base + self.list.partition_point(|sent| sent.end < edge) as u64
    }

    /// A new segment is sent.
    pub(super) fn push(&mut self, range: Range, at: Time) {
        self.in_flight += range.bytes();
        self.list.push_back(Sent { end: range.end, at, again: false, state: State::InFlight });
    }

    /// An existing segment is retransmitted.
    pub(super) fn send_again(&mut self, range: Range, at: Time) {
        let number = self.number_of(range.end);
        let sent = &mut self.list[(number - self.base) as usize];
        if sent.state == State::Lost {
            self.lost -= 1;
            self.in_flight += range.bytes();
        }
        (sent.at, sent.again, sent.state) = (at, true, State::InFlight);
        self.again.push_back((number, at));
    }

    /// Records the arrivals that an acknowledgement reports; `each` receives every segment that has newly arrived.
    pub(super) fn on_ack(&mut self, ack: u64, blocks: &[Range], mut each: impl FnMut(Range, Sent)) {
        while let Some(&first) = self.list.front().filter(|first| first.end <= ack) {
            if first.state != State::Arrived {
                let range = self.range(self.base);
                self.take(self.base);
                each(range, first);
            }
            self.arrived -= 1;
            self.list.pop_front();
            self.base += 1;
            self.floor = first.end;
        }
        self.sacked.remove_below(self.floor);
        self.judged = self.judged.max(self.base);
        // The most recent comes first, which is no reordering: Linux orders them, too (`tcp_sacktag_write_queue`).
        let mut ascending = [Range::default(); SackBlocks::MOST];
        let ascending = &mut ascending[..blocks.len()];
        ascending.copy_from_slice(blocks);
        ascending.sort_unstable_by_key(|block| block.start);
        for block in ascending {
            let end = self.list.back().map_or(self.floor, |last| block.end.min(last.end));
            while let Some(gap) = self.sacked.first_gap(block.start.max(self.floor), end) {
                self.fill(gap, &mut each);
                self.sacked.insert(gap);
            }
        }
    }

    /// All whole segments within these octets have arrived.
    fn fill(&mut self, gap: Range, each: &mut impl FnMut(Range, Sent)) {
        let mut number = self.number_of(gap.start + 1);
        while number < self.end() && self.at(number).end <= gap.end {
            let (range, sent) = (self.range(number), self.at(number));
            if range.start >= gap.start && sent.state != State::Arrived {
                self.take(number);
                each(range, sent);
            }
            number += 1;
        }
    }

    fn take(&mut self, number: u64) {
        let bytes = self.range(number).bytes();
        let sent = &mut self.list[(number - self.base) as usize];
        match sent.state {
            State::InFlight => self.in_flight -= bytes,
            State::Lost => self.lost -= 1,
            State::Arrived => {}
        }
        sent.state = State::Arrived;
        self.arrived += 1;
    }

    fn lose(&mut self, number: u64) {
        let bytes = self.range(number).bytes();
        let sent = &mut self.list[(number - self.base) as usize];
        if sent.state == State::InFlight {
            sent.state = State::Lost;
            self.in_flight -= bytes;
            self.lost += 1;
            self.lost_bytes += bytes;
            self.hint = self.hint.min(number);
        }
    }

    /// Marks as lost the segments in flight for which `verdict` is true. `verdict` is called in the order of sending
    /// until it returns false: once for segments sent for the first time, and once for retransmissions.
    pub(super) fn judge(&mut self, mut verdict: impl FnMut(&Sent) -> bool) {
        while self.judged < self.end() {
            let sent = self.at(self.judged);
            if sent.state == State::InFlight && !sent.again {
                if !verdict(&sent) {
                    break;
                }
                self.lose(self.judged);
            }
            self.judged += 1;
        }
        while let Some(&(number, at)) = self.again.front() {
            if number >= self.base {
                let sent = self.at(number);
                if sent.state == State::InFlight && sent.at == at {
                    if !verdict(&sent) {
                        break;
                    }
                    self.lose(number);
                }
            }
            self.again.pop_front();
        }
    }

    /// The segment in flight that was sent last among those that `is_before` others: it is true of those sent first.
    pub(super) fn last_sent(&self, is_before: impl Fn(&Sent) -> bool) -> Option<Sent> {
        let mut once = self.list.iter().rev();
        let once =
            once.find(|sent| sent.state == State::InFlight && !sent.again && is_before(sent));
        let again = self.again.iter().rev().filter(|(number, _)| *number >= self.base);
        let again = again.map(|&(number, at)| (self.at(number), at));
        let mut again = again.filter(|(sent, at)| sent.state == State::InFlight && sent.at == *at);
        let again = again.find(|(sent, _)| is_before(sent)).map(|(sent, _)| sent);
        once.copied().into_iter().chain(again).max_by_key(|sent| sent.at)
    }

    /// Marks the first segment as lost, whatever its state.
    pub(super) fn lose_first(&mut self) {
        if !self.list.is_empty() {
            self.lose(self.base);
        }
    }

    /// The first lost segment.
    pub(super) fn first_lost(&mut self) -> Option<Range> {
        if self.lost == 0 {
            self.hint = self.end();
            return None;
        }
        self.hint = self.hint.max(self.base);
        while self.at(self.hint).state != State::Lost {
            self.hint += 1;
        }
        Some(self.range(self.hint))
    }

    /// The last segment, unless it has arrived.
    pub(super) fn last(&self) -> Option<Range> {
        let last = self.end().checked_sub(1).filter(|&last| last >= self.base)?;
        (self.at(last).state != State::Arrived).then(|| self.range(last))
    }
}
