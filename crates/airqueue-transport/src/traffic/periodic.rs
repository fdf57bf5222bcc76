//! A packet every so often, in all the time or in spurts.

use super::SourceError;
use airqueue_core::{RandomStream, Span, Time};

/// Times with packets and times without, by turns, exponentially distributed. The first is one with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnOff {
    /// Mean of those with.
    pub talk: Span,
    /// Mean of those without.
    pub silence: Span,
}

/// A packet each period, without drift.
#[derive(Clone, Debug)]
pub(super) struct Periodic {
    every: Span,
    turns: Option<Turns>,
}

impl Periodic {
    /// The first packet comes at `start`.
    pub(super) fn new(
        every: Span,
        on_off: Option<OnOff>,
        rng: RandomStream,
        start: Time,
    ) -> Result<Periodic, SourceError> {
        if every <= Span::from_nanos(1) {
            return Err(SourceError::TooOften(every));
        }
        let turns = on_off.map(|on_off| Turns::new(on_off, rng, start)).transpose()?;
        Ok(Periodic { every, turns })
    }

    #[inline]
    pub(super) fn after(&mut self, at: Time) -> Time {
        let next = at + self.every;
        self.turns.as_mut().map_or(next, |turns| turns.put_off(next))
    }
}

/// The present spurt, and the random stream that the lengths of spurts are drawn from.
#[derive(Clone, Debug)]
struct Turns {
    on_off: OnOff,
    rng: RandomStream,
    /// When the present spurt ends.
    ends: Time,
}

impl Turns {
    /// The first spurt begins at `start`.
    fn new(on_off: OnOff, mut rng: RandomStream, start: Time) -> Result<Turns, SourceError> {
        let OnOff { talk, silence } = on_off;
        if talk <= Span::ZERO || silence <= Span::ZERO {
            return Err(SourceError::OnOff { talk, silence });
        }
        let ends = start + rng.exponential(talk);
        Ok(Turns { on_off, rng, ends })
    }

    /// When the packet comes that would come at `next` without pauses: with the next spurt, if this one is over.
    fn put_off(&mut self, next: Time) -> Time {
        if next < self.ends {
            return next;
        }
        let begins = self.ends + self.rng.exponential(self.on_off.silence);
        self.ends = begins + self.rng.exponential(self.on_off.talk);
        begins
    }
}
