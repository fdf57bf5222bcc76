//! The endpoint's clock, and the kernel's stamps mapped onto it.
//!
//! Endpoints live on `CLOCK_MONOTONIC`. The kernel stamps packets with `CLOCK_REALTIME`. Both are
//! slewed alike (`adjtimex` steers the rate of both), so their difference is constant until
//! somebody steps the wall clock; it is nevertheless measured afresh around every batch.

use airqueue_core::{Span, Time};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};

/// A change of the offset beyond this is a step of the wall clock, in nanoseconds.
const STEP_NS: i64 = 1_000_000;
/// How far in the future a stamp may seem to lie: the reading error of the offset.
const AHEAD: Span = Span::from_micros(200);
/// How long before a packet became readable the kernel may have stamped it: on a busy host the packet
/// then waits for the soft interrupt.
const BEHIND: Span = Span::from_millis(20);
/// A reading of both clocks that took longer than this was interrupted and is repeated.
const CLEAN_READING_NS: i64 = 5_000;

/// The present on the endpoint's clock.
///
/// # Panics
/// If the kernel has no `CLOCK_MONOTONIC`, which Linux always has.
pub fn monotonic() -> Time {
    Time::from_nanos(read(ClockId::CLOCK_MONOTONIC))
}

fn read(clock: ClockId) -> i64 {
    // Seconds have 32 bits on some machines.
    clock_gettime(clock).expect("Linux always has this clock").num_nanoseconds()
}

/// One simultaneous reading of both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockSample {
    /// When it was taken, on the endpoint's clock.
    pub at: Time,
    /// `CLOCK_REALTIME` minus `CLOCK_MONOTONIC` in nanoseconds.
    pub offset_ns: i64,
    /// Half the time that the reading took, in nanoseconds: the error of `offset_ns`.
    pub error_ns: i64,
}

impl ClockSample {
    /// Reads both clocks; the cleanest of up to four readings.
    pub fn take() -> ClockSample {
        let mut best = Self::take_once();
        for _ in 0..3 {
            if 2 * best.error_ns <= CLEAN_READING_NS {
                break;
            }
            let again = Self::take_once();
            if again.error_ns < best.error_ns {
                best = again;
            }
        }
        best
    }

    fn take_once() -> ClockSample {
        let before = read(ClockId::CLOCK_MONOTONIC);
        let wall = read(ClockId::CLOCK_REALTIME);
        let after = read(ClockId::CLOCK_MONOTONIC);
        ClockSample {
            at: Time::from_nanos(after),
            offset_ns: wall - before - (after - before) / 2,
            error_ns: (after - before) / 2,
        }
    }
}

/// Maps kernel stamps onto the endpoint's clock, across steps of the wall clock.
#[derive(Debug)]
pub struct StampMapper {
    latest: ClockSample,
    /// The offset before a step, while stamps from before the step may still arrive.
    before_step: Option<i64>,
}

impl StampMapper {
    /// A mapper that has seen one sample.
    pub fn new(sample: ClockSample) -> StampMapper {
        StampMapper { latest: sample, before_step: None }
    }

    /// Takes note of a sample; true if the wall clock was stepped since the last one.
    ///
    /// To be called after a batch was read and before its stamps are mapped: every stamp of the batch is then older
    /// than this sample, and a step is known before a stamp is misread.
    pub fn refresh(&mut self, sample: ClockSample) -> bool {
        let change = (sample.offset_ns - self.latest.offset_ns).abs();
        let stepped = change > STEP_NS + sample.error_ns + self.latest.error_ns;
        if stepped {
            self.before_step = Some(self.latest.offset_ns);
        }
        self.latest = sample;
        stepped
    }

    /// All stamps from before the latest sample have been read: later stamps need no second offset.
    pub fn settle(&mut self) {
        self.before_step = None;
    }

