//! The receiver of one station: which of the frames that reach the station survive.

mod judging;

use super::capture::{Air, Capture, End, FrameId, RxOutcome};
use super::error::positive;
use super::{MediumError, Signal, from_db};
use airqueue_core::{Span, Time};

/// The capture rule with linear ratios.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// An infinite ratio: no capture.
    First {
        ratio: f64,
    },
    Sinr {
        ratio: f64,
        noise_w: f64,
        window: Span,
    },
}

/// The receiver's decision about a frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// The receiver was free and locked onto this frame.
    Taken,
    /// In a collision from the frame's beginning.
    Collided,
    /// The receiver was with another frame and stayed with the other.
    Passed,
    /// Too weak to matter.
    Faint,
}

/// A frame on the air.
#[derive(Clone, Copy, Debug)]
struct IncomingFrame {
    frame: FrameId,
    air: Air,
    signal: Signal,
    standing: Standing,
    deaf: bool,
    /// No longer on the air: the next sweep removes the frame.
    ended: bool,
}

/// So many frames are moved up faster than marked and swept.
const FEW: usize = 16;

/// A frame that overlaps the frame that the receiver is with.
#[derive(Clone, Copy, Debug)]
pub struct Overlap {
    /// When it is on the air.
    pub air: Air,
    /// Its power at the receiver, in watts.
    pub power_w: f64,
}

impl Overlap {
    fn is_during(&self, part: Air) -> bool {
        self.air.begins < part.ends && part.begins < self.air.ends
    }
}

/// The frame that the receiver is with.
#[derive(Clone, Copy, Debug)]
struct Hold {
    frame: FrameId,
    ends: Time,
    power_w: f64,
    collided: bool,
    overlapped: bool,
}

impl Hold {
    fn of(incoming: &IncomingFrame, overlapped: bool) -> Hold {
        Hold {
            frame: incoming.frame,
            ends: incoming.air.ends,
            power_w: incoming.signal.power_w,
            collided: false,
            overlapped,
        }
    }
}

/// The receiver of one station (see the [module](super) for how it is driven).
///
/// Frames that begin at one instant are judged as a set: the order in which they are reported does not matter. A
/// receiver allocates only when more frames overlap than ever before.
// `repr(C)`, so that the station's own transmissions touch one cache line.
#[repr(C, align(64))]
#[derive(Clone, Debug)]
pub struct Reception {
    /// End of the station's own last transmission.
    deaf_until: Time,
    /// All frames on the air, by beginning. Sums and verdicts do not depend on the order of the calls: where frames are
    /// added up or compared one by one, those that begin together are put in the order of falling power before.
    incoming: Vec<IncomingFrame>,
    /// Whether they are in this order; only [`Capture::Sinr`] adds frames up.
    sorted: bool,
    /// How many of them have ended.
    ended: usize,
    /// Where the frame behind the last one that ended is: of frames that begin together and are equally strong the
    /// next one ends there.
    next: usize,
    rule: Rule,
    hold: Option<Hold>,
    /// The hold before the first of the frames that begin together with the frame at `since`.
    before: Option<Hold>,
    since: Time,
    /// The frames that overlap the frame that the receiver is with, and count against it. The first `overlaps_before`
    /// of them began before `since`.
    overlaps: Vec<Overlap>,
    overlaps_before: usize,
    /// Frames have begun at `since` or soon after it that are not judged yet: frames that begin together are judged
    /// once, however many.
    unjudged: bool,
    /// Whether [`Self::hold`] and the overlaps are still those before `since`: nothing has been judged since.
    untouched: bool,
}

