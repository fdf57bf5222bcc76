//! Rate control: the rate at which a station sends its next frame to a receiver.
//!
//! A [`RateControl`] belongs to one sender and one receiver. The caller asks for a rate before each transmission of a
//! data frame ([`RateControl::choose`]) and reports the outcome afterwards ([`RateControl::report`]). A rate control
//! has no clock and takes the time from its caller; random numbers come from a random stream of its own; after
//! construction it allocates nothing. A kind of rate control is one file and one line of `registry`.
//!
//! | | finds the rate by |
//! |---|---|
//! | [`RateControl::Fixed`] | no search: the rate is fixed |
//! | [`Arf`] | steps: up after frames that got through, down after frames that did not |
//! | [`Aarf`] | as [`Arf`], but a step up needs more successes each time that a step up fails at once |
//! | [`Minstrel`] | counting, for each rate, how many frames get through, and trying other rates now and then |
//!
//! ```
//! use airqueue_core::{Seed, Time};
//! use airqueue_wifi::phy::{Conventions, RateIndex, ofdm};
//! use airqueue_wifi::rate_control::{Minstrel, RateControl};
//!
//! let phy = ofdm(Conventions::STANDARD);
//! let rates: Vec<RateIndex> = phy.rates().map(|(rate, _)| rate).collect();
//! let minstrel = Minstrel::new(&phy, &rates, Seed(1).stream("rate_control"));
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

mod aarf;
mod arf;
mod fixed;
mod ladder;
mod minstrel;
mod registry;

pub use aarf::Aarf;
pub use arf::{Arf, ArfRules};
pub use ladder::ladder;
pub use minstrel::Minstrel;
pub use registry::{Beginning, RateControl, RateControlName};

/// Whether a PPDU counts as a success for algorithms that know only success and failure: at least half of its MPDUs
/// were acknowledged. The literature defines success for single frames; of an A-MPDU at a rate that is too fast some
/// MPDUs nearly always arrive.
fn got_through(sent: u32, acknowledged: u32) -> bool {
    acknowledged > 0 && 2 * u64::from(acknowledged) >= u64::from(sent)
}
