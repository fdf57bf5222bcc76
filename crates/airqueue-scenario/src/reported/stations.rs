//! The reported figures of stations, of what disturbs them, and of their links.

use schemars::JsonSchema;
use serde::Serialize;

/// Transmissions of a station.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StationFigures {
    /// First frames of exchanges: RTS, or data without RTS; frames to all stations and management frames are none. An exchange
    /// counts when its outcome is known.
    pub(crate) attempts: u64,
    /// Share of attempts that were lost at the receiver to other frames, or because the receiver was receiving another
    /// frame or transmitting.
    pub(crate) collided_ratio: Option<f64>,
    /// Share of attempts without a complete response, for any reason.
    pub(crate) failed_ratio: Option<f64>,
    /// Packets acknowledged to the MAC.
    pub(crate) acknowledged_packets: u64,
    /// Packets that the MAC gave up.
    pub(crate) given_up_packets: u64,
    /// Internal collisions: grants of a queue that coincided with a grant of a higher priority.
    pub(crate) internal_collisions: u64,
    /// Share of the time in which the station transmits.
    pub(crate) airtime_ratio: Option<f64>,
    /// Share of the time in which the station transmits RTS.
    pub(crate) rts_airtime_ratio: Option<f64>,
    /// Share of the time in which the station transmits CTS.
    pub(crate) cts_airtime_ratio: Option<f64>,
    /// Share of the time in which the station transmits data.
    pub(crate) data_airtime_ratio: Option<f64>,
    /// Share of the time in which the station transmits ACK and block ack.
    pub(crate) ack_airtime_ratio: Option<f64>,
    /// Mean number of packets in a data frame to one station that has ended, retransmitted ones included.
    pub(crate) mpdus_per_frame: Option<f64>,
    /// Share of the time in which the station senses frames or interference, or transmits, on its channel.
    pub(crate) busy_ratio: Option<f64>,
    /// Share of the time in which the station's processor works; `null` without `processing_rate`.
    pub(crate) processor_busy_ratio: Option<f64>,
}

/// The beacons of an access point.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BeaconFigures {
    /// Beacons sent.
    pub(crate) sent: u64,
    /// Beacons that began more than a slot after they were due.
    pub(crate) delayed: u64,
    /// Beacons that were not sent because an earlier one still waited, or the access point was on other channels.
    pub(crate) skipped: u64,
    /// Time from the moment when a beacon is due to its beginning: mean.
    pub(crate) delay_mean_s: Option<f64>,
    /// Standard deviation of that time.
    pub(crate) delay_sd_s: Option<f64>,
    /// Median of that time.
    pub(crate) delay_p50_s: Option<f64>,
    /// 95th percentile of that time.
    pub(crate) delay_p95_s: Option<f64>,
    /// 99th percentile of that time.
    pub(crate) delay_p99_s: Option<f64>,
    /// Maximum of that time.
    pub(crate) delay_max_s: Option<f64>,
    /// Share of the time in which the access point sends beacons.
    pub(crate) airtime_ratio: Option<f64>,
    /// Packets to all stations that went on the air, at once or behind a DTIM.
    pub(crate) group_packets: u64,
    /// Packets to all stations that were kept for a DTIM because a station slept.
    pub(crate) group_kept_packets: u64,
    /// Packets to all stations for which that buffer had no room: the oldest ones in it.
    pub(crate) group_dropped_packets: u64,
    /// Mean time that packets to all stations were kept which then followed a DTIM.
    pub(crate) group_kept_mean_s: Option<f64>,
    /// Standard deviation of that time.
    pub(crate) group_kept_sd_s: Option<f64>,
    /// Median of that time.
    pub(crate) group_kept_p50_s: Option<f64>,
    /// 95th percentile of that time.
    pub(crate) group_kept_p95_s: Option<f64>,
    /// 99th percentile of that time.
    pub(crate) group_kept_p99_s: Option<f64>,
    /// Maximum of that time.
    pub(crate) group_kept_max_s: Option<f64>,
}

/// The sleep of a station.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SleepFigures {
    /// Share of the time in which the station sleeps.
    pub(crate) asleep_ratio: Option<f64>,
    /// How often the station woke up.
    pub(crate) wake_ups: u64,
    /// Beacons for which the station woke up in vain: too late, collided, or skipped.
    pub(crate) beacons_missed: u64,
    /// PS-Polls that reached the access point.
    pub(crate) polls: u64,
    /// Frames of the station that reached the access point and ask for packets: triggers of U-APSD, and those that announce a
    /// wake time of TWT.
    pub(crate) triggers: u64,
    /// Service periods of the station: those of U-APSD, or those of TWT.
    pub(crate) service_periods: u64,
    /// Service periods of U-APSD without a packet.
    pub(crate) empty_service_periods: u64,
    /// Packets that the access point kept for the station while it slept.
    pub(crate) kept_packets: u64,
    /// Packets dropped from that buffer, the oldest for want of room and those kept for too long. They are among the
    /// packets given up.
    pub(crate) dropped_packets: u64,
    /// Mean time that the access point kept packets which it then let go.
    pub(crate) kept_mean_s: Option<f64>,
    /// Standard deviation of that time.
    pub(crate) kept_sd_s: Option<f64>,
    /// Median of that time.
    pub(crate) kept_p50_s: Option<f64>,
    /// 95th percentile of that time.
    pub(crate) kept_p95_s: Option<f64>,
    /// 99th percentile of that time.
    pub(crate) kept_p99_s: Option<f64>,
    /// Maximum of that time.
    pub(crate) kept_max_s: Option<f64>,
    /// Packets to all stations that the station received.
    pub(crate) group_packets: u64,
}

