//! The figures of stations: their transmissions, beacons, sleep, absences and associations.

use super::figures::{Count, ratio};
use super::reported::{
    AbsenceFigures, AssociationFigures, BeaconFigures, SleepFigures, StationFigures,
};
use airqueue_core::Span;
use airqueue_network::counters::Timings;
use airqueue_wifi::mac::FrameKind;
use airqueue_wifi::medium::StationId;

impl Count<'_> {
    pub(super) fn station(&self, id: StationId) -> StationFigures {
        let access = self.access(id);
        let counters = self.network.wlan().station_at(id, self.now);
        let attempts = access.attempts as f64;
        let airtime = |kind| self.share(counters.sent_of(kind).time);
        let data = counters.sent_of(FrameKind::Data);
        let acks =
            counters.sent_of(FrameKind::Ack).time + counters.sent_of(FrameKind::BlockAck).time;
        let all = counters.sent.iter().fold(Span::ZERO, |sum, air| sum + air.time);
        StationFigures {
            attempts: access.attempts,
            collided_ratio: ratio(counters.collided as f64, attempts),
            failed_ratio: ratio(access.failures as f64, attempts),
            acknowledged_packets: access.acknowledged,
            given_up_packets: access.given_up,
            internal_collisions: access.internal_collisions,
            airtime_ratio: self.share(all),
            rts_airtime_ratio: airtime(FrameKind::Rts),
            cts_airtime_ratio: airtime(FrameKind::Cts),
            data_airtime_ratio: airtime(FrameKind::Data),
            ack_airtime_ratio: self.share(acks),
            mpdus_per_frame: ratio(access.mpdus as f64, (data.frames - counters.to_all) as f64),
            busy_ratio: self.share(self.network.wlan().busy(id, self.now)),
            processor_busy_ratio: self
                .network
                .processor_busy(id, self.now)
                .and_then(|busy| self.share(busy)),
        }
    }

    pub(super) fn beacons(&self, id: StationId) -> Option<BeaconFigures> {
        let wlan = self.network.wlan();
        let (of, station) = (wlan.beacons(id)?, wlan.station_at(id, self.now));
        let [delay_mean_s, delay_sd_s, delay_p50_s, delay_p95_s, delay_p99_s, delay_max_s] =
            wlan.beacon_delays(id)?.figures_s();
        let [
            group_kept_mean_s,
            group_kept_sd_s,
            group_kept_p50_s,
            group_kept_p95_s,
            group_kept_p99_s,
            group_kept_max_s,
        ] = wlan.group_kept_times(id)?.figures_s();
        Some(BeaconFigures {
            sent: of.sent,
            delayed: of.delayed,
            skipped: of.skipped,
            delay_mean_s,
            delay_sd_s,
            delay_p50_s,
            delay_p95_s,
            delay_p99_s,
            delay_max_s,
            airtime_ratio: self.share(station.sent_of(FrameKind::Beacon).time),
            group_packets: station.to_all,
            group_kept_packets: of.group_kept,
            group_dropped_packets: of.group_dropped,
            group_kept_mean_s,
            group_kept_sd_s,
            group_kept_p50_s,
            group_kept_p95_s,
            group_kept_p99_s,
            group_kept_max_s,
        })
    }

    pub(super) fn sleep(&self, id: StationId) -> Option<SleepFigures> {
        let wlan = self.network.wlan();
        let (of, station) = (wlan.sleep(id, self.now)?, wlan.station_at(id, self.now));
        let [kept_mean_s, kept_sd_s, kept_p50_s, kept_p95_s, kept_p99_s, kept_max_s] =
            wlan.kept_times(id)?.figures_s();
        Some(SleepFigures {
            asleep_ratio: self.share(of.asleep),
            wake_ups: of.wake_ups,
            beacons_missed: of.beacons_missed,
            polls: of.polls,
            triggers: of.triggers,
            service_periods: of.service_periods,
            empty_service_periods: of.empty_services,
            kept_packets: of.kept,
            dropped_packets: of.dropped,
            kept_mean_s,
            kept_sd_s,
            kept_p50_s,
            kept_p95_s,
            kept_p99_s,
            kept_max_s,
            group_packets: station.from_all,
        })
    }

    pub(super) fn absences(&self, id: StationId) -> Option<AbsenceFigures> {
        let wlan = self.network.wlan();
        let of = wlan.absence(id, self.now)?;
        let [absence_mean_s, absence_sd_s, absence_p50_s, absence_p95_s, absence_p99_s, longest_s] =
            wlan.absence_times(id)?.figures_s();
        let [kept_mean_s, kept_sd_s, kept_p50_s, kept_p95_s, kept_p99_s, kept_max_s] =
            wlan.kept_times(id).map_or([None; 6], Timings::figures_s);
        Some(AbsenceFigures {
            absences: of.times,
            absent_ratio: self.share(of.absent),
            absence_mean_s,
            absence_sd_s,
            absence_p50_s,
            absence_p95_s,
            absence_p99_s,
            longest_s,
            unheard: of.unheard,
            skipped: of.skipped,
            kept_packets: of.kept,
            dropped_packets: of.dropped,
            kept_mean_s,
            kept_sd_s,
            kept_p50_s,
            kept_p95_s,
            kept_p99_s,
            kept_max_s,
        })
    }

    pub(super) fn associations(&self, id: StationId) -> Option<AssociationFigures> {
        let wlan = self.network.wlan();
        let of = wlan.association(id, self.now)?;
        let [gap_mean_s, gap_sd_s, gap_p50_s, gap_p95_s, gap_p99_s, gap_max_s] =
            wlan.association_gaps(id)?.figures_s();
        Some(AssociationFigures {
            associations: of.associations,
            roams: of.roams,
            timeouts: of.timeouts,
            unserved_ratio: self.share(of.unserved),
            gap_mean_s,
            gap_sd_s,
            gap_p50_s,
            gap_p95_s,
            gap_p99_s,
            gap_max_s,
            lost_packets: of.lost_down,
            lost_own_packets: of.lost_up,
        })
    }
}
