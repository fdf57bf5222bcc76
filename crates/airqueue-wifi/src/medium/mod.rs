//! The medium: which stations hear each other, and which frames survive.
//!
//! Three parts, each without a clock, an event loop, or knowledge of the other parts:
//!
//! * [`Reach`] is built once from positions and a [`Propagation`], or from a table of links, and is immutable.
//!   [`Reach::listeners_of`] is a slice of the listeners of a station, with the power and the [`Level`] at which each
//!   receives the station.
//! * [`Reception`] is the receiver of one station. The caller reports when frames begin and end; the receiver returns
//!   the outcome of each frame under the [`Capture`] rule.
//! * [`FrameErrors`] gives the probability that a frame that survived is lost to bit errors.
//!
//! [`Fading`] says how the gain of a link changes with time, and [`Steps`] are values that were recorded over time.
//!
//! # How an engine drives it
//!
//! ```
//! use airqueue_core::Time;
//! use airqueue_wifi::medium::{
//!     Air, Capture, FrameId, Place, Propagation, Reach, RxOutcome, StationId,
//! };
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let place = |id, x_m| Place::new(StationId(id), x_m, 0.0);
//! let reach = Reach::from_places(&[place(0, 0.0), place(1, 200.0)], &Propagation::ns2())?;
//! let mut receptions = reach.receptions(Capture::NS2)?;
//!
//! // Station 0 transmits for 1 ms: its own receiver is deaf, its listeners receive the frame.
//! let air = Air { begins: Time::ZERO, ends: Time::from_nanos(1_000_000) };
//! receptions[0].on_transmit(air);
//! for listener in reach.listeners_of(StationId(0)) {
//!     receptions[listener.station.index()].on_begin(FrameId(7), air, listener.signal());
//! }
//! // At the end of the frame, before anything begins at that instant:
//! for listener in reach.listeners_of(StationId(0)) {
//!     let end = receptions[listener.station.index()].on_end(FrameId(7)).expect("it began");
//!     assert_eq!(end.outcome, RxOutcome::Received);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A frame is on the air from its beginning up to, but not including, its end: two adjacent frames do not overlap. The
//! engine therefore reports all ends of an instant before the beginnings. The order of the beginnings, and of a
//! station's own transmission among them, does not matter: every order gives the same outcomes.
//!
//! Frames that begin together reach all stations together, unless the [`Reach`] has delays ([`Reach::with_delays`]): whoever
//! drives the receivers then shifts each frame by the listener's delay.

mod capture;
mod delays;
mod error;
mod fading;
mod frame_errors;
mod grid;
mod propagation;
mod reach;
mod reception;
mod rising;
mod steps;

pub use capture::{Air, Capture, End, FrameId, RxOutcome};
pub use delays::SPEED_OF_LIGHT;
pub use error::MediumError;
pub use fading::{Fading, FadingLink, FastFading, Shadowing, coherence_of_speed};
pub use frame_errors::{CodeRate, FrameErrors, Mapping, Modulation, thermal_noise_w};
pub use propagation::{PathLoss, Propagation, Thresholds};
pub use reach::{Hearers, Level, Link, Place, Reach, ReachEntry, Signal};
pub use reception::{Overlap, Reception};
pub use steps::Steps;

airqueue_core::ids! {
    /// A station of the network: an index, from 0 and without gaps.
    StationId(u32);
}

/// 10^(`db` / 10), reproducible on every machine.
pub fn from_db(db: f64) -> f64 {
    libm::pow(10.0, db / 10.0)
}
