//! Packets at a constant bit rate, without drift.

use super::registry::{Asked, Carried, Kind};
use super::{Arrivals, Jitter, SourceError, SourceSpec, mean_gap};
use airqueue_core::keys::Result;
use airqueue_core::{DataRate, RandomStream, Serializer, Span, Time};

pub(super) struct Cbr;

impl Kind for Cbr {
    const ABOUT: &'static str =
        "Packets at a constant rate, each late by a random time if there is `jitter`.";
    const JITTERS: bool = true;

    fn carried(asked: &Asked<'_>) -> Result<Carried> {
        let rate = asked.needed_rate()?;
        let arrivals = match asked.jitter {
            Some(jitter) => Arrivals::Jittered { rate, jitter: jitter.check(asked.key)? },
            None => Arrivals::Constant(rate),
        };
        Ok(Carried::Packets { source: asked.packets(arrivals), call: None })
    }
}

/// One packet per transmission time of a packet at the rate.
#[derive(Clone, Debug)]
pub(super) struct Constant {
    line: Serializer,
}

impl Constant {
    pub(super) fn new(
        rate: DataRate,
        spec: &SourceSpec,
    ) -> std::result::Result<Constant, SourceError> {
        mean_gap(rate, spec)?;
        Ok(Constant { line: Serializer::new(rate) })
    }

    #[inline]
    pub(super) fn after(&mut self, at: Time, size_bytes: u32) -> Time {
        at + self.line.send(size_bytes)
    }
}

/// As [`Constant`], with a random delay of each packet that does not delay the packets behind it, unless it would let them
/// overtake: packets keep their order, and the rate has no drift.
#[derive(Clone, Debug)]
pub(super) struct Jittered {
    constant: Constant,
    jitter: Jitter,
    rng: RandomStream,
    /// When the last packet would have arrived without jitter.
    exact: Time,
}

impl Jittered {
    pub(super) fn new(
        rate: DataRate,
        jitter: Jitter,
        spec: &SourceSpec,
        rng: RandomStream,
    ) -> std::result::Result<Jittered, SourceError> {
        if jitter.mean <= Span::ZERO {
            return Err(SourceError::Jitter(jitter.mean));
        }
        Ok(Jittered { constant: Constant::new(rate, spec)?, jitter, rng, exact: spec.start })
    }

    /// When the first packet arrives.
    pub(super) fn first(&mut self) -> Time {
        self.late(self.exact)
    }

    #[inline]
    pub(super) fn after(&mut self, at: Time, size_bytes: u32) -> Time {
        self.exact = self.constant.after(self.exact, size_bytes);
        self.late(self.exact).max(at)
    }

    fn late(&mut self, exact: Time) -> Time {
        exact.saturating_add(self.jitter.law.span(self.jitter.mean, &mut self.rng))
    }
}
