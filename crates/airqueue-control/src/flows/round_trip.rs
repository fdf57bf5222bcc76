//! Round trips of one half of a connection, seen from a point of its path.
//!
//! A packet that passes towards one end, and the first packet from there that answers it, are one round trip between this
//! point and that end. With timestamps (RFC 7323) the answer echoes the packet's TSval; without, it acknowledges the
//! packet's last byte, and bytes that were sent twice tell nothing (Karn). SYN and SYN-ACK, SYN-ACK and ACK are such
//! pairs as well, by their bytes: whether a connection has timestamps is known behind them only.
//!
//! A clock of 10 ms gives many packets one TSval, and the answer may be that to the first of them. Of a connection that was
//! there before, or of which packets passed unseen, the first mark is therefore not measured: an earlier packet may have had it.
//!
//! An answer is never too early, so the least sample of a window is the nearest to the path's own delay: an acknowledgement
//! that waits for a second segment makes samples longer, not shorter.
//!
//! # Ends that have nothing to send
//!
//! A packet with bytes is answered at once, or when a delayed acknowledgement is due. An acknowledgement alone asks for no
//! answer: its TSval returns with whatever its receiver sends next, after a pause of any length. At an end RFC 7323 takes the
//! samples of answers that acknowledge new bytes alone (section 4.1), and passive measurements often leave acknowledgements
//! out. The half towards the sender of a download would then have no samples but that of its handshake. An acknowledgement
//! is therefore measured under three conditions ([`Passed::Clock`]):
//!
//! - it acknowledges new bytes, and more were in flight here when it passed: the other end will acknowledge those, with a
//!   later TSval, after its own round trip and delayed acknowledgement at the latest, and from then on that TSval returns;
//! - no acknowledgement of the same tick without bytes in flight follows: it may be the one that was answered;
//! - the answer has bytes that are new here: what a retransmission timer sends was not asked for by the acknowledgement.
//!
//! A sender that keeps no more in flight than passes within a tick has no such samples: a pause looks the same.
//!
//! Without losses a sample is thus longer than the path by at most the other half's round trip, a delayed acknowledgement
//! and a tick, however long the sender pauses. With losses it may be longer by a pause up to the sender's timer: where the
//! bytes in flight are lost behind this point, or the later acknowledgement is lost before a pause. The last case has no
//! bound but the pause.

use airqueue_core::{Span, Time};

/// Packets that wait for their answer. More pass meanwhile; these are enough for some samples in each round trip.
const WAITING: usize = 8;
/// A packet without an answer for so long will have none.
const LOST: Span = Span::from_secs(10);
/// The window of the least sample has this many parts,
const PARTS: usize = 6;
/// each this long: a path that became longer is seen after a minute.
const PART: Span = Span::from_secs(10);

/// What an answer must have to answer a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// TSval of the packet, TSecr of the answer.
    Stamp(u32),
    /// Number behind the packet's last byte, number that the answer acknowledges.
    Byte(u32),
}

impl Mark {
    fn is_comparable(self, other: Mark) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }

    /// Whether the answer `echo` is at or behind this mark; numbers wrap (RFC 9293, section 3.4).
    fn is_reached(self, echo: Mark) -> bool {
        match (self, echo) {
            (Mark::Stamp(mark), Mark::Stamp(echo)) | (Mark::Byte(mark), Mark::Byte(echo)) => {
                echo.wrapping_sub(mark) < 1 << 31
            }
            _ => false,
        }
    }
}

/// What a packet asks of its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// An acknowledgement: it has bytes, SYN or FIN.
    Bytes,
    /// Nothing, but it acknowledges new bytes while more are in flight.
    Clock,
    /// Nothing.
    Silent,
}

/// A packet that waits for its answer.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    mark: Mark,
    at: Time,
    /// Only new bytes answer it.
    clock: bool,
}

/// How long an end takes to answer.
#[derive(Clone, Debug, Default)]
pub struct RoundTrip {
    waiting: [Option<Waiting>; WAITING],
    latest: Option<Mark>,
    least: [Option<Span>; PARTS],
    part: i64,
    smoothed: Option<Span>,
    samples: u32,
}

impl RoundTrip {
    /// The packet that opens a connection passed towards the end (SYN, or SYN-ACK).
    pub fn on_open(&mut self, mark: Mark, now: Time) {
        // The same mark is the same packet sent again. Another one is a new connection of the same ends.
        if self.latest != Some(mark) {
            self.latest = None;
            self.waiting = Default::default();
            self.wait_for(mark, false, now);
        } else {
            self.on_packet(mark, Passed::Bytes, now);
        }
    }

    /// A packet passed towards the end.
    pub fn on_packet(&mut self, mark: Mark, passed: Passed, now: Time) {
        match self.latest {
            Some(latest) if !mark.is_comparable(latest) => self.latest = Some(mark),
            None => self.latest = Some(mark),
            // A mark at or before the latest was there before: the same tick of the clock, or bytes that are sent again.
            Some(latest) if mark.is_reached(latest) => match mark {
                Mark::Byte(_) => self.waiting = Default::default(),
                Mark::Stamp(_) if passed == Passed::Silent => {
                    self.forget(|entry| entry.mark == mark)
                }
                Mark::Stamp(_) => {}
            },
            Some(_) if passed == Passed::Silent => self.latest = Some(mark),
            Some(_) => self.wait_for(mark, passed == Passed::Clock, now),
        }
    }

