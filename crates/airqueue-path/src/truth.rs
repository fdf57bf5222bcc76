//! What happens in the device: for tests, and for the "truth" column of reports.

use airqueue_core::Time;

/// What happened in the device since the last run began; endpoints cannot see this.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Largest number of waiting packets, in all stages; the packet in service is excluded.
    pub max_waiting_packets: u64,
    /// Largest number of waiting bytes, link-layer bytes included.
    pub max_waiting_bytes: u64,
    /// The queue length after each of its changes; empty unless `record_queue_series` is set.
    pub series: Vec<QueueSample>,
}

/// The total length of all stages from `at` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSample {
    /// The path's time.
    pub at: Time,
    /// Packets waiting.
    pub packets: u64,
    /// Bytes waiting.
    pub bytes: u64,
}

impl Truth {
    /// Restarts with the packets that wait now.
    pub(super) fn restart(&mut self) {
        self.max_waiting_packets = 0;
        self.max_waiting_bytes = 0;
        self.series.clear();
    }

    /// From `at` on this much waits.
    pub(super) fn note(&mut self, at: Time, (packets, bytes): (u64, u64), keep_series: bool) {
        self.max_waiting_packets = self.max_waiting_packets.max(packets);
        self.max_waiting_bytes = self.max_waiting_bytes.max(bytes);
        let changed =
            self.series.last().is_none_or(|last| (last.packets, last.bytes) != (packets, bytes));
        if keep_series && changed {
            self.series.push(QueueSample { at, packets, bytes });
        }
    }
}
