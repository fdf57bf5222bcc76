//! Integer-nanosecond time. The virtual clock and the wall clock both use these types.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A point on some clock, in nanoseconds since that clock's epoch. Two `Time`s compare only if they
/// come from the same clock: the sender's and the receiver's are two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

/// A signed length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(i64);

impl Time {
    /// The clock's epoch.
    pub const ZERO: Time = Time(0);
    /// A time later than every event.
    pub const MAX: Time = Time(i64::MAX);

    /// The point `ns` nanoseconds after the epoch.
    pub const fn from_nanos(ns: i64) -> Self {
        Time(ns)
    }

    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// The point `span` later, or the last one there is.
    pub const fn saturating_add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }

    /// Seconds since the epoch, for display and statistics only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Span {
    /// The empty span.
    pub const ZERO: Span = Span(0);

    /// A span of `ns` nanoseconds.
    pub const fn from_nanos(ns: i64) -> Self {
        Span(ns)
    }

    /// A span of `us` microseconds.
    pub const fn from_micros(us: i64) -> Self {
        Span(us * 1_000)
    }

    /// A span of `ms` milliseconds.
    pub const fn from_millis(ms: i64) -> Self {
        Span(ms * 1_000_000)
    }

    /// A span of `s` seconds.
    pub const fn from_secs(s: i64) -> Self {
        Span(s * 1_000_000_000)
    }

    /// Nearest span to `s` seconds; saturates at the ends of the range.
    pub fn from_secs_f64(s: f64) -> Self {
        Span((s * 1e9).round() as i64)
    }

    /// Length in nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Length in seconds, for display and statistics only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, rhs: Span) -> Time {
        Time(self.0 + rhs.0)
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, rhs: Span) {
        self.0 += rhs.0;
    }
}

impl Sub for Time {
    type Output = Span;
    fn sub(self, rhs: Time) -> Span {
        Span(self.0 - rhs.0)
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    fn sub(self, rhs: Span) -> Time {
        Time(self.0 - rhs.0)
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, rhs: Span) -> Span {
        Span(self.0 + rhs.0)
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, rhs: Span) -> Span {
        Span(self.0 - rhs.0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9} s", self.as_secs_f64())
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9} s", self.as_secs_f64())
    }
}
