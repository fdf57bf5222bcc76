//! Rate control: at which rate a station sends its next frame to a receiver.
//!
//! A [`RateControl`] belongs to one sender and one receiver. It is asked before each transmission of a
//! data frame ([`RateControl::choose`]) and told what became of it ([`RateControl::report`]). It reads no
//! clock and learns the time from its caller; chance comes from a stream that it is given; and it allocates
//! nothing after it was made.
//!
//! | | finds the rate by |
//! |---|---|
//! | [`RateControl::Fixed`] | nothing: it has one |
//! | [`Arf`] | steps: up after frames that got through, down after frames that did not |
//! | [`Minstrel`] | counting, for each rate, how many frames get through, and trying other rates now and then |
//!
//! ```
//! use airqueue_core::{Seed, Time};
//! use airqueue_wifi::phy::{Conventions, RateIndex, ofdm};
//! use airqueue_wifi::rate_control::{Minstrel, RateControl};
//!
//! let phy = ofdm(Conventions::STANDARD);
//! let rates: Vec<RateIndex> = phy.rates().map(|(rate, _)| rate).collect();
//! let minstrel = Minstrel::new(&phy, &rates, 1500, Seed(1).stream("rate_control"));
//! let mut control = RateControl::Minstrel(Box::new(minstrel));
//! let mut now = Time::ZERO;
//! for frame in 0..2000 {
//!     let rate = control.choose(0);
//!     // Here all frames get through up to 36 Mb/s, and none beyond.
//!     let acknowledged = u32::from(phy.rate(rate).as_bps() <= 36_000_000);
//!     now = now + phy.airtime(rate, 1500);
//!     control.report(rate, 1, acknowledged, now);
//! }
//! assert_eq!(phy.rate(control.rate()).as_bps(), 36_000_000);
//! ```

mod arf;
mod cost;
mod ladder;
mod minstrel;

pub use arf::{Arf, ArfRules};
pub use ladder::ladder;
pub use minstrel::Minstrel;

use crate::phy::RateIndex;
use airqueue_core::Time;

/// How a sender finds the rate of its data frames to a receiver.
#[derive(Clone, Debug)]
pub enum RateControl {
    /// It has one.
    Fixed(RateIndex),
    /// By steps up and down: ARF and AARF.
    Arf(Arf),
    /// By the throughput that each rate would have.
    Minstrel(Box<Minstrel>),
}

impl RateControl {
    /// The rate of the next transmission of a frame that was sent `attempt` times in vain. The answer stays
    /// the same until the next [`Self::report`]: it may be asked for as often as is convenient.
    #[inline]
    pub fn choose(&mut self, attempt: u32) -> RateIndex {
        match self {
            RateControl::Fixed(rate) => *rate,
            RateControl::Arf(arf) => arf.rate(),
            RateControl::Minstrel(minstrel) => minstrel.choose(attempt),
        }
    }

    /// What became of a PPDU: of its `sent` MPDUs so many were `acknowledged`, 0 if no response came. An RTS
    /// without CTS says nothing about the data rate and is not reported.
    #[inline]
    pub fn report(&mut self, rate: RateIndex, sent: u32, acknowledged: u32, now: Time) {
        match self {
            RateControl::Fixed(_) => {}
            RateControl::Arf(arf) => arf.report(got_through(sent, acknowledged)),
            RateControl::Minstrel(minstrel) => minstrel.report(rate, sent, acknowledged, now),
        }
    }

    /// The rate that it holds for the best at present.
    pub fn rate(&self) -> RateIndex {
        match self {
            RateControl::Fixed(rate) => *rate,
            RateControl::Arf(arf) => arf.rate(),
            RateControl::Minstrel(minstrel) => minstrel.rate(),
        }
    }
}

/// Whether a PPDU counts as a success where there are only successes and failures: at least half of its MPDUs
/// did. The literature has this for single frames; of an A-MPDU at a rate that is too fast some MPDUs nearly
/// always arrive.
fn got_through(sent: u32, acknowledged: u32) -> bool {
    acknowledged > 0 && 2 * u64::from(acknowledged) >= u64::from(sent)
}
