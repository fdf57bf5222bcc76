//! The counters of links whose signals change.

/// Data frames over a link in one direction, at their receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkCounters {
    /// Frames that ended.
    pub frames: u64,
    /// Those of which the receiver decoded nothing, for whatever reason.
    pub lost: u64,
    /// Sum of the frames' signal-to-noise ratios in dB, without interference, and of their squares.
    pub snr_db: f64,
    /// Sum of the squares.
    pub snr_db_squared: f64,
}

impl LinkCounters {
    pub(in crate::wlan) fn on_frame(&mut self, snr_db: f64, decoded: bool) {
        self.frames += 1;
        self.lost += u64::from(!decoded);
        self.snr_db += snr_db;
        self.snr_db_squared += snr_db * snr_db;
    }
}
