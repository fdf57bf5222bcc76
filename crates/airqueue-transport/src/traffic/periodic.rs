//! A packet every so often, in all the time or in spurts.

use super::SourceError;
use airqueue_core::{Span, Stream, Time};

/// Times with packets and times without, by turns, exponentially distributed. The first is one with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spurts {
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
        spurts: Option<Spurts>,
        chance: Stream,
        start: Time,
    ) -> Result<Periodic, SourceError> {
        if every <= Span::from_nanos(1) {
            return Err(SourceError::TooOften(every));
        }
        let turns = spurts.map(|spurts| Turns::new(spurts, chance, start)).transpose()?;
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
    spurts: Spurts,
    chance: Stream,
    /// When the present spurt ends.
    ends: Time,
}

impl Turns {
    /// The first spurt begins at `start`.
    fn new(spurts: Spurts, mut chance: Stream, start: Time) -> Result<Turns, SourceError> {
        let Spurts { talk, silence } = spurts;
        if talk <= Span::ZERO || silence <= Span::ZERO {
            return Err(SourceError::Spurts { talk, silence });
        }
        let ends = start + chance.exponential(talk);
        Ok(Turns { spurts, chance, ends })
    }

    /// When the packet comes that would come at `next` without pauses: with the next spurt, if this one is over.
    fn put_off(&mut self, next: Time) -> Time {
        if next < self.ends {
            return next;
        }
        let begins = self.ends + self.chance.exponential(self.spurts.silence);
        self.ends = begins + self.chance.exponential(self.spurts.talk);
        begins
    }
}
