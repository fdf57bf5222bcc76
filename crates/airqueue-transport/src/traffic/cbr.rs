//! Packets at a constant bit rate, without drift.

use super::registry::{Asked, Carried, Kind};
use super::{Arrivals, SourceError, SourceSpec, mean_gap};
use airqueue_core::keys::Result;
use airqueue_core::{DataRate, Serializer, Time};

pub(super) struct Cbr;

impl Kind for Cbr {
    const ABOUT: &'static str = "Packets at a constant rate.";

    fn carried(asked: &Asked<'_>) -> Result<Carried> {
        let source = asked.packets(Arrivals::Constant(asked.needed_rate()?));
        Ok(Carried::Packets { source, call: None })
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
