//! A fixed rate.

use super::registry::{Beginning, Kind};
use crate::phy::RateIndex;
use airqueue_core::Time;

impl Kind for RateIndex {
    const ABOUT: &'static str = "The given rate.";
    const LOOKS: bool = false;

    fn begin(with: Beginning<'_>) -> RateIndex {
        *with.rates.first().expect("a station has a rate")
    }

    #[inline]
    fn choose(&mut self, _: u32) -> RateIndex {
        *self
    }

    #[inline]
    fn report(&mut self, _: RateIndex, _: u32, _: u32, _: Time) {}

    fn rate(&self) -> RateIndex {
        *self
    }
}
