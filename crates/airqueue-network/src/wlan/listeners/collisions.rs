//! A few frames that overlap at a group whose members hear them with different powers.
//!
//! Most collisions are of two to four frames. What a member decodes of them depends only on how their powers compare
//! there, two by two ([`Reception::compare`]; of three or more only under some rules): the members' receivers track the
//! frames only if more frames begin, if one begins after another has ended, or for a member that leaves the group.

use super::hearing::OnAirNow;
use super::on_air::FrameOnAir;
use super::rx_end::RxEnd;
use super::tables::Tables;
use airqueue_core::Span;
use airqueue_wifi::medium::{End, FrameId, Reception, Signal, StationId};

/// Largest number of frames that receivers need not track.
const MOST: usize = 4;

/// Bits of [`Reception::compare`], and of the numbers that compare all frames with each other.
const BITS: u32 = Reception::COMPARISONS.ilog2();
const ALL_BITS: u32 = BITS * (MOST * (MOST - 1) / 2) as u32;
/// Bits of a frame's place, and of the order in which all have ended, with a one before it.
const PLACE_BITS: u32 = MOST.ilog2();
const ORDER_BITS: u32 = PLACE_BITS * MOST as u32 + 1;

const _: () = assert!(MOST.is_power_of_two() && Reception::COMPARISONS.is_power_of_two());
/// The rest of a key is for the number of a timing.
const TIMINGS: u64 = 1 << (u64::BITS - ALL_BITS - ORDER_BITS);

/// Overlapping frames, none of which began after another had ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Collision {
    /// In the order in which they began. Only the first `count` are frames of the collision.
    frames: [FrameOnAir; MOST],
    count: usize,
    /// The places of the frames that have ended, in this order, with a one before them.
    order: u64,
    ended: usize,
}

/// All that outcomes depend on, apart from the powers and the order in which ends are handled: for each frame, how much
/// later than the first the frame begins, and how many of the frames end earlier.
type Timing = [(Span, usize); MOST];

/// What becomes of a frame that ends at a member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    /// The number of the timing, the order of the ends and the comparison of the powers; 0: not known.
    key: u64,
    pub(super) end: End,
    /// The effect, if the frame is for another station.
    pub(super) to_others: RxEnd,
}

/// Outcomes of collisions of so many frames.
#[derive(Clone, Debug)]
struct Known {
    /// The timing of the last collision, and the number of this timing.
    timing: Timing,
    number: u64,
    outcomes: Vec<Outcome>,
}

/// Finds the outcomes of collisions. Most begin and end alike: outcomes are kept from one collision to the next.
#[derive(Debug)]
pub(super) struct Judge {
    /// Receives nothing between two collisions.
    receiver: Reception,
    /// By number of frames, of which there are two at least.
    known: Vec<Known>,
    /// By station, how all powers compare in the collision that the station heard last.
    compared: Vec<u64>,
}

impl Collision {
    pub(super) fn new(lone: u32, place: u32, on: &OnAirNow) -> Collision {
        let frames = [*on.on_air_frames.at(lone); MOST];
        let mut collision = Collision { frames, count: 1, order: 1, ended: 0 };
        collision.add(place, on);
        collision
    }

    /// One more frame begins ([`Self::takes_more`]).
    pub(super) fn add(&mut self, place: u32, on: &OnAirNow) {
        let frame = *on.on_air_frames.at(place);
        debug_assert!(self.frames[self.count - 1].id < frame.id, "frames in their order");
        self.frames[self.count] = frame;
        self.count += 1;
    }

    /// Whether another frame may begin that receivers need not track.
    pub(super) fn takes_more(&self, receiver: &Reception) -> bool {
        self.ended == 0 && self.count < MOST && receiver.compares_in_pairs()
    }

    /// One of the frames ends.
    pub(super) fn end(&mut self, id: FrameId) {
        let place = self.frames().iter().position(|frame| frame.id == id);
        let place = place.expect("a frame that ends has begun");
        self.order = self.order << PLACE_BITS | place as u64;
        self.ended += 1;
    }

    pub(super) fn is_over(&self) -> bool {
        self.ended == self.count
    }

    fn frames(&self) -> &[FrameOnAir] {
        &self.frames[..self.count]
    }

    /// The frames that have ended, in this order.
    fn ended(&self) -> impl DoubleEndedIterator<Item = &FrameOnAir> {
        let place = |back: usize| self.order >> (PLACE_BITS as usize * back) & (MOST as u64 - 1);
        (0..self.ended).rev().map(move |back| &self.frames[place(back) as usize])
    }

    /// Hands the frames to the receiver of a station, which has tracked nothing so far.
    pub(super) fn track(&self, station: StationId, receiver: &mut Reception, tables: &Tables) {
        self.begin(station, receiver, tables);
        for frame in self.ended() {
            receiver.on_end(frame.id);
        }
    }

    fn begin(&self, station: StationId, receiver: &mut Reception, tables: &Tables) {
        for frame in self.frames() {
            let signal = tables.for_frame(frame.version).signal(frame.from, station);
            receiver.on_begin(frame.id, frame.air, signal);
        }
    }

