//! The list of rate controls, one line each. Each rate control is defined in its own file.

use super::aarf::Aarf;
use super::arf::Arf;
use super::minstrel::Minstrel;
use crate::phy::{Phy, RateIndex};
use airqueue_core::{RandomStream, Time};

/// A kind of rate control, implemented in its own file. The methods called for each frame are marked `#[inline]`.
pub(super) trait Kind: Sized {
    /// The description for the schema of scenarios.
    const ABOUT: &'static str;
    /// Whether the rate control searches for the rate.
    const LOOKS: bool = true;

    /// The rate control of a sender that starts sending to a receiver.
    fn begin(with: Beginning<'_>) -> Self;
    /// [`RateControl::choose`].
    fn choose(&mut self, attempt: u32) -> RateIndex;
    /// [`RateControl::sends_one`].
    #[inline]
    fn sends_one(&self) -> bool {
        false
    }
    /// [`RateControl::report`].
    fn report(&mut self, rate: RateIndex, sent: u32, acknowledged: u32, now: Time);
    /// [`RateControl::rate`].
    fn rate(&self) -> RateIndex;
}

/// The parameters of a new rate control.
#[derive(Clone, Debug)]
pub struct Beginning<'a> {
    /// The physical layer of the rates.
    pub phy: &'a Phy,
    /// The rates of the sender, at least one: all of one format, or all without a format.
    pub rates: &'a [RateIndex],
    /// The random stream of the rate control.
    pub rng: RandomStream,
}

/// Defines the names of rate controls, and the enum of their types, which is dispatched without a table of functions.
macro_rules! rate_controls {
    ($($word:ident: $Kind:ident($Type:ty);)+) => {
        airqueue_core::words! {
            /// How a station finds the rate of its data frames to another.
            #[derive(PartialOrd, Ord)]
            pub enum RateControlName: "Rate control of data frames" {
                $($word: $Kind, <$Type as Kind>::ABOUT;)+
            }
        }

        impl RateControlName {
            /// Whether the rate control searches for the rate. Otherwise the rate is fixed.
            pub fn looks(self) -> bool {
                match self {
                    $(RateControlName::$Kind => <$Type as Kind>::LOOKS,)+
                }
            }

            /// The rate control of a sender that starts sending to a receiver; a fixed rate is the first of the rates.
            ///
            /// # Panics
            ///
            /// If there are no rates.
            pub fn begin(self, with: Beginning<'_>) -> RateControl {
                match self {
                    $(RateControlName::$Kind => RateControl::$Kind(<$Type as Kind>::begin(with)),)+
                }
            }
        }

        /// How a sender finds the rate of its data frames to a receiver.
        #[derive(Clone, Debug)]
        pub enum RateControl {
            $(
                #[doc = concat!("`", stringify!($word), "`")]
                $Kind($Type),
            )+
        }

        impl RateControl {
            /// The rate of the next transmission of a frame after `attempt` failed transmissions. Repeated calls return
            /// an unchanged rate until the next [`Self::report`].
            #[inline]
            pub fn choose(&mut self, attempt: u32) -> RateIndex {
                match self {
                    $(RateControl::$Kind(control) => Kind::choose(control, attempt),)+
                }
            }

            /// Whether the next transmission has a single MPDU, although more could be aggregated. The answer changes
            /// with [`Self::report`] and with [`Self::choose`].
            #[inline]
            pub fn sends_one(&self) -> bool {
                match self {
                    $(RateControl::$Kind(control) => Kind::sends_one(control),)+
                }
            }

            /// Reports the outcome of a PPDU: `acknowledged` of its `sent` MPDUs were acknowledged, 0 if no response
            /// arrived. An RTS without CTS carries no information about the data rate and is not reported.
            #[inline]
            pub fn report(&mut self, rate: RateIndex, sent: u32, acknowledged: u32, now: Time) {
                match self {
                    $(RateControl::$Kind(control) => {
                        Kind::report(control, rate, sent, acknowledged, now);
                    })+
                }
            }

            /// The rate that is best by present knowledge.
            pub fn rate(&self) -> RateIndex {
                match self {
                    $(RateControl::$Kind(control) => Kind::rate(control),)+
                }
            }
        }
    };
}

rate_controls! {
    fixed: Fixed(RateIndex);
    arf: Arf(Arf);
    aarf: Aarf(Aarf);
    minstrel: Minstrel(Box<Minstrel>);
}
