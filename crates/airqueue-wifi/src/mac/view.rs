//! The state of the medium as seen by a station.

use super::behaviour::{ErrorWait, Rules};
use super::frame::{Frame, FrameKind};
use crate::medium::{RxOutcome, StationId};
use crate::phy::Phy;
use airqueue_core::{Span, Time};

/// What the radios of all stations have in common.
#[derive(Clone, Debug)]
pub struct Radio {
    /// The physical layer with the control rates in use.
    pub phy: Phy,
    /// The rules that stations follow.
    pub rules: Rules,
    pub(super) slot: Span,
    /// By how much a frame in error delays the beginning of DIFS or AIFS.
    error_hold: Span,
}

/// What a frame means to the stations that it is not addressed to.
#[derive(Clone, Copy, Debug)]
pub struct Overheard {
    /// Clears the NAV of earlier frames (10.3.2.4).
    clears: bool,
    /// Who holds the TXOP: the sender of the frame, or the station that a response is for.
    holder: StationId,
    /// The NAV that it sets.
    until: Time,
    /// The NAV, if it is reset because no frame follows.
    unless_confirmed: Time,
    /// Latest time at which the next frame must begin.
    confirm_by: Time,
}

impl Radio {
    /// Radios on a physical layer that was made with the conventions of `rules`.
    pub fn new(phy: Phy, rules: Rules) -> Radio {
        let error_hold = match rules.error_wait {
            ErrorWait::Eifs => phy.eifs() - phy.difs(),
            ErrorWait::EifsAsNav => phy.eifs(),
        };
        Radio { slot: phy.slot(), phy, rules, error_hold }
    }

    /// What a frame that ends at `now` means to the stations that it is not addressed to.
    #[inline(always)]
    pub fn overheard(&self, frame: &Frame, now: Time) -> Overheard {
        let until = now + frame.nav;
        let clears = frame.kind == FrameKind::CfEnd;
        let responds = matches!(frame.kind, FrameKind::Cts | FrameKind::Ack | FrameKind::BlockAck);
        let holder = if responds { frame.to } else { frame.from };
        if frame.kind != FrameKind::Rts || !self.rules.nav_reset {
            return Overheard { clears, holder, until, unless_confirmed: until, confirm_by: until };
        }
        let unless_confirmed = now + self.phy.nav_timeout(frame.rate);
        // PHY-RXSTART counts, at the end of a preamble.
        let confirm_by = unless_confirmed - self.phy.preamble(self.phy.response_rate(frame.rate));
        Overheard { clears, holder, until, unless_confirmed, confirm_by }
    }
}

/// What decides whether the medium is idle, and since when: carrier sense, NAV and EIFS, of one station
/// ([`super::Mac`]) or of several stations that see the same events ([`super::LockstepGroup`]).
// `repr(C)` keeps the fields together that every frame in range touches.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// Frames on the air that make the medium busy here.
    pub(super) sensed: u32,
    pub(super) transmitting: bool,
    /// Counters are up to date and frozen.
    pub(super) frozen: bool,
    /// When the station notices the first of these frames.
    pub(super) noticed: Time,
    /// Since when the station has been sensing or transmitting, if it does.
    busy_since: Time,
    /// Total of all busy times that have ended.
    pub(super) busy_time: Span,
    /// When the medium last became idle.
    pub(super) quiet_from: Time,
    /// Since when counters run, or when they last started.
    pub(super) idle_from: Time,
    nav_until: Time,
    /// The NAV if a frame follows the RTS that set it (10.3.2.4).
    nav_if_confirmed: Time,
    hold_until: Time,
    /// When the first counter ends if the medium stays idle.
    pub(super) grant: Time,
    /// Latest beginning of the frame that confirms `nav_if_confirmed`.
    confirm_by: Time,
    /// The TXOP holders whose exchanges set the NAV and `nav_if_confirmed`; without meaning when these are over.
    nav_holder: StationId,
    holder_if_confirmed: StationId,
}

