//! Signals that change, and energy that is no frame of a station.
//!
//! The signals of some links vary ([`SignalLaw`]): they fade, or follow a recorded signal-to-noise ratio. How a listener
//! hears a frame is decided when the frame begins, and holds to its end; carrier sense, capture and bit errors follow.
//!
//! An interferer ([`InterfererSpec`]) radiates in bursts by a law. At a station whose radio detects so much energy the
//! medium is busy meanwhile; the receiver never locks onto it, and nothing follows it as EIFS follows a frame. Where a
//! burst overlaps a frame, it adds to the noise for just that part of the frame.
//!
//! A network with neither has none of this: [`SignalsSpec::is_used`] is false.

mod bursts;
mod counters;
mod interferers;
mod spec;

pub use counters::LinkCounters;
pub use interferers::InterfererCounters;
pub(super) use interferers::Interferers;
pub use spec::{
    BurstLaw, Energy, InterfererSpec, LinkSignal, Received, SignalLaw, SignalsSpec, Within,
};