    fn timing(&self) -> Timing {
        let mut timing = [(Span::ZERO, 0); MOST];
        for (frame, timing) in self.frames().iter().zip(&mut timing) {
            let earlier = self.frames().iter().filter(|other| other.air.ends < frame.air.ends);
            *timing = (frame.air.begins - self.frames[0].air.begins, earlier.count());
        }
        timing
    }
}

impl Known {
    /// Number of outcomes: an outcome that has lost its place to another is found again.
    const ROOM: usize = 1024;
    const NOTHING: Outcome = Outcome { key: 0, end: End::DEAF, to_others: RxEnd::Nothing };

    fn new() -> Known {
        let timing = [(Span::ZERO, 0); MOST];
        Known { timing, number: 0, outcomes: vec![Known::NOTHING; Known::ROOM] }
    }

    /// What is known of other timings is not found any more.
    #[inline]
    fn set_timing(&mut self, timing: Timing) {
        if timing == self.timing {
            return;
        }
        self.timing = timing;
        self.number = (self.number + 1) % TIMINGS;
        if self.number == 0 {
            self.outcomes.fill(Known::NOTHING);
        }
    }

    /// Where an outcome is, if it is known.
    #[inline(always)]
    fn place(key: u64) -> usize {
        // Fibonacci hashing: the golden ratio spreads keys that differ in few bits.
        (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - Known::ROOM.ilog2())) as usize
    }
}

impl Judge {
    /// For networks with these receivers; `None`: there are none.
    pub(super) fn new(receivers: &[Reception]) -> Option<Judge> {
        let receiver = receivers.first()?.clone();
        let known = vec![Known::new(); MOST - 1];
        Some(Judge { receiver, known, compared: vec![0; receivers.len()] })
    }

    /// A receiver as all stations have it.
    pub(super) fn receiver(&self) -> &Reception {
        &self.receiver
    }

    /// A frame of a collision has ended: [`Self::at_each`] follows for the members.
    pub(super) fn hear(&mut self, collision: &Collision) {
        self.known[collision.count - 2].set_timing(collision.timing());
    }

    /// The outcome, at a member, of the frame that ended last.
    pub(super) fn at(&mut self, collision: &Collision, station: StationId, of: &Tables) -> End {
        let mut found = End::DEAF;
        self.at_each(collision, &[station], of, |outcome| found = outcome.end);
        found
    }

    /// Adds the outcome, at each of these members in their order, of the frame that ended last.
    #[inline(always)]
    pub(super) fn at_each(
        &mut self,
        collision: &Collision,
        members: &[StationId],
        tables: &Tables,
        mut add: impl FnMut(&Outcome),
    ) {
        if collision.ended == 1 {
            match collision.count {
                2 => self.compare::<2>(collision, members, tables),
                3 => self.compare::<3>(collision, members, tables),
                _ => self.compare::<MOST>(collision, members, tables),
            }
        }
        let number = self.known[collision.count - 2].number;
        let both = (number << ORDER_BITS | collision.order) << ALL_BITS;
        for &station in members {
            let key = both | self.compared[station.index()];
            if self.known[collision.count - 2].outcomes[Known::place(key)].key != key {
                self.judge(collision, station, key, tables);
            }
            add(&self.known[collision.count - 2].outcomes[Known::place(key)]);
        }
    }

    /// Notes how the powers of `FRAMES` frames compare at each member.
    fn compare<const FRAMES: usize>(
        &mut self,
        collision: &Collision,
        members: &[StationId],
        tables: &Tables,
    ) {
        let hearers: [_; FRAMES] = std::array::from_fn(|at| {
            let frame = &collision.frames[at];
            tables.for_frame(frame.version).reach().hearers(frame.from)
        });
        for &station in members {
            let signals: [Signal; FRAMES] = std::array::from_fn(|at| {
                hearers[at].signal(station).expect("a link for each listener")
            });
            let mut compared = 0;
            for later in 1..FRAMES {
                for earlier in 0..later {
                    let both = self.receiver.compare(signals[earlier], signals[later]);
                    compared = compared << BITS | both as u64;
                }
            }
            self.compared[station.index()] = compared;
        }
    }

    /// Finds the outcome at a member.
    #[cold]
    fn judge(&mut self, collision: &Collision, station: StationId, key: u64, tables: &Tables) {
        let receiver = &mut self.receiver;
        collision.begin(station, receiver, tables);
        let mut last = None;
        for frame in collision.ended() {
            last = receiver.on_end(frame.id);
        }
        let end = last.expect("all frames have begun");
        // The receiver is to be without frames again.
        for frame in collision.frames() {
            receiver.on_end(frame.id);
        }
        let to_others = RxEnd::to_others(&end, end.outcome.decoded());
        let known = &mut self.known[collision.count - 2];
        known.outcomes[Known::place(key)] = Outcome { key, end, to_others };
    }
}