impl View {
    /// A medium that has never been busy.
    pub(super) const IDLE: View = View {
        sensed: 0,
        transmitting: false,
        frozen: false,
        noticed: Time::ZERO,
        busy_since: Time::ZERO,
        busy_time: Span::ZERO,
        quiet_from: Time::ZERO,
        idle_from: Time::ZERO,
        nav_until: Time::ZERO,
        nav_if_confirmed: Time::ZERO,
        hold_until: Time::ZERO,
        grant: Time::MAX,
        confirm_by: Time::ZERO,
        nav_holder: StationId(u32::MAX),
        holder_if_confirmed: StationId(u32::MAX),
    };

    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        self.sensed > 0 || self.transmitting
    }

    /// Whether a frame is on the air that was noticed before `now`.
    pub(super) fn has_noticed(&self, now: Time) -> bool {
        self.is_busy() && self.noticed < now
    }

    /// Whether the medium is idle and counters run.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        !self.is_busy() && !self.frozen
    }

    #[inline]
    pub(super) fn is_kept_silent(&self, now: Time) -> bool {
        now < self.nav_until
    }

    /// Whether the NAV keeps the station from answering an RTS of another one: not one of the TXOP holder whose exchange
    /// set the NAV (IEEE 802.11-2016, 10.22.2.4).
    pub(super) fn is_kept_silent_for(&self, other: StationId, now: Time) -> bool {
        self.is_kept_silent(now) && self.nav_holder != other
    }

    /// When SIFS and AIFSN slots begin if the medium is idle.
    #[inline]
    pub(super) fn base(&self) -> Time {
        self.idle_from.max(self.nav_until).max(self.hold_until)
    }

    /// A frame that makes the medium busy begins. True if counters are to be frozen at `noticed`.
    #[inline]
    pub(super) fn begin_sensing(&mut self, now: Time, radio: &Radio) -> bool {
        if self.nav_if_confirmed > self.nav_until {
            self.confirm_nav(now);
        }
        self.begin_energy(now, radio)
    }

    /// As above, for energy that is no frame and so does not follow an RTS.
    #[inline]
    pub(super) fn begin_energy(&mut self, now: Time, radio: &Radio) -> bool {
        if self.sensed == 0 {
            self.noticed = now + radio.rules.sense_delay;
            self.begin_busy(now);
        }
        self.sensed += 1;
        // A counter that ends before the frame is noticed has ended.
        !self.frozen && self.grant > self.noticed
    }

    /// The radio leaves the channel. Until it comes back, which is [`Self::end_sensing`], the medium counts as busy, and
    /// the radio notices so at once. True if counters are to be frozen now.
    pub(super) fn begin_absence(&mut self, now: Time) -> bool {
        if self.sensed == 0 {
            self.begin_busy(now);
        }
        self.noticed = now;
        self.sensed += 1;
        !self.frozen
    }

    /// As above, for a frame of which only the busy time matters.
    #[inline]
    pub(super) fn begin_watching(&mut self, now: Time) {
        self.begin_busy(now);
        self.sensed += 1;
    }

    /// Such a frame ends. True if no frame is left on the air.
    #[inline]
    pub(super) fn end_sensing(&mut self, now: Time) -> bool {
        self.sensed -= 1;
        self.end_busy(now);
        self.sensed == 0
    }

    #[cold]
    fn confirm_nav(&mut self, now: Time) {
        if now <= self.confirm_by {
            (self.nav_until, self.nav_holder) = (self.nav_if_confirmed, self.holder_if_confirmed);
        }
        self.nav_if_confirmed = Time::ZERO;
    }

    #[inline]
    pub(super) fn begin_busy(&mut self, now: Time) {
        if !self.is_busy() {
            self.busy_since = now;
        }
    }

    #[inline]
    pub(super) fn end_busy(&mut self, now: Time) {
        if !self.is_busy() {
            self.busy_time = self.busy_time + (now - self.busy_since);
            self.quiet_from = now;
        }
    }

    /// How long, up to `now`, frames were sensed or transmitted.
    pub(super) fn busy_time(&self, now: Time) -> Span {
        let ongoing = if self.is_busy() { now - self.busy_since } else { Span::ZERO };
        self.busy_time + ongoing
    }

    /// The medium is idle at `now`, and counters run.
    #[inline]
    pub(super) fn thaw(&mut self, now: Time) {
        if self.frozen {
            self.frozen = false;
            self.idle_from = now;
        }
    }

    /// The receiver has received a frame in error. False if the error has no effect.
    pub(super) fn on_frame_error(&mut self, outcome: RxOutcome, now: Time, radio: &Radio) -> bool {
        if outcome == RxOutcome::Deaf && !radio.rules.deaf_errors {
            return false;
        }
        let hold = now + radio.error_hold;
        match radio.rules.error_wait {
            ErrorWait::Eifs => self.hold_until = hold,
            ErrorWait::EifsAsNav => self.nav_until = self.nav_until.max(hold),
        }
        true
    }

    /// The receiver ignored a frame that began at `begins` because of a stronger frame.
    pub(super) fn ignore(&mut self, begins: Time, now: Time, radio: &Radio) {
        if radio.rules.ignored_nav {
            let until = begins + radio.phy.nav(now - begins + radio.phy.eifs());
            self.nav_until = self.nav_until.max(until);
        }
    }

    /// A frame has been decoded: earlier errors have no effect any more.
    #[inline]
    pub(super) fn understand(&mut self) {
        self.hold_until = Time::ZERO;
    }

    /// A frame for another station has been decoded.
    #[inline]
    pub(super) fn overhear(&mut self, overheard: Overheard) {
        self.understand();
        if overheard.clears {
            (self.nav_until, self.nav_if_confirmed) = (overheard.until, Time::ZERO);
        } else if overheard.until > self.nav_until {
            self.set_nav(overheard);
        }
    }

    #[inline]
    fn set_nav(&mut self, overheard: Overheard) {
        let Overheard { holder, until, unless_confirmed, confirm_by, .. } = overheard;
        if unless_confirmed < until {
            (self.nav_if_confirmed, self.holder_if_confirmed) = (until, holder);
            self.confirm_by = confirm_by;
            if unless_confirmed > self.nav_until {
                (self.nav_until, self.nav_holder) = (unless_confirmed, holder);
            }
        } else {
            (self.nav_until, self.nav_holder) = (until, holder);
        }
    }

    /// Whether two views of an idle medium agree from now on. The past may differ: a NAV that has expired, an EIFS
    /// that ends before counting begins, an RTS that no frame has confirmed.
    #[inline]
    pub(super) fn agrees(&self, other: &View, now: Time) -> bool {
        let live = |view: &View| view.nav_if_confirmed > view.nav_until && view.confirm_by >= now;
        let pending =
            |view: &View| (view.nav_if_confirmed, view.confirm_by, view.holder_if_confirmed);
        let alike = self.nav_until == other.nav_until && self.nav_holder == other.nav_holder;
        let base = self.base();
        self.is_idle()
            && other.is_idle()
            && base == other.base()
            && (alike || self.nav_until.max(other.nav_until) <= now)
            && (self.hold_until == other.hold_until
                || self.hold_until.max(other.hold_until) <= base)
            && live(self) == live(other)
            && (!live(self) || pending(self) == pending(other))
    }
}
