//! Two frames that overlap at a group whose members hear them with different powers.
//!
//! Most collisions are of two frames. Which of them a member decodes depends only on how the powers of both compare there
//! ([`Reception::compare`]): the members' receivers track the frames only once a third frame begins, or for a member that
//! leaves the group.

use super::hearing::OnAirNow;
use super::on_air::FrameOnAir;
use super::tables::Tables;
use airqueue_core::Span;
use airqueue_wifi::medium::{End, FrameId, Reception, Signal, StationId};
use std::cmp::Ordering;

/// Both frames, in the order in which they began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    frames: [FrameOnAir; 2],
    /// The place of the frame that has ended, if one has.
    ended: Option<usize>,
}

/// The frame of a pair that ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct PairEnd {
    pair: Pair,
    /// The place of this frame.
    ends: usize,
}

/// All that the outcomes of a pair depend on, apart from the powers: how much later the second frame begins, which of
/// both ends later, and the place of the frame whose end is handled first.
type Timing = (Span, Ordering, usize);

/// Finds the outcomes of pairs. Most pairs begin and end alike: outcomes are kept from one pair to the next.
#[derive(Debug)]
pub(super) struct PairJudge {
    /// Receives nothing between two pairs.
    receiver: Reception,
    timing: Timing,
    /// The outcomes of both frames, by [`Reception::compare`].
    known: Vec<Option<[End; 2]>>,
    /// By station, this number for the pair that the station heard last.
    compared: Vec<u8>,
}

const _: () = assert!(Reception::COMPARISONS <= 1 << u8::BITS);

impl Pair {
    pub(super) fn new(lone: u32, place: u32, on: &OnAirNow) -> Pair {
        Pair { frames: [lone, place].map(|at| *on.on_air_frames.at(at)), ended: None }
    }

    /// A frame of the pair ends: its outcomes, and what is left of the pair.
    pub(super) fn end(self, id: FrameId) -> (PairEnd, Option<Pair>) {
        let ends = usize::from(self.frames[1].id == id);
        let left = self.ended.is_none().then_some(Pair { ended: Some(ends), ..self });
        (PairEnd { pair: self, ends }, left)
    }

    #[inline(always)]
    fn signals(&self, station: StationId, tables: &Tables) -> [Signal; 2] {
        let signal =
            |frame: &FrameOnAir| tables.for_frame(frame.version).signal(frame.from, station);
        [signal(&self.frames[0]), signal(&self.frames[1])]
    }

    /// Hands the pair to the receiver of a station, which has tracked nothing so far.
    pub(super) fn track(&self, station: StationId, receiver: &mut Reception, tables: &Tables) {
        self.begin(receiver, self.signals(station, tables));
        if let Some(ended) = self.ended {
            receiver.on_end(self.frames[ended].id);
        }
    }

    fn begin(&self, receiver: &mut Reception, signals: [Signal; 2]) {
        for (frame, signal) in self.frames.iter().zip(signals) {
            receiver.on_begin(frame.id, frame.air, signal);
        }
    }
}

impl PairEnd {
    /// The place of the frame whose end is handled first.
    fn first(&self) -> usize {
        self.pair.ended.unwrap_or(self.ends)
    }

    fn timing(&self) -> Timing {
        let [one, other] = &self.pair.frames;
        let later = other.air.begins - one.air.begins;
        (later, one.air.ends.cmp(&other.air.ends), self.first())
    }
}

impl PairJudge {
    /// For networks with these receivers; `None`: there are none.
    pub(super) fn new(receivers: &[Reception]) -> Option<PairJudge> {
        let receiver = receivers.first()?.clone();
        let timing = (Span::ZERO, Ordering::Equal, 0);
        let known = vec![None; Reception::COMPARISONS];
        Some(PairJudge { receiver, timing, known, compared: vec![0; receivers.len()] })
    }

    /// A frame of a pair ends: [`Self::at`] each member follows.
    pub(super) fn hear(&mut self, end: &PairEnd) {
        let timing = end.timing();
        if timing != self.timing {
            self.timing = timing;
            self.known.fill(None);
        }
    }

    /// The outcome of the frame at a member.
    pub(super) fn at(&mut self, end: &PairEnd, station: StationId, tables: &Tables) -> End {
        let mut outcome = End::DEAF;
        self.at_each(end, &[station], tables, |end| outcome = *end);
        outcome
    }

    /// Adds the outcome of the frame at each of these members, in their order.
    #[inline(always)]
    pub(super) fn at_each(
        &mut self,
        end: &PairEnd,
        members: &[StationId],
        tables: &Tables,
        mut add: impl FnMut(&End),
    ) {
        if end.pair.ended.is_none() {
            self.compare(&end.pair, members, tables);
        }
        for &station in members {
            let comparison = usize::from(self.compared[station.index()]);
            if self.known[comparison].is_none() {
                self.judge(end, end.pair.signals(station, tables), comparison);
            }
            if let Some(both) = &self.known[comparison] {
                add(&both[end.ends]);
            }
        }
    }

    /// Notes how the powers of both frames compare at each member.
    fn compare(&mut self, pair: &Pair, members: &[StationId], tables: &Tables) {
        let [one, other] =
            pair.frames.map(|frame| tables.for_frame(frame.version).reach().hearers(frame.from));
        for &station in members {
            let signals = (one.signal(station), other.signal(station));
            let (Some(one), Some(other)) = signals else { continue };
            self.compared[station.index()] = self.receiver.compare(one, other) as u8;
        }
    }

    #[cold]
    fn judge(&mut self, end: &PairEnd, signals: [Signal; 2], comparison: usize) {
        let (receiver, first) = (&mut self.receiver, end.first());
        end.pair.begin(receiver, signals);
        let mut both = [first, 1 - first].map(|at| {
            let end = receiver.on_end(end.pair.frames[at].id).expect("both frames have begun");
            // The only part that depends on the powers themselves.
            End { interference_w: 0.0, ..end }
        });
        if first == 1 {
            both.swap(0, 1);
        }
        self.known[comparison] = Some(both);
    }
}