    /// Packets may have passed unseen: the next mark may not be seen for the first time, and a silent packet may have
    /// followed one that waits.
    pub fn on_gap(&mut self) {
        self.latest = None;
        self.forget(|entry| matches!(entry.mark, Mark::Stamp(_)));
    }

    fn forget(&mut self, which: impl Fn(&Waiting) -> bool) {
        for entry in &mut self.waiting {
            *entry = entry.filter(|entry| !which(entry));
        }
    }

    fn wait_for(&mut self, mark: Mark, clock: bool, now: Time) {
        self.latest = Some(mark);
        let old = |entry: &Option<Waiting>| entry.is_none_or(|entry| now - entry.at >= LOST);
        if let Some(free) = self.waiting.iter_mut().find(|entry| old(entry)) {
            *free = Some(Waiting { mark, at: now, clock });
        }
    }

    /// A packet passed from the end, with this echo; `new`: it has bytes that had not passed before. Returns the round trip if
    /// it answers a packet.
    pub fn on_answer(&mut self, echo: Mark, new: bool, now: Time) -> Option<Span> {
        let mut sample: Option<Time> = None;
        for entry in &mut self.waiting {
            let Some(Waiting { mark, at, clock }) = *entry else { continue };
            if mark.is_reached(echo) {
                // An older tick than the echo was answered before, or its answer was lost; bytes are acknowledged together.
                let answers = mark == echo || matches!(mark, Mark::Byte(_));
                if answers && (new || !clock) && now >= at {
                    sample = sample.max(Some(at));
                }
                *entry = None;
            }
        }
        let sample = now - sample?;
        self.take(sample, now);
        Some(sample)
    }

    fn take(&mut self, sample: Span, now: Time) {
        self.advance(now);
        let least = &mut self.least[index(self.part)];
        *least = Some(least.map_or(sample, |least| least.min(sample)));
        // RFC 6298, section 2: alpha is 1/8.
        let before = self.smoothed.unwrap_or(sample).as_nanos();
        self.smoothed = Some(Span::from_nanos(before + (sample.as_nanos() - before) / 8));
        self.samples = self.samples.saturating_add(1);
    }

    /// Forgets parts of the window that are over.
    fn advance(&mut self, now: Time) {
        let part = (now - Time::ZERO).as_nanos() / PART.as_nanos();
        if part - self.part >= PARTS as i64 {
            self.least = Default::default();
        } else {
            for over in self.part + 1..=part {
                self.least[index(over)] = None;
            }
        }
        self.part = self.part.max(part);
    }

    /// The least sample of the last minute in which there were samples.
    pub fn least(&self) -> Option<Span> {
        self.least.iter().flatten().min().copied()
    }

    /// The smoothed round trip (RFC 6298).
    pub fn smoothed(&self) -> Option<Span> {
        self.smoothed
    }

    /// How many samples there were.
    pub fn samples(&self) -> u32 {
        self.samples
    }
}