impl Reception {
    /// A receiver without frames. [`super::Reach::receptions`] makes one for each station and also checks that the
    /// powers that the rule needs are known.
    pub fn new(capture: Capture) -> Result<Reception, MediumError> {
        let finite = |name, value: f64| {
            let wrong = MediumError::NotFinite { name, value };
            if value.is_finite() { Ok(from_db(value)) } else { Err(wrong) }
        };
        let rule = match capture {
            Capture::None => Rule::First { ratio: f64::INFINITY },
            Capture::Ns2 { margin_db } => {
                Rule::First { ratio: finite("the capture margin in dB", margin_db)? }
            }
            Capture::Sinr { threshold_db, noise_w, window } => Rule::Sinr {
                ratio: finite("the SINR threshold in dB", threshold_db)?,
                noise_w: positive("the noise in W", noise_w)?,
                window,
            },
        };
        let never = Time::from_nanos(i64::MIN);
        let incoming = Vec::with_capacity(4);
        let (hold, before) = (None, None);
        let (overlaps, overlaps_before) = (Vec::new(), 0);
        Ok(Reception {
            rule,
            deaf_until: never,
            incoming,
            sorted: true,
            ended: 0,
            next: 0,
            hold,
            before,
            since: never,
            overlaps,
            overlaps_before,
            unjudged: false,
            untouched: false,
        })
    }

    /// A frame begins. All frames that end at or before `air.begins` have been reported.
    #[inline(always)]
    pub fn on_begin(&mut self, frame: FrameId, air: Air, signal: Signal) {
        debug_assert!(air.begins < air.ends, "a frame takes time");
        debug_assert!(self.on_air().all(|a| a.air.ends > air.begins), "ends come first");
        debug_assert!(self.on_air().all(|a| a.frame != frame), "one frame, one id");
        let deaf = air.begins < self.deaf_until;
        let standing = Standing::Faint;
        self.join(IncomingFrame { frame, air, signal, standing, deaf, ended: false });
    }

    /// The station itself begins to transmit: frames that are on the air during its transmission are lost at this
    /// station. As for [`Self::on_begin`], ends are reported first.
    #[inline]
    pub fn on_transmit(&mut self, air: Air) {
        debug_assert!(self.on_air().all(|a| a.air.ends > air.begins), "ends come first");
        // Frames that have just begun are judged when a verdict is needed: many stations may begin at this instant.
        self.deaf_until = self.deaf_until.max(air.ends);
        for incoming in &mut self.incoming {
            incoming.deaf = true;
        }
        if let Rule::Sinr { .. } = self.rule {
            self.hold = None;
            self.before = None;
        }
    }

    /// A frame ends. `None` if the frame never began here.
    #[inline(always)]
    pub fn on_end(&mut self, frame: FrameId) -> Option<End> {
        self.judge();
        let incoming = self.take(frame)?;
        let hold = self.hold.take_if(|hold| hold.frame == frame);
        self.before.take_if(|hold| hold.frame == frame);
        let outcome = match (incoming.standing, hold) {
            _ if incoming.deaf => RxOutcome::Deaf,
            (Standing::Faint, _) => RxOutcome::Undecodable,
            (Standing::Passed, _) => RxOutcome::Overpowered,
            // The receiver was with this frame, but a later frame of the collision ends later.
            (Standing::Collided, _) | (Standing::Taken, None) => RxOutcome::Collided,
            (Standing::Taken, Some(hold)) if hold.collided => RxOutcome::Collided,
            _ if !incoming.signal.decodable() => RxOutcome::Undecodable,
            (Standing::Taken, Some(hold)) if hold.overlapped => RxOutcome::Captured,
            (Standing::Taken, Some(_)) => RxOutcome::Received,
        };
        let taken = incoming.standing == Standing::Taken && incoming.signal.decodable();
        let first = matches!(self.rule, Rule::First { .. });
        Some(End {
            outcome,
            overlapped: taken && !incoming.deaf && !self.overlaps.is_empty(),
            engaged: hold.is_some() && incoming.air.ends >= self.deaf_until,
            ignored: incoming.standing == Standing::Passed && (first || !incoming.deaf),
        })
    }

