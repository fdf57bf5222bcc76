//! Two frames that overlap at a group whose members hear them with different powers.
//!
//! Most collisions are of two frames. Which of them a member decodes depends only on how the powers of both compare there
//! ([`Reception::compare`]): the members' receivers track the frames only once a third frame begins, or for a member that
//! leaves the group.

use super::hearing::OnAirNow;
use super::on_air::FrameOnAir;
use super::tables::Tables;
use airqueue_wifi::medium::{End, FrameId, Reception, Signal, StationId};

/// Both frames, in the order in which they began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    frames: [FrameOnAir; 2],
    /// The place of the frame that has ended, if one has.
    ended: Option<usize>,
}

/// The outcomes of the frame of a pair that ends, at the members of a group.
#[derive(Debug)]
pub(super) struct PairEnd {
    pair: Pair,
    /// The place of this frame.
    ends: usize,
    /// By [`Reception::compare`].
    known: [Option<End>; Reception::COMPARISONS],
}

impl Pair {
    pub(super) fn new(lone: u32, place: u32, on: &OnAirNow) -> Pair {
        Pair { frames: [lone, place].map(|at| *on.on_air_frames.at(at)), ended: None }
    }

    /// A frame of the pair ends: its outcomes, and what is left of the pair.
    pub(super) fn end(self, id: FrameId) -> (PairEnd, Option<Pair>) {
        let ends = usize::from(self.frames[1].id == id);
        let left = self.ended.is_none().then_some(Pair { ended: Some(ends), ..self });
        (PairEnd { pair: self, ends, known: [None; Reception::COMPARISONS] }, left)
    }

    fn signals(&self, station: StationId, tables: &Tables) -> [Signal; 2] {
        self.frames.map(|frame| tables.for_frame(frame.version).signal(frame.from, station))
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
    /// The outcome at a member. `receiver`: one that receives nothing at present.
    #[inline]
    pub(super) fn at(
        &mut self,
        station: StationId,
        receiver: &mut Reception,
        tables: &Tables,
    ) -> End {
        let signals = self.pair.signals(station, tables);
        let known = &mut self.known[receiver.compare(signals[0], signals[1])];
        *known.get_or_insert_with(|| {
            let first = self.pair.ended.unwrap_or(self.ends);
            self.pair.begin(receiver, signals);
            let mut ends = [first, 1 - first].map(|at| receiver.on_end(self.pair.frames[at].id));
            if first == 1 {
                ends.swap(0, 1);
            }
            ends[self.ends].expect("both frames have begun")
        })
    }
}