fn index(part: i64) -> usize {
    usize::try_from(part.rem_euclid(PARTS as i64)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(ms: i64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn the_first_packet_of_a_tick_and_its_first_echo_are_a_round_trip() {
        let mut trip = RoundTrip::default();
        trip.on_packet(Mark::Stamp(u32::MAX - 1), Passed::Bytes, ms(-10));
        trip.on_packet(Mark::Stamp(u32::MAX), Passed::Bytes, ms(0));
        trip.on_packet(Mark::Stamp(u32::MAX), Passed::Bytes, ms(5));
        trip.on_packet(Mark::Stamp(1), Passed::Bytes, ms(7));
        assert_eq!(
            trip.on_answer(Mark::Stamp(u32::MAX), false, ms(30)),
            Some(Span::from_millis(30))
        );
        assert_eq!(trip.on_answer(Mark::Stamp(u32::MAX), false, ms(31)), None);
        assert_eq!(trip.on_answer(Mark::Stamp(1), false, ms(39)), Some(Span::from_millis(32)));
        assert_eq!(trip.least(), Some(Span::from_millis(30)));
    }

    #[test]
    fn bytes_that_are_sent_twice_tell_nothing() {
        let mut trip = RoundTrip::default();
        trip.on_open(Mark::Byte(0), ms(-10));
        trip.on_packet(Mark::Byte(100), Passed::Bytes, ms(0));
        trip.on_packet(Mark::Byte(200), Passed::Bytes, ms(1));
        trip.on_packet(Mark::Byte(100), Passed::Bytes, ms(300));
        assert_eq!(trip.on_answer(Mark::Byte(200), false, ms(340)), None);
        trip.on_packet(Mark::Byte(300), Passed::Bytes, ms(350));
        trip.on_packet(Mark::Byte(400), Passed::Bytes, ms(352));
        // Both are acknowledged at once: the later one has waited the least for the acknowledgement.
        assert_eq!(trip.on_answer(Mark::Byte(400), false, ms(390)), Some(Span::from_millis(38)));
    }

    #[test]
    fn a_path_that_becomes_longer_is_seen_after_the_window() {
        let mut trip = RoundTrip::default();
        trip.on_packet(Mark::Byte(0), Passed::Bytes, ms(-1000));
        for second in 0..200 {
            let delay_ms = if second < 50 { 20 } else { 80 };
            trip.on_packet(Mark::Byte(second as u32 + 1), Passed::Bytes, ms(second * 1000));
            trip.on_answer(Mark::Byte(second as u32 + 1), false, ms(second * 1000 + delay_ms));
            let expected = if second < 100 { 20 } else { 80 };
            if !(100..110).contains(&second) {
                assert_eq!(trip.least(), Some(Span::from_millis(expected)), "second {second}");
            }
        }
    }

    #[test]
    fn a_connection_that_was_there_before_is_not_measured_by_its_first_mark() {
        // Ticks of 100 ms, a path of 30 ms: packets of one tick at 0 ms, before anybody listened, and at 25 ms.
        let mut trip = RoundTrip::default();
        trip.on_packet(Mark::Stamp(1), Passed::Bytes, ms(25));
        assert_eq!(trip.on_answer(Mark::Stamp(1), false, ms(30)), None);
        trip.on_packet(Mark::Stamp(2), Passed::Bytes, ms(100));
        assert_eq!(trip.on_answer(Mark::Stamp(2), false, ms(130)), Some(Span::from_millis(30)));
        // The same after packets that passed unseen.
        trip.on_gap();
        trip.on_packet(Mark::Stamp(3), Passed::Bytes, ms(225));
        assert_eq!(trip.on_answer(Mark::Stamp(3), false, ms(230)), None);
        assert_eq!(trip.samples(), 1);
    }

    #[test]
    fn a_new_connection_of_the_same_ends_begins_anew_and_a_repeated_syn_tells_nothing() {
        let mut trip = RoundTrip::default();
        for (begin, first) in [(0, 4_000_000_000_u32), (10_000, 1000)] {
            trip.on_open(Mark::Byte(first), ms(begin));
            assert_eq!(
                trip.on_answer(Mark::Byte(first), false, ms(begin + 20)),
                Some(Span::from_millis(20))
            );
            trip.on_packet(Mark::Byte(first + 100), Passed::Bytes, ms(begin + 30));
            let answer = trip.on_answer(Mark::Byte(first + 100), false, ms(begin + 50));
            assert_eq!(answer, Some(Span::from_millis(20)));
        }
        trip.on_open(Mark::Byte(77), ms(20_000));
        trip.on_open(Mark::Byte(77), ms(21_000));
        assert_eq!(trip.on_answer(Mark::Byte(77), false, ms(21_001)), None);
    }

    proptest! {
        /// Whatever is lost, delayed or acknowledged together, whatever the clock's ticks, whenever somebody begins to listen and
        /// whatever passes unseen, no sample is shorter than the path.
        #[test]
        fn no_sample_is_shorter_than_the_path(
            packets in prop::collection::vec((0i64..40, 0i64..60, any::<[bool; 3]>(), 0usize..3), 1..200),
            path_ms in 1i64..300, stamps: bool, first: u32, tick_ms in 1i64..120,
            begins in 0i64..2000, gap in 0i64..4000, gap_ms in 0i64..300
        ) {
            // Each packet: ms since the one before, ms that the end waits, whether packet and answer get lost and the answer
            // has new bytes, and what the packet asks for.
            let (mut trip, mut now, mut events) = (RoundTrip::default(), 0, Vec::new());
            for (number, (gap, wait, [lost, unanswered, new], asks)) in packets.into_iter().enumerate() {
                now += gap;
                let mark = if stamps { (now / tick_ms) as u32 } else { number as u32 };
                let mark = first.wrapping_add(mark);
                let asks = if stamps { asks } else { 0 };
                events.push((now, 0, mark, asks, new));
                if !lost && !unanswered {
                    events.push((now + path_ms + wait, 1, mark, asks, new));
                }
            }
            events.sort();
            let make = |mark| if stamps { Mark::Stamp(mark) } else { Mark::Byte(mark) };
            let mut hidden = false;
            for (at, answer, mark, asks, new) in events {
                if at < begins || (gap..gap + gap_ms).contains(&at) {
                    hidden = true;
                    continue;
                }
                if std::mem::take(&mut hidden) {
                    trip.on_gap();
                }
                if answer == 0 {
                    let asks = [Passed::Bytes, Passed::Clock, Passed::Silent][asks];
                    trip.on_packet(make(mark), asks, ms(at));
                } else if let Some(sample) = trip.on_answer(make(mark), new, ms(at)) {
                    prop_assert!(sample >= Span::from_millis(path_ms), "{:?}", sample);
                }
            }
        }
    }
}