/// The absences of a station from its channel.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AbsenceFigures {
    /// How often the station left: several times in a scan, if it is back in between.
    pub(crate) absences: u64,
    /// Share of the time in which the station was absent.
    pub(crate) absent_ratio: Option<f64>,
    /// How long the absences that have ended lasted: mean.
    pub(crate) absence_mean_s: Option<f64>,
    /// Standard deviation of that time.
    pub(crate) absence_sd_s: Option<f64>,
    /// Median of that time.
    pub(crate) absence_p50_s: Option<f64>,
    /// 95th percentile of that time.
    pub(crate) absence_p95_s: Option<f64>,
    /// 99th percentile of that time.
    pub(crate) absence_p99_s: Option<f64>,
    /// The longest absence that has ended.
    pub(crate) longest_s: Option<f64>,
    /// How often the station left although its access point had not acknowledged its null frame.
    pub(crate) unheard: u64,
    /// Scans that did not begin because the one before had not ended.
    pub(crate) skipped: u64,
    /// Packets that the access point kept for the station while it was absent, or slept.
    pub(crate) kept_packets: u64,
    /// Packets dropped from that buffer, the oldest for want of room and those kept for too long. They are among the
    /// packets given up.
    pub(crate) dropped_packets: u64,
    /// Mean time that the access point kept packets which it then let go.
    pub(crate) kept_mean_s: Option<f64>,
    /// Standard deviation of that time.
    pub(crate) kept_sd_s: Option<f64>,
    /// Median of that time.
    pub(crate) kept_p50_s: Option<f64>,
    /// 95th percentile of that time.
    pub(crate) kept_p95_s: Option<f64>,
    /// 99th percentile of that time.
    pub(crate) kept_p99_s: Option<f64>,
    /// Maximum of that time.
    pub(crate) kept_max_s: Option<f64>,
}

/// How a station gets from one association with an access point to the next.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AssociationFigures {
    /// How often the station associated.
    pub(crate) associations: u64,
    /// How often with another access point than the last time.
    pub(crate) roams: u64,
    /// How often the station began anew because the next frame of the access point did not come.
    pub(crate) timeouts: u64,
    /// Share of the time in which no access point served the station.
    pub(crate) unserved_ratio: Option<f64>,
    /// Mean time without service, from the moment at which the station went out of reach, left its access point or began, to the
    /// acknowledgement of the last frame of the association; of those times that have ended.
    pub(crate) gap_mean_s: Option<f64>,
    /// Standard deviation of that time.
    pub(crate) gap_sd_s: Option<f64>,
    /// Median of that time.
    pub(crate) gap_p50_s: Option<f64>,
    /// 95th percentile of that time.
    pub(crate) gap_p95_s: Option<f64>,
    /// 99th percentile of that time.
    pub(crate) gap_p99_s: Option<f64>,
    /// Maximum of that time.
    pub(crate) gap_max_s: Option<f64>,
    /// Packets that access points discarded because they did not serve the station. Those packets are among the packets given
    /// up.
    pub(crate) lost_packets: u64,
    /// Packets that the station discarded because they were for an access point that no longer served the station. Those
    /// packets are among the packets given up.
    pub(crate) lost_own_packets: u64,
}

/// The bursts of a source of interference.
#[derive(Serialize, JsonSchema)]
pub(crate) struct InterferenceFigures {
    /// Bursts that began.
    pub(crate) bursts: u64,
    /// Share of the time in which it radiates.
    pub(crate) on_ratio: Option<f64>,
    /// Frames that a burst overlapped at the station to which they were addressed, and where it arrives.
    pub(crate) hit_frames: u64,
    /// Share of these frames that this station did not decode, for whatever reason.
    pub(crate) hit_lost_ratio: Option<f64>,
}

/// The signal of a link in one direction, as its data frames found it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SignalFigures {
    /// Data frames sent.
    pub(crate) frames: u64,
    /// Share of these frames of which the receiver decoded nothing, for whatever reason.
    pub(crate) lost_ratio: Option<f64>,
    /// Signal-to-noise ratio over 20 MHz, without interference: mean over the frames, of the values in dB.
    pub(crate) snr_mean_db: Option<f64>,
    /// Standard deviation of these values.
    pub(crate) snr_sd_db: Option<f64>,
}