    /// The effect of other frames on a part of the frame that ended last with [`End::overlapped`]: `None` if they
    /// destroyed the part, otherwise their largest power during the part in watts, under [`Capture::Sinr`]; 0 under
    /// other rules.
    pub fn beside(&self, part: Air, signal: Signal) -> Option<f64> {
        let during = || self.overlaps.iter().filter(|overlap| overlap.is_during(part));
        match self.rule {
            Rule::First { .. } => during().next().is_none().then_some(0.0),
            Rule::Sinr { ratio, noise_w, .. } => {
                let sum_at = |at: Time| -> f64 {
                    let on_air = |o: &&Overlap| o.air.begins <= at && at < o.air.ends;
                    during().filter(on_air).map(|overlap| overlap.power_w).sum()
                };
                let begins = during().map(|overlap| overlap.air.begins.max(part.begins));
                let most_w = begins.map(sum_at).fold(0.0, f64::max);
                (signal.power_w >= ratio * (noise_w + most_w)).then_some(most_w)
            }
        }
    }

    /// The frames whose powers add to the noise during the frame that ended last with [`End::overlapped`]; none under
    /// other rules than [`Capture::Sinr`].
    pub fn overlaps(&self) -> &[Overlap] {
        match self.rule {
            Rule::First { .. } => &[],
            Rule::Sinr { .. } => &self.overlaps,
        }
    }

    /// Whether a frame that begins and ends during the station's own transmission has no effect on the outcome of other
    /// frames, if frames last longer than the window of [`Capture::Sinr`]. Such a frame need not be reported then; its
    /// outcome is [`End::DEAF`], but for [`End::engaged`].
    pub fn forgets_deaf(&self) -> bool {
        match self.rule {
            // The receiver is free, or with a frame that it has lost to the transmission.
            Rule::Sinr { .. } => true,
            // What follows collides, whichever of the frames the receiver is with.
            Rule::First { ratio } => ratio.is_infinite(),
        }
    }

    /// From now on receives the same frames as `other`, a receiver with the same rule at the same place.
    pub fn hear_as(&mut self, other: &Reception) {
        self.incoming.clear();
        self.incoming.extend_from_slice(&other.incoming);
        (self.sorted, self.ended, self.next) = (other.sorted, other.ended, other.next);
        self.overlaps.clear();
        self.overlaps.extend_from_slice(&other.overlaps);
        self.overlaps_before = other.overlaps_before;
        (self.hold, self.before, self.since) = (other.hold, other.before, other.since);
        (self.unjudged, self.untouched) = (other.unjudged, other.untouched);
    }

    /// The outcome of a frame that no other frame overlaps and during which the station does not transmit: such a
    /// frame need not be reported to the receiver.
    pub fn alone(&self, signal: Signal) -> End {
        let decodable = signal.decodable();
        let (taken, decoded) = match self.rule {
            Rule::First { .. } => (signal.sensed(), decodable),
            Rule::Sinr { ratio, noise_w, .. } => {
                let decoded = decodable && signal.power_w >= ratio * noise_w;
                (decoded, decoded)
            }
        };
        let outcome = if decoded { RxOutcome::Received } else { RxOutcome::Undecodable };
        End { outcome, engaged: taken, ignored: false, overlapped: false }
    }

    /// How two frames compare for the rule, if the first began before the second or has the smaller id: a number below
    /// [`Self::COMPARISONS`]. Where two receivers have equal numbers for frames that begin and end alike, the outcomes are
    /// equal, too.
    #[inline]
    pub fn compare(&self, one: Signal, other: Signal) -> usize {
        let spares = |strong: Signal, weak: Signal| match self.rule {
            Rule::First { ratio } => ratio * weak.power_w <= strong.power_w,
            Rule::Sinr { ratio, noise_w, .. } => strong.power_w >= ratio * (noise_w + weak.power_w),
        };
        // Powers are numbers above zero.
        let stronger = other.power_w <= one.power_w;
        let decoded = |signal| self.alone(signal).outcome.decoded();
        [
            stronger,
            spares(one, other),
            spares(other, one),
            one.sensed(),
            other.sensed(),
            decoded(one),
            decoded(other),
        ]
        .into_iter()
        .fold(0, |number, bit| number << 1 | usize::from(bit))
    }

