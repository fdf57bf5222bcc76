//! Periodic packets, throughout or in talk spurts.

use super::SourceError;
use airqueue_core::{RandomStream, Span, Time};

/// Alternating talk spurts and silences, with exponentially distributed durations. The first is a talk spurt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnOff {
    /// Mean duration of a talk spurt.
    pub talk: Span,
    /// Mean duration of a silence.
    pub silence: Span,
}

/// One packet per period, without drift.
#[derive(Clone, Debug)]
pub(super) struct Periodic {
    every: Span,
    turns: Option<Turns>,
}

impl Periodic {
    /// A source whose first packet arrives at `start`.
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

/// The present talk spurt, and the random stream for the durations.
#[derive(Clone, Debug)]
struct Turns {
    on_off: OnOff,
    rng: RandomStream,
    /// When the present talk spurt ends.
    ends: Time,
}

impl Turns {
    /// The first talk spurt begins at `start`.
    fn new(on_off: OnOff, mut rng: RandomStream, start: Time) -> Result<Turns, SourceError> {
        let OnOff { talk, silence } = on_off;
        if talk <= Span::ZERO || silence <= Span::ZERO {
            return Err(SourceError::OnOff { talk, silence });
        }
        let ends = start + rng.exponential(talk);
        Ok(Turns { on_off, rng, ends })
    }

    /// When the packet arrives that would arrive at `next` without silences: at the beginning of the next talk spurt
    /// if the present one is over.
    fn put_off(&mut self, next: Time) -> Time {
        if next < self.ends {
            return next;
        }
        let begins = self.ends + self.rng.exponential(self.on_off.silence);
        self.ends = begins + self.rng.exponential(self.on_off.talk);
        begins
    }
}