    /// The endpoint's time of a kernel stamp (nanoseconds of `CLOCK_REALTIME`) on something that
    /// became readable between `earliest` and the latest sample; `None` if the time is ambiguous.
    pub fn map(&self, stamp_ns: i64, earliest: Time) -> Option<Time> {
        let now = self.latest.at;
        let with = |offset_ns: i64| {
            let at = Time::from_nanos(stamp_ns.checked_sub(offset_ns)?);
            (at <= now + AHEAD).then(|| at.min(now))
        };
        let Some(old) = self.before_step else { return with(self.latest.offset_ns) };
        let recent = |at: &Time| *at + BEHIND >= earliest;
        match (with(self.latest.offset_ns).filter(recent), with(old).filter(recent)) {
            (Some(at), None) | (None, Some(at)) => Some(at),
            // Both sides of the step are plausible, or neither: the caller takes the program's time.
            (Some(_), Some(_)) | (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFSET: i64 = 1_700_000_000_000_000_000;

    fn sample(at_ms: i64, offset_ns: i64) -> ClockSample {
        ClockSample { at: Time::ZERO + Span::from_millis(at_ms), offset_ns, error_ns: 100 }
    }

    fn at(ms: i64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_stamp_is_shifted_by_the_offset() {
        let mut m = StampMapper::new(sample(0, OFFSET));
        assert!(!m.refresh(sample(1_000, OFFSET + 50)));
        let stamp = OFFSET + 50 + 990_000_000;
        assert_eq!(m.map(stamp, at(980)), Some(at(990)));
    }

    #[test]
    fn a_stamp_from_the_future_is_not_believed() {
        let m = StampMapper::new(sample(1_000, OFFSET));
        assert_eq!(m.map(OFFSET + 1_500_000_000, at(0)), None);
        // A reading error may put a stamp a little into the future: such a stamp is clamped to the present.
        assert_eq!(m.map(OFFSET + 1_000_050_000, at(0)), Some(at(1_000)));
    }

    #[test]
    fn after_a_step_old_stamps_keep_the_old_offset() {
        for step in [-30_000_000_000i64, -50_000_000, 50_000_000, 3_600_000_000_000] {
            let mut m = StampMapper::new(sample(1_000, OFFSET));
            // Step at 1005 ms; a packet before it, one after it, both read at 1010 ms.
            assert!(m.refresh(sample(1_010, OFFSET + step)));
            assert_eq!(m.map(OFFSET + 1_003_000_000, at(1_000)), Some(at(1_003)), "{step}");
            assert_eq!(m.map(OFFSET + step + 1_008_000_000, at(1_000)), Some(at(1_008)), "{step}");
            m.settle();
            assert!(!m.refresh(sample(1_020, OFFSET + step)));
            assert_eq!(m.map(OFFSET + step + 1_015_000_000, at(1_010)), Some(at(1_015)));
        }
    }

    #[test]
    fn a_stamp_that_fits_both_sides_of_a_step_is_left_to_the_program() {
        let mut m = StampMapper::new(sample(1_000, OFFSET));
        assert!(m.refresh(sample(1_010, OFFSET + 2_000_000)));
        assert_eq!(m.map(OFFSET + 1_006_000_000, at(1_000)), None);
    }

    #[test]
    fn slow_drift_and_reading_errors_are_no_step() {
        let mut m = StampMapper::new(sample(0, OFFSET));
        for k in 1..100 {
            assert!(!m.refresh(sample(k * 10, OFFSET + k * 5_000)));
        }
        let noisy = ClockSample { error_ns: 3_000_000, ..sample(2_000, OFFSET + 3_000_000) };
        assert!(!m.refresh(noisy));
    }

    #[test]
    fn both_clocks_are_read_closely_together() {
        let before = monotonic();
        let s = ClockSample::take();
        assert!(s.at >= before && s.at <= monotonic());
        assert!(s.error_ns >= 0 && s.offset_ns > 0);
    }
}
