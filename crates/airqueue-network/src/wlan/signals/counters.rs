//! The counters of links whose signals change.

/// Data frames over a link in one direction, at their receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkCounters {
    /// Frames that ended.
    pub frames: u64,
    /// Those of which the receiver decoded nothing, for whatever reason.
    pub lost: u64,
    /// Mean of the frames' signal-to-noise ratios in dB, without interference; 0 without frames.
    snr_mean_db: f64,
    /// Sum of the squared differences from the mean.
    snr_squares: f64,
}

impl LinkCounters {
    /// Welford's method (Technometrics 4(3), 1962): sums of the values and their squares would cancel digits.
    pub(in crate::wlan) fn on_frame(&mut self, snr_db: f64, decoded: bool) {
        self.frames += 1;
        self.lost += u64::from(!decoded);
        let from_old = snr_db - self.snr_mean_db;
        self.snr_mean_db += from_old / self.frames as f64;
        self.snr_squares += from_old * (snr_db - self.snr_mean_db);
    }

    /// Mean and standard deviation of the frames' signal-to-noise ratios in dB, without interference; `None`: no frames.
    pub fn snr_db(&self) -> Option<(f64, f64)> {
        let sd = || libm::sqrt(self.snr_squares / self.frames as f64);
        (self.frames > 0).then(|| (self.snr_mean_db, sd()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(values: impl IntoIterator<Item = f64>) -> LinkCounters {
        let mut counters = LinkCounters::default();
        values.into_iter().for_each(|snr_db| counters.on_frame(snr_db, true));
        counters
    }

    #[test]
    fn a_steady_signal_does_not_deviate() {
        let (mean, sd) = counted([17.3; 100_000]).snr_db().unwrap();
        assert_eq!((mean, sd), (17.3, 0.0));
        assert_eq!(LinkCounters::default().snr_db(), None);
    }

    /// Two values in turn, whose squares agree in their first twelve digits: half their difference, to the rounding of the mean.
    #[test]
    fn small_deviations_keep_their_digits() {
        let (_, sd) =
            counted((0..100_000).map(|at| 30.0 + f64::from(at % 2) * 2e-6)).snr_db().unwrap();
        assert!((sd / 1e-6 - 1.0).abs() < 1e-6, "{sd}");
    }
}