    /// Number of results of [`Self::compare`].
    pub const COMPARISONS: usize = 1 << 7;

    /// Whether the outcomes of more than two frames, none of which begins after another has ended, follow likewise from
    /// how each two of them compare, and from the order in which they end: powers do not add up.
    #[inline]
    pub fn compares_in_pairs(&self) -> bool {
        matches!(self.rule, Rule::First { .. })
    }

    /// True if at `now` the receiver is with a frame that it may still decode. It then stays with this frame, or with
    /// another frame that collides with it, to the end, if the station does not transmit.
    pub fn receiving(&mut self, now: Time) -> bool {
        self.judge();
        let hopeful = |a: &IncomingFrame| !a.deaf && self.may_decode(a.air.begins, a.signal, now);
        let held = |hold: &Hold| self.incoming.iter().any(|a| a.frame == hold.frame && hopeful(a));
        self.hold.as_ref().is_some_and(held)
    }

    /// As above, for a frame that was not reported to the receiver ([`Self::alone`]).
    pub fn may_decode(&self, begins: Time, signal: Signal, now: Time) -> bool {
        let found = match self.rule {
            Rule::First { .. } => true,
            // Until the window is over, the receiver may switch to a frame that begins.
            Rule::Sinr { ratio, noise_w, window } => {
                now > begins + window && signal.power_w >= ratio * noise_w
            }
        };
        found && signal.decodable()
    }

    /// True if a frame is on the air that makes the medium busy for this station.
    pub fn senses(&self) -> bool {
        self.on_air().any(|incoming| incoming.signal.sensed())
    }

    fn on_air(&self) -> impl Iterator<Item = &IncomingFrame> {
        self.incoming.iter().filter(|incoming| !incoming.ended)
    }

    /// Removes a frame. The order of the others stays: of many frames, each removal by itself would move all.
    #[inline(always)]
    fn take(&mut self, frame: FrameId) -> Option<IncomingFrame> {
        let is = |a: &IncomingFrame| a.frame == frame && !a.ended;
        let at = match self.incoming.get(self.next) {
            Some(next) if is(next) => self.next,
            _ => self.incoming.iter().position(is)?,
        };
        if self.incoming.len() <= FEW && self.ended == 0 {
            return Some(self.incoming.remove(at));
        }
        self.incoming[at].ended = true;
        let taken = self.incoming[at];
        (self.ended, self.next) = (self.ended + 1, at + 1);
        if self.ended * 2 > self.incoming.len() {
            self.sweep();
        }
        Some(taken)
    }

    /// Removes the frames that have ended.
    #[cold]
    fn sweep(&mut self) {
        self.incoming.retain(|incoming| !incoming.ended);
        (self.ended, self.next) = (0, 0);
    }

    /// Adds a frame, which [`Self::judge`] decides about.
    #[inline(always)]
    fn join(&mut self, new: IncomingFrame) {
        let window = match self.rule {
            Rule::First { .. } => Span::ZERO,
            Rule::Sinr { window, .. } => window,
        };
        // A window that opened while the station transmitted is not that of a frame that the station can hear.
        let hears_again = !new.deaf && self.since < self.deaf_until;
        // A receiver without frames has no state to keep.
        if self.incoming.len() == self.ended || new.air.begins > self.since + window || hears_again
        {
            self.judge();
            self.since = new.air.begins;
            self.before = self.hold;
            self.overlaps_before = self.overlaps.len();
            self.untouched = true;
        }
        self.incoming.push(new);
        (self.sorted, self.unjudged) = (false, true);
    }

    /// Decides about all frames that began together last, if there are new ones.
    #[inline(always)]
    fn judge(&mut self) {
        if std::mem::replace(&mut self.unjudged, false) {
            self.judge_all();
        }
    }
}
